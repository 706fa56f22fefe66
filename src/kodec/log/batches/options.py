"""The options of a reader and of a writer, each created once in a public function and passed on whole."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, NoneType
from typing import Any, Literal, get_args

from kodec.log.arguments import require
from kodec.log.batches.batch import Batch
from kodec.log.batches.format import KAFKA
from kodec.log.batches.records import Limits, Owner, TimestampType
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import ArgumentError, EncodeError
from kodec.runtime.near import meant

__all__ = ["EncodeOptions", "LikeOptions", "LogReadOptions", "OnError"]

OnError = Literal["raise", "skip", "skip-unreachable"]
"""How to treat what cannot be read: an error that ends reading; or what is damaged, unknown or missing is
left out and kept in the account (`kodec.log.omissions`); or also what is refused or unreachable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReadOptions:
    """How a log is read, from `read_records` and the other readers down to the last decoder.

    Attributes:
        check_crc: verify every checksum of what is read.
        control: also return control records.
        on_error: `raise` stops at the first damaged batch; `skip` continues after it; `skip-unreachable`
            continues also after a file or folder that cannot be opened.
        limits: how much may be allocated.
        topic_partition: the topic-partition of the records; None: unknown.

    Raises: ArgumentError for another `on_error`, and for invalid limits.
    """

    check_crc: bool = True
    control: bool = False
    on_error: OnError = "raise"
    limits: Limits = Limits()
    topic_partition: Owner = None

    def __post_init__(self) -> None:
        if self.on_error not in get_args(OnError):
            known = ", ".join(map(repr, get_args(OnError)))
            near = meant(self.on_error, get_args(OnError))
            raise ArgumentError(f"on_error={self.on_error!r}: expected one of {known}{near}")
        require("limits", self.limits, Limits, "kodec.Limits(...) is needed")

    @property
    def skips(self) -> bool:
        """Whether what is damaged, unknown or missing is left out."""
        return self.on_error != "raise"

    @property
    def skips_unreachable(self) -> bool:
        """Whether what is refused or unreachable is left out too."""
        return self.on_error == "skip-unreachable"


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodeOptions:
    """How records are written: the arguments of `encode`, with the same meanings."""

    magic: int = KAFKA.written
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
    extra: Mapping[str, Any] = MappingProxyType({})

    def __post_init__(self) -> None:
        if not isinstance(self.extra, Mapping):
            need, have = "values by the names of fields", type(self.extra).__name__
            raise EncodeError("extra", "no mapping", need=need, have=have)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LikeOptions(EncodeOptions):
    """The arguments of `encode`: also the batch that the records come from."""

    like: Batch | None = None

    def __post_init__(self) -> None:
        EncodeOptions.__post_init__(self)
        if not isinstance(self.like, (Batch, NoneType)):
            need, have = "a kodec.Batch, or None", type(self.like).__name__
            raise EncodeError("like", "not a batch", need=need, have=have)


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
