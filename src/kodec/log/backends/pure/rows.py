"""Records as Arrow batches, in pure Python."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import pyarrow as pa

from kodec.generated.log.record_batch import HEAD_OF_RECORD_BATCH_ROWS
from kodec.log.backends.arrow import DECODED, OF_BATCH, SEQUENCE
from kodec.log.backends.contract import Decoder
from kodec.log.backends.header_keys import exact, replaced
from kodec.log.backends.scan import EVERY, HEADER_BYTES, Scan
from kodec.log.batches.batch import Batch
from kodec.log.batches.default_batch import DefaultBatch
from kodec.log.batches.header import EXTRA
from kodec.log.batches.options import LogReadOptions
from kodec.log.batches.records import Record
from kodec.runtime.errors import FormatError, Malformed

__all__ = ["Headers", "RowDecoder"]

# A value of this size or more, alone in its Arrow batch, is not copied.
_SHARED = 1 << 20
Headers = tuple[tuple[str, bytes | None], ...]


_offset, _timestamp = attrgetter("offset"), attrgetter("timestamp")


class RowDecoder(Decoder[Any]):
    """Collects the columns of records for an Arrow batch, without those of batches that `drops` names.

    It has the columns of `headed_schema`, including the batch of a record and decoded messages.
    """

    runs = False

    def __init__(
        self, scan: Scan, options: LogReadOptions, drops: Callable[[Batch], bool] | None = None
    ) -> None:
        self._scan = scan
        self._drops = drops
        self._check_crc = options.check_crc
        self._control = options.control
        # Arrow batches of large batches of the log, with their bytes
        self._large: list[tuple[Any, int]] = []
        self._clear()

    def _clear(self) -> None:
        self._columns: list[Any] = [_EMPTY.get(name, list)() for name in self._scan.schema.names]
        self._rows = 0
        self._bytes = 0

    def decode(self, batch: Batch) -> Iterable[Any]:
        self.add(batch)
        return self.rest() if self._large or self._scan.full(self._rows, self._bytes) else ()

    def add(self, batch: Batch) -> None:
        """Collect the rows of a batch: all of them, or none with a FormatError."""
        scan = self._scan
        if not scan.may_hold(batch):
            return
        if self._check_crc:
            batch.verify_crc()
        if self._drops is not None and self._drops(batch):
            return
        large, parts = batch.record_parts(control=self._control, check_crc=self._check_crc)
        if not large:
            self._gather(batch, next(parts))
            return
        # Each part is converted to Arrow before the next is read, so that nothing is held twice.
        batches = list(self._finished_batches())
        count = len(batches)
        try:
            for records in parts:
                self._gather(batch, records)
                batches += self._finished_batches()
        except FormatError:
            self._clear()
            del batches[count:]
            raise
        finally:
            self._large += batches

    def _gather(self, batch: Batch, records: list[Record]) -> None:
        """Collect the rows of these records of a batch."""
        scan = self._scan
        try:
            array("q", map(_offset, records))
            array("q", map(_timestamp, records))
        except OverflowError:
            raise _too_wide(batch, records) from None
        if scan.filtered:
            (first, last), (start, end) = scan.offsets, scan.timestamps
            records = [r for r in records if first <= r.offset <= last and start <= r.timestamp <= end]
        for name, column in zip(scan.schema.names, self._columns, strict=True):
            if name == SEQUENCE:
                column.extend(_sequences(batch, records))
                continue
            if name not in _VALUES:
                column.extend([_of_batch(batch, name)] * len(records))
                continue
            values = list(map(_VALUES[name], records))
            column.extend(values)
            if name in _WEIGHTS:
                self._bytes += sum(map(_WEIGHTS[name], values))
        self._rows += len(records)

    def rest(self) -> Iterator[Any]:
        return (part for part, _ in self.take())

    def take(self) -> Iterator[tuple[Any, int]]:
        """All collected rows, as Arrow batches with the bytes that count."""
        large, self._large = self._large, []
        yield from large
        yield from self._finished_batches()

    @property
    def took_large(self) -> bool:
        """Whether some collected rows are of a large batch, and already in Arrow batches."""
        return bool(self._large)

    def _finished_batches(self) -> Iterator[tuple[Any, int]]:
        """The columns as they are, as Arrow batches."""
        columns, rows, size = self._columns, self._rows, self._bytes
        self._clear()
        if not rows:
            return
        if not self._scan.too_large(rows, size):
            yield self._arrow(columns, rows), size
            return
        weights = [0] * rows
        for name, column in zip(self._scan.schema.names, columns, strict=True):
            if name in _WEIGHTS:
                weights = [sum(pair) for pair in zip(weights, map(_WEIGHTS[name], column), strict=True)]
        for start, stop in self._scan.cuts(weights):
            part = [column[start:stop] for column in columns]
            yield self._arrow(part, stop - start), sum(weights[start:stop])

    def _arrow(self, columns: Sequence[Any], rows: int) -> Any:
        schema = self._scan.schema
        texts = self._decoded(columns)
        arrays = _ARROW | {"headers": _exact_lists} if self._scan.exact_keys else _ARROW
        converted = [
            arrays.get(field.name, pa.array)(texts.get(field.name, column), field.type)
            for field, column in zip(schema, columns, strict=True)
        ]
        if not converted:
            # without columns, only a struct stores the number of rows
            return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), rows, [None]))
        return pa.RecordBatch.from_arrays(converted, schema=schema)

    def _decoded(self, columns: Sequence[Any]) -> dict[str, list[str | None]]:
        """The columns of decoded messages, if selected.

        Created for the rows of one Arrow batch, not of a log's: they take more memory than the bytes they
        decode.
        """
        records = dict(zip(self._scan.schema.names, columns, strict=True))
        names = [name for name in DECODED if name in records]
        if not names:
            return {}
        # imported late: few tables have them
        from kodec.log.messages.decoding import decode

        texts: dict[str, list[str | None]] = {name: [] for name in DECODED}
        for record in records[names[0]]:
            for name, message in zip(DECODED, decode(self._scan.topic, record), strict=True):
                if name in records:
                    texts[name].append(None if message is None else message.text())
        return texts


_EXTRA = frozenset(field.name for field in EXTRA)


def _sequences(batch: Batch, records: list[Record]) -> list[int]:
    """The producer's sequence number of each record, -1: none; 2147483647 is followed by 0."""
    if batch.base_sequence < 0:
        return [-1] * len(records)
    first = batch.base_sequence - batch.base_offset
    return [(first + record.offset) % 2**31 for record in records]


def _of_batch(batch: Batch, name: str) -> Any:
    """The header's values for all records of the batch; None in v0 and v1 for fields of v2."""
    if name in OF_BATCH:
        return batch.extra[name] if name in _EXTRA else getattr(batch, name)
    return HEAD_OF_RECORD_BATCH_ROWS[name][1](batch.head) if isinstance(batch, DefaultBatch) else None


def _too_wide(batch: Batch, records: list[Record]) -> FormatError:
    """The error for the first offset or timestamp, computed by adding, that does not fit int64."""
    for index, record in enumerate(records):
        for name in ("offset", "timestamp"):
            value = getattr(record, name)
            if not EVERY.first <= value <= EVERY.last:
                path = f"records[{index}].{name}"
                return batch.located(Malformed(path, "does not fit 64 bits", at=0, have=value))
    raise AssertionError("every number fits")


def _weight(value: bytes | None) -> int:
    return 0 if value is None else len(value)


def _headers_weight(headers: Headers) -> int:
    return sum([HEADER_BYTES + _text_weight(key) + _weight(value) for key, value in headers])


def _text_weight(key: str) -> int:
    return len(key) if key.isascii() else len(key.encode("utf-8", "surrogateescape"))


def _numbers(column: array[int], kind: Any) -> Any:
    return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(column)])


def _binaries(column: Sequence[bytes | None], kind: Any) -> Any:
    value = column[0] if len(column) == 1 else None
    if value is None or len(value) < _SHARED:
        return pa.array(column, kind)
    bounds = pa.py_buffer(array("i", [0, len(value)]))
    return pa.Array.from_buffers(kind, 1, [None, bounds, pa.py_buffer(value)])


def _exact_lists(column: Sequence[Headers], kind: Any) -> Any:
    return _lists(column, kind, exact)


def _lists(column: Sequence[Headers], kind: Any, text: Callable[[bytes], str] = replaced) -> Any:
    bounds = array("i", [0])
    total = 0
    for headers in column:
        total += len(headers)
        bounds.append(total)
    flat = list(chain.from_iterable(column))
    keys = [key for key, _ in flat]
    if text is exact or not _is_utf8(keys):
        keys = [key if key.isascii() else text(key.encode("utf-8", "surrogateescape")) for key in keys]
    struct = kind.value_type
    items = pa.StructArray.from_arrays(
        [pa.array(keys, struct.field(0).type), pa.array([value for _, value in flat], struct.field(1).type)],
        fields=list(struct),
    )
    return pa.ListArray.from_arrays(_numbers(bounds, pa.int32()), items, type=kind)


def _is_utf8(keys: Sequence[str]) -> bool:
    try:
        "".join(keys).encode()
    except UnicodeEncodeError:
        return False
    return True


_VALUES: dict[str, Callable[[Record], Any]] = {
    "offset": _offset,
    "timestamp": _timestamp,
    "timestamp_type": attrgetter("timestamp_type"),
    "key": attrgetter("key"),
    "value": attrgetter("value"),
    "headers": attrgetter("headers"),
    # the records themselves, until they become a batch
    **dict.fromkeys(DECODED, lambda record: record),
}
_EMPTY: dict[str, Callable[[], Any]] = {
    "offset": lambda: array("q"),
    "timestamp": lambda: array("q"),
    "timestamp_type": lambda: array("i"),
    "key": list,
    "value": list,
    "headers": list,
}
_WEIGHTS: dict[str, Callable[[Any], int]] = {
    "key": _weight,
    "value": _weight,
    "headers": _headers_weight,
    "key_decoded": lambda record: _weight(record.key),
    "value_decoded": lambda record: _weight(record.value),
}
_ARROW: dict[str, Callable[[Any, Any], Any]] = {
    "key": _binaries,
    "value": _binaries,
    "offset": _numbers,
    "timestamp": _numbers,
    "timestamp_type": _numbers,
    "headers": _lists,
}
