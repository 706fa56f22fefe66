"""Creates a topic-partition's folder, whole or not at all, from another one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kodec.log.directories.gaps import cleaned_up_to
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.checkpoints import read_offsets, write_offsets
from kodec.log.files.descriptors import keep_owner, make_folders, open_file
from kodec.log.files.durable import sync_folder
from kodec.log.files.fingerprint import Fingerprint
from kodec.log.files.listing import ReplicaKind
from kodec.log.files.lock import locked
from kodec.log.files.names import CLEANER_OFFSETS, LOG_START_OFFSETS
from kodec.log.files.paths import PartitionPath, require_apart, require_no_link
from kodec.log.remote.opening import writable_partition

__all__ = ["new_folder", "require_new", "working_name"]

_LONGEST_NAME = 255


def require_new(source: Path, target: str | os.PathLike[str]) -> PartitionPath:
    """The path of a new folder: named like a topic-partition's, not existing, apart from the source.

    Raises FileExistsError; ValueError for another name or place.
    """
    new = writable_partition(target)
    if new.kind is not ReplicaKind.LIVE:
        raise ValueError(f"{target}: the folder of a topic-partition is named like orders-0")
    require_apart(source, new.path)
    if new.path.exists():
        raise FileExistsError(f"{target} already exists")
    return new


@contextmanager
def new_folder(
    log: PartitionLog,
    target: str | os.PathLike[str],
    *sources: Fingerprint,
    offsets: Callable[[], tuple[int, int]] | None = None,
) -> Iterator[Path]:
    """A folder to write to, which becomes `target` at the end, when everything in it is durable.

    The caller makes the files' contents durable. The lock of the log directory around the target is held
    meanwhile. Files get the owner, group and permissions of those of `log`; the log start offset and the
    cleaner's are copied, or are those of `offsets`. On an error nothing is left. `sources`, of the folders
    that are read, must not change from the beginning to the end.

    Raises: FileExistsError; StalePlan; OSError (BlockingIOError if a broker, another program or another
    part of this one writes there); ValueError.
    """
    new = writable_partition(target)
    make_folders(new.root, log.root.stat())
    with locked(new.root, stays=False) as lock:
        working = new.root / working_name(new.path.name)
        # A link here would lead to other files, which are removed below.
        require_no_link(working)
        make_folders(working, log.path.stat())
        # The claim excludes others in this process that create the same folder.
        with lock.claim(working):
            if new.path.exists():
                shutil.rmtree(working, ignore_errors=True)
                raise FileExistsError(f"{target} already exists")
            for path in working.iterdir():
                # left by a crash
                path.unlink()
            try:
                for source in sources:
                    source.require()
                yield working
                for source in sources:
                    source.require()
                _keep_owners(log, working)
                sync_folder(working)
                # Before the records can be seen: those below the start offset are deleted, and stay so after
                # a crash.
                _note_offsets(new, *(_offsets(log) if offsets is None else offsets()))
                working.rename(new.path)
            except BaseException:
                shutil.rmtree(working, ignore_errors=True)
                raise
            sync_folder(new.root)


def working_name(name: str) -> str:
    """A name that marks a replica for deletion by a broker, in case a crash leaves it.

    As Kafka does, the topic is shortened if the name is too long for a file system.
    Source: org.apache.kafka.storage.internals.log.LocalLog.logDeleteDirName.
    """
    topic, _, partition = name.rpartition("-")
    ending = f"-{partition}.kodec-unfinished-delete"
    return topic[: _LONGEST_NAME - len(ending)] + ending


def _keep_owners(log: PartitionLog, folder: Path) -> None:
    """Users who may read the source may read the new files, and nobody else."""
    like = (log.segments[0].path if log.segments else log.path).stat()
    mode = like.st_mode if log.segments else like.st_mode & 0o666
    for path in folder.iterdir():
        with open_file(path, os.O_RDONLY) as fd:
            keep_owner(fd, like, mode)


def _offsets(log: PartitionLog) -> tuple[int, int]:
    """The start of a log, if deleted records are still in the first segment, and how far it is compacted."""
    start = log.start_offset if log.segments and log.start_offset > log.segments[0].base_offset else 0
    return start, cleaned_up_to(log)


def _note_offsets(new: PartitionPath, start: int, cleaned: int) -> None:
    """Write the entries of the new log directory; its old ones of the topic-partition are dropped."""
    for name, offset in ((LOG_START_OFFSETS, start), (CLEANER_OFFSETS, cleaned)):
        checkpoint = new.root / name
        before = read_offsets(checkpoint) if checkpoint.exists() else {}
        after = {key: value for key, value in before.items() if key != new.topic_partition}
        if offset:
            after[new.topic_partition] = offset
        if after != before:
            write_offsets(checkpoint, after)
