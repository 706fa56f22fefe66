"""A log read from an offset to its end, past damage, with an account of unreadable data."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from kodec.log import kernel
from kodec.log.batches.batch import Batch
from kodec.log.batches.options import LogReadOptions
from kodec.log.batches.records import Record, SkippedRange
from kodec.log.directories.gaps import explain_gap
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.producer_state import Marker, marker_of
from kodec.log.directories.segment import Segment
from kodec.log.messages.decoding import Decoded, decode_record
from kodec.log.reading.order import Order
from kodec.log.reading.reader import BatchReader
from kodec.log.reading.walk import Walk
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import FormatError, KodecError

__all__ = ["Completeness", "batches_of", "decoded", "marker_in", "records_in"]

# A listing is soon out of date; one that is so repeatedly, without a batch, is not a broker's work.
_MOST_LISTINGS = 20


@dataclass(slots=True)
class Completeness:
    """Problems of reading that an answer does not include.

    Attributes:
        problems: damaged or unreadable data, and why: the first 1,000. That data may
            be missing from the answer, or be out of date.
        omitted: the number of further problems.
        skipped_bytes: the number of bytes skipped for them.
        torn: logs whose newest segment ends in a partial batch or in zeros, as after a crash.
        unknown: how many records were of a type or version that is not known, by what they say they are.

    Example: see `read_groups`.
    """

    problems: list[str] = field(default_factory=list)
    omitted: int = 0
    skipped_bytes: int = 0
    torn: list[str] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)

    MOST = 1_000
    """The number of problems, and of kinds of unknown records, that are kept: this bounds memory."""

    @property
    def is_whole(self) -> bool:
        """Whether everything that is stored could be read."""
        return not self.problems

    def problem(self, text: str) -> bool:
        """Keep a further problem, or count it; False for one that is known: a log may be read twice.

        Args:
            text: where it is, and what is wrong.
        """
        if text in self.problems:
            return False
        if len(self.problems) < self.MOST:
            self.problems.append(text)
        else:
            self.omitted += 1
        return True

    def failed(self, path: Path, error: KodecError | OSError) -> None:
        """Something that cannot be read.

        Args:
            path: of the file or folder.
            error: why.
        """
        place = "" if str(path) in str(error) else f"{path}: "
        name = f"{type(error).__name__}: " if isinstance(error, KodecError) else ""
        self.problem(f"{place}{name}{error}")

    def skipped(self, path: Path, found: SkippedRange) -> None:
        """A range of bytes that was skipped.

        Args:
            path: of the file.
            found: the range, with its error.
        """
        kind = type(found.error).__name__
        if self.problem(f"{path}: skipped bytes {found.start} to {found.end}: {kind}: {found.error}"):
            self.skipped_bytes += found.end - found.start

    def not_known(self, message: Decoded) -> None:
        """A record whose message is unknown, or does not decode."""
        name = message.name or ("no type" if message.number is None else f"type {message.number}")
        version = "" if message.version is None else f" v{message.version}"
        text = f"{name}{version}: {message.reason}"
        self.unknown[text if text in self.unknown or len(self.unknown) < self.MOST else "others"] += 1


def batches_of(log: PartitionLog, account: Completeness, start: int | None = None) -> Iterator[Batch]:
    """The batches from the one that holds `start` on (None: the start of the log), those that are readable.

    Damage is skipped and recorded. If a broker deletes or compacts segments meanwhile, the folder is listed
    again, as `PartitionLog.batches` does. Raises OSError if the folder has gone.
    """
    at = log.start_offset if start is None else start
    tries, now = 0, log
    while True:
        try:
            for batch in _listed(now, account, at):
                at, tries = batch.next_offset, 0
                yield batch
            return
        except FileNotFoundError:
            tries += 1
            if tries > _MOST_LISTINGS or not log.path.is_dir():
                raise
        now = PartitionLog(log.path, limits=log.limits)


def _listed(log: PartitionLog, account: Completeness, start: int) -> Iterator[Batch]:
    segments = log.segments
    first = max(bisect_right([each.base_offset for each in segments], start) - 1, 0)
    expected: int | None = start
    for segment in segments[first:]:
        last = segment is segments[-1]
        if expected is not None and segment.base_offset > expected:
            gap = explain_gap(log, expected, segment.base_offset - 1)
            if not gap.is_explained:
                account.problem(f"{log.path}: offsets {gap.lost} to {gap.last} are in no segment")
        expected = max(segment.base_offset, start)
        told = len(account.problems) + account.omitted
        try:
            position = _position(segment, start)
            segment.close()
            for batch in _segment(log, segment, account, position, start, last):
                expected = batch.next_offset
                yield batch
        except FileNotFoundError:
            raise
        except OSError as error:
            account.failed(segment.path, error)
        if len(account.problems) + account.omitted > told:
            # what cannot be read may have them
            expected = None


def _position(segment: Segment, start: int) -> int:
    """Where to begin, so that nothing from `start` on is missed."""
    if start <= segment.base_offset:
        return 0
    try:
        place = segment.find(start)
    except FormatError:
        # Whoever reads it all reports the error.
        return 0
    return segment.size if place is None else place.position


def _segment(
    log: PartitionLog, segment: Segment, account: Completeness, position: int, start: int, last: bool
) -> Iterator[Batch]:
    options = LogReadOptions(on_error="skip", limits=log.limits)
    order = Order(segment.base_offset, str(segment.path))
    walk = Walk(segment.path, options, order=order, start=position)
    with BatchReader(walk, walk.items(kernel.batch_decoder(options))) as reader:
        told = 0
        for batch in reader:
            for each in reader.skipped[told:]:
                account.skipped(segment.path, each)
            told = len(reader.skipped)
            if batch.last_offset >= start:
                yield batch
        for each in reader.skipped[told:]:
            account.skipped(segment.path, each)
        account.omitted += reader.skipped.omitted
        account.skipped_bytes += reader.skipped.omitted_bytes
        tail = reader.torn_tail
    if tail is not None:
        text = f"{segment.path}: ends at byte {tail.position}, {tail.size} bytes before the end of the file: "
        if last and text + tail.reason not in account.torn:
            account.torn.append(text + tail.reason)
        elif not last:
            account.problem(text + tail.reason)


def records_in(log: PartitionLog, batch: Batch, account: Completeness) -> list[Record]:
    """The records of a batch, including control records; none, and a problem, if they do not decode."""
    try:
        return batch.records(control=True, check_crc=False)
    except FormatError as error:
        _unreadable(log, batch, account, error)
        return []


def marker_in(log: PartitionLog, batch: Batch, account: Completeness) -> Marker | None:
    """The marker in a control batch; None if there is none, and, with a problem, if it does not decode."""
    try:
        return marker_of(batch)
    except FormatError as error:
        _unreadable(log, batch, account, error)
        return None


def _unreadable(log: PartitionLog, batch: Batch, account: Completeness, error: FormatError) -> None:
    offsets = f"{batch.base_offset} to {batch.last_offset}"
    what = f"{log.path}: skipped the records of offsets {offsets}: {type(error).__name__}: {error}"
    if account.problem(what):
        account.skipped_bytes += batch.size


def decoded(topic: str, record: Record, account: Completeness) -> tuple[Decoded, Decoded | None] | None:
    """The messages in a record of one of Kafka's own topics: key and value, or value and None if the
    topic has no keys; None for an unknown one, which is counted.
    """
    key, value = decode_record(topic, record.key, record.value)
    if key is None and value is None:
        return None
    for each in (key, value):
        if each is not None and each.message is None:
            account.not_known(each)
            return None
    if key is None:
        assert value is not None
        return value, None
    return key, value
