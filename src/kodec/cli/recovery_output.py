"""How `kodec recover` and `kodec reindex` show their plans: a line or a JSON object per step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from kodec.cli import output
from kodec.cli.outcome import LogShow
from kodec.cli.plans import Shown
from kodec.cli.progress import Step as Progress
from kodec.cli.selection import size_of_logs
from kodec.log.recovery.plan import RecoveryPlan
from kodec.log.recovery.steps import Step
from kodec.runtime.plan import StepReport

__all__ = ["ShowRecovery", "counted"]

# In the order of the closing line of --json.
_COUNTED = (
    "partitions",
    "logsRead",
    "bytesRead",
    "changes",
    "done",
    "bytesTruncated",
    "goodBatchesAfterCuts",
    "goodRecordsAfterCuts",
    "refused",
)


def counted(plans: Iterable[RecoveryPlan], progress: Progress) -> Iterator[RecoveryPlan]:
    """The plans, each after the bytes that it did not need to read are counted as read."""
    for plan in plans:
        progress(max(size_of_logs(plan.path) - plan.bytes_scanned, 0))
        yield plan


class ShowRecovery(LogShow[RecoveryPlan, StepReport[Step]]):
    """Shows the steps of plans, and counts."""

    def __init__(self) -> None:
        super().__init__()
        self._total = Counter(dict.fromkeys(_COUNTED, 0))
        self._logs = 0
        self._quarantines: set[Path] = set()

    def before(self, plan: RecoveryPlan) -> None:
        super().before(plan)
        self._logs += plan.segments
        self._total.update(partitions=1, logsRead=len(plan.scanned), bytesRead=plan.bytes_scanned)
        if plan.problems:
            return
        self._total.update(changes=len(plan.steps))
        if plan.damage_below_recovery_point:
            output.warn(
                f"{plan.path}: damaged below the recovery point, where all data was flushed: recovery "
                "truncates the log there, as a broker's does"
            )
        if (good := plan.good_after_cut) is not None:
            self._total.update(goodBatchesAfterCuts=good.batches, goodRecordsAfterCuts=good.records)
            offsets = f"offsets {good.first_offset} to {good.last_offset}, {output.size_of(good.bytes)}"
            output.warn(f"{plan.path}: {_good(good.batches, good.records)}: {offsets}")
        for remark in plan.remarks:
            output.warn(remark)

    def refused(self, plan: RecoveryPlan, apply: bool) -> Iterable[Shown]:
        self._total.update(refused=1)
        self.outcome.fail(*(f"{plan.path}: refused: {problem}" for problem in plan.problems))
        return ()

    def step(self, plan: RecoveryPlan, step: Step, applied: bool) -> Shown:
        self._total.update(done=applied, bytesTruncated=step.truncated_bytes)
        kind = type(step).__name__
        facts = {
            "topic": plan.topic_partition.topic,
            "partition": plan.topic_partition.partition,
            "step": kind[0].lower() + kind[1:],
            "file": str(step.path),
        }
        return Shown(facts | step.facts(), [f"{step.path}: {step.text}"])

    def report(self, plan: RecoveryPlan, report: StepReport[Step]) -> Iterable[Shown]:
        self._quarantines.update(path.parent for path in report.kept)
        return (self.step(plan, step, report.applied) for step in report.steps)

    def end(self, apply: bool) -> Iterable[Shown]:
        """The closing line."""
        total = self._total
        changes, completed, read = total["changes"], total["done"], total["logsRead"]
        ending = "nothing to do"
        if changes and not apply:
            ending = f"{output.count(changes, 'change')} to do, --apply does them"
        elif changes:
            ending = (
                f"{'' if completed == changes else f'{completed} of '}{output.count(changes, 'change')} done"
            )
        elif total["refused"]:
            ending = "nothing done" if apply else "nothing planned"
        logs = f"{output.count(read, 'log')} read"
        if not apply and read < self._logs:
            logs = f"{read} of {output.count(self._logs, 'log')} read (--from-start reads all)"
        text = [f"{output.count(total['partitions'], 'topic-partition')}, {logs}: {ending}"]
        if total["goodBatchesAfterCuts"]:
            text.append(_good(total["goodBatchesAfterCuts"], total["goodRecordsAfterCuts"]))
        folders = sorted(map(str, self._quarantines))
        applied = apply and completed == changes and not total["refused"]
        yield Shown(
            {**total, "applied": applied, "kept": folders},
            [*text, *(f"what was truncated is in {folder}" for folder in folders)],
        )


def _good(batches: int, records: int) -> str:
    subject = output.count(batches, "good batch", "good batches")
    verb = "follows" if batches == 1 else "follow"
    return f"{subject} with {output.count(records, 'record')} {verb} the cut, and `kodec salvage` keeps them"
