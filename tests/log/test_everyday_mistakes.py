"""What callers get wrong every day: an error of ours, which shows what to give instead."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kodec
from kodec.errors import ArgumentError, EncodeError, KodecError, NoSuchPartition
from tests.data import LOGS
from tests.golden import Golden

FOLDER = LOGS / "orders-0"
SEGMENT = FOLDER / f"{0:020d}.log"
ONE = [kodec.Record(value=b"v")]
# types are wrong here on purpose
any_kodec: Any = kodec
encode: Callable[..., Any] = kodec.encode


def log() -> Any:
    return kodec.PartitionLog(FOLDER)


def record(**fields: Any) -> list[Any]:
    return [kodec.Record(value=b"v", **fields)]


def opened() -> Any:
    with SEGMENT.open() as file:
        return kodec.read_records(file)  # type: ignore[arg-type]


CASES: list[tuple[Callable[[], Any], str]] = [
    (lambda: encode(ONE, compression=None), r"compression: .*\"none\" for none, have 'NoneType'"),
    (lambda: encode(ONE, compression=1), "compression: .*have 'int'"),
    (lambda: encode(ONE, compression="GZIP"), "compression: .*need none, gzip, snappy.*have 'GZIP'"),
    (lambda: encode(ONE[0]), "records: .*need a list of kodec.Record, have 'Record'"),
    (lambda: encode(b"abc"), "need a list of kodec.Record, have 'bytes'"),
    (lambda: encode(None), "need a list of kodec.Record, have 'NoneType'"),
    (lambda: encode([b"abc"]), r"records\[0\]: not a record"),
    (
        lambda: encode(record(headers={"a": b"b"})),
        r"records\[0\].headers: .*list\(headers.items\(\)\), have 'dict'",
    ),
    (lambda: encode(record(headers={"ab": b"b"})), r"list\(headers.items\(\)\)"),
    (lambda: encode(record(headers={})), r"list\(headers.items\(\)\)"),
    (lambda: encode(record(headers=None)), r"records\[0\].headers: .*have 'NoneType'"),
    (lambda: encode(record(headers=("a", b"b"))), r"records\[0\].headers: not pairs"),
    (lambda: encode(record(headers=[("a", b"b", 1)])), r"records\[0\].headers: not pairs"),
    (lambda: encode(record(headers=[("a", "b")])), r"records\[0\].headers: not bytes"),
    (lambda: encode(record(headers=[(b"a", b"b")])), "the key is no text"),
    (lambda: encode(record(timestamp=datetime.datetime.now())), "timestamp: not an integer"),
    (lambda: encode(ONE, base_offset="0"), "base_offset: not a whole number .*need int or None, have 'str'"),
    (lambda: encode(ONE, base_offset=1.0), "base_offset: not a whole number"),
    (lambda: encode(ONE, magic="2"), "magic: not a whole number"),
    (lambda: encode(ONE, magic=3), "magic: unknown message format"),
    (lambda: encode(ONE, timestamp_type="CreateTime"), "timestamp_type: .*need a TimestampType, or None"),
    (lambda: encode(ONE, producer_id=None), "producer_id: not a whole number"),
    (lambda: encode(ONE, batch_records="5"), "batch_records: not a whole number"),
    (lambda: encode(ONE, batch_bytes=None), "batch_bytes: not a whole number"),
    (lambda: any_kodec.encode_table(pa.table({"value": [b"v"]}), compression=None), "compression: "),
    (lambda: any_kodec.encode_table([ONE[0]]), "a pyarrow.Table, .*not list"),
    (
        lambda: any_kodec.repair.survey(str(FOLDER)),
        r"log: a kodec.PartitionLog is needed, as PartitionLog\(path\), not str",
    ),
    (lambda: any_kodec.repair.survey(kodec.LogDirectory(LOGS)), "not LogDirectory"),
    (lambda: any_kodec.operations.read_epochs(FOLDER), "a kodec.PartitionLog is needed"),
    (lambda: any_kodec.operations.read_producers(FOLDER), "a kodec.PartitionLog is needed"),
    (lambda: any_kodec.operations.explain_retention(FOLDER), "a kodec.PartitionLog is needed"),
    (
        lambda: kodec.operations.explain_retention(log(), options={"retention_ms": "5"}),
        "'retention_ms' is none of cleanup.policy",
    ),
    (
        lambda: any_kodec.operations.explain_retention(log(), metadata=LOGS),
        r"the result of read_metadata\(path\)",
    ),
    (lambda: kodec.LogDirectory(LOGS).partition("order", 0), "no topic order .*did you mean orders"),
    (lambda: kodec.LogDirectory(LOGS).partition("orders", 99), "orders has partitions 0, 1"),
    (lambda: any_kodec.LogDirectory(LOGS).partition("orders", "0"), r"as in partition\('orders', 0\)"),
    (lambda: kodec.LogDirectory(FOLDER), "a topic-partition's folder, which kodec.PartitionLog reads"),
    (lambda: list(kodec.repair.plan_recoveries(FOLDER)), "a topic-partition's folder"),
    (lambda: any_kodec.LogDirectory([LOGS]), "expected a path, not list"),
    (lambda: kodec.LogDirectory(), "give a log directory"),
    (lambda: any_kodec.PartitionLog(None), "expected a path, not NoneType"),
    (lambda: any_kodec.repair.plan_recovery(log()), "expected a path, not PartitionLog: pass its `path`"),
    (lambda: any_kodec.repair.plan_salvage(FOLDER, None), "expected a path, not NoneType"),
    (lambda: any_kodec.Segment.of(None), "expected a path"),
    (lambda: log().read("0"), "offset: expected a whole number, not str"),
    (lambda: list(log().records(isolation="committed")), "isolation='committed': expected"),
    (
        lambda: any_kodec.read_records([7]),
        "a list may hold paths, logs, log directories and segments, not int",
    ),
    (opened, "open it with mode 'rb'"),
    (
        lambda: list(kodec.read_records(FOLDER / f"{0:020d}.index")),
        "is an offset index, no log: `kodec dump`",
    ),
    (lambda: kodec.read_table(FOLDER / f"{0:020d}.timeindex"), "is a time index, no log"),
    (
        lambda: list(kodec.read_records(LOGS, topics="orders,compacted")),
        "name each by itself: orders, compac",
    ),
    (lambda: list(kodec.read_records(LOGS, timestamps=(9, 3))), r"timestamps=\(9, 3\): the first is after"),
    (
        lambda: list(kodec.read_records(LOGS, offsets=(9, 3))),
        r"offsets=\(9, 3\): the first is after the last",
    ),
    (lambda: any_kodec.read_records(SEGMENT, on_error="ignore"), "on_error='ignore': expected"),
    (lambda: any_kodec.read_records(SEGMENT, limits=5), r"limits: kodec.Limits\(...\) is needed, not int"),
    (lambda: any_kodec.Limits(batch_bytes="5"), "batch_bytes: expected a whole number, not str"),
    (lambda: kodec.Limits(elements=-5), "elements=-5: expected at least 0"),
    (lambda: any_kodec.LogConfig(segment_bytes="5"), "segment_bytes: expected a whole number"),
    (
        lambda: kodec.read_table(SEGMENT, ["valu"]),
        "no such column: 'valu'; did you mean value. The columns are topic, partition, offset",
    ),
    (
        lambda: list(
            any_kodec.operations.convert_batches(str(SEGMENT), kodec.operations.ConvertOptions(magic=1))
        ),
        r"the result of read_batches\(source\)",
    ),
    (
        lambda: list(
            any_kodec.operations.convert_batches(SEGMENT.read_bytes(), kodec.operations.ConvertOptions())
        ),
        r"the result of read_batches\(source\)",
    ),
    (
        lambda: kodec.operations.plan_conversion(
            FOLDER, "orders-0", kodec.operations.ConvertOptions(compression="x")
        ),
        "compression: not a codec .*or None",
    ),
    (
        lambda: any_kodec.operations.plan_conversion(
            FOLDER, "orders-0", kodec.operations.ConvertOptions(magic="1")
        ),
        "magic: unknown message format",
    ),
    (
        lambda: any_kodec.operations.plan_trim(FOLDER, retention_ms="5"),
        "retention_ms: expected a whole number",
    ),
    (lambda: any_kodec.operations.plan_trim(FOLDER, retention_ms=datetime.timedelta(1)), "not timedelta"),
    (lambda: any_kodec.repair.plan_reindex(FOLDER, segments=0), "segments: expected a list of base offsets"),
    (lambda: kodec.repair.plan_reindex(FOLDER, segments=[5]), "segments: 5 is no base offset of"),
    (lambda: any_kodec.operations.read_metadata(LOGS, end_offset="5"), "end_offset: expected a whole number"),
    (lambda: any_kodec.partition_of("key", 3), "a key is bytes, not str"),
    (lambda: kodec.partition_of(b"key", 0), "partition_count=0: expected at least 1"),
]


@pytest.mark.parametrize(("call", "text"), CASES, ids=[text[:40] for _, text in CASES])
def test_a_mistake_is_an_error_that_says_what_to_do(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(KodecError, match=text):
        call()


def test_what_such_errors_are_beside(golden: Golden) -> None:
    """Programs that catch Python's own errors go on."""
    assert issubclass(ArgumentError, TypeError) and issubclass(ArgumentError, ValueError)
    assert issubclass(NoSuchPartition, KeyError) and issubclass(EncodeError, ValueError)
    with pytest.raises(NoSuchPartition) as raised:
        kodec.LogDirectory(LOGS).partition("orders", 99)
    golden(str(raised.value))


def test_of_a_writer(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"config: kodec.LogConfig\(...\) is needed, not dict"):
        any_kodec.LogWriter(tmp_path / "orders-0", config={"segment_bytes": 5})
    with pytest.raises(ArgumentError, match="leader_epoch: expected a whole number"):
        any_kodec.LogWriter(tmp_path / "orders-0", leader_epoch="1")
    assert list(tmp_path.iterdir()) == []
    with kodec.LogDirectoryWriter(tmp_path) as directory:
        with pytest.raises(ArgumentError, match="partition: expected a whole number, not str"):
            directory.partition("orders", "0")  # type: ignore[arg-type]
        with pytest.raises(EncodeError, match=r"need a list of kodec.Record, have 'Record'"):
            directory.partition("orders", 0).append(ONE[0])  # type: ignore[arg-type]


@pytest.mark.parametrize("timestamp", [-5, 2**70, 7])
def test_magic_0_drops_a_timestamp_whatever_it_is(timestamp: int) -> None:
    data = kodec.encode([kodec.Record(value=b"v", timestamp=timestamp)], magic=0, lossy=True)
    assert data == kodec.encode([kodec.Record(value=b"v")], magic=0)
    with pytest.raises(EncodeError, match="timestamp"):
        kodec.encode([kodec.Record(value=b"v", timestamp=timestamp)], magic=0)
    if timestamp != 7:
        with pytest.raises(EncodeError, match="timestamp"):
            kodec.encode([kodec.Record(value=b"v", timestamp=timestamp)], magic=1, lossy=True)


# -- several names ---------------------------------------------------------------------------------------


NAMES: dict[str, Callable[[object], int]] = {
    "find_records": lambda names: sum(
        1
        for _ in kodec.LogDirectory(LOGS).find_records(kodec.RecordFilter(offsets=(None, 0)), topics=names)  # type: ignore[arg-type]
    ),
    "count_records": lambda names: kodec.LogDirectory(LOGS).count_records(
        kodec.RecordFilter(offsets=(None, 0)),
        topics=names,  # type: ignore[arg-type]
    ),
    "read_groups": lambda names: len(
        kodec.operations.read_groups(LOGS, topics=names).offsets  # type: ignore[arg-type]
    ),
    "read_transactions": lambda names: len(
        kodec.operations.read_transactions(LOGS, topics=names).open  # type: ignore[arg-type]
    ),
    "read_table": lambda names: kodec.read_table(LOGS, topics=names, columns=["offset"]).num_rows,  # type: ignore[arg-type]
}


@pytest.mark.parametrize("function", NAMES)
def test_a_name_alone_is_one_name_and_not_its_letters(function: str) -> None:
    count = NAMES[function]
    name = "codec-gzip" if function == "read_groups" else "transactions"
    assert count(name) == count([name]) == count((name,)) > 0
    if function != "read_table":
        assert count([]) == 0
    for wrong in (b"transactions", 3, [3]):
        with pytest.raises(ArgumentError):
            count(wrong)


def test_a_group_is_chosen_by_its_whole_name() -> None:
    (group, *_) = kodec.operations.read_groups(LOGS).groups
    assert [each.group for each in kodec.operations.read_groups(LOGS, groups=group.group).groups] == [
        group.group
    ]
    assert kodec.operations.read_groups(LOGS, groups=f"x{group.group}x").groups == []
