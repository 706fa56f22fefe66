"""What skipping costs where every checksum is wrong: counted in batches that are opened, not in time."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

import kodec
from kodec.errors import CrcMismatch
from kodec.log import kernel
from kodec.log.batches.records import SkippedRange, SkippedRanges
from kodec.log.reading import walk
from tests.log.wire import batch, message, record

pytestmark = pytest.mark.usefixtures("backend")
COUNT = 2000
KINDS: dict[str, Callable[[int], bytes]] = {
    "messages of 26 bytes": lambda offset: message(offset, None, None, magic=0),
    "messages of v1": lambda offset: message(offset, b"k", b"v", magic=1),
    "batches": lambda offset: batch([record(0, b"k", b"v")], base=offset),
}


def damaged(data: bytes) -> bytes:
    """A batch or a message with another last byte of its checksum."""
    at = 20 if data[16] == 2 else 15
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def found(data: bytes) -> tuple[list[bytes | None], SkippedRanges]:
    reader = kodec.read_records(data, on_error="skip")
    return [each.value for each in reader], reader.skipped


def shown(skipped: SkippedRange) -> tuple[int, int, str]:
    return skipped.start, skipped.end, str(skipped.error)


def alone(data: bytes) -> list[tuple[int, int, str]]:
    """The ranges of damaged batches, each found by looking at it alone."""
    ranges = []
    for each in kodec.read_batches(data, check_crc=False):
        try:
            each.verify_crc()
        except CrcMismatch as error:
            ranges.append((each.position, each.position + each.size, str(error)))
    return ranges


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_opened_for_what_is_said_of_it_alone(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = 0

    def counting(original: Callable[..., Any]) -> Callable[..., Any]:
        def count(*args: Any, **named: Any) -> Any:
            nonlocal opened
            opened += 1
            return original(*args, **named)

        return count

    data = b"".join(damaged(KINDS[kind](offset)) for offset in range(COUNT))
    wanted = alone(data)
    monkeypatch.setattr(kernel, "open_batch", counting(kernel.open_batch))
    monkeypatch.setattr(walk, "open_batch", counting(walk.open_batch))
    values, skipped = found(data)
    assert values == [] and list(map(shown, skipped)) == wanted and len(wanted) == COUNT
    assert opened < 20


@pytest.mark.parametrize("kind", KINDS)
def test_good_ones_between_damaged_ones_are_given(kind: str) -> None:
    make = KINDS[kind]
    good = {0, 7, 8, 300, 301, 302, 1999}
    data = b"".join(make(offset) if offset in good else damaged(make(offset)) for offset in range(COUNT))
    reader = kodec.read_records(data, on_error="skip")
    assert {each.offset for each in reader} == good
    assert list(map(shown, reader.skipped)) == alone(data)


def test_of_many_the_rest_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SkippedRanges, "MOST", 50)
    one = KINDS["messages of 26 bytes"]
    data = b"".join(damaged(one(offset)) for offset in range(COUNT))
    _, skipped = found(data)
    assert (len(skipped), skipped.omitted, skipped.omitted_bytes) == (50, COUNT - 50, 26 * (COUNT - 50))


def test_a_run_of_them_is_one_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    one = KINDS["messages of 26 bytes"]
    with caplog.at_level(logging.WARNING, logger="kodec"):
        found(b"".join(damaged(one(offset)) for offset in range(100)))
    assert len(caplog.records) == 3
    assert "skipped bytes 26 to 2574: the checksum of each batch is wrong" in caplog.text


@pytest.mark.parametrize("kind", KINDS)
def test_the_run_ends_where_something_else_is_wrong(kind: str) -> None:
    make = KINDS[kind]
    parts = [damaged(make(offset)) for offset in range(9)]
    parts[5] = parts[5][:16] + b"\x05" + parts[5][17:]
    data = b"".join(parts)
    stop, count = kernel.wrong_checksums()(data, 0, len(data), 1 << 30)
    assert (stop, count) == (sum(map(len, parts[:5])), 5)
    assert kernel.wrong_checksums()(data[:-1], stop + len(parts[5]), len(data) - 1, 1 << 30)[1] == 2
    assert kernel.wrong_checksums()(make(0), 0, len(make(0)), 1 << 30) == (0, 0)
