"""A program as JSON and back: for tests, and for printers in other languages.

A node is an object whose `is` names it, with the attributes that are not their defaults; tuples are lists.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from kodec.generator.plan import steps, values
from kodec.generator.plan.steps import Program
from kodec.generator.schema.versions import VersionRange

__all__ = ["from_json", "to_json"]

_NODES: dict[str, type] = {
    name: found
    for module in (steps, values)
    for name, found in vars(module).items()
    if isinstance(found, type) and dataclasses.is_dataclass(found)
} | {"VersionRange": VersionRange}


def to_json(program: Program) -> str:
    """The program as text; the same one gives the same text."""
    return json.dumps(_plain(program), indent=1, ensure_ascii=False) + "\n"


def from_json(text: str) -> Program:
    """The program that `to_json` was given."""
    found = _node(json.loads(text))
    assert isinstance(found, Program)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"is": "bytes", "hex": value.hex()}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {"is": "units", "units": [_plain(each) for each in value.values()]}
    if dataclasses.is_dataclass(value):
        given = {each.name: (getattr(value, each.name), each.default) for each in dataclasses.fields(value)}
        kept = {
            name: _plain(found)
            for name, (found, usual) in given.items()
            if found != usual or type(found) is not type(usual)
        }
        return {"is": type(value).__name__, **kept}
    return value


def _node(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_node(each) for each in value)
    if not isinstance(value, dict):
        return value
    match value.pop("is"):
        case "bytes":
            return bytes.fromhex(value["hex"])
        case "units":
            return {each.name: each for each in _node(value["units"])}
        case name:
            return _NODES[name](**{key: _node(each) for key, each in value.items()})
