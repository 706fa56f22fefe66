"""What is asked of a log of ours that a broker was given, and of the broker's that lies next to it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import lab_records
import repair_compaction
import repair_damage
import repair_judges as judges
import repair_salvage
import repair_trim_convert
import repair_writer
from kafka_lab import Cluster, Refused, Unusable, say, step, wait_for
from kafka_reads_ours import Differs
from raw_produce import ProduceRefused, RawProducer
from repair_judges import LEVELS
from repair_table import (
    APPENDS,
    BROKER,
    CLEANS,
    CONSUMER,
    DELETES,
    DUMP,
    GAPS,
    REBUILDS,
    REPORTS,
)
from repair_writer import Read

import kodec
from kodec.log.files.checkpoints import (
    read_meta_properties,
    read_offsets,
    read_partition_metadata,
    write_offsets,
    write_partition_metadata,
)


@dataclass(slots=True)
class Verdicts:
    """What each judge reported about each case: rows of part, case, judge, state and reason."""

    rows: list[dict[str, str]] = field(default_factory=list)

    def note(self, part: str, case: str, judge: str, state: str, reason: str = "") -> None:
        self.rows.append({"part": part, "case": case, "judge": judge, "state": state, "reason": reason})
        if state == "failed":
            say(f"    FAILED {case}, {judge}: {reason}")

    @contextmanager
    def judged(self, part: str, case: str, judge: str) -> Iterator[None]:
        """Note that it passed, or what differs."""
        try:
            yield
        except (Differs, Refused) as error:
            self.note(part, case, judge, "failed", str(error))
        else:
            self.note(part, case, judge, "passed")

    def take(self, part: str, case: str, judge: str, judged: Callable[[], str]) -> None:
        """Note that it passed with the remark that is returned, or what differs."""
        try:
            self.note(part, case, judge, "passed", judged())
        except (Differs, Refused) as error:
            self.note(part, case, judge, "failed", str(error))


class Lab:
    """A cluster whose log directory is exchanged while the broker is down."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.logs = cluster.broker.logs
        self.work = cluster.tools.work
        self._said = 0

    def keep(self, name: str) -> Path:
        """A copy of the log directory, of a broker that is down."""
        target = self.work / "kept" / name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self.logs, target)
        return target

    def said(self) -> str:
        """What the broker has printed since this was asked last."""
        text = self.cluster.broker.output.read_text(errors="replace")
        new, self._said = text[self._said :], len(text)
        return new

    def open(self, root: Path) -> None:
        """Start the broker with a copy of `root` as its log directory."""
        shutil.rmtree(self.logs)
        shutil.copytree(root, self.logs)
        self.said()
        self.cluster.start()

    def rows(self, topic: str, isolation: str) -> dict[int, list[Read]]:
        """What the Java consumer reads of each partition of a topic."""
        found: dict[int, list[Read]] = {}
        for partition, row in judges.consume(self.cluster, topic, isolation):
            found.setdefault(partition, []).append(row)
        return found


def topic_ids(logs: Path, topics: list[str]) -> dict[str, UUID]:
    return {
        topic: read_partition_metadata(logs / f"{topic}-0" / "partition.metadata").topic_id
        for topic in topics
    }


def identity(logs: Path) -> dict[str, Any]:
    """Who the broker is by its log directory, as arguments of LogDirectoryWriter."""
    known = read_meta_properties(logs / "meta.properties")
    return {
        "cluster_id": known.cluster_id,
        "node_id": known.node_id,
        "directory_id": known.directory_id,
    }


# ------------------------------------------------------------------ A: what LogWriter writes


def create_for_a(lab: Lab) -> None:
    for case in repair_writer.CASES:
        settings = [f"{key}={value}" for key, value in case.settings.items()]
        lab.cluster.clients.do("topic", case.name, case.partitions, *settings)


def write_ours(lab: Lab, created: Path, epochs: Iterable[int] = (1,)) -> repair_writer.OurDirectory:
    """A log directory of ours, with the broker's identity and topics."""
    root = lab.work / "ours"
    shutil.rmtree(root, ignore_errors=True)
    topics = [case.name for case in repair_writer.CASES]
    ours = repair_writer.OurDirectory(root, identity(created), topic_ids(created, topics), lab_now())
    with step("A: writing a log directory with LogWriter"):
        ours.write(epochs)
    return ours


def strip(ours: Path, root: Path) -> None:
    """Put our logs into a broker's directory without what lies next to them, which it then has to make."""
    for case in repair_writer.CASES:
        for folder in sorted(ours.glob(f"{case.name}-[0-9]*")):
            shutil.rmtree(root / folder.name)
            kept = [path for path in folder.iterdir() if path.suffix in (".log", ".metadata")]
            (root / folder.name).mkdir()
            for path in kept:
                shutil.copyfile(path, root / folder.name / path.name)


def compare_rebuilt(verdicts: Verdicts, ours: Path, theirs: Path) -> None:
    """What lies beside our logs, as LogWriter has written it and as the broker has made it of the logs."""
    for case in repair_writer.CASES:
        with verdicts.judged("A", case.name, REBUILDS):
            for folder in sorted(ours.glob(f"{case.name}-[0-9]*")):
                end = judges.end_of(folder)
                known = {f"{base:020}.snapshot" for base in (*judges.bases_of(folder), end)}
                remark = compare_recovered(folder, theirs / folder.name, known)
                if remark:
                    raise Differs(remark)


def open_ours(lab: Lab, verdicts: Verdicts, ours: repair_writer.OurDirectory) -> None:
    """Our directory takes the place of the broker's."""
    topics = [case.name for case in repair_writer.CASES]
    ask_dump(lab, verdicts, "A", ours.root, topics)
    with step("A: opening it"):
        lab.open(ours.root)
    said = lab.said()
    if "Skipping recovery" not in said:
        raise Unusable("the broker does not say that it skips recovery")
    with step("A: reading it with the Java consumer, appending behind it"):
        for topic in topics:
            with verdicts.judged("A", topic, CONSUMER):
                compare_with_scripts(lab, ours, topic)
            with verdicts.judged("A", topic, APPENDS):
                append_behind(lab, ours.scripts[topic, 0], topic)
    # Among it are the refusals that were asked for.
    lab.said()
    lab.cluster.broker.stop()
    said += lab.said()
    for topic in topics:
        with verdicts.judged("A", topic, BROKER):
            no_complaints(said, topic, clean=True)
            unchanged(ours.root, lab.logs, topic)


def ask_dump(
    lab: Lab, verdicts: Verdicts, part: str, root: Path, topics: list[str], like: Path | None = None
) -> None:
    with step(f"{part}: asking kafka-dump-log"):
        texts = lab.work / f"dump-{part}"
        judges.dump(lab.cluster.tools, root, texts, topics)
        for topic in topics:
            verdicts.take(part, topic, DUMP, partial(judges.judge_dump, root, texts, topic, like))


def no_complaints(said: str, topic: str, *, clean: bool) -> None:
    lines = judges.complaints(said, topic, clean=clean)
    if lines:
        raise Differs(lines[0])


def lab_now() -> int:
    """An hour ago: producers are not forgotten yet."""
    return int(time.time() * 1000) - 3_600_000


def compare_with_scripts(lab: Lab, ours: repair_writer.OurDirectory, topic: str) -> None:
    for isolation in LEVELS:
        read = lab.rows(topic, isolation)
        for (name, partition), script in ours.scripts.items():
            if name == topic:
                judges.compare_rows(read.get(partition, []), script.rows(isolation))


def append_behind(lab: Lab, script: repair_writer.Script, topic: str) -> None:
    """Produce to partition 0: the offsets go on behind ours, and so do the sequences of our producers."""
    end = script.writer.next_offset
    with RawProducer("127.0.0.1", lab.cluster.broker.port) as producer:

        def produce(text: str, **fields: int) -> int:
            one = lab_records.record(int(time.time() * 1000), "behind", text)
            return producer.produce(7, topic, kodec.encode([one], base_offset=0, **fields))

        def expect(offset: int, text: str, **fields: int) -> None:
            have = produce(text, **fields)
            if have != offset:
                raise Differs(f"{text}: the broker gave offset {have} instead of {offset}")

        expect(end, "appended")
        end += 1
        if topic != "a-idempotent":
            return
        for number, sequence in script.sequences.items():
            fields = {"producer_id": number, "producer_epoch": 0}
            expect(end, "the next sequence", base_sequence=sequence, **fields)
            expect(end, "the same again", base_sequence=sequence, **fields)
            end += 1
            try:
                produce("a gap", base_sequence=sequence + 5, **fields)
            except ProduceRefused as refused:
                if "OUT_OF_ORDER_SEQUENCE_NUMBER" not in str(refused):
                    raise Differs(f"a gap in the sequence: {refused}") from None
            else:
                raise Differs("a gap in a producer's sequence was taken")


def append_at(lab: Lab, topic: str, end: int) -> None:
    """Produce a record: it gets the offset `end`. Raises: Differs."""
    with RawProducer("127.0.0.1", lab.cluster.broker.port) as producer:
        one = lab_records.record(int(time.time() * 1000), "behind", "appended")
        have = producer.produce(7, topic, kodec.encode([one], base_offset=0))
    if have != end:
        raise Differs(f"the broker gave offset {have} instead of {end}")


def unchanged(ours: Path, theirs: Path, topic: str) -> None:
    """See that a broker has changed nothing in a topic's logs but appended to them. Raises: Differs."""
    for folder in sorted(ours.glob(f"{topic}-[0-9]*")):
        *closed, active = judges.bases_of(folder)
        there = theirs / folder.name
        names = {f"{base:020}{kind}" for base in closed for kind in (".log", *judges.INDEXES)}
        # It deletes snapshots that it needs no more.
        names |= {path.name for path in folder.glob("*.snapshot") if (there / path.name).exists()}
        for name in sorted(names):
            have = (folder / name).read_bytes() if (folder / name).is_file() else None
            if have is not None and (not (there / name).is_file() or (there / name).read_bytes() != have):
                raise Differs(f"{folder.name}/{name} was changed")
        for kind in (".log", ".index", ".txnindex"):
            name = f"{active:020}{kind}"
            if (folder / name).is_file():
                data = (folder / name).read_bytes()
                if (there / name).read_bytes()[: len(data)] != data:
                    raise Differs(f"{folder.name}/{name} was changed")


# ------------------------------------------------------------------ B: recovery


def damage(damages: list[repair_damage.Damage], root: Path, *, fatal: bool) -> None:
    """Do to each of the topics what its case says; what a broker does not start with only if `fatal`."""
    forgotten = set()
    for case in damages:
        if fatal or not case.fatal:
            case.do(root / f"{case.name}-0")
        if case.forgotten:
            forgotten.add(case.name)
    points = root / "recovery-point-offset-checkpoint"
    known = {key: at for key, at in read_offsets(points).items() if key.topic not in forgotten}
    write_offsets(points, known)


def kodec_command(*arguments: str | Path, left_out: bool = False) -> str:
    """Run the command line as a user does; what it prints. Raises: Unusable.

    With `left_out` it may say that records are missing, which is exit code 1.
    """
    done = subprocess.run(
        [sys.executable, "-m", "kodec", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    is_left_out = left_out and done.returncode == 1 and "the result may be incomplete" in done.stderr
    if done.returncode and not is_left_out:
        raise Unusable(f"kodec {arguments[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def recover(root: Path, topics: Iterable[str]) -> str:
    folders = [root / f"{topic}-0" for topic in topics]
    # some damages lose records for good
    words = ("recover", "--apply", "--index-interval-bytes", "256", *folders)
    return kodec_command(*words, left_out=True)


def compare_recovered(ours: Path, theirs: Path, snapshots: Collection[str] | None = None) -> str:
    """Compare a folder that we recovered with one that the broker did.

    `snapshots`: the names of those to compare, all if it is None. Returns the permitted differences.
    Raises: Differs.
    """
    different = judges.compare_files(ours, theirs, (".log", *judges.INDEXES))
    if different:
        raise Differs("; ".join(different))
    judges.compare_epochs(ours, theirs)
    remarks = []
    names = {path.name for folder in (ours, theirs) for path in folder.glob("*.snapshot")}
    for name in sorted(names if snapshots is None else names & set(snapshots)):
        if not (theirs / name).is_file():
            remarks.append(f"{name} only in ours")
        elif not (ours / name).is_file():
            remarks.append(f"{name} only in Kafka's")
        elif judges.producers(ours / name) != judges.producers(theirs / name):
            raise Differs(
                f"{name}: {judges.producers(ours / name)}, Kafka's {judges.producers(theirs / name)}"
            )
    return "; ".join(remarks)


def start_fails(lab: Lab, root: Path) -> None:
    """See that a broker ends when it starts with this directory. Raises: Differs."""
    broker = lab.cluster.broker

    def ended() -> bool:
        # It listens before it has looked at its logs.
        return broker.process is None or broker.process.poll() is not None

    try:
        lab.open(root)
        wait_for("the broker to end", ended, 30)
    except Unusable as error:
        if not ended():
            broker.kill()
            raise Differs("the broker starts") from error
    broker.kill()
    if "Error starting LogManager" not in lab.said():
        raise Differs("the broker ends for another reason")


# ------------------------------------------------------------------ C: compaction, D: trim and convert


def clean_by_broker(lab: Lab) -> None:
    repair_compaction.start_cleaning(lab.cluster.clients)
    for case in repair_compaction.CASES:
        repair_compaction.wait_for_cleaner(lab.logs, case.name, 0)


def compact(verdicts: Verdicts, root: Path, theirs: Path) -> None:
    """Compact what the broker has cleaned, at the same moment, and compare."""
    for case in repair_compaction.CASES:
        folder, cleaned = root / f"{case.name}-0", theirs / f"{case.name}-0"
        try:
            now = repair_compaction.moment(case, cleaned, folder)
        except Differs as error:
            verdicts.note("C", case.name, CLEANS, "failed", str(error))
            continue
        repair_compaction.compact(case, folder, lab_now() if now is None else now)
        verdicts.take(
            "C",
            case.name,
            CLEANS,
            partial(repair_compaction.compare, folder, cleaned),
        )


def trim(verdicts: Verdicts, root: Path, theirs: Path) -> dict[str, int]:
    """Trim as the broker has done; the new start of each log."""
    starts = {}
    for case in repair_trim_convert.TRIMMED:
        folder = root / f"{case.name}-0"
        kodec_command("trim", folder, "--apply", *case.options)
        starts[case.name] = kodec.PartitionLog(folder).start_offset
        if case.settings:
            with verdicts.judged("D", case.name, DELETES):
                ours, kafkas = judges.bases_of(folder), judges.bases_of(theirs / folder.name)
                if ours != kafkas:
                    raise Differs(f"segments {ours}, Kafka's {kafkas}")
                closed = judges.compare_files(folder, theirs / folder.name, (".log",))
                if closed:
                    raise Differs("; ".join(closed))
    return starts


def convert(lab: Lab, root: Path) -> None:
    """Put what kodec convert makes of the source into the folders of its topics."""
    scratch = lab.work / "converting"
    shutil.rmtree(scratch, ignore_errors=True)
    for case in repair_trim_convert.CONVERTED:
        folder, source = root / f"{case.name}-0", scratch / "from" / f"{case.name}-0"
        shutil.copytree(root / f"{case.source}-0", source)
        topic_id = read_partition_metadata(folder / "partition.metadata").topic_id
        kodec_command("convert", source, "--to", scratch / "to", "--apply", *case.options)
        shutil.rmtree(folder)
        shutil.move(scratch / "to" / folder.name, folder)
        write_partition_metadata(folder / "partition.metadata", topic_id)


# ------------------------------------------------------------------ F: salvage


def salvage(
    verdicts: Verdicts, cases: Sequence[repair_salvage.Salvaged], root: Path
) -> tuple[dict[str, list[int]], dict[str, set[int]]]:
    """Damage the logs of a directory and have kodec salvage them into it.

    Returns the end and the edges of the gaps of each, and what is lost; those that failed are not there.
    """
    edges, lost = {}, {}
    damaged = root.with_name(f"{root.name}-damaged")
    shutil.rmtree(damaged, ignore_errors=True)
    for case in cases:
        source = repair_salvage.aside(root / f"{case.name}-0", damaged)
        lost[case.name] = repair_salvage.damage(case, source)
        with verdicts.judged("F", case.name, REPORTS):
            edges[case.name] = repair_salvage.salvage(case, source, root, lost[case.name])
    return edges, lost


def serve(
    lab: Lab,
    verdicts: Verdicts,
    case: repair_salvage.Salvaged,
    root: Path,
    before: dict[str, list[Read]],
    lost: set[int],
    edges: list[int] | None,
) -> None:
    """What a broker serves of a salvaged log: all that is good, nothing else."""
    if edges is None:
        return
    rows = repair_salvage.expected(before, lost, root / f"{case.name}-0", ends=case.ends)
    with verdicts.judged("F", case.name, CONSUMER):
        for isolation in LEVELS:
            judges.compare_rows(lab.rows(case.name, isolation).get(0, []), rows[isolation])
    with verdicts.judged("F", case.name, GAPS):
        repair_salvage.fetch_at_gaps(lab.cluster.clients, case.name, edges, rows["read_uncommitted"])
    with verdicts.judged("F", case.name, APPENDS):
        append_at(lab, case.name, edges[0])
