"""Items of several sources in order, read ahead in threads within bounds."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Generic, TypeVar

__all__ = ["Ahead", "cores"]

T = TypeVar("T")

# How soon a thread notices that its items are no longer needed, in seconds.
_SOON = 0.1


def cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Source(Generic[T]):
    """A source read by a thread: a bounded number of its items wait."""

    def __init__(self, begin: Callable[[], Iterator[T]], most: int) -> None:
        self._begin = begin
        # an item, the end (None), or the error
        self._waiting: queue.Queue[tuple[T] | BaseException | None] = queue.Queue(most)
        self.unwanted = threading.Event()

    def run(self) -> None:
        end: BaseException | None = None
        try:
            if self.unwanted.is_set():
                return
            items = self._begin()
            with closing(items):  # type: ignore[type-var]  # a generator, which holds files
                for item in items:
                    if not self._put((item,)):
                        return
        except BaseException as error:
            end = error
        self._put(end)

    def _put(self, item: tuple[T] | BaseException | None) -> bool:
        while not self.unwanted.is_set():
            try:
                self._waiting.put(item, timeout=_SOON)
                return True
            except queue.Full:
                continue
        return False

    def items(self) -> Iterator[T]:
        while isinstance(item := self._waiting.get(), tuple):
            yield item[0]
        if item is not None:
            raise item


class Ahead(Generic[T]):
    """Reads sources in `threads`; each active one, and the next, has at most `most` items waiting.

    Args: a source begins when a thread reaches it; each returns a generator, which that thread closes.
    """

    def __init__(self, sources: Sequence[Callable[[], Iterator[T]]], threads: int, most: int = 2) -> None:
        self._sources = [_Source(begin, most) for begin in sources]
        self._threads = threads
        self._started = 0
        from concurrent.futures import ThreadPoolExecutor

        self._pool = ThreadPoolExecutor(threads, "kodec-read")

    def items(self, number: int) -> Iterator[T]:
        """The items of a source. Call in the order of the sources. Raises what the source raises."""
        while self._started < min(number + self._threads + 1, len(self._sources)):
            self._pool.submit(self._sources[self._started].run)
            self._started += 1
        source = self._sources[number]
        try:
            yield from source.items()
        finally:
            source.unwanted.set()

    def drop(self, number: int) -> None:
        """The items of this source are no longer needed."""
        self._sources[number].unwanted.set()

    def close(self) -> None:
        """End all threads."""
        for source in self._sources:
            source.unwanted.set()
        self._pool.shutdown(cancel_futures=True)
