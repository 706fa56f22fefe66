"""What `kodec recover` and `kodec reindex` do: plan, show, and with --apply carry out."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from kodec.cli import output
from kodec.cli.inspecting import progress
from kodec.log.directories.directory import LogRoot
from kodec.log.directories.verify import verify_root
from kodec.log.files.listing import list_partition, parse_folder_name, parse_segment_name
from kodec.log.files.paths import resolved
from kodec.log.recovery.plan import RecoveryPlan
from kodec.log.recovery.planning import plan_recovery, plan_reindex, plan_root
from kodec.log.recovery.steps import LowerRecoveryPoint, Quarantine, Rename, Step, Truncate

__all__ = ["recover_paths", "reindex_paths"]


def _is_partition(path: Path) -> bool:
    """Whether a folder is a topic-partition's, by its name, and holds none."""
    return parse_folder_name(resolved(path).name) is not None and not LogRoot(path).replicas


def _size(folder: Path) -> int:
    return sum(segment.size for segment in list_partition(folder).segments)


def recover_paths(
    paths: list[Path],
    *,
    apply: bool,
    json: bool,
    quarantine: Path | None,
    from_start: bool,
    index_interval_bytes: int,
) -> int:
    """Plan for each folder, print, apply; 1 where something is left to do or was refused, else 0."""
    shown = _Shown(json, apply, quarantine)
    for path in paths:
        partition = _is_partition(path)
        folders = [path] if partition else [replica.path for replica in LogRoot(path).replicas]
        with progress(path.name, sum(map(_size, folders)), beside_output=True) as step:
            if partition:
                plans: Iterable[RecoveryPlan] = [
                    plan_recovery(
                        path,
                        from_start=from_start,
                        index_interval_bytes=index_interval_bytes,
                        progress=step,
                    )
                ]
            else:
                for problem in verify_root(LogRoot(path)):
                    output.warn(f"{problem}: it says nothing then")
                plans = plan_root(
                    path, from_start=from_start, index_interval_bytes=index_interval_bytes, progress=step
                )
            shown.all(plans, step)
    return shown.end()


def reindex_paths(paths: list[Path], *, apply: bool, json: bool, index_interval_bytes: int) -> int:
    """Plan the indexes of folders or segments, print, apply; 1 where something is left to do, else 0."""
    shown = _Shown(json, apply, None)
    for path in paths:
        folders, only = [path], None
        if path.is_file():
            base_offset = parse_segment_name(path.name)
            assert base_offset is not None
            folders, only = [path.parent], [base_offset]
        elif not _is_partition(path):
            folders = [replica.path for replica in LogRoot(path).replicas]
        with progress(path.name, sum(map(_size, folders)), beside_output=True) as step:
            shown.all(_reindexed(folders, only, index_interval_bytes, step), step)
    return shown.end()


def _reindexed(
    folders: list[Path], only: list[int] | None, interval: int, step: Callable[[int], None]
) -> Iterator[RecoveryPlan]:
    for folder in folders:
        yield plan_reindex(folder, segments=only, index_interval_bytes=interval, progress=step)


class _Shown:
    """Prints plans, applies them if asked to, and counts."""

    def __init__(self, as_json: bool, apply: bool, quarantine: Path | None) -> None:
        self.as_json = as_json
        self.apply = apply
        self.quarantine = quarantine
        self.plans = self.changes = self.refused = self.cut = self.scanned = self.bytes = 0
        self.kept: set[Path] = set()
        # What the reader passes over it also logs; here each has its line already.
        logging.getLogger("kodec").addHandler(logging.NullHandler())

    def all(self, plans: Iterable[RecoveryPlan], step: Callable[[int], None]) -> None:
        for plan in plans:
            self.plans += 1
            self.scanned += len(plan.scanned)
            self.bytes += plan.bytes_scanned
            step(max(_size(plan.path) - plan.bytes_scanned, 0))
            if plan.refused:
                self.refused += 1
                output.warn(f"{plan.path}: nothing is done: {plan.refused}")
                continue
            self.changes += len(plan.steps)
            self.cut += plan.truncated_bytes
            for each in plan.steps:
                print(json.dumps(_facts(plan, each)) if self.as_json else _line(each))
            if self.apply:
                self.kept.update(path.parent for path in plan.apply(self.quarantine))

    def end(self) -> int:
        left = 0 if self.apply else self.changes
        if self.as_json:
            facts = {
                "partitions": self.plans,
                "logsRead": self.scanned,
                "bytesRead": self.bytes,
                "changes": self.changes,
                "bytesTruncated": self.cut,
                "refused": self.refused,
                "applied": self.apply,
                "kept": sorted(map(str, self.kept)),
            }
            print(json.dumps(facts))
        else:
            done = "done" if self.apply else "to do, --apply does them"
            ending = f"{_count(self.changes, 'change')} {done}" if self.changes else "nothing to do"
            print(f"{_count(self.plans, 'topic-partition')}, {_count(self.scanned, 'log')} read: {ending}")
            for folder in sorted(self.kept):
                print(f"what was cut is in {folder}")
        return int(left > 0 or self.refused > 0)


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'s' * (number != 1)}"


def _line(step: Step) -> str:
    if isinstance(step, Quarantine):
        return f"{step.path}: {_count(step.size, 'byte')} moved aside: {step.reason}"
    if isinstance(step, Rename):
        return f"{step.path}: becomes {step.target.name}"
    if isinstance(step, Truncate):
        cut = step.size - step.position
        return f"{step.path}: byte {step.position}: {_count(cut, 'byte')} cut off: {step.reason}"
    if isinstance(step, LowerRecoveryPoint):
        return f"{step.path}: {step.topic_partition}: {step.old} becomes {step.new}, the end of the log"
    return f"{step.path}: {_count(len(step.data), 'byte')} written anew: {step.reason}"


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
    return facts | {"bytes": len(step.data), "reason": step.reason}
