"""The records of one log or of many."""

from __future__ import annotations

import io
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from kodec.log.batches.options import LogReadOptions, OnError
from kodec.log.batches.records import Limits, Record
from kodec.log.reading.reader import Reader, RecordReader
from kodec.log.reading.reader import read_records as read_one
from kodec.log.reading.source import Source
from kodec.log.reading.walk import Walk

if TYPE_CHECKING:
    from kodec.log.tables.chosen import LogsSource, Piece
    from kodec.log.tables.several import Part, SeveralLogs

__all__ = ["read_records"]


def read_records(
    source: LogsSource,
    *,
    topics: Collection[str] | str | None = None,
    partitions: Collection[int] | int | None = None,
    check_crc: bool = True,
    control: bool = False,
    on_error: OnError = "raise",
    limits: Limits = Limits(),
) -> RecordReader:
    """Read the logical records of logs, of formats v0, v1 and v2 in any mix, in stored order.

    Args:
        source: a path, bytes-like, or a file opened for reading in binary (read from its current position):
            one segment, or any file with batches. Or many: the path of a log directory or of a
            topic-partition's folder, a glob, a `LogDirectory`, a `PartitionLog`, a `Segment`, or a list of
            these. They are read by topic, partition and offset, each log from its start offset; a log
            directory's internal topics only if `topics` names them. `LogDirectory.find_records` also
            returns the topic-partition of a record.
        topics, partitions: only these.
        check_crc: verify every checksum.
        control: also yield control records, as ControlRecord.
        on_error: `raise` stops at the first corrupt batch; `skip` skips it as a whole, continues at the next
            batch that cannot be a part of it (docs/reading.md), and keeps the range in `.skipped`. Blocks
            of a file that the system cannot read are skipped in the same way; a stream ends there in either
            case.
        limits: how much may be allocated.

    If the source has the name of a segment (``00000000000000000000.log``), a batch whose offsets do not
    ascend, or are outside the segment, is corrupt too: no checksum covers them.

    A partial batch at the end (a crash, a copy cut short) or zeros (a preallocated file) ends reading without
    an error: `.torn_tail` has the place and the reason.

    The reader is for one thread at a time, as iterators are; its records may be used by any.

    Returns: an iterator of `Record`, with `position`, `torn_tail` and `skipped`.
    Raises: FormatError (Truncated, Malformed, CrcMismatch, Unsupported, LimitExceeded) with the byte, the
        field, what was needed and what was found; OSError for a path, ReadFailed (also an OSError) where it
        cannot be read on; NotALog (a ValueError) for a folder that holds no log; NoSuchPartition (a KeyError)
        for a missing topic or partition; ArgumentError (a TypeError and ValueError) for another
        source, and for a topic-partition in two places.

    Example:
        >>> import kodec
        >>> segment = "/data/kafka-logs/orders-0/00000000000000000000.log"
        >>> reader = kodec.read_records(segment)
        >>> record = next(reader)
        >>> record.offset, record.timestamp, record.key
        (0, 1700000006000, b'customer-0')
        >>> len(list(kodec.read_records("/data/kafka-logs", topics="orders")))
        1200
    """
    if topics is None and partitions is None and _is_one(source):
        return read_one(source, check_crc=check_crc, control=control, on_error=on_error, limits=limits)
    # what knows directories takes as long to import as all that a file needs
    from kodec.log.tables.chosen import ChosenLogs, chosen_logs
    from kodec.log.tables.several import SeveralLogs

    chosen = chosen_logs(source, topics, partitions, limits)
    if not isinstance(chosen, ChosenLogs):
        return read_one(chosen, check_crc=check_crc, control=control, on_error=on_error, limits=limits)
    options = LogReadOptions(check_crc=check_crc, control=control, on_error=on_error, limits=limits)

    def opened(part: Part, _: Piece) -> tuple[Reader[Record], Iterator[tuple[int, Record]]]:
        walk = Walk(part.path, options, order=part.order, start=part.start, stop=part.stop, last=part.last)
        reader, first = RecordReader(walk, options), part.offsets.first
        return reader, ((each.offset, each) for each in reader if each.offset >= first)

    return SeveralRecords(SeveralLogs(chosen, options, opened))


def _is_one(source: LogsSource) -> TypeGuard[Source]:
    """Whether a source is plainly one file; where this says no, it may still be one."""
    if isinstance(source, (str, os.PathLike)):
        return Path(source).is_file()
    return isinstance(source, (bytes, bytearray, memoryview, io.IOBase))


class SeveralRecords(RecordReader):
    """The records of several logs."""

    def __init__(self, logs: SeveralLogs[Record]) -> None:
        Reader.__init__(self, logs, logs.items())

    @property
    def position(self) -> int:
        return self._walk.position
