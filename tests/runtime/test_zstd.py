"""zstd: frames as zstd-jni's streams take them, with sizes, checksums and windows by hand."""

from __future__ import annotations

import struct
import threading

import pytest
import zstandard

from kodec.runtime.compression import compress, decompress
from kodec.runtime.errors import LimitExceeded, Malformed, Truncated, Unsupported

pytestmark = pytest.mark.quick

LIMIT = 1 << 20
MAGIC = b"\x28\xb5\x2f\xfd"
TEXT = b"the same words, the same words, " * 40
SKIPPABLE = b"\x5a\x2a\x4d\x18" + struct.pack("<I", 7) + b"ignored"


def frame(data: bytes, *, size: bool = False, checksum: bool = False) -> bytes:
    return zstandard.ZstdCompressor(write_content_size=size, write_checksum=checksum).compress(data)


def block(kind: int, size: int, body: bytes, *, last: bool = False) -> bytes:
    """Make a block by hand: kind 0 is raw, 1 is one byte repeated, 2 compressed."""
    return (last | kind << 1 | size << 3).to_bytes(3, "little") + body


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
@pytest.mark.parametrize("checksum", [False, True])
@pytest.mark.parametrize("size", [False, True])
@pytest.mark.parametrize("raw", [b"", b"x", TEXT, TEXT * 500], ids=len)
def test_one_frame(wrap: type[bytes], checksum: bool, size: bool, raw: bytes) -> None:
    data = wrap(frame(raw, size=size, checksum=checksum))
    assert decompress("zstd", data, limit=len(raw)) == raw


def test_a_frame_written_as_a_stream() -> None:
    stream = zstandard.ZstdCompressor().compressobj()
    data = stream.compress(TEXT) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    data += stream.compress(TEXT) + stream.flush()
    assert decompress("zstd", data, limit=2 * len(TEXT)) == TEXT * 2


def test_raw_and_repeat_blocks_by_hand() -> None:
    head = MAGIC + b"\x00\x58"  # a window of 2 MiB, nothing else
    data = head + block(0, 3, b"abc") + block(1, 70_000, b"z") + block(0, 0, b"", last=True)
    assert decompress("zstd", data, limit=LIMIT) == b"abc" + b"z" * 70_000


def test_frames_one_after_another_and_skippable_ones() -> None:
    data = SKIPPABLE + frame(b"one ") + frame(b"two ", size=True) + SKIPPABLE + frame(b"three", checksum=True)
    assert decompress("zstd", data, limit=13) == b"one two three"
    assert decompress("zstd", data + SKIPPABLE, limit=13) == b"one two three"
    assert decompress("zstd", SKIPPABLE, limit=0) == b""


@pytest.mark.parametrize("last", [frame(TEXT, checksum=True), frame(TEXT, size=True), SKIPPABLE])
def test_a_cut_at_every_byte_of_the_last_frame_is_truncated(last: bytes) -> None:
    first = frame(b"first")
    for cut in range(1, len(last)):
        for front in (b"", first):
            with pytest.raises(Truncated) as caught:
                decompress("zstd", front + last[:cut], limit=LIMIT)
            assert caught.value.at >= len(front)


@pytest.mark.parametrize("junk", [b"\x00", b"junk", b"\x1f\x8b\x08\x00", bytes(64)])
def test_what_is_not_a_frame_is_malformed(junk: bytes) -> None:
    for front in (b"", frame(TEXT)):
        with pytest.raises(Malformed, match="not a frame") as caught:
            decompress("zstd", front + junk, limit=LIMIT)
        assert caught.value.at == len(front)


def test_wrong_bytes_are_malformed() -> None:
    checked = bytearray(frame(TEXT, checksum=True))
    checked[-1] ^= 0xFF
    reserved_bit = MAGIC + b"\x08\x58" + block(0, 0, b"", last=True) + bytes(16)
    reserved_block = MAGIC + b"\x00\x58" + block(3, 1, b"x", last=True)
    body = MAGIC + b"\x00\x58" + block(2, 20, b"\xff" * 20, last=True)
    for data in (bytes(checked), reserved_bit, reserved_block, body):
        with pytest.raises(Malformed, match="zstd: "):
            decompress("zstd", data, limit=LIMIT)
        # The thread's decompressor is none the worse for it.
        assert decompress("zstd", frame(TEXT), limit=LIMIT) == TEXT


def test_a_dictionary_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="dictionary") as caught:
        decompress("zstd", MAGIC + b"\x01\x58\x07" + block(0, 1, b"x", last=True), limit=LIMIT)
    assert caught.value.have == 7


def test_windows_up_to_128_mib_are_read_and_no_larger() -> None:
    last = block(0, 2, b"ok", last=True)
    assert decompress("zstd", MAGIC + b"\x00\x88" + last, limit=LIMIT) == b"ok"
    for window in (b"\x89", b"\xff"):
        with pytest.raises(Unsupported, match="window"):
            decompress("zstd", MAGIC + b"\x00" + window + last, limit=LIMIT)
    # A single-segment frame has its content size for a window.
    single = MAGIC + b"\xe0" + struct.pack("<Q", (1 << 27) + 1) + last
    with pytest.raises(Unsupported, match="window"):
        decompress("zstd", single, limit=1 << 40)


@pytest.mark.parametrize("size", [False, True])
def test_the_limit_counts_every_frame(size: bool) -> None:
    raw = TEXT * 500
    data = frame(raw, size=size) + frame(raw, size=size)
    assert decompress("zstd", data, limit=2 * len(raw)) == raw * 2
    for limit in (2 * len(raw) - 1, len(raw), len(raw) - 1, 1, 0):
        with pytest.raises(LimitExceeded) as caught:
            decompress("zstd", data, limit=limit)
        assert caught.value.have == limit
        assert isinstance(caught.value.need, int)
        assert caught.value.need > limit


def test_a_content_size_is_checked_before_it_is_believed() -> None:
    last = block(0, 2, b"ok", last=True)
    lie = MAGIC + b"\xc0\x58" + struct.pack("<Q", 1 << 60) + last
    with pytest.raises(LimitExceeded) as over:
        decompress("zstd", lie, limit=LIMIT)
    assert over.value.need == 1 << 60
    with pytest.raises(Malformed, match="content size"):
        decompress("zstd", lie, limit=1 << 62)
    smaller = MAGIC + b"\xc0\x58" + struct.pack("<Q", 1) + last
    with pytest.raises(Malformed):
        decompress("zstd", smaller, limit=LIMIT)


@pytest.mark.parametrize("level", [None, -131072, -1, 0, 1, 3, 19, 22])
def test_written_as_kafka_writes_it(level: int | None) -> None:
    data = compress("zstd", memoryview(TEXT), level=level)
    params = zstandard.get_frame_parameters(data)
    assert params.content_size == zstandard.CONTENTSIZE_UNKNOWN
    assert not params.has_checksum
    assert params.dict_id == 0
    assert decompress("zstd", data, limit=LIMIT) == TEXT


def test_the_default_level_is_three() -> None:
    words = b"".join(b"%d words and %d more" % (i * i % 977, i % 13) for i in range(3000))
    assert compress("zstd", words) == compress("zstd", words, level=3)
    assert (
        len(compress("zstd", words, level=19))
        < len(compress("zstd", words))
        < len(compress("zstd", words, level=-100))
    )


def test_threads_do_not_share_a_context() -> None:
    raws = [bytes((i,)) * 5000 + TEXT * (i + 1) for i in range(8)]
    wrong: list[int] = []

    def work(i: int) -> None:
        for _ in range(50):
            if decompress("zstd", compress("zstd", raws[i], level=1 + i % 3), limit=LIMIT) != raws[i]:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(raws))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
