"""The headers of batches as Arrow batches, in pure Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from kodec.log.backends.arrow import batch_schema
from kodec.log.backends.contract import Decoder
from kodec.log.backends.scan import EVERY, Scan
from kodec.log.batches.batch import CODECS, Batch
from kodec.log.batches.options import LogReadOptions
from kodec.runtime.errors import Malformed

__all__ = ["HeaderDecoder"]


class HeaderDecoder(Decoder[Any]):
    """Collects the headers of batches for an Arrow batch."""

    runs = False

    def __init__(self, scan: Scan, options: LogReadOptions) -> None:
        self._scan = scan
        self._check_crc = options.check_crc
        self._rows: list[tuple[Any, ...]] = []

    def decode(self, batch: Batch) -> Iterable[Any]:
        self.add(batch)
        return self.rest() if len(self._rows) >= self._scan.batch_rows else ()

    def rest(self) -> Iterator[Any]:
        return (part for part, _ in self.take())

    took_large = False

    def add(self, batch: Batch) -> None:
        """Collect the header of a batch. Raises FormatError."""
        # a wrapper's first offset and count are compressed away
        known = batch.is_list or batch.codec == "none"
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
                batch.crc_ok if self._check_crc else None,
                *batch.extra.values(),
            )
        )

    def take(self) -> Iterator[tuple[Any, int]]:
        """All collected headers as an Arrow batch; its bytes do not count."""
        rows, self._rows = self._rows, []
        if not rows:
            return
        columns = []
        known = dict(zip(batch_schema().names, zip(*rows, strict=True), strict=True))
        for field in self._scan.schema:
            values = known[field.name]
            if pa.types.is_dictionary(field.type):
                indices = pa.array(values, field.type.index_type)
                columns.append(pa.DictionaryArray.from_arrays(indices, pa.array(CODECS)))
            else:
                columns.append(pa.array(values, field.type))
        yield pa.RecordBatch.from_arrays(columns, schema=self._scan.schema), 0
