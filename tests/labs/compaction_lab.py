#!/usr/bin/env python3
# ruff: noqa: E402  (what is imported is found only after the path is set)
"""Compacts and trims random logs with Kafka's own classes and with ours, and compares what is left."""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from kafka_lab import GENERATIONS, Toolbox, Unusable, say

import kodec
from kodec.log.cleaning.compaction import plan_compaction
from kodec.log.cleaning.retention import plan_trim
from tests.log import made, wire
from tests.log.judged import KEPT, entries_of, held
from tests.log.made import DAY, START

CACHE = ROOT / ".cache" / "interop" / "work" / "4.3"
BATCH_THAT_KAFKA_REFUSES = "Empty batches are only supported for magic v2"


class Kafka:
    """The program Cleaning, which answers a line with a line."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.stdin.close()
        self._process.wait(30)

    def ask(self, *words: object) -> list[str]:
        """The words of the answer. Raises RuntimeError for an error."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.write("\t".join(map(str, words)) + "\n")
        stdin.flush()
        state, *answer = stdout.readline().rstrip("\n").split("\t")
        if state != "ok":
            raise RuntimeError(" ".join(answer))
        return answer


def make_log(folder: Path, draw: random.Random, now: int) -> None:
    """A log of a few keys: all formats and codecs, producers, transactions, tombstones, gaps."""
    magics = draw.choice([[2], [2], [2], [0], [1], [0, 1, 2]])
    keys = [b"k%d" % number for number in range(draw.choice([3, 10, 40]))]
    going: set[int] = set()
    sequences: Counter[int] = Counter()
    written = now - draw.randint(0, 3 * DAY)
    offset, count = 0, draw.randint(2, 6)
    for number in range(count):
        base, entries = offset, []
        for _ in range(draw.randint(0 if number == count - 1 else 1, 6)):
            offset += draw.randint(1, 5) * (draw.random() < 0.1)
            time = draw.choice(
                [START + offset, now - draw.randint(0, 2 * DAY), now - DAY + draw.randint(-3, 3)]
            )
            if going and draw.random() < 0.25:
                producer = draw.choice(sorted(going))
                entries.append(made.marker(offset, producer, commit=draw.random() < 0.5, time=time))
                going.remove(producer)
                offset += 1
                continue
            pairs = [
                (
                    None if draw.random() < 0.05 else draw.choice(keys),
                    None if draw.random() < 0.2 else b"v%d" % (offset + index),
                )
                for index in range(draw.randint(1, 6))
            ]
            entries.append(_entry(draw, offset, pairs, time, draw.choice(magics), going, sequences))
            offset += len(pairs)
        made.make(folder, [(base, entries)], modified=written + number * 1000)


def _entry(
    draw: random.Random,
    offset: int,
    pairs: list[tuple[bytes | None, bytes | None]],
    time: int,
    magic: int,
    going: set[int],
    sequences: Counter[int],
) -> bytes:
    codec = draw.choice(["none", "none", "gzip", "lz4", "snappy"] + ["zstd"] * (magic == 2))
    if magic == 2 and draw.random() < 0.5:
        producer = draw.randint(1, 4)
        transactional = producer in going or (producer <= 2 and draw.random() < 0.8)
        sequence = sequences[producer]
        sequences[producer] += len(pairs)
        if transactional:
            going.add(producer)
        return made.batch(
            offset,
            pairs,
            codec=codec,
            producer=(producer, 0, sequence),
            transactional=transactional,
            time=time,
        )
    if magic == 2 and draw.random() < 0.1:
        rows = [wire.record(at, key, value, time=at) for at, (key, value) in enumerate(pairs)]
        return wire.batch(rows, base=offset, attributes=8, base_time=time, max_time=time + 9, epoch=0)
    return made.batch(offset, pairs, codec=codec, magic=magic, time=time)


def compactions(kafka: Kafka, root: Path, seed: int, hits: Counter[str]) -> dict[str, Any] | None:
    """Three compactions of one log by both; the whole as a case to keep. Raises AssertionError."""
    draw = random.Random(seed)
    now, dirty = START + 20 * DAY, 0
    theirs, ours = root / "kafka" / "topic-0", root / "kodec" / "topic-0"
    make_log(theirs, draw, now)
    kafka.ask("recover", theirs, now)
    shutil.copytree(theirs, ours)
    case: dict[str, Any] = {"seed": seed, "files": held(theirs), "rounds": []}
    for _ in range(3):
        segment, retention = draw.choice([1 << 30, 400, 1500]), draw.choice([0, 1000, DAY])
        options = {"segment_bytes": segment, "delete_retention_ms": retention, "now": now}
        try:
            end = int(kafka.ask("compact", theirs, now, retention, DAY, segment, dirty)[0])
        except RuntimeError as error:
            assert BATCH_THAT_KAFKA_REFUSES in str(error), error
            hits["refused by Kafka, which cannot empty a message of v0 or v1"] += 1
            return None
        (ours.parent / "cleaner-offset-checkpoint").write_text(f"0\n1\ntopic 0 {dirty}\n")
        report = plan_compaction(ours, producer_expiration_ms=DAY, **options).apply()
        assert report.end_offset == end, f"seed {seed}: ends at {end}, ours at {report.end_offset}"
        left = entries_of(held(theirs))
        assert entries_of(held(ours)) == left, f"seed {seed}: other entries"
        case["rounds"].append({**options, "dirty": dirty, "end": end, "files": held(theirs)})
        kafka.ask("open", ours, now)
        assert entries_of(held(ours)) == left, f"seed {seed}: Kafka opens ours and changes it"
        hits["compactions with the same entries"] += 1
        for name in ("superseded", "tombstones", "aborted", "without_key", "markers"):
            hits[f"  records gone: {name}"] += getattr(report.counts, name)
        hits["  batches emptied"] += report.counts.emptied
        hits["  delete horizons set"] += report.counts.horizons
        dirty = draw.choice([0, 0, end // 2])
        now += draw.choice([0, 1000, DAY])
    return case


def trims(kafka: Kafka, root: Path, seed: int, hits: Counter[str]) -> None:
    """One trim by both. Raises AssertionError."""
    draw = random.Random(seed)
    now = START + 20 * DAY
    theirs, ours = root / "kafka" / "topic-0", root / "kodec" / "topic-0"
    make_log(theirs, draw, now)
    _, end = map(int, kafka.ask("recover", theirs, now))
    shutil.copytree(theirs, ours)
    size = sum(path.stat().st_size for path in theirs.glob("*.log"))
    most = draw.choice([-1, -1, 0, size // 2, size])
    oldest = draw.choice([-1, 0, DAY, 2 * DAY, 30 * DAY])
    start = draw.choice([0, 0, draw.randint(0, end)])
    count, first = map(int, kafka.ask("trim", theirs, now, most, oldest, start))
    if start:
        (ours.parent / "log-start-offset-checkpoint").write_text(f"0\n1\ntopic 0 {start}\n")
    report = plan_trim(
        ours,
        retention_bytes=most if most >= 0 else None,
        retention_ms=oldest if oldest >= 0 else None,
        now=now,
    ).apply()
    assert (len(report.deleted), report.new_start_offset) == (count, first), f"seed {seed}: {report}"
    assert entries_of(held(ours)) == entries_of(held(theirs)), f"seed {seed}: other entries"
    with kodec.PartitionLog(ours) as mine, kodec.PartitionLog(theirs) as other:
        assert mine.leader_epochs() == other.leader_epochs(), f"seed {seed}: other epochs"
    assert kafka.ask("open", ours, now)[1] == str(end), f"seed {seed}: Kafka finds another end"
    hits["trims with the same segments"] += 1
    hits["  segments gone"] += count


def command(jars: Path | None, classes: Path) -> list[str]:
    """How Cleaning is run. Raises Unusable."""
    if jars is None:
        CACHE.mkdir(parents=True, exist_ok=True)
        tools = Toolbox(CACHE, None, GENERATIONS["4.3"])
        tools.prepare()
        return tools.command("Cleaning")
    source = Path(__file__).parent / "java" / "Cleaning.java"
    path = f"{jars}/*"
    subprocess.run(["javac", "-nowarn", "-cp", path, "-d", str(classes), str(source)], check=True)
    level = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    return ["java", "-Xmx256m", "-XX:+UseSerialGC", level, "-cp", f"{classes}{os.pathsep}{path}", "Cleaning"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="compaction_lab.py", description=__doc__)
    parser.add_argument("--logs", type=int, default=100, help="how many logs are compacted, and trimmed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jars", type=Path, help="a folder with Kafka 4.3.1; else Maven fetches it")
    parser.add_argument("--keep", type=int, default=0, help="keep so many logs for the tests without Java")
    options = parser.parse_args()
    hits: Counter[str] = Counter()
    kept: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as work:
        try:
            line = command(options.jars, Path(work))
        except Unusable as error:
            say(f"compaction_lab.py: {error}")
            return 2
        with Kafka(line) as kafka:
            for seed in range(options.seed, options.seed + options.logs):
                for each in ("compact", "trim"):
                    root = Path(work) / f"{each}-{seed}"
                    if each == "trim":
                        trims(kafka, root, seed, hits)
                    elif (case := compactions(kafka, root, seed, hits)) is not None:
                        kept.append(case)
                    shutil.rmtree(root, ignore_errors=True)
    if options.keep:
        text = json.dumps(kept[: options.keep], indent=0).encode()
        KEPT.write_bytes(gzip.compress(text, mtime=0))
    for what, count in hits.items():
        print(f"{count:6} {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
