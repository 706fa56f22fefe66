"""Typed code as Go: statements and operations, of layouts and what streams have in common with them.

Readers of layouts keep the first error, and have no bytes from then on; only loops look at it. Writers return
theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from kodec.generator.code.layout_printing import LayoutPrinter
from kodec.generator.code.printing import camel
from kodec.generator.code.typed import (
    LONG,
    PLACE,
    Bytes,
    Code,
    Each,
    Elements,
    LayoutCode,
    Run,
    Section,
    Statement,
    Switch,
    Tags,
    UnitCode,
    Unpacked,
    Walk,
    Within,
)
from kodec.generator.plan.steps import Program
from kodec.generator.plan.values import (
    COMPARISONS,
    FLAG,
    IDENTITY,
    OCTETS,
    STREAM,
    Maybe,
    Real,
    Type,
    Whole,
    bare,
)
from kodec.generator.targets.go.names import Names, exported, local
from kodec.generator.targets.go.types import Types, literal, whole
from kodec.generator.wire import WIRE

__all__ = ["GoPrinter"]

_LEVELS = ("or", "and", "== != < <= > >=", "+ - | ^", "* & << >>")
_BINDS = {op: level for level, ops in enumerate(_LEVELS, 1) for op in ops.split()}
_COMPARED, _SUM, _PRODUCT = _BINDS["=="], _BINDS["+"], _BINDS["*"]


class GoPrinter(LayoutPrinter):
    """One unit for its template.

    Attributes:
        imports: the packages that its text needs.
        depth: how deep an expression is in others, by which gofmt sets spaces.
    """

    indent = "\t"
    nil = "nil"
    words: ClassVar[Mapping[str, str]] = {**LayoutPrinter.words, "~": "^"}

    def __init__(
        self,
        names: Names,
        types: Types,
        code: UnitCode | LayoutCode,
        comments: dict[str, str],
        program: Program,
    ) -> None:
        self.names = names
        self.code = code  # type: ignore[assignment]
        self.comments = comments
        self.program = program
        self.go = types.of
        self.type = names.type(code.unit.name)
        self.imports: set[str] = set()
        self.depth = 1

    # -- for templates ----------------------------------------------------------------------------

    @property
    def members(self) -> list[tuple[str, str, str]]:
        """(schema's name, name, type) of each field."""
        return [(name, exported(name), self.go(kind)) for name, kind in self.code.fields]

    @property
    def result(self) -> str:
        """The type of the value that it stands for."""
        kind = self.code.result  # type: ignore[attr-defined]
        return self.go(kind)

    def statements(self, code: Sequence[Statement]) -> str:
        """Lines of a function, each with its end."""
        return "".join(f"{line}\n" for line in self.block(code))

    def declared(self, kind: Type, name: str) -> str:
        return f"{name} {self.go(kind)}"

    def parameter(self, name: str) -> str:
        return local(name)

    def is_pointer(self, kind: Type) -> bool:
        """Whether a value of the type can be nil."""
        text = self.go(kind)
        return text == "any" or text[0] in "[*"

    # -- names and types --------------------------------------------------------------------------

    def variable(self, name: str) -> str:
        """A local: `start_of:x` is the place of a field, `field:x` a field that no object has."""
        head, _, of = name.rpartition(":")
        if not head:
            return name
        return local(of) if head == "field" else f"{camel(head)}{exported(of)}"

    def is_object(self, unit: str) -> bool:
        return self.program.units[unit].stands_for is None

    def is_filled(self, value: Code) -> bool:
        """Whether a value is an object that is read where it is kept."""
        return value.op == "read" and self.is_object(value.args[0])

    # -- statements -------------------------------------------------------------------------------

    def test(self, test: Code) -> str:
        return f"if {self(test)}"

    def let(self, name: str, value: Code) -> str:
        place = self.variable(name)
        if value.op == "const" and value.args[0] is None:
            return self.declare(place, value.type)
        if value.op == "pack":
            return f"{place}, err := {self(value)}\n{self._returned('err != nil')}"
        if self.is_filled(value):
            return f"{self.declare(place, value.type)}\n{self._read_into(place, value)}"
        text = self(value)
        if value.op == "const" and value.type == LONG:
            text = f"int64({text})"
        return f"{place} := {text}"

    def declare(self, name: str, kind: Type) -> str:
        return f"var {name} {self.go(kind)}"

    def set(self, target: Code, value: Code) -> str:
        place = self(target)
        if value.op == "pack":
            return self._returned(f"{place}, err = {self(value)}; err != nil")
        if not self.is_filled(value):
            return super().set(target, value)
        if self.go(target.type) == "any":
            return f"var found {self.go(value.type)}\n{self._read_into('found', value)}\n{place} = found"
        before = ""
        if isinstance(target.type, Maybe):
            before = f"{place} = new({self.go(target.type.of)})\n"
        elif value.args[-1]:
            before = f"{place} = {self.go(target.type)}{{}}\n"
        return before + self._read_into(place, value)

    def _read_into(self, place: str, value: Code) -> str:
        _, io, given, _ = value.args
        return f"{place}.read({self.given((io, *given))})"

    def _returned(self, test: str, error: str = "err") -> str:
        return f"if {test} {{\n\treturn nil, {error}\n}}"

    def run(self, each: Run) -> Iterator[str]:
        fields = ", ".join(f"field{{{literal(name)}, {width}}}" for name, width in each.fields)
        yield f"{each.name} := r.fixed({each.size})"
        yield f"if {each.name} == nil {{"
        yield from (f"\tr.short({fields})", "\treturn", "}")

    def switch(self, each: Switch) -> Iterator[str]:
        yield f"switch {self(each.on)} {{"
        for value, body in each.cases:
            yield f"case {self(value)}:"
            yield from self.block(body)
        if each.other:
            yield "default:"
            yield from self.block(each.other)
        yield "}"

    def within(self, each: Within) -> Iterator[str]:
        yield "if r.err == nil {"
        yield from self.block(each.body)
        yield from (f"\tr.within({literal(each.name)})", "}")

    def elements(self, each: Elements) -> Iterator[str]:
        items, name, kind = self(each.target), literal(each.name), self.go(bare(each.target.type))
        to_end = each.count is None and each.until is None
        if each.count is not None:
            yield f"{items} = make({kind}, {self._call('r.count', name, each.count, str(each.least))})"
            yield f"for i := range {items} {{"
        else:
            more = f"r.more({name}, i)" if to_end else "r.err == nil"
            yield f"{items} = {kind}{{}}"
            yield from (f"for i := 0; {more}; i++ {{", f"\t{items} = grown({items})")
        if to_end:
            yield "\tat := r.pos"
        yield from self.block(each.body)
        yield f"\tif r.failedIn({name}, i){f' || r.stays({name}, at)' if to_end else ''} {{"
        yield from ("\t\treturn", "\t}")
        if each.until is not None:
            yield from (f"\t{self.test(each.until)} {{", "\t\tbreak", "\t}")
        yield "}"

    def walk(self, each: Walk) -> Iterator[str]:
        yield f"for i := range {self(each.target)} {{"
        yield from self.block(each.body)
        yield "}"

    def tags(self, each: Tags) -> Iterator[str]:
        yield f"for n := r.tags({literal(each.name)}); n > 0; n-- {{"
        yield from ("\tnumber, end := r.tag()", "\tswitch {")
        for number, test, body in each.cases:
            more = "" if test is None else f" && {self._side(test, _BINDS['and'])}"
            yield f"\tcase number == {number}{more}:"
            yield from self.block(body, 2)
        unknown = self(each.target)
        yield from ("\tdefault:", f"\t\t{unknown} = append({unknown}, RawTag{{number, r.rest()}})", "\t}")
        yield from ('\tif r.leave("", end); r.err != nil {', "\t\treturn", "\t}", "}")

    def bytes(self, each: Bytes) -> Iterator[str]:
        yield f"{each.name}, err {'' if each.declared else ':'}= func(b []byte) (_ []byte, err error) {{"
        yield from self.block(each.body)
        yield from ("\treturn b, nil", "}(make([]byte, 0, 256)) // enough for most, and on the stack")
        yield self._returned("err != nil")

    def unpacked(self, each: Unpacked) -> Iterator[str]:
        yield f"inner := r.unpack({self.given((each.name, each.codec, each.data, each.at))})"
        yield from self.block(each.body, 0)
        inner = Code("var", ("inner",), STREAM)
        yield f"r.took({self.given((inner, each.name, each.codec, each.at))})"

    def section(self, each: Section) -> Iterator[str]:
        yield f"section, err := newSection(b, {literal(each.name)}, {self(each.unknown)})"
        yield self._returned("err != nil")
        for number, test, fails, body in each.tags:
            yield f"{self.test(test)} {{"
            yield from self.block(fails)
            begin = self._returned(f"b, err = section.begin(b, {number}); err != nil")
            yield from (f"\t{line}" for line in begin.split("\n"))
            yield from self.block(body)
            yield from ("\tb = section.end(b)", "}")
        yield "b = section.closed(b)"

    def each(self, each: Each) -> Iterator[str]:
        raise TypeError(each)

    # -- expressions ------------------------------------------------------------------------------

    @contextmanager
    def _deeper(self, by: int = 1) -> Iterator[None]:
        self.depth += by
        yield
        self.depth -= by

    def _call(self, function: str, *parts: Code | str) -> str:
        """A call; several arguments are deeper than one."""
        with self._deeper(len(parts) > 1):
            return f"{function}({', '.join(each if isinstance(each, str) else self(each) for each in parts)})"

    def given(self, parts: Iterable[Any]) -> str:
        parts = tuple(parts)
        with self._deeper(len(parts) > 1):
            return super().given(parts)

    def _binds(self, code: Code) -> int:
        """How tightly an operation binds; those that never need parentheses tighter than all."""
        match code.op:
            case "op" if not self.is_called(code):
                return _BINDS[code.args[0]]
            case "op" if code.args[0] not in ("==", "!="):
                return _COMPARED
            case "is":
                return _COMPARED
            case "not" if code.args[0].op == "is":
                return _COMPARED
            case "convert" if code.type == FLAG:
                return _COMPARED
            case "load" | "number" if code.type == FLAG:
                return _COMPARED
        return _PRODUCT + 1

    def _levels(self, code: Code) -> Iterator[int]:
        """How tightly the operators bind that are in an operation without parentheses."""
        own = self._binds(code)
        yield own
        for part, least in zip(code.args[1:], (own, own + 1), strict=True):
            if part.op == "op" and least <= self._binds(part) <= _PRODUCT:
                yield from self._levels(part)

    def of_op(self, code: Code, op: str, left: Code, right: Code) -> str:
        if self.is_called(code):
            return self.comparison(op, left, right)
        own, mixed = _BINDS[op], {_SUM, _PRODUCT} <= set(self._levels(code))
        # gofmt leaves no space around sums and products inside others, nor around products beside sums
        spaced = _COMPARED if self.depth > 1 else _SUM if mixed else _PRODUCT
        space = " " if own <= spaced else ""
        sides = self._side(left, own, own), self._side(right, own + 1)
        return f"{space}{self.words.get(op, op)}{space}".join(sides)

    def _side(self, part: Code, least: int, chained: int = 0) -> str:
        """A side of an operator, in parentheses where it binds less than `least`."""
        binds = self._binds(part)
        if binds < least:
            return f"({self(part)})"
        with self._deeper(binds != chained):
            return self(part)

    def is_called(self, code: Code) -> bool:
        if code.op != "op" or code.args[0] not in COMPARISONS:
            return False
        return bool(code.args[1].type == OCTETS or code.args[2].op == "new")

    def comparison(self, op: str, left: Code, right: Code) -> str:
        self.imports.add("reflect" if right.op == "new" else "bytes")
        if right.op == "new":
            return f"!reflect.DeepEqual({self.given((left, right))})"
        if op in ("==", "!="):
            return f"{'!' if op == '!=' else ''}bytes.Equal({self.given((left, right))})"
        return f"bytes.Compare({self.given((left, right))}) {op} 0"

    def literal(self, value: Any) -> str:
        return literal(value)

    def constant(self, value: Any, kind: Type) -> str:
        if isinstance(value, str):
            return literal(value)
        if isinstance(kind, Real) and value is not None:
            # a constant of Go has no sign where it is 0
            if str(value) != "-0.0":
                return self.real(value)
            self.imports.add("math")
            return "math.Copysign(0, -1)"
        return literal(value)

    def real(self, value: float) -> str:
        """A real number, which takes the type that is asked for."""
        return repr(value)

    def of_var(self, code: Code, name: str) -> str:
        return self.variable(name)

    def of_this(self, code: Code) -> str:
        return "v"

    def of_field(self, code: Code, owner: Code, unit: str, name: str) -> str:
        return f"{self(owner)}.{exported(name)}"

    def of_element(self, code: Code, of: Code) -> str:
        return f"{self(of)}[i]"

    def of_seen(self, code: Code, bit: int) -> str:
        raise TypeError(code)

    def of_pos(self, code: Code, stream: Code) -> str:
        return "len(b)" if self(stream) == "b" else "r.pos"

    def of_held(self, code: Code, of: Code, name: str) -> str:
        return f"*{self(of)}" if self.go(of.type).startswith("*") else self(of)

    def of_make(self, code: Code, unit: str, members: tuple[tuple[str, Code], ...]) -> str:
        raise TypeError(code)

    def of_return(self, code: Code, value: Code) -> str:
        raise TypeError(code)

    def of_fit(self, code: Code, name: Code, value: Code, width: int) -> str:
        raise TypeError(code)

    def of_text(self, code: Code, io: Code, name: str, size: Code | None, encoding: str) -> str:
        data = "r.rest()" if size is None else f"r.octets({self.given((name, size))})"
        return f"string({data})"

    def of_zero(self, code: Code) -> str:
        return "(UUID{})"

    def of_new(self, code: Code, unit: str) -> str:
        return f"New{self.names.type(unit)}()"

    def of_sign(self, code: Code, op: str, of: Code) -> str:
        return f"{self.words.get(op, op)}{self._side(of, _PRODUCT + 1)}"

    def of_choose(self, code: Code, test: Code, yes: Code, no: Code) -> str:
        return self._call(f"pick[{self.go(code.type)}]", test, yes, no)

    def of_list(self, code: Code, *items: Code) -> str:
        return f"{self.go(code.type)}{{{self.given(items)}}}"

    def of_is_of(self, code: Code, of: Code, kind: Type) -> str:
        return f"is[{self.go(kind)}]({self(of)})"

    def of_cast(self, code: Code, of: Code) -> str:
        return f"{self(of)}.({self.go(code.type)})"

    def of_edge(self, code: Code, which: str, of: Code, item: Type, value: Code) -> str:
        around, self.depth = self.depth, 1
        number = f"func(each *{self.go(item)}) int64 {{ return {self(value)} }}"
        self.depth = around
        return self._call(which, of, number)

    def of_nth(self, code: Code, name: str) -> str:
        return f"nth({literal(name)}, i)"

    def of_convert(self, code: Code, of: Code) -> str:
        have, want, text = of.type, code.type, self(of)
        if self.go(want) == "any" or isinstance(have, Maybe):
            return text
        if isinstance(want, Maybe):
            kind = self.go(want)
            return f"pointer[{kind[1:]}]({text})" if kind.startswith("*") else text
        if want == FLAG:
            return f"{self._side(of, _COMPARED + 1)} != 0"
        to = self.go(want)
        if have == FLAG:
            return self._call(f"pick[{to}]", of, "1", "0")
        return text if self.go(have) == to else f"{to}({text})"

    # -- reading ----------------------------------------------------------------------------------

    def of_read(self, code: Code, *args: Any) -> str:
        unit, io, given, _ = args
        if self.is_object(unit):
            return f"new({self.names.type(unit)}).read({self.given((io, *given))})"
        return f"read{self.names.type(unit)}({self.given((io, *given))})"

    def of_number(self, code: Code, io: Code, wire: str, order: str, name: str) -> str:
        return self._loaded(wire, order, f"{self(io)}.take({literal(name)}, {WIRE[wire].least})")

    def of_load(self, code: Code, run: Code, wire: str, order: str, offset: int) -> str:
        return self._loaded(wire, order, self(run), offset)

    def _loaded(self, wire: str, order: str, data: str, offset: int = 0) -> str:
        """The value of a wire type in bytes."""
        form = WIRE[wire]
        at, bits = f"{data}[{offset}:]" if offset else data, 8 * form.least
        if form.kind == "UUID":
            return f"UUID({at})"
        raw = f"{data}[{offset}]" if bits == 8 else f"{self._order(order)}.Uint{bits}({at})"
        if form.kind == "boolean":
            return f"{raw} != 0"
        if form.kind == "float":
            self.imports.add("math")
            return f"math.Float{bits}frombits({raw})"
        return f"int{bits}({raw})" if form.signed else raw

    def _order(self, order: str) -> str:
        """What loads and stores numbers in an order of bytes."""
        if order == "by":
            return "x.byteOrder()"
        self.imports.add("encoding/binary")
        return f"binary.{'LittleEndian' if order == 'le' else 'BigEndian'}"

    def of_slice(self, code: Code, run: Code, offset: int, size: int) -> str:
        return f"{self(run)}[{offset}:{offset + size}:{offset + size}]"

    def of_bits(self, code: Code, local: Code, shift: int, width: int) -> str:
        return f"bitsAt({self(local)}, {shift}, {width})"

    def of_function(self, code: Code, name: str) -> str:
        return f"checksum{name.capitalize()}"

    def of_on(self, code: Code, name: str, io: Code, *given: Any) -> str:
        return f"{self(io)}.{camel(name)}({self.given(given)})"

    def of_call(self, code: Code, name: str, *given: Any) -> str:
        if name == "size_of":
            size = f"len({self(given[0])})"
            return size if code.type == PLACE else f"int64({size})"
        return f"{camel(name)}({self.given(given)})"

    # -- writing ----------------------------------------------------------------------------------

    def of_put(self, code: Code, wire: str, order: str, value: Code, name: Code) -> str:
        form = WIRE[wire]
        bits = 8 * form.least
        if form.kind == "UUID":
            return f"b = append(b, {self(value)}[:]...)"
        with self._deeper():
            number = self._stored(wire, value)
        if bits == 8:
            return f"b = append(b, {number})"
        return f"b = {self._order(order)}.AppendUint{bits}(b, {number})"

    def _stored(self, wire: str, value: Code) -> str:
        """A number in the unsigned type of its width."""
        form = WIRE[wire]
        bits = 8 * form.least
        if form.kind == "boolean":
            return self._call("pick[byte]", value, "1", "0")
        if form.kind == "float":
            self.imports.add("math")
            return f"math.Float{bits}bits({self(value)})"
        return f"{'byte' if bits == 8 else f'uint{bits}'}({self(value)})"

    def of_put_varint(self, code: Code, wire: str, value: Code, name: Code) -> str:
        found = WIRE[wire].range
        assert found is not None
        with self._deeper():
            return f"b = append{wire.capitalize()}(b, {whole(Whole(*found))}({self(value)}))"

    def of_bits_of_parts(self, code: Code, *parts: tuple[Code, int]) -> str:
        found: Code | None = None
        for number, shift in parts:
            if shift:
                number = Code("op", ("<<", number, Code("const", (shift,), code.type)), code.type)
            found = number if found is None else Code("op", ("|", found, number), code.type)
        assert found is not None
        return self(found)

    def of_put_bits(self, code: Code, size: int, order: str, value: Code) -> str:
        return f"b = {self._call('appendBits', 'b', value, str(size), literal(order == 'le'))}"

    def of_append(self, code: Code, data: Code, name: Code, encoding: str) -> str:
        value = data.args[0] if data.op == "const" else None
        if isinstance(value, bytes) and not any(value):
            return f"b = append(b, make([]byte, {len(value)})...)"
        return f"b = append(b, {self(data)}{'[:]' if data.type == IDENTITY else ''}...)"

    def of_patch(self, code: Code, place: Code, wire: str, order: str, value: Code, name: Code) -> str:
        bits, at = 8 * WIRE[wire].least, self(place)
        with self._deeper(bits > 8):
            number = self._stored(wire, value)
        if bits == 8:
            return f"b[{at}] = {number}"
        return f"{self._order(order)}.PutUint{bits}(b[{at}:], {number})"

    def of_write(self, code: Code, unit: str, value: Code, given: tuple[Code, ...], name: Code) -> str:
        buffer = Code("var", ("b",), OCTETS)
        text = f"append{self.names.type(unit)}({self.given((buffer, value, *given))})"
        if self.is_object(unit):
            text = f"{self(value)}.Append({self.given((buffer, *given))})"
        error = "err" if name.args[0] == "" and name.op == "const" else f"within(err, {self(name)})"
        return self._returned(f"b, err = {text}; err != nil", error)

    def of_pack(self, code: Code, name: str, codec: Code, data: Code) -> str:
        return f"pack({self.given((name, codec, data))})"

    def of_checksum(self, code: Code, function: Code, start: Code, end: Code | None) -> str:
        return f"{self(function)}(b[{self(start)}:{'' if end is None else self(end)}])"

    def of_fail(self, code: Code, name: Code, reason: str, have: Code | None) -> str:
        with self._deeper():
            found = "nil" if have is None else self(have)
            return f"return nil, notEncodable({self(name)}, {literal(reason)}, {found})"

    # -- what no layout has -----------------------------------------------------------------------

    def of_index(self, code: Code) -> str:
        return "int64(i)"
