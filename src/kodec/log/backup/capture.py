"""Takes the files of a topic-partition as they are at one moment, while a broker writes, rolls, compacts
and deletes.

A broker only ever appends to the active segment, replaces closed ones by renaming, and deletes. So a
folder's listing is a moment: the closed segments with their inodes, and the size of the active one. What is
read has the listed inode and size; and after it was read the folder is listed again: if a segment was
replaced meanwhile, or one that is not the oldest is gone, everything is read again.

Followed: `LocalLog.replaceSegments`, `deleteSegmentFiles` and `UnifiedLog.roll`, Kafka 4.3.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from kodec.log.backup.repository import Repository
from kodec.log.batches.options import LogReadOptions
from kodec.log.batches.records import Limits
from kodec.log.directories.producer_state import ProducerState
from kodec.log.files.backup_point import INLINE, BackupFile, BackupPart, BackupPartition, object_name
from kodec.log.files.listing import list_partition, parse_segment_name
from kodec.log.files.names import INDEXES, file_name
from kodec.log.reading.reader import batch_reader
from kodec.log.writing.segment_scan import producers_at, scan_segment
from kodec.runtime.errors import FormatError
from kodec.stores.storage import entries, path_of

__all__ = ["ATTEMPTS", "Listing", "Taken", "keep_file", "take_file", "take_partition"]

ATTEMPTS = 5
_WAIT = 0.3
_CHUNK = 4 << 20
# A file that was written so shortly before it was read may change within the same tick of the file system's
# clock.
_RACY_NS = 2_000_000_000
_LEFT_OUT = (".deleted", ".cleaned", ".swap", ".tmp", ".part", ".lock")


class Changed(Exception):
    """A broker has changed the folder while it was read."""


class Listing(NamedTuple):
    """A topic-partition's folder at a moment.

    Attributes:
        folder: its path. at: when it was listed, in ms since 1970.
        files: what is known of each, by name. swapping: whether segments were being replaced.
    """

    folder: Path
    at: int
    files: dict[str, os.stat_result]
    swapping: bool

    @classmethod
    def of(cls, folder: Path) -> Listing:
        """List it. Raises OSError."""
        found: dict[str, os.stat_result] = {}
        swapping = False
        at = time.time_ns() // 1_000_000
        with entries(folder) as there:
            for each in there:
                swapping |= each.name.endswith(".swap")
                if each.name.endswith(_LEFT_OUT):
                    continue
                with suppress(FileNotFoundError):
                    status = each.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        found[each.name] = status
        return cls(folder, at, found, swapping)

    @property
    def bases(self) -> list[int]:
        """The base offsets of the segments, ascending."""
        return sorted(base for name in self.files if (base := parse_segment_name(name)) is not None)

    @property
    def size(self) -> int:
        """The bytes of the logs."""
        return sum(self.files[file_name(base, "log")].st_size for base in self.bases)

    def contradiction(self, now: Listing) -> str | None:
        """Why what was listed is not what was there at that moment, as a later listing shows; None if it
        is."""
        bases, later = self.bases, now.bases
        for base in bases:
            name = file_name(base, "log")
            before, after = self.files[name], now.files.get(name)
            if after is None:
                if later and base > later[0]:
                    return f"{name} is gone, and it was not the oldest"
                continue
            if (before.st_dev, before.st_ino) != (after.st_dev, after.st_ino):
                return f"{name} was replaced"
            if after.st_size < before.st_size:
                return f"{name} was truncated"
            # an inode may be used again
            if base != bases[-1] and before.st_mtime_ns != after.st_mtime_ns:
                return f"{name} was written to"
        for base in later:
            if bases and base < bases[-1] and base not in bases:
                return f"{file_name(base, 'log')} was not there"
        return None


class Taken(NamedTuple):
    """A partition, and what it took.

    Attributes: new, new_bytes: objects that were stored. reused: files that were not read, as they have not
    changed.
    """

    partition: BackupPartition
    new: int
    new_bytes: int
    reused: int


class _Taker:
    """Takes the files of one folder into a repository."""

    def __init__(
        self,
        repository: Repository,
        folder: str,
        known: BackupPartition | None,
        scratch: Path,
        progress: Callable[[int], None],
    ) -> None:
        self._repository = repository
        self._folder = folder
        self.known = known
        self._known = {} if known is None else known.files
        self._scratch = scratch
        self._progress = progress
        self._stored: dict[str, int] | None = None
        self.new = self.new_bytes = self.reused = 0
        # What was taken in earlier attempts too.
        self._taken: dict[str, BackupFile] = {}

    def keep(self, name: str, content: Path | bytes, status: os.stat_result, *, settled: bool) -> BackupFile:
        """Store a content. `settled`: it is that of the whole file as it was when `status` was asked for."""
        seen = _identity(status) if settled else None
        if isinstance(content, bytes):
            size, digest = len(content), hashlib.sha256(content).hexdigest()
        else:
            size, digest = content.stat().st_size, _hash(content)
            if size <= INLINE:
                content = content.read_bytes()
        data = content if isinstance(content, bytes) and size <= INLINE else None
        if seen is not None and time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < _RACY_NS:
            seen = None
        file = BackupFile(size, digest, status.st_mtime_ns, data, seen)
        if data is None:
            if isinstance(content, bytes):
                spool = self._scratch / "content"
                spool.write_bytes(content)
                content = spool
            file = self._with_parts(name, file, content)
            new = file.objects[-1]
            if new is not file.objects[0]:
                content = self._end_of(content, new.size)
            if self._repository.put(self._folder, name, new, content):
                self.new += 1
                self.new_bytes += new.size
        self._taken[name] = file
        return file

    def _with_parts(self, name: str, file: BackupFile, content: Path) -> BackupFile:
        """The file with the parts of a log that grows: only the last one may be new.

        A part is at least as large as all after it together, so that there are few of them, and each byte is
        stored again only as often as their number doubles.
        """
        known = self._known.get(name)
        if known is None or parse_segment_name(name) is None:
            return file
        kept: list[BackupPart] = []
        at = 0
        with content.open("rb") as opened:
            for each in known.objects:
                if (
                    at + each.size > file.size
                    or not self._has(name, each)
                    or _hash_of(opened, each.size) != each.sha256
                ):
                    break
                kept.append(each)
                at += each.size
            new = file.size - at
            while new and kept and kept[-1].size <= new:
                new += kept.pop().size
            if new and kept:
                opened.seek(file.size - new)
                kept.append(BackupPart(new, _hash_of(opened, new)))
        return file._replace(parts=tuple(kept)) if len(kept) > 1 else file

    def _end_of(self, content: Path, size: int) -> Path:
        """A copy of the last bytes of a file."""
        spool = self._scratch / "part"
        with content.open("rb") as source, spool.open("wb") as made:
            source.seek(-size, os.SEEK_END)
            shutil.copyfileobj(source, made, _CHUNK)
        return spool

    def unchanged(self, name: str, status: os.stat_result) -> BackupFile | None:
        """The file of the last point, or of the last attempt, if it is still the same and stored."""
        for known in (self._taken.get(name), self._known.get(name)):
            if known is None or known.seen != _identity(status):
                continue
            if known is self._taken.get(name) or self.is_stored(name, known):
                self.reused += 1
                self._progress(status.st_size)
                return known
        return None

    def is_stored(self, name: str, file: BackupFile) -> bool:
        """Whether the backup has the content of a file, as far as a listing shows it."""
        return all(self._has(name, each) for each in file.objects)

    def _has(self, name: str, part: BackupPart) -> bool:
        if self._stored is None:
            self._stored = self._repository.stored(self._folder)
        return self._stored.get(object_name(self._folder, name, part).rpartition("/")[2]) == part.size

    def copy(self, path: Path, size: int | None) -> tuple[Path, os.stat_result]:
        """A copy of a file, or of its first `size` bytes, and what the file was. Raises Changed, OSError."""
        spool = self._scratch / path.name
        spool.unlink(missing_ok=True)
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        fd = os.open(path, flags)
        with open(fd, "rb", buffering=0) as source, spool.open("wb", buffering=0) as made:  # noqa: PTH123
            before = os.fstat(fd)
            left = before.st_size if size is None else size
            while left:
                data = source.read(min(left, _CHUNK))
                if not data:
                    raise Changed(f"{path.name} was truncated")
                view = memoryview(data)
                while view:
                    view = view[made.write(view) :]
                left -= len(data)
                self._progress(len(data))
            after = os.fstat(fd)
        if size is None and _identity(before)[:4] != _identity(after)[:4]:
            raise Changed(f"{path.name} was written to")
        return spool, after


def take_partition(
    listing: Listing,
    repository: Repository,
    known: BackupPartition | None,
    scratch: Path,
    *,
    live: Callable[[], bool],
    limits: Limits,
    progress: Callable[[int], None] = lambda _: None,
) -> Taken:
    """Store a topic-partition as it was when it was listed, or, where that is gone, as it is now.

    Args:
        listing: of its folder. known: the same one in an earlier point.
        scratch: an empty folder for copies of one segment.
        live: whether a broker is running, which finishes what it has begun.

    Raises: Changed where the broker changes the folder faster than it can be read; FileNotFoundError where
    the folder is gone; OSError.
    """
    taker = _Taker(repository, listing.folder.name, known, scratch, progress)
    reason = ""
    for attempt in range(1, ATTEMPTS + 1):
        if attempt > 1:
            time.sleep(_WAIT * (attempt - 1))
            listing = Listing.of(listing.folder)
        if listing.swapping and live():
            reason = "segments are being replaced"
            continue
        try:
            partition = _take(taker, listing, limits)
        except (Changed, FileNotFoundError) as error:
            if not listing.folder.is_dir():
                raise FileNotFoundError(errno.ENOENT, "deleted", str(listing.folder)) from None
            reason = f"{Path(str(error.filename)).name} is gone" if isinstance(error, OSError) else str(error)
            continue
        found = listing.contradiction(Listing.of(listing.folder))
        if found is None:
            partition.attempts = attempt
            return Taken(partition, taker.new, taker.new_bytes, taker.reused)
        reason = found
    raise Changed(f"changed each time it was read, {ATTEMPTS} times: {reason}")


def _take(taker: _Taker, listing: Listing, limits: Limits) -> BackupPartition:
    bases = listing.bases
    active = bases[-1] if bases else None
    partition = BackupPartition(listing.folder.name, {}, listing.at, active=active)
    for name, status in sorted(listing.files.items()):
        base = parse_segment_name(name)
        path = listing.folder / name
        if active is not None and name in _beside(active):
            # preallocated, and written to as the log is
            continue
        if base == active and base is not None:
            _take_active(taker, listing, base, partition, limits)
            continue
        if (found := taker.unchanged(name, status)) is not None:
            partition.files[name] = found
            continue
        try:
            content, now = taker.copy(path, None)
        except FileNotFoundError:
            if name.endswith((".log", ".checkpoint", *(f".{kind}" for kind in INDEXES))):
                raise
            # a snapshot of producers, which a broker deletes as it makes newer ones
            continue
        if base is not None:
            if (now.st_dev, now.st_ino, now.st_size) != (status.st_dev, status.st_ino, status.st_size):
                raise Changed(f"{name} was replaced")
            problems, _, size = _checked(content, limits)
            partition.damaged += [f"{name}: {each}" for each in problems]
            if size is not None:
                partition.damaged.append(f"{name}: ends at byte {size} with a torn tail")
            if problems or size is not None:
                # read again next time: it is reported in each point
                partition.files[name] = taker.keep(name, content, now, settled=False)
                content.unlink()
                continue
        partition.files[name] = taker.keep(name, content, now, settled=True)
        content.unlink()
    return partition


def _beside(base: int) -> list[str]:
    return [file_name(base, kind) for kind in INDEXES]


def _take_active(
    taker: _Taker, listing: Listing, base: int, partition: BackupPartition, limits: Limits
) -> None:
    """The active segment up to its last whole batch, with indexes of these batches."""
    name = file_name(base, "log")
    status = listing.files[name]
    if (known := taker.known) is not None and known.active == base and not known.damaged:
        beside = {each: known.files[each] for each in _beside(base) if each in known.files}
        if all(taker.is_stored(each, file) for each, file in beside.items()):
            found = taker.unchanged(name, status)
            if found is not None:
                partition.files |= {**beside, name: found}
                partition.end_offset = known.end_offset
                return
    content, now = taker.copy(listing.folder / name, status.st_size)
    if (now.st_dev, now.st_ino) != (status.st_dev, status.st_ino):
        raise Changed(f"{name} was replaced")
    problems, end, size = _checked(content, limits)
    partition.damaged += [f"{name}: {each}" for each in problems]
    partition.end_offset = base if end is None else end
    if size is not None and not problems:
        os.truncate(content, size)
    if not problems:
        scan = scan_segment(content, base, producers=_producers(listing, base, limits), limits=limits)
        indexes = scan.indexes
        indexes.end()
        for kind, data in zip(INDEXES, (indexes.offsets, indexes.times, indexes.aborted), strict=True):
            if data or kind != "txnindex":
                own = file_name(base, kind)
                partition.files[own] = taker.keep(own, bytes(data), status, settled=False)
    is_whole = size is None and _identity(now) == _identity(status) and not problems
    partition.files[name] = taker.keep(name, content, status, settled=is_whole)
    content.unlink()


def _producers(listing: Listing, base: int, limits: Limits) -> ProducerState:
    """The producers at the start of the active segment, as far as the folder shows it now."""
    with suppress(OSError, FormatError):
        files = list_partition(listing.folder)
        bases = [each.base_offset for each in files.segments]
        if base in bases:
            return producers_at(files.segments, dict(files.snapshots), bases.index(base), limits=limits)
    return ProducerState()


def _checked(content: Path, limits: Limits) -> tuple[list[str], int | None, int | None]:
    """The damage in a log, the offset after its last batch, and where a torn tail begins."""
    options = LogReadOptions(on_error="skip", limits=limits)
    end = None
    reader = batch_reader(content, options, keeps=False)
    for batch in reader:
        end = batch.next_offset
    problems = [f"{type(each.error).__name__} at byte {each.start}" for each in reader.skipped]
    if reader.skipped.omitted:
        problems.append(f"{reader.skipped.omitted} more damaged ranges")
    tail = reader.torn_tail
    return problems, end, None if tail is None else tail.position


def keep_file(
    name: str, data: bytes, status: os.stat_result, repository: Repository, folder: str, scratch: Path
) -> BackupFile:
    """Store the content of a file that was read. Raises OSError."""
    return _Taker(repository, folder, None, scratch, lambda _: None).keep(name, data, status, settled=False)


def take_file(path: Path, repository: Repository, folder: str, scratch: Path) -> BackupFile:
    """Store a file that is replaced as a whole, as checkpoints are. Raises OSError."""
    taker = _Taker(repository, folder, None, scratch, lambda _: None)
    for attempt in range(ATTEMPTS):
        try:
            content, status = taker.copy(path_of(path), None)
            return taker.keep(path.name, content, status, settled=False)
        except Changed:
            time.sleep(_WAIT * attempt)
    raise OSError(errno.EAGAIN, f"written to each time it was read, {ATTEMPTS} times", str(path))


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _hash_of(file: BinaryIO, size: int) -> str:
    """The hash of the next bytes of a file."""
    digest = hashlib.sha256()
    while size and (data := file.read(min(size, _CHUNK))):
        digest.update(data)
        size -= len(data)
    return digest.hexdigest()


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
