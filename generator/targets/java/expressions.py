"""Types and values of the plan as Java: whole numbers in 32 or 64 bits, by the range that they have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kodec.generator.plan.steps import Packed, Slot
from kodec.generator.plan.values import (
    FLAG,
    IDENTITY,
    OCTETS,
    SECTION,
    TEXT,
    Binary,
    Choose,
    Constant,
    EnumOf,
    FieldOf,
    IsNull,
    Item,
    ListOf,
    Maybe,
    MemberOf,
    Number,
    ObjectOf,
    OneOf,
    Peeked,
    Real,
    SizeOf,
    Type,
    Unary,
    Value,
    Whole,
    values_in,
)
from kodec.generator.schema.model import Schema
from kodec.generator.targets.java.names import Names, component
from kodec.generator.text import java_literal

__all__ = [
    "Expressions",
    "Types",
    "bare",
    "beyond",
    "bit_field",
    "codecs",
    "is_int",
    "literal",
    "plain_type",
]

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
_CHOICE, _SIGN, _ATOM = 0, 11, 12
_BINDS = {
    "or": 1,
    "and": 2,
    "|": 3,
    "^": 4,
    "&": 5,
    "==": 6,
    "!=": 6,
    **dict.fromkeys(("<", "<=", ">", ">="), 7),
    "+": 9,
    "-": 9,
    "*": 10,
}
_WORDS = {"or": "||", "and": "&&"}


def bare(kind: Type) -> Type:
    """A type without null, and of an enum its number."""
    if isinstance(kind, Maybe):
        return bare(kind.of)
    return kind.number if isinstance(kind, EnumOf) else kind


def is_int(kind: Whole) -> bool:
    """Whether 32 bits hold it."""
    return _INT.low <= kind.low and kind.high <= _INT.high


def beyond(value: Value) -> bool:
    """Whether a value is none that Java classes compute."""
    for each in values_in(value):
        kind = bare(each.type)
        if isinstance(each, Constant) and isinstance(kind, Whole) and kind.wide:
            return True
        if isinstance(each, Number) and bare(each.of.type) == TEXT:
            return True
        if isinstance(each, SizeOf) and not (
            isinstance(bare(each.of.type), ListOf) or bare(each.of.type) in (TEXT, OCTETS)
        ):
            return True
    return False


def literal(value: object, kind: Type) -> str:
    """A constant of a type."""
    found = bare(kind)
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
    """The type of a value that is no object and no list; a number's where it may be null."""
    match bare(kind):
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
    if not isinstance(bare(slot.type), Whole):
        return f"({bits} & {1 << shift:#x}L) != 0"
    text = f"{bits} >>> {shift} & {(1 << width) - 1:#x}L" if shift else f"{bits} & {(1 << width) - 1:#x}L"
    return f"(int) ({text})" if plain_type(slot.type) == "int" else text


def codecs(packed: Packed, spell: Expressions) -> Iterator[tuple[int, str]]:
    """(number, Java of the codec's name)."""
    swapped = dict(packed.replaced)
    when = None if packed.when is None else spell.condition(packed.when, binds=1)
    for number, name in packed.codecs:
        text = java_literal(name)
        if name in swapped:
            other = java_literal(swapped[name])
            text = other if when is None else f"{when} ? {other} : {text}"
        yield number, text


class _Text(NamedTuple):
    """Java, how tightly it binds, and whether it is a number of 64 bits."""

    text: str
    binds: int = _ATOM
    wide: bool = False


class Expressions:
    """Values as Java; `field` says how a field of the unit is spelled."""

    def __init__(self, field: Callable[[str], str]) -> None:
        self.field = field

    def __call__(self, value: Value, item: str = "item", binds: int = _CHOICE) -> str:
        found = self._of(value, item)
        return found.text if found.binds >= binds else f"({found.text})"

    def condition(self, value: Value, item: str = "item", binds: int = _CHOICE) -> str:
        """Java that is true or false; a number is true where it is not 0."""
        if bare(value.type) == FLAG:
            return self(value, item, binds)
        return f"{self(value, item, _BINDS['=='])} != 0"

    def switch(self, value: Value) -> str:
        """A number that Java can switch on."""
        return self(value) if plain_type(value.type) == "int" else f"(int) {self(value, binds=_SIGN)}"

    def opposite(self, value: Value, item: str = "item") -> str:
        """Java that is true where the value is false."""
        swapped = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
        match value:
            case Binary(op, left, right) if op in swapped and not isinstance(bare(left.type), Real):
                return self(Binary(swapped[op], left, right, FLAG), item)
            case Unary("not", of):
                return self.condition(of, item)
        return f"!{self.condition(value, item, _SIGN)}"

    def _of(self, value: Value, item: str) -> _Text:
        kind = bare(value.type)
        wide = isinstance(kind, Whole) and not is_int(kind)

        def sub(part: Value, binds: int) -> str:
            return self(part, item, binds)

        match value:
            case Constant(found):
                negative = isinstance(found, (int, float)) and found < 0
                return _Text(literal(found, kind), _SIGN if negative else _ATOM, wide)
            case FieldOf(name) | Peeked(name=name):
                return _Text(self.field(name), _ATOM, wide)
            case Item():
                return _Text(item, _ATOM, wide)
            case MemberOf(of, name):
                return _Text(f"{sub(of, _ATOM)}.{component(name)}()", _ATOM, wide)
            case SizeOf(of):
                text = sub(of, _ATOM)
                held = bare(of.type)
                if held == TEXT:
                    return _Text(f"{text}.codePointCount(0, {text}.length())")
                return _Text(f"{text}.length" if held == OCTETS else f"{text}.size()")
            case Number(of):
                if bare(of.type) == FLAG:
                    return _Text(f"{sub(of, _CHOICE + 1)} ? 1 : 0", _CHOICE)
                return self._of(of, item)
            case IsNull(of):
                return _Text(f"{sub(of, _BINDS['=='])} == null", _BINDS["=="])
            case Unary("not", of):
                return _Text(f"!{self.condition(of, item, _SIGN)}", _SIGN)
            case Unary("-", of) if isinstance(kind, Whole) and kind.wide:
                return _Text(f"Math.negateExact({sub(of, _CHOICE)})", _ATOM, True)
            case Unary(op, of):
                return _Text(f"{op}{self._long(of, item, _SIGN) if wide else sub(of, _SIGN)}", _SIGN, wide)
            case Binary("and" | "or" as op, left, right):
                own = _BINDS[op]
                parts = (self.condition(left, item, own), self.condition(right, item, own + 1))
                return _Text(f" {_WORDS[op]} ".join(parts), own)
            case Binary(op, left, right) if isinstance(kind, Whole):
                return self._computed(op, left, right, kind, item)
            case Binary(op, left, right):
                own = _BINDS[op]
                if TEXT in (bare(left.type), bare(right.type)):
                    text = f"{sub(left, _ATOM)}.equals({sub(right, _CHOICE)})"
                    if op in ("==", "!="):
                        return _Text(text if op == "==" else f"!{text}", _ATOM if op == "==" else _SIGN)
                    return _Text(f"{sub(left, _ATOM)}.compareTo({sub(right, _CHOICE)}) {op} 0", own)
                return _Text(f"{sub(left, own)} {op} {sub(right, own + 1)}", own)
            case Choose(test, yes, no):
                text = f"{self.condition(test, item, 1)} ? {sub(yes, 1)} : {sub(no, _CHOICE)}"
                return _Text(text, _CHOICE, wide)
        raise TypeError(value)

    def _computed(self, op: str, left: Value, right: Value, kind: Whole, item: str) -> _Text:
        if op in _CALLS:
            given = self._long(left, item, _CHOICE) if op in ("/", "<<") else self(left, item)
            by = self._long(right, item, _CHOICE) if op == "%" else self(right, item)
            return _Text(f"{_CALLS[op]}({given}, {by})", _ATOM, True)
        if op in _EXACT and kind.wide:
            return _Text(f"{_EXACT[op]}({self._long(left, item, _CHOICE)}, {self(right, item)})", _ATOM, True)
        own = _BINDS[op]
        one, other = self._of(left, item), self._of(right, item)
        wide = one.wide or other.wide or not is_int(kind)
        first = one.text if one.binds >= own else f"({one.text})"
        second = other.text if other.binds > own else f"({other.text})"
        if wide and not one.wide and not other.wide:
            if isinstance(right, Constant):
                second = f"{second}L"
            else:
                first = self._long(left, item, own)
        return _Text(f"{first} {op} {second}", own, wide)

    def _long(self, value: Value, item: str, binds: int) -> str:
        """A number of 64 bits."""
        found = self._of(value, item)
        if found.wide:
            return found.text if found.binds >= binds else f"({found.text})"
        if isinstance(value, Constant):
            return f"{found.text}L"
        return f"(long) {found.text if found.binds >= _SIGN else f'({found.text})'}"
