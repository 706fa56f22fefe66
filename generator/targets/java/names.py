"""How schema names become Java names that collide with nothing in generated code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kodec.generator.reserved import Reserved, Taken
from kodec.generator.schema.model import Model, Schema

__all__ = ["Locals", "Names", "camel", "column_name", "component", "constant", "lower"]

_WORDS = """
    abstract assert boolean break byte case catch char class const continue default do double else enum
    extends final finally float for goto if implements import instanceof int interface long native new
    package private protected public return short static strictfp super switch synchronized this throw
    throws transient try void volatile while true false null _ var yield record sealed permits
""".split()  # noqa: SIM905  # fifty words on fifty lines are no list to read
# what methods call things next to the fields
_LOCALS = Reserved(
    _WORDS,
    """
    at buf codec computed data each error found from in isKept item opt out part rest start stop stored tag
    tags to wanted
    """.split(),  # noqa: SIM905  # the same
)
_ROWS = Reserved(
    _WORDS,
    """
    buf checkCrc count elements error expected last more n p room size start stop unitEnd wanted
    """.split(),  # noqa: SIM905  # the same
)
# what a record cannot have as a component, and the methods without arguments that its class has
_COMPONENTS = Reserved(
    _WORDS,
    "clone finalize getClass hashCode notify notifyAll toString wait all codec toBytes".split(),  # noqa: SIM905
    prefixes=("peek",),
)
_MEMBERS = Reserved(_WORDS)
_CLASSES = Reserved(
    """
    ArithmeticException ArrayList Arrays Boolean Buffer Checksums Codecs Double Enum Float FormatException
    IndexOutOfBoundsException Input Integer List Load Long Math Object Objects Output Override ReadOptions
    Kept Rows Source Stored StreamedObject Streams String TaggedField UUID Values Varints Visit
    """.split()  # noqa: SIM905  # the same
)


def lower(name: str) -> str:
    """`base_offset` as `baseOffset`."""
    first, *rest = [part for part in name.split("_") if part] or [name]
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def camel(name: str) -> str:
    """`base_offset` as `BaseOffset`."""
    found = lower(name)
    return found[:1].upper() + found[1:]


def component(name: str) -> str:
    """The component of a record that a field is."""
    return _COMPONENTS.free(lower(name))


def column_name(name: str) -> str:
    """The array of a column."""
    return _MEMBERS.free(lower(name))


def constant(name: str) -> str:
    """The member of an enum, or a constant."""
    return name.upper()


class Locals:
    """The local variables of one type's methods: those of fields, and others derived from them."""

    def __init__(self, names: Names, fields: Iterable[str]) -> None:
        self._taken = Taken(_LOCALS.words | {names.root.partition(".")[0]})
        self._fields = {name: self._taken.claim(lower(name)) for name in fields}
        self._made: dict[tuple[str, str], str] = {}

    def __call__(self, name: str) -> str:
        """That of a field."""
        return self._fields[name]

    def made(self, kind: str, name: str) -> str:
        """`startOf` and a field, and the like."""
        if (kind, name) not in self._made:
            self._made[kind, name] = self._taken.claim(lower(kind.format(name)))
        return self._made[kind, name]

    @staticmethod
    def of_rows() -> Taken:
        """Those of the loop over rows, without any field's."""
        return Taken(_ROWS.words)

    @staticmethod
    def shadows(name: str) -> bool:
        """Whether a method uses this name for something else."""
        return name in _LOCALS.words


class Names:
    """The classes of a model: one for each schema, in a package for each folder, and types inside."""

    def __init__(self, model: Model, root: str) -> None:
        self.model = model
        self.root = root
        self.tops = {schema.id: _CLASSES.free(camel(schema.id)) for schema in model.schemas}
        self.types: dict[str, str] = {}
        self.enums: dict[str, str] = {}
        for schema in model.schemas:
            top = self.tops[schema.id]
            taken = Taken([top])
            ids = Counter(struct.id for struct in schema.structs)
            for struct in schema.structs:
                if struct is schema.root:
                    self.types[struct.name] = top
                    continue
                # two types of one name are distinguished by the types that they are in
                name = struct.id if ids[struct.id] == 1 else "_".join(struct.name.split("::")[1:])
                self.types[struct.name] = taken.claim(_CLASSES.free(camel(name)))
            for enum in schema.enums:
                name = camel(enum.name.rpartition("::")[2])
                self.enums[enum.name] = taken.claim(_CLASSES.free(name))

    def package(self, schema: Schema) -> str:
        """The package of a schema's class: that of its folder."""
        folders = schema.path.split("/")[:-1]
        parts = [self._part(each) for each in folders]
        return ".".join([self.root, *parts])

    @staticmethod
    def _part(folder: str) -> str:
        plain = "".join(each if each.isalnum() and each.isascii() else "_" for each in folder.lower())
        return f"_{plain}" if plain in _WORDS or plain[:1].isdigit() else plain

    def top(self, schema_id: str, here: Schema) -> str:
        """The class of a schema as it is written in another's."""
        schema = self.model.schema(schema_id)
        name = self.tops[schema_id]
        if schema is here:
            return name
        return name if self._is_plain(name, here) else f"{self.package(schema)}.{name}"

    def _is_plain(self, name: str, here: Schema) -> bool:
        """Whether a class of another schema can be called by its name alone."""
        nested = {self.types[each.name] for each in here.structs} | {
            self.enums[each.name] for each in here.enums
        }
        return name not in nested and list(self.tops.values()).count(name) == 1

    def imports(self, here: Schema, words: Iterable[str]) -> list[str]:
        """The classes of other packages that are named in the class of schema `here`."""
        return [
            f"{self.package(schema)}.{name}"
            for schema in self.model.schemas
            if (name := self.tops[schema.id]) in words
            and self.package(schema) != self.package(here)
            and self._is_plain(name, here)
        ]

    def type(self, name: str, here: Schema) -> str:
        """The class of a type as it is written in the class of schema `here`."""
        schema = self.model.schema_of(name)
        if name == schema.root.name:
            return self.top(schema.id, here)
        return self.types[name] if schema is here else f"{self.top(schema.id, here)}.{self.types[name]}"

    def enum(self, name: str, here: Schema) -> str:
        """The class of an enum as it is written in the class of schema `here`."""
        schema = self.model.schema_of(name)
        return self.enums[name] if schema is here else f"{self.top(schema.id, here)}.{self.enums[name]}"

    def method(self, name: str, verb: str, here: Schema) -> str:
        """`Record.read`; of a type without a class, `RecordBatch.readRecordList`."""
        schema = self.model.schema_of(name)
        if name == schema.root.name:
            return f"{self.top(schema.id, here)}.{verb}"
        own = f"{verb}{self.types[name]}"
        return own if schema is here else f"{self.top(schema.id, here)}.{own}"
