"""Converts decoded values to JSON."""

from __future__ import annotations

import base64
import datetime
import json
import math
from decimal import Decimal
from typing import Any, NoReturn
from uuid import UUID

__all__ = [
    "MOST_NESTING",
    "NestedTooDeep",
    "exact_json",
    "exact_number",
    "json_line",
    "json_of",
    "nesting_of",
    "plain",
]

MOST_NESTING = 100
"""The deepest nesting of a decoded value."""


class NestedTooDeep(ValueError):
    """A value that nests deeper than `MOST_NESTING`."""


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
                name if isinstance(name, str) else _key(name): plain(item) for name, item in value.items()
            }
        case list() | tuple():
            return [plain(item) for item in value]
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


def exact_json(text: str | bytes) -> Any:
    """The value of a JSON text, exactly: a number that no float or int holds as it is written is a Decimal.

    Bytes are UTF-8; Python's json would also guess UTF-16 and UTF-32, and read binary data as numbers.

    Raises ValueError for a text that is not JSON, also for NaN and Infinity, which it lacks; NestedTooDeep.
    """
    text = text.decode("utf-8") if isinstance(text, bytes) else text
    try:
        try:
            value = json.loads(text, parse_float=_exact_float, parse_constant=_refused)
        except ValueError:
            # perhaps an int of more digits than Python makes of a text; looking at each int costs time
            value = json.loads(text, parse_float=_exact_float, parse_int=_exact_int, parse_constant=_refused)
    except RecursionError:
        value = None
        is_deep = True
    else:
        is_deep = text.count("[") + text.count("{") > MOST_NESTING and nesting_of(value) > MOST_NESTING
    if is_deep:
        raise NestedTooDeep(f"nested deeper than {MOST_NESTING}")
    return value


def json_line(data: bytes) -> str:
    """JSON on one line, otherwise unchanged. Raises ValueError for what is not JSON; NestedTooDeep."""
    text = data.decode("utf-8")
    exact_json(text)
    # newlines occur only between values: strings of JSON contain none
    return text.replace("\r", " ").replace("\n", " ").strip()


def exact_number(value: Any) -> Any:
    """A value for comparisons: a float is the Decimal that is printed for it, also inside lists and mappings.

    Python compares 0.1 to Decimal("0.1") by the bits of the float, and finds that they differ.
    """
    match value:
        case float() if math.isfinite(value):
            return Decimal(repr(value))
        case list():
            return [exact_number(item) for item in value]
        case dict():
            return {name: exact_number(item) for name, item in value.items()}
    return value


def _exact_float(text: str) -> float | Decimal:
    number = float(text)
    if len(text) <= _SURE and "e" not in text.lower():
        return number
    try:
        exact = Decimal(text)
    except ArithmeticError:
        raise ValueError(f"{text:.100} is outside the range of numbers") from None
    return number if math.isfinite(number) and Decimal(repr(number)) == exact else exact


def _exact_int(text: str) -> int | Decimal:
    return int(text) if len(text) <= _MOST_DIGITS else Decimal(text)


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


# A float holds any number of 15 digits; Python makes no longer int of a text.
_SURE = 15
_MOST_DIGITS = 4_000


def nesting_of(value: Any) -> int:
    """The nesting depth of lists and mappings; 0 for other values."""
    depth, level = 0, [value]
    while level := [
        item
        for holder in level
        if isinstance(holder, (dict, list))
        for item in (holder.values() if isinstance(holder, dict) else holder)
    ]:
        depth += 1
    return depth


_NAMES = {math.inf: "Infinity", -math.inf: "-Infinity"}


def _key(name: Any) -> str:
    return str(name).lower() if isinstance(name, bool) else str(name)
