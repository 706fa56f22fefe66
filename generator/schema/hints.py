"""What would be right, for the mistakes that people make in schemas most often."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from kodec.generator.problems import nearest
from kodec.generator.schema.model import Model, Struct
from kodec.generator.wire import ENCODINGS

__all__ = [
    "like_encoding",
    "like_ident",
    "like_name",
    "misspelled",
    "of_word",
    "of_yaml",
]

_BYTE_ORDERS = {"big": "be", "little": "le", "msb": "be", "lsb": "le", "network": "be"}
_NULLS = ("null", "none", "nil", "undefined")
_NEAR, _NEARER = 0.75, 0.8


def of_word(key: str, text: str, words: Iterable[str]) -> str:
    """What may be meant by a word that a key cannot hold."""
    if key == "repeat" and text not in ("", "none", "null"):
        return f"for a number of elements write `repeat: expr` and `repeat-expr: {text}`"
    if key.endswith("endian") and (order := _BYTE_ORDERS.get(text.lower().partition("-")[0].rstrip("_"))):
        return f"did you mean `{order}`?"
    return nearest(text, words)


def like_encoding(name: str) -> str:
    """What may be meant by an encoding that there is not, or by none."""
    if not name:
        return "give it an `encoding`, or all of them one in meta/encoding: UTF-8"
    wide = re.match(r"(utf|ucs)[-_]?(16|32|2|4)\b", name.lower())
    if wide:
        bits = {"2": "16", "4": "32"}.get(wide[2], wide[2])
        return f"UTF-{bits}LE or UTF-{bits}BE: the byte order belongs to the name"
    return nearest(name.upper(), ENCODINGS)


def like_ident(name: str) -> str:
    """The name in lower_snake_case."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", name).strip("_").lower()
    plain = re.match(r"[a-z][a-z0-9_]*\Z", snake)
    return f"lower_snake_case: {snake}" if plain and snake != name else "lower_snake_case"


def like_name(name: str, known: Iterable[str], struct: Struct, model: Model, key: str) -> str:
    """What may be meant by a name that an expression under a `key` of a type does not know."""
    if name.lower() in ("true", "false"):
        return f"did you mean `{name.lower()}`?"
    if name.lower() in _NULLS:
        return "there is no null; a field is absent where its `if` does not hold"
    if name == "eos" and key == "size":
        return "for all bytes to the end write `size-eos: true`"
    schema = struct.name.partition("::")[0]
    shown = {each.name.removeprefix(f"{schema}::"): each for each in model.enums_seen_from(schema)}
    if name in shown:
        return f"a value of an enum is written with `::`, `{name}::{shown[name].items[0].id}`"
    if cases := [full for full, each in shown.items() if any(item.id == name for item in each.items)]:
        return f"did you mean {' or '.join(f'`{each}::{name}`' for each in cases[:3])}?"
    names = [*known]
    near = nearest(name, names)
    if near.startswith("did you mean") or key in ("size", "repeat-expr", "pos"):
        return near
    return f"{near}; text needs quotes inside the expression: '\"{name}\"'".removeprefix("; ")


def misspelled(word: str, known: Iterable[str]) -> str:
    """A hint for a word that is surely one of the known ones, with a mistake in it; else nothing."""
    # other tools have keys such as `-orig` and `-orig-type`
    near = _NEARER if word.startswith("-") else _NEAR
    close = difflib.get_close_matches(word.lower().replace("_", "-"), sorted(known), n=1, cutoff=near)
    return f"did you mean `{close[0]}`?" if close else ""


def of_yaml(problem: str, line: str) -> str:
    """What is wrong with a line that is not YAML."""
    if "'\\t'" in problem:
        return "indent with spaces: YAML allows no tabs there"
    if "mapping values are not allowed" in problem:
        return "text with `: ` in it needs quotes around all of it: 'a ? b : c'"
    if re.match(r"[ \-]*[\w-]+:\s*(\"[^\"]*\"|'[^']*')\s*\S", line):
        return "an expression that begins with a quote needs quotes around all of it: '\"a\" == b'"
    return ""
