"""Draws the types of a page as SVG: bytes at fixed places eight in a line, other fields a line each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby

from kodec.generator.targets.documents.plan import Page, Row, Table

__all__ = ["diagram"]

_WIDE = 8
_BYTE, _LINE, _LEFT = 84, 36, 90
_WIDTH = _LEFT + _WIDE * _BYTE + 10
# what is longer is one line: there is nothing to see in it
_MOST_BYTES = 32
_LETTER = 7.2
_LINK = re.compile(r"\[([^\]\[]*)\]\([\w./#:-]*\)")
_BITS = re.compile(r"(?P<width>\d+) bits?\b|bit (?P<one>\d+)|bits (?P<first>\d+) to (?P<last>\d+)")
_STYLE = (
    "rect{fill:#fff;stroke:#7b8794}rect.varies{fill:#fdf0d5}rect.elsewhere{fill:#e4ecfb}"
    "rect.optional{stroke-dasharray:5 3}text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#1f2933}"
    ".at{font-size:10px;text-anchor:end;fill:#52606d}.index{font-size:10px;text-anchor:middle;fill:#52606d}"
    ".type{font-weight:700;font-size:14px}.name{text-anchor:middle}"
)


@dataclass(frozen=True, slots=True)
class _Box:
    """A field: its label, its description, its bytes if they are few and fixed, its style."""

    label: str
    title: str
    at: str
    size: int | None
    kind: str


def diagram(page: Page) -> str:
    """The SVG of each layout of a page's types; "" where no type has fields."""
    parts: list[str] = []
    y = 10
    for kind in page.types:
        for table in kind.tables or (Table("", ()),):
            boxes = [
                *_boxes(table.rows),
                *(_box(row, f"at {_plain(row.offset)}", " elsewhere") for row in kind.instances),
            ]
            if boxes:
                parts.append(_text(10, y + 16, _plain(kind.name), "type"))
                parts += [_text(_WIDTH - 10, y + 16, _plain(table.title), "at")] if table.title else []
                y = _drawn(parts, y + 26, boxes) + _LINE // 2
    if not parts:
        return ""
    title, area = escape(f"Layout of {page.schema.id}"), f'width="{_WIDTH}" height="{y}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y}" {area} role="img">',
            f"<title>{title}</title>",
            f"<style>{_STYLE}</style>",
            f'<rect {area} style="stroke:none"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _plain(markdown: str) -> str:
    """The text of a cell, which has code and links but no text of the schema's author."""
    return _LINK.sub(r"\1", markdown).replace("`", "").replace("\\|", "|")


def _bits(row: Row) -> int:
    """How many bits a field of bits has; 0 of any other."""
    found = _BITS.match(row.type)
    if found is None:
        return 0
    if found["width"]:
        return int(found["width"])
    return 1 if found["one"] else int(found["last"]) - int(found["first"]) + 1


def _boxes(rows: Iterable[Row]) -> Iterator[_Box]:
    """The fields in order; bits that share bytes are one box, and those of an inner type are in its own."""
    for is_bits, group in groupby(rows, lambda row: _bits(row) > 0):
        if not is_bits:
            yield from (_box(row, _plain(row.offset)) for row in group)
            continue
        own = [row for row in group if "." not in row.name]
        if own:
            size = (sum(map(_bits, own)) + 7) // 8
            size = max([size, *(int(row.size) for row in own if row.size)])
            label = " ".join(f"{_plain(row.name) or '-'}:{_bits(row)}" for row in own)
            optional = " optional" if any(row.optional for row in own) else ""
            yield _Box(label, label, _plain(own[0].offset), size if size <= _MOST_BYTES else None, optional)


def _box(row: Row, at: str, kind: str = "") -> _Box:
    name, size, type_ = _plain(row.name) or "-", _plain(row.size), _plain(row.type)
    known = int(size) if size.isdigit() and 0 < int(size) <= _MOST_BYTES and not row.repeated else None
    title = ": ".join(filter(None, (name, type_))) + (f" ({size} bytes)" if size.isdigit() else "")
    title += f" ({size})" if size and not size.isdigit() else ""
    drawn = kind or ("" if size.isdigit() and not row.repeated else " varies")
    return _Box(name, title, at, None if kind else known, drawn + (" optional" if row.optional else ""))


def _drawn(parts: list[str], y: int, boxes: list[_Box]) -> int:
    """Draw boxes from `y`; returns their end."""
    if any(box.size for box in boxes):
        parts += [_text(_LEFT + (n + 0.5) * _BYTE, y + 8, str(n), "index") for n in range(_WIDE)]
        y += 12
    column = 0
    for box in boxes:
        if box.size is None:
            y, column = y + (_LINE if column else 0), 0
            parts += _rectangle(box, 0, _WIDE, y, named=True, text=box.title)
            parts += _place(box, y)
            y += _LINE
            continue
        if box.at.isdigit() and not column:
            column = int(box.at) % _WIDE
        left, shown = box.size, False
        parts += () if column else _place(box, y)
        while left:
            width = min(left, _WIDE - column)
            named = not shown and width * 2 >= min(box.size, _WIDE)
            shown = shown or named
            parts += _rectangle(box, column, width, y, named=named, text=box.label)
            left, column = left - width, column + width
            if column == _WIDE:
                y, column = y + _LINE, 0
    return y + (_LINE if column else 0)


def _place(box: _Box, y: int) -> Iterator[str]:
    """The start of a line, written beside it."""
    if box.at:
        yield _text(_LEFT - 8, y + _LINE / 2 + 4, _fitting(box.at, _LEFT - 12, 6.2), "at")


def _rectangle(box: _Box, column: int, width: int, y: int, *, named: bool, text: str) -> Iterator[str]:
    x, wide = _LEFT + column * _BYTE, width * _BYTE
    css = f' class="{box.kind.strip()}"' if box.kind.strip() else ""
    title = f"<title>{escape(box.title)}</title>"
    yield f'<rect x="{x}" y="{y}" width="{wide}" height="{_LINE}"{css}>{title}</rect>'
    yield _text(x + wide / 2, y + _LINE / 2 + 4, _fitting(text, wide) if named else "…", "name")


def _fitting(text: str, width: float, letter: float = _LETTER) -> str:
    most = max(int(width / letter) - 1, 1)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(text)}</text>'
