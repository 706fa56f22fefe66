#!/usr/bin/env python3
"""Makes real Kafka log directories with a real broker, and keeps the reports of Kafka's own tools."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import dump_log
from kafka_lab import (
    CLUSTER_ID,
    CODECS,
    GENERATIONS,
    Broker,
    Toolbox,
    Unusable,
    kafka_version,
    run,
    say,
    step,
    stop_on_signal,
    wait_for,
)

T = TypeVar("T")
SIZE_LIMIT = 5 * 1024 * 1024
EXIT_UNUSABLE = 2

# Why each topic is there; `text` says that its keys and values may be printed by kafka-dump-log.
TOPICS: dict[str, tuple[bool, str]] = {
    "orders": (
        True,
        "keys and JSON values, three partitions, five codecs, several segments, two leader epochs",
    ),
    "codec-none": (False, "edge cases of keys, values, headers and times, not compressed"),
    "codec-gzip": (False, "the same records in gzip"),
    "codec-snappy": (False, "the same records in snappy"),
    "codec-lz4": (False, "the same records in lz4"),
    "codec-zstd": (False, "the same records in zstd"),
    "large": (False, "a record of 100 KB in each compressing codec"),
    "names-with.dots_and-dashes": (True, "a name that is hard to take apart; two partitions"),
    "idempotent": (True, "three idempotent producers, growing batches, producer snapshots"),
    "transactions": (
        True,
        "interleaved transactions: commits, aborts, one open at the crash, one at the end",
    ),
    "append.time": (True, "timestamps of the broker (LogAppendTime)"),
    "broker-gzip": (True, "batches that the broker compressed again"),
    "segments": (True, "segments of 8 KiB, dense indexes, aborted transactions across segments"),
    "segments-by-time": (True, "segments rolled by segment.ms"),
    "records-deleted": (True, "DeleteRecords up to offset 13, in the middle of a batch"),
    "preallocated": (True, "preallocate=true: the crashed copy ends in zeros"),
    "compacted": (True, "cleaned twice: gaps, an empty batch, tombstones and markers with a delete horizon"),
    "compacted-often": (True, "cleaned five times, delete.retention.ms=1: tombstones gone, an empty marker"),
    "compacted-append.time": (True, "cleaned with LogAppendTime: an empty segment, a delete horizon"),
    "empty": (True, "no records at all"),
}
DECODERS = {
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
    "__share_group_state": "--share-group-state-decoder",
    "__cluster_metadata": "--cluster-metadata-decoder",
}
DUMPED = {".log", ".checkpoint", ".index", ".timeindex", ".txnindex", ".snapshot"}
# How often a compacted topic is written and cleaned again after its first cleaning.
CLEANINGS = {"compacted": 1, "compacted-often": 4, "compacted-append.time": 0}
CONTROL = (
    "ABORT",
    "COMMIT",
    "LEADER_CHANGE",
    "SNAPSHOT_HEADER",
    "SNAPSHOT_FOOTER",
    "KRAFT_VERSION",
    "KRAFT_VOTERS",
)
# What the result must hold to be of use.
WANTED = (
    *(f"codec {name}" for name in CODECS),
    *(f"control {name}" for name in CONTROL),
    "LogAppendTime batches with a delete horizon",
    "aborted transactions in indexes",
    "batches of a later leader epoch",
    "batches with a delete horizon",
    "batches with gaps",
    "control batches with a delete horizon",
    "empty batches",
    "empty control batches",
    "idempotent data batches",
    "index entries",
    "metadata snapshots",
    "producers in snapshots",
    "timeindex entries",
    "timestamp type CreateTime",
    "timestamp type LogAppendTime",
    "transactional data batches",
)
CRASHED = ("segments-0", "preallocated-0", "transactions-0")
ROOT_TEXT = (
    "meta.properties",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
)


def client(broker: Broker, *arguments: str) -> None:
    command = broker.tools.command("RealLogs", broker.address, *arguments)
    run(command, f"the client step {arguments[0]} failed")


# ------------------------------------------------------------------ compaction


def has_gaps(partition: Path) -> bool:
    """True if a v2 batch of the closed segments has fewer records than offsets: a cleaner was there."""
    for log in sorted(partition.glob("*.log"))[:-1]:
        data = log.read_bytes()
        position = 0
        while position + 61 <= len(data):
            (size,) = struct.unpack_from(">i", data, position + 8)
            (last_delta,) = struct.unpack_from(">i", data, position + 23)
            (count,) = struct.unpack_from(">i", data, position + 57)
            if count < last_delta + 1:
                return True
            position += 12 + size
    return False


def cleaned_up_to(logs: Path, topic: str) -> int:
    """First dirty offset of partition 0, or 0 if the cleaner has not noted one."""
    try:
        lines = (logs / "cleaner-offset-checkpoint").read_text().split("\n")[2:]
    except FileNotFoundError:
        return 0
    return next((int(parts[2]) for parts in (line.split() for line in lines) if parts[:2] == [topic, "0"]), 0)


def wait_for_cleaner(logs: Path, topic: str, before: int) -> None:
    """Wait until the cleaner went past `before`, reached the active segment and removed the old files."""
    partition = logs / f"{topic}-0"

    def settled() -> bool:
        active = max(int(path.stem) for path in partition.glob("*.log"))
        waste = [path for path in partition.iterdir() if path.suffix in {".deleted", ".cleaned", ".swap"}]
        return not waste and cleaned_up_to(logs, topic) == active > before and has_gaps(partition)

    wait_for(f"the cleaner to rewrite {topic}", settled, 60)


# ------------------------------------------------------------------ the result


def copy_partition(source: Path, target: Path) -> None:
    """Copy a partition directory file by file; names in mid-replacement are left out."""
    target.mkdir(parents=True)
    for path in sorted(source.iterdir()):
        if path.suffix not in {".deleted", ".cleaned", ".swap", ".tmp", ".part"}:
            shutil.copyfile(path, target / path.name)


def keep_crashed_partitions(logs: Path, target: Path, names: Iterable[str]) -> None:
    """Keep partitions as the killed broker left them: tails of zeros, no clean-shutdown file."""
    for name in names:
        copy_partition(logs / name, target / name)
    for name in ROOT_TEXT:
        if (logs / name).is_file():
            shutil.copyfile(logs / name, target / name)


def keep_logs(logs: Path, target: Path) -> None:
    """Keep the whole root after a clean shutdown, without the lock and directories on their way out."""
    target.mkdir(parents=True)
    for path in sorted(logs.iterdir()):
        if path.is_dir() and not path.name.endswith(("-delete", "-future", "-stray")):
            copy_partition(path, target / path.name)
        elif path.is_file() and path.name != ".lock" and path.suffix != ".tmp":
            shutil.copyfile(path, target / path.name)


def topic_of(path: Path) -> str:
    return path.parent.name.rpartition("-")[0]


def dump_arguments(path: Path, name: str) -> list[str]:
    """Options of kafka-dump-log for one file; `name` is its path as Kafka shall print it."""
    arguments = ["--files", name, "--deep-iteration"]
    if path.suffix in {".log", ".checkpoint"}:
        # bootstrap.checkpoint lies at the root and holds metadata records too.
        topic = topic_of(path) or "__cluster_metadata"
        if topic in DECODERS:
            arguments.append(DECODERS[topic])
        elif TOPICS[topic][0]:
            arguments.append("--print-data-log")
    return arguments


def dump_all(tools: Toolbox, result: Path) -> int:
    """Run Kafka's own DumpLogSegments on every file it knows; one text file each. Returns how many."""
    files = [path for path in sorted(result.rglob("*")) if path.suffix in DUMPED]
    jobs = tools.work / "dump-jobs.txt"
    lines = []
    for path in files:
        name = path.relative_to(result).as_posix()
        lines.append("\t".join([f"dump/{name}.txt", *dump_arguments(path, name)]))
    jobs.write_text("\n".join(lines) + "\n", encoding="utf-8")
    run(tools.command("DumpEach", str(jobs)), "kafka-dump-log failed", cwd=result)
    for text in (result / "dump").rglob("*.txt"):
        # Some messages name the file by its absolute path, which is of no use elsewhere.
        text.write_text(text.read_text(encoding="utf-8").replace(f"{result}{os.sep}", ""), encoding="utf-8")
    return len(files)


def keep_consumed(raw: Path, target: Path) -> list[str]:
    """Keep the rows per topic, those of read_committed only where they differ. Returns these topics."""
    target.mkdir()
    differ = []
    for path in sorted(raw.glob("*.read_uncommitted.jsonl")):
        topic = path.name.removesuffix(".read_uncommitted.jsonl")
        committed = raw / f"{topic}.read_committed.jsonl"
        shutil.copyfile(path, target / path.name)
        if committed.read_bytes() != path.read_bytes():
            shutil.copyfile(committed, target / committed.name)
            differ.append(topic)
    return differ


def check(result: Path) -> dict[str, int]:
    """See that dump and consumer agree and that everything wanted is there; returns the counts of it."""
    dumps = result / "dump" / "logs"
    seen: Counter[str] = Counter()
    offsets: dict[tuple[str, int], list[int]] = {}
    starts = log_starts(result / "logs")
    for text in sorted(dumps.glob("*/*.log.txt")):
        topic, _, number = text.parent.name.rpartition("-")
        partition = topic, int(number)
        seen["segments"] += 1
        of_partition = offsets.setdefault(partition, [])
        for batch in parsed(dump_log.parse_log, text).batches:
            count_batch(batch, seen)
            for record in batch.records:
                if record.control_type is None and record.offset >= starts.get(partition, 0):
                    of_partition.append(record.offset)
    for text in sorted(dumps.rglob("*.checkpoint.txt")):
        seen["metadata snapshots"] += 1
        for batch in parsed(dump_log.parse_log, text).batches:
            seen.update(f"control {record.control_type}" for record in batch.records if batch.is_control)
    for text in sorted(dumps.glob("*/*.txnindex.txt")):
        seen["aborted transactions in indexes"] += len(parsed(dump_log.parse_txnindex, text))
    for text in sorted(dumps.glob("*/*.snapshot.txt")):
        seen["producers in snapshots"] += len(parsed(dump_log.parse_producers, text))
    for kind in ("index", "timeindex"):
        for text in sorted(dumps.glob(f"*/*.{kind}.txt")):
            seen[f"{kind} entries"] += len(parsed(dump_log.parse_index, text).entries)

    consumed: dict[tuple[str, int], list[int]] = {}
    for path in sorted((result / "consumed").glob("*.read_uncommitted.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            consumed.setdefault((row["topic"], row["partition"]), []).append(row["offset"])
    for partition, of_partition in offsets.items():
        if partition[0] != "__cluster_metadata" and of_partition != consumed.get(partition, []):
            raise Unusable(f"consumer and kafka-dump-log list different offsets of {partition}")
    missing = [name for name in WANTED if not seen[name]]
    if missing:
        raise Unusable("the data lacks: " + ", ".join(missing))
    return {name: seen[name] for name in sorted(seen) if seen[name]}


def parsed(parse: Callable[[str], T], text: Path) -> T:
    return parse(text.read_text(encoding="utf-8"))


def count_batch(batch: dump_log.DumpedBatch, seen: Counter[str]) -> None:
    """Count what one batch of a log shows."""
    gaps = batch.last_offset - batch.base_offset + 1 - batch.count
    horizon = batch.delete_horizon_ms is not None
    seen["batches"] += 1
    seen[f"codec {batch.compresscodec}"] += 1
    seen[f"timestamp type {batch.timestamp_type}"] += 1
    seen["empty batches"] += batch.count == 0
    seen["empty control batches"] += batch.count == 0 and batch.is_control
    seen["batches with gaps"] += batch.count > 0 and gaps > 0
    seen["batches with a delete horizon"] += horizon
    seen["LogAppendTime batches with a delete horizon"] += horizon and batch.timestamp_type == "LogAppendTime"
    seen["control batches with a delete horizon"] += horizon and batch.is_control
    seen["transactional data batches"] += batch.is_transactional and not batch.is_control
    seen["idempotent data batches"] += batch.producer_id >= 0 and not batch.is_transactional
    seen["batches of a later leader epoch"] += batch.partition_leader_epoch > 0
    seen["records"] += 0 if batch.is_control else batch.count
    seen.update(f"control {record.control_type}" for record in batch.records if batch.is_control)


def log_starts(logs: Path) -> dict[tuple[str, int], int]:
    """Log start offsets that the root's checkpoint states."""
    path = logs / "log-start-offset-checkpoint"
    if not path.is_file():
        return {}
    parts = [line.split() for line in path.read_text().splitlines()[2:]]
    return {(topic, int(partition)): int(offset) for topic, partition, offset in parts}


def consumed_counts(directory: Path) -> dict[str, dict[str, int]]:
    """Rows per partition for each isolation level."""
    counts: dict[str, dict[str, int]] = {}
    for path in sorted(directory.glob("*.jsonl")):
        isolation = path.name.split(".")[-2]
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            of_partition = counts.setdefault(f"{row['topic']}-{row['partition']}", {})
            of_partition[isolation] = of_partition.get(isolation, 0) + 1
    return counts


def write_manifest(result: Path, tools: Toolbox, differ: list[str], facts: dict[str, int]) -> None:
    manifest: dict[str, Any] = {
        "made_by": "tests/labs/make_logs.py",
        "kafka": kafka_version(),
        "java": tools.major,
        "cluster_id": CLUSTER_ID,
        "topics": {name: {"purpose": purpose, "text": text} for name, (text, purpose) in TOPICS.items()},
        "log_start_offsets": {
            f"{topic}-{partition}": at for (topic, partition), at in log_starts(result / "logs").items()
        },
        "read_committed_differs": differ,
        "consumed_rows": consumed_counts(result / "consumed"),
        "crashed": list(CRASHED),
        "facts": facts,
    }
    write_with_files(result, manifest)


def write_with_files(result: Path, manifest: dict[str, Any]) -> None:
    """Write MANIFEST.json: the manifest, and size and SHA-256 of each file."""
    files = [path for path in sorted(result.rglob("*")) if path.is_file()]
    # One line for each file, so that a change of one is a change of one line.
    listed = ",\n".join(
        "  " + json.dumps(
            {
                "path": path.relative_to(result).as_posix(),
                "size": path.stat().st_size,
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            }
        )
        for path in files
    )  # fmt: skip
    head = json.dumps(manifest, indent=1).removesuffix("\n}")
    (result / "MANIFEST.json").write_text(f'{head},\n "files": [\n{listed}\n ]\n}}\n', encoding="utf-8")


def make(work: Path, out: Path, repository: Path | None) -> None:
    version = kafka_version()
    tools = Toolbox(work, repository, GENERATIONS["4.3"])
    result = work / f"kafka-{version}"
    consumed = work / "consumed"
    for old in (work / "logs", result, consumed):
        shutil.rmtree(old, ignore_errors=True)
    tools.prepare()

    broker = Broker(tools)
    logs = broker.logs
    try:
        with step("Formatting the storage"):
            broker.format()
        with step(f"Starting a KRaft broker on 127.0.0.1:{broker.port}"):
            broker.start()
        with step("Creating topics"):
            client(broker, "create")
        with step("Writing data"):
            client(broker, "write")
        with step("Waiting for the log cleaner"):
            for topic, again in CLEANINGS.items():
                wait_for_cleaner(logs, topic, 0)
                for number in range(1, again + 1):
                    before = cleaned_up_to(logs, topic)
                    client(broker, "compact-again", topic, str(number))
                    wait_for_cleaner(logs, topic, before)
        with step("Consumer groups: classic, consumer and share"):
            client(broker, "groups")
            client(broker, "share")
        with step("Killing the broker, keeping a copy of what it left"):
            broker.kill()
            keep_crashed_partitions(logs, result / "crashed", CRASHED)
        with step("Starting it again: log recovery and the next leader epoch"):
            broker.start()
        with step("Writing more, leaving one transaction open"):
            client(broker, "after-crash")
        with step("Reading everything back with the Java consumer"):
            client(broker, "consume", str(consumed))
        with step("Shutting down in order"):
            broker.stop()
    finally:
        broker.kill()

    with step("Copying the log directory"):
        keep_logs(logs, result / "logs")
        differ = keep_consumed(consumed, result / "consumed")
    with step("Asking kafka-dump-log about every file"):
        say(f"    {dump_all(tools, result)} files")
    with step("Checking that everything wanted is there"):
        facts = check(result)
        write_manifest(result, tools, differ, facts)
    for name, number in facts.items():
        say(f"    {name}: {number}")
    publish(result, out, SIZE_LIMIT)


def publish(result: Path, out: Path, limit: int) -> None:
    """Put the result in the place of an older one. Raises: Unusable if it has more than `limit` bytes."""
    total = sum(path.stat().st_size for path in result.rglob("*") if path.is_file())
    if total > limit:
        raise Unusable(f"the result has {total} bytes, more than {limit}")
    target = out / result.name
    out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(result, target)
    say(f"{target}: {total:,} bytes")


def main(arguments: list[str] | None = None) -> int:
    """Make the result. Returns 0; 1 when interrupted; 2 when something is missing or failed."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="Needs a JDK 17+ and Maven. Exit code: 0 made, 1 interrupted, 2 something missing or failed.",
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="kafka-<version>/ is written here; an older one is replaced"
    )
    parser.add_argument(
        "--work",
        type=Path,
        help="keep jars, logs and broker output here (default: a temporary directory)",
    )
    parser.add_argument(
        "--maven-repository", type=Path, help="Maven's local repository (default: in the work directory)"
    )
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, stop_on_signal)
    begun = time.monotonic()
    try:
        if options.work is not None:
            options.work.mkdir(parents=True, exist_ok=True)
            make(options.work.resolve(), options.out.resolve(), options.maven_repository)
        else:
            with tempfile.TemporaryDirectory(prefix="kodec-interop-") as work:
                make(Path(work).resolve(), options.out.resolve(), options.maven_repository)
    except Unusable as problem:
        print(f"error: {problem}", file=sys.stderr)
        return EXIT_UNUSABLE
    except KeyboardInterrupt:
        print("interrupted; the broker is stopped", file=sys.stderr)
        return 1
    say(f"all in {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
