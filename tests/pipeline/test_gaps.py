"""Offsets that no segment holds, for the Spark source in Python and `export`; see tests/log/gaps.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kodec.pipeline import KafkaLogDataSource
from kodec.pipeline.jobs.export import export
from kodec.pipeline.plan import DataLoss
from tests.log.gaps import CAUSES, OWNER, Cause

every = pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.name)


def read(path: Path, **options: str) -> list[Any]:
    source = KafkaLogDataSource({"path": str(path), **options})
    reader = source.reader(source.schema())
    return [row for task in reader.partitions() for batch in reader.read(task) for row in batch.to_pylist()]


@every
def test_the_source_in_python(cause: Cause, tmp_path: Path) -> None:
    cause.make(tmp_path / OWNER)
    left = read(tmp_path / OWNER, mode="quarantine")
    lost = [(row["firstOffset"], row["lastOffset"]) for row in left if row["kind"] == "missing"]
    assert tuple(lost) == cause.lost
    if lost and not cause.damaged:
        first, last = cause.lost[0]
        with pytest.raises(DataLoss, match=rf"offsets {first} to {last} of topic-0 are in no segment"):
            read(tmp_path / OWNER)
        assert len(read(tmp_path / OWNER, failOnDataLoss="false")) > 0


@pytest.mark.parametrize("cause", [each for each in CAUSES[:8] if each.lost], ids=lambda cause: cause.name)
def test_export_stops_at_what_is_lost(cause: Cause, tmp_path: Path) -> None:
    cause.make(tmp_path / "logs" / OWNER)
    first, last = cause.lost[0]
    with pytest.raises(DataLoss, match=f"offsets {first} to {last} of topic-0 are in no segment"):
        export(tmp_path / "logs" / OWNER, tmp_path / "out", engine="local")
    assert not (tmp_path / "out").exists()
