"""Reads a folder of .ksy files as trees, each with the names of its types and enums."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kodec.generator.problems import Place, Problems
from kodec.generator.schema.load import Node, load_file, word_of
from kodec.generator.schema.overlay import apply_overlay, overlay_beside

__all__ = ["IDENT", "Unit", "collect", "found_in", "imported", "listed_imports", "load_unit", "opaque"]

IDENT = re.compile(r"[a-z][a-z0-9_]*\Z")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_BUILT_IN = re.compile(r"([usf][1248]|b[0-9]+)(le|be)?|strz?|bool|bytes|struct|io|any")
_NONE = Node(None, Place("", 1, 1), {})


@dataclass(slots=True)
class Unit:
    """One file while it is being built.

    Attributes:
        id: the name of its outermost type.
        needs: the files that it imports.
        imports: the ids of these; the name of a file that cannot be read.
    """

    id: str
    path: str
    digest: str
    root: Node
    needs: tuple[str, ...]
    types: dict[str, Node]
    enums: dict[str, Node]
    imports: tuple[str, ...] = ()


def imported(importer: str, path: str) -> str:
    """The name of an imported file, relative to the folders of schemas, as its importer is named."""
    target = path[1:] if path.startswith("/") else posixpath.join(posixpath.dirname(importer), path)
    return posixpath.normpath(target) + ".ksy"


def opaque(root: Node) -> set[str]:
    """The types outside of a schema with `ks-opaque-types`: those that it names, but does not have.

    Stock Kaitai leaves them to classes of the user; here, schemas of these names are imported.
    """
    flag = root.get("meta") and root.map["meta"].get("ks-opaque-types")
    if not flag or flag.value is not True:
        return set()
    named, own = set[str](), set[str]()
    todo = [root]
    while todo:
        node = todo.pop()
        todo += [*node.items, *node.map.values()]
        own.update(str(key) for key in (node.get("types") or _NONE).map)
        kind = node.get("type") or _NONE
        for each in (kind, *(kind.get("cases") or _NONE).map.values()):
            if isinstance(each.value, str) and (word := _NAME.match(each.value)):
                named.add(word[0])
    return {each for each in named - own if not _BUILT_IN.fullmatch(each)}


def found_in(name: str, folders: Sequence[Path]) -> Path | None:
    """The first of the folders that has a file of that name; none for a name that leads out of them."""
    if name.startswith(".."):
        return None
    return next((folder for folder in folders if (folder / name).is_file()), None)


def load_unit(
    name: str, folders: Sequence[Path], problems: Problems, overlays: Mapping[str, Path] | None = None
) -> Unit | None:
    """Read a file of the first folder that has it: that of the schemas, or one of the import path.

    With it the overlay beside it, and that of `overlays` by its id.
    """
    overlays = overlays or {}
    folder = found_in(name, folders)
    # something else than a file: reading it reports that
    folder = folders[0] if folder is None else folder
    # messages name the folder of the schemas by its last part, which is where they are shown from
    shown = (Path(folder.name if folder == folders[0] else folder.absolute()) / name).as_posix()
    file = folder / name
    root, data = load_file(file, shown, problems)
    if root is None:
        return None
    meta = root.get("meta")
    ident = meta.get("id") if meta else None
    if meta is None or ident is None or not isinstance(ident.value, str):
        hint = file.stem if IDENT.match(file.stem) else "lower_snake_case"
        problems.add((meta or root).place, "meta/id", "the schema has no id", f"id: {hint}")
        return None
    if not IDENT.match(ident.value):
        problems.add(ident.place, "meta/id", f"`{ident.value}` is not a name", "lower_snake_case")
        return None
    needs: list[str] = []
    if isinstance((listed := meta.get("imports") or _NONE).value, dict):
        problems.add(listed.place, "meta/imports", "`imports` must be a list", "imports: [other]")
    for item in listed_imports(meta):
        path = str(item.value)
        target = imported(name, path)
        if found_in(target, folders) is None:
            where = "in the schema folder" + " or the import path" * (len(folders) > 1)
            text = f"`{path}`: there is no {target} {where}"
            problems.add(item.place, "meta/imports", text, "-I DIR names a further folder of schemas")
        else:
            needs.append(target)
    stems = {posixpath.basename(each).removesuffix(".ksy") for each in needs}
    for each in sorted(opaque(root) - stems):
        if found_in(imported(name, each), folders) is not None:
            needs.append(imported(name, each))
    types: dict[str, Node] = {}
    enums: dict[str, Node] = {}
    collect(root, ident.value, types, enums, problems)
    for overlay in (overlay_beside(file), overlays.get(ident.value)):
        if overlay is not None:
            beside = overlay.parent == file.parent
            place = Path(shown).with_name(overlay.name).as_posix() if beside else str(overlay)
            data += apply_overlay(root, ident.value, overlay, place, problems)
    digest = hashlib.sha256(data).hexdigest()
    return Unit(ident.value, name, digest, root, tuple(dict.fromkeys(needs)), types, enums)


def listed_imports(meta: Node) -> list[Node]:
    """What a schema imports: a list of paths, or one path."""
    listed = meta.get("imports")
    if listed is None or listed.value is None:
        return []
    return [listed] if isinstance(listed.value, str) else listed.items


def collect(
    node: Node, name: str, types: dict[str, Node], enums: dict[str, Node], problems: Problems
) -> None:
    """Add the types and enums of a type to `types` and `enums`, by their full names."""
    types[name] = node
    for key, into in (("enums", enums), ("types", None)):
        children = node.get(key)
        if children is not None and not isinstance(children.value, dict):
            problems.add(children.place, name.replace("::", "."), f"`{key}` must be a mapping")
        if children is None:
            continue
        for child, value in children.map.items():
            full = f"{name}::{child}"
            if not isinstance(child, str) or not IDENT.match(child):
                word = word_of(child)
                path = f"{name}::{word}".replace("::", ".")
                problems.add(children.keys[child], path, f"`{word}` is not a name", "lower_snake_case")
            elif into is not None:
                into[full] = value
            else:
                collect(value, full, types, enums, problems)
