"""Logs appended to tables of Iceberg and Delta: each offset once, whoever else writes, whatever is killed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import pyarrow as pa
import pytest

import kodec
from kodec.cli.main import main
from kodec.log.directories.record_filter import RecordFilter
from kodec.log.files.listing import TopicPartition
from kodec.log.omissions import Cause
from kodec.pipeline import append_to_lake, delta_table, export, iceberg_table, plan
from kodec.pipeline.columns import arrow_columns, chosen_columns
from kodec.pipeline.jobs import lake
from kodec.pipeline.lake.delta import DeltaLakeTable
from kodec.pipeline.lake.iceberg import IcebergTable
from kodec.pipeline.lake.table import OFFSETS, Conflict, LakeError, LakeTable, Move, Position
from tests.data import LOGS, TESTS
from tests.fixtures import write_segment

LAYOUT = {"orders-0": [range(10), range(10, 20)], "orders-1": [range(5)]}

DATA = LOGS
Make = Callable[[], LakeTable]


@pytest.fixture(params=["iceberg", "delta"])
def format(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make(format: str, tmp_path: Path) -> Make:
    """A function that opens the test's table anew, as another process would."""
    if format == "delta":
        return lambda: delta_table(str(tmp_path / "lake"))
    (tmp_path / "lake").mkdir()
    return lambda: iceberg_table("lake.records", properties=catalog(tmp_path))


@pytest.fixture
def logs(logs: Path) -> Path:
    """The log directory of `LAYOUT`, of which orders-0 is a broker's."""
    of_broker(logs / "orders-0", "AAAAAAAAAAAAAAAAAAAAAQ", "0 0")
    return logs


def catalog(folder: Path) -> dict[str, str]:
    where = (folder / "lake").as_uri()
    return {"type": "sql", "uri": f"sqlite:///{folder}/lake/catalog.db", "warehouse": where}


def of_broker(folder: Path, topic_id: str, *epochs: str) -> None:
    (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")
    (folder / "leader-epoch-checkpoint").write_text("\n".join(["0", str(len(epochs)), *epochs, ""]))


def iceberg(table: LakeTable) -> Any:
    assert isinstance(table, IcebergTable)
    return table._catalog.load_table(table.name)


def rows(table: LakeTable) -> pa.Table:
    if isinstance(table, DeltaLakeTable):
        assert table.path is not None
        return deltalake.DeltaTable(table.path).to_pyarrow_table()
    return iceberg(table).scan().to_arrow()


def offsets(table: LakeTable) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row in rows(table).select(["topic", "partition", "offset"]).to_pylist():
        found.setdefault(f"{row['topic']}-{row['partition']}", []).append(row["offset"])
    return {name: sorted(each) for name, each in sorted(found.items())}


def said(table: LakeTable) -> list[dict[str, Any]]:
    """What commits say of offsets, the newest first."""
    if isinstance(table, DeltaLakeTable):
        assert table.path is not None
        texts = [each.get(OFFSETS) for each in deltalake.DeltaTable(table.path).history()]
    else:
        snapshots = sorted(iceberg(table).snapshots(), key=lambda each: -each.sequence_number)
        texts = [each.summary[OFFSETS] for each in snapshots]
    return [json.loads(text) for text in texts if text is not None]


# -- each offset once -----------------------------------------------------------------------------


def test_a_run_appends_what_is_new_and_says_what(make: Make, logs: Path) -> None:
    first = append_to_lake(logs, make())
    assert (first.records, len(first.commits)) == (25, 1)
    assert [(row.topic, row.partition, row.records) for row in first.partitions] == [
        ("orders", 0, 20),
        ("orders", 1, 5),
    ]
    again = append_to_lake(logs, make())
    assert (again.records, again.commits) == (0, [])
    write_segment(logs / "orders-1", 5, 5)
    (logs / "paid-0").mkdir()
    write_segment(logs / "paid-0", 7, 3)
    assert append_to_lake(logs, make()).records == 8
    assert offsets(make()) == {
        "orders-0": list(range(20)),
        "orders-1": list(range(10)),
        "paid-0": [7, 8, 9],
    }
    of_first = {"from": 0, "to": 20, "epoch": 0, "topicId": "AAAAAAAAAAAAAAAAAAAAAQ"}
    assert said(make()) == [
        {"orders": {"1": {"from": 5, "to": 10}}, "paid": {"0": {"from": 7, "to": 10}}},
        {"orders": {"0": of_first, "1": {"from": 0, "to": 5}}},
    ]


def test_rows_are_those_of_an_export_also_in_duckdb(make: Make, tmp_path: Path) -> None:
    append_to_lake(DATA, make())
    export(DATA, tmp_path / "files", engine="local")
    glob = str(tmp_path / "files" / "*" / "*" / "*.parquet")
    # pyiceberg reads a list that is null as an empty one
    columns = 'topic, "partition", "offset", epoch_us("timestamp"), "timestampType", key, value, headers'
    wanted = duckdb.sql(f"select {columns} from read_parquet('{glob}', hive_partitioning=false) order by all")
    through_arrow = rows(make())
    with duckdb.connect() as session:
        session.register("through_arrow", through_arrow)
        found = session.sql(f"select {columns} from through_arrow order by all").fetchall()
    expected = wanted.fetchall()
    assert [(*row[:-1], row[-1] or []) for row in found] == [(*row[:-1], row[-1] or []) for row in expected]
    assert len(found) > 2_000
    # the files themselves, as the table lists them
    table = make()
    if isinstance(table, DeltaLakeTable):
        files = [each.removeprefix("file://") for each in deltalake.DeltaTable(table.name).file_uris()]
    else:
        files = [each.file.file_path.removeprefix("file://") for each in iceberg(table).scan().plan_files()]
    assert duckdb.read_parquet(files).select(columns).order("all").fetchall() == expected


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_transactions_are_waited_for(make: Make, isolation: Any) -> None:
    append_to_lake(DATA, make(), topics=["transactions"], isolation=isolation)
    wanted_records = RecordFilter(isolation=isolation)
    wanted = {
        str(log.topic_partition): [each.offset for each in log.find_records(wanted_records)]
        for log in kodec.LogDirectory(DATA)
        if log.topic_partition.topic == "transactions"
    }
    assert offsets(make()) == wanted
    # from one to the other: nothing is appended twice
    append_to_lake(DATA, make(), topics=["transactions"], isolation="read_committed")
    assert offsets(make()) == wanted


def test_a_long_run_commits_on_the_way(make: Make, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "LEAST_TASK", 1)
    monkeypatch.setattr(plan, "MOST_TASK", 1)
    summary = append_to_lake(logs, make(), commit_bytes=1, threads=2)
    assert len(summary.commits) == 3
    assert [next(iter(each["orders"].values()))["to"] for each in reversed(said(make()))] == [10, 20, 5]
    assert offsets(make()) == {"orders-0": list(range(20)), "orders-1": list(range(5))}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize(
    "mode", ["commit", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("steps", "files"))]
)
def test_a_kill_anywhere_leaves_each_offset_once(tmp_path: Path, format: str, mode: str) -> None:
    for first in (0, 4):
        write_segment(tmp_path / "logs" / "orders-0", first, 4)
    (tmp_path / "made").mkdir()
    program = [sys.executable, TESTS / "pipeline/kill_lake.py", tmp_path / "logs", tmp_path / "made"]
    done = subprocess.run([*program, format, mode], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # two files may appear between two looks
    assert int(done.stdout) >= {"commit": 4, "steps": 10, "files": 2}[mode]


class Beaten:
    """A table in which somebody else does something between the reading of the positions and the commit."""

    def __init__(self, table: LakeTable, first: Callable[[], object], times: int = 1) -> None:
        self.table, self.first, self.times = table, first, times
        self.name, self.path = table.name, table.path

    def positions(self, *args: Any, **options: Any) -> dict[TopicPartition, Position]:
        return self.table.positions(*args, **options)

    def append(self, *args: Any) -> str:
        if self.times:
            self.times -= 1
            self.first()
        return self.table.append(*args)


def test_of_two_runs_one_wins_and_the_other_goes_on(make: Make, logs: Path) -> None:
    append_to_lake(logs, make(), topics=["orders"])
    write_segment(logs / "orders-0", 20, 4)
    write_segment(logs / "paid-0", 0, 3)

    def other() -> None:
        assert append_to_lake(logs, make(), topics=["orders"]).records == 4

    assert append_to_lake(logs, Beaten(make(), other)).records == 3
    assert offsets(make()) == {
        "orders-0": list(range(24)),
        "orders-1": list(range(5)),
        "paid-0": [0, 1, 2],
    }


def test_nobody_waits_for_ever(make: Make, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose() -> None:
        raise Conflict("taken")

    with pytest.raises(Conflict, match="taken"):
        append_to_lake(logs, Beaten(make(), lose, times=100))


# -- what others do to the table ------------------------------------------------------------------


def rewrite(table: LakeTable) -> None:
    """A commit that changes no row: a compaction."""
    if isinstance(table, DeltaLakeTable):
        deltalake.DeltaTable(table.name).optimize.compact()
    else:
        there = iceberg(table)
        there.overwrite(there.scan().to_arrow())


def expire(table: LakeTable) -> None:
    """Only the current snapshot stays."""
    if isinstance(table, DeltaLakeTable):
        there = deltalake.DeltaTable(table.name)
        there.create_checkpoint()
        log = Path(table.name, "_delta_log")
        for commit in log.glob("*.json"):
            # as a clean-up does when the retention of the log is over
            if int(commit.stem) < there.version():
                commit.unlink()
        return
    there = iceberg(table)
    ids = [each.snapshot_id for each in there.snapshots() if each != there.current_snapshot()]
    there.maintenance.expire_snapshots().by_ids(ids).commit()


def test_compactions_and_expired_snapshots_do_not_make_it_start_again(make: Make, logs: Path) -> None:
    append_to_lake(logs, make())
    write_segment(logs / "orders-1", 5, 5)
    append_to_lake(logs, make())
    rewrite(make())
    assert append_to_lake(logs, make()).records == 0
    expire(make())
    assert append_to_lake(logs, make()).records == 0
    write_segment(logs / "orders-0", 20, 1)
    assert append_to_lake(logs, Beaten(make(), lambda: rewrite(make()))).records == 1
    assert offsets(make()) == {"orders-0": list(range(21)), "orders-1": list(range(10))}


def test_a_table_that_was_rolled_back_gets_again_what_it_lost(tmp_path: Path, logs: Path) -> None:
    (tmp_path / "lake").mkdir()
    table = iceberg_table("lake.records", properties=catalog(tmp_path))
    summary = append_to_lake(logs, table, topics=["orders"])
    shutil.copytree(logs / "orders-0", logs / "paid-0")
    append_to_lake(logs, table)
    (first,) = summary.commits
    iceberg(table).manage_snapshots().set_current_snapshot(snapshot_id=int(first)).commit()
    assert set(offsets(table)) == {"orders-0", "orders-1"}
    assert append_to_lake(logs, table).records == 20
    assert offsets(table)["paid-0"] == list(range(20))


@pytest.mark.parametrize("text", ["{", '{"commit":"x","offsets":{"orders":{"0":{"from":0,"to":1e999}}}}'])
def test_a_table_that_does_not_know_how_far_it_is_is_refused(text: str, make: Make, logs: Path) -> None:
    append_to_lake(logs, make())
    write_segment(logs / "orders-1", 5, 5)
    append_to_lake(logs, make())
    if isinstance(table := make(), DeltaLakeTable):
        deltalake.DeltaTable(table.name).restore(1)
        why = "version 3 restored an older one"
    else:
        with iceberg(table).transaction() as change:
            change.set_properties({OFFSETS: text})
        why = "cannot be read"
    with pytest.raises(LakeError, match=why):
        append_to_lake(logs, make())


# -- what becomes of the log ----------------------------------------------------------------------


def test_a_log_that_went_back_or_is_another_one_is_refused(make: Make, logs: Path) -> None:
    append_to_lake(logs, make())
    before = offsets(make())
    folder = logs / "orders-0"
    (folder / f"{10:020d}.log").rename(logs.parent / "kept")
    with pytest.raises(
        lake.LogChanged, match=r"orders-0 .* ends at offset 10, .* up to 20: it was truncated"
    ):
        append_to_lake(logs, make(), on_error="skip")
    # written again, by a leader of another epoch, beyond where it was
    write_segment(folder, 10, 15)
    of_broker(folder, "AAAAAAAAAAAAAAAAAAAAAQ", "0 0", "3 10")
    with pytest.raises(lake.LogChanged, match="offset 19 of leader epoch 3, the table of 0"):
        append_to_lake(logs, make())
    of_broker(folder, "AAAAAAAAAAAAAAAAAAAAAg", "0 0")
    with pytest.raises(lake.LogChanged, match="is of topic id AAAAAAAAAAAAAAAAAAAAAg"):
        append_to_lake(logs, make())
    assert offsets(make()) == before
    of_broker(folder, "AAAAAAAAAAAAAAAAAAAAAQ", "0 0", "1 20")
    assert append_to_lake(logs, make()).records == 5
    assert said(make())[0]["orders"]["0"]["epoch"] == 1


def test_what_retention_took_first_is_told(make: Make, logs: Path) -> None:
    append_to_lake(logs, make())
    shutil.rmtree(logs / "orders-1")
    write_segment(logs / "orders-1", 50, 5)
    with pytest.raises(plan.DataLoss, match="offsets 5 to 49 of orders-1 were deleted"):
        append_to_lake(logs, make())
    summary = append_to_lake(logs, make(), on_error="skip")
    (row,) = summary.partitions
    assert row.records == 5
    (left,) = summary.omissions
    assert left.reason == "offsets 5 to 49 of orders-1 were deleted before they were appended"
    assert (left.cause, left.first_offset, left.last_offset) == (Cause.MISSING, 5, 49)
    assert offsets(make())["orders-1"] == [*range(5), *range(50, 55)]
    assert append_to_lake(logs, make()).records == 0


def test_damage_stops_an_append_and_leaves_the_table(make: Make, logs: Path) -> None:
    path = logs / "orders-0" / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[70] ^= 1
    path.write_bytes(data)
    with pytest.raises(kodec.errors.CrcMismatch):
        append_to_lake(logs, make())
    assert rows(make()).num_rows == 0
    if isinstance(make(), IcebergTable):
        assert list(logs.parent.rglob("lake/**/*.parquet")) == []
    summary = append_to_lake(logs, make(), on_error="skip")
    assert summary.records == 20
    assert [(each.cause, each.path) for each in summary.omissions] == [(Cause.DAMAGED, path)]


@pytest.mark.parametrize("topic", ["a.b_c", "-", "...x", "_-0", "x" * 249])
def test_topics_of_any_name(make: Make, tmp_path: Path, topic: str) -> None:
    write_segment(tmp_path / "logs" / f"{topic}-0", 0, 4)
    append_to_lake(tmp_path / "logs", make())
    write_segment(tmp_path / "logs" / f"{topic}-0", 4, 2)
    assert append_to_lake(tmp_path / "logs", make()).records == 2
    assert offsets(make()) == {f"{topic}-0": list(range(6))}


# -- columns --------------------------------------------------------------------------------------


def test_columns_are_added_when_they_come(make: Make, logs: Path) -> None:
    append_to_lake(logs, make(), include_headers=False)
    assert "headers" not in rows(make()).schema.names
    write_segment(logs / "orders-1", 5, 5)
    append_to_lake(logs, make(), include_decoded=True)
    found = rows(make())
    assert {"headers", "keyDecoded", "valueDecoded"} <= set(found.schema.names)
    write_segment(logs / "orders-1", 10, 5)
    append_to_lake(logs, make(), include_headers=False)
    counts = {row["offset"]: row["headers"] for row in rows(make()).to_pylist() if row["partition"] == 1}
    assert [offset for offset, each in counts.items() if each] == [8]
    assert len(counts) == 15


def put(table: LakeTable, first: int, more: pa.Table) -> None:
    """Append rows with these columns, as a job with typed values does."""
    owner = TopicPartition("t", 0)
    table.positions({owner: None}, more.schema, add_columns=False)
    moves = {owner: Move(first, Position(first + more.num_rows))}
    table.append(more.schema, [lambda: (batch for batch in more.to_batches())], moves, 1)


def test_a_schema_that_grows_is_followed(make: Make, format: str) -> None:
    place = pa.struct([("x", pa.int32())])
    put(make(), 0, pa.table({"n": pa.array([1], pa.int32()), "at": pa.array([{"x": 1}], place)}))
    wider = pa.struct([("x", pa.int32()), ("y", pa.string())])
    put(make(), 1, pa.table({"at": pa.array([{"x": 2, "y": "b"}], wider), "s": ["new"]}))
    assert rows(make()).sort_by([("n", "ascending")]).select(["n", "at", "s"]).to_pylist() == [
        {"n": 1, "at": {"x": 1, "y": None}, "s": None},
        {"n": None, "at": {"x": 2, "y": "b"}, "s": "new"},
    ]
    long = pa.table({"n": pa.array([2**40], pa.int64())})
    if format == "iceberg":
        put(make(), 2, long)
        assert sorted(filter(None, rows(make())["n"].to_pylist())) == [1, 2**40]
    else:
        with pytest.raises(LakeError, match="column n is int32 there, and int64 in the rows"):
            put(make(), 2, long)


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"n": pa.array(["1"])}, "column n is int64 there, and string in the rows"),
        ({"N": pa.array([1])}, "column N differs from n in case only"),
        ({"at": pa.array([{"x": "1"}])}, r"column at\.x is int32 there, and string in the rows"),
        ({"all": pa.array([[1.5]])}, r"column all\[\] is int64 there, and double in the rows"),
    ],
)
def test_a_schema_that_cannot_be_followed_is_refused(
    make: Make, columns: dict[str, pa.Array], why: str
) -> None:
    place = pa.array([{"x": 1}], pa.struct([("x", pa.int32())]))
    put(make(), 0, pa.table({"n": pa.array([1], pa.int64()), "at": place, "all": [[1]]}))
    with pytest.raises(LakeError, match=why):
        put(make(), 1, pa.table(columns))
    assert rows(make()).num_rows == 1


@pytest.mark.parametrize("change", ["renamed", "dropped", "renamed inside", "dropped inside"])
def test_a_column_that_was_renamed_or_dropped_is_refused(change: str, tmp_path: Path, logs: Path) -> None:
    """A new one of its name would be null in all earlier rows, which a null value makes tombstones."""
    (tmp_path / "lake").mkdir()
    table = iceberg_table("lake.records", properties=catalog(tmp_path))
    append_to_lake(logs, table, topics=["orders"])
    name = "headers.element.key" if change.endswith("inside") else "value"
    with iceberg(table).update_schema(allow_incompatible_changes=True) as schema:
        if change.startswith("renamed"):
            schema.rename_column(name, "other")
        else:
            schema.delete_column(name)
    before = rows(table)
    for options in ({}, {"add_columns": True}):
        with pytest.raises(LakeError, match=f"column {name} was renamed or dropped there"):
            append_to_lake(logs, table, **options)
    assert rows(table).schema == before.schema
    # what is not among the rows may go
    if change == "dropped inside":
        assert append_to_lake(logs, table, include_headers=False).records == 0


def test_a_delta_table_whose_columns_can_be_renamed_gets_none(tmp_path: Path, logs: Path) -> None:
    ours = arrow_columns(chosen_columns(headers=True))
    mapped = {
        "delta.columnMapping.mode": "name",
        "delta.minReaderVersion": "2",
        "delta.minWriterVersion": "5",
    }
    renamed = pa.schema([each.with_name("payload") if each.name == "value" else each for each in ours])
    deltalake.DeltaTable.create(tmp_path / "lake", renamed, configuration=mapped)
    with pytest.raises(LakeError, match="column value was renamed or dropped there"):
        append_to_lake(logs, delta_table(str(tmp_path / "lake")), add_columns=True)


def test_another_programs_table_is_not_widened(
    format: str, make: Make, tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = pa.table({"id": pa.array([1, 2], pa.int64()), "topic": ["a", "b"]})
    words = ["export", str(logs), "--format", format]
    if format == "delta":
        deltalake.write_deltalake(tmp_path / "lake", others)
        words += ["--to", str(tmp_path / "lake")]
    else:
        table = make()
        assert isinstance(table, IcebergTable)
        table._catalog.create_namespace_if_not_exists("lake")
        table._catalog.create_table(table.name, others.schema).append(others)
        words += ["--to", table.name]
        words += [
            word for name, value in catalog(tmp_path).items() for word in ("--property", f"{name}={value}")
        ]
    assert main(words) == 1
    assert "it may be of another program; --add-columns" in capsys.readouterr().err
    assert rows(make()).schema.names == ["id", "topic"]
    assert main([*words, "--add-columns"]) == 0
    assert rows(make()).num_rows == 27
    # it has positions now, and new columns as any other
    assert main([*words, "--decode"]) == 0


def test_a_column_that_must_be_there_is_missed(tmp_path: Path, logs: Path) -> None:
    schema = pa.schema([pa.field("tenant", pa.string(), nullable=False), ("offset", pa.int64())])
    deltalake.DeltaTable.create(tmp_path / "lake", schema)
    with pytest.raises(LakeError, match="column tenant is required there, and the rows have none"):
        append_to_lake(logs, delta_table(str(tmp_path / "lake")))


def test_the_partitions_of_a_table_are_kept(make: Make, logs: Path, tmp_path: Path) -> None:
    if isinstance(table := make(), DeltaLakeTable):
        schema = pa.schema([("topic", pa.string()), ("partition", pa.int32())])
        deltalake.DeltaTable.create(table.name, schema, partition_by=["topic", "partition"])
    else:
        from pyiceberg.transforms import DayTransform, IdentityTransform

        put(
            make(),
            0,
            pa.table(
                {
                    "timestamp": pa.array([], pa.timestamp("us", tz="UTC")),
                    "partition": pa.array([], pa.int32()),
                }
            ),
        )
        with iceberg(table).update_spec() as spec:
            spec.add_field("timestamp", DayTransform())
            spec.add_field("partition", IdentityTransform())
    append_to_lake(logs, make())
    assert offsets(make()) == {"orders-0": list(range(20)), "orders-1": list(range(5))}
    assert len(list((tmp_path / "lake").rglob("*partition=*/*.parquet"))) == 2


# -- the command ----------------------------------------------------------------------------------


def test_the_command_appends(
    format: str, tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["export", str(logs), "--format", format]
    if format == "delta":
        words += ["--to", str(tmp_path / "lake")]
    else:
        (tmp_path / "lake").mkdir()
        words += ["--to", "lake.records"]
        words += [
            word for name, value in catalog(tmp_path).items() for word in ("--property", f"{name}={value}")
        ]
    assert main([*words, "--topic", "orders"]) == 0
    assert "25 records" in capsys.readouterr().out
    assert main(words) == 0
    assert "0 records" in capsys.readouterr().out
    for more, why in (
        (["--overwrite"], "--overwrite is not supported with"),
        (["--engine", "spark"], "--engine spark is not supported with"),
        (["--interval", "1"], "--interval needs --follow"),
        (["--property", "x"], "write NAME=VALUE"),
    ):
        assert main([*words, *more]) == 2
        assert why in " ".join(capsys.readouterr().err.split())
    (logs / "orders-0" / f"{10:020d}.log").unlink()
    assert main(words) == 1
    assert "it was truncated" in capsys.readouterr().err


def test_a_table_is_not_made_in_what_is_read(logs: Path) -> None:
    with pytest.raises(ValueError, match="the source"):
        append_to_lake(logs, delta_table(str(logs / "lake")))


def test_follow_appends_until_it_is_interrupted(
    tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter([lambda: write_segment(logs / "orders-1", 5, 5), lambda: None])

    others = time.sleep

    def sleep(seconds: float) -> None:
        if seconds != 3:
            # of another thread
            others(seconds)
            return
        if (look := next(looks, None)) is None:
            raise KeyboardInterrupt
        look()

    monkeypatch.setattr("kodec.cli.lake_export.time.sleep", sleep)
    words = ["export", str(logs), "--to", str(tmp_path / "lake"), "--format", "delta"]
    assert main([*words, "--follow", "--interval", "3"]) != 0
    assert len(offsets(delta_table(str(tmp_path / "lake")))["orders-1"]) == 10
