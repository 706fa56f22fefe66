"""Writes the rows of tables by the native kernels, to the same bytes as `encode` writes of the same records.

Where to cut batches is found in whole columns, and a kernel writes each batch. What the kernels do not
do, and every error, is for the pure writer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kodec.generated.kernels import message_set, record_batch
from kodec.generated.log import message_set as legacy
from kodec.log.entries.encode import (
    MAX_DELTA,
    OVERHEAD,
    OVERHEAD_OF_HEADER,
    SEQUENCES,
    batch_head,
    codec_number,
)
from kodec.log.entries.records import TimestampType
from kodec.log.tables import pure_table
from kodec.log.tables.arrow import row_schema
from kodec.runtime.compression import compress
from kodec.runtime.fields import WriteOptions

__all__ = ["encode_rows"]

_CREATE, _APPEND = int(TimestampType.CreateTime), int(TimestampType.LogAppendTime)
_MOST_BATCH = 64 << 20
_PART = 16 << 20  # each is copied once more where there are several
# made once, with their types: of a plain number Arrow looks first what it may be, which takes longer
_OVERHEAD, _OVERHEAD_OF_HEADER = pa.scalar(OVERHEAD, pa.int64()), pa.scalar(OVERHEAD_OF_HEADER, pa.int64())


class _Unable(Exception):
    """This is for the pure writer, which may then say what is wrong."""


def encode_rows(batches: Sequence[Any], options: dict[str, Any]) -> bytes:
    """What `encode` writes of the rows in batches that `plain_batches` gave, with its arguments."""
    try:
        return b"".join(_Encoder(**options).parts(batches))
    except _Unable:
        return pure_table.encode_rows(batches, options)


class _Encoder:
    """The arguments of `encode`, and how far the numbering of records has come."""

    def __init__(self, **options: Any) -> None:
        self.magic: int = options["magic"]
        self.compression: str = options["compression"]
        self.level: int | None = options["level"]
        self.base_offset: int | None = options["base_offset"]
        self.kind: TimestampType | None = options["timestamp_type"]
        self.most_rows: int | None = options["batch_records"]
        self.most_bytes: int = options["batch_bytes"]
        self.lossy: bool = options["lossy"]
        names = ("partition_leader_epoch", "producer_id", "producer_epoch", "base_sequence")
        self.numbers: dict[str, int] = {name: options[name] for name in names}
        self.transactional: bool = options["transactional"]
        self.control: bool = options["control"]
        legacy_with_producer = self.magic != 2 and (
            self.transactional or self.control or any(value != -1 for value in self.numbers.values())
        )
        if self.magic not in (0, 1, 2) or legacy_with_producer or self.most_bytes > _MOST_BATCH:
            raise _Unable
        self.expected = 0 if self.base_offset is None else self.base_offset

    def parts(self, batches: Sequence[Any]) -> Iterator[bytes]:
        """The bytes, piece by piece."""
        write = self._v2() if self.magic == 2 else self._v1()
        next(write)
        rest = None
        for number, batch in enumerate(batches, 1):
            rows = self._filled(batch)
            more = number < len(batches)
            taken = 0
            # what is left over is put before as few rows as end its batch: all of them would be copied
            while rest is not None and rest.num_rows:
                taken = min(rows.num_rows, 2 * taken or self._likely(rest, rows))
                joined = pa.concat_batches([rest, rows.slice(0, taken)])
                done = yield from self._whole(write, joined, more or taken < rows.num_rows)
                if done >= rest.num_rows:
                    rows, rest = rows.slice(done - rest.num_rows), None
                elif taken == rows.num_rows:
                    rows, rest = joined.slice(done), None
                else:
                    rest = rest.slice(done)
            done = yield from self._whole(write, rows, more)
            rest = rows.slice(done)
        last = write.send(None)
        if last:
            yield last

    def _likely(self, rest: Any, rows: Any) -> int:
        """How many rows are likely to end the batch that `rest` begins: one more than it takes."""
        most = self.most_bytes * max(1, rows.num_rows) // max(1, _most(rows))
        if self.most_rows is not None:
            most = min(most, self.most_rows - rest.num_rows)
        return max(1, int(most) + 1)

    def _whole(self, write: Any, rows: Any, more: bool) -> Generator[bytes, None, int]:
        """Write the batches that the rows begin with, gives how many rows: all, unless `more` may follow."""
        cut = _Cut(rows, self)
        done = 0
        for first, stop in cut:
            if stop == rows.num_rows and more:
                break
            part = write.send((cut, first, stop))
            if part:
                yield part
            done = stop
        return done

    # -- columns ----------------------------------------------------------------------------------

    def _filled(self, batch: Any) -> Any:
        """The batch with every column of a record, its rows numbered."""
        count = batch.num_rows
        have = {name: batch.column(name) for name in batch.schema.names}
        default = {
            "timestamp": pa.scalar(-1, pa.int64()),
            "timestamp_type": pa.scalar(_CREATE, pa.int32()),
            "key": pa.scalar(None, pa.binary()),
            "value": pa.scalar(None, pa.binary()),
            "headers": pa.scalar([], _HEADERS),
        }
        columns = {"offset": self._offsets(have.get("offset"), count)}
        for name, value in default.items():
            columns[name] = have[name] if name in have else pa.repeat(value, count)
        if self.kind is not None:
            columns["timestamp_type"] = pa.repeat(pa.scalar(int(self.kind), pa.int32()), count)
        kinds = columns["timestamp_type"]
        if count and pc.min(kinds).as_py() < _CREATE:
            columns["timestamp_type"] = pc.max_element_wise(kinds, pa.scalar(_CREATE, pa.int32()))
        if count and pc.min(columns["timestamp"]).as_py() < -1:
            raise _Unable
        names = row_schema().names
        return pa.RecordBatch.from_arrays([columns[name] for name in names], names)

    def _offsets(self, given: Any, count: int) -> Any:
        if not count:
            return pa.array([], pa.int64())
        if self.base_offset is None and given is not None:
            least, most = pc.min(given).as_py(), pc.max(given).as_py()
            if most != -1:
                ascending = pc.all(pc.greater(given.slice(1), given.slice(0, count - 1)), min_count=0).as_py()
                if least < self.expected or not ascending:
                    raise _Unable
                self.expected = most + 1
                return given
        start, self.expected = self.expected, self.expected + count
        if start < 0 or self.expected > 2**63:
            raise _Unable
        ones = pa.repeat(pa.scalar(1, pa.int64()), count)
        return pc.cumulative_sum(ones, start=start - 1)

    # -- batches ----------------------------------------------------------------------------------

    def _v2(self) -> Any:
        """Takes (cut, first, stop) for each batch, gives bytes now and then, and the rest for None."""
        head = batch_head(
            self.compression, **self.numbers, transactional=self.transactional, control=self.control
        )
        writer = record_batch.Writer()
        sequence = head.base_sequence
        writer.set(
            magic=head.magic,
            partition_leader_epoch=head.partition_leader_epoch,
            compression=int(head.attributes.compression),
            is_transactional=int(head.attributes.is_transactional),
            is_control=int(head.attributes.is_control),
            producer_id=head.producer_id,
            producer_epoch=head.producer_epoch,
        )
        loaded = None
        item = yield
        while item is not None:
            cut, first, stop = item
            if cut is not loaded:
                writer.load(cut.rows)
                loaded = cut
            writer.set(
                base_offset=cut.offsets[first],
                base_timestamp=cut.timestamps[first],
                base_sequence=sequence,
                timestamp_type=_CREATE,
            )
            if writer.rows(first, stop) != "ok":
                raise _Unable
            # set after the rows are written: what is largest is so whatever the type
            writer.set(timestamp_type=cut.kinds[first])
            content = None
            if self.compression != "none":
                content = compress(self.compression, writer.content, level=self.level)
            elif self.level is not None:
                compress(self.compression, b"", level=self.level)
            if writer.unit(content) != "ok":
                raise _Unable
            if sequence >= 0:
                sequence = (sequence + writer.get("last_offset_delta") + 1) % SEQUENCES
            item = yield writer.take() if len(writer) >= _PART else b""
        yield writer.take()

    def _v1(self) -> Any:
        """The same for messages of magic 0 and 1."""
        code = codec_number(legacy.Compression, self.compression, self.magic)
        if self.compression == "none" and self.level is not None:
            compress(self.compression, b"", level=self.level)
        writer = message_set.Writer()
        writer.set(magic=self.magic)
        loaded = None
        item = yield
        while item is not None:
            cut, first, stop = item
            if cut is not loaded:
                self._check_v1(cut.rows)
                writer.load(cut.rows)
                loaded = cut
            kind = cut.kinds[first] if self.magic else _CREATE
            writer.set(timestamp_type=kind)
            if code == legacy.Compression.NONE:
                if writer.rows(first, stop) != "ok":
                    raise _Unable
                item = yield writer.take() if len(writer) >= _PART else b""
            else:
                item = yield self._wrapper(writer, cut, first, stop, kind, code)
                loaded = None
        yield writer.take()

    def _check_v1(self, rows: Any) -> None:
        if self.lossy:
            return
        if rows.num_rows and pc.max(pc.list_value_length(rows["headers"])).as_py():
            raise _Unable
        if self.magic == 0 and rows.num_rows and pc.max(rows["timestamp"]).as_py() != -1:
            raise _Unable

    def _wrapper(self, writer: Any, cut: _Cut, first: int, stop: int, kind: int, code: int) -> bytes:
        rows = cut.rows.slice(first, stop - first)
        if self.magic:
            # relative to the first, so that the broker can move the whole by its wrapper's offset (KIP-31)
            offsets = pc.subtract(rows["offset"], pa.scalar(cut.offsets[first], pa.int64()))
            rows = rows.set_column(0, "offset", offsets)
        writer.load(rows)
        if writer.rows(0, stop - first) != "ok":
            raise _Unable
        wrapper = legacy.Message(
            magic=self.magic,
            attributes=legacy.MessageAttributes(
                timestamp_type=legacy.TimestampType(kind), compression=legacy.Compression(code)
            ),
            timestamp=pc.max(rows["timestamp"]).as_py() if self.magic else -1,
        )
        wrapper.value = compress(legacy.codec_of_message(wrapper), writer.take(), level=self.level)
        entry = legacy.Entry(offset=cut.offsets[stop - 1], message=wrapper)
        return entry.to_bytes(WriteOptions(self.level))


class _Cut:
    """Where rows are cut into batches: (first, stop) of each, the last one perhaps not yet whole."""

    def __init__(self, rows: Any, encoder: _Encoder) -> None:
        self.rows = rows
        self.offsets = _numbers(rows["offset"])
        self.timestamps = _numbers(rows["timestamp"])
        self.kinds = _numbers(rows["timestamp_type"])
        self.most_bytes = encoder.most_bytes
        # where all rows together are no more than one batch may be, nobody asks for the size of each
        self.sizes = _numbers(pc.cumulative_sum(_sizes(rows))) if _most(rows) > self.most_bytes else None
        self.changes = _changes(rows)
        self.most_rows = encoder.most_rows

    def __iter__(self) -> Iterator[tuple[int, int]]:
        count = self.rows.num_rows
        first = 0
        while first < count:
            stop = count
            if self.sizes is not None:
                before = self.sizes[first - 1] if first else 0
                stop = bisect_right(self.sizes, before + self.most_bytes, first + 1, count)
            if self.most_rows is not None:
                stop = min(stop, first + max(self.most_rows, 1))
            stop = bisect_right(self.offsets, self.offsets[first] + MAX_DELTA, first + 1, stop)
            change = bisect_right(self.changes, first)
            if change < len(self.changes):
                stop = min(stop, self.changes[change])
            yield first, stop
            first = stop


def _numbers(column: Any) -> memoryview:
    """The numbers of a column without nulls, not copied."""
    width = column.type.bit_width // 8
    start = column.offset * width
    data = memoryview(column.buffers()[1])[start : start + len(column) * width].cast("B")
    return data.cast("q") if width == 8 else data.cast("i")


def _most(rows: Any) -> int:
    """At least as much as all rows count for `batch_bytes`, from the sizes of buffers alone."""
    items = rows["headers"].values
    # one by one: of columns that share a buffer it would be counted once
    size = sum(int(each.nbytes) for each in (rows["key"], rows["value"], items.field(0), items.field(1)))
    return size + OVERHEAD * int(rows.num_rows) + OVERHEAD_OF_HEADER * len(items)


def _lengths(column: Any) -> Any:
    return pc.fill_null(pc.binary_length(column), 0).cast(pa.int64())


def _sizes(rows: Any) -> Any:
    """What each row counts for `batch_bytes`, as in `encode`."""
    sizes = pc.add(pc.add(_lengths(rows["key"]), _lengths(rows["value"])), _OVERHEAD)
    lists = rows["headers"]
    if not len(lists.values):
        return sizes
    items = lists.values
    each = pc.add(pc.add(_lengths(items.field(0)), _lengths(items.field(1))), _OVERHEAD_OF_HEADER)
    total = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(each)])
    bounds = pc.take(total, lists.offsets)
    return pc.add(sizes, pc.subtract(bounds.slice(1), bounds.slice(0, len(bounds) - 1)))


def _changes(rows: Any) -> list[int]:
    """The rows at which a batch has to end: of another type of timestamp, or of another time of append."""
    count = rows.num_rows
    if count < 2:
        return []
    kinds, times = rows["timestamp_type"], rows["timestamp"]
    most = pc.max(kinds).as_py()
    if most == _CREATE:
        return []

    def differs(column: Any) -> Any:
        return pc.not_equal(column.slice(1), column.slice(0, count - 1))

    appended = pc.equal(kinds.slice(1), pa.scalar(_APPEND, kinds.type))
    found = pc.or_(differs(kinds), pc.and_(appended, differs(times)))
    return [index + 1 for index in pc.indices_nonzero(found).to_pylist()]


_HEADERS = pa.list_(pa.struct([pa.field("key", pa.binary(), nullable=False), pa.field("value", pa.binary())]))
