"""Verification reports the error, and nothing of what is as it may be: live, compacted, copied in part."""

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
from kodec.log.omissions import Omissions
from kodec.log.writing.config import LogConfig
from kodec.runtime.errors import OffsetsMissing
from tests.data import LOGS
from tests.golden import Golden
from tests.log import made, wire
from tests.log.made import START, batch, marker

pytestmark = pytest.mark.quick


def found(path: Path) -> tuple[list[str], list[str]]:
    """(problems, notes) at a path, without those of logs that have no index or no checkpoint of epochs."""
    usual = ("leader epochs in batches are compared", "no log has an index")
    everything = [
        each for each in kodec.repair.verify(path) if not (each.note and each.what.startswith(usual))
    ]
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
    root = dense(tmp_path / "logs").parent
    (root / "topic-1").symlink_to(tmp_path / "elsewhere")
    (root / "other").symlink_to(tmp_path / "elsewhere")
    ((problem,), notes) = found(root)
    assert problem.startswith(f"{root / 'topic-1'}: ") and "a symbolic link to" in problem
    assert notes == []
    made.make(tmp_path / "elsewhere", [(0, [batch(0, [(b"k", b"v")], time=START)])])
    # a broker does not start with such a folder, link or not
    ((problem,), notes) = found(root)
    assert problem.startswith(f"{root / 'other'}: ") and "it holds 1 segment" in problem
    assert notes == []


def test_a_missing_middle_segment(tmp_path: Path) -> None:
    folder = dense(tmp_path)
    for path in folder.glob(f"{10:020d}.*"):
        path.unlink()
    problems, notes = found(folder)
    assert len(problems) == 1 and "10 to 19 in no segment" in problems[0] and notes == []
    records = kodec.PartitionLog(folder).records()
    assert [next(records).offset for _ in range(10)] == [*range(10)]
    with pytest.raises(OffsetsMissing, match="offsets 10 to 19 are missing"):
        next(records)


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
    report = kodec.operations.plan_compaction(tmp_path / "topic-0").apply()
    assert report.counts.records_removed > 0
    problems, _ = found(tmp_path / "topic-0")
    assert problems == []
    kodec.operations.plan_compaction(
        tmp_path / "topic-0", from_start=True, delete_retention_ms=0, now=START * 2
    ).apply()
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
        assert is_locked(tmp_path)
        for path in (tmp_path, folder):
            problems, notes = found(path)
            assert problems == [] and "in use" in notes[0]
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
        assert kodec.repair.survey(log).health == "clean"


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
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    folder, wanted = swapped(tmp_path)
    with kodec.PartitionLog(folder) as log:
        assert [record.offset for record in log.records(omissions=Omissions())] == wanted
        assert log.start_offset == 0
    problems, _ = found(folder)
    assert any("interrupted" in each for each in problems)
    assert main(["ls", str(folder)]) == 0
    assert "recovery completes it" in capsys.readouterr().err
    kodec.repair.plan_recovery(folder).apply()
    with kodec.PartitionLog(folder) as log:
        assert [record.offset for record in log.records(omissions=Omissions())] == wanted
    # Until the next compaction nothing says that the one before came up to the end of what it replaced.
    golden([each.rsplit("have ", 1)[1] for each in found(folder)[0]])


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


def segment_with(folder: Path, data: bytes, base_offset: int = 0) -> Path:
    """A folder with one log of these bytes, and nothing next to it."""
    folder.mkdir()
    (folder / f"{base_offset:020d}.log").write_bytes(data)
    return folder


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4"])
@pytest.mark.parametrize("magic", [0, 1])
def test_offsets_of_wrappers_are_compared_with_the_messages_inside(
    tmp_path: Path, magic: int, codec: str, golden: Golden
) -> None:
    """The offset of a wrapper is that of its last message, and no checksum covers it."""
    first = wire.log_of(magic, codec, [b"v"] * 5, base=0)
    good = segment_with(tmp_path / "good-0", first + wire.log_of(magic, codec, [b"v"] * 5, base=5))
    assert found(good) == ([], [])
    second = bytearray(wire.log_of(magic, codec, [b"v"] * 5, base=5))
    second[7] = 7
    (problem,) = found(segment_with(tmp_path / "low-0", first + second))[0]
    if magic:
        # those inside count from it, and reach below the batch before
        golden(problem)
    else:
        golden(problem)


def test_a_wrapper_whose_messages_are_damaged(tmp_path: Path) -> None:
    """Its own checksum is right: the bytes were wrong before they were compressed."""
    inner = wire.message(0) + wire.message(1, crc=1)
    (problem,) = found(segment_with(tmp_path / "topic-0", wire.wrapper(1, inner)))[0]
    assert "CrcMismatch" in problem


@pytest.mark.parametrize(
    ("data", "attributes"),
    [
        (
            wire.batch([wire.record()], attributes=0x80)
            + wire.batch([wire.record()], base=1, attributes=0x8000),
            "0x80",
        ),
        (wire.message(0, attributes=0x10) + wire.message(1, attributes=0x80), "0x10"),
    ],
    ids=["v2", "v1"],
)
def test_reserved_attribute_bits_are_noted_once(tmp_path: Path, data: bytes, attributes: str) -> None:
    folder = segment_with(tmp_path / "topic-0", data)
    problems, (note,) = found(folder)
    assert problems == []
    assert "in 2 of the batches" in note and note.endswith(f"need 0, have attributes {attributes}")
    # a flipped bit is no note: the checksum covers the attributes
    flipped = bytearray(wire.batch([wire.record()]))
    flipped[22] ^= 0x80
    (problem,), notes = found(segment_with(tmp_path / "flipped-0", bytes(flipped)))
    assert "CrcMismatch" in problem and notes == []


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize(
    ("deltas", "last", "need", "have"),
    [
        ([0, 1, 1], 2, "7 to 7", 6),
        ([0, 0], 0, "6 to 5", 5),
        ([0, 2, 1], 2, "8 to 7", 6),
        ([0, 1, 5], 2, "7 to 7", 10),
        ([-1, 0, 1], 2, "5 to 7", 4),
    ],
    ids=["twice", "twice-and-dense", "descending", "above-the-header", "below-the-header"],
)
def test_offsets_of_records_inside_a_batch(
    tmp_path: Path, deltas: list[int], last: int, need: str, have: int, codec: str, golden: Golden
) -> None:
    stored = wire.squeeze(codec, b"".join(wire.record(delta) for delta in deltas))
    data = wire.batch(stored, base=5, count=len(deltas), last_delta=last, attributes=wire.CODES[codec])
    folder = made.make(tmp_path / "topic-0", [(5, [data])])
    problems, _ = found(folder)
    assert len(problems) == 1, problems
    golden(problems[0])
    assert main(["verify", str(folder)]) == 1


@pytest.mark.parametrize("magic", [0, 1])
def test_offsets_twice_inside_a_wrapper(tmp_path: Path, magic: int, golden: Golden) -> None:
    inner = b"".join(wire.message(offset, magic=magic) for offset in (0, 1, 1))
    folder = made.make(tmp_path / "topic-0", [(0, [wire.wrapper(1, inner, magic=magic)])])
    problems, _ = found(folder)
    assert len(problems) == 1
    golden(problems[0])


def test_a_batch_with_holes_has_no_problem(tmp_path: Path) -> None:
    records = [wire.record(delta) for delta in (1, 4)]
    folder = made.make(tmp_path / "topic-0", [(5, [wire.batch(records, base=5, last_delta=9)])])
    assert found(folder)[0] == []


def test_a_glance_sees_offsets_that_contradict_each_other(tmp_path: Path, golden: Golden) -> None:
    """What `ls` shows, by headers alone."""
    first, second = wire.batch([wire.record()] * 3, base=0), wire.batch([wire.record()] * 3, base=3)
    for name, data, what in (
        ("ascend-0", second + first, f"byte {len(second)}: offsets ascend: need more than 5, have 0"),
        ("below-0", wire.batch([wire.record()], base=9), "byte 0: offsets ascend: need more than 9, have 9"),
    ):
        folder = segment_with(tmp_path / name, data, 10 if name == "below-0" else 0)
        with kodec.PartitionLog(folder) as log:
            glance = kodec.repair.survey(log)
        assert glance.health == "corrupt" and what in glance.problems[0], name
    folder = segment_with(tmp_path / "next-0", first + second)
    (folder / f"{5:020d}.log").write_bytes(wire.batch([wire.record()], base=6))
    with kodec.PartitionLog(folder) as log:
        (problem,) = kodec.repair.survey(log).problems
    golden(problem)
    (folder / f"{5:020d}.log").rename(folder / f"{6:020d}.log")
    with kodec.PartitionLog(folder) as log:
        assert kodec.repair.survey(log).health == "clean"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (".kafka_cleanshutdown", b"{"),
        (".kafka_cleanshutdown", b'{"version":1}'),
        ("meta.properties", b"version=7\n"),
        ("recovery-point-offset-checkpoint", b"0\n1\ntopic 0\n"),
        ("log-start-offset-checkpoint", b"0\n2\ntopic 0 1\n"),
        ("replication-offset-checkpoint", b"0\n1\ntopic x 1\n"),
        ("cleaner-offset-checkpoint", b"1\n0\n"),
    ],
)
def test_a_damaged_file_beside_the_folders(tmp_path: Path, name: str, content: bytes) -> None:
    dense(tmp_path)
    (tmp_path / name).write_bytes(content)
    (problem,) = [each for each in found(tmp_path)[0] if each.startswith(str(tmp_path / name))]
    assert "Malformed" in problem


def test_the_edges_of_a_segment(tmp_path: Path) -> None:
    """One offset more or less is right or wrong."""
    folder = dense(tmp_path)
    # the last offset of a segment is the next one's base offset
    (folder / f"{10:020d}.log").rename(folder / f"{9:020d}.log")
    for kind in ("index", "timeindex"):
        (folder / f"{10:020d}.{kind}").rename(folder / f"{9:020d}.{kind}")
    problems, _ = found(folder)
    assert any("last offset: need less than 9, the next segment's, have 9" in each for each in problems)


def test_a_gap_of_one_offset(tmp_path: Path) -> None:
    times = {"time": START}
    folder = made.make(
        tmp_path / "topic-0",
        [
            (0, [batch(0, [(b"k", b"v")] * 10, **times)]),
            (11, [batch(11, [(b"k", b"v")] * 10, **times)]),
        ],
    )
    (problem,), notes = found(folder)
    assert "10 to 10 in no segment" in problem and notes == []


def test_logs_without_any_index_are_noted(tmp_path: Path) -> None:
    folder = segment_with(tmp_path / "topic-0", wire.batch([wire.record()]))
    (note,) = list(kodec.repair.verify(folder))
    assert note.note and "no log has an index" in str(note)


@pytest.mark.parametrize(
    "content", [b"{", b"", b"[]", b'{"leaderId":1,"leaderEpoch":1,"data_version":2}', b'{"data_version":0}']
)
def test_a_damaged_quorum_state(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "__cluster_metadata-0"
    shutil.copytree(LOGS / folder.name, folder)
    assert found(folder)[0] == []
    (folder / "quorum-state").write_bytes(content)
    (problem,) = found(folder)[0]
    assert problem.startswith(f"{folder / 'quorum-state'}: byte 0: Malformed")


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
    name: str, damage: Callable[[Path], None], end: int, tmp_path: Path, golden: Golden
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
    golden(problems[0])
    # What was deleted by offset was not lost.
    write_offsets(tmp_path / "log-start-offset-checkpoint", {partition: end + 1})
    assert found(tmp_path) == ([], [])


def damaged_offset(folder: Path, number: int, bit: int) -> None:
    """Flip a bit of the base offset of a batch in the last segment."""
    log = sorted(folder.glob("*.log"))[-1]
    data = bytearray(log.read_bytes())
    data[list(kodec.read_batches(data))[number].position + 7 - bit // 8] ^= 1 << bit % 8
    log.write_bytes(data)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_every_flip_of_a_bit_of_a_base_offset_is_seen(tmp_path: Path, number: int) -> None:
    """Nothing follows the last batch that would contradict it; but only compaction leaves gaps."""
    for bit in range(64):
        folder = made.make(
            tmp_path / f"{bit}/topic-0",
            [(0, [batch(at, [(b"k", b"v")] * 10, time=START) for at in (0, 10, 20)])],
        )
        damaged_offset(folder, number, bit)
        problems, notes = found(folder)
        assert problems or any("offsets before the last batch" in each for each in notes), bit


def test_a_gap_before_the_last_batch_of_a_compacted_log(tmp_path: Path) -> None:
    def log(name: str, *entries: bytes) -> Path:
        return made.make(tmp_path / name / "topic-0", [(0, entries)])

    def gaps(notes: list[str]) -> int:
        return sum("offsets before the last batch: " in each for each in notes)

    full, last = batch(0, [(b"k", b"v")] * 10), batch(15, [(b"k", b"v")] * 5)
    folder = log("whole", full, last)
    problems, notes = found(folder)
    # A restore that keeps offsets leaves such a gap too.
    assert problems == [] and gaps(notes) == 1 and any("have 10 to 14 " in each for each in notes)
    # the cleaner has been there, another batch shows it, or the format does not say what is missing
    write_offsets(folder.parent / "cleaner-offset-checkpoint", {TopicPartition("topic", 0): 10})
    assert found(folder)[0] == [] and gaps(found(folder)[1]) == 0
    shown = log("gaps", batch(3, [(b"k", b"v")]), batch(5, [(b"k", b"v")] * 5), last)
    old = log("old", batch(0, [(b"k", b"v")] * 10, magic=1), last)
    # and a follower's first batch
    for each in (shown, old, log("first", last)):
        assert found(each)[0] == [] and gaps(found(each)[1]) == 0
