"""kodec find: finds records by offset, time, key, value, header or producer in any topic-partitions."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.compressions import GUARD_FORMULAS
from kodec.cli.outcome import FAILED, Outcome, errors_reported
from kodec.cli.parser import BadParameter, Exit, Option
from kodec.cli.records import Show, as_csv, as_json_lines, as_text, by_template
from kodec.cli.selection import ISOLATION, PARTITION, READ_DIRECTORIES, TOPICS, IsolationChoice
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
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.record_filter import RecordFilter
from kodec.log.directories.search import count_records, find_records
from kodec.log.directories.search_report import SearchReport
from kodec.log.files.listing import TopicPartition
from kodec.log.omissions import Cause
from kodec.log.values.decoder import ValueDecoder
from kodec.log.values.formats import ValueFormat
from kodec.runtime.dataclass import fields, replace

__all__ = ["find"]

_POLL = 0.5


def find(
    paths: Annotated[list[Path], READ_DIRECTORIES],
    topic: Annotated[list[str] | None, TOPICS] = None,
    partition: Annotated[list[int] | None, PARTITION] = None,
    last: Annotated[
        int | None, Option("--last", help="The newest N records of all logs, by timestamp.", min=1)
    ] = None,
    first: Annotated[
        int | None, Option("--first", help="The oldest N records of all logs, by timestamp.", min=1)
    ] = None,
    offset: Annotated[str | None, OFFSET] = None,
    since: Annotated[str | None, SINCE] = None,
    until: Annotated[str | None, UNTIL] = None,
    key: Annotated[list[str] | None, KEY] = None,
    value_contains: Annotated[str | None, VALUE_CONTAINS] = None,
    header: Annotated[list[str] | None, HEADER] = None,
    where: Annotated[str | None, WHERE] = None,
    producer: Annotated[list[int] | None, PRODUCER] = None,
    transactional_id: Annotated[str | None, TRANSACTIONAL_ID] = None,
    isolation: Annotated[IsolationChoice, ISOLATION] = IsolationChoice.read_uncommitted,
    control: Annotated[bool, Option("--control", help="Also print control records.")] = False,
    count: Annotated[bool, Option("--count", help="Print only the number of records.")] = False,
    follow: Annotated[bool, Option("--follow", help="Then wait for new records.")] = False,
    key_format: Annotated[Format, KEY_FORMAT] = Format.auto,
    value_format: Annotated[Format, VALUE_FORMAT] = Format.auto,
    registry: Annotated[str | None, REGISTRY] = None,
    framing: Annotated[FramingChoice, FRAMING] = FramingChoice.auto,
    reader_schema: Annotated[
        Path | None,
        Option(
            "--reader-schema", exists=True, help="Convert values to this schema, an .avsc or .proto file."
        ),
    ] = None,
    json: Annotated[bool, Option("--json", help="One JSON object for each record.")] = False,
    csv: Annotated[bool, Option("--csv", help="Rows of CSV.")] = False,
    guard_formulas: Annotated[bool, GUARD_FORMULAS] = False,
    template: Annotated[
        str | None,
        Option(
            "--template",
            metavar="TEXT",
            help=r"As in kcat and rpk: %t topic, %p partition, %o offset, %T time, %k key, %v value, "
            r"%h headers; %v{hex}; \n.",
        ),
    ] = None,
    null: Annotated[
        str | None,
        Option("--null", metavar="TEXT", help="What --template prints for null.  [default: null]"),
    ] = None,
    stats: Annotated[bool, Option("--stats", help="Report on stderr what was read and skipped.")] = False,
    threads: Annotated[
        int | None, Option("--threads", help="Logs read at the same time; by default one per core.", min=1)
    ] = None,
) -> None:
    """Find records in one topic-partition, in topics, or in all logs, and print them.

    Without --first or --last, records are printed log by log, by offset. Indexes, headers and bytes rule out
    batches that cannot match; ruled-out batches are not read. Times are in UTC. In format auto, messages
    of Kafka's own topics are decoded with names, values with a known schema are decoded, JSON is JSON, UTF-8
    is text, and other bytes are base64; with --json each part includes its format.

    --count takes its number from headers where all records of a batch match, does not read these, and reports
    that. It prints a number only if nothing is left out.

    example:  kodec find /data/kafka-logs --topic orders --last 10

    exit:     0 found   1 nothing found, or something is damaged, missing or cannot be read   2 bad usage
    """
    if (first is not None) + (last is not None) + count > 1:
        raise BadParameter("--first, --last and --count exclude each other")
    if json + csv + (template is not None) > 1:
        raise BadParameter("--json, --csv and --template exclude each other")
    if null is not None and template is None:
        raise BadParameter("--null needs --template")
    if guard_formulas and not csv:
        raise BadParameter("--guard-formulas needs --csv")
    if follow and (first is not None or count or until is not None):
        raise BadParameter("--follow excludes --first, --count and --until")
    formats: tuple[ValueFormat, ValueFormat] = (key_format.value, value_format.value)
    query = record_filter(offset, since, until, key, value_contains, header or [], *formats)
    query = replace(query, control=control, isolation=isolation.value)
    if producer:
        query = replace(query, producer_ids=frozenset(producer))
    outcome, report = Outcome(), SearchReport()
    with errors_reported():
        decoder = value_decoder(registry, framing.value, reader_schema, paths, formats)
        test = where_condition(where, formats, decoder)
        query = replace(query, where=test)
        topics, partitions = topic or [], partition or []
        logs = chosen_logs(paths, topics, partitions, outcome.omissions)
        outcome.note_listing(paths, topics)
        if transactional_id is not None:
            ids = of_transactional_id(paths, transactional_id)
            ids &= query.producer_ids or ids
            query = replace(query, producer_ids=ids)

        def failed(log: PartitionLog, error: Exception) -> None:
            with outcome.each(log.path):
                raise error

        lost = outcome.omissions
        if count:
            number = count_records(logs, query, threads=threads, report=report, omissions=lost, failed=failed)
            if test is not None:
                outcome.omissions.extend(test.omissions)
            if outcome.code:
                outcome.report()
                output.warn(f"kodec: at least {output.count(number, 'record')}")
            else:
                print(number)
            if report.batches_counted:
                counted = output.count(report.batches_counted, "batch", "batches")
                output.say(f"kodec: counted by the headers of {counted}, whose records were not read")
        else:
            show = _printer(json, csv, template, *formats, decoder, guard_formulas, null)
            ends: dict[TopicPartition, int] = {}
            records = find_records(
                logs,
                query,
                first=first,
                last=last,
                threads=threads,
                report=report,
                omissions=lost,
                failed=failed,
            )
            for log in logs if follow else ():
                with outcome.each(log.path):
                    ends[log.topic_partition] = _decided(log, query)
            for record in records:
                show(record)
                owner = TopicPartition(record.topic or "", record.partition or 0)
                ends[owner] = max(ends.get(owner, 0), record.offset + 1)
            if follow:
                sys.stdout.flush()
                outcome.report()
                now = partial(chosen_logs, paths, topics, partitions, lost)
                _follow(now, query, ends, show, outcome)
            if test is not None:
                outcome.omissions.extend(test.omissions)
        if stats:
            facts = (
                f"{field.name.replace('_', ' ')} {getattr(report, field.name)}" for field in fields(report)
            )
            output.say(", ".join(facts))
    code = outcome.end(json=json)
    if not code and not report.found:
        output.warn("kodec: no record matches")
        raise Exit(FAILED)
    raise Exit(code)


def _printer(
    json: bool,
    csv: bool,
    template: str | None,
    key: ValueFormat,
    value: ValueFormat,
    decoder: ValueDecoder | None,
    guard_formulas: bool,
    null: str | None,
) -> Show:
    if template is not None:
        try:
            return by_template(template, key, value, decoder, "null" if null is None else null)
        except ValueError as error:
            raise BadParameter(f"--template: {error}") from None
    if csv:
        return as_csv(key, value, decoder, guard_formulas=guard_formulas)
    return (as_json_lines if json else as_text)(key, value, decoder)


def _decided(log: PartitionLog, query: RecordFilter) -> int:
    """The offsets up to which a search has seen every possible match."""
    return log.last_stable_offset if query.isolation == "read_committed" else log.end_offset


def _follow(
    logs: Callable[[], Sequence[PartitionLog]],
    query: RecordFilter,
    ends: dict[TopicPartition, int],
    show: Show,
    outcome: Outcome,
) -> None:
    """Print new records until interrupted; a new topic-partition from its start."""
    while True:
        time.sleep(_POLL)
        for log in logs():
            with outcome.each(log.path), log:
                owner = log.topic_partition
                begin, end = ends.get(owner, log.start_offset), _decided(log, query)
                if begin >= end or (query.last_offset is not None and begin > query.last_offset):
                    continue
                if begin < log.start_offset:
                    gone = f"offsets {begin} to {log.start_offset - 1} were deleted before they were read"
                    outcome.omissions.lose(log.path, gone, Cause.ABSENT)
                low = max(begin, log.start_offset, query.first_offset or 0)
                new_query = replace(query, offsets=(low, query.last_offset))
                for record in log.find_records(new_query, omissions=outcome.omissions):
                    if record.offset < end:
                        show(record)
                ends[owner] = end
        outcome.report()
        sys.stdout.flush()
