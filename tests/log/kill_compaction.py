"""Kills compactions at random moments and looks at what is left: `python -m tests.log.kill_compaction`."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import kodec
from kodec.log.cleaning.compaction import plan_compaction
from kodec.log.omissions import Omissions
from kodec.log.verification.verify import verify_partition

from . import made
from .made import DAY, START, batch, marker

NOW = START + 10 * DAY
OPTIONS: dict[str, Any] = {"now": NOW, "buffer_bytes": 2048, "segment_bytes": 3000}


def make_log(folder: Path) -> None:
    """Twenty segments of a few keys, with a transaction that was aborted in each fifth."""
    draw = random.Random(5)
    segments, aborted, offset = [], [], 0
    for number in range(20):
        base, entries = offset, []
        for codec in ("none", "lz4", "none"):
            keys = [(b"key %d" % draw.randrange(60), b"%d" % draw.randrange(1000)) for _ in range(8)]
            entries.append(batch(offset, keys, codec=codec, producer=(1, 0, offset)))
            offset += len(keys)
        if number % 5 == 4:
            pairs = [(b"key 1", b"aborted")]
            entries.append(batch(offset, pairs, producer=(7, 0, number), transactional=True))
            entries.append(marker(offset + 1, 7, commit=False))
            aborted.append((7, offset, offset + 1))
            offset += 2
        segments.append((base, entries))
    made.make(folder, [*segments, (offset, [])], aborted=aborted)


def run(kills: int, seed: int, root: Path) -> Counter[str]:
    """So many kills; how many of them hit what. Raises AssertionError if something is lost or wrong."""
    draw = random.Random(seed)
    source = root / "source" / "topic-0"
    make_log(source)
    before = made.rows(source)
    newest = {record.key: record for record in before if record.value != b"aborted"}
    whole = root / "whole" / "topic-0"
    shutil.copytree(source, whole)
    begun = time.perf_counter()
    plan_compaction(whole, **OPTIONS).apply()
    took = time.perf_counter() - begun
    after = made.rows(whole)
    hits: Counter[str] = Counter()
    for number in range(kills):
        folder = root / f"{number}" / "topic-0"
        shutil.copytree(source, folder)
        child = os.fork()
        if child == 0:
            plan_compaction(folder, **OPTIONS).apply()
            os._exit(0)
        time.sleep(draw.uniform(0, took * 1.1))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        ends = {path.suffix for path in folder.iterdir()} & {".cleaned", ".swap", ".deleted"}
        hits[" and ".join(sorted(ends)) or ("after the end" if status == 0 else "between")] += 1
        made.broker_start(folder)
        # Between a swap and its entry in the checkpoint nothing says that a gap is of the compaction.
        found = made.rows(folder, omissions=Omissions())
        assert [each for each in before if each in found] == found, "a record that was not there"
        assert {each.key: each for each in found if each.value != b"aborted"} == newest, "a value is lost"
        problems = [each for each in verify_partition(kodec.PartitionLog(folder)) if not each.note]
        assert all(each.what == "offsets" for each in problems), problems
        again = made.files(folder)
        made.broker_start(folder)
        assert made.files(folder) == again, "a second start changes something"
        plan_compaction(folder, over_gaps=True, **OPTIONS).apply()
        assert made.rows(folder, omissions=Omissions()) == after, "compacting again ends elsewhere"
        shutil.rmtree(folder.parent)
    return hits


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.log.kill_compaction", description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        hits = run(options.kills, options.seed, Path(root))
    for what, count in hits.most_common():
        print(f"{count:6} {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
