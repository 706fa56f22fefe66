"""Verifies logs in Spark's workers: the findings of `kodec.repair.verify`, in parallel."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from kodec.log.batches.records import Limits
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.listing import list_partition
from kodec.log.reading.ahead import cores
from kodec.log.remote.resolve import require_topics
from kodec.log.selection import Selection, Topics
from kodec.log.verification.findings import SegmentFindings
from kodec.log.verification.verify import (
    Check,
    Problem,
    SegmentPiece,
    plan_checks,
    plan_readings,
    verify_partition,
)
from kodec.pipeline.workers import TASK_BYTES, Engine, workers

__all__ = ["VerifySummary", "verify"]

# A topic-partition that is larger is divided, if it is also more than one task's share.
WHOLE_BYTES = TASK_BYTES
_TASKS = 1000


@dataclass(frozen=True, slots=True)
class VerifySummary:
    """The result of a verification.

    Attributes:
        problems: those of each path in turn, by topic and partition, as from `kodec.repair.verify`
            including notes.
        segments, bytes: how much was read.
        seconds: the time it took.

    Example: see `verify`.
    """

    problems: list[Problem] = field(default_factory=list)
    segments: int = 0
    bytes: int = 0
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether there is no problem; notes do not count."""
        return all(problem.note for problem in self.problems)


@dataclass(frozen=True, slots=True)
class _Verify:
    """Does a whole check, or reads a segment of one; `step` is called with the bytes read since then."""

    limits: Limits
    step: Callable[[int], None] | None = None

    def __call__(self, piece: Check | SegmentPiece) -> list[Problem] | SegmentFindings:
        if isinstance(piece, SegmentPiece):
            return piece.read(limits=self.limits)
        return list(piece.run(progress=self.step, limits=self.limits))


@dataclass(frozen=True, slots=True)
class _Part:
    """A check and its pieces, with the bytes of each: itself, or the segments of `log`."""

    check: Check
    pieces: list[Check | SegmentPiece]
    sizes: list[int]
    segments: int
    log: PartitionLog | None = None

    @classmethod
    def of(cls, check: Check) -> _Part:
        """A check in one piece."""
        segments, size = _size(check)
        return cls(check, [check], [size], segments)

    def divided(self) -> _Part:
        """The check by segments, if those can be listed."""
        log = PartitionLog(self.check.path)
        try:
            pieces = plan_readings(log)
        except OSError:
            # the check itself reports it
            return self
        sizes = [segment.size for segment in log.segments]
        return _Part(self.check, list(pieces), sizes, len(pieces), log)

    def problems(self, found: Iterator[list[Problem] | SegmentFindings]) -> Iterator[Problem]:
        """The problems from the results of its pieces, which are next in `found`."""
        results = [next(found) for _ in self.pieces]
        if self.log is not None:
            yield from verify_partition(self.log, readings=cast(list[SegmentFindings], results))
        else:
            yield from cast(list[Problem], results[0])


def _parts(checks: Sequence[Check], engine: Engine) -> list[_Part]:
    """The parts of a verification: for Spark, a log that the others would wait for is divided."""
    parts = [_Part.of(check) for check in checks]
    if engine == "local":
        return parts
    large = max(WHOLE_BYTES, sum(sum(part.sizes) for part in parts) // _TASKS)
    return [
        part.divided()
        if part.check.kind == "partition" and not part.check.live and sum(part.sizes) > large
        else part
        for part in parts
    ]


def _absolute(check: Check) -> Check:
    return replace(check, path=check.path.absolute())


def _as_given(problem: Problem, check: Check) -> Problem:
    """The problem with a path like that of its check; workers need not have this working directory."""
    if check.path.is_absolute():
        return problem
    return replace(problem, path=problem.path.relative_to(Path.cwd()))


def verify(
    *logs: str | os.PathLike[str],
    topics: Topics = None,
    engine: Engine = "spark",
    master: str = "local[*]",
    limits: Limits = Limits(),
    config: Mapping[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
    step: Callable[[int], None] | None = None,
    found: Callable[[Problem], None] | None = None,
) -> VerifySummary:
    """Check logs as `kodec.repair.verify` does, several small topic-partitions per task; reads only.

    The state of producers and transactions continues from segment to segment. So the
    segments of a topic-partition are one task; those of a large one are read separately, and the driver
    combines the results and opens the snapshots. The log of a live broker is not divided.

    Args: logs are log directories, topic-partitions' folders or segments, on a file system that the driver
    and all workers share; topics as of `kodec.repair.verify`; `step` is called with the bytes read since the
    last call, by any of several threads (engine="local" alone); `found` with each problem, when its
    topic-partition is checked; the rest as of `export`.

    Returns: all problems and notes.
    Raises: ValueError for a path without a log; OSError if it cannot be listed; NoSuchPartition for a missing
    topic; MissingDependency if there is no Java; PySparkException if a task fails otherwise.

    Example:
        >>> from kodec.pipeline import verify
        >>> summary = verify("/data/kafka-logs/orders-0", engine="local")
        >>> summary.problems, summary.segments
        ([], 2)
    """
    started = time.monotonic()
    say = progress or (lambda text: None)
    names = Selection.of(topics).topics
    require_topics(names, *logs)
    plans = [plan_checks(path, names) for path in logs]
    parts = _parts([_absolute(check) for _, checks in plans for check in checks], engine)
    segments = sum(part.segments for part in parts)
    say(f"{sum(part.check.kind == 'partition' for part in parts)} topic-partitions, {segments} segments")
    pieces = [piece for part in parts for piece in part.pieces]
    sizes = [size for part in parts for size in part.sizes]
    problems: list[Problem] = []
    with workers(
        "verify", engine=engine, master=master, config=config, progress=progress, threads=cores()
    ) as crew:
        results = crew.run_in_turn(_Verify(limits, step if engine == "local" else None), pieces, sizes)
        for problem in _in_order(plans, iter(parts), results):
            problems.append(problem)
            if found is not None:
                found(problem)
    return VerifySummary(problems, segments, sum(sizes), time.monotonic() - started)


def _in_order(
    plans: Iterable[tuple[list[Problem], list[Check]]],
    parts: Iterator[_Part],
    results: Iterator[list[Problem] | SegmentFindings],
) -> Iterator[Problem]:
    """The findings before anything is read, then those of each check, path by path."""
    for notes, checks in plans:
        yield from notes
        for check in checks:
            for problem in next(parts).problems(results):
                yield _as_given(problem, check)


def _size(check: Check) -> tuple[int, int]:
    """The segments and bytes of a check, as far as they can be listed."""
    try:
        if check.kind == "segment":
            return 1, check.path.stat().st_size
        if check.kind == "partition":
            segments = list_partition(check.path).segments
            return len(segments), sum(segment.size for segment in segments)
    except OSError:
        # the check itself reports it
        pass
    return 0, 0
