"""Writes what the machine reads of streams, by the plan: what printed writers are compared with.

Objects are those of `kodec.runtime.streams`, of a class for each unit that takes the unit's steps one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from kodec.generator.code.machine import Code, Machine
from kodec.generator.code.objects import Node, Stream
from kodec.generator.code.values import OPERATIONS
from kodec.generator.plan.follows import blank_of, is_local
from kodec.generator.plan.solve import advised, asked
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
    Program,
    Rule,
    Solution,
    Step,
    Unit,
    When,
    lacks_case,
)
from kodec.generator.plan.stream_values import is_real
from kodec.generator.plan.streams import asks_stream, known_size, written
from kodec.generator.plan.values import (
    OCTETS,
    TEXT,
    Around,
    Binary,
    Cast,
    Choose,
    Computed,
    Constant,
    Counter,
    Decoded,
    Digits,
    EdgeOf,
    ElementOf,
    Enumerated,
    EnumOf,
    FieldOf,
    Grouped,
    IsNull,
    Item,
    Listed,
    ListOf,
    Maybe,
    MemberOf,
    Number,
    ObjectOf,
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
    values_in,
)
from kodec.generator.wire import ENCODINGS, WIRE
from kodec.runtime.dataclass import field
from kodec.runtime.errors import FormatError
from kodec.runtime.fields import DEFAULT_READ, DEFAULT_WRITE, ReadOptions
from kodec.runtime.settling import Solve
from kodec.runtime.streams import ByteSource, ReadingState, StreamFields, StreamNode

__all__ = ["PlanNode", "StreamWriter"]

_EDGES: dict[str, Callable[[Any], Any]] = {"last": lambda items: items[-1], "min": min, "max": max}
_METHODS = frozenset(("each_of", "from_bytes", "read_from", "to_bytes"))


def _attribute(name: str) -> str:
    """The attribute of a field: not a method."""
    return f"{name}_" if name in _METHODS else name


class PlanNode(StreamNode):
    """An object of a unit."""

    _unit: ClassVar[Unit]
    _plan: ClassVar[StreamWriter]
    _origin: tuple[Machine, Node] | None = None

    def __init__(self, **members: Any) -> None:
        for spec in self._kodec_fields:  # type: ignore[attr-defined]
            setattr(self, spec.name, members.get(spec.name, spec.default))
        self.__post_init__()

    @classmethod
    def _from_bytes(cls, data: Any, arguments: tuple[Any, ...], opt: ReadOptions, exact: bool | None) -> Any:
        reader = Machine(cls._plan.code, bytes(data), opt)
        return cls._plan.object_of(reader.read(cls._unit.name, arguments), reader)

    def _write(self, io: Any) -> None:
        self._plan.unit(self._unit, _At(self, io))

    def _stored(self, name: str) -> bytes | None:
        if self._places is not None and name in self._places:
            return super()._stored(name)
        if self._origin is None:
            return None
        reader, node = self._origin
        found = (each for each in reader.reads if each.path == (*node.path, name))
        return next((each.buf[each.bits[0] // 8 : each.bits[1] // 8] for each in found), None)

    def _calculate(self) -> Iterator[tuple[str, Any, bool, str]]:
        assert self._unit.streamed is not None
        at = _At(self, None, reading=True)
        for each in self._unit.streamed.calculated:
            if each.when is None or self._plan.value(each.when, at):
                name = _attribute(each.name) + (f".{_attribute(each.into)}" if each.into else "")
                yield name, self._plan.value(each.value, at), each.checksum, each.verify


@dataclass(frozen=True)
class _At:
    """Where a value is computed: for which object, on which stream, for which element of a list.

    `stream` is the attribute with the stream of another object; `reading` whether fields may be missing.
    """

    node: Any
    io: Any
    item: Any = None
    index: int = 0
    reading: bool = False
    stream: str = "_stream"

    def of(self, item: Any) -> _At:
        return replace(self, item=item)


class StreamWriter:
    """`StreamWriter(program).object_of(node)` has the fields of what `Machine` read, and `to_bytes`."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.code = Code(program)
        self._classes: dict[str, type[PlanNode]] = {}
        self._made: dict[int, tuple[Node, Any]] = {}
        self._sources: dict[int, tuple[Stream, ByteSource]] = {}

    # -- objects ----------------------------------------------------------------------------------

    def class_of(self, name: str) -> type[PlanNode]:
        if name not in self._classes:
            self._classes[name] = self._class(self.program.units[name])
        return self._classes[name]

    def _class(self, unit: Unit) -> type[PlanNode]:
        assert unit.streamed is not None
        sought = [each for each in unit.streamed.instances if each.position is not None]
        members: dict[str, Any] = {
            "_unit": unit,
            "_plan": self,
            "_part": unit.streamed.part,
            "_parameters": tuple(each.name for each in unit.parameters),
            "_tail_moves": unit.streamed.tail_moves,
            "_calculated": is_local(unit) if unit.streamed.calculated else None,
            "_instances": tuple(_attribute(each.name) for each in sought),
            "_follows": {_attribute(name): self._blank(unit, name) for name in unit.follows},
            "_positions": {each.name: self._position_of(each) for each in sought if each.solved},
            "_solvers": {
                _attribute(each.name): self._solver(each.solved)
                for each in unit.streamed.instances
                if each.value is not None and each.solved
            },
            "_kodec_fields": (
                *(_spec(each.name, each.default and each.default.value) for each in unit.fields),
                *(_spec(each.name, None, compare=False) for each in unit.parameters),
            ),
        }
        for each in unit.streamed.instances:
            members[_attribute(each.name)] = self._property(each)
            if each.position is not None:
                members[f"_write_{each.name}"] = self._writer_of(each)
        return type(_camel(unit.name), (PlanNode,), members)

    def _blank(self, unit: Unit, name: str, *, there: bool = False) -> object:
        """What is in a field that is not computed yet; None for one that may be absent."""
        spec = unit.field(name)
        if isinstance(spec.type, Maybe) and not there:
            return None
        found = blank_of(unit, spec)
        if not isinstance(found, Grouped):
            return found
        return lambda: getattr(
            self.class_of(unit.name)._from_bytes(bytes(1), (), DEFAULT_READ, None), _attribute(name)
        )

    def new(self, name: str, fields: dict[str, Any]) -> PlanNode:
        """A new object of a unit, which nothing was read of."""
        return self.class_of(name)(**{_attribute(each): value for each, value in fields.items()})

    def written(self, value: PlanNode, arguments: tuple[Any, ...] = ()) -> bytes:
        """The bytes of an object. Raises EncodeError."""
        return value._to_bytes(DEFAULT_WRITE, arguments)

    def object_of(self, node: Node, reader: Machine) -> PlanNode:
        """The object that a reader has read."""
        if id(node) in self._made:
            found: PlanNode = self._made[id(node)][1]
            return found
        made = self.class_of(node.unit.name)()
        self._made[id(node)] = node, made
        made._origin = reader, node
        made._io = self._source(node.stream, reader)
        made._start, made._stop, made._depth, made._is_le = node.start, node.stop, node.depth, node.little
        made._parent = None if node.parent is None else self.object_of(node.parent, reader)
        made._root = self.object_of(node.root, reader)
        for name, value in node.values.items():
            setattr(made, _attribute(name), self._value_of(value, reader))
        assert node.unit.streamed is not None
        placed = {each.name for each in node.unit.streamed.instances if each.position is not None}
        for name, (stream, start, stop) in node.spans.items():
            source = self._source(stream, reader)
            if name not in placed:
                made._span(_attribute(name), source, start - source.base, stop - source.base)
        for name, value in node.instances.items():
            self._keep(made, node, name, value, reader)
        return made

    def _keep(self, made: PlanNode, node: Node, name: str, value: Any, reader: Machine) -> Any:
        """Have an object keep what an instance was read as."""
        found = self._value_of(value, reader)
        made._values = made._values or {}
        if found is not None:
            made._values[name] = found
        plan = next(each for each in node.unit.streamed.instances if each.name == name)  # type: ignore[union-attr]
        if plan.position is not None and name in node.spans:
            stream, start, stop = node.spans[name]
            source = _source(stream, reader)
            source.at = stop
            made._places = made._places or {}
            made._places[name] = start - stream.base, source
        return found

    def _value_of(self, value: Any, reader: Machine) -> Any:
        if isinstance(value, Node):
            return self.object_of(value, reader)
        return [self._value_of(each, reader) for each in value] if isinstance(value, list) else value

    def _source(self, stream: Stream, reader: Machine) -> ByteSource:
        if id(stream) not in self._sources:
            self._sources[id(stream)] = stream, _source(stream, reader)
        return self._sources[id(stream)][1]

    # -- instances --------------------------------------------------------------------------------

    def _property(self, instance: InstancePlan) -> property:
        name = instance.name
        if instance.value is not None:
            return property(lambda node: self._computed(node, instance))
        get = property(lambda node: node._instance(name, lambda: self._read(node, instance)))
        if instance.position is None:
            return get
        return get.setter(lambda node, value: node._give(name, value, _attribute(name)))

    def _computed(self, node: PlanNode, instance: InstancePlan) -> Any:
        assert instance.value is not None
        at = _At(node, None, reading=True)
        value, test = instance.value, instance.test
        if asks_stream(value) or asks_stream(test):
            if test is None:
                return node._mark(instance.name, lambda: self.value(value, at))
            return node._mark_if(instance.name, lambda: self.value(test, at), lambda: self.value(value, at))
        return self.value(value, at) if test is None or self.value(test, at) else None

    def _read(self, node: PlanNode, instance: InstancePlan) -> Any:
        """Read an instance with the fields as they are now."""
        assert node._origin is not None
        reader, origin = node._origin
        around: Node | None = origin
        while around is not None:
            made = self._made[id(around)][1]
            for name, value in around.values.items():
                if not isinstance(value, (Node, list)):
                    around.values[name] = getattr(made, _attribute(name))
            around = around.parent
        try:
            found = reader.member(origin, instance.name)
        except FormatError as error:
            raise error.within("") from None
        return self._keep(node, origin, instance.name, found, reader)

    def _position_of(self, instance: InstancePlan) -> tuple[Any, Any, Any, Any]:
        assert instance.position is not None
        position, stream = instance.position, instance.stream
        held = instance.step.element if isinstance(instance.step, One) else None
        kind = (lambda: self.class_of(held.unit)) if isinstance(held, Nested) else None
        return (
            lambda node: self.value(position, _At(node, None, reading=True)),
            lambda node: (
                node._io
                if stream is None
                else self.value(stream, _At(node, None, reading=True, stream="_io"))
            ),
            self._solver(instance.solved),
            kind,
        )

    def _writer_of(self, instance: InstancePlan) -> Callable[[PlanNode], None]:
        def write(node: PlanNode) -> None:
            assert instance.position is not None and instance.step is not None
            at = _At(node, node._out)
            sink = node._sink(node._out if instance.stream is None else self.value(instance.stream, at))
            if instance.stream is None and asks_stream(instance.position, node._unit):
                pos = node._place(instance.name)
            else:
                pos = self.value(instance.position, at)
            io = sink.seek(pos, instance.name)
            self._steps((instance.step,), _At(node, io))
            io.put_at(instance.name, node, **self._follows(instance.position, instance.solved, at))

        return write

    # -- steps ------------------------------------------------------------------------------------

    def unit(self, unit: Unit, at: _At) -> None:
        """Write an object."""
        assert unit.streamed is not None
        self._steps(written(unit), at)
        for each in unit.streamed.instances:
            if each.position is not None and at.node._writes(each.name, at.io, self._solve(each.solved, at)):
                write = getattr(at.node, f"_write_{each.name}")
                if each.stream is None:
                    write()
                else:
                    at.io.state.later.append(write)

    def _steps(self, steps: Iterable[Step], at: _At) -> None:
        for step in steps:
            match step:
                case Align():
                    at.io.align()
                case ByteOrder(on, cases, other):
                    value = self.value(on, at)
                    matches = (little for case, little in cases if self.value(case, at) == value)
                    at.node._is_le = next(matches, other)
                case Mark(name, end=False):
                    at.node._begin(_attribute(name), at.io)
                case Mark(name):
                    at.node._end(_attribute(name), at.io)
                case When():
                    self._when(step, at)
                case Fixed(slots):
                    self._whole(at)
                    order = next((each.order for each in slots if each.size > 1 and each.order), "be")
                    codes = "".join(WIRE[each.wire or ""].python.code for each in slots)
                    form = StreamFields(
                        ("<" if order == "le" else ">") + codes, *(each.path[0] for each in slots)
                    )
                    at.io.pack(form, *(getattr(at.node, _attribute(each.path[0])) for each in slots))
                case One(name, _, element, rules):
                    value = getattr(at.node, _attribute(name))
                    self._element(element, name, value, at)
                    self._rules(rules, name, value, at)
                case Many():
                    self._many(step, at)
                case _:
                    raise TypeError(step)

    def _whole(self, at: _At) -> None:
        if at.node._unit.streamed.loose:
            at.io.align()

    def _when(self, step: When, at: _At) -> None:
        (inner,) = step.steps
        assert isinstance(inner, (One, Many))
        node, name = at.node, inner.name
        value = getattr(node, _attribute(name))
        sizes: tuple[Solution, ...] = ()
        if isinstance(inner, Many):
            sizes = () if inner.count is None else inner.count.solved
        elif (bounds := getattr(inner.element, "bounds", None)) is not None:
            sizes = bounds.solved

        def test() -> bool:
            return bool(self.value(step.test, at))

        if asks_stream(step.test, node._unit):
            there = value is not None
        elif name in node._unit.follows:
            blank = self._blank(node._unit, name, there=True)
            there = at.io.follows(node, _attribute(name), test(), blank)
        elif step.solved or sizes:
            there = at.io.wanted(
                value,
                name,
                test,
                self._solve(step.solved, at),
                self._solve(sizes, at),
                lacks_case(step.steps),
            )
        else:
            there = test()
            if not there and value is not None:
                reason = advised("given, but its condition does not hold", step.test)
                at.io.refuse(name, reason, None, value)
        if there:
            self._steps(step.steps, at)

    def _many(self, step: Many, at: _At) -> None:
        io, name = at.io, step.name
        value = getattr(at.node, _attribute(name))
        until = None if step.until is None or asks_stream(step.until, at.node._unit) else step.until
        size = None if step.count is None else step.count.value
        solved = () if step.count is None else step.count.solved
        if size is not None and (solved or not asks_stream(size, at.node._unit)):
            io.counted(value, self.value(size, at), name, **self._follows(size, solved, at))
        if until is not None and not value:
            io.refuse(name, "at least one element is needed", None, value)
        for index, item in enumerate(io.items(value, name)):
            inner = replace(at, item=item, index=index)
            self._element(step.element, name, item, inner, index)
            self._rules(step.rules, name, item, inner)
            if until is not None and bool(self.value(until, inner)) != (index + 1 == len(value)):
                reason = "the condition that ends it must hold at its last element, and only there"
                io.refuse(name, reason, None, item)
        if step.to_end:
            io.ends(name)

    def _rules(self, rules: tuple[Rule, ...], name: str, value: Any, at: _At) -> None:
        here = at.of(value)
        for rule in rules:
            if self.value(rule.test, here):
                continue
            need: object = rule.needed
            if rule.need == "a member":
                enums = (each.type for each in values_in(rule.test) if isinstance(each.type, EnumOf))
                need = f"a value of {_camel(next(enums).enum)}"
            elif not all(isinstance(each, Constant) for each in rule.wanted):
                wanted = tuple(self.value(each, here) for each in rule.wanted)
                need = wanted if rule.need == "one of" else wanted[0]
            at.io.refuse(name, "value not allowed", need, value)

    # -- elements ---------------------------------------------------------------------------------

    def _element(
        self,
        element: Element,
        name: str,
        value: Any,
        at: _At,
        index: int | None = None,
        shared: Bounds | None = None,
    ) -> None:
        io = at.io
        match element:
            case FixedNumber(wire, order):
                self._whole(at)
                if order == "by":
                    order = "le" if at.node._endian() else "be"
                getattr(io, wire + order)(value, name)
            case Bits(width, order):
                getattr(io, f"bits_{order}")(value, width, name)
            case Octets(_, bounds):
                self._stored(shared or bounds, name, lambda: value, at, index)
            case Chars(_, encoding, bounds):
                form = ENCODINGS[encoding]
                self._stored(
                    shared or bounds, name, lambda: io.text(value, form.python, form.errors, name), at, index
                )
            case Nested():
                self._nested(element, name, value, at, index, shared or element.bounds)
            case Choice():
                self._choice(element, name, value, at, index)
            case _:
                raise TypeError(element)

    def _stored(
        self, bounds: Bounds | None, name: str, made: Callable[[], Any], at: _At, index: object
    ) -> None:
        """Bytes, after their process, with padding; `index` is that of an element, or of what is no text."""
        assert bounds is not None
        self._whole(at)
        io = at.io
        process = bounds.process
        if bounds.contents is not None:
            value = made()
            if value != bounds.contents:
                io.refuse(name, "wrong fixed bytes", bounds.contents, value)
            io.raw(value, None, name)
            return
        if process is not None and any(asks_stream(each, at.node._unit) for each in process.arguments):
            io.refuse(name, "its process depends on the position in the stream", None, b"")
            return
        data = made()
        if process is not None:
            data = io.processed(
                process.name, data, name, *(self.value(each, at) for each in process.arguments)
            )
        if bounds.size is None and not bounds.rest:
            io.ended(
                data,
                bounds.terminator,
                name,
                include=bounds.include,
                consume=bounds.consume,
                need=bounds.needed,
            )
        elif bounds.plain or (bounds.pad is None and bounds.terminator is None):
            known, size = self._known(bounds, at)
            io.raw(data, size, name, **(self._follows(bounds.size, bounds.solved, at) if known else {}))
        else:
            size = None if bounds.size is None else self.value(bounds.size, at)
            given = self._follows(bounds.size, bounds.solved, at)
            ends = bounds.terminator is not None and not bounds.include and process is None
            if ends and bounds.solved and index is None:
                given["node"] = at.node
            full = io.filled(data, size, bounds.pad, bounds.terminator, bounds.include, name, **given)
            io.raw(full, None, name)
        if bounds.rest:
            io.ends(name)

    def _known(self, bounds: Bounds, at: _At) -> tuple[bool, int | None]:
        """Whether a size is known while it is written, and the size."""
        if bounds.size is None or not (bounds.solved or known_size(bounds.size, at.node._unit)):
            return False, None
        return True, self.value(bounds.size, at)

    def _nested(
        self, element: Nested, name: str, value: Any, at: _At, index: int | None, bounds: Bounds | None
    ) -> None:
        io, node = at.io, at.node
        kind = self.class_of(element.unit)
        parameters = self.program.units[element.unit].parameters
        late: list[tuple[str, Value]] = []
        params: dict[str, Any] = {}
        ways: dict[str, Solve | None] = {}
        parent = None if element.parent is None else self.value(element.parent, at)
        for param, given in zip(parameters, element.arguments, strict=True):
            if bounds is not None and asks_stream(given, node._unit):
                late.append((_attribute(param.name), given))
            else:
                params[_attribute(param.name)] = self.value(given, at)
        for param, solved in zip(parameters, element.told, strict=False):
            if solved:
                ways[_attribute(param.name)] = self._solve(solved, at)
        rooted = element.rooted and not isinstance(element.parent, This)
        given_ = (parent, name, index, node._root if rooted else None, params or None, ways or None)
        if bounds is None:
            io.write(value, kind, *given_)
        elif bounds.plain:
            self._whole(at)
            part = io.part(self._known(bounds, at)[1], value, name)
            part.write(value, kind, *given_)
            known, size = self._known(bounds, at)
            io.put(
                part, size, value, name, **(self._follows(bounds.size, bounds.solved, at) if known else {})
            )
            if bounds.rest:
                io.ends(name)
        else:
            part = io.part(None, value, name)
            part.write(value, kind, *given_)
            self._stored(bounds, name, lambda: io.whole(part, None, value, name), at, "nested")
        for attribute, each in late:
            io.told(value, attribute, self.value(each, at), name)

    def _choice(self, choice: Choice, name: str, value: Any, at: _At, index: int | None) -> None:
        on = self.value(choice.on, at)
        if choice.solved:
            only = {self.class_of(unit): self.value(each, at) for unit, each in choice.only}
            solve = self._solve(choice.solved, at)
            assert solve is not None
            at.io.state.choose(name, value, on, only, solve)
        for case in choice.cases:
            if case.value is not None and self.value(case.value, at) == on:
                self._element(case.element, name, value, at, index, choice.bounds)
                return
        if choice.other is not None:
            self._element(choice.other.element, name, value, at, index, choice.bounds)
        elif value is not None:
            reason = advised("no case for this value, so that nothing is written", choice.on)
            at.io.refuse(name, reason, on, value)

    # -- what follows from what is written --------------------------------------------------------

    def _solve(self, solutions: Sequence[Solution], at: _At) -> Solve | None:
        """A function of the wanted size: each field that determines it, and the value that this must have."""
        if not solutions:
            return None
        return lambda wanted: tuple(self._solution(each, at.of(wanted), at) for each in solutions)

    def _solver(self, solutions: Sequence[Solution]) -> Callable[[Any, Any], Any]:
        """The same of an instance, as a function of its object."""

        def solve(node: Any, wanted: Any) -> Any:
            at = _At(node, None)
            return tuple(self._solution(each, at.of(wanted), at) for each in solutions)

        return solve

    def _solution(self, solution: Solution, here: _At, at: _At) -> Any:
        if not all(self.value(each, at) for each in solution.tests):
            return None
        target = solution.target
        index: tuple[Any, ...] = ()
        if isinstance(target, ElementOf):
            index = (self.value(target.at, at),)
            target = target.of
            while isinstance(target, (Required, Cast)):
                target = target.of
        assert isinstance(target, (FieldOf, MemberOf, StreamAsked))
        owner = at.node if isinstance(target, FieldOf) else self.value(target.of, at)
        made = owner, _attribute(target.name), self.value(solution.value, here), *index
        if solution.also:
            return [made, *(self._solution(each, here, at) for each in solution.also)]
        return made

    def _follows(self, value: Value | None, solutions: Sequence[Solution], at: _At) -> dict[str, Any]:
        """The fields that a size is computed from, or those to set so that it fits."""
        if solutions:
            return {"solve": self._solve(solutions, at)}
        names = ", ".join(f"`{each}`" for each in asked(value)) if value is not None else ""
        return {"of": names} if names else {}

    # -- values -----------------------------------------------------------------------------------

    def value(self, value: Value, at: _At) -> Any:
        """What an expression is; operations that can fail are those of the object. Raises: FormatError."""
        node = at.node
        match value:
            case Constant(found):
                return found
            case FieldOf(name):
                return getattr(node, _attribute(name))
            case Item():
                return at.item
            case Counter():
                return at.index
            case This():
                return node
            case Around(of, name):
                return getattr(node if of is None else self.value(of, at), f"_{name}")
            case StreamOf(None, at_hand):
                return at.io if at_hand else node._stream
            case StreamOf(of) if of is not None:
                return getattr(self.value(of, at), at.stream)
            case StreamAsked(of, name):
                return getattr(self.value(of, at), name)
            case Required(of, name, reading, argument):
                found = self.value(of, at)
                if reading and not at.reading:
                    return found
                return node._argument(found, name) if argument else node._given(found, name)
            case MemberOf(of, name):
                return getattr(self.value(of, at), _attribute(name))
            case SizeOf(of):
                return len(self.value(of, at))
            case Number(of, _, base):
                found = self.value(of, at)
                if of.type == TEXT:
                    return node._number(found, 10 if base is None else self.value(base, at))
                return node._whole(found) if is_real(of.type) else int(found)
            case Enumerated(of):
                return self.value(of, at)
            case Shown(of):
                return str(self.value(of, at))
            case Decoded(of, encoding):
                form = ENCODINGS[encoding]
                return node._text(self.value(of, at), form.python, form.errors)
            case Digits(of, base_, like):
                return node._digits(self.value(of, at), base_, self.value(like, at))
            case Grouped(of, _, _, _, bits, held, member):
                return node._grouped(self.value(of, at), bits, _attribute(held), _attribute(member))
            case Computed():
                return self._of_bytes(value, at)
            case Reversed(of):
                return self.value(of, at)[::-1]
            case Substring(of, start, stop):
                return self.value(of, at)[self.value(start, at) : self.value(stop, at)]
            case Listed(items, kind):
                made = [self.value(each, at) for each in items]
                return bytes(made) if kind == OCTETS else made
            case ElementOf(of, index):
                return node._item(self.value(of, at), self.value(index, at))
            case EdgeOf(of, name):
                return node._edge(_EDGES[name], self.value(of, at))
            case Cast(of, name, kind):
                found = self.value(of, at)
                if kind == OCTETS and isinstance(of.type, ListOf):
                    return node._bytes(found)
                return node._as(found, self._class_of(kind), name)
            case IsNull(of):
                return self.value(of, at) is None
            case Unary(op, of):
                found = self.value(of, at)
                return not found if op == "not" else -found if op == "-" else ~found
            case Binary("and", left, right):
                return self.value(left, at) and self.value(right, at)
            case Binary("or", left, right):
                return self.value(left, at) or self.value(right, at)
            case Binary(op, left, right):
                return self._operation(value, self.value(left, at), self.value(right, at), node)
            case Choose(test, yes, no):
                return self.value(yes if self.value(test, at) else no, at)
        raise TypeError(value)

    def _operation(self, value: Binary, left: Any, right: Any, node: PlanNode) -> Any:
        op = value.op
        if value.fails and op in ("/", "%"):
            return node._divide(left, right) if op == "/" else node._modulo(left, right)
        if value.fails:
            return node._shifted(left, -right if op == ">>" else right)
        return (
            left / right if op == "/" and not isinstance(value.type, Whole) else OPERATIONS[op](left, right)
        )

    def _class_of(self, kind: Type) -> type:
        """The class that a cast asks for."""
        if isinstance(kind, ObjectOf):
            return self.class_of(kind.unit)
        if isinstance(kind, ListOf):
            return list
        return str if kind == TEXT else bytes if kind == OCTETS else int

    def _of_bytes(self, value: Computed, at: _At) -> Any:
        owner = at.node if value.of is None else self.value(value.of, at)
        given: dict[str, Any] = {}
        if value.byte is not None:
            given = {"own": _attribute(value.own), "byte": value.byte}
        if value.unpack:
            given["unpack"] = value.unpack
        if (where := value.where) is not None:
            given["where"] = lambda each: self.value(where, at.of(each))
        first, last = _attribute(value.first), _attribute(value.last)
        return at.node._computed(value.function, owner, first, last, **given)


def _camel(name: str) -> str:
    """The name of a class, as errors have it."""
    return "".join(part[:1].upper() + part[1:] for part in name.rpartition("::")[2].split("_"))


def _source(stream: Stream, reader: Machine) -> ByteSource:
    """The bytes of a stream, as they were read."""
    source = ByteSource(stream.buf, stream.base, stream.end, ReadingState(reader.opt, len(stream.buf)))
    source.at = stream.at
    return source


def _spec(name: str, default: Any, *, compare: bool = True) -> Any:
    """A field of a class, or a parameter, which is not compared."""
    found = field(default=default, compare=compare)
    found.name = _attribute(name)
    return found
