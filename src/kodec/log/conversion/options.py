"""The options of a conversion."""

from __future__ import annotations

from typing import Literal

from kodec.log.batches.batch import CODECS
from kodec.log.batches.frame import LISTS, MAGICS, shown_magics
from kodec.log.batches.records import Limits
from kodec.runtime.compression import compress
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import EncodeError
from kodec.runtime.near import meant

__all__ = ["BATCH_BYTES", "ConvertOptions", "NegativeTimestamps"]

BATCH_BYTES = 16_384
"""The size up to which single messages are collected: the default `batch.size` of producers."""


NegativeTimestamps = Literal["refuse", "none"]
"""How to treat timestamps below -1 (-1 means none): raise an error, as Kafka does, or make them none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertOptions:
    """How to convert a log: the format and codec, and how to treat what that format does not support.

    Attributes:
        magic: the format to convert to; None keeps each batch's.
        compression: the codec to compress with; None keeps each batch's.
        level: on the codec's own scale; if given, a batch is recompressed even if its codec stays.
        batch_bytes: the size up to which single messages are collected.
        committed: leave out the records of aborted and undecided transactions, to magic 0 and 1.
        limits: how much may be allocated.
        negative_timestamps: how to treat timestamps below -1, which some producers have sent by mistake
            and Kafka refuses: `refuse` raises EncodeError, `none` makes them -1. Magic 0 drops them in
            any case; batches that are only recompressed keep them.

    Raises: EncodeError for a magic, codec or level that does not exist; ValueError for other
    `negative_timestamps`.

    Example:
        >>> import kodec
        >>> options = kodec.operations.ConvertOptions(compression="zstd", level=9)
        >>> options.magic, options.compression
        (None, 'zstd')
    """

    magic: int | None = None
    compression: str | None = None
    level: int | None = None
    batch_bytes: int = BATCH_BYTES
    committed: bool = False
    limits: Limits = Limits()
    negative_timestamps: NegativeTimestamps = "refuse"

    def __post_init__(self) -> None:
        if self.negative_timestamps not in ("refuse", "none"):
            have = repr(self.negative_timestamps)
            raise ValueError(f"negative_timestamps={have}: expected 'refuse' or 'none'")
        if self.magic is not None and self.magic not in MAGICS:
            raise EncodeError(
                "magic", "unknown message format", need=f"{shown_magics()}, or None", have=self.magic
            )
        if self.compression is not None and self.compression not in CODECS:
            have = self.compression
            reason, need = f"not a codec{meant(have, CODECS)}", f"{', '.join(CODECS)} or None"
            raise EncodeError("compression", reason, need=need, have=have)
        if self.compression is not None and self.level is not None:
            compress(self.compression, b"", level=self.level)

    @property
    def keeps_markers(self) -> bool:
        """Whether control batches stay: if the new format has them."""
        return self.magic is None or self.magic in LISTS
