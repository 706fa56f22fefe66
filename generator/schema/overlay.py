"""Overlays: extension keys for a schema that somebody else keeps, in a file of their own.

    # png.overlay.yaml
    schema: png
    keys:
      ihdr_crc: {-derive: crc32(ihdr_type..ihdr)}
      chunk.crc: {-derive: crc32(type_raw..body)}

A path is that of a field, an instance or a type: the names of the types inside the outermost one, then that
of the field. The id of the schema is its outermost type. The keys are put into the schema as if they stood
there; each keeps its place in messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kodec.generator.problems import Place, Problems, nearest
from kodec.generator.schema.keys import OLDER, OWN
from kodec.generator.schema.load import Node, load_file

__all__ = ["BUNDLED", "SUFFIX", "apply_overlay", "overlay_beside", "overlay_files"]

SUFFIX = ".overlay.yaml"
BUNDLED = Path(__file__).resolve().parent.parent / "overlays"
"""The folder of the overlays that come with the generator, for schemas of the Kaitai gallery."""


def overlay_beside(schema: Path) -> Path | None:
    """The overlay that lies beside a schema, where there is one: `png.overlay.yaml` beside `png.ksy`."""
    found = schema.with_name(schema.stem + SUFFIX)
    return found if found.is_file() else None


def overlay_files(given: Sequence[str]) -> dict[str, Path]:
    """Overlays by the id of their schema: each is a file, or the id of a schema that one comes with.

    Raises ValueError for what is neither.
    """
    found: dict[str, Path] = {}
    for each in given:
        path = Path(each) if each.endswith(SUFFIX) else BUNDLED / f"{each}{SUFFIX}"
        if not path.is_file():
            known = ", ".join(sorted(file.name.removesuffix(SUFFIX) for file in BUNDLED.glob(f"*{SUFFIX}")))
            raise ValueError(f"no overlay `{each}`: a file x{SUFFIX}, or one of {known}")
        found[path.name.removesuffix(SUFFIX)] = path
    return found


def apply_overlay(root: Node, ident: str, file: Path, shown: str, problems: Problems) -> bytes:
    """Put the keys of an overlay into the tree of the schema `ident`; gives the bytes of the file."""
    tree, data = load_file(file, shown, problems)
    if tree is None:
        return data
    for key, place in tree.keys.items():
        if key not in ("schema", "keys", "doc"):
            problems.add(
                place, "", f"unknown key `{key}` of an overlay", nearest(str(key), ("schema", "keys"))
            )
    named = tree.get("schema")
    if named is None or named.value != ident:
        have = "the overlay names no schema" if named is None else f"the overlay is of `{named.value}`"
        problems.add((named or tree).place, "schema", have, f"schema: {ident}")
        return data
    keys = tree.get("keys")
    if keys is None or not isinstance(keys.value, dict):
        problems.add((keys or tree).place, "keys", "`keys` must be a mapping of paths", "keys: {x: {...}}")
        return data
    for path, added in keys.map.items():
        _add(root, ident, str(path), added, keys.keys[path], problems)
    return data


def _add(root: Node, ident: str, path: str, added: Node, place: Place, problems: Problems) -> None:
    """Put keys at a path."""
    owner = root
    parts = [] if path == ident else path.split(".")
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        types = owner.get("types")
        inner = None if types is None else types.get(part)
        member = _member(owner, part) if last else None
        if inner is None and member is None:
            known = [str(each) for each in (types.map if types is not None else ())]
            known += _members(owner) if last else []
            where = ".".join(parts[:index]) or "the schema"
            problems.add(place, path, f"`{where}` has no `{part}`", nearest(part, known))
            return
        found = member if member is not None else inner
        assert found is not None
        owner = found
    if not isinstance(added.value, dict):
        problems.add(added.place, path, "the keys to add must be a mapping", "{-derive: crc32(a..b)}")
        return
    for key, value in added.map.items():
        if str(key).startswith("-") and key not in OWN | OLDER.keys():
            problems.add(added.keys[key], path, f"unknown extension key `{key}`", nearest(str(key), OWN))
        elif not str(key).startswith("-"):
            problems.add(
                added.keys[key],
                path,
                f"`{key}` is no extension key, which an overlay adds",
                "-derive, -valid",
            )
        elif isinstance(owner.value, dict):
            owner.value[key] = value
            owner.keys[key] = added.keys[key]


def _member(owner: Node, name: str) -> Node | None:
    """A field or an instance of a type."""
    seq = owner.get("seq")
    for item in seq.items if seq is not None else []:
        ident = item.get("id")
        if ident is not None and ident.value == name:
            return item
    instances = owner.get("instances")
    return None if instances is None else instances.get(name)


def _members(owner: Node) -> list[str]:
    seq, instances = owner.get("seq"), owner.get("instances")
    found = [item.get("id") for item in (seq.items if seq is not None else [])]
    names = [str(each.value) for each in found if each is not None]
    return names + [str(each) for each in (instances.map if instances is not None else ())]
