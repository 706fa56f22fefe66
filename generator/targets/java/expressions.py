"""Types and values of the plan as Java: whole numbers in 32 or 64 bits, by the range that they have."""

from __future__ import annotations

from collections.abc import Iterator

from kodec.generator.plan.spelling import Precedence, Spelling
from kodec.generator.plan.steps import Packed, Slot
from kodec.generator.plan.values import (
    COMPARISONS,
    FLAG,
    IDENTITY,
    OCTETS,
    SECTION,
    TEXT,
    Binary,
    Choose,
    Constant,
    ListOf,
    Maybe,
    Number,
    ObjectOf,
    OneOf,
    Real,
    SizeOf,
    Type,
    Unary,
    Value,
    Whole,
    opposite_of,
    scalar,
    values_in,
)
from kodec.generator.schema.model import Schema
from kodec.generator.targets.java.names import Names, component
from kodec.generator.text import java_literal

__all__ = ["Expressions", "Types", "beyond", "bit_field", "codecs", "is_int", "literal", "plain_type"]

_PLAIN: dict[Type, str] = {
    FLAG: "boolean",
    TEXT: "String",
    OCTETS: "byte[]",
    IDENTITY: "UUID",
    SECTION: "List<TaggedField>",
}
_BOXED = {"int": "Integer", "long": "Long", "boolean": "Boolean", "float": "Float", "double": "Double"}
_INT = Whole(-(1 << 31), (1 << 31) - 1)
_EXACT = {"+": "Math.addExact", "-": "Math.subtractExact", "*": "Math.multiplyExact"}
_CALLS = {
    "/": "Math.floorDiv",
    "%": "Math.floorMod",
    "<<": "Values.shiftLeft",
    ">>": "Values.shiftRight",
}


def is_int(kind: Whole) -> bool:
    """Whether 32 bits hold it."""
    return _INT.low <= kind.low and kind.high <= _INT.high


def beyond(value: Value) -> bool:
    """Whether a value is none that Java classes compute."""
    for each in values_in(value):
        kind = scalar(each.type)
        if isinstance(each, Constant) and isinstance(kind, Whole) and kind.wide:
            return True
        if isinstance(each, Number) and scalar(each.of.type) == TEXT:
            return True
        if isinstance(each, SizeOf) and not (
            isinstance(scalar(each.of.type), ListOf) or scalar(each.of.type) in (TEXT, OCTETS)
        ):
            return True
    return False


def literal(value: object, kind: Type) -> str:
    """A constant of a type."""
    found = scalar(kind)
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str() if found == OCTETS:
            return literal(value.encode("utf-8", "surrogateescape"), kind)
        case str():
            return java_literal(value)
        case bytes():
            return "new byte[] {" + ", ".join(str(each - 256 * (each > 127)) for each in value) + "}"
    if found == FLAG:
        return str(bool(value)).lower()
    if isinstance(found, Real):
        assert isinstance(value, (int, float))
        return f"{float(value)}{'f' if found.bits == 32 else ''}"
    return f"{value}" if isinstance(found, Whole) and is_int(found) else f"{value}L"


def plain_type(kind: Type) -> str:
    """The type of a value that is neither an object nor a list; the boxed type of a number that may be
    null."""
    match scalar(kind):
        case Whole() as whole:
            return "int" if is_int(whole) else "long"
        case Real(bits):
            return "float" if bits == 32 else "double"
        case found:
            return _PLAIN[found]


class Types:
    """The Java types of values, as they are written in the class of one schema."""

    def __init__(self, names: Names, here: Schema) -> None:
        self.names = names
        self.here = here

    def of(self, kind: Type) -> str:
        match kind:
            case Maybe(of):
                return self.boxed(of)
            case ObjectOf(unit):
                return self.names.type(unit, self.here)
            case ListOf(item):
                return f"List<{self.boxed(item)}>"
            case OneOf(types):
                found = {self.of(each) for each in types}
                return found.pop() if len(found) == 1 else "Object"
        return plain_type(kind)

    def boxed(self, kind: Type) -> str:
        text = self.of(kind)
        return _BOXED.get(text, text)


def bit_field(slot: Slot, bits: str) -> str:
    """The value of bits in a number of 64."""
    assert slot.bits is not None
    shift, width = slot.bits
    if not isinstance(scalar(slot.type), Whole):
        return f"({bits} & {1 << shift:#x}L) != 0"
    text = f"{bits} >>> {shift} & {(1 << width) - 1:#x}L" if shift else f"{bits} & {(1 << width) - 1:#x}L"
    return f"(int) ({text})" if plain_type(slot.type) == "int" else text


def codecs(packed: Packed, spell: Expressions) -> Iterator[tuple[int, str]]:
    """(number, Java of the codec's name)."""
    swapped = dict(packed.replaced)
    when = None if packed.when is None else spell.condition(packed.when, spell.binds["or"])
    for number, name in packed.codecs:
        text = java_literal(name)
        if name in swapped:
            other = java_literal(swapped[name])
            text = other if when is None else f"{when} ? {other} : {text}"
        yield number, text


class Expressions(Spelling):
    """Values of one unit."""

    binds = Precedence("or", "and", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -", "*")

    def condition(self, value: Value, binds: int = 0) -> str:
        """Java that is true or false; a number is true if it is not 0."""
        if scalar(value.type) == FLAG:
            return self(value, binds)
        return f"{self(value, self.binds['=='])} != 0"

    def switch(self, value: Value) -> str:
        """A number that Java can switch on."""
        return self(value) if plain_type(value.type) == "int" else f"(int) {self(value, self.binds.sign)}"

    def opposite(self, test: Value) -> str:
        found = opposite_of(test)
        return f"!{self.condition(test, self.binds.sign)}" if found is None else self.condition(found)

    def is_wide(self, value: Value) -> bool:
        """Whether Java computes a value in 64 bits."""
        kind = scalar(value.type)
        match value:
            case SizeOf():
                return False
            case Number(of):
                return self.is_wide(of)
            case Binary(op, left, right) if isinstance(kind, Whole):
                return op in _CALLS or not is_int(kind) or self.is_wide(left) or self.is_wide(right)
        return isinstance(kind, Whole) and not is_int(kind)

    def constant(self, value: Constant) -> str:
        return literal(value.value, value.type)

    def member(self, of: Value, name: str) -> str:
        return f".{component(name)}()"

    def size(self, of: Value) -> tuple[int, str]:
        text, kind = self.place(of), scalar(of.type)
        if kind == TEXT:
            return self.binds.atom, f"{text}.codePointCount(0, {text}.length())"
        return self.binds.atom, f"{text}.length" if kind == OCTETS else f"{text}.size()"

    def of_flag(self, of: Value) -> tuple[int, str]:
        return 0, f"{self(of, self.binds['or'])} ? 1 : 0"

    def is_null(self, of: Value) -> tuple[int, str]:
        return self.binds["=="], f"{self(of, self.binds['=='])} == null"

    def unary(self, value: Unary) -> tuple[int, str]:
        kind, of = scalar(value.type), value.of
        if value.op == "not":
            return self.binds.sign, f"!{self.condition(of, self.binds.sign)}"
        if value.op == "-" and isinstance(kind, Whole) and kind.wide:
            return self.binds.atom, f"Math.negateExact({self(of)})"
        spell = self._long if self.is_wide(value) else self
        return self.binds.sign, f"{value.op}{spell(of, self.binds.sign)}"

    def binary(self, value: Binary) -> tuple[int, str]:
        op, left, right, kind = value.op, value.left, value.right, scalar(value.type)
        if op in _CALLS and isinstance(kind, Whole):
            given = self._long(left) if op in ("/", "<<") else self(left)
            return (
                self.binds.atom,
                f"{_CALLS[op]}({given}, {self._long(right) if op == '%' else self(right)})",
            )
        if op in _EXACT and isinstance(kind, Whole) and kind.wide:
            return self.binds.atom, f"{_EXACT[op]}({self._long(left)}, {self(right)})"
        if op in COMPARISONS and TEXT in (scalar(left.type), scalar(right.type)):
            one, other = self(left, self.binds.atom), self(right)
            if op in ("==", "!="):
                text = f"{one}.equals({other})"
                return (self.binds.atom, text) if op == "==" else (self.binds.sign, f"!{text}")
            return self.binds[op], f"{one}.compareTo({other}) {op} 0"
        return super().binary(value)

    def side(self, part: Value, of: Binary, binds: int) -> str:
        if of.op in ("and", "or"):
            return self.condition(part, binds)
        widened = isinstance(scalar(of.type), Whole) and self.is_wide(of)
        if widened and not self.is_wide(of.left) and not self.is_wide(of.right):
            # one side is enough to have Java compute in 64 bits: a constant, or else the first
            first = binds == self.binds[of.op]
            if isinstance(of.right, Constant) != first:
                return self._long(part, binds)
        return super().side(part, of, binds)

    def choice(self, value: Choose) -> tuple[int, str]:
        own = self.binds["or"]
        return 0, f"{self.condition(value.test, own)} ? {self(value.yes, own)} : {self(value.no)}"

    def _long(self, value: Value, binds: int = 0) -> str:
        """A number of 64 bits."""
        if self.is_wide(value):
            return self(value, binds)
        return f"{self(value)}L" if isinstance(value, Constant) else f"(long) {self(value, self.binds.sign)}"
