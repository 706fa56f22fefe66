"""Shared parts of the verbs that read a broker's state from log directories."""

from __future__ import annotations

from uuid import UUID

from kodec.cli import output
from kodec.cli.outcome import FAILED
from kodec.cli.parser import Argument, Option
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.resolve import NotALog
from kodec.log.messages.as_json import uuid_text
from kodec.log.views.metadata import METADATA_TOPIC
from kodec.log.views.producers import Producers
from kodec.log.views.reading import Completeness
from kodec.log.views.replicas import Replicas

__all__ = [
    "GROUPS",
    "LOG_DIRS",
    "PARTITION",
    "TOPICS",
    "id_text",
    "logs_of",
    "moment",
    "tell",
    "tell_stable_offsets",
]

LOG_DIRS = Argument(
    metavar="DIR...",
    exists=True,
    file_okay=False,
    urls=True,
    help="log.dirs folders, of one broker or of several.",
)
TOPICS = Option("--topic", help="Only this topic; may be given several times.")
PARTITION = Option("--partition", help="Only this partition.", min=0)
GROUPS = Option("--group", help="Only this group; may be given several times.")


def logs_of(here: Replicas, topics: list[str] | None, partition: int | None = None) -> list[PartitionLog]:
    """The selected logs; without topics, all but the metadata log. Raises NotALog."""
    logs = [log for topic in topics for log in here.of_topic(topic)] if topics else list(here)
    found = [
        log
        for log in logs
        if (topics or log.topic_partition.topic != METADATA_TOPIC)
        and partition in (None, log.topic_partition.partition)
    ]
    if not found:
        raise NotALog(f"{here.shown}: no such partition in it")
    return found


def tell(account: Completeness) -> int:
    """Report on stderr what could not be read; the exit code: 1 if something could not, else 0."""
    for text in (*account.problems, *account.torn):
        output.warn(text)
    if account.omitted:
        output.warn(f"{output.count(account.omitted, 'more problem')}")
    if account.problems:
        skipped = output.count(account.skipped_bytes, "byte")
        why = f"{skipped} could not be read: " if account.skipped_bytes else ""
        output.warn(f"kodec: {why}the result may be incomplete or out of date")
    for text, number in account.unknown.most_common():
        output.warn(f"kodec: {output.count(number, 'record')} unknown: {text}")
    return FAILED if account.problems else 0


def tell_stable_offsets(partitions: list[Producers]) -> None:
    """A line for each partition with undecided records."""
    waits = [each for each in partitions if each.last_stable_offset != each.end_offset]
    for each in waits:
        output.show(
            f"{each.topic_partition}: last stable offset {each.last_stable_offset}, log end {each.end_offset}"
        )
    others = output.count(len(partitions) - len(waits), "partition")
    output.show(f"{others}: the last stable offset is the log's end")


def id_text(identity: UUID | None) -> str | None:
    """An id as Kafka prints it."""
    return None if identity is None else uuid_text(identity)


def moment(timestamp: int | None) -> str | None:
    """A time without its milliseconds, for a table."""
    return None if timestamp is None or timestamp < 0 else output.time_of(timestamp).partition(".")[0]
