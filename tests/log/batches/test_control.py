"""Control records: kept from users unless asked for, and then understood."""

from __future__ import annotations

import struct
from typing import Any
from uuid import UUID

import pytest

import kodec
from kodec import ControlRecord, ControlRecordType, Record, TimestampType
from kodec.errors import FormatError, Malformed, Truncated
from kodec.generated.control.control_record_key import ControlRecordKey
from kodec.generated.control.end_txn_marker import EndTxnMarker
from kodec.generated.control.kraft_version_record import KraftVersionRecord
from kodec.generated.control.leader_change_message import LeaderChangeMessage
from kodec.generated.control.leader_change_message import Voter as LeaderVoter
from kodec.generated.control.snapshot_footer_record import SnapshotFooterRecord
from kodec.generated.control.snapshot_header_record import SnapshotHeaderRecord
from kodec.generated.control.voters_record import Endpoint, KraftVersionFeature, Voter, VotersRecord
from tests.log.wire import CODECS, CODES, batch, record, squeeze

pytestmark = pytest.mark.usefixtures("backend")

T = ControlRecordType
DIRECTORY = UUID(int=2**127 + 5)
VALUES: list[tuple[ControlRecordType, Any]] = [
    (T.ABORT, EndTxnMarker(coordinator_epoch=7)),
    (T.COMMIT, EndTxnMarker(coordinator_epoch=2**31 - 1)),
    (
        T.LEADER_CHANGE,
        LeaderChangeMessage(leader_id=1, voters=[LeaderVoter(1)], granting_voters=[LeaderVoter(1)]),
    ),
    (T.LEADER_CHANGE, LeaderChangeMessage(version=1, leader_id=2, voters=[LeaderVoter(2, DIRECTORY)])),
    (T.SNAPSHOT_HEADER, SnapshotHeaderRecord(last_contained_log_timestamp=1_600_000_000_000)),
    (T.SNAPSHOT_FOOTER, SnapshotFooterRecord()),
    (T.KRAFT_VERSION, KraftVersionRecord(kraft_version=1)),
    (
        T.KRAFT_VOTERS,
        VotersRecord(
            voters=[Voter(3, DIRECTORY, [Endpoint("CONTROLLER", "host", 9093)], KraftVersionFeature(0, 1))]
        ),
    ),
]
IDS = [f"{kind.name} {getattr(value, 'version', '')}" for kind, value in VALUES]


def key_of(kind: int) -> bytes:
    return ControlRecordKey(control_type=kind).to_bytes()


def control_log(kind: ControlRecordType, value: Any, **options: Any) -> bytes:
    return kodec.encode(
        [Record(offset=5, timestamp=99, key=key_of(kind), value=value.to_bytes())], control=True, **options
    )


def test_every_type_is_here() -> None:
    assert {kind for kind, _ in VALUES} == set(T) - {T.UNKNOWN}


@pytest.mark.parametrize("codec", CODECS[2])
@pytest.mark.parametrize(("kind", "value"), VALUES, ids=IDS)
def test_hidden_unless_asked_for(kind: ControlRecordType, value: Any, codec: str) -> None:
    data = kodec.encode([Record(offset=4, value=b"before")])
    data += control_log(kind, value, compression=codec)
    data += kodec.encode([Record(offset=6, value=b"after")])
    assert [found.offset for found in kodec.read_records(data)] == [4, 6]
    found = list(kodec.read_records(data, control=True))
    assert [type(r) for r in found] == [Record, ControlRecord, Record]
    expected = ControlRecord(
        offset=5,
        timestamp=99,
        timestamp_type=TimestampType.CREATE_TIME,
        key=key_of(kind),
        value=value.to_bytes(),
        headers=(),
        type=kind,
        data=value,
    )
    assert found[1] == expected
    stored = list(kodec.read_batches(data))
    assert [b.is_control for b in stored] == [False, True, False]
    assert [b.control_type for b in stored] == [None, kind, None]
    assert [b.count for b in stored] == [1, 1, 1]
    assert stored[1].records() == [] and stored[1].records(control=True) == [expected]


def test_the_bytes_of_a_marker_are_those_of_kafka() -> None:
    value = EndTxnMarker(coordinator_epoch=7).to_bytes()
    data = kodec.encode(
        [Record(offset=5, timestamp=99, key=key_of(T.COMMIT), value=value)],
        control=True, transactional=True, producer_id=55, producer_epoch=2,
    )  # fmt: skip
    marker = record(0, bytes.fromhex("00000001"), bytes.fromhex("000000000007"))
    assert data == batch(
        [marker], base=5, attributes=0x30, base_time=99, max_time=99, producer=(55, 2, -1), epoch=-1
    )
    assert len(data) == 78


def test_several_in_one_batch() -> None:
    kinds = [
        (T.SNAPSHOT_HEADER, VALUES[4][1]),
        (T.KRAFT_VERSION, VALUES[6][1]),
        (T.KRAFT_VOTERS, VALUES[7][1]),
    ]
    rows = [
        Record(offset=i, timestamp=5, key=key_of(kind), value=value.to_bytes())
        for i, (kind, value) in enumerate(kinds)
    ]
    data = kodec.encode(rows, control=True)
    found = list(kodec.read_records(data, control=True))
    assert [(r.type, r.data) for r in found if isinstance(r, ControlRecord)] == kinds
    (stored,) = kodec.read_batches(data)
    assert stored.control_type is T.SNAPSHOT_HEADER and stored.producer_id == -1


def test_written_again_they_are_the_same() -> None:
    rows = [
        Record(offset=i, timestamp=5, key=key_of(k), value=v.to_bytes()) for i, (k, v) in enumerate(VALUES)
    ]
    data = kodec.encode(rows, control=True)
    assert kodec.encode(kodec.read_records(data, control=True), control=True) == data


@pytest.mark.parametrize("kind", [-1, 7, 99, 32767, -32768])
def test_unknown_types_are_kept_and_no_error(kind: int) -> None:
    data = batch([record(0, struct.pack(">hh", 0, kind), None)], attributes=0x20)
    assert list(kodec.read_records(data)) == []
    (found,) = kodec.read_records(data, control=True)
    assert isinstance(found, ControlRecord)
    assert (found.type, found.data, found.value) == (T.UNKNOWN, None, None)


@pytest.mark.parametrize(
    ("key", "kind"),
    [(None, Malformed), (b"", Truncated), (b"\0\0\0", Truncated), (b"\xff\xff\0\0", Malformed)],
)
@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_bad_keys(key: bytes | None, kind: type[FormatError], codec: str) -> None:
    rows = squeeze(codec, record(0, bytes(4), bytes(6)) + record(1, key, bytes(6)))
    data = batch(rows, count=2, attributes=0x20 | CODES[codec])
    assert list(kodec.read_records(data)) == []
    with pytest.raises(kind) as caught:
        list(kodec.read_records(data, control=True))
    assert ".records[1].key" in caught.value.path
    reader = kodec.read_records(data, control=True, on_error="skip")
    assert list(reader) == [] and len(reader.skipped) == 1


@pytest.mark.parametrize(("kind", "value"), VALUES, ids=IDS)
def test_every_cut_of_a_value(kind: ControlRecordType, value: Any) -> None:
    whole = value.to_bytes()
    for size in range(len(whole)):
        data = batch([record(0, key_of(kind), whole[:size])], attributes=0x20)
        with pytest.raises(FormatError, match=r"records\[0\]\.value"):
            list(kodec.read_records(data, control=True))
    (found,) = kodec.read_records(
        batch([record(0, key_of(kind), whole + b"more")], attributes=0x20), control=True
    )
    assert isinstance(found, ControlRecord) and found.data == value


def test_a_null_value_is_an_error() -> None:
    data = batch([record(0, key_of(T.COMMIT), None)], attributes=0x20)
    with pytest.raises(Truncated, match=r"records\[0\]\.value"):
        list(kodec.read_records(data, control=True))


def test_a_newer_marker_is_read_as_version_0() -> None:
    data = batch([record(0, key_of(T.COMMIT), struct.pack(">hiq", 9, 7, 1))], attributes=0x20)
    (found,) = kodec.read_records(data, control=True)
    assert isinstance(found, ControlRecord) and found.data == EndTxnMarker(version=9, coordinator_epoch=7)


@pytest.mark.parametrize(("kind", "value"), VALUES[2:], ids=IDS[2:])
def test_a_kraft_value_newer_than_its_schema_is_not_read(kind: ControlRecordType, value: Any) -> None:
    newer = struct.pack(">h", 9) + value.to_bytes()[2:]
    (found,) = kodec.read_records(batch([record(0, key_of(kind), newer)], attributes=0x20), control=True)
    assert isinstance(found, ControlRecord)
    assert (found.type, found.data, found.value) == (kind, None, newer)


@pytest.mark.parametrize("control", [True, False])
def test_an_empty_control_batch(control: bool) -> None:
    data = batch([], attributes=0x30, producer=(55, 2, -1), base=8)
    assert list(kodec.read_records(data, control=control)) == []
    (stored,) = kodec.read_batches(data)
    assert stored.is_control and stored.control_type is None and stored.next_offset == 9


def test_content_of_a_hidden_control_batch_is_not_looked_at() -> None:
    data = batch(b"\xff" * 9, count=3, attributes=0x20)
    assert list(kodec.read_records(data)) == []
    (stored,) = kodec.read_batches(data)
    with pytest.raises(FormatError):
        stored.records(control=True)
    with pytest.raises(FormatError):
        _ = stored.control_type
