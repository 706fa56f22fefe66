"""The headers of a log's batches as Arrow batches, by the native kernels."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kodec.generated.kernels import message_set, record_batch
from kodec.generated.log.message_set import Message
from kodec.log.backends.contract import Buffer
from kodec.log.backends.native.tables import Gatherer, TableDecoder
from kodec.log.backends.pure.headers import HeaderDecoder
from kodec.log.backends.scan import Scan
from kodec.log.batches.batch import CODECS
from kodec.log.batches.frame import BEFORE_BODY
from kodec.log.batches.header import EXTRA, name_of
from kodec.log.batches.options import LogReadOptions
from kodec.log.batches.records import TimestampType
from kodec.log.batches.sizes import HEADS, LENGTH, MAGIC
from kodec.runtime.dataclass import replace
from kodec.runtime.native import bindings

__all__ = ["HAS_EVERY_COLUMN", "FileHeaders", "NativeHeaderDecoder"]

_NONE = int(TimestampType.NO_TIMESTAMP_TYPE)
HAS_EVERY_COLUMN = all(field.name in record_batch.HEADS for field in EXTRA)
"""Whether the kernel has all columns of a table of batches; it has none for bytes in a header."""


class NativeHeaderDecoder(TableDecoder):
    """Collects the headers of batches."""

    def __init__(self, scan: Scan, options: LogReadOptions) -> None:
        gatherers = _BatchHeaders(scan, options), _MessageHeaders(scan, options)
        super().__init__(scan, gatherers, HeaderDecoder(scan, options))


class _HeadersOf(Gatherer):
    """The headers of one format."""

    module: ModuleType
    codec: str
    """The column with the number of the codec."""

    def __init__(self, scan: Scan, options: LogReadOptions) -> None:
        self.scan = scan
        self.check_crc = options.check_crc
        self.kernel = self.module.Heads(check=options.check_crc, unit_bytes=options.limits.batch_bytes)

    def run(self, buf: Buffer, start: int, end: int, position: int) -> tuple[str, int]:
        outcome: tuple[str, int] = self.kernel.run(buf, start, end, position - start, self.scan.batch_rows)
        return outcome

    def take(self) -> tuple[Any, int]:
        rows = len(self.kernel)
        heads = dict(zip(self.module.HEADS, pa.array(self.kernel.take()).flatten(), strict=True))
        columns = self._columns(heads, rows)
        codes = heads[self.codec].view(pa.int8())
        columns["codec"] = pa.DictionaryArray.from_arrays(codes, pa.array(CODECS))
        columns["crc_ok"] = heads["checksum_ok"] if self.check_crc else pa.nulls(rows, pa.bool_())
        columns |= {name: heads[name] for name in ("position", "size", "magic", "crc")}
        arrays = [
            columns[field.name] if field.name == "codec" else columns[field.name].cast(field.type)
            for field in self.scan.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.scan.schema), 0

    @abstractmethod
    def _columns(self, heads: dict[str, Any], rows: int) -> dict[str, Any]:
        """The columns of a table of batches that differ between formats."""


class FileHeaders:
    """The headers of a file's lists of records as Arrow batches: reads nothing between them.

    Ends at a batch of another format, at one that is incomplete or damaged according to its header, and at
    the end of the file: `position` shows where. Reads by position, so that several threads may read one file.

    Args: fd, start, end: the file, and the byte range, from the start of a batch.
    """

    _LAYOUT = LENGTH.at, BEFORE_BODY, MAGIC.at, tuple((magic, head.size) for magic, head in HEADS.items())

    def __init__(self, fd: int, start: int, end: int, scan: Scan, options: LogReadOptions) -> None:
        self.position = start
        self._fd, self._end, self._scan, self._options = fd, end, scan, options

    def __iter__(self) -> Iterator[Any]:
        names = self._scan.schema.names
        # checksums cover bytes that are not read
        gatherer = _BatchHeaders(self._scan, replace(self._options, check_crc=False))
        while True:
            heads, places, sizes, stopped = bindings.gather_heads(
                self._fd,
                self.position,
                self._end,
                self._LAYOUT,
                self._options.limits.batch_bytes,
                self._scan.batch_rows,
            )
            gatherer.run(heads, 0, len(heads), 0)
            rows = len(gatherer.kernel)
            if rows:
                batch, _ = gatherer.take()
                for name, values in (("position", places), ("size", sizes)):
                    if name in names:
                        column = pa.Array.from_buffers(pa.int64(), rows, [None, pa.py_buffer(values)])
                        batch = batch.set_column(names.index(name), self._scan.schema.field(name), column)
                yield batch
            if rows < len(places) // 8:
                self.position = int.from_bytes(places[8 * rows : 8 * rows + 8], sys.byteorder)
                return
            self.position = stopped
            if rows < self._scan.batch_rows:
                return


_SAME = {
    "base_offset": "offset",
    "base_timestamp": "base_timestamp",
    "max_timestamp": "max_timestamp",
    "timestamp_type": "timestamp_type",
    "partition_leader_epoch": "leader_epoch",
    "producer_id": "producer_id",
    "producer_epoch": "producer_epoch",
    "base_sequence": "base_sequence",
    "is_transactional": "transactional",
    "is_control": "control",
    "count": "count",
}
"""Columns of a table of batches that a header has as they are, with the roles of the fields."""


class _BatchHeaders(_HeadersOf):
    """Headers of record batches."""

    module = record_batch
    codec = name_of("codec")

    def _columns(self, heads: dict[str, Any], rows: int) -> dict[str, Any]:
        columns = {name: heads[name_of(role)] for name, role in _SAME.items()}
        columns["last_offset"] = heads["offset_last"]
        none = pa.scalar(None, pa.int64())
        has_horizon = heads[name_of("delete_horizon")]
        columns["delete_horizon"] = pc.if_else(has_horizon, columns["base_timestamp"], none)
        for field in EXTRA:
            column = heads[field.name]
            if set(field.magics) != set(HEADS):
                has = pc.is_in(heads["magic"], pa.array(field.magics, heads["magic"].type))
                column = pc.if_else(has, column, pa.scalar(None, column.type))
            columns[field.name] = column
        return columns


class _MessageHeaders(_HeadersOf):
    """Headers of messages; a wrapper's first offset and count are compressed away."""

    module = message_set
    codec = Message.ROLES["codec"].rpartition(".")[2]

    def _columns(self, heads: dict[str, Any], rows: int) -> dict[str, Any]:
        def all_of(value: int | bool | None, kind: Any) -> Any:
            return pa.repeat(pa.scalar(value, kind), rows)

        alone = pc.equal(heads[self.codec], 0)
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
            **{field.name: pa.nulls(rows) for field in EXTRA},
        }
