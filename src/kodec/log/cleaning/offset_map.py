"""The newest offset of each key, in a buffer of a fixed size."""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from hashlib import blake2b
from struct import Struct

__all__ = ["OffsetMap"]

_HALVES = Struct("<QQ")
# Two halves of the hash, and the offset plus one: 0 is an empty slot.
_CELLS = 3
_SLOT = _CELLS * 8
_LEAST_SLOTS = 1024


def _prime_below(most: int) -> int:
    """The largest prime up to `most`: with it every step visits all slots."""
    for candidate in range(most, 1, -1):
        if all(candidate % divisor for divisor in range(2, int(candidate**0.5) + 1)):
            return candidate
    return 1


class OffsetMap:
    """The newest offset of each key of a range of a log, in at most `memory` bytes.

    A hash table: a slot has 24 bytes, a hash of 128 bits (BLAKE2b) in place of the key, and the offset. Two
    keys with the same hash would be treated as one; nobody can construct such a pair, unlike with the MD5 of
    Kafka's map. In addition two bits for each offset of the range, within a quarter of the memory: whether a
    later record has the same key, and whether the record is a tombstone. They answer questions about the
    range without the key, so that most batches need not be decoded a second time. Memory is allocated by the
    operating system when it is used.

    Args:
        memory: bytes for all of it.
        start, end: the offsets whose records are added, `end` exclusive.
        load_factor: the part of the slots that may be used; above it new keys are refused.

    Attributes:
        start: as given.
        slots, capacity: how many there are, and how many keys fit. size: how many keys it holds.
        latest: the offset up to which the map covers the log; callers that add to the map may raise it.

    Raises: ValueError if there is no room for a key.
    Source: org.apache.kafka.storage.internals.log.SkimpyOffsetMap.
    """

    def __init__(self, memory: int, start: int = 0, end: int = 0, *, load_factor: float = 0.9) -> None:
        if not 0 < load_factor <= 1:
            raise ValueError(f"load_factor={load_factor}: more than 0, at most 1")
        marks = min((end - start + 7) // 8, memory // 8)
        self.start = start
        # There are no more keys than offsets; and a smaller table is a faster one.
        most = max(2 * int((end - start) / load_factor), _LEAST_SLOTS)
        self.slots = _prime_below(min((memory - 2 * marks) // _SLOT, most))
        # One slot stays empty, so that the search for a missing key ends.
        self.capacity = min(int(self.slots * load_factor), self.slots - 1)
        if self.capacity < 1:
            raise ValueError(f"{memory} bytes have no room for a key: at least {6 * _SLOT}")
        self.size = 0
        self.latest = -1
        # An anonymous map: a bytearray would touch all its pages at once.
        self._cells = memoryview(mmap.mmap(-1, self.slots * _SLOT)).cast("Q")
        self._superseded = bytearray(marks)
        self._tombstones = bytearray(marks)
        self._marked = 8 * marks
        self._all_have_keys = True

    def add(self, rows: Iterable[tuple[bytes | None, int, bool]]) -> bool:
        """Add records, each with its key, its offset and whether it is a tombstone.

        Offsets ascend and lie in the range; `latest` becomes the offset of the last one with a key. Returns
        false if a new key does not fit: its record and those after it are not added.
        """
        cells, slots, start, marked = self._cells, self.slots, self.start, self._marked
        superseded, tombstones = self._superseded, self._tombstones
        end = slots * _CELLS
        unpack = _HALVES.unpack
        for key, offset, is_tombstone in rows:
            bit = offset - start
            if key is None:
                self._all_have_keys = False
                if bit < marked:
                    superseded[bit >> 3] |= 1 << (bit & 7)
                continue
            first, second = unpack(blake2b(key, digest_size=16).digest())
            cell = first % slots * _CELLS
            step = 0
            while held := cells[cell + 2]:
                if cells[cell] == first and cells[cell + 1] == second:
                    old = held - 1 - start
                    if old < marked:
                        superseded[old >> 3] |= 1 << (old & 7)
                    break
                step = step or (second % (slots - 1) + 1) * _CELLS
                cell = (cell + step) % end
            else:
                if self.size >= self.capacity:
                    return False
                cells[cell], cells[cell + 1] = first, second
                self.size += 1
            cells[cell + 2] = offset + 1
            self.latest = offset
            if is_tombstone and bit < marked:
                tombstones[bit >> 3] |= 1 << (bit & 7)
        return True

    def get(self, key: bytes) -> int:
        """The newest offset of `key`; -1 if there is none."""
        cells, slots = self._cells, self.slots
        end = slots * _CELLS
        first, second = _HALVES.unpack(blake2b(key, digest_size=16).digest())
        cell = first % slots * _CELLS
        step = 0
        while held := cells[cell + 2]:
            if cells[cell] == first and cells[cell + 1] == second:
                return int(held) - 1
            step = step or (second % (slots - 1) + 1) * _CELLS
            cell = (cell + step) % end
        return -1

    def is_newest(self, key: bytes, offset: int) -> bool:
        """Whether no record of the range newer than `offset` has this key."""
        bit = offset - self.start
        if 0 <= bit < self._marked and offset <= self.latest:
            return not self._superseded[bit >> 3] & 1 << (bit & 7)
        return offset >= self.get(key)

    def staying(self, first: int, last: int, count: int) -> int | None:
        """How many of the `count` records between two offsets are the newest of their keys: all or none.

        None if it is some of them, if one that stays may be a tombstone, or if unknown.
        """
        low, high = first - self.start, last - self.start
        if not 0 <= low <= high < self._marked or last > self.latest:
            return None
        part = slice(low >> 3, (high >> 3) + 1)
        bits = int.from_bytes(self._superseded[part], "little")
        if not bits:
            return None if any(self._tombstones[part]) else count
        gone = (bits >> (low & 7) & (1 << (high - low + 1)) - 1).bit_count()
        return 0 if gone == count and self._all_have_keys else None
