"""Streamed units as Go: statements, operations, and types of what they read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any

from kodec.generator.code.printing import WriterPrinter, camel, may_be_negative
from kodec.generator.code.typed import LONG, ULONG, Code, Each, Items, Set, Statement, UnitCode, is_scalar
from kodec.generator.code.typed_write import WriterCode
from kodec.generator.plan.steps import Program
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
from kodec.generator.targets.go.names import Names, exported
from kodec.generator.targets.go.printer import GoPrinter
from kodec.generator.targets.go.types import Types, literal
from kodec.generator.wire import WIRE

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


class StreamPrinter(GoPrinter, WriterPrinter):
    """One streamed unit for its template: errors end its reader, and objects are pointers.

    Attributes:
        writer: how it is written, if it is.
        seeks: whether bytes after it may be those of instances.
    """

    def __init__(
        self,
        names: Names,
        types: Types,
        code: UnitCode,
        comments: dict[str, str],
        program: Program,
        *,
        writer: WriterCode | None,
        seeks: bool,
    ) -> None:
        super().__init__(names, types, code, comments, program)
        self.writer = writer
        self.seeks = seeks
        self.is_writing = self.is_reading = False

    @property
    def placed(self) -> dict[str, str]:
        """The functions that set instances, by their names."""
        taken = {member for _, member, _ in self.members} | {
            exported(each.name) for each in self.code.instances
        }
        found = {}
        for each in () if self.writer is None else self.writer.placed:
            name = f"Set{exported(each.name)}"
            found[each.name] = f"{name}_" if name in taken else name
        return found

    @contextmanager
    def _mode(self, *, writing: bool = False, reading: bool = False) -> Iterator[None]:
        before = self.is_writing, self.is_reading
        self.is_writing, self.is_reading = writing, reading
        yield
        self.is_writing, self.is_reading = before

    def written(self, code: Iterable[Statement], deep: int = 1) -> str:
        """Statements that write."""
        with self._mode(writing=True):
            return "\n".join(self.block(code, deep))

    def text_written(self, code: Code) -> str:
        """A value, of which streams are those that are written."""
        with self._mode(writing=True):
            return self(code)

    def text_read(self, code: Code) -> str:
        """A position at which an instance is read."""
        with self._mode(reading=True):
            return self.text(code)

    def lazily(self, kind: Type | str, code: Code, deep: int) -> str:
        """A function that gives a value."""
        text = _function(kind if isinstance(kind, str) else self.go(kind), self(code))
        return text.replace("\n", "\n" + "\t" * deep)

    def solved(self, code: Code, deep: int) -> str:
        return self(code).replace("\n", "\n" + "\t" * deep)

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
        return f"{self._asked(stream)}.pos()"

    def of_size(self, code: Code, stream: Code) -> str:
        return f"{self._asked(stream)}.size()"

    def of_eof(self, code: Code, stream: Code) -> str:
        return f"{self._asked(stream)}.eof()"

    def _asked(self, stream: Code) -> str:
        """A stream, which may be the one that is written."""
        is_own = stream.op == "stream" and not self.is_reading and self.writer is not None
        return self._around(stream.args[0], "stream()") if is_own else self(stream)

    def of_index(self, code: Code) -> str:
        return "int64(i)" if self.is_writing else "walk.index"

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
        return self._around(owner, "stream()" if self.is_writing else "io")

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
        kind = "streamed" if self.is_writing and code.type == STREAM else self.go(code.type)
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
        if name == "encoded":
            label, data, encoding = given
            return f"{self(io)}.encoded({literal(label)}, {self(data)}, {self.encoding(encoding)})"
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

    # -- writing ----------------------------------------------------------------------------------

    def items(self, each: Items) -> Iterator[str]:
        _, io, *given = each.items.args
        items = f"listed({self.given((io, *given))})"
        yield f"for {'i' if each.is_indexed else '_'}, item := range {items} {{"
        yield from self.block(each.body)
        yield "}"

    def of_member(self, code: Code, name: str) -> str:
        return literal(exported(name))

    def of_place(self, code: Code, *args: Any) -> str:
        if not args:
            return "member{}"
        owner, _, name = args
        return f"member{{{self(owner)}, {literal(exported(name))}}}"

    def of_no_size(self, code: Code) -> str:
        return "noSize"

    def of_put_number(self, code: Code, io: Code, wire: str, order: str, value: Code, name: str) -> str:
        form, bits = WIRE[wire], 8 * WIRE[wire].least
        little = "x.isLittle()" if order == "by" and bits > 8 else literal(order == "le")
        wide = value.args[0] if value.op == "convert" else value
        if wide.type != FLAG and self.go(wide.type) != self.go(value.type) and bits < 64:
            # an enum has a wider type, and so may what is one of several
            call = "narrowReal" if form.kind == "float" else "narrow"
            facts = self(io), literal(name), self(wide), str(form.least), literal(form.signed), little
            return f"{call}({', '.join(facts)})"
        text = self(value)
        if form.kind == "float":
            self.imports.add("math")
            text = f"math.Float{bits}bits({text})"
        return f"{self(io)}.number(uint64({text}), {form.least}, {little})"

    def of_put_object(self, code: Code, *args: Any) -> str:
        io, unit, value, name, index, parent, root, given, taught = args
        at = "-1" if index is None else self(index)
        tables = (self._table("any", given), self._table("solve", taught))
        facts = self.given((io, name)), at, self.given((value, parent, root)), *tables
        return f"putObject[*{self.names.type(unit)}]({', '.join(facts)})"

    def _table(self, kind: str, pairs: Iterable[tuple[str, Code]]) -> str:
        text = ", ".join(f"{literal(exported(name))}: {self(value)}" for name, value in pairs)
        return f"map[string]{kind}{{{text}}}" if text else "nil"

    def of_choice(self, code: Code, *args: Any) -> str:
        io, name, value, on, cases, ways = args
        pairs = ", ".join(f"{{is[*{self.names.type(unit)}], {self._of_type(case)}}}" for unit, case in cases)
        facts = literal(name), self(value), self._of_type(on), f"[]oneCase{{{pairs}}}", self(ways)
        return f"{self(io)}.choose({', '.join(facts)})"

    def _of_type(self, code: Code) -> str:
        """A value as any, in its own type."""
        text = self(code)
        return f"int64({text})" if code.op == "const" and code.type == LONG else text

    def of_lazy(self, code: Code, of: Code) -> str:
        return _function(self.go(of.type), self(of))

    def of_ways(self, code: Code, wanted: Type, ways: tuple[Code, ...]) -> str:
        around, self.depth = self.depth, 1
        text = f"[]way{{{', '.join(map(self, ways))}}}"
        self.depth = around
        return f"waysTo({_function('[]way', text, f'wanted {self.go(wanted)}')})"

    def of_way(self, code: Code, *args: Any) -> str:
        tests, owner, name, is_field, value, index, also = args
        shown = literal(exported(name) if is_field else name)
        at = "nil" if index is None else self(index)
        text = f"change{{{self._owner(owner)}, {shown}, {self._of_type(value)}, {at}}}"
        if also:
            text = f"[]way{{{', '.join((text, *map(self, also)))}}}"
        if not tests:
            return text
        test = reduce(lambda one, two: Code("op", ("and", one, two), FLAG), tests)
        return f"choose({self(test)}, {_function('way', text)}, noWay)"

    def _owner(self, owner: Code) -> str:
        return self._around(owner.args[0], "stream()") if owner.op == "stream" else self(owner)


def _function(kind: str, value: str, parameters: str = "") -> str:
    """A function without a name, on as many lines as gofmt has it."""
    head, body = f"func({parameters}) {kind}", f"return {value}"
    if "\n" in value or len(head) + len(body) > _LONGEST:
        nested = body.replace("\n", "\n\t")
        return f"{head} {{\n\t{nested}\n}}"
    return f"{head} {{ {body} }}"
