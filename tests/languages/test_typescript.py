"""The generated TypeScript does with bytes what the generated Python does, and passes strict checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from kodec.generator.driver import generate
from kodec.generator.problems import SchemaError

from . import typescript_testee
from .cases import cases
from .test_plan import FOLDERS

pytestmark = [
    pytest.mark.skipif(typescript_testee.node() is None, reason="no TypeScript here: make node"),
    pytest.mark.xdist_group("typescript"),
]


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_typescript_reads_and_writes_as_the_generated_python(folder: Path, tmp_path: Path) -> None:
    program = typescript_testee.build(folder, tmp_path)
    told = list(cases(folder, changes=4, seed=12))
    for case, found in zip(told, typescript_testee.ask(program, told), strict=True):
        assert found == case
