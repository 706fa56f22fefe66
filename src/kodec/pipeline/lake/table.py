"""The interface of a lakehouse table: positions of logs, and appends that record them in the same
commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from kodec.log.files.listing import TopicPartition
from kodec.runtime.errors import KodecError
from kodec.runtime.foreign_json import whole_number

__all__ = [
    "OFFSETS",
    "Conflict",
    "LakeError",
    "LakeTable",
    "Move",
    "Position",
    "Rows",
    "by_topic",
    "column_names",
    "of_topics",
    "require_fit",
    "require_kept",
    "require_ours",
]

OFFSETS = "kodec.offsets"
"""The name under which a commit records the offsets that it appends: for each topic-partition from and to
(exclusive)."""

Rows = Callable[[], Iterator[pa.RecordBatch]]
"""Begins to read one task, in any thread; a generator."""


class LakeError(KodecError, ValueError):
    """A table that cannot be appended to; the message has its name, and the reason."""


class Conflict(KodecError):
    """The table has changed since its positions were read, or it is unknown whether this commit
    is in it: they must be read again."""


class Position(NamedTuple):
    """The position of a topic-partition in a table.

    Attributes:
        next: the first missing offset.
        epoch: the leader epoch of the offset before it; None if that is unknown.
        topic_id: as Kafka prints it; None for a topic without one, as before 2.8.
    """

    next: int
    epoch: int | None = None
    topic_id: str | None = None


class Move(NamedTuple):
    """The part of an append for a topic-partition: the offsets from `first` on, up to a position."""

    first: int
    to: Position


class LakeTable(Protocol):
    """A table of any format. One object is for one thread; others, and other processes, may write to
    it too."""

    @property
    def name(self) -> str:
        """The table, for messages."""

    @property
    def path(self) -> str | None:
        """The folder of a table on this machine; None elsewhere."""

    def positions(
        self, topic_ids: Mapping[TopicPartition, str | None], columns: pa.Schema, *, add_columns: bool
    ) -> dict[TopicPartition, Position]:
        """The table's current positions; a missing table is created with these columns.

        Args: add_columns allows an append to add columns to a table that has no positions.

        Raises LakeError.
        """

    def append(
        self, columns: pa.Schema, tasks: Sequence[Rows], moves: Mapping[TopicPartition, Move], threads: int
    ) -> str:
        """Append rows, new columns and positions to what `positions` has seen, in one commit; return its
        id.

        Raises: Conflict; LakeError, also if the rows do not fit; the errors of the tasks.
        """


def by_topic(moves: Mapping[TopicPartition, Move]) -> dict[str, dict[str, dict[str, Any]]]:
    """Moves for JSON, `{"orders":{"0":{"from":0,"to":300,"epoch":4}}}`; unknown entries are left out."""
    entries: dict[str, dict[str, dict[str, Any]]] = {}
    for owner, (first, to) in sorted(moves.items()):
        entry = {"from": first, "to": to.next, "epoch": to.epoch, "topicId": to.topic_id}
        known = {name: value for name, value in entry.items() if value is not None}
        entries.setdefault(owner.topic, {})[str(owner.partition)] = known
    return entries


def of_topics(entries: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[TopicPartition, Move]:
    """The inverse. Raises AttributeError, KeyError, TypeError or ValueError for JSON of another kind."""
    moves = {}
    for topic, partitions in entries.items():
        for partition, entry in partitions.items():
            end, epoch = whole_number(entry["to"], 0), entry.get("epoch")
            to = Position(end, None if epoch is None else whole_number(epoch), entry.get("topicId"))
            moves[TopicPartition(topic, int(partition))] = Move(whole_number(entry["from"], 0, end), to)
    return moves


# -- columns --------------------------------------------------------------------------------------

_WHOLE = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_FLOATS = (pa.float32(), pa.float64())


def require_fit(name: str, schema: pa.Schema, ours: pa.Schema, *, widens: bool) -> None:
    """Check that rows fit a table unchanged, once missing columns are added.

    A column is never converted: numbers may become wider, in the table only if it `widens`. Raises
    LakeError with all reasons.
    """
    wrong = list(_misfits(list(schema), list(ours), "", widens))
    if wrong:
        raise LakeError(f"{name}: {'; '.join(wrong)}; export to another table, or change this one")


def require_ours(name: str, schema: pa.Schema, ours: pa.Schema, *, is_empty: bool) -> None:
    """Check that a table without positions is not changed, unless it is empty and made for our rows.

    It may be another program's. Raises LakeError.
    """
    missing = [field.name for field in ours if field.name not in schema.names]
    if missing and not (is_empty and set(schema.names) <= set(ours.names)):
        raise LakeError(
            f"{name}: it has no positions of an export, and no column {', '.join(missing)}: it may be of "
            "another program; --add-columns (add_columns) adds them"
        )


def require_kept(name: str, gone: Iterable[str]) -> None:
    """Check that no column of ours was renamed or dropped: rows from before would lack a new one of its
    name. Raises LakeError."""
    if columns := ", ".join(gone):
        raise LakeError(
            f"{name}: column {columns} was renamed or dropped there: a new column of that name would be null "
            "in all earlier rows; export to another table, or rename it back"
        )


def column_names(fields: Iterable[pa.Field], inside: str = "") -> Iterator[str]:
    """The names of columns and of what is inside them, as Iceberg has them: `headers.element.key`."""
    for field in fields:
        name, kind = f"{inside}{field.name}", field.type
        yield name
        if _is_list(kind):
            yield from column_names([pa.field("element", kind.value_type)], f"{name}.")
        elif pa.types.is_struct(kind):
            yield from column_names(kind.fields, f"{name}.")


def _misfits(fields: list[pa.Field], ours: list[pa.Field], inside: str, widens: bool) -> Iterator[str]:
    known = {field.name: field for field in ours}
    folded = {field.name.lower(): field.name for field in fields}
    for field in ours:
        other = folded.get(field.name.lower(), field.name)
        if other != field.name:
            yield f"column {inside}{field.name} differs from {inside}{other} in case only"
    for field in fields:
        path = f"{inside}{field.name}"
        if field.name in known:
            yield from _misfit(field.type, known[field.name].type, path, widens)
        elif not field.nullable:
            yield f"column {path} is required there, and the rows have none"


def _misfit(field_type: pa.DataType, ours: pa.DataType, path: str, widens: bool) -> Iterator[str]:
    if pa.types.is_struct(field_type) and pa.types.is_struct(ours):
        yield from _misfits(list(field_type.fields), list(ours.fields), f"{path}.", widens)
    elif _is_list(field_type) and _is_list(ours):
        yield from _misfit(field_type.value_type, ours.value_type, f"{path}[]", widens)
    elif _plain(field_type) != _plain(ours):
        for kinds in (_WHOLE, _FLOATS):
            if (
                field_type in kinds
                and ours in kinds
                and (widens or kinds.index(ours) < kinds.index(field_type))
            ):
                return
        yield f"column {path} is {_plain(field_type)} there, and {_plain(ours)} in the rows"


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _plain(kind: pa.DataType) -> pa.DataType:
    """Without what differs in memory alone."""
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    return kind
