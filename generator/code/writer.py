"""Executes the code of units on objects of layouts: the bytes of what the machine reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from struct import Struct
from struct import error as StructError
from typing import Any
from uuid import UUID

from kodec.generator.code import ir
from kodec.generator.code.functions import Block, Run, Way, WriterFunctions, solve
from kodec.generator.code.lower_write import writer_of
from kodec.generator.code.objects import absent_value, member_of
from kodec.generator.code.values import Function
from kodec.generator.plan import steps as plan
from kodec.generator.plan.steps import Derived, FieldPlan, Packed, Program, Unit, steps_in
from kodec.generator.plan.values import Maybe
from kodec.generator.wire import ENCODINGS, WIRE
from kodec.runtime import crc, varint
from kodec.runtime.compression import compress
from kodec.runtime.errors import EncodeError, FormatError
from kodec.runtime.fields import write_tags
from kodec.runtime.settling import Settling

__all__ = ["Writer"]

_OTHER_TYPE = "a value of another type than its field"


class Writer:
    """`Writer(program).write("x", value, arguments)`: the bytes of a value, as `Machine` reads it.

    Attributes:
        out: where bytes go; those that were opened before are in `around`.
        state: what is computed because it does not fit; None while all is written as it is.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.out = bytearray()
        self.around: list[bytearray] = []
        self.state: _Objects | None = None
        self._units: dict[str, _UnitWriter] = {}

    def of(self, name: str) -> _UnitWriter:
        if name not in self._units:
            self._units[name] = _UnitWriter(self.program.units[name])
        return self._units[name]

    def write(self, name: str, value: Any, arguments: tuple[Any, ...] = ()) -> bytes:
        """The bytes; sizes, counts and what chooses a case are computed where they do not fit.

        Raises EncodeError.
        """
        try:
            return self._written(name, value, arguments)
        except EncodeError:
            # a number may be null
            state = self.state = _Objects()
        try:
            return state.run(lambda: self._written(name, value, arguments))
        finally:
            state.restore()
            self.state = None

    def _written(self, name: str, value: Any, arguments: Iterable[Any]) -> bytes:
        self.out, self.around = bytearray(), []
        self.unit(name, value, arguments)
        return bytes(self.out)

    def unit(self, name: str, value: Any, arguments: Iterable[Any]) -> None:
        """Write what a unit gives."""
        writer = self.of(name)
        try:
            f = Frame(self, writer, value, arguments)
            for each in writer.write:
                each(f)
        except (EncodeError, FormatError):
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise EncodeError("", f"{_OTHER_TYPE}: {error}") from None


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


class Frame:
    """Where the code of a unit stands: with which object, and for which element of a list."""

    __slots__ = ("code", "index", "item", "local", "node", "target", "values", "writer")

    def __init__(self, writer: Writer, code: _UnitWriter, value: Any, arguments: Iterable[Any]) -> None:
        self.writer = writer
        self.code = code
        self.node = value
        self.item: Any = None
        self.index = 0
        self.local: dict[str, Any] = {}
        self.values = self.target = dict(zip(code.parameters, arguments, strict=True))
        if code.unit.stands_for is not None:
            self.values[code.unit.stands_for] = value
            return
        _require_object(code, value, "")
        if writer.state is not None:
            writer.state.begin_object(code.unit, value)
            for path, inner in code.objects:
                if (held := member_of(value, path)) is not None:
                    writer.state.begin_object(writer.of(inner).unit, held)
        self.values |= value

    # -- before the first byte ------------------------------------------------------------------------

    def op_known(self, unit: Unit) -> None:
        have = self.values[unit.version_name]
        if unit.versions is None or have not in unit.versions:
            raise EncodeError(unit.version_name, "unknown version", have=have)

    def op_is_object(self, value: Function, unit: str, name: str) -> None:
        _require_object(self.writer.of(unit), value(self), name)

    def op_is_content(self, value: Function) -> bool:
        return isinstance(value(self), (dict, list))

    def op_is_of(self, unit: str, value: Function) -> bool:
        return self._is_of(unit, value(self))

    def _is_of(self, unit: str, value: Any) -> bool:
        return isinstance(value, dict) and self.writer.of(unit).fields == value.keys()

    def op_pack(self, packed: Packed, by: Function, when: Function | None, data: Function) -> bytes:
        content, number = data(self), by(self)
        codec = dict(packed.codecs).get(number)
        if codec is None:
            raise EncodeError(packed.by_path, "unknown codec", have=number)
        if when is None or when(self):
            codec = dict(packed.replaced).get(codec, codec)
        return content if codec == "none" else compress(codec, content)

    def op_follow(
        self,
        derived: Derived,
        of: Function,
        measured: Function | None,
        plus: Function | None,
        when: Function | None,
    ) -> Any:
        """What is in the field already is compared if it is `last` or `most`, and else taken as it is."""
        items, value, kind = of(self), self.values.get(derived.name), derived.kind
        if not derived.given or (kind == "count" and not isinstance(items, bytes)):
            value = None
        of_elements = kind in ("last", "most") and isinstance(items, list) and bool(items)
        of_elements = of_elements and (when is None or bool(when(self)))
        if value is not None and not of_elements:
            return value
        if items is None:
            return derived.null
        if kind == "presence":
            wanted = 1
        elif kind == "length" and measured is not None and not isinstance(items, bytes):
            wanted = len(measured(self))
        elif kind in ("length", "count"):
            wanted = len(_of_type((bytes, list) if kind == "count" else bytes, items, derived.of))
        elif of_elements:
            members = [member_of(each, derived.member) for each in items]
            wanted = members[-1] if kind == "last" else max(members)
        else:
            raise EncodeError(derived.name, "cannot be derived here: a value is required")
        wanted += 0 if plus is None else plus(self)
        if value is None:
            return wanted
        if value < wanted or (value != wanted and not derived.at_least):
            raise EncodeError(derived.name, derived.differs, need=wanted, have=value)
        return value

    # -- bytes ----------------------------------------------------------------------------------------

    def op_open(self) -> None:
        self.writer.around.append(self.writer.out)
        self.writer.out = bytearray()

    def op_close(self) -> bytes:
        data, self.writer.out = self.writer.out, self.writer.around.pop()
        return bytes(data)

    def op_pos(self, plus: int) -> int:
        return len(self.writer.out) + plus

    def op_since(self, start: Function) -> int:
        return len(self.writer.out) - int(start(self))

    def op_length_of(self, data: Function) -> int:
        return len(data(self))

    def op_count_of(self, value: Function, name: str) -> int:
        return len(_of_type(list, value(self), name))

    def op_put(self, wire: str, order: str, value: Function, name: str) -> None:
        self.writer.out += _number(wire, order, value(self), name)

    def op_put_varint(self, wire: str, value: Function, name: str) -> None:
        number = _of_type(int, value(self), name)
        try:
            self.writer.out += getattr(varint, WIRE[wire].python.write)(number)
        except EncodeError as error:
            raise error.within(name) from None

    def op_as_bits(self, shift: int, width: int, value: Function, name: str) -> int:
        number = _of_type(int, value(self), name)
        if not 0 <= number < 1 << width:
            raise EncodeError(name, "does not fit", have=number)
        return int(number) << shift

    def op_put_bits(self, size: int, order: str, parts: Iterable[Function]) -> None:
        bits = sum(each(self) for each in parts)
        self.writer.out += bits.to_bytes(size, "little" if order == "le" else "big")

    def op_encoded(self, value: Function, encoding: str, name: str) -> bytes:
        if not encoding:
            return bytes(_of_type(bytes, value(self), name))
        form, text = ENCODINGS[encoding], _of_type(str, value(self), name)
        try:
            return bytes(text.encode(form.python, form.errors))
        except UnicodeEncodeError as error:
            raise EncodeError(name, f"not {form.python}: {error.reason}", have=text) from None

    def op_sized(self, size: int, value: Function, name: str) -> bytes:
        data = _of_type(bytes, value(self), name)
        if len(data) != size:
            raise EncodeError(name, "wrong size", need=size, have=len(data))
        return bytes(data)

    def op_append(self, value: Function, name: str) -> None:
        self.writer.out += _of_type(bytes, value(self), name)

    def op_write(
        self,
        unit: str,
        value: Function,
        arguments: Iterable[Function],
        solved: Iterable[tuple[Way, ...]],
    ) -> None:
        writer, node, values = self.writer, value(self), [each(self) for each in arguments]
        if writer.state is not None:
            for name, each in zip(writer.of(unit).parameters, solved, strict=False):
                if (way := solve(self, each)) is not None:
                    writer.state.taught[id(node), name] = way
        writer.unit(unit, node, values)

    def op_otherwise(self, value: Function, stored: bool, lacking: bool, name: str) -> None:
        have = value(self)
        if stored and isinstance(have, bytes):
            self.writer.out += have
        elif have is not None or not lacking:
            raise EncodeError(name, "no case for this value", have=have)

    # -- what must hold -------------------------------------------------------------------------------

    def op_require(self, test: Function, name: str) -> None:
        state = self.writer.state
        if state is not None and not state.strict:
            # what breaks a rule may still be computed
            state.doubtful = True
        elif not test(self):
            raise EncodeError(name, "value not allowed", have=self.item)

    def op_missing(self, value: Function, spec: FieldPlan, nullable: bool) -> None:
        have, program = value(self), self.writer.program
        allowed = [absent_value(program, spec.type, each) for each in (spec.default, spec.absent)]
        if have not in allowed and not (nullable and have is None and isinstance(spec.type, Maybe)):
            raise EncodeError(spec.name, "not in this version", have=have)

    # -- what follows from what is written ------------------------------------------------------------

    def op_settle(
        self, have: Function, size: tuple[Function, tuple[Way, ...], str], name: str, reason: str, unit: str
    ) -> None:
        state, wanted, (value_of, solved, names) = self.writer.state, have(self), size
        value = value_of(self)
        if value != wanted:
            way = None if state is None else solve(self, solved)
            (state or _Objects()).settle(name, wanted, value, way, reason, unit, names)
        elif state is not None:
            state.satisfied(wanted, solve(self, solved))

    def op_want(
        self, fields: tuple[FieldPlan, ...], test: Function, lacking: bool, solved: tuple[Way, ...]
    ) -> None:
        """Have a flag be that of the fields under it."""
        if (state := self.writer.state) is None:
            return
        program = self.writer.program
        empty = {each.name: absent_value(program, each.type, each.default) for each in fields}
        wanted = any(self.values[name] != value for name, value in empty.items())
        holds, way = bool(test(self)), solve(self, solved)
        optional = not lacking and all(each is None for each in empty.values())
        if wanted == holds or not (wanted or optional):
            state.satisfied(holds, way)
        else:
            reason = "given, but its condition does not hold" if wanted else "not given"
            state.settle(fields[0].name, wanted, holds, way, reason)

    def op_choose(
        self,
        name: str,
        value: Function,
        on: Function,
        cases: Iterable[tuple[str, Function]],
        solved: tuple[Way, ...],
    ) -> None:
        """Have what chooses a case be that of the one case alone that has such an object."""
        if (state := self.writer.state) is None:
            return
        node = value(self)
        matching = [case(self) for unit, case in cases if self._is_of(unit, node)]
        if len(matching) != 1:
            return
        wanted, chosen, way = matching[0], on(self), solve(self, solved)
        if chosen == wanted:
            state.satisfied(wanted, way)
        else:
            state.settle(name, wanted, chosen, way, "an object of this type has another case")

    # -- what is known afterwards ---------------------------------------------------------------------

    def op_distance(self, start: Function, end: Function, plus: Function | None) -> int:
        return int(end(self) - start(self) + (0 if plus is None else plus(self)))

    def op_checksum_of(self, function: str, start: Function, end: Function) -> int:
        return int(getattr(crc, function)(bytes(self.writer.out[start(self) : end(self)])))

    def op_late(self, name: str, held: Function, value: Function, counted: bool) -> None:
        have = held(self)
        if have is not None and have != (need := value(self)):
            reason = "wrong number of elements" if counted else "wrong size"
            raise EncodeError(name, reason, need=need, have=have)

    def op_patch(self, place: Function, wire: str, order: str, value: Function, name: str) -> None:
        data, at = _number(wire, order, value(self), name), place(self)
        self.writer.out[at : at + len(data)] = data


class _UnitWriter(WriterFunctions):
    """The code that writes a unit as functions of a frame; `objects` are those in its runs."""

    frame = Frame

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.parameters = [each.name for each in unit.parameters]
        self.fields = {each.name for each in unit.fields if each.kept}
        runs = (step for step in steps_in(unit.steps) if isinstance(step, plan.Fixed))
        self.objects = [each for step in runs for each in reversed(step.objects)]
        self.write = self.block(writer_of(unit))

    def each(self, each: ir.Each) -> Run:
        return partial(_each, each, self.block(each.body))

    def each_tag(self, each: ir.EachTag) -> Run:
        return partial(_each_tag, each.section, [(tag, self.block(body)) for tag, body in each.tags])


def _each(each: ir.Each, body: Block, f: Frame) -> None:
    writer, name, around = f.writer, each.name, (f.item, f.index)
    for index, item in enumerate(_of_type(list, f.values[each.field], name)):
        start, f.index, f.item = len(writer.out), index, item
        try:
            for part in body:
                part(f)
        except EncodeError as error:
            raise error.within(name, index) from None
        if len(writer.out) == start and each.count is None and each.until is None:
            raise EncodeError(name, "an element without bytes could not be read back", have=item)
    f.item, f.index = around


def _each_tag(section: plan.Tagged, known: list[tuple[plan.TagPlan, Block]], f: Frame) -> None:
    version: Any = f.values.get(f.code.unit.version_name)
    tags = [
        _of_type(tuple, each, section.name) for each in _of_type(list, f.values[section.name], section.name)
    ]
    for tag, body in known:
        spec, value = f.code.unit.field(tag.name), f.values[tag.name]
        if value == absent_value(f.writer.program, spec.type, tag.default):
            continue
        if tag.versions is not None and version not in tag.versions:
            if spec.droppable:
                continue
            raise EncodeError(tag.name, "not in this version", have=value)
        f.op_open()
        for part in body:
            part(f)
        tags.append((tag.number, f.op_close()))
    write_tags(f.writer.out, tags, section.name)


def _require_object(code: _UnitWriter, value: Any, name: str) -> None:
    missing = code.fields - _of_type(dict, value, name).keys()
    if missing:
        raise EncodeError(min(missing), "not given")


def _of_type(kind: type | tuple[type, ...], value: Any, name: str) -> Any:
    if not isinstance(value, kind):
        raise EncodeError(name, "not given" if value is None else _OTHER_TYPE, have=value)
    return value


@cache
def _packed(wire: str, order: str) -> Callable[[Any], bytes]:
    return Struct(("<" if order == "le" else ">") + WIRE[wire].python.code).pack


def _number(wire: str, order: str, value: Any, name: str) -> bytes:
    """The bytes of a number, a flag or a UUID."""
    if WIRE[wire].kind == "UUID":
        return bytes(_of_type(UUID, value, name).bytes)
    try:
        return _packed(wire, order)(value)
    except (StructError, OverflowError) as error:
        raise EncodeError(name, "not given" if value is None else str(error), have=value) from None
