"""Checks by their heads that consecutive batches are in order, in pure Python."""

from __future__ import annotations

from kodec.log.backends.contract import Buffer
from kodec.log.batches.frame import LEAST_SIZE, MAGICS, Frame
from kodec.log.batches.sizes import HEADS

__all__ = ["in_order"]


def in_order(data: Buffer, start: int, end: int, last: int, most: int, gaps: bool) -> tuple[int, int, bool]:
    """How far the batches in `data[start:end]` are complete with ascending offsets.

    Args: last and most: offsets are above `last` and not above `most`; gaps: whether offsets may be missing
    between batches. At a gap, a batch is accepted only if the next batch's offset is present and
    higher.

    Returns: (the start of the first batch not accepted, the last offset before it, whether some offset has
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
        head = HEADS.get(magic)
        if head is not None:
            if size < head.size:
                break
            delta, count = head.last_delta.get(view, start), head.count.get(view, start)
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
