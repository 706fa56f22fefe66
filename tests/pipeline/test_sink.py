"""The sink: rows become logs, each once, and the same bytes whatever the pieces they come in."""

import pickle
import random
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

import kodec
from kodec.errors import KodecError
from kodec.log.files.listing import TopicPartition
from kodec.log.writing import add_segments as addition
from kodec.pipeline import export
from kodec.pipeline.options import OptionError
from kodec.pipeline.segments import Cut, PartitionRows
from kodec.pipeline.sink import BatchSink, StreamSink, WriteOptions
from kodec.pipeline.spark_schema import arrow_schema, schema
from tests.data import LOGS, ROOT

ALL = "key binary, value binary, topic string, partition int, timestamp timestamp"


def struct(text: str) -> StructType:
    """Columns by name and type, without the JVM that `fromDDL` needs."""
    found = StructType()
    for each in text.split(", "):
        name, kind = each.split(" ")
        found = found.add(name, {"int": "integer", "bigint": "long"}.get(kind, kind))
    return found


def rows(count: int, first: int = 0, partitions: int = 2) -> list[dict[str, Any]]:
    return [
        {
            "key": None if n % 3 == 0 else b"k%d" % n,
            "value": None if n % 5 == 0 else b"v%d" % n,
            "topic": "orders",
            "partition": n % partitions,
            "timestamp": 1_600_000_000_000_000 + n * 1_000_999,
        }
        for n in range(first, first + count)
    ]


def sink(root: Path, columns: str = ALL, **options: str) -> BatchSink:
    found = BatchSink(struct(columns), WriteOptions.parse({"path": str(root), **options}), False)
    return pickle.loads(pickle.dumps(found))  # type: ignore[no-any-return]


def batches(found: list[dict[str, Any]], columns: str = ALL, size: int = 7) -> Iterable[pa.RecordBatch]:
    names = struct(columns)
    for at in range(0, len(found), size):
        yield pa.RecordBatch.from_pylist(found[at : at + size], schema=arrow_schema(names))


def read(root: Path) -> dict[str, list[tuple[Any, ...]]]:
    return {
        str(log.topic_partition): [
            (record.offset, record.timestamp, record.key, record.value) for record in log.records()
        ]
        for log in kodec.LogDirectory(root)
    }


def test_attempts_that_lost_leave_nothing_and_tasks_keep_their_order(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    writer = sink(root)
    lost = writer.write(iter(batches(rows(50))))
    messages = [writer.write(iter(batches(rows(50, first)))) for first in (0, 50)]
    assert lost is not None and not root.exists()
    writer.commit([*messages])
    wanted = rows(100)
    for number in (0, 1):
        mine = [row for row in wanted if row["partition"] == number]
        assert read(root)[f"orders-{number}"] == [
            (offset, row["timestamp"] // 1000, row["key"], row["value"]) for offset, row in enumerate(mine)
        ]
    assert list(kodec.repair.verify(root)) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs"]
    writer = sink(root)
    messages = [writer.write(iter(batches(rows(50))))]
    writer.abort([*messages, None])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs"]
    assert len(read(root)["orders-0"]) == 50


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    made = []
    for number, sizes in enumerate([(1_000,), (1, 2), (333, 57)]):
        folder, dice = tmp_path / str(number), random.Random(number)
        part = PartitionRows(TopicPartition("t", 0), folder, Cut("zstd", None, 3_000), keep_offsets=False)
        part._encode_at = 5_000
        found, at = rows(1_000), 0
        while at < len(found):
            size = dice.choice(sizes)
            names = pa.schema([("key", pa.binary()), ("value", pa.binary())])
            part.add(pa.RecordBatch.from_pylist(found[at : at + size], schema=names))
            at += size
        (segment,) = part.close()
        assert (segment.records, segment.next_offset) == (1_000, 1_000)
        made.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert made[0] == made[1] == made[2]
    assert len(list(kodec.read_batches(made[0][f"{0:020d}.log"]))) > 3


def test_segments_end_where_they_are_large_enough(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    writer = sink(root, segmentBytes="2k", batchBytes="500")
    writer.commit([writer.write(iter(batches(rows(300, partitions=1))))])
    logs = sorted((root / "orders-0").glob("*.log"))
    assert len(logs) == 3 and all(path.stat().st_size <= 2048 for path in logs)
    assert [row[0] for row in read(root)["orders-0"]] == list(range(300))


def test_rows_without_some_columns_get_what_the_options_say(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    writer = sink(root, "value string", topic="greetings", partition="3", compression="gzip")
    messages = [writer.write(iter(batches([{"value": "hello"}, {"value": None}], "value string")))]
    writer.commit([*messages])
    assert read(root) == {"greetings-3": [(0, writer.now, None, b"hello"), (1, writer.now, None, None)]}
    writer = sink(root, "value binary, partition int", topic="greetings")
    messages = [writer.write(iter(batches([{"value": b"x", "partition": 4}], "value binary, partition int")))]
    writer.commit([*messages])
    assert [len(found) for found in read(root).values()] == [2, 1]


def test_an_option_goes_before_a_column(tmp_path: Path) -> None:
    """As in Spark's Kafka sink."""
    cases: list[tuple[dict[str, str], list[str]]] = [
        ({"topic": "a"}, ["a-0", "a-1"]),
        ({"partition": "7"}, ["orders-7"]),
        ({"topic": "a", "partition": "7"}, ["a-7"]),
    ]
    for number, (options, wanted) in enumerate(cases):
        root = tmp_path / str(number)
        writer = sink(root, **options)
        writer.commit([writer.write(iter(batches(rows(50))))])
        assert sorted(read(root)) == wanted
        assert sum(map(len, read(root).values())) == 50


def test_offsets_that_are_all_null_are_none(tmp_path: Path) -> None:
    columns, root = f"{ALL}, offset bigint", tmp_path / "logs"
    writer = sink(root, columns)
    none = [{**row, "offset": None} for row in rows(20)]
    writer.commit([writer.write(iter(batches(none, columns))) for _ in range(2)])
    assert [row[0] for row in read(root)["orders-1"]] == list(range(20))
    some = [{**row, "offset": 100 + n} for n, row in enumerate(rows(20))]
    with pytest.raises(KodecError, match="offset is null in some rows"):
        (mixed := sink(root, columns)).write(iter(batches(none + some, columns)))
    # as Spark does for every write that fails
    mixed.abort([None])
    writer = sink(root, columns)
    messages = [writer.write(iter(batches(each, columns))) for each in (none, some)]
    with pytest.raises(KodecError, match="offset is null in some rows"):
        writer.commit([*messages])
    writer.abort([*messages])
    assert [row[0] for row in read(root)["orders-1"]] == list(range(20))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs"]


def test_a_write_that_is_in_its_place_does_not_fail_for_a_folder_that_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = sink(tmp_path / "logs")
    message = writer.write(iter(batches(rows(10, partitions=1))))
    rename = Path.rename

    def refused(path: Path, target: Path) -> Path:
        if path.name.startswith(".logs.kodec"):
            raise PermissionError(f"{path}: not now")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refused)
    writer.commit([message])
    assert sum(map(len, read(tmp_path / "logs").values())) == 10


def test_a_task_that_outlives_its_write_leaves_nothing(tmp_path: Path) -> None:
    writer = sink(tmp_path / "logs")

    def found() -> Iterator[pa.RecordBatch]:
        yield from batches(rows(10, partitions=1))
        pickle.loads(pickle.dumps(writer)).abort([None])
        yield from batches(rows(10))

    with pytest.raises(FileNotFoundError):
        writer.write(found())
    assert list(tmp_path.iterdir()) == []


def test_a_task_that_starts_after_its_write_leaves_nothing(tmp_path: Path) -> None:
    """As where the driver's thread is interrupted: Spark ends the write, and goes on with its tasks."""
    writer = sink(tmp_path / "logs")
    writer.abort([None])
    with pytest.raises(KodecError, match="the write has ended"):
        writer.write(iter(batches(rows(10))))
    assert list(tmp_path.iterdir()) == []


def test_a_task_that_failed_is_tried_again(tmp_path: Path) -> None:
    writer = sink(tmp_path / "logs")

    def fails() -> Iterator[pa.RecordBatch]:
        yield from batches(rows(10))
        raise OSError("the source has gone")

    with pytest.raises(OSError, match="gone"):
        writer.write(fails())
    writer.commit([writer.write(iter(batches(rows(10))))])
    assert sum(map(len, read(tmp_path / "logs").values())) == 10
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


def test_a_write_of_no_task_leaves_nothing(tmp_path: Path) -> None:
    sink(tmp_path / "logs").commit([])
    assert list(tmp_path.iterdir()) == []


def test_a_micro_batch_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Context:
        def partitionId(self) -> int:
            return 0

        def getLocalProperty(self, name: str) -> str:
            return "7" if name.endswith("batchId") else "query"

    def fails() -> Iterator[pa.RecordBatch]:
        yield from batches(rows(10))
        raise OSError("the source has gone")

    options = {"path": str(tmp_path / "logs"), "checkpointLocation": "/state"}
    made = [StreamSink(struct(ALL), WriteOptions.parse(options), False) for _ in range(2)]
    monkeypatch.setattr("pyspark.TaskContext.get", Context)
    with pytest.raises(OSError, match="gone"):
        made[0].write(fails())
    # Spark makes another one to end what the first one began
    made[1].abort([None], 7)
    assert list(tmp_path.iterdir()) == []


def test_a_batch_that_the_caller_counts_is_written_once(tmp_path: Path) -> None:
    for _ in range(2):
        writer = sink(tmp_path / "logs", queryId="q", batchId="7")
        writer.commit([writer.write(iter(batches(rows(10))))])
    assert sum(map(len, read(tmp_path / "logs").values())) == 10


@pytest.mark.parametrize(
    ("columns", "options", "text"),
    [
        (ALL, {"compresion": "gzip"}, "no such option of writing; did you mean compression"),
        (ALL, {"compression": "brotli"}, "'brotli': expected one of none, gzip"),
        (ALL, {"batchBytes": "1g"}, "expected a size up to"),
        (ALL, {"batchId": "7"}, "it goes with batchId"),
        ("value binary, partition int", {}, "topic: there is no column topic"),
        ("value binary, topic string", {}, "partition: there is no column partition"),
        ("value binary", {"topic": "t", "partition": "-1"}, "expected a number"),
        ("key binary, topic string, partition int", {}, "no column value"),
        ("value int, topic string, partition int", {}, "value is int; expected binary or string"),
        (ALL + ", color string", {}, "color: not one of key, value"),
        (ALL, {"path": "/data/orders-0"}, "named like a topic-partition's folder"),
    ],
)
def test_what_cannot_be_followed_is_said_first(
    tmp_path: Path, columns: str, options: dict[str, str], text: str
) -> None:
    with pytest.raises(OptionError, match=text):
        sink(tmp_path / "logs", columns, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"topic": None}, "None, partition 0: not a topic-partition"),
        ({"topic": "../../etc"}, "not a topic-partition"),
        ({"partition": -4}, "not a topic-partition"),
        ({"offset": None}, "offset is null or negative"),
        ({"offset": 1}, r"record at offset 1: .*offsets must ascend.*in orders-0"),
        ({"timestamp": -86_400_000_000}, r"record at offset 7: timestamp: negative.*in orders-0"),
    ],
)
def test_rows_that_cannot_be_written_leave_nothing(tmp_path: Path, change: dict[str, Any], text: str) -> None:
    columns = ALL + ", offset bigint"
    found = [row | {"offset": n + 5} for n, row in enumerate(rows(4, partitions=1))]
    found[2] |= change
    with pytest.raises(KodecError, match=text):
        sink(tmp_path / "logs", columns).write(iter(batches(found, columns)))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_stream_is_not_counted_by_the_caller(tmp_path: Path) -> None:
    options = WriteOptions.parse({"path": str(tmp_path / "logs"), "queryId": "q", "batchId": "7"})
    with pytest.raises(OptionError, match="queryId: a stream's micro-batches are counted by Spark"):
        StreamSink(struct(ALL), options, False)


def test_a_path_where_no_log_directory_can_be_is_said_first(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "broker" / "orders-0").mkdir(parents=True)
    (tmp_path / "broker" / "meta.properties").touch()
    (tmp_path / "some-1").mkdir()
    (tmp_path / "some-1" / "00000000000000000000.log").touch()
    for path, text in (
        ("file", "file is a file"),
        ("broker/out", "is inside .*broker, a broker's log directory"),
        ("broker/orders-0/out", "a broker's log directory"),
        ("some-1/out", "a topic-partition's folder"),
    ):
        with pytest.raises(OptionError, match=f"path: .*{text}"):
            sink(tmp_path / path)
    for name in ("broker/out", "some-1/out"):
        with pytest.raises(ValueError, match="is inside"):
            export(LOGS, tmp_path / name, engine="local")
    assert sink(tmp_path / "broker").options.root == tmp_path / "broker"


def test_rows_without_offsets_may_not_name_a_partition_that_is_none(tmp_path: Path) -> None:
    found = [{"value": b"v", "partition": number} for number in (None, 2, 3)]
    columns = "value binary, partition int"
    with pytest.raises(KodecError, match="partition 3: the option partitions says there are 3"):
        sink(tmp_path / "logs", columns, topic="t", partitions="3").write(iter(batches(found, columns)))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_write_that_waited_in_vain_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker holds the lock: the error is the commit's, once, and what was staged is removed."""
    monkeypatch.setattr(addition, "PATIENCE", 0.1)
    root = tmp_path / "logs"
    for count in (10, 20):
        writer = sink(root)
        messages = [writer.write(iter(batches(rows(count))))]
        if count == 10:
            writer.commit([*messages])
    monkeypatch.setattr(addition, "locked", held)
    with pytest.raises(BlockingIOError):
        writer.commit([*messages])
    writer.abort([*messages])
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]
    assert sum(map(len, read(root).values())) == 10


@contextmanager
def held(root: Path) -> Iterator[None]:
    """A lock that another has."""
    raise BlockingIOError(root)
    yield


def test_a_log_that_is_read_is_written_as_it_was(spark: Any, tmp_path: Path) -> None:
    names = "orders,compacted,append.time,idempotent,large"
    source = spark.read.format("kafka-log").options(subscribe=names, includeHeaders="true").load(str(LOGS))
    ordered = source.repartition(2, "topic", "partition").sortWithinPartitions("topic", "partition", "offset")
    sink_of = ordered.write.format("kafka-log").option("compression", "zstd")
    sink_of.mode("append").save(str(tmp_path / "logs"))
    for log in kodec.LogDirectory(tmp_path / "logs"):
        assert list(log.records()) == list(kodec.PartitionLog(LOGS / log.path.name).records())
    assert len(kodec.LogDirectory(tmp_path / "logs")) == 7
    assert [problem for problem in kodec.repair.verify(tmp_path / "logs") if not problem.note] == []
    with pytest.raises(Exception, match=r'kafka-log: mode: .* use mode\("append"\)'):
        sink_of.mode("overwrite").save(str(tmp_path / "logs"))
    with pytest.raises(Exception, match="offsets must ascend"):
        sink_of.mode("append").save(str(tmp_path / "logs"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs"]


def test_what_the_page_says_runs(spark: Any, tmp_path: Path) -> None:
    page = (ROOT / "docs/spark-sink.md").read_text("utf-8")
    (code,) = re.findall(r"```py\n(.*?)```", page, re.DOTALL)
    # one Spark for all tests
    code = code.replace('spark = session("local[2]")\n', "").replace("tests/data/kafka-4.3.1/logs", str(LOGS))
    exec(code.replace("out/sink", str(tmp_path / "out")), {"spark": spark})
    logs = read(LOGS)
    wanted = [row for n in range(3) for row in logs[f"orders-{n}"] if row[2] is not None]
    found = [row for rows in read(tmp_path / "out").values() for row in rows]
    assert sorted(repr(row[1:]) for row in found) == sorted(repr(row[1:]) for row in wanted)


def test_a_stream_is_written_once_also_where_it_is_replayed(spark: Any, tmp_path: Path) -> None:
    root, checkpoint = tmp_path / "out", tmp_path / "checkpoint"

    def run() -> None:
        source = spark.readStream.format("kafka-log").option("startingOffsets", "earliest")
        frame = source.option("subscribe", "orders").load(str(LOGS))
        query = (
            frame.select(*schema().names[:4], "timestamp").writeStream.format("kafka-log")
            .option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start(str(root))
        )  # fmt: skip
        query.awaitTermination()

    run()
    wanted = {name: len(found) for name, found in read(LOGS).items() if name.startswith("orders-")}
    assert {name: len(found) for name, found in read(root).items()} == wanted
    committed = sorted(checkpoint.glob("commits/[0-9]*"), key=lambda path: int(path.name))
    # As if Spark had died before it noted that the last batch was written.
    committed[-1].unlink()
    (checkpoint / "commits" / f".{committed[-1].name}.crc").unlink(missing_ok=True)
    run()
    assert {name: len(found) for name, found in read(root).items()} == wanted
    assert list(kodec.repair.verify(root)) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint", "out"]


def test_paths_are_said_as_in_reading(tmp_path: Path) -> None:
    assert WriteOptions.parse({"path": f"file:{tmp_path}/a%20b"}).root == tmp_path / "a b"
    assert WriteOptions.parse({"path": f"file://{tmp_path}/logs"}).root == tmp_path / "logs"
    for path in ("s3a://bucket/logs", "hdfs://name/logs", "file://host/logs", "file:logs"):
        with pytest.raises(OptionError, match="only local paths can be written"):
            WriteOptions.parse({"path": path})


def test_rows_without_a_partition_go_where_a_producer_sends_them(tmp_path: Path) -> None:
    found = [
        {"key": b"k%d" % (n % 50), "value": b"%d" % n, "partition": 2 if n % 10 == 0 else None}
        for n in range(500)
    ]
    writer = sink(tmp_path / "some", "key binary, value binary, partition int", topic="t", partitions="3")
    writer.commit([writer.write(iter(batches(found, "key binary, value binary, partition int")))])
    writer = sink(tmp_path / "none", "key string, value binary", topic="t", partitions="3")
    keys = [{"key": row["key"].decode(), "value": row["value"]} for row in found]
    writer.commit([writer.write(iter(batches(keys, "key string, value binary")))])
    for root, given in (("some", True), ("none", False)):
        logs = read(tmp_path / root)
        wanted: dict[str, list[bytes]] = {f"t-{number}": [] for number in range(3)}
        for row in found:
            own = row["partition"] if given else None
            number = kodec.partition_of(row["key"], 3) if own is None else own
            wanted[f"t-{number}"].append(row["value"])
        assert {name: [record[3] for record in log] for name, log in logs.items()} == wanted


def test_rows_without_a_key_take_turns_and_stay_together(tmp_path: Path) -> None:
    found = [{"value": b"%d" % n} for n in range(4_500)]
    made = []
    for size in (1, 700):
        root = tmp_path / str(size)
        writer = sink(root, "value binary", topic="t", partitions="2", queryId="q", batchId="1")
        writer.commit([writer.write(iter(batches(found, "value binary", size)))])
        made.append({name: [int(record[3]) for record in log] for name, log in read(root).items()})
    # The first run of the query's second batch goes to the second partition.
    assert (
        made[0]
        == made[1]
        == {
            "t-1": [*range(1_000), *range(2_000, 3_000), *range(4_000, 4_500)],
            "t-0": [*range(1_000, 2_000), *range(3_000, 4_000)],
        }
    )


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (
            "value binary",
            {"topic": "t"},
            "partition: there is no column partition: name one",
        ),
        ("value binary", {"topic": "t", "partitions": "0"}, "partitions: a topic has at least one"),
        ("value binary", {"topic": "t", "partition": "1", "partitions": "3"}, "partitions: it is for rows"),
        ("value binary, offset bigint", {"topic": "t", "partitions": "3"}, "partitions: rows with offsets"),
        ("value binary", {"partitions": "3"}, "topic: there is no column topic"),
    ],
)
def test_a_partitioner_that_cannot_be_is_refused(
    columns: str, options: dict[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(OptionError, match=message):
        sink(tmp_path / "logs", columns, **options)


def test_a_row_without_a_partition_says_what_would_choose_one(tmp_path: Path) -> None:
    writer = sink(tmp_path / "logs", "value binary, partition int", topic="t")
    with pytest.raises(KodecError, match=r"partition None.*the option partitions chooses one"):
        writer.write(iter(batches([{"value": b"v", "partition": None}], "value binary, partition int")))
