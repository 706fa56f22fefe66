"""What has no kernel, and that the C of every kernel is plain C."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kodec.generator.driver import generate
from kodec.generator.problems import SchemaError

from .compilers import CC, CORES, assert_strict, compile_all, needs_cc
from .conftest import write

ROW = "    -row: true\n    seq:\n"
LIST = "seq:\n- {id: rows, type: row, repeat: eos}\ntypes:\n  row:\n" + ROW
INNER = "  p:\n    seq:\n    - {id: q, type: u1}\n"

NOT_COLUMNAR = {
    "its outermost type is neither": "seq:\n- {id: a, type: u1}\n",
    "neither a container of rows nor": LIST.replace("-row: true", "-orig-id: row")
    + "    - {id: a, type: u1}\n",
    "repeats in a way": LIST
    + "    - {id: n, type: u1}\n    - {id: a, type: u2, repeat: expr, repeat-expr: n}\n",
    "fixed content": LIST + "    - {id: a, contents: [1, 2]}\n    - {id: b, type: u1}\n",
    "64 bits": LIST + "    - {id: a, type: b64}\n",
    "may be absent, and has no `-default`": LIST
    + "    - {id: n, type: u1}\n    - {id: a, type: p, if: n > 0}\n"
    + INNER,
    "beside another one": LIST
    + "    - {id: a, type: u1}\n    - {id: b, type: u4, -derive: crc32(a..a)}\n"
    + "    - {id: c, type: u4, -derive: crc32c(a..a)}\n",
    "two columns": LIST + "    - {id: q, type: u1}\n    - {id: a, type: p}\n" + INNER,
    "cannot be a column of type `utf8`": LIST + "    - {id: a, type: u1, -column: {type: utf8}}\n",
    "without a column": LIST
    + "    - {id: n, type: u1}\n    - {id: a, type: {switch-on: n, cases: {1: u2, _: p}}}\n"
    + INNER,
    "in an expression": LIST.replace("-row: true", "-row: {columns: [{name: z, value: a.size}]}")
    + "    - {id: a, size: 3}\n",
    "its rows have no columns": LIST + "    - {id: a, type: u1, -column: false}\n",
    "have no columns": LIST.replace("    seq:\n", "    seq: []\n"),
    "its rows have no bytes": LIST.replace("-row: true", "-row: {columns: [{name: z, value: '3'}]}").replace(
        "    seq:\n", "    seq: []\n"
    ),
    "a rule that is not about a whole number": LIST + "    - {id: a, type: f8, valid: {min: 0}}\n",
}


@pytest.mark.parametrize("reason", NOT_COLUMNAR)
def test_what_cannot_have_a_kernel_says_why(reason: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "schemas", NOT_COLUMNAR[reason])
    with pytest.raises(SchemaError, match=re.escape(reason)) as caught:
        generate(folder, tmp_path / "out", kernels=["x"])
    (problem,) = caught.value.problems
    assert problem.path == "x" and problem.text.startswith("it cannot have a native kernel: ")
    assert not (tmp_path / "out").exists()
    # it stands where the type or the field does that is to blame; the first three lines are `meta`
    assert problem.place.line == 1 if "outermost" in problem.text else problem.place.line > 6
    # Python alone reads such a type as well
    generate(folder, tmp_path / "out")
    assert (tmp_path / "out" / "x.py").is_file() and not (tmp_path / "out" / "kernels").exists()


def test_a_kernel_of_no_schema(tmp_path: Path) -> None:
    folder = write(tmp_path / "schemas", LIST + "    - {id: a, type: u1}\n")
    with pytest.raises(ValueError, match="no schema 'y'; those that can have a kernel: x"):
        generate(folder, tmp_path / "out", kernels=["y"])


def test_a_kernel_of_no_schema_beside_a_streamed_one(tmp_path: Path) -> None:
    streamed = "meta: {id: s}\nseq:\n- {id: a, type: t, repeat: eos}\ntypes:\n"
    streamed += "  t: {seq: [{id: b, type: strz, encoding: ASCII}]}\n"
    folder = write(tmp_path / "schemas", {"s.ksy": streamed})
    with pytest.raises(ValueError, match="those that can have a kernel: none"):
        generate(folder, tmp_path / "out", kernels=["y"])
    with pytest.raises(SchemaError, match=r"s\.ksy:5:.*it is read from streams: s\.t\.b"):
        generate(folder, tmp_path / "out", kernels=["s"])


def fields(*lines: str) -> str:
    return "".join(f"    - {{{line}}}\n" for line in lines)


WORDS = (
    *("int", "from", "lambda", "unix", "none", "rows", "unit_start", "checksum", "end", "class", "cdef"),
    *("p", "u", "c", "status"),
)
SHAPES = {
    "names that C and Python use": fields(*(f"id: {word}, type: u2" for word in WORDS)),
    "a range in the middle of numbers": fields(
        "id: a, type: u2", "id: b, type: u1", "id: n, type: u1, -derive: length_of(a..b)", "id: c, type: u4"
    ),
    "a length of 64 bits": fields(
        "id: n, type: u8, -derive: length_of(a..b)", "id: a, type: u2", "id: b, size: 3"
    ),
    "bytes of fixed size alone": fields("id: a, size: 4", "id: b, size: 2"),
    "one blob of fixed size": fields("id: a, size: 4"),
    "two parts of one type": fields("id: m, type: p, -column: false", "id: a, type: p")
    + "  p:\n    seq:\n"
    + fields("id: n, type: u2, -derive: length_of(r..q), valid: {min: 1}")
    + fields("id: r, type: u1", "id: q, size: n - 1"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("shape", SHAPES)
def test_cores_of_odd_shapes_compile(shape: str, tmp_path: Path) -> None:
    if not CC:
        pytest.skip("no C compiler: gcc, clang, cc or ziglang")
    folder = write(tmp_path / "schemas", LIST + SHAPES[shape])
    generate(folder, tmp_path / "out", kernels=["x"])
    assert_strict(tmp_path / "out" / "kernels" / "x_core.c")
    compile_all(tmp_path / "out" / "kernels", ["x"])


@needs_cc
@pytest.mark.parametrize("core", CORES, ids=lambda path: path.stem)
def test_kafkas_cores_are_plain_c(core: Path) -> None:
    assert_strict(core)
