"""kodec reindex: rebuilds indexes and producer snapshots from logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from kodec.cli.outcome import errors_reported
from kodec.cli.parser import Exit, Option
from kodec.cli.plans import run_plans
from kodec.cli.progress import Step, progress
from kodec.cli.recovery_output import ShowRecovery, counted
from kodec.cli.selection import LOGS, TOPICS, logs_at
from kodec.log.files.paths import PartitionPath
from kodec.log.recovery.plan import RecoveryPlan
from kodec.log.recovery.planning import plan_reindex, unreadable_plan
from kodec.log.remote.resolve import LogDirectoryPath, SegmentPath, is_of_topics, require_topics, resolve

__all__ = ["reindex"]


def reindex(
    paths: Annotated[list[Path], LOGS],
    topic: Annotated[list[str] | None, TOPICS] = None,
    apply: Annotated[bool, Option("--apply", help="Apply the changes [default: dry run].")] = False,
    json: Annotated[bool, Option("--json", help="One JSON object for each change.")] = False,
    index_interval_bytes: Annotated[int, Option(help="The topic's index.interval.bytes.", min=0)] = 4096,
) -> None:
    """Rebuild indexes and producer snapshots from logs, which are not changed; a dry run without --apply.

    example:  kodec reindex /data/kafka-logs/orders-0

    exit:     0 nothing to do, or done   1 refused, or cannot be read   2 bad usage
              3 changes found; run again with --apply
    """
    show = ShowRecovery()

    def plans() -> Iterator[RecoveryPlan]:
        for path in paths:
            with progress(path.name, logs_at(path, topic)[1]) as step:
                yield from counted(_plans(path, topic or None, index_interval_bytes, step), step)

    with errors_reported():
        require_topics(topic or None, *paths)
        show.outcome.note_listing(paths, topic or (), handled=lambda _: True)
        raise Exit(run_plans(plans(), apply=apply, json=json, show=show))


def _plans(
    path: Path, topics: Sequence[str] | None, index_interval_bytes: int, step: Step
) -> Iterator[RecoveryPlan]:
    """The plan of a segment's or topic-partition's folder, or those of a log directory."""
    what = resolve(path)
    if not isinstance(what, LogDirectoryPath) and not is_of_topics(what, topics):
        return
    if isinstance(what, SegmentPath):
        folders, only = [path.parent], [what.base_offset]
    elif isinstance(what, PartitionPath):
        folders, only = [path], None
    else:
        selected = [
            replica for replica in what.replicas if topics is None or replica.topic_partition.topic in topics
        ]
        folders, only = [replica.path for replica in selected], None
    for folder in folders:
        try:
            plan = plan_reindex(
                folder, segments=only, index_interval_bytes=index_interval_bytes, progress=step
            )
        except OSError as error:
            plan = unreadable_plan(folder, error)
        yield plan
