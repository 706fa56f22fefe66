"""A few seconds of what `make fuzz` does for longer: the C core under sanitizers, native against pure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kodec.log import kernel as backends

from . import inputs, run

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def tool() -> run.Compiler:
    """A compiler with sanitizers; the driver is tried here, as libFuzzer is not everywhere."""
    found = run.compiler(fuzzer=False)
    if found is None:
        pytest.skip("no C compiler that can build and run a program with address sanitizer")
    return found


@pytest.mark.parametrize("kernel", run.KERNELS)
def test_the_core_holds_under_sanitizers(tool: run.Compiler, kernel: str, tmp_path: Path) -> None:
    inputs.main(tmp_path / "inputs", 400)
    program = tool.build(kernel, tmp_path)
    assert run.fuzz(tool, program, tmp_path / "inputs" / kernel, 2, tmp_path / "found") == 0
    assert list((tmp_path / "found").iterdir()) == []


def test_a_core_that_reads_too_far_is_caught(
    tool: run.Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fuzzing itself is tried: a check that is taken out of the core is missed within a second."""
    inputs.main(tmp_path / "inputs", 400)
    (tmp_path / "generated" / "kernels").mkdir(parents=True)
    for name in ("message_set_core.c", "message_set_core.h"):
        text = (run.ROOT / "generated" / "kernels" / name).read_text()
        check = r"if \(KD_UNLIKELY\(length > end - p\)\)\s+STOP\(KD_TRUNCATED,"
        changed, count = re.subn(check, "if (0) STOP(KD_TRUNCATED,", text)
        assert name.endswith(".h") or count == 3
        (tmp_path / "generated" / "kernels" / name).write_text(changed)
    monkeypatch.setattr(run, "ROOT", tmp_path)
    program = tool.build("message_set", tmp_path)
    assert run.fuzz(tool, program, tmp_path / "inputs" / "message_set", 20, tmp_path / "found") != 0
    assert [path.name for path in (tmp_path / "found").iterdir()] == ["crash-fuzz-message_set"]


@pytest.mark.skipif(not backends.is_built(), reason="the native kernels are not built")
@pytest.mark.parametrize("seed", ["a", "b"])
def test_native_and_pure_agree(seed: str) -> None:
    from . import differential

    tally = differential.Tally()
    for _, question in zip(range(700), differential.questions(seed), strict=False):
        differential.compare(question, tally)
    assert not tally.different, "\n".join(f"{question}\n{text}" for question, text in tally.different)
    assert tally.rows > 500 and len(tally.ends) > 5
