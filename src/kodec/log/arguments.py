"""Checks of callers' arguments: errors state what to pass instead."""

from __future__ import annotations

from kodec.runtime.errors import ArgumentError

__all__ = ["require", "require_integer"]


def require(name: str, value: object, kind: type, hint: str) -> None:
    """Refuse a value of another type; `hint` shows how to create one. Raises ArgumentError."""
    if not isinstance(value, kind):
        raise ArgumentError(f"{name}: {hint}, not {type(value).__name__}")


def require_integer(name: str, value: object, least: int | None = None) -> None:
    """Refuse anything but a whole number of at least `least`. Raises ArgumentError."""
    if not isinstance(value, int):
        raise ArgumentError(f"{name}: expected a whole number, not {type(value).__name__}")
    if least is not None and value < least:
        raise ArgumentError(f"{name}={value}: expected at least {least}")
