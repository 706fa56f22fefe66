"""Converts decoded values to JSON."""

from __future__ import annotations

import base64
import datetime
import json
import math
from decimal import Decimal
from typing import Any
from uuid import UUID

__all__ = ["MOST_NESTING", "json_of", "nesting_of", "plain"]

MOST_NESTING = 100
"""The deepest nesting of a decoded value."""


def plain(value: Any) -> Any:
    """A value made of JSON's types and Decimals.

    Moments are ISO 8601 (with `Z` where they are in UTC), bytes base64, UUIDs text, NaN and infinities the
    strings that Protobuf's JSON has for them; keys of maps are text.
    """
    match value:
        case None | bool() | int() | str() | Decimal():
            return value
        case float():
            return value if math.isfinite(value) else _NAMES.get(value, "NaN")
        case dict():
            return {
                name if isinstance(name, str) else _key(name): plain(each) for name, each in value.items()
            }
        case list() | tuple():
            return [plain(each) for each in value]
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case datetime.datetime():
            text = value.isoformat()
            return f"{text[:-6]}Z" if text.endswith("+00:00") else text
        case datetime.date() | datetime.time():
            return value.isoformat()
        case UUID():
            return str(value)
    raise TypeError(f"a {type(value).__name__} has no form in JSON")


def json_of(value: Any) -> str:
    """A value as JSON on one line; Decimals are strings, so that no reader rounds them."""
    return json.dumps(plain(value), default=str)


def nesting_of(value: Any) -> int:
    """The nesting depth of lists and mappings; 0 for other values."""
    depth, level = 0, [value]
    while level := [
        each
        for holder in level
        if isinstance(holder, (dict, list))
        for each in (holder.values() if isinstance(holder, dict) else holder)
    ]:
        depth += 1
    return depth


_NAMES = {math.inf: "Infinity", -math.inf: "-Infinity"}


def _key(name: Any) -> str:
    return str(name).lower() if isinstance(name, bool) else str(name)
