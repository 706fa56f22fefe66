"""What the native reader and writer of messages go by: each class as a few lines of text.

A line is a field: its attribute, what it is on the wire, and the versions that have it so, where not
all have. `kodec.runtime.messages` has the grammar. All classes of a module are in its table, or it has
none: then they are read and written in Python alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kodec.generator.layout import BitGroup, Layout, Run
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bytes, Field, Prim, Ref, Schema, Str, Struct, TypeRef, Valid
from kodec.generator.schema.roles import transparent
from kodec.generator.targets.python.facts import Facts, of_tag
from kodec.generator.targets.python.names import attribute
from kodec.generator.wire import ENCODINGS, INTRINSICS, VARINTS, WIRE

__all__ = ["is_of_messages", "message_tables"]

# wire types that can say a length
_LENGTHS = frozenset(
    name for name, row in WIRE.items() if row.kind == "integer" and row.bits <= 32 and not row.zigzag
)
_MOST_TAGS = 64


class _Beyond(Exception):
    """The schema has what the native code does not know."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A field in one version: `flags` follow the versions in its line."""

    name: str
    kind: str
    flags: str


def is_of_messages(schema: Schema) -> bool:
    """Whether the schema is that of a message: it has versions, or a number among others."""
    return bool(schema.root.versions) or schema.root.message is not None


def message_tables(back: Facts, schema: Schema) -> str:
    """The table of a schema's classes; empty where it is none of messages, or needs more than there is."""
    if not is_of_messages(schema):
        return ""
    tables = _Tables(back, schema)
    try:
        parts = ["\n".join(tables.lines(struct)) for struct in schema.structs]
    except _Beyond:
        return ""
    return "\n\n".join(part for part in parts if part)


class _Tables:
    def __init__(self, back: Facts, schema: Schema) -> None:
        self.back = back
        self.model = back.model
        self.layouts = back.layouts
        self.schema = schema

    def lines(self, struct: Struct) -> Iterator[str]:
        if self.back.in_runtime(struct) or transparent(struct) is not None:
            return
        # the methods of the base class have it as `version`
        if any(param.type == "bool" or param.id != "version" for param in struct.params):
            raise _Beyond
        if any(each.peek_at is not None or each.parsed for each in struct.instances):
            raise _Beyond
        versions = list(struct.versions) if struct.versions else [None]
        found: dict[_Entry, list[int | None]] = {}
        for version in versions:
            layout = self.layouts.layout(struct, {} if version is None else {struct.version_field: version})
            for entry in self._entries(struct, layout, version):
                found.setdefault(entry, []).append(version)
        order = {name: index for index, name in enumerate(self._attributes(struct))}
        if len(order) == 0 or sum(" #" in entry.flags for entry in found) > _MOST_TAGS:
            raise _Beyond
        said = [entry for entry in found if entry.flags.endswith(" version")]
        before = found and list(found)[: list(found).index(said[0])] if said else []
        if any(len(found[entry]) != len(versions) or ":" in entry.kind for entry in before):
            raise _Beyond
        if said and (len(said) > 1 or said[0].kind.partition("=")[0] not in _LENGTHS - set(VARINTS)):
            raise _Beyond
        yield self.back.classes[struct.name]
        for entry in sorted(found, key=lambda entry: order[entry.name]):
            for first, last in _spans(found[entry]):
                everywhere = first is None or (first, last) == (versions[0], versions[-1])
                span = "" if everywhere else f" {first}-{last}"
                yield f"  {entry.name} {entry.kind}{span}{entry.flags}"

    def _attributes(self, struct: Struct) -> Iterator[str]:
        for spec in struct.fields:
            section = self.back.tag_section(spec)
            for tag in () if section is None else section.tags:
                yield attribute(tag.id)
            yield attribute(spec.id)

    # -- one version ------------------------------------------------------------------------------

    def _entries(self, struct: Struct, layout: Layout, version: int | None) -> Iterator[_Entry]:
        fields = self._fields(layout)
        place = 0
        while place < len(fields):
            spec = fields[place]
            original = struct.field(spec.id)
            assert original is not None
            flags = " ignorable" if original.ignorable else ""
            if struct.params == () and struct.versions and spec.id == struct.version_field:
                flags += " version"
            if self.back.tag_section(spec) is not None:
                if spec.condition is not None:
                    raise _Beyond
                for tag in layout.tags:
                    made = of_tag(tag, spec)
                    kind = self._kind(made, made.type, version)
                    yield _Entry(
                        attribute(tag.id), kind, (" ignorable" if tag.ignorable else "") + f" #{tag.number}"
                    )
                yield _Entry(attribute(spec.id), "tags", flags)
            elif spec.derive is not None:
                place += 1
                kind = self._behind(struct, layout, spec, fields[place : place + 1], version)
                spec = fields[place]
                original = struct.field(spec.id)
                assert original is not None
                yield _Entry(attribute(spec.id), kind, " ignorable" if original.ignorable else "")
            else:
                if self.layouts.optional(struct, original) or spec.condition is not None or spec.repeat:
                    raise _Beyond
                yield _Entry(attribute(spec.id), self._kind(spec, spec.type, version), flags)
            place += 1

    def _fields(self, layout: Layout) -> list[Field]:
        found: list[Field] = []
        for step in layout.steps:
            for item in step.fields if isinstance(step, Run) else (step,):
                if item.field is None or isinstance(getattr(item, "what", None), BitGroup):
                    raise _Beyond
                found.append(item.field)
        return found

    def _behind(
        self, struct: Struct, layout: Layout, length: Field, following: list[Field], version: int | None
    ) -> str:
        """What a field is that has its length, count or presence right in front."""
        derive, plus = length.derive, 0
        assert derive is not None
        if derive.plus is not None:
            if not isinstance(derive.plus, ex.Literal) or derive.plus.value not in (0, 1):
                raise _Beyond
            plus = int(derive.plus.value)
        wire = self._wire(length.type)
        if not following or not derive.is_length or derive.is_range or derive.first != following[0].id:
            raise _Beyond
        if wire not in _LENGTHS or length.enum or length.condition is not None or length.size is not None:
            raise _Beyond
        spec = following[0]
        if derive.kind == "presence_of":
            # 1 where it is there; where null is, says the sign
            plus = 0 if WIRE[wire].signed else 1
        null = self._null(struct, layout, spec, length, plus)
        rule = length.valid
        if rule is not None:
            low = rule.min
            if rule != Valid(min=low) or not isinstance(low, ex.Literal) or isinstance(low.value, str):
                raise _Beyond
            if low.value > plus or null:
                raise _Beyond
        said = f"{null}{{}}:{wire}{'+1' if plus else ''}"
        measure = ex.Name(length.id) if not plus else ex.Binary("-", ex.Name(length.id), ex.Literal(plus))
        bare = Field(spec.id, spec.type, spec.place)
        plain = spec.valid is None and spec.enum is None
        if derive.kind == "presence_of" and spec.repeat is None and spec.size is None and null:
            return f"{said.format('object')}:{self._object(spec.type, version)}"
        if derive.kind == "count_of" and spec.repeat == "expr" and spec.repeat_expr == measure and plain:
            if spec.size is not None or spec.codec is not None:
                raise _Beyond
            return f"{said.format('list')}:{self._kind(bare, spec.type, version)}"
        if derive.kind == "length_of" and spec.repeat is None and spec.size == measure and plain:
            self._only(spec)
            if isinstance(spec.type, Bytes):
                return said.format("bytes")
            if isinstance(spec.type, Str) and not spec.type.zero and _is_utf8(spec.type):
                return said.format("text")
        raise _Beyond

    def _null(self, struct: Struct, layout: Layout, spec: Field, length: Field, plus: int) -> str:
        """`?` where the field can be null: whatever its length says to be less than nothing."""
        if spec.condition is None and spec.nullable is None:
            return ""
        there = spec.condition is not None and ex.settled(spec.condition)
        sign = self.layouts.null_sign(struct, struct.field(spec.id) or spec, length, dict(layout.known))
        if there != ex.Binary(">=", ex.Name(length.id), ex.Literal(plus)) or sign != plus - 1:
            raise _Beyond
        return "" if _refuses_null(spec) else "?"

    # -- one value --------------------------------------------------------------------------------

    def _kind(self, spec: Field, kind: TypeRef, version: int | None) -> str:
        self._only(spec)
        if spec.enum is not None or spec.size is not None or spec.condition is not None:
            raise _Beyond
        wire = self._wire(kind)
        if wire:
            return wire + (self._fixed(spec) if isinstance(kind, Prim) else self._free(spec))
        if spec.valid is not None or not isinstance(kind, Ref):
            raise _Beyond
        target = self.model.struct(kind.target)
        inner = transparent(target)
        if inner is None:
            return self._object(kind, version)
        known: dict[str, int | bool] = {}
        for param, arg in zip(target.params, kind.args, strict=True):
            if not isinstance(arg, ex.Literal) or not isinstance(arg.value, bool):
                raise _Beyond
            known[param.id] = arg.value
        if target.versions:
            raise _Beyond
        layout = self.layouts.layout(target, known)
        fields = self._fields(layout)
        if len(fields) == 1:
            return self._kind(fields[0], fields[0].type, version)
        if len(fields) != 2 or fields[0].derive is None:
            raise _Beyond
        found = self._behind(target, layout, fields[0], fields[1:], version)
        return found.removeprefix("?") if _refuses_null(spec) else found

    def _object(self, kind: TypeRef, version: int | None) -> str:
        """The class of a type of this schema, which is in the same version as what holds it."""
        if not isinstance(kind, Ref):
            raise _Beyond
        target = self.model.struct(kind.target)
        if target.wire or self.model.schema_of(kind.target).id != self.schema.id:
            raise _Beyond
        if target.versions and not target.params:
            # its own bytes say which version it is in
            raise _Beyond
        for param, arg in zip(target.params, kind.args, strict=True):
            own = ex.Name(target.version_field)
            if param.id != target.version_field or version is None:
                raise _Beyond
            if arg == own:
                continue
            here = self.layouts.variant_of(target, (ex.Literal(version),))
            if not isinstance(arg, ex.Literal) or here is None or arg.value not in here.versions:
                raise _Beyond
        return self.back.classes[target.name]

    def _wire(self, kind: TypeRef) -> str:
        """The name of a wire type; empty of what is none, or not in the order of the network."""
        if isinstance(kind, Prim):
            return kind.name if kind.endian == "be" or kind.width == 1 else ""
        if isinstance(kind, Ref):
            wire = self.model.struct(kind.target).wire
            return wire if wire in INTRINSICS else ""
        return ""

    @staticmethod
    def _free(spec: Field) -> str:
        if spec.valid is not None:
            raise _Beyond
        return ""

    @staticmethod
    def _fixed(spec: Field) -> str:
        """`=` and the one number that is allowed, where there is but one."""
        rule = spec.valid
        if rule is None:
            return ""
        one = rule.eq
        if isinstance(spec.type, Prim) and spec.type.width == 8:
            raise _Beyond
        if rule != Valid(eq=one) or not isinstance(one, ex.Literal) or not isinstance(one.value, int):
            raise _Beyond
        return f"={int(one.value)}"

    @staticmethod
    def _only(spec: Field) -> None:
        """Nothing else is said of the field than the native code knows."""
        if (
            spec.codec is not None
            or spec.process is not None
            or spec.contents is not None
            or spec.terminator is not None
            or spec.pad_right is not None
            or spec.size_eos
            or spec.tags
            or spec.repeat_until is not None
        ):
            raise _Beyond


def _is_utf8(kind: Str) -> bool:
    """Whether text is what Python reads as UTF-8, bytes that are none kept."""
    form = ENCODINGS[kind.encoding]
    return (form.python, form.errors) == ("utf-8", "surrogateescape")


def _refuses_null(spec: Field) -> bool:
    """Whether the version has no null for the field."""
    return spec.null_versions is not None and not spec.null_versions


def _spans(versions: list[int | None]) -> Iterator[tuple[int | None, int | None]]:
    """Neighbouring versions as the first and the last of them."""
    first = last = versions[0]
    for version in versions[1:]:
        assert version is not None and last is not None
        if version != last + 1:
            yield first, last
            first = version
        last = version
    yield first, last
