"""Reads values of nodes: words, names, lists, expressions; and resolves names."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable

from kodec.generator.problems import Place, Problems, cut, nearest
from kodec.generator.schema import expr as ex
from kodec.generator.schema.files import IDENT, Unit
from kodec.generator.schema.hints import like_ident, misspelled, of_word
from kodec.generator.schema.keys import IGNORED, KEYS, OLDER, OWN, Keys
from kodec.generator.schema.load import Node, Scalar, word_of
from kodec.generator.schema.versions import VersionRange
from kodec.generator.text import NO_TEXT, Text, not_text

__all__ = ["Values"]

_PLAIN_TYPE = re.compile(
    r"([us][1248](le|be)?|f[48](le|be)?|b[1-9][0-9]?(le|be)?|bool|str|bytes|struct|io|any)(\[\])?\Z"
)
MOST_ITEMS = 4096
"""The most fields or instances of a type, or cases of a switch: generated code names each of them."""
_NAME = re.compile(r"[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?\Z")


class Values:
    """Reads values of nodes; an invalid one is reported as a problem and replaced by a harmless value."""

    def __init__(self, units: dict[str, Unit], problems: Problems) -> None:
        self.units = units
        self.problems = problems
        self.unit = next(iter(units.values()), None)
        self.scope = ""

    def bad(self, node: Node | Place, path: str, text: str, hint: str = "") -> None:
        self.problems.add(node.place if isinstance(node, Node) else node, path, text, hint)

    def known(self, node: Node, kind: str, path: str) -> None:
        """Report the keys that a mapping of this kind cannot have."""
        known = KEYS[kind]
        if not isinstance(node.value, dict):
            self.bad(node, path, "a mapping is expected here")
            return
        for key, place in node.keys.items():
            name = str(key)
            if name in known or IGNORED.match(name):
                continue
            if kind == "meta" or name.startswith("-"):
                if hint := self._meant(name, known, kind):
                    what = "extension key" if name.startswith("-") else "key"
                    self.bad(place, path, f"unknown {what} `{name}`", hint)
                else:
                    self.problems.note(place, path, f"`{name}` is a key of another tool, and ignored")
            else:
                self.bad(place, path, f"unknown key `{name}`", nearest(name, known.plain))

    @staticmethod
    def _meant(name: str, known: Keys, kind: str) -> str:
        """A hint for a key that is surely one of ours: misspelled, or in a place where it means nothing."""
        if name in OWN | OLDER.keys():
            if name == "-versions" and "if" in known:
                return "`if` for its own versions, `-nullable: 2+` for those in which it may be null"
            places = [each for each, keys in KEYS.items() if name in keys]
            return f"`{name}` is a key of a {' or a '.join(places)}; {nearest(name, known.own)}".removesuffix(
                "; "
            )
        return misspelled(
            name, [*known.plain, *known.own, *known.older, *(OWN if name.startswith("-") else ())]
        )

    def text(self, node: Node, key: str) -> str | None:
        child = node.get(key)
        if child is None:
            return None
        if isinstance(child.value, (list, dict)):
            self.bad(child, key, f"`{key}` must be text")
            return None
        return None if child.value is None else word_of(child.value)

    def words(self, node: Node, key: str) -> Text:
        """Documentation for people; empty if there is none."""
        child = node.get(key)
        if child is None:
            return NO_TEXT
        if child.items and not any(isinstance(item.value, (list, dict)) for item in child.items):
            return self.as_words(child, ", ".join(word_of(item.value) for item in child.items), key)
        return self.as_words(child, self.text(node, key) or "", key)

    def as_words(self, node: Node, raw: str, key: str) -> Text:
        sign = not_text(raw)
        if sign is not None:
            self.bad(node, key, f"`{key}` holds {sign}, which displays as another text", "leave it out")
            return NO_TEXT
        return Text(raw)

    def name(self, node: Node, path: str, what: str) -> str:
        """A scalar that must be a name, in any case."""
        text = "" if node.value is None or isinstance(node.value, (list, dict)) else str(node.value)
        if not _NAME.match(text):
            self.bad(node, path, f"{what} `{text}` is not a name", "letters, digits and `_`")
            return f"unnamed_{node.place.line}"
        return text

    def word(self, node: Node, key: str, path: str, words: Iterable[str]) -> str | None:
        text = self.text(node, key)
        if text is not None and text not in words:
            self.bad(node.map[key], path, f"`{key}: {text}` is not supported", of_word(key, text, words))
            return None
        return text

    def items_of(self, node: Node, key: str, path: str) -> list[Node]:
        child = node.get(key)
        if child is not None and not isinstance(child.value, list):
            self.bad(child, path, f"`{key}` must be a list", f"each item of `{key}` begins with `- `")
        items = child.items if child is not None else []
        if child is not None and len(items) > MOST_ITEMS:
            self.bad(child, path, f"more than {MOST_ITEMS} in `{key}`", "make types of some of them")
        return items[:MOST_ITEMS]

    def mapping_of(self, node: Node, key: str, path: str) -> dict[Scalar, Node]:
        child = node.get(key)
        if child is not None and not isinstance(child.value, dict):
            self.bad(child, path, f"`{key}` must be a mapping")
        found = child.map if child is not None else {}
        if child is not None and len(found) > MOST_ITEMS:
            self.bad(child, path, f"more than {MOST_ITEMS} in `{key}`")
            found = dict(itertools.islice(found.items(), MOST_ITEMS))
        return found

    def refs(self, node: Node) -> tuple[Text, ...]:
        child = node.get("doc-ref")
        if child is None:
            return ()
        items = child.items or [child]
        if any(isinstance(item.value, (list, dict)) for item in items):
            self.bad(child, "doc-ref", "`doc-ref` must be text, or a list of texts")
            return ()
        return tuple(self.as_words(item, str(item.value).strip(), "doc-ref") for item in items)

    def flag(self, node: Node, key: str, path: str, *, usual: bool = False) -> bool:
        child = node.get(key)
        if child is not None and not isinstance(child.value, bool):
            self.bad(child, path, f"`{key}` must be true or false")
        return usual if child is None else child.value is True

    def number(self, node: Node, key: str, path: str) -> int | None:
        child = node.get(key)
        if child is None:
            return None
        if not isinstance(child.value, int) or isinstance(child.value, bool):
            self.bad(child, path, f"`{key}` must be a whole number")
            return None
        return child.value

    def ident(self, node: Node, path: str) -> str:
        ident = self.text(node, "id")
        if ident is None or not IDENT.match(ident):
            self.bad(
                node,
                path,
                "a field needs an id" if ident is None else f"`{ident}` is not a name",
                "lower_snake_case" if ident is None else like_ident(ident),
            )
            return f"unnamed_{node.place.line}"
        return ident

    def version_range(self, node: Node, key: str, path: str) -> VersionRange | None:
        text = self.text(node, key)
        if text is None:
            return None
        try:
            return VersionRange.parse(text)
        except ValueError as error:
            self.bad(node.map[key], path, f"{key}: {error}", "write it as 3, 0-4, 2+ or none")
            return None

    def expr(self, node: Node | None, path: str) -> ex.Expr | None:
        if node is None:
            return None
        if isinstance(node.value, (bool, int, float)):
            return ex.Literal(node.value)
        if not isinstance(node.value, str):
            self.bad(node, path, "an expression is expected here")
            return None
        try:
            parsed = ex.parse(node.value)
        except ex.ExprError as error:
            self.bad(node, path, f"`{cut(node.value.strip())}`: {error}", error.hint)
            return None
        words = (part.value for part in ex.walk(parsed) if isinstance(part, ex.Literal))
        if any("\ud800" <= sign <= "\udfff" for text in words if isinstance(text, str) for sign in text):
            self.bad(node, path, "an expression holds half a surrogate pair", "write the character itself")
            return None
        # an expression about the container is resolved later, with its container
        return self.resolved(parsed, node, path, late="_batch" in ex.names(parsed))

    def resolved(self, expr: ex.Expr, node: Node, path: str, *, late: bool = False) -> ex.Expr:
        """The expression with the full names of its enums and types."""

        def swap(part: ex.Expr) -> ex.Expr | None:
            match part:
                case ex.EnumValue():
                    return self._enum_value(part, node, path, late)
                case ex.Cast(of, kind) if not _PLAIN_TYPE.match(kind):
                    full = self._type_name(kind, node, path)
                    return None if full is None else ex.Cast(self.resolved(of, node, path, late=late), full)
                case ex.SizeOf(kind, bits) if not _PLAIN_TYPE.match(kind):
                    full = self._type_name(kind, node, path)
                    return None if full is None else ex.SizeOf(full, bits)
            return None

        return ex.replace(expr, swap)

    def _type_name(self, name: str, at: Node, path: str) -> str | None:
        plain = name.removesuffix("[]")
        full = self.resolve(plain, self.scope, lambda unit: unit.types)
        if full is None:
            self.bad(at, path, *self.unknown("type", plain, self.seen_types(self.scope)))
            return None
        return full + name[len(plain) :]

    def _enum_value(self, value: ex.EnumValue, at: Node, path: str, late: bool) -> ex.EnumValue | None:
        full = self.resolve(value.enum, self.scope, lambda unit: unit.enums)
        if full is None:
            if not late:
                assert self.unit is not None
                known = [name.rpartition("::")[2] for name in self.unit.enums]
                self.bad(at, path, *self.unknown("enum", value.enum, known))
            return None
        items = self.units[full.partition("::")[0]].enums[full].map.values()
        names = [word_of(item.map["id"].value if "id" in item.map else item.value) for item in items]
        if value.value not in names:
            self.bad(at, path, f"enum `{value.enum}` has no `{value.value}`", nearest(value.value, names))
        return ex.EnumValue(full, value.value)

    def resolve(self, name: str, scope: str, table: Callable[[Unit], dict[str, Node]]) -> str | None:
        """The full name of `name` in type `scope`: own types first, then outwards, then imports."""
        assert self.unit is not None
        around = scope
        while around:
            if (full := f"{around}::{name}") in table(self.unit):
                return full
            around = around.rpartition("::")[0]
        first = name.partition("::")[0]
        unit = self.units.get(first)
        if unit is None or name not in table(unit):
            return None
        if first == self.unit.id or first in self.unit.imports:
            return name
        if first in self._reached():
            self.unit.imports += (first,)
            return name
        return None

    def _reached(self) -> set[str]:
        """The schemas that stock Kaitai reads together with this one, whose types it knows, too: what this
        one imports, what imports it, and what these import.
        """
        assert self.unit is not None
        whole = {ident: self._closure(ident) for ident in self.units}
        return set().union(*(found for found in whole.values() if self.unit.id in found))

    def _closure(self, ident: str) -> set[str]:
        found, todo = set[str](), [ident]
        while todo:
            each = todo.pop()
            if each not in found and each in self.units:
                found.add(each)
                todo += self.units[each].imports
        return found

    def unknown(self, what: str, name: str, known: Iterable[str], hint: str = "") -> tuple[str, str]:
        """Text and hint about a missing type or enum, or one whose file could not be read."""
        assert self.unit is not None
        first = name.partition("::")[0]
        if first in self.unit.imports and first not in self.units:
            return f"{what} `{name}` is in a file with problems, which are named", ""
        return f"unknown {what} `{name}`", hint or nearest(name, known)

    def seen_types(self, scope: str) -> list[str]:
        assert self.unit is not None
        return [name.rpartition("::")[2] for name in self.unit.types] + list(self.unit.imports)
