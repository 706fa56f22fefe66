"""Opens what a user names: a path or a URL, of logs or of what is read as such."""

from __future__ import annotations

import os
import re
from pathlib import Path

from kodec.log.files.listing import ReplicaKind, parse_folder_name, parse_segment_name
from kodec.log.files.paths import (
    PartitionPath,
    is_log_directory,
    partition_path,
    real_path,
    require_no_link,
    resolved,
)
from kodec.stores.context import DEFAULT, Context
from kodec.stores.storage import Local, Location, StorePath, context_of, readable

__all__ = [
    "open_location",
    "open_partition",
    "require_no_view",
    "require_outside_logs",
    "writable_partition",
]

# of Redpanda: a segment, a partition's folder, and those of the namespace and of its topics
_OF_REDPANDA = re.compile(r"/(?:[0-9]+-[0-9]+-v1\.log|[0-9]+_[0-9]+|kafka(?:/[^/]+)?)\Z")


def open_location(path: str | os.PathLike[str], context: Context | None = None) -> Path:
    """The path of what is to be read, for every function that takes a path.

    They open texts themselves; this is for a path that brings something along. It is that of a file or a
    folder of this machine, of an object store or a web server, of a store of one's own (`register_store`), of
    a point of a backup, or of a data directory of Redpanda, which are read as log directories.

    Args:
        path: a path or a URL.
        context: what it brings along: keys, settings of stores, and who takes notes.

    Returns: the path.
    Raises: ArgumentError for a URL of another scheme, or one with a password, a signature or `..` in it;
    OSError where the offsets of a segment of Redpanda are unknown.

    Example: see `Context`.
    """
    location = readable(path, DEFAULT if context is None else context)
    if context is not None and not isinstance(location, Location):
        location = Location(Local(context), location)
    text = str(location)
    # each kind is imported where its names are met
    if "/points/" in text or text.startswith("points/"):
        from kodec.log.remote.point import as_point

        location = as_point(location) or location
    if not isinstance(location, StorePath) and _may_be_redpanda(text):
        from kodec.log.remote.redpanda import as_redpanda

        location = as_redpanda(location) or location
    return location


def _may_be_redpanda(text: str) -> bool:
    # in strings, as this is asked of many a folder
    if "/" not in text or text.endswith(".."):
        text = os.path.abspath(text)  # noqa: PTH100  # `resolve` follows links
    return _OF_REDPANDA.search(text) is not None or os.path.isdir(f"{text}/kafka")  # noqa: PTH112


def open_partition(path: str | os.PathLike[str]) -> PartitionPath:
    """The folder of a topic-partition that a path names, also one in remote storage.

    Raises ValueError if the name is not that of a topic-partition's folder.
    """
    opened = open_location(path)
    folder = resolved(opened)
    if parse_folder_name(folder.name) is None:
        from kodec.log.remote.tier import as_partition

        tiered = as_partition(folder, context_of(opened))
        if tiered is not None:
            return PartitionPath(*tiered, ReplicaKind.LIVE)
    return partition_path(opened)


def writable_partition(path: str | os.PathLike[str]) -> PartitionPath:
    """As `partition_path`, for a folder to be changed; symbolic links are refused.

    A link is in one log directory and the folder in another place: which lock a broker holds, and which
    checkpoints count, is unknown. Raises ValueError.
    """
    folder = partition_path(open_location(path))
    require_no_link(folder.path)
    require_no_view(folder.path)
    return folder


def require_no_view(target: Path) -> None:
    """Refuse to write into a directory of another system, which is only read. Raises ValueError."""
    for parent in () if isinstance(target, StorePath) else real_path(target).parents:
        if isinstance(view := open_location(parent), StorePath):
            raise ValueError(f"{target} is inside {parent}: {view.what}, which is only read")


def require_outside_logs(target: Path) -> None:
    """Refuse a target in a log directory that a broker has used or in a topic-partition's folder with a log.

    A broker does not start if it finds such a folder. Raises ValueError. The target need not exist.
    """
    require_no_view(target)
    for parent in real_path(target).parents:
        # Many a folder is named like one, `build-12`, and has logs of another kind.
        is_partition = parse_folder_name(parent.name) is not None and any(
            parse_segment_name(path.name) is not None for path in parent.glob("*.log")
        )
        if is_partition or is_log_directory(parent):
            what = "a topic-partition's folder" if is_partition else "a broker's log directory"
            raise ValueError(f"{target} is inside {parent}, {what}")
