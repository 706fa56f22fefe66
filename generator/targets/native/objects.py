"""Whether the rows of a kernel can be Python objects, and with which values."""

from __future__ import annotations

from collections.abc import Iterable

from kodec.generator.targets.native.kernel_plan import Bytes, ColumnPlan, Flat, Lists

__all__ = ["gives_objects"]


def gives_objects(columns: Iterable[ColumnPlan]) -> bool:
    """Whether every column has the value of the Python rows: a text that is text, and UTF-8."""
    flat: list[Flat] = []
    for column in columns:
        flat += column.children if isinstance(column, Lists) else [column]
    return all(_is_same(column) for column in flat)


def _is_same(column: Flat) -> bool:
    if not isinstance(column, Bytes):
        return True
    return not column.encoding or (column.text and column.encoding == "UTF-8")
