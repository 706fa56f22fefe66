"""The source for the JVM inside Spark: what Spark asks of it, compared with the one in Python without Spark.

What it makes of options, damage and streams is compared in tests/java, without a session.
"""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

import kodec
from kodec.generated.log.record_batch import RecordBatch
from kodec.pipeline import KafkaLogDataSource, served_by
from kodec.pipeline.spark import JAR
from kodec.runtime.errors import KodecError
from tests.data import DATA, LOGS
from tests.fixtures import write_segment
from tests.log.foreign import FOREIGN
from tests.log.stores import KEY, SECRET, serving
from tests.stored_tiers import STORED

pytestmark = pytest.mark.skipif(not JAR.is_file(), reason="no JDK: the source for the JVM was not built")


def python(path: Path, **options: str) -> list[dict[str, Any]] | str:
    """The rows of the source in Python, or its error's text."""
    try:
        one = KafkaLogDataSource({"path": str(path), **options})
        reader = one.reader(one.schema())
        return [row for task in reader.partitions() for each in reader.read(task) for row in each.to_pylist()]
    except KodecError as error:
        return str(error)


def frame(spark: Any, path: Path, **options: str) -> DataFrame:
    return spark.read.format("kafka-log").options(**options).load(str(path))


def rows(found: DataFrame) -> list[dict[str, Any]]:
    return found.toArrow().to_pylist()


def in_order(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(found, key=lambda row: repr(sorted(row.items())))


EVERY = {"includeInternal": "true", "includeHeaders": "true", "includeBatchMetadata": "true"}


@pytest.mark.parametrize(
    "options",
    [
        EVERY,
        {**EVERY, "includeControlRecords": "true", "maxPartitionBytes": "2k"},
        {"kafka.isolation.level": "read_committed", "startingOffsets": "earliest"},
        {"subscribe": "segments", "startingOffsets": '{"segments":{"0":105}}', "maxRecordsPerPartition": "9"},
        {"subscribePattern": "codec-.*", "columns": "value,sequence,topic"},
    ],
)
def test_rows(spark: Any, options: dict[str, str]) -> None:
    found = frame(spark, LOGS, **options)
    assert served_by(found) == "jvm"
    assert in_order(rows(found)) == in_order(python(LOGS, **options))


Test = tuple[Any, Callable[[dict[str, Any]], bool]]


def conditions(shuffled: random.Random) -> list[Test]:
    offset, number = shuffled.randrange(40), shuffled.randrange(9)
    time = f.lit("2023-11-14 22:13:20.005 UTC").cast("timestamp")
    tests: list[Test] = [
        (f.col("offset") > offset, lambda row: row["offset"] > offset),
        (f.col("offset") <= 60, lambda row: row["offset"] <= 60),
        (f.col("offset") == offset, lambda row: row["offset"] == offset),
        (f.col("topic") == "compacted", lambda row: row["topic"] == "compacted"),
        (
            f.col("topic").isin("codec-zstd", "segments"),
            lambda row: row["topic"] in ("codec-zstd", "segments"),
        ),
        (f.col("partition") == 0, lambda row: row["partition"] == 0),
        (f.col("key") == b"k%d" % number, lambda row: row["key"] == b"k%d" % number),
        (f.col("timestamp") > time, lambda row: row["timestamp"].timestamp() > 1_700_000_000.005),
    ]
    return shuffled.sample(tests, shuffled.randint(0, 2))


@pytest.mark.thorough
def test_columns_filters_and_tasks_by_chance(spark: Any) -> None:
    shuffled = random.Random(3)
    for _ in range(10):
        options = {"maxPartitionBytes": shuffled.choice(["2k", "64k", "1m"]), "includeHeaders": "true"}
        every = python(LOGS, **options)
        assert not isinstance(every, str)
        tests = conditions(shuffled)
        names = shuffled.sample(list(every[0]), shuffled.randint(1, 8))
        query = frame(spark, LOGS, **options)
        for column, _ in tests:
            query = query.where(column)
        wanted = [{name: row[name] for name in names} for row in every if all(test(row) for _, test in tests)]
        assert in_order(rows(query.select(*names))) == in_order(wanted), (tests, names)


def test_counts_and_bounds_from_headers(spark: Any) -> None:
    sums = [f.count("*"), f.min("offset"), f.max("offset"), f.min("timestamp"), f.max("timestamp")]
    for options in ({"kafka.isolation.level": "read_committed"}, {"maxPartitionBytes": "2k"}):
        query = frame(spark, LOGS, **options).agg(*sums)
        found = rows(query)[0].values()
        every = python(LOGS, **options)
        assert not isinstance(every, str)
        offsets, times = [row["offset"] for row in every], [row["timestamp"] for row in every]
        assert list(found) == [len(every), min(offsets), max(offsets), min(times), max(times)]
    empty = frame(spark, LOGS, subscribe="nowhere", allowEmpty="true").agg(*sums)
    assert list(rows(empty)[0].values()) == [0, None, None, None, None]
    assert frame(spark, LOGS).limit(3).count() == 3
    assert frame(spark, LOGS).where("offset > 5").count() == sum(offset > 5 for offset in offsets)


def test_times_before_1900_are_those_of_todays_calendar(spark: Any, tmp_path: Path) -> None:
    log = tmp_path / "t-0" / f"{0:020d}.log"
    log.parent.mkdir()
    year = 31_556_952_000
    for offset, time in enumerate((-900 * year, -300 * year, -5, 0)):
        batch = RecordBatch.from_bytes(kodec.encode([kodec.Record(offset=offset, timestamp=0)]))
        batch.base_timestamp = batch.max_timestamp = time
        batch.crc = None
        with log.open("ab") as file:
            file.write(batch.to_bytes())
    for number in (-900, -300):
        found = frame(spark, tmp_path).where(f"timestamp >= timestamp_millis({number * year})")
        assert found.count() == {-900: 4, -300: 3}[number]
    assert frame(spark, tmp_path).where("timestamp > timestamp_millis(-6)").count() == 2


def test_through_hadoops_file_system(spark: Any) -> None:
    mounted = {"fs.viewfs.mounttable.here.link./logs": LOGS.as_uri(), "maxPartitionBytes": "9k"}
    options = {"subscribePattern": "codec.*|segments", "includeHeaders": "true"}
    for path in ("viewfs://here/logs", "viewfs://here/logs/{codec*-*,segments-?}"):
        through = spark.read.format("kafka-log").options(**mounted, **options).load(path)
        assert in_order(rows(through)) == in_order(python(LOGS, **options))


def test_damage_loss_and_wrong_options_are_errors_of_the_same_words(spark: Any, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    for name in ("codec-gzip-0", "segments-0"):
        shutil.copytree(LOGS / name, broken / name)
    path = sorted((broken / "codec-gzip-0").glob("*.log"))[0]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    sorted((broken / "segments-0").glob("*.log"))[1].unlink()
    for options in (
        {},
        {"subscribe": "segments"},
        {"subscribe": "segments", "startingOffsets": '{"segments":{"0":-1}}'},
        {"subscribe": "nowhere"},
        {"minOffsetsPerTrigger": "0"},
        {"subscibe": "orders"},
        {"startingOffsets": "sometime"},
        {"startingOffsets": '{"segments":{"0":3}} {}'},
        {"startingOffsets": '{"segments":{"0":5000},"codec-gzip":{"0":-2}}'},
    ):
        with pytest.raises(Exception) as caught:
            rows(frame(spark, broken, **options))
        wanted = python(broken, **options)
        assert isinstance(wanted, str) and wanted in str(caught.value)
        # of what is known before tasks run it is all: no trace of Java or Python
        assert wanted == str(caught.value).strip() or f"file of a log: {wanted}." in str(caught.value)
    with pytest.raises(Exception) as caught:
        frame(spark, tmp_path / "nowhere")
    assert str(caught.value).strip() == f"kafka-log: path: there is no {tmp_path / 'nowhere'}"
    with pytest.raises(Exception, match=r"^kafka-log: schema: no such column: Offset bigint; there are key "):
        spark.read.format("kafka-log").schema("Offset long").load(str(broken))
    with pytest.raises(Exception, match=r"no host is known as nobody\.invalid$"):
        frame(spark, "hdfs://nobody.invalid:9/logs")
    with pytest.raises(Exception, match=r"^kafka-log: subscibe: there is no such option; did you mean"):
        spark.sql(f"SELECT * FROM `kafka-log`.`{LOGS}` WITH (subscibe='x')").collect()


def test_tables_and_paths_in_sql(spark: Any) -> None:
    def counted(table: str) -> Any:
        return spark.sql(f"SELECT count(*), min(offset), max(offset) FROM {table}").collect()[0]

    options = f"path '{LOGS}', subscribe 'segments', startingOffsets '{{\"segments\":{{\"0\":105}}}}'"
    wanted = frame(spark, LOGS, subscribe="segments", startingOffsets='{"segments":{"0":105}}')
    offsets = [row.offset for row in wanted.collect()]
    spark.sql("DROP TABLE IF EXISTS kept")
    spark.sql(f"CREATE TABLE kept USING `kafka-log` OPTIONS ({options})")
    try:
        assert counted("kept") == (len(offsets), 105, max(offsets))
        assert spark.table("kept").columns == wanted.columns and served_by(spark.table("kept")) == "jvm"
    finally:
        spark.sql("DROP TABLE kept")
    path = f"`kafka-log`.`{LOGS / 'segments-0'}`"
    assert counted(path)[0] == frame(spark, LOGS, subscribe="segments").count()
    assert counted(f"{path} WITH ('endingOffsets' = '{{\"segments\":{{\"0\":9}}}}')") == (9, 0, 8)
    with pytest.raises(Exception, match=r"cannot change its columns to .*, headers; make a table with"):
        counted(f"{path} WITH ('includeHeaders' = 'true')")
    with pytest.raises(Exception, match="cannot be created or changed"):
        spark.sql(f"DROP TABLE `kafka-log`.`{LOGS}`")
    with pytest.raises(Exception, match="nowhere"):
        counted("`kafka-log`.`/nowhere`")


def test_the_sql_of_the_docs(spark: Any) -> None:
    text = (DATA.parent.parent / "docs" / "spark-jvm.md").read_text()
    block = text.split("```sql\n")[1].split("```")[0]
    block = block.replace("tests/data/kafka-4.3.1/logs", str(LOGS)).replace("orders", "segments")
    spark.sql("DROP TABLE IF EXISTS segments")
    try:
        _, counted, path, query = [spark.sql(each) for each in block.split(";")[:-1]]
        assert counted.collect()[0][0] == frame(spark, LOGS, subscribe="segments").count()
        assert [row.topic for row in path.collect()] == ["segments"] * 5
        assert query.agg(f.min("offset")).collect()[0][0] == 23
    finally:
        spark.sql("DROP TABLE segments")


def test_what_is_handed_over(spark: Any, tmp_path: Path) -> None:
    tiered = tmp_path / "tiered" / "t-0-AAAAAAAAAAAAAAAAAAAAAA"
    write_segment(tiered, 0, 10).rename(tiered / f"{0:020d}-BBBBBBBBBBBBBBBBBBBBBB.log")
    found = frame(spark, tmp_path / "tiered")
    assert served_by(found) == "jvm" and found.count() == 10
    swapped = tmp_path / "logs" / "t-0"
    write_segment(swapped, 0, 10)
    (swapped / f"{10:020d}.log.swap").touch()
    found = frame(spark, tmp_path / "logs")
    assert served_by(found) == "python" and found.count() == 10
    decoded = frame(spark, LOGS, includeDecoded="true", subscribe="__consumer_offsets")
    assert served_by(decoded) == "python"
    assert served_by(frame(spark, LOGS, includeDecoded="false", mode="failfast")) == "jvm"
    zstd = STORED / "zstd"
    found = frame(spark, zstd)
    assert served_by(found) == "python" and in_order(rows(found)) == in_order(python(zstd))
    with pytest.raises(Exception, match=r"^kafka-log: mode=permissive: this cannot be an option of a query"):
        spark.sql(f"SELECT * FROM `kafka-log`.`{LOGS}` WITH (mode='permissive')").collect()


def damaged(root: Path) -> Path:
    """A log directory with a damaged batch among others, and one that lacks a segment."""
    path = write_segment(root / "t-0", 0, 10)
    for first in (0, 10, 30):
        write_segment(root / "u-0", first, 10)
    data = bytearray(path.read_bytes())
    data[70] ^= 1
    path.write_bytes(data)
    return root


def test_damage_is_skipped_by_the_source_in_python(spark: Any, tmp_path: Path) -> None:
    logs = damaged(tmp_path / "logs")
    for mode in ("permissive", "quarantine"):
        found = frame(spark, logs, mode=mode)
        assert served_by(found) == "python"
        assert in_order(rows(found)) == in_order(python(logs, mode=mode)) != []
        assert found.count() == len(python(logs, mode=mode))
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW left USING `kafka-log` OPTIONS (path '{logs}', mode 'quarantine')"
    )
    kinds = spark.sql("SELECT kind FROM left ORDER BY kind").collect()
    assert [row.kind for row in kinds] == ["damaged", "missing"]
    stream = spark.readStream.format("kafka-log").options(startingOffsets="earliest", mode="permissive")
    query = (
        stream.load(str(logs))
        .writeStream.format("memory")
        .queryName("permitted")
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    assert in_order(rows(spark.table("permitted"))) == in_order(python(logs, mode="permissive"))


def test_a_store_is_read_by_the_source_in_python_with_hadoops_settings(spark: Any, tmp_path: Path) -> None:
    logs = damaged(tmp_path / "logs")
    with serving() as server, pytest.MonkeyPatch.context() as patch:
        server.upload(logs, "kafka")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_REGION"):
            patch.delenv(name, raising=False)
        hadoop = spark._jsc.hadoopConfiguration()
        hadoop.set("fs.s3a.secret.key", SECRET)
        hadoop.set("fs.s3a.endpoint", server.endpoint)
        options = {"fs.s3a.access.key": KEY, "fs.s3a.endpoint.region": "us-east-1"}
        try:
            for mode in ("permissive", "quarantine"):
                found = spark.read.format("kafka-log").options(**options, mode=mode).load("s3a://logs/kafka")
                assert served_by(found) == "python"
                wanted = [str(row) for row in in_order(python(logs, mode=mode))]
                assert [
                    str(row).replace("s3a://logs/kafka", str(logs)) for row in in_order(rows(found))
                ] == wanted
            # what Hadoop has no use for needs no mode
            good = f"{server.web}/kafka/u-0/{30:020d}.log"
            found = spark.read.format("kafka-log").load(good)
            assert served_by(found) == "python" and found.count() == 10
        finally:
            hadoop.unset("fs.s3a.secret.key")
            hadoop.unset("fs.s3a.endpoint")
    for path, scheme in (
        ("hdfs://names/logs", "hdfs:"),
        ("abfss://c@account.dfs.core.windows.net/logs", "abfss:"),
    ):
        with pytest.raises(Exception) as caught:
            spark.read.format("kafka-log").option("mode", "permissive").load(path)
        assert str(caught.value).strip() == (
            "kafka-log: mode=permissive: this takes the source in Python, which reads local paths and "
            f"s3:, s3a:, gs:, az: and https: URLs, not {scheme}"
        )


def test_a_stream_goes_on_from_a_checkpoint_of_either_source(
    spark: Any, tmp_path: Path, in_python: str
) -> None:
    logs, out, state = tmp_path / "logs", tmp_path / "out", tmp_path / "state"
    for first in (0, 10, 20):
        write_segment(logs / "t-0", first, 10)
    write_segment(logs / "t-1", 5, 5)

    def run(source: str) -> list[tuple[int, int]]:
        stream = spark.readStream.format(source).option("startingOffsets", "earliest")
        query = (
            stream.load(str(logs))
            .select("partition", "offset")
            .writeStream.format("parquet")
            .option("checkpointLocation", str(state))
            .trigger(availableNow=True)
            .start(str(out))
        )
        assert query.awaitTermination(120)
        return sorted((row.partition, row.offset) for row in spark.read.parquet(str(out)).collect())

    def at() -> Any:
        last = max((state / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
        return last.read_text().splitlines()[-1]

    wanted = [(0, n) for n in range(30)] + [(1, n) for n in range(5, 10)]
    assert run(in_python) == wanted
    write_segment(logs / "t-0", 30, 4)
    write_segment(logs / "t-2", 0, 2)
    (logs / "t-0" / f"{0:020d}.log").unlink()
    wanted = sorted([*wanted, *((0, n) for n in range(30, 34)), (2, 0), (2, 1)])
    assert run("kafka-log") == wanted
    assert at() == '{"t":{"0":34,"1":10,"2":2}}'
    write_segment(logs / "t-1", 10, 2)
    wanted = sorted([*wanted, (1, 10), (1, 11)])
    assert run(in_python) == wanted
    assert json.loads(at()) == {"t": {"0": 34, "1": 12, "2": 2}}


@pytest.mark.parametrize("name", list(FOREIGN))
def test_a_log_of_another_system(spark: Any, tmp_path: Path, name: str) -> None:
    data, what = FOREIGN[name]
    (tmp_path / "logs/other-0").mkdir(parents=True)
    log = tmp_path / f"logs/other-0/{0:020d}.log"
    log.write_bytes(data)
    write_segment(tmp_path / "logs/good-0", 0, 10)
    # nothing is read out of it, though an object of AutoMQ holds batches of Kafka's; what it is, Python says
    with pytest.raises(Exception, match=re.escape(str(log))):
        rows(frame(spark, tmp_path / "logs"))
    wanted = python(tmp_path / "logs")
    assert isinstance(wanted, str) and f"have {what}" in wanted


def test_a_query_is_pinned_when_it_is_planned(spark: Any, tmp_path: Path, in_python: str) -> None:
    def append(count: int) -> None:
        with kodec.LogDirectoryWriter(tmp_path / "logs") as logs:
            logs.partition("t", 0).append([kodec.Record(value=b"v") for _ in range(count)])

    append(1000)
    for source in ("kafka-log", in_python):
        found = spark.read.format(source).load(str(tmp_path / "logs"))
        pinned, before = found.rdd, found.count()
        assert pinned.count() == len(found.collect()) == before
        append(100)
        assert pinned.count() == len(found.collect()) == before
        # each query of the JVM's is planned; the tables of Python's sources keep what they have planned
        assert found.count() == (before + 100 if source == "kafka-log" else before)
        assert spark.read.format(source).load(str(tmp_path / "logs")).count() == before + 100


def test_filters_at_every_edge(spark: Any, tmp_path: Path) -> None:
    """Each bound is that of the condition: not one offset, or one millisecond, more is left out."""
    folder = tmp_path / "t-0"
    folder.mkdir()
    for first in (0, 6):
        data = [
            kodec.encode([kodec.Record(offset=n, timestamp=1000 + n) for n in (at, at + 1, at + 2)])
            for at in (first, first + 3)
        ]
        (folder / f"{first:020d}.log").write_bytes(b"".join(data))
    tests: dict[str, Callable[[int, int], bool]] = {
        "=": lambda a, b: a == b,
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
    }
    query = frame(spark, tmp_path)
    wanted = {
        condition: [n for n in range(12) if passes(n, edge)]
        for edge in (2, 3, 6)
        for name, passes in tests.items()
        for condition in (f"offset {name} {edge}L", f"timestamp {name} timestamp_millis({1000 + edge})")
    }
    each = [query.where(text).select(f.lit(text).alias("condition"), "offset") for text in wanted]
    found: dict[str, list[int]] = {text: [] for text in wanted}
    for row in reduce(DataFrame.union, each).collect():
        found[row.condition].append(row.offset)
    assert {text: sorted(offsets) for text, offsets in found.items()} == wanted


def test_explain_and_statistics(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    query = frame(spark, LOGS, subscribe="segments,codec-zstd")
    query.where("topic = 'segments' AND offset > 5 AND offset <= 9 AND key = X'6B30'").limit(3).explain()
    text = capsys.readouterr().out
    assert "topic in [segments], offset >= 6, offset <= 9, key = 0x6b30, PushedFilters: [" in text
    assert "GreaterThan(offset,5)" in text
    query.limit(3).explain()
    assert ", limit 3, PushedFilters: []" in capsys.readouterr().out
    # it is small, which Spark knows by its size alone
    spark.range(10**9).selectExpr("id AS offset").join(query, "offset").explain()
    assert "BroadcastHashJoin" in capsys.readouterr().out
    logs = [path for name in ("segments-0", "codec-zstd-0") for path in (LOGS / name).glob("*.log")]
    stats = query._jdf.queryExecution().optimizedPlan().stats()
    assert stats.sizeInBytes() == sum(path.stat().st_size for path in logs)


def test_damage_in_a_task_is_one_sentence(spark: Any, tmp_path: Path, in_python: str) -> None:
    path = write_segment(tmp_path / "t-0", 0, 10)
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    for source, most in (("kafka-log", 1), (in_python, 5)):
        query = spark.read.format(source).load(str(tmp_path))
        for action in (query.collect, query.rdd.count, query.toArrow):
            with pytest.raises(Exception, match=r"RecordBatch\(base_offset=5\)\.crc: stored 0x") as caught:
                action()
            lines = str(caught.value).strip().splitlines()
            assert len(lines) <= most and str(path) in lines[-1]


def test_writes_from_other_threads_and_by_sql(spark: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    values = "cast(id AS string) AS value", "'t' AS topic", "0 AS `partition`"

    def write() -> None:
        spark.range(5).selectExpr(*values).write.format("kafka-log").mode("append").save(str(out))

    with ThreadPoolExecutor(1) as pool:
        pool.submit(write).result()
    table = f"`kafka-log`.`{out}`"
    spark.sql(f"INSERT INTO {table} (value, topic, `partition`) SELECT X'61', 't', 0")
    columns = "key, value, topic, partition, offset + 10, timestamp, timestampType"
    spark.sql(f"INSERT INTO {table} SELECT {columns} FROM {table}")
    offsets = [row.offset for row in spark.sql(f"SELECT offset FROM {table} ORDER BY offset").collect()]
    assert offsets == [*range(6), *range(10, 16)]
    spark.sql("DROP TABLE IF EXISTS sunk")
    spark.sql(f"CREATE TABLE sunk USING `kafka-log` OPTIONS (path '{out}', subscribe 't')")
    try:
        spark.sql("INSERT INTO sunk (value, topic, `partition`) VALUES (X'62', 't', 0)")
        assert spark.table("sunk").count() == 13
        with pytest.raises(Exception, match=r'^kafka-log: mode: .*use mode\("append"\)$'):
            spark.sql(f"INSERT OVERWRITE sunk SELECT * FROM {table}")
    finally:
        spark.sql("DROP TABLE sunk")


def test_a_write_that_is_explained_or_not_understood_leaves_no_folder(spark: Any, tmp_path: Path) -> None:
    path, some = tmp_path / "logs", spark.sql("SELECT X'61' value")
    options = {"topic": "t", "partition": "0"}
    some.write.format("kafka-log").mode("append").options(**options).save(str(path))
    before = sorted(tmp_path.rglob("*"))
    insert = f"INSERT INTO `kafka-log`.`{path}` (value, topic, `partition`) SELECT X'61', 't', 0"
    for how in ("", "EXTENDED", "FORMATTED"):
        assert "AppendData" in spark.sql(f"EXPLAIN {how} {insert}").collect()[0][0]
    with pytest.raises(Exception, match="nowhere"):
        spark.sql(insert.replace("X'61'", "nowhere"))
    with pytest.raises(Exception, match="bogus"):
        bogus = some.selectExpr("value", "1 bogus")
        bogus.write.format("kafka-log").mode("append").options(**options).save(str(path))
    assert sorted(tmp_path.rglob("*")) == before


def test_what_is_wrong_with_a_write_is_one_sentence(spark: Any, tmp_path: Path) -> None:
    good = spark.range(5).selectExpr("cast(id AS string) AS value", "'t' AS topic", "0 AS `partition`")
    out = str(tmp_path / "out")

    def said(written: DataFrame, path: str = out, mode: str = "append", **options: str) -> str:
        with pytest.raises(Exception) as caught:
            written.write.format("kafka-log").options(**options).mode(mode).save(path)
        return str(caught.value).strip()

    assert said(good, "s3a://b/logs") == (
        "kafka-log: path: s3a://b/logs: only local paths can be written, like /data/logs"
    )
    assert said(good, mode="overwrite") == (
        'kafka-log: mode: segments are added to a log directory: use mode("append")'
    )
    assert said(good, topik="t").startswith("kafka-log: topik: there is no such option of writing; did you")
    assert said(good.drop("topic")).startswith("kafka-log: topic: there is no column topic")
    good.selectExpr("*", "5L AS offset").limit(1).write.format("kafka-log").mode("append").save(out)
    assert "offset" in said(good.selectExpr("*", "5L AS offset").limit(1))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_a_streams_progress(spark: Any, tmp_path: Path) -> None:
    path = write_segment(tmp_path / "logs" / "t-0", 0, 30)
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "20"}
    stream = spark.readStream.format("kafka-log").options(**options).load(str(tmp_path / "logs"))
    query = stream.writeStream.format("noop").trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    found = [each["sources"][0]["metrics"] for each in query.recentProgress if each["numInputRows"]]
    assert [each["maxOffsetsBehindLatest"] for each in found] == ["10", "0"]
    assert all(each["minOffsetsBehindLatest"] == each["maxOffsetsBehindLatest"] for each in found)
    assert int(found[-1]["bytesRead"]) >= path.stat().st_size and found[-1]["rangesSkipped"] == "0"
