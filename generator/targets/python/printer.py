"""One unit of the plan as data for its templates: its Python spelling; all decisions are the plan's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from kodec.generator.plan.steps import (
    Chars,
    CheckCount,
    CheckLast,
    CheckLength,
    CheckMost,
    Checksum,
    Derived,
    Fixed,
    FixedNumber,
    Many,
    Nested,
    One,
    Rule,
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
    Constant,
    EnumOf,
    FieldOf,
    ListOf,
    Maybe,
    Peeked,
    Type,
    Unary,
    Value,
    Whole,
    in_versions,
)
from kodec.generator.targets.python.context import BIT_CODES
from kodec.generator.targets.python.expressions import BINDS, Expressions
from kodec.generator.targets.python.names import attribute, local
from kodec.generator.targets.python.types import FieldText, Types
from kodec.generator.wire import ENCODINGS, WIRE

__all__ = ["Printer"]

_CHECKED = CheckCount | CheckLast | CheckMost
_KINDS = {CheckCount: "count", CheckLast: "last", CheckMost: "most"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rule as Python: the test that it does not hold, and the text of its error."""

    bad: str
    need: str
    reason: str


class Printer:
    """The data for a template that reads a unit: its fields are locals."""

    def __init__(self, module: Types, unit: Unit) -> None:
        self.module = module
        self.unit = unit
        self.name = module.back.function(unit.name)
        self.fields: dict[str, FieldText] = module.field_texts(unit)
        self.plans = {each.name: each for each in unit.fields}
        self.kept = {each.name for each in unit.fields if each.kept and unit.stands_for is None}
        self.derived = {each.name: each for each in unit.derived}
        steps = list(steps_in(unit.steps))
        self.ranges = [each for each in steps if isinstance(each, (CheckLength, Checksum))]
        self.ranged = {each.name for each in self.ranges}
        # fields that may be None where they are used: a condition on other fields determines whether they
        # exist
        self.optional = {
            each.name
            for each in unit.fields
            if each.absent is not None and each.absent.value is None and not isinstance(each.type, Maybe)
        } - {each.name for each in unit.derived}
        self.optional -= self.ranged
        self._items = self._named_items(steps)

    @property
    def unpacks(self) -> bool:
        """Whether something in the unit may be compressed."""
        return self.unit.name in self.module.back.unpacking

    # -- names ------------------------------------------------------------------------------------

    def field(self, name: str) -> str:
        """The place of a field."""
        return local(name)

    def get(self, name: str) -> str:
        """A field in an expression, which is there wherever the expression is computed."""
        text = self.field(name)
        return f'given("{name}", {text})' if name in self.optional else text

    def text(self, value: Value, item: str = "item", binds: int = 0) -> str:
        return Expressions(field=self.get, item=item)(value, binds)

    def term(self, value: Value) -> str:
        """A value beside `+` or `-`."""
        return self.text(value, binds=BINDS["+"])

    def compared(self, value: Value) -> str:
        """A value next to a comparison."""
        return self.text(value, binds=BINDS["|"])

    def shown(self, name: str) -> str:
        """The field's name in error paths; the value that its type represents has none."""
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
        """The place of the version."""
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

    def is_version(self, step: Step) -> bool:
        """Whether a run ends with the version that the unit stores itself."""
        last = step.slots[-1].path if isinstance(step, Fixed) else ()
        return self.unit.version is not None and last == (self.unit.version_name,)

    def in_versions(self, tag: TagPlan) -> str:
        """The further condition of a tag that not all versions have."""
        test = self._test_of(tag)
        return "" if test is None else f" and {self.text(test, binds=BINDS['and'])}"

    def _test_of(self, tag: TagPlan) -> Value | None:
        if tag.versions is None or self.unit.versions is None or tag.versions == self.unit.versions:
            return None
        known = Whole(self.unit.versions.first, self.unit.versions.last)
        return in_versions(FieldOf(self.unit.version_name, known), tag.versions)

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

    def groups(self, step: Fixed) -> Iterator[list[Slot]]:
        """The slots of a run by their place: bit fields share one."""
        found: dict[int, list[Slot]] = {}
        for slot in step.slots:
            found.setdefault(slot.offset, []).append(slot)
        yield from found.values()

    def is_uuid(self, wire: str) -> bool:
        return is_uuid(wire)

    def width(self, wire: str) -> int:
        return WIRE[wire].least

    def targets(self, step: Fixed) -> list[str]:
        """The variable of each number or bytes of a run."""
        return [self._target(group[0]) for group in self.groups(step)]

    def _target(self, slot: Slot) -> str:
        name = "_".join(slot.path) if slot.path[1:] or slot.bits else local(slot.path[0])
        if slot.bits is None:
            return name
        found = f"{name}_bits"
        slots = (each for step in steps_in(self.unit.steps) if isinstance(step, Fixed) for each in step.slots)
        # a field may be called so too; no name of a field ends in two `_`
        return f"{found}__" if any("_".join(each.path) == found for each in slots) else found

    def made(self, step: Fixed) -> Iterator[str]:
        """Lines that make values of the unpacked variables."""
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
            text = f"uuid_of({raw})" if is_uuid(slot.wire) else raw
            return self.member(slot.type, text)
        shift, width = slot.bits
        if slot.type == FLAG:
            return f"{raw} & {hex(1 << shift)} != 0"
        text = f"{raw} >> {shift}" if shift else raw
        return self.member(slot.type, f"{text} & {hex((1 << width) - 1)}")

    def member(self, kind: Type, text: str) -> str:
        """A number, as a member of its enum if it has one."""
        kind = kind.of if isinstance(kind, Maybe) else kind
        return f"member_of({self.module.enum_of(kind.enum)}, {text})" if isinstance(kind, EnumOf) else text

    def _value_of(self, slot: Slot) -> str:
        """The name of a slot's value in a rule."""
        return "_".join(slot.path) if slot.path[1:] else local(slot.path[0])

    def slot_refusals(self, step: Fixed) -> Iterator[tuple[Slot, str, Refusal]]:
        """(slot, value, refusal) for the rules of a run's fields."""
        for slot in step.slots:
            value = self._value_of(slot)
            if slot.contents is not None:
                bad, need = f"{value} != {slot.contents!r}", repr(slot.contents)
                yield slot, value, Refusal(bad, need, "wrong fixed bytes")
            field = self._beside(slot) if slot.path[1:] else self.get
            for rule in slot.rules:
                yield slot, value, self.refusal(rule, value, field)

    def _beside(self, slot: Slot) -> Callable[[str], str]:
        """The names of other parts of an object in the rules of a part."""
        return lambda name: "_".join((*slot.path[:-1], name))

    # -- rules ------------------------------------------------------------------------------------

    def refusals(self, rules: Iterable[Rule], value: str) -> Iterator[Refusal]:
        for rule in rules:
            yield self.refusal(rule, value, self.get)

    def refusal(self, rule: Rule, value: str, field: Callable[[str], str]) -> Refusal:
        text = Expressions(field=field, item=value)
        if rule.need == "one of":
            choices = ", ".join(map(text, rule.wanted))
            bad = f"{value} not in ({choices})" if rule.wanted[1:] else f"{value} != {choices}"
        else:
            bad = text(Unary("not", rule.test, FLAG))
        if rule.need == "a value":
            return Refusal(bad, repr(rule.needed), "null in a version that does not allow it")
        return Refusal(bad, repr(rule.needed), "value not allowed")

    # -- reading ----------------------------------------------------------------------------------

    def absent(self, step: When) -> Iterator[str]:
        """Lines that set fields if a condition does not hold."""
        inside = list(steps_in((step,)))
        used = {
            each.name
            for other in self.unit.steps
            if other is not step
            for each in values_of(other)
            if isinstance(each, FieldOf)
        }
        used |= {each.name for each in self.ranges}
        for name in set_by(inside):
            text = self.fields[name]
            if name in self.kept or name == self.unit.stands_for:
                yield self.initial(name, self._left_out(step, text))
            elif name in used:
                yield f"{local(name)} = 0"

    def _left_out(self, step: When, text: FieldText) -> str:
        """The value of a field without these steps: its default if a version lacks it."""
        return text.default if self.unit.is_of_version(step.test) else text.absent

    def never(self) -> list[str]:
        """Fields that are nowhere: their condition never holds."""
        there = set(set_by(steps_in(self.unit.steps)))
        return [each.name for each in self.unit.fields if each.kept and each.name not in there]

    def initial(self, name: str, value: str) -> str:
        """The line that sets a field's first value, with its type if the value does not show it."""
        plain = value not in ("None", "[]") and "|" not in self.fields[name].annotation
        return f"{local(name) if plain else self.declared(name)} = {value}"

    def declared(self, name: str) -> str:
        """A field's name with its type."""
        return f"{local(name)}: {self.fields[name].annotation}"

    def is_made(self, name: str, top: bool) -> bool:
        """Whether a list is created where it is read, and not before its condition."""
        if top or not (name in self.kept or name == self.unit.stands_for):
            return True
        around = next(
            each for each in self.unit.steps if isinstance(each, When) and name in set_by(steps_in((each,)))
        )
        return self._left_out(around, self.fields[name]) != "[]" or SetNull(name) in steps_in((around,))

    @property
    def uses_peeks(self) -> bool:
        return any(isinstance(each, Peeked) for each in values_of(self.unit.steps))

    def numbers(self, step: Many) -> str | None:
        """The code of `struct`, with the byte order, of a counted list of whole numbers without rules."""
        element = step.element
        if not isinstance(element, FixedNumber) or step.count is None or step.rules:
            return None
        form = WIRE[element.wire]
        if form.kind != "integer" or "member_of" in self.member(self.item_kind(step), ""):
            return None
        return ("<" if element.order == "le" else ">") + form.python.code

    def is_listed(self, step: Many) -> bool:
        """Whether a list is a counted list of another unit."""
        element = step.element
        plain = isinstance(element, Nested) and element.size is None and not element.fills
        return plain and step.count is not None and not step.rules

    def item_kind(self, step: Many) -> Type:
        """The type of an element."""
        kind = step.type.of if isinstance(step.type, Maybe) else step.type
        assert isinstance(kind, ListOf)
        return kind.item

    def encoding(self, element: Chars) -> str:
        return ENCODINGS[element.encoding].python

    def errors(self, element: Chars) -> str:
        return ENCODINGS[element.encoding].errors

    def varint(self, verb: str, wire: str) -> str:
        form = WIRE[wire].python
        return form.read if verb == "read" else form.write

    @property
    def result(self) -> str:
        """The result of a reader: an object, or the value that the type represents."""
        if self.unit.stands_for is not None:
            return local(self.unit.stands_for)
        names = [each.name for each in self.unit.fields if each.kept]
        names += [each.name for each in self.unit.parameters]
        made = f"{self.module.class_of(self.unit.name)}({', '.join(map(local, names))})"
        peeks = ", ".join(f'"{each.name}": {local(each.name)}' for each in self.unit.kept_peeks)
        return f"{made}._with_peeked({{{peeks}}})" if peeks else made

    def is_null(self, name: str) -> bool:
        """Whether a length or similar number before the field shows that it is null."""
        return any(each.of == name and each.null is not None for each in self.unit.derived)

    def default(self, name: str) -> str:
        return self.fields[name].default

    def starts(self) -> set[str]:
        """Places that a length or a checksum needs."""
        return {name for each in self.ranges for name in (each.first, each.name)}

    # -- checks of what is derived ----------------------------------------------------------------

    def plus(self, value: Value | None) -> str:
        """The addend of a derived value, as the end of a sum."""
        if value is None:
            return ""
        if isinstance(value, Constant) and isinstance(value.value, int) and value.value < 0:
            return f" - {-value.value}"
        return f" + {self.text(value, binds=BINDS['*'])}"

    def end(self, check: CheckLength | Checksum) -> str:
        return "pos" if check.last is None else f"end_of_{check.last}"

    def disagrees(self, check: _CHECKED, items: str) -> str:
        """The test that a field differs from the value derived from the elements."""
        mine = self.field(check.name)
        tests = [] if isinstance(check, CheckCount) else ["opt.verify", items]
        if check.when is not None:
            tests.append(self.text(check.when, binds=BINDS["*"]))
        if self.may_lack(check.name):
            tests.append(f"{mine} is not None")
        tests.append(f"{mine} {'<' if check.at_least else '!='} {self.wanted(check, items)}")
        return " and ".join(tests)

    def may_lack(self, name: str) -> bool:
        """Whether a derived value of an object may be absent."""
        return False

    def wanted(self, check: _CHECKED | Derived, items: str) -> str:
        """The value derived from elements."""
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
        """The text of its error."""
        if isinstance(check, CheckCount):
            return f"differs from count_of({check.of})"
        kind = "last" if isinstance(check, CheckLast) else "max"
        return f"differs from {kind}({check.of}.{check.member[-1]})"


def _is_number(wire: str | None) -> bool:
    return wire is not None and WIRE[wire].kind != "UUID"


def is_uuid(wire: str | None) -> bool:
    return wire is not None and WIRE[wire].kind == "UUID"


def _code(slot: Slot) -> str:
    if slot.bits is not None:
        return BIT_CODES.get(slot.size, f"{slot.size}s")
    return (WIRE[slot.wire].python.code if slot.wire is not None else "") or f"{slot.size}s"


def set_by(steps: Iterable[Step]) -> Iterator[str]:
    """The fields that steps set, in order, without steps under a condition."""
    for step in steps:
        match step:
            case One(name) | Many(name) | Stored(name):
                yield name
            case Tagged(name, tags):
                yield from (each.name for each in tags)
                yield name
            case Fixed(slots):
                yield from dict.fromkeys(
                    each.path[0] for each in slots if each.contents is None or each.path[1:]
                )
