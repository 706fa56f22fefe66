"""Executes the code of units on bytes: the reference for all languages, and what explains and makes vectors.

A unit's statements become functions of a frame when it is first read.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from kodec.generator.code import ir
from kodec.generator.code.functions import VALUES, Block, Run, UnitFunctions
from kodec.generator.code.ir import Each, EachTag, Expression, Op, Part, Statement
from kodec.generator.code.lower_read import reader_of
from kodec.generator.code.objects import Content, Defaults, Enough, Node, Object, Read, Stream
from kodec.generator.code.operations import Frame
from kodec.generator.code.values import Function
from kodec.generator.plan.steps import Bits, InstancePlan, Packed, Program, Unit
from kodec.generator.plan.streams import asks_stream
from kodec.generator.plan.values import values_in
from kodec.runtime.compression import decompress
from kodec.runtime.errors import CrcMismatch, FormatError, LimitExceeded, Malformed, Truncated
from kodec.runtime.fields import ReadOptions, ends_exactly, read_tags, too_many

__all__ = ["Code", "Machine"]

_SPARE = 4096
_READING = object()


class Code:
    """The code of a program's units, each made when it is first read."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._units: dict[str, _UnitReader] = {}

    def of(self, name: str) -> _UnitReader:
        if name not in self._units:
            self._units[name] = _UnitReader(self.program.units[name], self.program.units)
        return self._units[name]


class Machine:
    """`Machine(Code(program), data).read("x", arguments)`.

    What is read of a layout is an `Object`, or what its unit stands for; of a stream a `Node`, whose
    instances `member` reads. Raises FormatError.

    Parts before byte `start` are not recorded; after `room` parts (None: any number), those of contents too,
    `Enough` is raised.

    Attributes:
        reads: what was read, in order, without that of `contents`.
        steps: a measure of what was done, the same on every machine.
    """

    def __init__(
        self,
        code: Code,
        data: bytes,
        opt: ReadOptions = ReadOptions(),
        *,
        start: int = 0,
        room: int | None = None,
    ) -> None:
        self.code = code
        self.stream = Stream(data, 0, len(data), 0)
        self.opt = opt.counted()
        self.reads: list[Read] = []
        self.contents: list[Content] = []
        self.steps = self.depth = 0
        # bytes that a process made; elements without bytes, and how many of them there may be
        self.processed = self.empty = 0
        self.spare = len(data) + _SPARE
        # objects with fields that are derived of what is around them
        self.unchecked: list[Node] = []
        self._sought: list[Stream] = []
        self._start = start
        self._room = None if room is None else [room]

    def read(self, name: str, arguments: Sequence[Any] = ()) -> Any:
        value = self.unit(name, arguments, self.stream)
        while self.unchecked:
            self.check(self.unchecked.pop())
        return value

    def unit(
        self,
        name: str,
        arguments: Sequence[Any],
        io: Stream,
        parent: Node | None = None,
        root: Node | None = None,
        path: tuple[str | int, ...] = (),
    ) -> Any:
        """What a unit reads of a stream."""
        reader = self.code.of(name)
        unit = reader.unit
        values = dict(zip(reader.parameters, arguments, strict=True))
        if unit.streamed is None:
            values = Defaults(self.code.program, unit, values)
        self.depth += 1
        node = Node(unit, io, parent, io.at, self.depth, values, path, root)  # type: ignore[arg-type]
        f = Frame(self, node, io)
        try:
            for each in reader.read:
                each(f)
        finally:
            self.depth -= 1
        node.stop = io.at
        if unit.streamed is not None:
            return node
        if unit.stands_for is not None:
            return values[unit.stands_for]
        result = Object((name, values[name]) for name in reader.fields)
        result.lacking, result.unset = frozenset(node.lacking), frozenset(node.unset)
        return result

    def unpacked(self, f: Frame, packed: Packed, codec: str, data: bytes, at: int) -> Any:
        """What is in bytes that stand from `at` to where the stream is, once they are decompressed."""
        opt, end = self.opt, f.io.at
        if codec != "none":
            opt = opt.inside(packed.name, codec, at)
            try:
                data = decompress(codec, data, limit=opt.most_decompressed())
            except FormatError as error:
                raise error.within(packed.name, shift=at) from None
            opt.take_decompressed(len(data))
        # of content that ends before the start nothing is recorded
        start = self._start - at if codec == "none" else 0 if end > self._start else len(data) + 1
        inner = Machine(self.code, data, opt, start=start)
        inner._room = self._room
        if start <= len(data):
            self.contents.append(Content((*f.node.path, packed.name), at, end, codec, inner))
        try:
            value = inner.read(packed.unit)
            ends_exactly("", inner.stream.at, len(data))
        except FormatError as error:
            error.within(packed.name)
            raise (error.within_codec(codec, at) if codec != "none" else error.within("", shift=at)) from None
        return value

    def record(self, f: Frame, part: Part, first: int, after: int, value: Any) -> None:
        """Record what was read from one bit to before another. Raises Enough."""
        buf, stream, node = f.source.buf, self.stream, f.node
        # what a process made is where its bytes end
        low, high = (first, after) if buf is stream.buf else (0, 8 * stream.at)
        if high <= 8 * self._start and low < 8 * self._start:
            return
        if self._room is not None:
            if not self._room[0]:
                raise Enough
            self._room[0] -= 1
        path = (*node.path, *part.path, f.index) if part.indexed else (*node.path, *part.path)
        unit = part.unit or node.unit.name
        self.reads.append(Read(path, part.what, buf, (first, after), value, unit, node.depth))

    # -- instances --------------------------------------------------------------------------------

    def member(self, node: Node, name: str) -> Any:
        """A field, a parameter or an instance; None if it was not read."""
        instance = self.code.of(node.unit.name).instances.get(name)
        if instance is None:
            return node.values.get(name)
        return self._computed(node, instance) if instance.step is None else self._sought_of(node, instance)

    def _computed(self, node: Node, instance: InstancePlan) -> Any:
        if instance.name in node.marks:
            return node.marks[instance.name]
        reader, f = self.code.of(node.unit.name), Frame(self, node, node.stream)
        assert instance.value is not None
        self.steps += reader.steps[instance.name]
        if instance.test is not None and not reader.of(instance.test)(f):
            return None
        value = reader.of(instance.value)(f)
        if instance.name in reader.timed:
            node.marks.setdefault(instance.name, value)
        return value

    def _sought_of(self, node: Node, instance: InstancePlan) -> Any:
        name = instance.name
        if name in node.instances:
            if node.instances[name] is _READING:
                raise Malformed(name, "the instance needs itself", at=node.start)
            return node.instances[name]
        around, sought = self.depth, len(self._sought)
        deep = max(around, node.depth)
        if deep >= self.opt.depth:
            most = self.opt.depth
            raise LimitExceeded(
                name, "nested too deep", at=node.start, need=deep + 1, have=most, limit="depth"
            )
        node.instances[name] = _READING
        self.depth = deep + 1
        try:
            value = self._read_instance(node, instance)
        finally:
            self.depth = around
            while len(self._sought) > sought:
                before = self._sought.pop()
                before.stand[0] = before
            del node.instances[name]
        if value is not None:
            node.instances[name] = value
        return value

    def _read_instance(self, node: Node, instance: InstancePlan) -> Any:
        reader, target = self.code.of(node.unit.name), dict[str, Any]()
        f = Frame(self, node, node.stream, target)
        self.steps += reader.steps[instance.name]
        if instance.test is not None and not reader.of(instance.test)(f):
            return None
        stream: Stream = node.stream if instance.stream is None else reader.of(instance.stream)(f)
        io = stream.current
        if instance.position is not None:
            around, io = io, stream.seek(reader.of(instance.position)(f), instance.name)
            self._sought.append(around)
        f.io = f.source = io
        start = io.at
        for each in reader.reads[instance.name]:
            each(f)
        node.spans[instance.name] = io, start, io.at
        return next(iter(target.values()), None)

    def check(self, node: Node) -> None:
        """Compare what follows from bytes with what was read."""
        assert node.unit.streamed is not None
        reader, f = self.code.of(node.unit.name), Frame(self, node, node.stream)
        for each in node.unit.streamed.calculated:
            if each.verify == "no" or not (self.opt.check_crc if each.checksum else self.opt.verify):
                continue
            if each.when is not None and not reader.of(each.when)(f):
                continue
            have = node.values.get(each.name)
            if each.into and have is not None:
                have = self.member(have, each.into)
            if have is None:
                continue
            need = reader.of(each.value)(f)
            if have == need or (each.verify == "at_least" and have >= need):
                continue
            if each.checksum and isinstance(need, int):
                raise CrcMismatch(each.name, at=node.start, need=have, have=need)
            reason = "not what it is derived from"
            raise Malformed(each.name, reason, at=node.start, need=need, have=have)


class _UnitReader(UnitFunctions):
    """The code of a unit as functions of a frame.

    Attributes:
        instances: those of the unit; `reads` are the functions of those that are read, `timed` those that
            depend on when they are asked for, `steps` what their values count as.
    """

    frame = Frame

    def __init__(self, unit: Unit, units: dict[str, Unit]) -> None:
        super().__init__(unit)
        code = reader_of(unit, units)
        self.parameters = [each.name for each in unit.parameters]
        self.fields = [each.name for each in unit.fields if each.kept]
        self.read = self.block(code.read)
        self.reads = {name: self.block(each) for name, each in code.instances.items()}
        plans = self.instances.values()
        self.timed = {each.name for each in plans if asks_stream(each.value) or asks_stream(each.test)}
        self.steps = {
            each.name: _steps_of((each.test, each.value, each.position, each.stream)) for each in plans
        }

    def block(self, code: Sequence[Statement]) -> Block:
        steps = sum(map(_steps_of, code))
        return partial(_count, steps), *super().block(code)

    def each(self, each: Each) -> Run:
        return partial(
            _each, each, self.block(each.body), self.argument(each.count), self.argument(each.until)
        )

    def each_tag(self, each: EachTag) -> Run:
        return partial(_each_tag, each.section, [(tag, self.block(body)) for tag, body in each.tags])

    def expression(self, value: Expression, part: Part | None) -> Function:
        """The function of an expression that records what it has read."""
        value_of: Function = self.argument(value)
        if part is None:
            return value_of
        if part.run is not None:
            return partial(_recorded_of_run, value_of, part, self.of(part.run))
        return partial(_recorded, value_of, part)


def _recorded_of_run(value_of: Function, part: Part, run: Function, f: Frame) -> Any:
    value, start = value_of(f), 8 * run(f)
    f.machine.record(f, part, start + part.bits[0], start + part.bits[1], value)
    return value


def _recorded(value_of: Function, part: Part, f: Frame) -> Any:
    source = f.source
    first = 8 * source.at - max(source.left, 0)
    value = value_of(f)
    if not isinstance(part.what, Bits):
        first = (first + 7) // 8 * 8
    f.machine.record(f, part, first, 8 * source.at - max(source.left, 0), value)
    return value


def _count(steps: int, f: Frame) -> None:
    f.machine.steps += steps


def _each(each: Each, body: Block, count_of: Function | None, until: Function | None, f: Frame) -> None:
    items: list[Any] = []
    f.target[each.field] = items
    machine, source, name = f.machine, f.source, each.name
    count, before, to_end = None, None, count_of is None and until is None
    if count_of is not None:
        count = count_of(f)
        _bound(each, count, source, machine)
    watched = each.shared and not to_end and (count is None or not each.least)
    around = f.item, f.index
    while count is None or len(items) < count:
        here = source.at, source.left
        if to_end and source.ended:
            break
        if to_end and before == here:
            raise Malformed(name, "an element without bytes would repeat forever", at=source.at)
        if count is None and len(items) >= machine.opt.elements:
            raise too_many(name, source.at, machine.opt)
        before, f.index = here, len(items)
        try:
            for part in body:
                part(f)
        except FormatError as error:
            raise (error.within(name, f.index) if each.indexed else error) from None
        items.append(f.item)
        if until is not None and until(f):
            break
        if watched and (source.at, source.left) == here:
            machine.empty += 1
            if machine.empty > machine.spare:
                reason, most = "more elements without bytes than there are bytes", machine.spare
                need = machine.empty
                raise LimitExceeded(name, reason, at=here[0], need=need, have=most, limit="bytes present")
    f.item, f.index = around


def _bound(each: Each, count: int, source: Stream, machine: Machine) -> None:
    """Raise unless the bytes that are left can hold this number of elements."""
    name, at, least, left = each.name, source.at, each.least, max(0, source.end - source.at)
    if count < 0:
        raise Malformed(name, "negative count", at=at, need="at least 0", have=count)
    if count * least > left:
        raise Truncated(name, at=at, need=count * least, have=left)
    if each.shared and not least:
        left = 8 * machine.spare
    if count > left:
        reason = "more elements than bytes"
        raise LimitExceeded(name, reason, at=at, need=count, have=left, limit="bytes present")
    if count > machine.opt.elements:
        raise too_many(name, at, machine.opt)


def _each_tag(section: Any, tags: list[tuple[Any, Block]], f: Frame) -> None:
    version: Any = f.values.get(f.node.unit.version_name)
    known = {tag.number: body for tag, body in tags if tag.versions is None or version in tag.versions}
    f.node.lacking |= {tag.name for tag, _ in tags if tag.number not in known}
    others: list[tuple[int, bytes]] = []
    f.target[section.name] = others
    around = f.source
    sections, after = read_tags(around.buf, around.at, around.end, section.name)
    for number, start, stop in sections:
        if number in known:
            f.source = Stream(around.buf, start, stop, start)
            for each in known[number]:
                each(f)
        else:
            others.append((number, around.buf[start:stop]))
    before, around.at, f.source = around.at, after, around
    f.machine.record(f, Part((section.name,), section), 8 * before, 8 * after, None)


def _steps_of(part: object) -> int:
    """How many operations and values are computed where a statement is executed, without those inside it."""
    match part:
        case ir.Let(_, value) | ir.Set(_, value) | ir.Do(value):
            return _steps_of(value)
        case ir.If(cases):
            return _steps_of(cases[0][0]) if cases else 0
        case Op(_, args):
            return 1 + _steps_of(args)
        case tuple():
            return sum(map(_steps_of, part))
        case _ if type(part) in VALUES:
            return len([*values_in(part)])  # type: ignore[arg-type]
    return 0
