"""Keeps what Kafka reported about logs that kodec wrote or repaired, and makes a page of docs of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import repair_compaction
import repair_damage
import repair_salvage
import repair_trim_convert
import repair_writer
from compatibility import LEGEND

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "repair.json"
PAGE = HERE.parent.parent / "docs" / "repair-compatibility.md"
Results = dict[str, Any]

DUMP = "kafka-dump-log"
CONSUMER = "Java consumer"
BROKER = "broker"
APPENDS = "appends"
REBUILDS = "as the broker rebuilds"
NO_NOTE = "broker, without the marker"
RECOVERS = "as the broker recovers"
STARTS = "the broker does not start"
CLEANS = "as the broker cleans"
AGAIN = "cleaned once more"
DELETES = "as the broker deletes"
REPORTS = "exact report"
GAPS = "fetches in gaps"
# The judges of each part, in the order of the columns.
JUDGES = {
    "A": (BROKER, NO_NOTE, CONSUMER, DUMP, REBUILDS, APPENDS),
    "B": (RECOVERS, STARTS, BROKER, CONSUMER, DUMP),
    "C": (CLEANS, BROKER, CONSUMER, DUMP, AGAIN),
    "D": (DELETES, BROKER, CONSUMER, DUMP, APPENDS),
    "E": (CLEANS, CONSUMER),
    "F": (REPORTS, BROKER, CONSUMER, GAPS, DUMP, APPENDS),
}
PURPOSES = {
    "A": {case.name: case.purpose for case in repair_writer.CASES},
    "B": {case.name: case.what for case in repair_damage.DAMAGES}
    | {repair_writer.KILLED.name: repair_writer.KILLED.purpose},
    "C": {case.name: case.what for case in repair_compaction.CASES},
    "D": {
        case.name: case.what
        for cases in (repair_trim_convert.TRIMMED, repair_trim_convert.CONVERTED)
        for case in cases
    },
    "E": {name: case.what for name, (case, _) in repair_compaction.OLD.items()},
    "F": {case.name: case.what for case in (*repair_salvage.CASES, *repair_salvage.OLD)},
}


def judges_of(part: str, name: str) -> list[str]:
    """Who judges a case; the others have nothing to say of it."""
    silent = set()
    if part == "B":
        fatal = {case.name for case in repair_damage.DAMAGES if case.fatal}
        silent = {STARTS} - ({STARTS} if name in fatal else set())
        if name == repair_writer.KILLED.name:
            silent.add(RECOVERS)
    if part == "D":
        itself = {case.name for case in repair_trim_convert.TRIMMED if case.settings}
        silent = set() if name in itself else {DELETES}
    if part == "F" and name in {case.name for case in repair_salvage.OLD}:
        # The old line says and knows less.
        silent = {BROKER, DUMP}
    return [judge for judge in JUDGES[part] if judge not in silent]


def expected() -> list[tuple[str, str, str]]:
    """All (part, case, judge) that the results have to have, in the order in which they are kept."""
    return [
        (part, name, judge)
        for part, names in PURPOSES.items()
        for name in names
        for judge in judges_of(part, name)
    ]


def load(path: Path) -> Results:
    loaded: Results = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def results_of(kafka: str, old_kafka: str, rows: list[dict[str, str]]) -> Results:
    """The rows of the lab in the order of the page."""
    order = {key: number for number, key in enumerate(expected())}
    return {
        "kafka": kafka,
        "old_kafka": old_kafka,
        "verdicts": sorted(rows, key=lambda row: order[row["part"], row["case"], row["judge"]]),
    }


def save(results: Results, path: Path) -> None:
    """One line for each verdict, so that a change of one is a change of one line."""
    lines = ",\n".join(f"  {json.dumps(row)}" for row in results["verdicts"])
    head = f'{{"kafka": "{results["kafka"]}",\n "old_kafka": "{results["old_kafka"]}",\n'
    path.write_text(f'{head} "verdicts": [\n{lines}\n ]}}\n', encoding="utf-8")


INTRO = """\
# What brokers accept

These tables show that a broker accepts logs that kodec writes, recovers, compacts, trims, converts and
salvages. `tests/labs/run.py --repair` generates this page from `tests/labs/repair.json`; do not edit it. A
real broker of Kafka {kafka} (KRaft) opened the logs, with its own Java consumer and tools. Each log is a
topic that the broker had created; its folder was replaced while the broker was down.

    python tests/labs/run.py --repair            # all of it, a few minutes
    python tests/labs/run.py --repair --update   # replaces the committed results, this page too
    python tests/labs/repair_table.py            # makes this page again from the committed results

A cell that *passed* means:

- **broker**: The broker's own log has no warning, no error, and no INFO line about anything found,
  truncated or deleted in the topic. After a clean shutdown it does not read the segments again either.
  For written, trimmed and converted logs, the closed segments and their indexes
  then still have the same bytes.
- **Java consumer**: Offsets, timestamps, keys, values and headers are equal, in `read_uncommitted` and in
  `read_committed`.
- **kafka-dump-log**: The tool finds no fault in `.log` with `--deep-iteration`; in `.index` and
  `.timeindex` without an option, with `--index-sanity-check` and with `--verify-index-only`; in `.txnindex`
  and `.snapshot`.
- **appends**: Records produced afterwards get the next offset.
"""
TITLES = {
    "A": """\
## Write a log directory

`LogDirectoryWriter` and `LogWriter` wrote the whole entry of `log.dirs`, including `meta.properties`,
`partition.metadata` and the clean-shutdown marker. kodec's idempotent producers can continue: the broker
accepts their next sequence, recognizes a repeated one and refuses a gap.

- **broker, without the marker**: without the clean-shutdown marker the broker reads all segments, finds
  nothing to repair, and the consumer reads the same.
- **as the broker rebuilds**: a broker recovered a copy of the `.log` files alone. The files that it made
  are the same as kodec's, byte by byte; producer snapshots have the same content.
""",
    "B": """\
## Recovery

The broker wrote the logs (all codecs, an idempotent producer, transactions of which one is open; segments
of 2 KiB, two leader epochs) and was killed. Then the logs were damaged. The broker recovered one copy at
its start, `kodec recover --apply` another, which the broker then opened.

- **as the broker recovers**: `.log`, `.index`, `.timeindex` and `.txnindex` are the same byte by byte. Each
  producer snapshot has the same content. Leader epochs are the same, except the one that begins with the
  broker's start.
""",
    "C": """\
## Compaction

The broker wrote the logs. Its log cleaner cleaned one copy, and `kodec compact` another, at the same moment
with the same settings.

- **as the broker cleans**: the segments are the same. The batches have the same headers, including markers,
  empty batches and delete horizons. The records are the same; uncompressed batches are the same byte by
  byte. Compressed bytes differ, because the compressors do.
- **cleaned once more**: after more records were appended, the broker cleaned kodec's copy again, and
  nothing else was removed.
""",
    "D": """\
## Trim and convert

- **as the broker deletes**: the broker's retention left the same segments.

Converted logs are compared with what the consumer read from the source, except for what the format lacks:
headers (v0, v1) and timestamps (v0). If the last offsets of a log in v0 or v1 were control records, its
consumer passes them once something is appended.
""",
    "E": """\
## Compaction in older formats

A broker of Kafka {old_kafka}, which can keep topics in v0 and v1, wrote and cleaned the logs.
`kodec compact` cleaned them with `keep_format=True`. The broker's consumer then read both.
""",
    "F": """\
## Salvage

The broker wrote the logs as for recovery; a broker of Kafka {old_kafka} wrote those in v0 and v1. Then they
were damaged. `kodec salvage --apply` wrote the undamaged batches into a broker's log directory. The broker
started without the clean-shutdown marker, so it read all of it.

- **exact report**: no damaged batch is kept, the report names the offsets of all lost records and no
  others, and the source is unchanged.
- **Java consumer**: it reads exactly the records that were read before the damage, without those of damaged
  batches, at unchanged offsets. If the end of a transaction is lost, the committed records are those that
  kodec reports.
- **fetches in gaps**: a consumer that requests the first or the last offset of a gap gets the next record.
""",
}


def page(results: Results) -> str:
    """The whole page."""
    parts = [INTRO.format(kafka=results["kafka"])]
    for part, title in TITLES.items():
        rows = {(row["case"], row["judge"]): row for row in results["verdicts"] if row["part"] == part}
        parts.append(title.format(old_kafka=results["old_kafka"]))
        parts.append(_table(part, rows))
    return "\n".join(parts)


def _table(part: str, rows: dict[tuple[str, str], dict[str, str]]) -> str:
    judges = JUDGES[part]
    notes: dict[str, int] = {}
    lines = ["| log | " + " | ".join(judges) + " |", "|---" + "|---" * len(judges) + "|"]
    for name, purpose in PURPOSES[part].items():
        texts = []
        for judge in judges:
            row = rows.get((name, judge))
            text = "" if row is None else (LEGEND | {"differs": "differs"})[row["state"]]
            if row is not None and row["reason"]:
                text += f" ({notes.setdefault(row['reason'], len(notes) + 1)})"
            texts.append(text)
        lines.append(f"| {purpose} | " + " | ".join(texts) + " |")
    lines.append("")
    lines += [f"{number}. {reason}" for reason, number in notes.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(load(RESULTS)), encoding="utf-8")
