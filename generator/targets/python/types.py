"""The Python type and the default of each field."""

from __future__ import annotations

from dataclasses import dataclass

from kodec.generator.plan.values import (
    FLAG,
    IDENTITY,
    OCTETS,
    TEXT,
    EnumOf,
    ListOf,
    Maybe,
    Named,
    ObjectOf,
    Real,
    Type,
    Whole,
)
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bits, Bytes, Field, Prim, Ref, Str, Struct, Switch, TypeRef
from kodec.generator.schema.roles import codec_field, transparent
from kodec.generator.targets.python.context import Context
from kodec.generator.targets.python.expressions import emit
from kodec.generator.targets.python.facts import NOTHING, of_tag
from kodec.generator.targets.python.names import local
from kodec.generator.wire import INTRINSICS, WIRE

__all__ = ["FieldText", "Types"]

_MOST_ZEROS = 1 << 16


_PLAIN = {FLAG: "bool", TEXT: "str", OCTETS: "bytes", IDENTITY: "UUID"}


@dataclass(frozen=True, slots=True)
class FieldText:
    """A field as Python: its type and that of one element, what it is by default, and where it is not read.

    `nullable` says that a length or the like in front of it says that it is null, `section` that it holds
    tagged fields.
    """

    annotation: str
    single: str
    default: str
    absent: str
    droppable: bool
    nullable: bool = False
    section: bool = False


class Types(Context):
    """Python types, defaults, and what an object keeps."""

    def field_texts(self, struct: Struct) -> dict[str, FieldText]:
        """Every field of a type, and every known one of its tagged section."""
        found: dict[str, FieldText] = {}
        for spec in struct.fields:
            section = self.back.tag_section(spec)
            for tag in () if section is None else section.tags:
                kind, default = self.py_type(tag.type), self.plain_default(NOTHING, of_tag(tag, spec))
                found[tag.id] = FieldText(kind, kind, default, default, tag.ignorable)
            if section is not None:
                kind = "list[tuple[int, bytes]]"
                found[spec.id] = FieldText(kind, kind, "[]", "[]", False, section=True)
                continue
            found[spec.id] = FieldText(
                self.annotation(struct, spec),
                self.py_type(spec.type, spec),
                self.plain_default(struct, spec),
                self.absent_value(struct, spec),
                spec.ignorable,
                spec.nullable is not None,
            )
        return found

    def kept(self, name: str) -> list[str]:
        """The fields that objects of a type have which is part of a run."""
        return [spec.id for spec in self.model.struct(name).fields if spec.contents is None]

    def parameters(self, struct: Struct) -> list[tuple[str, str]]:
        """What a type is told: names and types."""
        return [(local(each.id), "bool" if each.type == "bool" else "int") for each in struct.params]

    def function(self, verb: str, unit: str) -> str:
        """The function that reads or writes a type."""
        return self.imported(unit, f"{verb}_{self.back.function(self.model.struct(unit))}")

    def enum_of(self, enum: str) -> str:
        """The class of an enum."""
        return self.imported(enum, self.back.enum_class(enum))

    def type_text(self, kind: Type) -> str:
        """A type of the plan."""
        match kind:
            case Whole() | EnumOf():
                return "int"
            case Real():
                return "float"
            case ObjectOf(unit):
                return self.class_of(unit)
            case ListOf():
                return "list"
            case Maybe(of):
                return self.type_text(of)
            case Named():
                return _PLAIN[kind]
        raise TypeError(kind)

    def py_type(self, kind: TypeRef, spec: Field | None = None) -> str:
        if spec is not None and spec.enum is not None:
            return f"{self.imported(spec.enum, self.back.enum_class(spec.enum))} | int"
        match kind:
            case Prim(name):
                return WIRE[name].python.type
            case Bits(1):
                return "bool"
            case Bits():
                return "int"
            case Bytes():
                return "bytes"
            case Str():
                return "str"
            case Ref(target):
                struct = self.model.struct(target)
                if struct.wire in INTRINSICS:
                    return WIRE[struct.wire].python.type
                inner = transparent(struct)
                if inner is not None:
                    text = self.py_type(inner.type, inner)
                    text = f"list[{text}]" if inner.repeat else text
                    return (
                        f"{text} | None" if inner.nullable is not None and not text.endswith("None") else text
                    )
                return self.class_of(target)
            case Switch(_, cases, default):
                kinds = {self.py_type(each) for _, each in cases}
                if default is not None:
                    kinds.add(self.py_type(default))
                elif spec is None or not self.may_lack_case(spec):
                    kinds.add("bytes")
                return " | ".join(sorted(kinds, key=lambda text: (text == "None", text)))
        raise TypeError(kind)

    def is_nullable(self, spec: Field) -> bool:
        if spec.nullable is not None:
            return True
        if isinstance(spec.type, Ref) and not spec.repeat:
            inner = transparent(self.model.struct(spec.type.target))
            return inner is not None and inner.nullable is not None
        return False

    @staticmethod
    def may_lack_case(spec: Field) -> bool:
        """Whether there is nothing, and None, where a switch has no case."""
        if not isinstance(spec.type, Switch) or spec.type.default is not None:
            return False
        return spec.size is None and not spec.size_eos and spec.codec is None and not spec.tags

    def annotation(self, struct: Struct, spec: Field) -> str:
        if spec.codec is not None:
            inner = self.py_type(Ref(spec.codec.inner))
            return f"{inner} | bytes" + (" | None" if spec.nullable is not None else "")
        text = self.py_type(spec.type, spec)
        if spec.repeat is not None:
            text = f"list[{text}]"
        optional = spec.nullable is not None or (spec.derive is not None and not isinstance(spec.type, Bits))
        optional = optional or self.layouts.optional(struct, spec) or self.may_lack_case(spec)
        return f"{text} | None" if optional and not text.endswith("None") else text

    def may_be_none(self, struct: Struct, spec: Field) -> bool:
        return self.is_nullable(spec) or self.layouts.optional(struct, spec) or self.may_lack_case(spec)

    def default(self, struct: Struct, spec: Field) -> str:
        """The value of the attribute when none is given, as Python."""
        empty = spec.default == ex.Name("empty") and spec.enum is None
        if spec.default is not None and not empty:
            return self.default_value(spec)
        if spec.derive is not None or (self.may_be_none(struct, spec) and not empty):
            return "None"
        if spec.repeat is not None:
            return "field(default_factory=list)"
        if spec.codec is not None:
            inner = self.model.struct(spec.codec.inner)
            return "field(default_factory=list)" if inner.wire == "list" else 'b""'
        if struct.versions and spec.id == struct.version_field:
            return str(struct.versions.last)
        if spec.valid is not None and isinstance(spec.valid.eq, ex.Literal):
            return repr(spec.valid.eq.value)
        if spec.enum is not None:
            zero = next((item for item in self.model.enum(spec.enum).items if item.value == 0), None)
            return (
                "0"
                if zero is None
                else f"{self.imported(spec.enum, self.back.enum_class(spec.enum))}.{zero.id.upper()}"
            )
        return self.zero(spec.type, spec)

    def default_value(self, spec: Field) -> str:
        value = spec.default
        assert value is not None
        if spec.enum is not None and isinstance(value, ex.Name):
            return f"{self.imported(spec.enum, self.back.enum_class(spec.enum))}.{value.name.upper()}"
        if isinstance(value, ex.Name) and value.name == "null":
            return "None"
        return emit(value, lambda name: name, self.model)

    def zero(self, kind: TypeRef, spec: Field | None = None) -> str:
        match kind:
            case Prim(name):
                return WIRE[name].python.zero
            case Bits(1):
                return "False"
            case Bits():
                return "0"
            case Bytes():
                size = spec.size if spec is not None else None
                number = size.value if isinstance(size, ex.Literal) else 0
                # made where the module is imported: a large one must be given
                usual = isinstance(number, int) and 0 < number <= _MOST_ZEROS
                return f"bytes({number})" if usual else 'b""'
            case Str():
                return '""'
            case Ref(target):
                struct = self.model.struct(target)
                if struct.wire in INTRINSICS:
                    return WIRE[struct.wire].python.zero
                inner = transparent(struct)
                if inner is not None:
                    return "field(default_factory=list)" if inner.repeat else self.zero(inner.type, inner)
                return f"field(default_factory={self.class_of(target)})"
            case Switch():
                return 'b""'
        raise TypeError(kind)

    def plain_default(self, struct: Struct, spec: Field) -> str:
        """The default as a value to compare with."""
        text = self.default(struct, spec)
        if text == "field(default_factory=list)":
            return "[]"
        return (
            text.removeprefix("field(default_factory=").removesuffix(")") + "()"
            if text.startswith("field(")
            else text
        )

    def stored(self, struct: Struct, spec: Field) -> bool:
        if spec.contents is not None:
            return False
        if spec.derive is None or not spec.derive.is_length:
            return True
        # The head of a container can be read without its content: keep what says how much there is.
        return codec_field(struct) is not None

    def absent_value(self, struct: Struct, spec: Field) -> str:
        if spec.derive is not None or self.may_be_none(struct, spec):
            return "None"
        if spec.codec is not None:
            return "[]" if self.model.struct(spec.codec.inner).wire == "list" else 'b""'
        if spec.repeat is not None:
            return "[]"
        return self.plain_default(struct, spec)
