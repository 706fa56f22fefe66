"""Schemas of any kind and shape, and values that are not of theirs: a value or a reason, never an error."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kodec
from kodec.log.directories.partition import PartitionLog
from kodec.log.values.decoder import DecodedValue, ValueDecoder
from kodec.log.values.schema_folder import SchemaFolder
from kodec.log.values.schema_topic import SchemaTopic
from kodec.log.values.schemas import BadSchema, Schema, SchemaSource, UnknownSchema
from kodec.runtime.errors import ArgumentError
from kodec.runtime.varint import write_uvarint32
from tests.log.values.test_samples import LOGS


class One(SchemaSource):
    """A source with one schema."""

    def __init__(self, text: Any, kind: Any = "avro") -> None:
        self.schema = Schema(kind, text if isinstance(text, str) else json.dumps(text), id=1)

    def by_id(self, schema_id: object, subject: str = "") -> Schema:
        return self.schema

    def by_subject(self, subject: str, version: int | None = None) -> Schema:
        return self.schema


def decoded(schema: Any, payload: bytes, kind: str = "avro") -> DecodedValue:
    return ValueDecoder(One(schema, kind), framing="none").decode(payload, topic="t")


def record(kind: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [{"name": "a", "type": kind}]}


LIST = {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}


@pytest.mark.parametrize(
    ("schema", "payload", "said"),
    [
        ("int", b"\x02", "1"),
        ('"string"', b"\x02a", '"a"'),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, b"\x02\x0a", '"0.10"'),
        (record("double"), bytes.fromhex("000000000000f87f"), '{"a": "NaN"}'),
        (record("double"), bytes.fromhex("000000000000f0ff"), '{"a": "-Infinity"}'),
        (record({"type": "long", "logicalType": "local-timestamp-millis"}), b"\x02", None),
        (LIST, b"\x02\x02\x00", '{"next": {"next": {"next": null}}}'),
    ],
)
def test_json_of_a_value(schema: Any, payload: bytes, said: str | None) -> None:
    found = decoded(schema, payload)
    assert found.reason == ""
    assert found.json == (said or '{"a": "1970-01-01T00:00:00.001000"}')


def test_decimals_are_exact() -> None:
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 40, "scale": 2}
    assert decoded(record(kind), b"\x02\x01").value == {"a": Decimal("0.01")}


def nested(depth: int) -> Any:
    schema: Any = "int"
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


def doubled(depth: int, leaf: str) -> Any:
    """Each record has the next one twice: 2**depth leaves of a few types."""
    schema: Any = leaf
    for number in range(depth):
        fields = [{"name": "x", "type": schema}]
        fields.append({"name": "y", "type": leaf if number == 0 else f"R{number - 1}"})
        schema = {"type": "record", "name": f"R{number}", "fields": fields}
    return schema


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("{", "not JSON"),
        ("{}", "schema 1: "),
        ('{"type": "nothing"}', "is unknown"),
        ('{"type": 7}', "schema 1: "),
        ("[" * 100_000, "not JSON"),
        (nested(90), ""),
        (nested(250), "nested deeper than 100"),
        ({"type": "array", "items": "null"}, "no bound"),
        (record({"type": "array", "items": {"type": "record", "name": "E", "fields": []}}), "no bound"),
        (doubled(40, "null"), "more types than are supported"),
        (doubled(40, "int"), "more types than are supported"),
        ({"type": "record", "name": "L", "fields": [{"name": "n", "type": "L"}]}, "RecursionError"),
        ("null" * 3, "schema 1: "),
    ],
)
def test_a_schema_that_is_none_or_has_no_bound(schema: Any, reason: str) -> None:
    found = decoded(schema, b"\x02" * 50)
    assert found.value == b"\x02" * 50 or not reason
    assert reason in found.reason


@pytest.mark.parametrize(
    "payload", [b"", b"\xff" * 30, b"\x02" * 200, b"\x02" * 1_000_000 + b"\x00", b"\x02\x00"[:1]]
)
def test_data_that_nest_too_deep_or_end(payload: bytes) -> None:
    found = decoded(LIST, payload)
    assert found.value == payload and found.reason.startswith("not decoded by schema 1: ")


PROTO = 'syntax = "proto3"; '


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no proto", "schema 1: "),
        (PROTO, "no message at [0]"),
        (PROTO + 'import "/etc/hosts"; message A {}', "schema 1: "),
        (PROTO + 'import "../a.proto"; message A {}', "schema 1: "),
        (PROTO + 'import "a.proto"; message A {}', "schema 1: "),
        (PROTO + "message A {" * 50_000, "nested deeper than 100"),
        (PROTO + "message A { A a = 1; }", "DecodeError"),
        ("AAAA", "schema 1: "),
    ],
)
def test_a_proto_that_cannot_be_used(text: str, reason: str) -> None:
    data = b""
    for _ in range(3000):
        data = b"\x0a" + write_uvarint32(len(data)) + data
    found = decoded(text, data, "protobuf")
    assert found.value == data and reason in found.reason


def test_protobufs_own_types() -> None:
    text = (
        'syntax = "proto2"; import "google/protobuf/any.proto"; import "google/protobuf/struct.proto"; '
        'import "google/protobuf/wrappers.proto"; message A { optional int32 a = 1 [default = 5]; '
        "optional google.protobuf.Any any = 2; optional google.protobuf.Struct s = 3; "
        "optional google.protobuf.Int64Value v = 4; map<bool, A> m = 5; extensions 100 to 200; "
        "enum E { X = 1; } optional E e = 6; optional float f = 7; } extend A { optional string more = 100; }"
    )
    data = bytes.fromhex(
        "2206 08ffffffff0f 1200 2a06 0801 1202 0802 30 01 3d 0000807f a20601 78".replace(" ", "")
    )
    found = decoded(text, data, "protobuf")
    assert found.reason == ""
    assert json.loads(found.json) == {
        "any": {},
        "v": 2**32 - 1,
        "m": {"true": {"a": 2, "m": {}}},
        "e": "X",
        "f": "Infinity",
        "[more]": "x",
    }


@pytest.mark.parametrize("payload", [b"", b"{", b"[" * 200 + b"]" * 200, b"[" * 100_000, b"\xff"])
def test_no_json(payload: bytes) -> None:
    found = decoded("{}", payload, "json-schema")
    assert found.value == payload and found.reason


def test_json_needs_no_schema() -> None:
    decoder = ValueDecoder(format="json-schema")
    assert decoder.decode(b"\0\0\0\0\1[1]").value == [1]
    assert ValueDecoder(format="avro").decode(b"\0\0\0\0\1\2").reason == "no source of schemas is given"


@given(st.binary(max_size=80))
def test_any_bytes_give_a_value_or_a_reason(data: bytes) -> None:
    for source in (
        One(record(["null", "string", LIST])),
        One(PROTO + "message A { string a = 1; A b = 2; }", "protobuf"),
    ):
        for framing in ("auto", "confluent", "apicurio", "glue", "none"):
            found = ValueDecoder(source, framing=framing).decode(data, topic="t")
            assert found.reason == "" or found.value == data
            json.loads(found.json)


def test_arguments() -> None:
    with pytest.raises(ArgumentError, match="format='text': expected one of auto, avro"):
        ValueDecoder(format="text")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="framing='x'"):
        ValueDecoder(framing="x")  # type: ignore[arg-type]


def topic(path: Path, records: Iterable[tuple[Any, Any]]) -> SchemaTopic:
    """A topic with these records, each a key and a value."""

    def text(value: Any) -> bytes | None:
        return value if value is None or isinstance(value, bytes) else json.dumps(value).encode()

    with kodec.LogDirectoryWriter(path) as writer:
        log = writer.partition("_schemas", 0)
        log.append([kodec.Record(key=text(key), value=text(value)) for key, value in records])
    return SchemaTopic(kodec.PartitionLog(path / "_schemas-0"))


def version(subject: str, number: int, schema_id: int, **more: Any) -> tuple[Any, Any]:
    key = {"keytype": "SCHEMA", "subject": subject, "version": number, "magic": 1}
    return key, {"subject": subject, "version": number, "id": schema_id, "schema": '"int"', **more}


def test_the_topic_of_a_registry(tmp_path: Path) -> None:
    reference = [{"name": "a", "subject": "s", "version": 1}]
    source = topic(
        tmp_path,
        [
            version("s", 1, 1),
            version("s", 2, 2, schema='"long"'),
            version("s", 3, 3, deleted=True),
            version("gone", 1, 4),
            (version("gone", 1, 4)[0], None),
            version("many", 1, 5),
            version("many", 2, 6),
            ({"keytype": "DELETE_SUBJECT", "subject": "many"}, {"subject": "many", "version": 2}),
            ({"keytype": "CLEAR_SUBJECT", "subject": "many"}, {"subject": "many"}),
            ({"keytype": "CONFIG", "subject": "other"}, {"alias": "s"}),
            version(":.test:s", 1, 1, schema='"string"', references=reference),
            version(":.test:t", 1, 77, schema='"string"', references=reference),
            version(":.more:t", 1, 78),
            version(":.else:t", 1, 78),
            version("x", 1, 9, schemaType="XML"),
            ({"keytype": "MODE", "subject": None}, {"mode": "READWRITE"}),
            ({"keytype": "NOOP"}, None),
            ({"keytype": "WHO"}, b"{"),
            (b"[" * 100_000, b"\xff"),
            (None, None),
        ],
    )
    assert source.unknown == {"schemaType XML": 1, "WHO": 1, "None": 2}
    assert source.by_subject("s").version == 2
    assert source.by_subject("s", 3).id == 3
    assert source.by_subject("other").id == 2
    assert [source.by_id(number).id for number in (1, 2, 3, 4, 5, 6, 77)] == [1, 2, 3, 4, 5, 6, 77]
    assert source.by_id(1).text == '"int"'
    assert source.by_id(77).references[0].subject == ":.test:s"
    for subject in ("gone", "many", "nobody"):
        with pytest.raises(UnknownSchema, match=f"{subject} is not in"):
            source.by_subject(subject)
    with pytest.raises(UnknownSchema, match=r"each of the contexts \.else, \.more"):
        source.by_id(78)


def test_references_in_a_circle(tmp_path: Path) -> None:
    records = [
        version(
            "a",
            1,
            1,
            schema='{"type": "array", "items": "b"}',
            references=[{"name": "b", "subject": "b", "version": 1}],
        ),
        version(
            "b",
            1,
            2,
            schema='{"type": "array", "items": "a"}',
            references=[{"name": "a", "subject": "a", "version": 1}],
        ),
    ]
    found = ValueDecoder(topic(tmp_path, records)).decode(b"\0\0\0\0\1\0")
    assert "type b is unknown" in found.reason


def test_names_of_files(tmp_path: Path) -> None:
    (tmp_path / "orders-value.avsc").write_text('"int"')
    (tmp_path / "clicks-value@3.avsc").write_text('"long"')
    (tmp_path / "clicks-value@12.avsc").write_text('"string"')
    (tmp_path / "README.md").write_text("not a schema")
    source = SchemaFolder(tmp_path)
    assert source.by_id(3).text == '"long"'
    assert source.by_id(99, "orders-value").text == '"int"'
    assert source.by_subject("clicks-value").text == '"string"'
    with pytest.raises(UnknownSchema, match="no file named 99 or clicks-value"):
        source.by_id(99, "clicks-value")
    (tmp_path / "3.avsc").write_text('"int"')
    with pytest.raises(BadSchema, match=r"3\.avsc and clicks-value@3\.avsc are both the schema 3"):
        SchemaFolder(tmp_path)


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.avsc").write_text('"int"')
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside/1.avsc").symlink_to(tmp_path / "secret.avsc")
    with pytest.raises(UnknownSchema):
        SchemaFolder(tmp_path / "inside").by_id(1)


def test_a_topic_that_grows_is_read_on(tmp_path: Path) -> None:
    shutil.copytree(LOGS / "_schemas-0", tmp_path / "_schemas-0")
    file = tmp_path / "_schemas-0" / f"{0:020d}.log"
    batches = [bytes(each.data) for each in kodec.read_batches(file)]
    file.write_bytes(b"".join(batches[:2]))
    source = SchemaTopic(PartitionLog(tmp_path / "_schemas-0"))
    for each in (lambda: source.by_id(2), lambda: source.by_subject("orders-value")):
        with pytest.raises(UnknownSchema, match="is not in"):
            each()
    # what is not whole yet is not there yet
    file.write_bytes(b"".join(batches)[:-1])
    assert source.by_id(2).subject == "orders-value"
    file.write_bytes(b"".join(batches))
    newest = source.by_subject("orders-value")
    assert (newest.id, newest.version) == (3, 2)
