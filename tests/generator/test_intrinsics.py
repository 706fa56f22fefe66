"""The wire types that the generator knows are what their .ksy bodies say: stock ksc reads the bodies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kodec.runtime.errors import FormatError
from kodec.runtime.uuids import read_uuid
from kodec.runtime.varint import (
    read_uvarint32,
    read_zigzag32,
    read_zigzag64,
    write_uvarint32,
    write_zigzag32,
    write_zigzag64,
)
from tests.data import ROOT

PRIMITIVES = ROOT / "schemas/primitives"
READ = {"varint": read_zigzag32, "varlong": read_zigzag64, "unsigned_varint": read_uvarint32}
WRITE = {"varint": write_zigzag32, "varlong": write_zigzag64, "unsigned_varint": write_uvarint32}
BITS = {"varint": 32, "varlong": 64, "unsigned_varint": 32}


def boundaries(name: str) -> list[int]:
    """Around every power of 128, the least and the greatest, of both signs where there are two."""
    bits = BITS[name]
    if name == "unsigned_varint":
        near = {2**k + d for k in range(bits + 1) for d in (-2, -1, 0, 1)}
        return sorted(value for value in near if 0 <= value < 2**bits)
    near = {s * (2**k + d) for k in range(bits) for d in (-2, -1, 0, 1) for s in (1, -1)}
    return sorted(value for value in near if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1))


@pytest.fixture
def stock(ksc: Callable[..., Any], tmp_path: Path) -> Callable[[str], Any]:
    for name in (*READ, "uuid"):
        (tmp_path / f"{name}.ksy").write_text((PRIMITIVES / f"{name}.ksy").read_text())
    # a module called `uuid` would stand in the way of the standard library's
    (tmp_path / "uuid.ksy").rename(tmp_path / "uuid_.ksy")
    text = (tmp_path / "uuid_.ksy").read_text().replace("id: uuid", "id: uuid16")
    (tmp_path / "uuid_.ksy").unlink()
    (tmp_path / "uuid16.ksy").write_text(text)
    reader: Callable[[str], Any] = ksc(tmp_path)
    return reader


@pytest.mark.parametrize("name", READ)
def test_numbers(name: str, stock: Callable[[str], Any]) -> None:
    kind = stock(name)
    values = boundaries(name)
    assert len(values) > 90
    for value in values:
        data = WRITE[name](value)
        assert READ[name](data, 0, len(data)) == (value, len(data))
        assert kind.from_bytes(data).value == value
        # longer than needed, which is legal
        if len(data) < BITS[name] // 7:
            longer = data[:-1] + bytes([data[-1] | 0x80, 0])
            assert READ[name](longer, 0, len(longer)) == (value, len(longer))
            assert kind.from_bytes(longer).value == value
        with pytest.raises(FormatError):
            READ[name](data, 0, len(data) - 1)


@pytest.mark.parametrize("name", READ)
def test_high_bits_of_the_last_group_do_not_count(name: str, stock: Callable[[str], Any]) -> None:
    groups = 10 if name == "varlong" else 5
    for last in range(128):
        data = b"\xff" * (groups - 1) + bytes([last])
        assert READ[name](data, 0, len(data))[0] == stock(name).from_bytes(data).value


@pytest.mark.parametrize("name", READ)
def test_a_group_too_many(name: str) -> None:
    """Kafka refuses it, and so do we; the .ksy body stops before it, as its doc says."""
    data = b"\xff" * (10 if name == "varlong" else 5) + b"\x01"
    with pytest.raises(FormatError):
        READ[name](data, 0, len(data))


def test_uuid(stock: Callable[[str], Any]) -> None:
    data = bytes(range(16))
    assert read_uuid(data, 0, 16) == (UUID(bytes=data), 16)
    assert stock("uuid16").from_bytes(data).value == data
