"""Names of schemas as names of Go, which collide with nothing that a generated file uses."""

from __future__ import annotations

import re

from kodec.generator.reserved import Reserved, Taken
from kodec.generator.schema.model import Model
from kodec.generator.target import type_prefixes

__all__ = ["Names", "exported", "local"]

WORDS = """
    any append bool break byte case chan const continue copy default defer else error fallthrough false for
    func go goto if import int int64 interface len make map max min new nil package range return select string
    struct switch true type uint64 var binary bytes math reflect
"""
_OF_PRINTER = """
    ahead at b bitsAt bitsOf checksumCrc32 checksumCrc32c codec content each end err field floorDiv floorMod
    found grown i inner is last most n newSection notEncodable nth number opt pack packed pick pointer r
    start stored v value within
"""
_NUMBERED = "before bits checksum end held length measured run section start"
_OF_RUNTIME = """
    Append BadChecksum Error LimitExceeded Malformed NotEncodable Options RawTag Stream Truncated UUID
    Unsupported
"""
# functions of types are called `readX` and `appendX`, places in bytes `startOfX`
_PREFIXES = ("append", "endOf", "heldOf", "read", "startOf")
_NUMBERED_PREFIXES = tuple(f"{word}{digit}" for word in _NUMBERED.split() for digit in range(1, 10))
_LOCALS = Reserved(WORDS.split(), _OF_PRINTER.split(), prefixes=_PREFIXES + _NUMBERED_PREFIXES)
_EXPORTED = Reserved(_OF_RUNTIME.split())
_AS_INITIALS = "api crc id ip url uuid"
_INITIALS = frozenset(_AS_INITIALS.split())


def exported(name: str) -> str:
    """`topic_id` is `TopicID`."""
    parts = [part.upper() if part in _INITIALS else part[:1].upper() + part[1:] for part in name.split("_")]
    return _EXPORTED.free("".join(parts))


def local(name: str) -> str:
    """`len_body` is `lenBody`."""
    text = re.sub(r"^([A-Z]+(?![a-z])|[A-Z])", lambda head: head[0].lower(), exported(name))
    return f"{text}_" if text[0].isdigit() else _LOCALS.free(text)


class Names:
    """What units and enums are called in one Go package.

    Attributes: `constants` has (name, number) of each member of an enum.
    """

    def __init__(self, model: Model) -> None:
        self._types: dict[str, str] = {}
        self._enums: dict[str, str] = {}
        for schema, head in type_prefixes(model, exported):
            for called, parts in ((self._types, schema.structs), (self._enums, schema.enums)):
                for name in (each.name for each in parts):
                    called[name] = head + "".join(map(exported, name.split("::")[1:]))
        # a type and an enum may have one name, and `tag::byte_array` is not `tag_byte_array`
        taken = Taken(way for name in self._types for way in self.declared(name))
        self.constants: dict[str, list[tuple[str, int]]] = {}
        for enum in (each for schema in model.schemas for each in schema.enums):
            head = self._enums[enum.name] = taken.claim(self._enums[enum.name])
            self.constants[enum.name] = [
                (taken.claim(f"{head}{exported(each.id)}"), each.value) for each in enum.items
            ]

    def type(self, name: str) -> str:
        """The type of a unit."""
        return self._types[name]

    def enum(self, name: str) -> str:
        """The type of an enum."""
        return self._enums[name]

    def declared(self, name: str) -> list[str]:
        """The declarations of a unit, or else of an enum of this name."""
        found = self._types.get(name) or self._enums[name]
        return [f"{way}{found}" for way in ("", "New", "Read")]
