"""Batches and records of batches as objects, in pure Python."""

from __future__ import annotations

from kodec.log.backends.contract import Decoder
from kodec.log.entries.batch import Batch
from kodec.log.entries.options import ReadOptions
from kodec.log.entries.records import Record

__all__ = ["BatchDecoder", "RecordDecoder"]


class BatchDecoder(Decoder[Batch]):
    """Gives batches as they are, their checksums verified."""

    def __init__(self, options: ReadOptions) -> None:
        self._check_crc = options.check_crc

    def decode(self, batch: Batch) -> tuple[Batch]:
        if self._check_crc:
            batch.verify_crc()
        return (batch,)

    def rest(self) -> tuple[()]:
        return ()


class RecordDecoder(Decoder[list[Record]]):
    """Gives the records of each batch as a list."""

    def __init__(self, options: ReadOptions) -> None:
        self._check_crc = options.check_crc
        self._control = options.control

    def decode(self, batch: Batch) -> tuple[list[Record]]:
        if self._check_crc:
            batch.verify_crc()
        return (batch.records(control=self._control, check_crc=self._check_crc),)

    def rest(self) -> tuple[()]:
        return ()
