"""What a conversion did, or would do, and what is lost by it."""

from __future__ import annotations

import enum
from pathlib import Path

from kodec.runtime.dataclass import dataclass, field

__all__ = ["ConversionReport", "Loss", "Losses"]

_FIRST = 3


class Loss(enum.Enum):
    """What the new format cannot hold; the value is what `kodec convert` says.

    Example: see `plan_conversion`.
    """

    HEADERS = "records whose headers are gone"
    TIMESTAMPS = "records whose timestamp is gone"
    NEGATIVE_TIMESTAMPS = "records whose negative timestamp is none now"
    PRODUCERS = "batches whose producer and sequence are gone"
    TRANSACTIONAL = "transactional batches that are plain now"
    CONTROL = "control records that are gone"
    ABORTED = "records of aborted transactions that every reader sees now"
    UNDECIDED = "records of open transactions that every reader sees now"
    LEFT_OUT = "records of aborted or open transactions that were left out"
    DELETE_HORIZONS = "batches whose delete horizon is gone"
    LEADER_EPOCHS = "batches whose leader epoch is gone"
    EMPTY = "batches without records that are gone"
    LAST_OFFSETS = "batches whose last offset was above their last record's"


@dataclass(slots=True)
class Losses:
    """How often something was lost, and the first places: name of the segment, and offset."""

    count: int = 0
    first: list[tuple[str, int]] = field(default_factory=list)


@dataclass(slots=True)
class ConversionReport:
    """What a conversion did, or would do.

    Attributes:
        source, target: the folders; `target` is None where nothing was written.
        segments, batches, records, bytes: what was read; control records count.
        segments_written, batches_written, records_written, bytes_written: what came out.
        batches_copied: of the batches that came out, those that stayed as they were.
        losses: what is lost, by kind.
        lost_offsets: (first, last) of offsets that no segment of the source holds, and nothing explains.
        end_segment: the base offset of an empty segment that was added so that the log goes on at the same
            offset, where the last offsets are gone; else None.

    Example: see `plan_conversion`.
    """

    source: Path | None = None
    target: Path | None = None
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
            found = self.losses.setdefault(what, Losses())
            found.count += count
            if len(found.first) < _FIRST:
                found.first.append((segment, offset))
