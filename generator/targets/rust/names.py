"""Names of schemas as names of Rust, which collide with nothing that a generated file uses."""

from __future__ import annotations

from kodec.generator.plan.steps import Unit
from kodec.generator.reserved import Reserved, Taken
from kodec.generator.schema.model import Model, Schema
from kodec.generator.target import type_prefixes

__all__ = ["Names", "camel", "local", "member", "method"]

_WORDS = """
    abstract as async await become box break const continue crate do dyn else enum extern false final fn
    for gen if impl in let loop macro match mod move mut override priv pub ref return self static struct
    super trait true try type typeof unsafe unsized use virtual where while yield
""".split()  # noqa: SIM905  # fifty words on fifty lines are no list to read
_MEMBERS = Reserved(_WORDS)
_METHODS = Reserved(_WORDS, ["read"])
# what functions call things next to the fields; `run` and `x` are places in templates
_LOCALS = Reserved(
    _WORDS,
    """
    arena at bits codec content data each error found have held i inner item known last most need on
    options out outer place r run size start stored sum tag tags tags_end value x
    """.split(),  # noqa: SIM905  # the same
    prefixes=("at_", "bits_at_", "bytes_of_", "end_of_", "start_of_"),
)
_TYPES = Reserved(
    """
    Arena Box Clone Code Debug Default Eq Err Error Fact Hash List Node None Objects Ok Option Options Ord
    PartialEq PartialOrd RawTag Result Self Some Stream String Text Uuid Vec
    """.split()  # noqa: SIM905  # the same
)
_MODULES = Reserved(_WORDS, "codecs lib main objects runtime rt st streams".split())  # noqa: SIM905  # the same


def camel(name: str) -> str:
    """`topic_id` is `TopicId`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def member(name: str) -> str:
    """The field of a struct."""
    return _MEMBERS.free(name)


def method(name: str) -> str:
    """The method that returns a field, or an instance, of a streamed type."""
    return _METHODS.free(name)


def local(name: str) -> str:
    """The variable of a field in a function."""
    return _LOCALS.free(name)


class Names:
    """What units, enums and modules are called in one crate."""

    def __init__(self, model: Model) -> None:
        self._types: dict[str, str] = {}
        self._enums: dict[str, str] = {}
        self._modules: dict[str, str] = {}
        self.choices = Taken()
        modules = Taken()
        for schema, head in type_prefixes(model):
            path = schema.module.replace("/", "_")
            module = modules.claim(_MODULES.free(path))
            for called, parts in ((self._types, schema.structs), (self._enums, schema.enums)):
                for name in (each.name for each in parts):
                    called[name] = _TYPES.free(camel("_".join((head, *name.split("::")[1:]))))
                    self._modules[name] = module
            self._modules[schema.path] = module
        # an enum may have the name of a type
        self.choices.names.update(self._types.values())
        for name, text in self._enums.items():
            self._enums[name] = self.choices.claim(text)

    def type(self, name: str) -> str:
        """The type of a unit."""
        return self._types[name]

    def enum(self, name: str) -> str:
        """The type of an enum."""
        return self._enums[name]

    def declared(self, name: str) -> list[str]:
        """The declaration of a unit, or else of an enum of this name."""
        return [self._types.get(name) or self._enums[name]]

    def module(self, schema: Schema) -> str:
        """The module of a schema."""
        return self._modules[schema.path]

    def function(self, unit: Unit | str, verb: str, *, path: bool = True) -> str:
        """The function that reads or writes a value without its own type, with its path."""
        name = unit if isinstance(unit, str) else unit.name
        text = f"{verb}_{'_'.join(name.split('::'))}"
        return f"crate::{self._modules[name]}::{text}" if path else text
