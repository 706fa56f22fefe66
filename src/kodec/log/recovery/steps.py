"""The steps of a recovery: a change of one file, so that a crash at any of them loses nothing.

They are done in the order of the plan. Removed files are moved to the quarantine folder and truncated data is
copied there; both are durable before they leave the log. Segments after the end of a log are removed last to
first, before the log is truncated: were it truncated first, those that a crash leaves would be read as part
of the log. Derived files are replaced whole. So after an interrupted recovery, a new plan leads to the same
result.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path

from kodec.log.files.checkpoints import read_offsets, write_offsets
from kodec.log.files.descriptors import open_file
from kodec.log.files.durable import replace_file, sync_folder
from kodec.log.files.listing import TopicPartition
from kodec.log.files.quarantine import keep_part, move_away
from kodec.log.recovery.contents import Contents
from kodec.runtime.dataclass import dataclass, field

__all__ = ["LowerRecoveryPoint", "Quarantine", "Rename", "Step", "Truncate", "Write"]


class Step(ABC):
    """A change of one file; a subclass makes it and describes it.

    Attributes:
        path: the file.
        truncated_bytes: how many bytes it removes from a log; zeros and leftovers do not count.
    """

    __slots__ = ()
    path: Path

    @property
    def truncated_bytes(self) -> int:
        return 0

    @abstractmethod
    def apply(self, quarantine: Path) -> list[Path]:
        """Make the change durably; return what that has put into the quarantine folder."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The change, after the path of the file, for people."""

    @abstractmethod
    def facts(self) -> dict[str, object]:
        """The change, without the file, as JSON has it."""


def _bytes(size: int) -> str:
    return f"{size} byte{'s' * (size != 1)}"


@dataclass(frozen=True, slots=True)
class Quarantine(Step):
    """A file of `size` bytes that is not part of the log: it is moved to the quarantine folder."""

    path: Path
    size: int
    reason: str

    @property
    def truncated_bytes(self) -> int:
        return self.size if self.path.suffix == ".log" else 0

    def apply(self, quarantine: Path) -> list[Path]:
        return [move_away(self.path, quarantine)]

    @property
    def text(self) -> str:
        return f"{_bytes(self.size)} moved to the quarantine folder: {self.reason}"

    def facts(self) -> dict[str, object]:
        return {"bytes": self.size, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Rename(Step):
    """A replacement that is complete: it is renamed to `target`."""

    path: Path
    target: Path

    def apply(self, quarantine: Path) -> list[Path]:
        self.path.replace(self.target)
        sync_folder(self.target.parent)
        return []

    @property
    def text(self) -> str:
        return f"renamed to {self.target.name}"

    def facts(self) -> dict[str, object]:
        return {"to": str(self.target)}


@dataclass(frozen=True, slots=True)
class Truncate(Step):
    """A log with `size` bytes, of which those from `position` on are invalid: it is truncated there.

    Truncated data is saved to the quarantine folder first, if it is not only zeros.
    """

    path: Path
    position: int
    size: int
    reason: str
    zeros: bool

    @property
    def truncated_bytes(self) -> int:
        return 0 if self.zeros else self.size - self.position

    def apply(self, quarantine: Path) -> list[Path]:
        copies = [] if self.zeros else [keep_part(self.path, self.position, quarantine)]
        with open_file(self.path, os.O_WRONLY) as fd:
            os.ftruncate(fd, self.position)
            os.fsync(fd)
        return copies

    @property
    def text(self) -> str:
        return f"byte {self.position}: {_bytes(self.size - self.position)} truncated: {self.reason}"

    def facts(self) -> dict[str, object]:
        return {"byte": self.position, "bytes": self.size - self.position, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Write(Step):
    """A derived file (index, snapshot, leader epochs): it is rebuilt, with `size` bytes."""

    path: Path
    size: int
    reason: str
    contents: Contents = field(repr=False, compare=False)
    position: int = field(repr=False, compare=False)

    @property
    def data(self) -> bytes:
        """Its new contents. Raises OSError."""
        return self.contents.read(self.position, self.size)

    def apply(self, quarantine: Path) -> list[Path]:
        replace_file(self.path, self.data)
        return []

    @property
    def text(self) -> str:
        return f"rebuilt, {_bytes(self.size)}: {self.reason}"

    def facts(self) -> dict[str, object]:
        return {"bytes": self.size, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class LowerRecoveryPoint(Step):
    """A recovery point in a checkpoint that is above the end of the log: it is lowered to it."""

    path: Path
    topic_partition: TopicPartition
    old: int
    new: int

    def apply(self, quarantine: Path) -> list[Path]:
        points = read_offsets(self.path)
        points[self.topic_partition] = self.new
        write_offsets(self.path, points)
        return []

    @property
    def text(self) -> str:
        return f"{self.topic_partition}: lowered from {self.old} to {self.new}, the end of the log"

    def facts(self) -> dict[str, object]:
        return {"from": self.old, "to": self.new}
