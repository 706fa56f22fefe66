"""Which bytes are which field: every byte once, with the values of the readers, and up to the wrong byte."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import kodec
from kodec.formats.explain import Area, Explainer, Explanation
from tests.languages.test_streams_plan import ALL

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "schemas" / "log"
LOGS = sorted((ROOT / "tests" / "data").glob("kafka-*/logs/*/*.log"))


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
    return {path: value for part in area.parts for path, value in part.fields}


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
    path = ROOT / "tests/data/kafka-4.3.1/logs/codec-zstd-0/00000000000000000000.log"
    first = next(whole_batches(path))
    found = batches.explain(bytes(first.data) + b"more", position=0)
    outer, inner = found.areas
    assert inner.path == "records" and inner.note == f"zstd, {first.size - 61} bytes at byte 61"
    assert fields(inner)["records[0].body.key"] == b"only"
    assert outer.parts[-1].note == "behind the end" and outer.data[outer.parts[-1].start :] == b"more"
    bits = next(part for part in outer.parts if len(part.fields) > 1)
    assert (bits.start, bits.end) == (21, 23) and ("attributes.compression", 4) in bits.fields


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
    path = ROOT / "tests/data/kafka-4.3.1/logs/__transaction_state-0/00000000000000000000.log"
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
