"""A table holds the rows that `read_records` gives, whatever the backend, the columns and the damage."""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kodec
from kodec.errors import CrcMismatch, LimitExceeded, Malformed
from kodec.log.tables.table import row_schema
from tests.log.tables.compared import LOGS, NAMES, ROOT, by_records, by_table, row_of, rows_of
from tests.log.wire import CODES, PAIRS, batch, log_of, message, record, squeeze, wrapper

if TYPE_CHECKING:
    from tests.log.conftest import Sample

pytestmark = pytest.mark.usefixtures("backend")

SMALL = b"".join(
    log_of(magic, codec, [b"%d.%d" % (at, i) * (i + 1) for i in range(3)], base=10 * at)
    for at, (magic, codec) in enumerate(PAIRS)
)
MOST = 2**63 - 1


def label(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# -- whole logs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", LOGS, ids=label)
def test_rows_are_those_of_read_records(path: Path) -> None:
    for options in ({}, {"control": True}, {"on_error": "skip"}, {"check_crc": False}):
        expected = by_records(path, **options)
        if not all(-MOST - 1 <= number <= MOST for row in expected["rows"] for number in row[:2]):
            continue  # what does not fit has tests of its own
        assert by_table(path, **options) == expected


def test_there_are_logs_of_all_kinds() -> None:
    assert len(LOGS) > 200
    batches = [one for path in LOGS for one in kodec.read_batches(path, on_error="skip")]
    assert {(one.magic, one.codec) for one in batches} >= set(PAIRS)


def test_all_samples_in_one_log(samples: list[Sample]) -> None:
    whole = b"".join(sample.data for sample in samples)
    expected = [row_of(one) for one in kodec.read_records(whole)]
    assert len(expected) == 893
    sources: list[Any] = [whole, bytearray(whole), memoryview(whole), io.BytesIO(whole), Stream(whole)]
    for source in sources:
        table = kodec.read_table(source)
        table.validate(full=True)
        assert rows_of(table) == expected
        assert table.schema.equals(row_schema(), check_metadata=True)


class Stream(io.BytesIO):
    """A file that says that it cannot seek."""

    def seekable(self) -> bool:
        return False


def test_the_schema_is_this() -> None:
    assert [str(field) for field in row_schema()] == [
        "pyarrow.Field<offset: int64 not null>",
        "pyarrow.Field<timestamp: timestamp[ms, tz=UTC] not null>",
        "pyarrow.Field<timestamp_type: int32 not null>",
        "pyarrow.Field<key: binary>",
        "pyarrow.Field<value: binary>",
        "pyarrow.Field<headers: list<item: struct<key: string not null, value: binary> not null> not null>",
    ]


def test_nothing_is_an_empty_table() -> None:
    for columns in (None, ["value"], []):
        table = kodec.read_table(b"", columns)
        assert table.num_rows == 0
        assert table.schema.names == (NAMES if columns is None else columns)
    assert list(kodec.scan_table(batch([]))) == []


def test_null_and_empty_differ() -> None:
    headers = [(b"", None), (b"h", b""), (b"h", b"x")]
    table = kodec.read_table(batch([record(0, None, None), record(1, b"", b"", headers)]))
    assert rows_of(table) == [
        (0, 1000, 0, None, None, []),
        (1, 1000, 0, b"", b"", [("", None), ("h", b""), ("h", b"x")]),
    ]
    assert table["headers"].null_count == 0


def test_a_header_key_that_is_not_utf8_is_what_kafka_makes_of_it() -> None:
    keys = [b"a\xff", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\xf0\x9f\x98", b"\xc0\xafz"]
    data = batch([record(0, headers=[(key, b"1") for key in keys]), record(1, headers=[(b"fine", None)])])
    (first, second) = rows_of(kodec.read_table(data))
    assert [key for key, _ in first[5]] == [key.decode("utf-8", "replace") for key in keys]
    assert second[5] == [("fine", None)]


def test_timestamps_are_those_of_their_type() -> None:
    appended = batch([record(time=3), record(1, time=4)], attributes=8, base_time=500, max_time=900)
    old = message(7, magic=0) + message(8, magic=1, attributes=8, time=70)
    inner = message(0, time=5) + message(1, time=6)
    table = kodec.read_table(appended + old + wrapper(41, inner, attributes=8, time=90) + wrapper(51, inner))
    assert [row[:3] for row in rows_of(table)] == [
        (0, 900, 1),
        (1, 900, 1),
        (7, -1, -1),
        (8, 70, 1),
        (40, 90, 1),
        (41, 90, 1),
        (50, 5, 0),
        (51, 6, 0),
    ]


# -- columns --------------------------------------------------------------------------------------

SUBSETS = [
    *([name] for name in NAMES),
    *(list(pair) for pair in itertools.permutations(NAMES, 2)),
    NAMES[::-1],
    [],
]


def test_any_columns_in_any_order(samples: list[Sample]) -> None:
    whole = b"".join(sample.data for sample in samples)
    rows = rows_of(kodec.read_table(whole))
    for columns in SUBSETS:
        table = kodec.read_table(whole, iter(columns))
        assert table.schema.names == columns
        assert table.schema.equals(pa.schema([row_schema().field(name) for name in columns]))
        picked = [NAMES.index(name) for name in columns]
        assert rows_of(table) == [tuple(row[at] for at in picked) for row in rows]


@pytest.mark.parametrize("columns", [["offset", "ofset"], ["timestampType"], "value", ["key", "key"]])
def test_columns_that_are_not_there_are_named(columns: Any) -> None:
    if columns == "value":
        assert kodec.read_table(SMALL, columns).schema.names == ["value"]
        return
    with pytest.raises(ValueError, match=r"ofset.*offset, timestamp|timestampType|twice: key, key"):
        kodec.scan_table(SMALL, columns)


# -- ranges ---------------------------------------------------------------------------------------


def bounds(numbers: list[int]) -> list[Any]:
    """Ranges that cut at, before and after some of these numbers, and some that are odd."""
    some = sorted(set(numbers))
    some = [some[0] - 1, *some[:: max(1, len(some) // 4)], some[-1], some[-1] + 1]
    odd = [None, (None, None), (some[1], None), (None, some[1]), (5, 4), (-(2**70), 2**70), (2**64, None)]
    return [*itertools.combinations_with_replacement(some, 2), *odd]


def within(number: int, limits: Any) -> bool:
    first, last = limits or (None, None)
    return (first is None or number >= first) and (last is None or number <= last)


def test_ranges_are_as_filtering_afterwards(sample: Sample) -> None:
    rows = rows_of(kodec.read_table(sample.path))
    for limits in bounds([row[0] for row in rows]):
        found = rows_of(kodec.read_table(sample.path, offsets=limits))
        assert found == [row for row in rows if within(row[0], limits)]
    for limits in bounds([row[1] for row in rows]):
        found = rows_of(kodec.read_table(sample.path, timestamps=limits))
        # no range of time has a record without one, unless it begins below 0
        first, last = limits or (None, None)
        first = 0 if first is None and last is not None else first
        assert found == [row for row in rows if within(row[1], (first, last))]
    middle = rows[len(rows) // 2]
    offsets, timestamps = (None, middle[0]), (middle[1], None)
    found = rows_of(kodec.read_table(sample.path, ["value"], offsets=offsets, timestamps=timestamps))
    wanted = [row for row in rows if within(row[0], offsets) and within(row[1], timestamps)]
    assert found == [(row[4],) for row in wanted]


def test_ranges_of_real_logs() -> None:
    for path in ROOT.glob("kafka-*/logs/*/*.log"):
        rows = rows_of(kodec.read_table(path, control=True))
        if rows:
            first, last = rows[len(rows) // 3], rows[-len(rows) // 3]
            # times need not ascend
            times = min(first[1], last[1]), max(first[1], last[1])
            for offsets, timestamps in (((first[0], last[0]), None), (None, times)):
                options = {"offsets": offsets, "timestamps": timestamps, "control": True}
                found = rows_of(kodec.read_table(path, **options))
                assert found == [
                    row for row in rows if within(row[0], offsets) and within(row[1], timestamps)
                ]


def test_what_a_header_rules_out_is_not_looked_at() -> None:
    junk = batch(b"\x1f\x8b\x08junk", count=5, attributes=1, base=100, max_time=2000, crc=1)
    data = batch([record()], base=7) + junk + batch([record()], base=200, max_time=3000)
    for options in ({"offsets": (None, 99)}, {"offsets": (105, None)}, {"timestamps": (2001, None)}):
        reader = kodec.scan_table(data, ["offset"], **options)
        assert sum(found.num_rows for found in reader) in (0, 1)
        assert reader.position == len(data) and reader.skipped == []
    for options in ({"offsets": (104, None)}, {"offsets": (None, 100)}, {"timestamps": (2000, None)}):
        with pytest.raises(CrcMismatch):
            kodec.read_table(data, **options)


def test_a_header_with_other_offsets_than_its_records() -> None:
    # a compacted batch keeps its first and last offset; one with a wrong last offset loses no rows
    data = batch([record(3), record(5)], base=10, last_delta=9) + batch(
        [record(), record(1)], base=50, last_delta=0
    )
    assert [row[0] for row in rows_of(kodec.read_table(data, offsets=(16, 49)))] == []
    assert [row[0] for row in rows_of(kodec.read_table(data, offsets=(15, 51)))] == [15, 50, 51]
    assert [row[0] for row in rows_of(kodec.read_table(data, offsets=(51, 51)))] == [51]


@pytest.mark.parametrize("name", ["offsets", "timestamps"])
@pytest.mark.parametrize("limits", [[5], (1,), (1, 2, 3), ("a", None), (1.5, None), "ab"])
def test_what_is_no_range(name: str, limits: Any) -> None:
    with pytest.raises(ValueError, match=rf"{name}=.*expected \(first, last\)"):
        kodec.scan_table(SMALL, **{name: limits})


# -- the size of batches --------------------------------------------------------------------------


def sizes(data: bytes, columns: list[str] | None = None, **options: Any) -> list[int]:
    return [found.num_rows for found in kodec.scan_table(data, columns, **options)]


def test_batches_end_where_kafkas_do() -> None:
    data = b"".join(batch([record(i) for i in range(10)], base=10 * at) for at in range(100))
    assert sizes(data) == [1000]
    assert sizes(data, batch_rows=1000, batch_bytes=2**40) == [1000]
    assert sizes(data, batch_rows=995) == [1000]
    assert sizes(data, batch_rows=35) == [40] * 25
    assert sizes(data, batch_rows=30) == [30] * 33 + [10]
    assert sizes(data, batch_bytes=100) == [100] * 10
    assert sizes(data, ["offset"], batch_bytes=100) == [1000]
    assert sizes(data, [], batch_rows=400) == [400, 400, 200]


@pytest.mark.parametrize("codec", CODES)
def test_a_batch_that_is_far_larger_is_cut(codec: str) -> None:
    rows = squeeze(codec, b"".join(record(i, b"k", b"v" * 99, [(b"h", b"x" * 9)]) for i in range(1000)))
    data = batch(rows, count=1000, attributes=CODES[codec])
    for options, rows_each in (
        ({"batch_rows": 64}, 64),
        ({"batch_bytes": 1260}, 10),
        ({"batch_rows": 500}, 500),
    ):
        found = sizes(data + data, **options)
        assert sum(found) == 2000 and max(found) <= 2 * rows_each and len(found) <= 2000 // rows_each + 2
        assert rows_of(kodec.scan_table(data, **options).read_all()) == rows_of(kodec.read_table(data))
    assert sizes(data, ["key"], batch_bytes=1100) == [1000]
    assert max(sizes(data, ["key", "headers"], batch_bytes=270)) <= 20
    assert sizes(data, ["offset"], batch_bytes=1) == [1000]
    assert max(sizes(data, [], batch_rows=100)) <= 200


@pytest.mark.parametrize("options", [{"batch_rows": 0}, {"batch_bytes": -1}])
def test_a_batch_holds_at_least_something(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        kodec.scan_table(SMALL, **options)


def test_a_reader_is_an_arrow_stream() -> None:
    expected = kodec.read_table(SMALL)
    taken = pa.RecordBatchReader.from_stream(kodec.scan_table(SMALL, batch_rows=1))
    assert taken.schema == expected.schema
    assert taken.read_all().equals(expected)
    with kodec.scan_table(SMALL, batch_rows=1) as reader:
        first = next(reader)
        rest = reader.read_all()
    assert rows_of(first) + rows_of(rest) == rows_of(expected)


def test_batches_outlive_the_reader_and_the_source() -> None:
    source = bytearray(SMALL)
    found = list(kodec.scan_table(source, batch_rows=1))
    source[:] = b"\xff" * len(source)
    assert [row for one in found for row in rows_of(one)] == rows_of(kodec.read_table(SMALL))


# -- damage ---------------------------------------------------------------------------------------


def assert_same(data: bytes, **options: Any) -> None:
    for on_error in ("raise", "skip"):
        assert by_table(data, on_error=on_error, **options) == by_records(data, on_error=on_error, **options)


def test_a_log_that_is_cut_at_any_byte() -> None:
    for end in range(len(SMALL)):
        assert by_table(SMALL[:end]) == by_records(SMALL[:end])


@pytest.mark.thorough
@pytest.mark.parametrize("check_crc", [True, False])
def test_a_flipped_bit_in_any_byte(check_crc: bool) -> None:
    for at in range(len(SMALL)):
        data = bytearray(SMALL)
        data[at] ^= 1 << at * 5 % 8
        assert_same(bytes(data), check_crc=check_crc)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_damage(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(SMALL)))
    new = data.draw(st.binary(max_size=80))
    gone = data.draw(st.integers(0, 80))
    hit = SMALL[:at] + new + SMALL[at + gone :]
    assert_same(hit, check_crc=data.draw(st.booleans()), control=data.draw(st.booleans()))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.integers(0, 6), st.sampled_from([0, 0x20, 8]))
def test_any_bytes_as_records(rows: bytes, count: int, attributes: int) -> None:
    assert_same(batch(rows, count=count, attributes=attributes), control=True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.sampled_from([0, 1]))
def test_any_bytes_in_a_wrapper(inner: bytes, magic: int) -> None:
    assert_same(wrapper(5, inner, magic=magic))


def test_damage_is_the_same_whatever_the_columns() -> None:
    data = batch([record(), record(1)]) + batch([record(), record(1)[:-1] + b"\2"], base=2)
    expected = by_records(data)
    for columns in SUBSETS:
        found = by_table(data, columns=columns)
        assert found["error"] == expected["error"]
        assert len(found["rows"]) == 2


def test_rows_before_the_damage_come_first() -> None:
    bad = batch([record()], base=9, crc=5)
    reader = kodec.scan_table(SMALL + bad)
    rows = []
    with pytest.raises(CrcMismatch, match=f"at byte {len(SMALL) + 17}"):
        for found in reader:
            rows += rows_of(found)
    assert rows == rows_of(kodec.read_table(SMALL))
    assert list(reader) == []
    with pytest.raises(CrcMismatch):
        kodec.read_table(SMALL + bad)


def test_rows_before_a_disk_that_fails_come_first() -> None:
    class Failing(Stream):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() >= len(SMALL):
                raise OSError("disk")
            return super().read(size)

    rows = []
    with pytest.raises(OSError, match="disk"):
        for found in kodec.scan_table(Failing(SMALL)):
            rows += rows_of(found)
    assert rows == rows_of(kodec.read_table(SMALL))


def test_an_error_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch([record()], crc=5))
    with pytest.raises(CrcMismatch, match=str(path)):
        kodec.read_table(path)
    with pytest.raises(FileNotFoundError):
        kodec.read_table(tmp_path / "none")
    with pytest.raises(TypeError, match="not int"):
        kodec.read_table(5)
    with pytest.raises(ValueError, match="on_error='ignore'"):
        kodec.scan_table(SMALL, on_error="ignore")


@pytest.mark.parametrize(
    "limits",
    [
        kodec.Limits(decompressed_bytes=50),
        kodec.Limits(elements=2),
        kodec.Limits(elements=4),
        kodec.Limits(batch_bytes=80),
    ],
    ids=str,
)
def test_limits(limits: kodec.Limits) -> None:
    assert_same(SMALL, limits=limits)
    assert by_table(SMALL, limits=limits, on_error="skip")["skipped"]


# -- numbers that do not fit ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "path", "have"),
    [
        (
            batch([record(), record(1)], base=MOST),
            "RecordBatch(base_offset={MOST}).records[1].offset",
            MOST + 1,
        ),
        (
            batch([record(time=7), record(1, time=8)], base_time=MOST - 7),
            "RecordBatch(base_offset=0).records[1].timestamp",
            MOST + 1,
        ),
        (
            batch([record(time=-2)], base_time=-MOST),
            "RecordBatch(base_offset=0).records[0].timestamp",
            -MOST - 2,
        ),
        (
            wrapper(MOST, message(MOST) + message(0)),
            "Message(offset={MOST}).records[0].offset",
            2 * MOST,
        ),
        (
            batch([record(-1, time=-1)], base=-MOST - 1, base_time=-MOST - 1),
            "RecordBatch(base_offset={-MOST - 1}).records[0].offset",
            -MOST - 2,
        ),
    ],
)
def test_a_number_that_does_not_fit_is_named(bad: bytes, path: str, have: int) -> None:
    path = path.replace("{MOST}", str(MOST)).replace("{-MOST - 1}", str(-MOST - 1))
    assert list(kodec.read_records(bad))
    for columns in (None, ["value"], ["offset", "timestamp"], []):
        reader = kodec.scan_table(SMALL + bad + SMALL, columns)
        with pytest.raises(Malformed) as caught:
            list(reader)
        error = caught.value
        assert (error.path, error.at, error.have) == (path, len(SMALL), have)
        assert error.reason == "does not fit 64 bits"
        reader = kodec.scan_table(SMALL + bad + SMALL, columns, on_error="skip")
        assert sum(found.num_rows for found in reader) == 2 * kodec.read_table(SMALL).num_rows
        assert [(one.start, one.end) for one in reader.skipped] == [(len(SMALL), len(SMALL) + len(bad))]


def test_the_largest_numbers_fit() -> None:
    data = batch([record(time=MOST), record(1, time=-MOST - 1)], base=MOST - 1, base_time=0, max_time=MOST)
    assert [row[:2] for row in rows_of(kodec.read_table(data))] == [(MOST - 1, MOST), (MOST, -MOST - 1)]
    assert rows_of(kodec.read_table(data, ["offset"], timestamps=(MOST, None))) == [(MOST - 1,)]


def test_limits_are_named() -> None:
    with pytest.raises(LimitExceeded) as caught:
        kodec.read_table(log_of(2, "gzip", [b"v" * 99]), limits=kodec.Limits(decompressed_bytes=9))
    assert caught.value.limit == "decompressed_bytes"
