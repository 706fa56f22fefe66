"""One unit of the plan as data for its template: its spelling in TypeScript; all decisions are the plan's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from kodec.generator.plan.printing import UnitPrinter
from kodec.generator.plan.steps import (
    Case,
    CheckLast,
    CheckMost,
    Choice,
    Derived,
    Element,
    FieldPlan,
    Fixed,
    LateSize,
    Many,
    Nested,
    One,
    Program,
    SetNull,
    Slot,
    Step,
    Stored,
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
    ListOf,
    Maybe,
    ObjectOf,
    OneOf,
    Peeked,
    Real,
    Type,
    Value,
    bare,
    whole_of,
)
from kodec.generator.targets.typescript.expressions import Expressions, Types, constant, is_big
from kodec.generator.targets.typescript.names import Names, local, member
from kodec.generator.wire import WIRE

__all__ = ["Printer", "marked_types"]

_EMPTY = {TEXT: '""', OCTETS: "new Uint8Array()", IDENTITY: "NO_UUID", SECTION: "[]", FLAG: "false"}
_BY_VIEW = {1: "Int8", 2: "Int16", 4: "Int32", 8: "BigInt64"}


def marked_types(program: Program) -> frozenset[str]:
    """The units whose objects have a tag of their type, as a switch has them beside others."""
    return frozenset(
        kind.unit
        for unit in program.units.values()
        for field in unit.fields
        for each in values_of(field.type)
        if isinstance(each, OneOf)
        for kind in each.types
        if isinstance(kind, ObjectOf)
    )


class Printer(UnitPrinter[Expressions]):
    """The data for a template about a unit."""

    def __init__(
        self,
        names: Names,
        program: Program,
        unit: Unit,
        comments: Mapping[str, str],
        marked: frozenset[str],
        *,
        writing: bool,
    ) -> None:
        super().__init__(program, unit, comments, writing=writing)
        self.names = names
        self.marked = marked
        self.types = Types(names)
        self.spell = Expressions(field=self.get, stored=self._stored)
        self._once = self._read_once()

    # -- names and types --------------------------------------------------------------------------

    @property
    def type(self) -> str:
        return self.names.type(self.unit.name)

    @property
    def value_type(self) -> str:
        """The type of the unit's result."""
        held = self.unit.stands_for
        return self.type if held is None else self.types.of(self.unit.field(held).type)

    @property
    def parameters(self) -> str:
        """The parameters of a function, between others."""
        return "".join(f"{local(each.name)}: {self.types.of(each.type)}, " for each in self.unit.parameters)

    def ts(self, kind: Type) -> str:
        return self.types.of(kind)

    def is_null(self, kind: Type) -> bool:
        return isinstance(kind, Maybe)

    def takes_null(self, element: Element) -> bool:
        """Whether the writer of an element takes null, too."""
        if isinstance(element, Choice):
            return True
        inner = self.program.units[element.unit] if isinstance(element, Nested) else None
        return (
            inner is not None
            and inner.stands_for is not None
            and self.is_null(inner.field(inner.stands_for).type)
        )

    def field_type(self, name: str) -> Type:
        kind = self.unit.field(name).type
        return Maybe(kind) if name in self.computed and not isinstance(kind, Maybe) else kind

    def literal(self, value: object) -> str:
        return constant(value)

    def member(self, name: str) -> str:
        return member(name)

    def local(self, name: str) -> str:
        return local(name)

    def _stored(self, name: str, kind: Type) -> Type:
        known = {each.name: each.type for each in self.unit.fields}
        return {each.name: each.type for each in self.unit.parameters}.get(name, known.get(name, kind))

    # -- where values are -------------------------------------------------------------------------

    def field(self, name: str) -> str:
        """The place of a field while it is read or written."""
        if not self.writing or self.unit.derivation(name) is not None:
            return local(name)
        if name == self.unit.stands_for:
            return "v"
        return f"v.{member(name)}" if name in self.kept else local(name)

    def get(self, name: str) -> str:
        return self.field(name)

    @property
    def apart(self) -> str:  # type: ignore[override]  # the variables of a reader are named by paths
        return "." if self.writing else "$"

    def beside(self, slot: Slot) -> Expressions:
        return replace(super().beside(slot), stored=lambda _name, kind: kind)

    def is_read(self, slot: Slot) -> bool:
        return self.is_used(slot.path[0]) or bool(slot.rules) or slot.contents is not None

    # -- values -----------------------------------------------------------------------------------

    def number(self, value: Value) -> str:
        """A size or a count."""
        return self.spell(value, big=False)

    def told(self, value: Value, kind: Type) -> str:
        return self.spell(value, big=is_big(kind))

    def late_size(self, late: LateSize, length: str) -> str:
        return self.spell.of(length)(late.value, self.spell.binds.compared + 1, big=False)

    def added(self, part: Any, big: bool) -> str:
        return "" if part.plus is None else f" + {self.spell(part.plus, big=big)}"

    def big(self, name: str) -> bool:
        return is_big(self.unit.field(name).type)

    def initial(self, spec: FieldPlan, absent: bool) -> str:
        """The value of a field in a new object, or if it is not read."""
        kind = self.field_type(spec.name)
        return self._initial(kind, spec.absent if absent else spec.default)

    def _initial(self, kind: Type, found: Constant | None) -> str:
        if found is not None and (found.value is not None or isinstance(kind, (Maybe, OneOf))):
            return constant(found.value, is_big(kind))
        kind = bare(kind)
        if isinstance(kind, OneOf):
            return "null"
        if isinstance(kind, ListOf):
            return "[]"
        if isinstance(kind, ObjectOf):
            return f"new{self.names.type(kind.unit)}()"
        if whole_of(kind) is not None or isinstance(kind, Real):
            return constant(0, is_big(kind))
        return _EMPTY[kind]  # type: ignore[index]  # what is left has no parameters

    # -- reading ----------------------------------------------------------------------------------

    def _read_once(self) -> set[str]:
        """The variables that are declared where they are read: by one step, without a condition."""
        unit = self.unit
        packed = "" if unit.packed is None else unit.packed.name
        top = Counter(
            name for step in unit.steps if isinstance(step, (Fixed, One, Many)) for name in _set_by(step)
        )
        every = Counter(name for step in steps_in(unit.steps) for name in _set_by(step))
        return {name for name, times in top.items() if times == every[name] == 1 and name != packed}

    def declared(self) -> Iterator[tuple[str, str, str]]:
        """(`let` or `const`, name and type, value) of variables that are not declared where they are read."""
        every = {name for step in steps_in(self.unit.steps) for name in _set_by(step)}
        told = {each.name for each in self.unit.parameters}
        for each in self.unit.fields:
            if each.name in self._once or each.name in told or not self.is_used(each.name):
                continue
            word = "let" if each.name in every else "const"
            yield word, f"{local(each.name)}: {self.ts(each.type)}", self.initial(each, absent=True)

    def target(self, name: str) -> str:
        """The target of a step's value."""
        return f"const {local(name)}" if name in self._once else local(name)

    def target_of(self, slot: Slot) -> str:
        return self.target(slot.path[0]) if len(slot.path) == 1 else f"const {self.place(slot)}"

    def is_declared_here(self, name: str) -> bool:
        return name in self._once

    def load(self, wire: str, order: str) -> str:
        """The method that reads or writes a wire type."""
        return f"{wire}le" if order == "le" and WIRE[wire].least > 1 else wire

    def converted(self, kind: Type, wire: str, text: str) -> str:
        """The value read of a wire type, converted for a variable of this type."""
        form = WIRE[wire]
        if form.range is None or whole_of(kind) is None:
            return text
        return self._converted(text, is_big(kind), form.bits > 53)

    @staticmethod
    def _converted(text: str, wanted: bool, have: bool) -> str:
        return text if wanted == have else f"{'BigInt' if wanted else 'Number'}({text})"

    def loaded(self, slot: Slot) -> str:
        """The value of a slot without bit fields."""
        path = constant(".".join(slot.path))
        if slot.wire is None:
            return f"r.octets({path}, {slot.size})"
        return self.converted(slot.type, slot.wire, f"r.{self.load(slot.wire, slot.order)}({path})")

    def bits(self, group: list[Slot]) -> str:
        """The number of which bits are read."""
        slot = group[0]
        path = constant(".".join(slot.path))
        if slot.size in (1, 2, 4):
            return f"r.{self.load(f'u{slot.size}', slot.order)}({path})"
        return f"r.whole({path}, {slot.size}{', true' if slot.order == 'le' else ''})"

    def bit_field(self, slot: Slot, bits: str) -> str:
        assert slot.bits is not None
        shift, width = slot.bits
        small = slot.size in (1, 2, 4)
        mask = (1 << width) - 1
        if not small:
            moved = f"({bits} >> {shift}n)" if shift else bits
            text = f"{moved} & {mask:#x}n"
            return f"({text}) !== 0n" if slot.type == FLAG else self._converted(text, is_big(slot.type), True)
        moved = f"({bits} >>> {shift})" if shift else bits
        text = f"{moved} & {mask:#x}" if width < 32 else bits
        return f"({text}) !== 0" if slot.type == FLAG else text

    def objects(self, step: Fixed) -> Iterator[tuple[str, str]]:
        """(variable, object) of the objects that a run holds, inner ones first."""
        for path, name in step.objects:
            if not self.is_used(path[0]):
                continue
            unit = self.program.units[name]
            head = "$".join([local(path[0]), *map(member, path[1:])])
            parts = [f"$type: {constant(name)}"] if name in self.marked else []
            parts += [f"{member(each.name)}: {head}${member(each.name)}" for each in unit.fields if each.kept]
            target = self.target(path[0]) if len(path) == 1 else f"const {head}"
            yield target, _object(parts)

    def made(self) -> str:
        """The object of the fields that were read."""
        found = [f"$type: {constant(self.unit.name)}"] if self.unit.name in self.marked else []
        for each in self.kept_fields():
            name, place = member(each.name), local(each.name)
            found.append(name if name == place else f"{name}: {place}")
        return _object(found)

    def peeked(self, peek: Peeked) -> str:
        form = WIRE[peek.wire]
        size = _BY_VIEW[form.least]
        method = size if form.signed else size.replace("Int", "Uint")
        at = f"r.pos + {peek.offset}" if peek.offset else "r.pos"
        return f"r.view.get{method}({at}{', true' if peek.order == 'le' else ''})"

    # -- switches ---------------------------------------------------------------------------------

    def case_value(self, choice: Choice, case: Case) -> str:
        assert case.value is not None
        return self.spell(case.value, big=self.spell.is_big(choice.on))

    def is_of(self, kind: Type, value: str) -> str:
        """The test that a value is of a case."""
        match bare(kind):
            case ObjectOf(unit):
                return f"isOf<{self.names.type(unit)}>({value}, {constant(unit)})"
            case ListOf():
                return f"Array.isArray({value})"
            case found if found in (OCTETS,):
                return f"{value} instanceof Uint8Array"
        return f'typeof {value} === "{self.ts(self._primitive(bare(kind)))}"'

    def is_not(self, kind: Type, value: str) -> str:
        test = self.is_of(kind, value)
        return f"!{test}" if test.endswith(")") else f"!({test})"

    @staticmethod
    def _primitive(kind: Type) -> Type:
        return whole_of(kind) or kind

    # -- writing ----------------------------------------------------------------------------------

    def slot_value(self, slot: Slot) -> str:
        """The value of a slot that is no bits, as the writer of its wire type takes it."""
        assert slot.wire is not None
        text = self.place(slot)
        kind = self.unit.field(slot.path[0]).type if len(slot.path) == 1 else slot.type
        if isinstance(kind, Maybe):
            text = f"given({constant(slot.shown)}, {text})"
        return self.to_wire(slot.wire, kind, text)

    def to_wire(self, wire: str, kind: Type, text: str) -> str:
        form = WIRE[wire]
        if form.range is None or whole_of(kind) is None:
            return text
        return self._converted(text, form.bits > 53, is_big(kind))

    def bits_name(self, slot: Slot) -> str:
        """The number that holds the bits of a group, whose first slot this is."""
        return "$".join(["bits", *map(member, slot.path)])

    def parts_of_bits(self, group: list[Slot]) -> list[str]:
        """The numbers whose sum holds the bits of a group."""
        small = group[0].size in (1, 2, 4)
        parts = []
        for each in group:
            assert each.bits is not None
            shift, width = each.bits
            text = f"{'fit' if small else 'fitBig'}({constant(each.shown)}, {self.place(each)}, {width})"
            parts.append(text + (f" * {1 << shift}{'' if small else 'n'}" if shift else ""))
        return parts

    def store_bits(self, slot: Slot, value: str) -> str:
        """The call that writes the bits of a group."""
        if slot.size in (1, 2, 4):
            return f"w.{self.load(f'u{slot.size}', slot.order)}({constant(slot.shown)}, {value})"
        return f"w.whole({value}, {slot.size}{', true' if slot.order == 'le' else ''})"

    def patch(self, name: str, value: str, have_big: bool) -> str:
        """The call that writes a number of fixed width."""
        wire, order = self.unit.wire_of(name)
        text = self._converted(value, WIRE[wire].bits > 53, have_big)
        return f"w.{self.load(wire, order)}({constant(name)}, {text})"

    def amount(self, derived: Derived) -> str:
        """The length or the count of the source of a derived field."""
        name, field = derived.of, self.field(derived.of)
        if derived.kind == "presence":
            return "1"
        if derived.kind == "length" and self.unit.packed is not None and self.unit.packed.name == name:
            return "stored.length"
        if derived.kind == "length" and name in self.measured():
            return f"bytesOf_{member(name)}.length"
        text = bare(self.unit.field(name).type) == TEXT
        return f"sizeOfText({field})" if text else f"{field}.length"

    def of_list(self, part: Derived | CheckLast | CheckMost) -> str:
        """The last or the largest member of a list, as the field that is derived of it is kept."""
        kind = self.unit.field(part.of).type
        for name in ("", *part.member):
            inner = self.item(kind) if isinstance(bare(kind), ListOf) else bare(kind)
            if name:
                assert isinstance(inner, ObjectOf)
                kind = self.program.units[inner.unit].field(name).type
        big = self.big(part.name)
        text = self._converted(f"each.{'.'.join(map(member, part.member))}", big, is_big(kind))
        name = "last" if isinstance(part, CheckLast) or getattr(part, "kind", "") == "last" else "most"
        return f"{name}({self.field(part.of)}, (each) => {text}{self.added(part, big)})"

    def outside_versions(self) -> str:
        """The test that the version is none that the unit has."""
        version, versions = self.field(self.unit.version_name), self.unit.versions
        assert versions is not None
        big = "n" if is_big(self._stored(self.unit.version_name, FLAG)) else ""
        if versions.first == versions.last:
            return f"{version} !== {versions.first}{big}"
        return f"{version} < {versions.first}{big} || {version} > {versions.last}{big}"

    def sign(self, value: int, big: bool) -> str:
        return constant(value, big)

    def differs(self, name: str, found: Constant | None) -> str:
        field, kind = self.field(name), self.unit.field(name).type
        inner = bare(kind)
        if found is not None and found.value is None:
            return f"{field} !== null"
        if kind == FLAG:
            return f"!{field}" if found is not None and found.value else field
        value = None if found is not None and found.value in ("", b"") else found
        if value is None and (isinstance(inner, ListOf) or inner in (OCTETS, SECTION)):
            return f"{field}{'?' if isinstance(kind, Maybe) else ''}.length !== 0"
        if isinstance(inner, (ObjectOf, Real)) or inner == OCTETS:
            return f"!same({field}, {self._initial(kind, value)})"
        return f"{field} !== {self._initial(kind, value)}"


def _object(parts: list[str]) -> str:
    """An object literal, on one line if it is short."""
    text = f"{{ {', '.join(parts)} }}" if parts else "{}"
    if len(text) <= 80:
        return text
    return "\n".join(["{", *(f"  {each}," for each in parts), "}"])


def _set_by(step: Step) -> Iterator[str]:
    """The fields that a step sets."""
    if isinstance(step, Fixed):
        yield from dict.fromkeys(each.path[0] for each in step.slots)
    elif isinstance(step, (One, Many, SetNull, Stored)):
        yield step.name
    elif isinstance(step, Tagged):
        # to the list of unknown ones it adds
        yield from (each.name for each in step.tags)
