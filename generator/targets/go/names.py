"""Names of schemas as names of Go, which collide with nothing that a generated file uses."""

from __future__ import annotations

import re
from collections import Counter

from kodec.generator.plan.steps import Unit
from kodec.generator.schema.model import Model

__all__ = ["Names", "exported", "local"]

_KEYWORDS = frozenset(
    "break case chan const continue default defer else fallthrough for func go goto if import interface map "
    "package range return select struct switch type var".split()
)
# what templates, and the language itself, call things
_LOCALS = frozenset(
    "after any append at b before binary bits bool byte bytes codec compress computed content copy count data end "
    "err error false field fixed floorDiv floorMod found have i inner int int64 item known len make math max min "
    "need new nil notEncodable on pick pointer r reader reflect refused size start stored strconv string sum tag "
    "tags text true unused v value within withinItem x".split()
)
# what the runtime, and the methods of types, are called
_EXPORTED = frozenset(
    "Append BadChecksum Error LimitExceeded Malformed NotEncodable Options RawTag Truncated UUID Unsupported".split()
)
_INITIALS = {"id": "ID", "uuid": "UUID", "crc": "CRC", "api": "API", "url": "URL", "ip": "IP"}


def exported(name: str) -> str:
    """`topic_id` is `TopicID`."""
    text = "".join(_INITIALS.get(part, part[:1].upper() + part[1:]) for part in name.split("_") if part)
    return f"{text}_" if text in _EXPORTED else text


def local(name: str) -> str:
    """`len_body` is `lenBody`."""
    made = exported(name)
    head = re.match(r"[A-Z]+(?![a-z])|[A-Z]", made)
    assert head is not None or made
    text = made if head is None else head[0].lower() + made[head.end() :]
    return f"{text}_" if text in _KEYWORDS or text in _LOCALS or text[0].isdigit() else text


class Names:
    """What units and enums are called in one Go package."""

    def __init__(self, model: Model) -> None:
        self._types: dict[str, str] = {}
        shorts = Counter(exported(schema.id) for schema in model.schemas)
        for schema in model.schemas:
            head = exported(schema.id)
            if shorts[head] > 1:
                head = exported(schema.path.removesuffix(".ksy").replace("/", "_").replace("-", "_"))
            for name in [*(each.name for each in schema.structs), *(each.name for each in schema.enums)]:
                path = name.split("::")[1:]
                self._types[name] = head + "".join(exported(part) for part in path)

    def type(self, name: str) -> str:
        """The type of a unit, or of an enum."""
        return self._types[name]

    def function(self, unit: Unit | str) -> str:
        """What follows `read` and `append`."""
        return self._types[unit if isinstance(unit, str) else unit.name]
