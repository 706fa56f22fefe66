"""Arrow batches of the requested size, from rows that the kernels collect."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from kodec.log.backends.contract import Buffer, Cursor
from kodec.log.backends.native.kernels import KernelDecoder
from kodec.log.backends.scan import HEADER_BYTES, Scan
from kodec.log.batches.batch import Batch

__all__ = ["Gatherer", "TableDecoder"]


class Gatherer(ABC):
    """One format's kernel, with the rows collected so far."""

    kernel: Any

    def expand(self, buf: Buffer) -> int:
        """The end in `buf` of the compressed batch at which it stopped; 0 if pure Python has to read it."""
        return 0

    @abstractmethod
    def run(self, buf: Buffer, start: int, end: int, position: int) -> tuple[str, int]:
        """Collect from `buf[start:end]`, at `position` of the source; return status and where it stopped."""

    @abstractmethod
    def take(self) -> tuple[Any, int]:
        """All collected rows as one Arrow batch, and how many of its bytes count."""


class _Pure(Protocol):
    """Collects from batches one by one, in pure Python."""

    def add(self, batch: Batch) -> None: ...

    def take(self) -> Iterator[tuple[Any, int]]: ...

    @property
    def took_large(self) -> bool: ...


class TableDecoder(KernelDecoder[Any]):
    """Fills Arrow batches by the kernels of two formats, and with pure Python where those stop."""

    def __init__(self, scan: Scan, gatherers: Sequence[Gatherer], pure: _Pure) -> None:
        self._scan = scan
        self._gatherers = gatherers
        self._pure = pure
        # what is collected but not yet returned, and its size
        self._parts: list[Any] = []
        self._part_rows = self._part_bytes = 0

    def decode(self, batch: Batch) -> Iterator[Any]:
        self._collect()
        self._pure.add(batch)
        if self._pure.took_large:
            return chain(
                self._collected() if self._part_rows else (), (part for part, _ in self._pure.take())
            )
        for part, size in self._pure.take():
            self._put(part, size)
        return self._ready()

    def rest(self) -> Iterator[Any]:
        self._collect()
        return self._collected() if self._part_rows else iter(())

    def _gather(self, cursor: Cursor, buf: Buffer, start: int, end: int) -> Iterator[Any]:
        gatherer = self._gatherers[self._turn]
        origin = cursor.position - start
        position = start
        while True:
            status, position = gatherer.run(buf, position, end, origin + position)
            cursor.position = origin + position
            if status == "full":
                yield from self._ready()
            elif status != "compressed" or not (stop := gatherer.expand(buf)):
                return
            else:
                position = stop

    def _ready(self) -> Iterator[Any]:
        self._collect()
        return self._collected() if self._scan.full(self._part_rows, self._part_bytes) else iter(())

    def _collect(self) -> None:
        """Take the rows that the kernel in use has collected."""
        gatherer = self._gatherers[self._turn]
        if len(gatherer.kernel):
            self._put(*gatherer.take())

    def _put(self, part: Any, size: int) -> None:
        self._parts.append(part)
        self._part_rows += part.num_rows
        self._part_bytes += size

    def _collected(self) -> Iterator[Any]:
        """All collected rows, in batches that are not too large."""
        whole = self._parts[0] if len(self._parts) == 1 else pa.concat_batches(self._parts)
        rows, size = self._part_rows, self._part_bytes
        self._parts, self._part_rows, self._part_bytes = [], 0, 0
        if not self._scan.too_large(rows, size):
            yield whole
            return
        for start, stop in self._scan.cuts(_weights(whole)):
            yield whole.slice(start, stop - start)


def _weights(batch: Any) -> list[int]:
    """For each row, the bytes in its key, value and headers."""
    weights = [0] * batch.num_rows
    for name in ("key", "value"):
        if name in batch.schema.names:
            sizes = pc.fill_null(pc.binary_length(batch[name]), 0).to_pylist()
            weights = [sum(pair) for pair in zip(weights, sizes, strict=True)]
    if "headers" in batch.schema.names:
        lists = batch["headers"]
        total = [0]
        items = [pc.fill_null(pc.binary_length(lists.values.field(i)), 0).to_pylist() for i in (0, 1)]
        for pair in zip(*items, strict=True):
            total.append(total[-1] + HEADER_BYTES + sum(pair))
        bounds = [total[index] for index in lists.offsets.to_pylist()]
        weights = [
            weight + stop - start for weight, (start, stop) in zip(weights, pairwise(bounds), strict=True)
        ]
    return weights
