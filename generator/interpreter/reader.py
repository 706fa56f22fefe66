"""Reads bytes by a plan itself, step by step: the reference that printed readers are compared with."""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from struct import Struct
from typing import Any
from uuid import UUID

from kodec.generator.plan.steps import (
    Case,
    Chars,
    CheckCount,
    CheckLast,
    CheckLength,
    Checksum,
    Choice,
    Element,
    Fixed,
    FixedNumber,
    Many,
    Mark,
    Nested,
    Octets,
    One,
    Packed,
    Program,
    Require,
    Rule,
    SetNull,
    Size,
    Slot,
    Step,
    Stored,
    Tagged,
    Unit,
    Varint,
    When,
    fields_in,
)
from kodec.generator.plan.values import (
    Binary,
    Choose,
    Constant,
    EnumOf,
    FieldOf,
    IsNull,
    Item,
    ListOf,
    Maybe,
    MemberOf,
    Number,
    ObjectOf,
    Peeked,
    SizeOf,
    Unary,
    Value,
    whole_of,
)
from kodec.generator.wire import ENCODINGS, WIRE
from kodec.runtime import crc, varint
from kodec.runtime.compression import decompress
from kodec.runtime.errors import CrcMismatch, FormatError, Malformed, Truncated, Unsupported
from kodec.runtime.fields import (
    ReadOptions,
    bounded_count,
    ends_exactly,
    read_tags,
    span,
    too_many,
    unknown_version,
)

__all__ = ["Content", "Enough", "Frame", "Leaf", "Object", "PlanReader", "objects_of"]

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Enough(Exception):
    """A reader has recorded as many parts as it was asked for."""


class Object(dict[str, Any]):
    """The fields that are kept, by name.

    Attributes:
        lacking: those that its version does not have; they hold their defaults.
        unset: those that other conditions leave out.
    """

    lacking: frozenset[str] = frozenset()
    unset: frozenset[str] = frozenset()


class Fields(dict[str, Any]):
    """Values by name; one that does not exist yet is made as that of a field that is never read."""

    def __init__(self, given: dict[str, Any], absent: Mapping[str, Callable[[], Any]]) -> None:
        super().__init__(given)
        self._absent = absent

    def __missing__(self, name: str) -> Any:
        self[name] = self._absent[name]()
        return self[name]


@dataclass(frozen=True, slots=True)
class Leaf:
    """Bytes that were read as one thing, from `start` to `end`.

    Attributes:
        path: the field, with those that hold its object inside the same run; empty for an element of a list.
        what: the element, slot, tagged section or checksum.
        depth: how many units it is in.
        value: what was read.
        covers: of a checksum: the bytes that it covers.
        within: the fields and indexes that lead to its unit.
        unit: the name of the unit that has the field.
    """

    path: tuple[str, ...]
    what: Element | Slot | Tagged | Checksum
    start: int
    end: int
    depth: int
    value: Any = None
    covers: tuple[int, int] = (0, 0)
    within: tuple[str | int, ...] = ()
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes from `start` to `end`, and how what is inside was read; `codec` is "none" where they are it."""

    within: tuple[str | int, ...]
    start: int
    end: int
    codec: str
    reader: PlanReader


@dataclass
class Frame:
    """One unit that is being read, or the object `node` of it that is being written."""

    unit: Unit
    values: dict[str, Any]
    start: int
    node: Any = None
    marks: dict[str, int] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    at: int = 0
    lacking: set[str] = field(default_factory=set)
    unset: set[str] = field(default_factory=set)


class PlanReader:
    """Reads units: an object is an `Object`, what a unit stands for is its value. Raises FormatError.

    `leaves` are the parts that the bytes were read as, in order; not those of `contents`, whose stored bytes
    are `stored`, by what leads to them. Parts before byte `start` are not recorded; after `room` parts (None:
    any number), including those of contents, `Enough` is raised.
    """

    def __init__(
        self,
        program: Program,
        buf: bytes,
        opt: ReadOptions = ReadOptions(),
        *,
        start: int = 0,
        room: int | None = None,
    ) -> None:
        self.program = program
        self.buf = buf
        self.opt = opt.counted()
        self.pos = 0
        self.leaves: list[Leaf] = []
        self.stored: list[tuple[tuple[str | int, ...], int, int]] = []
        self.contents: list[Content] = []
        self.start = start
        self._room = None if room is None else [room]
        self._within: list[str | int] = []
        self._depth = 0

    def read(self, name: str, end: int, arguments: tuple[Any, ...] = ()) -> Any:
        unit = self.program.units[name]
        given = dict(zip((each.name for each in unit.parameters), arguments, strict=True))
        frame = Frame(unit, self.fields(unit, given), self.pos)
        self._depth += 1
        self._peek(frame, end)
        self._require_version(frame, end)
        self._steps(unit.steps, frame, end)
        if unit.packed is not None:
            self._unpack(unit.packed, frame)
            self._steps(unit.packed.checks, frame, end)
        self._depth -= 1
        if unit.stands_for is not None:
            return frame.values[unit.stands_for]
        made = Object((each.name, frame.values[each.name]) for each in unit.fields if each.kept)
        made.lacking, made.unset = frozenset(frame.lacking), frozenset(frame.unset)
        return made

    def fields(self, unit: Unit, given: dict[str, Any]) -> Fields:
        """The values of a unit, of which these are there."""
        absent = {each.name: partial(self.absent, each.type, each.absent) for each in unit.fields}
        return Fields(given, absent)

    def absent(self, kind: Any, absent: Constant | None) -> Any:
        """A field that is missing: a constant, an empty list, a new object, or nothing of its type."""
        if absent is not None:
            return absent.value
        if isinstance(kind, Maybe):
            kind = kind.of
        if isinstance(kind, ListOf):
            return []
        match kind:
            case ObjectOf(unit):
                inner = self.program.units[unit]
                return Object(
                    (each.name, self.absent(each.type, each.absent)) for each in inner.fields if each.kept
                )
        name = getattr(kind, "name", "")
        return {"text": "", "octets": b"", "identity": UUID(int=0), "section": []}.get(name)

    def _require_version(self, frame: Frame, end: int) -> None:
        unit = frame.unit
        if unit.versions is None:
            return
        if unit.version is None:
            version, at = frame.values[unit.version_name], self.pos
        else:
            where = unit.version
            size = WIRE[where.wire].least
            for step in unit.steps:
                if isinstance(step, Fixed):
                    self._require_bytes([each for each in step.slots if each.offset <= where.offset], end)
                    break
            at = self.pos + where.offset
            version = number(self.buf, at, where.wire, where.order)
            assert size
        if version not in unit.versions:
            raise unknown_version(unit.version_name, version, str(unit.versions), at)

    def _peek(self, frame: Frame, end: int) -> None:
        peeks = sorted(frame.unit.peeks, key=lambda each: each.offset)
        size = max((each.offset + WIRE[each.wire].least for each in peeks), default=0)
        if self.pos + size > end:
            names = ", ".join(each.name for each in peeks)
            raise Truncated(names, at=self.pos, need=size, have=max(0, end - self.pos))
        for peek in peeks:
            frame.values[peek.name] = number(self.buf, self.pos + peek.offset, peek.wire, peek.order)

    # -- steps ------------------------------------------------------------------------------------

    def _steps(self, steps: tuple[Step, ...], frame: Frame, end: int) -> None:
        for step in steps:
            match step:
                case Fixed():
                    self._load(step, frame, end)
                case When(test, inner):
                    if self.value(test, frame):
                        self._steps(inner, frame, end)
                    else:
                        out = frame.lacking if frame.unit.is_of_version(test) else frame.unset
                        out |= set(fields_in(inner))
                case Mark(name, offset, is_end):
                    (frame.ends if is_end else frame.marks)[name] = self.pos + offset
                case One(name, _, element, rules):
                    at = self.pos
                    shown = "" if frame.unit.stands_for == name else name
                    found = self._element(element, frame, end, shown)
                    frame.values[name] = found
                    self._rules(rules, found, frame, name, at)
                case Many():
                    self._list(step, frame, end)
                case Tagged():
                    self._tags(step, frame, end)
                case Stored(name, size):
                    start = self.pos
                    frame.values[name] = self._octets(size, frame, end, name)
                    if self._records(start, self.pos):
                        self.stored.append(((*self._within, name), start, self.pos))
                case SetNull(name):
                    frame.values[name] = None
                case Require(name, rule):
                    self._rules((rule,), frame.values[name], frame, name, self.pos)
                case _:
                    self._check(step, frame)

    def _require_bytes(self, slots: list[Slot], end: int) -> None:
        for slot in slots:
            at = self.pos + slot.offset
            if at + slot.size > end:
                raise Truncated(".".join(slot.path), at=at, need=slot.size, have=max(0, end - at))

    def _load(self, step: Fixed, frame: Frame, end: int) -> None:
        if self.pos + step.size > end:
            self._require_bytes(list(step.slots), end)
        found = [self._slot(slot) for slot in step.slots]
        inside = dict(step.objects)
        for slot, value in zip(step.slots, found, strict=True):
            at = self.pos + slot.offset
            unit = inside.get(slot.path[:-1], frame.unit.name)
            self._seen(unit, slot.path, slot, at, at + slot.size, value)
        objects = objects_of(self.program, step, found)
        frame.values |= objects[()]
        for slot, value in zip(step.slots, found, strict=True):
            inner = frame if len(slot.path) == 1 else Frame(frame.unit, objects[slot.path[:-1]], 0)
            at = self.pos + slot.offset
            if slot.contents is not None and value != slot.contents:
                raise Malformed(slot.shown, "wrong fixed bytes", at=at, need=slot.contents, have=value)
            self._rules(slot.rules, value, inner, slot.shown, at)
        self.pos += step.size

    def _slot(self, slot: Slot) -> Any:
        at = self.pos + slot.offset
        if slot.bits is not None:
            shift, width = slot.bits
            found = int.from_bytes(self.buf[at : at + slot.size], "big") >> shift & (1 << width) - 1
            return bool(found) if width == 1 and not isinstance(slot.type, EnumOf) else found
        if slot.wire is None:
            return self.buf[at : at + slot.size]
        return number(self.buf, at, slot.wire, slot.order)

    def _list(self, step: Many, frame: Frame, end: int) -> None:
        found: list[Any] = []
        frame.values[step.name] = found
        shown = "" if frame.unit.stands_for == step.name else step.name
        if step.count is not None:
            count = self.value(step.count.value, frame)
            bounded_count(shown, count, step.least, self.pos, end, self.opt)
        while True:
            if step.count is not None and len(found) == count:
                return
            if step.count is None and step.until is None and self.pos >= end:
                return
            if step.count is None and len(found) >= self.opt.elements:
                raise too_many(shown, self.pos, self.opt)
            before, depth = self.pos, len(self._within)
            self._within += [shown, len(found)]
            try:
                item = self._element(step.element, frame, end, "")
                self._rules(step.rules, item, frame, "", before)
            except FormatError as error:
                raise error.within(shown, len(found)) from None
            del self._within[depth:]
            found.append(item)
            if step.count is None and step.until is None and self.pos == before:
                raise Malformed(step.name, "an element without bytes would repeat forever", at=self.pos)
            if step.until is not None and self.value(step.until, frame, item):
                return

    def _tags(self, step: Tagged, frame: Frame, end: int) -> None:
        version: Any = frame.values.get(frame.unit.version_name)
        known = {each.number: each for each in step.tags if each.versions is None or version in each.versions}
        others: list[tuple[int, bytes]] = []
        frame.values[step.name] = others
        frame.lacking |= {each.name for each in step.tags if each.number not in known}
        before = self.pos
        found, after = read_tags(self.buf, self.pos, end, step.name)
        for tag, start, stop in found:
            plan = known.get(tag)
            if plan is None:
                others.append((tag, self.buf[start:stop]))
                continue
            self.pos = start
            frame.values[plan.name] = self._element(plan.element, frame, stop, plan.name)
            ends_exactly(plan.name, self.pos, stop)
            self._rules(plan.rules, frame.values[plan.name], frame, plan.name, self.pos)
        self.pos = after
        self._seen(frame.unit.name, (step.name,), step, before, after)

    # -- elements ---------------------------------------------------------------------------------

    def _unpack(self, packed: Packed, frame: Frame) -> None:
        data = frame.values[packed.name]
        if not isinstance(data, bytes):
            return
        at = frame.at = self.pos - len(data)
        number = self.value(packed.by, frame)
        codec = dict(packed.codecs).get(number)
        if codec is None:
            at = frame.start + self.value(packed.place, frame)
            raise Unsupported(packed.by_path, "unknown codec", at=at, have=number)
        if packed.when is None or self.value(packed.when, frame):
            codec = dict(packed.replaced).get(codec, codec)
        opt = self.opt
        if codec == "none" and not packed.parsed:
            return
        if codec != "none":
            opt = opt.inside(packed.name, codec, at)
            try:
                data = decompress(codec, data, limit=opt.most_decompressed())
            except FormatError as error:
                raise error.within(packed.name, shift=at) from None
            opt.take_decompressed(len(data))
        # of content that ends before the start nothing is recorded
        start = self.start - at if codec == "none" else 0 if self.pos > self.start else len(data) + 1
        inner = PlanReader(self.program, data, opt, start=start)
        inner._room = self._room
        within = (*self._within, packed.name)
        if start <= len(data):
            self.contents.append(Content(within, at, self.pos, codec, inner))
        try:
            frame.values[packed.name] = inner.read(packed.unit, len(data))
            ends_exactly("", inner.pos, len(data))
        except FormatError as error:
            error.within(packed.name)
            raise (error.within_codec(codec, at) if codec != "none" else error.within("", shift=at)) from None

    def _octets(self, size: Size | None, frame: Frame, end: int, name: str) -> bytes:
        stop = end if size is None else span(name, self.value(size.value, frame), self.pos, end)
        start, self.pos = self.pos, stop
        return self.buf[start:stop]

    def _records(self, start: int, end: int) -> bool:
        """Whether a part is recorded. Raises Enough."""
        if end <= self.start and start < self.start:
            return False
        if self._room is not None:
            if not self._room[0]:
                raise Enough
            self._room[0] -= 1
        return True

    def _seen(
        self, unit: str, path: tuple[str, ...], what: Any, start: int, end: int, value: Any = None
    ) -> None:
        if self._records(start, end):
            within = tuple(self._within)
            self.leaves.append(Leaf(path, what, start, end, self._depth, value, within=within, unit=unit))

    def _element(self, element: Element, frame: Frame, end: int, name: str) -> Any:
        start = self.pos
        found = self._read(element, frame, end, name)
        if not isinstance(element, (Nested, Choice)):
            self._seen(frame.unit.name, (name,) if name else (), element, start, self.pos, found)
        return found

    def _read(self, element: Element, frame: Frame, end: int, name: str) -> Any:
        match element:
            case FixedNumber(wire, order):
                size = WIRE[wire].least
                stop = span(name, size, self.pos, end)
                at, self.pos = self.pos, stop
                return number(self.buf, at, wire, order)
            case Varint(wire):
                found, self.pos = getattr(varint, WIRE[wire].python.read)(self.buf, self.pos, end, name)
                return found
            case Octets(size):
                return self._octets(size, frame, end, name)
            case Chars(size, encoding):
                at = self.pos
                data = self._octets(size, frame, end, name)
                form = ENCODINGS[encoding]
                try:
                    return data.decode(form.python, form.errors)
                except UnicodeDecodeError as error:
                    text = f"not {form.python}: {error.reason}"
                    raise Malformed(name, text, at=at + error.start) from None
            case Nested(unit, arguments, size, fills):
                stop = end if size is None else span(name, self.value(size.value, frame), self.pos, end)
                given = tuple(self.value(each, frame) for each in arguments)
                depth = len(self._within)
                self._within += [name] if name else []
                try:
                    made = self.read(unit, stop, given)
                    if size is not None or fills:
                        ends_exactly("", self.pos, stop)
                except FormatError as error:
                    raise (error.within(name) if name else error) from None
                del self._within[depth:]
                return made
            case Choice():
                return self._switch(element, frame, end, name)
        raise TypeError(element)

    def _switch(self, step: Choice, frame: Frame, end: int, name: str) -> Any:
        stop = end if step.size is None else span(name, self.value(step.size.value, frame), self.pos, end)
        on = self.value(step.on, frame)
        chosen = next((each for each in step.cases if self.is_case(each, on, frame)), step.other)
        whole = step.size is not None or step.fills
        if chosen is not None:
            found = self._element(chosen.element, frame, stop, name)
        elif whole:
            found, self.pos = self.buf[self.pos : stop], stop
        elif step.may_lack:
            return None
        else:
            raise Unsupported(name, "no case for this value", at=self.pos, have=on)
        if whole:
            ends_exactly(name, self.pos, stop)
        return found

    def is_case(self, case: Case, on: Any, frame: Frame) -> bool:
        """Whether `on` is the value of a case."""
        return case.value is not None and self.value(case.value, frame) == on

    # -- rules ------------------------------------------------------------------------------------

    def _rules(self, rules: tuple[Rule, ...], value: Any, frame: Frame, name: str, at: int) -> None:
        for rule in rules:
            if self.value(rule.test, frame, value):
                continue
            if rule.need == "a value":
                raise Malformed(
                    name, "null in a version that does not allow it", at=at, need="a value", have=value
                )
            raise Malformed(name, "value not allowed", at=at, need=rule.needed, have=value)

    def _check(self, step: Any, frame: Frame) -> None:
        mine = frame.values[step.name]
        if isinstance(step, (CheckLength, Checksum)):
            start = frame.marks[step.first]
            end = self.pos if step.last is None else frame.ends[step.last]
            at = frame.marks[step.name]
            if isinstance(step, Checksum):
                size = WIRE[frame.unit.wire_of(step.name)[0]].least
                self.leaves.append(
                    Leaf((step.name,), step, at, at + size, self._depth, mine, (start, end)),
                )
                if not self.opt.check_crc:
                    return
                found = getattr(crc, step.function)(self.buf[start:end])
                if found != mine:
                    raise CrcMismatch(step.name, at=at, need=mine, have=found)
                return
            wanted = end - start + (0 if step.plus is None else self.value(step.plus, frame))
            if wanted != mine:
                raise Malformed(
                    step.name, "not the length of the fields it covers", at=at, need=wanted, have=mine
                )
            return
        items = frame.values[step.of]
        when = step.when is None or self.value(step.when, frame)
        if isinstance(step, CheckCount):
            wanted = len(items)
        elif items and when and self.opt.verify:
            values = [self.member(each, step.member) for each in items]
            wanted = values[-1] if isinstance(step, CheckLast) else max(values)
        else:
            return
        if mine is None or not when:
            return
        wanted += 0 if step.plus is None else self.value(step.plus, frame)
        if mine < wanted or (mine != wanted and not step.at_least):
            raise Malformed(
                step.name,
                "differs from the value it is derived from",
                at=frame.at or self.pos,
                need=wanted,
                have=mine,
            )

    @staticmethod
    def member(item: Any, member: tuple[str, ...]) -> Any:
        for name in member:
            item = item[name]
        return item

    # -- values -----------------------------------------------------------------------------------

    def value(self, value: Value, frame: Frame, item: Any = None) -> Any:
        found = self._value(value, frame, item)
        kind = whole_of(value.type)
        # a writer asks rules of what may not fit its field
        if kind is not None and found is not None and item is None:
            assert kind.low <= found <= kind.high, (value, found)
        return found

    def _value(self, value: Value, frame: Frame, item: Any) -> Any:
        match value:
            case Constant(found):
                return found
            case FieldOf(name) | Peeked(name):
                return frame.values[name]
            case Item():
                return item
            case MemberOf(of, name):
                return self.value(of, frame, item)[name]
            case SizeOf(of):
                return len(self.value(of, frame, item))
            case Number(of):
                return int(self.value(of, frame, item))
            case IsNull(of):
                return self.value(of, frame, item) is None
            case Unary(op, of):
                inner = self.value(of, frame, item)
                return not inner if op == "not" else -inner if op == "-" else ~inner
            case Binary("and", left, right):
                return self.value(left, frame, item) and self.value(right, frame, item)
            case Binary("or", left, right):
                return self.value(left, frame, item) or self.value(right, frame, item)
            case Binary(op, left, right):
                return OPERATIONS[op](self.value(left, frame, item), self.value(right, frame, item))
            case Choose(test, yes, no):
                return self.value(yes if self.value(test, frame, item) else no, frame, item)
        raise TypeError(value)


def objects_of(
    program: Program, step: Fixed, values: Iterable[Any]
) -> defaultdict[tuple[str, ...], dict[str, Any]]:
    """The members of each object of a run by its path, made of the values of its slots; `()` for the unit."""
    members: defaultdict[tuple[str, ...], dict[str, Any]] = defaultdict(dict)
    for slot, value in zip(step.slots, values, strict=True):
        members[slot.path[:-1]][slot.path[-1]] = value
    for path, unit in step.objects:
        kept = {each.name for each in program.units[unit].fields if each.kept}
        made = Object((name, value) for name, value in members[path].items() if name in kept)
        members[path[:-1]][path[-1]] = made
    return members


def number(buf: bytes, at: int, wire: str, order: str) -> Any:
    """A number, a flag or a UUID of fixed width."""
    if WIRE[wire].kind == "UUID":
        return UUID(bytes=buf[at : at + 16])
    code = ("<" if order == "le" else ">") + WIRE[wire].python.code
    return Struct(code).unpack_from(buf, at)[0]
