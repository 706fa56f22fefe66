"""Lets the calls to the system fail as a disk lets them fail, one at a time, and knows what is on the disk.

`with Faults(at=7, error=errno.EIO) as faults:` lets the call number 7 (from 0) of those that are counted fail
with EIO; `faults.made` lists all that were made, in order. A write that fails has written half of its bytes
before, as one does that meets the end of the space. `fsync` is only noted, not done: with `root`, a `Disk`
knows what of that folder would be on the disk, and `faults.lose()` is the end of the machine.

What goes through `os` is seen: `pathlib`, `shutil` and the code of the log do. What opens a file for writing
past it, as `open` does, fails the test: see `_watch`. Reading is left alone.
"""

from __future__ import annotations

import errno
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, NoReturn, Self

from kodec.log.files import durable, fingerprint

from .disk import Disk, Identity

CALLS = (
    "open",
    "write",
    "pwrite",
    "fsync",
    "fdatasync",
    "ftruncate",
    "truncate",
    "rename",
    "replace",
    "unlink",
    "remove",
    "mkdir",
    "rmdir",
    "fchown",
    "fchmod",
    "utime",
    "exchange",
)
# What the model does not know: who begins to use one of these has to add it.
UNKNOWN = ("link", "symlink", "writev", "pwritev", "sendfile", "copy_file_range", "splice")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Call(NamedTuple):
    """A call: its name and the name of the file it was for, "" if that is unknown."""

    name: str
    file: str


class Faults:
    """Counts calls, and lets one fail.

    Args:
        at: the number of the call that fails, from 0; None: none does.
        error: the error number that it fails with.
        calls: which are counted.
        forever: each later call of the same name fails too, as on a full disk.
        short: a write that is to fail does not: it writes a part and reports it.
        root: the folder of which the disk is to be known.
        disk: the same, as known already.
        dies: called in the place of an error: it does not return, as the process ends there.
        meets: called before the call, which does not fail then.
        full: the disk is full: no write succeeds until a file that holds something was removed.
        lies: lets some fsyncs succeed that did nothing.
        chance: what the system is free to do.
    """

    _current: Faults | None = None

    def __init__(
        self,
        at: int | None = None,
        error: int = errno.EIO,
        *,
        calls: tuple[str, ...] = CALLS,
        forever: bool = False,
        short: bool = False,
        root: Path | None = None,
        disk: Disk | None = None,
        dies: Callable[[], NoReturn] | None = None,
        meets: Callable[[], None] | None = None,
        full: bool = False,
        lies: Callable[[], bool] = lambda: False,
        chance: random.Random | None = None,
    ) -> None:
        self.made: list[Call] = []
        self.failed: Call | None = None
        self.disk = disk if root is None else Disk(root)
        self._at = at
        self._error = error
        self._calls = calls
        self._forever = forever
        self._short = short
        self._dies = dies
        self._meets = meets
        self.full = full
        self._lies = lies
        self._chance = random.Random(0) if chance is None else chance
        self._real: dict[str, Callable[..., Any]] = {}
        self._names: dict[int, str] = {}
        self._reread: dict[tuple[int, ...], tuple[int, int, int, int, int, int]] = {}
        self._inside = False

    def __enter__(self) -> Self:
        for name in (*CALLS, *UNKNOWN, "posix_fadvise"):
            if hasattr(os, name):
                self._real[name] = getattr(os, name)
                wrapped = self._wrapped(name) if name in CALLS else getattr(self, f"_{name}", _unknown(name))
                # shutil asks there what a function can do.
                for able in (os.supports_dir_fd, os.supports_follow_symlinks, os.supports_fd):
                    if self._real[name] in able:
                        able.add(wrapped)
                setattr(os, name, wrapped)
        self._swap = durable._swap
        durable._swap = self._exchange
        identity = self._identity = fingerprint._identity
        fingerprint._identity = lambda status: self._reread.get(found := identity(status), found)
        _watch()
        Faults._current = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        Faults._current = None
        for name, real in self._real.items():
            setattr(os, name, real)
        durable._swap = self._swap
        fingerprint._identity = self._identity

    def lose(self, chance: random.Random | None = None) -> None:
        """The machine goes down: what no fsync that succeeded has covered is gone, or, by chance, some of it.

        No calls fail from here on.
        """
        assert self.disk is not None, "made without `root`"
        if Faults._current is self:
            self.__exit__(None, None, None)
        self.disk.crash(chance)

    # -- a call -------------------------------------------------------------------------------------

    def _wrapped(self, name: str) -> Callable[..., Any]:
        real, note = self._real[name], getattr(self, f"_note_{name.removeprefix('p')}", None)

        def call(*given: Any, **named: Any) -> Any:
            first = given[0]
            file = self._names.get(first, "") if isinstance(first, int) else os.path.basename(first)  # noqa: PTH119  # str or bytes
            self._inside = True
            try:
                if self.full and name in ("write", "pwrite"):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), file)
                if name in ("unlink", "remove") and _is_there(first, named.get("dir_fd")):
                    self.full &= not os.stat(first, dir_fd=named.get("dir_fd"), follow_symlinks=False).st_size
                due = name in self._calls and self._is_due(name, file)
                if due and self._meets is not None:
                    self._meets()
                elif due:
                    if name in ("write", "pwrite"):
                        done = self._half(real, given)
                        if self._short and done:
                            return done
                    if not self._short:
                        if self._dies is not None:
                            self._dies()
                        if name in ("fsync", "fdatasync") and self.disk is not None:
                            self.disk.failed(_of(first))
                        raise OSError(self._error, os.strerror(self._error), file)
                if name in ("fsync", "fdatasync"):
                    os.fstat(first)
                    if self.disk is not None and not self._lies():
                        self.disk.synced(_of(first))
                    return None
                finish = None if note is None or self.disk is None else note(self.disk, given, named)
                result = real(*given, **named)
                if name == "open":
                    self._names[result] = file
                if finish is not None:
                    finish(result)
                return result
            finally:
                self._inside = False

        return call

    def _exchange(self, one: bytes, other: bytes) -> int:
        """In the place of what `exchange` asks the system for."""
        if "exchange" in self._calls and self._is_due("exchange", os.fsdecode(os.path.basename(one))):  # noqa: PTH119
            if self._dies is not None:
                self._dies()
            return self._error
        names = [_place(os.fsdecode(each), None) for each in (one, other)]
        nodes = [_of(os.fsdecode(each)) for each in (one, other)]
        error = self._swap(one, other)
        if not error and self.disk is not None:
            (around, first), (also, second) = names
            assert around == also, "exchanges between folders are not modelled"
            self.disk.exchanged(around, first, second, *nodes)
        return error

    def _is_due(self, name: str, file: str) -> bool:
        number = len(self.made)
        self.made.append(Call(name, file))
        if number == self._at:
            self.failed = self.made[-1]
            return True
        return self._forever and self.failed is not None and self.failed.name == name

    def _half(self, real: Callable[..., Any], given: tuple[Any, ...]) -> int:
        half = bytes(given[1][: len(given[1]) // 2])
        if not half:
            return 0
        at = given[2] if len(given) > 2 else os.lseek(given[0], 0, os.SEEK_CUR)
        done: int = real(given[0], half, *given[2:])
        if self.disk is not None:
            self.disk.wrote(_of(given[0]), at, half[:done])
        return done

    # -- what the disk is given: before a call, and, by what each returns, after it --------------------

    @staticmethod
    def _note_open(disk: Disk, given: tuple[Any, ...], named: dict[str, Any]) -> Callable[[Any], None]:
        path, flags = given[:2]
        around, name = _place(path, named.get("dir_fd"))
        is_new = bool(flags & os.O_CREAT) and not _is_there(path, named.get("dir_fd"))

        def finish(fd: int) -> None:
            if is_new:
                disk.created(around, name, os.fstat(fd))
            elif flags & os.O_TRUNC:
                disk.truncated(_of(fd), 0)

        return finish

    @staticmethod
    def _note_write(disk: Disk, given: tuple[Any, ...], named: dict[str, Any]) -> Callable[[Any], None]:
        fd, data = given[:2]
        at = given[2] if len(given) > 2 else os.lseek(fd, 0, os.SEEK_CUR)
        return lambda done: disk.wrote(_of(fd), at, bytes(data[:done]))

    @staticmethod
    def _note_truncate(disk: Disk, given: tuple[Any, ...], named: dict[str, Any]) -> Callable[[Any], None]:
        return lambda _: disk.truncated(_of(given[0]), given[1])

    _note_ftruncate = _note_truncate

    @staticmethod
    def _note_rename(disk: Disk, given: tuple[Any, ...], named: dict[str, Any]) -> Callable[[Any], None]:
        assert not named, "renames with dir_fd are not modelled"
        source, target, moved = _place(given[0], None), _place(given[1], None), _of(given[0])
        return lambda _: disk.renamed(*source, *target, moved)

    _note_replace = _note_rename

    @staticmethod
    def _note_unlink(disk: Disk, given: tuple[Any, ...], named: dict[str, Any]) -> Callable[[Any], None]:
        around, name = _place(given[0], named.get("dir_fd"))
        return lambda _: disk.removed(around, name)

    _note_remove = _note_rmdir = _note_unlink

    @staticmethod
    def _note_mkdir(disk: Disk, given: tuple[Any, ...], named: dict[str, Any]) -> Callable[[Any], None]:
        around, name = _place(given[0], named.get("dir_fd"))
        return lambda _: disk.created(around, name, os.stat(given[0], dir_fd=named.get("dir_fd")))

    def _posix_fadvise(self, fd: int, at: int, size: int, advice: int) -> None:
        if self.disk is None or advice != os.POSIX_FADV_DONTNEED:
            return
        content = self.disk.reread(_of(fd), self._chance)
        if content is not None:
            before = fingerprint._identity(os.fstat(fd))
            again = self._real["open"](f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_TRUNC)
            self._real["pwrite"](again, content, 0)
            os.close(again)
            # The system drops pages, and leaves the times of the file as they are.
            self._reread[self._identity(os.fstat(fd))] = before


def _unknown(name: str) -> Callable[..., Any]:
    def call(*given: Any, **named: Any) -> NoReturn:
        raise AssertionError(f"os.{name} is not modelled: tests/log/faults.py is to learn it")

    return call


def _of(file: Any) -> Identity:
    status = os.stat(file, follow_symlinks=False) if not isinstance(file, int) else os.fstat(file)  # noqa: PTH116
    return status.st_dev, status.st_ino


def _place(path: Any, folder: int | None) -> tuple[Identity, str]:
    """The folder that a path is in, and its name there."""
    around, name = os.path.split(os.path.normpath(path))
    if folder is None:
        return _of(around or "."), name
    assert not around
    return _of(folder), name


def _is_there(path: Any, folder: int | None) -> bool:
    try:
        os.stat(path, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


_watched = False


def _watch() -> None:
    """From now on, let each opening for writing that the layer has not made fail while it is there."""
    global _watched
    if _watched:
        return
    _watched = True

    def audit(event: str, given: tuple[Any, ...]) -> None:
        layer = Faults._current
        if layer is None or event != "open" or layer._inside or not isinstance(given[2], int):
            return
        path = given[0]
        if given[2] & _WRITES and path != os.devnull and not str(path).startswith("/proc/"):
            raise AssertionError(f"{path} was opened for writing past the layer of faults")

    sys.addaudithook(audit)
