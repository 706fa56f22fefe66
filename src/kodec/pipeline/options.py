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
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, Self, TypeVar, get_args
from urllib.parse import unquote, urlsplit

from kodec.log.batches.options import LogReadOptions, OnError
from kodec.log.batches.records import Limits
from kodec.log.files.listing import TopicPartition
from kodec.log.files.tier_keys import TierKeys
from kodec.log.selection import Selection
from kodec.log.values.decoder import TypedFormat
from kodec.log.values.framing import FRAMINGS, Framing, Part
from kodec.pipeline.columns import COLUMNS, QUARANTINE
from kodec.pipeline.typed import TypedAs
from kodec.runtime.errors import ArgumentError, KodecError
from kodec.runtime.near import meant
from kodec.runtime.permission import require_allowed
from kodec.stores.storage import SCHEMES, is_url, is_view, path_of

__all__ = [
    "EARLIEST",
    "IGNORED",
    "LATEST",
    "OF_KAFKA",
    "READER_SCHEMAS",
    "READ_OPTIONS",
    "REFUSED",
    "Edge",
    "Mode",
    "Option",
    "OptionError",
    "Options",
    "TypedOptions",
    "local_path",
]

T = TypeVar("T")
W = TypeVar("W", bound=str)
Mode = Literal["failfast", "permissive", "quarantine"]

_UNITS = {"": 1, "b": 1, "k": 2**10, "kb": 2**10, "m": 2**20, "mb": 2**20, "g": 2**30, "gb": 2**30}

_TIMES = {"": 1, "ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}

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


class Option(NamedTuple):
    """The documentation of an option, from which docs/spark-options.md is generated.

    Attributes:
        value: the possible values, in Markdown as the rest.
        default: "" for none.
        meaning: the effect.
    """

    value: str
    default: str
    meaning: str


READ_OPTIONS: Mapping[str, Option] = {
    "subscribe": Option(
        "topics, with commas",
        "",
        "a missing topic is an error",
    ),
    "subscribePattern": Option(
        "regular expression for whole names",
        "",
        "in the JVM, Java's syntax; in Python, only expressions that mean the same in Java, "
        "others are an error. Internal topics only with `includeInternal`",
    ),
    "assign": Option(
        'JSON, `{"orders":[0,1]}`',
        "",
        "the partitions of each topic; a missing one is an error",
    ),
    "includeInternal": Option(
        "true, false",
        "false",
        "read internal topics too",
    ),
    "startingTimestamp": Option(
        "ms since 1970",
        "",
        "rows begin at the first record that is not older; overrides the next two. A "
        "topic-partition without such a record is an error, see "
        "`startingOffsetsByTimestampStrategy`",
    ),
    "startingOffsetsByTimestamp": Option(
        'JSON, `{"orders":{"0":1700000000000}}`',
        "",
        "the same for each topic-partition; all must be listed; overrides the next",
    ),
    "startingOffsets": Option(
        '`earliest`, `latest`, or JSON, `{"orders":{"0":23,"1":-2}}`',
        "`earliest`; for a stream `latest`",
        "-2 is earliest, -1 latest; all topic-partitions must be listed. A batch query cannot "
        "start at `latest`",
    ),
    "endingTimestamp": Option(
        "ms since 1970",
        "",
        "rows end before the first record that is not older; overrides the next two. If no "
        "record is that late, they end at the latest. Not for streams",
    ),
    "endingOffsetsByTimestamp": Option(
        'JSON, `{"orders":{"0":1700000000000}}`',
        "",
        "the same for each topic-partition; all must be listed; overrides the next",
    ),
    "endingOffsets": Option(
        '`latest`, or JSON, `{"orders":{"0":23,"1":-1}}`',
        "`latest`",
        "rows end before it; -1 is latest. Rows cannot end at the earliest. Not for streams",
    ),
    "startingOffsetsByTimestampStrategy": Option(
        "`error`, `latest`",
        "`error`",
        "what a start time after all records means",
    ),
    "failOnDataLoss": Option(
        "true, false",
        "true; false unless `mode` is failfast",
        "whether offsets that are [missing](spark-rows.md#missing-offsets) or outside the log are an "
        "error; if false they are a warning, and the available records are read",
    ),
    "kafka.isolation.level": Option(
        "`read_uncommitted`, `read_committed`",
        "`read_uncommitted`",
        "whether records of open and aborted transactions are left out",
    ),
    "includeHeaders": Option(
        "true, false",
        "false",
        "add the column `headers`",
    ),
    "minPartitions": Option(
        "whole number above 0",
        "",
        "the least number of tasks, if there are that many offsets",
    ),
    "maxRecordsPerPartition": Option(
        "whole number above 0",
        "",
        "the most offsets in a task",
    ),
    "maxOffsetsPerTrigger": Option(
        "whole number above 0",
        "",
        "streams: the approximate number of offsets in a micro-batch, in proportion to the size "
        "of each topic-partition. Batch queries ignore this option and the next two",
    ),
    "minOffsetsPerTrigger": Option(
        "whole number above 0",
        "",
        "streams: a micro-batch waits for this many offsets; the first one does not, nor does "
        "one of `availableNow`",
    ),
    "maxTriggerDelay": Option(
        "time, `90s`",
        "`15m`",
        "the longest time that it waits",
    ),
    "columns": Option(
        "names, with commas",
        "all of them",
        "only these columns, in this order",
    ),
    "mode": Option(
        "`failfast`, `permissive`, `quarantine`",
        "`failfast`",
        "see [damage](spark-rows.md#damage); called `on_error` elsewhere; the last two take the source in "
        "Python",
    ),
    "verifyCrc": Option(
        "true, false",
        "true",
        "check every checksum",
    ),
    "includeControlRecords": Option(
        "true, false",
        "false",
        "read control records too",
    ),
    "includeBatchMetadata": Option(
        "true, false",
        "false",
        "add the [batch columns](spark.md#columns)",
    ),
    "includeDecoded": Option(
        "true, false",
        "false",
        "add `keyDecoded` and `valueDecoded`; internal topics are still read only if they are requested",
    ),
    "keyFormat": Option(
        "`auto`, `avro`, `protobuf`, `json-schema`",
        "",
        "add `keyTyped`, `keySchema` and `keyReason`: [decoded keys](spark.md#decode-values)",
    ),
    "valueFormat": Option(
        "`auto`, `avro`, `protobuf`, `json-schema`",
        "",
        "add `valueTyped`, `valueSchema` and `valueReason`: [decoded values](spark.md#decode-values)",
    ),
    "schemas": Option(
        "a topic, a folder or a URL",
        "the topic `_schemas`",
        "where [schemas](values.md#schemas) are",
    ),
    "framing": Option(
        "`auto`, `confluent`, `apicurio`, `glue`, `none`",
        "`auto`: any of them",
        "the [framing](values.md#framings) of the ids of schemas",
    ),
    "keyReaderSchema": Option(
        "a file, or a subject",
        "",
        "the type of `keyTyped`",
    ),
    "readerSchema": Option(
        "a file, or a subject",
        "",
        "the type of `valueTyped`",
    ),
    "typedAs": Option(
        "`struct`, `json`, `variant`",
        "`struct` with a reader's schema, else `json`",
        "the type of the decoded columns",
    ),
    "allowEmpty": Option(
        "true, false",
        "false",
        "a load without a topic-partition, or without one that is named, has no rows instead of an error",
    ),
    "tier": Option(
        "a path or a URL",
        "",
        "[remote storage](spark.md#local-segments-and-remote-storage-as-one-log) that has the earlier "
        "segments of the log directories at the paths; the source in Python reads it",
    ),
    "tierKey": Option(
        "a file or a folder of each worker",
        "`KODEC_TIER_KEY` in the environment",
        "the private key of [encrypted remote storage](remote-storage.md), in PEM, or a folder with one "
        "`<id>.pem` for each key; the source in Python reads it",
    ),
    "tierKeyCommand": Option(
        "a command",
        "`KODEC_TIER_KEY_COMMAND` in the environment",
        "prints that key; each worker runs it, without a shell; refused unless the environment of the "
        "driver has `KODEC_ALLOW=tierKeyCommand`; for the source in Python",
    ),
    "maxPartitionBytes": Option(
        "size, `64m`",
        "[in the JVM](spark-jvm.md) 128m; in Python the size of the log divided by the cores of the "
        "planning machine, at least 16m, at most 128m",
        "how much log one task reads. Only `minPartitions` and `maxRecordsPerPartition` split a "
        "segment (in the JVM its size does too); small segments share a task",
    ),
    "maxBatchBytes": Option(
        "size",
        "1g",
        "the largest batch as stored; a field of `Limits` elsewhere (`batch_bytes`), as are the next two",
    ),
    "maxDecompressedBytes": Option(
        "size",
        "256m",
        "the largest decompressed size of a batch's records",
    ),
    "maxElements": Option(
        "whole number",
        "1000000",
        "the most records plus headers in a batch",
    ),
}
# Those that Spark's Kafka source has too, with the same meaning.
OF_KAFKA = frozenset(
    {
        *_CHOICES,
        *_STARTS,
        *_ENDS,
        _STRATEGY,
        _ISOLATION,
        "failOnDataLoss",
        "includeHeaders",
        "minPartitions",
        "maxRecordsPerPartition",
        "maxOffsetsPerTrigger",
        "minOffsetsPerTrigger",
        "maxTriggerDelay",
    }
)
# Options about brokers in Spark's Kafka source: files do not need them.
IGNORED = (
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "groupIdPrefix",
)
# Options that Spark itself adds: several paths, and the properties of a table.
_OF_SPARK = (
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
_KNOWN = {name.lower(): name for name in (*READ_OPTIONS, "path", *IGNORED, *_OF_SPARK)}
# Their effect is not available here, so ignoring them would mislead.
REFUSED = {
    "topic": "it is for writing; to read, name topics with subscribe",
    "kafka.auto.offset.reset": "use startingOffsets",
    "kafka.key.deserializer": "keys are binary; use Spark's functions",
    "kafka.value.deserializer": "values are binary; use Spark's functions",
    "kafka.enable.auto.commit": "nothing is committed: leave it out",
    "kafka.interceptor.classes": "there is no consumer: leave it out",
}


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
    the options in the terms of this package; trigger_delay is in seconds; hadoop has the options that
    begin with `fs.`, for `kodec.pipeline.hadoop`; keys open encrypted segments, None: those that the
    environment names; selection is that of a job, which has arguments and not options.
    """

    paths: tuple[str, ...]
    tier: str | None = None
    keys: TierKeys | None = field(default=None, repr=False)
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
    trigger_delay: float = 900
    hadoop: Mapping[str, str] = field(default_factory=dict, repr=False)
    reading: LogReadOptions = field(default=LogReadOptions())
    task_bytes: int | None = None
    selection: Selection = field(default=Selection())

    @classmethod
    def parse(cls, options: Mapping[str, str], *, streaming: bool | None = False) -> Options:
        """Read the options of `spark.read.format("kafka-log")`, or of `readStream`; names are
        case-insensitive.

        With `streaming=None`, where neither is known yet, the start and the end need only be readable.
        Raises: OptionError.
        """
        given = {name.lower(): value for name, value in options.items()}
        _check_names(given)
        several = [name for name in _CHOICES if name.lower() in given]
        if len(several) > 1:
            raise OptionError(several[1], f"give one of {', '.join(_CHOICES)}, not {' and '.join(several)}")
        mode = _mode(given)
        permissive = mode != "failfast"
        fails = _flag(given, "failOnDataLoss", default=not permissive)
        return cls(
            tier=_tier(given),
            keys=_keys(given),
            subscribe=_names(given, "subscribe"),
            pattern=_pattern(given),
            assign=_assignment(given),
            start=_start(given, streaming),
            end=_end(given, streaming),
            latest_if_none=_word(given, _STRATEGY, ("error", "latest"), "error") == "latest",
            include_internal=_flag(given, "includeInternal"),
            include_headers=_flag(given, "includeHeaders"),
            include_batch=_flag(given, "includeBatchMetadata"),
            include_decoded=_flag(given, "includeDecoded"),
            typed=_typed(given),
            columns=_columns(given, mode),
            mode=mode,
            fail_on_data_loss=fails,
            committed=_committed(given),
            allow_empty=_flag(given, "allowEmpty"),
            min_tasks=_count(given, "minPartitions"),
            task_offsets=_count(given, "maxRecordsPerPartition"),
            trigger_offsets=_count(given, "maxOffsetsPerTrigger"),
            least_offsets=_count(given, "minOffsetsPerTrigger"),
            trigger_delay=_seconds(given, "maxTriggerDelay", 900),
            reading=LogReadOptions(
                check_crc=_flag(given, "verifyCrc", default=True),
                control=_flag(given, "includeControlRecords"),
                on_error=_on_error(permissive, fails, streaming),
                limits=_limits(given),
            ),
            task_bytes=_size(given, "maxPartitionBytes", None),
            hadoop={name: value for name, value in given.items() if name.startswith(_HADOOP)},
            # checked last: the source for the JVM uses this function for the errors of its own paths
            paths=_paths(given),
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
            topics = frozenset(each.topic for each in self.assign)
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


def _on_error(permissive: bool, fails: bool, streaming: bool | None) -> OnError:
    """What two options mean together: what cannot be reached may be damaged, and may be lost.

    A stream never goes past it: its checkpoint would count it as read.
    """
    if not permissive:
        return "raise"
    return "skip" if fails or streaming else "skip-unreachable"


def _check_names(given: Mapping[str, str]) -> None:
    """Refuse an unknown name: it may be a misspelled option that selects rows."""
    for name, text in REFUSED.items():
        if name.lower() in given:
            raise OptionError(name, text)
    for name in given:
        if name in _KNOWN or name.startswith((_KAFKA, _HADOOP, "option.")):
            continue
        hint = meant(name, _KNOWN.values()) or "; docs/spark-options.md lists them"
        raise OptionError(name, f"there is no such option{hint}")


def _paths(given: Mapping[str, str]) -> tuple[str, ...]:
    if "path" in given:
        texts = [given["path"]]
    elif "paths" in given:
        try:
            texts = json.loads(given["paths"])
        except (ValueError, RecursionError):
            texts = None
        if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
            _wrong("paths", 'JSON like ["/data/logs"]', given["paths"])
    else:
        texts = []
    if not texts:
        raise OptionError("path", 'say what to read: .load("/path/of/a/log/directory")')
    return tuple(map(_readable, texts))


def _tier(given: Mapping[str, str]) -> str | None:
    text = given.get("tier")
    if text is not None and not text.strip():
        _wrong("tier", "the path or the URL of remote storage, like s3://bucket/prefix", text)
    return None if text is None else _readable(text, "tier")


def _keys(given: Mapping[str, str]) -> TierKeys | None:
    """Where private keys are. A command may contain what nobody else may see: no error quotes it."""
    file, command = given.get("tierkey"), given.get("tierkeycommand")
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


def _readable(text: str, option: str = "path") -> str:
    """A path or a URL that this source reads, for `path_of`. Raises OptionError."""
    if is_view(text) or is_url(text) in SCHEMES:
        try:
            return path_of(text).as_uri()
        except ArgumentError as error:
            raise OptionError(option, str(error)) from None
    return local_path(text, "read by the Python source", option)


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


def _names(given: Mapping[str, str], name: str) -> frozenset[str] | None:
    text = given.get(name.lower())
    if text is None:
        return None
    found = frozenset(each.strip() for each in text.split(",") if each.strip())
    return found or _wrong(name, "topics with commas between them, like orders,paid", text)


def _pattern(given: Mapping[str, str]) -> re.Pattern[str] | None:
    """A pattern of Java as one of Python, where both mean the same."""
    text = given.get("subscribepattern")
    if text is None:
        return None
    if not text.strip():
        return _wrong(
            "subscribePattern", "a regular expression for whole names of topics, like orders.*", text
        )
    try:
        with warnings.catch_warnings():
            # Java has operators on sets of characters where Python matches the characters.
            warnings.simplefilter("error")
            return re.compile(text.strip(), re.ASCII)
    except (re.error, Warning) as error:
        raise OptionError(
            "subscribePattern", f"{text!r} cannot be read ({error}); use what Java and Python share"
        ) from None


def _assignment(given: Mapping[str, str]) -> frozenset[TopicPartition] | None:
    text = given.get("assign")
    if text is None:
        return None
    try:
        found = frozenset(
            TopicPartition(topic, _whole(each))
            for topic, numbers in json.loads(text).items()
            for each in numbers
        )
    except (AttributeError, TypeError, ValueError, RecursionError):
        found = frozenset()
    return found or _wrong("assign", 'JSON like {"orders":[0,1]}', text)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError
    return value

    # -- starts and ends -----------------------------------------------------------------------------


def _start(given: Mapping[str, str], streaming: bool | None) -> Edge:
    default = "latest" if streaming else "earliest"
    edge = _edge(given, _STARTS, {"earliest": EARLIEST, "latest": LATEST}, default)
    if streaming is False and _has(edge, LATEST):
        raise OptionError(
            edge.option, "a batch query cannot start at the latest offset; use earliest, or an offset"
        )
    return edge


def _end(given: Mapping[str, str], streaming: bool | None) -> Edge:
    if streaming:
        for name in _ENDS:
            if name.lower() in given:
                raise OptionError(name, "a stream has no end; leave it out, or read a batch")
        return _LATEST
    edge = _edge(given, _ENDS, {"earliest": EARLIEST, "latest": LATEST}, "latest")
    if _has(edge, EARLIEST):
        raise OptionError(edge.option, "a query cannot end at the earliest offset; use latest, or an offset")
    return edge


def _has(edge: Edge, special: int) -> bool:
    if edge.timed:
        return False
    return edge.of == special if isinstance(edge.of, int) else special in edge.of.values()


def _edge(given: Mapping[str, str], names: tuple[str, ...], words: Mapping[str, int], default: str) -> Edge:
    """The first of the three options that is set: a time, times as JSON, offsets as a word or as JSON."""
    time, times, offsets = names
    if (text := given.get(time.lower())) is not None:
        return Edge(time, _time(time, text), timed=True)
    if (text := given.get(times.lower())) is not None:
        example = '{"orders":{"0":1700000000000}}, in milliseconds since 1970'
        return Edge(times, _by_partition(times, text, 0, example), timed=True)
    text = given.get(offsets.lower(), default)
    word = words.get(text.strip().lower())
    if word is not None:
        return Edge(offsets, word)
    example = 'earliest, latest, or JSON like {"orders":{"0":23,"1":-2}}, where -2 is earliest and -1 latest'
    return Edge(offsets, _by_partition(offsets, text, EARLIEST, example))


def _time(name: str, text: str) -> int:
    if re.fullmatch(r"\s*[0-9]{1,18}\s*", text) is None:
        _wrong(name, "a time in milliseconds since 1970, like 1700000000000", text)
    return int(text)


def _by_partition(name: str, text: str, least: int, example: str) -> Mapping[TopicPartition, int]:
    try:
        found = {
            TopicPartition(topic, int(partition)): _whole(value)
            for topic, values in json.loads(text).items()
            for partition, value in values.items()
        }
    except (AttributeError, TypeError, ValueError, RecursionError):
        found = {}
    if not found or any(not least <= value < 2**63 for value in found.values()):
        _wrong(name, example, text)
    return found


# -- words and numbers ----------------------------------------------------------------------------


def _wrong(name: str, need: str, text: str) -> NoReturn:
    raise OptionError(name, f"expected {need}; not {text!r}")


def _word(given: Mapping[str, str], name: str, words: tuple[W, ...], default: str) -> W:
    value = given.get(name.lower(), default)
    found = next((word for word in words if word == value.lower()), None)
    return _wrong(name, " or ".join(words), value) if found is None else found


def _flag(given: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    return _word(given, name, ("true", "false"), str(default).lower()) == "true"


def _mode(given: Mapping[str, str]) -> Mode:
    modes: tuple[Mode, ...] = ("failfast", "permissive", "quarantine")
    return _word(given, "mode", modes, "failfast")


def _committed(given: Mapping[str, str]) -> bool:
    return (
        _word(given, _ISOLATION, ("read_uncommitted", "read_committed"), "read_uncommitted")
        == "read_committed"
    )


def _columns(given: Mapping[str, str], mode: Mode) -> tuple[str, ...] | None:
    text = given.get("columns")
    if text is None:
        return None
    known = [column.name for column in (QUARANTINE if mode == "quarantine" else COLUMNS)]
    found = [name.strip() for name in text.split(",") if name.strip()]
    wrong = [name for name in found if name not in known]
    if wrong:
        near = meant(wrong[0], known, f"there are {', '.join(known)}")
        raise OptionError("columns", f"no column is called {wrong[0]}{near}")
    if not found or len(set(found)) < len(found):
        _wrong("columns", "names of columns, each once, like offset,value", text)
    for column in COLUMNS:
        if column.option in _FORMATS.values() and column.name in found and column.option.lower() not in given:
            raise OptionError("columns", f"{column.name} needs {column.option}")
    return tuple(found)


def _typed(given: Mapping[str, str]) -> TypedOptions | None:
    formats: dict[Part, TypedFormat] = {
        part: _word(given, name, get_args(TypedFormat), "")
        for part, name in _FORMATS.items()
        if name.lower() in given
    }
    for name in _OF_TYPED:
        part: Part | None = next((part for part, reader in READER_SCHEMAS.items() if reader == name), None)
        if name.lower() in given and not (formats if part is None else part in formats):
            raise OptionError(
                name, f"it needs {' or '.join(_FORMATS.values()) if part is None else _FORMATS[part]}"
            )
    if not formats:
        return None
    readers = {part: given[name.lower()] for part, name in READER_SCHEMAS.items() if name.lower() in given}
    form: TypedAs | None = _word(given, "typedAs", get_args(TypedAs), "") if "typedas" in given else None
    lacking = [READER_SCHEMAS[part] for part in formats if part not in readers]
    if form == "struct" and lacking:
        raise OptionError("typedAs", f"struct needs {' and '.join(lacking)}")
    return TypedOptions(
        formats, readers, given.get("schemas"), _word(given, "framing", FRAMINGS, "auto"), form
    )


def _limits(given: Mapping[str, str]) -> Limits:
    default = Limits()
    return Limits(
        batch_bytes=_size(given, "maxBatchBytes", default.batch_bytes),
        decompressed_bytes=_size(given, "maxDecompressedBytes", default.decompressed_bytes),
        elements=_size(given, "maxElements", default.elements),
    )


def _size(given: Mapping[str, str], name: str, default: T) -> int | T:
    text = given.get(name.lower())
    if text is None:
        return default
    match = re.fullmatch(r"\s*([0-9]{1,18})\s*([a-z]*)\s*", text.lower())
    if match is None or match[2] not in _UNITS or int(match[1]) == 0:
        _wrong(name, "a size above 0, like 64m", text)
    return int(match[1]) * _UNITS[match[2]]


def _seconds(given: Mapping[str, str], name: str, default: float) -> float:
    text = given.get(name.lower())
    if text is None:
        return default
    match = re.fullmatch(r"\s*([0-9]{1,18})\s*([a-z]*)\s*", text.lower())
    if match is None or match[2] not in _TIMES or int(match[1]) * _TIMES[match[2]] >= 2**63:
        _wrong(name, "a time, like 90s or 15m", text)
    return int(match[1]) * _TIMES[match[2]] / 1000


def _count(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name.lower())
    if text is None:
        return None
    if re.fullmatch(r"\s*[0-9]{1,18}\s*", text) is None or int(text) == 0:
        _wrong(name, "a whole number above 0", text)
    return int(text)
