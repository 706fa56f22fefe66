"""kodec redact: erases chosen records from closed segments and reports remaining copies."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.outcome import LogShow, errors_reported
from kodec.cli.parser import BadParameter, Exit, Option
from kodec.cli.plans import Shown, run_plans
from kodec.cli.progress import progress
from kodec.cli.selection import DIRECTORIES, PARTITION, TOPICS, size_of_logs
from kodec.cli.wanted import (
    FRAMING,
    HEADER,
    KEY,
    KEY_FORMAT,
    OFFSET,
    PRODUCER,
    REGISTRY,
    SINCE,
    TRANSACTIONAL_ID,
    UNTIL,
    VALUE_CONTAINS,
    VALUE_FORMAT,
    WHERE,
    Format,
    FramingChoice,
    chosen_logs,
    of_transactional_id,
    record_filter,
    value_decoder,
    where_condition,
)
from kodec.log.cleaning.redaction import METADATA, RedactionPlan, RedactionReport, plan_redaction
from kodec.log.cleaning.remains import Holder, Place
from kodec.log.directories.record_filter import RecordFilter
from kodec.log.files.listing import parse_folder_name
from kodec.log.omissions import Cause
from kodec.log.values.conditions import Condition
from kodec.log.values.formats import ValueFormat

__all__ = ["redact"]


def redact(
    paths: Annotated[list[Path], DIRECTORIES],
    topic: Annotated[list[str] | None, TOPICS] = None,
    partition: Annotated[list[int] | None, PARTITION] = None,
    key: Annotated[list[str] | None, KEY] = None,
    value_contains: Annotated[str | None, VALUE_CONTAINS] = None,
    header: Annotated[list[str] | None, HEADER] = None,
    where: Annotated[str | None, WHERE] = None,
    offset: Annotated[str | None, OFFSET] = None,
    since: Annotated[str | None, SINCE] = None,
    until: Annotated[str | None, UNTIL] = None,
    producer: Annotated[list[int] | None, PRODUCER] = None,
    transactional_id: Annotated[str | None, TRANSACTIONAL_ID] = None,
    key_format: Annotated[Format, KEY_FORMAT] = Format.auto,
    value_format: Annotated[Format, VALUE_FORMAT] = Format.auto,
    registry: Annotated[str | None, REGISTRY] = None,
    framing: Annotated[FramingChoice, FRAMING] = FramingChoice.auto,
    roll: Annotated[
        bool, Option("--roll", help="Roll the active segment first if it holds one: it is redacted too.")
    ] = False,
    over_gaps: Annotated[
        bool, Option("--over-gaps", help="Also where offsets have been lost; they stay recorded as lost.")
    ] = False,
    apply: Annotated[bool, Option("--apply", help="Apply the changes [default: dry run].")] = False,
    json: Annotated[bool, Option("--json", help="One JSON object for each topic-partition.")] = False,
) -> None:
    """Erase chosen records, in all segments but the active one; no broker may run.

    Records are chosen as in `kodec find`; all given conditions must hold. Offsets, timestamps, producers,
    transactions and epochs of all other records are kept, indexes are rebuilt. Afterwards all files of the
    topic-partition are searched, including compressed batches, old copies, deleted replicas and the
    quarantine of `kodec recover`; files that still hold a match, or cannot be searched, are reported. With
    --roll the active segment is redacted too. Without --apply it is a dry run: nothing is written.

    example:  kodec redact /data/kafka-logs --topic orders --key customer-17

    exit:     0 nothing to do, or done   1 refused, cannot be read, or a match remains or would
              2 bad usage   3 changes found; run again with --apply
    """
    formats: tuple[ValueFormat, ValueFormat] = (key_format.value, value_format.value)
    query = record_filter(offset, since, until, key, value_contains, header or [], *formats)
    if producer:
        query = dataclasses.replace(query, producer_ids=frozenset(producer))
    show = _Show()
    with errors_reported():
        decoder = value_decoder(registry, framing.value, None, paths, formats) if where else None
        test = where_condition(where, formats, decoder)
        query, show.where = dataclasses.replace(query, where=test), test
        logs = chosen_logs(paths, topic or [], partition or [])
        searched = {log.topic_partition for log in logs}
        show.outcome.note_listing(paths, handled=lambda name: name.topic_partition in searched)
        for omission in list(show.outcome.omissions):
            name = parse_folder_name(omission.path.name)
            if name is not None and (not topic or name.topic_partition.topic in topic):
                show.outcome.omissions.lose(
                    omission.path, "not searched: there is no live replica beside it", Cause.UNKNOWN
                )
        if transactional_id is not None:
            ids = of_transactional_id(paths, transactional_id)
            query = dataclasses.replace(query, producer_ids=ids & (query.producer_ids or ids))
        if query == RecordFilter():
            raise BadParameter("choose records: --key, --where, --offset or another condition")
        # A named log of the metadata quorum is refused; no topic's records are in there.
        others = [log for log in logs if log.topic_partition.topic != METADATA]
        folders = [log.path for log in others or logs]
        with progress("redact", (1 + apply) * sum(map(size_of_logs, folders))) as step:
            plan = partial(plan_redaction, wanted=query, roll=roll, over_gaps=over_gaps, progress=step)
            code = run_plans(show.plans(folders, plan), apply=apply, json=json, show=show)
    if not (code or show.changed or json):
        output.say("kodec: no record matches")
    raise Exit(code)


class _Show(LogShow[RedactionPlan, RedactionReport]):
    where: Condition | None = None
    changed = 0

    def report(self, plan: RedactionPlan, report: RedactionReport) -> Iterable[Shown]:
        for holder in report.left:
            if holder.problem:
                self.outcome.omissions.lose(holder.path, holder.problem)
        self.changed += report.has_changes
        self.outcome.failed += bool(report.left)
        return super().report(plan, report)

    def end(self, apply: bool) -> Iterable[Shown]:
        if self.where is not None:
            self.outcome.omissions.extend(self.where.omissions)
        return ()

    def facts(self, plan: RedactionPlan, report: RedactionReport) -> dict[str, object]:
        return output.named(report.topic_partition, report.path, report.applied) | {
            **output.facts(
                report,
                "records",
                "segments",
                "rewritten",
                "emptied",
                "removed",
                "bytes_before",
                "bytes_after",
                "rolls",
                "finishes",
            ),
            "deletedFiles": [str(path) for path in report.deleted_files],
            "holders": [
                {
                    "path": str(holder.path),
                    "place": holder.place.name.lower(),
                    "records": holder.records,
                    "batches": holder.batches,
                    "otherBatches": holder.others,
                    "problem": holder.problem or None,
                }
                for holder in report.holders
            ],
        }

    def text(self, plan: RedactionPlan, report: RedactionReport) -> list[str]:
        if not (report.has_changes or report.left):
            return []
        name, records = report.topic_partition, output.count(report.records, "record")
        lines = []
        if report.has_changes:
            goes = f"{records} of {output.count(report.segments, 'segment')} {_verb(report)}"
            if report.applied:
                goes += (
                    f": {report.rewritten} batches rewritten, {report.emptied} emptied, {report.removed} gone"
                )
            lines.append(f"{name}: {goes}: {output.ending(report.applied)}")
        for holder in report.holders:
            if holder.place is Place.CLOSED and not report.applied and holder.records:
                lines.append(f"{name}: {holder.path.name}: {output.count(holder.records, 'record')}")
        be, what = ("was", "deleted") if report.applied else ("is", "would be deleted")
        if report.finishes:
            lines.append(f"{name}: an interrupted replacement of segments {be} completed")
        if report.rolls:
            lines.append(f"{name}: the active segment {be} rolled first")
        lines += [f"{name}: {path.name} {what}: it is not part of the log" for path in report.deleted_files]
        lines += [f"{name}: {_remainder(holder)}" for holder in report.left]
        if (
            any(holder.place is Place.ACTIVE and holder.records for holder in report.left)
            and not report.rolls
        ):
            lines.append(f"{name}: --roll rolls the active segment first, and erases it there too")
        if report.applied and not report.left:
            lines.append(f"{name}: checked: none of its files holds a matching record")
        if others := sum(holder.others for holder in report.holders):
            batches = output.count(others, "batch", "batches")
            lines.append(f"{name}: the bytes also occur in {batches} of other records, which stay")
        return lines


def _verb(report: RedactionReport) -> str:
    goes = "goes" if report.records == 1 else "go"
    return "erased" if report.applied else goes


def _remainder(holder: Holder) -> str:
    records = output.count(holder.records, "record")
    holds = f"holds {records}" if holder.records else "may hold some"
    because = f": {holder.problem}" if holder.problem else ""
    return f"{holder.path} still {holds} ({holder.place.value}){because}"
