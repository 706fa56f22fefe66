"""Files of which the system cannot read a part, or that have gone: reading that fails, for a test."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

BLOCK = 4096


class _Unreadable(io.FileIO):
    """A file whose blocks from `start` to `end` give EIO; what is before them is given first."""

    def __init__(self, path: Path, start: int, end: int) -> None:
        super().__init__(str(path), "rb")
        self.start, self.end = start // BLOCK * BLOCK, end

    def _bounded(self, size: int) -> int:
        at = self.tell()
        if self.start <= at < self.end:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return min(size, self.start - at) if at < self.start else size

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            size = os.fstat(self.fileno()).st_size
        return super().read(self._bounded(size)) or b""

    def readall(self) -> bytes:
        data = b""
        while part := self.read(1 << 20):
            data += part
        return data

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")
        return super().readinto(view[: self._bounded(len(view))]) or 0


def unlisted(monkeypatch: pytest.MonkeyPatch, folder: Path, fault: OSError | None) -> None:
    """Let listing a folder fail; or, for None, let it be gone."""

    def failing(listing: Callable[..., Any]) -> Callable[..., Any]:
        def lists(path: Any = ".") -> Any:
            if not isinstance(path, int) and Path(os.fspath(path)) == folder:
                kind = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)) if fault is None else fault
                raise type(kind)(kind.errno, kind.strerror, str(folder))
            return listing(path)

        return lists

    for name in ("scandir", "listdir"):
        monkeypatch.setattr(os, name, failing(getattr(os, name)))


def unreadable(
    monkeypatch: pytest.MonkeyPatch, files: Mapping[Path, tuple[int, int] | OSError | None]
) -> None:
    """Let reading a range of a file fail with EIO; opening it; or, for None, let the file be gone."""
    opened = Path.open

    def opens(self: Path, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        fault = files.get(self, ())
        if fault is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        if isinstance(fault, OSError):
            raise type(fault)(fault.errno, fault.strerror, str(self))
        return _Unreadable(self, *fault) if fault else opened(self, mode, *arguments, **options)

    monkeypatch.setattr(Path, "open", opens)
