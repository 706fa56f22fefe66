"""Streamed units as C: statements, and the data for their template."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from kodec.generator.code.typed import Code, Each, If, InstanceCode, Statement, UnitCode, is_number
from kodec.generator.plan.steps import Program
from kodec.generator.plan.values import Type
from kodec.generator.targets.c.expressions import Types, text
from kodec.generator.targets.c.names import Names, member
from kodec.generator.targets.c.stream_values import (
    StreamValues,
    failing,
    failing_if,
    unwrapped,
    without_texts,
)

__all__ = ["StreamPrinter", "types_of"]


class StreamPrinter(StreamValues):
    """One streamed unit for its template."""

    indent = "  "
    end = ";"

    def __init__(self, types: Types, code: UnitCode, comments: dict[str, str], *, is_held: bool) -> None:
        super().__init__(types, code)
        self.is_held = is_held
        self.type = types.names.type(code.unit.name)
        self.kind = types.names.kind(code.unit.name)
        self.comments = comments

    # -- for templates ----------------------------------------------------------------------------

    @property
    def members(self) -> list[tuple[str, str]]:
        """(comment, declaration) of each parameter and field, and of each instance that is kept."""
        all_ = (*self.code.parameters, *self.code.fields)
        found = [(self.comment(name), self.declared(kind, member(name))) for name, kind in all_]
        for each in self.code.instances:
            if each.kept:
                held = self.declared(each.type, "value")
                found.append(("", f"struct {{ {held}; bool known, reading; }} {self.kept(each.name)}"))
        return found

    @property
    def has_functions(self) -> bool:
        """Whether users have functions for it."""
        return not self.is_part or bool(self.code.instances)

    @property
    def filled(self) -> list[tuple[str, str]]:
        """(field, parameter) of a new object."""
        return [(member(name), self.parameter(name)) for name, _ in self.code.parameters]

    def pointer(self, kind: Type) -> str:
        """A pointer to a place of a type, without a name."""
        shown = self.c(kind)
        return f"{shown}{'' if shown.endswith('*') else ' '}*"

    def kept(self, name: str) -> str:
        return f"_kept_{name}"

    def getter(self, instance: InstanceCode) -> str:
        return self.names.getter(self.code.unit.name, instance.name)

    def finder(self, instance: InstanceCode) -> str:
        return self.names.finder(self.code.unit.name, instance.name)

    def unused(self, body: str, name: str) -> str:
        """The statement for a name that some statements do not need."""
        return "" if re.search(rf"\b{name}\b", without_texts(body)) else f"(void){name};"

    def parameter(self, name: str) -> str:
        return f"given_{name}"

    def result(self, code: Code, kept: str = "", deep: int = 1) -> str:
        """The statements that return a value through `out`, and keep it."""
        with self._captured() as lines:
            value = self(code)
            if not kept and self._is_filled(value):
                call = lines[-1].removeprefix("if (!").removesuffix(f"&{value})) return false;")
                return self._indented([*lines[:-2], f"return {call}out);"], deep)
        ends = [f"*out = {value};", "return true;"]
        if kept:
            ends = [
                f"{kept}.value = {value};",
                f"{kept}.known = true;",
                f"*out = {kept}.value;",
                "return true;",
            ]
        return self._indented([*lines, *ends], deep)

    def returned_if(self, test: Code, null: str, deep: int = 1) -> str:
        """The statements that return null if a condition holds."""
        with self._captured() as lines:
            shown = unwrapped(self(test))
        return self._indented([*lines, f"if ({shown}) {{", f"  *out = {null};", "  return true;", "}"], deep)

    def opened(self, instance: InstanceCode, deep: int = 1) -> str:
        """The statements that set `io` to the stream of an instance."""
        assert instance.stream is not None
        with self._captured() as lines:
            stream = self(instance.stream)
            if instance.position is None:
                ends = [f"io = ks_current({stream});"]
            else:
                position = self(instance.position)
                ends = [failing(f"ks_seek({stream}, {text(instance.name)}, {position}, &io)")]
        return self._indented([*lines, *ends], deep)

    def _indented(self, lines: Iterable[str], deep: int) -> str:
        space = self.indent * deep
        return "\n".join(space + line for line in lines)

    # -- statements -------------------------------------------------------------------------------
    def _statement(self, each: Statement) -> Iterator[str]:
        if isinstance(each, (If, Each)):
            yield from super()._statement(each)
            return
        with self._captured() as lines:
            own = [line for line in super()._statement(each) if line]
        yield from (*lines, *own)

    def _if(self, each: If) -> Iterator[str]:
        with self._captured() as lines:
            test = unwrapped(self(each.test))
        yield from lines
        yield f"if ({test}) {{"
        yield from self.block(each.then)
        if each.other:
            first, *rest = other = list(self.block(each.other, 0))
            if len(each.other) == 1 and isinstance(each.other[0], If) and first.startswith("if ("):
                yield f"}} else {first}"
                yield from rest
                return
            yield "} else {"
            yield from (f"  {line}" for line in other)
        yield "}"

    def test(self, test: Code) -> str:
        return f"if ({self(test)})"

    def do(self, value: Code) -> str:
        self(value)
        return ""

    def set(self, target: Code, value: Code) -> str:
        place = self(target)
        if value.op == "convert" and value.args[0].op == "read" and self._is_alike(value):
            value = value.args[0]
        if value.op == "read":
            self._read(f"&{place}", *value.args)
            return ""
        shown = self(value)
        if self._is_filled(shown):
            self._before[-2:] = [self._before[-1].replace(f"&{shown})", f"&{place})")]
            return ""
        return f"{place} = {shown};"

    def let(self, name: str, value: Code) -> str:
        if value.op == "on" and value.args[0] == "fixed":
            self._fixed(name, *value.args[1:])
            return ""
        shown, kind = self(value), self.declared(value.type, name)
        if self._is_filled(shown):
            self._before[-2:] = [f"{kind};", self._before[-1].replace(f"&{shown})", f"&{name})")]
            return ""
        return f"{'const ' if is_number(value.type) else ''}{kind} = {shown};"

    def _is_alike(self, code: Code) -> bool:
        """Whether a conversion changes nothing in C."""
        return self.c(code.type) == self.c(code.args[0].type)

    def _is_filled(self, name: str) -> bool:
        """Whether a local was declared only to take what the last call returns."""
        return (
            len(self._before) > 1
            and self._before[-1].endswith(f"&{name})) return false;")
            and (re.fullmatch(rf"[\w *]+\b{name};", self._before[-2]) is not None)
        )

    def declare(self, name: str, kind: Type) -> str:
        return f"{self.declared(kind, name)} = {self.null(kind)};"

    def of_seen(self, code: Code, bit: int) -> str:
        self._before.append(f"v->_object.seen |= UINT64_C(1) << {bit};")
        return ""

    def each(self, each: Each) -> Iterator[str]:
        target = self(each.target)
        with self._captured() as lines:
            self._walk(each.walk)
        yield "{"
        yield f"  {target} = ({self.c(each.target.type)}){{(void *)kodec_empty, 0}};"
        yield from (f"  {line}" for line in lines)
        yield "  while (ks_goes_on(&walk)) {"
        yield f"    {self.declare('item', each.item)}"
        yield from self.block(each.body, 2)
        yield f"    {target}.items = ks_grown(&walk, {target}.items, {target}.count, sizeof *{target}.items);"
        yield f"    {failing_if(f'{target}.items == NULL')}"
        yield f"    {target}.items[{target}.count++] = item;"
        if each.until is not None:
            with self._captured() as lines:
                until = unwrapped(self(each.until))
            yield from (f"    {line}" for line in (*lines, f"if ({until}) break;"))
        yield "  }"
        yield "  if (walk.failed) return false;"
        yield "}"

    def _walk(self, walk: Code) -> None:
        io, name, kind, least, count, watched = walk.args
        stream = self(io)
        if count is None:
            way = "repeated" if kind == "until" else "to_end"
            self._before.append(f"ks_walk walk = ks_{way}({stream}, {text(name)});")
            return
        number = self(count)
        self._before.append("ks_walk walk;")
        given = f"{stream}, {text(name)}, {number}, {least}, {self.literal(watched)}"
        self._before.append(failing(f"ks_counted(&walk, {given})"))


def types_of(names: Names, program: Program, codes: Mapping[str, UnitCode]) -> Types:
    """The types of all units, of layouts and of streams."""
    types = Types(names, program, codes)
    for code in codes.values():
        instances = ((each.name, each.type) for each in code.instances)
        types.add(code.unit.name, (*code.parameters, *code.fields, *instances))
    return types
