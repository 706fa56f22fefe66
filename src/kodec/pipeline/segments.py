"""Writes rows as the segments of topic-partitions, cut the same way regardless of the input batches."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from kodec.log.batches.batch import Batch
from kodec.log.files.indexes import base_offset_after
from kodec.log.files.listing import TopicPartition
from kodec.log.reading.reader import read_batches
from kodec.log.tables.table import encode_table
from kodec.log.writing.add_segments import FinishedSegment
from kodec.log.writing.segment_writer import SegmentWriter
from kodec.runtime.errors import EncodeError, KodecError

__all__ = ["Cut", "PartitionRows", "log_columns"]

# Rows are encoded when there are this many bytes; a batch of the log is far smaller.
_ENOUGH = 8 << 20


@dataclass(frozen=True, slots=True)
class Cut:
    """How rows become batches and segments.

    Attributes: compression, level, batch_bytes as in `kodec.encode`; segment_bytes as in `LogConfig`.
    """

    compression: str = "none"
    level: int | None = None
    batch_bytes: int = 1_000_000
    segment_bytes: int = 1 << 30


def log_columns(batch: pa.RecordBatch, now: int) -> pa.RecordBatch:
    """Rows with Spark's columns as rows of a log; `now`, in ms, is for those without the column timestamp.

    Raises: KodecError for an offset that is null or negative.
    """
    names = set(batch.schema.names)
    columns = {name: batch[name] for name in ("key", "value", "headers", "offset") if name in names}
    if "headers" in columns and columns["headers"].null_count:
        columns["headers"] = pc.coalesce(columns["headers"], pa.scalar([], columns["headers"].type))
    if "offset" in columns and (columns["offset"].null_count or pc.min(columns["offset"]).as_py() < 0):
        raise KodecError("kafka-log: offset is null or negative: leave the column out, or give them all")
    millis = pa.int64()
    if "timestamp" in names:
        # Spark has microseconds.
        times = pc.floor_temporal(batch["timestamp"], unit="millisecond").cast(pa.timestamp("ms", "UTC"))
        columns["timestamp"] = pc.fill_null(times.cast(millis), -1)
    else:
        columns["timestamp"] = pa.repeat(pa.scalar(now, millis), batch.num_rows)
    kinds = pc.if_else(pc.equal(columns["timestamp"], -1), -1, 0)
    if "timestampType" in names:
        kinds = pc.coalesce(batch["timestampType"].cast(millis), kinds)
    columns["timestamp_type"] = kinds.cast(pa.int32())
    return pa.RecordBatch.from_pydict(columns)


class PartitionRows:
    """The rows of one topic-partition, in order, to be written into segments.

    A batch ends where it would grow larger than `batch_bytes`, and nowhere else, so that the same rows give
    the same bytes. Batches have the leader epoch 0, which may be changed when they are added.

    Args:
        folder: created; named like a topic-partition's.
        keep_offsets: rows have the column `offset`; otherwise offsets are 0, 1, 2, ...
    """

    def __init__(self, owner: TopicPartition, folder: Path, cut: Cut, *, keep_offsets: bool) -> None:
        self.owner = owner
        self.finished: list[FinishedSegment] = []
        self._folder = folder
        self._cut = cut
        self._keep = keep_offsets
        self._pending: list[pa.RecordBatch] = []
        self._weight = self._records = 0
        self._next = self._first = 0
        self._writer: SegmentWriter | None = None
        self._encode_at = _ENOUGH
        folder.mkdir()

    def add(self, rows: pa.RecordBatch) -> None:
        """Add rows with columns of `kodec.row_schema`, which may differ from before. Raises EncodeError;
        OSError."""
        if self._pending and self._pending[0].schema != rows.schema:
            self._encode(last=True)
        self._pending.append(rows)
        self._weight += rows.nbytes
        if self._weight >= self._encode_at:
            self._encode(last=False)

    def close(self) -> list[FinishedSegment]:
        """Make everything durable; return the segments, by offset. Raises as `add`."""
        if self._pending:
            self._encode(last=True)
        self._end_segment()
        return self.finished

    def abandon(self) -> None:
        """Close files after an error."""
        if self._writer is not None:
            self._writer.abandon()

    def _encode(self, *, last: bool) -> None:
        table = pa.Table.from_batches(self._pending)
        cut = self._cut
        try:
            data = encode_table(
                table,
                compression=cut.compression,
                level=cut.level,
                base_offset=None if self._keep else self._next,
                partition_leader_epoch=0,
                batch_bytes=min(cut.batch_bytes, max(cut.segment_bytes // 2, 1)),
            )
        except EncodeError as error:
            raise self._located(error, table) from None
        batches = list(read_batches(data, check_crc=False))
        carried_over = 0
        if not last:
            # It may have room for rows that are still to come.
            carried_over = batches.pop().count
        self._pending = table.slice(table.num_rows - carried_over).to_batches() if carried_over else []
        self._weight = sum(batch.nbytes for batch in self._pending)
        for batch in batches:
            self._append(batch)

    def _located(self, error: EncodeError, table: pa.Table) -> EncodeError:
        """The error with the topic-partition, and the record's offset, if rows have one."""
        number, bracket, suffix = error.path.removeprefix("records[").partition("]")
        if bracket and self._keep:
            offset = table["offset"][int(number)].as_py()
            error.path = f"record at offset {offset}: {suffix.removeprefix('.')}"
        return error.in_source(str(self.owner))

    def _append(self, batch: Batch) -> None:
        writer = self._writer
        if writer is not None and (
            writer.size + batch.size > self._cut.segment_bytes
            or not writer.fits(batch.last_offset, batch.size)
            or writer.index_full
        ):
            self._end_segment()
        if self._writer is None:
            base = self._first = batch.base_offset
            if self.finished:
                base = base_offset_after(self._next, base, batch.last_offset)
            self._writer = SegmentWriter(self._folder, base)
            self._records = 0
        self._writer.append(batch.data, batch)
        self._records += batch.count
        self._next = batch.next_offset

    def _end_segment(self) -> None:
        writer = self._writer
        if writer is None:
            return
        writer.close()
        self._writer = None
        self.finished.append(
            FinishedSegment(
                self.owner,
                writer.path,
                writer.base_offset,
                self._first,
                writer.next_offset,
                self._records,
                writer.size,
                writer.largest_timestamp,
            )
        )
