"""The files of one schema: its own, and all that it imports."""

from __future__ import annotations

import posixpath
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from kodec.formats.index import Lookups
from kodec.generator.problems import Problems, SchemaError
from kodec.generator.schema.files import found_in, imported, listed_imports, opaque
from kodec.generator.schema.load import load_file, load_text
from kodec.generator.schema.model import Model, Schema
from kodec.generator.schema.overlay import SUFFIX, overlay_beside, overlay_files

__all__ = ["add_overlays", "collect", "collected"]

MOST_FILES = 1000


def collect(
    schema: Path, import_path: Sequence[Path] = (), looked: Lookups | None = None
) -> tuple[str, dict[str, bytes]]:
    """A schema's path in its folder of schemas, and the bytes of each file that belongs to it, by path.

    The folder is the nearest one around the file from which every import can be found: an import that starts
    with a slash counts from there. If no folder has all, imports are found in several of the folders around
    the file, the nearest first, and then in those of `import_path`. What was looked at is noted in `looked`.
    Raises: SchemaError for an import that is nowhere; OSError.
    """
    schema = schema.resolve()
    looked = Lookups() if looked is None else looked
    problems: list[SchemaError] = []
    whole = False
    candidates: list[tuple[str, dict[str, bytes], dict[str, Path]]] = []
    around = list(schema.parents)
    ways = [[folder] for folder in around]
    ways += [[*around[index:], *import_path] for index in range(len(around) if import_path else 0)]
    for folders in ways:
        try:
            name = schema.relative_to(folders[0]).as_posix()
            files, whole, places = _closure(folders, name, looked)
            candidates.append((name, files, places))
            if whole:
                break
        except SchemaError as error:
            problems.append(error)
    if not candidates:
        raise problems[0]
    name, files, looked.files = candidates[-1] if whole else candidates[0]
    return name, files


def add_overlays(files: dict[str, bytes], overlays: Iterable[str], looked: Lookups | None = None) -> None:
    """Put overlays beside the schemas that they are of. Raises: ValueError for one of another schema."""
    # a text is one name, not the letters of it
    overlay_list = [overlays] if isinstance(overlays, str) else list(overlays)
    for ident, overlay_path in overlay_files(overlay_list).items():
        schemas = (name for name in files if name.endswith(".ksy"))
        matches = [name for name in schemas if _id_of(name, files[name]) == ident]
        if not matches:
            raise ValueError(f"{overlay_path} is an overlay of `{ident}`, which the schema does not use")
        name = posixpath.join(posixpath.dirname(matches[0]), overlay_path.name)
        files[name] = overlay_path.read_bytes()
        if looked is not None:
            looked.files[name] = overlay_path


def _id_of(name: str, data: bytes) -> object:
    root = load_text(data.decode("utf-8", "replace"), name, Problems())
    ident = root and (root.get("meta") or root).get("id")
    return ident.value if ident else None


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
    return model, model.schema_at(name)


def _closure(
    folders: Sequence[Path], first: str, looked: Lookups
) -> tuple[dict[str, bytes], bool, dict[str, Path]]:
    """The files, whether all opaque types are among them, and where the files are.

    Raises: SchemaError for a missing import.
    """
    contents: dict[str, bytes] = {}
    places: dict[str, Path] = {}
    whole = True
    todo = [first]
    problems = Problems()

    def folder_of(name: str) -> Path | None:
        folder = found_in(name, folders)
        before = folders if folder is None else folders[: folders.index(folder) + 1]
        looked.others.update(candidate / name for candidate in before if not name.startswith(".."))
        return folder

    while todo:
        name = todo.pop()
        if name in contents:
            continue
        file_path = (folder_of(name) or folders[0]) / name
        root, data = load_file(file_path, name, problems)
        contents[name], places[name] = data, file_path
        beside = overlay_beside(file_path)
        looked.others.add(file_path.with_name(file_path.stem + SUFFIX))
        if beside is not None:
            overlay = posixpath.join(posixpath.dirname(name), beside.name)
            contents[overlay], places[overlay] = beside.read_bytes(), beside
        meta = root.get("meta") if root else None
        imports = listed_imports(meta) if meta else []
        paths = {str(item.value).rpartition("/")[2] for item in imports}
        for type_path in sorted(opaque(root) - paths) if root else ():
            target = imported(name, type_path)
            exists = folder_of(target) is not None
            todo += [target] if exists else []
            whole = whole and exists
        for item in imports:
            path = str(item.value)
            target = imported(name, path)
            if folder_of(target) is None:
                text = f"`{path}`: there is no such schema"
                problems.add(item.place, "meta/imports", text, "-I DIR names a further folder of schemas")
            elif len(contents) + len(todo) > MOST_FILES:
                problems.add(item.place, "meta/imports", f"more than {MOST_FILES} schemas")
            else:
                todo.append(target)
        problems.raise_if_any()
    return contents, whole, places
