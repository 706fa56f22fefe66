"""Prepares the folder of a partition before a writer continues in it. Followed: `LogLoader`, Kafka 4."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from kodec.log.batches.records import Limits
from kodec.log.directories.epochs import EpochRuns, from_start, up_to
from kodec.log.directories.producer_state import ProducerState, read_snapshot
from kodec.log.files.checkpoints import (
    LeaderEpoch,
    read_leader_epochs,
    read_offsets,
    read_partition_metadata,
    write_leader_epochs,
    write_partition_metadata,
)
from kodec.log.files.descriptors import read_regular
from kodec.log.files.durable import drop_cached, make_folder, replace_file, sync_folder, sync_name
from kodec.log.files.listing import LeftoverKind, PartitionFiles, parse_folder_name
from kodec.log.files.names import (
    CLEAN_SHUTDOWN,
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    PARTITION_METADATA,
    file_name,
)
from kodec.log.writing.config import LogConfig
from kodec.log.writing.segment_scan import SegmentScan, producers_at, scan_segment
from kodec.log.writing.segment_writer import SegmentWriter
from kodec.runtime.errors import FormatError, Malformed

__all__ = [
    "Resumed",
    "checkpointed_start",
    "drop_leftovers",
    "drop_snapshots",
    "load_epochs",
    "prepare_folder",
    "refuse_unfinished",
    "remove_clean_shutdown",
    "resume",
]


class Resumed(NamedTuple):
    """The last segment, reopened, and its findings.

    Attributes:
        active: the segment.
        producers: their state at its end.
        scan: the result of reading it.
    """

    active: SegmentWriter
    producers: ProducerState
    scan: SegmentScan


def prepare_folder(path: Path, topic_id: UUID | None) -> None:
    """Create the folder and its `partition.metadata`. Raises ValueError if that has another topic id."""
    sync_name(path.parent)
    make_folder(path)
    metadata = path / PARTITION_METADATA
    if metadata.exists():
        existing = read_partition_metadata(metadata).topic_id
        if topic_id is not None and topic_id != existing:
            raise ValueError(f"{metadata} has topic id {existing}, not {topic_id}")
    elif topic_id is not None:
        write_partition_metadata(metadata, topic_id)


def remove_clean_shutdown(directory: Path) -> None:
    """Remove the clean-shutdown marker before anything is changed."""
    (directory / CLEAN_SHUTDOWN).unlink(missing_ok=True)
    sync_folder(directory)


def drop_leftovers(files: PartitionFiles) -> None:
    """Remove the files that a broker removes when it loads a log.

    Indexes without a log, left by an interrupted roll, and files marked for deletion.
    """
    for path in files.orphans:
        path.unlink()
    for leftover in files.leftovers:
        if leftover.kind is LeftoverKind.DELETED:
            leftover.path.unlink()


def refuse_unfinished(files: PartitionFiles) -> None:
    """Raise Malformed if segments are being replaced."""
    for leftover in files.leftovers:
        if leftover.kind is not LeftoverKind.DELETED:
            raise Malformed("", "an interrupted swap of segments: recover the log first", at=0).in_source(
                str(leftover.path)
            )


def resume(path: Path, files: PartitionFiles, config: LogConfig, limits: Limits) -> Resumed:
    """Open the last segment, with correct indexes. Raises Malformed if it is not whole."""
    last = files.segments[-1]
    for file in last.paths:
        drop_cached(file)
    producers = producers_at(files.segments, dict(files.snapshots), len(files.segments) - 1, limits=limits)
    scan = scan_segment(
        last.log,
        last.base_offset,
        producers=producers,
        index_interval_bytes=config.index_interval_bytes,
        max_index_bytes=config.segment_index_bytes,
        limits=limits,
    )
    if scan.fault:
        raise Malformed(
            "", f"recover the log first: {scan.fault}", at=scan.valid_bytes, have=scan.size
        ).in_source(str(last.log))
    if scan.next_offset < (start := checkpointed_start(path)):
        # Data below the start offset is not read, and recovery deletes it.
        reason = f"recover the log first: it starts at offset {start}, and ends before"
        raise Malformed("", reason, at=scan.valid_bytes, have=scan.next_offset).in_source(str(last.log))
    for offset, snapshot in files.snapshots[::-1]:
        if offset <= scan.next_offset:
            with suppress(FileNotFoundError, FormatError):
                producers.keep(read_snapshot(snapshot))
            break
    remove_clean_shutdown(path.parent)
    drop_leftovers(files)
    # The last entry of the time index is dropped: the segment is open again.
    for kind, data in (
        ("index", scan.indexes.offsets),
        ("timeindex", scan.indexes.times),
        ("txnindex", scan.indexes.aborted),
    ):
        index_path: Path | None = getattr(last, kind)
        if index_path is None and not data and kind == "txnindex":
            continue
        if index_path is None or read_regular(index_path) != data:
            replace_file(path / file_name(last.base_offset, kind), data, folder=False)
    active = SegmentWriter(path, last.base_offset, resume=scan.indexes)
    active.next_offset = scan.next_offset
    active.first_timestamp = scan.first_timestamp
    return Resumed(active, producers, scan)


def checkpointed_start(path: Path) -> int:
    """The log start offset in the log directory's checkpoint; 0 if it has none."""
    checkpoint = path.parent / LOG_START_OFFSETS
    name = parse_folder_name(path.name)
    starts = read_offsets(checkpoint) if checkpoint.exists() else {}
    return starts.get(name.topic_partition, 0) if name is not None else 0


def drop_snapshots(files: PartitionFiles, next_offset: int) -> int:
    """Remove the snapshots that belong to no segment, except the newest one after the last.

    Returns the offset of the newest remaining one, or of the start of the log.
    """
    bases = {segment.base_offset for segment in files.segments}
    strays = [(offset, path) for offset, path in files.snapshots if offset not in bases]
    keep = strays[-1][0] if strays else -1
    if not max(bases) < keep <= next_offset:
        keep = -1
    for offset, path in strays:
        if offset != keep:
            path.unlink()
    remaining = [offset for offset, _ in files.snapshots if offset in bases or offset == keep]
    return max(remaining, default=files.segments[0].base_offset)


def load_epochs(path: Path, runs: EpochRuns, next_offset: int) -> list[LeaderEpoch]:
    """The leader epochs of `leader-epoch-checkpoint` and the `runs` of the log, which it then has too.

    They begin at the log start offset, as when a broker loads the log: a trim may have
    ended before it wrote them.
    """
    checkpoint = path / LEADER_EPOCHS
    existing = read_leader_epochs(checkpoint) if checkpoint.exists() else None
    epochs = runs.brought_up(up_to(existing or [], next_offset))
    epochs = from_start(epochs, checkpointed_start(path))
    if epochs != existing:
        write_leader_epochs(checkpoint, epochs)
    return epochs
