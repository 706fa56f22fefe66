"""Checks of `-derive`: known fields, ranges that run forwards, agreement with `size`, no cycles.

The length of a range, and a checksum, are known once their bytes are written. So nothing that is written can
depend on them, but for the size of a field in the range, which must be what the other fields leave of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kodec.generator.passes.common import expressions, path_of, structs
from kodec.generator.plan.layouts import Layouts
from kodec.generator.plan.ranges import left_of
from kodec.generator.problems import Problems, nearest
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Derive, Field, Model, Prim, Ref, Struct

__all__ = ["check_derivations"]


def check_derivations(model: Model, problems: Problems, layouts: Layouts) -> None:
    """Report derivations that cannot be computed, or that contradict how the bytes are read."""
    for struct in structs(model):
        order = {field.id: index for index, field in enumerate(struct.fields)}
        sound = True
        for field in struct.fields:
            if field.derive is not None:
                before = len(problems.found)
                _one(layouts, struct, field, field.derive, order, problems)
                sound = sound and len(problems.found) == before
        if sound:
            _cycles(struct, order, problems)
            _late(layouts, struct, order, problems)


def _one(
    layouts: Layouts, struct: Struct, field: Field, derive: Derive, order: dict[str, int], problems: Problems
) -> None:
    path = path_of(struct, field.id)

    def bad(text: str, hint: str = "") -> None:
        problems.add(field.at("-derive"), path, text, hint)

    for name in (derive.first, derive.last):
        if name is not None and name not in order:
            bad(f"`-derive`: unknown field `{name}`", nearest(name, order))
            return
    last = derive.last or derive.first
    if order[last] < order[derive.first]:
        bad(f"`-derive`: the range {derive.first}..{last} runs backwards")
    if field.default is not None:
        bad("a derived field has no default", "leave `-default` out")
    if order[derive.first] <= order[field.id] <= order[last]:
        bad("a field cannot be derived from bytes that hold it")
    target = struct.field(derive.first)
    assert target is not None
    fixed = isinstance(field.type, Prim)
    if derive.is_checksum and not (isinstance(field.type, Prim) and field.type.name == "u4"):
        bad(f"`{derive.kind}` gives an unsigned 32-bit number", "type: u4")
    if (derive.is_checksum or (derive.kind == "length_of" and derive.last is not None)) and (
        not fixed or field.condition is not None or field.repeat is not None
    ):
        bad("a field that is filled in afterwards must be a number of fixed width that always exists")
    reads = target.repeat_expr if derive.kind == "count_of" else None
    is_read = derive.is_length and (
        derive.kind != "count_of" or (reads is not None and field.id in ex.names(reads))
    )
    if is_read and (derive.when is not None or derive.verify != "equal"):
        key = "when" if derive.when is not None else "verify"
        bad(f"`{key}` has no effect on `{derive.kind}`, which is always compared", f"leave `{key}` out")
    if derive.kind in ("last", "max") and field.condition is not None:
        bad(f"a field with `{derive.kind}` must always exist", "leave `if` out")
    if (
        derive.kind in ("count_of", "last", "max")
        and target.repeat is None
        and not _is_list(layouts.model, target)
    ):
        bad(f"`{derive.kind}`: `{target.id}` is not repeated")
    elif derive.kind == "presence_of" and target.nullable is None:
        bad(f"`presence_of`: `{target.id}` is never null", f"-nullable: {field.id} == -1")
    elif derive.member is not None:
        _member(layouts.model, derive, target, bad)
    if derive.is_length and derive.last is None:
        _agreement(layouts, struct, field, derive, target, bad)
        for key, expr in _asked(target) if derive.kind == "length_of" else ():
            if key == "type" and field.id in ex.names(layouts.inline(struct, expr)):
                bad(
                    f"`{target.id}` gets it as an argument, which a writer would need before it is known",
                    "leave `-derive` out: a number that is a size is computed without it",
                )


def _is_list(model: Model, field: Field) -> bool:
    if field.codec is not None:
        return model.struct(field.codec.inner).wire == "list"
    return isinstance(field.type, Ref) and model.struct(field.type.target).wire == "list"


def _member(model: Model, derive: Derive, target: Field, bad: object) -> None:
    """The member must be in the element, or in a part of it."""
    kind = Ref(target.codec.inner) if target.codec is not None else target.type
    if not isinstance(kind, Ref):
        return
    struct = model.struct(kind.target)
    if struct.wire == "list":
        inner = next(f.type for f in struct.fields if f.repeat is not None)
        if not isinstance(inner, Ref):
            return
        struct = model.struct(inner.target)
    names: list[str] = []
    todo = [struct]
    while todo:
        each = todo.pop()
        names += [f.id for f in each.fields]
        todo += [model.struct(f.type.target) for f in each.fields if isinstance(f.type, Ref) and not f.repeat]
    if derive.member not in names:
        assert callable(bad)
        bad(f"`-derive`: `{derive.first}` has no `{derive.member}`", nearest(derive.member or "", names))


def _agreement(
    layouts: Layouts, struct: Struct, field: Field, derive: Derive, target: Field, bad: object
) -> None:
    """A length that sizes its field must match that size: size(length_of(x) + n) == length_of(x)."""
    assert callable(bad)
    if not (derive.plus is None or isinstance(derive.plus, ex.Literal)):
        bad(f"`{derive.kind}` of one field takes only a plain number after `+`")
        return
    plus = int(derive.plus.value) if isinstance(derive.plus, ex.Literal) else 0
    for variant in layouts.all_of(struct):
        there = variant.layout.fields
        if not any(f.id == target.id for f in there) or field.id in {f.id for f in variant.layout.absent}:
            continue
        folded = next(f for f in there if f.id == target.id)
        if derive.kind == "presence_of":
            continue
        size = folded.repeat_expr if derive.kind == "count_of" else folded.size
        if size is None or field.id not in ex.names(size):
            if derive.kind == "length_of":
                bad(
                    f"`{target.id}` is not sized by it, so that nothing would check it",
                    f"size: {field.id}, or -derive: length_of({target.id}..{target.id})",
                )
                return
            continue
        for probe in (0, 1, 7, 300):
            value = ex.fold(size, {field.id: probe + plus})
            if isinstance(value, ex.Literal) and value.value != probe:
                bad(
                    f"`-derive` writes {probe + plus} for {probe}, and `size` reads {value.value} from it",
                    "the one must be the inverse of the other",
                )
                return


def _late(layouts: Layouts, struct: Struct, order: dict[str, int], problems: Problems) -> None:
    """What depends on numbers that are known when the bytes are there."""
    late = {
        each.id: each.derive for each in struct.fields if each.derive is not None and each.derive.is_range
    }
    for field in struct.fields if late else ():
        for key, expr in _asked(field):
            for name in sorted(ex.names(layouts.inline(struct, expr)) & late.keys() - {field.id}):
                derive = late[name]
                inside = order[derive.first] <= order[field.id] <= order[derive.last or derive.first]
                amount = "size" if field.repeat is None else "repeat-expr"
                if key != amount or not inside or derive.is_checksum:
                    text = f"`{key}` needs `{name}`, which a writer knows when the bytes are written"
                    problems.add(field.at(key), path_of(struct, field.id), text, "use what it is derived of")
                elif (left := left_of(layouts, struct, field, name, derive)).wrong:
                    # a writer refuses such values
                    told = problems.add if left.always else problems.note
                    hint = "what the other fields of the range leave"
                    told(field.at(key), path_of(struct, field.id), f"`{key}` {left.wrong}", hint)


def _asked(field: Field) -> Iterator[tuple[str, ex.Expr]]:
    """The expressions of a field that a writer evaluates, with their keys."""
    yield from expressions(field)
    if field.repeat_until is not None:
        yield "repeat-until", field.repeat_until
    for rule in field.valid.rules if field.valid is not None else ():
        yield "valid", rule
    for part in (field.derive.plus, field.derive.when) if field.derive is not None else ():
        if part is not None:
            yield "-derive", part


def _cycles(struct: Struct, order: dict[str, int], problems: Problems) -> None:
    """Checksums that cover each other cannot be computed."""
    covers: dict[str, set[str]] = {}
    for field in struct.fields:
        derive = field.derive
        if derive is None or not derive.is_checksum:
            continue
        last = derive.last or derive.first
        inside = {f.id for f in struct.fields if order[derive.first] <= order[f.id] <= order[last]}
        covers[field.id] = inside
    for name, inside in covers.items():
        for other in inside & covers.keys():
            if name in covers[other]:
                place = next(f.at("-derive") for f in struct.fields if f.id == name)
                problems.add(
                    place, path_of(struct, name), f"`{name}` and `{other}` are derived from each other"
                )
