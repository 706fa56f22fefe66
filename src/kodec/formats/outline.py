"""The lines of a schema that is being written: which key stands where, also while it is not valid YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kodec.generator.schema.dialect import dialect

__all__ = ["Entry", "Outline", "at_path"]

_LINE = re.compile(
    r"(?P<indent> *)(?P<items>(?:- +)*)(?:(?P<key>[\w$/'\"*.:-]+?) *:(?=\s|$)\s*(?P<value>.*))?"
)
_FLOW = re.compile(
    r"""["'](?:[^"'\\]|\\.)*["']?|[{}\[\],]|:(?=[\s,{}\[\]]|$)|\s+\#.*|\s+
    |(?:[^\s,{}\[\]:]|:(?![\s,{}\[\]]|$))+""",
    re.VERBOSE,
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


@dataclass(frozen=True, slots=True)
class _Spot:
    """A place in braces, up to the next one: the keys around it, and whether a value stands there."""

    line: int
    column: int
    path: tuple[str, ...]
    is_value: bool


class Outline:
    """The keys of a text by their indentation, and those in braces."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.entries: list[Entry] = []
        self.indented: list[Entry] = []
        self.paths: list[tuple[str, ...]] = []
        stack: list[tuple[int, tuple[str, ...]]] = []
        block: int | None = None
        self.spots: list[_Spot] = []
        inside: _Braces | None = None
        for number, line in enumerate(self.lines):
            match = _LINE.match(line)
            assert match is not None
            indent = len(match["indent"])
            empty = not line.strip() or line.lstrip().startswith("#")
            if inside is not None and (empty or inside.holds(line, indent)):
                # more lines in braces
                self.paths.append(inside.path)
                inside.read(number, 0)
                inside = inside if inside.open else None
                continue
            if inside is not None:
                inside.spot(number, 0, (_END,), is_value=False)
                inside = None
            if block is not None and (empty or indent > block):
                # a text of several lines
                self.paths.append(("|",))
                continue
            block = None
            if empty:
                self.paths.append(())
                continue
            column = indent + len(match["items"])
            while stack and (stack[-1][0] > indent or (stack[-1][0] == indent and not match["items"])):
                stack.pop()
            # the element of a list may stand as far left as the list
            while match["items"] and stack and stack[-1][0] >= indent and _is_item(stack[-1][1][-1]):
                stack.pop()
            path = stack[-1][1] if stack else ()
            if match["items"]:
                path = (*path, f"-{number}")
                stack.append((indent, path))
            key = (match["key"] or "").strip("'\"")
            value = (match["value"] or "").split(" #")[0].strip()
            self.paths.append((*path, key) if key else path)
            if key:
                self.indented.append(Entry(number, column, (*path, key), value))
                self.entries.append(self.indented[-1])
                stack.append((column, (*path, key)))
            if value[:1] in ("|", ">"):
                block = column
            start = match.start("value") if key else column
            if line[start : start + 1] in ("{", "["):
                inside = _Braces(self, self.paths[-1], indent)
                inside.read(number, start)
                inside = inside if inside.open else None

    def path_at(self, line: int, column: int) -> tuple[str, ...]:
        """The keys around a place: of a line that is still empty, those that its indentation leads to."""
        if (spot := self.spot_at(line, column)) is not None:
            return spot.path
        text = self.lines[line][:column]
        match = _LINE.match(text)
        assert match is not None
        if match["key"]:
            return self.paths[line]
        indent = len(match["indent"])
        inner = indent + len(match["items"])
        path: tuple[str, ...] = ()
        for entry in self.indented:
            if entry.line >= line:
                break
            if entry.column < inner:
                path = entry.path
            elif entry.column == inner and not match["items"]:
                path = entry.path[:-1]
        return (*path, f"-{line}") if match["items"] else path

    def spot_at(self, line: int, column: int) -> _Spot | None:
        """The place in braces; None outside of them."""
        last = None
        for spot in self.spots:
            if (spot.line, spot.column) > (line, column):
                break
            last = spot
        return last if last is not None and last.path != (_END,) else None

    def is_value(self, line: int, column: int) -> bool:
        """Whether the value of a key stands at a place, not a key."""
        spot = self.spot_at(line, column)
        return spot.is_value if spot else re.search(r":\s+\S*$", self.lines[line][:column]) is not None

    def key_at(self, line: int, column: int) -> Entry | None:
        """The key that stands at a place."""
        return next(
            (
                entry
                for entry in self.entries
                if entry.line == line and entry.column <= column <= entry.column + len(entry.path[-1])
            ),
            None,
        )

    def word_at(self, line: int, column: int) -> str:
        """The name at a place, with `::` in it."""
        for match in _WORD.finditer(self.lines[line]):
            if match.start() <= column <= match.end():
                return match[0]
        return ""

    def types(self) -> Iterator[tuple[tuple[str, ...], Entry]]:
        """The types by their names, outermost first; and their entries."""
        for entry in self.entries:
            if _kind(entry.path) == "types":
                yield entry.path[1::2], entry

    def enums(self) -> Iterator[tuple[str, Entry]]:
        for entry in self.entries:
            if _kind(entry.path) == "enums":
                yield entry.path[-1], entry

    def members(self) -> Iterator[tuple[str, tuple[str, ...], Entry]]:
        """Fields, parameters and instances: name, the names of the types that they are in, entry."""
        for entry in self.entries:
            *inside, last = entry.path
            if last == "id" and inside[-2:-1] in (["seq"], ["params"]):
                yield entry.value.strip("'\""), tuple(inside[:-2][1::2]), entry
            elif inside[-1:] == ["instances"]:
                yield last, tuple(inside[:-1][1::2]), entry

    def below(self, entry: Entry, key: str) -> str:
        """The value of a key in an entry; "" if it has none."""
        return next(
            (candidate.value for candidate in self.entries if candidate.path == (*entry.path, key)), ""
        )


_END = "}"


@dataclass(slots=True)
class _Pair:
    """A brace or bracket that is open: the keys around it, and the key or number of what is read in it."""

    path: tuple[str, ...]
    key: str
    is_mapping: bool

    @property
    def inner(self) -> tuple[str, ...]:
        return (*self.path, self.key) if self.key else self.path


class _Braces:
    """YAML in braces and brackets, line by line: its keys become entries of an outline."""

    def __init__(self, outline: Outline, path: tuple[str, ...], indent: int) -> None:
        self.outline = outline
        self.path = path
        self.indent = indent
        self.open: list[_Pair] = []
        self.word: tuple[int, int, str] | None = None

    def holds(self, line: str, indent: int) -> bool:
        """Whether a line goes on with it: one that is still being written ends before the next key."""
        return indent > self.indent or line.strip()[:1] in ("}", "]")

    def read(self, number: int, start: int) -> None:
        for token in _FLOW.finditer(self.outline.lines[number], start):
            sign, column = token[0], token.start()
            item = f"-{number}{column:04}"
            match sign:
                case "{" | "[":
                    is_mapping = sign == "{"
                    self.open.append(_Pair(self.current_path(), "" if is_mapping else item, is_mapping))
                case _ if not self.open:
                    return
                case "}" | "]":
                    self.open.pop()
                    if not self.open:
                        self.spot(number, column + 1, (_END,), is_value=False)
                        return
                case ",":
                    self.open[-1].key = "" if self.open[-1].is_mapping else item
                case ":" if self.word is not None and self.open[-1].is_mapping and not self.open[-1].key:
                    self.add_key(*self.word)
                case _:
                    if sign.strip() and not sign.lstrip().startswith("#"):
                        self.word = number, column, sign.strip("'\"")
                        self.add_value(self.word[2])
                    continue
            self.word = None
            is_value = bool(self.open[-1].key)
            self.spot(number, column + 1, self.current_path(), is_value=is_value)

    def add_key(self, line: int, column: int, word: str) -> None:
        """Begin the entry of a key."""
        self.open[-1].key = word
        self.outline.entries.append(Entry(line, column, self.open[-1].inner, ""))

    def add_value(self, word: str) -> None:
        """Put a word to the value of the key before it."""
        pair = self.open[-1]
        last = self.outline.entries[-1] if self.outline.entries else None
        if pair.is_mapping and pair.key and last is not None and last.path == pair.inner:
            self.outline.entries[-1] = replace(last, value=f"{last.value} {word}".strip())

    def current_path(self) -> tuple[str, ...]:
        return self.open[-1].inner if self.open else self.path

    def spot(self, number: int, column: int, path: tuple[str, ...], *, is_value: bool) -> None:
        self.outline.spots.append(_Spot(number, column, path, is_value))


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
    shapes = list(_plain(whole, whole))
    for key in path:
        shapes = [inner for shape in shapes for inner in _inside(shape, key, whole)]
    return shapes


def _plain(shape: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The alternatives of a shape, each with the description of the whole."""
    if "$ref" in shape:
        yield from _plain(
            whole["definitions"][shape["$ref"].rpartition("/")[2]] | _documentation(shape), whole
        )
        return
    inner = [*shape.get("anyOf", ()), *shape.get("allOf", ())]
    for alternative in inner:
        yield from _plain({**alternative, **_documentation(shape)}, whole)
    if not inner:
        yield shape


def _documentation(shape: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": shape["description"]} if "description" in shape else {}


def _inside(shape: Mapping[str, Any], key: str, whole: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    inner = shape.get("items") if _is_item(key) else shape.get("properties", {}).get(key)
    more = shape.get("additionalProperties")
    if inner is None and not _is_item(key) and isinstance(more, Mapping):
        inner = more
    if isinstance(inner, Mapping):
        yield from _plain(inner, whole)
