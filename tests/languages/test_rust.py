"""The generated Rust does with bytes what the generated Python does, and passes Rust's own checks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from . import rust_testee
from .cases import cases
from .protocol import asked, spoken
from .rust_testee import cargo
from .test_plan import FOLDERS

pytestmark = [
    pytest.mark.skipif(shutil.which("cargo") is None, reason="no Rust here: https://rustup.rs"),
    pytest.mark.xdist_group("rust"),
]


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_rust_reads_and_writes_as_the_generated_python(folder: Path, tmp_path: Path) -> None:
    program = rust_testee.build(folder, tmp_path)
    told = list(cases(folder, changes=4, seed=12, form=spoken))
    for case, found in zip(told, asked(program, told), strict=True):
        assert found == case
    cargo("clippy", "--", "-D", "warnings", folder=tmp_path / "rust")
    cargo("fmt", "--check", folder=tmp_path / "rust")
