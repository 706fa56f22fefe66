"""A salvage keeps every batch that is good, shows what is missing, and invents nothing."""

from __future__ import annotations

import random
import shutil
import zlib
from pathlib import Path

import pytest

import kodec
from kodec.cli.main import main
from kodec.log.files.checkpoints import read_leader_epochs, write_offsets
from kodec.log.files.fingerprint import Fingerprint
from kodec.log.files.listing import TopicPartition
from kodec.log.omissions import Cause, Omissions
from kodec.log.recovery.salvage import SalvageReport, plan_salvage
from kodec.log.verification.verify import verify_partition
from kodec.log.writing.new_folder import new_folder
from kodec.runtime.crc import crc32c
from kodec.runtime.errors import StalePlan
from tests.data import LOGS
from tests.golden import Golden
from tests.log import made
from tests.log.made import START, batch, marker

REAL = [
    path
    for path in sorted((LOGS).iterdir())
    if path.is_dir() and any(each.stat().st_size for each in path.glob("*.log"))
]


def whole(root: Path, *, segments: int = 3, batches: int = 5) -> Path:
    """Segments of batches of ten records each."""
    size = batches * 10
    return made.make(
        root / "topic-0",
        [
            (
                at * size,
                [batch(at * size + n * 10, [(b"k%d" % n, b"v")] * 10, time=START) for n in range(batches)],
            )
            for at in range(segments)
        ],
    )


def offsets(folder: Path) -> list[int]:
    with kodec.PartitionLog(folder) as log:
        return [record.offset for record in log.records(omissions=Omissions())]


def salvaged(folder: Path, target: Path) -> SalvageReport:
    """Salvage, after a preview that said the same and left all as it was."""
    before = made.files(folder)
    plan = plan_salvage(folder, target)
    told = plan.preview()
    assert not target.exists()
    done = plan.apply()
    told.target = target
    assert done == told
    assert made.files(folder) == before
    with kodec.PartitionLog(target) as log:
        # What was lost between two segments stays lost.
        found = [each for each in verify_partition(log) if not each.note]
        assert all(each.what == "offsets" and done.missing for each in found), found
    for recovery in kodec.repair.plan_recoveries(target.parent, from_start=True):
        assert recovery.truncated_bytes == 0
        assert not [step for step in recovery.steps if step.path.suffix in (".log", ".index", ".timeindex")]
    return done


def damage(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def test_what_a_recovery_would_cut_is_kept(tmp_path: Path) -> None:
    folder = whole(tmp_path / "in")
    first = folder / f"{0:020d}.log"
    with kodec.PartitionLog(folder) as log:
        second = list(log.segments[0].batches())[1]
    damage(first, second.position + 70, b"\xff\xff")
    assert kodec.repair.plan_recovery(folder, from_start=True).end_offset == 10
    report = salvaged(folder, tmp_path / "out" / "topic-0")
    assert offsets(tmp_path / "out" / "topic-0") == [n for n in range(150) if not 10 <= n < 20]
    (missing,) = report.missing
    assert (missing.path, missing.start, missing.end) == (
        first,
        second.position,
        second.position + second.size,
    )
    assert (missing.first_offset, missing.last_offset) == (10, 19)
    assert "CrcMismatch" in missing.reasons[0]
    assert (report.batches, report.records, report.end_offset) == (14, 140, 150)


@pytest.mark.parametrize("folder", REAL, ids=lambda path: path.name)
def test_a_log_without_damage_is_the_same_afterwards(folder: Path, tmp_path: Path) -> None:
    report = salvaged(folder, tmp_path / "out" / folder.name)
    assert report.missing == [] and report.omissions.items == []
    for path in folder.glob("*.log"):
        assert (tmp_path / "out" / folder.name / path.name).read_bytes() == path.read_bytes()
        assert (tmp_path / "out" / folder.name / path.name).stat().st_mtime_ns == path.stat().st_mtime_ns
    assert offsets(tmp_path / "out" / folder.name) == [
        each for each in offsets(folder) if each >= kodec.PartitionLog(folder).segments[0].base_offset
    ]


@pytest.mark.parametrize("seed", range(40))
def test_holes_and_flips_in_real_logs(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    source = chance.choice(REAL)
    folder = tmp_path / "in" / source.name
    shutil.copytree(source, folder)
    everything = {each.data for segment in kodec.PartitionLog(source).segments for each in segment.batches()}
    for path in folder.glob("*.log"):
        data = bytearray(path.read_bytes())
        for _ in range(chance.randrange(3)):
            at = chance.randrange(len(data)) if data else 0
            size = min(chance.choice((1, 8, 100, 1000)), len(data) - at)
            how = chance.randrange(3)
            if how == 0:
                data[at : at + size] = bytes(size)
            elif how == 1:
                data[at : at + size] = chance.randbytes(size)
            else:
                del data[at : at + size]
        path.write_bytes(data)
    target = tmp_path / "out" / source.name
    report = salvaged(folder, target)
    kept = [each for segment in kodec.PartitionLog(target).segments for each in segment.batches()]
    # An offset is covered by no checksum: where one was hit, the rest of the batch is known all the same.
    known = {each[8:] for each in everything}
    assert all(each.data[8:] in known for each in kept)
    assert len(kept) == report.batches
    lost = len(everything) - len(kept)
    assert (lost > 0) <= bool(report.missing)


def test_offsets_that_contradict_each_other(tmp_path: Path) -> None:
    folder = whole(tmp_path / "in", segments=1)
    log = folder / f"{0:020d}.log"
    with kodec.PartitionLog(folder) as opened:
        third = list(opened.segments[0].batches())[2]
    for offset, missing in ((0, (20, 29)), (10**6, (20, 29)), (45, (20, 29)), (2**62, (20, 29))):
        damage(log, third.position, offset.to_bytes(8, "big"))
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        report = salvaged(folder, tmp_path / "out" / "topic-0")
        assert [(each.first_offset, each.last_offset) for each in report.missing] == [missing], offset
        assert f"offsets {offset} to" in report.missing[0].reasons[0]
        assert offsets(tmp_path / "out" / "topic-0") == [n for n in range(50) if not 20 <= n < 30]


def wrappers(magic: int) -> list[bytes]:
    """Three wrappers of four messages of some length each."""
    return [
        kodec.encode(
            [
                kodec.Record(value=b"%d " % (first + n) * 20, timestamp=START if magic else -1)
                for n in range(4)
            ],
            magic=magic,
            compression="gzip",
            base_offset=first,
        )
        for first in (0, 4, 8)
    ]


@pytest.mark.parametrize("magic", [0, 1])
def test_a_wrapper_behind_damage_tells_where_it_begins(magic: int, tmp_path: Path) -> None:
    """Found with a broker: a wrapper's own offset is its last, and so kept offsets were told as missing."""
    data = wrappers(magic)
    folder = made.make(tmp_path / "in" / "topic-0", [(0, data)])
    damage(folder / f"{0:020d}.log", len(data[0]) + 40, b"\xff\xff")
    (missing,) = salvaged(folder, tmp_path / "out" / "topic-0").missing
    assert (missing.first_offset, missing.last_offset) == (4, 7)
    assert offsets(tmp_path / "out" / "topic-0") == [0, 1, 2, 3, 8, 9, 10, 11]


@pytest.mark.parametrize("magic", [0, 1])
def test_a_wrapper_of_messages_that_nobody_can_read_is_not_kept(magic: int, tmp_path: Path) -> None:
    data = wrappers(magic)
    wrong = bytearray(data[1])
    wrong[-12:] = b"not gzip now"
    wrong[12:16] = zlib.crc32(wrong[16:]).to_bytes(4, "big")
    data[1] = bytes(wrong)
    folder = made.make(tmp_path / "in" / "topic-0", [(0, data)])
    (missing,) = salvaged(folder, tmp_path / "out" / "topic-0").missing
    assert (missing.start, missing.end) == (len(data[0]), len(data[0] + data[1]))
    assert (missing.first_offset, missing.last_offset) == (4, 7)
    assert offsets(tmp_path / "out" / "topic-0") == [0, 1, 2, 3, 8, 9, 10, 11]


def test_a_torn_tail_and_zeros_have_no_offsets_to_miss_but_those_behind(tmp_path: Path) -> None:
    folder = whole(tmp_path / "in", segments=2)
    last = folder / f"{50:020d}.log"
    last.write_bytes(last.read_bytes() + bytes(100))
    (missing,) = salvaged(folder, tmp_path / "out" / "topic-0").missing
    assert (missing.first_offset, missing.last_offset, missing.reasons) == (100, None, ("torn tail: zeros",))
    first = folder / f"{0:020d}.log"
    first.write_bytes(first.read_bytes() + b"garbage")
    missing = salvaged(folder, tmp_path / "again" / "topic-0").missing[0]
    assert missing.offsets == "no offsets"


def test_transactions_whose_end_is_lost_are_told(tmp_path: Path) -> None:
    data = [
        batch(0, [(b"k", b"v")] * 2, producer=(7, 0, 0), transactional=True, time=START),
        marker(2, 7, commit=True),
        batch(3, [(b"k", b"v")] * 2, producer=(8, 0, 0), transactional=True, time=START),
        marker(5, 8, commit=False),
        batch(6, [(b"k", b"v")], time=START),
    ]
    folder = made.make(tmp_path / "in" / "topic-0", [(0, data)])
    log = folder / f"{0:020d}.log"
    damage(log, len(data[0]) + 65, b"\xff")
    report = salvaged(folder, tmp_path / "out" / "topic-0")
    assert report.open_transactions == [7]
    with kodec.PartitionLog(tmp_path / "out" / "topic-0") as opened:
        assert opened.last_stable_offset == 0
        assert [each.producer_id for each in opened.transactions().aborted] == [8]


def test_a_segment_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = whole(tmp_path / "in")
    middle = folder / f"{50:020d}.log"
    opened = Path.open

    def fails(self: Path, *arguments: object, **options: object) -> object:
        if self == middle:
            raise OSError(5, "Input/output error")
        return opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", fails)
    report = plan_salvage(folder, tmp_path / "out" / "topic-0").apply()
    (missing,) = report.missing
    assert (missing.path, missing.first_offset, missing.last_offset) == (middle, 50, 99)
    assert "Input/output error" in missing.reasons[0]
    with kodec.PartitionLog(tmp_path / "out" / "topic-0") as log:
        found = [each.offset for each in log.records(omissions=Omissions())]
    assert found == [*range(50), *range(100, 150)]


def test_leader_epochs_and_the_start_offset_go_along(tmp_path: Path) -> None:
    folder = whole(tmp_path / "in")
    (folder / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    write_offsets(tmp_path / "in" / "log-start-offset-checkpoint", {TopicPartition("topic", 0): 7})
    salvaged(folder, tmp_path / "out" / "topic-0")
    assert read_leader_epochs(tmp_path / "out" / "topic-0" / "leader-epoch-checkpoint") == [(0, 0)]
    assert offsets(tmp_path / "out" / "topic-0") == list(range(7, 150))


def test_files_of_an_interrupted_swap_are_named(tmp_path: Path) -> None:
    folder = whole(tmp_path / "in")
    (folder / f"{0:020d}.log.swap").write_bytes(b"")
    (left,) = salvaged(folder, tmp_path / "out" / "topic-0").omissions
    assert (left.path, left.cause) == (folder / f"{0:020d}.log.swap", Cause.UNFINISHED)
    # The old segments are all there, so nothing is lost with the new one.
    assert offsets(tmp_path / "out" / "topic-0") == list(range(150))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    folder = whole(tmp_path / "in")
    damage(folder / f"{0:020d}.log", 70, b"\xff\xff")
    words = ["salvage", str(folder), "--to", str(tmp_path / "out")]
    # what is missing is a loss, whatever is kept
    assert main(words) == 1
    out, err = capsys.readouterr()
    golden(err)
    golden(out)
    assert not (tmp_path / "out").exists()
    assert main([*words, "--apply", "--json"]) == 1
    assert '"records": 140' in capsys.readouterr().out
    assert main([*words, "--apply"]) == 1
    assert "already exists" in capsys.readouterr().err
    assert main(["salvage", str(folder), "--to", str(folder / "x")]) == 1


# -- what is kept is readable, or named ----------------------------------------------------------------


def with_right_checksum(data: bytes, at: int, value: int) -> bytes:
    body = bytearray(data)
    body[at] = value
    body[17:21] = crc32c(bytes(body[21:])).to_bytes(4, "big")
    return bytes(body)


@pytest.mark.parametrize(
    ("codec", "at"), [("none", 61), ("gzip", 75), ("zstd", 61), ("lz4", 61), ("snappy", 61)]
)
def test_broken_content_with_a_right_checksum_is_missing(tmp_path: Path, codec: str, at: int) -> None:
    bad = with_right_checksum(made.batch(3, [(b"a", b"1" * 99)] * 3, codec=codec), at, 5)
    folder = made.make(tmp_path / "in" / "topic-0", [(0, [made.batch(0, [(b"a", b"1")] * 3)])])
    log = folder / f"{0:020d}.log"
    log.write_bytes(log.read_bytes() + bad + made.batch(6, [(b"b", b"2")]))
    report = salvaged(folder, tmp_path / "out" / "topic-0")
    assert [(each.first_offset, each.last_offset, each.end - each.start) for each in report.missing] == [
        (3, 5, len(bad))
    ]
    assert offsets(tmp_path / "out" / "topic-0") == [0, 1, 2, 6]
    assert not report.omissions.is_whole


def test_what_is_over_a_limit_is_kept_and_named(tmp_path: Path, golden: Golden) -> None:
    folder = made.make(
        tmp_path / "in" / "topic-0", [(0, [made.batch(0, [(b"a", bytes(99_999))], codec="gzip")])]
    )
    limits = kodec.Limits(decompressed_bytes=50_000)
    report = plan_salvage(folder, tmp_path / "out" / "topic-0", limits=limits).apply()
    assert (report.missing, report.batches) == ([], 1)
    (left,) = report.omissions
    assert left.cause is Cause.UNKNOWN
    golden(left.reason)
    assert made.rows(tmp_path / "out" / "topic-0")[0].value == bytes(99_999)


def test_an_end_below_the_checkpoints_is_missing(tmp_path: Path) -> None:
    folder = whole(tmp_path / "in")
    write_offsets(folder.parent / "recovery-point-offset-checkpoint", {TopicPartition("topic", 0): 160})
    (missing,) = plan_salvage(folder, tmp_path / "out" / "topic-0").preview().missing
    assert (missing.first_offset, missing.last_offset, missing.cause) == (150, 159, Cause.MISSING)
    empty = made.make(tmp_path / "in" / "topic-1", [(0, [])])
    write_offsets(folder.parent / "recovery-point-offset-checkpoint", {TopicPartition("topic", 1): 413})
    (missing,) = plan_salvage(empty, tmp_path / "out" / "topic-1").preview().missing
    assert (missing.first_offset, missing.last_offset) == (0, 412)


def test_a_source_that_changes_meanwhile(tmp_path: Path) -> None:
    """At the beginning it was the same, and only the end shows it."""
    folder = whole(tmp_path / "in")
    target = tmp_path / "out" / "topic-0"
    with kodec.PartitionLog(folder) as log:
        with pytest.raises(StalePlan), new_folder(log, target, Fingerprint.of(folder)) as working:
            (working / "x").write_bytes(b"")
            (folder / "y").write_bytes(b"")
        assert [each.name for each in target.parent.iterdir()] == []
        with new_folder(log, target, Fingerprint.of(folder)):
            pass
    assert target.is_dir()
