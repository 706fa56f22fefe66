"""How a log is converted."""

from __future__ import annotations

from dataclasses import dataclass

from kodec.log.batches.records import Limits
from kodec.runtime.compression import compress

__all__ = ["BATCH_BYTES", "ConvertOptions"]

BATCH_BYTES = 16_384
"""What messages that stand alone are gathered to: the default `batch.size` of producers."""


@dataclass(frozen=True, slots=True)
class ConvertOptions:
    """How a log is converted; see `kodec.convert_batches`. Raises EncodeError for a level out of range."""

    magic: int | None = None
    compression: str | None = None
    level: int | None = None
    batch_bytes: int = BATCH_BYTES
    committed: bool = False
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        if self.compression is not None and self.level is not None:
            compress(self.compression, b"", level=self.level)

    @property
    def keeps_markers(self) -> bool:
        """Whether control batches stay: where the new format has them."""
        return self.magic in (None, 2)
