"""Imports the generated Python modules of a model for a while, under a name that nothing else uses."""

from __future__ import annotations

import importlib
import itertools
import sys
import tempfile
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType, TracebackType

from kodec.generator.schema.model import Model, Schema
from kodec.generator.target import Request, find

__all__ = ["Modules"]

_numbers = itertools.count()


class Modules:
    """`with Modules(model) as modules: modules.of(schema)`."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._name = f"_kodec_made_{next(_numbers)}"

    def __enter__(self) -> Modules:
        python = find("python")
        with tempfile.TemporaryDirectory(prefix="kodec-made-") as folder:
            spec = ModuleSpec(self._name, None, is_package=True)
            spec.submodule_search_locations = [folder]
            sys.modules[self._name] = module_from_spec(spec)
            paths = []
            for file in python.emit(python.plan(Request(self._model, formatted=False))):
                path = Path(folder, file.path)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(file.text, encoding="utf-8")
                paths.append(file.path)
            importlib.invalidate_caches()
            # import all while the files exist
            for name in paths:
                if not name.endswith("__init__.py"):
                    importlib.import_module(f"{self._name}.{name.removesuffix('.py').replace('/', '.')}")
        return self

    def of(self, schema: Schema) -> ModuleType:
        """The module of a schema that has types of its own."""
        return sys.modules[f"{self._name}.{schema.module.replace('/', '.')}"]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in [each for each in sys.modules if each.partition(".")[0] == self._name]:
            del sys.modules[name]
