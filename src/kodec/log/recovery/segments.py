"""Reads the segments that may be damaged, and plans where the log ends and which indexes are rebuilt.

Followed: `LogLoader.recoverLog` and `LogSegment.recover`, Kafka 4.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from kodec.log.batches.records import Limits
from kodec.log.batches.sizes import MAX_RELATIVE
from kodec.log.directories.producer_state import ProducerState
from kodec.log.directories.segment import Segment
from kodec.log.files.durable import drop_cached
from kodec.log.files.listing import SegmentFiles
from kodec.log.files.names import INDEXES, file_name
from kodec.log.reading.unlike import unlike_a_log
from kodec.log.recovery.planned_folder import PlannedFolder
from kodec.log.recovery.snapshots import write_snapshot
from kodec.log.recovery.steps import Truncate
from kodec.log.writing.segment_scan import SegmentScan, producers_at, scan_segment
from kodec.runtime.errors import FormatError

__all__ = ["scan_one", "scan_segments", "write_indexes"]


def scan_segments(draft: PlannedFolder) -> int:
    """Read the segments that need it; return the end of the log.

    Raises: Unsupported as `scan_segment`, and for a log in which no batch is right anywhere.
    """
    files, settings = draft.segments(), draft.settings
    draft.first = files[0].base_offset if files else 0
    unflushed = _first_unflushed(draft, files)
    state: ProducerState | None = None
    end = draft.log_start
    for number, segment in enumerate(files):
        last = number + 1 == len(files)
        if number < unflushed and _has_indexes(segment):
            known_end = _end(segment, settings.limits) if last else end
            if known_end is not None:
                state, end = None, known_end
                continue
        # Where an fsync has failed, the disk may have less than memory.
        for path in segment.paths:
            drop_cached(path, sync=False)
        before = None if last else files[number + 1].base_offset
        if state is None:
            state = producers_at(
                files, draft.snapshots(), number, limits=settings.limits, doubt=partial(_note_doubt, draft)
            )
            state = write_snapshot(draft, segment.base_offset, state)
        scan = scan_one(draft, segment, state, before)
        write_indexes(draft, segment.base_offset, scan)
        end = scan.next_offset
        if scan.fault:
            _truncate(draft, segment, scan)
            point = settings.recovery_points.get(draft.plan.topic_partition, 0)
            draft.plan.damage_below_recovery_point |= scan.next_offset < point
            if number >= unflushed or last:
                for later in reversed(files[number + 1 :]):
                    draft.cuts[later.log] = 0, end
                    draft.drop(later.base_offset, "above the end of the log")
                before = None
        state = write_snapshot(draft, end if before is None else before, state)
        if scan.fault and before is None:
            break
    if draft.truncated and not settings.allow_empty:
        error = unlike_a_log([(segment.log, segment.base_offset) for segment in files], settings.limits)
        if error is not None:
            raise error
    if files and end < draft.log_start:
        _start_again(draft, files)
    if not draft.logs():
        draft.starts_again = True
        end = draft.log_start
        for kind in ("log", "index", "timeindex"):
            draft.write(file_name(end, kind), b"", "an empty segment where the log starts")
    return end


def _note_doubt(draft: PlannedFolder, path: Path, error: FormatError | OSError) -> None:
    draft.plan.remarks.append(f"{path}: not used: {error}; a broker uses any snapshot that it can read")


def _start_again(draft: PlannedFolder, files: list[SegmentFiles]) -> None:
    """Plan the removal of all segments: the rest of the log ends before its start offset."""
    draft.truncated.clear()
    draft.written.clear()
    for name in draft.created:
        del draft.names[name]
    for segment in reversed(files):
        draft.drop(segment.base_offset, f"the log starts at {draft.log_start}")


def _first_unflushed(draft: PlannedFolder, files: list[SegmentFiles]) -> int:
    """The first segment that may have damaged batches."""
    if draft.settings.from_start:
        return 0
    if draft.settings.clean:
        return len(files)
    point = draft.settings.recovery_points.get(draft.plan.topic_partition, 0)
    return max(sum(segment.base_offset <= point for segment in files) - 1, 0)


def scan_one(
    draft: PlannedFolder, files: SegmentFiles, state: ProducerState, before: int | None
) -> SegmentScan:
    plan, settings = draft.plan, draft.settings
    scan = scan_segment(
        files.log,
        files.base_offset,
        producers=state,
        before=before,
        index_interval_bytes=settings.index_interval_bytes,
        max_index_bytes=settings.max_index_bytes,
        limits=settings.limits,
        progress=settings.progress,
    )
    plan.scanned.append(plan.path / file_name(files.base_offset, "log"))
    plan.bytes_scanned += scan.size
    draft.epochs[files.base_offset] = scan.epochs
    return scan


def write_indexes(draft: PlannedFolder, base: int, scan: SegmentScan) -> None:
    indexes = scan.indexes
    indexes.end()
    for kind, data in zip(INDEXES, (indexes.offsets, indexes.times, indexes.aborted), strict=True):
        name = file_name(base, kind)
        if data or kind != "txnindex" or name in draft.names:
            draft.write(name, data)


def _truncate(draft: PlannedFolder, files: SegmentFiles, scan: SegmentScan) -> None:
    log = draft.plan.path / file_name(files.base_offset, "log")
    zeros = scan.fault == "zeros"
    draft.truncated.append(Truncate(log, scan.valid_bytes, scan.size, scan.fault, zeros))
    if not zeros:
        draft.cuts[files.log] = scan.valid_bytes, scan.next_offset


def _has_indexes(files: SegmentFiles) -> bool:
    """Whether the indexes exist, and the transaction index belongs to this segment."""
    if files.index is None or files.timeindex is None:
        return False
    if files.txnindex is None:
        return True
    return Segment(files).aborted() is not None


def _end(files: SegmentFiles, limits: Limits) -> int | None:
    """The offset after the last one, by headers; None if they do not lead to the end of the log, or to an
    offset that the segment cannot have.
    """
    segment = Segment(files, limits)
    try:
        offset = segment.next_offset
        # no checksum covers the offset in a header
        fits = 0 <= offset - files.base_offset <= MAX_RELATIVE + 1
        return offset if fits and segment.torn_tail is None else None
    except FormatError:
        return None
    finally:
        segment.close()
