"""Object stores and web servers, read by ranges: obstore asks them, and this makes files and folders of them.

A reader asks for few bytes (a lookup) or for all (a scan). `ObjectFile` guesses which: what is small comes
whole with the first request, a read elsewhere asks for a range, and whoever reads on gets the ranges that
follow ahead of time, several at once.
"""

from __future__ import annotations

import errno
import os
import re
import threading
import time
import urllib.parse
import urllib.request
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from kodec.runtime.errors import ArgumentError, MissingDependency, ReadFailed
from kodec.runtime.extras import install_command
from kodec.stores.context import S3Settings
from kodec.stores.positioned import PositionedFile
from kodec.stores.storage import (
    UNFINISHED,
    WHOLE,
    Bucket,
    Entry,
    Files,
    Listed,
    Status,
    StorePath,
    listings_of,
    not_found,
)

if TYPE_CHECKING:
    from collections.abc import Buffer  # type: ignore[attr-defined]  # of Python 3.12

    from obstore import GetResult, ListResult, ObjectMeta
    from obstore.store import ClientConfig, ObjectStore, RetryConfig, S3Config

__all__ = ["ObjectFile", "ObjectStorage", "object_storage"]

INDEX_WHOLE = 16 << 20
"""An index of up to so many: brokers make them of 10 MiB, and a search in one reads here and there."""
_LOOK = 256 << 10
"""What a read elsewhere asks for at least: a round trip takes as long as these bytes."""
AHEAD = 8 << 20
_LEAST_AHEAD, _MOST_AHEAD = 3, 8
"""How large the ranges are that are read ahead, and how many: more, if the reader waits for them."""
_MOST_BEGUN = 4
"""How many objects are begun before they are opened, those of all readers of a bucket."""
_INDEXES = (".index", ".timeindex", ".txnindex")

# What is larger is written in parts of this size, so many at once.
AT_ONCE, PART, _PARTS = 64 << 20, 16 << 20, 2
# With these a request ends, whatever happens, within some two minutes.
_RETRIES: RetryConfig = {
    "max_retries": 6,
    "retry_timeout": timedelta(seconds=60),
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=5), "base": 2},
}
_CLIENT: ClientConfig = {"connect_timeout": "5s", "read_timeout": "30s", "timeout": "120s"}
_MOST_OF_A_REASON = 300
# What a listing is refused with is no error of its own class.
_DENIED = re.compile(r"status code: 40[13]\b")
# A listing whose body breaks off: the library asks again for all else that passes.
_CUT_LISTING = re.compile("list response body")
_NO_BUCKET = re.compile("NoSuchBucket|ContainerNotFound")
# What the servers say of a range in an object without a byte.
_NO_RANGE = re.compile(r"InvalidRange|\b416\b|Invalid range|not satisfiable", re.IGNORECASE)

_pool: ThreadPoolExecutor | None = None
_pool_lock = threading.Lock()
# Whether this process has asked a store, and whether it is the child of one that had.
_is_used = _is_orphan = False


def _threads() -> ThreadPoolExecutor:
    """The threads that read ahead, those of all files together."""
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(2 * _MOST_AHEAD, "kodec-store")
        return _pool


@lru_cache(maxsize=64)
def object_storage(scheme: str, bucket: str, s3: S3Settings | None = None) -> ObjectStorage:
    """The storage of a bucket, a container or a host; one for all of a process.

    Args: s3 gives settings of a bucket, before those of the environment.

    Raises: MissingDependency; ValueError where the environment's settings cannot be used.
    """
    global _is_used
    if _is_orphan:
        reason = "a forked process cannot use its parent's connections: start it by spawn or forkserver"
        raise OSError(errno.ENOTSUP, reason, f"{scheme}://{bucket}")
    try:
        storage = ObjectStorage(_store(scheme, bucket, s3), f"{scheme}://{bucket}")
        _is_used = True
        return storage
    except ImportError as error:
        if isinstance(error, MissingDependency):
            raise
        raise MissingDependency(f"object stores are read with obstore: {install_command('store')}") from error


def _forget() -> None:
    """After a fork: threads and connections are the parent's, and obstore would wait for them without end."""
    global _pool, _pool_lock, _is_orphan
    _pool, _pool_lock, _is_orphan = None, threading.Lock(), _is_orphan or _is_used
    object_storage.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _store(scheme: str, bucket: str, s3: S3Settings | None) -> ObjectStore:
    """The store, with the credentials and the settings that its own tools take from the environment."""
    from obstore import store

    if scheme in ("http", "https"):
        client: ClientConfig = {**_CLIENT, **_only(_host_of(f"//{bucket}")), "allow_http": scheme == "http"}
        return store.HTTPStore(f"{scheme}://{bucket}", client_options=client, retry_config=_RETRIES)
    if scheme == "gs":
        plain = _is_plain("GOOGLE_BASE_URL")
        client = {**_CLIENT, **_only(*_GOOGLE, *_named("GOOGLE_", "GCE_METADATA_")), "allow_http": plain}
        return store.GCSStore(bucket, client_options=client, retry_config=_RETRIES)
    if scheme == "az":
        plain = _is_plain("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT")
        emulator = ["127.0.0.1"] if os.environ.get("AZURE_STORAGE_USE_EMULATOR") else []
        hosts = [*_AZURE, *_named("AZURE_", "AZURITE_", "IDENTITY_"), *emulator]
        client = {**_CLIENT, **_only(*hosts), "allow_http": plain}
        return store.AzureStore(bucket, client_options=client, retry_config=_RETRIES)
    config: S3Config = {} if s3 is None else cast("S3Config", s3(bucket))
    if (endpoint := os.environ.get("AWS_ENDPOINT_URL_S3")) and "endpoint" not in config:
        config["endpoint"] = endpoint
    named = config.get("endpoint") or next(
        filter(None, map(os.environ.get, ("AWS_ENDPOINT_URL", "AWS_ENDPOINT"))), _AWS
    )
    allowed = [_host_of(named)]
    if not ("access_key_id" in config or os.environ.get("AWS_ACCESS_KEY_ID")):
        # others are asked for credentials
        allowed += [*_AWS_CREDENTIALS, *_named("AWS_")]
    is_plain = config.get("endpoint", "").startswith("http://")
    plain = is_plain or _is_plain("AWS_ENDPOINT_URL", "AWS_ENDPOINT")
    client = {**_CLIENT, **_only(*allowed), "allow_http": plain}
    if bundle := os.environ.get("AWS_CA_BUNDLE"):
        # beside those of the system, which SSL_CERT_FILE replaces for every store
        client["root_certificate"] = Path(bundle).read_bytes()
    return store.S3Store(
        bucket,
        config=config,
        client_options=client,
        retry_config=_RETRIES,
        credential_provider=None if "access_key_id" in config else _of_a_profile(),
    )


def _only(*hosts: str | None) -> ClientConfig:
    """What keeps a client from hosts but these and those below them: a server may redirect it to another, as
    to one of this network, and it would send there what it sends itself, but for `Authorization`.

    obstore follows redirects, and has no setting for that: requests for others get a proxy that is none.
    Where the environment has a proxy of its own, that decides.
    """
    if any(urllib.request.getproxies().get(kind) for kind in ("http", "https", "all")):
        return {}
    return {"proxy_url": _NO_PROXY, "proxy_excludes": ",".join(filter(None, hosts))}


def _host_of(url: str) -> str | None:
    """The host in a URL; None for none."""
    try:
        return urllib.parse.urlsplit(url).hostname
    except ValueError:
        # obstore refuses it, with a reason
        return None


def _named(*starts: str) -> list[str]:
    """The hosts that the environment names, in URLs or, of metadata servers, alone, in variables that begin
    so."""
    values = {name: value for name, value in os.environ.items() if name.startswith(starts)}
    urls = (f"//{value}" if name.startswith("GCE_") else value for name, value in values.items())
    return [host for url in urls if (host := _host_of(url)) is not None]


# Gives credentials to machines of all three.
_METADATA = "169.254.169.254"
_AWS = "https://amazonaws.com"  # and hosts below it
_AWS_CREDENTIALS = ("amazonaws.com", _METADATA, "169.254.170.2")
_GOOGLE = ("googleapis.com", "accounts.google.com", "metadata.google.internal", _METADATA)
_AZURE = ("core.windows.net", "fabric.microsoft.com", "login.microsoftonline.com", _METADATA)
# A port on which nothing listens: a connection fails at once.
_NO_PROXY = "http://127.0.0.1:1"
# How an error has it.
_REFUSED = "127.0.0.1:1,"


def _is_plain(*names: str) -> bool:
    """Whether the environment names an endpoint without TLS, as those of emulators are, or allows any."""
    return any(os.environ.get(name, "").startswith("http://") for name in names) or (
        os.environ.get("AWS_ALLOW_HTTP", "").lower() == "true"
    )


def _of_a_profile() -> Any:
    """What asks boto3 for the credentials of AWS_PROFILE; None where none is chosen."""
    if not os.environ.get("AWS_PROFILE") or os.environ.get("AWS_ACCESS_KEY_ID"):
        return None
    try:
        from obstore.auth.boto3 import Boto3CredentialProvider
    except ImportError as error:
        raise MissingDependency("AWS_PROFILE is read with boto3: pip install boto3") from error
    return Boto3CredentialProvider()


# -- errors ---------------------------------------------------------------------------------------


_CODE = re.compile(r"<Code>([^<]{1,80})</Code>")
_MESSAGE = re.compile(r"<Message>([^<]{1,200})")
# What follows `?` may be a signature.
_QUERY = re.compile(r"\?[^\s\"')]*")
# Why no connection was made: of the system, of names, of TLS.
_CAUSE = re.compile(r'\b(?:message|error): "([^"]{1,120})"|\b(Invalid(?:Certificate|Message)\(\s*\w+)')


def _reason(error: BaseException) -> str:
    """Why, in a line: the server's message, and never a signature or a key."""
    text, _, details = str(error).partition("\n\nDebug source")
    code = _CODE.search(text)
    if code is not None:
        message = _MESSAGE.search(text)
        return code[1] if message is None else f"{code[1]}: {message[1].strip()}"
    if _REFUSED in details:
        return "it leads to a host that is not asked: docs/security.md has those that are"
    first = text.strip().split("\n", 1)[0]
    reason = _QUERY.sub("?...", first)[:_MOST_OF_A_REASON]
    cause = _CAUSE.search(details)
    if cause is None:
        return reason
    return f"{reason}: {cause[1] or ''.join(cause[2].split()) + ')'}"


@contextmanager
def _translated(path: Path, position: int = 0, known: Status | None = None) -> Iterator[None]:
    """Raise what the store says as an OSError that names the path.

    That an object which was there has gone is no FileNotFoundError: whoever gets one goes on without it.
    """
    from obstore import exceptions

    try:
        yield
    except FileNotFoundError as error:
        if _NO_BUCKET.search(str(error)):
            raise not_found(path, f"no such bucket: {_reason(error)}") from None
        if known is None:
            raise not_found(path) from None
        raise ReadFailed(
            "the object has gone since it was listed or opened", errno.ESTALE, position, str(path)
        ) from None
    except ArgumentError:
        # of a name that is none; it is a ValueError
        raise
    except exceptions.PreconditionError:
        raise _changed(path, position) from None
    except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
        raise ReadFailed(f"access is denied: {_reason(error)}", errno.EACCES, position, str(path)) from None
    except exceptions.NotSupportedError as error:
        raise ReadFailed(_reason(error), errno.ENOTSUP, position, str(path)) from None
    except (exceptions.BaseError, ValueError) as error:
        if _NO_BUCKET.search(str(error)):
            raise not_found(path, f"no such bucket: {_reason(error)}") from None
        if _DENIED.search(str(error)):
            raise ReadFailed(
                f"access is denied: {_reason(error)}", errno.EACCES, position, str(path)
            ) from None
        raise ReadFailed(_reason(error), errno.EIO, position, str(path)) from None


def _changed(path: Path, position: int) -> ReadFailed:
    reason = "the object has changed since it was listed or opened"
    return ReadFailed(reason, errno.ESTALE, position, str(path))


def _status(meta: ObjectMeta) -> Status:
    # Azure's listings have it without quotes, its answers with them. A weak one identifies no bytes.
    tag = meta["e_tag"]
    known = None if tag is None or tag.startswith("W/") else tag.strip('"')
    return Status(meta["size"], _nanoseconds(meta["last_modified"]), known)


def _nanoseconds(time: datetime) -> int:
    since = time - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86400 + since.seconds) * 10**9 + since.microseconds * 1000


# -- a bucket -------------------------------------------------------------------------------------


class ObjectStorage(Files):
    """A bucket, a container, or a web server: what `Bucket` asks. Its methods are those of `Files`."""

    def __init__(self, store: ObjectStore, name: str) -> None:
        self._store = store
        self._name = name
        # what was found of the last scan: a store that is slow is so for the next object too
        self.most_ahead = _LEAST_AHEAD
        self._begun: OrderedDict[str, ObjectFile] = OrderedDict()
        # The objects that were opened since those before them were: these need not be begun.
        self.opened: set[str] = set()
        # An object that the collector frees while its thread holds the lock is dropped under it too.
        self._begun_lock = threading.RLock()

    def __repr__(self) -> str:
        # not the store's, which has its settings
        return f"<ObjectStorage {self._name}>"

    def _path(self, folder: Path, key: str) -> StorePath | None:
        """The path of a name in a listing; None where it is not in the folder."""
        name = key.rstrip("/").rsplit("/", 1)[-1]
        if name in ("", ".", ".."):
            return None
        return cast(StorePath, folder / name)

    def _list(self, folder: Path) -> list[Entry]:
        folder_path, looks = cast(StorePath, folder), listings_of(folder)
        if looks is not None and folder in looks:
            return looks[folder]
        try:
            with _translated(folder):
                listing = self._listing(folder_path.key or None)
        except ReadFailed as error:
            if cast(Bucket, folder_path.files).scheme not in ("http", "https") or error.errno not in (
                errno.EIO,
                errno.ENOTSUP,
            ):
                raise
            # but for those that speak WebDAV
            reason = "this web server lists no folders: name a file"
            raise OSError(errno.ENOTSUP, reason, str(folder)) from None
        listed: list[Entry] = []
        for prefix in listing["common_prefixes"]:
            if (path := self._path(folder, prefix)) is not None:
                listed.append(Listed(path, None))
        for meta in listing["objects"]:
            if (path := self._path(folder, meta["path"])) is not None:
                status = _status(meta)
                listed.append(Listed(path.seen(status), status))
        if looks is not None:
            looks[folder] = listed
        return listed

    def _listing(self, key: str | None) -> ListResult[Sequence[ObjectMeta]]:
        from obstore.exceptions import BaseError

        backoff = _RETRIES["backoff"]
        pause = backoff["init_backoff"].total_seconds()
        until = time.monotonic() + _RETRIES["retry_timeout"].total_seconds()
        for tries_left in reversed(range(_RETRIES["max_retries"] + 1)):
            try:
                return self._store.list_with_delimiter(key)
            except BaseError as error:
                if not tries_left or time.monotonic() > until or not _CUT_LISTING.search(str(error)):
                    raise
            time.sleep(pause)
            pause = min(pause * backoff["base"], backoff["max_backoff"].total_seconds())
        raise AssertionError

    def entries(self, folder: Path) -> AbstractContextManager[Iterator[Entry]]:
        listing = self._list(folder)
        if any(entry.name == UNFINISHED for entry in listing):
            reason = f"not all was written to it, as {UNFINISHED} in it shows: delete and write it again"
            raise ReadFailed(reason, errno.EBUSY, 0, str(folder))
        if not listing and cast(StorePath, folder).key:
            try:
                self.status(folder)
            except FileNotFoundError:
                raise not_found(folder, "no object has a name below it") from None
            raise NotADirectoryError(errno.ENOTDIR, "an object, not a folder", str(folder))
        return nullcontext(iter(listing))

    def is_folder(self, path: Path) -> bool:
        try:
            return bool(self._list(path)) or not cast(StorePath, path).key
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno == errno.ENOTSUP:
                return False
            raise

    def status(self, path: Path) -> Status:
        with _translated(path):
            return _status(self._store.head(_key(path)))

    def open(self, path: Path) -> BinaryIO:
        store_path = cast(StorePath, path)
        with self._begun_lock:
            self.opened.add(store_path.key)
            if store_path.following is not None:
                self.opened.discard(store_path.following.key)
            parts = self._begun.pop(store_path.key, None)
        if parts is None or parts.known != store_path.listed:
            parts = ObjectFile(self, store_path)
        return cast(BinaryIO, parts)

    def begin(self, path: StorePath, count: int) -> None:
        """Ask for the first ranges of an object that will be opened soon; what is begun too early goes."""
        if path.listed is None:
            return
        with self._begun_lock:
            parts = self._begun.get(path.key)
            if parts is None:
                parts = self._begun[path.key] = ObjectFile(self, path)
                if len(self._begun) > _MOST_BEGUN:
                    self._begun.popitem(last=False)[1].close()
            parts.read_ahead(0, count)

    def drop(self, path: StorePath) -> None:
        """What was begun is not needed."""
        with self._begun_lock:
            parts = self._begun.pop(path.key, None)
        if parts is not None:
            parts.close()

    def create(self, path: Path, data: bytes | Path) -> None:
        from obstore import exceptions

        try:
            with _translated(path):
                if isinstance(data, Path) and data.stat().st_size > AT_ONCE:
                    self._create_in_parts(path, data)
                else:
                    self._store.put(_key(path), data, mode="create", use_multipart=False)
        except ReadFailed as error:
            if isinstance(error.__context__, exceptions.AlreadyExistsError):
                raise FileExistsError(errno.EEXIST, "there is such an object", str(path)) from None
            raise OSError(error.errno, f"cannot be written: {error.strerror}", str(path)) from None

    def _create_in_parts(self, path: Path, data: Path) -> None:
        """What is too large for memory: stores make such an object whole too, but none makes it only where
        there is no other. Who writes where others may has a mark there that only one can make.
        """
        try:
            self.status(path)
        except FileNotFoundError:
            self._store.put(_key(path), data, use_multipart=True, chunk_size=PART, max_concurrency=_PARTS)
            if (now := self.status(path).size) != data.stat().st_size:
                reason = f"{now} bytes are there of {data.stat().st_size}"
                raise ReadFailed(reason, errno.EIO, 0, str(path)) from None
        else:
            raise FileExistsError(errno.EEXIST, "there is such an object", str(path))

    def remove(self, path: Path) -> None:
        try:
            with _translated(path):
                self._store.delete(_key(path))
        except ReadFailed as error:
            raise OSError(error.errno, f"cannot be deleted: {error.strerror}", str(path)) from None

    def range(self, path: Path, start: int, end: int, known: Status | None) -> tuple[Status, memoryview]:
        """The bytes from `start` up to `end`, or where the object ends, and what the object is.

        Raises ReadFailed where it is another one than is known; FileNotFoundError where nothing is.
        """
        options: dict[str, Any] = {"range": (start, end)}
        if known is not None and known.tag is not None:
            options["if_match"] = f'"{known.tag}"'
        with _translated(path, start, known):
            result: GetResult = self._store.get(_key(path), options=options)  # type: ignore[arg-type]
            status = _status(result.meta)
            data = memoryview(result.bytes())
        if known is not None and not _is_same(known, status):
            raise _changed(path, start)
        if result.range[0] != start or len(data) != min(end, status.size) - start:
            reason = f"{len(data)} bytes were received of {min(end, status.size) - start}"
            raise ReadFailed(reason, errno.EIO, start, str(path))
        return status, data


def _key(path: Path) -> str:
    key = cast(StorePath, path).key
    if not key:
        raise not_found(path, "a bucket, not an object")
    return key


def _is_same(known: Status, now: Status) -> bool:
    """Whether an object is the one that is known: by its tag, where both have one."""
    if known.size != now.size:
        return False
    if known.tag is not None and now.tag is not None:
        return known.tag == now.tag
    return known.modified // 10**9 == now.modified // 10**9


# -- an object ------------------------------------------------------------------------------------


class ObjectFile(PositionedFile):
    """An object as a file. For one thread at a time, as files with a position are.

    Raises, when it is made, as `Storage.open`; reading raises ReadFailed where a request fails.
    """

    def __init__(self, storage: ObjectStorage, path: StorePath) -> None:
        super().__init__()
        self.name = str(path)
        self._storage = storage
        self._path = path
        self._held = memoryview(b"")
        self._held_at = 0
        self._ahead: deque[tuple[int, int, Future[memoryview]]] = deque()
        self._has_begun = False
        self._whole = INDEX_WHOLE if path.suffix in _INDEXES else WHOLE
        if path.listed is not None:
            self._known = path.listed
            return
        # One request returns its size and its first bytes, or that it is missing.
        try:
            self._known, self._held = storage.range(path, 0, self._whole, None)
        except ReadFailed as error:
            # of an object without a byte there is no range
            if not _NO_RANGE.search(error.strerror or "") or (status := storage.status(path)).size:
                raise
            self._known = status

    @property
    def known(self) -> Status:
        """What the object is."""
        return self._known

    def again(self) -> ObjectFile:
        """The same content as another file, with a position of its own."""
        return ObjectFile(self._storage, self._path.seen(self._known))

    @property
    def size(self) -> int:  # type: ignore[override]
        return self._known.size

    def readinto(self, buffer: Buffer) -> int:
        """Fill the buffer with what follows; fewer bytes only at the end."""
        if self.closed:
            raise ValueError("the file is closed")
        view = memoryview(buffer).cast("B")
        count = 0
        while count < len(view) and self._at < self._known.size:
            part = self._part(len(view) - count)
            view[count : count + len(part)] = part
            count += len(part)
            self._at += len(part)
        return count

    def _bytes_at(self, position: int, size: int) -> bytes:
        parts = [bytes(self._part(size))]
        count = len(parts[0])
        while count < size:
            self._at = position + count
            parts.append(bytes(self._part(size - count)))
            count += len(parts[-1])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def view(self, size: int) -> memoryview:
        """At most `size` bytes at the position, not copied: those in memory, else those of a request.

        For whoever reads on: fewer only where a range ends. Raises ReadFailed.
        """
        return self._part(size) if self._at < self._known.size else memoryview(b"")

    def _part(self, size: int) -> memoryview:
        """Some of the bytes at the position: at least one, at most `size`."""
        if not self._held_at <= self._at < self._held_at + len(self._held):
            self._fetch(size)
        start = self._at - self._held_at
        return self._held[start : start + size]

    def _fetch(self, size: int) -> None:
        position, end = self._at, self._known.size
        # Lookups ask for less than a scan's window.
        reads_on = size >= WHOLE or (len(self._held) > 0 and position == self._held_at + len(self._held))
        self._held = memoryview(b"")
        while self._ahead and self._ahead[0][0] != position:
            self._ahead.popleft()[2].cancel()
        if self._ahead:
            _, stop, future = self._ahead.popleft()
            most = self._storage.most_ahead
            if not future.done():
                # the store, not the reader, takes the time
                self._storage.most_ahead = min(most + 1, _MOST_AHEAD)
            elif len(self._ahead) + 1 == most and all(part[2].done() for part in self._ahead):
                self._storage.most_ahead = max(most - 1, _LEAST_AHEAD)
            self._read_on(stop)
            data = future.result()
        elif end <= self._whole and not (self._whole == INDEX_WHOLE and end - position <= _LOOK < position):
            # but for the end of a large index, which alone shows its last entry
            position, data = 0, self._get(0, end)
        else:
            stop = min(end, position + max(size, AHEAD if reads_on else _LOOK))
            if reads_on:
                self._read_on(stop)
            data = self._get(position, stop)
        self._held, self._held_at = data, position

    def _read_on(self, pos: int) -> None:
        """Have what follows from `pos` on asked for; at the end of the object that of the following one."""
        most = self._storage.most_ahead
        pos = self.read_ahead(pos, most)
        following = self._path.following
        if pos < self._known.size or following is None or following.key in self._storage.opened:
            return
        if most > len(self._ahead):
            self._has_begun = True
            self._storage.begin(following, most - len(self._ahead))

    def read_ahead(self, pos: int, most: int) -> int:
        """Have ranges asked for, from `pos` or after those under way, until `most` are; where they end."""
        if self._ahead:
            pos = self._ahead[-1][1]
        while len(self._ahead) < most and pos < self._known.size:
            stop = min(pos + AHEAD, self._known.size)
            self._ahead.append((pos, stop, _threads().submit(self._get, pos, stop)))
            pos = stop
        return pos

    def _get(self, start: int, end: int) -> memoryview:
        return self._storage.range(self._path, start, end, self._known)[1]

    def close(self) -> None:
        while self._ahead:
            self._ahead.popleft()[2].cancel()
        following = self._path.following
        # one that could not be opened has not begun
        if self._has_begun and following is not None and self._held_at + len(self._held) < self._known.size:
            self._storage.drop(following)
        self._has_begun = False
        self._held = memoryview(b"")
        super().close()
