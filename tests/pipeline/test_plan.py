"""Options are read strictly, paths mean what they name, and tasks keep offsets in order."""

import json
from functools import partial
from pathlib import Path

import pytest

from kodec.log.batches.options import LogReadOptions, OnError
from kodec.log.batches.records import Limits
from kodec.log.files.listing import SegmentFiles, TopicPartition
from kodec.pipeline import ExportOptions, export
from kodec.pipeline.options import OptionError, Options
from kodec.pipeline.plan import DataLoss, SourceSegment, found_logs, list_segments, pack, tasks_of
from tests.data import DATA
from tests.fixtures import write_segment
from tests.log_paths import CASES, Case


def listed(path: Path, **options: str) -> list[tuple[str, int]]:
    found = list_segments(Options.parse({"path": str(path), **options}))
    return [(str(part.topic_partition), part.segment.base_offset) for part in found]


ORDERS_0 = [("orders-0", 0), ("orders-0", 100), ("orders-0", 200)]
ALL = [*ORDERS_0, ("orders-1", 0), ("paid-0", 0)]


def test_a_log_directory_means_its_live_partitions_without_internal_topics(log_dir: Path) -> None:
    assert listed(log_dir) == ALL
    assert listed(log_dir, includeInternal="true") == [("__internal-0", 0), *ALL]


def test_subscribe_and_assign_choose(log_dir: Path) -> None:
    assert listed(log_dir, subscribe="paid, __internal") == [("__internal-0", 0), ("paid-0", 0)]
    assert listed(log_dir, assign='{"orders":[1]}') == [("orders-1", 0)]


def test_a_partition_folder_and_a_segment_can_be_read_alone(log_dir: Path) -> None:
    assert listed(log_dir / "orders-0") == ORDERS_0
    assert listed(log_dir / "orders-0" / "00000000000000000100.log") == [("orders-0", 100)]
    assert listed(log_dir / "__internal-0") == [("__internal-0", 0)]


def test_a_log_directory_may_be_named_like_a_partition(tmp_path: Path) -> None:
    write_segment(tmp_path / "kafka-0" / "orders-5", 0, 2)
    assert listed(tmp_path / "kafka-0") == [("orders-5", 0)]


def test_file_urls_and_several_paths(log_dir: Path) -> None:
    paths = json.dumps([(log_dir / "paid-0").as_uri(), str(log_dir / "orders-1")])
    found = list_segments(Options.parse({"paths": paths}))
    assert [str(part.topic_partition) for part in found] == ["orders-1", "paid-0"]


def test_a_folder_and_a_link_to_it_are_one_log(log_dir: Path, tmp_path: Path) -> None:
    """As two replicas it would be ranked, and each of its segments looked at, twice."""
    (tmp_path / "link").symlink_to(log_dir)
    paths = json.dumps([str(log_dir), str(tmp_path / "link"), str(tmp_path / "link" / "orders-0")])
    found = found_logs(Options.parse({"paths": paths}))
    assert {str(owner): len(logs) for owner, logs in found.items()} == {
        "orders-0": 1,
        "orders-1": 1,
        "paid-0": 1,
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "say what to read"),
        ({"path": "hdfs://name/logs"}, "only local paths"),
        ({"path": "s3://key:secret@bucket/logs"}, "a URL with credentials is refused"),
        (
            {"path": "/", "mode": "lenient"},
            "mode: expected failfast or permissive or quarantine; not 'lenient'",
        ),
        ({"path": "/", "includeHeaders": "yes"}, "includeHeaders: expected true or false"),
        ({"path": "/", "maxPartitionBytes": "0"}, "maxPartitionBytes"),
        ({"path": "/", "maxPartitionBytes": "64 miles"}, "maxPartitionBytes"),
        ({"path": "/", "maxBatchBytes": "-1"}, "maxBatchBytes"),
        ({"path": "/", "maxDecompressedBytes": "much"}, "maxDecompressedBytes"),
        ({"path": "/", "maxElements": "0"}, "maxElements"),
        ({"path": "/", "assign": "orders"}, "assign: expected JSON like"),
        (
            {"path": "/", "assign": '{"orders":[0]}', "subscribe": "orders"},
            "give one of subscribe, subscribePattern, assign, not subscribe and assign",
        ),
        ({"path": "/", "subscibe": "orders"}, r"subscibe: there is no such option; did you mean subscribe\?"),
        ({"path": "/", "endingTimestam": "1"}, r"did you mean endingTimestamp\?"),
        ({"path": "/", "xyzzy": "1"}, "docs/spark-options.md lists"),
        ({"path": "/", "kafka.auto.offset.reset": "latest"}, "use startingOffsets"),
        ({"path": "/", "kafka.isolation.level": "serializable"}, "read_uncommitted or read_committed"),
        ({"path": "/", "startingOffsets": "latest"}, "a batch query cannot start at the latest offset"),
        ({"path": "/", "startingOffsets": '{"orders":{"0":-1}}'}, "cannot start at the latest"),
        (
            {"path": "/", "startingOffsets": '{"orders":{"0":-3}}'},
            "startingOffsets: expected earliest, latest",
        ),
        ({"path": "/", "startingOffsets": '{"orders":{"0":1.5}}'}, "startingOffsets: expected"),
        ({"path": "/", "startingOffsets": '{"orders":[0]}'}, "startingOffsets: expected"),
        ({"path": "/", "endingOffsets": "earliest"}, "cannot end at the earliest"),
        ({"path": "/", "endingOffsets": '{"orders":{"0":-2}}'}, "cannot end at the earliest"),
        ({"path": "/", "startingTimestamp": "yesterday"}, "milliseconds since 1970"),
        ({"path": "/", "endingOffsetsByTimestamp": "5"}, "milliseconds since 1970"),
        ({"path": "/", "startingOffsetsByTimestampStrategy": "earliest"}, "expected error or latest"),
        ({"path": "/", "failOnDataLoss": "no"}, "failOnDataLoss: expected true or false"),
        ({"path": "/", "minPartitions": "0"}, "minPartitions: expected a whole number above 0"),
        ({"path": "/", "maxRecordsPerPartition": "many"}, "maxRecordsPerPartition: expected a whole number"),
        ({"path": "/", "subscribe": " , "}, "subscribe: expected topics"),
        ({"path": "/", "subscribePattern": "[a-z&&[^b]]"}, "use what Java and Python share"),
        ({"path": "/", "subscribePattern": "(?<n>a)"}, "use what Java and Python share"),
        ({"path": "/", "columns": "offset,valu"}, r"did you mean value\?"),
        ({"path": "/", "columns": "offset,offset"}, "each once"),
        ({"path": "/", "mode": "quarantine", "columns": "offset"}, "no column is called offset"),
        ({"path": "/", "topic": "orders"}, "name topics with subscribe"),
    ],
)
def test_bad_options_are_named(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Options.parse(options)


def test_limits_are_options() -> None:
    given = {"path": "/", "maxBatchBytes": "1m", "maxDecompressedBytes": "2m", "maxElements": "7"}
    assert Options.parse(given).reading.limits == Limits(2**20, 2**21, 7)
    assert Options.parse({"path": "/"}).reading == LogReadOptions()


@pytest.mark.parametrize(
    ("mode", "fails", "streaming", "on_error"),
    [
        ("FAILFAST", "true", False, "raise"),
        ("failfast", "false", False, "raise"),
        ("permissive", "false", False, "skip-unreachable"),
        ("quarantine", "false", False, "skip-unreachable"),
        ("permissive", "true", False, "skip"),
        ("permissive", "false", True, "skip"),
    ],
)
def test_two_options_are_on_error_elsewhere(mode: str, fails: str, streaming: bool, on_error: str) -> None:
    given = {"path": "/", "mode": mode, "failOnDataLoss": fails}
    assert Options.parse(given, streaming=streaming).reading.on_error == on_error


def test_options_of_sparks_kafka_source_that_change_nothing_are_let_through() -> None:
    given = {
        "path": "/",
        "kafka.bootstrap.servers": "x",
        "STARTINGOFFSETS": "earliest",
        "endingOffsets": "latest",
    }
    assert Options.parse(given) == Options.parse({"path": "/"})


@pytest.mark.parametrize(("text", "size"), [("1", 1), ("64m", 64 * 2**20), ("2 KB", 2048), (None, None)])
def test_sizes(text: str | None, size: int | None) -> None:
    given = {"path": "/"} if text is None else {"path": "/", "maxPartitionBytes": text}
    assert Options.parse(given).task_bytes == size


def test_paths_that_cannot_be_read_are_named(log_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"kafka-log: path: there is no .*nowhere"):
        listed(tmp_path / "nowhere")
    (tmp_path / "00000000000000000000.log").touch()
    with pytest.raises(ValueError, match="neither a log directory"):
        listed(tmp_path)
    with pytest.raises(ValueError, match="not a segment"):
        listed(log_dir / "meta.properties")


def test_a_topic_that_is_not_there_is_an_error(log_dir: Path) -> None:
    with pytest.raises(ValueError, match="not in the log directory: lost"):
        listed(log_dir, subscribe="orders,lost")
    with pytest.raises(ValueError, match="not in the log directory: orders-9"):
        listed(log_dir, assign='{"orders":[0,9]}')


def test_offsets_leave_out_segments(log_dir: Path) -> None:
    for first, last, bases in [(0, 99, [0]), (100, 100, [100]), (99, 200, [0, 100, 200]), (200, 250, [200])]:
        given = {
            "assign": '{"orders": [0]}',
            "startingOffsets": f'{{"orders": {{"0": {first}}}}}',
            "endingOffsets": f'{{"orders": {{"0": {last + 1}}}}}',
        }
        assert listed(log_dir, **given) == [("orders-0", base) for base in bases]


def test_a_path_without_a_file_of_kafkas_is_an_error(tmp_path: Path) -> None:
    """Many a folder is named like a topic-partition's: /usr/lib/llvm-14."""
    (tmp_path / "lib" / "llvm-14" / "bin").mkdir(parents=True)
    (tmp_path / "lib" / "llvm-14" / "readme.log").write_text("text")
    for path in (tmp_path / "lib", tmp_path / "lib" / "llvm-14"):
        text = rf"^kafka-log: path: {path}: no file of Kafka's is in llvm-14; it holds"
        with pytest.raises(OptionError, match=text):
            listed(path)
        assert listed(path, allowEmpty="true") == []
    for name in ("leader-epoch-checkpoint", "partition.metadata", f"{0:020d}.timeindex"):
        (tmp_path / "lib" / "llvm-14" / name).touch()
        assert listed(tmp_path) == []
        (tmp_path / "lib" / "llvm-14" / name).unlink()
    (tmp_path / "lib" / "meta.properties").touch()
    assert listed(tmp_path) == listed(tmp_path / "lib" / "llvm-14") == []


def _segments(*sizes: int) -> list[SourceSegment]:
    owner = TopicPartition("t", 0)
    return [SourceSegment(owner, SegmentFiles(number, Path("x"), size)) for number, size in enumerate(sizes)]


def test_tasks_hold_consecutive_segments_up_to_their_size() -> None:
    mib = 2**20
    tasks = pack(_segments(3 * mib, 3 * mib, 9 * mib, mib, mib, 20 * mib), 8 * mib)
    assert [[part.segment.base_offset for part in task] for task in tasks] == [[0, 1], [2], [3, 4], [5]]


def test_empty_segments_cost_something_too() -> None:
    tasks = pack(_segments(*[0] * 1000), 32 * 2**20)
    assert 1 < len(tasks) < 10
    assert sum(map(len, tasks)) == 1000


@pytest.mark.parametrize(
    ("sizes", "cores", "tasks"),
    [
        # nobody waits for a task that costs more than its work
        ([2**20] * 20, 64, 2),
        # each core has something to do
        ([10 * 2**20] * 64, 16, 16),
        # and no task takes long
        ([64 * 2**20] * 64, 4, 64),
    ],
)
def test_tasks_are_as_large_as_keeps_all_cores_busy(
    sizes: list[int], cores: int, tasks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    assert len(tasks_of(Options.parse({"path": "/"}), _segments(*sizes))) == tasks


def test_nothing_makes_no_task() -> None:
    assert pack([], 1) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_paths_mean_what_they_mean_elsewhere(case: Case, tmp_path: Path) -> None:
    path = {"path": str(case.make(tmp_path)), "includeInternal": "true"}
    if case.segments is None:
        with pytest.raises(OptionError, match=r"^kafka-log: path: "):
            found_logs(Options.parse(path))
    else:
        found_there = found_logs(Options.parse({**path, "allowEmpty": "true"}))
        logs = [log for replicas in found_there.values() for log in replicas]
        found = [each.log for log in logs for each in log.segments]
        assert sorted(found) == sorted(tmp_path / each for each in case.segments)


@pytest.mark.parametrize("on_error", ["raise", "skip", "skip-unreachable"])
def test_records_that_only_remote_storage_has(on_error: OnError, tmp_path: Path) -> None:
    """Without its tier a topic is not whole, as its log start offset shows."""
    logs = DATA / "tiered-4.3.1/logs"
    options = ExportOptions(topics=["tiered"], on_error=on_error)
    ask = partial(export, logs, tmp_path / "out", options, engine="local")
    if on_error != "skip-unreachable":
        with pytest.raises(DataLoss, match=r"offsets 0 to 167 .*--tier"):
            ask()
        assert not (tmp_path / "out").exists()
        return
    summary = ask()
    (lost,) = summary.omissions
    assert (summary.records, lost.cause.value, lost.last_offset) == (7, "unreachable", 167)
