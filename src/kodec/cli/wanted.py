"""Record selection: the options of verbs that choose records, and the query that they form."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
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
from kodec.log.messages.decoding import has_messages
from kodec.log.messages.streams import FRAMES
from kodec.log.omissions import Omissions
from kodec.log.remote.resolve import resolve
from kodec.log.values.conditions import Condition, Undecoded, condition, parsed_part
from kodec.log.values.decoder import TYPED, ValueDecoder
from kodec.log.values.formats import ValueFormat, bytes_of, decoded_part, readable_record
from kodec.log.values.framing import Framing, Part, read_framing
from kodec.log.values.plain import exact_json, plain
from kodec.log.values.schemas import UnknownSchema
from kodec.log.values.sources import SCHEMAS_TOPIC, schema_source
from kodec.runtime.errors import ArgumentError, FormatError
from kodec.runtime.near import meant

__all__ = [
    "FRAMING",
    "HEADER",
    "KEY",
    "KEY_FORMAT",
    "OFFSET",
    "PRODUCER",
    "REGISTRY",
    "SINCE",
    "TRANSACTIONAL_ID",
    "UNTIL",
    "VALUE_CONTAINS",
    "VALUE_FORMAT",
    "WHERE",
    "Format",
    "FramingChoice",
    "chosen_logs",
    "of_transactional_id",
    "offset_bounds",
    "record_filter",
    "time_bounds",
    "value_decoder",
    "where_condition",
    "written_keys",
]

OFFSET = Option("--offset", help="An offset, or a range: A..B, A.., ..B, both included.")
SINCE = Option(
    "--since", help="From this time on: ISO 8601 (UTC where it has no zone), -2h, or ms since 1970."
)
UNTIL = Option("--until", help="Before this time; written like --since.")
KEY = Option("--key", help="The whole key, in --key-format; repeatable.")
VALUE_CONTAINS = Option("--value-contains", help="A part of the value, in --value-format.")
HEADER = Option("--header", help="A header, key=value; all given ones must be present.")
WHERE = Option("--where", help='A condition: value.amount > 100 and key == "a".')
PRODUCER = Option("--producer", help="Only by this producer id; repeatable.")
TRANSACTIONAL_ID = Option("--transactional-id", help="By its producers in __transaction_state.")
KEY_FORMAT = Option(
    "--key-format",
    help="How keys are shown and written in --key; avro, protobuf and json-schema: typed columns of files.",
)
VALUE_FORMAT = Option("--value-format", help="Like --key-format, for values and --value-contains.")
REGISTRY = Option(
    "--registry",
    help="Source of schemas of keys and values: a registry's URL, a folder, or a topic; default _schemas.",
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
    windowed = "windowed"
    window_store = "window-store"
    session = "session"
    change = "change"
    suppressed = "suppressed"
    subscription = "subscription"
    subscription_response = "subscription-response"
    subscription_store = "subscription-store"
    join = "join"
    join_values = "join-values"


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
    key: Sequence[str] | None,
    value_contains: str | None,
    headers: Sequence[str],
    key_format: ValueFormat,
    value_format: ValueFormat,
) -> RecordFilter:
    """The query that the options form. Raises BadParameter."""
    pairs = []
    for header in headers:
        name, equals, text = header.partition("=")
        if not equals:
            raise BadParameter(f"--header {header}: expected key=value")
        pairs.append((name, text.encode("utf-8", "surrogateescape")))
    try:
        return RecordFilter(
            offsets=offset_bounds(offset),
            timestamps=time_bounds(since, until),
            keys=written_keys(key, key_format),
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
        raise BadParameter(f"--registry: {error}") from None
    for form in formats:
        if source is None and form in ("avro", "protobuf"):
            raise Missing(f"{form} needs schemas: no topic {SCHEMAS_TOPIC} here; give --registry")
    if source is None and "json-schema" not in formats:
        return None
    return ValueDecoder(source, framing=framing, reader_schema=reader_schema)


def where_condition(
    where: str | None,
    formats: tuple[ValueFormat, ValueFormat],
    decoder: ValueDecoder | None,
) -> Condition | None:
    """--where, which sees decoded values. Raises BadParameter."""
    of_part: dict[Part, ValueFormat] = dict(zip(("key", "value"), formats, strict=True))

    def decode(topic: str, record: Record, part: Part) -> object:
        decoded = decoded_part(topic, record, part, of_part[part], decoder)
        if decoded is not None and not decoded.reason:
            return plain(decoded.value)
        if decoded is not None:
            raise Undecoded(f"the {part} is not decoded: {decoded.reason}")
        if of_part[part] in FRAMES or (of_part[part] == "auto" and has_messages(topic)):
            return _message_value(topic, record, part, of_part[part])
        if decoder is None and of_part[part] == "auto" and (reason := _unknown_schema(record, part)):
            raise Undecoded(f"the {part} is not decoded: {reason}")
        return parsed_part(topic, record, part)

    try:
        return None if where is None else condition(where, decode)
    except ArgumentError as error:
        raise BadParameter(str(error)) from None


def _message_value(topic: str, record: Record, part: Part, form: ValueFormat) -> object:
    """The parts of a message or of a frame. Raises Undecoded."""
    shown = readable_record(topic, record, form, form)
    value = shown.key if part == "key" else shown.value
    if value is None:
        return None
    if value.reason:
        raise Undecoded(f"the {part} is not decoded: {value.reason}")
    if value.format not in ("kafka", *FRAMES):
        # a record of other contents in a topic of such a name
        return parsed_part(topic, record, part)
    parsed = exact_json(value.text)
    return parsed["data"] if value.format == "kafka" else parsed


def _unknown_schema(record: Record, part: Part) -> str:
    """Why a key or a value that names its schema is not decoded; "" for one that names none."""
    data = record.key if part == "key" else record.value
    if data is None:
        return ""
    try:
        read_framing(data, record.headers, part)
    except FormatError:
        return ""
    return ValueDecoder().decode(data, record.headers, part=part).reason


def written_keys(key: Sequence[str] | None, key_format: ValueFormat) -> list[bytes] | None:
    """The bytes of --key; None if it is not given. Raises BadParameter."""
    if not key:
        return None
    if key_format in (*TYPED, *FRAMES):
        raise BadParameter(f"--key is not {key_format}: use --where of kodec find, as in: key == {key[0]!r}")
    try:
        return [bytes_of(text, key_format) for text in key]
    except ArgumentError as error:
        raise BadParameter(str(error)) from None


def offset_bounds(text: str | None) -> tuple[int | None, int | None]:
    """The first and the last offset of --offset. Raises BadParameter."""
    if text is None:
        return None, None
    match = re.fullmatch(r"([0-9]{1,19})|([0-9]{0,19})\.\.([0-9]{0,19})", text)
    if match is None or text == "..":
        raise BadParameter(f"--offset {text}: expected an offset or a range: 100..200, 100.. or ..200")
    if match[1]:
        return int(match[1]), int(match[1])
    low, high = (int(bound) if bound else None for bound in match.group(2, 3))
    if low is not None and high is not None and high < low:
        raise BadParameter(f"--offset {text}: {high} is below {low}")
    return low, high


def time_bounds(since: str | None, until: str | None) -> tuple[int | None, int | None]:
    """The first and the last ms of --since and --until. Raises BadParameter."""
    begin, end = _time("--since", since), _time("--until", until)
    if begin is not None and end is not None and end <= begin:
        raise BadParameter(f"--until {until}: not after --since {since}")
    return begin, None if end is None else end - 1


def _time(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_time(text)
    except ValueError as error:
        raise BadParameter(f"{option} {text}: {error}") from None


def chosen_logs(
    paths: Sequence[Path],
    topics: Sequence[str],
    partitions: Sequence[int],
    omissions: Omissions | None = None,
) -> list[PartitionLog]:
    """The selected logs.

    Args:
        omissions: takes a checkpoint of start offsets that cannot be read, see `LogDirectory.require_starts`.

    Raises: Missing; NotALog, OSError, ValueError; FormatError without `omissions`.
    """
    roots = []
    logs: list[PartitionLog] = []
    for path in paths:
        if isinstance(resolve(path), PartitionPath):
            logs.append(PartitionLog(path))
        else:
            roots.append(path)
    if roots:
        directory = LogDirectory(*roots)
        directory.require_starts(omissions)
        logs += directory
    known = sorted({log.topic_partition.topic for log in logs})
    for topic in topics:
        if topic not in known:
            raise Missing(f"{', '.join(map(str, paths))} has no topic {topic}{meant(topic, known)}")
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

    roots = [
        location.root if isinstance(location := resolve(path), PartitionPath) else path for path in paths
    ]
    producers = producers_of(*dict.fromkeys(roots), transactional_id=name)
    if not producers:
        raise Missing(f"__transaction_state has no producer of {name}")
    output.say(f"kodec: {name} is producer {', '.join(map(str, sorted(producers)))}")
    return producers
