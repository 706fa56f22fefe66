"""What `encode` writes is read back the same, by us and by others; what cannot be written is named."""

from __future__ import annotations

import array
import copy
import pickle
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka.record.memory_records import MemoryRecords as AiokafkaRecords
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kafka.record.memory_records import MemoryRecords as KafkaPythonRecords

import kodec
from kodec.errors import EncodeError
from kodec.log.batches.records import Record, TimestampType, make_record
from tests.log.wire import PAIRS

if TYPE_CHECKING:
    from tests.log.conftest import Sample

CREATE, APPEND = TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME
LEVELS = {"gzip": (1, 9, -1), "lz4": (1, 9, 17), "zstd": (-7, 1, 19), "snappy": (), "none": ()}
CHOICES = [(magic, codec, level) for magic, codec in PAIRS for level in (None, *LEVELS[codec])]
MOST = 2**31 - 1


def shaped(record: Record, magic: int) -> Record:
    """What a format keeps of a record."""
    headers = record.headers if magic == 2 else ()
    kind = record.timestamp_type if magic else TimestampType.NO_TIMESTAMP_TYPE
    timestamp = record.timestamp if magic else -1
    return Record(
        offset=record.offset,
        timestamp=timestamp,
        timestamp_type=kind,
        key=record.key,
        value=record.value,
        headers=headers,
    )


def sizes_and_nulls() -> list[Record]:
    """Every length of key, value and header around which an encoding changes."""
    contents = [None, b"", b"x", b"a" * 63, b"b" * 64, b"c" * 8191, b"d" * 8192, bytes(range(256)) * 300]
    found = []
    for index, content in enumerate(contents):
        headers = (("h", content), ("", None), ("schlüssel", b""), ("h", b"again"))[: index % 5]
        found.append(
            Record(
                offset=index,
                timestamp=1_600_000_000_000 + (-1) ** index * 40 * index,
                timestamp_type=CREATE,
                key=content,
                value=b"v",
                headers=headers,
            )
        )
        found.append(
            Record(
                offset=index + 100,
                timestamp=1_600_000_000_000,
                timestamp_type=CREATE,
                key=b"k",
                value=content,
                headers=headers,
            )
        )
    return sorted(found, key=lambda record: record.offset)


def read_all(data: bytes) -> list[Record]:
    reader = kodec.read_records(data)
    found = list(reader)
    assert reader.torn_tail is None
    return found


READERS: dict[str, Callable[[bytes], Any]] = {"kafka-python": KafkaPythonRecords, "aiokafka": AiokafkaRecords}


def others_read(name: str, data: bytes) -> Iterator[Record]:
    reader = READERS[name](data)
    while reader.has_next():
        batch = reader.next_batch()
        assert batch.validate_crc()
        for record in batch:
            timestamp = -1 if record.timestamp is None else record.timestamp
            kind = record.timestamp_type
            if kind is None:
                kind = -1
            key, value = (None if part is None else bytes(part) for part in (record.key, record.value))
            yield Record(
                offset=record.offset,
                timestamp=timestamp,
                timestamp_type=TimestampType(kind),
                key=key,
                value=value,
                headers=tuple(record.headers),
            )


def assert_others_read(name: str, data: bytes, records: list[Record]) -> None:
    found = list(others_read(name, data))
    if name == "aiokafka":
        # it says nothing of the type if a message has no timestamp
        for record, ours in zip(found, records, strict=True):
            if ours.timestamp == -1:
                record.timestamp_type = ours.timestamp_type
    assert found == records


def test_a_record_takes_its_fields_by_name_alone() -> None:
    # by position a key would be an offset, and a value a timestamp
    with pytest.raises(TypeError):
        Record(b"k", b"v")
    with pytest.raises(TypeError):
        kodec.ControlRecord(5)
    made = make_record(1, 2, CREATE, b"k", b"v", (("h", None),))
    assert type(made) is Record
    assert made == Record(
        offset=1, timestamp=2, timestamp_type=CREATE, key=b"k", value=b"v", headers=(("h", None),)
    )


@pytest.mark.parametrize(("magic", "codec", "level"), CHOICES)
def test_read_back(magic: int, codec: str, level: int | None) -> None:
    records = [shaped(record, magic) for record in sizes_and_nulls()]
    data = kodec.encode(records, magic=magic, compression=codec, level=level)
    assert read_all(data) == records
    assert {(batch.magic, batch.codec) for batch in kodec.read_batches(data)} == {(magic, codec)}


# aiokafka does not read lz4 in magic 0
OTHERS = [
    (name, *choice) for name in READERS for choice in CHOICES if (name, *choice[:2]) != ("aiokafka", 0, "lz4")
]


@pytest.mark.parametrize(("name", "magic", "codec", "level"), OTHERS)
def test_other_software_reads_it_the_same(name: str, magic: int, codec: str, level: int | None) -> None:
    records = [shaped(record, magic) for record in sizes_and_nulls()]
    data = kodec.encode(records, magic=magic, compression=codec, level=level, batch_records=5)
    assert_others_read(name, data, records)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(("magic", "codec"), PAIRS)
def test_a_sample_written_again(sample: Sample, name: str, magic: int, codec: str) -> None:
    records = list(kodec.read_records(sample.path))
    data = kodec.encode(records, magic=magic, compression=codec, lossy=True)
    kept = [shaped(record, magic) for record in records]
    for record in kept:
        if magic and record.timestamp_type is TimestampType.NO_TIMESTAMP_TYPE:
            record.timestamp_type = CREATE
    assert read_all(data) == kept
    if (name, magic, codec) != ("aiokafka", 0, "lz4"):
        assert_others_read(name, data, kept)


# -- offsets --------------------------------------------------------------------------------------


def test_offsets_follow_when_not_given() -> None:
    data = kodec.encode([Record(value=b"a"), Record(offset=40, value=b"b"), Record(value=b"c")])
    assert [record.offset for record in read_all(data)] == [0, 40, 41]


def test_base_offset_numbers_anew() -> None:
    records = [Record(offset=7, value=b"a"), Record(offset=3, value=b"b")]
    assert [record.offset for record in read_all(kodec.encode(records, base_offset=90))] == [90, 91]
    assert [record.offset for record in records] == [7, 3]


@pytest.mark.parametrize(("magic", "codec"), PAIRS)
def test_gaps_and_large_offsets(magic: int, codec: str) -> None:
    offsets = [5, 6, 90, 2**31, 2**40, 2**40 + 1, 2**40 + 1 + MOST, 2**63 - 1]
    records = [
        shaped(Record(offset=offset, timestamp=5, timestamp_type=CREATE, value=b"v"), magic)
        for offset in offsets
    ]
    assert read_all(kodec.encode(records, magic=magic, compression=codec)) == records


def test_a_batch_is_cut_where_an_offset_does_not_fit() -> None:
    data = kodec.encode(
        [Record(offset=0), Record(offset=MOST), Record(offset=MOST + 1), Record(offset=2 * MOST + 2)]
    )
    spans = [(batch.base_offset, batch.last_offset) for batch in kodec.read_batches(data)]
    assert spans == [(0, MOST), (MOST + 1, MOST + 1), (2 * MOST + 2, 2 * MOST + 2)]


# -- batches --------------------------------------------------------------------------------------


def test_a_batch_is_cut_by_records() -> None:
    data = kodec.encode([Record(value=b"v")] * 7, batch_records=3)
    assert [batch.count for batch in kodec.read_batches(data)] == [3, 3, 1]


@pytest.mark.parametrize(("magic", "codec"), PAIRS)
def test_a_batch_is_cut_by_bytes(magic: int, codec: str) -> None:
    records = [shaped(Record(offset=index, value=b"v" * 1000), magic) for index in range(50)]
    records[20] = shaped(Record(offset=20, value=b"w" * 9000), magic)
    data = kodec.encode(records, magic=magic, compression=codec, batch_bytes=5000)
    batches = list(kodec.read_batches(data))
    assert read_all(data) == records
    if (magic, codec) == (2, "none"):
        assert max(batch.size for batch in batches if batch.count > 1) <= 5000 + 61
    counts = [batch.count for batch in batches]
    assert len(counts) >= 12
    assert codec == "none" or counts.count(1) == 2


def test_the_default_keeps_below_what_a_broker_takes() -> None:
    data = kodec.encode([Record(value=b"v" * 999, headers=(("h", b"x" * 50),)) for _ in range(5000)])
    sizes = [batch.size for batch in kodec.read_batches(data)]
    assert 5 <= len(sizes) <= 7
    assert max(sizes) <= 1_048_588


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize("magic", [1, 2])
def test_a_batch_is_cut_where_the_timestamp_type_changes(magic: int, codec: str) -> None:
    kinds = [(5, CREATE), (6, CREATE), (7, APPEND), (7, APPEND), (8, APPEND), (9, CREATE)]
    records = [
        Record(offset=index, timestamp=time, timestamp_type=kind, value=b"v")
        for index, (time, kind) in enumerate(kinds)
    ]
    data = kodec.encode(records, magic=magic, compression=codec)
    assert read_all(data) == records
    if magic == 2 or codec == "gzip":
        found = [
            (batch.count, batch.timestamp_type, batch.max_timestamp) for batch in kodec.read_batches(data)
        ]
        assert found == [(2, CREATE, 6), (2, APPEND, 7), (1, APPEND, 8), (1, CREATE, 9)]
    for name in READERS:
        assert_others_read(name, data, records)


def test_timestamp_type_for_all() -> None:
    data = kodec.encode([Record(offset=0, timestamp=7), Record(offset=1, timestamp=7)], timestamp_type=APPEND)
    assert [(r.timestamp, r.timestamp_type) for r in read_all(data)] == [(7, APPEND)] * 2
    assert len(list(kodec.read_batches(data))) == 1


def test_timestamps_in_any_order_and_none() -> None:
    times = [-1, 5, -1, 0, 2**40, 3]
    records = [
        Record(offset=index, timestamp=time, timestamp_type=CREATE) for index, time in enumerate(times)
    ]
    for magic in (1, 2):
        for codec in ("none", "gzip"):
            assert read_all(kodec.encode(records, magic=magic, compression=codec)) == records
    (batch,) = kodec.read_batches(kodec.encode(records))
    assert (batch.base_timestamp, batch.max_timestamp) == (-1, 2**40)


def test_producer_fields() -> None:
    data = kodec.encode(
        [Record(), Record()], partition_leader_epoch=9, producer_id=2**40, producer_epoch=3, base_sequence=17,
        transactional=True, compression="zstd",
    )  # fmt: skip
    (batch,) = kodec.read_batches(data)
    assert (batch.partition_leader_epoch, batch.producer_id, batch.producer_epoch) == (9, 2**40, 3)
    assert (batch.base_sequence, batch.last_sequence) == (17, 18)
    assert batch.is_transactional and not batch.is_control


def test_sequences_go_on_from_batch_to_batch_and_wrap() -> None:
    data = kodec.encode(
        [Record(value=b"v")] * 9, producer_id=1, producer_epoch=0, base_sequence=MOST - 3, batch_records=3
    )
    found = [(batch.base_sequence, batch.last_sequence) for batch in kodec.read_batches(data)]
    assert found == [(MOST - 3, MOST - 1), (MOST, 1), (2, 4)]


def test_no_records_no_bytes() -> None:
    for magic, codec in PAIRS:
        assert kodec.encode([], magic=magic, compression=codec) == b""


def test_records_may_come_from_a_generator_and_are_not_changed() -> None:
    records = [
        Record(offset=-1, timestamp=5, timestamp_type=CREATE, key=b"k", value=b"v", headers=(("h", None),))
        for _ in range(3)
    ]
    before = copy.deepcopy(records)
    data = kodec.encode(iter(records), base_offset=4, timestamp_type=APPEND)
    assert records == before
    assert len(read_all(data)) == 3


def test_lossy_drops_what_the_format_has_not() -> None:
    record = Record(
        offset=3, timestamp=99, timestamp_type=CREATE, key=b"k", value=b"v", headers=(("h", b"x"),)
    )
    for magic in (0, 1):
        data = kodec.encode([record], magic=magic, lossy=True)
        assert read_all(data) == [shaped(record, magic)]


# -- what cannot be written -----------------------------------------------------------------------

BAD: list[tuple[str, list[Record], dict[str, Any], str]] = [
    ("magic", [Record()], {"magic": 3}, "magic"),
    ("codec", [Record()], {"compression": "brotli"}, "compression"),
    ("zstd in magic 1", [Record()], {"magic": 1, "compression": "zstd"}, "compression"),
    ("zstd in magic 0", [Record()], {"magic": 0, "compression": "zstd"}, "compression"),
    ("level too high", [Record()], {"compression": "gzip", "level": 10}, "level"),
    ("level for none", [Record()], {"level": 1}, "level"),
    ("level for none in magic 1", [Record()], {"magic": 1, "level": 1}, "level"),
    ("level for snappy", [Record()], {"compression": "snappy", "level": 1}, "level"),
    ("offset below the one before", [Record(offset=4), Record(offset=3)], {}, "records[1].offset"),
    ("offset twice", [Record(offset=4), Record(offset=4)], {}, "records[1].offset"),
    ("offset below -1", [Record(offset=4), Record(offset=-2)], {}, "records[1].offset"),
    ("base offset below 0", [Record()], {"base_offset": -1}, "records[0].offset"),
    ("timestamp below -1", [Record(), Record(timestamp=-2)], {}, "records[1].timestamp"),
    ("headers in magic 1", [Record(), Record(headers=(("h", b""),))], {"magic": 1}, "records[1].headers"),
    ("headers in magic 0", [Record(headers=(("h", b""),))], {"magic": 0}, "records[0].headers"),
    ("timestamp in magic 0", [Record(), Record(timestamp=0)], {"magic": 0}, "records[1].timestamp"),
    ("producer in magic 1", [Record()], {"magic": 1, "producer_id": 5}, "producer_id"),
    ("epoch in magic 0", [Record()], {"magic": 0, "partition_leader_epoch": 5}, "partition_leader_epoch"),
    ("transactional in magic 1", [Record()], {"magic": 1, "transactional": True}, "transactional"),
    ("control in magic 1", [Record()], {"magic": 1, "control": True}, "control"),
    ("transactional without producer", [Record()], {"transactional": True}, "producer_id"),
    ("sequence without producer", [Record()], {"base_sequence": 0}, "producer_id"),
    ("producer without epoch", [Record()], {"producer_id": 1}, "producer_epoch"),
    ("producer without sequence", [Record()], {"producer_id": 1, "producer_epoch": 0}, "base_sequence"),
    ("leader epoch beyond int32", [Record()], {"partition_leader_epoch": 2**31}, "partition_leader_epoch"),
    ("offset beyond int64", [Record(offset=2**63)], {}, "records[0].offset"),
    ("timestamp beyond int64", [Record(timestamp=2**63)], {}, "records[0].timestamp"),
    (
        "header key no UTF-8",
        [Record(), Record(headers=(("a", None), ("\ud800", None)))],
        {},
        "records[1].headers[1].key",
    ),
    ("timestamp too far from the first", [Record(), Record(timestamp=2**63 - 1)], {}, "records[1]"),
]


@pytest.mark.parametrize(("records", "options", "path"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_what_cannot_be_written(records: list[Record], options: dict[str, Any], path: str) -> None:
    with pytest.raises(EncodeError) as caught:
        kodec.encode(records, **options)
    assert caught.value.path == path
    assert str(caught.value).startswith(path)
    assert isinstance(caught.value, ValueError)
    travelled = pickle.loads(pickle.dumps(caught.value))
    assert (str(travelled), travelled.__dict__) == (str(caught.value), caught.value.__dict__)


def test_the_record_is_counted_over_all_batches() -> None:
    records = [Record() for _ in range(5)] + [Record(timestamp=2**63 - 1)]
    with pytest.raises(EncodeError) as caught:
        kodec.encode(records, batch_records=2)
    assert caught.value.path == "records[5]"
    with pytest.raises(EncodeError) as caught:
        kodec.encode(
            [*[Record()] * 5, Record(headers=(("h", b""),))], magic=1, compression="gzip", batch_records=2
        )
    assert caught.value.path == "records[5].headers"


# -- any records ----------------------------------------------------------------------------------

contents = st.none() | st.binary(max_size=80)
times = st.just(-1) | st.integers(0, 2**62)
# any bytes may be a header's key: those that are not UTF-8 travel as surrogate escapes
names = st.binary(max_size=12).map(lambda name: name.decode("utf-8", "surrogateescape"))
headers = st.lists(st.tuples(names, contents), max_size=4).map(tuple)
one = st.tuples(st.integers(1, 5) | st.integers(1, 2**33), times, contents, contents, headers, st.booleans())


@pytest.mark.parametrize(("magic", "codec"), PAIRS)
@settings(max_examples=60)
@given(st.lists(one, max_size=12), st.integers(1, 6))
@example([], 1)
@example([(1, -1, None, None, (("", None), ("", b""), ("\udcff\udc80", b"\xff")), True)], 1)
def test_any_records(magic: int, codec: str, drawn: list[Any], batch_records: int) -> None:
    offset = -1
    records = []
    for gap, time, key, value, heads, appended in drawn:
        offset += gap
        kind = APPEND if appended else CREATE
        records.append(
            shaped(
                Record(
                    offset=offset, timestamp=time, timestamp_type=kind, key=key, value=value, headers=heads
                ),
                magic,
            )
        )
    data = kodec.encode(records, magic=magic, compression=codec, batch_records=batch_records)
    assert read_all(data) == records
    assert kodec.encode(read_all(data), magic=magic, compression=codec, batch_records=batch_records) == data


# -- header keys ----------------------------------------------------------------------------------


def test_header_keys_of_any_kind() -> None:
    odd = (
        ("", b"1"),
        ("a", None),
        ("a", b""),
        ("a", b"2"),
        ("\udcff\udcfe", b"3"),
        ("é😀", b"4"),
        ("x" * 70, None),
    )
    (record,) = read_all(kodec.encode([Record(offset=0, headers=odd)]))
    assert record.headers == odd
    many = tuple((f"h{index}", b"v") for index in range(5000))
    (record,) = read_all(kodec.encode([Record(offset=0, headers=many)], compression="gzip"))
    assert record.headers == many


class _Other:
    """Not a record."""


NO_RECORDS: list[tuple[str, Any]] = [
    ("value", {"value": array.array("d", [1.5])}),
    ("value", {"value": "text"}),
    ("value", {"value": memoryview(array.array("H", [1, 2]))}),
    ("key", {"key": 5}),
    ("offset", {"offset": 2**63}),
    ("offset", {"offset": "1"}),
    ("timestamp", {"timestamp": 1.5}),
    ("timestamp_type", {"timestamp_type": 7}),
    ("timestamp_type", {"timestamp_type": "CreateTime"}),
    ("headers", {"headers": ((b"a", b"x"),)}),
    ("headers", {"headers": (("a", 5),)}),
    ("headers", {"headers": 5}),
    ("headers", {"headers": (("a",),)}),
]


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize(
    ("name", "fields"), NO_RECORDS, ids=lambda each: str(each)[:40].partition(" at 0x")[0]
)
def test_what_is_no_record_is_named_with_its_number(magic: int, name: str, fields: dict[str, Any]) -> None:
    with pytest.raises(kodec.errors.EncodeError) as caught:
        kodec.encode([kodec.Record(), kodec.Record(**fields)], magic=magic, lossy=True)
    assert caught.value.path == f"records[1].{name}"
    with pytest.raises(kodec.errors.EncodeError, match=r"records\[1\]: not a record"):
        kodec.encode([kodec.Record(), _Other()], magic=magic, lossy=True)  # type: ignore[list-item]


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_what_is_as_good_as_bytes_is_taken(magic: int, codec: str) -> None:
    given: Any = [bytearray(b"ab"), memoryview(b"cd"), b"ef"]
    data = kodec.encode([kodec.Record(value=each) for each in given], magic=magic, compression=codec)
    assert [record.value for record in kodec.read_records(data)] == [b"ab", b"cd", b"ef"]


def test_the_last_offset_that_there_is() -> None:
    data = kodec.encode([kodec.Record()], base_offset=2**63 - 1)
    assert [record.offset for record in kodec.read_records(data)] == [2**63 - 1]
    with pytest.raises(kodec.errors.EncodeError, match=r"records\[1\]\.offset: too large"):
        kodec.encode([kodec.Record()] * 2, base_offset=2**63 - 1)
