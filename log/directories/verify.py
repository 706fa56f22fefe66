"""Checks a log against itself: checksums, offsets, indexes, producer snapshots; reads only."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kodec.generated.log import offset_index, producer_snapshot, time_index, transaction_index
from kodec.log.batches.batch import Batch
from kodec.log.batches.records import ControlRecordType, Limits
from kodec.log.batches.sizes import OFFSET_ENTRY, SNAPSHOT_ENTRY, SNAPSHOT_HEAD, TIME_ENTRY, TXN_ENTRY
from kodec.log.directories.directory import LogDirectory, LogRoot
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.producer_state import EndedTransaction, Marker, ProducerState, marker_of
from kodec.log.directories.segment import Segment
from kodec.log.files.names import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    META_PROPERTIES,
    PARTITION_METADATA,
    RECOVERY_POINTS,
)
from kodec.log.files.paths import PartitionPath
from kodec.log.files.resolve import SegmentPath, resolve
from kodec.log.reading.reader import read_batches
from kodec.runtime.errors import FormatError

__all__ = ["Problem", "verify", "verify_partition", "verify_root", "verify_segment"]

_MAX_INT32 = 2**31 - 1
_ENOUGH = 4 << 20


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: the file, the byte, what it is, what was needed and what is there."""

    path: Path
    at: int
    what: str
    need: object
    have: object

    def __str__(self) -> str:
        return f"{self.path}: byte {self.at}: {self.what}: need {self.need}, have {self.have}"


def _from(error: FormatError, path: Path) -> Problem:
    what = ": ".join(part for part in (type(error).__name__, error.path, error.reason) if part)
    need, have = error.need, error.have
    if type(error).__name__ == "CrcMismatch":
        need, have = f"{need:#010x}", f"{have:#010x}"
    return Problem(path, error.at, what, need, have)


def verify(
    path: str | os.PathLike[str],
    *,
    limits: Limits = Limits(),
    progress: Callable[[int], None] | None = None,
) -> Iterator[Problem]:
    """Check a log directory, a topic-partition's folder, or a segment with the indexes beside it; reads only.

    Yields a `Problem` for each thing that is wrong: nothing where all is well. `progress` is told now and
    then how many bytes of logs were read since it was told last. Raises: ValueError for a path at which there
    is no log; OSError.
    """
    what = resolve(path)
    if isinstance(what, SegmentPath):
        segment = Segment.of(what.path, what.base_offset, beside=True)
        yield from verify_segment(segment, limits=limits, progress=progress)
    elif isinstance(what, PartitionPath):
        with PartitionLog(path, limits=limits) as log:
            yield from verify_partition(log, progress=progress)
    else:
        directory = LogDirectory(path, limits=limits)
        for root in directory.roots:
            yield from verify_root(root)
        for log in directory:
            yield from verify_partition(log, progress=progress)
            log.close()


def verify_root(root: LogRoot) -> Iterator[Problem]:
    """Check the files beside the topic-partitions' folders. Raises OSError."""
    for read, name in (
        (root.meta_properties, META_PROPERTIES),
        (root.clean_shutdown, CLEAN_SHUTDOWN),
        (root.recovery_points, RECOVERY_POINTS),
        (lambda: root.log_start_offsets, LOG_START_OFFSETS),
        (root.high_watermarks, HIGH_WATERMARKS),
        (root.cleaner_offsets, CLEANER_OFFSETS),
    ):
        try:
            read()
        except FormatError as error:
            yield _from(error, root.path / name)


def verify_partition(
    log: PartitionLog, *, progress: Callable[[int], None] | None = None
) -> Iterator[Problem]:
    """Check all segments of a topic-partition and the files beside them.

    An index or a snapshot is held against what the batches say. After a damaged batch, transactions,
    producers and the time index are no longer compared: a batch that counts may be missing. Raises OSError.
    """
    for read, name in ((log.leader_epochs, LEADER_EPOCHS), (log.metadata, PARTITION_METADATA)):
        try:
            read()
        except FormatError as error:
            yield _from(error, log.path / name)
    state = _Producers()
    snapshots: list[tuple[int, Path]] = list(log.files.snapshots)
    for path in log.files.orphans:
        yield Problem(path, 0, "an index without its log", path.with_suffix(".log").name, "no such file")
    for number, segment in enumerate(log.segments):
        after = log.segments[number + 1].base_offset if number + 1 < len(log.segments) else None
        if segment.index is None:
            name = segment.path.with_suffix(".index").name
            yield Problem(segment.path, 0, "no offset index beside the log", name, "no such file")
        yield from _Check(segment, after, state, snapshots, log.limits, progress).run()
    for offset, path in snapshots:
        yield from state.compare(offset, path)


def verify_segment(
    segment: Segment,
    *,
    limits: Limits = Limits(),
    progress: Callable[[int], None] | None = None,
) -> Iterator[Problem]:
    """Check one segment and the indexes beside it; transactions may have begun before it. Raises OSError."""
    state = _Producers()
    state.reliable = False
    yield from _Check(segment, None, state, [], limits, progress).run()


class _Producers:
    """What the batches so far say of producers; compared with snapshots when their offset is reached."""

    def __init__(self) -> None:
        self.reliable = True
        self.first_offset: int | None = None
        self.state = ProducerState()

    def take(self, batch: Batch, marker: Marker | None) -> EndedTransaction | None:
        """Go on by a batch of magic 2; the transaction that it ends, None for none."""
        if self.first_offset is None:
            self.first_offset = batch.base_offset
        return self.state.take(batch, marker)

    def compare(self, offset: int, path: Path) -> Iterator[Problem]:
        """Check the snapshot that tells of the batches below `offset`, which all have been taken."""
        try:
            entries = producer_snapshot.ProducerSnapshot.from_bytes(path.read_bytes()).entries
        except FormatError as error:
            yield _from(error, path)
            return
        if not self.reliable:
            return
        named = set()
        for slot, each in enumerate(entries):
            at, who = SNAPSHOT_HEAD + SNAPSHOT_ENTRY * slot, f"producer {each.producer_id}"
            named.add(each.producer_id)
            if each.last_offset >= offset:
                yield Problem(path, at, f"{who}: last offset", f"less than {offset}", each.last_offset)
                continue
            for name, need, have in self._differences(each):
                yield Problem(path, at, f"{who}: {name}", need, have)
        for producer, began in self.state.open.items():
            if producer not in named:
                yield Problem(
                    path, SNAPSHOT_HEAD, f"producer {producer}, open since {began}", "an entry", "none"
                )

    def _differences(self, told: producer_snapshot.Entry) -> Iterator[tuple[str, object, object]]:
        """(what, what the log says, what the snapshot says). Compaction may have removed what it tells of."""
        state = self.state.known.get(told.producer_id)
        if state is not None and told.producer_epoch < state.epoch:
            yield "epoch", state.epoch, told.producer_epoch
        elif (
            state is not None and told.producer_epoch == state.epoch and told.last_offset <= state.last_offset
        ):
            if told.timestamp < state.timestamp:
                yield "timestamp", state.timestamp, told.timestamp
            for name, need, have in (
                ("last offset", state.last_offset, told.last_offset),
                ("offset delta", state.offset_delta, told.offset_delta),
                ("last sequence", state.last_sequence, told.last_sequence),
            ):
                if need != have:
                    yield name, need, have
        began = self.state.open.get(told.producer_id, -1)
        gone = self.first_offset is None or 0 <= told.current_txn_first_offset < self.first_offset
        if told.current_txn_first_offset != began and not gone:
            yield "first offset of its transaction", began, told.current_txn_first_offset


class _OffsetIndex:
    """The offset index, compared while the batches of the log pass by."""

    def __init__(self, path: Path, base_offset: int, padded: bool) -> None:
        self.path = path
        self.base_offset = base_offset
        self.problems: list[Problem] = []
        self._next = 0
        self._waiting: tuple[int, int] | None = None
        data = path.read_bytes()
        entries: list[offset_index.Entry] = []
        pos = 0
        while pos + OFFSET_ENTRY <= len(data):
            if not any(data[pos : pos + OFFSET_ENTRY]) and (pos or not any(data)):
                break
            try:
                entry, pos = offset_index.read_entry(data, pos, len(data))
            except FormatError as error:
                self.problems.append(_from(error, path))
                break
            if entries and (
                entry.relative_offset <= entries[-1].relative_offset
                or entry.ofs_batch <= entries[-1].ofs_batch
            ):
                need = f"more than {entries[-1].relative_offset} and {entries[-1].ofs_batch}"
                have = f"{entry.relative_offset} and {entry.ofs_batch}"
                self.problems.append(
                    Problem(path, pos - OFFSET_ENTRY, "offset and position ascend", need, have)
                )
                break
            entries.append(entry)
        self.entries = entries
        self.problems += _rest(path, data, pos, OFFSET_ENTRY, padded)

    def pass_by(self, batch: Batch) -> None:
        """A batch of the log."""
        position, last_offset = batch.position, batch.last_offset
        if self._waiting is not None:
            slot, wanted = self._waiting
            if last_offset >= wanted:
                self._waiting = None
                if last_offset > wanted:
                    self._wrong(slot, "the last offset of a batch", wanted, last_offset)
        while self._next < len(self.entries) and self.entries[self._next].ofs_batch <= position:
            entry = self.entries[self._next]
            wanted = self.base_offset + entry.relative_offset
            if entry.ofs_batch < position:
                need = f"the start of a batch, such as {position}"
                self._wrong(self._next, "position", entry.ofs_batch, need)
            elif last_offset > wanted:
                # Brokers of 0.10 and 0.11 named the first offset.
                if not _holds(batch, wanted):
                    self._wrong(self._next, "the last offset of the batch", wanted, last_offset)
            elif last_offset < wanted:
                # Brokers before 3.8 named the last offset of all that was appended together.
                self._waiting = self._next, wanted
            self._next += 1

    def skip_to(self, position: int) -> None:
        """What the log has before `position` is damaged: nothing can be said of it."""
        self._waiting = None
        while self._next < len(self.entries) and self.entries[self._next].ofs_batch < position:
            self._next += 1

    def end(self, position: int) -> None:
        """The log ends at `position`."""
        if self._waiting is not None:
            self._wrong(
                self._waiting[0], "the last offset of a batch", self._waiting[1], "the end of the log"
            )
        for slot in range(self._next, len(self.entries)):
            self._wrong(slot, "position", self.entries[slot].ofs_batch, f"less than {position}")

    def _wrong(self, slot: int, what: str, have: object, need: object) -> None:
        self.problems.append(Problem(self.path, OFFSET_ENTRY * slot, what, need, have))


def _holds(batch: Batch, offset: int) -> bool:
    try:
        return batch.base_offset <= offset
    except FormatError:
        return False


class _TimeIndex:
    """The time index, compared while the batches of the log pass by."""

    def __init__(self, path: Path, base_offset: int, padded: bool) -> None:
        self.path = path
        self.problems: list[Problem] = []
        self.base_offset = base_offset
        self.largest = -1
        self._next = 0
        data = path.read_bytes()
        entries: list[time_index.Entry] = []
        pos = 0
        while pos + TIME_ENTRY <= len(data):
            if not any(data[pos : pos + TIME_ENTRY]) and (pos or not any(data)):
                break
            entry, pos = time_index.read_entry(data, pos, len(data))
            if entries and (
                entry.timestamp <= entries[-1].timestamp
                or entry.relative_offset < entries[-1].relative_offset
            ):
                need = f"more than {entries[-1].timestamp} and at least {entries[-1].relative_offset}"
                have = f"{entry.timestamp} and {entry.relative_offset}"
                self.problems.append(
                    Problem(path, pos - TIME_ENTRY, "timestamp and offset ascend", need, have)
                )
                break
            entries.append(entry)
        self.entries = entries
        self.problems += _rest(path, data, pos, TIME_ENTRY, padded)

    def pass_by(self, last_offset: int, max_timestamp: int) -> None:
        """A batch of the log with these."""
        self.largest = max(self.largest, max_timestamp)
        while self._next < len(self.entries):
            entry = self.entries[self._next]
            if self.base_offset + entry.relative_offset > last_offset:
                return
            if not entry.timestamp == self.largest == max_timestamp:
                what = f"largest timestamp up to offset {self.base_offset + entry.relative_offset}"
                need = self.largest if entry.timestamp != self.largest else f"a batch with {self.largest}"
                have = entry.timestamp if entry.timestamp != self.largest else max_timestamp
                self.problems.append(Problem(self.path, TIME_ENTRY * self._next, what, need, have))
            self._next += 1

    def end(self, closed: bool) -> None:
        """The log ends; a segment that is closed has its largest timestamp in the last entry."""
        for slot in range(self._next, len(self.entries)):
            offset = self.base_offset + self.entries[slot].relative_offset
            self.problems.append(Problem(self.path, TIME_ENTRY * slot, "offset", "one of the log", offset))
        told = self.entries[-1].timestamp if self.entries else -1
        if closed and self._next == len(self.entries) and told < self.largest:
            at = TIME_ENTRY * len(self.entries)
            self.problems.append(
                Problem(self.path, at, "largest timestamp of the segment", self.largest, told)
            )


def _rest(path: Path, data: bytes, pos: int, size: int, padded: bool) -> Iterator[Problem]:
    """What is behind the last entry: nothing, or, where the file is `padded`, zeros."""
    if len(data) % size:
        yield Problem(path, len(data) // size * size, "file size", f"a multiple of {size}", len(data))
    if pos < len(data) // size * size and not any(data[pos:]):
        if not padded:
            yield Problem(path, pos, "zeros at the end", f"a size of {pos}", len(data))
    elif pos + size <= len(data) and not any(data[pos : pos + size]):
        yield Problem(path, pos, "an entry of zeros with others behind it", "an entry", 0)


class _Check:
    """One segment, read once from start to end, with everything beside it held against it."""

    def __init__(
        self,
        segment: Segment,
        after: int | None,
        state: _Producers,
        snapshots: list[tuple[int, Path]],
        limits: Limits,
        progress: Callable[[int], None] | None,
    ) -> None:
        self.segment = segment
        self.after = after
        self.state = state
        self.snapshots = snapshots
        self.limits = limits
        self.progress = progress
        # The marker's offset: the producer, and where the transaction began (None: not in the log).
        self.aborted: dict[int, tuple[int, int | None]] = {}

    def run(self) -> Iterator[Problem]:
        segment = self.segment
        padded = self.after is None
        offsets = _OffsetIndex(segment.index, segment.base_offset, padded) if segment.index else None
        times = _TimeIndex(segment.timeindex, segment.base_offset, padded) if segment.timeindex else None
        reader = read_batches(segment.path, on_error="skip", limits=self.limits)
        seen, told, last = 0, 0, segment.base_offset - 1
        damaged = False
        for batch in reader:
            if len(reader.skipped) > seen:
                seen, damaged = len(reader.skipped), True
                self.state.reliable = False
                if offsets is not None:
                    offsets.skip_to(batch.position)
            yield from self._offsets_of(batch, last)
            last = max(last, batch.last_offset)
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
            yield _from(skipped.error, segment.path)
        end = reader.position
        if len(reader.skipped) > seen:
            damaged = True
            self.state.reliable = False
            if offsets is not None:
                offsets.skip_to(end)
        if (tail := reader.torn_tail) is not None:
            yield Problem(
                segment.path,
                tail.position,
                f"torn tail: {tail.reason}",
                "a whole batch",
                f"{tail.size} bytes",
            )
        if self.after is not None and last >= self.after:
            yield Problem(
                segment.path, end, "last offset", f"less than {self.after}, the next segment's", last
            )
        if offsets is not None:
            offsets.end(end)
            yield from offsets.problems
        if times is not None:
            if not damaged:
                times.end(self.after is not None)
            yield from times.problems
        if self.state.reliable or segment.txnindex is not None:
            yield from self._transaction_index(damaged)
        if self.progress is not None:
            self.progress(segment.size - told)

    def _offsets_of(self, batch: Batch, last: int) -> Iterator[Problem]:
        segment = self.segment
        first = batch.base_offset if batch.magic == 2 else batch.last_offset
        if first <= last:
            yield Problem(segment.path, batch.position, "offsets ascend", f"more than {last}", first)
        if batch.last_offset < first:
            yield Problem(segment.path, batch.position, "last offset", f"at least {first}", batch.last_offset)
        if batch.last_offset - segment.base_offset > _MAX_INT32:
            most = segment.base_offset + _MAX_INT32
            yield Problem(segment.path, batch.position, "last offset", f"at most {most}", batch.last_offset)

    def _snapshots_below(self, batch: Batch) -> Iterator[Problem]:
        """The snapshots that tell of what lies before this batch."""
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
            yield _from(error, self.segment.path)
            self.state.reliable = False
        ended = self.state.take(batch, marker)
        if marker is not None and marker.kind is ControlRecordType.ABORT:
            self.aborted[batch.last_offset] = batch.producer_id, None if ended is None else ended.first_offset

    def _transaction_index(self, damaged: bool) -> Iterator[Problem]:
        path = self.segment.txnindex
        told: dict[int, transaction_index.Entry] = {}
        if path is not None:
            data = path.read_bytes()
            pos, last = 0, self.segment.base_offset - 1
            while pos < len(data):
                try:
                    entry, stop = transaction_index.read_entry(data, pos, len(data))
                except FormatError as error:
                    yield _from(error, path)
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
