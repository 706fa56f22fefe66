"""Logs in pyarrow, DuckDB, Polars and pandas: the same rows, and what a query asks for reaches the log."""

import pickle
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import kodec
from kodec.errors import MissingDependency
from kodec.log.backends.scan import EVERY, Range
from kodec.log.selection import Selection
from kodec.log.tables import dataset as dataset_module
from kodec.log.tables import polars as polars_module
from kodec.log.tables.table import scan_selected
from tests.data import LOGS

TIME = datetime(2023, 11, 14, 22, 20, tzinfo=UTC)
LATER = datetime(2023, 11, 14, 22, 30, tzinfo=UTC)
F = pc.field


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What tables were read: their topic-partitions, columns and ranges, None where these are unbounded."""
    seen: list[dict[str, Any]] = []

    def bounds(given: Range) -> tuple[int | None, int | None]:
        first, last = given
        return None if first == EVERY.first else first, None if last == EVERY.last else last

    def scan(chosen: Any, columns: Any, selection: Selection, *rest: Any) -> Any:
        if columns is not None:
            logs = [str(log.topic_partition) for log in chosen.logs]
            offsets, times = bounds(selection.offsets), bounds(selection.timestamps)
            seen.append({"logs": logs, "columns": columns, "offsets": offsets, "timestamps": times})
        return scan_selected(chosen, columns, selection, *rest)

    monkeypatch.setattr(dataset_module, "scan_selected", scan)
    monkeypatch.setattr(polars_module, "scan_selected", scan)
    return seen


def every() -> pa.Table:
    return kodec.read_table(LOGS)


def test_a_dataset_has_the_rows_of_the_table() -> None:
    logs = kodec.log_dataset(LOGS)
    assert logs.to_table().equals(every())
    assert pa.Table.from_batches(logs.to_batches()).equals(every())
    assert logs.count_rows() == logs.scanner(columns=[]).count_rows() == every().num_rows
    assert logs.head(5).equals(every().slice(0, 5))
    assert (
        pickle.loads(pickle.dumps(logs)).count_rows(F("offset") < 3)
        == every().filter(F("offset") < 3).num_rows
    )
    assert logs.to_table({"next": F("offset") + 1, "t": F("topic")})["next"][0].as_py() == 1
    with pytest.raises(NotImplementedError, match="read-only"):
        logs.get_fragments()
    with pytest.raises(NotImplementedError, match="read-only"):
        logs.filter(F("offset") > 1)


@pytest.mark.parametrize(
    ("condition", "logs", "offsets"),
    [
        (F("topic") == "orders", ["orders-0", "orders-1", "orders-2"], None),
        ((F("partition") == 1) & F("topic").isin(["orders", "segments"]), ["orders-1"], None),
        ((F("topic") == "orders") & (F("offset") > 400), 3, (401, None)),
        ((F("topic") == "orders") & (F("offset") >= 3) & (F("offset") < 7), 3, (3, 6)),
        ((F("topic") == "orders") & (F("offset") == 5), 3, (5, 5)),
        ((F("topic") == "orders") & ((F("offset") == 5) | (F("key") == b"x")), 3, (None, None)),
        ((F("partition") == 2) | (F("topic") == "large"), ["large-0", "orders-2"], None),
        (F("topic") == "nowhere", [], None),
    ],
)
def test_a_filter_reaches_the_log(
    condition: Any, logs: Any, offsets: Any, scans: list[dict[str, Any]]
) -> None:
    found = kodec.log_dataset(LOGS).to_table(columns=["value"], filter=condition)
    assert found.equals(every().filter(condition).select(["value"]))
    (asked,) = scans
    assert asked["logs"] == logs if isinstance(logs, list) else len(asked["logs"]) == logs
    assert asked["offsets"] == (offsets or (None, None))
    assert set(asked["columns"]) == {
        "value",
        *(n for n in ("topic", "partition", "offset", "key") if n in str(condition)),
    }


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_times_reach_the_log(unit: str, scans: list[dict[str, Any]]) -> None:
    low, high = (pa.scalar(each, pa.timestamp(unit, tz="UTC")) for each in (TIME, LATER))
    condition = (F("timestamp") >= low) & (F("timestamp") <= high)
    found = kodec.log_dataset(LOGS).to_table(filter=condition)
    assert found.equals(every().filter(condition)) and 0 < found.num_rows < every().num_rows
    assert scans[0]["timestamps"] == tuple(int(each.timestamp() * 1000) for each in (TIME, LATER))


def test_duckdb_takes_a_dataset_by_its_name(scans: list[dict[str, Any]]) -> None:
    logs = kodec.log_dataset(LOGS)  # noqa: F841  # DuckDB looks for it here
    assert duckdb.sql("select count(*) from logs").fetchall() == [(every().num_rows,)]
    query = (
        'select topic, max("offset") from logs where partition = 1 and "offset" > 20 group by 1 order by 1'
    )
    condition = (F("partition") == 1) & (F("offset") > 20)
    wanted = every().filter(condition).group_by("topic").aggregate([("offset", "max")]).sort_by("topic")
    assert duckdb.sql(query).fetchall() == [tuple(row.values()) for row in wanted.to_pylist()]
    assert scans[-1]["offsets"] == (21, None)
    assert all(name.endswith("-1") for name in scans[-1]["logs"])
    assert set(scans[-1]["columns"]) == {"topic", "partition", "offset"}
    query = f"select count(*) from logs where timestamp >= '{TIME.isoformat()}'"
    wanted = every().filter(F("timestamp") >= pa.scalar(TIME, pa.timestamp("ms", tz="UTC"))).num_rows
    assert duckdb.sql(query).fetchall() == [(wanted,)]
    assert scans[-1]["timestamps"] == (int(TIME.timestamp() * 1000), None)


C = pl.col


@pytest.mark.parametrize(
    ("condition", "logs", "offsets", "timestamps"),
    [
        (C("topic") == "orders", 3, None, None),
        ((C("partition") == 1) & C("topic").is_in(["orders", "segments"]), ["orders-1"], None, None),
        ((C("topic") == "orders") & (C("offset") > 400) & (C("value").is_not_null()), 3, (400, None), None),
        ((C("topic") == "orders") & C("offset").is_between(3, 7, closed="left"), 3, (3, 7), None),
        ((C("topic") == "orders") & (pl.lit(7) > C("offset")), 3, (None, 7), None),
        ((C("topic") == "orders") & ((C("offset") == 5) | C("key").is_null()), 3, None, None),
        ((C("topic") == "orders") & (C("offset") % 2 == 0), 3, None, None),
        ((C("timestamp") >= TIME) & (C("timestamp") < LATER), None, None, (TIME, LATER)),
        (C("timestamp").is_between(TIME, LATER), None, None, (TIME, LATER)),
    ],
)
def test_polars_asks_for_what_it_needs(
    condition: pl.Expr, logs: Any, offsets: Any, timestamps: Any, scans: list[dict[str, Any]]
) -> None:
    frame = kodec.scan_polars(LOGS)
    whole = pl.DataFrame(every())
    found = frame.filter(condition).select("value", "offset").collect()
    assert found.equals(whole.filter(condition).select("value", "offset"))
    (asked,) = scans
    if logs is not None:
        assert asked["logs"] == logs if isinstance(logs, list) else len(asked["logs"]) == logs
    assert asked["offsets"] == (offsets or (None, None))
    times = (int(each.timestamp() * 1000) for each in timestamps or ())
    assert asked["timestamps"] == (tuple(times) or (None, None))
    assert set(asked["columns"]) == {"value", "offset", *condition.meta.root_names()}


def test_a_lazy_frame_has_the_rows_of_the_table() -> None:
    frame = kodec.scan_polars(LOGS)
    whole = pl.DataFrame(every())
    assert frame.collect_schema() == whole.schema
    assert frame.collect().equals(whole)
    assert frame.head(3).collect().equals(whole.head(3))
    assert frame.select(pl.len()).collect().item() == whole.height
    last = frame.group_by("topic", "partition").agg(pl.col("offset").max()).sort("topic", "partition")
    assert last.collect().equals(
        whole.group_by("topic", "partition").agg(pl.col("offset").max()).sort("topic", "partition")
    )
    one = kodec.scan_polars(LOGS / "orders-0")
    assert "topic" not in one.collect_schema() and one.collect().height == 421


def test_pandas_and_arrow_streams_take_a_reader() -> None:
    frame = kodec.read_table(LOGS).to_pandas()
    assert isinstance(frame, pd.DataFrame) and len(frame) == every().num_rows
    assert pa.table(kodec.scan_table(LOGS)).equals(every())
    assert pl.DataFrame(kodec.scan_table(LOGS)).height == every().num_rows
    stream = kodec.scan_table(LOGS, ["topic"])
    reader = pa.RecordBatchReader.from_stream(stream)  # noqa: F841  # DuckDB looks for it here
    assert duckdb.sql("select count(*) from reader").fetchall() == [(every().num_rows,)]


def test_without_polars_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.delitem(sys.modules, "kodec.log.tables.polars")
    with pytest.raises(MissingDependency, match="pip install polars"):
        kodec.scan_polars(LOGS)


def plugs() -> list[Callable[..., Any]]:
    return [kodec.log_dataset, kodec.scan_polars]


@pytest.mark.parametrize("plug", plugs(), ids=lambda plug: plug.__name__)
def test_nothing_is_read_before_a_query(plug: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "logs" / "t-0" / f"{0:020d}.log"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not a log, whoever reads it is told")
    found = plug(tmp_path / "logs")
    with pytest.raises(Exception, match="t-0"):
        found.to_table() if hasattr(found, "to_table") else found.collect()
    with pytest.raises(FileNotFoundError):
        plug(tmp_path / "nowhere").collect()


@pytest.mark.parametrize(
    "query",
    [
        "logs.head(2)",
        "next(logs.to_batches(columns=['value']))",
        "duckdb.sql('select key from logs limit 2').fetchall()",
        "duckdb.sql('select key from logs limit 2').fetchall(), duckdb.sql('select 1 from logs').fetchall()",
        "raised(lambda: duckdb.sql('select sum(key::int) from logs').fetchall())",
        "raised(lambda: duckdb.sql(\"select * from logs where partition = 'a'\").fetchall())",
    ],
)
def test_a_query_that_takes_some_rows_lets_the_process_end(query: str) -> None:
    """Threads of Arrow's that read ahead of it aborted the process at its end, or hung."""
    program = (
        "import duckdb, kodec\n"
        "def raised(call):\n"
        "    try: call()\n"
        "    except duckdb.Error: return\n"
        "    raise SystemExit('no error')\n"
        f"logs = kodec.log_dataset({str(LOGS)!r}, topics='orders')\n"
        f"{query}\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
