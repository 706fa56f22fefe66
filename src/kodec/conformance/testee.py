"""A testee for the Python generated from schemas, and an example of one.

    python -m kodec.conformance.testee [SCHEMAS]      with KODEC_PURE=1 no native code

It reads a request per line and answers with a line: see docs/conformance.md.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from enum import IntEnum
from pathlib import Path
from typing import Any

from kodec.generator.driver import load
from kodec.generator.json_values import JsonValues, to_json
from kodec.generator.modules import Modules
from kodec.generator.plan.build import program_of
from kodec.generator.plan.steps import Program
from kodec.generator.plan.streams import streams_of
from kodec.generator.plan.values import OCTETS, scalar
from kodec.generator.schema.expression_types import Kinds
from kodec.generator.schema.model import Model
from kodec.generator.targets.python.names import ClassNames, argument, attribute
from kodec.generator.targets.vectors.plan import error_of
from kodec.runtime.errors import EncodeError, FormatError
from kodec.runtime.fields import ReadOptions
from kodec.runtime.messages import in_python

__all__ = ["PythonTestee"]


class PythonTestee:
    """Answers requests by the generated classes of a model; `classes` maps type names to them."""

    def __init__(self, model: Model, modules: Modules) -> None:
        back = ClassNames(model)
        program = program_of(model)
        self.classes = {
            name: getattr(modules.of(model.schema_of(name)), back.classes[name])
            for name, unit in program.units.items()
            if unit.stands_for is None
        }
        streams = streams_of(model, Kinds(model)).units
        stream_classes = {
            name: getattr(modules.of(model.schema_of(name)), back.classes[name]) for name in streams
        }
        self._units = {name: program.units[name] for name in self.classes}
        self._units |= {
            name: unit
            for name, unit in streams.items()
            if unit.streamed is not None and not unit.streamed.part
        }
        self._fields = {
            kind: {field.name: attribute(field.name) for field in units[name].fields if field.kept}
            for kinds, units in ((self.classes, program.units), (stream_classes, streams))
            for name, kind in kinds.items()
        }
        self._constructors = {**self.classes, **stream_classes}
        self._values = JsonValues(Program({**program.units, **streams}), self._object)

    def _object(self, unit: str, fields: dict[str, Any]) -> Any:
        kind, members = self._constructors[unit], {attribute(name): value for name, value in fields.items()}
        instance = kind(
            **{name: value for name, value in members.items() if kind.__dataclass_fields__[name].init}
        )
        for name, value in members.items():
            setattr(instance, name, value)
        return instance

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request, without its number."""
        verb, kind = request["do"], request.get("type")
        if verb == "hello":
            return self._hello()
        if kind not in self._units:
            return {"unsupported": f"no type {kind}"}
        unit = self._units[kind]
        arguments = request.get("arguments", {})
        if unit.version_is_passed:
            arguments = {**arguments, unit.version_name: request["version"]}
        parameters = {parameter.name: scalar(parameter.type) for parameter in unit.parameters}
        if arguments.keys() != parameters.keys():
            return {"unsupported": f"{kind} has other parameters"}
        keywords = {
            argument(name): bytes.fromhex(value) if parameters[name] == OCTETS else value
            for name, value in arguments.items()
        }
        if verb == "encode":
            return self._encoded(kind, request["value"], keywords)
        try:
            exact, limit = request.get("exact", False), request.get("limit")
            opt = ReadOptions() if limit is None else ReadOptions(decompressed_bytes=limit)
            value = self._constructors[kind].from_bytes(
                bytes.fromhex(request["bytes"]), opt=opt, exact=exact, **keywords
            )
        except FormatError as error:
            return {"error": error_of(error)}
        answer = {"value": self.shown(value)}
        requested = request.get("instances")
        if requested is not None:
            answer["instances"] = {
                path: {name: self._instance(value, path, name) for name in names}
                for path, names in requested.items()
            }
        if verb == "round_trip":
            written = self._written(value, keywords)
            answer |= (
                {"bytes": written["bytes"]} if "bytes" in written else {"encode_error": written["error"]}
            )
        return answer

    def _instance(self, value: Any, path: str, name: str) -> dict[str, Any]:
        """An instance of the object at a path."""
        for step, index in re.findall(r"(\w+)|\[(\d+)\]", path):
            value = value[int(index)] if index else getattr(value, attribute(step))
        try:
            return {"value": self.shown(getattr(value, attribute(name)))}
        except FormatError as error:
            return {"error": error_of(error)}

    def _hello(self) -> dict[str, Any]:
        native = any(
            in_python(python_class.from_bytes) is not python_class.from_bytes
            for python_class in self.classes.values()
        )
        return {
            "protocol": 1,
            "name": "kodec-python",
            "language": "Python" if native else "Python, pure",
            "version": ".".join(map(str, sys.version_info[:3])),
            "does": ["decode", "encode", "round_trip", "arguments", "instances"],
            "types": list(self._units),
        }

    def _encoded(self, kind: str, value: Any, keywords: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._written(self.object_of(kind, value), keywords)
        except ValueError as error:
            return {"error": {"code": "not_encodable", "path": getattr(error, "path", "")}}

    def _written(self, value: Any, keywords: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"bytes": value.to_bytes(**keywords).hex()}
        except EncodeError as error:
            return {"error": error_of(error)}

    def object_of(self, kind: str, value: Any) -> Any:
        """The object of a type with a value of JSON. Raises ValueError for unsupported values."""
        return self._values.of(kind, value)

    def shown(self, value: Any) -> Any:
        """An object as JSON has it."""
        if isinstance(value, IntEnum):
            return int(value)
        if isinstance(value, list):
            return [self.shown(item) for item in value]
        if dataclasses.is_dataclass(value):
            names = self._fields[type(value)]
            return {field: self.shown(getattr(value, name)) for field, name in names.items()}
        return to_json(value)


def main(arguments: list[str]) -> None:
    """Answer until the requests end."""
    folder = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[1] / "schemas"
    model = load(folder)
    with Modules(model) as modules:
        testee = PythonTestee(model, modules)
        for line in sys.stdin:
            request = json.loads(line)
            print(json.dumps({"id": request["id"], **testee.answer(request)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
