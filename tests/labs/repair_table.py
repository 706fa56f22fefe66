"""Keeps what Kafka said of logs that kodec wrote or repaired, and makes a page of docs of it."""

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
REPORTS = "told exactly"
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
# Does Kafka open what kodec writes and repairs?

Made by `tests/labs/run.py --repair` from `tests/labs/repair.json`; do not edit. A real broker of Kafka
{kafka} (KRaft) opened these logs, with its own Java consumer and tools. Each log is a topic that the broker
had created; its folder was exchanged while the broker was down.

    python tests/labs/run.py --repair            # all of it, a few minutes
    python tests/labs/run.py --repair --update   # replaces the committed results, this page too
    python tests/labs/repair_table.py            # makes this page again of the committed results

- **broker**: its own log says of no such topic that it finds, cuts or deletes anything: no warning, no error,
  no such line at the level INFO. Where the directory was closed in order it does not read the segments again
  either. Afterwards the closed segments and their indexes are the same bytes (parts A and D).
- **Java consumer**: offsets, times, keys, values and headers are equal, in `read_uncommitted` and in
  `read_committed`.
- **kafka-dump-log**: `.log` with `--deep-iteration`; `.index` and `.timeindex` as they are, with
  `--index-sanity-check` and with `--verify-index-only`; `.txnindex`, `.snapshot`. It finds nothing wrong.
- **appends**: what is produced behind gets the next offset.
"""
TITLES = {
    "A": """\
## A directory written by LogDirectoryWriter and LogWriter

The whole entry of `log.dirs` is ours, `meta.properties`, `partition.metadata` and the clean-shutdown
marker too. Without that marker the broker reads all segments, finds nothing to repair, and the consumer
reads the same (**broker, without the marker**). A copy of the logs alone, without what lies beside them, was
given to the broker to recover: what it made is the same as ours, byte by byte (**as the broker rebuilds**;
producer snapshots by what they say). Our idempotent producers go on: their next sequence is taken, a repeated
one is known, a gap is refused.
""",
    "B": """\
## Recovery

The broker wrote the logs (all codecs, an idempotent producer, transactions of which one is open; segments of
2 KiB, two leader epochs) and was killed; then they were damaged. One copy was recovered by the broker when it
started, one by `kodec recover --apply`. **as the broker recovers**: `.log`, `.index`, `.timeindex` and
`.txnindex` are the same byte by byte, each producer snapshot says the same, leader epochs are the same (but
for the one that begins with the broker's start). Ours were then opened by the broker.
""",
    "C": """\
## Compaction

The broker wrote the logs. One copy was cleaned by its log cleaner, one by `kodec compact` at the same moment
with the same settings. **as the broker cleans**: the same segments; the same batches with all that their
headers say, also markers, empty batches and delete horizons; the same records; those that are not compressed
byte by byte. (Compressed bytes differ: other compressors.) **cleaned once more**: the broker then cleaned
ours again behind more records, and nothing else went.
""",
    "D": """\
## Trim and convert

**as the broker deletes**: the broker's retention left the same segments. What was converted is compared with
what the consumer read of the source, without what the format does not have: headers (v0, v1), times (v0).
The consumer of a log in v0 or v1 whose last offsets were control records comes past them when something is
appended.
""",
    "E": """\
## Compaction in older formats

A broker of Kafka {old_kafka}, whose topics can be kept in v0 and v1, wrote and cleaned them;
`kodec compact` did with `keep_format=True`. Its consumer then read both.
""",
    "F": """\
## Salvage

The broker wrote the logs as for recovery, those in v0 and v1 a broker of Kafka {old_kafka}; then they were
damaged. `kodec salvage --apply` wrote what is good into the log directory of a broker, which started without
the clean-shutdown marker, so that it read all of it. **told exactly**: no batch that was harmed is kept, the
report names the offsets of all that is lost and of nothing else, and the source is unchanged. **Java
consumer**: exactly the records that were read before the damage, without those of the batches that were
harmed, offsets unchanged; where the end of a transaction is lost, what is committed is what kodec says.
**fetches in gaps**: a consumer that asks for the first or the last offset of a gap gets the next record.
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
