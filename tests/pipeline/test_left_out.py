"""What the pipeline leaves out is said, by each of its doors, for each cause of `kodec.log.omissions`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from kodec.cli.main import main
from kodec.errors import KodecError
from kodec.log.omissions import Cause, Omission
from kodec.pipeline import ExportOptions, KafkaLogDataSource, append_to_lake, delta_table, export, reading
from tests.log.stores import Server

SEGMENTS = [range(10), range(10, 20), range(20, 30)]
LAYOUT = {"a-0": SEGMENTS, "b-0": SEGMENTS}

FIRST = f"a-0/{0:020d}.log"
MIDDLE = f"a-0/{10:020d}.log"
LAST = f"a-0/{20:020d}.log"
LOSSES = ("damaged", "unknown", "missing", "unreachable")
Rows = set[tuple[str, int]]


class Obstacle(NamedTuple):
    """Something in a log directory with a-0 and b-0, of offsets 0 to 29 in three segments.

    Attributes:
        make: puts it there.
        cause: its cause, that of the first item of an account.
        path: of the file or folder that is named.
        lost: the offsets of a-0 that cannot be had.
    """

    name: str
    make: Callable[[Path], object]
    cause: str
    path: str
    lost: range


def replaced(name: str, kind: str) -> Callable[[Path], None]:
    """Put something else in the place of a file or folder."""

    def make(logs: Path) -> None:
        path = logs / name
        path.rename(logs.parent / "kept")
        match kind:
            case "dangling":
                path.symlink_to(logs / "not-mounted")
            case "loop":
                path.symlink_to(path)
            case "file":
                path.touch()
            case "folder":
                path.mkdir()
            case "pipe":
                os.mkfifo(path)

    return make


def changed(name: str, at: int, value: int) -> Callable[[Path], None]:
    """Change a byte of a file."""

    def make(logs: Path) -> None:
        data = bytearray((logs / name).read_bytes())
        data[at] ^= value
        (logs / name).write_bytes(data)

    return make


def strange(logs: Path) -> None:
    shutil.copytree(logs / "b-0", logs / "a-00")


def emptied(logs: Path) -> None:
    checkpoint(30)(logs)
    for path in (logs / "a-0").iterdir():
        path.unlink()


def checkpoint(offset: int) -> Callable[[Path], object]:
    return lambda logs: (logs / "replication-offset-checkpoint").write_text(f"0\n1\na 0 {offset}\n")


def moved(logs: Path) -> None:
    """As a broker leaves a log whose first segment is in remote storage."""
    (logs / FIRST).rename(logs.parent / "kept")
    (logs / "log-start-offset-checkpoint").write_text("0\n1\na 0 0\n")


MIDDLE_LOST, ALL_LOST = range(10, 20), range(30)
OBSTACLES = [
    *(
        Obstacle(f"{kind} for a folder", replaced("a-0", kind), "unreachable", "a-0", ALL_LOST)
        for kind in ("dangling", "loop", "file")
    ),
    *(
        Obstacle(f"{kind} for a segment", replaced(MIDDLE, kind), "unreachable", MIDDLE, MIDDLE_LOST)
        for kind in ("dangling", "loop", "folder", "pipe")
    ),
    Obstacle("loop for the last", replaced(LAST, "loop"), "unreachable", LAST, range(20, 30)),
    Obstacle("0 bytes", lambda logs: os.truncate(logs / MIDDLE, 0), "missing", "a-0", MIDDLE_LOST),
    Obstacle("gap", lambda logs: (logs / MIDDLE).unlink(), "missing", "a-0", MIDDLE_LOST),
    Obstacle("below a checkpoint", checkpoint(40), "missing", "a-0", range(30, 40)),
    Obstacle("empty, not by a checkpoint", emptied, "missing", "a-0", ALL_LOST),
    Obstacle("in remote storage", moved, "unreachable", "a-0", range(10)),
    Obstacle("damage", changed(MIDDLE, 70, 1), "damaged", MIDDLE, range(10, 15)),
    Obstacle("unknown magic", changed(MIDDLE, 16, 8), "unknown", MIDDLE, range(10, 15)),
    Obstacle("strange name", strange, "unknown", "a-00", range(0)),
    Obstacle("torn tail", lambda logs: os.truncate(logs / LAST, 140), "unfinished", LAST, range(20, 30)),
]
each_obstacle = pytest.mark.parametrize("obstacle", OBSTACLES, ids=lambda each: each.name)


def is_raised(obstacle: Obstacle, *causes: str) -> bool:
    # a name alone does not say that a log is there
    return obstacle.cause in causes and obstacle.name != "strange name"


def rest(obstacle: Obstacle) -> Rows:
    return {(topic, n) for topic in ("a", "b") for n in range(30) if topic == "b" or n not in obstacle.lost}


def load(path: Path | str, **options: str) -> list[dict[str, Any]]:
    source = KafkaLogDataSource({"path": str(path), "maxPartitionBytes": "1g", **options})
    reader = source.reader(source.schema())
    return [row for task in reader.partitions() for batch in reader.read(task) for row in batch.to_pylist()]


def rows(path: Path | str, **options: str) -> Rows:
    return {(row["topic"], row["offset"]) for row in load(path, **options)}


@each_obstacle
def test_a_query(obstacle: Obstacle, logs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Two options together: what may be damaged, what may be missing, and both."""
    obstacle.make(logs)
    named = str(logs / obstacle.path)
    for mode, fails, raised in (
        ("failfast", "true", LOSSES),
        ("failfast", "false", ("damaged", "unknown", "unreachable")),
        ("permissive", "true", ("missing", "unreachable")),
        ("permissive", "false", ()),
    ):
        options = {"mode": mode, "failOnDataLoss": fails}
        if is_raised(obstacle, *raised):
            with pytest.raises((KodecError, OSError)) as caught:
                rows(logs, **options)
            assert named in str(caught.value) or "a-0" in str(caught.value)
            continue
        assert rows(logs, **options) == rest(obstacle), options
        text = capfd.readouterr().err
        assert "WARN kafka-log: left out: " in text and named in text, options


def test_a_name_forges_no_line_of_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    reading.warn([Omission(Cause.DAMAGED, tmp_path / "a\n26/11/29 WARN forged\x1b[31m\udcff", "torn")])
    (line,) = capfd.readouterr().err.splitlines()
    assert line.endswith(r"a\n26/11/29 WARN forged\x1b[31m\xff: torn")


@each_obstacle
def test_the_table_of_a_query(obstacle: Obstacle, logs: Path) -> None:
    obstacle.make(logs)
    found = load(logs, mode="quarantine")
    assert [row["kind"] for row in found] == [obstacle.cause]
    (row,) = found
    assert row["file"].startswith(str(logs / obstacle.path))
    assert (row["topic"], row["partition"]) == ((None, None) if obstacle.path == "a-00" else ("a", 0))
    if obstacle.cause == "missing":
        assert range(row["firstOffset"], row["lastOffset"] + 1) == obstacle.lost
    if is_raised(obstacle, "missing", "unreachable"):
        with pytest.raises((KodecError, OSError)):
            load(logs, mode="quarantine", failOnDataLoss="true")


def exported(out: Path) -> Rows:
    return {
        (row["topic"], row["offset"])
        for path in out.rglob("*.parquet")
        for row in pq.ParquetFile(path).read(columns=["topic", "offset"]).to_pylist()
    }


@each_obstacle
@pytest.mark.parametrize("on_error", ["raise", "skip", "skip-unreachable"])
def test_an_export(
    obstacle: Obstacle, on_error: str, logs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    obstacle.make(logs)
    out = tmp_path / "out"
    code = main(["export", str(logs), "--to", str(out), "--on-error", on_error])
    text = capfd.readouterr().err
    assert code == (0 if obstacle.cause == "unfinished" else 1)
    assert str(logs / obstacle.path) in text or "a-0" in text.replace(str(logs), "")
    raised = {"raise": LOSSES, "skip": ("unreachable",), "skip-unreachable": ()}[on_error]
    if is_raised(obstacle, *raised):
        assert not out.exists()
        return
    assert exported(out) == rest(obstacle)
    account = (out / "_SUCCESS").read_text()
    if obstacle.cause == "unfinished":
        assert account == ""
        return
    assert "the result may be incomplete" in text
    (item,) = json.loads(account)["leftOut"]
    assert item["cause"] == obstacle.cause and item["path"].startswith(str(logs / obstacle.path))


@pytest.mark.parametrize("name", ["loop for a folder", "loop for a segment", "gap", "damage", "strange name"])
def test_spark_exports_the_same(
    name: str, spark: Any, logs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (obstacle,) = (each for each in OBSTACLES if each.name == name)
    obstacle.make(logs)
    accounts = []
    for engine in ("local", "spark"):
        out = tmp_path / engine
        words = ["export", str(logs), "--to", str(out), "--engine", engine, "--on-error"]
        if obstacle.cause == "unreachable":
            assert main([*words, "skip"]) == 1
            assert not out.exists()
        assert main([*words, "skip-unreachable"]) == 1
        assert exported(out) == rest(obstacle)
        accounts.append((out / "_SUCCESS").read_text())
    assert accounts[0] == accounts[1]
    assert str(logs / obstacle.path) in capfd.readouterr().err


@each_obstacle
def test_a_view_of_the_latest(
    obstacle: Obstacle, logs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    obstacle.make(logs)
    code = main(["compact-view", str(logs), "--to", str(tmp_path / "out")])
    assert code == (0 if obstacle.cause == "unfinished" else 1)
    assert (tmp_path / "out").exists() == (not is_raised(obstacle, *LOSSES))
    assert "a-0" in capfd.readouterr().err


@each_obstacle
def test_a_table(obstacle: Obstacle, logs: Path, tmp_path: Path) -> None:
    """What cannot be reached is not in the positions: the next run appends it."""
    table = delta_table(str(tmp_path / "lake"))
    if not is_raised(obstacle, "unreachable"):
        obstacle.make(logs)
        if is_raised(obstacle, *LOSSES):
            with pytest.raises((KodecError, OSError)):
                append_to_lake(logs, table)
        summary = append_to_lake(logs, table, on_error="skip")
        assert summary.records == len(rest(obstacle))
        assert summary.omissions.is_whole == (obstacle.cause == "unfinished")
        return
    append_to_lake(logs, table, topics=["b"])
    obstacle.make(logs)
    with pytest.raises((KodecError, OSError), match=obstacle.path):
        append_to_lake(logs, table, on_error="skip")
    (logs / "c-0").mkdir()
    shutil.copy(logs / "b-0" / f"{0:020d}.log", logs / "c-0")
    summary = append_to_lake(logs, table, on_error="skip-unreachable")
    assert [(row.topic, row.records) for row in summary.partitions if row.records] == [("c", 10)]
    (item,) = summary.omissions
    assert (item.cause, str(item.path)) == (Cause.UNREACHABLE, str(logs / obstacle.path))
    path = logs / (FIRST if obstacle.name == "in remote storage" else obstacle.path)
    if os.path.lexists(path):
        path.rmdir() if path.is_dir() else path.unlink()
    (tmp_path / "kept").rename(path)
    assert append_to_lake(logs, table, on_error="skip").records == 30


# -- a server that refuses ------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [(403, "AccessDenied"), (404, "NoSuchKey")], ids=str)
def test_what_a_server_refuses_is_not_damage(
    answer: tuple[int, str], server: Server, logs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    url = server.upload(logs, "kafka")
    server.fault = lambda method, key, number: answer if key == f"kafka/{MIDDLE}" else None
    words = ["export", url, "--format", "delta", "--to", str(tmp_path / "lake"), "--on-error"]
    assert main([*words, "skip"]) == 1
    assert MIDDLE in capfd.readouterr().err
    assert main([*words, "skip-unreachable"]) == 1
    assert MIDDLE in capfd.readouterr().err
    assert {topic for topic, _ in exported(tmp_path / "lake")} == {"b"}
    assert rows(url, mode="permissive") == {
        (topic, n) for topic in ("a", "b") for n in range(30) if topic == "b" or n not in MIDDLE_LOST
    }
    with pytest.raises((KodecError, OSError), match=MIDDLE):
        rows(url)
    server.fault = lambda method, key, number: None
    assert main([*words, "skip"]) == 0
    assert len(exported(tmp_path / "lake")) == 60


# -- folders of log directories -------------------------------------------------------------------


@pytest.mark.parametrize("glob", ["", "/*"])
def test_a_log_directory_that_cannot_be_listed(
    glob: str, logs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    disks = tmp_path / "disks"
    disks.mkdir()
    logs.rename(disks / "one")
    (disks / "two").symlink_to(disks / "two")
    path = f"{disks}{glob}"
    for on_error, published in (("raise", False), ("skip", False), ("skip-unreachable", True)):
        out = tmp_path / on_error
        assert main(["export", str(disks), "--to", str(out), "--on-error", on_error]) == 1
        assert str(disks / "two") in capfd.readouterr().err
        assert out.exists() == published
    for options in ({}, {"failOnDataLoss": "false"}, {"mode": "permissive", "failOnDataLoss": "true"}):
        with pytest.raises((KodecError, OSError), match="two"):
            rows(path, **options)
    assert len(rows(path, mode="permissive")) == 60
    assert str(disks / "two") in capfd.readouterr().err
    (row,) = load(path, mode="quarantine")
    assert (row["kind"], row["file"]) == ("unreachable", str(disks / "two"))


def test_what_is_rightly_absent_is_said(
    logs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(logs / "b-0", logs / "__consumer_offsets-7")
    shutil.copytree(logs / "b-0", logs / f"b-1.{'0' * 32}-delete")
    assert main(["export", str(logs), "--to", str(tmp_path / "out")]) == 0
    text = capfd.readouterr().err
    assert "__consumer_offsets is an internal topic" in text and "--internal" in text
    assert "-delete: delete replica, not read" in text
    assert (tmp_path / "out" / "_SUCCESS").read_text() == ""
    words = ["export", str(logs), "--to", str(tmp_path / "more")]
    assert main([*words, "--internal", "--topic", "a", "--topic", "__consumer_offsets"]) == 0
    assert "internal topic" not in capfd.readouterr().err
    assert load(logs, mode="quarantine") == []


def test_resume_reads_again_what_could_not_be_read(logs: Path, tmp_path: Path) -> None:
    replaced(MIDDLE, "loop")(logs)

    def run(out: Path) -> int:
        return export(
            logs, out, ExportOptions(on_error="skip-unreachable", resume=True, task_bytes="1"), engine="local"
        ).records

    assert run(tmp_path / "one") == 50
    (logs / MIDDLE).unlink()
    (tmp_path / "kept").rename(logs / MIDDLE)
    assert run(tmp_path / "two") == 60


# -- while a query runs ---------------------------------------------------------------------------


@pytest.mark.parametrize("split", [{}, {"minPartitions": "6"}], ids=str)
@pytest.mark.parametrize(
    ("change", "lost"),
    [
        (lambda logs: os.truncate(logs / LAST, 0), range(20, 30)),
        (lambda logs: (logs / LAST).unlink(), range(20, 30)),
        (lambda logs: (logs / MIDDLE).unlink(), MIDDLE_LOST),
        (lambda logs: shutil.rmtree(logs / "a-0"), ALL_LOST),
    ],
    ids=["last emptied", "last gone", "middle gone", "folder gone"],
)
def test_changes_between_planning_and_reading(
    change: Callable[[Path], object], lost: range, split: dict[str, str], logs: Path
) -> None:
    def read(**options: str) -> list[tuple[str, int]]:
        source = KafkaLogDataSource({"path": str(logs), **split, **options})
        reader = source.reader(source.schema())
        tasks = reader.partitions()
        if not (logs.parent / "changed").exists():
            shutil.copytree(logs, logs.parent / "changed")
            change(logs)
        try:
            return sorted(
                (row["topic"], row["offset"])
                for task in tasks
                for batch in reader.read(task)
                for row in batch.to_pylist()
            )
        finally:
            shutil.rmtree(logs)
            (logs.parent / "changed").rename(logs)

    with pytest.raises(KodecError, match="a-0"):
        read()
    expected = [(topic, n) for topic in ("a", "b") for n in range(30) if topic == "b" or n not in lost]
    assert read(failOnDataLoss="false") == expected
    assert read(mode="permissive") == expected


# -- a driver's log -------------------------------------------------------------------------------

QUERY = """
import sys
from kodec.pipeline import session
spark = session("local[2]", jvm=False)
frame = spark.read.format("kafka-log").option("mode", "permissive").load(sys.argv[1])
print("rows", len(frame.select("offset").collect()))
spark.stop()
"""


def test_a_user_of_spark_sees_it(logs: Path) -> None:
    """At the usual level of Spark's log, from planning and from a task."""
    changed(MIDDLE, 70, 1)(logs)
    replaced("b-0", "loop")(logs)
    done = subprocess.run(
        [sys.executable, "-c", QUERY, str(logs)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stdout.splitlines()[-1] == "rows 25", done.stderr[-2000:]
    lines = [line for line in done.stderr.splitlines() if "WARN kafka-log: left out: " in line]
    assert sum(str(logs / "b-0") in line for line in lines) >= 1
    assert sum(str(logs / MIDDLE) in line and "CrcMismatch" in line for line in lines) == 1
