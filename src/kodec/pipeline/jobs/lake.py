"""Appends log directories to lakehouse tables: new records since the last run, each offset once.

The table itself has the positions. Rows and positions come in one commit, so a run that is killed anywhere
leaves the table unchanged or with both; files without a commit belong to nothing and only cost space.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from kodec.log.batches.options import LogReadOptions, OnError
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.listing import TopicPartition
from kodec.log.files.paths import require_apart
from kodec.log.omissions import Omissions
from kodec.log.reading.ahead import cores
from kodec.log.remote.opening import open_location, require_outside_logs
from kodec.log.selection import Isolation, Partitions, Selection, Topics
from kodec.pipeline.columns import arrow_columns, chosen_columns
from kodec.pipeline.jobs.export import PartitionSummary, merged
from kodec.pipeline.lake.table import Conflict, LakeError, LakeTable, Move, Position
from kodec.pipeline.options import Options
from kodec.pipeline.plan import (
    FoundLog,
    Log,
    SourceSegment,
    Task,
    found_logs,
    lose,
    read_failed,
    relisted,
    tasks_of,
    weight,
)
from kodec.pipeline.rows import SegmentRows
from kodec.stores.modes import readable_as

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
        omissions: what was left out. Of a topic-partition with a file that cannot be reached nothing is in
            the table that is not in its positions, so a later run appends it.

    Example: see `append_to_lake`.
    """

    table: str
    partitions: list[PartitionSummary]
    commits: list[str]
    seconds: float
    omissions: Omissions

    @property
    def records(self) -> int:
        """The number of rows appended."""
        return sum(row.records for row in self.partitions)


@dataclass(slots=True)
class _Plan:
    """The new records: their pieces, and where each topic-partition begins."""

    logs: dict[TopicPartition, list[FoundLog]]
    topic_ids: dict[TopicPartition, str | None] = field(default_factory=dict)
    pieces: list[SourceSegment] = field(default_factory=list)
    firsts: dict[TopicPartition, int] = field(default_factory=dict)

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
    omissions: Omissions = field(default_factory=Omissions)
    unreachable: tuple[SourceSegment, OSError] | None = None

    def __call__(self) -> Iterator[pa.RecordBatch]:
        self.found.clear()
        self.omissions = Omissions()
        for part in self.task:
            try:
                yield from self._part(part)
            except OSError as error:
                self.unreachable = part, error
                raise

    def _part(self, part: SourceSegment) -> Iterator[pa.RecordBatch]:
        options = self.options
        facts = PartitionSummary(*part.topic_partition)
        rows = SegmentRows(
            part,
            self.columns,
            options=options.reading,
            committed=options.committed,
            fail_on_loss=options.fail_on_data_loss,
            exact_headers=True,
        )
        for batch in rows.batches():
            facts.note(batch)
            yield batch
        facts.note_end(part)
        self.found.append(facts)
        self.omissions.extend(rows.omissions)


def append_to_lake(
    logs: str | os.PathLike[str],
    table: LakeTable,
    *,
    topics: Topics = None,
    partitions: Partitions = None,
    isolation: Isolation = "read_uncommitted",
    include_internal: bool = False,
    include_headers: bool = True,
    include_decoded: bool = False,
    on_error: OnError = "raise",
    add_columns: bool = False,
    commit_bytes: int = 4 << 30,
    threads: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> AppendSummary:
    """Append the missing records of a log directory to a table, up to the last whole batch of each log.

    The rows have the columns of `export`. If another run, or a compaction, comes first, the new records are
    determined again. A topic-partition unknown to the table starts with the earliest offset.

    Args: table comes from `delta_table` or `iceberg_table`; offsets, timestamps and keys are not selected:
    the table's positions would not show which records are missing; on_error="skip" leaves out what is damaged
    or unknown, and offsets that are missing or were deleted before they were appended; "skip-unreachable"
    leaves out topic-partitions of which a file or folder cannot be read, whole, so that a later run appends
    them; both are listed in the summary; with add_columns a table that no export has appended to, which may
    be another program's, gets the columns that it lacks; a commit has about `commit_bytes` of log, so that
    a killed long run continues after the last one; the rest as in `export`.

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
    opened = open_location(logs).absolute()
    if table.path is not None:
        require_apart(opened, table.path)
        require_outside_logs(Path(table.path))
    selection = Selection.of(topics, partitions, isolation=isolation)
    options = (
        Options(
            paths=(opened,),
            include_headers=include_headers,
            include_internal=include_internal,
            include_decoded=include_decoded,
        )
        .with_on_error(on_error)
        .with_selection(selection)
    )
    # A hole in what is read would be in the positions: only whole topic-partitions are left out.
    reading = options.with_on_error("raise" if on_error == "raise" else "skip")
    columns = arrow_columns(chosen_columns(headers=include_headers, decoded=include_decoded))
    summaries: list[PartitionSummary] = []
    commits: list[str] = []
    omissions = Omissions()
    unreachable: set[TopicPartition] = set()
    lost = 0
    more = True
    with readable_as(opened):
        while more:
            plan = _planned(options, table, columns, unreachable, omissions, add_columns)
            tasks, more = _first(tasks_of(options, plan.pieces), commit_bytes)
            rows = [_TaskRows(task, reading, columns) for task in tasks]
            if rows:
                try:
                    commit = table.append(columns, rows, plan.moves(tasks), threads or cores())
                except Conflict:
                    lost, more = lost + 1, True
                    if lost == _TRIES:
                        raise
                    continue
                except Exception:
                    closed = [row.unreachable for row in rows if row.unreachable is not None]
                    if not closed or not options.reading.skips_unreachable:
                        raise
                    # nothing was committed: the others are read again
                    for part, error in closed:
                        unreachable.add(part.topic_partition)
                        omissions.failed(part.segment.log, read_failed(error, part.segment.log))
                    more = True
                    continue
                commits.append(commit)
                if progress is not None:
                    count = sum(r.records for row in rows for r in row.found)
                    progress(f"{table.name}: {commit}: {count:,} records")
            summaries += (facts for row in rows for facts in row.found)
            for row in rows:
                omissions.extend(row.omissions)
    return AppendSummary(table.name, merged(summaries), commits, time.monotonic() - started, omissions)


@relisted
def _planned(
    options: Options,
    table: LakeTable,
    columns: pa.Schema,
    unreachable: set[TopicPartition],
    omissions: Omissions,
    add_columns: bool,
) -> _Plan:
    """The records that the table lacks, but for topic-partitions that cannot be reached.

    Raises LogChanged, DataLoss; OSError unless the options say to go on after it.
    """
    logs_found = found_logs(options, omissions)
    plan = _Plan(logs_found)
    for owner, logs in logs_found.items():
        with _left_out_if_unreachable(logs):
            if owner not in unreachable and not any(log.segments == [] and log.is_unread for log in logs):
                plan.topic_ids[owner] = logs[0].topic_id
    known = table.positions(plan.topic_ids, columns, add_columns=add_columns)
    for owner in plan.topic_ids:
        with _left_out_if_unreachable(logs_found[owner]):
            _add(plan, Log(owner, logs_found[owner], options), known.get(owner))
    return plan


@contextmanager
def _left_out_if_unreachable(logs: list[FoundLog]) -> Iterator[None]:
    """Add a log that cannot be read to its account, if so configured."""
    try:
        yield
    except OSError as error:
        first = logs[0]
        if isinstance(error, FileNotFoundError) or not first.reading.skips_unreachable:
            raise
        first.leave(error)


def _add(plan: _Plan, log: Log, before: Position | None) -> None:
    """Plan what a table lacks of a log."""
    options, owner = log.options, log.owner
    if not log.require_start(0 if before is None else before.next):
        # the positions in the table would count them as appended
        return
    first, end = log.earliest, log.stable_end(committed=False)
    if before is not None:
        _require_same(before, plan.topic_ids[owner], log)
        if before.next < first:
            text = f"offsets {before.next} to {first - 1} of {owner} were deleted before they were appended"
            log.lose(text, before.next, first - 1)
        first = max(first, before.next)
    if (lost := log.lost_end(end)) is not None:
        lose(options, log.logs[0].omissions, lost)
    # of a log that was read to its end before, an undecided transaction may begin earlier
    stop = log.stable_end(committed=True) if options.committed else end
    if first < stop:
        pieces = log.between(first, stop)
        plan.firsts[owner] = first
        plan.pieces += pieces


def _require_same(before: Position, topic_id: str | None, log: Log) -> None:
    """Check that the log continues where the table ends. Raises LogChanged."""
    end = log.stable_end(committed=False)
    reason = ""
    if before.topic_id is not None and topic_id is not None and topic_id != before.topic_id:
        reason = f"is of topic id {topic_id}, the table's records are of {before.topic_id}"
    elif end < before.next:
        reason = f"ends at offset {end}, the table has its records up to {before.next}: it was truncated"
    elif before.epoch is not None and before.next > log.earliest:
        epoch = _epoch(log.logs[0], before.next - 1)
        if epoch is not None and epoch != before.epoch:
            reason = (
                f"has offset {before.next - 1} of leader epoch {epoch}, the table of {before.epoch}: "
                "it was truncated and rewritten"
            )
    if reason:
        text = f"{log.owner} is another log than before: it {reason}; export it to another table"
        raise LogChanged(text)


def _epoch(log: FoundLog, offset: int) -> int | None:
    """The leader epoch of an offset, from the checkpoint; None if that lacks it."""
    epochs = [] if log.folder is None else PartitionLog(log.folder).leader_epochs()
    index = bisect_right(epochs, offset, key=lambda epoch: epoch.start_offset)
    return epochs[index - 1].epoch if index else None


def _first(tasks: list[Task], commit_bytes: int) -> tuple[list[Task], bool]:
    """The first tasks with about this many bytes of log, at least one; whether there are more."""
    size = 0
    for number, task in enumerate(tasks):
        if number and size >= commit_bytes:
            return tasks[:number], True
        size += sum(map(weight, task))
    return tasks, False
