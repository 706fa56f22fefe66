"""Python names that two schema names would share, and names that no module or package can have."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterator

from kodec.generator.layout import BitGroup, Run, RunField
from kodec.generator.problems import Place, Problems
from kodec.generator.schema.model import Model, Schema, Struct
from kodec.generator.schema.roles import codec_field
from kodec.generator.targets.python.facts import Facts, targets_of
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


def check_collisions(facts: Facts, problems: Problems) -> None:
    """Report what would give a module that cannot be imported, or one name with two meanings."""
    model = facts.model
    for schema in model.schemas:
        _path(schema, problems)
        if facts.wanted(schema):
            _module(facts, schema, problems)
    _packages(model, problems)
    _circles(facts, problems)


def _path(schema: Schema, problems: Problems) -> None:
    for part in schema.path.removesuffix(".ksy").split("/"):
        if not part.isidentifier() or keyword.iskeyword(part):
            text = f"`{part}` in the file's path cannot be the name of a Python module"
            problems.add(schema.root.place, schema.id, text, "use a name in lower_snake_case")


def _packages(model: Model, problems: Problems) -> None:
    folders = {schema.path.rpartition("/")[0] for schema in model.schemas}
    for schema in model.schemas:
        if schema.path.removesuffix(".ksy") in folders:
            text = f"there is a folder beside {schema.path} that has its name"
            problems.add(schema.root.place, schema.id, text, "rename the one or the other")


def _names(facts: Facts, schema: Schema) -> Iterator[tuple[str, str, Place]]:
    """Each name that the module of a schema defines, with what it stands for."""
    for struct in schema.structs:
        if schema.streamed:
            yield facts.classes[struct.name], f"type `{struct.id}`", struct.place
            continue
        if facts.in_runtime(struct):
            continue
        function = facts.function(struct)
        owner = f"type `{struct.id}`"
        names = [facts.classes[struct.name]]
        for known in facts.layouts.bindings(struct):
            suffix = "".join(f"_{key}" for key, value in known.items() if value)
            names += [f"read_{function}{suffix}", f"write_{function}{suffix}"]
        if codec_field(struct) is not None:
            names += [
                f"read_{function}_head",
                f"read_{function}_rows",
                f"write_{function}_rows",
                f"HEAD_TYPES_OF_{function.upper()}_ROWS",
                f"head_of_{function}_rows",
                f"codec_of_{function}",
            ]
        if facts.checksum(struct) is not None:
            names.append(f"checksum_of_{function}")
        if any(instance.peek_at is not None for instance in struct.instances):
            names += [
                f"peek_{function}",
                *(f"peek_{function}_{i.id}" for i in struct.instances if i.value is not None),
            ]
        for name in names:
            yield name, owner, struct.place
    for enum in schema.enums:
        yield facts.enum_class(enum.name), f"enum `{enum.name.rpartition('::')[2]}`", schema.root.place


def _module(facts: Facts, schema: Schema, problems: Problems) -> None:
    owners: dict[str, str] = {}
    taken = _OF_STREAMS if schema.streamed else _OWN | _BUILT_IN
    for name, owner, place in _names(facts, schema):
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
    for struct in schema.structs:
        if not facts.in_runtime(struct) and not schema.streamed:
            _locals(facts, struct, problems)


def _locals(facts: Facts, struct: Struct, problems: Problems) -> None:
    """Values inside a type of fixed size get names of their own while it is read."""
    own = {field.id for field in struct.fields} | {param.id for param in struct.params}
    for known in facts.layouts.bindings(struct):
        for variant in facts.layouts.variants(struct, known):
            runs = [step for step in variant.layout.steps if isinstance(step, Run)]
            for item in [item for run in runs for item in run.fields if item.inner is not None]:
                for inner in _parts(item, ""):
                    if item.field is not None and inner in own:
                        text = f"`{inner}` is also what reading calls a part of `{item.field.id}`"
                        path = struct.name.replace("::", ".")
                        problems.add(item.field.place, path, text, "rename one of them")


def _parts(item: RunField, prefix: str) -> Iterator[str]:
    """The names that reading a type of fixed size gives to what is in it."""
    if item.inner is None or item.field is None:
        return
    prefix = f"{prefix}{item.field.id}_"
    for part in item.inner.fields:
        group = part.what.members if isinstance(part.what, BitGroup) else ()
        for member in [part.field, *(each for each, _, _ in group)]:
            if member is not None:
                yield f"{prefix}{member.id}"
                yield f"{prefix}{member.id}_bits"
        yield from _parts(part, prefix)


def _circles(facts: Facts, problems: Problems) -> None:
    """Python cannot import two modules that each need the other first."""
    needs = {
        schema.id: {
            name.partition("::")[0]
            for struct in schema.structs
            if not facts.in_runtime(struct)
            for name in targets_of(struct)
            if not facts.in_runtime(facts.model.struct(name))
        }
        - {schema.id}
        for schema in facts.model.schemas
    }
    for schema in facts.model.schemas:
        if schema.streamed:
            continue  # they import each other when all their classes are there
        todo, seen = set(needs[schema.id]), set[str]()
        while todo:
            each = todo.pop()
            if each not in seen:
                seen.add(each)
                todo |= needs[each]
        if schema.id in seen:
            text = "its module and another would import each other"
            problems.add(schema.root.place, schema.id, text, "put what both need into a third schema")
