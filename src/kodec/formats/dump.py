"""A file of any schema as plain values: mappings, lists, numbers, text, for JSON, YAML and people."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from typing import Any

from kodec.generator.problems import nearest
from kodec.runtime.dataclass import fields
from kodec.runtime.errors import FormatError
from kodec.runtime.streams import StreamNode

__all__ = ["bytes_left", "plain", "select", "tree_lines"]

_STEP = re.compile(r"\.?([a-z_][a-z0-9_]*)|\[([0-9]{1,12})\]")
_MOST_ITEMS, _MOST_TEXT = 100, 200


def members(value: Any, *, instances: bool) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The fields of an object by their name in the schema, and its instances, each with what returns it."""
    names = [field.name for field in fields(value)]
    if instances:
        names += [name for name, member in vars(type(value)).items() if isinstance(member, property)]
    for name in names:
        yield name.removesuffix("_"), partial(getattr, value, name)


def is_object(value: Any) -> bool:
    """Whether a value has members."""
    return isinstance(value, StreamNode) or hasattr(type(value), "_kodec_fields")


def select(value: Any, path: str) -> Any:
    """The part of a value at a path as `body.rows[3]`; an instance too. Raises: ValueError; FormatError."""
    position = 0
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None or (position == 0 and path[0] == "."):
            raise ValueError(f"`{path}` is not a path: write body.rows[3]")
        prefix, position = path[:position] or "the file", step.end()
        if step[2] is not None:
            if not isinstance(value, (list, tuple, bytes)):
                raise ValueError(f"{prefix} is not a list")
            if int(step[2]) >= len(value):
                raise ValueError(f"{prefix} has {len(value):,} elements; the first is [0]")
            value = value[int(step[2])]
            continue
        known = dict(members(value, instances=True)) if is_object(value) else {}
        if step[1] not in known:
            hint = nearest(step[1], known)
            raise ValueError(f"{prefix} has no `{step[1]}`{f'; {hint}' if hint else ''}")
        value = known[step[1]]()
    return value


def bytes_left(value: Any, size: int) -> int:
    """How many bytes of a file of `size` bytes are after its object, and in none of the instances that were
    read."""
    if not isinstance(value, StreamNode) or value._io is None:
        return 0
    position = value._stop
    unread = 0
    for start, stop in [*sorted(value._places_in(value._io.buf)), (size, size)]:
        unread += max(0, start - position)
        position = max(position, stop)
    return unread


def plain(value: Any, *, instances: bool = False, as_base64: bool = False) -> Any:
    """The value with mappings for objects, names for enum values, text for bytes.

    An instance that leads back to an object that is shown elsewhere is `{"see": path}`; one that cannot be
    read is `{"error": reason}`.
    """
    return _Plain(instances, as_base64).of(value, "")


class _Plain:
    def __init__(self, instances: bool, as_base64: bool) -> None:
        self.instances, self.as_base64 = instances, as_base64
        self.paths: dict[int, str] = {}

    def of(self, value: Any, path: str) -> Any:
        if is_object(value):
            if self.instances:
                if id(value) in self.paths:
                    return {"see": self.paths[id(value)] or "the file"}
                self.paths[id(value)] = path
            return {
                name: self.member(get, f"{path}.{name}".lstrip("."))
                for name, get in members(value, instances=self.instances)
            }
        if isinstance(value, (list, tuple)):
            return [self.of(item, f"{path}[{index}]") for index, item in enumerate(value)]
        if isinstance(value, Enum):
            return value.name.lower()
        if isinstance(value, (bytes, bytearray, memoryview)):
            data = bytes(value)
            return base64.b64encode(data).decode() if self.as_base64 else data.hex()
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)
        if isinstance(value, str):
            # what is not text in its encoding
            return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        return value if isinstance(value, (bool, int, float, type(None))) else str(value)

    def member(self, get: Callable[[], Any], path: str) -> Any:
        if not self.instances:
            return self.of(get(), path)
        try:
            return self.of(get(), path)
        except FormatError as error:
            return {"error": str(error)}


def tree_lines(value: Any, *, whole: bool = False, depth: int = 0, name: str = "") -> Iterator[str]:
    """Plain values for people, a line for each: long lists and texts are cut, unless `whole`."""
    indent = "  " * depth
    head = f"{indent}{name}: " if name else indent
    if isinstance(value, Mapping):
        if name:
            yield f"{indent}{name}:" + ("" if value else " no fields")
        for key, member in value.items():
            yield from tree_lines(member, whole=whole, depth=depth + bool(name), name=key)
    elif isinstance(value, list):
        shown = value if whole else value[:_MOST_ITEMS]
        if all(isinstance(item, (int, float, bool)) for item in shown):
            more = f" ... {len(value) - len(shown):,} more (--all)" if len(shown) < len(value) else ""
            yield f"{head}[{', '.join(map(_word, shown))}]{more}"
            return
        yield f"{head}{len(value):,} element{'s' * (len(value) != 1)}"
        for index, item in enumerate(shown):
            yield from tree_lines(item, whole=whole, depth=depth + 1, name=f"[{index}]")
        if len(shown) < len(value):
            yield f"{indent}  ... {len(value) - len(shown):,} more (--all)"
    else:
        text = _word(value)
        if len(text) > _MOST_TEXT and not whole:
            text = f"{text[:_MOST_TEXT]}... {len(text):,} characters (--all)"
        yield f"{head}{text}"


def _word(value: Any) -> str:
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value) or '""'
