"""Judges of logs that kodec has written or repaired: what Kafka reports about them, and where two differ."""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import dump_log
from kafka_lab import Cluster, Toolbox, run
from kafka_reads_ours import Differs
from repair_writer import Read

import kodec
from kodec.log.batches.sizes import TXN_ENTRY
from kodec.log.directories.producer_state import read_snapshot
from kodec.log.files.checkpoints import read_leader_epochs
from kodec.log.files.listing import list_partition

LEVELS = ("read_uncommitted", "read_committed")
LOG_FILES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
INDEXES = (".index", ".timeindex", ".txnindex")


# ------------------------------------------------------------------ the broker and its consumer


def consume(cluster: Cluster, topic: str, isolation: str) -> list[tuple[int, Read]]:
    """(partition, record) of a whole topic, as the Java consumer reads it."""
    file = cluster.tools.work / "consumed.jsonl"
    cluster.clients.do("consume", topic, isolation, str(file))
    rows = []
    for line in file.read_text(encoding="utf-8").split("\n")[:-1]:
        row = json.loads(line)
        headers = tuple((key, decoded(value)) for key, value in row["headers"])
        rows.append(
            (
                row["partition"],
                Read(
                    row["offset"],
                    row["timestamp"],
                    row["timestampType"],
                    decoded(row["key"]),
                    decoded(row["value"]),
                    headers,
                ),
            )
        )
    return rows


def decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def compare_rows(have: list[Read], need: list[Read]) -> None:
    """Raises: Differs at the first record that is not the one it should be."""
    for number, (one, other) in enumerate(zip(have, need, strict=False)):
        if one != other:
            parts = [
                f"{name} {getattr(one, name)!r:.60} instead of {getattr(other, name)!r:.60}"
                for name in Read._fields
                if getattr(one, name) != getattr(other, name)
            ]
            raise Differs(f"record {number}: {'; '.join(parts)}")
    if len(have) != len(need):
        raise Differs(f"{len(have)} records instead of {len(need)}")


# What a broker reports about a log when it opens one that is not in order.
_REPAIRS = re.compile(
    r"orphaned|corrupt|could not find|invalid|truncat|deleting|recovering file|interrupted swap|"
    r"splitting|failed|mismatch",
    re.IGNORECASE,
)
_RECOVERS = re.compile(r"Recovering unflushed segment")


def complaints(said: str, topic: str, *, clean: bool) -> list[str]:
    """Lines of the broker's output in which it finds something to repair in a topic's logs.

    Warnings and errors count, and what it says in passing; after a clean shutdown also that it reads a
    segment at all.
    """
    name = re.compile(rf"(?<![\w.-]){re.escape(topic)}(-\d+)?(?![\w-]|\.\w)")
    found = []
    for line in said.splitlines():
        if not name.search(line):
            continue
        loud = " WARN " in line or " ERROR " in line
        if loud or _REPAIRS.search(line) or (clean and _RECOVERS.search(line)):
            found.append(line)
    return found


def warnings(said: str) -> list[str]:
    """All that a broker has warned of, by logger and text."""
    return [line for line in said.splitlines() if " WARN " in line or " ERROR " in line]


# ------------------------------------------------------------------ kafka-dump-log


def dump(tools: Toolbox, root: Path, target: Path, topics: Iterable[str]) -> None:
    """Have kafka-dump-log say all it can of the topics' files below `root`; one text for each way to ask."""
    shutil.rmtree(target, ignore_errors=True)
    jobs = []
    for file in files_of(root, topics):
        name = file.relative_to(root).as_posix()
        ways = {"plain": ["--deep-iteration"]}
        if file.suffix in (".index", ".timeindex"):
            ways |= {"sanity": ["--index-sanity-check"], "verify": ["--verify-index-only"]}
        for way, options in ways.items():
            jobs.append("\t".join([str(target / f"{name}.{way}.txt"), "--files", name, *options]))
    target.mkdir(parents=True)
    listed = target / "jobs.txt"
    listed.write_text("\n".join(jobs) + "\n", encoding="utf-8")
    run(tools.command("DumpEach", str(listed)), "kafka-dump-log failed", cwd=root)


def files_of(root: Path, topics: Iterable[str]) -> Iterator[Path]:
    """The files of the topics' logs that kafka-dump-log knows."""
    for topic in topics:
        for folder in sorted(root.glob(f"{topic}-[0-9]*")):
            yield from sorted(path for path in folder.iterdir() if path.suffix in LOG_FILES)


def judge_dump(root: Path, texts: Path, topic: str, like: Path | None = None) -> str:
    """See that kafka-dump-log found nothing wrong in a topic's files, and listed what we read in them.

    A file that is the same byte by byte in the broker's own directory `like` may have what the tool takes
    for wrong. Returns what that is. Raises: Differs.
    """
    remarks = []
    for file in files_of(root, [topic]):
        name = file.relative_to(root).as_posix()
        try:
            _judge_file(file, name, texts)
        except (ValueError, Differs) as error:
            own = None if like is None else like / name
            if own is None or not own.is_file() or own.read_bytes() != file.read_bytes():
                raise Differs(f"{name}: {error}") from None
            remarks.append(f"it also reports an error in Kafka's own {file.suffix}, which has the same bytes")
    return "; ".join(sorted(set(remarks)))


def _judge_file(file: Path, name: str, texts: Path) -> None:
    plain = (texts / f"{name}.plain.txt").read_text(encoding="utf-8")
    _JUDGES[file.suffix](file, plain)
    if file.suffix in (".index", ".timeindex"):
        for way, expected in (("sanity", f"{name} passed sanity check.\n"), ("verify", "")):
            text = (texts / f"{name}.{way}.txt").read_text(encoding="utf-8").partition("\n")[2]
            # An empty index reports it in each way.
            if text not in (expected, f"{name} is empty.\n"):
                raise Differs(f"{way}: {text.strip()[:200]}")


def _judge_log(file: Path, text: str) -> None:
    told = dump_log.parse_entries(text)
    if told.exception:
        raise Differs(told.exception)
    troubles = [line for line in told.remarks if "is followed by" not in line and "secutive" not in line]
    if troubles:
        raise Differs(troubles[0])
    if not all(entry.facts["crc_ok"] for entry in told.entries):
        raise Differs("isvalid is false")
    ours = [(batch.position, batch.last_offset) for batch in kodec.read_batches(file)]
    theirs = [(entry.facts["position"], entry.facts["last_offset"]) for entry in told.entries]
    if ours != theirs:
        raise Differs(f"{len(theirs)} entries, we read {len(ours)} others")


def _judge_index(file: Path, text: str) -> None:
    told = dump_log.parse_index(text)
    if told.exception or told.mismatches:
        raise Differs(told.exception or f"mismatches: {told.mismatches}")


def _judge_aborted(file: Path, text: str) -> None:
    if len(dump_log.parse_txnindex(text)) != file.stat().st_size // TXN_ENTRY:
        raise Differs("other entries than the file has")


def _judge_producers(file: Path, text: str) -> None:
    if len(dump_log.parse_producers(text)) != len(read_snapshot(file).entries):
        raise Differs("other producers than the file has")


_JUDGES: dict[str, Callable[[Path, str], None]] = {
    ".log": _judge_log,
    ".index": _judge_index,
    ".timeindex": _judge_index,
    ".txnindex": _judge_aborted,
    ".snapshot": _judge_producers,
}


# ------------------------------------------------------------------ two folders of one log


def compare_files(ours: Path, theirs: Path, kinds: Iterable[str]) -> list[str]:
    """What files of these kinds are not the same, byte by byte, or only in one folder."""
    names = {path.name for folder in (ours, theirs) for path in folder.iterdir() if path.suffix in kinds}
    different = []
    for name in sorted(names):
        one, other = ours / name, theirs / name
        if not one.is_file():
            different.append(f"{name} only in Kafka's")
        elif not other.is_file():
            different.append(f"{name} only in ours")
        elif one.read_bytes() != other.read_bytes():
            different.append(f"{name} differs: {one.stat().st_size} and {other.stat().st_size} bytes")
    return different


def producers(path: Path) -> dict[int, tuple[int, ...]]:
    """What a snapshot reports about each producer."""
    return {
        each.producer_id: (
            each.producer_epoch,
            each.last_sequence,
            each.last_offset,
            each.offset_delta,
            each.timestamp,
            each.coordinator_epoch,
            each.current_txn_first_offset,
        )
        for each in read_snapshot(path).entries
    }


def compare_epochs(ours: Path, theirs: Path) -> None:
    """The leader epochs: Kafka's may have newer ones at the end, of its own start. Raises: Differs."""
    one, other = (read_leader_epochs(path / "leader-epoch-checkpoint") for path in (ours, theirs))
    if other[: len(one)] != one or len(other) > len(one) + 1:
        raise Differs(f"leader epochs {one}, Kafka's {other}")


def end_of(folder: Path) -> int:
    with kodec.PartitionLog(folder) as log:
        return log.end_offset


def bases_of(folder: Path) -> list[int]:
    return [segment.base_offset for segment in list_partition(folder).segments]
