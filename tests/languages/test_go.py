"""The generated Go does with bytes what the generated Python does, and passes Go's own checks."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kodec.generator.driver import generate
from kodec.generator.problems import SchemaError
from tests.data import TESTS

from . import go_testee, stream_cases
from .cases import ask, cases
from .compilers import is_here
from .derivations import write_table
from .stream_writing import write_differences, writings
from .test_plan import FOLDERS

pytestmark = [
    pytest.mark.languages,
    pytest.mark.skipif(not is_here("go"), reason="no Go here: https://go.dev"),
    pytest.mark.xdist_group("go"),
]

STATICCHECK = ["go", "run", "honnef.co/go/tools/cmd/staticcheck@v0.8.2", "./..."]


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_go_reads_and_writes_as_the_generated_python(folder: Path, tmp_path: Path) -> None:
    program = go_testee.build(folder, tmp_path)
    told = list(cases(folder, changes=4, seed=12))
    for case, found in zip(told, ask(program, told), strict=True):
        assert found == case
    files = sorted(each.name for each in (tmp_path / "go").glob("*.go"))
    shown = subprocess.run(
        ["gofmt", "-l", *files], cwd=tmp_path / "go", capture_output=True, text=True, check=True
    )
    assert shown.stdout == ""
    if folder == FOLDERS["kafka"]:  # others do without codecs
        shutil.copy(TESTS / "languages/go/runtime_test.go", tmp_path / "go")
        line = ["go", "test", "."]
        tested = subprocess.run(line, cwd=tmp_path / "go", capture_output=True, text=True, check=False)
        assert tested.returncode == 0, tested.stdout
    checked = subprocess.run(STATICCHECK, cwd=tmp_path / "go", capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout) == (0, ""), checked.stderr


def test_go_reads_and_writes_streams_as_the_plan_says(tmp_path: Path) -> None:
    inputs = stream_cases.write_schemas(tmp_path / "schemas", "go")
    table = write_table(tmp_path / "schemas")
    told = list(stream_cases.stream_cases(tmp_path / "schemas", inputs))
    program = go_testee.build(tmp_path / "schemas", tmp_path)
    assert list(stream_cases.differences(program, told)) == []
    assert len(inputs) > 40 and stream_cases.refused(told) > 100
    written = list(writings(tmp_path / "schemas", inputs))
    assert list(write_differences(program, written)) == []
    assert len(written) > 1500 and sum(each.data is None for each in written) > 300
    derived = list(writings(tmp_path / "schemas", table, edits=1))
    assert list(write_differences(program, derived, lacking=False)) == []
    assert len(table) > 80 and sum(each.data is None for each in derived) > 60
    files = sorted(each.name for each in (tmp_path / "go").glob("*.go"))
    shown = subprocess.run(
        ["gofmt", "-l", *files], cwd=tmp_path / "go", capture_output=True, text=True, check=True
    )
    assert shown.stdout == ""
    # made-up schemas compare values with themselves and with flags
    line = [*STATICCHECK[:-1], "-checks", "inherit,-SA4000,-SA4013,-S1002,-ST1017", "./..."]
    checked = subprocess.run(line, cwd=tmp_path / "go", capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout) == (0, ""), checked.stderr


def test_what_go_does_not_have_is_a_problem_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(
        "meta: {id: x, endian: be}\nseq:\n  - {id: a_1, type: u1}\n  - {id: a1, type: u1}\n"
        "  - {id: t, type: str, size: 2, encoding: UTF-16LE}\n"
    )
    (tmp_path / "y.ksy").write_text("meta: {id: y}\nseq: [{id: z, size: 1, process: ours}]\n")
    with pytest.raises(SchemaError) as caught:
        generate(tmp_path, tmp_path / "out", targets=["go"])
    told = str(caught.value)
    for text in (
        "`a_1` and `a1` are both `A1` in Go",
        "text in UTF-16LE",
        "y.z: it cannot be read from streams in Go: its process",
    ):
        assert text in told
    assert not (tmp_path / "out").exists()


UNION = """meta: {id: orders, endian: be}
seq:
  - {id: kind, type: u1}
  - {id: len_body, type: u2, -derive: length_of(body)}
  - {id: body, size: len_body, type: {switch-on: kind, cases: {1: created, 2: moved}}}
types:
  created: {seq: [{id: id, type: u4}]}
  moved: {seq: [{id: x, type: s2}]}
"""
UNION_TEST = """package formats

import "testing"

func TestUnion(t *testing.T) {
	for kind := range uint8(4) {
		for _, body := range []any{OrdersCreated{}, OrdersMoved{}, []byte{1}, nil} {
			_, created := body.(OrdersCreated)
			_, moved := body.(OrdersMoved)
			_, other := body.([]byte)
			agree := kind == 1 && created || kind == 2 && moved || kind%3 == 0 && other
			v := Orders{Kind: kind, Body: body}
			if _, err := v.Append(nil); (err == nil) != agree {
				t.Errorf("%d %T: %v", kind, body, err)
			}
		}
	}
}
"""


def test_a_body_that_is_not_what_its_tag_says_is_refused(tmp_path: Path) -> None:
    (tmp_path / "orders.ksy").write_text(UNION)
    generate(tmp_path, tmp_path, targets=["go"])
    shutil.copyfile(go_testee.HERE / "go.mod", tmp_path / "go/go.mod")
    (tmp_path / "go/union_test.go").write_text(UNION_TEST)
    line = ["go", "test", "."]
    done = subprocess.run(line, cwd=tmp_path / "go", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
