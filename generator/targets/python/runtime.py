"""A copy of the runtime for modules that run without kodec: what they import, and what that needs."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterable, Iterator
from importlib.resources import files

from kodec.generator.target import File, mark
from kodec.generator.targets.python.names import RUNTIME

__all__ = ["inside", "runtime_files", "runtime_of"]

_INSTALLED = "kodec.runtime"
"""The package that generated modules import from where they have no copy."""
_IMPORT = re.compile(rf"^( *)from {re.escape(_INSTALLED)}(\.[a-z0-9_.]+)? import ", re.MULTILINE)
_LICENSE = "# A copy of kodec's runtime in Python, under the Apache License 2.0; it has no native code."


def runtime_of(folder: str, path: str) -> str:
    """The package of the runtime for the module at `path`: relative, where `folder` has a copy."""
    if not folder:
        return _INSTALLED
    up = posixpath.relpath(folder, posixpath.dirname(path) or ".")
    return "." * (up.count("../") + 1) + up.replace("../", "")


def inside(package: str, module: str) -> str:
    """A module of a package, which may be relative to another one."""
    return f"{package}{module}" if package.endswith(".") else f"{package}.{module}"


def runtime_files(folder: str, *, streams: bool) -> Iterator[File]:
    """The copy: the modules that layouts need, and with `streams` those of streamed schemas too."""
    roots = {"messages", *RUNTIME} - (set() if streams else {"streams"})
    for path, text in sorted(_closure(roots).items()):
        depth = "." * (path.count("/") + 1)

        def relative(found: re.Match[str], depth: str = depth) -> str:
            return f"{found[1]}from {depth}{(found[2] or '')[1:]} import "

        yield File(f"{folder}/{path}", f"# {mark()}\n{_LICENSE}\n{_IMPORT.sub(relative, text)}")


def _closure(roots: Iterable[str]) -> dict[str, str]:
    """Files of the runtime by their paths: those of modules, and of all that these import."""
    found: dict[str, str] = {"__init__.py": _text("__init__.py")}
    left = list(roots)
    while left:
        path = _path(left.pop())
        if path is None or path in found:
            continue
        found[path] = _text(path)
        left += _imported(found[path])
        if path == "compression/__init__.py":
            # which imports a codec by its name
            left += [f"compression.{each}" for each in _codecs()]
    return found


def _imported(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_INSTALLED):
            module = (node.module or "").removeprefix(_INSTALLED).removeprefix(".")
            yield module
            # a module of a package, or a name of a module, which is none
            yield from (f"{module}.{each.name}".removeprefix(".") for each in node.names)


def _codecs() -> Iterator[str]:
    folder = files(_INSTALLED).joinpath("compression")
    yield from (each.name.removesuffix(".py") for each in folder.iterdir() if each.name.endswith(".py"))


def _path(module: str) -> str | None:
    """The file of a module; None if there is none."""
    name = module.replace(".", "/")
    for path in (f"{name}.py", f"{name}/__init__.py"):
        if name and files(_INSTALLED).joinpath(path).is_file():
            return path
    return None


def _text(path: str) -> str:
    return files(_INSTALLED).joinpath(path).read_text("utf-8")
