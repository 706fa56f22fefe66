"""Stored bytes of a log, as a broker's answer to a fetch has them: whole batches, not decoded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kodec.log.batches.batch import Batch
from kodec.log.batches.records import Limits
from kodec.runtime.dataclass import dataclass, field

# What an overview by headers does not need is imported where it is used.
if TYPE_CHECKING:
    from kodec.generated.wire.message_set_send import MessageSetSend
    from kodec.generated.wire.multi_message_set_send import MultiMessageSetSend

__all__ = ["LogRead", "multi_message_set_send"]


@dataclass(frozen=True, slots=True)
class LogRead:
    """Whole stored batches, from the one that holds `offset` on.

    Attributes:
        offset: as requested; the first batch may start before it.
        next_offset: where to continue reading.
        data: the bytes of the batches; b"" at the end of the log.
        limits: how much may be allocated for one of them.

    Example:
        >>> import kodec
        >>> log = kodec.PartitionLog("/data/kafka-logs/orders-0")
        >>> read = log.read(20, max_bytes=4096)
        >>> read.offset, read.next_offset
        (20, 64)
        >>> next(kodec.read_batches(read.data)).base_offset
        18
    """

    offset: int
    next_offset: int
    data: bytes
    limits: Limits = field(default=Limits(), repr=False, compare=False)

    def batches(self) -> list[Batch]:
        """The batches; positions count in `data`. Raises FormatError for one that is damaged."""
        from kodec.log.reading.reader import read_batches

        return list(read_batches(self.data, limits=self.limits))

    def message_set_send(self) -> MessageSetSend:
        """The read as a fetch result of Kafka 0.7 to 0.8's documents; batches stay as they are stored."""
        from kodec.generated.wire.message_set_send import MessageSetSend

        return MessageSetSend(messages=self.data)


def multi_message_set_send(reads: Iterable[LogRead]) -> MultiMessageSetSend:
    """Several reads as one old fetch result, in their order."""
    from kodec.generated.wire.multi_message_set_send import MultiMessageSetSend

    return MultiMessageSetSend(parts=[read.message_set_send() for read in reads])
