"""How planning and committing scale: a log directory of many segments, as sparse files, planned for Spark.

Usage: python -m benchmarks.planning [--segments N] [--partitions N] [--task-bytes SIZE] [--files N]
"""

from __future__ import annotations

import argparse
import os
import pickle
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kodec import Record, encode
from kodec.pipeline.jobs.export import ExportWork
from kodec.pipeline.options import Options
from kodec.pipeline.plan import list_segments, tasks_of
from kodec.pipeline.spark_workers import _packed
from kodec.pipeline.staging import Staging, staged

R = TypeVar("R")
GIB = 1 << 30
OFFSETS = 1_000_000


def rss() -> float:
    """The most memory that this process has had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(what: str, work: Callable[[], R], each: int) -> R:
    begun, cpu = time.monotonic(), time.process_time()
    result = work()
    wall, used = time.monotonic() - begun, time.process_time() - cpu
    print(f"{what}: {wall:.2f} s, {used:.2f} s CPU, {used / each * 1e6:.1f} us each, {rss():.0f} MiB")
    return result


def make(root: Path, segments: int, partitions: int) -> None:
    """Segments of 1 GiB that take no room; the last of each topic-partition has one record."""
    (root / "meta.properties").touch()
    for number in range(partitions):
        folder = root / f"topic-{number % 100:03d}-{number // 100}"
        folder.mkdir()
        for index in range(segments // partitions):
            path = folder / f"{index * OFFSETS:020d}.log"
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
            os.truncate(path, GIB)
        # the end of the log, which is found in its last segment
        path.write_bytes(encode([Record(offset=index * OFFSETS)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=100_000)
    parser.add_argument("--partitions", type=int, default=1_000)
    parser.add_argument("--task-bytes", default="16g")
    parser.add_argument("--files", type=int, default=20_000, help="to commit")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "logs"
        root.mkdir()
        timed("made", lambda: make(root, given.segments, given.partitions), given.segments)
        options = Options.parse({"path": str(root), "maxPartitionBytes": given.task_bytes})
        listed = timed("listed", lambda: list_segments(options), given.segments)
        tasks = timed("tasks", lambda: tasks_of(options, listed), given.segments)
        work = ExportWork(options, "zstd", Staging(Path(name) / "staging"))
        packed = timed("packed", lambda: _packed((work, tasks), b"key"), given.segments)
        largest = max(len(pickle.dumps(task)) for task in tasks)
        print(f"{len(listed)} segments, {len(tasks)} tasks; the job {len(packed) / 2**20:.1f} MiB of text, "
              f"the largest task {largest / 1024:.1f} KiB")  # fmt: skip
        with staged(Path(name) / "out", [root]) as staging:
            attempt = staging.attempt()
            for number in range(given.files):
                (attempt / str(number)).touch()

            def commit() -> None:
                for number in range(given.files):
                    staging.take(attempt / str(number), f"topic=t/partition=0/{number:020d}.parquet")
                staging.publish(Path(name) / "out")

            timed(f"committed {given.files} files", commit, given.files)


if __name__ == "__main__":
    main()
