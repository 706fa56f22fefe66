"""Gives what kodec writes to a live Kafka and to four consumers, and notes what each makes of it."""

from __future__ import annotations

import base64
import json
import shutil
import struct
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import client_readers
import dump_log
import lab_records
from client_readers import READERS, CannotConnect, CannotRead, Row
from kafka_lab import CODECS, LEGACY_CODECS, Cluster, Generation, Refused, Toolbox, Unusable, run, say, step
from raw_produce import ProduceRefused, RawProducer

import kodec

# The levels of each codec that are tried next to the default one.
LEVELS: dict[str, tuple[int | None, ...]] = {
    "none": (None,),
    "gzip": (None, 1, 6, 9),
    "snappy": (None,),
    "lz4": (None, 1, 12, 17),
    "zstd": (None, -5, 1, 19, 22),
}
JUDGES = ("produce", "kafka-dump-log", "Java consumer", *READERS)
# Remarks on a cell that passed.
PLACED = (
    "from a segment file that kodec wrote, in the broker's log directory: "
    "this line keeps the format only in old files"
)
CONVERTED = "the broker stores it as v2"
ZSTD_SINCE = "zstd came with Kafka 2.1"


class Differs(Exception):
    """A judge took our bytes for something else than what they are; the text shows where."""


@dataclass(frozen=True, slots=True)
class Case:
    """One way of writing; `fields` are further arguments of kodec.encode."""

    magic: int
    codec: str
    level: int | None = None
    kind: str = "plain"

    @property
    def name(self) -> str:
        level = "" if self.level is None else f"-level{self.level}"
        return f"ours-v{self.magic}-{self.codec}{level}-{self.kind}"

    def batches(self) -> list[list[kodec.Record]]:
        """The records, numbered from 0 on."""
        batches, at = [], 0
        for batch in [*lab_records.edge_cases(headers=self.magic == 2), lab_records.huge()]:
            if self.magic == 0:
                batch = [lab_records.record(-1, one.key, one.value) for one in batch]
            numbered = []
            for one in batch:
                numbered.append(
                    kodec.Record(
                        offset=at,
                        timestamp=one.timestamp,
                        timestamp_type=one.timestamp_type,
                        key=one.key,
                        value=one.value,
                        headers=one.headers,
                    )
                )
                at += 1
            batches.append(numbered)
        return batches

    def rows(self) -> list[Row]:
        return [
            Row(one.offset, one.timestamp, one.key, one.value, one.headers)
            for batch in self.batches()
            for one in batch
        ]

    def encoded(self, *, produced: bool) -> list[bytes]:
        """The bytes of each batch: numbered from 0 each if they are to be produced, else as in a segment."""
        out = []
        for batch in self.batches():
            first = batch[0].offset
            fields: dict[str, int | bool] = {}
            if self.kind != "plain":
                fields = {"producer_id": 4_000, "producer_epoch": 0, "base_sequence": first}
            if self.kind == "transactional":
                fields["transactional"] = True
            out.append(
                kodec.encode(
                    batch,
                    magic=self.magic,
                    compression=self.codec,
                    level=self.level,
                    base_offset=0 if produced else first,
                    **fields,
                )
            )
        return out

    def segment(self) -> bytes:
        """A whole segment file; that of a transaction ends with its commit."""
        data = b"".join(self.encoded(produced=False))
        if self.kind == "transactional":
            marker = lab_records.record(lab_records.START, struct.pack(">hh", 0, 1), struct.pack(">hi", 0, 0))
            data += kodec.encode(
                [marker],
                base_offset=len(self.rows()),
                producer_id=4_000,
                producer_epoch=0,
                transactional=True,
                control=True,
            )
        return data


@dataclass(slots=True)
class Cell:
    """What one judge reported about one magic and codec: passed, refused, failed or impossible, and why."""

    state: str = "passed"
    reason: str = ""
    cases: int = 0


@dataclass(slots=True)
class Verdicts:
    """The cells of one generation, by (magic, codec, judge); the worst of several cases stays."""

    cells: dict[tuple[int, str, str], Cell] = field(default_factory=dict)

    def note(self, case: Case, judge: str, state: str, reason: str = "") -> None:
        cell = self.cells.setdefault((case.magic, case.codec, judge), Cell())
        cell.cases += 1
        order = ("passed", "impossible", "refused", "failed")
        if order.index(state) > order.index(cell.state) or not cell.reason:
            cell.state, cell.reason = state, reason
        if state == "failed":
            say(f"    FAILED {case.name}, {judge}: {reason}")


def codecs(magic: int) -> tuple[str, ...]:
    return CODECS if magic == 2 else LEGACY_CODECS


def cases() -> list[Case]:
    """All that kodec can write: each format, codec and some levels; producer fields in two codecs."""
    plain = [
        Case(magic, codec, level) for magic in (0, 1, 2) for codec in codecs(magic) for level in LEVELS[codec]
    ]
    return plain + [Case(2, codec, None, "idempotent") for codec in ("none", "lz4")]


def impossible(generation: Generation, case: Case) -> str:
    """Why there can be no such bytes in this generation; empty if there can."""
    if case.magic not in generation.produce:
        since = {1: "0.10", 2: "0.11"}[case.magic]
        return f"the format came with Kafka {since}"
    if case.codec == "zstd" and not generation.zstd:
        return ZSTD_SINCE
    return ""


def compare(rows: list[Row], expected: list[Row]) -> None:
    """Raises: Differs at the first row that is not the expected one."""
    for number, (have, need) in enumerate(zip(rows, expected, strict=False)):
        if have != need:
            parts = [name for name in Row._fields if getattr(have, name) != getattr(need, name)]
            raise Differs(f"row {number}: another {', '.join(parts)}")
    if len(rows) != len(expected):
        raise Differs(f"{len(rows)} rows instead of {len(expected)}")


# ------------------------------------------------------------------ the judges


def judge_dump(
    tools: Toolbox, work: Path, all_cases: Iterable[Case], *, damage: bool = False
) -> dict[str, str]:
    """Have kafka-dump-log go through our segments, with a bit of the first batch flipped if `damage`.

    Returns for each case's name what is wrong; empty if nothing.
    """
    shutil.rmtree(work, ignore_errors=True)
    jobs = []
    names = {}
    for case in all_cases:
        file = work / case.name / f"{0:020}.log"
        file.parent.mkdir(parents=True)
        data = bytearray(case.segment())
        if damage:
            data[len(case.encoded(produced=False)[0]) - 1] ^= 1
        file.write_bytes(data)
        names[case.name] = case
        path = file.relative_to(work).as_posix()
        jobs.append(f"{case.name}/deep.txt\t--files\t{path}\t--deep-iteration")
        jobs.append(f"{case.name}/shallow.txt\t--files\t{path}")
    list_file = work / "jobs.txt"
    list_file.write_text("\n".join(jobs) + "\n", encoding="utf-8")
    run(tools.command("DumpEach", str(list_file)), "kafka-dump-log failed", cwd=work)
    wrong = {}
    for name, case in names.items():
        deep, shallow = (
            (work / name / text).read_text(encoding="utf-8") for text in ("deep.txt", "shallow.txt")
        )
        try:
            # From 2.8 on the deep text has the batches too.
            both = "\n| offset: " in deep
            compare_dump(dump_log.parse_entries(deep, None if both else shallow), case)
            wrong[name] = ""
        except (Differs, ValueError) as error:
            wrong[name] = str(error)
    return wrong


def compare_dump(dump: dump_log.EntryDump, case: Case) -> None:
    """Raises: Differs if the text does not say that all is valid and as we wrote it."""
    if dump.exception or dump.remarks:
        raise Differs("; ".join([dump.exception or "", *dump.remarks]))
    for entry in dump.entries:
        if entry.facts["crc_ok"] is not True:
            raise Differs(f"isvalid is false at position {entry.facts['position']}")
        # The marker of a transaction's end is not compressed.
        is_data = any("control_type" not in one for one in entry.records)
        if is_data and entry.facts["codec"] != case.codec:
            raise Differs(f"compresscodec {entry.facts['codec']}")
    records = [one for entry in dump.entries for one in entry.records if "control_type" not in one]
    if any(one.get("is_valid") is False for one in records):
        raise Differs("isvalid is false in a record")
    facts = [(one["offset"], one.get("timestamp", -1), one["key_size"], one["value_size"]) for one in records]
    expected = [
        (row.offset, row.timestamp, *(-1 if part is None else len(part) for part in (row.key, row.value)))
        for row in case.rows()
    ]
    if facts != expected:
        raise Differs(f"{len(facts)} records, not those that were written")


def java_rows(cluster: Cluster, topic: str, file: Path) -> list[Row]:
    """What the Java consumer of the generation reads."""
    try:
        cluster.clients.do("consume", topic, "read_uncommitted", str(file))
    except Refused as refused:
        raise CannotRead(str(refused)) from refused
    rows = []
    for line in file.read_text(encoding="utf-8").split("\n")[:-1]:
        row = json.loads(line)
        headers = tuple((key, decoded(value)) for key, value in row["headers"])
        rows.append(Row(row["offset"], row["timestamp"], decoded(row["key"]), decoded(row["value"]), headers))
    return rows


def decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def produce(cluster: Cluster, case: Case) -> None:
    """Create the topic of the case and send our bytes. Raises: ProduceRefused, Differs."""
    generation = cluster.tools.generation
    version = generation.formats.get(case.magic)
    settings = [] if version is None else [f"message.format.version={version}"]
    cluster.clients.do("topic", case.name, 1, *settings)
    expected = 0
    with RawProducer("127.0.0.1", cluster.broker.port) as producer:
        for data, batch in zip(case.encoded(produced=True), case.batches(), strict=True):
            offset = producer.produce(generation.produce[case.magic], case.name, data)
            if offset != expected:
                raise Differs(f"the broker gave offset {offset} instead of {expected}")
            expected += len(batch)


def place(cluster: Cluster, placed: list[Case]) -> None:
    """Put segments of ours where the broker keeps its own, as an upgrade would leave old ones."""
    cluster.broker.stop()
    for case in placed:
        partition = cluster.broker.logs / f"{case.name}-0"
        for path in partition.iterdir():
            if path.name != "partition.metadata":
                path.unlink()
        (partition / f"{0:020}.log").write_bytes(case.segment())
    # Then the broker goes through the logs and makes their indexes.
    (cluster.broker.logs / ".kafka_cleanshutdown").unlink()
    cluster.start()


def judge(work: Path, repository: Path | None, generation: Generation) -> Verdicts:
    """All verdicts of one generation. Raises: Unusable."""
    tools = Toolbox(work, repository, generation)
    tools.prepare()
    verdicts = Verdicts()
    rows_file = work / "consumed.jsonl"
    possible = []
    for case in cases():
        if reason := impossible(generation, case):
            for name in JUDGES:
                verdicts.note(case, name, "impossible", reason)
        else:
            possible.append(case)
    segments = possible + [
        Case(2, codec, None, "transactional") for codec in ("none", "gzip") if generation.magic == 2
    ]
    with step(f"Asking kafka-dump-log about {len(segments)} segments of ours"):
        wrong = judge_dump(tools, work / "dumped", segments)
        for case in segments:
            reason = wrong[case.name]
            verdicts.note(case, "kafka-dump-log", "failed" if reason else "passed", reason)
    with Cluster(tools) as cluster:
        check_that_they_refuse(cluster, work / "damaged")
        accepted = []
        with step(f"Producing {len(possible)} times"):
            for case in possible:
                try:
                    produce(cluster, case)
                except ProduceRefused as error:
                    request = f"Produce v{generation.produce[case.magic]}"
                    reason = cluster.broker.explained(f"{request}: {error}")
                    verdicts.note(case, "produce", "refused", reason)
                except Differs as error:
                    verdicts.note(case, "produce", "failed", str(error))
                else:
                    converted = case.magic not in generation.formats
                    verdicts.note(case, "produce", "passed", CONVERTED if converted else "")
                    accepted.append(case)
        java = "Java consumer"
        with step(f"Reading what was accepted with the {java}"):
            read_all(verdicts, java, lambda case: java_rows(cluster, case.name, rows_file), accepted)
        # Formats that this broker keeps only in old files.
        placed = [case for case in possible if case.magic not in generation.formats]
        if placed:
            with step(f"Placing {len(placed)} segments of ours among the broker's own"):
                place(cluster, placed)
        release = generation.kafka or "4"
        read_all(verdicts, java, lambda case: java_rows(cluster, case.name, rows_file), placed, placed)
        stored = [case for case in possible if case in accepted or case in placed]
        for name, reader in READERS.items():

            def read(case: Case, reader: client_readers.Reader = reader) -> list[Row]:
                return reader(cluster.broker.address, case.name, len(case.rows()), release)

            with step(f"Reading with {name}"):
                read_all(verdicts, name, read, stored, placed, cluster.broker.explained)
        cluster.broker.stop()
    return verdicts


def check_that_they_refuse(cluster: Cluster, work: Path) -> None:
    """A broker and a tool that take anything would prove nothing: see that they refuse a flipped bit.

    Raises: Unusable.
    """
    tools = cluster.tools
    case = Case(tools.generation.magic, "gzip")
    damaged = bytearray(case.encoded(produced=True)[0])
    damaged[-1] ^= 1
    cluster.clients.do("topic", "damaged", 1)
    with RawProducer("127.0.0.1", cluster.broker.port) as producer:
        try:
            producer.produce(tools.generation.produce[case.magic], "damaged", bytes(damaged))
        except ProduceRefused as refused:
            say(f"    the broker refuses damaged bytes: {refused}")
        else:
            raise Unusable("the broker takes damaged bytes")
    if not judge_dump(tools, work, [case], damage=True)[case.name]:
        raise Unusable("kafka-dump-log finds damaged bytes valid")


def read_all(
    verdicts: Verdicts,
    name: str,
    read: Callable[[Case], list[Row]],
    all_cases: Iterable[Case],
    placed: Collection[Case] = (),
    explained: Callable[[str], str] = str,
) -> None:
    """Note what one client makes of each topic; a codec that it cannot read it is not asked again."""
    hopeless: dict[tuple[int, str], str] = {}
    every = [(case.magic, case.codec) for case in all_cases]
    for case in all_cases:
        kind = case.magic, case.codec
        if kind in hopeless:
            verdicts.note(case, name, "refused", hopeless[kind])
            continue
        try:
            compare(read(case), case.rows())
        except CannotRead as error:
            if isinstance(error, CannotConnect):
                hopeless |= dict.fromkeys(every, explained(str(error)))
            else:
                hopeless[kind] = str(error)
            verdicts.note(case, name, "refused", hopeless[kind])
        except Differs as error:
            verdicts.note(case, name, "failed", str(error))
        else:
            verdicts.note(case, name, "passed", PLACED if case in placed else "")
