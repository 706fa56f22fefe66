"""How many bytes things of fixed size take, and where they stand, as their schemas say."""

from __future__ import annotations

from struct import Struct, calcsize

from kodec.generated.log import offset_index, time_index, transaction_index
from kodec.generated.log.producer_snapshot import Entry as SnapshotEntry
from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.generated.log.record_batch import RecordBatch

__all__ = [
    "BATCH_HEAD",
    "COUNT",
    "DELTA",
    "EPOCH",
    "LENGTH",
    "MAGIC",
    "MAX_RELATIVE",
    "MAX_SEGMENT",
    "OFFSET",
    "OFFSET_ENTRY",
    "SNAPSHOT_ENTRY",
    "SNAPSHOT_HEAD",
    "TIME_ENTRY",
    "TXN_ENTRY",
    "Number",
]


class Number:
    """A number that always stands at one place in a type, to be read or set there without the rest.

    Attributes:
        at: where it starts, in bytes from the type's start.
        format: as Python's `struct` has it.
        size: in bytes.
        most: the largest that fits.
    """

    def __init__(self, kind: type[RecordBatch], field: str) -> None:
        self.at, self.format = kind.PLACES[field]
        self._struct = Struct(self.format)
        self.size = self._struct.size
        self.most = (1 << 8 * self.size - self.format[-1].islower()) - 1

    def get(self, data: bytes | bytearray | memoryview, start: int = 0) -> int:
        """The number in the value that starts at `start`, whose bytes up to it must be there."""
        found: int = self._struct.unpack_from(data, start + self.at)[0]
        return found

    def stored(self, value: int) -> bytes:
        """It as bytes. It must fit."""
        return self._struct.pack(value)

    def put(self, data: bytearray, value: int) -> None:
        """Set it in the value that starts `data`. It must fit."""
        self._struct.pack_into(data, self.at, value)


BATCH_HEAD = RecordBatch.PLACES["records"][0]
"""A record batch of magic 2 before its records."""
DELTA, COUNT = Number(RecordBatch, "last_offset_delta"), Number(RecordBatch, "num_records")
"""Of a record batch of magic 2: its last offset, relative to its first, and how many records it has."""
OFFSET_ENTRY = offset_index.Entry.SIZE
TIME_ENTRY = time_index.Entry.SIZE
TXN_ENTRY = transaction_index.Entry.SIZE
SNAPSHOT_HEAD = ProducerSnapshot.PLACES["entries"][0]
SNAPSHOT_ENTRY = SnapshotEntry.SIZE
OFFSET = Number(RecordBatch, "base_offset")
"""The offset in the header of a batch of any magic, which a broker sets in place."""
EPOCH = Number(RecordBatch, "partition_leader_epoch")
"""Of a record batch of magic 2: its leader's epoch, which a broker sets in place."""
LENGTH, MAGIC = Number(RecordBatch, "len_batch"), Number(RecordBatch, "magic")
"""The length of what follows it in a batch, and the format, of a batch of any magic."""
MAX_RELATIVE = (1 << 8 * calcsize(offset_index.Entry.PLACES["relative_offset"][1]) - 1) - 1
"""The largest offset relative to its segment's base offset."""
MAX_SEGMENT = MAX_RELATIVE
"""The most bytes of a segment: a position in the offset index is as wide as a relative offset."""
