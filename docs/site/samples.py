"""Bytes of real systems for the pages of formats, explained field by field; all from `tests/data`."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import zstandard

from kodec import read_records
from kodec.cli.hexdump import lines_of_explanation
from kodec.formats.explain import Explainer
from kodec.generated.index import MESSAGES
from kodec.generated.log.record import Record as StoredRecord
from kodec.log.batches.records import ControlRecord, Record
from kodec.log.messages.decoding import TOPICS, Decoded, decode

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests" / "data"
# Files whose whole explanation is a command.
FILES: Mapping[str, tuple[str, Sequence[str]]] = {
    "log/record_batch": (
        "kafka-4.3.1/logs/orders-0/00000000000000000000.log",
        ("--offset", "20", "--limit", "1"),
    ),
    "log/message_set": ("kafka-0.10.2.2/logs/v1-none-0/00000000000000000000.log", ("--limit", "1")),
    "log/offset_index": ("kafka-4.3.1/logs/orders-0/00000000000000000000.index", ("--limit", "3")),
    "log/time_index": ("kafka-4.3.1/logs/orders-0/00000000000000000000.timeindex", ("--limit", "3")),
    "log/transaction_index": ("kafka-4.3.1/logs/transactions-0/00000000000000000000.txnindex", ()),
    "log/producer_snapshot": ("kafka-4.3.1/logs/transactions-0/00000000000000000088.snapshot", ()),
}
# From the newest: the first one with a message of a schema is shown.
_LOGS = ("kafka-4.3.1", "views-4.3.1", "tiered-4.3.1", "kafka-3.9.1", "kafka-2.8.2", "kafka-0.11.0.3")
# The longest sample up to this size shows most fields, and can still be read.
_READABLE = 128


@dataclass(frozen=True)
class Sample:
    """Bytes of one schema, and where they are from, as a sentence with a colon."""

    schema: str
    data: bytes
    source: str
    version: int | None = None

    @property
    def rank(self) -> tuple[bool, int]:
        fits = len(self.data) <= _READABLE
        return fits, len(self.data) if fits else -len(self.data)

    def section(self) -> str:
        """The end of a page: the bytes with their fields."""
        explainer = Explainer(ROOT / "schemas" / f"{self.schema}.ksy")
        found = explainer.explain(self.data, arguments=() if self.version is None else (self.version,))
        if found.error is not None:
            raise ValueError(f"{self.schema}: {self.source} {found.error}")
        lines = "\n".join(lines_of_explanation(found))
        option = "" if self.version is None else f" --version {self.version}"
        command = f"kodec explain FILE --schema schemas/{self.schema}.ksy{option}"
        return (
            f"\n## Bytes\n\n{self.source} Saved as a file, `{command}` explains them:\n\n"
            f"```text\n{lines}\n```\n"
        )


def sections() -> dict[str, str]:
    """By the schema, such as `log/record`, the section of its page; those without real bytes are missing."""
    found = {schema: _of_file(*file) for schema, file in FILES.items()}
    best: dict[str, Sample] = {}
    for samples in (
        *map(_of_logs, _LOGS),
        _of_record(),
        _of_framings(),
        _of_tier(),
        _of_others(),
        _of_classes(),
    ):
        here: dict[str, Sample] = {}
        for sample in samples:
            if sample.schema not in here or sample.rank > here[sample.schema].rank:
                here[sample.schema] = sample
        best = here | best
    return {schema: sample.section() for schema, sample in best.items()} | found


def _of_file(file: str, arguments: Sequence[str]) -> str:
    """What `kodec explain` prints of a file of a broker."""
    command = [sys.executable, "-m", "kodec", "explain", f"tests/data/{file}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    shown = " ".join(["kodec explain", f"tests/data/{file}", *arguments])
    return (
        f"\n## Bytes\n\nFrom a broker's log directory:\n\n```console\n$ {shown}\n```\n\n"
        f"```text\n{done.stdout.rstrip()}\n```\n"
    )


def _of_logs(name: str) -> Iterator[Sample]:
    """Messages in the logs of Kafka's own topics, and control records."""
    for path in sorted((DATA / name / "logs").rglob("*")):
        topic = path.parent.name.rpartition("-")[0]
        if path.suffix == ".checkpoint":
            topic = "__cluster_metadata"
        elif path.suffix != ".log" or topic not in (*TOPICS, "transactions"):
            continue
        for record in read_records(path, control=True):
            for part, message in zip(("key", "value"), decode(topic, record), strict=True):
                if message is not None and message.message is not None:
                    yield from _of_message(record, part, message, path)


def _of_message(record: Record, part: str, message: Decoded, path: Path) -> Iterator[Sample]:
    schema = _schema_of(message.message)
    source = f"The {part} of the record with offset {record.offset} in `{path.relative_to(ROOT)}`."
    if isinstance(record, ControlRecord) or schema.startswith("messages/"):
        yield Sample(schema, message.data, source)
    elif message.version is not None:
        # three varints, of a byte each in these files, stand before the message
        source = source.replace("The value", "The bytes from the fourth on of the value")
        yield Sample(schema, message.data[3:], source, message.version)
    for member in getattr(message.message, "members", None) or ():
        for field in ("subscription", "assignment"):
            if data := getattr(member, field, b""):
                inner = f"`{field}` of a member in the value of the record with offset {record.offset} in"
                yield Sample(
                    f"messages/consumer_protocol_{field}", data, f"{inner} `{path.relative_to(ROOT)}`."
                )


def _schema_of(message: object) -> str:
    return type(message).__module__.removeprefix("kodec.generated.").replace(".", "/")


def _of_record() -> Iterator[Sample]:
    """The first record of an uncompressed batch, after its header of 61 bytes."""
    path = DATA / FILES["log/record_batch"][0]
    data = path.read_bytes()[61:]
    _, end = StoredRecord.read_from(data)
    yield Sample("log/record", data[:end], f"The first record in `{path.relative_to(ROOT)}`.")


def _of_framings() -> Iterator[Sample]:
    path = DATA / "framings" / "framings.json"
    for each in json.loads(path.read_text("utf-8")):
        yield Sample(f"framings/{each['schema']}", bytes.fromhex(each["bytes"]), f"Written by {each['by']}.")


def _of_tier() -> Iterator[Sample]:
    """Sizes of chunks in the manifests of Aiven's plugin."""
    with zipfile.ZipFile(DATA / "tiers-aiven.zip") as tier:
        for name in (each for each in tier.namelist() if each.endswith(".rsm-manifest")):
            index = json.loads(tier.read(name))["chunkIndex"]
            if sizes := index.get("transformedChunks"):
                data = zstandard.ZstdDecompressor().decompress(base64.b64decode(sizes), 1 << 20)
                source = f"`chunkIndex.transformedChunks` of `{name}` in `tests/data/tiers-aiven.zip`."
                yield Sample("tier/chunk_sizes", data, source)


def _of_others() -> Iterator[Sample]:
    """Records of MirrorMaker, Kafka Streams and Cruise Control."""
    kinds = {"sync": "offset_sync", "checkpoint": "checkpoint", "heartbeat": "heartbeat"}
    with zipfile.ZipFile(DATA / "topics-4.3.1.zip") as packed:
        files = {
            name: packed.read(name).decode("utf-8").splitlines()
            for name in packed.namelist()
            if ".tsv" in name
        }
    for line in files["translations.tsv"]:
        word, *parts = line.partition("\t")[0].split(" ")
        if word == "show":
            for part, data in zip(("key", "value"), parts[1:], strict=True):
                source = f"The {part} of a record that MirrorMaker wrote."
                yield Sample(f"mirror/{kinds[parts[0]]}_{part}", bytes.fromhex(data), source)
    for line in files["frames.tsv"]:
        name, data, *version = line.partition("\t")[0].split(" ")
        source = "From a topic of Kafka Streams."
        yield Sample(f"streams/{name}", bytes.fromhex(data), source, int(version[0]) if version else None)
    for line in files["cruise-control.tsv"]:
        topic, data, _ = line.split("\t")
        module, _ = MESSAGES[topic, "cruise-control", 0]
        source = "Written by Cruise Control's own class, with values of a test."
        yield Sample(module.replace(".", "/"), bytes.fromhex(data), source)


def _of_classes() -> Iterator[Sample]:
    """Bytes of Kafka's own classes, for messages that no log here has."""
    parameters = {module for (_, kind, _), (module, _) in MESSAGES.items() if kind == "metadata"}
    path = DATA / "messages" / "vectors.jsonl"
    for line in path.read_text("utf-8").splitlines():
        each = json.loads(line)
        version = each["version"] if each["module"] in parameters else None
        source = f"Written by the class `{each['name']}` of Kafka, with values of a test."
        yield Sample(each["module"].replace(".", "/"), base64.b64decode(each["bytes"]), source, version)
