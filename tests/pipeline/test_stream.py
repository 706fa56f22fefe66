"""A log directory that grows, as a stream: without a JVM, and as a query that goes on where it stopped."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

import kodec
from kodec.errors import FormatError, ReadFailed
from kodec.pipeline import KafkaLogDataSource
from kodec.pipeline.options import OptionError
from kodec.pipeline.plan import DataLoss
from tests.fixtures import make_records, write_segment

LAYOUT = {"t-0": [range(10), range(10, 20), range(20, 30)], "t-1": [range(5, 10)]}

ALL = ReadAllAvailable()


def reader(logs: Path, **options: str) -> Any:
    one = KafkaLogDataSource({"path": str(logs), **options})
    return one.streamReader(one.schema())


def read(stream: Any, start: Any, end: Any) -> list[tuple[int, int]]:
    there = pickle.loads(pickle.dumps(stream))
    return [
        (row["partition"], row["offset"])
        for task in stream.partitions(start, end)
        for batch in there.read(pickle.loads(pickle.dumps(task)))
        for row in batch.to_pylist()
    ]


def at(zero: int, one: int) -> dict[str, dict[str, int]]:
    return {"t": {"0": zero, "1": one}}


def test_offsets_have_the_form_of_sparks_kafka_source(logs: Path) -> None:
    assert reader(logs).initialOffset() == at(30, 10)
    assert reader(logs, startingOffsets="earliest").initialOffset() == at(0, 5)
    assert reader(logs, startingOffsets='{"t":{"0":7,"1":-2}}').initialOffset() == at(7, 5)
    assert reader(logs, startingTimestamp="1600000000008").initialOffset() == at(8, 8)
    stream = reader(logs)
    assert stream.latestOffset(at(0, 5), ALL) == at(30, 10) == stream.reportLatestOffset()
    # As it was given, where there is nothing new: of another writer it may look different.
    same = {"t": {"1": 10, "0": 30}}
    assert stream.latestOffset(same, ALL) is same


def test_what_lies_between_two_offsets(logs: Path) -> None:
    stream = reader(logs)
    assert read(stream, at(0, 5), at(30, 10)) == [(0, n) for n in range(30)] + [(1, n) for n in range(5, 10)]
    assert read(stream, at(8, 10), at(21, 10)) == [(0, n) for n in range(8, 21)]
    assert read(stream, at(30, 10), at(30, 10)) == []
    start = stream.latestOffset(at(30, 10), ALL)
    write_segment(logs / "t-0", 30, 4)
    write_segment(logs / "t-2", 0, 2)
    end = stream.latestOffset(start, ALL)
    assert end == {"t": {"0": 34, "1": 10, "2": 2}}
    assert read(stream, start, end) == [(0, 30), (0, 31), (0, 32), (0, 33), (2, 0), (2, 1)]


def test_at_most_so_many_offsets(logs: Path) -> None:
    stream = reader(logs, maxOffsetsPerTrigger="7")
    limit = stream.getDefaultReadLimit()
    assert limit == ReadMaxRows(7) and reader(logs).getDefaultReadLimit() == ALL
    start, steps = at(0, 5), []
    while (end := stream.latestOffset(start, limit)) != start:
        steps.append(read(stream, start, end))
        start = end
    assert sorted(row for step in steps for row in step) == sorted(read(stream, at(0, 5), at(30, 10)))
    assert all(0 < len(step) <= 8 for step in steps)


def test_at_least_so_many_offsets(logs: Path) -> None:
    stream = reader(logs, minOffsetsPerTrigger="7", maxTriggerDelay="1h")
    limit = stream.getDefaultReadLimit()
    assert limit == ReadMinRows(7)
    # as of Spark's Kafka source the first micro-batch does not wait
    assert stream.latestOffset(at(28, 10), limit) == at(30, 10)
    write_segment(logs / "t-0", 30, 6)
    assert stream.latestOffset(at(30, 10), limit) == at(30, 10)
    assert stream.latestOffset(at(30, 10), ALL) == at(36, 10)
    write_segment(logs / "t-0", 36, 1)
    assert stream.latestOffset(at(30, 10), limit) == at(37, 10)
    # one that is to end does not wait either
    stream.prepareForTriggerAvailableNow()
    assert stream.latestOffset(at(36, 10), limit) == at(37, 10)
    stream = reader(logs, minOffsetsPerTrigger="50", maxTriggerDelay="0")
    assert [stream.latestOffset(at(36, 10), limit) for _ in range(2)] == [at(37, 10)] * 2


def test_a_query_that_ends_ends_where_the_log_was(logs: Path) -> None:
    stream = reader(logs)
    stream.prepareForTriggerAvailableNow()
    write_segment(logs / "t-0", 30, 4)
    assert stream.latestOffset(at(0, 5), ALL) == at(30, 10)
    assert reader(logs).latestOffset(at(0, 5), ALL) == at(34, 10)


@pytest.mark.parametrize("left", [1, 11, 17, 60, 100, 150])
def test_a_batch_that_is_not_whole_yet_is_not_there(left: int, logs: Path) -> None:
    log = logs / "t-0" / "00000000000000000030.log"
    data = kodec.encode([kodec.Record(offset=n, value=bytes(40)) for n in (30, 31, 32)])
    more = kodec.encode([kodec.Record(offset=n, value=bytes(40)) for n in (33, 34, 35)])
    stream = reader(logs)
    for rest in (b"", bytes(500)):
        log.write_bytes(data[:left] + rest)
        assert stream.latestOffset(at(30, 10), ALL) == at(30, 10)
        log.write_bytes(data + more[:left] + rest)
        assert stream.latestOffset(at(30, 10), ALL) == at(33, 10)
        assert read(stream, at(30, 10), at(33, 10)) == [(0, 30), (0, 31), (0, 32)]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, 30),
        ({"startingOffsets": "earliest"}, 0),
        ({"startingTimestamp": "1600000000032"}, 32),
        ({"startingOffsets": '{"t":{"0":33}}'}, 33),
    ],
)
def test_a_stream_waits_for_a_transaction_that_is_open(
    options: dict[str, str], wanted: int, logs: Path
) -> None:
    shutil.rmtree(logs / "t-1")
    written = kodec.encode(
        make_records(30, 5), producer_id=7, producer_epoch=0, base_sequence=0, transactional=True
    )
    log = logs / "t-0" / f"{30:020d}.log"
    log.write_bytes(written)
    stream = reader(logs, **options, **{"kafka.isolation.level": "read_committed"})
    start = stream.initialOffset()
    assert start == {"t": {"0": wanted}}
    end = stream.latestOffset(start, ALL)
    assert read(stream, start, end) == [(0, n) for n in range(wanted, 30)]
    assert stream.latestOffset(end, ALL) == end
    # what retention has deleted of it is not waited for
    (logs / "log-start-offset-checkpoint").write_text("0\n1\nt 0 34\n")
    assert stream.reportLatestOffset() == {"t": {"0": 34}}


def test_a_stream_from_the_latest_offset_waits_for_a_batch_that_is_not_whole_yet(logs: Path) -> None:
    data = kodec.encode([kodec.Record(offset=n, value=b"value") for n in (30, 31, 32)])
    log = logs / "t-0" / f"{30:020d}.log"
    log.write_bytes(data[:-1] + b"?")
    stream = reader(logs)
    start = stream.initialOffset()
    assert start == at(30, 10) == stream.latestOffset(start, ALL)
    log.write_bytes(data)
    assert read(stream, start, stream.latestOffset(start, ALL)) == [(0, 30), (0, 31), (0, 32)]


def test_what_has_gone_is_an_error_or_left_out(logs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    strict, loose = reader(logs), reader(logs, failOnDataLoss="false")
    tasks = strict.partitions(at(8, 5), at(30, 10))
    loose_tasks = loose.partitions(at(8, 5), at(30, 10))
    (logs / "t-0" / "00000000000000000000.log").unlink()
    with pytest.raises(DataLoss, match="offsets 8 to 9 of t-0 were deleted meanwhile"):
        [list(strict.read(task)) for task in tasks]
    assert sum(batch.num_rows for task in loose_tasks for batch in loose.read(task)) == 25
    with pytest.raises(
        DataLoss, match="t-0 has offsets from 10 on, not those from 8 on; failOnDataLoss=false"
    ):
        strict.partitions(at(8, 5), at(30, 10))
    assert read(loose, at(8, 10), at(30, 10)) == [(0, n) for n in range(10, 30)]
    with pytest.raises(DataLoss, match="t-0 ends at offset 30, and did at 99"):
        strict.partitions(at(99, 5), at(99, 10))
    assert read(loose, at(99, 10), at(99, 10)) == []
    # it was shortened when its end was looked for, and has grown since
    with pytest.raises(DataLoss, match="t-0 ended at offset 20, and the query had read up to 25;"):
        strict.partitions(at(25, 5), at(20, 10))
    assert read(loose, at(25, 10), at(20, 10)) == []
    shutil.rmtree(logs / "t-1")
    with pytest.raises(DataLoss, match="t-1 is gone"):
        strict.partitions(at(10, 5), strict.latestOffset(at(10, 5), ALL))
    assert read(loose, at(20, 5), loose.latestOffset(at(10, 5), ALL)) == [(0, n) for n in range(20, 30)]
    # it may come back, and is then read from where the query was
    assert loose.latestOffset(at(10, 5), ALL) == at(30, 5)
    text = capfd.readouterr().err
    assert text.count("t-1 is gone; the query had read up to 5") == 1
    assert "WARN kafka-log: left out: " in text


@pytest.mark.parametrize("mode", ["failfast", "permissive"])
@pytest.mark.parametrize("name", ["t-0", "t-0/00000000000000000020.log", "t-0/00000000000000000010.log"])
def test_what_cannot_be_read_for_a_moment_keeps_its_position(name: str, mode: str, logs: Path) -> None:
    """A stream stops there, whatever the mode: its checkpoint counts as read what is below it."""
    stream = reader(logs, mode=mode)
    (logs / name).rename(logs.parent / "kept")
    (logs / name).symlink_to(logs / name)
    if name.endswith("10.log"):
        with pytest.raises(ReadFailed, match=name):
            read(stream, at(5, 10), stream.latestOffset(at(5, 10), ALL))
    else:
        for start in (at(5, 10), at(30, 10)):
            with pytest.raises(OSError, match="symbolic links"):
                stream.latestOffset(start, ALL)
    (logs / name).unlink()
    (logs.parent / "kept").rename(logs / name)
    assert stream.latestOffset(at(30, 10), ALL) == at(30, 10)
    assert read(stream, at(5, 10), at(30, 10)) == [(0, n) for n in range(5, 30)]


def test_a_topic_that_was_created_again_is_read_from_its_start(
    logs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ids = ["AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"]

    def of_topic(number: int) -> None:
        (logs / "t-0" / "partition.metadata").write_text(f"version: 0\ntopic_id: {ids[number]}\n")

    of_topic(0)
    strict, loose = reader(logs), reader(logs, failOnDataLoss="false")
    start = strict.latestOffset(at(20, 5), ALL)
    assert start == {**at(30, 10), "#topicIds": {"t": {"0": ids[0]}}}
    assert read(strict, at(20, 5), start) == [(0, n) for n in range(20, 30)] + [(1, n) for n in range(5, 10)]
    shutil.rmtree(logs / "t-0")
    write_segment(logs / "t-0", 0, 40)
    # the id may be unknown
    assert strict.latestOffset(start, ALL) == at(40, 10)
    of_topic(1)
    with pytest.raises(DataLoss, match=f"t-0 is of topic id {ids[1]}, and the query had read {ids[0]} up to"):
        strict.latestOffset(start, ALL)
    end = loose.latestOffset(start, ALL)
    assert end == {**at(40, 10), "#topicIds": {"t": {"0": ids[1]}}}
    assert read(loose, start, end) == [(0, n) for n in range(40)]
    assert capfd.readouterr().err.count("the topic was deleted and created again") == 1
    with pytest.raises(DataLoss, match="created again"):
        strict.partitions(start, end)
    # between planning the end and the tasks
    of_topic(0)
    with pytest.raises(DataLoss, match="t-0 is gone"):
        strict.partitions({**at(35, 10), "#topicIds": {"t": {"0": ids[1]}}}, end)


@pytest.mark.parametrize(
    "text", ["", "topic_id: AAAAAAAAAAAAAAAAAAAAAQ\n", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA\n"]
)
def test_a_topics_id_that_cannot_be_read_is_damage(
    text: str, logs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = logs / "t-0" / "partition.metadata"
    file.write_text(text)
    for options in ({}, {"failOnDataLoss": "false"}):
        with pytest.raises(FormatError, match=str(file)):
            reader(logs, **options).latestOffset(at(20, 5), ALL)
    stream = reader(logs, mode="permissive")
    assert stream.latestOffset(at(20, 5), ALL) == at(30, 10)
    assert capfd.readouterr().err.count(str(file)) == 1
    assert len(read(stream, at(20, 5), at(30, 10))) == 15


def test_damage_stops_the_stream_or_is_skipped(logs: Path) -> None:
    log = logs / "t-0" / "00000000000000000020.log"
    data = bytearray(log.read_bytes())
    data[16] = 9  # the magic of the first batch
    log.write_bytes(data)
    with pytest.raises(FormatError):
        reader(logs).reportLatestOffset()
    loose = reader(logs, mode="permissive")
    assert loose.reportLatestOffset() == at(30, 10)
    assert read(loose, at(10, 10), at(30, 10)) == [(0, n) for n in (*range(10, 20), *range(25, 30))]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"endingOffsets": "latest"}, "endingOffsets: a stream has no end"),
        ({"endingTimestamp": "5"}, "endingTimestamp: a stream has no end"),
        ({"minOffsetsPerTrigger": "x"}, "expected a whole number above 0"),
        ({"maxTriggerDelay": "5 parsecs"}, "expected a time, like 90s or 15m"),
        ({"maxOffsetsPerTrigger": "0"}, "expected a whole number above 0"),
    ],
)
def test_options_that_a_stream_does_not_have(options: dict[str, str], text: str, logs: Path) -> None:
    with pytest.raises(OptionError, match=text):
        reader(logs, **options)


def test_a_query_goes_on_from_its_checkpoint(spark: Any, logs: Path, tmp_path: Path) -> None:
    out, state = tmp_path / "out", tmp_path / "state"

    def run() -> list[tuple[int, int]]:
        stream = spark.readStream.format("kafka-log").options(
            startingOffsets="earliest", maxOffsetsPerTrigger="20"
        )
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

    wanted = [(0, n) for n in range(30)] + [(1, n) for n in range(5, 10)]
    assert run() == wanted
    write_segment(logs / "t-0", 30, 4)
    (logs / "t-0" / "00000000000000000000.log").unlink()
    assert run() == sorted(wanted + [(0, n) for n in range(30, 34)])
    last = max((state / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    assert json.loads(last.read_text().splitlines()[-1]) == at(34, 10)
