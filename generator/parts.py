"""The fields of the dataclasses that models and plans are made of, for code that goes through all of them."""

from __future__ import annotations

import dataclasses

__all__ = ["fields_of"]

_FOUND: dict[type, tuple[str, ...] | None] = {}


def fields_of(kind: type) -> tuple[str, ...] | None:
    """The names of the fields of a dataclass; None for any other type."""
    if kind not in _FOUND:
        is_one = dataclasses.is_dataclass(kind)
        _FOUND[kind] = tuple(each.name for each in dataclasses.fields(kind)) if is_one else None
    return _FOUND[kind]
