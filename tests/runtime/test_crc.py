"""Both checksums against their published check values and a bit-by-bit model."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kodec.runtime.crc import crc32, crc32c
from kodec.runtime.zlibs import fastest_zlib

pytestmark = pytest.mark.quick


def model(polynomial: int, data: bytes) -> int:
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (polynomial if value & 1 else 0)
    return value ^ 0xFFFFFFFF


SUMS = [
    pytest.param(crc32, 0xEDB88320, 0xCBF43926, id="crc32"),
    pytest.param(crc32c, 0x82F63B78, 0xE3069283, id="crc32c"),
]


@pytest.mark.parametrize(("checksum", "polynomial", "check_value"), SUMS)
def test_published_check_value(checksum: Callable[[bytes], int], polynomial: int, check_value: int) -> None:
    assert checksum(b"123456789") == check_value == model(polynomial, b"123456789")
    assert checksum(b"") == 0


@pytest.mark.parametrize(("checksum", "polynomial", "check_value"), SUMS)
@given(data=st.binary(max_size=300), front=st.integers(0, 9))
def test_every_buffer_type_and_alignment_equals_the_model(
    checksum: Callable[[bytes | bytearray | memoryview], int],
    polynomial: int,
    check_value: int,
    data: bytes,
    front: int,
) -> None:
    right = model(polynomial, data)
    assert 0 <= right < 2**32
    assert checksum(data) == checksum(bytearray(data)) == right
    assert checksum(memoryview(bytes(front) + data)[front:]) == right


def test_without_isal_the_standard_library_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    assert fastest_zlib.__wrapped__() is zlib
