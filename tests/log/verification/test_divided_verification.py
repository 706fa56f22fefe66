"""A log verified by its segments, each read apart, as it is verified in one go."""

import pickle
import random
import shutil
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kodec
from kodec.log.batches.records import ControlRecordType
from kodec.log.directories.producer_state import Marker, ProducerState
from kodec.log.reading.reader import read_batches
from kodec.log.verification.findings import (
    CompareSnapshots,
    EndOfSegment,
    Finding,
    FirstBatch,
    Head,
    OffsetsMissing,
    ProducerBatch,
    SegmentFindings,
    Unreliable,
    concluded,
)
from kodec.log.verification.problems import Problem
from kodec.log.verification.producers import Producers
from kodec.log.verification.verify import plan_readings, verify_partition
from tests.data import DATA, LOGS


def divided(folder: Path) -> list[Problem]:
    log = kodec.PartitionLog(folder)
    pieces = pickle.loads(pickle.dumps(plan_readings(log)))
    return list(verify_partition(log, readings=[pickle.loads(pickle.dumps(each.read())) for each in pieces]))


def whole(folder: Path) -> list[Problem]:
    return list(verify_partition(kodec.PartitionLog(folder)))


def cut(source: Path, folder: Path, count: int) -> Path:
    """A log of one segment, cut into several with `count` batches each; with the snapshots between them.

    One of several segments as it is.
    """
    log, *others = source.glob("*.log")
    if others:
        return Path(shutil.copytree(source, folder))
    folder.mkdir(parents=True)
    data = log.read_bytes()
    batches = list(read_batches(log))
    state = ProducerState()
    entries = bytearray()
    edges = [0, *(batch.position for batch in batches[count::count]), len(data)]
    for begin, end in pairwise(edges):
        part = [batch for batch in batches if begin <= batch.position < end]
        stem = f"{part[0].base_offset:020}"
        (folder / f"{stem}.log").write_bytes(data[begin:end])
        (folder / f"{stem}.snapshot").write_bytes(state.snapshot().to_bytes())
        entries.clear()
        for batch in part:
            if (ended := state.take_batch(batch)) is not None and ended.aborted:
                entries += ended.index_entry().to_bytes()
        if entries:
            (folder / f"{stem}.txnindex").write_bytes(entries)
    (folder / f"{batches[-1].last_offset + 1:020}.snapshot").write_bytes(state.snapshot().to_bytes())
    return folder


def break_files(folder: Path, rng: random.Random) -> None:
    """Up to three kinds of damage."""
    for _ in range(rng.randrange(1, 4)):
        files = sorted(each for each in folder.iterdir() if each.is_file())
        if not files:
            return
        file = rng.choice(files)
        data = bytearray(file.read_bytes())
        kind = rng.randrange(5)
        if kind == 0 and data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            file.write_bytes(data)
        elif kind == 1:
            file.write_bytes(data[: rng.randrange(len(data) + 1)])
        elif kind == 2:
            file.unlink()
        elif kind == 3:
            other = file.with_name(f"{rng.randrange(500):020}{file.suffix}")
            if not other.exists():
                file.rename(other)
        elif len(data) > 8:
            # outside a batch's checksum
            data[4:8] = rng.randrange(500).to_bytes(4, "big")
            file.write_bytes(data)


@pytest.mark.parametrize(
    "name", sorted(each.parent.name for each in LOGS.glob("*-*/00000000000000000000.log"))
)
def test_a_brokers_log(name: str) -> None:
    assert divided(LOGS / name) == whole(LOGS / name)


@pytest.mark.parametrize("name", ["transactions-0", "idempotent-0", "__consumer_offsets-0", "compacted-0"])
def test_a_log_in_many_segments_that_is_damaged(tmp_path: Path, name: str) -> None:
    sound = cut(DATA / "kafka-3.9.1/logs" / name, tmp_path / "sound" / name, 3)
    assert [each for each in whole(sound) if not each.note] == []
    assert divided(sound) == whole(sound)
    found: set[str] = set()
    for seed in range(24):
        folder = tmp_path / str(seed) / name
        shutil.copytree(sound, folder)
        break_files(folder, random.Random(seed))
        problems = whole(folder)
        assert divided(folder) == problems, seed
        found |= {each.path.suffix for each in problems}
    assert {".log", ".snapshot"} <= found


def test_a_segment_that_cannot_be_read(tmp_path: Path) -> None:
    folder = cut(LOGS / "transactions-0", tmp_path / "transactions-0", 4)
    shutil.copy(LOGS / "transactions-0/leader-epoch-checkpoint", folder)
    log = kodec.PartitionLog(folder)
    pieces = plan_readings(log)
    readings = [each.read() for each in pieces]
    readings[1] = SegmentFindings(readings[1].findings[:2], OSError(5, "Input/output error"))
    problems = [each for each in verify_partition(log, readings=readings) if not each.note]
    assert [(each.what, each.path) for each in problems] == [("cannot be read", pieces[1].path)]
    pieces[2].path.unlink()
    gone = pieces[2].read()
    assert isinstance(gone.error, FileNotFoundError)
    readings[1:3] = [pieces[1].read(), gone]
    # of the middle of a log a broker deletes nothing but what it has compacted
    (gap,) = [each for each in verify_partition(log, readings=readings) if not each.note]
    assert (gap.what, gap.path) == ("offsets", pieces[3].path)


class Recorded(Producers):
    """Notes what is known where a snapshot would be compared."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[object] = []

    def compare_below(self, offset: int) -> Iterator[Problem]:
        self.note(offset)
        yield Problem(Path("snapshot"), offset, "compared", len(self.seen), 0)

    def note(self, offset: int) -> None:
        known = {producer: repr(each) for producer, each in self.state.known.items()}
        began = list(self.state.open.items())
        self.seen.append(
            (offset, known, began, dict(self.aborted), self.reliable, self.cleaned, self.first_offset)
        )


@st.composite
def findings(draw: st.DrawFn) -> list[Finding]:
    """What a segment may hold: batches of a few producers, markers, snapshots; offsets ascend."""
    made: list[Finding] = []
    for offset in range(0, 10 * draw(st.integers(0, 40)), 10):
        kind = draw(st.integers(0, 11))
        if kind == 0:
            made.append(CompareSnapshots(offset))
        elif kind == 1:
            made.append(draw(st.sampled_from([Unreliable(), OffsetsMissing(offset), FirstBatch(offset)])))
        elif kind == 2:
            made.append(Problem(Path("log"), offset, "wrong", 1, 2))
        else:
            marker = None
            control = draw(st.integers(0, 3)) == 0
            if control and draw(st.integers(0, 4)):
                marker = Marker(draw(st.sampled_from([*ControlRecordType])), draw(st.integers(-1, 2)), offset)
            head = Head(
                base_offset=offset,
                last_offset=offset + draw(st.integers(0, 9)),
                producer_id=draw(st.integers(0, 2)),
                producer_epoch=draw(st.integers(0, 1)),
                last_sequence=offset,
                max_timestamp=offset * 7,
                is_transactional=draw(st.booleans()),
                is_control=control,
            )
            made.append(ProducerBatch(head, marker))
    made.append(EndOfSegment(draw(st.sampled_from([None, len(made) * 10]))))
    return made


@given(st.lists(findings(), min_size=1, max_size=3))
def test_a_reading_changes_what_is_known_as_the_batches_do(segments: Sequence[Sequence[Finding]]) -> None:
    one, other = Recorded(), Recorded()
    for each in segments:
        reading = SegmentFindings.of(iter(each))
        assert len(reading.findings) <= len(each)
        assert list(concluded(each, one)) == list(concluded(reading, other))
        one.note(-1)
        other.note(-1)
    assert one.seen == other.seen


def test_a_reading_has_the_size_of_what_happened() -> None:
    def batch(number: int, *, transactional: bool = False) -> ProducerBatch:
        return ProducerBatch(Head(number, number, 7, 0, number, number, transactional, False), None)

    assert SegmentFindings.of(map(batch, range(1000))).findings == [batch(999)]
    found = SegmentFindings.of(batch(number, transactional=number >= 500) for number in range(1000)).findings
    assert found == [batch(500, transactional=True), batch(999, transactional=True)]

    def end(number: int, kind: ControlRecordType) -> ProducerBatch:
        return ProducerBatch(Head(number, number, 7, 0, -1, number, True, True), Marker(kind, 1, number))

    def transactions(kind: ControlRecordType) -> Iterator[Finding]:
        for number in range(0, 1000, 4):
            yield from (batch(number + at, transactional=True) for at in range(3))
            yield end(number + 3, kind)

    assert SegmentFindings.of(transactions(ControlRecordType.COMMIT)).findings == [
        batch(998, transactional=True),
        end(999, ControlRecordType.COMMIT),
    ]
    assert len(SegmentFindings.of(transactions(ControlRecordType.ABORT)).findings) == 750
