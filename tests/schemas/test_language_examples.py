"""The schemas with which the page of the schema language begins, and the programs that use them."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from kodec.generator.driver import generate
from tests.languages import go_testee, typescript_testee
from tests.languages.compilers import is_here

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples" / "language"
PAGE = ROOT / "docs" / "schema-language.md"
NAMES = ("orders", "pack", "shift", "telemetry", "chunks")


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the program in Python prints: a name, whether it was made or changed, the bytes."""
    folder = tmp_path_factory.mktemp("language")
    generate(EXAMPLES, folder / "formats", import_path=[ROOT / "schemas"])
    done = subprocess.run(
        [sys.executable, EXAMPLES / "language.py"],
        check=True, capture_output=True, text=True, env={"PYTHONPATH": str(folder)},
    )  # fmt: skip
    return done.stdout.splitlines()


def test_the_page_has_the_schemas_and_the_program() -> None:
    text = PAGE.read_text("utf-8")
    shown = re.findall(r"```yaml\n(.*?)```", text, re.S)
    assert shown == [(EXAMPLES / f"{name}.ksy").read_text("utf-8") for name in NAMES]
    source = (EXAMPLES / "language.py").read_text("utf-8")
    functions = {each.name: each for each in ast.parse(source).body if isinstance(each, ast.FunctionDef)}
    bodies = []
    for name in NAMES:
        lines = source.splitlines()[functions[name].lineno : functions[name].end_lineno]
        bodies.append(textwrap.dedent("\n".join(lines)) + "\n")
    assert re.findall(r"```python\n(.*?)```", text, re.S) == bodies


def test_python_makes_reads_and_changes_each(printed: list[str]) -> None:
    assert [each.split()[:2] for each in printed] == [
        *([name, state] for name in NAMES for state in ("made", "changed")),
        ["compressed", "by"],
    ]
    data = {(name, state): bytes.fromhex(text) for name, state, text in map(str.split, printed[:-1])}
    # sections of a new file stand at multiples of 16, in the order of the table; what has grown has moved
    assert data["pack", "made"].index(b"first") == 48 and data["pack", "made"].index(b"second") == 64
    assert data["pack", "changed"].index(b"first") == 80 and data["pack", "changed"].index(b"second") == 64
    assert data["orders", "changed"][4:7] == b"\x01\0\x0e"
    assert data["shift", "changed"][:2] == b"\0\1"


@pytest.mark.languages
@pytest.mark.skipif(not is_here("go"), reason="no Go here")
def test_go_does_the_same(printed: list[str], tmp_path: Path) -> None:
    generate(EXAMPLES, tmp_path, targets=["go"], import_path=[ROOT / "schemas"])
    module = tmp_path / "go"
    for name in ("go.mod", "go.sum"):
        shutil.copyfile(go_testee.HERE / name, module / name)
    (module / "language").mkdir()
    shutil.copyfile(EXAMPLES / "language.go", module / "language" / "main.go")
    for command in (["go", "vet", "./..."], ["go", "run", "./language"]):
        done = subprocess.run(command, cwd=module, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == printed


@pytest.mark.languages
@pytest.mark.skipif(typescript_testee.node() is None, reason="no TypeScript here: make node")
def test_typescript_does_the_same(printed: list[str], tmp_path: Path) -> None:
    generate(EXAMPLES, tmp_path, targets=["typescript"], import_path=[ROOT / "schemas"])
    module = tmp_path / "typescript"
    assert json.loads((module / "package.json").read_text("utf-8"))["type"] == "module"
    shutil.copyfile(EXAMPLES / "language.ts", module / "test" / "language.ts")
    typescript_testee.compile_(module)
    done = typescript_testee.run(module, "dist/test/language.js")
    assert done.stdout.splitlines() == printed, done.stderr
