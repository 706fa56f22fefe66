"""Excludes concurrent writers: the lock of a running broker, and claims on logs within this process.

There are two locks. The lock of the log directory (`.lock` of an entry of `log.dirs`) keeps other processes
out, brokers too. A process takes it once, for all writers below that directory, and releases it with the
last of them. The claim of one topic-partition excludes other writers of the same process. A directory is
identified by its device and inode, so links and other spellings of a path do not create a second lock.

Kafka takes a POSIX record lock, which belongs to a process: it is lost when that process closes any
descriptor of the file, and a child does not have it. So where the system has them (Linux), the lock here is
that of an open file description (`F_OFD_SETLK`): it excludes POSIX locks of other processes and is excluded
by them, but only closing that very description ends it. A child made by fork has the description too; it
closes its own copy at once and holds nothing, so it outlives the parent without keeping the lock. Where the
system has no such locks (macOS), a POSIX lock is taken, and taken again before written data is declared
durable (`RootLock.confirm`): this detects a loss if another process has taken it meanwhile.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kodec.log.files.descriptors import require_regular
from kodec.log.files.durable import create_file
from kodec.log.files.listing import parse_segment_name
from kodec.log.files.names import LOCK
from kodec.runtime.system import BINARY, CLOEXEC, NOFOLLOW, require_posix
from kodec.stores.storage import StorePath, path_of

try:
    # Imported here: a lock may be released at interpreter exit, when imports fail.
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["RootLock", "claimed", "is_locked", "locked", "locked_staging"]


_Identity = tuple[int, int]


class RootLock:
    """The lock of a log directory, held by this process for all its writers there.

    Attributes:
        path: of the log directory, as first given.
        claims: how many claims were made while the lock was held, including ended ones.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.claims = 0
        self._users: set[object] = set()
        self._claimed: dict[_Identity, tuple[object, int]] = {}
        self._pid = os.getpid()
        # The folder stays open, so that its inode is not reused.
        self._folder = self._file = -1
        # Whether this made the lock's file, and whether it is to stay.
        self._made = self._stays = False

    def __repr__(self) -> str:
        return f"<RootLock {self.path}>"

    @contextmanager
    def claim(self, folder: str | os.PathLike[str]) -> Iterator[None]:
        """Claim an existing folder as its only writer in this process.

        Raises: BlockingIOError if another has claimed it; OSError.
        """
        token = object()
        try:
            with _mutex:
                self._claim(Path(folder), token)
            yield
        finally:
            with _mutex:
                self._unclaim(token)

    def _claim(self, folder: Path, token: object) -> None:
        fd = os.open(folder, os.O_RDONLY)
        try:
            identity = _identity(fd)
            if identity in self._claimed:
                raise BlockingIOError(errno.EAGAIN, "in use: this process writes it already", str(folder))
            self._claimed[identity] = token, os.dup(fd)
            self.claims += 1
        finally:
            os.close(fd)

    def _unclaim(self, token: object) -> None:
        for identity, (owner, fd) in list(self._claimed.items()):
            if owner is token:
                del self._claimed[identity]
                os.close(fd)

    def confirm(self) -> None:
        """Check that the lock is still held.

        Raises: BlockingIOError if it was lost: the file was removed or replaced, or, if the system has
        only POSIX locks, a descriptor of it was closed in this process and another has taken it since.
        """
        if not self._is_in_place():
            reason = "the lock was lost: its file was removed or replaced"
            raise BlockingIOError(errno.EAGAIN, reason, str(self.path / LOCK))
        _lock(self._file, self.path / LOCK)

    def _is_in_place(self) -> bool:
        try:
            status = os.stat(LOCK, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return (status.st_dev, status.st_ino) == _identity(self._file)

    def _acquire(self, folder: int) -> None:
        self._folder = os.dup(folder)
        while True:
            self._file, self._made = _open_lock(self._folder, self.path)
            _lock(self._file, self.path / LOCK)
            if self._is_in_place():
                return
            # Whoever held it has removed the file that it had made.
            os.close(self._file)
            self._file = -1

    def _let_go(self) -> None:
        if self._file >= 0 and os.getpid() == self._pid:
            if self._made and not self._stays:
                with suppress(OSError):
                    if self._is_in_place():
                        os.unlink(LOCK, dir_fd=self._folder)
            # Closing is not enough where a child has the description too.
            _unlock(self._file)
        fds = [self._file, self._folder, *(fd for _, fd in self._claimed.values())]
        self._file = self._folder = -1
        self._claimed.clear()
        for fd in fds:
            if fd >= 0:
                os.close(fd)


_held: dict[_Identity, RootLock] = {}
# One thread may come in again: a signal handler, or a generator that is collected.
_mutex = threading.RLock()


def _identity(fd: int) -> _Identity:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


def _require_file(status: os.stat_result, root: Path) -> None:
    """Refuse files on which opening would block; a symbolic link is refused when opened."""
    if not stat.S_ISLNK(status.st_mode):
        require_regular(status, root / LOCK)


def _open_lock(folder: int, path: Path) -> tuple[int, bool]:
    """The lock's file, and whether it was created here."""
    is_new = False
    flags = os.O_RDWR | CLOEXEC | NOFOLLOW
    while True:
        try:
            _require_file(os.stat(LOCK, dir_fd=folder, follow_symlinks=False), path)
            return os.open(LOCK, flags, dir_fd=folder), is_new
        except FileNotFoundError:
            with os.scandir(folder) as entries:
                if any(parse_segment_name(entry.name) is not None for entry in entries):
                    raise ValueError(
                        f"{path}: holds segments, so it is not a log directory: lock its parent"
                    ) from None
        try:
            os.close(create_file(LOCK, folder=folder))
            is_new = True
        except FileExistsError:
            continue


def _lock(fd: int, path: Path) -> None:
    """Take the lock, or find that it is held already."""
    try:
        if not _description_lock(fd, fcntl.F_WRLCK):
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        reason = "in use: a broker, or another program that writes, holds the lock"
        raise BlockingIOError(error.errno, reason, str(path)) from None


def _unlock(fd: int) -> None:
    if not _description_lock(fd, fcntl.F_UNLCK):
        fcntl.lockf(fd, fcntl.LOCK_UN)


def _description_lock(fd: int, kind: int) -> bool:
    """Set a lock of the open file description; return whether the system and the file system support them."""
    command = getattr(fcntl, "F_OFD_SETLK", None)
    if command is None:
        return False
    try:
        # struct flock: the whole file; the process id must be 0.
        fcntl.fcntl(fd, command, struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 0, 0))
    except OSError as error:
        if error.errno == errno.EINVAL:
            return False
        raise
    return True


def is_locked(root: str | os.PathLike[str]) -> bool:
    """Whether a broker or another program writes to a log directory; takes no lock.

    Only on Linux. Raises OSError, but not for a missing lock file.
    """
    if isinstance(path_of(root), StorePath):
        # no broker writes into an object store
        return False
    # Asked before the file is opened: if this process holds a POSIX lock, closing the file loses it.
    if not hasattr(fcntl, "F_OFD_SETLK"):
        return False
    status = Path(root).stat()
    with _mutex:
        if (status.st_dev, status.st_ino) in _held:
            return True
    try:
        _require_file((Path(root) / LOCK).lstat(), Path(root))
        fd = os.open(Path(root) / LOCK, os.O_RDONLY | CLOEXEC | NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        request = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, *_ = struct.unpack("hhqqi4x", fcntl.fcntl(fd, fcntl.F_GETLK, request))
        return bool(kind != fcntl.F_UNLCK)
    finally:
        os.close(fd)


def _take(root: Path, token: object, stays: bool) -> RootLock:
    folder = os.open(root, os.O_RDONLY)
    try:
        identity = _identity(folder)
        held = _held.get(identity)
        if held is not None and not held._users:
            # Left by an exception between taking and releasing.
            held._let_go()
            held = None
        if held is None:
            held = _held[identity] = RootLock(root)
            # First, so that it is released whatever comes between.
            held._users.add(token)
            held._acquire(folder)
        held._users.add(token)
        held._stays |= stays
        return held
    finally:
        os.close(folder)


def _release(token: object) -> None:
    # A copy: the collector may release another lock while this goes through them.
    for identity, held in _held.copy().items():
        held._users.discard(token)
        if not held._users:
            held._let_go()
            _held.pop(identity, None)


@contextmanager
def locked(root: str | os.PathLike[str], *, stays: bool = True) -> Iterator[RootLock]:
    """Hold the lock of an entry of `log.dirs` that exists; reentrant within a process.

    A broker takes the same one. Its file, `.lock`, is created if missing, with the owner of the
    folder. With `stays` it stays, as a broker leaves it; otherwise a file created here is removed. Code that
    writes a log also claims it: see `claimed`.

    Raises: BlockingIOError if a broker or another process holds it; ValueError for a folder without the
    file that holds segments: that of a topic-partition; OSError, also where the system is not POSIX.
    Source: org.apache.kafka.server.util.FileLock.
    """
    require_posix(root)
    token = object()
    try:
        with _mutex:
            held = _take(Path(root), token, stays)
        yield held
    finally:
        with _mutex:
            _release(token)


@contextmanager
def locked_staging(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder that no broker knows: of a job's output that is not whole yet.

    On Windows it is a lock of Windows. An open file cannot be deleted there, so the lock's file goes last,
    and with it a folder that holds nothing else.

    Raises: BlockingIOError where another process holds it; OSError.
    """
    if fcntl is not None:
        with locked(folder):
            yield
        return
    import msvcrt

    fd = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | BINARY)
    try:
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(errno.EAGAIN, "in use: another job holds the lock", str(folder)) from error
        yield
    finally:
        os.close(fd)
        with suppress(OSError):
            (folder / LOCK).unlink()
            folder.rmdir()


@contextmanager
def claimed(folder: str | os.PathLike[str]) -> Iterator[RootLock]:
    """Be the only writer of the log of an existing topic-partition's folder, across all processes.

    Holds the lock of its log directory, and the claim of the folder within the process.

    Raises: BlockingIOError if a broker, another process, or another part of this one writes there;
    OSError.
    """
    path = Path(folder).absolute()
    with locked(path.parent) as root, root.claim(path):
        yield root


def _forget_after_fork() -> None:
    """A child holds nothing: the lock stays with the parent, and ends with it."""
    global _mutex
    _mutex = threading.RLock()
    for held in _held.values():
        held._let_go()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
