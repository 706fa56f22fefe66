"""The classes of `ksc --read-write` in Python, which take the same edits as kodec's.

ksc's classes compute nothing. They get what a user would have to find out: the size of the file that kodec
wrote, `_parent` and `_root` of new objects, and a `_check` of every object.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kaitaistruct import KaitaiStream, ReadWriteKaitaiStruct

from tests.foreign.run import copy_closure
from tests.ksc import oracle

__all__ = ["Peer", "stock_class"]

NEW: list[Any] = []


class Peer:
    """ksc's classes of a schema that can be written."""

    def __init__(self, schemas: dict[str, Path], name: str, folder: Path) -> None:
        """Raises: ValueError where ksc refuses the schema; what the import of its code raises."""
        copy_closure(schemas, name, folder / "in")
        os.environ["KSC_READ_WRITE"] = "1"
        try:
            failures = oracle.compile_schemas(folder / "out", ("python",), folder / "in")
        finally:
            del os.environ["KSC_READ_WRITE"]
        if failures:
            raise ValueError(f"ksc refuses: {failures[0].error[:80]}")
        self.kind = stock_class(folder / "out" / "python", str(oracle.load_yaml(schemas[name])["meta"]["id"]))
        for kind in types(self.kind):
            kind.__setattr__ = _set  # type: ignore[method-assign]

    def read(self, data: bytes, arguments: dict[str, Any]) -> Any:
        found = self.kind(*arguments.values(), KaitaiStream(io.BytesIO(data)))
        found._read()
        for node in nodes(found):
            if hasattr(node, "_fetch_instances"):
                node._fetch_instances()
        return found

    def write(self, value: Any, size: int) -> bytes:
        for node in reversed([*nodes(value)]):
            node._check()
        out = KaitaiStream(io.BytesIO(bytearray(size)))
        value._write(out)
        return bytes(out.to_byte_array())

    def edited(
        self, data: bytes, arguments: dict[str, Any], change: Callable[[Any, Any], Any], size: int
    ) -> bytes:
        """The bytes of an edited object, in a file of a size. Raises: whatever its code does."""
        value = self.read(data, arguments)
        return self.write(change(self.classes, value) or value, size)

    @property
    def classes(self) -> SimpleNamespace:
        """The types by name, whose objects take their fields as kodec's do."""
        found: dict[str, _Made] = {}
        for kind in types(self.kind):
            found.setdefault(kind.__name__, _Made(kind))
        return SimpleNamespace(**found)


class _Made:
    """A class of ksc's that is used as one of kodec's is."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def __call__(self, **fields: Any) -> Any:
        new = self.kind()
        NEW.append(new)
        for name, value in fields.items():
            setattr(new, name, value)
        return new

    def from_bytes(self, data: bytes) -> Any:
        new = self.kind(KaitaiStream(io.BytesIO(data)))
        NEW.append(new)
        new._read()
        return new


def _set(self: Any, name: str, value: Any) -> None:
    """Set an attribute by kodec's name: one that Python reserves ends in an underscore there."""
    object.__setattr__(self, name[:-1] if name.endswith("_") and not name.startswith("_") else name, value)


def stock_class(folder: Path, ident: str) -> Any:
    """The outermost class of what ksc made of a schema, and of that module alone."""
    for each in folder.glob("*.py"):
        sys.modules.pop(each.stem, None)
    sys.path.insert(0, str(folder))
    try:
        module = importlib.import_module(ident)
    finally:
        sys.path.pop(0)
    return getattr(module, "".join(word.capitalize() for word in ident.split("_")))


def types(kind: type) -> Iterator[type]:
    yield kind
    for each in vars(kind).values():
        if isinstance(each, type) and issubclass(each, ReadWriteKaitaiStruct):
            yield from types(each)


def nodes(value: Any, parent: Any = None, seen: set[int] | None = None) -> Iterator[Any]:
    """The objects in an object, the outer ones first; new ones get their parent."""
    seen = set() if seen is None else seen
    if isinstance(value, list):
        for each in value:
            yield from nodes(each, parent, seen)
    elif isinstance(value, ReadWriteKaitaiStruct) and id(value) not in seen:
        seen.add(id(value))
        if parent is not None and value in NEW:
            value._parent, value._root = parent, parent._root
        yield value
        for name, each in list(vars(value).items()):
            if name.lstrip("_") not in ("parent", "root", "io") and isinstance(
                each, (list, ReadWriteKaitaiStruct)
            ):
                yield from nodes(each, value, seen)
