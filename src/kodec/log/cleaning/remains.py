"""Files of a topic-partition that hold matching records: those of its log, and remains of former ones."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from kodec.log.batches.batch import Batch
from kodec.log.batches.records import Limits, Record
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.record_filter import RecordFilter
from kodec.log.files.descriptors import open_regular
from kodec.log.files.listing import LeftoverKind, ReplicaKind, find_replicas, is_segment_or_left
from kodec.log.reading.reader import read_batches
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import FormatError

__all__ = ["Holder", "Place", "find_holders", "matching"]

_PIECE = 1 << 20
_DELETED = f".{LeftoverKind.DELETED.value}"


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


def matching(batch: Batch, wanted: RecordFilter) -> list[Record]:
    """The records of a batch that match, as a search finds them. Raises FormatError."""
    if wanted.excludes(batch) or not _may_hold(batch, wanted.needles):
        return []
    return [record for record in batch.records() if wanted.matches(record)]


def _may_hold(batch: Batch, needles: list[bytes]) -> bool:
    return all(batch.may_hold(each) for each in needles)


def find_holders(
    log: PartitionLog, wanted: RecordFilter, progress: Callable[[int], None] | None = None
) -> Iterator[Holder]:
    """Search all files of a log, by content, for records and for the bytes common to all of them.

    All means: segments and remains of former ones in the topic-partition's folder, all other files in
    there, and folders of the same topic-partition that are deleted, stray or moving. Indexes and
    the times in headers are not used. Raises OSError.
    """
    active = log.segments[-1].path if log.segments else None
    for folder in (log.path, *_other_folders(log)):
        for path in sorted(folder.iterdir()):
            if not path.is_file():
                continue
            if folder != log.path:
                place = Place.OTHER
            elif path == active:
                place = Place.ACTIVE
            elif path.name.endswith(_DELETED):
                place = Place.DELETED
            else:
                place = Place.CLOSED if path.suffix == ".log" else Place.OTHER
            found = Holder(path, place)
            if is_segment_or_left(path.name):
                _look_into(found, wanted, log.limits)
            elif _holds(path, wanted.needles):
                found.problem = "the bytes that are searched for are in it"
            if found.matches or found.others:
                yield found
            if progress is not None:
                progress(path.stat().st_size)


def _other_folders(log: PartitionLog) -> list[Path]:
    """Folders that a broker has yet to delete (perhaps with a shortened name), moves or has lost."""
    topic, partition = log.topic_partition
    return [
        each.path
        for each in find_replicas(log.root)
        if each.kind is not ReplicaKind.LIVE
        and each.topic_partition.partition == partition
        and (each.topic_partition.topic == topic or _is_cut(each.topic_partition.topic, topic, each.path))
    ]


def _is_cut(told: str, topic: str, folder: Path) -> bool:
    return topic.startswith(told) and len(folder.name) >= 255


def _look_into(found: Holder, wanted: RecordFilter, limits: Limits) -> None:
    """Count the matches in a log file; its unreadable parts are searched as raw bytes."""
    needles = wanted.needles
    unread: list[tuple[int, int]] = []
    with closing(read_batches(found.path, on_error="skip", limits=limits)) as reader:
        for batch in reader:
            try:
                records = matching(batch, wanted)
            except FormatError:
                unread.append((batch.position, batch.position + batch.size))
                continue
            found.records += len(records)
            found.batches += bool(records)
            found.others += bool(needles) and not records and _may_hold(batch, needles)
        unread += [(each.start, each.end) for each in reader.skipped]
        if reader.skipped.omitted:
            unread.append((reader.skipped[-1].end, found.path.stat().st_size))
        if (tail := reader.torn_tail) is not None:
            unread.append((tail.position, tail.position + tail.size))
    for start, end in unread:
        if _holds(found.path, needles, start, end) if needles else not _is_zero(found.path, start, end):
            what = "the bytes that are searched for are in it" if needles else "it may hold records"
            found.problem = f"bytes {start} to {end} are no sound batch: {what}"


def _pieces(path: Path, start: int, end: int | None, overlap: int) -> Iterator[bytes]:
    """The bytes of a file, each piece with the last `overlap` bytes of the one before."""
    with open_regular(path) as file:
        file.seek(start)
        kept, at = b"", start
        while data := file.read(_PIECE if end is None else min(_PIECE, end - at)):
            at += len(data)
            yield kept + data
            kept = (kept + data)[-overlap:] if overlap else b""


def _holds(path: Path, needles: list[bytes], start: int = 0, end: int | None = None) -> bool:
    """Whether all of some byte strings are in a file, or in a part of it; False for none."""
    return bool(needles) and all(
        any(each in piece for piece in _pieces(path, start, end, len(each) - 1)) for each in needles
    )


def _is_zero(path: Path, start: int, end: int) -> bool:
    return not any(any(piece) for piece in _pieces(path, start, end, 0))
