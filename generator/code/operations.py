"""The operations of `ir.OPS`, as methods of a frame; expressions in their arguments are functions of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from struct import Struct
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kodec.generator.code.objects import Node, Object, Read, Stream, member_of
from kodec.generator.code.values import Function
from kodec.generator.plan import steps as plan
from kodec.generator.wire import ENCODINGS, WIRE
from kodec.runtime import crc, varint
from kodec.runtime.errors import CrcMismatch, LimitExceeded, Malformed, Truncated, Unsupported
from kodec.runtime.fields import ends_exactly, trimmed, unknown_version
from kodec.runtime.process import decode, keeps_size

if TYPE_CHECKING:
    from kodec.generator.code.machine import Machine

__all__ = ["Frame"]

Cuts = Iterable[tuple[str, int, int]]


class Frame:
    """Where a unit's code stands: in which object, on which stream, for which element of a list.

    Attributes:
        values: the fields of the object.
        target: where fields go: the same, or the value of an instance.
        io: the stream of the object; `source` is the part of it that was entered last, `around` those before.
        item: the element, or the value that a rule speaks of.
    """

    __slots__ = ("around", "index", "io", "item", "local", "machine", "node", "source", "target", "values")

    def __init__(
        self, machine: Machine, node: Node, io: Stream, target: dict[str, Any] | None = None
    ) -> None:
        self.machine = machine
        self.node = node
        self.values = node.values
        self.target = node.values if target is None else target
        self.io = self.source = io
        self.around: list[Stream] = []
        self.item: Any = None
        self.index = 0
        self.local: dict[str, Any] = {}

    def _number(self, data: bytes, at: int, wire: str, order: str) -> Any:
        if order == "by":
            self.op_ordered()
            order = "le" if self.node.little else "be"
        return _struct(wire, order)(data, at)[0]

    # -- a fixed run ----------------------------------------------------------------------------------

    def op_run(self, size: int, fields: Cuts) -> int:
        source = self.source
        start = source.at
        if start + size > source.end:
            _require(source, fields)
        source.at = start + size
        return start

    def op_load(self, run: Function, wire: str, order: str, offset: int) -> Any:
        return self._number(self.source.buf, run(self) + offset, wire, order)

    def op_slice(self, run: Function, offset: int, size: int) -> bytes:
        start = run(self) + offset
        return self.source.buf[start : start + size]

    def op_bits(self, run: Function, offset: int, size: int, shift: int, width: int, order: str) -> int:
        data = self.op_slice(run, offset, size)
        return int.from_bytes(data, "little" if order == "le" else "big") >> shift & (1 << width) - 1

    def op_contents(self, run: Function, offset: int, contents: bytes, name: str) -> None:
        if (have := self.op_slice(run, offset, len(contents))) != contents:
            raise Malformed(name, "wrong fixed bytes", at=run(self) + offset, need=contents, have=have)

    def op_new(self, members: Iterable[tuple[str, Function]]) -> Object:
        return Object((name, value(self)) for name, value in members)

    # -- what stands next -----------------------------------------------------------------------------

    def op_number(self, wire: str, order: str, name: str) -> Any:
        return self._number(self.source.take(WIRE[wire].least, name), 0, wire, order)

    def op_varint(self, wire: str, name: str) -> Any:
        source = self.source
        value, source.at = getattr(varint, WIRE[wire].python.read)(source.buf, source.at, source.end, name)
        return value

    def op_next_bits(self, width: int, order: str, name: str) -> int:
        return self.source.number_of_bits(width, order, name)

    def op_flag(self, bits: Function) -> bool:
        return bool(bits(self) != 0)

    def op_align(self) -> None:
        self.io.bits = self.io.left = 0

    def op_order(self, little: bool | None) -> None:
        self.node.little = little

    def op_ordered(self) -> None:
        if self.node.little is None:
            raise Malformed("", "no byte order is known for this value", at=self.node.start)

    def op_bytes(self, size: Function | None, name: str) -> bytes:
        return self.source.rest() if size is None else self.source.take(size(self), name)

    def op_until(self, bounds: plan.Bounds, name: str) -> bytes:
        return self.source.until(bounds, name)

    def op_fixed(self, contents: bytes, name: str) -> bytes:
        have = self.source.take(len(contents), name)
        if have != contents:
            at = self.source.at - len(have)
            raise Malformed(name, "wrong fixed bytes", at=at, need=contents, have=have)
        return have

    def op_trim(self, data: Function, bounds: plan.Bounds) -> bytes:
        return trimmed(data(self), bounds.pad, bounds.terminator, bounds.include)

    def op_process(self, data: Function, process: str, arguments: Iterable[Function], name: str) -> bytes:
        stored, machine = data(self), self.machine
        args, at = tuple(each(self) for each in arguments), self.io.at - len(stored)
        counts = not keeps_size(process)
        limit = machine.opt.decompressed_bytes - (machine.processed if counts else 0)
        content = decode(process, stored, args, limit=limit, name=name, at=at)
        machine.processed += len(content) if counts else 0
        return content

    def op_text(self, data: Function, encoding: str, name: str, at_end: bool) -> str:
        at, form, stored = self.source.at, ENCODINGS[encoding], data(self)
        try:
            value: str = stored.decode(form.python, form.errors)
        except UnicodeDecodeError as error:
            at = self.io.at if at_end else at + error.start
            raise Malformed(name, f"not {form.python}: {error.reason}", at=at) from None
        return value

    # -- objects and their sources --------------------------------------------------------------------

    def op_object(
        self,
        unit: str,
        arguments: Iterable[Function],
        parent: Function | None,
        rooted: bool,
        path: str,
        indexed: bool,
    ) -> Any:
        own = (path,) if path else ()
        return self.machine.unit(
            unit,
            [each(self) for each in arguments],
            self.source,
            None if parent is None else parent(self),
            self.node.root if rooted else None,
            (*self.node.path, *own, self.index) if indexed else (*self.node.path, *own),
        )

    def op_deeper(self) -> None:
        need, most = self.machine.depth + 1, self.machine.opt.depth
        if need > most:
            raise LimitExceeded("", "nested too deep", at=self.source.at, need=need, have=most, limit="depth")

    def op_enter(self, size: Function | None, name: str) -> None:
        source = self.source
        start = source.at
        stop = start + len(self.op_bytes(size, name))
        self.around.append(source)
        self.source = Stream(source.buf, start, stop, start)

    def op_inside(self, data: Function) -> None:
        content = data(self)
        self.machine.spare += len(content)
        self.around.append(self.source)
        self.source = Stream(content, 0, len(content), 0)

    def op_leave(self, name: str, strict: bool) -> None:
        if strict:
            self.op_ended(name)
        self.source = self.around.pop()

    def op_ended(self, name: str) -> None:
        ends_exactly(name, self.source.at, self.source.end)

    def op_pos(self, plus: int) -> int:
        return self.source.at + plus

    def op_span(self, name: str, end: bool, plus: int) -> None:
        spans, at = self.node.spans, self.io.at + plus
        spans[name] = self.io, spans[name][1] if end and name in spans else at, at

    # -- what must hold -------------------------------------------------------------------------------

    def op_peek(self, peeks: Iterable[tuple[str, int, str, str]], size: int, names: str) -> None:
        io = self.io
        if io.at + size > io.end:
            raise Truncated(names, at=io.at, need=size, have=max(0, io.end - io.at))
        for name, offset, wire, order in peeks:
            self.values[name] = self._number(io.buf, io.at + offset, wire, order)

    def op_version(self, unit: plan.Unit, fields: Cuts) -> None:
        name, at, where = unit.version_name, self.io.at, unit.version
        if where is None:
            version = self.values[name]
        else:
            _require(self.io, fields)
            at += where.offset
            version = self._number(self.io.buf, at, where.wire, where.order)
        if unit.versions is None or version not in unit.versions:
            raise unknown_version(name, version, str(unit.versions), at)

    def _range(self, step: plan.CheckLength | plan.Checksum) -> tuple[int, int]:
        spans = self.node.spans
        return spans[step.first][1], self.io.at if step.last is None else spans[step.last][2]

    def op_covers(self, step: plan.CheckLength, plus: Function | None) -> None:
        start, stop = self._range(step)
        need, have = stop - start + (0 if plus is None else plus(self)), self.values[step.name]
        if need != have:
            at, reason = self.node.spans[step.name][1], "not the length of the fields it covers"
            raise Malformed(step.name, reason, at=at, need=need, have=have)

    def op_checksum(self, step: plan.Checksum, size: int) -> None:
        machine, node, have = self.machine, self.node, self.values[step.name]
        covers, at, path = self._range(step), node.spans[step.name][1], (*node.path, step.name)
        bits = 8 * at, 8 * (at + size)
        machine.reads.append(Read(path, step, self.io.buf, bits, have, node.unit.name, node.depth, covers))
        if (
            machine.opt.check_crc
            and (value := getattr(crc, step.function)(self.io.buf[slice(*covers)])) != have
        ):
            raise CrcMismatch(step.name, at=at, need=have, have=value)

    def op_follows(self, step: Any, plus: Function | None, when: Function | None) -> None:
        have, items = self.values[step.name], self.values[step.of]
        if isinstance(step, plan.CheckCount):
            need = len(items)
        elif not items or not self.machine.opt.verify:
            return
        else:
            values = [member_of(each, step.member) for each in items]
            need = values[-1] if isinstance(step, plan.CheckLast) else max(values)
        if have is None or not (when is None or when(self)):
            return
        need += 0 if plus is None else plus(self)
        if have < need or (have != need and not step.at_least):
            at, reason = self.local.get("packed") or self.io.at, "differs from the value it is derived from"
            raise Malformed(step.name, reason, at=at, need=need, have=have)

    def op_derived(self, local: bool) -> None:
        self.node.stop = self.io.at
        if local:
            self.machine.check(self.node)
        else:
            self.machine.unchecked.append(self.node)

    def op_lacks(self, names: Iterable[str], of_version: bool) -> None:
        fields = self.node.lacking if of_version else self.node.unset
        fields.update(names)

    def op_unpack(self, packed: plan.Packed, by: Function, place: Function, when: Function | None) -> Any:
        data = self.values[packed.name]
        if not isinstance(data, bytes):
            return data
        at = self.local["packed"] = self.io.at - len(data)
        number = by(self)
        codec = dict(packed.codecs).get(number)
        if codec is None:
            raise Unsupported(packed.by_path, "unknown codec", at=self.node.start + place(self), have=number)
        if when is None or when(self):
            codec = dict(packed.replaced).get(codec, codec)
        return (
            data
            if codec == "none" and not packed.parsed
            else self.machine.unpacked(self, packed, codec, data, at)
        )

    def op_refuse(self, name: str, reason: str, at: Function, need: Any) -> None:
        need = (
            tuple(each(self) for each in need)
            if isinstance(need, tuple)
            else need(self)
            if callable(need)
            else need
        )
        raise Malformed(name, reason, at=at(self), need=need, have=self.item)

    def op_no_case(self, name: str, on: Function) -> None:
        raise Unsupported(name, "no case for this value", at=self.source.at, have=on(self))


@cache
def _struct(wire: str, order: str) -> Callable[[bytes, int], tuple[Any, ...]]:
    if WIRE[wire].kind == "UUID":
        return lambda data, at: (UUID(bytes=data[at : at + 16]),)
    return Struct(("<" if order == "le" else ">") + WIRE[wire].python.code).unpack_from


def _require(source: Stream, fields: Cuts) -> None:
    for name, offset, width in fields:
        at = source.at + offset
        if width and at + width > source.end:
            raise Truncated(name, at=at, need=width, have=max(0, source.end - at))
