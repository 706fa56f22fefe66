"""Schemas of any kind and shape, and values that are not of theirs: a value or a reason, never an error."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kodec
from kodec.log.directories.partition import PartitionLog
from kodec.log.values import avro_reader, protobuf
from kodec.log.values.avro import parse
from kodec.log.values.avro_columns import AvroColumn
from kodec.log.values.decoder import DecodedValue, ValueDecoder
from kodec.log.values.schema_folder import SchemaFolder
from kodec.log.values.schema_topic import SchemaTopic
from kodec.log.values.schemas import BadSchema, Schema, SchemaSource, UnknownSchema
from kodec.runtime.errors import ArgumentError
from kodec.runtime.varint import write_uvarint32
from tests.golden import Golden
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
        ({"type": "record", "name": "L", "fields": [{"name": "n", "type": "L"}]}, "nested deeper than 100"),
        ("null" * 3, "schema 1: "),
        (record("int") | {"fields": [{"name": 1, "type": "int"}]}, "the name of a field is no text: 1"),
        (record("int") | {"fields": [{"name": "a", "type": "int"}] * 2}, "fields of the same name: a, a"),
        (record("int") | {"aliases": "R2"}, "aliases are no list of names"),
        (
            {"type": "record", "name": "A", "fields": [{"name": "x", "type": "int", "aliases": [[]]}]},
            "aliases are no list of names",
        ),
        ([{"type": "fixed", "name": f"f{n}", "size": 1} for n in range(1_001)], "more than 1,000 types"),
    ],
)
def test_a_schema_that_is_none_or_has_no_bound(schema: Any, reason: str) -> None:
    found = decoded(schema, b"\x02" * 50)
    assert found.value == b"\x02" * 50 or not reason
    assert reason in found.reason


def test_a_union_is_not_searched_for_each_of_its_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """A schema of 4 MiB with a union of 80,000 types took an hour."""
    union = parse(
        Schema(
            "avro", json.dumps([{"type": "enum", "name": f"e{n}", "symbols": ["A"]} for n in range(1_000)])
        ),
        {},
    )
    count = 0
    match = avro_reader._Readers._match

    def counted(*given: Any, **options: Any) -> bool:
        nonlocal count
        count += 1
        return match(*given, **options)

    monkeypatch.setattr(avro_reader._Readers, "_match", counted)
    assert avro_reader.AvroReader(union, union, columns=True).decode(b"\xce\x0f\0") == ("e999", "A")
    assert count <= 2_000


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
        # what follows took the compiler time that grows with the square of the size, or worse
        (PROTO + "/*" * 2_000_000, "is no part of a .proto text"),
        (PROTO + "/* " * 1_300_000, "line 1: the comment does not end"),
        (PROTO + "\n\n/* " + "/* " * 1_300_000, "line 3: the comment does not end"),
        (PROTO + "@" * 4_000_000, "line 1: '@' is no part of a .proto text"),
        (PROTO + '"\n' * 2_000_000, "is no part of a .proto text"),
        (PROTO + "'" * 4_000_000, "schema 1: "),
    ],
    ids=lambda each: str(each)[:40],
)
def test_a_proto_that_cannot_be_used(text: str, reason: str) -> None:
    data = b""
    for _ in range(3000):
        data = b"\x0a" + write_uvarint32(len(data)) + data
    found = decoded(text, data, "protobuf")
    assert found.value == data and reason in found.reason


def test_comments_and_texts_of_a_proto_are_told_apart() -> None:
    text = (
        "/* a \n \"quote */ // { [ ' \n"
        'syntax = "proto3"; /*/ not the end /* nor here */ message A { // }}}}\n'
        """  string a = 1; /**/ option (x) = "//\\"/*"; option (x) = '/*'; } """
        'import "google/protobuf/descriptor.proto"; message B { } '
        "extend google.protobuf.MessageOptions { repeated string x = 50000; }"
    )
    found = decoded(text, b"\x0a\x02hi", "protobuf")
    assert found.json == '{"a": "hi"}', found.reason
    # places in errors are those of the text
    assert "line 5" in decoded(text + "\n @", b"", "protobuf").reason


def test_the_compiler_has_a_budget(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    """Names that collide: 40 kB took half a minute."""
    monkeypatch.setattr(protobuf, "SECONDS", 1)
    text = PROTO + "message M {" + "int32 f = 1;" * 20_000 + "}"
    golden(decoded(text, b"", "protobuf").reason)
    monkeypatch.undo()
    large = PROTO + "message M {" + "".join(f"int32 f{n} = {n};" for n in range(1, 1_000)) + "}"
    assert decoded(large, b"\x08\x07", "protobuf").value["f1"] == 7
    assert "name 'X' is not defined" in decoded(large + "message N { X x = 1; }", b"", "protobuf").reason


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("00", "A"),
        ("0200", "A"),
        ("0202", "B"),
        ("040200", "C"),
        # unsigned
        ("0100", "A"),
        ("0101", "B"),
        ("020100", "C"),
    ],
)
def test_message_indexes_of_both_forms(path: str, name: str) -> None:
    """Of numbers that are no zigzag varints; by objects and by columns."""
    text = PROTO + "message A { int32 a = 1; } message B { message C { int32 c = 1; } int32 b = 1; }"
    data = bytes.fromhex("0000000001" + path + "082a")
    decoder = ValueDecoder(One(text, "protobuf"), framing="confluent")
    found = decoder.decode(data, topic="t")
    assert (found.value, found.reason) == ({name.lower(): 42}, "")
    column = decoder.decode_column(pa.array([data]), topic="t")
    # each kind of message has a column
    assert [list(each.values()) for each in column.values.to_pylist()] == [[found.value]]


@pytest.mark.parametrize(
    ("path", "name"), [("020001", "y"), ("020002", "z"), ("020000", "x"), ("040004", "z")]
)
def test_message_indexes_that_both_forms_can_read(path: str, name: str) -> None:
    """Zigzag, `02 00` is the path 0, and the data begins with a wrong tag: it is a path of two numbers."""
    nested = "".join(f"message {each.upper()} {{ int32 {each} = 1; }} " for each in "xyz")
    text = PROTO + f"message A {{ {nested} int32 a = 1; }}"
    decoder = ValueDecoder(One(text, "protobuf"), framing="confluent")
    data = bytes.fromhex("0000000001" + path + "082a")
    found = decoder.decode(data, topic="t")
    assert (found.value, found.reason) == ({name: 42}, "")
    column = decoder.decode_column(pa.array([data]), topic="t")
    assert [list(each.values()) for each in column.values.to_pylist()] == [[found.value]]


@pytest.mark.parametrize("path", ["", "01", "03010101", "7f00", "ffffffff0f", "80"])
def test_message_indexes_of_neither_form(path: str) -> None:
    decoder = ValueDecoder(One(PROTO + "message A { int32 a = 1; }", "protobuf"), framing="confluent")
    found = decoder.decode(bytes.fromhex("0000000001" + path), topic="t")
    assert found.reason and found.value == bytes.fromhex("0000000001" + path)


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


def test_json_needs_no_schema(golden: Golden) -> None:
    decoder = ValueDecoder(format="json-schema")
    assert decoder.decode(b"\0\0\0\0\1[1]").value == [1]
    golden(ValueDecoder(format="avro").decode(b"\0\0\0\0\1\2").reason)


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


def test_the_topic_of_karapace(tmp_path: Path) -> None:
    """As `send_schema_message` and its like in karapace/core/schema_registry.py write it."""

    def schema(subject: str, number: int, schema_id: int, **more: Any) -> tuple[Any, Any]:
        key = {"subject": subject, "version": number, "magic": 1, "keytype": "SCHEMA"}
        value = {"subject": subject, "version": number, "id": schema_id, "schema": '"int"', "deleted": False}
        return key, value | more

    source = topic(
        tmp_path,
        [
            ({"subject": None, "magic": 0, "keytype": "CONFIG"}, {"compatibilityLevel": "BACKWARD"}),
            schema("s", 1, 1),
            schema("s", 2, 2, schema="{}", schemaType="JSON"),
            schema("s", 2, 2, schema="{}", schemaType="JSON", deleted=True),
            schema("gone", 1, 3),
            ({"subject": "gone", "magic": 0, "keytype": "DELETE_SUBJECT"}, {"subject": "gone", "version": 1}),
            (schema("gone", 1, 3)[0], None),
            ({"subject": "s", "magic": 0, "keytype": "CONFIG"}, None),
        ],
    )
    assert source.unknown == {}
    assert source.by_subject("s").id == 1 and source.by_subject("s", 2).kind == "json-schema"
    assert source.by_id(3).subject == "gone"
    with pytest.raises(UnknownSchema):
        source.by_subject("gone")


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


AVRO = [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"]}]
RIGHT = {
    "avro": (b"\x0a\x02\x04hi", {"id": 5, "note": "hi"}),
    "protobuf": (b"\x08\x05\x12\x02hi", {"id": 5, "note": "hi"}),
    "json-schema": (b'{"id": 5}', {"id": 5}),
}


@pytest.fixture
def plain_schemas(tmp_path: Path) -> SchemaFolder:
    """Of each kind the schema of the values of a topic with its name; 10 is their id too."""
    avro = {"type": "record", "name": "R", "fields": AVRO}
    (tmp_path / "avro-value.avsc").write_text(json.dumps(avro))
    (tmp_path / "protobuf-value.proto").write_text(
        'syntax = "proto3"; message R { int64 id = 1; string note = 2; }'
    )
    (tmp_path / "json-schema-value.json").write_text('{"type": "object"}')
    return SchemaFolder(tmp_path)


@pytest.mark.parametrize("kind", RIGHT)
@pytest.mark.parametrize(
    ("change", "is_right"),
    [
        (lambda data: data, True),
        (lambda data: data + b"\0", False),
        (lambda data: data + data[:1], False),
        (lambda data: data + b"\0\0\0\0\x0a", False),
        (lambda data: b"\0\0\0\0\x0a" + data, False),
        (lambda data: b"\0\0\0\0\x0a\0" + data, False),
        (lambda data: data[:-1], False),
    ],
    ids=["whole", "a zero more", "a part again", "five bytes more", "framed", "framed, with an index", "cut"],
)
@pytest.mark.parametrize("number", [1, 3], ids=["one", "several"])
def test_a_value_is_decoded_to_its_end_or_not(
    plain_schemas: SchemaFolder, kind: str, change: Any, is_right: bool, number: int
) -> None:
    """Values without a framing, the last of which may have other bytes; by objects and by columns."""
    whole, value = RIGHT[kind]
    data = change(whole)
    decoder = ValueDecoder(plain_schemas, framing="none")
    found = decoder.decode(data, topic=kind)
    assert (found.value, bool(found.reason)) == ((value, False) if is_right else (data, True))
    column = decoder.decode_column(pa.array([*[whole] * (number - 1), data]), topic=kind)
    reasons = column.reason.to_pylist()
    assert reasons[:-1] == [None] * (number - 1)
    assert (reasons[-1] is None) is is_right


def test_a_module_in_the_working_directory_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logs may lie in another user's folder, and `python -c` imports from where it runs first."""
    pytest.importorskip("protoxy")
    made = tmp_path / "made"
    for name in ("protoxy", "sys", "os", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text(f"open({str(made)!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    text = PROTO + "message A { int32 a = 1; }"
    text += "".join(f"message M{at} {{ int32 a = 1; }}\n" for at in range(300))
    assert len(text) > protobuf._FEW_BYTES
    decoder = ValueDecoder(One(text, "protobuf"), framing="none")
    assert decoder.decode(b"\x08\x07", topic="t").value == {"a": 7}
    assert not made.exists()


ANY_JSON = [None, True, -1, 0, 10**30, 1.5, "", "x", "int", [], {}, ["int"], [[]], {"type": "int"}]


def test_any_part_of_a_schema_may_be_anything() -> None:
    """Each part of a schema with each kind of JSON in its place: a schema, or one that is refused."""
    fields: list[Any] = [
        {"name": "a", "type": ["null", "string"], "default": None, "aliases": ["b"]},
        {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}},
        {"name": "f", "type": {"type": "fixed", "name": "F", "size": 16, "logicalType": "uuid"}},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"], "default": "A"}},
        {"name": "m", "type": {"type": "map", "values": {"type": "array", "items": "F"}}},
        {"name": "t", "type": {"type": "long", "logicalType": "timestamp-micros"}, "default": 7},
    ]
    whole = {"type": "record", "name": "R", "namespace": "n", "aliases": ["Q"], "fields": fields}

    def parts(tree: Any) -> Iterable[tuple[Any, Any]]:
        for key in tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
            yield tree, key
            yield from parts(tree[key])

    taken = refused = 0
    for tree, key in parts(whole):
        part = tree[key]
        for other in ANY_JSON:
            tree[key] = other
            try:
                schema = parse(Schema("avro", json.dumps(whole)), {})
            except BadSchema:
                refused += 1
            else:
                taken += 1
                AvroColumn(schema)
                for payload in (b"", b"\x02" * 60, b"\0" * 80):
                    with suppress(ValueError):
                        avro_reader.AvroReader(schema).decode(payload)
        tree[key] = part
    assert taken > 50
    assert refused > 300


@pytest.mark.parametrize("scale", [None, {}, [], "2", True, 0.0, 1.5, -1, 5])
def test_a_decimal_that_is_not_valid_is_its_bytes(scale: Any) -> None:
    """As in Java, which ignores a logical type that is not valid; the library refuses some of them."""
    schema = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": scale}
    try:
        found = parse(Schema("avro", json.dumps(schema)), {})
    except BadSchema:
        return
    assert AvroColumn(found).type == pa.binary()
    assert avro_reader.AvroReader(found).decode(b"\x02\x0a") == b"\x0a"
