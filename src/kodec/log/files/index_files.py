"""The index files of a segment, read entry by entry; see `indexes.py` for how they are written."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Self

from kodec.generated.log import offset_index, time_index
from kodec.log.batches.format import Number
from kodec.log.batches.sizes import OFFSET_ENTRY, TIME_ENTRY
from kodec.log.files.pages import Pages
from kodec.runtime.errors import FormatError

__all__ = ["IndexFile"]

_ENDING = 300
_TIMESTAMP = Number(time_index.Entry.PLACES, "timestamp")


class IndexFile:
    """An index file: entries of one size, read one by one, up to preallocated zeros."""

    def __init__(self, path: Path, size: int, entry: Callable[[bytes], tuple[int, int]]) -> None:
        self._pages = Pages(path)
        self._size = size
        self._entry = entry
        self._slots = self._pages.size // size

    @classmethod
    def of_offsets(cls, path: Path) -> Self:
        """An offset index, as (relative offset, position). Raises OSError."""
        return cls(path, OFFSET_ENTRY, _offset_entry)

    @classmethod
    def of_times(cls, path: Path) -> Self:
        """A time index, as (timestamp, relative offset). Raises OSError."""
        return cls(path, TIME_ENTRY, _time_entry)

    def __getitem__(self, slot: int) -> tuple[int, int] | None:
        """The entry; None if it is missing, damaged or padding."""
        data = self._pages.read(slot * self._size, self._size)
        if len(data) < self._size or (slot and not any(data)):
            return None
        try:
            return self._entry(data)
        except FormatError:
            return None

    def last_timestamp(self) -> int | None:
        """The timestamp in the last slot of a time index, which may be padding; None without slots.

        Source: org.apache.kafka.storage.internals.log.TimeIndex.lastEntry.
        """
        if not self._slots:
            return None
        data = self._pages.read((self._slots - 1) * self._size, self._size)
        return _TIMESTAMP.get(data) if len(data) == self._size else None

    def last_below(self, key: int) -> tuple[int, int] | None:
        """The last entry whose first number is less than `key`; or None.

        Assumes that numbers ascend and that unreadable ones are larger. Callers check
        the place that it points to.
        """
        low, high = 0, self._slots
        entry_below = None
        while low < high:
            middle = (low + high) // 2
            entry = self[middle]
            if entry is not None and entry[0] < key:
                entry_below, low = entry, middle + 1
            else:
                high = middle
        return entry_below

    def ending(self) -> list[tuple[int, int]]:
        """The last entries, some hundred; [] unless all of them are whole, and both their numbers ascend."""
        first = max(0, self._slots - _ENDING)
        entries = [entry for slot in range(first, self._slots) if (entry := self[slot]) is not None]
        ascends = all(entry[0] < next_[0] and entry[1] < next_[1] for entry, next_ in pairwise(entries))
        is_whole = len(entries) == self._slots - first and self._pages.size % self._size == 0
        return entries if is_whole and ascends else []

    def close(self) -> None:
        self._pages.close()


def _offset_entry(data: bytes) -> tuple[int, int]:
    entry, _ = offset_index.read_entry(data, 0, OFFSET_ENTRY)
    return entry.relative_offset, entry.ofs_batch


def _time_entry(data: bytes) -> tuple[int, int]:
    entry, _ = time_index.read_entry(data, 0, TIME_ENTRY)
    return entry.timestamp, entry.relative_offset
