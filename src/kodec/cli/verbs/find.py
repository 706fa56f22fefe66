"""kodec find: records by offset, time, key, value, header or producer, in any number of topic-partitions."""

from __future__ import annotations

import dataclasses
import enum
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from kodec.cli import output
from kodec.cli.outcome import Missing, Outcome, errors_reported
from kodec.cli.records import Show, as_csv, as_json_lines, as_text, by_template
from kodec.cli.selection import DIRECTORIES
from kodec.cli.times import parse_time
from kodec.cli.values import FRAMING, READER_SCHEMA, SCHEMAS, FormatChoice, FramingChoice
from kodec.log.batches.records import Record
from kodec.log.directories.directory import LogDirectory
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.record_filter import RecordFilter
from kodec.log.directories.search import SearchReport, find_records
from kodec.log.files.listing import TopicPartition
from kodec.log.files.paths import PartitionPath
from kodec.log.files.resolve import resolve
from kodec.log.values.conditions import Condition, condition, parsed_part
from kodec.log.values.decoder import TYPED, ValueDecoder
from kodec.log.values.formats import ValueFormat, bytes_of, decoded_part
from kodec.log.values.framing import Framing, Part
from kodec.log.values.plain import plain
from kodec.log.values.schemas import UnknownSchema
from kodec.log.values.sources import SCHEMAS_TOPIC, schema_source
from kodec.log.views.transactions import producers_of
from kodec.runtime.errors import ArgumentError, KodecError

__all__ = ["find"]

_POLL = 0.5
_SHAPES = "key=value"


class _Isolation(enum.Enum):
    """`Isolation` for typer."""

    read_uncommitted = "read_uncommitted"
    read_committed = "read_committed"


def find(
    paths: Annotated[list[Path], DIRECTORIES],
    topic: Annotated[
        list[str] | None, typer.Option("--topic", help="This topic; may be given several times.")
    ] = None,
    partition: Annotated[
        list[int] | None,
        typer.Option("--partition", help="This partition; may be given several times.", min=0),
    ] = None,
    last: Annotated[
        int | None, typer.Option("--last", help="The newest so many of all, by their timestamps.", min=1)
    ] = None,
    first: Annotated[
        int | None, typer.Option("--first", help="The oldest so many of all, by their timestamps.", min=1)
    ] = None,
    offset: Annotated[
        str | None, typer.Option("--offset", help="An offset, or a range: A..B, A.., ..B, both included.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", help="From then on: ISO 8601 (UTC where it has no zone), -2h, or ms since 1970."
        ),
    ] = None,
    until: Annotated[str | None, typer.Option("--until", help="Before then; given as --since.")] = None,
    key: Annotated[str | None, typer.Option("--key", help="The whole key, in --key-format.")] = None,
    value_contains: Annotated[
        str | None, typer.Option("--value-contains", help="A part of the value, in --value-format.")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", help="A header, key=value; all that are given must be there."),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option("--where", help='A condition, as in: value.amount > 100 and key == "a".'),
    ] = None,
    producer: Annotated[
        list[int] | None, typer.Option("--producer", help="Written by this producer id; several: by any.")
    ] = None,
    transactional_id: Annotated[
        str | None,
        typer.Option("--transactional-id", help="By the producers that __transaction_state has for it."),
    ] = None,
    isolation: Annotated[
        _Isolation, typer.Option("--isolation", help="read_committed: nothing aborted or undecided.")
    ] = _Isolation.read_uncommitted,
    control: Annotated[bool, typer.Option("--control", help="Control records too.")] = False,
    count: Annotated[bool, typer.Option("--count", help="Only how many there are.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Then wait for what is appended.")] = False,
    key_format: Annotated[
        FormatChoice, typer.Option("--key-format", help="How keys are shown, and given in --key.")
    ] = FormatChoice.auto,
    value_format: Annotated[
        FormatChoice,
        typer.Option("--value-format", help="How values are shown, and given in --value-contains."),
    ] = FormatChoice.auto,
    schemas: Annotated[str | None, SCHEMAS] = None,
    framing: Annotated[FramingChoice, FRAMING] = FramingChoice.auto,
    reader_schema: Annotated[Path | None, READER_SCHEMA] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object for each record.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Rows of CSV.")] = False,
    template: Annotated[
        str | None,
        typer.Option(
            "--format",
            help=r"As of kcat and rpk: %t topic, %p partition, %o offset, %T time, %k key, %v value, "
            r"%h headers; %v{hex}; \n.",
        ),
    ] = None,
    stats: Annotated[
        bool, typer.Option("--stats", help="Say on stderr what was read, and what was skipped.")
    ] = False,
    threads: Annotated[
        int | None, typer.Option("--threads", help="Logs read at once; one for each core by default.", min=1)
    ] = None,
) -> None:
    """Find records in one topic-partition, in topics, or in everything, and print them.

    Without --first or --last they come log by log, by offset. Indexes, headers of batches and their bytes
    exclude what cannot match; what a header excludes is not read. Times are in UTC. In format auto, messages
    of Kafka's own topics have names, values whose schema is known are decoded, JSON is JSON, UTF-8 is text,
    and other bytes are base64; with --json each part has its format beside it.

    example:  kodec find /data/kafka-logs --topic orders --last 10

    exit:     0 found   1 nothing found, or bad bytes   2 bad usage
    """
    if (first is not None) + (last is not None) + count > 1:
        raise typer.BadParameter("of --first, --last and --count only one")
    if json + csv + (template is not None) > 1:
        raise typer.BadParameter("of --json, --csv and --format only one")
    if follow and (first is not None or count or until is not None):
        raise typer.BadParameter("--follow goes with neither --first nor --count nor --until")
    formats: tuple[ValueFormat, ValueFormat] = (key_format.value, value_format.value)
    wanted = _filter(offset, since, until, key, value_contains, header or [], *formats)
    wanted = dataclasses.replace(wanted, control=control, isolation=isolation.value)
    if producer:
        wanted = dataclasses.replace(wanted, producer_ids=frozenset(producer))
    outcome, report = Outcome(), SearchReport()
    with errors_reported():
        decoder = _decoder(schemas, framing.value, reader_schema, paths, formats)
        wanted = dataclasses.replace(wanted, where=_condition(where, formats, decoder))
        topics, partitions = topic or [], partition or []
        logs = _logs(paths, topics, partitions)
        if transactional_id is not None:
            ids = _of_transactional_id(paths, transactional_id)
            ids &= wanted.producer_ids or ids
            wanted = dataclasses.replace(wanted, producer_ids=ids)
        if count:
            number = 0
            for log in logs:
                with outcome.each(log.path):
                    number += log.count_records(wanted, report=report)
            print(number)
        else:
            show = _printer(json, csv, template, *formats, decoder)

            def failed(log: PartitionLog, error: Exception) -> None:
                with outcome.each(log.path):
                    raise error

            ends = {log.topic_partition: log.start_offset for log in logs}
            found = find_records(
                logs, wanted, first=first, last=last, threads=threads, report=report, failed=failed
            )
            if follow:
                ends = {log.topic_partition: _decided(log, wanted) for log in logs}
            for here, record in found:
                show(here, record)
                ends[here] = max(ends[here], record.offset + 1)
            if follow:
                sys.stdout.flush()
                _follow(lambda: _logs(paths, topics, partitions), wanted, ends, show, failed)
        if stats:
            facts = dataclasses.asdict(report).items()
            output.say(", ".join(f"{name.replace('_', ' ')} {value}" for name, value in facts))
    if not outcome.failed and not report.found:
        output.warn("kodec: no record matches")
        raise typer.Exit(1)
    raise typer.Exit(outcome.code)


def _filter(
    offset: str | None,
    since: str | None,
    until: str | None,
    key: str | None,
    value_contains: str | None,
    headers: Sequence[str],
    key_format: ValueFormat,
    value_format: ValueFormat,
) -> RecordFilter:
    """What the options ask for. Raises BadParameter."""
    if key is not None and key_format in TYPED:
        raise typer.BadParameter(f"--key is no {key_format}: use --where, as in: key == {key!r}")
    low, high = _offsets(offset)
    pairs = []
    for each in headers:
        name, equals, text = each.partition("=")
        if not equals:
            raise typer.BadParameter(f"--header {each}: {_SHAPES} is needed")
        pairs.append((name, text.encode("utf-8", "surrogateescape")))
    try:
        return RecordFilter(
            first_offset=low,
            last_offset=high,
            since=_time("--since", since),
            until=_time("--until", until),
            key=None if key is None else bytes_of(key, key_format),
            value_contains=None if value_contains is None else bytes_of(value_contains, value_format),
            headers=tuple(pairs),
        )
    except ArgumentError as error:
        raise typer.BadParameter(str(error)) from None


def _decoder(
    where: str | None,
    framing: Framing,
    reader_schema: Path | None,
    paths: Sequence[Path],
    formats: tuple[ValueFormat, ValueFormat],
) -> ValueDecoder | None:
    """What decodes keys and values; None where nothing is to be decoded. Raises Missing; as ValueDecoder."""
    if not {"auto", *TYPED} & {*formats}:
        return None
    try:
        source = schema_source(where, *paths)
    except UnknownSchema as error:
        raise Missing(str(error)) from None
    except ArgumentError as error:
        raise typer.BadParameter(f"--schemas: {error}") from None
    for each in formats:
        if source is None and each in ("avro", "protobuf"):
            raise Missing(f"{each} needs schemas: there is no topic {SCHEMAS_TOPIC} here; give --schemas")
    if source is None and "json-schema" not in formats:
        return None
    return ValueDecoder(source, framing=framing, reader_schema=reader_schema)


def _condition(
    where: str | None, formats: tuple[ValueFormat, ValueFormat], decoder: ValueDecoder | None
) -> Condition | None:
    """--where, which sees what is decoded. Raises BadParameter."""
    of_part: dict[Part, ValueFormat] = dict(zip(("key", "value"), formats, strict=True))

    def decode(topic: str, record: Record, part: Part) -> object:
        found = decoded_part(topic, record, part, of_part[part], decoder)
        return parsed_part(topic, record, part) if found is None or found.reason else plain(found.value)

    try:
        return None if where is None else condition(where, decode)
    except ArgumentError as error:
        raise typer.BadParameter(str(error)) from None


def _offsets(text: str | None) -> tuple[int | None, int | None]:
    if text is None:
        return None, None
    found = re.fullmatch(r"([0-9]{1,19})|([0-9]{0,19})\.\.([0-9]{0,19})", text)
    if found is None or text == "..":
        raise typer.BadParameter(f"--offset {text}: an offset, or a range as 100..200, 100.. or ..200")
    if found[1]:
        return int(found[1]), int(found[1])
    low, high = (int(each) if each else None for each in found.group(2, 3))
    if low is not None and high is not None and high < low:
        raise typer.BadParameter(f"--offset {text}: {high} is below {low}")
    return low, high


def _time(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_time(text)
    except ValueError as error:
        raise typer.BadParameter(f"{option}: {error}") from None


def _logs(paths: Sequence[Path], topics: Sequence[str], partitions: Sequence[int]) -> list[PartitionLog]:
    """The logs that are asked for. Raises Missing; NotALog, OSError, ValueError."""
    roots = []
    logs: list[PartitionLog] = []
    for path in paths:
        if isinstance(resolve(path), PartitionPath):
            logs.append(PartitionLog(path))
        else:
            roots.append(path)
    if roots:
        logs += LogDirectory(*roots)
    for topic in topics:
        if not any(log.topic_partition.topic == topic for log in logs):
            raise Missing(f"{', '.join(map(str, paths))} has no topic {topic}")
    for number in partitions:
        if not any(_is_of(log, topics, [number]) for log in logs):
            named = f" of {', '.join(topics)}" if topics else ""
            raise Missing(f"{', '.join(map(str, paths))} has no partition {number}{named}")
    return [log for log in logs if _is_of(log, topics, partitions)]


def _is_of(log: PartitionLog, topics: Sequence[str], partitions: Sequence[int]) -> bool:
    topic, partition = log.topic_partition
    return (not topics or topic in topics) and (not partitions or partition in partitions)


def _of_transactional_id(paths: Sequence[Path], name: str) -> frozenset[int]:
    """The producer ids of a transactional id. Raises Missing."""
    roots = [at.root if isinstance(at := resolve(path), PartitionPath) else path for path in paths]
    found = producers_of(*dict.fromkeys(roots), transactional_id=name)
    if not found:
        raise Missing(f"__transaction_state has no producer of {name}")
    output.say(f"kodec: {name} is producer {', '.join(map(str, sorted(found)))}")
    return found


def _printer(
    json: bool,
    csv: bool,
    template: str | None,
    key: ValueFormat,
    value: ValueFormat,
    decoder: ValueDecoder | None,
) -> Show:
    if template is not None:
        try:
            return by_template(template, key, value, decoder)
        except ValueError as error:
            raise typer.BadParameter(f"--format: {error}") from None
    return (as_json_lines if json else as_csv if csv else as_text)(key, value, decoder)


def _decided(log: PartitionLog, wanted: RecordFilter) -> int:
    """Up to where a search has seen everything that it can give."""
    return log.last_stable_offset if wanted.isolation == "read_committed" else log.end_offset


def _follow(
    logs: Callable[[], Sequence[PartitionLog]],
    wanted: RecordFilter,
    ends: dict[TopicPartition, int],
    show: Show,
    failed: Callable[[PartitionLog, Exception], None],
) -> None:
    """Print what is appended, until it is interrupted; a new topic-partition from its start."""
    while True:
        time.sleep(_POLL)
        for log in logs():
            with log:
                here = log.topic_partition
                try:
                    begin, end = ends.get(here, log.start_offset), _decided(log, wanted)
                    if begin >= end or (wanted.last_offset is not None and begin > wanted.last_offset):
                        continue
                    low = max(begin, log.start_offset, wanted.first_offset or 0)
                    for record in log.find_records(dataclasses.replace(wanted, first_offset=low)):
                        if record.offset < end:
                            show(here, record)
                    ends[here] = end
                except (KodecError, OSError) as error:
                    failed(log, error)
        sys.stdout.flush()
