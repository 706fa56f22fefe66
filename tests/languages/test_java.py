"""The generated Java does with bytes what the generated Python does, and writes the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kodec.generated.log.record import Record, RecordBody

from . import java_testee
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
