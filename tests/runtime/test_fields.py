"""What generated readers and writers ask of a field's bytes, at the edges."""

from __future__ import annotations

import copy
import pickle
import struct
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kodec.errors import EncodeError, LimitExceeded, Malformed, Truncated
from kodec.generated.control.end_txn_marker import EndTxnMarker
from kodec.runtime.fields import (
    DEFAULT_READ,
    ReadOptions,
    WriteOptions,
    bit_field,
    encode_text,
    exact_size,
    fixed_run,
    read_list,
    read_numbers,
    within,
    write_list,
    write_numbers,
)
from kodec.runtime.uuids import uuid_of
from kodec.runtime.varint import read_uvarint32
from tests.golden import Golden

pytestmark = pytest.mark.quick


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
    with pytest.raises(EncodeError, match="not given"):
        bit_field("codec", None, 3)  # type: ignore[arg-type]
    for odd in ("1", 1.5):
        with pytest.raises(EncodeError, match="not a number"):
            bit_field("codec", odd, 3)  # type: ignore[arg-type]


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


def test_an_error_can_be_shown_whatever_the_value_is(golden: Golden) -> None:
    class Half:
        def __repr__(self) -> str:
            raise AttributeError("not all of it is there")

    text = str(EncodeError("leaf", "not bytes", have=Half()))
    golden(text)


def test_a_run_names_the_field_that_is_cut_off() -> None:
    run = fixed_run("<hI3sB", "a", "b", "c", "d")
    assert run.unpack_from(bytes(range(11)), 1) == (0x0201, 0x06050403, b"\7\x08\x09", 10)
    for end, name, at, size in (
        (0, "a", 0, 2),
        (1, "a", 0, 2),
        (2, "b", 2, 4),
        (8, "c", 6, 3),
        (9, "d", 9, 1),
    ):
        error = run.truncated(0, end)
        assert (error.path, error.at, error.need, error.have) == (name, at, size, end - at)


def test_a_run_names_the_value_that_does_not_fit() -> None:
    run = fixed_run(">bHf", "small", "large", "real")
    assert run.packed(-1, 65535, 0.5) == b"\xff\xff\xff\x3f\0\0\0"
    for values, name in (
        ((128, 0, 0), "small"),
        ((0, -1, 0), "large"),
        ((0, "x", 0), "large"),
        ((0, 0, 1e300), "real"),
    ):
        with pytest.raises(EncodeError) as caught:
            run.packed(*values)
        assert caught.value.path == name
    # a float of 32 bits keeps its bits where it is not a number
    odd = bytes.fromhex("00 0000 ffa00001")
    assert run.packed(*run.unpack_from(odd)) == odd


def test_a_number_is_put_into_bytes_that_are_there() -> None:
    run, out = fixed_run(">h", "size"), bytearray(4)
    run.put(out, 1, -2)
    assert out == b"\0\xff\xfe\0"
    with pytest.raises(EncodeError) as caught:
        run.put(out, 1, 32768)
    assert (caught.value.path, caught.value.have) == ("size", 32768)


def read_small(buf: bytes, pos: int, end: int, opt: ReadOptions, most: int) -> tuple[int, int]:
    found, pos = read_uvarint32(buf, pos, end, "number")
    if found > most:
        raise Malformed("number", "too large", at=pos - 1)
    return found, pos


def test_an_error_in_a_list_names_the_element() -> None:
    assert read_list("xs", 3, 1, read_small, b"\1\2\3\4", 0, 4, DEFAULT_READ, 9) == ([1, 2, 3], 3)
    assert read_list("xs", 0, 1, read_small, b"", 0, 0, DEFAULT_READ, 9) == ([], 0)
    with pytest.raises(Malformed) as caught:
        read_list("xs", 3, 1, read_small, b"\1\2\3", 0, 3, DEFAULT_READ, 1)
    assert (caught.value.path, caught.value.at) == ("xs[1].number", 1)
    for count, kind in ((4, Truncated), (-1, Malformed)):
        with pytest.raises(kind) as short:
            read_list("xs", count, 1, read_small, b"\1\2\3", 0, 3, DEFAULT_READ, 9)
        assert short.value.path == "xs"
    with pytest.raises(LimitExceeded):
        read_list("xs", 3, 1, read_small, b"\1\2\3", 0, 3, ReadOptions(elements=2), 9)


def test_an_error_inside_names_the_field() -> None:
    def write(out: bytearray, value: int, opt: object) -> None:
        out += fixed_run(">B", "value").packed(value)

    out = bytearray()
    write_list(out, "xs", [1, 2], write, WriteOptions())
    assert out == b"\1\2"
    with pytest.raises(EncodeError) as caught:
        write_list(out, "xs", [3, 256], write, WriteOptions())
    assert caught.value.path == "xs[1].value"
    with pytest.raises(EncodeError) as alone:
        within("x", write, out, 256, WriteOptions())
    assert alone.value.path == "x.value"
    with pytest.raises(Malformed) as read:
        within("x", read_small, b"\5", 0, 1, DEFAULT_READ, 4)
    assert read.value.path == "x.number"


@pytest.mark.parametrize(
    "given", ["a.log", 7, None, [1, 2], Path("a.log")], ids=lambda given: type(given).__name__
)
def test_what_is_no_buffer_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match=r"expected bytes, not .*read_bytes"):
        EndTxnMarker.from_bytes(given)
    with pytest.raises(TypeError, match="expected bytes, not"):
        EndTxnMarker.read_from(given)


def test_any_buffer_is_read() -> None:
    stored = bytes.fromhex("00000000002a")
    for buffer in (
        stored,
        bytearray(stored),
        memoryview(stored),
        memoryview(bytes.fromhex("0000000000002a00"))[1:7],
    ):
        assert EndTxnMarker.from_bytes(buffer).coordinator_epoch == 42
