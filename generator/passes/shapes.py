"""Shapes that the back ends can do: wire types, containers, versions, bit fields, no recursion."""

from __future__ import annotations

from kodec.generator.model import Bits, Field, Model, Prim, Ref, Struct, Switch
from kodec.generator.passes.common import path_of, refs, structs
from kodec.generator.problems import Place, Problems

__all__ = ["check_shapes"]


def check_shapes(model: Model, problems: Problems) -> None:
    """Report what is outside the supported subset though each key in it is known."""
    for struct in structs(model):
        _wire(model, struct, problems)
        _bits(struct, problems)
        _codecs(struct, problems)
        _versions(struct, problems)
        for field in struct.fields:
            _field(model, struct, field, problems)
    _recursion(model, problems)


def _bad(problems: Problems, struct: Struct, place: Place, name: str, text: str, hint: str = "") -> None:
    problems.add(place, path_of(struct, name), text, hint)


def _wire(model: Model, struct: Struct, problems: Problems) -> None:
    wire = struct.wire
    if wire in ("string", "bytes") and struct.field("value") is None:
        _bad(problems, struct, struct.place, "", f"`-wire: {wire}` needs a field `value`")
    if wire == "list" and (len(struct.fields) == 0 or len([f for f in struct.fields if f.repeat]) != 1):
        _bad(problems, struct, struct.place, "", "`-wire: list` needs exactly one repeated field")
    if wire in ("zigzag32", "zigzag64", "uvarint32") and struct.instance("value") is None:
        _bad(problems, struct, struct.place, "", f"`-wire: {wire}` needs an instance `value`")
    if wire == "tags":
        repeated = [f for f in struct.fields if f.repeat and isinstance(f.type, Ref)]
        shape = [f.id for f in model.struct(repeated[0].type.target).fields] if repeated and isinstance(repeated[0].type, Ref) else []
        if shape != ["tag", "len_body", "body"]:
            _bad(problems, struct, struct.place, "", "`-wire: tags` needs a count and a list of {tag, len_body, body}")
    if wire in ("string", "bytes", "list"):
        for field in struct.fields:
            target = field.id == "value" or field.repeat is not None
            if not target and (field.derive is None or not field.derive.is_length):
                _bad(problems, struct, field.place, field.id, f"a type with `-wire: {wire}` holds only its value and lengths")


def _bits(struct: Struct, problems: Problems) -> None:
    width = 0
    first: Field | None = None
    for field in struct.fields:
        if isinstance(field.type, Bits) and (field.repeat is not None or field.condition is not None):
            _bad(problems, struct, field.place, field.id, "a bit field cannot be repeated or conditional")
        if isinstance(field.type, Bits):
            first = field if width % 8 == 0 else first
            width += field.type.width
        elif width % 8:
            _bad(problems, struct, (first or field).place, (first or field).id, f"bit fields end {width % 8} bits into a byte", "fill the byte with a reserved field")
            width = 0
    if width % 8:
        place = first or struct.fields[-1]
        _bad(problems, struct, place.place, place.id, f"bit fields end {width % 8} bits into a byte", "fill the byte with a reserved field")


def _codecs(struct: Struct, problems: Problems) -> None:
    for field in struct.fields:
        if field.codec is None:
            continue
        if field is not struct.fields[-1]:
            _bad(problems, struct, field.place, field.id, "a `-codec` field must be the last of its type")
        if struct.versions or struct.params or struct.wire:
            _bad(problems, struct, field.place, field.id, "a type with a `-codec` field cannot have versions, parameters or `-wire`")
        if field.repeat is not None:
            _bad(problems, struct, field.place, field.id, "a `-codec` field cannot be repeated", "repeat inside the type it holds")


def _versions(struct: Struct, problems: Problems) -> None:
    if struct.versions is None:
        for field in struct.fields:
            if field.since is not None or field.until is not None:
                _bad(problems, struct, field.place, field.id, "`-since` and `-until` need `-versions` on the type")
        return
    name = struct.version_field
    if struct.param(name) is not None:
        return
    field_ = struct.field(name)
    if field_ is None:
        _bad(problems, struct, struct.place, "", f"`-versions` needs a field or parameter `{name}`")
        return
    before = struct.fields[: struct.fields.index(field_) + 1]
    if not all(isinstance(f.type, Prim) and f.condition is None and f.repeat is None for f in before):
        _bad(problems, struct, field_.place, field_.id, "the version must stand at a fixed place", "only plain numbers may stand before it")


def _field(model: Model, struct: Struct, field: Field, problems: Problems) -> None:
    if field.size is not None and field.size_eos:
        _bad(problems, struct, field.place, field.id, "`size` and `size-eos` exclude each other")
    if field.repeat is not None and field.size_eos:
        _bad(problems, struct, field.place, field.id, "`size-eos` on a repeated field reads the rest into the first element", "put the field in a type of its own")
    if isinstance(field.type, Switch) and field.repeat is not None and field.size is None:
        _bad(problems, struct, field.place, field.id, "a repeated switch is not supported", "put the switch in a type of its own")
    if isinstance(field.type, (Prim, Bits)) and field.size is not None:
        _bad(problems, struct, field.place, field.id, "a number has its size already", "leave `size` out")
    for ref in refs(field.type):
        target = model.struct(ref.target)
        flags = [param for param in target.params if param.type == "bool"]
        if len(flags) > 1:
            _bad(problems, struct, field.place, field.id, f"`{target.id}` has {len(flags)} bool parameters", "one is supported")
        if target.wire == "tags" and (field.size is not None or field.repeat is not None):
            _bad(problems, struct, field.place, field.id, "a tagged section can be neither sized nor repeated")
    if isinstance(field.type, Switch):
        for case in [each for _, each in field.type.cases] + ([field.type.default] if field.type.default else []):
            if isinstance(case, Ref) and model.struct(case.target).wire == "tags":
                _bad(problems, struct, field.place, field.id, "a tagged section cannot be a case")


def _recursion(model: Model, problems: Problems) -> None:
    """A type may hold itself only as compressed content, which is bounded in depth."""
    done: set[str] = set()

    def visit(struct: Struct, trail: tuple[str, ...]) -> None:
        if struct.name in trail:
            loop = " -> ".join((*trail[trail.index(struct.name) :], struct.name))
            problems.add(struct.place, path_of(struct), f"the type holds itself: {loop}", "recursive types are not supported")
            return
        if struct.name in done:
            return
        done.add(struct.name)
        for field in struct.fields:
            for ref in refs(field.type):
                visit(model.struct(ref.target), (*trail, struct.name))

    for struct in structs(model):
        visit(struct, ())
