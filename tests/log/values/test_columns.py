"""Values as Arrow columns: what Confluent's serializers wrote, fastavro as the judge, and hostile bytes."""

from __future__ import annotations

import io
import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from fastavro.utils import generate_one

import kodec
from kodec.log.values.avro import parse
from kodec.log.values.avro_columns import AvroColumn
from kodec.log.values.decoder import ValueDecoder
from kodec.log.values.plain import plain
from kodec.log.values.schema_folder import SchemaFolder
from kodec.log.values.schemas import BadSchema, Schema, SchemaSource
from kodec.runtime.errors import ArgumentError
from tests.golden import Golden
from tests.log.values.test_samples import LOGS, VALUES
from tests.log.values.test_samples import source as source


def column(rows: list[dict[str, Any]]) -> tuple[pa.Array, pa.Array]:
    """Samples as a table has them."""
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    headers = [[{"key": k, "value": bytes.fromhex(v)} for k, v in row["headers"]] for row in rows]
    return pa.array([bytes.fromhex(row["bytes"]) for row in rows], pa.binary()), pa.array(headers, kind)


def said(value: Any) -> Any:
    """A row of a column as the samples have it: maps are objects, a union is the value alone."""
    if isinstance(value, dict):
        if value.keys() == {"string", "long"}:
            return next((each for each in value.values() if each is not None), None)
        return {name: said(each) for name, each in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return dict(value)
    if isinstance(value, list):
        return [said(each) for each in value]
    return json.loads(json.dumps(plain(value), default=str))


def test_columns_are_what_the_client_wrote(source: SchemaSource) -> None:
    rows = [row for row in VALUES if not (row["headers"] and isinstance(source, SchemaFolder))]
    values, headers = column(rows)
    found = ValueDecoder(source).decode_column(values, headers)
    found.values.validate(full=True)
    assert found.reason.null_count == found.values.null_count + len(rows) == len(rows)
    for row, value in zip(rows, found.values.to_pylist(), strict=True):
        (one,) = (each for each in value.values() if each is not None)
        if row["format"] == "avro":
            assert said(one) == row["value"]
        elif row["format"] == "json-schema":
            assert json.loads(one) == row["value"]
        else:
            assert one.get("id") == row["value"].get("id")
    shipment = next(each for each in found.values.to_pylist() if each.get("7.shop.Shipment"))
    moment = shipment["7.shop.Shipment"]["at"]
    assert (moment.year, moment.tzinfo is not None) == (2023, True)
    assert found.schema.to_pylist()[:5] == ["2", "2", "3", "2", "3"]


def test_one_type_for_all(source: SchemaSource) -> None:
    decoder = ValueDecoder(source, reader_schema=source.by_subject("orders-value"))
    values, headers = column(VALUES)
    found = decoder.decode_column(values, headers)
    assert found.values.type == decoder.column_type
    orders = [each for each in found.values.to_pylist() if each is not None]
    assert [each["currency"] for each in orders] == ["EUR", "EUR", "PLN", "EUR", "PLN"]
    assert [said(each) | {"currency": 0} for each in orders] == [
        row["value"] | {"currency": 0} for row in VALUES[:5]
    ]
    assert found.reason.null_count == 5
    with pytest.raises(ArgumentError):
        ValueDecoder(reader_schema=source.by_subject("orders-value"))


def test_messages_of_one_kind(source: SchemaSource, tmp_path: Path, golden: Golden) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "s.proto").write_text('syntax="proto3"; package shop; message Shipment { int64 id = 1; }')
    rows = [row for row in VALUES if row["topic"] == "shipments" and not row["headers"]]
    found = ValueDecoder(source, reader_schema=mine / "s.proto").decode_column(column(rows)[0])
    assert found.values.to_pylist()[:2] == [{"id": 2**40}, {"id": 0}]
    golden(found.reason[2].as_py())


def test_a_file_is_read_alone_where_it_needs_no_other(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("x.avsc", "a/x.avsc"):
        (tmp_path / name).write_text('"int"')
    (tmp_path / "o.avsc").write_text(json.dumps(record("int")))
    assert ValueDecoder(reader_schema=tmp_path / "o.avsc").column_type == pa.struct([("f0", pa.int32())])
    (tmp_path / "r.avsc").write_text(json.dumps(record("x")))
    with pytest.raises(BadSchema, match="both the schema x"):
        ValueDecoder(reader_schema=tmp_path / "r.avsc")
    with pytest.raises(ArgumentError, match="there is no such file"):
        ValueDecoder(reader_schema=tmp_path / "none.avsc")


def test_tables() -> None:
    schemas = kodec.values.schema_source(None, LOGS)
    assert schemas is not None
    decoder = ValueDecoder(schemas, reader_schema=schemas.by_subject("orders-value"))
    rows = kodec.read_table(LOGS, topics="orders", values=decoder)
    assert rows.schema.names[-3:] == ["value_typed", "value_schema", "value_reason"]
    assert said(rows["value_typed"][2].as_py()) == VALUES[2]["value"]
    file = LOGS / "orders-0/00000000000000000000.log"
    for at in (file, file.read_bytes()):
        rows = kodec.read_table(at, ["value_typed", "offset"], values=ValueDecoder(schemas), offsets=(1, 2))
        assert [json.loads(each) for each in rows["value_typed"].to_pylist()] == [
            row["value"] for row in VALUES[1:3]
        ]
        assert rows.schema.names == ["value_typed", "offset"]
    with pytest.raises(ValueError, match="value_typed"):
        kodec.read_table(LOGS, ["value_typed"])
    assert kodec.read_table(LOGS, ["topic", "value_reason"], values=decoder).num_rows == 27


def avro(tree: Any) -> AvroColumn:
    return AvroColumn(parse(Schema("avro", json.dumps(tree)), {}))


def written(tree: Any, *values: Any) -> pa.Array:
    parsed, found = fastavro.parse_schema(tree), []
    for value in values:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, value)
        found.append(out.getvalue())
    return pa.array(found, pa.binary())


def record(*types: Any) -> dict[str, Any]:
    fields = [{"name": f"f{at}", "type": kind} for at, kind in enumerate(types)]
    return {"type": "record", "name": "R", "fields": fields}


def named(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "name": name, **more}


SCHEMAS: list[Any] = [
    record("null", "boolean", "int", "long", "float", "double", "string", "bytes"),
    record(["null", "int"], ["string", "null"], ["long"], ["null"]),
    record({"type": "array", "items": ["null", {"type": "map", "values": "bytes"}]}),
    record(named("enum", "E", symbols=["A", "B"]), ["null", "E"], {"type": "map", "values": "E"}),
    record(*(named("fixed", f"F{size}", size=size) for size in (4, 8, 12, 16, 20))),
    record(["null", named("fixed", "F", size=16)], {"type": "array", "items": "F"}),
    record(["null", "long", "string", "double", "bytes", named("enum", "E", symbols=["A", "B"])]),
    record(["string", named("record", "Q", fields=[{"name": "x", "type": "int"}]), "boolean"]),
    record(named("record", "Empty", fields=[]), "int", ["null", "Empty"]),
    record(
        *({"type": "int", "logicalType": each} for each in ("date", "time-millis")),
        {"type": "long", "logicalType": "time-micros"},
        *(
            {"type": "long", "logicalType": each}
            for each in ("timestamp-millis", "timestamp-micros", "local-timestamp-micros")
        ),
    ),
    "long",
    {"type": "array", "items": record("int", "string")},
    record(named("fixed", "Odd", size=5), "int"),
]


@pytest.mark.parametrize("tree", SCHEMAS, ids=lambda tree: json.dumps(tree)[:60])
def test_fastavro_says_the_same(tree: Any) -> None:
    random.seed(7)
    fast, slow = avro(tree), avro(tree)
    slow._fast = None
    payloads = written(tree, *(generate_one(fastavro.parse_schema(tree)) for _ in range(20)))
    found, wrong = fast.decode(payloads)
    assert found.to_pylist() == slow.decode(payloads)[0].to_pylist()
    assert not wrong and found.type == fast.type


@pytest.mark.parametrize("tree", SCHEMAS, ids=lambda tree: json.dumps(tree)[:60])
def test_no_bytes_are_a_wrong_row(tree: Any) -> None:
    """What both decode they decode alike, whatever stands next to it; pyruhvro alone refuses more."""
    random.seed(8)
    fast, slow = avro(tree), avro(tree)
    slow._fast = None
    good = written(tree, *(generate_one(fastavro.parse_schema(tree)) for _ in range(5))).to_pylist()
    hostile = []
    for _ in range(60):
        data = bytearray(random.choice(good) + b"\0")
        for _ in range(random.randint(1, 3)):
            data[random.randrange(len(data))] = random.choice(
                [0, 1, 2, 3, 127, 128, 255, random.randrange(256)]
            )
        hostile.append(bytes(data[: random.randint(0, len(data))]))
    rows = [*good, *hostile, *good]
    found, wrong = fast.decode(pa.array(rows, pa.binary()))
    found.validate(full=True)
    expected, refused = slow.decode(pa.array(rows, pa.binary()))
    at_the_ends = {*range(5), *range(len(rows) - 5, len(rows))}
    assert not at_the_ends & wrong.keys()
    for row in range(len(rows)):
        if row not in wrong and row not in refused:
            assert repr(found[row].as_py()) == repr(expected[row].as_py())


@pytest.mark.parametrize(
    ("tree", "payload", "reason"),
    [
        (record("string"), b"\x04\xff\xfe", "UTF"),
        (record("int"), b"\xfe\xff\xff\xff\xff\x01", "not in range"),
        (record(named("enum", "E", symbols=["A"])), b"\x02", "out of bounds"),
        (record({"type": "int", "logicalType": "time-millis"}), b"\x01", "no time of a day"),
        (record({"type": "bytes", "logicalType": "decimal", "precision": 2}), b"\x04\x7f\xff", "precision"),
        (
            record({"type": "bytes", "logicalType": "decimal", "precision": 9}),
            b"\x28" + b"\x7f" * 20,
            "are no decimal of 9 digits",
        ),
        (record({"type": "array", "items": "long"}), b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", "end"),
        (record("string"), b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", "end"),
        (record(["null", "long"]), b"\x04", "union"),
    ],
)
def test_reasons(tree: Any, payload: bytes, reason: str) -> None:
    value = {"f0": Decimal(1)} if "decimal" in str(tree) else generate_one(fastavro.parse_schema(tree))
    good = written(tree, value)
    found, wrong = avro(tree).decode(pa.array([good[0].as_py(), payload, good[0].as_py()], pa.binary()))
    assert list(wrong) == [1] and reason in wrong[1]
    assert found.is_valid().to_pylist() == [True, False, True]


def test_no_value_reaches_into_another() -> None:
    tree = record("string")
    # it ends in what would be the next ones, were they not marked
    rows = [b"\x02a", b"\x02b\x02c", b"\x06d", b"ef", b"\x02g"]
    found, wrong = avro(tree).decode(pa.array(rows, pa.binary()))
    # bytes after a value alone are left, as fastavro and Kafka's clients do
    assert [each and each["f0"] for each in found.to_pylist()] == ["a", None, None, None, "g"]
    assert set(wrong) == {1, 2, 3}


def test_few_bytes_are_no_many_columns() -> None:
    wide = record(*(["null", "long"] for _ in range(1_000)))
    tree = record({"type": "array", "items": ["null", {**wide, "name": "W"}]})
    data = b"\x80\x80\x10" + bytes(1 << 17) + b"\0"
    _, wrong = avro(tree).decode(pa.array([data, b"\0"], pa.binary()))
    assert list(wrong) == [0] and "its columns may take" in wrong[0]


def test_what_has_no_columns() -> None:
    tree = record(["null", "R"])
    with pytest.raises(BadSchema, match="contains itself"):
        avro(tree)


def test_resolution_is_fastavros() -> None:
    cases = [
        (record("int", "string"), record("double", ["null", "string"])),
        (
            record("long", ["null", "int"]),
            {**record("long"), "fields": record("long", ["null", "long"])["fields"][::-1]},
        ),
        (
            record({"type": "array", "items": "int"}, "string"),
            {
                **record(),
                "fields": [{"name": "a", "aliases": ["f0"], "type": {"type": "array", "items": "long"}}],
            },
        ),
        (
            record("int"),
            {
                **record(),
                "fields": [
                    {"name": n, "type": t, "default": d}
                    for n, t, d in [
                        ("s", "string", "x"),
                        ("n", ["null", "int"], None),
                        ("l", {"type": "array", "items": "int"}, [1]),
                    ]
                ],
            },
        ),
        (record(named("enum", "E", symbols=["A", "B"])), record(named("enum", "E", symbols=["B", "A"]))),
        (record("string"), record("bytes")),
        (record(["null", "int"]), record("int")),
    ]
    for writer, reader in cases:
        random.seed(9)
        payloads = written(writer, *(generate_one(fastavro.parse_schema(writer)) for _ in range(20)))
        both = (parse(Schema("avro", json.dumps(each)), {}) for each in (writer, reader))
        fast = AvroColumn(*both)
        found, wrong = fast.decode(payloads)
        fast._fast = None
        expected, refused = fast.decode(payloads)
        assert found.to_pylist() == expected.to_pylist() and wrong.keys() == refused.keys()
