"""Python modules, with readers, writers and rows, and the tests of their contract."""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from kodec.generator.plan.streams import streams_of
from kodec.generator.problems import Problems, SchemaProblem
from kodec.generator.schema.expression_types import Kinds
from kodec.generator.target import File, Request
from kodec.generator.targets.python.collisions import check_collisions
from kodec.generator.targets.python.contract_tests import ContractTests, contract_tests
from kodec.generator.targets.python.emit import (
    formatted,
    render_index,
    render_module,
    render_package,
    render_streams,
    render_tests,
)
from kodec.generator.targets.python.index import ModelIndex
from kodec.generator.targets.python.module import Module
from kodec.generator.targets.python.runtime import runtime_files
from kodec.generator.targets.python.streams.module import stream_module
from kodec.generator.targets.python.streams.samples import StreamTests, stream_tests
from kodec.generator.targets.python.streams.views import StreamModule
from kodec.generator.targets.python.views.modules import ModuleView
from kodec.generator.text import Text

__all__ = ["TARGET"]


@dataclass(frozen=True, slots=True)
class _Plan:
    """The views of the modules, and of the tests by their file's name."""

    modules: tuple[ModuleView, ...]
    streams: tuple[StreamModule, ...]
    tests: dict[str, ContractTests | StreamTests]
    messages: dict[tuple[Text, Text, int], tuple[str, str]]
    formatted: bool
    runtime: str


class _Python:
    """A module for each schema that defines types, and a package for each folder."""

    name = "python"
    files = ("*.py",)
    options: ClassVar[dict[str, str]] = {
        "runtime": "a folder for a copy of the runtime, with which modules run without kodec; none"
    }

    def lacks(self, request: Request) -> list[SchemaProblem]:
        """Names that collide in Python, or cannot be imported."""
        _runtime(request)
        problems = Problems()
        check_collisions(ModelIndex(request.model), problems)
        return problems.found

    def plan(self, request: Request) -> _Plan:
        runtime = _runtime(request)
        back = ModelIndex(request.model, runtime)
        kinds = Kinds(request.model)
        streamed = streams_of(request.model, kinds)
        modules: list[ModuleView] = []
        streams: list[StreamModule] = []
        found: list[ContractTests | StreamTests] = []
        for schema in request.model.schemas:
            if schema.streamed:
                streams.append(stream_module(back, streamed, schema))
                continue
            if not back.wanted(schema):
                continue
            view = Module(back, schema).build()
            modules.append(view)
            if request.package is None:
                continue
            own = contract_tests(back, schema, request.package)
            found += [] if own is None else [own]
        if request.package is not None:
            found += stream_tests(back, kinds, request.package)
        tests: dict[str, ContractTests | StreamTests] = {}
        for each in found:
            path = each.schema.module + ".py"
            flat = path.replace("/", "_")
            # `a/b.ksy` and `a_b.ksy` are two schemas
            name = flat if f"test_{flat}" not in tests else path.replace("/", "__")
            tests[f"test_{name}"] = each
        messages = {}
        for view in modules:
            root = view.schema.root
            if root.message is not None:
                key = root.topic, root.message.kind, root.message.number
                messages[key] = view.path.removesuffix(".py").replace("/", "."), back.classes[root.name]
        return _Plan(tuple(modules), tuple(streams), tests, messages, request.formatted, runtime)

    def emit(self, plan: _Plan) -> Iterator[File]:
        views: list[ModuleView | StreamModule] = [*plan.modules, *plan.streams]
        folders = sorted({"", *(view.path.rpartition("/")[0] for view in views)})
        modules = {view.path: render_module(view) for view in plan.modules}
        modules |= {view.path: render_streams(view) for view in plan.streams}
        packages = {f"{folder}/__init__.py".lstrip("/"): render_package(folder) for folder in folders}
        if plan.messages:
            packages["index.py"] = render_index(plan.messages)
        schemas = {view.path: view.schema for view in views}
        tests = {name: render_tests(view) for name, view in plan.tests.items()}
        finish = formatted if plan.formatted else dict
        for path, text in finish(modules | packages).items():
            yield File(path, text, schemas.get(path))
        if plan.runtime:
            yield from runtime_files(plan.runtime, streams=bool(plan.streams))
        for path, text in finish(tests).items():
            yield File(path, text, test=True)


def _runtime(request: Request) -> str:
    """The folder for a copy of the runtime; empty for none.

    Raises ValueError for a folder that is no package, or has a module.
    """
    folder = request.option("python", "runtime", "")
    if not folder:
        return ""
    if not folder.isidentifier() or keyword.iskeyword(folder):
        raise ValueError(f"`{folder}` is not the name of a Python package")
    if request.package is not None:
        raise ValueError("tests compare modules with the runtime of kodec, not with a copy")
    if taken := [each.path for each in request.model.schemas if each.module.partition("/")[0] == folder]:
        raise ValueError(f"the runtime cannot be in `{folder}`, where {taken[0]} has its module")
    return folder


TARGET = _Python()
