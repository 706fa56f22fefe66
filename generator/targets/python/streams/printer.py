"""One streamed unit of the plan as what its templates ask for: spellings, and nothing that is decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kodec.generator.passes.record_subset import needed_names
from kodec.generator.plan.follows import blank_of, is_local
from kodec.generator.plan.solve import advised, asked
from kodec.generator.plan.steps import (
    Bits,
    Bounds,
    Case,
    Chars,
    Choice,
    Element,
    FieldPlan,
    Fixed,
    FixedNumber,
    InstancePlan,
    Many,
    Nested,
    Octets,
    One,
    Rule,
    Slot,
    Solution,
    Step,
    Unit,
    When,
    lacks_case,
)
from kodec.generator.plan.stream_values import is_real
from kodec.generator.plan.streams import asks_stream, known_size, written
from kodec.generator.plan.values import (
    FLAG,
    OCTETS,
    TEXT,
    Binary,
    Cast,
    Constant,
    ElementOf,
    EnumOf,
    FieldOf,
    Grouped,
    Item,
    ListOf,
    Maybe,
    MemberOf,
    ObjectOf,
    OneOf,
    Real,
    Required,
    StreamAsked,
    This,
    Type,
    Value,
    Whole,
    values_in,
)
from kodec.generator.targets.python.context import BIT_CODES, Context
from kodec.generator.targets.python.expressions import BINDS, needed_of
from kodec.generator.targets.python.names import attribute
from kodec.generator.targets.python.streams.expressions import Expressions, Where
from kodec.generator.wire import ENCODINGS, WIRE

__all__ = ["Printer"]

_FAILS = {"==": "!=", ">=": "<", "<=": ">"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rule as Python: the test that it is violated, and what an error reports as needed."""

    bad: str
    need: str


class Printer:
    """The questions of a template about a unit."""

    reading = Where()
    given = Where(each=True)
    writing = Where(reading=False)
    of_instance = Where(stream="_io", target="found")

    def __init__(self, module: Context, unit: Unit, units: dict[str, Unit]) -> None:
        assert unit.streamed is not None
        self.module = module
        self.unit = unit
        self.units = units
        self.streamed = unit.streamed
        self.loose = unit.streamed.loose

    @property
    def is_local(self) -> bool:
        """Whether all values derived from bytes are fields of the object itself."""
        return is_local(self.unit)

    @property
    def seeks(self) -> bool:
        """Whether the unit, or one that it reads, has instances that are read: not numbers among its fields,
        which these need.
        """
        todo, seen = [self.unit.name], set[str]()
        while todo:
            unit = self.units[todo.pop()]
            assert unit.streamed is not None
            struct = self.module.model.struct(unit.name)
            peeked = {each.id for each in struct.instances if each.peek_type} & needed_names(struct)
            if any(each.step is not None and each.name not in peeked for each in unit.streamed.instances):
                return True
            seen.add(unit.name)
            todo += [name for name in unit.holds if name not in seen]
        return False

    @property
    def written(self) -> list[Step]:
        """The steps as a writer takes them."""
        return list(written(self.unit))

    def kind(self, part: object) -> str:
        """The name of a step or an element, by which a template chooses its macro."""
        return type(part).__name__

    # -- names and values -------------------------------------------------------------------------

    def text(self, value: Value, at: Where, binds: int = 0) -> str:
        return Expressions.at(self.module, at)(value, binds)

    def compared(self, value: Value, at: Where) -> str:
        """A value next to a comparison."""
        return self.text(value, at, BINDS["|"])

    def attribute(self, name: str) -> str:
        return attribute(name)

    def place(self, name: str, at: Where) -> str:
        """The place of a field: an attribute, or the local of an instance."""
        return at.target or f"self.{attribute(name)}"

    def asks_stream(self, value: Value | None) -> bool:
        """Whether a value is unknown while it is written."""
        return asks_stream(value, self.unit)

    def enum(self, name: str) -> str:
        return self.module.imported(name, self.module.back.enum_class(name))

    def enumerated(self, kind: Type, text: str) -> str:
        """A number as a member of its enum, if it has one."""
        return f"member_of({self.enum(kind.enum)}, {text})" if isinstance(kind, EnumOf) else text

    def annotation(self, kind: Type) -> str:
        """The type of the value that is read."""
        match kind:
            case Maybe(of):
                return f"{self.annotation(of)} | None"
            case ListOf(item):
                return f"list[{self.annotation(item)}]"
            case OneOf(types):
                return " | ".join(sorted({self.annotation(each) for each in types}))
            case EnumOf(enum):
                return f"{self.enum(enum)} | int"
            case ObjectOf(unit):
                return self.module.class_of(unit)
            case Whole():
                return "int"
            case Real():
                return "float"
        return {FLAG: "bool", TEXT: "str", OCTETS: "bytes"}.get(kind, "Any")

    def computed(self, kind: Type) -> str:
        """The type of a computed or passed value; `Any` if it may have several types."""
        match kind:
            case Maybe(of):
                text = self.computed(of)
                return text if text == "Any" else f"{text} | None"
            case ListOf(item):
                return f"list[{self.computed(item)}]"
            case OneOf(types):
                names = {self.computed(each) for each in types}
                return names.pop() if len(names) == 1 else "float" if names == {"int", "float"} else "Any"
        return self.annotation(kind)

    # -- runs -------------------------------------------------------------------------------------

    def run(self, step: Fixed) -> str:
        """The constant with the format and the names of a run; the one by the byte order available."""
        numbers = (slot for slot in step.slots if slot.bits is None or slot.size > 1)
        order = next((slot.order for slot in numbers if slot.order), "be")
        if order == "by":
            return f"{self._run(step, 'le')} if self._endian() else {self._run(step, 'be')}"
        return self._run(step, order)

    def _run(self, step: Fixed, order: str) -> str:
        codes, names = "<" if order == "le" else ">", []
        for group in step.groups:
            codes += _code(group[0])
            bits = [f"{each.path[0]}:{each.bits[1]}" for each in group if each.bits is not None]
            names.append(" ".join(bits) or group[0].path[0])
        return f"_FIELDS_{self.module.run(codes, tuple(names))}"

    def targets(self, step: Fixed) -> str:
        """The targets of a run: bits are read into a local first."""
        found: list[str] = []
        for group in step.groups:
            bits = "bits" if "bits" not in found else f"bits_{len(found)}"
            found.append(f"self.{attribute(group[0].path[0])}" if group[0].bits is None else bits)
        return f"{', '.join(found)}{',' * (len(found) == 1)}"

    def loaded(self, step: Fixed) -> Iterator[tuple[Slot, str, str]]:
        """Each slot with its attribute, and what that is set to after the run was read; empty if it is."""
        bits: list[str] = []
        for index, group in enumerate(step.groups):
            local = ""
            if group[0].bits is not None:
                local = "bits" if not bits else f"bits_{index}"
                bits.append(local)
            for slot in group:
                to = f"self.{attribute(slot.path[0])}"
                if local:
                    yield slot, to, self.enumerated(slot.type, _taken(slot, local))
                else:
                    yield slot, to, self.enumerated(slot.type, to) if isinstance(slot.type, EnumOf) else ""

    # -- elements ---------------------------------------------------------------------------------

    def width(self, element: Element) -> int | None:
        """The number of bytes of a value, if it is fixed."""
        match element:
            case FixedNumber(wire):
                return WIRE[wire].least
            case Octets(_, Bounds(contents=None) as bounds) if bounds.plain and bounds.size is not None:
                kind = bounds.size.type
                if isinstance(kind, Whole) and kind.low == kind.high and 0 < kind.low <= 1024:
                    return kind.low
        return None

    def back(self, step: One | Many) -> int | str | None:
        """How many bytes ago the value began of which rules speak; None of bits."""
        if not step.rules or isinstance(step.element, Bits):
            return None
        return self.width(step.element) or "io.at - before"

    def number(self, element: FixedNumber, name: str) -> str:
        """A call that reads a number."""
        if element.order == "by":
            return f'io.{element.wire}le("{name}") if self._endian() else io.{element.wire}be("{name}")'
        return f'io.{element.wire}{element.order}("{name}")'

    def bits(self, element: Bits, kind: Type, name: str) -> str:
        text = f'io.bits_{element.order}({element.width}, "{name}")'
        return f"{text} != 0" if kind == FLAG else self.enumerated(kind, text)

    def encoding(self, element: Chars) -> str:
        """The arguments of `text` about its encoding."""
        form = ENCODINGS[element.encoding]
        return f'"{form.python}", "{form.errors}"'

    def size(self, bounds: Bounds, at: Where) -> str:
        """The size when reading."""
        assert bounds.size is not None
        return "size" if bounds.early else self.text(bounds.size, at)

    def stored(self, bounds: Bounds, name: str, at: Where) -> str:
        """The bytes of a value as they are read, without what fills them up, and after their process."""
        if bounds.contents is not None:
            return f'io.fixed({bounds.contents!r}, "{name}")'
        if bounds.size is not None or bounds.rest:
            text = f"{at.part or 'io'}.rest()"
            if bounds.size is not None:
                text = f'io.raw({self.size(bounds, at)}, "{name}")'
            if bounds.pad is not None or bounds.terminator is not None:
                text = f"trimmed({text}, {bounds.pad}, {bounds.terminator!r}, {bounds.include})"
        else:
            given = [
                ("include", bounds.include, False),
                ("consume", bounds.consume, True),
                ("need", bounds.needed, True),
            ]
            extra = "".join(f", {key}={value}" for key, value, usual in given if value is not usual)
            text = f'io.until({bounds.terminator!r}, "{name}"{extra})'
        if bounds.process is not None:
            text = f'io.processed("{bounds.process.name}", {text}, "{name}"{self.arguments(bounds, at)})'
        return text

    def arguments(self, bounds: Bounds, at: Where) -> str:
        """The arguments of a process as the end of a call."""
        assert bounds.process is not None
        return "".join(f", {self.text(each, at)}" for each in bounds.process.arguments)

    def stream(self, bounds: Bounds | None, name: str, at: Where) -> str:
        """The stream that an object is read from."""
        if at.part:
            return at.part
        if bounds is None:
            return "io"
        if bounds.plain and bounds.size is not None:
            return f'io.part({self.size(bounds, at)}, "{name}")'
        return "io.remaining()" if bounds.plain else f"io.inside({self.stored(bounds, name, at)})"

    def made(self, element: Nested, at: Where) -> str:
        """A new object with its parameters."""
        names = (attribute(each.name) for each in self.units[element.unit].parameters)
        pairs = zip(names, element.arguments, strict=True)
        given = ", ".join(f"{name}={self.text(each, at)}" for name, each in pairs)
        return f"{self.module.class_of(element.unit)}({given})"

    def literal(self, value: bytes | int | None) -> str:
        return repr(value)

    def class_of(self, unit: str) -> str:
        return self.module.class_of(unit)

    def parent(self, element: Nested, at: Where) -> str:
        """What an object has as its parent."""
        return "None" if element.parent is None else self.text(element.parent, at)

    def root(self, element: Nested) -> str:
        """A further argument for its root, if its parent does not have it."""
        return ", root=self._root" if element.rooted and not isinstance(element.parent, This) else ""

    def branches(self, element: Choice, at: Where) -> list[tuple[str, Case]]:
        """The test of each branch, and what it reads."""
        found = []
        for values, case in element.branches:
            any_of = ", ".join(self.text(each, at) for each in values)
            test = f"on == {self.compared(values[0], at)}" if len(values) == 1 else f"on in ({any_of})"
            found.append((test, case))
        return found

    def loop(self, step: Many, held: bool, at: Where) -> str:
        """The iterable of the indexes of a list's elements."""
        name = f'"{step.name}"' if held else f'"{step.name}", held=False'
        if step.count is not None:
            return f"io.count({self.text(step.count.value, at)}, {step.least}, {name})"
        return f"io.each({name})" if step.until is None else f"io.again({name})"

    # -- rules ------------------------------------------------------------------------------------

    def refusals(self, rules: Sequence[Rule], value: str, at: Where) -> Iterator[Refusal]:
        """Each rule, about `value`."""
        here = at.of_value(value)
        for rule in rules:
            alone = [self.text(each, here) for each in rule.wanted]
            # what is known is said as in layouts
            known = repr(rule.needed) if all(isinstance(each, Constant) for each in rule.wanted) else None
            if rule.need == "one of":
                choices = f"({', '.join(alone)},)"
                yield Refusal(f"{value} not in {choices}", known or choices)
            elif rule.need == "holds":
                assert isinstance(rule.wanted[0], Constant)
                yield Refusal(f"not {self.compared(rule.test, here)}", repr(rule.wanted[0].value))
            elif rule.need == "a member":
                kinds = [each.type for each in values_in(rule.test) if isinstance(each, Item)]
                enum = next(self.enum(each.enum) for each in kinds if isinstance(each, EnumOf))
                # who sets a field may use a number
                found = value if at.reading else f"member_of({enum}, {value})"
                yield Refusal(f"not isinstance({found}, {enum})", f'"a value of {enum}"')
            else:
                yield Refusal(self._opposite(rule.test, here), known or alone[0])

    def _opposite(self, test: Value, here: Where) -> str:
        """The test that a comparison does not hold; of NaN none does."""
        assert isinstance(test, Binary)
        left, right = self.text(test.left, here), self.compared(test.right, here)
        if test.op != "==" and is_real(test.left.type):
            return f"not {left} {test.op} {right}"
        return f"{left} {_FAILS[test.op]} {right}"

    # -- what follows from what is written ----------------------------------------------------------

    def solve(self, solutions: Sequence[Solution], at: Where) -> str:
        """A function of the wanted size: each field that determines it, and the value that this must have."""
        if not solutions:
            return "None"
        return f"lambda n: ({', '.join(self._solution(each, at) for each in solutions)},)"

    def solved(self, solutions: Sequence[Solution], at: Where, key: str = "solve") -> str:
        """The same as the end of a call."""
        return f", {key}={self.solve(solutions, at)}" if solutions else ""

    def follows(self, value: Value | None, solutions: Sequence[Solution], at: Where) -> str:
        """The end of a call: the fields that a size is computed from, or those to set so that it fits."""
        if solutions or value is None:
            return self.solved(solutions, at)
        names = ", ".join(f"`{each}`" for each in asked(value))
        return f", of={names!r}" if names else ""

    def advised(self, reason: str, value: Value) -> str:
        """The text of an error as a literal, with the fields to set."""
        return repr(advised(reason, value))

    def only(self, choice: Choice, at: Where) -> str:
        """The classes that one case alone has, each with the value of that case."""
        found = (f"{self.class_of(unit)}: {self.text(value, at)}" for unit, value in choice.only)
        return f"{{{', '.join(found)}}}"

    def solver(self, solutions: Sequence[Solution]) -> str:
        """The same of an instance, as a function of its object."""
        return self.solve(solutions, self.writing).replace("lambda n:", "lambda self, n:", 1)

    def _solution(self, solution: Solution, at: Where) -> str:
        here = at.of_value("n")
        target, index = solution.target, ""
        if isinstance(target, ElementOf):
            index = f", {self.text(target.at, at)}"
            target = target.of
            while isinstance(target, (Required, Cast)):
                target = target.of
        assert isinstance(target, (FieldOf, MemberOf, StreamAsked))
        owner = "self" if isinstance(target, FieldOf) else self.text(target.of, at)
        made = f'({owner}, "{attribute(target.name)}", {self.text(solution.value, here)}{index})'
        if solution.also:
            made = f"[{', '.join([made, *(self._solution(each, at) for each in solution.also)])}]"
        if not solution.tests:
            return made
        tests = " and ".join(self.text(each, at, BINDS["|"]) for each in solution.tests)
        return f"{made} if {tests} else None"

    @property
    def blanks(self) -> dict[str, str]:
        """The initial value of each derived field; None for one that may be absent."""
        fields = [self.unit.field(name) for name in self.unit.follows]
        return {
            attribute(each.name): "None" if isinstance(each.type, Maybe) else self._blank_of(each)
            for each in fields
        }

    def blank(self, name: str) -> str | None:
        """The same of one that may be absent; None of a field that follows from nothing."""
        if name not in self.unit.follows:
            return None
        return self._blank_of(self.unit.field(name))

    def _blank_of(self, spec: FieldPlan) -> str:
        found = blank_of(self.unit, spec)
        if not isinstance(found, Grouped):
            return repr(found)
        kind = self.module.class_of(self.unit.name)
        return f"lambda: {kind}.from_bytes(bytes(1), exact=False).{attribute(spec.name)}"

    def sizes(self, step: When) -> Sequence[Solution]:
        """The fields with sizes or counts of fields under a condition."""
        inner = self.inner(step)
        if isinstance(inner, Many):
            return () if inner.count is None else inner.count.solved
        bounds = getattr(inner.element, "bounds", None)
        return () if bounds is None else bounds.solved

    # -- writing ----------------------------------------------------------------------------------

    def values(self, step: Fixed) -> str:
        """The values of a run that is written."""
        return ", ".join(f"self.{attribute(slot.path[0])}" for slot in step.slots)

    def known(self, bounds: Bounds, at: Where) -> str:
        """The size when writing, if it is known then."""
        if bounds.size is None or not (bounds.solved or known_size(bounds.size, self.unit)):
            return "None"
        return self.text(bounds.size, at)

    def filled(self, bounds: Bounds, at: Where) -> str:
        """The size up to which a value is filled: it must be known."""
        return "None" if bounds.size is None else self.text(bounds.size, at)

    def node(self, bounds: Bounds, index: str) -> str:
        """The end of a call: the object with a text that may have been read without its terminator."""
        ends = bounds.terminator is not None and not bounds.include and bounds.process is None
        return ", node=self" if ends and bounds.solved and not index else ""

    def is_timed(self, bounds: Bounds) -> bool:
        """Whether a process depends on the position in the stream."""
        return bounds.process is not None and any(map(self.asks_stream, bounds.process.arguments))

    def taught(self, element: Nested, at: Where) -> str:
        """The sources of each argument, as the end of a call."""
        parameters = self.units[element.unit].parameters
        found = [
            f'"{attribute(param.name)}": {self.solve(solved, at)}'
            for param, solved in zip(parameters, element.told, strict=False)
            if solved
        ]
        return f", solve={{{', '.join(found)}}}" if found else ""

    def told(self, element: Nested, sized: bool, at: Where) -> tuple[str, list[tuple[str, str]]]:
        """The arguments of an object when it is written, as the end of a call, and those known only
        afterwards."""
        early, late = [], []
        parameters = self.units[element.unit].parameters
        for param, given in zip(parameters, element.arguments, strict=True):
            name, text = attribute(param.name), self.text(given, at)
            # the reader asks where the stream stands when the bytes of the object are after it
            if sized and self.asks_stream(given):
                late.append((name, text))
            else:
                early.append(f'"{name}": {text}')
        return (f", params={{{', '.join(early)}}}" if early else ""), late

    # -- instances --------------------------------------------------------------------------------

    def needed(self, instance: InstancePlan) -> tuple[str, ...]:
        """The fields that an instance is computed of."""
        values = (instance.value, instance.test)
        found = [name for each in values if each is not None for name in needed_of(each)]
        return tuple(dict.fromkeys(found))

    def result(self, instance: InstancePlan) -> str:
        """What computes an instance."""
        assert instance.value is not None
        text = self.text(instance.value, self.reading)
        when = None if instance.test is None else self.text(instance.test, self.reading, 1)
        if asks_stream(instance.value) or asks_stream(instance.test):
            kept = "_mark" if when is None else "_mark_if"
            given = "" if when is None else f"lambda: {when}, "
            return f'self.{kept}("{instance.name}", {given}lambda: {text})'
        if when is None:
            return text
        return f"{self.text(instance.value, self.reading, 1)} if {when} else None"

    def write_of(self, instance: InstancePlan) -> str:
        """The call that writes an instance: one in another stream when that is there."""
        call = f"self._write_{instance.name}"
        return f"{call}()" if instance.stream is None else f"io.state.later.append({call})"

    def position(self, instance: InstancePlan) -> str:
        """Where an instance is written."""
        assert instance.position is not None
        if instance.stream is None and self.asks_stream(instance.position):
            return f'self._place("{instance.name}")'
        return self.text(instance.position, self.writing)

    def placed(self, instance: InstancePlan) -> str:
        """Functions of an object: the position of an instance, its stream as it was read, the way back."""
        assert instance.position is not None
        stream = "self._io" if instance.stream is None else self.text(instance.stream, self.of_instance)
        position = self.text(instance.position, self.reading)
        held = instance.step.element if isinstance(instance.step, One) else None
        kind = f"lambda: {self.module.class_of(held.unit)}" if isinstance(held, Nested) else "None"
        return f"lambda self: {position}, lambda self: {stream}, {self.solver(instance.solved)}, {kind}"

    def lacks_case(self, step: When) -> bool:
        return lacks_case(step.steps)

    def inner(self, step: When) -> One | Many:
        """The one step under a condition."""
        (found,) = step.steps
        assert isinstance(found, (One, Many))
        return found


def _code(slot: Slot) -> str:
    if slot.bits is not None:
        return BIT_CODES[slot.size]
    return f"{slot.size}s" if slot.wire is None else WIRE[slot.wire].python.code


def _taken(slot: Slot, bits: str) -> str:
    """A field of the bits in the local `bits`."""
    assert slot.bits is not None
    shift, width = slot.bits
    if slot.type == FLAG:
        return f"{bits} & {1 << shift:#x} != 0"
    moved = f"{bits} >> {shift}" if shift else bits
    return moved if shift + width == slot.size * 8 else f"{moved} & {(1 << width) - 1:#x}"
