"""Whether the value of an answer is that of a vector."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Any

__all__ = ["difference"]

_SHOWN = 80
_WHOLE = re.compile(r"-?\d+")


def difference(wanted: Any, found: Any, lacking: Set[str] = frozenset(), path: str = "") -> str | None:
    """Where the two differ first, and how; None if they are the same.

    Numbers may be numbers or decimal strings. Fields at the paths of `lacking` may be missing in `found`.
    """
    where = path or "the value"
    if isinstance(wanted, dict):
        if not isinstance(found, dict):
            return f"{where} is {_shown(found)}, not an object"
        return _of_objects(wanted, found, lacking, path)
    if isinstance(wanted, list):
        if not isinstance(found, list):
            return f"{where} is {_shown(found)}, not a list"
        if len(wanted) != len(found):
            return f"{where} has {len(found)} elements, not {len(wanted)}"
        pairs = enumerate(zip(wanted, found, strict=True))
        return _first(difference(a, b, lacking, f"{path}[{index}]") for index, (a, b) in pairs)
    return None if _is_same(wanted, found) else f"{where} is {_shown(found)}, not {_shown(wanted)}"


def _of_objects(wanted: dict[str, Any], found: dict[str, Any], lacking: Set[str], path: str) -> str | None:
    more = found.keys() - wanted.keys()
    if more:
        return f"{path or 'the value'} has {', '.join(sorted(more))} too"

    def compared(name: str, value: Any) -> str | None:
        below = f"{path}.{name}".removeprefix(".")
        if name in found:
            return difference(value, found[name], lacking, below)
        return None if below in lacking else f"{below} is missing"

    return _first(compared(name, value) for name, value in wanted.items())


def _first(found: Any) -> str | None:
    return next((each for each in found if each is not None), None)


def _is_same(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, bool) or isinstance(found, bool) or wanted is None or found is None:
        return wanted is found
    if isinstance(wanted, float) and isinstance(found, (int, float)):
        given = float(found)  # JSON of other programs has 1e17 as a whole number, and rounded
        return wanted == given and str(wanted)[0] == str(given)[0]  # -0.0 is not 0.0
    if isinstance(wanted, (int, str)) and isinstance(found, (int, str)) and type(wanted) is not type(found):
        number, text = (wanted, found) if isinstance(wanted, int) else (found, wanted)
        return _WHOLE.fullmatch(str(text)) is not None and int(text) == number
    return type(wanted) is type(found) and wanted == found


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
