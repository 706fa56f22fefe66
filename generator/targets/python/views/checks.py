"""Rules that are checked, and what follows a field at which a range ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

__all__ = ["After", "Check", "CrcCheck", "DerivedCheck", "End", "LengthCheck"]


@dataclass(frozen=True, slots=True)
class Check:
    """A rule of one value: `bad` is true where it is broken; `at`, `need` and `have` are for the error."""

    bad: str
    path: str
    reason: str
    at: str
    need: str
    have: str


@dataclass(frozen=True, slots=True)
class DerivedCheck:
    """What was read (`mine`) against what it is derived from; `op` is between them where they disagree."""

    when: str
    mine: str
    wanted: str
    op: str
    path: str
    need: str
    reason: str


@dataclass(frozen=True, slots=True)
class End:
    """Remember where a range ended."""

    kind: ClassVar[str] = "end"
    name: str


@dataclass(frozen=True, slots=True)
class CrcCheck:
    kind: ClassVar[str] = "crc"
    start: str
    end: str
    mine: str
    path: str
    function: str


@dataclass(frozen=True, slots=True)
class LengthCheck:
    kind: ClassVar[str] = "length"
    start: str
    end: str
    mine: str
    path: str
    plus: str


After = End | CrcCheck | LengthCheck
"""What follows a field at which a range ends."""
