"""Neighbours of fixed width in streamed types: numbers, fixed bytes, bits; and which fields are none."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from itertools import groupby

from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bits, Bytes, Field, Model, Prim, Ref, Struct, Switch

__all__ = ["MOST_JOINED", "Group", "asks_for", "ending", "groups_of", "loose", "timely"]

MOST_JOINED = 24
_MOST_BYTES = 1024
_WHOLE = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Group:
    """One field of a run, or the bits of several, in `size` bytes; `order` is be, le, by, or empty."""

    fields: tuple[Field, ...]
    size: int
    order: str

    def shifts(self) -> Iterator[tuple[Field, int, int]]:
        """The fields of bits, each with how far it is from the lowest bit, and its width."""
        at = 0
        for spec in self.fields:
            assert isinstance(spec.type, Bits)
            width = spec.type.width
            yield spec, (at if spec.type.endian == "le" else self.size * 8 - at - width), width
            at += width


def timely(model: Model) -> frozenset[str]:
    """The names whose value depends on when they are asked for first: `_io`, and instances that are read or
    that need such names.
    """
    instances = (each for schema in model.schemas for struct in schema.structs for each in struct.instances)
    return _needing(model, {"_io", *(each.id for each in instances if each.reads is not None)})


def ending(model: Model) -> frozenset[str]:
    """The names that say whether a stream has ended: `eof`, and instances that need it."""
    return _needing(model, {"eof"})


def _needing(model: Model, names: set[str]) -> frozenset[str]:
    """These names, with those of the instances that need them."""
    instances = [each for schema in model.schemas for struct in schema.structs for each in struct.instances]
    before = 0
    while before < len(names):
        before = len(names)
        for each in instances:
            if asks_for(each.value, names) or asks_for(each.condition, names):
                names.add(each.id)
    return frozenset(names)


def asks_for(expr: ex.Expr | None, names: Set[str]) -> bool:
    """Whether an expression asks for one of these names, of whatever object."""
    return expr is not None and any(
        isinstance(part, (ex.Name, ex.Attr)) and part.name in names for part in ex.walk(expr)
    )


def loose(model: Model) -> bool:
    """Whether a type of the model may end, or hold another, within a byte, so that others may begin there.

    What is read in bytes begins with a whole one; a type does not by itself.
    """
    eof = ending(model)
    return any(_leaves_bits(struct, eof) for schema in model.schemas for struct in schema.structs)


def _leaves_bits(struct: Struct, eof: Set[str]) -> bool:
    """Whether bits that are not whole bytes may stand before another type, or at the end."""
    partial, order, left = False, "", 0
    for spec in struct.fields:
        if isinstance(spec.type, Bits):
            if spec.type.endian != order:
                # another order begins with a whole byte
                partial, order, left = False, spec.type.endian, 0
            odd = spec.type.width % 8 != 0
            partial = partial or (odd and (spec.condition is not None or spec.repeat is not None))
            left += spec.type.width
        elif order:
            if (partial or left % 8) and not _in_bytes(spec, eof):
                return True
            partial, order, left = False, "", 0
    return partial or left % 8 != 0


def _in_bytes(spec: Field, eof: Set[str]) -> bool:
    """Whether a field is always there, and read in bytes, whether the stream has ended before or not."""
    if asks_for(spec.size, eof):
        return False
    sized = spec.size is not None or spec.size_eos
    if spec.terminator is not None:
        sized = sized or not isinstance(spec.type, Switch)
    plain = sized or not isinstance(spec.type, (Ref, Switch))
    return plain and spec.condition is None and spec.repeat is None


def _plain(spec: Field, when: Set[str]) -> bool:
    """Whether a field is always there, and its rules may be looked at later than when it was read."""
    if spec.condition is not None or spec.repeat is not None:
        return False
    return spec.valid is None or not any(asks_for(rule, when) for rule in spec.valid.rules)


def _alone(spec: Field) -> Group | None:
    """The group of a number or of bytes of a fixed size."""
    match spec.type:
        case Prim(_, width, endian=endian):
            return Group((spec,), width, endian if width > 1 else "")
        case Bytes() if spec.size is not None and spec.contents is None:
            size = ex.fold(spec.size)
            other = spec.terminator is not None or spec.pad_right is not None or spec.process is not None
            if other or not isinstance(size, ex.Literal) or type(size.value) is not int:
                return None
            return Group((spec,), size.value, "") if 0 < size.value <= _MOST_BYTES else None
    return None


def _whole_bytes(fields: list[Field]) -> Iterator[Group | Field]:
    """Bits from one whole byte to another, in groups where these have the width of a number."""
    part: list[Field] = []
    width = 0
    for spec in fields:
        assert isinstance(spec.type, Bits)
        part.append(spec)
        width += spec.type.width
        if width % 8 and spec is not fields[-1]:
            continue
        # bits that are left of the last byte are dropped
        size = (width + 7) // 8
        if size not in _WHOLE:
            yield from part
        else:
            yield Group(tuple(part), size, "" if size == 1 else spec.type.endian)
        part, width = [], 0


def _each(struct: Struct, when: Set[str], alone: Set[str], *, bits: bool) -> Iterator[Group | Field]:
    """The fields in order, in groups where they can be. `bits`: whether bits can be."""
    for order, found in groupby(
        struct.fields, lambda spec: spec.type.endian if isinstance(spec.type, Bits) else None
    ):
        fields = list(found)
        if order is None:
            for spec in fields:
                joined = _plain(spec, when) and spec.id not in alone
                yield (_alone(spec) if joined else None) or spec
        elif bits and all(_plain(spec, when) and spec.id not in alone for spec in fields):
            yield from _whole_bytes(fields)
        else:
            yield from fields


def groups_of(
    struct: Struct, when: Set[str], alone: Set[str], *, loose: bool
) -> Iterator[list[Group] | Field]:
    """The fields in order; those of fixed width that stand next to each other in one order are joined.

    `when` are the `timely` names; those of `alone` are not joined. Where types may end within a byte
    (`loose`), bits are taken one by one.
    """
    pending: list[Group] = []
    order = ""

    def flush() -> Iterator[list[Group] | Field]:
        if len(pending) > 1 or (pending and len(pending[0].fields) > 1):
            yield list(pending)
        else:
            yield from (group.fields[0] for group in pending)
        pending.clear()

    for group in _each(struct, when, alone, bits=not loose):
        if isinstance(group, Group):
            if (order and group.order and group.order != order) or len(pending) == MOST_JOINED:
                yield from flush()
                order = ""
            order = order or group.order
            pending.append(group)
        else:
            yield from flush()
            order = ""
            yield group
    yield from flush()
