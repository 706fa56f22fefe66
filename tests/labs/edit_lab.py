"""Gives logs that kodec redacted and edited to brokers of several generations; compares what they serve."""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
from pathlib import Path

import lab_records
import repair_judges as judges
from kafka_lab import (
    CACHE,
    GENERATIONS,
    Clients,
    Cluster,
    Generation,
    Refused,
    Toolbox,
    Unusable,
    say,
    step,
    wait_for,
    work_of,
)
from kafka_reads_ours import Differs
from raw_produce import ProduceRefused, RawProducer
from repair_checks import Lab, lab_now, no_complaints, unchanged
from repair_judges import LEVELS
from repair_writer import Read

import kodec
from kodec.log.editing.dump import log_lines
from kodec.log.editing.load import plan_load
from kodec.pipeline import ExportOptions, export, restore
from kodec.pipeline.files import RowFormat

LINES = ("2.8", "3.9", "4.3")
TRANSACTIONS, OPEN = "e-transactions", "e-open"
ERASED, EDITED = b"k3", b"k5"
CHANGED = b"what a script has put there"
Rows = dict[tuple[str, str], list[Read]]


class EditLab:
    """A broker of one generation, its topics, and what it served of them before anything was changed."""

    def __init__(self, cluster: Cluster) -> None:
        self.generation = cluster.tools.generation
        self.lab = Lab(cluster)
        self.idempotent = [f"e-{codec}" for codec in self.generation.codecs(2)]
        # By the magic of their messages.
        self.old = {f"e-v{magic}": magic for magic in self.generation.formats if magic < 2}
        self.topics = [*self.idempotent, *self.old, TRANSACTIONS]

    def run(self) -> None:
        """Raises: Differs, Unusable."""
        lab = self.lab
        with step("Having the broker write"):
            self._write(lab.cluster.clients)
        before = self._read()
        lab.cluster.broker.stop()
        written = lab.keep("written")
        for name in ("redacted", "forgotten"):
            root = _copy(written, name)
            gone = self._redact(root)
            if name == "forgotten":
                self._forget(root)
            need = {
                (topic, level): [row for row in rows if (topic, row.offset) not in gone]
                for (topic, level), rows in before.items()
            }
            self._open(root, need, clean=name == "redacted")
        edited = {
            key: [row._replace(value=CHANGED) if row.key == EDITED else row for row in rows]
            for key, rows in before.items()
        }
        self._open(self._edit(written), edited, clean=True)
        self._open(self._restore(written), before, clean=True, producers=False)

    def _write(self, clients: Clients) -> None:
        size = "internal.segment.bytes" if self.generation.name == "4.3" else "segment.bytes"
        now = lab_now()
        for topic in self.topics:
            version = self.generation.formats[self.old.get(topic, 2)]
            settings = [f"message.format.version={version}"] if topic in self.old else []
            clients.do("topic", topic, 1, f"{size}=2048", "index.interval.bytes=256", *settings)
        codecs = [*self.generation.codecs(2), *("gzip" for _ in self.old)]
        for topic, codec in zip(self.topics[:-1], codecs, strict=True):
            clients.do("open", topic, codec, "plain" if topic in self.old else "idempotent")
            for batch in range(30):
                _send(clients, topic, topic, batch * 6, now)
            clients.do("close", topic)
        names = [f"{TRANSACTIONS}-{each}" for each in "ab"]
        for name in names:
            clients.do("open", name, "lz4", name)
        for turn in range(12):
            for place, name in enumerate(names):
                clients.do("begin", name)
                _send(clients, name, TRANSACTIONS, turn * 20 + place * 7, now)
                clients.do("end", name, "commit" if (turn + place) % 3 else "abort")
        for name in names:
            clients.do("close", name)
        clients.do("open", OPEN, "none", OPEN)
        clients.do("begin", OPEN)
        for batch in range(10):
            _send(clients, OPEN, TRANSACTIONS, 300 + batch * 6, now)
        # The markers of what was ended are written in the background.
        time.sleep(1)

    def _read(self) -> Rows:
        return {
            (topic, level): self.lab.rows(topic, level).get(0, [])
            for topic in self.topics
            for level in LEVELS
        }

    def _serves(self) -> bool:
        try:
            return all(self.lab.rows(topic, LEVELS[0]) for topic in self.topics)
        except Refused:
            return False

    def _redact(self, root: Path) -> set[tuple[str, int]]:
        """Erase a key; what has to be gone of each topic: what is not in its active segment."""
        gone = set()
        for topic in self.topics:
            folder = root / f"{topic}-0"
            active = judges.bases_of(folder)[-1]
            with kodec.PartitionLog(folder) as log:
                gone |= {(topic, each.offset) for each in log.records() if each.key == ERASED}
            gone = {each for each in gone if each[0] != topic or each[1] < active}
            report = kodec.operations.plan_redaction(folder, kodec.RecordFilter(keys=ERASED)).apply()
            if not report.removed + report.emptied or any(
                each.path.name != f"{active:020}.log" for each in report.left
            ):
                raise Differs(f"{topic}: {report}")
        return gone

    def _forget(self, root: Path) -> None:
        """Leave the broker nothing but the batches to tell it of producers and transactions."""
        (root / ".kafka_cleanshutdown").unlink(missing_ok=True)
        (root / "recovery-point-offset-checkpoint").unlink()
        for topic in self.topics:
            for path in (root / f"{topic}-0").glob("*.snapshot"):
                path.unlink()

    def _edit(self, written: Path) -> Path:
        """A copy whose logs have gone through lines, in which the values of a key were changed."""
        root, folders = _copy(written, "edited"), [written / f"{topic}-0" for topic in self.topics]
        for name in ("same", "changed"):
            lines = [line for folder in folders for line in log_lines(kodec.PartitionLog(folder))]
            if name == "changed":
                for record in (record for line in lines for record in line.get("records", ())):
                    if record["key"] == EDITED.decode():
                        record["value"] = CHANGED.decode()
            out = self.lab.work / "kept" / name
            shutil.rmtree(out, ignore_errors=True)
            texts = [json.dumps(line).encode() for line in lines]
            plan_load(name, lambda texts=texts: texts, out).apply()
        for folder in folders:
            for path in folder.glob("*.log"):
                if (out.with_name("same") / folder.name / path.name).read_bytes() != path.read_bytes():
                    raise Differs(f"{folder.name}/{path.name} has not the bytes that it had")
            shutil.rmtree(root / folder.name)
            shutil.copytree(out / folder.name, root / folder.name)
        return root

    def _restore(self, written: Path) -> Path:
        """A copy whose logs went through Parquet and Arrow IPC, which know of no producers."""
        root, work = _copy(written, "restored"), self.lab.work / "kept"
        for place, topic in enumerate(self.idempotent):
            form: RowFormat = "arrow" if place % 2 else "parquet"
            rows, logs = work / f"{topic}-{form}", work / f"{topic}-logs"
            for each in (rows, logs):
                shutil.rmtree(each, ignore_errors=True)
            export(written, rows, ExportOptions(topics=[topic], format=form), engine="local")
            restore(rows, logs, engine="local", compression=topic.removeprefix("e-"), segment_bytes=2048)
            folder = root / f"{topic}-0"
            if (metadata := folder / "partition.metadata").is_file():
                # 2.8 has none yet.
                shutil.copyfile(metadata, logs / folder.name / metadata.name)
            shutil.rmtree(folder)
            shutil.copytree(logs / folder.name, folder)
        return root

    def _open(self, root: Path, need: Rows, *, clean: bool, producers: bool = True) -> None:
        """Have kafka-dump-log look, the broker open it, the consumer read it, producers go on."""
        lab, name = self.lab, root.name
        with step(f"{name}: asking kafka-dump-log"):
            texts = lab.work / f"dump-{name}"
            judges.dump(lab.cluster.tools, root, texts, self.topics)
            for topic in self.topics:
                _judge_dump(root, texts, topic)
        lab.open(root)
        said = lab.said()
        with step(f"{name}: reading, appending, ending transactions"):
            # One with ZooKeeper knows its topics a little after it listens.
            wait_for("the broker to serve its topics", self._serves, 60)
            have = self._read()
            for key, rows in need.items():
                try:
                    judges.compare_rows(have[key], rows)
                except Differs as error:
                    raise Differs(f"{name}, {key}: {error}") from None
            for topic in self.idempotent if producers else ():
                _go_on(lab, root / f"{topic}-0", topic, self.generation)
            self._end_transactions(need)
        lab.cluster.broker.stop()
        for topic in self.topics:
            if clean:
                no_complaints(said, topic, clean=True)
                unchanged(root, lab.logs, topic)
                continue
            for path in (root / f"{topic}-0").glob("*.log"):
                # It has rebuilt the indexes, with the interval of the topic.
                if not (lab.logs / path.parent.name / path.name).read_bytes().startswith(path.read_bytes()):
                    raise Differs(f"{topic}: {path.name} was changed")

    def _end_transactions(self, need: Rows) -> None:
        """The transaction that was open is aborted, as another producer takes its id, and a new one ends."""
        clients = self.lab.cluster.clients
        everything = len(need[TRANSACTIONS, "read_uncommitted"])
        committed = len(need[TRANSACTIONS, "read_committed"])
        clients.do("open", OPEN, "none", OPEN)
        clients.do("begin", OPEN)
        _send(clients, OPEN, TRANSACTIONS, 900, lab_now())
        clients.do("end", OPEN, "commit")
        clients.do("close", OPEN)
        have = [len(self.lab.rows(TRANSACTIONS, level)[0]) for level in LEVELS]
        if have != [everything + 6, committed + 6]:
            raise Differs(f"{TRANSACTIONS}: {have} records instead of {[everything + 6, committed + 6]}")


def _copy(root: Path, name: str) -> Path:
    target = root.with_name(name)
    shutil.rmtree(target, ignore_errors=True)
    return shutil.copytree(root, target)


def _send(clients: Clients, sender: str, topic: str, first: int, now: int) -> None:
    """Six records in one batch: of different keys, but in each fifth batch all of the key that is erased."""
    only = first // 6 % 5 == 3
    for number in range(first, first + 6):
        key = ERASED if only else b"k%d" % (number % 8)
        value = f"value {number} of {topic} {'and some more ' * (number % 5)}".encode()
        clients.do("send", sender, topic, 0, now + number, key, value)
    clients.do("flush", sender)


def _judge_dump(root: Path, texts: Path, topic: str) -> None:
    """See that kafka-dump-log finds nothing wrong.

    But this: of a batch without records, which a cleaner leaves too, it does not look at the largest
    timestamp that the header has, and takes an entry of the time index that has it for wrong.
    """
    try:
        judges.judge_dump(root, texts, topic)
    except Differs as error:
        found = re.fullmatch(r"(\S+)\.timeindex: mismatches: \[((?:\(\d+, -1\)(?:, )?)+)\]", str(error))
        if found is None:
            raise
        told = {int(each) for each in re.findall(r"\((\d+),", found[2])}
        batches = kodec.read_batches(root / f"{found[1]}.log")
        if not told <= {batch.max_timestamp for batch in batches if not batch.count}:
            raise


def _go_on(lab: Lab, folder: Path, topic: str, generation: Generation) -> None:
    """The producer's next sequence is taken, the same once more is known, a gap is refused."""
    with kodec.PartitionLog(folder) as log:
        known = kodec.operations.read_producers(log)
    (last,) = known.producers
    assert last.last_sequence is not None
    with RawProducer("127.0.0.1", lab.cluster.broker.port) as producer:

        def produce(sequence: int) -> int:
            one = lab_records.record(int(time.time() * 1000), "behind", "appended")
            data = kodec.encode(
                [one], base_offset=0, producer_id=last.producer_id, producer_epoch=last.epoch,
                base_sequence=sequence,
            )  # fmt: skip
            return producer.produce(generation.produce[2], topic, data)

        for again in range(2):
            if (have := produce(last.last_sequence + 1)) != known.end_offset:
                raise Differs(f"{topic}: offset {have} for {known.end_offset}, time {again + 1}")
        try:
            produce(last.last_sequence + 6)
        except ProduceRefused as refused:
            if "OUT_OF_ORDER_SEQUENCE_NUMBER" not in str(refused):
                raise Differs(f"{topic}: a gap in the sequence: {refused}") from None
        else:
            raise Differs(f"{topic}: a gap in a producer's sequence was taken")


def make(name: str, repository: Path | None) -> None:
    """All of it with one generation. Raises: Unusable."""
    generation = GENERATIONS[name]
    tools = Toolbox(work_of(generation), repository, generation)
    tools.prepare()
    with Cluster(tools) as cluster:
        try:
            EditLab(cluster).run()
        except Differs as error:
            raise Unusable(f"Kafka {name}: {error}") from error
    shutil.rmtree(tools.work / "kept")
    say(f"Kafka {generation.name}: redacted and edited logs are served, appended to, and found in order")


if __name__ == "__main__":
    for line in sys.argv[1:] or LINES:
        make(line, CACHE / "maven-repository")
