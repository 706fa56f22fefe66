"""Several logs as one stream of Arrow batches, with columns for the topic-partition of a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kodec.log.backends.arrow import columns_of, decoded_schema, pyarrow, row_schema
from kodec.log.backends.scan import Scan
from kodec.log.batches.options import LogReadOptions
from kodec.log.reading.reader import Reader
from kodec.log.tables.chosen import ChosenLogs, Piece
from kodec.log.tables.committed import Committed
from kodec.log.tables.reader import TableReader, scan_rows
from kodec.log.tables.several import Part, SeveralLogs
from kodec.runtime.dataclass import replace

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PLACE", "placed_schema", "scan_logs"]

PLACE = ("topic", "partition")
"""The topic-partition of a row."""


def placed_schema(columns: pa.Schema | None = None) -> pa.Schema:
    """topic string | partition int32, null for a file in no such folder, then `row_schema` or `columns`."""
    pa = pyarrow()
    fields = [pa.field("topic", pa.string()), pa.field("partition", pa.int32())]
    return pa.schema([*fields, *(row_schema() if columns is None else columns)])


def scan_logs(
    selected: ChosenLogs, scan: Scan, options: LogReadOptions, committed: Committed, threads: int
) -> TableReader:
    """The rows of several logs as `scan` asks for them, its columns any of `placed_schema`."""
    # the offset records how far a log was read, in case a broker deletes the rest
    names = dict.fromkeys(["offset", *(name for name in scan.schema.names if name not in PLACE)])
    inner = replace(scan, schema=columns_of(decoded_schema(), names))

    def opened(part: Part, piece: Piece) -> tuple[Reader[Any], Iterator[tuple[int, pa.RecordBatch]]]:
        owner, stable = piece.owner, committed.of(piece)
        offsets = stable.within(part.offsets)
        reader = scan_rows(
            part.path,
            replace(inner, offsets=offsets, topic=scan.topic or ("" if owner is None else owner.topic)),
            options,
            order=part.order,
            start=part.start,
            stop=part.stop,
            last=part.last,
            drops=stable.drops,
        )
        shape = _Shape(scan.schema, piece)
        return reader, ((batch["offset"][-1].as_py(), shape(batch)) for batch in reader if batch.num_rows)

    since = scan.timestamps.first if scan.filtered else None
    logs = SeveralLogs(selected, options, opened, scan.offsets, since, threads)
    reader = TableReader(logs, logs.items())
    reader.schema = scan.schema
    reader.ends = logs.ends
    return reader


class _Shape:
    """Turns the batches of one segment into the requested ones."""

    def __init__(self, schema: pa.Schema, piece: Piece) -> None:
        self._schema = schema
        owner = piece.owner
        self._place: dict[str, object] = dict.fromkeys(PLACE) if owner is None else owner._asdict()
        # filled once: each batch has a slice of it
        self._filled: dict[str, Any] = {}

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        pa = pyarrow()
        if not self._schema.names:
            rows = pa.StructArray.from_buffers(pa.struct([]), batch.num_rows, [None])
            return pa.RecordBatch.from_struct_array(rows)
        columns = [
            self._constant_column(field, batch.num_rows) if field.name in PLACE else batch[field.name]
            for field in self._schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _constant_column(self, field: pa.Field, rows: int) -> Any:
        filled = self._filled.get(field.name)
        if filled is None or len(filled) < rows:
            pa = pyarrow()
            filled = pa.repeat(pa.scalar(self._place[field.name], field.type), rows)
            self._filled[field.name] = filled
        return filled.slice(0, rows)
