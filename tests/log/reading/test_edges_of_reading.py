"""Up to where reads go: bytes asked for, the smallest batch, what is enough to go on with after damage."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import kodec
from kodec.errors import OffsetOutOfRange
from kodec.log.batches.frame import FRAME_SIZE, LEAST_BODY, PLAUSIBLE, Frame
from kodec.log.reading.chain import Chain
from kodec.log.reading.source import open_source
from tests.log import wire
from tests.log.recovery.recovered import make
from tests.systems import changes_logs


@changes_logs
@pytest.mark.parametrize("most", [0, 1, 80, 81, 82, 159, 160, 239, 240, 241, 320, 321, 10**6])
def test_each_read_has_as_many_whole_batches_as_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """From the one that holds the offset, into the next segments, and one at least."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    make(tmp_path / "t-0")
    with kodec.PartitionLog(tmp_path / "t-0") as log:
        every = [batch for segment in log.segments for batch in segment.batches()]
        assert len(every) == 7
        for offset in range(12):
            wanted = b""
            end = offset
            for batch in every:
                if batch.last_offset >= offset and (not wanted or len(wanted) + batch.size <= most):
                    wanted, end = wanted + batch.data, batch.next_offset
                elif wanted:
                    break
            found = log.read(offset, most)
            assert (found.data, found.next_offset) == (wanted, end), offset
        assert log.read(12, most).data == b""
        with pytest.raises(OffsetOutOfRange):
            log.read(13, most)


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_frame_of_the_smallest_length_may_be_one(magic: int) -> None:
    for length, wanted in ((LEAST_BODY, True), (LEAST_BODY + 1, True), (2**31 - 1, True)):
        data = wire.entry(5, bytes([magic]) + bytes(20), size=length)[:FRAME_SIZE]
        assert (PLAUSIBLE.search(data) is not None) is wanted
        assert Frame.peek(data) is not None
    for length in (LEAST_BODY - 1, 1, 0, -1, -(2**31)):
        assert PLAUSIBLE.search(wire.entry(5, bytes([magic]) + bytes(20), size=length)[:FRAME_SIZE]) is None


def test_the_smallest_message_is_found_behind_damage(tmp_path: Path) -> None:
    small = wire.message(2, None, None, magic=0)
    assert len(small) == 12 + LEAST_BODY
    damaged = bytearray(wire.message(1, b"k", b"value", magic=0))
    damaged[9] ^= 1
    rest = b"".join(wire.message(at, None, b"v", magic=0) for at in range(3, 12))
    data = wire.message(0, b"k", b"v", magic=0) + bytes(damaged) + small + rest
    found = list(kodec.read_records(data, on_error="skip"))
    assert [record.offset for record in found] == [0, *range(2, 12)]


def test_how_far_apart_messages_on_their_own_are() -> None:
    """Of magic 1, up to a wrapper or a message of magic 0, whose offsets do not count from anything."""
    parts = [
        wire.message(3, None, b"v"),
        wire.message(10, None, b"v"),
        wire.wrapper(40, wire.message(0), "gzip"),
        wire.message(41, None, b"v"),
        wire.message(43, None, b"v"),
        wire.message(44, None, b"v", magic=0),
    ]
    data = b"".join(parts)
    frame = Frame.peek(data)
    assert frame is not None
    chain = Chain(open_source(data, skip=True), 0, frame, 1 << 20)
    assert chain.leads_out and chain.offsets == [3, 10, 40, 41, 43, 44]
    steps = [chain.largest_step(sum(map(len, parts[:number]))) for number in range(6)]
    assert steps == [30, 30, 0, 2, 1, 0]
    assert chain.largest == max(map(len, parts)) and not chain.lists


@pytest.mark.parametrize("following", range(1, 12))
def test_what_a_damaged_batch_claims_is_believed_where_a_value_is_not_likely_to_hold_it(
    following: int,
) -> None:
    """Its length leads beyond the end, and its checksum is wrong: all after it may be in its value."""
    batches = [wire.batch([wire.record(value=b"v%d" % at)], base=at) for at in range(3 + following)]
    damaged = bytearray(batches[2])
    damaged[9] ^= 0x10  # its length, by a MiB
    damaged[-2] ^= 1  # and its value
    reader = kodec.read_records(b"".join((*batches[:2], damaged, *batches[3:])), on_error="skip")
    found = [record.offset for record in reader]
    # eight batches one after another
    assert found == [0, 1, *(range(3, 3 + following) if following >= 8 else ())]
    assert (reader.torn_tail is None) is (following >= 8)
