"""Varints against an independent model: values, boundaries, long forms, truncation, ranges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kodec.runtime import varint
from kodec.runtime.errors import EncodeError, FormatError, Malformed, Truncated

pytestmark = pytest.mark.quick


@dataclass(frozen=True)
class Kind:
    """One integer type, with a model that works on the bits as text."""

    name: str
    bits: int
    most: int
    zigzag: bool
    read: Callable[..., tuple[int, int]]
    write: Callable[[int], bytes]
    size: Callable[[int], int]

    @property
    def low(self) -> int:
        return -1 << self.bits - 1 if self.zigzag else 0

    @property
    def high(self) -> int:
        return (1 << self.bits - self.zigzag) - 1

    def model_write(self, value: int) -> bytes:
        raw = (2 * value if value >= 0 else -2 * value - 1) if self.zigzag else value
        text = format(raw, "b")
        text = text.zfill(-(-len(text) // 7) * 7)
        groups = [text[i : i + 7] for i in range(0, len(text), 7)][::-1]
        return bytes(int(("0" if i == len(groups) - 1 else "1") + g, 2) for i, g in enumerate(groups))

    def model_read(self, data: bytes) -> tuple[int, int]:
        """Read the first integer of `data`, which must be there."""
        text, used = "", 0
        for byte in data[: self.most]:
            used += 1
            text = format(byte & 127, "07b") + text
            if byte < 128:
                break
        raw = int(text[-self.bits :], 2)
        if not self.zigzag:
            return raw, used
        return (raw // 2 if raw % 2 == 0 else -(raw + 1) // 2), used


KINDS = [
    Kind(
        "uvarint32",
        32,
        5,
        False,
        varint.read_uvarint32,
        varint.write_uvarint32,
        varint.size_uvarint32,
    ),
    Kind("zigzag32", 32, 5, True, varint.read_zigzag32, varint.write_zigzag32, varint.size_zigzag32),
    Kind("zigzag64", 64, 10, True, varint.read_zigzag64, varint.write_zigzag64, varint.size_zigzag64),
]

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
values = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.integers(-(2**31), 2**32 - 1), st.integers(-99999, 99999)
)


@pytest.mark.parametrize(
    ("read", "write", "value", "wire"),
    [
        (varint.read_zigzag32, varint.write_zigzag32, -1, "01"),
        (varint.read_zigzag32, varint.write_zigzag32, 0, "00"),
        (varint.read_zigzag32, varint.write_zigzag32, 1, "02"),
        (varint.read_zigzag32, varint.write_zigzag32, -(2**31), "ffffffff0f"),
        (varint.read_zigzag32, varint.write_zigzag32, 2**31 - 1, "feffffff0f"),
        (varint.read_zigzag64, varint.write_zigzag64, -1, "01"),
        (varint.read_zigzag64, varint.write_zigzag64, -(2**63), "ffffffffffffffffff01"),
        (varint.read_zigzag64, varint.write_zigzag64, 2**63 - 1, "feffffffffffffffff01"),
        (varint.read_uvarint32, varint.write_uvarint32, 300, "ac02"),
        (varint.read_uvarint32, varint.write_uvarint32, 2**32 - 1, "ffffffff0f"),
    ],
)
def test_the_bytes_that_kafka_documents(
    read: Callable[[bytes, int, int], tuple[int, int]], write: Callable[[int], bytes], value: int, wire: str
) -> None:
    data = bytes.fromhex(wire)
    assert write(value) == data
    assert read(data, 0, len(data)) == (value, len(data))


@each_kind
def test_both_sides_of_every_group_boundary(kind: Kind) -> None:
    edges = {kind.low, kind.high, 0}
    for group in range(1, kind.most):
        for value in (2 ** (7 * group), 2 ** (7 * group - 1)):
            edges |= {value - 1, value, value + 1, -value - 1, -value, -value + 1}
    for value in sorted(edge for edge in edges if kind.low <= edge <= kind.high):
        wire = kind.write(value)
        assert wire == kind.model_write(value)
        assert kind.size(value) == len(wire)
        for front in (b"", b"\xff"):
            start, end = len(front), len(front) + len(wire)
            for container in (front + wire, front + wire + b"\x55", front + wire + b"\xff" * 9):
                assert kind.read(container, start, end) == (value, end)
                assert kind.read(memoryview(container), start, len(container)) == (value, end)


@each_kind
@given(value=values)
def test_write_then_read_is_identity_and_equals_the_model(kind: Kind, value: int) -> None:
    if not kind.low <= value <= kind.high:
        for refuse in (kind.write, kind.size):
            with pytest.raises(EncodeError) as caught:
                refuse(value)
            assert caught.value.have == value
            assert str(kind.high) in str(caught.value.need)
        return
    wire = kind.write(value)
    assert wire == kind.model_write(value)
    assert kind.size(value) == len(wire)
    assert kind.read(wire, 0, len(wire)) == (value, len(wire))


@each_kind
@pytest.mark.parametrize("beyond", [1, 2**40])
def test_writers_refuse_the_first_value_out_of_range(kind: Kind, beyond: int) -> None:
    for value in (kind.low - beyond, kind.high + beyond):
        with pytest.raises(EncodeError):
            kind.write(value)
        with pytest.raises(EncodeError):
            kind.size(value)


@each_kind
@given(data=st.binary(min_size=1, max_size=12))
def test_any_bytes_give_the_model_value_or_our_error(kind: Kind, data: bytes) -> None:
    window = data[: kind.most]
    ends = any(byte < 128 for byte in window)
    if ends:
        assert kind.read(data, 0, len(data)) == kind.model_read(data)
        return
    with pytest.raises(Malformed if len(data) >= kind.most else Truncated):
        kind.read(data, 0, len(data))


@each_kind
def test_long_forms_are_read_within_the_limit(kind: Kind) -> None:
    for length in range(2, kind.most + 1):
        wire = b"\x82" + b"\x80" * (length - 2) + b"\x00"
        assert kind.read(wire, 0, length) == (1 if kind.zigzag else 2, length)


@each_kind
def test_a_last_byte_that_asks_for_another_is_malformed(kind: Kind) -> None:
    with pytest.raises(Malformed) as caught:
        kind.read(b"\x00" + b"\x80" * kind.most + b"\x00", 1, kind.most + 2)
    assert caught.value.at == 1
    assert caught.value.path == ""
    with pytest.raises(Malformed) as named:
        kind.read(b"\x80" * kind.most, 0, kind.most, "delta")
    assert named.value.path == "delta"
    assert str(kind.most) in caught.value.reason


@each_kind
def test_bits_that_do_not_fit_are_dropped(kind: Kind) -> None:
    fitting = kind.bits - 7 * (kind.most - 1)
    full = b"\xff" * (kind.most - 1)
    for excess in range(0, 128, 1 << fitting):
        for last in range(1 << fitting):
            wire = full + bytes((excess | last,))
            assert kind.read(wire, 0, kind.most) == kind.read(full + bytes((last,)), 0, kind.most)
    assert kind.read(full + b"\x7f", 0, kind.most)[0] == (kind.low if kind.zigzag else kind.high)


@each_kind
def test_a_cut_at_every_byte_is_truncated(kind: Kind) -> None:
    wire = kind.write(kind.low if kind.zigzag else kind.high)
    for cut in range(len(wire)):
        # The bytes after `end` belong to someone else, and must not be read.
        with pytest.raises(Truncated) as caught:
            kind.read(b"\x00\x00" + wire, 2, 2 + cut)
        error = caught.value
        assert (error.path, error.at, error.need, error.have) == ("", 2, cut + 1, cut)


@each_kind
def test_an_end_before_the_start_is_truncated(kind: Kind) -> None:
    with pytest.raises(FormatError) as caught:
        kind.read(b"\x00\x00\x00\x00", 3, 1)
    assert (caught.value.need, caught.value.have) == (1, 0)


def test_zigzag_small_holds_every_one_and_two_byte_form() -> None:
    model = KINDS[0].model_write
    assert tuple(model(raw) for raw in range(16384)) == varint.ZIGZAG_SMALL
    assert {len(wire) for wire in varint.ZIGZAG_SMALL} == {1, 2}
    assert len(model(16384)) == 3
