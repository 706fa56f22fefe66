"""The generated C does with bytes what the generated Python does, without a warning and under sanitizers."""

from __future__ import annotations

import json
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kodec.generator.driver import generate
from kodec.generator.problems import SchemaError
from tests.data import ROOT
from tests.handoff.expected import LOGS, rows

from . import c_testee, stream_cases
from .cases import ask, cases
from .compilers import is_here
from .test_plan import FOLDERS

pytestmark = [
    pytest.mark.languages,
    pytest.mark.skipif(not is_here("cc"), reason="no C compiler here"),
    pytest.mark.xdist_group("c"),
]


def answers(command: list[str], requests: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What the program says to each request, in order."""
    text = "".join(json.dumps({"id": index, **each}) + "\n" for index, each in enumerate(requests))
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    for index, line in enumerate(done.stdout.splitlines()):
        found = json.loads(line)
        assert found.pop("id") == index
        yield found


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_c_reads_and_writes_as_the_generated_python(folder: Path, tmp_path: Path) -> None:
    program = c_testee.build(folder, tmp_path)
    (hello,) = answers(program, [{"do": "hello"}])
    asked = list(cases(folder, changes=4, seed=12))
    assert {each.type for each in asked} <= set(hello["types"])
    for case, found in zip(asked, ask(program, asked), strict=True):
        assert found == case
    # a NaN as JSON has it has lost its bits
    again = [each for each in asked if each.written is not None and '"nan"' not in json.dumps(each.value)]
    requests = [
        {"do": "encode", "type": each.type, "value": each.value}
        | ({} if each.version is None else {"version": each.version})
        for each in again
    ]
    for case, answer in zip(again, answers(program, requests), strict=True):
        assert case.written is not None
        assert answer == {"bytes": case.written.hex()}, case


def test_c_reads_streams_as_the_plan_says(tmp_path: Path) -> None:
    inputs = stream_cases.write_schemas(tmp_path / "schemas", "c")
    told = list(stream_cases.stream_cases(tmp_path / "schemas", inputs))
    (tmp_path / "schemas" / "wide.ksy").write_text(
        "meta: {id: wide, endian: be}\nenums: {big: {5000000000: one}}\nseq: [{id: a, type: u8, enum: big}]\n"
    )
    program = c_testee.build(tmp_path / "schemas", tmp_path)
    assert list(stream_cases.differences(program, told)) == []
    assert len(inputs) > 40 and stream_cases.refused(told) > 100
    # a constant of an enum has 32 bits
    assert "#define KODEC_WIDE_BIG_ONE INT64_C(5000000000)" in (tmp_path / "c/include/kodec.h").read_text()


ARCHIVE = """
meta: {id: archive, endian: le}
seq:
  - {id: magic, contents: AR}
  - {id: count, type: u1}
  - {id: entries, type: entry, repeat: expr, repeat-expr: count}
types:
  entry:
    seq: [{id: offset, type: u2}, {id: size, type: u2}]
    instances:
      body: {pos: offset, size: size, type: node}
      end: {value: offset + size}
  node:
    seq:
      - {id: name, type: strz, encoding: IBM437}
      - {id: next, type: node, if: not _io.eof}
"""


def test_streams_need_little_of_the_stack_and_no_more_memory_than_there_may_be(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "archive.ksy").write_text(ARCHIVE)
    program = c_testee.linked(tmp_path / "schemas", tmp_path, [c_testee.HERE / "streams.c"])

    def little() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, 256 << 10))

    done = subprocess.run(program, capture_output=True, text=True, check=False, preexec_fn=little)
    assert done.returncode == 0, done.stderr[-2000:]
    if not is_here("cmake"):
        pytest.skip("no CMake here, which builds and tests the library")
    build = tmp_path / "build"
    for line in (
        ["cmake", "-S", tmp_path / "c", "-B", build, "-DCMAKE_BUILD_TYPE=Debug"],
        ["cmake", "--build", build],
        ["ctest", "--test-dir", build],
    ):
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def test_the_library_is_built_installed_and_used_to_read_real_logs(tmp_path: Path) -> None:
    if not is_here("cmake"):
        pytest.skip("no CMake here")
    generate(ROOT / "schemas", tmp_path, targets=["c"])

    def run(*command: object) -> None:
        done = subprocess.run([str(each) for each in command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]

    installed = tmp_path / "installed"
    flags = " ".join(("-O0", *c_testee.WARNINGS[1:]))
    run(
        "cmake",
        "-S",
        tmp_path / "c",
        "-B",
        tmp_path / "b",
        f"-DCMAKE_C_FLAGS={flags}",
        "-DCMAKE_BUILD_TYPE=Debug",
    )
    run("cmake", "--build", tmp_path / "b", "-j", "2")
    run("ctest", "--test-dir", tmp_path / "b")
    run("cmake", "--install", tmp_path / "b", "--prefix", installed)
    run("cmake", "-S", c_testee.HERE, "-B", tmp_path / "example", f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path / "example")
    done = subprocess.run([tmp_path / "example" / "dump", *LOGS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        row for path in LOGS for row in rows(path)
    ]


def test_what_c_does_not_have_is_a_problem_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(
        "meta: {id: x, endian: be}\nseq:\n  - {id: a, type: u1}\n"
        "  - {id: t, type: str, size: 2, encoding: UTF-16LE}\n"
    )
    (tmp_path / "y.ksy").write_text("meta: {id: y}\nseq: [{id: z, size: 1, process: ours}]\n")
    (tmp_path / "z.ksy").write_text("meta: {id: z}\nseq: [{id: t, type: strz, encoding: SHIFT_JIS}]\n")
    with pytest.raises(SchemaError) as caught:
        generate(tmp_path, tmp_path / "out", targets=["c"])
    told = str(caught.value)
    for text in (
        "text in UTF-16LE",
        "y.z: it cannot be read from streams in C: its process `ours`",
        "z.t: it cannot be read from streams in C: its text is in SHIFT_JIS",
    ):
        assert text in told
    assert not (tmp_path / "out").exists()
