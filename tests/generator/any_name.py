"""Schemas whose every name is exchanged for a word that generated code has for itself.

`named/` holds schemas with a construct of every kind, in which what can be named is called `z` and three
digits. What else is a word in the code made of them is the generator's or the language's: it is read from
that code, so that no list of it gets stale. Words are put in place of the names in rounds, each of them once
in each type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tests.data import TESTS

NAMED = TESTS / "generator/named"
NAME = re.compile(r"z\d{3}")
FIXED = ("varint", "unsigned_varint", "tagged_fields", "uuid", "part/part")
"""Schemas that are imported, and keep their names."""
KEPT = tuple(name.rpartition("/")[2] for name in FIXED)
EXPRESSIONS = ("and", "false", "none", "not", "null", "or", "true")
"""Words that mean something else in an expression or in YAML, or as the name of a codec."""
METHODS = ("as", "length", "size", "to_i", "value")
"""Words that are no field after a dot."""
KAITAI = re.compile(r"[usbf]\d+(_?[bl]e)?|strz?")
"""Words that are no type of a schema's own."""
STEP = 8
"""The fewest names in one type: this many words are new to it in each round."""
_STRINGS = re.compile(r'"""(?s:.*?)"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')


def sources(names: Iterable[str]) -> dict[str, str]:
    return {name: (NAMED / f"{name}.ksy").read_text(encoding="utf-8") for name in names}


def vocabulary(texts: Iterable[str], comments: str, fold: bool) -> list[str]:
    """The words of generated code that a schema could have as a name; a `z001` in one is a name next to it.

    Of words that differ in numbers, or in the name inside them, there are two.
    """
    found: dict[str, set[str]] = {}
    for text in texts:
        for word in re.findall(r"[A-Za-z_]\w*", re.sub(comments, " ", _STRINGS.sub(" ", text))):
            snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", word) if fold else word
            snake = re.sub("__+", "_", snake).lower().strip("_")
            if re.fullmatch(r"[a-z][a-z0-9_]*", snake) and NAME.fullmatch(snake) is None:
                found.setdefault(re.sub(r"\d+", "1", snake), set()).add(snake)
    return sorted(word for alike in found.values() for word in sorted(alike)[:2])


def rounds(
    schemas: dict[str, str],
    words: list[str],
    refused: Callable[[str], bool] = lambda name: False,
    step: int = STEP,
) -> Iterator[dict[str, str]]:
    """In each round, what every name is exchanged for. No type gets a name that is `refused` as one."""
    words = [word for word in words if word not in EXPRESSIONS]
    order = (r"id: (z\d{3})", r"(z\d{3}):", r"(z\d{3})")
    found_in = [name for text in schemas.values() for place in order for name in re.findall(place, text)]
    places = [name for name in dict.fromkeys(found_in) if name not in schemas]
    behind_a_dot = {name for text in schemas.values() for name in re.findall(r"\.(z\d{3})", text)}
    types = {name for text in schemas.values() for name in re.findall(r"^  (z\d{3}):", text, re.M)}
    assert len(words) > len(places)
    for start in range(0, len(words), step):
        plain = {name: words[(start + index) % len(words)] for index, name in enumerate(places)}
        plain = {name: f"n_{name}" if NAME.search(word) else word for name, word in plain.items()}
        found: dict[str, str] = {}
        for index, name in enumerate(places):
            word = renamed(words[(start + index) % len(words)], plain)
            taken = word in found.values() or (name in behind_a_dot and word in METHODS)
            taken = taken or (name in types and (word in KEPT or KAITAI.fullmatch(word) or refused(word)))
            found[name] = f"n_{name}" if taken else word
        yield found


def renamed(text: str, names: dict[str, str]) -> str:
    return NAME.sub(lambda part: names.get(part[0], part[0]), text)


def put(folder: Path, schemas: dict[str, str]) -> Path:
    for name, text in schemas.items():
        path = folder / f"{name}.ksy"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def unnamed(value: object) -> object:
    """A value as JSON without the names of its members."""
    if isinstance(value, dict):
        return [unnamed(each) for each in value.values()]
    return [unnamed(each) for each in value] if isinstance(value, list) else value


GZIP = (
    "01000000000000005e000000af8fcb02010100010000000000000035013233343536370000000000000001010000000100000000011f8b0800"
    "0000000000036364606060626480804e26236313c6440646869fffffff6784000623632883893111002df051092f000000"
)
"""A z000 with content that is compressed."""
_OLD = (
    "00070000000000000000000000000000000901020304053fc0000001020400000001fffffffe0000000301010203045e68656c6c6f61620102"
    "0304050607080304010203040501fffe010203040506010203040503fffe0102030405060063"
)
_NEW = (
    "0007010000000000000000000000000000000901020304053fc0000001020400000001fffffffe0000000301010203045e68656c6c6f616201"
    "020304050607080304010203040501fffe010203040506010203040503fffe01020304050600630300040000004d0110000000000000000000"
    "0000000000000509027a7a"
)
VERSIONS = {0: _OLD, 1: _NEW, 2: _NEW}
"""A z200 of each of its versions."""
