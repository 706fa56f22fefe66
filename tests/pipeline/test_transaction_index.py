"""As tests/log/directories/test_transaction_index.py: exports, views of keys, and both sources of Spark."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow.parquet as pq
import pytest

import kodec
from kodec.cli.main import main
from kodec.pipeline import KafkaLogDataSource
from kodec.pipeline.spark import JAR
from tests.log.conftest import backend
from tests.log.indexed_transactions import CAUSES, COMMITTED, VALUES, make_log
from tests.log.tiers import folder_of, text_of

__all__ = ["backend"]

COMMITTED_ONLY = {"kafka.isolation.level": "read_committed"}


def rows(root: Path, **options: str) -> list[int]:
    """The offsets in the rows of the source in Python."""
    one = KafkaLogDataSource({"path": str(root), "columns": "offset", **COMMITTED_ONLY, **options})
    reader = one.reader(one.schema())
    batches = [batch for task in reader.partitions() for batch in reader.read(task)]
    return [offset for batch in batches for offset in batch["offset"].to_pylist()]


@pytest.mark.parametrize("cause", CAUSES)
def test_rows_of_the_source_in_python(tmp_path: Path, backend: str, cause: str) -> None:
    make_log(tmp_path / "logs", cause)
    assert rows(tmp_path / "logs") == COMMITTED
    assert rows(tmp_path / "logs", maxRecordsPerPartition="1") == COMMITTED
    between = {"startingOffsets": '{"c":{"0":4}}', "endingOffsets": '{"c":{"0":10}}'}
    assert rows(tmp_path / "logs", **between) == [9]


@pytest.mark.parametrize("cause", CAUSES)
def test_exports_and_views(tmp_path: Path, backend: str, cause: str) -> None:
    make_log(tmp_path / "logs", cause)
    export = ["export", str(tmp_path / "logs"), "--to", str(tmp_path / "out"), "--format", "jsonl"]
    assert main([*export, "--isolation", "read_committed"]) == 0
    lines = [line for path in (tmp_path / "out").rglob("*.jsonl") for line in path.read_text().splitlines()]
    assert sorted(json.loads(line)["offset"] for line in lines) == COMMITTED
    view = [
        "compact-view",
        str(tmp_path / "logs"),
        "--to",
        str(tmp_path / "view"),
        "--isolation",
        "read_committed",
    ]
    assert main(view) == 0
    files = [pq.ParquetFile(path) for path in (tmp_path / "view").rglob("*.parquet")]
    found = [row for file in files for row in file.read(["key", "value"]).to_pylist()]
    assert {row["key"]: row["value"] for row in found} == VALUES


@pytest.mark.skipif(not JAR.is_file(), reason="no JDK: the source for the JVM was not built")
def test_rows_of_the_source_for_the_jvm(spark: Any, tmp_path: Path) -> None:
    for number, cause in enumerate(CAUSES):
        make_log(tmp_path / str(number), cause)
        for options in ({}, {"maxRecordsPerPartition": "1"}):
            found = (
                spark.read.format("kafka-log")
                .options(**COMMITTED_ONLY, **options)
                .load(str(tmp_path / str(number)))
            )
            assert sorted(row.offset for row in found.select("offset").collect()) == COMMITTED, cause


@pytest.mark.parametrize("cause", CAUSES)
def test_remote_storage(tmp_path: Path, backend: str, capsys: pytest.CaptureFixture[str], cause: str) -> None:
    folder = make_log(tmp_path / "logs", cause)
    tier = tmp_path / "tier"
    copies = folder_of(tier, "kafka")
    copies.mkdir(parents=True)
    for path in folder.iterdir():
        if path.stem.isdigit():
            segment_id = text_of(UUID(int=int(path.stem) + 1))
            shutil.copyfile(path, copies / f"{path.stem}-{segment_id}{path.suffix}")
    assert rows(tier) == COMMITTED
    options = ["--isolation", "read_committed", "--template", "%o\\n"]
    assert main(["find", str(tier), *options]) == 0
    assert [int(line) for line in capsys.readouterr().out.split()] == COMMITTED


@pytest.mark.parametrize(
    ("cause", "wanted"),
    [
        ("right", COMMITTED),
        ("an entry too many", COMMITTED),
        # its transaction may be open for all that is known, and ends the reading
        ("missing", [0, 1]),
    ],
)
def test_a_damaged_marker(tmp_path: Path, backend: str, cause: str, wanted: list[int]) -> None:
    """Where damage is skipped, the index is all that is left of a marker."""
    folder = make_log(tmp_path / "logs", cause)
    log = folder / f"{6:020}.log"
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    with pytest.raises(kodec.errors.FormatError):
        rows(tmp_path / "logs")
    assert rows(tmp_path / "logs", mode="permissive") == wanted
