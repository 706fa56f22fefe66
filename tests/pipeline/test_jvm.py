"""The source for the JVM gives what the one in Python gives: the same queries to both, in one Spark."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kodec.pipeline.spark import JAR

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    if not JAR.is_file():
        pytest.skip("the source for the JVM was not built: there is no JDK")
    folder = tmp_path_factory.mktemp("jvm")
    script = HERE / "jvm_cases.py"
    done = subprocess.run([sys.executable, script, folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def shown(answer: Any) -> Any:
    """An answer; of an error the sentence that says what is wrong, without Spark's words around it."""
    if not isinstance(answer, dict):
        return answer
    text = answer["error"]
    damage, loss = r"RecordBatch\(.*? at byte [^\n]*\.log", r"offsets \d+ to \d+ of \S+ are in no segment"
    found = re.search(f"({damage}|{loss}|kafka-log: [^\n]*)", text)
    assert found is not None, text
    return re.sub(r"(in no segment).*", r"\1", found[1])


def test_both_sources_give_the_same(answers: list[dict[str, Any]]) -> None:
    assert len(answers) > 40
    for each in answers:
        assert shown(each["jvm"]) == shown(each["python"]), each["case"]


def test_damage_and_loss_are_errors(answers: list[dict[str, Any]]) -> None:
    by_case = {each["case"]: each["jvm"] for each in answers}
    assert "error" in by_case["damage, failfast"] and "error" in by_case["a missing segment"]
    assert len(by_case["a missing segment, read on"]) > 10
    assert "did you mean subscribe" in by_case["handed over: {'subscibe': 'orders'}"]["error"]
