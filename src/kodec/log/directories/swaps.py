"""The files of a topic-partition's folder that count while segments are being replaced."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from kodec.log.batches.records import Limits
from kodec.log.directories.segment import Segment
from kodec.log.files.listing import (
    LeftoverKind,
    PartitionFiles,
    SegmentFiles,
    list_partition,
    parse_segment_name,
)

__all__ = ["files_in_effect"]


def files_in_effect(folder: Path, limits: Limits) -> PartitionFiles:
    """The files of a folder; the segments are those that a broker would have after it has started.

    New segments (`.swap`) of an interrupted replacement count in place of those that they replace if they
    are complete. Kafka treats all new segments as those of one replacement, and deletes those between them;
    here only covered segments are dropped, so that no leftover file hides records.

    Source: org.apache.kafka.storage.internals.log.LogLoader.load. Raises OSError, FormatError.
    """
    files = _with_irregular(list_partition(folder))
    cleaned = [leftover.base_offset for leftover in files.leftovers if leftover.kind is LeftoverKind.CLEANED]
    # Before all are renamed, a starting broker deletes the new ones.
    least = min((base for base in cleaned if base is not None), default=2**63)
    new: list[SegmentFiles] = []
    for leftover in files.leftovers:
        is_log = leftover.path.name.endswith(f".log.{LeftoverKind.SWAP.value}")
        if is_log and leftover.base_offset is not None and leftover.base_offset < least:
            # One that has its final name by now is there by it, or was when the folder was listed.
            with suppress(FileNotFoundError):
                size = leftover.path.stat().st_size
                new.append(SegmentFiles(leftover.base_offset, leftover.path, size))
    new.sort(key=lambda segment: segment.base_offset)
    old = [segment.base_offset for segment in files.segments]
    for group in _replacements(new, old, limits):
        first, end = group[0].base_offset, Segment(group[-1], limits).next_offset
        # While the first old segment has its name, all exist: the log is whole without the new ones.
        if first not in old:
            remaining = [segment for segment in files.segments if not first <= segment.base_offset < end]
            files.segments = sorted([*remaining, *group], key=lambda segment: segment.base_offset)
    return files


def _replacements(new: list[SegmentFiles], old: list[int], limits: Limits) -> list[list[SegmentFiles]]:
    """The new segments, grouped by the old ones that they replace: none of those begins between them."""
    groups: list[list[SegmentFiles]] = []
    for segment in new:
        end = Segment(groups[-1][-1], limits).next_offset if groups else 0
        if groups and not any(end <= base < segment.base_offset for base in old):
            groups[-1].append(segment)
        else:
            groups.append([segment])
    return groups


def _with_irregular(files: PartitionFiles) -> PartitionFiles:
    """The files, with segments that are no regular files among the others."""
    irregular = [
        SegmentFiles(base, path, 0)
        for path in files.irregular
        if (base := parse_segment_name(path.name)) is not None
    ]
    if irregular:
        files.segments = sorted([*files.segments, *irregular], key=lambda segment: segment.base_offset)
    return files
