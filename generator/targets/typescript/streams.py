"""Streamed units as TypeScript: statements, operations, and types of what they read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kodec.generator.code.printing import WriterPrinter, camel, may_be_negative
from kodec.generator.code.typed import ULONG, Code, Each, Items, Statement, UnitCode, is_number
from kodec.generator.code.typed_write import WriterCode
from kodec.generator.plan.values import (
    ANY,
    COMPARISONS,
    FLAG,
    OBJECT,
    OCTETS,
    STREAM,
    TEXT,
    EnumOf,
    ListOf,
    Maybe,
    OneOf,
    Real,
    Type,
    Whole,
    bare,
)
from kodec.generator.targets.typescript.names import Names, member, pascal
from kodec.generator.targets.typescript.types import Types, constant, is_big
from kodec.generator.wire import WIRE

__all__ = ["StreamPrinter", "StreamTypes"]

_PLAIN: dict[Type, str] = {STREAM: "streams.Source", OBJECT: "streams.StreamedObject", ANY: "unknown"}


class StreamTypes(Types):
    """The TypeScript types of values of streamed schemas."""

    def of(self, kind: Type) -> str:
        return _PLAIN.get(kind) or super().of(kind)


class StreamPrinter(WriterPrinter):
    """One streamed unit for its template."""

    indent = "  "
    end = ";"
    is_writing = is_reading = False

    def __init__(
        self,
        names: Names,
        code: UnitCode,
        writer: WriterCode | None,
        comments: dict[str, str],
        *,
        seeks: bool = False,
    ) -> None:
        self.names = names
        self.code = code
        self.writer = writer
        self.seeks = seeks
        self.ts = StreamTypes(names).of
        self.type = names.type(code.unit.name)
        self.comments = comments

    @property
    def members(self) -> Iterator[tuple[str, str]]:
        """(schema's name, declaration) of each parameter and field."""
        for name, kind in (*self.code.parameters, *self.code.fields):
            zero = self.zero(kind)
            yield name, f"{member(name)}{'' if zero else '!'}: {self.ts(kind)}{f' = {zero}' if zero else ''};"

    def zero(self, kind: Type) -> str:
        """What a field is before it is read; empty if nothing is."""
        match kind:
            case Maybe() | OneOf():
                return "null"
            case Whole() | EnumOf():
                return "0n" if is_big(kind) else "0"
            case Real():
                return "0"
            case ListOf():
                return ""
        return "false" if kind == FLAG else '""' if kind == TEXT else ""

    def declared(self, kind: Type, name: str) -> str:
        return f"{name}: {self.ts(kind)}"

    @property
    def filled(self) -> list[tuple[str, str]]:
        """(field, parameter) of a new object."""
        return [(member(name), self.parameter(name)) for name, _ in self.code.parameters]

    def member(self, name: str) -> str:
        return member(name)

    def kept(self, name: str) -> str:
        return f"_kept{pascal(name)}"

    def bare(self, kind: Type) -> str:
        return self.ts(bare(kind))

    def parameter(self, name: str) -> str:
        return f"given{pascal(name)}"

    @property
    def placed(self) -> frozenset[str]:
        """The instances that can be set."""
        return frozenset(each.name for each in self.writer.placed) if self.writer is not None else frozenset()

    def written(self, deep: int = 2) -> str:
        """The statements that write it."""
        assert self.writer is not None
        return self._writing(self.writer.body, deep)

    def written_at(self, statements: tuple[Statement, ...], deep: int = 5) -> str:
        """The statements that write an instance."""
        return self._writing(statements, deep)

    def text_read(self, code: Code) -> str:
        """A position at which an instance is read."""
        self.is_reading = True
        try:
            return self(code)
        finally:
            self.is_reading = False

    def text_written(self, code: Code) -> str:
        """A stream, of which the object is written to."""
        self.is_writing = True
        try:
            return self(code)
        finally:
            self.is_writing = False

    def _writing(self, statements: tuple[Statement, ...], deep: int) -> str:
        self.is_writing = True
        try:
            return "\n".join(self.block(statements, deep))
        finally:
            self.is_writing = False

    # -- statements -------------------------------------------------------------------------------

    def test(self, test: Code) -> str:
        return f"if ({self(test)})"

    def let(self, name: str, value: Code) -> str:
        # TypeScript knows a constant better than any comparison with it allows
        known = f" as {self.ts(value.type)}" if value.op in ("const", "choose") or value.type == FLAG else ""
        return f"const {name} = {f'({self(value)})' if known else self(value)}{known};"

    def do(self, value: Code) -> str:
        return f"{'void ' if value.op == 'instance' else ''}{super().do(value)}"

    def declare(self, name: str, kind: Type) -> str:
        zero = self.zero(kind)
        return f"let {name}{'' if zero else '!'}: {self.ts(kind)}{f' = {zero}' if zero else ''};"

    def of_seen(self, code: Code, bit: int) -> str:
        return f"this._seen |= {1 << bit}n"

    def each(self, each: Each) -> Iterator[str]:
        target = self(each.target)
        kind = each.target.type
        listed = self.ts(bare(kind))
        if isinstance(kind, Maybe):
            yield f"const items: {listed} = [];"
            yield f"{target} = items;"
            target = "items"
        else:
            yield f"{target} = [];"
        yield f"for (const walk = {self(each.walk)}; walk.more(); walk.done()) {{"
        yield f"  {self.declare('item', each.item)}"
        yield from self.block(each.body)
        yield f"  {target}.push(item);"
        if each.until is not None:
            yield f"  if ({self(each.until)}) break;"
        yield "}"

    def items(self, each: Items) -> Iterator[str]:
        index = ", index" if each.is_indexed else ""
        yield f"for (const [item{index}] of {self(each.items)}) {{"
        yield from self.block(each.body)
        yield "}"

    # -- operations -------------------------------------------------------------------------------

    words = {**WriterPrinter.words, "==": "===", "!=": "!=="}  # noqa: RUF012  # as in the class above

    def is_called(self, code: Code) -> bool:
        if code.op != "op" or code.args[0] in ("and", "or"):
            return False
        kind = code.args[1].type
        return kind == OCTETS or (kind == TEXT and code.args[0] not in ("==", "!="))

    def is_loose(self, code: Code) -> bool:
        return (code.op == "convert" and code.args[0].type == FLAG) or super().is_loose(code)

    def of_op(self, code: Code, op: str, left: Code, right: Code) -> str:
        text = super().of_op(code, op, left, right)
        if op in COMPARISONS and not self.is_called(code) and {left.op, right.op} <= {"const", "choose"}:
            known = f"(({self(left)}) as {self.ts(left.type)})"
            return f"{known} {self.words.get(op, op)} {self(right, tight=True)}"
        return text

    def comparison(self, op: str, left: Code, right: Code) -> str:
        given = self.given((left, right))
        if left.type == OCTETS and op in ("==", "!="):
            return f"{'!' if op == '!=' else ''}streams.same({given})"
        return f"streams.{'compareBytes' if left.type == OCTETS else 'compare'}({given}) {op} 0"

    def literal(self, value: Any) -> str:
        return constant(value)

    def constant(self, value: Any, kind: Type) -> str:
        if isinstance(value, float):
            return "-0" if str(value) == "-0.0" else repr(value)
        return constant(value, is_big(kind) and not isinstance(value, bool))

    def of_index(self, code: Code) -> str:
        return "index" if self.is_writing else "walk.index"

    def of_field(self, code: Code, owner: Code, unit: str, name: str) -> str:
        return f"{self(owner, tight=True)}.{member(name)}"

    of_instance = of_field

    def of_parent(self, code: Code, owner: Code) -> str:
        return f"{self._there(owner)}._parent"

    def of_root(self, code: Code, owner: Code) -> str:
        return f"{self._there(owner)}._root"

    def of_stream(self, code: Code, owner: Code) -> str:
        return f"{self._there(owner)}.{'_stream' if self.is_writing else '_io'}"

    def of_pos(self, code: Code, stream: Code) -> str:
        return f"{self._asked(stream)}.pos()"

    def of_size(self, code: Code, stream: Code) -> str:
        return f"{self._asked(stream)}.size()"

    def of_eof(self, code: Code, stream: Code) -> str:
        return f"{self._asked(stream)}.eof()"

    def _asked(self, stream: Code) -> str:
        """A stream, which may be the one that is written."""
        if stream.op != "stream" or self.is_reading:
            return self(stream, tight=True)
        return f"{self._there(stream.args[0])}._stream"

    def _there(self, owner: Code) -> str:
        """An object, which is there: of the outermost one nobody asks for the parent."""
        text = self(owner, tight=True)
        return f"{text}!" if text.endswith("._parent") else text

    def of_convert(self, code: Code, of: Code) -> str:
        have, want, text = of.type, code.type, self(of)
        if not is_number(want) or not is_number(have):
            return text
        if want == FLAG:
            return f"{self(of, tight=True)} !== {'0n' if is_big(have) else '0'}"
        if have == FLAG:
            return f"{self(of, tight=True)} ? {'1n : 0n' if is_big(want) else '1 : 0'}"
        if want == ULONG and have != ULONG and may_be_negative(have):
            return f"streams.unsigned(this, {text if is_big(have) else f'BigInt({text})'})"
        if is_big(have) == is_big(want):
            return text
        if of.op == "const" and not isinstance(want, Real):
            return self.constant(of.args[0], want)
        return f"{'BigInt' if is_big(want) else 'Number'}({text})"

    def of_required(self, code: Code, of: Code, name: str, why: str) -> str:
        return f"streams.required(this, {self(of)}, {constant(name)}, {constant(why)})"

    def of_asked(self, code: Code, owner: Code, unit: str, name: str, shown: str, why: str, bit: int) -> str:
        held = self(owner, tight=True)
        given = f"{held}._seen, {bit}n, {held}.{member(name)}, {constant(shown)}, {constant(why)}"
        return f"streams.asked(this, {given})"

    def of_as(self, code: Code, of: Code) -> str:
        return f"streams.as({self.ts(code.type)}, {self(of)})"

    def of_list(self, code: Code, *items: Code) -> str:
        return f"[{self.given(items)}]"

    def of_read(self, code: Code, *args: Any) -> str:
        unit, io, name, index, parent, root, given = args
        at = "-1n" if index is None else self(index)
        around = self.given((parent, root, *given))
        return f"{self.names.type(unit)}._from({self.given((io, name))}, {at}, {around})"

    def _loaded(self, wire: str, order: str, source: str, place: str) -> str:
        form = WIRE[wire]
        whole = f"{'Big' if form.bits == 64 else ''}{'Int' if form.signed else 'Uint'}"
        kind = f"{'Float' if form.kind == 'float' else whole}{8 * form.least}"
        little = {"le": ", true", "by": ", this._isLittle()"}.get(order, "") if form.least > 1 else ""
        return f"{source}.view.get{kind}({place}{little})"

    def of_number(self, code: Code, io: Code, wire: str, order: str, name: str) -> str:
        source = self(io)
        return self._loaded(wire, order, source, f"{source}.skip({constant(name)}, {WIRE[wire].least})")

    def of_load(self, code: Code, run: Code, wire: str, order: str, offset: int) -> str:
        return self._loaded(wire, order, "io", f"{self(run)}{f' + {offset}' if offset else ''}")

    def of_slice(self, code: Code, run: Code, offset: int, size: int) -> str:
        return f"io.part8({self(run)}{f' + {offset}' if offset else ''}, {size})"

    def of_bits(self, code: Code, local: Code, shift: int, width: int) -> str:
        return f"streams.bitsAt({self(local)}, {shift}n, {width}n)"

    def of_on(self, code: Code, name: str, io: Code, *given: Any) -> str:
        source = self(io)
        if name == "counted" and self.is_writing:
            label, listed, _, *size = given
            given = label, listed, *size
        if name == "fixed":
            size, fields = given
            parts = ", ".join(f"[{constant(each)}, {width}]" for each, width in fields)
            return f"{source}.run({size.args[0]}, {parts})"
        if name in ("text", "encoded"):
            label, data, encoding = given
            return f"{source}.{name}({constant(label)}, {self(data)}, {self.encoding(encoding)})"
        return f"{source}.{camel(name)}({self.given(given)})"

    # -- writing ----------------------------------------------------------------------------------

    def of_member(self, code: Code, name: str) -> str:
        return constant(member(name))

    def of_place(self, code: Code, *args: Any) -> str:
        # a list is itself where it stands
        raise TypeError(code)

    def of_no_size(self, code: Code) -> str:
        return "null"

    def of_put_number(self, code: Code, io: Code, wire: str, order: str, value: Code, name: str) -> str:
        little = {"le": ", true", "by": ", this._isLittle()"}.get(order, "") if WIRE[wire].least > 1 else ""
        return f"{self(io)}.number((w) => {{ w.{wire}({constant(name)}, {self(value)}{little}); }})"

    def of_put_object(self, code: Code, *args: Any) -> str:
        io, unit, value, name, index, parent, root, given, ways = args
        at = "-1n" if index is None else self(index)
        parts = (self._members(given), self._members(ways))
        shown = ", ".join((self(value), self.names.type(unit), self.given((parent, root)), *parts))
        return f"{self(io)}.write({constant(name)}, {at}, {shown})"

    def _members(self, pairs: Iterable[tuple[str, Code]]) -> str:
        """An object literal."""
        text = ", ".join(f"{member(name)}: {self(value)}" for name, value in pairs)
        return f"{{ {text} }}" if text else "{}"

    def of_choice(self, code: Code, *args: Any) -> str:
        io, name, value, on, cases, ways = args
        pairs = ", ".join(f"[{self.names.type(unit)}, {self(case)}]" for unit, case in cases)
        return f"{self(io)}.choose({constant(name)}, {self(value)}, {self(on)}, [{pairs}], {self(ways)})"

    def of_lazy(self, code: Code, of: Code) -> str:
        return f"() => {self(of)}"

    def of_ways(self, code: Code, wanted: Type, ways: tuple[Code, ...]) -> str:
        return f"(wanted: {self.ts(wanted)}) => [{self.given(ways)}]"

    def of_way(self, code: Code, *args: Any) -> str:
        tests, owner, name, is_field, value, index, also = args
        shown = constant(member(name) if is_field else name)
        at = "" if index is None else f", index: {self(index)}"
        text = f"{{ of: {self(owner)}, name: {shown}, value: {self(value)}{at} }}"
        if also:
            text = f"[{', '.join((text, *map(self, also)))}]"
        test = " && ".join(self(each, tight=True) for each in tests)
        return f"{test} ? {text} : null" if test else text

    def of_call(self, code: Code, name: str, *given: Any) -> str:
        if name == "size_of":
            return f"BigInt({self(given[0], tight=True)}.length)"
        if name == "little":
            return "this._isLittle()"
        if name == "order":
            return f"this._setOrder({given[0].args[0]})"
        if name == "joined":
            return f"{self(given[0], tight=True)}.concat({self(given[1])})"
        if name == "decoded":
            return f"streams.decoded(this, {self(given[0])}, {self.encoding(given[1])})"
        return f"streams.{camel(name)}(this, {self.given(given)})"
