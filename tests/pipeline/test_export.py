"""The parts of an export that need no JVM: what tasks write, what is merged, and how it is made visible."""

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import kodec
from kodec.cli.main import main
from kodec.pipeline import PartitionSummary, export
from kodec.pipeline.jobs import export as job

DATA = Path(__file__).parents[1] / "data"


def run_tasks(log_dir: Path, staging: Path, **options: str) -> list[PartitionSummary]:
    given = {"path": str(log_dir), "staging": str(staging), "compression": "zstd", **options}
    source = job.ExportDataSource(given)
    reader = source.reader(None)
    found: list[PartitionSummary] = []
    for partition in reader.partitions():
        for _, _, facts in pickle.loads(pickle.dumps(reader)).read(pickle.loads(pickle.dumps(partition))):
            found.append(PartitionSummary(**json.loads(facts)))
    return found


@pytest.mark.parametrize("size", ["1", "1g"])
def test_tasks_write_the_rows_and_their_facts_add_up(log_dir: Path, tmp_path: Path, size: str) -> None:
    merged = job._merge(run_tasks(log_dir, tmp_path, maxPartitionBytes=size))
    assert [(row.topic, row.partition, row.records) for row in merged] == [
        ("orders", 0, 300),
        ("orders", 1, 40),
        ("paid", 0, 0),
    ]
    orders, torn, empty = merged
    assert (orders.first_offset, orders.last_offset, orders.segments) == (0, 299, 3)
    assert (orders.min_timestamp, orders.max_timestamp) == (1_600_000_000_000, 1_600_000_000_299)
    assert orders.bytes == sum(path.stat().st_size for path in (log_dir / "orders-0").glob("*.log"))
    assert len(orders.files) == (3 if size == "1" else 1)
    assert orders.written == sum((tmp_path / file).stat().st_size for file in orders.files)
    assert [len(row.torn_tails) for row in merged] == [0, 1, 0]
    assert "37 bytes" in torn.torn_tails[0]
    assert (empty.first_offset, empty.min_timestamp, empty.files) == (None, None, [])
    # File names sort as offsets do.
    offsets = [row for file in orders.files for row in pq.read_table(tmp_path / file)["offset"].to_pylist()]
    assert offsets == list(range(300))


def test_records_without_timestamps_have_no_time_range(tmp_path: Path) -> None:
    kind = kodec.TimestampType.NO_TIMESTAMP_TYPE
    records = [
        kodec.Record(offset=offset, timestamp=-1, timestamp_type=kind, key=None, value=b"v", headers=())
        for offset in range(3)
    ]
    (tmp_path / "logs" / "old-0").mkdir(parents=True)
    (tmp_path / "logs" / "old-0" / "00000000000000000000.log").write_bytes(kodec.encode(records, magic=0))
    (row,) = run_tasks(tmp_path / "logs", tmp_path)
    assert (row.records, row.min_timestamp, row.max_timestamp) == (3, None, None)


def test_a_task_that_meets_bad_bytes_leaves_its_error_for_the_driver(
    tmp_path: Path, write_segment: Callable[..., Path]
) -> None:
    path = write_segment(tmp_path / "logs" / "t-0", 0, 10)
    data = bytearray(path.read_bytes())
    data[70] ^= 1
    path.write_bytes(data)
    staging = tmp_path / "staging"
    staging.mkdir()
    with pytest.raises(kodec.errors.CrcMismatch) as raised:
        run_tasks(tmp_path / "logs", staging)
    (left,) = staging.glob("error-*")
    assert str(pickle.loads(left.read_bytes())) == str(raised.value)
    (row,) = run_tasks(tmp_path / "logs", tmp_path / "more", mode="permissive")
    assert row.records == 5
    assert len(row.skipped) == 1


def test_files_of_attempts_that_lost_are_deleted(tmp_path: Path) -> None:
    for name in ("won", "lost"):
        (tmp_path / f"{name}.parquet").touch()
    job._keep_only(tmp_path, ["won.parquet"])
    assert [path.name for path in tmp_path.iterdir()] == ["won.parquet"]
    with pytest.raises(FileNotFoundError, match="share the file system"):
        job._keep_only(tmp_path, ["won.parquet", "elsewhere.parquet"])


def test_publishing_replaces_a_directory_in_one_step(tmp_path: Path) -> None:
    for name in ("out", "staging"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    job._publish(tmp_path / "staging", tmp_path / "out")
    assert [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))] == [
        "out",
        "out/staging",
    ]


def test_publishing_that_fails_puts_back_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("out", "staging"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    rename = Path.rename

    def fails(self: Path, target: Any) -> Path:
        if self.name == "staging":
            raise OSError("disk full")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(OSError, match="disk full"):
        job._publish(tmp_path / "staging", tmp_path / "out")
    assert (tmp_path / "out" / "out").exists()


@pytest.mark.parametrize("where", [".", "..", "orders-0", "out", "orders-0/out"])
@pytest.mark.parametrize("source", [".", "orders-0"])
def test_no_export_writes_into_over_or_above_what_it_reads(
    tmp_path: Path, where: str, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(DATA / "kafka-4.3.1" / "logs" / "orders-0", logs / "orders-0")
    (logs / "meta.properties").write_text("version=1\n")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match="what is read"):
        export(logs / source, logs / where, overwrite=True)
    (tmp_path / "link").symlink_to(logs)
    assert main(["export", str(logs / source), "--to", str(tmp_path / "link" / where), "--overwrite"]) == 1
    assert "what is read" in capsys.readouterr().err
    (tmp_path / "link").unlink()
    assert sorted(tmp_path.rglob("*")) == before


def test_overwrite_replaces_an_export_and_nothing_else(log_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "topic=orders").mkdir(parents=True)
    (out / "_SUCCESS").touch()
    (out / "notes.txt").write_text("precious")
    with pytest.raises(FileExistsError, match=r"notes\.txt"):
        export(log_dir, out, overwrite=True)
    assert (out / "notes.txt").read_text() == "precious"


def test_what_can_be_refused_is_refused_before_spark_starts(log_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError, match="is not empty"):
        export(log_dir, tmp_path)
    with pytest.raises(FileExistsError, match="is a file"):
        export(log_dir, tmp_path / "file", overwrite=True)
    with pytest.raises(ValueError, match="compression is one of"):
        export(log_dir, tmp_path / "out", compression="brotli")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        export(tmp_path / "nowhere", tmp_path / "out")
    with pytest.raises(ValueError, match="not in the log directory: lost"):
        export(log_dir, tmp_path / "out", topics=["lost"])
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_messages_by_name_are_two_columns_more(tmp_path: Path) -> None:
    log = DATA / "kafka-4.3.1" / "logs" / "__consumer_offsets-0"
    (row,) = run_tasks(log, tmp_path, includeDecoded="true")
    table = pq.read_table(tmp_path / row.files[0])
    assert table.num_rows == row.records and set(table.schema.names) >= {"key", "keyDecoded", "valueDecoded"}
    assert table["keyDecoded"][0].as_py().startswith('{"name": "OffsetCommitKey"')
    (plain,) = run_tasks(log, tmp_path / "plain")
    assert "keyDecoded" not in pq.read_schema(tmp_path / "plain" / plain.files[0]).names
