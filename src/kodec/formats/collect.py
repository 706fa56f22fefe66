"""The files of one schema: its own, and all that it imports."""

from __future__ import annotations

import posixpath
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from kodec.generator.problems import Problems, SchemaError
from kodec.generator.schema.files import found_in, imported, opaque
from kodec.generator.schema.load import load_file
from kodec.generator.schema.model import Model, Schema
from kodec.generator.schema.overlay import overlay_beside, overlay_files

__all__ = ["add_overlays", "collect", "collected"]

MOST_FILES = 1000


def collect(schema: Path, import_path: Sequence[Path] = ()) -> tuple[str, dict[str, bytes]]:
    """A schema's path in its folder of schemas, and the bytes of each file that belongs to it, by path.

    The folder is the nearest one around the file from which every import can be found: an import that starts
    with a slash counts from there. If no folder has all, imports are found in several of the folders around
    the file, the nearest first, and then in those of `import_path`. Raises: SchemaError for an import that is
    nowhere; OSError.
    """
    schema = schema.resolve()
    problems: list[SchemaError] = []
    found: list[tuple[str, dict[str, bytes]]] = []
    around = list(schema.parents)
    ways = [[folder] for folder in around]
    ways += [[*around[index:], *import_path] for index in range(len(around) if import_path else 0)]
    for folders in ways:
        try:
            name = schema.relative_to(folders[0]).as_posix()
            files, whole = _closure(folders, name)
            found.append((name, files))
            if whole:
                return found[-1]
        except SchemaError as error:
            problems.append(error)
    if found:
        return found[0]
    raise problems[0]


def add_overlays(files: dict[str, bytes], overlays: Iterable[str]) -> None:
    """Put overlays beside the schemas that they are of. Raises: ValueError for one of another schema."""
    # a text is one name, not the letters of it
    chosen = [overlays] if isinstance(overlays, str) else list(overlays)
    for ident, place in overlay_files(chosen).items():
        found = [name for name in files if posixpath.basename(name) == f"{ident}.ksy"]
        if not found:
            raise ValueError(f"{place} is an overlay of `{ident}`, which the schema does not use")
        files[posixpath.join(posixpath.dirname(found[0]), place.name)] = place.read_bytes()


def collected(
    schema: Path, import_path: Sequence[Path] = (), overlays: Iterable[str] = ()
) -> tuple[Model, Schema]:
    """The checked model of a schema and its imports, and the schema in it.

    Raises: as `collect` and `add_overlays`.
    """
    from kodec.generator.driver import load

    name, files = collect(schema, import_path)
    add_overlays(files, overlays)
    with tempfile.TemporaryDirectory() as folder:
        for path, data in files.items():
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / path).write_bytes(data)
        model = load(Path(folder))
    return model, next(each for each in model.schemas if each.path == name)


def _closure(folders: Sequence[Path], first: str) -> tuple[dict[str, bytes], bool]:
    """The files, and whether all opaque types are among them. Raises: SchemaError for a missing import."""
    found: dict[str, bytes] = {}
    whole = True
    todo = [first]
    problems = Problems()
    while todo:
        name = todo.pop()
        if name in found:
            continue
        folder = found_in(name, folders) or folders[0]
        root, data = load_file(folder / name, name, problems)
        found[name] = data
        beside = overlay_beside(folder / name)
        if beside is not None:
            found[posixpath.join(posixpath.dirname(name), beside.name)] = beside.read_bytes()
        meta = root.get("meta") if root else None
        imports = meta.get("imports") if meta else None
        paths = {str(item.value).rpartition("/")[2] for item in imports.items} if imports else set()
        for each in sorted(opaque(root) - paths) if root else ():
            target = imported(name, each)
            there = found_in(target, folders) is not None
            todo += [target] if there else []
            whole = whole and there
        for item in imports.items if imports else []:
            path = str(item.value)
            target = imported(name, path)
            if found_in(target, folders) is None:
                text = f"`{path}`: there is no such schema"
                problems.add(item.place, "meta/imports", text, "-I DIR names a further folder of schemas")
            elif len(found) + len(todo) > MOST_FILES:
                problems.add(item.place, "meta/imports", f"more than {MOST_FILES} schemas")
            else:
                todo.append(target)
        problems.raise_if_any()
    return found, whole
