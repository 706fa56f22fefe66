"""Backs up log directories to a folder or an object store, while brokers may write to them."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from kodec.log.backup.capture import Changed, Listing, Taken, keep_file, take_file, take_partition
from kodec.log.backup.repository import RUNNING, Repository, point_name
from kodec.log.batches.records import Limits
from kodec.log.directories.directory import LogRoot
from kodec.log.files.backup_point import BackupDirectory, BackupPartition, BackupPoint
from kodec.log.files.checkpoints import read_offsets
from kodec.log.files.listing import ReplicaKind, find_replicas
from kodec.log.files.lock import is_locked
from kodec.log.files.names import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    META_PROPERTIES,
    RECOVERY_POINTS,
)
from kodec.log.files.paths import require_apart, require_outside_logs
from kodec.log.files.resolve import LogDirectoryPath, NotALog, resolve
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import FormatError
from kodec.stores.storage import StorePath, on_this_machine

__all__ = ["BackupPlan", "BackupReport", "plan_backup"]

_BOOTSTRAP = "bootstrap.checkpoint"
# Read before the logs are listed: what they state the logs have too, then.
_BEFORE = (META_PROPERTIES, _BOOTSTRAP, LOG_START_OFFSETS, HIGH_WATERMARKS, RECOVERY_POINTS)
# After the logs: what has been compacted until then.
_AFTER = (CLEANER_OFFSETS,)
# What refers to records is listed before the records.
_TRANSACTIONS = "__transaction_state"
_FIRST = (_TRANSACTIONS, "__consumer_offsets", "__share_group_state", "__cluster_metadata")
# How often the folders are listed, until no transaction has ended meanwhile.
_LOOKS = 20


@dataclass(slots=True)
class BackupReport:
    """What a backup has stored.

    Attributes:
        point: as stored.
        new, new_bytes: objects that the backup did not have yet.
        reused: files that were not read, since they have not changed since the last point.

    Example: see `plan_backup`.
    """

    point: BackupPoint
    new: int = 0
    new_bytes: int = 0
    reused: int = 0

    @property
    def problems(self) -> list[str]:
        """The topic-partitions that are not in the point, or damaged, with the reason."""
        found = []
        for each in self.point.directories:
            found += [f"{each.source}/{name}: not in the point: {why}" for name, why in each.missing.items()]
            found += [
                f"{each.source}/{one.folder}: damaged: {why}"
                for one in each.partitions
                for why in one.damaged
            ]
        return found


@dataclass(frozen=True, slots=True)
class _Source:
    """A log directory to back up, as it was listed."""

    path: Path
    directory: BackupDirectory
    listings: list[Listing] = field(repr=False)
    before: dict[str, tuple[bytes, os.stat_result]] = field(repr=False)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class BackupPlan:
    """Log directories as they were listed; `apply` stores them.

    Attributes:
        target: the backup.
        begun: when the directories were listed, in s since 1970.
        sources: the log directories as they were listed.
        limits: how much may be allocated for one batch.
        progress: called with the bytes that were read, or need not be, since the last call.

    Example: see `plan_backup`.
    """

    target: Path | str
    begun: float
    sources: list[_Source] = field(repr=False)
    limits: Limits = field(default=Limits(), repr=False)
    progress: Callable[[int], None] = field(default=lambda _: None, repr=False)

    @property
    def notes(self) -> list[str]:
        """What is left out on purpose."""
        return [note for each in self.sources for note in each.notes]

    @property
    def size(self) -> int:
        """The bytes of all logs."""
        return sum(one.size for each in self.sources for one in each.listings)

    def apply(self, *, threads: int = 4) -> BackupReport:
        """Store a point. Log directories are only read, without a lock: brokers go on.

        Each topic-partition is stored as it was when it was listed: closed segments, and the active one up
        to its last whole batch at that moment. One that the broker has changed meanwhile is listed and read
        again. Contents are copied to a temporary folder first (`TMPDIR`), checked there, stored under the
        name of their hash, and read back. The point comes last: it is whole, or not there. What a killed
        backup has stored the next one finds.

        Args:
            threads: topic-partitions at once. Each needs room for a copy of one segment.

        Returns: the point, and what was new. `problems` has topic-partitions that are not in it, or damaged.
        Raises: FileExistsError where something else is at the target; BlockingIOError while old points are
        deleted; OSError.
        """
        repository = Repository(self.target)
        repository.make()
        with repository.marked(RUNNING):
            host = socket.gethostname()
            last = repository.newest_of(host, [each.directory.source for each in self.sources])
            scratch = Path(tempfile.mkdtemp(prefix="kodec-backup-"))
            point = BackupPoint(point_name(self.begun), int(self.begun * 1000), 0, [])
            report = BackupReport(point)
            try:
                for each in self.sources:
                    self._store(each, repository, _known(last, each.directory), scratch, threads, report)
                    point.directories.append(each.directory)
                point.ended = time.time_ns() // 1_000_000
                repository.add(point)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
            return report

    def _store(
        self,
        source: _Source,
        repository: Repository,
        known: dict[str, BackupPartition],
        scratch: Path,
        threads: int,
        report: BackupReport,
    ) -> None:
        directory = source.directory
        for name, content in source.before.items():
            directory.files[name] = keep_file(name, *content, repository, "log.dirs", scratch)
        watermarks = {}
        with suppress(KeyError, FormatError):
            watermarks = read_offsets(source.path / HIGH_WATERMARKS, source.before[HIGH_WATERMARKS][0])

        def taken(listing: Listing) -> Taken | str:
            name = listing.folder.name
            own = Path(tempfile.mkdtemp(dir=scratch))
            try:
                return take_partition(
                    listing,
                    repository,
                    known.get(name),
                    own,
                    live=lambda: is_locked(source.path),
                    limits=self.limits,
                    progress=self.progress,
                )
            except FileNotFoundError as error:
                if error.filename == str(listing.folder):
                    return "deleted while the backup ran"
                raise
            except (Changed, FormatError) as error:
                return str(error)
            except PermissionError as error:
                return f"{error.filename}: {error.strerror}"
            finally:
                shutil.rmtree(own, ignore_errors=True)

        with ThreadPoolExecutor(threads, "kodec-backup") as pool:
            results = pool.map(taken, source.listings)
            for listing, found in zip(source.listings, results, strict=True):
                name = listing.folder.name
                if isinstance(found, str):
                    directory.missing[name] = found
                    continue
                partition = found.partition
                for owner, offset in watermarks.items():
                    if str(owner) == name:
                        partition.high_watermark = offset
                directory.partitions.append(partition)
                report.new += found.new
                report.new_bytes += found.new_bytes
                report.reused += found.reused
        self._beside(source, repository, _AFTER, scratch)

    def _beside(self, source: _Source, repository: Repository, names: Iterable[str], scratch: Path) -> None:
        """The files next to the topic-partitions' folders."""
        for name in names:
            with suppress(FileNotFoundError):
                source.directory.files[name] = take_file(source.path / name, repository, "log.dirs", scratch)


def plan_backup(
    log_dirs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    target: str | os.PathLike[str],
    *,
    topics: Collection[str] | None = None,
    limits: Limits = Limits(),
    progress: Callable[[int], None] = lambda _: None,
) -> BackupPlan:
    """List log directories for a backup: the moment that the point will show. Nothing is written.

    Kafka's own topics, which have metadata, groups and transactions, are listed before the others, so that
    they refer to records that are in the point.

    Args:
        log_dirs: one or several entries of `log.dirs`, of one broker or of several, which may run.
        target: a new folder or URL (`s3:`, `gs:`, `az:`), or one with a backup.
        topics: only these, and Kafka's own; None: all.
        limits: how much may be allocated for one batch.
        progress: called with the bytes of logs that were read, or need not be, since the last call.

    Returns: a plan; `apply` stores a point.
    Raises: NotALog for a path that is not a log directory; ValueError for a target in one, or a directory
    given twice; KeyError for a topic that is missing; FileExistsError for a target with something else;
    OSError.

    Example:
        >>> import kodec
        >>> report = kodec.operations.plan_backup("/data/kafka-logs", "backup").apply()
        >>> report.problems, len(report.point.directories[0].partitions)
        ([], 28)
        >>> again = kodec.operations.plan_backup("/data/kafka-logs", "backup").apply()
        >>> again.new
        0
        >>> points = kodec.operations.list_points("backup")
        >>> logs = kodec.LogDirectory(f"backup/points/{points[0].name}")
        >>> logs.partition("orders", 0).end_offset
        421
    """
    given = [log_dirs] if isinstance(log_dirs, (str, os.PathLike)) else list(log_dirs)
    paths = [on_this_machine(each).resolve() for each in given]
    if len(set(paths)) < len(paths):
        raise ValueError("a log directory is given twice")
    place = Repository(target)
    for path in paths:
        what = resolve(path)
        if not isinstance(what, LogDirectoryPath):
            raise NotALog(f"{path}: not a log directory, an entry of log.dirs")
        if not isinstance(place.target, StorePath):
            require_apart(path, place.target)
            require_outside_logs(place.target)
    place.exists()
    unsettled: list[str] = []
    for _ in range(_LOOKS):
        begun = time.time()
        sources = [_listed(path, number, len(paths), topics) for number, path in enumerate(paths)]
        unsettled = [name for each in sources for name in _changed(each)]
        if not unsettled:
            break
    if unsettled:
        sources[0].notes.append(
            f"{', '.join(unsettled)}: transactions ended while the folders were listed: some may have ended "
            "in one partition and not in another"
        )
    if topics is not None:
        found = {one.folder.name.rpartition("-")[0] for each in sources for one in each.listings}
        if missing := set(topics) - found:
            raise KeyError(f"no topic {', '.join(sorted(missing))}")
    names = [each.directory.name for each in sources]
    for each in sources:
        if names.count(each.directory.name) > 1:
            each.directory.name += f"-{each.directory.directory_id or sources.index(each)}"
    return BackupPlan(place.target, begun, sources, limits, progress)


def _listed(path: Path, number: int, count: int, topics: Collection[str] | None) -> _Source:
    properties = None
    with suppress(FormatError):
        properties = LogRoot(path).meta_properties()
    node = None if properties is None else properties.node_id
    name = "" if count == 1 else f"dir{number}" if node is None else f"node{node}"
    before = {}
    for beside in _BEFORE:
        with suppress(FileNotFoundError):
            before[beside] = _whole(path / beside)
    notes, folders = [], []
    for replica in find_replicas(path):
        if replica.kind is not ReplicaKind.LIVE:
            notes.append(f"{replica.path}: left out: marked as {replica.kind.value}")
        elif topics is None or replica.topic_partition.is_internal or replica.topic_partition.topic in topics:
            folders.append(replica)
    order = {topic: place for place, topic in enumerate(_FIRST)}
    folders.sort(key=lambda each: (order.get(each.topic_partition.topic, len(order)), each.topic_partition))
    listings = []
    for each in folders:
        with suppress(FileNotFoundError):
            listings.append(Listing.of(each.path))
    directory = BackupDirectory(
        name,
        socket.gethostname(),
        str(path),
        None if properties is None else properties.cluster_id,
        node,
        None if properties is None else properties.directory_id,
    )
    return _Source(path, directory, listings, before, notes)


def _whole(path: Path) -> tuple[bytes, os.stat_result]:
    """A file that brokers replace as a whole, and what it was."""
    with path.open("rb") as file:
        return file.read(), os.fstat(file.fileno())


def _changed(source: _Source) -> list[str]:
    """The partitions of the coordinator's topic that have changed since they were listed, before all others.

    Without changes, no transaction has got to its markers meanwhile, or the coordinator writes those that are
    missing.
    """
    found = []
    for each in source.listings:
        if each.folder.name.startswith(f"{_TRANSACTIONS}-"):
            with suppress(FileNotFoundError):
                if Listing.of(each.folder).size != each.size:
                    found.append(each.folder.name)
    return found


def _known(last: BackupPoint | None, directory: BackupDirectory) -> dict[str, BackupPartition]:
    """What an earlier point has of a log directory, by folder."""
    for each in () if last is None else last.directories:
        if (each.host, each.source) == (directory.host, directory.source):
            return {one.folder: one for one in each.partitions}
    return {}
