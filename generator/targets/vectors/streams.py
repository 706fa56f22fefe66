"""Vectors of streamed types: bytes that the plan's reader takes, each of their beginnings, and changed bytes.

The value has the fields that are read in order, without instances, which are read on request.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from kodec.generator.interpreter.json_values import to_json
from kodec.generator.interpreter.streams import Node, StreamReader
from kodec.generator.plan.steps import Program
from kodec.generator.plan.streams import streams_of
from kodec.generator.schema.expression_types import Kinds
from kodec.generator.schema.model import Model, Schema, Struct
from kodec.generator.search import samples
from kodec.generator.targets.vectors.plan import SchemaVectors, Vector, error_of
from kodec.runtime.errors import FormatError, LimitExceeded
from kodec.runtime.fields import ReadOptions

__all__ = ["stream_vectors"]

_SAMPLES = 3
_MOST_BYTES = 16384
_NEAR = 48
_FAR = 8
# less than what any reader allows: what is beyond has no vectors
_OPTIONS = ReadOptions(elements=1000, depth=40, decompressed_bytes=1 << 16)


def stream_vectors(model: Model) -> Iterator[SchemaVectors]:
    """The vectors of each streamed schema that defines types."""
    if not any(schema.streamed for schema in model.schemas):
        return
    kinds = Kinds(model)
    program = streams_of(model, kinds)
    for schema in model.schemas:
        if schema.streamed and schema.structs:
            yield _of_schema(model, kinds, program, schema)


def _of_schema(model: Model, kinds: Kinds, program: Program, schema: Schema) -> SchemaVectors:
    found: list[Vector] = []
    without: list[tuple[str, str]] = []
    for struct in schema.structs:
        if struct.params:
            without.append((struct.name, f"it is given `{struct.params[0].id}` from outside"))
        elif kinds.needs_others(struct):
            without.append((struct.name, "it is read as a part of what holds it"))
        else:
            own = list(_of_type(model, program, struct))
            found += own
            if not own:
                without.append((struct.name, "no bytes were found that it is read from"))
    return SchemaVectors(schema, tuple(found), tuple(without))


def _of_type(model: Model, program: Program, struct: Struct) -> Iterator[Vector]:
    def read(data: bytes) -> tuple[Any, int]:
        reader = StreamReader(program, data, _OPTIONS)
        return _shown(reader.read(struct.name)), reader.stream.at

    judged: set[bytes] = set()
    for number, made in enumerate(islice(samples(model, read), _SAMPLES), 1):
        for what, data in _near(made.data):
            if data in judged:
                continue
            judged.add(data)
            tests = f"values {number}{what}"
            try:
                vector = _vector(struct.name, tests, data, value=read(data)[0])
            except LimitExceeded:
                continue
            except FormatError as error:
                vector = _vector(struct.name, tests, data, error=error_of(error))
            if len(repr(vector.value)) <= _MOST_BYTES:
                yield vector


def _near(data: bytes) -> Iterator[tuple[str, bytes]]:
    """(changed part, bytes): all of the first positions, and some of the rest."""
    yield "", data
    near = min(len(data), _NEAR)
    places = [*range(near), *range(near, len(data), max(1, (len(data) - near) // _FAR))]
    for at in places:
        yield f", ends at byte {at}", data[:at]
    for at in places:
        for mask in (0x01, 0xFF):
            changed = bytes([data[at] ^ mask])
            yield f", byte {at} is {changed.hex()}", data[:at] + changed + data[at + 1 :]


def _vector(
    name: str, tests: str, data: bytes, *, value: Any = None, error: dict[str, Any] | None = None
) -> Vector:
    key = f"{name}/{tests.replace(',', '').replace(' ', '-')}"
    must = "accept" if error is None else "refuse"
    return Vector(key, name, None, tests, must, None, data, False, value, (), None, error)


def _shown(value: Any) -> Any:
    """The result of the plan's reader, for JSON: the fields of objects; null for a missing one."""
    if isinstance(value, Node):
        return {each.name: _shown(value.values.get(each.name)) for each in value.unit.fields}
    if isinstance(value, list):
        return [_shown(each) for each in value]
    return to_json(value)
