"""What the templates of C and Rust ask of a unit of the plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

from kodec.generator.plan.spelling import Computed, Spelling
from kodec.generator.plan.steps import (
    Case,
    Chars,
    CheckCount,
    CheckLast,
    CheckMost,
    Choice,
    Derived,
    FieldPlan,
    Fixed,
    LateSize,
    Many,
    Nested,
    One,
    Packed,
    Program,
    Rule,
    Slot,
    Unit,
    When,
    fields_in,
    steps_in,
    values_of,
)
from kodec.generator.plan.values import (
    Constant,
    FieldOf,
    ListOf,
    Maybe,
    ObjectOf,
    OneOf,
    Peeked,
    Type,
    Value,
    Whole,
    bare,
    is_number,
    scalar,
)
from kodec.generator.problems import SchemaProblem
from kodec.generator.schema.model import Model
from kodec.generator.schema.versions import VersionRange
from kodec.generator.wire import ENCODINGS, WIRE

__all__ = ["WHOLE", "WIDE", "Package", "UnitPrinter", "collisions", "lacking", "strict_texts", "wide_bits"]

WIDE = Whole(-(1 << 63), (1 << 63) - 1)
WHOLE = (1, 2, 4, 8)
"""The sizes of numbers that languages have, in bytes."""
_MOST_BITS = WHOLE[-1]
S = TypeVar("S", bound=Spelling)


@dataclass(frozen=True, slots=True)
class Package:
    """What is printed into one package, and how that is called."""

    model: Model
    program: Program
    name: str

    @property
    def packed(self) -> bool:
        """Whether something in it may be compressed."""
        return any(unit.packed is not None for unit in self.program.units.values())


class UnitPrinter(ABC, Generic[S]):
    """A unit while it is read, or while it is written; a target's printer adds how all of it is spelled.

    Attributes:
        kept: the fields of its object; none where it stands for the value of one.
        ranged: lengths and checksums of what is there, which a writer knows when that is written.
        computed: fields that a writer computes if not given.
    """

    apart: ClassVar[str] = "."
    """What stands between an object and the name of its field."""
    spell: S

    def __init__(
        self, program: Program, unit: Unit, comments: Mapping[str, str] | None = None, *, writing: bool
    ) -> None:
        self.program = program
        self._comments = comments or {}
        self.unit = unit
        self.writing = writing
        self.kept = {each.name for each in unit.fields if each.kept and unit.stands_for is None}
        self.ranged = {each.name for each in unit.ranges}
        self.computed = [each.name for each in unit.derived if each.kind in ("last", "most")]
        parts = [*values_of((unit.steps, unit.packed))]
        checks = (CheckCount, CheckLast, CheckMost)
        self.used = {each.name for each in parts if isinstance(each, (FieldOf, Peeked, *checks))}
        self.used |= {each.name for each in parts if isinstance(each, (One, Many)) and each.rules}
        self.used |= {each.path[0] for each in parts if isinstance(each, Slot) and each.rules}

    @abstractmethod
    def literal(self, value: object) -> str:
        """A constant."""

    @abstractmethod
    def field(self, name: str) -> str:
        """Where a field is while it is read or written."""

    @abstractmethod
    def member(self, name: str) -> str:
        """What a field of an object is called."""

    @abstractmethod
    def local(self, name: str) -> str:
        """The variable of a field, or of what a unit is given."""

    def told(self, value: Value, kind: Type) -> str:
        """A value among the arguments of a unit's function."""
        raise NotImplementedError

    def differs(self, name: str, default: Constant | None) -> str:
        """The test that a field does not hold a constant; None is an empty list, a new object, and so on."""
        raise NotImplementedError

    def kind(self, part: object) -> str:
        """The name of a step or an element, by which a template chooses its macro."""
        return type(part).__name__

    def comment(self, name: str = "") -> str:
        """That of a field, or of the type."""
        return self._comments.get(name, "")

    # -- values -----------------------------------------------------------------------------------

    def text(self, value: Value, item: str = "item") -> str:
        return self.spell.of(item)(value)

    def late_size(self, late: LateSize, length: str) -> str:
        """A size that is compared when the length is there, which is in a variable."""
        return self.spell.of(Computed(length))(late.value, self.spell.binds.compared + 1)

    def moved(self, place: Value, converted: str) -> str:
        """A place as it is added to a position, for which a number has to be converted."""
        text = self.text(place)
        return text if isinstance(place, Constant) else converted.format(text)

    def plus(self, part: Any, *, tight: bool = False) -> str:
        """What is added to what a field follows from."""
        sign = "+" if tight else " + "
        return "" if part.plus is None else f"{sign}{self.spell(part.plus, self.spell.binds['*'])}"

    def opposite(self, rule: Rule, item: str, slot: Slot | None = None) -> str:
        """The test that a rule does not hold of a value; that of a slot may speak of fields next to it."""
        spell = self.spell if slot is None or len(slot.path) == 1 else self.beside(slot)
        return spell.of(item).opposite(rule.test)

    def beside(self, slot: Slot) -> S:
        """How the fields of the object that holds a slot are spelled."""
        return replace(self.spell, field=lambda name: self.place_of((*slot.path[:-1], name)))

    def in_versions(self, versions: VersionRange) -> str:
        """The test that the version is one of these."""
        version, words = self.field(self.unit.version_name), self.spell.words
        if versions.first == versions.last:
            return f"{version} {words.get('==', '==')} {versions.first}"
        return f"{version} >= {versions.first} {words['and']} {version} <= {versions.last}"

    def outside(self, place: str) -> str:
        """The test that a version is none of those that the unit has."""
        versions, name = self.unit.versions, self.unit.version_name
        assert versions is not None
        told = {each.name: each.type for each in self.unit.parameters}
        kind = scalar(told[name] if name in told else self.unit.field(name).type)
        assert isinstance(kind, Whole)
        # a comparison that no number of the type can fail is one that compilers warn of
        tests = [f"{place} < {versions.first}"] if versions.first > kind.low else []
        tests += [f"{place} > {versions.last}"] if versions.last < kind.high else []
        return f" {self.spell.words['or']} ".join(tests)

    # -- what units are given ----------------------------------------------------------------------

    @property
    def arguments(self) -> str:
        """What it was given itself, after other arguments."""
        return "".join(f", {self.local(each.name)}" for each in self.unit.parameters)

    def given(self, arguments: Iterable[Value], unit: str) -> str:
        """Arguments of another unit's function, after others."""
        pairs = zip(arguments, self.program.units[unit].parameters, strict=True)
        return "".join(f", {self.told(value, each.type)}" for value, each in pairs)

    # -- fields -----------------------------------------------------------------------------------

    def kept_fields(self) -> list[FieldPlan]:
        return [each for each in self.unit.fields if each.name in self.kept]

    def locals(self) -> list[FieldPlan]:
        """The fields that are no part of the object, and that a reader needs for another one."""
        apart = (each for each in self.unit.fields if not self.is_value(each.name))
        return [each for each in apart if self.is_used(each.name)]

    def is_value(self, name: str) -> bool:
        """Whether a field is a part of what the unit gives."""
        return name in self.kept or name == self.unit.stands_for

    def is_used(self, name: str) -> bool:
        """Whether what was read is needed: in the object, or for another field."""
        return self.is_value(name) or name in self.used or name in self.ranged

    def field_type(self, name: str) -> Type:
        """The type of a field's place: numbers that no object has, or that a writer derives, have 64 bits."""
        kind = self.unit.field(name).type
        if self.writing and self.unit.derivation(name) is not None:
            return WIDE
        if name in self.computed:
            return Maybe(bare(kind))
        return kind if self.is_value(name) or not is_number(kind) else WIDE

    def is_wide(self, name: str) -> bool:
        """Whether that is a signed number of 64 bits already."""
        return any(each.name == name for each in self.unit.fields) and self.field_type(name) == WIDE

    def name(self, name: str) -> str:
        """A literal of a field's name in errors; what a unit stands for has none of its own."""
        return self.literal("" if name == self.unit.stands_for else name)

    def unread(self, step: When) -> Iterator[tuple[str, str]]:
        """(field, test that it holds something) of what is not written where a condition fails."""
        for spec in self.unit.unwritten(step):
            allowed = [spec.default, spec.absent]
            if isinstance(spec.type, Maybe) and not self.unit.is_of_version(step.test):
                allowed.append(Constant(None, spec.type))
            tests = list(dict.fromkeys(self.differs(spec.name, each) for each in allowed))
            words = self.spell.words
            shown = [f"({each})" if len(tests) > 1 and f" {words['or']} " in each else each for each in tests]
            yield spec.name, f" {words['and']} ".join(shown)

    def is_packed(self, name: str) -> bool:
        return self.unit.packed is not None and self.unit.packed.name == name

    def is_last(self, part: CheckLast | CheckMost | Derived) -> bool:
        """Whether it is the last element of a list that counts, not the largest."""
        return part.kind == "last" if isinstance(part, Derived) else isinstance(part, CheckLast)

    def measured(self) -> list[str]:
        """Fields whose bytes are made first, as a length in front of them shows how many there are.

        Not what may be compressed, which is `stored`.
        """
        packed = None if self.unit.packed is None else self.unit.packed.name
        lengths = dict.fromkeys(each.of for each in self.unit.derived if each.kind == "length")
        parsed = (ObjectOf, ListOf, OneOf)
        return [
            each
            for each in lengths
            if each != packed and isinstance(bare(self.unit.field(each).type), parsed)
        ]

    # -- types ------------------------------------------------------------------------------------

    def bare(self, kind: Type) -> Type:
        return bare(kind)

    def item(self, kind: Type) -> Type:
        """The type of a list's elements."""
        found = bare(kind)
        assert isinstance(found, ListOf)
        return found.item

    def is_object(self, unit: str) -> bool:
        """Whether a unit gives an object, no value of a field."""
        return self.program.units[unit].stands_for is None

    def content(self, packed: Packed) -> Type:
        """The type of what is compressed."""
        inner = self.program.units[packed.unit]
        return ObjectOf(inner.name) if inner.stands_for is None else inner.field(inner.stands_for).type

    def cases_of(self, choice: Choice) -> list[Case]:
        """All cases, with the one for all other values."""
        return [*choice.cases, *(() if choice.other is None else (choice.other,))]

    def is_number(self, kind: Type) -> bool:
        return is_number(kind)

    # -- places -----------------------------------------------------------------------------------

    def place_of(self, path: tuple[str, ...]) -> str:
        """Where the value at a path is kept."""
        first, *rest = path
        return self.apart.join([self.field(first), *map(self.member, rest)]) if rest else self.field(first)

    def place(self, slot: Slot) -> str:
        return self.place_of(slot.path)

    def slot_type(self, slot: Slot) -> Type:
        """The type of that place."""
        return self.field_type(slot.path[0]) if len(slot.path) == 1 else slot.type

    def is_patched(self, slot: Slot) -> bool:
        """Whether a slot is known only when the rest is written."""
        return slot.path[0] in self.ranged and len(slot.path) == 1

    def width(self, wire: str) -> int:
        return WIRE[wire].least

    def is_version(self, step: Fixed) -> bool:
        """Whether the version that the unit says itself ends this run."""
        return self.unit.version is not None and step.slots[-1].path == (self.unit.version.name,)

    def peeked_size(self) -> int:
        """How many bytes are needed for what is checked before."""
        return max(each.offset + self.width(each.wire) for each in self.unit.peeks)

    def peeked_names(self) -> str:
        """A literal of what is checked before."""
        peeks = sorted(self.unit.peeks, key=lambda each: each.offset)
        return self.literal(", ".join(each.name for each in peeks))


def collisions(
    model: Model,
    program: Program,
    language: str,
    types: Callable[[str], Iterable[str]],
    member: Callable[[str], str] = str,
) -> Iterator[SchemaProblem]:
    """Names that a language cannot tell apart: `types` is what a type or an enum declares."""
    taken: dict[str, str] = {}
    for schema in model.schemas:
        own = program.units_of(schema)
        for name in [*(each.name for each in own), *(each.name for each in schema.enums)]:
            for word in types(name):
                other = taken.setdefault(word, name)
                if other != name:
                    text = f"it would be `{word}` in {language}, as would `{other}`"
                    yield SchemaProblem(schema.root.place, name, text)
        for unit in own:
            fields: dict[str, str] = {}
            names = [each.name for each in unit.parameters] + [each.name for each in unit.fields]
            names += [] if unit.streamed is None else [each.name for each in unit.streamed.instances]
            for name in names:
                other = fields.setdefault(member(name), name)
                if other != name:
                    text = f"`{other}` and `{name}` are both `{member(name)}` in {language}"
                    yield SchemaProblem(model.struct(unit.name).place, unit.name, text)


def packing(program: Program) -> set[str]:
    """Units in which something may be compressed."""
    found = {each.name for each in program.units.values() if each.packed is not None}
    while True:
        more = {
            unit.name
            for unit in program.units.values()
            if any(isinstance(each, Nested) and each.unit in found for each in values_of(unit.steps))
        }
        if more <= found:
            return found
        found |= more


def strict_texts(model: Model, program: Program, language: str) -> Iterator[SchemaProblem]:
    """Texts that a language cannot read, as not all bytes are text there."""

    def why(part: object) -> str:
        if isinstance(part, Chars) and ENCODINGS[part.encoding].errors == "strict":
            return f"its text in {part.encoding} cannot be read in {language} yet"
        return ""

    for unit in program.units.values():
        yield from lacking(model, unit, why)


def wide_bits(model: Model, program: Program, language: str) -> Iterator[SchemaProblem]:
    """Bit fields that fill more bytes together than any number of a language has."""

    def why(part: object) -> str:
        if isinstance(part, Slot) and part.bits is not None and part.size > _MOST_BITS:
            return f"its bits fill {part.size} bytes together, and {language} numbers at most {_MOST_BITS}"
        return ""

    for unit in program.units.values():
        yield from lacking(model, unit, why)


def lacking(model: Model, unit: Unit, why: Callable[[Any], str]) -> Iterator[SchemaProblem]:
    """The constructs of a unit that a language does not have, each once, with the first field that has it.

    `why` returns the reason for a part of the plan, or nothing.
    """
    struct = model.struct(unit.name)
    parts: list[tuple[str, object]] = []
    for step in steps_in(unit.steps):
        names = list(fields_in((step,)))
        name = names[0] if names else getattr(step, "name", "")
        if isinstance(step, Fixed):
            parts += [(slot.path[0], slot) for slot in step.slots]
        else:
            parts.append((name, step.test if isinstance(step, When) else step))
    parts += [(each.name, each) for each in unit.derived]
    parts += [("", unit.packed), ("", unit.peeked)]
    seen: set[str] = set()
    for name, part in parts:
        for text in map(why, values_of(part)):
            if text and text not in seen:
                seen.add(text)
                spec = struct.field(name)
                place = struct.place if spec is None else spec.place
                path = unit.name.replace("::", ".")
                yield SchemaProblem(place, path if spec is None else f"{path}.{name}", text)
