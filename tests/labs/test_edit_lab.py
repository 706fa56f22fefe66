"""Brokers of several generations open what was redacted and edited."""

from __future__ import annotations

import edit_lab
import pytest
from kafka_lab import CACHE, GENERATIONS, Toolbox, Unusable, work_of


@pytest.mark.thorough
@pytest.mark.parametrize("line", edit_lab.LINES)
def test_a_broker_opens_what_was_redacted_and_edited(line: str) -> None:
    try:
        tools = Toolbox(work_of(GENERATIONS[line]), CACHE / "maven-repository", GENERATIONS[line])
    except Unusable as error:
        pytest.skip(f"Kafka cannot be run here: {error}")
    if not (tools.jars / "pom.sha256").is_file():
        pytest.skip("Kafka is not here: `make interop` fetches it")
    edit_lab.make(line, tools.repository)
