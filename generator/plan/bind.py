"""Expressions of a schema to typed values: what each name is where it stands."""

from __future__ import annotations

from collections.abc import Mapping

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
    arithmetic,
)
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bits, Bytes, Field, Model, Prim, Ref, Str, Struct, Switch, TypeRef
from kodec.generator.schema.type_roles import transparent
from kodec.generator.wire import INTRINSICS, WIRE

__all__ = ["Binder", "Types", "wire_range"]

_COMPARED = ("==", "!=", "<", "<=", ">", ">=")
_VERSION = Whole(-(1 << 15), (1 << 15) - 1)


def wire_range(wire: str) -> Whole:
    """The range of a wire type that is a whole number."""
    found = WIRE[wire].range
    assert found is not None
    return Whole(*found)


class Types:
    """The types of a model's fields."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def wire(self, name: str) -> Type:
        """The type of a wire type's values."""
        form = WIRE[name]
        match form.kind:
            case "integer":
                return wire_range(name)
            case "float":
                return Real(8 * form.most)
            case "boolean":
                return FLAG
        return IDENTITY

    def of(self, kind: TypeRef) -> Type:
        """The type of one value."""
        match kind:
            case Prim(name):
                return self.wire(name)
            case Bits(1):
                return FLAG
            case Bits(width):
                return Whole(0, (1 << width) - 1)
            case Bytes():
                return OCTETS
            case Str():
                return TEXT
            case Ref(target):
                struct = self.model.struct(target)
                if struct.wire in INTRINSICS:
                    return self.wire(struct.wire)
                if struct.wire == "tags":
                    return SECTION
                inner = transparent(struct)
                return ObjectOf(target) if inner is None else self.field(struct, inner)
            case Switch(_, cases, default):
                kinds = [self.of(each) for _, each in cases]
                kinds.append(OCTETS if default is None else self.of(default))
                return OneOf(tuple(dict.fromkeys(kinds)))
        raise TypeError(kind)

    def single(self, spec: Field) -> Type:
        """The type of one element of a field."""
        found = self.of(spec.type)
        if spec.enum is not None:
            number = Whole(0, 1) if found == FLAG else found
            assert isinstance(number, Whole)
            return EnumOf(spec.enum, number)
        return found

    def field(self, struct: Struct, spec: Field) -> Type:
        """The type of a field; of one that may be compressed, that of its content."""
        found = self.single(spec)
        if spec.codec is not None:
            found = self.of(Ref(spec.codec.inner))
            if isinstance(spec.type, Bytes):
                # it is parsed only where it is compressed
                found = OneOf((found, OCTETS))
        if spec.repeat is not None:
            found = ListOf(found)
        return Maybe(found) if spec.nullable is not None and not isinstance(found, Maybe) else found

    def parameter(self, struct: Struct, name: str) -> Type:
        """The type of a parameter."""
        spec = struct.param(name)
        assert spec is not None
        if spec.type == "bool":
            return FLAG
        return self.wire(spec.type) if spec.type in WIRE else _VERSION


class Binder:
    """Expressions that stand in one type."""

    def __init__(
        self, types: Types, struct: Struct, peeks: Mapping[str, Peeked], item: Type | None = None
    ) -> None:
        self._types = types
        self._struct = struct
        self._peeks = peeks
        self._item = item

    def with_item(self, item: Type) -> Binder:
        """The same, where `_` is a value of this type."""
        return Binder(self._types, self._struct, self._peeks, item)

    def __call__(self, expr: ex.Expr) -> Value:
        match expr:
            case ex.Literal(value):
                return Constant(value, _literal(value))
            case ex.Name("_") if self._item is not None:
                return Item(self._item)
            case ex.Name(name):
                return self._named(name)
            case ex.EnumValue(enum, member):
                items = self._types.model.enum(enum).items
                number = next(each.value for each in items if each.id == member)
                return Constant(number, EnumOf(enum, Whole(number, number)))
            case ex.Cast(of, _):
                return self(of)
            case ex.Attr(of, "size" | "length"):
                return SizeOf(self(of), Whole(0, (1 << 31) - 1))
            case ex.Attr(of, "to_i"):
                return _number(self(of))
            case ex.Attr(of, name):
                return self._member(self(of), name)
            case ex.Unary("not", of):
                return Unary("not", self(of), FLAG)
            case ex.Unary(op, of):
                found = self(of)
                whole = _whole(found.type)
                low, high = (-whole.high, -whole.low) if op == "-" else (~whole.high, ~whole.low)
                return Unary(op, found, Whole(low, high))
            case ex.Binary(op, left, right):
                return self._binary(op, self(left), self(right))
            case ex.Ternary(test, yes, no):
                first, second = self(yes), self(no)
                return Choose(self(test), first, second, _either(first.type, second.type))
        raise TypeError(expr)

    def _named(self, name: str) -> Value:
        if name in self._peeks:
            return self._peeks[name]
        spec = self._struct.field(name)
        if spec is not None:
            return FieldOf(name, self._types.field(self._struct, spec))
        return FieldOf(name, self._types.parameter(self._struct, name))

    def _member(self, of: Value, name: str) -> Value:
        held = of.type.of if isinstance(of.type, Maybe) else of.type
        assert isinstance(held, ObjectOf), (of, name)
        struct = self._types.model.struct(held.unit)
        spec = struct.field(name)
        assert spec is not None
        return MemberOf(of, name, self._types.field(struct, spec))

    def _binary(self, op: str, left: Value, right: Value) -> Value:
        if op in ("and", "or") or op in _COMPARED:
            return Binary(op, left, right, FLAG)
        for side in (left.type, right.type):
            if isinstance(side, Real):
                return Binary(op, left, right, side)
        return Binary(op, left, right, arithmetic(op, _whole(left.type), _whole(right.type)))


def _literal(value: int | float | bool | str) -> Type:
    if isinstance(value, bool):
        return FLAG
    if isinstance(value, int):
        return Whole(value, value)
    return Real(64) if isinstance(value, float) else TEXT


def _whole(kind: Type) -> Whole:
    if isinstance(kind, Maybe):
        return _whole(kind.of)
    if isinstance(kind, EnumOf):
        return kind.number
    if kind == FLAG:
        return Whole(0, 1)
    assert isinstance(kind, Whole), kind
    return kind


def _number(value: Value) -> Value:
    return value if isinstance(value.type, Whole) else Number(value, _whole(value.type))


def _either(yes: Type, no: Type) -> Type:
    """The type of a choice."""
    if isinstance(yes, Whole) and isinstance(no, Whole):
        return Whole(min(yes.low, no.low), max(yes.high, no.high))
    return yes
