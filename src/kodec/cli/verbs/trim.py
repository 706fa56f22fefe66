"""kodec trim: deletes the oldest segments by offset, size or time."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.outcome import LogShow, errors_reported
from kodec.cli.parser import BadParameter, Exit, Option
from kodec.cli.plans import run_plans
from kodec.cli.selection import PARTITIONS, TOPICS, folders
from kodec.log.cleaning.retention import DeletableSegment, TrimPlan, plan_trim
from kodec.runtime.plan import StepReport

__all__ = ["trim"]


def trim(
    paths: Annotated[list[Path], PARTITIONS],
    topic: Annotated[list[str] | None, TOPICS] = None,
    before_offset: Annotated[
        int | None, Option("--before-offset", help="Delete records below it, like DeleteRecords.", min=0)
    ] = None,
    retention_bytes: Annotated[
        int | None, Option("--retention-bytes", help="Keep this many bytes of log.", min=0)
    ] = None,
    retention_ms: Annotated[
        int | None, Option("--retention-ms", help="Keep segments that are not older, in ms.", min=0)
    ] = None,
    apply: Annotated[bool, Option("--apply", help="Apply the changes [default: dry run].")] = False,
    json: Annotated[bool, Option("--json", help="One JSON object for each topic-partition.")] = False,
) -> None:
    """Delete the oldest segments by offset, size or time, as a broker's retention does; no broker may run.

    Deletes whole segments, oldest first. Without --apply it is a dry run: nothing is written.

    example:  kodec trim /data/kafka-logs --topic orders --retention-ms 86400000

    exit:     0 nothing to do, or done   1 refused, or cannot be read   2 bad usage
              3 changes found; run again with --apply
    """
    if before_offset is None and retention_bytes is None and retention_ms is None:
        raise BadParameter("give --before-offset, --retention-bytes or --retention-ms")
    show = _Show()
    plan = partial(
        plan_trim, before_offset=before_offset, retention_bytes=retention_bytes, retention_ms=retention_ms
    )
    with errors_reported():
        selected = folders(paths, topic or [])
        show.outcome.note_listing(paths)
        raise Exit(run_plans(show.plans(selected, plan), apply=apply, json=json, show=show))


class _Show(LogShow[TrimPlan, StepReport[DeletableSegment]]):
    def facts(self, plan: TrimPlan, report: StepReport[DeletableSegment]) -> dict[str, object]:
        return output.named(plan.topic_partition, plan.path, report.applied) | {
            **output.facts(
                plan, "start_offset", "end_offset", "new_start_offset", "segments", "bytes", "bytes_deleted"
            ),
            "deleted": [
                {
                    **output.facts(segment, "base_offset", "end_offset", "bytes"),
                    "reason": segment.reason.name.lower(),
                }
                for segment in plan.deleted
            ],
            "newSegment": plan.new_segment,
        }

    def text(self, plan: TrimPlan, report: StepReport[DeletableSegment]) -> list[str]:
        name = plan.topic_partition
        lines = [
            f"{name}: segment {segment.base_offset}, "
            f"up to {segment.end_offset}, {output.size_of(segment.bytes)}: "
            f"{segment.reason.value}"
            for segment in plan.deleted
        ]
        if plan.new_segment is not None:
            lines.append(f"{name}: a new empty segment {plan.new_segment} keeps the end offset")
        if not plan.has_changes:
            return [f"{name}: nothing to delete"]
        part, whole = output.size_of(plan.bytes_deleted), output.size_of(plan.bytes)
        lines.append(
            f"{name}: {len(plan.deleted)} of {plan.segments} segments, {part} of {whole}, starts at "
            f"{plan.new_start_offset} instead of {plan.start_offset}: {output.ending(report.applied)}"
        )
        return lines
