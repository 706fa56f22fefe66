"""Merges a new schema with the existing one: facts follow the definition, the rest stays."""

from __future__ import annotations

from typing import Any

from kodec.generator.schema.implied import NAMES
from kodec.importer.definitions import MessageDef
from kodec.importer.schemas import snake

__all__ = ["merged", "names_in"]

Tree = dict[Any, Any]
# absent from a definition: unchanged in the file
_KEPT_IN_TYPE = ("doc", "doc-ref", "to-string", "-row", "instances", "enums", "-affected-by")
_KEPT_IN_FIELD = ("doc", "doc-ref", "enum", "-column")
_KEPT_WHERE_UNSAID = ("valid", "-valid")


def names_in(tree: Tree, message: MessageDef) -> dict[tuple[str, str], str]:
    """The existing schema's names of fields, by the names of the definition."""
    structs = {snake(name): name for name in message.structs}
    names = _names(tree, message.name, tree)
    for ident, subtree in _mapping(tree, "types").items():
        name = str(subtree.get("-orig-id") or structs.get(str(ident), ident))
        names |= _names(tree, name, subtree)
    # tags stand in types of their own, which are named after the type that they belong to
    for ident, subtree in _mapping(tree, "types").items():
        owner = str(ident).removesuffix("_tag")
        struct = structs.get(owner, message.name)
        for field in _list(subtree, "seq"):
            for tag in _mapping(field, "-tags").values():
                if name := _name(tree, tag if isinstance(tag, dict) else {"id": tag}):
                    names[struct, name] = str(tag["id"] if isinstance(tag, dict) else tag)
    return names


def _names(root: Tree, struct: str, tree: Tree) -> dict[tuple[str, str], str]:
    fields = [field for field in _list(tree, "seq") if "id" in field]
    return {(struct, name): str(field["id"]) for field in fields if (name := _name(root, field))}


def _name(root: Tree, spec: Tree) -> str:
    """The name of a field in the definition: its own, or one in the style of the schema."""
    style = NAMES.get(root.get("-names", ""))
    return str(spec.get("-orig-id", "" if style is None else style(str(spec["id"]))))


def _mapping(tree: Any, key: str) -> dict[Any, Any]:
    value = tree.get(key) if isinstance(tree, dict) else None
    return value if isinstance(value, dict) else {}


def _list(tree: Any, key: str) -> list[Any]:
    value = tree.get(key) if isinstance(tree, dict) else None
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def merged(new: Tree, old: Tree) -> Tree:
    """The new schema with the old one's additions to the definition: texts, names, columns, rows, enums."""
    tree = _type(new, old)
    meta = {**_mapping(new, "meta"), **_mapping(old, "meta")}
    imports = {*_strings(new, "imports"), *_strings(old, "imports")}
    if imports:
        meta["imports"] = sorted(imports)
    order = [*_mapping(old, "meta"), *_mapping(new, "meta")]
    if "imports" not in _mapping(old, "meta"):
        order = [*_mapping(new, "meta"), *_mapping(old, "meta")]
    tree["meta"] = {key: meta[key] for key in dict.fromkeys(order)}
    return tree


def _strings(tree: Tree, key: str) -> list[str]:
    value = _mapping(tree, "meta").get(key)
    return [str(item) for item in value] if isinstance(value, list) else []


def _type(new: Tree, old: Tree) -> Tree:
    tree = dict(new)
    for key, value in old.items():
        if key in _KEPT_IN_TYPE or (str(key).startswith("-webide-")):
            tree[key] = value
    for part in ("seq", "params"):
        old_fields = {field.get("id"): field for field in _list(old, part)}
        if part in new:
            tree[part] = [_field(field, old_fields.get(field["id"], {})) for field in new[part]]
    if "types" in new:
        types = _mapping(old, "types")
        tree["types"] = {
            name: _type(subtree, _as_tree(types.get(name))) for name, subtree in new["types"].items()
        }
    return tree


def _as_tree(value: Any) -> Tree:
    return value if isinstance(value, dict) else {}


def _field(new: Tree, old: Tree) -> Tree:
    tree = dict(new)
    for key, value in old.items():
        keep = key in _KEPT_IN_FIELD or str(key).startswith("-webide-")
        unsaid = key in _KEPT_WHERE_UNSAID and key not in new
        # the version in front is the format's own, whose default no definition has
        front = key == "-default" and new["id"] == "version"
        if keep or unsaid or front:
            tree[key] = value
    if "-tags" in new:
        tags = _mapping(old, "-tags")
        tree["-tags"] = {
            number: _field(tag, _as_tree(tags.get(number))) for number, tag in new["-tags"].items()
        }
    return tree
