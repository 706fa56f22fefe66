"""Whether batches follow one another in order, by their heads alone, natively."""

from __future__ import annotations

from kodec.log.backends.contract import Buffer
from kodec.log.batches.frame import BEFORE_BODY, LEAST_SIZE, LENGTH_AT, MAGIC_AT
from kodec.log.batches.sizes import BATCH_HEAD, COUNT_AT, DELTA_AT, OFFSET_AT
from kodec.runtime.native import face

__all__ = ["LAYOUT", "in_order"]

LAYOUT = OFFSET_AT, LENGTH_AT, BEFORE_BODY, MAGIC_AT, LEAST_SIZE, 2, DELTA_AT, COUNT_AT, BATCH_HEAD


def in_order(data: Buffer, start: int, end: int, last: int, most: int, gaps: bool) -> tuple[int, int, bool]:
    """As the pure one."""
    return face.in_order(data, start, end, LAYOUT, last, most, gaps)
