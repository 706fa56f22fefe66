"""The options of a reader and of a writer, each made once at a public function and handed on whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kodec.log.batches.records import Limits, TimestampType

__all__ = ["EncodeOptions", "OnError", "ReadOptions"]

OnError = Literal["raise", "skip"]
"""What becomes of damage, and of what cannot be read: an error that ends reading, or a range that is skipped,
kept and logged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How a log is read, from `read_records` and the other readers down to the last decoder.

    Attributes:
        check_crc: verify every checksum of what is read.
        control: give control records too.
        on_error: `raise` stops at the first damaged batch; `skip` goes on after it.
        limits: how much may be allocated.

    Raises: ValueError for another `on_error`.
    """

    check_crc: bool = True
    control: bool = False
    on_error: OnError = "raise"
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        if self.on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={self.on_error!r}: expected 'raise' or 'skip'")


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodeOptions:
    """How records are written, as `encode` has it: its arguments, with the same meanings."""

    magic: int = 2
    compression: str = "none"
    level: int | None = None
    base_offset: int | None = None
    timestamp_type: TimestampType | None = None
    partition_leader_epoch: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False
    control: bool = False
    batch_records: int | None = None
    batch_bytes: int = 1_000_000
    lossy: bool = False
