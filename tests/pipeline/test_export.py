"""The parts of an export that need no JVM: what tasks write, and what is merged."""

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import kodec
from kodec.cli.main import main
from kodec.pipeline import PartitionSummary, export
from kodec.pipeline.jobs import export as job
from kodec.pipeline.options import Options
from kodec.pipeline.plan import list_segments, tasks_of
from kodec.pipeline.staging import staged

DATA = Path(__file__).parents[1] / "data"


def run_tasks(log_dir: Path, folder: Path, **given: str) -> list[PartitionSummary]:
    """The summaries of tasks whose files are put together in a folder."""
    options = Options.parse({"path": str(log_dir), **given})
    found: list[PartitionSummary] = []
    with staged(folder) as staging:
        work = pickle.loads(pickle.dumps(job.ExportWork(options, "zstd", staging)))
        for task in tasks_of(options, list_segments(options)):
            attempt, summaries = work(task)
            for file in (file for row in summaries for file in row.files):
                staging.take(attempt / file, file)
            found += summaries
        staging.publish(folder)
    return found


@pytest.mark.parametrize("size", ["1", "1g"])
def test_tasks_write_the_rows_and_their_facts_add_up(log_dir: Path, tmp_path: Path, size: str) -> None:
    out = tmp_path / "out"
    merged = job._merge(run_tasks(log_dir, out, maxPartitionBytes=size))
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
    assert orders.written == sum((out / file).stat().st_size for file in orders.files)
    assert [len(row.torn_tails) for row in merged] == [0, 1, 0]
    assert "37 bytes" in torn.torn_tails[0]
    assert (empty.first_offset, empty.min_timestamp, empty.files) == (None, None, [])
    # File names sort as offsets do.
    offsets = [row for file in orders.files for row in pq.read_table(out / file)["offset"].to_pylist()]
    assert offsets == list(range(300))


def test_records_without_timestamps_have_no_time_range(tmp_path: Path) -> None:
    kind = kodec.TimestampType.NO_TIMESTAMP_TYPE
    records = [
        kodec.Record(offset=offset, timestamp=-1, timestamp_type=kind, key=None, value=b"v", headers=())
        for offset in range(3)
    ]
    (tmp_path / "logs" / "old-0").mkdir(parents=True)
    (tmp_path / "logs" / "old-0" / "00000000000000000000.log").write_bytes(kodec.encode(records, magic=0))
    (row,) = run_tasks(tmp_path / "logs", tmp_path / "out")
    assert (row.records, row.min_timestamp, row.max_timestamp) == (3, None, None)


def test_bad_bytes_stop_a_task_or_are_left_out(tmp_path: Path, write_segment: Callable[..., Path]) -> None:
    path = write_segment(tmp_path / "logs" / "t-0", 0, 10)
    data = bytearray(path.read_bytes())
    data[70] ^= 1
    path.write_bytes(data)
    with pytest.raises(kodec.errors.CrcMismatch):
        run_tasks(tmp_path / "logs", tmp_path / "out")
    (row,) = run_tasks(tmp_path / "logs", tmp_path / "out", mode="permissive")
    assert row.records == 5
    assert len(row.skipped) == 1


def test_an_export_without_spark_is_the_same(log_dir: Path, tmp_path: Path) -> None:
    summary = export(log_dir, tmp_path / "out", engine="local", task_bytes="1")
    assert (summary.records, summary.tasks) == (340, 5)
    rows = [pq.read_metadata(path).num_rows for path in (tmp_path / "out").rglob("*.parquet")]
    assert sum(rows) == 340
    names = [f"{first:020d}.parquet" for first in (0, 100, 200)]
    assert sorted(path.name for path in (tmp_path / "out/topic=orders/partition=0").iterdir()) == names
    with pytest.raises(ValueError, match="engine='flink': expected 'local' or 'spark'"):
        export(log_dir, tmp_path / "other", engine="flink")  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


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
