"""docs/api.md lists all public names; their docstrings are complete, and the examples in them run."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import kodec
import kodec.api
import kodec.errors
from kodec.runtime import errors as raised
from tests.golden import Golden
from tests.other_topics import OTHER

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs" / "site"))

import docstrings  # noqa: E402  # the site is made with it

pytestmark = pytest.mark.quick

PAGE = ROOT / "docs" / "api.md"
# What examples read, and what stands for it here.
FILES = {
    "/data/kafka-logs": "tests/data/kafka-4.3.1/logs",
    "/data/tiered": "tests/data/tiered-4.3.1",
    "/data/crashed": "tests/data/kafka-4.3.1/crashed",
    "/data/values": "tests/data/values/logs",
    "/data/mirrored": OTHER.as_posix(),
    "/data/schemas": "tests/generator/formats",
}


MODULES = (kodec, kodec.repair, kodec.operations, kodec.formats, kodec.results, kodec.values)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_the_page_lists_the_public_names(module: ModuleType) -> None:
    section = PAGE.read_text("utf-8").partition(f"\n## `{module.__name__}`\n")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert len(listed) == len(set(listed))
    own = {name for name in module.__all__ if not isinstance(getattr(module, name), ModuleType)}
    assert {*listed} == own - {"__version__"}


def test_no_name_is_public_twice() -> None:
    names = [name for module in MODULES for name in module.__all__]
    assert len(names) == len(set(names))


def test_every_error_is_public() -> None:
    assert set(kodec.errors.__all__) == set(raised.__all__)
    assert all(getattr(kodec.errors, name) is getattr(raised, name) for name in raised.__all__)


def test_docstrings_describe_parameters_results_errors_and_show_an_example() -> None:
    assert list(docstrings.problems()) == []


def function_without_sections(given: int) -> int:
    return given


class ClassWithoutSections:
    """A class.

    Example:
        >>> 1
        1
    """

    def method(self, given: int) -> None:
        """Do something."""

    @property
    def value(self) -> int:
        return 1


def test_a_docstring_without_these_is_a_problem(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    made = {each.__name__: ("kodec", each) for each in (function_without_sections, ClassWithoutSections)}
    monkeypatch.setattr(docstrings, "public_names", lambda: made)
    golden([each.partition(": ")[2] for each in docstrings.problems()])


def examples() -> list[Any]:
    """Those with Spark start a JVM."""
    return [
        pytest.param(name, marks=[pytest.mark.thorough] if "session()" in doc else [])
        for name, (_, thing) in docstrings.public_names().items()
        if ">>> " in (doc := inspect.getdoc(thing) or "")
    ]


@pytest.mark.parametrize("name", examples())
@pytest.mark.usefixtures("own_codecs")
def test_example_of_a_public_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = inspect.getdoc(docstrings.public_names()[name][1]) or ""
    for path, here in FILES.items():
        text = text.replace(path, str(ROOT / here))
    monkeypatch.chdir(tmp_path)
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    said: list[str] = []
    failed = doctest.DocTestRunner().run(example, out=said.append).failed
    assert not failed, "".join(said)


def test_each_name_is_imported_from_where_it_is() -> None:
    assert {*kodec.__all__} - {"__version__", *kodec._MODULES} == {*kodec.api.__all__}
    assert all(getattr(kodec, name) is getattr(kodec.api, name) for name in kodec.api.__all__)
    assert {*kodec.__all__} <= {*dir(kodec)}
    # `api` has a meaning for type checkers, and nobody needs to import it first
    code = "import kodec; assert kodec.api.Record is kodec.Record and 'api' not in dir(kodec)"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = kodec.nothing
