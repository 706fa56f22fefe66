"""The plan of a recovery of a topic-partition's folder, as data; `apply` carries it out."""

from __future__ import annotations

from pathlib import Path

from kodec.log.files.durable import sync_file, sync_folder
from kodec.log.files.fingerprint import Fingerprint
from kodec.log.files.listing import TopicPartition
from kodec.log.files.names import CLEAN_SHUTDOWN, INDEXES
from kodec.log.files.quarantine import quarantine_of
from kodec.log.omissions import Omissions
from kodec.log.recovery.steps import Step
from kodec.log.writing.exclusive import changing
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.plan import OnStep, Plan, StepReport, ignore, refuse

__all__ = ["GoodAfterCut", "RecoveryPlan"]


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


@dataclass(slots=True)
class RecoveryPlan(Plan[StepReport[Step]]):
    """The plan of a recovery of a topic-partition's folder.

    Attributes:
        path: the folder, whose name is its `topic_partition`; its parent is the log directory.
        steps: the changes in order; [] if there are none.
        problems: why nothing is planned although something is wrong; empty otherwise.
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
        quarantine: the folder for removed data; None: `<log directory>.quarantine`, beside the log directory.
            Each topic-partition has a folder there. An existing name gets a number as a suffix. Files there
            keep the owner, group and permissions of the log.

    Example: see `plan_recovery`.
    """

    path: Path
    topic_partition: TopicPartition
    steps: list[Step] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
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
    quarantine: Path | None = None

    @property
    def has_changes(self) -> bool:
        """Whether `apply` would change anything."""
        return bool(self.steps)

    @property
    def truncated_bytes(self) -> int:
        """Bytes that the plan removes from logs; zeros and leftovers do not count."""
        return sum(step.truncated_bytes for step in self.steps)

    def require_current(self) -> None:
        if self.fingerprint is not None:
            self.fingerprint.require()

    def preview(self) -> StepReport[Step]:
        return StepReport(list(self.steps))

    def apply(self, *, on_step: OnStep = ignore) -> StepReport[Step]:
        """Carry out the plan.

        All logs that were read for the plan are durable afterwards, even if there was nothing to do. If
        anything is changed, the log directory's clean-shutdown marker (`.kafka_cleanshutdown`) is removed, so
        that a broker does its own recovery. A crash at any step loses nothing, and the next recovery
        continues.

        Args:
            on_step: called with each step once it is durably done.

        Returns: the steps; `kept` has the files in quarantine with the removed data.
        Raises: ValueError for a plan with problems, a quarantine folder in a log directory, and a symbolic
        link; StalePlan if anything in the folder, or its entries in checkpoints, have changed since the
        plan was made, for example by another `apply`; BlockingIOError if a broker runs there; OSError: then
        plan again. If some steps were done before, the error's note states how many.
        """
        refuse(self.problems)
        quarantine = quarantine_of(self.path, self.quarantine)
        report = StepReport[Step]([], applied=True)
        with changing(self.path) as folder:
            self.require_current()
            if self.steps:
                (folder.root / CLEAN_SHUTDOWN).unlink(missing_ok=True)
            # The plan relies on the checkpoints: one that was replaced without fsync could come back.
            sync_folder(folder.root)
            for step in self.steps:
                try:
                    report.kept += step.apply(quarantine)
                except BaseException as error:
                    outcome = f"{len(report.steps)} of {len(self.steps)} changes were made, the rest were not"
                    where = f"; removed data is in {quarantine}" if report.kept else ""
                    error.add_note(f"{self.path}: {outcome}{where}")
                    raise
                report.steps.append(step)
                on_step(step)
            for path in self.scanned:
                for file in (path, *(path.with_suffix(f".{kind}") for kind in INDEXES)):
                    if file.exists():
                        sync_file(file)
            sync_folder(self.path)
        return report
