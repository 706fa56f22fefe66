"""The generated Java does with bytes what the generated Python does, and writes the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kodec.generated.log.record import Record, RecordBody
from kodec.generator.driver import generate
from kodec.generator.problems import SchemaError

from . import java_testee, stream_cases
from .cases import ask, case_of, cases
from .compilers import is_here
from .test_plan import FOLDERS

pytestmark = [
    pytest.mark.languages,
    pytest.mark.skipif(not is_here("javac"), reason="no JDK is here: there is no javac"),
    pytest.mark.xdist_group("java"),
]


def records_of_all_sizes() -> Iterator[bytes]:
    """Records whose varints take each number of bytes, and are next to where one more is needed."""
    for bits in range(64):
        for number in (1 << bits, (1 << bits) - 1, -(1 << bits), -(1 << bits) - 1):
            if -(1 << 63) <= number < 1 << 63:
                body = RecordBody(
                    timestamp_delta=number, offset_delta=max(-(1 << 31), min(number, (1 << 31) - 1))
                )
                yield Record(body=body).to_bytes()


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_java_reads_and_writes_as_the_generated_python(folder: Path, tmp_path: Path) -> None:
    program = java_testee.build(folder, tmp_path)
    told = list(cases(folder, changes=4, seed=13))
    if folder == FOLDERS["kafka"]:
        told += [case_of(Record, "record", data) for data in records_of_all_sizes()]
    for case, found in zip(told, ask(program, told), strict=True):
        assert found == case


def test_java_reads_streams_as_the_plan_says(tmp_path: Path) -> None:
    inputs = stream_cases.write_schemas(tmp_path / "schemas", "java")
    told = list(stream_cases.stream_cases(tmp_path / "schemas", inputs))
    program = java_testee.build(tmp_path / "schemas", tmp_path)
    assert list(stream_cases.differences(program, told)) == []
    assert len(inputs) > 40 and stream_cases.refused(told) > 100


def test_what_java_does_not_have_is_a_problem_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "y.ksy").write_text("meta: {id: y}\nseq: [{id: z, size: 1, process: ours}]\n")
    with pytest.raises(
        SchemaError, match=r"y.ksy:2:.*y\.z: it cannot be read from streams in Java: its process `ours`"
    ):
        generate(tmp_path, tmp_path / "out", targets=["java"])
