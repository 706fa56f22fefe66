"""The reader of a log that yields Arrow batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kodec.log import kernel
from kodec.log.backends.arrow import scan_schema
from kodec.log.backends.contract import Decoder
from kodec.log.backends.scan import Scan
from kodec.log.batches.batch import Batch
from kodec.log.batches.options import LogReadOptions
from kodec.log.batches.records import SkippedRanges, TornTail
from kodec.log.files.descriptors import open_regular
from kodec.log.reading.order import Order
from kodec.log.reading.reader import Reader
from kodec.log.reading.source import Source
from kodec.log.reading.walk import Walk
from kodec.runtime.dataclass import replace
from kodec.stores.storage import StorePath

if TYPE_CHECKING:
    import pyarrow as pa

    from kodec.log.tables.several import FileEnd

__all__ = ["TableReader", "file_headers", "scan_headers", "scan_rows"]


class TableReader(Reader["pa.RecordBatch"]):
    """An iterator of `pyarrow.RecordBatch`; see `scan_table`.

    Attributes:
        schema: the schema of every batch.
        ends: for several files, how far each was read, once finished.

    Example: see `scan_table`.
    """

    schema: pa.Schema
    ends: Sequence[FileEnd] = ()

    def read_all(self) -> pa.Table:
        """The rest, as a `pyarrow.Table`."""
        import pyarrow as pa

        return pa.Table.from_batches(list(self), schema=self.schema)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The batches for any library that takes Arrow streams."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self).__arrow_c_stream__(requested_schema)


def scan_rows(
    source: Source,
    scan: Scan,
    options: LogReadOptions,
    *,
    order: Order | Literal[True] | None = True,
    start: int = 0,
    stop: int | None = None,
    last: int | None = None,
    drops: Callable[[Batch], bool] | None = None,
) -> TableReader:
    """The records of a log as Arrow batches, without those of the batches that `drops` names.

    The columns may be any of `headed_schema`. With `drops`, or a column about a record's batch,
    it goes from batch to batch in Python. The rest is as in `Walk`.
    """
    walk = Walk(source, options, order=order, start=start, stop=stop, last=last)
    if drops is None and set(scan.schema.names) <= set(scan_schema().names):
        return _reader(walk, scan, kernel.row_decoder(scan, options))
    from kodec.log.backends.pure.rows import RowDecoder

    return _reader(walk, scan, RowDecoder(scan, options, drops))


def scan_headers(source: Source, scan: Scan, options: LogReadOptions) -> TableReader:
    """The headers of a log's batches as Arrow batches; a scan's ranges do not apply."""
    return _reader(Walk(source, options), scan, kernel.header_decoder(scan, options))


def file_headers(
    path: Path,
    scan: Scan,
    options: LogReadOptions,
    start: int = 0,
    stop: int | None = None,
    ended: Callable[[int, TornTail | None, SkippedRanges], None] = lambda *_: None,
) -> Iterator[pa.RecordBatch]:
    """Like `scan_headers`, for a part of a file: only headers are read, up to the first irregularity.

    No checksum is verified. `ended` receives the position, the torn tail and the skipped ranges.
    Raises OSError; FormatError if damage must not be skipped.
    """
    options = replace(options, check_crc=False)
    if options.on_error == "raise" and not isinstance(path, StorePath):
        with open_regular(path, buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            gathered = kernel.file_headers(
                file.fileno(), start, end if stop is None else min(stop, end), scan, options
            )
            if gathered is not None:
                yield from gathered
                start = gathered.position
                if start == (end if stop is None else stop):
                    ended(start, None, SkippedRanges())
                    return
    walk = Walk(path, options, start=start, stop=stop)
    yield from _reader(walk, scan, kernel.header_decoder(scan, options))
    ended(walk.position, walk.torn_tail, walk.skipped)


def _reader(walk: Walk, scan: Scan, decoder: Decoder[Any]) -> TableReader:
    reader = TableReader(walk, walk.items(decoder))
    reader.schema = scan.schema
    return reader
