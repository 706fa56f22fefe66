"""Checks by their heads that consecutive batches are in order, natively."""

from __future__ import annotations

from kodec.log.backends.contract import Buffer
from kodec.log.batches.frame import BEFORE_BODY, LEAST_SIZE, NEWEST
from kodec.log.batches.sizes import BATCH_HEAD, COUNT, DELTA, LENGTH, MAGIC, OFFSET
from kodec.runtime.native import bindings

__all__ = ["LAYOUT", "in_order"]

LAYOUT = OFFSET.at, LENGTH.at, BEFORE_BODY, MAGIC.at, LEAST_SIZE, NEWEST, DELTA.at, COUNT.at, BATCH_HEAD
"""As `bindings.in_order` expects it, which reads these widths, signed and big-endian."""
_READ = [each.format for each in (OFFSET, LENGTH, MAGIC, DELTA, COUNT)]
if _READ != [">q", ">i", ">b", ">i", ">i"]:
    raise ImportError(f"bindings.in_order does not read {_READ}")


def in_order(data: Buffer, start: int, end: int, last: int, most: int, gaps: bool) -> tuple[int, int, bool]:
    """Like the pure one."""
    return bindings.in_order(data, start, end, LAYOUT, last, most, gaps)
