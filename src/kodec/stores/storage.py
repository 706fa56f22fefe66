"""Where files are: the file systems of this machine, and object stores at URLs, behind one contract.

`path_of` makes the path of what a user gave. All that reads files asks the path, or `entries` and
`files_of` here, and never the system: so the same code reads a disk and a bucket.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path, PosixPath, PurePath, WindowsPath
from typing import IO, TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol, Self, TypeVar

from kodec.runtime.cached import cached_property
from kodec.runtime.errors import ArgumentError
from kodec.stores.context import DEFAULT, Context

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

__all__ = [
    "SCHEMES",
    "UNFINISHED",
    "WHOLE",
    "Bucket",
    "Entry",
    "Files",
    "Listed",
    "Local",
    "Location",
    "Status",
    "StorePath",
    "archive_note",
    "as_stored",
    "context_of",
    "entries",
    "entry_path",
    "files_below",
    "files_of",
    "if_there",
    "is_of_store",
    "is_url",
    "known_as",
    "listings_of",
    "on_this_machine",
    "one_look",
    "path_of",
    "readable",
    "register_store",
]

SCHEMES = ("s3", "s3a", "gs", "az", "https", "http")
"""Of URLs that are read by an object store's API, or from a web server."""
T = TypeVar("T")
_ARCHIVE = re.compile(r".*.\.(tar(\.[a-z0-9]+)?|tgz|tbz2?|txz|tzst|zip|7z)", re.IGNORECASE)
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
WHOLE = 1 << 20
"""An object of up to this number of bytes is read with one request."""
UNFINISHED = "_kodec-unfinished"
"""The mark in a folder of a store to which not all was written yet; see `upload.py`."""
_COPIED = 1 << 20
# How many parts of a path name its place at least.
_FIRST = 2
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

    Example: see `register_store`.
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


class Files:
    """A place of files, which is only read where it does not say how to write; the base of one's own.

    Every method raises OSError; ReadFailed where a server does not answer as it should. FileNotFoundError
    says that there is no such file or folder, and nothing else.

    Attributes:
        what: what is in it, for errors.
        root: the first parts of its paths, which name the place; the others are names in it. Two places with
            the same are one.
        context: what was brought along when it was opened.
        has_indexes: whether logs in it may have Kafka's indexes.

    Example: see `register_store`.
    """

    what = "in a place of its own"
    root: tuple[str, ...] = ()
    context = DEFAULT
    has_indexes = True

    def text(self, path: Path) -> str:
        """A path for people."""
        scheme, *inner = path.parts
        return f"{scheme}//{'/'.join(inner)}"

    @property
    def origin(self) -> Path | None:
        """The path that a view is made of; None for objects, which have no modes."""
        return None

    def stored(self, path: StorePath) -> Path:
        """The file in its own format, where this shows it in another; else the path."""
        return path

    def left_out(self, path: StorePath) -> Sequence[Any]:
        """What is in a log directory and not listed in it: each an `Omission`.

        Args:
            path: of the log directory.
        """
        return ()

    @abstractmethod
    def entries(self, folder: Path) -> AbstractContextManager[Iterator[Entry]]:
        """What is in a folder, in any order: all of it, however many pages that takes."""

    @abstractmethod
    def is_folder(self, path: Path) -> bool:
        """Whether there is a folder. In an object store that is a prefix of names that are there.

        Args:
            path: of the folder.
        """

    @abstractmethod
    def status(self, path: Path) -> Status:
        """What a file is now; a folder is none.

        Args:
            path: of the file.
        """

    @abstractmethod
    def open(self, path: Path) -> BinaryIO:
        """A file to read at any position, unbuffered. What is read is one content.

        An object that has changed since it was opened, or listed where `path` came from a listing, raises
        ReadFailed.
        """

    def create(self, path: Path, data: bytes | Path) -> None:
        """A new file with this content, or that of a file of this machine, whole or not at all.

        Args:
            path: of the file. data: the content, or the file that has it.

        Raises FileExistsError; it replaces nothing.
        """
        raise PermissionError(f"{path} is {self.what}, which is only read")

    def remove(self, path: Path) -> None:
        """Delete a file.

        Args:
            path: of the file.
        """
        raise PermissionError(f"{path} is {self.what}, which is only read")


class Local(Files):
    """The file systems of this machine."""

    def __init__(self, context: Context = DEFAULT) -> None:
        self.context = context

    def text(self, path: Path) -> str:
        return str(path)

    def entries(self, folder: Path) -> AbstractContextManager[Iterator[Entry]]:
        return os.scandir(folder)

    def is_folder(self, path: Path) -> bool:
        return path.is_dir()

    def status(self, path: Path) -> Status:
        status = path.stat()
        return Status(status.st_size, status.st_mtime_ns)

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


_LOCAL = Local()


class Listings:
    """The folders of a bucket that `one_look` has listed so far; None when it is over."""

    def __init__(self) -> None:
        self.known: dict[Path, list[Entry]] | None = {}


class Bucket(Files):
    """A bucket, a container, or a host; it is asked for nothing until a file or a folder is wanted."""

    what = "in a store"

    def __init__(
        self, scheme: str, bucket: str, context: Context = DEFAULT, listings: Listings | None = None
    ) -> None:
        self.scheme, self.bucket, self.context, self.listings = scheme, bucket, context, listings
        self.root = (f"{scheme}:", bucket)

    def __reduce__(self) -> tuple[Any, ...]:
        return Bucket, (self.scheme, self.bucket, self.context)

    @property
    def _storage(self) -> Files:
        from kodec.stores.objects import object_storage

        return object_storage(self.scheme, self.bucket, self.context.s3)

    def entries(self, folder: Path) -> AbstractContextManager[Iterator[Entry]]:
        return self._storage.entries(folder)

    def is_folder(self, path: Path) -> bool:
        return self._storage.is_folder(path)

    def status(self, path: Path) -> Status:
        return self._storage.status(path)

    def open(self, path: Path) -> BinaryIO:
        return self._storage.open(path)

    def create(self, path: Path, data: bytes | Path) -> None:
        self._storage.create(path, data)

    def remove(self, path: Path) -> None:
        self._storage.remove(path)


if sys.platform == "win32":
    _Native = WindowsPath
else:
    _Native = PosixPath


class Location(_Native):
    """A path in a place that was opened, with its `Files`; it never changes, and paths made of it keep them.

    One of this machine is like any other path, and brings its context along.

    Attributes:
        files: where it is.
        listed: what the file was when a listing showed it; None for another path. It goes with the path to
            other processes, so that all of them read the same content, and has no part in comparisons.
        content: what the files need to open it, if the listing that showed it knew; it goes along too.
        following: the object that is read next by who reads this one to its end, as the next segment.
    """

    _files: Files
    _listed: Status | None
    _content: object
    _following: StorePath | None

    def __new__(
        cls,
        files: Files,
        *parts: str | os.PathLike[str],
        listed: Status | None = None,
        content: object = None,
        following: StorePath | None = None,
    ) -> Self:
        self = super().__new__(cls, *parts)
        self._files, self._listed, self._content, self._following = files, listed, content, following
        return self

    if sys.version_info >= (3, 12):

        def __init__(self, files: Files, *parts: str | os.PathLike[str], **facts: Any) -> None:
            super().__init__(*parts)

    @property
    def files(self) -> Files:
        return self._files

    @property
    def listed(self) -> Status | None:
        return self._listed

    @property
    def content(self) -> object:
        return self._content

    @property
    def following(self) -> StorePath | None:
        return self._following

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (type(self), self._files, self.parts, self._listed, self._content)

    def with_segments(self, *parts: str | os.PathLike[str]) -> Self:
        """Another path in the same place."""
        return type(self)(self._files, *parts)

    @property
    def _plain(self) -> Path:
        return Path(*self.parts)

    # Before Python 3.12 none of these asks `with_segments`.

    def __truediv__(self, name: str | os.PathLike[str]) -> Self:
        return self.joinpath(name)

    def joinpath(self, *names: str | os.PathLike[str]) -> Self:
        return self.with_segments(self._plain.joinpath(*names))

    @property
    def parent(self) -> Self:
        return self.with_segments(self._plain.parent)

    @property
    def parents(self) -> Sequence[Self]:
        return tuple(map(self.with_segments, self._plain.parents))

    def with_name(self, name: str) -> Self:
        return self.with_segments(self._plain.with_name(name))

    def with_suffix(self, suffix: str) -> Self:
        return self.with_segments(self._plain.with_suffix(suffix))

    def absolute(self) -> Self:
        return self.with_segments(self._plain.absolute())

    def resolve(self, strict: bool = False) -> Self:
        return self.with_segments(self._plain.resolve(strict))

    def expanduser(self) -> Self:
        return self.with_segments(self._plain.expanduser())

    def relative_to(self, *others: Any, **options: Any) -> Path:  # type: ignore[override]
        return self._plain.relative_to(
            *(Path(*other.parts) if isinstance(other, Location) else other for other in others)
        )

    def iterdir(self) -> Generator[Self, None, None]:
        yield from map(self.with_segments, self._plain.iterdir())

    def glob(self, pattern: str, **options: Any) -> Iterator[Self]:  # type: ignore[override]
        yield from map(self.with_segments, self._plain.glob(pattern, **options))

    def rglob(self, pattern: str, **options: Any) -> Iterator[Self]:  # type: ignore[override]
        yield from map(self.with_segments, self._plain.rglob(pattern, **options))


class StorePath(Location):
    """A location that is no path of this machine: a URL of an object store or a web server, or in a view.

    Only what reads is here. Whatever else asks the system of this machine for it, as `os.open` or `mkdir`,
    raises ArgumentError: nothing is read or written in a folder called `s3:` by mistake.
    """

    # -- names ------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return self._files.text(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __fspath__(self) -> str:
        raise ArgumentError(f"{self} is not a path of this machine, which this needs: copy it here first")

    def __eq__(self, other: object) -> bool:
        return self.parts == other.parts if isinstance(other, StorePath) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.parts)

    def __lt__(self, other: PurePath) -> bool:
        return self.parts < other.parts

    @property
    def what(self) -> str:
        """What it is, for errors."""
        return self._files.what

    @property
    def origin(self) -> Path | None:
        """The path that a view is made of; None for an object, which has no modes."""
        return self._files.origin

    @cached_property
    def key(self) -> str:
        """The name in its place; "" for all of it. Raises ArgumentError for a name that leads elsewhere."""
        inner = self.parts[len(self._files.root) :]
        key = "/".join(inner)
        if ".." in inner or _CONTROL.search(key) or len(key.encode(errors="replace")) > _MOST_OF_A_KEY:
            raise ArgumentError(f"{str(self)[:200]!r}: not the name of an object")
        return key

    def seen(self, listed: Status, content: object = None) -> Self:
        """This path, as a listing shows it."""
        return type(self)(self._files, *self.parts, listed=listed, content=content)

    def followed_by(self, path: StorePath) -> Self:
        """This path, with the object that is read after it."""
        return type(self)(
            self._files, *self.parts, listed=self._listed, content=self._content, following=path
        )

    def as_posix(self) -> str:
        return str(self)

    def as_uri(self) -> str:
        return str(self)

    def joinpath(self, *names: str | os.PathLike[str]) -> Self:
        return self.with_segments(*self.parts, *names)

    @property
    def parent(self) -> Self:
        return self if len(self.parts) <= _FIRST else self.with_segments(*self.parts[:-1])

    @property
    def parents(self) -> Sequence[Self]:
        return tuple(
            self.with_segments(*self.parts[:count]) for count in range(len(self.parts) - 1, _FIRST - 1, -1)
        )

    @property
    def name(self) -> str:
        return self.parts[-1] if len(self.parts) > _FIRST else ""

    def with_name(self, name: str) -> Self:
        return self.with_segments(*self.parts[:-1], name)

    def with_suffix(self, suffix: str) -> Self:
        return self.with_name(f"{self.name.removesuffix(self.suffix)}{suffix}")

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
        # of a bucket that is missing nothing is there
        return self._is_there(self._files.status) or self._is_there(self._files.is_folder)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        if self.listed is not None:
            return True
        is_known_folder = bool((listings_of(self) or {}).get(self))
        return not is_known_folder and self._is_there(self._files.status)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self.listed is None and self._files.is_folder(self)

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
            return as_stat(self._files.status(self))
        except FileNotFoundError:
            # which reports a missing bucket
            self._files.entries(self)
            times = dict.fromkeys(("st_atime_ns", "st_mtime_ns", "st_ctime_ns"), 0)
            return os.stat_result((stat.S_IFDIR | 0o755, 0, 0, 1, *_OWNER, 0, 0, 0, 0), times)

    def lstat(self) -> os.stat_result:
        return self.stat()

    def iterdir(self) -> Generator[Self, None, None]:
        with entries(self) as listing:
            for entry in listing:
                assert isinstance(entry.path, type(self))
                yield entry.path

    def glob(self, pattern: str, **options: Any) -> Iterator[Self]:  # type: ignore[override]
        """Of what is in the folder, what has such a name; `**` are folders of any depth."""
        import fnmatch

        first, _, following = str(pattern).partition("/")
        if first == "**" and following:
            yield from self.glob(following)
        try:
            children = sorted(self.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return
        for child in children:
            if first == "**" and following:
                if child.is_dir():
                    yield from child.glob(pattern)
                continue
            if fnmatch.fnmatchcase(child.name, first):
                yield from child.glob(following, **options) if following else (child,)

    # -- content ----------------------------------------------------------------------------------

    def open(  # type: ignore[override]  # bytes alone
        self, mode: str = "r", buffering: int = -1, *_: object, **__: object
    ) -> IO[Any]:
        if mode != "rb":
            raise ArgumentError(f"{self} is read as bytes, and not opened with mode {mode!r}")
        raw = self._files.open(self)
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


def _unpickled(
    kind: type[Location], files: Files, parts: Sequence[str], listed: Status | None, content: object
) -> Location:
    return kind(files, *parts, listed=listed, content=content)


def as_stat(status: Status) -> os.stat_result:
    """What `os.stat` would say of it: a file of this user, as a copy would be."""
    seconds = status.modified // 10**9
    return os.stat_result(
        (stat.S_IFREG | 0o644, 0, 0, 1, *_OWNER, status.size, seconds, seconds, seconds),
        dict.fromkeys(("st_atime_ns", "st_mtime_ns", "st_ctime_ns"), status.modified),
    )


def path_of(value: object, context: Context = DEFAULT) -> Path:
    """The path of a path or a URL: a `StorePath` for one of a store, that of a file for `file:`.

    A URL that `Path` has made a path of is one too. A folder of this machine that is called `s3:` is no URL.
    What is in a folder of another system, or in a backup, `kodec.open_location` sees.

    Raises: ArgumentError for anything else, also for a URL with a password, a signature or `..` in it.
    """
    if isinstance(value, Location):
        return value
    if not isinstance(value, (str, os.PathLike)):
        hint = ": pass its `path`" if isinstance(getattr(value, "path", None), Path) else ""
        raise ArgumentError(f"expected a path, not {type(value).__name__}{hint}")
    text = os.fspath(value)
    scheme = is_url(text)
    if scheme is not None and is_of_store(text):
        return _store_path(scheme, text, context)
    if scheme == "file":
        return _path_of_file(text)
    return Path(value)


_stores: dict[str, Callable[[str], Files]] = {}


def register_store(scheme: str, files: Callable[[str], Files]) -> None:
    """Let URLs of a scheme be read wherever a path is.

    Args:
        scheme: of the URLs, in lower case.
        files: what is called with the part of a URL before the first name, as a host or a bucket, and returns
            its `Files`; other processes call it too, so it must be possible to pickle what it returns.

    Raises: ArgumentError for a scheme that kodec reads itself.

    Example:
        >>> import contextlib, io, kodec
        >>> class InMemory(kodec.Files):
        ...     def __init__(self, name): self.root = ("memory:", name)
        ...     def entries(self, folder): return contextlib.nullcontext(iter([]))
        ...     def is_folder(self, path): return False
        ...     def status(self, path): return kodec.Status(3, 0)
        ...     def open(self, path): return io.BytesIO(b"abc")
        >>> kodec.register_store("memory", InMemory)
        >>> kodec.open_location("memory://host/a/file").read_bytes()
        b'abc'
    """
    if scheme in (*SCHEMES, "file") or not re.fullmatch("[a-z][a-z0-9+.-]+", scheme):
        raise ArgumentError(f"{scheme!r} is read by kodec itself, or is no scheme")
    _stores[scheme] = files


def is_of_store(text: str) -> bool:
    """Whether a text is a URL of a store."""
    scheme = is_url(text)
    return scheme in SCHEMES or scheme in _stores


def is_url(text: str) -> str | None:
    """The scheme, where a text is a URL, or was one before `Path` took one of its slashes; else None."""
    if not isinstance(text, str) or (match := _URL.match(text)) is None:
        return None
    scheme = match[1].lower()
    if "://" not in text and (scheme not in (*SCHEMES, *_stores, "file") or Path(f"{match[1]}:").exists()):
        return None
    return None if Path(f"{match[1]}:").exists() else scheme


def _store_path(scheme: str, text: str, context: Context) -> StorePath:
    location = re.sub("^//?", "", text.split(":", 1)[1])
    bucket, _, key = location.partition("/")
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
    files = _stores[scheme](bucket) if scheme in _stores else Bucket(scheme, bucket, context)
    path = StorePath(files, *files.root, *filter(None, key.split("/")))
    _ = path.key
    return path


def _path_of_file(text: str) -> Path:
    from urllib.parse import unquote, urlsplit

    url = urlsplit(text if text.startswith("file://") else text.replace(":/", ":///", 1))
    if url.netloc not in ("", "localhost") or not url.path.startswith("/"):
        raise ArgumentError(f"{text!r}: a file of this machine is file:///path/of/it")
    return Path(unquote(url.path, errors="surrogateescape"))


def files_of(path: Path) -> Files:
    """The files that a path is one of."""
    return path.files if isinstance(path, Location) else _LOCAL


def context_of(path: Path) -> Context:
    """What a path brings along."""
    return path.files.context if isinstance(path, Location) else DEFAULT


def entry_path(entry: Entry, folder: Path | None = None) -> Path:
    """The path of a name in a listing; of one of this machine it brings along what the folder does."""
    path = entry.path
    if isinstance(path, Path):
        return path
    return folder / entry.name if isinstance(folder, Location) else Path(path)


def entries(folder: str | os.PathLike[str]) -> AbstractContextManager[Iterator[Entry]]:
    """What is in a folder, as `os.scandir` lists it. Raises OSError."""
    return folder.files.entries(folder) if isinstance(folder, StorePath) else os.scandir(folder)


def files_below(folder: Path, failed: Callable[[OSError], object]) -> Iterator[Path]:
    """The files in a folder and in those below it; why one cannot be listed goes to `failed`.

    So does a link to a folder, which is not followed, as it may lead back.
    """
    below = [folder]
    while below:
        inner = below.pop()
        try:
            with entries(inner) as listing:
                listed = list(listing)
        except OSError as error:
            failed(error)
            continue
        for entry in listed:
            path = entry_path(entry)
            try:
                is_folder = entry.is_dir()
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


def readable(path: str | os.PathLike[str], context: Context = DEFAULT) -> Path:
    """The path of what is to be read. Raises ArgumentError as `path_of`, and for a URL of another scheme."""
    opened = path_of(path, context)
    if not isinstance(opened, StorePath) and (scheme := is_url(os.fspath(path))) not in (None, "file"):
        raise ArgumentError(
            f"{scheme}: URLs are not read, only those of {', '.join(SCHEMES)} and file; what Hadoop can "
            "reach Spark reads with kafka-log's source for the JVM"
        )
    return opened


def as_stored(path: Path) -> Path:
    """The path of a file in its own format, where a view shows it in another."""
    return path.files.stored(path) if isinstance(path, StorePath) else path


def known_as(path: Path) -> Path:
    """The path under whose name people know a file: in a view, that of the file with its content."""
    return path_of(str(path)) if isinstance(path, StorePath) and path.origin is not None else path


def on_this_machine(path: str | os.PathLike[str]) -> Path:
    """The path of what is to be changed. Raises ArgumentError for a URL."""
    if isinstance(path, StorePath) and path.origin is not None:
        raise ArgumentError(f"{path} is {path.what}, which is only read")
    if isinstance(path, StorePath) or is_url(os.fspath(path)) not in (None, "file"):
        url = str(path) if "://" in str(path) else str(path).replace(":/", "://", 1)
        raise ArgumentError(f"{url} is not a path of this machine, where locks and renames keep changes safe")
    return path_of(path)


def if_there(read: Callable[[Path], T], path: Path, default: T) -> T:
    """What `read` returns for a file; `default` if there is none. Raises what `read` raises."""
    try:
        return read(path)
    except FileNotFoundError:
        return default


def listings_of(path: Path) -> dict[Path, list[Entry]] | None:
    """The folders that `one_look` has listed so far; None outside of it."""
    files = path.files if isinstance(path, StorePath) else None
    return files.listings.known if isinstance(files, Bucket) and files.listings is not None else None


@contextmanager
def one_look(path: Path) -> Iterator[Path]:
    """A path of whose object store a folder is listed once, however often it is asked for, until the end.

    For one question that is answered from several sides, as what is at a path: so all sides see the same.
    """
    files = path.files if isinstance(path, StorePath) else None
    if not isinstance(path, StorePath) or not isinstance(files, Bucket) or listings_of(path) is not None:
        yield path
        return
    listings = Listings()
    try:
        yield type(path)(
            Bucket(files.scheme, files.bucket, files.context, listings), *path.parts, listed=path.listed
        )
    finally:
        listings.known = None


def not_found(path: Path, reason: str = "no such object") -> FileNotFoundError:
    """The error for a missing object."""
    return FileNotFoundError(errno.ENOENT, reason, str(path))
