"""Finds constructs that record layouts do not support, each with its place and an alternative.

A schema with any of them is read as objects in streams, unless it has extension keys, which need layouts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kodec.generator.parts import fields_of
from kodec.generator.passes.common import instance_sizes, path_of
from kodec.generator.problems import Place, Problems, SchemaProblem
from kodec.generator.schema import expr as ex
from kodec.generator.schema.hints import like_name
from kodec.generator.schema.model import Bits, Field, Instance, Model, Prim, Schema, Str, Struct, Switch
from kodec.generator.schema.widths import least_bytes
from kodec.generator.wire import INTRINSICS, WIRE

__all__ = [
    "check_record_subset",
    "derives",
    "extension_key",
    "loses_members",
    "only_derives",
    "prefers_streams",
]

_KEYS = {
    "terminator": "use a length field and `size`",
    "consume": "use a length field and `size`",
    "include": "use a length field and `size`",
    "eos-error": "use a length field and `size`",
    "pad-right": "read the padding as a field of its own",
    "process": "decode the bytes yourself, or use `-codec`",
    "parent": "parent casts are not supported",
}
_Bad = Callable[..., None]
# instances are substituted into the expressions that use them
_MOST_TERMS = 1000
_INTEGERS = ("bool", *(row.name for row in WIRE.values() if row.kind == "integer" and not row.intrinsic))


def extension_key(schemas: Sequence[Schema]) -> tuple[Place, str] | None:
    """The first extension key that only layouts can do, and its place."""
    for schema in schemas:
        for struct in schema.structs:
            keys: tuple[tuple[object, str], ...] = (
                (struct.wire, "-wire"),
                (struct.versions, "-versions"),
                (struct.row, "-row"),
            )
            keys += ((struct.flexible, "-flexible"), (struct.topic, "-topic"))
            keys += ((struct.message, "-message"), (struct.roles, "-roles"))
            for value, key in keys:
                if value:
                    return struct.at(key), key
            for field in struct.fields:
                given = [key for key in field.places if key in _OWN]
                if given:
                    return field.at(given[0]), given[0]
    return None


_OWN = (
    *(
        "-default",
        "-nullable",
        "-nullable-versions",
        "-since",
        "-until",
        "-ignorable",
        "-tags",
        "-codec",
        "-inner",
        "-column",
    ),
)


def derives(schemas: Sequence[Schema]) -> bool:
    """Whether fields are derived, which layouts do too."""
    fields = (field for schema in schemas for struct in schema.structs for field in struct.fields)
    return any(field.derive is not None for field in fields)


def only_derives(schemas: Sequence[Schema], lacking: Sequence[SchemaProblem]) -> bool:
    """Whether all that layouts refuse are derivations, of the forms that they have."""
    fields = [field for schema in schemas for struct in schema.structs for field in struct.fields]
    derived = [field for field in fields if field.derive is not None]
    places = {field.at("-derive") for field in derived}
    known = all(field.derive is not None and field.derive.kind != "computed" for field in derived)
    return known and all(problem.place in places for problem in lacking)


def prefers_streams(schemas: Sequence[Schema]) -> bool:
    """Whether layouts would lose information: in streams an absent field is None, not a default. Or refuse
    bytes: in a layout each element of a list counts as one byte at least.
    """
    model = Model(tuple(schemas))
    for schema in schemas:
        for struct in schema.structs:
            for field in struct.fields:
                sized = field.size is not None or field.size_eos
                open_switch = isinstance(field.type, Switch) and field.type.default is None and not sized
                if field.condition is not None or open_switch or _may_be_empty(model, struct, field):
                    return True
    return False


def _may_be_empty(model: Model, struct: Struct, field: Field) -> bool:
    """Whether elements of a list that is counted may be without bytes."""
    if field.repeat != "expr" or isinstance(field.type, Bits):
        return False
    of = struct.field(field.size.name) if isinstance(field.size, ex.Name) else None
    low = None if of is None or of.valid is None else of.valid.min
    if isinstance(low, ex.Literal) and isinstance(low.value, int) and low.value > 0:
        return False
    return least_bytes(model, field.type, field) == 0


def needed_names(struct: Struct) -> frozenset[str]:
    """The names that the fields of a type need, also those in the value instances among them."""
    values = {each.id: set(ex.names(each.value)) for each in struct.instances if each.value is not None}
    found = {name for spec in struct.fields for each in _expressions(spec) for name in ex.names(each)}
    return frozenset(found.union(*(values.get(each, ()) for each in found)))


def loses_members(schemas: Sequence[Schema]) -> bool:
    """Whether objects of layouts would lack a member: a number that no field needs to be peeked, a list of
    fixed bytes, or a value instance of a length that they do not keep.
    """
    for schema in schemas:
        for struct in schema.structs:
            given = [(each.id, each.value) for each in struct.instances if each.value is not None]
            values = {name: set(ex.names(value)) for name, value in given}
            needed = needed_names(struct)
            lost = any(each.contents is not None and each.repeat for each in struct.fields)
            lost = lost or any(each.peek_type and each.id not in needed for each in struct.instances)
            unkept = {each.id for each in struct.fields if each.derive is not None and each.derive.is_length}
            if lost or any(unkept & names for names in values.values()):
                return True
    return False


def check_record_subset(model: Model, problems: Problems) -> None:
    """Report every construct that layouts do not support."""
    for schema in model.schemas:
        for struct in schema.structs:
            for place, expr in _of_streams_only(struct, struct.place):
                problems.add(
                    place, path_of(struct), f"`{ex.text_of(expr)}` is not supported in an expression"
                )
            if struct.wire not in INTRINSICS:
                _struct(model, struct, problems)
            elif any(each.condition is not None or each.enum is not None for each in struct.instances):
                problems.add(
                    struct.place, path_of(struct), "`if` and `enum` on an instance are not supported"
                )


def _of_streams_only(value: object, place: Place) -> Iterator[tuple[Place, ex.Expr]]:
    """Each part of any expression that layouts do not support, with the nearest place."""
    if isinstance(value, (ex.Method, ex.SizeOf, ex.Joined)):
        yield place, value
    elif isinstance(value, tuple):
        for item in value:
            yield from _of_streams_only(item, place)
    elif not isinstance(value, Place) and (names := fields_of(type(value))) is not None:
        nearest_place = getattr(value, "place", place)
        for name in names:
            yield from _of_streams_only(getattr(value, name), nearest_place)


def _struct(model: Model, struct: Struct, problems: Problems) -> None:
    def bad(place: Place, name: str, text: str, hint: str = "") -> None:
        problems.add(place, path_of(struct, name), text, hint)

    for name, (length, _) in instance_sizes(struct).items():
        if length > _MOST_TERMS:
            instance = struct.instance(name)
            assert instance is not None
            text = "too long with the instances that it uses"
            bad(instance.at("value"), instance.id, text, "use fewer of them")

    if struct.tail is not None:
        bad(struct.at("-tail"), "", "`-tail` is not supported", "a `size-eos` field has such bytes")
    if struct.endian is not None:
        bad(
            struct.place,
            "",
            "a byte order determined by bytes is not supported",
            "pass what is needed as a parameter",
        )
    for param in struct.params:
        if param.type not in _INTEGERS or param.array or param.enum is not None:
            text = f"a parameter of type `{param.type}` is not supported"
            bad(param.place, param.id, text, "bool, or an integer type")
    for each in struct.members:
        if each.id.endswith("_"):
            bad(
                each.place,
                each.id,
                f"`{each.id}` is not a name",
                "lower_snake_case, without a `_` at its end",
            )
    if struct.id.endswith("_"):
        bad(struct.place, "", f"`{struct.id}` is not a name", "lower_snake_case, without a `_` at its end")
    for field in struct.fields:
        _field(model, struct, field, bad)
    for instance in struct.instances:
        _instance(instance, bad)
    _peeked_late(struct, bad)


def _meant(case: ex.Expr, struct: Struct, model: Model) -> str:
    known = [each.id for each in struct.members]
    if not isinstance(case, ex.Name) or case.name in known:
        return ""
    return like_name(case.name, known, struct, model, "cases")


def _field(model: Model, struct: Struct, field: Field, bad: _Bad) -> None:
    for key, hint in _KEYS.items():
        if key in field.places:
            bad(field.at(key), field.id, f"`{key}` is not supported", hint)
    if field.derive is not None and field.derive.kind == "computed":
        bad(field.at("-derive"), field.id, "this `-derive` is not supported", "one function, and `+ n`")
    if field.id.startswith("_"):
        bad(field.place, field.id, "a field needs an id", "lower_snake_case")
    kinds = [field.type]
    if isinstance(field.type, Switch):
        kinds = [each for _, each in field.type.cases] + [each for each in (field.type.default,) if each]
        for index, (case, _) in enumerate(field.type.cases):
            if not isinstance(case, (ex.EnumValue, ex.Literal)):
                text = f"case `{ex.text_of(case)}` is neither a number nor an enum value"
                bad(field.at_case(index), field.id, text, _meant(case, struct, model))
    for kind in kinds:
        if isinstance(kind, Str) and kind.zero:
            bad(
                field.at("type"),
                field.id,
                "`strz` is not supported",
                "use `str` with a length field and `size`",
            )
        if isinstance(kind, Bits) and kind.endian == "le":
            bad(field.at("type"), field.id, "little-endian bit fields are not supported", "bit-endian: be")
        if isinstance(kind, Prim) and kind.endian == "by":
            bad(
                field.at("type"),
                field.id,
                "a byte order determined by bytes is not supported",
                "write le or be",
            )
        if isinstance(kind, Prim) and field.size is not None and not isinstance(field.type, Switch):
            bad(field.at("size"), field.id, "a number has its size already", "leave `size` out")
    if field.valid is not None and field.valid.in_enum:
        bad(field.at("valid"), field.id, "`in-enum` is not supported", "any-of: [...]")


def _expressions(field: Field) -> list[ex.Expr]:
    found = [field.size, field.condition, field.repeat_expr, field.repeat_until]
    if isinstance(field.type, Switch):
        found.append(field.type.on)
    if field.valid is not None:
        found += field.valid.rules
    return [expr for expr in found if expr is not None]


def _instance(instance: Instance, bad: _Bad) -> None:
    if instance.parsed is not None:
        text = (
            "a parse instance at this `pos` is not supported"
            if instance.pos is not None
            else "a parse instance is not supported"
        )
        bad(instance.at("pos"), instance.id, text, "an integer peeked at `_io.pos + n`, n a number")
    if instance.io is not None:
        bad(instance.at("io"), instance.id, "`io` is not supported", "only the stream at hand can be read")
    for key, value in (("if", instance.condition), ("enum", instance.enum)):
        if value is not None:
            bad(
                instance.at(key),
                instance.id,
                f"`{key}` on an instance is not supported",
                "put it in the expression",
            )


def _peeked_late(struct: Struct, bad: _Bad) -> None:
    """A number is peeked at the start of the type; stock Kaitai peeks it at the field that uses it."""
    peeked = {each.id for each in struct.instances if each.peek_at is not None}
    if not peeked:
        return
    derived = {each.id: ex.names(each.value) for each in struct.instances if each.value is not None}
    for index, field in enumerate(struct.fields):
        needed = {name for expr in _expressions(field) for name in ex.names(expr)}
        needed |= {name for each in needed for name in derived.get(each, ())}
        if needed & peeked:
            if index:
                name = sorted(needed & peeked)[0]
                text = f"`{name}` is peeked at the start of the type, and used after it"
                bad(field.place, field.id, text, "use it in the first field")
            return
