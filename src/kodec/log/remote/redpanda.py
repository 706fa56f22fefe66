"""Redpanda's data directory as a log directory: its segments in Kafka's format, with Kafka's offsets.

    <namespace>/<topic>/<partition>_<revision>/<base offset>-<term>-v1.log

Topics of clients are in the namespace `kafka`; the other namespaces are Redpanda's own. A segment is shown as
the batches of clients in it, with headers of Kafka's. Its other batches are Redpanda's own: those that take
offsets of Kafka's are shown as batches without records, as compaction leaves them, and the others left out.
Damaged bytes are shown with a length that no batch has. So readers find in it what they find in Kafka's.

Source: Redpanda's `storage::segment_path`, `storage::parser`, `storage::offset_translator_state`,
`raft::snapshot_metadata`.
"""

from __future__ import annotations

import errno
import io
import os
import re
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from kodec.generated.redpanda.redpanda_batch import BatchType
from kodec.generated.redpanda.redpanda_snapshot import RedpandaSnapshot
from kodec.log.batches.format import KAFKA
from kodec.log.batches.redpanda import HEAD_SIZE, PLAUSIBLE, UNREADABLE, RedpandaHeader, read_header
from kodec.log.files.checkpoints import offsets_bytes
from kodec.log.files.listing import TopicPartition, parse_partition_dir
from kodec.log.files.names import LOG_START_OFFSETS, REDPANDA_OFFSETS, file_name
from kodec.log.omissions import Cause, Omission
from kodec.log.remote.view import View, ViewFile, real_of
from kodec.runtime.errors import FormatError, ReadFailed
from kodec.stores.context import Context, Notes
from kodec.stores.positioned import PositionedFile
from kodec.stores.storage import Status, StorePath, context_of, entries, entry_path

__all__ = ["Redpanda", "as_redpanda"]

_KAFKA = "kafka"
_FOLDER = re.compile(r"(0|[1-9][0-9]{0,9})_[0-9]{1,19}")
_SEGMENT = re.compile(r"([0-9]{1,19})-([0-9]{1,19})-v1\.log")
_OWN = Path("redpanda", "controller")
_SNAPSHOT = "snapshot"
_MOST_OF_A_SNAPSHOT = 1 << 20
_WINDOW = 1 << 20
_LOOKED_INTO = 64
_MAX_INT32, _MAX_INT64 = 2**31 - 1, 2**63 - 1
_RAW = -1
# with what damaged bytes begin: an offset, and a length that no batch has
_NO_BATCH = bytes(KAFKA.length.at) + KAFKA.length.stored(-1)


class RedpandaFolder(NamedTuple):
    """The folder of a topic-partition; `revision` is larger for a topic of the same name that is newer."""

    topic_partition: TopicPartition
    path: Path
    namespace: str
    revision: int


class _Segment(NamedTuple):
    """A segment by its name."""

    base_offset: int
    term: int
    path: Path
    status: Status


class _Scan(NamedTuple):
    """What the headers of a segment show.

    Attributes:
        size: of the batches that are shown, in Kafka's format.
        end: the offset after the last batch; None if there is none.
        own: the batches that take no Kafka offsets: of each its first offset, and how many it has.
        left_out: how many batches of each type are Redpanda's own.
        away: how many batches of each type stand for records that are elsewhere.
        damaged: where damaged bytes or a batch of unknown type are; None if there are none.
    """

    size: int
    end: int | None
    own: array[int]
    left_out: Counter[int]
    away: Counter[int]
    damaged: int | None


# -- names ----------------------------------------------------------------------------------------


def as_redpanda(path: Path) -> StorePath | None:
    """A data directory of Redpanda, or what is in it, as a log directory; None for any other path.

    Such are a segment and a folder with segments, by their names; a folder with Redpanda's controller log, or
    with such folders of the namespace `kafka`; and the folders of a namespace and of a topic. Raises OSError
    where the offsets of a segment are unknown.
    """
    context = context_of(path)
    if _SEGMENT.fullmatch(path.name):
        return _segment(path, context)
    if not path.is_dir():
        return None
    folder = _absolute(path)
    if _FOLDER.fullmatch(folder.name):
        return _partition(folder, context)
    above = (folder, folder.parent, folder.parent.parent)
    is_part = any((parent / _OWN).is_dir() for parent in above)
    return Redpanda.at(folder, context).path if is_part or _is_copy(folder) else None


def _is_copy(folder: Path) -> bool:
    """Whether segments are in folders of partitions in the namespace `kafka`, of which this is a part.

    Of a folder with many others in it, the first are looked into.
    """
    if folder.name == _KAFKA:
        topics = _first_folders(folder)
    elif folder.parent.name == _KAFKA:
        topics = [folder]
    else:
        topics = _first_folders(folder / _KAFKA)
    inside = (
        folder for topic in topics for folder in _first_folders(topic) if _FOLDER.fullmatch(folder.name)
    )
    return any(_segments_of(folder) for folder in islice(inside, _LOOKED_INTO))


def _first_folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as listing:
            return [Path(entry.path) for entry in islice(listing, _LOOKED_INTO) if entry.is_dir()]
    except OSError:
        return []


def _absolute(path: Path) -> Path:
    """The path without `..`, which also names the folders around `.`."""
    return Path(os.path.abspath(path))  # noqa: PTH100  # `resolve` follows links, which may be named otherwise


def _partition(folder: Path, context: Context) -> StorePath | None:
    folder_of_log = _folders(folder)
    if not folder_of_log or not _segments_of(folder):
        return None
    name, data = str(folder_of_log[0].topic_partition), folder.parents[2]
    for root in ([data] if (data / _OWN).is_dir() else []) + [folder]:
        view = Redpanda.at(root, context)
        partition = view.folder(name)
        if partition is not None and partition.path == folder:
            return view.path / name
    return Redpanda.at(folder, context).path


def _segment(path: Path, context: Context) -> StorePath | None:
    file = _absolute(path)
    folder = _partition(file.parent, context) if _FOLDER.fullmatch(file.parent.name) else None
    if folder is None or len(folder.parts) < 3 or not file.is_file():
        return None
    with entries(folder) as listing:
        for entry in listing:
            path_in_view = entry_path(entry)
            if real_of(path_in_view) == file and isinstance(path_in_view, StorePath):
                return path_in_view
    raise ReadFailed("it has no batches of clients, only Redpanda's own", errno.ENODATA, 0, str(path))


def _folders(root: Path, unlisted: dict[Path, OSError] | None = None) -> list[RedpandaFolder]:
    """The folders of topic-partitions, where a folder is one, or a topic's, a namespace's, or the directory.

    Folders in it that cannot be listed go to `unlisted`. Raises OSError for the folder itself.
    """
    if _FOLDER.fullmatch(root.name):
        return _as_folders([root])
    level = [root]
    for _ in range(3):
        inside: list[Path] = []
        for folder in level:
            try:
                with os.scandir(folder) as listing:
                    inside += [Path(entry.path) for entry in listing if entry.is_dir(follow_symlinks=False)]
            except OSError as error:
                if folder == root:
                    raise
                if unlisted is not None:
                    unlisted[folder] = error
        level = sorted(inside)
        if folders := _as_folders(level):
            return folders
    return []


def _as_folders(level: Sequence[Path]) -> list[RedpandaFolder]:
    folders = []
    for path in level:
        if _FOLDER.fullmatch(path.name) is None:
            continue
        number, revision = path.name.split("_")
        owner = parse_partition_dir(f"{path.parent.name}-{number}")
        if owner is not None:
            folders.append(RedpandaFolder(owner, path, path.parent.parent.name, int(revision)))
    return folders


def _segments_of(folder: Path) -> list[_Segment]:
    """The segments in a folder, by their base offsets. Raises OSError."""
    segments = []
    with os.scandir(folder) as listing:
        for entry in listing:
            match = _SEGMENT.fullmatch(entry.name)
            if match is None or int(match[1]) > _MAX_INT64 or not entry.is_file():
                continue
            at = entry.stat()
            status = Status(at.st_size, at.st_mtime_ns)
            segments.append(_Segment(int(match[1]), int(match[2]), Path(entry.path), status))
    return sorted(segments)


# -- the directory --------------------------------------------------------------------------------


class Redpanda(View):
    """A data directory of Redpanda, or a part of one, as a log directory that is only read.

    Attributes: `data` is the folder that Redpanda has written, or a folder in it.
    """

    what = "Redpanda's data"
    has_indexes = False

    def __init__(self, data: Path, context: Context) -> None:
        super().__init__("redpanda", str(data), context)
        self.data = data
        self._folders: dict[str, RedpandaFolder] = {}
        self._own: dict[str, Counter[int]] = {}
        self._total: Counter[int] = Counter()
        self._noted = ""

    @classmethod
    def at(cls, data: Path, context: Context) -> Redpanda:
        """Of a folder; what it has read before, it knows."""
        return _redpanda(data, context)

    def __reduce__(self) -> tuple[Any, ...]:
        return _redpanda, (self.data, self.context)

    @property
    def origin(self) -> Path | None:
        return self.data

    def stored(self, path: StorePath) -> Path:
        return real_of(path) or path

    def text(self, path: Path) -> str:
        _, _, *inner = path.parts
        if real_of(path) is None and inner and (folder := self.folder(inner[0])) is not None:
            return "/".join([str(folder.path), *inner[1:]])
        return super().text(path)

    def partitions(self) -> dict[str, RedpandaFolder]:
        """The folders of topic-partitions, the newest of each. Raises OSError."""
        folders: dict[str, RedpandaFolder] = {}
        for folder in _folders(self.data):
            name = str(folder.topic_partition)
            if folder.namespace == _KAFKA and (
                name not in folders or folders[name].revision < folder.revision
            ):
                folders[name] = folder
        self._folders = folders
        return folders

    def folder(self, name: str) -> RedpandaFolder | None:
        return self._folders.get(name) or self.partitions().get(name)

    def left_out(self, path: StorePath) -> list[Omission]:
        """Redpanda's own logs, those of topics that were deleted, and folders that cannot be listed.

        Raises OSError.
        """
        if len(path.parts) > 2:
            return []
        live = {partition.path for partition in self.partitions().values()}
        unlisted: dict[Path, OSError] = {}
        folders = _folders(self.data, unlisted)
        omissions = [
            Omission(Cause.UNREACHABLE, path, f"{path}: {error.strerror}")
            for path, error in unlisted.items()
            if path.name != "lost+found"
        ]
        for folder in folders:
            if folder.path not in live:
                text = f"a log of Redpanda's own, of the namespace {folder.namespace}"
                reason = text if folder.namespace != _KAFKA else "of a topic that was made again since"
                omissions.append(Omission(Cause.ABSENT, folder.path, f"{reason}: not read"))
        return omissions

    def beside(self) -> Mapping[str, ViewFile]:
        """Where logs start whose first records were deleted. Raises OSError."""
        starts = {}
        for partition in self.partitions().values():
            try:
                start = _start_in_snapshot(partition.path)
            except OSError as error:
                self.context.notes.add(
                    f"where the log of {partition.topic_partition} starts is unknown: {error}"
                )
                continue
            if start is not None:
                starts[partition.topic_partition] = start.offset - start.delta
        data = offsets_bytes(starts)
        return {LOG_START_OFFSETS: ViewFile(self.data, Status(len(data), 0), partial(io.BytesIO, data))}

    def files(self, name: str) -> dict[str, ViewFile]:
        """The segments of a topic-partition, under the names that brokers give.

        Raises: ReadFailed, where Kafka's offsets are unknown; OSError.
        """
        folder = self.folder(name)
        if folder is None:
            raise FileNotFoundError(errno.ENOENT, "no such topic-partition", str(self.data / name))
        segments, raft = _segments_of(folder.path), _counts_raft_offsets()
        scans = [_scan(segment.path, segment.status, raft) for segment in segments]
        files: dict[str, ViewFile] = {}
        delta = _first_delta(folder, segments, scans, self.context.notes)
        expected: int | None = None
        for number, (segment, scan) in enumerate(zip(segments, scans, strict=True)):
            if expected is not None and segment.base_offset > expected:
                lost = segment.base_offset - expected
                self.context.notes.add(
                    f"{name}: no segment has the offsets {expected}..{segment.base_offset - 1} of the Raft "
                    f"log: if Redpanda's own batches were among them, Kafka's offsets after them are lower "
                    f"by up to {lost}"
                )
            if scan.damaged is not None:
                self.context.notes.add(
                    f"{segment.path}: byte {scan.damaged}: no header of a batch, or one of unknown type: if "
                    "Redpanda's own batches were among these, Kafka's offsets after them are lower by as many"
                )
            for kind, count in scan.away.items():
                self.context.notes.add(
                    f"{segment.path}: {count} {_type_name(kind)}: {UNREADABLE[BatchType(kind)]}"
                )
            base = segment.base_offset - delta
            if base < 0:
                raise ReadFailed(
                    f"{delta} offsets of the Raft log would not count before offset {segment.base_offset}",
                    errno.EIO,
                    0,
                    str(segment.path),
                )
            log = file_name(base, "log")
            if scan.size and log in files:
                text = f"it begins at the offset of {files[log].real.name} too"
                raise ReadFailed(text, errno.EIO, 0, str(segment.path))
            if scan.size or (number == len(segments) - 1 and log not in files):
                opened = partial(_opened, segment, delta)
                status = Status(scan.size, segment.status.modified)
                files[log] = ViewFile(segment.path, status, opened)
            delta += sum(scan.own[1::2])
            expected = scan.end if scan.end is not None else segment.base_offset
        self._note_own(name, scans)
        self._files[name] = files
        return files

    def _note_own(self, name: str, scans: Sequence[_Scan]) -> None:
        """Note how many batches of Redpanda's own are left out, of all topic-partitions so far."""
        self._total.subtract(self._own.get(name, {}))
        self._own[name] = sum((scan.left_out for scan in scans), Counter())
        self._total.update(self._own[name])
        total = sorted((kind, count) for kind, count in self._total.items() if count)
        if total:
            kinds = ", ".join(f"{count} {_type_name(kind)}" for kind, count in total)
            text = f"{self.data}: batches of Redpanda's own are left out: {kinds}"
            self.context.notes.replace(self._noted, text)
            self._noted = text


@lru_cache(maxsize=64)
def _redpanda(data: Path, context: Context) -> Redpanda:
    return Redpanda(data, context)


def _type_name(kind: int) -> str:
    return BatchType(kind).name.lower() if kind in BatchType.__members__.values() else f"type {kind}"


# -- offsets --------------------------------------------------------------------------------------


class _Start(NamedTuple):
    """An offset of the Raft log, and by how much Kafka's is lower."""

    offset: int
    delta: int


def _counts_raft_offsets() -> bool:
    """Whether offsets of the Raft log are wanted, as they are."""
    return os.environ.get(REDPANDA_OFFSETS) == "raft"


def _first_delta(
    folder: RedpandaFolder, segments: Sequence[_Segment], scans: Sequence[_Scan], notes: Notes
) -> int:
    """By how much Kafka's offset is lower at the first offset of the log. Raises ReadFailed if unknown."""
    if _counts_raft_offsets():
        notes.add(f"offsets are those of Redpanda's Raft log, and not Kafka's: {REDPANDA_OFFSETS} is set")
        return 0
    first = segments[0].base_offset if segments else 0
    if first == 0:
        return 0
    start = _start_in_snapshot(folder.path)
    end = next((scan.end for scan in reversed(scans) if scan.end is not None), first)
    if start is not None and first <= start.offset <= end:
        deltas = (delta for scan in scans for delta in zip(scan.own[::2], scan.own[1::2], strict=True))
        delta = start.delta - sum(count for offset, count in deltas if offset < start.offset)
        if 0 <= delta <= first:
            return delta
    raise ReadFailed(
        f"Kafka's offsets are unknown: the log begins at the offset {first} of the Raft log, and "
        f"{'its snapshot is of another offset' if start else 'no snapshot shows how many before it count'}; "
        f"{REDPANDA_OFFSETS}=raft reads it with the offsets of the Raft log",
        errno.EIO,
        0,
        str(folder.path),
    )


def _start_in_snapshot(folder: Path) -> _Start | None:
    """Where the log continues after the snapshot in a partition's folder; None if no snapshot shows it.

    Raises: OSError; ReadFailed for a damaged snapshot.
    """
    path = folder / _SNAPSHOT
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_OF_A_SNAPSHOT)
    except FileNotFoundError:
        return None
    try:
        snapshot = RedpandaSnapshot.from_bytes(data)
    except FormatError as error:
        raise ReadFailed(str(error.in_source(str(path))), errno.EIO, 0, str(path)) from error
    if not 0 <= snapshot.offset_delta <= snapshot.last_offset + 1:
        return None
    delta = 0 if _counts_raft_offsets() else snapshot.offset_delta
    return _Start(snapshot.last_offset + 1, delta)


# -- segments -------------------------------------------------------------------------------------


class _Piece(NamedTuple):
    """A part of a segment: a batch, or damaged bytes without a header."""

    position: int
    size: int
    header: RedpandaHeader | None


def _read_at(file: io.FileIO, position: int, size: int) -> bytes:
    """These bytes; fewer only at the end."""
    file.seek(position)
    data = file.read(size)
    while data and len(data) < size and (more := file.read(size - len(data))):
        data += more
    return data


def _pieces(file: io.FileIO, size: int) -> Iterator[_Piece]:
    """The parts of a segment of this size, without the zeros that it may end with. Raises OSError."""
    end = _end_of_content(file, size)
    position = expected = 0
    while position < end:
        header = read_header(_read_at(file, position, HEAD_SIZE))
        if header is not None:
            yield _Piece(position, min(header.size, size - position), header)
            position += header.size
            expected = header.last_offset + 1
            continue
        following = _next_header(file, position + 1, end, expected)
        yield _Piece(position, following - position, None)
        position = following


def _end_of_content(file: io.FileIO, size: int) -> int:
    """Where the zeros begin that the file ends with."""
    while size > 0:
        start = max(0, size - _WINDOW)
        data = _read_at(file, start, size - start).rstrip(b"\0")
        if data:
            return start + len(data)
        size = start
    return 0


def _next_header(file: io.FileIO, position: int, end: int, expected: int) -> int:
    """Where the next header is, by its checksum, whose offset is at least `expected`; else the end."""
    while position < end:
        window = _read_at(file, position, _WINDOW + HEAD_SIZE)
        for match in PLAUSIBLE.finditer(window):
            header = read_header(window[match.start() : match.start() + HEAD_SIZE])
            if header is not None and header.offset >= expected:
                return position + match.start()
        position += _WINDOW
    return end


@lru_cache(maxsize=1 << 16)
def _scan(path: Path, status: Status, raft: bool) -> _Scan:
    """What the headers of a segment show, up to the size that it had when it was listed. Raises OSError.

    With `raft`, all batches take offsets, as in the Raft log.
    """
    size, end, damaged = 0, None, None
    own_offsets = array("q")
    left_out: Counter[int] = Counter()
    away: Counter[int] = Counter()
    with io.FileIO(path) as file:
        for piece in _pieces(file, status.size):
            header = piece.header
            if header is None:
                if damaged is None and piece.size >= HEAD_SIZE:
                    damaged = piece.position
                size += piece.size
                continue
            end = header.last_offset + 1
            if header.is_own:
                left_out[header.type] += 1
            if header.takes_no_kafka_offset and not raft:
                own_offsets.extend((header.offset, end - header.offset))
            else:
                size += min(header.kafka_size, piece.size)
            if damaged is None and not header.is_known:
                damaged = piece.position
            if header.type in UNREADABLE:
                away[header.type] += 1
    return _Scan(size, end, own_offsets, left_out, away, damaged)


def _opened(segment: _Segment, delta: int) -> BinaryIO:
    return cast(BinaryIO, RedpandaLog(segment.path, segment.status.size, segment.term, delta))


class RedpandaLog(PositionedFile):
    """A segment in Kafka's format.

    Args:
        path: the segment.
        listed: its size when it was listed; what was written since is not shown.
        term: the leader epoch of its batches.
        delta: by how much Kafka's offset is lower at the start of the segment.
    """

    def __init__(self, path: Path, listed: int, term: int, delta: int) -> None:
        super().__init__()
        self._epoch = term if term <= _MAX_INT32 else -1
        # of each piece: where it begins here and in the segment, and its delta, or that it is shown as it is
        self._begins, self._origins, self._deltas = array("q"), array("q"), array("q")
        self.size = 0
        raft = _counts_raft_offsets()
        self._file = io.FileIO(path)
        try:
            for piece in _pieces(self._file, listed):
                header = piece.header
                if header is not None and header.takes_no_kafka_offset and not raft:
                    delta += header.last_offset + 1 - header.offset
                    continue
                self._begins.append(self.size)
                self._origins.append(piece.position)
                self._deltas.append(_RAW if header is None else delta)
                self.size += piece.size if header is None else min(header.kafka_size, piece.size)
        except BaseException:
            self._file.close()
            raise
        self._begins.append(self.size)

    def _bytes_at(self, position: int, size: int) -> bytes:
        parts, stop = [], position + size
        number = bisect_right(self._begins, position) - 1
        while position < stop:
            begin, end = self._begins[number], min(self._begins[number + 1], stop)
            parts.append(self._part(number, position - begin, end - begin))
            position, number = end, number + 1
        return b"".join(parts)

    def _part(self, number: int, start: int, stop: int) -> bytes:
        """The bytes of a piece, from `start` to `stop` in it."""
        origin = self._origins[number]
        if self._deltas[number] == _RAW:
            data = _read_at(self._file, origin, stop)
            # fewer bytes than a header, at the end of a segment, are one that was not written whole
            whole = self._begins[number + 1] - self._begins[number] >= HEAD_SIZE
            return (_NO_BATCH + data[len(_NO_BATCH) :])[start:stop] if whole else data[start:]
        if start >= HEAD_SIZE:
            return _read_at(self._file, origin + start, stop - start)
        data = _read_at(self._file, origin, max(stop, HEAD_SIZE))
        header = read_header(data)
        if header is None:
            raise ReadFailed("it was changed while it was read", errno.EIO, origin, str(self._file.name))
        batch = header.as_kafka(header.offset - self._deltas[number], self._epoch)
        return (batch + data[HEAD_SIZE:])[start:stop]

    def close(self) -> None:
        self._file.close()
        super().close()
