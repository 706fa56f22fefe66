"""Tables for people: named columns; numbers are right-aligned and never cut."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap
from unicodedata import east_asian_width

from kodec.cli import output
from kodec.cli.commands import may_style
from kodec.cli.parser import BadParameter, Option
from kodec.runtime.dataclass import dataclass

__all__ = ["COLUMNS", "WIDE", "Layout", "print_table"]

WIDE = Option("--wide", help="All columns, however wide they are.")
COLUMNS = Option("--columns", metavar="NAME,...", help="Only these columns, in this order.")

# The space between two columns, and the least width of text before a column is left out.
_GAP = 2
_TEXT = 16


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns to show: `columns` by name, None for those that fit; `wide` for all."""

    columns: str | None = None
    wide: bool = False


class _Column:
    """A column's name, cells, and greatest and least width."""

    def __init__(self, name: str, cells: list[str], is_text: bool) -> None:
        self.name, self.cells, self.is_text = name, cells, is_text
        self.width = max(map(_cells, [*name.split(), *cells]))
        self.least = min(self.width, max(_TEXT, *map(_cells, name.split()))) if is_text else self.width

    def lines(self, text: str) -> list[str]:
        """A cell as the lines that it needs."""
        if text.isascii():
            return wrap(text, self.width, break_on_hyphens=False) or [""]
        lines = [""]
        for char in text:
            if _cells(lines[-1]) + _cells(char) > self.width:
                lines.append("")
            lines[-1] += char
        return lines

    def heading(self) -> list[str]:
        """The name, one word per line if it is wider than the column."""
        return [self.name] if _cells(self.name) <= self.width else self.name.split()

    def aligned(self, text: str) -> str:
        """A line of a cell as wide as the column."""
        space = " " * (self.width - _cells(text))
        return text + space if self.is_text else space + text


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    left_aligned: str,
    least: str = "",
    layout: Layout = Layout(),
) -> None:
    """Print a row for each of `rows`; those named in `left_aligned` hold text, None is shown as `-`.

    Numbers are never cut: if the terminal, or `$COLUMNS`, is too narrow, text wraps, and then the columns
    named in `least` are left out in that order, which a line below reports. Otherwise all is shown.

    Raises: BadParameter for a column that is missing.
    """
    output.show(title)
    cells = [["-" if cell is None else output.printable(str(cell)) for cell in row] for row in rows]
    texts = left_aligned.split(", ")
    by_name = {
        name: _Column(name, [row[index] for row in cells], name in texts)
        for index, name in enumerate(columns)
    }
    width, hidden = None if layout.wide else _width(), []
    if layout.columns is not None:
        names = [name.strip() for name in layout.columns.split(",")]
        if unknown := [name for name in names if name not in by_name]:
            raise BadParameter(f"--columns: no column {unknown[0]!r}; columns: {', '.join(columns)}")
        by_name = {name: by_name[name] for name in names}
    elif width is not None:
        hidden = [name for name in least.split(", ") if name in by_name]
        while hidden and _sum(by_name[name].least for name in by_name) > width:
            del by_name[hidden.pop(0)]
        hidden = [name for name in columns if name not in by_name]
    for line in _drawn(list(by_name.values()), width):
        print(line)
    if hidden:
        output.show(*wrap(f"too narrow for {', '.join(hidden)}: --wide shows all", max(width or 0, _TEXT)))


def _width() -> int | None:
    """The columns of the terminal; None if unknown, as in a pipe."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return int(columns)
    return os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else None


def _sum(widths: Iterable[int]) -> int:
    all_widths = list(widths)
    return sum(all_widths) + _GAP * (len(all_widths) - 1)


def _cells(text: str) -> int:
    """The columns of a terminal that a text occupies."""
    return len(text) if text.isascii() else sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


def _drawn(columns: Sequence[_Column], width: int | None) -> Iterator[str]:
    """The lines of a table: text columns shrink, the widest first, until it fits."""
    while width is not None and _sum(column.width for column in columns) > width:
        widest = max(columns, key=lambda column: column.width - column.least)
        if widest.width == widest.least:
            break
        widest.width -= 1
    heads = [column.heading() for column in columns]
    high = max(map(len, heads))
    head = list(_lines(columns, [[""] * (high - len(heading)) + heading for heading in heads]))
    yield from (f"\x1b[1m{line}\x1b[0m" for line in head) if may_style() else head
    yield "-" * min(_sum(column.width for column in columns), width or 1 << 30)
    for row in zip(*(column.cells for column in columns), strict=True):
        yield from _lines(columns, [column.lines(cell) for column, cell in zip(columns, row, strict=True)])


def _lines(columns: Sequence[_Column], row: Sequence[list[str]]) -> Iterator[str]:
    for parts in zip_longest(*row, fillvalue=""):
        aligned = (column.aligned(part) for column, part in zip(columns, parts, strict=True))
        yield (" " * _GAP).join(aligned).rstrip()
