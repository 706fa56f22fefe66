"""The C headers that every generated kernel includes, for those who build kernels of their own schemas."""

from __future__ import annotations

from pathlib import Path

__all__ = ["include_dir"]


def include_dir() -> str:
    """The directory of the headers `kodec_core.h` and `kodec_arrow.h`, for a compiler's `-I`."""
    return str(Path(__file__).parent)
