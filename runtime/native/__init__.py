"""Native code: modules that replace Python code if built, and the C headers of generated kernels."""

from __future__ import annotations

import importlib
import importlib.util
import os
from functools import cache
from pathlib import Path
from types import ModuleType

__all__ = ["include_dir", "native_module"]


@cache
def native_module(name: str) -> ModuleType | None:
    """The module `name` of this package; None if it was not built, or KODEC_PURE=1 selects pure Python.

    Raises ImportError if it was built and cannot be imported.
    """
    full = f"{__name__}.{name}"
    if os.environ.get("KODEC_PURE") == "1" or importlib.util.find_spec(full) is None:
        return None
    return importlib.import_module(full)


def include_dir() -> str:
    """The directory of the headers `kodec_core.h` and `kodec_arrow.h`, for a compiler's `-I`."""
    return str(Path(__file__).parent)
