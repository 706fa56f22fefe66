"""What callers give, checked where it comes in: errors that say what to give instead."""

from __future__ import annotations

import os
from pathlib import Path

from kodec.runtime.errors import ArgumentError

__all__ = ["path_of", "require", "require_integer"]


def require(name: str, value: object, kind: type, hint: str) -> None:
    """Refuse a value of another type; `hint` says how to make one. Raises ArgumentError."""
    if not isinstance(value, kind):
        raise ArgumentError(f"{name}: {hint}, not {type(value).__name__}")


def require_integer(name: str, value: object, least: int | None = None) -> None:
    """Refuse what is no whole number, or a smaller one. Raises ArgumentError."""
    if not isinstance(value, int):
        raise ArgumentError(f"{name}: a whole number is needed, not {type(value).__name__}")
    if least is not None and value < least:
        raise ArgumentError(f"{name}={value}: at least {least} is needed")


def path_of(value: object) -> Path:
    """The path. Raises ArgumentError for anything else."""
    if isinstance(value, (str, os.PathLike)):
        return Path(value)
    hint = ": give its `path`" if isinstance(getattr(value, "path", None), Path) else ""
    raise ArgumentError(f"a path is needed, not {type(value).__name__}{hint}")
