"""Columns that the native reader fills (runtime/native/kodec_fill.h), as Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from kodec.formats.shapes import Column, Rows, Shapes
from kodec.generator.targets.python.names import attribute
from kodec.runtime.fields import AnyBuffer, ReadOptions
from kodec.runtime.native import native_module
from kodec.runtime.process import decode

__all__ = ["Filling"]


@dataclass(slots=True)
class _Group:
    """Columns of one object: those of its members, with the place of each in a batch, and groups inside."""

    form: tuple[Any, ...]
    groups: dict[tuple[Any, ...], _Group] = field(default_factory=dict)
    leaves: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, column: Column, number: int) -> None:
        group = self
        *steps, last = column.steps or (None,)
        for step in steps:
            key = (step.member, step.guard, step.accepts)
            group = group.groups.setdefault(key, _Group(("group", *key, ())))
        assert column.native is not None
        access = (None, None, None) if last is None else (last.member, last.guard, last.accepts)
        group.leaves.append((*column.native.of(*access), number))

    def built(self) -> tuple[Any, ...]:
        return (*self.form, (*self.leaves, *(group.built() for group in self.groups.values())))


class Filling:
    """Rows at a path of a file as columns, without objects.

    Args:
        cls: the class of a file.
        conditions: those that are checked while a row is read (`conditions.natively`).
        whole: whether the file is read before its first row, as columns need data after it.
    """

    def __init__(
        self,
        shapes: Shapes,
        cls: type,
        rows: Rows,
        columns: Sequence[Column],
        conditions: Sequence[Any],
        *,
        whole: bool,
    ) -> None:
        self.cls = cls
        self.columns = list(columns)
        self.conditions = tuple(conditions)
        self.whole = whole
        self.path = tuple((step.member, step.guard) for step in rows.steps)
        self.row = shapes.class_of(rows.shape.target) if rows.shape.target else None
        self.tree = _Group(("group", None, self.row, None, ()))
        for number, column in enumerate(columns):
            self.tree.add(column, number)
        self.form = self.tree.built()
        self._idle: list[Any] = []
        self.schema = pa.schema([pa.field(column.name, column.type) for column in columns])
        self.names = frozenset(
            attribute(spec.id)
            for schema in shapes.model.schemas
            for struct in schema.structs
            for spec in struct.fields
            if shapes.kinds.asked(spec.id, derived=False)
        )

    def rows(
        self,
        data: AnyBuffer,
        options: ReadOptions,
        arguments: tuple[Any, ...] = (),
        part: tuple[int, int] | None = None,
    ) -> Any:
        """The native rows of a file; None where there is no native reader.

        `arguments` are the parameters of the outermost type. `part` is the number of rows that are left out,
        and that of those after them (-1: all), where each row has as many bytes.
        """
        native = native_module("streams")
        if native is None:
            return None
        try:
            # one that has read a file can read another; `pop` is safe where threads share a schema
            rows = self._idle.pop()
        except IndexError:
            rows = native.Rows(
                self.cls,
                self.path,
                self.form,
                len(self.columns),
                self.conditions,
                self.row,
                self.names,
                _decode,
                self.whole,
            )
        limits = (options.depth, options.elements, options.decompressed_bytes)
        rows.open(data, limits, arguments, part or (0, -1))
        return rows

    def batches(self, rows: Any, size: int, most_bytes: int) -> Iterator[tuple[pa.RecordBatch, str]]:
        """One batch after another, and whether there are `more`, it is the `end`, or the reader `stopped`
        after these rows for a reason that pure Python finds.
        """
        status = "more"
        while status == "more":
            # `owner` owns what the address leads to, until it is imported. A capsule of the schema beside it
            # (`pa.record_batch`) would make another schema for each batch, which then have to be compared.
            status, _, owner, address = rows.run(size, most_bytes)
            batch = pa.RecordBatch._import_from_c(address, self.schema)
            del owner
            if status == "end":
                rows.close()
                self._idle.append(rows)
            yield batch, status


def _decode(process: str, data: bytes, args: tuple[Any, ...], limit: int, name: str, position: int) -> bytes:
    return decode(process, data, args, limit=limit, name=name, at=position)
