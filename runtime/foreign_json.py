"""JSON that others wrote: bounded before it is built, and with no number that Python cannot hold."""

from __future__ import annotations

import json
import math
import re
from itertools import accumulate
from typing import Any, NoReturn

__all__ = ["read_json", "whole_number"]

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_OTHERS = bytes(each for each in range(256) if each not in b"[]{}")
_STEPS = bytes.maketrans(b"[{]}", b"\1\1\0\0")
_MOST_DIGITS = 400


def read_json(data: bytes, *, most_values: int, most_depth: int = 100) -> Any:
    """The value of a JSON text in UTF-8.

    An empty list takes 3 bytes of text and 64 of memory, so values are counted before they are built.

    Args:
        data: the text.
        most_values: how many values it may have, as counted by its commas and brackets.
        most_depth: how deep lists and objects may nest.

    Raises: ValueError for a text that is not JSON, that has more values or nests deeper; for NaN, infinities,
    and numbers that no float holds.
    """
    text = data.decode("utf-8")
    structure = _STRING.sub(b"", data)
    brackets = structure.translate(None, _OTHERS)
    if structure.count(b",") + len(brackets) // 2 > most_values:
        raise ValueError(f"more than {most_values} values")
    depths = accumulate(1 if step else -1 for step in brackets.translate(_STEPS))
    if max(depths, default=0) > most_depth:
        raise ValueError(f"nested deeper than {most_depth}")
    return json.loads(text, parse_float=_float, parse_int=_int, parse_constant=_refused)


def whole_number(value: object, least: int = -(1 << 63), most: int = (1 << 64) - 1) -> int:
    """A whole number of JSON. Raises ValueError for another value, and outside of these bounds."""
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{value!r:.100} is not a whole number from {least} to {most}")
    return value


def _float(text: str) -> float:
    found = float(text)
    if not math.isfinite(found):
        raise ValueError(f"{text:.100} is too large for a number")
    return found


def _int(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")
