"""Columns of Protobuf against the values that the row reader has, over hostile bytes too."""

from __future__ import annotations

import datetime
import random
import re
import struct
from typing import Any

import pyarrow as pa
import pytest

from kodec.log.values import protobuf_columns
from kodec.log.values.protobuf import ProtobufReader, compile_schema
from kodec.log.values.protobuf_columns import ProtobufColumn
from kodec.log.values.schemas import Schema

THREE = """syntax = "proto3"; package shop;
import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto"; import "google/protobuf/duration.proto";
message Ship {
  enum State { NEW = 0; SENT = 1; }
  message Money { int64 units = 1; optional string currency = 2; }
  int64 id = 1; optional string customer = 2; Money price = 3;
  repeated string tags = 4; map<string, int32> extra = 5;
  State state = 6; google.protobuf.Timestamp at = 7; bytes hash = 8; float weight = 9;
  oneof how { string road = 10; Money air = 11; }
  repeated Money parts = 12; map<bool, Money> known = 13; repeated State states = 14;
  google.protobuf.Int64Value count = 15; google.protobuf.Struct free = 16; google.protobuf.Duration long = 17;
  message Empty {} Empty empty = 18; repeated google.protobuf.Timestamp times = 19;
}"""
TWO = """syntax = "proto2"; package shop;
message Two {
  message In { required int32 a = 1; optional string s = 2 [default = "q"]; }
  enum E { A = 0; B = 7; }
  optional int32 i = 1 [default = 5]; optional In inner = 2; repeated int32 packed = 4 [packed = true];
  optional group G = 5 { optional int32 z = 1; } repeated In many = 6;
  optional fixed32 f = 7; optional E e = 8;
  repeated E es = 9; map<int32, In> m = 10; optional uint64 u = 11; optional double d = 12;
}"""


def seeds(schema: str) -> tuple[ProtobufReader, ProtobufColumn, list[bytes]]:
    compiled = compile_schema(Schema("protobuf", schema), {})
    made = compiled.class_of(compiled.message(None))
    found = []
    for number in range(24):
        one = made()
        if schema is THREE:
            one.id, one.tags[:], one.state = number, ["a", "ü"][: number % 3], number % 3
            one.weight, one.hash, one.states[:] = number / 3, b"\0\xff", [1, 5][: number % 3]
            if number % 2:
                one.customer, one.price.units, one.at.seconds, one.at.nanos = (
                    "c",
                    -number,
                    -number,
                    999_999_000,
                )
                one.air.currency, one.count.value, one.free["x"], one.long.seconds = "EUR", 0, [1, None], 3
                one.empty.SetInParent()
            else:
                one.road, one.extra["k"] = "", number
            for _ in range(number % 4):
                one.parts.add().units = number
                one.times.add().seconds = number
            one.known[number % 3 == 0].units = 1
        else:
            one.i, one.packed[:], one.es[:], one.f = number, [-1] * (number % 4), [0, 7][: number % 3], 1
            if number % 2:
                one.inner.a, one.g.z, one.e, one.u, one.d = 1, number, 7, 2**64 - 1, float(number)
            one.m[number].a = 2
            one.many.add(a=3)
        found.append(one.SerializePartialToString())
    return ProtobufReader(compiled, None), ProtobufColumn(compiled, None), found


def agrees(column: Any, value: Any) -> bool:
    """Whether a row of a column is what the row reader has."""
    if isinstance(value, dict) and isinstance(column, list):
        return len(column) == len(value) and all(agrees(each, value[key]) for key, each in column)
    if isinstance(value, dict) and isinstance(column, dict):
        return all(agrees(each, value.get(name)) for name, each in column.items())
    if isinstance(value, list) and isinstance(column, list):
        return len(column) == len(value) and all(map(agrees, column, value))
    if isinstance(column, datetime.datetime):
        return column == datetime.datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", value))
    if isinstance(column, float) and column == column:
        return column == value or struct.pack("<f", column) == struct.pack("<f", value)
    return (
        repr(column) == repr(value) or column == str(value) or (isinstance(value, dict) and column[0] == "{")
    )


@pytest.mark.parametrize("schema", [THREE, TWO], ids=["proto3", "proto2"])
def test_columns_are_what_rows_are(schema: str) -> None:
    reader, column, good = seeds(schema)
    chance, rows = random.Random(11), list(good)
    for _ in range(1_500):
        data = bytearray(chance.choice(good) + (chance.choice(good) if chance.random() < 0.3 else b""))
        for _ in range(chance.randint(0, 3)):
            data[chance.randrange(len(data))] = chance.choice(
                [0, 1, 2, 8, 127, 128, 255, chance.randrange(256)]
            )
        rows.append(bytes(data[: chance.randint(0, len(data))] if chance.random() < 0.2 else data))
    found, reasons = column.decode(pa.array(rows, pa.binary()))
    found.validate(full=True)
    assert found.type == column.type and not reasons.keys() & set(range(len(good)))
    for row, (data, shown) in enumerate(zip(rows, found.to_pylist(), strict=True)):
        assert (shown is None) == (row in reasons)
        if shown is not None:
            assert agrees(shown, reader.decode(data)), (data, shown)
    assert len(rows) / 4 < len(reasons) < len(rows)


def test_one_text_that_is_no_utf8_is_one_reason() -> None:
    """The library does not check texts of proto2."""
    _, column, good = seeds(TWO)
    bad = bytes.fromhex("12060801120280ff")
    found, reasons = column.decode(pa.array([good[1], bad, good[2]], pa.binary()))
    assert found.is_valid().to_pylist() == [True, False, True]
    assert list(reasons) == [1] and "utf8" in reasons[1]


def test_few_bytes_are_no_many_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = "".join(f"int64 f{number} = {number};" for number in range(1, 201))
    schema = f'syntax = "proto3"; message Rows {{ message Wide {{ {wide} }} repeated Wide rows = 1; }}'
    column = ProtobufColumn(compile_schema(Schema("protobuf", schema), {}), None)
    monkeypatch.setattr(protobuf_columns, "MOST_BYTES", 1 << 20)
    found, reasons = column.decode(pa.array([b"\x0a\x00" * 1_000, b"\x0a\x00"], pa.binary()))
    assert found.is_valid().to_pylist() == [False, True] and "its columns may take" in reasons[0]
