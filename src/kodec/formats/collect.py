"""The files of one schema: its own, and all that it imports."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from pathlib import Path

from kodec.generator.driver import overlay_files
from kodec.generator.problems import Problems, SchemaError
from kodec.generator.schema.load import load_file
from kodec.generator.schema.overlay import overlay_beside

__all__ = ["add_overlays", "collect"]

MOST_FILES = 1000


def collect(schema: Path) -> tuple[str, dict[str, bytes]]:
    """A schema's path in its folder of schemas, and the bytes of each file that belongs to it, by path.

    The folder is the nearest one around the file from which every import can be found: one that starts with
    a slash counts from there. Raises: SchemaError for an import that is nowhere; OSError.
    """
    schema = schema.resolve()
    problems: list[SchemaError] = []
    for folder in schema.parents:
        try:
            name = schema.relative_to(folder).as_posix()
            return name, _closure(folder, name)
        except SchemaError as error:
            problems.append(error)
    raise problems[0]


def add_overlays(files: dict[str, bytes], overlays: Iterable[str]) -> None:
    """Put overlays beside the schemas that they are of. Raises: ValueError for one of another schema."""
    for ident, place in overlay_files(list(overlays)).items():
        found = [name for name in files if posixpath.basename(name) == f"{ident}.ksy"]
        if not found:
            raise ValueError(f"{place} is an overlay of `{ident}`, which the schema does not use")
        files[posixpath.join(posixpath.dirname(found[0]), place.name)] = place.read_bytes()


def _closure(folder: Path, first: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    todo = [first]
    problems = Problems()
    while todo:
        name = todo.pop()
        if name in found:
            continue
        root, data = load_file(folder / name, name, problems)
        found[name] = data
        beside = overlay_beside(folder / name)
        if beside is not None:
            found[posixpath.join(posixpath.dirname(name), beside.name)] = beside.read_bytes()
        meta = root.get("meta") if root else None
        imports = meta.get("imports") if meta else None
        for item in imports.items if imports else []:
            path = str(item.value)
            target = path[1:] if path.startswith("/") else posixpath.join(posixpath.dirname(name), path)
            target = posixpath.normpath(target) + ".ksy"
            if target.startswith("..") or not (folder / target).is_file():
                problems.add(item.place, "meta/imports", f"`{path}`: there is no such schema")
            elif len(found) + len(todo) > MOST_FILES:
                problems.add(item.place, "meta/imports", f"more than {MOST_FILES} schemas")
            else:
                todo.append(target)
        problems.raise_if_any()
    return found
