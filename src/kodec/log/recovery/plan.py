"""What recovering a topic-partition's folder would do, as data; `apply` does it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kodec.log.files.fingerprint import Fingerprint
from kodec.log.files.listing import TopicPartition
from kodec.log.recovery.apply import apply_steps
from kodec.log.recovery.steps import Quarantine, Step, Truncate
from kodec.runtime.dataclass import dataclass, field

__all__ = ["RecoveryPlan", "truncated_by"]


def truncated_by(step: Step) -> int:
    """Bytes that were part of a log and are not after a step; zeros and leftovers do not count."""
    if isinstance(step, Truncate):
        return 0 if step.zeros else step.size - step.position
    return step.size if isinstance(step, Quarantine) and step.path.suffix == ".log" else 0


@dataclass(slots=True)
class RecoveryPlan:
    """What recovering a topic-partition's folder would do.

    Attributes:
        path: the folder, whose name says which `topic_partition` it holds; the log directory is around it.
        steps: what would change, in the order in which it is done; [] where nothing would.
        refused: why nothing is planned though something is wrong; "" where that is not so.
        start_offset, end_offset: of the log afterwards.
        segments: how many there are afterwards.
        damage_below_recovery_point: whether a log ends before the recovery point, up to which all was
            durable: that is damage, not a crash, and what follows it may be good (see `plan_salvage`).
        remarks: what is odd in what was read and is no step: leader epochs that contradict each other or the
            checkpoint, and what becomes of them; offsets that no segment holds and nothing explains.
        scanned: the logs that were read to see whether they are valid, and their bytes.
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
    scanned: list[Path] = field(default_factory=list)
    bytes_scanned: int = 0
    fingerprint: Fingerprint | None = field(default=None, repr=False)

    @property
    def has_changes(self) -> bool:
        """Whether `apply` would change anything."""
        return bool(self.steps)

    @property
    def truncated_bytes(self) -> int:
        """Bytes that were part of a log and are not afterwards; see `truncated_by`."""
        return sum(map(truncated_by, self.steps))

    def apply(
        self, quarantine: Path | None = None, *, done: Callable[[Step], None] = lambda _: None
    ) -> list[Path]:
        """Do what the plan says; the files in quarantine that hold what is not part of the log any more.

        All logs that were read for the plan are durable afterwards, also where nothing was to be done. Where
        anything is done, the log directory's clean-shutdown marker (`.kafka_cleanshutdown`) is removed, so
        that a broker does its own recovery. A crash at any step loses nothing, and the next recovery goes on.

        Args:
            quarantine: the folder for what is not part of the log; None: `<log directory>.quarantine`, beside
                the log directory. Each topic-partition has a folder there. A name that is taken gets a number
                as a suffix. What is there keeps the owner, group and permissions of the log.
            done: called with each step when it is done, and durable.

        Raises: ValueError for a plan that was refused, a quarantine folder in a log directory, and a symbolic
        link; StalePlan where anything in the folder, or what the checkpoints say of it, has changed since the
        plan was made, as after another `apply`; BlockingIOError where a broker runs there; OSError: then plan
        again. Where some steps were done before, a note of the error says how many.
        """
        if self.refused:
            raise ValueError(self.refused)
        assert self.fingerprint is not None, "only a plan that was refused has none"
        return apply_steps(self.fingerprint, self.steps, self.scanned, quarantine, done)
