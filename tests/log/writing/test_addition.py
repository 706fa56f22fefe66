"""Segments that were made elsewhere come into a log all at once and once, whatever is interrupted."""

import json
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

import kodec
from kodec.errors import EncodeError, Malformed
from kodec.log.files.listing import TopicPartition
from kodec.log.omissions import Omissions
from kodec.log.writing import add_segments as addition
from kodec.log.writing.add_segments import (
    JOURNAL,
    FinishedSegment,
    add_segments,
    finish_additions,
    is_unfinished,
    staging_folder,
)
from kodec.log.writing.segment_writer import SegmentWriter

OWNER = TopicPartition("orders", 0)
GONE = f"../.logs.kodec-sink-q/{0:020d}.log"


def finished(folder: Path, size: int, base: int = 0, topic: str = "orders") -> FinishedSegment:
    """A segment of `size` records in two batches, in a staging folder of the `logs` next to it."""
    folder = staging_folder(folder.with_name("logs"), folder.name)
    folder.mkdir(parents=True)
    records = [kodec.Record(key=b"k", value=b"%d" % n, timestamp=1_000 + n) for n in range(size)]
    data = kodec.encode(records, base_offset=base, batch_records=max(size // 2, 1), partition_leader_epoch=0)
    with SegmentWriter(folder, base, index_interval_bytes=0) as writer:
        for batch in kodec.read_batches(data):
            writer.append(batch.data, batch)
    return FinishedSegment(
        TopicPartition(topic, 0), writer.path, base, base, base + size, size, len(data), 1_000 + size - 1
    )


def offsets(root: Path) -> list[int]:
    return [
        record.offset
        for record in kodec.LogDirectory(root).partition("orders", 0).records(omissions=Omissions())
    ]


def test_batches_get_the_offsets_from_the_end_of_the_log_on(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    parts = [finished(tmp_path / f"s{n}", 4) for n in range(3)]
    assert add_segments(root, parts[:2]) == {OWNER: range(8)}
    assert add_segments(root, [parts[2], finished(tmp_path / "p", 2, topic="paid")]) == {
        OWNER: range(8, 12),
        TopicPartition("paid", 0): range(2),
    }
    assert offsets(root) == list(range(12))
    assert [path.name for path in sorted((root / "orders-0").glob("*.log"))] == [
        f"{base:020d}.log" for base in (0, 4, 8)
    ]
    assert list(kodec.repair.verify(root)) == []
    assert (root / "orders-0" / "leader-epoch-checkpoint").read_text() == "0\n1\n0 0\n"
    assert not list(tmp_path.glob(".logs*/*"))
    # As a broker's log, it can be written on.
    with kodec.LogWriter(root / "orders-0") as writer:
        assert writer.append([kodec.Record(value=b"v", timestamp=1)]).first_offset == 12


def test_the_newest_leader_epoch_of_the_log_is_taken(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    with kodec.LogDirectoryWriter(root) as directory:
        directory.partition("orders", 0, leader_epoch=7).append([kodec.Record(value=b"v", timestamp=1)])
    assert (root / ".kafka_cleanshutdown").exists()
    add_segments(root, [finished(tmp_path / "s", 4)])
    epochs = [
        batch.partition_leader_epoch for batch in kodec.LogDirectory(root).partition("orders", 0).batches()
    ]
    assert epochs == [7, 7, 7] and offsets(root) == list(range(5))
    assert not (root / ".kafka_cleanshutdown").exists()


def test_offsets_that_are_kept_must_ascend(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    parts = [finished(tmp_path / f"s{base}", 4, base) for base in (50, 10, 12)]
    with pytest.raises(EncodeError, match=r"orders-0.*offsets must ascend.*need at least 14, have 12"):
        add_segments(root, parts, keep_offsets=True)
    assert not (root / "orders-0").exists()
    assert add_segments(root, parts[:2], keep_offsets=True) == {OWNER: range(10, 54)}
    assert offsets(root) == [*range(10, 14), *range(50, 54)]
    with pytest.raises(EncodeError, match="need at least 54, have 12"):
        add_segments(root, parts[2:], keep_offsets=True)


def test_a_batch_of_a_query_is_added_once(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    assert add_segments(root, [finished(tmp_path / "a", 4)], batch=("q", 0)) is not None
    assert add_segments(root, [finished(tmp_path / "b", 4)], batch=("q", 0)) is None
    assert add_segments(root, [finished(tmp_path / "c", 4)], batch=("other", 0)) is not None
    assert add_segments(root, [finished(tmp_path / "d", 4)], batch=("q", 1)) is not None
    assert offsets(root) == list(range(12))


class Killed(BaseException):
    """Stands for the end of the process."""


def test_whatever_is_interrupted_all_or_nothing_is_added(tmp_path: Path) -> None:
    outcomes = []
    for at in count():
        outcomes.append(_interrupted(tmp_path / str(at), at))
        if outcomes[-1] == "done":
            break
    assert len(outcomes) > 10
    assert set(outcomes) == {"nothing", "all", "done"} and outcomes == sorted(outcomes, key=ORDER.index)


ORDER = ["nothing", "all", "done"]


def _interrupted(folder: Path, at: int) -> str:
    """Add two segments to a log and stop at a step; what is there once the next one has come."""
    root = folder / "logs"
    add_segments(root, [finished(folder / "first", 2)])
    parts = [finished(folder / "a", 4), finished(folder / "b", 4)]
    steps = iter(range(at))

    def stopping(real: Callable[..., None]) -> Callable[..., None]:
        def step(*args: object, **options: object) -> None:
            if next(steps, None) is None:
                raise Killed
            real(*args, **options)

        return step

    outcome = "done"
    with pytest.MonkeyPatch.context() as patch:
        for name in ("replace_file", "make_folder", "sync_folder", "write_all", "_move"):
            patch.setattr(addition, name, stopping(getattr(addition, name)))
        try:
            add_segments(root, parts, batch=("q", 3))
        except Killed:
            outcome = "stopped"
    finish_additions(root)
    found = len(offsets(root))
    assert found in (2, 10)
    # Spark makes a batch that may have failed again.
    again = [finished(folder / f"again-{name}", 4) for name in ("a", "b")]
    assert (add_segments(root, again, batch=("q", 3)) is None) == (found == 10)
    assert offsets(root) == list(range(10))
    assert list(kodec.repair.verify(root)) == []
    return outcome if outcome == "done" else "all" if found == 10 else "nothing"


def test_a_log_that_is_to_be_recovered_or_is_in_use_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "logs"
    add_segments(root, [finished(tmp_path / "a", 4)])
    log = next((root / "orders-0").glob("*.log"))
    log.write_bytes(log.read_bytes()[:-1])
    with pytest.raises(Malformed, match=r"torn tail.*recovered first"):
        add_segments(root, [finished(tmp_path / "b", 4)])
    monkeypatch.setattr(addition, "PATIENCE", 0.1)
    lock = f"with locked({str(root)!r}): print(1, flush=True); time.sleep(60)"
    script = f"from kodec.log.files.lock import locked; import time\n{lock}"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline()
        with pytest.raises(BlockingIOError, match="in use"):
            add_segments(root, [finished(tmp_path / "c", 4)])
        other.kill()


def moving(root: Path, source: str, target: str = f"orders-0/{0:020d}.log") -> None:
    """A log directory in which somebody has written down a move."""
    root.mkdir(exist_ok=True)
    journal = {"version": 1, "batches": {}, "moves": [[source, target]]}
    (root / JOURNAL).write_text(json.dumps(journal))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("/other/orders-0/{log}", "orders-0/{log}"),
        ("../other/orders-0/{log}", "orders-0/{log}"),
        ("../.logs.kodec-sink-q/../other/orders-0/{log}", "orders-0/{log}"),
        ("../../.logs.kodec-sink-q/{log}", "orders-0/{log}"),
        ("orders-0/{log}", "orders-0/{log}"),
        ("{log}", "orders-0/{log}"),
        ("../.logs.kodec-sink-q/secret", "orders-0/{log}"),
        ("../.logs.kodec-sink-q/{log}", "orders-0/partition.metadata"),
        ("../.logs.kodec-sink-q/{log}", "orders-0/{index}"),
        ("../.logs.kodec-sink-q/{log}", "orders-0/{snapshot}"),
        ("../.logs.kodec-sink-q/{log}", "orders-0/x/{log}"),
        ("../.logs.kodec-sink-q/{log}", "/orders-0/{log}"),
        ("../.logs.kodec-sink-q/{log}", "../orders-0/{log}"),
    ],
)
def test_a_strangers_journal_moves_nothing_but_segments_of_an_addition(
    tmp_path: Path, source: str, target: str
) -> None:
    other = tmp_path / "other" / "orders-0" / f"{0:020d}.log"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"mine")
    staging = tmp_path / ".logs.kodec-sink-q"
    staging.mkdir()
    for name in (other.name, "secret"):
        (staging / name).write_bytes(b"theirs")
    names = {kind: f"{0:020d}.{kind}" for kind in ("log", "index", "snapshot")}
    moving(tmp_path / "logs", source.format(**names), target.format(**names))
    with pytest.raises(Malformed, match="not a journal"):
        finish_additions(tmp_path / "logs")
    assert other.read_bytes() == b"mine" and len(list(staging.iterdir())) == 2


@pytest.mark.parametrize("linked", ["staging", "segment", "partition"])
def test_segments_are_not_moved_through_links(tmp_path: Path, linked: str) -> None:
    other, root = tmp_path / "other", tmp_path / "logs"
    staging = staging_folder(root, "q")
    other.mkdir()
    (other / f"{0:020d}.log").write_bytes(b"mine")
    moving(root, f"../{staging.name}/{0:020d}.log")
    if linked == "staging":
        staging.symlink_to(other)
    else:
        staging.mkdir()
        (staging / f"{0:020d}.log").write_bytes(b"theirs")
    if linked == "segment":
        (staging / f"{0:020d}.log").unlink()
        (staging / f"{0:020d}.log").symlink_to(other / f"{0:020d}.log")
    if linked == "partition":
        (root / "orders-0").symlink_to(other)
    with pytest.raises(ValueError, match="is a symbolic link"):
        finish_additions(root)
    assert [path.read_bytes() for path in other.iterdir()] == [b"mine"]
    if linked == "partition":
        (root / JOURNAL).unlink()
        with pytest.raises(ValueError, match="is a symbolic link"):
            add_segments(root, [finished(tmp_path / "s", 4)])


def test_an_addition_goes_on_in_a_directory_that_was_renamed(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(addition, "_finish", lambda *_: None)
        add_segments(tmp_path / "logs", [finished(tmp_path / "s", 4)])
    renamed = (tmp_path / "logs").rename(tmp_path / "restored")
    assert is_unfinished(renamed)
    finish_additions(renamed)
    assert offsets(renamed) == list(range(4)) and not is_unfinished(renamed)


def test_segments_elsewhere_and_segments_that_were_used_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "logs"
    add_segments(root, [finished(tmp_path / "first", 2)])
    elsewhere = finished(tmp_path / "a" / "logs", 4)
    before = elsewhere.path.read_bytes()
    with pytest.raises(ValueError, match="not in a staging folder"):
        add_segments(root, [elsewhere])
    assert elsewhere.path.read_bytes() == before
    # An addition that ends after the offsets were set, before it is known what is to be moved.
    part = finished(tmp_path / "b", 4)
    with monkeypatch.context() as patch:
        patch.setattr(addition, "replace_file", lambda *_: (_ for _ in ()).throw(OSError("full")))
        with pytest.raises(OSError, match="full"):
            add_segments(root, [part])
    with pytest.raises(EncodeError, match=r"write it again.*need 0, have 2"):
        add_segments(root, [part])
    assert offsets(root) == [0, 1]


@pytest.mark.parametrize(
    "text",
    [
        b"{",
        b"[]",
        b'{"version": 2, "batches": {}, "moves": []}',
        b'{"version": 1, "batches": {"q": "x"}, "moves": []}',
        b'{"version": 1, "batches": {}, "moves": [["a", "../../etc/passwd"]]}',
        b'{"version": 1, "batches": {}, "moves": [["a", "orders-0/.."]]}',
    ],
)
def test_a_damaged_journal_is_an_error(tmp_path: Path, text: bytes) -> None:
    (tmp_path / JOURNAL).write_bytes(text)
    with pytest.raises(Malformed, match="not a journal"):
        finish_additions(tmp_path)


def test_what_was_lost_before_it_was_moved_is_said(tmp_path: Path) -> None:
    journal = {"version": 1, "batches": {}, "moves": [[GONE, f"orders-0/{0:020d}.log"]]}
    (tmp_path / JOURNAL).write_text(json.dumps(journal))
    with pytest.raises(kodec.errors.KodecError, match=r"0\.log: gone before it was moved"):
        finish_additions(tmp_path)
    assert list((tmp_path / "orders-0").iterdir()) == []


def test_offsets_that_are_kept_leave_no_gap_between_segments(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    parts = [finished(tmp_path / f"s{n}", 40, base) for n, base in enumerate((5, 100))]
    assert add_segments(root, parts, keep_offsets=True) == {OWNER: range(5, 140)}
    late = finished(tmp_path / "late", 40, 300)
    far = finished(tmp_path / "far", 2, 2**40)
    assert add_segments(root, [late], keep_offsets=True) == {OWNER: range(300, 340)}
    bases = [int(path.stem) for path in sorted((root / "orders-0").glob("*.log"))]
    assert bases == [5, 45, 140]
    assert list(kodec.repair.verify(root)) == []
    with kodec.PartitionLog(root / "orders-0") as log:
        assert [
            next(log.records(offset, omissions=Omissions())).offset for offset in (45, 110, 200, 339)
        ] == [100, 110, 300, 339]
    # As far as indexes reach.
    add_segments(root, [far], keep_offsets=True)
    assert (root / "orders-0" / f"{2**40:020d}.log").is_file()
    assert offsets(root)[-1] == 2**40 + 1
