"""Edits of a schema's text: an entry of a mapping is removed, renamed or added, and all other lines stay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import yaml

from kodec.generator.problems import Place
from kodec.generator.schema.load import Node, Scalar, composed

__all__ = ["Edits"]


class Edits:
    """Gathers edits of one text, by the nodes of its tree."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = [f"{line}\n" for line in text.split("\n")]
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.spans: list[tuple[int, int, str]] = []
        self.removed: dict[tuple[int, int], set[int]] = {}
        self.nodes: dict[tuple[int, int], yaml.MappingNode] = {}
        root = composed(text)
        todo = [] if root is None else [root]
        while todo:
            node = todo.pop()
            if isinstance(node, yaml.MappingNode):
                self.nodes[node.start_mark.line, node.start_mark.column] = node
                todo += [value for _, value in node.value]
            elif isinstance(node, yaml.SequenceNode):
                todo += node.value

    def result(self) -> str:
        """The edited text."""
        text = self.text
        spans = {
            *self.spans,
            *(span for key, entries in self.removed.items() for span in self._gone(key, entries)),
        }
        for start, end, new in sorted(spans, reverse=True):
            text = text[:start] + new + text[end:]
        return text

    # -- what can be done ----------------------------------------------------------------------------

    def remove(self, node: Node, key: Scalar) -> None:
        """Remove an entry, with its comment behind it; comments in lines of their own stay."""
        self.removed.setdefault(_key(node.place), set()).add(self._index(node, key))

    def rename(self, node: Node, key: Scalar, new: str) -> None:
        name, _ = self._entries(node)[self._index(node, key)]
        self._span(self._at(name.start_mark), self._at(name.end_mark), new)

    def change(self, node: Node, key: Scalar, new: str) -> None:
        """Another value in one line, for a scalar or a mapping."""
        name, value = self._entries(node)[self._index(node, key)]
        if self._is_flow(node) or (isinstance(value, yaml.ScalarNode) and value.style not in ("|", ">")):
            self._span(self._at(value.start_mark), self._at(value.end_mark), new)
            return
        _, end = self._lines_of(name, value)
        self._span(self._at(name.end_mark), self.starts[end], f": {new}\n")

    def add(self, node: Node, after: Scalar, entries: Mapping[str, str | Mapping[str, str]]) -> None:
        """New entries behind another."""
        name, old = self._entries(node)[self._index(node, after)]
        if self._is_flow(node):
            at = self._at(old.end_mark)
            self._span(at, at, "".join(f", {key}: {_flow(value)}" for key, value in entries.items()))
            return
        indent, lines = " " * name.start_mark.column, ""
        for key, value in entries.items():
            if isinstance(value, str):
                lines += f"{indent}{key}: {value}\n"
            else:
                lines += f"{indent}{key}:\n" + "".join(f"{indent}  {k}: {v}\n" for k, v in value.items())
        at = self.starts[self._lines_of(name, old)[1]]
        self._span(at, at, lines)

    def _gone(self, key: tuple[int, int], removed: set[int]) -> Iterator[tuple[int, int, str]]:
        """The spans of removed entries of one mapping."""
        entries = self.nodes[key].value
        flow = self.text[self.starts[key[0]] + key[1]] == "{"
        for first in sorted(removed - {each + 1 for each in removed}):
            last = first
            while last + 1 in removed:
                last += 1
            start, end = self._at(entries[first][0].start_mark), self._at(entries[last][1].end_mark)
            if flow or (first == 0 and self._is_first(entries[0][0])):
                # in a block: `- key: value`, where the next entry stands behind the dash
                if last + 1 < len(entries):
                    yield start, self._at(entries[last + 1][0].start_mark), ""
                elif flow and first:
                    yield self._at(entries[first - 1][1].end_mark), end, ""
                else:
                    yield start, end, "" if flow else "{}"
                continue
            for name, value in entries[first : last + 1]:
                begin, behind = self._lines_of(name, value)
                yield self.starts[begin], self.starts[behind], ""

    def source(self, node: Node, key: Scalar) -> str:
        """The value of an entry as it is written, in one line."""
        _, value = self._entries(node)[self._index(node, key)]
        return " ".join(self.text[self._at(value.start_mark) : self._at(value.end_mark)].split())

    # -- places ----------------------------------------------------------------------------------

    def _span(self, start: int, end: int, new: str) -> None:
        self.spans.append((start, end, new))

    def _at(self, mark: yaml.Mark) -> int:
        return self.starts[mark.line] + mark.column

    def _entries(self, node: Node) -> list[tuple[yaml.Node, yaml.Node]]:
        entries: list[tuple[yaml.Node, yaml.Node]] = self.nodes[_key(node.place)].value
        return entries

    def _index(self, node: Node, key: Scalar) -> int:
        place = node.keys[key]
        marks = [each.start_mark for each, _ in self._entries(node)]
        return next(
            i for i, m in enumerate(marks) if (m.line + 1, m.column + 1) == (place.line, place.column)
        )

    def _is_flow(self, node: Node) -> bool:
        return self.text[self.starts[node.place.line - 1] + node.place.column - 1] == "{"

    def _is_first(self, name: yaml.Node) -> bool:
        """Whether an entry stands behind the dash of a list."""
        return bool(self.lines[name.start_mark.line][: name.start_mark.column].strip())

    def _lines_of(self, name: yaml.Node, value: yaml.Node) -> tuple[int, int]:
        """The first line of an entry of a block, and the one after it."""
        start, column = name.start_mark.line, name.start_mark.column
        listed = isinstance(value, yaml.SequenceNode) and value.start_mark.column == column
        end = last = start + 1
        while end < len(self.lines):
            line = self.lines[end]
            depth = len(line) - len(line.lstrip(" "))
            inside = depth > column or (listed and depth == column and line.lstrip().startswith("- "))
            if line.strip() and not inside:
                break
            end += 1
            if line.strip() and not line.lstrip().startswith("#"):
                last = end
        return start, last


def _flow(value: str | Mapping[str, str]) -> str:
    if isinstance(value, str):
        return value
    return f"{{{', '.join(f'{key}: {each}' for key, each in value.items())}}}"


def _key(place: Place) -> tuple[int, int]:
    return place.line - 1, place.column - 1
