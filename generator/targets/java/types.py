"""What the values of fields are in Java."""

from __future__ import annotations

from dataclasses import dataclass

from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bits, Bytes, Field, Prim, Ref, Schema, Str, Struct, Switch, TypeRef
from kodec.generator.schema.roles import transparent
from kodec.generator.targets.java.names import Names
from kodec.generator.targets.python.facts import Facts
from kodec.generator.wire import INTRINSICS, WIRE

__all__ = ["BOOL", "BYTES", "INT", "LONG", "JType", "Types", "integer", "prim_type"]


@dataclass(frozen=True, slots=True)
class JType:
    """A Java type.

    `kind` is int, long, bool, float, text, bytes, id, list, struct or object; `struct` is the type of the
    schemas that it is, `element` what a list holds.
    """

    text: str
    kind: str
    boxed: str
    struct: str = ""
    element: JType | None = None

    @property
    def primitive(self) -> bool:
        return self.text != self.boxed


INT = JType("int", "int", "Integer")
LONG = JType("long", "long", "Long")
BOOL = JType("boolean", "bool", "Boolean")
BYTES = JType("byte[]", "bytes", "byte[]")
_FLOAT = JType("float", "float", "Float")
_DOUBLE = JType("double", "float", "Double")
_TEXT = JType("String", "text", "String")
_UUID = JType("UUID", "id", "UUID")
_OBJECT = JType("Object", "object", "Object")
_FLOATS = {4: _FLOAT, 8: _DOUBLE}


def integer(bits: int, signed: bool) -> JType:
    """The type that holds a whole number; of 64 unsigned bits, its bits."""
    return INT if bits < 32 + signed else LONG


def prim_type(kind: Prim) -> JType:
    return _FLOATS[kind.width] if kind.floating else integer(8 * kind.width, kind.signed)


class Types:
    """Java types of one schema's fields, and what an absent one is."""

    def __init__(self, back: Facts, names: Names, schema: Schema) -> None:
        self.back = back
        self.model = back.model
        self.layouts = back.layouts
        self.names = names
        self.schema = schema

    def of(self, kind: TypeRef) -> JType:
        """The type of one value."""
        match kind:
            case Prim() as prim:
                return prim_type(prim)
            case Bits(1):
                return BOOL
            case Bits(width):
                return integer(width, False)
            case Bytes():
                return BYTES
            case Str():
                return _TEXT
            case Ref(target):
                struct = self.model.struct(target)
                if struct.wire in INTRINSICS:
                    form = WIRE[struct.wire]
                    if form.kind == "boolean":
                        return BOOL
                    return _UUID if form.kind == "UUID" else integer(form.bits, form.signed)
                inner = transparent(struct)
                if inner is not None:
                    return self.listed(self.of(inner.type)) if inner.repeat else self.of(inner.type)
                text = self.names.type(target, self.schema)
                return JType(text, "struct", text, target)
            case Switch(_, cases, default):
                kinds = {self.of(each) for _, each in cases}
                kinds.add(BYTES if default is None else self.of(default))
                return kinds.pop() if len(kinds) == 1 else _OBJECT
        raise TypeError(kind)

    @staticmethod
    def listed(element: JType) -> JType:
        text = f"List<{element.boxed}>"
        return JType(text, "list", text, "", element)

    def field(self, struct: Struct, spec: Field) -> JType:
        """The type of a field; of a compressible one, of its parsed content."""
        if spec.codec is not None:
            return self.of(Ref(spec.codec.inner))
        found = self.single(spec)
        if spec.repeat is not None:
            return self.listed(found)
        original = struct.field(spec.id) or spec
        absent = original.condition is not None and (
            original.nullable is not None or original.derive is not None
        )
        return JType(found.boxed, found.kind, found.boxed) if absent and found.primitive else found

    def single(self, spec: Field) -> JType:
        """The type of one value of a field: an enum of one bit is a number."""
        if spec.enum is not None and isinstance(spec.type, Bits):
            return integer(spec.type.width, False)
        return self.of(spec.type)

    # -- what is not there ------------------------------------------------------------------------

    def absent(self, struct: Struct, spec: Field) -> str:
        """The value of a field that is not there, as Java."""
        kind = self.field(struct, spec)
        value = spec.default
        if isinstance(value, ex.Name) and value.name == "null":
            return "null"
        if value == ex.Name("empty") and spec.enum is None:
            return "List.of()" if kind.kind == "list" else self._zero(kind, spec)
        if value is not None and spec.repeat is None and spec.codec is None:
            return self._literal(value, kind, spec)
        if spec.nullable is not None or (kind.text == kind.boxed and spec.derive is not None):
            return "null"
        if spec.repeat is None and self._nullable_text(spec):
            return "null"
        if kind.kind == "list":
            return "List.of()"
        if spec.codec is not None:
            return "null"
        if struct.versions and spec.id == struct.version_field:
            return str(struct.versions.last)
        if spec.valid is not None and isinstance(spec.valid.eq, ex.Literal):
            return self._literal(spec.valid.eq, kind, spec)
        return self._zero(kind, spec)

    def _nullable_text(self, spec: Field) -> bool:
        if not isinstance(spec.type, Ref):
            return False
        inner = transparent(self.model.struct(spec.type.target))
        return inner is not None and inner.nullable is not None

    def _literal(self, value: ex.Expr, kind: JType, spec: Field) -> str:
        from kodec.generator.text import java_literal

        if isinstance(value, ex.Name) and spec.enum is not None:
            items = self.model.enum(spec.enum).items
            return str(next(item.value for item in items if item.id == value.name))
        if isinstance(value, ex.EnumValue):
            items = self.model.enum(value.enum).items
            return str(next(item.value for item in items if item.id == value.value))
        sign = ""
        if isinstance(value, ex.Unary) and value.op == "-":
            sign, value = "-", value.of
        if not isinstance(value, ex.Literal):
            return self._zero(kind, spec)
        match value.value:
            case bool(flag):
                return str(flag).lower()
            case str(text):
                return java_literal(text) if kind.kind == "text" else f"new byte[] {{{_bytes(text)}}}"
            case number:
                suffix = {"long": "L", "float": "f", "double": "d"}.get(kind.text, "")
                return f"{sign}{number}{suffix}" if kind.kind != "bool" else str(bool(number)).lower()

    def _zero(self, kind: JType, spec: Field) -> str:
        match kind.kind:
            case "int" | "long" | "float":
                return "0"
            case "bool":
                return "false"
            case "text":
                return '""'
            case "id":
                return "new UUID(0, 0)"
            case "bytes":
                size = spec.size.value if isinstance(spec.size, ex.Literal) else 0
                return f"new byte[{size}]"
            case "struct":
                return self.empty(kind.struct)
        return "new byte[0]"

    def empty(self, name: str) -> str:
        """An object of a type in which every field is as where it is absent."""
        struct = self.model.struct(name)
        args = [value for spec in struct.fields for value in self.absent_components(struct, spec)]
        return f"new {self.names.type(name, self.schema)}({', '.join(args)})"

    def absent_components(self, struct: Struct, spec: Field) -> list[str]:
        """The components of a record that a field is, where it is absent."""
        section = self.back.tag_section(spec)
        if section is not None:
            made = [Field(tag.id, tag.type, spec.place, default=tag.default) for tag in section.tags]
            return [*(self.absent(struct, each) for each in made), "List.of()"]
        if not self.stored(struct, spec):
            return []
        if spec.codec is not None:
            return [self.absent(struct, spec), "null"]
        return [self.absent(struct, spec)]

    def stored(self, struct: Struct, spec: Field) -> bool:
        """Whether an object keeps the field: not what is fixed, nor a length but in a container."""
        if spec.contents is not None:
            return False
        if spec.derive is None or not spec.derive.is_length:
            return True
        return any(each.codec is not None for each in struct.fields)


def _bytes(text: str) -> str:
    return ", ".join(f"(byte) {each}" for each in text.encode("utf-8", "surrogateescape"))
