"""The progress of a search: what was read, and what could be skipped."""

from __future__ import annotations

from kodec.runtime.dataclass import dataclass, fields

__all__ = ["SearchReport"]


@dataclass(slots=True)
class SearchReport:
    """The progress of a search.

    Attributes:
        partitions: whose search was begun.
        segments_skipped: whose records are all too old, by index or headers.
        batches_skipped: by their headers; `batches_without`: by their bytes, which were read.
        batches_counted: all of whose records match, by their headers: their bytes were not read.
        batches_read: whose records were read; `records_read`: how many these are.
        records_timeless: left out of a search for a time, as they have none; there may be more.
        bytes_read: of all batches but those that were skipped, as stored.
        found: the matching records.

    Example:
        >>> import kodec
        >>> log = kodec.PartitionLog("/data/kafka-logs/orders-0")
        >>> report = kodec.results.SearchReport()
        >>> _ = list(log.find_records(kodec.RecordFilter(offsets=(10, 19)), report=report))
        >>> report.found, report.batches_skipped > 0
        (10, True)
    """

    partitions: int = 0
    segments_skipped: int = 0
    batches_skipped: int = 0
    batches_without: int = 0
    batches_counted: int = 0
    batches_read: int = 0
    records_read: int = 0
    records_timeless: int = 0
    bytes_read: int = 0
    found: int = 0

    def add(self, other: SearchReport) -> None:
        """Count what another one counted too.

        Args:
            other: the other report.
        """
        for counter in fields(self):
            setattr(self, counter.name, getattr(self, counter.name) + getattr(other, counter.name))
