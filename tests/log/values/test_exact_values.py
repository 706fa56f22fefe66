"""Every value is what its bytes say, or the reason says that it does not fit; all doors agree."""

from __future__ import annotations

import datetime
import json
import shutil
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

import kodec
from kodec.cli.main import main
from kodec.log.values.avro import parse
from kodec.log.values.avro_columns import AvroColumn
from kodec.log.values.avro_reader import AvroReader
from kodec.log.values.columns import json_column
from kodec.log.values.decoder import ValueDecoder
from kodec.log.values.plain import plain
from kodec.log.values.schemas import Schema
from kodec.runtime.varint import write_zigzag64
from tests.golden import Golden
from tests.log.values.test_columns import named, record
from tests.log.values.test_schemas import One


def decimal(precision: int, scale: int = 0, **more: Any) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale, **more}


def logical(kind: str, name: str) -> dict[str, Any]:
    return {"type": kind, "logicalType": name}


def data(*parts: int | str | bytes) -> bytes:
    """Avro: numbers as varints, texts and bytes with their lengths."""
    found = b""
    for part in parts:
        if isinstance(part, int):
            found += write_zigzag64(part)
        else:
            raw = part.encode() if isinstance(part, str) else part
            found += write_zigzag64(len(raw)) + raw
    return found


def unscaled(number: int, size: int = 0) -> bytes:
    return data(number.to_bytes(size or number.bit_length() // 8 + 1, "big", signed=True))


UTC = datetime.UTC
SOME = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
LONG = 2**63 - 1
# the schema; the data; the value, or a part of the reason
VALUES: list[tuple[Any, bytes, Any]] = [
    (decimal(4, 2), unscaled(9999), Decimal("99.99")),
    (decimal(4, 2), unscaled(-9999), Decimal("-99.99")),
    (decimal(4, 2), unscaled(99999), "precision"),
    (decimal(4, 2), unscaled(-10000), "precision"),
    (decimal(4, 2), unscaled(5, 60), Decimal("0.05")),  # more bytes than needed, all of the sign
    (decimal(4, 2), unscaled(-5, 60), Decimal("-0.05")),
    (decimal(4, 2), data(b"\x01" + bytes(60)), "decimal"),
    (decimal(38, 38), unscaled(10**37 + 1), Decimal("0.10000000000000000000000000000000000001")),
    (decimal(76), unscaled(10**76 - 1), Decimal(10**76 - 1)),
    (decimal(76), unscaled(10**76), "precision"),
    (
        named("fixed", "F", size=5, logicalType="decimal", precision=4, scale=1),
        b"\0\0\0\x27\x0f",
        Decimal("999.9"),
    ),
    (
        named("fixed", "F", size=5, logicalType="decimal", precision=4, scale=1),
        b"\0\0\0\x27\x10",
        "precision",
    ),
    (named("fixed", "F", size=8, logicalType="decimal", precision=4), b"\xff" * 8, Decimal(-1)),
    (logical("int", "date"), data(-719162), datetime.date(1, 1, 1)),
    (logical("int", "date"), data(2932896), datetime.date(9999, 12, 31)),
    (logical("int", "time-millis"), data(86_399_999), datetime.time(23, 59, 59, 999000)),
    (logical("int", "time-millis"), data(-1), "no time of a day"),
    (logical("int", "time-millis"), data(86_400_000), "no time of a day"),
    (logical("long", "time-micros"), data(86_399_999_999), datetime.time(23, 59, 59, 999999)),
    (logical("long", "time-micros"), data(-1), "no time of a day"),
    (logical("long", "timestamp-millis"), data(-1), datetime.datetime(1969, 12, 31, 23, 59, 59, 999000, UTC)),
    (logical("long", "timestamp-micros"), data(1), datetime.datetime(1970, 1, 1, 0, 0, 0, 1, UTC)),
    (logical("long", "local-timestamp-millis"), data(1), datetime.datetime(1970, 1, 1, 0, 0, 0, 1000)),
    (logical("string", "uuid"), data(SOME.upper()), UUID(SOME)),
    (logical("string", "uuid"), data("{" + SOME + "}"), "not the text of a UUID"),
    (logical("string", "uuid"), data(SOME.replace("-", "")), "not the text of a UUID"),
    (logical("string", "uuid"), data(SOME + "\n"), "not the text of a UUID"),
    (named("fixed", "U", size=16, logicalType="uuid"), UUID(SOME).bytes, UUID(SOME)),
    (named("fixed", "D", size=12, logicalType="duration"), b"\1" * 12, b"\1" * 12),
    (named("fixed", "W", size=2**31 - 1), b"\0\0", "need 2147483647 bytes"),
    (named("fixed", "W", size=2_000), b"ab" * 1_000, b"ab" * 1_000),
    ({"type": "map", "values": decimal(4, 2)}, data(1, "a") + unscaled(99999) + b"\0", "precision"),
    ({"type": "array", "items": decimal(4, 2)}, data(1) + unscaled(99999) + b"\0", "precision"),
    (["null", "string", decimal(4, 2)], data(2) + unscaled(-99999), "precision"),
    ("double", struct.pack("<d", 0.1), 0.1),
    ("float", struct.pack("<f", 0.1), struct.unpack("<f", struct.pack("<f", 0.1))[0]),
    ("long", data(LONG), LONG),
    ("long", b"\xff" * 9 + b"\x02", -(2**62)),  # bits past the 64th are left
    ("long", b"\xff" * 10 + b"\x01", ""),
    ("int", data(2**31), ""),
    ("boolean", b"\x02", ""),
    (["null", "int"], data(-1, 7), ""),  # no index counts from the end
    (["int", "string", "null"], data(-2, "a"), ""),
    (named("enum", "E", symbols=["A", "B"]), data(1), "B"),
    (named("enum", "E", symbols=["A", "B"]), data(-1), ""),
    (named("enum", "E", symbols=["A", "B"], default="A"), data(2), ""),
]


def column_of(schema: Any, payload: bytes, reader: Any = None, *, fast: bool = True) -> tuple[Any, str]:
    """A value by the columns of a table and an export, and the reason."""
    both = [each and parse(Schema("avro", json.dumps(each)), {}) for each in (schema, reader)]
    column = AvroColumn(both[0], both[1])
    if not fast:
        column._fast = None
    found, wrong = column.decode(pa.array([payload], pa.binary()))
    return found[0].as_py(), wrong.get(0, "")


@pytest.mark.parametrize(("schema", "payload", "value"), VALUES)
def test_a_value_is_exact_or_refused_by_all_doors(schema: Any, payload: bytes, value: Any) -> None:
    schema, payload = record(schema, "int"), payload + data(7)
    decoder = ValueDecoder(One(schema), framing="none")
    row = decoder.decode(payload, topic="t")
    jsons = json_column(decoder, pa.array([payload], pa.binary()), None, "t", "value")
    refused = isinstance(value, str) and value != "B"
    for fast in (True, False):
        shown, reason = column_of(schema, payload, fast=fast)
        assert bool(reason) == refused, (fast, reason)
        if not refused:
            text = str(shown["f0"]) if isinstance(value, UUID) else shown["f0"]
            assert text == (str(value) if isinstance(value, UUID) else value)
        elif value:
            assert value in reason
    assert bool(row.reason) == bool(jsons.reason[0].as_py()) == refused
    if refused:
        assert value in row.reason and row.value == payload
    else:
        assert row.value == {"f0": value, "f1": 7} and type(row.value["f0"]) is type(value)
        assert jsons.values[0].as_py() == row.json


MILLIS, MICROS = logical("long", "timestamp-millis"), logical("long", "timestamp-micros")
LATER = datetime.datetime(1970, 1, 1, 0, 0, 0, 5000, UTC)
# the writer's type; the data; the reader's type; the value, or a part of the reason
RESOLVED: list[tuple[Any, bytes, Any, Any]] = [
    (decimal(4, 2), unscaled(9999), decimal(6, 3), Decimal("99.990")),
    (decimal(4, 2), unscaled(9990), decimal(4, 1), Decimal("99.9")),
    (decimal(4, 2), unscaled(9999), decimal(4, 1), "not exact"),
    (decimal(6, 2), unscaled(99999), decimal(4, 2), "precision"),
    (decimal(4, 2), unscaled(9999), "bytes", b"\x27\x0f"),
    ("bytes", data(b"\x27\x0f"), decimal(4, 2), Decimal("99.99")),
    ("bytes", data(b"\x7f\xff"), decimal(4, 2), "precision"),
    (MILLIS, data(5), MICROS, LATER),
    (MICROS, data(5000), MILLIS, LATER),
    (MICROS, data(5), MILLIS, "not exact"),
    (MILLIS, data(LONG), MICROS, "outside the range"),
    (MILLIS, data(5), logical("long", "local-timestamp-millis"), "does not resolve"),
    (logical("int", "date"), data(5), MILLIS, "does not resolve"),
    (logical("int", "date"), data(5), "long", 5),
    ("long", data(5), MILLIS, LATER),
    ("string", data(SOME), logical("string", "uuid"), SOME),
    ("string", data("no"), logical("string", "uuid"), "not the text"),
    ("long", data(2**24 + 1), "float", 2.0**24),
    ("int", data(3), ["null", "double"], 3.0),
    (["null", "int"], data(0), "int", "does not resolve"),
    (["null", "int"], data(0), ["int"], "none of the reader's types"),
    (named("enum", "E", symbols=["A", "B"]), data(1), named("enum", "E", symbols=["A"], default="A"), "A"),
    (named("enum", "E", symbols=["A", "B"]), data(1), named("enum", "E", symbols=["A"]), "no symbol B"),
    (named("enum", "E", symbols=["A"]), data(0), named("enum", "Other", symbols=["A"]), "does not resolve"),
    (named("enum", "E", symbols=["A"]), data(0), named("enum", "O", symbols=["A"], aliases=["E"]), "A"),
]  # fmt: skip


@pytest.mark.parametrize(("writer", "payload", "reader", "value"), RESOLVED)
def test_a_resolved_value_is_exact_or_refused_by_all_doors(
    writer: Any, payload: bytes, reader: Any, value: Any
) -> None:
    writer, reader = record(writer), record(reader)
    both = [parse(Schema("avro", json.dumps(each)), {}) for each in (writer, reader)]
    row: Any
    try:
        row, reason = AvroReader(*both).decode(payload), ""
    except ValueError as error:
        row, reason = None, str(error)
    for fast in (True, False):
        shown, why = column_of(writer, payload, reader, fast=fast)
        assert bool(why) == bool(reason)
        if reason:
            assert value in why and value in reason
        else:
            assert shown == {"f0": value} and plain(row) == plain({"f0": value})


DEFAULTS: list[tuple[Any, Any, Any]] = [
    (decimal(4, 2), "\x00\xff", Decimal("2.55")),
    (decimal(4, 2), "\x7f\xff", "not of its type"),
    ("bytes", "\xff", b"\xff"),
    (logical("int", "date"), 1, datetime.date(1970, 1, 2)),
    (logical("long", "timestamp-millis"), 1, datetime.datetime(1970, 1, 1, 0, 0, 0, 1000, UTC)),
    (named("fixed", "F", size=2), "\x00\x01", b"\0\1"),
    (["null", "int"], None, None),
    (["null", "string"], "x", "x"),
    ({"type": "array", "items": "bytes"}, ["\xff"], [b"\xff"]),
    (named("record", "Q", fields=[{"name": "x", "type": "bytes", "default": "\x01"}]), {}, {"x": b"\1"}),
    ("double", 1, 1.0),
]


@pytest.mark.parametrize(("kind", "default", "value"), DEFAULTS)
def test_a_default_is_a_value_of_its_type(kind: Any, default: Any, value: Any) -> None:
    writer = record("int")
    reader = {**writer, "fields": [{"name": "new", "type": kind, "default": default}]}
    both = [parse(Schema("avro", json.dumps(each)), {}) for each in (writer, reader)]
    refused = value == "not of its type"
    if refused:
        with pytest.raises(ValueError, match=value):
            AvroReader(*both).decode(data(1))
    else:
        assert AvroReader(*both).decode(data(1)) == {"new": value}
    shown, reason = column_of(writer, data(1), reader)
    assert (shown, bool(reason)) == ((None, True) if refused else ({"new": value}, False))


def test_a_name_comes_before_an_alias() -> None:
    reader = {
        **record(),
        "fields": [
            {"name": "a", "type": "int", "aliases": ["f0"], "default": 9},
            {"name": "f0", "type": "int"},
        ],
    }
    both = [parse(Schema("avro", json.dumps(each)), {}) for each in (record("int"), reader)]
    assert (
        AvroReader(*both).decode(data(1)) == {"a": 9, "f0": 1} == column_of(record("int"), data(1), reader)[0]
    )


def test_times_outside_pythons_range_stay_in_columns(golden: Golden) -> None:
    for schema in (logical("int", "date"), logical("long", "timestamp-millis")):
        payload = data(2**31 - 1) if schema["type"] == "int" else data(LONG)
        row = ValueDecoder(One(record(schema)), framing="none").decode(payload, topic="t")
        golden(row.reason)
        for fast in (True, False):
            both = AvroColumn(parse(Schema("avro", json.dumps(record(schema))), {}))
            both._fast = both._fast if fast else None
            found, wrong = both.decode(pa.array([payload], pa.binary()))
            stored = found.field(0).cast(pa.int32() if schema["type"] == "int" else pa.int64())
            assert not wrong and stored.to_pylist() == [2**31 - 1 if schema["type"] == "int" else LONG]


def test_a_decimal_with_many_bytes_takes_no_time() -> None:
    """Digits of a number take time that grows with their square: 60 kB took seconds."""
    payload = data(b"\x7f" * 40_000_000)
    for precision in (4, 1_000):
        with pytest.raises(ValueError, match="are no decimal of"):
            AvroReader(parse(Schema("avro", json.dumps(decimal(precision))), {})).decode(payload)
    with pytest.raises(ValueError, match="more than 1000 digits"):
        AvroReader(parse(Schema("avro", json.dumps(decimal(10**9, 10**9))), {})).decode(payload)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", 0.1),
        ("0.12345678901234567890", Decimal("0.12345678901234567890")),
        ("1e999", Decimal("1e999")),
        ("1e-999", Decimal("1e-999")),
        ("9007199254740993.0", Decimal("9007199254740993.0")),
        ("1" * 5_000, Decimal("1" * 5_000)),
        ("12345678901234567890", 12345678901234567890),
        ("1.50", 1.5),
        ("NaN", "NaN is not a number of JSON"),
        ("Infinity", "Infinity is not a number of JSON"),
        ("1e99999999999999999999999", "outside the range of numbers"),
    ],
)
def test_numbers_of_json(text: str, value: Any) -> None:
    payload = b'{"n":\n %s}' % text.encode()
    decoder = ValueDecoder(None, "json-schema", framing="none")
    row = decoder.decode(payload)
    found = decoder.decode_column(pa.array([payload], pa.binary()))
    reason = found.reason[0].as_py() or ""
    if isinstance(value, str):
        assert value in row.reason and value in reason
    else:
        assert row.value == {"n": value} and type(row.value["n"]) is type(value)
        assert row.json == f'{{"n":  {text}}}' == found.values[0].as_py()["json"]


CHOSEN: list[tuple[str, list[int]]] = [
    ("value.amount == 999.99", [1]),
    ("value.amount == 999.990", [1]),
    ("value.amount > 999.98", [1]),
    ("value.amount >= 0.1", [0, 1]),
    ("value.amount == 0.1", [0]),
    ("value.amount in [0.1, 5]", [0]),
    ("not value.amount == 1", [0, 1]),
    ("value.amount != 1", [0, 1]),
    ("value.amount <= 0.10000000000000001", [0]),
    ("value.amount < 0.1000000000000000055", [0]),
]


def log_of(values: list[bytes], path: Path) -> Path:
    """A log directory with a topic `t` of these values, each with the framing of schema 7."""
    (path / "t-0").mkdir(parents=True)
    records = [kodec.Record(offset=at, value=b"\0\0\0\0\x07" + each) for at, each in enumerate(values)]
    (path / "t-0/00000000000000000000.log").write_bytes(kodec.encode(records))
    return path


def schemas_of(schema: Any, path: Path) -> Path:
    path.mkdir()
    (path / "t-value@7.avsc").write_text(json.dumps(schema))
    return path


@pytest.mark.parametrize(("condition", "offsets"), CHOSEN)
def test_conditions_choose_by_exact_values(
    condition: str, offsets: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = {**record(), "fields": [{"name": "amount", "type": decimal(5, 2)}]}
    logs = log_of([unscaled(10), unscaled(99999)], tmp_path / "logs")
    schemas = schemas_of(schema, tmp_path / "schemas")
    assert main(["find", str(logs), "--registry", str(schemas), "--where", condition, "--json"]) == 0
    found = [json.loads(line)["offset"] for line in capsys.readouterr().out.splitlines()]
    assert found == offsets
    # JSON with the same numbers
    shutil.rmtree(logs)
    records = [
        kodec.Record(offset=at, value=b'{"amount":%s}' % each) for at, each in enumerate((b"0.10", b"999.99"))
    ]
    (logs / "t-0").mkdir(parents=True)
    (logs / "t-0/00000000000000000000.log").write_bytes(kodec.encode(records))
    assert main(["find", str(logs), "--where", condition, "--json"]) == 0
    assert [json.loads(line)["offset"] for line in capsys.readouterr().out.splitlines()] == offsets


@pytest.mark.parametrize("condition", ["value.amount == 1000", "value.amount != 5", "not value.amount > 1"])
def test_a_value_that_does_not_fit_is_not_chosen_and_named(
    condition: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """decimal(4,2) with the unscaled number 99999 is no 1000, and nothing else that a condition may say."""
    schema = {**record(), "fields": [{"name": "amount", "type": decimal(4, 2)}]}
    logs = log_of([unscaled(99999), unscaled(500)], tmp_path / "logs")
    (logs / "t-0/00000000000000000002.log").write_bytes(b"")
    schemas = schemas_of(schema, tmp_path / "schemas")
    before = (logs / "t-0/00000000000000000000.log").read_bytes()
    for verb in ("find", "redact"):
        more = ["--apply"] if verb == "redact" else []
        assert main([verb, str(logs), "--schemas", str(schemas), "--where", condition, *more]) == 1
        said = capsys.readouterr()
        assert "99999" not in said.out
        wanted = "--where cannot be decided: the value is not decoded: not decoded by schema 7"
        assert wanted in said.err
    assert (logs / "t-0/00000000000000000000.log").read_bytes() == before
