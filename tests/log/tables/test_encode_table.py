"""`encode_table` writes the bytes that `encode` writes of the same records, from columns of many types."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kodec
from kodec import Record, TimestampType
from kodec.errors import EncodeError
from kodec.log.tables.table import row_schema
from tests.log.tables.compared import NAMES, row_of, rows_of, shown
from tests.log.wire import PAIRS

if TYPE_CHECKING:
    from tests.log.conftest import Sample

pytestmark = pytest.mark.usefixtures("backend")

CREATE, APPEND = TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME
NOW = 1_600_000_000_000


def some(count: int = 40) -> list[Record]:
    """Records with nulls, empties, headers, gaps and timestamps that go down, by turns."""
    contents = [None, b"", b"x", b"a" * 63, b"b" * 64, b"c" * 8191, b"\xff\0"]
    headers = (("h", b"1"), ("", None), ("schlüssel", b""), ("h", b"again"))
    return [
        Record(
            offset=at + at // 7,
            timestamp=NOW + (-1) ** at * 40 * at,
            timestamp_type=APPEND if 20 <= at < 23 else CREATE,
            key=contents[at % 7],
            value=contents[at % 5],
            headers=headers[: at % 5],
        )
        for at in range(count)
    ]


def table_of(records: list[Record]) -> pa.Table:
    rows = [dict(zip(NAMES, row_of(record), strict=True)) for record in records]
    return pa.Table.from_pylist(rows, schema=row_schema())


def outcome(function: Any, *given: Any, **options: Any) -> Any:
    try:
        return function(*given, **options)
    except EncodeError as error:
        return type(error), str(error), vars(error)


# -- the same bytes -------------------------------------------------------------------------------


@pytest.mark.parametrize(("magic", "codec"), PAIRS)
def test_a_sample_written_again(sample: Sample, magic: int, codec: str) -> None:
    records = list(kodec.read_records(sample.path))
    for record in records:
        record.headers = tuple((shown(key), value) for key, value in record.headers)
    table = kodec.read_table(sample.path)
    written = kodec.encode_table(table, magic=magic, compression=codec, lossy=True)
    assert written == kodec.encode(records, magic=magic, compression=codec, lossy=True)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": "gzip", "level": 1},
        {"compression": "zstd", "level": -3},
        {"compression": "none", "level": 3},
        {"compression": "brotli"},
        {"base_offset": 70},
        {"timestamp_type": APPEND},
        {"timestamp_type": CREATE},
        {"timestamp_type": TimestampType.NO_TIMESTAMP_TYPE},
        {"partition_leader_epoch": 5},
        {"producer_id": 2**40, "producer_epoch": 3, "base_sequence": 2**31 - 2, "batch_records": 5},
        {"producer_id": 1, "producer_epoch": 3, "base_sequence": 0, "transactional": True},
        {"producer_id": 1},
        {"transactional": True},
        {"control": True},
        {"batch_records": 1},
        {"batch_records": 7},
        {"batch_records": 0},
        {"batch_bytes": 1},
        {"batch_bytes": 500},
        {"batch_bytes": 9000},
        {"magic": 1},
        {"magic": 1, "lossy": True},
        {"magic": 1, "lossy": True, "compression": "lz4", "batch_records": 6},
        {"magic": 1, "lossy": True, "compression": "zstd"},
        {"magic": 0},
        {"magic": 0, "lossy": True, "compression": "snappy", "batch_bytes": 500},
        {"magic": 1, "producer_id": 4},
        {"magic": 1, "control": True},
        {"magic": 3},
    ],
    ids=str,
)
def test_every_option_means_what_it_means_to_encode(options: dict[str, Any]) -> None:
    records = some()
    assert outcome(kodec.encode_table, table_of(records), **options) == outcome(
        kodec.encode, records, **options
    )


def test_the_options_are_those_of_encode() -> None:
    of_table = kodec.encode_table.__kwdefaults__
    assert of_table == kodec.encode.__kwdefaults__


def test_many_rows_in_several_chunks() -> None:
    records = [
        Record(offset=at, timestamp=NOW + at, timestamp_type=CREATE, key=b"k%d" % at, value=b"v" * (at % 50))
        for at in range(70_000)
    ]
    chunks = [table_of(records[start : start + 9_999]) for start in range(0, len(records), 9_999)]
    table = pa.concat_tables([chunks[0].slice(0, 0), *chunks])
    assert kodec.encode_table(table) == kodec.encode(records)
    assert kodec.encode_table(table.combine_chunks()) == kodec.encode(records)
    assert kodec.encode_table(table.slice(40_001, 100)) == kodec.encode(records[40_001:40_101])


KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
BYTES = st.none() | st.binary(max_size=200)
RECORDS = st.builds(
    Record,
    offset=st.integers(0, 3),
    timestamp=st.one_of(st.integers(-1, 50), st.integers(-1, 2**63 - 2)),
    timestamp_type=st.sampled_from([CREATE, CREATE, CREATE, APPEND]),
    key=BYTES,
    value=BYTES,
    headers=st.lists(st.tuples(KEYS, BYTES), max_size=3).map(tuple),
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(RECORDS, max_size=30),
    st.sampled_from(["none", "gzip", "snappy", "lz4", "zstd"]),
    st.none() | st.integers(1, 9),
    st.integers(0, 2**62),
)
def test_what_is_written_is_read_back(
    records: list[Record], codec: str, batch_records: int | None, base: int
) -> None:
    for record in records:
        base += record.offset
        record.offset, base = base, base + 1
    table = table_of(records)
    data = kodec.encode_table(table, compression=codec, batch_records=batch_records)
    assert data == kodec.encode(records, compression=codec, batch_records=batch_records)
    assert kodec.read_table(data).equals(table)
    offsets = (records[len(records) // 2].offset, None) if records else None
    assert kodec.read_table(data, offsets=offsets).equals(table.slice(len(records) // 2))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(RECORDS, max_size=30), st.sampled_from([pair for pair in PAIRS if pair[0] < 2]))
def test_older_formats(records: list[Record], pair: tuple[int, str]) -> None:
    magic, codec = pair
    for at, record in enumerate(records):
        record.offset, record.headers, record.timestamp_type = at, (), CREATE
        if magic == 0:
            record.timestamp = -1
    table = table_of(records)
    data = kodec.encode_table(table, magic=magic, compression=codec, batch_records=4)
    assert data == kodec.encode(records, magic=magic, compression=codec, batch_records=4)
    found = rows_of(kodec.read_table(data))
    assert [row[:2] + row[3:] for row in found] == [row[:2] + row[3:] for row in rows_of(table)]


# -- fewer columns, and nulls ---------------------------------------------------------------------


@pytest.mark.parametrize("left_out", NAMES)
def test_a_column_that_is_not_there_has_the_default(left_out: str) -> None:
    records = some()
    default = Record()
    for record in records:
        setattr(record, left_out, getattr(default, left_out))
    table = table_of(some()).drop_columns(left_out)
    assert kodec.encode_table(table) == kodec.encode(records)
    assert kodec.encode_table(table.select(table.schema.names[::-1])) == kodec.encode(records)


def test_one_column_or_none() -> None:
    table = pa.table({"value": [b"a", None, b"c"]})
    assert kodec.encode_table(table) == kodec.encode([Record(value=value) for value in (b"a", None, b"c")])
    rows = pa.StructArray.from_buffers(pa.struct([]), 3, [None])
    empty = pa.RecordBatch.from_struct_array(rows)
    assert kodec.encode_table(empty) == kodec.encode([Record()] * 3)
    for nothing in (pa.table({}), table.slice(0, 0), row_schema().empty_table()):
        assert kodec.encode_table(nothing) == b""


def test_nulls_are_the_default() -> None:
    kinds = [
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("ms")),
        ("timestamp_type", pa.int32()),
        ("key", pa.binary()),
        ("value", pa.null()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
    table = pa.table([pa.nulls(3, kind) for _, kind in kinds], names=[name for name, _ in kinds])
    assert kodec.encode_table(table) == kodec.encode([Record()] * 3)
    table = pa.table({name: pa.nulls(2) for name in NAMES})
    assert kodec.encode_table(table) == kodec.encode([Record()] * 2)


# -- other types ----------------------------------------------------------------------------------

TEXTS = ["a", None, "", "ü" * 40]
TYPES = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.binary()),
]


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("name", ["key", "value"])
def test_keys_and_values_of_other_types(name: str, kind: pa.DataType) -> None:
    contents = [None if text is None else text.encode() for text in TEXTS]
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    column = pa.array(contents, pa.binary()).cast(pa.binary() if "binary" in str(plain) else pa.string())
    column = column.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else column.cast(kind)
    expected = kodec.encode([Record(**{name: content}) for content in contents])
    assert kodec.encode_table(pa.table({name: column})) == expected
    chunked = pa.chunked_array([column.slice(0, 1), column.slice(1)])
    assert kodec.encode_table(pa.table({name: chunked})) == expected


def test_fixed_and_run_end_encoded_and_extension_columns() -> None:
    expected = kodec.encode([Record(key=b"ab"), Record(key=b"ab"), Record(key=None)])
    fixed = pa.array([b"ab", b"ab", None], pa.binary(2))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([b"ab", None]))
    for column in (fixed, runs):
        assert kodec.encode_table(pa.table({"key": column})) == expected
    opaque = pa.ExtensionArray.from_storage(pa.opaque(pa.binary(), "t", "v"), pa.array([b"ab", b"ab", None]))
    assert kodec.encode_table(pa.table({"key": opaque})) == expected


@pytest.mark.parametrize("kind", [pa.int32(), pa.uint64(), pa.int16(), pa.float64(), pa.string()], ids=str)
def test_offsets_of_other_types(kind: pa.DataType) -> None:
    table = pa.table({"offset": pa.array([5, 6, 900]).cast(kind)})
    assert kodec.encode_table(table) == kodec.encode([Record(offset=5), Record(offset=6), Record(offset=900)])


TIMES = [NOW, NOW + 7, None]


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Vienna"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_timestamps_of_other_units(unit: str, zone: str | None) -> None:
    column = pa.array(TIMES).cast(pa.timestamp("ms")).cast(pa.timestamp(unit)).cast(pa.int64())
    column = column.cast(pa.timestamp(unit, zone))
    expected = kodec.encode([Record(timestamp=-1 if time is None else time) for time in TIMES])
    assert kodec.encode_table(pa.table({"timestamp": column})) == expected


def test_timestamps_of_other_kinds() -> None:
    expected = kodec.encode([Record(timestamp=NOW // 1000 * 1000)])
    seconds = pa.array([NOW // 1000], pa.int64()).cast(pa.timestamp("s"))
    for column in (
        seconds,
        pa.array([NOW // 1000 * 1000]),
        pa.array([datetime.fromtimestamp(NOW / 1000, UTC)]),
    ):
        assert kodec.encode_table(pa.table({"timestamp": column})) == expected
    day = pa.array([date(2020, 9, 13)])
    for column in (day, day.cast(pa.date64())):
        written = kodec.encode_table(pa.table({"timestamp": column}))
        assert written == kodec.encode([Record(timestamp=1_599_955_200_000)])


def test_parts_of_a_millisecond_need_lossy() -> None:
    column = pa.array([NOW * 1000, NOW * 1000 + 500, None], pa.timestamp("us", "UTC"))
    table = pa.concat_tables([pa.table({"timestamp": column.slice(0, 1)}), pa.table({"timestamp": column})])
    with pytest.raises(EncodeError, match=r"records\[2\]\.timestamp: not a whole number of milliseconds"):
        kodec.encode_table(table)
    records = [Record(timestamp=NOW)] * 3 + [Record(timestamp=-1)]
    assert kodec.encode_table(table, lossy=True) == kodec.encode(records)


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.uint16(), pa.float32()], ids=str)
def test_timestamp_types_of_other_types(kind: pa.DataType) -> None:
    table = pa.table({"timestamp_type": pa.array([0, 1, None]).cast(kind)})
    records = [Record(timestamp_type=CREATE), Record(timestamp_type=APPEND), Record(timestamp_type=CREATE)]
    assert kodec.encode_table(table) == kodec.encode(records)


PAIR = pa.struct([("key", pa.string()), ("value", pa.binary())])
LISTS = [[("a", b"1"), ("a", None)], None, [], [("ü", b"")]]
HEADERS = [
    pa.map_(pa.string(), pa.binary()),
    pa.map_(pa.large_string(), pa.string()),
    pa.list_(PAIR),
    pa.large_list(PAIR),
    pa.list_view(PAIR),
    pa.list_(pa.struct([("value", pa.large_binary()), ("key", pa.binary())])),
    pa.list_(pa.struct([("key", pa.dictionary(pa.int8(), pa.string())), ("value", pa.string_view())])),
]


@pytest.mark.parametrize("kind", HEADERS, ids=str)
def test_headers_of_other_types(kind: pa.DataType) -> None:
    given: list[Any] = list(LISTS)
    if not pa.types.is_map(kind):
        given = [one and [{"key": key, "value": value} for key, value in one] for one in LISTS]
        if kind.value_type.field("key").type == pa.binary():
            given = [one and [{**pair, "key": pair["key"].encode()} for pair in one] for one in given]
    column = pa.array(given, kind)
    records = [Record(headers=tuple(one or ())) for one in LISTS]
    assert kodec.encode_table(pa.table({"headers": column})) == kodec.encode(records)
    assert kodec.encode_table(pa.table({"headers": column.slice(1)})) == kodec.encode(records[1:])


def test_headers_of_fixed_size() -> None:
    column = pa.array([[{"key": "a", "value": b"1"}], [{"key": "b", "value": None}], None], pa.list_(PAIR, 1))
    records = [Record(headers=(("a", b"1"),)), Record(headers=(("b", None),)), Record()]
    assert kodec.encode_table(pa.table({"headers": column})) == kodec.encode(records)


def test_what_a_null_list_covers_is_not_written() -> None:
    pairs = pa.array(
        [{"key": "a", "value": b"1"}, {"key": "hidden", "value": b""}, {"key": "c", "value": None}]
    )
    mask = pa.array([False, True, False])
    column = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), pairs, mask=mask)
    records = [Record(headers=(("a", b"1"),)), Record(), Record(headers=(("c", None),))]
    assert kodec.encode_table(pa.table({"headers": column})) == kodec.encode(records)


def test_a_header_key_that_is_not_utf8_is_kept() -> None:
    kind = pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())]))
    table = pa.table({"headers": pa.array([[{"key": b"a\xff", "value": b""}]], kind)})
    (record,) = kodec.read_records(kodec.encode_table(table))
    assert record.headers == (("a\udcff", b""),)


# -- other objects --------------------------------------------------------------------------------


class Stream:
    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class Array:
    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self.batch.__arrow_c_array__(requested_schema)


def test_whatever_has_arrow_columns() -> None:
    table = table_of(some())
    (batch,) = table.to_batches()
    expected = kodec.encode(some())
    sources = (table, batch, table.to_reader(7), Stream(table), Array(batch), batch.to_struct_array())
    for source in sources:
        assert kodec.encode_table(source) == expected
    data = kodec.encode(some(), compression="gzip")
    assert kodec.encode_table(kodec.scan_table(data, batch_rows=3)) == expected


@pytest.mark.parametrize("given", [None, 5, b"bytes", [Record()], {"value": [b"v"]}])
def test_what_is_no_table(given: Any) -> None:
    with pytest.raises(TypeError, match=f"not {type(given).__name__}"):
        kodec.encode_table(given)


# -- what cannot be written -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (pa.table({"topic": ["t"], "value": [b"v"]}), "topic: no such column .*need offset, timestamp"),
        (pa.table([[b"a"], [b"b"]], names=["key", "key"]), "key: a column is there twice"),
        (pa.table({"key": [1.5]}), "key: .*need binary, have 'double'"),
        (pa.table({"offset": ["x"]}), "offset: .*need int64, have 'string'"),
        (pa.table({"offset": pa.array([2**63], pa.uint64())}), "offset: .*need int64, have 'uint64'"),
        (pa.table({"timestamp": [b"x"]}), "timestamp: .*need int64, have 'binary'"),
        (pa.table({"timestamp": [1.5]}), "timestamp: .*need int64, have 'double'"),
        (pa.table({"timestamp_type": [0, -1, 2]}), r"records\[2\]\.timestamp_type: .*need -1 to 1, have 2"),
        (pa.table({"timestamp_type": [-2]}), r"records\[0\]\.timestamp_type: .*have -2"),
        (pa.table({"headers": ["x"]}), "headers: not lists of pairs .*have 'string'"),
        (pa.table({"headers": [["x"]]}), "headers: not lists of pairs"),
        (pa.table({"headers": [[{"name": "x"}]]}), "headers: .*other fields .*need key, value"),
        (pa.table({"headers": [[{"key": 1.5, "value": b""}]]}), r"headers\.key: .*need binary"),
        (
            pa.table({"headers": [[], [{"key": "a", "value": b""}, {"key": None, "value": b""}]]}),
            r"records\[1\]\.headers\[1\]\.key: a header needs a key",
        ),
        (
            pa.table({"offset": [5, 4]}),
            r"records\[1\]\.offset: offsets must ascend \(need at least 6, have 4",
        ),
        (pa.table({"timestamp": [0, -2]}), r"records\[1\]\.timestamp: negative timestamp"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_written_is_named(table: pa.Table, text: str) -> None:
    with pytest.raises(EncodeError, match=f"^{text}"):
        kodec.encode_table(table)


def test_places_count_from_the_first_row_of_all() -> None:
    good, bad = pa.table({"offset": list(range(40_000))}), pa.table({"offset": [40_000, 7]})
    with pytest.raises(EncodeError, match=r"^records\[40001\]\.offset"):
        kodec.encode_table(pa.concat_tables([good, bad]))
    kinds = [0] * 40_000
    kinds[39_999] = 5
    with pytest.raises(EncodeError, match=r"^records\[39999\]\.timestamp_type"):
        kodec.encode_table(pa.table({"timestamp_type": kinds}))


@pytest.mark.parametrize("lossy", [False, True])
@pytest.mark.parametrize("seconds", [2**62, -(2**62)])
def test_a_timestamp_that_no_millisecond_can_tell(seconds: int, lossy: bool) -> None:
    table = pa.table({"value": [b"a", b"b"], "timestamp": pa.array([0, seconds], pa.timestamp("s"))})
    with pytest.raises(kodec.errors.EncodeError, match=r"records\[1\]\.timestamp: out of range"):
        kodec.encode_table(table, lossy=lossy)
