"""Test vectors: bytes and the values that they hold, for implementations in any language.

The plan itself makes them, independent of generated code, so they test every language, also Python.
`vectors.schema.json` is the contract of the files, docs/conformance.md explains it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from kodec.generator.problems import SchemaProblem
from kodec.generator.target import File, Request, mark
from kodec.generator.targets.vectors.plan import SchemaVectors, vectors
from kodec.generator.targets.vectors.streams import stream_vectors

__all__ = ["CONTRACT", "TARGET", "VECTORS_VERSION"]

VECTORS_VERSION = 2
CONTRACT = Path(__file__).parent / "vectors.schema.json"
"""The JSON schema of a file of vectors."""


class _Vectors:
    """A JSON file for each schema that defines types; a vector is a line."""

    name = "vectors"
    files = ("*.vectors.json",)

    def lacks(self, request: Request) -> tuple[SchemaProblem, ...]:
        return ()

    def plan(self, request: Request) -> tuple[SchemaVectors, ...]:
        return (*vectors(request.model), *stream_vectors(request.model))

    def emit(self, plan: tuple[SchemaVectors, ...]) -> Iterator[File]:
        for found in plan:
            head = {
                "//": mark(found.schema),
                "vectors_version": VECTORS_VERSION,
                "schema": found.schema.id,
                "without": dict(found.without),
            }
            start = json.dumps(head, indent=1).removesuffix("\n}")
            lines = ",\n".join(f"  {json.dumps(each.to_json(), allow_nan=False)}" for each in found.vectors)
            path = found.schema.path.removesuffix(".ksy") + ".vectors.json"
            yield File(path, f'{start},\n "vectors": [\n{lines}\n ]\n}}\n', found.schema)


TARGET = _Vectors()
