"""Whether the rows of a kernel can be given as Python objects, and with which values."""

from __future__ import annotations

from kodec.generator.schema.model import Str
from kodec.generator.targets.native.plan import Step

__all__ = ["gives_objects"]


def gives_objects(columns: list[Step]) -> bool:
    """Whether every column's value is what the Python rows have there: a text that is a text, and UTF-8."""
    flat = [each for column in columns for each in (column.children if column.kind == "list" else [column])]
    return all(_is_same(column) for column in flat)


def _is_same(column: Step) -> bool:
    if column.kind != "blob":
        return True
    kind = column.member.spec.type
    return not isinstance(kind, Str) or (column.text and kind.encoding == "utf-8")
