"""Writes what the machine reads of layouts, by the steps of the plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from struct import Struct
from struct import error as StructError
from typing import Any

from kodec.generator.code.objects import absent_value, member_of
from kodec.generator.code.values import Evaluator, Fields
from kodec.generator.plan.solve import asked
from kodec.generator.plan.steps import (
    Case,
    Chars,
    Checksum,
    Choice,
    Derived,
    Element,
    Fixed,
    FixedNumber,
    Many,
    Mark,
    Nested,
    Octets,
    One,
    Program,
    Require,
    Rule,
    Size,
    Slot,
    Solution,
    Step,
    Stored,
    Tagged,
    Unit,
    Varint,
    When,
    lacks_case,
)
from kodec.generator.plan.values import FieldOf, Maybe, MemberOf
from kodec.generator.wire import ENCODINGS, WIRE
from kodec.runtime import crc, varint
from kodec.runtime.compression import compress
from kodec.runtime.errors import EncodeError
from kodec.runtime.fields import write_tags
from kodec.runtime.settling import Settling, Solve

__all__ = ["PlanWriter"]


class _Objects(Settling):
    """What has changed in objects that are dicts; `units` has the unit of each by its identity."""

    __slots__ = ("units",)

    def __init__(self) -> None:
        super().__init__()
        self.units: dict[int, Unit] = {}

    def may_change(self, node: Any, name: str) -> bool:
        unit = self.units.get(id(node))
        return unit is not None and name in unit.follows

    def get(self, node: Any, field: str) -> Any:
        return node[field]

    def put(self, node: Any, field: str, value: Any) -> None:
        node[field] = value

    def begin_object(self, unit: Unit, value: Any) -> None:
        """Put something into the fields of an object that are null, and follow from others."""
        self.units[id(value)] = unit
        for name in unit.follows:
            if value[name] is None:
                self.fill(value, name, 0)


@dataclass
class Frame(Fields):
    """A unit that is being written, or its object `node`: where fields begin and end, and what they take."""

    node: Any = None
    marks: dict[str, int] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)


class PlanWriter:
    """The bytes of a value, as `Machine` reads it. Raises EncodeError."""

    def __init__(self, program: Program) -> None:
        self.program = program
        # a number that does not fit its field is refused where it is written
        self.values = Evaluator(program, checked=False)
        self._state: _Objects | None = None

    def write(self, name: str, value: Any, arguments: tuple[Any, ...] = ()) -> bytes:
        """The bytes; sizes, counts and what chooses a case are computed where they do not fit."""
        try:
            return self._write(name, value, arguments)
        except (AttributeError, KeyError, TypeError, ValueError):
            # a number may be null
            state = self._state = _Objects()
        try:
            return state.run(lambda: self._write(name, value, arguments))
        except EncodeError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise EncodeError("", f"a value of another type than its field: {error}") from None
        finally:
            state.restore()
            self._state = None

    def _write(self, name: str, value: Any, arguments: tuple[Any, ...] = ()) -> bytes:
        unit = self.program.units[name]
        frame = Frame(unit, dict(zip((each.name for each in unit.parameters), arguments, strict=True)))
        if unit.stands_for is not None:
            frame.values[unit.stands_for] = value
        else:
            if value is None:
                raise EncodeError("", "not given")
            if self._state is not None:
                self._state.begin_object(unit, value)
                for step in _flat(unit.steps):
                    for path, inner in step.objects if isinstance(step, Fixed) else ():
                        held = value
                        for part in path:
                            held = held[part]
                        self._state.begin_object(self.program.units[inner], held)
            frame.node = value
            frame.values |= value
        if unit.versions is not None and frame.values[unit.version_name] not in unit.versions:
            raise EncodeError(unit.version_name, "unknown version", have=frame.values[unit.version_name])
        made: dict[str, bytes] = {}
        if unit.packed is not None and isinstance(frame.values[unit.packed.name], (dict, list)):
            made[unit.packed.name] = self._packed(frame)
        for each in unit.derived:
            self._derive(each, frame, made)
        out = bytearray()
        self._steps(unit.steps, frame, out, made)
        self._patch(frame, out)
        return bytes(out)

    def _packed(self, frame: Frame) -> bytes:
        packed = frame.unit.packed
        assert packed is not None
        try:
            data = self._write(packed.unit, frame.values[packed.name])
        except EncodeError as error:
            raise error.within(packed.name) from None
        codec = dict(packed.codecs)[self.values.value(packed.by, frame)]
        if packed.when is None or self.values.value(packed.when, frame):
            codec = dict(packed.replaced).get(codec, codec)
        return data if codec == "none" else compress(codec, data)

    def _derive(self, derived: Derived, frame: Frame, made: dict[str, bytes]) -> None:
        of, given = frame.values[derived.of], frame.values.get(derived.name)
        if derived.given and given is not None and (derived.kind != "count" or isinstance(of, bytes)):
            self._compare(derived, frame)
            return
        if of is None:
            frame.values[derived.name] = derived.null
            return
        plus = 0 if derived.plus is None else self.values.value(derived.plus, frame)
        match derived.kind:
            case "presence":
                found = 1
            case "count":
                found = len(of)
            case "length" if isinstance(of, bytes):
                found = len(of)
            case "length":
                if derived.of not in made:
                    made[derived.of] = self._measured(derived.of, frame)
                found = len(made[derived.of])
            case kind:
                if not of or (derived.when is not None and not self.values.value(derived.when, frame)):
                    raise EncodeError(derived.name, "cannot be derived here: a value is required")
                members = [member_of(each, derived.member) for each in of]
                found = members[-1] if kind == "last" else max(members)
        frame.values[derived.name] = found + plus

    def _compare(self, derived: Derived, frame: Frame) -> None:
        """See that a reader will take what was given in place of what is derived of elements."""
        of, given = frame.values[derived.of], frame.values.get(derived.name)
        when = derived.when is None or self.values.value(derived.when, frame)
        if derived.kind not in ("last", "most") or not isinstance(of, list) or not of or not when:
            return
        members = [member_of(each, derived.member) for each in of]
        wanted = members[-1] if derived.kind == "last" else max(members)
        wanted += 0 if derived.plus is None else self.values.value(derived.plus, frame)
        if given < wanted or (given != wanted and not derived.at_least):
            raise EncodeError(derived.name, derived.differs, need=wanted, have=given)

    def _measured(self, name: str, frame: Frame) -> bytes:
        """The bytes of a field, before those in front of it are there."""
        for step in _flat(frame.unit.steps):
            if isinstance(step, (One, Many)) and step.name == name:
                out = bytearray()
                self._steps((step,), frame, out, {})
                return bytes(out)
        raise AssertionError(name)

    # -- steps ------------------------------------------------------------------------------------

    def _steps(self, steps: tuple[Step, ...], frame: Frame, out: bytearray, made: dict[str, bytes]) -> None:
        for step in steps:
            match step:
                case Fixed():
                    self._fixed(step, frame, out)
                case When(test, inner):
                    self._want(step, frame)
                    if self.values.value(test, frame):
                        self._steps(inner, frame, out, made)
                    else:
                        self._require_defaults(step, frame)
                case Mark(name, offset, is_end):
                    (frame.ends if is_end else frame.marks)[name] = len(out) + offset
                case One(name) | Many(name) | Stored(name) if name in made:
                    frame.held[name] = len(made[name])
                    out += made[name]
                case Stored(name):
                    frame.held[name] = len(frame.values[name])
                    out += frame.values[name]
                case One(name, _, element, rules):
                    self._rules(rules, frame.values[name], frame, name)
                    shown = "" if frame.unit.stands_for == name else name
                    start = len(out)
                    self._element(element, frame.values[name], frame, out, shown)
                    frame.held[name] = len(out) - start
                case Many(name):
                    self._many(step, frame, out)
                    frame.held[name] = len(frame.values[name])
                case Tagged():
                    self._tagged(step, frame, out)
                case Require(name, rule):
                    self._rules((rule,), frame.values[name], frame, name)

    def _require_defaults(self, step: When, frame: Frame) -> None:
        """What is not written must not hold anything."""
        for spec in frame.unit.unwritten(step):
            allowed = [absent_value(self.program, spec.type, each) for each in (spec.default, spec.absent)]
            if isinstance(spec.type, Maybe) and not frame.unit.is_of_version(step.test):
                allowed.append(None)
            value = frame.values[spec.name]
            if value not in allowed:
                raise EncodeError(spec.name, "not in this version", have=value)

    def _fixed(self, step: Fixed, frame: Frame, out: bytearray) -> None:
        start = len(out)
        out += bytes(step.size)
        for slot in step.slots:
            value: Any = slot.contents
            if value is None:
                value, inner = frame.values.get(slot.path[0]), frame
                for name in slot.path[1:]:
                    inner = Frame(frame.unit, value)
                    value = value[name]
                if value is None and any(slot.path[-1] == each.name for each in frame.unit.ranges):
                    value = 0
                else:
                    self._rules(slot.rules, value, inner, slot.shown)
            self._slot(slot, value, out, start + slot.offset)

    def _slot(self, slot: Slot, value: Any, out: bytearray, at: int) -> None:
        if slot.bits is not None:
            shift, width = slot.bits
            if not 0 <= int(value) < 1 << width:
                raise EncodeError(slot.shown, "does not fit", have=value)
            whole = int.from_bytes(out[at : at + slot.size], "big") | int(value) << shift
            out[at : at + slot.size] = whole.to_bytes(slot.size, "big")
        elif slot.wire is None:
            if len(value) != slot.size:
                raise EncodeError(slot.shown, "wrong size", need=slot.size, have=len(value))
            out[at : at + slot.size] = value
        else:
            out[at : at + slot.size] = number(slot.shown, value, slot.wire, slot.order)

    def _many(self, step: Many, frame: Frame, out: bytearray) -> None:
        items = frame.values[step.name]
        self._require_size(step.count, frame, len(items), step.name, "wrong number of elements", "")
        for index, item in enumerate(items):
            start = len(out)
            shown = "" if frame.unit.stands_for == step.name else step.name
            try:
                self._rules(step.rules, item, frame, "")
                self._element(step.element, item, frame, out, "")
            except EncodeError as error:
                raise error.within(shown, index) from None
            if len(out) == start and step.count is None and step.until is None:
                raise EncodeError(shown, "an element without bytes could not be read back", have=item)

    def _tagged(self, step: Tagged, frame: Frame, out: bytearray) -> None:
        version: Any = frame.values.get(frame.unit.version_name)
        tags = list(frame.values[step.name])
        fields = {each.name: each for each in frame.unit.fields}
        for tag in step.tags:
            value = frame.values[tag.name]
            if value == absent_value(self.program, fields[tag.name].type, tag.default):
                continue
            if tag.versions is not None and version not in tag.versions:
                if fields[tag.name].droppable:
                    continue
                raise EncodeError(tag.name, "not in this version", have=value)
            self._rules(tag.rules, value, frame, tag.name)
            inner = bytearray()
            self._element(tag.element, value, frame, inner, tag.name)
            tags.append((tag.number, bytes(inner)))
        write_tags(out, tags, step.name)

    def _element(self, element: Element, value: Any, frame: Frame, out: bytearray, name: str) -> None:
        match element:
            case FixedNumber(wire, order):
                out += number(name, value, wire, order)
            case Varint(wire):
                try:
                    out += getattr(varint, WIRE[wire].python.write)(value)
                except EncodeError as error:
                    raise error.within(name) from None
            case Octets(size) | Chars(size):
                data = value
                if isinstance(element, Chars):
                    form = ENCODINGS[element.encoding]
                    data = value.encode(form.python, form.errors)
                self._require_size(size, frame, len(data), name)
                out += data
            case Nested(unit, arguments, size):
                given = tuple(self.values.value(each, frame) for each in arguments)
                if self._state is not None:
                    for param, told in zip(self.program.units[unit].parameters, element.told, strict=False):
                        if (solve := self._solve(told, frame)) is not None:
                            self._state.taught[id(value), param.name] = solve
                try:
                    data = self._write(unit, value, given)
                except EncodeError as error:
                    raise (error.within(name) if name else error) from None
                self._require_size(size, frame, len(data), name)
                out += data
            case Choice():
                self._choose(element, value, frame, name)
                chosen = self._chosen(element, value, frame)
                start = len(out)
                if chosen is not None:
                    self._element(chosen.element, value, frame, out, name)
                elif isinstance(value, bytes):
                    out += value
                elif value is not None:
                    raise EncodeError(name, "no case for this value", have=value)
                self._require_size(element.size, frame, len(out) - start, name)

    def _chosen(self, choice: Choice, value: Any, frame: Frame) -> Case | None:
        """The case of a value; None if it has none. What was peeked is not there: objects say which."""
        if not choice.peeked:
            on = self.values.value(choice.on, frame)
            return next((each for each in choice.cases if self.values.is_case(each, on, frame)), choice.other)
        for case in (*choice.cases, choice.other):
            each = None if case is None else case.element
            if isinstance(each, Nested) and isinstance(value, dict) and self._has_fields(each.unit, value):
                return case
        return None

    # -- what follows from what is written --------------------------------------------------------

    def _require_size(
        self,
        size: Size | None,
        frame: Frame,
        have: int,
        name: str,
        reason: str = "wrong size",
        unit: str = " bytes",
    ) -> None:
        if size is None or size.implied:
            return
        stated = self.values.value(size.value, frame)
        solve = None if self._state is None else self._solve(size.solved, frame)
        if stated != have:
            names = "" if size.solved else ", ".join(f"`{each}`" for each in asked(size.value))
            (self._state or _Objects()).settle(name, have, stated, solve, reason, unit, names)
        elif self._state is not None:
            self._state.satisfied(have, solve)

    def _want(self, step: When, frame: Frame) -> None:
        """Have a flag be that of the fields under it."""
        solve = None if self._state is None else self._solve(step.solved, frame)
        found = [each for each in frame.unit.unwritten(step) if solve is not None]
        if self._state is None or solve is None or not found:
            return
        empty = [absent_value(self.program, each.type, each.default) for each in found]
        given = any(frame.values[each.name] != value for each, value in zip(found, empty, strict=True))
        there = bool(self.values.value(step.test, frame))
        optional = all(each is None for each in empty) and not lacks_case(step.steps)
        if given == there or not (given or optional):
            self._state.satisfied(there, solve)
        else:
            reason = "given, but its condition does not hold" if given else "not given"
            self._state.settle(found[0].name, given, there, solve, reason)

    def _choose(self, choice: Choice, value: Any, frame: Frame, name: str) -> None:
        """Have what chooses a case be that of the one case alone that has such an object."""
        solve = None if self._state is None else self._solve(choice.solved, frame)
        if self._state is None or solve is None or not isinstance(value, dict):
            return
        cases = [case for unit, case in choice.only if self._has_fields(unit, value)]
        if len(cases) == 1:
            wanted, on = self.values.value(cases[0], frame), self.values.value(choice.on, frame)
            if on == wanted:
                self._state.satisfied(wanted, solve)
            else:
                self._state.settle(name, wanted, on, solve, "an object of this type has another case")

    def _has_fields(self, unit: str, value: dict[str, Any]) -> bool:
        return {each.name for each in self.program.units[unit].fields if each.kept} == set(value)

    def _solve(self, solutions: Sequence[Solution], frame: Frame) -> Solve | None:
        """A function of the wanted size: each field that determines it, and the value that this must have."""
        if not solutions:
            return None
        return lambda wanted: tuple(self._solution(each, frame, wanted) for each in solutions)

    def _solution(self, solution: Solution, frame: Frame, wanted: Any) -> Any:
        if not all(self.values.value(each, frame) for each in solution.tests):
            return None
        target = solution.target
        assert isinstance(target, (FieldOf, MemberOf))
        owner = frame.node if isinstance(target, FieldOf) else self.values.value(target.of, frame)
        made = owner, target.name, self.values.value(solution.value, frame, wanted)
        also = [self._solution(each, frame, wanted) for each in solution.also]
        return [made, *also] if also else made

    # -- what is known afterwards -----------------------------------------------------------------

    def _patch(self, frame: Frame, out: bytearray) -> None:
        steps = _flat(frame.unit.steps)
        slots = {each.path[0]: each for step in steps if isinstance(step, Fixed) for each in step.slots}
        for step in frame.unit.ranges:
            start = frame.marks[step.first]
            end = len(out) if step.last is None else frame.ends[step.last]
            slot, at = slots[step.name], frame.marks[step.name]
            if isinstance(step, Checksum):
                value = getattr(crc, step.function)(bytes(out[start:end]))
            else:
                value = end - start + (0 if step.plus is None else self.values.value(step.plus, frame))
                self._require_late_sizes(step.name, value, frame)
            assert slot.wire is not None
            self._rules(slot.rules, value, frame, slot.shown)
            out[at : at + slot.size] = number(step.name, value, slot.wire, slot.order)

    def _require_late_sizes(self, length: str, value: int, frame: Frame) -> None:
        for each in frame.unit.late_sizes_of(length):
            have = frame.held.get(each.name)
            if have is not None and have != (need := self.values.value(each.value, frame, value)):
                reason = "wrong number of elements" if each.counted else "wrong size"
                raise EncodeError(each.name, reason, need=need, have=have)

    def _rules(self, rules: tuple[Rule, ...], value: Any, frame: Frame, name: str) -> None:
        if rules and self._state is not None and not self._state.strict:
            # what breaks a rule may still be computed
            self._state.doubtful = True
            return
        for rule in rules:
            if not self.values.value(rule.test, frame, value):
                raise EncodeError(name, "value not allowed", have=value)


def number(name: str, value: Any, wire: str, order: str) -> bytes:
    """The bytes of a number, a flag or a UUID."""
    if WIRE[wire].kind == "UUID":
        data: bytes = value.bytes
        return data
    try:
        return Struct(("<" if order == "le" else ">") + WIRE[wire].python.code).pack(value)
    except StructError as error:
        raise EncodeError(name, "not given" if value is None else str(error), have=value) from None


def _flat(steps: tuple[Step, ...]) -> list[Step]:
    found: list[Step] = []
    for step in steps:
        found.append(step)
        if isinstance(step, When):
            found += _flat(step.steps)
    return found
