"""Lists the segments of logs, with facts from the headers of their batches, in Spark's workers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from kodec.log.batches.records import Limits
from kodec.log.directories.losses import report_gap, require_end
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.files.listing import SegmentFiles, TopicPartition, left_out_of
from kodec.log.files.paths import PartitionPath
from kodec.log.omissions import Cause, Omission, Omissions
from kodec.log.remote.opening import open_location
from kodec.log.remote.resolve import LogDirectoryPath, SegmentPath, is_of_topics, require_topics, resolve
from kodec.log.selection import Selection, Topics
from kodec.log.verification.survey import SegmentFacts, survey_segment
from kodec.pipeline.workers import TASK_BYTES, Engine, workers
from kodec.runtime.errors import FormatError
from kodec.stores.storage import StorePath

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
        omissions: what is in no row: folders that cannot be listed, lost offsets, replicas not in use.

    Example: see `inventory`.
    """

    rows: list[InventoryRow]
    seconds: float
    omissions: Omissions = field(default_factory=Omissions)

    @property
    def ok(self) -> bool:
        """Whether no segment is corrupt or unreadable, and nothing is lost."""
        return self.omissions.is_whole and all(row.facts.health in ("clean", "torn") for row in self.rows)


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
    *logs: str | os.PathLike[str],
    topics: Topics = None,
    check_crc: bool = False,
    engine: Engine = "spark",
    master: str = "local[*]",
    limits: Limits = Limits(),
    config: Mapping[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> InventorySummary:
    """List all segments with their offsets, counts, times, bytes, codecs and health; reads only.

    From headers only: nothing is decompressed, and without `check_crc` no checksum verified. A segment that
    is deleted meanwhile is left out; a folder that cannot be listed is in the account, and the others follow.

    Args:
        logs, topics: as in `verify`.
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
    omissions = Omissions()
    names = Selection.of(topics).topics
    require_topics(names, *logs)
    opened = [log for path in logs for log in _logs(open_location(path), names, limits, omissions)]
    listed = [(log, files) for log, segments in opened for files in segments]
    # Workers need not have this working directory.
    pieces = [replace(files, log=files.log.absolute()) for _, files in listed]
    say(f"{len(pieces)} segments")
    sizes = [files.size if check_crc else files.size // _HEADERS_COST for files in pieces]
    with workers("inventory", engine=engine, master=master, config=config, progress=progress) as crew:
        results = crew.run_sized(_Survey(check_crc, limits), pieces, sizes, TASK_BYTES)
    rows: list[InventoryRow] = []
    for (log, files), facts in zip(listed, results, strict=True):
        if facts is not None:
            facts.path = files.log
            before = rows[-1].facts if rows and rows[-1].facts.path.parent == files.log.parent else None
            known = before is not None and before.health in ("clean", "torn")
            gap = facts.base_offset - before.next_offset if before is not None and known else None
            rows.append(InventoryRow(None if log is None else log.topic_partition, facts, gap))
            if gap and log is not None:
                _report_gap(log, facts, gap, omissions)
    for log, _ in opened:
        if log is not None and not isinstance(log.path, StorePath):
            with log:
                try:
                    require_end(log, omissions)
                except (FormatError, OSError) as error:
                    # that of a segment is in its row
                    omissions.failed(log.path, error)
    return InventorySummary(rows, time.monotonic() - started, omissions)


def _report_gap(log: PartitionLog, facts: SegmentFacts, gap: int, omissions: Omissions) -> None:
    if gap > 0:
        with log:
            report_gap(log, facts.path, None, facts.base_offset - gap, facts.base_offset - 1, omissions)
        return
    text = f"it begins {-gap} offsets before the end of the segment before it"
    omissions.add(Omission(Cause.DAMAGED, facts.path, text, first_offset=facts.base_offset))


def _logs(
    path: Path, topics: Collection[str] | None, limits: Limits, omissions: Omissions
) -> Iterator[tuple[PartitionLog | None, list[SegmentFiles]]]:
    """The logs at a path with their segments; None for a segment by itself."""
    what = resolve(path)
    if not isinstance(what, LogDirectoryPath) and not is_of_topics(what, topics):
        return
    if isinstance(what, SegmentPath):
        yield None, [SegmentFiles(what.base_offset, path, path.stat().st_size)]
        return
    if isinstance(what, PartitionPath):
        folders = [path]
    else:
        folders = [
            partition.path
            for partition in what.partitions
            if topics is None or partition.topic_partition.topic in topics
        ]
        omissions.extend(left_out_of(what.path, topics))
    for folder in folders:
        log = PartitionLog(folder, limits=limits)
        try:
            yield log, log.files.segments
        except OSError as error:
            omissions.failed(folder, error)
