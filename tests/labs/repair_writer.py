"""Writes logs with kodec's LogWriter for a broker to judge, and remembers what its consumer has to read."""

from __future__ import annotations

import itertools
import struct
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import lab_records
from kafka_lab import CODECS, LEGACY_CODECS

import kodec
from kodec import LogConfig, LogDirectoryWriter, LogWriter, Record, TimestampType

# The first of the producer ids that we give: far above those that the broker gives out here.
PRODUCER = 4_000
DAY = 86_400_000
_COMMIT = 1
_ABORT = 0


class Read(NamedTuple):
    """A record as a consumer reads it; the time in ms, with its type by name."""

    offset: int
    timestamp: int
    timestamp_type: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


@dataclass(slots=True)
class _Written:
    row: Read
    # Of a transaction: its producer; None once it is committed, or if there is none.
    producer: int | None = None
    aborted: bool = False


class Script:
    """Appends to one log and shows what of it can be read.

    Attributes: `written` is what was appended, `sequences` the next sequence of each producer.
    """

    def __init__(self, writer: LogWriter) -> None:
        self.writer = writer
        self.written: list[_Written] = []
        self.sequences: dict[int, int] = {}
        self.batches: dict[int, bytes] = {}

    def add(
        self,
        records: Iterable[Record],
        codec: str = "none",
        *,
        producer: int = -1,
        transactional: bool = False,
        keep_offsets: bool = False,
        magic: int = 2,
    ) -> None:
        """Append records as one batch, or in magic 0 and 1 as messages or a wrapper."""
        some = list(records)
        fields: dict[str, Any] = {"magic": magic}
        if producer >= 0:
            first = self.sequences.get(producer, 0)
            fields |= {"producer_id": producer, "producer_epoch": 0, "base_sequence": first}
            self.sequences[producer] = first + len(some)
        if transactional:
            fields["transactional"] = True
        offset = self.writer.next_offset
        self.writer.append(some, keep_offsets=keep_offsets, compression=codec, **fields)
        for number, one in enumerate(some):
            kind = one.timestamp_type if magic else TimestampType.NO_TIMESTAMP_TYPE
            row = Read(
                one.offset if keep_offsets else offset + number,
                one.timestamp if magic else -1,
                str(kind),
                one.key,
                one.value,
                tuple(one.headers),
            )
            self.written.append(_Written(row, producer if transactional else None))

    def end(self, producer: int, timestamp: int, *, commit: bool) -> None:
        """End a producer's transaction by a marker."""
        key = struct.pack(">hh", 0, _COMMIT if commit else _ABORT)
        marker = lab_records.record(timestamp, key, struct.pack(">hi", 0, 0))
        self.writer.append([marker], producer_id=producer, producer_epoch=0, transactional=True, control=True)
        for one in self.written:
            if one.producer == producer:
                one.producer, one.aborted = None, one.aborted or not commit

    def rows(self, isolation: str) -> list[Read]:
        """What a consumer has to read: in `read_committed` nothing aborted, nothing after an open one."""
        if isolation == "read_uncommitted":
            return [one.row for one in self.written]
        rows = []
        for one in self.written:
            if one.producer is not None:
                break
            if not one.aborted:
                rows.append(one.row)
        return rows


@dataclass(frozen=True, slots=True)
class Case:
    """A topic that we write, and why."""

    name: str
    purpose: str
    partitions: int = 1
    settings: dict[str, str] = field(default_factory=dict)


SMALL = {"internal.segment.bytes": "2048", "index.interval.bytes": "256"}
CASES = (
    Case("a-codecs", "edge cases and a record of 70 KB in each codec; three partitions, one empty", 3),
    Case("a-segments", "segments by size", 1, SMALL),
    Case("a-time", "segments by segment.ms", 1, {"segment.ms": "1000"}),
    Case(
        "a-index", "segments by full indexes", 1, {"segment.index.bytes": "36", "index.interval.bytes": "64"}
    ),
    Case("a-idempotent", "three idempotent producers, several segments", 1, SMALL),
    Case("a-transactions", "transactions in turn: committed, aborted, one open", 1, SMALL),
    Case(
        "a-compacted",
        "a compacted topic with tombstones",
        1,
        SMALL | {"cleanup.policy": "compact", "min.compaction.lag.ms": str(100 * DAY)},
    ),
    Case("a-epochs", "two leader epochs, the log reopened in between", 1, SMALL),
    Case("a-start", "a log that starts at offset 1000", 1, SMALL),
    Case("a-append.time", "LogAppendTime", 1, {"message.timestamp.type": "LogAppendTime"}),
    Case("a-gaps", "offsets with gaps, as a follower gets them", 1, SMALL),
    Case("a-v0", "messages v0, in each codec", 1, SMALL),
    Case("a-v1", "messages v1, in each codec", 1, SMALL),
)
_CONFIG = LogConfig(segment_bytes=2048, index_interval_bytes=256)
_CONFIGS = {
    "a-codecs": LogConfig(),
    "a-time": LogConfig(segment_ms=1000),
    "a-index": LogConfig(segment_index_bytes=36, index_interval_bytes=64),
    "a-append.time": LogConfig(),
}


class OurDirectory:
    """Writes the logs of all cases into a new log directory; `scripts` are by topic and partition."""

    def __init__(self, root: Path, identity: dict[str, Any], topic_ids: dict[str, UUID], now: int) -> None:
        self.scripts: dict[tuple[str, int], Script] = {}
        self.root = root
        self._identity = identity
        self._ids = topic_ids
        self._now = now

    def write(self, epochs: Iterable[int] = (1,)) -> None:
        """Write all; one log is opened anew for each of `epochs`, which the broker must have reached."""
        with self._opened() as directory:
            for case in CASES:
                for partition in range(case.partitions):
                    writer = directory.partition(
                        case.name,
                        partition,
                        config=_CONFIGS.get(case.name, _CONFIG),
                        topic_id=self._ids[case.name],
                        leader_epoch=0,
                        start_offset=1000 if case.name == "a-start" else 0,
                    )
                    self.scripts[case.name, partition] = Script(writer)
            self._fill()
        for epoch in epochs:
            with self._opened() as directory:
                script = self.scripts["a-epochs", 0]
                script.writer = directory.partition("a-epochs", 0, config=_CONFIG, leader_epoch=epoch)
                for records in chunks(numbered(f"epoch {epoch}", 30, self._now), 10):
                    script.add(records, "lz4")

    def _opened(self) -> LogDirectoryWriter:
        return LogDirectoryWriter(self.root, **self._identity)

    def _fill(self) -> None:
        now, scripts = self._now, self.scripts
        for codec in CODECS:
            for records in [*lab_records.edge_cases(headers=True), lab_records.huge()]:
                scripts["a-codecs", 0].add(records, codec)
            for records in chunks(numbered(codec, 40, now), 8):
                scripts["a-codecs", 1].add(records, codec)
        for number, records in enumerate(chunks(numbered("segments", 300, now), 6)):
            scripts["a-segments", 0].add(records, CODECS[number % len(CODECS)])
        for records in chunks(numbered("time", 60, now, step=100), 3):
            scripts["a-time", 0].add(records)
        for records in chunks(numbered("index", 60, now), 3):
            scripts["a-index", 0].add(records)
        idempotent(scripts["a-idempotent", 0], now)
        transactions(scripts["a-transactions", 0], now)
        keyed = numbered("compacted", 120, now)
        for number, records in enumerate(chunks(keyed, 6)):
            gone = lab_records.record(now + 1, f"k{number}", None)
            scripts["a-compacted", 0].add([*records, gone], CODECS[number % len(CODECS)])
        for records in chunks(numbered("epoch 0", 30, now), 10):
            scripts["a-epochs", 0].add(records)
        for records in chunks(numbered("start", 60, now), 6):
            scripts["a-start", 0].add(records, "zstd")
        for records in chunks(numbered("append time", 20, now), 5):
            stamped = [
                Record(
                    offset=-1,
                    timestamp=records[0].timestamp,
                    timestamp_type=TimestampType.LOG_APPEND_TIME,
                    key=one.key,
                    value=one.value,
                    headers=one.headers,
                )
                for one in records
            ]
            scripts["a-append.time", 0].add(stamped, "gzip")
        gaps(scripts["a-gaps", 0], now)
        for magic in (0, 1):
            script = scripts[f"a-v{magic}", 0]
            for codec in LEGACY_CODECS:
                for records in [*lab_records.edge_cases(headers=False), lab_records.huge()[1:]]:
                    script.add(timeless(records) if magic == 0 else records, codec, magic=magic)


def numbered(tag: str, count: int, start: int, step: int = 10) -> list[Record]:
    """Records with a header each, ten keys in turn, `step` ms apart from `start` on."""
    return [
        lab_records.record(
            start + number * step, f"k{number % 10}", f"{tag} value {number}", ("n", b"%d" % number)
        )
        for number in range(count)
    ]


def chunks(records: list[Record], size: int) -> Iterator[list[Record]]:
    for at in range(0, len(records), size):
        yield records[at : at + size]


def timeless(records: list[Record]) -> list[Record]:
    """What of them a message of magic 0 can hold."""
    return [lab_records.record(-1, one.key, one.value) for one in records]


def gaps(script: Script, now: int) -> None:
    """Batches whose offsets have gaps inside and between."""
    at = 0
    for batch in range(20):
        records = []
        for number in range(5):
            records.append(
                kodec.Record(
                    offset=at,
                    timestamp=now + batch,
                    timestamp_type=TimestampType.CREATE_TIME,
                    key=b"k",
                    value=b"gap %d" % number,
                    headers=(),
                )
            )
            at += 1 + (batch + number) % 3
        script.add(records, keep_offsets=True)
        at = script.writer.next_offset + batch % 4


def idempotent(script: Script, now: int) -> None:
    """Three producers, by turns, with batches that grow."""
    for batch in range(1, 10):
        for producer in range(3):
            records = numbered(f"producer {producer}, batch {batch}", batch, now + batch * 1000)
            script.add(records, CODECS[producer], producer=PRODUCER + producer)


def transactions(script: Script, now: int) -> None:
    """Interleaved transactions over several segments; the last one stays open."""
    a, b, c, left = (PRODUCER + 10 + number for number in range(4))
    for turn in range(8):
        at = now + turn * 10_000
        script.add(numbered(f"a {turn}", 4, at), producer=a, transactional=True)
        script.add(numbered(f"b {turn}", 4, at + 1000), "lz4", producer=b, transactional=True)
        script.add(numbered(f"between {turn}", 3, at + 2000), "gzip")
        script.end(a, at + 3000, commit=True)
        script.add(numbered(f"c {turn}", 4, at + 4000), "zstd", producer=c, transactional=True)
        script.add(numbered(f"b again {turn}", 2, at + 5000), producer=b, transactional=True)
        script.end(b, at + 6000, commit=False)
        script.end(c, at + 7000, commit=turn % 3 > 0)
    script.add(numbered("open", 3, now + 100_000), producer=left, transactional=True)
    script.add(numbered("behind the open one", 3, now + 110_000), "snappy")
    script.add(numbered("aborted behind", 3, now + 120_000), producer=a, transactional=True)
    script.end(a, now + 130_000, commit=False)


# ------------------------------------------------------------------ a writer that is killed

KILLED = Case(
    "k-killed", "idempotent producers in all codecs; the writer is killed during an append", 1, SMALL
)


def endless(folder: Path) -> Iterator[Script]:
    """Append to a log for ever, by one script, which is given after each append."""
    script = Script(LogWriter(folder, config=_CONFIG))
    for number in itertools.count():
        records = numbered(f"append {number}", 1 + number % 7, lab_records.START)
        script.add(records, CODECS[number % len(CODECS)], producer=PRODUCER + number % 3)
        yield script


def killed(folder: Path, after: int) -> int:
    """Run `endless` in a process and kill it after so many appends; the last end that it printed."""
    command = [sys.executable, str(Path(__file__).resolve()), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(after):
            told = process.stdout.readline()
        process.kill()
        rest = process.stdout.read().split("\n")[:-1]
    return int([told, *rest][-1])


if __name__ == "__main__":
    for one in endless(Path(sys.argv[1])):
        print(one.writer.next_offset, flush=True)
