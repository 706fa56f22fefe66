"""Names of schemas as names of TypeScript, which collide with nothing that a generated file uses."""

from __future__ import annotations

import re
from importlib.resources import files

from kodec.generator.reserved import Reserved, Taken
from kodec.generator.schema.model import Model
from kodec.generator.target import type_prefixes

__all__ = ["EXPORTED", "RUNTIME", "Names", "local", "member", "pascal"]

RUNTIME = files("kodec.runtime").joinpath("typescript")
EXPORTED: dict[str, bool] = {
    name: kind in ("class", "interface", "type")
    for kind, name in re.findall(
        r"(?m)^export (class|const|function|interface|type) (\w+)",
        RUNTIME.joinpath("src", "runtime.ts").read_text("utf-8"),
    )
}
"""What the runtime exports, and whether generated code has it as a type only."""
_OF_LANGUAGE = """
    arguments as async await boolean break case catch class const continue debugger default delete do else
    enum eval export extends false finally for function get if implements import in instanceof interface let
    new null of package private protected public return set static super switch this throw true try typeof
    undefined var void while with yield
"""
_OF_TEMPLATES = """
    at codec content count data each error fields found inner item known name on r section stored streams tag
    v w
"""
_GLOBALS = "Array BigInt Infinity Map NaN Number Object Partial Uint8Array"
# functions of types are called `readX`, `writeX` and `newX`
_LOCALS = Reserved(_OF_LANGUAGE.split(), _OF_TEMPLATES.split(), EXPORTED, prefixes=("read", "write", "new"))
_TYPES = Reserved(_GLOBALS.split(), EXPORTED)


def member(name: str) -> str:
    """`topic_id` is `topicId`."""
    first, *rest = [part for part in name.split("_") if part] or [name]
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def pascal(name: str) -> str:
    """`topic_id` is `TopicId`."""
    text = member(name)
    return text[:1].upper() + text[1:]


def local(name: str) -> str:
    """A field or a parameter of a unit, as a variable."""
    return _LOCALS.free(member(name))


class Names:
    """What units and enums are called, and in which module they are."""

    def __init__(self, model: Model) -> None:
        self._types: dict[str, str] = {}
        self._enums: dict[str, str] = {}
        self.modules: dict[str, str] = {}
        for schema, head in type_prefixes(model, pascal):
            # an enum may have the name of a type
            taken = Taken()
            for name in (each.name for each in schema.structs):
                self._types[name] = _TYPES.free(head + "".join(map(pascal, name.split("::")[1:])))
                taken.names.add(self._types[name])
            for name in (each.name for each in schema.enums):
                text = _TYPES.free(head + "".join(map(pascal, name.split("::")[1:])))
                self._enums[name] = taken.claim(text)
            for text in taken.names:
                for word in (text, f"new{text}", f"read{text}", f"write{text}"):
                    self.modules[word] = schema.module

    def type(self, name: str) -> str:
        """The type of a unit."""
        return self._types[name]

    def declared(self, name: str) -> list[str]:
        """The declaration of a unit, or else of an enum of this name."""
        return [self._types.get(name) or self._enums[name]]

    def enum(self, name: str) -> str:
        """The type of an enum."""
        return self._enums[name]
