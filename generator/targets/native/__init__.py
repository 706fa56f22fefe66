"""Native kernels of rows and columns: plain C, under the one set of bindings that all kernels have."""

from __future__ import annotations

from collections.abc import Iterator

from kodec.generator.passes import read_from_streams
from kodec.generator.plan.rows import NoRows
from kodec.generator.problems import SchemaProblem
from kodec.generator.schema.model import Schema
from kodec.generator.target import File, Request, mark
from kodec.generator.targets.native.emit import render_kernel
from kodec.generator.targets.native.kernel import PlannedKernel, kernel_of, planned

__all__ = ["TARGET"]

FOLDER = "kernels"


class _Native:
    """Its files in `kernels/` for each schema that is named."""

    name = "native"
    files = tuple(f"{FOLDER}/{name}" for name in ("*.c", "*.h", "*.pyi", "*.pyx", "__init__.py"))

    def lacks(self, request: Request) -> Iterator[SchemaProblem]:
        """Of a schema that is named: why it has no kernel."""
        for schema in self._schemas(request):
            if schema.streamed:
                yield from read_from_streams(request.model, [schema], "a native kernel")
                continue
            try:
                planned(request.model, schema)
            except NoRows as error:
                place = error.place or schema.root.place
                yield SchemaProblem(place, schema.id, f"it cannot have a native kernel: {error}")

    def plan(self, request: Request) -> list[PlannedKernel]:
        return [planned(request.model, schema) for schema in self._schemas(request)]

    def emit(self, plan: list[PlannedKernel]) -> Iterator[File]:
        sources: dict[str, str] = {}
        for each in plan:
            texts, sources[each.name] = render_kernel(each)
            for name, text in texts.items():
                yield File(f"{FOLDER}/{name}", text, each.schema)
        if plan:
            lines = [f"# {mark()}", '"""Native kernels made from the schemas, where they are built."""', ""]
            lines += ["SOURCES = {", *(f'    "{name}": "{text}",' for name, text in sources.items()), "}"]
            lines.append('"""The `SOURCE` of each kernel that is built of what the schemas say now."""')
            yield File(f"{FOLDER}/__init__.py", "\n".join(lines) + "\n")

    @staticmethod
    def _schemas(request: Request) -> list[Schema]:
        """The schemas that are named. Raises ValueError for one that is missing."""
        schemas = {schema.id: schema for schema in request.model.schemas}
        for name in request.kernels:
            if name not in schemas:
                able = [
                    each.id
                    for each in request.model.schemas
                    if not each.streamed and kernel_of(request.model, each) is not None
                ]
                text = f"kernels: no schema {name!r}; those that can have a kernel: "
                raise ValueError(text + (", ".join(able) or "none"))
        return [schemas[name] for name in request.kernels]


TARGET = _Native()
