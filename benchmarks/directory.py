"""Cost of common queries on a log directory of 10 GB in 200 partitions: time, CPU and peak memory.

Each query runs in its own process, as users run it. With `--peers`, kcat runs the same queries on a real
broker that serves these segments through hard links, and `kafka-dump-log` on the files. Kafka is fetched;
kcat must be installed. Files are in the page cache as far as it holds them. The directory is made where
temporary files are and deleted afterwards, or made at `--folder` and kept. With `--peers` it must be on
the file system of the clone.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Container, Iterator, Sequence
from contextlib import ExitStack, contextmanager
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
_LABS = Path(__file__).resolve().parent.parent / "tests" / "labs"


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
            # within a week, whatever size the codec gives a record
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


_TOPIC = "topic-01"
_SINCE = _START + 3 * _DAY
_UNTIL = _SINCE + _DAY // 24


def some_key(logs: Path) -> str:
    """The key of the first record of the topic."""
    with kodec.PartitionLog(logs / f"{_TOPIC}-0") as log:
        key = next(log.records()).key
    assert key is not None
    return key.decode()


def questions(logs: Path, work: Path, key: str) -> dict[str, list[str]]:
    """The commands of kodec."""
    program = str(Path(sys.executable).with_name("kodec"))
    hour = ["--since", str(_SINCE), "--until", str(_UNTIL)]

    def find(*options: str) -> list[str]:
        return [program, "find", str(logs), *options]

    return {
        "last 10 of everything": find("--last", "10"),
        "last 10 of a topic": find("--topic", _TOPIC, "--last", "10"),
        "one key over a topic": find("--topic", _TOPIC, "--key", key),
        "one key over everything": find("--key", key),
        "an hour of a topic": find("--topic", _TOPIC, *hour),
        "an hour over everything, counted": find(*hour, "--count"),
        "ls": [program, "ls", str(logs)],
        "count(*)": [sys.executable, "-c", f"import kodec; print(kodec.count_rows({str(logs)!r}))"],
        "report": [program, "report", str(logs), "--to", str(work / "report.html"), "--overwrite"],
        "verify": [program, "verify", str(logs)],
    }


def kcat_questions(broker: str, key: str) -> dict[str, list[str]]:
    """The commands of kcat, topic by topic for everything. `-o -10` prints 10 records of each partition."""

    def consume(*options: str) -> str:
        return shlex.join(["kcat", "-C", "-q", "-e", "-b", broker, *options])

    def sh(line: str) -> list[str]:
        return ["sh", "-c", line]

    topics = [f"topic-{number:02}" for number in range(_TOPICS)]
    hour = ["-o", f"s@{_SINCE}", "-o", f"e@{_UNTIL}"]
    keyed = ["-o", "beginning", "-f", "%k\t%p\t%o\t%s\n"]
    by_key = f"grep -a '^{key}'"
    return {
        "kcat, last 10 of each partition of everything": sh(
            "; ".join(consume("-t", topic, "-o", "-10") for topic in topics)
        ),
        "kcat, last 10 of each partition of a topic": sh(consume("-t", _TOPIC, "-o", "-10")),
        "kcat, one key over a topic": sh(f"{consume('-t', _TOPIC, *keyed)} | {by_key}"),
        "kcat, an hour of a topic": sh(consume("-t", _TOPIC, *hour)),
        "kcat, an hour over everything, counted": sh(
            "(" + "; ".join(consume("-t", topic, *hour, "-f", "%o\n") for topic in topics) + ") | wc -l"
        ),
    }


def dump_log_questions(logs: Path, java: list[str], key: str) -> dict[str, list[str]]:
    """The commands of kafka-dump-log, which verifies the checksums of batches and can print records."""

    def of(pattern: str, *options: str) -> list[str]:
        files = ",".join(str(each) for each in sorted(logs.glob(pattern)))
        return [*java, "org.apache.kafka.tools.DumpLogSegments", *options, "--files", files]

    one_key = shlex.join(of(f"{_TOPIC}-*/*.log", "--print-data-log")) + f" | grep -a 'key: {key}'"
    return {
        "kafka-dump-log, one key over a topic": ["sh", "-c", one_key],
        "kafka-dump-log, all batches of everything": of("*/*.log"),
    }


@contextmanager
def serving(logs: Path) -> Iterator[tuple[str, int, list[str]]]:
    """A broker with the segments of `logs` by hard links: its address, process id, and how to run Java."""
    sys.path.insert(0, str(_LABS))
    from kafka_lab import GENERATIONS, Cluster, Toolbox, work_of

    tools = Toolbox(work_of(GENERATIONS["4.3"]), None, GENERATIONS["4.3"])
    tools.prepare()
    java = [tools.java, "-cp", str(tools.jars / "*")]
    partitions = sorted(each.name for each in logs.glob("topic-*"))
    with Cluster(tools, "log.index.size.max.bytes=1048576\n") as cluster:
        for topic in sorted({each.rpartition("-")[0] for each in partitions}):
            number = sum(each.startswith(f"{topic}-") for each in partitions)
            cluster.clients.do("topic", topic, number, "retention.ms=-1", "segment.bytes=1073741824")
        cluster.broker.stop()
        for each in partitions:
            theirs = cluster.broker.logs / each
            for file in theirs.iterdir():
                # the id of the topic stays
                if file.name != "partition.metadata":
                    file.unlink()
            for file in (logs / each).iterdir():
                (os.link if file.suffix == ".log" else shutil.copyfile)(file, theirs / file.name)
        cluster.start()
        process = cluster.broker.process
        assert process is not None
        yield cluster.broker.address, process.pid, java
    shutil.rmtree(tools.work / "logs")


class Spent(NamedTuple):
    """Seconds of the clock, seconds of CPU, the most memory in bytes, and the bytes read from the disk."""

    wall: float
    cpu: float
    memory: int
    read: int


# A small process starts the command, as the memory of its parent would count as memory of the command.
_STARTER = """
import json, os, subprocess, sys, time
started = time.monotonic()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
took = time.monotonic() - started
code = os.waitstatus_to_exitcode(status)
print(json.dumps([code, took, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, used.ru_inblock * 512]))
"""


def run(command: Sequence[str], codes: Container[int] = (0,)) -> Spent:
    """Run a command to its end, with one of these exit codes; its output is discarded."""
    starter = [sys.executable, "-I", "-S", "-c", _STARTER]
    done = subprocess.run([*starter, *command], capture_output=True, text=True, check=True)
    code, *spent = json.loads(done.stdout)
    # a smaller directory may have nothing in that hour
    assert code in codes or "no record matches" in done.stderr, (command, done.stderr[-500:])
    return Spent(*spent)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.directory", description=__doc__)
    parser.add_argument("--size", type=int, default=10_000_000_000, help="bytes of logs (%(default)s)")
    parser.add_argument("--partitions", type=int, default=200, help="topic-partitions (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (%(default)s)")
    parser.add_argument("--folder", type=Path, help="where to make it; an existing one is used, and kept")
    parser.add_argument("--peers", action="store_true", help="ask kcat and kafka-dump-log, too")
    parser.add_argument("--only", default="", help="questions with this in their names")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kodec-directory-") as work, ExitStack() as opened:
        logs = (given.folder or Path(work) / "logs").absolute()
        if not logs.is_dir():
            build(logs, given.size, given.partitions)
        key = some_key(logs)
        asked = questions(logs, Path(work), key)
        broker = None
        if given.peers:
            address, broker, java = opened.enter_context(serving(logs))
            asked |= kcat_questions(address, key) | dump_log_questions(logs, java, key)
        print(f"{'':46} {'s':>8} {'s CPU':>8} {'MiB':>6}")
        for name, command in asked.items():
            if given.only not in name:
                continue
            spent = [run(command) for _ in range(given.rounds)]
            wall, busy, memory, _ = (statistics.median(each) for each in zip(*spent, strict=True))
            print(f"{name:46} {wall:8.2f} {busy:8.2f} {memory / (1 << 20):6.0f}", flush=True)
        if broker is not None:
            status = Path(f"/proc/{broker}/status").read_text()
            memory = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
            ticks = Path(f"/proc/{broker}/stat").read_text().rpartition(") ")[2].split()
            busy = (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")
            print(f"{'the broker, in all':46} {'':8} {busy:8.2f} {int(memory) // 1024:6}")
        print(f"load at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
