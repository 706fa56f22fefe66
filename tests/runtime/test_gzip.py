"""gzip: members, junk and truncation as GZIPInputStream has them; the same from zlib and isal."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from types import ModuleType

import pytest

from kodec.runtime.compression import compress, decompress
from kodec.runtime.compression import gzip as ours
from kodec.runtime.errors import LimitExceeded, Malformed, Truncated
from kodec.runtime.zlibs import fastest_zlib

pytestmark = pytest.mark.quick

LIMIT = 1 << 20
ENGINES = sorted({zlib, fastest_zlib()}, key=lambda module: module.__name__)
TEXT = b"the same words, the same words, " * 40


@pytest.fixture(autouse=True, params=ENGINES, ids=lambda module: module.__name__)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.setattr(ours, "_inflate", request.param)
    yield request.param


def member(data: bytes, *, name: str = "", level: int = 6) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(name, "wb", level, out, mtime=1_600_000_000) as stream:
        stream.write(data)
    return out.getvalue()


def with_header_fields(data: bytes, *, spoil: bool = False) -> bytes:
    """Make a member with an extra field, a name, a comment and a header checksum."""
    plain = member(data)
    head = plain[:3] + b"\x1e" + plain[4:10] + b"\x05\x00extra" + b"name\x00" + b"comment\x00"
    checksum = zlib.crc32(head) & 0xFFFF ^ spoil
    return head + checksum.to_bytes(2, "little") + plain[10:]


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_one_member(wrap: type[bytes]) -> None:
    assert decompress("gzip", wrap(member(TEXT, name="a.txt")), limit=LIMIT) == TEXT
    assert decompress("gzip", wrap(with_header_fields(TEXT)), limit=LIMIT) == TEXT


@pytest.mark.parametrize("flag", [0x20, 0x40, 0x80, 0xE0])
def test_reserved_flags_are_not_looked_at(flag: int) -> None:
    """As in Java; in the first member and in a later one."""
    odd = bytearray(member(TEXT))
    odd[3] |= flag
    assert decompress("gzip", bytes(odd), limit=LIMIT) == TEXT
    assert (
        decompress("gzip", member(b"one ") + bytes(odd) + member(b" three"), limit=LIMIT)
        == b"one " + TEXT + b" three"
    )
    for size in range(len(odd)):
        with pytest.raises(Truncated):
            decompress("gzip", bytes(odd[:size]) if size else b"", limit=LIMIT)


def test_an_empty_member_gives_nothing() -> None:
    assert decompress("gzip", member(b""), limit=0) == b""


def test_members_one_after_another_are_read_through() -> None:
    data = member(b"one ") + with_header_fields(b"two ") + member(b"") + member(b"three", name="x")
    assert decompress("gzip", data, limit=LIMIT) == b"one two three"


def test_many_tiny_members_take_linear_time() -> None:
    tiny = member(b"x")
    assert decompress("gzip", memoryview(tiny * 20_000), limit=LIMIT) == b"x" * 20_000


def test_more_than_one_piece_of_input_and_of_output() -> None:
    noise = zlib.compress(TEXT)[5:60]
    large = b"".join(bytes((i & 255, i >> 8 & 255)) + noise for i in range(60_000)) + bytes(3 << 20)
    data = member(large[: 1 << 20], level=1) + member(large[1 << 20 :], level=0)
    assert decompress("gzip", data, limit=len(large)) == large


@pytest.mark.parametrize(
    "junk",
    [
        b"\x00",
        b"junk",
        bytes(100),
        b"\x1f\x8b",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00",
        b"\x1f\x8b\x07" + bytes(20),
        b"\x1f\x8b\x08\x08" + bytes(6) + b"a name without an end",
        b"\x1f\x8b\x08\x10" + bytes(6) + b"a comment without an end",
        b"\x1f\x8b\x08\x04" + bytes(6) + b"\xff\xffan extra field that is too short",
        b"\x1f\x8b\x08\x02" + bytes(6) + b"\x00",
        with_header_fields(b"not seen", spoil=True),
    ],
)
def test_what_is_not_a_member_header_is_ignored(junk: bytes) -> None:
    assert decompress("gzip", member(TEXT) + junk, limit=LIMIT) == TEXT


def test_a_cut_at_every_byte_of_a_member_is_truncated() -> None:
    whole = with_header_fields(TEXT)
    for cut in range(len(whole)):
        with pytest.raises(Truncated) as caught:
            decompress("gzip", whole[:cut], limit=LIMIT)
        assert caught.value.have == cut


def test_a_cut_second_member_is_ignored_in_its_header_and_truncated_after_it() -> None:
    first, second = member(b"first"), member(TEXT)
    for cut in range(1, len(second)):
        data = first + second[:cut]
        if cut < 10:
            assert decompress("gzip", data, limit=LIMIT) == b"first"
        else:
            with pytest.raises(Truncated) as caught:
                decompress("gzip", data, limit=LIMIT)
            assert caught.value.at == len(first)


@pytest.mark.parametrize("at", [0, 1, 2, 12, -8, -1], ids=["magic", "magic", "method", "body", "crc", "size"])
def test_a_wrong_byte_is_malformed(at: int) -> None:
    data = bytearray(member(TEXT))
    data[at] ^= 0xFF
    with pytest.raises(Malformed, match="gzip: "):
        decompress("gzip", bytes(data), limit=LIMIT)


def test_the_limit_counts_every_member() -> None:
    data = member(TEXT) + member(TEXT)
    assert decompress("gzip", data, limit=2 * len(TEXT)) == TEXT + TEXT
    with pytest.raises(LimitExceeded) as caught:
        decompress("gzip", data, limit=2 * len(TEXT) - 1)
    assert caught.value.have == 2 * len(TEXT) - 1


@pytest.mark.parametrize("level", [None, -1, *range(1, 10)])
def test_written_as_java_writes_it(level: int | None) -> None:
    data = compress("gzip", TEXT, level=level)
    assert data[:8] == bytes.fromhex("1f8b080000000000")
    assert gzip.decompress(data) == TEXT
    assert decompress("gzip", data, limit=LIMIT) == TEXT


def test_the_default_level_is_six() -> None:
    assert compress("gzip", TEXT) == compress("gzip", TEXT, level=-1) == compress("gzip", TEXT, level=6)
