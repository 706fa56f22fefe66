"""How schema names become Java names that collide with nothing in generated code."""

from __future__ import annotations

from kodec.generator.reserved import Reserved, Taken
from kodec.generator.schema.model import Schema, Struct
from kodec.generator.targets.python.facts import Facts

__all__ = ["Names", "camel", "column_name", "component", "constant", "lower"]

_WORDS = """
    abstract assert boolean break byte case catch char class const continue default do double else enum
    extends final finally float for goto if implements import instanceof int interface long native new
    package private protected public return short static strictfp super switch synchronized this throw
    throws transient try void volatile while true false null _ var yield record sealed permits
""".split()  # noqa: SIM905  # fifty words on fifty lines are no list to read
# what the methods that read call things beside the fields, by names without a `_` inside
_LOCALS = Reserved(
    _WORDS,
    """
    at buf checkCrc computed data elements end error expected found in item last most n opt p room start stop
    wanted
    """.split(),  # noqa: SIM905  # the same
)
# what a record cannot have as a component, and the methods without arguments that its class has
_COMPONENTS = Reserved(
    _WORDS,
    "clone finalize getClass hashCode notify notifyAll toString wait all codec".split(),  # noqa: SIM905
    prefixes=("peek",),
)
_MEMBERS = Reserved(_WORDS)
_CLASSES = Reserved(
    """
    ArithmeticException ArrayList Arrays Boolean Buffer Checksums Codecs Double Enum Fields Float
    FormatException IndexOutOfBoundsException Input Integer List Load Long Math Object Objects Override
    ReadOptions Rows Stored String TaggedField UUID Values Varints
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


class Names:
    """The classes of a model: one for each schema, in a package for each folder, and types inside."""

    def __init__(self, back: Facts, root: str) -> None:
        self.back = back
        self.root = root
        # of two things of one name, a package is what Java sees last
        self._locals = Reserved(_LOCALS.words, root.split(".")[:1])
        self.tops = {schema.id: _CLASSES.free(camel(schema.id)) for schema in back.model.schemas}
        self.types: dict[str, str] = {}
        self.enums: dict[str, str] = {}
        for schema in back.model.schemas:
            top = self.tops[schema.id]
            taken = Taken([top])
            for struct in schema.structs:
                if struct is schema.root:
                    self.types[struct.name] = top
                    continue
                self.types[struct.name] = taken.claim(_CLASSES.free(camel(back.function(struct))))
            for enum in schema.enums:
                name = camel(enum.name.rpartition("::")[2])
                self.enums[enum.name] = taken.claim(_CLASSES.free(name))

    def local(self, name: str) -> str:
        """The local variable of a field. It has no `_` inside, as what is made of it has: `crc_bits`."""
        return self._locals.free(lower(name))

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
        schema = self.back.model.schema(schema_id)
        name = self.tops[schema_id]
        if schema is here:
            return name
        nested = {self.types[each.name] for each in here.structs} | {
            self.enums[each.name] for each in here.enums
        }
        if self.package(schema) == self.package(here) and name not in nested:
            return name
        return f"{self.package(schema)}.{name}"

    def type(self, name: str, here: Schema) -> str:
        """The class of a type as it is written in the class of schema `here`."""
        schema = self.back.model.schema_of(name)
        top = self.top(schema.id, here)
        return top if name == schema.root.name else f"{top}.{self.types[name]}"

    def enum(self, name: str, here: Schema) -> str:
        """The class of an enum as it is written in the class of schema `here`."""
        return f"{self.top(self.back.model.schema_of(name).id, here)}.{self.enums[name]}"

    def function(self, struct: Struct) -> str:
        """What follows `read` in the class of the schema, for a type without a class."""
        schema = self.back.model.schema_of(struct.name)
        return "" if struct is schema.root else self.types[struct.name]
