"""Streamed units as Go: statements, operations, and types of what they read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kodec.generator.code.printing import camel, may_be_negative
from kodec.generator.code.typed import LONG, ULONG, Code, Each, Set, is_scalar
from kodec.generator.plan.values import (
    ANY,
    FLAG,
    OBJECT,
    STREAM,
    TEXT,
    EnumOf,
    Maybe,
    ObjectOf,
    Type,
    Whole,
    bare,
)
from kodec.generator.targets.go.names import exported
from kodec.generator.targets.go.printer import GoPrinter
from kodec.generator.targets.go.types import Types, literal

__all__ = ["StreamPrinter", "StreamTypes"]

_LONGEST = 100
_PLAIN: dict[Type, str] = {STREAM: "*Stream", OBJECT: "any", ANY: "any"}


class StreamTypes(Types):
    """The Go types of values of streamed schemas: objects are pointers."""

    def of(self, kind: Type) -> str:
        match kind:
            case Maybe(of):
                text = self.of(of)
                return text if text == "any" or text[0] in "[*" else f"*{text}"
            case ObjectOf(unit):
                return f"*{self.names.type(unit)}"
        return _PLAIN.get(kind) or super().of(kind)


class StreamPrinter(GoPrinter):
    """One streamed unit for its template: errors end its reader, and objects are pointers."""

    @property
    def members(self) -> list[tuple[str, str, str]]:
        """(schema's name, name, type) of each parameter and field, with the width that aligns types."""
        all_ = (*self.code.parameters, *self.code.fields)
        return [(name, exported(name), self.go(kind)) for name, kind in all_]

    @property
    def filled(self) -> str:
        """The parameters in a new object."""
        return ", ".join(f"{exported(name)}: {self.parameter(name)}" for name, _ in self.code.parameters)

    def about(self, name: str) -> str:
        """The comment of an instance."""
        return self.comments[f"{name}()"]

    def text(self, code: Code) -> str:
        return self(code).replace("\n", "\n\t")

    def zero(self, kind: Type) -> str:
        if self.is_pointer(kind):
            return "nil"
        return "false" if kind == FLAG else '""' if kind == TEXT else "0"

    def parameter(self, name: str) -> str:
        return f"given{exported(name)}"

    def is_filled(self, value: Code) -> bool:
        return False

    def of_seen(self, code: Code, bit: int) -> str:
        return f"x.seen |= 1 << {bit}"

    def each(self, each: Each) -> Iterator[str]:
        target = self(each.target)
        yield f"{target} = {self.go(bare(each.target.type))}{{}}"
        yield f"for walk := {self(each.walk)}; walk.more(); walk.done() {{"
        first, *rest = each.body
        if isinstance(first, Set) and first.target.op == "var":
            value = self(first.value)
            yield (
                f"\titem := {value}"
                if self._is_typed(first.value)
                else f"\tvar item {self.go(each.item)} = {value}"
            )
        else:
            yield f"\tvar item {self.go(each.item)}"
            rest = list(each.body)
        yield from self.block(rest)
        yield f"\t{target} = append({target}, item)"
        if each.until is not None:
            yield from (f"\tif {self(each.until)} {{", "\t\tbreak", "\t}")
        yield "}"

    def _is_typed(self, value: Code) -> bool:
        """Whether Go knows the type of a value from what it is."""
        return value.op != "const" and self.go(value.type) != "any"

    # -- operations -------------------------------------------------------------------------------

    def of_this(self, code: Code) -> str:
        return "x"

    def real(self, value: float) -> str:
        return f"float64({value!r})"

    def of_pos(self, code: Code, stream: Code) -> str:
        return f"{self(stream)}.pos()"

    def of_index(self, code: Code) -> str:
        return "walk.index"

    def of_instance(self, code: Code, owner: Code, unit: str, name: str) -> str:
        return f"{self(owner)}.get{exported(name)}()"

    def _around(self, owner: Code, name: str) -> str:
        if isinstance(bare(owner.type), ObjectOf):
            return f"{self(owner)}.{name}"
        return f"objectOf({self(owner)}).{name}"

    def of_parent(self, code: Code, owner: Code) -> str:
        return self._around(owner, "parent")

    def of_root(self, code: Code, owner: Code) -> str:
        return self._around(owner, "root")

    def of_stream(self, code: Code, owner: Code) -> str:
        return self._around(owner, "io")

    def of_convert(self, code: Code, of: Code) -> str:
        have, want, text = of.type, code.type, self(of)
        if isinstance(want, Maybe):
            inner = want.of
            if is_scalar(inner) and not isinstance(have, Maybe):
                return f"pointer[{self.go(inner)}]({text})"
            return text if have == inner or self.go(have) == self.go(want) else f"boxed({text})"
        if self.go(want) == "any":
            return self._in_any(of, text)
        if want == FLAG:
            return f"{self(of, tight=True)} != 0"
        to = self.go(want)
        if have == FLAG:
            return f"pick[{to}]({text}, 1, 0)"
        if have == ULONG and want == LONG and of.op not in ("bits", "on"):
            return f"signed(x, {text})"
        if want == ULONG and may_be_negative(have):
            return f"unsigned(x, int64({text}))"
        return text if self.go(have) == to else f"{to}({text})"

    def _in_any(self, of: Code, text: str) -> str:
        have = of.type
        if of.op in ("this", "read") or self.go(have) == "any":
            return text
        if isinstance(have, Maybe) and is_scalar(have.of):
            return f"held({text})"
        if isinstance(bare(have), ObjectOf):
            return f"boxed({text})"
        if of.op == "const" and isinstance(have, (Whole, EnumOf)):
            return f"{self.go(have)}({text})"
        return text

    def of_required(self, code: Code, of: Code, name: str, why: str) -> str:
        text = self.go(of.type)
        call = "required" if isinstance(of.type, Maybe) and is_scalar(of.type.of) else "object"
        call = "anything" if text == "any" else "items" if text[0] == "[" else call
        if call == "object":
            call = "present"
        return f"{call}(x, {self(of)}, {literal(name)}, {literal(why)})"

    def of_asked(self, code: Code, owner: Code, unit: str, name: str, shown: str, why: str, bit: int) -> str:
        held = self(owner)
        return f"asked(x, {held}.seen, {bit}, {held}.{exported(name)}, {literal(shown)}, {literal(why)})"

    def of_as(self, code: Code, of: Code) -> str:
        return f"as[{self.go(code.type)}]({self(of)})"

    def is_loose(self, code: Code) -> bool:
        return code.op != "choose" and super().is_loose(code)

    def of_choose(self, code: Code, test: Code, yes: Code, no: Code) -> str:
        kind = self.go(code.type)
        if yes.op == no.op == "const":
            return f"pick[{kind}]({self(test)}, {self(yes)}, {self(no)})"
        ways = (_function(kind, self(each)) for each in (yes, no))
        return f"choose({self(test)}, {', '.join(ways)})"

    def of_read(self, code: Code, *args: Any) -> str:
        unit, io, name, index, parent, root, given = args
        at = "-1" if index is None else self(index)
        around = self.given((parent, root, *given))
        return f"read{self.names.type(unit)}({self.given((io, name))}, {at}, {around})"

    def of_on(self, code: Code, name: str, io: Code, *given: Any) -> str:
        if name == "fixed":
            size, fields = given
            parts = ", ".join(f"field{{{literal(each)}, {width}}}" for each, width in fields)
            return f"{self(io)}.run({self(size)}, {parts})"
        if name == "text":
            label, data, encoding = given
            return f"{self(io)}.text({literal(label)}, {self(data)}, {self.encoding(encoding)})"
        name = {"bits": "read_bits"}.get(name, name)
        return f"{self(io)}.{camel(name)}({self.given(given)})"

    def of_call(self, code: Code, name: str, *given: Any) -> str:
        if name == "size_of":
            return f"int64(len({self(given[0])}))"
        if name == "little":
            return "x.isLittle()"
        if name == "order":
            return f"x.order = {self(given[0])}"
        if name == "decoded":
            return f"decoded(x, {self(given[0])}, {self.encoding(given[1])})"
        if name == "joined":
            return f"join({self.given(given)})"
        return f"{camel(name)}(x, {self.given(given)})"


def _function(kind: str, value: str) -> str:
    """A function without a name, on as many lines as gofmt has it."""
    head, body = f"func() {kind}", f"return {value}"
    if "\n" in value or len(head) + len(body) > _LONGEST:
        nested = body.replace("\n", "\n\t")
        return f"{head} {{\n\t{nested}\n}}"
    return f"{head} {{ {body} }}"
