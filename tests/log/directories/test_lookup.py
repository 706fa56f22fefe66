"""Looking up offsets and times gives what a search from the start gives, whatever the indexes say."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

import kodec
from kodec.generated.wire.message_set_send import MessageSetSend
from kodec.generated.wire.multi_message_set_send import MultiMessageSetSend
from kodec.log.directories.fetch import multi_message_set_send
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import BatchRange, Segment
from kodec.log.files.index_files import IndexFile
from kodec.log.verification.verify import verify_partition
from tests.data import DATA, LOGS
from tests.log import wire

pytestmark = pytest.mark.usefixtures("backend")

FOLDERS = sorted(
    folder
    for release in DATA.glob("kafka-*")
    for kind in ("logs", "crashed")
    for folder in (release / kind).glob("*-[0-9]*")
)
CLEAN = [folder for folder in FOLDERS if folder.parent.name == "logs"]


def label(folder: Path) -> str:
    return folder.relative_to(DATA).as_posix()


def put(folder: Path, base: int, log: bytes, **beside: bytes) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{base:020}.log").write_bytes(log)
    for kind, data in beside.items():
        (folder / f"{base:020}.{kind}").write_bytes(data)


def batch(base: int, count: int = 1, *, time: int = 1000, gap: int = 0, codec: str = "none") -> bytes:
    """`count` records from offset `base` on, a millisecond apart from `time` on; then `gap` free offsets."""
    rows = [wire.record(i, None, b"%d" % (base + i), time=i) for i in range(count)]
    return wire.batch(
        wire.squeeze(codec, b"".join(rows)),
        base=base,
        count=count,
        last_delta=count - 1 + gap,
        attributes=wire.CODES[codec],
        base_time=time,
        max_time=time + count - 1,
    )


def index(base: int, *entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">ii", offset - base, position) for offset, position in entries)


def timeindex(base: int, *entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">qi", time, offset - base) for time, offset in entries)


Stored = list[tuple[Segment, kodec.Batch]]


def stored(log: PartitionLog) -> Stored:
    """Every entry, read from the start of each file without anything that is tested here."""
    return [(segment, each) for segment in log.segments for each in kodec.read_batches(segment.path)]


def check_offsets(log: PartitionLog, offsets: range | list[int] | None = None) -> None:
    everything = stored(log)
    for offset in range(log.start_offset, log.end_offset + 1) if offsets is None else offsets:
        wanted = next(
            ((s.base_offset, b.position, b.size) for s, b in everything if b.last_offset >= offset), None
        )
        for use_index in (True, False):
            found = log.find(offset, use_index=use_index)
            have = None if found is None else (found[0].base_offset, found[1].position, found[1].size)
            assert have == wanted, (offset, use_index)


def records(log: PartitionLog) -> list[kodec.Record]:
    every = [record for _, each in stored(log) for record in each.records(control=True)]
    return [record for record in every if record.offset >= log.start_offset]


def check_times(log: PartitionLog, most: int = 100) -> None:
    every = records(log)
    times = {record.timestamp + step for record in every for step in (-1, 0, 1)} | {0, 2**62}
    for number, time in enumerate(sorted(time for time in times if time >= 0)):
        if number % -(-len(times) // most):
            continue
        wanted = next(((r.timestamp, r.offset) for r in every if r.timestamp >= time), None)
        # Without the index each search reads all headers: a few will do.
        for use_index in (True, False) if number % 10 == 0 else (True,):
            found = log.find_timestamp(time, use_index=use_index)
            assert (None if found is None else found[:2]) == wanted, (time, use_index)
    largest = max((record.timestamp for record in every), default=-1)
    last = next(((r.timestamp, r.offset) for r in every if r.timestamp == largest and largest >= 0), None)
    for use_index in (True, False):
        top = log.find_max_timestamp(use_index=use_index)
        assert (None if top is None else top[:2]) == last


@pytest.mark.parametrize("folder", FOLDERS, ids=label)
def test_every_offset_of_real_logs(folder: Path) -> None:
    with PartitionLog(folder) as log:
        check_offsets(log)
        ends = [each.next_offset for _, each in stored(log)]
        assert log.end_offset == max([log.segments[-1].base_offset, *ends])
        for offset in (log.start_offset - 1, log.end_offset + 1):
            with pytest.raises(kodec.errors.OffsetOutOfRange) as caught:
                log.find(offset)
            error = caught.value
            assert (error.offset, error.start, error.end) == (offset, log.start_offset, log.end_offset)


@pytest.mark.parametrize("folder", FOLDERS, ids=label)
def test_every_time_of_real_logs(folder: Path) -> None:
    with PartitionLog(folder) as log:
        check_times(log, most=10_000)


@pytest.mark.parametrize("folder", CLEAN, ids=label)
def test_a_broker_left_nothing_to_complain_of(folder: Path) -> None:
    problems = verify_partition(PartitionLog(folder))
    assert [str(problem) for problem in problems if not problem.note] == []


@pytest.mark.parametrize("folder", FOLDERS, ids=label)
def test_heads_are_those_of_the_batches(folder: Path) -> None:
    names = [
        "position",
        "size",
        "magic",
        "codec",
        "last_offset",
        "max_timestamp",
        "timestamp_type",
        "base_timestamp",
        "producer_id",
        "next_offset",
        "producer_epoch",
        "base_sequence",
        "is_transactional",
        "is_control",
        "delete_horizon",
        "partition_leader_epoch",
    ]
    with PartitionLog(folder) as log:
        for (_, head), (_, each) in zip(log.headers(), stored(log), strict=True):
            assert [getattr(head, name) for name in names] == [getattr(each, name) for name in names]
            assert head.base_offset in (None, each.base_offset)
            assert head.count in (None, each.count)
            if each.magic == 2 or each.codec == "none":
                assert head.base_offset is not None and head.count is not None


def big(tmp_path: Path) -> tuple[Path, list[tuple[int, int]], list[tuple[int, int]]]:
    """A segment from offset 1000 on with gaps, times that fall back, and honest indexes."""
    pick = random.Random(7)
    log, offset, time = b"", 1000, 5000
    offsets: list[tuple[int, int]] = []
    times: list[tuple[int, int]] = []
    largest = -1
    for number in range(160):
        count, gap = pick.randrange(1, 6), pick.choice((0, 0, 0, 3))
        position = len(log)
        log += batch(offset, count, time=time, gap=gap, codec=pick.choice(("none", "gzip")))
        last = offset + count - 1 + gap
        if time + count - 1 > largest:
            largest = time + count - 1
            if number % 5 == 4:
                times.append((largest, last))
        if number % 5 == 4:
            offsets.append((last, position))
        offset = last + 1
        time += pick.choice((10, 10, 20, -15))
    folder = tmp_path / "big-0"
    put(folder, 1000, log, index=index(1000, *offsets), timeindex=timeindex(1000, *times))
    return folder, offsets, times


def zeroed(data: bytes) -> bytes:
    return data + bytes(8 * 300)


def shuffled(data: bytes) -> bytes:
    slots = [data[at : at + 8] for at in range(0, len(data), 8)]
    random.Random(3).shuffle(slots)
    return b"".join(slots)


def noise(data: bytes) -> bytes:
    return random.Random(5).randbytes(len(data))


def late(data: bytes) -> bytes:
    """Each offset leads to the position of the next one's entry."""
    return b"".join(data[at : at + 4] + data[at + 12 : at + 16] for at in range(0, len(data) - 8, 8))


def between(data: bytes) -> bytes:
    return b"".join(struct.pack(">ii", o, p + 1) for o, p in struct.iter_unpack(">ii", data))


def far(data: bytes) -> bytes:
    return b"".join(struct.pack(">ii", o, p + 2**30) for o, p in struct.iter_unpack(">ii", data))


def negative(data: bytes) -> bytes:
    return b"".join(struct.pack(">ii", o, -p) for o, p in struct.iter_unpack(">ii", data))


LIES = [
    zeroed,
    shuffled,
    noise,
    late,
    between,
    far,
    negative,
    lambda _: b"",
    lambda d: d[:-3],
    lambda d: bytes(len(d)),
]


@pytest.mark.parametrize("lie", LIES)
def test_a_wrong_offset_index_changes_no_answer(tmp_path: Path, lie: Callable[[bytes], bytes]) -> None:
    folder, _, _ = big(tmp_path)
    file = folder / f"{1000:020}.index"
    file.write_bytes(lie(file.read_bytes()))
    with PartitionLog(folder) as log:
        check_offsets(log)
        assert log.end_offset == stored(log)[-1][1].next_offset


@pytest.mark.parametrize("kind", ["index", "timeindex"])
def test_a_missing_index_changes_no_answer(tmp_path: Path, kind: str) -> None:
    folder, _, _ = big(tmp_path)
    (folder / f"{1000:020}.{kind}").unlink()
    with PartitionLog(folder) as log:
        check_offsets(log, [1000, 1001, 1500, log.end_offset - 1])
        check_times(log)


def test_an_index_that_cannot_be_read_changes_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = [batch(first, 5) for first in range(0, 30, 5)]
    put(tmp_path / "t-0", 0, b"".join(data), index=index(0, (9, len(data[0])), (19, 3 * len(data[0]))))

    def denied(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(IndexFile, "of_offsets", denied)
    check_offsets(PartitionLog(tmp_path / "t-0"))


def test_an_index_that_disappears_changes_no_answer(tmp_path: Path) -> None:
    folder, _, _ = big(tmp_path)
    with PartitionLog(folder) as log:
        assert log.segments[0].index is not None
        for kind in ("index", "timeindex"):
            (folder / f"{1000:020}.{kind}").unlink()
        check_offsets(log, [1000, 1500])
        check_times(log)


@pytest.mark.parametrize(
    "lie",
    [
        lambda data: data + bytes(12 * 300),
        lambda data: random.Random(5).randbytes(len(data)),
        lambda data: b"",
        lambda data: data[: len(data) // 2 + 5],
        lambda data: b"".join(struct.pack(">qi", t, o + 7) for t, o in struct.iter_unpack(">qi", data)),
        lambda data: b"".join(struct.pack(">qi", t, -o) for t, o in struct.iter_unpack(">qi", data)),
        lambda data: b"".join(struct.pack(">qi", t // 2, o) for t, o in struct.iter_unpack(">qi", data)),
        lambda data: b"".join(struct.pack(">qi", t + 500, o) for t, o in struct.iter_unpack(">qi", data)),
    ],
)
def test_a_wrong_time_index_changes_no_answer(tmp_path: Path, lie: Callable[[bytes], bytes]) -> None:
    folder, _, _ = big(tmp_path)
    file = folder / f"{1000:020}.timeindex"
    file.write_bytes(lie(file.read_bytes()))
    with PartitionLog(folder) as log:
        check_times(log)


def test_the_index_is_used(tmp_path: Path) -> None:
    folder, offsets, times = big(tmp_path)
    with PartitionLog(folder) as log:
        check_offsets(log)
        check_times(log)
        segment = log.segments[0]
        walked: list[int] = []
        whole = segment._frame
        segment._frame = lambda pos: walked.append(pos) or whole(pos)
        for offset, position in offsets:
            walked.clear()
            place = segment.find(offset)
            assert place is not None and place.position == position
            assert len(walked) <= 7 and min(walked) >= position
        for time, _ in times:
            walked.clear()
            found = segment.find_timestamp(time)
            assert found is not None and found.timestamp >= time
            assert len(walked) <= 60
        walked.clear()
        assert segment.next_offset == log.end_offset
        assert len(walked) <= 7


def test_entries_that_an_index_of_0_11_names_by_their_first_offset(tmp_path: Path) -> None:
    folder = DATA / "kafka-0.11.0.3/logs/segments-0"
    with PartitionLog(folder) as log:
        for segment in log.segments:
            data = (folder / f"{segment.base_offset:020}.index").read_bytes()
            for relative, position in struct.iter_unpack(">ii", data):
                assert segment._anchor(segment.base_offset + relative) == position


def test_compacted_gaps_and_a_base_below_the_first_entry(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    put(folder, 0, batch(50, 2, gap=8) + batch(90))
    put(folder, 100, b"")
    put(folder, 200, batch(300, 3) + wire.batch((), base=400, last_delta=9))
    with PartitionLog(folder) as log:
        assert (log.start_offset, log.end_offset) == (0, 410)
        check_offsets(log)
        assert [record.offset for record in log.records()] == [50, 51, 90, 300, 301, 302]
        assert [record.offset for record in log.records(52)] == [90, 300, 301, 302]
        assert [record.offset for record in log.records(301)] == [301, 302]
        assert list(log.records(410)) == []
        read = log.read(91)
        assert (read.next_offset, [each.base_offset for each in read.batches()]) == (410, [300, 400])


def test_empty_segments_and_an_empty_partition(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    put(folder, 5, b"", index=b"", timeindex=b"")
    with PartitionLog(folder) as log:
        assert (log.start_offset, log.end_offset, log.last_stable_offset) == (5, 5, 5)
        assert log.find(5) is None
        assert log.find_timestamp(0) is None
        assert log.find_max_timestamp() is None
        assert log.read(5).data == b""
        assert list(log.records()) == []
    put(folder, 0, batch(0, 5))
    with PartitionLog(folder) as log:
        check_offsets(log)
        assert log.end_offset == 5
    (tmp_path / "none-0").mkdir()
    nothing = PartitionLog(tmp_path / "none-0", log_start_offset=7)
    assert (nothing.start_offset, nothing.end_offset) == (7, 7)
    assert list(nothing.records(isolation="read_committed")) == []


def test_mixed_formats(tmp_path: Path) -> None:
    parts = [
        wire.log_of(m, codec, [b"a", b"b", b"c"], base=10 * n) for n, (m, codec) in enumerate(wire.PAIRS)
    ]
    folder = tmp_path / "t-0"
    put(folder, 0, b"".join(parts[:7]))
    put(folder, 70, b"".join(parts[7:]))
    with PartitionLog(folder) as log:
        check_offsets(log)
        check_times(log)
        values = [record.value for record in log.records(12)]
        assert values == [b"c", *[b"a", b"b", b"c"] * (len(parts) - 2)]
        assert len(log.read(0, 1 << 20).data) == sum(map(len, parts))


def test_times_of_old_formats_and_of_the_broker(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    inner = wire.message(0, None, b"x", time=5) + wire.message(1, None, b"y", time=7)
    log = (
        wire.message(0, magic=0)
        + wire.wrapper(2, inner, time=7)
        + wire.wrapper(4, inner, attributes=8, time=50)
    )
    log += wire.batch(
        [wire.record(0, time=3), wire.record(1)], base=5, attributes=8, base_time=1, max_time=60
    )
    put(folder, 0, log)
    with PartitionLog(folder) as found:
        check_times(found)
        assert found.find_timestamp(0) == (5, 1, -1)
        assert found.find_timestamp(6) == (7, 2, -1)
        assert found.find_timestamp(8) == (50, 3, -1)
        assert found.find_timestamp(51) == (60, 5, -1)
        assert found.find_max_timestamp() == (60, 5, -1)
        with pytest.raises(ValueError, match="not negative"):
            found.find_timestamp(-1)


def test_offsets_far_from_the_base(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    far_off = 2**31 + 77
    first = batch(0)
    put(folder, 0, first + batch(far_off, 2), index=index(0, (0, 0)))
    with PartitionLog(folder) as log:
        check_offsets(log, [0, 1, 2**31, far_off, far_off + 1])
        # It is found, but no segment can have it.
        with pytest.raises(kodec.errors.Malformed, match="outside of its segment"):
            list(log.records(1))
        (problem,) = [each for each in verify_partition(log) if each.what == "last offset"]
        assert (problem.at, problem.need) == (len(first), f"at most {2**31 - 1}")
    top = tmp_path / "top-0"
    put(top, 2**63 - 10, batch(2**63 - 10, 9))
    with PartitionLog(top) as log:
        assert log.end_offset == 2**63 - 1
        check_offsets(log, [2**63 - 10, 2**63 - 2])


def test_the_log_start_offset_is_respected() -> None:
    with PartitionLog(LOGS / "records-deleted-0") as log:
        with pytest.raises(kodec.errors.OffsetOutOfRange, match="offsets 13 to 30"):
            list(log.records(12))
        with pytest.raises(kodec.errors.OffsetOutOfRange):
            log.read(12)
        assert [record.offset for record in log.records()] == list(range(13, 30))
        found = log.find_timestamp(0)
        assert found is not None and found.offset == 13
        assert log.read(13).batches()[0].base_offset < 13
    with PartitionLog(LOGS / "records-deleted-0", log_start_offset=99) as log:
        assert (log.start_offset, log.end_offset) == (99, 99)
        assert list(log.records()) == []


def test_read_gives_whole_batches_and_at_least_one(tmp_path: Path) -> None:
    with PartitionLog(LOGS / "orders-0") as log:
        entries = stored(log)
        for limit in (0, 1, 1300, 5000, 20_000, 1 << 20):
            offset, seen = 0, b""
            while offset < log.end_offset:
                read = log.read(offset, limit)
                batches = read.batches()
                assert batches and batches[-1].next_offset == read.next_offset > offset
                assert len(read.data) <= limit or len(batches) == 1
                seen += read.data
                offset = read.next_offset
            assert seen == b"".join(each.data for _, each in entries)
        assert log.read(log.end_offset).data == b""
        middle = log.read(15, 1)
        assert middle.batches()[0].base_offset <= 15 < middle.next_offset


def test_old_fetch_results() -> None:
    with PartitionLog(DATA / "kafka-0.9.0.1/logs/v0-none-0") as log:
        reads = [log.read(0, 200), log.read(3, 100)]
    one = MessageSetSend.from_bytes(reads[0].message_set_send().to_bytes())
    assert (one.error_code, one.messages) == (0, reads[0].data)
    several = MultiMessageSetSend.from_bytes(multi_message_set_send(reads).to_bytes())
    assert [part.messages for part in several.parts] == [read.data for read in reads]
    assert next(iter(kodec.read_records(several.parts[1].messages))).offset == 3


def test_a_stretch(tmp_path: Path) -> None:
    parts = [batch(0, 3), batch(3, 2, gap=4), batch(20)]
    put(tmp_path / "t-0", 0, b"".join(parts) + batch(30)[:-1])
    segment = PartitionLog(tmp_path / "t-0").segments[0]
    size = sum(map(len, parts))
    assert segment.whole_batches() == BatchRange(size, 3, 21)
    assert segment.torn_tail is not None and segment.torn_tail.position == size
    assert segment.whole_batches(len(parts[0])) == BatchRange(size - len(parts[0]), 2, 21)
    assert segment.whole_batches(0, size - 1) == BatchRange(len(parts[0]) + len(parts[1]), 2, 9)
    assert segment.whole_batches(0, 10) == BatchRange(0, 0, None)
    assert segment.next_offset == 21


def test_damage_does_not_hide_what_is_whole(tmp_path: Path) -> None:
    folder, offsets, _ = big(tmp_path)
    file = folder / f"{1000:020}.log"
    data = bytearray(file.read_bytes())
    entries = stored(PartitionLog(folder))
    hit = entries[100][1]
    data[hit.position + 8] = 0x80
    file.write_bytes(data)
    with PartitionLog(folder) as log:
        behind = next(last for last, position in offsets if position > hit.position)
        found = log.find(behind)
        assert found is not None and found[1].position == dict(offsets)[behind]
        found = log.find(hit.base_offset - 1)
        assert found is not None and found[1].position == entries[99][1].position
        with pytest.raises(kodec.errors.Malformed) as caught:
            log.find(hit.base_offset)
        assert caught.value.at == hit.position + 8
        assert caught.value.source == str(file)
        got = []
        with pytest.raises(kodec.errors.Malformed):
            got += [record.offset for record in log.records()]
        assert log.end_offset == entries[-1][1].next_offset


def test_a_wrong_checksum_is_found_where_it_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    first = batch(0, 2)
    data = bytearray(first + batch(2, 2))
    data[-1] ^= 1
    put(folder, 0, bytes(data))
    with PartitionLog(folder) as log:
        found = log.find(3)
        assert found is not None and found[1].position == len(first)
        with pytest.raises(kodec.errors.CrcMismatch) as caught:
            list(log.records(2))
        assert caught.value.at == len(first) + 17
        assert caught.value.source == str(folder / f"{0:020}.log")


@pytest.mark.parametrize("tail", [bytes(4000), bytes(5), batch(9)[:-1], batch(9)[:16]])
def test_a_torn_tail_ends_the_log(tmp_path: Path, tail: bytes) -> None:
    folder = tmp_path / "t-0"
    whole = batch(0, 4) + batch(4, 4)
    put(folder, 0, whole + tail, index=index(0, (7, len(batch(0, 4)))) + bytes(4000))
    with PartitionLog(folder) as log:
        assert log.end_offset == 8
        assert log.segments[0].torn_tail is not None
        assert log.segments[0].torn_tail.position == len(whole)
        assert [record.offset for record in log.records()] == list(range(8))
        assert log.read(0).data == whole
    put(folder, 8, batch(8, 2))
    with PartitionLog(folder) as log:
        assert [record.offset for record in log.records()] == list(range(10))
        check_offsets(log)


def test_a_file_that_grows_is_read_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    put(folder, 0, batch(0) + batch(1)[:30])
    log = PartitionLog(folder)
    assert log.segments[0].find(0) is not None
    put(folder, 0, batch(0) + batch(1))
    assert log.end_offset == 1
    assert log.segments[0].torn_tail is not None and "grown" in log.segments[0].torn_tail.reason
    assert PartitionLog(folder).end_offset == 2


def test_bytes_by_position_are_those_of_the_file(tmp_path: Path) -> None:
    data = random.Random(11).randbytes(100_000)
    put(tmp_path / "t-0", 0, data)
    segment = PartitionLog(tmp_path / "t-0").segments[0]
    pick = random.Random(12)
    position = 0
    for _ in range(2000):
        size = pick.choice((1, 17, 64, 5000, 30_000))
        assert segment.read_bytes(position, size) == data[position : position + size]
        position = position + size if pick.random() < 0.7 else pick.randrange(len(data) + 10)
    segment.close()
    assert segment.read_bytes(99_990, 20) == data[99_990:]


def test_records_and_batches_from_a_position(tmp_path: Path) -> None:
    parts = [batch(0, 3), wire.log_of(1, "gzip", [b"x", b"y"], base=3), batch(5, 2)]
    put(tmp_path / "t-0", 0, b"".join(parts))
    with Segment.of(tmp_path / "t-0" / f"{0:020}.log") as segment:
        assert [record.offset for record in segment.records(len(parts[0]))] == [3, 4, 5, 6]
        assert [each.data for each in segment.batches()] == parts
        assert [head.size for head in segment.headers(end=len(parts[0]) + 5)] == [len(parts[0])]
        assert segment.is_open
    assert not segment.is_open
