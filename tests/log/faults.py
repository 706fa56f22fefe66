"""Lets the calls to the system fail as a disk lets them fail, one at a time, and knows what is on the disk.

`with Faults(at=7, error=errno.EIO) as faults:` lets the call number 7 (from 0) of those that are counted fail
with EIO; `faults.made` lists all that were made. A write that fails has written half of its bytes before,
as one does that meets the end of the space. `fsync` is only noted, not done: `faults.lose(folder)` is then
the end of the machine: of each file what was there at its last fsync that succeeded stays, and nothing else.

What goes through `os` is seen; what CPython does in C (`open`, `shutil`) is not.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

CALLS = (
    "open",
    "write",
    "pwrite",
    "fsync",
    "ftruncate",
    "truncate",
    "rename",
    "replace",
    "unlink",
    "mkdir",
    "fchown",
    "fchmod",
)


class Call(NamedTuple):
    """A call: its name and the name of the file it was for, "" where that is not known."""

    name: str
    file: str


class Faults:
    """Counts calls, and lets one fail.

    Args:
        at: the number of the call that fails, from 0; None: none does.
        error: the error number that it fails with.
        calls: which are counted.
        forever: each later call of the same name fails too, as on a full disk.
        short: a write that is to fail does not: it writes a part and says so.
    """

    def __init__(
        self,
        at: int | None = None,
        error: int = errno.EIO,
        *,
        calls: tuple[str, ...] = CALLS,
        forever: bool = False,
        short: bool = False,
    ) -> None:
        self.made: list[Call] = []
        self.failed: Call | None = None
        self._at = at
        self._error = error
        self._calls = calls
        self._forever = forever
        self._short = short
        self._real: dict[str, Callable[..., Any]] = {}
        self._names: dict[int, str] = {}
        self._durable: dict[int, int] = {}

    def __enter__(self) -> Self:
        for name in CALLS:
            self._real[name] = getattr(os, name)
            setattr(os, name, self._wrapped(name))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name, real in self._real.items():
            setattr(os, name, real)

    def _wrapped(self, name: str) -> Callable[..., Any]:
        real = self._real[name]

        def call(*given: Any, **named: Any) -> Any:
            first = given[0]
            file = self._names.get(first, "") if isinstance(first, int) else os.path.basename(first)  # noqa: PTH119  # str or bytes
            if name in self._calls and self._is_due(name, file):
                if name in ("write", "pwrite"):
                    half = given[1][: len(given[1]) // 2]
                    if len(half):
                        done = real(first, half, *given[2:], **named)
                        if self._short:
                            return done
                if not self._short:
                    raise OSError(self._error, os.strerror(self._error), file)
            if name == "fsync":
                status = os.fstat(first)
                self._durable[status.st_ino] = status.st_size
                return None
            result = real(*given, **named)
            if name == "open":
                self._names[result] = file
                if given[1] & os.O_CREAT:
                    # An inode that another file has had before.
                    self._durable[os.fstat(result).st_ino] = 0
            return result

        return call

    def _is_due(self, name: str, file: str) -> bool:
        number = len(self.made)
        self.made.append(Call(name, file))
        if number == self._at:
            self.failed = self.made[-1]
            return True
        return self._forever and self.failed is not None and self.failed.name == name

    def lose(self, folder: Path) -> None:
        """The machine goes down: what no fsync that succeeded has covered is gone from the files."""
        for path in folder.rglob("*"):
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                os.truncate(path, min(status.st_size, self._durable.get(status.st_ino, 0)))
