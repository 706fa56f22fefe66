"""The plan of a recovery of a topic-partition's folder, as data; `apply` carries it out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kodec.log.files.fingerprint import Fingerprint
from kodec.log.files.listing import TopicPartition
from kodec.log.omissions import Omissions
from kodec.log.recovery.apply import apply_steps
from kodec.log.recovery.steps import Quarantine, Step, Truncate
from kodec.runtime.dataclass import dataclass, field

__all__ = ["GoodAfterCut", "RecoveryPlan", "truncated_by"]


@dataclass(frozen=True, slots=True)
class GoodAfterCut:
    """The good batches after the first bad one, which a recovery removes and `plan_salvage` keeps.

    Attributes:
        batches, records, bytes: how many there are; control records count.
        first_offset, last_offset: of the first and of the last batch.

    Example: see `plan_recovery`.
    """

    batches: int
    records: int
    bytes: int
    first_offset: int
    last_offset: int


def truncated_by(step: Step) -> int:
    """Bytes that a step removes from a log; zeros and leftovers do not count."""
    if isinstance(step, Truncate):
        return 0 if step.zeros else step.size - step.position
    return step.size if isinstance(step, Quarantine) and step.path.suffix == ".log" else 0


@dataclass(slots=True)
class RecoveryPlan:
    """The plan of a recovery of a topic-partition's folder.

    Attributes:
        path: the folder, whose name is its `topic_partition`; its parent is the log directory.
        steps: the changes in order; [] if there are none.
        refused: why nothing is planned although something is wrong; "" otherwise.
        start_offset, end_offset: of the log afterwards.
        segments: how many there are afterwards.
        damage_below_recovery_point: whether a log ends before the recovery point, up to which all data was
            durable: that is damage, not a crash, and data after it may be good (see `plan_salvage`).
        remarks: findings without a step: leader epochs that contradict each other or the
            checkpoint, and their treatment; producer snapshots that are not used.
        omissions: what the log lacks afterwards, and the quarantine has not: offsets that are lost.
        good_after_cut: what the plan removes though it is good; None if nothing is.
        scanned: the logs that were read to validate them, and their bytes.
        fingerprint: what was there when the plan was made; None where that could not be listed.
        bytes_scanned: how many bytes of logs were read.

    Example: see `plan_recovery`.
    """

    path: Path
    topic_partition: TopicPartition
    steps: list[Step] = field(default_factory=list)
    refused: str = ""
    start_offset: int = 0
    end_offset: int = 0
    segments: int = 0
    damage_below_recovery_point: bool = False
    remarks: list[str] = field(default_factory=list)
    omissions: Omissions = field(default_factory=Omissions)
    good_after_cut: GoodAfterCut | None = None
    scanned: list[Path] = field(default_factory=list)
    bytes_scanned: int = 0
    fingerprint: Fingerprint | None = field(default=None, repr=False)

    @property
    def has_changes(self) -> bool:
        """Whether `apply` would change anything."""
        return bool(self.steps)

    @property
    def truncated_bytes(self) -> int:
        """Bytes that the plan removes from logs; see `truncated_by`."""
        return sum(map(truncated_by, self.steps))

    def apply(
        self, quarantine: Path | None = None, *, done: Callable[[Step], None] = lambda _: None
    ) -> list[Path]:
        """Carry out the plan; return the files in quarantine with the removed data.

        All logs that were read for the plan are durable afterwards, even if there was nothing to do. If
        anything is changed, the log directory's clean-shutdown marker (`.kafka_cleanshutdown`) is removed, so
        that a broker does its own recovery. A crash at any step loses nothing, and the next recovery
        continues.

        Args:
            quarantine: the folder for removed data; None: `<log directory>.quarantine`, beside
                the log directory. Each topic-partition has a folder there. An existing name gets a number
                as a suffix. Files there keep the owner, group and permissions of the log.
            done: called with each step once it is durably done.

        Raises: ValueError for a plan that was refused, a quarantine folder in a log directory, and a symbolic
        link; StalePlan if anything in the folder, or its entries in checkpoints, have changed since the
        plan was made, for example by another `apply`; BlockingIOError if a broker runs there; OSError: then
        plan again. If some steps were done before, the error's note states how many.
        """
        if self.refused:
            raise ValueError(self.refused)
        assert self.fingerprint is not None, "only a plan that was refused has none"
        return apply_steps(self.fingerprint, self.steps, self.scanned, quarantine, done)
