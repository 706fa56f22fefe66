"""No modules of kodec import each other in a circle, not even for types; inside of functions they may."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.data import ROOT

pytestmark = pytest.mark.quick

FOLDERS = {"kodec": ROOT / "src" / "kodec", "kodec.runtime": ROOT / "runtime"}
FILES = {
    ".".join((package, *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__"): path
    for package, folder in FOLDERS.items()
    for path in folder.rglob("*.py")
}


def imported(path: Path) -> Iterator[str]:
    """The modules that a module imports outside of functions."""
    body = ast.parse(path.read_text("utf-8")).body
    body += [inner for node in body if isinstance(node, ast.If) for inner in (*node.body, *node.orelse)]
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.module:
            inner_names = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from (name for name in {node.module, *inner_names} if name in FILES)


def test_no_circle() -> None:
    assert len(FILES) > 400
    TopologicalSorter({name: {*imported(path)} - {name} for name, path in FILES.items()}).prepare()
