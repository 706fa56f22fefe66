"""Values of the plan as typed operations, with the conversions that static languages need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import reduce
from typing import Any

from kodec.generator.code.ir import Local
from kodec.generator.code.typed import (
    LONG,
    REAL,
    ULONG,
    Code,
    Lacking,
    is_number,
    is_reference,
    is_scalar,
    opposite,
    stored,
)
from kodec.generator.plan import values as plan
from kodec.generator.plan.steps import Program, Unit
from kodec.generator.plan.values import (
    ANY,
    COMPARISONS,
    FLAG,
    MISSING,
    OBJECT,
    OCTETS,
    STREAM,
    TEXT,
    EnumOf,
    ListOf,
    Maybe,
    ObjectOf,
    OneOf,
    Real,
    Type,
    Value,
    Whole,
    bare,
    whole_of,
)

__all__ = ["TypedValues", "call", "constant"]


class TypedValues:
    """The values of one unit.

    Attributes:
        asked: by unit, the fields that an expression may ask for before they are read.
        io: the stream that is at hand; `own` is that of the object.
        item, index: the element of a list, or the value that a rule speaks of, and its number.
        known: the locals of the unit's code.
    """

    def __init__(self, program: Program, unit: Unit, asked: dict[str, tuple[str, ...]]) -> None:
        self.units = program.units
        self.unit = unit
        self.asked = asked
        self.this = Code("this", (), ObjectOf(unit.name))
        self.io = self.own = Code("stream", (self.this,), STREAM)
        self.item: Code | None = None
        self.index: Code | None = None
        self.known: dict[str, Code] = {}

    def flag(self, value: Value) -> Code:
        return self.as_(self.code(value), FLAG)

    def long(self, value: Value) -> Code:
        return self.long_of(self.code(value))

    def long_of(self, code: Code) -> Code:
        """A whole number in 64 bits with a sign."""
        return self.as_(self._there(code), LONG)

    def amount(self, value: Value | Local) -> Code:
        """A size, a count or a position: one that no signed number holds is more than there can be."""
        code = self._there(self.code(value))
        if code.op != "const" and self._whole_of(code).type == ULONG:
            return call("at_most", LONG, self._whole_of(code))
        return self.as_(code, LONG)

    def _there(self, code: Code) -> Code:
        """A value that is not null."""
        if not isinstance(code.type, Maybe):
            return code
        return Code("required", (code, "", MISSING), code.type.of)

    def as_(self, code: Code, kind: Type) -> Code:
        """A value as one of another type that has it."""
        have = code.type
        if have == kind:
            return code
        if code.op == "const" and code.args[0] is None:
            return replace(code, type=kind)
        if isinstance(kind, Maybe):
            if isinstance(have, Maybe) and (is_number(have.of) or not _is_kept(have.of, kind.of)):
                inner = self._there(code)
                yes = self.as_(self.as_(inner, kind.of), kind)
                return Code("choose", (Code("is", (code,), FLAG), yes, Code("const", (None,), kind)), kind)
            if isinstance(have, Maybe):
                return Code("convert", (code,), kind)
            return Code("convert", (self.as_(code, kind.of),), kind)
        if isinstance(have, Maybe) and (kind in (ANY, OBJECT) or isinstance(kind, OneOf)):
            return Code("convert", (code,), kind)
        if isinstance(have, Maybe):
            return self.as_(self._there(code), kind)
        if kind == ANY or (isinstance(kind, OneOf) and not is_number(kind)):
            return Code("convert", (self._in_one_of(code, kind),), kind)
        if is_number(kind) and is_number(have):
            if code.op == "const" and not isinstance(kind, (Real, OneOf)) and kind != FLAG:
                number = int(code.args[0])
                if kind != LONG or number <= LONG.high:
                    return replace(code, args=(number,), type=kind)
            return Code("convert", (code,), kind)
        if is_reference(kind) and is_reference(have):
            return Code("as" if isinstance(kind, ObjectOf) else "convert", (code,), kind)
        if isinstance(kind, ListOf) and isinstance(have, ListOf) and code.op == "list":
            return replace(code, args=tuple(self.as_(each, kind.item) for each in code.args), type=kind)
        raise Lacking(f"an expression has a value of one of several types: {_shown(have)}, {_shown(kind)}")

    def _in_one_of(self, code: Code, kind: Type) -> Code:
        """A number among others takes the type that these have."""
        if isinstance(kind, OneOf) and is_number(code.type):
            for each in kind.types:
                if isinstance(each, type(code.type)) and each != code.type:
                    return self.as_(code, stored(each))
        return code

    def code(self, value: Value | Local) -> Code:
        """A value, null where it may be, in the type in which it is kept."""
        match value:
            case plan.Constant(None):
                return Code("const", (None,), Maybe(ANY))
            case plan.Constant(found, kind):
                if isinstance(found, bytes):
                    return Code("const", (found,), OCTETS)
                if isinstance(kind, (Whole, EnumOf)) and not isinstance(found, bool):
                    assert isinstance(found, int)
                    if not LONG.low <= found <= ULONG.high:
                        raise Lacking("a number is beyond 64 bits")
                    if isinstance(kind, EnumOf):
                        return Code("const", (found,), stored(kind))
                    return Code("const", (found,), LONG if found <= LONG.high else ULONG)
                return Code("const", (found,), kind)
            case Local(name):
                return self.known[name]
            case plan.FieldOf(name):
                return self.member(self.this, self.unit, name)
            case plan.Item():
                assert self.item is not None
                return self.item
            case plan.Counter():
                return self.index or constant(0)
            case plan.This():
                return self.this
            case plan.Around(of, name, kind):
                owner = self.this if of is None else self.code(of)
                return self.as_(Code(name, (owner,), OBJECT), bare(kind))
            case plan.StreamOf(None, at_hand):
                return self.io if at_hand else self.own
            case plan.StreamOf(of) if of is not None:
                return Code("stream", (self._there(self.code(of)),), STREAM)
            case plan.StreamAsked(of, name):
                return Code(name, (self._there(self.code(of)),), FLAG if name == "eof" else LONG)
            case plan.Required():
                return self._required(value)
            case plan.MemberOf(of, name):
                return self._of(self.code(of), name)
            case plan.SizeOf(of):
                inner = self._there(self.code(of))
                if not isinstance(inner.type, ListOf) and inner.type not in (TEXT, OCTETS):
                    raise Lacking(f"the size of {_shown(inner.type)}")
                return call("size_of_text" if inner.type == TEXT else "size_of", LONG, inner)
            case plan.Number(of, _, base):
                return self._number(self._there(self.code(of)), base)
            case plan.Enumerated(of, kind):
                return self.as_(self.long(of), stored(kind))
            case plan.Shown(of):
                return self._shown(self._there(self.code(of)))
            case plan.Decoded(of, encoding):
                data = self.as_(self.code(of), OCTETS)
                return Code("call", ("decoded", data, encoding), TEXT)
            case plan.Reversed(of):
                return call("reversed", TEXT, self.as_(self.code(of), TEXT))
            case plan.Substring(of, start, stop):
                inner = self.as_(self.code(of), TEXT)
                return call("substring", TEXT, inner, self.long(start), self.long(stop))
            case plan.Listed(items, kind):
                return self._listed(items, kind)
            case plan.ElementOf(of, index):
                return self._element_of(self._there(self.code(of)), self.long(index))
            case plan.EdgeOf(of, name):
                return self._edge(self._there(self.code(of)), name)
            case plan.Cast(of, name, kind):
                return self._cast(self._there(self.code(of)), name, kind)
            case plan.IsNull(of):
                return Code("not", (Code("is", (self.code(of),), FLAG),), FLAG)
            case plan.Unary(op, of):
                return self._unary(op, self._there(self.code(of)))
            case plan.Binary(op, left, right) if op in ("and", "or"):
                tests = dict.fromkeys(_joined(op, (self.flag(left), self.flag(right))))
                return reduce(lambda one, two: Code("op", (op, one, two), FLAG), tests)
            case plan.Binary("==", Local(name), case):
                return self._is_case(self.known[name], self.code(case))
            case plan.Binary(op, left, right) if op in COMPARISONS:
                return self._compared(op, self._there(self.code(left)), self._there(self.code(right)))
            case plan.Binary():
                return self._operation(value)
            case plan.Choose(test, yes, no, kind):
                parts = [self.code(each) for each in (yes, no)]
                wanted = self._wanted(parts, kind)
                return Code("choose", (self.flag(test), *(self.as_(each, wanted) for each in parts)), wanted)
            case plan.Computed():
                return self.computed(value)
        raise Lacking(f"`{type(value).__name__}` in an expression")

    def computed(self, value: plan.Computed) -> Code:
        """What a derivation of a stream computes of bytes."""
        raise Lacking(f"`{value.function}` in an expression")

    @staticmethod
    def _wanted(parts: list[Code], kind: Type) -> Type:
        """What one of two values is."""
        if parts[0].type == parts[1].type:
            return parts[0].type
        null = any(isinstance(each.type, Maybe) for each in parts)
        inner = stored(bare(kind))
        if isinstance(inner, Whole):
            inner = ULONG if inner == ULONG else LONG
        return Maybe(inner) if null else inner

    def member(self, owner: Code, unit: Unit, name: str) -> Code:
        assert unit.streamed is not None
        for each in unit.streamed.instances:
            if each.name == name:
                return Code("instance", (owner, unit.name, name), stored(each.type))
        found: Iterable[Any] = (*unit.fields, *unit.parameters)
        kind = next(each.type for each in found if each.name == name)
        return Code("field", (owner, unit.name, name), stored(kind))

    def _of(self, owner: Code, name: str, asked: tuple[str, str] | None = None) -> Code:
        """A member of another object."""
        held = bare(owner.type)
        if isinstance(held, ObjectOf):
            return self._ask(self.member(owner, self.units[held.unit], name), asked)
        raise Lacking(f"`{name}` of an object of one of several types")

    def _ask(self, code: Code, asked: tuple[str, str] | None) -> Code:
        """A member that may not have been read yet."""
        if asked is None:
            return code
        if isinstance(code.type, Maybe) or (code.op == "field" and not is_scalar(code.type)):
            return Code("required", (code, *asked), bare(code.type))
        owner, unit, name = code.args if code.op == "field" else (None, "", "")
        if name in self.asked.get(unit, ()):
            return Code("asked", (owner, unit, name, *asked, self.asked[unit].index(name)), code.type)
        return code

    def _required(self, value: plan.Required) -> Code:
        of, asked = value.of, (value.name, value.reason)
        if isinstance(of, plan.FieldOf):
            return self._ask(self.code(of), asked)
        if isinstance(of, plan.MemberOf):
            return self._of(self.code(of.of), of.name, asked)
        found = self.code(of)
        nullable = isinstance(found.type, Maybe) or is_reference(found.type)
        return Code("required", (found, *asked), bare(found.type)) if nullable else found

    def _number(self, code: Code, base: Value | None) -> Code:
        if code.type == TEXT:
            to = constant(10) if base is None else self.long(base)
            return call("number_of", LONG, code, to)
        if isinstance(code.type, Real):
            return call("truncated", LONG, self.as_(code, REAL))
        return self._whole_of(code)

    def _shown(self, code: Code) -> Code:
        if code.type == TEXT:
            return code
        if not isinstance(code.type, (Whole, EnumOf)):
            raise Lacking(f"{_shown(code.type)} as text")
        found = self._whole_of(code)
        return call("decimal_unsigned" if found.type == ULONG else "decimal", TEXT, found)

    def _whole_of(self, code: Code) -> Code:
        """A whole number in 64 bits, without a sign where it needs all of them."""
        return self.as_(code, ULONG if whole_of(code.type) == ULONG else LONG)

    def _listed(self, items: tuple[Value, ...], kind: Type) -> Code:
        found = [self.code(each) for each in items]
        if kind == OCTETS:
            if all(each.op == "const" and 0 <= each.args[0] <= 255 for each in found):
                return Code("const", (bytes(each.args[0] for each in found),), OCTETS)
            return call("bytes_of", OCTETS, *map(self.long_of, found))
        wanted = stored(kind)
        assert isinstance(wanted, ListOf)
        return Code("list", tuple(self.as_(each, wanted.item) for each in found), wanted)

    def _element_of(self, of: Code, index: Code) -> Code:
        if of.type == OCTETS:
            return call("byte_at", LONG, of, index)
        if not isinstance(of.type, ListOf):
            raise Lacking(f"an element of {_shown(of.type)}")
        return call("element_of", of.type.item, of, index)

    def _edge(self, of: Code, name: str) -> Code:
        if of.type == OCTETS:
            return call(f"{name}_byte", LONG, of)
        if not isinstance(of.type, ListOf) or not (name == "last" or is_scalar(of.type.item)):
            raise Lacking(f"`{name}` of {_shown(of.type)}")
        return call(f"{name}_of", of.type.item, of)

    def _cast(self, of: Code, name: str, kind: Type) -> Code:
        if isinstance(kind, ObjectOf) and (is_reference(of.type) or isinstance(of.type, OneOf)):
            found = Code("as", (of,), kind)
        elif kind == OCTETS and isinstance(of.type, ListOf) and isinstance(of.type.item, Whole):
            return call("bytes_in", OCTETS, of)
        else:
            raise Lacking(f"{_shown(of.type)} as {_shown(kind)}")
        return Code("required", (found, name, "an expression needs another type"), kind)

    def _unary(self, op: str, of: Code) -> Code:
        if op == "not":
            return opposite(self.as_(of, FLAG))
        if op == "-" and isinstance(of.type, Real):
            return call("negated_real", REAL, self.as_(of, REAL))
        return call("negated" if op == "-" else "inverted", LONG, self.long_of(of))

    def _compared(self, op: str, left: Code, right: Code) -> Code:
        kinds = left.type, right.type
        if all(map(is_number, kinds)):
            return Code("op", (op, *self._alike(left, right)), FLAG)
        if kinds[0] == kinds[1] and kinds[0] in (TEXT, OCTETS):
            return Code("op", (op, left, right), FLAG)
        if op in ("==", "!=") and all(map(is_reference, kinds)):
            return Code("op", (op, self.as_(left, OBJECT), self.as_(right, OBJECT)), FLAG)
        raise Lacking(f"a comparison of {_shown(kinds[0])} with {_shown(kinds[1])}")

    def _alike(self, left: Code, right: Code) -> tuple[Code, Code]:
        """Two numbers as such of one type."""
        kinds = left.type, right.type
        if kinds == (FLAG, FLAG):
            return left, right
        if any(isinstance(kind, Real) for kind in kinds):
            return self.as_(left, REAL), self.as_(right, REAL)
        found = self._whole_of(left), self._whole_of(right)
        if found[0].type != found[1].type:
            signed, other = (found[0], left) if found[0].type == LONG else (found[1], right)
            low = other.args[0] if signed.op == "const" else _least(other.type)
            kind = ULONG if low >= 0 else LONG
            return self.as_(found[0], kind), self.as_(found[1], kind)
        return found

    def _is_case(self, on: Code, case: Code) -> Code:
        """Whether a value that may be null is that of a case."""
        if not isinstance(on.type, Maybe):
            return self._compared("==", on, case)
        there = Code("is", (on,), FLAG)
        return Code("op", ("and", there, self._compared("==", self._there(on), case)), FLAG)

    def _operation(self, value: plan.Binary) -> Code:
        left, right = (self._there(self.code(each)) for each in (value.left, value.right))
        if value.op == "+" and left.type == TEXT:
            return call("joined", TEXT, left, self.as_(right, TEXT))
        name = _NAMES[value.op]
        if isinstance(value.type, Real):
            return call(f"{name}_real", REAL, self.as_(left, REAL), self.as_(right, REAL))
        if not (is_number(left.type) and is_number(right.type)):
            raise Lacking(f"`{value.op}` of {_shown(left.type)} and {_shown(right.type)}")
        one, two = self._whole_of(left), self._whole_of(right)
        if (
            ULONG in (one.type, two.type)
            and value.op in ("&", ">>")
            and min(map(_least, (left.type, right.type))) >= 0
        ):
            two = self.as_(two, ULONG if value.op == "&" else LONG)
            found = call(f"{name}_unsigned", ULONG, self.as_(one, ULONG), two)
            return found if stored(value.type) == ULONG else self.as_(found, LONG)
        return call(name, LONG, self.as_(one, LONG), self.as_(two, LONG))


_SHOWN: dict[Type, str] = {FLAG: "a flag", TEXT: "text", OCTETS: "bytes", STREAM: "a stream"}
_NAMES = {
    "+": "plus",
    "-": "minus",
    "*": "times",
    "/": "divided",
    "%": "modulo",
    "&": "both",
    "|": "either",
    "^": "differing",
    "<<": "shifted_left",
    ">>": "shifted_right",
}


def _joined(op: str, parts: Iterable[Code]) -> Iterator[Code]:
    """The values of which all, or any, hold."""
    for each in parts:
        if each.op == "op" and each.args[0] == op:
            yield from _joined(op, each.args[1:])
        else:
            yield each


def call(name: str, kind: Type, *args: Any) -> Code:
    return Code("call", (name, *args), kind)


def constant(value: int | bool | bytes) -> Code:
    kind = FLAG if isinstance(value, bool) else OCTETS if isinstance(value, bytes) else LONG
    return Code("const", (value,), kind)


def _least(kind: Type) -> int:
    whole = whole_of(kind)
    return 0 if whole is None else whole.low


def _is_kept(have: Type, want: Type) -> bool:
    """Whether a value that may be null is one of another type as it is."""
    return have == want or is_reference(have) or want == ANY or isinstance(want, OneOf)


def _shown(kind: Type) -> str:
    """A type as a message says it."""
    match bare(kind):
        case Whole():
            return "a number"
        case Real():
            return "a real number"
        case EnumOf():
            return "a member of an enum"
        case ObjectOf(unit):
            return f"an object of `{unit}`"
        case ListOf():
            return "a list"
        case OneOf():
            return "a value of one of several types"
    return _SHOWN.get(bare(kind), "a value")
