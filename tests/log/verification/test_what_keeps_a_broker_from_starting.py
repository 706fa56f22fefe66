"""States with which a broker does not start, or does not serve what is there: the table in docs/verify.md."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import kodec
from kodec.cli.main import main
from kodec.log.verification.indexes import OffsetIndex, TimeIndex
from kodec.runtime.cached import cached_property
from tests.data import DATA, LOGS
from tests.log.gaps import checkpoint, dense, log

QUORUM = "__cluster_metadata-0"


def newest(root: Path) -> Path:
    return max((root / QUORUM).glob("*.checkpoint"))


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _without_footer(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: list(kodec.read_batches(data))[-1].position])


def _without_header(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[list(kodec.read_batches(data))[1].position :])


def _begins_later(root: Path) -> None:
    """The start of the metadata log deleted, and the snapshot of what it had lost."""
    for path in (root / QUORUM).glob("*.checkpoint"):
        path.unlink()
    lines = ["0", "1", "__cluster_metadata 0 5"]
    (root / "log-start-offset-checkpoint").write_text("".join(f"{line}\n" for line in lines))


STATES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a snapshot with a flipped bit": (lambda root: _flip(newest(root)), "CrcMismatch"),
    "a torn snapshot": (
        lambda root: newest(root).write_bytes(newest(root).read_bytes()[:-5]),
        "torn snapshot",
    ),
    "an empty snapshot": (lambda root: newest(root).write_bytes(b""), "empty snapshot"),
    "a snapshot without its footer": (lambda root: _without_footer(newest(root)), "its footer"),
    "a snapshot without its header": (lambda root: _without_header(newest(root)), "its header"),
    "a metadata log that begins after 0 without a snapshot": (
        _begins_later,
        "the metadata log begins at offset 5",
    ),
    "an empty bootstrap.checkpoint": (
        lambda root: (root / "bootstrap.checkpoint").write_bytes(b""),
        "empty snapshot",
    ),
    "an empty meta.properties": (
        lambda root: (root / "meta.properties").write_bytes(b""),
        "the ids of node and cluster",
    ),
    "a folder without partition.metadata": (
        lambda root: (root / "orders-0" / "partition.metadata").unlink(),
        "renames the folder to -stray",
    ),
    "a folder without a topic-partition's name": (
        lambda root: shutil.copytree(root / "orders-0", root / "copy-of-orders"),
        "a name like orders-0",
    ),
}


@pytest.mark.parametrize("state", STATES)
def test_a_state_is_a_problem(tmp_path: Path, state: str, capsys: pytest.CaptureFixture[str]) -> None:
    root = shutil.copytree(LOGS, tmp_path / "logs")
    assert main(["verify", str(root)]) == 0
    capsys.readouterr()
    change, told = STATES[state]
    change(root)
    assert main(["verify", str(root)]) == 1
    problems = [line for line in capsys.readouterr().out.splitlines() if told in line]
    assert len(problems) == 1 and not problems[0].startswith("note: ")


def test_a_zookeeper_broker_s_folder_needs_no_topic_id(tmp_path: Path) -> None:
    root = shutil.copytree(LOGS.parents[1] / "kafka-2.8.2" / "logs", tmp_path / "logs")
    for path in root.glob("*/partition.metadata"):
        path.unlink()
    assert main(["verify", str(root)]) == 0


@pytest.mark.parametrize("emptied", ["the folder", "the segment"])
def test_an_empty_partition_whose_checkpoints_have_more(
    tmp_path: Path, emptied: str, capsys: pytest.CaptureFixture[str]
) -> None:
    dense(tmp_path / "topic-0")
    for base in (0, 10, 20, 30, 40):
        log(tmp_path / "topic-0", base).unlink()
    if emptied == "the segment":
        log(tmp_path / "topic-0", 0).write_bytes(b"")
    checkpoint(tmp_path / "topic-0", "replication-offset-checkpoint", ("topic 0", 50))
    for verb in ("verify", "ls", "inventory", "find", "dump"):
        assert main([verb, str(tmp_path)]) == 1
        found = capsys.readouterr()
        assert "50" in found.out + found.err


CONTENTS = {
    "random bytes": bytes(range(131, 256)) * 30,
    "text": b"What is this, if not a log? " * 40,
    "an encrypted file": b"Salted__" + bytes(range(7, 250)) * 9,
    "another program's": b"SQLite format 3\0" + bytes(range(256)) * 5,
}


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("segments", [1, 3])
def test_a_log_in_which_no_batch_is_right_is_no_torn_log(
    tmp_path: Path, content: str, segments: int, capsys: pytest.CaptureFixture[str]
) -> None:
    data = CONTENTS[content]
    paths = [log(tmp_path / "t-0", base) for base in range(0, 10 * segments, 10)]
    (tmp_path / "t-0").mkdir()
    for path in paths:
        path.write_bytes(data)
    told = "no batch is right anywhere in this log: need a log of Kafka, have files that begin with "
    told += data[:8].hex(" ")
    assert main(["verify", str(tmp_path)]) == 1
    assert told in capsys.readouterr().out
    assert main(["recover", "--apply", str(tmp_path)]) == 1
    assert f"refused: {told}" in capsys.readouterr().err
    assert [path.read_bytes() for path in paths] == [data] * segments


@pytest.mark.parametrize("good", [0, 2])
def test_damage_of_one_segment_is_not_taken_for_another_file(
    tmp_path: Path, good: int, capsys: pytest.CaptureFixture[str]
) -> None:
    dense(tmp_path / "t-0")
    for base in (0, 10, 20, 30, 40):
        if base != 10 * good:
            log(tmp_path / "t-0", base).write_bytes(CONTENTS["random bytes"])
    assert main(["verify", str(tmp_path)]) == 1
    assert "no batch is right" not in capsys.readouterr().out
    assert main(["recover", str(tmp_path)]) == 3


@pytest.mark.parametrize(
    "data", [b"", bytes(5000), kodec.encode([kodec.Record(value=b"v")])[:-3]], ids=["empty", "zeros", "torn"]
)
def test_a_torn_first_batch_is_a_torn_log(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "t-0").mkdir()
    log(tmp_path / "t-0", 0).write_bytes(data)
    assert main(["recover", str(tmp_path)]) in (0, 3)


@pytest.mark.parametrize("kind", [OffsetIndex, TimeIndex])
@pytest.mark.parametrize("zeros", [0, 12, 24, 24 * 4096 + 5])
@pytest.mark.parametrize("padded", [True, False])
def test_zeros_that_are_allocated_ahead(tmp_path: Path, kind: type, zeros: int, padded: bool) -> None:
    path = tmp_path / "index"
    entry = (1).to_bytes(8, "big") + (1).to_bytes(4, "big") if kind is TimeIndex else b"\0\0\0\1\0\0\0\1"
    for data in (b"", entry):
        path.write_bytes(data + bytes(zeros // len(entry) * len(entry)))
        index = kind(path, 0, padded)
        assert len(index.entries) == len(data) // len(entry)
        expected = [] if padded or not zeros // len(entry) else ["zeros at the end"]
        assert [each.what for each in index.problems] == expected


TIERED = DATA / "tiered-4.3.1"


def test_many_topic_partitions_with_their_tier(tmp_path: Path) -> None:
    """In threads, of which none waits for another one forever: each lists its folder with the help of all."""
    logs = shutil.copytree(TIERED / "logs", tmp_path / "logs")
    for number in range(24):
        shutil.copytree(logs / "tiered-0", logs / f"other-{number}")
    words = [sys.executable, "-m", "kodec", "verify", str(logs), "--tier", str(TIERED / "tier")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout.splitlines()[-1].startswith("30 segments, ")


def test_properties_that_need_each_other_of_other_objects() -> None:
    """`functools.cached_property` of Python 3.11 waits forever here: its lock is that of all objects."""
    begun = threading.Barrier(2)

    class Thing:
        other: Thing | None = None

        @cached_property
        def one(self) -> int:
            if self.other is None:
                return 1
            begun.wait(60)
            return self.other.two

        @cached_property
        def two(self) -> int:
            if self.other is None:
                return 2
            begun.wait(60)
            return self.other.one

    first, second = Thing(), Thing()
    first.other, second.other = Thing(), Thing()
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda: results.append(first.one), daemon=True),
        threading.Thread(target=lambda: results.append(second.two), daemon=True),
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert sorted(results) == [1, 2]


def test_a_property_is_the_same_for_all_threads() -> None:
    class Thing:
        @cached_property
        def value(self) -> object:
            time.sleep(0.01)
            return object()

    thing = Thing()
    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(lambda _: thing.value, range(8)))
    assert found == {thing.value}
    assert isinstance(Thing.value, cached_property)
