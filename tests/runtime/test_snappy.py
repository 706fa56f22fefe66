"""snappy: xerial chunks, repeated headers, stray bytes, raw blocks; hand-assembled."""

from __future__ import annotations

import struct

import pytest
import snappy

from kodec.runtime.compression import compress, decompress
from kodec.runtime.errors import FormatError, LimitExceeded, Malformed, Truncated, Unsupported

pytestmark = pytest.mark.quick

LIMIT = 1 << 20
HEADER = bytes.fromhex("82534e41505059000000000100000001")
TEXT = b"the same words, the same words, " * 40


def chunk(data: bytes) -> bytes:
    block: bytes = snappy.compress(data)
    return struct.pack(">i", len(block)) + block


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_chunks_of_any_size(wrap: type[bytes]) -> None:
    data = HEADER + chunk(TEXT[:1]) + chunk(TEXT[1:1000]) + chunk(b"") + chunk(TEXT[1000:])
    assert decompress("snappy", wrap(data), limit=LIMIT) == TEXT


def test_a_chunk_above_the_writers_block_size() -> None:
    large = TEXT * 100
    assert decompress("snappy", HEADER + chunk(large), limit=LIMIT) == large


def test_a_header_alone_gives_nothing() -> None:
    assert decompress("snappy", HEADER, limit=0) == b""


def test_versions_of_the_first_header_are_not_looked_at() -> None:
    data = HEADER[:8] + bytes(8) + chunk(TEXT)
    assert decompress("snappy", data, limit=LIMIT) == TEXT


def test_concatenated_streams_are_read_through() -> None:
    data = HEADER + chunk(b"one ") + HEADER + HEADER + chunk(b"two ") + chunk(b"three")
    assert decompress("snappy", data, limit=LIMIT) == b"one two three"


def test_a_repeated_header_needs_its_magic_and_a_version() -> None:
    start = HEADER + chunk(TEXT)
    with pytest.raises(Malformed) as wrong_magic:
        decompress("snappy", start + HEADER[:7] + b"\x01" + HEADER[8:], limit=LIMIT)
    assert wrong_magic.value.at == len(start)
    with pytest.raises(Unsupported) as version:
        decompress("snappy", start + HEADER[:8] + bytes(8) + chunk(TEXT), limit=LIMIT)
    assert (version.value.at, version.value.have) == (len(start), 0)


@pytest.mark.parametrize("stray", [b"\x00", b"\xff\xff", b"\x82SN"])
def test_one_to_three_stray_bytes_are_ignored(stray: bytes) -> None:
    assert decompress("snappy", HEADER + chunk(TEXT) + stray, limit=LIMIT) == TEXT
    assert decompress("snappy", HEADER + stray, limit=LIMIT) == b""


@pytest.mark.parametrize("length", [-1, -(2**31), -0x7DACB1BE])
def test_a_negative_chunk_length_is_malformed(length: int) -> None:
    start = HEADER + chunk(TEXT)
    with pytest.raises(Malformed, match="negative") as caught:
        decompress("snappy", start + struct.pack(">i", length) + bytes(64), limit=LIMIT)
    assert (caught.value.at, caught.value.have) == (len(start), length)


def test_a_chunk_of_no_bytes_is_malformed() -> None:
    with pytest.raises(Malformed, match="no size"):
        decompress("snappy", HEADER + bytes(4), limit=LIMIT)


def test_a_cut_at_every_byte_of_the_chunks() -> None:
    first = HEADER + chunk(TEXT[:600])
    whole = first + chunk(TEXT[600:])
    for cut in range(1, len(whole)):
        data = whole[:cut]
        if cut < len(HEADER):
            # Too short to be xerial, so a raw block, as Java takes it.
            with pytest.raises(FormatError):
                decompress("snappy", data, limit=LIMIT)
        elif cut < len(HEADER) + 4:
            assert decompress("snappy", data, limit=LIMIT) == b""
        elif len(first) <= cut < len(first) + 4:
            assert decompress("snappy", data, limit=LIMIT) == TEXT[:600]
        else:
            with pytest.raises(Truncated) as caught:
                decompress("snappy", data, limit=LIMIT)
            assert caught.value.at == (len(HEADER) if cut < len(first) else len(first)) + 4


def test_a_cut_repeated_header_is_truncated() -> None:
    start = HEADER + chunk(TEXT)
    for cut in range(4, len(HEADER)):
        with pytest.raises(Truncated) as caught:
            decompress("snappy", start + HEADER[:cut], limit=LIMIT)
        assert (caught.value.need, caught.value.have) == (16, cut)


def test_without_the_magic_all_is_one_raw_block() -> None:
    assert decompress("snappy", snappy.compress(TEXT), limit=LIMIT) == TEXT
    assert decompress("snappy", b"\x00", limit=LIMIT) == b""
    # A raw block of 65 literal bytes by hand: size, tag, length byte, bytes.
    assert decompress("snappy", b"\x41\xf0\x40" + b"z" * 65, limit=LIMIT) == b"z" * 65


def test_a_cut_at_every_byte_of_a_raw_block_is_malformed() -> None:
    block = snappy.compress(TEXT)
    for cut in range(1, len(block)):
        with pytest.raises(Malformed, match="snappy: "):
            decompress("snappy", block[:cut], limit=LIMIT)


@pytest.mark.parametrize("promise", [1279, 1281])
def test_a_block_whose_size_is_not_the_promised_one_is_malformed(promise: int) -> None:
    block = snappy.compress(TEXT)
    assert block[:2] == b"\x80\x0a"
    wrong = bytes((promise & 127 | 128, promise >> 7)) + block[2:]
    for data in (wrong, HEADER + struct.pack(">i", len(wrong)) + wrong):
        with pytest.raises(Malformed):
            decompress("snappy", data, limit=LIMIT)


def test_the_official_framing_format_is_named_and_refused() -> None:
    stream = snappy.StreamCompressor().compress(TEXT)
    assert stream.startswith(b"\xff\x06\x00\x00sNaPpY")
    with pytest.raises(Unsupported, match="official framing format"):
        decompress("snappy", stream, limit=LIMIT)


def test_the_limit_counts_promises_before_it_decompresses() -> None:
    data = HEADER + chunk(TEXT) + chunk(TEXT)
    assert decompress("snappy", data, limit=2 * len(TEXT)) == TEXT * 2
    with pytest.raises(LimitExceeded) as caught:
        decompress("snappy", data, limit=2 * len(TEXT) - 1)
    assert caught.value.need == 2 * len(TEXT)
    # The block itself is rubbish: it must not come to that.
    huge = b"\xff\xff\xff\xff\x0f" + b"rubbish"
    for payload in (huge, HEADER + struct.pack(">i", len(huge)) + huge):
        with pytest.raises(LimitExceeded) as caught:
            decompress("snappy", payload, limit=LIMIT)
        assert caught.value.need == 2**32 - 1


def test_written_as_xerial_with_blocks_of_32_kib() -> None:
    raw = TEXT * 60
    data = compress("snappy", memoryview(raw))
    assert data[:16] == HEADER
    pos, blocks = 16, []
    while pos < len(data):
        (length,) = struct.unpack_from(">i", data, pos)
        blocks.append(snappy.uncompress(data[pos + 4 : pos + 4 + length]))
        pos += 4 + length
    assert [len(block) for block in blocks] == [32768, 32768, len(raw) - 65536]
    assert b"".join(blocks) == raw
    assert compress("snappy", b"") == HEADER
