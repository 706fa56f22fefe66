"""Takes the files of a topic-partition as they are at one moment, while a broker writes, rolls, compacts
and deletes.

A broker only ever appends to the active segment, replaces closed ones by renaming, and deletes. So a
folder's listing is a moment: the closed segments with their inodes, and the size of the active one. What is
read has the listed inode and size; and after it was read the folder is listed again: if a segment was
replaced meanwhile, or one that is not the oldest is gone, everything is read again.

What can be read is taken: a file that cannot be, damage, and offsets that are in no segment are in the
account. Blocks that a disk does not give back are stored as zeros, which no checksum takes for records.

Followed: `LocalLog.replaceSegments`, `deleteSegmentFiles` and `UnifiedLog.roll`, Kafka 4.3.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

from kodec.log.backup.repository import Repository
from kodec.log.batches.options import LogReadOptions
from kodec.log.batches.records import Limits, SkippedRange
from kodec.log.directories.gaps import explain_gap
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.producer_state import ProducerState
from kodec.log.files.descriptors import open_regular, require_no_dangling_link, require_regular
from kodec.log.files.listing import entries_of, list_partition, parse_file_name, parse_segment_name
from kodec.log.files.names import (
    INDEXES,
    LEADER_EPOCHS,
    OMITTED_OFFSETS,
    PARTITION_METADATA,
    QUORUM_STATE,
    file_name,
)
from kodec.log.omissions import Cause, Omission, Omissions
from kodec.log.reading.reader import batch_reader
from kodec.log.remote.point import BESIDE, INLINE, BackupFile, BackupPart, BackupPartition, object_name
from kodec.log.views.contents import damage_in
from kodec.log.views.metadata import METADATA_TOPIC
from kodec.log.writing.segment_scan import producers_at, scan_segment
from kodec.runtime.errors import FormatError, ReadFailed
from kodec.stores.storage import entry_path

__all__ = ["ATTEMPTS", "Listing", "Taken", "keep_file", "read_whole", "take_partition"]

ATTEMPTS = 5
WAIT = 0.3
_CHUNK = 4 << 20
# A file that was written so shortly before it was read may change within the same tick of the file system's
# clock.
RACY_NS = 2_000_000_000
_TEMPORARY = (".tmp", ".part", ".lock")
# What a running broker deletes, or is about to put in place.
_LEFTOVERS = (".deleted", ".cleaned", ".swap")
# What a file of a point may be called: with its hash, it is the name of an object.
_KEPT_NAME = re.compile(r"[\x20-\x7e]{1,180}")
_OF_A_PARTITION = (LEADER_EPOCHS, PARTITION_METADATA, QUORUM_STATE, OMITTED_OFFSETS)
_MOST_OF_A_FILE = 64 << 20
_BLOCK = 4096
MOST_BAD_BLOCKS = 256


class Changed(Exception):
    """A broker has changed the folder while it was read."""


class Listing(NamedTuple):
    """A topic-partition's folder at a moment.

    Attributes:
        folder: its path. timestamp: when it was listed, in ms since 1970.
        files: what is known of each, by name; of a link, what it leads to. swapping: whether segments were
        being replaced.
        others: what is not a regular file, by name, with the error that reading it raises.
    """

    folder: Path
    timestamp: int
    files: dict[str, os.stat_result]
    swapping: bool
    others: dict[str, ReadFailed]

    @classmethod
    def of(cls, folder: Path) -> Listing:
        """List it. Raises FileNotFoundError where it is gone; ReadFailed."""
        files: dict[str, os.stat_result] = {}
        others: dict[str, ReadFailed] = {}
        swapping = False
        now = time.time_ns() // 1_000_000
        try:
            with entries_of(folder) as entries:
                for entry in entries:
                    swapping |= entry.name.endswith(".swap")
                    path = entry_path(entry)
                    if entry.name.endswith(_TEMPORARY):
                        continue
                    if _KEPT_NAME.fullmatch(entry.name) is None:
                        others[entry.name] = ReadFailed(
                            "a file of a strange name", errno.EINVAL, 0, str(path)
                        )
                        continue
                    try:
                        status = entry.stat()
                        require_regular(status, path)
                        files[entry.name] = status
                    except FileNotFoundError:
                        with suppress(FileNotFoundError):
                            try:
                                require_no_dangling_link(path)
                            except ReadFailed as error:
                                others[entry.name] = error
                    except OSError as error:
                        others[entry.name] = _failed(error, path)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _failed(error, folder) from None
        return cls(folder, now, files, swapping, others)

    @property
    def bases(self) -> list[int]:
        """The base offsets of the segments, ascending."""
        return sorted(base for name in self.files if (base := parse_segment_name(name)) is not None)

    @property
    def logs(self) -> set[str]:
        """The names of the segments' logs."""
        return {name for name in self.files if parse_segment_name(name) is not None}

    @property
    def size(self) -> int:
        """The bytes of the logs."""
        return sum(self.files[name].st_size for name in self.logs)

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

    Attributes: omissions: what it lacks. new, new_bytes: objects that were stored. reused: files that were
    not read, as they have not changed.
    """

    partition: BackupPartition
    omissions: Omissions
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
        *,
        check: bool = False,
        was_whole: bool = False,
    ) -> None:
        self._repository = repository
        self._folder = folder
        self.known = known
        self._known = {} if known is None else known.files
        self._scratch = scratch
        self._progress = progress
        self._check = check
        self.was_whole = was_whole
        self._right: dict[BackupPart, bool] = {}
        self._stored: dict[str, int] | None = None
        self.new = self.new_bytes = self.reused = 0
        # What was taken in earlier attempts too.
        self._files: dict[str, BackupFile] = {}

    def keep(self, name: str, content: Path | bytes, status: os.stat_result, *, settled: bool) -> BackupFile:
        """Store a content. `settled`: it is that of the whole file as it was when `status` was asked for."""
        identity = _identity(status) if settled else None
        if isinstance(content, bytes):
            size, digest = len(content), hashlib.sha256(content).hexdigest()
        else:
            size, digest = content.stat().st_size, _hash(content)
            if size <= INLINE:
                content = content.read_bytes()
        data = content if isinstance(content, bytes) and size <= INLINE else None
        if identity is not None and time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < RACY_NS:
            identity = None
        file = BackupFile(size, digest, status.st_mtime_ns, data, identity)
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
        self._files[name] = file
        return file

    def _with_parts(self, name: str, file: BackupFile, content: Path) -> BackupFile:
        """The file with the parts of a log that grows: only the last one may be new.

        A part is at least as large as all after it together, so that there are few of them, and each byte is
        stored again only as often as their number doubles.
        """
        known = self._known.get(name)
        if known is None or parse_segment_name(name) is None:
            return file
        parts: list[BackupPart] = []
        offset = 0
        with content.open("rb") as opened:
            for part in known.objects:
                if (
                    offset + part.size > file.size
                    or not self._has(name, part)
                    or _hash_of(opened, part.size) != part.sha256
                ):
                    break
                parts.append(part)
                offset += part.size
            new = file.size - offset
            while new and parts and parts[-1].size <= new:
                new += parts.pop().size
            if new and parts:
                opened.seek(file.size - new)
                parts.append(BackupPart(new, _hash_of(opened, new)))
        return file._replace(parts=tuple(parts)) if len(parts) > 1 else file

    def _end_of(self, content: Path, size: int) -> Path:
        """A copy of the last bytes of a file."""
        spool = self._scratch / "part"
        with content.open("rb") as source, spool.open("wb") as target:
            source.seek(-size, os.SEEK_END)
            shutil.copyfileobj(source, target, _CHUNK)
        return spool

    def unchanged(self, name: str, status: os.stat_result) -> BackupFile | None:
        """The file of the last point, or of the last attempt, if it is still the same and stored."""
        for known in (self._files.get(name), self._known.get(name)):
            if known is None or known.seen != _identity(status):
                continue
            if known is self._files.get(name) or self.is_stored(name, known):
                self.reused += 1
                self._progress(status.st_size)
                return known
        return None

    def unchanged_active(self, status: os.stat_result, partition: BackupPartition) -> bool:
        """Whether the active segment is still that of the last point; the partition gets it then."""
        base, known = partition.active, self.known
        if base is None or known is None or known.active != base:
            return False
        beside = {
            index_name: known.files[index_name] for index_name in _beside(base) if index_name in known.files
        }
        if not all(self.is_stored(index_name, file) for index_name, file in beside.items()):
            return False
        name = file_name(base, "log")
        if (file := self.unchanged(name, status)) is None:
            return False
        partition.files |= {**beside, name: file}
        partition.end_offset = known.end_offset
        return True

    def is_stored(self, name: str, file: BackupFile) -> bool:
        """Whether the backup has the content of a file, as far as a listing shows it."""
        return all(self._has(name, part) for part in file.objects)

    def _has(self, name: str, part: BackupPart) -> bool:
        if self._stored is None:
            self._stored = self._repository.stored(self._folder)
        has = self._stored.get(object_name(self._folder, name, part).rpartition("/")[2]) == part.size
        if has and self._check:
            if part not in self._right:
                self._right[part] = self._repository.is_right(self._folder, name, part)
            return self._right[part]
        return has

    def copy(self, path: Path, size: int | None, omissions: Omissions) -> tuple[Path, os.stat_result]:
        """A copy of a file, or of its first `size` bytes, and what the file was.

        Raises Changed; FileNotFoundError where the file is gone; ReadFailed where it cannot be read; OSError
        where the copy cannot be written.
        """
        spool = self._scratch / path.name
        spool.unlink(missing_ok=True)
        try:
            opened = open_regular(path, buffering=0)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _failed(error, path) from None
        with opened as source, spool.open("wb", buffering=0) as target:
            before = os.fstat(source.fileno())
            length = before.st_size if size is None else size
            for data in _chunks_of(source, path, length, omissions):
                view = memoryview(data)
                while view:
                    view = view[target.write(view) :]
                self._progress(len(data))
            after = os.fstat(source.fileno())
        if size is None and _identity(before)[:4] != _identity(after)[:4]:
            raise Changed(f"{path.name} was written to")
        return spool, after


def _failed(error: OSError, path: Path) -> ReadFailed:
    if isinstance(error, ReadFailed) and error.filename is not None:
        return error
    return ReadFailed.of(error, source=str(path))


def _chunks_of(source: BinaryIO, path: Path, size: int, omissions: Omissions) -> Iterator[bytes]:
    """The first bytes of a file; zeros for blocks that cannot be read, which are in the account then.

    Raises Changed where there are not as many; ReadFailed where too many blocks cannot be read.
    """
    offset = bad = 0
    begin: int | None = None
    careful = 0
    while offset < size:
        block = min(size, offset + (_BLOCK if offset < careful else _CHUNK)) - offset
        try:
            source.seek(offset)
            data = source.read(block)
            if not data:
                raise Changed(f"{path.name} was truncated")
        except OSError as error:
            if error.errno != errno.EIO:
                raise _failed(error, path) from None
            if offset >= careful:
                # block by block
                careful = offset + block
                continue
            bad += 1
            if bad > MOST_BAD_BLOCKS:
                text = f"more than {MOST_BAD_BLOCKS} blocks of {_BLOCK} bytes cannot be read"
                raise ReadFailed(text, errno.EIO, offset, str(path)) from None
            begin = offset if begin is None else begin
            data = bytes(block)
        else:
            if begin is not None:
                omissions.add(_unreadable(path, begin, offset))
                begin = None
        yield data
        offset += len(data)
    if begin is not None:
        omissions.add(_unreadable(path, begin, offset))


def _unreadable(path: Path, begin: int, end: int) -> Omission:
    text = f"bytes {begin} to {end} cannot be read: {os.strerror(errno.EIO)}; the copy has zeros there"
    return Omission(Cause.DAMAGED, path, text, begin, end - begin)


def take_partition(
    listing: Listing,
    repository: Repository,
    known: BackupPartition | None,
    scratch: Path,
    *,
    live: Callable[[], bool],
    limits: Limits,
    was_whole: bool = False,
    check: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> Taken:
    """Store a topic-partition as it was when it was listed, or, where that is gone, as it is now.

    Args:
        listing: of its folder. known: the same one in an earlier point. was_whole: whether that is whole.
        scratch: an empty folder for copies of one segment.
        live: whether a broker is running, which finishes what it has begun.
        check: read the objects that the backup has, too.

    Raises: Changed where the broker changes the folder faster than it can be read; FileNotFoundError where
    the folder is gone; ReadFailed where it cannot be listed any more; OSError.
    """
    taker = _Taker(
        repository, listing.folder.name, known, scratch, progress, check=check, was_whole=was_whole
    )
    reason = ""
    for attempt in range(1, ATTEMPTS + 1):
        if attempt > 1:
            time.sleep(WAIT * (attempt - 1))
            listing = Listing.of(listing.folder)
        is_live = live()
        if listing.swapping and is_live:
            reason = "segments are being replaced"
            continue
        omissions = Omissions()
        try:
            partition = _take(taker, listing, limits, is_live, omissions)
        except (Changed, FileNotFoundError) as error:
            if not listing.folder.is_dir():
                raise FileNotFoundError(errno.ENOENT, "deleted", str(listing.folder)) from None
            reason = f"{Path(str(error.filename)).name} is gone" if isinstance(error, OSError) else str(error)
            continue
        contradiction = listing.contradiction(Listing.of(listing.folder))
        if contradiction is None:
            partition.attempts = attempt
            return Taken(partition, omissions, taker.new, taker.new_bytes, taker.reused)
        reason = contradiction
    raise Changed(f"changed each time it was read, {ATTEMPTS} times: {reason}")


def _take(
    taker: _Taker, listing: Listing, limits: Limits, is_live: bool, omissions: Omissions
) -> BackupPartition:
    bases = listing.bases
    active = bases[-1] if bases else None
    partition = BackupPartition(listing.folder.name, {}, listing.timestamp, active=active)
    for name, error in sorted(listing.others.items()):
        _leave_out(listing.folder / name, error, omissions)
    is_same = not listing.others and taker.was_whole
    for name, status in sorted(listing.files.items()):
        base = parse_segment_name(name)
        path = listing.folder / name
        if active is not None and name in _beside(active):
            # preallocated, and written to as the log is
            continue
        if is_live and name.endswith(_LEFTOVERS):
            continue
        is_active = base is not None and base == active
        if is_active and taker.unchanged_active(status, partition):
            continue
        if not is_active and (file := taker.unchanged(name, status)) is not None:
            partition.files[name] = file
            continue
        file_omissions = Omissions()
        try:
            content, now = taker.copy(path, status.st_size if is_active else None, file_omissions)
        except ReadFailed as error:
            omissions.failed(path, error)
            continue
        except FileNotFoundError:
            if name.endswith((".log", ".checkpoint", *(f".{kind}" for kind in INDEXES))):
                raise
            # a snapshot of producers, which a broker deletes as it makes newer ones
            continue
        if base is not None and (now.st_dev, now.st_ino) != (status.st_dev, status.st_ino):
            raise Changed(f"{name} was replaced")
        if is_active:
            _keep_active(taker, listing, content, now, partition, limits, file_omissions)
        else:
            if base is not None:
                is_same = False
                if now.st_size != status.st_size:
                    raise Changed(f"{name} was replaced")
                _checked(content, path, limits, file_omissions, is_last=False)
            elif (damage := damage_in(content)) is not None:
                file_omissions.lose(path, damage)
            # what is wrong is read again next time: it is reported in each point
            partition.files[name] = taker.keep(name, content, now, settled=not len(file_omissions))
        content.unlink()
        omissions.extend(file_omissions)
    if not is_same or taker.known is None or not taker.known.files.keys() >= listing.logs:
        _find_gaps(listing, limits, omissions)
    return partition


def _leave_out(path: Path, error: ReadFailed, omissions: Omissions) -> None:
    """What is not a file is lost if its name is that of one of a log's; any other is rightly left out."""
    name = path.name
    if parse_file_name(name) or name.endswith((".checkpoint", *_LEFTOVERS)) or name in _OF_A_PARTITION:
        omissions.failed(path, error)
    else:
        omissions.lose(path, f"not taken: {error.strerror}, and no broker gives such a name", Cause.ABSENT)


def _find_gaps(listing: Listing, limits: Limits, omissions: Omissions) -> None:
    """Note the offsets that are in no segment. Raises FileNotFoundError where the listing is out of date."""
    with PartitionLog(listing.folder, limits=limits) as log:
        if not log.segments:
            return
        first = log.segments[0].base_offset
        if log.topic_partition.topic == METADATA_TOPIC and first:
            ends = [int(name[:20]) for name in listing.files if name.endswith(".checkpoint")]
            if first > max(ends, default=0):
                omissions.gap(log.path, 0, first - 1, "they are in no segment and in no snapshot")
        for segment, after in pairwise(log.segments):
            try:
                with segment:
                    end, tail = segment.next_offset, segment.torn_tail
                if end < after.base_offset and tail is None:
                    gap = explain_gap(log, end, after.base_offset - 1)
                    if not gap.is_explained:
                        omissions.gap(log.path, gap.lost, gap.last)
            except FileNotFoundError:
                raise
            except (FormatError, OSError):
                # in the account already, and what it holds is not known
                continue


def _beside(base: int) -> list[str]:
    return [file_name(base, kind) for kind in INDEXES]


def _keep_active(
    taker: _Taker,
    listing: Listing,
    content: Path,
    now: os.stat_result,
    partition: BackupPartition,
    limits: Limits,
    omissions: Omissions,
) -> None:
    """The active segment up to its last whole batch, with indexes of these batches."""
    base = listing.bases[-1]
    name = file_name(base, "log")
    status = listing.files[name]
    end, size = _checked(content, listing.folder / name, limits, omissions, is_last=True)
    is_sound = omissions.is_whole
    partition.end_offset = base if end is None else end
    if is_sound:
        if size is not None:
            os.truncate(content, size)
        scan = scan_segment(content, base, producers=_producers(listing, base, limits), limits=limits)
        indexes = scan.indexes
        indexes.end()
        for kind, data in zip(INDEXES, (indexes.offsets, indexes.times, indexes.aborted), strict=True):
            if data or kind != "txnindex":
                index_name = file_name(base, kind)
                partition.files[index_name] = taker.keep(index_name, bytes(data), status, settled=False)
    is_settled = size is None and _identity(now) == _identity(status) and is_sound
    partition.files[name] = taker.keep(name, content, status, settled=is_settled)


def _producers(listing: Listing, base: int, limits: Limits) -> ProducerState:
    """The producers at the start of the active segment, as far as the folder shows it now."""
    with suppress(OSError, FormatError):
        files = list_partition(listing.folder)
        bases = [segment.base_offset for segment in files.segments]
        if base in bases:
            return producers_at(files.segments, dict(files.snapshots), bases.index(base), limits=limits)
    return ProducerState()


def _checked(
    content: Path, path: Path, limits: Limits, omissions: Omissions, *, is_last: bool
) -> tuple[int | None, int | None]:
    """Note the damage in a copy of a log; the offset after its last batch, and where a torn tail begins."""
    options = LogReadOptions(on_error="skip", limits=limits)
    end = None
    reader = batch_reader(content, options, keeps=False)
    for batch in reader:
        end = batch.next_offset
        try:
            # a right checksum says nothing about what the bytes are
            batch.records(control=True, check_crc=False)
        except FormatError as error:
            stop = batch.position + batch.size
            omissions.skipped(path, SkippedRange(batch.position, stop, error.in_source(str(path))))
    for skipped_range in reader.skipped:
        skipped_range.error.in_source(str(path))
    tail = reader.torn_tail
    omissions.end(path, reader.skipped, tail, is_last=is_last)
    return end, None if tail is None else tail.position


def read_whole(path: Path, omissions: Omissions) -> tuple[bytes, os.stat_result] | None:
    """A file that is replaced as a whole, as checkpoints are, and what it was.

    None if it is missing, or cannot be read, which is in the account then.
    """
    try:
        with open_regular(path) as file:
            data, status = file.read(_MOST_OF_A_FILE + 1), os.fstat(file.fileno())
        if len(data) <= _MOST_OF_A_FILE:
            return data, status
        omissions.lose(path, f"it has more than {_MOST_OF_A_FILE} bytes", Cause.UNKNOWN)
        return None
    except FileNotFoundError:
        return None
    except OSError as error:
        omissions.failed(path, _failed(error, path))
        return None


def keep_file(
    path: Path,
    data: bytes,
    status: os.stat_result,
    repository: Repository,
    scratch: Path,
    omissions: Omissions,
) -> BackupFile:
    """Store a file that was read, which is beside the topic-partitions' folders, and note what is wrong with
    it. Raises OSError."""
    copy = scratch / path.name
    copy.write_bytes(data)
    if (damage := damage_in(copy)) is not None:
        omissions.lose(path, damage)
    taker = _Taker(repository, BESIDE, None, scratch, lambda _: None)
    file = taker.keep(path.name, data, status, settled=False)
    copy.unlink()
    return file


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
