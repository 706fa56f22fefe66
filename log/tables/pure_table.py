"""Tables in pure Python: Arrow batches from records and headers, and records from Arrow batches."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from operator import attrgetter
from typing import Any

import pyarrow as pa

from kodec.log.entries.batch import Batch
from kodec.log.entries.encode import encode
from kodec.log.entries.records import Limits, Record, TimestampType
from kodec.log.reading.reader import OnError
from kodec.log.reading.source import Source
from kodec.log.tables.arrow import CODECS
from kodec.log.tables.scan import EVERY, HEADER_BYTES, Scan, TableReader
from kodec.runtime.errors import FormatError, Malformed

__all__ = ["Heads", "Records", "cuts", "encode_rows", "scan_heads", "scan_rows"]

Headers = tuple[tuple[str, bytes | None], ...]


def scan_rows(source: Source, scan: Scan, on_error: OnError, limits: Limits) -> TableReader:
    """The records of a log as Arrow batches."""
    return TableReader(source, Records(scan), on_error, limits)


def scan_heads(source: Source, scan: Scan, on_error: OnError, limits: Limits) -> TableReader:
    """The headers of a log's entries as Arrow batches."""
    return TableReader(source, Heads(scan), on_error, limits)


# -- records to columns ---------------------------------------------------------------------------

_offset, _timestamp = attrgetter("offset"), attrgetter("timestamp")


class Records:
    """Gathers the columns of records."""

    def __init__(self, scan: Scan) -> None:
        self.schema = scan.schema
        self._scan = scan
        self._filtered = scan.offsets != EVERY or scan.timestamps != EVERY
        self._clear()

    def _clear(self) -> None:
        self._columns: list[Any] = [_EMPTY[name]() for name in self.schema.names]
        self._rows = 0
        self.nbytes = 0

    @property
    def full(self) -> bool:
        return self._rows >= self._scan.batch_rows or self.nbytes >= self._scan.batch_bytes

    def add(self, batch: Batch) -> None:
        scan = self._scan
        if not scan.may_hold(batch):
            return
        if scan.check_crc:
            batch.verify_crc()
        records = batch.records(control=scan.control, check_crc=scan.check_crc)
        try:
            array("q", map(_offset, records))
            array("q", map(_timestamp, records))
        except OverflowError:
            raise _too_wide(batch, records) from None
        if self._filtered:
            (first, last), (start, end) = scan.offsets, scan.timestamps
            records = [r for r in records if first <= r.offset <= last and start <= r.timestamp <= end]
        for name, column in zip(self.schema.names, self._columns, strict=True):
            values = list(map(_VALUES[name], records))
            column.extend(values)
            if name in _WEIGHTS:
                self.nbytes += sum(map(_WEIGHTS[name], values))
        self._rows += len(records)

    def take(self) -> Iterator[Any]:
        columns, rows, size = self._columns, self._rows, self.nbytes
        self._clear()
        most_rows, most_bytes = self._scan.batch_rows, self._scan.batch_bytes
        if not rows:
            return
        if rows <= 2 * most_rows and size <= 2 * most_bytes:
            yield self._arrow(columns, rows)
            return
        weights = [0] * rows
        for name, column in zip(self.schema.names, columns, strict=True):
            if name in _WEIGHTS:
                weights = [sum(pair) for pair in zip(weights, map(_WEIGHTS[name], column), strict=True)]
        for start, stop in cuts(weights, self._scan):
            yield self._arrow([column[start:stop] for column in columns], stop - start)

    def _arrow(self, columns: Sequence[Any], rows: int) -> Any:
        made = [
            _ARROW.get(field.name, pa.array)(column, field.type)
            for field, column in zip(self.schema, columns, strict=True)
        ]
        if not made:
            # only a struct says how many rows there are where there is no column
            return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), rows, [None]))
        return pa.RecordBatch.from_arrays(made, schema=self.schema)


def cuts(weights: Sequence[int], scan: Scan) -> Iterator[tuple[int, int]]:
    """Where to cut rows of these bytes each, so that every batch is full as the scan has it."""
    start = size = 0
    for row, weight in enumerate(weights, 1):
        size += weight
        if row - start >= scan.batch_rows or size >= scan.batch_bytes or row == len(weights):
            yield start, row
            start, size = row, 0


def _too_wide(batch: Batch, records: list[Record]) -> FormatError:
    """The error for the first offset or timestamp, of those computed by adding, that is no int64."""
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


def _lists(column: Sequence[Headers], kind: Any) -> Any:
    bounds = array("i", [0])
    total = 0
    for headers in column:
        total += len(headers)
        bounds.append(total)
    flat = list(chain.from_iterable(column))
    keys = [key for key, _ in flat]
    try:
        "".join(keys).encode()
    except UnicodeEncodeError:
        # bytes that are not UTF-8: a string column holds what Kafka makes of them, U+FFFD
        keys = [key.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for key in keys]
    struct = kind.value_type
    items = pa.StructArray.from_arrays(
        [pa.array(keys, struct.field(0).type), pa.array([value for _, value in flat], struct.field(1).type)],
        fields=list(struct),
    )
    return pa.ListArray.from_arrays(_numbers(bounds, pa.int32()), items, type=kind)


_VALUES: dict[str, Callable[[Record], Any]] = {
    "offset": _offset,
    "timestamp": _timestamp,
    "timestamp_type": attrgetter("timestamp_type"),
    "key": attrgetter("key"),
    "value": attrgetter("value"),
    "headers": attrgetter("headers"),
}
_EMPTY: dict[str, Callable[[], Any]] = {
    "offset": lambda: array("q"),
    "timestamp": lambda: array("q"),
    "timestamp_type": lambda: array("i"),
    "key": list,
    "value": list,
    "headers": list,
}
_WEIGHTS: dict[str, Callable[[Any], int]] = {"key": _weight, "value": _weight, "headers": _headers_weight}
_ARROW: dict[str, Callable[[Any, Any], Any]] = {
    "offset": _numbers,
    "timestamp": _numbers,
    "timestamp_type": _numbers,
    "headers": _lists,
}


# -- headers to columns ---------------------------------------------------------------------------


class Heads:
    """Gathers the headers of entries."""

    nbytes = 0

    def __init__(self, scan: Scan) -> None:
        self.schema = scan.schema
        self._scan = scan
        self._rows: list[tuple[Any, ...]] = []

    @property
    def full(self) -> bool:
        return len(self._rows) >= self._scan.batch_rows

    def add(self, batch: Batch) -> None:
        # a wrapper's first offset and count are compressed away
        known = batch.magic == 2 or batch.codec == "none"
        if batch.last_offset > EVERY.last:
            error = Malformed("last_offset_delta", "does not fit 64 bits", at=0, have=batch.last_offset)
            raise batch.located(error)
        self._rows.append(
            (
                batch.position,
                batch.size,
                batch.magic,
                CODECS.index(batch.codec),
                batch.base_offset if known else None,
                batch.last_offset,
                batch.count if known else None,
                batch.base_timestamp,
                batch.max_timestamp,
                batch.timestamp_type,
                batch.partition_leader_epoch,
                batch.producer_id,
                batch.producer_epoch,
                batch.base_sequence,
                batch.is_transactional,
                batch.is_control,
                batch.delete_horizon,
                batch.crc,
                batch.crc_ok if self._scan.check_crc else None,
            )
        )

    def take(self) -> Iterator[Any]:
        rows, self._rows = self._rows, []
        if not rows:
            return
        columns = []
        for field, values in zip(self.schema, zip(*rows, strict=True), strict=True):
            if pa.types.is_dictionary(field.type):
                indices = pa.array(values, field.type.index_type)
                columns.append(pa.DictionaryArray.from_arrays(indices, pa.array(CODECS)))
            else:
                columns.append(pa.array(values, field.type))
        yield pa.RecordBatch.from_arrays(columns, schema=self.schema)


# -- columns to records ---------------------------------------------------------------------------


def encode_rows(batches: Sequence[Any], options: dict[str, Any]) -> bytes:
    """What `encode` writes of the rows in batches that `plain_batches` gave, with its arguments."""
    return encode(chain.from_iterable(map(_records, batches)), **options)


def _records(batch: Any) -> Iterator[Record]:
    default = Record()
    columns: dict[str, Sequence[Any]] = {name: batch[name].to_pylist() for name in batch.schema.names}
    if "timestamp_type" in columns:
        columns["timestamp_type"] = [TimestampType(kind) for kind in columns["timestamp_type"]]
    if "headers" in columns:
        columns["headers"] = _tuples(batch["headers"])
    ordered = [
        columns.get(name, [getattr(default, name)] * batch.num_rows) for name in Record.__dataclass_fields__
    ]
    return map(Record, *ordered)


def _tuples(lists: Any) -> list[Headers]:
    items = lists.values
    keys, values = (items.field(index).to_pylist() for index in (0, 1))
    pairs = [(key.decode("utf-8", "surrogateescape"), value) for key, value in zip(keys, values, strict=True)]
    bounds = lists.offsets.to_pylist()
    return [tuple(pairs[start:end]) for start, end in pairwise(bounds)]
