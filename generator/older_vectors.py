"""Vectors that are older than a field of their type, as those that were observed."""

from __future__ import annotations

import json
from typing import Any

from kodec.generator.code.machine import Code, Machine
from kodec.generator.code.objects import Object
from kodec.generator.json_values import to_json
from kodec.generator.plan.steps import Program
from kodec.runtime.errors import FormatError

__all__ = ["with_new_fields"]


def with_new_fields(program: Program, text: str) -> str:
    """A file of vectors whose values have the fields that a schema has gained since, with their defaults.

    Only those that a condition leaves out of the bytes, or that hold nothing, as a flag of bits that were
    reserved before. The text is the same if there are none, and that of other files.
    """
    try:
        document = json.loads(text)
        code = Code(program)
        added = sum(_complete(code, each) for each in document["vectors"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return text
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n" if added else text


def _complete(code: Code, vector: dict[str, Any]) -> int:
    """Add the fields that a vector lacks; returns how many."""
    unit = code.program.units.get(vector["type"])
    if unit is None or "bytes" not in vector or "value" not in vector:
        return 0
    given = vector.get("arguments", {})
    told = tuple(given.get(each.name, vector.get("version")) for each in unit.parameters)
    data = bytes.fromhex(vector["bytes"])
    try:
        value = Machine(code, data).read(unit.name, told)
    except FormatError:
        return 0
    return _add(vector["value"], value)


def _add(old: Any, found: Any) -> int:
    if isinstance(old, list) and isinstance(found, list):
        return sum(_add(one, other) for one, other in zip(old, found, strict=False))
    if not isinstance(old, dict) or not isinstance(found, Object):
        return 0
    more = [name for name in found if name not in old]
    new = {name: to_json(found[name]) for name in more if name in found.unset or not found[name]}
    inner = sum(_add(value, found.get(name)) for name, value in old.items())
    old |= new
    return len(new) + inner
