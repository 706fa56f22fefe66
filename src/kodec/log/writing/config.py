"""The settings of a topic that a writer follows."""

from __future__ import annotations

from kodec.log.arguments import require_integer
from kodec.log.batches.sizes import MAX_SEGMENT
from kodec.log.files.indexes import INDEX_INTERVAL, MAX_INDEX
from kodec.runtime.dataclass import dataclass

__all__ = ["LogConfig"]

_NEVER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class LogConfig:
    """A topic's settings, with Kafka's names and defaults.

    Attributes:
        segment_bytes: `segment.bytes`, the maximum size of a segment.
        segment_ms: `segment.ms`, how much later than the first batch's largest timestamp a batch's may be
            before a new segment is begun; if the first batch has none, the clock since the segment was
            begun counts.
        segment_index_bytes: `segment.index.bytes`, the maximum size of an index.
        index_interval_bytes: `index.interval.bytes`, the bytes between two entries of the offset index.
        flush_messages: `flush.messages`, after how many offsets since the last flush `append` flushes.
        flush_ms: `flush.ms`, after how many milliseconds since the last flush `append` flushes.

    Example:
        >>> import kodec
        >>> config = kodec.LogConfig(segment_bytes=1 << 20, flush_messages=1000)
        >>> with kodec.LogWriter("orders-0", config=config) as log:
        ...     log.append([kodec.Record(value=b"v")]).last_offset
        0
    """

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3600 * 1000
    segment_index_bytes: int = MAX_INDEX
    index_interval_bytes: int = INDEX_INTERVAL
    flush_messages: int = _NEVER
    flush_ms: int = _NEVER

    def __post_init__(self) -> None:
        for name, least, most in (
            ("segment_bytes", 1, MAX_SEGMENT),
            ("segment_ms", 1, _NEVER),
            # room for two entries of the time index: the last one has its own place
            ("segment_index_bytes", 24, MAX_SEGMENT),
            ("index_interval_bytes", 0, MAX_SEGMENT),
            ("flush_messages", 1, _NEVER),
            ("flush_ms", 0, _NEVER),
        ):
            value = getattr(self, name)
            require_integer(name, value)
            if not least <= value <= most:
                raise ValueError(f"{name}={value}: expected {least} to {most}")
