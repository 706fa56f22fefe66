"""What notebooks show of objects: tables in HTML, escaped, and bounded whatever the object holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from kodec.runtime.dataclass import fields, is_dataclass

__all__ = ["MOST_ROWS", "MOST_TEXT", "brief", "html_of", "table"]

MOST_ROWS = 50
"""The rows of a table that are shown."""
MOST_TEXT = 200
"""The characters of a value that are shown."""
# What a plan was made with: its caller knows it.
_HIDDEN = {"options", "limits", "progress", "fingerprint"}


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, (str, bytes)):
        # of a long one only the start is shown
        value = value[: MOST_TEXT + 1]
    if isinstance(value, (list, set, frozenset, Mapping)) or (
        isinstance(value, tuple) and type(value).__str__ is tuple.__str__
    ):
        shown = [_text(each) for each in islice(value, MOST_ROWS)]
        text = ", ".join(shown) + (f" and {len(value) - MOST_ROWS} more" if len(value) > MOST_ROWS else "")
    elif is_dataclass(value) and type(value).__str__ is object.__str__ and not isinstance(value, type):
        text = brief(value)
    else:
        text = str(value)
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}..."


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "", total: int | None = None
) -> str:
    """A table in HTML: at most `MOST_ROWS` rows, and how many there are of all if that is more.

    Args: columns are its head; title is a line in front; total is the number of all rows, None: not known.
    """
    from html import escape

    held = list(islice(rows, MOST_ROWS + 1))
    shown = held[:MOST_ROWS]
    head = "".join(f"<th>{escape(_text(each))}</th>" for each in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(_text(each))}</td>' for each in row)}</tr>" for row in shown)
    more = f"<caption>{escape(title)}</caption>" if title else ""
    rest = ""
    if len(held) > len(shown):
        of = f" of {total:,}" if total is not None else ""
        rest = f"<tfoot><tr><td colspan='{len(columns)}'>the first {len(shown)}{of}</td></tr></tfoot>"
    return f"<table>{more}<thead><tr>{head}</tr></thead><tbody>{body}</tbody>{rest}</table>"


def _shown_fields(value: object) -> list[tuple[str, Any]]:
    found = [(each.name, getattr(value, each.name)) for each in fields(value) if each.repr]  # type: ignore[arg-type]
    return [each for each in found if each[0] not in _HIDDEN]


def _is_rows(value: object) -> bool:
    """Whether a value is a list of objects with the same fields."""
    return (
        isinstance(value, (list, tuple))
        and bool(value)
        and is_dataclass(value[0])
        and (len({type(each) for each in islice(value, MOST_ROWS)}) == 1)
    )


def html_of(value: object) -> str:
    """An object with fields as a table of them, and a further table for each list of such objects in it."""
    found = _shown_fields(value)
    own = [each for each in found if not _is_rows(each[1])]
    parts = [table(("field", "value"), own, type(value).__name__, len(own))]
    for name, rows in found:
        if _is_rows(rows):
            columns = [each.name for each in fields(rows[0]) if each.repr and each.name not in _HIDDEN]
            cells = ([getattr(row, column) for column in columns] for row in rows)
            parts.append(table(columns, cells, f"{name}: {len(rows):,}", len(rows)))
    return "".join(parts)


def brief(value: object) -> str:
    """An object in one line: the fields that say something, neither empty nor how it was made."""
    shown = ", ".join(
        f"{name}={_text(found) if not isinstance(found, str) else repr(found[:MOST_TEXT])}"
        if not _is_rows(found)
        else f"{name}={len(found)} {type(found[0]).__name__}"
        for name, found in _shown_fields(value)
        if found is not None and found is not False and found not in ("", [], (), {})
    )
    return f"<{type(value).__name__} {shown}>"
