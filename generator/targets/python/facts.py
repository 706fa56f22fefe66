"""What the back end asks of the model: which types give classes, which stand for another value."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kodec.generator.layout import Layouts
from kodec.generator.problems import Place
from kodec.generator.schema.model import Bytes, Field, Model, Prim, Ref, Schema, Struct, Switch, Tag, TypeRef
from kodec.generator.schema.roles import section_tags
from kodec.generator.targets.python.names import RUNTIME, camel, local
from kodec.generator.wire import INTRINSICS, WIRE

__all__ = [
    "NOTHING",
    "Env",
    "Facts",
    "Shape",
    "of_tag",
    "targets_of",
]


_IMPORTED = frozenset().union(*RUNTIME.values())


class Facts:
    """A model with its Python names."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.layouts = Layouts(model)
        self._ids = {schema.id: Counter(each.id for each in schema.structs) for schema in model.schemas}
        self.classes = {
            struct.name: camel(self.function(struct)) for schema in model.schemas for struct in schema.structs
        }
        self._tag_parts = {
            field.type.target
            for schema in model.schemas
            for struct in schema.structs
            if struct.wire == "tags"
            for field in struct.fields
            if isinstance(field.type, Ref) and field.repeat is not None
        }

    def function(self, struct: Struct) -> str:
        """What follows `read_` and `write_`: the type's name, or its path if two have that name."""
        names = self._ids[struct.name.partition("::")[0]]
        name = struct.id if names[struct.id] == 1 else _inner_path(struct.name)
        # no schema name ends in `_`
        return f"{name}_" if f"read_{name}" in _IMPORTED else name

    def enum_class(self, name: str) -> str:
        """The class of an enum: its name, or its path where another enum or type has that name."""
        schema = self.model.schema_of(name)
        own = camel(name.rpartition("::")[2])
        others = [camel(each.name.rpartition("::")[2]) for each in schema.enums if each.name != name]
        others += [self.classes[each.name] for each in schema.structs]
        return camel(name.replace("::", "_")) if own in others else own

    def wanted(self, schema: Schema) -> bool:
        """Whether the schema gives a module at all; an intrinsic lives in the runtime."""
        return any(not self.in_runtime(struct) for struct in schema.structs)

    def in_runtime(self, struct: Struct) -> bool:
        if struct.wire in (*INTRINSICS, "tags"):
            return True
        # the parts of a tagged section are framed by the runtime
        return struct.name in self._tag_parts

    def tag_section(self, spec: Field) -> Field | None:
        """The field that carries `-tags`, where `spec` is a tagged section."""
        if not isinstance(spec.type, Ref) or self.model.struct(spec.type.target).wire != "tags":
            return None
        section = self.model.struct(spec.type.target)
        return section_tags(self.model, section) or Field(spec.id, Bytes(), spec.place)

    def checksum(self, struct: Struct) -> tuple[str, int, int] | None:
        """(function, its place, where it covers from) of a checksum at a fixed place, over all to the end."""
        if struct.versions or struct.params:
            return None
        places = self.places(struct)
        for spec in struct.fields:
            derive = spec.derive
            if (
                derive is None
                or not derive.is_checksum
                or (derive.last or derive.first) != struct.fields[-1].id
            ):
                continue
            if spec.id in places and derive.first in places:
                return derive.kind, places[spec.id], places[derive.first]
        return None

    def places(self, struct: Struct) -> dict[str, int]:
        """Where the fields of a type stand that always stand at one place, in bytes from its start."""
        found = self.layouts.extents(self.layouts.layout(struct, {}))
        return {each.path: each.offset for each in found if each.offset is not None and "." not in each.path}

    def shape(self, struct: Struct) -> Shape:
        """What of a type's sizes and places is the same in all its layouts."""
        layouts = [
            variant.layout
            for known in self.layouts.bindings(struct)
            for variant in self.layouts.variants(struct, known)
        ]
        tables = [
            {
                each.path: each
                for each in self.layouts.extents(layout)
                if "." not in each.path and not each.bits
            }
            for layout in layouts
        ]
        offsets, sizes, formats = dict[str, int](), dict[str, int](), dict[str, str]()
        for name, first in tables[0].items():
            found = [table.get(name) for table in tables]
            if first.offset is not None and all(each and each.offset == first.offset for each in found):
                offsets[name] = first.offset
            if first.size is not None and all(each and each.size == first.size for each in found):
                sizes[name] = first.size
                codes = {_code(each.field) for each in found if each}
                if len(codes) == 1 and (code := codes.pop()):
                    formats[name] = code
        least = min(layout.min_size for layout in layouts)
        fixed = all(layout.fixed is not None or not layout.steps for layout in layouts)
        same = len({layout.min_size for layout in layouts}) == 1
        return Shape(least, least if fixed and same else None, offsets, sizes, formats)


def _code(field: Field) -> str:
    """How `struct` says a number; empty of what is none, or none that it knows."""
    if not isinstance(field.type, Prim) or field.repeat is not None:
        return ""
    code = WIRE[field.type.name].python.code
    return code and (">" if field.type.endian == "be" else "<") + code


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes and places of a type that hold in all its layouts.

    Attributes:
        least: the fewest bytes that a value takes.
        size: its bytes, where that is always the same.
        offsets, sizes: of its fields, in bytes; those that differ are left out.
        formats: of its fields that are one number, as `struct` says it.
    """

    least: int
    size: int | None
    offsets: dict[str, int]
    sizes: dict[str, int]
    formats: dict[str, str]


@dataclass(slots=True)
class Env:
    """How names become Python in one function: `names` maps a field to an expression."""

    names: dict[str, str]
    struct: Struct

    def __call__(self, name: str) -> str:
        return self.names[name] if name in self.names else local(name)


def _inner_path(name: str) -> str:
    """The path of a type inside its schema; the schema's own name for the outermost type."""
    path = name.split("::")
    return "_".join(path[1:] or path)


def targets_of(struct: Struct) -> list[str]:
    found: list[str] = []

    def visit(kind: TypeRef) -> None:
        if isinstance(kind, Ref):
            found.append(kind.target)
        elif isinstance(kind, Switch):
            for _, each in kind.cases:
                visit(each)
            if kind.default is not None:
                visit(kind.default)

    for spec in struct.fields:
        visit(spec.type)
        if spec.codec is not None:
            found.append(spec.codec.inner)
    return found


def of_tag(tag: Tag, section: Field) -> Field:
    """A tag as a field of the type that holds its section."""
    return Field(
        tag.id, tag.type, section.place, doc=tag.doc, default=tag.default, null_versions=tag.null_versions
    )


NOTHING = Struct("", Place("", 0, 0))
