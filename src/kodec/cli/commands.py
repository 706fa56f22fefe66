"""The verbs of `kodec`, in the groups of the help, and what each is for. Imports nothing that is slow."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

__all__ = ["GROUPS", "VERBS", "help_page", "may_style"]

# What one does every day first. A verb is in the module of its name, with `_` for `-`.
GROUPS: Mapping[str, Mapping[str, str]] = {
    "Look and find": {
        "ls": "A log directory at a glance: offsets, times, bytes, health",
        "report": "A page: contents, health, sizes, times, gaps, savings",
        "find": "Find records by offset, time, key, value, header, producer",
        "dump": "Print the batches and records of log files",
        "explain": "Which bytes of a file are which field, in hex or as a page",
        "inventory": "List all segments: offsets, counts, times, codecs, gaps",
    },
    "Ask what a broker would say": {
        "offsets": "Committed offsets of groups, with the lag",
        "groups": "Groups of all protocols, their state and members",
        "transactions": "Transactional ids, open transactions, last stable offsets",
        "producers": "Idempotent and transactional producers of partitions",
        "metadata": "A KRaft cluster: brokers, topics, configs, leaders",
        "epochs": "Leader epochs, as checkpoints and as batches say",
        "retention": "Which segments retention would delete now, and why",
    },
    "Check and repair": {
        "verify": "Check checksums, offsets, indexes, snapshots, checkpoints",
        "recover": "Repair what was not shut down cleanly, as a broker does",
        "salvage": "Copy every good batch of damaged logs to new ones",
        "reindex": "Rebuild indexes and producer snapshots from logs",
    },
    "Rewrite": {
        "trim": "Delete the oldest segments by offset, size or time",
        "compact": "Keep the last value of each key, as the log cleaner does",
        "redact": "Erase chosen records from closed segments; offsets stay",
        "load": "Lines of `dump --edit-format`, edited, to a log directory",
        "convert": "Another message format or codec; offsets stay",
        "adopt": "Copy logs into the log directory of a stopped broker",
    },
    "Export and restore": {
        "export": "Records to Parquet, CSV, JSON Lines, Iceberg or Delta",
        "compact-view": "The latest record of each key to Parquet",
        "restore": "Parquet or Arrow IPC back to a log directory",
        "scan": "Rows of any file that a schema describes to Parquet",
    },
    "Schemas": {
        "generate": "Readers and writers, pages, vectors from schemas",
        "check-evolution": "Whether a change of schemas is compatible",
        "conform": "Ask a program what it makes of test vectors",
        "handoff": "Pack schemas for teams that write other languages",
        "import-kafka": "Schemas from Kafka's own message definitions",
    },
}

VERBS: Mapping[str, str] = {verb: says for group in GROUPS.values() for verb, says in group.items()}


def help_page() -> str:
    """What `kodec --help` prints; 80 columns."""
    bold, plain = ("\x1b[1m", "\x1b[0m") if may_style() else ("", "")
    wide = max(map(len, VERBS))
    lines = [
        "Usage: kodec VERB [ARGUMENTS]...",
        "",
        "Reads, checks, repairs, converts and exports Kafka's log directories without a",
        "broker, and generates codecs from Kaitai schemas.",
    ]
    for group, verbs in GROUPS.items():
        lines += ["", f"{bold}{group}{plain}", *(f"  {verb:{wide}}  {says}" for verb, says in verbs.items())]
    lines += [
        "",
        f"{bold}Options{plain}",
        f"  {'VERB --help':{wide}}  Arguments, options, examples and exit codes of a verb",
        f"  {'--version':{wide}}  Show the version and leave",
        "  --install-completion, --show-completion",
        f"  {'':{wide}}  Complete verbs and options in the shell",
    ]
    return "\n".join(lines)


def may_style() -> bool:
    """Whether a person looks at stdout who wants styles: https://no-color.org."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
