"""What a record format reports about its bytes: from the schema, in either byte order."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kodec
from kodec.errors import CrcMismatch
from kodec.log.batches.format import KAFKA, Number
from kodec.log.batches.frame import Frame
from tests.golden import Golden

pytestmark = pytest.mark.quick

NUMBERS = st.integers(-(2**31), 2**31 - 1)


def number(form: str) -> Number:
    return Number({"length": (3, form)}, "length")


@pytest.mark.parametrize("places", [{}, {"length": (-1, ">i")}, {"length": (3, "")}])
def test_a_number_has_a_place(places: dict[str, tuple[int, str]]) -> None:
    with pytest.raises(ValueError, match="length is no number at a fixed place"):
        Number(places, "length")


@pytest.mark.parametrize("form", [">i", "<i"])
@given(value=NUMBERS, least=st.integers(1, 255), size=st.integers(0, 4))
def test_a_number_in_either_byte_order(form: str, value: int, least: int, size: int) -> None:
    length = number(form)
    stored = length.stored(value)
    assert length.get(b"abc" + stored) == value == struct.unpack(form, stored)[0]
    assert (re.fullmatch(length.at_least(least), stored, re.DOTALL) is not None) == (value >= least)
    low, high = length.bounds(stored[:size])
    assert low <= value <= high
    assert size < 4 or form == "<i" or low == high == value


@pytest.mark.parametrize("value", [-1, 0, 13, 14, 255, 256, 2**24, 2**31 - 1])
@pytest.mark.parametrize("form", [">i", "<i"])
def test_a_least_number(form: str, value: int) -> None:
    length = number(form)
    assert (re.fullmatch(length.at_least(14), length.stored(value), re.DOTALL) is not None) == (value >= 14)


@pytest.mark.parametrize("magic", KAFKA.magics)
def test_what_kafkas_format_says_is_so_of_batches(magic: int) -> None:
    timestamp = -1 if magic == 0 else 1_700_000_000_000
    data = kodec.encode([kodec.Record(value=b"v", timestamp=timestamp)], magic=magic, base_offset=7)
    frame = Frame.peek(data)
    assert frame == (7, len(data), magic)
    assert KAFKA.offset.get(data) == 7 and KAFKA.magic.get(data) == magic
    assert KAFKA.before_body + KAFKA.length.get(data) == len(data)
    assert KAFKA.plausible().match(data)
    kind = KAFKA.kind(magic)
    at, stored, computed = kind.checksum(data, 0, len(data))
    assert stored == computed == int.from_bytes(data[at : at + 4], "big")
    assert not kind.is_wrong_in_checksum_alone(data, 0, len(data))
    (batch,) = kodec.read_batches(data)
    assert batch.frame_offset == 7
    damaged = bytearray(data)
    damaged[-1] ^= 1
    with pytest.raises(CrcMismatch, match=re.escape(kind.place(7))):
        list(kodec.read_batches(bytes(damaged)))


def test_names_of_files() -> None:
    assert KAFKA.files.name(7, KAFKA.files.log, ".cleaned") == "00000000000000000007.log.cleaned"
    assert re.fullmatch(KAFKA.files.offset, "00000000000000000007")


OTHER = """
import sys
from dataclasses import replace
from pathlib import Path
from struct import Struct

from kodec.log.batches import format

places = {"length": (1, "<i"), "offset": (5, "<q"), "magic": (0, ">b")}

first = Struct("<biq")
def peek(data, pos=0):
    magic, length, offset = first.unpack_from(data, pos)
    return offset, length, magic

numbers = {name: format.Number(places, name) for name in places}
files = replace(format.KAFKA.files, digits=12, log="seg")
format.KAFKA = replace(
    format.KAFKA,
    peek=peek,
    whole=lambda offset, length, magic: length + 5,
    peeked=first.size,
    files=files,
    **numbers,
)

from kodec.log.batches.frame import PLAUSIBLE, Frame
from kodec.log.files.listing import list_partition
from kodec.log.files.paths import holds_kafkas_files
from kodec.log.reading.chain import Chain
from kodec.log.reading.source import open_source

folder = Path(sys.argv[1])
data = b"".join(first.pack(2, 70 - 5, at * 3) + bytes([255]) * (70 - first.size) for at in range(4))
(folder / "000000000007.seg").write_bytes(b"?" * 9 + data)
(folder / "00000000000000000007.log").touch()
assert holds_kafkas_files(folder)
(segment,) = list_partition(folder).segments
assert segment.base_offset == 7
found = PLAUSIBLE.search(segment.log.read_bytes())
assert found.start() == 9
source = open_source(segment.log)
chain = Chain(source, 9, Frame.peek(data), 1000)
source.close()
print(chain.positions, chain.offsets)
"""


def test_frames_and_names_of_files_are_those_of_the_format_alone(tmp_path: Path, golden: Golden) -> None:
    """Batches of another format, with a little-endian length before the offset, are found as Kafka's."""
    done = subprocess.run(
        [sys.executable, "-c", OTHER, str(tmp_path)], capture_output=True, text=True, check=False
    )
    golden((done.stdout, done.stderr))
