"""The options of the `kafka-log` source: every name, and what each value means.

Names, values and defaults are those of Spark's Kafka source
(`org.apache.spark.sql.kafka010.KafkaSourceProvider`) where it has them. Nothing is guessed: an unknown
name or an unreadable value is an error that states the right one.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, Self, get_args
from urllib.parse import unquote, urlsplit

from kodec.log.batches.options import LogReadOptions, OnError
from kodec.log.batches.records import Limits
from kodec.log.files.listing import TopicPartition
from kodec.log.remote.keys import TierKeys
from kodec.log.remote.opening import open_location
from kodec.log.selection import Selection
from kodec.log.values.decoder import TypedFormat
from kodec.log.values.framing import FRAMINGS, Framing, Part
from kodec.pipeline.columns import COLUMNS, QUARANTINE
from kodec.pipeline.hadoop import s3_settings
from kodec.pipeline.typed import TypedAs
from kodec.runtime.errors import ArgumentError, KodecError
from kodec.runtime.near import meant
from kodec.runtime.permission import require_allowed
from kodec.stores.context import Context
from kodec.stores.storage import is_of_store, is_url, path_of

__all__ = [
    "EARLIEST",
    "IGNORED",
    "LATEST",
    "LEAST_TASK",
    "MOST_TASK",
    "OF_SPARK",
    "READER_SCHEMAS",
    "READ_OPTIONS",
    "REFUSED",
    "SIZE",
    "TEXT",
    "TIMES_OF_UNITS",
    "UNITS",
    "Edge",
    "Kind",
    "Mode",
    "Option",
    "OptionError",
    "Options",
    "TypedOptions",
    "local_path",
    "size_of",
]

Mode = Literal["failfast", "permissive", "quarantine"]

LEAST_TASK, MOST_TASK = 16 << 20, 128 << 20
"""How much log a task reads, where no option says it. Any task costs some 30 ms, and a Python decoder takes
about a second for 200 MiB."""

UNITS = {"": 1, "b": 1, "k": 2**10, "kb": 2**10, "m": 2**20, "mb": 2**20, "g": 2**30, "gb": 2**30}

TIMES_OF_UNITS = {"": 1, "ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}

EARLIEST, LATEST = -2, -1
"""Special offsets in the JSON of starting and ending offsets, as in Kafka's ListOffsets."""

_CHOICES = ("subscribe", "subscribePattern", "assign")
# The options of each end, in Spark's order of precedence.
_STARTS = ("startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets")
_ENDS = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
_STRATEGY = "startingOffsetsByTimestampStrategy"
_ISOLATION = "kafka.isolation.level"

_FORMATS: dict[Part, str] = {"key": "keyFormat", "value": "valueFormat"}
READER_SCHEMAS: dict[Part, str] = {"key": "keyReaderSchema", "value": "readerSchema"}
"""The options of readers' schemas, by what is decoded."""
# How keys and values are decoded, if requested.
_OF_TYPED = ("schemas", "framing", *READER_SCHEMAS.values(), "typedAs")


class OptionError(KodecError, ValueError):
    """An option of the `kafka-log` source that cannot be followed; the message states the right one.

    Attributes: option, its name as documented.
    """

    def __init__(self, option: str, text: str) -> None:
        super().__init__(option, text)
        self.option = option
        self.text = text

    def __str__(self) -> str:
        return f"kafka-log: {self.option}: {self.text}"


class Kind(NamedTuple):
    """What the values of an option are.

    Attributes:
        values: for people, in Markdown.
        read: what a text means, called with the name of the option and the text; raises OptionError.
        shown: a value as people write it.
        words: the values, where they are words.
    """

    values: str
    read: Callable[[str, str], Any]
    shown: Callable[[Any], str] = str
    words: tuple[str, ...] = ()


class Option(NamedTuple):
    """An option: what Spark's text means, and a row of docs/spark-options.md.

    Attributes:
        kind: of its values.
        default: what it means where it is not given; None for nothing.
        meaning: the effect.
        shown: the default for people, where the value does not say it.
        of_kafka: whether Spark's Kafka source has it too, with the same meaning.
        in_jvm: whether the source for the JVM follows it.
    """

    kind: Kind
    default: Any
    meaning: str
    shown: str = ""
    of_kafka: bool = False
    in_jvm: bool = True

    @property
    def shown_default(self) -> str:
        """The default for people; "" for none."""
        return self.shown or ("" if self.default is None else self.kind.shown(self.default))


def _names(name: str, text: str) -> frozenset[str]:
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    return names or _wrong(name, "topics with commas between them, like orders,paid", text)


def _pattern(name: str, text: str) -> re.Pattern[str]:
    """A pattern of Java as one of Python, where both mean the same."""
    if not text.strip():
        return _wrong(name, "a regular expression for whole names of topics, like orders.*", text)
    try:
        with warnings.catch_warnings():
            # Java has operators on sets of characters where Python matches the characters.
            warnings.simplefilter("error")
            return re.compile(text.strip(), re.ASCII)
    except (re.error, Warning) as error:
        raise OptionError(
            name, f"{text!r} cannot be read ({error}); use what Java and Python share"
        ) from None


def _assignment(name: str, text: str) -> frozenset[TopicPartition]:
    try:
        assigned = frozenset(
            TopicPartition(topic, _whole(number))
            for topic, numbers in json.loads(text).items()
            for number in numbers
        )
    except (AttributeError, TypeError, ValueError, RecursionError):
        assigned = frozenset()
    return assigned or _wrong(name, 'JSON like {"orders":[0,1]}', text)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError
    return value


def _time(name: str, text: str) -> int:
    if re.fullmatch(r"\s*[0-9]{1,18}\s*", text) is None:
        _wrong(name, "a time in milliseconds since 1970, like 1700000000000", text)
    return int(text)


def _times(name: str, text: str) -> Mapping[TopicPartition, int]:
    return _by_partition(name, text, 0, '{"orders":{"0":1700000000000}}, in milliseconds since 1970')


def _offsets(name: str, text: str) -> int | Mapping[TopicPartition, int]:
    word = {"earliest": EARLIEST, "latest": LATEST}.get(text.strip().lower())
    if word is not None:
        return word
    example = 'earliest, latest, or JSON like {"orders":{"0":23,"1":-2}}, where -2 is earliest and -1 latest'
    return _by_partition(name, text, EARLIEST, example)


def _by_partition(name: str, text: str, least: int, example: str) -> Mapping[TopicPartition, int]:
    try:
        offsets = {
            TopicPartition(topic, int(partition)): _whole(value)
            for topic, values in json.loads(text).items()
            for partition, value in values.items()
        }
    except (AttributeError, TypeError, ValueError, RecursionError):
        offsets = {}
    if not offsets or any(not least <= value < 2**63 for value in offsets.values()):
        _wrong(name, example, text)
    return offsets


def _wrong(name: str, need: str, text: str) -> NoReturn:
    raise OptionError(name, f"expected {need}; not {text!r}")


def _words(*words: str) -> Kind:
    """One of these, in any case."""

    def read(name: str, text: str) -> str:
        match = next((word for word in words if word == text.lower()), None)
        return _wrong(name, " or ".join(words), text) if match is None else match

    return Kind(", ".join(f"`{word}`" for word in words), read, "`{}`".format, words)


def _flag(name: str, text: str) -> bool:
    return bool(_words("true", "false").read(name, text) == "true")


def _column_names(name: str, text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names or len(set(names)) < len(names):
        _wrong(name, "names of columns, each once, like offset,value", text)
    return names


def size_of(name: str, text: str) -> int:
    """A size of an option, a number of bytes or with a unit. Raises OptionError."""
    match = re.fullmatch(r"\s*([0-9]{1,18})\s*([a-z]*)\s*", text.lower())
    if match is None or match[2] not in UNITS or int(match[1]) == 0:
        _wrong(name, "a size above 0, like 64m", text)
    return int(match[1]) * UNITS[match[2]]


def _shown_size(value: int) -> str:
    unit = next((letter for letter in ("g", "m", "k") if value % UNITS[letter] == 0), "")
    return f"{value // UNITS[unit]}{unit}"


def _seconds(name: str, text: str) -> float:
    match = re.fullmatch(r"\s*([0-9]{1,18})\s*([a-z]*)\s*", text.lower())
    if match is None or match[2] not in TIMES_OF_UNITS or int(match[1]) * TIMES_OF_UNITS[match[2]] >= 2**63:
        _wrong(name, "a time, like 90s or 15m", text)
    return int(match[1]) * TIMES_OF_UNITS[match[2]] / 1000


def _count(name: str, text: str) -> int:
    if re.fullmatch(r"\s*[0-9]{1,18}\s*", text) is None or int(text) == 0:
        _wrong(name, "a whole number above 0", text)
    return int(text)


TOPICS = Kind("topics, with commas", _names)
PATTERN = Kind("regular expression for whole names", _pattern)
PARTITIONS = Kind('JSON, `{"orders":[0,1]}`', _assignment)
FLAG = Kind("true, false", _flag, lambda value: str(value).lower())
TIME = Kind("ms since 1970", _time)
TIMES = Kind('JSON, `{"orders":{"0":1700000000000}}`', _times)
STARTS = Kind('`earliest`, `latest`, or JSON, `{"orders":{"0":23,"1":-2}}`', _offsets)
ENDS = Kind('`latest`, or JSON, `{"orders":{"0":23,"1":-1}}`', _offsets)
COUNT = Kind("whole number above 0", _count)
NUMBER = Kind("whole number", size_of)
TEXT = Kind("text", lambda name, text: text)
SIZE = Kind("size, `64m`", size_of, _shown_size)
DURATION = Kind("time, `90s`", _seconds, lambda value: f"`{value / 60:g}m`")
COLUMN_NAMES = Kind("names, with commas", _column_names)
_READING = LogReadOptions()

READ_OPTIONS: Mapping[str, Option] = {
    "subscribe": Option(
        TOPICS,
        None,
        "a missing topic is an error",
        of_kafka=True,
    ),
    "subscribePattern": Option(
        PATTERN,
        None,
        "in the JVM, Java's syntax; in Python, only expressions that mean the same in Java, others "
        "are an error. Internal topics only with `includeInternal`",
        of_kafka=True,
    ),
    "assign": Option(
        PARTITIONS,
        None,
        "the partitions of each topic; a missing one is an error",
        of_kafka=True,
    ),
    "includeInternal": Option(
        FLAG,
        False,
        "read internal topics too",
    ),
    "startingTimestamp": Option(
        TIME,
        None,
        "rows begin at the first record that is not older; overrides the next two. A topic-partition "
        "without such a record is an error, see `startingOffsetsByTimestampStrategy`",
        of_kafka=True,
    ),
    "startingOffsetsByTimestamp": Option(
        TIMES,
        None,
        "the same for each topic-partition; all must be listed; overrides the next",
        of_kafka=True,
    ),
    "startingOffsets": Option(
        STARTS,
        None,
        "-2 is earliest, -1 latest; all topic-partitions must be listed. A batch query cannot start "
        "at `latest`",
        shown="`earliest`; for a stream `latest`",
        of_kafka=True,
    ),
    "endingTimestamp": Option(
        TIME,
        None,
        "rows end before the first record that is not older; overrides the next two. If no record is "
        "that late, they end at the latest. Not for streams",
        of_kafka=True,
    ),
    "endingOffsetsByTimestamp": Option(
        TIMES,
        None,
        "the same for each topic-partition; all must be listed; overrides the next",
        of_kafka=True,
    ),
    "endingOffsets": Option(
        ENDS,
        LATEST,
        "rows end before it; -1 is latest. Rows cannot end at the earliest. Not for streams",
        shown="`latest`",
        of_kafka=True,
    ),
    "startingOffsetsByTimestampStrategy": Option(
        _words("error", "latest"),
        "error",
        "what a start time after all records means",
        of_kafka=True,
    ),
    "failOnDataLoss": Option(
        FLAG,
        True,
        "whether offsets that are [missing](spark-rows.md#missing-offsets) or outside the log are an "
        "error; if false they are a warning, and the available records are read",
        shown="true; false unless `mode` is failfast",
        of_kafka=True,
    ),
    "kafka.isolation.level": Option(
        _words("read_uncommitted", "read_committed"),
        "read_uncommitted",
        "whether records of open and aborted transactions are left out",
        of_kafka=True,
    ),
    "includeHeaders": Option(
        FLAG,
        False,
        "add the column `headers`",
        of_kafka=True,
    ),
    "minPartitions": Option(
        COUNT,
        None,
        "the least number of tasks, if there are that many offsets",
        of_kafka=True,
    ),
    "maxRecordsPerPartition": Option(
        COUNT,
        None,
        "the most offsets in a task",
        of_kafka=True,
    ),
    "maxOffsetsPerTrigger": Option(
        COUNT,
        None,
        "streams: the approximate number of offsets in a micro-batch, in proportion to the size of "
        "each topic-partition. Batch queries ignore this option and the next two",
        of_kafka=True,
    ),
    "minOffsetsPerTrigger": Option(
        COUNT,
        None,
        "streams: a micro-batch waits for this many offsets; the first one does not, nor does one of "
        "`availableNow`",
        of_kafka=True,
    ),
    "maxTriggerDelay": Option(
        DURATION,
        900.0,
        "the longest time that it waits",
        of_kafka=True,
    ),
    "columns": Option(
        COLUMN_NAMES,
        None,
        "only these columns, in this order",
        shown="all of them",
    ),
    "mode": Option(
        _words(*get_args(Mode)),
        "failfast",
        "see [damage](spark-rows.md#damage); called `on_error` elsewhere; the last two take the "
        "source in Python",
    ),
    "verifyCrc": Option(
        FLAG,
        _READING.check_crc,
        "check every checksum",
    ),
    "includeControlRecords": Option(
        FLAG,
        _READING.control,
        "read control records too",
    ),
    "includeBatchMetadata": Option(
        FLAG,
        False,
        "add the [batch columns](spark.md#columns)",
    ),
    "includeDecoded": Option(
        FLAG,
        False,
        "add `keyDecoded` and `valueDecoded`; internal topics are still read only if they are requested",
    ),
    "keyFormat": Option(
        _words(*get_args(TypedFormat)),
        None,
        "add `keyTyped`, `keySchema` and `keyReason`: [decoded keys](spark.md#decode-values)",
        in_jvm=False,
    ),
    "valueFormat": Option(
        _words(*get_args(TypedFormat)),
        None,
        "add `valueTyped`, `valueSchema` and `valueReason`: [decoded values](spark.md#decode-values)",
        in_jvm=False,
    ),
    "schemas": Option(
        TEXT._replace(values="a topic, a folder or a URL"),
        None,
        "where [schemas](values.md#schemas) are",
        shown="the topic `_schemas`",
        in_jvm=False,
    ),
    "framing": Option(
        _words(*FRAMINGS),
        "auto",
        "the [framing](values.md#framings) of the ids of schemas",
        shown="`auto`: any of them",
        in_jvm=False,
    ),
    "keyReaderSchema": Option(
        TEXT._replace(values="a file, or a subject"),
        None,
        "the type of `keyTyped`",
        in_jvm=False,
    ),
    "readerSchema": Option(
        TEXT._replace(values="a file, or a subject"),
        None,
        "the type of `valueTyped`",
        in_jvm=False,
    ),
    "typedAs": Option(
        _words(*get_args(TypedAs)),
        None,
        "the type of the decoded columns",
        shown="`struct` with a reader's schema, else `json`",
        in_jvm=False,
    ),
    "allowEmpty": Option(
        FLAG,
        False,
        "a load without a topic-partition, or without one that is named, has no rows instead of an error",
    ),
    "tier": Option(
        TEXT._replace(values="a path or a URL"),
        None,
        "[remote storage](spark.md#local-segments-and-remote-storage-as-one-log) that has the earlier"
        " segments of the log directories at the paths; the source in Python reads it",
        in_jvm=False,
    ),
    "tierKey": Option(
        TEXT._replace(values="a file or a folder of each worker"),
        None,
        "the private key of [encrypted remote storage](remote-storage.md), in PEM, or a folder with "
        "one `<id>.pem` for each key; the source in Python reads it",
        shown="`KODEC_TIER_KEY` in the environment",
        in_jvm=False,
    ),
    "tierKeyCommand": Option(
        TEXT._replace(values="a command"),
        None,
        "prints that key; each worker runs it, without a shell; refused unless the environment of the"
        " driver has `KODEC_ALLOW=tierKeyCommand`; for the source in Python",
        shown="`KODEC_TIER_KEY_COMMAND` in the environment",
        in_jvm=False,
    ),
    "maxPartitionBytes": Option(
        SIZE,
        None,
        "how much log one task reads. Only `minPartitions` and `maxRecordsPerPartition` split a "
        "segment (in the JVM its size does too); small segments share a task",
        shown=f"[in the JVM](spark-jvm.md) {_shown_size(MOST_TASK)}; in Python the size of the log divided "
        f"by the cores of the planning machine, at least {_shown_size(LEAST_TASK)}, "
        f"at most {_shown_size(MOST_TASK)}",
    ),
    "maxBatchBytes": Option(
        SIZE,
        _READING.limits.batch_bytes,
        "the largest batch as stored; a field of `Limits` elsewhere (`batch_bytes`), as are the next two",
    ),
    "maxDecompressedBytes": Option(
        SIZE,
        _READING.limits.decompressed_bytes,
        "the largest decompressed size of a batch's records",
    ),
    "maxElements": Option(
        NUMBER,
        _READING.limits.elements,
        "the most records plus headers in a batch",
    ),
}
# Options about brokers in Spark's Kafka source: files do not need them.
IGNORED = (
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "groupIdPrefix",
)
# Options that Spark itself adds: several paths, and the properties of a table.
OF_SPARK = (
    "paths",
    "provider",
    "owner",
    "location",
    "is_managed_location",
    "external",
    "comment",
    "collation",
)
_KAFKA = "kafka."
# Settings of Hadoop, which the source for the JVM accepts as options too.
_HADOOP = "fs."
_KNOWN = {name.lower(): name for name in (*READ_OPTIONS, "path", *IGNORED, *OF_SPARK)}
# Their effect is not available here, so ignoring them would mislead.
REFUSED = {
    "topic": "it is for writing; to read, name topics with subscribe",
    "kafka.auto.offset.reset": "use startingOffsets",
    "kafka.key.deserializer": "keys are binary; use Spark's functions",
    "kafka.value.deserializer": "values are binary; use Spark's functions",
    "kafka.enable.auto.commit": "nothing is committed: leave it out",
    "kafka.interceptor.classes": "there is no consumer: leave it out",
}


class Edge(NamedTuple):
    """Where rows begin, or end, in each topic-partition.

    Attributes:
        option: the option, for messages.
        of: an offset for each topic-partition, `EARLIEST` and `LATEST` among them, or a time in ms since
            1970; one number is for all of them.
        timed: whether the numbers are times.
    """

    option: str
    of: int | Mapping[TopicPartition, int]
    timed: bool = False

    @property
    def is_start(self) -> bool:
        """Whether it is where rows begin."""
        return self.option.startswith("starting")

    @property
    def plain(self) -> int | None:
        """`EARLIEST` or `LATEST`, if that is all."""
        return self.of if isinstance(self.of, int) and not self.timed else None


class TypedOptions(NamedTuple):
    """How keys and values are decoded.

    Attributes: formats, for `key` and `value`; readers: their readers' schemas, a file or a subject, if any;
    schemas, framing: as for `schema_source` and `ValueDecoder`; form: the type of the columns, None for that
    of the reader's schema, or JSON without one.
    """

    formats: Mapping[Part, TypedFormat]
    readers: Mapping[Part, str]
    schemas: str | None = None
    framing: Framing = "auto"
    form: TypedAs | None = None


_EARLIEST = Edge("startingOffsets", EARLIEST)
_LATEST = Edge("endingOffsets", LATEST)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the `kafka-log` source, read and checked; docs/spark-options.md describes each.

    Attributes: paths may hold globs; at most one of subscribe, pattern and assign is not None; the rest are
    the options in the terms of this package; trigger_delay is in seconds; the paths bring along the keys and
    the settings of stores; selection is that of a job, which has arguments and not options.
    """

    paths: tuple[Path, ...]
    tier: Path | None = None
    subscribe: frozenset[str] | None = None
    pattern: re.Pattern[str] | None = None
    assign: frozenset[TopicPartition] | None = None
    start: Edge = field(default=_EARLIEST)
    end: Edge = field(default=_LATEST)
    latest_if_none: bool = False
    include_internal: bool = False
    include_headers: bool = False
    include_batch: bool = False
    include_decoded: bool = False
    typed: TypedOptions | None = None
    columns: tuple[str, ...] | None = None
    mode: Mode = "failfast"
    fail_on_data_loss: bool = True
    committed: bool = False
    allow_empty: bool = False
    min_tasks: int | None = None
    task_offsets: int | None = None
    trigger_offsets: int | None = None
    least_offsets: int | None = None
    trigger_delay: float = READ_OPTIONS["maxTriggerDelay"].default
    reading: LogReadOptions = field(default=_READING)
    task_bytes: int | None = None
    selection: Selection = field(default=Selection())

    @classmethod
    def parse(cls, options: Mapping[str, str], *, streaming: bool | None = False) -> Options:
        """Read the options of `spark.read.format("kafka-log")`, or of `readStream`; names are
        case-insensitive.

        With `streaming=None`, where neither is known yet, the start and the end need only be readable.
        Raises: OptionError.
        """
        texts = {name.lower(): value for name, value in options.items()}
        _check_names(texts)
        parsed = _Given(texts)
        several = [name for name in _CHOICES if name in parsed]
        if len(several) > 1:
            raise OptionError(several[1], f"give one of {', '.join(_CHOICES)}, not {' and '.join(several)}")
        mode: Mode = parsed("mode")
        permissive = mode != "failfast"
        fails = parsed("failOnDataLoss") if "failOnDataLoss" in parsed else not permissive
        context = _context(texts)
        return cls(
            tier=_tier(texts, context),
            subscribe=parsed("subscribe"),
            pattern=parsed("subscribePattern"),
            assign=parsed("assign"),
            start=_start(parsed, streaming),
            end=_end(parsed, streaming),
            latest_if_none=parsed(_STRATEGY) == "latest",
            include_internal=parsed("includeInternal"),
            include_headers=parsed("includeHeaders"),
            include_batch=parsed("includeBatchMetadata"),
            include_decoded=parsed("includeDecoded"),
            typed=_typed(parsed),
            columns=_columns(parsed, mode),
            mode=mode,
            fail_on_data_loss=fails,
            committed=parsed(_ISOLATION) == "read_committed",
            allow_empty=parsed("allowEmpty"),
            min_tasks=parsed("minPartitions"),
            task_offsets=parsed("maxRecordsPerPartition"),
            trigger_offsets=parsed("maxOffsetsPerTrigger"),
            least_offsets=parsed("minOffsetsPerTrigger"),
            trigger_delay=parsed("maxTriggerDelay"),
            reading=LogReadOptions(
                check_crc=parsed("verifyCrc"),
                control=parsed("includeControlRecords"),
                on_error=_on_error(permissive, fails, streaming),
                limits=Limits(
                    batch_bytes=parsed("maxBatchBytes"),
                    decompressed_bytes=parsed("maxDecompressedBytes"),
                    elements=parsed("maxElements"),
                ),
            ),
            task_bytes=parsed("maxPartitionBytes"),
            # checked last: the source for the JVM uses this function for the errors of its own paths
            paths=_paths(texts, context),
        )

    def with_on_error(self, on_error: OnError) -> Self:
        """The options of a job: those of a query have no word for all that `on_error` means.

        Raises ArgumentError for another one.
        """
        reading = replace(self.reading, on_error=on_error)
        return replace(self, reading=reading, fail_on_data_loss=not reading.skips)

    def with_selection(self, selection: Selection) -> Self:
        """The options of a job that selects records by arguments."""
        return replace(
            self,
            selection=selection,
            subscribe=self.subscribe if selection.topics is None else selection.topics,
            committed=selection.committed,
            allow_empty=self.allow_empty or selection.is_none,
        )

    @property
    def chosen(self) -> str:
        """The selected topics, in words."""
        if self.subscribe is not None:
            return f"subscribe={','.join(sorted(self.subscribe))}"
        if self.pattern is not None:
            return f"subscribePattern={self.pattern.pattern}"
        if self.assign is not None:
            return f"assign={', '.join(map(str, sorted(self.assign)))}"
        return "all topics" if self.include_internal else "all topics that are not internal"

    def may_mean(self, name: str) -> bool:
        """Whether a folder with this name, which is none of a replica in use, may be of a topic that the
        options let in."""
        topics = self.subscribe
        if self.assign is not None:
            topics = frozenset(partition.topic for partition in self.assign)
        return topics is None or any(name == topic or name.startswith(f"{topic}-") for topic in topics)

    def wants(self, topic_partition: TopicPartition) -> bool:
        """Whether the options let this topic-partition in."""
        if not self.selection.has(topic_partition):
            return False
        if self.subscribe is not None:
            return topic_partition.topic in self.subscribe
        if self.assign is not None:
            return topic_partition in self.assign
        if not (self.include_internal or not topic_partition.is_internal):
            return False
        return self.pattern is None or self.pattern.fullmatch(topic_partition.topic) is not None


class _Given:
    """The options that are given as texts: their values, or the defaults."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._texts

    def __call__(self, name: str) -> Any:
        option, text = READ_OPTIONS[name], self._texts.get(name.lower())
        return option.default if text is None else option.kind.read(name, text)


def _on_error(permissive: bool, fails: bool, streaming: bool | None) -> OnError:
    """What two options mean together: what cannot be reached may be damaged, and may be lost.

    A stream never goes past it: its checkpoint would count it as read.
    """
    if not permissive:
        return "raise"
    return "skip" if fails or streaming else "skip-unreachable"


def _check_names(texts: Mapping[str, str]) -> None:
    """Refuse an unknown name: it may be a misspelled option that selects rows."""
    for name, text in REFUSED.items():
        if name.lower() in texts:
            raise OptionError(name, text)
    for name in texts:
        if name in _KNOWN or name.startswith((_KAFKA, _HADOOP, "option.")):
            continue
        hint = meant(name, _KNOWN.values()) or "; docs/spark-options.md lists them"
        raise OptionError(name, f"there is no such option{hint}")


def _context(texts: Mapping[str, str]) -> Context | None:
    """What paths bring along; None for nothing."""
    keys = _keys(texts)
    s3 = s3_settings({name: value for name, value in texts.items() if name.startswith(_HADOOP)})
    return None if (keys, s3) == (None, None) else Context(keys, s3)


def _paths(given: Mapping[str, str], context: Context | None) -> tuple[Path, ...]:
    if "path" in given:
        texts = [given["path"]]
    elif "paths" in given:
        try:
            texts = json.loads(given["paths"])
        except (ValueError, RecursionError):
            texts = None
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            _wrong("paths", 'JSON like ["/data/logs"]', given["paths"])
    else:
        texts = []
    if not texts:
        raise OptionError("path", 'say what to read: .load("/path/of/a/log/directory")')
    return tuple(_opened(text, "path", context) for text in texts)


def _tier(texts: Mapping[str, str], context: Context | None) -> Path | None:
    text = texts.get("tier")
    if text is not None and not text.strip():
        _wrong("tier", "the path or the URL of remote storage, like s3://bucket/prefix", text)
    return None if text is None else _opened(text, "tier", context)


def _keys(texts: Mapping[str, str]) -> TierKeys | None:
    """Where private keys are. A command may contain what nobody else may see: no error quotes it."""
    file, command = texts.get("tierkey"), texts.get("tierkeycommand")
    for name, text in (("tierKey", file), ("tierKeyCommand", command)):
        if text is not None and not text.strip():
            raise OptionError(name, "it is empty")
    if file is not None and command is not None:
        raise OptionError("tierKey", "give either tierKey or tierKeyCommand")
    if file is not None and is_url(file) not in (None, "file"):
        _wrong("tierKey", "a file or a folder of each worker, like /etc/kodec/key.pem", file)
    if file is not None:
        return TierKeys(path_of(file).absolute())
    if command is None:
        return None
    try:
        require_allowed("tierKeyCommand", "it would run a command of whoever writes the options")
    except ArgumentError as error:
        raise OptionError("tierKeyCommand", str(error)) from None
    return TierKeys(command=command)


def _opened(text: str, option: str, context: Context | None) -> Path:
    """What a path or a URL names, for this source. Raises OptionError; OSError as `open_location`."""
    if not is_of_store(text):
        text = local_path(text, "read by the Python source", option)
    try:
        return open_location(text, context)
    except ArgumentError as error:
        raise OptionError(option, str(error)) from None


def local_path(text: str, use: str, option: str = "path") -> str:
    """The absolute path of an option, given as a path or a `file:` URL.

    Raises: OptionError for other URLs, which states that they do not support that `use`.
    """
    url = urlsplit(text)
    # One letter is a drive, not a scheme.
    if len(url.scheme) < 2:
        return str(Path(text).absolute())
    if url.scheme != "file" or url.netloc not in ("", "localhost") or not url.path.startswith("/"):
        raise OptionError(option, f"{text}: only local paths can be {use}, like /data/logs")
    path = unquote(url.path, errors="surrogateescape")
    # file:///C:/data
    return path[1:] if os.name == "nt" and path[2:3] == ":" else path


# -- starts and ends -------------------------------------------------------------------------------


def _start(parsed: _Given, streaming: bool | None) -> Edge:
    edge = _edge(parsed, _STARTS, LATEST if streaming else EARLIEST)
    if streaming is False and _has(edge, LATEST):
        raise OptionError(
            edge.option, "a batch query cannot start at the latest offset; use earliest, or an offset"
        )
    return edge


def _end(parsed: _Given, streaming: bool | None) -> Edge:
    if streaming:
        for name in _ENDS:
            if name in parsed:
                raise OptionError(name, "a stream has no end; leave it out, or read a batch")
        return _LATEST
    edge = _edge(parsed, _ENDS, LATEST)
    if _has(edge, EARLIEST):
        raise OptionError(edge.option, "a query cannot end at the earliest offset; use latest, or an offset")
    return edge


def _has(edge: Edge, special: int) -> bool:
    if edge.timed:
        return False
    return edge.of == special if isinstance(edge.of, int) else special in edge.of.values()


def _edge(parsed: _Given, names: tuple[str, ...], default: int) -> Edge:
    """The first of the three options that is set: a time, times, offsets."""
    for name in names:
        if name in parsed:
            return Edge(name, parsed(name), timed=name != names[-1])
    return Edge(names[-1], default)


# -- columns --------------------------------------------------------------------------------------


def _columns(parsed: _Given, mode: Mode) -> tuple[str, ...] | None:
    names: tuple[str, ...] | None = parsed("columns")
    if names is None:
        return None
    known = [column.name for column in (QUARANTINE if mode == "quarantine" else COLUMNS)]
    wrong = [name for name in names if name not in known]
    if wrong:
        near = meant(wrong[0], known, f"there are {', '.join(known)}")
        raise OptionError("columns", f"no column is called {wrong[0]}{near}")
    for column in COLUMNS:
        if column.option in _FORMATS.values() and column.name in names and column.option not in parsed:
            raise OptionError("columns", f"{column.name} needs {column.option}")
    return names


def _typed(parsed: _Given) -> TypedOptions | None:
    formats: dict[Part, TypedFormat] = {
        part: parsed(name) for part, name in _FORMATS.items() if name in parsed
    }
    for name in _OF_TYPED:
        part: Part | None = next((part for part, reader in READER_SCHEMAS.items() if reader == name), None)
        if name in parsed and not (formats if part is None else part in formats):
            raise OptionError(
                name, f"it needs {' or '.join(_FORMATS.values()) if part is None else _FORMATS[part]}"
            )
    if not formats:
        return None
    readers: dict[Part, str] = {part: parsed(name) for part, name in READER_SCHEMAS.items() if name in parsed}
    form: TypedAs | None = parsed("typedAs")
    lacking = [READER_SCHEMAS[part] for part in formats if part not in readers]
    if form == "struct" and lacking:
        raise OptionError("typedAs", f"struct needs {' and '.join(lacking)}")
    return TypedOptions(formats, readers, parsed("schemas"), parsed("framing"), form)
