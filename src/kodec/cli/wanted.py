"""Record selection: the options of verbs that choose records, and the query that they form."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from kodec.cli import output
from kodec.cli.outcome import Missing
from kodec.cli.parser import BadParameter, Option
from kodec.cli.times import parse_time
from kodec.log.batches.records import Record
from kodec.log.directories.directory import LogDirectory
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.record_filter import RecordFilter
from kodec.log.files.paths import PartitionPath
from kodec.log.files.resolve import resolve
from kodec.log.values.conditions import Condition, condition, parsed_part
from kodec.log.values.decoder import TYPED, ValueDecoder
from kodec.log.values.formats import ValueFormat, bytes_of, decoded_part
from kodec.log.values.framing import Framing, Part
from kodec.log.values.plain import plain
from kodec.log.values.schemas import UnknownSchema
from kodec.log.values.sources import SCHEMAS_TOPIC, schema_source
from kodec.runtime.errors import ArgumentError

__all__ = [
    "FRAMING",
    "HEADER",
    "KEY",
    "KEY_FORMAT",
    "OFFSET",
    "PARTITION",
    "PRODUCER",
    "SCHEMAS",
    "SINCE",
    "TOPIC",
    "TRANSACTIONAL_ID",
    "UNTIL",
    "VALUE_CONTAINS",
    "VALUE_FORMAT",
    "WHERE",
    "Format",
    "FramingChoice",
    "chosen_logs",
    "of_transactional_id",
    "record_filter",
    "value_decoder",
    "where_condition",
]

TOPIC = Option("--topic", help="This topic; may be given several times.")
PARTITION = Option("--partition", help="This partition; may be given several times.", min=0)
OFFSET = Option("--offset", help="An offset, or a range: A..B, A.., ..B, both included.")
SINCE = Option(
    "--since", help="From this time on: ISO 8601 (UTC where it has no zone), -2h, or ms since 1970."
)
UNTIL = Option("--until", help="Before this time; written like --since.")
KEY = Option("--key", help="The whole key, in --key-format.")
VALUE_CONTAINS = Option("--value-contains", help="A part of the value, in --value-format.")
HEADER = Option("--header", help="A header, key=value; all given ones must be present.")
WHERE = Option("--where", help='A condition: value.amount > 100 and key == "a".')
PRODUCER = Option("--producer", help="By this producer id; may be given several times.")
TRANSACTIONAL_ID = Option("--transactional-id", help="By its producers in __transaction_state.")
KEY_FORMAT = Option("--key-format", help="How keys are shown and written in --key.")
VALUE_FORMAT = Option("--value-format", help="How values are shown and written in --value-contains.")
SCHEMAS = Option(
    "--schemas",
    help="Source of schemas: a registry's URL, a folder, or a topic here; default _schemas.",
)
FRAMING = Option("--framing", help="Whose serializers framed keys and values, or none.")


class Format(enum.Enum):
    """`ValueFormat` for the command line."""

    auto = "auto"
    text = "text"
    json = "json"
    hex = "hex"
    base64 = "base64"
    avro = "avro"
    protobuf = "protobuf"
    json_schema = "json-schema"


class FramingChoice(enum.Enum):
    """`Framing` for the command line."""

    auto = "auto"
    confluent = "confluent"
    apicurio = "apicurio"
    glue = "glue"
    none = "none"


def record_filter(
    offset: str | None,
    since: str | None,
    until: str | None,
    key: str | None,
    value_contains: str | None,
    headers: Sequence[str],
    key_format: ValueFormat,
    value_format: ValueFormat,
) -> RecordFilter:
    """The query that the options form. Raises BadParameter."""
    if key is not None and key_format in TYPED:
        raise BadParameter(f"--key is not {key_format}: use --where, as in: key == {key!r}")
    low, high = _offsets(offset)
    pairs = []
    for each in headers:
        name, equals, text = each.partition("=")
        if not equals:
            raise BadParameter(f"--header {each}: expected key=value")
        pairs.append((name, text.encode("utf-8", "surrogateescape")))
    begin, end = _time("--since", since), _time("--until", until)
    if begin is not None and end is not None and end <= begin:
        raise BadParameter(f"--until {until}: not after --since {since}")
    try:
        return RecordFilter(
            first_offset=low,
            last_offset=high,
            since=begin,
            until=end,
            key=None if key is None else bytes_of(key, key_format),
            value_contains=None if value_contains is None else bytes_of(value_contains, value_format),
            headers=tuple(pairs),
        )
    except ArgumentError as error:
        raise BadParameter(str(error)) from None


def value_decoder(
    where: str | None,
    framing: Framing,
    reader_schema: Path | None,
    paths: Sequence[Path],
    formats: tuple[ValueFormat, ValueFormat],
) -> ValueDecoder | None:
    """The decoder of keys and values; None if nothing is to be decoded. Raises Missing; as ValueDecoder."""
    if not {"auto", *TYPED} & {*formats}:
        return None
    try:
        source = schema_source(where, *paths)
    except UnknownSchema as error:
        raise Missing(str(error)) from None
    except ArgumentError as error:
        raise BadParameter(f"--schemas: {error}") from None
    for each in formats:
        if source is None and each in ("avro", "protobuf"):
            raise Missing(f"{each} needs schemas: no topic {SCHEMAS_TOPIC} here; give --schemas")
    if source is None and "json-schema" not in formats:
        return None
    return ValueDecoder(source, framing=framing, reader_schema=reader_schema)


def where_condition(
    where: str | None, formats: tuple[ValueFormat, ValueFormat], decoder: ValueDecoder | None
) -> Condition | None:
    """--where, which sees decoded values. Raises BadParameter."""
    of_part: dict[Part, ValueFormat] = dict(zip(("key", "value"), formats, strict=True))

    def decode(topic: str, record: Record, part: Part) -> object:
        found = decoded_part(topic, record, part, of_part[part], decoder)
        return parsed_part(topic, record, part) if found is None or found.reason else plain(found.value)

    try:
        return None if where is None else condition(where, decode)
    except ArgumentError as error:
        raise BadParameter(str(error)) from None


def _offsets(text: str | None) -> tuple[int | None, int | None]:
    if text is None:
        return None, None
    found = re.fullmatch(r"([0-9]{1,19})|([0-9]{0,19})\.\.([0-9]{0,19})", text)
    if found is None or text == "..":
        raise BadParameter(f"--offset {text}: expected an offset or a range: 100..200, 100.. or ..200")
    if found[1]:
        return int(found[1]), int(found[1])
    low, high = (int(each) if each else None for each in found.group(2, 3))
    if low is not None and high is not None and high < low:
        raise BadParameter(f"--offset {text}: {high} is below {low}")
    return low, high


def _time(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_time(text)
    except ValueError as error:
        raise BadParameter(f"{option}: {error}") from None


def chosen_logs(
    paths: Sequence[Path], topics: Sequence[str], partitions: Sequence[int]
) -> list[PartitionLog]:
    """The selected logs. Raises Missing; NotALog, OSError, ValueError."""
    roots = []
    logs: list[PartitionLog] = []
    for path in paths:
        if isinstance(resolve(path), PartitionPath):
            logs.append(PartitionLog(path))
        else:
            roots.append(path)
    if roots:
        logs += LogDirectory(*roots)
    here = sorted({log.topic_partition.topic for log in logs})
    for topic in topics:
        if topic not in here:
            near = get_close_matches(topic, here, n=1)
            meant = f": did you mean {near[0]}?" if near else ""
            raise Missing(f"{', '.join(map(str, paths))} has no topic {topic}{meant}")
    for number in partitions:
        if not any(_is_of(log, topics, [number]) for log in logs):
            named = f" of {', '.join(topics)}" if topics else ""
            raise Missing(f"{', '.join(map(str, paths))} has no partition {number}{named}")
    return [log for log in logs if _is_of(log, topics, partitions)]


def _is_of(log: PartitionLog, topics: Sequence[str], partitions: Sequence[int]) -> bool:
    topic, partition = log.topic_partition
    return (not topics or topic in topics) and (not partitions or partition in partitions)


def of_transactional_id(paths: Sequence[Path], name: str) -> frozenset[int]:
    """The producer ids of a transactional id. Raises Missing."""
    # with all messages of Kafka's metadata
    from kodec.log.views.transactions import producers_of

    roots = [at.root if isinstance(at := resolve(path), PartitionPath) else path for path in paths]
    found = producers_of(*dict.fromkeys(roots), transactional_id=name)
    if not found:
        raise Missing(f"__transaction_state has no producer of {name}")
    output.say(f"kodec: {name} is producer {', '.join(map(str, sorted(found)))}")
    return found
