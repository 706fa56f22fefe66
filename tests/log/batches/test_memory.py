"""What reading and planning take in memory: bounds that docs/reading.md and docs/recovering.md state."""

from __future__ import annotations

import logging
import random
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

import kodec
from kodec.log.batches.options import OnError
from kodec.log.batches.records import SkippedRanges
from kodec.log.recovery import contents
from kodec.log.recovery.salvage import plan_salvage
from kodec.log.recovery.steps import Write
from tests.log import made
from tests.log.made import START, batch

pytestmark = pytest.mark.thorough

MIB = 1 << 20
STREAM = 96 * MIB
GOOD = kodec.encode([kodec.Record(value=b"v", timestamp=START)])
BAD = GOOD[:-1] + b"\xff"


def peak(work: Callable[[], object]) -> int:
    """The most memory, in bytes, that a call has at a time."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class Pipe:
    """Some log, then `size` bytes that are none; cannot seek."""

    def __init__(self, unit: bytes | None, size: int) -> None:
        self.unit = None if unit is None else unit * (MIB // len(unit))
        self.left = size
        self.first = GOOD
        self.chance = random.Random(0)

    def read(self, size: int) -> bytes:
        if self.first:
            first, self.first = self.first, b""
            return first
        size = min(size, self.left, MIB if self.unit is None else len(self.unit))
        self.left -= size
        return self.chance.randbytes(size) if self.unit is None else self.unit[:size]


class Slow:
    """Some bytes, not as many at once as were asked for; cannot seek."""

    def __init__(self, data: bytes) -> None:
        self.data = memoryview(data)

    def read(self, size: int) -> bytes:
        given, self.data = self.data[: min(size, 700_001)], self.data[min(size, 700_001) :]
        return bytes(given)


GARBAGE = {"zeros": b"\0", "ff": b"\xff", "text": b"not a log. "}


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("kind", GARBAGE)
def test_a_stream_of_garbage_takes_no_more_than_its_window(kind: str, on_error: OnError) -> None:
    size = STREAM if kind == "zeros" else STREAM // 2
    found: list[object] = []

    def read() -> None:
        reader = kodec.read_records(Pipe(GARBAGE[kind], size), on_error=on_error)  # type: ignore[arg-type]
        try:
            found.extend(record.value for record in reader)
        except kodec.errors.FormatError as error:
            found.append(type(error).__name__)
        if reader.torn_tail is not None:
            found.append((reader.torn_tail.position, reader.torn_tail.size))
        found.extend((each.start, each.end) for each in reader.skipped)

    assert peak(read) < 24 * MIB
    damage = "Malformed" if kind == "ff" else "Unsupported"
    rest = (len(GOOD), len(GOOD) + size)
    end: object = (len(GOOD), size) if kind == "zeros" else damage if on_error == "raise" else rest
    assert found == [b"v", end]


def test_random_garbage_takes_what_the_largest_batch_may(tmp_path: Path) -> None:
    """By chance it claims batches of any size: each is checked whole."""
    limits = kodec.Limits(batch_bytes=4 * MIB)
    for source in (Pipe(None, STREAM // 4), tmp_path / "random"):
        if isinstance(source, Path):
            source.write_bytes(GOOD + random.Random(0).randbytes(STREAM // 4))

        def read(source: object = source) -> None:
            reader = kodec.read_records(source, on_error="skip", limits=limits)  # type: ignore[arg-type]
            assert [record.value for record in reader] == [b"v"]

        assert peak(read) < 24 * MIB + 3 * limits.batch_bytes


def test_what_a_stream_has_after_much_garbage_is_read() -> None:
    """What was read ahead, beyond what is kept in memory, is all there again."""
    chance = random.Random(1)
    parts = [kodec.encode([kodec.Record(value=chance.randbytes(50_000))], base_offset=n) for n in range(500)]
    data = b"".join(parts)
    whole = [record.value for record in kodec.read_records(data)]
    for damage in (b"\xff" * (24 * MIB), bytes(24 * MIB)):
        hit = parts[0] + damage + data[len(parts[0]) :]

        reader = kodec.read_records(Slow(hit), on_error="skip")  # type: ignore[arg-type]
        assert [record.value for record in reader] == whole
        assert [(each.start, each.end) for each in reader.skipped] == [
            (len(parts[0]), len(parts[0]) + len(damage))
        ]


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB there")
def test_dump_of_a_pipe() -> None:
    code = (
        "import resource, sys; from kodec.cli.main import main;"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "code = main(['dump', '/dev/stdin', '--batches']);"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "print(code, (after - before) >> 10)"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        for part in (GOOD, *[bytes(MIB)] * 200):
            process.stdin.write(part)
        out, err = process.communicate()
    code, taken = map(int, out.split()[-2:])
    assert code == 0 and b"zeros" in err
    assert taken < 64


def test_skipped_ranges_are_bounded_and_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # pytest keeps what is logged
    caplog.set_level(logging.ERROR, logger="kodec")
    monkeypatch.setattr(SkippedRanges, "MOST", 1_000)
    count = 4_000
    data = b"".join(
        kodec.encode([kodec.Record()], base_offset=2 * n)
        + kodec.encode([kodec.Record()], base_offset=2 * n + 1)[:-1]
        + b"\xff"
        for n in range(count)
    )
    half = len(data) // count // 2
    reader = kodec.read_batches(data, on_error="skip")
    assert peak(lambda: sum(1 for _ in reader)) < 3 * MIB
    skipped = reader.skipped
    assert [(each.start, each.end) for each in skipped[:2]] == [(half, 2 * half), (3 * half, 4 * half)]
    assert (len(skipped), skipped.omitted, skipped.total) == (1_000, 3_000, 4_000)
    assert sum(each.end - each.start for each in skipped) + skipped.omitted_bytes == len(data) // 2


def many(folder: Path, segments: int, batches: int) -> Path:
    """Segments of many small batches."""
    return made.make(
        folder,
        [
            (
                at * batches,
                [
                    batch(at * batches + n, [(b"k", b"v")], time=START + at * batches + n)
                    for n in range(batches)
                ],
            )
            for at in range(segments)
        ],
    )


def test_a_recovery_plan_holds_no_indexes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MOST_IN_MEMORY", 1 << 16)
    taken, sizes = [], []
    for segments in (2, 8):
        folder = many(tmp_path / f"{segments}" / "topic-0", segments, 5_000)
        for path in [*folder.glob("*.index"), *folder.glob("*.timeindex")]:
            path.unlink()
        plans: list[kodec.repair.RecoveryPlan] = []

        def plan(folder: Path = folder, plans: list[kodec.repair.RecoveryPlan] = plans) -> None:
            plans.append(kodec.repair.plan_recovery(folder, from_start=True, index_interval_bytes=0))

        taken.append(peak(plan))
        sizes.append(sum(step.size for step in plans[0].steps if isinstance(step, Write)))
        plans[0].apply()
        assert kodec.repair.plan_recovery(folder, from_start=True, index_interval_bytes=0).steps == []
    # of 6 more segments
    assert sizes[1] - sizes[0] > 550_000
    assert taken[1] - taken[0] < 150_000


def test_salvage_holds_some_bytes_for_each_batch(tmp_path: Path) -> None:
    taken = []
    for batches in (16_000, 36_000):
        folder = many(tmp_path / f"{batches}" / "topic-0", 1, batches)
        plan = plan_salvage(folder, tmp_path / f"{batches}" / "out" / "topic-0")

        def preview(plan: kodec.repair.SalvagePlan = plan, batches: int = batches) -> None:
            assert plan.preview().batches == batches

        taken.append(peak(preview))
    assert (taken[1] - taken[0]) / 20_000 < 50
