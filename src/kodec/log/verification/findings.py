"""The findings of reading a segment, some of which depend on the segments before it.

A segment can be read without the ones before it, even in another process; its findings about producers and
transactions is then a list of steps, which are applied in the order of the log.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from kodec.generated.log import transaction_index
from kodec.log.batches.records import ControlRecordType
from kodec.log.batches.sizes import TXN_ENTRY
from kodec.log.directories.epochs import EpochRuns
from kodec.log.directories.producer_state import Marker, ProducerHead
from kodec.log.remote.view import may_have_indexes
from kodec.log.verification.problems import Problem
from kodec.log.verification.producers import Producers
from kodec.runtime.dataclass import dataclass, field

__all__ = [
    "CompareSnapshots",
    "EndOfSegment",
    "Epochs",
    "Finding",
    "FirstBatch",
    "Head",
    "OffsetsMissing",
    "ProducerBatch",
    "SegmentFindings",
    "Step",
    "TransactionIndex",
    "Unreliable",
    "concluded",
]


class Step(Protocol):
    """A step that changes the state, or is compared with it."""

    def take(self, state: Producers) -> Iterable[Problem]:
        """Apply it."""


Finding = Problem | Step
"""A result of reading a segment: a problem independent of earlier segments, or a step."""


class Head(NamedTuple):
    """The producer fields in the header of a batch of magic 2."""

    base_offset: int
    last_offset: int
    producer_id: int
    producer_epoch: int
    last_sequence: int
    max_timestamp: int
    is_transactional: bool
    is_control: bool

    @classmethod
    def of(cls, batch: ProducerHead) -> Head:
        """The head of a batch of magic 2."""
        assert batch.base_offset is not None
        return cls(
            batch.base_offset,
            batch.last_offset,
            batch.producer_id,
            batch.producer_epoch,
            batch.last_sequence,
            batch.max_timestamp,
            batch.is_transactional,
            batch.is_control,
        )


@dataclass(frozen=True, slots=True)
class FirstBatch:
    """The first batch of magic 2 in a segment."""

    offset: int

    def take(self, state: Producers) -> Iterable[Problem]:
        """Transactions that began before the first batch of the log are not in it."""
        if state.first_offset is None:
            state.first_offset = self.offset
        return ()


class ProducerBatch(NamedTuple):
    """A batch of a producer, and the marker in it. A `SegmentFindings` keeps the head alone."""

    head: ProducerHead
    marker: Marker | None

    def take(self, state: Producers) -> Iterable[Problem]:
        """Apply its producer fields, and the transaction that it aborts."""
        ended = state.state.take(self.head, self.marker)
        if self.marker is not None and self.marker.kind is ControlRecordType.ABORT:
            began = None if ended is None else ended.first_offset
            state.aborted[self.head.last_offset] = self.head.producer_id, began
        return ()


@dataclass(frozen=True, slots=True)
class CompareSnapshots:
    """The snapshots up to `offset` are compared."""

    offset: int

    def take(self, state: Producers) -> Iterator[Problem]:
        """Their problems."""
        yield from state.compare_below(self.offset)


@dataclass(frozen=True, slots=True)
class Unreliable:
    """A relevant batch may be missing."""

    def take(self, state: Producers) -> Iterable[Problem]:
        """Nothing more is compared with the batches."""
        state.reliable = False
        return ()


@dataclass(frozen=True, slots=True)
class OffsetsMissing:
    """Compaction has removed records before `offset`, or of the batch that ends there."""

    offset: int

    def take(self, state: Producers) -> Iterable[Problem]:
        """Contents of snapshots and transactions may be gone."""
        state.cleaned = max(state.cleaned, self.offset)
        return ()


@dataclass(frozen=True, slots=True)
class TransactionIndex:
    """The transaction index of a segment, to be compared with the transactions that were aborted in it.

    Attributes:
        log: the segment's log.
        path: None if there is no index.
        entries: the byte and the content of each; None if the file cannot be read.
        error: what ends the entries, if anything.
        known: the offset (exclusive) up to which the index has been written; None: to the end.
        damaged: whether markers may be missing in the log.
    """

    log: Path
    base_offset: int
    path: Path | None
    entries: list[tuple[int, transaction_index.Entry]] | None
    error: Problem | None
    known: int | None
    damaged: bool

    def take(self, state: Producers) -> Iterator[Problem]:
        """The differences between the two."""
        indexed: set[int] = set()
        last = self.base_offset - 1
        if self.path is not None and self.entries is None:
            return
        for position, entry in self.entries or ():
            assert self.path is not None
            yield from self._entry(self.path, position, entry, last, state)
            last = max(last, entry.last_offset)
            indexed.add(entry.last_offset)
        if self.error is not None:
            yield self.error
            return
        if not state.reliable or not may_have_indexes(self.log):
            return
        for offset, (producer, began) in state.aborted.items():
            if began is not None and offset not in indexed and (self.known is None or offset < self.known):
                where, size = (self.log, 0) if self.path is None else (self.path, TXN_ENTRY * len(indexed))
                what = f"transaction of producer {producer}, aborted at offset {offset}"
                yield Problem(where, size, what, "an entry in the transaction index", "none")

    def _entry(
        self, path: Path, position: int, entry: transaction_index.Entry, last: int, state: Producers
    ) -> Iterator[Problem]:
        if entry.last_offset <= last:
            yield Problem(path, position, "last offset", f"more than {last}", entry.last_offset)
        if not 0 <= entry.first_offset <= entry.last_offset:
            yield Problem(path, position, "first offset", f"0 to {entry.last_offset}", entry.first_offset)
        aborted = state.aborted.get(entry.last_offset)
        if aborted is None or aborted[0] != entry.producer_id:
            if not self.damaged:
                need = f"the abort marker of producer {entry.producer_id}"
                have = "none" if aborted is None else f"one of producer {aborted[0]}"
                yield Problem(path, position, f"offset {entry.last_offset}", need, have)
        elif state.reliable and aborted[1] is not None and aborted[1] < entry.first_offset:
            yield Problem(path, position, "first offset", f"at most {aborted[1]}", entry.first_offset)


@dataclass(frozen=True, slots=True)
class Epochs:
    """The leader epochs of the batches of a segment."""

    runs: EpochRuns

    def take(self, state: Producers) -> Iterable[Problem]:
        """They are compared once those of all segments are known."""
        state.epochs.add(self.runs)
        return ()


@dataclass(frozen=True, slots=True)
class EndOfSegment:
    """A segment ends; `last` is its last offset, None if a damaged batch leaves it open.

    `gap` is the place of the last batch, with the first and last offset that are missing before it, if any.
    """

    last: int | None
    gap: tuple[int, int, int] | None = None

    def take(self, state: Producers) -> Iterable[Problem]:
        """The next segment is expected after it."""
        state.expected = None if self.last is None else self.last + 1
        state.gap = self.gap
        state.aborted.clear()
        return ()


def concluded(findings: Iterable[Finding], state: Producers) -> Iterator[Problem]:
    """The problems of a segment, after the segments before it. Raises what reading it raises."""
    for finding in findings:
        if isinstance(finding, Problem):
            yield finding
        else:
            yield from finding.take(state)


@dataclass(slots=True)
class _Run:
    """Batches of one producer since the last snapshot or other marker, by their numbers in the segment."""

    first: int | None = None
    last: int | None = None
    committed: tuple[int, ...] = ()


@dataclass(slots=True)
class SegmentFindings:
    """The findings of a segment, to be kept or sent; an OSError that ended it is raised at its end.

    Batches that change nothing for `Producers`, because others of the producer follow, are left out: of a
    run without a marker or a snapshot in between all but the last one, and the first of a transaction; of
    committed transactions all but the last one. So its size depends on the events, not on the size of the
    log.
    """

    findings: list[Finding] = field(default_factory=list)
    error: OSError | None = None

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> SegmentFindings:
        """Read to the end."""
        remaining: dict[int, Finding] = {}
        runs: defaultdict[int, _Run] = defaultdict(_Run)
        error = None
        try:
            for number, finding in enumerate(findings):
                if isinstance(finding, ProducerBatch):
                    for left_out in _superseded(runs, number, finding):
                        del remaining[left_out]
                    finding = ProducerBatch(Head.of(finding.head), finding.marker)
                elif isinstance(finding, CompareSnapshots):
                    runs.clear()
                remaining[number] = finding
        except OSError as raised:
            error = raised
        return cls(list(remaining.values()), error)

    def __iter__(self) -> Iterator[Finding]:
        yield from self.findings
        if self.error is not None:
            raise self.error


def _superseded(runs: defaultdict[int, _Run], number: int, batch: ProducerBatch) -> Iterator[int]:
    """The batches before this one that are not needed after it."""
    producer = batch.head.producer_id
    run = runs[producer]
    if not batch.head.is_control:
        if run.last is not None:
            yield run.last
        run.last = number
        if batch.head.is_transactional and run.first is None:
            run.first, run.last = number, None
    elif run.first is not None and batch.marker is not None and batch.marker.kind is ControlRecordType.COMMIT:
        yield from run.committed
        if run.last is not None:
            # it has the same producer fields as the first, which opened the now closed transaction
            yield run.first
        runs[producer] = _Run(committed=(run.first if run.last is None else run.last, number))
    else:
        del runs[producer]
