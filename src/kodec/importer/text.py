"""Trees of .ksy files as text in this project's style, and back."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from kodec.generator.problems import Problems
from kodec.generator.schema.load import Node, load_text

__all__ = ["ordered", "text_of", "tree_of"]

WIDTH = 80
_TYPE = (
    "meta", "-names", "-orig-id", "-primitive", "-unwrap", "-versions", "-row", "-message", "doc", "doc-ref",
    "to-string", "params", "seq", "instances", "types", "enums",
)  # fmt: skip
_FIELD = (
    "id", "-orig-id", "pos", "value", "size", "size-eos", "type", "enum", "valid", "-valid", "contents",
    "repeat", "repeat-expr", "repeat-until", "if", "-ignorable", "-derive", "-default", "-nullable",
    "-codec", "-tags", "-column", "doc", "doc-ref",
)  # fmt: skip
_SHORT = ("valid", "-valid", "-message", "-nullable")
_PLAIN = re.compile(r"[A-Za-z0-9_(./][^#:\n\t]*(?:(?::(?! )|(?<! )#)[^#:\n\t]*)*\Z")
_NO_TEXT = re.compile(r"(?i)(null|true|false|yes|no|on|off|0[xo]?[0-9a-f_]+|[0-9][0-9_]*([.e][0-9_+-]*)*)\Z")


def tree_of(text: str, file: str) -> dict[Any, Any]:
    """The plain values of a schema's text. Raises SchemaError for what is not YAML."""
    problems = Problems()
    root = load_text(text, file, problems)
    problems.raise_if_any()
    plain = None if root is None else _plain(root)
    return plain if isinstance(plain, dict) else {}


def _plain(node: Node) -> Any:
    if isinstance(node.value, dict):
        return {key: _plain(member) for key, member in node.value.items()}
    return [_plain(item) for item in node.value] if isinstance(node.value, list) else node.value


def ordered(tree: dict[Any, Any]) -> dict[Any, Any]:
    """A type with its keys, and those of its fields, in this project's order."""
    sorted_tree = _by(tree, _TYPE)
    for key in ("seq", "params"):
        if key in sorted_tree:
            sorted_tree[key] = [_by(field, _FIELD) for field in sorted_tree[key]]
    if "types" in sorted_tree:
        sorted_tree["types"] = {name: ordered(subtree) for name, subtree in sorted_tree["types"].items()}
    return sorted_tree


def _by(tree: dict[Any, Any], order: tuple[str, ...]) -> dict[Any, Any]:
    others = {key: value for key, value in tree.items() if key not in order}
    return {key: tree[key] for key in order if key in tree} | others


def text_of(tree: dict[Any, Any]) -> str:
    """YAML: two blanks for each level, 80 columns, blocks for long texts."""
    return "".join(f"{line}\n" for line in _mapping(tree, ""))


def _mapping(tree: dict[Any, Any], indent: str) -> list[str]:
    lines: list[str] = []
    for key, value in tree.items():
        name = f"{indent}{key}:"
        if isinstance(value, dict) and (flow := _short(key, value)) and len(name) + len(flow) < WIDTH:
            lines.append(f"{name} {flow}")
        elif isinstance(value, dict) and value:
            lines += [name, *_mapping(value, indent + "  ")]
        elif isinstance(value, list) and value:
            plain = f"{name} [{', '.join(map(str, value))}]"
            is_short = key == "imports" and len(plain) <= WIDTH
            lines += [plain] if is_short else [name, *_items(value, indent + "  ")]
        else:
            lines += _scalar(name, value, indent)
    return lines


def _short(key: Any, value: dict[Any, Any]) -> str:
    """A rule or an identity in one line; empty for what has lines of its own."""
    return _flow(value) if key in _SHORT else ""


def _flow(value: dict[Any, Any]) -> str:
    """A mapping in one line; empty if it has lists, texts for people, or signs that need quotes there."""
    parts: list[str] = []
    for name, each in value.items():
        if isinstance(each, dict):
            inner = _flow(each)
            parts.append(f"{name}: {inner}" if inner and name in _SHORT else "")
            continue
        lines = [""] if isinstance(each, list) or name == "doc" else _scalar(f"{name}:", each, "")
        parts.append("" if len(lines) > 1 or set(lines[0]) & set(",{}[]") else lines[0])
    return f"{{{', '.join(parts)}}}" if all(parts) else ""


def _items(items: list[Any], indent: str) -> list[str]:
    lines: list[str] = []
    for item in items:
        if isinstance(item, dict) and (short := _flow(item)) and len(indent) + len(short) + 2 <= WIDTH:
            # a field without a text
            lines.append(f"{indent}- {short}")
        elif isinstance(item, dict):
            inner = _mapping(item, indent + "  ")
            lines += [f"{indent}- {inner[0].lstrip()}", *inner[1:]]
        else:
            lines += _scalar(f"{indent}-", item, indent)
    return lines


def _scalar(name: str, value: Any, indent: str) -> list[str]:
    if not isinstance(value, str):
        shown = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        return [f"{name} {shown}"]
    if "\n" in value:
        sign = "|" if value.endswith("\n") else "|-"
        return [f"{name} {sign}", *(f"{indent}  {line}".rstrip() for line in value.rstrip("\n").split("\n"))]
    plain = _PLAIN.match(value) and not _NO_TEXT.match(value) and value == value.strip()
    line = f"{name} {value}" if plain else f"{name} '{value.replace(chr(39), chr(39) * 2)}'"
    if len(line) <= WIDTH or "https://" in value or " " not in value:
        return [line]
    room = WIDTH - len(indent) - 2
    folded = textwrap.wrap(value, room, break_long_words=False, break_on_hyphens=False)
    return [f"{name} >-", *(f"{indent}  {line}" for line in folded)]
