"""The steps of streamed units as Python data, for the native reader.

`kodec.runtime.native.streams` follows them. An expression that it does not know is a
Python function, which it calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kodec.generator.plan.steps import (
    Align,
    Bits,
    Bounds,
    ByteOrder,
    Chars,
    Choice,
    Element,
    Fixed,
    FixedNumber,
    InstancePlan,
    Many,
    Mark,
    Nested,
    Octets,
    One,
    Rule,
    Slot,
    Step,
    When,
)
from kodec.generator.plan.stream_values import is_real
from kodec.generator.plan.streams import asks_stream, streams_of
from kodec.generator.plan.values import (
    FLAG,
    OCTETS,
    TEXT,
    Around,
    Binary,
    Cast,
    Choose,
    Constant,
    Counter,
    Decoded,
    EdgeOf,
    ElementOf,
    Enumerated,
    EnumOf,
    FieldOf,
    IsNull,
    Item,
    Listed,
    ListOf,
    MemberOf,
    Number,
    Required,
    Reversed,
    Shown,
    SizeOf,
    StreamAsked,
    StreamOf,
    Substring,
    This,
    Type,
    Unary,
    Value,
    Whole,
)
from kodec.generator.schema.expression_types import Kinds
from kodec.generator.schema.model import Model
from kodec.generator.targets.python.context import Context
from kodec.generator.targets.python.index import ModelIndex
from kodec.generator.targets.python.names import attribute
from kodec.generator.targets.python.streams.expressions import Where, class_of_cast
from kodec.generator.targets.python.streams.printer import Printer
from kodec.generator.wire import ENCODINGS

__all__ = ["NativeUnit", "beyond_native", "native_unit"]

_IN_FUNCTION = Where(item="item", index="i", stream="_io")
_TIGHT = ("loose", "False")


@dataclass(frozen=True, slots=True)
class NativeUnit:
    """A unit's entry: its parts by their names, as Python, and each of its steps.

    Attributes:
        beyond: what columns are made of through Python objects, as the native reader does not support it.
    """

    name: str
    parts: dict[str, str]
    steps: list[str]
    beyond: tuple[str, ...]


def native_unit(printer: Printer, name: str) -> NativeUnit:
    """The entry of a unit whose class is `name`."""
    table = _Table(printer)
    parts, steps = table.parts(), [table.step(each) for each in printer.unit.steps]
    return NativeUnit(name, parts, steps, tuple(dict.fromkeys(table.beyond)))


def beyond_native(model: Model) -> dict[str, tuple[str, ...]]:
    """By the full name of a streamed type what the native reader does not support in it, if there is
    anything."""
    back, program = ModelIndex(model), streams_of(model, Kinds(model))
    found = {
        struct.name: native_unit(Printer(Context(back, schema), unit, program.units), "").beyond
        for schema in model.schemas
        if schema.streamed
        for struct in schema.structs
        if (unit := program.units[struct.name])
    }
    return {name: reasons for name, reasons in found.items() if reasons}


class _Table:
    """One unit: every method returns Python source."""

    def __init__(self, printer: Printer) -> None:
        self.printer = printer
        self.unit = printer.unit
        self.beyond: list[str] = []

    def parts(self) -> dict[str, str]:
        values = [each for each in self.printer.streamed.instances if each.value is not None]
        found = {
            "loose": repr(self.printer.loose),
            "local": repr(self.printer.is_local) if self.printer.streamed.calculated else "()",
            "parameters": _tuple(f'"{attribute(each.name)}"' for each in self.unit.parameters),
            "fields": _dict(
                (attribute(each.name), repr(None if each.default is None else each.default.value))
                for each in self.unit.fields
            ),
            "instances": _dict(
                (attribute(each.name), self._instance(each)) for each in values if not _stands(each)
            ),
            "stands": _dict((attribute(each.name), self._instance(each)) for each in values if _stands(each)),
            "reads": _dict(
                (each.name, self.step(each.step))
                for each in self.printer.streamed.instances
                if each.step is not None
            ),
            "places": _tuple(
                self._place(each) for each in self.printer.streamed.instances if each.step is not None
            ),
        }
        empty = ("{}", "()")
        return {name: text for name, text in found.items() if text not in empty and (name, text) != _TIGHT}

    def _instance(self, plan: InstancePlan) -> str:
        """The expression of an instance."""
        assert plan.value is not None
        text = self._value(plan.value)
        return text if plan.test is None else f'("if", {self._value(plan.test)}, {text}, None)'

    def _place(self, plan: InstancePlan) -> str:
        """The attribute of an instance, and its condition, its position and its stream."""
        if plan.position is None and not self._is_free(plan.step):
            self.beyond.append(
                f"the instance `{plan.name}` is read where the stream stands, not at a position"
            )
        given = (plan.test, plan.position, plan.stream)
        test, position, stream = ("None" if each is None else self._value(each) for each in given)
        return f'("{attribute(plan.name)}", {test}, {position}, {stream})'

    def _is_free(self, step: Step | None) -> bool:
        """Whether a step takes no bytes: none are stored, or its objects are of types without fields."""
        element = step.element if isinstance(step, (One, Many)) else None
        cases = [element]
        if isinstance(element, Choice):
            cases = [each.element for each in (*element.cases, element.other) if each is not None]
        return all(map(self._is_empty, cases))

    def _is_empty(self, element: Element | None) -> bool:
        match element:
            case Octets(_, Bounds(size=Constant(0))) | Chars(_, _, Bounds(size=Constant(0))):
                return True
            case Nested(bounds=None):
                return not self.printer.units[element.unit].steps
        return False

    # -- steps ------------------------------------------------------------------------------------

    def step(self, step: Step) -> str:
        match step:
            case Align():
                return '("align",)'
            case Mark(name, end=end):
                return f'("{"end" if end else "begin"}", "{attribute(name)}")'
            case ByteOrder(on, cases, other):
                pairs = _tuple(f"({self._value(case)}, {little})" for case, little in cases)
                return f'("order", {self._value(on)}, {pairs}, {other})'
            case When(test, steps):
                return f'("when", {self._value(test)}, {_tuple(map(self.step, steps))})'
            case Fixed(slots, size):
                return f'("fixed", {size}, {_tuple(map(self._slot, slots))})'
            case One(name, kind, element, rules):
                made = self._element(element, kind, name)
                return f'("one", "{attribute(name)}", {made}, {self._rules(rules)})'
            case Many():
                return self._many(step)
        raise TypeError(step)

    def _slot(self, slot: Slot) -> str:
        (name,) = slot.path
        kind = "bits" if slot.bits is not None else slot.wire or "bytes"
        parts = [f'"{attribute(name)}", {slot.offset}, {slot.size}, "{kind}", "{slot.order}"']
        cast = self._cast(slot.type, bits=slot.bits is not None)
        if slot.bits is not None or slot.rules or cast != "None":
            parts += [cast, self._rules(slot.rules)]
        if slot.bits is not None:
            parts += map(str, slot.bits)
        return f"({', '.join(parts)})"

    def _many(self, step: Many) -> str:
        assert isinstance(step.type, ListOf)
        element = self._element(step.element, step.type.item, step.name)
        how, value = "end", "None"
        if step.count is not None:
            how, value = "count", self._value(step.count.value)
        elif step.until is not None:
            how, value = "until", self._value(step.until)
        rules = self._rules(step.rules)
        return f'("many", "{attribute(step.name)}", {element}, {rules}, "{how}", {value}, {step.least})'

    def _rules(self, rules: Iterable[Rule]) -> str:
        return _tuple(self._value(each.test) for each in rules)

    def _cast(self, kind: Type, *, bits: bool = False) -> str:
        """The conversion of a number: to a member of an enum, or to a flag."""
        if isinstance(kind, EnumOf):
            return self.printer.enum(kind.enum)
        return "bool" if bits and kind == FLAG else "None"

    # -- elements ---------------------------------------------------------------------------------

    def _element(self, element: Element, kind: Type, name: str) -> str:
        match element:
            case FixedNumber(wire, order):
                return f'("number", "{wire}", "{order}", {self._cast(kind)})'
            case Bits(width, order):
                return f'("bits", {width}, "{order}", {self._cast(kind, bits=True)})'
            case Octets(_, Bounds() as bounds):
                return f'("bytes", {self._bounds(bounds, name)})'
            case Chars(_, encoding, Bounds() as bounds):
                form = ENCODINGS[encoding]
                return f'("text", {self._bounds(bounds, name)}, "{form.python}", "{form.errors}")'
            case Nested():
                given = _tuple(map(self._value, element.arguments))
                within = "None" if element.bounds is None else self._bounds(element.bounds, name)
                cls = self.printer.class_of(element.unit)
                parts = f'"object", {cls}, "{name}", {given}, {within}'
                if isinstance(element.parent, This) and element.rooted:
                    return f"({parts})"
                parent = "None" if element.parent is None else self._value(element.parent)
                return f"({parts}, {parent}, {element.rooted})"
            case Choice():
                return self._choice(element, name)
        raise TypeError(element)

    def _choice(self, element: Choice, name: str) -> str:
        cases = _tuple(
            f"({_tuple(map(self._value, values))}, {self._element(case.element, case.type, name)})"
            for values, case in element.branches
        )
        other = "None"
        if element.other is not None:
            other = self._element(element.other.element, element.other.type, name)
        bounds = "None" if element.bounds is None else self._bounds(element.bounds, name)
        return f'("choice", {self._value(element.on)}, {cases}, {other}, {bounds})'

    def _bounds(self, bounds: Bounds, name: str) -> str:
        how, value = "rest" if bounds.rest else "until", "None"
        if bounds.contents is not None:
            how, value = "fixed", repr(bounds.contents)
        elif bounds.size is not None:
            how, value = "size", self._value(bounds.size)
        given = [
            ("early", bounds.early, False),
            ("terminator", bounds.terminator, None),
            ("include", bounds.include, False),
            ("consume", bounds.consume, True),
            ("needed", bounds.needed, True),
            ("pad", bounds.pad, None),
        ]
        parts = [f'"{key}": {found!r}' for key, found, usual in given if found != usual]
        if bounds.process is not None:
            arguments = "".join(f", {self._python(each)}" for each in bounds.process.arguments)
            call = f'io.processed("{bounds.process.name}", data, "{name}"{arguments})'
            parts.append(f'"process": lambda self, io, item, i, data: {call}')
            given_to = _tuple(self._value(each) for each in bounds.process.arguments)
            parts.append(f'"by": ("{bounds.process.name}", {given_to})')
        return f'("{how}", {value}, {{{", ".join(parts)}}})' if parts else f'("{how}", {value})'

    # -- values -----------------------------------------------------------------------------------

    def _python(self, value: Value) -> str:
        return self.printer.text(value, _IN_FUNCTION)

    def _value(self, value: Value) -> str:
        match value:
            case Constant():
                return self._python(value)
            case Listed(items, kind) if kind == OCTETS:
                known = [each.value for each in items if isinstance(each, Constant)]
                whole = [each for each in known if isinstance(each, int) and 0 <= each < 256]
                if len(whole) == len(items):
                    return repr(bytes(whole))
            case FieldOf(name):
                return f'("field", "{attribute(name)}")'
            case Item():
                return '("item",)'
            case Counter():
                return '("index",)'
            case This():
                return '("this",)'
            case Around(of, name):
                return f'("{name}", {"None" if of is None else self._value(of)})'
            case MemberOf(of, name):
                return f'("member", {self._value(of)}, "{attribute(name)}")'
            case SizeOf(of):
                return f'("len", {self._value(of)})'
            case Number(of, _, None) if of.type != TEXT and not is_real(of.type):
                return f'("int", {self._value(of)})'
            case Enumerated(of, EnumOf(enum)):
                return f'("enum", {self._value(of)}, {self.printer.enum(enum)})'
            case Required(of):
                return f'("need", {self._value(of)})'
            case IsNull(of):
                return f'("null", {self._value(of)})'
            case Decoded(of, encoding):
                form = ENCODINGS[encoding]
                return f'("text", {self._value(of)}, "{form.python}", "{form.errors}")'
            case ElementOf(of, at):
                return f'("element", {self._value(of)}, {self._value(at)})'
            case StreamAsked(StreamOf(of, at_hand), name):
                stream = '("this",)' if of is None else self._value(of)
                return f'("{name}", {"None" if at_hand else stream})'
            case StreamAsked(of, name):
                return f'("{name}", {self._value(of)})'
            case StreamOf(of, at_hand):
                stream = "None" if at_hand else '("this",)' if of is None else self._value(of)
                return f'("stream", {stream}, {self._function(value)})'
            case Unary(op, of):
                return f'("{op}", {self._value(of)})' if op != "-" else f'("negative", {self._value(of)})'
            case Binary(op, left, right):
                return f'("{op}", {self._value(left)}, {self._value(right)})'
            case EdgeOf(of, name):
                return f'("{name}", {self._value(of)}, {self._function(value)})'
            case Cast(of, _, kind) if kind == OCTETS and isinstance(of.type, ListOf):
                return f'("octets", {self._value(of)}, {self._function(value)})'
            case Cast(of, _, kind):
                cls = class_of_cast(self.printer.module, kind)
                return f'("as", {self._value(of)}, {cls}, {self._function(value)})'
            case Listed(items, kind):
                found = f'("list", {_tuple(map(self._value, items))}, {self._function(value)})'
                return f'("octets", {found}, {self._function(value)})' if kind == OCTETS else found
            case Shown(of) if isinstance(of.type, Whole) or of.type == TEXT:
                return f'("shown", {self._value(of)}, {self._function(value)})'
            case Number(of, _, base) if of.type == TEXT:
                to = "10" if base is None else self._value(base)
                return f'("parsed", {self._value(of)}, {to}, {self._function(value)})'
            case Number(of):
                return f'("whole", {self._value(of)}, {self._function(value)})'
            case Reversed(of):
                return f'("reversed", {self._value(of)}, {self._function(value)})'
            case Substring(of, start, stop):
                parts = ", ".join(map(self._value, (of, start, stop)))
                return f'("part", {parts}, {self._function(value)})'
            case Choose(test, yes, no):
                return f'("if", {self._value(test)}, {self._value(yes)}, {self._value(no)})'
        self.beyond.append(f"an expression ({type(value).__name__}) that only Python computes")
        return self._function(value)

    def _function(self, value: Value) -> str:
        return f"lambda self, io, item, i: {self._python(value)}"


def _stands(plan: InstancePlan) -> bool:
    """Whether an instance depends on where a stream stands, or how long it is."""
    return asks_stream(plan.value) or asks_stream(plan.test)


def _tuple(items: Iterable[str]) -> str:
    found = list(items)
    return f"({', '.join(found)}{',' * (len(found) == 1)})"


def _dict(items: Iterable[tuple[str, str]]) -> str:
    parts = ", ".join(f'"{name}": {text}' for name, text in items)
    return f"{{{parts}}}"
