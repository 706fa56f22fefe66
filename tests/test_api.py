"""docs/api.md lists the public names, all of them and no others."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import kodec

PAGE = Path(__file__).parent.parent / "docs" / "api.md"


def test_the_page_lists_the_public_names() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert {*listed, "__version__"} == set(kodec.__all__)


def test_each_public_name_has_a_docstring() -> None:
    for name in kodec.__all__:
        thing = getattr(kodec, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert thing.__doc__, name
