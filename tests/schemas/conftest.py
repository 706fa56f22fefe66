"""What the schema tests share: the list of schemas, and the readers that stock ksc makes of them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLES = ROOT / "tests" / "data" / "samples"


def _oracle() -> ModuleType:
    """tests/ksc/oracle.py; loaded by its path, since the tests are no package."""
    name = "kodec_ksc_oracle"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ROOT / "tests" / "ksc" / "oracle.py")
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    schemas = _oracle().schemas()
    if "schema" in metafunc.fixturenames:
        metafunc.parametrize("schema", schemas.values(), ids=schemas.keys())
    if "sample" in metafunc.fixturenames:
        names = sorted(path.stem for path in SAMPLES.glob("*.log"))
        metafunc.parametrize("sample", [SAMPLES / f"{name}.log" for name in names], ids=names)


@pytest.fixture(scope="session")
def oracle() -> ModuleType:
    """The module tests/ksc/oracle.py itself."""
    return _oracle()


@pytest.fixture(scope="session")
def ksc(oracle: ModuleType) -> Any:
    """`ksc("record")` is stock ksc's Python reader for the schema of that id."""
    try:
        oracle.readers()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    return oracle.reader
