"""The records of a log as Arrow batches, by the native kernels."""

from __future__ import annotations

from array import array
from types import ModuleType
from typing import Any

import pyarrow as pa

from kodec.generated.kernels import message_set, record_batch
from kodec.log.backends.contract import Buffer
from kodec.log.backends.header_keys import exact, has_ours, replaced
from kodec.log.backends.native.kernels import MOST_NATIVE, content_of
from kodec.log.backends.native.tables import Gatherer, TableDecoder
from kodec.log.backends.pure.rows import RowDecoder
from kodec.log.backends.scan import Scan
from kodec.log.batches.options import LogReadOptions
from kodec.log.batches.records import TimestampType
from kodec.log.batches.wrapper import Wrapper

__all__ = ["NativeRowDecoder"]

# values of a wrapper for the messages inside are written to these
_WRAPPED = ("offset", "timestamp", "timestamp_type")
_NONE = int(TimestampType.NO_TIMESTAMP_TYPE)


class NativeRowDecoder(TableDecoder):
    """Collects the columns of records."""

    def __init__(self, scan: Scan, options: LogReadOptions) -> None:
        gatherers = _Batches(scan, options), _Messages(scan, options)
        super().__init__(scan, gatherers, RowDecoder(scan, options))


class _RowsOf(Gatherer):
    """The rows of one format."""

    module: ModuleType

    def __init__(self, scan: Scan, options: LogReadOptions) -> None:
        self.scan = scan
        self.limits = limits = options.limits
        self.names = self._column_names()
        self.kernel = self.module.Rows(
            self.names,
            check=options.check_crc,
            # the contents of control records are checked where they are read one by one
            stop_at_hidden=options.control,
            rows=scan.batch_rows,
            nbytes=scan.batch_bytes,
            unit_bytes=limits.batch_bytes,
            elements=limits.elements,
            bounds={"offset": scan.offsets, "timestamp": scan.timestamps} if scan.filtered else None,
            decompressed_bytes=min(limits.decompressed_bytes, MOST_NATIVE),
        )

    def _column_names(self) -> list[str]:
        return list(self.scan.schema.names)

    def run(self, buf: Buffer, start: int, end: int, position: int) -> tuple[str, int]:
        outcome: tuple[str, int] = self.kernel.run(buf, start, end)
        return outcome

    def expand(self, buf: Buffer) -> int:
        data = content_of(self.kernel, buf, self.limits.decompressed_bytes)
        if data is None:
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
        """A batch of the scan's schema from the struct array from the kernel."""
        schema = self.scan.schema
        if not schema.names:
            return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), rows, [None]))
        by_name = dict(zip(self.names, columns.flatten(), strict=True))
        if "headers" in schema.names and "headers" not in by_name:
            by_name["headers"] = _no_headers(rows, schema.field("headers").type)
        elif text and "headers" in by_name:
            by_name["headers"] = _as_text(by_name["headers"], self.scan.exact_keys)
        # v0 and v1 have no values that apply to all records of a batch
        arrays = [
            by_name[field.name] if field.name in by_name else pa.nulls(rows, field.type) for field in schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


class _Batches(_RowsOf):
    """Record batches of magic 2."""

    module = record_batch


class _Messages(_RowsOf):
    """Messages of magic 0 and 1, alone or in wrappers."""

    module = message_set

    def _column_names(self) -> list[str]:
        # selected or not
        names = [
            name for name in self.scan.schema.names if name in message_set.COLUMNS and name not in _WRAPPED
        ]
        return [*_WRAPPED, *names]

    def _append(self, data: bytes) -> bool:
        if self.scan.filtered:
            return False  # the kernel would read relative offsets
        kernel = self.kernel
        first = len(kernel)
        wrapper = Wrapper.of(kernel.head)
        if kernel.rows(data) != "ok":
            return False
        if 0 < len(kernel) - first <= self.limits.elements and self._absolute(wrapper, first):
            return True
        kernel.cut(first)
        return False

    def _absolute(self, wrapper: Wrapper, first: int) -> bool:
        """Apply the wrapper's values to the rows from `first` on; false if pure Python has to do it."""
        kernel = self.kernel
        kinds = kernel.values("timestamp_type", first)
        if wrapper.magic and _NONE in kinds:
            return False  # messages of magic 0 inside one of magic 1
        _fill(kinds, wrapper.timestamp_type)
        if wrapper.appended is not None:
            _fill(kernel.values("timestamp", first), wrapper.appended)
        base = wrapper.base(kernel.values("offset", first)[-1])
        if base < 0:
            return False
        if base:
            try:
                kernel.add("offset", first, base)
            except OverflowError:
                return False
        return True


def _fill(numbers: memoryview, value: int) -> None:
    numbers[:] = memoryview(array(numbers.format, [value]) * len(numbers))


def _no_headers(rows: int, kind: Any) -> Any:
    header = kind.value_type
    none = pa.StructArray.from_arrays([pa.array([], field.type) for field in header], fields=list(header))
    offsets = pa.Array.from_buffers(pa.int32(), rows + 1, [None, pa.py_buffer(bytes(4 * (rows + 1)))])
    return pa.ListArray.from_arrays(offsets, none, type=kind)


def _as_text(lists: Any, is_exact: bool) -> Any:
    """The lists with keys that are text, where a key's bytes are not UTF-8."""
    items = lists.values
    keys = items.field(0)
    try:
        keys.validate(full=True)
        if not (is_exact and has_ours(keys)):
            return lists
    except pa.ArrowInvalid:
        pass
    raw = keys.cast(pa.binary()).to_pylist()
    kind = items.type
    shown = pa.array(map(exact if is_exact else replaced, raw), kind.field(0).type)
    fixed = pa.StructArray.from_arrays([shown, items.field(1)], fields=list(kind))
    return pa.ListArray.from_arrays(lists.offsets, fixed, type=lists.type)
