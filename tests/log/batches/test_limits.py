"""Limits in objects, not only in bytes: a few bytes of input must not become gigabytes of records."""

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

import kodec
from kodec.errors import EncodeError, LimitExceeded, Malformed
from kodec.generated.messages.offset_commit_value import OffsetCommitValue
from kodec.log.batches.records import Limits
from tests.log.wire import batch, record

pytestmark = pytest.mark.usefixtures("backend")

FEW = Limits(elements=100)

# -- every door has them -------------------------------------------------------------------------

SMALL = {
    "batch_bytes": Limits(batch_bytes=90),
    "decompressed_bytes": Limits(decompressed_bytes=400),
    "elements": Limits(elements=20),
}
VALUES = [kodec.Record(value=b"a value of twenty byte") for _ in range(21)]
LOGS = {name: kodec.encode(VALUES, magic=magic, compression="gzip") for name, magic in [("v2", 2), ("v1", 1)]}


def doors(path: Path, limits: Limits) -> dict[str, Callable[[], object]]:
    """Each way to the records of a segment, and to the headers of its batches alone."""
    folder, root = path.parent, path.parent.parent

    def of_log(use: Callable[[kodec.PartitionLog], object], log: kodec.PartitionLog) -> object:
        with log:
            return use(log)

    def partition(use: Callable[[kodec.PartitionLog], object]) -> object:
        return of_log(use, kodec.PartitionLog(folder, limits=limits))

    def directory(use: Callable[[kodec.PartitionLog], object]) -> object:
        return of_log(use, kodec.LogDirectory(root, limits=limits).partition("orders", 0))

    def given(log: kodec.PartitionLog) -> list[kodec.Record]:
        return [one for batch in log.batches() for one in batch.records()]

    def read(log: kodec.PartitionLog) -> list[kodec.Record]:
        return [one for batch in log.read(0).batches() for one in batch.records()]

    def segment() -> object:
        with kodec.Segment.of(path, limits=limits) as one:
            return list(one.records())

    return {
        "read_records": lambda: list(kodec.read_records(path, limits=limits)),
        "read_batches": lambda: [one.records() for one in kodec.read_batches(path, limits=limits)],
        "read_table": lambda: kodec.read_table(path, limits=limits),
        "scan_table": lambda: list(kodec.scan_table(path, ["value"], limits=limits)),
        "read_batch_table, headers": lambda: kodec.read_batch_table(path, limits=limits),
        "scan_batch_table, headers": lambda: list(kodec.scan_batch_table(path, limits=limits)),
        "PartitionLog.records": lambda: partition(lambda log: list(log.records())),
        "PartitionLog.batches": lambda: partition(given),
        "PartitionLog.read": lambda: partition(read),
        "LogDirectory.records": lambda: directory(lambda log: list(log.records())),
        "LogDirectory.read": lambda: directory(read),
        "Segment.of": segment,
    }


DOORS = list(doors(Path("/orders-0/0.log"), FEW))


@pytest.mark.parametrize("version", LOGS)
@pytest.mark.parametrize("limit", SMALL)
@pytest.mark.parametrize("door", DOORS)
def test_limits_reach_every_door(door: str, limit: str, version: str, tmp_path: Path) -> None:
    path = tmp_path / "orders-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(LOGS[version])
    assert doors(path, Limits())[door]() is not None
    if door.endswith("headers") and limit != "batch_bytes":
        doors(path, SMALL[limit])[door]()
        return
    with pytest.raises(LimitExceeded) as caught:
        doors(path, SMALL[limit])[door]()
    assert caught.value.limit == limit


# -- elements ------------------------------------------------------------------------------------


def test_more_records_than_the_limit_are_refused_before_they_are_made() -> None:
    data = kodec.encode([kodec.Record(value=b"") for _ in range(101)], compression="gzip")
    assert len(list(kodec.read_records(data, limits=Limits(elements=101)))) == 101
    with pytest.raises(LimitExceeded) as caught:
        list(kodec.read_records(data, limits=FEW))
    assert (caught.value.limit, caught.value.need, caught.value.have) == ("elements", 101, 100)
    assert list(kodec.read_records(data, limits=FEW, on_error="skip")) == []


def test_headers_count_together_with_the_records() -> None:
    many = kodec.Record(value=b"", headers=(("", None),) * 60)
    assert len(list(kodec.read_records(kodec.encode([many]), limits=FEW))) == 1
    with pytest.raises(LimitExceeded, match="elements"):
        list(kodec.read_records(kodec.encode([many, many]), limits=FEW))


def test_messages_in_a_wrapper_count_too() -> None:
    data = kodec.encode([kodec.Record(value=b"") for _ in range(101)], magic=1, compression="gzip")
    with pytest.raises(LimitExceeded, match="elements"):
        list(kodec.read_records(data, limits=FEW))


def test_a_wrong_count_does_not_make_the_records_that_it_denies() -> None:
    """One record counted, a million there: what explains the error is bounded as well."""
    data = batch([record(i) for i in range(200)], count=1)
    with pytest.raises((LimitExceeded, Malformed)):
        list(kodec.read_records(data, limits=FEW))


def test_a_tag_that_the_version_cannot_carry_is_refused() -> None:
    value = OffsetCommitValue(version=3, tagged_fields=[(7, b"x")])
    with pytest.raises(EncodeError) as caught:
        value.to_bytes()
    assert caught.value.path == "tagged_fields"
    value.version = 4
    assert OffsetCommitValue.from_bytes(value.to_bytes()).tagged_fields == [(7, b"x")]


def test_an_unknown_codec_is_found_where_it_stands() -> None:
    data = bytearray(kodec.encode([kodec.Record(value=b"v")]))
    data[22] |= 7
    with pytest.raises(kodec.errors.Unsupported) as caught:
        list(kodec.read_records(bytes(data), check_crc=False))
    assert caught.value.at == 21
    old = bytearray(kodec.encode([kodec.Record(value=b"v")], magic=1))
    old[17] |= 7
    old[12:16] = struct.pack(">I", zlib.crc32(old[16:]))
    with pytest.raises(kodec.errors.Unsupported) as caught:
        list(kodec.read_records(bytes(old)))
    assert caught.value.at == 17
