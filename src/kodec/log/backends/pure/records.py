"""Batches and records of batches as objects, in pure Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kodec.generated.log import message_set as legacy
from kodec.log.backends.contract import Buffer, Cursor, Decoder
from kodec.log.batches.batch import Batch
from kodec.log.batches.frame import LEGACY
from kodec.log.batches.options import LogReadOptions
from kodec.log.batches.records import Record, TimestampType
from kodec.runtime import fields

__all__ = ["BatchDecoder", "RecordDecoder"]

_BLOCK = 1 << 16
_TYPES = {int(kind): kind for kind in TimestampType}


class BatchDecoder(Decoder[Batch]):
    """Yields batches unchanged, their checksums verified."""

    runs = False

    def __init__(self, options: LogReadOptions, *, keeps: bool = True) -> None:
        self.keeps = keeps
        self._check_crc = options.check_crc

    def decode(self, batch: Batch) -> tuple[Batch]:
        if self._check_crc:
            batch.verify_crc()
        return (batch,)

    def rest(self) -> tuple[()]:
        return ()


class RecordDecoder(Decoder[Sequence[Record]]):
    """Yields the records of each batch, without those of batches that `drops` names.

    Uncompressed messages come many at a time.
    """

    def __init__(self, options: LogReadOptions, drops: Callable[[Batch], bool] | None = None) -> None:
        self._drops = drops
        self._check_crc = options.check_crc
        self._control = options.control
        self._batch_bytes = options.limits.batch_bytes
        self._rows = fields.ReadOptions(check_crc=options.check_crc)
        self._topic_partition = options.topic_partition
        self.runs = False

    def decode(self, batch: Batch) -> tuple[Sequence[Record]]:
        if self._check_crc:
            batch.verify_crc()
        if self._drops is not None and self._drops(batch):
            return ((),)
        # an uncompressed message is usually followed by more
        self.runs = batch.magic in LEGACY and batch.codec == "none"
        return (batch.records(control=self._control, check_crc=self._check_crc),)

    def run(self, cursor: Cursor, buf: Buffer, start: int, end: int) -> Iterator[Sequence[Record]]:
        view, origin = memoryview(buf), cursor.position - start
        position, stop = -1, start
        while position < stop < end:
            position = stop
            data = bytes(view[position : min(position + _BLOCK, end)])
            for record, last in legacy.read_entry_rows(data, 0, len(data), Record, self._rows):
                if position + last - stop > self._batch_bytes:
                    break
                record.timestamp_type = _TYPES[record.timestamp_type]
                record.headers = ()
                record.topic_partition = self._topic_partition
                stop = position + last
                cursor.position = origin + stop
                yield (record,)
        self.runs = False

    def rest(self) -> tuple[()]:
        return ()
