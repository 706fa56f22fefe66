"""Readers of a log that a broker changes while they read: what it deletes, replaces and appends."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import kodec
from kodec.cli.main import main
from kodec.generated.log import producer_snapshot
from kodec.log.directories.segment import Segment
from kodec.log.files.lock import locked
from kodec.log.verification import verify as verification
from tests.golden import Golden
from tests.log import made
from tests.log.made import START, batch, marker


def three(root: Path) -> Path:
    """Segments of ten records, each in a batch of its own."""
    return made.make(
        root / "topic-0",
        [(at, [batch(n, [(b"k", b"v%d" % n)]) for n in range(at, at + 10)]) for at in (0, 10, 20)],
    )


def delete(folder: Path, base: int) -> None:
    for path in folder.glob(f"{base:020d}.*"):
        path.unlink()


def clean(folder: Path, tmp_path: Path) -> None:
    """What the cleaner does: the first two segments become one, of half of the records."""
    new = made.make(
        tmp_path / "new" / "topic-0", [(0, [batch(n, [(b"k", b"v%d" % n)]) for n in range(1, 20, 2)])]
    )
    for path in new.iterdir():
        path.replace(folder / path.name)
    delete(folder, 10)


def offsets(log: kodec.PartitionLog) -> list[int]:
    return [record.offset for record in log.records()]


def test_what_retention_deletes_while_it_is_read_is_not_given(tmp_path: Path) -> None:
    folder = three(tmp_path)
    with kodec.PartitionLog(folder) as log:
        records = log.records()
        assert [next(records).offset for _ in range(3)] == [0, 1, 2]
        delete(folder, 0)
        delete(folder, 10)
        # The first file is open still.
        assert [each.offset for each in records] == [*range(3, 10), *range(20, 30)]
    with kodec.PartitionLog(folder.parent / "topic-0") as log:
        assert len(log.segments) == 1


def test_segments_that_are_gone_before_they_are_opened(tmp_path: Path) -> None:
    folder = three(tmp_path)
    with kodec.PartitionLog(folder) as log:
        assert len(log.segments) == 3
        delete(folder, 0)
        assert offsets(log) == list(range(10, 30))
        assert [each.base_offset for each in log.batches()] == list(range(10, 30))
        assert [each.offset for each in log.records(isolation="read_committed")] == list(range(10, 30))
        with pytest.raises(kodec.errors.OffsetOutOfRange):
            list(log.records(3))


def test_segments_that_the_cleaner_has_replaced_are_read_on_in_the_new_one(tmp_path: Path) -> None:
    folder = three(tmp_path)
    with kodec.PartitionLog(folder) as log:
        records = log.records()
        assert [next(records).offset for _ in range(3)] == [0, 1, 2]
        clean(folder, tmp_path)
        assert [each.offset for each in records] == [*range(3, 10), *range(11, 20, 2), *range(20, 30)]


def test_a_segment_that_is_open_still_and_was_merged_into_the_one_before(tmp_path: Path) -> None:
    folder = three(tmp_path)
    delete(folder, 20)
    with kodec.PartitionLog(folder) as log:
        # Which opens the last segment.
        assert log.end_offset == 20
        clean(folder, tmp_path)
        assert offsets(log) == list(range(1, 20, 2))


def test_a_file_that_is_listed_and_never_there_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = three(tmp_path)
    opened = Path.open

    def opens(self: Path, *arguments: object, **options: object) -> object:
        if self.name == f"{10:020d}.log":
            raise FileNotFoundError(2, "No such file", str(self))
        return opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", opens)
    with kodec.PartitionLog(folder) as log, pytest.raises(FileNotFoundError, match=f"{10:020d}"):
        offsets(log)


def test_what_is_behind_the_end_is_looked_for_in_the_file_that_is_open(tmp_path: Path) -> None:
    path = three(tmp_path) / f"{0:020d}.log"
    path.write_bytes(path.read_bytes()[:-5])
    with Segment.of(path) as segment:
        batches = segment.batches()
        next(batches)
        path.unlink()
        assert len(list(batches)) == 8
        assert segment.torn_tail is not None and segment.torn_tail.reason.startswith("the batch has")


# -- verify -------------------------------------------------------------------------------------------


def problems(root: Path) -> list[str]:
    with locked(root):
        return [str(each) for each in kodec.repair.verify(root) if not each.note]


def at_the_second_look(monkeypatch: pytest.MonkeyPatch, does: Callable[[], None]) -> list[float]:
    """The broker does something between two looks; how long was waited for it."""
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        if not waited:
            does()
        waited.append(seconds)

    monkeypatch.setattr(verification.time, "sleep", sleep)
    return waited


def test_an_index_that_is_made_after_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    folder = three(tmp_path)
    index = folder / f"{20:020d}.index"
    data = index.read_bytes()
    index.unlink()
    waited = at_the_second_look(monkeypatch, lambda: index.write_bytes(data) and None)
    assert problems(tmp_path) == [] and len(waited) == 1
    index.unlink()
    found = problems(tmp_path)
    assert len(found) == 1
    golden(found[0])


def test_a_segment_whose_files_are_being_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = three(tmp_path)
    old = tmp_path.with_name(f"{tmp_path.name}-old")
    shutil.copytree(folder, old)
    clean(folder, tmp_path)
    for kind in ("index", "timeindex"):
        shutil.copy(old / f"{0:020d}.{kind}", folder / f"{0:020d}.{kind}.later")
        (folder / f"{0:020d}.{kind}").rename(folder / f"{0:020d}.{kind}.new")
        (folder / f"{0:020d}.{kind}.later").rename(folder / f"{0:020d}.{kind}")
    # The one that was merged is there for another moment.
    for path in old.glob(f"{10:020d}.*"):
        shutil.copy(path, folder)

    def completed() -> None:
        for kind in ("index", "timeindex"):
            (folder / f"{0:020d}.{kind}.new").replace(folder / f"{0:020d}.{kind}")
        for path in folder.glob(f"{10:020d}.*"):
            path.rename(f"{path}.deleted")

    with monkeypatch.context() as patch:
        patch.setattr(verification, "MOMENT", 0.0)
        assert len(problems(tmp_path)) > 1
    at_the_second_look(monkeypatch, completed)
    assert problems(tmp_path) == []


def test_a_torn_tail_under_a_broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a broker is appending is whole a moment later; what stays as it is is damage."""
    log = three(tmp_path) / f"{20:020d}.log"
    whole = log.read_bytes()
    log.write_bytes(whole[:-5])
    waited = at_the_second_look(monkeypatch, lambda: log.write_bytes(whole) and None)
    assert problems(tmp_path) == [] and len(waited) == 1
    log.write_bytes(whole[:-5])
    found = problems(tmp_path)
    assert "torn tail" in found[0]
    # One to which a broker appends all the time may end in the middle of a batch at each look.
    with monkeypatch.context() as patch:
        sizes = itertools.count(len(whole) - 60)
        patch.setattr(verification.time, "sleep", lambda _: log.write_bytes(whole[: next(sizes)]))
        assert "torn tail" not in "".join(problems(tmp_path))
    # allocated ahead, as long as it is open
    log.write_bytes(whole + bytes(1000))
    assert problems(tmp_path) == []


def test_damage_is_found_under_a_broker_too(tmp_path: Path) -> None:
    log = three(tmp_path) / f"{10:020d}.log"
    data = bytearray(log.read_bytes())
    data[65] ^= 1
    log.write_bytes(data)
    assert [each for each in problems(tmp_path) if "CrcMismatch" in each]


def test_an_abort_that_was_appended_after_the_transaction_index_was_read(
    tmp_path: Path, golden: Golden
) -> None:
    data = [batch(0, [(b"k", b"v")] * 2, producer=(7, 0, 0), transactional=True), marker(2, 7, commit=False)]
    made.make(tmp_path / "topic-0", [(0, data)])
    assert problems(tmp_path) == []
    not_live = [str(each) for each in kodec.repair.verify(tmp_path) if not each.note]
    assert len(not_live) == 1
    golden(not_live[0])


def test_an_abort_that_is_missing_amid_the_transaction_index_is_a_problem(tmp_path: Path) -> None:
    data: list[bytes] = []
    for at in (0, 3):
        data += [
            batch(at, [(b"k", b"v")] * 2, producer=(7, 0, at), transactional=True),
            marker(at + 2, 7, commit=False),
        ]
    made.make(tmp_path / "topic-0", [(0, data)], aborted=[(7, 3, 5)])
    found = problems(tmp_path)
    assert len(found) == 1 and "aborted at offset 2" in found[0]


def test_a_snapshot_from_before_the_cleaner_took_the_start_of_a_transaction(tmp_path: Path) -> None:
    """Found by histories: the compaction ended before its checkpoint, so the gap alone reports it."""
    data = [
        batch(0, [(b"k", b"v")]),
        batch(3, [(b"k", b"v")], producer=(7, 0, 2), transactional=True),
        batch(4, [(b"l", b"v")], producer=(7, 0, 3), transactional=True),
        marker(5, 7, commit=True),
    ]
    folder = made.make(tmp_path / "topic-0", [(0, data)])
    entry = producer_snapshot.Entry(
        producer_id=7,
        producer_epoch=0,
        last_sequence=2,
        last_offset=3,
        offset_delta=0,
        timestamp=START + 3,
        coordinator_epoch=-1,
        current_txn_first_offset=1,
    )
    snapshot = folder / f"{4:020d}.snapshot"
    snapshot.write_bytes(producer_snapshot.ProducerSnapshot(entries=[entry]).to_bytes())
    assert [str(each) for each in kodec.repair.verify(folder) if not each.note] == []
    entry.current_txn_first_offset = -1
    snapshot.write_bytes(producer_snapshot.ProducerSnapshot(entries=[entry]).to_bytes())
    found = [str(each) for each in kodec.repair.verify(folder) if not each.note]
    assert len(found) == 1 and "need 3, have -1" in found[0]


# -- the command line ---------------------------------------------------------------------------------


def test_dump_goes_on_where_a_file_of_a_folder_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = three(tmp_path)
    listed = sorted(folder.glob("*.log"))
    delete(folder, 10)
    monkeypatch.setattr("kodec.cli.log_dump._files", lambda *given: ((each, None) for each in listed))
    assert main(["dump", "--json", str(folder)]) == 0
    captured = capsys.readouterr()
    *rows, last = captured.out.splitlines()
    assert len(rows) == 20 and f"{10:020d}.log" in captured.err and '"absent"' in last
