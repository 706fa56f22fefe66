"""Offsets that no segment holds, for the Spark source in the JVM: the table of tests/log/gaps.py."""

from __future__ import annotations

from pathlib import Path

from tests.java.conftest import Ask
from tests.java.test_planning import python, question
from tests.log.gaps import CAUSES, OWNER


def test_what_is_lost_is_what_the_source_in_python_says(ask: Ask, tmp_path: Path) -> None:
    """Which that is, tests/pipeline/test_gaps.py says; here both give the same, as rows or as an error."""
    cases = []
    for number, cause in enumerate(CAUSES):
        folder = tmp_path / f"{number}" / OWNER
        cause.make(folder)
        cases += [((folder, {"failOnDataLoss": loss}), cause.name) for loss in ("true", "false")]
    answers = ask([question(case) for case, _ in cases])
    for answer, (case, name) in zip(answers, cases, strict=True):
        wanted = python(case)
        found = answer["value"]
        assert (found["error"] if isinstance(wanted, str) else found) == wanted, name
