"""How schema names become Python names that collide with nothing in generated code."""

from __future__ import annotations

import keyword
from collections import Counter

import kodec.runtime.fields
import kodec.runtime.floats
import kodec.runtime.streams
import kodec.runtime.uuids
import kodec.runtime.varint
from kodec.generator.reserved import Reserved, Taken
from kodec.generator.schema.model import Enum, Model, Schema

__all__ = ["RUNTIME", "ClassNames", "argument", "attribute", "camel", "column_local", "local", "member_names"]

RUNTIME = {
    "compression": ("compress", "decompress"),
    "crc": ("crc32", "crc32c"),
    "dataclass": ("dataclass", "field"),
    "errors": (
        "CrcMismatch",
        "EncodeError",
        "FormatError",
        "LimitExceeded",
        "Malformed",
        "Truncated",
        "Unsupported",
    ),
    "fields": tuple(kodec.runtime.fields.__all__),
    "floats": tuple(kodec.runtime.floats.__all__),
    "settling": ("choose", "doubted", "note", "noted", "settle", "settled", "teach", "want"),
    "streams": tuple(kodec.runtime.streams.__all__),
    "uuids": tuple(kodec.runtime.uuids.__all__),
    "varint": tuple(kodec.runtime.varint.__all__),
}
"""What generated modules import, by module of kodec.runtime."""
_IMPORTED = frozenset().union(*RUNTIME.values())

_LOCALS = Reserved(
    keyword.kwlist,
    # what the templates themselves call things
    """
    after append at before bool buf bytes bytearray chosen cls codec computed count data dict end
    enumerate error exact field float found held inner int isinstance item items len limit list make max
    memoryview min opt out pos range raw rows self set size start stop str struct tag tags tuple type v
    value_of
    """.split(),  # noqa: SIM905  # fifty words on fifty lines are no list to read
    *RUNTIME.values(),
    # of these the templates make names by putting a schema name after them
    prefixes=(
        "read_",
        "write_",
        "peek_",
        "values_",
        "start_of_",
        "end_of_",
        "place_of_",
        "bytes_of_",
    ),
)
# further names inside the loops over rows
_ROW_LOCALS = Reserved(
    "batch body expected index len_body more new parts room row".split()  # noqa: SIM905  # the same
)
# a class body must still mean the built-in by these, and the class has these methods
_ATTRIBUTES = Reserved(
    keyword.kwlist,
    """
    bool bytes classmethod each_of field float from_bytes int list property range read_from str to_bytes
    tuple
    """.split(),  # noqa: SIM905  # the same
)
# what methods that read and write have besides the parameters of a type
_ARGUMENTS = Reserved(
    keyword.kwlist,
    "buf bytes bool cls data end exact float int name opt pos self str".split(),  # noqa: SIM905  # the same
)


def camel(name: str) -> str:
    text = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
    # a type `none` is no class `None`
    return f"{text}_" if keyword.iskeyword(text) or name.endswith("_") else text


def local(name: str) -> str:
    """The local variable (or parameter) of a field."""
    return _LOCALS.free(name)


def column_local(name: str) -> str:
    """The local variable of a column inside the loops over rows."""
    found = _ROW_LOCALS.free(name)
    return found if found != name else local(name)


def attribute(name: str) -> str:
    """The attribute of a field."""
    return _ATTRIBUTES.free(name)


def argument(name: str) -> str:
    """The parameter of a type as one of the methods that read and write its objects."""
    return _ARGUMENTS.free(name)


def member_names(enum: Enum) -> dict[str, str]:
    """The name of each value of an enum in its class."""
    return {item.id: item.id.upper() for item in enum.items}


class ClassNames:
    """The classes of a model's types and enums, and the suffixes of their functions.

    A schema's own type has the schema's name. A type inside has its own where no other type or enum of the
    module would get it, else its path, and else that with the schema's.

    Attributes:
        classes: the class of each type, by the type's full name.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._functions: dict[str, str] = {}
        self._enums: dict[str, str] = {}
        for schema in model.schemas:
            self._name(schema)
        self.classes = {name: camel(text) for name, text in self._functions.items()}

    def _name(self, schema: Schema) -> None:
        root = self._functions[schema.root.name] = _unimported(schema.root.id)
        taken = Taken([camel(root)])
        inner = [each.name for each in schema.structs if each is not schema.root]
        enums = [each.name for each in schema.enums]
        lone = {name for name, count in Counter(map(_own, [schema.root.name, *inner])).items() if count == 1}
        # names that are nobody else's are given first, whatever the order
        for name in sorted(inner, key=lambda each: _own(each) not in lone):
            path = "_".join(name.split("::")[1:])
            ways = [_own(name)] if _own(name) in lone else []
            ways = list(map(_unimported, (*ways, path, name.replace("::", "_"))))
            text = next((each for each in ways if camel(each) not in taken.names), ways[-1])
            while camel(text) in taken.names:
                text += "_"
            taken.names.add(camel(text))
            self._functions[name] = text
        shared = Counter(camel(_own(name)) for name in enums)
        for name in enums:
            own = camel(_own(name))
            text = own if shared[own] == 1 and own not in taken.names else camel(name.replace("::", "_"))
            self._enums[name] = taken.claim(text)

    def function(self, name: str) -> str:
        """The suffix of a type's `read_` and `write_`."""
        return self._functions[name]

    def enum_class(self, name: str) -> str:
        """The class of an enum."""
        return self._enums[name]


def _own(name: str) -> str:
    """The last part of a full name."""
    return name.rpartition("::")[2]


def _unimported(suffix: str) -> str:
    """The suffix of a function that is called as nothing that modules import.

    With two `_`: a field that is called as what is imported has one.
    """
    return f"{suffix}__" if f"read_{suffix}" in _IMPORTED else suffix
