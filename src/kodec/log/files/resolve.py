"""What is at a path that a user gave: a log directory, a topic-partition's folder, or a segment.

The one place that decides it, so that every command and job gives the same answer.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from kodec.log.files.listing import find_replicas, parse_folder_name, parse_segment_name
from kodec.log.files.paths import PartitionPath, is_log_directory, on_this_machine, partition_path, resolved

__all__ = ["LogDirectoryPath", "NotALog", "SegmentPath", "resolve"]


class NotALog(ValueError):
    """A path at which there is no log."""


@dataclass(frozen=True, slots=True)
class LogDirectoryPath:
    """An entry of `log.dirs`."""

    path: Path


@dataclass(frozen=True, slots=True)
class SegmentPath:
    """A segment's log."""

    path: Path
    base_offset: int


def resolve(path: str | os.PathLike[str]) -> LogDirectoryPath | PartitionPath | SegmentPath:
    """Say what is at a path.

    A folder that holds topic-partitions' folders, or the files that brokers leave in a log directory, is a
    log directory, whatever it is called; another one whose name is that of a topic-partition's folder is one.

    Raises: NotALog for anything else; OSError where nothing is there, or it cannot be listed.
    """
    try:
        given = on_this_machine(path)
    except ValueError as error:
        raise NotALog(str(error)) from None
    if not given.is_dir():
        given.stat()
        base_offset = parse_segment_name(given.name)
        if base_offset is None:
            raise NotALog(f"{path}: not a segment: those are named like 00000000000000000000.log")
        return SegmentPath(given, base_offset)
    if find_replicas(given) or is_log_directory(given):
        return LogDirectoryPath(given)
    if parse_folder_name(resolved(given).name) is not None:
        return partition_path(given)
    raise NotALog(
        f"{path}: neither a log directory, which holds folders named like orders-0, nor such a folder"
    )
