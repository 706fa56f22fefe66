"""A log read from an offset to its end, past damage, with an account of what was left out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

from kodec.log import kernel
from kodec.log.batches.batch import Batch
from kodec.log.batches.options import LogReadOptions
from kodec.log.batches.records import Record
from kodec.log.directories.gaps import explain_gap
from kodec.log.directories.losses import require_end
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.producer_state import Marker, marker_of
from kodec.log.directories.segment import Segment
from kodec.log.messages.decoding import Decoded, decode_record
from kodec.log.omissions import Cause, Omission, Omissions, cause_of
from kodec.log.reading.order import Order
from kodec.log.reading.reader import BatchReader
from kodec.log.reading.walk import Walk
from kodec.runtime.errors import FormatError
from kodec.stores.storage import known_as

__all__ = ["batches_of", "decoded", "marker_in", "records_in"]

# A listing is soon out of date; one that is so repeatedly, without a batch, is not a broker's work.
_MOST_LISTINGS = 20


def batches_of(log: PartitionLog, omissions: Omissions, start: int | None = None) -> Iterator[Batch]:
    """The batches from the one that holds `start` on (None: the start of the log), those that are readable.

    Damage is skipped and recorded, and so is a folder that cannot be read. If a broker deletes or compacts
    segments meanwhile, the folder is listed again, as `PartitionLog.batches` does. Raises Malformed for a
    damaged `log-start-offset-checkpoint`.
    """
    try:
        yield from _readable(log, omissions, log.start_offset if start is None else start)
        require_end(log, omissions)
    except FileNotFoundError:
        text = "deleted since the log directory was listed"
        omissions.lose(log.path, text, Cause.ABSENT)
    except OSError as error:
        omissions.failed(log.path, error)


def _readable(log: PartitionLog, omissions: Omissions, offset: int) -> Iterator[Batch]:
    tries, now = 0, log
    while True:
        try:
            for batch in _listed(now, omissions, offset):
                offset, tries = batch.next_offset, 0
                yield batch
            return
        except FileNotFoundError:
            tries += 1
            if tries > _MOST_LISTINGS or not log.path.is_dir():
                raise
        now = PartitionLog(log.path, limits=log.limits)


def _listed(log: PartitionLog, omissions: Omissions, start: int) -> Iterator[Batch]:
    segments = log.segments
    first = max(bisect_right([segment.base_offset for segment in segments], start) - 1, 0)
    expected: int | None = start
    for segment in segments[first:]:
        last = segment is segments[-1]
        if expected is not None and segment.base_offset > expected:
            gap = explain_gap(log, expected, segment.base_offset - 1)
            if not gap.is_explained:
                omissions.gap(log.path, gap.lost, gap.last)
        expected = max(segment.base_offset, start)
        known_losses = len(omissions.losses)
        try:
            position = _position(segment, start)
            segment.close()
            for batch in _segment(log, segment, omissions, position, start, last):
                expected = batch.next_offset
                yield batch
        except FileNotFoundError:
            raise
        except OSError as error:
            omissions.failed(segment.path, error)
        if len(omissions.losses) > known_losses:
            # what cannot be read may have them
            expected = None


def _position(segment: Segment, start: int) -> int:
    """Where to begin, so that nothing from `start` on is missed."""
    if start <= segment.base_offset:
        return 0
    try:
        location = segment.find(start)
    except FormatError:
        # Whoever reads it all reports the error.
        return 0
    return segment.size if location is None else location.position


def _segment(
    log: PartitionLog, segment: Segment, omissions: Omissions, position: int, start: int, last: bool
) -> Iterator[Batch]:
    options = LogReadOptions(on_error="skip", limits=log.limits)
    order = Order(segment.base_offset, known_as(segment.path))
    walk = Walk(segment.path, options, order=order, start=position)
    with BatchReader(walk, walk.items(kernel.batch_decoder(options))) as reader:
        reported = 0
        for batch in reader:
            # before the batch, in case that nobody reads on
            for skipped in reader.skipped[reported:]:
                omissions.skipped(segment.path, skipped)
            reported = len(reader.skipped)
            if batch.last_offset >= start:
                yield batch
        omissions.end(segment.path, reader.skipped, reader.torn_tail, is_last=last)


def records_in(log: PartitionLog, batch: Batch, omissions: Omissions) -> list[Record]:
    """The records of a batch, including control records; none, and a problem, if they do not decode."""
    try:
        return batch.records(control=True, check_crc=False)
    except FormatError as error:
        _unreadable(log, batch, omissions, error)
        return []


def marker_in(log: PartitionLog, batch: Batch, omissions: Omissions) -> Marker | None:
    """The marker in a control batch; None if there is none, and, with a problem, if it does not decode."""
    try:
        return marker_of(batch)
    except FormatError as error:
        _unreadable(log, batch, omissions, error)
        return None


def _unreadable(log: PartitionLog, batch: Batch, omissions: Omissions, error: FormatError) -> None:
    first, last = batch.base_offset, batch.last_offset
    what = f"skipped the records of offsets {first} to {last}: {type(error).__name__}: {error}"
    position = batch.position
    omissions.add(Omission(cause_of(error), log.path, what, position, batch.size, first, last))


def decoded(topic: str, record: Record, omissions: Omissions) -> tuple[Decoded, Decoded | None] | None:
    """The messages in a record of one of Kafka's own topics: key and value, or value and None if the
    topic has no keys; None for an unknown one, which is counted.
    """
    key, value = decode_record(topic, record.key, record.value)
    if key is None and value is None:
        return None
    for part in (key, value):
        if part is not None and part.message is None:
            omissions.add(_unknown(topic, part))
            return None
    if key is None:
        assert value is not None
        return value, None
    return key, value


def _unknown(topic: str, message: Decoded) -> Omission:
    """A record whose message is unknown, or does not decode; those of a kind are counted together."""
    name = message.name or ("no type" if message.number is None else f"type {message.number}")
    version = "" if message.version is None else f" v{message.version}"
    reason = f"{name}{version}: {message.reason}"
    return Omission(Cause.UNKNOWN, Path(topic), reason, records=1)
