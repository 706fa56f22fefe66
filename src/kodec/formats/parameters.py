"""The parameters of a type that is read by itself: values, checked by the schema, and read from text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from kodec.generator.problems import nearest
from kodec.generator.schema.expression_types import Kind, Kinds
from kodec.generator.schema.model import Enum, Model, Param, Struct
from kodec.generator.wire import WIRE

__all__ = ["from_text", "values_of"]

_BITS = re.compile(r"b(\d+)(?:le|be)?")
_ACCEPTED: Mapping[str, tuple[type, ...]] = {
    "integer": (int,),
    "float": (float, int),
    "boolean": (bool,),
    "text": (str,),
    "bytes": (bytes, bytearray, memoryview),
    "list": (list, tuple),
}


def values_of(model: Model, struct: Struct, values: Mapping[str, Any] | None) -> tuple[Any, ...]:
    """The values of a type's parameters, in their order; that of an enum is its number.

    Raises: ValueError for one that is unknown, missing, or of another type than the schema states.
    """
    _known(struct, values or {})
    if not struct.params:
        return ()
    kinds = Kinds(model)
    missing = [param for param in struct.params if param.id not in (values or {})]
    if missing:
        listed = ", ".join(f"`{param.id}` ({_described(kinds, param)})" for param in missing)
        raise ValueError(f"`{struct.id}` has parameters, which a file does not define: give {listed}")
    assert values is not None
    return tuple(
        _checked(model, struct, param, kinds.of_param(param), values[param.id]) for param in struct.params
    )


def from_text(model: Model, struct: Struct, texts: Iterable[str]) -> dict[str, Any]:
    """The values of parameters that are written as NAME=VALUE.

    Whole numbers may be hexadecimal (0x1f), bytes are hexadecimal digits, flags true or false, values of
    enums names or numbers; the elements of a list stand between commas.
    Raises: ValueError for one that is unknown, repeated, or not of its type.
    """
    kinds = Kinds(model)
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"a parameter is written as NAME=VALUE, not {text}")
        if name in values:
            raise ValueError(f"the parameter `{name}` is given twice")
        _known(struct, [name])
        param = next(param for param in struct.params if param.id == name)
        values[name] = _parsed(struct, param, kinds.of_param(param), value)
    return values


def _known(struct: Struct, names: Iterable[str]) -> None:
    known = [param.id for param in struct.params]
    for name in names:
        if name not in known:
            hint = nearest(name, known) or (f"it has {', '.join(known)}" if known else "it has none")
            raise ValueError(f"`{struct.id}` has no parameter `{name}`: {hint}")


def _described(kinds: Kinds, param: Param) -> str:
    kind = kinds.of_param(param)
    many = "list of " if kind.name == "list" else ""
    kind = kind.of if kind.name == "list" and kind.of is not None else kind
    return many + (f"enum {param.enum}" if param.enum is not None else param.type.rpartition("::")[2])


def _parsed(struct: Struct, param: Param, kind: Kind, text: str) -> Any:
    match kind.name:
        case "list" if kind.of is not None:
            return [_parsed(struct, param, kind.of, part) for part in text.split(",")] if text else []
        case "text":
            return text
        case "boolean" if text in ("true", "false"):
            return text == "true"
        case "enum" if not re.fullmatch(r"-?[0-9].*", text):
            return text
    try:
        match kind.name:
            case "integer" | "enum":
                return int(text, 0)
            case "float":
                return float(text)
            case "bytes":
                return bytes.fromhex(text)
    except ValueError:
        pass
    how = {
        "integer": "a whole number",
        "enum": "a name or a whole number",
        "float": "a number",
        "boolean": "true or false",
        "bytes": "hexadecimal digits, two for each byte",
    }
    if kind.name not in how:
        raise ValueError(
            f"`{param.id}` of `{struct.id}` cannot be given as text: it is an object or a stream"
        )
    raise ValueError(f"`{param.id}` of `{struct.id}` is {how[kind.name]}, not {text!r}")


def _checked(model: Model, struct: Struct, param: Param, kind: Kind, value: Any) -> Any:
    if kind.name == "enum":
        return _number_of(model.enum(kind.full), struct, param, value)
    if kind.name not in _ACCEPTED:
        return value
    fits = isinstance(value, _ACCEPTED[kind.name])
    if not fits or (isinstance(value, bool) and kind.name in ("integer", "float")):
        actual = type(value).__name__
        raise ValueError(f"`{param.id}` of `{struct.id}` is of type {param.type}, not {actual}: {value!r}")
    if kind.name == "list":
        assert kind.of is not None
        return [_checked(model, struct, param, kind.of, item) for item in value]
    if kind.name == "bytes":
        return bytes(value)
    if kind.name == "float":
        return float(value)
    reach = _range(param.type) if kind.name == "integer" else None
    if reach is not None and not reach[0] <= value <= reach[1]:
        low, high = reach
        raise ValueError(f"`{param.id}` of `{struct.id}` is {low} to {high} ({param.type}), not {value}")
    return value


def _range(name: str) -> tuple[int, int] | None:
    """The least and the largest number of a type; None for one that is no number of fixed width."""
    bits = _BITS.fullmatch(name)
    if bits is not None:
        return 0, (1 << int(bits[1])) - 1
    wire = WIRE.get(name.removesuffix("le").removesuffix("be"))
    return None if wire is None else wire.range


def _number_of(enum: Enum, struct: Struct, param: Param, value: Any) -> int:
    """The number of an enum's name, or of what is one already."""
    if isinstance(value, str):
        for item in enum.items:
            if item.id == value:
                return item.value
        names = [item.id for item in enum.items]
        hint = nearest(value, names) or f"names: {', '.join(names[:20])}"
        raise ValueError(f"`{param.id}` of `{struct.id}`: `{enum.name}` has no `{value}`; {hint}")
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    raise ValueError(f"`{param.id}` of `{struct.id}` is a name or a number of `{enum.name}`, not {value!r}")
