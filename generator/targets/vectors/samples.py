"""Values for a type's fields: small, ordinary and extreme ones, always the same."""

from __future__ import annotations

from math import isfinite
from typing import Any
from uuid import UUID

from kodec.generator.modules import Modules
from kodec.generator.passes.sizes import interval_of
from kodec.generator.plan.layouts import Layouts
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bits, Bytes, Field, Prim, Ref, Schema, Str, Struct, Switch, TypeRef
from kodec.generator.schema.roles import transparent
from kodec.generator.targets.python.index import ModelIndex
from kodec.generator.targets.python.names import attribute
from kodec.generator.wire import ENCODINGS, INTRINSICS, WIRE

__all__ = ["SAMPLES", "NoSample", "Samples"]

SAMPLES = 4
"""How many values are tried: the smallest, two ordinary ones, the largest."""
MOST = 1 << 14
"""Values of one sample and their bytes, in all: types whose values need more have no vectors."""
_TEXTS = ("", "a", "kodec", 'key with "quotes" and \\')
_WIDE_TEXTS = ("", "a", "caf\u00e9 \u2014 \u65e5\u672c", "\U0001f600")
_FLOATS = (0.0, 1.5, -2.25, 65536.125)
_UUIDS = (UUID(int=0), UUID(int=0x0123456789ABCDEF0123456789ABCDEF), UUID(int=1), UUID(int=(1 << 128) - 1))


class NoSample(Exception):
    """The values of the type depend on each other in a way that is not made here; the text says how."""


class Samples:
    """Objects of the generated classes."""

    def __init__(self, back: ModelIndex, modules: Modules) -> None:
        self.back = back
        self.model = back.model
        self.layouts: Layouts = back.layouts
        self.modules = modules
        self._left = MOST

    def sample(self, struct: Struct, number: int, version: int | None) -> Any:
        """Sample `number` (0 to SAMPLES - 1) of a type. Raises NoSample."""
        self._left = MOST
        return self.make(struct, number, version)

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise NoSample(f"a value takes more than {MOST} bytes")

    def make(self, struct: Struct, number: int, version: int | None = None) -> Any:
        """The same inside another. Raises NoSample."""
        self._spend(1)
        if any(param.type == "bool" for param in struct.params):
            raise NoSample("it has a parameter of type bool")
        known = {} if version is None else {struct.version_field: version}
        absent = (
            {field.id for field in self.layouts.layout(struct, known).absent} if struct.versions else set()
        )
        values: dict[str, Any] = {}
        if version is not None and struct.field(struct.version_field) is not None:
            values[attribute(struct.version_field)] = version
        for field in struct.fields:
            if field.id in absent or (struct.versions and field.id == struct.version_field):
                continue
            values |= self._field(struct, field, number, version)
        return self._class(struct)(**values)

    def _class(self, struct: Struct) -> Any:
        return getattr(self.modules.of(self._schema(struct.name)), self.back.classes[struct.name])

    def _schema(self, name: str) -> Schema:
        return self.model.schema_of(name)

    def _field(self, struct: Struct, field: Field, number: int, version: int | None) -> dict[str, Any]:
        """Values of the attributes that a field gives; none for what is derived, fixed, or left as it is."""
        if field.contents is not None or field.derive is not None:
            return {}
        name = attribute(field.id)
        section = self.back.tag_section(field)
        if section is not None:
            known = {struct.version_field: version} if struct.versions and version is not None else {}
            there = self.layouts.layout(struct, known).tags
            tags = {
                attribute(tag.id): self._value(struct, Field(tag.id, tag.type, field.place), number, version)
                for tag in there
            }
            most = max((tag.number for tag in section.tags), default=-1)
            return tags | {name: [(most + 1, b"more")] if number == 2 else []}
        if field.nullable is not None and number == 0:
            return {name: None}
        if field.codec is not None:
            inner = transparent(self.model.struct(field.codec.inner))
            if inner is None:
                return {name: None if field.nullable is not None else b""}
            # of none, there is no last and no largest one
            return {name: self._list(struct, inner, max(number, 1), version)}
        if field.repeat is not None:
            return {name: self._list(struct, field, number, version)}
        if field.condition is not None and field.nullable is None and not struct.versions:
            # there or not, as other fields say: a default is right in both
            if self.layouts.optional(struct, field) and number % 2:
                return {name: self._value(struct, field, number, version)}
            return {}
        return {name: self._value(struct, field, number, version)}

    def _list(self, struct: Struct, field: Field, number: int, version: int | None) -> list[Any]:
        if field.repeat == "until":
            raise NoSample(f"`{field.id}` ends at a value of its own")
        count = number
        if isinstance(field.repeat_expr, ex.Literal):
            count = int(field.repeat_expr.value)
        elif field.repeat_expr is not None and not self._derived_in(struct, field.repeat_expr):
            raise NoSample(f"nothing derives how many `{field.id}` there are")
        self._spend(count)
        one = Field(field.id, field.type, field.place, size=field.size, enum=field.enum, valid=field.valid)
        return [self._value(struct, one, (number + each) % SAMPLES, version) for each in range(count)]

    def _derived_in(self, struct: Struct, expr: ex.Expr) -> bool:
        names = ex.names(self.layouts.inline(struct, expr))
        return any((field := struct.field(name)) is not None and field.derive is not None for name in names)

    def _value(self, struct: Struct, field: Field, number: int, version: int | None) -> Any:
        if field.enum is not None:
            items = self.model.enum(field.enum).items
            enum = getattr(self.modules.of(self._schema(field.enum)), self.back.enum_class(field.enum))
            if any(item.id == "none" for item in items):
                # it may be a codec: content that is not compressed has the same bytes everywhere
                return enum(next(item.value for item in items if item.id == "none"))
            return enum(items[number % len(items)].value)
        match field.type:
            case Prim() | Bits():
                return self._number(field, number)
            case Bytes():
                return self._bytes(struct, field, number)
            case Str(encoding):
                return self._text(struct, field, encoding, number)
            case Ref(target):
                return self._ref(field, self.model.struct(target), number, version)
            case Switch():
                return self._switch(struct, field, field.type, number, version)
        raise TypeError(field.type)

    def _number(self, field: Field, number: int) -> Any:
        valid = field.valid
        if valid is not None and valid.eq is not None:
            return _plain(valid.eq, field)
        if valid is not None and valid.any_of is not None:
            return _plain(valid.any_of[number % len(valid.any_of)], field)
        low, high = interval_of(self.model, field)
        if isinstance(field.type, Prim) and field.type.floating:
            wanted = _FLOATS[number]
            return min(max(wanted, low), high) if isfinite(low) or isfinite(high) else wanted
        return self._whole(field.type, low, high, number)

    def _whole(self, kind: TypeRef, low: float, high: float, number: int) -> int | bool:
        if isinstance(kind, Bits) and kind.width == 1:
            return number % 2 == 1
        least, most = _exact(low), _exact(high)
        # not the very largest: sums of such would not fit their fields
        chosen = (least if least >= 0 else max(least, -1), 1, 1000, most // 2)[number]
        return min(max(chosen, least), most)

    def _bytes(self, struct: Struct, field: Field, number: int) -> bytes:
        if isinstance(field.size, ex.Literal):
            self._spend(int(field.size.value))
            return bytes((number * 50 + index) % 256 for index in range(int(field.size.value)))
        if field.size is not None and not self._derived_in(struct, field.size):
            raise NoSample(f"nothing derives the size of `{field.id}`")
        return (b"", b"\x00", b"value", bytes(range(200)))[number]

    def _text(self, struct: Struct, field: Field, encoding: str, number: int) -> str:
        form = ENCODINGS[encoding]
        if isinstance(field.size, ex.Literal):
            self._spend(int(field.size.value))
            return "x" * (int(field.size.value) // form.unit)
        if field.size is not None and not self._derived_in(struct, field.size):
            raise NoSample(f"nothing derives the size of `{field.id}`")
        valid = field.valid
        if valid is not None and valid.eq is not None:
            return str(_plain(valid.eq, field))
        return (_WIDE_TEXTS if form.name.startswith("UTF") else _TEXTS)[number]

    def _ref(self, field: Field, target: Struct, number: int, version: int | None) -> Any:
        if target.wire in INTRINSICS:
            if WIRE[target.wire].kind == "boolean":
                return number % 2 == 1
            if WIRE[target.wire].range is None:
                return _UUIDS[number]
            return self._whole(field.type, *interval_of(self.model, field), number)
        inner = transparent(target)
        if inner is not None:
            if inner.repeat is not None:
                return self._list(target, inner, number, version)
            if inner.nullable is not None and number == 0:
                return None
            return self._value(target, inner, number, version)
        return self.make(target, number, version if target.versions else None)

    def _switch(self, struct: Struct, field: Field, switch: Switch, number: int, version: int | None) -> Any:
        if not any(each.peek_at is not None for each in struct.instances):
            raise NoSample(f"`{field.id}` is of the type that another field says")
        cases = list(dict.fromkeys(case for _, case in switch.cases))
        case = cases[number % len(cases)]
        return self._value(struct, Field(field.id, case, field.place), number, version)


def _plain(expr: ex.Expr, field: Field) -> Any:
    folded = ex.fold(expr)
    if not isinstance(folded, ex.Literal):
        raise NoSample(f"what `{field.id}` may be depends on another field")
    return folded.value


def _exact(value: float) -> int:
    """2**64 - 1 and 2**63 - 1 are not floats: the nearest below is taken for them."""
    if not isfinite(value):
        return 0
    return int(value) if abs(value) < 2.0**53 or value < 0 else int(value) - 1
