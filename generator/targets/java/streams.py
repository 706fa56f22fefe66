"""Streamed units as Java: statements, operations, and types of what they read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kodec.generator.code.printing import CodePrinter, camel, may_be_negative
from kodec.generator.code.typed import LONG, ULONG, Code, Each, UnitCode
from kodec.generator.plan.values import (
    ANY,
    FLAG,
    OBJECT,
    OCTETS,
    STREAM,
    TEXT,
    EnumOf,
    Maybe,
    ObjectOf,
    OneOf,
    Real,
    Type,
    bare,
)
from kodec.generator.schema.model import Schema
from kodec.generator.targets.java.expressions import Types, literal
from kodec.generator.targets.java.names import Names, component
from kodec.generator.targets.java.names import camel as capital
from kodec.generator.text import java_literal
from kodec.generator.wire import WIRE

__all__ = ["StreamPrinter", "StreamTypes"]

_PLAIN: dict[Type, str] = {STREAM: "Source", OBJECT: "Object", ANY: "Object"}
_PRIMITIVES = frozenset(("int", "long", "boolean", "float", "double"))


class StreamTypes(Types):
    """The Java types of values of streamed schemas."""

    def of(self, kind: Type) -> str:
        return "Object" if isinstance(kind, OneOf) else _PLAIN.get(kind) or super().of(kind)


class StreamPrinter(CodePrinter):
    """One streamed unit for its template."""

    indent = "    "
    end = ";"

    def __init__(
        self, names: Names, code: UnitCode, here: Schema, docs: Mapping[str, str], *, seeks: bool
    ) -> None:
        self.names = names
        self.code = code
        self.here = here
        self.docs = docs
        self.seeks = seeks
        self.types = StreamTypes(names, here)
        self.java = self.types.of
        self.type = names.type(code.unit.name, here)
        self.name = names.types[code.unit.name]

    @property
    def members(self) -> list[tuple[str, str, str]]:
        """(type, name, documentation) of each parameter and field."""
        all_ = (*self.code.parameters, *self.code.fields)
        return [(self.java(kind), component(name), self.docs[name]) for name, kind in all_]

    @property
    def enums(self) -> Iterator[tuple[str, str, str]]:
        """(enum, method, member) of each field and instance that is a member of an enum."""
        for name, kind in self.code.fields:
            inner = bare(kind)
            if isinstance(inner, EnumOf):
                yield self.names.enum(inner.enum, self.here), f"{component(name)}Enum", component(name)

    def declared(self, kind: Type, name: str) -> str:
        return f"{self.java(kind)} {name}"

    @property
    def filled(self) -> list[tuple[str, str]]:
        """(field, parameter) of a new object."""
        return [(component(name), self.parameter(name)) for name, _ in self.code.parameters]

    def kept(self, name: str) -> str:
        return f"kept{capital(name)}"

    def boxed(self, kind: Type) -> str:
        return self.types.boxed(kind)

    def component(self, name: str) -> str:
        return component(name)

    def parameter(self, name: str) -> str:
        return f"given{capital(name)}"

    # -- statements -------------------------------------------------------------------------------

    def test(self, test: Code) -> str:
        return f"if ({self(test)})"

    def let(self, name: str, value: Code) -> str:
        kind = self.java(value.type)
        if value.op == "on" and value.args[0] == "fixed":
            kind = "int"
        return f"{kind} {name} = {self(value)};"

    def declare(self, name: str, kind: Type) -> str:
        text = self.java(kind)
        zero = {"boolean": "false", "float": "0f"}.get(text, "0" if text in _PRIMITIVES else "null")
        return f"{text} {name} = {zero};"

    def of_seen(self, code: Code, bit: int) -> str:
        return f"seen({bit})"

    def each(self, each: Each) -> Iterator[str]:
        target = self(each.target)
        yield f"{target} = new ArrayList<>();"
        yield f"for (Source.Walk walk = {self(each.walk)}; walk.more(); walk.done()) {{"
        yield f"    {self.declare('item', each.item)}"
        yield from self.block(each.body)
        yield f"    {target}.add(item);"
        if each.until is not None:
            yield from (f"    if ({self(each.until)}) {{", "        break;", "    }")
        yield "}"

    # -- operations -------------------------------------------------------------------------------

    def is_called(self, code: Code) -> bool:
        if code.op != "op" or code.args[0] in ("and", "or"):
            return False
        kind = code.args[1].type
        return kind in (OCTETS, TEXT) or (kind == ULONG and code.args[0] not in ("==", "!="))

    def is_loose(self, code: Code) -> bool:
        if code.op in ("load", "number"):
            return "by" in code.args
        return (code.op == "convert" and code.args[0].type == FLAG) or super().is_loose(code)

    def comparison(self, op: str, left: Code, right: Code) -> str:
        given = self.given((left, right))
        if left.type == ULONG:
            return f"Long.compareUnsigned({given}) {op} 0"
        if op in ("==", "!="):
            call = (
                f"Arrays.equals({given})"
                if left.type == OCTETS
                else f"{self(left, tight=True)}.equals({self(right)})"
            )
            return f"{'!' if op == '!=' else ''}{call}"
        return f"{'Arrays.compareUnsigned' if left.type == OCTETS else 'Streams.compare'}({given}) {op} 0"

    def literal(self, value: Any) -> str:
        if isinstance(value, bytes):
            return literal(value, OCTETS)
        if isinstance(value, str):
            return java_literal(value)
        return str(value).lower() if isinstance(value, bool) else str(value)

    def constant(self, value: Any, kind: Type) -> str:
        if value is None or isinstance(value, (str, bytes, bool)):
            return "null" if value is None else self.literal(value)
        if isinstance(kind, Real):
            return repr(float(value))
        if value > LONG.high:
            return f"{value - (1 << 64)}L"
        return f"{value}L" if self.java(kind) == "long" else f"{value}"

    def of_index(self, code: Code) -> str:
        return "walk.index()"

    def of_field(self, code: Code, owner: Code, unit: str, name: str) -> str:
        if owner.op == "this":
            return f"this.{component(name)}"
        return f"{self(owner, tight=True)}.{component(name)}()"

    def of_instance(self, code: Code, owner: Code, unit: str, name: str) -> str:
        return f"{self(owner, tight=True)}.{component(name)}()"

    def _around(self, owner: Code, name: str) -> str:
        if owner.op == "this":
            return f"{name}()"
        text = self(owner, tight=True)
        return (
            f"{text}.{name}()"
            if isinstance(bare(owner.type), ObjectOf)
            else f"Streams.object({text}).{name}()"
        )

    def of_parent(self, code: Code, owner: Code) -> str:
        return self._around(owner, "_parent")

    def of_root(self, code: Code, owner: Code) -> str:
        return self._around(owner, "_root")

    def of_stream(self, code: Code, owner: Code) -> str:
        return self._around(owner, "_io")

    def of_convert(self, code: Code, of: Code) -> str:
        have, want, text = of.type, code.type, self(of)
        if isinstance(want, Maybe):
            inner = self.java(want.of)
            if inner in _PRIMITIVES and not isinstance(have, Maybe):
                return f"{self.types.boxed(want.of)}.valueOf({text})"
            return text
        if self.java(want) == "Object":
            return text
        if want == FLAG:
            return f"{self(of, tight=True)} != 0"
        to = self.java(want)
        if have == FLAG:
            return f"({to}) ({text} ? 1 : 0)" if to not in ("int", "long") else f"{text} ? {_one(to)}"
        if have == ULONG and want == LONG and of.op not in ("bits", "on"):
            return f"Streams.signed(this, {text})"
        if want == ULONG and may_be_negative(have):
            return f"Streams.unsigned(this, {text})"
        return text if self.java(have) == to else f"({to}) {self._operand(of)}"

    def _operand(self, of: Code) -> str:
        """What stands after a cast."""
        text = self(of, tight=True)
        return f"({text})" if of.op == "const" and text.startswith("-") else text

    def _unboxed(self, text: str, kind: Type) -> str:
        primitive = self.java(kind)
        return f"{text}.{primitive}Value()" if primitive in _PRIMITIVES else text

    def of_required(self, code: Code, of: Code, name: str, why: str) -> str:
        text = f"Streams.required(this, {self(of)}, {java_literal(name)}, {java_literal(why)})"
        return self._unboxed(text, code.type)

    def of_asked(self, code: Code, owner: Code, unit: str, name: str, shown: str, why: str, bit: int) -> str:
        value = self.of_field(code, owner, unit, name)
        given = f"{self(owner)}, {bit}, {value}, {java_literal(shown)}, {java_literal(why)}"
        return self._unboxed(f"Streams.asked(this, {given})", code.type)

    def of_as(self, code: Code, of: Code) -> str:
        return f"Streams.as({self.java(code.type)}.class, {self(of)})"

    def of_list(self, code: Code, *items: Code) -> str:
        return f"Arrays.asList({self.given(items)})"

    def of_read(self, code: Code, *args: Any) -> str:
        unit, io, name, index, parent, root, given = args
        at = "-1" if index is None else self(index)
        given_all = f"{self.given((io, name))}, {at}, {self.given((parent, root, *given))}"
        return f"{self.names.type(unit, self.here)}.read({given_all})"

    def _loaded(self, wire: str, order: str, place: str) -> str:
        form = WIRE[wire]
        # the signed type of 64 bits holds unsigned numbers too
        name = f"s{form.least}" if form.kind == "integer" and form.bits == 64 else wire
        if order == "by" and form.least > 1:
            return f"_isLittle() ? Load.{name}le({place}) : Load.{name}be({place})"
        return f"Load.{name}{order if form.least > 1 else ''}({place})"

    def of_number(self, code: Code, io: Code, wire: str, order: str, name: str) -> str:
        source = self(io)
        return self._loaded(
            wire, order, f"{source}.buf, {source}.skip({java_literal(name)}, {WIRE[wire].least})"
        )

    def of_load(self, code: Code, run: Code, wire: str, order: str, offset: int) -> str:
        return self._loaded(wire, order, f"io.buf, {self(run)}{f' + {offset}' if offset else ''}")

    def of_slice(self, code: Code, run: Code, offset: int, size: int) -> str:
        return f"io.copy({self(run)}{f' + {offset}' if offset else ''}, {size})"

    def of_bits(self, code: Code, local: Code, shift: int, width: int) -> str:
        return f"Streams.bitsAt({self(local)}, {shift}, {width})"

    def of_on(self, code: Code, name: str, io: Code, *given: Any) -> str:
        source = self(io)
        if name == "fixed":
            size, fields = given
            parts = ", ".join(f"{java_literal(each)}, {width}" for each, width in fields)
            return f"{source}.run({size.args[0]}, {parts})"
        if name == "text":
            label, data, encoding = given
            return f"{source}.text({java_literal(label)}, {self(data)}, {self.encoding(encoding)})"
        return f"{source}.{camel(name)}({self.given(given)})"

    def of_call(self, code: Code, name: str, *given: Any) -> str:
        if name == "size_of":
            of = self(given[0], tight=True)
            return f"(long) {of}{'.length' if given[0].type == OCTETS else '.size()'}"
        if name == "little":
            return "_isLittle()"
        if name == "order":
            return f"order({given[0].args[0]})"
        if name == "joined":
            return f"{self(given[0], tight=True)}.concat({self(given[1])})"
        if name == "decoded":
            return f"Streams.decoded(this, {self(given[0])}, {self.encoding(given[1])})"
        text = f"Streams.{camel(name)}(this, {self.given(given)})"
        generic = name in ("element_of", "last_of", "min_of", "max_of")
        return self._unboxed(text, code.type) if generic else text


def _one(kind: str) -> str:
    return "1L : 0L" if kind == "long" else "1 : 0"
