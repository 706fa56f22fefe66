"""A topic-partition at a glance: offsets, times, bytes, codecs and health, from batch headers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kodec.log.arguments import require
from kodec.log.batches.batch import CODECS
from kodec.log.batches.records import TimestampType
from kodec.log.directories.epochs import EpochRuns
from kodec.log.directories.gaps import explain_gap
from kodec.log.directories.losses import require_end
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import BatchHeader, Segment
from kodec.log.files.checkpoints import LeaderEpoch
from kodec.log.omissions import Omissions
from kodec.log.verification.headers import (
    HeaderTables,
    distinct,
    header_tables,
    sum_of,
    table_of,
    take_epochs,
    times_of,
)
from kodec.log.verification.problems import of_epochs
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import CrcMismatch, FormatError
from kodec.stores.storage import StorePath

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Health", "PartitionOverview", "SegmentFacts", "survey", "survey_segment"]

_ENOUGH = 4 << 20
# From this many bytes on it is worth importing pyarrow just for this.
_LARGE = 4 << 20
_MOST_SHOWN = 65_536
Seen = Callable[["pa.RecordBatch"], None]
Health = Literal["clean", "torn", "corrupt", "unreadable"]


@dataclass(slots=True)
class PartitionOverview:
    """The contents of a topic-partition.

    Attributes:
        segments, bytes, batches, records: how many, and the bytes of the logs as listed; records as in
            `SegmentFacts`.
        start_offset, end_offset: the first readable offset, and the one after the last; if the log
            is corrupt, `end_offset` is the one after the last batch that was reached.
        first_timestamp, last_timestamp: the smallest and largest in headers, in ms since 1970-01-01
            UTC; None if there is none. Records inside a batch may be older than its header says.
        codecs: the codecs in use, in the order of their numbers.
        magics: the message formats in use, ascending.
        health: `clean`; `torn` if a segment ends in a partial batch or in zeros; `corrupt` if a batch
            is damaged, as far as lengths, headers and leader epochs show (and checksums, if
            asked for), or if offsets are missing between segments or at the end;
            `unreadable` if a file cannot be read.
        problems: for each segment that is not clean, its file and problem.

    Example: see `survey`.
    """

    segments: int
    bytes: int
    start_offset: int
    end_offset: int
    batches: int = 0
    records: int | None = 0
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    codecs: list[str] = field(default_factory=list)
    magics: list[int] = field(default_factory=list)
    health: Health = "clean"
    problems: list[str] = field(default_factory=list)


@dataclass(slots=True)
class SegmentFacts:
    """The contents of a segment, from the headers of its batches.

    Attributes:
        base_offset, path, bytes: the offset in its name, and the log with its size as listed.
        first_offset, last_offset: None if there is no batch; also the first one of a compressed message of
            v0 or v1, because only the content has it.
        batches, records: their numbers, including control records; records is None if messages of v0 or v1
            are compressed.
        first_timestamp, last_timestamp, codecs, magics, health: as in `PartitionOverview`.
        crc_ok: whether all checksums are right; None if not all were verified.
        problem: the problem, if it is not clean.
    """

    base_offset: int
    path: Path
    bytes: int
    first_offset: int | None = None
    last_offset: int | None = None
    batches: int = 0
    records: int | None = 0
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    codecs: list[str] = field(default_factory=list)
    magics: list[int] = field(default_factory=list)
    health: Health = "clean"
    crc_ok: bool | None = None
    problem: str = ""

    @property
    def next_offset(self) -> int:
        """The offset after the last one; the base offset where there is no batch."""
        return self.base_offset if self.last_offset is None else self.last_offset + 1

    @property
    def missing(self) -> int | None:
        """The number of offsets from `base_offset` to the last one without a record, as after compaction;
        None if `records` is."""
        return None if self.records is None else self.next_offset - self.base_offset - self.records

    def _take(self, head: BatchHeader) -> None:
        if not self.batches:
            self.first_offset = head.base_offset
        self.batches += 1
        self.last_offset = _of_known(max, self.last_offset, head.last_offset)
        self.records = _sum(self.records, head.count)
        if head.codec not in self.codecs:
            self.codecs.append(head.codec)
        if head.magic not in self.magics:
            self.magics.append(head.magic)
        # A base that is a delete horizon, or of another clock, is none.
        times = [head.max_timestamp]
        if head.timestamp_type is TimestampType.CREATE_TIME and head.delete_horizon is None:
            times.append(head.base_timestamp)
        self._take_times(time for time in times if time >= 0)

    def _take_times(self, times: Iterable[int]) -> None:
        known = list(times)
        self.first_timestamp = _of_known(min, self.first_timestamp, *known)
        self.last_timestamp = _of_known(max, self.last_timestamp, *known)

    def _take_all(self, table: pa.RecordBatch) -> None:
        """As `_take`, of many headers, all of magic 2."""
        if not self.batches:
            self.first_offset = table["base_offset"][0].as_py()
        self.batches += len(table)
        self.last_offset = _of_known(max, self.last_offset, table["last_offset"][-1].as_py())
        self.records = _sum(self.records, sum_of(table, "count"))
        self.codecs += [codec for codec in distinct(table, "codec") if codec not in self.codecs]
        self.magics += [magic for magic in distinct(table, "magic") if magic not in self.magics]
        self._take_times(times_of(table))


def _sum(total: int | None, other: int | None) -> int | None:
    return None if total is None or other is None else total + other


def _of_known(choose: Callable[[Iterable[int]], int], *values: int | None) -> int | None:
    known = [value for value in values if value is not None]
    return choose(known) if known else None


def survey_segment(
    segment: Segment,
    *,
    check_crc: bool = False,
    progress: Callable[[int], None] | None = None,
    epochs: EpochRuns | None = None,
    seen: Seen | None = None,
) -> SegmentFacts:
    """Read the headers of all batches of a segment, with `check_crc` all bytes.

    `epochs` receives the leader epochs; without it they are compared with each other. The rest as in
    `survey`.
    Raises: FileNotFoundError if it was deleted since it was listed.
    """
    facts = SegmentFacts(segment.base_offset, segment.path, segment.size)
    runs = EpochRuns()
    reported, last = 0, segment.base_offset - 1
    heads: HeaderTables | None = None
    shown: list[BatchHeader] = []
    try:
        if not check_crc and (seen is not None or segment.size >= _LARGE):
            heads = header_tables(segment)
        for table in heads or ():
            facts._take_all(table)
            take_epochs(runs, segment.path, table)
            if seen is not None:
                seen(table)
        for head in segment.headers() if heads is None else ():
            if check_crc:
                segment.batch_at(head)
            if head.first_known <= last:
                need = f"offsets ascend: need more than {last}, have {head.first_known}"
                facts.problem = facts.problem or f"{segment.path}: byte {head.position}: {need}"
            last = head.last_offset
            facts._take(head)
            runs.take(segment.path, head)
            if seen is not None:
                shown.append(head)
                if len(shown) == _MOST_SHOWN:
                    seen(table_of(shown))
                    shown = []
            if progress is not None and head.position - reported >= _ENOUGH:
                progress(head.position - reported)
                reported = head.position
        facts.crc_ok = True if check_crc else None
    except FormatError as error:
        facts.health, facts.problem = "corrupt", f"{type(error).__name__}: {error}"
        facts.crc_ok = False if isinstance(error, CrcMismatch) else None
    except FileNotFoundError:
        raise
    except OSError as error:
        facts.health = "unreadable"
        facts.problem = f"{segment.path}: cannot be read: {error.strerror or error}"
    else:
        if (tail := segment.torn_tail) is not None:
            facts.health = "corrupt" if facts.problem else "torn"
            where = f"byte {tail.position}, {tail.size} bytes before the end of the file"
            facts.problem = facts.problem or f"{segment.path}: ends at {where}: {tail.reason}"
    finally:
        segment.close()
    if seen is not None and shown:
        seen(table_of(shown))
    if facts.problem and facts.health == "clean":
        facts.health = "corrupt"
    if epochs is not None:
        epochs.add(runs)
    elif wrong := list(of_epochs(runs)):
        facts.health = "corrupt" if facts.health in ("clean", "torn") else facts.health
        facts.problem = facts.problem or str(wrong[0])
    facts.codecs = [codec for codec in CODECS if codec in facts.codecs]
    facts.magics.sort()
    if progress is not None:
        progress(segment.size - reported)
    return facts


def survey(
    log: PartitionLog,
    *,
    check_crc: bool = False,
    progress: Callable[[int], None] | None = None,
    seen: Seen | None = None,
) -> PartitionOverview:
    """Read the headers of all batches, with `check_crc` all bytes.

    `progress` is called now and then with the bytes of logs read since the last call; `seen`, which needs
    pyarrow, with the headers, in order, up to damage: some columns of `read_batch_table`.

    Args:
        log: of a topic-partition.
        check_crc: verify all checksums; without it only headers are read.
        progress: called with the bytes read since the last call.
        seen: called with columns of `read_batch_table`; needs pyarrow.

    Returns: what the log holds, and whether it is whole.
    Raises: OSError where the folder cannot be listed.

    Example:
        >>> import kodec
        >>> log = kodec.PartitionLog("/data/kafka-logs/orders-0")
        >>> overview = kodec.repair.survey(log, check_crc=True)
        >>> overview.health, overview.records, overview.codecs
        ('clean', 421, ['none', 'gzip', 'snappy', 'lz4', 'zstd'])
    """
    require("log", log, PartitionLog, "a kodec.PartitionLog is needed, as PartitionLog(path)")
    overview = PartitionOverview(len(log.segments), log.size, log.start_offset, log.start_offset)
    codecs: set[str] = set()
    magics: set[int] = set()
    epochs = EpochRuns()
    expected: int | None = None
    for segment, after in zip_longest(log.segments, log.segments[1:]):
        overview.end_offset = max(overview.end_offset, segment.base_offset)
        if expected is not None and segment.base_offset > expected:
            gap = explain_gap(log, expected, segment.base_offset - 1)
            if not gap.is_explained:
                overview.health = "corrupt" if overview.health in ("clean", "torn") else overview.health
                missing = f"offsets {gap.lost} to {segment.base_offset - 1} are in no segment"
                overview.problems.append(f"{segment.path}: {missing}, and not for compaction")
        try:
            facts = survey_segment(segment, check_crc=check_crc, progress=progress, epochs=epochs, seen=seen)
        except FileNotFoundError:
            # deleted since it was listed, as retention and compaction do
            expected = None
            continue
        # damaged parts may hold the offsets up to the next one; what is after a torn end is lost
        expected = facts.next_offset if facts.health in ("clean", "torn") else None
        overview.batches += facts.batches
        overview.records = _sum(overview.records, facts.records)
        if after is not None and facts.next_offset > after.base_offset and not facts.problem:
            need = f"last offset: need less than {after.base_offset}, the next segment's"
            facts.health, facts.problem = "corrupt", f"{segment.path}: {need}, have {facts.last_offset}"
        overview.end_offset = max(overview.end_offset, facts.next_offset)
        overview.first_timestamp = _of_known(min, overview.first_timestamp, facts.first_timestamp)
        overview.last_timestamp = _of_known(max, overview.last_timestamp, facts.last_timestamp)
        codecs.update(facts.codecs)
        magics.update(facts.magics)
        if facts.problem:
            # a torn end matters less than earlier findings
            overview.health = (
                facts.health if facts.health != "torn" or overview.health == "clean" else overview.health
            )
            overview.problems.append(facts.problem)
    if not isinstance(log.path, StorePath):
        lost = Omissions()
        require_end(log, lost)
        overview.problems += map(str, lost)
        overview.health = (
            "corrupt" if lost.items and overview.health in ("clean", "torn") else overview.health
        )
    checkpoint: list[LeaderEpoch] = []
    with suppress(FormatError, OSError):  # `verify` checks it
        checkpoint = log.leader_epochs()
    wrong = [str(problem) for problem in of_epochs(epochs, checkpoint, log.start_offset) if not problem.note]
    if wrong:
        overview.health = "unreadable" if overview.health == "unreadable" else "corrupt"
        overview.problems += wrong
    overview.codecs = [codec for codec in CODECS if codec in codecs]
    overview.magics = sorted(magics)
    return overview
