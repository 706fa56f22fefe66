"""Files of a topic-partition that hold matching records: those of its log, and remains of former ones."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from kodec.generated.log import record_batch as v2
from kodec.log.batches.batch import Batch
from kodec.log.batches.frame import Frame
from kodec.log.batches.header import name_of
from kodec.log.batches.records import Limits, Record
from kodec.log.batches.sizes import HEADS, LEAST_HEAD, MOST_HEAD
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.record_filter import RecordFilter
from kodec.log.files.descriptors import open_regular
from kodec.log.files.listing import (
    LeftoverKind,
    ReplicaKind,
    find_replicas,
    is_segment_or_left,
    parse_file_name,
)
from kodec.log.files.names import LEADER_EPOCHS, OMITTED_OFFSETS, PARTITION_METADATA
from kodec.log.files.paths import resolved
from kodec.log.files.quarantine import default_quarantine
from kodec.log.reading.reader import read_batches
from kodec.runtime.dataclass import dataclass, replace
from kodec.runtime.errors import FormatError, LimitExceeded

__all__ = ["Holder", "Place", "find_holders", "matching"]

_PIECE = 1 << 20
_LEFT = tuple(f".{kind.value}" for kind in LeftoverKind)
_UNFINISHED = ".tmp"
_WITHOUT_RECORDS = (LEADER_EPOCHS, PARTITION_METADATA, OMITTED_OFFSETS)


class Place(enum.Enum):
    """Where a file is; the value is for people."""

    CLOSED = "a closed segment"
    ACTIVE = "the active segment"
    DELETED = "waits for its deletion"
    OTHER = "no part of the log"


@dataclass(slots=True)
class Holder:
    """A file that holds the searched data, or may hold it.

    Attributes:
        records, batches: matching ones; in how many batches.
        others: batches without a match whose bytes, decompressed, hold the key, value or header that is
            searched for: in other records.
        problem: why it may hold more; "" if it does not.
    """

    path: Path
    place: Place
    records: int = 0
    batches: int = 0
    others: int = 0
    problem: str = ""

    @property
    def matches(self) -> bool:
        """Whether records match, or might."""
        return bool(self.records or self.problem)


def matching(batch: Batch, criteria: RecordFilter) -> list[Record]:
    """The records of a batch that match. Raises FormatError.

    A search leaves out a batch whose header has another time; here each record is checked: no checksum shows
    that a header is right about its records.
    """
    by_header = replace(criteria, offsets=None, timestamps=None)
    if by_header.excludes(batch) or not _may_hold(batch, criteria.needles):
        return []
    return [record for record in batch.records() if criteria.matches(record)]


def _may_hold(batch: Batch, needles: list[bytes]) -> bool:
    return all(batch.may_hold(needle) for needle in needles)


def find_holders(
    log: PartitionLog, criteria: RecordFilter, progress: Callable[[int], None] | None = None
) -> Iterator[Holder]:
    """Search all files of a log, by content, for records and for the bytes common to all of them.

    All means: segments and remains of former ones in the topic-partition's folder, all other files in
    there and in folders in there, folders of the same topic-partition that are deleted, stray or moving, and
    the quarantine of `kodec recover`. What cannot be searched is a holder with a problem: damage, a batch
    that cannot be read or is over the limits, a file that is none of Kafka's, a link, what cannot be opened.
    Indexes and the times in headers are not used. Raises OSError.
    """
    segments = {segment.path for segment in log.segments}
    active = log.segments[-1].path if log.segments else None
    quarantine = default_quarantine(resolved(log.path).parent) / log.path.name
    for folder in (log.path, *_other_folders(log), *([quarantine] if quarantine.is_dir() else [])):
        for path, problem in _files_below(folder):
            location = Place.OTHER
            if path in segments:
                location = Place.ACTIVE if path == active else Place.CLOSED
            elif path.parent == log.path and _is_left(path.name):
                location = Place.DELETED
            holder = Holder(path, location, problem=problem)
            try:
                if not problem:
                    _search(holder, criteria, log.limits)
                if progress is not None:
                    progress(path.stat().st_size)
            except OSError as error:
                holder.problem = holder.problem or f"it cannot be read: {error.strerror or error}"
            if holder.matches or holder.others:
                yield holder


def _files_below(folder: Path) -> Iterator[tuple[Path, str]]:
    """The files in a folder and in folders in it, by path; with why one cannot be searched, or ""."""
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError as error:
        yield folder, f"it cannot be listed: {error.strerror or error}"
        return
    for entry in entries:
        path = folder / entry.name
        try:
            if entry.is_symlink():
                yield path, "it is a link, and what it leads to is not searched"
            elif entry.is_dir():
                yield from _files_below(path)
            else:
                yield path, "" if entry.is_file() else "it is not a regular file, and is not searched"
        except OSError as error:
            yield path, f"it cannot be read: {error.strerror or error}"


def _is_left(name: str) -> bool:
    """Whether a file is of a segment that is not, or no longer, part of the log."""
    return is_segment_or_left(name) or name.endswith(_LEFT)


def _search(holder: Holder, criteria: RecordFilter, limits: Limits) -> None:
    """Look for the matches in a file. Raises OSError."""
    name = holder.path.name
    for ending in (*_LEFT, _UNFINISHED):
        name = name.removesuffix(ending)
    parsed = parse_file_name(name)
    if name in _WITHOUT_RECORDS or (parsed is not None and parsed[1] != "log"):
        if _holds(holder.path, criteria.needles):
            holder.problem = "the bytes that are searched for are in it"
    else:
        _look_into(holder, criteria, limits)


def _other_folders(log: PartitionLog) -> list[Path]:
    """Folders that a broker has yet to delete (perhaps with a shortened name), moves or has lost."""
    topic, partition = log.topic_partition
    return [
        replica.path
        for replica in find_replicas(log.root)
        if replica.kind is not ReplicaKind.LIVE
        and replica.topic_partition.partition == partition
        and (
            replica.topic_partition.topic == topic
            or _is_cut(replica.topic_partition.topic, topic, replica.path)
        )
    ]


def _is_cut(name: str, topic: str, folder: Path) -> bool:
    return topic.startswith(name) and len(folder.name) >= 255


def _look_into(holder: Holder, criteria: RecordFilter, limits: Limits) -> None:
    """Count the matches in a log file; its unreadable parts may hold more, unless they are zeros."""
    needles = criteria.needles
    unread: list[tuple[int, int, str]] = []
    with closing(read_batches(holder.path, on_error="skip", limits=limits)) as reader:
        for batch in reader:
            try:
                records = matching(batch, criteria)
            except FormatError as error:
                reason = "is over a limit" if isinstance(error, LimitExceeded) else "cannot be read"
                unread.append((batch.position, batch.position + batch.size, f"{reason}: {error}"))
                continue
            holder.records += len(records)
            holder.batches += bool(records)
            holder.others += bool(needles) and not records and _may_hold(batch, needles)
        unread += [(skipped.start, skipped.end, str(skipped.error)) for skipped in reader.skipped]
        if reader.skipped.omitted:
            end = holder.path.stat().st_size
            unread.append((reader.skipped[-1].end, end, f"{reader.skipped.omitted} further ranges"))
        if (tail := reader.torn_tail) is not None:
            span = tail.position, tail.position + tail.size
            # what a broker was writing is searched as it is, unless it is compressed
            if (
                holder.place is not Place.ACTIVE
                or not _is_plain(holder.path, tail.position)
                or (not needles or _holds(holder.path, needles, *span))
            ):
                unread.append((*span, tail.reason))
    unsearched = [part for part in unread if not _is_zero(holder.path, *part[:2])]
    if unsearched:
        start, end, reason = unsearched[0]
        more = f", and {len(unsearched) - 1} more" if len(unsearched) > 1 else ""
        holder.problem = f"bytes {start} to {end}{more} are no sound batch, and cannot be searched: {reason}"
        if any(_holds(holder.path, needles, *part[:2]) for part in unsearched):
            holder.problem += "; the bytes that are searched for are in it"


def _is_plain(path: Path, position: int) -> bool:
    """Whether a batch is not compressed by its header, or is too short to hold a record."""
    with open_regular(path) as file:
        file.seek(position)
        data = file.read(MOST_HEAD)
    frame = Frame.peek(data)
    head = None if frame is None else HEADS.get(frame.magic)
    if head is None or len(data) < head.size:
        return len(data) < LEAST_HEAD
    flags = v2.BatchAttributes.from_bytes(data[head.flags])
    return bool(getattr(flags, name_of("codec")) == v2.Compression.NONE)


def _pieces(path: Path, start: int, end: int | None, overlap: int) -> Iterator[bytes]:
    """The bytes of a file, each piece with the last `overlap` bytes of the one before."""
    with open_regular(path) as file:
        file.seek(start)
        tail, position = b"", start
        while data := file.read(_PIECE if end is None else min(_PIECE, end - position)):
            position += len(data)
            yield tail + data
            tail = (tail + data)[-overlap:] if overlap else b""


def _holds(path: Path, needles: list[bytes], start: int = 0, end: int | None = None) -> bool:
    """Whether all of some byte strings are in a file, or in a part of it; False for none."""
    return bool(needles) and all(
        any(needle in piece for piece in _pieces(path, start, end, len(needle) - 1)) for needle in needles
    )


def _is_zero(path: Path, start: int, end: int) -> bool:
    return not any(any(piece) for piece in _pieces(path, start, end, 0))
