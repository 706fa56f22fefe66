"""Interprets a user's path: the topic-partition's folder and its log directory.

Code that needs files next to a topic-partition's folder (the broker's lock, checkpoints) uses this,
since `Path(".").parent` is `.`, and a symbolic link has two parents.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from kodec.log.files.listing import ReplicaKind, TopicPartition, parse_folder_name
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
from kodec.stores.storage import StorePath, entries, path_of

__all__ = [
    "PartitionPath",
    "holds_kafkas_files",
    "is_log_directory",
    "is_own_folder",
    "partition_path",
    "real_path",
    "require_apart",
    "require_no_link",
    "resolved",
]

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
        path: absolute; its parents are free of symbolic links, it may itself be one.
        topic_partition, kind: from its name.
    """

    path: Path
    topic_partition: TopicPartition
    kind: ReplicaKind

    @property
    def root(self) -> Path:
        """The log directory: the folder that this one is in, by the name under which it is known there."""
        return self.path.parent


def real_path(path: Path) -> Path:
    """The absolute path without symbolic links.

    Of a loop of links, which `Path.resolve` refuses, it is the path as far as that leads.
    """
    return path.resolve() if isinstance(path, StorePath) else Path(os.path.realpath(path))


def resolved(path: str | os.PathLike[str]) -> Path:
    """The absolute path, without symbolic links except, perhaps, the last name.

    The last name is kept as it is because it names the topic-partition. The working directory
    is named as in the shell (`PWD`), if that is the same folder.
    """
    opened = path_of(path)
    if opened.name in ("", ".."):
        shell_path = Path(os.environ.get("PWD", ""))
        if str(opened) != "." or not _is_same_folder(shell_path):
            return real_path(opened)
        opened = shell_path
    return real_path(opened.parent) / opened.name


def _is_same_folder(shell_path: Path) -> bool:
    """Whether `PWD` names the working directory, as POSIX asks of it: absolute, no `..`, the same folder."""
    try:
        return shell_path.is_absolute() and ".." not in shell_path.parts and shell_path.samefile(".")
    except OSError:
        return False


def partition_path(path: str | os.PathLike[str]) -> PartitionPath:
    """The folder of a topic-partition that a path names, which need not exist.

    Raises ValueError if the name is not that of a topic-partition's folder.
    """
    folder = resolved(path)
    name = parse_folder_name(folder.name)
    if name is None:
        raise ValueError(f"{path}: the folder of a topic-partition is named like orders-0")
    return PartitionPath(folder, name.topic_partition, name.kind)


def is_own_folder(path: Path) -> bool:
    """Whether a path is a folder of this user, and no link. Raises OSError, but not if it is missing."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(status.st_mode) and (not hasattr(os, "geteuid") or status.st_uid == os.geteuid())


def require_no_link(path: Path) -> None:
    """Refuse to write through a symbolic link. Raises ValueError."""
    if path.is_symlink():
        raise ValueError(
            f"{path} is a symbolic link to {real_path(path)}: nothing is written through links, as the "
            f"broker that uses the log is unknown"
        )


def is_log_directory(path: Path) -> bool:
    """Whether a folder is an entry of a broker's `log.dirs`, by the files that brokers leave there.

    A `.lock` alone is no evidence: many programs use that name.
    """
    if isinstance(path, StorePath):
        # one listing, where each name would be a request
        try:
            with entries(path) as listing:
                return any(entry.name in _OF_A_LOG_DIRECTORY for entry in listing)
        except (FileNotFoundError, NotADirectoryError):
            return False
    return any((path / name).exists() for name in _OF_A_LOG_DIRECTORY)


def holds_kafkas_files(folder: Path) -> bool:
    """Whether a broker may have created a folder that is named like a topic-partition's.

    Many others are: `llvm-14`, `dbus-1`. A broker's may be empty, but is in a log directory. If it
    cannot be listed, reading it reports why. A file of that name, or a link to nothing, shows nothing.
    """
    if is_log_directory(folder.parent):
        return True
    try:
        if not folder.is_dir():
            return False
        with entries(folder) as listing:
            return any(entry.name in _OF_A_PARTITION or _OF_AN_OFFSET.match(entry.name) for entry in listing)
    except OSError:
        return True


def require_apart(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Refuse to write into, over or above the source, or into its log directory.

    Raises ValueError. The target need not exist.
    """
    read, written = real_path(path_of(source)), real_path(path_of(target))
    if isinstance(read, StorePath) and read.origin is not None:
        # of a view, the folder that it is made of
        read = real_path(read.origin)
    if read == written:
        raise ValueError(f"{target} is the source")
    if read.is_relative_to(written):
        raise ValueError(f"{target} contains the source, {source}")
    is_partition = parse_folder_name(read.name) is not None
    for folder in [read, read.parent] if is_partition and is_log_directory(read.parent) else [read]:
        if written.is_relative_to(folder):
            raise ValueError(f"{target} is inside the source, {folder}")
