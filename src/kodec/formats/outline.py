"""The lines of a schema that is being written: which key stands where, also while it is not valid YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kodec.generator.schema.dialect import dialect

__all__ = ["Entry", "Outline", "at_path"]

_LINE = re.compile(
    r"(?P<indent> *)(?P<items>(?:- +)*)(?:(?P<key>[\w$/'\"*.:-]+?) *:(?=\s|$)\s*(?P<value>.*))?"
)
_WORD = re.compile(r"[A-Za-z0-9_]+(?:::[A-Za-z0-9_]+)*")


@dataclass(frozen=True, slots=True)
class Entry:
    """A key: its line and column from 0, the keys that it is in, its value.

    An element of a list is a `-` and its line: `("seq", "-7", "id")`.
    """

    line: int
    column: int
    path: tuple[str, ...]
    value: str


class Outline:
    """The keys of a text by their indentation. YAML in braces has no entries of its own."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.entries: list[Entry] = []
        self.paths: list[tuple[str, ...]] = []
        stack: list[tuple[int, tuple[str, ...]]] = []
        block: int | None = None
        for number, line in enumerate(self.lines):
            found = _LINE.match(line)
            assert found is not None
            indent = len(found["indent"])
            empty = not line.strip() or line.lstrip().startswith("#")
            if block is not None and (empty or indent > block):
                # a text of several lines
                self.paths.append(("|",))
                continue
            block = None
            if empty:
                self.paths.append(())
                continue
            column = indent + len(found["items"])
            while stack and (stack[-1][0] > indent or (stack[-1][0] == indent and not found["items"])):
                stack.pop()
            # the element of a list may stand as far left as the list
            while found["items"] and stack and stack[-1][0] >= indent and _is_item(stack[-1][1][-1]):
                stack.pop()
            path = stack[-1][1] if stack else ()
            if found["items"]:
                path = (*path, f"-{number}")
                stack.append((indent, path))
            key = (found["key"] or "").strip("'\"")
            value = (found["value"] or "").split(" #")[0].strip()
            self.paths.append((*path, key) if key else path)
            if key:
                self.entries.append(Entry(number, column, (*path, key), value))
                stack.append((column, (*path, key)))
            if value[:1] in ("|", ">"):
                block = column

    def path_at(self, line: int, column: int) -> tuple[str, ...]:
        """The keys around a place: of a line that is still empty, those that its indentation leads to."""
        text = self.lines[line][:column]
        found = _LINE.match(text)
        assert found is not None
        if found["key"]:
            return self.paths[line]
        indent = len(found["indent"])
        inner = indent + len(found["items"])
        path: tuple[str, ...] = ()
        for each in self.entries:
            if each.line >= line:
                break
            if each.column < inner:
                path = each.path
            elif each.column == inner and not found["items"]:
                path = each.path[:-1]
        return (*path, f"-{line}") if found["items"] else path

    def word_at(self, line: int, column: int) -> str:
        """The name at a place, with `::` in it."""
        for each in _WORD.finditer(self.lines[line]):
            if each.start() <= column <= each.end():
                return each[0]
        return ""

    def types(self) -> Iterator[tuple[tuple[str, ...], Entry]]:
        """The types by their names, outermost first; and their entries."""
        for each in self.entries:
            if _kind(each.path) == "types":
                yield each.path[1::2], each

    def enums(self) -> Iterator[tuple[str, Entry]]:
        for each in self.entries:
            if _kind(each.path) == "enums":
                yield each.path[-1], each

    def members(self) -> Iterator[tuple[str, tuple[str, ...], Entry]]:
        """Fields, parameters and instances: name, the names of the types that they are in, entry."""
        for each in self.entries:
            *inside, last = each.path
            if last == "id" and inside[-2:-1] in (["seq"], ["params"]):
                yield each.value.strip("'\""), tuple(inside[:-2][1::2]), each
            elif inside[-1:] == ["instances"]:
                yield last, tuple(inside[:-1][1::2]), each

    def below(self, entry: Entry, key: str) -> str:
        """The value of a key in an entry; "" if it has none."""
        return next((each.value for each in self.entries if each.path == (*entry.path, key)), "")


def _is_item(key: str) -> bool:
    return key[:1] == "-" and key[1:].isdigit()


def _kind(path: tuple[str, ...]) -> str:
    """`types` or `enums`, if a path is that of a type or an enum."""
    inside, last = path[:-2], path[-2:-1]
    is_type = all(word == "types" for word in inside[::2]) and len(inside) % 2 == 0
    return last[0] if last and last[0] in ("types", "enums") and is_type else ""


def at_path(path: tuple[str, ...]) -> list[Mapping[str, Any]]:
    """What may be at a path, as the JSON schema of the language describes it."""
    whole = dialect()
    found = list(_plain(whole, whole))
    for key in path:
        found = [inner for each in found for inner in _inside(each, key, whole)]
    return found


def _plain(shape: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The alternatives of a shape, each with the description of the whole."""
    if "$ref" in shape:
        yield from _plain(whole["definitions"][shape["$ref"].rpartition("/")[2]] | _said(shape), whole)
        return
    inner = [*shape.get("anyOf", ()), *shape.get("allOf", ())]
    for each in inner:
        yield from _plain({**each, **_said(shape)}, whole)
    if not inner:
        yield shape


def _said(shape: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": shape["description"]} if "description" in shape else {}


def _inside(shape: Mapping[str, Any], key: str, whole: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    inner = shape.get("items") if _is_item(key) else shape.get("properties", {}).get(key)
    more = shape.get("additionalProperties")
    if inner is None and not _is_item(key) and isinstance(more, Mapping):
        inner = more
    if isinstance(inner, Mapping):
        yield from _plain(inner, whole)
