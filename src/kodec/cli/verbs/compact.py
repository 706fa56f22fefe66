"""kodec compact: keeps the last value of each key."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.outcome import LogShow, errors_reported
from kodec.cli.parser import Exit, Option
from kodec.cli.plans import run_plans
from kodec.cli.progress import progress
from kodec.cli.selection import PARTITIONS, TOPICS, folders, size_of_logs
from kodec.log.cleaning.compaction import CompactionPlan, CompactionReport, plan_compaction

__all__ = ["compact"]


def compact(
    paths: Annotated[list[Path], PARTITIONS],
    topic: Annotated[list[str] | None, TOPICS] = None,
    delete_retention_ms: Annotated[
        int, Option(help="How long tombstones stay (delete.retention.ms).", min=0)
    ] = 86_400_000,
    min_compaction_lag_ms: Annotated[
        int, Option(help="Leave segments with younger records (min.compaction.lag.ms).", min=0)
    ] = 0,
    segment_bytes: Annotated[int, Option(help="Merge segments up to this size (segment.bytes).", min=1)] = 1
    << 30,
    buffer_bytes: Annotated[int, Option(help="Memory for the keys, 24 bytes for each.", min=256)] = 128 << 20,
    from_start: Annotated[
        bool, Option("--from-start", help="Compact again what is already compacted.")
    ] = False,
    keep_format: Annotated[
        bool,
        Option("--keep-format", help="Leave messages v0 and v1 in their format, as Kafka did before 4.0."),
    ] = False,
    over_gaps: Annotated[
        bool, Option("--over-gaps", help="Also where offsets have been lost; they stay recorded as lost.")
    ] = False,
    apply: Annotated[bool, Option("--apply", help="Apply the changes [default: dry run].")] = False,
    json: Annotated[bool, Option("--json", help="One JSON object for each topic-partition.")] = False,
) -> None:
    """Keep the last value of each key, as a broker's log cleaner does; no broker may run.

    Records without a key are removed. The last segment stays as it is. A log that has lost offsets is
    refused. Without --apply it is a dry run: nothing is written.

    example:  kodec compact /data/kafka-logs --topic compacted --from-start

    exit:     0 nothing to do, or done   1 refused, cannot be read, or offsets are lost   2 bad usage
              3 changes found; run again with --apply
    """
    show = _Show()
    with errors_reported():
        selected = folders(paths, topic or [])
        show.outcome.note_listing(paths)
        with progress("compact", 2 * sum(map(size_of_logs, selected))) as step:
            plan = partial(
                plan_compaction,
                delete_retention_ms=delete_retention_ms,
                min_compaction_lag_ms=min_compaction_lag_ms,
                segment_bytes=segment_bytes,
                buffer_bytes=buffer_bytes,
                from_start=from_start,
                keep_format=keep_format,
                over_gaps=over_gaps,
                progress=step,
            )
            raise Exit(run_plans(show.plans(selected, plan), apply=apply, json=json, show=show))


class _Show(LogShow[CompactionPlan, CompactionReport]):
    def facts(self, plan: CompactionPlan, report: CompactionReport) -> dict[str, object]:
        counts = {output.camel(name): value for name, value in dataclasses.asdict(report.counts).items()}
        return output.named(report.topic_partition, report.path, report.applied) | {
            **output.facts(
                report,
                "first_dirty_offset",
                "first_uncleanable_offset",
                "end_offset",
                "complete",
                "rounds",
                "keys",
                "segments_before",
                "segments_after",
                "bytes_before",
                "bytes_after",
            ),
            "counts": counts,
        }

    def text(self, plan: CompactionPlan, report: CompactionReport) -> list[str]:
        name, counts = report.topic_partition, report.counts
        if not report.rounds:
            return [f"{name}: nothing to compact: all below {report.first_uncleanable_offset} is compacted"]
        removed = [
            f"{number} {what}"
            for number, what in (
                (counts.superseded, "superseded"),
                (counts.tombstones, "tombstones"),
                (counts.aborted, "aborted"),
                (counts.without_key, "without a key"),
                (counts.markers, "transaction markers"),
            )
            if number
        ]
        before, after = output.size_of(report.bytes_before), output.size_of(report.bytes_after)
        lines = [
            f"{name}: keys from {report.first_dirty_offset} to {report.end_offset}, {report.keys} of them, "
            f"{report.rounds} pass{'es' * (report.rounds != 1)} through the log",
            f"{name}: {counts.records_removed} records removed"
            + (f": {', '.join(removed)}" if removed else ""),
            f"{name}: batches: {counts.copied} kept, {counts.rewritten} rewritten, {counts.emptied} emptied, "
            f"{counts.removed} removed; {counts.horizons} get a delete horizon",
            f"{name}: {report.segments_before} segments become {report.segments_after}, "
            f"{before} become {after}: {output.ending(report.applied)}",
        ]
        if not report.complete:
            lines.append(
                f"{name}: the keys do not fit --buffer-bytes: this is the first pass through the log, up to "
                f"{report.end_offset} of {report.first_uncleanable_offset}"
            )
        return lines
