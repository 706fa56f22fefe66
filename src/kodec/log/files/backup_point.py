"""A backup: objects named by their hashes, and for each point in time a manifest of the files it consists of.

    kodec-backup.json                           the mark of a backup
    points/20261126T010500Z.json.gz             a point: every file, with its size and its SHA-256
    objects/orders-0/<file's name>.<SHA-256>    contents, or parts of them; points share them
    running/, pruning/                          who writes or deletes now

`path_of` makes the path `points/20261126T010500Z` of a backup a `PointPath`: a folder with the log
directories of that point, which is read as any other.
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
from urllib.parse import quote, unquote

from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import LimitExceeded, Malformed, ReadFailed
from kodec.stores.positioned import PositionedFile
from kodec.stores.storage import (
    Entry,
    Listed,
    Status,
    Storage,
    StorePath,
    not_found,
    path_of,
    storage_of,
)

__all__ = [
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
    "PointPath",
    "as_point",
    "object_path",
    "parse_point",
    "point_bytes",
    "read_point",
]

MARK = "kodec-backup.json"
POINTS, OBJECTS = "points", "objects"
SUFFIX = ".json.gz"
INLINE = 512
"""A file of at most this size is in the manifest itself: a request costs more than its bytes."""
VERSION = 1

_SCHEME = "point:"
_POINT = re.compile(r"(?:(.*)/)?points/([0-9]{8}T[0-9]{6}Z)((?:/.*)?)", re.DOTALL)
_HASH = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[^/\x00-\x1f\x7f]{1,255}")
# A million files have some 100 MiB.
_MOST_BYTES = 1 << 30
_MOST_STORED = 512 << 20


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
        damaged: what is wrong with its logs. They are in the point as they were.

    Example: see `plan_backup`.
    """

    folder: str
    files: dict[str, BackupFile]
    listed: int
    attempts: int = 1
    active: int | None = None
    end_offset: int | None = None
    high_watermark: int | None = None
    damaged: list[str] = field(default_factory=list)


@dataclass(slots=True)
class BackupDirectory:
    """A log directory in a point.

    Attributes:
        name: its folder in the point; "" for the point itself, which has no other then.
        host, source: where it was.
        cluster_id, node_id, directory_id: from `meta.properties`; None if unknown.
        files: those next to the topic-partitions' folders. partitions: in the order in which they were read.
        missing: topic-partitions that are not in the point, with the reason.

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
    missing: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class BackupPoint:
    """A point of a backup.

    Attributes:
        name: when it was begun, as `20261126T010500Z`. begun, ended: in ms since 1970.
        directories: the log directories.

    Example: see `plan_backup`.
    """

    name: str
    begun: int
    ended: int
    directories: list[BackupDirectory]

    @property
    def is_whole(self) -> bool:
        """Whether all topic-partitions are in it, without damage."""
        return not any(
            each.missing or any(one.damaged for one in each.partitions) for each in self.directories
        )

    def folders(self) -> Iterator[tuple[str, str, dict[str, BackupFile]]]:
        """Each folder: its path in the point, the folder of its objects, and its files."""
        for each in self.directories:
            yield each.name, "log.dirs", each.files
            for one in each.partitions:
                yield "/".join(filter(None, (each.name, one.folder))), one.folder, one.files

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
        "directories": [
            {
                "name": each.name,
                "host": each.host,
                "source": each.source,
                "clusterId": each.cluster_id,
                "nodeId": each.node_id,
                "directoryId": each.directory_id,
                "files": _plain(each.files),
                "partitions": [
                    {
                        "folder": one.folder,
                        "listed": one.listed,
                        "attempts": one.attempts,
                        "active": one.active,
                        "endOffset": one.end_offset,
                        "highWatermark": one.high_watermark,
                        "damaged": one.damaged,
                        "files": _plain(one.files),
                    }
                    for one in each.partitions
                ],
                "missing": each.missing,
            }
            for each in point.directories
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
            **({"parts": [list(each) for each in file.parts]} if file.parts else {}),
        }
        for name, file in files.items()
    }


def parse_point(data: bytes, source: str) -> BackupPoint:
    """A manifest. Raises Malformed, LimitExceeded."""
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        text = unpacker.decompress(data, _MOST_BYTES)
    except zlib.error as error:
        raise _wrong(f"not gzip: {error}", source) from None
    if unpacker.unconsumed_tail:
        raise LimitExceeded(
            "", "manifest too large", at=0, need="more", have=len(text), limit=f"{_MOST_BYTES} bytes"
        ).in_source(source)
    if not unpacker.eof:
        raise _wrong("the file ends within it", source)
    try:
        found = json.loads(text)
        if found["format"] != "kodec-backup" or found["version"] != VERSION:
            raise ValueError(f"version {found['version']!r}, and this kodec reads {VERSION}")
        return BackupPoint(
            _text(found["point"], _NAME),
            int(found["begun"]),
            int(found["ended"]),
            [_directory(each) for each in found["directories"]],
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _wrong(f"{type(error).__name__}: {error}"[:200], source) from None


def _wrong(reason: str, source: str) -> Malformed:
    return Malformed("", "not the manifest of a backup", at=0, have=reason).in_source(source)


def _directory(found: dict[str, Any]) -> BackupDirectory:
    node = found["nodeId"]
    return BackupDirectory(
        _text(found["name"], _NAME) if found["name"] else "",
        str(found["host"]),
        str(found["source"]),
        found["clusterId"],
        None if node is None else int(node),
        found["directoryId"],
        _files(found["files"]),
        [
            BackupPartition(
                _text(each["folder"], _NAME),
                _files(each["files"]),
                int(each["listed"]),
                int(each["attempts"]),
                None if each["active"] is None else int(each["active"]),
                None if each["endOffset"] is None else int(each["endOffset"]),
                None if each["highWatermark"] is None else int(each["highWatermark"]),
                [str(one) for one in each["damaged"]],
            )
            for each in found["partitions"]
        ],
        {str(name): str(reason) for name, reason in found["missing"].items()},
    )


def _files(found: dict[str, Any]) -> dict[str, BackupFile]:
    files = {}
    for name, each in found.items():
        data = base64.b64decode(each["data"], validate=True) if "data" in each else None
        size = int(each["size"])
        if size < 0 or (data is not None and len(data) != size):
            raise ValueError(f"{name}: {size} bytes")
        seen = tuple(map(int, each["seen"])) if "seen" in each else None
        parts = tuple(BackupPart(int(part), _text(sha, _HASH)) for part, sha in each.get("parts", ()))
        if parts and (min(parts).size < 1 or sum(part.size for part in parts) != size):
            raise ValueError(f"{name}: {size} bytes in parts of {[part.size for part in parts]}")
        files[_text(name, _NAME)] = BackupFile(
            size, _text(each["sha256"], _HASH), int(each["modified"]), data, seen, parts
        )
    return files


def _text(value: object, pattern: re.Pattern[str]) -> str:
    if not isinstance(value, str) or pattern.fullmatch(value) is None or value in (".", ".."):
        raise ValueError(f"{value!r}")
    return value


def read_point(target: Path, name: str) -> BackupPoint:
    """The manifest of a point. Raises FileNotFoundError, OSError, Malformed, LimitExceeded."""
    path = target / POINTS / f"{name}{SUFFIX}"
    with storage_of(path).open(path) as file:
        data = file.read(_MOST_STORED)
    found = parse_point(data, str(path))
    if found.name != name:
        raise _wrong(f"the point {found.name}", str(path))
    return found


# -- a point as log directories -------------------------------------------------------------------


class PointPath(StorePath):
    """A path in a point of a backup: the folder of its log directories, or what is in it."""

    @classmethod
    def of(cls, target: Path, name: str, *rest: str) -> PointPath:
        """A point of the backup at `target`, or what is in it."""
        return cls(_SCHEME, quote(str(target), safe=""), name, *rest)

    @property
    def target(self) -> Path:
        """The backup."""
        return path_of(unquote(self.parts[1]))

    @property
    def point(self) -> str:
        """The point's name."""
        return self.parts[2]

    @property
    def storage(self) -> Storage:
        return cast(Storage, _storage(self.target, self.point))

    def __str__(self) -> str:
        if len(self.parts) < 3:
            return f"{unquote(self.parts[1])}/{POINTS}"
        return "/".join([unquote(self.parts[1]), POINTS, *self.parts[2:]])

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.parts, self.listed)


def _unpickled(parts: tuple[str, ...], listed: Status | None) -> PointPath:
    found = PointPath(*parts)
    found.listed = listed
    return found


def as_point(path: Path) -> PointPath | None:
    """The point that a path names, or what is in one; None for any other path. Reads nothing."""
    found = _POINT.fullmatch(str(path))
    if found is None or type(path) not in (StorePath, type(Path())):
        return None
    around = found[1]
    if isinstance(path, StorePath):
        target = path_of(around)
    else:
        target = Path("/" if around == "" else around or ".").absolute()
    return PointPath.of(target, found[2], *filter(None, found[3].split("/")))


class _PointStorage:
    """A point as a `Storage` that is only read."""

    def __init__(self, target: Path, name: str) -> None:
        self._target = target
        self.folders: dict[str, dict[str, tuple[str, BackupFile]]] = {"": {}}
        self._inside: dict[str, list[str]] = {"": []}
        for path, folder, files in read_point(target, name).folders():
            around, _, last = path.rpartition("/")
            if path not in self.folders:
                self._inside.setdefault(around, []).append(last)
                self._inside.setdefault(path, [])
            self.folders.setdefault(path, {}).update({each: (folder, file) for each, file in files.items()})

    def _file(self, path: Path) -> tuple[str, BackupFile]:
        *rest, name = path.parts[3:] or ("",)
        found = self.folders.get("/".join(rest), {}).get(name)
        if found is None:
            raise not_found(path, "no such file in the point")
        return found

    def entries(self, folder: Path) -> AbstractContextManager[Iterator[Entry]]:
        key = "/".join(folder.parts[3:])
        if key not in self.folders:
            raise not_found(folder, "no such folder in the point")
        found: list[Entry] = [Listed(cast(PointPath, folder / name), None) for name in self._inside[key]]
        for name, (_, file) in self.folders[key].items():
            path = cast(PointPath, folder / name)
            path.listed = _status(file)
            found.append(Listed(path, path.listed))
        return nullcontext(iter(found))

    def is_folder(self, path: Path) -> bool:
        return "/".join(path.parts[3:]) in self.folders

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
                opened.append(self._object(object_path(self._target, folder, path.name, part), part.size))
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
                opened = storage_of(stored).open(stored)
                size = opened.seek(0, io.SEEK_END)
                opened.seek(0)
        except FileNotFoundError:
            raise ReadFailed("the point needs this object, and it is missing", 5, 0, str(stored)) from None
        if size != wanted:
            opened.close()
            raise ReadFailed(f"it has {size} bytes, and {wanted} in the point", 5, 0, str(stored))
        return opened

    def create(self, path: Path, data: bytes | Path) -> None:
        raise PermissionError(f"{path}: a backup's points are only read")

    def remove(self, path: Path) -> None:
        raise PermissionError(f"{path}: a backup's points are only read")


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
        found = []
        end = position + size
        for number in range(bisect_right(self._ends, position), len(self._parts)):
            begin = self._ends[number - 1] if number else 0
            part, stop = self._parts[number], min(end, self._ends[number])
            part.seek(position - begin)
            data = part.read(stop - position)
            if len(data) != stop - position:
                raise ReadFailed("an object of the backup is shorter than it was", errno.EIO, begin, None)
            found.append(data)
            position = stop
            if position == end:
                break
        return b"".join(found)

    def close(self) -> None:
        for each in self._parts:
            each.close()
        super().close()


def _status(file: BackupFile) -> Status:
    return Status(file.size, file.modified, file.sha256)


@lru_cache(maxsize=16)
def _storage(target: Path, name: str) -> _PointStorage:
    # a manifest never changes
    return _PointStorage(target, name)
