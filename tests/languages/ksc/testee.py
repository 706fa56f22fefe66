"""A testee of ksc's Python readers, in the package `readers`; the table says what is what.

python testee.py TABLE
"""

from __future__ import annotations

import importlib
import io
import json
import math
import sys
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import kaitaistruct
from kaitaistruct import KaitaiStream

TABLE = json.loads(Path(sys.argv[1]).read_text())
TYPES = TABLE["types"]


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def class_of(name: str) -> Any:
    head, *path = TYPES[name]["class"]
    found = getattr(importlib.import_module(f"readers.{head}"), camel(head))
    for each in path:
        found = getattr(found, camel(each))
    return found


def name_of(value: Any) -> str:
    """The type of an object: readers have no other sign of it than their class."""
    module = type(value).__module__.rpartition(".")[2]
    path = type(value).__qualname__.split(".")[1:]
    wanted = [module, *path]
    return next(
        name for name, each in TYPES.items() if [each["class"][0], *map(camel, each["class"][1:])] == wanted
    )


def plain(value: Any, shape: dict[str, Any]) -> Any:
    if value is None:
        return None
    if "list" in shape:
        return [plain(each, shape["list"]) for each in value]
    if "type" in shape:
        return plain(value, TYPES[shape["type"]]["shape"])
    if "at" in shape:
        return plain(getattr(value, shape["at"], None), shape["of"])
    if "fields" in shape:
        return fields(value, shape)
    match shape["kind"]:
        case "any":
            if isinstance(value, bytes):
                return value.hex()
            return plain(value, {"type": name_of(value)})
        case "number":
            number = value.value if isinstance(value, Enum) else int(value)
            return number if abs(number) < 1 << 53 else str(number)
        case "float":
            return value if math.isfinite(value) else str(value)
        case "uuid":
            return str(UUID(bytes=value))
        case "bytes":
            return value.hex()
    return value


def fields(value: Any, shape: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for name, each in shape["fields"].items():
        if "section" not in each:
            made = plain(getattr(value, name, None), each)
            found[name] = shape["defaults"].get(name) if made is None else made
            continue
        unknown = []
        section = getattr(value, name, None)
        for tag in getattr(section, each["section"]) if section is not None else ():
            known = each["known"].get(str(tag.tag.value))
            body = getattr(tag, each["body"])
            if known is None or isinstance(body, bytes):
                unknown.append({"number": tag.tag.value, "data": plain(body, {"kind": "any"})})
            else:
                found[known[0]] = plain(body, known[1])
        found[name] = unknown
    for name, default in shape["defaults"].items():
        found.setdefault(name, default)
    return found


def answered(asked: dict[str, Any]) -> dict[str, Any]:
    if asked["do"] == "hello":
        version = f"ksc, kaitaistruct {kaitaistruct.__version__}, Python {sys.version.split()[0]}"
        hello = {"protocol": 1, "name": "ksc-python", "language": "Python", "version": version}
        return hello | {"does": ["decode"], "types": TABLE["asked"]}
    told = TYPES[asked["type"]]["told"]
    given = [asked["version"]] if told else []
    data = bytes.fromhex(asked["bytes"])
    try:
        stream = KaitaiStream(io.BytesIO(data))
        value = class_of(asked["type"])(*given, stream)
        if asked.get("exact") and not stream.is_eof():
            return {"error": {"code": "malformed"}}
        return {"value": plain(value, {"type": asked["type"]})}
    except Exception as error:
        return {"error": {"reason": type(error).__name__}}


for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], **answered(request)}), flush=True)
