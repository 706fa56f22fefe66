"""What generated readers and writers ask of a field's bytes, at the edges."""

from __future__ import annotations

import pytest

from kodec.errors import EncodeError
from kodec.runtime.fields import bit_field, encode_text, exact_size


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
