"""Bytes by position from a path, a buffer or an open binary file."""

from __future__ import annotations

import errno
import io
import os
import re
from bisect import insort
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol
from weakref import finalize

from kodec.log.files.descriptors import open_regular
from kodec.log.files.listing import is_segment_or_left
from kodec.log.files.names import LOCK
from kodec.log.remote.opening import open_location
from kodec.runtime.errors import ArgumentError, ReadFailed
from kodec.stores.storage import StorePath, archive_note, known_as, path_of

__all__ = ["CHUNK", "ByteSource", "Source", "open_source"]

Source = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO
"""A reader's source: a path, bytes-like, or a file opened for reading in binary."""

CHUNK = 1 << 20
# The unit that a disk can or cannot read.
_BLOCK = 4096
# Neither a valid offset, length or magic, nor the zeros of a preallocated file.
_FILLER = b"\xff"
# How much of a stream is kept in memory.
_MOST_KEPT = 16 << 20
_ZEROS = bytes(CHUNK)


class ByteSource(Protocol):
    """Bytes by position, read in ascending order (a little back is allowed, see `forget`).

    If a file cannot be read, methods raise ReadFailed, and `window` ends before that place; see `failed`.
    """

    name: str | None
    path: Path | None
    """Of the file, whose folder shows what it can hold; None for bytes and pipes without a name."""
    sized: bool
    """Whether it knows its size."""
    loses: bool
    """Whether what cannot be read may be passed over, as a bad block of a disk; else reading ends there."""

    def read(self, pos: int, size: int) -> bytes:
        """The bytes from `pos`, at most `size`; fewer only at the end of the source."""

    def window(self, pos: int, at_least: int) -> tuple[bytes | bytearray | memoryview, int, int]:
        """A buffer, and the range in it of the bytes from `pos`: `at_least` of them, if available.

        It belongs to the source and holds other bytes after the next call of any method.
        """

    def remaining(self, pos: int, at_least: int) -> int:
        """The number of bytes from `pos`: exact if known, else at least min(that, `at_least`)."""

    def failed(self, start: int, end: int) -> ReadFailed | None:
        """Why some of these bytes could not be read, in a source that substitutes others; None: all could.

        The bytes that `read` returns for them have no meaning.
        """

    def is_hole(self, pos: int) -> bool:
        """Whether the system reports that nothing was written from `pos` on: zeros of a preallocated file."""

    def forget(self, pos: int) -> None:
        """Bytes before `pos` will not be read again."""

    def close(self) -> None: ...


class _Memory:
    sized = True
    loses = True

    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        self.name: str | None = None
        self.path: Path | None = None
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

    def failed(self, start: int, end: int) -> ReadFailed | None:
        return None

    def is_hole(self, pos: int) -> bool:
        return False

    def forget(self, pos: int) -> None:
        pass

    def close(self) -> None:
        self._view.release()


class _File:
    """A seekable file, through a window of its own; with `skip`, past its unreadable parts."""

    sized = True
    loses = True

    def __init__(self, file: BinaryIO, name: str | None, *, owned: bool, skip: bool) -> None:
        self.name = name
        self.path: Path | None = None if name is None else path_of(name)
        self._file = file
        self._owned = owned
        self._origin = 0 if owned else file.tell()
        self._size = file.seek(0, io.SEEK_END) - self._origin
        self._at = 0
        self._window = b""
        self._buffer = bytearray()
        self._buffer_at = self._filled = 0
        self._skip = skip
        # (start, end, why), ascending
        self._unreadable: list[tuple[int, int, ReadFailed]] = []
        if owned:
            # A reader abandoned before its end is closed with the generator, unless a cycle holds both.
            finalize(self, file.close)

    def read(self, pos: int, size: int) -> bytes:
        start = pos - self._at
        if start < 0 or start + size > len(self._window):
            if pos >= self._size:
                return b""
            if size > CHUNK:
                # a large batch is in memory once
                return self._read(pos, size)
            self._window = self._read(pos, size)
            self._at, start = pos, 0
        return self._window[start : start + size]

    def _read(self, pos: int, size: int) -> bytes:
        """At least `size` bytes, or fewer at the end of the file."""
        # The following bytes may be unreadable, but they are requested later.
        for want in {max(size, CHUNK): None, size: None}:
            try:
                self._file.seek(self._origin + pos)
                return _read_fully(self._file, want)
            except OSError as error:
                failed = ReadFailed.of(error, pos, self.name)
        if not self._skip:
            raise failed
        return self._piecewise(pos, min(size, self._size - pos))

    def _piecewise(self, pos: int, size: int) -> bytes:
        """This many bytes, with substitutes for unreadable ones, which are recorded."""
        data = bytearray()
        end = pos + size
        while (position := pos + len(data)) < end:
            known = self._unreadable_at(position)
            if known is not None:
                data += _FILLER * (min(known, end) - position)
                continue
            stop = min(end, position + _BLOCK - (self._origin + position) % _BLOCK)
            try:
                self._file.seek(self._origin + position)
                part = _read_fully(self._file, stop - position)
            except OSError as error:
                self._note(position, stop, error)
                continue
            if not part:
                break
            data += part
        return bytes(data)

    def _unreadable_at(self, pos: int) -> int | None:
        """The end of the known unreadable bytes from `pos` on; None if `pos` may be readable."""
        return next((end for start, end, _ in self._unreadable if start <= pos < end), None)

    def _note(self, start: int, end: int, error: OSError) -> None:
        last = self._unreadable[-1] if self._unreadable else None
        if last is not None and last[1] == start and last[2].errno == error.errno:
            self._unreadable[-1] = last[0], end, last[2]
        else:
            insort(self._unreadable, (start, end, ReadFailed.of(error, start, self.name)), key=itemgetter(0))

    def window(self, pos: int, at_least: int) -> tuple[bytes | bytearray | memoryview, int, int]:
        start = pos - self._buffer_at
        if 0 <= start < self._filled and at_least <= self._filled - start:
            return self._buffer, start, self._filled
        # One buffer, filled again and again: it stays in the processor's cache, which a map of the file, or
        # new bytes for each read, would not. Sequential reads get more at once: threads of a process wait for
        # each other at every call.
        reads_on = 0 <= start <= self._filled > 0
        return self._refilled(pos, max(at_least, 2 * CHUNK if reads_on else CHUNK))

    def _refilled(self, pos: int, want: int, prefix: bytes = b"") -> tuple[bytearray, int, int]:
        """The buffer, filled from `pos` on, where it has `prefix` already."""
        want = max(0, min(want, self._size - pos))
        if len(self._buffer) < want or len(self._buffer) > 4 * max(want, CHUNK):
            self._buffer = bytearray(want)
        self._filled = len(prefix)
        self._buffer[: len(prefix)] = prefix
        if want > len(prefix):
            view = memoryview(self._buffer)[len(prefix) : want]
            self._filled += _fill(self._file, self._origin + pos + len(prefix), view)
        self._buffer_at = pos
        return self._buffer, 0, self._filled

    def remaining(self, pos: int, at_least: int) -> int:
        return max(0, self._size - pos)

    def is_hole(self, pos: int) -> bool:
        file = self._file.raw if isinstance(self._file, io.BufferedReader) else self._file
        # decompressing files also have a file number
        if not isinstance(file, io.FileIO) or not hasattr(os, "SEEK_DATA"):
            return False
        original = os.lseek(file.fileno(), 0, os.SEEK_CUR)
        try:
            os.lseek(file.fileno(), self._origin + pos, os.SEEK_DATA)
        except OSError as error:
            return error.errno == errno.ENXIO and pos < self._size
        finally:
            # buffering code relies on that
            os.lseek(file.fileno(), original, os.SEEK_SET)
        return False

    def failed(self, start: int, end: int) -> ReadFailed | None:
        return next((error for first, stop, error in self._unreadable if first < end and start < stop), None)

    def forget(self, pos: int) -> None:
        while self._unreadable and self._unreadable[0][1] <= pos:
            del self._unreadable[0]

    def close(self) -> None:
        self._window = b""
        self._buffer = bytearray()
        self._filled = 0
        if self._owned:
            self._file.close()


class _Object(_File):
    """An object of a store: what its server does not send is there, so it is never passed over as damage."""

    loses = False

    def __init__(self, file: BinaryIO, name: str) -> None:
        super().__init__(file, name, owned=True, skip=False)
        # of an object that is stored as it is; see `ObjectFile.view`
        self._viewed: Callable[[int], memoryview] | None = getattr(file, "view", None)
        self._view = memoryview(b"")

    def _read(self, pos: int, size: int) -> bytes:
        if self._viewed is None:
            return super()._read(pos, size)
        # It has more than it was asked for in memory. Reading on from here and then back would ask again.
        try:
            self._file.seek(pos)
            return _read_fully(self._file, size)
        except OSError as error:
            raise ReadFailed.of(error, pos, self.name) from error

    def window(self, pos: int, at_least: int) -> tuple[bytes | bytearray | memoryview, int, int]:
        start = pos - self._buffer_at
        held = self._filled - start if 0 <= start < self._filled else 0
        if self._viewed is None or pos >= self._size or at_least <= held > 0:
            return super().window(pos, at_least)
        if held:
            # the file may have let go of these
            return self._refilled(pos, at_least, bytes(self._buffer[start : self._filled]))
        # The range of which this is a part goes before the next one is waited for.
        self._view.release()
        self._file.seek(pos)
        try:
            self._view = self._viewed(2 * CHUNK)
        except OSError:
            # reading raises the error
            self._view = memoryview(b"")
            return self._view, 0, 0
        if len(self._view) >= min(at_least, self._size - pos):
            return self._view, 0, len(self._view)
        # a batch that is in two ranges
        return self._refilled(pos, at_least)

    def close(self) -> None:
        self._view.release()
        super().close()


def _read_fully(file: BinaryIO | IO[bytes], size: int) -> bytes:
    """`size` bytes, or fewer at the end of the file: a raw file may return less than requested."""
    data = file.read(size)
    while data and len(data) < size and (more := file.read(size - len(data))):
        data += more
    return data


def _fill(file: BinaryIO, pos: int, view: memoryview) -> int:
    """The number of bytes read into `view`: all that fit, or fewer if the following bytes are unreadable.

    Reading those raises the error.
    """
    filled = 0
    readinto = getattr(file, "readinto", None)
    try:
        if type(file) is io.FileIO and hasattr(os, "preadv"):
            # one call without the interpreter's lock, not two for seeking and reading: threads wait
            while filled < len(view) and (count := os.preadv(file.fileno(), [view[filled:]], pos + filled)):
                filled += count
            return filled
        file.seek(pos)
        while filled < len(view):
            if readinto is not None:
                count = readinto(view[filled:]) or 0
            else:
                data = file.read(len(view) - filled)
                count = len(data)
                view[filled : filled + count] = data
            if not count:
                break
            filled += count
    except OSError:
        pass
    return filled


class _Stream:
    """A file that cannot seek: read bytes are kept until they are forgotten.

    If a search for the end of damage or of zeros reads far ahead, bytes beyond 16 MiB are kept in a
    temporary file: `_kept` has the bytes from `_at` on, and `_beyond` those that follow, up to `_end`.
    """

    sized = False
    loses = False

    def __init__(self, file: BinaryIO, name: str | None, *, owned: bool = False) -> None:
        self.name = name
        self.path: Path | None = None if name is None else path_of(name)
        self._file = file
        self._owned = owned
        self._at = self._end = 0
        self._kept = bytearray()
        self._beyond: IO[bytes] | None = None
        self._beyond_at = 0
        self._discard: Callable[[], Any] | None = None
        self._ended = False

    def _fill(self, stop: int) -> None:
        """Read on, up to `stop`."""
        while not self._ended and self._end < stop:
            try:
                more = self._file.read(CHUNK)
            except OSError as error:
                raise ReadFailed.of(error, self._end, self.name) from error
            if not more:
                self._ended = True
            elif self._beyond is None and len(self._kept) + len(more) <= _MOST_KEPT:
                self._kept += more
            else:
                self._keep_beyond(more)
            self._end += len(more)

    def _keep_beyond(self, more: bytes) -> None:
        if self._beyond is None:
            self._beyond_at = self._end
            from tempfile import TemporaryFile

            self._beyond = TemporaryFile(buffering=0)  # noqa: SIM115 - goes with this object
            self._discard = finalize(self, self._beyond.close)
        offset = self._end - self._beyond_at
        if more == _ZEROS[: len(more)]:
            # takes no space on the disk
            self._beyond.truncate(offset + len(more))
            return
        self._beyond.seek(offset)
        view = memoryview(more)
        while view:
            view = view[self._beyond.write(view) :]

    def _from_beyond(self, pos: int, size: int) -> bytes:
        if self._beyond is None or size <= 0:
            return b""
        self._beyond.seek(pos - self._beyond_at)
        return _read_fully(self._beyond, size)

    def _take_back(self, stop: int) -> None:
        """Have the bytes up to `stop` in memory, as far as they were read."""
        front = self._at + len(self._kept)
        if self._beyond is None or front >= stop:
            return
        self._kept += self._from_beyond(front, stop - front)
        if self._at + len(self._kept) >= self._end:
            self._drop_beyond()

    def _drop_beyond(self) -> None:
        if self._discard is not None:
            self._discard()
        self._beyond = self._discard = None

    def read(self, pos: int, size: int) -> bytes:
        self._fill(pos + size)
        start = pos - self._at
        with memoryview(self._kept) as view:
            data = bytes(view[start : start + size])
        if len(data) == size or self._beyond is None:
            return data
        return data + self._from_beyond(pos + len(data), size - len(data))

    def window(self, pos: int, at_least: int) -> tuple[bytes | bytearray | memoryview, int, int]:
        stop = pos + max(at_least, CHUNK)
        try:
            self._fill(stop)
        except OSError:
            # available bytes are returned first, then the error
            if self._end <= pos + at_least:
                raise
        self._take_back(stop)
        return self._kept, min(pos - self._at, len(self._kept)), len(self._kept)

    def remaining(self, pos: int, at_least: int) -> int:
        self._fill(pos + at_least)
        return max(0, self._end - pos)

    def failed(self, start: int, end: int) -> ReadFailed | None:
        return None

    def is_hole(self, pos: int) -> bool:
        return False

    def forget(self, pos: int) -> None:
        if pos - self._at < CHUNK:
            return
        del self._kept[: pos - self._at]
        self._at = pos
        if pos >= self._end:
            self._drop_beyond()
        self._take_back(pos + CHUNK)

    def close(self) -> None:
        self._kept.clear()
        self._drop_beyond()
        if self._owned:
            self._file.close()


# The names of logs in remote storage, where they may be stored otherwise.
_KINDS_BESIDE = {
    "index": "an offset index",
    "timeindex": "a time index",
    "txnindex": "a transaction index",
    "snapshot": "a producer snapshot",
}
_BESIDE_LOG = re.compile(rf"[0-9]{{20}}\.({'|'.join(_KINDS_BESIDE)})")
_TIERED = re.compile(r"[0-9]{20}-[A-Za-z0-9_-]{22}\.log")
# The end of the names of snapshots of a metadata log.
_SNAPSHOT = ".checkpoint"


def open_source(source: Source, *, skip: bool = False) -> ByteSource:
    """Open a reader's source; with `skip`, past the unreadable parts of a file (see `failed`).

    Raises OSError for a path, ArgumentError for anything else.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _Memory(source)
    if isinstance(source, (str, os.PathLike)):
        path = open_location(source)
        if _TIERED.fullmatch(path.name):
            from kodec.log.remote.tier import as_segment

            path = source = as_segment(path) or path
        name = str(path) if isinstance(path, StorePath) else os.fspath(source)
        # who goes past damage looks into any file, as a redaction does
        if not skip and (note := archive_note(path)) and not path.is_dir():
            raise ArgumentError(f"{name} is {note}")
        if not skip and (beside := _BESIDE_LOG.fullmatch(path.name)):
            raise ArgumentError(f"{name} is {_KINDS_BESIDE[beside[1]]}, no log: `kodec dump` shows it")
        # A pipe has a path too: /dev/stdin, a shell's <(...). Instead of a segment it would be a trap.
        try:
            if is_segment_or_left(path.name) or name.endswith((_SNAPSHOT, LOCK)):
                file = open_regular(path, buffering=0)
            else:
                file = path.open("rb", buffering=0)
        except FileNotFoundError:
            if not (isinstance(path, StorePath) and path.is_dir()):
                raise
            reason = f"{os.strerror(errno.EISDIR)}; LogDirectory and PartitionLog read folders"
            raise IsADirectoryError(errno.EISDIR, reason, name) from None
        except IsADirectoryError as error:
            error.strerror = f"{error.strerror}; LogDirectory and PartitionLog read folders"
            raise
        if isinstance(path, StorePath):
            found = _Object(file, name)
            found.path = known_as(path)
            return found
        if file.seekable():
            return _File(file, name, owned=True, skip=skip)
        return _Stream(file, name, owned=True)
    if not hasattr(source, "read"):
        raise ArgumentError(f"expected a path, bytes or a binary file, not {type(source).__name__}")
    if isinstance(source, io.TextIOBase):
        raise ArgumentError("the file is open as text: open it with mode 'rb'")
    file_name = getattr(source, "name", None)
    shown = file_name if isinstance(file_name, str) else None
    seekable = getattr(source, "seekable", None)
    if seekable is not None and seekable():
        return _File(source, shown, owned=False, skip=skip)
    return _Stream(source, shown)
