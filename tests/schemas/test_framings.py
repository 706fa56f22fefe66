"""Framings of schema registries, as their own serializers write them (tests/data/framings/make.py)."""

from __future__ import annotations

import dataclasses
import importlib
import json
import zlib
from enum import Enum
from typing import Any
from uuid import UUID

import pytest

from kodec.runtime.errors import Malformed, Truncated
from tests.data import DATA

PLACE = DATA / "framings/framings.json"
FOUND = json.loads(PLACE.read_text())


def codec(schema: str) -> Any:
    module = importlib.import_module(f"kodec.generated.framings.{schema}")
    return getattr(module, "".join(part.capitalize() for part in schema.split("_")))


def plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, (bytes, memoryview)):
        return bytes(value).hex()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    return [plain(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("written", FOUND, ids=lambda each: f"{each['by']}: {each['bytes'][:12]}")
def test_what_a_serializer_wrote_is_read_and_written_again(written: dict[str, Any]) -> None:
    data = bytes.fromhex(written["bytes"])
    value = codec(written["schema"]).from_bytes(data)
    assert plain(value) == written["value"]
    assert value.to_bytes() == data


def test_zlib_of_glue_is_one_stream() -> None:
    (written,) = (each for each in FOUND if each["value"].get("compression") == 5)
    assert zlib.decompress(codec("glue_value").from_bytes(bytes.fromhex(written["bytes"])).payload) == b"data"


def test_the_first_message_may_be_written_in_full() -> None:
    long = codec("confluent_protobuf_value").from_bytes(bytes.fromhex("00000000010200ff"))
    short = codec("confluent_protobuf_value").from_bytes(bytes.fromhex("000000000100ff"))
    assert (long.message_indexes, short.message_indexes) == ([0], [])
    assert long.payload == short.payload == b"\xff"


@pytest.mark.parametrize(
    ("name", "data", "error"),
    [
        ("confluent_value", "02", Malformed),
        ("confluent_value", "00000001", Truncated),
        ("confluent_protobuf_value", "000000000101", Malformed),
        ("confluent_protobuf_value", "0000000001feffffff0f", Truncated),
        ("apicurio_value", "0000000000000000", Truncated),
        ("glue_value", "02" + "00" * 17, Malformed),
        ("glue_value", "0301" + "00" * 16, Malformed),
    ],
)
def test_what_is_no_framing_is_refused(name: str, data: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        codec(name).from_bytes(bytes.fromhex(data))
