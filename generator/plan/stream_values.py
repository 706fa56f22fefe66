"""Expressions of streamed schemas to typed values, which say where they can fail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce

from kodec.generator.plan.bind import wire_range
from kodec.generator.plan.values import (
    ANY,
    FLAG,
    OBJECT,
    OCTETS,
    STREAM,
    TEXT,
    UNBOUNDED,
    Around,
    Binary,
    Cast,
    Choose,
    Constant,
    Counter,
    Decoded,
    EdgeOf,
    ElementOf,
    EnumOf,
    FieldOf,
    Item,
    Listed,
    ListOf,
    Maybe,
    MemberOf,
    Number,
    ObjectOf,
    OneOf,
    Real,
    Required,
    Reversed,
    Shown,
    SizeOf,
    StreamAsked,
    StreamOf,
    Substring,
    Type,
    Unary,
    Value,
    Whole,
    arithmetic,
)
from kodec.generator.schema import expr as ex
from kodec.generator.schema.expression_types import Kind, Kinds, Scope, types_in, without_case
from kodec.generator.schema.model import (
    Bits,
    Bytes,
    Field,
    Instance,
    Param,
    Prim,
    Ref,
    Str,
    Struct,
    Switch,
    TypeRef,
)
from kodec.generator.schema.widths import bits_of
from kodec.generator.wire import encoding_named

__all__ = ["Here", "StreamBinder", "StreamTypes", "either", "is_real", "number_of"]

_COMPARED = ("==", "!=", "<", "<=", ">", ">=")
_PLACE = Whole(0, (1 << 63) - 1)
_PLAIN: dict[str, Type] = {
    "float": Real(64),
    "boolean": FLAG,
    "text": TEXT,
    "bytes": OCTETS,
    "type": OBJECT,
    "stream": STREAM,
    "any": ANY,
    "integer": UNBOUNDED,
}


def either(types: Iterable[Type]) -> Type:
    """What a value is that may be any of these."""
    found: dict[Type, None] = {}
    maybe = False
    for each in types:
        maybe = maybe or isinstance(each, Maybe)
        plain = each.of if isinstance(each, Maybe) else each
        found.update(dict.fromkeys(plain.types if isinstance(plain, OneOf) else (plain,)))
    joined: dict[object, Type] = {}
    for each in found:
        key: object = each
        if isinstance(each, (Whole, EnumOf)):
            key = Whole if isinstance(each, Whole) else each.enum
        before = joined.setdefault(key, each)
        if before != each:
            one, two = number_of(before), number_of(each)
            number = Whole(min(one.low, two.low), max(one.high, two.high))
            joined[key] = EnumOf(each.enum, number) if isinstance(each, EnumOf) else number
    if not joined:
        return ANY
    kind: Type = next(iter(joined.values())) if len(joined) == 1 else OneOf(tuple(joined.values()))
    return Maybe(kind) if maybe else kind


class StreamTypes:
    """The types of what streamed schemas have names for."""

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self._instances: dict[tuple[str, str], Type] = {}

    def of(self, kind: TypeRef) -> Type:
        """The type of one value."""
        match kind:
            case Prim(name, floating=False):
                return wire_range(name)
            case Prim(width=width):
                return Real(8 * width)
            case Bits(1):
                return FLAG
            case Bits(width):
                return Whole(0, (1 << width) - 1)
            case Bytes():
                return OCTETS
            case Str():
                return TEXT
            case Ref(target):
                return ObjectOf(target)
        return either(self.of(each) for each in types_in(kind))

    def element(self, spec: Field) -> Type:
        """The type of one value of a field."""
        found = self.of(spec.type)
        if spec.enum is not None:
            return EnumOf(spec.enum, number_of(found))
        if not isinstance(spec.type, Switch) or spec.type.default is not None:
            return found
        return Maybe(found) if without_case(spec) is None else either((found, OCTETS))

    def field(self, spec: Field) -> Type:
        found = self.element(spec)
        if spec.repeat is not None:
            found = ListOf(found)
        return Maybe(found) if spec.condition is not None and not isinstance(found, Maybe) else found

    def parameter(self, param: Param) -> Type:
        """The type of a parameter; nothing holds a number to the width that it states."""
        return self.kind(self.kinds.of_param(param))

    def kind(self, kind: Kind) -> Type:
        """What is known of a type where only a word is."""
        found = _PLAIN.get(kind.name, ANY)
        if kind.name == "enum":
            found = EnumOf(kind.full, UNBOUNDED)
        elif kind.name == "list":
            found = ListOf(ANY if kind.of is None else self.kind(kind.of))
        elif kind.full:
            found = ObjectOf(kind.full)
        return Maybe(found) if kind.maybe else found

    def instance(self, struct: Struct, instance: Instance) -> Type:
        key = struct.name, instance.id
        if key not in self._instances:
            self._instances[key] = self._instance(struct, instance)
        return self._instances[key]

    def _instance(self, struct: Struct, instance: Instance) -> Type:
        spec = instance.reads
        if spec is not None:
            found = self.field(spec)
            return found if isinstance(found, Maybe) else Maybe(found)
        assert instance.value is not None
        found = StreamBinder(self).bind(instance.value, Here(Scope(struct))).type
        maybe = isinstance(found, Maybe) or instance.condition is not None
        found = found.of if isinstance(found, Maybe) else found
        if instance.enum is not None:
            found = EnumOf(instance.enum, number_of(found))
        return Maybe(found) if maybe else found

    def member(self, struct: Struct, name: str) -> Type:
        """The type of a field, a parameter or an instance."""
        spec = struct.field(name)
        if spec is not None:
            return self.field(spec)
        param = struct.param(name)
        if param is not None:
            return self.parameter(param)
        instance = struct.instance(name)
        assert instance is not None, (struct.name, name)
        return self.instance(struct, instance)


@dataclass(frozen=True, slots=True)
class Here:
    """Where an expression stands.

    Attributes:
        scope: in which type, and what further names mean.
        at_hand: whether `_io` is the stream that is read or written there, rather than that of the object.
        unread: whether fields of the type itself may not have been read yet.
        item: the type of `_`.
        calls: what the names `_d0`, `_d1` of a derivation stand for.
    """

    scope: Scope
    at_hand: bool = False
    unread: bool = False
    item: Type | None = None
    calls: tuple[Value, ...] = ()

    def with_item(self, kind: Kind, item: Type) -> Here:
        """The same place, where `_` is a value of this kind and type."""
        return replace(self, scope=self.scope.with_names(_=kind, _index=Kind("integer")), item=item)


class StreamBinder:
    """Turns expressions into values."""

    def __init__(self, types: StreamTypes) -> None:
        self.types = types
        self.kinds = types.kinds
        self.model = types.kinds.model

    def value(self, expr: ex.Expr, here: Here) -> Value:
        """A value that must be there."""
        return self._required(expr, here, argument=False)

    def argument(self, expr: ex.Expr, here: Here) -> Value:
        """A value that a type is given, which must be there."""
        return self._required(expr, here, argument=True)

    def _required(self, expr: ex.Expr, here: Here, *, argument: bool) -> Value:
        found = self.bind(expr, here)
        maybe = self.kinds.of(expr, here.scope).maybe
        unread = self._unread(expr, here)
        if not maybe and unread is None:
            return found
        kind = found.type.of if isinstance(found.type, Maybe) else found.type
        return Required(found, _last(expr), not maybe and unread == "here", argument, kind)

    def _unread(self, expr: ex.Expr, here: Here) -> str | None:
        """Whose field that is, where one of an object that is still being read may be asked for."""
        match expr:
            case ex.Name(name):
                return "here" if here.unread and here.scope.struct.field(name) is not None else None
            case ex.Attr(of, name):
                while isinstance(of, (ex.Attr, ex.Index, ex.Cast)):
                    of = of.of
                outside = isinstance(of, ex.Name) and of.name in ("_parent", "_root")
                if not (outside or here.unread) or name in ("_parent", "_root", "_io"):
                    return None
                if not self.kinds.is_field(expr, here.scope):
                    return None
                if outside:
                    return None if self.kinds.was_read(expr, here.scope) else "outside"
                return "here"
        return None

    def bind(self, expr: ex.Expr, here: Here) -> Value:
        """A value that may be missing."""
        match expr:
            case ex.Literal(value):
                return _constant(value)
            case ex.EnumValue(enum, member):
                number = next(each.value for each in self.model.enum(enum).items if each.id == member)
                return Constant(number, EnumOf(enum, Whole(number, number)))
            case ex.Name(name):
                return self._name(name, here)
            case ex.Attr(of, name) | ex.Method(of, name, ()):
                return self._attribute(of, name, here)
            case ex.Method(of, name, args):
                return self._method(of, name, args, here)
            case ex.Index(of, at):
                owner = self.value(of, here)
                return ElementOf(owner, self.value(at, here), _of_elements(owner.type))
            case ex.Cast(of, _):
                return self._cast(expr, of, here)
            case ex.SizeOf(kind, bits):
                size = bits_of(self.model, kind)
                return _constant(size if bits else (size + 7) // 8)
            case ex.Joined(items):
                parts = [self._shown(each, here) for each in items]
                return reduce(lambda left, right: Binary("+", left, right, TEXT), parts or [_constant("")])
            case ex.Items(items):
                values = self._alike(*(self.value(item, here) for item in items))
                if self.kinds.of(expr, here.scope).name == "bytes":
                    return Listed(values, OCTETS)
                return Listed(values, ListOf(either(each.type for each in values)))
            case ex.Unary("not", of):
                return Unary("not", self.value(of, here), FLAG)
            case ex.Unary(op, of):
                found = self.value(of, here)
                if is_real(found.type):
                    return Unary(op, found, found.type)
                whole = number_of(found.type)
                low, high = (-whole.high, -whole.low) if op == "-" else (~whole.high, ~whole.low)
                return Unary(op, found, Whole(low, high))
            case ex.Binary(op, left, right):
                return self._binary(op, self.value(left, here), self.value(right, here))
            case ex.Ternary(test, yes, no):
                first, second = self._alike(self.bind(yes, here), self.bind(no, here))
                return Choose(self.value(test, here), first, second, either((first.type, second.type)))
        raise TypeError(expr)

    def _shown(self, expr: ex.Expr, here: Here) -> Value:
        """A part of a text that is put together."""
        if isinstance(expr, ex.Literal):
            return _constant(str(expr.value))
        found = self.value(expr, here)
        if self.kinds.of(expr, here.scope).name == "enum":
            found = Number(found, number_of(found.type))
        return Shown(found)

    def _name(self, name: str, here: Here) -> Value:
        struct = here.scope.struct
        match name:
            case "_" if here.item is not None:
                return Item(here.item)
            case "_index":
                return Counter()
            case "_io":
                return StreamOf(None, here.at_hand)
            case "_root" if struct.name in self.kinds.rootless:
                # another schema holds such objects, too: there the outermost one is of another type
                return Cast(Around(None, "root", OBJECT), name, ObjectOf(struct.name.partition("::")[0]))
            case "_root" | "_parent":
                return Around(None, name[1:], self._around(ex.Name(name), here))
            case "_sizeof":
                return _constant((bits_of(self.model, struct.name) + 7) // 8)
        if here.calls and name.startswith("_d"):
            return here.calls[int(name[2:])]
        return FieldOf(name, self.types.member(struct, name))

    def _around(self, expr: ex.Expr, here: Here) -> Type:
        """The type of a parent or a root."""
        kind = self.kinds.of(expr, here.scope)
        found: Type = OBJECT
        if kind.full:
            found = ObjectOf(kind.full)
        elif parents := self.kinds.parents_of(expr, here.scope):
            found = either(ObjectOf(each.name) for each in parents)
        return Maybe(found) if kind.maybe else found

    def _attribute(self, of: ex.Expr, name: str, here: Here) -> Value:
        kind = self.kinds.of(of, here.scope).name
        if name == "_sizeof":
            return _constant((self.kinds.width(of, here.scope) + 7) // 8)
        owner = self.value(of, here)
        if kind == "type":
            return self._member(owner, of, name, here)
        if name in ("size", "length") and kind != "stream":
            return SizeOf(owner, Whole(0, (1 << 31) - 1))
        match name:
            case "first":
                return ElementOf(owner, _constant(0), _of_elements(owner.type))
            case "last" | "min" | "max":
                return EdgeOf(owner, name, _of_elements(owner.type))
            case "to_i":
                endless = kind in ("text", "float")
                return Number(owner, UNBOUNDED if endless else number_of(owner.type))
            case "to_s":
                return Shown(owner)
            case "reverse":
                return Reversed(owner)
            case "eof":
                return StreamAsked(owner, name, FLAG)
        return StreamAsked(owner, name, _PLACE)

    def _member(self, owner: Value, of: ex.Expr, name: str, here: Here) -> Value:
        match name:
            case "_io":
                return StreamOf(owner)
            case "_root" | "_parent":
                return Around(owner, name[1:], self._around(ex.Attr(of, name), here))
        held = owner.type
        units = held.types if isinstance(held, OneOf) else (held,)
        found = [
            self.types.member(self.kinds.struct(each.unit), name)
            for each in units
            if isinstance(each, ObjectOf)
        ]
        return MemberOf(owner, name, either(found))

    def _method(self, of: ex.Expr, name: str, args: tuple[ex.Expr, ...], here: Here) -> Value:
        owner = self.value(of, here)
        match name:
            case "substring":
                start, stop = (self.value(each, here) for each in args)
                return Substring(owner, start, stop)
            case "to_i":
                return Number(owner, UNBOUNDED, self.value(args[0], here))
        assert isinstance(args[0], ex.Literal)
        return Decoded(owner, encoding_named(str(args[0].value)) or "")

    def _cast(self, cast: ex.Cast, of: ex.Expr, here: Here) -> Value:
        kind, before = self.kinds.named(cast.type), self.kinds.of(of, here.scope)
        if kind.name == "type" and kind.full and before.full != kind.full:
            return Cast(self.value(of, here), _last(of), ObjectOf(kind.full))
        if kind.name == "bytes" and before.name == "list":
            return Cast(self.value(of, here), _last(of), OCTETS)
        if before.name == "any" and kind.name in ("text", "bytes", "integer", "list"):
            return Cast(self.value(of, here), _last(of), self.types.kind(kind))
        # whole numbers have no width, and what is known to be of a type stays as it is
        return self.value(of, here) if before.maybe else self.bind(of, here)

    def _alike(self, *values: Value) -> tuple[Value, ...]:
        """Alternatives of which one is a real number: whole ones become so, as `x / (a ? 1.5 : b)` needs."""
        if not any(isinstance(each.type, Real) for each in values):
            return values
        one = _constant(1.0)
        return tuple(
            self._binary("*", each, one) if isinstance(each.type, Whole) else each for each in values
        )

    @staticmethod
    def _binary(op: str, left: Value, right: Value) -> Value:
        if op in ("and", "or") or op in _COMPARED:
            return Binary(op, left, right, FLAG)
        if op == "+" and left.type == TEXT:
            return Binary(op, left, right, TEXT)
        if is_real(left.type) or is_real(right.type):
            return Binary(op, left, right, Real(64))
        return Binary(op, left, right, arithmetic(op, number_of(left.type), number_of(right.type)))


def is_real(kind: Type) -> bool:
    """Whether a number may have a fraction."""
    if isinstance(kind, Maybe):
        return is_real(kind.of)
    return isinstance(kind, Real) or (isinstance(kind, OneOf) and any(map(is_real, kind.types)))


def number_of(kind: Type) -> Whole:
    """The range of a whole number, a flag, or a member of an enum."""
    match kind:
        case Whole():
            return kind
        case EnumOf(number=number):
            return number
        case Maybe(of):
            return number_of(of)
        case OneOf(types):
            ranges = [number_of(each) for each in types]
            return Whole(min(each.low for each in ranges), max(each.high for each in ranges))
    return Whole(0, 1) if kind == FLAG else UNBOUNDED


def _of_elements(kind: Type) -> Type:
    """The type of the elements of a list, or of bytes."""
    if isinstance(kind, OneOf):
        return either(_of_elements(each) for each in kind.types)
    if isinstance(kind, ListOf):
        return kind.item
    return Whole(0, 255) if kind == OCTETS else ANY


def _constant(value: int | float | bool | str) -> Constant:
    kind: Type = TEXT
    if isinstance(value, bool):
        kind = FLAG
    elif isinstance(value, int):
        kind = Whole(value, value)
    elif isinstance(value, float):
        kind = Real(64)
    return Constant(value, kind)


def _last(expr: ex.Expr) -> str:
    """The name that an error shows for what an expression gives."""
    match expr:
        case ex.Name(name) | ex.Attr(_, name):
            return name
        case ex.Cast(of, _) | ex.Index(of, _):
            return _last(of)
    return ""
