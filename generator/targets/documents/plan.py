"""From the model to what the pages say, each cell of a table in words."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from kodec.generator.layout import Extent, Layout, Layouts
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import (
    Bits,
    Bytes,
    Column,
    Derive,
    Enum,
    Field,
    Model,
    Prim,
    Ref,
    Schema,
    Str,
    Struct,
    Switch,
    TypeRef,
    Valid,
)
from kodec.generator.schema.roles import TRANSPARENT
from kodec.generator.text import Text, code, markdown
from kodec.generator.wire import INTRINSICS, WIRE

__all__ = ["EnumPage", "EnumRow", "Page", "Row", "Table", "TypePage", "pages"]

_ORDER = {"be": "big-endian", "le": "little-endian", "by": "in the byte order at hand"}


@dataclass(frozen=True, slots=True)
class Row:
    """A field: where it stands, its size in bytes, its name, its type, and all else. All are Markdown."""

    offset: str
    size: str
    name: str
    type: str
    notes: str


@dataclass(frozen=True, slots=True)
class Table:
    """One layout, with the versions that have it; no title where there is only one."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class TypePage:
    name: str
    anchor: str
    doc: str
    facts: tuple[str, ...]
    tables: tuple[Table, ...]


@dataclass(frozen=True, slots=True)
class EnumRow:
    value: int
    name: str
    doc: str


@dataclass(frozen=True, slots=True)
class EnumPage:
    name: str
    anchor: str
    rows: tuple[EnumRow, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """The page of one schema, at `path`."""

    schema: Schema
    path: str
    title: str
    types: tuple[TypePage, ...]
    enums: tuple[EnumPage, ...]


def pages(model: Model) -> Iterator[Page]:
    """A page for each schema."""
    layouts = Layouts(model)
    for schema in model.schemas:
        yield _Pages(model, layouts, schema).page()


def _path(schema: Schema) -> str:
    return schema.path.removesuffix(".ksy") + ".md"


def _anchor(name: str) -> str:
    return name.replace("::", "-")


def _cell(text: Text) -> str:
    """Markdown on one line, for a table."""
    return " ".join(markdown(text).split())


class _Pages:
    def __init__(self, model: Model, layouts: Layouts, schema: Schema) -> None:
        self.model = model
        self.layouts = layouts
        self.schema = schema

    def page(self) -> Page:
        return Page(
            self.schema,
            _path(self.schema),
            _cell(self.schema.title) or code(self.schema.id),
            tuple(self.type(struct) for struct in self.schema.structs),
            tuple(self.enum(enum) for enum in self.schema.enums),
        )

    def link(self, name: str) -> str:
        """A link to a type or an enum, on this page or another."""
        owner = self.model.schema_of(name)
        here = posixpath.dirname(self.schema.path) or "."
        page = "" if owner is self.schema else posixpath.relpath(_path(owner), here)
        return f"[{code(name.rpartition('::')[2])}]({page}#{_anchor(name)})"

    def enum(self, enum: Enum) -> EnumPage:
        rows = []
        for item in enum.items:
            notes = [_cell(item.doc), *_since(item.since, item.until)]
            rows.append(EnumRow(item.value, item.id, " ".join(note for note in notes if note)))
        return EnumPage(code(enum.name.rpartition("::")[2]), _anchor(enum.name), tuple(rows))

    # -- types

    def type(self, struct: Struct) -> TypePage:
        variants = [
            (known, variant)
            for known in self.layouts.bindings(struct)
            for variant in self.layouts.variants(struct, known)
        ]
        tables = []
        for known, variant in variants:
            parts = [f"{code(name)} is {str(value).lower()}" for name, value in known.items()]
            if variant.versions:
                shown = ", ".join(map(str, variant.versions))
                parts.append(f"Version{'s' * (len(variant.versions) > 1)} {shown}")
            title = "; ".join(parts) if len(variants) > 1 else ""
            tables.append(Table(title, self.rows(struct, variant.layout)))
        kept = tuple(table for table in tables if table.rows)
        return TypePage(
            code(struct.id), _anchor(struct.name), markdown(struct.doc), tuple(self.facts(struct)), kept
        )

    def facts(self, struct: Struct) -> Iterator[str]:
        for source in struct.doc_ref:
            yield f"Source: {markdown(source)}"
        if struct.wire in INTRINSICS:
            yield f"Stands for its value: {WIRE[struct.wire].document}."
        elif struct.wire in TRANSPARENT:
            yield "Stands for the value that it holds."
        elif struct.wire == "tags":
            yield "A section of tagged fields."
        if struct.versions:
            yield f"Versions {struct.versions}, by {code(struct.version_field)}."
        if struct.flexible is not None:
            yield f"Flexible versions: {struct.flexible}."
        if struct.topic:
            yield f"In the topic {markdown(struct.topic)}."
        for param in struct.params:
            yield f"Parameter {code(param.id)}, {param.type}. {_cell(param.doc)}".strip()
        for each in struct.instances:
            if each.peek_type is not None:
                where = f"{self.plain(each.peek_type)} at byte {each.peek_at}"
                yield f"{code(each.id)}: looked at before all is read, {where}. {_cell(each.doc)}".strip()
            elif each.value is not None and struct.wire not in INTRINSICS:
                yield f"{code(each.id)} is {code(ex.text_of(each.value))}. {_cell(each.doc)}".strip()
        if struct.row:
            names = [each.name if isinstance(each, Column) else each for each in struct.columns]
            yield f"One value is one row{': ' + ', '.join(map(code, names)) if names else ''}."

    # -- fields

    def rows(self, struct: Struct, layout: Layout) -> tuple[Row, ...]:
        return tuple(self.row(struct, each) for each in self.layouts.extents(layout))

    def row(self, struct: Struct, each: Extent) -> Row:
        spec = each.field
        size = "" if each.size is None else str(each.size)
        if spec.repeat is None and each.size is None:
            size = "to the end" if spec.size_eos else "" if spec.size is None else code(ex.text_of(spec.size))
        kind = self.kind(spec)
        if each.bits is not None:
            shift, width = each.bits
            last = shift + width - 1
            kind = f"bit {shift}" if width == 1 else f"bits {shift} to {last}"
        if spec.enum is not None:
            kind += f", {self.link(spec.enum)}"
        offset = "" if each.offset is None else str(each.offset)
        return Row(offset, size, code(each.path), kind, " ".join(self.notes(struct, spec)))

    def kind(self, spec: Field) -> str:
        if spec.contents is not None:
            return f"the bytes {code(spec.contents.hex(' '))}"
        text = self.plain(spec.type)
        if spec.codec is not None:
            text = self.link(spec.codec.inner)
        if spec.repeat is None:
            return text
        if spec.repeat_expr is not None:
            return f"{code(ex.text_of(spec.repeat_expr))} times {text}"
        if spec.repeat_until is not None:
            return f"{text}, repeated until {code(ex.text_of(spec.repeat_until))}"
        return f"{text}, repeated to the end"

    def plain(self, kind: TypeRef) -> str:
        match kind:
            case Prim(name, width, _, _, endian):
                order = f", {_ORDER[endian]}" if width > 1 else ""
                return WIRE[name].document + order
            case Bits(width):
                return f"{width} bits"
            case Bytes():
                return "bytes"
            case Str(encoding):
                return f"text, {encoding}"
            case Ref(target, args):
                given = f" of {', '.join(code(ex.text_of(arg)) for arg in args)}" if args else ""
                return self.link(target) + given
            case Switch(on, cases, default):
                parts = [f"{code(ex.text_of(case))}: {self.plain(each)}" for case, each in cases]
                parts.append(f"else {'bytes' if default is None else self.plain(default)}")
                return f"by {code(ex.text_of(on))}: {'; '.join(parts)}"
        raise TypeError(kind)

    def notes(self, struct: Struct, spec: Field) -> Iterator[str]:
        """All that is said of a field, sentence by sentence."""
        if spec.doc:
            yield _cell(spec.doc)
        if spec.condition is not None:
            yield f"Only where {code(ex.text_of(spec.condition))}."
        if spec.nullable is not None:
            yield f"Null where {code(ex.text_of(spec.nullable))}."
        if spec.valid is not None:
            yield f"Must be {_allowed(spec.valid)}."
        if spec.derive is not None:
            yield f"Computed: {code(_derived(spec.derive))}{_checked(spec.derive)}."
        if spec.codec is not None:
            yield f"Compressed as {code(ex.text_of(spec.codec.by))} says."
            for old, new in spec.codec.replace:
                when = "" if spec.codec.when is None else f" where {code(ex.text_of(spec.codec.when))}"
                yield f"{code(new)} stands in for {code(old)}{when}."
        for tag in spec.tags:
            default = "" if tag.default is None else f", {code(ex.text_of(tag.default))} where it is absent"
            doc = f" {_cell(tag.doc)}" if tag.doc else ""
            yield f"Tag {tag.number} is {code(tag.id)}: {self.plain(tag.type)}{default}.{doc}"
        if spec.default is not None:
            yield f"Default: {code(ex.text_of(spec.default))}."
        yield from _since(spec.since, spec.until)
        if spec.orig_id:
            yield f"Elsewhere called {markdown(spec.orig_id)}."


def _since(since: int | None, until: int | None) -> Iterator[str]:
    if since is not None and since == until:
        yield f"Version {since} only."
    elif since is not None and until is not None:
        yield f"Versions {since} to {until}."
    elif since is not None:
        yield f"Since version {since}."
    elif until is not None:
        yield f"Until version {until}."


def _allowed(valid: Valid) -> str:
    parts = []
    for words, rule in (("", valid.eq), ("at least ", valid.min), ("at most ", valid.max)):
        if rule is not None:
            parts.append(words + code(ex.text_of(rule)))
    if valid.any_of is not None:
        parts.append("one of " + ", ".join(code(ex.text_of(each)) for each in valid.any_of))
    if valid.expr is not None:
        parts.append(f"so that {code(ex.text_of(valid.expr))}")
    return ", ".join(parts)


def _derived(derive: Derive) -> str:
    last = f"..{derive.last}" if derive.last else f".{derive.member}" if derive.member else ""
    plus = "" if derive.plus is None else f" + {ex.text_of(derive.plus)}"
    return f"{derive.kind}({derive.first}{last}){plus}"


def _checked(derive: Derive) -> str:
    """How strictly, and when."""
    least = ", or more" if derive.verify == "at_least" else ""
    return least + ("" if derive.when is None else f", where {code(ex.text_of(derive.when))}")
