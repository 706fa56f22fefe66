"""Names of schemas as names of Go, which collide with nothing that a generated file uses."""

from __future__ import annotations

import re

from kodec.generator.reserved import Reserved
from kodec.generator.schema.model import Model
from kodec.generator.target import type_prefixes

__all__ = ["Names", "exported", "local"]

WORDS = """
    any append bool break byte case chan const continue copy default defer else error fallthrough false for
    func go goto if import int int64 interface len make map max min new nil package range return select string
    struct switch true type uint64 var binary bytes math reflect
"""
_OF_TEMPLATES = """
    at b before bits checksumCrc32 checksumCrc32c codec content data each end err field floorDiv floorMod
    found grown have i inner item last most n need newSection notEncodable nth number on opt packing pick
    pointer r section start stored text v value within x
"""
_OF_RUNTIME = """
    Append BadChecksum Error LimitExceeded Malformed NotEncodable Options RawTag Stream Truncated UUID
    Unsupported
"""
# functions of types are called `readX` and `appendX`, places in bytes `startOfX`
_PREFIXES = ("append", "bytesOf", "endOf", "read", "startOf")
_LOCALS = Reserved(WORDS.split(), _OF_TEMPLATES.split(), prefixes=_PREFIXES)
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
    """What units and enums are called in one Go package."""

    def __init__(self, model: Model) -> None:
        self._types: dict[str, str] = {}
        for schema, head in type_prefixes(model, exported):
            for name in [*(each.name for each in schema.structs), *(each.name for each in schema.enums)]:
                self._types[name] = head + "".join(map(exported, name.split("::")[1:]))

    def type(self, name: str) -> str:
        """The type of a unit, or of an enum."""
        return self._types[name]

    def declared(self, name: str) -> list[str]:
        """The declarations of a unit or an enum."""
        return [f"{way}{self._types[name]}" for way in ("", "New", "Read")]
