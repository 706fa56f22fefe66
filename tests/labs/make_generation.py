"""Makes the golden log directory of one older generation of Kafka, with that generation's own reports."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import dump_log
import lab_records
from kafka_lab import Cluster, Generation, Toolbox, Unusable, kafka_version, run, say, step, wait_for
from make_logs import (
    cleaned_up_to,
    consumed_counts,
    keep_consumed,
    keep_crashed_partitions,
    keep_logs,
    publish,
    write_with_files,
)

from kodec import Record

# A little more than zookeeper.session.timeout.ms.
SESSION_SECONDS = 4
SIZE_LIMIT = 900 * 1024
# What kafka-dump-log of a line can read, beside logs.
INDEXES = {"0.9": (".index",), "0.10": (".index", ".timeindex")}
ALL_INDEXES = (".index", ".timeindex", ".txnindex", ".snapshot")
BEFORE_BATCH_LINES = ("0.9", "0.10", "0.11")
COMPACTED = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.bytes": "5000",
    "delete.retention.ms": "86400000",
}


class Writer:
    """Has the Java clients of a generation write topics; remembers what each is for."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.generation = cluster.tools.generation
        self.topics: dict[str, str] = {}

    def topic(self, name: str, purpose: str, **config: str) -> None:
        self.topics[name] = purpose
        settings = [f"{key.replace('_', '.')}={value}" for key, value in config.items()]
        self.cluster.clients.do("topic", name, 1, *settings)

    def open(self, codec: str, kind: str = "plain") -> str:
        """A new producer; `kind` is plain, idempotent or a transactional id."""
        name = f"{codec}/{kind}"
        self.cluster.clients.do("open", name, codec, kind)
        return name

    def batch(self, sender: str, topic: str, records: Iterable[Record]) -> None:
        """Send the records as one batch and wait until it is stored."""
        timed = self.generation.name != "0.9"
        for one in records:
            headers = [part for key, value in one.headers for part in (key.encode(), value)]
            at = one.timestamp if timed else None
            self.cluster.clients.do("send", sender, topic, 0, at, one.key, one.value, *headers)
        self.cluster.clients.do("flush", sender)

    def write(self, topic: str, codec: str, *batches: Iterable[Record], kind: str = "plain") -> None:
        """Send batches with a producer of their own."""
        sender = self.open(codec, kind)
        for records in batches:
            self.batch(sender, topic, records)
        self.cluster.clients.do("close", sender)

    def transaction(self, sender: str, topic: str, records: Iterable[Record], end: str) -> None:
        self.cluster.clients.do("begin", sender)
        self.batch(sender, topic, records)
        self.cluster.clients.do("end", sender, end)

    # -------------------------------------------------------------- the topics

    def edge_cases(self) -> None:
        for magic, version in self.generation.formats.items():
            for codec in self.generation.codecs(magic):
                name = f"v{magic}-{codec}"
                config = {} if version is None else {"message_format_version": version}
                self.topic(name, f"edge cases in format v{magic}, {codec}", **config)
                self.write(name, codec, *lab_records.edge_cases(headers=magic == 2))

    def upgraded(self) -> None:
        """One log whose format is raised between appends, as an upgrade in place does."""
        if len(self.generation.formats) == 1:
            return
        for magic, version in self.generation.formats.items():
            assert version is not None
            if magic == min(self.generation.formats):
                self.topic(
                    "upgraded", "formats raised in place, one after another", message_format_version=version
                )
            else:
                self.cluster.clients.do("alter", "upgraded", f"message.format.version={version}")
                self.wait_for_format(magic)
            for index, codec in enumerate(self.generation.codecs(magic)):
                self.write("upgraded", codec, lab_records.numbered(f"v{magic} {codec}", 4, 4 * index))

    def wait_for_format(self, magic: int) -> None:
        """Write single records until the broker has taken over the new setting."""
        log = self.cluster.broker.logs / "upgraded-0" / f"{0:020}.log"

        def taken_over() -> bool:
            size = log.stat().st_size
            self.write("upgraded", "none", lab_records.numbered("probe", 1))
            return log.read_bytes()[size + 16] == magic

        wait_for("the broker to change the format", taken_over, 20)

    def others(self) -> None:
        magic = self.generation.magic
        self.topic("huge", "a record of 70 KB in lz4, and a tiny one")
        self.write("huge", "lz4", lab_records.huge())
        self.topic(
            "segments",
            "segments of 2 KiB with dense indexes",
            segment_bytes="2048",
            index_interval_bytes="512",
        )
        text = "segment data " * 8
        rows = [lab_records.record(lab_records.START + n, f"key-{n}", f"{text}{n}") for n in range(45)]
        self.write("segments", "none", *(rows[at : at + 5] for at in range(0, 45, 5)))
        self.topic("recompressed", "batches that the broker compressed again", compression_type="gzip")
        for codec in ("none", "snappy", "gzip"):
            self.write("recompressed", codec, lab_records.numbered(codec, 6))
        if magic >= 1:
            self.topic(
                "append.time",
                "timestamps of the broker (LogAppendTime)",
                message_timestamp_type="LogAppendTime",
            )
            for codec in self.generation.codecs(magic):
                self.write("append.time", codec, lab_records.numbered(codec, 6))
        if magic == 2:
            self.topic("idempotent", "two idempotent producers")
            self.write(
                "idempotent", "none", *(lab_records.numbered("a", n + 1) for n in range(4)), kind="idempotent"
            )
            self.write(
                "idempotent", "lz4", *(lab_records.numbered("b", n + 1) for n in range(3)), kind="idempotent"
            )
            self.transactions()

    def transactions(self) -> None:
        """Interleaved: commits, aborts, an abort after an older open transaction; one stays open."""
        do = self.cluster.clients.do
        name = "transactions"
        self.topic(name, "commits, aborts, records between them, an open transaction at the end")
        a, b = self.open("none", "payments-a"), self.open("gzip", "payments-b")
        plain = self.open("none")
        for turn in range(3):
            do("begin", a)
            self.batch(a, name, lab_records.numbered(f"committed {turn}", 3))
            do("begin", b)
            self.batch(b, name, lab_records.numbered(f"aborted {turn}", 2))
            self.batch(plain, name, lab_records.numbered(f"between {turn}", 1))
            do("end", a, "commit")
            self.batch(b, name, lab_records.numbered(f"aborted too {turn}", 1))
            do("end", b, "abort")
        for sender in (a, b, plain):
            do("close", sender)

    def leave_open(self) -> None:
        """A transaction that is never ended, with a committed and an aborted one after it."""
        name = "transactions"
        sender = self.open("none", "payments-open")
        self.cluster.clients.do("begin", sender)
        self.batch(sender, name, lab_records.numbered("undecided", 2))
        behind = self.open("none", "payments-behind")
        self.transaction(behind, name, lab_records.numbered("committed behind the open one", 1), "commit")
        self.transaction(behind, name, lab_records.numbered("aborted behind the open one", 1), "abort")
        self.cluster.clients.do("close", behind)

    def compacted(self) -> None:
        """Records, tombstones and transactions that the cleaner has to thin out, then a new segment."""
        magic = self.generation.magic
        kind = "idempotent" if magic == 2 else "plain"
        name = "compacted"
        self.topic(name, "cleaned by the log cleaner: gaps, tombstones", **underscored(COMPACTED))
        self.write(name, "lz4", lab_records.numbered("old", 20, keys=20), kind=kind)
        self.write(name, "none", lab_records.numbered("overwritten", 8, keys=8), kind=kind)
        if magic == 2:
            sender = self.open("gzip", "compact")
            for turn, end in enumerate(("commit", "abort", "commit", "abort")):
                rows = [
                    lab_records.record(lab_records.START + turn, f"t{n}", f"{end} {turn}") for n in range(3)
                ]
                self.transaction(sender, name, rows, end)
            self.cluster.clients.do("close", sender)
        new = [
            lab_records.record(
                lab_records.START + 1_000 + n, f"k{n}", None if n % 6 == 3 else f"new value {n}"
            )
            for n in range(20)
            if n % 7 != 5
        ]
        self.write(name, "snappy", new, kind=kind)
        self.write(
            name, "none", [lab_records.record(lab_records.START + 2_000, "roll", "opens a segment " * 290)]
        )

    def wait_for_cleaner(self) -> None:
        logs = self.cluster.broker.logs
        partition = logs / "compacted-0"

        def settled() -> bool:
            active = max(int(path.stem) for path in partition.glob("*.log"))
            waste = [path for path in partition.iterdir() if path.suffix in {".deleted", ".cleaned", ".swap"}]
            return not waste and cleaned_up_to(logs, "compacted") == active > 0

        wait_for("the cleaner", settled, 60)

    def groups(self) -> None:
        magic = self.generation.magic
        self.cluster.clients.do("group", "readers", f"v{magic}-none", 20, "the first reading")
        self.cluster.clients.do("group", "readers", f"v{magic}-gzip", 20, "réglé ✓")
        self.cluster.clients.do("group", "others", "segments", 30, "")


def wait_for_session_end() -> None:
    time.sleep(SESSION_SECONDS)


def underscored(config: dict[str, str]) -> dict[str, str]:
    return {key.replace(".", "_"): value for key, value in config.items()}


# ------------------------------------------------------------------ what Kafka said


def dump_all(tools: Toolbox, result: Path) -> int:
    """Run this line's own kafka-dump-log on every file it knows. Returns how many texts there are.

    Before 2.8 it lists either the batches or, with --deep-iteration, the records: then `.shallow.txt` is the
    one without.
    """
    name = tools.generation.name
    suffixes = (".log", ".checkpoint", *INDEXES.get(name, ALL_INDEXES))
    jobs = tools.work / "dump-jobs.txt"
    lines = []
    for path in sorted(result.rglob("*")):
        if path.suffix not in suffixes or "dump" in path.parts:
            continue
        file = path.relative_to(result).as_posix()
        lines.append("\t".join([f"dump/{file}.txt", "--files", file, "--deep-iteration"]))
        if path.suffix == ".log" and name in BEFORE_BATCH_LINES:
            lines.append("\t".join([f"dump/{file}.shallow.txt", "--files", file]))
    jobs.write_text("\n".join(lines) + "\n", encoding="utf-8")
    run(tools.command("DumpEach", str(jobs)), "kafka-dump-log failed", cwd=result)
    for text in (result / "dump").rglob("*.txt"):
        # Some messages name the file by its absolute path, which is of no use elsewhere.
        text.write_text(text.read_text(encoding="utf-8").replace(f"{result}/", ""), encoding="utf-8")
    return len(lines)


def make(work: Path, out: Path, repository: Path | None, generation: Generation) -> None:
    """Make out/kafka-<version>. Raises: Unusable."""
    tools = Toolbox(work, repository, generation)
    tools.prepare()
    result = work / f"kafka-{kafka_version(generation)}"
    consumed = work / "consumed"
    for old in (result, consumed):
        shutil.rmtree(old, ignore_errors=True)
    consumed.mkdir()
    with Cluster(tools) as cluster:
        writer = Writer(cluster)
        logs = cluster.broker.logs
        with step("Writing edge cases in each format and codec"):
            writer.edge_cases()
        with step("Writing the other topics"):
            writer.upgraded()
            writer.others()
        with step("Compacting"):
            writer.compacted()
            writer.wait_for_cleaner()
        with step("Consumer groups"):
            writer.groups()
        with step("Killing the broker, keeping a copy of what it left"):
            cluster.broker.kill()
            crashed = ["segments-0"] + ["transactions-0"] * (generation.magic == 2)
            keep_crashed_partitions(logs, result / "crashed", crashed)
        if generation.zookeeper:
            # Until then ZooKeeper takes the killed broker for alive and refuses its number.
            wait_for_session_end()
        cluster.start()
        with step("Writing more, leaving one transaction open"):
            writer.write("segments", "none", lab_records.numbered("after the crash", 5))
            if generation.magic == 2:
                writer.leave_open()
        with step("Reading everything back with the Java consumer"):
            internal = ["__consumer_offsets"] + ["__transaction_state"] * (generation.magic == 2)
            for topic in (*writer.topics, *internal):
                for isolation in ("read_uncommitted", "read_committed"):
                    file = consumed / f"{topic}.{isolation}.jsonl"
                    cluster.clients.do("consume", topic, isolation, str(file))
        with step("Shutting down in order"):
            cluster.broker.stop()
    with step("Copying the log directory"):
        keep_logs(logs, result / "logs")
        differ = keep_consumed(consumed, result / "consumed")
    with step("Asking kafka-dump-log about every file"):
        say(f"    {dump_all(tools, result)} texts")
    with step("Checking that everything wanted is there"):
        facts = check(result, generation)
        write_manifest(result, tools, writer.topics, differ, facts, crashed)
    for name, number in facts.items():
        say(f"    {name}: {number}")
    publish(result, out, SIZE_LIMIT)


def logs_with_text(result: Path) -> list[tuple[Path, dump_log.EntryDump]]:
    """Each dumped log of the folder `logs/` with the parsed text."""
    pairs = []
    for text in sorted((result / "dump" / "logs").rglob("*.log.txt")):
        shallow = text.with_name(text.name.replace(".log.", ".log.shallow."))
        outer = shallow.read_text(encoding="utf-8") if shallow.is_file() else None
        pairs.append((text.parent, dump_log.parse_entries(text.read_text(encoding="utf-8"), outer)))
    return pairs


def check(result: Path, generation: Generation) -> dict[str, int]:
    """See that Kafka's dump and consumer agree and that all is there that must be. Returns the counts."""
    seen: Counter[str] = Counter()
    offsets: dict[str, list[int]] = {}
    for partition, dump in logs_with_text(result):
        topic = partition.name.rpartition("-")[0]
        seen[f"segments of {topic}"] += 1
        for entry in dump.entries:
            facts = entry.facts
            kind = f"v{facts['magic']} {facts['codec']}"
            seen[kind] += 1
            seen[f"{topic} v{facts['magic']}"] += 1
            if facts.get("timestamp_type") == "LogAppendTime":
                seen["LogAppendTime"] += 1
            if facts.get("is_transactional"):
                seen["transactional batches"] += 1
            seen["batches with gaps"] += (
                facts.get("base_offset", facts["last_offset"]) + len(entry.records) <= facts["last_offset"]
            )
            for record in entry.records:
                if "control_type" in record:
                    seen[f"control {record['control_type']}"] += 1
                else:
                    offsets.setdefault(topic, []).append(record["offset"])
    for topic, of_topic in offsets.items():
        if topic == "__cluster_metadata":
            continue
        with (result / "consumed" / f"{topic}.read_uncommitted.jsonl").open(encoding="utf-8") as lines:
            if [json.loads(line)["offset"] for line in lines] != of_topic:
                raise Unusable(f"consumer and kafka-dump-log list different offsets of {topic}")
    seen["gaps in compacted"] += offsets["compacted"] != list(range(len(offsets["compacted"])))
    seen["tombstones"] += tombstones(result / "consumed" / "compacted.read_uncommitted.jsonl")
    formats = generation.formats
    wanted = [f"v{magic} {codec}" for magic in formats for codec in generation.codecs(magic)]
    wanted += [
        "gaps in compacted",
        "tombstones",
        "segments of segments",
        "__consumer_offsets v" + str(max(formats)),
    ]
    wanted += [f"upgraded v{magic}" for magic in formats if len(formats) > 1]
    if generation.magic >= 1:
        wanted.append("LogAppendTime")
    if generation.magic == 2:
        wanted += ["transactional batches", "control ABORT", "control COMMIT", "batches with gaps"]
    missing = [name for name in wanted if not seen[name]]
    if missing or seen["segments of segments"] < 3:
        raise Unusable("the data lacks: " + ", ".join(missing or ["segments"]))
    return {name: seen[name] for name in sorted(seen) if seen[name]}


def tombstones(consumed: Path) -> int:
    with consumed.open(encoding="utf-8") as lines:
        return sum(json.loads(line)["value"] is None for line in lines)


def write_manifest(
    result: Path,
    tools: Toolbox,
    topics: dict[str, str],
    differ: list[str],
    facts: dict[str, int],
    crashed: list[str],
) -> None:
    generation = tools.generation
    manifest: dict[str, Any] = {
        "made_by": "tests/labs/make_generation.py",
        "generation": generation.name,
        "kafka": kafka_version(generation),
        "java": tools.major,
        "formats": {str(magic): list(generation.codecs(magic)) for magic in generation.formats},
        "topics": {name: {"purpose": purpose} for name, purpose in topics.items()},
        "log_start_offsets": {},
        "read_committed_differs": differ,
        "consumed_rows": consumed_counts(result / "consumed"),
        "crashed": crashed,
        "facts": facts,
    }
    write_with_files(result, manifest)
