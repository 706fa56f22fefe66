"""One unit of the plan as what its template asks for: spellings, and nothing that the plan has decided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kodec.generator.plan.printing import UnitPrinter
from kodec.generator.plan.steps import (
    Case,
    CheckLength,
    Checksum,
    Choice,
    Derived,
    Fixed,
    Many,
    One,
    Packed,
    Program,
    Rule,
    Slot,
    Unit,
    When,
    fields_in,
)
from kodec.generator.plan.values import (
    Constant,
    EnumOf,
    ListOf,
    Maybe,
    ObjectOf,
    OneOf,
    Type,
    Value,
    Whole,
    bare,
    is_number,
)
from kodec.generator.schema.versions import VersionRange
from kodec.generator.targets.go.expressions import Computed, Expressions, Types, literal, whole
from kodec.generator.targets.go.names import Names, exported, local
from kodec.generator.wire import WIRE

__all__ = ["Printer"]

_ORDER = {"be": "binary.BigEndian", "le": "binary.LittleEndian", "": "binary.BigEndian"}
_NEEDS = {
    "equal": "{}",
    "least": "at least {}",
    "most": "at most {}",
    "one of": "one of {}",
    "a value": "a value",
}


_WIDE = Whole(-(1 << 63), (1 << 63) - 1)


class Printer(UnitPrinter):
    """What a template asks of a unit."""

    def __init__(
        self, names: Names, program: Program, unit: Unit, comments: Mapping[str, str], *, writing: bool
    ) -> None:
        super().__init__(program, unit, writing=writing)
        self.names = names
        self._comments = comments
        self.types = Types(names)

    # -- names ------------------------------------------------------------------------------------

    @property
    def type(self) -> str:
        return self.names.type(self.unit.name)

    @property
    def parameters(self) -> str:
        """The parameters of a function, after others."""
        return "".join(f", {local(each.name)} {self.types.of(each.type)}" for each in self.unit.parameters)

    @property
    def arguments(self) -> str:
        return "".join(f", {local(each.name)}" for each in self.unit.parameters)

    def field(self, name: str) -> str:
        """Where a field is while it is read or written."""
        if self.writing and self.unit.derivation(name) is not None:
            return local(name)
        if name in self.kept:
            return f"v.{exported(name)}"
        if name == self.unit.stands_for:
            return "value" if self.writing else "(*value)"
        return local(name)

    def get(self, name: str) -> str:
        """The value of a field that may be computed."""
        if name in self.computed:
            return f"(*{self.field(name)})"
        if name in self.kept and not (self.writing and self.unit.derivation(name) is not None):
            return self.field(name)
        kind = next((each.type for each in self.unit.fields if each.name == name), None)
        whole_local = kind is not None and is_number(kind) and name != self.unit.stands_for
        return Computed(self.field(name)) if whole_local else self.field(name)

    def field_type(self, name: str) -> Type:
        kind = self.unit.field(name).type
        if name in self.computed:
            return kind if isinstance(kind, Maybe) else Maybe(kind)
        if name not in self.kept and name != self.unit.stands_for and is_number(kind):
            return _WIDE
        return kind

    def text(self, value: Value, item: str = "item") -> str:
        return Expressions(field=self.get, item=item)(value)

    def argument(self, value: Value) -> str:
        """A value among the arguments of a call."""
        return Expressions(field=self.get, depth=2)(value)

    def given(self, arguments: Iterable[Value], unit: str) -> str:
        """Arguments of another unit's function, after others."""
        kinds = [each.type for each in self.program.units[unit].parameters]
        found = []
        for value, kind in zip(arguments, kinds, strict=True):
            text = self.argument(value)
            found.append(f", {self.types.of(kind)}({text})" if isinstance(kind, Whole) else f", {text}")
        return "".join(found)

    # -- fields -----------------------------------------------------------------------------------

    @property
    def always_read(self) -> set[str]:
        """The fields that every reader sets."""
        steps = [each for each in self.unit.steps if isinstance(each, (Fixed, Many, One))]
        return set(fields_in(steps))

    def is_set_before(self, name: str) -> bool:
        """Whether an object has its defaults already when it is read."""
        return isinstance(self.field_type(name), ObjectOf) and name not in self.always_read

    def initial(self, absent: bool) -> Iterator[tuple[str, str]]:
        """(field, value) where a new object, or one that is about to be read, has another than Go's zero."""
        for each in self.unit.fields:
            if each.name not in self.kept and each.name != self.unit.stands_for:
                continue
            if absent and each.name in self.always_read:
                continue
            constant = each.absent if absent else each.default
            kind = self.field_type(each.name)
            if (
                constant is None
                and isinstance(kind, ObjectOf)
                and self.program.units[kind.unit].stands_for is None
            ):
                yield self.field(each.name), f"New{self.names.type(kind.unit)}()"
            elif constant is None and isinstance(kind, Maybe) and isinstance(kind.of, ObjectOf):
                yield self.field(each.name), f"pointer(New{self.names.type(kind.of.unit)}())"
            elif constant is None and isinstance(kind, Maybe) and isinstance(kind.of, ListOf):
                yield self.field(each.name), f"{self.types.of(kind)}{{}}"
            elif constant is not None and constant.value is not None and self.is_pointer(kind):
                yield self.field(each.name), self.pointer(constant, kind)
            elif constant is not None and constant.value not in (None, 0, False, "", b""):
                yield self.field(each.name), literal(constant.value)

    # -- numbers ----------------------------------------------------------------------------------

    def load(self, wire: str, order: str, at: str) -> str:
        """What a wire type gives of the bytes `at`."""
        form = WIRE[wire]
        if form.kind == "boolean":
            return f"{at}[0] != 0"
        if form.kind == "UUID":
            return f"UUID({at})"
        bits = 8 * form.least
        raw = f"{at}[0]" if bits == 8 else f"{_ORDER[order]}.Uint{bits}({at})"
        if form.kind == "float":
            return f"math.Float{bits}frombits({raw})"
        return f"int{bits}({raw})" if form.signed else raw

    def store(self, wire: str, order: str, value: str) -> str:
        """`b` with a number, a flag or a UUID behind it."""
        form = WIRE[wire]
        if form.kind == "boolean":
            return f"append(b, pick[byte]({value}, 1, 0))"
        if form.kind == "UUID":
            return f"append(b, {value}[:]...)"
        bits = 8 * form.least
        if form.kind == "float":
            value = f"math.Float{bits}bits({value})"
        if bits == 8:
            return f"append(b, byte({value}))"
        return f"{_ORDER[order]}.AppendUint{bits}(b, uint{bits}({value}))"

    def put(self, wire: str, order: str, at: str, value: str) -> str:
        """A number put over bytes that are there."""
        form = WIRE[wire]
        bits = 8 * form.least
        return (
            f"{at}[0] = byte({value})"
            if bits == 8
            else f"{_ORDER[order]}.PutUint{bits}({at}, uint{bits}({value}))"
        )

    def varint(self, wire: str) -> str:
        return wire

    def varint_type(self, wire: str) -> str:
        """What the function that appends a varint takes."""
        found = WIRE[wire].range
        assert found is not None
        return whole(Whole(*found))

    def limits(self, wire: str) -> tuple[int, int] | None:
        """The least and the largest number; None where int64 has no other."""
        found = WIRE[wire].range
        assert found is not None
        return None if Whole(*found) == _WIDE else found

    def place(self, slot: Slot) -> str:
        """Where the value of a slot is kept."""
        head = self.field(slot.path[0])
        return ".".join([head, *map(exported, slot.path[1:])])

    # -- rules ------------------------------------------------------------------------------------

    def need(self, rule: Rule) -> str:
        """What an error says was needed."""
        if rule.need == "holds":
            constant = rule.wanted[0]
            assert isinstance(constant, Constant)
            return literal(constant.value)
        shown = ", ".join(self.text(each) for each in rule.wanted)
        return literal(_NEEDS[rule.need].format(shown))

    # -- writing ----------------------------------------------------------------------------------

    def unread(self, step: When) -> Iterator[tuple[str, str, str]]:
        """(field, its name, test that it holds something) of what is not written where a condition fails."""
        for spec in self.unit.unwritten(step):
            name, kind, default = spec.name, spec.type, spec.default
            field = self.field(name)
            if (
                default is not None
                and default.value is not None
                and self.is_pointer(kind)
                and self.unit.is_of_version(step.test)
            ):
                yield name, field, f"{field} == nil || *{field} != {literal(default.value)}"
            elif isinstance(kind, (Maybe, ListOf, OneOf)) or self.types.of(kind).startswith("[]"):
                nothing = isinstance(kind, Maybe) and not isinstance(kind.of, ListOf)
                yield (
                    name,
                    field,
                    f"{field} != nil" if nothing or isinstance(kind, OneOf) else f"len({field}) != 0",
                )
            elif isinstance(kind, ObjectOf):
                yield name, field, f"!reflect.DeepEqual({field}, New{self.names.type(kind.unit)}())"
            else:
                shown = literal(default.value) if default is not None else self.zero(kind)
                if shown in ("true", "false"):
                    yield name, field, f"!{field}" if shown == "true" else field
                    continue
                yield name, field, f"{field} != {shown}"

    def pointer(self, constant: Constant, kind: Type) -> str:
        """A pointer to a constant."""
        text = literal(constant.value)
        return f"pointer({self.types.of(bare(kind))}({text}))" if is_number(kind) else f"pointer({text})"

    def zero(self, kind: Type) -> str:
        text = self.types.of(kind)
        return {"string": '""', "bool": "false", "UUID": "(UUID{})"}.get(text, "0")

    def holds_something(self, name: str, kind: Type, default: Constant | None) -> str:
        """The test that a tagged field is not its default."""
        field = self.field(name)
        text = self.types.of(kind)
        if isinstance(kind, ObjectOf):
            return f"!reflect.DeepEqual({field}, New{text}())"
        if default is not None and default.value is None:
            return f"{field} != nil"
        if text.startswith("[]"):
            return (
                f"len({field}) != 0"
                if not isinstance(kind, Maybe)
                else f"{field} == nil || len({field}) != 0"
            )
        if text.startswith("*") and isinstance(kind, Maybe) and isinstance(kind.of, ObjectOf):
            return f"{field} == nil || !reflect.DeepEqual(*{field}, New{text[1:]}())"
        if text == "bool" and default is not None:
            return f"!{field}" if default.value else field
        if text.startswith("*"):
            return f"{field} == nil || *{field} != {self.zero(kind.of) if isinstance(kind, Maybe) else 0}"
        return f"{field} != {literal(default.value) if default is not None else self.zero(kind)}"

    # -- bits, and runs of objects ----------------------------------------------------------------

    def bits(self, slot: Slot, at: str) -> str:
        size = 8 * slot.size
        return f"uint64({at}[0])" if size == 8 else f"uint64({_ORDER[slot.order]}.Uint{size}({at}))"

    def bit_field(self, slot: Slot, bits: str) -> str:
        assert slot.bits is not None
        shift, width = slot.bits
        mask = hex((1 << width) - 1)
        if isinstance(slot.type, (Whole, EnumOf)):
            return f"{self.types.of(slot.type)}({bits}{f' >> {shift}' if shift else ''} & {mask})"
        return f"{bits}{f'>>{shift}' if shift else ''}&{mask} != 0"

    def bit_number(self, slot: Slot) -> str:
        value = self.place(slot)
        return (
            f"uint64({value})" if isinstance(slot.type, (Whole, EnumOf)) else f"pick[uint64]({value}, 1, 0)"
        )

    def store_bits(self, slot: Slot, group: list[Slot]) -> str:
        parts = []
        for each in group:
            assert each.bits is not None
            text = self.bit_number(each)
            parts.append(f"{text}<<{each.bits[0]}" if each.bits[0] else text)
        size = 8 * slot.size
        value = "|".join(parts)
        return (
            f"append(b, byte({value}))"
            if size == 8
            else f"{_ORDER[slot.order]}.AppendUint{size}(b, uint{size}({value}))"
        )

    def slot(self, slot: Slot, at: str) -> str:
        """The value of a slot that is no bits, as its place takes it."""
        if slot.wire is None:
            return at
        kind = self.field_type(slot.path[0]) if len(slot.path) == 1 else slot.type
        return self.converted(kind, slot.wire, self.load(slot.wire, slot.order, at))

    def value_of(self, slot: Slot) -> str:
        place = self.place(slot)
        if len(slot.path) == 1 and slot.path[0] in self.computed:
            return f"(*{place})"
        return Computed(place) if len(slot.path) == 1 and self.field_type(slot.path[0]) == _WIDE else place

    def inside(self, slot: Slot) -> Printer:
        """What spells the rules of a slot, which speak of fields beside it."""
        return self if len(slot.path) == 1 else _Inside(self, slot.path[:-1])

    def bytes_of(self, data: bytes) -> str:
        return literal(data)

    def text_version(self) -> str:
        return self.field(self.unit.version_name)

    def in_versions(self, versions: VersionRange) -> str:
        version = self.field(self.unit.version_name)
        if versions.first == versions.last:
            return f"{version} == {versions.first}"
        return f"{version} >= {versions.first} && {version} <= {versions.last}"

    # -- what is derived --------------------------------------------------------------------------

    def number(self, name: str) -> str:
        """A field as int64."""
        text = self.get(name)
        return text if isinstance(text, Computed) else f"int64({text})"

    def end(self, check: CheckLength | Checksum) -> str:
        return "r.pos" if check.last is None else f"endOf{exported(check.last)}"

    def plus(self, check: Any) -> str:
        return "" if check.plus is None else f" + {self.text(check.plus)}"

    def path(self, member: tuple[str, ...]) -> str:
        return ".".join(map(exported, member))

    def text_of_member(self, item: str, member: tuple[str, ...]) -> str:
        return f"int64({item}.{self.path(member)})"

    def measured_value(self, derived: Derived) -> str:
        """What the length or the count of is taken."""
        if derived.kind == "length" and derived.of in self.measured():
            return f"bytesOf{exported(derived.of)}"
        if derived.kind == "length" and self.unit.packed is not None and derived.of == self.unit.packed.name:
            return "stored"
        kind = self.unit.field(derived.of).type
        text = self.field(derived.of)
        return f"text({text})" if self.is_pointer(kind) else text

    # -- switches ---------------------------------------------------------------------------------

    def by_type(self, choice: Choice) -> list[Case]:
        """The cases, one for each Go type."""
        return list({self.types.of(each.type): each for each in self.cases_of(choice)}.values())

    def raw(self, choice: Choice) -> bool:
        sized = choice.size is not None or choice.fills
        return (
            sized
            and choice.other is None
            and "[]byte" not in {self.types.of(each.type) for each in choice.cases}
        )

    # -- compressed content -----------------------------------------------------------------------

    def read_content(self, packed: Packed, place: str) -> str:
        inner = self.program.units[packed.unit]
        if inner.stands_for is None:
            return f"{place}.read(inner)"
        return f"read{self.names.function(inner)}(inner, &{place})"

    def append_content(self, packed: Packed, place: str) -> str:
        inner = self.program.units[packed.unit]
        if inner.stands_for is None:
            return f"{place}.append(nil)"
        return f"append{self.names.function(inner)}(nil, {place})"

    def ranged_over(self, items: str) -> str:
        """A list behind `range`, where no brackets are needed."""
        return items[1:-1] if items.startswith("(*") else items

    def comment(self) -> str:
        return self._comments[""]

    def field_comment(self, name: str) -> str:
        return self._comments.get(name, "")

    def is_null(self, name: str) -> bool:
        return isinstance(self.unit.field(name).type, Maybe)

    def is_pointer(self, kind: Type) -> bool:
        return self.types.of(kind).startswith("*")

    def go(self, kind: Type) -> str:
        return self.types.of(kind)

    def exported(self, name: str) -> str:
        return exported(name)

    def local(self, name: str) -> str:
        return local(name)

    def literal(self, value: object) -> str:
        return literal(value)

    def whole_type(self, kind: Type) -> str:
        """The conversion that a computed number needs."""
        found = bare(kind)
        if isinstance(found, EnumOf):
            return self.types.of(found)
        return whole(found) if isinstance(found, Whole) else ""

    def converted(self, kind: Type, wire: str, text: str) -> str:
        """A number of a wire type as a place of this type takes it."""
        form = WIRE[wire]
        if not is_number(kind) or form.range is None:
            return text
        wanted = self.whole_type(kind)
        return text if wanted == whole(Whole(*form.range)) else f"{wanted}({text})"

    def is_number(self, kind: Type) -> bool:
        return is_number(kind)


class _Inside(Printer):
    """Spells the names of an object that is part of a run."""

    def __init__(self, outer: Printer, path: tuple[str, ...]) -> None:
        super().__init__(outer.names, outer.program, outer.unit, {}, writing=outer.writing)
        self._head = ".".join([outer.field(path[0]), *map(exported, path[1:])])

    def get(self, name: str) -> str:
        return f"{self._head}.{exported(name)}"
