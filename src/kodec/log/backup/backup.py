"""Backs up log directories to a folder or an object store, while brokers may write to them."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from kodec.log.arguments import chosen_names
from kodec.log.backup.capture import Changed, Listing, Taken, keep_file, read_whole, take_partition
from kodec.log.backup.repository import RUNNING, Repository, UnchangedRepository, point_name
from kodec.log.batches.records import Limits
from kodec.log.directories.directory import LogRoot
from kodec.log.files.checkpoints import read_offsets
from kodec.log.files.listing import (
    ReplicaKind,
    TopicPartition,
    find_replicas,
    left_out_of,
    parse_partition_dir,
)
from kodec.log.files.lock import is_locked, locked_staging
from kodec.log.files.names import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOCK,
    LOG_START_OFFSETS,
    META_PROPERTIES,
    RECOVERY_POINTS,
)
from kodec.log.files.paths import require_apart
from kodec.log.omissions import Cause, Omissions
from kodec.log.remote.opening import require_outside_logs
from kodec.log.remote.point import BackupDirectory, BackupPoint
from kodec.log.remote.resolve import LogDirectoryPath, NotALog, resolve
from kodec.log.selection import Topics
from kodec.log.views.contents import BOOTSTRAP
from kodec.runtime.dataclass import dataclass, field, replace
from kodec.runtime.errors import FormatError, ReadFailed, StalePlan
from kodec.runtime.near import meant
from kodec.runtime.plan import OnStep, Plan, ignore
from kodec.stores.modes import readable_as
from kodec.stores.storage import StorePath, on_this_machine

__all__ = ["BackupPlan", "BackupReport", "plan_backup"]

# Read before the logs are listed: what they state the logs have too, then.
_BEFORE = (META_PROPERTIES, BOOTSTRAP, LOG_START_OFFSETS, HIGH_WATERMARKS, RECOVERY_POINTS)
# After the logs: what has been compacted until then.
_AFTER = (CLEANER_OFFSETS,)
# What refers to records is listed before the records.
_TRANSACTIONS = "__transaction_state"
_FIRST = (_TRANSACTIONS, "__consumer_offsets", "__share_group_state", "__cluster_metadata")
_SCRATCH = "kodec-backup-"
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
    def omissions(self) -> Omissions:
        """What the point lacks of the log directories, and what is damaged in it."""
        return self.point.omissions


@dataclass(frozen=True, slots=True)
class _Source:
    """A log directory to back up, as it was listed."""

    path: Path
    directory: BackupDirectory
    listings: list[Listing] = field(default_factory=list, repr=False)
    topics: set[str] = field(default_factory=set, repr=False)
    before: dict[str, tuple[bytes, os.stat_result]] = field(default_factory=dict, repr=False)
    identity: _Identity | None = None

    def offsets(self, name: str) -> dict[TopicPartition, int]:
        """A checkpoint as it was before the logs were listed; nothing of one that is damaged."""
        with suppress(KeyError, FormatError):
            return read_offsets(self.path / name, self.before[name][0])
        return {}


_Identity = tuple[int, int, bytes | None]


def _identity(path: Path) -> _Identity | None:
    """The device and inode of a log directory, and its `meta.properties`; None where it cannot be read."""
    try:
        status = path.stat()
    except OSError:
        return None
    properties = read_whole(path / META_PROPERTIES, Omissions())
    return status.st_dev, status.st_ino, None if properties is None else properties[0]


@dataclass(frozen=True, slots=True)
class BackupPlan(Plan[BackupReport]):
    """Log directories as they were listed; `apply` stores them.

    Attributes:
        target: the backup.
        begun: when the directories were listed, in s since 1970.
        sources: the log directories as they were listed.
        notes: what to know about the moment.
        limits: how much may be allocated for one batch.
        progress: called with the bytes that were read, or need not be, since the last call.
        threads: topic-partitions at once. Each needs room for a copy of one segment.
        check: read what the backup has and the point needs, too; an object that is damaged is stored again.

    Example: see `plan_backup`.
    """

    target: Path | str
    begun: float
    sources: list[_Source] = field(repr=False)
    notes: list[str] = field(default_factory=list)
    limits: Limits = field(default=Limits(), repr=False)
    progress: Callable[[int], None] = field(default=lambda _: None, repr=False)
    threads: int = 4
    check: bool = False

    @property
    def size(self) -> int:
        """The bytes of all logs."""
        return sum(listing.size for source in self.sources for listing in source.listings)

    def require_current(self) -> None:
        """Raises StalePlan if a log directory is another one; what a broker changes in it is no matter."""
        for source in self.sources:
            now = _identity(source.path)
            if None not in (source.identity, now) and source.identity != now:
                raise StalePlan(str(source.path), "was replaced")

    def preview(self) -> BackupReport:
        """Read what `apply` would store, and return the point; store nothing. Errors as in `apply`."""
        with readable_as(*(source.path for source in self.sources)):
            return self._store(UnchangedRepository(self.target))

    def apply(self, *, on_step: OnStep = ignore) -> BackupReport:
        """Store a point, and call `on_step` with it. Log directories are only read, without a lock.

        Each topic-partition is stored as it was when it was listed: closed segments, and the active one up
        to its last whole batch at that moment. One that the broker has changed meanwhile is listed and read
        again. Contents are copied to a temporary folder first (`TMPDIR`), checked there, stored under the
        name of their hash, and read back. The point comes last, or is not there. What a killed backup has
        stored the next one finds.

        All that can be read is stored. What cannot be, what is damaged, and offsets that are lost are in the
        account of the point, which is not whole then; what reads the point reports them too.

        Returns: the point, and what was new; `omissions` has what is missing or damaged.
        Raises: StalePlan if a log directory is another one than the one that was listed; FileExistsError
        where something else is at the target; BlockingIOError while old points are deleted; OSError where
        nothing can be written.
        """
        repository = Repository(self.target)
        with readable_as(*(source.path for source in self.sources)):
            self.require_current()
            repository.make()
            with repository.marked(RUNNING):
                self.require_current()
                report = self._store(repository)
                repository.add(report.point)
        on_step(report.point)
        return report

    def _store(self, repository: Repository) -> BackupReport:
        """Store everything but the point itself."""
        last, number = repository.newest_of(
            socket.gethostname(), [source.directory.source for source in self.sources]
        )
        point = BackupPoint(point_name(self.begun), int(self.begun * 1000), 0, [], number + 1)
        report = BackupReport(point)
        with _scratch_folder() as scratch:
            for source in self.sources:
                known = _known(last, source.directory)
                point.directories.append(self._store_directory(source, repository, known, scratch, report))
        point.ended = time.time_ns() // 1_000_000
        return report

    def _store_directory(
        self,
        source: _Source,
        repository: Repository,
        known: BackupDirectory | None,
        scratch: Path,
        report: BackupReport,
    ) -> BackupDirectory:
        omissions = Omissions()
        omissions.extend(source.directory.omissions)
        directory = replace(source.directory, files={}, partitions=[], omissions=omissions)

        def keep(path: Path, content: tuple[bytes, os.stat_result]) -> None:
            directory.files[path.name] = keep_file(path, *content, repository, scratch, omissions)

        for name, content in source.before.items():
            keep(source.path / name, content)
        watermarks = source.offsets(HIGH_WATERMARKS)
        partitions = {} if known is None else {partition.folder: partition for partition in known.partitions}
        not_whole = set() if known is None else {loss.path for loss in known.omissions.losses}

        def attempt(listing: Listing) -> Taken | OSError | Changed:
            folder = Path(tempfile.mkdtemp(dir=scratch))
            try:
                return take_partition(
                    listing,
                    repository,
                    partitions.get(listing.folder.name),
                    folder,
                    live=lambda: is_locked(source.path),
                    limits=self.limits,
                    was_whole=not any(path.is_relative_to(listing.folder) for path in not_whole),
                    check=self.check,
                    progress=self.progress,
                )
            except (FileNotFoundError, ReadFailed) as error:
                # of the target it ends the backup
                if error.filename == str(listing.folder):
                    return error
                raise
            except Changed as error:
                return error
            finally:
                shutil.rmtree(folder, ignore_errors=True)

        with ThreadPoolExecutor(self.threads, "kodec-backup") as pool:
            for listing, result in zip(source.listings, pool.map(attempt, source.listings), strict=True):
                if isinstance(result, FileNotFoundError):
                    omissions.lose(listing.folder, _GONE, Cause.MISSING)
                elif isinstance(result, OSError):
                    omissions.failed(listing.folder, result)
                elif isinstance(result, Changed):
                    omissions.lose(listing.folder, f"not in the point: {result}", Cause.UNREACHABLE)
                else:
                    owner = parse_partition_dir(listing.folder.name)
                    assert owner is not None
                    result.partition.high_watermark = watermarks.get(owner)
                    directory.partitions.append(result.partition)
                    omissions.extend(result.omissions)
                    _require_end(source, listing, owner, result, omissions)
                    report.new += result.new
                    report.new_bytes += result.new_bytes
                    report.reused += result.reused
        for path in (source.path / name for name in _AFTER):
            if (after := read_whole(path, omissions)) is not None:
                keep(path, after)
        return directory


_GONE = "it was deleted while the backup ran"


@contextmanager
def _scratch_folder() -> Iterator[Path]:
    """A folder for copies, deleted at the end; those that killed backups of this user left are, too."""
    around = Path(tempfile.gettempdir())
    others = [folder for folder in around.glob(f"{_SCRATCH}*") if folder.is_dir() and not folder.is_symlink()]
    path = Path(tempfile.mkdtemp(prefix=_SCRATCH))
    try:
        with locked_staging(path):
            for other in others:
                # who works there holds its lock; a folder without one was made at this moment
                with suppress(OSError):
                    if (other / LOCK).exists() and other.stat().st_uid == path.stat().st_uid:
                        _remove_stale(other)
            yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _remove_stale(folder: Path) -> None:
    if not is_locked(folder):
        with locked_staging(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _require_end(
    source: _Source, listing: Listing, owner: TopicPartition, result: Taken, omissions: Omissions
) -> None:
    """Note offsets that checkpoints, which were read before the log was listed, show after its end."""
    if any(omission.cause is Cause.UNREACHABLE for omission in result.omissions):
        # the log may go on in what cannot be read
        return
    end = max(result.partition.end_offset or 0, source.offsets(LOG_START_OFFSETS).get(owner, 0))
    known, name = max(
        (source.offsets(checkpoint).get(owner, 0), checkpoint)
        for checkpoint in (RECOVERY_POINTS, HIGH_WATERMARKS)
    )
    if known > end:
        reason = f"the log ends before {known}, which {name} has"
        omissions.gap(listing.folder, end, known - 1, reason)


def plan_backup(
    logs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    to: str | os.PathLike[str],
    *,
    topics: Topics = None,
    threads: int | None = None,
    check: bool = False,
    limits: Limits = Limits(),
    progress: Callable[[int], None] = lambda _: None,
) -> BackupPlan:
    """List log directories for a backup: the moment that the point will show. Nothing is written.

    Kafka's own topics, which have metadata, groups and transactions, are listed before the others, so that
    they refer to records that are in the point.

    Args:
        logs: one or several entries of `log.dirs`, of one broker or of several, which may run.
        to: a new folder or URL (`s3:`, `gs:`, `az:`), or one with a backup.
        topics: only these, and Kafka's own; None: all.
        threads, check: see `BackupPlan`.
        limits: how much may be allocated for one batch.
        progress: called with the bytes of logs that were read, or need not be, since the last call.

    Of several log directories one that cannot be listed, such as that of a failed disk, does not prevent the
    others from being stored: it is in the account.

    Returns: a plan; `apply` stores a point.
    Raises: NotALog for a path that is not a log directory; ValueError for a target in one, or a directory
    given twice; KeyError for a topic that is missing; FileExistsError for a target with something else;
    OSError where no log directory can be listed.

    Example:
        >>> import kodec
        >>> report = kodec.operations.plan_backup("/data/kafka-logs", "backup").apply()
        >>> report.omissions.is_whole, len(report.point.directories[0].partitions)
        (True, 28)
        >>> again = kodec.operations.plan_backup("/data/kafka-logs", "backup").apply()
        >>> again.new
        0
        >>> points = kodec.operations.list_points("backup")
        >>> logs = kodec.LogDirectory(f"backup/points/{points[0].name}")
        >>> logs.partition("orders", 0).end_offset
        421
    """
    roots = [logs] if isinstance(logs, (str, os.PathLike)) else list(logs)
    paths = [on_this_machine(root).resolve() for root in roots]
    if len(set(paths)) < len(paths):
        raise ValueError("a log directory is given twice")
    topics = chosen_names("topics", topics)
    repository = Repository(to)
    failures: dict[Path, OSError] = {}
    for path in paths:
        try:
            if not isinstance(resolve(path), LogDirectoryPath):
                raise NotALog(f"{path}: not a log directory, an entry of log.dirs")
        except OSError as error:
            failures[path] = error
        if not isinstance(repository.target, StorePath):
            require_apart(path, repository.target)
            require_outside_logs(repository.target)
    if len(failures) == len(paths):
        raise failures[paths[0]]
    repository.exists()
    unsettled: list[str] = []
    for _ in range(_LOOKS):
        start_time = time.time()
        sources = [
            _listed(path, number, len(paths), topics, failures.get(path)) for number, path in enumerate(paths)
        ]
        unsettled = [name for source in sources for name in _changed(source)]
        if not unsettled:
            break
    notes = []
    if unsettled:
        notes.append(
            f"{', '.join(unsettled)}: transactions ended while the folders were listed: some may have ended "
            "in one partition and not in another"
        )
    known_topics = {topic for source in sources for topic in source.topics}
    if topics is not None and (missing := sorted(set(topics) - known_topics)):
        replicas = (replica for path in paths if path not in failures for replica in find_replicas(path))
        near = meant(missing[0], {replica.topic_partition.topic for replica in replicas})
        raise KeyError(f"no topic {', '.join(missing)}{near}")
    names = [source.directory.name for source in sources]
    for source in sources:
        if names.count(source.directory.name) > 1:
            source.directory.name += f"-{source.directory.directory_id or sources.index(source)}"
    return BackupPlan(
        repository.target,
        start_time,
        sources,
        notes,
        limits,
        progress,
        4 if threads is None else threads,
        check,
    )


def _listed(
    path: Path, number: int, count: int, topics: Collection[str] | None, failure: OSError | None
) -> _Source:
    omissions = Omissions()
    directory = BackupDirectory("", socket.gethostname(), str(path), None, None, None)
    source = _Source(path, directory, identity=_identity(path))
    directory.omissions = omissions
    if failure is not None:
        omissions.failed(path, failure)
        directory.name = f"dir{number}"
        return source
    for beside in _BEFORE:
        if (content := read_whole(path / beside, omissions)) is not None:
            source.before[beside] = content
    # where it cannot be read, that is in the account
    with suppress(FormatError, OSError):
        if (properties := LogRoot(path).meta_properties()) is not None:
            directory.cluster_id, directory.node_id = properties.cluster_id, properties.node_id
            directory.directory_id = properties.directory_id
    if count > 1:
        directory.name = f"dir{number}" if directory.node_id is None else f"node{directory.node_id}"
    omissions.extend(left_out_of(path))
    replicas = [
        replica
        for replica in find_replicas(path)
        if replica.kind is ReplicaKind.LIVE
        and (topics is None or replica.topic_partition.is_internal or replica.topic_partition.topic in topics)
    ]
    source.topics.update(replica.topic_partition.topic for replica in replicas)
    order = {topic: rank for rank, topic in enumerate(_FIRST)}
    replicas.sort(
        key=lambda replica: (order.get(replica.topic_partition.topic, len(order)), replica.topic_partition)
    )
    for replica in replicas:
        try:
            source.listings.append(Listing.of(replica.path))
        except FileNotFoundError:
            omissions.lose(replica.path, _GONE, Cause.MISSING)
        except ReadFailed as error:
            omissions.failed(replica.path, error)
    return source


def _changed(source: _Source) -> list[str]:
    """The partitions of the coordinator's topic that have changed since they were listed, before all others.

    Without changes, no transaction has got to its markers meanwhile, or the coordinator writes those that are
    missing.
    """
    names = []
    for listing in source.listings:
        if listing.folder.name.startswith(f"{_TRANSACTIONS}-"):
            with suppress(FileNotFoundError, ReadFailed):
                if Listing.of(listing.folder).size != listing.size:
                    names.append(listing.folder.name)
    return names


def _known(last: BackupPoint | None, directory: BackupDirectory) -> BackupDirectory | None:
    """What an earlier point has of a log directory."""
    for candidate in () if last is None else last.directories:
        if (candidate.host, candidate.source) == (directory.host, directory.source):
            return candidate
    return None
