"""An explanation as lines for a terminal: position, bytes, field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kodec.cli.commands import may_style
from kodec.cli.lines import printable
from kodec.formats.explain import Area, Explanation, Field, Part

__all__ = ["Colours", "lines_of_explanation", "shown", "with_unit"]

_ROW = 16
# Lines shown of a part unless all are requested.
_FEW = 4
_TEXT = 100
_ANSI = (36, 33, 32, 35, 34, 31, 96, 93, 92, 95, 94, 91)
_INDEX = re.compile(r"\[\d+\]")


class Colours:
    """A number below 12 for each field, whatever its indexes, in the order of first appearance."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def of(self, field: Field) -> int:
        return self.numbers.setdefault(self.name(field.path), len(self.numbers)) % len(_ANSI)

    @staticmethod
    def name(path: str) -> str:
        """A path without its indexes, as in `records[].key`."""
        return _INDEX.sub("[]", path)


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
    return {"None": "null", "True": "true", "False": "false"}.get(text := str(value), text)


def with_unit(field: Field) -> str:
    """A field's value with its unit, its name or its time, as in `4 (zstd)`."""
    unit = f" {field.unit}" if field.unit else ""
    return f"{shown(field.value)}{unit}" + (f" ({printable(field.meaning)})" if field.meaning else "")


def lines_of_explanation(
    explanation: Explanation, *, whole: bool = False, colours: Colours | None = None
) -> Iterator[str]:
    """The lines of all areas; with `whole`, long fields are not cut.

    `colours` are those of explanations before it in the same output.
    """
    colours = Colours() if colours is None else colours
    for area in explanation.areas:
        if area.path:
            yield f"{area.path}: {area.note}, {len(area.data):,} bytes inside"
        for part in area.parts:
            yield from _part(area, part, [colours.of(field) for field in part.fields], whole)
        for part in area.others:
            names = ", ".join(f"{field.path} = {with_unit(field)}" for field in part.fields)
            yield f"{area.position + part.start:08x}  {'(the same bytes)':{3 * _ROW}} {names}"
    if explanation.error is not None:
        yield f"wrong: {explanation.error}"


def _part(area: Area, part: Part, colours: list[int], whole: bool) -> Iterator[str]:
    """Its lines; the fields that share its bytes have their own colours, and the bytes that of the first."""
    styles = may_style()
    labels = [f"{field.path} = {with_unit(field)}" for field in part.fields]
    if part.note:
        labels = [f"{part.fields[0].path}: {part.note}"] if labels else [f"({part.note})"]
    rows = max(1, (part.end - part.start + _ROW - 1) // _ROW, len(labels))
    limit = rows if whole else max(_FEW, len(labels))
    for row in range(min(rows, limit)):
        position = part.start + row * _ROW
        data = area.data[position : min(position + _ROW, part.end)]
        address = f"{area.position + position:08x}" if data or not row else " " * 8
        label = labels[row] if row < len(labels) else ""
        colour = 90 if not colours else _ANSI[colours[row if row < len(colours) else 0]]
        start, end = (f"\x1b[{colour}m", "\x1b[0m") if styles else ("", "")
        yield f"{address}  {start}{data.hex(' '):{3 * _ROW}} {label}".rstrip() + end
    if rows > limit:
        yield f"{'':8}  … {part.end - part.start - limit * _ROW:,} bytes more"
