"""Finds keys that contradict each other or the bytes, and keys without effect: each is a problem.

These checks hold for layouts and streams alike. What only one of both can tell is checked by its own passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kodec.generator.passes.common import path_of, refs, structs
from kodec.generator.passes.shapes import can_be
from kodec.generator.problems import Problems
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import (
    Bits,
    Bytes,
    Derive,
    Field,
    Model,
    Prim,
    Ref,
    Str,
    Struct,
    Switch,
    Tag,
)
from kodec.generator.schema.type_roles import listed_rows, row_content, tagged_section
from kodec.generator.schema.versions import OPEN, VersionRange
from kodec.generator.schema.widths import fixed_bits
from kodec.generator.text import Text
from kodec.generator.wire import CHECKSUMS, VARINTS, WIRE

__all__ = ["check_contradictions"]

_DIGESTS: Mapping[str, int] = {"md5": 16, "sha1": 20, "sha256": 32, "sha512": 64}
_Bad = Callable[[str, str, str], None]


def check_contradictions(model: Model, problems: Problems) -> None:
    """Report what could not be written and read again, and what would change nothing."""
    contents = (row_content(model, struct) for struct in structs(model))
    contained = {content.row.name for content in contents if content is not None}
    # a row that nothing lists may be of a container in a schema that is not given
    listed = (listed_rows(model, schema.root) for schema in model.schemas)
    alone = {row.name for row in listed if row is not None} - contained
    rows = _shown_in_rows(model)
    sections = _bodies_of_tags(model)
    for struct in structs(model):
        _type(model, struct, alone, problems)
        for field in struct.fields:

            def bad(key: str, text: str, hint: str, field: Field = field, struct: Struct = struct) -> None:
                problems.add(field.at(key), path_of(struct, field.id), text, hint)

            _default(model, struct, field, bad)
            _codec(model, struct, field, bad)
            _derived(struct, field, bad)
            if field.ignorable and (field.since, field.until, field.condition) == (None, None, None):
                bad("-ignorable", "`-ignorable` has no effect: every version has the field", "-since: 3")
            if field.column is not None and struct.name not in rows:
                bad("-column", "`-column` has no effect: the type is not in a row", "-row: true on the type")
            if field.tags and struct.name not in sections:
                text = "`-tags` has no effect: the type is no element of a tagged section"
                bad("-tags", text, "-wire: tags on the type of the section")
        _circles(struct, problems)


def _type(model: Model, struct: Struct, alone: set[str], problems: Problems) -> None:
    def bad(key: str, text: str, hint: str) -> None:
        problems.add(struct.at(key), path_of(struct), text, hint)

    if struct.versions and struct.flexible and not struct.versions.intersect(struct.flexible):
        text = f"`-flexible: {struct.flexible}` is none of `-versions: {struct.versions}`"
        bad("-flexible", text, "-flexible: none")
    wire = WIRE.get(struct.wire or "")
    if struct.wire in VARINTS and not _is_varint(model, struct):
        hint = "one list of bytes, with `repeat: until` a byte below 0x80"
        bad("-wire", f"`-wire: {struct.wire}`: other compilers read another number from this `seq`", hint)
    elif wire is not None and wire.size is not None and fixed_bits(model, struct.name) != 8 * wire.size:
        text = f"`-wire: {struct.wire}` has {wire.size} bytes, the `seq` of the type has not"
        bad("-wire", text, f"size: {wire.size}")
    seen: dict[Text, tuple[VersionRange, str]] = {}
    # messages have a JSON form with these names; elsewhere several fields may stand for one of the documents
    for each in _named(model, struct) if model.schema_of(struct.name).root.versions else ():
        if not each.orig_id:
            continue
        present = _present(each)
        other, first = seen.setdefault(each.orig_id, (VersionRange(0, -1), each.id))
        if other.intersect(present):
            text = f"the `-orig-id` is that of `{first}`, too"
            place = each.at("-orig-id") if isinstance(each, Field) else struct.place
            problems.add(place, path_of(struct, each.id), text, "a name of its own")
        else:
            seen[each.orig_id] = present, first
    asks = [struct.row_unless, *(each.value for each in struct.row_head)]
    asks += [each for bound in struct.row_bounds for each in (bound.first, bound.last)]
    if struct.name in alone and any(each is not None and "_batch" in ex.names(each) for each in asks):
        text = "`_batch` is the container of the rows, and no container holds them"
        bad("-row", text, "a type with a `-codec` field is a container")


def _named(model: Model, struct: Struct) -> Iterator[Field | Tag]:
    """What a type has by its name in a format's documents: fields, and the tags of its sections."""
    for field in struct.fields:
        yield field
        yield from tagged_section(model, field) or ()


def _is_varint(model: Model, struct: Struct) -> bool:
    """Whether a type is read as groups of 7 bits: bytes, up to one without its high bit."""
    if len(struct.fields) != 1 or struct.fields[0].repeat != "until":
        return False
    kind = struct.fields[0].type
    if isinstance(kind, Prim):
        return kind.width == 1
    return isinstance(kind, Ref) and fixed_bits(model, kind.target) == 8


def _default(model: Model, struct: Struct, field: Field, bad: _Bad) -> None:
    """A default must be a value that the field can have."""
    default = field.default
    number = isinstance(field.type, (Prim, Bits)) and field.repeat is None
    if default == ex.Name("empty") and number:
        bad("-default", "`-default: empty`: a number is never empty", "-default: 0")
        return
    value = default.value if isinstance(default, ex.Literal) else None
    if field.enum is not None and isinstance(default, ex.Name):
        items = {item.id: item.value for item in model.enum(field.enum).items}
        value = items.get(default.name)
    if default is not None and isinstance(value, int) and number and not _is_valid(field, default, value):
        text = f"`-default: {ex.text_of(default)}` is not a value that `valid` allows"
        bad("-default", text, "the one must agree with the other")
    elif (
        isinstance(value, int)
        and struct.versions
        and field.id == struct.version_field
        and value not in struct.versions
    ):
        bad("-default", f"`-default: {value}` is none of `-versions: {struct.versions}`", "one of them")
    size = ex.fold(field.size) if field.size is not None else None
    room = size.value if isinstance(size, ex.Literal) else None
    if default is None or not isinstance(field.type, (Str, Bytes)):
        return
    data = value.encode() if isinstance(value, str) else ex.octets_of(default)
    if data is not None and room not in (None, len(data)):
        shown = value if isinstance(value, str) else ex.text_of(default)
        bad("-default", f"`-default: {shown}` has {len(data)} bytes, the field {room}", f"{room} bytes")


def _is_valid(field: Field, default: ex.Expr, value: int) -> bool:
    if field.valid is None:
        return True
    # of an enum, `valid` names the values
    listed = (field.valid.eq, *(field.valid.any_of or ()))
    named = [each.value for each in listed if isinstance(each, ex.EnumValue)]
    return default.name in named if named and isinstance(default, ex.Name) else can_be(field, value)


def _codec(model: Model, struct: Struct, field: Field, bad: _Bad) -> None:
    """What is not compressed is read by the case `none`, which other compilers know too."""
    if field.codec is None:
        return
    plain = [
        kind
        for case, kind in (field.type.cases if isinstance(field.type, Switch) else ())
        if isinstance(case, ex.EnumValue) and case.value == "none"
    ]
    inner = field.codec.inner
    name = inner.rpartition("::")[2]
    if not plain and not isinstance(field.type, Bytes):
        hint = f"type: {{switch-on: ..., cases: {{'codec::none': {name}}}}}"
        bad("-codec", "`-codec` needs a `switch-on` of the codec, with a case for `none`", hint)
    elif not all(isinstance(kind, Ref) and kind.target == inner for kind in plain):
        bad("-inner", f"`-inner: {name}` is not the type of the case `none`", "the same type for both")
    used = ex.names(field.size) if field.size is not None else set[str]()
    numbers = [each for each in struct.fields if each.id in used]
    if numbers and all(each.derive is None for each in numbers):
        name = numbers[0].id
        text = f"`{name}` is the size of compressed content, which is known when it is written"
        bad("size", text, f"-derive: length_of({field.id}) on `{name}`")


def _derived(struct: Struct, field: Field, bad: _Bad) -> None:
    order = [each.id for each in struct.fields]
    for derive in field.derive.each if field.derive is not None else ():
        functions = {call.function for call in derive.parts[0]}
        if derive.verify == "at_least" and functions & CHECKSUMS.keys():
            bad("-derive", "`verify: at_least` has no effect on a checksum", "leave `verify` out")
        ranges = [(call.first, call.last) for call in derive.calls if call.of is None]
        outside = len(ranges) == len(derive.calls) and not any(
            _holds(order, first, last, field.id) for first, last in ranges
        )
        if derive.own is not None and outside:
            bad("-derive", "`own` has no effect: the field is not in the range", "leave `own` out")
        size = ex.fold(field.size) if field.size is not None else None
        for function in functions & _DIGESTS.keys() if derive.value == ex.Name("_d0") else ():
            wanted = _DIGESTS[function]
            if isinstance(field.type, Bytes) and size != ex.Literal(wanted):
                bad("-derive", f"`{function}` gives {wanted} bytes", f"size: {wanted}")
        target = struct.field(derive.first)
        if derive.kind == "count_of" and target is not None and target.condition is not None:
            asked = ex.names(target.condition)
            # absent by the version alone: in a version of the count there has to be a list
            by_version = asked <= {struct.version_field} and _present(field) == _present(field).intersect(
                _present(target)
            )
            follows = field.id in asked or by_version or target.condition == field.condition
            if not follows and target.condition != ex.Literal(False):
                text = f"`{target.id}` may be absent, and its count would not be kept"
                bad("-derive", text, f"the same `if` as `{target.id}`")


def _present(spec: Field | Tag) -> VersionRange:
    """The versions that have it, as its keys say; another pass compares them with its `if`."""
    return VersionRange(spec.since or 0, OPEN if spec.until is None else spec.until)


def _holds(order: list[str], first: str, last: str, name: str) -> bool:
    """Whether a range of fields holds one of them."""
    if first not in order or last not in order:
        return False
    return order.index(first) <= order.index(name) <= order.index(last)


def _covers(derive: Derive, order: list[str], own: str) -> set[str]:
    """The fields of the same object whose bytes a checksum covers; itself only if nothing stands for it."""
    found = {
        name
        for call in derive.parts[0]
        if call.of is None and call.function in CHECKSUMS
        for name in order
        if _holds(order, call.first, call.last, name)
    }
    return found - {own} if derive.own is not None else found


def _circles(struct: Struct, problems: Problems) -> None:
    """Checksums over themselves, or over each other, cannot be computed."""
    order = [field.id for field in struct.fields]
    covers = {
        field.id: set().union(*(_covers(each, order, field.id) for each in field.derive.each))
        for field in struct.fields
        if field.derive is not None
    }
    for field in struct.fields:
        inside = covers.get(field.id, set[str]())
        for other in sorted(inside & covers.keys()):
            if field.id in covers[other]:
                text = f"`{field.id}` and `{other}` are derived from each other"
                hint = ""
                if other == field.id:
                    text, hint = "a field cannot be derived from bytes that hold it", "own: 0"
                problems.add(field.at("-derive"), path_of(struct, field.id), text, hint)


def _shown_in_rows(model: Model) -> set[str]:
    """The types that are rows, or in one."""
    found, todo = set[str](), [struct for struct in structs(model) if struct.row]
    while todo:
        struct = todo.pop()
        if struct.name not in found:
            found.add(struct.name)
            todo += [model.struct(ref.target) for field in struct.fields for ref in refs(field.type)]
    return found


def _bodies_of_tags(model: Model) -> set[str]:
    """The types of the elements of tagged sections."""
    return {
        ref.target
        for struct in structs(model)
        if struct.wire == "tags"
        for field in struct.fields
        for ref in refs(field.type)
    }
