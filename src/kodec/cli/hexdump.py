"""An explanation as lines for a terminal: position, bytes, field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kodec.cli.commands import may_style
from kodec.cli.lines import printable
from kodec.formats.explain import Area, Explanation, Part

__all__ = ["lines_of_explanation", "shown"]

_ROW = 16
# Lines shown of a part unless all are requested.
_FEW = 4
_TEXT = 100
_COLOURS = (36, 33, 32, 35, 34, 31)


def shown(value: Any) -> str:
    """A value on one line: text if the bytes are text, else hex; long values are cut."""
    if isinstance(value, bytes):
        try:
            text = value[: 4 * _TEXT].decode() if len(value) <= 4 * _TEXT else None
        except UnicodeDecodeError:
            text = None
        if text is None or not text.isprintable():
            return value[:_ROW].hex(" ") + (f" … ({len(value):,} bytes)" if len(value) > _ROW else "")
        value = text
    if isinstance(value, str):
        return f'"{printable(value)}"' if len(value) <= _TEXT else f'"{printable(value[:_TEXT])}…"'
    return {"None": "null", "True": "true", "False": "false"}.get(found := str(value), found)


def lines_of_explanation(found: Explanation, *, whole: bool = False) -> Iterator[str]:
    """The lines of all areas; with `whole`, long fields are not cut."""
    for area in found.areas:
        if area.path:
            yield f"{area.path}: {area.note}, {len(area.data):,} bytes inside"
        for number, part in enumerate(area.parts):
            yield from _part(area, part, _COLOURS[number % len(_COLOURS)], whole)
        for part in area.others:
            names = ", ".join(f"{path} = {shown(value)}" for path, value in part.fields)
            yield f"{area.position + part.start:08x}  {'(the same bytes)':{3 * _ROW}} {names}"
    if found.error is not None:
        yield f"wrong: {found.error}"


def _part(area: Area, part: Part, colour: int, whole: bool) -> Iterator[str]:
    start, end = ("", "") if not may_style() else (f"\x1b[{colour}m", "\x1b[0m")
    labels = [f"{path} = {shown(value)}" for path, value in part.fields]
    if part.note:
        labels = [f"{labels[0].partition(' = ')[0]}: {part.note}"] if labels else [f"({part.note})"]
    rows = max(1, (part.end - part.start + _ROW - 1) // _ROW, len(labels))
    kept = rows if whole else max(_FEW, len(labels))
    for row in range(min(rows, kept)):
        at = part.start + row * _ROW
        data = area.data[at : min(at + _ROW, part.end)]
        place = f"{area.position + at:08x}" if data or not row else " " * 8
        label = labels[row] if row < len(labels) else ""
        yield f"{place}  {start}{data.hex(' '):{3 * _ROW}}{end} {label}".rstrip()
    if rows > kept:
        yield f"{'':8}  … {part.end - part.start - kept * _ROW:,} bytes more"
