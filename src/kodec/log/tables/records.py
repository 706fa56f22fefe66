"""The records of one log or of many."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from kodec.log.backends.scan import EVERY
from kodec.log.batches.batch import Batch
from kodec.log.batches.options import LogReadOptions, OnError
from kodec.log.batches.records import Limits, Record
from kodec.log.files.listing import topic_partition_of
from kodec.log.reading.reader import Reader, RecordReader
from kodec.log.reading.source import Source
from kodec.log.reading.walk import Walk
from kodec.log.selection import Bounds, Isolation, Keys, Partitions, Selection, TimeBounds, Topics
from kodec.runtime.dataclass import replace

if TYPE_CHECKING:
    from kodec.log.tables.chosen import LogsSource, Piece
    from kodec.log.tables.several import Part, SeveralLogs

__all__ = ["read_records"]


def read_records(
    source: LogsSource,
    *,
    topics: Topics = None,
    partitions: Partitions = None,
    offsets: Bounds = None,
    timestamps: TimeBounds = None,
    isolation: Isolation = "read_uncommitted",
    keys: Keys = None,
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
            directory's internal topics only if `topics` names them.
        topics, partitions: only these: a name or a number, or several; an empty list selects none.
        offsets: only these, of each topic-partition: (first, last), both included, where None is unbounded;
            or a `range`, without its end as everywhere in Python; or one offset.
        timestamps: the same, (first, last), each a datetime with a zone, or ms since 1970-01-01 UTC; a record
            without a timestamp is in no range.
        isolation: `read_committed` leaves out the records of aborted transactions, and all from the first
            undecided one on.
        keys: only records with one of these keys, as bytes, or as a text in UTF-8.
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

    Returns: an iterator of `Record`, each with its topic and partition if the source shows them, and with
        `position`, `torn_tail` and `skipped`.
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
        >>> records = kodec.read_records("/data/kafka-logs", topics="orders", offsets=range(5))
        >>> [(record.partition, record.offset) for record in records][-3:]
        [(2, 2), (2, 3), (2, 4)]
    """
    selection = Selection.of(topics, partitions, offsets, timestamps, isolation, keys)
    options = LogReadOptions(check_crc=check_crc, control=control, on_error=on_error, limits=limits)
    if selection.is_all and _is_one(source):
        return _of_one(source, options)
    # what knows directories takes as long to import as all that a file needs
    from kodec.log.tables.chosen import ChosenLogs, chosen_logs
    from kodec.log.tables.committed import Committed
    from kodec.log.tables.several import SeveralLogs

    logs, test = chosen_logs(source, selection, options), selection.test
    committed = Committed(selection, options)
    if not isinstance(logs, ChosenLogs):
        stable = committed.of_source(logs)
        stable_test = replace(selection, offsets=stable.within(selection.offsets)).test
        return _of_one(logs, options, stable_test, stable.drops)

    def opened(part: Part, piece: Piece) -> tuple[Reader[Record], Iterator[tuple[int, list[Record]]]]:
        part_options, stable = replace(options, topic_partition=piece.owner), committed.of(piece)
        walk = Walk(
            part.path, part_options, order=part.order, start=part.start, stop=part.stop, last=part.last
        )
        reader = RecordReader(walk, part_options, test, stable.drops)
        return reader, reader.lists(stable.within(part.offsets))

    since = selection.timestamps.first if selection.timestamps != EVERY else None
    return SeveralRecords(SeveralLogs(logs, options, opened, selection.offsets, since))


def _of_one(
    source: Source,
    options: LogReadOptions,
    test: Callable[[Record], bool] | None = None,
    drops: Callable[[Batch], bool] | None = None,
) -> RecordReader:
    if isinstance(source, (str, os.PathLike)):
        options = replace(options, topic_partition=topic_partition_of(source))
    return RecordReader(Walk(source, options, order=True), options, test, drops)


def _is_one(source: LogsSource) -> TypeGuard[Source]:
    """Whether a source is plainly one file; where this says no, it may still be one."""
    if isinstance(source, (str, os.PathLike)):
        return Path(source).is_file()
    return isinstance(source, (bytes, bytearray, memoryview, io.IOBase))


class SeveralRecords(RecordReader):
    """The records of several logs."""

    def __init__(self, logs: SeveralLogs[list[Record]]) -> None:
        Reader.__init__(self, logs, chain.from_iterable(logs.items()))

    @property
    def position(self) -> int:
        return self._walk.position
