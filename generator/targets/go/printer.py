"""One unit of the plan as data for its template: its spelling in Go; all decisions are the plan's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from kodec.generator.plan.printing import WHOLE, UnitPrinter
from kodec.generator.plan.spelling import Computed
from kodec.generator.plan.steps import (
    Chars,
    CheckCount,
    CheckLast,
    CheckLength,
    CheckMost,
    Checksum,
    Derived,
    Element,
    FixedNumber,
    LateSize,
    Nested,
    Octets,
    Program,
    Slot,
    Unit,
    Varint,
)
from kodec.generator.plan.values import (
    FLAG,
    Constant,
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
from kodec.generator.targets.go.expressions import ORDER, Expressions, Types, literal, load, whole
from kodec.generator.targets.go.names import Names, exported, local
from kodec.generator.wire import WIRE

__all__ = ["Printer"]


class Printer(UnitPrinter[Expressions]):
    """The questions of a template about a unit."""

    def __init__(
        self, names: Names, program: Program, unit: Unit, comments: Mapping[str, str], *, writing: bool
    ) -> None:
        super().__init__(program, unit, comments, writing=writing)
        self.names = names
        self.go = Types(names).of
        self.type = names.type(unit.name)
        self.spell = Expressions(field=self.get)
        self.here = "len(b)" if writing else "r.pos"

    literal = staticmethod(literal)
    load = staticmethod(load)
    member = staticmethod(exported)
    local = staticmethod(local)

    # -- names ------------------------------------------------------------------------------------

    @property
    def parameters(self) -> str:
        """The parameters of a function, after others."""
        return "".join(f", {local(each.name)} {self.go(each.type)}" for each in self.unit.parameters)

    def field(self, name: str) -> str:
        if name == self.unit.stands_for:
            return "value"
        derived = self.writing and self.unit.derivation(name) is not None
        place = f"v.{exported(name)}" if name in self.kept and not derived else local(name)
        return Computed(place) if self.is_wide(name) else place

    def get(self, name: str) -> str:
        """The value of a field that may be computed."""
        place = self.field(name)
        return f"*{place}" if name in self.computed and not self.writing else place

    def number(self, name: str) -> str:
        """A field as int64."""
        text = self.get(name)
        return text if isinstance(text, Computed) else f"int64({text})"

    def late_size(self, late: LateSize, length: str) -> str:
        # beside a comparison gofmt leaves no space in it
        spell = replace(self.spell.of(Computed(length)), depth=2)
        return spell(late.value, self.spell.binds.compared + 1)

    def argument(self, value: Value) -> str:
        """A value among the arguments of a call."""
        return Expressions(field=self.get, depth=2)(value)

    def told(self, value: Value, kind: Type) -> str:
        text = self.argument(value)
        return f"{self.go(kind)}({text})" if isinstance(kind, Whole) else text

    def append(self, unit: str, to: str, value: str, arguments: Iterable[Value]) -> str:
        """The call that writes what another unit reads."""
        if self.is_object(unit):
            return f"{value}.Append({to}{self.given(arguments, unit)})"
        return f"append{self.names.type(unit)}({to}, {value}{self.given(arguments, unit)})"

    # -- types and constants ----------------------------------------------------------------------

    def is_pointer(self, kind: Type) -> bool:
        return self.go(kind).startswith("*")

    def wire_type(self, wire: str) -> str:
        """The type of a wire type's numbers; empty of others."""
        found = WIRE[wire].range
        return "" if found is None else whole(Whole(*found))

    def is_set_before(self, place: str) -> bool:
        """Whether an object has its defaults already when it is read."""
        return place in dict(self.initial(absent=True))

    def initial(self, absent: bool) -> Iterator[tuple[str, str]]:
        """(field, value) for fields of a new object, or of one to be read, that differ from Go's zero."""
        for each in self.unit.fields:
            if not self.is_value(each.name) or (absent and each.name in self.always_read):
                continue
            kind, constant = self.field_type(each.name), each.absent if absent else each.default
            value, inner = None if constant is None else constant.value, bare(kind)
            text = ""
            if constant is None and isinstance(inner, ObjectOf) and self.is_object(inner.unit):
                text = f"New{self.go(inner)}()"
            elif constant is None and isinstance(kind, Maybe) and isinstance(inner, ListOf):
                text = f"{self.go(kind)}{{}}"
            elif value or (value is not None and self.is_pointer(kind)):
                text = literal(value)
                text = f"{self.go(inner)}({text})" if is_number(kind) and self.is_pointer(kind) else text
            if text:
                yield self.field(each.name), f"pointer({text})" if self.is_pointer(kind) else text

    def differs(self, name: str, default: Constant | None) -> str:
        field, kind = self.field(name), self.unit.field(name).type
        inner, value = bare(kind), None if default is None else default.value
        if isinstance(inner, OneOf) or (default is not None and value is None):
            return f"{field} != nil"
        null = f"{field} == nil || " if isinstance(kind, Maybe) else ""
        held, text = f"*{field}" if self.is_pointer(kind) else field, self.go(inner)
        if isinstance(inner, ObjectOf):
            return f"{null}!reflect.DeepEqual({held}, New{text}())"
        if text.startswith("[]"):
            return f"{null}!bytes.Equal({field}, {literal(value)})" if value else f"{null}len({field}) != 0"
        if inner == FLAG:
            return f"{null}{'!' if value else ''}{held}"
        zero = {"string": '""', "UUID": "(UUID{})"}.get(text, "0")
        return f"{null}{held} != {zero if value is None else literal(value)}"

    # -- numbers ----------------------------------------------------------------------------------

    def store(self, wire: str, order: str, value: str, at: str = "") -> str:
        """`b` with a number, a flag or a UUID after it; or the statement that puts a number `at` bytes."""
        form = WIRE[wire]
        bits = 8 * form.least
        if form.kind == "UUID":
            return f"append(b, {value}[:]...)"
        if form.kind == "boolean":
            value = f"pick[byte]({value}, 1, 0)"
        elif form.kind == "float":
            value = f"math.Float{bits}bits({value})"
        elif bits == 8:
            value = f"byte({value})"
        if bits == 8:
            return f"{at}[0] = {value}" if at else f"append(b, {value})"
        verb = f"PutUint{bits}({at}" if at else f"AppendUint{bits}(b"
        return f"{ORDER[order]}.{verb}, uint{bits}({value}))"

    def converted(self, kind: Type, wire: str, text: str) -> str:
        """A number of a wire type as a place of this type takes it."""
        wanted = self.go(bare(kind)) if is_number(kind) else self.wire_type(wire)
        text = text if wanted == self.wire_type(wire) else f"{wanted}({text})"
        return f"pointer({text})" if self.is_pointer(kind) else text

    def reading(self, element: Element, kind: Type, name: str) -> str:
        """Code that reads an element other than an object or switch; `name` is its name in errors, in Go."""
        match element:
            case Nested(unit, arguments):
                return f"read{self.names.type(unit)}(r{self.given(arguments, unit)})"
            case FixedNumber(wire, order):
                text = load(wire, order, f"r.take({name}, {WIRE[wire].least})")
                return self.converted(kind, wire, text)
            case Varint(wire):
                return self.converted(kind, wire, f"r.{wire}({name})")
            case Octets(size) | Chars(size):
                text = "r.rest()" if size is None else f"r.octets({name}, {self.argument(size.value)})"
                text = f"string({text})" if isinstance(element, Chars) else text
                return f"pointer({text})" if self.is_pointer(kind) else text
        raise TypeError(element)

    # -- runs of fixed width ----------------------------------------------------------------------

    def slot(self, slot: Slot, x: str, offset: int) -> str:
        """The value of a slot that is no bits, as its place takes it."""
        if slot.wire is None:
            return f"{x}[{offset}:{offset + slot.size}:{offset + slot.size}]"
        return self.converted(self.slot_type(slot), slot.wire, load(slot.wire, slot.order, x, offset))

    def value_of(self, slot: Slot) -> str:
        return self.get(slot.path[0]) if len(slot.path) == 1 else self.place(slot)

    def bit_field(self, slot: Slot, bits: str) -> str:
        assert slot.bits is not None
        shift, mask = slot.bits[0], hex((1 << slot.bits[1]) - 1)
        if is_number(slot.type):
            return f"{self.go(slot.type)}({bits}{f' >> {shift}' if shift else ''} & {mask})"
        return f"{bits}{f'>>{shift}' if shift else ''}&{mask} != 0"

    def store_bits(self, group: list[Slot]) -> str:
        """`b` with the bit fields of a group after it."""
        parts = []
        for each in group:
            assert each.bits is not None
            place, shift = self.place(each), each.bits[0]
            text = f"uint64({place})" if is_number(each.type) else f"pick[uint64]({place}, 1, 0)"
            parts.append(f"{text}<<{shift}" if shift else text)
        size, text = group[0].size, "|".join(parts)
        if size in WHOLE:
            return self.store(f"u{size}", group[0].order, text)
        return f"appendBits(b, {text}, {size})"

    def load_bits(self, slot: Slot) -> str:
        """The number of which the bit fields at a slot are parts."""
        if slot.size in WHOLE:
            return f"uint64({load(f'u{slot.size}', slot.order, 'x', slot.offset)})"
        return f"bitsOf(x[{slot.offset}:{slot.offset + slot.size}])"

    # -- what is derived --------------------------------------------------------------------------

    def end(self, check: CheckLength | Checksum) -> str:
        return f"endOf{exported(check.last)}" if check.last else self.here

    def where(self, check: CheckCount | CheckLast | CheckMost) -> str:
        """The condition under which a field is derived from a list; empty if it always is."""
        tests = [f"!r.opt.IgnoreDerived && len({self.field(check.of)}) != 0"]
        tests = [] if isinstance(check, CheckCount) else tests
        tests += [] if check.when is None else [self.spell(check.when, self.spell.binds["and"])]
        return " && ".join(tests)

    def of_list(self, part: CheckCount | CheckLast | CheckMost | Derived, *, compared: bool = False) -> str:
        """The number of a list's elements, or the last or the largest of their members, and what is added."""
        if isinstance(part, CheckCount):
            return f"int64(len({self.field(part.of)})){self.plus(part, tight=True)}"
        kind = self.item(self.unit.field(part.of).type)
        member = ".".join(["each", *map(exported, part.member)])
        call = f"{'last' if self.is_last(part) else 'most'}({self.field(part.of)}"
        call = f"{call}, func(each *{self.go(kind)}) int64 {{ return int64({member}) }})"
        return call + self.plus(part, tight=compared or not self.writing)

    def measured_value(self, derived: Derived) -> str:
        """The value whose length or count is used."""
        if derived.kind == "length" and (derived.of in self.measured() or self.is_packed(derived.of)):
            return f"bytesOf{exported(derived.of)}"
        text = self.field(derived.of)
        return f"text({text})" if self.is_pointer(self.unit.field(derived.of).type) else text
