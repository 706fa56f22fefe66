"""The batches of a log from an offset on, segment by segment, and the check that none is missing between."""

from __future__ import annotations

import errno
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import zip_longest

from kodec.log.batches.batch import Batch
from kodec.log.directories.column_search import Part
from kodec.log.directories.losses import report_gap
from kodec.log.directories.searchable import Searchable
from kodec.log.directories.segment import BatchHeader, Segment
from kodec.log.omissions import Omissions
from kodec.log.reading.order import Order
from kodec.runtime.errors import FormatError

__all__ = ["batches_from"]


def batches_from(
    log: Searchable,
    start: int,
    excludes: Callable[[BatchHeader], bool] | None,
    skips: Callable[[Segment], bool] = lambda _: False,
    *,
    parts: Callable[[Segment, int, Order], Iterator[Part]] | None = None,
    check_crc: bool = True,
    use_index: bool = True,
    omissions: Omissions | None = None,
) -> Iterator[tuple[Segment, Batch | BatchHeader]]:
    """The batches of a listing from the one that holds `start` on, each with its segment.

    Of batches that `excludes` excludes only headers are read; of segments that `skips` skips, nothing.
    Of `parts` of a segment only the batches that these name are given.

    Args:
        check_crc: raise for a wrong checksum.
        use_index: look it up in the indexes; without it, read headers from the start.
        omissions: takes lost offsets, instead of an error.
    """
    log.require_offset(start)
    expected, first = start, _segment_number(log, start)
    segments = log.segments[first:]
    for number, (segment, after) in enumerate(zip_longest(segments, segments[1:]), first):
        if segment.base_offset > expected:
            before = log.segments[number - 1]
            last = segment.base_offset - 1
            report_gap(log, before.path, before.torn_tail, expected, last, omissions)
        elif number > first and segment.base_offset < expected and not segment.path.exists():
            # The previous segment was replaced by one that includes this one; this one is still open.
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(segment.path))
        if skips(segment):
            expected = max(expected, segment.next_offset)
            segment.close()
            continue
        order = Order(segment.base_offset, None, None if after is None else after.base_offset)
        position = 0
        if number == first:
            location = segment.find(expected, use_index=use_index)
            if location is None:
                segment.close()
                continue
            if position := location.position:
                order.skipped()
        expected = max(expected, segment.base_offset)
        for part in () if parts is None else parts(segment, position, order):
            for location in part.batches:
                yield segment, segment.batch_at(location, check_crc=check_crc)
            order.passed(part.last)
            position, expected = part.end, part.last + 1
        batches = (
            segment.batches(position, check_crc=check_crc)
            if excludes is None
            else segment.batches_except(excludes, position, check_crc=check_crc)
        )
        for batch in batches:
            order.passed(_require_order(order, segment, batch, after))
            expected = batch.next_offset
            yield segment, batch
        segment.close()


def _segment_number(log: Searchable, offset: int) -> int:
    """The newest segment whose base offset is not above `offset`."""
    return max(bisect_right(log.segments, offset, key=lambda segment: segment.base_offset) - 1, 0)


def _require_order(order: Order, segment: Segment, batch: Batch | BatchHeader, after: Segment | None) -> int:
    """The last offset of a batch, for the order check. Raises Malformed if it is impossible."""
    try:
        return order.check(batch, segment.whole_frame(batch.position + batch.size))
    except FormatError as error:
        if after is not None and not after.path.exists():
            # It was merged into this one: the listing is out of date, the log is not wrong.
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(after.path)) from None
        raise error.in_source(str(segment.path)) from None
