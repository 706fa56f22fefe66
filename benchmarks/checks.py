"""Cost of the commands that an operator runs on a broken log directory, by its size, cold and warm.

The logs are those of `benchmarks.directory`: topic-partitions of 50 MB in segments of 16 MiB, with indexes.
The broker was killed: recovery points are at the last segments, one log in ten ends in half a batch, one has
a wrong byte in its first segment, one lacks an index. Cold: the files are not in the page cache
(`posix_fadvise`). The first row shows how fast the disk is.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

import kodec
from benchmarks.directory import Spent, build, questions, run, some_key
from kodec.log.files.checkpoints import write_offsets
from kodec.log.files.listing import list_partition
from kodec.log.files.names import RECOVERY_POINTS

_GB = 1_000_000_000
_PARTITIONS = 20
_CODES = range(4)  # with problems, or with something to do


def make(folder: Path, base: Path, copies: int) -> None:
    """A broken log directory with so many copies of the logs in `base` as topic-partitions."""
    for log in sorted(base.glob("topic-*-0")):
        for number in range(copies):
            shutil.copytree(log, folder / f"{log.name[:-1]}{number}")
    _break(folder)


def _break(folder: Path) -> None:
    points = {}
    for number, log in enumerate(sorted(folder.glob("topic-*"))):
        segments = list_partition(log).segments
        with kodec.PartitionLog(log) as opened:
            points[opened.topic_partition] = segments[-1].base_offset
        if number % 10 == 3:
            with segments[-1].log.open("r+b") as file:
                file.truncate(segments[-1].size - 1000)
        elif number == 5:
            with segments[0].log.open("r+b") as file:
                file.seek(segments[0].size // 2)
                file.write(b"\xff")
        elif number == 7:
            segments[0].log.with_suffix(".index").unlink()
    write_offsets(folder / RECOVERY_POINTS, points)


def commands(logs: Path) -> dict[str, list[str]]:
    """The commands by name; the first reads all files and does nothing else."""
    asked = questions(logs, logs, some_key(logs))
    program, topic = asked["ls"][0], ["--topic", "topic-01", "--partition", "0"]
    return {
        "cat, for comparison": ["sh", "-c", f"cat '{logs}'/topic-*/* >/dev/null"],
        "ls": asked["ls"],
        "find --offset, in one topic-partition": [program, "find", str(logs), *topic, "--offset", "70000"],
        "find --last 10": asked["last 10 of everything"],
        "find --since --until, one hour": asked["an hour over everything, counted"],
        "find --key": asked["one key over everything"],
        "recover, the plan": [program, "recover", str(logs)],
        "recover --from-start, the plan": [program, "recover", str(logs), "--from-start"],
        "verify": asked["verify"],
    }


def forget(folder: Path) -> None:
    """Take the files out of the page cache."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _row(name: str, cold: list[Spent], warm: list[Spent]) -> str:
    walls = [statistics.median(each.wall for each in runs) for runs in (cold, warm)]
    busy = statistics.median(each.cpu for each in warm)
    read = statistics.median(each.read for each in cold) / _GB
    memory = max(each.memory for each in (*cold, *warm)) / (1 << 20)
    return f"| {name} | {read:.3f} | {busy:.1f} | {walls[0]:.1f} | {walls[1]:.1f} | {memory:.0f} |"


def main(given: list[str] | None = None) -> int:
    """Print a table for each size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checks", description=__doc__)
    parser.add_argument("--base", type=int, default=_GB, help="bytes of 20 topic-partitions (%(default)s)")
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 10], help="of these (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (%(default)s)")
    parser.add_argument("--only", default="", help="commands with this in their names")
    options = parser.parse_args(given)
    with tempfile.TemporaryDirectory(prefix="kodec-checks-") as work:
        base = Path(work) / "base"
        build(base, options.base, _PARTITIONS)
        for copies in options.copies:
            logs = Path(work) / str(copies)
            make(logs, base, copies)
            measure(logs, options.rounds, options.only)
            shutil.rmtree(logs)
    return 0


def measure(logs: Path, rounds: int, only: str = "") -> None:
    """Print the table of one directory."""
    size = sum(each.stat().st_size for each in logs.rglob("*") if each.is_file())
    print(f"\n{size / _GB:.1f} GB, {len(list(logs.glob('topic-*')))} topic-partitions, load {_load()}\n")
    print(
        "| command | read, GB | CPU, s | cold, s | warm, s | memory, MiB |\n|---|--:|--:|--:|--:|--:|",
        flush=True,
    )
    for name, command in commands(logs).items():
        if only not in name:
            continue
        cold, warm = [], []
        for _ in range(rounds):
            forget(logs)
            cold.append(run(command, _CODES))
            warm.append(run(command, _CODES))
        print(_row(name, cold, warm), flush=True)
    print(f"\nload at the end {_load()}")


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    sys.exit(main())
