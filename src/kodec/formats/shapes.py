"""The mapping of a schema's types to Arrow types, and of values to columns."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

import pyarrow as pa

from kodec.generator.problems import nearest
from kodec.generator.schema.expression_types import Kind, KindError, Kinds
from kodec.generator.schema.model import (
    Bits,
    Bytes,
    Field,
    Instance,
    Model,
    Prim,
    Ref,
    Str,
    Struct,
    Switch,
    TypeRef,
)
from kodec.generator.schema.type_roles import transparent
from kodec.generator.targets.python.names import ClassNames, attribute
from kodec.generator.wire import INTRINSICS, WIRE

__all__ = ["AROUND", "Column", "Native", "Shape", "Shapes", "Step"]

MOST_COLUMNS = 2000
_ARROW: Mapping[str, pa.DataType] = {
    **{
        f"{sign}int{bits}": getattr(pa, f"{sign}int{bits}")()
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
    "float": pa.float32(),
    "double": pa.float64(),
    "binary": pa.binary(),
}

Convert = Callable[[Any], Any]
Values = list[Any]
Build = Callable[[Values], pa.Array]
AROUND = ("_parent", "_root")
_NAMES = pa.dictionary(pa.int32(), pa.string())


class Places(dict[int, int]):
    """The places of numbers in a dictionary, and its words."""

    def __init__(self, names: Mapping[int, str]) -> None:
        super().__init__({number: index for index, number in enumerate(names)})
        self.words = list(names.values())


class Alternatives(tuple[Any, ...]):
    """What alternatives are, classes or kinds of values, and their words."""

    words: list[str]


@dataclass(frozen=True, slots=True)
class Native:
    """How the native reader fills a column (runtime/native/kodec_fill.h)."""

    kind: str
    extra: Any = ()
    children: tuple[tuple[Any, ...], ...] = ()

    def of(
        self, member: str | None = None, guard: type | None = None, accepts: Any = None
    ) -> tuple[Any, ...]:
        """The form of a column: of a member of an object, if its value has a class, or one of these kinds."""
        return (self.kind, member, guard, accepts, self.extra, self.children)


@dataclass(frozen=True, slots=True)
class Step:
    """One part of a path from a row: to a member, or to what a value is if its class or kind is this one."""

    member: str | None = None
    guard: type | None = None
    accepts: tuple[str, ...] | None = None

    def __call__(self, value: Any) -> Any:
        if self.member is not None:
            return getattr(value, self.member)
        if self.guard is not None:
            return value if type(value) is self.guard else None
        return value if self.accepts is None or _kind_of(value) in self.accepts else None


def _kind_of(value: Any) -> str:
    for kind, name in (
        (bool, "bool"),
        (int, "int"),
        (float, "float"),
        (bytes, "bytes"),
        (str, "str"),
        (list, "list"),
    ):
        if isinstance(value, kind):
            return name
    return "object"


@dataclass(frozen=True, slots=True)
class Shape:
    """An Arrow type, and the function that turns a generated reader's values into an array; None is null.

    Attributes:
        members: for a type, the shape of each field by its name in columns, in order.
        target: for a type, its full name.
        choice: whether the members are the alternatives of a `switch-on`.
        many: whether it is a list.
        native: how it is filled natively.
        names: of an enum the numbers by their names.
    """

    type: pa.DataType
    array: Build
    native: Native
    members: Mapping[str, Shape] = field(default_factory=dict)
    target: str = ""
    choice: bool = False
    many: bool = False
    names: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its name, its Arrow type, and the function that builds its array.

    Attributes:
        steps: the path from a row to its value.
        native: how the native reader fills it; None: it does not.
        names: of an enum the numbers by their names; of a type's name what makes a row one of each.
    """

    name: str
    type: pa.DataType
    array: Build
    steps: tuple[Step, ...] = ()
    native: Native | None = None
    names: Mapping[str, Any] | None = None

    def value(self, row: Any) -> Any:
        """The value of one row."""
        for step in self.steps:
            row = None if row is None else step(row)
        return row


def _plain(kind: pa.DataType, convert: Convert | None = None) -> Shape:
    """Values as they are, or after `convert`."""
    native = _native_of(kind)
    if convert is None:
        return Shape(kind, lambda values: pa.array(values, kind), native)
    return Shape(kind, lambda values: pa.array([convert(value) for value in values], kind), native)


def _native_of(kind: pa.DataType) -> Native:
    if pa.types.is_integer(kind):
        return Native("int", (kind.bit_width // 8, pa.types.is_signed_integer(kind)))
    if pa.types.is_floating(kind):
        return Native("real", (kind.bit_width // 8,))
    if pa.types.is_boolean(kind):
        return Native("flag")
    return Native("bytes" if pa.types.is_binary(kind) else "text")


def _enum(names: Mapping[int, str]) -> Shape:
    """Members by their names; a number that is none is its digits."""
    places = Places(names)

    def array(values: Values) -> pa.Array:
        positions = dict(places)
        indexes = [
            None if value is None else positions.setdefault(int(value), len(positions)) for value in values
        ]
        words = [names.get(number) or str(number) for number in positions]
        return pa.DictionaryArray.from_arrays(pa.array(indexes, pa.int32()), pa.array(words, pa.string()))

    numbers = {name: number for number, name in names.items()}
    return Shape(_NAMES, array, Native("enum", places), names=numbers)


def _whole(value: Any) -> Any:
    return None if value is None else int(value)


def _text(value: Any) -> Any:
    """Text for Arrow: bytes that are not UTF-8 become U+FFFD, as in tables of records."""
    if value is None or value.isascii():
        return value
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows at a path.

    Attributes:
        give: yields them of a value, and the number of steps that lead to it.
        shape: that of a row.
        steps: the path from the outermost object.
        owners: the types of the objects that are passed on the way.
    """

    give: Callable[[Any, int], Iterator[Any]]
    shape: Shape
    steps: tuple[Step, ...]
    owners: tuple[Struct, ...]


class Shapes:
    """The shapes of a model's types.

    Attributes:
        left_out: fields that no column has, with the reason: a type inside itself, a section of tags.
    """

    def __init__(self, model: Model, load: Callable[[str], Any], *, enum_names: bool = False) -> None:
        """`load` gives the generated module of a schema by its path without .ksy."""
        self.model = model
        self.enum_names = enum_names
        self.kinds = Kinds(model)
        self.index = ClassNames(model)
        self.left_out: dict[str, str] = {}
        self._load = load
        self._count = 0
        self._members: dict[tuple[str, str], Shape] = {}

    def class_of(self, target: str) -> type:
        schema = self.model.schema_of(target)
        python_class: type = getattr(self._load(schema.module), self.index.classes[target])
        return python_class

    def _number(self, kind: pa.DataType, enum: str | None) -> Shape:
        if enum is None:
            return _plain(kind)
        if not self.enum_names:
            return _plain(kind, _whole)
        return _enum({item.value: item.id for item in self.model.enum(enum).items})

    # -- types ----------------------------------------------------------------------------------------

    def of_type(self, kind: TypeRef, enum: str | None, path: str, inside: tuple[str, ...]) -> Shape | None:
        """One value of a type; None (and an entry in `left_out`) where no column can have it."""
        self._count += 1
        if self._count > MOST_COLUMNS:
            raise ValueError(f"more than {MOST_COLUMNS} columns, with those inside others: choose some")
        match kind:
            case Prim():
                return self._number(_ARROW[WIRE[kind.name].arrow], enum)
            case Bits(1) if enum is None:
                return _plain(pa.bool_())
            case Bits():
                width = next(width for width in (8, 16, 32, 64) if kind.width <= width)
                return self._number(_ARROW[f"uint{width}"], enum)
            case Str():
                return _plain(pa.string(), _text)
            case Bytes():
                return _plain(pa.binary())
            case Ref(target):
                return self._of_ref(target, path, inside)
            case Switch():
                alternatives = [alternative for _, alternative in kind.cases]
                alternatives += [] if kind.default is None else [kind.default]
                return self._of_switch(alternatives, enum, path, inside)
        raise TypeError(kind)

    def _of_ref(self, target: str, path: str, inside: tuple[str, ...]) -> Shape | None:
        struct = self.model.struct(target)
        if struct.wire in INTRINSICS:
            wire = WIRE[struct.wire]
            same = wire.kind in ("integer", "boolean")
            return _plain(_ARROW[wire.arrow], None if same else lambda value: value.bytes)
        if struct.wire == "tags":
            self.left_out[path] = "a section of tagged fields"
            return None
        member = transparent(struct)
        if member is not None:
            return self.of_field(member, path, inside)
        if target in inside:
            self.left_out[path] = f"a `{struct.id}` inside a `{struct.id}`"
            return None
        return self.of_struct(struct, path, inside)

    def of_struct(self, struct: Struct, path: str, inside: tuple[str, ...] = ()) -> Shape:
        """An object: its fields. One without any is a `bool`, which shows its presence."""
        members: dict[str, Shape] = {}
        layout = not self.model.schema_of(struct.name).streamed
        for spec in struct.fields:
            if spec.contents is not None or (layout and spec.derive is not None and spec.derive.is_length):
                continue  # no attribute: it follows from the rest
            shape = self.of_field(spec, f"{path}.{spec.id}".lstrip("."), (*inside, struct.name))
            if shape is not None:
                members[spec.id] = shape
        if not members:
            presence = _plain(pa.bool_(), lambda value: None if value is None else True)
            return replace(presence, native=Native("here"), target=struct.name)
        kind = pa.struct([pa.field(name, shape.type) for name, shape in members.items()])
        parts = [(attrgetter(attribute(name)), shape.array) for name, shape in members.items()]

        def array(values: Values) -> pa.Array:
            present = [value for value in values if value is not None]
            if not present:
                return pa.nulls(len(values), kind)
            arrays = [build(list(map(get, present))) for get, build in parts]
            structs = pa.StructArray.from_arrays(arrays, fields=list(kind))
            return structs if len(present) == len(values) else _spread(structs, values)

        native = tuple(shape.native.of(attribute(name)) for name, shape in members.items())
        return Shape(kind, array, Native("struct", (), native), members, struct.name)

    def _of_switch(
        self, alternatives: Sequence[TypeRef], enum: str | None, path: str, inside: tuple[str, ...]
    ) -> Shape | None:
        """A struct with a member for each alternative, one of which is present; or the only one."""
        members: dict[str, Shape] = {}
        by_class: dict[type, str] = {}
        whole = True
        for kind in dict.fromkeys(alternatives):
            shape = self.of_type(kind, enum, path, inside)
            if shape is None:
                whole = False
                continue
            label = _label(kind, shape)
            if label in members and members[label].target != shape.target:
                label = shape.target.replace("::", "__")
            if label == "int" and label in members:
                shape = _plain(_wider(members[label].type, shape.type), _whole)
            if label == "float" and label in members:
                shape = _plain(pa.float64())
            members[label] = shape
            for python_type in _python_types(label, shape, self):
                by_class[python_type] = label
        if not members:
            return None
        if len(members) == 1 and whole:
            return next(iter(members.values()))

        kind_of_all = pa.struct([pa.field(name, shape.type) for name, shape in members.items()])

        def array(values: Values) -> pa.Array:
            # an enum's member is a number
            labels = [
                by_class.get(type(value)) or (by_class.get(int) if isinstance(value, int) else None)
                for value in values
            ]
            used = set(labels)
            arrays = [
                shape.array(
                    [value if label == name else None for value, label in zip(values, labels, strict=True)]
                )
                if name in used
                else pa.nulls(len(values), shape.type)
                for name, shape in members.items()
            ]
            mask = pa.array([label is None for label in labels]) if None in used else None
            return pa.StructArray.from_arrays(arrays, fields=list(kind_of_all), mask=mask)

        native = tuple(
            shape.native.of(None, step.guard, step.accepts)
            for shape, step in ((shape, self.alternative(name, members)) for name, shape in members.items())
        )
        return Shape(kind_of_all, array, Native("choice", (), native), members, choice=True)

    def alternative(self, label: str, members: Mapping[str, Shape]) -> Step:
        """The step to an alternative of a `switch-on`."""
        shape = members[label]
        if shape.target:
            return Step(guard=self.class_of(shape.target))
        # a flag is a number where there is no alternative for flags
        return Step(accepts=(label, "bool") if label == "int" and "bool" not in members else (label,))

    def of_field(self, spec: Field, path: str, inside: tuple[str, ...]) -> Shape | None:
        """A field, with its repetition."""
        shape = self._of_element(spec, path, inside)
        return shape if shape is None or spec.repeat is None else _list(shape)

    def _of_element(self, spec: Field, path: str, inside: tuple[str, ...]) -> Shape | None:
        kind = spec.type
        sized = spec.size is not None or spec.size_eos or spec.terminator is not None
        if isinstance(kind, Switch) and kind.default is None and sized:
            alternatives = [*(alternative for _, alternative in kind.cases), Bytes()]
            return self._of_switch(alternatives, spec.enum, path, inside)
        return self.of_type(kind, spec.enum, path, inside)

    def of_instance(self, struct: Struct, instance: Instance, path: str, inside: tuple[str, ...]) -> Shape:
        """An instance, which is selected by name. Raises ValueError if no column can have it."""
        shape = None
        if not self.model.schema_of(struct.name).streamed:
            raise ValueError(f"`{path}`: the instances of this schema are not attributes")
        if (spec := instance.reads) is not None:
            shape = self.of_field(spec, path, inside)
        else:
            try:
                shape = self._of_kind(self.kinds.of_instance(struct, instance), path, inside)
            except KindError as error:
                raise ValueError(f"`{path}`: {error}") from None
        if shape is None:
            raise ValueError(f"`{path}`: it cannot be a column")
        return shape

    def _of_kind(self, kind: Kind, path: str, inside: tuple[str, ...]) -> Shape | None:
        match kind.name:
            case "enum" if self.enum_names and kind.full:
                return self._number(pa.int64(), kind.full)
            case "integer" | "enum":
                return _plain(pa.int64(), _whole)
            case "float":
                return _plain(pa.float64(), lambda value: None if value is None else float(value))
            case "boolean":
                return _plain(pa.bool_())
            case "text":
                return _plain(pa.string(), _text)
            case "bytes":
                return _plain(pa.binary())
            case "list" if kind.of is not None:
                element = self._of_kind(kind.of, path, inside)
                return None if element is None else _list(element)
            case "type" if kind.full:
                return self._of_ref(kind.full, path, inside)
        return None

    # -- paths ----------------------------------------------------------------------------------------

    def member(self, struct: Struct, name: str, path: str) -> Shape:
        """A field or an instance of a type. Raises ValueError if there is none."""
        key = (struct.name, name)
        if key not in self._members:
            self._count = 0
            self._members[key] = self._member(struct, name, path)
        return self._members[key]

    def _member(self, struct: Struct, name: str, path: str) -> Shape:
        spec = struct.field(name)
        if spec is not None and spec.contents is None:
            shape = self.of_field(spec, path, (struct.name,))
            if shape is None:
                raise ValueError(f"`{path}`: it cannot be a column: {self.left_out[path]}")
            return shape
        instance = struct.instance(name)
        if instance is None:
            known = [field.id for field in struct.fields] + [instance.id for instance in struct.instances]
            hint = nearest(name, known)
            raise ValueError(f"`{path}`: a `{struct.id}` has no `{name}`" + (f"; {hint}" if hint else ""))
        return self.of_instance(struct, instance, path, (struct.name,))

    def column(self, row: Shape, path: str, owners: Sequence[Struct] = ()) -> Column:
        """The column at a path from a row: `body.ihdr_chunk.width`. Raises ValueError.

        Args:
            owners: the types of the objects around a row, the nearest one last: `_parent`, `_root`.
        """
        shape, steps = self._at(row, path, owners)
        return self._column(path, shape, steps)

    def _at(self, row: Shape, path: str, owners: Sequence[Struct]) -> tuple[Shape, tuple[Step, ...]]:
        shape, steps = row, list[Step]()
        around = list(owners)
        for name in path.split("."):
            if name in AROUND and around:
                struct = around[0] if name == "_root" else around.pop()
                around = [] if name == "_root" else around
                shape = self.of_struct(struct, path)
                steps.append(Step(name, self.class_of(struct.name)))
                continue
            around = []
            if shape.many:
                raise ValueError(f"`{path}`: `{name}` is inside a list, which is a column as a whole")
            if shape.choice:
                if name not in shape.members:
                    raise ValueError(f"`{path}`: {self._no_alternative(shape, name)}")
                steps.append(self.alternative(name, shape.members))
                shape = shape.members[name]
                continue
            if not shape.target:
                raise ValueError(f"`{path}`: `{name}` is inside a plain value")
            shape = self.member(self.model.struct(shape.target), name, path)
            guard = self.class_of(shape.target) if shape.target else None
            steps.append(Step(attribute(name), guard))
        return shape, tuple(steps)

    def _no_alternative(self, shape: Shape, name: str) -> str:
        """The reason why a name after a switch is wrong; types that have such a member are named."""
        structs = {
            label: self.model.struct(member.target)
            for label, member in shape.members.items()
            if member.target
        }
        having = [label for label, struct in structs.items() if struct.field(name) or struct.instance(name)]
        if having:
            qualified = ", ".join(f"`{label}.{name}`" for label in having)
            return f"name the type too: {qualified}"
        return f"`{name}` is not one of the alternatives {', '.join(shape.members)}"

    def _column(self, name: str, shape: Shape, steps: tuple[Step, ...]) -> Column:
        def array(values: Values) -> pa.Array:
            for step in steps:
                values = [None if value is None else step(value) for value in values]
            return shape.array(values)

        return Column(name, shape.type, array, steps, shape.native, shape.names)

    def columns(self, row: Shape) -> list[Column]:
        """All columns of a row: its fields, the alternatives of a switch, or the value itself."""
        if row.choice:
            return [
                self._column(name, shape, (self.alternative(name, row.members),))
                for name, shape in row.members.items()
            ]
        if not row.members:
            return [self._column("value", row, ())]
        return [
            self._column(
                name, shape, (Step(attribute(name), self.class_of(shape.target) if shape.target else None),)
            )
            for name, shape in row.members.items()
        ]

    def flat(self, row: Shape, path: str = "", owners: Sequence[Struct] = ()) -> list[Column]:
        """The columns of a row, or of what is at a path from it, of which none is a struct outside of a list:
        the members of a type are columns of their own, and a `switch-on` has the name of the type besides.
        """
        shape, steps = self._at(row, path, owners) if path else (row, ())
        columns = list(self._flat(shape, path, steps))
        if len(columns) > MOST_COLUMNS:
            raise ValueError(f"more than {MOST_COLUMNS} columns: choose some")
        return columns

    def _flat(self, shape: Shape, path: str, steps: tuple[Step, ...]) -> Iterator[Column]:
        if shape.many or not shape.members:
            yield self._column(path or "value", shape, steps)
            return
        if shape.choice:
            yield self._type_name(path or "type", shape, steps)
        for name, member in shape.members.items():
            step = self.alternative(name, shape.members) if shape.choice else None
            if step is None:
                step = Step(attribute(name), self.class_of(member.target) if member.target else None)
            yield from self._flat(member, f"{path}.{name}".lstrip("."), (*steps, step))

    def _type_name(self, path: str, shape: Shape, steps: tuple[Step, ...]) -> Column:
        """The name of the alternative that a `switch-on` chose."""
        ways = {label: self.alternative(label, shape.members) for label in shape.members}
        extra = tuple(
            (step.guard if step.guard is not None else kind, label)
            for label, step in ways.items()
            for kind in (step.accepts or ("",))
        )
        words = [label for _, label in extra]

        def array(values: Values) -> pa.Array:
            for step in steps:
                values = [None if value is None else step(value) for value in values]
            places = {what: index for index, (what, _) in enumerate(extra)}
            indexes = [
                None if value is None else places.get(type(value), places.get(_kind_of(value)))
                for value in values
            ]
            return pa.DictionaryArray.from_arrays(pa.array(indexes, pa.int32()), pa.array(words, pa.string()))

        alternatives = Alternatives(what for what, _ in extra)
        alternatives.words = words
        native = Native("name", alternatives)
        return Column(path, _NAMES, array, (*steps, Step()), native, ways)

    # -- rows -----------------------------------------------------------------------------------------

    def lists(self, struct: Struct) -> list[str]:
        """The lists that are nearest to the outermost type: of its own fields, else of the types in these."""
        level: list[tuple[str, Struct]] = [("", struct)]
        visited = {struct.name}
        while level:
            paths = [
                f"{path}{spec.id}"
                for path, owner in level
                for spec in owner.fields
                if spec.repeat is not None and isinstance(spec.type, (Ref, Switch))
            ]
            if paths:
                return paths
            level = [
                (f"{path}{spec.id}.", self.model.struct(spec.type.target))
                for path, owner in level
                for spec in owner.fields
                if isinstance(spec.type, Ref) and spec.type.target not in visited
            ]
            visited |= {owner.name for _, owner in level}
        return []

    def rows(self, struct: Struct, path: str) -> Rows:
        """What the rows at a path of an object are. Raises ValueError.

        A path leads to a list, to an object that each element of a list has, or, as `.`, to the object
        itself.
        """
        self._count = 0
        names = [] if path == "." else [name.removesuffix("[]") for name in path.split(".")]
        shape = self.of_struct(struct, "")
        shape = replace(shape, target=struct.name)
        steps: list[Step] = []
        owners: list[Struct] = []
        fields: list[Field | None] = []
        for index, name in enumerate(names):
            so_far = ".".join(names[: index + 1])
            if shape.choice:
                if name not in shape.members:
                    raise ValueError(f"rows `{path}`: {self._no_alternative(shape, name)}")
                steps.append(self.alternative(name, shape.members))
                shape = shape.members[name]
                continue
            if not shape.target:
                raise ValueError(f"rows `{path}`: `{names[index - 1]}` is not an object")
            owner = self.model.struct(shape.target)
            owners.append(owner)
            shape = self.member(owner, name, so_far)
            fields.append(owner.field(name))
            steps.append(Step(attribute(name)))
            while shape.many:
                shape = shape.members["element"]
        if (
            names
            and not shape.target
            and not shape.choice
            and not (fields[-1] is None or fields[-1].repeat is not None)
        ):
            raise ValueError(f"rows `{path}`: it is not a list, and no object")

        def give(value: Any, depth: int) -> Iterator[Any]:
            if value is None:
                return
            if isinstance(value, list):
                for item in value:
                    yield from give(item, depth)
            elif depth == len(steps):
                yield value
            else:
                yield from give(steps[depth](value), depth + 1)

        return Rows(give, shape, tuple(steps), tuple(owners))

    def sought(self, columns: Sequence[Column]) -> list[Column]:
        """Those columns that are instances, or parts of one."""
        return [column for column in columns if any(step.member in self._instances for step in column.steps)]

    @cached_property
    def _instances(self) -> dict[str, str]:
        """The ids of all instances by their attributes."""
        structs = (struct for schema in self.model.schemas for struct in schema.structs)
        return {attribute(instance.id): instance.id for struct in structs for instance in struct.instances}

    def looks_ahead(self, rows: Rows, sought: Sequence[Column]) -> bool:
        """Whether columns may need data after a row: one is an instance, and it, or what it needs,
        asks for a field after a list of the path.
        """
        requested = {step.member for column in sought for step in column.steps}
        needed = self.kinds.needed_by(
            instance for attr, instance in self._instances.items() if attr in requested
        )
        members = [step.member for step in rows.steps if step.member is not None]
        for owner, member in zip(rows.owners, members, strict=True):
            names = [attribute(field.id) for field in owner.fields]
            after = owner.fields[names.index(member) + 1 :] if member in names else ()
            if any(field.id in needed for field in after):
                return True
        return False


def _spread(present: pa.Array, values: Values) -> pa.Array:
    """The array of the values that are not None."""
    count = itertools.count()
    return present.take(pa.array([None if value is None else next(count) for value in values], pa.int64()))


def _list(shape: Shape) -> Shape:
    kind = pa.list_(shape.type)

    def array(values: Values) -> pa.Array:
        lengths = [0 if value is None else len(value) for value in values]
        ends = list(itertools.accumulate(lengths, initial=0))
        starts = [None if value is None else start for value, start in zip(values, ends, strict=False)]
        elements = [item for value in values if value is not None for item in value]
        offsets = pa.array([*starts, ends[-1]], pa.int32())
        return pa.ListArray.from_arrays(offsets, shape.array(elements), type=kind)

    return Shape(kind, array, Native("list", (), (shape.native.of(),)), {"element": shape}, many=True)


def _label(kind: TypeRef, shape: Shape) -> str:
    """The name of an alternative: a type's id, or the kind of another value."""
    if shape.target:
        return shape.target.rpartition("::")[2]
    if shape.many:
        return "list"
    if pa.types.is_boolean(shape.type):
        return "bool"
    if pa.types.is_integer(shape.type):
        return "int"
    if pa.types.is_floating(shape.type):
        return "float"
    return "bytes" if pa.types.is_binary(shape.type) else "str"


def _python_types(label: str, shape: Shape, shapes: Shapes) -> list[type]:
    if shape.target:
        return [shapes.class_of(shape.target)]
    name = label if label in ("list", "bool", "int", "float", "bytes", "str") else _label(Bytes(), shape)
    return [{"list": list, "bool": bool, "int": int, "float": float, "bytes": bytes, "str": str}[name]]


def _wider(first: pa.DataType, second: pa.DataType) -> pa.DataType:
    """An integer type that holds both; int64 where a sign meets 64 bits."""
    if pa.types.is_signed_integer(first) == pa.types.is_signed_integer(second):
        return first if first.bit_width >= second.bit_width else second
    return pa.int64()
