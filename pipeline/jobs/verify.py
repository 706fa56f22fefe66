"""Verifies logs in Spark's workers: what `kodec.verify` finds, in the same words, from many machines."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kodec.log.batches.records import Limits
from kodec.log.files.listing import list_partition
from kodec.log.verification.verify import Check, Problem, plan_checks
from kodec.pipeline.workers import Engine, workers

__all__ = ["VerifySummary", "verify"]


@dataclass(frozen=True, slots=True)
class VerifySummary:
    """What a verification found.

    Attributes:
        problems: those of each path in turn, by topic and partition, as `kodec.verify` gives them; notes too.
        segments, bytes: how much was read.
        seconds: how long it took.
    """

    problems: list[Problem] = field(default_factory=list)
    segments: int = 0
    bytes: int = 0
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether there is no problem; notes are none."""
        return all(each.note for each in self.problems)


@dataclass(frozen=True, slots=True)
class _Verify:
    limits: Limits

    def __call__(self, check: Check) -> list[Problem]:
        return list(check.run(limits=self.limits))


def _absolute(check: Check) -> Check:
    return replace(check, path=check.path.absolute())


def _as_given(problem: Problem, check: Check) -> Problem:
    """The problem with a path like that of its check; workers need not have this working directory."""
    if check.path.is_absolute():
        return problem
    return replace(problem, path=problem.path.relative_to(Path.cwd()))


def verify(
    *paths: str | os.PathLike[str],
    engine: Engine = "spark",
    master: str = "local[*]",
    limits: Limits = Limits(),
    config: Mapping[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> VerifySummary:
    """Check logs as `kodec.verify` does, each topic-partition in one task; reads only.

    What the batches of a log say of producers and transactions goes on from segment to segment, so the log of
    a topic-partition is not divided.

    Args: paths are log directories, topic-partitions' folders or segments, on a file system that the driver
    and all workers share; the rest as of `export`.
    Raises: ValueError for a path at which there is no log; OSError where it cannot be listed;
    MissingDependency where there is no Java; PySparkException where a task fails otherwise.
    """
    started = time.monotonic()
    say = progress or (lambda text: None)
    plans = [plan_checks(path) for path in paths]
    checks = [check for _, found in plans for check in found]
    counts, sizes = zip(*(_size(check) for check in checks), strict=True) if checks else ((), ())
    say(f"{sum(check.kind == 'partition' for check in checks)} topic-partitions, {sum(counts)} segments")
    with workers("verify", engine=engine, master=master, config=config, progress=progress) as crew:
        results = iter(crew.run_sized(_Verify(limits), [_absolute(check) for check in checks], sizes))
    problems: list[Problem] = []
    for notes, found in plans:
        problems += notes
        for check in found:
            problems += [_as_given(each, check) for each in next(results)]
    return VerifySummary(problems, sum(counts), sum(sizes), time.monotonic() - started)


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
