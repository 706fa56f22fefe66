"""The log of one topic-partition: look up, read and filter across its segments."""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar

from kodec.log.arguments import require_integer
from kodec.log.batches.batch import Batch
from kodec.log.batches.options import LogReadOptions
from kodec.log.batches.records import Limits, Record
from kodec.log.directories.fetch import LogRead
from kodec.log.directories.record_filter import RecordFilter
from kodec.log.directories.segment import BatchHeader, Position, Segment, TimestampOffset, fitting
from kodec.log.directories.swaps import files_in_effect
from kodec.log.directories.times import first_since, newest_of
from kodec.log.files.checkpoints import (
    LeaderEpoch,
    PartitionMetadata,
    known_offsets,
    read_leader_epochs,
    read_offsets,
    read_partition_metadata,
)
from kodec.log.files.listing import (
    Leftover,
    PartitionFiles,
    ReplicaKind,
    TopicPartition,
)
from kodec.log.files.names import (
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    PARTITION_METADATA,
)
from kodec.log.omissions import Omissions
from kodec.log.remote.opening import open_location, open_partition
from kodec.log.selection import Isolation
from kodec.runtime.cached import cached_property
from kodec.runtime.errors import FormatError, OffsetOutOfRange
from kodec.runtime.shown import table
from kodec.stores.storage import StorePath, if_there

# What an overview by headers does not need is imported where it is used.
if TYPE_CHECKING:
    from kodec.generated.log.producer_snapshot import ProducerSnapshot
    from kodec.log.directories.search_report import SearchReport
    from kodec.log.directories.transactions import Transactions

__all__ = ["Isolation", "PartitionLog"]

# Three files each, far below the 1,024 that a process may usually have open.
_MOST_OPEN = 64
# A listing is soon out of date; one that is so repeatedly, without a batch, is not a broker's work.
_MOST_LISTINGS = 20
_RAISING = LogReadOptions()
T = TypeVar("T")


class PartitionLog:
    """The log of one topic-partition, read only, from its folder.

    The folder is listed once, on first use, and files are opened on demand. Later changes by a broker
    are not seen, except deletions: if `batches` and `records` come to a segment that
    is gone, by retention or by compaction, they list the folder again and continue after the last item.
    At most 64 segments are open at a time. Several threads may use it at once, but each iterator only one of
    them.

    Args:
        path: the folder, named like `orders-0` (or `orders-0.<id>-delete`, `-future`, `-stray`).
        log_start_offset: records below it are deleted, even if still in the files. By default
            it comes from the log directory's `log-start-offset-checkpoint`.
        limits: how much may be allocated for one batch.

    Attributes: `path` as given; `root` is the log directory around the folder, even if the path is
    `.` or a symbolic link.

    Raises: ValueError for a folder with another name. Methods raise OSError for a file that cannot be read
    and FormatError for one that is damaged.

    Example:
        >>> import kodec
        >>> log = kodec.PartitionLog("/data/kafka-logs/orders-0")
        >>> log.start_offset, log.end_offset, len(log.segments)
        (0, 421, 2)
        >>> next(log.records(20)).offset
        20
        >>> log.find_timestamp(1700000000000).offset
        0
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        log_start_offset: int | None = None,
        limits: Limits = Limits(),
    ) -> None:
        folder = open_partition(path)
        # remote storage is read under other names than its own
        self.path = folder.path if isinstance(folder.path, StorePath) else open_location(path)
        self.root = folder.root
        self.topic_partition: TopicPartition = folder.topic_partition
        self.kind = folder.kind
        self.limits = limits
        self._requested_start = log_start_offset
        self._open: OrderedDict[int, Segment] = OrderedDict()
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"<PartitionLog {self.path}>"

    def _repr_html_(self) -> str:
        rows = ((segment.base_offset, segment.size, segment.path.name) for segment in self.segments)
        return table(("base offset", "bytes", "segment"), rows, repr(self), len(self.segments))

    def __reduce__(self) -> tuple[object, ...]:
        # Another process lists the folder itself and opens its own files.
        again = partial(PartitionLog, log_start_offset=self._requested_start, limits=self.limits)
        return again, (self.path,)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all files; they are opened again on demand."""
        with self._lock:
            for segment in self._open.values():
                segment.close()
            self._open.clear()

    # -- contents ---------------------------------------------------------------------------------

    @cached_property
    def files(self) -> PartitionFiles:
        """The files of the folder.

        If a replacement of segments was interrupted but its new segments (`.swap`) are complete, these
        count instead of those that they replace, as after its completion by a broker or recovery.

        A link to nothing, a folder or a pipe with the name of a segment is a segment too, though a broker
        ignores it: reading it raises the error.
        """
        return files_in_effect(self.path, self.limits)

    @cached_property
    def segments(self) -> list[Segment]:
        """The segments, by ascending base offset; none of them open."""
        arguments = self.limits, self._opened, self._lock, self.topic_partition
        return [Segment(files, *arguments) for files in self.files.segments]

    @cached_property
    def _bases(self) -> list[int]:
        return [segment.base_offset for segment in self.segments]

    @property
    def size(self) -> int:
        """Bytes of all logs when listed."""
        return sum(segment.size for segment in self.segments)

    @property
    def leftovers(self) -> list[Leftover]:
        """Files that are deleted, incomplete, or not yet in place."""
        return self.files.leftovers

    def leader_epochs(self) -> list[LeaderEpoch]:
        """The contents of `leader-epoch-checkpoint`; [] if missing."""
        path = self.path / LEADER_EPOCHS
        return if_there(read_leader_epochs, path, [])

    def metadata(self) -> PartitionMetadata | None:
        """The contents of `partition.metadata`; None if missing, as before 2.8."""
        path = self.path / PARTITION_METADATA
        return if_there(read_partition_metadata, path, None)

    @property
    def remote_segments(self) -> str | None:
        """What shows which segments in remote storage count; None if none of the log is there.

        `metadata`: `__remote_log_metadata`, as for a broker; `manifests` or `objects`: what is in remote
        storage, where a segment may still be that a broker no longer reads. Raises OSError.
        """
        from kodec.log.remote.tier import remote_of

        remote = remote_of(self.path)
        return None if remote is None else remote.chosen_by(self.path.name)

    def producer_snapshots(self) -> Iterator[tuple[int, ProducerSnapshot]]:
        """(offset, what was known there of the producers), by ascending offset."""
        from kodec.log.directories.transactions import read_snapshot

        for offset, path in self.files.snapshots:
            yield offset, read_snapshot(path)

    # -- offsets ----------------------------------------------------------------------------------

    @cached_property
    def start_offset(self) -> int:
        """The first offset that a reader may request (ListOffsets: earliest)."""
        start = self._requested_start
        if start is None and self.kind is ReplicaKind.LIVE:
            path = self.root / LOG_START_OFFSETS
            starts = if_there(read_offsets, path, None)
            start = None if starts is None else starts.get(self.topic_partition)
        return max([start or 0, *self._bases[:1]])

    @cached_property
    def end_offset(self) -> int:
        """The offset after the last one (ListOffsets: latest); the high watermark is not used."""
        if not self.segments:
            return self.start_offset
        return max(self.segments[-1].next_offset, self.start_offset)

    @property
    def last_stable_offset(self) -> int:
        """The first offset of the oldest open transaction, else the end: where `read_committed` ends."""
        return self.transactions(self.end_offset).last_stable_offset

    def _opened(self, segment: Segment) -> None:
        """Count `segment` as open; close the one that was opened first, which reopens on demand."""
        with self._lock:
            self._open[segment.base_offset] = segment
            self._open.move_to_end(segment.base_offset)
            if len(self._open) > _MOST_OPEN:
                self._open.popitem(last=False)[1].close()

    def _number(self, offset: int) -> int:
        """The newest segment whose base offset is not above `offset`."""
        return max(bisect_right(self._bases, offset) - 1, 0)

    def require_offset(self, offset: int) -> None:
        """Raise OffsetOutOfRange for an offset that a reader may not request."""
        require_integer("offset", offset)
        # the log ends at the base offset of its last segment or above, which need not be opened for that
        if self._bases and self.start_offset <= offset <= self._bases[-1]:
            return
        if not self.start_offset <= offset <= self.end_offset:
            raise OffsetOutOfRange(offset, self.start_offset, self.end_offset, str(self.topic_partition))

    def find(self, offset: int, *, use_index: bool = True) -> tuple[Segment, Position] | None:
        """The batch that holds `offset`, or, in a gap, the next one; None at the end of the log.

        Raises OffsetOutOfRange for an offset below `start_offset` or above `end_offset`, and FormatError for
        damage on the way, as `Segment.find`.

        Args:
            offset: of a record.
            use_index: look it up in the indexes; without it, read headers from the start.
        """
        require_integer("offset", offset)
        # What is found is in the log: where that ends is asked for only where nothing is.
        if offset >= self.start_offset:
            for segment in self.segments[self._number(offset) :]:
                location = segment.find(offset, use_index=use_index)
                if location is not None:
                    return segment, location
        self.require_offset(offset)
        return None

    def find_timestamp(self, timestamp: int, *, use_index: bool = True) -> TimestampOffset | None:
        """The first record at or after `timestamp` (ms since 1970-01-01 UTC); None: all are older.

        As ListOffsets: control records count, a LogAppendTime batch's records have its time, records without
        a timestamp (magic 0) are never found. See `Segment` for how far the time index is trusted.
        Raises ValueError for a negative timestamp.

        Args:
            use_index: look it up in the indexes; without it, read headers from the start.
        """
        if timestamp < 0:
            raise ValueError(f"timestamp {timestamp}: expected milliseconds since 1970, not negative")
        segments = self.segments[self._number(self.start_offset) :]
        return first_since(segments, timestamp, self.start_offset, use_index=use_index)

    def find_max_timestamp(self, *, use_index: bool = True) -> TimestampOffset | None:
        """The first record with the largest timestamp (ListOffsets: max timestamp); None: no timestamps.

        Records below `start_offset` do not count, though Kafka, which asks its segments, may give one.

        Args:
            use_index: look it up in the indexes; without it, read headers from the start.
        """
        segments = self.segments[self._number(self.start_offset) :]
        return newest_of(segments, self.start_offset, use_index=use_index)

    @property
    def remote_offsets(self) -> range:
        """The offsets below the first segment that were moved to remote storage, and are not read here.

        Two things show it: an entry of `log-start-offset-checkpoint` below the first segment, which a broker
        keeps only for a log with remote storage (`LogManager.checkpointLogStartOffsetsInDir`); without an
        entry, `__remote_log_metadata` in the log directory. A checkpoint that cannot be read shows nothing:
        `start_offset` raises that. Raises OSError if the folder, or `__remote_log_metadata`, cannot be read.
        """
        if self.kind is not ReplicaKind.LIVE or isinstance(self.path, StorePath) or not any(self._bases[:1]):
            return range(0)
        base, start = self._bases[0], None
        with suppress(OSError, FormatError):
            path = self.root / LOG_START_OFFSETS
            start = (if_there(known_offsets, path, None) or {}).get(self.topic_partition)
        if start is None and not self.topic_partition.is_internal:
            from kodec.log.directories.remote import first_remote_offset

            start = first_remote_offset(self)
        return range(0) if start is None else range(start, base)

    # -- batches and records ----------------------------------------------------------------------

    def headers(self) -> Iterator[tuple[Segment, BatchHeader]]:
        """The headers of all batches, including those below the log start offset."""
        for segment in self.segments:
            for head in segment.headers():
                yield segment, head

    def batches(
        self,
        offset: int | None = None,
        *,
        check_crc: bool = True,
        use_index: bool = True,
        omissions: Omissions | None = None,
    ) -> Iterator[Batch]:
        """The batches as stored, from the one that holds `offset` (None: the start) to the end of the log.

        Raises OffsetOutOfRange, when the iteration begins; Malformed for a batch whose offsets do not follow
        those before it, or are not those of its segment; OffsetsMissing where offsets have been lost.

        Args:
            check_crc: raise for a wrong checksum.
            use_index: look it up in the indexes; without it, read headers from the start.
            omissions: takes lost offsets, instead of an error.
        """

        from kodec.log.directories.batch_walk import batches_from

        def listed(log: PartitionLog, start: int | None) -> Iterator[tuple[int, Batch]]:
            start = log.start_offset if start is None else start
            for _, batch in batches_from(
                log, start, None, check_crc=check_crc, use_index=use_index, omissions=omissions
            ):
                assert isinstance(batch, Batch)
                yield batch.next_offset, batch

        return self.relisted(listed, offset)

    def listed_again(self) -> PartitionLog:
        """The same log, as its folder is by now."""
        return PartitionLog(self.path, log_start_offset=self._requested_start, limits=self.limits)

    def relisted(
        self, listed: Callable[[PartitionLog, int | None], Iterator[tuple[int, T]]], offset: int | None
    ) -> Iterator[T]:
        """The items of `listed` for a listing of the log, and for further ones if segments have gone since.

        Yields (the offset to continue from, item).
        """
        log, reached, tries = self, offset, 0
        while True:
            try:
                for following, item in listed(log, reached):
                    reached, tries = following, 0
                    yield item
                return
            except FileNotFoundError:
                tries += 1
                if tries > _MOST_LISTINGS or not self.path.is_dir():
                    raise
            finally:
                if log is not self:
                    log.close()
            log = self.listed_again()
            if reached is not None and reached != offset:
                # The next ones may be deleted too.
                reached = max(reached, log.start_offset)

    def records(
        self,
        offset: int | None = None,
        *,
        isolation: Isolation = "read_uncommitted",
        control: bool = False,
        check_crc: bool = True,
        use_index: bool = True,
        omissions: Omissions | None = None,
    ) -> Iterator[Record]:
        """The records from `offset` (None: the start) on, as a consumer receives them.

        `read_uncommitted` gives those of all transactions, to the end of the log. `read_committed` leaves out
        those of aborted transactions, and ends at the last stable offset: what follows is undecided.
        `control` gives control records too. Raises OffsetOutOfRange, when the iteration begins;
        OffsetsMissing where offsets have been lost.

        Args:
            isolation: `read_uncommitted` or `read_committed`.
            check_crc: raise for a wrong checksum.
            use_index: look it up in the indexes; without it, read headers from the start.
            omissions: takes lost offsets, instead of an error.
        """
        from kodec.log.directories.search import records_of
        from kodec.log.directories.search_report import SearchReport

        criteria = RecordFilter(isolation=isolation, control=control)
        reading = {"check_crc": check_crc, "use_index": use_index}
        return records_of(self, offset, criteria, SearchReport(), omissions, **reading)

    def find_records(
        self,
        wanted: RecordFilter,
        *,
        newest_first: bool = False,
        report: SearchReport | None = None,
        omissions: Omissions | None = None,
    ) -> Iterator[Record]:
        """The records that match `wanted`, by offset; the largest offset first with `newest_first`.

        The indexes and the headers of batches exclude what cannot match; so do the bytes of a batch if
        they lack a requested key, value or header. Excluded batches are not read, so
        damage in them is not seen. `report` counts what was read; `omissions` takes lost offsets, which
        raise OffsetsMissing without it.
        """
        from kodec.log.directories.search import records_back, records_of
        from kodec.log.directories.search_report import SearchReport

        counted = SearchReport() if report is None else report
        if newest_first:
            return records_back(self, wanted, counted, omissions)
        first = wanted.first_offset
        if first is not None:
            first = min(max(first, self.start_offset), self.end_offset)
        return records_of(self, first, wanted, counted, omissions)

    def count_records(
        self,
        wanted: RecordFilter,
        *,
        report: SearchReport | None = None,
        omissions: Omissions | None = None,
    ) -> int:
        """How many records are wanted: of batches all of whose records are, by their headers alone.

        Args:
            report: where to count what was read.
            omissions: takes lost offsets, instead of an error.
        """
        from kodec.log.directories.search import count_in
        from kodec.log.directories.search_report import SearchReport

        return count_in(self, wanted, SearchReport() if report is None else report, omissions)

    def transactions(
        self,
        offset: int | None = None,
        *,
        use_index: bool = True,
        options: LogReadOptions = _RAISING,
    ) -> Transactions:
        """The aborted transactions that end in the segment of `offset` or later, and the last stable offset.

        By the control batches from there on. What is open there comes from a producer snapshot, if one agrees
        with the log; else, and with `use_index=False`, from all batches before. Damage raises FormatError, or
        is skipped as `options` say. Raises OffsetOutOfRange.
        """
        start = self.start_offset if offset is None else offset
        self.require_offset(start)
        from kodec.log.directories.transactions import find_transactions

        snapshots = dict(self.files.snapshots) if use_index else {}
        number = self._number(start) if self.segments else 0
        return find_transactions(self.segments, snapshots, number, self.end_offset, options)

    def read(self, offset: int, max_bytes: int = 1 << 20) -> LogRead:
        """Whole batches of up to `max_bytes` from the one that holds `offset`; at least one, even if larger.

        Continues into the next segment while there is room. Checksums are not verified.
        Raises OffsetOutOfRange; at `end_offset` there are no bytes.
        """
        first_batch = self.find(offset)
        if first_batch is None:
            return LogRead(offset, offset, b"", self.limits)
        first, location = first_batch
        parts: list[bytes] = []
        room, following = max_bytes, offset
        for segment in self.segments[self._number(first.base_offset) :]:
            position = location.position if segment is first else 0
            end = position + room
            part = segment.whole_batches(position, end) if parts else fitting(segment, position, room)
            if part.next_offset is None:
                if next(segment.headers(position), None) is not None:
                    break
                continue
            parts.append(segment.read_bytes(position, part.valid_bytes))
            room -= part.valid_bytes
            following = part.next_offset
            if position + part.valid_bytes < segment.size:
                break
        return LogRead(offset, following, b"".join(parts), self.limits)
