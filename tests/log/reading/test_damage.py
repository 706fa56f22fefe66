"""A damaged log: what is whole is read, what is not is named with its place, and a torn tail is no damage."""

from __future__ import annotations

import copy
import io
import logging
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.errors import CrcMismatch, FormatError, Malformed, Truncated, Unsupported
from tests.golden import Golden
from tests.log.wire import PAIRS, batch, log_of, message, record, squeeze, wrapper

pytestmark = pytest.mark.usefixtures("backend")


def parts_of(pairs: list[tuple[int, str]]) -> list[bytes]:
    """Entries whose offsets go on without a gap."""
    parts, base = [], 0
    for at, (magic, codec) in enumerate(pairs):
        values = [b"%d.%d" % (at, i) + b"x" * 60 * i for i in range(1 if codec == "none" else 3)]
        parts.append(log_of(magic, codec, values, base=base))
        base += len(values)
    return parts


PARTS = parts_of(PAIRS * 3)
STARTS = [sum(map(len, PARTS[:at])) for at in range(len(PARTS) + 1)]
LOG = b"".join(PARTS)
MIDDLE = range(1, 2 * len(PAIRS))

Records = list[kodec.Record]
Ranges = list[tuple[int, int]]


def alone(kept: list[bytes]) -> Records:
    """The records of undamaged entries, each read by itself."""
    return [found for part in kept for found in kodec.read_records(part)]


def skip(data: bytes, **options: Any) -> tuple[Records, Ranges]:
    """The records, and the ranges passed over with those that touch made one."""
    reader = kodec.read_records(data, on_error="skip", **options)
    found = list(reader)
    ranges: Ranges = []
    for passed in reader.skipped:
        assert isinstance(passed.error, FormatError)
        assert passed.start <= passed.error.at
        if ranges and ranges[-1][1] == passed.start:
            ranges[-1] = (ranges[-1][0], passed.end)
        else:
            ranges.append((passed.start, passed.end))
    return found, ranges


def patch(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def flipped(part: bytes) -> bytes:
    return patch(part, len(part) - 3, bytes([part[-3] ^ 1]))


def resized(by: int) -> Callable[[bytes], bytes]:
    return lambda part: patch(part, 8, struct.pack(">i", len(part) - 12 + by))


DAMAGE: dict[str, tuple[Callable[[bytes], bytes], type[FormatError] | tuple[type[FormatError], ...]]] = {
    "a bit": (flipped, CrcMismatch),
    "stored checksum": (lambda part: patch(part, 17 if part[16] == 2 else 12, b"\1\2\3\4"), CrcMismatch),
    "magic 9": (lambda part: patch(part, 16, b"\x09"), Unsupported),
    "magic -1": (lambda part: patch(part, 16, b"\xff"), Unsupported),
    "length one too long": (resized(1), (CrcMismatch, Malformed)),
    "length 41 too long": (resized(41), (CrcMismatch, Malformed)),
    "length one too short": (resized(-1), (CrcMismatch, Malformed, Truncated)),
    "length 20 too short": (resized(-20), (CrcMismatch, Malformed, Truncated)),
    "length beyond the end": (resized(len(LOG)), Truncated),
    "length 2 GiB": (lambda part: patch(part, 8, struct.pack(">i", 2**31 - 1)), Truncated),
    "length negative": (lambda part: patch(part, 8, struct.pack(">i", -5)), Malformed),
    "length 0": (lambda part: patch(part, 8, bytes(4)), Malformed),
    "all zeros": (lambda part: bytes(len(part)), Malformed),
    "last half zeros": (lambda part: part[: len(part) // 2] + bytes(len(part) - len(part) // 2), FormatError),
    "all 0xff": (lambda part: b"\xff" * len(part), Malformed),
    "text": (lambda part: (b"not a log " * 99)[: len(part)], (Truncated, Unsupported)),
    "gone but for the first half": (lambda part: part[: len(part) // 2], FormatError),
    "gone but for the second half": (lambda part: part[len(part) // 2 :], FormatError),
}


@pytest.mark.parametrize("name", DAMAGE)
@pytest.mark.parametrize("at", MIDDLE)
def test_one_damaged_entry(at: int, name: str) -> None:
    damage, kind = DAMAGE[name]
    hit = damage(PARTS[at])
    data = LOG[: STARTS[at]] + hit + LOG[STARTS[at + 1] :]
    expected = alone(PARTS[:at] + PARTS[at + 1 :])
    where = [(STARTS[at], STARTS[at] + len(hit))]
    assert skip(data) == (expected, where)
    assert skip(Stream(data)) == (expected, where)

    reader = kodec.read_records(io.BytesIO(data))
    found: Records = []
    with pytest.raises(FormatError) as caught:
        found.extend(reader)
    error = caught.value
    assert found == alone(PARTS[:at])
    assert isinstance(error, kind)
    assert reader.torn_tail is None and reader.position == STARTS[at]
    assert STARTS[at] <= error.at <= STARTS[at + 1] + 17
    assert f"at byte {error.at}" in str(error)


class Stream(io.BytesIO):
    """A file that says that it cannot seek."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: Any) -> int:
        raise io.UnsupportedOperation("seek")

    tell = seek


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_at_the_start_and_several_at_once(name: str) -> None:
    damage, _ = DAMAGE[name]
    hits = {0, 9, 10, 21, 22, 23}
    data = b"".join(damage(part) if at in hits else part for at, part in enumerate(PARTS))
    found, ranges = skip(data)
    assert found == alone([part for at, part in enumerate(PARTS) if at not in hits])
    assert len(ranges) == 3
    assert ranges[0][0] == 0
    assert len(data) - sum(end - start for start, end in ranges) == sum(
        len(part) for at, part in enumerate(PARTS) if at not in hits
    )


@pytest.mark.parametrize("size", [1, 11, 12, 16, 17, 18, 61, 100, 5000, 30_000])
@pytest.mark.parametrize("kind", ["zeros", "ff", "text", "an entry's start"])
def test_garbage_between_entries(kind: str, size: int) -> None:
    filler = {"zeros": b"\0", "ff": b"\xff", "text": b"garbage ", "an entry's start": PARTS[14][:30]}[kind]
    garbage = (filler * (size // len(filler) + 1))[:size]
    for at in (5, 14):
        data = LOG[: STARTS[at]] + garbage + LOG[STARTS[at] :]
        found, ranges = skip(data)
        assert found == alone(PARTS)
        assert ranges == [(STARTS[at], STARTS[at] + size)]
        with pytest.raises(FormatError):
            list(kodec.read_records(data))


@pytest.mark.parametrize("filler", [b"\0", b"\xff", b"x", LOG[7:30]])
@pytest.mark.parametrize("page", [100, 512, 1000])
def test_an_overwritten_page(page: int, filler: bytes) -> None:
    for start in range(20, STARTS[-11] - page, 97):
        if any(begin < start + page <= begin + 17 for begin in STARTS):
            continue  # offsets and the leader's epoch are outside the checksum
        data = patch(LOG, start, (filler * page)[:page])
        whole = [at for at in range(len(PARTS)) if data[STARTS[at] : STARTS[at + 1]] == PARTS[at]]
        hit = [at for at in range(len(PARTS)) if at not in whole]
        reader = kodec.read_records(data, on_error="skip")
        assert list(reader) == alone([PARTS[at] for at in whole])
        covered = set()
        for passed in reader.skipped:
            covered |= set(range(passed.start, passed.end))
        if reader.torn_tail:
            covered |= set(range(reader.torn_tail.position, len(data)))
        assert covered == {byte for at in hit for byte in range(STARTS[at], STARTS[at + 1])}


def test_few_batches_between_two_destroyed_frames_are_skipped() -> None:
    # they may be what a value of the first one held; with a frame that only lost its length that is known
    for hits, given in (
        ({20, 24}, {*range(20), *range(25, len(PARTS))}),
        ({20, 29}, set(range(len(PARTS))) - {20, 29}),
    ):
        data = b"".join(bytes(len(part)) if at in hits else part for at, part in enumerate(PARTS))
        assert skip(data)[0] == alone([PARTS[at] for at in sorted(given)])
    data = b"".join(resized(-5)(part) if at in {20, 24} else part for at, part in enumerate(PARTS))
    assert skip(data)[0] == alone([part for at, part in enumerate(PARTS) if at not in {20, 24}])


def test_the_last_few_messages_after_a_destroyed_frame_are_skipped() -> None:
    # a message of magic 0 or 1 ends where its value does: they may be its value
    for magic in (0, 1):
        parts = [message(at, None, b"x" * 30, magic=magic) for at in range(20)]
        for at, given in ((10, 19), (11, 19), (12, 12), (18, 18)):
            data = b"".join(bytes(len(part)) if index == at else part for index, part in enumerate(parts))
            assert len(skip(data)[0]) == given
            content = b"".join(flipped(part) if index == at else part for index, part in enumerate(parts))
            assert len(skip(content)[0]) == 19


def test_old_batches_in_an_overwritten_page_are_not_read_again() -> None:
    # what a disk may do: an old page of the same log in a new one's place
    start = STARTS[10] + 5
    data = patch(LOG, start, LOG[STARTS[2] : STARTS[5]])
    found, _ = skip(data)
    end = start + STARTS[5] - STARTS[2]
    after = [part for at, part in enumerate(PARTS) if STARTS[at] >= end]
    assert found == alone(PARTS[:10] + after)


def test_entries_inside_a_damaged_one_are_not_served() -> None:
    inside = batch([record(0, None, b"inside")]) + message(0, None, b"inside")
    outer = batch([record(0, None, inside)], base=7)
    wrong = flipped(outer)
    right, last = (batch([record(0, None, b"right")], base=base) for base in (0, 100))
    content = batch(record(0, None, inside) + b"\xff", count=1, base=7)
    for bad, most in ((wrong, 5), (content, 5), (patch(outer, 16, b"\x09"), 1)):
        for times in range(1, most + 1):
            found, ranges = skip(right + bad * times + last)
            assert [r.value for r in found] == [b"right"] * 2
            assert ranges == [(len(right), len(right) + len(bad) * times)]
            found, ranges = skip(right + bad * times)
            assert [r.value for r in found] == [b"right"]


def test_what_is_inside_a_batch_whose_length_was_hit() -> None:
    inside = batch([record(0, None, b"inside")], base=8)
    outer = batch([record(0, None, inside)], base=7)
    right, after, last = (batch([record(0, None, b"right")], base=base) for base in (0, 9, 10))
    for by in (2, -2, 1000, len(right)):
        found, ranges = skip(right + resized(by)(outer) + after + last)
        if by == len(right):  # it leads to the batch after the next
            assert [r.offset for r in found] == [0, 10]
            assert ranges == [(len(right), 2 * len(right) + len(outer))]
        else:
            assert [r.offset for r in found] == [0, 9, 10]
            assert ranges == [(len(right), len(right) + len(outer))]


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_cut_is_a_torn_tail_whatever_is_in_the_values(magic: int) -> None:
    for inner in (0, 1, 2):
        inside = log_of(inner, "none", [b"inside" * 5] * 3, base=5)
        log = b"".join(log_of(magic, "none", [inside], base=at) for at in range(3))
        for size in range(len(log)):
            for mode in ("raise", "skip"):
                reader = kodec.read_records(log[:size], on_error=mode)
                assert [r.value for r in reader] == [inside] * (size // (len(log) // 3))
                assert not reader.skipped
                assert (reader.torn_tail is None) == (size % (len(log) // 3) == 0)


def test_offsets_are_those_that_the_segment_can_have(tmp_path: Path) -> None:
    # the first frame is destroyed, and what it held looks like the batches that follow
    held = [log_of(1, "none", [b"held" * 20], base=at) for at in (5, 6)]
    parts = [log_of(1, "none", [b"".join(held)], base=1000)]
    parts += [log_of(1, "none", [b"x" * 30], base=1001 + at) for at in range(12)]
    data = bytes(40) + b"".join(parts)[40:]
    later = log_of(1, "none", [b"later"], base=2000)
    path = tmp_path / f"{1000:020d}.log"
    path.write_bytes(data)
    (tmp_path / f"{2000:020d}.log").write_bytes(later)
    assert [r.offset for r in kodec.read_records(path, on_error="skip")] == list(range(1001, 1013))
    # a page of the next segment at the end of this one
    path.write_bytes(b"".join(parts) + bytes(30) + later)
    assert [r.offset for r in kodec.read_records(path, on_error="skip")] == list(range(1000, 1013))


def test_a_damaged_entry_before_a_torn_tail() -> None:
    right = batch([record(0, None, b"right")])
    for tail in (right[:-1], bytes(5000), right[:9]):
        data = right + flipped(right) + tail
        reader = kodec.read_records(data, on_error="skip")
        assert len(list(reader)) == 1
        assert [(p.start, p.end) for p in reader.skipped] == [(len(right), 2 * len(right))]
        assert reader.torn_tail is not None
        assert (reader.torn_tail.position, reader.torn_tail.size) == (2 * len(right), len(tail))


def test_damage_to_the_end() -> None:
    right = batch([record(0, None, b"right")])
    for tail in (b"\xff" * 100, bytes(30) + b"x", b"text " * 20):
        reader = kodec.read_records(right + flipped(right) + tail, on_error="skip")
        assert len(list(reader)) == 1
        ends = [(p.start, p.end) for p in reader.skipped]
        assert ends[0][0] == len(right)
        torn = reader.torn_tail.size if reader.torn_tail else 0
        assert ends[-1][1] + torn == 2 * len(right) + len(tail)


def test_skipping_goes_by_batches_too() -> None:
    data = LOG[: STARTS[4]] + flipped(PARTS[4]) + LOG[STARTS[5] :]
    reader = kodec.read_batches(data, on_error="skip")
    assert [found.position for found in reader] == [*STARTS[:4], *STARTS[5:-1]]
    assert [(p.start, p.end) for p in reader.skipped] == [(STARTS[4], STARTS[5])]
    unchecked = kodec.read_batches(data, check_crc=False)
    assert [found.crc_ok for found in unchecked] == [at != 4 for at in range(len(PARTS))]
    with pytest.raises(CrcMismatch):
        next(b for b in kodec.read_batches(data, check_crc=False) if not b.crc_ok).verify_crc()


def test_checksums_inside_a_wrapper() -> None:
    for magic in (0, 1):
        inner = message(0, None, b"a", magic=magic) + message(1, None, b"b", magic=magic, crc=5)
        data = wrapper(1, inner, magic=magic)
        with pytest.raises(CrcMismatch) as caught:
            list(kodec.read_records(data))
        assert caught.value.path.endswith("message.value[1].message.crc")
        assert (caught.value.inside, caught.value.need) == ("gzip", 5)
        assert len(list(kodec.read_records(data, check_crc=False))) == 2
        (found,) = kodec.read_batches(data)
        assert found.count == 2 and found.crc_ok


def test_skipped_errors_do_not_keep_the_batch() -> None:
    bad = batch(b"\x1f\x8b\x08junk", count=1, attributes=1)
    reader = kodec.read_records(bad + flipped(PARTS[14]), on_error="skip")
    assert list(reader) == []
    for passed in reader.skipped:
        assert passed.error.__traceback__ is None
        assert passed.error.__cause__ is None and passed.error.__context__ is None


def test_skipping_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="kodec"):
        skip(LOG[: STARTS[4]] + flipped(PARTS[4]) + LOG[STARTS[5] :])
    assert f"skipped bytes {STARTS[4]} to {STARTS[5]}" in caplog.text


# -- the error ------------------------------------------------------------------------------------


def test_an_error_says_where_what_and_in_which_file(tmp_path: Path, golden: Golden) -> None:
    path = tmp_path / "00000000000000000000.log"
    bad = record(0)[:-1] + b"\2"
    data = PARTS[0] + batch(record(0) + bad, count=2, base=70)
    path.write_bytes(data)
    errors = []
    with path.open("rb") as file:
        for source in (path, str(path), file):
            with pytest.raises(Truncated) as caught:
                list(kodec.read_records(source))
            errors.append(caught.value)
    error = errors[0]
    assert {str(other) for other in errors} == {str(error)}
    assert error.source == str(path)
    assert error.path == "RecordBatch(base_offset=70).records[1].body.headers"
    assert (error.at, error.need, error.have) == (len(data), 2, 0)
    golden(str(error))


def test_an_error_in_compressed_bytes_says_both_places(golden: Golden) -> None:
    data = PARTS[0] + batch(squeeze("zstd", record(0) + b"\x08\0\0\0"), count=2, attributes=4)
    with pytest.raises(Truncated) as caught:
        list(kodec.read_records(data))
    error = caught.value
    assert (error.inside, error.at, error.at_inside) == ("zstd", len(PARTS[0]) + 61, len(record(0)) + 1)
    assert error.source is None
    golden(str(error))


@pytest.mark.parametrize("name", DAMAGE)
@pytest.mark.parametrize(
    "travel", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))]
)
def test_errors_travel(travel: Callable[[FormatError], FormatError], name: str) -> None:
    data = LOG[: STARTS[4]] + DAMAGE[name][0](PARTS[4]) + LOG[STARTS[5] :]
    with pytest.raises(FormatError) as caught:
        list(kodec.read_records(data))
    error = caught.value
    other = travel(error)
    assert type(other) is type(error) and str(other) == str(error)
    assert other.__dict__ == error.__dict__


def test_a_limit_travels() -> None:
    with pytest.raises(kodec.errors.LimitExceeded) as caught:
        list(kodec.read_records(PARTS[14], limits=kodec.Limits(decompressed_bytes=1)))
    other = pickle.loads(pickle.dumps(caught.value))
    assert (str(other), other.limit) == (str(caught.value), "decompressed_bytes")


# -- torn or damaged ------------------------------------------------------------------------------


@pytest.mark.parametrize("at", range(len(PARTS) - 1))
def test_a_length_that_was_hit_is_an_error_only_with_entries_after_it(at: int) -> None:
    hit = patch(PARTS[at], 8, struct.pack(">i", 1 << 20))
    data = LOG[: STARTS[at]] + hit
    reader = kodec.read_records(data)
    assert list(reader) == alone(PARTS[:at])
    tail = reader.torn_tail
    assert tail is not None
    assert (tail.position, tail.size) == (STARTS[at], len(hit))
    assert tail.reason == f"the batch has {12 + (1 << 20)} bytes, {len(hit)} are there"
    with pytest.raises(Truncated) as caught:
        list(kodec.read_records(data + PARTS[-1]))
    assert (caught.value.at, caught.value.need) == (STARTS[at], 12 + (1 << 20))
    assert caught.value.have == len(hit + PARTS[-1])


def test_a_tail_is_known_only_at_the_end() -> None:
    reader = kodec.read_records(LOG + b"\0\0")
    next(reader)
    assert reader.torn_tail is None
    list(reader)
    assert reader.torn_tail == kodec.results.TornTail(len(LOG), 2, "zeros")
    assert next(reader, None) is None
