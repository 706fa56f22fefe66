"""Plans the pages from the model, with the text of each cell of their tables."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from kodec.generator.plan.build import program_of
from kodec.generator.plan.layouts import Layout, Layouts
from kodec.generator.plan.places import Extent, Places
from kodec.generator.plan.steps import Program
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import (
    Bits,
    Bytes,
    Column,
    Derive,
    Enum,
    Field,
    Instance,
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
from kodec.generator.schema.type_roles import TRANSPARENT
from kodec.generator.schema.widths import field_bits
from kodec.generator.targets.documents import streams
from kodec.generator.text import Text, cell, code, markdown
from kodec.generator.wire import INTRINSICS, WIRE

__all__ = ["Choices", "EnumPage", "EnumRow", "Page", "Row", "Table", "TypePage", "pages"]

_ORDER = {"be": "big-endian", "le": "little-endian", "by": "in the byte order of its type"}
_MOST_CASES = 4


@dataclass(frozen=True, slots=True)
class Row:
    """A field: its position, its size in bytes, its name, its type, and notes. All are Markdown."""

    offset: str
    size: str
    name: str
    type: str
    notes: str
    optional: bool = False
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """One layout, with the versions that have it; no title if there is only one."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Choices:
    """The types that a field has, by the value that chooses; too many for a cell."""

    title: str
    anchor: str
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class TypePage:
    """A type: its fields in one table for each layout, values at other positions, and long choices."""

    name: str
    anchor: str
    doc: str
    facts: tuple[str, ...]
    tables: tuple[Table, ...]
    instances: tuple[Row, ...]
    choices: tuple[Choices, ...]


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
    legend: str
    types: tuple[TypePage, ...]
    enums: tuple[EnumPage, ...]


def pages(model: Model) -> Iterator[Page]:
    """A page for each schema."""
    layouts, program = Layouts(model), program_of(model)
    for schema in model.schemas:
        yield _Pages(model, layouts, program, schema).page()


def _path(schema: Schema) -> str:
    return schema.path.removesuffix(".ksy") + ".md"


def _anchor(name: str) -> str:
    return name.replace("::", "-")


class _Pages:
    def __init__(self, model: Model, layouts: Layouts, program: Program, schema: Schema) -> None:
        self.model = model
        self.layouts = layouts
        self.program = program
        self.places = Places(program)
        self.schema = schema

    def page(self) -> Page:
        return Page(
            self.schema,
            _path(self.schema),
            cell(self.schema.title) or code(self.schema.id),
            streams.LEGEND if self.schema.streamed else "",
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
            notes = [cell(item.doc), *_since(item.since, item.until)]
            rows.append(EnumRow(item.value, code(item.id), " ".join(note for note in notes if note)))
        return EnumPage(code(enum.name.rpartition("::")[2]), _anchor(enum.name), tuple(rows))

    # -- types

    def shown(self, expr: ex.Expr) -> str:
        """An expression, without outermost parentheses and the page's name."""
        text = ex.text_of(expr)
        return code(re.sub(rf"(?<![\w:]){self.schema.id}::", "", _bare(text)))

    def type(self, struct: Struct) -> TypePage:
        # tagged sections, and types that stand for a number, have no unit of their own
        planned = struct.name in self.program.units
        page = self._laid_out(struct) if planned else self._streamed(struct)
        parsed = tuple(self._instance(struct, each) for each in struct.instances if each.parsed is not None)
        if self.schema.streamed:
            peeked = (each for each in struct.instances if each.parsed is None and each.reads is not None)
            parsed += tuple(self._instance(struct, each) for each in peeked)
        facts = tuple(self.facts(struct))
        specs = [*struct.fields, *(each.parsed for each in struct.instances if each.parsed is not None)]
        choices = tuple(self._choices(struct, spec) for spec in specs if _is_long(spec.type))
        return TypePage(
            code(struct.id), _anchor(struct.name), markdown(struct.doc), facts, page, parsed, choices
        )

    def _choices(self, struct: Struct, spec: Field) -> Choices:
        name, kind = spec.id, spec.type
        assert isinstance(kind, Switch)
        rows = [(self.shown(case), self.plain(each)) for case, each in kind.cases]
        rows.append(("else", self._otherwise(kind, spec)))
        title = f"{code(name)} by {self.shown(kind.on)}"
        return Choices(title, f"{_anchor(struct.name)}-{name}", tuple(rows))

    def _streamed(self, struct: Struct) -> tuple[Table, ...]:
        rows = []
        for spec, at in streams.places(self.model, struct):
            start = "" if at is None else str(at // 8)
            shown = spec if self.schema.streamed else self.layouts.folded(struct, spec, {})
            rows.append(self._stream_row(struct, shown, start))
        return (Table("", tuple(rows)),) if rows else ()

    def _stream_row(self, struct: Struct, spec: Field, start: str) -> Row:
        one = field_bits(self.model, replace(spec, repeat=None, condition=None))
        kind = self.kind(spec, f"{_anchor(struct.name)}-{spec.id}")
        if spec.enum is not None:
            kind += f", {self.link(spec.enum)}"
        notes = " ".join(self.notes(struct, spec))
        name = "" if spec.id.startswith("_unnamed") else code(spec.id)
        size = streams.size_of(spec, one, self.shown)
        return Row(start, size, name, kind, notes, spec.condition is not None, spec.repeat is not None)

    def _instance(self, struct: Struct, each: Instance) -> Row:
        spec = each.reads
        assert spec is not None
        # of what is read, the condition is the instance's
        spec = replace(spec, doc=each.doc or spec.doc, condition=each.condition)
        return self._stream_row(struct, spec, streams.position(each, self.shown))

    def _laid_out(self, struct: Struct) -> tuple[Table, ...]:
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
        return tuple(table for table in tables if table.rows)

    def facts(self, struct: Struct) -> Iterator[str]:
        for source in struct.doc_ref:
            yield f"Source: {cell(source)}"
        if struct.wire in INTRINSICS:
            yield f"Represented by its value: {WIRE[struct.wire].document}."
        elif struct.wire in TRANSPARENT:
            yield "Represented by its value."
        elif struct.wire == "tags":
            yield "A section of tagged fields."
        if struct.versions:
            yield f"Versions {struct.versions}, in {code(struct.version_field)}."
        if struct.flexible is not None:
            yield f"Flexible versions: {struct.flexible}."
        if struct.topic:
            yield f"Topic: {cell(struct.topic)}."
        if struct.endian is not None:
            yield streams.endian(struct.endian, self.shown)
        for param in struct.params:
            kind = self.link(param.type) if "::" in param.type or self._is_schema(param.type) else param.type
            kind = f"a list of {kind}" if param.array else kind
            kind += f", {self.link(param.enum)}" if param.enum is not None else ""
            yield f"Parameter {code(param.id)}, {kind}. {cell(param.doc)}".strip()
        for each in struct.instances:
            if each.peek_type is not None and not self.schema.streamed:
                where = f"{self.plain(each.peek_type)} at byte {each.peek_at}"
                yield f"{code(each.id)}: read ahead, {where}. {cell(each.doc)}".strip()
            elif each.value is not None and struct.wire not in INTRINSICS:
                enum = f", {self.link(each.enum)}" if each.enum is not None else ""
                when = f", if {self.shown(each.condition)}" if each.condition is not None else ""
                yield f"{code(each.id)} is {self.shown(each.value)}{enum}{when}. {cell(each.doc)}".strip()
        if struct.row:
            names = [each.name if isinstance(each, Column) else each for each in struct.columns]
            yield f"Each value is a row{': ' + ', '.join(map(code, names)) if names else ''}."

    def _is_schema(self, name: str) -> bool:
        return any(schema.id == name for schema in self.model.schemas)

    # -- fields

    def rows(self, struct: Struct, layout: Layout) -> tuple[Row, ...]:
        found = self.places.of(self.program.units[struct.name].steps, dict(layout.known))
        return tuple(self.row(struct, layout, each) for each in found)

    def _field(self, layout: Layout, path: str) -> Field:
        """A field as it is in a layout, or in that of a part which is always the same."""
        name, _, inner = path.partition(".")
        spec = next(each for each in layout.fields if each.id == name)
        if not inner:
            return spec
        assert isinstance(spec.type, Ref)
        return self._field(self.layouts.layout(self.model.struct(spec.type.target), {}), inner)

    def row(self, struct: Struct, layout: Layout, each: Extent) -> Row:
        spec = self._field(layout, each.path)
        size = "" if each.size is None else str(each.size)
        if spec.repeat is None and each.size is None:
            size = "to the end" if spec.size_eos else "" if spec.size is None else self.shown(spec.size)
        kind = self.kind(spec, f"{_anchor(struct.name)}-{spec.id}")
        if each.bits is not None:
            shift, width = each.bits
            last = shift + width - 1
            kind = f"bit {shift}" if width == 1 else f"bits {shift} to {last}"
        if spec.enum is not None:
            kind += f", {self.link(spec.enum)}"
        offset = "" if each.offset is None else str(each.offset)
        notes = " ".join(self.notes(struct, spec))
        optional, repeated = spec.condition is not None, spec.repeat is not None
        return Row(offset, size, code(each.path), kind, notes, optional, repeated)

    def kind(self, spec: Field, anchor: str) -> str:
        """The type of a field, with its repetition; `anchor` is the place where a long choice is listed."""
        if spec.contents is not None:
            return f"the bytes {code(spec.contents.hex(' '))}"
        text = self.plain(spec.type, spec)
        if _is_long(spec.type):
            assert isinstance(spec.type, Switch)
            text = f"by {self.shown(spec.type.on)}: [see below](#{anchor})"
        if spec.codec is not None:
            text = self.link(spec.codec.inner)
        if spec.repeat is None:
            return text
        if spec.repeat_expr is not None:
            return f"{self.shown(spec.repeat_expr)} times {text}"
        if spec.repeat_until is not None:
            return f"{text}, repeated until {self.shown(spec.repeat_until)}"
        return f"{text}, repeated to the end"

    def _otherwise(self, switch: Switch, spec: Field | None) -> str:
        """The content of a field for which a switch has no case."""
        if switch.default is not None:
            return self.plain(switch.default)
        sized = spec is None or spec.size is not None or spec.size_eos or spec.terminator is not None
        return "bytes" if sized else "nothing"

    def plain(self, kind: TypeRef, spec: Field | None = None) -> str:
        match kind:
            case Prim(name, width, _, _, endian):
                order = f", {_ORDER[endian]}" if width > 1 and endian in _ORDER else ""
                return WIRE[name].document + order
            case Bits() as kind_of_bits:
                return streams.bits(kind_of_bits)
            case Bytes():
                return "bytes"
            case Str(encoding):
                return f"text, {encoding}"
            case Ref(target, args):
                given = f" with {', '.join(self.shown(arg) for arg in args)}" if args else ""
                return self.link(target) + given
            case Switch(on, cases, _):
                parts = [f"{self.shown(case)}: {self.plain(each)}" for case, each in cases]
                parts.append(f"else {self._otherwise(kind, spec)}")
                return f"by {self.shown(on)}: {'; '.join(parts)}"
        raise TypeError(kind)

    def notes(self, struct: Struct, spec: Field) -> Iterator[str]:
        """The notes about a field, sentence by sentence."""
        if spec.doc:
            sentence = cell(spec.doc)
            yield sentence if sentence[-1:] in ".!?:" else f"{sentence}."
        if spec.condition is not None:
            yield f"Only if {self.shown(spec.condition)}."
        if spec.nullable is not None:
            yield f"Null if {self.shown(spec.nullable)}."
        if spec.valid is not None:
            yield f"Must be {_allowed(spec.valid, self.shown)}."
        if spec.derive is not None:
            yield f"Computed: {code(_derived(spec.derive))}{_checked(spec.derive, self.shown)}."
        if self.schema.streamed:
            yield from streams.ends(spec, self.shown)
        if spec.codec is not None:
            yield f"Compressed with the codec in {self.shown(spec.codec.by)}."
            for old, new in spec.codec.replace:
                when = "" if spec.codec.when is None else f" if {self.shown(spec.codec.when)}"
                yield f"{code(new)} replaces {code(old)}{when}."
        for tag in spec.tags:
            default = "" if tag.default is None else f", {self.shown(tag.default)} if absent"
            doc = f" {cell(tag.doc)}" if tag.doc else ""
            yield f"Tag {tag.number} is {code(tag.id)}: {self.plain(tag.type)}{default}.{doc}"
        if spec.default is not None:
            yield f"Default: {self.shown(spec.default)}."
        yield from _since(spec.since, spec.until)
        if spec.orig_id and spec.orig_id != Text(spec.id):
            yield f"Original name: {cell(spec.orig_id)}."


def _is_long(kind: TypeRef) -> bool:
    """Whether a choice has more cases than one cell can show."""
    return isinstance(kind, Switch) and len(kind.cases) > _MOST_CASES


def _bare(text: str) -> str:
    """The text of an expression without parentheses around all of it."""
    depth, quoted = 0, False
    for at, sign in enumerate(text):
        quoted ^= sign == '"'
        depth += 0 if quoted else (sign == "(") - (sign == ")")
        if depth == 0 and at < len(text) - 1:
            return text
    return text[1:-1] if text[:1] == "(" and depth == 0 else text


def _since(since: int | None, until: int | None) -> Iterator[str]:
    if since is not None and since == until:
        yield f"Version {since} only."
    elif since is not None and until is not None:
        yield f"Versions {since} to {until}."
    elif since is not None:
        yield f"Since version {since}."
    elif until is not None:
        yield f"Until version {until}."


def _allowed(valid: Valid, show: Callable[[ex.Expr], str]) -> str:
    parts = []
    for words, rule in (("", valid.eq), ("at least ", valid.min), ("at most ", valid.max)):
        if rule is not None:
            parts.append(words + show(rule))
    if valid.any_of is not None:
        parts.append("one of " + ", ".join(show(each) for each in valid.any_of))
    if valid.in_enum:
        parts.append("a value of its enum")
    if valid.expr is not None:
        parts.append(f"so that {show(valid.expr)}")
    return ", ".join(parts)


def _derived(derive: Derive) -> str:
    last = f"..{derive.last}" if derive.last else f".{derive.member}" if derive.member else ""
    plus = "" if derive.plus is None else f" + {ex.text_of(derive.plus)}"
    return f"{derive.kind}({derive.first}{last}){plus}"


def _checked(derive: Derive, show: Callable[[ex.Expr], str]) -> str:
    """How strictly, and when."""
    least = ", or more" if derive.verify == "at_least" else ""
    return least + ("" if derive.when is None else f", if {show(derive.when)}")
