"""Test vectors: bytes and the values that they hold, for implementations in any language.

They are made by the generated Python modules, which are imported for it, and read back by them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from kodec.generator.modules import Modules
from kodec.generator.problems import Problem
from kodec.generator.target import File, Request, find, mark
from kodec.generator.targets.vectors.plan import SchemaVectors, vectors

__all__ = ["TARGET"]

VECTORS_VERSION = 1


class _Vectors:
    """A JSON file for each schema that has types of its own."""

    name = "vectors"
    files = ("*.vectors.json",)

    def lacks(self, request: Request) -> Iterator[Problem]:
        """What the Python modules cannot express."""
        yield from find("python").lacks(Request(request.model))

    def plan(self, request: Request) -> tuple[SchemaVectors, ...]:
        with Modules(request.model) as modules:
            return tuple(vectors(request.model, modules))

    def emit(self, plan: tuple[SchemaVectors, ...]) -> Iterator[File]:
        for found in plan:
            document = {
                "//": mark(found.schema),
                "vectors_version": VECTORS_VERSION,
                "schema": found.schema.id,
                "types": {
                    name: {
                        "valid": [
                            {"bytes": each.data.hex(), "value": each.value}
                            | ({} if each.version is None else {"version": each.version})
                            for each in of.valid
                        ],
                        "invalid": [
                            {"bytes": each.data.hex(), "error": each.error, "at": each.at}
                            for each in of.invalid
                        ],
                    }
                    for name, of in found.types.items()
                },
                "without": dict(found.without),
            }
            path = found.schema.path.removesuffix(".ksy") + ".vectors.json"
            yield File(path, json.dumps(document, indent=1, allow_nan=False) + "\n", found.schema)


TARGET = _Vectors()
