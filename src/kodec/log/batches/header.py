"""The header of a batch with a list of records, by what its fields mean: the roles of the schema.

What rewrites a batch copies its header and changes some roles, so that all others stay, also what nobody here
knows: `EXTRA` are the fields and flags without a role.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from operator import attrgetter
from struct import calcsize
from types import MappingProxyType
from typing import Any, NamedTuple

from kodec.generated.log.record_batch import BatchAttributes, RecordBatch
from kodec.runtime.dataclass import fields, replace

__all__ = [
    "EXTRA",
    "FLAGS",
    "MOST_RESERVED",
    "NO_EXTRA",
    "ExtraField",
    "bits_of",
    "changed",
    "flags_of",
    "flags_with",
    "name_of",
    "numbers_of",
    "put",
]

_ROLES = RecordBatch.ROLES
FLAGS = _ROLES["flags"]
"""The attribute of a header that has the flags."""
_ALL_FLAGS = BatchAttributes.from_bytes(b"\xff" * BatchAttributes.SIZE)
MOST_RESERVED = int(attrgetter(_ROLES["reserved"].removeprefix(f"{FLAGS}."))(_ALL_FLAGS))
"""The bits of the flags without a meaning, all of them set."""


def name_of(role: str) -> str:
    """The field of a role, in the header or among its flags."""
    return sys.intern(_ROLES[role].rpartition(".")[2])


_NUMBERS = (
    *("form", "checksum", "offset", "last_offset_delta", "base_timestamp", "max_timestamp"),
    *("leader_epoch", "producer_id", "producer_epoch", "base_sequence", "count"),
)
numbers_of = attrgetter(*map(name_of, _NUMBERS))
"""Of a header: the magic, the checksum, the first offset, the last one relative to it, the base timestamp and
the largest one, the leader's epoch, the producer's id, epoch and first sequence, the number of records."""
_BITS = ("codec", "timestamp_type", "transactional", "control", "delete_horizon", "reserved")
bits_of = attrgetter(*map(name_of, _BITS))
"""Of its flags: the codec, the type of timestamps, whether it is of a transaction, of control records, has a
delete horizon; the bits without a meaning."""


def flags_of(head: RecordBatch) -> int:
    """All flags, as one number."""
    return int.from_bytes(getattr(head, FLAGS).to_bytes(), "big")


def flags_with(*roles: str) -> int:
    """The number of flags of which just these are set."""
    return int.from_bytes(BatchAttributes(**{name_of(role): True for role in roles}).to_bytes(), "big")


def changed(head: RecordBatch, **roles: Any) -> RecordBatch:
    """A copy of the header with other values for some roles; every other field and flag stays.

    A magic that lacks some fields gets their defaults.
    """
    new_head = replace(head, **{FLAGS: replace(getattr(head, FLAGS))})
    for role, value in roles.items():
        put(new_head, role, value)
    if "form" in roles:
        for extra in EXTRA:
            if roles["form"] not in extra.magics:
                extra.put(new_head, extra.default)
    return new_head


def put(head: RecordBatch, role: str, value: Any) -> None:
    """Set the value of a role in a header."""
    _set(head, _ROLES[role], value)


def _set(head: RecordBatch, path: str, value: Any) -> None:
    owner, _, name = path.rpartition(".")
    setattr(getattr(head, owner) if owner else head, name, value)


class ExtraField(NamedTuple):
    """A field or flag of the header without a role, as a newer format may have.

    Attributes:
        name: in tables, the schema's.
        label: in JSON.
        path: of the attribute in the header.
        code: of a number as in Python's `struct`, `?` for a flag of one bit; empty: anything else.
        least, most: of a whole number.
        default: the value in a new header.
        magics: those that have it.
    """

    name: str
    label: str
    path: str
    code: str
    least: int
    most: int
    default: Any
    magics: tuple[int, ...]

    def get(self, head: RecordBatch) -> Any:
        """Its value; None where the magic of the header does not have it."""
        return attrgetter(self.path)(head) if getattr(head, _ROLES["form"]) in self.magics else None

    def put(self, head: RecordBatch, value: Any) -> None:
        """Set it in a header whose magic has it."""
        _set(head, self.path, value)


def _label(name: str) -> str:
    first, *words = name.split("_")
    return first + "".join(word.title() for word in words)


def _extra() -> tuple[ExtraField, ...]:
    known = set(_ROLES.values())
    extra_fields = []
    new = RecordBatch()
    for field in fields(RecordBatch):
        if field.name not in known:
            places = {
                magic: form[field.name] for magic, form in RecordBatch.FORMS.items() if field.name in form
            }
            codes = {code[-1:] for _, code in places.values()}
            code = codes.pop() if len(codes) == 1 else ""
            most = (1 << 8 * calcsize(code) - code.islower()) - 1 if code else 0
            least = -most - 1 if code.islower() else 0
            default, magics = getattr(new, field.name), tuple(places)
            extra_fields.append(
                ExtraField(field.name, _label(field.name), field.name, code, least, most, default, magics)
            )
    for field in fields(BatchAttributes):
        path = f"{FLAGS}.{field.name}"
        if path not in known:
            default, most = attrgetter(path)(new), getattr(_ALL_FLAGS, field.name)
            code = "?" if isinstance(default, bool) else "h"
            magics = tuple(RecordBatch.FORMS)
            extra_fields.append(
                ExtraField(field.name, _label(field.name), path, code, 0, int(most), default, magics)
            )
    return tuple(extra_fields)


EXTRA = _extra()
"""The fields and flags without a role, in the schema's order."""
NO_EXTRA: Mapping[str, Any] = MappingProxyType(dict.fromkeys(field.name for field in EXTRA))
"""What messages of magic 0 and 1 have of them."""
