"""Neighbours of fixed width, which are read or written by one call: numbers, fixed bytes, bits."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from itertools import groupby

from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bits, Bytes, Field, Instance, Model, Prim, Ref, Struct, Switch
from kodec.generator.wire import WIRE

__all__ = [
    "Run",
    "Slot",
    "asks_for",
    "ending",
    "looks_at_stream",
    "loose",
    "only_where_it_stands",
    "other_stream",
    "runs_of",
    "timely",
    "width_of",
]

_MOST_JOINED = 24
_MOST_BYTES = 1024
_WHOLE = {8: "B", 16: "H", 32: "I", 64: "Q"}


@dataclass(frozen=True, slots=True)
class Slot:
    """One value of a run: a field, or the bits of several; `order` is be, le, by, or empty without one."""

    fields: tuple[Field, ...]
    code: str
    size: int
    order: str

    @property
    def name(self) -> str:
        """What StreamFields shows for it in an error: `flags:4 rest:12` for bits."""
        if isinstance(self.fields[0].type, Bits):
            return " ".join(
                f"{spec.id}:{spec.type.width}" for spec in self.fields if isinstance(spec.type, Bits)
            )
        return self.fields[0].id

    def shifts(self) -> Iterator[tuple[Field, int, int]]:
        """The fields of bits, each with how far it is from the lowest bit, and its width."""
        at = 0
        for spec in self.fields:
            assert isinstance(spec.type, Bits)
            width = spec.type.width
            yield spec, (at if spec.type.endian == "le" else self.size * 8 - at - width), width
            at += width


@dataclass(frozen=True, slots=True)
class Run:
    """Slots in one byte order, without conditions."""

    slots: tuple[Slot, ...]
    order: str

    def after(self, slot: Slot) -> int:
        """The bytes from the start of a slot to the end of the run."""
        return sum(each.size for each in self.slots[self.slots.index(slot) :])


def looks_at_stream(expr: ex.Expr | None, struct: Struct | None = None) -> bool:
    """Whether an expression asks where the stream stands, or how long it is."""
    if expr is None:
        return False
    for part in ex.walk(expr):
        if part == ex.Name("_io") or (isinstance(part, ex.Attr) and part.name == "_io"):
            return True
        if isinstance(part, ex.Name) and struct is not None:
            instance = struct.instance(part.name)
            if instance is not None and instance.value is not None and looks_at_stream(instance.value):
                return True
    return False


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


def other_stream(instance: Instance) -> ex.Expr | None:
    """The stream of a parse instance, where that is not the one of its type."""
    return None if instance.io == ex.Name("_io") else instance.io


def only_where_it_stands(expr: ex.Expr, struct: Struct) -> bool:
    """Whether an expression asks the stream for its position only, which is known while it is written."""
    asked = [part for part in ex.walk(expr) if isinstance(part, ex.Attr) and part.of == ex.Name("_io")]
    names = [part for part in ex.walk(expr) if part == ex.Name("_io")]
    others = [
        part
        for part in ex.walk(expr)
        if (isinstance(part, ex.Attr) and part.name == "_io")
        or (isinstance(part, ex.Name) and part.name != "_io" and looks_at_stream(part, struct))
    ]
    return not others and len(asked) == len(names) and all(part.name == "pos" for part in asked)


def loose(model: Model) -> bool:
    """Whether a type of the model may end, or hold another, within a byte, so that others may begin there.

    What is read in bytes begins with a whole one; a type does not by itself.
    """
    eof = ending(model)
    return any(_leaves_bits(struct, eof) for schema in model.schemas for struct in schema.structs)


def _leaves_bits(struct: Struct, eof: Set[str]) -> bool:
    """Whether bits that are no whole bytes may stand before another type, or at the end."""
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
    valid = spec.valid
    if valid is None:
        return True
    given = (valid.eq, valid.min, valid.max, valid.expr, *(valid.any_of or ()))
    return not any(asks_for(expr, when) for expr in given)


def _slot(spec: Field) -> Slot | None:
    """The slot of a number or of bytes of a fixed size."""
    match spec.type:
        case Prim(name, width, endian=endian):
            return Slot((spec,), WIRE[name].python.code, width, endian if width > 1 else "")
        case Bytes() if spec.size is not None and spec.contents is None:
            size = ex.fold(spec.size)
            other = spec.terminator is not None or spec.pad_right is not None or spec.process is not None
            if other or not isinstance(size, ex.Literal) or type(size.value) is not int:
                return None
            return Slot((spec,), f"{size.value}s", size.value, "") if 0 < size.value <= _MOST_BYTES else None
    return None


def width_of(spec: Field) -> int | None:
    """The bytes of one value of a field; None where they vary."""
    slot = _slot(spec)
    return None if slot is None else slot.size


def _whole_bytes(fields: list[Field]) -> Iterator[Slot | Field]:
    """Bits from one whole byte to another, in slots where these have the width of a number."""
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
        code = _WHOLE.get(size * 8)
        if code is None:
            yield from part
        else:
            yield Slot(tuple(part), code, size, "" if size == 1 else spec.type.endian)
        part, width = [], 0


def _slots_of(struct: Struct, when: Set[str], *, bits: bool) -> Iterator[Slot | Field]:
    """The fields in order, as slots where they can be. `bits`: whether bits can be."""
    for order, group in groupby(
        struct.fields, lambda spec: spec.type.endian if isinstance(spec.type, Bits) else None
    ):
        fields = list(group)
        if order is None:
            for spec in fields:
                yield (_slot(spec) if _plain(spec, when) else None) or spec
        elif bits and all(_plain(spec, when) for spec in fields):
            yield from _whole_bytes(fields)
        else:
            yield from fields


def runs_of(struct: Struct, when: Set[str], *, writing: bool, loose: bool) -> Iterator[Run | Field]:
    """The fields in order; those of fixed width that stand next to each other are joined to runs.

    `when` are the `timely` names. For `writing` only numbers are joined. Where types may end within a byte
    (`loose`), bits are taken one by one.
    """
    pending: list[Slot] = []
    order = ""

    def flush() -> Iterator[Run | Field]:
        if len(pending) > 1 or (pending and len(pending[0].fields) > 1):
            yield Run(tuple(pending), order or "be")
        else:
            yield from (slot.fields[0] for slot in pending)
        pending.clear()

    for slot in _slots_of(struct, when, bits=not writing and not loose):
        if isinstance(slot, Slot) and writing:
            spec = slot.fields[0]
            if not isinstance(spec.type, Prim) or spec.type.endian == "by" or spec.valid is not None:
                slot = spec
        if isinstance(slot, Slot):
            if (order and slot.order and slot.order != order) or len(pending) == _MOST_JOINED:
                yield from flush()
                order = ""
            order = order or slot.order
            pending.append(slot)
        else:
            yield from flush()
            order = ""
            yield slot
    yield from flush()
