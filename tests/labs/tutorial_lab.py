"""Follows docs/tutorial-dead-broker.md to its end with a real broker: does it serve every record of the disk?

    python tests/labs/tutorial_lab.py [4.3 4.4]

The commands are the page's own; only the new broker's directory, of which the page takes a copy from
tests/data, is formatted by Kafka here. The broker checks retention all the time. It is also started on the
repaired disk itself, which the page says to be of no use.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from kafka_lab import CACHE, Broker, Clients, Toolbox, Unusable, generation_of, say, step, work_of

import kodec
from kodec.runtime.errors import KodecError

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tutorial-dead-broker.md"
LINES = ("4.3", "4.4")
TOPICS = ("preallocated", "segments", "transactions")
COPIED = "cp -r tests/data/formatted-4.4.0/dynamic broker"
SETTINGS = "log.retention.check.interval.ms=300\n"
NEW_CLUSTER = "bmV3LWNsdXN0ZXItMDAwMQ"


def commands() -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    found = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    if COPIED not in found:
        raise Unusable(f"{PAGE.name} has no longer: {COPIED}")
    return found


def follow(broker: Broker, folder: Path) -> None:
    """Do what the page says, in `folder`."""
    (folder / "tests").symlink_to(ROOT / "tests")
    scripts = str(Path(sys.executable).parent)
    environment = os.environ | {"PATH": scripts + os.pathsep + os.environ["PATH"]}
    for command in commands():
        if command == COPIED:
            broker.format(cluster_id=NEW_CLUSTER)
            (folder / "broker").symlink_to(broker.logs)
            continue
        done = subprocess.run(
            ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        # 1: `verify` of damaged logs; 3: a dry run
        if done.returncode not in (0, 1, 3):
            raise Unusable(f"{command}: {done.stdout}{done.stderr}")


def served(tools: Toolbox, broker: Broker, folder: Path) -> list[str]:
    """What a consumer does not get of the disk's records."""
    differ = []
    broker.start()
    # retention has been checked several times
    time.sleep(5)
    with Clients(tools) as clients:
        clients.do("connect", broker.address, "-")
        for topic in TOPICS:
            log = kodec.PartitionLog(folder / "disk" / f"{topic}-0")
            wanted = [each.offset for each in log.records()]
            file = folder / f"{topic}.jsonl"
            clients.do("consume", topic, "read_uncommitted", str(file))
            found = [json.loads(line)["offset"] for line in file.read_text("utf-8").splitlines()]
            if found != wanted:
                differ.append(f"{topic}: {len(found)} records, not {len(wanted)}")
            say(f"    {topic}: {len(found)} records of {len(wanted)}")
    broker.stop()
    return differ


def of_the_disk_itself(tools: Toolbox, folder: Path) -> str:
    """What a broker that was formatted anew does with the repaired disk."""
    broker = Broker(tools, SETTINGS, folder=folder / "itself")
    (folder / "itself").mkdir()
    broker.format(cluster_id=NEW_CLUSTER)
    for path in (folder / "disk").iterdir():
        if path.is_dir():
            shutil.copytree(path, broker.logs / path.name)
    try:
        broker.start()
        time.sleep(5)
        stray = len(list(broker.logs.glob("*-stray")))
        broker.stop()
        return f"{stray} of {len(TOPICS)} topic-partitions are stray"
    finally:
        broker.kill()


def make(line: str, repository: Path | None = None) -> list[str]:
    """One line of Kafka; returns what differs. Raises: Unusable."""
    generation = generation_of(line)
    tools = Toolbox(work_of(generation), repository, generation)
    tools.prepare()
    folder = CACHE / "work" / f"tutorial-{line}"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "new").mkdir(parents=True)
    broker = Broker(tools, SETTINGS, folder=folder / "new")
    try:
        follow(broker, folder)
        differ = served(tools, broker, folder)
    except KodecError as error:
        return [str(error)]
    finally:
        broker.kill()
    found = of_the_disk_itself(tools, folder)
    say(f"    the disk itself: {found}")
    return differ + ([] if found.startswith(f"{len(TOPICS)} of") else [f"the disk itself: {found}"])


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    try:
        differ = []
        for line in sys.argv[1:] or LINES:
            with step(f"The tutorial of a dead broker, Kafka {line}"):
                differ += [f"{line}: {each}" for each in make(line)]
        say("\n".join(differ) or "all as docs/tutorial-dead-broker.md says")
        sys.exit(bool(differ))
    except Unusable as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(2)
