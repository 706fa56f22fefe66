"""One segment of a log: lookup by offset and by time, with indexes that are never trusted unchecked."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import BinaryIO, Self

from kodec.generated.log import transaction_index
from kodec.log import kernel
from kodec.log.arguments import require
from kodec.log.batches.batch import Batch
from kodec.log.batches.format import KAFKA
from kodec.log.batches.frame import BEFORE_BODY, FRAME_SIZE, LISTS, Frame
from kodec.log.batches.header import EXTRA, FLAGS, NO_EXTRA, bits_of, numbers_of
from kodec.log.batches.large import Stored
from kodec.log.batches.records import TIMESTAMP_TYPES, Limits, Record, TornTail
from kodec.log.batches.sizes import HEADS, LEAST_HEAD, MOST_HEAD, TXN_ENTRY
from kodec.log.batches.transaction_head import IN_TRANSACTION, IS_CONTROL, read_transaction_head
from kodec.log.directories.headers import (
    BatchHeader,
    BatchLookup,
    BatchRange,
    Position,
    TimestampOffset,
    TransactionBatch,
    header_of,
)
from kodec.log.directories.segment_transactions import SegmentTransactions
from kodec.log.directories.times import TimeLookup
from kodec.log.files.descriptors import read_regular
from kodec.log.files.index_files import IndexFile
from kodec.log.files.listing import SegmentFiles, TopicPartition, topic_partition_of
from kodec.log.files.pages import Pages
from kodec.log.kernel import open_batch
from kodec.log.remote.opening import open_location
from kodec.runtime.cached import cached_property
from kodec.runtime.compression import AT_ONCE
from kodec.runtime.errors import FormatError, Malformed
from kodec.stores.storage import WHOLE, StorePath

__all__ = [
    "BatchHeader",
    "BatchLookup",
    "BatchRange",
    "Position",
    "Segment",
    "TimestampOffset",
    "fitting",
]

# A walk over the headers of batches up to this size looks at many at once.
_SMALL, _WINDOW = 8 << 10, 64 << 10


class Segment:
    """One segment of a log; files are opened on demand, also again after `close`.

    It reads the file as it was when opened: later appends by a broker are not seen.

    Attributes:
        base_offset: the offset in the names of the files; the first batch's may be higher.
        path: the log. index, timeindex, txnindex: the files next to it, None if missing.
        size: the log's size in bytes when it was listed.
        limits: how much may be allocated.
        torn_tail: why reading ended before the file, once it was read to the end; else None.

    The indexes are hints. Where an index points there must be a whole batch with a right checksum and a
    fitting offset (for the time index: with the timestamp it names); else the segment is read from its start.
    So a missing, padded, damaged or wrong index only costs time. No check of bounded cost can detect
    a missing entry of a time index if timestamps go back, and an offset index made to point into a
    record's value that is itself a whole batch: `use_index=False` reads the headers from the start.

    Several threads may use the same segment: each reads at its own positions.

    Every method raises FormatError for a damaged batch, OSError for an unreadable file.

    Example:
        >>> import kodec
        >>> log = kodec.PartitionLog("/data/kafka-logs/orders-0")
        >>> segment = log.segments[0]
        >>> segment.base_offset, segment.size
        (0, 16150)
        >>> place = segment.find(20)
        >>> segment.batch_at(place).base_offset
        18
    """

    def __init__(
        self,
        files: SegmentFiles,
        limits: Limits = Limits(),
        opened: Callable[[Segment], None] | None = None,
        lock: threading.RLock | None = None,
        topic_partition: TopicPartition | None = None,
    ) -> None:
        require("files", files, SegmentFiles, 'a segment of kodec.PartitionLog, or Segment.of("x.log")')
        self._owner = topic_partition
        self.base_offset = files.base_offset
        self.path = files.log
        self.index = files.index
        self.timeindex = files.timeindex
        self.txnindex = files.txnindex
        self.size = files.size
        self.torn_tail: TornTail | None = None
        self.limits = limits
        self._opened = opened
        # Held for one read at a time. One for all segments of a log: an opened one may close another.
        self._lock = threading.RLock() if lock is None else lock
        self._pages: Pages | None = None
        self._offsets: IndexFile | None = None
        self._times = TimeLookup(self._lock)
        self._next: int | None = None

    @classmethod
    def of(
        cls,
        path: str | os.PathLike[str],
        base_offset: int = 0,
        *,
        beside: bool = False,
        limits: Limits = Limits(),
    ) -> Self:
        """The segment in one file of any name; with `beside`, with the indexes beside it. Raises OSError.

        Args:
            path: of the file.
            base_offset: the first offset that it may hold.
            limits: how much may be allocated for one batch.
        """
        path = open_location(path)
        if beside:
            return cls(SegmentFiles.beside(base_offset, path), limits)
        return cls(SegmentFiles(base_offset, path, path.stat().st_size), limits)

    def __repr__(self) -> str:
        return f"<Segment {self.base_offset}, {self.size} bytes>"

    def __reduce__(self) -> tuple[object, ...]:
        # Another process opens its own files.
        files = SegmentFiles(
            self.base_offset, self.path, self.size, self.index, self.timeindex, self.txnindex
        )
        return Segment, (files, self.limits, None, None, self._owner)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files; they are reopened on demand."""
        with self._lock:
            for file in (self._pages, self._offsets):
                if file is not None:
                    file.close()
            self._pages = self._offsets = None
            self._times.close()

    @cached_property
    def topic_partition(self) -> TopicPartition | None:
        """The topic-partition that it is of, by its log or else by its folder; None if that shows none."""
        return self._owner or topic_partition_of(self.path)

    @property
    def is_open(self) -> bool:
        """Whether any of its files is open."""
        return self._pages is not None or self._offsets is not None or self._times.is_open

    # -- frames -----------------------------------------------------------------------------------

    def _log(self) -> Pages:
        """The log, open; to be used while the lock is held."""
        if self._pages is None:
            self._pages = Pages(self.path)
            if self._opened is not None:
                self._opened(self)
        return self._pages

    def _read(self, pos: int, size: int) -> bytes:
        with self._lock:
            return self._log().read(pos, size)

    def _peek(self, pos: int) -> tuple[Frame | None, int]:
        """The frame at `pos`, and the size of the log when it was opened."""
        with self._lock:
            log = self._log()
            return Frame.peek(log.read(pos, FRAME_SIZE)), log.size

    def _whole(self, pos: int) -> tuple[Frame | None, int]:
        """As `_peek`, but the frame of a whole batch that is within the limits."""
        frame, end = self._peek(pos)
        fits = frame is not None and frame.known and frame.fits(min(self.limits.batch_bytes, end - pos))
        return (frame if fits else None), end

    def whole_frame(self, position: int) -> Frame | None:
        """The frame of the batch at `position`; None if there is no whole batch."""
        return self._whole(position)[0]

    def _frame(self, pos: int) -> Frame | None:
        """The frame of the batch at `pos`; None if reading ends."""
        frame, end = self._whole(pos)
        if frame is not None:
            return frame
        if pos < end and (self.torn_tail is None or self.torn_tail.position != pos):
            self.torn_tail = self._tail_at(pos, end)
        return None

    def _tail_at(self, pos: int, size: int) -> TornTail:
        """What the reader of whole logs makes of a batch that is none: a torn tail, or an error."""
        # Only damage needs what reads whole logs.
        from kodec.log.batches.options import LogReadOptions
        from kodec.log.reading.reader import BatchReader
        from kodec.log.reading.walk import Walk

        # Not by its name: a broker may have deleted the file since, or put another one in its place.
        with self._lock, self._log().rest(0) as file:
            options = LogReadOptions(check_crc=False, limits=self.limits)
            walk = Walk(file, options, start=pos)
            reader = BatchReader(walk, walk.items(kernel.batch_decoder(options)))
            try:
                batch = next(reader, None)
            except FormatError as error:
                raise self._placed(error) from None
        if batch is None and (tail := reader.torn_tail) is not None:
            return TornTail(pos, tail.size, tail.reason)
        return TornTail(pos, size - pos, "the file has grown since it was opened")

    def _placed(self, error: FormatError, pos: int = -1) -> FormatError:
        """The error with the path; for a batch at the start, `pos` 0, that of a file that is not a log."""
        if pos == 0:
            from kodec.log.reading.foreign import foreign_error
            from kodec.log.reading.source import open_source

            with self._lock, self._log().rest(0) as file:
                error = foreign_error(open_source(file)) or error
        return error.in_source(str(self.path))

    def _batch(self, pos: int, size: int, *, keeps: bool = True) -> Batch:
        try:
            data = self._read(pos, size) if keeps or size <= AT_ONCE else Stored.of(self._read, pos, size)
            return open_batch(data, pos, self.limits, self.topic_partition)
        except FormatError as error:
            raise self._placed(error, pos) from None

    def _head(self, pos: int, size: int, magic: int) -> BatchHeader:
        if magic not in LISTS:
            return header_of(self._batch(pos, size))
        kind = KAFKA.kinds[0]
        data = self._read(pos, min(size, HEADS[magic].size))
        try:
            # The end is that of the batch, so lengths are checked; the bytes of the records are absent.
            head, _ = kind.read_head(data, 0, size)
            codec = kind.codec(head)
        except FormatError as error:
            frame = Frame.peek(data)
            assert frame is not None
            raise self._placed(error.within(kind.place(frame.offset), shift=pos), pos) from None
        _, _, first, delta, base, largest, epoch, producer, version, sequence, count = numbers_of(head)
        last_offset = first + delta
        if delta < 0:
            # A wrong checksum is more informative.
            self._verified(self._batch(pos, size))
            need = f"at least {first}"
            low = Malformed("base_offset", "last offset below the first", at=0, need=need, have=last_offset)
            raise self._placed(low.within(kind.place(first), shift=pos), pos)
        _, times, transactional, control, horizon, _ = bits_of(getattr(head, FLAGS))
        return BatchHeader(
            pos,
            size,
            magic,
            codec,
            first,
            last_offset,
            count,
            base,
            largest,
            TIMESTAMP_TYPES[times],
            epoch,
            producer,
            version,
            sequence,
            transactional,
            control,
            base if horizon else None,
            {field.name: field.get(head) for field in EXTRA} if EXTRA else NO_EXTRA,
        )

    # -- walking ----------------------------------------------------------------------------------

    def headers(self, position: int = 0, *, end: int | None = None) -> Iterator[BatchHeader]:
        """The headers of the batches from `position`, where one must start, up to `end`.

        Records are not read, so checksums are not verified.
        """
        while (frame := self._frame(position)) is not None:
            size, magic = frame.size, frame.magic
            if end is not None and position + size > end:
                return
            yield self._head(position, size, magic)
            position += size

    def transaction_batches(self, position: int = 0, until: int = 2**63) -> Iterator[TransactionBatch]:
        """The batches of transactions from `position`, where a batch must start, by their headers alone.

        The first batch at or above the offset `until` is given even if it is of no transaction (its producer
        is -1), so that callers can stop there.
        """
        size = 0
        while True:
            with self._lock:
                log = self._log()
                window = log.read(position, _WINDOW if size <= _SMALL else MOST_HEAD)
            room, most = log.size - position, self.limits.batch_bytes
            index, last = 0, len(window) - LEAST_HEAD
            while index <= last:
                head = read_transaction_head(window, index)
                if head is None:
                    break
                offset, length, magic, flags, producer = head
                size = length + BEFORE_BODY
                if not HEADS[magic].size <= size <= most or index + size > room:
                    break
                is_of_one = producer >= 0 and flags & IN_TRANSACTION
                if is_of_one or offset >= until:
                    until = until if offset < until else 2**63
                    control = bool(flags & IS_CONTROL)
                    yield offset, position + index, size, producer if is_of_one else -1, control
                index += size
            position += index
            if index:
                continue
            # It is old, damaged, or the end: what it is to all readers.
            frame = self._frame(position)
            if frame is None:
                return
            size = frame.size
            if frame.is_list:
                self._head(position, size, frame.magic)
            if frame.offset >= until:
                until = 2**63
                yield frame.offset, position, size, -1, False
            position += size

    def batches(self, position: int = 0, *, check_crc: bool = True, keeps: bool = True) -> Iterator[Batch]:
        """The batches as stored from `position`, where one must start.

        Without `keeps` a large one stays in the file, and is of use as long as the segment is open.

        Args:
            check_crc: raise for a wrong checksum.
        """
        while (frame := self._frame(position)) is not None:
            batch = self._batch(position, frame.size, keeps=keeps)
            if check_crc:
                self._verified(batch)
            yield batch
            position += batch.size

    def batches_except(
        self, excludes: Callable[[BatchHeader], bool], position: int = 0, *, check_crc: bool = True
    ) -> Iterator[Batch | BatchHeader]:
        """As `batches`; of one that its header excludes only the header, its checksum not looked at.

        Args:
            position: in bytes; a batch must start there.
            check_crc: raise for a wrong checksum.
        """
        for head in self.headers(position):
            yield head if excludes(head) else self.batch_at(head, check_crc=check_crc)

    def headers_back(self) -> Iterator[BatchHeader]:
        """The headers of all batches, the last one first; with an index, few are held at a time."""
        bound, stride, end = 2**63, 1, None
        while end != 0:
            start = self._anchor(bound)
            if end is not None and start >= end:
                start = 0
            heads = list(self.headers(start, end=end))
            yield from reversed(heads)
            end = start
            if heads:
                # each step covers twice as many offsets as the one before
                stride = max(2 * stride, heads[-1].next_offset - heads[0].first_known)
                bound = max(heads[0].first_known - stride, self.base_offset)

    def batch_at(self, place: Position | BatchHeader, *, check_crc: bool = True) -> Batch:
        """The batch at a place that was looked up.

        Args:
            check_crc: raise for a wrong checksum.
        """
        batch = self._batch(place.position, place.size)
        return self._verified(batch) if check_crc else batch

    def _verified(self, batch: Batch) -> Batch:
        try:
            batch.verify_crc()
        except FormatError as error:
            raise self._placed(error, batch.position) from None
        return batch

    def records(
        self, position: int = 0, *, control: bool = False, check_crc: bool = True
    ) -> Iterator[Record]:
        """The records from `position`, where a batch must start; transactions are not looked at.

        Args:
            control: control records too.
            check_crc: raise for a wrong checksum.
        """
        for batch in self.batches(position, check_crc=check_crc):
            yield from self.records_of(batch, control=control, check_crc=check_crc)

    def records_of(self, batch: Batch, *, control: bool = False, check_crc: bool = True) -> list[Record]:
        """The records of a batch of this segment; an error names the file.

        Args:
            control: control records too.
            check_crc: raise for a wrong checksum.
        """
        try:
            return batch.records(control=control, check_crc=check_crc)
        except FormatError as error:
            raise self._placed(error) from None

    def whole_batches(self, position: int = 0, end: int | None = None) -> BatchRange:
        """The size of the whole batches from `position` (where a batch must start) up to `end`."""
        reached, count, last = position, 0, None
        while (frame := self._frame(reached)) is not None and (end is None or reached + frame.size <= end):
            last = reached, frame.size, frame.magic
            reached += frame.size
            count += 1
        return BatchRange(reached - position, count, None if last is None else self._head(*last).next_offset)

    def reopened(self) -> tuple[BinaryIO, int] | None:
        """The log opened once more, for reading beside this, and its size when it was opened first.

        None where its name leads elsewhere by now. Raises OSError.
        """
        with self._lock:
            log = self._log()
            file = log.again()
            return None if file is None else (file, log.size)

    def read_bytes(self, position: int, size: int) -> bytes:
        """This number of bytes of the log; fewer at its end.

        Args:
            position: where they start, in bytes.
            size: how many.
        """
        return self._read(position, size)

    def last_header(self, *, use_index: bool = True) -> BatchHeader | None:
        """The header of the last whole batch; None if there is none.

        Args:
            use_index: look it up in the indexes; without it, read headers from the start.
        """
        position = self._anchor(2**63) if use_index else 0
        last = None
        while (frame := self._frame(position)) is not None:
            last = position, frame.size, frame.magic
            position += frame.size
        return None if last is None else self._head(*last)

    @property
    def next_offset(self) -> int:
        """The offset after the last one; the base offset if there is no batch."""
        if self._next is None:
            last = self.last_header()
            self._next = self.base_offset if last is None else self.end_of(last)
        return self._next

    def end_of(self, head: BatchHeader) -> int:
        """The offset after a batch: after its records, where these can be read and the header is not dense.

        Compaction may have removed some then, or a writer has set a wrong last offset.

        Args:
            head: the batch's header.
        """
        if head.is_dense:
            return head.next_offset
        return max(head.next_offset, self._last_record(head) + 1)

    def is_dense(self, place: Position) -> bool:
        """Whether the last offset of a batch is sure: as `Batch.is_dense`.

        Args:
            place: of the batch.
        """
        frame = self._frame(place.position)
        return frame is None or self._head(*place[1:], frame.magic).is_dense

    def _last_record(self, location: Position | BatchHeader) -> int:
        """The largest offset of a record of a batch of magic 2; -1 if they cannot be read."""
        try:
            records = self.batch_at(location).records(control=True)
        except FormatError:
            return -1
        return max((record.offset for record in records), default=-1)

    # -- by offset --------------------------------------------------------------------------------

    def find(self, offset: int, *, use_index: bool = True) -> Position | None:
        """The first batch whose last offset is not below `offset`; or None.

        Reads some entries of the index, one batch that it leads to, and headers up to the one wanted. Raises
        FormatError for damage on the way; also where offsets do not ascend there, as no checksum covers them
        and another batch may be the one wanted. A batch that ends below the offset is given where the next
        one begins above it and its records reach it, or its checksum is wrong: its header is, or may be.

        Args:
            use_index: look it up in the indexes; without it, read headers from the start.
        """
        return self._walk_to(offset, self._anchor(offset) if use_index else 0).location

    def find_behind(self, offset: int) -> BatchLookup:
        """The same, with what is known of it and of the batch before it; at worst the last batch.

        Args:
            offset: of a record.
        """
        lookup = self._walk_to(offset, self._anchor(offset))
        if lookup.location is None and (last := self.last_header()) is not None:
            location = Position(last.first_known, last.position, last.size)
            return BatchLookup(location, None, self._is_right(location))
        return lookup

    def _walk_to(self, offset: int, position: int) -> BatchLookup:
        # The header of a list is read only for its first offset: the next batch identifies this one.
        earlier: Position | None = None
        before: Position | None = None
        behind: Position | None = None
        listed: int | None = None
        try:
            while (frame := self._frame(position)) is not None:
                stored, size, magic = frame
                location = Position(stored, position, size)
                if stored > offset or (magic not in LISTS and stored == offset):
                    behind = location
                    break
                earlier, before, listed = before, location, magic if magic in LISTS else None
                if stored == offset and self._reaches(before, listed, offset):
                    break
                position += size
        except FormatError:
            if not self._reaches(before, listed, offset):
                raise
        end = self._require_order(earlier, before)
        if self._reaches(before, listed, offset):
            return BatchLookup(before, end)
        # The offset is in a gap, or a header has the wrong end: only the checksum and the records show which.
        gap = listed is not None and (behind is None or offset < behind.offset)
        if gap and before is not None:
            if behind is not None and not self._is_right(before):
                return BatchLookup(before, end, known=False)
            if self._last_record(before) >= offset:
                return BatchLookup(before, end)
        return BatchLookup(behind, self._require_order(before, behind))

    def _is_right(self, location: Position) -> bool:
        try:
            self.batch_at(location)
        except FormatError:
            return False
        return True

    def _reaches(self, location: Position | None, magic: int | None, offset: int) -> bool:
        """Whether the list of records at a place ends at the offset or behind it."""
        if location is None or magic is None:
            return False
        return self._head(location.position, location.size, magic).last_offset >= offset

    def _require_order(self, before: Position | None, location: Position | None) -> int | None:
        """The last offset of the batch before this one; None if unknown.

        Raises Malformed for a batch that does not begin after it, or begins below the segment.
        """
        if location is None:
            return None
        last = self.base_offset - 1
        if before is not None and (frame := self._frame(before.position)) is not None:
            try:
                last = self._head(*before[1:], frame.magic).last_offset
            except FormatError:
                # Reading it raises the error.
                return None
        if location.offset <= last:
            batch_frame = self._frame(location.position)
            kind = KAFKA.kinds[-1] if batch_frame is None else KAFKA.kind(batch_frame.magic)
            need = f"more than {last}"
            error = Malformed("base_offset", "offsets ascend", at=0, need=need, have=location.offset)
            raise self._placed(error.within(kind.place(location.offset), shift=location.position))
        return None if before is None else last

    def _anchor(self, offset: int) -> int:
        """The start of a batch before which all offsets are below `offset`; 0 at worst."""
        if self.index is None or not self.needs_index:
            return 0
        with self._lock:
            try:
                if self._offsets is None:
                    self._offsets = IndexFile.of_offsets(self.index)
                entry = self._offsets.last_below(offset - self.base_offset + 1)
                before = None if entry is None else self._offsets.last_below(entry[0])
            except OSError:
                return 0
        if entry is None:
            return 0
        relative, position = entry
        least = self.base_offset if before is None else self.base_offset + before[0] + 1
        return position if self._is_batch_at(position, least, self.base_offset + relative) else 0

    def _is_batch_at(self, position: int, first_offset: int, last_offset: int) -> bool:
        """Whether a valid batch starts here, not below one offset, and not above that in the index.

        Brokers name the last offset of the batch, before 3.8 that of everything appended together, and
        those of 0.10 and 0.11 the first one.
        """
        if position == 0:
            return True
        frame, end = self._peek(position)
        most = min(self.limits.batch_bytes, end - position)
        if frame is None or not (frame.known and frame.fits(most)):
            return False
        if frame.offset < first_offset or (frame.is_list and frame.offset > last_offset):
            return False
        try:
            batch = open_batch(self._read(position, frame.size), position, self.limits)
            return batch.crc_ok and (batch.last_offset <= last_offset or batch.base_offset <= last_offset)
        except FormatError:
            return False

    @cached_property
    def needs_index(self) -> bool:
        """Whether an index saves anything: not where one request gets all of an object, and the frames in it
        lead from its start to its end, their offsets ascending.
        """
        if not isinstance(self.path, StorePath) or self.size > WHOLE:
            return True
        position, before = 0, self.base_offset - 1
        try:
            while (frame := self._frame(position)) is not None:
                if frame.offset <= before:
                    return True
                position, before = position + frame.size, frame.offset
        except FormatError:
            return True
        return position != self.size

    # -- by time ----------------------------------------------------------------------------------

    def largest_timestamp(self, *, use_index: bool = True) -> tuple[int, int] | None:
        """The largest timestamp in a header, and the position of its first batch; None: no timestamp.

        Reads the headers after the last entry of the time index; a broker leaves none or few there.

        Args:
            use_index: look it up in the indexes; without it, read headers from the start.
        """
        return self._times.largest(self, use_index=use_index)

    def is_older(self, timestamp: int, after: int | None = None, *, use_index: bool = True) -> bool:
        """Whether no header has a timestamp (ms since 1970) as large as this.

        Args:
            after: the base offset of the next segment. Of an object in a store the time index then suffices,
                as for a broker, if it ends with the last offset of the segment, so that no batch follows; in
                remote storage its metadata suffices.
            use_index: look it up in the indexes; without it, read headers from the start.
        """
        return self._times.is_older(self, timestamp, after, use_index=use_index)

    def find_timestamp(
        self, timestamp: int, *, start_offset: int = 0, use_index: bool = True
    ) -> TimestampOffset | None:
        """The first record, including control records, at or above `start_offset` that is not older.

        None if there is none. `timestamp` is in ms since 1970-01-01 UTC and not negative. Records without
        a timestamp (magic 0) are never found; those of a LogAppendTime batch have the batch's.

        Args:
            use_index: look it up in the indexes; without it, read headers from the start.

        Source: org.apache.kafka.common.record.FileRecords.searchForTimestamp.
        """
        return self._times.find(self, timestamp, start_offset, use_index=use_index)

    # -- transactions -----------------------------------------------------------------------------

    @cached_property
    def transactions(self) -> SegmentTransactions:
        """Its transactions, by the headers of its batches. Raises FormatError for a damaged one."""
        from kodec.log.directories.transactions import steps

        return SegmentTransactions.of(steps(self))

    def aborted(self) -> list[transaction_index.Entry] | None:
        """The entries of the transaction index; None if there is no index, or a damaged one.

        A part of an entry at the end is ignored, as Kafka does. Nothing shows whether entries are missing:
        the log's transactions are in its control batches, see `find_transactions`.
        """
        if self.txnindex is None:
            return None
        try:
            data = read_regular(self.txnindex)
            index = transaction_index.TransactionIndex.from_bytes(data[: len(data) // TXN_ENTRY * TXN_ENTRY])
        except (FileNotFoundError, FormatError):
            return None
        last = self.base_offset - 1
        for entry in index.entries:
            if not (last < entry.last_offset and 0 <= entry.first_offset <= entry.last_offset):
                return None
            last = entry.last_offset
        return index.entries


def fitting(segment: Segment, position: int, most: int) -> BatchRange:
    """The whole batches from `position` in at most `most` bytes, or one larger batch."""
    whole = segment.whole_batches(position, position + most)
    if whole.batches:
        return whole
    first = next(segment.headers(position), None)
    return BatchRange(0, 0, None) if first is None else BatchRange(first.size, 1, first.next_offset)
