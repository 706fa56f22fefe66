"""Local segments and those in remote storage as one log directory.

A broker reads what is local from its disk, and earlier offsets from remote storage: the segments that
`__remote_log_metadata` and the leader epochs of the local log select. Here both are files of one folder, so
whatever reads a log directory reads the whole log.

Followed: `RemoteLogManager.read` of Kafka 4.3.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from zlib import crc32

from kodec.log.files.checkpoints import LeaderEpoch, read_leader_epochs, read_partition_metadata
from kodec.log.files.listing import find_partitions, parse_partition_dir, parse_segment_name
from kodec.log.files.names import LEADER_EPOCHS, PARTITION_METADATA
from kodec.log.files.paths import PartitionPath
from kodec.log.messages.as_json import uuid_text
from kodec.log.omissions import Omissions
from kodec.log.remote.lineage import RemoteSegments
from kodec.log.remote.metadata import RemotePartition, read_remote_segments
from kodec.log.remote.names import REMOTE_TOPIC, TieredFolder, holds_metadata, tiered_folders
from kodec.log.remote.opening import open_location
from kodec.log.remote.resolve import LogDirectoryPath, resolve
from kodec.log.remote.tier import Remote, local_file, remote_of
from kodec.log.remote.view import ViewFile
from kodec.log.views.replicas import Replicas
from kodec.runtime.errors import ArgumentError, FormatError
from kodec.stores.context import Context
from kodec.stores.storage import Entry, Listed, Status, StorePath, context_of, entries, entry_path, not_found

__all__ = ["OneLog", "tiers_beside_logs", "with_remote_storage"]


class _Sources(NamedTuple):
    """What a view is made of.

    Attributes:
        tier: the folder of remote storage. logs: the log directory; None for none.
        metadata: log directories that may hold `__remote_log_metadata`.
        elsewhere: log directories whose topic-partitions are not shown where only remote storage has them;
        None:
            nothing is shown that only remote storage has.
        state: of `__remote_log_metadata`, when the view was made: another state makes another view, which
            reads it again.
    """

    tier: Path
    logs: Path | None
    metadata: tuple[Path, ...]
    elsewhere: tuple[Path, ...] | None
    state: int


class OneLog(Remote):
    """A log directory together with remote storage, as one that is only read."""

    def __init__(self, sources: _Sources, context: Context) -> None:
        super().__init__(sources.tier, context, "logs", json.dumps(sources, default=_text))
        self._sources = sources
        self._logs = sources.logs
        self._lock = threading.Lock()
        self._found: Mapping[RemotePartition, RemoteSegments] | None = None

    @classmethod
    def made(cls, sources: _Sources, context: Context) -> OneLog:
        """Of its sources; what it has read before, it knows."""
        return _one_log(sources, context)

    def __reduce__(self) -> tuple[Any, ...]:
        return _one_log, (self._sources, self.context)

    @property
    def origin(self) -> Path:
        return self._logs or self.tier

    @property
    def _known(self) -> Mapping[RemotePartition, RemoteSegments]:
        """The segments by `__remote_log_metadata`; of topic-partitions that are missing nothing is known."""
        # read once for all threads; to read it, nothing is needed for which another thread holds a lock
        with self._lock:
            if self._found is None:
                self._found = self._read_known()
            return self._found

    def _read_known(self) -> Mapping[RemotePartition, RemoteSegments]:
        holders = [path for path in self._sources.metadata if holds_metadata(path)]
        omissions = Omissions()
        known = read_remote_segments(Replicas(*holders), omissions) if holders else None
        for problem in omissions.losses:
            self.context.notes.add(f"{REMOTE_TOPIC} is not whole: {problem}")
        return known or {}

    def _known_of(self, name: str, folder: TieredFolder | None) -> tuple[str, RemoteSegments] | None:
        """The topic's id, and the segments; None if nothing is known of it."""
        owner = parse_partition_dir(name)
        ids = {key.topic_id for key in self._known if key.topic_partition == owner}
        topic_id = self._topic_id(name) or (folder.topic_id if folder is not None else None)
        if topic_id is None and len(ids) == 1:
            (topic_id,) = ids
        if owner is None or topic_id not in ids:
            return None
        return topic_id, self._known[RemotePartition(owner, topic_id)]

    def _topic_id(self, name: str) -> str | None:
        """The topic's id in the local log: it chooses what is read. Raises OSError, FormatError."""
        if self._logs is None:
            return None
        try:
            return uuid_text(read_partition_metadata(self._logs / name / PARTITION_METADATA).topic_id)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _one_of(self, name: str, folders: Sequence[TieredFolder]) -> TieredFolder:
        """Of a topic that was made again, the one that the local log is of."""
        topic_id = self._topic_id(name) if len(folders) > 1 else None
        return super()._one_of(
            name, [folder for folder in folders if topic_id in (None, folder.topic_id)] or folders
        )

    def known(self, name: str) -> RemoteSegments | None:
        known = self._known_of(name, self.folder(name))
        return super().known(name) if known is None else known[1]

    def chosen_by(self, name: str) -> str | None:
        folder = self.folder(name)
        if self._known_of(name, folder) is not None:
            return "metadata"
        return super().chosen_by(name)

    def _note(self, name: str, folder: TieredFolder) -> None:
        if not self._known:
            super()._note(name, folder)
            return
        chosen_by = "manifests" if folder.manifests else "objects"
        self.context.notes.add(
            f"{self.tier}: the {chosen_by} in remote storage show which segments of {name} count: "
            f"{REMOTE_TOPIC} has nothing about it"
        )

    # -- files ------------------------------------------------------------------------------------

    def _local(self, name: str) -> dict[str, ViewFile] | None:
        """The local files of a folder; None if there is no such folder."""
        if self._logs is None:
            return None
        try:
            with entries(self._logs / name) as listing:
                return {
                    entry.name: local_file(entry_path(entry), _status(entry))
                    for entry in listing
                    if entry.is_file()
                }
        except (FileNotFoundError, NotADirectoryError):
            return None

    def files(self, name: str) -> dict[str, ViewFile]:
        local = self._local(name)
        remote = self._remote(name, local or {})
        if local is None and remote is None:
            raise not_found(self.tier / name, "no such topic-partition")
        self._files[name] = files = (remote or {}) | (local or {})
        return files

    def _remote(self, name: str, local: Mapping[str, ViewFile]) -> dict[str, ViewFile] | None:
        folder = self.folder(name)
        known = self._known_of(name, folder)
        if known is None:
            if folder is None:
                return None
            self._note(name, folder)
        owner = parse_partition_dir(name)
        assert owner is not None
        if folder is None:
            assert known is not None
            # nothing of it is there: each of its segments is reported as missing
            folder = TieredFolder(owner, self.tier / f"{name}-{known[0]}", False, known[0])
        bases = [base for name in local if (base := parse_segment_name(name)) is not None]
        lineage: list[LeaderEpoch] = []
        if LEADER_EPOCHS in local:
            path = local[LEADER_EPOCHS].real
            try:
                lineage = read_leader_epochs(path)
            except (OSError, FormatError) as error:
                self.context.notes.add(
                    f"{path}: {error}: the leader epochs in remote storage show which segments count"
                )
        stop = {"stop": min(bases)} if bases else {}
        return self.remote_files(folder, None if known is None else known[1], lineage, **stop)

    # -- the contract -----------------------------------------------------------------------------

    def _file(self, path: Path) -> ViewFile:
        _, _, *inner = path.parts
        if len(inner) == 1 and self._logs is not None:
            real = self._logs / inner[0]
            if real.is_file():
                status = real.stat()
                return local_file(real, Status(status.st_size, status.st_mtime_ns))
        return super()._file(path)

    def _shown(self) -> list[str]:
        """The topic-partitions that only remote storage has."""
        if self._sources.elsewhere is None:
            return []
        elsewhere = self._sources.elsewhere
        return [
            partition
            for partition in self.partitions()
            if not any((folder / partition).is_dir() for folder in elsewhere)
        ]

    def entries(self, folder: Path) -> AbstractContextManager[Iterator[Entry]]:
        inner = folder.parts[2:]
        if inner:
            return super().entries(folder)
        assert isinstance(folder, StorePath)
        listed: dict[str, Entry] = {name: Listed(folder / name, None) for name in self._shown()}
        if self._logs is not None:
            with entries(self._logs) as listing:
                for entry in listing:
                    file = None if entry.is_dir() else local_file(entry_path(entry), _status(entry))
                    listed[entry.name] = Listed(folder / entry.name, None if file is None else file.status)
        return nullcontext(iter(listed.values()))

    @contextmanager
    def _read_again_if_gone(self) -> Iterator[None]:
        """What is no longer local may have been copied since `__remote_log_metadata` was read."""
        try:
            yield
        except FileNotFoundError:
            with self._lock:
                self._found = None
            raise

    def status(self, path: Path) -> Status:
        with self._read_again_if_gone():
            return super().status(path)

    def open(self, path: Path) -> BinaryIO:
        with self._read_again_if_gone():
            return super().open(path)

    def is_folder(self, path: Path) -> bool:
        inner = path.parts[2:]
        if len(inner) == 1 and self._logs is not None and (self._logs / inner[0]).is_dir():
            return True
        return not inner or (len(inner) == 1 and self.folder(inner[0]) is not None)


def _status(entry: Entry) -> Status:
    status = entry.stat()
    return Status(status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=64)
def _one_log(sources: _Sources, context: Context) -> OneLog:
    return OneLog(sources, context)


def _text(value: object) -> str:
    return str(value)


def with_remote_storage(*paths: str | os.PathLike[str], tier: str | os.PathLike[str]) -> list[Path]:
    """Log directories, or folders of topic-partitions, together with remote storage: one log from both.

    Every function that reads accepts the returned paths. Offsets below the first local segment come from
    remote storage. Which segments count there follows `__remote_log_metadata`, if one of the log directories
    holds it, and the leader epochs of the local log; else the manifests in remote storage, which is logged.

    Args:
        paths: log directories (entries of `log.dirs`), or folders of topic-partitions in them; may be URLs.
        The first
            log directory also shows the topic-partitions that only remote storage has.
        tier: the root of remote storage, as a path or a URL.

    Returns: a path for each.
    Raises: ArgumentError if `tier` is not remote storage, or a path is a segment; ValueError; OSError.

    Example:
        >>> import kodec
        >>> (logs,) = kodec.with_remote_storage("/data/tiered/logs", tier="/data/tiered/tier")
        >>> log = kodec.LogDirectory(logs).partition("tiered", 0)
        >>> log.start_offset, log.end_offset, log.remote_segments
        (0, 175, 'metadata')
    """
    root = open_location(tier)
    if not tiered_folders(root):
        raise ArgumentError(f"{tier}: not remote storage of Kafka's own tier or of Aiven's plugin")
    resolved: list[tuple[Path, str]] = []
    for path in paths:
        what = resolve(path)
        if isinstance(what, PartitionPath):
            resolved.append((what.root, what.path.name))
        elif isinstance(what, LogDirectoryPath):
            resolved.append((what.path, ""))
        else:
            raise ArgumentError(
                f"{path}: one segment; give the folder of its topic-partition together with remote storage"
            )
        if remote_of(what.path) is not None:
            raise ArgumentError(f"{path}: is remote storage itself: give a log directory")
    folders = tuple(dict.fromkeys(folder.absolute() for folder, _ in resolved))
    state = _state(folders)
    views: list[Path] = []
    is_first = True
    for logs, name in resolved:
        own, elsewhere = logs.absolute(), None
        if not name and is_first:
            elsewhere, is_first = tuple(folder for folder in folders if folder != own), False
        sources = _Sources(root.absolute(), own, folders, elsewhere, state)
        view = OneLog.made(sources, context_of(root)).path
        views.append(view / name if name else view)
    return views


def _state(folders: Iterable[Path]) -> int:
    """A number that changes with `__remote_log_metadata` in these log directories. Raises OSError."""
    sizes = []
    for folder in folders:
        for partition in find_partitions(folder):
            if partition.topic_partition.topic == REMOTE_TOPIC:
                with entries(partition.path) as files:
                    sizes += [
                        (str(file.path), file.stat().st_size)
                        for file in files
                        if parse_segment_name(file.name) is not None
                    ]
    return crc32(repr(sorted(sizes)).encode())


def tiers_beside_logs(paths: Sequence[Path]) -> list[Path]:
    """Paths of which some are remote storage, and others log directories with `__remote_log_metadata`.

    Those of remote storage become views in which that topic selects the segments; without it, or alone, all
    paths stay as they are. Raises OSError.
    """
    if len(paths) < 2:
        return list(paths)
    holders = tuple(path.absolute() for path in paths if remote_of(path) is None and holds_metadata(path))
    if not holders:
        return list(paths)
    state = _state(holders)
    return [
        OneLog.made(_Sources(path.absolute(), None, holders, (), state), context_of(path)).path
        if path.absolute() not in holders and _is_root(path)
        else path
        for path in paths
    ]


def _is_root(path: Path) -> bool:
    """Whether a path is the root of remote storage."""
    try:
        folders = tiered_folders(path)
    except OSError:
        return False
    return bool(folders) and all(folder.path != path for folder in folders)
