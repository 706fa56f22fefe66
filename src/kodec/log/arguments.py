"""Checks of callers' arguments: errors state what to pass instead."""

from __future__ import annotations

from collections.abc import Iterable

from kodec.runtime.errors import ArgumentError

__all__ = ["chosen_names", "require", "require_integer"]


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


def chosen_names(name: str, value: Iterable[str] | str | None) -> list[str] | None:
    """The names that a caller chooses, of topics, groups and the like; None: all of them.

    The one rule for every argument that takes several names: a text is one name, not the letters of it, and
    an empty list chooses none.

    Args:
        name: of the argument.
        given: its value.

    Raises: ArgumentError.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable) or isinstance(value, (bytes, bytearray, memoryview)):
        raise ArgumentError(f"{name}: expected a name or a list of names, not {type(value).__name__}")
    names = list(value)
    for item in names:
        if not isinstance(item, str):
            raise ArgumentError(f"{name}: expected names, not {type(item).__name__}")
    return names
