"""How schema names become Python names that collide with nothing in generated code."""

from __future__ import annotations

import keyword

import kodec.runtime.fields
import kodec.runtime.floats
import kodec.runtime.streams
import kodec.runtime.uuids
import kodec.runtime.varint
from kodec.generator.reserved import Reserved
from kodec.generator.schema.model import Enum

__all__ = ["RUNTIME", "attribute", "camel", "column_local", "local", "member_names"]

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
    "settling": ("choose", "doubted", "note", "noted", "settle", "settled", "teach"),
    "streams": tuple(kodec.runtime.streams.__all__),
    "uuids": tuple(kodec.runtime.uuids.__all__),
    "varint": tuple(kodec.runtime.varint.__all__),
}
"""What generated modules import, by module of kodec.runtime."""

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
        "stop_of_",
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


def member_names(enum: Enum) -> dict[str, str]:
    """The name of each value of an enum in its class."""
    return {item.id: item.id.upper() for item in enum.items}
