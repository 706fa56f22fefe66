"""Rows in pure Python: `head` of `-row`, whose columns have one value for all rows; units that are rows."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable, Iterator
from dataclasses import fields
from types import ModuleType, SimpleNamespace

import crc32c
import pytest

from kodec.generator.problems import SchemaProblem
from kodec.runtime.errors import FormatError
from tests.data import TESTS

FORMATS = TESTS / "generator/formats"


def schemas(*head: str) -> dict[str, str]:
    """The station's log with such columns in its `head`."""
    found = {f"{name}.ksy": (FORMATS / f"{name}.ksy").read_text() for name in ("sensor_log", "varint")}
    listed = "".join(f"        - {{{column}}}\n" for column in head)
    text = found["sensor_log.ksy"]
    assert text.count("    -row:\n") == 1
    return found | {"sensor_log.ksy": text.replace("    -row:\n", f"    -row:\n      head:\n{listed}")}


def test_head_columns_are_told_with_their_types_and_are_no_part_of_a_row(
    codec: Callable[..., ModuleType],
) -> None:
    columns = (
        "name: base, type: int64, value: _batch.base_time",
        "name: packed, type: int8, value: _batch.flags.compression",
    )
    module = codec(schemas(*columns), "sensor_log")
    (head,) = (getattr(module, name) for name in module.__all__ if name.startswith("HEAD_OF_"))
    block = SimpleNamespace(base_time=5, flags=SimpleNamespace(compression=1))
    assert {name: (kind, value(block)) for name, (kind, value) in head.items()} == {
        "base": ("int64", 5),
        "packed": ("int8", 1),
    }
    assert {"base", "packed"}.isdisjoint(field.name for field in fields(module.ReadingRow))


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("name: late, value: _batch.base_time + delta", "`late` is not a value of the container alone"),
        ("name: none", "`none` is not a value of the container alone"),
        ("name: time, value: _batch.base_time", "`time` is a column of the row"),
        ("name: calibrated, value: _batch.base_time", "`calibrated` is a column of the row"),
        ("name: base, value: _batch.base_tim", "base_tim"),
    ],
)
def test_what_is_wrong_with_it_is_said(
    column: str, text: str, problems: Callable[..., list[SchemaProblem]]
) -> None:
    found = problems(schemas(column))
    assert any(text in problem.text for problem in found), found


def telegram(number: int, text: bytes, urgency: int = 0) -> bytes:
    data = struct.pack(">IBb4s", number, 1, urgency, b"KDEC") + struct.pack("<H", 7)
    data += struct.pack(">H", len(text)) + text
    return data + struct.pack(">I", crc32c.crc32c(data))


@pytest.mark.parametrize("derive", ["        -derive: length_of(text)\n", ""], ids=["derived", "plain"])
def test_units_that_are_rows_are_read_as_by_the_reader_of_the_type(
    derive: str, codec: Callable[..., ModuleType]
) -> None:
    text = (FORMATS.parent / "formats_rows" / "telegrams.ksy").read_text()
    text = text.replace("        -derive: length_of(text)\n", derive)
    module = codec({"telegrams.ksy": text.replace("      unless: kind == 9\n", "")}, "telegrams")
    data = telegram(1, b"one") + telegram(2, b"\xff") + telegram(2**32 - 1, b"", urgency=5)

    def careful(data: bytes) -> Iterator[tuple[int, str, int]]:
        at = 0
        with contextlib.suppress(FormatError):
            while at < len(data):
                found, at = module.read_telegram(data, at, len(data))
                yield found.number, found.text, at

    def rows(data: bytes) -> list[tuple[int, str, int]]:
        return [(row.number, row.text, at) for row, at in module.read_telegram_rows(data, 0, len(data))]

    assert [number for number, _, _ in rows(data)] == [1, 2, 2**32 - 1]
    for end in range(len(data)):
        assert rows(data[:end]) == list(careful(data[:end]))
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 1 << at % 8
        assert rows(bytes(changed)) == list(careful(bytes(changed)))
