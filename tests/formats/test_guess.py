"""Schemas from samples: what is recognized, nothing where nothing is, and that each reads its samples."""

from __future__ import annotations

import json
import random
import struct
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import kodec
from kodec.cli.app import run
from kodec.formats.guess import Guess, guess
from tests.data import LOGS
from tests.golden import Golden

LOG = LOGS / "orders-0/00000000000000000000.log"


def png(*chunks: tuple[bytes, bytes]) -> bytes:
    parts = [
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


PNG = png((b"IHDR", bytes(range(13))), (b"tEXt", b"comment\0hello"), (b"IDAT", bytes(40)), (b"IEND", b""))


def packets(count: int, seed: int = 0) -> bytes:
    chance = random.Random(seed)
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    bodies = [chance.randbytes(chance.randrange(60, 300)) for _ in range(count)]
    return head + b"".join(
        struct.pack("<IIII", 1_700_000_000 + n, chance.randrange(10**6), len(body), len(body)) + body
        for n, body in enumerate(bodies)
    )


def midi() -> bytes:
    events = b"\0\xff\x03\x05title" + b"\0\x90\x3c\x40" + b"\x60\x80\x3c\x40" + b"\0\xff\x2f\0"
    track = b"MTrk" + struct.pack(">I", len(events)) + events
    return b"MThd" + struct.pack(">IHHH", 6, 1, 2, 96) + track + track


def schema(found: Guess) -> dict[str, Any]:
    made: dict[str, Any] = yaml.safe_load(found.text)
    return made


def element(found: Guess) -> dict[str, str | int]:
    """The fields of an element: type or size."""
    return {
        each["id"]: each.get("type", each.get("size")) for each in schema(found)["types"]["element"]["seq"]
    }


def test_chunks_with_a_checksum(golden: Golden) -> None:
    found = guess([PNG], "x")
    assert schema(found)["seq"][0]["contents"] == [*b"\x89PNG\r\n\x1a\n"]
    assert element(found) == {"len_body": "u4", "tag": "str", "body": "len_body", "crc": "u4be"}
    assert schema(found)["meta"]["endian"] == "be"
    golden(found.text)
    assert any("CRC-32" in each for each in found.notes)


def test_packets_after_a_header() -> None:
    found = guess([packets(20)], "x")
    assert element(found) == {
        "head_0": "u4",
        "head_4": "u4",
        "len_body": "u4",
        "more": "u4",
        "body": "len_body",
    }
    assert schema(found)["meta"]["endian"] == "le"
    assert [each["id"] for each in schema(found)["seq"]][-1] == "elements"


def test_several_samples_show_more(golden: Golden) -> None:
    few = [packets(3, 1), packets(2, 2), packets(4, 3)]
    assert schema(guess(few[:1], "x"))["seq"][0]["id"] == "unknown_0"
    found = guess(few, "x")
    assert schema(found)["seq"][0]["contents"] == list(struct.pack("<IHHiI", 0xA1B2C3D4, 2, 4, 0, 0))
    assert element(found)["len_body"] == "u4"
    golden(found.text)


def test_a_log_of_kafka() -> None:
    found = guess([LOG.read_bytes()], "x")
    assert element(found) == {"head": "u8", "len_body": "u4", "body": "len_body"}


def test_other_lists() -> None:
    found = guess([midi()], "x")
    assert element(found) == {"head": "str", "len_body": "u4", "body": "len_body"}
    riff = b"WAVE" + b"".join(
        name + struct.pack("<I", len(body)) + body + bytes(len(body) % 2)
        for name, body in (
            (b"fmt ", bytes(16)),
            (b"LIST", b"INFOxyz"),
            (b"data", b"\x01" * 999),
            (b"more", b"abc"),
        )
    )
    found = guess([b"RIFF" + struct.pack("<I", len(riff)) + riff], "x")
    assert [each["id"] for each in schema(found)["seq"]] == ["magic", "len_file_4", "unknown_8", "elements"]
    assert element(found)["padding"] == "(2 - _io.pos % 2) % 2"
    words = [b"x" * size for size in (3, 17, 9, 22, 1, 8, 30, 12, 5, 19)]
    whole = b"".join(struct.pack(">H", len(each) + 2) + each for each in words * 3)
    assert element(guess([whole], "x")) == {"len_body": "u2", "body": "len_body - 2"}


def test_records_of_one_size(golden: Golden) -> None:
    data = b"".join(struct.pack("<IdH6s", n, n * 0.5, 7, b"ab") for n in range(100))
    found = guess([data], "x")
    assert schema(found)["types"]["record"]["seq"] == [{"id": "data", "size": 20}]
    golden(found.notes)
    found = guess([b"HEAD\1\2\3" + data], "x")
    assert schema(found)["seq"][0]["contents"] == [*b"HEAD"] and "record" in schema(found)["types"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        random.Random(1).randbytes(5000),
        bytes(100_000),
        struct.pack("<500I", *range(500)),
        bytes(int(128 + 100 * ((n * 7) % 40) / 40) for n in range(4000)),
    ],
    ids=["nothing", "a zero", "random", "zeros", "numbers", "a tone"],
)
def test_nothing_is_recognized_where_nothing_is(data: bytes) -> None:
    found = guess([data], "x")
    assert "element" not in schema(found).get("types", {}), found.text
    assert "magic" not in found.text and not [
        note for note in found.notes if "no list" not in note and "records" not in note
    ]


def test_of_records_the_smallest_size_is_taken() -> None:
    records = [struct.pack("<IHB", n, 7 * n % 1000, n % 3) + b"\5hello" for n in range(90)]
    found = guess([b"MAGI\1\0\x32\0" + b"".join(records)], "x")
    assert schema(found)["types"]["record"]["seq"] == [{"id": "data", "size": 13}]
    # a second sample has to end with a record, too
    found = guess([b"".join(records), b"".join(records)[:-1]], "x")
    assert "types" not in schema(found)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"id,name\n1,ab\n" * 9, "ASCII"),
        (b"a" * 100_000, "ASCII"),
        ("\r\n\tgrößer".encode() * 9, "UTF-8"),
    ],
)
def test_text_is_lines(data: bytes, encoding: str, tmp_path: Path, golden: Golden) -> None:
    found = guess([data], "x")
    assert schema(found)["meta"]["encoding"] == encoding
    golden(found.notes)
    (place := tmp_path / "x.ksy").write_text(found.text)
    read = kodec.formats.load_schema(place).read(data, exact=True)
    assert "\n".join(read.lines).encode() == data.removesuffix(b"\n") and read.to_bytes() == data


def test_a_byte_order_needs_evidence(golden: Golden) -> None:
    found = guess([struct.pack("<3I", 1, 2, 3) + struct.pack(">2I", 1, 2) + b"\xff" * 3], "x")
    golden(found.text)


def test_texts_are_in_comments_with_their_ends(golden: Golden) -> None:
    found = guess([b"\1\2\3\4\x06hello!" + b"\3\4shorter\0" + b"\xff" * 20 + b"a long text\xfe\xfd"], "x")
    comments = [line for line in found.text.splitlines() if line.startswith("#  ")]
    golden(comments)


@settings(deadline=None)
@given(st.lists(st.binary(max_size=80), min_size=1, max_size=3), st.sampled_from(["", "png", "x\ny", '"']))
def test_every_schema_is_yaml_of_the_samples(samples: list[bytes], extension: str) -> None:
    found = guess(samples, "x", extension=extension, names=["a\nb", "\u202e"])
    assert schema(found)["meta"].get("file-extension", "") == extension
    assert not any(sign in found.text for sign in "\u202e\x1b\x7f")


def test_the_schema_reads_the_samples_to_the_end(tmp_path: Path) -> None:
    chance = random.Random(7)
    samples = [[PNG], [packets(20)], [midi()], [LOG.read_bytes()], [b""], [bytes(77)], [PNG, PNG[:-12]]]
    samples += [[PNG, b"\x89"], [b"MAGI" + bytes(40), b"MAGI\1"], [b"text\n", b"\0\1"]]
    samples += [[chance.randbytes(chance.randrange(300))] for _ in range(3)]
    for number, data in enumerate(samples):
        place = tmp_path / f"x{number}.ksy"
        place.write_text(guess(data, place.stem).text)
        format = kodec.formats.load_schema(place)
        for each in data:
            assert format.read(each, exact=True).to_bytes() == each


def test_hostile_samples_take_no_time() -> None:
    start = time.process_time()
    for data in (bytes(1 << 20), b"\0\0\0\1" * (1 << 18), b"\1" * (1 << 20)):
        guess([data], "x")
    assert time.process_time() - start < 60


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    def call(*words: object) -> tuple[int, str, str]:
        code = run([str(word) for word in words])
        return code, *capsys.readouterr()

    sample, target = tmp_path / "My Image.png", tmp_path / "my_image.ksy"
    sample.write_bytes(PNG)
    code, out, err = call("new", sample)
    assert code == 0 and yaml.safe_load(out)["meta"]["id"] == "my_image"
    code, out, err = call("new", sample, "--to", target)
    assert (code, out) == (0, "")
    assert f"the schema reads {len(PNG):,} of {len(PNG):,} bytes of the samples" in err
    golden(err)
    code, out, err = call("dump", "--schema", target, "--json", sample)
    assert [each["tag"] for each in json.loads(out)["elements"]] == ["IHDR", "tEXt", "IDAT", "IEND"]
    code, out, err = call("new", sample, "--to", target)
    assert code == 1 and "--overwrite replaces it" in err
    assert call("new", sample, "--to", target, "--overwrite")[0] == 0
    code, out, err = call("new", sample, "--to", tmp_path / "My-Image.ksy")
    assert code == 2 and "lower_snake_case.ksy" in err
    assert call("new", tmp_path / "missing")[0] == 2
    (tmp_path / "empty").write_bytes(b"")
    for words in ([tmp_path / "empty"], [sample, tmp_path / "empty"]):
        code, out, err = call("new", *words)
        assert (code, out) == (1, "")
        golden(err)
    (tmp_path / "null.bin").write_bytes(b"\1\2")
    code, out, err = call("new", tmp_path / "null.bin")
    assert code == 0 and yaml.safe_load(out)["meta"]["id"] == "x_null"
