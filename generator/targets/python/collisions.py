"""Python names that two schema names would share, and names that no module or package can have."""

from __future__ import annotations

import builtins
from collections.abc import Iterator

from kodec.generator.plan.steps import Fixed, Unit, steps_in
from kodec.generator.problems import Place, Problems
from kodec.generator.schema.model import Model, Schema, Struct
from kodec.generator.targets.python.index import ModelIndex
from kodec.generator.targets.python.names import RUNTIME, attribute

__all__ = ["IMPORTED", "check_collisions"]

_OWN = frozenset(
    [
        "Any",
        "Callable",
        "ClassVar",
        "IntEnum",
        "Iterable",
        "Struct",
        "StructError",
        "T",
        "TypeVar",
        "UUID",
        "dataclass",
        "field",
    ]
).union(*RUNTIME.values())


_BUILT_IN = frozenset(name for name in dir(builtins) if name[0].isupper())
_OF_STREAMS = frozenset(
    ["Any", "ClassVar", "IntEnum", "dataclass", "field", "member_of", *RUNTIME["streams"]]
)
IMPORTED = _OWN | _BUILT_IN | _OF_STREAMS
"""Names that no class of a module can have; a type that would get one is a problem."""


def check_collisions(index: ModelIndex, problems: Problems) -> None:
    """Report what would give a module that cannot be imported, or one name with two meanings."""
    model = index.model
    for schema in model.schemas:
        if index.wanted(schema):
            _module(index, schema, problems)
    _packages(model, problems)
    _circles(index, problems)


def _packages(model: Model, problems: Problems) -> None:
    folders = {schema.module.rpartition("/")[0] for schema in model.schemas}
    for schema in model.schemas:
        if schema.module in folders:
            text = f"there is a folder beside {schema.path} that has its name"
            problems.add(schema.root.place, schema.id, text, "rename the one or the other")


def _names(index: ModelIndex, schema: Schema) -> Iterator[tuple[str, str, Place]]:
    """Each name that the module of a schema defines, with its meaning."""
    for struct in schema.structs:
        if schema.streamed:
            yield index.classes[struct.name], f"type `{_path(struct.name)}`", struct.place
            continue
        unit = index.program.units.get(struct.name)
        if unit is None:
            continue
        function = index.function(struct.name)
        owner = f"type `{_path(struct.name)}`"
        names = [index.classes[struct.name], f"read_{function}", f"write_{function}"]
        if unit.packed is not None:
            names += [
                f"read_{function}_head",
                f"read_{function}_rows",
                f"write_{function}_rows",
                f"HEAD_OF_{function.upper()}_ROWS",
                f"codec_of_{function}",
            ]
        if index.checksum(unit) is not None:
            names.append(f"checksum_of_{function}")
        if unit.peeks:
            names += [f"peek_{function}", *(f"peek_{function}_{name}" for name, _ in unit.peeked)]
        for name in names:
            yield name, owner, struct.place
    for enum in schema.enums:
        yield index.enum_class(enum.name), f"enum `{_path(enum.name)}`", schema.root.place


def _path(name: str) -> str:
    """A name as its schema has it: of two types of one name, which one."""
    return name.partition("::")[2] or name


def _module(index: ModelIndex, schema: Schema, problems: Problems) -> None:
    owners: dict[str, str] = {}
    taken = _OF_STREAMS if schema.streamed else _OWN | _BUILT_IN
    for name, owner, place in _names(index, schema):
        if name in taken:
            problems.add(
                place,
                schema.id,
                f"{owner} would be `{name}`, which its module imports",
                "give it another name",
            )
        elif owners.get(name, owner) != owner:
            problems.add(
                place, schema.id, f"{owner} and {owners[name]} would both be `{name}`", "rename one of them"
            )
        owners.setdefault(name, owner)
    for struct in schema.structs if schema.streamed else ():
        seen: dict[str, str] = {}
        for each in struct.members:
            other = seen.setdefault(attribute(each.id), each.id)
            if other != each.id:
                text = f"`{each.id}` and `{other}` would both be `{attribute(each.id)}`"
                problems.add(each.place, struct.name.replace("::", "."), text, "rename one of them")
    for unit in index.units(schema):
        _locals(unit, index.model.struct(unit.name), problems)


def _locals(unit: Unit, struct: Struct, problems: Problems) -> None:
    """Values inside a type of fixed size get their own names while it is read."""
    own = {each.name for each in unit.fields} | {each.name for each in unit.parameters}
    for step in steps_in(unit.steps):
        for slot in step.slots if isinstance(step, Fixed) else ():
            name = "_".join(slot.path)
            for inner in (name, f"{name}_bits") if slot.path[1:] else ():
                if inner in own:
                    text = f"`{inner}` is also what reading calls a part of `{slot.path[0]}`"
                    place = next(each.place for each in struct.fields if each.id == slot.path[0])
                    problems.add(place, struct.name.replace("::", "."), text, "rename one of them")


def _circles(index: ModelIndex, problems: Problems) -> None:
    """Python cannot import two modules that each need the other first."""
    # streamed ones import each other when all their classes are there
    needs = {
        schema.id: {name.partition("::")[0] for unit in index.units(schema) for name in unit.holds}
        - {schema.id}
        for schema in index.model.schemas
    }
    for schema in index.model.schemas:
        todo, seen = set(needs[schema.id]), set[str]()
        while todo:
            each = todo.pop()
            if each not in seen:
                seen.add(each)
                todo |= needs[each]
        if schema.id in seen:
            text = "its module and another would import each other"
            problems.add(schema.root.place, schema.id, text, "put what both need into a third schema")
