"""Natively decompressed, or left to Python: never something else than there."""

from __future__ import annotations

import struct

import lz4.block
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kodec
from kodec.log import kernel
from kodec.runtime.compression import compress, decompress
from kodec.runtime.errors import FormatError

if not kernel.is_built():
    pytest.skip("the native kernels are not built", allow_module_level=True)

from kodec.runtime.native import bindings

MOST = 4 << 20
CODECS = st.sampled_from(["lz4", "snappy"])
WORDS = st.lists(st.binary(min_size=1, max_size=80), min_size=1, max_size=4)


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """Bytes that repeat at many distances, up to some blocks of them."""
    words = draw(WORDS)
    picks = draw(st.lists(st.integers(0, len(words) - 1), max_size=60))
    return b"".join(words[pick] for pick in picks) * draw(st.sampled_from([1, 1, 2, 60, 700]))


@given(CODECS, contents())
def test_what_is_written_is_read(codec: str, data: bytes) -> None:
    if len(data) <= MOST:
        assert bindings.decompress(codec, compress(codec, data), MOST) == data


@given(CODECS, contents(), st.data())
def test_what_is_changed_is_the_same_as_in_python_or_left_to_it(
    codec: str, data: bytes, draw: st.DataObject
) -> None:
    stored = bytearray(compress(codec, data))
    for _ in range(draw.draw(st.integers(1, 3))):
        stored[draw.draw(st.integers(0, len(stored) - 1))] = draw.draw(st.integers(0, 255))
    del stored[draw.draw(st.integers(0, len(stored))) :]
    limit = draw.draw(st.sampled_from([0, 1, len(data) // 2, len(data), 1 << 20]))
    found = bindings.decompress(codec, stored, limit)
    if found is not None:
        assert found == decompress(codec, bytes(stored), limit=limit)


@given(st.binary(max_size=300))
def test_a_block_of_any_bytes_is_the_same_as_in_python_or_left_to_it(block: bytes) -> None:
    frame = bytes.fromhex("04224d18604082") + struct.pack("<I", len(block)) + block + bytes(4)
    found = bindings.decompress("lz4", frame, MOST)
    if found is not None:
        assert found == decompress("lz4", frame, limit=MOST)
    chunk = b"\x82SNAPPY\0" + bytes(8) + struct.pack(">i", len(block)) + block
    found = bindings.decompress("snappy", chunk, MOST)
    if found is not None:
        assert found == decompress("snappy", chunk, limit=MOST)


def test_a_match_near_the_end_is_what_the_library_makes_of_it() -> None:
    """The library refuses a match that starts within twelve bytes of the most that a block may be."""
    refused = 0
    for left in range(4, 30):
        # a run to `left` bytes before the end, a match of four, and as many literals as fit, up to 14
        run = (64 << 10) - left - 1 - 4 - 15
        last = min(left - 4, 14)
        block = b"\x1fa\x01\x00" + b"\xff" * (run // 255) + bytes((run % 255,))
        block += b"\x00\x01\x00" + bytes((last << 4,)) + bytes(last)
        frame = bytes.fromhex("04224d18604082") + struct.pack("<I", len(block)) + block + bytes(4)
        try:
            expected = decompress("lz4", frame, limit=MOST)
        except FormatError:
            expected = None
            refused += 1
        assert bindings.decompress("lz4", frame, MOST) in (None, expected)
    assert refused


@pytest.mark.parametrize("codec", ["lz4", "snappy"])
def test_a_limit_is_held(codec: str) -> None:
    data = bytes(200_000)
    stored = compress(codec, data)
    assert bindings.decompress(codec, stored, len(data)) == data
    assert bindings.decompress(codec, stored, len(data) - 1) is None


def test_what_is_unusual_is_left_to_python() -> None:
    data = b"abcdefgh" * 100
    assert bindings.decompress("gzip", compress("gzip", data), MOST) is None
    assert bindings.decompress("lz4", b"", MOST) is None
    assert bindings.decompress("snappy", b"", MOST) is None
    whole = compress("lz4", data)
    # one that says a content checksum, which Kafka's writer does not
    assert bindings.decompress("lz4", whole[:4] + b"\x64" + whole[5:], MOST) is None
    block = lz4.block.compress(data, store_size=False)
    cut = whole[:7] + struct.pack("<I", len(block) - 1) + block[:-1] + bytes(4)
    assert bindings.decompress("lz4", cut, MOST) is None


@pytest.mark.parametrize("codec", ["lz4", "snappy"])
def test_a_scan_goes_on_natively_over_compressed_batches(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # imported before the change, so that no module keeps what replaces it
    from kodec.log.backends.native import rows

    def refused(*_: object, **__: object) -> bytes:
        raise AssertionError("decompressed in Python")

    records = [kodec.Record(offset=at, key=b"%d" % at, value=b"value" * at) for at in range(200)]
    data = kodec.encode(records, compression=codec, batch_records=40)
    monkeypatch.setattr(rows, "content_of", refused)
    assert kodec.read_table(data)["value"].to_pylist() == [each.value for each in records]
