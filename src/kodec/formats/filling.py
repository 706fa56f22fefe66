"""Columns that the native reader fills (runtime/native/kodec_table.h), as Arrow arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from kodec.formats.shapes import Column, Rows, Shapes
from kodec.generator.targets.python.names import attribute
from kodec.runtime.fields import ReadOptions
from kodec.runtime.native import native_module
from kodec.runtime.process import decode
from kodec.runtime.streams import Buffer

__all__ = ["Filling"]


@dataclass(slots=True)
class _Group:
    """Columns of one object: others inside, and where each of the given ones is."""

    form: tuple[Any, ...]
    groups: dict[tuple[Any, ...], _Group] = field(default_factory=dict)
    leaves: list[tuple[tuple[Any, ...], int]] = field(default_factory=list)

    def add(self, column: Column, number: int) -> None:
        group = self
        *steps, last = column.steps or (None,)
        for step in steps:
            key = (step.member, step.guard, step.accepts)
            group = group.groups.setdefault(key, _Group(("group", *key, ())))
        assert column.native is not None
        given = (None, None, None) if last is None else (last.member, last.guard, last.accepts)
        group.leaves.append((column.native.of(*given), number))

    def built(self) -> tuple[Any, ...]:
        children = [form for form, _ in self.leaves] + [group.built() for group in self.groups.values()]
        return (*self.form, tuple(children))

    def taken(self, result: tuple[Any, ...], to: dict[int, Any]) -> None:
        """Note the result of each leaf by its number."""
        children = result[-1]
        for (_, number), part in zip(self.leaves, children, strict=False):
            to[number] = part
        for group, part in zip(self.groups.values(), children[len(self.leaves) :], strict=True):
            group.taken(part, to)


class Filling:
    """Rows at a path of a file as columns, without objects.

    Args:
        cls: the class of a file.
        conditions: those that are checked while a row is read (`conditions.natively`).
    """

    def __init__(
        self, shapes: Shapes, cls: type, rows: Rows, columns: Sequence[Column], conditions: Sequence[Any]
    ) -> None:
        self.cls = cls
        self.columns = list(columns)
        self.conditions = tuple(conditions)
        self.path = tuple((step.member, step.guard) for step in rows.steps)
        self.row = shapes.class_of(rows.shape.target) if rows.shape.target else None
        self.tree = _Group(("group", None, self.row, None, ()))
        for number, column in enumerate(columns):
            self.tree.add(column, number)
        self.form = self.tree.built()
        self.names = frozenset(
            attribute(spec.id)
            for schema in shapes.model.schemas
            for struct in schema.structs
            for spec in struct.fields
            if shapes.kinds.asked(spec.id)
        )

    def rows(self, data: Buffer, options: ReadOptions, part: tuple[int, int] | None = None) -> Any:
        """The native rows of a file; None where there is no native reader.

        `part` is the number of rows that are left out, and that of those after them (-1: all), where each
        row has
        as many bytes.
        """
        native = native_module("streams")
        if native is None:
            return None
        limits = (options.depth, options.elements, options.decompressed_bytes)
        given = (
            self.cls,
            data,
            self.path,
            (self.form,),
            self.conditions,
            self.row,
            self.names,
            _decode,
            limits,
        )
        return native.Rows(*given) if part is None else native.Rows(*given, part)

    def batches(self, rows: Any, size: int, most_bytes: int) -> Iterator[tuple[list[pa.Array], int, str]]:
        """The arrays of one batch after another, the number of rows, and whether there are `more`, it is the
        `end`, or the reader `stopped` after these rows for a reason that pure Python finds.
        """
        while True:
            status, count, (result,) = rows.run(size, most_bytes)
            found: dict[int, Any] = {}
            self.tree.taken(result, found)
            yield (
                [self._array(column, found[i], count) for i, column in enumerate(self.columns)],
                count,
                status,
            )
            if status != "more":
                return

    @staticmethod
    def _array(column: Column, result: tuple[Any, ...], count: int) -> pa.Array:
        assert column.native is not None
        return _array(column.type, column.native.of(), result, count)


def _decode(process: str, data: bytes, args: tuple[Any, ...], limit: int, name: str, at: int) -> bytes:
    return decode(process, data, args, limit=limit, name=name, at=at)


def _buffer(data: bytearray | None) -> pa.Buffer | None:
    return None if data is None else pa.py_buffer(data)


def _array(kind: pa.DataType, form: tuple[Any, ...], result: tuple[Any, ...], count: int) -> pa.Array:
    """The array of a column from its buffers."""
    name, *_, extra, forms = form
    rows, nulls, valid, ends, data, places, children = result
    if rows == 0:
        return pa.nulls(count, kind)
    assert rows == count
    first = None if valid is None or not nulls else pa.py_buffer(valid)
    nulls = nulls if first is not None else 0
    if name in ("enum", "name"):
        indexes = pa.Array.from_buffers(pa.int32(), count, [first, _buffer(data) or pa.py_buffer(b"")], nulls)
        words = extra.words + [str(number) for number in list(places or ())[len(extra) :]]
        return pa.DictionaryArray.from_arrays(indexes, pa.array(words, pa.string()), safe=False)
    if name in ("bytes", "text"):
        return pa.Array.from_buffers(
            kind, count, [first, _buffer(ends), _buffer(data) or pa.py_buffer(b"")], nulls
        )
    if name == "list":
        inner = _array(kind.value_type, forms[0], children[0], children[0][0])
        return pa.Array.from_buffers(kind, count, [first, _buffer(ends)], nulls, children=[inner])
    if name in ("struct", "choice"):
        parts = [_array(kind.field(i).type, form, children[i], count) for i, form in enumerate(forms)]
        return pa.Array.from_buffers(kind, count, [first], nulls, children=parts)
    return pa.Array.from_buffers(kind, count, [first, _buffer(data) or pa.py_buffer(b"")], nulls)
