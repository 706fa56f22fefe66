"""Changed bytes of a value: truncated, with numbers at their limits, with changes under a checksum.

The machine decides whether they are still a value, and which, or what the error is and
where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kodec.generator.code.objects import Read
from kodec.generator.plan.steps import (
    Chars,
    Checksum,
    FixedNumber,
    Slot,
    Stored,
    Tagged,
    TagPlan,
    Unit,
    Varint,
    steps_in,
)
from kodec.generator.plan.values import EnumOf
from kodec.generator.wire import WIRE
from kodec.runtime import crc, varint
from kodec.runtime.varint import write_uvarint32

__all__ = ["NO_TEXT", "ORDER", "Mutation", "mutations"]

_CUTS = 12
# of a long list the first elements say what the others would
_PARTS = 100
_LONGER = "not the shortest form of a number: writers do not give it, and readers may take it"
NO_TEXT = "not of its encoding: a reader may keep such text as it is"
ORDER = "tags that are not in ascending order, or twice: writers do not give them, and readers may take them"
_FLAGS = "neither 0 nor 1: writers do not give it, and readers may take it as true"
_UNKNOWN = "a number that the enum has no name for: a reader may keep it"


@dataclass(frozen=True, slots=True)
class Mutation:
    """Changed bytes.

    Attributes:
        what: what was changed.
        why: why an implementation may accept or refuse them; None if it must agree with the plan.
    """

    what: str
    data: bytes
    why: str | None = None


def mutations(unit: Unit, data: bytes, reads: list[Read]) -> Iterator[Mutation]:
    """Bytes near those of a value that was read as `reads`."""
    leaves = [each for each in reads if not isinstance(each.what, Stored)]
    yield from _cuts(data, leaves)
    own = [each for each in leaves if each.depth == 1][:_PARTS]
    sums = [each for each in leaves if isinstance(each.what, Checksum)]
    for leaf in own:
        name = ".".join(_field(leaf)) or "an element"
        for what, part, why in _changed(unit, leaf, data[leaf.start : leaf.end]):
            changed = data[: leaf.start] + part + data[leaf.end :]
            if changed != data:
                same = len(part) == leaf.end - leaf.start
                yield Mutation(f"{name}: {what}", _summed(changed, sums) if same else changed, why)
    for each in sums:
        for what, at in (("the checksum", each.start), ("a byte that it covers", each.covers[1] - 1)):
            yield Mutation(f"{each.path[-1]}: {what} changed", _flipped(data, at))


def _field(leaf: Read) -> list[str]:
    """The field of the outermost object, with those that hold it in a run; empty for an element of a list."""
    return [] if isinstance(leaf.path[-1], int) else [each for each in leaf.path if isinstance(each, str)]


def _cuts(data: bytes, leaves: list[Read]) -> Iterator[Mutation]:
    """The beginnings that end in front of a part, or inside it, at most this many."""
    places: dict[int, str] = {}
    for leaf in leaves:
        if leaf.end > leaf.start:
            places.setdefault(leaf.start, f"ends at byte {leaf.start}")
            middle = (leaf.start + leaf.end) // 2
            places.setdefault(middle, f"ends at byte {middle}")
    if data:
        places.setdefault(len(data) - 1, "ends one byte early")
    found = sorted(each for each in places if each < len(data))
    step = max(1, -(-len(found) // _CUTS))
    for at in [*found[::step], *found[-1:]] if step > 1 else found:
        yield Mutation(places[at], data[:at])


def _changed(unit: Unit, leaf: Read, part: bytes) -> Iterator[tuple[str, bytes, str | None]]:
    match leaf.what:
        case Slot(contents=bytes()):
            yield "other bytes than the fixed ones", _flipped(part, 0), None
        case Slot(bits=(0, _)):
            yield "all bits", b"\xff" * len(part), _UNKNOWN
        case Slot(wire=str() as wire, order=order) | FixedNumber(wire, order):
            field = _field(leaf)
            kind = unit.field(field[0]).type if len(field) == 1 else None
            yield from _numbers(wire, order, leaf, _UNKNOWN if isinstance(kind, EnumOf) else None)
        case Varint(wire):
            yield from _varints(wire, leaf)
        case Chars() if part:
            yield "bytes that are no text", b"\xff" + part[1:], NO_TEXT
        case Tagged(tags=tags):
            yield from _tags(tags, unit)


def _numbers(wire: str, order: str, leaf: Read, why: str | None) -> Iterator[tuple[str, bytes, str | None]]:
    form = WIRE[wire]
    if form.kind == "boolean":
        yield "2 for true", b"\x02", _FLAGS
    if form.range is None:
        return
    low, high = form.range
    for value in dict.fromkeys((low, high, leaf.value - 1, leaf.value + 1, -1)):
        if low <= value <= high:
            text = value.to_bytes(form.least, "little" if order == "le" else "big", signed=form.signed)
            yield str(value), text, why


def _varints(wire: str, leaf: Read) -> Iterator[tuple[str, bytes, str | None]]:
    form = WIRE[wire]
    if form.kind == "boolean":
        yield "2 for true", b"\x02", _FLAGS
    if not form.python.write or form.range is None:
        return
    write: Callable[[int], bytes] = getattr(varint, form.python.write)
    low, high = form.range
    # next to where one more byte is needed
    groups = [sign * (1 << 7 * size - form.zigzag) for size in range(1, form.most) for sign in (1, -1)]
    edges = [value + more for value in groups for more in (0, -1)]
    for value in dict.fromkeys((low, high, leaf.value - 1, leaf.value + 1, *edges)):
        if low <= value <= high:
            yield str(value), write(value), None
    one = write(1)
    yield "1 in a byte more than needed", bytes([one[0] | 0x80, 0]), _LONGER
    yield "more bytes than the type has", b"\x80" * form.most + b"\x00", None


def _tags(tags: tuple[TagPlan, ...], unit: Unit) -> Iterator[tuple[str, bytes, str | None]]:
    most = max((tag.number for each in steps_in(unit.steps) if isinstance(each, Tagged) for tag in each.tags),
               default=-1)  # fmt: skip
    first, second = most + 1, most + 2
    yield "an unknown tag", _section((first, b"more")), None
    yield "an unknown tag without bytes", _section((first, b"")), None
    yield "two unknown tags", _section((first, b"a"), (second, b"b")), None
    yield "tags in descending order", _section((second, b"b"), (first, b"a")), ORDER
    yield "the same tag twice", _section((first, b"a"), (first, b"b")), ORDER
    yield "fewer tags than their number", b"\x02" + _section((first, b"a"))[1:], None
    yield "a tag longer than what is there", b"\x01" + write_uvarint32(first) + b"\x7f", None
    yield "more tags than bytes", write_uvarint32((1 << 31) - 1), None
    for tag in tags:
        yield f"{tag.name} without bytes", _section((tag.number, b"")), None


def _section(*tags: tuple[int, bytes]) -> bytes:
    found = [write_uvarint32(number) + write_uvarint32(len(data)) + data for number, data in tags]
    return write_uvarint32(len(tags)) + b"".join(found)


def _flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def _summed(data: bytes, sums: list[Read]) -> bytes:
    """The same with correct checksums, inner ones first, so that other errors are found."""
    found = bytearray(data)
    for each in sorted(sums, key=lambda leaf: -leaf.depth):
        step: Any = each.what
        value = getattr(crc, step.function)(bytes(found[each.covers[0] : each.covers[1]]))
        found[each.start : each.end] = value.to_bytes(each.end - each.start, "big")
    return bytes(found)
