"""Contents of the files that a plan writes, kept on disk until the plan is applied."""

from __future__ import annotations

from tempfile import SpooledTemporaryFile
from weakref import finalize

__all__ = ["Contents"]

MOST_IN_MEMORY = 1 << 20


class Contents:
    """The contents of files, one after another: 1 MiB in memory, more in a temporary file.

    The indexes of a log take about half a percent of it, too much to hold in memory for a large
    one. The temporary file is deleted with this object.
    """

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=MOST_IN_MEMORY)  # noqa: SIM115 - closed by `finalize`
        self._end = 0
        finalize(self, self._file.close)

    def add(self, data: bytes | bytearray) -> int:
        """Keep the contents of a file; return their place, for `read`. Raises OSError."""
        position = self._end
        self._file.seek(position)
        self._file.write(data)
        self._end += len(data)
        return position

    def read(self, position: int, size: int) -> bytes:
        """Contents added before. Raises OSError."""
        self._file.seek(position)
        return self._file.read(size)
