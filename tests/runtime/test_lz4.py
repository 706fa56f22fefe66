"""LZ4: Kafka's part of the frame format, and the header checksum of KIP-57."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable

import cramjam
import pytest

pytest.importorskip("lz4", reason="what tests a wheel lacks lz4, which has no wheels for musl")

import lz4.block
import lz4.frame

from kodec.runtime.compression import compress, decompress
from kodec.runtime.compression import lz4 as ours
from kodec.runtime.errors import LimitExceeded, Malformed, Truncated, Unsupported

pytestmark = pytest.mark.quick

LIMIT = 8 << 20
MAGIC = b"\x04\x22\x4d\x18"
KAFKA = bytes.fromhex("04224d18604082")
KAFKA_MAGIC_0 = bytes.fromhex("04224d1860401a")
END = bytes(4)
TEXT = b"the same words, the same words, " * 40


@pytest.fixture(autouse=True, params=["lz4", "cramjam"])
def _library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test runs with both libraries: a user has the one or the other."""
    chosen = ours.with_lz4() if request.param == "lz4" else ours.with_cramjam()
    monkeypatch.setattr(ours, "library", chosen)


def test_without_the_package_lz4_cramjam_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lz4.block", None)
    assert ours.fastest().error is cramjam.DecompressionError


def block(data: bytes, *, stored: bool = False) -> bytes:
    body = data if stored else lz4.block.compress(data, store_size=False)
    return struct.pack("<I", len(body) | stored << 31) + body


def library_frame(data: bytes, **options: object) -> bytes:
    settings: dict[str, object] = {"block_linked": False, "store_size": False, **options}
    frame: bytes = lz4.frame.compress(data, **settings)
    return frame


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_blocks_compressed_and_stored(wrap: type[bytes]) -> None:
    data = KAFKA + block(TEXT[:700]) + block(TEXT[700:705], stored=True) + block(TEXT[705:]) + END
    assert decompress("lz4", wrap(data), limit=LIMIT) == TEXT


def test_a_frame_without_blocks_gives_nothing() -> None:
    assert decompress("lz4", KAFKA + END, limit=0) == b""
    # Kafka looks at the size without the "stored" bit.
    assert decompress("lz4", KAFKA + b"\x00\x00\x00\x80", limit=0) == b""


@pytest.mark.parametrize("size_code", [4, 5, 6, 7])
def test_every_block_size(size_code: int) -> None:
    large = TEXT * 4096
    frame = library_frame(large, block_size=size_code)
    assert frame[5] == size_code << 4
    assert decompress("lz4", frame, limit=LIMIT) == large


@pytest.mark.parametrize("content_checksum", [False, True])
@pytest.mark.parametrize("block_checksum", [False, True])
@pytest.mark.parametrize("store_size", [False, True])
@pytest.mark.parametrize("raw", [TEXT * 200, bytes(range(256)), b""], ids=["text", "stored", "empty"])
def test_every_optional_part_of_the_frame(
    content_checksum: bool, block_checksum: bool, store_size: bool, raw: bytes
) -> None:
    frame = library_frame(
        raw, content_checksum=content_checksum, block_checksum=block_checksum, store_size=store_size
    )
    for codec in ("lz4", "lz4_legacy"):
        assert decompress(codec, frame, limit=LIMIT) == raw


def test_a_wrong_content_checksum_is_not_looked_at() -> None:
    frame = bytearray(library_frame(TEXT, content_checksum=True))
    frame[-1] ^= 0xFF
    assert decompress("lz4", bytes(frame), limit=LIMIT) == TEXT


@pytest.mark.parametrize("size", [1, (1 << 31) - 1])  # the library takes no larger one on Windows
def test_a_wrong_content_size_is_not_looked_at(size: int) -> None:
    head = lz4.frame.compress_begin(
        lz4.frame.create_compression_context(), source_size=size, block_size=4, block_linked=False
    )
    assert head[4] == 0x68
    frame = head + block(TEXT) + END
    with pytest.raises((RuntimeError, MemoryError)):
        lz4.frame.decompress(frame)
    assert decompress("lz4", frame, limit=len(TEXT)) == TEXT


@pytest.mark.parametrize("at", [8, 40, -5], ids=["body", "body", "checksum"])
@pytest.mark.parametrize("raw", [TEXT * 3, bytes(range(256))], ids=["compressed", "stored"])
def test_a_wrong_block_checksum_is_malformed(at: int, raw: bytes) -> None:
    frame = bytearray(library_frame(raw, block_checksum=True))
    place = 7 + at if at > 0 else len(frame) + at
    frame[place] ^= 0x01
    with pytest.raises(Malformed, match="lz4: "):
        decompress("lz4", bytes(frame), limit=LIMIT)


@pytest.mark.parametrize(
    "after", [b"\x00", b"junk", KAFKA + block(b"second") + END], ids=["1", "junk", "frame"]
)
def test_only_the_first_frame_is_read(after: bytes) -> None:
    assert decompress("lz4", KAFKA + block(TEXT) + END + after, limit=LIMIT) == TEXT


def test_the_header_checksum_is_verified_except_in_messages_of_magic_0() -> None:
    rest = block(TEXT) + END
    for checksum in range(256):
        data = KAFKA[:6] + bytes((checksum,)) + rest
        assert decompress("lz4_legacy", data, limit=LIMIT) == TEXT
        if checksum == 0x82:
            assert decompress("lz4", data, limit=LIMIT) == TEXT
            continue
        with pytest.raises(Malformed, match="header checksum") as caught:
            decompress("lz4", data, limit=LIMIT)
        assert (caught.value.at, caught.value.need) == (6, "0x82")


@pytest.mark.parametrize("codec", ["lz4", "lz4_legacy"])
@pytest.mark.parametrize(
    ("flags", "descriptor", "kind", "reason"),
    [
        (0x40, 0x40, Unsupported, "depend on each other"),
        (0x61, 0x40, Unsupported, "dictionary"),
        (0x62, 0x40, Malformed, "reserved"),
        (0x60, 0x41, Malformed, "reserved"),
        (0x60, 0xC0, Malformed, "reserved"),
        (0x20, 0x40, Unsupported, "version"),
        (0xA0, 0x40, Unsupported, "version"),
        (0x60, 0x30, Malformed, "block size code"),
        (0x60, 0x00, Malformed, "block size code"),
    ],
)
def test_refused_headers(codec: str, flags: int, descriptor: int, kind: type[Exception], reason: str) -> None:
    with pytest.raises(kind, match=reason):
        decompress(codec, MAGIC + bytes((flags, descriptor)) + bytes(30), limit=LIMIT)


def test_dependent_blocks_of_the_library_are_refused() -> None:
    with pytest.raises(Unsupported):
        decompress("lz4", lz4.frame.compress(TEXT * 4000, block_linked=True), limit=LIMIT)


@pytest.mark.parametrize("magic", [b"\x02\x21\x4c\x18", b"\x50\x2a\x4d\x18", b"\x28\xb5\x2f\xfd"])
def test_any_other_magic_is_malformed(magic: bytes) -> None:
    with pytest.raises(Malformed, match="not an LZ4 frame"):
        decompress("lz4", magic + bytes(40), limit=LIMIT)


def test_a_block_above_the_declared_maximum_is_malformed() -> None:
    for data, match in [
        (KAFKA + block(bytes(65537), stored=True) + END, "block size"),
        (KAFKA + block(bytes(65537)) + END, "lz4: "),
    ]:
        with pytest.raises(Malformed, match=match):
            decompress("lz4", data, limit=LIMIT)
    assert decompress("lz4", KAFKA + block(bytes(65536)) + END, limit=LIMIT) == bytes(65536)


def test_a_corrupt_block_is_malformed() -> None:
    with pytest.raises(Malformed) as caught:
        decompress("lz4", KAFKA + block(b"x") + struct.pack("<I", 5) + b"\xff" * 5 + END, limit=LIMIT)
    assert caught.value.at == len(KAFKA + block(b"x")) + 4


@pytest.mark.parametrize(
    "make",
    [
        lambda: KAFKA + block(TEXT) + block(TEXT, stored=True) + END,
        lambda: library_frame(TEXT, block_checksum=True, content_checksum=True, store_size=True),
    ],
    ids=["kafka", "all parts"],
)
def test_a_cut_at_every_byte_is_truncated(make: Callable[[], bytes]) -> None:
    whole = make()
    for cut in range(len(whole)):
        with pytest.raises(Truncated):
            decompress("lz4", whole[:cut], limit=LIMIT)


def test_the_limit_counts_every_block() -> None:
    data = KAFKA + block(TEXT) + block(TEXT, stored=True) + END
    assert decompress("lz4", data, limit=2 * len(TEXT)) == TEXT * 2
    with pytest.raises(LimitExceeded):
        decompress("lz4", data, limit=2 * len(TEXT) - 1)


@pytest.mark.parametrize("level", [None, *range(1, 18)])
def test_written_as_kafka_writes_it(level: int | None) -> None:
    raw = TEXT * 150
    frame = compress("lz4", memoryview(raw), level=level)
    assert frame[:7] == KAFKA
    assert lz4.frame.decompress(frame) == raw
    assert decompress("lz4", frame, limit=LIMIT) == raw
    pos, sizes = 7, []
    while word := struct.unpack_from("<I", frame, pos)[0]:
        sizes.append(word)
        pos += 4 + (word & 0x7FFFFFFF)
    assert len(sizes) == 3
    assert frame[pos:] == END
    legacy = compress("lz4_legacy", raw, level=level)
    assert legacy == KAFKA_MAGIC_0 + frame[7:]
    assert decompress("lz4_legacy", legacy, limit=LIMIT) == raw
    with pytest.raises(Malformed):
        decompress("lz4", legacy, limit=LIMIT)


def test_the_default_level_is_the_fast_compressor_and_others_are_not() -> None:
    words = b"".join(b"%d words and %d more" % (i * i % 977, i % 13) for i in range(3000))
    fast = compress("lz4", words)
    assert fast == compress("lz4", words, level=9) == library_frame(words, compression_level=0, block_size=4)
    assert len(compress("lz4", words, level=17)) <= len(compress("lz4", words, level=1)) < len(fast)


def test_incompressible_data_is_stored() -> None:
    raw = bytes(range(256))
    assert compress("lz4", raw) == KAFKA + block(raw, stored=True) + END
