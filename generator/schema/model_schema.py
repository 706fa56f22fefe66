"""The JSON schema of `model.json`, derived from the classes of the model."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any

from kodec.generator.problems import Place
from kodec.generator.schema.expr import Expr
from kodec.generator.schema.model import MODEL_VERSION, Model, TypeRef
from kodec.generator.schema.versions import VersionRange
from kodec.generator.text import Text

__all__ = ["model_schema"]

_PLAIN: Mapping[Any, Mapping[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    float: {"type": "number"},
    bytes: {"type": "string", "pattern": "^([0-9a-f]{2})*$"},
    type(None): {"type": "null"},
    Text: {"type": "string"},
    VersionRange: {"type": "string"},
}


def model_schema() -> dict[str, Any]:
    """The JSON schema of `model.json`: absent fields that are not required have their default."""
    found: dict[str, Any] = {}
    schemas = _of(typing.get_type_hints(Model)["schemas"], found)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The model of Kaitai schemas as kodec.generator reads them",
        "type": "object",
        "required": ["model_version", "schemas"],
        "properties": {
            "//": {"type": "string"},
            "model_version": {"const": MODEL_VERSION},
            "schemas": schemas,
        },
        "additionalProperties": False,
        "$defs": dict(sorted(found.items())),
    }


def _of(kind: Any, found: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema for a value of that type; its classes are added to `found`."""
    if kind in _PLAIN:
        return dict(_PLAIN[kind])
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        shapes = [_of(each, found) for each in inner]
        unique = [each for index, each in enumerate(shapes) if each not in shapes[:index]]
        return unique[0] if len(unique) == 1 else {"anyOf": unique}
    if origin is tuple and inner[-1] is Ellipsis:
        return {"type": "array", "items": _of(inner[0], found)}
    if origin is tuple:
        shapes = [_of(each, found) for each in inner]
        return {"type": "array", "prefixItems": shapes, "items": False, "minItems": len(shapes)}
    if isinstance(kind, type) and issubclass(kind, Expr):
        return {"type": "string", "description": "an expression of Kaitai Struct"}
    if not dataclasses.is_dataclass(kind):
        raise TypeError(f"no JSON for {kind}")
    assert isinstance(kind, type)
    name = kind.__name__
    if name not in found:
        found[name] = {}
        found[name] = _class(kind, found)
    return {"$ref": f"#/$defs/{name}"}


def _class(kind: type, found: dict[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    properties: dict[str, Any] = {}
    required = []
    if kind in typing.get_args(TypeRef):
        properties["kind"] = {"const": kind.__name__.lower()}
        required.append("kind")
    for spec in dataclasses.fields(kind):
        hint = hints[spec.name]
        if hint is Place or typing.get_origin(hint) is Mapping:
            continue
        properties[spec.name] = _of(hint, found)
        if spec.default is dataclasses.MISSING:
            required.append(spec.name)
    about = (kind.__doc__ or "").partition("\n\n")[0]
    return {
        "description": " ".join(about.split()),
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": False,
    }
