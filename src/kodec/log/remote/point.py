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
        found = Omissions()
        for each in self.directories:
            found.extend(each.omissions)
        return found

    @property
    def is_whole(self) -> bool:
        """Whether all of the log directories is in it, without damage."""
        return all(each.omissions.is_whole for each in self.directories)

    def folders(self) -> Iterator[tuple[str, str, dict[str, BackupFile]]]:
        """Each folder: its path in the point, the folder of its objects, and its files."""
        for each in self.directories:
            yield each.name, BESIDE, each.files
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
        "number": point.number,
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
                        "files": _plain(one.files),
                    }
                    for one in each.partitions
                ],
                "leftOut": [one.facts() for one in each.omissions],
                "more": [each.omissions.more, each.omissions.more_losses],
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
        found = read_json(text, most_values=_FEW_VALUES + _MOST_VALUES_OF_A_BYTE * len(data))
        if found["format"] != "kodec-backup" or found["version"] != VERSION:
            raise ValueError(f"version {found['version']!r}, and this kodec reads {VERSION}")
        _require_known(found, "format", "version", "point", "begun", "ended", "number", "directories")
        return BackupPoint(
            _text(found["point"], _NAME),
            whole_number(found["begun"]),
            whole_number(found["ended"]),
            [_directory(each) for each in found["directories"]],
            whole_number(found.get("number", 0)),
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


def _require_known(found: dict[str, Any], *names: str) -> None:
    """Raises ValueError for a key that no manifest of this version has."""
    if unknown := found.keys() - set(names):
        raise ValueError(f"{min(unknown)!r:.100} is unknown")


def _or_none(value: object) -> int | None:
    return None if value is None else whole_number(value)


def _directory(found: dict[str, Any]) -> BackupDirectory:
    _require_known(found, *_KEYS_OF_A_DIRECTORY)
    for each in found["partitions"]:
        _require_known(each, *_KEYS_OF_A_PARTITION)
    return BackupDirectory(
        _text(found["name"], _NAME) if found["name"] else "",
        str(found["host"]),
        str(found["source"]),
        found["clusterId"],
        _or_none(found["nodeId"]),
        found["directoryId"],
        _files(found["files"]),
        [
            BackupPartition(
                _text(each["folder"], _NAME),
                _files(each["files"]),
                whole_number(each["listed"]),
                whole_number(each["attempts"]),
                _or_none(each["active"]),
                _or_none(each["endOffset"]),
                _or_none(each["highWatermark"]),
            )
            for each in found["partitions"]
        ],
        _omissions(found),
    )


def _omissions(found: dict[str, Any]) -> Omissions:
    """What a log directory's part of a point lacks; older versions wrote `missing` and `damaged` instead."""
    account = Omissions()
    for each in found.get("leftOut", ()):
        numbers = (each.get(key) for key in ("position", "size", "firstOffset", "lastOffset", "records"))
        bounds = [_or_none(one) for one in numbers]
        account.add(Omission(Cause(each["cause"]), Path(each["path"]), str(each["reason"]), *bounds))
    for name, reason in found.get("missing", {}).items():
        account.lose(Path(found["source"], name), str(reason), Cause.MISSING)
    for each in found["partitions"]:
        for one in each.get("damaged", ()):
            account.lose(Path(found["source"], each["folder"]), str(one))
    more, losses = map(whole_number, found.get("more", (0, 0)))
    if not 0 <= losses <= more:
        raise ValueError(f"{losses} losses of {more}")
    account.more += more
    account.more_losses += losses
    return account


def _files(found: dict[str, Any]) -> dict[str, BackupFile]:
    files = {}
    for name, each in found.items():
        _require_known(each, "size", "sha256", "modified", "data", "seen", "parts")
        data = base64.b64decode(each["data"], validate=True) if "data" in each else None
        size = whole_number(each["size"], 0)
        if data is not None and len(data) != size:
            raise ValueError(f"{name}: {size} bytes")
        seen = tuple(map(whole_number, each["seen"])) if "seen" in each else None
        parts = tuple(
            BackupPart(whole_number(part), _text(sha, _HASH)) for part, sha in each.get("parts", ())
        )
        if parts and (min(parts).size < 1 or sum(part.size for part in parts) != size):
            raise ValueError(f"{name}: {size} bytes in parts of {[part.size for part in parts]}")
        files[_text(name, _NAME)] = BackupFile(
            size, _text(each["sha256"], _HASH), whole_number(each["modified"]), data, seen, parts
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
    found = parse_point(data, str(path))
    if found.name != name:
        raise _wrong(f"the point {found.name}", str(path))
    return found


# -- a point as log directories -------------------------------------------------------------------


def as_point(path: Path) -> StorePath | None:
    """The point that a path names, or what is in one; None for any other path.

    A name alone shows nothing: its manifest must be there.
    """
    found = _POINT.fullmatch(str(path))
    context = context_of(path)
    if found is None or (isinstance(path, StorePath) and not isinstance(path.files, Bucket)):
        return None
    around = found[1]
    if isinstance(path, StorePath):
        target = path_of(around, context)
    else:
        target = Path("/" if around == "" else around or ".").absolute()
    if not _is_point(target, found[2]):
        return None
    return Point.at(target, found[2], context).path.joinpath(*filter(None, found[3].split("/")))


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
        *rest, name = path.parts[3:] or ("",)
        found = self._manifest.folders.get("/".join(rest), {}).get(name)
        if found is None:
            raise not_found(path, "no such file in the point")
        return found

    def entries(self, folder: Path) -> AbstractContextManager[Iterator[Entry]]:
        assert isinstance(folder, StorePath)
        known = self._manifest
        key = known.key(folder)
        if key not in known.folders:
            raise not_found(folder, "no such folder in the point")
        found: list[Entry] = [Listed(folder / name, None) for name in known.inside.get(key, ())]
        for name, (_, file) in known.folders[key].items():
            status = _status(file)
            found.append(Listed((folder / name).seen(status), status))
        return nullcontext(iter(found))

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
            self.folders.setdefault(path, {}).update({each: (folder, file) for each, file in files.items()})
            if folder != BESIDE:
                self._partitions.add(path)
        for directory in point.directories:
            for one in directory.omissions:
                self._leave_out(place.path, directory, one)
            if directory.omissions.more_losses:
                text = f"{directory.omissions.more_losses} more things that could not be read"
                more = Omission(Cause.UNREACHABLE, place.path, text)
                self.left_out.setdefault(directory.name, []).append(more)

    def _leave_out(self, point: StorePath, directory: BackupDirectory, omission: Omission) -> None:
        """List what the point lacks under its name; what other readers do not see by that, apart."""
        try:
            rest = omission.path.relative_to(directory.source).parts
        except ValueError:
            return
        if len(rest) > 2 or not all(_NAME.fullmatch(each) and each != ".." for each in rest):
            return
        key = "/".join(filter(None, (directory.name, *rest)))
        around, _, last = key.rpartition("/")
        if omission.cause in (Cause.UNREACHABLE, Cause.MISSING) and omission.first_offset is None:
            if (key not in self.folders or not rest) and last not in self.folders.get(around, {}):
                self._lost[key] = omission
                if rest:
                    self.inside.setdefault(around, []).append(last)
        elif key not in self.folders and last not in self.folders.get(around, {}):
            # of what is there a reader sees itself what is wrong
            left = replace(omission, path=point.joinpath(*key.split("/")))
            self.left_out.setdefault(directory.name, []).append(left)

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
def _point(target: Path, name: str, context: Context) -> Point:
    return Point(target, name, context)
