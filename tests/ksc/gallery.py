"""The record formats as a contribution to the public gallery of Kaitai (kaitai-io/kaitai_struct_formats).

    python tests/ksc/gallery.py OUT      writes OUT/log/kafka_*.ksy and OUT/serialization/kafka_*.ksy

There every format has a name of its own, so ids begin with `kafka_`. Keys of our own extensions are left out;
names, texts and expressions stay. Copy OUT over a fork of the repository.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import oracle

from kodec.generator.problems import Problems
from kodec.generator.schema.build import load_units
from kodec.generator.schema.files import Unit
from kodec.generator.schema.implied import written_out
from kodec.importer.text import ordered, text_of, tree_of

__all__ = ["FORMATS", "gallery"]

FORMATS = (
    "log/log_segment", "log/message_set", "log/record", "log/record_batch", "log/offset_index",
    "log/time_index", "log/transaction_index", "log/producer_snapshot", "primitives/varint",
    "primitives/varlong",
)  # fmt: skip
_FOLDERS = {"log": "log", "primitives": "serialization"}
_KEPT = ("-orig-id",)


def gallery(schemas: Path = oracle.SCHEMAS) -> dict[str, str]:
    """The files by their paths in the gallery. Raises: OSError; ValueError for a missing import."""
    names = {path.rpartition("/")[2]: path for path in FORMATS}
    units = {unit.path: unit for unit in written_out(load_units(schemas, Problems()), Problems()).values()}
    found = {}
    for path in FORMATS:
        tree = tree_of((schemas / f"{path}.ksy").read_text("utf-8"), path)
        tree = ordered(_with_names(tree, units[f"{path}.ksy"], tree["meta"]["id"]))
        own = set(tree.get("types", {}))
        tree = _own(_plain(tree), names.keys() - own)
        meta = tree["meta"]
        meta["id"] = _named(path)[1]
        if "imports" in meta:
            places = [each.rpartition("/")[2] for each in meta["imports"]]
            if missing := [each for each in places if each not in names]:
                raise ValueError(f"{path}: imports {missing}, which are not in the gallery")
            meta["imports"] = [f"/{'/'.join(_named(names[each]))}" for each in places]
        found["/".join(_named(path)) + ".ksy"] = text_of(tree)
    return found


def _with_names(tree: dict[Any, Any], unit: Unit, name: str) -> dict[Any, Any]:
    """With the names of fields that `-names` gives."""
    seq = unit.types[name].get("seq")
    fields = []
    for field, node in zip(tree.get("seq", ()), seq.items if seq is not None else (), strict=True):
        named = node.get("-orig-id")
        fields.append(field if named is None else {**field, "-orig-id": named.value})
    found = {**tree, "seq": fields} if fields else dict(tree)
    if "types" in tree:
        found["types"] = {
            key: _with_names(each, unit, f"{name}::{key}") for key, each in tree["types"].items()
        }
    return found


def _named(path: str) -> tuple[str, str]:
    """The folder and the id of a format in the gallery."""
    folder, _, name = path.partition("/")
    return _FOLDERS[folder], f"kafka_{name}"


def _plain(value: Any) -> Any:
    """Without the keys of our extensions."""
    if isinstance(value, dict):
        return {
            key: _plain(each) for key, each in value.items() if not str(key).startswith("-") or key in _KEPT
        }
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _own(value: Any, imported: Any) -> Any:
    """With the names of imported types as they are in the gallery."""
    if isinstance(value, list):
        return [_own(each, imported) for each in value]
    if not isinstance(value, dict):
        return value
    found = {key: _own(each, imported) for key, each in value.items()}
    if isinstance(kind := found.get("type"), str):
        found["type"] = _renamed(kind, imported)
    if "switch-on" in found:
        found["cases"] = {key: _renamed(each, imported) for key, each in found["cases"].items()}
    if isinstance(doc := found.get("doc"), str):
        found["doc"] = re.sub(r"`(\w+)`", lambda m: f"`kafka_{m[1]}`" if m[1] in imported else m[0], doc)
    return found


def _renamed(kind: str, imported: Any) -> str:
    head = re.split(r"::|\(", kind)[0]
    return f"kafka_{kind}" if head in imported else kind


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    for path, text in gallery().items():
        place = Path(arguments[0]) / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
        print(place)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
