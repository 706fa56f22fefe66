"""Checks that every text of a model other than Text is a name or a listed word, and so is safe in code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kodec.generator.parts import fields_of
from kodec.generator.problems import Place, Problems
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import ARROW_TYPE, Bits, Column, Model, Prim, Process, Schema, Str
from kodec.generator.text import Text

__all__ = ["check_identifiers"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*\Z")
_OTHERS: dict[tuple[type, str], re.Pattern[str]] = {
    (Schema, "path"): re.compile(r"([A-Za-z_][A-Za-z0-9_]*/)*[A-Za-z_][A-Za-z0-9_]*\.ksy\Z"),
    (Schema, "sha256"): re.compile(r"[0-9a-f]{64}\Z"),
    (Prim, "endian"): re.compile(r"([bl]e|by)\Z"),
    (Bits, "endian"): re.compile(r"[bl]e\Z"),
    (Str, "encoding"): re.compile(r"[A-Z0-9]+([-_][A-Z0-9]+)*\Z"),
    (Column, "type"): ARROW_TYPE,
    (ex.Cast, "type"): re.compile(rf"{_NAME.pattern[:-2]}(\[\])?\Z"),
    (Process, "name"): re.compile(rf"{_NAME.pattern[:-2]}(\.{_NAME.pattern[:-2]})*\Z"),
    (ex.SizeOf, "type"): re.compile(rf"{_NAME.pattern[:-2]}\Z"),
    (ex.Unary, "op"): re.compile(r"(not|[-~])\Z"),
    (ex.Binary, "op"): re.compile(r"(or|and|[-+*/%&|^<>]|[=!<>]=|<<|>>)\Z"),
}
_PATH = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_. -]*[A-Za-z0-9_])?\Z")
# data, which every target writes as a literal
_DATA = {(ex.Literal, "value")}


def check_identifiers(model: Model, problems: Problems) -> None:
    """Report every text of the model that should be a name and is not, whatever its key."""
    for schema in model.schemas:
        for part in schema.path.removesuffix(".ksy").split("/"):
            # it is a part of the first line of generated files
            if not _PATH.match(part):
                text = f"`{part}` in the file's path is not a name"
                problems.add(schema.root.place, schema.id, text, "letters, digits, `_`, `-`, `.` and spaces")
        for place, owner, key, text in _texts(schema, schema.root.place):
            if (type(owner), key) in _DATA or (type(owner), key) == (Schema, "path"):
                continue
            if not _OTHERS.get((type(owner), key), _NAME).match(text):
                problems.add(place, schema.id, f"`{text}` is not a name", "letters, digits and `_`")


def _texts(value: object, place: Place) -> Iterator[tuple[Place, object, str, str]]:
    """Each plain text below a part of the model: nearest place, owner, attribute, text."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from _texts(item, place)
    elif not isinstance(value, (Text, Place)):
        place = getattr(value, "place", place)
        for name in fields_of(type(value)) or ():
            item = getattr(value, name)
            if isinstance(item, Mapping):
                continue  # places of keys, for messages
            for text in item if isinstance(item, tuple) else (item,):
                for each in text if isinstance(text, tuple) else (text,):
                    if isinstance(each, str):
                        yield place, value, name, each
                    else:
                        yield from _texts(each, place)
