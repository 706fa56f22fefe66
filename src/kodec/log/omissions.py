"""The account of what a result lacks: what was left out, where, why, and how much.

Every reader, job and command keeps one. The rules, the same for Python and Java (`Cause.java`):

| cause | meaning | `on_error="raise"` | `"skip"` | `"skip-unreachable"` |
|---|---|---|---|---|
| damaged | stored bytes are wrong, or a block of the disk cannot be read | error | left out | left out |
| unknown | a magic, codec, version or name that is not known, or over a limit | error | left out | left out |
| missing | no file holds it, and something shows that it existed | error | left out | left out |
| unreachable | it is listed, and cannot be opened or read as what its name says | error | error | left out |
| unfinished | a partial batch at the end of the newest segment, or a compaction | said | said | said |
| absent | rightly: deleted, replaced, or a replica that is not in use | said | said | said |

The first four are losses: a command whose result lacks something for one of them ends with exit code 1.
Nothing unreachable counts as read: it is in no checkpoint of a stream and in no commit of a table.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kodec.runtime.dataclass import dataclass, field, replace
from kodec.runtime.errors import (
    FormatError,
    KodecError,
    LimitExceeded,
    OffsetsMissing,
    ReadFailed,
    Unsupported,
)

if TYPE_CHECKING:
    from kodec.log.batches.records import SkippedRange, SkippedRanges, TornTail

__all__ = ["Cause", "Omission", "Omissions", "cause_of"]


class Cause(enum.Enum):
    """Why something is not in a result: the table in `kodec.log.omissions` has the rules.

    Example: see `Omissions`.
    """

    DAMAGED = "damaged"
    UNKNOWN = "unknown"
    MISSING = "missing"
    UNREACHABLE = "unreachable"
    UNFINISHED = "unfinished"
    ABSENT = "absent"

    @property
    def is_loss(self) -> bool:
        """Whether a result without it is not whole."""
        return self not in (Cause.UNFINISHED, Cause.ABSENT)


@dataclass(frozen=True, slots=True)
class Omission:
    """One thing that a result lacks.

    Attributes:
        cause: what kind of thing it is.
        path: the file or folder.
        reason: what is wrong, for people; with the place in the file, if it is a part of one.
        position, size: the bytes in the file; None if it is not a part of a file.
        first_offset, last_offset: the offsets, both inclusive; None if they are not known.
        records: how many records; None if that is not known.

    Example: see `Omissions`.
    """

    cause: Cause
    path: Path
    reason: str
    position: int | None = None
    size: int | None = None
    first_offset: int | None = None
    last_offset: int | None = None
    records: int | None = None

    def __str__(self) -> str:
        counted = "" if self.records is None else f" ({self.records} record{'s' * (self.records != 1)})"
        return (self.reason if str(self.path) in self.reason else f"{self.path}: {self.reason}") + counted

    def facts(self) -> dict[str, object]:
        """The attributes that are known, as JSON has them."""
        named = {
            "cause": self.cause.value,
            "path": str(self.path),
            "reason": self.reason,
            "position": self.position,
            "size": self.size,
            "firstOffset": self.first_offset,
            "lastOffset": self.last_offset,
            "records": self.records,
        }
        return {name: value for name, value in named.items() if value is not None}


def cause_of(error: BaseException) -> Cause:
    """The cause that an error of a reader stands for."""
    if isinstance(error, (Unsupported, LimitExceeded)):
        return Cause.UNKNOWN
    if isinstance(error, OffsetsMissing):
        return Cause.MISSING
    return Cause.UNREACHABLE if isinstance(error, OSError) else Cause.DAMAGED


@dataclass(slots=True)
class Omissions:
    """What a result lacks, each thing once, in the order in which it was noticed.

    Attributes:
        items: the first 1,000: this bounds memory.
        more: the number of further ones.
        more_losses: how many of these are losses.

    Example:
        >>> import kodec
        >>> groups = kodec.operations.read_groups("/data/kafka-logs")
        >>> groups.omissions.is_whole, list(groups.omissions)
        (True, [])
    """

    items: list[Omission] = field(default_factory=list)
    more: int = 0
    more_losses: int = 0
    _places: dict[Omission, int] = field(default_factory=dict, repr=False, compare=False)

    MOST = 1_000
    """The number of items that are kept."""

    def __iter__(self) -> Iterator[Omission]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items) + self.more

    @property
    def is_whole(self) -> bool:
        """Whether the result has everything that it should have."""
        return not self.more_losses and not any(item.cause.is_loss for item in self.items)

    @property
    def losses(self) -> list[Omission]:
        """The items that should be in the result."""
        return [item for item in self.items if item.cause.is_loss]

    @property
    def unread(self) -> list[Omission]:
        """The losses but for records whose message is not known, which a later Kafka wrote."""
        return [loss for loss in self.losses if loss.cause is not Cause.UNKNOWN or loss.records is None]

    @property
    def skipped_bytes(self) -> int:
        """The number of bytes of files that were skipped, as far as it is known."""
        return sum(item.size or 0 for item in self.items if item.cause.is_loss)

    def facts(self) -> dict[str, object]:
        """The items as JSON has them."""
        return {"leftOut": [item.facts() for item in self], "more": self.more}

    def add(self, omission: Omission) -> bool:
        """Keep a further item, or count it; False for one that is known: a log may be read twice.

        Items that differ in the number of records alone are one, with their sum.

        Args:
            omission: the item.
        """
        key = omission if omission.records is None else replace(omission, records=0)
        index = self._places.get(key)
        if index is not None:
            if omission.records is not None:
                known = self.items[index]
                self.items[index] = replace(known, records=(known.records or 0) + omission.records)
            return False
        if len(self.items) < self.MOST:
            self._places[key] = len(self.items)
            self.items.append(omission)
        else:
            self.more += 1
            self.more_losses += omission.cause.is_loss
        return True

    def extend(self, omissions: Iterable[Omission]) -> None:
        """Keep further items.

        Args:
            omissions: the items, or another account.
        """
        for omission in omissions:
            self.add(omission)
        if isinstance(omissions, Omissions):
            self.more += omissions.more
            self.more_losses += omissions.more_losses

    def lose(self, path: Path, reason: str, cause: Cause = Cause.DAMAGED) -> bool:
        """Something that is left out as a whole; the rest as `add`.

        Args:
            path: of the file or folder.
            reason: what is wrong, for people.
            cause: what kind of thing it is.
        """
        return self.add(Omission(cause, path, reason))

    def failed(self, path: Path, error: KodecError | OSError) -> bool:
        """Something that cannot be read; the rest as `add`.

        Args:
            path: of the file or folder.
            error: why.
        """
        if isinstance(error, OffsetsMissing):
            return self.gap(Path(error.log), error.first, error.last, error.reason)
        name = f"{type(error).__name__}: " if isinstance(error, KodecError) else ""
        position = error.at if isinstance(error, (FormatError, ReadFailed)) else None
        return self.add(Omission(cause_of(error), path, f"{name}{error}", position))

    def skipped(self, path: Path, found: SkippedRange) -> bool:
        """Bytes of a file that were skipped; the rest as `add`.

        Args:
            path: of the file.
            found: the range, with its error.
        """
        # a block of a disk that cannot be read is damage: no later try will get it
        cause = Cause.DAMAGED if isinstance(found.error, ReadFailed) else cause_of(found.error)
        reason = f"skipped bytes {found.start} to {found.end}: {type(found.error).__name__}: {found.error}"
        return self.add(Omission(cause, path, reason, found.start, found.end - found.start))

    def end(self, path: Path, skipped: SkippedRanges, tail: TornTail | None, *, is_last: bool) -> None:
        """What the reader of a file left out, once it has come to its end.

        Args:
            path: of the file.
            skipped, tail: as the reader has them.
            is_last: as in `torn_tail`.
        """
        for skipped_range in skipped:
            self.skipped(path, skipped_range)
        if skipped.omitted:
            text = f"{skipped.omitted} further ranges were skipped, {skipped.omitted_bytes} bytes"
            self.add(Omission(Cause.DAMAGED, path, text, size=skipped.omitted_bytes))
        if tail is not None:
            self.torn_tail(path, tail, is_last=is_last)

    def torn_tail(self, path: Path, tail: TornTail, *, is_last: bool) -> bool:
        """Bytes at the end of a file that are not a whole batch; the rest as `add`.

        Args:
            path: of the file.
            tail: where and why.
            is_last: whether it is the newest segment, to which a broker may write: then it is unfinished.
        """
        text = f"ends at byte {tail.position}, {tail.size} bytes before the end of the file: {tail.reason}"
        cause = Cause.UNFINISHED if is_last else Cause.DAMAGED
        return self.add(Omission(cause, path, text, tail.position, tail.size))

    def gap(self, path: Path, first: int, last: int, reason: str = "they are in no segment") -> bool:
        """Offsets that a log has lost; the rest as `add`.

        Args:
            path: of the log's folder.
            first, last: the offsets, both inclusive.
            reason: how that is known.
        """
        text = f"offsets {first} to {last} are missing: {reason}"
        return self.add(Omission(Cause.MISSING, path, text, first_offset=first, last_offset=last))
