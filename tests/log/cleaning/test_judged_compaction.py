"""Our compaction leaves the same entries as Kafka's own cleaner, whose answers are kept."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.log.cleaning.compaction import plan_compaction
from tests.log.judged import KEPT, entries_of, held, put
from tests.log.made import DAY

CASES = json.loads(gzip.decompress(KEPT.read_bytes()))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"seed {case['seed']}")
def test_the_same_entries_as_kafka(case: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "topic-0"
    put(folder, case["files"])
    for round_ in case["rounds"]:
        (tmp_path / "cleaner-offset-checkpoint").write_text(f"0\n1\ntopic 0 {round_['dirty']}\n")
        report = plan_compaction(
            folder,
            segment_bytes=round_["segment_bytes"],
            delete_retention_ms=round_["delete_retention_ms"],
            now=round_["now"],
            producer_expiration_ms=DAY,
        ).apply()
        assert report.end_offset == round_["end"]
        assert entries_of(held(folder)) == entries_of(round_["files"])


def test_gaps_that_kafka_leaves_are_explained(tmp_path: Path) -> None:
    """By the checkpoint that the cleaner writes; here also by what it left after them."""
    empty, gaps = 0, 0
    for number, round_ in enumerate(each for case in CASES for each in case["rounds"]):
        folder = tmp_path / str(number) / "topic-0"
        put(folder, round_["files"])
        *closed, _ = sorted(folder.glob("*.log"))
        empty += sum(not path.stat().st_size for path in closed)
        for end in (0, round_["end"]):
            (folder.parent / "cleaner-offset-checkpoint").write_text(f"0\n1\ntopic 0 {end}\n")
            found = [each for each in kodec.repair.verify(folder) if each.what == "offsets"]
            assert all(each.note for each in found), found
        gaps += len(found)
    assert empty > 5 and gaps > 10


def test_the_cases_have_what_matters() -> None:
    """Formats, codecs, aborted data, horizons, emptied batches: each is in some answer or question."""
    asked = [each for case in CASES for log in entries_of(case["files"]).values() for each in log]
    left = [
        each
        for case in CASES
        for round_ in case["rounds"]
        for name, log in entries_of(round_["files"]).items()
        if name.endswith(".log")
        for each in log
    ]
    batches = [each for each in asked if isinstance(each, tuple)]
    assert {each[0][0] for each in batches} == {0, 1, 2}
    assert {each[0][1] for each in batches} == {"none", "gzip", "snappy", "lz4", "zstd"}
    assert any(each[0][4] == 0 for each in left)
    assert any(each[1][2] & 0x40 for each in left)
    assert any(name.endswith(".txnindex") for case in CASES for name in case["files"])
    assert len(left) < len(batches) * 3
