"""The indexes of a segment, compared with its batches in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from kodec.generated.log import offset_index, time_index
from kodec.log.batches.batch import Batch
from kodec.log.batches.sizes import OFFSET_ENTRY, TIME_ENTRY
from kodec.log.files.descriptors import read_regular
from kodec.log.verification.problems import Problem, from_error
from kodec.runtime.errors import FormatError

__all__ = ["OffsetIndex", "TimeIndex"]

E = TypeVar("E")


class OffsetIndex:
    """The offset index, compared in a pass over the batches."""

    def __init__(self, path: Path, base_offset: int, padded: bool) -> None:
        self.path = path
        self.base_offset = base_offset
        self.problems: list[Problem] = []
        self._next = 0
        self._waiting: tuple[int, int] | None = None
        self.entries = _entries(
            path, OFFSET_ENTRY, offset_index.read_entry, _wrong_offsets, padded, self.problems
        )

    def pass_by(self, batch: Batch) -> None:
        """A batch of the log."""
        position, last_offset = batch.position, batch.last_offset
        if self._waiting is not None:
            slot, expected = self._waiting
            if last_offset >= expected:
                self._waiting = None
                if last_offset > expected:
                    self._add_problem(slot, "the last offset of a batch", expected, last_offset)
        while self._next < len(self.entries) and self.entries[self._next].ofs_batch <= position:
            entry = self.entries[self._next]
            expected = self.base_offset + entry.relative_offset
            if entry.ofs_batch < position:
                need = f"the start of a batch, such as {position}"
                self._add_problem(self._next, "position", entry.ofs_batch, need)
            elif last_offset > expected:
                # Brokers of 0.10 and 0.11 stored the first offset.
                if not _holds(batch, expected):
                    self._add_problem(self._next, "the last offset of the batch", expected, last_offset)
            elif last_offset < expected:
                # Brokers before 3.8 stored the last offset of everything appended together.
                self._waiting = self._next, expected
            self._next += 1

    def skip_to(self, position: int) -> None:
        """The log before `position` is damaged: entries for it cannot be checked."""
        self._waiting = None
        while self._next < len(self.entries) and self.entries[self._next].ofs_batch < position:
            self._next += 1

    def end(self, position: int) -> None:
        """The log ends at `position`."""
        if self._waiting is not None:
            self._add_problem(
                self._waiting[0], "the last offset of a batch", self._waiting[1], "the end of the log"
            )
        for slot in range(self._next, len(self.entries)):
            self._add_problem(slot, "position", self.entries[slot].ofs_batch, f"less than {position}")

    def _add_problem(self, slot: int, what: str, have: object, need: object) -> None:
        self.problems.append(Problem(self.path, OFFSET_ENTRY * slot, what, need, have))


def _holds(batch: Batch, offset: int) -> bool:
    try:
        return batch.base_offset <= offset
    except FormatError:
        return False


class TimeIndex:
    """The time index, compared in a pass over the batches."""

    def __init__(self, path: Path, base_offset: int, padded: bool) -> None:
        self.path = path
        self.problems: list[Problem] = []
        self.base_offset = base_offset
        self.largest = -1
        self._next = 0
        self.entries = _entries(path, TIME_ENTRY, time_index.read_entry, _wrong_times, padded, self.problems)

    def pass_by(self, last_offset: int, max_timestamp: int) -> None:
        """A batch of the log with these."""
        self.largest = max(self.largest, max_timestamp)
        while self._next < len(self.entries):
            entry = self.entries[self._next]
            if self.base_offset + entry.relative_offset > last_offset:
                return
            if not entry.timestamp == self.largest == max_timestamp:
                what = f"largest timestamp up to offset {self.base_offset + entry.relative_offset}"
                need = self.largest if entry.timestamp != self.largest else f"a batch with {self.largest}"
                have = entry.timestamp if entry.timestamp != self.largest else max_timestamp
                self.problems.append(Problem(self.path, TIME_ENTRY * self._next, what, need, have))
            self._next += 1

    def end(self, closed: bool) -> None:
        """The log ends; a segment that is closed has its largest timestamp in the last entry."""
        for slot in range(self._next, len(self.entries)):
            offset = self.base_offset + self.entries[slot].relative_offset
            self.problems.append(Problem(self.path, TIME_ENTRY * slot, "offset", "one of the log", offset))
        indexed = self.entries[-1].timestamp if self.entries else -1
        if closed and self._next == len(self.entries) and indexed < self.largest:
            position = TIME_ENTRY * len(self.entries)
            self.problems.append(
                Problem(self.path, position, "largest timestamp of the segment", self.largest, indexed)
            )


def _wrong_offsets(before: offset_index.Entry, entry: offset_index.Entry) -> tuple[str, str, str] | None:
    if entry.relative_offset > before.relative_offset and entry.ofs_batch > before.ofs_batch:
        return None
    need = f"more than {before.relative_offset} and {before.ofs_batch}"
    return "offset and position ascend", need, f"{entry.relative_offset} and {entry.ofs_batch}"


def _wrong_times(before: time_index.Entry, entry: time_index.Entry) -> tuple[str, str, str] | None:
    if entry.timestamp > before.timestamp and entry.relative_offset >= before.relative_offset:
        return None
    need = f"more than {before.timestamp} and at least {before.relative_offset}"
    return "timestamp and offset ascend", need, f"{entry.timestamp} and {entry.relative_offset}"


def _entries(
    path: Path,
    size: int,
    read: Callable[[bytes, int, int], tuple[E, int]],
    wrong: Callable[[E, E], tuple[str, str, str] | None],
    padded: bool,
    problems: list[Problem],
) -> list[E]:
    """The entries of `size` bytes up to the first wrong one, or the zeros at the end; adds the problem.

    `wrong` returns the problem of an entry after another: what, needed, found.
    """
    data = read_regular(path)
    # those that a broker allocates ahead are 10 MiB of zeros
    used = len(data.rstrip(b"\0"))
    entries: list[E] = []
    pos = 0
    while pos + size <= len(data):
        if not any(data[pos : pos + size]) and (pos or not used):
            break
        try:
            entry, pos = read(data, pos, len(data))
        except FormatError as error:
            problems.append(from_error(error, path))
            break
        if entries and (contradiction := wrong(entries[-1], entry)):
            problems.append(Problem(path, pos - size, *contradiction))
            break
        entries.append(entry)
    problems += _check_unused(path, data, used, pos, size, padded)
    return entries


def _check_unused(path: Path, data: bytes, used: int, pos: int, size: int, padded: bool) -> Iterator[Problem]:
    """The rest after the last entry: nothing, or, if the file is `padded`, the zeros from `used` on."""
    if len(data) % size:
        yield Problem(path, len(data) // size * size, "file size", f"a multiple of {size}", len(data))
    if pos < len(data) // size * size and used <= pos:
        if not padded:
            yield Problem(path, pos, "zeros at the end", f"a size of {pos}", len(data))
    elif pos + size <= len(data) and not any(data[pos : pos + size]):
        yield Problem(path, pos, "an entry of zeros before others", "an entry", 0)
