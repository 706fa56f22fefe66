"""Reads bytes by the plan of streamed units, step by step: what printed readers are compared with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from struct import Struct
from typing import Any, NoReturn

from kodec.generator.interpreter.reader import OPERATIONS, Enough
from kodec.generator.plan.follows import is_local
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
    Slot,
    Step,
    Unit,
    When,
)
from kodec.generator.plan.streams import asks_stream
from kodec.generator.plan.values import (
    FLAG,
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
    EdgeOf,
    ElementOf,
    Enumerated,
    FieldOf,
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
)
from kodec.generator.wire import ENCODINGS, WIRE
from kodec.runtime.checksums import CHECKSUMS, unpacked
from kodec.runtime.errors import CrcMismatch, FormatError, LimitExceeded, Malformed, Truncated, Unsupported
from kodec.runtime.fields import ReadOptions, too_many
from kodec.runtime.process import decode, keeps_size
from kodec.runtime.streams import trimmed

_SPARE, _MOST_SHIFT = 4096, 128
_FORGOTTEN = -1


@dataclass(eq=False)
class Stream:
    """Bytes that are read: `buf[base:end]`. The sources of one stream know which is read at the moment."""

    buf: bytes
    base: int
    end: int
    at: int
    bits: int = 0
    left: int = 0
    stand: list[Stream] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.stand:
            self.stand.append(self)

    @property
    def current(self) -> Stream:
        return self.stand[0]

    def take(self, size: int, name: str) -> bytes:
        if size < 0:
            raise Malformed(name, "negative size", at=self.at, need="at least 0", have=size)
        if size and size > self.end - self.at:
            raise Truncated(name, at=self.at, need=size, have=max(0, self.end - self.at))
        start, self.at = self.at, self.at + size
        return self.buf[start : self.at]

    def rest(self) -> bytes:
        start, self.at = self.at, max(self.at, self.end)
        return self.buf[start : self.end]

    def until(self, bounds: Bounds, name: str) -> bytes:
        end = bounds.terminator or b""
        unit = len(end)
        for stop in range(self.at, self.end - unit + 1, unit):
            if self.buf[stop : stop + unit] == end:
                found = self.buf[self.at : stop + unit * bounds.include]
                self.at = stop + unit * bounds.consume
                return found
        if bounds.needed:
            raise Truncated(name, "no terminator", at=self.at, need=unit, have=0)
        return self.rest()

    def number_of_bits(self, width: int, order: str, name: str) -> int:
        size = (width - self.left + 7) // 8
        if size > 0:
            if self.left == _FORGOTTEN:
                raise Unsupported(
                    name, "bits of the byte before were left when an instance was read", at=self.at
                )
            data = self.take(size, name)
            if order == "be":
                self.bits = self.bits << 8 * size | int.from_bytes(data, "big")
            else:
                self.bits |= int.from_bytes(data, "little") << self.left
            self.left += 8 * size
        self.left -= width
        if order == "be":
            found, self.bits = self.bits >> self.left, self.bits & (1 << self.left) - 1
        else:
            found, self.bits = self.bits & (1 << width) - 1, self.bits >> width
        return found

    def align(self) -> None:
        self.bits = self.left = 0


@dataclass(eq=False, repr=False)
class Node:
    """An object: fields that were not read yet are missing."""

    unit: Unit
    stream: Stream
    parent: Node | None
    start: int
    depth: int
    values: dict[str, Any]
    root: Node = field(init=False)
    little: bool | None = None
    found: dict[str, Any] = field(default_factory=dict)
    marks: dict[str, Any] = field(default_factory=dict)
    spans: dict[str, tuple[Stream, int, int]] = field(default_factory=dict)
    stop: int = 0
    path: tuple[str | int, ...] = ()

    def __repr__(self) -> str:
        """As errors show it: `part(size=1)`."""
        shown = ", ".join(f"{name}={value!r}" for name, value in self.values.items())
        return f"{self.unit.name.rpartition('::')[2]}({shown})"


@dataclass
class _At:
    """Where a step is taken: in which object, on which stream, for which element of a list."""

    node: Node
    io: Stream
    item: Any = None
    index: int = 0
    # the list of an instance, which is not a field
    target: dict[str, Any] | None = None
    part: Stream | None = None

    @property
    def values(self) -> dict[str, Any]:
        return self.node.values if self.target is None else self.target


@dataclass(frozen=True, slots=True)
class Read:
    """A value that was read from `bits` of `buf`, the first one and the one after the last.

    `what` is the element or slot; `path` the fields and indexes that lead to it, an instance's too; `unit`
    the name of the unit that has the field.
    """

    path: tuple[str | int, ...]
    what: Element | Slot
    buf: bytes
    bits: tuple[int, int]
    value: Any
    unit: str = ""


_READING = object()


class StreamReader:
    """`StreamReader(program, data).read("x")`, with arguments.

    Values before byte `start` are not recorded, nor those decoded of bytes before it; after `room` values
    (None: any number), `Enough` is raised.

    Attributes:
        reads: the values that were read.
        steps: how many values were read or computed.
    """

    def __init__(
        self,
        program: Program,
        data: bytes,
        opt: ReadOptions = ReadOptions(),
        *,
        start: int = 0,
        room: int | None = None,
    ) -> None:
        self.units = program.units
        self.stream = Stream(data, 0, len(data), 0)
        self.opt = opt
        self._inflated = 0
        self.depth = self.empty = 0
        self.room = len(data) + _SPARE
        self.sought: list[Stream] = []
        self.reads: list[Read] = []
        self.start = start
        self._most = room
        self.steps = 0
        self._within: list[str | int] = []
        # instances whose value depends on when they are asked for
        self._timed: dict[tuple[str, str], bool] = {}
        # objects with fields that are derived of what is around them
        self._unchecked: list[Node] = []

    def read(self, name: str, arguments: tuple[Any, ...] = ()) -> Node:
        found = self._object(name, arguments, self.stream, None, None, "", None)
        for node in reversed(self._unchecked):
            self._check(node)
        return found

    def _object(
        self,
        name: str,
        arguments: tuple[Any, ...],
        io: Stream,
        parent: Node | None,
        root: Node | None,
        shown: str,
        index: int | None,
    ) -> Node:
        unit = self.units[name]
        if self.depth >= self.opt.depth:
            error = LimitExceeded(
                shown if index is None else "",
                "nested too deep",
                at=io.at,
                need=self.depth + 1,
                have=self.opt.depth,
                limit="depth",
            )
            raise error if index is None else error.within(shown, index)
        self.depth += 1
        given = dict(zip((each.name for each in unit.parameters), arguments, strict=True))
        node = Node(unit, io, parent, io.at, self.depth, given)
        node.root = root or (node if parent is None else parent.root)
        node.little = None if parent is None else parent.little
        node.path = (*self._within, *([shown] if shown else []), *([] if index is None else [index]))
        around, self._within = self._within, list(node.path)
        try:
            self._steps(unit.steps, _At(node, io))
            node.stop = io.at
            if unit.streamed is not None and unit.streamed.calculated:
                if is_local(unit):
                    self._check(node)
                else:
                    self._unchecked.append(node)
        except FormatError as error:
            raise error.within(shown, index) from None
        finally:
            self.depth -= 1
            self._within = around
        return node

    # -- steps ------------------------------------------------------------------------------------

    def _steps(self, steps: tuple[Step, ...], at: _At) -> None:
        for step in steps:
            match step:
                case Align():
                    at.io.align()
                case ByteOrder(on, cases, other):
                    value = self.value(on, at)
                    matches = (little for case, little in cases if self.value(case, at) == value)
                    at.node.little = next(matches, other)
                case When(test, inner):
                    if self.value(test, at):
                        self._steps(inner, at)
                case Fixed():
                    self._load(step, at)
                case One(name, _, element, rules):
                    before = at.io.at
                    found = _typed(self._element(element, at, name, None), step.type)
                    if found is not None or at.target is not None:
                        at.values[name] = found
                    self._rules(rules, found, at, name, _width(element, at.io.at - before))
                case Many():
                    self._list(step, at)
                case Mark(name, end=False):
                    at.node.spans[name] = at.io, at.io.at, at.io.at
                case Mark(name):
                    at.node.spans[name] = at.io, at.node.spans[name][1], at.io.at
                case _:
                    raise TypeError(step)

    def _whole(self, at: _At) -> None:
        streamed = at.node.unit.streamed
        if streamed is not None and streamed.loose:
            at.io.align()

    def _load(self, step: Fixed, at: _At) -> None:
        self._whole(at)
        io = at.io
        if io.at + step.size > io.end:
            for group in step.groups:
                end = 0
                for slot in group:
                    start, end = end, end + (slot.bits[1] if slot.bits is not None else 8 * slot.size)
                    io.take((end + 7) // 8 - (start + 7) // 8, slot.path[0])
        start = io.at
        io.at += step.size
        found = [self._slot(slot, at, start) for slot in step.slots]
        for group in step.groups:
            place = 8 * start
            for slot in group:
                first = place if slot.bits is not None else 8 * (start + slot.offset)
                place = first + (8 * slot.size if slot.bits is None else slot.bits[1])
                value = found[step.slots.index(slot)]
                self._seen(at.node.unit.name, slot.path[0], None, slot, io.buf, (first, place), value)
        # a rule may ask for what stands behind its field
        for slot, value in zip(step.slots, found, strict=True):
            at.values[slot.path[0]] = value
        for slot, value in zip(step.slots, found, strict=True):
            self._rules(slot.rules, value, at, slot.path[0], step.size - slot.offset)

    def _slot(self, slot: Slot, at: _At, start: int) -> Any:
        data = at.io.buf[start + slot.offset : start + slot.offset + slot.size]
        if slot.bits is not None:
            shift, width = slot.bits
            order = "little" if slot.order == "le" else "big"
            found = int.from_bytes(data, order) >> shift & (1 << width) - 1  # type: ignore[arg-type]
            return found != 0 if slot.type == FLAG else found
        return data if slot.wire is None else self._number(data, slot.wire, slot.order, at)

    def _number(self, data: bytes, wire: str, order: str, at: _At) -> Any:
        if order == "by":
            if at.node.little is None:
                raise Malformed("", "no byte order is known for this value", at=at.node.start)
            order = "le" if at.node.little else "be"
        return Struct(("<" if order == "le" else ">") + WIRE[wire].python.code).unpack(data)[0]

    def _list(self, step: Many, at: _At) -> None:
        found: list[Any] = []
        at.values[step.name] = found
        count = None
        if step.count is not None:
            count = self.value(step.count.value, at)
            self._bound(count, step, at.io)
        watched = step.until is not None or (count is not None and not step.least)
        before = (-1, 0)
        while True:
            index = len(found)
            if count is not None and index == count:
                return
            here = at.io.at, at.io.left
            if count is None and step.until is None:
                if at.io.at >= at.io.end and at.io.left <= 0:
                    return
                if before == here:
                    raise Malformed(step.name, "an element without bytes would repeat forever", at=at.io.at)
            if count is None and index >= self.opt.elements:
                raise too_many(step.name, at.io.at, self.opt)
            before = here
            inner = replace(at, index=index)
            kind = step.type.item if isinstance(step.type, ListOf) else step.type
            inner.item = item = _typed(self._element(step.element, inner, step.name, index), kind)
            self._rules(step.rules, item, inner, step.name, _width(step.element, at.io.at - here[0]))
            found.append(item)
            if step.until is not None and self.value(step.until, inner):
                return
            if watched and (at.io.at, at.io.left) == here:
                self.empty += 1
                if self.empty > self.room:
                    reason = "more elements without bytes than there are bytes"
                    raise LimitExceeded(
                        step.name,
                        reason,
                        at=here[0],
                        need=self.empty,
                        have=self.room,
                        limit="bytes present",
                    )

    def _bound(self, count: int, step: Many, io: Stream) -> None:
        left = max(0, io.end - io.at) if step.least else 8 * self.room
        if count < 0:
            raise Malformed(step.name, "negative count", at=io.at, need="at least 0", have=count)
        if step.least and count * step.least > left:
            raise Truncated(step.name, at=io.at, need=count * step.least, have=left)
        if count > left:
            reason = "more elements than bytes"
            raise LimitExceeded(step.name, reason, at=io.at, need=count, have=left, limit="bytes present")
        if count > self.opt.elements:
            raise too_many(step.name, io.at, self.opt)

    # -- elements ---------------------------------------------------------------------------------

    def _seen(
        self,
        unit: str,
        name: str,
        index: int | None,
        what: Element | Slot,
        buf: bytes,
        bits: tuple[int, int],
        value: Any,
    ) -> None:
        here = bits if buf is self.stream.buf else (0, 8 * self.stream.at)
        if here[1] <= 8 * self.start and here[0] < 8 * self.start:
            return
        if self._most is not None and len(self.reads) >= self._most:
            raise Enough
        path = (*self._within, name, *([] if index is None else [index]))
        self.reads.append(Read(path, what, buf, bits, value, unit))

    def _element(self, element: Element, at: _At, name: str, index: int | None) -> Any:
        self.steps += 1
        io = at.part or at.io
        if isinstance(element, (Nested, Choice)):
            return self._value_of(element, at, name, index)
        before = 8 * io.at - max(io.left, 0)
        found = self._value_of(element, at, name, index)
        if not isinstance(element, Bits):
            before = (before + 7) // 8 * 8
        bits = before, 8 * io.at - max(io.left, 0)
        self._seen(at.node.unit.name, name, index, element, io.buf, bits, found)
        return found

    def _value_of(self, element: Element, at: _At, name: str, index: int | None) -> Any:
        match element:
            case FixedNumber(wire, order):
                if order == "by":
                    self._number(bytes(WIRE[wire].least), wire, order, at)
                self._whole(at)
                return self._number(at.io.take(WIRE[wire].least, name), wire, order, at)
            case Bits(width, order):
                return at.io.number_of_bits(width, order, name)
            case Octets(_, bounds) if bounds is not None:
                return self._stored(bounds, at, name)
            case Chars(_, encoding, bounds) if bounds is not None:
                form = ENCODINGS[encoding]
                data = self._stored(bounds, at, name)
                try:
                    return data.decode(form.python, form.errors)
                except UnicodeDecodeError as error:
                    raise Malformed(name, f"not {form.python}: {error.reason}", at=at.io.at) from None
            case Nested():
                return self._nested(element, at, name, index)
            case Choice():
                return self._choice(element, at, name, index)
        raise TypeError(element)

    def _stored(self, bounds: Bounds, at: _At, name: str) -> bytes:
        size = self.value(bounds.size, at) if bounds.early and bounds.size is not None else None
        self._whole(at)
        io = at.part or at.io
        if bounds.contents is not None:
            found = io.take(len(bounds.contents), name)
            if found != bounds.contents:
                raise Malformed(
                    name, "wrong fixed bytes", at=io.at - len(found), need=bounds.contents, have=found
                )
            return found
        if bounds.size is None and not bounds.rest:
            data = io.until(bounds, name)
        else:
            if bounds.size is not None and size is None:
                size = self.value(bounds.size, at)
            data = io.rest() if size is None else io.take(size, name)
            if bounds.pad is not None or bounds.terminator is not None:
                data = trimmed(data, bounds.pad, bounds.terminator, bounds.include)
        if bounds.process is not None:
            given = tuple(self.value(each, at) for each in bounds.process.arguments)
            process, place = bounds.process.name, at.io.at - len(data)
            limit = self.opt.decompressed_bytes - (0 if keeps_size(process) else self._inflated)
            data = decode(process, data, given, limit=limit, name=name, at=place)
            self._inflated += 0 if keeps_size(process) else len(data)
        return data

    def _inside(self, bounds: Bounds | None, at: _At, name: str) -> Stream:
        """The stream that an object is read from."""
        if at.part is not None:
            return at.part
        if bounds is None:
            return at.io
        if bounds.plain:
            size = self.value(bounds.size, at) if bounds.early and bounds.size is not None else None
            self._whole(at)
            if bounds.size is not None and size is None:
                size = self.value(bounds.size, at)
            start = at.io.at
            data = at.io.rest() if size is None else at.io.take(size, name)
            return Stream(at.io.buf, start, start + len(data), start)
        data = self._stored(bounds, at, name)
        self.room += len(data)
        return Stream(data, 0, len(data), 0)

    def _nested(self, element: Nested, at: _At, name: str, index: int | None) -> Node:
        io = self._inside(element.bounds, at, name)
        given = tuple(self.value(each, at) for each in element.arguments)
        parent = None if element.parent is None else self.value(element.parent, at)
        root = at.node.root if element.rooted else None
        return self._object(element.unit, given, io, parent, root, name, index)

    def _choice(self, choice: Choice, at: _At, name: str, index: int | None) -> Any:
        on = self.value(choice.on, at)
        inner = at
        if choice.bounds is not None:
            self._whole(at)
            bounds = replace(choice.bounds, early=False)
            inner = replace(at, part=self._inside(bounds, at, name))
        for case in choice.cases:
            if case.value is not None and self.value(case.value, at) == on:
                return _typed(self._element(case.element, inner, name, index), case.type)
        if choice.other is None:
            return None
        return _typed(self._element(choice.other.element, inner, name, index), choice.other.type)

    def _rules(self, rules: tuple[Rule, ...], value: Any, at: _At, name: str, back: int) -> None:
        for rule in rules:
            here = replace(at, item=value)
            if not self.value(rule.test, here):
                need: object = rule.needed
                if not all(isinstance(each, Constant) for each in rule.wanted):
                    wanted = [self.value(each, here) for each in rule.wanted]
                    need = tuple(wanted) if rule.need == "one of" else wanted[0]
                raise Malformed(name, "value not allowed", at=at.io.at - back, need=need, have=value)

    # -- what is derived of bytes -----------------------------------------------------------------

    def _check(self, node: Node) -> None:
        """Compare what follows from bytes with what was read."""
        assert node.unit.streamed is not None
        at = _At(node, node.stream)
        for each in node.unit.streamed.calculated:
            if each.when is not None and not self.value(each.when, at):
                continue
            wanted = self.value(each.value, at)
            have = node.values.get(each.name)
            if each.into and have is not None:
                have = self.member(have, each.into)
            if have is None or each.verify == "no":
                continue
            if not (self.opt.check_crc if each.checksum else self.opt.verify):
                continue
            if have == wanted or (each.verify == "at_least" and have >= wanted):
                continue
            if each.checksum and isinstance(wanted, int):
                raise CrcMismatch(each.name, at=node.start, need=have, have=wanted)
            reason = "not what it is derived from"
            raise Malformed(each.name, reason, at=node.start, need=wanted, have=have)

    def _range(self, node: Node, name: str) -> tuple[Stream, int, int]:
        """The bytes of a field or an instance; of the object, if `name` is empty."""
        if not name:
            return node.stream, node.start, node.stop
        if name not in node.spans and self.member(node, name) is None:
            self._wrong(_At(node, node.stream), name, "its bytes are needed, and it is not there")
        return node.spans[name]

    def _of_bytes(self, value: Computed, at: _At) -> Any:
        owner = at.node if value.of is None else self.value(value.of, at)
        if value.where is not None:
            items = self.member(owner, value.first) or []
            found = [each for each in items if self.value(value.where, replace(at, item=each))]
            if value.function == "count_of":
                return len(found)
            if not found:
                return 0
            (io, start, _), (_, _, stop) = self._range(found[0], ""), self._range(found[-1], "")
        elif value.function == "count_of":
            return len(self.member(owner, value.first))
        else:
            (io, start, _), (_, _, stop) = self._range(owner, value.first), self._range(owner, value.last)
        if value.function == "position_of":
            return start - io.base
        data = io.buf[start:stop]
        if value.byte is not None and value.own in at.node.spans:
            _, low, high = at.node.spans[value.own]
            low, high = max(low, start), min(high, stop)
            if low < high:
                data = data[: low - start] + bytes([value.byte]) * (high - low) + data[high - start :]
        if value.unpack:
            made = unpacked(value.unpack, data, self.opt.decompressed_bytes)
            if made is None:
                self._wrong(at, value.first, f"it is no whole {value.unpack} stream")
            data = made
        return len(data) if value.function == "length_of" else CHECKSUMS[value.function](data)

    # -- instances --------------------------------------------------------------------------------

    def member(self, node: Node, name: str) -> Any:
        """A field, a parameter or an instance; None if it was not read."""
        assert node.unit.streamed is not None
        for instance in node.unit.streamed.instances:
            if instance.name == name:
                return (
                    self._computed(node, instance) if instance.step is None else self._sought(node, instance)
                )
        return node.values.get(name)

    def _computed(self, node: Node, instance: InstancePlan) -> Any:
        assert instance.value is not None
        if instance.name in node.marks:
            return node.marks[instance.name]
        key = node.unit.name, instance.name
        if key not in self._timed:
            self._timed[key] = asks_stream(instance.value) or asks_stream(instance.test)
        at = _At(node, node.stream)
        if instance.test is not None and not self.value(instance.test, at):
            return None
        found = self.value(instance.value, at)
        if self._timed[key]:
            node.marks.setdefault(instance.name, found)
        return found

    def _sought(self, node: Node, instance: InstancePlan) -> Any:
        name = instance.name
        if name in node.found:
            if node.found[name] is _READING:
                raise Malformed(name, "the instance needs itself", at=node.start)
            return node.found[name]
        deep = max(self.depth, node.depth)
        if deep >= self.opt.depth:
            raise LimitExceeded(
                name, "nested too deep", at=node.start, need=deep + 1, have=self.opt.depth, limit="depth"
            )
        levels, sought = deep + 1 - self.depth, len(self.sought)
        node.found[name] = _READING
        self.depth += levels
        try:
            found = self._read_instance(node, instance)
        finally:
            self.depth -= levels
            while len(self.sought) > sought:
                before = self.sought.pop()
                before.stand[0] = before
            del node.found[name]
        if found is not None:
            node.found[name] = found
        return found

    def _read_instance(self, node: Node, instance: InstancePlan) -> Any:
        assert instance.step is not None
        at = _At(node, node.stream)
        if instance.test is not None and not self.value(instance.test, at):
            return None
        stream = node.stream if instance.stream is None else self.value(instance.stream, at)
        io = stream.current
        if instance.position is not None:
            pos = self.value(instance.position, at)
            if io.left:
                io.bits, io.left = 0, _FORGOTTEN
            if pos < 0:
                raise Malformed(
                    instance.name, "negative position", at=stream.base, need="at least 0", have=pos
                )
            self.sought.append(io)
            io = Stream(stream.buf, stream.base, stream.end, stream.base + pos, stand=stream.stand)
            io.stand[0] = io
        target: dict[str, Any] = {}
        around, self._within = self._within, list(node.path)
        start = io.at
        try:
            self._steps((instance.step,), _At(node, io, target=target))
        finally:
            self._within = around
        node.spans[instance.name] = io, start, io.at
        return target.get(instance.step.name)

    # -- values -----------------------------------------------------------------------------------

    def value(self, value: Value, at: _At) -> Any:
        self.steps += 1
        found = self._value(value, at)
        kind = value.type.of if isinstance(value.type, Maybe) else value.type
        if isinstance(kind, Whole) and type(found) is int:
            assert kind.low <= found <= kind.high, (value, found)
        return found

    def _wrong(self, at: _At, name: str, reason: str) -> NoReturn:
        raise Malformed(name, reason, at=at.node.stream.at)

    def _value(self, value: Value, at: _At) -> Any:
        match value:
            case Constant(found):
                return found
            case FieldOf(name):
                return self.member(at.node, name)
            case Item():
                return at.item
            case Counter():
                return at.index
            case This():
                return at.node
            case Around(of, name):
                node = at.node if of is None else self.value(of, at)
                return node.root if name == "root" else node.parent
            case StreamOf(of, at_hand):
                if of is not None:
                    return self.value(of, at).stream
                return at.io if at_hand else at.node.stream
            case StreamAsked(of, name):
                stream = self.value(of, at)
                here = stream.current
                if name == "eof":
                    return here.at >= here.end and here.left <= 0
                return here.at - stream.base if name == "pos" else stream.end - stream.base
            case Required(of, name, _, argument):
                found = self.value(of, at)
                if found is None:
                    text = "an argument is not there"
                    self._wrong(at, name, text if argument else "an expression needs it, and it is not there")
                return found
            case MemberOf(of, name):
                return self.member(self.value(of, at), name)
            case SizeOf(of):
                return len(self.value(of, at))
            case Number(of, _, base):
                return self._to_number(self.value(of, at), 10 if base is None else self.value(base, at), at)
            case Enumerated(of):
                return self.value(of, at)
            case Shown(of):
                return str(self.value(of, at))
            case Decoded(of, encoding):
                form = ENCODINGS[encoding]
                try:
                    return self.value(of, at).decode(form.python, form.errors)
                except UnicodeDecodeError:
                    self._wrong(at, "", "an expression needs text")
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
                items, number = self.value(of, at), self.value(index, at)
                if not 0 <= number < len(items):
                    self._wrong(at, "", "an expression needs an element")
                return items[number]
            case EdgeOf(of, name):
                items = self.value(of, at)
                if not items:
                    self._wrong(at, "", "an expression needs an element of an empty list")
                return items[-1] if name == "last" else (min if name == "min" else max)(items)
            case Cast(of, name, kind):
                return self._cast(self.value(of, at), of.type, kind, name, at)
            case Unary(op, of):
                inner = self.value(of, at)
                return not inner if op == "not" else -inner if op == "-" else ~inner
            case Binary("and", left, right):
                return self.value(left, at) and self.value(right, at)
            case Binary("or", left, right):
                return self.value(left, at) or self.value(right, at)
            case Binary(op, left, right):
                return self._operation(op, self.value(left, at), self.value(right, at), value, at)
            case Choose(test, yes, no):
                return self.value(yes if self.value(test, at) else no, at)
        raise TypeError(value)

    def _operation(self, op: str, left: Any, right: Any, value: Binary, at: _At) -> Any:
        if value.fails and op in ("/", "%") and right == 0:
            self._wrong(at, "", "an expression divides by 0")
        if value.fails and op in ("<<", ">>"):
            by = right if op == "<<" else -right
            if abs(by) > _MOST_SHIFT:
                self._wrong(at, "", "an expression shifts by too many bits")
            return left << by if by >= 0 else left >> -by
        if op == "/" and not isinstance(value.type, Whole):
            return left / right
        return OPERATIONS[op](left, right)

    def _to_number(self, found: Any, base: int, at: _At) -> int:
        try:
            return int(found, base) if isinstance(found, str) else int(found)
        except (ValueError, OverflowError):
            self._wrong(at, "", "an expression needs a number")

    def _cast(self, found: Any, before: Type, kind: Type, name: str, at: _At) -> Any:
        if kind == OCTETS and isinstance(before, ListOf):
            try:
                return bytes(found)
            except (ValueError, TypeError):
                self._wrong(at, "", "an expression needs bytes")
        match kind:
            case ObjectOf(unit):
                fits = isinstance(found, Node) and found.unit.name == unit
            case ListOf():
                fits = isinstance(found, list)
            case Whole():
                fits = isinstance(found, int)
            case _:
                fits = isinstance(found, str if kind == TEXT else bytes)
        if not fits:
            self._wrong(at, name, "an expression needs another type")
        return found


def _typed(value: Any, kind: Type) -> Any:
    """A bit as a flag."""
    return value != 0 if kind == FLAG else value


def _width(element: Element, read: int) -> int:
    """How many bytes ago a value began, of which `read` were read; 0 for bits."""
    match element:
        case FixedNumber(wire):
            return WIRE[wire].least
        case Bits():
            return 0
    return read
