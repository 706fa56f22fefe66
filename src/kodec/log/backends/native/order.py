"""Checks by their heads that consecutive batches are in order, natively."""

from __future__ import annotations

from kodec.log.backends.contract import Buffer
from kodec.log.batches.frame import BEFORE_BODY, LEAST_SIZE, LEGACY
from kodec.log.batches.sizes import HEADS, LENGTH, MAGIC, OFFSET
from kodec.runtime.native import bindings

__all__ = ["LAYOUT", "in_order"]

LAYOUT = (
    *(OFFSET.at, LENGTH.at, BEFORE_BODY, MAGIC.at, LEAST_SIZE, bytes(LEGACY)),
    tuple((magic, head.last_delta.at, head.count.at, head.size) for magic, head in HEADS.items()),
)
"""As `bindings.in_order` expects it, which reads these widths, signed and big-endian."""
_READ = [field.format for field in (OFFSET, LENGTH, MAGIC)]
_READ += [field.format for head in HEADS.values() for field in (head.last_delta, head.count)]
if set(_READ) != {">q", ">i", ">b"} or _READ[3:] != [">i"] * 2 * len(HEADS):
    raise ImportError(f"bindings.in_order does not read {_READ}")


def in_order(data: Buffer, start: int, end: int, last: int, most: int, gaps: bool) -> tuple[int, int, bool]:
    """Like the pure one."""
    return bindings.in_order(data, start, end, LAYOUT, last, most, gaps)
