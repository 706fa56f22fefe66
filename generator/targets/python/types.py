"""The Python type and the default of each field."""

from __future__ import annotations

from kodec.generator.layout import Layout
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bits, Bytes, Field, Prim, Ref, Str, Struct, Switch, TypeRef
from kodec.generator.schema.roles import codec_field, transparent
from kodec.generator.targets.python.context import Context
from kodec.generator.targets.python.expressions import emit
from kodec.generator.targets.python.facts import fields_of
from kodec.generator.wire import INTRINSICS, WIRE

__all__ = ["Types"]

_MOST_ZEROS = 1 << 16


class Types(Context):
    """Python types, defaults, and what an object keeps."""

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

    def items(self, layout: Layout) -> dict[str, str]:
        """What an element of each list is called while a layout is read or written: one name has one type."""
        found: dict[str, str] = {}
        first: str | None = None
        for spec in (spec for step in layout.steps for spec in fields_of(step) if spec.repeat is not None):
            kind = self.py_type(spec.type, spec)
            first = first or kind
            # no schema name ends in `_`
            found[spec.id] = "item" if kind == first else f"item_of_{spec.id}_"
        return found

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
