"""Converts batches of a log between message formats and codecs; offsets stay, and losses are reported.

Followed: `RecordsUtil.downConvert` and `LogValidator` of Kafka up to 3.9, where brokers converted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from os import PathLike

from kodec.log.arguments import require
from kodec.log.batches.batch import Batch
from kodec.log.batches.default_batch import DefaultBatch
from kodec.log.batches.encode import encode
from kodec.log.batches.format import KAFKA
from kodec.log.batches.frame import LISTS
from kodec.log.batches.header import EXTRA, changed
from kodec.log.batches.legacy_batch import LegacyBatch
from kodec.log.batches.records import Record, make_record
from kodec.log.conversion.options import ConvertOptions
from kodec.log.conversion.report import ConversionReport, Loss
from kodec.log.directories.transactions import Transactions
from kodec.log.writing.rebuild import recompressed, recompressed_wrapper
from kodec.runtime.compression import CODECS
from kodec.runtime.errors import ArgumentError, EncodeError

__all__ = ["Converter", "convert_batches"]


def convert_batches(
    batches: Iterable[Batch],
    options: ConvertOptions,
    *,
    transactions: Transactions | None = None,
    report: ConversionReport | None = None,
    segment: str = "",
) -> Iterator[bytes]:
    """Convert batches of a log; yields, in order, the bytes of one or more whole batches.

    A batch stays a batch. One of magic 2 without compression becomes as many messages as it has records, as
    magic 0 and 1 have no batches without compression. Messages one after another become batches of up to
    `batch_bytes` if they are converted to magic 2 or compressed.

    To magic 2: nothing is lost but fields of a newer header; records of magic 0 have no timestamp. To magic 0
    and 1: control batches and batches without records are left out, so that a reader sees aborted records, as
    old consumers did when a broker converted for them. Within one magic only the compression changes: every
    other field of a header stays, and control batches are copied.

    Args:
        transactions: aborted and undecided ones, to report them.
        report: receives the counts of what was read, written and lost; `segment` is the name to report.
        batches: of one log, in their order.
        options: the format and the codec to convert to.

    Returns: an iterator of bytes.
    Raises: FormatError; EncodeError for a codec that the format does not support (zstd before magic 2), and
    for a negative timestamp.

    Example:
        >>> import kodec
        >>> segment = "/data/kafka-logs/orders-0/00000000000000000000.log"
        >>> options = kodec.operations.ConvertOptions(magic=1, compression="gzip")
        >>> made = b"".join(kodec.operations.convert_batches(kodec.read_batches(segment), options))
        >>> {batch.magic for batch in kodec.read_batches(made)}
        {1}
    """
    require("options", options, ConvertOptions, "kodec.operations.ConvertOptions(...) is needed")
    converter = Converter(options, ConversionReport() if report is None else report, transactions)
    converter.segment = segment
    return converter.convert(batches)


class Converter:
    """A conversion in progress: messages that wait for others to form a batch.

    Attributes:
        options: how to convert.
        report: receives what was read, written and lost; losses are reported with the name `segment`.
        transactions: aborted and undecided ones; None: they are not reported.
    """

    def __init__(
        self, options: ConvertOptions, report: ConversionReport, transactions: Transactions | None = None
    ) -> None:
        self.options = options
        self.report = report
        self.transactions = transactions
        self.segment = ""
        self._waiting: list[Record] = []
        self._waiting_for = KAFKA.written
        self._room = options.batch_bytes

    def convert(self, batches: Iterable[Batch]) -> Iterator[bytes]:
        """The bytes of one or more whole batches, in order: everything that the given ones become."""
        if isinstance(batches, (str, bytes, PathLike)):
            have = type(batches).__name__
            raise ArgumentError(f"batches: expected the result of read_batches(source), not {have}")
        for batch in batches:
            require("batches", batch, Batch, "pass the result of read_batches(source)")
            yield from self._take(batch)
        yield from self._flush()

    def _take(self, batch: Batch) -> Iterator[bytes]:
        """The bytes that are complete with this batch."""
        report = self.report
        report.batches += 1
        report.bytes += batch.size
        magic = batch.magic if self.options.magic is None else self.options.magic
        codec = self.options.compression or batch.codec
        if not batch.is_list and batch.codec == "none" and (magic in LISTS or codec != "none"):
            if magic != self._waiting_for or batch.size > self._room:
                yield from self._flush()
            self._waiting_for = magic
            self._waiting += self._records(batch, magic)
            self._room -= batch.size
            return
        yield from self._flush()
        if magic == batch.magic or (batch.is_list and magic in LISTS):
            # a right checksum is no proof that the records can be read
            for _ in batch.record_parts(control=True)[1]:
                pass
        if magic == batch.magic and self._stays(batch, codec):
            report.records += batch.count
            report.records_written += batch.count
            report.batches_copied += 1
            yield batch.data
        elif data := self._same(batch, codec) if magic == batch.magic else self._other(batch, magic, codec):
            yield data

    def _flush(self) -> Iterator[bytes]:
        """The bytes of waiting messages."""
        if self._waiting:
            records, self._waiting = self._waiting, []
            self._room = self.options.batch_bytes
            yield self._encoded(
                records, self._waiting_for, self.options.compression or "none", self.options.batch_bytes
            )

    def _level(self, codec: str) -> int | None:
        # A level without a codec applies to codecs that have levels.
        return self.options.level if codec in CODECS and CODECS[codec].levels else None

    def _encoded(
        self, records: list[Record], magic: int, codec: str, batch_bytes: int = sys.maxsize
    ) -> bytes:
        self.report.records_written += len(records)
        level = self._level(codec)
        try:
            return encode(
                records, magic=magic, compression=codec, level=level, batch_bytes=batch_bytes, lossy=True
            )
        except EncodeError as error:
            raise _by_offset(error, records) from None

    def _stays(self, batch: Batch, codec: str) -> bool:
        """Whether a batch that stays in its magic is copied unchanged."""
        empty = isinstance(batch, DefaultBatch) and not batch.count
        return batch.is_control or empty or (codec == batch.codec and self._level(codec) is None)

    def _same(self, batch: Batch, codec: str) -> bytes:
        """A batch, or a single message, in its own magic."""
        level = self._level(codec)
        if isinstance(batch, LegacyBatch) and codec == "none":
            return self._encoded(self._records(batch, batch.magic), batch.magic, codec)
        self.report.records += batch.count
        self.report.records_written += batch.count
        most = self.options.limits.decompressed_bytes
        if isinstance(batch, DefaultBatch):
            return recompressed(batch, codec, level, most)
        assert isinstance(batch, LegacyBatch)
        return recompressed_wrapper(batch, codec, level, most)

    def _other(self, batch: Batch, magic: int, codec: str) -> bytes:
        """A batch, or a single message, in another magic."""
        if isinstance(batch, DefaultBatch) and magic in LISTS:
            return self._relisted(batch, magic, codec)
        if batch.is_list:
            return self._encoded(self._down(batch, magic), magic, codec)
        return self._encoded(self._records(batch, magic), magic, codec)

    def _relisted(self, batch: DefaultBatch, magic: int, codec: str) -> bytes:
        """A list of records with the header of another magic."""
        self.report.records += batch.count
        self.report.records_written += batch.count
        self._lose_fields(batch, magic)
        if not batch.count:
            return changed(batch.head, form=magic).to_bytes()
        codec = batch.codec if batch.is_control else codec
        most = self.options.limits.decompressed_bytes
        return recompressed(batch, codec, self._level(codec), most, magic)

    def _lose_fields(self, batch: Batch, magic: int) -> None:
        """Report what kodec gives no meaning in a header, and the new format has no place for."""
        values = [(field, batch.extra[field.name]) for field in EXTRA if magic not in field.magics]
        lost = any(value not in (None, field.default) for field, value in values)
        unused = batch.reserved and magic not in LISTS
        self._lose(Loss.HEADER_FIELDS, int(bool(lost or unused)), batch.base_offset)

    def _lose(self, what: Loss, count: int, offset: int) -> None:
        self.report.lose(what, count, self.segment, offset)

    def _records(self, batch: Batch, magic: int) -> list[Record]:
        """The records of a batch that are written to another; lost timestamps are reported."""
        records = batch.records()
        self.report.records += len(records)
        if magic == 0:
            timed = [record.offset for record in records if record.timestamp != -1]
            self._lose(Loss.TIMESTAMPS, len(timed), timed[0] if timed else -1)
            return [_without_timestamp(record) for record in records] if timed else records
        if all(record.timestamp >= -1 for record in records):
            return records
        negative = [record for record in records if record.timestamp < -1]
        if self.options.negative_timestamps == "refuse":
            raise EncodeError(
                f"batch at byte {batch.position}: record at offset {negative[0].offset}: timestamp",
                "negative",
                need="at least -1, or the option negative_timestamps=none",
                have=negative[0].timestamp,
            )
        self._lose(Loss.NEGATIVE_TIMESTAMPS, len(negative), negative[0].offset)
        return [_without_timestamp(record) if record.timestamp < -1 else record for record in records]

    def _down(self, batch: Batch, magic: int) -> list[Record]:
        """The records of a list to write as messages; reports losses."""
        offset, count = batch.base_offset, batch.count
        if batch.is_control:
            self.report.records += count
            self._lose(Loss.CONTROL, count, offset)
            return []
        self._lose(Loss.EMPTY, int(not count), offset)
        if self.transactions is not None and batch.is_transactional:
            aborted = self.transactions.drops(batch.producer_id, offset)
            undecided = batch.last_offset >= self.transactions.last_stable_offset
            if self.options.committed and (aborted or undecided):
                self.report.records += count
                self._lose(Loss.LEFT_OUT, count, offset)
                return []
            self._lose(Loss.ABORTED, count * aborted, offset)
            self._lose(Loss.UNDECIDED, count * (undecided and not aborted), offset)
        self._lose_fields(batch, magic)
        records = self._records(batch, magic)
        with_headers = [record.offset for record in records if record.headers]
        self._lose(Loss.HEADERS, len(with_headers), with_headers[0] if with_headers else -1)
        for what, lost in (
            (Loss.PRODUCERS, batch.producer_id >= 0),
            (Loss.TRANSACTIONAL, batch.is_transactional),
            (Loss.DELETE_HORIZONS, batch.delete_horizon is not None),
            (Loss.LEADER_EPOCHS, batch.partition_leader_epoch >= 0),
            (Loss.LAST_OFFSETS, bool(records) and records[-1].offset < batch.last_offset),
        ):
            self._lose(what, int(lost), offset)
        return records


def _without_timestamp(record: Record) -> Record:
    return make_record(record.offset, -1, record.timestamp_type, record.key, record.value, record.headers)


def _by_offset(error: EncodeError, records: list[Record]) -> EncodeError:
    """The error with the offset of the record, instead of its number within one call."""
    index, bracket, suffix = error.path.removeprefix("records[").partition("]")
    if bracket and index.isdecimal():
        error.path = f"record at offset {records[int(index)].offset}: {suffix.removeprefix('.')}"
    return error
