"""How a log is converted."""

from __future__ import annotations

from typing import Literal

from kodec.log.batches.batch import CODECS
from kodec.log.batches.frame import MAGICS
from kodec.log.batches.records import Limits
from kodec.runtime.compression import compress
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import EncodeError

__all__ = ["BATCH_BYTES", "ConvertOptions", "NegativeTimestamps"]

BATCH_BYTES = 16_384
"""What messages that stand alone are gathered to: the default `batch.size` of producers."""


NegativeTimestamps = Literal["refuse", "none"]
"""What becomes of timestamps below -1, which stands for none: an error, as in Kafka, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertOptions:
    """How a log is converted: to which format and codec, and what becomes of what that cannot hold.

    Attributes:
        magic: the format to convert to; None keeps each batch's.
        compression: the codec to compress with; None keeps each batch's.
        level: on the codec's own scale; with one, a batch is recompressed also where its codec stays.
        batch_bytes: to what size messages that stand alone are gathered.
        committed: leave out the records of aborted and undecided transactions, to magic 0 and 1.
        limits: how much may be allocated.
        negative_timestamps: what becomes of timestamps below -1, which some producers have sent by mistake
            and Kafka refuses: `refuse` raises EncodeError, `none` makes them -1. In magic 0 they are gone in
            any case; batches that are only recompressed keep them.

    Raises: EncodeError for a magic, codec or level that is none; ValueError for other `negative_timestamps`.

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
            raise EncodeError("magic", "unknown message format", need="0, 1, 2 or None", have=self.magic)
        if self.compression is not None and self.compression not in CODECS:
            have = self.compression
            raise EncodeError("compression", "not a codec", need=f"{', '.join(CODECS)} or None", have=have)
        if self.compression is not None and self.level is not None:
            compress(self.compression, b"", level=self.level)

    @property
    def keeps_markers(self) -> bool:
        """Whether control batches stay: where the new format has them."""
        return self.magic in (None, 2)
