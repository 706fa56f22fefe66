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
from kodec.log.omissions import Cause, Omission, Omissions
from kodec.pipeline.options import Options
from kodec.pipeline.plan import Log, SourceSegment, found_logs, lose, relisted
from kodec.pipeline.reading import TaskReader, warn
from kodec.runtime.errors import KodecError

__all__ = ["LogStreamReader"]

Offsets = dict[str, dict[str, Any]]
"""By topic and partition, as text: the next offset to read; and, as `TOPIC_IDS`, the ids of the topics."""

TOPIC_IDS = "#topicIds"
"""The key of the topics' ids, by topic and partition, in offsets: no topic has such a name."""


class LogStreamReader(TaskReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reports the ends of the logs, and reads the records between two such offsets."""

    def __init__(self, schema: StructType, options: Options) -> None:
        super().__init__(schema, options)
        # The end of a query that ends, as with `availableNow`.
        self._last: dict[TopicPartition, int] | None = None
        # When the last micro-batch that did not wait was created.
        self._triggered = -math.inf
        # What the query was seen to leave out: each is a warning once.
        self._omissions = Omissions()

    @relisted
    def initialOffset(self) -> Offsets:
        """The start of a new query, by the options."""
        logs = self._logs(Omissions())
        starts = {owner: log.resolved(self.options.start, whole=True) for owner, log in logs.items()}
        return _json(starts, _ids_of(logs))

    @relisted
    def latestOffset(self, start: Offsets | None = None, limit: ReadLimit | None = None) -> Offsets:
        """The end of the next micro-batch: the current end, at most this many offsets from `start`.

        A log that is gone keeps its position: it may come back. Raises DataLoss; ReadFailed for one that
        cannot be read.
        """
        omissions = Omissions()
        logs = self._logs(omissions)
        ends = self._ends(logs) if self._last is None else dict(self._last)
        ids = _ids_of(logs)
        if start is None:
            return _json(ends, ids)
        begin, known = _parsed(start), _parsed_ids(start)
        for owner, position in begin.items():
            if owner not in logs or not logs[owner].pieces:
                self._report_deleted(owner, position, position, omissions)
                ends[owner], ids[owner] = position, known.get(owner)
        self._forget_replaced(begin, known, ids, logs, omissions)
        self._fresh(omissions, say=True)
        ends = _onward(begin, ends, logs)
        if limit is not None and not isinstance(limit, ReadAllAvailable):
            if self._last is None and self._waits(sum(_sizes(begin, ends, logs).values())):
                return start
            if isinstance(limit, ReadMaxRows):
                ends = _limited(begin, ends, logs, limit.max_rows)
        latest = _json(ends, ids)
        return start if latest == start else latest

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
        return _json(self._ends(self._logs(Omissions())))

    @relisted
    def prepareForTriggerAvailableNow(self) -> None:
        """Store the current ends of the logs: the query ends there."""
        self._last = self._ends(self._logs(Omissions()))

    @relisted
    def partitions(self, start: Offsets, end: Offsets) -> list[InputPartition]:
        """The tasks for the records between two offsets. Raises DataLoss if some are missing."""
        omissions = Omissions()
        logs = self._logs(omissions)
        first, last = _parsed(start), _parsed(end)
        self._forget_replaced(first, _parsed_ids(start), _parsed_ids(end), logs, omissions)
        ids = _ids_of(logs)
        for owner, known in _parsed_ids(end).items():
            if owner in logs and _differ(known, ids.get(owner)):
                self._report_deleted(owner, first.get(owner, 0), last[owner], omissions)
                del logs[owner]
        pieces: list[SourceSegment] = []
        for owner in sorted(set(first) - set(last)):
            self._report_deleted(owner, first[owner], first[owner], omissions)
        for owner, stop in sorted(last.items()):
            if owner in logs:
                pieces += logs[owner].between(first.get(owner), stop)
            elif first.get(owner, 0) < stop:
                self._report_deleted(owner, first.get(owner, 0), stop, omissions)
        return self.planned(pieces, self._fresh(omissions))

    def _logs(self, omissions: Omissions) -> dict[TopicPartition, Log]:
        listed = found_logs(self.options, omissions)
        return {owner: Log(owner, replicas, self.options) for owner, replicas in listed.items()}

    def _ends(self, logs: Mapping[TopicPartition, Log]) -> dict[TopicPartition, int]:
        return {owner: log.stable_end(committed=self.options.committed) for owner, log in logs.items()}

    def _report_deleted(self, owner: TopicPartition, first: int, stop: int, omissions: Omissions) -> None:
        """Report a log that has no segment any more, and was read up to `first`. Raises DataLoss."""
        what = "; the query had read" if first == stop else ", with offsets"
        text = f"{owner} is gone{what} up to {stop}"
        path = self.options.paths[0] / str(owner)
        offsets = (None, None) if first == stop else (first, stop - 1)
        lost = Omission(Cause.MISSING, path, text, first_offset=offsets[0], last_offset=offsets[1])
        lose(self.options, omissions, lost)

    def _forget_replaced(
        self,
        begin: dict[TopicPartition, int],
        known: Mapping[TopicPartition, str | None],
        ids: Mapping[TopicPartition, str | None],
        logs: Mapping[TopicPartition, Log],
        omissions: Omissions,
    ) -> None:
        """Remove the positions in logs of topics that were deleted and created again: those are new.

        Raises DataLoss.
        """
        for owner in [
            owner for owner in begin if owner in logs and _differ(known.get(owner), ids.get(owner))
        ]:
            text = (
                f"{owner} is of topic id {ids[owner]}, and the query had read {known[owner]} up to offset "
                f"{begin[owner]}: the topic was deleted and created again"
            )
            lose(self.options, omissions, Omission(Cause.MISSING, logs[owner].logs[0].path, text))
            del begin[owner]

    def _fresh(self, omissions: Omissions, *, say: bool = False) -> Omissions:
        """Of what is left out, what this query has not reported yet."""
        fresh = Omissions()
        fresh.extend(loss for loss in omissions.losses if self._omissions.add(loss))
        if say:
            warn(fresh)
        return fresh


def _differ(known: str | None, now: str | None) -> bool:
    return known is not None and now is not None and known != now


def _ids_of(logs: Mapping[TopicPartition, Log]) -> dict[TopicPartition, str | None]:
    return {owner: log.logs[0].topic_id for owner, log in logs.items() if log.logs[0].is_local}


def _json(
    offsets: Mapping[TopicPartition, int], ids: Mapping[TopicPartition, str | None] | None = None
) -> Offsets:
    by_topic: Offsets = _by_topic(offsets)
    known = {owner: ids[owner] for owner in offsets if ids and ids.get(owner) is not None}
    return {**by_topic, TOPIC_IDS: _by_topic(known)} if known else by_topic


def _by_topic(values: Mapping[TopicPartition, Any]) -> dict[str, Any]:
    by_topic: dict[str, Any] = {}
    for owner, value in sorted(values.items()):
        by_topic.setdefault(owner.topic, {})[str(owner.partition)] = value
    return by_topic


def _parsed(offsets: Mapping[str, Any]) -> dict[TopicPartition, int]:
    """The offsets of a checkpoint, which may be that of another source. Raises KodecError."""
    try:
        return {
            TopicPartition(topic, int(partition)): int(offset)
            for topic, partitions in offsets.items()
            if topic != TOPIC_IDS
            for partition, offset in partitions.items()
        }
    except (AttributeError, TypeError, ValueError):
        raise KodecError(
            f'kafka-log: the checkpoint has {offsets!r}; expected JSON like {{"orders":{{"0":23}}}}'
        ) from None


def _parsed_ids(offsets: Mapping[str, Any]) -> dict[TopicPartition, str | None]:
    """The topics' ids in a checkpoint, if it has any. Raises as `_parsed`."""
    try:
        return {
            TopicPartition(topic, int(partition)): str(topic_id)
            for topic, partitions in offsets.get(TOPIC_IDS, {}).items()
            for partition, topic_id in partitions.items()
        }
    except (AttributeError, TypeError, ValueError):
        raise KodecError(f"kafka-log: the checkpoint has {offsets!r}: its topic ids cannot be read") from None


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
