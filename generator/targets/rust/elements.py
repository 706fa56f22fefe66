"""Elements of the plan as Rust: read as an expression that gives a `Result`, written as statements."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from kodec.generator.plan.steps import (
    Chars,
    Choice,
    Element,
    FixedNumber,
    Nested,
    Octets,
    Size,
    Varint,
)
from kodec.generator.plan.values import OCTETS, EnumOf, Maybe, OneOf, Type, Value, Whole, bare
from kodec.generator.targets.rust.expressions import Expressions, Types, rust_whole
from kodec.generator.wire import WIRE

__all__ = ["Elements", "ReadExpression", "closure", "converted", "loaded", "number_type", "stored"]


def closure(text: str) -> str:
    """An expression of a reader `r` as a function of it."""
    called = re.fullmatch(r"([\w:]+)\(r\)", text)
    return f"|r| {text}" if called is None else called[1]


def number_type(wire: str) -> str:
    """The Rust type of a wire type's numbers."""
    form = WIRE[wire]
    return f"f{8 * form.least}" if form.range is None else rust_whole(Whole(*form.range))


def loaded(wire: str, order: str, bytes_: str, kind: Type, types: Types) -> str:
    """The value of an array of bytes."""
    form = WIRE[wire]
    match form.kind:
        case "boolean":
            return f"{bytes_}[0] != 0"
        case "UUID":
            return f"rt::Uuid({bytes_})"
    made = f"{number_type(wire)}::from_{order or 'be'}_bytes({bytes_})"
    return converted(kind, number_type(wire), made, types)


def converted(kind: Type, own: str, text: str, types: Types) -> str:
    """A number of the type `own` as a place of this type takes it."""
    kind = bare(kind)
    if isinstance(kind, EnumOf):
        return f"{types.of(kind)}({text if own == 'i64' else f'i64::from({text})'})"
    wanted = rust_whole(kind) if isinstance(kind, Whole) else own
    return text if wanted == own else f"{text} as {wanted}"


def stored(wire: str, order: str, value: str, kind: Type | None, name: str) -> str:
    """The bytes of a value, as an array; `kind` is None of a number that was computed."""
    form = WIRE[wire]
    match form.kind:
        case "boolean":
            return f"[u8::from({value})]"
        case "UUID":
            return f"{value}.0"
    wanted, ending = number_type(wire), f"to_{order or 'be'}_bytes"
    if kind is not None and (form.range is None or (isinstance(kind, Whole) and rust_whole(kind) == wanted)):
        return f"{value}.{ending}()"
    number = f"{value}.0" if isinstance(kind, EnumOf) else value
    return f"{wanted}::{ending}(rt::fit({name}, {number})?)"


@dataclass(frozen=True)
class ReadExpression:
    """An expression: of a `Result`, or of a value if it cannot fail."""

    text: str
    fails: bool = True

    @property
    def value(self) -> str:
        return f"{self.text}?" if self.fails else self.text

    @property
    def result(self) -> str:
        return self.text if self.fails else f"Ok({self.text})"

    def mapped(self, by: str, closed: bool = False) -> ReadExpression:
        """The result of a function for the value."""
        if self.fails:
            return ReadExpression(f"{self.text}.map({f'|x| {by}(x)' if closed else by})")
        return ReadExpression(f"{by}({self.text})", fails=False)


@dataclass(frozen=True)
class Elements:
    """The elements of one unit."""

    types: Types
    spell: Expressions

    # -- reading ----------------------------------------------------------------------------------

    def reading(self, element: Element, kind: Type, name: str) -> ReadExpression:
        """A value of `kind`; `name` is a literal, empty in lists."""
        found = self._read(element, kind, name)
        return found.mapped("Some") if isinstance(kind, Maybe) and not self.is_null(element) else found

    def is_null(self, element: Element) -> bool:
        """Whether an element by itself may be null."""
        if isinstance(element, Choice):
            return element.may_lack and element.other is None
        return isinstance(element, Nested) and isinstance(self.types.inner(element.unit), Maybe)

    def _read(self, element: Element, kind: Type, name: str) -> ReadExpression:
        match element:
            case FixedNumber(wire, order):
                size = WIRE[wire].least
                text = loaded(wire, order, f"r.fixed::<{size}>({name})?", kind, self.types)
                return ReadExpression(text, fails=False)
            case Varint(wire):
                own = number_type(wire)
                if converted(kind, own, "x", self.types) == "x":
                    return ReadExpression(f"r.{wire}({name})")
                return ReadExpression(converted(kind, own, f"r.{wire}({name})?", self.types), fails=False)
            case Octets(None):
                return ReadExpression("r.rest()", fails=False)
            case Octets(Size(value)):
                return ReadExpression(f"r.octets({name}, {self.spell(value)})")
            case Chars(None):
                return ReadExpression("rt::Text(r.rest())", fails=False)
            case Chars(Size(value)):
                return ReadExpression(f"r.octets({name}, {self.spell(value)}).map(rt::Text)")
            case Nested(unit, arguments, size, fills):
                text = self._sized(f"{self.call(unit, 'read')}(r{self.given(arguments, unit)})", size)
                if fills and size is None:
                    text += '.and_then(|found| r.ends("").map(|()| found))'
                return ReadExpression(self._within(text, name))
            case Choice():
                return self._choice(element, kind, name)
        raise TypeError(element)

    def _sized(self, text: str, size: Size | None) -> str:
        return text if size is None else f"r.inside({self.spell(size.value)}, {closure(text)})"

    def _within(self, text: str, name: str) -> str:
        return text if name == '""' else f"{text}.map_err(|error| error.within({name}))"

    def _choice(self, choice: Choice, kind: Type, name: str) -> ReadExpression:
        one = bare(kind)
        assert isinstance(one, OneOf)
        inner = '""' if choice.size is not None else name
        lines = [f"match {self.spell(choice.on)} {{"]
        for case in choice.cases:
            assert case.value is not None
            text = self._as_variant(case.element, case.type, one, inner, choice.may_lack)
            lines.append(f"    {self.spell(case.value)} => {text},")
        if choice.other is not None:
            last = self._as_variant(choice.other.element, choice.other.type, one, inner, choice.may_lack)
        elif choice.size is not None or choice.fills:
            last = f"Ok(crate::{self.types.choice(one)}::Bytes(r.rest()))"
        elif choice.may_lack:
            last = "Ok(None)"
        else:
            error = f"rt::Error::new(rt::Code::Unsupported, {inner}, r.pos)"
            on = self.spell(choice.on)
            last = f'Err({error}.because("no case for this value").have({on}))'
        text = "\n".join([*lines, f"    _ => {last},", "}"])
        text = self._sized(text, choice.size)
        if choice.fills and choice.size is None:
            text += f".and_then(|found| r.ends({name}).map(|()| found))"
        return ReadExpression(self._within(text, name) if choice.size is not None else text)

    def _as_variant(self, element: Element, kind: Type, one: OneOf, name: str, lacking: bool) -> str:
        found = self.reading(element, kind, name)
        if self.types.boxed(kind):
            found = found.mapped("Box::new")
        found = found.mapped(f"crate::{self.types.choice(one)}::{self.types.variant(kind)}")
        return (found.mapped("Some") if lacking else found).result

    def call(self, unit: str, verb: str) -> str:
        """The function that reads or writes a unit."""
        if self.types.inner(unit) is None:
            return f"crate::{self.types.names.type(unit)}::{verb}_from"
        return self.types.names.function(unit, verb)

    def given(self, arguments: Iterable[Value], unit: str) -> str:
        """Arguments of another unit's function, after others."""
        kinds = [each.type for each in self.types.program.units[unit].parameters]
        pairs = zip(arguments, kinds, strict=True)
        return "".join(f", {self.spell.whole(value, kind)}" for value, kind in pairs)

    # -- writing ----------------------------------------------------------------------------------

    def writing(self, element: Element, value: str, kind: Type, name: str) -> list[str]:
        """Statements; `value` is a value of a `Copy` type, otherwise a reference."""
        if isinstance(kind, Maybe) and not self.is_null(element):
            return [f"let x = rt::given({name}, {value})?;", *self.writing(element, "x", kind.of, name)]
        match element:
            case FixedNumber(wire, order):
                return [f"out.extend_from_slice(&{stored(wire, order, value, kind, name)});"]
            case Varint(wire):
                if isinstance(kind, Whole) and rust_whole(kind) == number_type(wire):
                    return [f"rt::put_{wire}(out, {value});"]
                number = f"{value}.0" if isinstance(kind, EnumOf) else value
                return [f"rt::put_{wire}(out, rt::fit({name}, {number})?);"]
            case Octets(size):
                return [*self._require(size, f"{value}.len()", name), f"out.extend_from_slice({value});"]
            case Chars(size):
                text = f"{value}.as_bytes()"
                return [*self._require(size, f"{value}.len()", name), f"out.extend_from_slice({text});"]
            case Nested(unit, arguments, size):
                return self._nested(unit, self.given(arguments, unit), size, value, name)
            case Choice():
                return self._put_choice(element, value, kind, name)
        raise TypeError(element)

    def _require(self, size: Size | None, have: str, name: str) -> list[str]:
        if size is None or size.implied:
            return []
        return [f"rt::sized({name}, {have}, {self.spell(size.value)})?;"]

    def _nested(self, unit: str, given: str, size: Size | None, value: str, name: str) -> list[str]:
        if self.types.inner(unit) is None:
            text = f"{value.removeprefix('&')}.write_to(out{given})"
        else:
            text = f"{self.types.names.function(unit, 'write')}({value}, out{given})"
        require = self._require(size, "out.len() - start", name)
        lines = [f"{self._within(text, name)}?;"]
        return ["let start = out.len();", *lines, *require] if require else lines

    def _put_choice(self, choice: Choice, value: str, kind: Type, name: str) -> list[str]:
        one = bare(kind)
        assert isinstance(one, OneOf)
        enum, lacking = f"crate::{self.types.choice(one)}", self.is_null(choice)
        arms: dict[str, list[str]] = {}

        def arm(test: str, of: Type, body: list[str]) -> None:
            pattern = f"{'&' if self.types.is_copy(of) else ''}{enum}::{self.types.variant(of)}(x)"
            pattern = f"Some({pattern})" if lacking else pattern
            arms.setdefault(pattern if choice.peeked else f"({test}, {pattern})", body)

        for case in (*choice.cases, *([] if choice.other is None else [choice.other])):
            shown = "x" if self.types.is_copy(case.type) or not isinstance(case.type, Maybe) else "x.as_ref()"
            body = self.writing(case.element, shown, case.type, name)
            arm("_" if case.value is None else self.spell(case.value), case.type, body)
        if (choice.size is not None or choice.fills) and choice.other is None:
            arm("_", OCTETS, ["out.extend_from_slice(x);"])
        everything = len({each.strip("(_, )&") for each in arms if choice.peeked or each.startswith("(_")})
        on = "" if choice.peeked else self.spell(choice.on)
        lines = [f"match {value if choice.peeked else f'({on}, {value})'} {{"]
        for pattern, body in arms.items():
            lines += [f"    {pattern} => {{", *_further(body), "    }"]
        if lacking:
            lines.append(f"    {'None' if choice.peeked else '(_, None)'} => {{}}")
        if everything < len(self.types.variants(one)):
            lines.append(f'    _ => return Err(rt::not_encodable({name}, "no case for this value")),')
        return ["\n".join([*lines, "}"])]


def _further(lines: list[str]) -> list[str]:
    return [f"        {line}" for each in lines for line in each.split("\n")]
