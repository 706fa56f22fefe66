"""docs/api.md lists the public names, all of them and no others."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

import kodec
import kodec.errors
from kodec.runtime import errors as raised

pytestmark = pytest.mark.quick

PAGE = Path(__file__).parent.parent / "docs" / "api.md"


MODULES = (kodec, kodec.repair, kodec.operations, kodec.formats, kodec.results, kodec.values)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_the_page_lists_the_public_names(module: ModuleType) -> None:
    section = PAGE.read_text("utf-8").partition(f"\n## `{module.__name__}`\n")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert len(listed) == len(set(listed))
    own = {name for name in module.__all__ if not isinstance(getattr(module, name), ModuleType)}
    assert {*listed} == own - {"__version__"}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_each_public_name_has_a_docstring(module: ModuleType) -> None:
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert thing.__doc__, name


def test_no_name_is_public_twice() -> None:
    names = [name for module in MODULES for name in module.__all__]
    assert len(names) == len(set(names))


def test_every_error_is_public() -> None:
    assert set(kodec.errors.__all__) == set(raised.__all__)
    assert all(getattr(kodec.errors, name) is getattr(raised, name) for name in raised.__all__)
