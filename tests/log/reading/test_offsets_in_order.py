"""Offsets are outside of every checksum: those of a named segment are compared with it and each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.errors import CrcMismatch, Malformed
from kodec.log.batches.batch import Batch

pytestmark = pytest.mark.usefixtures("backend")
NAME = "00000000000000000100.log"


def batch(
    first: int, count: int = 10, *, magic: int = 2, codec: str = "none", at: int | None = None
) -> bytes:
    """A batch of these offsets; with `at`, with this offset in its header in their place."""
    records = [kodec.Record(offset=n, timestamp=n, value=b"%d" % n) for n in range(first, first + count)]
    data = kodec.encode(records, magic=magic, compression=codec, lossy=True)
    if at is not None:
        data = at.to_bytes(8, "big", signed=True) + data[8:]
    return data


def by_records(path: Path, **options: Any) -> list[int]:
    return [record.offset for record in kodec.read_records(path, **options)]


def by_table(path: Path, **options: Any) -> list[int]:
    return list(kodec.read_table(path, ["offset"], **options)["offset"].to_pylist())


READERS = [by_records, by_table]
GOOD = [batch(100), batch(110), batch(120), batch(130)]


@pytest.fixture(params=READERS)
def read(request: pytest.FixtureRequest) -> Callable[..., list[int]]:
    found: Callable[..., list[int]] = request.param
    return found


def test_the_last_offsets_that_there_are(read: Callable[..., list[int]], tmp_path: Path) -> None:
    base = 2**63 - 10
    path = tmp_path / f"{base:020d}.log"
    records = [kodec.Record(offset=base + n, timestamp=n) for n in range(9)]
    path.write_bytes(kodec.encode(records[:4]) + kodec.encode(records[4:]))
    assert read(path) == [record.offset for record in records]
    path.write_bytes(kodec.encode([kodec.Record(offset=2**63 - 1)]))
    with pytest.raises(
        Malformed, match=f"outside of its segment: need at most {2**63 - 2}, have {2**63 - 1}"
    ):
        read(path)


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize(
    ("number", "wrong"),
    [
        (0, 99),
        (0, 0),
        (0, -5),
        (1, 100),
        (1, 109),
        (1, 111),
        (1, 125),
        (1, 10**12),
        (2, 115),
        (2, 2**62),
        (3, 2**33),
    ],
)
def test_the_batch_with_the_wrong_offset_is_named_and_skipped(
    number: int, wrong: int, codec: str, read: Callable[..., list[int]], tmp_path: Path
) -> None:
    parts = [batch(first, codec=codec) for first in (100, 110, 120, 130)]
    parts[number] = batch(100 + 10 * number, codec=codec, at=wrong)
    (tmp_path / NAME).write_bytes(b"".join(parts))
    with pytest.raises(Malformed, match="base_offset") as caught:
        read(tmp_path / NAME)
    assert caught.value.at == sum(map(len, parts[:number])) and caught.value.source == str(tmp_path / NAME)
    left = [n for n in range(100, 140) if n // 10 != 10 + number]
    assert read(tmp_path / NAME, on_error="skip") == left
    # A file that is not called so says nothing of its offsets.
    other = (tmp_path / NAME).rename(tmp_path / "copy.bin")
    assert len(read(other)) == 40


@pytest.mark.parametrize("number", [0, 1, 3])
def test_the_next_segment_bounds_the_last_batch_too(
    number: int, read: Callable[..., list[int]], tmp_path: Path
) -> None:
    parts = list(GOOD)
    parts[number:] = [batch(100 + 10 * number, at=1_000)]
    (tmp_path / NAME).write_bytes(b"".join(parts))
    assert read(tmp_path / NAME)[-1] == 1_009
    (tmp_path / "00000000000000000140.log").touch()
    with pytest.raises(Malformed, match="outside of its segment"):
        read(tmp_path / NAME)


def test_gaps_are_no_damage(read: Callable[..., list[int]], tmp_path: Path) -> None:
    parts = [batch(103), batch(150, 1), batch(152, 1), batch(10_000, 5)]
    (tmp_path / NAME).write_bytes(b"".join(parts) + bytes(100))
    found = [*range(103, 113), 150, 152, *range(10_000, 10_005)]
    assert read(tmp_path / NAME) == found
    (tmp_path / "00000000000000010005.log").touch()
    assert read(tmp_path / NAME) == found


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_messages_and_wrappers(
    magic: int, codec: str, read: Callable[..., list[int]], tmp_path: Path
) -> None:
    parts = [batch(first, magic=magic, codec=codec) for first in (100, 110, 120)]
    (tmp_path / NAME).write_bytes(b"".join(parts))
    assert read(tmp_path / NAME) == list(range(100, 130))
    parts[1] = parts[1][:8].replace(parts[1][:8], (50).to_bytes(8, "big")) + parts[1][8:]
    (tmp_path / NAME).write_bytes(b"".join(parts))
    with pytest.raises(Malformed, match="offsets ascend"):
        read(tmp_path / NAME)


def test_a_wrong_checksum_says_more(read: Callable[..., list[int]], tmp_path: Path) -> None:
    data = bytearray(b"".join(GOOD))
    data[len(GOOD[0]) + 23] ^= 0x40  # the last offset delta
    (tmp_path / NAME).write_bytes(data)
    with pytest.raises(CrcMismatch):
        read(tmp_path / NAME)
    assert read(tmp_path / NAME, on_error="skip") == [*range(100, 110), *range(120, 140)]


def test_batches_are_given_as_they_are_stored(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(GOOD[1] + GOOD[0])
    found: list[Batch] = list(kodec.read_batches(tmp_path / NAME))
    assert [each.base_offset for each in found] == [110, 100]


def test_small_windows_see_the_same(
    read: Callable[..., list[int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import kodec.log.reading.source as source

    monkeypatch.setattr(source, "CHUNK", 150)
    parts = [batch(n, 1) for n in range(100, 130)]
    (tmp_path / NAME).write_bytes(b"".join(parts))
    assert read(tmp_path / NAME) == list(range(100, 130))
    for number in range(30):
        spoilt = list(parts)
        spoilt[number] = batch(100 + number, 1, at=90)
        (tmp_path / NAME).write_bytes(b"".join(spoilt))
        assert read(tmp_path / NAME, on_error="skip") == [n for n in range(100, 130) if n != 100 + number]


@pytest.mark.parametrize("base", [2**63 - 2**31, 2**63 - 2])
def test_the_largest_offsets_are_read(tmp_path: Path, base: int) -> None:
    path = tmp_path / f"{base:020d}.log"
    path.write_bytes(kodec.encode([kodec.Record(offset=base, value=b"v", timestamp=1)]))
    assert [each.offset for each in kodec.read_records(path)] == [base]


SEGMENTS = {100: GOOD[:2], 120: GOOD[2:], 140: [batch(140), batch(150)]}
WRONG_LOGS = {
    "two batches that change places": {**SEGMENTS, 120: GOOD[:1:-1]},
    "a batch that is there twice": {**SEGMENTS, 120: [GOOD[2], GOOD[2], GOOD[3]]},
    "a segment that is there twice in its file": {**SEGMENTS, 120: GOOD[2:] * 2},
    "two segments that change names": {**SEGMENTS, 100: SEGMENTS[140], 140: GOOD[:2]},
    "a segment under the name of the next one": {**SEGMENTS, 120: GOOD[:2]},
    "a segment under the name of the one before": {**SEGMENTS, 120: SEGMENTS[140]},
    "an offset that is too low": {**SEGMENTS, 120: [GOOD[2], batch(130, at=115)]},
    "an offset that is too high for its segment": {**SEGMENTS, 120: [GOOD[2], batch(130, at=135)]},
    "an offset of v1 that is too low": {**SEGMENTS, 140: [batch(140, 1, magic=1, at=5)]},
    "an offset of v1 that no segment has": {**SEGMENTS, 120: [batch(120, 1, magic=1, at=1 << 60)]},
}


@pytest.mark.parametrize("segments", WRONG_LOGS.values(), ids=WRONG_LOGS)
def test_a_topic_partition_never_gives_records_under_wrong_offsets(
    segments: dict[int, list[bytes]], tmp_path: Path
) -> None:
    for base, parts in segments.items():
        (tmp_path / "t-0").mkdir(exist_ok=True)
        (tmp_path / "t-0" / f"{base:020d}.log").write_bytes(b"".join(parts))
    wrong = 100 if segments[100] != SEGMENTS[100] else 120 if segments[120] != SEGMENTS[120] else 140
    with kodec.PartitionLog(tmp_path / "t-0") as log:
        for given in (log.records, log.batches):
            with pytest.raises(Malformed, match="base_offset") as caught:
                list(given())
            assert Path(caught.value.source or "").name == f"{wrong:020d}.log"
        for record in _before_the_error(log):
            assert record.value == b"%d" % record.offset


def _before_the_error(log: kodec.PartitionLog) -> Iterator[kodec.Record]:
    with suppress(Malformed):
        yield from log.records()


def test_a_segment_that_was_merged_while_it_was_read_is_no_damage(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    for base, parts in SEGMENTS.items():
        (folder / f"{base:020d}.log").write_bytes(b"".join(parts))
    with kodec.PartitionLog(folder) as log:
        records = log.records()
        found = [next(records).offset]
        # A cleaner puts both into the second one, and deletes the third, while the first one is read.
        (folder / "00000000000000000120.log").write_bytes(b"".join([*SEGMENTS[120], *SEGMENTS[140]]))
        (folder / "00000000000000000140.log").unlink()
        found += [record.offset for record in records]
    assert found == list(range(100, 160))
