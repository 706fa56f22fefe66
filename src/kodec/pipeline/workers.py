"""Runs the pieces of a job in this process, which needs no Spark, or in Spark's workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from kodec.runtime.errors import MissingDependency
from kodec.runtime.extras import install_command

__all__ = ["TASK_BYTES", "Engine", "Workers", "workers"]

P = TypeVar("P")
R = TypeVar("R")

Engine = Literal["local", "spark"]
"""Runs pieces of work: in this process, or by Spark."""

TASK_BYTES = 256 << 20
"""Bytes for a task that only reads: about a second of work, so that the cost of a task hardly matters."""
# The cost of opening a file, in bytes read.
_OPEN_COST = 256 << 10


@dataclass(frozen=True, slots=True)
class _Each(Generic[P, R]):
    work: Callable[[P], R]

    def __call__(self, pieces: Sequence[P]) -> list[R]:
        return [self.work(piece) for piece in pieces]


class Workers:
    """This process: one piece after the other, or several at once in threads."""

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads

    def run(self, work: Callable[[P], R], pieces: Sequence[P]) -> list[R]:
        """The results of `work` for each piece, in order.

        For Spark all three are pickled: `work` is a function of a module or an object of one.
        Raises: what `work` raises.
        """
        if self._threads == 1 or len(pieces) < 2:
            return [work(piece) for piece in pieces]
        pool = ThreadPoolExecutor(self._threads, "kodec")
        try:
            return list(pool.map(work, pieces))
        finally:
            pool.shutdown(cancel_futures=True)

    def run_in_turn(self, work: Callable[[P], R], pieces: Sequence[P], sizes: Sequence[int]) -> Iterator[R]:
        """As `run_sized`; yields each result as soon as it and those before it are complete."""
        if self._threads == 1 or len(pieces) < 2:
            yield from map(work, pieces)
            return
        pool = ThreadPoolExecutor(self._threads, "kodec")
        try:
            yield from pool.map(work, pieces)
        finally:
            pool.shutdown(cancel_futures=True)

    def run_sized(
        self, work: Callable[[P], R], pieces: Sequence[P], sizes: Sequence[int], task_bytes: int = TASK_BYTES
    ) -> list[R]:
        """As `run`, with small pieces put together into tasks of about `task_bytes`, and large ones first.

        `sizes` has the bytes that each piece reads.
        """
        order = sorted(range(len(pieces)), key=lambda number: -sizes[number])
        tasks: list[list[int]] = []
        room = 0
        for number in order:
            cost = sizes[number] + _OPEN_COST
            if not tasks or cost > room:
                tasks.append([])
                room = task_bytes
            tasks[-1].append(number)
            room -= cost
        task_results = self.run(_Each(work), [[pieces[number] for number in task] for task in tasks])
        by_number = {
            number: result
            for task, results in zip(tasks, task_results, strict=True)
            for number, result in zip(task, results, strict=True)
        }
        return [by_number[number] for number in range(len(pieces))]


@contextmanager
def workers(
    name: str,
    *,
    engine: Engine = "spark",
    master: str = "local[*]",
    config: Mapping[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
    threads: int = 1,
) -> Iterator[Workers]:
    """The workers of a job: this process, or a Spark session, which is running or is started and stopped.

    Args: threads: of this process, for work that mostly runs without the GIL; the rest as for `export`.
    Raises: ValueError for another engine; for Spark also MissingDependency if there is no Spark or no Java,
    and KodecError if Spark does not start.
    """
    if engine not in ("local", "spark"):
        raise ValueError(f"engine={engine!r}: expected 'local' or 'spark'")
    if engine == "local":
        yield Workers(threads)
        return
    try:  # imported here: work in this process needs no Spark
        from kodec.pipeline.spark_workers import spark_workers
    except ImportError as missing:
        text = f"Spark's workers need `{missing.name}`: {install_command('spark')}"
        raise MissingDependency(text, name=missing.name) from missing

    with spark_workers(name, master, config or {}, progress or (lambda text: None)) as pool:
        yield pool
