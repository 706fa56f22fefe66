"""A table for people: columns by name, numbers to the right."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kodec.cli import output

__all__ = ["print_table"]

# Where no person looks, as wide as what people look at later.
_WIDTH = 160


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], left: str) -> None:
    """Print a row for each of `rows`; those named in `left` have text, None is shown as `-`."""
    table = Table(title=escape(output.printable(title)))
    for name in columns:
        justify = "left" if name in left.split(", ") else "right"
        table.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*("-" if each is None else escape(output.printable(str(each))) for each in row))
    Console(width=None if sys.stdout.isatty() else _WIDTH).print(table)
