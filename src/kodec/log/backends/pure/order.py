"""Whether batches follow one another in order, by their heads alone, in pure Python."""

from __future__ import annotations

from kodec.log.backends.contract import Buffer
from kodec.log.batches.frame import LEAST_SIZE, MAGICS, NEWEST, Frame
from kodec.log.batches.sizes import BATCH_HEAD, COUNT, DELTA

__all__ = ["in_order"]


def in_order(data: Buffer, start: int, end: int, last: int, most: int, gaps: bool) -> tuple[int, int, bool]:
    """How far the batches in `data[start:end]` are whole and their offsets ascend.

    Args: last and most: offsets are above `last` and not above `most`; gaps: whether offsets may be missing
    between batches. Where some are, a batch is passed only if the offset of the one behind it is there, and
    above its own.

    Returns: (where the first batch is that is not passed, the last offset before it, whether some offset has
    no record, true for magic 0 and 1).
    """
    view = memoryview(data)
    sparse = False
    while (frame := Frame.peek(data, start, end)) is not None:
        first, size, magic = frame
        stop = start + size
        if size < LEAST_SIZE or stop > end or magic not in MAGICS:
            break
        final, holes = first, True
        if magic == NEWEST:
            if size < BATCH_HEAD:
                break
            delta, count = DELTA.get(view, start), COUNT.get(view, start)
            if delta < 0:
                break
            final, holes = first + delta, count <= delta
        if first <= last or final > most:
            break
        if first > last + 1:
            following = Frame.peek(data, stop, end) if gaps and end - stop >= LEAST_SIZE else None
            if following is None or following.offset <= final:
                break
            holes = True
        sparse |= holes
        last, start = final, stop
    return start, last, sparse
