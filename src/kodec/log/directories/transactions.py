"""The aborted transactions of a partition, and the offset up to which all are decided: from its markers."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

from kodec.log.batches.format import KAFKA
from kodec.log.batches.options import LogReadOptions
from kodec.log.batches.records import ControlRecordType
from kodec.log.batches.sizes import HEADS
from kodec.log.directories.producer_state import ProducerState, marker_of, read_snapshot
from kodec.log.directories.segment import Position, Segment
from kodec.log.directories.segment_transactions import AbortedTransaction, SegmentTransactions, Step
from kodec.log.omissions import Cause, Omission
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import FormatError

__all__ = [
    "AbortedTransaction",
    "SegmentTransactions",
    "Transactions",
    "find_aborted",
    "find_transactions",
    "read_snapshot",
    "steps",
]


_RAISING = LogReadOptions()
_ENDS = (ControlRecordType.ABORT, ControlRecordType.COMMIT)
# A control batch up to this size is remembered, and this many of them.
_MARKER, _KNOWN = 256, 1024


@dataclass(slots=True)
class Transactions:
    """The facts that `read_committed` needs.

    Attributes:
        aborted: in the order of their markers.
        last_stable_offset: the first offset of the oldest transaction that is still open, else the end of the
            log. Records at or above it are undecided.
        undecided_by: the producer of that transaction; None: none is open.

    Example:
        >>> import kodec
        >>> found = kodec.PartitionLog("/data/kafka-logs/transactions-0").transactions()
        >>> found.last_stable_offset, len(found.aborted)
        (82, 14)
    """

    aborted: list[AbortedTransaction]
    last_stable_offset: int
    undecided_by: int | None = None
    _by_producer: dict[int, list[tuple[int, int]]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for transaction in sorted(self.aborted, key=lambda transaction: transaction.first_offset):
            self._by_producer.setdefault(transaction.producer_id, []).append(
                (transaction.first_offset, transaction.last_offset)
            )

    def undecided(self, path: Path) -> Omission | None:
        """Why `read_committed` ends before the end of the log; None if it does not.

        Args:
            path: of the log.
        """
        if self.undecided_by is None:
            return None
        offset = self.last_stable_offset
        text = f"read_committed ends before offset {offset}, where an open transaction of producer "
        return Omission(Cause.UNFINISHED, path, f"{text}{self.undecided_by} begins", first_offset=offset)

    def drops(self, producer_id: int, offset: int) -> bool:
        """Whether a transactional record of this producer at this offset was aborted.

        Args:
            producer_id: of the record's batch.
            offset: of the record.
        """
        spans = self._by_producer.get(producer_id)
        if not spans:
            return False
        index = bisect_right(spans, (offset, 2**63)) - 1
        return index >= 0 and spans[index][0] <= offset <= spans[index][1]


def steps(segment: Segment, position: int = 0, until: int = 2**63) -> Iterator[Step]:
    """The course of the transactions from a batch on; `until` as in `Segment.transaction_batches`.

    Raises FormatError for a damaged batch.
    """
    known: dict[bytes, ControlRecordType | None] = {}
    for offset, batch_position, size, producer, is_control in segment.transaction_batches(position, until):
        kind = None
        if is_control and producer >= 0:
            kind = _marker_kind(segment, Position(offset, batch_position, size), known)
            if kind not in _ENDS:
                producer = -1
        if producer >= 0 or offset >= until:
            yield offset, producer, kind


def _marker_kind(
    segment: Segment, location: Position, known: dict[bytes, ControlRecordType | None]
) -> ControlRecordType | None:
    """The type of the first record in a control batch; None if it has none. Raises FormatError.

    Markers differ in offsets and times, and hardly in their records: `known` has those that were decoded.
    """
    content = b""
    if location.size <= _MARKER:
        data = segment.read_bytes(location.position, location.size)
        head = HEADS[KAFKA.magic.get(data)]
        content = data[head.flags] + data[head.count.at :]
        if content in known:
            _, stored, computed = KAFKA.kinds[0].checksum(data, 0, len(data))
            if stored == computed:
                return known[content]
    try:
        marker = marker_of(segment.batch_at(location))
    except FormatError as error:
        raise error.in_source(str(segment.path)) from None
    kind = None if marker is None else marker.kind
    if content and len(known) < _KNOWN:
        known[content] = kind
    return kind


def _steps_around_damage(segment: Segment, options: LogReadOptions) -> Iterator[Step]:
    """As `steps`, of the batches that can be read. Of markers among the others the transaction index is all
    that is left.
    """
    from kodec.log.reading.reader import read_batches

    lost = deque(segment.aborted() or ())
    with read_batches(segment.path, on_error="skip", limits=options.limits) as reader:
        for batch in reader:
            while lost and lost[0].last_offset <= batch.last_offset:
                entry = lost.popleft()
                if entry.last_offset < batch.frame_offset:
                    yield entry.last_offset, entry.producer_id, ControlRecordType.ABORT
            if batch.producer_id < 0:
                continue
            marker = marker_of(batch)
            if marker is not None and marker.kind in _ENDS:
                yield batch.last_offset, batch.producer_id, marker.kind
            elif batch.is_transactional and not batch.is_control:
                yield batch.base_offset, batch.producer_id, None
    for entry in lost:
        yield entry.last_offset, entry.producer_id, ControlRecordType.ABORT


def _segment_transactions(segment: Segment, options: LogReadOptions) -> SegmentTransactions:
    """`segment.transactions`; around damage, if that is skipped."""
    try:
        return segment.transactions
    except FormatError:
        if options.on_error == "raise":
            raise
        return SegmentTransactions.of(_steps_around_damage(segment, options))


def find_transactions(
    segments: list[Segment],
    snapshots: dict[int, Path],
    start: int,
    end_offset: int,
    options: LogReadOptions = _RAISING,
) -> Transactions:
    """Find the transactions that a reader from `segments[start]` on needs.

    The log is the evidence: a transaction is aborted if the next marker of its producer, in a control batch,
    is an abort; it is open if there is none. So the headers of all batches from there on are read, and
    transaction indexes are not: they show no missing entry, and a crash, or a broker before 3.2, leaves some
    with missing ones.

    What is open at `segments[start]` comes from the newest producer snapshot there or before that agrees
    with the log, else from the headers of all segments before. A snapshot agrees if no header of the segment
    before it contradicts it, and each transaction that it calls open begins with a batch of one.

    Raises FormatError for a damaged batch; where damage is skipped, it is skipped here too.
    """
    aborted: list[AbortedTransaction] = []
    going = _open_at(segments, start, snapshots, options)
    for segment in segments[start:]:
        _segment_transactions(segment, options).follow(going, aborted)
    oldest = min(going, key=lambda producer: going[producer], default=None)
    return Transactions(aborted, end_offset if oldest is None else going[oldest], oldest)


def find_aborted(
    segments: list[Segment], start: int, stop: int, options: LogReadOptions
) -> list[AbortedTransaction]:
    """The aborted transactions with records from `start` on and below `stop`, by the headers from there on.

    Reads no header after the last marker that is needed. First offsets are those of the first records from
    about `start` on. Raises FormatError for a damaged batch; where damage is skipped, it is skipped here too.
    """
    aborted: list[AbortedTransaction] = []
    going: dict[int, int] = {}
    first = max(sum(segment.base_offset <= start for segment in segments) - 1, 0)
    for number, segment in enumerate(segments[first:], first):
        if segment.base_offset >= stop and not going:
            break
        before, known = dict(going), len(aborted)
        try:
            location = segment.find(start) if number == first else Position(0, 0, 0)
            if location is not None:
                _follow(steps(segment, location.position, stop), stop, going, aborted)
        except FormatError:
            if options.on_error == "raise":
                raise
            going = before
            del aborted[known:]
            _follow(_steps_around_damage(segment, options), stop, going, aborted)
    return aborted


def _follow(
    course: Iterable[Step], stop: int, going: dict[int, int], aborted: list[AbortedTransaction]
) -> None:
    """Bring the open transactions, and the aborted ones, on; until none is open from `stop` on."""
    for offset, producer, ends in course:
        if ends is not None:
            began = going.pop(producer, None)
            if began is not None and ends is ControlRecordType.ABORT:
                aborted.append(AbortedTransaction(producer, began, offset))
        elif producer >= 0 and offset < stop:
            going.setdefault(producer, offset)
        if offset >= stop and not going:
            return


def _open_at(
    segments: list[Segment], number: int, snapshots: dict[int, Path], options: LogReadOptions
) -> dict[int, int]:
    """The transactions that are open where `segments[number]` starts: first offsets by producer."""
    first, going = number, None
    while first > 0:
        path = snapshots.get(segments[first].base_offset)
        going = None if path is None else _open_in(path, segments[:first], options)
        if going is not None:
            break
        first -= 1
    going = going or {}
    for segment in segments[first:number]:
        _segment_transactions(segment, options).follow(going, [])
    return going


def _open_in(path: Path, before: list[Segment], options: LogReadOptions) -> dict[int, int] | None:
    """The open transactions in a producer snapshot; None if it is unusable, or not of the log before it."""
    try:
        going = ProducerState(read_snapshot(path)).open
    except (FileNotFoundError, FormatError):
        return None
    last = before[-1]
    if not _segment_transactions(last, options).agree(last.base_offset, going):
        return None
    bases = [segment.base_offset for segment in before]
    for producer, first in going.items():
        # one that began below the start of the log, or in the last segment, was compared with all there is
        if bases[0] <= first < last.base_offset:
            segment = before[bisect_right(bases, first) - 1]
            try:
                location = segment.find(first)
                batches = () if location is None else segment.transaction_batches(location.position)
                batch = next(iter(batches), None)
            except FormatError:
                return None
            if batch is None or batch[0] != first or batch[3] != producer or batch[4]:
                return None
    return going
