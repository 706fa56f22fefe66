#!/usr/bin/env python3
"""Runs every reader over the directory of a broker at work, and compares what it gives with what was sent.

    python tests/labs/live_lab.py --minutes 5

The broker takes records, rolls small segments, deletes them by size and by time, compacts, and ends
transactions, while one reader after another reads all of it, again and again. Each record says by its value
who sent it, its number, whether its transaction was to be committed, and a checksum. A finding is an error, a
verdict of damage, a record that was not sent so, that is given twice or in another order, or that is missing.

Exit code: 0 if nothing was found, 1 where something was, 2 where Kafka cannot be run.
"""

from __future__ import annotations

import argparse
import base64
import json
import shutil
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from kafka_lab import (
    CACHE,
    CODECS,
    GENERATIONS,
    Clients,
    Cluster,
    Toolbox,
    Unusable,
    say,
    step,
    stop_on_signal,
)

import kodec
from kodec.log.files.checkpoints import read_offsets

EXIT_UNUSABLE = 2
SETTINGS = "log.retention.check.interval.ms=300\n"
SMALL = ("internal.segment.bytes=6000", "index.interval.bytes=256", "file.delete.delay.ms=300")
COMPACT = ("cleanup.policy=compact", "min.cleanable.dirty.ratio=0.01", "delete.retention.ms=500")
KEYS = 25
# The most records that one sender sends at once.
IN_FLIGHT = 12
# What a broker takes to write the markers of a transaction that has ended, at most.
SETTLED_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of one partition; `senders` are transactional where there are two."""

    name: str
    settings: tuple[str, ...]
    senders: tuple[str, ...]
    compacted: bool = False
    # By time all of it may go.
    empties: bool = False


TOPICS = (
    Topic("live-size", ("retention.bytes=40000",), ("size",)),
    Topic("live-time", ("retention.ms=4000",), ("time",), empties=True),
    Topic("live-compact", COMPACT, ("compact",), compacted=True),
    Topic("live-transactions", ("retention.bytes=40000",), ("one", "two")),
    Topic("live-both", COMPACT, ("left", "right"), compacted=True),
)
BY_NAME = {topic.name: topic for topic in TOPICS}


class Sent(NamedTuple):
    """What a record's value says."""

    topic: str
    sender: str
    fate: str
    number: int


def value_of(sent: Sent) -> bytes:
    text = "|".join(map(str, sent)) + "|" + "some text " * (sent.number % 13)
    return f"{text}|{zlib.crc32(text.encode()):08x}".encode()


def sent_of(value: bytes | None) -> Sent:
    """Raises: ValueError for a value that nobody has sent."""
    text, _, checksum = (value or b"").decode().rpartition("|")
    if f"{zlib.crc32(text.encode()):08x}" != checksum:
        raise ValueError(f"a value that was not sent: {value!r:.80}")
    topic, sender, fate, number, _ = text.split("|")
    return Sent(topic, sender, fate, int(number))


# -- the broker's work --------------------------------------------------------------------------------

Numbers = dict[tuple[str, str], int]


@dataclass
class Known:
    """How many records of each sender and fate are acknowledged."""

    acknowledged: Numbers = field(default_factory=dict)
    # (when, what was acknowledged then), where no transaction was open.
    quiet: list[tuple[float, Numbers]] = field(default_factory=list)


class Work(threading.Thread):
    """Produces to all topics until it is given to end."""

    def __init__(self, clients: Clients) -> None:
        super().__init__(name="work")
        self.clients = clients
        self.known = {topic.name: Known() for topic in TOPICS}
        self.ended = threading.Event()
        self.error: BaseException | None = None
        self.turns = 0

    def run(self) -> None:
        try:
            self._open()
            while not self.ended.is_set():
                for topic in TOPICS:
                    (self._transactions if len(topic.senders) == 2 else self._plain)(topic)
                self.turns += 1
        except BaseException as error:
            self.error = error

    def _open(self) -> None:
        for topic in TOPICS:
            self.clients.do("topic", topic.name, 1, *SMALL, *topic.settings)
            for sender in topic.senders:
                kind = f"live-{sender}" if len(topic.senders) == 2 else "idempotent"
                codec = CODECS[(len(sender) + ord(sender[0])) % len(CODECS)]
                self.clients.do("open", sender, codec, kind)

    def _send(self, topic: Topic, sender: str, fate: str, count: int) -> tuple[tuple[str, str], int]:
        first = self.known[topic.name].acknowledged.get((sender, fate), 0)
        for number in range(first, first + count):
            value = value_of(Sent(topic.name, sender, fate, number))
            key = f"{fate} {sender} {number * 7 % KEYS}".encode()
            self.clients.do("send", sender, topic.name, 0, "-", key, value)
        self.clients.do("flush", sender)
        return (sender, fate), first + count

    def _plain(self, topic: Topic) -> None:
        key, count = self._send(topic, topic.senders[0], "commit", IN_FLIGHT)
        self.known[topic.name].acknowledged |= {key: count}

    def _transactions(self, topic: Topic) -> None:
        one, two = topic.senders
        fates = ("abort" if self.turns % 3 == 1 else "commit", "abort" if self.turns % 2 else "commit")
        known = self.known[topic.name]
        self.clients.do("begin", one)
        done = dict([self._send(topic, one, fates[0], 5)])
        self.clients.do("begin", two)
        done |= dict([self._send(topic, two, fates[1], 4)])
        self.clients.do("end", one, fates[0])
        self.clients.do("end", two, fates[1])
        known.acknowledged = known.acknowledged | done
        known.quiet = [*known.quiet[-500:], (time.monotonic(), known.acknowledged)]

    def now(self) -> dict[str, tuple[Numbers, Numbers]]:
        """For each topic what is acknowledged, and what must be there as committed."""
        limit = time.monotonic() - SETTLED_SECONDS
        found = {}
        for name, known in self.known.items():
            settled = [numbers for when, numbers in known.quiet if when < limit]
            found[name] = (dict(known.acknowledged), settled[-1] if settled else {})
        return found


# -- what readers give --------------------------------------------------------------------------------


class Wrong(Exception):
    """What a reader gave is not what was produced."""


Row = tuple[int, bytes | None]


class Judge:
    """Compares rows of topics with what was produced, and with what was given at the same offset before."""

    def __init__(
        self,
        now: Callable[[str], Numbers] = lambda topic: {},
        there: Callable[[str], Iterable[Row]] = lambda topic: (),
    ) -> None:
        """`now` shows what of a topic is acknowledged when asked, `there` gives what is in its log then."""
        self.now = now
        self.there = there
        self.seen: dict[str, dict[int, int]] = defaultdict(dict)
        self.rows = 0

    def judge(
        self,
        name: str,
        rows: Iterable[Row],
        before: tuple[Numbers, Numbers] | None,
        *,
        committed: bool = False,
    ) -> None:
        """`before` is None if not all of the topic was read. Raises: Wrong."""
        topic, seen = BY_NAME[name], self.seen[name]
        last_offset = -1
        numbers: dict[tuple[str, str], int] = {}
        newest: dict[tuple[str, str, int], int] = {}
        for offset, value in rows:
            self.rows += 1
            try:
                sent = sent_of(value)
            except ValueError as error:
                raise Wrong(f"{name}: offset {offset}: {error}") from None
            if sent.topic != name or sent.sender not in topic.senders:
                raise Wrong(f"{name}: offset {offset}: a record of {sent}")
            if offset <= last_offset:
                raise Wrong(f"{name}: offset {offset} behind {last_offset}")
            if committed and sent.fate != "commit":
                raise Wrong(f"{name}: offset {offset}: {sent} is given as committed")
            checksum = zlib.crc32(value or b"")
            if seen.setdefault(offset, checksum) != checksum:
                raise Wrong(f"{name}: offset {offset}: {sent}, and another record before")
            key = (sent.sender, sent.fate)
            follows = numbers.get(key, sent.number - 1) + 1
            gap = sent.number > follows and not topic.compacted
            if sent.number < follows or (gap and not self._deleted(topic, key, sent.number - 1)):
                raise Wrong(f"{name}: offset {offset}: {sent}, {follows} was to follow")
            numbers[key] = sent.number
            newest[(*key, sent.number % KEYS)] = sent.number
            last_offset = offset
        if before is not None:
            self._complete(topic, numbers, newest, before[committed], committed)

    def _complete(
        self,
        topic: Topic,
        numbers: dict[tuple[str, str], int],
        newest: dict[tuple[str, str, int], int],
        need: Numbers,
        committed: bool,
    ) -> None:
        if topic.empties:
            return
        for (sender, fate), count in need.items():
            if fate == "abort" and (committed or topic.compacted):
                continue
            if topic.compacted:
                # 7 and the number of keys have no common divisor: a key for each remainder. One that was
                # sent again while the log was read may be where nothing was looked for any more.
                end = self.now(topic.name).get((sender, fate), count)
                again = {number % KEYS for number in range(count, end + IN_FLIGHT if end > count else count)}
                for number in range(max(count - KEYS, 0), count):
                    key = number % KEYS
                    if newest.get((sender, fate, key), -1) < number and key not in again:
                        what = f"record {number} of {sender}, or a newer one of its key"
                        raise Wrong(f"{topic.name}: {what}, is missing")
            elif numbers.get((sender, fate), -1) < count - 1 and not self._deleted(
                topic, (sender, fate), count - 1
            ):
                raise Wrong(
                    f"{topic.name}: {count} records of {sender} ({fate}) were acknowledged, "
                    f"the last one given is {numbers.get((sender, fate))}"
                )

    def _deleted(self, topic: Topic, key: tuple[str, str], number: int) -> bool:
        """Whether a broker has deleted a record meanwhile, as all up to the first that is there."""
        for _, value in self.there(topic.name):
            sent = sent_of(value)
            if (sent.sender, sent.fate) == key:
                return sent.number > number
        # What a sender aborts comes in some of its turns only.
        return key[1] == "abort"


# -- the readers --------------------------------------------------------------------------------------


class Readers:
    """Every way to read a log directory; each method is one reading of all topics."""

    def __init__(self, logs: Path, out: Path, work: Work, judge: Judge, spark: bool) -> None:
        self.logs = logs
        self.out = out
        self.work = work
        self.judge = judge
        self.said: Counter[str] = Counter()
        self.incomplete = False
        self.listed: list[kodec.PartitionLog] = []
        self.session: Any = None
        if spark:
            from kodec.pipeline import session
            from kodec.pipeline.spark import QUIET

            self.session = session("local[1]", app_name="live", config=QUIET)

    def all(self) -> list[tuple[str, Callable[[], None]]]:
        found: list[tuple[str, Callable[[], None]]] = [
            ("LogDirectory, records", self.directory),
            ("LogDirectory, read_committed", self.directory_committed),
            ("PartitionLog that stays open", self.kept),
            ("PartitionLog.batches", self.batches),
            ("read_records", self.files),
            ("scan_table", self.tables),
            ("survey", self.survey),
            ("verify", self.verify),
            ("kodec ls", self.ls),
            ("kodec verify", self.verify_command),
            ("kodec dump", self.dump),
        ]
        if self.session is not None:
            found += [
                ("Spark, failfast", lambda: self.spark("failfast")),
                ("Spark, permissive", lambda: self.spark("permissive")),
                ("kodec export", self.export),
            ]
        return found

    def _logs(self) -> Iterator[kodec.PartitionLog]:
        for log in kodec.LogDirectory(self.logs):
            if log.topic_partition.topic in BY_NAME:
                yield log
            log.close()

    def directory(self) -> None:
        before = self.work.now()
        for log in self._logs():
            name = log.topic_partition.topic
            self.judge.judge(name, ((each.offset, each.value) for each in log.records()), before[name])

    def directory_committed(self) -> None:
        before = self.work.now()
        for log in self._logs():
            name = log.topic_partition.topic
            rows = ((each.offset, each.value) for each in log.records(isolation="read_committed"))
            self.judge.judge(name, rows, before[name], committed=True)

    def kept(self) -> None:
        """Logs that were listed a while ago: what was deleted since may be missing, the rest is right."""
        if not self.listed:
            self.listed = [
                log for log in kodec.LogDirectory(self.logs) if log.topic_partition.topic in BY_NAME
            ]
            # Which lists the segments, and opens the last.
            self.said["offsets of logs that stayed open"] += sum(log.end_offset for log in self.listed)
            return
        for log in self.listed:
            rows = ((each.offset, each.value) for each in log.records())
            self.judge.judge(log.topic_partition.topic, rows, None)
            log.close()
        self.listed = []

    def batches(self) -> None:
        before = self.work.now()
        for log in self._logs():
            name = log.topic_partition.topic
            rows = ((each.offset, each.value) for batch in log.batches() for each in batch.records())
            self.judge.judge(name, rows, before[name])

    def _files(self) -> Iterator[Path]:
        for name in BY_NAME:
            yield from sorted((self.logs / f"{name}-0").glob("*.log"))

    def _of_file(self, path: Path, rows: Callable[[], Iterable[Row]]) -> None:
        try:
            self.judge.judge(path.parent.name.removesuffix("-0"), rows(), None)
        except FileNotFoundError:
            if path.exists():
                # It may have been put there anew by the cleaner.
                self.judge.judge(path.parent.name.removesuffix("-0"), rows(), None)
            self.said["a file was deleted before it was read"] += 1

    def files(self) -> None:
        for path in self._files():
            self._of_file(
                path, lambda path=path: ((each.offset, each.value) for each in kodec.read_records(path))
            )

    def tables(self) -> None:
        def rows(path: Path) -> Iterator[Row]:
            with kodec.scan_table(path, ["offset", "value"]) as reader:
                for batch in reader:
                    yield from zip(batch["offset"].to_pylist(), batch["value"].to_pylist(), strict=True)

        for path in self._files():
            self._of_file(path, lambda path=path: rows(path))

    def survey(self) -> None:
        for log in kodec.LogDirectory(self.logs):
            found = kodec.repair.survey(log, check_crc=True)
            if found.health != "clean":
                raise Wrong(f"{log.path}: {found.health}: {found.problems}")
            log.close()

    def verify(self) -> None:
        found = [problem for problem in kodec.repair.verify(self.logs) if not problem.note]
        if found:
            raise Wrong("; ".join(map(str, found)))

    def _command(self, *arguments: str | Path) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "kodec", *map(str, arguments)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            told = f"{done.stdout[-1500:]}{done.stderr[-1500:]}"
            raise Wrong(f"kodec {arguments[0]} ends with {done.returncode}: {told}")
        if "No such file" in done.stderr:
            self.said[f"kodec {arguments[0]} said that a file was deleted since it was listed"] += 1
            self.incomplete = True
        return done.stdout

    def ls(self) -> None:
        rows = [json.loads(line) for line in self._command("ls", "--json", "--crc", self.logs).splitlines()]
        wrong = [row for row in rows if row["health"] != "clean"]
        if wrong or not set(BY_NAME) <= {row["topic"] for row in rows}:
            raise Wrong(f"kodec ls: {wrong or 'a topic is missing'}")

    def verify_command(self) -> None:
        self._command("verify", self.logs)

    def dump(self) -> None:
        for name in BY_NAME:
            before = self.work.now()[name]
            self.incomplete = False
            lines = self._command("dump", "--json", self.logs / f"{name}-0").splitlines()
            rows = [json.loads(line) for line in lines]
            found = [(row["offset"], base64.b64decode(row["value"])) for row in rows]
            self.judge.judge(name, found, None if self.incomplete else before)

    def spark(self, mode: str) -> None:
        before = self.work.now()
        frame = (
            self.session.read.format("kafka-log")
            .option("mode", mode)
            .schema("topic string, offset long, value binary")
        )
        self._rows(frame.load(str(self.logs)).toArrow(), before)

    def export(self) -> None:
        before = self.work.now()
        shutil.rmtree(self.out, ignore_errors=True)
        self._command("export", self.logs, "--to", self.out, "--master", "local[1]")
        import pyarrow.dataset as ds

        table = ds.dataset(self.out, partitioning="hive").to_table(columns=["topic", "offset", "value"])
        self._rows(table, before)

    def _rows(self, table: Any, before: dict[str, tuple[Numbers, Numbers]]) -> None:
        found: dict[str, list[Row]] = {name: [] for name in BY_NAME}
        columns = (table[name].to_pylist() for name in ("topic", "offset", "value"))
        for topic, offset, value in zip(*columns, strict=True):
            if topic in found:
                found[topic].append((offset, bytes(value)))
        for name, rows in found.items():
            self.judge.judge(name, sorted(rows), before[name])


# -- a run --------------------------------------------------------------------------------------------


@dataclass
class Found:
    """What a run has seen."""

    readings: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    segments: set[tuple[str, int]] = field(default_factory=set)
    cleaned: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))


def in_log(folder: Path) -> Iterator[Row]:
    with kodec.PartitionLog(folder) as log:
        for record in log.records():
            yield record.offset, record.value


def look(logs: Path, found: Found) -> None:
    """Note which segments there are, and how far the cleaner has come."""
    for name in BY_NAME:
        found.segments |= {(name, int(path.stem)) for path in (logs / f"{name}-0").glob("*.log")}
    checkpoint = logs / "cleaner-offset-checkpoint"
    if checkpoint.is_file():
        for key, offset in read_offsets(checkpoint).items():
            found.cleaned[key.topic].add(offset)


def run(minutes: float, repository: Path, *, spark: bool, only: list[str]) -> Found:
    """Raises: Unusable."""
    work_folder = CACHE / "work" / "live"
    work_folder.mkdir(parents=True, exist_ok=True)
    tools = Toolbox(work_folder, repository, GENERATIONS["4.3"])
    tools.prepare()
    found = Found()
    with Cluster(tools, SETTINGS) as cluster:
        work = Work(cluster.clients)
        judge = Judge(
            lambda topic: work.known[topic].acknowledged,
            lambda topic: in_log(cluster.broker.logs / f"{topic}-0"),
        )
        work.start()
        try:
            readers = Readers(cluster.broker.logs, work_folder / "exported", work, judge, spark)
            while work.turns < 5 and work.error is None:
                time.sleep(0.1)
            end = time.monotonic() + 60 * minutes
            with step(f"Reading for {minutes} minutes"):
                while time.monotonic() < end and work.error is None:
                    for name, read in readers.all():
                        if only and not any(each in name for each in only):
                            continue
                        # A reading in this process takes less time than to start another one.
                        for _ in range(1 if name.startswith(("kodec", "Spark")) else 6):
                            look(cluster.broker.logs, found)
                            try:
                                read()
                            except Exception as error:
                                found.findings.append(f"{name}: {type(error).__name__}: {error}")
                                say(f"    FOUND {found.findings[-1][:1500]}")
                            found.readings[name] += 1
        finally:
            work.ended.set()
            work.join()
        if work.error is not None:
            raise Unusable(f"the work ended: {work.error}")
        sent = sum(count for known in work.known.values() for count in known.acknowledged.values())
    cleanings = sum(len(offsets) for offsets in found.cleaned.values())
    for name, count in found.readings.items():
        say(f"{count:6} readings by {name}")
    for what, count in readers.said.items():
        say(f"{count:6} times {what}")
    say(
        f"{sent:,} records produced, {len(found.segments)} segments, {cleanings} cleanings seen; "
        f"{judge.rows:,} records compared; {len(found.findings)} findings"
    )
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument(
        "--no-spark", action="store_true", help="without Spark and the export, which is made by it"
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="TEXT", help="only readers with this in their name"
    )
    parser.add_argument("--maven-repository", type=Path, default=CACHE / "maven-repository")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, stop_on_signal)
    try:
        found = run(given.minutes, given.maven_repository, spark=not given.no_spark, only=given.only)
    except Unusable as problem:
        print(f"error: {problem}", file=sys.stderr)
        return EXIT_UNUSABLE
    return 1 if found.findings else 0


if __name__ == "__main__":
    sys.exit(main())
