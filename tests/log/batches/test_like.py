"""`encode(..., like=batch)`: what did not change has the same bytes, and what cannot be kept is named."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kodec
from kodec.errors import CrcMismatch, EncodeError
from tests.data import DATA
from tests.log import wire

LOGS = sorted(DATA.rglob("*.log"))
FACTS = (
    *(
        "magic",
        "codec",
        "base_offset",
        "last_offset",
        "count",
        "base_timestamp",
        "max_timestamp",
        "attributes",
    ),
    *(
        "partition_leader_epoch",
        "producer_id",
        "producer_epoch",
        "base_sequence",
        "delete_horizon",
        "reserved",
    ),
)
ALL_FLAGS = 0xFFC0 | 0x10  # reserved bits, a delete horizon, a transaction
APPENDED = 0x08
APPEND = kodec.TimestampType.LOG_APPEND_TIME


def only(data: bytes) -> kodec.Batch:
    (batch,) = kodec.read_batches(data)
    return batch


def records_of(batch: kodec.Batch) -> list[kodec.Record]:
    return batch.records(control=True)


def facts(batch: kodec.Batch, *but: str) -> dict[str, Any]:
    return {name: getattr(batch, name) for name in FACTS if name not in but}


def edited(batch: kodec.Batch, number: int, **changes: Any) -> list[kodec.Record]:
    records = records_of(batch)
    records[number] = replace(records[number], **changes)
    return records


def test_every_real_batch_comes_back_as_it_was_and_changed_as_it_was_but_for_that() -> None:
    count = 0
    for path in LOGS:
        for batch in kodec.read_batches(path):
            count += 1
            records = records_of(batch)
            assert kodec.encode(records, like=batch) == batch.data, (path, batch)
            if not records or batch.is_control:
                continue
            records = edited(batch, -1, value=b"changed", key=None)
            made = only(kodec.encode(records, like=batch))
            assert records_of(made) == records and facts(made) == facts(batch), (path, batch)
            again = kodec.encode(records_of(batch), like=made)
            assert batch.codec != "none" or again == batch.data
    assert count > 2000


@pytest.mark.parametrize("codec", wire.CODES)
def test_what_a_header_says_and_the_bytes_of_other_records_stay(codec: str) -> None:
    rows = [
        wire.record(0, b"a", b"1", time=-5, attributes=7),
        wire.record(2, b"b", b"2", [(b"\xff", None)], time=70, attributes=9),
        wire.record(5, None, None, time=3),
    ]
    data = wire.batch(
        wire.squeeze(codec, b"".join(rows)),
        base=100,
        count=3,
        attributes=ALL_FLAGS | wire.CODES[codec],
        last_delta=9,
        base_time=5000,
        max_time=5070,
        producer=(7, 3, 11),
        epoch=4,
    )
    batch = only(data)
    changed = edited(batch, 1, value=b"another", headers=(("h", b"x"),))
    made = only(kodec.encode(changed, like=batch))
    assert (records_of(made), facts(made)) == (changed, facts(batch))
    rows[1] = wire.record(2, b"b", b"another", [(b"h", b"x")], time=70, attributes=9)
    assert (
        made._compressed().small() == b"".join(rows) if codec != "none" else made.data[61:] == b"".join(rows)
    )
    # a removed record leaves its place; the batch without any keeps its offsets and its producer
    rest = only(kodec.encode(changed[:2], like=batch))
    assert facts(rest) == facts(batch) | {"count": 2} and records_of(rest) == changed[:2]
    empty = only(kodec.encode([], like=batch))
    kept = (
        "base_offset",
        "last_offset",
        "producer_id",
        "base_sequence",
        "partition_leader_epoch",
        "reserved",
    )
    assert empty.count == 0 and all(getattr(empty, name) == getattr(batch, name) for name in kept)
    # a free offset takes a further record
    more = [changed[0], kodec.Record(value=b"new", timestamp=5001), *changed[1:]]
    assert [each.offset for each in records_of(only(kodec.encode(more, like=batch)))] == [100, 101, 102, 105]


def test_the_largest_timestamp_follows_the_records_and_the_base_stays() -> None:
    batch = only(wire.batch([wire.record(time=1), wire.record(1, time=2)], base_time=9, max_time=11))
    made = only(kodec.encode(edited(batch, 0, timestamp=50), like=batch))
    assert (made.base_timestamp, made.max_timestamp) == (9, 50)
    assert [each.timestamp for each in records_of(made)] == [50, 11]
    # one that no record has, as the producer wrote it, stays while the records' do
    odd = only(wire.batch([wire.record(time=1)], base_time=9, max_time=99))
    assert only(kodec.encode(edited(odd, 0, value=b"x"), like=odd)).max_timestamp == 99


def test_log_append_time_keeps_what_the_producer_wrote_below_it() -> None:
    rows = [wire.record(0, time=1), wire.record(1, time=2)]
    batch = only(wire.batch(rows, attributes=APPENDED, base_time=9, max_time=700))
    made = kodec.encode(edited(batch, 1, value=b"xx"), like=batch)
    assert made == wire.batch(
        [rows[0], wire.record(1, None, b"xx", time=2)], attributes=APPENDED, base_time=9, max_time=700
    )
    later = [replace(each, timestamp=800) for each in records_of(batch)]
    assert kodec.encode(later, like=batch) == wire.batch(rows, attributes=APPENDED, base_time=9, max_time=800)
    with pytest.raises(EncodeError, match=r"records\[0\]\.timestamp: LogAppendTime is one for all"):
        kodec.encode(edited(batch, 1, timestamp=800), like=batch)


def test_base_offset_renumbers_as_a_produce_request_needs_it() -> None:
    batch = only(wire.batch([wire.record(n, b"k", b"%d" % n) for n in range(4)]))
    records = records_of(batch)
    assert kodec.encode(records, like=batch, base_offset=0) == batch.data
    assert kodec.encode(records[1:3], like=batch, base_offset=0) == wire.batch(
        [wire.record(n, b"k", b"%d" % (n + 1)) for n in range(2)]
    )
    assert kodec.encode([], like=batch, base_offset=0) == b""
    moved = only(kodec.encode(records, like=batch, base_offset=2**40))
    assert (moved.base_offset, moved.last_offset) == (2**40, 2**40 + 3)
    idempotent = only(wire.batch([wire.record(n) for n in range(4)], producer=(1, 0, 0)))
    with pytest.raises(EncodeError, match=r"out of sequence \(need 4 records, have 3"):
        kodec.encode(records_of(idempotent)[1:], like=idempotent, base_offset=0)
    with pytest.raises(EncodeError, match="base_offset: not an offset"):
        kodec.encode(records, like=batch, base_offset=-1)


@pytest.mark.parametrize("codec", wire.CODECS[1])
@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_older_magics(magic: int, codec: str) -> None:
    if codec == "none":
        data = wire.message(7, b"k", b"v", magic=magic, attributes=0xF0)
    else:
        inner = [wire.message(n if magic else 5 + n, b"k%d" % n, magic=magic, time=n) for n in range(3)]
        data = wire.wrapper(7, b"".join(inner), codec, magic=magic, attributes=0xF0, time=900)
    batch = only(data)
    assert batch.attributes & 0xF0 == 0xF0
    assert kodec.encode(records_of(batch), like=batch) == data
    changed = edited(batch, -1, value=b"longer than it was", key=None)
    made = only(kodec.encode(changed, like=batch))
    assert (records_of(made), facts(made)) == (changed, facts(batch))
    with pytest.raises(EncodeError, match="at least one record"):
        kodec.encode([], like=batch)
    with pytest.raises(EncodeError, match=r"headers: magic \d has no headers"):
        kodec.encode(edited(batch, 0, headers=(("h", b""),)), like=batch)
    if magic == 0:
        with pytest.raises(EncodeError, match=r"records\[0\]\.timestamp: magic 0 has no timestamps"):
            kodec.encode(edited(batch, 0, timestamp=5), like=batch)
    if codec == "none":
        with pytest.raises(EncodeError, match=r"has one record \(need 1, have 2"):
            kodec.encode(records_of(batch) * 2, like=batch, base_offset=0)
        return
    shorter = only(kodec.encode(changed[:2], like=batch))
    assert shorter.last_offset == 6 and records_of(shorter) == changed[:2]
    renumbered = only(kodec.encode(changed[1:], like=batch, base_offset=40))
    assert [each.offset for each in records_of(renumbered)] == [40, 41]


def test_a_wrapper_without_an_offset_of_its_own() -> None:
    """As some producers write it: offset 0, and those inside count from 0."""
    inner = b"".join(wire.message(n, b"k", magic=1) for n in range(3))
    batch = only(wire.wrapper(0, inner))
    changed = edited(batch, 1, value=b"new")
    made = only(kodec.encode(changed, like=batch))
    assert made.last_offset == 0 and records_of(made) == changed


def test_a_control_batch_changes_by_its_bytes() -> None:
    value = struct.pack(">hi", 0, 8)
    rows = [wire.record(0, struct.pack(">hh", 0, 1), value)]
    batch = only(wire.batch(rows, attributes=0x30, producer=(1, 0, -1)))
    (marker,) = records_of(batch)
    assert isinstance(marker, kodec.ControlRecord)
    with pytest.raises(EncodeError, match=r"records\[0\]\.data: changed, but it is read from"):
        kodec.encode([replace(marker, data=None)], like=batch)
    with pytest.raises(EncodeError, match=r"records\[0\]: not a control record"):
        kodec.encode([replace(marker, key=b"")], like=batch)
    plain = kodec.Record(offset=0, timestamp=marker.timestamp, key=marker.key, value=struct.pack(">hi", 0, 9))
    (made,) = records_of(only(kodec.encode([plain], like=batch)))
    assert isinstance(made, kodec.ControlRecord) and made.data.coordinator_epoch == 9  # type: ignore[attr-defined]


def plain_batch() -> kodec.Batch:
    return only(wire.batch([wire.record(n) for n in range(3)], base=10))


@pytest.mark.parametrize(
    ("number", "changes", "message"),
    [
        (0, {"offset": 9}, r"records\[0\]\.offset: outside the batch, or not ascending \(need 10 to 12"),
        (2, {"offset": 13}, r"records\[2\]\.offset: outside the batch"),
        (1, {"offset": 10}, r"records\[1\]\.offset: outside the batch, or not ascending \(need 11 to 12"),
        (1, {"timestamp_type": APPEND}, "timestamp_type: that of the batch stays"),
        (1, {"timestamp": -2}, "negative timestamp"),
        (1, {"timestamp": 2**63 - 1}, None),
        (1, {"value": "text"}, "not bytes"),
        (1, {"headers": (("\ud800", b""),)}, r"records\[1\]\.headers\[0\]\.key"),
    ],
)  # fmt: skip
def test_what_cannot_be_kept(number: int, changes: dict[str, Any], message: str | None) -> None:
    batch = plain_batch()
    records = edited(batch, number, **changes)
    if message is None:
        assert records_of(only(kodec.encode(records, like=batch))) == records
        return
    with pytest.raises(EncodeError, match=message):
        kodec.encode(records, like=batch)


def test_wrong_arguments_are_named() -> None:
    batch = plain_batch()
    records = records_of(batch)
    with pytest.raises(EncodeError, match=r"records\[3\]\.offset: no room in the batch"):
        kodec.encode([*records, kodec.Record(value=b"")], like=batch)
    with pytest.raises(EncodeError, match=r"records\[0\]: a control record in a batch of data"):
        kodec.encode([kodec.ControlRecord(offset=10, timestamp=1)], like=batch)
    for options in ({"compression": "none"}, {"magic": 2, "base_offset": 0}, {"control": False}):
        with pytest.raises(EncodeError, match=r"comes from `like` \(need no other option than base_offset"):
            kodec.encode(records, like=batch, **options)
    with pytest.raises(EncodeError, match="like: not a batch"):
        kodec.encode(records, like=batch.data)  # type: ignore[arg-type]
    with pytest.raises(EncodeError, match="records: not records"):
        kodec.encode(b"", like=batch)  # type: ignore[arg-type]
    damaged = only_unchecked(batch.data[:17] + b"\0" + batch.data[18:])
    with pytest.raises(CrcMismatch):
        kodec.encode(damaged.records(), like=damaged)


def only_unchecked(data: bytes) -> kodec.Batch:
    (batch,) = kodec.read_batches(data, check_crc=False)
    return batch


@given(st.lists(st.tuples(st.integers(0, 9), st.binary(max_size=9)), max_size=12), st.booleans())
def test_any_choice_of_records_is_kept_or_refused(
    chosen: Sequence[tuple[int, bytes]], renumber: bool
) -> None:
    batch = only(wire.batch([wire.record(n, value=b"v%d" % n) for n in range(8)], base=0, last_delta=9))
    records = [kodec.Record(offset=offset, timestamp=1000, value=value) for offset, value in chosen]
    try:
        data = kodec.encode(records, like=batch, base_offset=3 if renumber else None)
    except EncodeError:
        assert not renumber and [each[0] for each in chosen] != sorted({each[0] for each in chosen})
        return
    found = records_of(only(data)) if data else []
    assert [each.value for each in found] == [each.value for each in records]
    assert renumber or [each.offset for each in found] == [each.offset for each in records]
