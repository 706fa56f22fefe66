"""What the generator's tests share: schemas as text, generated into a folder and imported."""

from __future__ import annotations

import importlib
import itertools
import re
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kodec.generator.driver import generate, load
from kodec.generator.problems import SchemaError, SchemaProblem

ROOT = Path(__file__).resolve().parent.parent.parent
HEAD = "meta:\n  id: x\n  endian: be\n"
_number = itertools.count()


def write(folder: Path, schemas: str | dict[str, str]) -> Path:
    """Put schemas into a folder; a text alone is `x.ksy`, without the three lines of its `meta`."""
    files = {"x.ksy": HEAD + schemas} if isinstance(schemas, str) else schemas
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def package(out: Path) -> str:
    """Make a folder of generated modules importable; its name."""
    name = f"kodec_generated_{next(_number)}"
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [str(out)]
    sys.modules[name] = module_from_spec(spec)
    return name


@pytest.fixture
def codec(tmp_path: Path) -> Callable[..., ModuleType]:
    """`codec(schemas)` generates and imports; gives module `x`, or the one that is named."""

    def make(schemas: str | dict[str, str], module: str = "x") -> ModuleType:
        folder = tmp_path / f"made_{next(_number)}"
        generate(write(folder / "schemas", schemas), folder / "out", tests=folder / "tests", package="made")
        return importlib.import_module(f"{package(folder / 'out')}.{module}")

    return make


@pytest.fixture
def problems(tmp_path: Path) -> Callable[..., list[SchemaProblem]]:
    """`problems(schemas)` gives what is wrong with them; that there is something is checked."""

    def find(schemas: str | dict[str, str]) -> list[SchemaProblem]:
        folder = tmp_path / f"wrong_{next(_number)}"
        with pytest.raises(SchemaError) as caught:
            generate(
                write(folder / "schemas", schemas), folder / "out", tests=folder / "tests", package="made"
            )
        assert not (folder / "out").exists() and not (folder / "tests").exists()
        return list(caught.value.problems)

    return find


@pytest.fixture
def model(tmp_path: Path) -> Callable[..., Any]:
    """`model(schemas)` gives the checked model."""
    return lambda schemas: load(write(tmp_path / f"model_{next(_number)}", schemas))


@pytest.fixture(scope="session")
def oracle() -> ModuleType:
    """tests/ksc/oracle.py; loaded by its path, since the tests are no package."""
    name = "kodec_ksc_oracle"
    if name not in sys.modules:
        spec = spec_from_file_location(name, ROOT / "tests" / "ksc" / "oracle.py")
        assert spec is not None and spec.loader is not None
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture
def ksc(oracle: ModuleType, tmp_path: Path) -> Callable[..., Any]:
    """`ksc(folder)(id)` is stock ksc's Python class for a schema; skips if there is no Node."""

    def compiled(folder: Path) -> Callable[[str], Any]:
        out = tmp_path / f"ksc_{next(_number)}"
        try:
            failures = oracle.compile_schemas(out, ("python",), folder)
        except FileNotFoundError as error:
            pytest.skip(str(error))
        assert failures == []
        # ksc writes `import varint` for a schema of that name, and means a neighbour
        names = "|".join(path.stem for path in (out / "python").glob("*.py"))
        for path in (out / "python").glob("*.py"):
            text = path.read_text(encoding="utf-8")
            path.write_text(
                re.sub(rf"^import ({names})$", r"from . import \1", text, flags=re.M), encoding="utf-8"
            )
        name = package(out / "python")

        def reader(ident: str) -> Any:
            module = importlib.import_module(f"{name}.{ident}")
            return getattr(module, "".join(part.capitalize() for part in ident.split("_")))

        return reader

    return compiled
