"""Converts entries of a log between message formats and codecs; offsets stay, and what is lost is told.

Followed: `RecordsUtil.downConvert` and `LogValidator` of Kafka up to 3.9, where brokers converted.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kodec.log.directories.transactions import Transactions
from kodec.log.entries.batch import Batch
from kodec.log.entries.encode import encode
from kodec.log.entries.message import MessageEntry
from kodec.log.entries.record_batch import RecordBatchEntry
from kodec.log.entries.records import Limits, Record
from kodec.log.writing.rebuild import recompressed, recompressed_wrapper
from kodec.runtime.compression import CODECS, compress

__all__ = ["BATCH_BYTES", "ConversionReport", "Loss", "Losses", "convert_batches"]

BATCH_BYTES = 16_384
"""What messages that stand alone are gathered to: the default `batch.size` of producers."""
_FIRST = 3


class Loss(enum.Enum):
    """What the new format cannot hold; the value is what `kodec convert` says."""

    HEADERS = "records whose headers are gone"
    TIMESTAMPS = "records whose timestamp is gone"
    PRODUCERS = "batches whose producer and sequence are gone"
    TRANSACTIONAL = "transactional batches that are plain now"
    CONTROL = "control records that are gone"
    ABORTED = "records of aborted transactions that every reader sees now"
    UNDECIDED = "records of open transactions that every reader sees now"
    LEFT_OUT = "records of aborted or open transactions that were left out"
    DELETE_HORIZONS = "batches whose delete horizon is gone"
    LEADER_EPOCHS = "batches whose leader epoch is gone"
    EMPTY = "batches without records that are gone"
    LAST_OFFSETS = "batches whose last offset was above their last record's"


@dataclass(slots=True)
class Losses:
    """How often something was lost, and the first places: name of the segment, and offset."""

    count: int = 0
    first: list[tuple[str, int]] = field(default_factory=list)


@dataclass(slots=True)
class ConversionReport:
    """What a conversion did, or would do.

    Attributes:
        source, target: the folders; `target` is None where nothing was written.
        segments, entries, records, bytes: what was read; control records count.
        segments_written, entries_written, records_written, bytes_written: what came out.
        entries_copied: of the entries that came out, those that stayed as they were.
        losses: what is lost, by kind.
        end_segment: the base offset of an empty segment that was added so that the log goes on at the same
            offset, where the last offsets are gone; else None.
    """

    source: Path | None = None
    target: Path | None = None
    segments: int = 0
    entries: int = 0
    records: int = 0
    bytes: int = 0
    segments_written: int = 0
    entries_written: int = 0
    entries_copied: int = 0
    records_written: int = 0
    bytes_written: int = 0
    losses: dict[Loss, Losses] = field(default_factory=dict)
    end_segment: int | None = None

    def lose(self, what: Loss, count: int, segment: str, offset: int) -> None:
        """Note that something is lost `count` times, at `offset` first."""
        if count:
            found = self.losses.setdefault(what, Losses())
            found.count += count
            if len(found.first) < _FIRST:
                found.first.append((segment, offset))


def convert_batches(
    batches: Iterable[Batch],
    *,
    magic: int | None = None,
    compression: str | None = None,
    level: int | None = None,
    batch_bytes: int = BATCH_BYTES,
    transactions: Transactions | None = None,
    committed: bool = False,
    report: ConversionReport | None = None,
    segment: str = "",
    limits: Limits = Limits(),  # noqa: B008
) -> Iterator[bytes]:
    """Convert entries of a log; gives, in their order, bytes of one or more whole entries.

    A batch stays a batch. One of magic 2 without compression becomes as many messages as it has records, as
    magic 0 and 1 have no batches without compression. Messages one after another become batches of up to
    `batch_bytes` where they go into magic 2 or are compressed.

    To magic 2: nothing is lost; records of magic 0 have no timestamp. To magic 0 and 1: control batches and
    batches without records are left out, so that a reader sees what was aborted, as old consumers did when a
    broker converted for them. In one magic only the compression changes: every other field of a header
    stays, and control batches are copied.

    Args:
        magic: the format to convert to; None keeps each entry's.
        compression: the codec to compress with; None keeps each entry's.
        level: on the codec's own scale; with one, a batch is compressed anew also where its codec stays.
        transactions: which were aborted, and what is undecided, to tell of them.
        committed: leave out the records of those.
        report: where to add what was read, written and lost; `segment` is the name to tell with it.

    Raises: FormatError; EncodeError for a codec that the format does not have (zstd before magic 2).
    """
    if compression is not None and level is not None:
        compress(compression, b"", level=level)
    work = _Work(
        magic,
        compression,
        level,
        batch_bytes,
        transactions,
        committed,
        ConversionReport() if report is None else report,
        segment,
        limits,
    )
    for batch in batches:
        yield from work.take(batch)
    yield from work.flush()


class _Work:
    """A conversion that goes on: messages that wait for others to make a batch with."""

    def __init__(
        self,
        magic: int | None,
        compression: str | None,
        level: int | None,
        batch_bytes: int,
        transactions: Transactions | None,
        committed: bool,
        report: ConversionReport,
        segment: str,
        limits: Limits,
    ) -> None:
        self.magic = magic
        self.compression = compression
        self.level = level
        self.batch_bytes = batch_bytes
        self.transactions = transactions
        self.committed = committed
        self.report = report
        self.segment = segment
        self.limits = limits
        self._waiting: list[Record] = []
        self._waiting_for = 2
        self._room = batch_bytes

    def take(self, batch: Batch) -> Iterator[bytes]:
        """What is ready with this entry."""
        report = self.report
        report.entries += 1
        report.bytes += batch.size
        magic = batch.magic if self.magic is None else self.magic
        codec = self.compression or batch.codec
        if batch.magic != 2 and batch.codec == "none" and (magic == 2 or codec != "none"):
            if magic != self._waiting_for or batch.size > self._room:
                yield from self.flush()
            self._waiting_for = magic
            self._waiting += self._records(batch, magic)
            self._room -= batch.size
            return
        yield from self.flush()
        data = self._same(batch, codec) if magic == batch.magic else self._other(batch, magic, codec)
        if data is batch.data:
            report.entries_copied += 1
        if data:
            yield data

    def flush(self) -> Iterator[bytes]:
        """What waits."""
        if self._waiting:
            records, self._waiting = self._waiting, []
            self._room = self.batch_bytes
            yield self._encoded(records, self._waiting_for, self.compression or "none", self.batch_bytes)

    def _level(self, codec: str) -> int | None:
        # A level that was asked for without a codec is for those that have levels.
        return self.level if codec in CODECS and CODECS[codec].levels else None

    def _encoded(
        self, records: list[Record], magic: int, codec: str, batch_bytes: int = sys.maxsize
    ) -> bytes:
        self.report.records_written += len(records)
        level = self._level(codec)
        return encode(
            records, magic=magic, compression=codec, level=level, batch_bytes=batch_bytes, lossy=True
        )

    def _same(self, batch: Batch, codec: str) -> bytes:
        """A batch, or a message that stands alone, in its own magic."""
        level = self._level(codec)
        if batch.is_control or (codec == batch.codec and level is None):
            self.report.records += batch.count
            self.report.records_written += batch.count
            return batch.data
        if isinstance(batch, MessageEntry) and codec == "none":
            return self._encoded(self._records(batch, batch.magic), batch.magic, codec)
        self.report.records += batch.count
        self.report.records_written += batch.count
        most = self.limits.decompressed_bytes
        if isinstance(batch, RecordBatchEntry):
            return recompressed(batch, codec, level, most)
        assert isinstance(batch, MessageEntry)
        return recompressed_wrapper(batch, codec, level, most)

    def _other(self, batch: Batch, magic: int, codec: str) -> bytes:
        """A batch, or a message that stands alone, in another magic."""
        if batch.magic == 2:
            return self._encoded(self._down(batch, magic), magic, codec)
        return self._encoded(self._records(batch, magic), magic, codec)

    def _lose(self, what: Loss, count: int, offset: int) -> None:
        self.report.lose(what, count, self.segment, offset)

    def _records(self, batch: Batch, magic: int) -> list[Record]:
        """The records of an entry that go into another; timestamps that are lost are told."""
        records = batch.records()
        self.report.records += len(records)
        if magic == 0:
            timed = [record.offset for record in records if record.timestamp != -1]
            self._lose(Loss.TIMESTAMPS, len(timed), timed[0] if timed else -1)
        return records

    def _down(self, batch: Batch, magic: int) -> list[Record]:
        """The records of a batch of magic 2 that go into an older format; what that cannot hold is told."""
        at, count = batch.base_offset, batch.count
        if batch.is_control:
            self.report.records += count
            self._lose(Loss.CONTROL, count, at)
            return []
        self._lose(Loss.EMPTY, int(not count), at)
        if self.transactions is not None and batch.is_transactional:
            aborted = self.transactions.drops(batch.producer_id, at)
            undecided = batch.last_offset >= self.transactions.last_stable_offset
            if self.committed and (aborted or undecided):
                self.report.records += count
                self._lose(Loss.LEFT_OUT, count, at)
                return []
            self._lose(Loss.ABORTED, count * aborted, at)
            self._lose(Loss.UNDECIDED, count * (undecided and not aborted), at)
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
            self._lose(what, int(lost), at)
        return records
