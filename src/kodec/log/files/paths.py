"""What a path that a user gave means: which topic-partition's folder it is, and the log directory around it.

Everything that looks beside a topic-partition's folder (for the broker's lock, for checkpoints) asks here,
since `Path(".").parent` is `.`, and a symbolic link has two folders around it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from kodec.log.arguments import path_of
from kodec.log.files.listing import ReplicaKind, TopicPartition, parse_folder_name, parse_segment_name
from kodec.log.files.names import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    META_PROPERTIES,
    OFFSET,
    PARTITION_METADATA,
    QUORUM_STATE,
    RECOVERY_POINTS,
)
from kodec.runtime.dataclass import dataclass

__all__ = [
    "PartitionPath",
    "holds_kafkas_files",
    "is_log_directory",
    "on_this_machine",
    "partition_path",
    "require_apart",
    "require_no_link",
    "require_outside_logs",
    "resolved",
    "writable_partition",
]

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_OF_A_LOG_DIRECTORY = (
    META_PROPERTIES,
    CLEAN_SHUTDOWN,
    RECOVERY_POINTS,
    LOG_START_OFFSETS,
    HIGH_WATERMARKS,
    CLEANER_OFFSETS,
)
_OF_A_PARTITION = (LEADER_EPOCHS, PARTITION_METADATA, QUORUM_STATE)
_OF_AN_OFFSET = re.compile(OFFSET + "[.-]")


@dataclass(frozen=True, slots=True)
class PartitionPath:
    """The folder of a topic-partition's replica.

    Attributes:
        path: absolute; the folders around it are free of symbolic links, it may itself be one.
        topic_partition, kind: what its name says.
    """

    path: Path
    topic_partition: TopicPartition
    kind: ReplicaKind

    @property
    def root(self) -> Path:
        """The log directory: the folder that this one is in, by the name under which it is known there."""
        return self.path.parent


def resolved(path: str | os.PathLike[str]) -> Path:
    """The path from the root of the file system on, without symbolic links but, perhaps, the last name.

    The last name is kept as it is because it says which topic-partition a folder holds. The working directory
    counts as the shell names it (`PWD`), where that is the same folder.
    """
    given = path_of(path)
    if given.name in ("", ".."):
        told = Path(os.environ.get("PWD", ""))
        if str(given) != "." or not _is_same_folder(told):
            return given.resolve()
        given = told
    return given.parent.resolve() / given.name


def _is_same_folder(told: Path) -> bool:
    """Whether `PWD` names the working directory, as POSIX asks of it: absolute, no `..`, the same folder."""
    try:
        return told.is_absolute() and ".." not in told.parts and told.samefile(".")
    except OSError:
        return False


def partition_path(path: str | os.PathLike[str]) -> PartitionPath:
    """The folder of a topic-partition that a path names, which need not be there.

    Raises ValueError where the name is not that of a topic-partition's folder.
    """
    found = resolved(path)
    name = parse_folder_name(found.name)
    if name is None:
        raise ValueError(f"{path}: the folder of a topic-partition is named like orders-0")
    return PartitionPath(found, name.topic_partition, name.kind)


def writable_partition(path: str | os.PathLike[str]) -> PartitionPath:
    """As `partition_path`, for a folder that is to be changed; symbolic links are refused.

    A link is in one log directory and the folder in another place: whose lock a broker holds, and whose
    checkpoints count, cannot be known from here. Raises ValueError.
    """
    found = partition_path(path)
    require_no_link(found.path)
    return found


def require_no_link(path: Path) -> None:
    """Refuse a symbolic link where something is to be written. Raises ValueError."""
    if path.is_symlink():
        raise ValueError(
            f"{path} is a symbolic link to {path.resolve()}: nothing is written through links, as the broker "
            f"that uses the log cannot be told from here"
        )


def is_log_directory(path: Path) -> bool:
    """Whether a folder is an entry of a broker's `log.dirs`, by what brokers leave there.

    A `.lock` alone says nothing: many programs call theirs so.
    """
    return any((path / name).exists() for name in _OF_A_LOG_DIRECTORY)


def holds_kafkas_files(folder: Path) -> bool:
    """Whether a broker may have made a folder that is named like a topic-partition's.

    Many another one is: `llvm-14`, `dbus-1`. A broker's own may be empty, and is in a log directory. Where it
    cannot be listed, whoever reads it reports why.
    """
    if is_log_directory(folder.parent):
        return True
    try:
        with os.scandir(folder) as entries:
            return any(each.name in _OF_A_PARTITION or _OF_AN_OFFSET.match(each.name) for each in entries)
    except OSError:
        return True


def on_this_machine(path: str | os.PathLike[str]) -> Path:
    """The path. Raises ValueError for a URL, of which `Path` makes a relative path that nobody means."""
    found = path_of(path)
    text = os.fspath(path)
    if _URL.match(text) and not Path(found.parts[0]).exists():
        url = text if "://" in text else text.replace(":/", "://", 1)
        raise ValueError(
            f"{url} is not a path of this machine: commands and jobs work on its file systems, mounted ones "
            "too; what Hadoop can reach Spark reads with kafka-log's source for the JVM"
        )
    return found


def require_outside_logs(target: Path) -> None:
    """Refuse a target in a log directory that a broker has used, or in a topic-partition's folder with a log.

    A broker does not start where it finds such a folder. Raises ValueError. The target need not be there.
    """
    for each in target.resolve().parents:
        # Many a folder is named like one, `build-12`, and has logs of another kind.
        is_partition = parse_folder_name(each.name) is not None and any(
            parse_segment_name(path.name) is not None for path in each.glob("*.log")
        )
        if is_partition or is_log_directory(each):
            what = "a topic-partition's folder" if is_partition else "a broker's log directory"
            raise ValueError(f"{target} is inside of {each}, {what}")


def require_apart(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Refuse to write into, over or above what is read; also into the log directory around it.

    Raises ValueError. The target need not be there.
    """
    read, written = Path(source).resolve(), Path(target).resolve()
    if read == written:
        raise ValueError(f"{target} is what is read")
    if read.is_relative_to(written):
        raise ValueError(f"{target} holds what is read, {source}")
    is_partition = parse_folder_name(read.name) is not None
    for each in [read, read.parent] if is_partition and is_log_directory(read.parent) else [read]:
        if written.is_relative_to(each):
            raise ValueError(f"{target} is inside of what is read, {each}")
