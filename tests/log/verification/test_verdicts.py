"""Each rule by which something is fine, or is not: every cause that leaves such bytes, with its verdict.

Offsets that no segment holds have a table of their own, in gaps.py, as all readers share it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import kodec
from kodec.errors import FormatError
from kodec.log.files.lock import locked
from kodec.log.omissions import Omissions
from tests.log import made
from tests.log.made import batch, marker


class Case(NamedTuple):
    """What happened to a log: what `verify` reports of it, and how many records there are to read.

    `verdict`: the start of the problem's name for each problem, and of each note with `note: ` before it.
    `records`: the error's name where reading ends with one.
    """

    name: str
    happen: Callable[[Path], object]
    verdict: list[str]
    records: int | str


def three(folder: Path) -> Path:
    """Three segments of two batches with five records, the last one active; a transaction of each kind in the
    first, its indexes, and the checkpoints of a broker that has flushed all."""
    first = [
        batch(0, [(b"k", b"v")] * 4, producer=(7, 0, 0), transactional=True),
        marker(4, 7, commit=False),
        batch(5, [(b"k", b"v")] * 4, producer=(8, 0, 0), transactional=True),
        marker(9, 8, commit=True),
    ]
    rest = [(base, [batch(at, [(b"k", b"v")] * 5) for at in (base, base + 5)]) for base in (10, 20)]
    made.make(folder, [(0, first), *rest], aborted=[(7, 0, 4)])
    (folder / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        (folder.parent / name).write_text("0\n1\ntopic 0 20\n")
    return folder


def path(folder: Path, base: int, kind: str = "log") -> Path:
    return folder / f"{base:020d}.{kind}"


def cut(base: int, size: int) -> Callable[[Path], object]:
    """Take this many bytes off the end of a log."""
    return lambda folder: path(folder, base).write_bytes(path(folder, base).read_bytes()[:-size])


def zeros(base: int, size: int = 4096) -> Callable[[Path], object]:
    return lambda folder: path(folder, base).write_bytes(path(folder, base).read_bytes() + bytes(size))


def overwrite(base: int, at: int, data: bytes) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        old = path(folder, base).read_bytes()
        at_ = at if at >= 0 else len(old) + at
        path(folder, base).write_bytes(old[:at_] + data + old[at_ + len(data) :])

    return change


def gone(*names: str) -> Callable[[Path], object]:
    return lambda folder: [each.unlink() for name in names for each in folder.glob(name)]


def ahead(checkpoint: str, offset: int) -> Callable[[Path], object]:
    return lambda folder: (folder.parent / checkpoint).write_text(f"0\n1\ntopic 0 {offset}\n")


def both(*steps: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda folder: [step(folder) for step in steps]


# the bytes of one batch of five records
BATCH = len(batch(25, [(b"k", b"v")] * 5))
HUGE = (1 << 20).to_bytes(4, "big")

TORN_TAILS = [
    Case("nothing happened", lambda _: None, [], 28),
    Case("a crash in the middle of an append", cut(20, 9), ["torn tail", "offset"], 23),
    Case("a crash in the middle of a header", cut(20, BATCH - 10), ["torn tail", "offset"], 23),
    Case("a crash of a broker that allocates ahead", zeros(20), ["torn tail: zeros"], 28),
    Case(
        "a power loss that left zeros in the last batch",
        overwrite(20, -40, bytes(40)),
        ["CrcMismatch"],
        "CrcMismatch",
    ),
    Case(
        "a page of zeros with whole batches after it",
        overwrite(20, 0, bytes(20)),
        ["Malformed"],
        "Malformed",
    ),
    Case(
        "the length of the last batch is damaged: as torn",
        overwrite(20, BATCH + 8, HUGE),
        ["torn tail", "offset"],
        23,
    ),
    Case("the length of one before is damaged", overwrite(20, 8, HUGE), ["Truncated"], "Truncated"),
    Case(
        "cut between two batches that were not flushed",
        both(cut(20, BATCH), gone("*.timeindex", "*.index")),
        [],
        23,
    ),
    Case(
        "cut between two batches below the high watermark",
        both(cut(20, BATCH), gone("*.timeindex", "*.index"), ahead("replication-offset-checkpoint", 26)),
        ["end of the log"],
        23,
    ),
    Case(
        "cut between two batches below the recovery point",
        both(cut(20, BATCH), gone("*.timeindex", "*.index"), ahead("recovery-point-offset-checkpoint", 26)),
        ["end of the log"],
        23,
    ),
    Case(
        "the active segment was emptied, unflushed",
        both(cut(20, 2 * BATCH), gone("*.timeindex", "*.index")),
        [],
        18,
    ),
    Case("a closed segment is torn", cut(10, 9), ["torn tail"], "Truncated"),
    Case("a closed segment ends in zeros", zeros(10), ["torn tail: zeros"], 28),
    Case(
        "a closed segment is cut between two batches",
        both(cut(10, BATCH), gone("*.timeindex", "*.index")),
        ["offsets"],
        23,
    ),
]

MISSING_INDEXES = [
    Case("the logs alone were copied", gone("*.index", "*.timeindex", "*.txnindex"), ["transaction"], 28),
    Case("one offset index is missing", gone("*10.index"), ["no offset index"], 28),
    Case("one offset index is missing, of the active segment", gone("*20.index"), ["no offset index"], 28),
    Case("the index of an aborted transaction is missing", gone("*.txnindex"), ["transaction"], 28),
    Case(
        "a log is missing, and its indexes are there", gone("*20.log"), ["an index without its log"] * 2, 18
    ),
    Case(
        "the time index of a closed segment is emptied",
        lambda f: path(f, 10, "timeindex").write_bytes(b""),
        ["largest"],
        28,
    ),
    Case(
        "an offset index is emptied, which costs time only",
        lambda f: path(f, 10, "index").write_bytes(b""),
        [],
        28,
    ),
    Case("the indexes of a segment that was emptied", cut(10, 2 * BATCH), ["offset", "offsets"], 18),
]


def swap(*, old: bool = False, cleaned: bool = False, torn: bool = False) -> Callable[[Path], object]:
    """A cleaner was about to put a new segment in place of the first two; `old`: they are still there."""

    def happen(folder: Path) -> None:
        new = [batch(8, [(b"k", b"v")], time=0), batch(19, [(b"l", b"v")], time=0)]
        for each in made.make(folder.parent / "new", [(0, new)]).iterdir():
            data = each.read_bytes()
            (folder / f"{each.name}.swap").write_bytes(data[:-1] if torn and each.suffix == ".log" else data)
        if cleaned:
            (folder / f"{0:020d}.log.cleaned").touch()
        for base in () if old else (0, 10):
            for each in folder.glob(f"{base:020d}.*"):
                if each.suffix not in (".swap", ".cleaned"):
                    each.rename(f"{each}.deleted")

    return happen


def unfinished(kind: str) -> Callable[[Path], object]:
    return lambda folder: shutil.copy(path(folder, 10), f"{path(folder, 10)}.{kind}")


# of the log and both indexes
INTERRUPTED = ["an interrupted swap"] * 3
SWAPS = [
    Case("a cleaner stopped before it had written all", unfinished("cleaned"), ["an interrupted swap"], 28),
    Case("a cleaner stopped before the old ones had gone", swap(old=True), INTERRUPTED, 28),
    Case("a cleaner stopped when the old ones had gone", swap(), INTERRUPTED, 12),
    Case(
        "a cleaner stopped between two new segments",
        swap(cleaned=True),
        [*INTERRUPTED, "an interrupted swap"],
        10,
    ),
    Case(
        "a new segment is torn: what it replaced is lost",
        swap(torn=True),
        [*INTERRUPTED, "torn tail"],
        "Truncated",
    ),
    Case(
        "what waits for its deletion after all is done",
        lambda f: path(f, 0).with_suffix(".log.deleted").touch(),
        [],
        28,
    ),
]


def below(offset: int) -> Callable[[Path], object]:
    return lambda folder: (folder.parent / "log-start-offset-checkpoint").write_text(
        f"0\n1\ntopic 0 {offset}\n"
    )


STARTS = [
    Case("retention has deleted the oldest segment", gone("*00.log", "*00.*index"), [], 20),
    Case("DeleteRecords came into a segment", below(12), [], 18),
    Case("DeleteRecords came to the end", below(30), [], 0),
    Case(
        "retention was interrupted in the middle",
        both(gone("*10.log", "*10.*index"), below(20)),
        ["note: offsets"],
        10,
    ),
    Case("somebody has deleted the second one", gone("*10.log", "*10.*index"), ["offsets"], 18),
]


@pytest.mark.parametrize("case", [*TORN_TAILS, *MISSING_INDEXES, *SWAPS, *STARTS], ids=lambda case: case.name)
def test_at_rest(case: Case, tmp_path: Path) -> None:
    folder = three(tmp_path / "topic-0")
    case.happen(folder)
    assert_verdict(list(kodec.repair.verify(folder)), case.verdict)
    with kodec.PartitionLog(folder) as log:
        try:
            found: int | str = sum(1 for _ in log.records(omissions=Omissions()))
        except FormatError as error:
            found = type(error).__name__
    assert found == case.records


def assert_verdict(found: list[kodec.repair.Problem], wanted: list[str]) -> None:
    # that there is nothing to compare with is noted of most logs here
    usual = ("no log has an index", "leader epochs in batches are compared")
    told = [
        ("note: " if each.note else "") + each.what
        for each in found
        if not (each.note and each.what.startswith(usual))
    ]
    assert len(told) == len(wanted), told
    assert all(one.startswith(other) for one, other in zip(sorted(told), sorted(wanted), strict=True)), told


LIVE = [
    ("nothing happened", lambda _: None, []),
    ("allocated ahead", zeros(20), []),
    ("a torn tail that stays", cut(20, 9), ["torn tail", "offset"]),
    ("a torn closed segment", cut(10, 9), ["torn tail"]),
    ("a cleaner writes a new segment", unfinished("cleaned"), ["note: an interrupted swap"]),
    ("a cleaner puts a new segment in place", swap(), ["note: an interrupted swap"] * 3),
    ("a segment that was deleted in the middle", gone("*10.log", "*10.*index"), ["offsets"]),
    (
        "the same while a cleaner is at work",
        both(gone("*10.log", "*10.*index"), lambda f: shutil.copy(path(f, 20), f"{path(f, 20)}.cleaned")),
        ["note: offsets", "note: an interrupted swap"],
    ),
    ("an index that stays without its log", gone("*20.log"), ["an index without its log"] * 2),
    (
        "the high watermark of a follower that has truncated",
        ahead("replication-offset-checkpoint", 40),
        ["note: end of the log"],
    ),
]


@pytest.mark.parametrize(("happen", "verdict"), [each[1:] for each in LIVE], ids=[each[0] for each in LIVE])
def test_while_a_broker_runs(
    happen: Callable[[Path], object], verdict: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = three(tmp_path / "topic-0")
    happen(folder)
    monkeypatch.setattr("kodec.log.verification.verify.MOMENT", 0.0)
    with locked(tmp_path):
        assert_verdict(list(kodec.repair.verify(folder)), ["note: in use", *verdict])
