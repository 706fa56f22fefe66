"""Tables by the native kernels: Arrow batches from the bytes of a log."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kodec.generated.kernels import message_set, record_batch
from kodec.log.entries.records import Limits, TimestampType
from kodec.log.reading.reader import OnError
from kodec.log.reading.source import Source
from kodec.log.reading.windows import Buffer, Windows
from kodec.log.tables import pure_table
from kodec.log.tables.arrow import CODECS
from kodec.log.tables.native_encode import encode_rows
from kodec.log.tables.scan import EVERY, HEADER_BYTES, Scan, TableReader
from kodec.runtime.compression import decompress
from kodec.runtime.errors import FormatError

__all__ = ["encode_rows", "scan_heads", "scan_rows"]

_WRAPPED = ("offset", "timestamp", "timestamp_type")
_NONE = int(TimestampType.NoTimestampType)


def scan_rows(source: Source, scan: Scan, on_error: OnError, limits: Limits) -> TableReader:
    """The records of a log as Arrow batches."""
    return _NativeReader(source, scan, on_error, limits, (_Batches(scan, limits), _Messages(scan, limits)))


def scan_heads(source: Source, scan: Scan, on_error: OnError, limits: Limits) -> TableReader:
    """The headers of a log's entries as Arrow batches."""
    gatherers = _BatchHeads(scan, limits), _MessageHeads(scan, limits)
    return _NativeReader(source, scan, on_error, limits, gatherers)


class _Gatherer:
    """One format's kernel, with what was gathered so far."""

    kernel: Any
    magics: tuple[int, ...]

    def expand(self, buf: Buffer) -> int:
        """Where in `buf` the compressed entry ends at which it stopped; 0 where pure Python is to do it."""
        return 0

    def run(self, buf: Buffer, start: int, end: int, position: int) -> tuple[str, int]:
        """Gather from `buf[start:end]`, at `position` of the source; give status and where it stopped."""
        raise NotImplementedError

    def take(self) -> tuple[Any, int]:
        """All that was gathered, as one Arrow batch, and how many bytes count of it."""
        raise NotImplementedError


class _NativeReader(Windows, TableReader):
    """Fills Arrow batches from windows of a source."""

    def __init__(
        self, source: Source, scan: Scan, on_error: OnError, limits: Limits, gatherers: tuple[_Gatherer, ...]
    ) -> None:
        self._scan = scan
        self._gatherers = gatherers
        self._turn = 0
        # what is gathered and not yet given, and how much of it there is
        self._parts: list[Any] = []
        self._part_rows = self._part_bytes = 0
        pure = pure_table.Heads(scan) if isinstance(gatherers[0], _BatchHeads) else pure_table.Records(scan)
        self._pure = pure
        super().__init__(source, pure, on_error, limits)

    @property
    def _gatherer(self) -> _Gatherer:
        return self._gatherers[self._turn]

    def _iterate(self) -> Iterator[Any]:
        try:
            yield from self._walk()
        except Exception:
            # what is before the damage comes first, as it does from `read_records`
            yield from self._given(all_of_it=True)
            raise
        finally:
            self.close()
        yield from self._given(all_of_it=True)

    def _put(self, part: Any, size: int) -> None:
        self._parts.append(part)
        self._part_rows += part.num_rows
        self._part_bytes += size

    def _given(self, *, all_of_it: bool = False) -> Iterator[Any]:
        """What is ready to be given: nothing where there is not enough yet, unless `all_of_it`."""
        scan = self._scan
        if len(self._gatherer.kernel):
            self._put(*self._gatherer.take())
        if not self._part_rows:
            return
        if not all_of_it and self._part_rows < scan.batch_rows and self._part_bytes < scan.batch_bytes:
            return
        whole = self._parts[0] if len(self._parts) == 1 else pa.concat_batches(self._parts)
        rows, size = self._part_rows, self._part_bytes
        self._parts, self._part_rows, self._part_bytes = [], 0, 0
        if rows <= 2 * scan.batch_rows and size <= 2 * scan.batch_bytes:
            yield whole
            return
        for start, stop in pure_table.cuts(_weights(whole), scan):
            yield whole.slice(start, stop - start)

    def _magics(self) -> tuple[tuple[int, ...], ...]:
        return tuple(each.magics for each in self._gatherers)

    def _turn_to(self, kernel: int) -> Iterator[Any]:
        yield from self._given()
        self._turn = kernel

    def _step(self) -> Iterator[Any]:
        if len(self._gatherer.kernel):
            self._put(*self._gatherer.take())
        self._next(self.position, self._pure.add)
        size = self._pure.nbytes
        for part in self._pure.take():
            self._put(part, size)
            size = 0
        yield from self._given()

    def _gather(self, buf: Buffer, start: int, end: int) -> Iterator[Any]:
        gatherer = self._gatherer
        origin = self.position - start
        at = start
        while True:
            status, at = gatherer.run(buf, at, end, origin + at)
            self.position = origin + at
            if status == "full":
                yield from self._given()
            elif status != "compressed" or not (stop := gatherer.expand(buf)):
                return
            else:
                at = stop


# -- rows -----------------------------------------------------------------------------------------


class _RowsOf(_Gatherer):
    """The rows of one format."""

    module: ModuleType

    def __init__(self, scan: Scan, limits: Limits) -> None:
        self.scan = scan
        self.limits = limits
        self.filtered = scan.offsets != EVERY or scan.timestamps != EVERY
        self.names = self._wanted()
        self.kernel = self.module.Rows(
            self.names,
            check=scan.check_crc,
            # what control records hold is checked where they are read one by one
            stop_at_hidden=scan.control,
            rows=scan.batch_rows,
            nbytes=scan.batch_bytes,
            unit_bytes=limits.batch_bytes,
            elements=limits.elements,
            bounds={"offset": scan.offsets, "timestamp": scan.timestamps} if self.filtered else None,
        )

    def _wanted(self) -> list[str]:
        return list(self.scan.schema.names)

    def run(self, buf: Buffer, start: int, end: int, position: int) -> tuple[str, int]:
        return self.kernel.run(buf, start, end)  # type: ignore[no-any-return]

    def expand(self, buf: Buffer) -> int:
        codec, start, size = self.kernel.content
        try:
            data = decompress(
                codec, memoryview(buf)[start : start + size], limit=self.limits.decompressed_bytes
            )
        except FormatError:
            return 0
        if not self._append(data):
            return 0
        start, size = self.kernel.unit
        return int(start + size)

    def _append(self, data: bytes) -> bool:
        return bool(self.kernel.rows(data) == "ok")

    def take(self) -> tuple[Any, int]:
        rows, size, text = len(self.kernel), self.kernel.nbytes, self.kernel.not_ascii
        return self._arrow(pa.array(self.kernel.take()), rows, text), size

    def _arrow(self, columns: Any, rows: int, text: bool) -> Any:
        """A batch of the scan's schema from the struct array that the kernel gave."""
        schema = self.scan.schema
        if not schema.names:
            return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), rows, [None]))
        found = dict(zip(self.names, columns.flatten(), strict=True))
        if "headers" in schema.names and "headers" not in found:
            found["headers"] = _no_headers(rows, schema.field("headers").type)
        elif text and "headers" in found:
            found["headers"] = _as_text(found["headers"])
        return pa.RecordBatch.from_arrays([found[name] for name in schema.names], schema=schema)


class _Batches(_RowsOf):
    """Record batches of magic 2."""

    module = record_batch
    magics = (2,)


class _Messages(_RowsOf):
    """Messages of magic 0 and 1, alone or in wrappers."""

    module = message_set
    magics = (0, 1)

    def _wanted(self) -> list[str]:
        # what a wrapper says of the messages inside is put into these, asked for or not
        rest = [
            name for name in self.scan.schema.names if name in message_set.COLUMNS and name not in _WRAPPED
        ]
        return [*_WRAPPED, *rest]

    def _append(self, data: bytes) -> bool:
        if self.filtered:
            return False  # the kernel would look at offsets that are relative
        kernel = self.kernel
        first = len(kernel)
        wrapper = kernel.head
        if kernel.rows(data) != "ok":
            return False
        if 0 < len(kernel) - first <= self.limits.elements and self._absolute(wrapper, first):
            return True
        kernel.cut(first)
        return False

    def _absolute(self, wrapper: dict[str, int], first: int) -> bool:
        """Put Kafka's rules for wrappers to the rows from `first` on; false where they are not followed.

        The same rules, with their source, are in `MessageEntry`.
        """
        kinds = self.kernel.values("timestamp_type", first)
        if not wrapper["magic"]:
            _fill(kinds, _NONE)
            return True
        if _NONE in kinds:
            return False  # messages of magic 0 inside one of magic 1
        _fill(kinds, wrapper["timestamp_type"])
        if wrapper["timestamp_type"] == TimestampType.LogAppendTime:
            _fill(self.kernel.values("timestamp", first), wrapper["timestamp"])
        if wrapper["offset"]:
            base = wrapper["offset"] - self.kernel.values("offset", first)[-1]
            if base < 0:
                return False
            try:
                self.kernel.add("offset", first, base)
            except OverflowError:
                return False
        return True


def _fill(numbers: memoryview, value: int) -> None:
    numbers[:] = memoryview(array(numbers.format, [value]) * len(numbers))


def _weights(batch: Any) -> list[int]:
    """For each row, the bytes in its key, value and headers."""
    found = [0] * batch.num_rows
    for name in ("key", "value"):
        if name in batch.schema.names:
            sizes = pc.fill_null(pc.binary_length(batch[name]), 0).to_pylist()
            found = [sum(pair) for pair in zip(found, sizes, strict=True)]
    if "headers" in batch.schema.names:
        lists = batch["headers"]
        total = [0]
        items = [pc.fill_null(pc.binary_length(lists.values.field(i)), 0).to_pylist() for i in (0, 1)]
        for pair in zip(*items, strict=True):
            total.append(total[-1] + HEADER_BYTES + sum(pair))
        bounds = [total[at] for at in lists.offsets.to_pylist()]
        found = [weight + stop - start for weight, (start, stop) in zip(found, pairwise(bounds), strict=True)]
    return found


def _no_headers(rows: int, kind: Any) -> Any:
    header = kind.value_type
    none = pa.StructArray.from_arrays([pa.array([], field.type) for field in header], fields=list(header))
    offsets = pa.Array.from_buffers(pa.int32(), rows + 1, [None, pa.py_buffer(bytes(4 * (rows + 1)))])
    return pa.ListArray.from_arrays(offsets, none, type=kind)


def _as_text(lists: Any) -> Any:
    """The lists with U+FFFD where a key's bytes are not UTF-8."""
    items = lists.values
    keys = items.field(0)
    try:
        keys.validate(full=True)
        return lists
    except pa.ArrowInvalid:
        pass
    raw = keys.cast(pa.binary()).to_pylist()
    kind = items.type
    shown = pa.array([key.decode("utf-8", "replace") for key in raw], kind.field(0).type)
    fixed = pa.StructArray.from_arrays([shown, items.field(1)], fields=list(kind))
    return pa.ListArray.from_arrays(lists.offsets, fixed, type=lists.type)


# -- heads ----------------------------------------------------------------------------------------


class _HeadsOf(_Gatherer):
    """The headers of one format."""

    module: ModuleType

    def __init__(self, scan: Scan, limits: Limits) -> None:
        self.scan = scan
        self.kernel = self.module.Heads(check=scan.check_crc, unit_bytes=limits.batch_bytes)

    def run(self, buf: Buffer, start: int, end: int, position: int) -> tuple[str, int]:
        return self.kernel.run(buf, start, end, position - start, self.scan.batch_rows)  # type: ignore[no-any-return]

    def take(self) -> tuple[Any, int]:
        rows = len(self.kernel)
        heads = dict(zip(self.module.HEADS, pa.array(self.kernel.take()).flatten(), strict=True))
        columns = self._columns(heads, rows)
        codes = heads["compression"].view(pa.int8())
        columns["codec"] = pa.DictionaryArray.from_arrays(codes, pa.array(CODECS))
        columns["crc_ok"] = heads["checksum_ok"] if self.scan.check_crc else pa.nulls(rows, pa.bool_())
        columns |= {name: heads[name] for name in ("position", "size", "magic", "crc")}
        made = [
            columns[field.name] if field.name == "codec" else columns[field.name].cast(field.type)
            for field in self.scan.schema
        ]
        return pa.RecordBatch.from_arrays(made, schema=self.scan.schema), 0

    def _columns(self, heads: dict[str, Any], rows: int) -> dict[str, Any]:
        raise NotImplementedError


_SAME = (
    "base_offset",
    "base_timestamp",
    "max_timestamp",
    "timestamp_type",
    "partition_leader_epoch",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "is_transactional",
    "is_control",
)


class _BatchHeads(_HeadsOf):
    """Headers of record batches."""

    module = record_batch
    magics = (2,)

    def _columns(self, heads: dict[str, Any], rows: int) -> dict[str, Any]:
        columns = {name: heads[name] for name in _SAME}
        columns["last_offset"] = heads["offset_last"]
        columns["count"] = heads["num_records"]
        none = pa.scalar(None, pa.int64())
        columns["delete_horizon"] = pc.if_else(heads["has_delete_horizon"], heads["base_timestamp"], none)
        return columns


class _MessageHeads(_HeadsOf):
    """Headers of messages; a wrapper's first offset and count are compressed away."""

    module = message_set
    magics = (0, 1)

    def _columns(self, heads: dict[str, Any], rows: int) -> dict[str, Any]:
        def all_of(value: int | bool | None, kind: Any) -> Any:
            return pa.repeat(pa.scalar(value, kind), rows)

        alone = pc.equal(heads["compression"], 0)
        kinds = heads["timestamp_type"].cast(pa.int32())
        return {
            "base_offset": pc.if_else(alone, heads["offset"], pa.scalar(None, pa.int64())),
            "last_offset": heads["offset"],
            "count": pc.if_else(alone, pa.scalar(1, pa.int32()), pa.scalar(None, pa.int32())),
            "base_timestamp": heads["timestamp"],
            "max_timestamp": heads["timestamp"],
            "timestamp_type": pc.if_else(pc.equal(heads["magic"], 0), pa.scalar(_NONE, pa.int32()), kinds),
            "partition_leader_epoch": all_of(-1, pa.int32()),
            "producer_id": all_of(-1, pa.int64()),
            "producer_epoch": all_of(-1, pa.int16()),
            "base_sequence": all_of(-1, pa.int32()),
            "is_transactional": all_of(False, pa.bool_()),
            "is_control": all_of(False, pa.bool_()),
            "delete_horizon": all_of(None, pa.int64()),
        }
