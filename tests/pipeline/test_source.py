"""The data source without a JVM: exact schemas, and the rows of `kodec.read_records`."""

import pickle
import subprocess
import sys
from datetime import UTC, datetime
from inspect import signature
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import (
    InputPartition,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

import kodec
from kodec import pipeline
from kodec.log import kernel
from kodec.log.directories.directory import LogRoot
from kodec.log.files.listing import find_partitions
from kodec.pipeline import KafkaLogDataSource, schema
from kodec.pipeline.rows import BATCH_BYTES, BATCH_ROWS, FIRST_ROWS, TimestampOutOfRange
from kodec.pipeline.source import LogReader
from tests.data import LOGS
from tests.fixtures import make_records

ROOT = Path(__file__).parent.parent.parent
KAFKA = (
    "key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,timestampType:int"
)
HEADERS = "headers:array<struct<key:string,value:binary>>"


def source(path: Path, **options: str) -> KafkaLogDataSource:
    return KafkaLogDataSource({"path": str(path), **options})


def read(path: Path, wanted: StructType | None = None, **options: str) -> list[pa.RecordBatch]:
    one = source(path, **options)
    reader = one.reader(one.schema() if wanted is None else wanted)
    batches: list[pa.RecordBatch] = []
    for partition in reader.partitions() or [InputPartition(None)]:
        # As Spark does it: both go to the worker pickled.
        batches += pickle.loads(pickle.dumps(reader)).read(pickle.loads(pickle.dumps(partition)))
    return batches


def rows(batches: list[pa.RecordBatch]) -> list[dict[str, object]]:
    return [row for batch in batches for row in batch.to_pylist()]


def expected(path: Path, topic: str, partition: int) -> list[dict[str, Any]]:
    return [
        {
            "key": record.key,
            "value": record.value,
            "topic": topic,
            "partition": partition,
            "offset": record.offset,
            "timestamp": datetime.fromtimestamp(record.timestamp / 1000, UTC),
            "timestampType": record.timestamp_type.value,
            "headers": [{"key": key, "value": value} for key, value in record.headers] or None,
        }
        for file in sorted(path.glob("*.log"))
        for record in kodec.read_records(file)
    ]


def test_the_columns_are_those_of_sparks_kafka_source(tmp_path: Path) -> None:
    for flag, text in [("false", KAFKA), ("true", f"{KAFKA},{HEADERS}")]:
        columns = source(tmp_path, includeHeaders=flag, allowEmpty="true").schema()
        assert columns.simpleString() == f"struct<{text}>"
        assert all(column.nullable for column in columns)


@pytest.mark.parametrize("backend", ["pure", "native"])
def test_columns_of_batches_are_their_headers(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if backend == "native" and not kernel.is_built():
        pytest.skip("the native kernel is not built")
    monkeypatch.setattr(kernel, "backend", lambda: backend)
    log = LOGS / "transactions-0"
    found = rows(read(log, includeBatchMetadata="true", includeControlRecords="true"))
    with kodec.PartitionLog(log) as opened:
        wanted = [
            (record.offset, batch.position, batch.size, batch.codec, batch.producer_id, batch.producer_epoch)
            for batch in opened.batches()
            for record in batch.records(control=True)
        ]
    names = ("offset", "batchPosition", "batchSize", "codec", "producerId", "producerEpoch")
    assert [tuple(row[name] for name in names) for row in found] == wanted
    assert len({row["producerId"] for row in found}) > 1


def test_every_public_name_is_found_and_none_is_imported_before() -> None:
    program = "import sys; from kodec.pipeline import reading; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "kodec.pipeline.rows" in done.stdout.split()
    assert not [each for each in done.stdout.split() if each.startswith("kodec.pipeline.jobs")]
    assert set(pipeline.__all__) <= set(dir(pipeline))
    assert {name for name in pipeline.__all__ if getattr(pipeline, name).__name__ != name} == set()
    with pytest.raises(AttributeError, match="no attribute 'exprot'"):
        _ = pipeline.exprot  # type: ignore[attr-defined]


def test_rows_are_those_of_read_records(log_dir: Path) -> None:
    found = rows(read(log_dir, includeHeaders="true"))
    assert found == [row for name in (0, 1) for row in expected(log_dir / f"orders-{name}", "orders", name)]
    assert len(found) == 340


REAL_LOGS = sorted(ROOT.glob("tests/data/kafka-*/logs"))


@pytest.mark.parametrize("logs", REAL_LOGS, ids=lambda path: path.parent.name)
def test_rows_of_a_real_brokers_log_are_those_of_read_records(logs: Path) -> None:
    live = [owner for owner in find_partitions(logs) if not owner.topic_partition.is_internal]
    found = rows(read(logs, includeHeaders="true"))
    starts = LogRoot(logs).log_start_offsets
    assert found == [
        row
        for owner in live
        for row in expected(owner.path, *owner.topic_partition)
        if row["offset"] >= starts.get(owner.topic_partition, 0)
    ]
    assert len({row["topic"] for row in found}) > 4


@pytest.mark.parametrize("headers", [False, True])
def test_batches_have_the_very_schema_that_spark_checks(log_dir: Path, headers: bool) -> None:
    # Spark 4.1 supports no other time zone there.
    zone = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    wanted = to_arrow_schema(schema(headers=headers), **zone)
    batches = read(log_dir, includeHeaders=str(headers).lower())
    assert batches
    for batch in batches:
        batch.validate(full=True)
        assert wanted.equals(batch.schema)


def test_fewer_columns_in_another_order(log_dir: Path) -> None:
    wanted = StructType([schema()["offset"], schema()["value"]])
    found = rows(read(log_dir / "orders-0", wanted))
    assert [list(row) for row in found[:1]] == [["offset", "value"]]
    assert [row["offset"] for row in found] == list(range(300))


def test_headers_come_by_schema_alone(log_dir: Path) -> None:
    wanted = StructType([schema(headers=True)["headers"]])
    found = rows(read(log_dir / "orders-1", wanted))
    assert found[0]["headers"] == [
        {"key": "a", "value": b"1"},
        {"key": "a", "value": None},
        {"key": "ü", "value": b""},
    ]
    assert found[1]["headers"] is None


def test_a_header_key_that_is_not_utf8_is_what_kafka_makes_of_it(tmp_path: Path) -> None:
    record = kodec.Record(
        offset=0, timestamp=0, headers=((b"a\xff".decode("utf-8", "surrogateescape"), b"1"),)
    )
    (tmp_path / "odd-0").mkdir()
    (tmp_path / "odd-0" / "00000000000000000000.log").write_bytes(kodec.encode([record]))
    (row,) = rows(read(tmp_path, schema(headers=True)))
    assert row["headers"] == [{"key": "a\ufffd", "value": b"1"}]


@pytest.mark.parametrize("field", [StructField("offset", StringType()), StructField("ofset", LongType())])
def test_columns_that_are_not_there_are_named(log_dir: Path, field: StructField) -> None:
    with pytest.raises(ValueError, match=f"no such column: {field.name} .* there are key binary"):
        source(log_dir).reader(StructType([field]))


def test_a_record_without_a_timestamp_is_a_millisecond_before_1970(tmp_path: Path) -> None:
    record = kodec.Record(
        offset=0,
        timestamp=-1,
        timestamp_type=kodec.TimestampType.NO_TIMESTAMP_TYPE,
        key=b"k",
        value=b"v",
        headers=(),
    )
    (tmp_path / "old-0").mkdir()
    (tmp_path / "old-0" / "00000000000000000000.log").write_bytes(kodec.encode([record], magic=0))
    (row,) = rows(read(tmp_path))
    assert row["timestamp"] == datetime(1969, 12, 31, 23, 59, 59, 999000, UTC)
    assert row["timestampType"] == -1


def test_a_timestamp_that_spark_cannot_hold_is_named(tmp_path: Path) -> None:
    (tmp_path / "far-0").mkdir()
    record = kodec.Record(
        offset=7,
        timestamp=2**62,
        timestamp_type=kodec.TimestampType.CREATE_TIME,
        key=None,
        value=b"v",
        headers=(),
    )
    (tmp_path / "far-0" / "00000000000000000007.log").write_bytes(kodec.encode([record]))
    with pytest.raises(TimestampOutOfRange, match=r"far-0.*4611686018427387904 ms at offset 7"):
        read(tmp_path)
    assert rows(read(tmp_path, StructType([schema()["offset"]]))) == [{"offset": 7}]


def test_a_directory_without_logs_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="neither a log directory"):
        read(tmp_path)
    (tmp_path / "meta.properties").touch()
    with pytest.raises(ValueError, match="there is no topic-partition; set allowEmpty=true"):
        read(tmp_path)
    assert read(tmp_path, allowEmpty="true") == []


@pytest.mark.parametrize("more", [1, 2, 100])
@pytest.mark.parametrize("columns", ["offset", "value"])
def test_a_planned_scan_of_a_preallocated_segment_ends_where_it_ended(
    more: int, columns: str, tmp_path: Path
) -> None:
    """What a broker has written since into the zeros after the end is not of the scan."""
    log = tmp_path / "logs/t-0" / f"{0:020d}.log"
    log.parent.mkdir(parents=True)
    before, after = (
        kodec.encode([kodec.Record(offset=at, value=b"%d" % at) for at in offsets])
        for offsets in (range(10), range(10, 10 + more))
    )
    log.write_bytes(before + bytes(4096))
    one = source(tmp_path / "logs")
    reader = one.reader(StructType([field for field in one.schema() if field.name == columns]))
    planned = list(reader.partitions())
    log.write_bytes((before + after).ljust(len(before) + 4096, b"\0"))
    found = [row[columns] for part in planned for row in rows(list(reader.read(part)))]
    assert found == [at if columns == "offset" else b"%d" % at for at in range(10)]


def test_a_torn_tail_ends_a_segment(log_dir: Path) -> None:
    assert [row["offset"] for row in rows(read(log_dir / "orders-1"))] == list(range(40))


@pytest.fixture
def corrupt(tmp_path: Path) -> Path:
    parts = [bytearray(kodec.encode(make_records(first, 10))) for first in (0, 10, 20)]
    parts[1][70] ^= 1
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / "00000000000000000000.log").write_bytes(b"".join(parts))
    return tmp_path


def test_a_corrupt_middle_raises_by_default(corrupt: Path) -> None:
    with pytest.raises(kodec.errors.CrcMismatch, match=r"00000000000000000000\.log"):
        read(corrupt)


def test_a_corrupt_middle_is_left_out_and_logged_if_asked(
    corrupt: Path, caplog: pytest.LogCaptureFixture
) -> None:
    offsets = [row["offset"] for row in rows(read(corrupt, mode="permissive"))]
    assert offsets == [*range(10), *range(20, 30)]
    assert "skipped bytes" in caplog.text


@pytest.mark.parametrize(
    ("option", "value", "limit"),
    [
        ("maxBatchBytes", "100", "batch_bytes"),
        ("maxDecompressedBytes", "1k", "decompressed_bytes"),
        ("maxElements", "20", "elements"),
    ],
)
def test_limits_reach_the_rows_of_spark(option: str, value: str, limit: str, tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    data = kodec.encode([kodec.Record(value=bytes(100)) for _ in range(21)], compression="gzip")
    (tmp_path / "t-0" / "00000000000000000000.log").write_bytes(data)
    assert len(rows(read(tmp_path))) == 21
    with pytest.raises(kodec.errors.LimitExceeded) as caught:
        read(tmp_path, **{option: value})
    assert caught.value.limit == limit


@pytest.mark.parametrize("size", ["1", "1k", "1g"])
def test_the_number_of_tasks_does_not_change_the_rows(log_dir: Path, size: str) -> None:
    assert rows(read(log_dir, maxPartitionBytes=size)) == rows(read(log_dir))


def test_segments_are_spread_over_tasks_or_share_one(log_dir: Path) -> None:
    def tasks(size: str) -> int:
        return len(source(log_dir, maxPartitionBytes=size).reader(schema()).partitions())

    assert tasks("1") == 5
    assert tasks("1g") == 1


def test_batches_are_small_at_first_then_bounded(tmp_path: Path) -> None:
    def write(name: str, count: int, size: int) -> Path:
        value = bytes(size)
        kind = kodec.TimestampType.CREATE_TIME
        records = [
            kodec.Record(offset=offset, timestamp=0, timestamp_type=kind, key=None, value=value, headers=())
            for offset in range(count)
        ]
        (tmp_path / name).mkdir()
        (tmp_path / name / "00000000000000000000.log").write_bytes(kodec.encode(records, compression="gzip"))
        return tmp_path / name

    small = [batch.num_rows for batch in read(write("small-0", 2 * BATCH_ROWS, 0))]
    assert small[0] == FIRST_ROWS and sum(small) == 2 * BATCH_ROWS
    assert all(BATCH_ROWS - FIRST_ROWS <= rows <= 2 * BATCH_ROWS for rows in small[1:-1])
    large = read(write("large-0", 2_000, 10_000))
    assert sum(batch.num_rows for batch in large) == 2_000
    assert all(BATCH_BYTES <= batch.nbytes < 1.5 * BATCH_BYTES for batch in large[:-1])


@pytest.mark.parametrize("names", [["topic"], ["partition", "topic"], ["timestamp"], ["headers", "topic"]])
def test_any_columns_alone(log_dir: Path, names: list[str]) -> None:
    whole = rows(read(log_dir, schema(headers=True)))
    found = rows(read(log_dir, StructType([schema(headers=True)[name] for name in names])))
    assert found == [{name: row[name] for name in names} for row in whole]


def test_no_reader_takes_filters_from_spark(log_dir: Path) -> None:
    one = source(log_dir)
    asking = {"__name__": "pyspark.sql.worker.data_source_pushdown_filters", "one": one, "schema": schema()}
    assert type(one.reader(schema())) is type(eval("one.reader(schema)", asking)) is LogReader
