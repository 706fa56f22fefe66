"""Removes invalid parts from a model, so that later checks find further problems, not consequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kodec.generator.parts import fields_of
from kodec.generator.passes.common import path_of, refs, structs
from kodec.generator.problems import Place, SchemaProblem
from kodec.generator.schema import expr as ex
from kodec.generator.schema.files import IDENT
from kodec.generator.schema.model import Bits, Field, Instance, Model, Param, Struct, TypeRef

__all__ = ["prune_invalid"]

_Member = Param | Field | Instance


def prune_invalid(model: Model, problems: Iterable[SchemaProblem]) -> Model:
    """The model without the members that have problems, and without all that needs them.

    A type that makes no sense without them is left empty. `-row` is removed from types that refer to an
    incomplete type, or that one refers to, as rows use members of each other.
    """
    found = list(problems)
    if not found:
        return model
    gone: set[tuple[str, str]] = set()
    empty: set[str] = set()
    for problem in found:
        struct, member = _owner(model, problem)
        if struct is None:
            continue
        if member is None:
            empty.add(struct.name)
        else:
            gone.add((struct.name, member.id))
    _follow(model, gone, empty)
    near = _near(model, empty | {owner for owner, _ in gone})

    def kept(struct: Struct) -> Struct:
        if struct.name in empty:
            return Struct(struct.name, struct.place)
        if struct.name not in near:
            return struct
        return replace(
            struct,
            fields=tuple(each for each in struct.fields if (struct.name, each.id) not in gone),
            instances=tuple(each for each in struct.instances if (struct.name, each.id) not in gone),
            row=False,
            columns=(),
            row_unless=None,
            row_bounds=(),
            row_head=(),
        )

    return Model(
        tuple(
            replace(
                schema,
                structs=tuple(map(kept, schema.structs)),
                enums=tuple(
                    replace(enum, items=tuple(item for item in enum.items if IDENT.match(item.id)))
                    for enum in schema.enums
                ),
            )
            for schema in model.schemas
        )
    )


def _owner(model: Model, problem: SchemaProblem) -> tuple[Struct | None, _Member | None]:
    """The type, and the member of it, that a problem is about: by its path, or else by its place."""
    before: tuple[Place, Struct, _Member | None] | None = None
    if problem.path == "meta":
        return None, None  # an unknown key, which no type needs
    for struct in structs(model):
        for member in (None, *struct.members):
            place = struct.place if member is None else member.place
            if member is not None and problem.path == path_of(struct, member.id):
                return struct, member
            near = place.file == problem.place.file and place <= problem.place
            if near and (before is None or before[0] <= place):
                before = place, struct, member
    if before is None:
        return None, None
    place, struct, member = before
    named = next((each for each in structs(model) if problem.path == path_of(each)), None)
    # a problem of a type belongs to a member only if their places agree
    if named is not None and not (named is struct and place == problem.place):
        return named, None
    return struct, member


def _follow(model: Model, gone: set[tuple[str, str]], empty: set[str]) -> None:
    """Add members that need removed ones."""
    words = {
        id(member): set(_words(member))
        for struct in structs(model)
        for member in (*struct.fields, *struct.instances)
    }
    while True:
        before = len(gone), len(empty)
        names = {name for _, name in gone}
        names |= {each.id for struct in structs(model) if struct.name in empty for each in struct.members}
        for struct in structs(model):
            own = {name for owner, name in gone if owner == struct.name}
            if own and _whole(struct, own):
                empty.add(struct.name)
            bits = [each.id for each in struct.fields if isinstance(each.type, Bits)]
            if own & set(bits):
                gone.update((struct.name, each) for each in bits)
            members: list[Field | Instance] = [*struct.fields, *struct.instances]
            for member in members:
                used = words[id(member)]
                if used & own or used & {f".{name}" for name in names} or used & empty:
                    gone.add((struct.name, member.id))
        if before == (len(gone), len(empty)):
            return


def _near(model: Model, names: set[str]) -> set[str]:
    """These types, and all that refer to each other from them on."""
    known = {struct.name for struct in structs(model)}
    joined = [{struct.name, *(set(_words(struct.fields)) & known)} for struct in structs(model)]
    found = set(names)
    while more := set().union(*(each for each in joined if each & found)) - found:
        found |= more
    return found


def _whole(struct: Struct, own: set[str]) -> bool:
    """Whether a type means nothing without these members."""
    params = {each.id for each in struct.params}
    return (
        struct.wire is not None
        or bool(own & params)
        or (bool(struct.versions) and struct.version_field in own)
    )


def _words(value: object) -> Iterator[str]:
    """The names in a part of the model: members by their ids, of other types after a dot; types in full."""
    if isinstance(value, ex.Expr):
        for part in ex.walk(value):
            if isinstance(part, ex.Name):
                yield part.name
            elif isinstance(part, ex.Attr):
                yield f".{part.name}"
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _words(each)
    elif not isinstance(value, Place) and (names := fields_of(type(value))) is not None:
        if isinstance(value, TypeRef):
            yield from (ref.target for ref in refs(value))
        for name in names:
            item = getattr(value, name)
            if name in ("first", "last", "inner") and isinstance(item, str):
                yield item
            elif name == "member" and isinstance(item, str):
                yield f".{item}"
            else:
                yield from _words(item)
