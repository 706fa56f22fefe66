"""Which bytes are which field: every byte once, with the values of the readers, and up to the wrong byte."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import kodec
from kodec.formats.explain import Area, Explainer, Explanation
from tests.data import DATA, ROOT
from tests.languages.test_streams_plan import ALL

SCHEMAS = ROOT / "schemas" / "log"
LOGS = sorted((DATA).glob("kafka-*/logs/*/*.log"))


@pytest.fixture(scope="module")
def batches() -> Explainer:
    return Explainer(SCHEMAS / "record_batch.ksy")


@pytest.fixture(scope="module")
def messages() -> Explainer:
    return Explainer(SCHEMAS / "message_set.ksy")


def each_byte_once(found: Explanation) -> None:
    for area in found.areas:
        end = 0
        for part in area.parts:
            assert part.start == end and part.end >= part.start, (area.path, part)
            assert part.fields or part.note
            end = part.end
        assert end == len(area.data)


def whole_batches(path: Path) -> Iterator[kodec.Batch]:
    with kodec.Segment.of(path) as segment:
        yield from segment.batches(check_crc=False)


def fields(area: Area) -> dict[str, object]:
    return {each.path: each.value for part in area.parts for each in part.fields}


def test_logs_of_all_brokers(batches: Explainer, messages: Explainer) -> None:
    drawn = random.Random(100)
    files = drawn.sample([each for each in LOGS if 0 < each.stat().st_size < 200_000], 100)
    count = 0
    for path in files:
        for batch in list(whole_batches(path))[:6]:
            explainer = batches if batch.magic == 2 else messages
            found = explainer.explain(bytes(batch.data), position=batch.position)
            assert found.error is None
            each_byte_once(found)
            said = {name: value for area in found.areas for name, value in fields(area).items()}
            if batch.magic == 2:
                rows = list(batch.records(control=True))
                # a null has no bytes
                values = [said.get(f"records[{at}].body.value") for at in range(len(rows))]
                assert values == [each.value for each in rows]
                assert (said["base_offset"], said["crc"]) == (batch.base_offset, batch.crc)
            else:
                assert said["entries[0].message.crc"] == batch.crc
            count += 1
    assert count > 200


def test_what_is_compressed_is_an_area_of_its_own(batches: Explainer) -> None:
    path = DATA / "kafka-4.3.1/logs/codec-zstd-0/00000000000000000000.log"
    first = next(whole_batches(path))
    found = batches.explain(bytes(first.data) + b"more", position=0)
    outer, inner = found.areas
    assert inner.path == "records" and inner.note == f"zstd, {first.size - 61} bytes at byte 61"
    assert fields(inner)["records[0].body.key"] == b"only"
    assert outer.parts[-1].note == "behind the end" and outer.data[outer.parts[-1].start :] == b"more"
    bits = next(part for part in outer.parts if len(part.fields) > 1)
    assert (bits.start, bits.end) == (21, 23) and "attributes.compression" in [
        each.path for each in bits.fields
    ]
    assert [each.meaning for each in bits.fields if each.path == "attributes.compression"] == ["zstd"]


def test_damage_is_explained_up_to_it(batches: Explainer) -> None:
    data = bytes(next(whole_batches(LOGS[-1])).data)
    for end in range(len(data)):
        found = batches.explain(data[:end])
        assert found.error is not None
        each_byte_once(found)
    drawn = random.Random(7)
    refused = 0
    for _ in range(300):
        changed = bytearray(data)
        changed[drawn.randrange(16, len(data))] ^= 1 << drawn.randrange(8)
        found = batches.explain(bytes(changed))
        each_byte_once(found)
        refused += found.error is not None
    assert refused == 300  # by the checksum, if by nothing else


def test_tagged_sections_are_named() -> None:
    explainer = Explainer(ROOT / "schemas/messages/transaction_log_value.ksy")
    path = DATA / "kafka-4.3.1/logs/__transaction_state-0/00000000000000000000.log"
    seen = 0
    for record in kodec.read_records(path):
        if record.value:
            found = explainer.explain(record.value)
            assert found.error is None
            each_byte_once(found)
            seen += any("numbers and sizes" in part.note for part in found.areas[0].parts)
    assert seen


@pytest.mark.parametrize("row", ALL)
def test_streamed_schemas(row: str, tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text("meta: {id: x, endian: be}\n" + ALL[row].schema)
    explainer = Explainer(tmp_path / "x.ksy")
    data = ALL[row].data
    for end in range(len(data) + 1):
        each_byte_once(explainer.explain(data[:end]))


def test_what_does_not_fit_is_refused(batches: Explainer) -> None:
    with pytest.raises(ValueError, match="no type 'x'; types: record_batch, "):
        batches.explain(b"", "x")
    with pytest.raises(ValueError, match="takes none: 1 given"):
        batches.explain(b"", arguments=(1,))


def test_a_field_has_the_name_the_unit_and_the_sentence_of_its_schema(
    batches: Explainer, tmp_path: Path
) -> None:
    path = DATA / "kafka-4.3.1/logs/orders-0/00000000000000000000.log"
    data = bytes(next(whole_batches(path)).data)
    known = {each.path: each for part in batches.explain(data).areas[0].parts for each in part.fields}
    assert known["attributes.timestamp_type"].meaning == "create_time"
    assert known["len_batch"].unit == "bytes" and known["num_records"].unit == ""
    assert known["base_timestamp"].meaning == "2023-11-14 22:13:26.000 UTC"
    assert known["producer_epoch"].doc == "Epoch of that producer; -1 means none"
    assert known["records[0].body.timestamp_delta"].unit == "milliseconds"
    (tmp_path / "x.ksy").write_text(
        "meta: {id: x, endian: be}\nseq:\n- {id: when, type: s8, doc: Seconds since 1970.}\n"
        "- {id: kinds, type: u1, enum: kind, repeat: expr, repeat-expr: 2}\n"
        "instances: {first: {pos: 8, type: b4, enum: kind, doc: 'Not a size. Given in bytes.'}}\n"
        "enums: {kind: {0: none, 1: some}}\n"
    )
    explainer = Explainer(tmp_path / "x.ksy")
    for seconds, meaning in ((1, "1970-01-01 00:00:01.000 UTC"), (-1, ""), (2**62, "")):
        area = explainer.explain(seconds.to_bytes(8, "big", signed=True) + b"\1\7").areas[0]
        known = {each.path: each for part in (*area.parts, *area.others) for each in part.fields}
        assert [known[name].meaning for name in ("when", "kinds[0]", "kinds[1]")] == [meaning, "some", ""]
        assert known["first"].meaning == "none" and known["first"].doc == "Not a size"


def shown(found: Explanation) -> list[tuple[int, int, str]]:
    area = found.areas[0]
    parts = sorted((*area.parts, *area.others), key=lambda each: (each.start, each.end))
    shift = area.position
    return [(part.start + shift, part.end + shift, each.path) for part in parts for each in part.fields]


@pytest.mark.parametrize("most", [1, 7, 50])
def test_windows_have_every_field_once(batches: Explainer, most: int) -> None:
    path = DATA / "kafka-4.3.1/logs/orders-0/00000000000000000000.log"
    data = bytes(next(whole_batches(path)).data)
    whole = shown(batches.explain(data))
    found, start, seen = batches.explain(data, most=most), 0, []
    each_byte_once(found)
    while found.rest is not None and found.rest > start:
        seen += shown(found)
        start = found.rest
        found = batches.explain(data, start=start, most=most)
        each_byte_once(found)
    if most > 1:
        assert sorted(seen + shown(found)) == sorted(whole)
    else:
        # fewer than the bits of one byte
        assert found.rest == start
    rest = shown(batches.explain(data, start=200))
    assert sorted(rest) == sorted(each for each in whole if each[1] > 200 or each[0] == 200)


def test_content_before_the_start_is_left_out(batches: Explainer) -> None:
    first = bytes(next(whole_batches(DATA / "kafka-4.3.1/logs/codec-zstd-0/00000000000000000000.log")).data)
    assert len(batches.explain(first + b"more", start=60).areas) == 2
    (area,) = batches.explain(first + b"more", start=len(first)).areas
    assert [each.note for each in area.parts] == ["behind the end"] and area.position == len(first)


@pytest.mark.parametrize("row", ALL)
def test_windows_of_streamed_schemas(row: str, tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text("meta: {id: x, endian: be}\n" + ALL[row].schema)
    explainer = Explainer(tmp_path / "x.ksy")
    data = ALL[row].data
    for number in range(len(data) + 1):
        each_byte_once(explainer.explain(data, start=number))
        each_byte_once(explainer.explain(data, most=number))
