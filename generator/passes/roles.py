"""Checks that roles name fields, and that the role `form` names a number whose values are listed."""

from __future__ import annotations

from kodec.generator.passes.common import path_of, structs
from kodec.generator.problems import Problems, nearest
from kodec.generator.schema.model import FORMS, Bits, Model, Prim, Ref, Role, Struct

__all__ = ["check_roles"]


def check_roles(model: Model, problems: Problems) -> None:
    """Report roles of fields that do not exist, and forms that are not listed."""
    for struct in structs(model):
        for role in struct.roles:
            _field(model, struct, role, problems)
        _form(struct, problems)


def _field(model: Model, struct: Struct, role: Role, problems: Problems) -> None:
    owner: Struct | None = struct
    for name in role.path:
        found = None if owner is None else owner.field(name)
        if found is None:
            known = [] if owner is None else [each.id for each in owner.fields]
            text = f"role `{role.name}`: there is no field `{'.'.join(role.path)}`"
            problems.add(role.place, path_of(struct), text, nearest(name, known))
            return
        inside = isinstance(found.type, Ref) and found.repeat is None
        owner = model.struct(found.type.target) if inside and isinstance(found.type, Ref) else None


def _form(struct: Struct, problems: Problems) -> None:
    role = next((each for each in struct.roles if each.name == "form"), None)
    found = struct.form
    if role is None or (found is None and len(role.path) == 1):
        return
    if found is None or not isinstance(found.type, (Prim, Bits)) or found.condition is not None:
        text = "role `form`: a number of the type itself, which is always there, is needed"
        problems.add(role.place, path_of(struct), text)
    elif found.valid is None or not found.valid.listed(FORMS):
        text = f"role `form`: the values of `{found.id}` are not listed"
        problems.add(role.place, path_of(struct), text, f"give it a `valid`, of at most {FORMS} values")
