"""Whether the value of an answer is that of a vector."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Any

__all__ = ["difference"]

_SHOWN = 80
_WHOLE = re.compile(r"-?\d+")


def difference(expected: Any, actual: Any, lacking: Set[str] = frozenset(), path: str = "") -> str | None:
    """Where the two differ first, and how; None if they are the same.

    Numbers may be numbers or decimal strings. Fields at the paths of `lacking` may be missing in `actual`.
    """
    where = path or "the value"
    if isinstance(expected, dict):
        if not isinstance(actual, dict):
            return f"{where} is {_shown(actual)}, not an object"
        return _of_objects(expected, actual, lacking, path)
    if isinstance(expected, list):
        if not isinstance(actual, list):
            return f"{where} is {_shown(actual)}, not a list"
        if len(expected) != len(actual):
            return f"{where} has {len(actual)} elements, not {len(expected)}"
        pairs = enumerate(zip(expected, actual, strict=True))
        return _first(difference(a, b, lacking, f"{path}[{index}]") for index, (a, b) in pairs)
    return None if _is_same(expected, actual) else f"{where} is {_shown(actual)}, not {_shown(expected)}"


def _of_objects(expected: dict[str, Any], actual: dict[str, Any], lacking: Set[str], path: str) -> str | None:
    more = actual.keys() - expected.keys()
    if more:
        return f"{path or 'the value'} has {', '.join(sorted(more))} too"

    def compared(name: str, value: Any) -> str | None:
        below = f"{path}.{name}".removeprefix(".")
        if name in actual:
            return difference(value, actual[name], lacking, below)
        return None if below in lacking else f"{below} is missing"

    return _first(compared(name, value) for name, value in expected.items())


def _first(differences: Any) -> str | None:
    return next((text for text in differences if text is not None), None)


def _is_same(expected: Any, actual: Any) -> bool:
    if isinstance(expected, bool) or isinstance(actual, bool) or expected is None or actual is None:
        return expected is actual
    if isinstance(expected, float) and isinstance(actual, (int, float)):
        actual_float = float(actual)  # JSON of other programs has 1e17 as a whole number, and rounded
        return expected == actual_float and str(expected)[0] == str(actual_float)[0]  # -0.0 is not 0.0
    if (
        isinstance(expected, (int, str))
        and isinstance(actual, (int, str))
        and type(expected) is not type(actual)
    ):
        number, text = (expected, actual) if isinstance(expected, int) else (actual, expected)
        return _WHOLE.fullmatch(str(text)) is not None and int(text) == number
    return type(expected) is type(actual) and expected == actual


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
