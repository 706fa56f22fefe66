"""The generated Java does with bytes what the generated Python does, and writes the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from . import java_testee
from .cases import ask, cases
from .test_plan import FOLDERS

pytestmark = [
    pytest.mark.skipif(shutil.which("javac") is None, reason="no JDK is here: there is no javac"),
    pytest.mark.xdist_group("java"),
]


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_java_reads_and_writes_as_the_generated_python(folder: Path, tmp_path: Path) -> None:
    program = java_testee.build(folder, tmp_path)
    told = list(cases(folder, changes=4, seed=13))
    for case, found in zip(told, ask(program, told), strict=True):
        assert found == case
