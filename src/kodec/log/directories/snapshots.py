"""Producer snapshots are hints: the batches before them are the evidence.

A snapshot may be of another log, or of batches that were truncated since; its checksum is right then, and a
broker believes it. Here one counts only if no batch contradicts it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Self

from kodec.generated.log.producer_snapshot import Entry, ProducerSnapshot
from kodec.log.directories.producer_state import ProducerState, differences, marker_of, read_snapshot
from kodec.log.directories.segment import BatchHeader, Segment
from kodec.runtime.errors import FormatError, Malformed

__all__ = ["Lookup", "agrees", "newest_state", "refuted"]

# Brokers forget producers after `producer.id.expiration.ms`, a day by default.
_EXPIRATION_MS = 86_400_000


def newest_state(
    segments: Sequence[Segment],
    snapshots: Iterable[tuple[int, Path]],
    until: int,
    *,
    doubt: Callable[[Path, FormatError | OSError], object] = lambda path, error: None,
    expired: bool = True,
) -> tuple[int, ProducerState]:
    """The newest producer snapshot at `until` or below that agrees with the log: its offset and contents.

    The log's start and nothing if there is none. Callers continue with the batches from there on. Compared
    are the headers of the last segment before the snapshot, and the batch that each of its producers is said
    to have written last. Where damage or a deletion hides these, the snapshot counts.

    Args:
        segments: of the log.
        snapshots: by ascending offset.
        until: the offset.
        doubt: called for each that cannot be read or is contradicted.
        expired: whether a snapshot may lack producers that a broker with the default settings still knows.

    Raises: OSError for a segment that cannot be read.
    """
    for offset, path in sorted(snapshots, reverse=True):
        if offset > until:
            continue
        try:
            snapshot = read_snapshot(path)
            wrong, is_missing = _contradiction(snapshot, offset, segments)
        except FileNotFoundError:
            continue
        except (FormatError, OSError) as error:
            doubt(path, error)
            continue
        if wrong:
            doubt(path, Malformed("", wrong, at=0).in_source(str(path)))
        elif expired or not is_missing:
            return offset, ProducerState(snapshot)
    return (segments[0].base_offset if segments else 0), ProducerState()


def agrees(path: Path, offset: int, segments: Sequence[Segment]) -> bool:
    """Whether a snapshot can be read, and no batch before it contradicts it. Raises OSError."""
    try:
        return not _contradiction(read_snapshot(path), offset, segments)[0]
    except FormatError:
        return False


def refuted(entry: Entry, offset: int, log: Lookup) -> str:
    """How the log contradicts an entry of a snapshot at `offset`, of a producer about which nothing else is
    known; "" if it does not."""
    who = f"producer {entry.producer_id}"
    if entry.last_offset >= offset:
        return f"{who}: last offset: need less than {offset}, have {entry.last_offset}"
    if entry.last_offset >= 0:
        head = log.batch(entry.last_offset)
        if head is not None:
            stated = entry.producer_id, entry.producer_epoch, entry.last_offset, entry.last_sequence
            actual = head.producer_id, head.producer_epoch, head.last_offset, head.last_sequence
            # Kafka 0.11 has a marker as the last batch
            if stated[: 3 if head.is_control else 4] != actual[: 3 if head.is_control else 4]:
                return f"{who}: last offset {entry.last_offset}: the batch there is another one"
    return _refuted_transaction(entry, offset, log)


def _refuted_transaction(entry: Entry, offset: int, log: Lookup) -> str:
    who, first = f"producer {entry.producer_id}", entry.current_txn_first_offset
    if first >= offset:
        return f"{who}: first offset of its transaction: need less than {offset}, have {first}"
    head = log.batch(first) if first >= 0 else None
    if head is None:
        return ""
    begins = head.producer_id == entry.producer_id and head.base_offset == first
    if begins and head.is_transactional and not head.is_control:
        return ""
    return f"{who}: first offset of its transaction, {first}: no batch of it begins there"


class Lookup:
    """Looks up batches by offset, with at most one segment of its own open. Close it.

    A snapshot may name producers in every segment of a large log.
    """

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._segments = segments
        self._bases = [segment.base_offset for segment in segments]
        self._opened: Segment | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the segment that it opened."""
        if self._opened is not None:
            self._opened.close()
        self._opened = None

    def batch(self, offset: int) -> BatchHeader | None:
        """The header of the batch that holds an offset; None if none does, or if damage hides it.

        Raises: OSError.
        """
        index = bisect_right(self._bases, offset) - 1
        if index < 0:
            return None
        segment = self._segments[index]
        if segment is not self._opened:
            self.close()
            if not segment.is_open:
                self._opened = segment
        try:
            location = segment.find(offset)
            head = None if location is None else next(segment.headers(location.position), None)
        except FormatError:
            return None
        return head if head is not None and head.first_known <= offset <= head.last_offset else None


def _contradiction(snapshot: ProducerSnapshot, offset: int, segments: Sequence[Segment]) -> tuple[str, bool]:
    """How the log contradicts a snapshot, or ""; and whether it lacks a producer that a broker knows."""
    before = [segment for segment in segments if segment.base_offset < offset]
    try:
        last_segment = _SegmentProducers(before[-1], offset) if before else None
    except FormatError:
        last_segment = None
    with Lookup(before) as log:
        for entry in sorted(snapshot.entries, key=attrgetter("last_offset")):
            for wrong in _entry_contradictions(entry, offset, log, last_segment):
                return wrong, False
    if last_segment is None:
        return "", False
    named = {entry.producer_id for entry in snapshot.entries}
    for producer, first in last_segment.state.open.items():
        if producer not in named:
            return f"producer {producer}, open since {first}: need an entry, have none", False
    newest = max((known.timestamp for known in last_segment.state.known.values()), default=0)
    return "", any(
        known.timestamp > newest - _EXPIRATION_MS
        for producer, known in last_segment.state.known.items()
        if producer not in named
    )


def _entry_contradictions(
    entry: Entry, offset: int, log: Lookup, last_segment: _SegmentProducers | None
) -> Iterator[str]:
    who = f"producer {entry.producer_id}"
    if last_segment is None or entry.producer_id not in last_segment.state.known:
        if wrong := refuted(entry, offset, log):
            yield wrong
        return
    for name, need, have in differences(
        entry, last_segment.state, last_segment.first_offset, last_segment.cleaned
    ):
        if name != "timestamp":
            yield f"{who}: {name}: need {need}, have {have}"
    first = entry.current_txn_first_offset
    if 0 <= first < last_segment.first_offset:
        if entry.producer_id in last_segment.ended:
            yield f"{who}: first offset of its transaction: need none, have {first}"
        elif wrong := _refuted_transaction(entry, offset, log):
            yield wrong


class _SegmentProducers:
    """The producers of one segment up to an offset, by its headers and markers.

    Attributes:
        first_offset: where the segment begins.
        cleaned: the offset below which compaction may have removed batches.
        ended: the producers with a marker.
    """

    def __init__(self, segment: Segment, until: int) -> None:
        self.first_offset = reached = segment.base_offset
        self.cleaned = 0
        self.state = ProducerState()
        self.ended: set[int] = set()
        try:
            for head in segment.headers():
                if head.first_known >= until:
                    break
                if head.first_known > reached:
                    self.cleaned = head.first_known
                if not head.is_dense:
                    self.cleaned = head.next_offset
                reached = head.next_offset
                if head.producer_id < 0:
                    continue
                marker = marker_of(segment.batch_at(head)) if head.is_control else None
                self.state.take(head, marker)
                if marker is not None:
                    self.ended.add(head.producer_id)
        finally:
            segment.close()
        if reached < until:
            self.cleaned = until
