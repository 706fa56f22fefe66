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

A real broker of Kafka {kafka} (KRaft), its Java consumer and its tools opened logs that kodec wrote,
recovered, compacted, trimmed, converted and salvaged. `tests/labs/run.py --repair` generates this page from
`tests/labs/repair.json`; do not edit it. With `--update` it replaces the committed results.

A cell that *passed* means:

- **broker**: its own log has no warning, no error, and no line about anything found, truncated or deleted
  in the topic. Closed segments and indexes of written, trimmed and converted logs keep their bytes.
- **Java consumer**: offsets, timestamps, keys, values and headers are equal, at both isolation levels.
- **kafka-dump-log**: no fault in `.log`, `.index`, `.timeindex`, `.txnindex` and `.snapshot`, with
  `--deep-iteration`, `--index-sanity-check` and `--verify-index-only`.
- **appends**: records produced afterwards get the next offset.
"""
TITLES = {
    "A": """\
## Write a log directory

`LogDirectoryWriter` and `LogWriter` wrote the whole entry of `log.dirs`.

- **broker, without the marker**: without the clean-shutdown marker the broker finds nothing to repair.
- **as the broker rebuilds**: files that a broker recovers from the `.log` files alone are the same as
  kodec's, byte by byte; producer snapshots have the same content.
""",
    "B": """\
## Recovery

The broker was killed, and its logs were damaged. It recovered one copy at its start,
`kodec recover --apply` another.

- **as the broker recovers**: `.log` and indexes are the same byte by byte, producer snapshots and leader
  epochs have the same content, except the epoch that begins with the broker's start.
""",
    "C": """\
## Compaction

The broker's log cleaner cleaned one copy, `kodec compact` another, with the same time and settings.

- **as the broker cleans**: segments, batch headers and records are the same. Compressed bytes differ,
  because the compressors do.
- **cleaned once more**: the broker cleaned kodec's copy later, and nothing else was removed.
""",
    "D": """\
## Trim and convert

- **as the broker deletes**: the broker's retention left the same segments.

Converted logs are compared with the source, except for what the format lacks: headers (v0, v1) and
timestamps (v0).
""",
    "E": """\
## Compaction in older formats

A broker of Kafka {old_kafka} wrote and cleaned topics in v0 and v1, `kodec compact` cleaned them with
`keep_format=True`.
""",
    "F": """\
## Salvage

Damaged logs as for recovery, and in v0 and v1 from Kafka {old_kafka}. `kodec salvage --apply` wrote the
undamaged batches into a log directory, which the broker read whole.

- **exact report**: no damaged batch is kept, and the report names the offsets of all lost records.
- **Java consumer**: it reads exactly the undamaged records, at unchanged offsets.
- **fetches in gaps**: a request for an offset in a gap gets the next record.
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
    alike: dict[str, list[str]] = {}
    for name, purpose in PURPOSES[part].items():
        texts = []
        for judge in judges:
            row = rows.get((name, judge))
            text = "" if row is None else (LEGEND | {"differs": "differs"})[row["state"]]
            if row is not None and row["reason"]:
                text += f" ({notes.setdefault(row['reason'], len(notes) + 1)})"
            texts.append(text)
        alike.setdefault(" | ".join(texts), []).append(purpose)
    # the cases of the largest row have their names in the results
    most = max(alike.values(), key=len)
    for texts, purposes in alike.items():
        names = f"the other {len(purposes)}" if purposes is most and len(most) > 8 else "; ".join(purposes)
        lines.append(f"| {names} | {texts} |")
    lines.append("")
    lines += [f"{number}. {reason}" for reason, number in notes.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(load(RESULTS)), encoding="utf-8")
