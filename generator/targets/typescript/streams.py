"""Streamed units as TypeScript: statements, operations, and types of what they read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kodec.generator.code.printing import CodePrinter, camel, may_be_negative
from kodec.generator.code.typed import ULONG, Code, Each, UnitCode, is_number
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


class StreamPrinter(CodePrinter):
    """One streamed unit for its template."""

    indent = "  "
    end = ";"

    def __init__(self, names: Names, code: UnitCode, comments: dict[str, str]) -> None:
        self.names = names
        self.code = code
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

    # -- statements -------------------------------------------------------------------------------

    def test(self, test: Code) -> str:
        return f"if ({self(test)})"

    def let(self, name: str, value: Code) -> str:
        # TypeScript knows a constant better than any comparison with it allows
        known = f" as {self.ts(value.type)}" if value.op in ("const", "choose") or value.type == FLAG else ""
        return f"const {name} = {f'({self(value)})' if known else self(value)}{known};"

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

    # -- operations -------------------------------------------------------------------------------

    words = {**CodePrinter.words, "==": "===", "!=": "!=="}  # noqa: RUF012  # as in the class above

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
        return "walk.index"

    def of_field(self, code: Code, owner: Code, unit: str, name: str) -> str:
        return f"{self(owner, tight=True)}.{member(name)}"

    of_instance = of_field

    def of_parent(self, code: Code, owner: Code) -> str:
        return f"{self._there(owner)}._parent"

    def of_root(self, code: Code, owner: Code) -> str:
        return f"{self._there(owner)}._root"

    def of_stream(self, code: Code, owner: Code) -> str:
        return f"{self._there(owner)}._io"

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
        if name == "fixed":
            size, fields = given
            parts = ", ".join(f"[{constant(each)}, {width}]" for each, width in fields)
            return f"{source}.run({size.args[0]}, {parts})"
        if name == "text":
            label, data, encoding = given
            return f"{source}.text({constant(label)}, {self(data)}, {self.encoding(encoding)})"
        return f"{source}.{camel(name)}({self.given(given)})"

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
