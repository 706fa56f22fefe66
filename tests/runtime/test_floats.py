"""Numbers of 32 bits keep their bits, whatever they are."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kodec.runtime.floats import FloatStruct

pytestmark = pytest.mark.quick

SIGNALLING = ["7f800001", "7fa00001", "ff800001", "ffbfffff"]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("bits", SIGNALLING)
def test_a_signalling_nan_comes_back(order: str, bits: str) -> None:
    data = bytes.fromhex(bits)[:: 1 if order == ">" else -1]
    (number,) = FloatStruct(f"{order}f").unpack_from(data)
    assert math.isnan(number)
    assert FloatStruct(f"{order}f").pack(number) == data


@given(st.binary(min_size=4, max_size=4))
def test_any_bits_come_back(data: bytes) -> None:
    values = FloatStruct(">f").unpack_from(data)
    assert FloatStruct(">f").pack(*values) == data
    (plain,) = struct.unpack(">f", data)
    assert values == (plain,) or (math.isnan(plain) and math.isnan(values[0]))


@given(st.floats())
def test_any_number_is_packed_as_struct_does(number: float) -> None:
    try:
        wanted = struct.pack("<f", number)
    except OverflowError:
        with pytest.raises(OverflowError):
            FloatStruct("<f").pack(number)
        return
    got = FloatStruct("<f").pack(number)
    assert got == wanted or (math.isnan(number) and math.isnan(struct.unpack("<f", got)[0]))


def test_numbers_among_others() -> None:
    both = FloatStruct(">B2x3sfdHf")
    data = bytes.fromhex("01 0000 414243 7fa00001 7ff0000000000001 0203 ff800001")
    assert both.pack(*both.unpack_from(b"?" + data, 1)) == data
    with pytest.raises(struct.error):
        both.pack(1, b"abc", "x", 1.0, 2, 3.0)
