"""Checks for shapes that targets support: wire types, containers, versions, bit fields, no recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kodec.generator.passes.common import path_of, refs, structs
from kodec.generator.problems import Place, Problems, nearest
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Bits, Column, Field, Model, Prim, Ref, Struct, Switch, Tag
from kodec.generator.schema.type_roles import TRANSPARENT
from kodec.generator.wire import INTRINSICS, VARINTS, WIRE
from kodec.runtime.compression import CODECS

__all__ = ["can_be", "check_columns", "check_shapes"]


def check_shapes(model: Model, problems: Problems) -> None:
    """Report unsupported combinations of known keys."""
    for struct in structs(model):
        _wire(model, struct, problems)
        _bits(struct, problems)
        _codecs(model, struct, problems)
        _versions(struct, problems)
        _tag_names(model, struct, problems)
        _peeks(struct, problems)
        for field in struct.fields:
            _field(model, struct, field, problems)
    _recursion(model, problems)


def check_columns(model: Model, problems: Problems) -> None:
    """Report rows without their columns."""
    for struct in structs(model):
        _columns(model, struct, problems)


def _bad(problems: Problems, struct: Struct, place: Place, name: str, text: str, hint: str = "") -> None:
    problems.add(place, path_of(struct, name), text, hint)


def _wire(model: Model, struct: Struct, problems: Problems) -> None:
    wire = struct.wire
    if wire in ("string", "bytes", "value") and struct.field("value") is None:
        _bad(problems, struct, struct.place, "", f"`-wire: {wire}` needs a field `value`")
    if wire == "list" and (len(struct.fields) == 0 or len([f for f in struct.fields if f.repeat]) != 1):
        _bad(problems, struct, struct.place, "", "`-wire: list` needs exactly one repeated field")
    if wire in VARINTS and struct.instance("value") is None:
        _bad(problems, struct, struct.place, "", f"`-wire: {wire}` needs an instance `value`")
    if wire == "tags":
        repeated = [f for f in struct.fields if f.repeat and isinstance(f.type, Ref)]
        shape = (
            [f.id for f in model.struct(repeated[0].type.target).fields]
            if repeated and isinstance(repeated[0].type, Ref)
            else []
        )
        if not shape or shape != ["tag", f"len_{shape[-1]}", shape[-1]]:
            _bad(
                problems,
                struct,
                struct.place,
                "",
                "`-wire: tags` needs a count and a list of {tag, len_x, x}",
            )
    if wire in TRANSPARENT:
        for field in struct.fields:
            target = field.id == "value" or field.repeat is not None
            if not target and (field.derive is None or not field.derive.is_length):
                _bad(
                    problems,
                    struct,
                    field.place,
                    field.id,
                    f"a type with `-wire: {wire}` holds only its value and lengths",
                )


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
            _bad(
                problems,
                struct,
                (first or field).place,
                (first or field).id,
                f"bit fields end {width % 8} bits into a byte",
                "fill the byte with a reserved field",
            )
            width = 0
    if width % 8:
        place = first or struct.fields[-1]
        _bad(
            problems,
            struct,
            place.place,
            place.id,
            f"bit fields end {width % 8} bits into a byte",
            "fill the byte with a reserved field",
        )


def _codecs(model: Model, struct: Struct, problems: Problems) -> None:
    for field in struct.fields:
        if field.codec is None:
            continue
        _codec_enum(model, struct, field, problems)
        if field is not struct.fields[-1]:
            text = "a `-codec` field must be the last of its type"
            _bad(
                problems,
                struct,
                field.place,
                field.id,
                text,
                "a type of its own for all fields up to this one",
            )
        if struct.versions or struct.params or struct.wire:
            _bad(
                problems,
                struct,
                field.place,
                field.id,
                "a type with a `-codec` field cannot have versions, parameters or `-wire`",
            )
        if field.repeat is not None:
            _bad(
                problems,
                struct,
                field.place,
                field.id,
                "a `-codec` field cannot be repeated",
                "repeat inside the type it holds",
            )


def _codec_enum(model: Model, struct: Struct, field: Field, problems: Problems) -> None:
    """An enum field names the codec, here or in a part of the type; one of its values is `none`."""
    assert field.codec is not None
    path: list[str] = []
    at = field.codec.by
    while isinstance(at, ex.Attr):
        path.insert(0, at.name)
        at = at.of
    owner: Struct | None = struct
    found: Field | None = None
    for name in [at.name, *path] if isinstance(at, ex.Name) else []:
        found = owner.field(name) if owner is not None else None
        owner = model.struct(found.type.target) if found is not None and isinstance(found.type, Ref) else None
    if found is None or found.enum is None:
        _bad(
            problems,
            struct,
            field.at("-codec"),
            field.id,
            "`-codec` must name an enum field",
            "-codec: attributes.compression",
        )
    elif unknown := sorted({item.id for item in model.enum(found.enum).items} - CODECS.keys()):
        text = f"unknown codec{'s' * (len(unknown) > 1)}: {', '.join(unknown)}"
        _bad(problems, struct, field.at("-codec"), field.id, text, nearest(unknown[0], CODECS))
    elif "none" not in [item.id for item in model.enum(found.enum).items]:
        _bad(problems, struct, field.at("-codec"), field.id, "the enum of a codec needs a value `none`")
    if model.struct(field.codec.inner).params:
        _bad(problems, struct, field.at("-inner"), field.id, "the type inside cannot take arguments")


def _versions(struct: Struct, problems: Problems) -> None:
    if struct.versions is None:
        for field in struct.fields:
            if field.since is not None or field.until is not None:
                _bad(
                    problems,
                    struct,
                    field.at("-since" if field.since is not None else "-until"),
                    field.id,
                    "`-since` and `-until` need `-versions` on the type",
                )
        return
    name = struct.version_field
    param = struct.param(name)
    if param is not None:
        low, high = WIRE[param.type].range or (0, 0) if param.type in WIRE else (0, 1)
        if not low <= struct.versions.first <= struct.versions.last <= high:
            text = f"`-versions {struct.versions}` is beyond what a `{param.type}` can be"
            _bad(problems, struct, param.place, name, text, f"{low} to {high}")
        return
    field_ = struct.field(name)
    if field_ is None:
        _bad(problems, struct, struct.place, "", f"`-versions` needs a field or parameter `{name}`")
        return
    before = struct.fields[: struct.fields.index(field_) + 1]
    if not all(isinstance(f.type, Prim) and f.condition is None and f.repeat is None for f in before):
        _bad(
            problems,
            struct,
            field_.place,
            field_.id,
            "the version must have a fixed position",
            "only plain numbers may precede it",
        )
    never = [version for version in struct.versions if not can_be(field_, version)]
    if never:
        shown = ", ".join(map(str, never[:8])) + (", ..." if never[8:] else "")
        key = "valid" if field_.valid is not None else "type"
        text = f"`-versions {struct.versions}` has what `{key}` does not allow: {shown}"
        _bad(problems, struct, field_.at(key), field_.id, text, "the one must agree with the other")


def can_be(field: Field, value: int) -> bool:
    """Whether a field may have this number, judged by its type and plain rules."""
    known = WIRE[field.type.name].range if isinstance(field.type, Prim) else None
    if known is not None and not known[0] <= value <= known[1]:
        return False
    if field.valid is None:
        return True
    here = ex.Literal(value)
    rules = (("==", field.valid.eq), (">=", field.valid.min), ("<=", field.valid.max))
    tests: list[ex.Expr] = [ex.Binary(op, here, bound) for op, bound in rules if bound is not None]
    if field.valid.expr is not None:
        tests.append(ex.replace(field.valid.expr, lambda part: here if part == ex.Name("_") else None))
    if any(ex.fold(test) == ex.Literal(False) for test in tests):
        return False
    plain = [each.value for each in field.valid.any_of or () if isinstance(each, ex.Literal)]
    return not plain or len(plain) < len(field.valid.any_of or ()) or value in plain


def _field(model: Model, struct: Struct, field: Field, problems: Problems) -> None:
    def bad(key: str, text: str, hint: str = "") -> None:
        _bad(problems, struct, field.at(key), field.id, text, hint)

    number = isinstance(field.type, Bits) or (isinstance(field.type, Prim) and not field.type.floating)
    if field.enum is not None and not number:
        bad("enum", "an enum needs an integer or bit field")
    if field.size is not None and field.size_eos:
        bad("size-eos", "`size` and `size-eos` exclude each other")
    if field.repeat is not None and field.size_eos:
        text = "`size-eos` on a repeated field reads the rest into the first element"
        bad("size-eos", text, "put the field in a type of its own")
    if isinstance(field.type, Switch) and field.repeat is not None and field.size is None:
        bad("type", "a repeated switch is not supported", "put the switch in a type of its own")
    if field.contents is not None and field.size is not None:
        bad("size", "`contents` have their size already", "leave `size` out")
    wire = model.struct(field.type.target).wire if isinstance(field.type, Ref) else None
    fixed = WIRE[wire].size if wire in INTRINSICS else None
    fits = field.size is None or (fixed is not None and field.size == ex.Literal(fixed))
    if (field.size_eos or not fits) and (isinstance(field.type, (Prim, Bits)) or wire in INTRINSICS):
        bad("size", "a number has its size already", "leave `size` out")
    for tag in field.tags:
        if not all(isinstance(arg, ex.Literal) for ref in refs(tag.type) for arg in ref.args):
            bad("type", f"the type of tag `{tag.id}` takes only plain values")
        plain = (ex.Name("empty"), ex.Name("null"))
        if tag.default is not None and not isinstance(tag.default, ex.Literal) and tag.default not in plain:
            bad("-tags", f"the default of tag `{tag.id}` must be a plain value")
    for ref in refs(field.type):
        target = model.struct(ref.target)
        flags = [param for param in target.params if param.type == "bool"]
        if len(flags) > 1:
            bad("type", f"`{target.id}` has {len(flags)} bool parameters", "one is supported")
    if wire == "tags" and (field.size is not None or field.repeat is not None):
        bad("type", "a tagged section can be neither sized nor repeated")
    if isinstance(field.type, Switch):
        _cases(model, field.type, bad)


def _cases(model: Model, switch: Switch, bad: Callable[..., None]) -> None:
    for case in [each for _, each in switch.cases] + ([] if switch.default is None else [switch.default]):
        if isinstance(case, Bits):
            bad("type", "a bit field cannot be a case", "put it in a type")
        if isinstance(case, Ref) and model.struct(case.target).wire == "tags":
            bad("type", "a tagged section cannot be a case")


def _tag_names(model: Model, struct: Struct, problems: Problems) -> None:
    """The tags of a tagged section become members of the type that holds it, next to its own fields."""
    ids = [field.id for field in struct.fields]
    for field in struct.fields:
        section = model.struct(field.type.target) if isinstance(field.type, Ref) else None
        if section is None or section.wire != "tags":
            continue
        if (
            field.condition is not None
            and not struct.versions
            and not any(p.type == "bool" for p in struct.params)
        ):
            _bad(
                problems, struct, field.at("if"), field.id, "a tagged section cannot depend on what was read"
            )
        for tag in tags_in(model, section):
            if tag.id in ids:
                _bad(problems, struct, field.place, field.id, f"tag `{tag.id}` has the name of another field")
            ids.append(tag.id)


def tags_in(model: Model, section: Struct) -> Iterator[Tag]:
    for part in section.fields:
        if part.repeat is not None and isinstance(part.type, Ref):
            for body in model.struct(part.type.target).fields:
                yield from body.tags


def _peeks(struct: Struct, problems: Problems) -> None:
    """Peeked numbers are read by one call, in one byte order, and determine only what follows."""
    peeks = sorted((i for i in struct.instances if i.peek_type is not None), key=lambda i: i.peek_at or 0)
    orders = {i.peek_type.endian for i in peeks if i.peek_type is not None and i.peek_type.width > 1}
    if len(orders) > 1:
        _bad(
            problems,
            struct,
            peeks[0].place,
            peeks[0].id,
            "peeked numbers of one type must have one byte order",
        )
    end = 0
    for peek in peeks:
        assert peek.peek_at is not None and peek.peek_type is not None
        if peek.peek_at < end:
            _bad(problems, struct, peek.place, peek.id, "peeked numbers overlap", "peek each byte once")
        end = peek.peek_at + peek.peek_type.width
    names = {i.id for i in struct.instances if needs(struct, i.value) & {p.id for p in peeks}} | {
        p.id for p in peeks
    }
    for field in struct.fields:
        for key, found in (
            ("if", field.condition),
            ("repeat-expr", field.repeat_expr),
            ("repeat-until", field.repeat_until),
            *(("valid", rule) for rule in (field.valid.rules if field.valid is not None else ())),
            ("-derive", None if field.derive is None else field.derive.plus),
            ("-derive", None if field.derive is None else field.derive.when),
            ("-nullable", field.nullable),
            ("-column", field.column.value if field.column is not None else None),
        ):
            if found is not None and ex.names(found) & names:
                hint = "use it in `size` and `switch-on`"
                _bad(
                    problems,
                    struct,
                    field.at(key),
                    field.id,
                    f"`{key}` by a peeked number is not supported",
                    hint,
                )
        if isinstance(field.type, Switch) and ex.names(field.type.on) & names:
            kinds = [each for _, each in field.type.cases]
            if field.type.default is not None or not all(isinstance(each, Ref) for each in kinds):
                text = "cases by a peeked number must all be types, and have no default"
                _bad(problems, struct, field.at("type"), field.id, text)


def needs(struct: Struct, expr: ex.Expr | None) -> set[str]:
    """Every name that an expression needs, through instances."""
    found: set[str] = set()
    todo = set() if expr is None else ex.names(expr)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            instance = struct.instance(name)
            todo |= ex.names(instance.value) if instance is not None and instance.value is not None else set()
    return found


def _columns(model: Model, struct: Struct, problems: Problems) -> None:
    shown, whole = _shown(model, struct, set())
    if not whole:
        return
    known = shown | {column.name for column in struct.columns if isinstance(column, Column)}
    for bound in struct.row_bounds:
        if bound.column not in known:
            hint = nearest(bound.column, known)
            _bad(problems, struct, struct.at("-row"), "", f"`-row`: unknown column `{bound.column}`", hint)
    for head in struct.row_head:
        if head.value is None or ex.names(head.value) != {"_batch"}:
            text = f"`-row`: `head`: `{head.name}` is not a value of the container alone"
            _bad(problems, struct, struct.at("-row"), "", text, "value: _batch.base_offset")
        if head.name in known:
            _bad(
                problems,
                struct,
                struct.at("-row"),
                "",
                f"`-row`: `head`: `{head.name}` is a column of the row",
            )
    for column in struct.columns:
        if isinstance(column, str) and column not in shown:
            _bad(
                problems,
                struct,
                struct.at("-row"),
                "",
                f"`-row`: unknown column `{column}`",
                nearest(column, shown),
            )


def _shown(model: Model, struct: Struct, seen: set[str]) -> tuple[set[str], bool]:
    """The columns of a row and of the types in it, and whether these are all."""
    found: set[str] = set()
    whole = True
    seen.add(struct.name)
    for field in struct.fields:
        if field.column is not None and field.column.hidden:
            continue
        found.add(field.column.name if field.column is not None else field.id)
        whole = whole and not field.is_unread
        if isinstance(field.type, Ref) and field.repeat is None and field.type.target not in seen:
            more, rest = _shown(model, model.struct(field.type.target), seen)
            found |= more
            whole = whole and rest
    return found, whole


def _recursion(model: Model, problems: Problems) -> None:
    """A type may contain itself only as compressed content, whose depth is bounded."""
    done: set[str] = set()

    def visit(struct: Struct, trail: tuple[str, ...]) -> None:
        if struct.name in trail:
            loop = " -> ".join((*trail[trail.index(struct.name) :], struct.name))
            problems.add(
                struct.place,
                path_of(struct),
                f"the type holds itself: {loop}",
                "recursive types are not supported",
            )
            return
        if struct.name in done:
            return
        done.add(struct.name)
        for field in struct.fields:
            for ref in refs(field.type):
                visit(model.struct(ref.target), (*trail, struct.name))

    for struct in structs(model):
        visit(struct, ())
