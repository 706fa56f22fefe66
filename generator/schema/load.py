"""Parses YAML into a tree of plain values that remembers the place of each node.

Scalars follow the YAML 1.2 core schema, as ksc reads them: `yes` and `on` are strings.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from kodec.generator.problems import Place, Problems, cut
from kodec.generator.schema.hints import of_yaml

__all__ = ["Node", "Scalar", "as_yaml", "composed", "copied", "load_text", "word_of"]

Scalar = str | int | float | bool | None

_INT = re.compile(r"[-+]?[0-9]+(_[0-9]+)*\Z")
_HEX = re.compile(r"0x[0-9a-fA-F]+(_[0-9a-fA-F]+)*\Z")
_OCT = re.compile(r"0o[0-7]+\Z")
_BIN = re.compile(r"0b[01]+(_[01]+)*\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, Scalar] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
# what libyaml accepts, or places, in another way than the pure parser
_DIFFERS = re.compile(r"[\t\ufeff]|^[ -]*\?\s|[|>][-+0-9]*#", re.MULTILINE)
# and a question mark in brackets, which one pattern would look for from every bracket to the end of its line
_CLOSED, _OPENED = re.compile(r"[\]}\n]"), re.compile(r"[\[{]")
MOST_BYTES = 1 << 20
"""The largest file: parsing YAML of this size takes some 10 s."""
MAX_DEPTH = 64
MAX_DIGITS = 40


@dataclass(frozen=True, slots=True)
class Node:
    """A value with its place: a scalar, a list of nodes, or a mapping of nodes."""

    value: Scalar | list[Node] | dict[Scalar, Node]
    place: Place
    keys: dict[Scalar, Place]

    def __repr__(self) -> str:
        """The value for a message: as YAML on one line, cut if it is long."""
        value = self.value
        text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        if isinstance(value, dict):
            text = f"{{{', '.join(f'{key}: {item!r}' for key, item in value.items())}}}"
        return cut(text)

    @property
    def map(self) -> dict[Scalar, Node]:
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> list[Node]:
        return self.value if isinstance(self.value, list) else []

    def get(self, key: Scalar) -> Node | None:
        return self.map.get(key)


def copied(node: Node) -> Node:
    """A copy that can be changed without the other."""
    if isinstance(node.value, dict):
        values = {key: copied(child) for key, child in node.map.items()}
        return Node(values, node.place, dict(node.keys))
    return Node([copied(item) for item in node.items], node.place, {}) if node.items else node


@lru_cache(maxsize=256)
def composed(text: str) -> yaml.Node | None:
    """The nodes of a text: a command reads a schema and its imports several times. Raises: yaml.YAMLError."""
    if yaml.__with_libyaml__ and not _DIFFERS.search(text) and not _asks_in_brackets(text):
        # libyaml words errors differently: these are the pure parser's, so that every machine has the same
        with suppress(yaml.YAMLError, _Unusual):
            return _fast(text)
    found: yaml.Node | None = yaml.compose(text, Loader=_Loader)
    return found


def _asks_in_brackets(text: str) -> bool:
    for part in _CLOSED.split(text):
        begin = _OPENED.search(part)
        if begin is not None and "?" in part[begin.end() :]:
            return True
    return False


class TooDeep(yaml.MarkedYAMLError):
    """A node inside of more than MAX_DEPTH others, where reading stops: each further one costs as much time
    as those around it."""


class _Loader(yaml.SafeLoader):
    """The pure parser, which reads no further than nodes that are too deep.

    YAML allows tabs where they indent nothing: between words, before a comment, in an empty line. PyYAML
    does not.
    """

    _depth = 0

    def scan_to_next_token(self) -> None:
        scanner: Any = super()
        scanner.scan_to_next_token()
        while self.peek() == "\t" and self._indents_nothing():
            self.forward()
            scanner.scan_to_next_token()

    def scan_plain_spaces(self, indent: int, start_mark: Any) -> Any:
        length = 0
        while self.peek(length) in " \t":
            length += 1
        spaces = self.prefix(length)
        if "\t" in spaces:
            self.forward(length)
            if self.peek() not in "\0\r\n":
                return [spaces]
        scanner: Any = super()
        return scanner.scan_plain_spaces(indent, start_mark)

    def _indents_nothing(self) -> bool:
        line = self.buffer[self.pointer - self.column :].partition("\n")[0].rstrip("\r\0")
        return bool(line[: self.column].strip()) or line[self.column :].strip()[:1] in ("", "#")

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._depth += 1
        if self._depth > MAX_DEPTH + 1:
            what = f"nesting deeper than {MAX_DEPTH} is not supported"
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            raise TooDeep(problem=what, problem_mark=event.start_mark)
        found: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return found


class _Unusual(Exception):
    """YAML that is left to the pure parser."""


def _fast(text: str) -> yaml.Node | None:
    """The same nodes from libyaml's events. Its own composer recurses in C, without a limit.

    Raises: yaml.YAMLError; _Unusual for aliases, deep nesting, empty nodes and several documents.
    """
    root: yaml.Node | None = None
    stack: list[yaml.CollectionNode] = []
    events: Iterator[Any] = yaml.parse(text, Loader=yaml.CSafeLoader)  # its marks are of another class
    node: yaml.Node
    for event in events:
        start, end = event.start_mark, event.end_mark
        if isinstance(event, yaml.CollectionEndEvent):
            node = stack.pop()
            if isinstance(node, yaml.MappingNode):
                node.value = list(zip(node.value[::2], node.value[1::2], strict=True))
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        if event.anchor is not None or len(stack) > MAX_DEPTH or (root is not None and not stack):
            raise _Unusual
        if isinstance(event, yaml.CollectionStartEvent):
            kind = yaml.MappingNode if isinstance(event, yaml.MappingStartEvent) else yaml.SequenceNode
            node = kind(event.tag or "", [], start, end)
        elif isinstance(event, yaml.ScalarEvent) and (event.value or event.style):
            node = yaml.ScalarNode(event.tag or "", event.value, start, end, style=event.style)
        else:
            raise _Unusual  # the place of an empty node differs
        if stack:
            stack[-1].value.append(node)
        else:
            root = node
        if isinstance(node, yaml.CollectionNode):
            stack.append(node)
    return root


def load_text(text: str, file: str, problems: Problems) -> Node | None:
    """Parse the text of one schema; None (and a problem) if it is not YAML."""
    try:
        root = composed(text)
    except TooDeep as error:
        assert error.problem_mark is not None
        place = Place(file, error.problem_mark.line + 1, error.problem_mark.column + 1)
        problems.add(place, "", str(error.problem), "write the value out")
        return None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file, 1, 1)
        message = str(error.problem or error.context)
        line = text.split("\n")[place.line - 1] if place.line <= text.count("\n") + 1 else ""
        problems.add(place, "", f"not YAML: {message}", of_yaml(message, line))
        return None
    except yaml.YAMLError as error:
        problems.add(Place(file, 1, 1), "", f"not YAML: {error}")
        return None
    except RecursionError:
        problems.add(Place(file, 1, 1), "", f"nesting deeper than {MAX_DEPTH} is not supported")
        return None
    if root is None:
        problems.add(Place(file, 1, 1), "", "the file is empty")
        return None
    return _convert(root, file, problems, set(), 0)


def load_file(path: Path, name: str, problems: Problems) -> tuple[Node | None, bytes]:
    """Read and parse one schema file; `name` is its name in messages."""
    if path.exists() and not path.is_file():
        problems.add(Place(name, 1, 1), "", "not a regular file")
        return None, b""
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        problems.add(Place(name, 1, 1), "", f"the file is larger than {MOST_BYTES} bytes", "make two of it")
        return None, data
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        problems.add(Place(name, 1, 1), "", f"not UTF-8: byte {error.start}")
        return None, data
    return load_text(text, name, problems), data


def _convert(node: yaml.Node, file: str, problems: Problems, seen: set[int], depth: int) -> Node:
    place = Place(file, node.start_mark.line + 1, node.start_mark.column + 1)
    if id(node) in seen or depth > MAX_DEPTH:
        what = "an alias" if id(node) in seen else f"nesting deeper than {MAX_DEPTH}"
        problems.add(place, "", f"{what} is not supported", "write the value out")
        return Node(None, place, {})
    seen.add(id(node))
    if node.tag.startswith("!") and node.tag != "!":
        problems.add(place, "", f"`{cut(node.tag)}` begins a tag of YAML", "`not` negates an expression")
    if isinstance(node, yaml.MappingNode):
        values: dict[Scalar, Node] = {}
        keys: dict[Scalar, Place] = {}
        for key_node, value_node in node.value:
            key_place = Place(file, key_node.start_mark.line + 1, key_node.start_mark.column + 1)
            if not isinstance(key_node, yaml.ScalarNode):
                problems.add(key_place, "", "a key must be a scalar")
                continue
            key = _scalar(key_node)
            if key in values:
                problems.add(key_place, "", f"key `{key}` stands twice")
            values[key] = _convert(value_node, file, problems, seen, depth + 1)
            keys[key] = key_place
        return Node(values, place, keys)
    if isinstance(node, yaml.SequenceNode):
        return Node([_convert(child, file, problems, seen, depth + 1) for child in node.value], place, {})
    assert isinstance(node, yaml.ScalarNode)
    return Node(_scalar(node), place, {})


def word_of(value: object) -> str:
    """A scalar as it was written; `true` is a boolean for YAML."""
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def _scalar(node: yaml.ScalarNode) -> Scalar:
    text: str = node.value
    if node.style:  # the style of a plain scalar is None, or "" from libyaml
        return text
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > MAX_DIGITS:
        return text
    for pattern, base, start in ((_INT, 10, 0), (_HEX, 16, 2), (_OCT, 8, 2), (_BIN, 2, 2)):
        if pattern.match(text):
            return int(text[start:], base)
    if _FLOAT.match(text) and math.isfinite(float(text)):
        return float(text)
    return text


def as_yaml(value: object) -> str:
    """Plain values as a YAML document, with keys in their order."""
    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
    return text
