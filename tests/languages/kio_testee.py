"""A testee of kio, a codec of Kafka's messages in Python and Rust: a judge of the messages that it has.

python -m tests.languages.kio_testee        with kio on PYTHONPATH
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.metadata
import io
import json
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import kio.schema
from kio.serial import entity_reader, entity_writer

from kodec.generator.driver import load
from kodec.generator.json_values import JsonValues, to_json
from kodec.generator.plan.build import program_of
from kodec.generator.plan.values import IDENTITY, SECTION, ListOf, Maybe, ObjectOf, Type
from kodec.generator.schema.model import Model

from .peer_testee import bare, has_version, kafkas_names

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"


class KioTestee:
    """Answers requests by kio's entities; a message without a field for its version has an int16 in front."""

    def __init__(self, model: Model) -> None:
        program = self._program = program_of(model)
        self._kafkas = kafkas_names(model)
        self._values = JsonValues(program, lambda unit, fields: (unit, fields))
        folders = {bare(each.name): each.name for each in pkgutil.iter_modules(kio.schema.__path__)}
        names = (name for name, unit in program.units.items() if has_version(unit))
        self._folders = {name: folders[bare(name)] for name in names if bare(name) in folders}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request, without its number."""
        if request["do"] == "hello":
            version = importlib.metadata.version("kio")
            says = {"protocol": 1, "name": "kio", "language": "kio", "version": version}
            return says | {"does": ["decode", "encode"], "types": list(self._folders)}
        try:
            return (self._encoded if request["do"] == "encode" else self._decoded)(request)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a panic of kio's Rust is no Exception
            return {"error": {"reason": f"{type(error).__name__}: {error}"}}

    def _module(self, kind: str, version: int) -> Any:
        try:
            return importlib.import_module(f"kio.schema.{self._folders[kind]}.v{version}.data")
        except ModuleNotFoundError:
            return None

    def _decoded(self, request: dict[str, Any]) -> dict[str, Any]:
        kind, data = request["type"], bytes.fromhex(request["bytes"])
        version = int.from_bytes(data[:2], "big", signed=True)
        module = self._module(kind, version)
        if module is None:
            return {"unsupported": f"no version {version}"}
        entity = _entity(module, kind)
        start = 0 if "version" in _names(entity) else 2
        value, size = entity_reader(entity)(data, start)
        if request.get("exact") and start + size != len(data):
            return {"error": {"code": "malformed"}}
        return {"value": {"version": version, **dict(self._shown(kind, value))}}

    def _shown(self, unit: str, value: Any) -> Iterator[tuple[str, Any]]:
        kafkas, names = self._kafkas[unit], _names(value)
        for field in self._program.units[unit].fields:
            if field.kept and field.type is SECTION:
                yield field.name, []
            elif field.kept and (name := names.get(kafkas.get(field.name, ""))) is not None:
                yield field.name, self._of(field.type, getattr(value, name))

    def _of(self, kind: Type, value: Any) -> Any:
        match kind:
            case Maybe(inner):
                return None if value is None else self._of(inner, value)
            case ListOf(inner):
                return [self._of(inner, each) for each in value]
            case ObjectOf(unit):
                return dict(self._shown(unit, value))
        return to_json(UUID(int=0) if kind is IDENTITY and value is None else value)

    def _encoded(self, request: dict[str, Any]) -> dict[str, Any]:
        kind = request["type"]
        _, fields = value = self._values.of(kind, request["value"])
        version = fields.get("version", 0)
        module = self._module(kind, version)
        if module is None:
            return {"unsupported": f"no version {version}"}
        if '"tagged_fields": [{' in json.dumps(request["value"]):
            return {"unsupported": "kio has no unknown tags"}
        entity = _entity(module, kind)
        out = io.BytesIO()
        if "version" not in _names(entity):
            out.write(version.to_bytes(2, "big", signed=True))
        entity_writer(entity)(out, self._made(module, entity, value))
        return {"bytes": out.getvalue().hex()}

    def _made(self, module: Any, entity: Any, value: Any) -> Any:
        if isinstance(value, list):
            return tuple(self._made(module, None, each) for each in value)
        if not isinstance(value, tuple):
            return value
        unit, fields = value
        entity = entity or _entity(module, unit.rpartition("::")[2])
        names = _names(entity)
        given = ((names.get(self._kafkas[unit].get(name, "")), each) for name, each in fields.items())
        return entity(**{name: self._made(module, None, each) for name, each in given if name is not None})


def _names(entity: Any) -> dict[str, str]:
    """The names of an entity's fields, by what they are without case and underscores."""
    return {bare(each.name): each.name for each in dataclasses.fields(entity)}


def _entity(module: Any, name: str) -> Any:
    found = (each for key, each in vars(module).items() if bare(key) == bare(name))
    return next(each for each in found if dataclasses.is_dataclass(each))


def main() -> None:
    """Answer until the requests end."""
    testee = KioTestee(load(SCHEMAS))
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps({"id": request["id"], **testee.answer(request)}), flush=True)


if __name__ == "__main__":
    main()
