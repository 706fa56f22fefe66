"""Verification says what is wrong, and nothing of what is as it may be: live, compacted, copied in part."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import kodec
from kodec.cli.main import main
from kodec.log.files.checkpoints import write_offsets
from kodec.log.files.listing import TopicPartition
from kodec.log.files.lock import is_locked
from kodec.log.writing.config import LogConfig

from . import made
from .made import START, batch, marker

DATA = Path(__file__).parents[1] / "data"
LOGS = DATA / "kafka-4.3.1" / "logs"


def found(path: Path) -> tuple[list[str], list[str]]:
    """(problems, notes) at a path."""
    everything = list(kodec.verify(path))
    return [str(each) for each in everything if not each.note], [
        str(each) for each in everything if each.note
    ]


def dense(root: Path, *, segments: int = 3) -> Path:
    return made.make(
        root / "topic-0",
        [(at * 10, [batch(at * 10, [(b"k", b"v")] * 10, time=START)]) for at in range(segments)],
    )


def test_a_real_broker_s_directory_has_no_problem() -> None:
    problems, _ = found(LOGS)
    assert problems == []


def test_a_topic_partition_that_is_a_link_to_nothing(tmp_path: Path) -> None:
    dense(tmp_path)
    (tmp_path / "topic-1").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "other").symlink_to(tmp_path / "elsewhere")
    (problem,) = kodec.verify(tmp_path)
    assert (problem.path, problem.have, problem.note) == (tmp_path / "topic-1", "a link to nothing", False)
    made.make(tmp_path / "elsewhere", [(0, [batch(0, [(b"k", b"v")], time=START)])])
    assert found(tmp_path) == ([], [])


def test_a_missing_middle_segment(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = dense(tmp_path)
    for path in folder.glob(f"{10:020d}.*"):
        path.unlink()
    problems, notes = found(folder)
    assert len(problems) == 1 and "10 to 19 in no segment" in problems[0] and notes == []
    assert len(list(kodec.PartitionLog(folder).records())) == 20
    assert "offsets 10 to 19 are in no segment" in caplog.text
    # Compaction explains it.
    write_offsets(tmp_path / "cleaner-offset-checkpoint", {TopicPartition("topic", 0): 20})
    problems, notes = found(folder)
    assert problems == [] and "10 to 19 in no segment" in notes[0]


def test_compaction_explains_gaps_that_it_leaves(tmp_path: Path) -> None:
    folder = made.make(
        tmp_path / "topic-0",
        [
            (0, [batch(0, [(b"a", b"1")]), batch(5, [(b"b", b"1")])]),
            (10, [batch(15, [(b"c", b"1")])]),
            (20, [batch(20, [(b"d", b"1")])]),
        ],
    )
    problems, notes = found(folder)
    assert problems == []
    assert [note.rsplit("have ", 1)[1] for note in notes] == [
        "6 to 9 in no segment",
        "16 to 19 in no segment",
    ]


def test_a_torn_middle_segment_ends_reading_with_an_error(tmp_path: Path) -> None:
    folder = dense(tmp_path)
    log = folder / f"{10:020d}.log"
    log.write_bytes(log.read_bytes()[:-3])
    problems, _ = found(folder)
    assert any("torn tail" in each for each in problems)
    records = kodec.PartitionLog(folder).records()
    with pytest.raises(kodec.errors.Truncated, match=r"00000000000000000010\.log"):
        list(records)


def test_snapshots_of_transactions_that_compaction_has_removed(tmp_path: Path) -> None:
    """Segments end within transactions; the snapshots tell of them, and compaction removes their records."""
    config = LogConfig(segment_bytes=400)
    with kodec.LogWriter(tmp_path / "topic-0", config=config) as writer:
        at = 0
        for number in range(6):
            for _ in range(3):
                data = batch(
                    at, [(b"k", b"%d" % number)], producer=(7, 0, at), transactional=True, time=START
                )
                writer.append(data, keep_offsets=True)
                at += 1
            writer.append(marker(at, 7, commit=number % 2 == 0), keep_offsets=True)
            at += 1
    assert found(tmp_path / "topic-0")[0] == []
    report = kodec.plan_compaction(tmp_path / "topic-0").apply()
    assert report.counts.records_removed > 0
    problems, _ = found(tmp_path / "topic-0")
    assert problems == []
    kodec.plan_compaction(tmp_path / "topic-0", from_start=True, delete_retention_ms=0, now=START * 2).apply()
    assert found(tmp_path)[0] == []


def test_copies_of_the_logs_alone(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    for path in (LOGS / "orders-0").glob("*.log"):
        shutil.copy(path, tmp_path / "orders-0")
    assert found(tmp_path)[0] == []
    shutil.copy(next((LOGS / "orders-0").glob("*.index")), tmp_path / "orders-0")
    problems, _ = found(tmp_path)
    assert len(problems) == 1 and "no offset index" in problems[0]


def test_a_log_that_is_being_written(tmp_path: Path) -> None:
    folder = tmp_path / "topic-0"
    assert not is_locked(tmp_path)
    with kodec.LogWriter(folder) as writer:
        writer.append([kodec.Record(value=b"v", timestamp=1)] * 3)
        writer.flush()
        log = folder / f"{0:020d}.log"
        whole = log.read_bytes()
        # In the middle of an append.
        log.write_bytes(whole + whole[:30])
        assert is_locked(tmp_path)
        for path in (tmp_path, folder):
            problems, notes = found(path)
            assert problems == [] and "in use" in notes[0]
        log.write_bytes(whole)
    assert not is_locked(tmp_path)
    assert found(folder) == ([], [])


def test_a_broker_s_lock_is_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dense(tmp_path)
    code = (
        "import fcntl, os, sys; fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT);"
        "fcntl.lockf(fd, fcntl.LOCK_EX);"
        "print('ready', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None and broker.stdout.readline() == "ready\n"
        assert is_locked(tmp_path)
        assert main(["verify", str(tmp_path)]) == 0
        out = capsys.readouterr().out
        assert "note: " in out and "in use" in out and "no problem" in out
        broker.communicate("")


def failing(
    monkeypatch: pytest.MonkeyPatch, bad: Path, error: Callable[[], OSError] = lambda: OSError(5, "I/O error")
) -> None:
    opened = Path.open

    def opens(self: Path, *arguments: object, **options: object) -> object:
        if self == bad:
            raise error()
        return opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", opens)


@pytest.mark.parametrize("verb", ["ls", "verify", "recover"])
def test_one_file_that_cannot_be_read_does_not_hide_the_rest(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "logs"
    for name in ("a-0", "b-0", "c-0"):
        made.make(root / name, [(0, [batch(0, [(b"k", b"v")] * 10, time=START)])])
    failing(monkeypatch, root / "b-0" / f"{0:020d}.log")
    options = ["--from-start"] if verb == "recover" else []
    assert main([verb, str(root), "--json", *options]) == 1
    captured = capsys.readouterr()
    assert "I/O error" in captured.err + captured.out
    if verb == "ls":
        assert captured.out.count('"health": "clean"') == 2
    if verb == "recover":
        assert '"partitions": 3' in captured.out and '"refused": 1' in captured.out


def test_a_segment_that_is_deleted_meanwhile_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = dense(tmp_path)
    failing(monkeypatch, folder / f"{0:020d}.log", lambda: FileNotFoundError(2, "No such file"))
    assert found(folder)[0] == []
    with kodec.PartitionLog(folder) as log:
        assert kodec.survey(log).health == "clean"


def swapped(tmp_path: Path) -> tuple[Path, list[int]]:
    """A log amid a cleaner's swap: the old segments are renamed, the new one is not yet in place."""
    folder = dense(tmp_path)
    new = made.make(
        tmp_path / "new" / "topic-0", [(0, [batch(3, [(b"k", b"v")]), batch(17, [(b"l", b"v")])])]
    )
    for at in (0, 10):
        (folder / f"{at:020d}.log").rename(folder / f"{at:020d}.log.deleted")
        for kind in ("index", "timeindex"):
            (folder / f"{at:020d}.{kind}").rename(folder / f"{at:020d}.{kind}.deleted")
    shutil.move(new / f"{0:020d}.log", folder / f"{0:020d}.log.swap")
    return folder, [3, 17, *range(20, 30)]


def test_a_log_in_the_middle_of_a_swap_is_read_as_it_will_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, wanted = swapped(tmp_path)
    with kodec.PartitionLog(folder) as log:
        assert [record.offset for record in log.records()] == wanted
        assert log.start_offset == 0
    problems, _ = found(folder)
    assert any("interrupted" in each for each in problems)
    assert main(["ls", str(folder)]) == 0
    assert "recovery completes it" in capsys.readouterr().err
    kodec.plan_recovery(folder).apply()
    with kodec.PartitionLog(folder) as log:
        assert [record.offset for record in log.records()] == wanted
    assert found(folder)[0] == []


def test_a_swap_that_is_not_complete_is_not_believed(tmp_path: Path) -> None:
    folder, _ = swapped(tmp_path)
    (folder / f"{0:020d}.log.cleaned").touch()
    with kodec.PartitionLog(folder) as log:
        assert [record.offset for record in log.records()] == list(range(20, 30))


def test_several_threads_may_use_one_log() -> None:
    with kodec.LogDirectory(LOGS) as directory:
        log = directory.partition("segments", 0)
        wanted = {offset: log.read(offset).data for offset in range(log.start_offset, log.end_offset)}
        everything = [record.offset for record in log.records()]

    def work(seed: int) -> None:
        with_directory = directory.partition("segments", 0)
        for turn in range(30):
            offset = everything[(seed * 7919 + turn * 104729) % len(everything)]
            assert with_directory.read(offset).data == wanted[offset]
            if turn % 10 == seed % 10:
                assert [record.offset for record in with_directory.records()] == everything
            if turn % 7 == 3:
                with_directory.close()

    with ThreadPoolExecutor(8) as pool:
        for each in [pool.submit(work, seed) for seed in range(40)]:
            each.result()


LAST = 20
CHECKPOINTS = {
    "replication-offset-checkpoint": "the high watermark",
    "recovery-point-offset-checkpoint": "the recovery point",
}


def _without_the_last(folder: Path) -> None:
    for path in folder.glob(f"{LAST:020d}.*"):
        path.unlink()


def _emptied(folder: Path) -> None:
    _without_the_last(folder)
    (folder / f"{LAST:020d}.log").touch()


def _shortened_to_a_batch(folder: Path) -> None:
    _emptied(folder)
    (folder / f"{LAST:020d}.log").write_bytes(batch(LAST, [(b"k", b"v")] * 4, time=START))


@pytest.mark.parametrize(
    ("damage", "end"),
    [(_without_the_last, LAST), (_emptied, LAST), (_shortened_to_a_batch, LAST + 4)],
    ids=["no last segment", "an empty one", "one that ends between two batches"],
)
@pytest.mark.parametrize("name", CHECKPOINTS)
def test_records_that_a_checkpoint_knows_and_the_log_lost(
    name: str, damage: Callable[[Path], None], end: int, tmp_path: Path
) -> None:
    folder = dense(tmp_path)
    for index in folder.glob("*.*index"):
        index.unlink()
    partition = TopicPartition("topic", 0)
    write_offsets(tmp_path / name, {partition: 30})
    assert found(tmp_path) == ([], [])
    damage(folder)
    write_offsets(tmp_path / name, {partition: end})
    assert found(tmp_path) == ([], [])
    write_offsets(tmp_path / name, {partition: end + 1})
    problems, notes = found(tmp_path)
    assert len(problems) == 1 and notes == []
    assert f"end of the log: need offset {end + 1}, {CHECKPOINTS[name]} in {name}, have {end}" in problems[0]
    # What was deleted by offset was not lost.
    write_offsets(tmp_path / "log-start-offset-checkpoint", {partition: end + 1})
    assert found(tmp_path) == ([], [])
