"""A file read by position, in pieces that grow during sequential reading."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, BinaryIO, cast
from weakref import finalize

from kodec.log.files.descriptors import open_regular
from kodec.runtime.errors import ReadFailed
from kodec.stores.storage import StorePath

__all__ = ["Pages"]

# A lookup reads this much at once: an index interval and a little. A walk over small batches reads more.
_LOOK, _WALK = 8 << 10, 1 << 20


class Pages:
    """A file by position: the last read is kept, and sequential reads grow.

    Not a memory map: a broker truncates the files that it had preallocated, and touching a page of a map that
    no longer exists kills the process. A map saves 1 microsecond a read and costs 20 to set up.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = open_regular(path, buffering=0)
        # Files are kept open for speed: a program that makes one lookup need not close them.
        finalize(self, self._file.close)
        self.size = self._file.seek(0, os.SEEK_END)
        self._at = 0
        self._held = b""
        self._width = _LOOK

    def read(self, pos: int, size: int) -> bytes:
        """The bytes from `pos`, at most `size`; fewer only at the end of the file when it was opened.

        Raises ReadFailed.
        """
        start = pos - self._at
        if start >= 0 and start + size <= len(self._held):
            return self._held[start : start + size]
        size = min(size, self.size - pos)
        if size <= 0:
            return b""
        onward = 0 <= start <= len(self._held) and self._held != b""
        self._width = min(2 * self._width, _WALK) if onward else _LOOK
        # An object's bytes are not asked for again.
        held = self._held[start:] if onward and isinstance(self._path, StorePath) else b""
        # The following bytes may be unreadable, but they were not requested.
        for want in {min(max(size, self._width), self.size - pos): None, size: None}:
            try:
                self._held = self._read(pos, size, want, held)
            except OSError as error:
                failed = ReadFailed.of(error, pos, str(self._path))
                continue
            self._at = pos
            return self._held[:size]
        self._held = b""
        raise failed

    def _read(self, pos: int, size: int, want: int, held: bytes) -> bytes:
        self._file.seek(pos + len(held))
        data = held + (self._file.read(want - len(held)) or b"")
        while len(data) < size and (more := self._file.read(want - len(data))):
            data += more
        return data

    def rest(self, pos: int) -> BinaryIO:
        """The file from `pos` to its current end as a separate stream; the same file even if renamed.

        The stream must be closed before anything else is read here: they share a file position.
        """
        if isinstance(self._path, StorePath):
            stream = self._same()
        else:
            stream = os.fdopen(os.dup(self._file.fileno()), "rb")
        stream.seek(pos)
        return stream

    def again(self) -> BinaryIO | None:
        """The file opened once more, with a place of its own; None where its name is another file's by now.

        Raises OSError.
        """
        if isinstance(self._path, StorePath):
            return self._same()
        try:
            file = open_regular(self._path, buffering=0)
        except FileNotFoundError:
            return None
        if os.path.sameopenfile(file.fileno(), self._file.fileno()):
            return file
        file.close()
        return None

    def _same(self) -> BinaryIO:
        """Of an object the same content as another file."""
        return cast(BinaryIO, cast(Any, self._file).again())

    def close(self) -> None:
        self._held = b""
        self._file.close()
