"""One unit of the plan as what its templates ask for: spellings, and nothing that the plan has decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from kodec.generator.plan.steps import (
    Case,
    Chars,
    CheckCount,
    CheckLast,
    CheckLength,
    CheckMost,
    Checksum,
    Choice,
    Derived,
    Element,
    Fixed,
    FixedNumber,
    Many,
    Nested,
    Octets,
    One,
    Rule,
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
    Binary,
    Constant,
    EnumOf,
    FieldOf,
    Maybe,
    ObjectOf,
    Peeked,
    SizeOf,
    Type,
    Unary,
    Value,
    Whole,
    in_versions,
    values_in,
)
from kodec.generator.schema.model import Struct
from kodec.generator.targets.python.context import BIT_CODES
from kodec.generator.targets.python.expressions import BINDS, COMPARED, PRODUCT, SUM, TERNARY, value_text
from kodec.generator.targets.python.names import attribute, local
from kodec.generator.targets.python.types import FieldText, Types
from kodec.generator.wire import ENCODINGS, WIRE

__all__ = ["Printer"]

_CHECKED = CheckCount | CheckLast | CheckMost
_KINDS = {CheckCount: "count", CheckLast: "last", CheckMost: "most"}
_READING, _WRITING, _HOLDING = "reading", "writing", "holding"


@dataclass(frozen=True, slots=True)
class _Refusal:
    """A rule as Python: the test that it does not hold, and what an error says then."""

    bad: str
    need: str
    reason: str


class Printer:
    """What a template asks of a unit.

    The same names are spelled in three ways: of a reader, where fields are locals; of a writer, and of what
    opens and makes compressed content, where they are attributes of `v`.
    """

    def __init__(self, module: Types, unit: Unit, struct: Struct, way: str = _READING) -> None:
        self.module = module
        self.unit = unit
        self.struct = struct
        self.way = way
        self.name = module.back.function(struct)
        self.fields: dict[str, FieldText] = module.field_texts(struct)
        self.kept = {each.name for each in unit.fields if each.kept and unit.stands_for is None}
        self.derived = {each.name: each for each in unit.derived}
        steps = list(steps_in(unit.steps))
        self.ranges = [each for each in steps if isinstance(each, (CheckLength, Checksum))]
        self._ranged = {each.name for each in self.ranges}
        # what may be None where it is used: a condition on other fields says whether it is there
        self._optional = {
            each.name
            for each in unit.fields
            if each.absent is not None and each.absent.value is None and not isinstance(each.type, Maybe)
        } - {each.name for each in unit.derived}
        self._optional -= self._ranged
        self._items = self._named_items(steps)

    def with_way(self, way: str) -> Printer:
        """The same unit, spelled in another way."""
        return Printer(self.module, self.unit, self.struct, way)

    @property
    def writer(self) -> Printer:
        return self.with_way(_WRITING)

    @property
    def holder(self) -> Printer:
        return self.with_way(_HOLDING)

    # -- names ------------------------------------------------------------------------------------

    def field(self, name: str) -> str:
        """Where a field is while it is read or written."""
        if self.way == _HOLDING:
            return f"v.{attribute(name)}"
        if self.way == _WRITING and name not in self.derived and name not in self._ranged:
            if name == self.unit.stands_for:
                return "v"
            if name in self.kept:
                return f"v.{attribute(name)}"
        return local(name)

    def get(self, name: str) -> str:
        """A field in an expression, which is there wherever the expression is computed."""
        text = self.field(name)
        return f'given("{name}", {text})' if name in self._optional else text

    def text(self, value: Value, item: str = "item", binds: int = TERNARY) -> str:
        return value_text(value, self.get, item, binds)

    def term(self, value: Value) -> str:
        """A value beside `+` or `-`."""
        return self.text(value, binds=SUM)

    def compared(self, value: Value) -> str:
        """A value beside a comparison."""
        return self.text(value, binds=COMPARED)

    def shown(self, name: str) -> str:
        """The field's name in error paths; what its type stands for has none of its own."""
        return "" if name == self.unit.stands_for else name

    def local(self, name: str) -> str:
        return local(name)

    def attribute(self, name: str) -> str:
        return attribute(name)

    def kind(self, part: object) -> str:
        """The name of a step or an element, by which a template chooses its macro."""
        return type(part).__name__

    def item(self, step: Many) -> str:
        """What an element of a list is called: one name has one type."""
        return self._items[step.name]

    def _named_items(self, steps: Iterable[Step]) -> dict[str, str]:
        found: dict[str, str] = {}
        first: str | None = None
        for step in steps:
            if isinstance(step, Many):
                kind = self.fields[step.name].single
                first = first or kind
                # no schema name ends in `_`
                found[step.name] = "item" if kind == first else f"item_of_{step.name}_"
        return found

    def given(self, element: Nested) -> str:
        """Arguments of another unit's function, after others."""
        return "".join(f", {self.text(each)}" for each in element.arguments)

    def call(self, verb: str, unit: str) -> str:
        """The function that reads or writes a unit."""
        return self.module.function(verb, unit)

    # -- versions ---------------------------------------------------------------------------------

    @property
    def version(self) -> str:
        """Where the version is."""
        return self.field(self.unit.version_name)

    @property
    def versions(self) -> str:
        """The versions that the unit knows, as Python."""
        known = self.unit.versions
        assert known is not None
        if self.unit.stands_for is None:
            return f"{self.module.class_of(self.unit.name)}.VERSIONS"
        return f"range({known.first}, {known.last + 1})"

    @property
    def known(self) -> str:
        """The versions that the unit knows, for people."""
        return str(self.unit.versions)

    def says_version(self, step: Step) -> bool:
        """Whether a run ends with the version that the unit says itself."""
        last = step.slots[-1].path if isinstance(step, Fixed) else ()
        return self.unit.version is not None and last == (self.unit.version_name,)

    def in_versions(self, tag: TagPlan) -> str:
        """The further condition of a tag that not all versions have."""
        test = self._test_of(tag)
        return "" if test is None else f" and {self.text(test, binds=BINDS['and'])}"

    def not_in_versions(self, tag: TagPlan) -> str:
        """The condition under which a version does not have a tag; empty where all do."""
        test = self._test_of(tag)
        return "" if test is None else self.text(Unary("not", test, FLAG))

    def _test_of(self, tag: TagPlan) -> Value | None:
        if tag.versions is None or self.unit.versions is None or tag.versions == self.unit.versions:
            return None
        known = Whole(self.unit.versions.first, self.unit.versions.last)
        return in_versions(FieldOf(self.unit.version_name, known), tag.versions)

    def is_of_version(self, test: Value) -> bool:
        """Whether a condition is on the version and other parameters alone."""
        given = {self.unit.version_name, *(each.name for each in self.unit.parameters)}
        return all(each.name in given for each in values_in(test) if isinstance(each, (FieldOf, Peeked)))

    # -- runs -------------------------------------------------------------------------------------

    def run(self, step: Fixed) -> int:
        """The number of the `Run` of these fields."""
        codes, names = "", []
        for group in self.groups(step):
            codes += _code(group[0])
            names.append(".".join(group[0].path))
        numbers = (each for each in step.slots if each.bits is not None or _is_number(each.wire))
        order = next((each.order for each in numbers if each.order), "be")
        return self.module.run((">" if order == "be" else "<") + codes, tuple(names))

    def run_of_one(self, element: FixedNumber, name: str) -> int:
        order = "<" if element.order == "le" else ">"
        return self.module.run(order + WIRE[element.wire].python.code, (name,))

    def run_of(self, name: str) -> int:
        """The run of a number that is put in afterwards."""
        for step in steps_in(self.unit.steps):
            for slot in step.slots if isinstance(step, Fixed) else ():
                if slot.path == (name,) and slot.wire is not None:
                    return self.run_of_one(FixedNumber(slot.wire, slot.order), name)
        raise AssertionError(name)

    def groups(self, step: Fixed) -> Iterator[list[Slot]]:
        """The slots of a run by their place: bit fields share one."""
        found: dict[int, list[Slot]] = {}
        for slot in step.slots:
            found.setdefault(slot.offset, []).append(slot)
        yield from found.values()

    def is_uuid(self, wire: str) -> bool:
        return _is_uuid(wire)

    def width(self, wire: str) -> int:
        return WIRE[wire].least

    def targets(self, step: Fixed) -> list[str]:
        """What each number or each bytes of a run is unpacked into."""
        return [self._target(group[0]) for group in self.groups(step)]

    def _target(self, slot: Slot) -> str:
        name = "_".join(slot.path) if slot.path[1:] or slot.bits else local(slot.path[0])
        return f"{name}_bits" if slot.bits is not None else name

    def made(self, step: Fixed) -> Iterator[str]:
        """Lines that make values of what was unpacked."""
        values: dict[tuple[str, ...], str] = {}
        for group in self.groups(step):
            first = group[0]
            raw = self._target(first)
            if first.bits is not None and first.size not in BIT_CODES:
                yield f'{raw}_int = int.from_bytes({raw}, "big")'
                raw = f"{raw}_int"
            for slot in group:
                text = self._unpacked(slot, raw)
                here = self._value_of(slot)
                if text != here and (len(slot.path) == 1 or (slot.rules and slot.bits is not None)):
                    yield f"{here} = {text}"
                    text = here
                values[slot.path] = text
        for path, unit in step.objects:
            kept = self.module.kept(unit)
            values[path] = (
                f"{self.module.class_of(unit)}({', '.join(values[(*path, name)] for name in kept)})"
            )
            if len(path) == 1:
                yield f"{local(path[0])} = {values[path]}"

    def _unpacked(self, slot: Slot, raw: str) -> str:
        if slot.bits is None:
            text = f"uuid_of({raw})" if _is_uuid(slot.wire) else raw
            return self.member(slot.type, text)
        shift, width = slot.bits
        if slot.type == FLAG:
            return f"{raw} & {hex(1 << shift)} != 0"
        text = f"{raw} >> {shift}" if shift else raw
        return self.member(slot.type, f"{text} & {hex((1 << width) - 1)}")

    def member(self, kind: Type, text: str) -> str:
        """A number, as a member of its enum where it has one."""
        kind = kind.of if isinstance(kind, Maybe) else kind
        return f"member_of({self.module.enum_of(kind.enum)}, {text})" if isinstance(kind, EnumOf) else text

    def _value_of(self, slot: Slot) -> str:
        """What a slot's value is called where a rule speaks of it."""
        return "_".join(slot.path) if slot.path[1:] else local(slot.path[0])

    def slot_refusals(self, step: Fixed) -> Iterator[tuple[Slot, str, _Refusal]]:
        """(slot, value, refusal) for the rules of a run's fields."""
        for slot in step.slots:
            value = self._value_of(slot) if self.way == _READING else self.place(slot)
            if slot.contents is not None:
                if self.way == _READING:
                    bad = f"{value} != {slot.contents!r}"
                    yield slot, value, _Refusal(bad, repr(slot.contents), "wrong fixed bytes")
                continue
            if self.way == _WRITING and (slot.path[0] in self.derived or slot.path[0] in self._ranged):
                continue
            beside = self.get if not slot.path[1:] else self._beside(slot)
            for rule in slot.rules:
                yield slot, value, self._refusal(rule, value, beside)

    def _beside(self, slot: Slot) -> Callable[[str], str]:
        """How the rules of a part of an object speak of its other parts."""
        if self.way == _READING:
            return lambda name: "_".join((*slot.path[:-1], name))
        head = self.place(slot).rpartition(".")[0]
        return lambda name: f"{head}.{attribute(name)}"

    def place(self, slot: Slot) -> str:
        """Where the value of a slot is in what is written."""
        return ".".join([self.field(slot.path[0]), *map(attribute, slot.path[1:])])

    def packed(self, step: Fixed) -> Iterator[str]:
        """What goes into each number or each bytes of a run."""
        for group in self.groups(step):
            slot = group[0]
            value = self.place(slot)
            if slot.bits is not None:
                parts = []
                for each in group:
                    assert each.bits is not None
                    shift, width = each.bits
                    text = f'bit_field("{each.path[-1]}", {self.place(each)}, {width})'
                    parts.append(f"{text} << {shift}" if shift else text)
                text = " | ".join(parts)
                yield text if slot.size in BIT_CODES else f'({text}).to_bytes({slot.size}, "big")'
            elif slot.contents is not None:
                yield repr(slot.contents)
            elif slot.path == (slot.path[0],) and slot.path[0] in self._ranged:
                yield "0"
            elif _is_uuid(slot.wire):
                yield f"{value}.bytes"
            elif slot.wire is None:
                yield f'exact_size("{slot.path[-1]}", {value}, {slot.size})'
            else:
                yield value

    # -- rules ------------------------------------------------------------------------------------

    def refusals(self, rules: Iterable[Rule], value: str) -> Iterator[_Refusal]:
        for rule in rules:
            yield self._refusal(rule, value, self.get)

    def _refusal(self, rule: Rule, value: str, field: Callable[[str], str]) -> _Refusal:
        def text(part: Value) -> str:
            return value_text(part, field, value)

        bad = value_text(Unary("not", rule.test, FLAG), field, value)
        if rule.need == "one of":
            bad = f"{value} not in ({', '.join(map(text, rule.wanted))},)"
        if rule.need == "a value":
            return _Refusal(bad, repr(rule.needed), "null in a version that does not allow it")
        return _Refusal(bad, repr(rule.needed), "value not allowed")

    # -- reading ----------------------------------------------------------------------------------

    def absent(self, step: When) -> Iterator[str]:
        """Lines that say what fields are where a condition does not hold."""
        inside = list(steps_in((step,)))
        used = {
            each.name
            for other in self.unit.steps
            if other is not step
            for each in values_of(other)
            if isinstance(each, FieldOf)
        }
        used |= {each.name for each in self.ranges}
        for name in _set_by(inside):
            text = self.fields[name]
            if name in self.kept or name == self.unit.stands_for:
                yield self.initial(name, text.absent)
            elif name in used:
                yield f"{local(name)} = 0"

    def never(self) -> list[str]:
        """Fields that are nowhere: their condition never holds."""
        there = set(_set_by(steps_in(self.unit.steps)))
        return [each.name for each in self.unit.fields if each.kept and each.name not in there]

    def initial(self, name: str, value: str) -> str:
        """The line that gives a field its first value; its type is said where the value does not say it."""
        plain = value not in ("None", "[]") and "|" not in self.fields[name].annotation
        return f"{local(name) if plain else self.declared(name)} = {value}"

    def declared(self, name: str) -> str:
        """A field's name with its type."""
        return f"{local(name)}: {self.fields[name].annotation}"

    def is_empty_list(self, name: str) -> bool:
        """Whether a list that is not there is empty, and not null."""
        return self.fields[name].absent == "[]"

    def is_made(self, name: str, top: bool) -> bool:
        """Whether a list is made where it is read, and not before its condition."""
        return top or not self.is_empty_list(name) or not (name in self.kept or name == self.unit.stands_for)

    @property
    def uses_peeks(self) -> bool:
        return any(isinstance(each, Peeked) for each in values_of(self.unit.steps))

    def numbers(self, step: Many) -> str | None:
        """The code of `struct`, with the byte order, of a counted list of whole numbers without rules."""
        element = step.element
        if not isinstance(element, FixedNumber) or step.count is None or step.rules:
            return None
        form = WIRE[element.wire]
        if form.kind != "integer" or "member_of" in self.member(self._single(step), ""):
            return None
        return ("<" if element.order == "le" else ">") + form.python.code

    def _single(self, step: Many) -> Type:
        kind = step.type.of if isinstance(step.type, Maybe) else step.type
        return kind.item  # type: ignore[union-attr]  # a list has items

    def item_kind(self, step: Many) -> Type:
        return self._single(step)

    def encoding(self, element: Chars) -> str:
        return ENCODINGS[element.encoding].python

    def errors(self, element: Chars) -> str:
        return ENCODINGS[element.encoding].errors

    def varint(self, verb: str, wire: str) -> str:
        form = WIRE[wire].python
        return form.read if verb == "read" else form.write

    @property
    def result(self) -> str:
        """What a reader gives: an object, or the value that the type stands for."""
        if self.unit.stands_for is not None:
            return local(self.unit.stands_for)
        names = [each.name for each in self.unit.fields if each.kept]
        return f"{self.module.class_of(self.unit.name)}({', '.join(map(local, names))})"

    # -- checks of what is derived ----------------------------------------------------------------

    def plus(self, value: Value | None) -> str:
        """What is added to a derived value, as the end of a sum."""
        if value is None:
            return ""
        if isinstance(value, Constant) and isinstance(value.value, int) and value.value < 0:
            return f" - {-value.value}"
        return f" + {self.text(value, binds=PRODUCT)}"

    def end(self, check: CheckLength | Checksum) -> str:
        return "pos" if check.last is None else f"end_of_{check.last}"

    def disagrees(self, check: _CHECKED, items: str) -> str:
        """The test that a field is not what is derived of the elements."""
        mine = self.field(check.name)
        tests = [] if isinstance(check, CheckCount) else ["opt.verify", items]
        if check.when is not None:
            tests.append(self.text(check.when, binds=PRODUCT))
        if self.way == _HOLDING:
            tests.append(f"{mine} is not None")
        tests.append(f"{mine} {'<' if check.at_least else '!='} {self.wanted(check, items)}")
        return " and ".join(tests)

    def wanted(self, check: _CHECKED | Derived, items: str) -> str:
        """What is derived of elements."""
        member = ".".join(map(attribute, getattr(check, "member", ())))
        kind = check.kind if isinstance(check, Derived) else _KINDS[type(check)]
        if kind == "count":
            text = f"len({items})"
        elif kind == "last":
            text = f"{items}[-1].{member}"
        else:
            text = f"max(item.{member} for item in {items})"
        return text + self.plus(check.plus)

    def disagreement(self, check: _CHECKED) -> str:
        """What an error says of it."""
        if isinstance(check, CheckCount):
            return f"not what count_of({check.of}) gives"
        kind = "last" if isinstance(check, CheckLast) else "max"
        return f"not what {kind}({check.of}.{check.member[-1]}) gives"

    # -- writing ----------------------------------------------------------------------------------

    def source(self, name: str) -> str:
        """What of a field is written: bytes that were made of it, or itself."""
        return f"bytes_of_{name}" if name in self._made_before() else self.field(name)

    def _made_before(self) -> set[str]:
        found = {each.name for each in self.texts()} | {each.name for each in self.measured()}
        return found | ({self.unit.packed.name} if self.unit.packed is not None else set())

    def texts(self) -> list[One]:
        """Fields that are text, which is encoded before anything is written."""
        return [
            each
            for each in steps_in(self.unit.steps)
            if isinstance(each, One) and isinstance(each.element, Chars)
        ]

    def measured(self) -> list[One | Many]:
        """Fields whose bytes are made first, as a length in front of them says how many there are."""
        lengths = {each.of for each in self.unit.derived if each.kind == "length"}
        return [
            each
            for each in steps_in(self.unit.steps)
            if isinstance(each, (One, Many))
            and each.name in lengths
            and not (isinstance(each, One) and isinstance(each.element, (Octets, Chars)))
        ]

    def condition_of(self, step: Step) -> list[str]:
        """The conditions under which a step is taken, outer ones first, but for that it is not null."""

        def find(steps: Iterable[Step], around: list[When]) -> list[When] | None:
            for each in steps:
                if each is step:
                    return around
                if isinstance(each, When):
                    found = find(each.steps, [*around, each])
                    if found is not None:
                        return found
            return None

        around = find(self.unit.steps, [])
        return [self.text(each.test) for each in around or () if not self.tells_null(each)]

    def is_null(self, name: str) -> bool:
        """Whether a length or the like in front of the field says that it is null."""
        return name in self.fields and self.fields[name].nullable

    def tells_null(self, step: When) -> bool:
        """Whether a condition says no more than that a field is not null."""
        return not self.is_of_version(step.test) and any(self.is_null(name) for name in _set_by(step.steps))

    def is_optional(self, name: str) -> bool:
        return name in self._optional

    def derives(self, step: Step) -> Iterator[Derived]:
        """What is computed of what a step writes."""
        for name in _set_by((step,)):
            if name in self.derived:
                yield self.derived[name]

    def derived_first(self) -> list[Derived]:
        """What has to be computed before anything is written: what is used outside of its own condition."""
        found = []
        for step in self.unit.steps:
            if not isinstance(step, When):
                continue
            names = {name for name in _set_by(steps_in((step,))) if name in self.derived}
            others = [each for each in self.unit.steps if each is not step]
            used = {each.name for each in values_of(others) if isinstance(each, FieldOf)}
            found += [self.derived[name] for name in names & used]
        return sorted(found, key=self.unit.derived.index)

    def derived_rules(self, derived: Derived) -> tuple[Rule, ...]:
        """The rules of what is computed, but for those that always hold."""
        least = derived.plus.value if derived.plus is not None and isinstance(derived.plus, Constant) else 0
        return tuple(
            rule
            for rule in self.rules_of(derived.name)
            if not (
                rule.need == "least"
                and derived.kind in ("length", "count", "presence")
                and derived.null is None
                and isinstance(rule.wanted[0], Constant)
                and isinstance(least, int)
                and rule.wanted[0].value <= least  # type: ignore[operator]  # a number's bound is one
            )
        )

    def rules_of(self, name: str) -> tuple[Rule, ...]:
        for step in steps_in(self.unit.steps):
            if isinstance(step, One) and step.name == name:
                return step.rules
            for slot in step.slots if isinstance(step, Fixed) else ():
                if slot.path == (name,):
                    return slot.rules
        return ()

    def length_of(self, derived: Derived) -> str:
        """How many bytes, or elements, there are."""
        value = self.field(derived.of)
        if derived.kind == "presence":
            text = "1"
        else:
            source = self.source(derived.of) if derived.kind == "length" else value
            text = f"len({source}){self.plus(derived.plus)}"
            # bytes that are made of a value are never null, but those of text, and what is compressed
            if derived.of not in {each.name for each in self.measured()}:
                value = source
        return text if derived.null is None else f"{derived.null} if {value} is None else {text}"

    def may_be_none(self, name: str) -> bool:
        return self.is_null(name) or self.is_optional(name)

    def holds_content(self, name: str) -> bool:
        """Whether a field may hold bytes in place of what is compressed in them."""
        return self.unit.packed is not None and self.unit.packed.name == name

    @property
    def lacking(self) -> str:
        """What an error says of a field that a version lacks, as Python."""
        return (
            f'f"not in version {{{self.version}}}"'
            if self.unit.versions is not None
            else '"not in this form"'
        )

    def lost(self, step: When) -> Iterator[tuple[str, str, str, str]]:
        """(name, test, reason, need) of what would not be written where a condition does not hold."""
        if self.tells_null(step) or self.unit.stands_for is not None:
            return
        of_version = self.is_of_version(step.test)
        for name in _set_by(steps_in((step,))):
            text = self.fields[name]
            if name not in self.kept or text.droppable or name in self.derived or name in self._ranged:
                continue
            if not of_version and (text.section or self.holds_content(name)):
                continue
            reason = self.lacking if of_version else '"given, but its condition does not hold"'
            yield name, self.holds(name), reason, text.default

    def holds(self, name: str) -> str:
        """The test that a field is not its default."""
        value, text = self.field(name), self.fields[name]
        if text.default == "None":
            return f"{value} is not None"
        if text.default in ("True", "False"):
            return value if text.default == "False" else f"not {value}"
        return f"{value} != {text.default}"

    def default(self, name: str) -> str:
        return self.fields[name].default

    def is_droppable(self, name: str) -> bool:
        return self.fields[name].droppable

    def until(self, step: Many) -> str:
        """The condition that ends a list, as it will be when `item` was read."""
        assert step.until is not None

        def so_far(name: str) -> str:
            return "count" if name == "_count" else self.get(name)

        return value_text(_counted(step.until, step.name), so_far, self.item(step), COMPARED)

    def is_maybe_empty(self, step: Many) -> bool:
        return step.count is None and step.until is None and step.least == 0

    def can_fail(self, step: Many) -> bool:
        """Whether an element may be refused when it is written."""
        element = step.element
        plain = isinstance(element, FixedNumber) and _is_uuid(element.wire)
        plain = plain or (isinstance(element, Octets) and (element.size is None or element.size.implied))
        return not plain or bool(step.rules) or self.is_maybe_empty(step)

    def starts(self) -> set[str]:
        """Places that a length or a checksum needs."""
        return {name for each in self.ranges for name in (each.first, each.name)}

    def ends_early(self, check: CheckLength | Checksum) -> bool:
        """Whether what a range ends with is not the last of what is written."""
        after = self.unit.steps[self.unit.steps.index(check) + 1 :] if check in self.unit.steps else ()
        return any(isinstance(each, (Fixed, One, Many, Tagged, Stored, When)) for each in after)

    def patches(self) -> list[CheckLength | Checksum]:
        """Lengths, then checksums, the innermost first: each covers bytes that are final by then."""
        order = list(_set_by(steps_in(self.unit.steps), contents=True))

        def inside(check: CheckLength | Checksum) -> list[str]:
            last = check.last
            if last is None:
                last = self._last_before(check)
            return order[order.index(check.first) : order.index(last) + 1]

        def layers(check: CheckLength | Checksum) -> int:
            if not isinstance(check, Checksum):
                return 0
            covered = inside(check)
            return 1 + max((layers(each) for each in self.ranges if each.name in covered), default=0)

        by_place = sorted(self.ranges, key=lambda each: order.index(each.name))
        return sorted(by_place, key=layers)

    def _last_before(self, check: Step) -> str:
        last = ""
        for step in steps_in(self.unit.steps):
            if step is check:
                break
            for name in _set_by((step,), contents=True):
                last = name
        return last

    def stop(self, check: CheckLength | Checksum) -> str:
        """Where a range ends in what was written; empty at its end."""
        if check.last is not None:
            return f"end_of_{check.last}"
        return f"stop_of_{check.name}" if self.ends_early(check) else ""

    # -- switches ---------------------------------------------------------------------------------

    def cases(self, choice: Choice, source: str) -> Iterator[tuple[str, Case]]:
        """(test, case) for a writer: by the value switched on, or by the type of what is there."""
        found: dict[str, Case] = {}
        sized = choice.size is not None or choice.fills
        for case in choice.cases:
            kind = self.module.type_text(case.type)
            if choice.peeked:
                test = f"isinstance({source}, {kind})"
            else:
                assert case.value is not None
                test = f"chosen == {self.compared(case.value)}"
                is_object = self._is_object(source, case)
                if not is_object and sized and kind != "bytes":
                    is_object = f" and not isinstance({source}, bytes)"
                test += is_object
            found[test] = case
        if choice.other is not None and (test := self._is_object(source, choice.other)):
            # anything else has no case
            found[test.removeprefix(" and ")] = choice.other
        yield from found.items()

    def otherwise(self, choice: Choice, source: str) -> Case | None:
        """The case of all other values, where it is none of objects."""
        other = choice.other
        return None if other is None or self._is_object(source, other) else other

    def raw(self, choice: Choice, source: str) -> str:
        """The test that bytes stand where a switch has no case; empty where they do not."""
        if (choice.size is None and not choice.fills) or choice.other is not None:
            return ""
        test = f"isinstance({source}, bytes)"
        if choice.peeked:
            return test
        values = [self.compared(each.value) for each in choice.cases if each.value is not None]
        none = f"chosen not in ({', '.join(values)})" if values[1:] else f"chosen != {values[0]}"
        return f"{none} and {test}"

    def refused(self, choice: Choice, source: str) -> str:
        """The test that a value has no case, where nothing may stand there; else empty."""
        if not choice.may_lack:
            return ""
        values = [self.text(each.value) for each in choice.cases if each.value is not None]
        any_of = f"chosen in ({', '.join(values)})" if values[1:] else f"chosen == {values[0]}"
        return f"{source} is not None" + ("" if choice.peeked else f" or {any_of}")

    def _is_object(self, source: str, case: Case) -> str:
        """The test, behind an `and`, that there is an object of a class where one is written."""
        kind = case.type
        if isinstance(case.element, Nested) and isinstance(kind, ObjectOf):
            return f" and isinstance({source}, {self.module.type_text(kind)})"
        return ""

    def value(self, element: Element, source: str, name: str) -> str:
        """A value as it is put behind what is written."""
        if isinstance(element, FixedNumber) and _is_uuid(element.wire):
            return f"{source}.bytes"
        if isinstance(element, Chars) and not source.startswith("bytes_of_"):
            form = ENCODINGS[element.encoding]
            return f'encode_text("{name}", {source}, "{form.python}", "{form.errors}")'
        return source


def _is_number(wire: str | None) -> bool:
    return wire is not None and WIRE[wire].kind != "UUID"


def _is_uuid(wire: str | None) -> bool:
    return wire is not None and WIRE[wire].kind == "UUID"


def _code(slot: Slot) -> str:
    if slot.bits is not None:
        return BIT_CODES.get(slot.size, f"{slot.size}s")
    return (WIRE[slot.wire].python.code if slot.wire is not None else "") or f"{slot.size}s"


def _set_by(steps: Iterable[Step], contents: bool = False) -> Iterator[str]:
    """The fields that steps set, in order; steps under a condition are not looked into."""
    for step in steps:
        match step:
            case One(name) | Many(name) | Stored(name):
                yield name
            case Tagged(name, tags):
                yield from (each.name for each in tags)
                yield name
            case Fixed(slots):
                yield from dict.fromkeys(
                    each.path[0] for each in slots if contents or each.contents is None or each.path[1:]
                )


def _counted(value: Value, name: str) -> Value:
    """A condition with the number of elements of `name`, so far, as `count + 1`."""
    match value:
        case SizeOf(FieldOf(found), kind) if found == name:
            return Binary("+", FieldOf("_count", kind), Constant(1, Whole(1, 1)), kind)
        case Unary(op, of, kind):
            return Unary(op, _counted(of, name), kind)
        case Binary(op, left, right, kind):
            return Binary(op, _counted(left, name), _counted(right, name), kind)
    return value
