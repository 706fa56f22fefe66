"""The pass from code to typed code for units of layouts: how they are written.

It goes through the statements of `lower_write.py`. Sizes and counts have to be those of what is written:
nothing is settled. A value that is one of several types has to be of the type of its case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kodec.generator.code import ir
from kodec.generator.code.ir import Local, Op
from kodec.generator.code.lower_write import writer_of
from kodec.generator.code.typed import (
    LONG,
    PLACE,
    SAFE,
    Bytes,
    Code,
    Do,
    If,
    LayoutCode,
    Let,
    Section,
    Set,
    Statement,
    Style,
    Walk,
    stored,
)
from kodec.generator.code.typed_layouts import (
    LayoutReading,
    LayoutValues,
    both,
    codec_of,
    edge_of,
    field_type,
    has_elements,
    joined,
    negated,
    result_of,
    wire_type,
)
from kodec.generator.code.typed_values import constant
from kodec.generator.plan.steps import Derived, Packed, Program, Unit
from kodec.generator.plan.values import (
    ANY,
    FLAG,
    IDENTITY,
    OCTETS,
    SECTION,
    STREAM,
    TEXT,
    Constant,
    EnumOf,
    ListOf,
    Maybe,
    ObjectOf,
    OneOf,
    Type,
    Value,
    Whole,
    bare,
)
from kodec.generator.wire import WIRE

__all__ = ["layouts_of"]

_NUMBERED = (1, 2, 4, 8)


_Bits = tuple[int, int, Code, str]


class LayoutWriting(LayoutValues):
    """How a unit is written."""

    def __init__(self, program: Program, unit: Unit, style: Style) -> None:
        super().__init__(program, unit, style, writing=True)
        self.io = self.own = Code("var", ("b",), STREAM)
        # the list whose element is written, and what is known of the type of a value
        self._list = ""
        self._sure: dict[Code, Type] = {}
        self._numbers: dict[str, int] = {}
        # the local that is true where there is something to compress
        self._content = ""
        self._counted: list[Code] = []
        self._encodings: dict[str, str] = {}
        self._parts: dict[str, _Bits] = {}

    def body(self) -> tuple[Statement, ...]:
        return self.function(writer_of(self.unit))

    def _compared(self, op: str, left: Code, right: Code) -> Code:
        # what has been counted is not negative
        if op == ">=" and left in self._counted and right.op == "const" and right.args[0] <= 0:
            return constant(True)
        return super()._compared(op, left, right)

    def name(self, name: str) -> Code:
        """What errors call a field, or the element of a list."""
        if self.index is not None and not name:
            return Code("nth", (self._list,), TEXT)
        return Code("const", (name,), TEXT)

    def fail(self, name: str, reason: str, have: Code | None) -> Do:
        return Do(Code("fail", (self.name(name), reason, have), ANY))

    def local(self, name: str, kind: Type) -> Code:
        self._numbers[name] = self._numbers.get(name, 0) + 1
        return Code("var", (f"{name}{self._numbers[name]}",), kind)

    # -- statements -------------------------------------------------------------------------------

    def statement(self, statement: ir.Statement, rest: Sequence[ir.Statement]) -> None:
        match statement:
            case ir.Let(name, Op("is_content")):
                assert self.unit.packed is not None
                self._content = name
                self._pack(self.unit.packed)
            case ir.If(((Local(name), then),)) if name == self._content:
                closing = then[-1]
                assert isinstance(closing, ir.Let)
                self.known[closing.name] = Code("var", ("packed",), OCTETS)
            case ir.If(((test, then),)) if then and then[0] == ir.do("open"):
                self._measured(test, then)
            case ir.Let(name, Constant(None)) if name.startswith("held_of_"):
                self._held(name)
            case ir.Let("item", value):
                self.item = self._item(value)
            case ir.Let(name, value):
                self._let_value(name, value)
            case ir.Set(_, Op("follow", (derived, of, measured, plus, when))):
                self._follow(derived, of, measured, plus, when)
            case ir.Do(op):
                self._do(op)
            case ir.If(cases, other):
                self.cases(cases, other)
            case ir.Within(name, (ir.Do(Op("write", (unit, value, arguments, _))),)):
                self._write(unit, value, arguments, name)
            case ir.Each():
                self._each(statement)
            case ir.EachTag():
                self._tags(statement)
            case _:
                raise TypeError(statement)

    def _each(self, each: ir.Each) -> None:
        target = self._there(self.place(each.field))
        kind = bare(target.type)
        assert isinstance(kind, ListOf)
        around = self.item, self.index, self._list
        self.item, self.index = Code("element", (target,), kind.item), Code("index", (), LONG)
        self.known["item"], self._list = self.item, each.name
        body = self.block(each.body)
        self.item, self.index, self._list = around
        self.made.append(Walk(target, each.name, body))

    def _tags(self, each: ir.EachTag) -> None:
        tags = []
        for tag, body in sorted(each.tags, key=lambda pair: pair[0].number):
            field = self.place(tag.name)
            test, fails = self.differs(field, tag.default), list[Statement]()
            if tag.versions is not None:
                known = self.in_versions(tag.versions)
                if self.unit.field(tag.name).droppable:
                    test = both(test, known)
                else:
                    around, self.made = self.made, fails
                    self.when(negated(known), (self.fail(tag.name, "not in this version", field),))
                    self.made = around
            tags.append((tag.number, test, tuple(fails), self.block(body)))
        self.made.append(Section(each.section.name, self.place(each.section.name), tuple(tags)))

    def _item(self, value: Any) -> Code:
        match value:
            case Op("distance", (start, _, plus)):
                end = self._place_of(value.args[1])
                length = self.local("length", self.whole())
                size = self.distance(start.name.removeprefix("start_of_"), end, plus)
                self.made.append(Let(length.args[0], size))
                return length
            case Op("checksum_of", (function, start, end)):
                here = None if isinstance(end, Op) else self._mark(end)
                of = Code("function", (function,), ANY)
                found = Code("checksum", (of, self._mark(start), here), Whole(0, (1 << 32) - 1))
                made = self.local("checksum", found.type)
                self.made.append(Let(made.args[0], found))
                return made
        self.known["item"] = self.code(value)
        return self.known["item"]

    def _mark(self, local: Local) -> Code:
        head, _, name = local.name.partition("_of_")
        return self.mark(head == "end", name)

    def _place_of(self, value: Any) -> Code:
        return self.position() if isinstance(value, Op) else self._mark(value)

    def _let_value(self, name: str, value: Any) -> None:
        match value:
            case Op("pos", (plus,)) if name.startswith(("start_of_", "end_of_")):
                head, _, field = name.partition("_of_")
                self.made.append(Let(self.mark(head == "end", field).args[0], self.position(plus)))
            case Op("pos", (plus,)):
                self.known[name] = Code("var", (name,), PLACE)
                self.made.append(Let(name, self.position(plus)))
            case Op("encoded", (of, encoding, shown)):
                self.known[name] = self.typed(of, TEXT if encoding else OCTETS, shown)
                self._encodings[name] = encoding
            case Op("as_bits", (shift, width, of, shown)):
                self._parts[name] = shift, width, self._there(self.code(of)), shown
            case Op("is_of", (unit, of)):
                self.known[name] = self._is_of(self.code(of), result_of(self.units[unit]))
            case Op("count_of" | "since") if name.startswith("held_of_"):
                held = self._held_of(name)
                size = self._size(value)
                late = self.unit.late_size(name.removeprefix("held_of_"))
                assert late is not None
                self.made.append(Set(held, size) if late.optional else Let(held.args[0], size))
            case Constant(None):
                pass
            case Op():
                raise TypeError(value)
            case _:
                self.known[name] = self.code(value)

    def _held_of(self, name: str) -> Code:
        return Code("var", (f"held_of:{name.removeprefix('held_of_')}",), self.whole())

    def _held(self, name: str) -> None:
        """How many bytes or elements a field has, which may not be there."""
        late = self.unit.late_size(name.removeprefix("held_of_"))
        assert late is not None
        if late.optional:
            self.made.append(Let(self._held_of(name).args[0], self.as_(constant(-1), self.whole())))

    def _size(self, op: Op) -> Code:
        match op:
            case Op("length_of", (data,)):
                return self.size_of(self.known[data.name])
            case Op("count_of", (value, _)):
                return self.size_of(self.code(value))
            case Op("since", (start,)):
                size = Code("op", ("-", self.position(), self.known[start.name]), PLACE)
                return Code("convert", (size,), self.whole())
        raise TypeError(op)

    # -- operations -------------------------------------------------------------------------------

    def _do(self, op: Op) -> None:
        match op:
            case Op("known", (unit,)):
                place = self.place(unit.version_name)
                self.when(self.outside(place), (self.fail(unit.version_name, "unknown version", place),))
            case Op("require", (test, name)):
                self.when(negated(self.flag(test)), (self.fail(name, "value not allowed", self.item),))
            case Op("missing", (value, spec, nullable)):
                self._missing(value, spec, nullable)
            case Op("put", (wire, order, value, name)):
                number = self._number_of(value, wire, name)
                self.do("put", wire, order, number, self.name(name))
            case Op("put_varint", (wire, value, name)):
                self.do("put_varint", wire, self._number_of(value, wire, name), self.name(name))
            case Op("put_bits", (size, order, parts)):
                self._put_bits(size, order, [self._parts[each.name] for each in parts])
            case Op("append", (value, name)):
                self._append(value, name)
            case Op("write", (unit, value, arguments, _)):
                self._write(unit, value, arguments, "")
            case Op("otherwise", (value, stored, lacking, name)):
                self._otherwise(self.code(value), stored, lacking, name)
            case Op("settle", (have, (value, _, _), name, reason, _)):
                size, need = self.together(self._size(have), self.code(value))
                wrong = Code("op", ("!=", size, need), FLAG)
                self.when(wrong, (self.fail(name, reason, size),))
            case Op("late", (name, held, value, counted)):
                have = self._held_of(held.name)
                wrong = Code("op", ("!=", *self.together(have, self.code(value))), FLAG)
                late = self.unit.late_size(name)
                assert late is not None
                if late.optional:
                    wrong = both(Code("op", (">=", have, self.as_(constant(0), have.type)), FLAG), wrong)
                reason = "wrong number of elements" if counted else "wrong size"
                self.when(wrong, (self.fail(self._in_errors(name), reason, have),))
            case Op("patch", (place, wire, order, _, name)):
                assert self.item is not None
                if self.item.type == self.whole():
                    self._in_range(self.item, wire, name)
                self.do("patch", self._mark(place), wire, order, self.item, self.name(name))
            case Op("is_object" | "want" | "choose"):
                pass
            case _:
                raise TypeError(op)

    def _in_errors(self, name: str) -> str:
        return "" if name == self.unit.stands_for else name

    def typed(self, value: Value | Local, kind: Type, name: str) -> Code:
        """A value that must be of a type, where it may be one of several."""
        code = self.code(value)
        if not isinstance(code.type, OneOf):
            return self._there(code)
        if self._sure.get(code) != kind:
            self.when(negated(self._is_of(code, kind)), (self.fail(name, "no case for this value", code),))
        return Code("cast", (code,), kind)

    def _is_of(self, code: Code, kind: Type) -> Code:
        if not isinstance(code.type, OneOf):
            return constant(True)
        return Code("is_of", (code, kind), FLAG)

    def cases(
        self, cases: Sequence[tuple[Any, tuple[ir.Statement, ...]]], other: tuple[ir.Statement, ...]
    ) -> None:
        tests = [self.known.get(test.name) if isinstance(test, Local) else None for test, _ in cases]
        if not tests or any(each is None for each in tests):
            super().cases(cases, other)
            return
        found = self.block(other)
        for test, (_, then) in reversed(list(zip(tests, cases, strict=True))):
            assert test is not None
            if test.op == "is_of":
                self._sure[test.args[0]] = test.args[1]
            body = self.block(then)
            self._sure.clear()
            found = body if test == constant(True) else (If(test, body, found),)
        self.made += found

    def _number_of(self, value: Value | Local, wire: str, name: str) -> Code:
        """A number that must be one of a wire type; a given one is, by its field's type."""
        kind, code = wire_type(wire), self.code(value)
        if isinstance(code.type, OneOf) and kind not in code.type.types:
            kind = next((each for each in code.type.types if isinstance(each, EnumOf)), kind)
        found = self.typed(value, kind, name)
        if found.op == "var" and found.type in (LONG, SAFE):
            self._in_range(found, wire, name)
        return found

    def _in_range(self, number: Code, wire: str, name: str) -> None:
        kind = wire_type(wire)
        if WIRE[wire].bits < 64 and not self.style.checked:
            narrow = Code("convert", (Code("convert", (number,), kind),), LONG)
            wrong = Code("op", ("!=", number, narrow), FLAG)
            self.when(wrong, (self.fail(name, "out of range", number),))

    def _put_bits(self, size: int, order: str, parts: list[_Bits]) -> None:
        """Bits that share bytes, as one number."""
        kind = self.of_bits(size)
        numbers = tuple((self._fitting(of, width, name, kind), shift) for shift, width, of, name in parts)
        found = Code("bits_of_parts", numbers, kind)
        shown = Code("const", (parts[0][3],), TEXT)
        if size in _NUMBERED:
            self.do("put", f"u{size}", order, found, shown)
        else:
            self.do("put_bits", size, order, found)

    def _fitting(self, of: Code, width: int, name: str, kind: Whole) -> Code:
        """A number that must fit a width in bits."""
        if self.style.checked:
            return Code("fit", (self.name(name), of, width), kind)
        number = self.as_(of, kind)
        if of.type != FLAG and width < 64:
            too_large = Code("op", (">=", number, Code("const", (1 << width,), kind)), FLAG)
            self.when(too_large, (self.fail(name, f"does not fit {width} bits", number),))
        return number

    def _append(self, value: Any, name: str) -> None:
        encoding = ""
        match value:
            case Op("sized", (size, of, shown)):
                data = self.typed(of, OCTETS, shown)
                have = self.size_of(data)
                wrong = Code("op", ("!=", have, self.as_(constant(size), have.type)), FLAG)
                self.when(wrong, (self.fail(shown, f"needs {size} bytes", have),))
            case Local(local):
                data, encoding = self._there(self.known[local]), self._encodings.get(local, "")
            case _:
                data = self._there(self.code(value))
        self.do("append", data, self.name(name), encoding)

    def _write(self, unit: str, value: Value | Local, arguments: Iterable[Value], name: str) -> None:
        inner, found = self.units[unit], self.code(value)
        if isinstance(found.type, OneOf):
            found = self.typed(value, result_of(inner), name)
        if inner.stands_for is None and found.op == "cast":
            held = self.local("held", found.type)
            self.made.append(Let(held.args[0], found))
            found = held
        self.do("write", unit, found, self.passed(unit, arguments), self.name(name))

    def _otherwise(self, value: Code, stored: bool, lacking: bool, name: str) -> None:
        """A value for which a switch has no case."""
        wrong: tuple[Statement, ...] = (self.fail(name, "no case for this value", value),)
        if isinstance(value.type, OneOf):
            if lacking:
                wrong = (If(self.there_is(value), wrong),)
            data = Code("cast", (value,), OCTETS)
            put = (Do(Code("append", (data, self.name(name), ""), ANY)),)
            self.made += (If(self._is_of(value, OCTETS), put, wrong),) if stored else wrong
        elif stored and bare(value.type) == OCTETS:
            self.do("append", self._there(value), self.name(name), "")
        elif lacking and isinstance(value.type, Maybe):
            self.made.append(If(self.there_is(value), wrong))
        elif not lacking:
            self.made += wrong

    def _missing(self, value: Value, spec: Any, nullable: bool) -> None:
        field = self.code(value)
        tests = [self.differs(field, each) for each in dict.fromkeys((spec.default, spec.absent))]
        if nullable and isinstance(spec.type, Maybe):
            tests.append(self.differs(field, Constant(None, spec.type)))
        self.when(both(*tests), (self.fail(spec.name, "not in this version", field),))

    def differs(self, field: Code, default: Constant | None) -> Code:
        """The test that a field does not hold a constant; None is an empty list, a new object, and so on."""
        value = None if default is None else default.value
        if isinstance(field.type, OneOf) or (default is not None and value is None):
            return self.there_is(field)
        if isinstance(field.type, Maybe):
            return joined("or", negated(self.there_is(field)), self.differs(self._there(field), default))
        kind = field.type
        if kind == FLAG:
            return negated(field) if value else field
        if isinstance(kind, ObjectOf):
            return Code("op", ("!=", field, Code("new", (kind.unit,), kind)), FLAG)
        if isinstance(kind, ListOf) or kind in (SECTION, OCTETS):
            if not value:
                return has_elements(field)
            return Code("op", ("!=", field, Code("const", (value,), OCTETS)), FLAG)
        if kind == IDENTITY and value is None:
            return Code("op", ("!=", field, Code("zero", (), IDENTITY)), FLAG)
        if value is None:
            value = "" if kind == TEXT else 0
        return Code("op", ("!=", field, Code("const", (value,), kind)), FLAG)

    # -- what follows from other fields -----------------------------------------------------------

    def _measured(self, test: Value, then: tuple[ir.Statement, ...]) -> None:
        """The bytes of a field, which a length in front of them counts."""
        closing, step = then[-1], then[1:-1]
        assert isinstance(closing, ir.Let)
        there = self.flag(test)
        kind = OCTETS if there == constant(True) else Maybe(OCTETS)
        body = self.block(step)
        match body:
            case (Do(Code("append", (text, _, encoding))),):
                self.known[closing.name], self._encodings[closing.name] = text, encoding
                return
        data = self.known[closing.name] = self.local("measured", kind)
        if there == constant(True):
            self.made.append(Bytes(data.args[0], body, declared=False))
        else:
            self.made.append(Let(data.args[0], Code("const", (None,), kind)))
            self.when(there, (Bytes(data.args[0], body, declared=True),))

    def _follow(
        self, derived: Derived, of: Value, measured: Local | None, plus: Value | None, when: Value | None
    ) -> None:
        target, source = self.place(derived.name), self.code(of)
        if derived.kind in ("last", "most"):
            self._follow_elements(derived, source, plus, when)
            return
        held = source if measured is None or derived.kind != "length" else self.known[measured.name]
        size = constant(1) if derived.kind == "presence" else self.size_of(held)
        size = self.as_(self.added(size, plus), target.type)
        # its bytes are there where it is
        there = self.there_is(held if held.op == "var" and isinstance(held.type, Maybe) else source)
        if there == constant(True):
            self.put(target, size)
            if plus is None:
                self._counted.append(target)
        else:
            self.put(target, constant(derived.null or 0))
            self.when(there, (Set(target, size),))

    def _follow_elements(self, derived: Derived, of: Code, plus: Value | None, when: Value | None) -> None:
        """A number of the last or the largest element: what is given is compared, what is not computed."""
        name, target = derived.name, self.place(derived.name)
        kind = bare(self.unit.field(name).type)
        given = Code("field", (self.this, self.unit.name, name), Maybe(kind))
        found = self.added(edge_of(self, derived.kind, of, derived.member), plus)
        found = self.as_(found, target.type)
        some = has_elements(of)
        holds = some if when is None else both(some, self.flag(when))
        differs = Code("op", ("<" if derived.at_least else "!=", target, found), FLAG)
        self.put(target, constant(0))
        lacks = self.fail(name, "cannot be derived here: a value is required", None)
        self.when(
            self.there_is(given),
            (
                Set(target, self.as_(given, target.type)),
                If(both(holds, differs), (self.fail(name, derived.differs, target),)),
            ),
            (If(negated(holds), (lacks,), (Set(target, found),)),),
        )

    def _pack(self, packed: Packed) -> None:
        """The content of a field, compressed; bytes are taken as they are."""
        value, made = self.place(packed.name), Code("var", ("packed",), OCTETS)
        codec = codec_of(self, packed, packed.by, packed.when)
        kind = result_of(self.units[packed.unit])
        unknown = Code("op", ("==", codec, Code("const", ("",), TEXT)), FLAG)
        name = Code("const", (packed.name,), TEXT)
        number = self.long(packed.by)

        def content(of: Code, before: tuple[Statement, ...] = ()) -> tuple[Statement, ...]:
            write = Do(Code("write", (packed.unit, of, (), name), ANY))
            bytes_ = Code("var", ("content",), OCTETS)
            return (
                If(unknown, (self.fail(packed.by_path, "unknown codec", number),)),
                *before,
                Bytes("content", (write,), declared=False),
                Set(made, Code("pack", (packed.name, codec, bytes_), OCTETS)),
            )

        if isinstance(value.type, OneOf):
            self.made.append(Let("packed", Code("const", (None,), OCTETS)))
        if not isinstance(value.type, OneOf):
            *before, last = content(value)
            assert isinstance(last, Set)
            self.made += (*before, Let("packed", last.value))
            return
        held, cast = self.local("held", kind), Code("cast", (value,), kind)
        whole = content(held, (Let(held.args[0], cast),))
        wrong = self.fail(packed.name, "neither bytes nor content", value)
        other = If(self._is_of(value, kind), whole, (wrong,))
        stored = Set(made, Code("cast", (value,), OCTETS))
        self.when(self.there_is(value), (If(self._is_of(value, OCTETS), (stored,), (other,)),))


_FILLED = Style()


def layouts_of(program: Program, style: Style = _FILLED) -> dict[str, LayoutCode]:
    """The typed code of each unit."""
    found = {}
    for unit in program.units.values():
        reading, writing = LayoutReading(program, unit, style), LayoutWriting(program, unit, style)
        found[unit.name] = LayoutCode(
            unit,
            tuple((each.name, stored(each.type)) for each in unit.parameters),
            tuple((name, field_type(unit, name)) for name in reading.members),
            writing.initial(absent=False),
            () if style.built else reading.initial(absent=True),
            reading.body(),
            writing.body(),
            None if unit.stands_for is None else result_of(unit),
        )
    return found
