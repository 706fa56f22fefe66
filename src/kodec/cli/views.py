"""Shared parts of the verbs that read a broker's state from log directories."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from kodec.cli import output
from kodec.cli.outcome import Missing
from kodec.cli.parser import Argument, Option
from kodec.log.directories.partition import PartitionLog
from kodec.log.messages.as_json import uuid_text
from kodec.log.remote.resolve import NotALog
from kodec.log.views.groups import read_groups
from kodec.log.views.metadata import METADATA_TOPIC
from kodec.log.views.producers import Producers
from kodec.log.views.replicas import Replicas
from kodec.runtime.near import meant

__all__ = [
    "GROUPS",
    "LOG_DIRS",
    "id_text",
    "logs_of",
    "missing_group",
    "moment",
    "tell_stable_offsets",
]

LOG_DIRS = Argument(
    metavar="DIR...",
    exists=True,
    file_okay=False,
    urls=True,
    help="log.dirs folders, of one broker or of several.",
)
GROUPS = Option("--group", help="Only this group; repeatable.")


def logs_of(
    replicas: Replicas, topics: list[str] | None, partitions: list[int] | None = None
) -> list[PartitionLog]:
    """The selected logs; without topics, all but the metadata log. Raises NotALog."""
    logs = [log for topic in topics for log in replicas.of_topic(topic)] if topics else list(replicas)
    selected = [
        log
        for log in logs
        if (topics or log.topic_partition.topic != METADATA_TOPIC)
        and (not partitions or log.topic_partition.partition in partitions)
    ]
    if not selected:
        raise NotALog(f"{replicas.shown}: no such partition in it")
    return selected


def missing_group(name: str, paths: list[Path]) -> Missing:
    """What to raise where log directories have no such group. Raises what reading them raises."""
    known = {group.group for group in read_groups(*paths, topics=()).groups}
    return Missing(f"no group {name} in {', '.join(map(str, paths))}{meant(name, known)}")


def tell_stable_offsets(partitions: list[Producers]) -> None:
    """A line for each partition with undecided records."""
    waits = [partition for partition in partitions if partition.last_stable_offset != partition.end_offset]
    for partition in waits:
        output.show(
            f"{partition.topic_partition}: last stable offset {partition.last_stable_offset}, "
            f"log end {partition.end_offset}"
        )
    others = output.count(len(partitions) - len(waits), "partition")
    output.show(f"{others}: the last stable offset is the log's end")


def id_text(identity: UUID | None) -> str | None:
    """An id as Kafka prints it."""
    return None if identity is None else uuid_text(identity)


def moment(timestamp: int | None) -> str | None:
    """A time without its milliseconds, for a table."""
    return None if timestamp is None or timestamp < 0 else output.time_of(timestamp).partition(".")[0]
