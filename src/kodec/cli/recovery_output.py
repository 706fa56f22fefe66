"""How `kodec recover` and `kodec reindex` show their plans: a line or a JSON object per step."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kodec.cli import output
from kodec.cli.outcome import Outcome
from kodec.cli.progress import Step as Progress
from kodec.cli.selection import size_of_logs
from kodec.log.recovery.plan import RecoveryPlan, truncated_by
from kodec.log.recovery.steps import LowerRecoveryPoint, Quarantine, Rename, Step, Truncate

__all__ = ["Shown"]


class Shown:
    """Prints plans, applies them on request, and counts."""

    def __init__(self, as_json: bool, apply: bool) -> None:
        self.as_json = as_json
        self.apply = apply
        self.plans = self.changes = self.done = self.refused = self.truncated = 0
        self.scanned = self.logs = self.bytes = self.good_batches = self.good_records = 0
        self.kept: set[Path] = set()

    def all(
        self,
        plans: Iterable[RecoveryPlan],
        outcome: Outcome,
        step: Progress,
        quarantine: Path | None = None,
    ) -> None:
        """Show each plan, or the result of applying it, before making the next one."""
        for plan in plans:
            self.plans += 1
            self.scanned += len(plan.scanned)
            self.logs += plan.segments
            self.bytes += plan.bytes_scanned
            step(max(size_of_logs(plan.path) - plan.bytes_scanned, 0))
            if plan.refused:
                self.refused += 1
                outcome.fail(f"{plan.path}: refused: {plan.refused}")
                continue
            self.changes += len(plan.steps)
            if plan.damage_below_recovery_point:
                output.warn(
                    f"{plan.path}: damaged below the recovery point, where all data was flushed: recovery "
                    "truncates the log there, as a broker's does"
                )
            if (good := plan.good_after_cut) is not None:
                self.good_batches += good.batches
                self.good_records += good.records
                offsets = f"offsets {good.first_offset} to {good.last_offset}, {output.size_of(good.bytes)}"
                output.warn(f"{plan.path}: {_good(good.batches, good.records)}: {offsets}")
            for remark in plan.remarks:
                output.warn(remark)
            outcome.omissions.extend(plan.omissions)
            if not self.apply:
                outcome.left_to_do += plan.has_changes
                self._show(plan, plan.steps)
                continue
            done: list[Step] = []
            with outcome.each(plan.path):
                try:
                    kept = plan.apply(quarantine, done=done.append)
                finally:
                    self.done += len(done)
                    self._show(plan, done)
                self.kept.update(path.parent for path in kept)

    def _show(self, plan: RecoveryPlan, steps: Iterable[Step]) -> None:
        """Show the steps of a plan, or those that were applied."""
        for each in steps:
            self.truncated += truncated_by(each)
            output.show(output.as_json(_facts(plan, each)) if self.as_json else _line(each))

    def end(self) -> None:
        """The closing line."""
        if self.as_json:
            facts = {
                "partitions": self.plans,
                "logsRead": self.scanned,
                "bytesRead": self.bytes,
                "changes": self.changes,
                "done": self.done,
                "bytesTruncated": self.truncated,
                "goodBatchesAfterCuts": self.good_batches,
                "goodRecordsAfterCuts": self.good_records,
                "refused": self.refused,
                "applied": self.apply and self.done == self.changes and not self.refused,
                "kept": sorted(map(str, self.kept)),
            }
            output.show(output.as_json(facts))
            return
        ending = "nothing to do"
        if self.changes and not self.apply:
            ending = f"{output.count(self.changes, 'change')} to do, --apply does them"
        elif self.changes:
            some = "" if self.done == self.changes else f"{self.done} of "
            ending = f"{some}{output.count(self.changes, 'change')} done"
        elif self.refused:
            ending = "nothing done" if self.apply else "nothing planned"
        read = f"{output.count(self.scanned, 'log')} read"
        if not self.apply and self.scanned < self.logs:
            read = f"{self.scanned} of {output.count(self.logs, 'log')} read (--from-start reads all)"
        output.show(f"{output.count(self.plans, 'topic-partition')}, {read}: {ending}")
        if self.good_batches:
            output.show(_good(self.good_batches, self.good_records))
        for folder in sorted(self.kept):
            output.show(f"what was truncated is in {folder}")


def _good(batches: int, records: int) -> str:
    found = output.count(batches, "good batch", "good batches")
    verb = "follows" if batches == 1 else "follow"
    return f"{found} with {output.count(records, 'record')} {verb} the cut, and `kodec salvage` keeps them"


def _line(step: Step) -> str:
    if isinstance(step, Quarantine):
        return f"{step.path}: {output.count(step.size, 'byte')} moved to the quarantine folder: {step.reason}"
    if isinstance(step, Rename):
        return f"{step.path}: renamed to {step.target.name}"
    if isinstance(step, Truncate):
        cut = step.size - step.position
        return f"{step.path}: byte {step.position}: {output.count(cut, 'byte')} truncated: {step.reason}"
    if isinstance(step, LowerRecoveryPoint):
        return (
            f"{step.path}: {step.topic_partition}: lowered from {step.old} to {step.new}, the end of the log"
        )
    return f"{step.path}: rebuilt, {output.count(step.size, 'byte')}: {step.reason}"


def _camel(name: str) -> str:
    return name[0].lower() + name[1:]


def _facts(plan: RecoveryPlan, step: Step) -> dict[str, object]:
    facts: dict[str, object] = {
        "topic": plan.topic_partition.topic,
        "partition": plan.topic_partition.partition,
        "step": _camel(type(step).__name__),
        "file": str(step.path),
    }
    if isinstance(step, Quarantine):
        return facts | {"bytes": step.size, "reason": step.reason}
    if isinstance(step, Rename):
        return facts | {"to": str(step.target)}
    if isinstance(step, Truncate):
        return facts | {"byte": step.position, "bytes": step.size - step.position, "reason": step.reason}
    if isinstance(step, LowerRecoveryPoint):
        return facts | {"from": step.old, "to": step.new}
    return facts | {"bytes": step.size, "reason": step.reason}
