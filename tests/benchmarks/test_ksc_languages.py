"""ksc in other languages: what it needs is named where it is missing, and so is what compilers refuse."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def _readers(bench: Any, folder: Path, script: str) -> Any:
    """Readers whose program is a script of Python."""

    def build(sources: Path, _: Path, module: str) -> Path:
        program = sources / module
        program.write_text(f"#!{sys.executable}\n{script}")
        program.chmod(0o755)
        if not script:
            raise subprocess.CalledProcessError(1, "cc", stderr="a warning\nsome error: no such type\n")
        return program

    own = bench.ksc_languages
    return own.Readers(own.Language("Fast", "fast", sys.executable, "runtime", build), folder, folder)


def test_without_a_runtime_a_language_is_left_out_with_the_reason(bench: Any, tmp_path: Path) -> None:
    found = bench.ksc_languages.prepared(tmp_path / "out", tmp_path / "none", tmp_path)
    assert [each.language for each in found] == list(bench.ksc_languages.LANGUAGES)
    for each in found:
        assert each.absent == f"no {each.language.repository} in {tmp_path / 'none'}"
        assert each.milliseconds("a/b", b"", 3) is None
    assert not (tmp_path / "out").exists()


def test_the_median_of_what_a_program_took(bench: Any, tmp_path: Path) -> None:
    script = (
        "import sys\nassert open(sys.argv[1], 'rb').read() == b'12'\nprint(1, 9, 5, *[5] * int(sys.argv[2]))"
    )
    readers = _readers(bench, tmp_path, script)
    assert readers.milliseconds("a/b", b"12", 2) == 5
    assert readers.refused == {}


@pytest.mark.parametrize(
    ("script", "reason"),
    [("", "some error: no such type"), ("raise SystemExit('an error')", "an error")],
    ids=["compiler", "program"],
)
def test_a_format_that_is_refused_has_the_reason(
    bench: Any, tmp_path: Path, script: str, reason: str
) -> None:
    readers = _readers(bench, tmp_path, script)
    assert readers.milliseconds("a/b", b"", 1) is None
    assert readers.refused == {"a/b": reason}


def test_what_a_module_uses_is_compiled_with_it(bench: Any) -> None:
    texts = {"a": '#include "b.h"\n#include <set>', "b": '#include "c.h"', "c": '#include "b.h"'}
    assert sorted(bench.ksc_languages._closure("a", texts.__getitem__, r'#include "(\w+)\.h"')) == [
        "a",
        "b",
        "c",
    ]
