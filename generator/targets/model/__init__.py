"""The model as JSON, from which a tool in another language can start."""

from __future__ import annotations

from collections.abc import Iterator

from kodec.generator.problems import SchemaProblem
from kodec.generator.schema.model import Model, to_json
from kodec.generator.target import File, Request, mark

__all__ = ["TARGET"]


class _Model:
    """One file, `model.json`. Its plan is the model itself."""

    name = "model"
    files = ("model.json",)

    def lacks(self, request: Request) -> tuple[SchemaProblem, ...]:
        return ()

    def plan(self, request: Request) -> Model:
        return request.model

    def emit(self, plan: Model) -> Iterator[File]:
        yield File("model.json", to_json(plan, mark()))


TARGET = _Model()
