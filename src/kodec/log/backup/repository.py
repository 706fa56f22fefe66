"""The place of a backup, a folder or a URL: its objects, its points, and the marks of those who write or
delete.

Every object is created only where none of that name is, and read back. A point's manifest comes last, so
whatever ends a backup leaves objects that no point needs, and the next one finds them there.

A backup makes a mark in `running`, a deletion one in `pruning`, and each then looks for marks of the other
kind: so nothing is deleted that a backup is about to rely on.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from kodec.log.files.durable import make_root, sync_folder
from kodec.log.remote.point import (
    MARK,
    OBJECTS,
    POINTS,
    SUFFIX,
    BackupPart,
    BackupPoint,
    object_path,
    point_bytes,
    read_point,
)
from kodec.runtime.errors import ArgumentError, FormatError, ReadFailed
from kodec.runtime.foreign_json import read_json, whole_number
from kodec.stores.storage import StorePath, entries, files_below, files_of, path_of

__all__ = ["PRUNING", "RUNNING", "Repository", "UnchangedRepository", "hash_of", "point_name"]

RUNNING, PRUNING = "running", "pruning"
_CHUNK = 8 << 20
_NAME = re.compile(r"[0-9]{8}T[0-9]{6}Z")
_MOST_OF_A_MARK = 4096
# The names of the marks of this process.
_own_marks: set[str] = set()


def hash_of(path: Path) -> tuple[int, str]:
    """The size and the SHA-256 of a file or an object. Raises OSError."""
    digest, size = hashlib.sha256(), 0
    with files_of(path).open(path) as file:
        while data := file.read(_CHUNK):
            digest.update(data)
            size += len(data)
    return size, digest.hexdigest()


class Repository:
    """A backup.

    Attributes: `target` is its folder or URL.
    """

    def __init__(self, target: str | os.PathLike[str]) -> None:
        path = path_of(target)
        if isinstance(path, StorePath) and path.parts[0] not in ("s3:", "s3a:", "gs:", "az:"):
            raise ArgumentError(f"{path}: a backup is a folder, or a URL of s3:, gs: or az:")
        self.target = path if isinstance(path, StorePath) else path.absolute()
        self._storage = files_of(self.target)
        self._known_folders: set[Path] = set()

    def __repr__(self) -> str:
        return f"<Repository {self.target}>"

    # -- whether it is one ------------------------------------------------------------------------

    def exists(self) -> bool:
        """Whether a backup is there. Raises ArgumentError where something else is; OSError."""
        with suppress(FileNotFoundError):
            names = [entry.name for entry in self._listed(self.target)]
            if MARK in names:
                try:
                    with self._storage.open(self.target / MARK) as file:
                        facts = read_json(file.read(_MOST_OF_A_MARK), most_values=_MOST_OF_A_MARK)
                    if facts["format"] == "kodec-backup" and facts["version"] == 1:
                        return True
                except (ValueError, KeyError, TypeError):
                    pass
                raise ArgumentError(f"{self.target / MARK}: not one that this version of kodec has written")
            # what a killed first backup has left of the mark
            names = [name for name in names if not (name.startswith(f".{MARK}.") and name.endswith(".part"))]
            if names:
                reason = f"it holds {names[0]}, and is not a backup: name a new folder"
                raise FileExistsError(errno.EEXIST, reason, str(self.target))
        return False

    def require(self) -> None:
        """Raises FileNotFoundError where no backup is; as `exists`."""
        if not self.exists():
            raise FileNotFoundError(errno.ENOENT, "no backup is there", str(self.target))

    def make(self) -> None:
        """Begin a backup where nothing is. Raises as `exists`."""
        if not self.exists():
            with suppress(FileExistsError):
                self._create(self.target / MARK, b'{"format":"kodec-backup","version":1}\n')

    # -- files ------------------------------------------------------------------------------------

    def _listed(self, folder: Path) -> list[os.DirEntry[str]]:
        with entries(folder) as listing:
            return sorted(listing, key=lambda entry: entry.name)  # type: ignore[arg-type]

    def _names(self, folder: str) -> list[str]:
        try:
            return [
                entry.name for entry in self._listed(self.target / folder) if not entry.name.startswith(".")
            ]
        except FileNotFoundError:
            return []

    def _create(self, path: Path, data: bytes | Path) -> None:
        """As `Storage.create`; durable."""
        if not isinstance(path, StorePath) and path.parent not in self._known_folders:
            make_root(path.parent)
            self._known_folders.add(path.parent)
        self._storage.create(path, data)
        if not isinstance(path, StorePath):
            sync_folder(path.parent)

    def stored(self, folder: str) -> dict[str, int]:
        """The objects of a folder by name, with their sizes. Raises OSError."""
        try:
            listing = self._listed(self.target / OBJECTS / folder)
        except FileNotFoundError:
            return {}
        return {entry.name: entry.stat().st_size for entry in listing if not entry.name.startswith(".")}

    def is_right(self, folder: str, name: str, part: BackupPart) -> bool:
        """Whether an object has the content that its name states. Raises OSError."""
        try:
            return hash_of(object_path(self.target, folder, name, part)) == (part.size, part.sha256)
        except FileNotFoundError:
            return False

    def put(self, folder: str, name: str, part: BackupPart, content: Path) -> bool:
        """Store the content of a file, or a part of it, read it back, and return whether it was new.

        An object of this name whose content is another is damaged, as its name shows, and is replaced. Raises
        ReadFailed where the store holds something else afterwards; OSError.
        """
        path = object_path(self.target, folder, name, part)
        expected = part.size, part.sha256
        try:
            self._create(path, content)
        except FileExistsError:
            if hash_of(path) == expected:
                return False
            self._storage.remove(path)
            self._create(path, content)
        if (actual := hash_of(path)) != expected:
            reason = (
                f"{actual[0]} bytes with SHA-256 {actual[1]} were stored, "
                f"not {expected[0]} with {expected[1]}"
            )
            raise ReadFailed(reason, errno.EIO, 0, str(path))
        return True

    # -- points -----------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """The names of all points, the oldest first. Raises OSError."""
        names = (name.removesuffix(SUFFIX) for name in self._names(POINTS) if name.endswith(SUFFIX))
        return sorted(name for name in names if _NAME.fullmatch(name))

    def point(self, name: str) -> BackupPoint:
        """A point. Raises FileNotFoundError, FormatError, OSError."""
        return read_point(self.target, name)

    def add(self, point: BackupPoint) -> None:
        """Store a point; if another has its name, it gets the next second's. Raises OSError."""
        while True:
            try:
                path = self.target / POINTS / f"{point.name}{SUFFIX}"
                self._create(path, point_bytes(point))
                return
            except FileExistsError:
                seconds = datetime.strptime(point.name, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
                point.name = point_name(seconds + 1)

    def newest_of(self, host: str, sources: list[str]) -> tuple[BackupPoint | None, int]:
        """The newest readable point with one of these log directories, and the largest number seen.

        Of the points with the last ten names. A name comes from a clock, and two points are compared: what
        came after one whose clock was ahead has a larger number. Raises OSError.
        """
        newest, count, number = None, 0, 0
        for name in self.names()[:-11:-1]:
            try:
                point = self.point(name)
            except (FileNotFoundError, FormatError):
                continue
            number = max(number, point.number)
            if any(directory.host == host and directory.source in sources for directory in point.directories):
                count += 1
                if newest is None or point.number > newest.number:
                    newest = point
                if count == 2:
                    break
        return newest, number

    def remove_point(self, name: str) -> None:
        """Delete a point's manifest. Raises OSError."""
        self._storage.remove(self.target / POINTS / f"{name}{SUFFIX}")

    def all_objects(self) -> dict[str, int]:
        """All objects with their sizes, and what a killed writer has left of one. Raises OSError."""
        root = self.target / OBJECTS

        def failed(error: OSError) -> None:
            if not isinstance(error, FileNotFoundError):
                raise error

        sizes = {}
        for path in files_below(root, failed):
            with suppress(FileNotFoundError):
                key = "/".join(path.parts[len(root.parts) :])
                listed = getattr(path, "listed", None)
                sizes[key] = path.stat().st_size if listed is None else listed.size
        return sizes

    def remove_object(self, key: str) -> None:
        """Delete an object. Raises OSError."""
        with suppress(FileNotFoundError):
            self._storage.remove(self.target / OBJECTS / key)

    # -- marks ------------------------------------------------------------------------------------

    @contextmanager
    def marked(self, kind: str) -> Iterator[None]:
        """Do something while a mark shows it to others.

        Raises BlockingIOError where another one deletes, or, to delete, where another one works; OSError.
        """
        name = f"{socket.gethostname()[:100]}-{os.getpid()}-{uuid4().hex}.json"
        mark = self.target / kind / name
        _own_marks.add(name)
        facts = {"host": socket.gethostname(), "pid": os.getpid(), "begun": point_name(time.time())}
        self._create(mark, json.dumps(facts).encode())
        try:
            for other in (PRUNING, RUNNING) if kind == PRUNING else (PRUNING,):
                for other_mark in self._names(other):
                    if other_mark != name and not self._is_stale(other, other_mark):
                        what = "deletes from" if other == PRUNING else "writes to"
                        reason = f"another kodec {what} this backup; if it was killed, delete this mark"
                        raise BlockingIOError(errno.EAGAIN, reason, str(self.target / other / other_mark))
            yield
        finally:
            with suppress(FileNotFoundError):
                self._storage.remove(mark)
            _own_marks.discard(name)

    def _is_stale(self, kind: str, name: str) -> bool:
        """Whether a mark is that of a process of this host that has ended; it is deleted then."""
        path = self.target / kind / name
        try:
            with self._storage.open(path) as file:
                facts = read_json(file.read(_MOST_OF_A_MARK), most_values=_MOST_OF_A_MARK)
            if facts["host"] != socket.gethostname() or name in _own_marks:
                return False
            if facts["pid"] == os.getpid():
                # of an earlier process with the same number, as each one in a container has
                raise ProcessLookupError
            os.kill(whole_number(facts["pid"], 1, (1 << 31) - 1), 0)
        except FileNotFoundError:
            return True
        except ProcessLookupError:
            with suppress(FileNotFoundError):
                self._storage.remove(path)
            return True
        except (ValueError, KeyError, TypeError, OSError):
            return False
        return False


class UnchangedRepository(Repository):
    """A backup that only shows what would be new in it: nothing is stored."""

    def __init__(self, target: str | os.PathLike[str]) -> None:
        super().__init__(target)
        self._new: set[Path] = set()

    def put(self, folder: str, name: str, part: BackupPart, content: Path) -> bool:
        """Return whether it would be new. Raises OSError."""
        path = object_path(self.target, folder, name, part)
        if path in self._new or self.is_right(folder, name, part):
            return False
        self._new.add(path)
        return True


def point_name(seconds: float) -> str:
    """The name of a point that is begun at a time, in s since 1970."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y%m%dT%H%M%SZ}"
