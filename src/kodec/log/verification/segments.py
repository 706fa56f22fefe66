"""One segment, read once from start to end, compared with its indexes and snapshots.

Whatever depends on earlier segments is left open, as steps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from kodec.generated.log import transaction_index
from kodec.log.batches.batch import Batch
from kodec.log.batches.options import LogReadOptions
from kodec.log.batches.records import Limits, Record
from kodec.log.directories.epochs import EpochRuns
from kodec.log.directories.producer_state import marker_of
from kodec.log.directories.segment import Segment
from kodec.log.reading.reader import batch_reader
from kodec.log.verification.findings import (
    CompareSnapshots,
    EndOfSegment,
    Epochs,
    Finding,
    FirstBatch,
    OffsetsMissing,
    ProducerBatch,
    TransactionIndex,
    Unreliable,
)
from kodec.log.verification.indexes import OffsetIndex, TimeIndex
from kodec.log.verification.problems import Problem, from_error, unreadable
from kodec.runtime.errors import FormatError

__all__ = ["SegmentCheck"]

T = TypeVar("T")
_MAX_INT32 = 2**31 - 1
_ENOUGH = 4 << 20


class SegmentCheck:
    """One segment, read once from start to end, compared with its indexes and snapshots.

    `after` is where the next segment begins, None for the active one; `snapshots` are the offsets of the
    snapshots next to the log, ascending: those within the segment, and any one before it.
    """

    def __init__(
        self,
        segment: Segment,
        after: int | None,
        snapshots: Sequence[int],
        limits: Limits,
        progress: Callable[[int], None] | None,
        *,
        live: bool = False,
    ) -> None:
        self.segment = segment
        self.after = after
        self.snapshots = deque(snapshots)
        self.limits = limits
        self.progress = progress
        self.live = live
        self.last = segment.base_offset - 1
        self.is_begun = False
        # Below which offset compaction has removed records, as the batches so far show it.
        self.cleaned = 0
        # The offsets that are missing before the batch, and where it is: for the last one.
        self.gap: tuple[int, int, int] | None = None
        # The first batch with attribute bits that have no meaning, and how many there are.
        self.reserved: tuple[int, int] | None = None
        self.reserved_batches = 0

    def run(self) -> Iterator[Finding]:
        """The findings, in order. Raises OSError for a log that cannot be read."""
        segment = self.segment
        padded = self.after is None
        base = segment.base_offset
        # Before the log: entries that a broker adds meanwhile are in the log when it is read.
        offsets = yield from self._read_other_file(
            segment.index, lambda path: OffsetIndex(path, base, padded)
        )
        times = yield from self._read_other_file(
            segment.timeindex, lambda path: TimeIndex(path, base, padded)
        )
        indexed_aborted = yield from self._read_other_file(segment.txnindex, Path.read_bytes)
        options = LogReadOptions(on_error="skip", limits=self.limits)
        reader = batch_reader(segment.path, options, keeps=False)
        known_skipped, reported = 0, 0
        damaged = False
        epochs = EpochRuns()
        for batch in reader:
            if reader.skipped.total > known_skipped:
                if not damaged:
                    yield Unreliable()
                known_skipped, damaged = reader.skipped.total, True
                if offsets is not None:
                    offsets.skip_to(batch.position)
            epochs.take(segment.path, batch)
            self._reserved_of(batch)
            yield from self._offsets_of(batch)
            yield from self._snapshots_below(batch)
            yield from self._producer_of(batch)
            if offsets is not None:
                offsets.pass_by(batch)
            if times is not None and not damaged:
                times.pass_by(batch.last_offset, batch.max_timestamp)
            if self.progress is not None and batch.position - reported >= _ENOUGH:
                self.progress(batch.position - reported)
                reported = batch.position
        for skipped in reader.skipped:
            yield from_error(skipped.error, segment.path)
        if reader.skipped.omitted:
            have = f"{reader.skipped.omitted_bytes} bytes"
            what = f"{reader.skipped.omitted} more damaged ranges"
            yield Problem(segment.path, reader.skipped[-1].end, what, "none", have)
        if self.reserved is not None:
            # The checksum covers them, and is right: they were written like this, and readers ignore them.
            position, attributes = self.reserved
            what = f"reserved attribute bits, in {self.reserved_batches} of the batches"
            yield Problem(segment.path, position, what, 0, f"attributes {attributes:#x}", note=True)
        end = reader.position
        # Damage after the last batch may hold the offsets up to the next segment.
        ends_damaged = reader.skipped.total > known_skipped
        if ends_damaged:
            if not damaged:
                yield Unreliable()
            damaged = True
            if offsets is not None:
                offsets.skip_to(end)
        # A running broker preallocates zeros; a batch being appended is complete on the next check.
        tail = reader.torn_tail
        preallocated = tail is not None and tail.reason == "zeros" and self.live and self.after is None
        if tail is not None and not preallocated:
            ends_damaged = True
            damaged = damaged or self.after is not None
            yield Problem(
                segment.path,
                tail.position,
                f"torn tail: {tail.reason}",
                "a whole batch",
                f"{tail.size} bytes",
            )
        if self.after is not None and self.last >= self.after:
            yield Problem(
                segment.path, end, "last offset", f"less than {self.after}, the next segment's", self.last
            )
        if offsets is not None:
            offsets.end(end)
            yield from offsets.problems
        if times is not None:
            if not damaged:
                times.end(self.after is not None)
            yield from times.problems
        yield self._transaction_index(indexed_aborted, damaged)
        yield OffsetsMissing(self.cleaned)
        yield Epochs(epochs)
        yield EndOfSegment(None if ends_damaged else self.last, None if damaged else self.gap)
        if self.progress is not None:
            self.progress(segment.size - reported)

    def _read_other_file(
        self, path: Path | None, read: Callable[[Path], T]
    ) -> Generator[Problem, None, T | None]:
        """The contents of a file next to the log; None if missing or unreadable."""
        try:
            return None if path is None else read(path)
        except FileNotFoundError:
            # deleted meanwhile, with its segment
            raise
        except OSError as error:
            assert path is not None
            yield unreadable(error, path)
            return None

    def _reserved_of(self, batch: Batch) -> None:
        if batch.reserved:
            self.reserved = self.reserved or (batch.position, batch.attributes)
            self.reserved_batches += 1

    def _offsets_of(self, batch: Batch) -> Iterator[Finding]:
        segment, last = self.segment, self.last
        first = batch.frame_offset
        try:
            # A wrapper of magic 0 or 1 has no more of its messages than the last offset.
            inside = batch.records() if not batch.is_list and batch.codec != "none" else []
            # the checksum may be right, and the records still wrong
            parts = iter((inside,)) if inside else batch.record_parts(control=True, check_crc=False)[1]
            within = (inside[0].offset, inside[-1].offset) if inside else (first, batch.last_offset)
            yield from self._records_of(batch, *within, parts)
        except FormatError as error:
            yield from_error(error, segment.path)
        else:
            first = inside[0].offset if inside else first
            if inside and inside[-1].offset != batch.last_offset:
                need = f"{inside[-1].offset}, that of the last message inside"
                yield Problem(segment.path, batch.position, "offset of a wrapper", need, batch.last_offset)
        self.last = max(last, batch.last_offset)
        between = batch.is_list and segment.base_offset <= last < first - 1
        self.gap = (batch.position, last + 1, first - 1) if between else None
        # Compaction leaves offsets that no record has. Of a wrapper of magic 0 or 1 only the last offset is
        # known here.
        known = batch.is_list or batch.codec == "none"
        if known and (first > last + 1 or batch.count <= batch.last_offset - first):
            self.cleaned = batch.next_offset
        if first <= last:
            yield Problem(segment.path, batch.position, "offsets ascend", f"more than {last}", first)
        if batch.last_offset < first:
            yield Problem(segment.path, batch.position, "last offset", f"at least {first}", batch.last_offset)
        if batch.last_offset - segment.base_offset > _MAX_INT32:
            most = segment.base_offset + _MAX_INT32
            yield Problem(segment.path, batch.position, "last offset", f"at most {most}", batch.last_offset)

    def _records_of(
        self, batch: Batch, first: int, last: int, parts: Iterable[list[Record]]
    ) -> Iterator[Problem]:
        """The first record out of order, or not from `first` to `last`. Raises FormatError."""
        before, is_named = first - 1, False
        for part in parts:
            for record in part:
                offset = record.offset
                if not before < offset <= last and not is_named:
                    is_named = True
                    need = f"{before + 1} to {last}, each once, ascending"
                    yield Problem(self.segment.path, batch.position, "offset of a record", need, offset)
                before = offset

    def _snapshots_below(self, batch: Batch) -> Iterator[Finding]:
        """The snapshots before this batch."""
        first = batch.frame_offset
        # Not all of those outside the segment are needed.
        due = first < self.segment.base_offset or (self.after is not None and first >= self.after)
        while self.snapshots and self.snapshots[0] <= first:
            self.snapshots.popleft()
            due = True
        if due:
            yield OffsetsMissing(self.cleaned)
            yield CompareSnapshots(first)

    def _producer_of(self, batch: Batch) -> Iterator[Finding]:
        if not batch.is_list:
            return
        if not self.is_begun:
            self.is_begun = True
            yield FirstBatch(batch.base_offset)
        marker = None
        try:
            marker = marker_of(batch)
        except FormatError as error:
            yield from_error(error, self.segment.path)
            yield Unreliable()
        if batch.producer_id >= 0 or marker is not None:
            yield ProducerBatch(batch, marker)

    def _transaction_index(self, data: bytes | None, damaged: bool) -> TransactionIndex:
        path = self.segment.txnindex
        entries: list[tuple[int, transaction_index.Entry]] = []
        wrong = None
        pos = 0
        while path is not None and data is not None and pos < len(data):
            try:
                entry, stop = transaction_index.read_entry(data, pos, len(data))
            except FormatError as error:
                wrong = from_error(error, path)
                break
            entries.append((pos, entry))
            pos = stop
        # Of a segment that a broker writes, what was appended after its transaction index was read.
        growing = self.live and self.after is None
        known = max((entry.last_offset for _, entry in entries), default=-1) if growing else None
        unread = path is not None and data is None
        return TransactionIndex(
            self.segment.path,
            self.segment.base_offset,
            path,
            None if unread else entries,
            wrong,
            known,
            damaged,
        )
