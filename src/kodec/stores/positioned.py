"""What files have in common whose bytes come from elsewhere: a size, and a position to read at."""

from __future__ import annotations

import errno
import io
from abc import abstractmethod

__all__ = ["PositionedFile"]


class PositionedFile(io.RawIOBase):
    """A file that is only read, at any position. For one thread at a time, as files with a position are.

    Attributes: `size` is how many bytes it has.
    """

    size: int

    def __init__(self) -> None:
        super().__init__()
        self._at = 0

    @abstractmethod
    def _bytes_at(self, position: int, size: int) -> bytes:
        """The bytes from a position, all of which the file has."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        if base + offset < 0:
            raise OSError(errno.EINVAL, "before the start")
        self._at = base + offset
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """All bytes from the position, or at most `size`; fewer only at the end."""
        if self.closed:
            raise ValueError("the file is closed")
        start = self._at
        remaining = max(0, self.size - start)
        size = remaining if size is None or size < 0 else min(size, remaining)
        data = self._bytes_at(start, size) if size else b""
        self._at = start + len(data)
        return data

    def readall(self) -> bytes:
        return self.read()

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)
