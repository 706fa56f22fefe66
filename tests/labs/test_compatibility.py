"""Tests of the table of what kodec and each generation of Kafka read of each other, without a broker."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import compatibility
import pytest
import real_logs
from kafka_lab import GENERATIONS, kafka_version
from kafka_reads_ours import codecs

RESULTS = compatibility.load(compatibility.RESULTS)
CELLS: list[tuple[str, dict[str, Any]]] = [
    (name, cell) for name, found in RESULTS["generations"].items() for cell in found["cells"]
]


def test_the_committed_page_is_made_of_the_committed_results() -> None:
    assert compatibility.PAGE.read_text(encoding="utf-8") == compatibility.page(RESULTS)


def test_the_committed_results_are_as_they_are_saved(tmp_path: Path) -> None:
    compatibility.save(RESULTS, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == compatibility.RESULTS.read_bytes()


def test_every_generation_format_codec_and_direction_has_one_cell() -> None:
    found = [(name, cell["magic"], cell["codec"], cell["direction"]) for name, cell in CELLS]
    assert found == [
        (name, magic, codec, direction)
        for name in GENERATIONS
        for magic in (0, 1, 2)
        for codec in codecs(magic)
        for direction in compatibility.DIRECTIONS
    ]
    assert {name: found["kafka"] for name, found in RESULTS["generations"].items()} == {
        name: kafka_version(generation) for name, generation in GENERATIONS.items()
    }


def test_nothing_failed_and_what_did_not_pass_has_a_reason() -> None:
    assert {cell["state"] for _, cell in CELLS} == {"passed", "refused", "impossible"}
    assert all(cell["reason"] for _, cell in CELLS if cell["state"] != "passed")
    assert all(cell["cases"] > 0 for _, cell in CELLS if cell["state"] == "passed")


def test_kafka_itself_refuses_only_the_formats_that_it_has_given_up() -> None:
    own = ("produce", "kafka-dump-log", "Java consumer")
    refused = {
        (name, cell["magic"], cell["direction"])
        for name, cell in CELLS
        if cell["state"] == "refused" and cell["direction"] in own
    }
    assert refused == {("4.3", 0, "produce"), ("4.3", 1, "produce")}


@pytest.mark.parametrize("name", GENERATIONS)
def test_what_kodec_reads_is_what_the_results_say(name: str) -> None:
    found = compatibility.kodec_reads(real_logs.DATA, GENERATIONS[name])
    said = {
        (cell["magic"], cell["codec"]): (cell["state"], cell["reason"], cell["cases"])
        for other, cell in CELLS
        if other == name and cell["direction"] == compatibility.READS
    }
    assert {key: (cell.state, cell.reason, cell.cases) for key, cell in found.items()} == said


def damaged(tmp_path: Path, name: str, old: str, new: str) -> Path:
    """A copy of a release in which one file's text is changed."""
    release = tmp_path / "kafka"
    shutil.copytree(real_logs.DATA / "kafka-2.8.2", release)
    text = (release / name).read_text(encoding="utf-8")
    assert old in text
    (release / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    return release


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        pytest.param(
            "consumed/v1-lz4.read_uncommitted.jsonl",
            '"timestamp":1700000000010',
            '"timestamp":1700000000011',
            "the Java consumer read other rows",
            id="row",
        ),
        pytest.param(
            f"dump/logs/v1-lz4-0/{0:020}.log.txt",
            "offset: 8 position: 1",
            "offset: 9 position: 1",
            "kafka-dump-log says otherwise of a batch",
            id="batch",
        ),
    ],
)
def test_a_difference_is_noticed(tmp_path: Path, name: str, old: str, new: str, problem: str) -> None:
    release = damaged(tmp_path, name, old, new)
    assert compatibility.compare_topic(release, "v1-lz4", 1, "lz4") == (
        problem,
        31 if "rows" in problem else 0,
    )


def test_another_codec_than_the_topics_is_noticed() -> None:
    problem, _ = compatibility.compare_topic(real_logs.DATA / "kafka-2.8.2", "v1-lz4", 1, "gzip")
    assert problem == "the log has other formats or codecs"


def test_a_failed_cell_stands_out_on_the_page() -> None:
    results = json.loads(json.dumps(RESULTS))
    cell = results["generations"]["2.8"]["cells"][0]
    cell.update(state="failed", reason="rows differ")
    page = compatibility.page(results)
    assert "| FAILED: rows differ |" in page
