"""Frames of Kafka Streams, and hostile bytes. test_topics_lab.py compares them with Kafka's classes."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kodec
from kodec.errors import ArgumentError, FormatError
from kodec.log.messages.decoding import decode, has_messages
from kodec.log.messages.streams import FRAMES, frames_of, read_frame
from kodec.log.values.formats import FORMATS, readable, readable_record
from tests.other_topics import OTHER

pytestmark = pytest.mark.quick
OWNER = "app-owner-subscription-store-changelog"


@given(st.binary(max_size=80), st.sampled_from(FRAMES), st.one_of(st.none(), st.binary(max_size=2)))
def test_any_bytes_are_parts_or_a_format_error(data: bytes, frame: str, version: bytes | None) -> None:
    for headers in (None, [("v", version)]):
        with suppress(FormatError):
            assert isinstance(read_frame(frame, data, headers), dict)  # type: ignore[arg-type]
    found = readable(data, frame)  # type: ignore[arg-type]
    assert found is not None and (found.format == frame) == (not found.reason)
    if not found.reason:
        json.loads(found.json)
    record = kodec.Record(key=data, value=data, headers=(("v", version),))
    for topic in (OWNER, "app-x-changelog", "app-pairs-outer-shared-join-store-changelog"):
        for part in decode(topic, record):
            assert part is None or json.loads(part.text())


def test_versions_of_suppressed_values_come_from_the_header() -> None:
    time = (5).to_bytes(8, "big")
    old, new = b"\xff\xff\xff\xff", b"\0\0\0\1n"
    expected = {"version": 0, "time": 5, "oldValue": None, "newValue": b"n"}
    assert read_frame("suppressed", time + old + new, ()) == expected
    assert read_frame("suppressed", time + old + new) == expected
    with pytest.raises(FormatError):
        read_frame("suppressed", time + old + new, [("v", b"\3")])
    # not a version: as without a header
    assert read_frame("suppressed", time + old + new, [("v", b"\3\3")]) == expected


def test_a_frame_that_does_not_exist() -> None:
    with pytest.raises(ArgumentError, match="expected one of windowed, window-store"):
        read_frame("window", b"")  # type: ignore[arg-type]


def test_topics_whose_names_show_no_frame() -> None:
    assert frames_of("app-counts-changelog") is None and frames_of("orders") is None
    assert has_messages("app-counts-changelog") and not has_messages("app-counts-repartition")
    record = kodec.Record(key=b"k", value=b"v")
    assert decode("app-counts-changelog", record) == (None, None)
    shown = readable_record("app-counts-changelog", record)
    assert shown.key is not None and shown.key.text == "k"


def test_a_record_of_other_contents_is_shown_as_any() -> None:
    record = kodec.Record(key=b"k", value=b"{}")
    assert decode(OWNER, record) == (None, None)
    shown = readable_record(OWNER, record)
    assert shown.value is not None and shown.value.format == "json"


def test_inner_bytes_are_readable_with_a_frame_as_the_format() -> None:
    assert {*FRAMES} < {*FORMATS}
    for record in kodec.read_records(OTHER / "A", topics=["app-counts-changelog"]):
        shown = readable_record("app-counts-changelog", record, "window-store").key
        assert shown is not None and shown.format == "window-store" and shown.is_json
        assert json.loads(shown.json)["key"] in ("user-0", "user-1")
    wrong = readable(b"short", "window-store")
    assert wrong is not None and wrong.format == "base64" and wrong.reason.startswith("not window-store: ")


def test_tables_have_the_parts_with_inner_bytes_in_base64() -> None:
    table = kodec.read_table(
        OTHER / "A", topics=[OWNER], columns=["key_decoded", "value_decoded"]
    ).to_pylist()
    first = {name: json.loads(value) for name, value in table[0].items()}
    assert first["key_decoded"]["data"] == {"foreignKey": "YzE=", "primaryKey": "cDE="}
    assert first["value_decoded"]["name"] == "subscription"
    assert any(row["value_decoded"] is None for row in table)
