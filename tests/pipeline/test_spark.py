"""The data source and the export inside a real Spark, on two local cores."""

import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.testing import assertDataFrameEqual, assertSchemaEqual

import kodec
from kodec.errors import MissingDependency
from kodec.pipeline import ExportOptions, export, register, schema
from kodec.pipeline.staging import Staging
from tests.data import LOGS
from tests.fixtures import make_records, write_segment


def frame(spark: Any, path: Path, source: str = "kafka-log", **options: str) -> Any:
    return spark.read.format(source).options(**options).load(str(path))


def test_the_seven_columns_have_the_types_of_sparks_kafka_source(spark: Any, log_dir: Path) -> None:
    assertSchemaEqual(frame(spark, log_dir).schema, schema())
    assert frame(spark, log_dir).dtypes == [
        ("key", "binary"),
        ("value", "binary"),
        ("topic", "string"),
        ("partition", "int"),
        ("offset", "bigint"),
        ("timestamp", "timestamp"),
        ("timestampType", "int"),
    ]


def test_rows_are_those_of_read_records(spark: Any, log_dir: Path) -> None:
    query = frame(spark, log_dir, includeHeaders="true").selectExpr(
        "topic", "partition", "offset", "unix_millis(timestamp)", "timestampType", "key", "value", "headers"
    )
    wanted = [
        (
            "orders",
            number,
            record.offset,
            record.timestamp,
            record.timestamp_type.value,
            record.key,
            record.value,
            [(key, value) for key, value in record.headers] or None,
        )
        for number in (0, 1)
        for path in sorted((log_dir / f"orders-{number}").glob("*.log"))
        for record in kodec.read_records(path)
    ]
    found = [tuple(row) for row in query.orderBy("topic", "partition", "offset").collect()]
    assert found == wanted


def test_columns_can_be_left_out(spark: Any, log_dir: Path) -> None:
    query = spark.read.format("kafka-log").schema("offset long, value binary").load(str(log_dir / "orders-0"))
    assert query.columns == ["offset", "value"]
    assert query.selectExpr("sum(offset)", "count(value)").collect() == [(sum(range(300)), 240)]


def test_an_empty_log_directory_is_an_empty_table_where_that_is_expected(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "meta.properties").touch()
    with pytest.raises(Exception, match=r"kafka-log: path: .* set allowEmpty=true"):
        frame(spark, tmp_path).collect()
    assert frame(spark, tmp_path, allowEmpty="true").collect() == []


def test_what_spark_adds_to_the_options_is_no_error(spark: Any, log_dir: Path) -> None:
    options = f"path '{log_dir}', subscribe 'orders'"
    spark.sql(f"CREATE TEMPORARY VIEW logged USING `kafka-log` OPTIONS ({options})")
    assert spark.sql("SELECT count(*) FROM logged").collect()[0][0] == 340
    both = [str(log_dir / "orders-0"), str(log_dir / "paid-0")]
    assert spark.read.format("kafka-log").load(both).count() == 300
    text = r"kafka-log: subscibe: there is no such option; did you mean subscribe"
    with pytest.raises(Exception, match=text):
        frame(spark, log_dir, subscibe="orders")


def test_quarantine_is_a_second_table(spark: Any, tmp_path: Path) -> None:
    for first in (0, 10, 20):
        path = write_segment(tmp_path / "t-0", first, 10)
    data = bytearray(path.read_bytes())
    data[70] ^= 1
    path.write_bytes(data)
    (tmp_path / "t-0" / "00000000000000000010.log").unlink()
    assert frame(spark, tmp_path, mode="permissive").count() == 15
    found = frame(spark, tmp_path, mode="quarantine").orderBy("kind").collect()
    assert [(row.kind, row.position, row.firstOffset, row.lastOffset) for row in found] == [
        ("damaged", 0, None, None),
        ("missing", None, 10, 19),
    ]
    assert frame(spark, tmp_path, mode="quarantine").where("kind = 'damaged'").select("topic").count() == 1


def test_register_says_what_workers_lack(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert register(spark) is spark
    # as in a session that has no jar
    monkeypatch.setattr("kodec.pipeline.spark._has_jar", lambda spark: False)
    python = tmp_path / "python"
    hidden = "import runpy, sys; sys.modules['kodec'] = None; sys.argv[1:2] = []; m = sys.argv.pop(1); "
    python.write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "{hidden}runpy.run_module(m, run_name=\'__main__\')" "$@"\n'
    )
    python.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    with pytest.raises(MissingDependency, match=r"has no kodec: install kodec .* or set PYSPARK_PYTHON"):
        register(spark, jvm=False)
    # of which sources in Python are not all that is needed
    monkeypatch.setitem(vars(spark), "version", "4.0.4")
    with pytest.raises(MissingDependency, match=r"needs Spark 4\.1 or later, and this is Spark 4\.0\.4"):
        register(spark, jvm=False)


def test_a_torn_tail_is_not_an_error(spark: Any, log_dir: Path) -> None:
    assert frame(spark, log_dir / "orders-1").count() == 40


def test_a_limit_and_a_sql_table_work(spark: Any, log_dir: Path) -> None:
    assert frame(spark, log_dir).limit(3).count() == 3
    frame(spark, log_dir).createOrReplaceTempView("log")
    counted = spark.sql("SELECT topic, partition, count(*) FROM log GROUP BY ALL ORDER BY ALL").collect()
    assert [tuple(row) for row in counted] == [("orders", 0, 300), ("orders", 1, 40)]


@pytest.mark.parametrize("size", ["1", "1g"])
def test_tasks_share_and_split_the_work_without_a_trace(
    spark: Any, log_dir: Path, size: str, in_python: str
) -> None:
    query = frame(spark, log_dir, in_python, maxPartitionBytes=size)
    assert query.rdd.getNumPartitions() == (5 if size == "1" else 1)
    assertDataFrameEqual(query, frame(spark, log_dir))


@pytest.mark.parametrize("pushdown", ["true", "false"])
def test_filters_work_with_pushdown_on_and_off(
    spark: Any, log_dir: Path, pushdown: str, in_python: str
) -> None:
    name = "spark.sql.python.filterPushdown.enabled"
    before = spark.conf.get(name)
    spark.conf.set(name, pushdown)
    try:
        query = frame(spark, log_dir, in_python, maxPartitionBytes="1").where(
            "topic = 'orders' AND partition = 0 AND offset >= 150"
        )
        assert [row["offset"] for row in query.orderBy("offset").collect()] == list(range(150, 300))
        # Spark would keep the tasks of a filter for later queries of the same DataFrame.
        whole = frame(spark, log_dir, in_python)
        everything = whole.count()
        assert whole.where("offset = 7").count() < everything == whole.count() == len(whole.collect())
        timed = frame(spark, log_dir).where(
            "partition = 0 AND timestamp >= timestamp_micros(1600000000249500)"
            " AND timestamp < timestamp_millis(1600000000260)"
        )
        assert [row["offset"] for row in timed.orderBy("offset").collect()] == list(range(250, 260))
    finally:
        spark.conf.set(name, before)


def test_batches_that_a_filter_on_time_rules_out_are_checked(
    spark: Any, in_python: str, tmp_path: Path
) -> None:
    parts = [bytearray(kodec.encode(make_records(first, 10))) for first in (0, 10, 20)]
    parts[0][70] ^= 1
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / "00000000000000000000.log").write_bytes(b"".join(parts))

    def offsets(name: str) -> list[int]:
        rows = spark.read.format(name).load(str(tmp_path))
        wanted = rows.where("timestamp > timestamp_millis(1600000000014)").orderBy("offset")
        return [row["offset"] for row in wanted.collect()]

    # What rules them out is in the header, which may be what is damaged.
    for name in {in_python, "kafka-log"}:
        with pytest.raises(Exception, match="crc"):
            offsets(name)
    parts[0][70] ^= 1
    (tmp_path / "t-0" / "00000000000000000000.log").write_bytes(b"".join(parts))
    for name in {in_python, "kafka-log"}:
        assert offsets(name) == list(range(15, 30))


def test_an_export_holds_what_the_source_gives(spark: Any, log_dir: Path, tmp_path: Path) -> None:
    out, said = tmp_path / "new" / "out", list[str]()
    summary = export(log_dir, out, ExportOptions(task_bytes="1"), progress=said.append)
    assert [(row.topic, row.partition, row.records) for row in summary.partitions] == [
        ("orders", 0, 300),
        ("orders", 1, 40),
        ("paid", 0, 0),
    ]
    assert (summary.records, summary.tasks, summary.out) == (340, 5, out)
    assert "5 segments" in said[0]
    exported = spark.read.parquet(str(out))
    direct = frame(spark, log_dir, includeHeaders="true")
    assertSchemaEqual(exported.schema, direct.schema)
    assertDataFrameEqual(exported, direct)
    assert (out / "_SUCCESS").exists()
    assert sorted(path.name for path in out.parent.iterdir()) == ["out"]

    with pytest.raises(FileExistsError):
        export(log_dir, out)
    export(log_dir, out, ExportOptions(topics=["paid", "__internal"], include_headers=False, overwrite=True))
    assertSchemaEqual(spark.read.parquet(str(out)).schema, schema())
    assert spark.read.parquet(str(out)).where("topic = '__internal'").count() == 10


def test_a_topic_named_like_a_number_is_read_back_by_schema(spark: Any, tmp_path: Path) -> None:
    write_segment(tmp_path / "logs" / "0042-0", 0, 4)
    export(tmp_path / "logs", tmp_path / "out")
    exported = spark.read.schema(schema(headers=True)).parquet(str(tmp_path / "out"))
    direct = frame(spark, tmp_path / "logs", includeHeaders="true")
    assertDataFrameEqual(exported.select(direct.columns), direct)


def test_an_export_that_fails_leaves_what_was_there(spark: Any, tmp_path: Path) -> None:
    logs, out = tmp_path / "logs", tmp_path / "out"
    write_segment(logs / "t-0", 0, 10)
    bad = write_segment(logs / "t-0", 10, 10)
    data = bytearray(bad.read_bytes())
    data[70] ^= 1
    bad.write_bytes(data)
    kept = out / "topic=t" / "partition=0" / f"{99:020d}.parquet"
    kept.parent.mkdir(parents=True)
    kept.touch()
    with pytest.raises(kodec.errors.CrcMismatch, match=bad.name):
        export(logs, out, ExportOptions(overwrite=True, task_bytes="1"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs", "out"]
    assert [path for path in out.rglob("*") if path.is_file()] == [kept]
    summary = export(logs, out, ExportOptions(overwrite=True, on_error="skip"))
    assert summary.records == 15
    assert [(each.cause.value, each.path) for each in summary.omissions] == [("damaged", bad)]
    assert not kept.exists()


def test_an_export_that_stops_halfway_leaves_nothing(
    spark: Any, log_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stops(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Staging, "publish", stops)
    with pytest.raises(KeyboardInterrupt):
        export(log_dir, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format", ["parquet", "jsonl"])
def test_both_engines_export_the_same(spark: Any, tmp_path: Path, format: str) -> None:
    logs = LOGS
    given: dict[str, Any] = {"format": format, "task_bytes": "20k", "include_internal": True}
    by_spark = export(logs, tmp_path / "spark", ExportOptions(**given))
    here = export(logs, tmp_path / "local", ExportOptions(threads=2, **given), engine="local")
    assert (here.partitions, here.tasks) == (by_spark.partitions, by_spark.tasks)
    files = {name: files_of(tmp_path / name) for name in ("spark", "local")}
    assert files["spark"] == files["local"] and len(files["local"]) > 20
    # cut for the threads there are other files, of the same rows
    export(
        logs,
        tmp_path / "cut",
        ExportOptions(threads=3, format="parquet", include_internal=True),
        engine="local",
    )
    export(
        logs,
        tmp_path / "rows",
        ExportOptions(threads=1, format="parquet", include_internal=True),
        engine="local",
    )
    rows = spark.read.schema(schema(headers=True)).parquet
    assertDataFrameEqual(rows(str(tmp_path / "cut")), rows(str(tmp_path / "rows")))


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
