"""What generated readers and writers ask of a field's bytes, at the edges."""

from __future__ import annotations

import copy
import pickle
import struct
from uuid import UUID

import pytest

from kodec.errors import EncodeError, LimitExceeded, Malformed, Truncated
from kodec.runtime.fields import (
    DEFAULT_READ,
    ReadOptions,
    bit_field,
    encode_text,
    exact_size,
    read_numbers,
    uuid_of,
    write_numbers,
)


def test_bytes_of_another_size_are_not_written() -> None:
    assert exact_size("id", b"1234", 4) == b"1234"
    for wrong in (b"", b"123", b"12345"):
        with pytest.raises(EncodeError, match="wrong size") as caught:
            exact_size("id", wrong, 4)
        assert (caught.value.need, caught.value.have) == ("4 bytes", f"{len(wrong)} bytes")


def test_bits_that_do_not_fit_are_not_written() -> None:
    assert [bit_field("codec", each, 3) for each in (0, 7, True)] == [0, 7, 1]
    for wrong in (-1, 8):
        with pytest.raises(EncodeError, match="does not fit 3 bits"):
            bit_field("codec", wrong, 3)
    with pytest.raises(EncodeError, match="not a number"):
        bit_field("codec", None, 3)  # type: ignore[arg-type]


def test_text_that_the_encoding_has_not_is_not_written() -> None:
    assert encode_text("name", "é", "utf-8", "strict") == b"\xc3\xa9"
    with pytest.raises(EncodeError, match="not ascii"):
        encode_text("name", "é", "ascii", "strict")


@pytest.mark.parametrize(
    ("code", "width"), [(">b", 1), (">H", 2), ("<i", 4), (">i", 4), (">q", 8), ("<Q", 8)]
)
def test_numbers_are_read_and_written_as_one_by_one(code: str, width: int) -> None:
    signed = code[1].islower()
    values = [0, 1, 2 ** (8 * width - signed) - 1, -(2 ** (8 * width - 1)) if signed else 7] * 30
    out = bytearray(b"in front")
    write_numbers(out, "replicas", values, code)
    assert bytes(out[8:]) == b"".join(struct.pack(code, value) for value in values)
    found, pos = read_numbers(bytes(out), 8, len(out), "replicas", len(values), code, width, DEFAULT_READ)
    assert (found, pos) == (values, len(out))
    write_numbers(out, "replicas", [], code)
    assert read_numbers(bytes(out), 3, 3, "replicas", 0, code, width, DEFAULT_READ) == ([], 3)
    for wrong in (2 ** (8 * width), None, "1", 1.5):
        before = bytes(out)
        with pytest.raises(EncodeError) as caught:
            write_numbers(out, "replicas", [*values[:2], wrong, wrong], code)  # type: ignore[list-item]
        assert caught.value.path == "replicas[2]" and caught.value.have == wrong and bytes(out) == before


def test_no_more_numbers_are_read_than_there_are_or_may_be() -> None:
    data = bytes(16)
    for count, options, kind in (
        (-1, DEFAULT_READ, Malformed),
        (5, DEFAULT_READ, Truncated),
        (2**62, DEFAULT_READ, Truncated),
        (4, ReadOptions(elements=3), LimitExceeded),
    ):
        with pytest.raises(kind) as caught:
            read_numbers(data, 0, 16, "replicas", count, ">i", 4, options)
        assert caught.value.path == "replicas"
    with pytest.raises(Truncated):
        read_numbers(data, 1, 16, "replicas", 4, ">i", 4, DEFAULT_READ)


def test_a_uuid_of_bytes_is_one_like_others() -> None:
    for number in (0, 1, 2**128 - 1, 0x00112233445566778899AABBCCDDEEFF):
        wanted = UUID(int=number)
        found = uuid_of(wanted.bytes)
        assert (found, hash(found), repr(found), found.bytes) == (
            wanted,
            hash(wanted),
            repr(wanted),
            wanted.bytes,
        )
        assert pickle.loads(pickle.dumps(found)) == wanted and copy.deepcopy(found) == wanted
        assert found.is_safe is wanted.is_safe and found.version == wanted.version
        with pytest.raises(TypeError):
            found.int = 3  # type: ignore[misc]


def test_an_error_can_be_shown_whatever_the_value_is() -> None:
    class Half:
        def __repr__(self) -> str:
            raise AttributeError("not all of it is there")

    text = str(EncodeError("leaf", "not bytes", have=Half()))
    assert text == "leaf: not bytes (have a Half whose repr raises AttributeError)"
