"""Facts about log directories: contents, health, sizes, times, gaps, producers, transactions, leftovers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from kodec.log.batches.batch import CODECS
from kodec.log.batches.records import Limits
from kodec.log.directories.directory import LogDirectory
from kodec.log.directories.gaps import find_gaps
from kodec.log.directories.losses import note_missing
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.listing import LeftoverKind, ReplicaKind, parse_segment_name
from kodec.log.files.lock import is_locked
from kodec.log.files.paths import PartitionPath
from kodec.log.omissions import Omissions
from kodec.log.reading.ahead import cores
from kodec.log.remote.opening import open_location
from kodec.log.remote.resolve import NotALog, resolve
from kodec.log.verification.problems import Problem
from kodec.log.verification.survey import Health, survey
from kodec.log.verification.verify import plan_checks
from kodec.log.views.producers import Producers, read_producers
from kodec.log.views.transactions import OpenTransaction, read_transactions
from kodec.report.savings import Savings, measure_savings
from kodec.report.times import Span, Timeline
from kodec.runtime.errors import KodecError
from kodec.stores.storage import entries

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "CHECKED",
    "CHECKED_BY_VERIFY",
    "DirectoryReport",
    "Growth",
    "Hidden",
    "MissingOffsets",
    "PartitionReport",
    "ProducerReport",
    "RootReport",
    "Stored",
    "look_into",
]

T = TypeVar("T")
R = TypeVar("R")

CHECKED = (
    "that files can be read",
    "the length and the header of each batch",
    "the order of offsets",
    "offsets that no segment holds",
    "leader epochs, in batches and checkpoints",
)
CHECKED_BY_VERIFY = (
    "checksums",
    "the records in batches",
    "offset and time indexes",
    "producer snapshots",
    "transaction indexes",
    "checkpoints",
)
_MOST = 1_000
_MOST_PRODUCERS = 100_000
_SPANS = 60
_HOUR = 3_600_000
_PERIODS = {"hour": _HOUR, "day": 24 * _HOUR, "week": 7 * 24 * _HOUR, "30 days": 30 * 24 * _HOUR}


@dataclass(frozen=True, slots=True)
class RootReport:
    """A folder; `live`: a broker holds its lock; `clean_shutdown`: None if that is unknown."""

    path: Path
    live: bool
    clean_shutdown: bool | None


@dataclass(slots=True)
class PartitionReport:
    """A topic-partition, as in `PartitionOverview`; `records` is None for compressed v0 and v1."""

    topic: str
    partition: int
    path: Path
    segments: int = 0
    bytes: int = 0
    batches: int = 0
    records: int | None = 0
    start_offset: int = 0
    end_offset: int = 0
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    codecs: list[str] = field(default_factory=list)
    magics: list[int] = field(default_factory=list)
    health: Health = "clean"


@dataclass(slots=True)
class Stored:
    """Batches of one codec and format; `records` is None if messages of v0 or v1 are compressed."""

    codec: str
    magic: int
    batches: int = 0
    records: int | None = 0
    bytes: int = 0


@dataclass(slots=True)
class ProducerReport:
    """The records of a producer with an id, by the remaining batch headers."""

    producer_id: int
    batches: int = 0
    records: int = 0
    bytes: int = 0
    partitions: int = 0


@dataclass(frozen=True, slots=True)
class MissingOffsets:
    """Offsets that no segment of a topic-partition holds; see `Gap`."""

    topic: str
    partition: int
    first: int
    last: int
    explained: bool
    why: str


@dataclass(frozen=True, slots=True)
class Hidden:
    """Files of one kind that use space and are not part of a log."""

    kind: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Growth:
    """The amount written in the last `period` before the newest records; `topic` is None for all."""

    topic: str | None
    period: str
    records: int
    bytes: int


@dataclass(slots=True)
class DirectoryReport:
    """Facts about log directories. Times are in ms since 1970-01-01 UTC.

    Attributes:
        checked, not_checked: the checks behind the health, and those not made.
        problems: the first 1,000; `problem_count`: their number.
        notes: the first 1,000 observations that are not problems.
        spans: records and stored bytes over time; a batch counts at its largest timestamp, a compressed
            message of v0 or v1 as one record.
        outside, timeless: the number of records outside all spans, and of those without a timestamp.
        gaps: the first 1,000; `gap_count`: their number.
        producers: the 1,000 with the most bytes; `producer_count`: their number. If a topic-partition has
            more than 100,000, some are missing.
        unnumbered_bytes: of batches without a producer id.
        transactions: the open transactions; `unread`: why some may be missing.
        savings: None without a sample.
        omissions: what the facts lack.
    """

    roots: list[RootReport] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    not_checked: list[str] = field(default_factory=list)
    partitions: list[PartitionReport] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    problem_count: int = 0
    notes: list[str] = field(default_factory=list)
    stored: list[Stored] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    outside: int = 0
    timeless: int = 0
    growth: list[Growth] = field(default_factory=list)
    gaps: list[MissingOffsets] = field(default_factory=list)
    gap_count: int = 0
    producers: list[ProducerReport] = field(default_factory=list)
    producer_count: int = 0
    unnumbered_bytes: int = 0
    transactions: list[OpenTransaction] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    hidden: list[Hidden] = field(default_factory=list)
    savings: Savings | None = None
    omissions: Omissions = field(default_factory=Omissions)

    @property
    def healthy(self) -> bool:
        """Whether no check found a problem; a torn tail, which recovery truncates, is harmless."""
        healths = {partition.health for partition in self.partitions}
        return not self.problem_count and self.omissions.is_whole and healths <= {"clean", "torn"}

    def _problem(self, text: str) -> None:
        self.problem_count += 1
        if len(self.problems) < _MOST:
            self.problems.append(text)

    def _note(self, text: str) -> None:
        if len(self.notes) < _MOST:
            self.notes.append(text)


class _Tally:
    """The totals of the headers of one log."""

    def __init__(self) -> None:
        self.stored: dict[tuple[str, int], Stored] = {}
        self.timeline = Timeline()
        self.producers: dict[int, ProducerReport] = {}
        self.unnumbered = 0
        self.transactional = False

    def take(self, table: pa.RecordBatch) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        self.timeline.take(table)
        self.transactional = self.transactional or pc.any(table["is_transactional"]).as_py()
        rows = pa.table({name: table[name] for name in ("magic", "size", "count", "producer_id")})
        rows = rows.append_column("codec", table["codec"].cast(pa.string()))
        rows = rows.append_column("unknown", pc.is_null(table["count"]).cast(pa.int64()))
        sums = [("size", "count"), ("size", "sum"), ("count", "sum"), ("unknown", "sum")]
        for row in rows.group_by(["codec", "magic"]).aggregate(sums).to_pylist():
            key = row["codec"], row["magic"]
            stored = self.stored.setdefault(key, Stored(*key))
            stored.batches += row["size_count"]
            stored.bytes += row["size_sum"]
            unknown = row["unknown_sum"] or stored.records is None
            stored.records = None if unknown else (stored.records or 0) + row["count_sum"]
        for row in rows.group_by("producer_id").aggregate(sums).to_pylist():
            number = row["producer_id"]
            if number < 0:
                self.unnumbered += row["size_sum"]
            elif number in self.producers or len(self.producers) < _MOST_PRODUCERS:
                writer = self.producers.setdefault(number, ProducerReport(number, partitions=1))
                writer.batches += row["size_count"]
                writer.records += row["count_sum"]
                writer.bytes += row["size_sum"]


@dataclass(slots=True)
class _Looked:
    """The findings of one log."""

    partition: PartitionReport
    tally: _Tally
    problems: list[str]
    gaps: list[MissingOffsets]
    hidden: Counter[tuple[str, str]]
    omissions: Omissions = field(default_factory=Omissions)


def look_into(
    *paths: str | os.PathLike[str],
    verify: bool = False,
    sample_bytes: int = 4 << 20,
    limits: Limits = Limits(),
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> DirectoryReport:
    """Collect facts about log directories, or topic-partitions' folders, without writing to them.

    Reads the headers of batches, as `survey` does, several topic-partitions at once; with `verify` everything
    is read and checked as by `kodec verify`. Memory depends on the answer, not on the size of the logs.

    Args:
        sample_bytes: the size of the sample that is converted to estimate other formats; 0 for none.
        threads: None for one per core.
        progress: called regularly with the number of bytes processed since the last call; each log counts
            once, with `verify` twice.

    Raises: NotALog for a path without logs; ValueError for a topic-partition in two places;
    OSError if a path cannot be listed.
    """
    report = DirectoryReport(checked=list(CHECKED))
    (report.checked if verify else report.not_checked).extend(CHECKED_BY_VERIFY)
    logs, directories = _logs_at(paths, limits, report)
    step = progress or (lambda size: None)
    timelines: dict[str, Timeline] = {}
    stored: dict[tuple[str, int], Stored] = {}
    producers: dict[int, ProducerReport] = {}
    hidden: Counter[tuple[str, str]] = Counter()
    transactional: list[PartitionLog] = []
    for log, looked in zip(
        logs, _in_order(lambda log: _look(log, step), logs, threads or cores()), strict=True
    ):
        report.partitions.append(looked.partition)
        for text in looked.problems:
            if looked.partition.health == "torn":
                report._note(text)
            else:
                report._problem(text)
        report.omissions.extend(looked.omissions)
        report.gap_count += len(looked.gaps)
        report.gaps += looked.gaps[: _MOST - len(report.gaps)]
        hidden.update(looked.hidden)
        tally = looked.tally
        for key, amount in tally.stored.items():
            _add(stored.setdefault(key, Stored(*key)), amount)
        for number, writer in tally.producers.items():
            _add(producers.setdefault(number, ProducerReport(number)), writer)
        report.unnumbered_bytes += tally.unnumbered
        timelines.setdefault(looked.partition.topic, Timeline()).merge(tally.timeline)
        if tally.transactional:
            transactional.append(log)
    report.stored = [stored[key] for key in sorted(stored, key=lambda key: (key[1], CODECS.index(key[0])))]
    report.producers = sorted(producers.values(), key=lambda producer: -producer.bytes)[:_MOST]
    report.producer_count = len(producers)
    _over_time(report, timelines)
    _open_transactions(report, transactional, directories, limits)
    for directory in directories:
        for replica in directory.not_live:
            hidden.update(_files(replica.path, _REPLICAS[replica.kind]))
    kinds = sorted({kind for kind, _ in hidden})
    report.hidden = [Hidden(kind, hidden[kind, "files"], hidden[kind, "bytes"]) for kind in kinds]
    if verify:
        _verify(report, paths, limits, step, threads or cores())
    if sample_bytes:
        topics: dict[str, list[PartitionLog]] = {}
        readable = [
            log
            for log, partition in zip(logs, report.partitions, strict=True)
            if partition.health != "unreadable"
        ]
        for log in readable:
            topics.setdefault(log.topic_partition.topic, []).append(log)
        report.savings = measure_savings(topics, sample_bytes)
    return report


def _logs_at(
    paths: Iterable[str | os.PathLike[str]], limits: Limits, report: DirectoryReport
) -> tuple[list[PartitionLog], list[LogDirectory]]:
    logs: list[PartitionLog] = []
    directories: list[LogDirectory] = []
    for path in map(open_location, paths):
        clean: bool | None = None
        if isinstance(resolve(path), PartitionPath):
            logs.append(PartitionLog(path, limits=limits))
            root = logs[-1].root
        else:
            directories.append(LogDirectory(path, limits=limits))
            logs += directories[-1]
            root = path
            report.omissions.extend(directories[-1].left_out)
            with suppress(KodecError, OSError):
                clean = directories[-1].roots[0].clean_shutdown() is not None
        live = False
        with suppress(OSError):
            live = is_locked(root)
        report.roots.append(RootReport(path, live, clean))
    return logs, directories


def _in_order(work: Callable[[T], R], items: Sequence[T], threads: int) -> Iterable[R]:
    """Each result in order; once the caller stops, as after Ctrl-C, no further call begins."""
    pool = ThreadPoolExecutor(threads, "kodec-report")
    try:
        yield from pool.map(work, items)
    finally:
        pool.shutdown(cancel_futures=True)


def _look(log: PartitionLog, step: Callable[[int], None]) -> _Looked:
    tally = _Tally()
    owner = log.topic_partition
    looked = _Looked(PartitionReport(*owner, log.path), tally, [], [], Counter())
    try:
        overview = survey(log, progress=step, seen=tally.take)
        for name in PartitionReport.__dataclass_fields__.keys() - {"topic", "partition", "path"}:
            setattr(looked.partition, name, getattr(overview, name))
        looked.problems += overview.problems
        for gap in find_gaps(log):
            reason = gap.why or "nothing explains it"
            looked.gaps.append(MissingOffsets(*owner, gap.first, gap.last, gap.is_explained, reason))
        note_missing(log, looked.omissions)
        looked.hidden = _files(log.path)
    except (KodecError, OSError) as error:
        looked.partition.health = "unreadable"
        looked.problems.append(f"{log.path}: {error}")
        looked.omissions.failed(log.path, error)
    finally:
        log.close()
    return looked


def _add(total: Stored | ProducerReport, more: Stored | ProducerReport) -> None:
    """Add up the counts of both."""
    total.batches += more.batches
    total.bytes += more.bytes
    total.records = None if total.records is None or more.records is None else total.records + more.records
    if isinstance(total, ProducerReport) and isinstance(more, ProducerReport):
        total.partitions += more.partitions


_REPLICAS = {
    ReplicaKind.DELETED: "-delete: replicas that wait for their deletion",
    ReplicaKind.FUTURE: "-future: replicas that move in from another directory",
    ReplicaKind.STRAY: "-stray: replicas that the cluster does not know",
}
_LEFT = {
    LeftoverKind.DELETED: ".deleted: files that wait for their deletion",
    LeftoverKind.CLEANED: ".cleaned: of compactions that did not end",
    LeftoverKind.SWAP: ".swap: of replacements of segments that did not end",
}
_BESIDE = "indexes, snapshots and other files beside logs"


def _files(folder: Path, kind: str | None = None) -> Counter[tuple[str, str]]:
    """Files and bytes by kind, without logs; with `kind`, all files count as that, logs too."""
    counts: Counter[tuple[str, str]] = Counter()
    with suppress(FileNotFoundError), entries(folder) as listing:
        for entry in listing:
            with suppress(FileNotFoundError):
                if not entry.is_file(follow_symlinks=False) or (kind is None and _is_log(entry.name)):
                    continue
                ending = entry.name.rpartition(".")[2]
                label = next(
                    (text for leftover_kind, text in _LEFT.items() if leftover_kind.value == ending), _BESIDE
                )
                counts[kind or label, "files"] += 1
                counts[kind or label, "bytes"] += entry.stat(follow_symlinks=False).st_size
    return counts


def _is_log(name: str) -> bool:
    return parse_segment_name(name) is not None


def _over_time(report: DirectoryReport, timelines: dict[str, Timeline]) -> None:
    """Fill in the records over time."""
    total = Timeline()
    for timeline in timelines.values():
        total.merge(timeline)
    report.timeless = total.timeless.records
    usual = total.usual()
    if usual is None:
        return
    first, last = usual
    report.spans = total.spans(first, last, _SPANS)
    everything = total.between(0, 1 << 63)
    report.outside = everything.records - sum(span.records for span in report.spans)
    for topic, timeline in [(None, total), *sorted(timelines.items())]:
        for period, length in _PERIODS.items():
            if length >= timeline.width and length < 2 * (last - first):
                amount = timeline.between(last - length, last)
                report.growth.append(Growth(topic, period, amount.records, amount.bytes))


def _open_transactions(
    report: DirectoryReport, logs: Sequence[PartitionLog], directories: Sequence[LogDirectory], limits: Limits
) -> None:
    """Fill in the open transactions, from the coordinator's topic if it is here."""
    omissions = Omissions()
    roots = [root.path for directory in directories for root in directory.roots]
    try:
        topics = {log.topic_partition.topic for log in logs}
        known = {log.topic_partition for directory in directories for log in directory}
        if logs and roots and known >= {log.topic_partition for log in logs}:
            states = read_transactions(*roots, topics=topics, limits=limits)
            report.transactions, omissions = states.open, states.omissions
        else:
            report.transactions = list(_of_producers(logs, omissions))
    except NotALog:
        # the coordinator's topic is not here
        report.transactions = list(_of_producers(logs, omissions))
    except (KodecError, OSError) as error:
        omissions.failed(roots[0], error)
    report.unread += map(str, omissions.losses)


def _of_producers(logs: Sequence[PartitionLog], omissions: Omissions) -> Iterator[OpenTransaction]:
    for log in logs:
        try:
            yield from _unjudged(read_producers(log, omissions))
        except (KodecError, OSError) as error:
            omissions.failed(log.path, error)


def _unjudged(producers: Producers) -> Iterable[OpenTransaction]:
    for producer in producers.producers:
        if producer.transaction_offset is not None:
            yield OpenTransaction(
                producers.topic_partition,
                producer.producer_id,
                producer.epoch,
                producer.coordinator_epoch,
                producer.transaction_offset,
                producer.transaction_timestamp,
                producer.last_timestamp,
                None,
                "unknown",
                "the coordinator's topic is not here",
            )


def _verify(
    report: DirectoryReport,
    paths: Iterable[str | os.PathLike[str]],
    limits: Limits,
    step: Callable[[int], None],
    threads: int,
) -> None:
    """Add the findings of `kodec verify`; they replace those of `survey` that it repeats."""
    report.problems, report.problem_count = [], 0
    for path in paths:
        notes, checks = plan_checks(path)
        problem_lists: Iterable[list[Problem]] = _in_order(
            lambda check: list(check.run(limits=limits, progress=step)), checks, threads
        )
        for problem in chain(notes, chain.from_iterable(problem_lists)):
            if not problem.note:
                report._problem(str(problem))
            else:
                report._note(str(problem))
