"""One unit of the plan as data for its template: its spelling in Rust; all decisions are the plan's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kodec.generator.plan.bind import wire_range
from kodec.generator.plan.printing import WHOLE, UnitPrinter
from kodec.generator.plan.steps import (
    CheckLength,
    Checksum,
    Choice,
    Derived,
    FieldPlan,
    Fixed,
    Many,
    Mark,
    One,
    Packed,
    SetNull,
    Slot,
    Step,
    Stored,
    Tagged,
    TagPlan,
    Unit,
    When,
    steps_in,
    values_of,
)
from kodec.generator.plan.values import (
    FLAG,
    OCTETS,
    SECTION,
    TEXT,
    Constant,
    EnumOf,
    FieldOf,
    ListOf,
    Maybe,
    MemberOf,
    ObjectOf,
    OneOf,
    Peeked,
    Type,
    Value,
    Whole,
    bare,
)
from kodec.generator.schema.versions import VersionRange
from kodec.generator.targets.rust.elements import Elements, closure, converted, loaded, number_type, stored
from kodec.generator.targets.rust.expressions import Expressions, Types, literal
from kodec.generator.targets.rust.names import local, member
from kodec.generator.wire import WIRE

__all__ = ["Printer"]


class Printer(UnitPrinter[Expressions]):
    """The data for a template about a unit, for reading or for writing."""

    def __init__(
        self, types: Types, unit: Unit, comments: Mapping[str, str], packing: set[str], *, writing: bool
    ) -> None:
        super().__init__(types.program, unit, comments, writing=writing)
        self.types = types
        self.names = types.names
        self._packing = packing
        parts = [*values_of((unit.steps, unit.packed))]
        self._counted = Counter(each.name for each in parts if isinstance(each, FieldOf))
        lacking = (each.name for each in parts if isinstance(each, One) and _may_lack(each))
        null = (
            each.name
            for each in unit.fields
            if any(c is not None and c.value is None for c in (each.absent, each.default))
        )
        self._null_choices = {*lacking, *null}
        self._late = set(_late(unit)) - set(self._inner(unit.steps))
        self._read = {name for each in steps_in(unit.steps) for name in _set_by(each)}
        self.spell = Expressions(field=self.field, types=types, wide=self._is_wide, stored=self._null)
        self.elements = Elements(types, self.spell)

    def _inner(self, steps: Iterable[Step]) -> Iterator[str]:
        """Fields that no object has, and that are used only if the condition of their step holds."""
        for step in steps:
            if isinstance(step, When):
                inside = Counter(each.name for each in values_of(step.steps) if isinstance(each, FieldOf))
                for each in step.steps:
                    yield from (
                        name
                        for name in _set_by(each)
                        if isinstance(each, (Fixed, One))
                        and not {name} & (self.kept | self.ranged | {self.unit.stands_for})
                        and inside[name] == self._counted[name]
                    )
                yield from self._inner(step.steps)

    # -- names and types --------------------------------------------------------------------------

    @property
    def type(self) -> str:
        return self.names.type(self.unit.name)

    @property
    def lifetime(self) -> str:
        return self.types.suffix(ObjectOf(self.unit.name))

    @property
    def borrowing(self) -> str:
        """The lifetime of the input that is read."""
        return "'a" if self.types.borrows(ObjectOf(self.unit.name)) else "'_"

    @property
    def parameters(self) -> str:
        return "".join(f", {local(each.name)}: {self.types.of(each.type)}" for each in self.unit.parameters)

    @property
    def unpacks(self) -> bool:
        """Whether something in it may be compressed."""
        return self.unit.name in self._packing

    def field(self, name: str) -> str:
        """The place of a field while it is read or written."""
        if not self.writing:
            return local(name)
        if self.unit.derivation(name) is None:
            if name == self.unit.stands_for:
                return "value"
            if name in self.kept:
                return f"self.{member(name)}"
        return local(name)

    def _null(self, name: str, kind: Type) -> Type:
        """The type of a variable."""
        if name in self.computed:
            return bare(kind) if self.writing or name not in self._late else Maybe(bare(kind))
        if isinstance(kind, OneOf) and name in self._null_choices:
            return Maybe(kind)
        return kind

    def local_type(self, name: str) -> Type:
        return self._null(name, self.unit.field(name).type)

    def kept_type(self, name: str) -> Type:
        """The type of the field of an object."""
        kind = self.unit.field(name).type
        return Maybe(bare(kind)) if name in self.computed else self._null(name, kind)

    def _is_wide(self, name: str) -> bool:
        if not self.writing:
            return any(each.name == name for each in self.unit.peeks)
        return self.unit.derivation(name) is not None and name not in self.computed

    def declared(self) -> Iterator[tuple[str, str, str]]:
        """(variable, type, value) of fields that may not be read."""
        for each in self.unit.fields:
            if self.is_used(each.name) and (each.name in self._late or each.name not in self._read):
                kind = self.local_type(each.name)
                yield local(each.name), self.types.of(kind), self.types.initial(kind, each.absent)

    def stored_late(self) -> bool:
        """Whether compressible content is present only under a condition."""
        return not any(isinstance(each, Stored) for each in self.unit.steps)

    def late_marks(self) -> list[str]:
        """Positions that are stored only under a condition."""
        inner = (each for step in self.unit.steps if isinstance(step, When) for each in steps_in(step.steps))
        return [
            f"{'end' if each.end else 'start'}_of_{each.name}"
            for each in inner
            if isinstance(each, Mark) and (each.end or each.name in self.unit.marked)
        ]

    def set(self, name: str) -> str:
        """The left side of a field's assignment."""
        return local(name) if name in self._late else f"let {local(name)}"

    def made(self) -> str:
        """The fields of the object that was read."""
        found = []
        for each in self.kept_fields():
            name, value = member(each.name), local(each.name)
            if each.name in self.computed and each.name not in self._late:
                value = f"Some({value})"
            found.append(name if name == value else f"{name}: {value}")
        return ", ".join(found)

    def default(self, field: FieldPlan) -> str:
        return self.types.initial(self.kept_type(field.name), field.default)

    def derives_default(self) -> bool:
        """Whether each field's default is that of its type."""
        return all(
            self.default(each) == self.types.zero(self.kept_type(each.name)) for each in self.kept_fields()
        )

    def literal(self, value: object) -> str:
        return literal(value)

    def local(self, name: str) -> str:
        return local(name)

    def member(self, name: str) -> str:
        return member(name)

    # -- values -----------------------------------------------------------------------------------

    def last_one(self, step: Many) -> str:
        """The test that an element is the last one."""
        assert step.until is not None and isinstance(bare(step.type), ListOf)
        item = "*item" if isinstance(self.item(step.type), Whole) else "item"
        return self.spell.of(item)(step.until)

    def shown(self, text: str, kind: Type) -> str:
        """A value as an error has it."""
        if isinstance(kind, Whole):
            return f"{text}.into()"
        return f"{text}.0.into()" if isinstance(kind, EnumOf) else f"rt::shown(&{text})"

    def whole(self, name: str) -> str:
        """A field as i64."""
        return self.text(FieldOf(name, self.unit.field(name).type))

    # -- reading ----------------------------------------------------------------------------------

    def reading(self, step: One | TagPlan) -> str:
        kind = self.local_type(step.name)
        name = self.name(step.name) if isinstance(step, One) else literal(step.name)
        return self.elements.reading(step.element, kind, name).value

    def reading_item(self, step: Many) -> str:
        return closure(self.elements.reading(step.element, self.item(step.type), '""').result)

    def reading_kept_item(self, step: Many) -> str:
        return self.elements.reading(step.element, self.item(step.type), '""').value

    def bits_type(self, slot: Slot) -> str:
        return f"u{8 * slot.size}" if slot.size in WHOLE else "u64"

    def bits(self, slot: Slot) -> str:
        if slot.size not in WHOLE:
            return f"rt::bits(&run[{slot.offset}..{slot.offset + slot.size}])"
        return f"{self.bits_type(slot)}::from_{slot.order or 'be'}_bytes(rt::part(run, {slot.offset}))"

    def slot(self, slot: Slot) -> str:
        """The value of a slot as its place takes it."""
        if slot.bits is not None:
            shift, width = slot.bits
            bits = f"bits_at_{slot.offset}"
            bits = f"({bits} >> {shift})" if shift else bits
            bits = bits if width == 8 * slot.size else f"{bits} & {hex((1 << width) - 1)}"
            if slot.type == FLAG:
                return f"{bits} != 0"
            plain = converted(slot.type, self.bits_type(slot), bits, self.types)
            return plain if plain == bits or "from(" in plain else plain.replace(bits, f"({bits})")
        if slot.wire is None:
            return f"&run[{slot.offset}..{slot.offset + slot.size}]"
        kind = self.unit.field(slot.path[0]).type if len(slot.path) == 1 else slot.type
        if WIRE[slot.wire].kind == "boolean":
            return f"run[{slot.offset}] != 0"
        if WIRE[slot.wire].least == 1:
            text = f"run[{slot.offset}]" + ("" if wire_range(slot.wire).low >= 0 else " as i8")
            return converted(kind, number_type(slot.wire), text, self.types)
        return loaded(slot.wire, slot.order, f"rt::part(run, {slot.offset})", kind, self.types)

    def tops(self, run: Fixed) -> Iterator[tuple[str, str]]:
        """(field, value) of the values of a run, in the order of the fields."""
        for name in dict.fromkeys(slot.path[0] for slot in run.slots):
            if self.is_used(name):
                kind = self.local_type(name)
                value = self._part(run, (name,), kind)
                yield name, f"Some({value})" if isinstance(kind, Maybe) else value

    def _part(self, run: Fixed, path: tuple[str, ...], kind: Type) -> str:
        found = next((each for each in run.slots if each.path == path), None)
        if found is not None:
            return self.slot(found)
        kind = bare(kind)
        assert isinstance(kind, ObjectOf)
        parts = []
        for each in self.program.units[kind.unit].fields:
            here = (*path, each.name)
            if each.kept and any(slot.path[: len(here)] == here for slot in run.slots):
                parts.append(f"{member(each.name)}: {self._part(run, here, each.type)}")
        return f"crate::{self.names.type(kind.unit)} {{ {', '.join(parts)} }}"

    def runs(self, slots: Iterable[Slot]) -> str:
        """The names of fields and their sizes, for the error that a run is not whole."""
        return ", ".join(f"({literal('.'.join(each.path))}, {each.size})" for each in slots)

    def groups(self, run: Fixed) -> list[Slot]:
        return [each[0] for each in run.groups]

    def peek(self, wire: str, order: str, offset: int) -> str:
        """A number that is checked before it is read."""
        own = number_type(wire)
        return f"{own}::from_{order or 'be'}_bytes(rt::part(&r.buf[r.pos..], {offset}))"

    def peeked(self, each: Peeked) -> str:
        text = self.peek(each.wire, each.order, each.offset)
        return text if number_type(each.wire) == "i64" else f"i64::from({text})"

    def in_versions(self, versions: VersionRange) -> str:
        if versions.first == versions.last:
            return super().in_versions(versions)
        return f"({versions.first}..={versions.last}).contains(&{self.field(self.unit.version_name)})"

    def other_version(self, text: str, versions: VersionRange | None = None) -> str:
        """The test that a version is none of these, or of those that the unit knows."""
        known = versions or self.unit.versions
        assert known is not None
        first, last = known.first, known.last
        return f"{text} != {first}" if first == last else f"!({first}..={last}).contains(&{text})"

    def end(self, check: CheckLength | Checksum) -> str:
        if check.last is not None:
            return f"end_of_{check.last}"
        return "out.len()" if self.writing else "r.pos"

    def each(self, check: Any, item: str) -> str:
        """The member of an element that a check is of, as i64."""
        value: Value = FieldOf("", FLAG)
        kind = self.item(self.unit.field(check.of).type)
        text = item
        for name in check.member:
            while isinstance(kind, ObjectOf) and self.types.inner(kind.unit) is not None:
                kind = self.types.inner(kind.unit) or kind
            assert isinstance(kind, ObjectOf)
            kind = self.program.units[kind.unit].field(name).type
            text = f"{text}.{member(name)}"
        value = MemberOf(value, "", kind)
        return self.spell.number(text, value.type)

    def items(self, name: str) -> str:
        """A list, also one that may be null."""
        text, kind = self.field(name), self.local_type(name)
        if not isinstance(kind, Maybe):
            return text
        return f"{text}{'' if text == 'value' else '.as_deref()'}.unwrap_or_default()"

    # -- writing ----------------------------------------------------------------------------------

    def passed(self, name: str, kind: Type | None = None) -> str:
        """The value of a field that is copied, or a reference to it."""
        text = self.field(name)
        kind = self.local_type(name) if kind is None else kind
        if text == "value" or self.types.is_copy(kind):
            return text
        if isinstance(kind, Maybe):
            return f"{text}.{'as_deref' if isinstance(kind.of, ListOf) else 'as_ref'}()"
        return f"&{text}"

    def writing_of(self, step: One | TagPlan) -> list[str]:
        name = self.name(step.name) if isinstance(step, One) else literal(step.name)
        if self.unit.derivation(step.name) is not None and step.name not in self.computed:
            kind: Type = _COMPUTED
        else:
            kind = self.local_type(step.name)
        return self.elements.writing(step.element, self.passed(step.name), kind, name)

    def writing_item(self, step: Many) -> list[str]:
        return self.elements.writing(step.element, "item", self.item(step.type), '""')

    def item_pattern(self, step: Many) -> str:
        return "&item" if self.types.is_copy(self.item(step.type)) else "item"

    def only(self, lines: list[str]) -> str:
        """The one `Result` that the statements are, or nothing."""
        if len(lines) == 1 and lines[0].endswith("?;") and lines[0].startswith(("item", "crate::")):
            return lines[0][:-2]
        return ""

    def store(self, slot: Slot, text: str) -> str:
        """The bytes of a slot, as an array."""
        assert slot.wire is not None
        name, of = literal(slot.shown), slot.path[0]
        if len(slot.path) == 1 and self.unit.derivation(of) is not None and of not in self.computed:
            return stored(slot.wire, slot.order, text, None, name)
        kind = self.local_type(of) if len(slot.path) == 1 else slot.type
        if isinstance(kind, Maybe):
            return stored(slot.wire, slot.order, f"rt::given({name}, {text})?", kind.of, name)
        return stored(slot.wire, slot.order, text, kind, name)

    def lower_bytes(self, slot: Slot) -> str:
        """What of the number of a bit field's type is stored."""
        return "" if slot.size in WHOLE else f"[{8 - slot.size}..]"

    def stored_bits(self, slot: Slot) -> str:
        """A bit field at its place among the others."""
        assert slot.bits is not None
        own, text = self.bits_type(slot), self.place(slot)
        if slot.type == FLAG:
            text = f"{own}::from({text})"
        elif isinstance(slot.type, EnumOf):
            text = f"rt::fit::<{own}, _>({literal(slot.shown)}, {text}.0)?"
        elif self.unit.derivation(slot.path[0]) is not None:
            text = f"rt::fit::<{own}, _>({literal(slot.shown)}, {text})?"
        elif self.types.of(slot.type) != own:
            text = f"{own}::from({text})"
        return f"({text} << {slot.bits[0]})" if slot.bits[0] else text

    def too_wide(self, slot: Slot) -> str:
        """The test that a value does not fit its bits; nothing if it always does."""
        assert slot.bits is not None
        width, text = slot.bits[1], self.place(slot)
        if isinstance(slot.type, EnumOf):
            return f"!(0..{1 << width}).contains(&{text}.0)"
        if self.unit.derivation(slot.path[0]) is not None:
            return f"!(0..{1 << width}).contains(&{text})" if width < 63 else ""
        return f"{text} >= {1 << width}" if isinstance(slot.type, Whole) and width % 8 else ""

    def is_patched_only(self, run: Fixed) -> bool:
        """Whether all of a run is known only when the rest is written."""
        return all(self.is_patched(group[0]) for group in run.groups)

    def patch(self, name: str, value: str) -> str:
        """The bytes of a length or of a checksum."""
        wire, order = self.unit.wire_of(name)
        return stored(wire, order, value, None, literal(name))

    def checksum_type(self, name: str) -> str:
        return number_type(self.unit.wire_of(name)[0])

    def turns(self) -> bool:
        """Whether the first part to be written is the last, so that it only swaps with the part before."""
        last = self.unit.steps[-1]
        return [getattr(last, "name", None)] == self.measured() and not self.unit.ranges

    def packs_late(self) -> bool:
        """Whether nothing before compressible content has its length."""
        packed = self.unit.packed
        lengths = {each.of for each in self.unit.derived if each.kind == "length"}
        return packed is not None and packed.parsed and packed.name not in lengths

    def length(self, derived: Derived) -> str:
        """The length or the count of a present value."""
        if derived.kind == "presence":
            return "1"
        if derived.kind == "length" and derived.of in self.measured():
            return f"bytes_of_{derived.of} as i64"
        if derived.kind == "length" and self.unit.packed is not None and derived.of == self.unit.packed.name:
            return "stored.len() as i64"
        return f"{self.field(derived.of)}.len() as i64"

    def length_of_some(self, derived: Derived) -> str:
        """The same, of `x`."""
        return self.length(derived).replace(f"{self.field(derived.of)}.", "x.")

    def some(self, derived: Derived) -> str:
        """The pattern of a present value."""
        return "Some(x)" if "x." in self.length_of_some(derived) else "Some(_)"

    def may_be_null(self, name: str) -> bool:
        return isinstance(self.local_type(name), Maybe)

    def differs(self, name: str, default: Constant | None) -> str:
        text, kind = self.field(name), self.local_type(name)
        value = self.types.initial(kind, default)
        if kind == FLAG:
            return f"!{text}" if value == "true" else text
        if value == "None":
            return f"{text}.is_some()"
        if kind in (TEXT, OCTETS, SECTION) or isinstance(kind, ListOf):
            zero = self.types.zero(kind) == value
            return f"!{text}.is_empty()" if zero else f"{text} != {value}"
        return f"{text} != {value}"

    def content(self, packed: Packed) -> Type:
        """The type of its content."""
        return ObjectOf(packed.unit)

    def variant(self, packed: Packed, of: str) -> str:
        """One of the two that a field with content is."""
        one = bare(self.unit.field(packed.name).type)
        assert isinstance(one, OneOf)
        kind = self.content(packed) if of == "content" else OCTETS
        return f"crate::{self.types.choice(one)}::{self.types.variant(kind)}"

    def read_content(self, packed: Packed) -> str:
        return f"{self.elements.call(packed.unit, 'read')}(&mut inner)"

    def boxed(self, packed: Packed, text: str) -> str:
        """The content as the field takes it."""
        if not packed.parsed:
            text = f"Box::new({text})" if self.types.boxed(self.content(packed)) else text
            text = f"{self.variant(packed, 'content')}({text})"
        return f"Some({text})" if isinstance(self.local_type(packed.name), Maybe) else text

    def write_content(self, packed: Packed, text: str, to: str = "&mut content") -> str:
        call = self.elements.call(packed.unit, "write")
        if self.types.inner(packed.unit) is None:
            return f"{text.removeprefix('&')}.write_to({to})"
        return f"{call}({text}, {to})"


_COMPUTED = Whole(-(1 << 62), 1 << 62)
"""The type of a computed number: narrower than i64, so that storing it checks whether it fits."""


def _may_lack(step: One) -> bool:
    return isinstance(step.element, Choice) and step.element.may_lack


def _late(unit: Unit) -> Iterator[str]:
    """Fields that get a value under a condition, or twice."""
    for step in unit.steps:
        if isinstance(step, When):
            for each in steps_in(step.steps):
                yield from _set_by(each)
        elif isinstance(step, (Tagged, SetNull, Stored)):
            yield from _set_by(step)


def _set_by(step: Step) -> Iterator[str]:
    if isinstance(step, Fixed):
        yield from (slot.path[0] for slot in step.slots)
    elif isinstance(step, (One, Many, SetNull, Tagged, Stored)):
        yield step.name
        if isinstance(step, Tagged):
            yield from (each.name for each in step.tags)
