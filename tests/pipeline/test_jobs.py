"""Jobs on pieces: what they find and write is what the library does in one process, by Spark and without."""

import base64
import gc
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

import kodec
from kodec.cli.engine import job
from kodec.cli.main import main
from kodec.log.conversion.options import ConvertOptions
from kodec.log.files.checkpoints import CleanShutdown, read_clean_shutdown
from kodec.log.verification.verify import plan_checks
from kodec.pipeline import ExportOptions, compact_view, export, restore
from kodec.pipeline.jobs import verify as verify_job
from kodec.pipeline.jobs.convert import convert
from kodec.pipeline.jobs.inventory import inventory
from kodec.pipeline.jobs.verify import verify
from kodec.pipeline.spark_workers import SparkWorkers, _pickled
from kodec.pipeline.workers import Workers, workers
from tests.data import DATA, LOGS

ENGINES = ["local", "spark"]


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A real log directory with three kinds of damage and a torn tail."""
    root = tmp_path / "logs"
    for name in ("orders-0", "orders-1", "transactions-0", "idempotent-0", "empty-0"):
        shutil.copytree(LOGS / name, root / name)
    shutil.copy(LOGS / "meta.properties", root)
    (root / "cleaner-offset-checkpoint").write_text("0\nmany\n")
    first = sorted((root / "orders-0").glob("*.log"))[0]
    data = bytearray(first.read_bytes())
    data[300] ^= 1
    first.write_bytes(data)
    last = sorted((root / "orders-1").glob("*.log"))[-1]
    last.write_bytes(last.read_bytes()[:-5])
    for snapshot in (root / "idempotent-0").glob("*.snapshot"):
        snapshot.write_bytes(b"\0\1" + bytes(8))
    return root


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Any:
    if request.param == "spark":
        request.getfixturevalue("spark")
    return request.param


@pytest.mark.parametrize("whole_bytes", [verify_job.WHOLE_BYTES, 0])
def test_verify_finds_what_it_finds_in_one_process(
    damaged: Path, engine: Any, whole_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify_job, "WHOLE_BYTES", whole_bytes)
    logs = [part.log for part in verify_job._parts(plan_checks(damaged)[1], "spark")]
    assert any(logs) is not bool(whole_bytes)
    paths = [damaged, damaged / "orders-0", next((damaged / "orders-1").glob("*.log")), LOGS]
    wanted = [problem for path in paths for problem in kodec.repair.verify(path)]
    summary = verify(*paths, engine=engine)
    assert summary.problems == wanted
    assert (summary.segments, summary.bytes) == sized(*paths)
    assert len({problem.path for problem in wanted}) > 4
    assert not summary.ok and verify(LOGS, engine=engine).ok


def test_only_a_worker_keeps_what_it_imported(engine: Any) -> None:
    """`gc.freeze` in a program of somebody's would keep its objects."""
    gc.unfreeze()
    with workers("test", engine=engine) as crew:
        (frozen,) = crew.run(eval, ["__import__('gc').get_freeze_count()"])
    assert gc.get_freeze_count() == 0
    assert (frozen > 0) is (engine == "spark")


def sized(*paths: Path) -> tuple[int, int]:
    """The segments below paths, and their bytes."""
    logs = [log for path in paths for log in ([path] if path.is_file() else path.rglob("*.log"))]
    return len(logs), sum(log.stat().st_size for log in logs)


def test_the_command_prints_the_same_by_spark(
    spark: Any, damaged: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(damaged.parent)
    for paths in (["logs"], ["logs/orders-0", str(damaged)]):
        assert main(["verify", *paths]) == 1
        wanted = capsys.readouterr().out
        assert main(["verify", *paths, "--engine", "spark"]) == 1
        assert capsys.readouterr().out == wanted
    assert main(["verify", "logs", "--master", "local[2]"]) == 2
    assert "--master needs --engine spark" in capsys.readouterr().err


def test_what_is_done_in_this_process_needs_no_spark(damaged: Path, tmp_path: Path) -> None:
    blocked = "sys.modules['pyspark'] = sys.modules['py4j'] = None"
    program = f"import sys; {blocked}; from kodec.cli.main import main; sys.exit(main())"
    out = str(tmp_path / "out")
    for words, code, told in (
        (["verify", str(damaged)], 1, "problem"),
        (["inventory", str(damaged), "--json"], 0, '"baseOffset"'),
        (["verify", str(damaged), "--engine", "spark"], 1, "pip install 'pyspark>="),
        (["export", str(LOGS), "--to", out], 0, "orders"),
        (["restore", out, "--to", f"{out}-restored"], 0, "orders-0"),
        (["compact-view", str(LOGS), "--topic", "compacted", "--to", f"{out}-view"], 0, "compacted"),
        (["convert", str(LOGS), "--to", "c", "--topic", "orders", "--compression", "none"], 3, "orders-0"),
        (["export", str(LOGS), "--to", f"{out}-spark", "--engine", "spark"], 1, "pip install 'pyspark>="),
    ):
        done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        assert told in done.stdout + done.stderr and "Traceback" not in done.stderr


def test_an_inventory_has_a_row_for_each_segment(damaged: Path) -> None:
    (damaged / "segments-0").mkdir()
    bases = [path.stem for path in sorted((LOGS / "segments-0").glob("*.log"))]
    for base in bases[:1] + bases[2:]:
        for path in (LOGS / "segments-0").glob(f"{base}.*"):
            shutil.copy(path, damaged / "segments-0")
    summary = inventory(damaged, check_crc=True, engine="local")
    rows = {str(row.topic_partition): row for row in reversed(summary.rows)}
    assert len(summary.rows) == sum(1 for _ in damaged.glob("*/*.log")) and not summary.ok
    bad = {str(row.topic_partition): row.facts.health for row in summary.rows if row.facts.health != "clean"}
    assert bad == {"orders-0": "corrupt", "orders-1": "torn"}
    assert [rows[name].facts.crc_ok for name in ("orders-0", "idempotent-0")] == [False, True]
    gaps = [row.gap for row in summary.rows if str(row.topic_partition) == "segments-0"]
    assert gaps[:2] == [None, int(bases[2]) - int(bases[1])] and set(gaps[2:]) == {0}
    facts = rows["idempotent-0"].facts
    records = list(kodec.read_records(facts.path, control=True))
    assert (facts.records, facts.first_offset, facts.last_offset) == (
        len(records), records[0].offset, records[-1].offset,
    )  # fmt: skip


def test_the_inventory_of_old_and_of_compacted_logs(capsys: pytest.CaptureFixture[str]) -> None:
    old = DATA / "kafka-0.10.2.2/logs"
    assert main(["inventory", str(old), str(LOGS / "compacted-0"), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["records"] is None for row in rows} == {True, False}
    compacted = [row for row in rows if row["topic"] == "compacted" and str(LOGS) in row["path"]]
    assert compacted[0]["missing"] > 0 and compacted[0]["crcOk"] is None
    segment = next((LOGS / "orders-0").glob("*.log"))
    assert main(["inventory", str(segment)]) == 0
    assert "1 segment" in capsys.readouterr().out


def trees(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


CONVERTED = ["records-deleted-0", "transactions-0", "transactions-1"]


def test_convert_writes_what_it_writes_in_one_process(tmp_path: Path) -> None:
    words = ["convert", *(str(LOGS / name) for name in CONVERTED), "--compression", "zstd", "--apply"]
    assert main([*words, "--to", str(tmp_path / "wanted")]) == 0
    folders = [LOGS / name for name in CONVERTED]
    found = convert(folders, tmp_path / "out", ConvertOptions(compression="zstd"), engine="local")
    assert trees(tmp_path / "out") == trees(tmp_path / "wanted")
    assert (tmp_path / "out" / "log-start-offset-checkpoint").exists()
    assert [report.target for report in found] == [tmp_path / "out" / each.name for each in folders]


def test_the_command_converts_the_same_by_spark(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["convert", *(str(LOGS / name) for name in CONVERTED), "--compression", "zstd"]
    assert main([*words, "--to", str(tmp_path / "wanted"), "--apply"]) == 0
    reports = capsys.readouterr().out
    assert main([*words, "--to", str(tmp_path / "out"), "--engine", "spark"]) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["wanted"]
    capsys.readouterr()
    assert main([*words, "--to", str(tmp_path / "out"), "--engine", "spark", "--apply"]) == 0
    assert capsys.readouterr().out == reports.replace("wanted", "out")
    assert trees(tmp_path / "out") == trees(tmp_path / "wanted")
    assert main([*words, "--to", str(tmp_path / "out"), "--engine", "spark", "--apply"]) == 1
    assert "is not empty" in capsys.readouterr().err


def test_a_conversion_that_fails_leaves_nothing(damaged: Path) -> None:
    engine: Any = "local"
    folders = [damaged / "orders-0", damaged / "transactions-0"]
    before = trees(damaged.parent)
    with pytest.raises(kodec.errors.CrcMismatch, match=r"orders-0/0+\.log"):
        convert(folders, damaged.parent / "out", ConvertOptions(compression="zstd"), engine=engine)
    assert trees(damaged.parent) == before
    with pytest.raises(ValueError, match="inside the source"):
        convert(folders, damaged / "out", ConvertOptions(compression="zstd"), engine=engine)
    with pytest.raises(ValueError, match="occurs twice"):
        convert([folders[0]] * 2, damaged.parent / "out", ConvertOptions(magic=1), engine=engine)
    with pytest.raises(ValueError, match="nothing to convert"):
        convert([], damaged.parent / "out", ConvertOptions(magic=1), engine=engine)


def rows_of(path: Path, *, committed: bool = False) -> list[kodec.Record]:
    isolation = "read_committed" if committed else "read_uncommitted"
    return list(kodec.PartitionLog(path).records(isolation=isolation))  # type: ignore[arg-type]


def test_what_was_exported_is_restored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    topics = ["orders", "compacted", "append.time", "large", "empty"]
    export(LOGS, tmp_path / "parquet", ExportOptions(topics=topics, task_bytes="20k"), engine="local")
    summary = restore(tmp_path / "parquet", tmp_path / "logs", compression="zstd", engine="local")
    folders = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert folders == sorted(str(row.topic_partition) for row in summary.partitions) and len(folders) == 6
    for row in summary.partitions:
        name = str(row.topic_partition)
        wanted = rows_of(LOGS / name)
        assert rows_of(tmp_path / "logs" / name) == wanted
        assert (row.records, row.last_offset) == (len(wanted), wanted[-1].offset)
    assert [problem for problem in kodec.repair.verify(tmp_path / "logs") if not problem.note] == []
    words = ["restore", str(tmp_path / "parquet"), "--to"]
    assert main([*words, str(tmp_path / "new"), "--dry-run"]) == 0 and not (tmp_path / "new").exists()
    assert capsys.readouterr().out.count("records, offsets 0 to") >= 3
    assert main([*words, str(tmp_path / "logs")]) == 1
    # There is no option that would replace it.
    assert capsys.readouterr().err.endswith("is not empty\n")
    with pytest.raises(ValueError, match="segment_bytes=0: expected"):
        restore(tmp_path / "parquet", tmp_path / "more", segment_bytes=0, engine="local")
    assert main([*words, str(tmp_path / "more"), "--topic", "orders", "--segment-bytes", "9000"]) == 0
    assert len(list((tmp_path / "more" / "orders-0").glob("*.log"))) > 1
    assert "orders-2:" in capsys.readouterr().out


def test_arrow_is_restored_as_parquet_is(tmp_path: Path) -> None:
    rows = []
    for form in ("parquet", "arrow"):
        export(LOGS, tmp_path / form, ExportOptions(topics=["orders", "large"], format=form), engine="local")
        restore(tmp_path / form, tmp_path / f"{form}-logs", engine="local")
        folders = sorted((tmp_path / f"{form}-logs").iterdir())
        rows.append([(folder.name, rows_of(folder)) for folder in folders])
    assert rows[0] == rows[1] and len(rows[0]) == 4
    (damaged,) = (tmp_path / "arrow" / "topic=large" / "partition=0").glob("*.arrow")
    data = damaged.read_bytes()
    for size in range(0, len(data), 97):
        damaged.write_bytes(data[:size])
        with pytest.raises(OSError, match=re.escape(str(damaged))):
            restore(tmp_path / "arrow", tmp_path / "no", engine="local")


def test_a_restore_refuses_offsets_that_overlap(tmp_path: Path) -> None:
    export(LOGS, tmp_path / "parquet", ExportOptions(topics=["codec-none"]), engine="local")
    (file,) = (tmp_path / "parquet").rglob("*.parquet")
    shutil.copy(file, file.with_name("again.parquet"))
    with pytest.raises(
        kodec.errors.EncodeError, match=r"parquet.*offsets overlap.*need at least 160, have 0"
    ):
        restore(tmp_path / "parquet", tmp_path / "logs", engine="local")
    assert [path.name for path in tmp_path.iterdir()] == ["parquet"]
    for wrong, text in (
        (tmp_path / "parquet" / "logs", "inside the source"),
        (tmp_path, "contains the source"),
    ):
        with pytest.raises(ValueError, match=text):
            restore(tmp_path / "parquet", wrong, engine="local")
    with pytest.raises(ValueError, match="no folder named like topic=orders/partition=0"):
        restore(LOGS, tmp_path / "logs", engine="local")


FILE = "topic=orders/partition=0/a.parquet"
ROWS = {"offset": [0, 1], "value": [b"a", None]}


@pytest.mark.parametrize(
    ("name", "columns", "text"),
    [
        (FILE, {"value": [b"a"]}, r"a\.parquet: no column offset"),
        (FILE, {"offset": [0]}, r"a\.parquet: no column value"),
        (FILE, {**ROWS, "offset": [None, None]}, r"a\.parquet: the column offset has another type"),
        (FILE, {**ROWS, "offset": [1, None]}, r"a\.parquet: an offset is null"),
        (FILE, {**ROWS, "offset": [-1, 1]}, r"a\.parquet: an offset is negative.*have -1"),
        (FILE, {**ROWS, "timestamp": [1, 2]}, r"a\.parquet: the column timestamp has another type"),
        (FILE, {**ROWS, "timestampType": ["x", "y"]}, r"a\.parquet: the column timestampType has another"),
        (FILE, {**ROWS, "offset": [5, 5]}, r"record at offset 5: .*ascend.*in orders-0"),
        (FILE, {**ROWS, "value": [1, 2]}, r"value: .*in orders-0"),
        # Spark's name for null, and files where nobody would look.
        ("topic=__HIVE_DEFAULT_PARTITION__/partition=0/a.parquet", ROWS, "not a topic-partition"),
        ("topic=orders/partition=0/day=1/a.parquet", ROWS, "day=1: not a file named like"),
        ("topic=orders/partition=0/part-0", ROWS, "part-0: not a file named like"),
        ("topic=orders/a.parquet", ROWS, "not in a folder named like topic=orders/partition=0"),
        ("a.parquet", ROWS, "not in a folder named like topic=orders/partition=0"),
    ],
)
def test_a_restore_refuses_what_it_cannot_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, columns: dict[str, Any], text: str
) -> None:
    source = tmp_path / "parquet"
    (source / name).parent.mkdir(parents=True)
    pq.write_table(pa.table(columns), source / name)
    with pytest.raises((kodec.errors.EncodeError, ValueError), match=text):
        restore(source, tmp_path / "logs", engine="local")
    assert main(["restore", str(source), "--to", str(tmp_path / "logs")]) == 1
    assert capsys.readouterr().err.count("\n") <= 2
    assert [path.name for path in tmp_path.iterdir()] == ["parquet"]


def test_a_restore_reads_what_spark_would(tmp_path: Path) -> None:
    folder = tmp_path / "parquet" / "topic=orders" / "partition=0"
    folder.mkdir(parents=True)
    # Two files with other columns, a gap between segments, and what a writer has left.
    pq.write_table(pa.table(ROWS), folder / "b.parquet")
    late = {"offset": [100, 101], "key": ["k", None], "value": ["c" * 100, "d"]}
    pq.write_table(pa.table(late), folder / "a.parquet")
    for name in ("_part.parquet", ".part.parquet"):
        pq.write_table(pa.table(ROWS), folder / name)
    damaged = (folder / "a.parquet").read_bytes()
    for segment_bytes in (1 << 20, 200):
        out = tmp_path / f"{segment_bytes}"
        (row,) = restore(tmp_path / "parquet", out, segment_bytes=segment_bytes, engine="local").partitions
        assert (row.records, row.first_offset, row.last_offset) == (4, 0, 101)
        found = [(each.offset, each.key, each.value) for each in rows_of(out / "orders-0")]
        assert found == [(0, None, b"a"), (1, None, None), (100, b"k", b"c" * 100), (101, None, b"d")]
        assert [each for each in kodec.repair.verify(out) if not each.note] == []
        assert export(out, tmp_path / f"{segment_bytes} again", engine="local").records == 4
    (folder / "a.parquet").write_bytes(damaged[:60] + b"\xff" * 60 + damaged[120:])
    with pytest.raises(OSError, match=r"a\.parquet: "):
        restore(tmp_path / "parquet", tmp_path / "no", engine="local")


def test_the_latest_of_each_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["compacted", "compacted-often", "transactions"]
    for tombstones, committed in ((False, False), (True, True)):
        out = tmp_path / f"{tombstones}"
        isolation: kodec.Isolation = "read_committed" if committed else "read_uncommitted"
        compact_view(LOGS, out, topics=names, tombstones=tombstones, isolation=isolation, engine="local")
        for name in ("compacted-0", "compacted-often-0", "transactions-0", "transactions-1"):
            latest = {
                each.key: each for each in rows_of(LOGS / name, committed=committed) if each.key is not None
            }
            wanted = sorted(
                (each.offset, key, each.value)
                for key, each in latest.items()
                if tombstones or each.value is not None
            )
            topic, _, number = name.rpartition("-")
            found = [
                (row["offset"], row["key"], row["value"])
                for file in sorted((out / f"topic={topic}" / f"partition={number}").glob("*.parquet"))
                for row in pq.ParquetFile(file).read().to_pylist()
            ]
            assert found == wanted
    words = ["compact-view", str(LOGS), "--topic", "orders", "--to", str(tmp_path / "out")]
    assert main([*words, "--buffer-bytes", "256"]) == 1
    assert "keys do not fit 256 bytes" in capsys.readouterr().err
    assert main(words) == 0
    assert "keys to" in capsys.readouterr().out


def test_what_is_no_log_is_bad_usage_and_what_is_missing_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: Any
) -> None:
    (tmp_path / "empty").mkdir()
    out, by = ["--to", str(tmp_path / "out")], ["--engine", engine]
    for words in (["inventory"], ["verify"], ["export", *out], ["compact-view", *out]):
        assert main([words[0], str(tmp_path / "empty"), *words[1:], *by]) == 2
        assert capsys.readouterr().err.splitlines()[-1].startswith(f"kodec: {tmp_path}/empty: neither a log")
    assert main(["export", str(LOGS), *out, "--topic", "lost", *by]) == 2
    assert capsys.readouterr().err.startswith("kodec: --topic: not in the log directory: lost")
    # A segment that has gone: what to do is said in the words of the command.
    shutil.copytree(LOGS / "segments-0", tmp_path / "logs" / "segments-0")
    (tmp_path / "logs" / "segments-0" / "00000000000000000141.log").unlink()
    told = "offsets 141 to 206 of segments-0 are in no segment, and not for compaction"
    for verb in ("export", "compact-view"):
        assert main([verb, str(tmp_path / "logs"), *out, *by]) == 1
        assert capsys.readouterr().err.endswith(f"{told}\n")
    assert main(["export", str(tmp_path / "logs"), *out, "--on-error", "skip", *by]) == 1
    assert f"{tmp_path}/logs/segments-0" in (told_by := capsys.readouterr().err) and told in told_by


def test_a_view_tells_of_a_torn_tail(damaged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compact-view", str(damaged / "orders-1"), "--to", str(damaged.parent / "out")]
    assert main(words) == 0
    assert "orders-1/00000000000000000192.log: ends at byte " in capsys.readouterr().err


def test_an_error_of_spark_is_a_line(
    spark: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with workers("test") as crew, pytest.raises(PySparkException, match="worker exited") as raised:
        crew.run(os._exit, [3])
    assert "\n" not in str(raised.value)

    def fails(*_: object, **__: object) -> None:
        raise raised.value

    monkeypatch.setattr(SparkWorkers, "run", fails)
    capsys.readouterr()
    for words in (["inventory", str(LOGS)], ["verify", str(LOGS)]):
        assert main([*words, "--engine", "spark"]) == 1
        last = capsys.readouterr().err.splitlines()[-1]
        assert last.startswith("kodec: Spark: ") and "worker exited" in last
    monkeypatch.setattr("kodec.pipeline.spark_workers.running", lambda: None)
    monkeypatch.setattr("kodec.pipeline.spark_workers.quiet_session", fails)
    with pytest.raises(kodec.errors.KodecError, match=r"^Spark does not start on spark://nowhere:1: "):
        inventory(LOGS, master="spark://nowhere:1")
    # A library that is missing is named, and Java too.
    for error, text in (
        (kodec.errors.MissingDependency("there is no Java"), "there is no Java"),
        (ImportError("no", name="pyspark"), "this needs `pyspark`"),
    ):
        with pytest.raises(kodec.errors.MissingDependency, match=text), job():
            raise error


class NoPickle(Exception):
    """An error that cannot be made from its arguments."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(text)


def test_results_come_in_order_and_errors_come_home(spark: Any, tmp_path: Path) -> None:
    notes = [tmp_path / name for name in ("good", "bad")]
    notes[0].write_text('{"version":0,"brokerEpoch":3}')
    notes[1].write_text("{")
    with workers("test") as crew:
        assert crew.spark is not None
        assert crew.run(abs, []) == []
        assert crew.run_sized(abs, [0, -1, -2, -3], [1, 1, 1, 1 << 30]) == [0, 1, 2, 3]
        assert crew.run(read_clean_shutdown, notes[:1]) == [CleanShutdown(3)]
        with pytest.raises(kodec.errors.Malformed, match="need a JSON object"):
            crew.run(read_clean_shutdown, notes)
    # Of an error that its pickle does not bring back, the words are left.
    told = pickle.loads(base64.b64decode(_pickled(NoPickle(1, "two arguments"))))
    assert (type(told), str(told)) == (RuntimeError, "NoPickle: two arguments")


def test_a_job_in_another_thread_leaves_the_session_that_runs(spark: Any) -> None:
    """Spark's `getActiveSession` knows nothing there: the job took it for its own, and stopped it."""
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(inventory, LOGS / "orders-0").result().ok
    assert spark.range(3).count() == 3


def test_small_pieces_share_a_task_and_large_ones_come_first() -> None:
    seen: list[list[str]] = []

    class Recording(Workers):
        def run(self, work: Callable[[Any], Any], pieces: Any) -> list[Any]:
            seen.extend(pieces)
            return [work(piece) for piece in pieces]

    sizes = [1, 90 << 20, 1, 200 << 20]
    found = Recording().run_sized(str.upper, ["a", "b", "c", "d"], sizes, 100 << 20)
    assert (found, seen) == (["A", "B", "C", "D"], [["d"], ["b", "a", "c"]])


def test_a_url_is_no_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url, words = "s3a://bucket/logs", "s3a://bucket/logs is not a path of this machine"
    for command in (
        ["recover", url],
        ["restore", "out", "--to", url],
        ["restore", url, "--to", "out"],
    ):
        assert main(command) == 2 and words in capsys.readouterr().err
    for call in (
        lambda: restore("out", url, engine="local"),
        lambda: restore(url, "out", engine="local"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    assert not list(tmp_path.iterdir())
    # a folder of such a name is one
    shutil.copytree(LOGS / "segments-0", tmp_path / "s3a:" / "segments-0")
    assert verify("s3a:/segments-0", engine="local").segments > 0
