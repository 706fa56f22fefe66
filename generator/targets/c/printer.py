"""One unit of the plan as data for its template: its spelling in C; all decisions are the plan's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kodec.generator.plan.printing import WIDE, UnitPrinter
from kodec.generator.plan.spelling import Computed
from kodec.generator.plan.steps import (
    Case,
    CheckLength,
    Checksum,
    Choice,
    Derived,
    Nested,
    Packed,
    Program,
    Slot,
    Tagged,
    Unit,
    steps_in,
    values_of,
)
from kodec.generator.plan.values import (
    FLAG,
    IDENTITY,
    OCTETS,
    SECTION,
    TEXT,
    Constant,
    EnumOf,
    FieldOf,
    ListOf,
    Maybe,
    ObjectOf,
    OneOf,
    Peeked,
    Real,
    Type,
    Value,
    Whole,
    bare,
    is_number,
)
from kodec.generator.targets.c.expressions import Expressions, Member, Types, is_null, literal, text
from kodec.generator.targets.c.names import local, member
from kodec.generator.wire import WIRE

__all__ = ["Defaults", "Printer"]


class Defaults:
    """The values of new objects, and the test that an object has only these."""

    def __init__(self, types: Types, program: Program) -> None:
        self.types = types
        self.program = program

    def initial(self, unit: Unit, *, absent: bool) -> str:
        """The initializer of an object, of one that is about to be read with `absent`."""
        found = []
        for each in unit.fields:
            constant = each.absent if absent else each.default
            value = self._value(each.type, constant, absent=absent) if each.kept else ""
            if value:
                found.append(f".{member(each.name)} = {value}")
        return f"{{{', '.join(found)}}}" if found else "{0}"

    def _value(self, kind: Type, constant: Constant | None, *, absent: bool) -> str:
        """The default of a field; empty if all its bits are 0."""
        if constant is None:
            inner = bare(kind)
            if isinstance(inner, ObjectOf):
                unit = self.program.units[inner.unit]
                if isinstance(kind, Maybe):
                    return f"&{self.types.names.type(unit)}_default"
                value = self.initial(unit, absent=absent)
                return "" if value == "{0}" else value
            if not isinstance(kind, Maybe):
                return ""
            if isinstance(inner, ListOf) or inner == SECTION:
                return "{.items = (void *)kodec_empty}"
            return "{.data = kodec_empty}" if inner in (TEXT, OCTETS) else ""
        given = constant.value
        if given is None or (not given and not isinstance(kind, Maybe)):
            return ""
        if self.types.is_pointer(kind):
            return f"&(const {self.types.of(bare(kind))}){{{literal(given)}}}"
        if isinstance(given, (str, bytes)):
            return literal(given).removeprefix("(kodec_bytes)")
        return literal(given)

    def differs(self, kind: Type, place: str, constant: Constant | None) -> str:
        """The test that a place does not hold its default."""
        inner = bare(kind)
        if isinstance(kind, Maybe) and constant is not None and constant.value is None:
            return f"!({is_null(kind, place)})" if self.types.says_null(kind) else f"{place} != NULL"
        null = f"{is_null(kind, place)} || " if isinstance(kind, Maybe) else ""
        if isinstance(inner, ObjectOf):
            name = self.types.names.type(inner.unit)
            return f"{null}!{name}_is_default({place if isinstance(kind, Maybe) else f'&{place}'})"
        if isinstance(inner, OneOf):
            return f"{place}.kind != 0"
        if isinstance(inner, ListOf) or inner == SECTION:
            return f"{null}{place}.count != 0"
        value = None if constant is None else constant.value
        if inner in (TEXT, OCTETS):
            return f"{null}!kd_same({place}, {literal(value)})" if value else f"{null}{place}.size != 0"
        held = f"*{place}" if self.types.is_pointer(kind) else place
        if inner == IDENTITY:
            return f"{null}!kd_is_zero({held})"
        if inner == FLAG:
            return f"{null}{'!' if value else ''}{held}"
        return f"{null}{held} != {literal(value or 0)}"

    def compared(self, unit: Unit) -> Iterator[str]:
        """The tests of which none holds of an object with its defaults."""
        for each in unit.fields:
            if each.kept:
                yield self.differs(each.type, f"v->{member(each.name)}", each.default)


class Printer(UnitPrinter[Expressions]):
    """The data for a template about a unit."""

    def __init__(self, types: Types, program: Program, unit: Unit, *, writing: bool, circular: bool) -> None:
        super().__init__(program, unit, writing=writing)
        self.types = types
        self.names = types.names
        self.circular = circular
        self.defaults = Defaults(types, program)
        self.spell = Expressions(field=self._get)

    # -- names ------------------------------------------------------------------------------------

    @property
    def type(self) -> str:
        return self.names.type(self.unit)

    @property
    def value_type(self) -> str:
        """The value that is read and written: the object, or the value that the unit stands for."""
        name = self.unit.stands_for
        return self.type if name is None else self.types.of(self.unit.field(name).type)

    @property
    def written_type(self) -> str:
        """The same, if it is not changed."""
        found = self.value_type
        return f"{found}const " if found.endswith("*") else f"const {found} "

    @property
    def parameters(self) -> str:
        """The parameters of a function, after others."""
        return "".join(f", {self.types.of(each.type)} {local(each.name)}" for each in self.unit.parameters)

    def unused(self) -> Iterator[str]:
        """The unused parameters of a function."""
        held = (self.unit.steps, self.unit.packed, [] if not self.writing else self.unit.derived)
        used = {each.name for each in values_of(held) if isinstance(each, (FieldOf, Peeked))}
        tagged = any(isinstance(each, Tagged) for each in steps_in(self.unit.steps))
        for each in self.unit.parameters:
            own = each.name == self.unit.version_name and (self.unit.versions is not None or tagged)
            if each.name not in used and not own:
                yield local(each.name)

    def field(self, name: str) -> str:
        """The place of a field while it is read or written."""
        if name == self.unit.stands_for:
            return "(*value)"
        derived = self.writing and self.unit.derivation(name) is not None
        place = f"v->{member(name)}" if name in self.kept and not derived else local(name)
        return Computed(place) if self.is_wide(name) else place

    def _get(self, name: str) -> str:
        if name in self.computed and not self.writing:
            return Computed(self.number(name))
        return self.field(name)

    def number(self, name: str) -> str:
        """A field as int64_t."""
        place = self.field(name)
        if isinstance(place, Computed):
            return place
        return f"(int64_t)*{place}" if self.types.is_pointer(self.field_type(name)) else f"(int64_t){place}"

    def told(self, value: Value, kind: Type) -> str:
        shown = self.spell(value, self.spell.binds.sign)
        return f"({self.types.of(kind)}){shown}" if isinstance(kind, Whole) else shown

    def call(self, unit: str) -> str:
        return self.names.type(unit)

    def member(self, name: str) -> str:
        return member(name)

    def local(self, name: str) -> str:
        return local(name)

    def literal(self, value: object) -> str:
        assert isinstance(value, str)
        return text(value)

    # -- fields -----------------------------------------------------------------------------------

    def c(self, kind: Type) -> str:
        return self.types.of(kind)

    def nothing(self, name: str) -> str:
        """Null, as a place has it."""
        kind = self.field_type(name)
        return "NULL" if self.types.is_pointer(kind) else f"({self.types.of(kind)}){{0}}"

    def empty(self, name: str) -> str:
        """The result of a unit if nothing is read for the field that it represents."""
        spec = self.unit.field(name)
        if spec.absent is None and isinstance(bare(spec.type), ObjectOf) and not isinstance(spec.type, Maybe):
            return f"{self.types.of(spec.type)}_default"
        if self.types.is_pointer(spec.type):
            return "NULL"
        value = None if spec.absent is None else spec.absent.value
        return literal(value) if value is not None else f"({self.types.of(spec.type)}){{0}}"

    # -- numbers ----------------------------------------------------------------------------------

    def load(self, wire: str, order: str, at: str, kind: Type | None = None) -> str:
        """The value of a wire type in the bytes `at`, as assigned to a place of a type."""
        form = WIRE[wire]
        if form.kind == "boolean":
            return f"*({at}) != 0"
        if form.kind == "UUID":
            return f"kd_load_uuid({at})"
        size = form.least
        raw = f"kd_load_u{size}{'' if size == 1 else order or 'be'}({at})"
        if form.kind == "float":
            return f"kd_{'float' if size == 4 else 'double'}_of({raw})"
        shown = f"(int{8 * size}_t){raw}" if form.signed else raw
        own = f"{'' if form.signed else 'u'}int{8 * size}_t"
        wanted = own if kind is None else self.types.of(bare(kind))
        return shown if wanted == own else f"({wanted}){shown}"

    def store(self, wire: str, order: str, at: str, value: str) -> str:
        """The statement that puts a number, a flag or a UUID `at` bytes."""
        form = WIRE[wire]
        if form.kind == "boolean":
            return f"*({at}) = {value} ? 1 : 0;"
        if form.kind == "UUID":
            return f"memcpy({at}, {value}.bytes, 16);"
        if form.kind == "float":
            value = f"kd_bits_of_{'float' if form.least == 4 else 'double'}({value})"
        return f"kd_store_{order or 'be'}({at}, (uint64_t){value}, {form.least});"

    def limits(self, wire: str) -> tuple[str, str] | None:
        """The least and the largest number; None if int64_t has no other."""
        found = WIRE[wire].range
        assert found is not None
        return None if Whole(*found) == WIDE else (literal(found[0]), literal(min(found[1], WIDE.high)))

    def varint(self, wire: str, value: str) -> str:
        """A number as the groups of bits that represent it."""
        if WIRE[wire].zigzag:
            return f"kd_zigzag({value})"
        return f"(uint32_t)({value})"

    def converted(self, kind: Type, value: str) -> str:
        """An int64_t as a place of this type takes it."""
        wanted = self.types.of(bare(kind))
        return value if wanted == "int64_t" else f"({wanted}){value}"

    def value_of(self, slot: Slot) -> str:
        """The value of a slot, for rules and for writing."""
        place = self.place(slot)
        pointed = self.types.is_pointer(self.slot_type(slot))
        return f"(*{place})" if pointed else place

    # -- bits -------------------------------------------------------------------------------------

    def bit_field(self, slot: Slot, bits: str) -> str:
        assert slot.bits is not None
        shift, width = slot.bits
        shown = (
            f"{bits} >> {shift} & {hex((1 << width) - 1)}" if shift else f"{bits} & {hex((1 << width) - 1)}"
        )
        if is_number(slot.type):
            return f"({self.types.of(slot.type)})({shown})"
        return f"({shown}) != 0"

    def bit_number(self, slot: Slot) -> str:
        value = self.place(slot)
        return f"(uint64_t){value}" if is_number(slot.type) else f"(uint64_t)({value} ? 1 : 0)"

    def bits(self, group: list[Slot]) -> str:
        parts = []
        for each in group:
            assert each.bits is not None
            shown = self.bit_number(each)
            parts.append(f"{shown} << {each.bits[0]}" if each.bits[0] else shown)
        return " | ".join(parts)

    def hex(self, number: int) -> str:
        return hex(number)

    # -- versions and what is checked before -------------------------------------------------------

    # -- rules ------------------------------------------------------------------------------------

    def shown(self, kind: Type, place: str) -> str:
        """A value as an error has it."""
        inner = bare(kind)
        if self.types.is_pointer(kind) or isinstance(inner, ObjectOf):
            return "kd_show_bytes((kodec_bytes){0})" if isinstance(kind, Maybe) else "kd_show_count(1)"
        match inner:
            case Whole(low=0, high=high) if high > WIDE.high:
                return f"kd_show_uint({place})"
            case Whole() | EnumOf():
                return f"kd_show_int({place})"
            case Real():
                return f"kd_show_real((double){place})"
            case ListOf():
                return f"kd_show_count({place}.count)"
            case OneOf():
                return f"kd_show_int({place}.kind)"
        if inner == SECTION:
            return f"kd_show_count({place}.count)"
        if inner == IDENTITY:
            return f"kd_show_uuid({place})"
        return f"kd_show_int({place})" if inner == FLAG else f"kd_show_bytes({place})"

    # -- writing ----------------------------------------------------------------------------------

    def hides(self) -> bool:
        """Whether a writer produces bytes before it knows their position."""
        return bool(self.measured()) or self.unit.packed is not None

    def differs(self, name: str, default: Constant | None) -> str:
        return self.defaults.differs(self.unit.field(name).type, self.field(name), default)

    def is_null(self, kind: Type, place: str) -> str:
        return is_null(kind, place)

    def may_be_null(self, kind: Type) -> bool:
        return isinstance(kind, Maybe)

    def bytes_of(self, data: bytes) -> str:
        return text(data)

    # -- what is derived --------------------------------------------------------------------------

    def end(self, check: CheckLength | Checksum) -> str:
        if check.last is not None:
            return f"endOf_{check.last}"
        return "w->out->size" if self.writing else "r->pos"

    def of_member(self, item: str, path: tuple[str, ...]) -> str:
        return f"(int64_t){item}.{'.'.join(map(member, path))}"

    def size_of(self, derived: Derived) -> str:
        """The length or count of a field that is not null."""
        if derived.kind == "length" and derived.of in self.measured():
            return f"bytesOf_{derived.of}.size"
        if derived.kind == "length" and self.unit.packed is not None and derived.of == self.unit.packed.name:
            return "stored.size"
        kind = bare(self.unit.field(derived.of).type)
        return f"{self.field(derived.of)}.{'size' if kind in (TEXT, OCTETS) else 'count'}"

    # -- switches ---------------------------------------------------------------------------------

    def equals(self, on: Value, value: Value) -> str:
        if bare(on.type) in (TEXT, OCTETS):
            return f"kd_same(on, {self.text(value)})"
        return f"on == {self.text(value)}"

    def on_type(self, on: Value) -> str:
        return "int64_t" if is_number(on.type) else self.types.of(on.type)

    def is_union(self, kind: Type) -> bool:
        return isinstance(bare(kind), OneOf)

    def member_of(self, kind: Type, held: Type) -> Member:
        """The kind of a type among those of a switch."""
        spelled = self.types.of(Maybe(held) if isinstance(held, ObjectOf) else held)
        return next(each for each in self.types.members(kind) if self.types.of(each.type) == spelled)

    def by_kind(self, choice: Choice, kind: Type) -> list[tuple[Member, Case]]:
        """The cases, one for each member of a union."""
        found = {self.member_of(kind, each.type).constant: each for each in self.cases_of(choice)}
        return [(self.member_of(kind, each.type), each) for each in found.values()]

    def raw(self, choice: Choice, kind: Type) -> Member | None:
        """The bytes of a value without a case."""
        if choice.other is not None or (choice.size is None and not choice.fills) or not self.is_union(kind):
            return None
        return self.member_of(kind, OCTETS)

    # -- nested units and compressed content ---------------------------------------------------------

    def gives_pointer(self, element: Any) -> bool:
        """Whether an element sets a pointer itself: a unit that represents a value that may be null."""
        if not isinstance(element, Nested) or self.is_object(element.unit):
            return False
        inner = self.program.units[element.unit]
        assert inner.stands_for is not None
        return isinstance(inner.field(inner.stands_for).type, Maybe)

    def packed_part(self, packed: Packed, held: Type) -> Member:
        return self.member_of(self.unit.field(packed.name).type, held)

    def packed_bytes(self) -> Type:
        return OCTETS

    # -- kinds ------------------------------------------------------------------------------------

    def is_pointer(self, kind: Type) -> bool:
        return self.types.is_pointer(kind)
