"""Executes the code of units on objects of streams: the bytes of what the machine reads.

Objects are those of `kodec.runtime.streams`, of a class for each unit.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial, partialmethod
from operator import attrgetter
from typing import Any, ClassVar

from kodec.generator.code import ir
from kodec.generator.code.functions import Block, Run, Way, WriterFunctions, solve
from kodec.generator.code.ir import sized
from kodec.generator.code.lower_stream_write import class_name, instance_writer_of, stream_writer_of
from kodec.generator.code.machine import Code, Machine
from kodec.generator.code.objects import Node, Stream
from kodec.generator.code.values import EDGES, Function
from kodec.generator.plan import values as plan
from kodec.generator.plan.follows import blank_of, is_local
from kodec.generator.plan.steps import Bounds, InstancePlan, Nested, One, Program, Solution, Unit
from kodec.generator.plan.stream_values import is_real
from kodec.generator.plan.streams import asks_stream
from kodec.generator.plan.values import OCTETS, TEXT, ListOf, Maybe, ObjectOf, Type
from kodec.generator.wire import ENCODINGS
from kodec.runtime.dataclass import field
from kodec.runtime.errors import FormatError
from kodec.runtime.fields import DEFAULT_READ, DEFAULT_WRITE, ReadOptions
from kodec.runtime.streams import ByteSource, ReadingState, StreamNode

__all__ = ["PlanNode", "StreamWriter"]

_METHODS = frozenset(("each_of", "from_bytes", "read_from", "to_bytes"))


def _attribute(name: str) -> str:
    """The attribute of a field: not a method."""
    return f"{name}_" if name in _METHODS else name


class PlanNode(StreamNode):
    """An object of a unit."""

    _unit: ClassVar[Unit]
    _plan: ClassVar[StreamWriter]
    _code: ClassVar[_UnitWriter]
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
        f = Frame(self, io)
        for each in self._code.write:
            each(f)

    def _stored(self, name: str) -> bytes | None:
        if self._places is not None and name in self._places:
            return super()._stored(name)
        if self._origin is None:
            return None
        reader, node = self._origin
        found = (each for each in reader.reads if each.path == (*node.path, name))
        return next((each.buf[each.bits[0] // 8 : each.bits[1] // 8] for each in found), None)

    def _calculate(self) -> Iterator[tuple[str, Callable[[], Any], bool, str]]:
        assert self._unit.streamed is not None
        of, f = self._code.of, Frame(self, None, reading=True)
        for each in self._unit.streamed.calculated:
            if each.when is None or of(each.when)(f):
                name = _attribute(each.name) + (f".{_attribute(each.into)}" if each.into else "")
                yield name, partial(of(each.value), f), each.checksum, each.verify


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
        code = _UnitWriter(unit)
        sought = [each for each in unit.streamed.instances if each.position is not None]
        members: dict[str, Any] = {
            "_unit": unit,
            "_plan": self,
            "_code": code,
            "_part": unit.streamed.part,
            "_parameters": tuple(each.name for each in unit.parameters),
            "_tail_moves": unit.streamed.tail_moves,
            "_calculated": is_local(unit) if unit.streamed.calculated else None,
            "_instances": tuple(_attribute(each.name) for each in sought),
            "_follows": {_attribute(name): self.blank(unit, name) for name in unit.follows},
            "_positions": {each.name: self._position_of(code, each) for each in sought if each.solved},
            "_solvers": {
                _attribute(each.name): code.solver(each.solved)
                for each in unit.streamed.instances
                if each.value is not None and each.solved
            },
            "_kodec_fields": (
                *(_spec(each.name, each.default and each.default.value) for each in unit.fields),
                *(_spec(each.name, None, compare=False) for each in unit.parameters),
            ),
        }
        for each in unit.streamed.instances:
            members[_attribute(each.name)] = self._property(code, each)
            if each.position is not None:
                members[f"_write_{each.name}"] = partialmethod(_write_instance, each)
        return type(class_name(unit.name), (PlanNode,), members)

    def blank(self, unit: Unit, name: str, *, present: bool = False) -> object:
        """What is in a field that is not computed yet; None for one that may be absent."""
        spec = unit.field(name)
        if isinstance(spec.type, Maybe) and not present:
            return None
        found = blank_of(unit, spec)
        if not isinstance(found, plan.Grouped):
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
        result = self.class_of(node.unit.name)()
        self._made[id(node)] = node, result
        result._origin = reader, node
        result._io = self._source(node.stream, reader)
        result._start, result._stop, result._depth, result._is_le = (
            node.start,
            node.stop,
            node.depth,
            node.little,
        )
        result._parent = None if node.parent is None else self.object_of(node.parent, reader)
        result._root = self.object_of(node.root, reader)
        for name, value in node.values.items():
            setattr(result, _attribute(name), self._value_of(value, reader))
        assert node.unit.streamed is not None
        placed = {each.name for each in node.unit.streamed.instances if each.position is not None}
        for name, (stream, start, stop) in node.spans.items():
            source = self._source(stream, reader)
            if name not in placed:
                result._span(_attribute(name), source, start - source.base, stop - source.base)
        for name, value in node.instances.items():
            self._keep(result, node, name, value, reader)
        return result

    def _keep(self, result: PlanNode, node: Node, name: str, value: Any, reader: Machine) -> Any:
        """Have an object keep what an instance was read as."""
        found = self._value_of(value, reader)
        result._values = result._values or {}
        if found is not None:
            result._values[name] = found
        plan = next(each for each in node.unit.streamed.instances if each.name == name)  # type: ignore[union-attr]
        if plan.position is not None and name in node.spans:
            stream, start, stop = node.spans[name]
            source = _source(stream, reader)
            source.at = stop
            result._places = result._places or {}
            result._places[name] = start - stream.base, source
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

    def _property(self, code: _UnitWriter, instance: InstancePlan) -> property:
        name = instance.name
        if instance.value is not None:
            return property(partial(_computed, code, instance))
        get = property(lambda node: node._instance(name, lambda: self._read(node, instance)))
        if instance.position is None:
            return get
        return get.setter(lambda node, value: node._give(name, value, _attribute(name)))

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

    def _position_of(self, code: _UnitWriter, instance: InstancePlan) -> tuple[Any, Any, Any, Any]:
        assert instance.position is not None
        position = code.of(instance.position)
        stream = None if instance.stream is None else code.of(instance.stream)
        held = instance.step.element if isinstance(instance.step, One) else None
        return (
            lambda node: position(Frame(node, None, reading=True)),
            lambda node: (
                node._io if stream is None else stream(Frame(node, None, reading=True, stream="_io"))
            ),
            code.solver(instance.solved),
            (lambda: self.class_of(held.unit)) if isinstance(held, Nested) else None,
        )


def _computed(code: _UnitWriter, instance: InstancePlan, node: PlanNode) -> Any:
    assert instance.value is not None
    f, value, test = Frame(node, None, reading=True), instance.value, instance.test
    value_of, holds = code.of(value), (lambda f: True) if test is None else code.of(test)
    if not asks_stream(value) and not asks_stream(test):
        return value_of(f) if holds(f) else None
    if test is None:
        return node._mark(instance.name, lambda: value_of(f))
    return node._mark_if(instance.name, lambda: holds(f), lambda: value_of(f))


def _write_instance(node: PlanNode, instance: InstancePlan) -> None:
    assert instance.position is not None
    code, f = node._code, Frame(node, node._out)
    sink = node._sink(node._out if instance.stream is None else code.of(instance.stream)(f))
    if instance.stream is None and asks_stream(instance.position, node._unit):
        pos = node._place(instance.name)
    else:
        pos = code.of(instance.position)(f)
    f.io = sink.seek(pos, instance.name)
    write, position = code.placed[instance.name]
    for each in write:
        each(f)
    f.io.put_at(instance.name, node, **f.follows(position), align=instance.align, fill=instance.fill)


Sized = tuple[Function | None, tuple[Way, ...], str]
"""A size, and what it follows from."""


class Frame:
    """Where code stands: with which object, on which stream, for which element of a list.

    Attributes:
        reading: whether fields may be missing.
        stream: the attribute with the stream of another object.
    """

    __slots__ = ("index", "io", "item", "local", "node", "reading", "stream")

    def __init__(self, node: Any, io: Any, *, reading: bool = False, stream: str = "_stream") -> None:
        self.node = node
        self.io = io
        self.item: Any = None
        self.index = 0
        self.reading = reading
        self.stream = stream
        self.local: dict[str, Any] = {}

    # -- steps ------------------------------------------------------------------------------------

    def op_align(self) -> None:
        self.io.align()

    def op_order(self, little: bool | None) -> None:
        self.node._is_le = little

    def op_span(self, name: str, end: bool, plus: int) -> None:
        del plus
        (self.node._end if end else self.node._begin)(_attribute(name), self.io)

    def op_instance(self, instance: InstancePlan, position: Sized) -> None:
        if self.node._writes(instance.name, self.io, solve(self, position[1])):
            write = getattr(self.node, f"_write_{instance.name}")
            if instance.stream is None:
                write()
            else:
                self.io.state.later.append(write)

    def op_is_written(self, name: str, test: Function) -> bool:
        node = self.node
        blank = node._plan.blank(node._unit, name, present=True)
        return bool(self.io.follows(node, _attribute(name), bool(test(self)), blank))

    def op_wanted(
        self,
        value: Function,
        name: str,
        test: Function,
        solved: tuple[Way, ...],
        sizes: tuple[Way, ...],
        lacking: bool,
    ) -> bool:
        ways = solve(self, solved), solve(self, sizes)
        return bool(self.io.wanted(value(self), name, lambda: bool(test(self)), *ways, lacking))

    def op_counted(self, value: Function, size: Sized, name: str) -> None:
        self.io.counted(value(self), self.size(size), name, **self.follows(size))

    def op_not_empty(self, value: Function, name: str) -> None:
        if not (items := value(self)):
            self.io.refuse(name, "at least one element is needed", None, items)

    def op_last(self, value: Function, until: Function, name: str) -> None:
        if bool(until(self)) != (self.index + 1 == len(value(self))):
            reason = "the condition that ends it must hold at its last element, and only there"
            self.io.refuse(name, reason, None, self.item)

    def op_ends(self, name: str) -> None:
        self.io.ends(name)

    def op_refuse_value(self, name: str, reason: str, need: Any, value: Function) -> None:
        if isinstance(need, tuple):
            need = tuple(each(self) for each in need)
        self.io.refuse(name, reason, need(self) if callable(need) else need, value(self))

    # -- values -----------------------------------------------------------------------------------

    def op_put(self, wire: str, order: str, value: Function, name: str) -> None:
        if order == "by":
            order = "le" if self.node._endian() else "be"
        getattr(self.io, wire + order)(value(self), name)

    def op_put_next_bits(self, width: int, order: str, value: Function, name: str) -> None:
        getattr(self.io, f"bits_{order}")(value(self), width, name)

    def op_encoded(self, value: Function, encoding: str, name: str) -> Any:
        form = ENCODINGS[encoding]
        return self.io.text(value(self), form.python, form.errors, name)

    def op_put_fixed(self, value: Function, contents: bytes, name: str) -> None:
        data = value(self)
        if data != contents:
            self.io.refuse(name, "wrong fixed bytes", contents, data)
        self.io.raw(data, None, name)

    def op_processed(self, data: Function, process: str, arguments: Iterable[Function], name: str) -> Any:
        return self.io.processed(process, data(self), name, *(each(self) for each in arguments))

    def op_put_ended(self, data: Function, bounds: Bounds, name: str) -> None:
        ends = {"include": bounds.include, "consume": bounds.consume, "need": bounds.needed}
        self.io.ended(data(self), bounds.terminator, name, **ends)

    def op_put_bytes(self, data: Function, size: Sized, name: str) -> None:
        self.io.raw(data(self), self.size(size), name, **self.follows(size))

    def op_put_filled(self, data: Function, bounds: Bounds, size: Sized, own: bool, name: str) -> None:
        follows = self.follows(size) | ({"node": self.node} if own else {})
        fill = self.size(size), bounds.pad, bounds.terminator, bounds.include
        self.io.raw(self.io.filled(data(self), *fill, name, **follows), None, name)

    # -- objects ----------------------------------------------------------------------------------

    def op_part(self, value: Function, size: Function | None, name: str) -> Any:
        return self.io.part(None if size is None else size(self), value(self), name)

    def op_put_part(self, part: Function, value: Function, size: Sized, name: str) -> None:
        self.io.put(part(self), self.size(size), value(self), name, **self.follows(size))

    def op_whole(self, part: Function, value: Function, name: str) -> Any:
        return self.io.whole(part(self), None, value(self), name)

    def op_write_object(
        self,
        part: Function | None,
        unit: str,
        value: Function,
        arguments: Iterable[Function | None],
        solved: Iterable[tuple[Way, ...]],
        parent: Function | None,
        rooted: bool,
        name: str,
        indexed: bool,
    ) -> None:
        kind = self.node._plan.class_of(unit)
        values = zip(kind._parameters, arguments, strict=True)
        ways = zip(kind._parameters, solved, strict=False)
        (self.io if part is None else part(self)).write(
            value(self),
            kind,
            None if parent is None else parent(self),
            name,
            self.index if indexed else None,
            self.node._root if rooted else None,
            {_attribute(each): argument(self) for each, argument in values if argument is not None} or None,
            {_attribute(each): solve(self, found) for each, found in ways if found} or None,
        )

    def op_late_argument(self, value: Function, unit: str, index: int, argument: Function, name: str) -> None:
        parameter = self.node._plan.class_of(unit)._parameters[index]
        self.io.told(value(self), _attribute(parameter), argument(self), name)

    def op_choose(
        self,
        name: str,
        value: Function,
        on: Function,
        cases: Iterable[tuple[str, Function]],
        solved: tuple[Way, ...],
    ) -> None:
        only = {self.node._plan.class_of(unit): case(self) for unit, case in cases}
        self.io.state.choose(name, value(self), on(self), only, solve(self, solved))

    # -- what follows from what is written --------------------------------------------------------

    def size(self, size: Sized) -> Any:
        return None if size[0] is None else size[0](self)

    def follows(self, size: Sized) -> dict[str, Any]:
        """The fields that a size is computed from, or those to set so that it fits."""
        _, ways, names = size
        return {"solve": solve(self, ways)} if ways else {"of": names} if names else {}


class _UnitWriter(WriterFunctions):
    """The code that writes a unit, and its values, as functions of a frame."""

    frame = Frame

    @cached_property
    def write(self) -> Block:
        return self.block(stream_writer_of(self.unit))

    @cached_property
    def placed(self) -> dict[str, tuple[Block, Sized]]:
        """How instances at positions are written, and what these follow from."""
        return {
            each.name: (
                self.block(instance_writer_of(self.unit, each.step)),
                self.argument(sized(each.position, each.solved)),
            )
            for each in self.instances.values()
            if each.step is not None and each.position is not None
        }

    def each(self, each: ir.Each) -> Run:
        return partial(_each, each, self.block(each.body))

    # -- what a value follows from ----------------------------------------------------------------

    def attribute(self, name: str) -> str:
        return _attribute(name)

    def solver(self, solutions: Sequence[Solution]) -> Callable[[Any, Any], Any]:
        """What an instance follows from, as a function of its object."""
        ways: tuple[Way, ...] = self.argument(tuple(solutions))
        return lambda node, wanted: tuple(each(Frame(node, None), wanted) for each in ways)

    # -- values -----------------------------------------------------------------------------------

    def _function(self, value: Any) -> Function:
        """Operations that can fail are those of the object."""
        inner = getattr(value, "of", None)
        of: Function = _node if inner is None else self.of(inner)
        match value:
            case plan.FieldOf(name) | plan.MemberOf(_, name):
                get: Function = attrgetter(_attribute(name))
                return lambda f: get(of(f))
            case plan.Around(_, name):
                around: Function = attrgetter(f"_{name}")
                return lambda f: around(of(f))
            case plan.StreamOf(None, at_hand):
                return lambda f: f.io if at_hand else f.node._stream
            case plan.StreamOf():
                return lambda f: getattr(of(f), f.stream)
            case plan.StreamAsked(_, name):
                return lambda f: getattr(of(f), name)
            case plan.Required(_, name, reading, argument):
                check = attrgetter("_argument" if argument else "_given")
                return lambda f: of(f) if reading and not f.reading else check(f.node)(of(f), name)
            case plan.Number(_, _, base) if value.of.type == TEXT:
                base_of = (lambda f: 10) if base is None else self.of(base)
                return lambda f: f.node._number(of(f), base_of(f))
            case plan.Number():
                real = is_real(value.of.type)
                return lambda f: f.node._whole(of(f)) if real else int(of(f))
            case plan.Decoded(_, encoding):
                form = ENCODINGS[encoding]
                return lambda f: f.node._text(of(f), form.python, form.errors)
            case plan.Digits(_, base, like):
                like_of = self.of(like)
                return lambda f: f.node._digits(of(f), base, like_of(f))
            case plan.Grouped(_, _, _, _, bits, held, member):
                names = _attribute(held), _attribute(member)
                return lambda f: f.node._grouped(of(f), bits, *names)
            case plan.ElementOf(_, at):
                index = self.of(at)
                return lambda f: f.node._item(of(f), index(f))
            case plan.EdgeOf(_, name):
                return lambda f: f.node._edge(EDGES[name], of(f))
            case plan.Cast(_, _, kind) if kind == OCTETS and isinstance(value.of.type, ListOf):
                return lambda f: f.node._bytes(of(f))
            case plan.Cast(_, name, kind):
                return lambda f: f.node._as(of(f), _class_of(f.node._plan, kind), name)
        return super()._function(value)

    def _binary(self, value: plan.Binary) -> Function:
        if not value.fails or value.op in ("and", "or"):
            return super()._binary(value)
        left, right, op = self.of(value.left), self.of(value.right), value.op
        if op in ("/", "%"):
            return lambda f: (f.node._divide if op == "/" else f.node._modulo)(left(f), right(f))
        return lambda f: f.node._shifted(left(f), -right(f) if op == ">>" else right(f))

    def _computed(self, value: plan.Computed, of: Function) -> Function:
        where = None if value.where is None else self.of(value.where)
        first, last = _attribute(value.first), _attribute(value.last)
        more: dict[str, Any] = {}
        if value.byte is not None:
            more = {"own": _attribute(value.own), "byte": value.byte}
        if value.unpack:
            more["unpack"] = value.unpack

        def function(f: Frame) -> Any:
            also = more if where is None else more | {"where": partial(_of_item, where, f)}
            return f.node._computed(value.function, of(f), first, last, **also)

        return function


def _each(each: ir.Each, body: Block, f: Frame) -> None:
    around = f.item, f.index
    for index, item in enumerate(f.io.items(getattr(f.node, _attribute(each.field)), each.name)):
        f.index, f.item = index, item
        for part in body:
            part(f)
    f.item, f.index = around


def _node(f: Frame) -> Any:
    return f.node


def _of_item(function: Function, f: Frame, item: Any) -> Any:
    f = copy.copy(f)
    f.item = item
    return function(f)


def _class_of(writer: StreamWriter, kind: Type) -> type:
    """The class that a cast asks for."""
    if isinstance(kind, ObjectOf):
        return writer.class_of(kind.unit)
    if isinstance(kind, ListOf):
        return list
    return str if kind == TEXT else bytes if kind == OCTETS else int


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
