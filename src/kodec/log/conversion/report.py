"""The result and the losses of a conversion."""

from __future__ import annotations

import enum
from pathlib import Path

from kodec.runtime.dataclass import dataclass, field

__all__ = ["ConversionReport", "Loss", "Losses"]

_FIRST = 3


class Loss(enum.Enum):
    """What the new format does not support; the value is the text of `kodec convert`.

    Example: see `plan_conversion`.
    """

    HEADERS = "records that lose their headers"
    TIMESTAMPS = "records that lose their timestamp"
    NEGATIVE_TIMESTAMPS = "records whose negative timestamp becomes none"
    PRODUCERS = "batches that lose their producer and sequence"
    TRANSACTIONAL = "transactional batches that become plain"
    CONTROL = "control records that are dropped"
    ABORTED = "records of aborted transactions that become visible"
    UNDECIDED = "records of open transactions that become visible"
    LEFT_OUT = "records of aborted or open transactions that are left out"
    DELETE_HORIZONS = "batches that lose their delete horizon"
    LEADER_EPOCHS = "batches that lose their leader epoch"
    HEADER_FIELDS = "batches that lose a field or flag of their header"
    EMPTY = "batches without records that are dropped"
    SNAPSHOTS = "producer snapshots that the log contradicts, which are left out"
    LAST_OFFSETS = "batches whose last offset was above their last record's"


@dataclass(slots=True)
class Losses:
    """How often something was lost, and the first places: segment name and offset."""

    count: int = 0
    first: list[tuple[str, int]] = field(default_factory=list)


@dataclass(slots=True)
class ConversionReport:
    """The result of a conversion, or of its preview.

    Attributes:
        source, target: the folders; `target` is None if nothing was written.
        segments, batches, records, bytes: what was read; control records count.
        segments_written, batches_written, records_written, bytes_written: what was written.
        batches_copied: of the written batches, those copied unchanged.
        losses: losses by kind.
        lost_offsets: (first, last) of offsets that are missing from the source without an explanation.
        end_segment: the base offset of an empty segment that was added so that the log continues at the same
            offset, if the last offsets are gone; else None.

    Example: see `plan_conversion`.
    """

    source: Path | None = None
    target: Path | None = field(default=None, compare=False)
    segments: int = 0
    batches: int = 0
    records: int = 0
    bytes: int = 0
    segments_written: int = 0
    batches_written: int = 0
    batches_copied: int = 0
    records_written: int = 0
    bytes_written: int = 0
    losses: dict[Loss, Losses] = field(default_factory=dict)
    lost_offsets: list[tuple[int, int]] = field(default_factory=list)
    end_segment: int | None = None

    def lose(self, what: Loss, count: int, segment: str, offset: int) -> None:
        """Note that something is lost `count` times, at `offset` first.

        Args:
            what: the kind of loss.
            segment: the file in which it was.
        """
        if count:
            losses = self.losses.setdefault(what, Losses())
            losses.count += count
            if len(losses.first) < _FIRST:
                losses.first.append((segment, offset))
