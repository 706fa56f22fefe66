"""One unit of the plan as data for the templates that write it, and that decompress its content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from kodec.generator.plan.solve import advised, asked
from kodec.generator.plan.steps import (
    Case,
    Chars,
    CheckLength,
    Checksum,
    Choice,
    Derived,
    Element,
    Fixed,
    FixedNumber,
    LateSize,
    Many,
    Nested,
    Octets,
    One,
    Rule,
    Size,
    Slot,
    Solution,
    Step,
    TagPlan,
    When,
    lacks_case,
    steps_in,
    values_of,
)
from kodec.generator.plan.values import (
    FLAG,
    SECTION,
    Binary,
    Constant,
    FieldOf,
    MemberOf,
    ObjectOf,
    SizeOf,
    Unary,
    Value,
    Whole,
)
from kodec.generator.targets.python.context import BIT_CODES
from kodec.generator.targets.python.expressions import BINDS, Expressions
from kodec.generator.targets.python.names import attribute, local
from kodec.generator.targets.python.printer import Printer, Refusal, is_uuid, set_by
from kodec.generator.wire import ENCODINGS

__all__ = ["Holder", "Writer"]


class Holder(Printer):
    """A unit whose content is decompressed and compressed: fields are attributes of `v`."""

    def field(self, name: str) -> str:
        return f"v.{attribute(name)}"

    def may_lack(self, name: str) -> bool:
        return True


class Writer(Printer):
    """A unit that is written: fields are attributes of `v`, derived values are locals."""

    def field(self, name: str) -> str:
        if name in self.derived or name in self.ranged:
            return local(name)
        if name == self.unit.stands_for:
            return "v"
        return f"v.{attribute(name)}" if name in self.kept else local(name)

    def slot_refusals(self, step: Fixed) -> Iterator[tuple[Slot, str, Refusal]]:
        for slot in step.slots:
            if slot.contents is None and slot.path[0] not in self.derived and slot.path[0] not in self.ranged:
                field = self._beside(slot) if slot.path[1:] else self.get
                holders = dict(step.objects)
                holder = holders.get(slot.path[:-1], self.unit.name)
                follows = slot.path[-1] in self.module.program.units[holder].follows
                for rule in slot.rules:
                    found = self.refusal(rule, self.place(slot), field)
                    yield slot, self.place(slot), _late(found) if follows else found

    def own_refusals(self, step: One) -> Iterator[Refusal]:
        """The rules of a field that is written by itself."""
        found = self.refusals(step.rules, self.field(step.name))
        return map(_late, found) if step.name in self.unit.follows else found

    def _beside(self, slot: Slot) -> Callable[[str], str]:
        head = self.place(slot).rpartition(".")[0]
        return lambda name: f"{head}.{attribute(name)}"

    def place(self, slot: Slot) -> str:
        """The expression for the value of a slot."""
        return ".".join([self.field(slot.path[0]), *map(attribute, slot.path[1:])])

    def packed(self, step: Fixed) -> Iterator[str]:
        """The value for each number or bytes of a run."""
        for group in self.groups(step):
            slot = group[0]
            value = self.place(slot)
            if slot.bits is not None:
                parts = []
                for each in group:
                    assert each.bits is not None
                    shift, width = each.bits
                    text = f'bit_field("{each.shown}", {self.place(each)}, {width})'
                    parts.append(f"{text} << {shift}" if shift else text)
                text = " | ".join(parts)
                yield text if slot.size in BIT_CODES else f'({text}).to_bytes({slot.size}, "big")'
            elif slot.contents is not None:
                yield repr(slot.contents)
            elif slot.path == (slot.path[0],) and slot.path[0] in self.ranged:
                yield "0"
            elif is_uuid(slot.wire):
                yield f"{value}.bytes"
            elif slot.wire is None:
                yield f'exact_size("{slot.shown}", {value}, {slot.size})'
            else:
                yield value

    def run_of(self, name: str) -> int:
        """The run of a number that is filled in afterwards."""
        for step in steps_in(self.unit.steps):
            for slot in step.slots if isinstance(step, Fixed) else ():
                if slot.path == (name,) and slot.wire is not None:
                    return self.run_of_one(FixedNumber(slot.wire, slot.order), name)
        raise AssertionError(name)

    def not_in_versions(self, tag: TagPlan) -> str:
        """The condition under which a version does not have a tag; empty if all do."""
        test = self._test_of(tag)
        return "" if test is None else self.text(Unary("not", test, FLAG))

    # -- writing ----------------------------------------------------------------------------------

    def source(self, name: str) -> str:
        """The written form of a field: encoded bytes, or itself."""
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
        """Fields whose bytes are made first, as a length in front of them states their size."""
        lengths = {each.of for each in self.unit.derived if each.kind == "length"}
        return [
            each
            for each in steps_in(self.unit.steps)
            if isinstance(each, (One, Many))
            and each.name in lengths
            and not (isinstance(each, One) and isinstance(each.element, (Octets, Chars)))
        ]

    def condition_of(self, step: Step) -> list[str]:
        """The conditions of a step, outer ones first, except that it is not null."""

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

    def tells_null(self, step: When) -> bool:
        """Whether a condition only means that a field is not null."""
        return not self.unit.is_of_version(step.test) and any(
            self.is_null(name) for name in set_by(step.steps)
        )

    def is_optional(self, name: str) -> bool:
        return name in self.optional

    def derives(self, step: Step) -> Iterator[Derived]:
        """The values derived from the fields that a step writes."""
        for name in set_by((step,)):
            if name in self.derived:
                yield self.derived[name]

    def derived_first(self) -> list[Derived]:
        """The values to compute before anything is written: those used outside their own condition."""
        found = []
        for step in self.unit.steps:
            if not isinstance(step, When):
                continue
            names = {name for name in set_by(steps_in((step,))) if name in self.derived}
            others = [each for each in self.unit.steps if each is not step]
            used = {each.name for each in values_of(others) if isinstance(each, FieldOf)}
            found += [self.derived[name] for name in names & used]
        return sorted(found, key=self.unit.derived.index)

    def is_noted(self, name: str) -> bool:
        """Whether objects do not have a length that is known only when its bytes are written."""
        if self.unit.stands_for is not None or name in self.kept:
            return False
        derived = self.derived.get(name)
        return derived is None or (
            derived.kind == "length" and derived.of in {each.name for each in self.measured()}
        )

    def comparable(self, derived: Derived) -> str:
        """The test that a value was given, and that there are elements of which it is derived."""
        items = self.field(derived.of)
        tests = [f"v.{attribute(derived.name)} is not None"]
        tests += [f"not isinstance({items}, bytes)"] if self.holds_content(derived.of) else []
        tests.append(items)
        tests += [] if derived.when is None else [self.text(derived.when, binds=BINDS["and"])]
        return " and ".join(tests)

    def of_content(self, derived: Derived) -> str:
        """A number that objects do not have, computed of `self`."""
        value = f"self.{attribute(derived.of)}"
        if derived.kind == "presence":
            text = "1"
        else:
            source = value
            for step in self.texts() if derived.kind == "length" else ():
                if step.name == derived.of:
                    source = self.value(step.element, value, derived.of)
            text = f"len({source}){self.plus(derived.plus)}"
        return text if derived.null is None else f"{derived.null} if {value} is None else {text}"

    def derived_rules(self, derived: Derived) -> tuple[Rule, ...]:
        """The rules of computed values, except those that always hold."""
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
        """The number of bytes or elements."""
        value = self.field(derived.of)
        if derived.kind == "presence":
            text = "1"
        else:
            source = self.source(derived.of) if derived.kind == "length" else value
            text = f"len({source}){self.plus(derived.plus)}"
            # encoded bytes are never null, except those of text and of compressed content
            if derived.of not in {each.name for each in self.measured()}:
                value = source
        return text if derived.null is None else f"{derived.null} if {value} is None else {text}"

    def may_be_none(self, name: str) -> bool:
        return self.is_null(name) or self.is_optional(name)

    def holds_content(self, name: str) -> bool:
        """Whether a field may hold compressed bytes in place of its content."""
        return self.unit.packed is not None and self.unit.packed.name == name

    @property
    def lacking(self) -> str:
        """The text of an error about a field that a version lacks, as Python."""
        return (
            f'f"not in version {{{self.version}}}"'
            if self.unit.versions is not None
            else '"not in this form"'
        )

    def lost(self, step: When) -> Iterator[tuple[str, str, str, str]]:
        """(name, test, reason, need) of fields that are not written if a condition does not hold."""
        if self.tells_null(step) or self.unit.stands_for is not None:
            return
        of_version = self.unit.is_of_version(step.test)
        for name in set_by(steps_in((step,))):
            plan = self.plans[name]
            if name not in self.kept or plan.droppable or name in self.derived or name in self.ranged:
                continue
            if not of_version and (plan.type == SECTION or self.holds_content(name)):
                continue
            reason = self.lacking
            if not of_version:
                reason = repr(advised("given, but its condition does not hold", step.test))
            yield name, self.holds(name), reason, self.fields[name].default

    def holds(self, name: str) -> str:
        """The test that a field is not its default."""
        value, text = self.field(name), self.fields[name]
        if text.default == "None":
            return f"{value} is not None"
        if text.default in ("True", "False"):
            return value if text.default == "False" else f"not {value}"
        return f"{value} != {text.default}"

    def is_droppable(self, name: str) -> bool:
        return self.plans[name].droppable

    def until(self, step: Many) -> str:
        """The condition that ends a list, as it will be when `item` was read."""
        assert step.until is not None

        def so_far(name: str) -> str:
            return "count" if name == "_count" else self.get(name)

        return Expressions(field=so_far, item=self.item(step))(_counted(step.until, step.name), BINDS["|"])

    def is_maybe_empty(self, step: Many) -> bool:
        return step.count is None and step.until is None and step.least == 0

    def can_fail(self, step: Many) -> bool:
        """Whether an element may be refused when it is written."""
        element = step.element
        plain = isinstance(element, FixedNumber) and is_uuid(element.wire)
        plain = plain or (isinstance(element, Octets) and (element.size is None or element.size.implied))
        return not plain or bool(step.rules) or self.is_maybe_empty(step)

    def stop(self, check: CheckLength | Checksum) -> str:
        """The end of a range in the output; empty if it ends with the output."""
        return "" if check.last is None else f"end_of_{check.last}"

    # -- what follows from what is written ----------------------------------------------------------

    def solve(self, solutions: Sequence[Solution]) -> str:
        """A function of the wanted size: each field that determines it, and the value that this must have."""
        if not solutions:
            return "None"
        return f"lambda wanted__: ({', '.join(map(self._solution, solutions))},)"

    def _solution(self, solution: Solution) -> str:
        target = solution.target
        assert isinstance(target, (FieldOf, MemberOf))
        owner = "v" if isinstance(target, FieldOf) else self.text(target.of)
        made = f'({owner}, "{attribute(target.name)}", {self.text(solution.value, "wanted__")})'
        if solution.also:
            made = f"[{', '.join([made, *map(self._solution, solution.also)])}]"
        if not solution.tests:
            return made
        tests = " and ".join(self.text(each, binds=BINDS["|"]) for each in solution.tests)
        return f"{made} if {tests} else None"

    def settle(self, name: str, have: str, size: Size, reason: str, unit: str = "") -> str:
        """The call that compares a size or a count with what is written."""
        names = ", ".join(f"`{each}`" for each in asked(size.value))
        rest = f', "{unit}"' if unit else ""
        rest += f", of={names!r}" if names and not size.solved else ""
        head = f'settle(opt, "{name}", {have}, {self.text(size.value)}, {self.solve(size.solved)}'
        return f'{head}, "{reason}"{rest})'

    def late_size(self, late: LateSize) -> str:
        """A size that is compared when the length is there, beside an operator."""
        return Expressions(field=self.get, item="size")(late.value, BINDS["|"])

    def only(self, choice: Choice) -> str:
        """The classes that one case alone has, each with the value of that case."""
        found = (f"{self.module.class_of(unit)}: {self.text(value)}" for unit, value in choice.only)
        return f"{{{', '.join(found)}}}"

    def wants(self, step: When) -> tuple[str, str, str]:
        """Of the fields under a condition: a name, the test that any has a value, whether all may be null."""
        found = [each[0] for each in self.lost(step)]
        test = " or ".join(map(self.holds, found))
        optional = all(self.fields[name].default == "None" for name in found) and not lacks_case(step.steps)
        return (found[0] if found else ""), test, str(optional)

    def without_case(self, choice: Choice) -> str:
        """The text of an error as a literal."""
        reason = "no case for this value"
        return repr(reason if choice.peeked else advised(reason, choice.on))

    def is_constant(self, size: Size) -> bool:
        return isinstance(size.value, Constant)

    def taught(self, element: Nested) -> str:
        """The sources of each argument from which a size of an object follows; empty if there are none."""
        parameters = self.module.program.units[element.unit].parameters
        found = (
            f'"{attribute(param.name)}": {self.solve(solved)}'
            for param, solved in zip(parameters, element.told, strict=False)
            if solved
        )
        text = ", ".join(found)
        return f"{{{text}}}" if text else ""

    @property
    def blanks(self) -> dict[str, str]:
        """The initial value of each field that follows from sizes or counts."""
        return {
            attribute(each): "False" if self.plans[each].type == FLAG else "0" for each in self.unit.follows
        }

    @property
    def computed_where_null(self) -> list[str]:
        """The fields of objects that are computed where they are None."""
        derived = [each.name for each in self.unit.derived if each.name in self.kept]
        return list(dict.fromkeys([*self.blanks, *map(attribute, derived)]))

    # -- switches ---------------------------------------------------------------------------------

    def cases(self, choice: Choice, source: str) -> Iterator[tuple[str, Case]]:
        """(test, case) for a writer: by the value of `switch-on`, or by the type of the value."""
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
            # anything else has no case; of a value with a case, that is not this one
            values = [] if choice.peeked else self._case_values(choice)
            found[f"chosen not in ({', '.join(values)},){test}" if values else test.removeprefix(" and ")] = (
                choice.other
            )
        yield from found.items()

    def _case_values(self, choice: Choice) -> list[str]:
        return [self.compared(each.value) for each in choice.cases if each.value is not None]

    def otherwise(self, choice: Choice, source: str) -> Case | None:
        """The case of all other values, if it is not one of objects."""
        other = choice.other
        return None if other is None or self._is_object(source, other) else other

    def raw(self, choice: Choice, source: str) -> str:
        """The test for bytes of a switch without a matching case; empty if it has none."""
        if (choice.size is None and not choice.fills) or choice.other is not None:
            return ""
        test = f"isinstance({source}, bytes)"
        if choice.peeked:
            return test
        values = self._case_values(choice)
        none = f"chosen not in ({', '.join(values)})" if values[1:] else f"chosen != {values[0]}"
        return f"{none} and {test}"

    def refused(self, choice: Choice, source: str) -> str:
        """The test that a value without a matching case is present although none is allowed; otherwise
        empty."""
        if not choice.may_lack:
            return ""
        values = [self.text(each.value) for each in choice.cases if each.value is not None]
        any_of = f"chosen in ({', '.join(values)})" if values[1:] else f"chosen == {values[0]}"
        return f"{source} is not None" + ("" if choice.peeked else f" or {any_of}")

    def _is_object(self, source: str, case: Case) -> str:
        """The test, after an `and`, that there is an object of a class where one is written."""
        kind = case.type
        if isinstance(case.element, Nested) and isinstance(kind, ObjectOf):
            return f" and isinstance({source}, {self.module.type_text(kind)})"
        return ""

    def value(self, element: Element, source: str, name: str) -> str:
        """A value as it is appended to the output."""
        if isinstance(element, FixedNumber) and is_uuid(element.wire):
            return f"{source}.bytes"
        if isinstance(element, Chars) and not source.startswith("bytes_of_"):
            form = ENCODINGS[element.encoding]
            return f'encode_text("{name}", {source}, "{form.python}", "{form.errors}")'
        return source


def _late(refusal: Refusal) -> Refusal:
    """A rule of a field that may still be computed."""
    return replace(refusal, bad=f"({refusal.bad}) and not doubted(opt)")


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
