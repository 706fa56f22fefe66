"""Appends log directories to lakehouse tables: new records since the last run, each offset once.

The table itself has the positions. Rows and positions come in one commit, so a run that is killed anywhere
leaves the table unchanged or with both; files without a commit belong to nothing and only cost space.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from kodec.log.batches.options import LogReadOptions, OnError
from kodec.log.directories.partition import Isolation, PartitionLog
from kodec.log.files.listing import TopicPartition
from kodec.log.files.paths import require_apart, require_outside_logs
from kodec.log.messages.as_json import uuid_text
from kodec.log.reading.ahead import cores
from kodec.pipeline.columns import arrow_columns, chosen_columns
from kodec.pipeline.jobs.export import PartitionSummary, merged
from kodec.pipeline.lake.table import Conflict, LakeError, LakeTable, Move, Position
from kodec.pipeline.options import Options
from kodec.pipeline.plan import (
    FoundLog,
    Log,
    SourceSegment,
    Task,
    data_loss,
    found_logs,
    relisted,
    tasks_of,
    weight,
)
from kodec.pipeline.rows import SegmentRows
from kodec.stores.storage import path_of, readable

__all__ = ["AppendSummary", "LogChanged", "append_to_lake"]

_TRIES = 10


class LogChanged(LakeError):
    """A log is not the one, or has changed, that a table has records of: new records cannot be appended
    to them."""


@dataclass(frozen=True, slots=True)
class AppendSummary:
    """The result of a run: a row for each topic-partition, by topic and partition.

    Attributes:
        table: where it is.
        partitions: what was appended, by topic and partition.
        commits: snapshots or versions, in their order.
        seconds: how long it took.

    Example: see `append_to_lake`.
    """

    table: str
    partitions: list[PartitionSummary]
    commits: list[str]
    seconds: float

    @property
    def records(self) -> int:
        """The number of rows appended."""
        return sum(row.records for row in self.partitions)


@dataclass(slots=True)
class _Plan:
    """The new records: their pieces, and where each topic-partition begins.

    Attributes: notes list records deleted before they could be appended.
    """

    logs: dict[TopicPartition, list[FoundLog]]
    topic_ids: dict[TopicPartition, str | None]
    pieces: list[SourceSegment] = field(default_factory=list)
    firsts: dict[TopicPartition, int] = field(default_factory=dict)
    notes: list[PartitionSummary] = field(default_factory=list)

    def moves(self, tasks: Iterable[Task]) -> dict[TopicPartition, Move]:
        """How far the table is after these tasks, which are the first ones."""
        ends = {part.topic_partition: part.stop for task in tasks for part in task}
        return {
            owner: Move(
                self.firsts[owner],
                Position(stop, _epoch(self.logs[owner][0], stop - 1), self.topic_ids[owner]),
            )
            for owner, stop in ends.items()
            if stop is not None
        }


@dataclass(slots=True)
class _TaskRows:
    """The rows of a task, and its findings; reset when the task is begun again."""

    task: Task
    options: Options
    columns: pa.Schema
    found: list[PartitionSummary] = field(default_factory=list)

    def __call__(self) -> Iterator[pa.RecordBatch]:
        self.found.clear()
        options = self.options
        for part in self.task:
            facts = PartitionSummary(*part.topic_partition)
            rows = SegmentRows(
                part,
                self.columns,
                options=options.reading,
                committed=options.committed,
                fail_on_loss=options.fail_on_data_loss,
            )
            for batch in rows.batches():
                facts.note(batch)
                yield batch
            facts.note_end(part, rows.left)
            self.found.append(facts)


def append_to_lake(
    log_dir: str | os.PathLike[str],
    table: LakeTable,
    *,
    topics: Iterable[str] | None = None,
    include_internal: bool = False,
    include_headers: bool = True,
    include_decoded: bool = False,
    isolation: Isolation = "read_uncommitted",
    on_error: OnError = "raise",
    commit_bytes: int = 4 << 30,
    threads: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> AppendSummary:
    """Append the missing records of a log directory to a table, up to the last whole batch of each log.

    The rows have the columns of `export`. If another run, or a compaction, comes first, the new records are
    determined again. A topic-partition unknown to the table starts with the earliest offset.

    Args: table comes from `delta_table` or `iceberg_table`; with isolation="read_committed" the rows are
    those of transactions that are committed, up to the first that is undecided; on_error="skip" leaves out
    corrupt ranges, and offsets that were deleted before they were appended, and lists them in the summary; a
    commit has about `commit_bytes` of log, so that a killed long run continues after the last one; the
    rest as in `export`.

    Returns: a row for each topic-partition.
    Raises: LogChanged for a log that ends before the table's records, or is another one; LakeError for a
    table that cannot be appended to, and if rows do not fit its columns; with on_error="raise" FormatError at
    corrupt bytes, and `kodec.pipeline.plan.DataLoss` for offsets that are missing; Conflict if others
    commit endlessly; ValueError for bad arguments; OSError.

    Example:
        >>> from kodec.pipeline import append_to_lake, delta_table
        >>> table = delta_table("records")
        >>> append_to_lake("/data/kafka-logs", table, topics=["orders"]).records
        1200
        >>> append_to_lake("/data/kafka-logs", table, topics=["orders"]).records
        0
    """
    started = time.monotonic()
    LogReadOptions(on_error=on_error)
    if table.path is not None:
        require_apart(readable(log_dir), table.path)
        require_outside_logs(Path(table.path))
    given = {
        "path": path_of(log_dir).absolute().as_uri(),
        "includeHeaders": str(include_headers).lower(),
        "includeInternal": str(include_internal).lower(),
        "includeDecoded": str(include_decoded).lower(),
        "mode": "permissive" if on_error == "skip" else "failfast",
        "failOnDataLoss": str(on_error == "raise").lower(),
        "kafka.isolation.level": isolation,
    }
    if topics is not None:
        given["subscribe"] = ",".join(topics)
    options = Options.parse(given)
    columns = arrow_columns(chosen_columns(headers=include_headers, decoded=include_decoded))
    found: list[PartitionSummary] = []
    commits: list[str] = []
    lost = 0
    more = True
    while more:
        plan = _planned(options, table, columns)
        tasks, more = _first(tasks_of(options, plan.pieces), commit_bytes)
        rows = [_TaskRows(task, options, columns) for task in tasks]
        if rows:
            try:
                commit = table.append(columns, rows, plan.moves(tasks), threads or cores())
            except Conflict:
                lost, more = lost + 1, True
                if lost == _TRIES:
                    raise
                continue
            commits.append(commit)
            if progress is not None:
                progress(
                    f"{table.name}: {commit}: {sum(r.records for each in rows for r in each.found):,} records"
                )
        found += [*plan.notes, *(facts for each in rows for facts in each.found)]
    return AppendSummary(table.name, merged(found), commits, time.monotonic() - started)


@relisted
def _planned(options: Options, table: LakeTable, columns: pa.Schema) -> _Plan:
    """The records that the table lacks. Raises LogChanged, DataLoss."""
    found = found_logs(options)
    plan = _Plan(found, {owner: _topic_id(logs[0]) for owner, logs in found.items()})
    known = table.positions(plan.topic_ids, columns)
    for owner, logs in found.items():
        log = Log(owner, logs, options.reading)
        first, end = log.earliest, log.stable_end(committed=False)
        if (before := known.get(owner)) is not None:
            _require_same(owner, before, plan.topic_ids[owner], log, logs[0])
            if before.next < first:
                text = (
                    f"offsets {before.next} to {first - 1} of {owner} were deleted before they were appended"
                )
                data_loss(options, text)
                plan.notes.append(PartitionSummary(*owner, skipped=[text]))
            first = max(first, before.next)
        # of a log that was read to its end before, an undecided transaction may begin earlier
        stop = log.stable_end(committed=True) if options.committed else end
        if first < stop:
            plan.firsts[owner] = first
            plan.pieces += log.between(first, stop, options)
    return plan


def _require_same(
    owner: TopicPartition, before: Position, topic_id: str | None, log: Log, found: FoundLog
) -> None:
    """Check that the log continues where the table ends. Raises LogChanged."""
    end = log.stable_end(committed=False)
    why = ""
    if before.topic_id is not None and topic_id is not None and topic_id != before.topic_id:
        why = f"is of topic id {topic_id}, the table's records are of {before.topic_id}"
    elif end < before.next:
        why = f"ends at offset {end}, the table has its records up to {before.next}: it was truncated"
    elif before.epoch is not None and before.next > log.earliest:
        epoch = _epoch(found, before.next - 1)
        if epoch is not None and epoch != before.epoch:
            why = (
                f"has offset {before.next - 1} of leader epoch {epoch}, the table of {before.epoch}: "
                "it was truncated and rewritten"
            )
    if why:
        raise LogChanged(f"{owner} is another log than before: it {why}; export it to another table")


def _folder(found: FoundLog) -> Path | None:
    if found.tiered is not None:
        return None
    return found.path if found.alone is None else found.path.parent


def _topic_id(found: FoundLog) -> str | None:
    """As Kafka prints it."""
    folder = _folder(found)
    metadata = None if folder is None else PartitionLog(folder).metadata()
    return None if metadata is None else uuid_text(metadata.topic_id)


def _epoch(found: FoundLog, offset: int) -> int | None:
    """The leader epoch of an offset, from the checkpoint; None if that lacks it."""
    folder = _folder(found)
    epochs = [] if folder is None else PartitionLog(folder).leader_epochs()
    at = bisect_right(epochs, offset, key=lambda each: each.start_offset)
    return epochs[at - 1].epoch if at else None


def _first(tasks: list[Task], commit_bytes: int) -> tuple[list[Task], bool]:
    """The first tasks with about this many bytes of log, at least one; whether there are more."""
    size = 0
    for number, task in enumerate(tasks):
        if number and size >= commit_bytes:
            return tasks[:number], True
        size += sum(map(weight, task))
    return tasks, False
