"""The fields of a batch's header that show transactions, read alone: for walks over many headers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from struct import Struct, calcsize
from typing import Any

from kodec.generated.log.record_batch import RecordBatch
from kodec.log.batches.format import KAFKA
from kodec.log.batches.header import flags_with

__all__ = ["IN_TRANSACTION", "IS_CONTROL", "read_transaction_head"]

_ROLES = ("offset", "length", "form", "flags", "producer_id")
IN_TRANSACTION = flags_with("transactional", "control")
"""The attributes, one of which a batch has if it is part of a transaction, or ends one."""
IS_CONTROL = flags_with("control")
"""The attribute of a batch of control records."""


def _head(places: dict[str, tuple[int, str]]) -> Struct:
    text, end = ">", 0
    for start, kind in sorted(places[RecordBatch.ROLES[role]] for role in _ROLES):
        # flags are one number
        kind = kind or ">H"
        text += f"{start - end}x{kind[1:]}"
        end = start + calcsize(kind)
    return Struct(text)


_HEADS: dict[int, tuple[int, Callable[..., Any]]] = {
    magic: (KAFKA.heads[magic].size, _head(places).unpack_from) for magic, places in RecordBatch.FORMS.items()
}
_NONE: tuple[int, Callable[..., Any]] = sys.maxsize, tuple
_MAGIC_AT = KAFKA.magic.at


def read_transaction_head(data: bytes, position: int) -> tuple[int, int, int, int, int] | None:
    """Base offset, length, magic, attributes and producer of the header at `position`.

    `data` holds at least the smallest header there. None if the header is of another format, or not whole.
    """
    size, read = _HEADS.get(data[position + _MAGIC_AT], _NONE)
    head: tuple[int, int, int, int, int] | None = None
    if position + size <= len(data):
        head = read(data, position)
    return head
