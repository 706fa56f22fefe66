"""Consecutive batches with wrong checksums, natively."""

from __future__ import annotations

from importlib import import_module

from kodec.log.backends.contract import Buffer
from kodec.log.batches.format import KAFKA
from kodec.log.batches.frame import Frame

__all__ = ["wrong_checksums"]


def wrong_checksums(data: Buffer, start: int, end: int, most: int) -> tuple[int, int]:
    """Like the pure one."""
    count = 0
    while (frame := Frame.peek(data, start, end)) is not None:
        kernel = import_module(KAFKA.kind(frame.magic).kernel).Rows([], rows=1, unit_bytes=most)
        before = start
        while True:
            status, stop = kernel.run(data, start, end)
            if status != "checksum" or stop != start:
                break
            start += kernel.unit[1]
            count += 1
        if start == before:
            break
    return start, count
