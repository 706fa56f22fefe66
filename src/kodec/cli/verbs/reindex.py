"""kodec reindex: rebuilds indexes and producer snapshots from logs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from kodec.cli.outcome import Outcome, errors_reported
from kodec.cli.parser import Exit, Option
from kodec.cli.progress import Step, progress
from kodec.cli.recovery_output import Shown
from kodec.cli.selection import LOGS, logs_at
from kodec.log.files.paths import PartitionPath
from kodec.log.files.resolve import SegmentPath, resolve
from kodec.log.recovery.plan import RecoveryPlan
from kodec.log.recovery.planning import plan_reindex, unreadable_plan

__all__ = ["reindex"]


def reindex(
    paths: Annotated[list[Path], LOGS],
    apply: Annotated[bool, Option("--apply", help="Do it; without this, a dry run.")] = False,
    json: Annotated[bool, Option("--json", help="One JSON object for each change.")] = False,
    index_interval_bytes: Annotated[int, Option(help="The topic's index.interval.bytes.", min=0)] = 4096,
) -> None:
    """Rebuild indexes and producer snapshots from logs, which are not changed; a dry run without --apply.

    example:  kodec reindex /data/kafka-logs/orders-0

    exit:     0 nothing to do, or done   1 refused, or cannot be read   2 bad usage   3 shown, --apply does it
    """
    outcome, shown = Outcome(), Shown(json, apply)
    with errors_reported():
        for path in paths:
            with progress(path.name, logs_at(path)[1]) as step:
                shown.all(_plans(path, index_interval_bytes, step), outcome, step)
    shown.end()
    raise Exit(outcome.code)


def _plans(path: Path, index_interval_bytes: int, step: Step) -> Iterator[RecoveryPlan]:
    """The plan of a segment's or topic-partition's folder, or those of a log directory."""
    what = resolve(path)
    if isinstance(what, SegmentPath):
        folders, only = [path.parent], [what.base_offset]
    elif isinstance(what, PartitionPath):
        folders, only = [path], None
    else:
        folders, only = [replica.path for replica in what.replicas], None
    for folder in folders:
        try:
            plan = plan_reindex(
                folder, segments=only, index_interval_bytes=index_interval_bytes, progress=step
            )
        except OSError as error:
            plan = unreadable_plan(folder, error)
        yield plan
