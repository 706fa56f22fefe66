"""Ranges of message versions: parse, intersect, list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["VersionRange"]

_TEXT = re.compile(r"(\d+)(\+|-(\d+))?\Z")
OPEN = 32767  # a version is an int16


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Versions `first` to `last`, both included; Kafka's notation `3`, `0-4`, `2+`, `none`."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> VersionRange:
        """Read Kafka's notation. Raises ValueError."""
        if text == "none":
            return cls(0, -1)
        match = _TEXT.match(text.strip())
        if match is None:
            raise ValueError(f"`{text}` is not a version range")
        first = int(match[1])
        last = first if match[2] is None else OPEN if match[2] == "+" else int(match[3])
        if last < first or last > OPEN:
            raise ValueError(f"`{text}` runs backwards or beyond {OPEN}")
        return cls(first, last)

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.last + 1))

    def __bool__(self) -> bool:
        return self.last >= self.first

    def intersect(self, other: VersionRange) -> VersionRange:
        return VersionRange(max(self.first, other.first), min(self.last, other.last))

    def __str__(self) -> str:
        if not self:
            return "none"
        if self.first == self.last:
            return str(self.first)
        return f"{self.first}+" if self.last == OPEN else f"{self.first}-{self.last}"
