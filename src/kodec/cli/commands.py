"""The verbs of `kodec` with a line of help each, in groups. Imports nothing slow."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

__all__ = ["GROUPS", "VERBS", "help_page", "may_style"]

# Everyday verbs first. A verb's module has its name, with `_` for `-`.
GROUPS: Mapping[str, Mapping[str, str]] = {
    "Look and find": {
        "ls": "A log directory at a glance: offsets, times, bytes, health",
        "report": "One page: contents, health, sizes, times, gaps, savings",
        "find": "Find records by offset, time, key, value, header, producer",
        "dump": "Print logs, or with --schema a file of any format",
        "explain": "Map the bytes of a file to fields, in hex or as a page",
        "inventory": "List all segments: offsets, counts, times, codecs, gaps",
    },
    "Read a broker's state": {
        "offsets": "Committed offsets of groups, with the lag",
        "groups": "Groups of all protocols, their state and members",
        "transactions": "Transactional ids, open transactions, last stable offsets",
        "producers": "Idempotent and transactional producers of partitions",
        "metadata": "A KRaft cluster: brokers, topics, configs, leaders",
        "epochs": "Leader epochs, from checkpoints and from batches",
        "retention": "Which segments retention would delete now, and why",
    },
    "Check and repair": {
        "verify": "Check checksums, offsets, indexes, snapshots, checkpoints",
        "recover": "Repair logs after an unclean shutdown, as a broker does",
        "diff": "Where replicas of topic-partitions differ, and why",
        "salvage": "Copy every good batch of damaged logs to new ones",
        "reindex": "Rebuild indexes and producer snapshots from logs",
    },
    "Rewrite": {
        "trim": "Delete the oldest segments by offset, size or time",
        "compact": "Keep the last value of each key, as the log cleaner does",
        "redact": "Erase chosen records from closed segments; offsets stay",
        "load": "Write edited lines of `dump --edit-format` as a log directory",
        "convert": "Rewrite in another message format or codec; offsets stay",
        "adopt": "Copy logs into the log directory of a stopped broker",
    },
    "Back up and rebuild": {
        "backup": "Store log directories, also of a running broker",
        "rebuild": "Make a cluster of backups, remote storage or lost disks",
    },
    "Export and restore": {
        "export": "Write records to Parquet, CSV, JSON Lines, Iceberg or Delta",
        "compact-view": "Write the latest record of each key to Parquet",
        "restore": "Write Parquet or Arrow IPC back as a log directory",
        "scan": "Write rows of files of any schema to Parquet, CSV or DuckDB",
    },
    "Schemas": {
        "new": "Start a schema from sample files of an unknown format",
        "generate": "Generate readers, writers, pages and vectors from schemas",
        "check-evolution": "Check whether a change of schemas is compatible",
        "conform": "Run a program against test vectors",
        "handoff": "Pack schemas for teams that write other languages",
        "language-server": "Serve editors: problems, completion, definitions in schemas",
        "import-kafka": "Write schemas from Kafka's own message definitions",
        "upgrade-schemas": "Rewrite the older extension keys of schemas",
    },
}

VERBS: Mapping[str, str] = {verb: says for group in GROUPS.values() for verb, says in group.items()}


def help_page() -> str:
    """The output of `kodec --help`, 80 columns wide."""
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
        f"  {'--version':{wide}}  Show the version and exit",
        "  --install-completion, --show-completion",
        f"  {'':{wide}}  Complete verbs and options in the shell",
    ]
    return "\n".join(lines)


def may_style() -> bool:
    """Whether stdout is a terminal whose user has not disabled styles: https://no-color.org."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
