"""One segment, read once from start to end, with everything beside it held against it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TypeVar

from kodec.generated.log import transaction_index
from kodec.log.batches.batch import Batch
from kodec.log.batches.records import ControlRecordType, Limits
from kodec.log.batches.sizes import TXN_ENTRY
from kodec.log.directories.producer_state import marker_of
from kodec.log.directories.segment import Segment
from kodec.log.reading.reader import read_batches
from kodec.log.verification.indexes import OffsetIndex, TimeIndex
from kodec.log.verification.problems import Problem, from_error, unreadable
from kodec.log.verification.producers import Producers
from kodec.runtime.errors import FormatError

__all__ = ["SegmentCheck"]

T = TypeVar("T")
_MAX_INT32 = 2**31 - 1
_ENOUGH = 4 << 20


class SegmentCheck:
    """One segment, read once from start to end, with everything beside it held against it."""

    def __init__(
        self,
        segment: Segment,
        after: int | None,
        state: Producers,
        snapshots: list[tuple[int, Path]],
        limits: Limits,
        progress: Callable[[int], None] | None,
        *,
        live: bool = False,
    ) -> None:
        self.segment = segment
        self.after = after
        self.state = state
        self.snapshots = snapshots
        self.limits = limits
        self.progress = progress
        # The marker's offset: the producer, and where the transaction began (None: not in the log).
        self.aborted: dict[int, tuple[int, int | None]] = {}
        self.live = live
        # What compaction leaves: offsets that no record has.
        self.sparse = False
        self.damaged = False
        self.last = segment.base_offset - 1

    def run(self) -> Iterator[Problem]:
        segment = self.segment
        padded = self.after is None
        base = segment.base_offset
        # Before the log: what a broker adds meanwhile is in the log when it is read.
        offsets = yield from self._beside(segment.index, lambda path: OffsetIndex(path, base, padded))
        times = yield from self._beside(segment.timeindex, lambda path: TimeIndex(path, base, padded))
        told_aborted = yield from self._beside(segment.txnindex, Path.read_bytes)
        reader = read_batches(segment.path, on_error="skip", limits=self.limits)
        seen, told = 0, 0
        damaged = False
        for batch in reader:
            if reader.skipped.total > seen:
                seen, damaged = reader.skipped.total, True
                self.state.reliable = False
                if offsets is not None:
                    offsets.skip_to(batch.position)
            yield from self._offsets_of(batch)
            yield from self._snapshots_below(batch)
            yield from self._producer_of(batch)
            if offsets is not None:
                offsets.pass_by(batch)
            if times is not None and not damaged:
                times.pass_by(batch.last_offset, batch.max_timestamp)
            if self.progress is not None and batch.position - told >= _ENOUGH:
                self.progress(batch.position - told)
                told = batch.position
        for skipped in reader.skipped:
            yield from_error(skipped.error, segment.path)
        if reader.skipped.omitted:
            have = f"{reader.skipped.omitted_bytes} bytes"
            what = f"{reader.skipped.omitted} more damaged ranges"
            yield Problem(segment.path, reader.skipped[-1].end, what, "none", have)
        end = reader.position
        if reader.skipped.total > seen:
            damaged = True
            self.state.reliable = False
            if offsets is not None:
                offsets.skip_to(end)
        # A running broker may be in the middle of an append, and preallocates zeros.
        if (tail := reader.torn_tail) is not None and not (self.live and self.after is None):
            damaged = damaged or self.after is not None
            yield Problem(
                segment.path,
                tail.position,
                f"torn tail: {tail.reason}",
                "a whole batch",
                f"{tail.size} bytes",
            )
        # Nothing but compaction leaves a closed segment without a batch.
        self.sparse |= self.last < segment.base_offset and self.after is not None and not damaged
        self.damaged = damaged
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
        if told_aborted is not None or (self.state.reliable and segment.txnindex is None):
            yield from self._transaction_index(told_aborted, damaged)
        if self.progress is not None:
            self.progress(segment.size - told)

    def _beside(self, path: Path | None, read: Callable[[Path], T]) -> Generator[Problem, None, T | None]:
        """What is read of a file beside the log; None where it is not there, or cannot be read."""
        try:
            return None if path is None else read(path)
        except FileNotFoundError:
            # deleted meanwhile, with its segment
            raise
        except OSError as error:
            assert path is not None
            yield unreadable(error, path)
            return None

    def _offsets_of(self, batch: Batch) -> Iterator[Problem]:
        segment, last = self.segment, self.last
        first = batch.base_offset if batch.magic == 2 else batch.last_offset
        self.last = max(last, batch.last_offset)
        # Of a wrapper of magic 0 or 1 only the last offset is known here, and a conversion to these formats
        # leaves control records out.
        self.sparse |= batch.magic != 2 or batch.count != batch.last_offset - first + 1 or first > last + 1
        if first <= last:
            yield Problem(segment.path, batch.position, "offsets ascend", f"more than {last}", first)
        if batch.last_offset < first:
            yield Problem(segment.path, batch.position, "last offset", f"at least {first}", batch.last_offset)
        if batch.last_offset - segment.base_offset > _MAX_INT32:
            most = segment.base_offset + _MAX_INT32
            yield Problem(segment.path, batch.position, "last offset", f"at most {most}", batch.last_offset)

    def _snapshots_below(self, batch: Batch) -> Iterator[Problem]:
        """The snapshots of what lies before this batch."""
        first = batch.base_offset if batch.magic == 2 else batch.last_offset
        while self.snapshots and self.snapshots[0][0] <= first:
            yield from self.state.compare(*self.snapshots.pop(0))

    def _producer_of(self, batch: Batch) -> Iterator[Problem]:
        if batch.magic != 2:
            return
        marker = None
        try:
            marker = marker_of(batch)
        except FormatError as error:
            yield from_error(error, self.segment.path)
            self.state.reliable = False
        ended = self.state.take(batch, marker)
        if marker is not None and marker.kind is ControlRecordType.ABORT:
            self.aborted[batch.last_offset] = batch.producer_id, None if ended is None else ended.first_offset

    def _transaction_index(self, data: bytes | None, damaged: bool) -> Iterator[Problem]:
        path = self.segment.txnindex
        told: dict[int, transaction_index.Entry] = {}
        if path is not None and data is not None:
            pos, last = 0, self.segment.base_offset - 1
            while pos < len(data):
                try:
                    entry, stop = transaction_index.read_entry(data, pos, len(data))
                except FormatError as error:
                    yield from_error(error, path)
                    return
                yield from self._aborted(path, pos, entry, last, damaged)
                last = max(last, entry.last_offset)
                told[entry.last_offset] = entry
                pos = stop
        if not self.state.reliable:
            return
        for offset, (producer, began) in self.aborted.items():
            if began is not None and offset not in told:
                where, size = (self.segment.path, 0) if path is None else (path, TXN_ENTRY * len(told))
                what = f"transaction of producer {producer}, aborted at offset {offset}"
                yield Problem(where, size, what, "an entry in the transaction index", "none")

    def _aborted(
        self, path: Path, at: int, entry: transaction_index.Entry, last: int, damaged: bool
    ) -> Iterator[Problem]:
        if entry.last_offset <= last:
            yield Problem(path, at, "last offset", f"more than {last}", entry.last_offset)
        if not 0 <= entry.first_offset <= entry.last_offset:
            yield Problem(path, at, "first offset", f"0 to {entry.last_offset}", entry.first_offset)
        found = self.aborted.get(entry.last_offset)
        if found is None or found[0] != entry.producer_id:
            if not damaged:
                need = f"the abort marker of producer {entry.producer_id}"
                have = "none" if found is None else f"one of producer {found[0]}"
                yield Problem(path, at, f"offset {entry.last_offset}", need, have)
        elif self.state.reliable and found[1] is not None and found[1] < entry.first_offset:
            yield Problem(path, at, "first offset", f"at most {found[1]}", entry.first_offset)
