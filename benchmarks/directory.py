"""What everyday questions take on a log directory of 10 GB in 200 partitions: time, CPU and peak memory.

Each question is a process of its own, as people ask it; `kafka-dump-log`, where a lab has fetched Kafka, is
asked about one segment. Files are in the page cache as far as it holds them. The directory is made where
temporary files are and deleted afterwards, or made at `--folder` and kept.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

import kodec
from kodec.repair import plan_reindex

_CODECS = ("none", "lz4", "zstd", "snappy", "gzip")
_TOPICS = 20
_SEGMENT = 16 << 20
_DAY = 86_400_000
_START = 1_780_000_000_000
_CITIES = ("Aachen", "Berlin", "Cairo", "Delhi", "Essen", "Faro", "Geneva", "Hanoi")
_ROWS = 20_000
_JARS = Path(__file__).resolve().parent.parent / ".cache" / "interop" / "work" / "4.3" / "jars"


def build(folder: Path, size: int, partitions: int) -> None:
    """Topics of JSON records, each with one codec, over a week; `size` bytes in all.

    A log is made for each topic, with indexes and snapshots as a broker's; all partitions have copies of it.
    """
    chosen = random.Random(1)
    per_topic = partitions // _TOPICS
    for number in range(_TOPICS):
        codec = _CODECS[number % len(_CODECS)]
        log = folder / f"topic-{number:02}-0"
        log.mkdir(parents=True)
        _write(log, codec, size // partitions, chosen)
        plan_reindex(log).apply()
        for partition in range(1, per_topic):
            shutil.copytree(log, folder / f"topic-{number:02}-{partition}")


def _write(log: Path, codec: str, size: int, chosen: random.Random) -> None:
    """Segments of 16 MiB until there are `size` bytes."""
    written, offset, base, file = 0, 0, -1, None
    while written < size:
        offsets = range(offset, offset + _ROWS)
        now = _START + written * 7 * _DAY // size
        columns = {
            "offset": pa.array(offsets, pa.int64()),
            # in a week, whatever the codec makes of a record
            "timestamp": pa.array([now + each for each in range(_ROWS)], pa.int64()),
            "key": pa.array([b"customer-%07d" % chosen.randrange(1_000_000) for _ in offsets], pa.binary()),
            "value": pa.array([_value(each, chosen) for each in offsets], pa.binary()),
        }
        data = kodec.encode_table(pa.table(columns), compression=codec, batch_bytes=_BATCH[codec])
        if file is None or file.tell() + len(data) > _SEGMENT:
            if file is not None:
                file.close()
            base = offset
            file = (log / f"{base:020d}.log").open("wb")
        file.write(data)
        written += len(data)
        offset += _ROWS
    if file is not None:
        file.close()


# As batches of 16 KiB and 64 KiB before compression, which leaves about as many bytes of each codec.
_BATCH = dict.fromkeys(_CODECS, 65_536) | {"none": 16_384}


def _value(number: int, chosen: random.Random) -> bytes:
    return json.dumps(
        {
            "order": number,
            "city": chosen.choice(_CITIES),
            "amount": round(chosen.expovariate(0.01), 2),
            "token": f"{chosen.getrandbits(128):032x}",
            "lines": [{"sku": chosen.randrange(100_000), "count": chosen.randrange(1, 9)} for _ in range(4)],
        }
    ).encode()


def questions(logs: Path, work: Path, kafka: Path) -> dict[str, list[str]]:
    """What is asked, as commands."""
    kodec = [str(Path(sys.executable).with_name("kodec"))]
    middle = _START + 3 * _DAY
    found = {
        "last 10 of everything": [*kodec, "find", str(logs), "--last", "10"],
        "last 10 of a topic": [*kodec, "find", str(logs), "--topic", "topic-01", "--last", "10"],
        "one key over a topic": [
            *kodec,
            "find",
            str(logs),
            "--topic",
            "topic-01",
            "--key",
            "customer-0000042",
        ],
        "an hour over everything, counted": [
            *(*kodec, "find", str(logs), "--count"),
            *("--since", str(middle), "--until", str(middle + _DAY // 24)),
        ],
        "ls": [*kodec, "ls", str(logs)],
        "count(*)": [sys.executable, "-c", f"import kodec; print(kodec.count_rows({str(logs)!r}))"],
        "report": [*kodec, "report", str(logs), "--out", str(work / "report.html"), "--overwrite"],
        "verify": [*kodec, "verify", str(logs)],
    }
    if jars := sorted(kafka.glob("*.jar")):
        log = next((logs / "topic-01-0").glob("*.log"))
        java = ["java", "-cp", os.pathsep.join(map(str, jars)), "org.apache.kafka.tools.DumpLogSegments"]
        found["kafka-dump-log, batches of one segment"] = [*java, "--files", str(log)]
        found["kafka-dump-log, records of one segment"] = [*java, "--deep-iteration", "--files", str(log)]
        found["kodec dump, records of the same"] = [*kodec, "dump", str(log)]
    return found


class Spent(NamedTuple):
    """Seconds of the clock, seconds of CPU, and the most memory in bytes."""

    wall: float
    cpu: float
    memory: int


def run(command: Sequence[str]) -> Spent:
    """Run a command to its end; what it prints goes nowhere."""
    started = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert not process.returncode, (command, said[-500:])
    return Spent(time.monotonic() - started, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.directory", description=__doc__)
    parser.add_argument("--size", type=int, default=10_000_000_000, help="bytes of logs (%(default)s)")
    parser.add_argument("--partitions", type=int, default=200, help="topic-partitions (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (%(default)s)")
    parser.add_argument("--folder", type=Path, help="where to make it; one that is there is used, and kept")
    parser.add_argument(
        "--kafka", type=Path, default=_JARS, help="the jars of a Kafka, as the labs fetch them"
    )
    parser.add_argument("--only", default="", help="questions with this in their names")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kodec-directory-") as work:
        logs = given.folder or Path(work) / "logs"
        if not logs.is_dir():
            build(logs, given.size, given.partitions)
        print(f"{'':42} {'s':>8} {'s CPU':>8} {'MiB':>6}")
        for name, command in questions(logs, Path(work), given.kafka).items():
            if given.only not in name:
                continue
            spent = [run(command) for _ in range(given.rounds)]
            wall, busy, memory = (statistics.median(each) for each in zip(*spent, strict=True))
            print(f"{name:42} {wall:8.2f} {busy:8.2f} {memory / (1 << 20):6.0f}", flush=True)
        print(f"load at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
