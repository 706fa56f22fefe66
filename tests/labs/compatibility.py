"""Keeps what the lab found, and makes the page docs/compatibility.md of it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import client_readers
import dump_log
import real_logs
from kafka_lab import GENERATIONS, Generation, kafka_version
from kafka_reads_ours import JUDGES, LEVELS, ZSTD_SINCE, Cell, Verdicts, codecs

import kodec

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "compatibility.json"
PAGE = HERE.parent.parent / "docs" / "compatibility.md"
READS = "kodec reads"
DIRECTIONS = (READS, *JUDGES)
Results = dict[str, Any]


# ------------------------------------------------------------------ Kafka writes, kodec reads


def kodec_reads(data: Path, generation: Generation) -> dict[tuple[int, str], Cell]:
    """Compare what kodec reads of a golden directory with what the generation itself reported about it."""
    release = data / f"kafka-{kafka_version(generation)}"
    cells = {}
    for magic in (0, 1, 2):
        for codec in codecs(magic):
            if magic > generation.magic:
                since = {1: "0.10", 2: "0.11"}[magic]
                cells[magic, codec] = Cell("impossible", f"the format came with Kafka {since}")
            elif magic not in generation.formats:
                cells[magic, codec] = Cell("impossible", "Kafka 3.0 and newer write v2 only")
            elif codec not in generation.codecs(magic):
                cells[magic, codec] = Cell("impossible", ZSTD_SINCE)
            else:
                topic = f"v{magic}-{codec}" if generation.golden else f"codec-{codec}"
                problem, rows = compare_topic(release, topic, magic, codec)
                cells[magic, codec] = Cell("failed" if problem else "passed", problem, rows)
    return cells


def compare_topic(release: Path, topic: str, magic: int, codec: str) -> tuple[str, int]:
    """What differs (empty if nothing), and the number of rows."""
    log = release / "logs" / f"{topic}-0" / f"{0:020}.log"
    text = release / "dump" / "logs" / f"{topic}-0" / f"{0:020}.log.txt"
    batches = list(kodec.read_batches(log))
    if {(batch.magic, batch.codec) for batch in batches} != {(magic, codec)}:
        return "the log has other formats or codecs", 0
    entries = real_logs.entries(text).entries
    if [facts_of(batch, entry) for batch, entry in zip(batches, entries, strict=False)] != [
        entry.facts for entry in entries
    ] or len(batches) != len(entries):
        return "kafka-dump-log says otherwise of a batch", 0
    ours = [
        (row.offset, row.timestamp, str(row.timestamp_type), row.key, row.value, row.headers)
        for row in kodec.read_records(log)
    ]
    theirs = [
        (
            row["offset"],
            row["timestamp"],
            row["timestampType"],
            decoded(row["key"]),
            decoded(row["value"]),
            tuple((key, decoded(value)) for key, value in row["headers"]),
        )
        for row in real_logs.rows(release / "consumed" / f"{topic}.read_uncommitted.jsonl")
    ]
    return ("" if ours == theirs else "the Java consumer read other rows"), len(theirs)


def facts_of(batch: kodec.Batch, entry: dump_log.Entry) -> dict[str, Any]:
    """Of our batch, the facts that Kafka printed."""
    names = {"timestamp": "max_timestamp"}
    facts = {name: getattr(batch, names.get(name, name)) for name in entry.facts}
    if "timestamp_type" in facts:
        facts["timestamp_type"] = str(batch.timestamp_type)
    return facts


def decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


# ------------------------------------------------------------------ the results


def load(path: Path) -> Results:
    if not path.is_file():
        return {"clients": {}, "generations": {}}
    loaded: Results = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def add(
    results: Results, generation: Generation, reads: dict[tuple[int, str], Cell], verdicts: Verdicts
) -> None:
    """Put the cells of one generation in the place of older ones."""
    cells = {(magic, codec, READS): cell for (magic, codec), cell in reads.items()} | verdicts.cells
    results["clients"] = client_readers.versions()
    results["generations"][generation.name] = {
        "kafka": kafka_version(generation),
        "cells": [
            {
                "magic": magic,
                "codec": codec,
                "direction": direction,
                "state": cells[magic, codec, direction].state,
                "reason": cells[magic, codec, direction].reason,
                "cases": cells[magic, codec, direction].cases,
            }
            for magic in (0, 1, 2)
            for codec in codecs(magic)
            for direction in DIRECTIONS
        ],
    }


def save(results: Results, path: Path) -> None:
    """One line for each cell, so that a change of one is a change of one line."""
    parts = []
    for name in GENERATIONS:
        if name in results["generations"]:
            found = results["generations"][name]
            lines = ",\n".join(f"    {json.dumps(cell)}" for cell in found["cells"])
            parts.append(f'  "{name}": {{"kafka": "{found["kafka"]}", "cells": [\n{lines}\n  ]}}')
    text = (
        f'{{"clients": {json.dumps(results["clients"])},\n "generations": {{\n'
        + ",\n".join(parts)
        + "\n }}\n"
    )
    path.write_text(text, encoding="utf-8")


# ------------------------------------------------------------------ the page

INTRO = """\
# Compatibility

What kodec reads from each Kafka release line, and what each line reads from kodec. Each line ran as a real
broker with its own Java clients and tools. Formats are named if they passed in all codecs that they have:

{summary}

`tests/labs/run.py` generates this page from `tests/labs/compatibility.json`; do not edit it.

## Codecs and clients

A cell that *passed* means:

- **kodec reads**: batches of the line's broker are those that its own kafka-dump-log lists, and rows those
  that its Java consumer read.
- **produce**: the broker accepted the exact bytes of `kodec.encode` in a Produce request.
- **kafka-dump-log**: the line's tool finds a segment of kodec valid, with `--deep-iteration`.
- **Java consumer** of the line, and the newest **librdkafka**, **kafka-python** and **aiokafka**: offsets,
  timestamps, keys, values and headers are equal; CRCs are checked.

The records have null and empty parts, bytes that are not UTF-8, repeated and null headers, lengths at which
a varint grows, timestamps that go back, and sizes from a byte to 70 KB. kodec writes them at the default
compression level and at these:

{levels}

It also writes v2 with the fields of an idempotent producer and as a committed transaction. Broker and tool
must refuse a batch with a flipped bit.
{clients}
All cells of formats and codecs that a line has passed, except or with these remarks:
"""
TESTS = """\
## Run the tests

    python tests/labs/run.py                    # all lines: directories, both directions, the table
    python tests/labs/run.py --generation 0.9   # one line
    python tests/labs/run.py --ours-only        # without making directories
    python tests/labs/run.py --update           # replaces what is committed, this page too

It needs a JDK 17 or newer, Maven and the dependency group `interop`. [Real log directories](real-logs.md)
describes `tests/data/kafka-<version>/`, where the logs of all lines are.
"""
SUMMARY = {
    READS: "formats that its broker writes and kodec reads",
    "kafka-dump-log": "its tool reads segments that kodec wrote",
    "Java consumer": "its consumer reads batches that kodec wrote",
    "produce": "its broker accepts batches in a produce request",
}
LEGEND = {"passed": "passed", "refused": "refused", "failed": "FAILED", "impossible": "not possible"}


def levels() -> str:
    texts = []
    for codec, tried in LEVELS.items():
        numbers = [str(level) for level in tried if level is not None]
        if numbers:
            texts.append(f"- {codec}: {', '.join(numbers)}")
    return "\n".join(texts)


def page(results: Results) -> str:
    """The whole page."""
    clients = ", ".join(f"{name} {version}" for name, version in results["clients"].items())
    lines = [results["generations"][name] for name in GENERATIONS if name in results["generations"]]
    intro = INTRO.format(
        levels=levels(),
        summary=summary(lines),
        clients=f"The Python clients are {clients} (librdkafka in confluent-kafka).",
    )
    return "\n".join([intro, exceptions(lines[::-1]), TESTS])


def summary(lines: list[dict[str, Any]]) -> str:
    """A row for each line, the newest first, with the formats that passed in all codecs."""
    rows = ["| release | " + " | ".join(SUMMARY.values()) + " |", "|---" * (len(SUMMARY) + 1) + "|"]
    for found in reversed(lines):
        texts = []
        for direction in SUMMARY:
            states = [
                (
                    magic,
                    {
                        c["state"]
                        for c in found["cells"]
                        if (c["magic"], c["direction"]) == (magic, direction)
                    },
                )
                for magic in (0, 1, 2)
            ]
            # a codec that the line does not have yet says nothing about the format
            texts.append(
                ", ".join(f"v{magic}" for magic, got in states if got - {"impossible"} == {"passed"})
            )
        rows.append(f"| {found['kafka']} | " + " | ".join(texts) + " |")
    return "\n".join(rows)


def exceptions(lines: list[dict[str, Any]]) -> str:
    """The cells that did not pass, or with a remark, of formats and codecs that the line has."""
    found: dict[tuple[str, str], list[tuple[int, str, str]]] = {}
    for line in lines:
        cells = {(cell["magic"], cell["codec"], cell["direction"]): cell for cell in line["cells"]}
        for (magic, codec, direction), cell in cells.items():
            if all(cells[magic, codec, each]["state"] == "impossible" for each in DIRECTIONS):
                continue
            if cell["state"] != "passed" or cell["reason"]:
                result = LEGEND[cell["state"]] + (f": {cell['reason']}" if cell["reason"] else "")
                found.setdefault((line["kafka"], result), []).append((magic, codec, direction))
    releases: dict[tuple[str, str], list[str]] = {}
    for (kafka, result), names in found.items():
        releases.setdefault((_joined(names), result), []).append(kafka)
    rows = [f"| {', '.join(each)} | {what} | {result} |" for (what, result), each in releases.items()]
    return "\n".join(["| release | what | result |", "|---|---|---|", *rows, ""])


def _joined(cells: list[tuple[int, str, str]]) -> str:
    """Formats with their codecs, and directions, each once."""
    formats = {
        magic: dict.fromkeys(codec for each, codec, _ in cells if each == magic) for magic, _, _ in cells
    }
    named = "; ".join(f"v{magic} {', '.join(codecs)}" for magic, codecs in formats.items())
    return f"{named}: {', '.join(dict.fromkeys(direction for _, _, direction in cells))}"


if __name__ == "__main__":
    PAGE.write_text(page(load(RESULTS)), encoding="utf-8")
