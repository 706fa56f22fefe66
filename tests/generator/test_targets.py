"""Targets: the generator's own, and that of docs/languages.md, installed as a third party's."""

from __future__ import annotations

import ast
import os
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kodec.generator.driver import MARK, generate, render_all
from kodec.generator.problems import Place, SchemaError, SchemaProblem
from kodec.generator.target import DEFAULT, File, Request, find, known
from kodec.generator.wire import ENCODINGS, WIRE, WireType
from kodec.runtime import varint
from tests.data import TESTS
from tests.golden import Golden

ROOT = Path(__file__).resolve().parent.parent.parent
FORMATS = TESTS / "generator/formats"


def distribution(folder: Path, points: str, **modules: str) -> Path:
    """A folder that is to Python what an installed distribution is."""
    info = folder / "kodec_listing-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kodec-listing\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[kodec.targets]\n{points}\n")
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    return folder


@pytest.fixture
def listing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The target of docs/languages.md, installed."""
    page = (ROOT / "docs" / "languages.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.S)
    (point,) = re.findall(r'^    \[project\.entry-points\."kodec\.targets"\]\n    (.*)', page, re.M)
    folder = distribution(tmp_path / "site", point.replace('"', ""), kodec_listing=code)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "kodec_listing", raising=False)
    return folder


def test_a_target_of_a_third_party(listing: Path, tmp_path: Path, golden: Golden) -> None:
    assert known()[-1] == "listing"
    output = render_all(FORMATS, targets=["listing"])
    assert set(output.modules) == {"sensor_log.layout.txt", "sensor_message.layout.txt", "varint.layout.txt"}
    lines = output.modules["sensor_message.layout.txt"].splitlines()
    assert lines[0].startswith(f"# {MARK} ")
    golden(lines[0])
    start = lines.index("sensor_message (versions 1, 2)")
    golden(lines[start + 1 : start + 6])


def test_a_target_on_the_command_line(listing: Path, tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "kodec", "generate", "--schemas", str(FORMATS), *arguments]
        path = os.pathsep.join([str(listing), *sys.path])
        return subprocess.run(
            command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
        )

    made = run("--target", "listing", "--target", "model", "--to", "made")
    assert made.returncode == 0, made.stderr
    names = {path.name for path in (tmp_path / "made").iterdir()}
    assert names == {f"{name}.layout.txt" for name in ("sensor_log", "sensor_message", "varint")} | {
        "model.json", "MANIFEST.json",
    }  # fmt: skip
    assert run("--target", "listing", "--to", "made", "--check").returncode == 0
    (tmp_path / "made" / "varint.layout.txt").unlink()
    assert run("--target", "listing", "--to", "made", "--check").returncode == 1
    unknown = run("--target", "listings", "--to", "made")
    assert unknown.returncode == 2 and "no target 'listings'" in unknown.stderr
    assert run("--target", "listing").returncode == 2


def test_stale_files_of_a_target_go_and_those_of_others_stay(listing: Path, tmp_path: Path) -> None:
    generate(FORMATS, tmp_path / "out")
    (tmp_path / "out" / "old.layout.txt").write_text(f"{MARK} 0.0.1\n")
    (tmp_path / "out" / "mine.layout.txt").write_text("by hand\n")
    found = generate(FORMATS, tmp_path / "out", targets=["listing"])
    assert [change.path.name for change in found if change.kind == "stale"] == ["old.layout.txt"]
    assert (tmp_path / "out" / "mine.layout.txt").exists()
    assert generate(FORMATS, tmp_path / "out", check=True) == []


@pytest.mark.parametrize(
    "points, module, wrong",
    [
        ("broken = kodec_broken:TARGET", "import no_such_module", "cannot be loaded"),
        ("broken = kodec_broken:OTHER", "", "cannot be loaded"),
        ("broken = kodec_broken:TARGET", "TARGET = 1", "it has no name, files, lacks, plan, emit"),
    ],
)
def test_a_target_that_is_broken_is_named_and_harms_no_other(
    points: str, module: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(distribution(tmp_path, points, kodec_broken=module)))
    monkeypatch.delitem(sys.modules, "kodec_broken", raising=False)
    with pytest.raises(ValueError, match=f"target 'broken' of kodec_broken.*{wrong}"):
        find("broken")
    render_all(FORMATS)


def test_no_entry_point_takes_the_place_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(distribution(tmp_path, "python = kodec_evil:TARGET", kodec_evil="1 / 0")))
    assert find("python").name == "python"


class Given:
    """A target that gives what a test says."""

    name = "given"
    files = ("*.txt", "deep/x.json")

    def __init__(self, *files: File, lacking: tuple[SchemaProblem, ...] = ()) -> None:
        self.given = files
        self.lacking = lacking

    def lacks(self, request: Request) -> tuple[SchemaProblem, ...]:
        return self.lacking

    def plan(self, request: Request) -> tuple[File, ...]:
        return self.given

    def emit(self, plan: tuple[File, ...]) -> Iterator[File]:
        yield from plan


def run(target: Given, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kodec.generator.driver.find", lambda name: target)
    generate(FORMATS, tmp_path / "out", targets=["given"])


@pytest.mark.parametrize(
    "path, text, wrong",
    [
        ("../x.txt", MARK, "not a plain path"),
        ("/x.txt", MARK, "not a plain path"),
        ("a/../x.txt", MARK, "not a plain path"),
        ("a//x.txt", MARK, "not a plain path"),
        ("a\\x.txt", MARK, "not a plain path"),
        ("x.py", MARK, "its name is none of"),
        ("x.json", MARK, "its name is none of"),
        ("x.txt", "x", "has no mark of a generated file"),
    ],
)
def test_what_a_target_must_not_give(
    path: str, text: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=re.escape(wrong)):
        run(Given(File("ok.txt", MARK), File(path, text)), tmp_path, monkeypatch)
    assert not (tmp_path / "out").exists()


def test_one_name_for_two_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="another file has that path"):
        run(Given(File("x.txt", MARK), File("x.txt", MARK)), tmp_path, monkeypatch)


def test_what_a_target_lacks_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = SchemaProblem(Place("x.ksy", 3, 1), "x.a", "this target has no floats")
    with pytest.raises(SchemaError, match=r"x\.ksy:3:1: x\.a: this target has no floats"):
        run(Given(File("x.txt", MARK), lacking=(problem,)), tmp_path, monkeypatch)
    assert not (tmp_path / "out").exists()


def test_the_page_lists_all_targets() -> None:
    page = (ROOT / "docs" / "languages.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| .* \| (by default|with `--target`) \|$", page, re.M)
    assert [name for name, _ in rows] == known()
    assert tuple(name for name, when in rows if when == "by default") == DEFAULT


def test_a_wire_type_is_named_in_its_table_only() -> None:
    """Whoever adds one adds a row; no file of the generator asks for one by its name."""
    folder = ROOT / "generator"
    named = {
        (path.relative_to(folder).as_posix(), node.value)
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in {*WIRE, *ENCODINGS}
    }
    # what Kaitai says a checksum is, and how text without an encoding is taken while its problem is reported
    assert {(path, name) for path, name in named if path != "wire.py"} == {
        ("passes/derivations.py", "u4"),
        ("schema/types.py", "UTF-8"),
        ("targets/native/objects.py", "UTF-8"),
    }
    families = ("ISO-8859-", "WINDOWS-")
    assert {name for path, name in named if path == "wire.py"} >= {
        name for name in (*WIRE, *ENCODINGS) if not name.startswith(families)
    }


@pytest.mark.parametrize("row", WIRE.values(), ids=WIRE)
def test_a_row_of_the_table_agrees_with_itself(row: WireType) -> None:
    assert row.size is None or row.size == row.most == row.least
    if row.python.code:
        assert struct.calcsize(f">{row.python.code}") == row.size
    if row.range is not None and row.python.read:
        write, read = getattr(varint, row.python.write), getattr(varint, row.python.read)
        for value in (*row.range, 0, 1):
            data = write(value)
            assert row.least <= len(data) <= row.most and read(data, 0, len(data)) == (value, len(data))
        assert max(len(write(value)) for value in row.range) == row.most
        assert row.bits == (64 if "64" in row.name else 32) and row.signed == (row.range[0] < 0)


def test_options_reach_the_targets_that_have_them(tmp_path: Path) -> None:
    made = render_all(FORMATS, targets=["go", "java"], options={"package": "orders", "java.package": "a.b"})
    go = [text for path, text in made.modules.items() if path.endswith(".go")]
    assert go and all("\npackage orders\n" in text for text in go)
    assert all(path.startswith("java/a/b/") for path in made.modules if path.endswith(".java"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"go.crate": "x"}, "no option 'go.crate' of the targets; there are: go.package"),
        ({"java.package": "x"}, "no option 'java.package'"),
        ({"package": "func"}, "`func` is no name of a Go package"),
        ({"package": "../x"}, "is no name of a Go package"),
    ],
)
def test_an_option_that_there_cannot_be(options: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        render_all(FORMATS, targets=["go"], options=options)
