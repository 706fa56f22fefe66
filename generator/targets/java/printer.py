"""One unit of the plan as data for its template: its spelling in Java; all decisions are the plan's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kodec.generator.plan.places import Places
from kodec.generator.plan.steps import (
    Case,
    Chars,
    CheckLength,
    Checksum,
    Choice,
    Derived,
    Element,
    FieldPlan,
    Fixed,
    FixedNumber,
    LateSize,
    Many,
    Mark,
    Nested,
    Octets,
    One,
    Packed,
    Program,
    Rule,
    Size,
    Slot,
    Step,
    Stored,
    Tagged,
    TagPlan,
    Unit,
    Varint,
    When,
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
    Whole,
    in_versions,
    scalar,
)
from kodec.generator.reserved import Taken
from kodec.generator.schema.model import Schema
from kodec.generator.targets.java.expressions import Expressions, Types, literal
from kodec.generator.targets.java.names import Locals, Names, camel, component, constant, lower
from kodec.generator.text import java_literal
from kodec.generator.wire import WIRE

__all__ = ["Printer", "called", "deeper", "filled"]

_WIDTH = 100
EMPTY = '""'


def filled(head: str, items: Iterable[str], tail: str) -> str:
    """A list of arguments or the like, in lines that are not too long."""
    lines, listed = [head], list(items)
    for index, item in enumerate(listed):
        part = item + (tail if index == len(listed) - 1 else ",")
        between = "" if index == 0 else " "
        if len(lines[-1]) + len(between) + len(part) > _WIDTH and lines[-1].strip():
            lines.append("        " + part)
        else:
            lines[-1] += between + part
    if not listed:
        lines[-1] += tail
    return "\n".join(lines) + "\n"


def called(name: str, *arguments: str) -> str:
    """A call, in lines that are not too long."""
    return filled(f"{name}(", arguments, ")").rstrip("\n")


class Printer:
    """The data for a template about a unit."""

    def __init__(
        self, names: Names, program: Program, unit: Unit, here: Schema, docs: Mapping[str, str]
    ) -> None:
        self.names = names
        self.program = program
        self.unit = unit
        self.here = here
        self.docs = docs
        self.types = Types(names, here)
        self.fields = {each.name: each for each in unit.fields}
        self.tags = {
            tag.name for each in steps_in(unit.steps) if isinstance(each, Tagged) for tag in each.tags
        }
        known = [each.name for each in unit.parameters]
        known += [*self.fields, *(each.name for each in unit.peeks)]
        if unit.version_name and unit.version_name not in known:
            known.append(unit.version_name)
        self.local = Locals(names, known)
        self.conditional = {
            name for each in unit.steps if isinstance(each, When) for name in self._set_by(each.steps)
        }
        self.ranged = {each.name for each in unit.ranges}
        used = (FieldOf, Peeked)
        self.named = {each.name for each in values_of((unit.steps, unit.packed)) if isinstance(each, used)}
        self.named |= self.ranged
        self.stored = {each.name for each in unit.fields if each.kept and unit.stands_for is None}
        self.computed = {each.name for each in unit.derived if each.kind in ("last", "most")}
        self.text = Expressions(field=self.local)
        self.in_object = Expressions(field=self._of_this)
        self.put_text = Expressions(field=self.given)

    # -- types and names --------------------------------------------------------------------------

    @property
    def type(self) -> str:
        return self.names.type(self.unit.name, self.here)

    @property
    def returns(self) -> str:
        stands_for = self.unit.stands_for
        return self.type if stands_for is None else self.java(self.unit.field(stands_for).type)

    @property
    def parameters(self) -> str:
        """The parameters of a method, after others."""
        return "".join(f", {self.java(each.type)} {self.local(each.name)}" for each in self.unit.parameters)

    @property
    def own_parameters(self) -> str:
        return self.parameters[2:]

    @property
    def arguments(self) -> str:
        return "".join(f", {self.local(each.name)}" for each in self.unit.parameters)

    @property
    def suffix(self) -> str:
        """The suffix of `read` and `write` in the class of the schema, for a type without a class."""
        return self.names.method(self.unit.name, "", self.here).rpartition(".")[2]

    def java(self, kind: Type) -> str:
        return self.types.of(kind)

    def shown(self, name: str) -> str:
        """A field in paths; the value that the unit represents has no name there."""
        return java_literal("" if name == self.unit.stands_for else name)

    def is_absent_null(self, spec: FieldPlan) -> bool:
        """Whether a field that is left out is null, though its type has none."""
        return (
            spec.name in self.conditional
            and spec.name not in self.tags
            and spec.absent is not None
            and spec.absent.value is None
        )

    def field_type(self, name: str) -> str:
        """The type of a component, or of a local variable."""
        spec = self.fields[name]
        if name in self.stored and (name in self.computed or self.is_absent_null(spec)):
            return self.types.boxed(spec.type)
        if self.unit.packed is not None and name == self.unit.packed.name:
            return self.content_type(self.unit.packed)
        return self.java(spec.type)

    def content_type(self, packed: Packed) -> str:
        inner = self.program.units[packed.unit]
        return self.java(
            ObjectOf(packed.unit) if inner.stands_for is None else inner.field(inner.stands_for).type
        )

    def components(self) -> Iterator[tuple[str, str, str]]:
        """(type, name, words for Javadoc) of each component of a record."""
        packed = self.unit.packed
        for spec in self.unit.fields:
            if not spec.kept:
                continue
            if packed is not None and spec.name == packed.name:
                parsed, stored = self.packed_names(packed)
                yield self.content_type(packed), parsed, self.docs[f"{spec.name} parsed"]
                yield "byte[]", stored, self.docs[f"{spec.name} stored"]
                continue
            yield self.field_type(spec.name), component(spec.name), self.docs[spec.name]

    def _taken(self) -> Taken:
        return Taken(component(each.name) for each in self.unit.fields)

    def packed_names(self, packed: Packed) -> tuple[str, str]:
        """The components of a field that may be compressed: parsed, and as it is stored."""
        name = component(packed.name)
        if packed.parsed:
            return name, self._taken().claim(f"{name}Stored")
        return self._taken().claim(f"{name}Inner"), name

    def enums(self) -> Iterator[tuple[str, str, str]]:
        """(enum, method, component) of each that is a member of an enum."""
        taken = self._taken()
        for spec in self.unit.fields:
            kind = spec.type.of if isinstance(spec.type, Maybe) else spec.type
            if spec.kept and isinstance(kind, EnumOf):
                name = component(spec.name)
                yield self.names.enum(kind.enum, self.here), taken.claim(f"{name}Enum"), name

    def constants(self) -> Iterator[tuple[str, str, object]]:
        """(type, name, value) of sizes and places that are always the same."""
        unit, offset = self.unit, 0
        if unit.versions is not None:
            yield "int", "FIRST_VERSION", unit.versions.first
            yield "int", "LAST_VERSION", unit.versions.last
        fixed = all(isinstance(each, (Fixed, Mark)) for each in unit.steps)
        yield "int", "SIZE" if fixed else "MIN_SIZE", unit.least
        if unit.versions is not None:
            return
        places: dict[str, int] = {}
        numbers: list[tuple[str, str, str, tuple[Rule, ...]]] = []
        still = True
        for step in unit.steps:
            for each in step.steps if isinstance(step, When) else (step,):
                if isinstance(each, Fixed):
                    for slot in each.slots:
                        name, is_number = slot.path[0], len(slot.path) == 1
                        if still and (slot.bits is None or not is_number):
                            places.setdefault(name, offset + slot.offset)
                        if slot.wire is not None and is_number:
                            numbers.append((name, slot.wire, slot.order, slot.rules))
                    offset += each.size
                elif isinstance(each, (One, Many, Tagged, Stored)):
                    if still:
                        places[each.name] = offset
                    if isinstance(each, One) and isinstance(each.element, FixedNumber):
                        numbers.append((each.name, each.element.wire, each.element.order, ()))
                    still = False
            still = still and not isinstance(step, When)
        for name, at in places.items():
            yield "int", f"{constant(name)}_AT", at
        for name, wire, order, rules in numbers:
            if WIRE[wire].kind == "integer":
                yield "Stored", f"{constant(name)}_STORED", f"Stored.{wire.upper()}{order.upper()}"
            for rule in rules:
                if rule.need == "equal" and isinstance(rule.wanted[0], Constant):
                    yield "int", f"{constant(name)}_VALUE", self.text(rule.wanted[0])

    def places(self) -> Iterator[tuple[str, str, list[tuple[str, int]]]]:
        """(method, field, (forms, place)) of the fields that stand at a fixed place in some form."""
        found: dict[str, dict[int, list[str]]] = {}
        for form in self.unit.forms:
            for each in Places(self.program).of(self.unit.steps, {self.unit.form: form}):
                if "." not in each.path and not each.bits and each.offset is not None:
                    found.setdefault(each.path, {}).setdefault(each.offset, []).append(str(form))
        taken = self._taken()
        for name, places in found.items():
            cases = [(", ".join(forms), at) for at, forms in places.items()]
            yield taken.claim(f"{lower(name)}At"), name, cases

    def has_arrays(self) -> bool:
        return any(kind == "byte[]" for kind, _, _ in self.components())

    def peeked_size(self) -> int:
        return max(each.offset + WIRE[each.wire].least for each in self.unit.peeks)

    def peeks(self) -> list[Peeked]:
        return sorted(self.unit.peeks, key=lambda each: each.offset)

    def peeked_names(self) -> str:
        return java_literal(", ".join(each.name for each in self.peeks()))

    def peeked(self) -> Iterator[tuple[str, str]]:
        """(name, Java) of the values derived from checked numbers."""
        for name, value in self.unit.peeked:
            yield name, Expressions(field=lambda each: f"{self.peek(each)}(buf, at)")(value)

    @staticmethod
    def peek(name: str) -> str:
        return f"peek{camel(name)}"

    # -- reading: what is an expression -------------------------------------------------------------

    def call(self, element: Nested, verb: str, first: str, spell: Expressions) -> str:
        """The call that reads or writes another unit."""
        given = [first, *(spell(each) for each in element.arguments)]
        if self.program.units[element.unit].stands_for is None:
            return called(f"{self.names.type(element.unit, self.here)}.{verb}", *given)
        return called(self.names.method(element.unit, verb, self.here), *given)

    def read(self, element: Element, path: str) -> str:
        """Java that reads one value; `path` is a literal."""
        match element:
            case FixedNumber(wire, order):
                return (
                    f"in.{wire}{order if order and WIRE[wire].kind in ('integer', 'float') else ''}({path})"
                )
            case Varint(wire):
                return f"in.{wire}({path})"
            case Octets(size):
                return f"in.bytes({path}, {self._size(size)})"
            case Chars(size, encoding):
                return f"in.text({path}, {self._size(size)}, {java_literal(encoding)})"
            case Nested(_, _, size, fills):
                text = self.call(element, "read", "in", self.text)
                if size is not None or fills:
                    return f"in.sized({path}, {self._size(size)}, () -> {text})"
                return text if path == '""' else f"in.field({path}, () -> {text})"
            case Choice(size=size, fills=fills):
                sized = f"sized({path}, {self._size(size)}" if size is not None or fills else f"field({path}"
                return f"in.{sized}, () -> {{\n{self._chosen(element)}}})"
        raise TypeError(element)

    def _size(self, size: Size | None) -> str:
        return "in.left()" if size is None else self.text(size.value)

    def _chosen(self, choice: Choice) -> str:
        """The body of a lambda that reads the case of a switch."""
        found = ""
        on = self.text(choice.on, self.text.binds["=="])
        for case in choice.cases:
            assert case.value is not None
            test = f"{on} == {self.text(case.value, self.text.binds['<'])}"
            if scalar(choice.on.type) == TEXT:
                test = f"{on}.equals({self.text(case.value)})"
            found += f"    if ({test}) {{\n"
            found += f"        return {deeper(self.read(case.element, EMPTY), 2)};\n    }}\n"
        if choice.other is not None:
            return f"{found}    return {deeper(self.read(choice.other.element, EMPTY), 1)};\n"
        if choice.size is not None or choice.fills:
            return f'{found}    return in.bytes("", in.left());\n'
        if choice.may_lack:
            return f"{found}    return null;\n"
        why = '"no case for this value"'
        return f'{found}    throw FormatException.unsupported("", {why}, in.pos, null, {on});\n'

    def read_list(self, step: Many) -> str:
        """Java that reads a list."""
        path = self.shown(step.name)
        item = f"() -> {self.read(step.element, EMPTY)}"
        if step.rules:
            one = deeper(self.read(step.element, EMPTY), 1)
            item = f"() -> {{\n    int at = in.pos;\n    {self.java(self.item(step.type))} item = {one};\n"
            for rule in step.rules:
                refused = self.refused(rule, "item", "", "at")
                item += f"    {refused};\n"
            item += "    return item;\n}"
        if step.count is not None:
            return f"in.list({path}, {self.text(step.count.value)}, {step.least}, {item})"
        if step.until is not None:
            return f"in.listUntil({path}, {item}, item -> {self.text.condition(step.until)})"
        return f"in.listToEnd({path}, {item})"

    def read_slot(self, slot: Slot) -> str:
        path = java_literal(".".join(slot.path))
        if slot.wire is None:
            return f"in.bytes({path}, {slot.size})"
        return self.read(FixedNumber(slot.wire, slot.order), path)

    def slot_local(self, path: tuple[str, ...]) -> str:
        return self.local(path[0]) if len(path) == 1 else self.local.made("{0}", "_".join(path))

    def objects(self, step: Fixed) -> Iterator[tuple[str, str, list[str]]]:
        """(class, variable, arguments) of the objects created from a run."""
        for path, name in step.objects:
            unit = self.program.units[name]
            kept = [(*path, each.name) for each in unit.fields if each.kept]
            yield self.names.type(name, self.here), self.slot_local(path), [self.slot_local(p) for p in kept]

    def slot_rules(self, step: Fixed) -> Iterator[str]:
        """The checks of a run, in the order of its fields."""
        for slot in step.slots:
            behind = step.size - slot.offset
            value = self.slot_local(slot.path)
            if slot.contents is not None:
                items = literal(slot.contents, OCTETS)
                need = java_literal(repr(slot.contents))
                path = java_literal(slot.shown)
                yield called("in.requireBytes", value, items, path, f"in.pos - {behind}", need)
            inside = slot.path[:-1]
            spell = Expressions(field=lambda name, at=inside: self.slot_local((*at, name)))  # type: ignore[misc]
            for rule in slot.rules:
                yield self.refused(rule, value, slot.shown, f"in.pos - {behind}", spell)

    def refused(self, rule: Rule, value: str, name: str, at: str, spell: Expressions | None = None) -> str:
        """The check of a rule of a value that was read."""
        test = (spell or self.text).of(value).condition(rule.test)
        if rule.need == "a value":
            return f"in.requireValue({test}, {java_literal(name)}, {at})"
        return called("in.require", test, self.shown(name), at, java_literal(rule.needed), value)

    def rules(self, rules: Iterable[Rule], name: str, at: str) -> list[str]:
        return [self.refused(each, self.local(name), name, at) for each in rules]

    def at(self, step: One) -> tuple[str, str]:
        """The start of a value: a line that stores it, and Java for the position."""
        if not step.rules:
            return "", ""
        if isinstance(step.element, FixedNumber):
            return "", f"in.pos - {WIRE[step.element.wire].least}"
        name = self.local.made("start_of_{0}", step.name)
        return f"int {name} = in.pos;\n", name

    def is_used(self, name: str) -> bool:
        return name in self.stored or name == self.unit.stands_for or name in self.named

    def absent(self, name: str) -> str:
        """The value of a variable before it is read, or if it is not."""
        spec = self.fields[name]
        if spec.absent is not None and spec.absent.value is None and name not in self.stored:
            if name != self.unit.stands_for and isinstance(spec.type, (Whole, Real, EnumOf)):
                return "0"
            if name != self.unit.stands_for and spec.type == FLAG:
                return "false"
        if spec.absent is None or spec.absent.value is None:
            return self.zero(spec.type, spec.absent)
        return literal(spec.absent.value, spec.type)

    def zero(self, kind: Type, constant: Constant | None) -> str:
        """A constant; for null, an empty value of a type."""
        if constant is not None:
            return literal(constant.value, constant.type)
        match scalar(kind):
            case ObjectOf(name):
                unit = self.program.units[name]
                if unit.stands_for is not None:
                    spec = unit.field(unit.stands_for)
                    return self.zero(spec.type, spec.absent)
                args: list[str] = []
                for spec in unit.fields:
                    if spec.kept:
                        args.append(self.zero(spec.type, spec.absent))
                        if unit.packed is not None and unit.packed.name == spec.name:
                            args[-1:] = [self.zero(spec.type, spec.absent), "null"]
                return f"new {self.names.type(name, self.here)}({', '.join(args)})"
            case ListOf():
                return "List.of()"
            case Whole() | Real():
                return "0"
            case OneOf():
                return "null"
        plain: dict[Type, str] = {
            FLAG: "false",
            TEXT: '""',
            OCTETS: "new byte[0]",
            IDENTITY: "new UUID(0, 0)",
        }
        return plain.get(scalar(kind), "List.of()" if kind == SECTION else "null")

    def declared(self, step: When) -> Iterator[tuple[str, str, str]]:
        """(type, variable, value) of variables that a condition may leave unset."""
        packed = self.unit.packed
        for name in self._set_by(step.steps):
            if packed is not None and packed.name == name:
                yield "byte[]", self.local(name), "null"
            elif self.is_used(name):
                yield self.field_type(name), self.local(name), self.absent(name)

    def tags_of(self, step: Tagged) -> Iterator[tuple[str, str, str]]:
        """The same of known tagged fields."""
        for tag in step.tags:
            yield self.field_type(tag.name), self.local(tag.name), self.absent(tag.name)

    def alone(self, step: When) -> bool:
        """Whether each step under a condition is one expression, so that it can follow a `?`."""
        return all(
            (isinstance(each, (One, Many)) and not each.rules and self.is_used(each.name))
            or (isinstance(each, Tagged) and not each.tags)
            or (isinstance(each, Fixed) and all(self._is_bare(slot) for slot in each.slots))
            for each in step.steps
        )

    def _is_bare(self, slot: Slot) -> bool:
        plain = slot.bits is None and slot.contents is None and not slot.rules and len(slot.path) == 1
        return plain and self.is_used(slot.path[0])

    def values_read(self, step: Step) -> Iterator[tuple[str, str]]:
        """(field, Java) of a step that is one expression for each."""
        match step:
            case One(name, _, element):
                yield name, self.read(element, self.shown(name))
            case Many(name):
                yield name, self.read_list(step)
            case Tagged(name):
                yield name, f"in.tags({java_literal(name)}).unknown()"
            case Fixed(slots):
                yield from ((slot.path[0], self.read_slot(slot)) for slot in slots)

    def value_read(self, step: Step) -> str:
        return next(value for _, value in self.values_read(step))

    def assigned(self, target: str, value: str) -> str:
        """A statement, on several lines if it is long."""
        text = f"{target} = {value};"
        if "\n" in text or len(text) <= _WIDTH:
            return f"{text}\n"
        return f"{target} =\n        {value};\n"

    def chosen_or_absent(self, step: When) -> str:
        """Values that are there under a condition."""
        test = self.text.condition(step.test, self.text.binds["or"])
        found = ""
        for name, value in (each for part in step.steps for each in self.values_read(part)):
            target = f"{self.field_type(name)} {self.local(name)} = {test}"
            if len(target) + len(value) + len(self.absent(name)) + 7 <= _WIDTH or "\n" in value:
                found += f"{target} ? {value} : {self.absent(name)};\n"
            else:
                found += f"{target}\n        ? {value}\n        : {self.absent(name)};\n"
        return found

    def version_required(self, at: str) -> str:
        """The check that the version is one of the schema's."""
        versions = self.unit.versions
        assert versions is not None
        name = self.unit.version_name
        bounds = (str(versions.first), str(versions.last))
        return called("in.requireVersion", java_literal(name), self.local(name), *bounds, at)

    def is_version(self, slot: Slot) -> bool:
        where = self.unit.version
        return where is not None and slot.path == (where.name,)

    def tag_test(self, tag: TagPlan, spell: Expressions) -> str:
        if tag.versions is None:
            return ""
        kind = Whole(-(1 << 15), (1 << 15) - 1)
        return spell(in_versions(FieldOf(self.unit.version_name, kind), tag.versions))

    def result(self) -> str:
        """The value of the unit from the fields that were read."""
        if self.unit.stands_for is not None:
            return f"return {self.local(self.unit.stands_for)};\n"
        args: list[str] = []
        for spec in self.unit.fields:
            if not spec.kept:
                continue
            if self.unit.packed is not None and spec.name == self.unit.packed.name:
                args += [self.absent_content(), self.local(spec.name)]
            else:
                args.append(self.local(spec.name))
        return filled(f"return new {self.type}(", args, ");")

    def absent_content(self) -> str:
        packed = self.unit.packed
        assert packed is not None
        spec = self.fields[packed.name]
        return self.zero(spec.type, spec.absent) if packed.parsed else "null"

    def _set_by(self, steps: Iterable[Step]) -> Iterator[str]:
        for step in steps_in(steps):
            if isinstance(step, Fixed):
                yield from dict.fromkeys(slot.path[0] for slot in step.slots)
            elif isinstance(step, Tagged):
                yield from (tag.name for tag in step.tags)
                yield step.name
            elif isinstance(step, (One, Many, Stored)):
                yield step.name

    # -- compressed content -------------------------------------------------------------------------

    def _of_this(self, name: str) -> str:
        packed = self.unit.packed
        if packed is not None and name == packed.name:
            return "found"
        return self.own(component(name))

    def own(self, name: str) -> str:
        """A component in a method of its record."""
        return f"this.{name}" if Locals.shadows(name) else name

    def member(self, item: str, path: tuple[str, ...]) -> str:
        return item + "".join(f".{component(name)}()" for name in path)

    def parsed_result(self, packed: Packed) -> str:
        args: list[str] = []
        for spec in self.unit.fields:
            if spec.kept:
                found = spec.name == packed.name
                args += ["found", "null"] if found else [self.own(component(spec.name))]
        return filled(f"return new {self.type}(", args, ");")

    # -- writing ------------------------------------------------------------------------------------

    def given(self, name: str) -> str:
        """The value of a field while it is written."""
        if self.unit.derivation(name) is not None or name not in self.stored:
            return self.local(name)
        if self.unit.packed is not None and name == self.unit.packed.name:
            return self.own(self.packed_names(self.unit.packed)[0])
        return self.own(component(name))

    def slot_value(self, slot: Slot) -> str:
        if slot.path[0] in self.ranged:
            return "0"
        return self.member(self.given(slot.path[0]), slot.path[1:])

    def bits_value(self, group: list[Slot]) -> str:
        parts = []
        for slot in group:
            assert slot.bits is not None
            shift, width = slot.bits
            value = self.slot_value(slot)
            path = java_literal(slot.shown)
            if isinstance(scalar(slot.type), Whole):
                text = f"Output.fitting({path}, {value}, {width})"
            else:
                text = f"({value} ? 1L : 0)"
            parts.append(f"{text} << {shift}" if shift else text)
        return "\n        | ".join(parts)

    def measured(self) -> list[str]:
        """Fields whose bytes are made first, as a length in front of them shows how many there are."""
        found = []
        for each in self.unit.derived:
            packed = self.unit.packed
            is_packed = packed is not None and packed.name == each.of
            if each.kind == "length" and scalar(self.fields[each.of].type) != OCTETS and not is_packed:
                found.append(each.of)
        return list(dict.fromkeys(found))

    def encoding(self, name: str) -> str:
        """The encoding of a measured field that is text; empty if it is none."""
        element = self.unit.step_of(name).element
        return element.encoding if isinstance(element, Chars) else ""

    def bytes_of(self, name: str) -> str:
        return self.local.made("{0}_bytes", name)

    def can_be_null(self, name: str) -> bool:
        return isinstance(self.fields[name].type, Maybe)

    def length_of(self, derived: Derived) -> str:
        """The length or the count of a field, which is not null."""
        packed = self.unit.packed
        if derived.kind == "presence":
            return "1"
        if derived.kind == "length" and packed is not None and packed.name == derived.of:
            return "stored.length"
        if derived.kind == "length" and derived.of in self.measured():
            size = ".length" if self.encoding(derived.of) else ".size()"
            return self.bytes_of(derived.of) + size
        held = self.given(derived.of)
        return f"{held}.length" if scalar(self.fields[derived.of].type) == OCTETS else f"{held}.size()"

    def null_test(self, derived: Derived) -> str:
        packed = self.unit.packed
        if packed is not None and packed.name == derived.of and derived.kind == "length":
            return "stored == null"
        return f"{self.given(derived.of)} == null"

    def derived_value(self, derived: Derived) -> str:
        text = self.length_of(derived)
        if derived.plus is not None:
            plus = self.put_text(derived.plus, self.text.binds["*"])
            # a sum with a number of 64 bits is one
            text += f" + {plus}L" if isinstance(derived.plus, Constant) else f" + (long) {plus}"
        packed = self.unit.packed
        if derived.kind == "count" and packed is not None and packed.name == derived.of:
            text = (
                f"{self.own(self.packed_names(packed)[1])} != null ? this.{component(derived.name)} : {text}"
            )
        if derived.null is not None:
            text = f"{self.null_test(derived)} ? {derived.null} : {text}"
        return text

    def fits(self, derived: Derived, value: str) -> str:
        """A computed number as its field takes it."""
        kind = scalar(self.fields[derived.name].type)
        return f"Math.toIntExact({value})" if self.java(kind) == "int" else value

    def plus(self, part: Any, spell: Expressions) -> str:
        return "" if part.plus is None else f" + {spell(part.plus, spell.binds['*'])}"

    def put(self, element: Element, value: str, kind: Type, path: str, to: str) -> str:
        """A statement that writes one value, without its semicolon."""
        match element:
            case FixedNumber(wire, order):
                order = order if WIRE[wire].kind in ("integer", "float") else ""
                return f"{to}.{wire}{order}({path}, {value})"
            case Varint(wire):
                return f"{to}.{wire}({path}, {value})"
            case Octets(size):
                return f"{to}.bytes({path}, {value}{self._wanted(size)})"
            case Chars(size, encoding):
                return f"{to}.text({path}, {value}, {java_literal(encoding)}{self._wanted(size)})"
            case Nested(size=size):
                text = self.call(element, "write", f"{to}, {value}", self.put_text)
                if self.program.units[element.unit].stands_for is None:
                    text = called(f"{value}.write", to, *map(self.put_text, element.arguments))
                wanted = self._wanted(size)
                if path == '""' and not wanted:
                    return text
                return f"{to}.field({path}{wanted}, () -> {text})"
            case Choice():
                return f"{to}.field({path}, () -> {{\n{self._put_chosen(element, value, kind, to)}}})"
        raise TypeError(element)

    def _wanted(self, size: Size | None) -> str:
        return "" if size is None or size.implied else f", {self.put_text(size.value)}"

    def _put_chosen(self, choice: Choice, value: str, kind: Type, to: str) -> str:
        """The body of a lambda that writes the case of a switch."""
        plain = self.java(scalar(kind)) != "Object"
        found = ""
        seen: set[str] = set()
        cases: list[Case] = [*choice.cases, *([choice.other] if choice.other is not None else [])]
        for case in cases:
            held = self.types.boxed(case.type)
            if choice.peeked and held in seen:
                continue
            seen.add(held)
            test = (
                ""
                if case.value is None
                else f"{self._on(choice)}{self.put_text(case.value, self.text.binds['<'])}"
            )
            if scalar(choice.on.type) == TEXT and case.value is not None:
                test = f"{self.put_text(choice.on, self.text.binds.atom)}.equals({self.put_text(case.value)})"
            inner = value
            if not plain:
                held_type = scalar(case.type)
                inner = held_type.unit.rpartition("::")[2] if isinstance(held_type, ObjectOf) else "held"
                inner = self.local.made("its_{0}", inner)
                held = "List<?>" if held.startswith("List<") else held
                instance = f"{value} instanceof {held} {inner}"
                test = instance if choice.peeked or not test else f"{test} && {instance}"
            body = deeper(self.put(case.element, inner, case.type, EMPTY, to), 2)
            if not test:
                return f"{found}    {deeper(self.put(case.element, inner, case.type, EMPTY, to), 1)};\n"
            found += f"    if ({test}) {{\n        {body};\n        return;\n    }}\n"
        if (choice.size is not None or choice.fills) and choice.other is None and "byte[]" not in seen:
            if plain:
                return f'{found}    {to}.bytes("", {value});\n'
            found += f"    if ({value} instanceof byte[] rest) {{\n"
            found += f'        {to}.bytes("", rest);\n        return;\n    }}\n'
        if choice.may_lack:
            found += f"    if ({value} == null) {{\n        return;\n    }}\n"
        return f'{found}    throw Output.refused("", "no case for this value", {value});\n'

    def _on(self, choice: Choice) -> str:
        return f"{self.put_text(choice.on, self.text.binds['=='])} == "

    def put_step(self, step: One | Many, to: str) -> str:
        """A statement that writes a field, without its semicolon."""
        path, value = self.shown(step.name), self.given(step.name)
        if isinstance(step, One):
            return self.put(step.element, value, self.fields[step.name].type, path, to)
        wanted = self._wanted(step.count)
        if self._has_list_writer(step):
            return f"{to}.s4beList({path}, {value}{wanted})"
        item = self.put(step.element, "item", self.item(step.type), EMPTY, to)
        if step.rules:
            rules = "".join(f"    {self.required(each, 'item', EMPTY)};\n" for each in step.rules)
            item = f"{{\n{rules}    {deeper(item, 1)};\n}}"
        return f"{to}.list({path}, {value}{wanted}, item -> {item})"

    def _has_list_writer(self, step: Many) -> bool:
        """Whether the runtime writes the whole list at once: it does for what Java's int holds exactly."""
        if step.rules or not isinstance(step.element, FixedNumber):
            return False
        row, order = WIRE[step.element.wire], step.element.order
        return (self.java(self.item(step.type)), row.least, order) == ("int", 4, "be")

    def required(self, rule: Rule, value: str, path: str, spell: Expressions | None = None) -> str:
        test = (spell or self.put_text).of(value).condition(rule.test)
        return called("Output.require", test, path, java_literal(rule.needed), value)

    def slot_required(self, slot: Slot) -> Iterator[str]:
        """The checks of a value of a run before it is written."""
        name = slot.path[0]
        if name in self.ranged:
            return
        inside = slot.path[:-1]
        spell = self.put_text
        if inside:
            spell = Expressions(field=lambda part: self.member(self.given(inside[0]), (*inside[1:], part)))
        for rule in slot.rules:
            yield self.required(rule, self.slot_value(slot), java_literal(slot.shown), spell)

    def unwritten(self, step: When) -> Iterator[tuple[str, str, str]]:
        """(path, value, required value) of the fields whose condition does not hold."""
        for spec in self.unit.unwritten(step):
            name = spec.name
            packed = self.unit.packed is not None and self.unit.packed.name == name
            # the field that marks a field as absent may itself be derived from it
            implied = any(
                isinstance(each, FieldOf)
                and (made := self.unit.derivation(each.name)) is not None
                and made.of == name
                for each in values_of(step.test)
            )
            if packed or implied:
                continue
            if spec.type == SECTION:
                yield java_literal(name), self.given(name), "List.of()"
                continue
            allowed = {self.zero(spec.type, spec.default): None, self.zero(spec.type, spec.absent): None}
            yield java_literal(name), self.given(name), ", ".join(allowed)

    def holds_something(self, tag: TagPlan) -> str:
        """The test that a tagged field is not its default."""
        value, default = self.given(tag.name), self.zero(tag.type, tag.default)
        if default in ("true", "false"):
            return f"!{value}" if default == "true" else value
        if default == "null" or self.java(tag.type) in ("int", "long", "float", "double"):
            return f"{value} != {default}"
        if default == "List.of()" and not isinstance(tag.type, Maybe):
            return f"!{value}.isEmpty()"
        return f"!Objects.deepEquals({value}, {default})"

    def put_tag(self, tag: TagPlan) -> str:
        """A statement that adds a tagged field."""
        put = self.put(tag.element, self.given(tag.name), tag.type, java_literal(tag.name), "tag")
        text = f"tags.add({tag.number}, tag -> {put})"
        return text if len(text) <= _WIDTH else f"tags.add({tag.number}, tag ->\n        {deeper(put, 2)})"

    def starts(self, name: str) -> str:
        return self.local.made("start_of_{0}", name)

    def held(self, name: str) -> str:
        """How many bytes or elements a field has that was written."""
        return self.local.made("held_of_{0}", name)

    def late_size(self, late: LateSize, length: str) -> str:
        """A size that is compared when the length is there."""
        return self.put_text.of(f"((long) ({length}))")(late.value, self.text.binds["<"])

    def ends(self, part: CheckLength | Checksum, here: str) -> str:
        return here if part.last is None else self.local.made("end_of_{0}", part.last)

    def content_call(self, packed: Packed) -> str:
        """The call that reads the content."""
        return self.call(Nested(packed.unit, ()), "read", "in", self.text)

    def content_put(self, packed: Packed, value: str, to: str) -> str:
        return self.put(Nested(packed.unit, ()), value, ObjectOf(packed.unit), EMPTY, to)

    def content_measured(self) -> bool:
        """Whether a length in front of the content shows how many bytes it takes."""
        packed = self.unit.packed
        lengths = (each.of for each in self.unit.derived if each.kind == "length")
        return packed is not None and packed.name in lengths

    def put_slot(self, slot: Slot) -> str:
        assert slot.wire is not None
        path = java_literal(slot.shown)
        return self.put(FixedNumber(slot.wire, slot.order), self.slot_value(slot), slot.type, path, "out")

    @property
    def topic(self) -> str:
        return self.docs.get(" topic", "")

    @property
    def number(self) -> str:
        return self.docs.get(" number", "")

    def item(self, kind: Type) -> Type:
        found = scalar(kind)
        assert isinstance(found, ListOf)
        return found.item


def deeper(text: str, by: int) -> str:
    """A statement of more than one line, further in but for its first line."""
    return text.replace("\n", "\n" + "    " * by)
