"""The options of a reader and of a writer, each created once in a public function and passed on whole."""

from __future__ import annotations

from typing import Literal

from kodec.log.arguments import require
from kodec.log.batches.records import Limits, TimestampType
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import ArgumentError, EncodeError

__all__ = ["EncodeOptions", "LogReadOptions", "OnError"]

OnError = Literal["raise", "skip"]
"""How to treat damaged and unreadable data: an error that ends reading, or a range that is skipped,
kept and logged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReadOptions:
    """How a log is read, from `read_records` and the other readers down to the last decoder.

    Attributes:
        check_crc: verify every checksum of what is read.
        control: also return control records.
        on_error: `raise` stops at the first damaged batch; `skip` continues after it.
        limits: how much may be allocated.

    Raises: ArgumentError for another `on_error`, and for invalid limits.
    """

    check_crc: bool = True
    control: bool = False
    on_error: OnError = "raise"
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        if self.on_error not in ("raise", "skip"):
            raise ArgumentError(f"on_error={self.on_error!r}: expected 'raise' or 'skip'")
        require("limits", self.limits, Limits, "kodec.Limits(...) is needed")


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodeOptions:
    """How records are written: the arguments of `encode`, with the same meanings."""

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

    def __post_init__(self) -> None:
        if not isinstance(self.compression, str):
            need, have = 'a codec\'s name; "none" for none', type(self.compression).__name__
            raise EncodeError("compression", "not the name of a codec", need=need, have=have)
        for name in _INTEGERS:
            value = getattr(self, name)
            if not isinstance(value, int) and not (value is None and name in _OR_NONE):
                need = "int or None" if name in _OR_NONE else "int"
                raise EncodeError(name, "not a whole number", need=need, have=type(value).__name__)
        if self.timestamp_type is not None and self.timestamp_type not in set(map(int, TimestampType)):
            need, have = "a TimestampType, or None", repr(self.timestamp_type)
            raise EncodeError("timestamp_type", "not a type of timestamps", need=need, have=have)


_OR_NONE = ("level", "base_offset", "batch_records")
_INTEGERS = (
    *_OR_NONE,
    "magic",
    "partition_leader_epoch",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "batch_bytes",
)
