"""The result of a salvage: what was kept of a log, and exactly what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.log.files.checkpoints import LeaderEpoch
from kodec.log.omissions import Omissions
from kodec.log.recovery.good_batches import MissingRange
from kodec.log.recovery.merge import Dropped
from kodec.runtime.dataclass import dataclass, field

__all__ = ["KeptSegment", "LogBefore", "SalvageReport"]


@dataclass(slots=True)
class KeptSegment:
    """A segment of the new log.

    Attributes: its `bytes`; the `newest` timestamp of its records, -1 for none; when that file of the source
    was `modified` whose batch is the last, in ms since 1970.
    """

    bytes: int = 0
    newest: int = -1
    modified: int = 0


@dataclass(slots=True)
class SalvageReport:
    """The result of a salvage.

    Attributes:
        source, target: the folders; `target` is None if nothing was written.
        segments: how many were read. batches, records, bytes: kept ones; control records count.
        missing: ranges that were not kept, in the order of the log.
        omissions: what the new log lacks: the same as `missing`; files that are not part of the log, left by
            an interrupted swap; and batches that were kept though this version cannot read their records.
        open_transactions: the producers whose transaction has no end in the kept log; a consumer that reads
            committed records stops at the first of them.
        wrong_epochs: batches whose leader epoch others, or `leader-epoch-checkpoint`, contradict: no checksum
            covers it. Where the batches around them refute it, they are written with the epoch that these
            prove, as a follower would never get past them; else they are kept as they are.
        start_offset: the log start offset: below it, records of the first segment were deleted. 0: none were.
        end_offset: the offset after the last one that was kept.
        replicas: the folders of several replicas, and how many batches were taken from each; empty for one.
        dropped: batches of replicas whose lineage of leader epochs does not count.
        leader_epochs: of the new log, as its checkpoint has them.
        kept: the segments of the new log that have batches, by base offset.
        notes: what nothing proves, and what a broker would do with it.
        problems: those of the plan: why it cannot be known which replica is right, unless it has a `lineage`.

    Example: see `plan_salvage`.
    """

    source: Path
    target: Path | None = field(default=None, compare=False)
    segments: int = 0
    batches: int = 0
    records: int = 0
    bytes: int = 0
    missing: list[MissingRange] = field(default_factory=list)
    omissions: Omissions = field(default_factory=Omissions)
    open_transactions: list[int] = field(default_factory=list)
    wrong_epochs: list[str] = field(default_factory=list)
    start_offset: int = 0
    end_offset: int = 0
    replicas: dict[Path, int] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)
    leader_epochs: list[LeaderEpoch] = field(default_factory=list)
    kept: dict[int, KeptSegment] = field(default_factory=dict, repr=False)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def bytes_missing(self) -> int:
        """Bytes of the source's segments that were not kept."""
        return sum(gap.end - gap.start for gap in self.missing)


class LogBefore(NamedTuple):
    """The part of a log that is kept elsewhere, as in remote storage: a new log begins after it.

    Attributes: `end_offset` is that after its last record; `producers` is the snapshot of them there.
    """

    end_offset: int
    producers: ProducerSnapshot
