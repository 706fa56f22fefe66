"""A backup: objects named by their hashes, and for each point in time a manifest of the files it consists of.

    kodec-backup.json                           the mark of a backup
    points/20261126T010500Z.json.gz             a point: every file, with its size and its SHA-256
    objects/orders-0/<file's name>.<SHA-256>    contents, or parts of them; points share them
    running/, pruning/                          who writes or deletes now

`open_location` opens the path `points/20261126T010500Z` of a backup as a folder with the log directories of
that point, which is read as any other. What a backup could not read is listed in it under its
name, and reading it raises ReadFailed: what reads a point notices a loss as it would in the log directory.
"""

from __future__ import annotations

import base64
import errno
import gzip
import hashlib
import io
import json
import os
import re
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache, partial
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast
from urllib.parse import quote

from kodec.log.omissions import Cause, Omission, Omissions
from kodec.runtime.cached import cached_property
from kodec.runtime.dataclass import dataclass, field, replace
from kodec.runtime.errors import LimitExceeded, Malformed, ReadFailed
from kodec.runtime.foreign_json import read_json, whole_number
from kodec.stores.context import DEFAULT, Context
from kodec.stores.positioned import PositionedFile
from kodec.stores.storage import (
    Bucket,
    Entry,
    Files,
    Listed,
    Status,
    StorePath,
    context_of,
    files_of,
    not_found,
    path_of,
)

__all__ = [
    "BESIDE",
    "INLINE",
    "MARK",
    "OBJECTS",
    "POINTS",
    "SUFFIX",
    "BackupDirectory",
    "BackupFile",
    "BackupPart",
    "BackupPartition",
    "BackupPoint",
    "Point",
    "as_point",
    "object_path",
    "parse_point",
    "point_bytes",
    "point_of",
    "read_point",
]

MARK = "kodec-backup.json"
POINTS, OBJECTS = "points", "objects"
SUFFIX = ".json.gz"
INLINE = 512
"""A file of at most this size is in the manifest itself: a request costs more than its bytes."""
VERSION = 1
BESIDE = "log.dirs"
"""The folder of the objects of files that are next to the topic-partitions' folders."""

_POINT = re.compile(r"(?:(.*)/)?points/([0-9]{8}T[0-9]{6}Z)((?:/.*)?)", re.DOTALL)
_HASH = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[^/\x00-\x1f\x7f]{1,255}")
# A million files have some 100 MiB.
_MOST_BYTES = 1 << 30
_MOST_STORED = 512 << 20
# A manifest of many files has some 4 bytes of text, and a fifth of a value, for each byte that is stored.
_FEW_BYTES, _MOST_RATIO = 4 << 20, 100
_FEW_VALUES, _MOST_VALUES_OF_A_BYTE = 100_000, 4


class BackupPart(NamedTuple):
    """An object with a file's content, or with a part of it.

    Attributes: `size` in bytes, and the `sha256` by which it is named.
    """

    size: int
    sha256: str


class BackupFile(NamedTuple):
    """A file of a point.

    Attributes:
        size: in bytes. sha256: of its content, in hex.
        modified: when it was last written, in ns since 1970.
        data: the content, if the manifest itself has it.
        seen: device, inode, size, and times (ns) of the file that was read; None if it may have been
        written since.
        parts: the objects that are its content together; empty for one object, or none.

    Example: see `plan_backup`.
    """

    size: int
    sha256: str
    modified: int
    data: bytes | None = None
    seen: tuple[int, ...] | None = None
    parts: tuple[BackupPart, ...] = ()

    @property
    def objects(self) -> tuple[BackupPart, ...]:
        """The objects with its content, in order; none if the manifest has it."""
        return () if self.data is not None else self.parts or (BackupPart(self.size, self.sha256),)


@dataclass(slots=True)
class BackupPartition:
    """A topic-partition's folder in a point.

    Attributes:
        folder: its name. files: by name.
        listed: when the folder was listed, in ms since 1970: all its files are of that moment.
        attempts: how often it was read; more than 1 if the broker changed it meanwhile.
        active: the base offset of the segment that was written to; None for none.
        end_offset: the offset after the last whole batch; None for an empty folder.
        high_watermark: that of the broker's checkpoint; None if it has none.

    Example: see `plan_backup`.
    """

    folder: str
    files: dict[str, BackupFile]
    listed: int
    attempts: int = 1
    active: int | None = None
    end_offset: int | None = None
    high_watermark: int | None = None


@dataclass(slots=True)
class BackupDirectory:
    """A log directory in a point.

    Attributes:
        name: its folder in the point; "" for the point itself, which has no other then.
        host, source: where it was.
        cluster_id, node_id, directory_id: from `meta.properties`; None if unknown.
        files: those next to the topic-partitions' folders. partitions: in the order in which they were read.
        omissions: what it lacks of the log directory, and what is in it as it was, damaged; paths are those
            in the log directory.

    Example: see `plan_backup`.
    """

    name: str
    host: str
    source: str
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None
    files: dict[str, BackupFile] = field(default_factory=dict)
    partitions: list[BackupPartition] = field(default_factory=list)
    omissions: Omissions = field(default_factory=Omissions)


@dataclass(slots=True)
class BackupPoint:
    """A point of a backup.

    Attributes:
        name: when it was begun by the clock of its host, as `20261126T010500Z`. begun, ended: in ms since
            1970.
        directories: the log directories.
        number: larger than that of each point before it, whatever clocks say; 0 in points of older versions.

    Example: see `plan_backup`.
    """

    name: str
    begun: int
    ended: int = field(compare=False)
    directories: list[BackupDirectory]
    number: int = 0

    @property
    def omissions(self) -> Omissions:
        """What it lacks of the log directories."""
        omissions = Omissions()
        for directory in self.directories:
            omissions.extend(directory.omissions)
        return omissions

    @property
    def is_whole(self) -> bool:
        """Whether all of the log directories is in it, without damage."""
        return all(directory.omissions.is_whole for directory in self.directories)

    def folders(self) -> Iterator[tuple[str, str, dict[str, BackupFile]]]:
        """Each folder: its path in the point, the folder of its objects, and its files."""
        for directory in self.directories:
            yield directory.name, BESIDE, directory.files
            for partition in directory.partitions:
                yield (
                    "/".join(filter(None, (directory.name, partition.folder))),
                    partition.folder,
                    partition.files,
                )

    def objects(self) -> dict[str, BackupPart]:
        """The objects that it needs: the path below `objects` of each."""
        return {
            object_name(folder, name, part): part
            for _, folder, files in self.folders()
            for name, file in files.items()
            for part in file.objects
        }


def object_name(folder: str, name: str, part: BackupPart) -> str:
    """The path below `objects` of a file's content, or of a part of it."""
    return f"{folder}/{name}.{part.sha256}"


def object_path(target: Path, folder: str, name: str, part: BackupPart) -> Path:
    """Where a backup has it."""
    return target / OBJECTS / object_name(folder, name, part)


# -- manifests ------------------------------------------------------------------------------------


def point_bytes(point: BackupPoint) -> bytes:
    """The manifest of a point."""
    document = {
        "format": "kodec-backup",
        "version": VERSION,
        "point": point.name,
        "begun": point.begun,
        "ended": point.ended,
        "number": point.number,
        "directories": [
            {
                "name": directory.name,
                "host": directory.host,
                "source": directory.source,
                "clusterId": directory.cluster_id,
                "nodeId": directory.node_id,
                "directoryId": directory.directory_id,
                "files": _plain(directory.files),
                "partitions": [
                    {
                        "folder": partition.folder,
                        "listed": partition.listed,
                        "attempts": partition.attempts,
                        "active": partition.active,
                        "endOffset": partition.end_offset,
                        "highWatermark": partition.high_watermark,
                        "files": _plain(partition.files),
                    }
                    for partition in directory.partitions
                ],
                "leftOut": [omission.facts() for omission in directory.omissions],
                "more": [directory.omissions.more, directory.omissions.more_losses],
            }
            for directory in point.directories
        ],
    }
    return gzip.compress(json.dumps(document, separators=(",", ":")).encode(), 6, mtime=0)


def _plain(files: Mapping[str, BackupFile]) -> dict[str, dict[str, object]]:
    return {
        name: {
            "size": file.size,
            "sha256": file.sha256,
            "modified": file.modified,
            **({} if file.data is None else {"data": base64.b64encode(file.data).decode()}),
            **({} if file.seen is None else {"seen": list(file.seen)}),
            **({"parts": [list(part) for part in file.parts]} if file.parts else {}),
        }
        for name, file in files.items()
    }


def parse_point(data: bytes, source: str) -> BackupPoint:
    """A manifest. Raises Malformed, LimitExceeded."""
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    # What was stored bounds what is made of it: no manifest of files is that regular.
    most = min(_MOST_BYTES, _FEW_BYTES + _MOST_RATIO * len(data))
    try:
        text = unpacker.decompress(data, most)
    except zlib.error as error:
        raise _wrong(f"not gzip: {error}", source) from None
    if unpacker.unconsumed_tail:
        raise LimitExceeded(
            "", "manifest too large", at=0, need="more", have=len(text), limit=f"{most} bytes"
        ).in_source(source)
    if not unpacker.eof:
        raise _wrong("the file ends within it", source)
    try:
        fields = read_json(text, most_values=_FEW_VALUES + _MOST_VALUES_OF_A_BYTE * len(data))
        if fields["format"] != "kodec-backup" or fields["version"] != VERSION:
            raise ValueError(f"version {fields['version']!r}, and this kodec reads {VERSION}")
        _require_known(fields, "format", "version", "point", "begun", "ended", "number", "directories")
        return BackupPoint(
            _text(fields["point"], _NAME),
            whole_number(fields["begun"]),
            whole_number(fields["ended"]),
            [_directory(directory) for directory in fields["directories"]],
            whole_number(fields.get("number", 0)),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _wrong(f"{type(error).__name__}: {error}"[:200], source) from None


def _wrong(reason: str, source: str) -> Malformed:
    return Malformed("", "not the manifest of a backup", at=0, have=reason).in_source(source)


_KEYS_OF_A_DIRECTORY = (
    *("name", "host", "source", "clusterId", "nodeId", "directoryId", "files", "partitions"),
    *("missing", "leftOut", "more"),
)
_KEYS_OF_A_PARTITION = (
    *("folder", "listed", "attempts", "active", "endOffset", "highWatermark", "damaged", "files"),
)


def _require_known(fields: dict[str, Any], *names: str) -> None:
    """Raises ValueError for a key that no manifest of this version has."""
    if unknown := fields.keys() - set(names):
        raise ValueError(f"{min(unknown)!r:.100} is unknown")


def _or_none(value: object) -> int | None:
    return None if value is None else whole_number(value)


def _directory(fields: dict[str, Any]) -> BackupDirectory:
    _require_known(fields, *_KEYS_OF_A_DIRECTORY)
    for partition in fields["partitions"]:
        _require_known(partition, *_KEYS_OF_A_PARTITION)
    return BackupDirectory(
        _text(fields["name"], _NAME) if fields["name"] else "",
        str(fields["host"]),
        str(fields["source"]),
        fields["clusterId"],
        _or_none(fields["nodeId"]),
        fields["directoryId"],
        _files(fields["files"]),
        [
            BackupPartition(
                _text(partition["folder"], _NAME),
                _files(partition["files"]),
                whole_number(partition["listed"]),
                whole_number(partition["attempts"]),
                _or_none(partition["active"]),
                _or_none(partition["endOffset"]),
                _or_none(partition["highWatermark"]),
            )
            for partition in fields["partitions"]
        ],
        _omissions(fields),
    )


def _omissions(fields: dict[str, Any]) -> Omissions:
    """What a log directory's part of a point lacks; older versions wrote `missing` and `damaged` instead."""
    account = Omissions()
    for omission in fields.get("leftOut", ()):
        numbers = (omission.get(key) for key in ("position", "size", "firstOffset", "lastOffset", "records"))
        bounds = [_or_none(number) for number in numbers]
        account.add(
            Omission(Cause(omission["cause"]), Path(omission["path"]), str(omission["reason"]), *bounds)
        )
    for name, reason in fields.get("missing", {}).items():
        account.lose(Path(fields["source"], name), str(reason), Cause.MISSING)
    for partition in fields["partitions"]:
        for damaged in partition.get("damaged", ()):
            account.lose(Path(fields["source"], partition["folder"]), str(damaged))
    more, losses = map(whole_number, fields.get("more", (0, 0)))
    if not 0 <= losses <= more:
        raise ValueError(f"{losses} losses of {more}")
    account.more += more
    account.more_losses += losses
    return account


def _files(fields: dict[str, Any]) -> dict[str, BackupFile]:
    files = {}
    for name, file in fields.items():
        _require_known(file, "size", "sha256", "modified", "data", "seen", "parts")
        data = base64.b64decode(file["data"], validate=True) if "data" in file else None
        size = whole_number(file["size"], 0)
        if data is not None and len(data) != size:
            raise ValueError(f"{name}: {size} bytes")
        sizes_before = tuple(map(whole_number, file["seen"])) if "seen" in file else None
        parts = tuple(
            BackupPart(whole_number(part), _text(sha, _HASH)) for part, sha in file.get("parts", ())
        )
        if parts and (min(parts).size < 1 or sum(part.size for part in parts) != size):
            raise ValueError(f"{name}: {size} bytes in parts of {[part.size for part in parts]}")
        files[_text(name, _NAME)] = BackupFile(
            size, _text(file["sha256"], _HASH), whole_number(file["modified"]), data, sizes_before, parts
        )
    return files


def _text(value: object, pattern: re.Pattern[str]) -> str:
    if not isinstance(value, str) or pattern.fullmatch(value) is None or value in (".", ".."):
        raise ValueError(f"{value!r}")
    return value


def read_point(target: Path, name: str) -> BackupPoint:
    """The manifest of a point. Raises FileNotFoundError, OSError, Malformed, LimitExceeded."""
    path = target / POINTS / f"{name}{SUFFIX}"
    with files_of(path).open(path) as file:
        data = file.read(_MOST_STORED)
    point = parse_point(data, str(path))
    if point.name != name:
        raise _wrong(f"the point {point.name}", str(path))
    return point


# -- a point as log directories -------------------------------------------------------------------


def as_point(path: Path) -> StorePath | None:
    """The point that a path names, or what is in one; None for any other path.

    A name alone shows nothing: its manifest must be there.
    """
    match = _POINT.fullmatch(str(path))
    context = context_of(path)
    if match is None or (isinstance(path, StorePath) and not isinstance(path.files, Bucket)):
        return None
    around = match[1]
    if isinstance(path, StorePath):
        target = path_of(around, context)
    else:
        target = Path("/" if around == "" else around or ".").absolute()
    if not _is_point(target, match[2]):
        return None
    return Point.at(target, match[2], context).path.joinpath(*filter(None, match[3].split("/")))


def point_of(path: Path) -> Point | None:
    """The point of a backup that a path is in; None for any other path."""
    return path.files if isinstance(path, StorePath) and isinstance(path.files, Point) else None


@lru_cache(maxsize=256)
def _has_point(path: Path) -> bool:
    # one that was there is there, or was deleted since, which reading it reports
    files_of(path).status(path)
    return True


def _is_point(target: Path, name: str) -> bool:
    """Whether a backup has, or had, a point; also where that cannot be seen, which reading it reports."""
    try:
        return _has_point(target / POINTS / f"{name}{SUFFIX}")
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


class Point(Files):
    """A point of a backup as a folder of log directories that is only read.

    Attributes: `target` is the backup, `name` that of the point.
    """

    what = "in a point of a backup"

    def __init__(self, target: Path, name: str, context: Context) -> None:
        self.target, self.name, self.context = target, name, context
        self.root = ("point:", quote(str(target), safe=""), name)

    @classmethod
    def at(cls, target: Path, name: str, context: Context = DEFAULT) -> Point:
        """A point; what it has read before, it knows: a manifest never changes."""
        return _point(target, name, context)

    def __reduce__(self) -> tuple[Any, ...]:
        return _point, (self.target, self.name, self.context)

    @property
    def path(self) -> StorePath:
        """The folder itself."""
        return StorePath(self, *self.root)

    @property
    def origin(self) -> Path | None:
        return self.target

    def text(self, path: Path) -> str:
        return "/".join([str(self.target), POINTS, *path.parts[2:]])

    @cached_property
    def _manifest(self) -> _Manifest:
        return _Manifest(self)

    def left_out(self, path: StorePath) -> list[Omission]:
        """Of a log directory in the point: what was not stored, and is listed nowhere. Raises OSError."""
        return self._manifest.left_out.get("/".join(path.parts[3:]), [])

    def _file(self, path: Path) -> tuple[str, BackupFile]:
        self._manifest.key(path)
        *folders, name = path.parts[3:] or ("",)
        file = self._manifest.folders.get("/".join(folders), {}).get(name)
        if file is None:
            raise not_found(path, "no such file in the point")
        return file

    def entries(self, folder: Path) -> AbstractContextManager[Iterator[Entry]]:
        assert isinstance(folder, StorePath)
        known = self._manifest
        key = known.key(folder)
        if key not in known.folders:
            raise not_found(folder, "no such folder in the point")
        entries: list[Entry] = [Listed(folder / name, None) for name in known.inside.get(key, ())]
        for name, (_, file) in known.folders[key].items():
            status = _status(file)
            entries.append(Listed((folder / name).seen(status), status))
        return nullcontext(iter(entries))

    def is_folder(self, path: Path) -> bool:
        return "/".join(path.parts[3:]) in self._manifest.folders

    def status(self, path: Path) -> Status:
        return _status(self._file(path)[1])

    def open(self, path: Path) -> BinaryIO:
        folder, file = self._file(path)
        opened = self._opened(path, folder, file)
        if not hasattr(opened, "again"):
            opened.again = partial(self.open, path)  # type: ignore[attr-defined]
        return opened

    def _opened(self, path: Path, folder: str, file: BackupFile) -> BinaryIO:
        if file.data is not None:
            if hashlib.sha256(file.data).hexdigest() != file.sha256:
                raise ReadFailed("its bytes in the manifest do not have their hash", 5, 0, str(path))
            return _Bytes(file.data)
        opened: list[BinaryIO] = []
        try:
            for part in file.objects:
                opened.append(self._object(object_path(self.target, folder, path.name, part), part.size))
        except BaseException:
            for each in opened:
                each.close()
            raise
        if len(opened) == 1:
            return opened[0]
        return cast(BinaryIO, _Joined(opened, [part.size for part in file.objects]))

    def _object(self, stored: Path, wanted: int) -> BinaryIO:
        try:
            if not isinstance(stored, StorePath):
                opened: BinaryIO = cast(BinaryIO, _Local(stored))
                size = os.fstat(opened.fileno()).st_size
            else:
                opened = files_of(stored).open(stored)
                size = opened.seek(0, io.SEEK_END)
                opened.seek(0)
        except FileNotFoundError:
            raise ReadFailed("the point needs this object, and it is missing", 5, 0, str(stored)) from None
        if size != wanted:
            opened.close()
            raise ReadFailed(f"it has {size} bytes, and {wanted} in the point", 5, 0, str(stored))
        return opened


class _Manifest:
    """The folders of a point, by its manifest."""

    def __init__(self, place: Point) -> None:
        self.folders: dict[str, dict[str, tuple[str, BackupFile]]] = {"": {}}
        self.inside: dict[str, list[str]] = {"": []}
        self._lost: dict[str, Omission] = {}
        self._partitions: set[str] = set()
        self.left_out: dict[str, list[Omission]] = {}
        point = read_point(place.target, place.name)
        for path, folder, files in point.folders():
            around, _, last = path.rpartition("/")
            if path not in self.folders:
                self.inside.setdefault(around, []).append(last)
                self.inside.setdefault(path, [])
            self.folders.setdefault(path, {}).update({name: (folder, file) for name, file in files.items()})
            if folder != BESIDE:
                self._partitions.add(path)
        for directory in point.directories:
            for omission in directory.omissions:
                self._leave_out(place.path, directory, omission)
            if directory.omissions.more_losses:
                text = f"{directory.omissions.more_losses} more things that could not be read"
                more = Omission(Cause.UNREACHABLE, place.path, text)
                self.left_out.setdefault(directory.name, []).append(more)

    def _leave_out(self, point: StorePath, directory: BackupDirectory, omission: Omission) -> None:
        """List what the point lacks under its name; what other readers do not see by that, apart."""
        try:
            parts = omission.path.relative_to(directory.source).parts
        except ValueError:
            return
        if len(parts) > 2 or not all(_NAME.fullmatch(part) and part != ".." for part in parts):
            return
        key = "/".join(filter(None, (directory.name, *parts)))
        around, _, last = key.rpartition("/")
        if omission.cause in (Cause.UNREACHABLE, Cause.MISSING) and omission.first_offset is None:
            if (key not in self.folders or not parts) and last not in self.folders.get(around, {}):
                self._lost[key] = omission
                if parts:
                    self.inside.setdefault(around, []).append(last)
        elif key not in self.folders and last not in self.folders.get(around, {}):
            # of what is there a reader sees itself what is wrong
            shown = replace(omission, path=point.joinpath(*key.split("/")))
            self.left_out.setdefault(directory.name, []).append(shown)

    def key(self, path: Path) -> str:
        """The key of a path, in no place that the point lacks.

        Raises OSError, as for a folder that is there and cannot be listed; ReadFailed for a file.
        """
        parts = path.parts[3:]
        for count in range(len(parts) + 1):
            if (lost := self._lost.get("/".join(parts[:count]))) is not None:
                text = f"not in the point: {lost}"
                if count and "/".join(parts[: count - 1]) in self._partitions:
                    raise ReadFailed(text, errno.EIO, 0, str(path))
                raise OSError(errno.EIO, text, str(path))
        return "/".join(parts)


class _Bytes(io.BytesIO):
    """Content that a manifest has."""


class _Local(io.FileIO):
    """An object that is a file of this machine."""


class _Joined(PositionedFile):
    """A file whose parts are objects, one after another."""

    def __init__(self, parts: Sequence[BinaryIO], sizes: Sequence[int]) -> None:
        super().__init__()
        self._parts = parts
        self._ends = list(accumulate(sizes))
        self.size = self._ends[-1]

    def _bytes_at(self, position: int, size: int) -> bytes:
        parts = []
        end = position + size
        for number in range(bisect_right(self._ends, position), len(self._parts)):
            begin = self._ends[number - 1] if number else 0
            part, stop = self._parts[number], min(end, self._ends[number])
            part.seek(position - begin)
            data = part.read(stop - position)
            if len(data) != stop - position:
                raise ReadFailed("an object of the backup is shorter than it was", errno.EIO, begin, None)
            parts.append(data)
            position = stop
            if position == end:
                break
        return b"".join(parts)

    def close(self) -> None:
        for part in self._parts:
            part.close()
        super().close()


def _status(file: BackupFile) -> Status:
    return Status(file.size, file.modified, file.sha256)


@lru_cache(maxsize=16)
def _point(target: Path, name: str, context: Context) -> Point:
    return Point(target, name, context)
