"""A table of batches reports about each entry what `read_batches` says, and reads no record for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kodec
from kodec.errors import Malformed
from kodec.log.backends.arrow import batch_schema
from tests.log.tables.compared import LOGS, ROOT, outcome
from tests.log.wire import CODES, PAIRS, batch, log_of, message, record, wrapper

pytestmark = pytest.mark.usefixtures("backend")

SMALL = b"".join(
    log_of(magic, codec, [b"%d.%d" % (at, i) * (i + 1) for i in range(3)], base=10 * at)
    for at, (magic, codec) in enumerate(PAIRS)
)
NAMES = [
    "position",
    "size",
    "magic",
    "codec",
    "base_offset",
    "last_offset",
    "count",
    "base_timestamp",
    "max_timestamp",
    "timestamp_type",
    "partition_leader_epoch",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "is_transactional",
    "is_control",
    "delete_horizon",
    "crc",
    "crc_ok",
]


def row_of(one: kodec.Batch) -> tuple[Any, ...]:
    wrapped = one.magic < 2 and one.codec != "none"
    row = {name: getattr(one, name) for name in NAMES if not (wrapped and name in ("base_offset", "count"))}
    return tuple(row.get(name) for name in NAMES)


def rows_of(table: pa.Table | pa.RecordBatch) -> list[tuple[Any, ...]]:
    table.validate(full=True)
    columns = [table.column(name) for name in table.schema.names]
    numbers = [one.cast(pa.int64()) if pa.types.is_timestamp(one.type) else one for one in columns]
    return list(zip(*(one.to_pylist() for one in numbers), strict=True))


def by_batches(source: Any, **options: Any) -> dict[str, Any]:
    return outcome(kodec.read_batches(source, check_crc=False, **options), lambda one: [row_of(one)])


def by_table(source: Any, **options: Any) -> dict[str, Any]:
    return outcome(kodec.scan_batch_table(source, check_crc=True, **options), rows_of)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_rows_are_the_batches(path: Path) -> None:
    for on_error in ("raise", "skip"):
        expected = by_batches(path, on_error=on_error)
        if all(row[NAMES.index("last_offset")] < 2**63 for row in expected["rows"]):
            assert by_table(path, on_error=on_error) == expected


def test_the_schema() -> None:
    schema = kodec.read_batch_table(SMALL).schema
    assert schema.equals(batch_schema(), check_metadata=True)
    time = "timestamp[ms, tz=UTC]"
    assert [str(kind) for kind in schema.types] == [
        *("int64", "int64", "int8", "dictionary<values=string, indices=int8, ordered=0>"),
        *("int64", "int64", "int32", time, time, "int32", "int32", "int64", "int16", "int32"),
        *("bool", "bool", time, "uint32", "bool"),
    ]
    assert schema.names == NAMES


def test_checksums_are_looked_at_only_on_request() -> None:
    data = SMALL + batch([record()], crc=5) + message(crc=6) + SMALL
    entries = len(list(kodec.read_batches(SMALL)))
    quiet = kodec.read_batch_table(data)
    assert quiet["crc_ok"].null_count == quiet.num_rows == 2 * entries + 2
    asked = kodec.read_batch_table(data, check_crc=True)
    assert asked["crc_ok"].to_pylist() == [True] * entries + [False] * 2 + [True] * entries
    assert asked["crc"].to_pylist()[entries : entries + 2] == [5, 6]
    assert asked.drop_columns("crc_ok").equals(quiet.drop_columns("crc_ok"))


@pytest.mark.parametrize("codec", [codec for codec in CODES if codec != "none"])
def test_nothing_is_decompressed(codec: str) -> None:
    data = batch(b"no such thing", count=7, attributes=CODES[codec], base=70)
    if codec != "zstd":
        data += message(99, value=b"nor this", attributes=CODES[codec])
    rows = [dict(zip(NAMES, row, strict=True)) for row in rows_of(kodec.read_batch_table(data))]
    shown = [(row["codec"], row["base_offset"], row["last_offset"], row["count"]) for row in rows]
    assert shown == [(codec, 70, 76, 7), (codec, None, 99, None)][: len(rows)]


def test_every_field_of_a_header() -> None:
    data = batch(
        [record()],
        base=2**62,
        attributes=0x78,
        last_delta=2**31 - 1,
        base_time=-5,
        max_time=2**63 - 1,
        producer=(2**63 - 1, 2**15 - 1, 2**31 - 1),
        epoch=2**31 - 1,
        crc=2**32 - 1,
    )
    (row,) = rows_of(kodec.read_batch_table(message(3, magic=0)[:0] + data))
    assert row[:4] == (0, len(data), 2, "none")
    assert row[4:10] == (2**62, 2**62 + 2**31 - 1, 1, -5, 2**63 - 1, 1)
    assert row[10:] == (2**31 - 1, 2**63 - 1, 2**15 - 1, 2**31 - 1, True, True, -5, 2**32 - 1, None)
    (old, inner) = rows_of(kodec.read_batch_table(message(3, magic=0) + wrapper(9, message(), time=77)))
    assert old[2:10] == (0, "none", 3, 3, 1, -1, -1, -1)
    assert inner[2:10] == (1, "gzip", None, 9, None, 77, 77, 0)
    assert old[10:17] == inner[10:17] == (-1, -1, -1, -1, False, False, None)


def test_a_last_offset_that_does_not_fit_is_named() -> None:
    bad = batch([record(), record(1)], base=2**63 - 1)
    with pytest.raises(
        Malformed, match=r"\(base_offset=9223372036854775807\)\.last_offset.* 64 bits"
    ) as caught:
        kodec.read_batch_table(SMALL + bad)
    assert (caught.value.at, caught.value.have) == (len(SMALL), 2**63)
    reader = kodec.scan_batch_table(SMALL + bad + SMALL, on_error="skip")
    assert reader.read_all().num_rows == 2 * kodec.read_batch_table(SMALL).num_rows
    assert [(one.start, one.end) for one in reader.skipped] == [(len(SMALL), len(SMALL) + len(bad))]


def test_a_log_that_is_cut_at_any_byte() -> None:
    for end in range(len(SMALL)):
        assert by_table(SMALL[:end]) == by_batches(SMALL[:end])


@pytest.mark.thorough
def test_a_flipped_bit_in_any_byte() -> None:
    for at in range(len(SMALL)):
        data = bytearray(SMALL)
        data[at] ^= 1 << at * 5 % 8
        for on_error in ("raise", "skip"):
            assert by_table(bytes(data), on_error=on_error) == by_batches(bytes(data), on_error=on_error)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(SMALL)), st.integers(0, 80), st.binary(max_size=80))
def test_any_damage(at: int, gone: int, new: bytes) -> None:
    data = SMALL[:at] + new + SMALL[at + gone :]
    for on_error in ("raise", "skip"):
        assert by_table(data, on_error=on_error) == by_batches(data, on_error=on_error)


def test_a_torn_tail_and_nothing() -> None:
    reader = kodec.scan_batch_table(SMALL + bytes(40))
    assert reader.read_all().num_rows == kodec.read_batch_table(SMALL).num_rows
    assert reader.torn_tail is not None and reader.torn_tail.position == reader.position == len(SMALL)
    assert kodec.read_batch_table(b"").num_rows == 0


def test_many_batches_make_several() -> None:
    data = message(1) * 40_000
    found = list(kodec.scan_batch_table(data))
    assert len(found) == 2 and sum(one.num_rows for one in found) == 40_000
    positions = kodec.read_batch_table(data)["position"].to_pylist()
    assert positions == list(range(0, len(data), len(message(1))))
