"""The parts of an export that need no JVM: what tasks write, and what is merged."""

import csv
import io
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kodec
from kodec.cli.main import main
from kodec.log.omissions import Cause, Omissions
from kodec.pipeline import ExportOptions, ExportSummary, PartitionSummary, export
from kodec.pipeline.files import FILE_FORMATS, FileFormat, RowFormat
from kodec.pipeline.jobs import export as job
from kodec.pipeline.options import Options
from kodec.pipeline.plan import Task, list_segments, tasks_of
from kodec.pipeline.staging import staged
from tests.data import LOGS, TESTS
from tests.fixtures import write_segment


def read(folder: Path) -> pa.Table:
    """The rows of all files in a folder, by their names."""
    return pa.concat_tables([pq.ParquetFile(path).read() for path in sorted(folder.rglob("*.parquet"))])


def run_tasks(
    log_dir: Path, folder: Path, omissions: Omissions | None = None, **given: str
) -> list[PartitionSummary]:
    """The summaries of tasks whose files are put together in a folder, and what they left out."""
    options = Options.parse({"path": str(log_dir), **given})
    found: list[PartitionSummary] = []
    with staged(folder, [folder.parent]) as staging:
        work = pickle.loads(pickle.dumps(job.ExportWork(options, FileFormat(), staging)))
        for task in tasks_of(options, list_segments(options)):
            attempt, summaries, left = work(task)
            if omissions is not None:
                omissions.extend(left)
            for file in (file for row in summaries for file in row.files):
                staging.take(attempt / file, file)
            found += summaries
        staging.publish(folder)
    return found


@pytest.mark.parametrize("size", ["1", "1g"])
def test_tasks_write_the_rows_and_their_facts_add_up(log_dir: Path, tmp_path: Path, size: str) -> None:
    out = tmp_path / "out"
    left = Omissions()
    merged = job.merged(run_tasks(log_dir, out, left, maxPartitionBytes=size))
    assert [(row.topic, row.partition, row.records) for row in merged] == [
        ("orders", 0, 300),
        ("orders", 1, 40),
        ("paid", 0, 0),
    ]
    orders, _, empty = merged
    assert (orders.first_offset, orders.last_offset, orders.segments) == (0, 299, 3)
    assert (orders.min_timestamp, orders.max_timestamp) == (1_600_000_000_000, 1_600_000_000_299)
    assert orders.bytes == sum(path.stat().st_size for path in (log_dir / "orders-0").glob("*.log"))
    assert len(orders.files) == (3 if size == "1" else 1)
    assert orders.written == sum((out / file).stat().st_size for file in orders.files)
    (torn,) = left
    assert (torn.cause, torn.size, torn.path.parent.name) == (Cause.UNFINISHED, 37, "orders-1")
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


def test_bad_bytes_stop_a_task_or_are_left_out(tmp_path: Path) -> None:
    path = write_segment(tmp_path / "logs" / "t-0", 0, 10)
    data = bytearray(path.read_bytes())
    data[70] ^= 1
    path.write_bytes(data)
    with pytest.raises(kodec.errors.CrcMismatch):
        run_tasks(tmp_path / "logs", tmp_path / "out")
    left = Omissions()
    (row,) = run_tasks(tmp_path / "logs", tmp_path / "out", left, mode="permissive")
    assert row.records == 5
    assert [(each.cause, each.path, each.position) for each in left] == [(Cause.DAMAGED, path, 0)]


def test_an_export_without_spark_is_the_same(log_dir: Path, tmp_path: Path) -> None:
    summary = export(log_dir, tmp_path / "out", ExportOptions(task_bytes="1"), engine="local")
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
    shutil.copytree(LOGS / "orders-0", logs / "orders-0")
    (logs / "meta.properties").write_text("version=1\n")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match="the source"):
        export(logs / source, logs / where, ExportOptions(overwrite=True))
    (tmp_path / "link").symlink_to(logs)
    assert main(["export", str(logs / source), "--to", str(tmp_path / "link" / where), "--overwrite"]) == 1
    assert "the source" in capsys.readouterr().err
    (tmp_path / "link").unlink()
    assert sorted(tmp_path.rglob("*")) == before


def test_overwrite_replaces_an_export_and_nothing_else(log_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "topic=orders").mkdir(parents=True)
    (out / "_SUCCESS").touch()
    (out / "notes.txt").write_text("precious")
    with pytest.raises(FileExistsError, match=r"notes\.txt"):
        export(log_dir, out, ExportOptions(overwrite=True))
    assert (out / "notes.txt").read_text() == "precious"


@pytest.mark.parametrize(
    "name",
    [
        "topic=orders/part-00000-f4.snappy.parquet",
        "topic=orders/partition=0/part-00000-f4.snappy.parquet",
        "topic=orders/partition=0/.part-00000.crc",
        "topic=orders/notes/00000000000000000000.parquet",
        "topic=orders/partition=0/00000000000000000000.parquet.bak",
    ],
)
@pytest.mark.parametrize("verb", ["export", "compact-view"])
def test_files_of_others_in_folders_of_topics_are_not_replaced(
    verb: str, name: str, log_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main([verb, str(log_dir), "--to", str(out)]) == 0
    words = [verb, str(log_dir), "--to", str(out), "--overwrite"]
    assert main(words) == 0
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    (out / name).write_text("precious")
    capsys.readouterr()
    assert main(words) == 1
    assert f"holds {name}, which is not of an export" in capsys.readouterr().err
    assert (out / name).read_text() == "precious"


def test_what_can_be_refused_is_refused_before_spark_starts(log_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError, match="is not empty"):
        export(log_dir, tmp_path)
    with pytest.raises(FileExistsError, match="is a file"):
        export(log_dir, tmp_path / "file", ExportOptions(overwrite=True))
    with pytest.raises(ValueError, match="compression is one of"):
        export(log_dir, tmp_path / "out", ExportOptions(compression="brotli"))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        export(tmp_path / "nowhere", tmp_path / "out")
    with pytest.raises(ValueError, match="not in the log directory: lost"):
        export(log_dir, tmp_path / "out", ExportOptions(topics=["lost"]))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_messages_by_name_are_two_columns_more(tmp_path: Path) -> None:
    log = LOGS / "__consumer_offsets-0"
    (row,) = run_tasks(log, tmp_path, includeDecoded="true")
    table = pq.read_table(tmp_path / row.files[0])
    assert table.num_rows == row.records and set(table.schema.names) >= {"key", "keyDecoded", "valueDecoded"}
    assert table["keyDecoded"][0].as_py().startswith('{"name": "OffsetCommitKey"')
    (plain,) = run_tasks(log, tmp_path / "plain")
    assert "keyDecoded" not in pq.read_schema(tmp_path / "plain" / plain.files[0]).names


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize(
    "resume",
    [pytest.param([], marks=pytest.mark.thorough, id="anew"), pytest.param(["resume"], id="resumed")],
)
def test_a_kill_at_any_step_leaves_the_old_export_or_the_new_one(tmp_path: Path, resume: list[str]) -> None:
    for first in (0, 4):
        write_segment(tmp_path / "logs" / "orders-0", first, 4)
    (tmp_path / "made").mkdir()
    program = [sys.executable, TESTS / "pipeline/kill_export.py", tmp_path / "logs", tmp_path / "made"]
    done = subprocess.run([*program, *resume], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20


def test_what_is_finished_is_not_made_again(
    log_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    real, limit = job.ExportWork._attempt, 3

    def counted(work: job.ExportWork, task: Task) -> job.TaskResult:
        if len(made) == limit:
            raise KeyboardInterrupt
        made.append(str(task[0].segment.log))
        return real(work, task)

    monkeypatch.setattr(job.ExportWork, "_attempt", counted)

    def run(**given: Any) -> ExportSummary:
        return export(
            log_dir, tmp_path / "out", ExportOptions(threads=1, task_bytes="1", **given), engine="local"
        )

    with pytest.raises(KeyboardInterrupt):
        run()
    assert list(tmp_path.iterdir()) == []
    made.clear()
    with pytest.raises(KeyboardInterrupt):
        run(resume=True)
    (left,) = tmp_path.iterdir()
    assert len(list((left / "finished").iterdir())) == 3
    limit = 100
    summary = run(resume=True)
    assert len(made) == len(set(made)) == 5
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    made.clear()
    (tmp_path / "out").rename(tmp_path / "first")
    again = run()
    assert len(made) == 5
    assert (again.partitions, again.records) == (summary.partitions, 340)
    assert read(tmp_path / "first").equals(read(tmp_path / "out"))


def test_a_large_segment_is_cut_for_the_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_segment(tmp_path / "logs" / "t-0", 0, 400)
    monkeypatch.setattr(job, "LEAST_TASK", 1_000)
    one = export(tmp_path / "logs", tmp_path / "one", ExportOptions(threads=1), engine="local")
    two = export(tmp_path / "logs", tmp_path / "two", ExportOptions(threads=2), engine="local")
    assert (one.tasks, two.tasks) == (1, 2)
    assert (one.records, two.records) == (400, 400)
    assert [len(summary.partitions[0].files) for summary in (one, two)] == [1, 2]
    assert read(tmp_path / "one").equals(read(tmp_path / "two"))


def rows_of(table: pa.Table) -> list[Any]:
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.parametrize("compression", [None, "zstd"])
@pytest.mark.parametrize("format", FILE_FORMATS)
def test_each_format_has_the_rows(
    tmp_path: Path, format: RowFormat, compression: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    logs, out = LOGS, tmp_path / "out"
    topics = ["orders", "transactions", "codec-gzip"]
    words = ["--format", format, *(["--compression", compression] if compression else [])]
    words += [word for topic in topics for word in ("--topic", topic)]
    assert main(["export", str(logs), "--to", str(out), *words]) == 0
    capsys.readouterr()
    files = sorted(path for path in out.rglob("topic=*/*/*"))
    form = FileFormat.of(format, compression)
    assert files and all(path.name.endswith(form.suffix) for path in files)
    export(logs, tmp_path / "parquet", ExportOptions(topics=topics), engine="local")
    wanted = pa.concat_tables(
        [pq.ParquetFile(path).read() for path in (tmp_path / "parquet").rglob("*.parquet")]
    )
    if format in ("parquet", "arrow"):
        found = [
            pq.ParquetFile(path).read() if format == "parquet" else pa.ipc.open_file(path).read_all()
            for path in files
        ]
        assert rows_of(pa.concat_tables(found)) == rows_of(wanted)
        return
    assert main(["find", str(logs), *words[-6:], "--json" if format == "jsonl" else "--csv"]) == 0
    shown = capsys.readouterr().out
    text = [pa.input_stream(path, compression=compression).read().decode() for path in files]
    if format == "jsonl":
        assert sorted("".join(text).splitlines()) == sorted(shown.splitlines())
        return
    names = ["topic", "partition", "offset", "timestamp", "key", "value", "headers"]
    found = [
        {name: row[name] for name in names} for each in text for row in csv.DictReader(io.StringIO(each))
    ]
    assert sorted(map(repr, found)) == sorted(map(repr, csv.DictReader(io.StringIO(shown))))


def test_formats_and_their_compressions_are_named(log_dir: Path, tmp_path: Path) -> None:
    for given, said in (
        ({"format": "orc"}, "format is one of parquet, arrow, csv, jsonl, not 'orc'"),
        ({"format": "csv", "compression": "lz4"}, "one of none, gzip, zstd for csv, not 'lz4'"),
        ({"key_format": "xml"}, "key_format is one of auto, text"),
    ):
        with pytest.raises(ValueError, match=said):
            export(log_dir, tmp_path / "out", ExportOptions(**given), engine="local")
    assert list(tmp_path.iterdir()) == []


# -- records that a column cannot hold ------------------------------------------------------------


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """Records with the timestamps 5, 2^62 and 7; a header of the last has a key that is not UTF-8."""
    stamped = [
        kodec.Record(
            timestamp=time,
            timestamp_type=kodec.TimestampType.CREATE_TIME,
            key=b"k",
            value=b"v",
            headers=(("a\ufffd", b"1"), (key, b"2")),
        )
        for time, key in ((5, "b"), (2**62, "b"), (7, "b\udcff"))
    ]
    (tmp_path / "logs" / "t-0").mkdir(parents=True)
    (tmp_path / "logs" / "t-0" / f"{0:020d}.log").write_bytes(kodec.encode(stamped))
    return tmp_path / "logs"


@pytest.mark.parametrize("format", ["parquet", "arrow", "csv", "jsonl", "delta"])
def test_an_odd_timestamp_and_an_odd_header_key(
    format: str, odd: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["export", str(odd), "--format", format, "--to", str(tmp_path / "out")]
    log = odd / "t-0" / f"{0:020d}.log"
    # text holds any number
    holds = format in ("csv", "jsonl")
    assert main([*words, "--no-headers"]) == (0 if holds else 1)
    text = capfd.readouterr().err
    assert holds or f"{log}: the timestamp {2**62} ms at offset 1 does not fit" in text
    words[-1] = str(tmp_path / "with-headers")
    assert main([*words, "--on-error", "skip"]) == (0 if holds else 1)
    text = capfd.readouterr().err
    assert (f"{2**62} ms at offset 1 does not fit" in text) == (not holds)
    (path,) = Path(words[-1]).rglob(f"*.{'parquet' if format == 'delta' else format}")
    match format:
        case "parquet" | "delta":
            found = pq.ParquetFile(path).read()["offset"].to_pylist()
        case "arrow":
            found = pa.ipc.open_file(path).read_all()["offset"].to_pylist()
        case _:
            found = [n for n in range(3) if any(f"{n}" in line for line in path.read_text().splitlines())]
            assert str(2**62) in path.read_text()
    assert found == ([0, 1, 2] if holds else [0, 2])
