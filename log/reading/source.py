"""Bytes by position from a path, a buffer or an open binary file."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import BinaryIO, Protocol
from weakref import finalize

__all__ = ["CHUNK", "ByteSource", "Source", "open_source"]

Source = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO
"""What a reader takes: a path, bytes-like, or a file opened for reading in binary."""

CHUNK = 1 << 20


class ByteSource(Protocol):
    """Bytes by position, asked for in ascending order (a little back is allowed, see `forget`)."""

    name: str | None
    sized: bool
    """Whether it knows its size."""

    def read(self, pos: int, size: int) -> bytes:
        """The bytes from `pos`, at most `size`; fewer only where the source ends."""

    def window(self, pos: int, at_least: int) -> tuple[bytes | bytearray | memoryview, int, int]:
        """A buffer, and where in it the bytes from `pos` start and end: `at_least` of them, if there are.

        It is the source's own, and holds other bytes after the next call of any method.
        """

    def remaining(self, pos: int, at_least: int) -> int:
        """How many bytes there are from `pos`: exact where known, else at least min(that, `at_least`)."""

    def forget(self, pos: int) -> None:
        """Nothing before `pos` will be asked for again."""

    def close(self) -> None: ...


class _Memory:
    sized = True

    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        self.name: str | None = None
        self._whole = data if isinstance(data, bytes) else None
        self._view = memoryview(data).cast("B") if not isinstance(data, bytes) else memoryview(data)

    def read(self, pos: int, size: int) -> bytes:
        if self._whole is not None:
            return self._whole[pos : pos + size]
        return bytes(self._view[pos : pos + size])

    def window(self, pos: int, at_least: int) -> tuple[bytes | bytearray | memoryview, int, int]:
        size = len(self._view)
        return self._view, min(pos, size), size

    def remaining(self, pos: int, at_least: int) -> int:
        return max(0, len(self._view) - pos)

    def forget(self, pos: int) -> None:
        pass

    def close(self) -> None:
        self._view.release()


class _File:
    """A seekable file, through a window of its own."""

    sized = True

    def __init__(self, file: BinaryIO, name: str | None, owned: bool) -> None:
        self.name = name
        self._file = file
        self._owned = owned
        self._origin = 0 if owned else file.tell()
        self._size = file.seek(0, io.SEEK_END) - self._origin
        self._at = 0
        self._window = b""
        self._buffer = bytearray()
        self._buffer_at = self._filled = 0
        if owned:
            # A reader that is left before its end is closed with the generator, unless a cycle holds both.
            finalize(self, file.close)

    def read(self, pos: int, size: int) -> bytes:
        start = pos - self._at
        if start < 0 or start + size > len(self._window):
            if pos >= self._size:
                return b""
            self._file.seek(self._origin + pos)
            self._window = _read_fully(self._file, max(size, CHUNK))
            self._at, start = pos, 0
        return self._window[start : start + size]

    def window(self, pos: int, at_least: int) -> tuple[bytes | bytearray | memoryview, int, int]:
        start = pos - self._buffer_at
        if 0 <= start < self._filled and at_least <= self._filled - start:
            return self._buffer, start, self._filled
        # One buffer, filled again and again: it stays in the processor's cache, which a map of the file, or
        # new bytes for each read, would not.
        want = max(0, min(max(at_least, CHUNK), self._size - pos))
        if len(self._buffer) < want or len(self._buffer) > 4 * max(want, CHUNK):
            self._buffer = bytearray(want)
        if want:
            self._file.seek(self._origin + pos)
        self._filled = _fill(self._file, memoryview(self._buffer)[:want])
        self._buffer_at = pos
        return self._buffer, 0, self._filled

    def remaining(self, pos: int, at_least: int) -> int:
        return max(0, self._size - pos)

    def forget(self, pos: int) -> None:
        pass

    def close(self) -> None:
        self._window = b""
        self._buffer = bytearray()
        self._filled = 0
        if self._owned:
            self._file.close()


def _read_fully(file: BinaryIO, size: int) -> bytes:
    """`size` bytes, or fewer where the file ends: a raw file may give less than it is asked for."""
    data = file.read(size)
    while data and len(data) < size and (more := file.read(size - len(data))):
        data += more
    return data


def _fill(file: BinaryIO, view: memoryview) -> int:
    """How many bytes were read into `view`: all it has room for, or fewer where the file ends."""
    done = 0
    readinto = getattr(file, "readinto", None)
    while done < len(view):
        try:
            if readinto is not None:
                count = readinto(view[done:]) or 0
            else:
                data = file.read(len(view) - done)
                count = len(data)
                view[done : done + count] = data
        except OSError:
            # the same: what is there first
            if not done:
                raise
            break
        if not count:
            break
        done += count
    return done


class _Stream:
    """A file that cannot seek: what was read is kept until it is forgotten."""

    sized = False

    def __init__(self, file: BinaryIO, name: str | None, *, owned: bool = False) -> None:
        self.name = name
        self._file = file
        self._owned = owned
        self._at = 0
        self._kept = bytearray()
        self._ended = False

    def _fill(self, stop: int) -> None:
        while not self._ended and self._at + len(self._kept) < stop:
            more = self._file.read(CHUNK)
            if not more:
                self._ended = True
            else:
                self._kept += more

    def read(self, pos: int, size: int) -> bytes:
        self._fill(pos + size)
        start = pos - self._at
        return bytes(self._kept[start : start + size])

    def window(self, pos: int, at_least: int) -> tuple[bytes | bytearray | memoryview, int, int]:
        try:
            self._fill(pos + max(at_least, CHUNK))
        except OSError:
            # what is there is given first, and the error when there is nothing left
            if len(self._kept) <= pos - self._at + at_least:
                raise
        return self._kept, min(pos - self._at, len(self._kept)), len(self._kept)

    def remaining(self, pos: int, at_least: int) -> int:
        self._fill(pos + at_least)
        return max(0, self._at + len(self._kept) - pos)

    def forget(self, pos: int) -> None:
        if pos - self._at >= CHUNK:
            del self._kept[: pos - self._at]
            self._at = pos

    def close(self) -> None:
        self._kept.clear()
        if self._owned:
            self._file.close()


def open_source(source: Source) -> ByteSource:
    """Open what a reader was given. Raises OSError for a path, TypeError for anything else."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _Memory(source)
    if isinstance(source, (str, os.PathLike)):
        file = Path(source).open("rb", buffering=0)  # noqa: SIM115 - whoever reads closes it
        name = os.fspath(source)
        # A pipe has a path too: /dev/stdin, a shell's <(...).
        return _File(file, name, owned=True) if file.seekable() else _Stream(file, name, owned=True)
    if not hasattr(source, "read"):
        raise TypeError(f"a path, bytes or a binary file is needed, not {type(source).__name__}")
    if isinstance(source, io.TextIOBase):
        raise TypeError("the file is open as text: open it with mode 'rb'")
    given = getattr(source, "name", None)
    shown = given if isinstance(given, str) else None
    seekable = getattr(source, "seekable", None)
    return (
        _File(source, shown, owned=False) if seekable is not None and seekable() else _Stream(source, shown)
    )
