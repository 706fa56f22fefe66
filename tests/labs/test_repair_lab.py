"""A small round of what a real broker makes of logs that kodec wrote and recovered."""

from __future__ import annotations

import shutil

import pytest
import repair_lab
import repair_writer
from kafka_lab import CACHE, GENERATIONS, Toolbox, Unusable, work_of


def test_a_broker_opens_what_was_written_and_recovered() -> None:
    try:
        tools = Toolbox(work_of(GENERATIONS["4.3"]), CACHE / "maven-repository", GENERATIONS["4.3"])
    except Unusable as error:
        pytest.skip(f"Kafka cannot be run here: {error}")
    if not (tools.jars / "pom.sha256").is_file():
        pytest.skip("Kafka is not here: `make interop` fetches it")
    verdicts = repair_lab.judge(tools.work, tools.repository, small=True)
    shutil.rmtree(tools.work / "kept")
    assert [row for row in verdicts.rows if row["state"] != "passed"] == []
    judged = {row["case"] for row in verdicts.rows}
    assert judged == {
        *repair_lab.SMALL_ROUND,
        repair_writer.KILLED.name,
        *(case.name for case in repair_writer.CASES),
    }
    assert len(verdicts.rows) == 4 * len(repair_lab.SMALL_ROUND) + 3 + 2 * len(repair_writer.CASES)
