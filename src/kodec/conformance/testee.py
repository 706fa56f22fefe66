"""A testee of the Python that is generated of schemas, and an example of one.

    python -m kodec.conformance.testee [SCHEMAS]      with KODEC_PURE=1 no native code

It reads a request a line and answers a line, as docs/conformance.md says.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from enum import IntEnum
from pathlib import Path
from typing import Any

from kodec.generator.driver import load
from kodec.generator.interpreter.plain import Values, plain
from kodec.generator.modules import Modules
from kodec.generator.plan.build import program_of
from kodec.generator.schema.model import Model
from kodec.generator.targets.python.index import ModelIndex
from kodec.generator.targets.python.names import attribute
from kodec.generator.targets.vectors.plan import error_of
from kodec.runtime.errors import EncodeError, FormatError
from kodec.runtime.fields import ReadOptions
from kodec.runtime.messages import in_python

__all__ = ["PythonTestee"]


class PythonTestee:
    """Answers requests by the generated classes of a model."""

    def __init__(self, model: Model, modules: Modules) -> None:
        back = ModelIndex(model)
        program = program_of(model)
        self._classes = {
            name: getattr(modules.of(model.schema_of(name)), back.classes[name])
            for name, unit in program.units.items()
            if unit.stands_for is None
        }
        self._told = {
            name: unit.version_name if unit.told_version else ""
            for name, unit in program.units.items()
            if name in self._classes and [each.name for each in unit.parameters] in ([], [unit.version_name])
        }
        self._names = {
            name: {attribute(each.name): each.name for each in program.units[name].fields if each.kept}
            for name in self._classes
        }
        self._units = {kind: name for name, kind in self._classes.items()}
        self._values = Values(program, self._object)

    def _object(self, unit: str, fields: dict[str, Any]) -> Any:
        return self._classes[unit](**{attribute(name): each for name, each in fields.items()})

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request, without its number."""
        verb, kind = request["do"], request.get("type")
        if verb == "hello":
            return self._hello()
        if kind not in self._told:
            return {"unsupported": f"no type {kind}"}
        told = {self._told[kind]: request["version"]} if self._told[kind] else {}
        if verb == "encode":
            return self._encoded(kind, request["value"], told)
        try:
            exact, limit = request.get("exact", False), request.get("limit")
            opt = ReadOptions() if limit is None else ReadOptions(decompressed_bytes=limit)
            value = self._classes[kind].from_bytes(bytes.fromhex(request["bytes"]), opt, exact=exact, **told)
        except FormatError as error:
            return {"error": error_of(error)}
        answer = {"value": self._plain(value)}
        if verb == "round_trip":
            written = self._written(value, told)
            answer |= (
                {"bytes": written["bytes"]} if "bytes" in written else {"encode_error": written["error"]}
            )
        return answer

    def _hello(self) -> dict[str, Any]:
        native = any(in_python(each.from_bytes) is not each.from_bytes for each in self._classes.values())
        return {
            "protocol": 1,
            "name": "kodec-python",
            "language": "Python" if native else "Python, pure",
            "version": ".".join(map(str, sys.version_info[:3])),
            "does": ["decode", "encode", "round_trip"],
            "types": list(self._told),
        }

    def _encoded(self, kind: str, value: Any, told: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._written(self._values.of(kind, value), told)
        except ValueError as error:
            return {"error": {"code": "not_encodable", "path": getattr(error, "path", "")}}

    def _written(self, value: Any, told: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"bytes": value.to_bytes(**told).hex()}
        except EncodeError as error:
            return {"error": error_of(error)}

    def _plain(self, value: Any) -> Any:
        if isinstance(value, IntEnum):
            return int(value)
        if isinstance(value, list):
            return [self._plain(each) for each in value]
        if dataclasses.is_dataclass(value):
            names = self._names[self._units[type(value)]]
            return {field: self._plain(getattr(value, name)) for name, field in names.items()}
        return plain(value)


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
