"""Writes the rows of tables by the native kernels, to the same bytes as `encode` writes.

The places to cut batches are found in whole columns, and a kernel writes each batch. The pure writer does
whatever the kernels do not support, and raises every error.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kodec.generated.kernels import message_set, record_batch
from kodec.generated.log import message_set as legacy
from kodec.generated.log.record_batch import RecordBatch
from kodec.log.backends.arrow import row_schema
from kodec.log.backends.native.cutting import Cut, most_bytes
from kodec.log.backends.pure import encoding as pure
from kodec.log.batches.encode import SEQUENCES, batch_head, codec_number
from kodec.log.batches.frame import LISTS, MAGICS
from kodec.log.batches.header import EXTRA, name_of
from kodec.log.batches.options import EncodeOptions
from kodec.log.batches.records import TimestampType
from kodec.runtime.compression import compress
from kodec.runtime.fields import WriteOptions

__all__ = ["encode_rows"]

_CREATE = int(TimestampType.CREATE_TIME)
_MOST_BATCH = 64 << 20
_HEAD = 64
"""Approximate number of bytes before the records of a batch."""
_DEFAULTS = {
    "timestamp": pa.scalar(-1, pa.int64()),
    "timestamp_type": pa.scalar(_CREATE, pa.int32()),
    "key": pa.scalar(None, pa.binary()),
    "value": pa.scalar(None, pa.binary()),
}
_HEADERS = pa.list_(pa.struct([pa.field("key", pa.binary(), nullable=False), pa.field("value", pa.binary())]))


_SHARED = (
    *("form", "leader_epoch", "codec", "transactional", "control"),
    *("producer_id", "producer_epoch"),
)
"""The roles of the header that are the same in all batches."""


_FIRST = tuple(map(name_of, ("offset", "base_timestamp", "base_sequence", "timestamp_type")))
_TYPE = (name_of("timestamp_type"),)
_LAST_OFFSET = name_of("last_offset_delta")


def _likely_size(batch: Any, most_rows: int | None) -> int:
    """Approximate size of the rows in that many batches, a few percent too large rather than too small.

    If it is far too large, the rest is returned to the system and fetched again each time.
    """
    names, rows = batch.schema.names, int(batch.num_rows)
    # Arrow stores where a value starts in four bytes; a record stores its length and a few more numbers
    size = sum(int(batch.column(name).nbytes) if name in names else 4 * rows for name in ("key", "value"))
    size += (2 if size < 64 * rows else 4) * rows
    if "headers" in names and len(batch.column("headers").values):
        size += int(batch.column("headers").nbytes)
    return size + _HEAD * (1 + rows // max(1, most_rows or rows))


def _no_headers(count: int) -> Any:
    """That many empty lists; `pa.repeat` takes a microsecond for each."""
    starts = pa.py_buffer(bytes(4 * (count + 1)))
    none = pa.array([], _HEADERS.value_type)
    return pa.Array.from_buffers(_HEADERS, count, [None, starts], children=[none])


class _Unable(Exception):
    """Left to the pure writer, which may then raise the error."""


def encode_rows(batches: Sequence[Any], options: EncodeOptions) -> bytes:
    """The bytes that `encode` writes for the rows of batches from `normalized_batches`."""
    try:
        return b"".join(_Encoder(options).parts(batches))
    except _Unable:
        return pure.encode_rows(batches, options)


class _Encoder:
    """The options, and the progress of numbering records."""

    def __init__(self, options: EncodeOptions) -> None:
        self.options = options
        numbers = (
            options.partition_leader_epoch,
            options.producer_id,
            options.producer_epoch,
            options.base_sequence,
        )
        legacy_with_producer = options.magic not in LISTS and (
            options.transactional or options.control or options.extra or any(value != -1 for value in numbers)
        )
        if options.magic not in MAGICS or legacy_with_producer or options.batch_bytes > _MOST_BATCH:
            raise _Unable
        self.expected = 0 if options.base_offset is None else options.base_offset

    def parts(self, batches: Sequence[Any]) -> Iterator[bytes]:
        """The bytes in pieces."""
        most_rows = self.options.batch_records
        size = 0
        if self.options.compression == "none":
            size = sum(_likely_size(batch, most_rows) for batch in batches)
        write = self._v2(size) if self.options.magic in LISTS else self._v1(size)
        next(write)
        waiting = None
        for number, batch in enumerate(batches, 1):
            rows = self._filled(batch)
            more = number < len(batches)
            added = 0
            # the rest is joined with as few rows as complete its batch: all of them would be copied
            while waiting is not None and waiting.num_rows:
                added = min(rows.num_rows, 2 * added or self._likely(waiting, rows))
                joined = pa.concat_batches([waiting, rows.slice(0, added)])
                written = yield from self._whole(write, joined, more or added < rows.num_rows)
                if written >= waiting.num_rows:
                    rows, waiting = rows.slice(written - waiting.num_rows), None
                elif added == rows.num_rows:
                    rows, waiting = joined.slice(written), None
                else:
                    waiting = waiting.slice(written)
            written = yield from self._whole(write, rows, more)
            waiting = rows.slice(written)
        last = write.send(None)
        if last:
            yield last

    def _likely(self, waiting: Any, rows: Any) -> int:
        """An estimate of how many rows complete the batch that `waiting` begins, plus one."""
        most = self.options.batch_bytes * max(1, rows.num_rows) // max(1, most_bytes(rows))
        if self.options.batch_records is not None:
            most = min(most, self.options.batch_records - waiting.num_rows)
        return max(1, int(most) + 1)

    def _whole(self, write: Any, rows: Any, more: bool) -> Generator[bytes, None, int]:
        """Write whole batches of the first rows; return how many rows: all, unless `more` follow."""
        cut = Cut(rows, self.options)
        written = 0
        for first, stop in cut:
            if more and stop == rows.num_rows and stop - first != self.options.batch_records:
                break
            part = write.send((cut, first, stop))
            if part:
                yield part
            written = stop
        return written

    # -- columns ----------------------------------------------------------------------------------

    def _filled(self, batch: Any) -> Any:
        """The batch with every column of a record, its rows numbered."""
        count = batch.num_rows
        have = dict(zip(batch.schema.names, batch.columns, strict=True))
        columns = {"offset": self._offsets(have.get("offset"), count)}
        for name, value in _DEFAULTS.items():
            columns[name] = have[name] if name in have else pa.repeat(value, count)
        columns["headers"] = have["headers"] if "headers" in have else _no_headers(count)
        if (kind := self.options.timestamp_type) is not None:
            columns["timestamp_type"] = pa.repeat(pa.scalar(int(kind), pa.int32()), count)
        kinds = columns["timestamp_type"]
        if count and pc.min(kinds).as_py() < _CREATE:
            columns["timestamp_type"] = pc.max_element_wise(kinds, _DEFAULTS["timestamp_type"])
        if count and pc.min(columns["timestamp"]).as_py() < -1:
            raise _Unable
        names = row_schema().names
        return pa.RecordBatch.from_arrays([columns[name] for name in names], names)

    def _offsets(self, offsets: Any, count: int) -> Any:
        if not count:
            return pa.array([], pa.int64())
        if self.options.base_offset is None and offsets is not None:
            ascending = pc.all(pc.greater(offsets.slice(1), offsets.slice(0, count - 1)), min_count=0).as_py()
            most = (offsets[count - 1] if ascending else pc.max(offsets)).as_py()
            if most != -1:
                if not ascending or offsets[0].as_py() < self.expected:
                    raise _Unable
                self.expected = most + 1
                return offsets
        start, self.expected = self.expected, self.expected + count
        if start < 0 or self.expected > 2**63:
            raise _Unable
        ones = pa.repeat(pa.scalar(1, pa.int64()), count)
        return pc.cumulative_sum(ones, start=start - 1)

    # -- batches ----------------------------------------------------------------------------------

    def _v2(self, size: int) -> Any:
        """Receives (cut, first, stop) for each batch, and returns the bytes for None; `size` is an estimate.

        They are written in place, and copied once.
        """
        options = self.options
        head = batch_head(options)
        writer = record_batch.Writer()
        writer.reserve(size)
        sequence = options.base_sequence
        writer.set(**{name_of(role): int(attrgetter(RecordBatch.ROLES[role])(head)) for role in _SHARED})
        try:
            writer.set(
                **{field.name: int(field.get(head)) for field in EXTRA if options.magic in field.magics}
            )
        except (OverflowError, TypeError, ValueError):
            raise _Unable from None
        loaded = None
        item = yield
        while item is not None:
            cut, first, stop = item
            if cut is not loaded:
                writer.load(cut.rows)
                loaded = cut
            writer.put(_FIRST, (cut.offsets[first], cut.timestamps[first], sequence, _CREATE))
            if writer.rows(first, stop) != "ok":
                raise _Unable
            # set after the rows are written: the largest timestamp does not depend on the type
            writer.put(_TYPE, (cut.kinds[first],))
            content = None
            if options.compression != "none":
                content = compress(options.compression, writer.content, level=options.level)
            elif options.level is not None:
                compress(options.compression, b"", level=options.level)
            if writer.unit(content) != "ok":
                raise _Unable
            if sequence >= 0:
                sequence = (sequence + writer.get(_LAST_OFFSET) + 1) % SEQUENCES
            item = yield b""
        yield writer.take()

    def _v1(self, size: int) -> Any:
        """The same for messages of magic 0 and 1."""
        options = self.options
        code = codec_number(legacy.Compression, options.compression, options.magic)
        if options.compression == "none" and options.level is not None:
            compress(options.compression, b"", level=options.level)
        writer = message_set.Writer()
        writer.reserve(size)
        writer.set(magic=options.magic)
        loaded = None
        item = yield
        while item is not None:
            cut, first, stop = item
            if cut is not loaded:
                self._check_v1(cut.rows)
                writer.load(cut.rows)
                loaded = cut
            kind = cut.kinds[first] if options.magic else _CREATE
            writer.set(timestamp_type=kind)
            if code == legacy.Compression.NONE:
                if writer.rows(first, stop) != "ok":
                    raise _Unable
                item = yield b""
            else:
                item = yield self._wrapper(writer, cut, first, stop, kind, code)
                loaded = None
        yield writer.take()

    def _check_v1(self, rows: Any) -> None:
        options = self.options
        if options.lossy:
            return
        if rows.num_rows and pc.max(pc.list_value_length(rows["headers"])).as_py():
            raise _Unable
        if options.magic == 0 and rows.num_rows and pc.max(rows["timestamp"]).as_py() != -1:
            raise _Unable

    def _wrapper(self, writer: Any, cut: Cut, first: int, stop: int, kind: int, code: int) -> bytes:
        options = self.options
        rows = cut.rows.slice(first, stop - first)
        if options.magic:
            # relative to the first, so that the broker can move all by the wrapper's offset (KIP-31)
            offsets = pc.subtract(rows["offset"], pa.scalar(cut.offsets[first], pa.int64()))
            rows = rows.set_column(0, "offset", offsets)
        writer.load(rows)
        if writer.rows(0, stop - first) != "ok":
            raise _Unable
        wrapper = legacy.Message(
            magic=options.magic,
            attributes=legacy.MessageAttributes(
                timestamp_type=legacy.TimestampType(kind), compression=legacy.Compression(code)
            ),
            timestamp=pc.max(rows["timestamp"]).as_py() if options.magic else -1,
        )
        wrapper.value = compress(legacy.codec_of_message(wrapper), writer.take(), level=options.level)
        entry = legacy.Entry(offset=cut.offsets[stop - 1], message=wrapper)
        return entry.to_bytes(WriteOptions(options.level))
