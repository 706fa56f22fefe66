"""Lists the segments of logs, with facts from the headers of their batches, in Spark's workers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from kodec.log.batches.records import Limits
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.files.listing import SegmentFiles, TopicPartition
from kodec.log.files.paths import PartitionPath
from kodec.log.files.resolve import SegmentPath, resolve
from kodec.log.verification.survey import SegmentFacts, survey_segment
from kodec.pipeline.workers import TASK_BYTES, Engine, workers
from kodec.stores.storage import path_of

__all__ = ["InventoryRow", "InventorySummary", "inventory"]

# Of a segment only the headers are read.
_HEADERS_COST = 8


@dataclass(frozen=True, slots=True)
class InventoryRow:
    """A segment.

    Attributes:
        topic_partition: None for a segment that was named and lies in no topic-partition's folder.
        facts: the facts from its headers.
        gap: the offsets between the end of the segment before it and its base offset: 0 for none, None where
            there is no segment before it, or its end is not known; negative if they overlap.

    Example: see `inventory`.
    """

    topic_partition: TopicPartition | None
    facts: SegmentFacts
    gap: int | None


@dataclass(frozen=True, slots=True)
class InventorySummary:
    """The rows, by path, topic, partition and base offset, and the time it took.

    Attributes:
        rows: the segments.
        seconds: how long it took.

    Example: see `inventory`.
    """

    rows: list[InventoryRow]
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether no segment is corrupt or unreadable."""
        return all(row.facts.health in ("clean", "torn") for row in self.rows)


@dataclass(frozen=True, slots=True)
class _Survey:
    check_crc: bool
    limits: Limits

    def __call__(self, files: SegmentFiles) -> SegmentFacts | None:
        """None if it was deleted since it was listed."""
        with suppress(FileNotFoundError):
            return survey_segment(Segment(files, self.limits), check_crc=self.check_crc)
        return None


def inventory(
    *paths: str | os.PathLike[str],
    check_crc: bool = False,
    engine: Engine = "spark",
    master: str = "local[*]",
    limits: Limits = Limits(),
    config: Mapping[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> InventorySummary:
    """List all segments with their offsets, counts, times, bytes, codecs and health; reads only.

    From headers only: nothing is decompressed, and without `check_crc` no checksum verified. A segment that
    is deleted meanwhile is left out.

    Args:
        paths: as in `verify`.
        check_crc: verify all checksums.
        limits: how much may be allocated for one batch.
        others: as in `export`.

    Returns: a row for each segment.
    Raises: as `verify`.

    Example:
        >>> from kodec.pipeline import inventory
        >>> summary = inventory("/data/kafka-logs/segments-0", engine="local")
        >>> len(summary.rows), summary.rows[0].facts.base_offset
        (6, 0)
    """
    started = time.monotonic()
    say = progress or (lambda text: None)
    listed = [each for path in paths for each in _segments(path_of(path), limits)]
    # Workers need not have this working directory.
    pieces = [replace(files, log=files.log.absolute()) for _, files in listed]
    say(f"{len(pieces)} segments")
    sizes = [files.size if check_crc else files.size // _HEADERS_COST for files in pieces]
    with workers("inventory", engine=engine, master=master, config=config, progress=progress) as crew:
        found = crew.run_sized(_Survey(check_crc, limits), pieces, sizes, TASK_BYTES)
    rows: list[InventoryRow] = []
    for (owner, files), facts in zip(listed, found, strict=True):
        if facts is not None:
            facts.path = files.log
            before = rows[-1].facts if rows and rows[-1].facts.path.parent == files.log.parent else None
            known = before is not None and before.health in ("clean", "torn")
            gap = facts.base_offset - before.next_offset if before is not None and known else None
            rows.append(InventoryRow(owner, facts, gap))
    return InventorySummary(rows, time.monotonic() - started)


def _segments(path: Path, limits: Limits) -> Iterator[tuple[TopicPartition | None, SegmentFiles]]:
    what = resolve(path)
    if isinstance(what, SegmentPath):
        yield None, SegmentFiles(what.base_offset, path, path.stat().st_size)
        return
    folders = [path] if isinstance(what, PartitionPath) else [each.path for each in what.partitions]
    for folder in folders:
        log = PartitionLog(folder, limits=limits)
        for files in log.files.segments:
            yield log.topic_partition, files
