"""How a wrapper of compressed messages (magic 0 and 1) determines those inside: Kafka's rules, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kodec.log.batches.records import Record, TimestampType

__all__ = ["Wrapper"]

_NONE = TimestampType.NO_TIMESTAMP_TYPE


class Wrapper(NamedTuple):
    """The fields of a wrapper that determine the offsets and timestamps of the messages inside.

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
        """The number to add to each offset inside, the last of which is `last`; below 0: damaged.

        Those in magic 0 are absolute, and so are those in a wrapper with offset 0, as some producers wrote
        it.
        """
        return self.offset - last if self.magic and self.offset else 0

    @property
    def appended(self) -> int | None:
        """The timestamp that replaces those inside, as a broker set it on append; None if theirs apply."""
        return self.timestamp if self.timestamp_type is TimestampType.LOG_APPEND_TIME else None

    def place(self, records: Sequence[Record], last: int | None = None) -> bool:
        """Set the offsets and timestamps of the stored records inside.

        `last` is the stored offset of the last one inside, if that is not among them.
        Their type is NoTimestampType if the message is of magic 0: it has none, regardless of the wrapper.
        Returns false and changes nothing if the offsets are impossible.
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
