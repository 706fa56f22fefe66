"""Tracks whether a writer's state and its files agree, and refuses changes when they may not."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from kodec.runtime.errors import LogFailed

__all__ = ["ChangeGuard"]


class ChangeGuard:
    """Checked by a writer before each change: were all earlier changes completed.

    A change is recorded before it begins and cleared after it has ended, so there is no moment
    at which an exception, one of a signal handler included, leaves a change incomplete and unrecorded. A
    change aborted by an exception ends the writer: each later one raises LogFailed. So does each change
    in a process that was forked from the one that opened the log: the files and the lock are the parent's.

        with guard.changing("a flush"):
            ...

    Changes do not nest.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._pid = os.getpid()
        self._unfinished = ""
        self._cause: BaseException | None = None

    @property
    def failed(self) -> bool:
        """Whether a change was not completed."""
        return bool(self._unfinished)

    def require(self) -> None:
        """Raises LogFailed if nothing more can be changed."""
        if os.getpid() != self._pid:
            raise LogFailed(str(self._log), f"it was opened by process {self._pid}, this is a fork of it")
        if self._unfinished:
            reason = f"{self._unfinished} was not completed"
            if self._cause is not None:
                text = str(self._cause)
                reason += f" ({type(self._cause).__name__}{': ' if text else ''}{text})"
            raise LogFailed(str(self._log), reason) from self._cause

    def changing(self, what: str) -> ChangeGuard:
        """Begin a change, which the `with` block of what is returned completes. Raises LogFailed."""
        self.require()
        self._cause = None
        self._unfinished = what
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._unfinished = ""
        else:
            self._cause = error

    def undone(self) -> None:
        """The change aborted by an exception has been undone: nothing is changed."""
        self._unfinished = ""
