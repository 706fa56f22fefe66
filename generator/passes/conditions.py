"""Checks that `-nullable`, `-since` and `-until` agree with `if`."""

from __future__ import annotations

from kodec.generator.passes.common import path_of, walk_fields
from kodec.generator.plan.layouts import Layouts
from kodec.generator.problems import Problems
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Field, Model, Struct
from kodec.generator.schema.type_roles import may_be_null, tagged_section

__all__ = ["check_conditions"]


def check_conditions(model: Model, problems: Problems, layouts: Layouts) -> None:
    """Report keys that contradict the condition of the field."""
    for struct, _, field in walk_fields(model):
        if field.nullable is not None:
            _nullable(layouts, struct, field, problems)
        if struct.versions:
            _versions(layouts, struct, field, problems)
        _null_versions(layouts, struct, field, problems)


def _null_versions(layouts: Layouts, struct: Struct, field: Field, problems: Problems) -> None:
    """`-nullable-versions` needs versions, and a value that may be null; the same of tags."""
    path = path_of(struct, field.id)

    def bad(key: str, text: str, hint: str = "") -> None:
        problems.add(field.at(key), path, text, hint)

    if field.null_versions is not None:
        if not struct.versions:
            bad("-nullable-versions", "`-nullable-versions` needs `-versions` on the type")
        if not may_be_null(layouts.model, field):
            bad("-nullable-versions", "`-nullable-versions` on a field that is never null")
    for tag in tagged_section(layouts.model, field) or ():
        ranged = tag.since is not None or tag.until is not None or tag.null_versions is not None
        if ranged and not struct.versions:
            bad("type", f"tag `{tag.id}` has versions, and the type that holds it has no `-versions`")
        for value in (tag.since, tag.until):
            if value is not None and struct.versions and value not in struct.versions:
                bad("type", f"tag `{tag.id}`: version {value} is not in -versions {struct.versions}")
        one = Field(tag.id, tag.type, field.place)
        if tag.null_versions is not None and not may_be_null(layouts.model, one):
            bad("type", f"tag `{tag.id}`: `-nullable-versions` on what is never null")


def _nullable(layouts: Layouts, struct: Struct, field: Field, problems: Problems) -> None:
    path = path_of(struct, field.id)

    def bad(text: str, hint: str = "") -> None:
        problems.add(field.at("-nullable"), path, f"`-nullable`: {text}", hint)

    assert field.nullable is not None
    if field.condition is None:
        bad("the field has no `if`", "if: len_x >= 0")
        return
    for variant in layouts.all_of(struct):
        known = dict(variant.layout.known)
        absent = {f.id for f in variant.layout.absent}
        if field.id in absent:
            continue
        lengths = [
            f
            for f in struct.fields
            if f.derive is not None
            and f.derive.is_length
            and f.derive.first == field.id
            and f.id not in absent
        ]
        if not lengths:
            bad("no length is derived from this field", f"-derive: length_of({field.id})")
            return
        condition = layouts.inline(struct, field.condition)
        for length in lengths:
            sign = layouts.null_sign(struct, field, length, known)
            if sign is None:
                bad(f"no value of `{length.id}` makes it true", f"{length.id} == -1")
                continue
            if ex.fold(condition, {**known, length.id: sign}) != ex.Literal(False):
                bad(f"{length.id} = {sign} is null, and `if` reads the field then")
            if length.derive is not None and length.derive.kind == "presence_of":
                if ex.fold(condition, {**known, length.id: 1}) == ex.Literal(False):
                    bad(f"{length.id} = 1 is written where it is there, and `if` does not read it then")
                continue
            plus = (
                int(length.derive.plus.value)
                if length.derive and isinstance(length.derive.plus, ex.Literal)
                else 0
            )
            for size in (0, 1):
                if ex.fold(condition, {**known, length.id: size + plus}) == ex.Literal(False):
                    bad(
                        f"only {length.id} = {sign} is null, but `if` does not read "
                        f"a field of {size} bytes either"
                    )


def _versions(layouts: Layouts, struct: Struct, field: Field, problems: Problems) -> None:
    """In each version, the field exists exactly if -since and -until include it."""
    assert struct.versions
    path = path_of(struct, field.id)
    place = field.at("-since" if field.since is not None else "-until" if field.until is not None else "if")
    since = struct.versions.first if field.since is None else field.since
    until = struct.versions.last if field.until is None else field.until
    for key, value in (("-since", field.since), ("-until", field.until)):
        if value is not None and value not in struct.versions:
            problems.add(field.at(key), path, f"`{key}: {value}` is not in -versions {struct.versions}")
    if since > until:
        problems.add(place, path, f"`-since: {since}` is after `-until: {until}`")
    if field.condition is None:
        if field.since not in (None, struct.versions.first) or field.until not in (
            None,
            struct.versions.last,
        ):
            problems.add(
                place,
                path,
                "`-since` or `-until` without `if`",
                f"if: {struct.version_field} >= {since}",
            )
        return
    condition = layouts.inline(struct, field.condition)
    if struct.version_field not in ex.names(condition):
        return
    there = [v for v in struct.versions if ex.fold(condition, {struct.version_field: v}) != ex.Literal(False)]
    declared = [v for v in struct.versions if since <= v <= until]
    if there != declared:
        shown = ", ".join(map(str, there)) or "none"
        problems.add(
            place,
            path,
            f"`if` reads the field in versions {shown}, -since and -until state {since} to {until}",
        )
