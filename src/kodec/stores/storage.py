"""Where files are: the file systems of this machine, and object stores at URLs, behind one contract.

`path_of` makes the path of what a user gave. All that reads files asks the path, or `entries` and
`storage_of` here, and never the system: so the same code reads a disk and a bucket.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from pathlib import Path, PosixPath, WindowsPath
from typing import IO, TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol, Self, TypeVar

from kodec.runtime.cached import cached_property
from kodec.runtime.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

__all__ = [
    "SCHEMES",
    "UNFINISHED",
    "WHOLE",
    "Entry",
    "Listed",
    "LocalStorage",
    "S3Settings",
    "Status",
    "Storage",
    "StorePath",
    "archive_note",
    "as_stored",
    "entries",
    "files_below",
    "if_there",
    "is_url",
    "is_view",
    "on_this_machine",
    "one_look",
    "path_of",
    "readable",
    "register_place",
    "register_view",
    "storage_of",
    "use_s3_settings",
]

SCHEMES = ("s3", "s3a", "gs", "az", "https", "http")
"""Of URLs that are read by an object store's API, or from a web server."""
T = TypeVar("T")
_ARCHIVE = re.compile(r".*.\.(tar(\.[a-z0-9]+)?|tgz|tbz2?|txz|tzst|zip|7z)", re.IGNORECASE)
S3Settings = Callable[[str], "Mapping[str, str | bool]"]
"""A function that gives settings of a bucket, with the names of `obstore.store.S3Config`; it has a hash."""
_s3_settings: S3Settings | None = None
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
WHOLE = 1 << 20
"""An object of up to this number of bytes is read with one request."""
UNFINISHED = "_kodec-unfinished"
"""The mark in a folder of a store to which not all was written yet; see `upload.py`."""
_COPIED = 1 << 20
# The longest key that S3, Azure and Google's store allow.
_MOST_OF_A_KEY = 1024
_OWNER = (os.getuid(), os.getgid()) if hasattr(os, "getuid") else (0, 0)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def archive_note(path: str | os.PathLike[str]) -> str:
    """What to do with an archive, known by its name, for an error; "" for another file."""
    name = str(path).rpartition("/")[2]
    return "an archive: unpack it, and name a folder in it" if _ARCHIVE.fullmatch(name[-40:]) else ""


class Status(NamedTuple):
    """What a file or an object was when it was listed, opened or asked for.

    Attributes:
        size: in bytes. modified: when it was last written, in ns since 1970.
        tag: what another content has another of (an ETag); None where the storage has none.
    """

    size: int
    modified: int
    tag: str | None = None


class Entry(Protocol):
    """One name in a folder: what `os.DirEntry` is for a file system."""

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str | Path: ...
    def is_dir(self, *, follow_symlinks: bool = True) -> bool: ...
    def is_file(self, *, follow_symlinks: bool = True) -> bool: ...
    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result: ...


class Storage(Protocol):
    """A place of files. Every method raises OSError; ReadFailed where a server does not answer as it should.

    FileNotFoundError says that there is no such file or folder, and nothing else.
    """

    def entries(self, folder: Path) -> AbstractContextManager[Iterator[Entry]]:
        """What is in a folder, in any order: all of it, however many pages that takes."""

    def is_folder(self, path: Path) -> bool:
        """Whether there is a folder. In an object store that is a prefix of names that are there."""

    def status(self, path: Path) -> Status:
        """What a file is now."""

    def open(self, path: Path) -> BinaryIO:
        """A file to read at any position, unbuffered. What is read is one content.

        An object that has changed since it was opened, or listed where `path` came from a listing, raises
        ReadFailed.
        """

    def create(self, path: Path, data: bytes | Path) -> None:
        """A new file with this content, or that of a file of this machine, whole or not at all.

        Raises FileExistsError; it replaces nothing.
        """

    def remove(self, path: Path) -> None:
        """Delete a file."""


class LocalStorage:
    """The file systems of this machine."""

    def entries(self, folder: Path) -> AbstractContextManager[Iterator[Entry]]:
        return os.scandir(folder)

    def is_folder(self, path: Path) -> bool:
        return path.is_dir()

    def status(self, path: Path) -> Status:
        found = path.stat()
        return Status(found.st_size, found.st_mtime_ns)

    def open(self, path: Path) -> BinaryIO:
        return path.open("rb", buffering=0)

    def create(self, path: Path, data: bytes | Path) -> None:
        # a name that no killed process has left: in containers all have the same number
        part = path.with_name(f".{path.name[:200]}.{os.urandom(16).hex()}.part")
        with part.open("xb") as file:
            try:
                if isinstance(data, Path):
                    import shutil

                    with data.open("rb") as source:
                        shutil.copyfileobj(source, file, _COPIED)
                else:
                    file.write(data)
                file.flush()
                os.fsync(file.fileno())
                # a link, unlike a rename, replaces nothing
                os.link(part, path)
            finally:
                part.unlink()

    def remove(self, path: Path) -> None:
        path.unlink()


_LOCAL = LocalStorage()


if sys.platform == "win32":
    _Native = WindowsPath
else:
    _Native = PosixPath


class StorePath(_Native):
    """A URL of an object store or a web server, used as a path: the same names and questions.

    Only what reads is here. Whatever else asks the system of this machine for it, as `os.open` or `mkdir`,
    raises ArgumentError: nothing is read or written in a folder called `s3:` by mistake.

    Attributes: `listed` is what the object was when a listing showed it; None for another path. It goes with
    the path to other processes, so that all of them read the same content, and has no part in comparisons.
    `what` is what it is, for errors; `has_indexes` whether logs in it may have Kafka's indexes.
    `following` is the object that is read next by who reads this one to its end, as the next segment, and
    `is_read` whether it was opened since. `largest` is the largest timestamp of a log, if metadata has it.
    """

    what = "in a store"
    has_indexes = True
    listed: Status | None = None
    following: StorePath | None = None
    is_read = False
    largest: int | None = None

    # -- names ------------------------------------------------------------------------------------

    def __str__(self) -> str:
        scheme, *rest = self.parts or ("",)
        return f"{scheme}//{'/'.join(rest)}"

    def __fspath__(self) -> str:
        raise ArgumentError(f"{self} is not a path of this machine, which this needs: copy it here first")

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (str(self), self.listed)

    @property
    def scheme(self) -> str:
        """How the store is asked: one of `SCHEMES`."""
        return self.parts[0].removesuffix(":")

    @property
    def origin(self) -> Path | None:
        """The path that a view is made of; None for an object, which has no modes."""
        return None

    @property
    def stored(self) -> Path:
        """The file in its own format, where this shows it in another; else this."""
        return self

    @property
    def bucket(self) -> str:
        """The bucket, container or host."""
        return self.parts[1]

    @property
    def storage(self) -> Storage:
        """Where it is."""
        from kodec.stores.objects import object_storage

        return object_storage(self.scheme, self.bucket, _s3_settings)

    @cached_property
    def key(self) -> str:
        """The name in the store; "" for all of it. Raises ArgumentError for a name that leads elsewhere."""
        rest = self.parts[2:]
        found = "/".join(rest)
        if ".." in rest or _CONTROL.search(found) or len(found.encode(errors="replace")) > _MOST_OF_A_KEY:
            raise ArgumentError(f"{str(self)[:200]!r}: not the name of an object")
        return found

    def as_posix(self) -> str:
        return str(self)

    def as_uri(self) -> str:
        return str(self)

    @property
    def parent(self) -> Self:
        return self if len(self.parts) <= 2 else self._made(self.parts[:-1])

    @property
    def parents(self) -> Sequence[Self]:
        return tuple(self._made(self.parts[:count]) for count in range(len(self.parts) - 1, 1, -1))

    @property
    def name(self) -> str:
        return self.parts[-1] if len(self.parts) > 2 else ""

    def _made(self, parts: Sequence[str]) -> Self:
        return type(self)(*parts)

    def is_absolute(self) -> bool:
        return True

    def absolute(self) -> Self:
        return self

    def resolve(self, strict: bool = False) -> Self:
        return self

    def expanduser(self) -> Self:
        return self

    # -- questions --------------------------------------------------------------------------------

    def exists(self, *, follow_symlinks: bool = True) -> bool:
        storage = storage_of(self)
        # of a bucket that is missing nothing is there
        return self._is_there(storage.status) or self._is_there(storage.is_folder)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        if self.listed is not None:
            return True
        is_known_folder = bool((looked_at() or {}).get(self))
        return not is_known_folder and self._is_there(storage_of(self).status)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self.listed is None and storage_of(self).is_folder(self)

    def is_symlink(self) -> bool:
        return False

    def _is_there(self, ask: Callable[[Path], Status | bool]) -> bool:
        try:
            return ask(self) is not False
        except FileNotFoundError:
            return False

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """The size and the time of an object; a folder has neither. One request, whatever was listed."""
        try:
            return as_stat(storage_of(self).status(self))
        except FileNotFoundError:
            # which reports a missing bucket
            storage_of(self).entries(self)
            times = dict.fromkeys(("st_atime_ns", "st_mtime_ns", "st_ctime_ns"), 0)
            return os.stat_result((stat.S_IFDIR | 0o755, 0, 0, 1, *_OWNER, 0, 0, 0, 0), times)

    def lstat(self) -> os.stat_result:
        return self.stat()

    def iterdir(self) -> Generator[Self, None, None]:
        with entries(self) as found:
            for each in found:
                assert isinstance(each.path, type(self))
                yield each.path

    def glob(self, pattern: str, **options: Any) -> Iterator[Self]:  # type: ignore[override]
        """Of what is in the folder, what has such a name; `**` are folders of any depth."""
        import fnmatch

        first, _, rest = str(pattern).partition("/")
        if first == "**" and rest:
            yield from self.glob(rest)
        try:
            there = sorted(self.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return
        for each in there:
            if first == "**" and rest:
                if each.is_dir():
                    yield from each.glob(pattern)
                continue
            if fnmatch.fnmatchcase(each.name, first):
                yield from each.glob(rest, **options) if rest else (each,)

    # -- content ----------------------------------------------------------------------------------

    def open(  # type: ignore[override]  # bytes alone
        self, mode: str = "r", buffering: int = -1, *_: object, **__: object
    ) -> IO[Any]:
        if mode != "rb":
            raise ArgumentError(f"{self} is read as bytes, and not opened with mode {mode!r}")
        raw = storage_of(self).open(self)
        return raw if buffering == 0 else io.BufferedReader(raw)  # type: ignore[type-var]  # it is raw

    def read_bytes(self) -> bytes:
        with self.open("rb") as file:
            return bytes(file.read())


class Listed(NamedTuple):
    """A name in a listing of a store or a view, as `Entry`; without a status a folder."""

    path: StorePath
    status: Status | None

    @property
    def name(self) -> str:
        return self.path.name

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self.status is None

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return self.status is not None

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return self.path.stat() if self.status is None else as_stat(self.status)


def _unpickled(text: str, listed: Status | None) -> StorePath:
    found = StorePath(text)
    found.listed = listed
    return found


def as_stat(status: Status) -> os.stat_result:
    """What `os.stat` would say of it: a file of this user, as a copy would be."""
    seconds = status.modified // 10**9
    return os.stat_result(
        (stat.S_IFREG | 0o644, 0, 0, 1, *_OWNER, status.size, seconds, seconds, seconds),
        dict.fromkeys(("st_atime_ns", "st_mtime_ns", "st_ctime_ns"), status.modified),
    )


def path_of(value: object) -> Path:
    """The path of a path or a URL: a `StorePath` for one of `SCHEMES`, that of a file for `file:`.

    A path in a place that something else reads (`register_place`) is what that makes of it. A URL that
    `Path` has made a path of is one too. A folder of this machine that is called `s3:` is no URL.

    Raises: ArgumentError for anything else, also for a URL with a password, a signature or `..` in it.
    """
    found = _path_of(value)
    for recognize in _places:
        found = recognize(found)
    return found


def _path_of(value: object) -> Path:
    if isinstance(value, StorePath):
        return value
    if not isinstance(value, (str, os.PathLike)):
        hint = ": pass its `path`" if isinstance(getattr(value, "path", None), Path) else ""
        raise ArgumentError(f"expected a path, not {type(value).__name__}{hint}")
    text = os.fspath(value)
    if isinstance(text, str) and is_view(text):
        kind, _, rest = text.partition("://")
        return _views[kind](f"{kind}:", *rest.split("/"))
    scheme = is_url(text)
    if scheme in SCHEMES:
        return _store_path(scheme, text)
    if scheme == "file":
        return _path_of_file(text)
    return Path(value)


def is_url(text: str) -> str | None:
    """The scheme, where a text is a URL, or was one before `Path` took one of its slashes; else None."""
    if not isinstance(text, str) or (found := _URL.match(text)) is None:
        return None
    scheme = found[1].lower()
    if "://" not in text and (scheme not in (*SCHEMES, "file") or Path(f"{found[1]}:").exists()):
        return None
    return None if Path(f"{found[1]}:").exists() else scheme


def _store_path(scheme: str, text: str) -> StorePath:
    rest = re.sub("^//?", "", text.split(":", 1)[1])
    bucket, _, key = rest.partition("/")
    if "@" in bucket:
        raise ArgumentError(
            f"{scheme}://...@{bucket.rpartition('@')[2]}: a URL with credentials is refused, as URLs are "
            "shown and logged: docs/object-stores.md lists where they are taken from"
        )
    if scheme in ("http", "https"):
        if "?" in key or "#" in key:
            shown = f"{scheme}://{bucket}/{re.split('[?#]', key)[0]}"
            raise ArgumentError(
                f"{shown}?...: a URL with a query, as a signature, is refused: URLs are shown and logged"
            )
        from urllib.parse import unquote

        key = unquote(key)
    if bucket in ("", ".", ".."):
        raise ArgumentError(f"{text!r}: the bucket is missing, as in {scheme}://bucket/logs")
    found = (
        StorePath(f"{scheme}:", bucket, *key.split("/"))
        if key.strip("/")
        else StorePath(f"{scheme}:", bucket)
    )
    _ = found.key
    return found


def _path_of_file(text: str) -> Path:
    from urllib.parse import unquote, urlsplit

    url = urlsplit(text if text.startswith("file://") else text.replace(":/", ":///", 1))
    if url.netloc not in ("", "localhost") or not url.path.startswith("/"):
        raise ArgumentError(f"{text!r}: a file of this machine is file:///path/of/it")
    return Path(unquote(url.path, errors="surrogateescape"))


def storage_of(path: Path) -> Storage:
    """The storage that a path is in. Raises MissingDependency for a store without its library."""
    return path.storage if isinstance(path, StorePath) else _LOCAL


def use_s3_settings(settings: S3Settings | None) -> None:
    """Open the buckets of S3 with these settings, from now on; what they do not say, the environment does.

    It is for a process that works for one query at a time, as those of Spark do. None: the environment alone.
    """
    global _s3_settings
    _s3_settings = settings


def entries(folder: str | os.PathLike[str]) -> AbstractContextManager[Iterator[Entry]]:
    """What is in a folder, as `os.scandir` lists it. Raises OSError."""
    return storage_of(folder).entries(folder) if isinstance(folder, StorePath) else os.scandir(folder)


def files_below(folder: Path, failed: Callable[[OSError], object]) -> Iterator[Path]:
    """The files in a folder and in those below it; why one cannot be listed goes to `failed`.

    So does a link to a folder, which is not followed, as it may lead back.
    """
    below = [folder]
    while below:
        at = below.pop()
        try:
            with entries(at) as found:
                listed = list(found)
        except OSError as error:
            failed(error)
            continue
        for each in listed:
            path = path_of(each.path)
            try:
                is_folder = each.is_dir()
            except OSError as error:
                # a loop of links
                failed(error)
                continue
            if not is_folder:
                yield path
            elif path.is_symlink():
                failed(OSError(errno.ELOOP, "a link to a folder is not followed", str(path)))
            else:
                below.append(path)


def readable(path: str | os.PathLike[str]) -> Path:
    """The path of what is to be read. Raises ArgumentError as `path_of`, and for a URL of another scheme."""
    found = path_of(path)
    if not isinstance(found, StorePath) and (scheme := is_url(os.fspath(path))) not in (None, "file"):
        raise ArgumentError(
            f"{scheme}: URLs are not read, only those of {', '.join(SCHEMES)} and file; what Hadoop can "
            "reach Spark reads with kafka-log's source for the JVM"
        )
    return found


def as_stored(path: Path) -> Path:
    """The path of a file in its own format, where a view shows it in another."""
    return path.stored if isinstance(path, StorePath) else path


def on_this_machine(path: str | os.PathLike[str]) -> Path:
    """The path of what is to be changed. Raises ArgumentError for a URL."""
    if isinstance(path, StorePath) or is_url(os.fspath(path)) not in (None, "file"):
        url = str(path) if "://" in str(path) else str(path).replace(":/", "://", 1)
        raise ArgumentError(f"{url} is not a path of this machine, where locks and renames keep changes safe")
    found = path_of(path)
    if isinstance(found, StorePath):
        raise ArgumentError(f"{found} is {found.what}, which is only read")
    return found


def if_there(read: Callable[[Path], T], path: Path, default: T) -> T:
    """What `read` returns for a file; `default` if there is none. Raises what `read` raises."""
    try:
        return read(path)
    except FileNotFoundError:
        return default


_places: list[Callable[[Path], Path]] = []


def register_place(recognize: Callable[[Path], Path]) -> None:
    """Let `path_of` ask whether a path is in a place of another kind: that path, or the same one."""
    _places.append(recognize)


_views: dict[str, type[StorePath]] = {}


def register_view(scheme: str, kind: type[StorePath]) -> None:
    """Let `path_of` read the URIs of paths of a view, which has no storage of its own."""
    _views[scheme] = kind


def is_view(text: str) -> bool:
    """Whether a text is the URI of a path of a view."""
    return text.partition(":")[0] in _views


_looks: ContextVar[dict[Path, list[Entry]] | None] = ContextVar("looks", default=None)


@contextmanager
def one_look() -> Iterator[None]:
    """Within it a folder of an object store is listed once, however often it is asked for.

    For one question that is answered from several sides, as what is at a path: so all sides see the same.
    """
    if _looks.get() is not None:
        yield
        return
    token = _looks.set({})
    try:
        yield
    finally:
        _looks.reset(token)


def looked_at() -> dict[Path, list[Entry]] | None:
    """The folders that `one_look` has listed so far; None outside of it."""
    return _looks.get()


def not_found(path: Path, reason: str = "no such object") -> FileNotFoundError:
    """The error for a missing object."""
    return FileNotFoundError(errno.ENOENT, reason, str(path))
