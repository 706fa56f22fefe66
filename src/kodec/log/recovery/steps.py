"""The steps of a recovery: a change of one file, with its facts."""

from __future__ import annotations

from pathlib import Path

from kodec.log.files.listing import TopicPartition
from kodec.log.recovery.contents import Contents
from kodec.runtime.dataclass import dataclass, field

__all__ = ["LowerRecoveryPoint", "Quarantine", "Rename", "Step", "Truncate", "Write"]


@dataclass(frozen=True, slots=True)
class Quarantine:
    """A file of `size` bytes that is not part of the log: it is moved to the quarantine folder."""

    path: Path
    size: int
    reason: str


@dataclass(frozen=True, slots=True)
class Rename:
    """A replacement that is complete: it is renamed to `target`."""

    path: Path
    target: Path


@dataclass(frozen=True, slots=True)
class Truncate:
    """A log with `size` invalid bytes from `position` on: it is truncated there.

    Truncated data is saved to the quarantine folder first, if it is not only zeros.
    """

    path: Path
    position: int
    size: int
    reason: str
    zeros: bool


@dataclass(frozen=True, slots=True)
class Write:
    """A derived file (index, snapshot, leader epochs): it is rebuilt, with `size` bytes."""

    path: Path
    size: int
    reason: str
    contents: Contents = field(repr=False, compare=False)
    at: int = field(repr=False, compare=False)

    @property
    def data(self) -> bytes:
        """Its new contents. Raises OSError."""
        return self.contents.read(self.at, self.size)


@dataclass(frozen=True, slots=True)
class LowerRecoveryPoint:
    """A recovery point in a checkpoint that is above the end of the log: it is lowered to it."""

    path: Path
    topic_partition: TopicPartition
    old: int
    new: int


Step = Quarantine | Rename | Truncate | Write | LowerRecoveryPoint
