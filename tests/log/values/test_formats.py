"""Bytes in formats for people, and back."""

from __future__ import annotations

import json

import pytest

import kodec
from kodec.log.values.decoder import ValueDecoder
from kodec.log.values.formats import ReadableValue, ValueFormat, bytes_of, readable, readable_record
from kodec.log.values.schemas import Schema, SchemaId, SchemaSource, UnknownSchema
from kodec.runtime.errors import ArgumentError


@pytest.mark.parametrize(
    ("data", "wanted", "said"),
    [
        (b"caf\xc3\xa9", "auto", ("text", "caf\u00e9", "")),
        (b'{"a": 1.50,\n "b": [1e400]}', "auto", ("json", '{"a": 1.50,  "b": [1e400]}', "")),
        (b" [1]\n", "auto", ("json", "[1]", "")),
        (b"17", "auto", ("text", "17", "")),
        (b"17", "json", ("json", "17", "")),
        (b"{not json}", "auto", ("text", "{not json}", "")),
        (b'{"a": NaN}', "auto", ("text", '{"a": NaN}', "")),
        (b"[" * 100_000, "auto", ("text", "[" * 100_000, "")),
        (b"", "auto", ("text", "", "")),
        (b"\x00\x01", "auto", ("base64", "AAE=", "")),
        (b"\xff", "auto", ("base64", "/w==", "")),
        (b"\xff", "text", ("base64", "/w==", "not UTF-8 at byte 0")),
        (b"\x00", "text", ("text", "\0", "")),
        (b"\xff\x00", "hex", ("hex", "ff00", "")),
        (b"a", "base64", ("base64", "YQ==", "")),
    ],
)
def test_a_format(data: bytes, wanted: ValueFormat, said: tuple[str, str, str]) -> None:
    found = readable(data, wanted)
    assert found == ReadableValue(*said)
    # whatever it is, it is a value in JSON
    json.loads(f'{{"value": {found.json}}}') if found.text[:9] != "[" * 9 else None


def test_no_json() -> None:
    found = readable(b"{", "json")
    assert found is not None
    assert (found.format, found.text) == ("base64", "ew==") and found.reason.startswith("not JSON: ")
    assert readable(None, "json") is None


def test_messages_of_kafkas_own_topics() -> None:
    key = b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00"
    said = readable_record("__consumer_offsets", kodec.Record(key=key, value=None, headers=(("h", b"\xff"),)))
    assert said.key is not None and said.key.format == "kafka"
    assert json.loads(said.key.json)["data"] == {"group": "g", "topic": "t", "partition": 0}
    assert said.value is None
    assert said.headers == (("h", ReadableValue("base64", "/w==")),)
    plain = readable_record("orders", kodec.Record(key=key, value=b"v"), "hex")
    assert plain.key == ReadableValue("hex", key.hex())
    unknown = readable_record("__consumer_offsets", kodec.Record(key=b"\x7f\xff", value=b"v"))
    assert unknown.key is not None and unknown.key.reason


class NoSchemas(SchemaSource):
    """A source that has none."""

    def by_id(self, id: SchemaId, subject: str = "") -> Schema:
        raise UnknownSchema(f"no schema with id {id}")

    def by_subject(self, subject: str, version: int | None = None) -> Schema:
        raise UnknownSchema(f"no subject {subject}")


def test_an_unknown_schema_is_named() -> None:
    decoder = ValueDecoder(NoSchemas())
    framed = b"\0\0\0\0\x2a\x06abc"
    found = readable_record("t", kodec.Record(key=b"k", value=framed), decoder=decoder)
    assert found.value == ReadableValue("base64", "AAAAACoGYWJj", "no schema with id 42")
    assert found.key == ReadableValue("text", "k")
    # a header names it, and the value itself is text
    record = kodec.Record(value=b"text", headers=(("__value_schema_id", b"\0\0\0\0\x07"),))
    assert readable_record("t", record, decoder=decoder).value == ReadableValue(
        "text", "text", "no schema with id 7"
    )
    # bytes that no registry frames
    other = readable_record("t", kodec.Record(value=b"\xff\0"), decoder=decoder)
    assert other.value == ReadableValue("base64", "/wA=")


@pytest.mark.parametrize("form", ["text", "auto", "json"])
def test_text_is_bytes(form: ValueFormat) -> None:
    assert bytes_of("caf\u00e9", form) == b"caf\xc3\xa9"


def test_words_that_are_no_bytes() -> None:
    assert bytes_of("00ff", "hex") == b"\0\xff" and bytes_of("AP8=", "base64") == b"\0\xff"
    for text, form in (("0", "hex"), ("zz", "hex"), ("?", "base64"), ("YQ", "base64")):
        with pytest.raises(ArgumentError, match=f"is not {form}"):
            bytes_of(text, form)  # type: ignore[arg-type]
