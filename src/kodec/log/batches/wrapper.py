"""What a wrapper of compressed messages (magic 0 and 1) says of the messages inside: Kafka's rules, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kodec.log.batches.records import Record, TimestampType

__all__ = ["Wrapper"]

_NONE = TimestampType.NO_TIMESTAMP_TYPE


class Wrapper(NamedTuple):
    """The fields of a wrapper that say what the offsets and timestamps of the messages inside are.

    Attributes:
        magic: 0 or 1.
        offset: that of the last message inside.
        timestamp: ms since epoch, -1 in magic 0.
        timestamp_type: NoTimestampType in magic 0.

    Source: KIP-31, KIP-32; org.apache.kafka.common.record.AbstractLegacyRecordBatch.DeepRecordsIterator.
    """

    magic: int
    offset: int
    timestamp: int
    timestamp_type: TimestampType

    @classmethod
    def of(cls, fields: Mapping[str, int]) -> Wrapper:
        """The wrapper whose fields a kernel has read."""
        magic = fields["magic"]
        kind = TimestampType(fields["timestamp_type"]) if magic else _NONE
        return cls(magic, fields["offset"], fields["timestamp"], kind)

    def base(self, last: int) -> int:
        """What is to be added to each offset inside, the last of which is `last`; below 0: they are damaged.

        Those in magic 0 are absolute, and those in a wrapper that says 0: some producers wrote it so.
        """
        return self.offset - last if self.magic and self.offset else 0

    @property
    def appended(self) -> int | None:
        """The timestamp that replaces those inside, as a broker set it on append; None where they count."""
        return self.timestamp if self.timestamp_type is TimestampType.LOG_APPEND_TIME else None

    def place(self, records: Sequence[Record], last: int | None = None) -> bool:
        """Give the records inside, as they are stored, the offsets and timestamps that they have.

        `last` is the stored offset of the last one inside, where that is not among them.
        Their type is NoTimestampType where the message is of magic 0: it has none, whatever the wrapper says.
        False, and nothing is changed, where the offsets cannot be right.
        """
        base = self.base(records[-1].offset if last is None else last)
        if base < 0:
            return False
        kind, appended = self.timestamp_type, self.appended
        for record in records:
            record.offset += base
            if record.timestamp_type == _NONE:
                record.timestamp_type = _NONE
                continue
            record.timestamp_type = kind
            if appended is not None:
                record.timestamp = appended
        return True
