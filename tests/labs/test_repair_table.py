"""Tests of the table of what Kafka reports about logs that kodec wrote or repaired, without a broker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import repair_lab
import repair_table
from kafka_lab import GENERATIONS, kafka_version

RESULTS = repair_table.load(repair_table.RESULTS)
VERDICTS: list[dict[str, str]] = RESULTS["verdicts"]


def test_the_committed_page_is_made_of_the_committed_results() -> None:
    assert repair_table.PAGE.read_text(encoding="utf-8") == repair_table.page(RESULTS)


def test_the_committed_results_are_as_they_are_saved(tmp_path: Path) -> None:
    repair_table.save(RESULTS, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == repair_table.RESULTS.read_bytes()


def test_every_case_has_a_verdict_of_each_of_its_judges() -> None:
    assert [(row["part"], row["case"], row["judge"]) for row in VERDICTS] == repair_table.expected()
    assert RESULTS["kafka"] == kafka_version()
    assert RESULTS["old_kafka"] == kafka_version(GENERATIONS[repair_lab.OLD_LINE])


def test_nothing_failed_and_what_did_not_pass_has_a_reason() -> None:
    assert all(row["reason"] for row in VERDICTS if row["state"] != "passed")
    others = [(row["state"], row["case"], row["judge"]) for row in VERDICTS if row["state"] != "passed"]
    assert others == [
        ("differs", "b-old", repair_table.RECOVERS),
        ("impossible", "c-transactions", repair_table.AGAIN),
        ("impossible", "c-lag", repair_table.AGAIN),
    ]


def test_results_are_kept_in_the_order_of_the_page() -> None:
    mixed = repair_table.results_of(RESULTS["kafka"], RESULTS["old_kafka"], VERDICTS[::-1])
    assert mixed == RESULTS


def test_a_verdict_of_a_case_that_there_is_not_is_noticed() -> None:
    strange = {**VERDICTS[0], "case": "another"}
    with pytest.raises(KeyError):
        repair_table.results_of(RESULTS["kafka"], RESULTS["old_kafka"], [strange])


def test_a_failure_stands_out_on_the_page() -> None:
    results = json.loads(json.dumps(RESULTS))
    results["verdicts"][0].update(state="failed", reason="rows differ")
    page = repair_table.page(results)
    assert "FAILED (1)" in page
    assert "\n1. rows differ\n" in page
