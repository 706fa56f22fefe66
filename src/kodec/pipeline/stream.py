"""The source as a stream: a log directory that grows, in micro-batches.

Offsets have the JSON form of Spark's Kafka source, `{"topic":{"0":124}}`, with the same meaning: the next
one to read. Follows `org.apache.spark.sql.kafka010.KafkaMicroBatchStream`. A batch that is incomplete, or
whose checksum is not yet right, does not count yet.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from kodec.log.files.listing import TopicPartition
from kodec.pipeline.options import Options
from kodec.pipeline.plan import Log, SourceSegment, data_loss, found_logs, relisted, tasks_of
from kodec.pipeline.reading import TaskPartition, TaskReader
from kodec.runtime.errors import KodecError

__all__ = ["LogStreamReader"]

Offsets = dict[str, dict[str, int]]
"""By topic and partition, as text: the next offset to read."""


class LogStreamReader(TaskReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reports the ends of the logs, and reads the records between two such offsets."""

    def __init__(self, wanted: StructType, options: Options) -> None:
        super().__init__(wanted, options)
        # The end of a query that ends, as with `availableNow`.
        self._last: dict[TopicPartition, int] | None = None
        # When the last micro-batch that did not wait was created.
        self._triggered = -math.inf

    @relisted
    def initialOffset(self) -> Offsets:
        """The start of a new query, by the options."""
        options = self.options
        return _json(
            {owner: log.resolved(options.start, options, whole=True) for owner, log in self._logs().items()}
        )

    @relisted
    def latestOffset(self, start: Offsets | None = None, limit: ReadLimit | None = None) -> Offsets:
        """The end of the next micro-batch: the current end, at most this many offsets from `start`."""
        logs = self._logs()
        ends = self._ends(logs) if self._last is None else self._last
        if start is None:
            return _json(ends)
        begin = _parsed(start)
        ends = _onward(begin, ends, logs)
        if limit is not None and not isinstance(limit, ReadAllAvailable):
            if self._last is None and self._waits(sum(_sizes(begin, ends, logs).values())):
                return start
            if isinstance(limit, ReadMaxRows):
                ends = _limited(begin, ends, logs, limit.max_rows)
        found = _json(ends)
        return start if found == start else found

    def getDefaultReadLimit(self) -> ReadLimit:
        """That of maxOffsetsPerTrigger, or of minOffsetsPerTrigger; `latestOffset` knows both."""
        most, least = self.options.trigger_offsets, self.options.least_offsets
        if most is not None:
            return ReadMaxRows(most)
        return ReadAllAvailable() if least is None else ReadMinRows(least)

    def _waits(self, offsets: int) -> bool:
        """Whether a micro-batch of this number of offsets waits for more, as in Spark's Kafka source: the
        first one does not."""
        now = time.monotonic()
        few = offsets < (self.options.least_offsets or 0)
        if few and now - self._triggered < self.options.trigger_delay:
            return True
        self._triggered = now
        return False

    @relisted
    def reportLatestOffset(self) -> Offsets:
        """The current ends of the logs."""
        return _json(self._ends(self._logs()))

    @relisted
    def prepareForTriggerAvailableNow(self) -> None:
        """Store the current ends of the logs: the query ends there."""
        self._last = self._ends(self._logs())

    @relisted
    def partitions(self, start: Offsets, end: Offsets) -> list[InputPartition]:
        """The tasks for the records between two offsets. Raises DataLoss if some are missing."""
        logs = self._logs()
        first, last = _parsed(start), _parsed(end)
        pieces: list[SourceSegment] = []
        for owner in sorted(set(first) - set(last)):
            data_loss(self.options, f"{owner} is gone; the query had read up to {first[owner]}")
        for owner, stop in sorted(last.items()):
            log = logs.get(owner)
            if log is None:
                if first.get(owner, 0) < stop:
                    data_loss(self.options, f"{owner} is gone, with offsets up to {stop}")
                continue
            pieces += log.between(first.get(owner), stop, self.options)
        return [TaskPartition(task) for task in tasks_of(self.options, pieces)]

    def _logs(self) -> dict[TopicPartition, Log]:
        found = found_logs(self.options)
        return {owner: Log(owner, each, self.options.reading) for owner, each in found.items()}

    def _ends(self, logs: Mapping[TopicPartition, Log]) -> dict[TopicPartition, int]:
        return {owner: log.stable_end(committed=self.options.committed) for owner, log in logs.items()}


def _json(offsets: Mapping[TopicPartition, int]) -> Offsets:
    found: Offsets = {}
    for owner, offset in sorted(offsets.items()):
        found.setdefault(owner.topic, {})[str(owner.partition)] = offset
    return found


def _parsed(offsets: Mapping[str, Any]) -> dict[TopicPartition, int]:
    """The offsets of a checkpoint, which may be that of another source. Raises KodecError."""
    try:
        return {
            TopicPartition(topic, int(partition)): int(offset)
            for topic, each in offsets.items()
            for partition, offset in each.items()
        }
    except (AttributeError, TypeError, ValueError):
        raise KodecError(
            f'kafka-log: the checkpoint has {offsets!r}; expected JSON like {{"orders":{{"0":23}}}}'
        ) from None


def _onward(
    start: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    logs: Mapping[TopicPartition, Log],
) -> dict[TopicPartition, int]:
    """The ends; if a query is past one, inside an open transaction, its position."""
    return {
        owner: max(end, min(start[owner], logs[owner].stable_end(committed=False)))
        if start.get(owner, end) > end and owner in logs
        else end
        for owner, end in ends.items()
    }


def _limited(
    start: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    logs: Mapping[TopicPartition, Log],
    most: int,
) -> dict[TopicPartition, int]:
    """About `most` offsets, in proportion to those of each topic-partition; at least one if it has some."""
    sizes = _sizes(start, ends, logs)
    total = sum(sizes.values())
    if total <= most:
        return dict(ends)
    return {
        owner: ends[owner] - size + min(size, max(1, most * size // total)) if size else ends[owner]
        for owner, size in sizes.items()
    }


def _sizes(
    start: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    logs: Mapping[TopicPartition, Log],
) -> dict[TopicPartition, int]:
    """The number of offsets of each topic-partition."""
    begins = {owner: start.get(owner, logs[owner].earliest if owner in logs else 0) for owner in ends}
    return {owner: max(0, end - begins[owner]) for owner, end in ends.items()}
