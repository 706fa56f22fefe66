"""Segments that stay in remote storage: which of them count, and the records that list them for a cluster.

Topics keep their ids, and so the objects their names. A fresh `__remote_log_metadata` lists the segments; the
local log of each replica begins after the last of them.

Followed: `RemoteLogManager`, `RemoteLogMetadataTopicPartitioner`, `RemoteLogMetadataSerde` and
`LogLoader.load` of Kafka 3.9 and 4.3.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator, Sequence
from typing import cast
from uuid import UUID

from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.generated.remote_log.remote_log_segment_metadata_record import (
    RemoteLogSegmentIdEntry,
    RemoteLogSegmentMetadataRecord,
    SegmentLeaderEpochEntry,
    TopicIdPartitionEntry,
)
from kodec.generated.remote_log.remote_log_segment_metadata_update_record import (
    RemoteLogSegmentIdEntry as UpdatedSegmentId,
)
from kodec.generated.remote_log.remote_log_segment_metadata_update_record import (
    RemoteLogSegmentMetadataUpdateRecord,
)
from kodec.generated.remote_log.remote_log_segment_metadata_update_record import (
    TopicIdPartitionEntry as UpdatedPartition,
)
from kodec.log.batches.records import Limits
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.checkpoints import LeaderEpoch
from kodec.log.messages.decoding import framed
from kodec.log.remote.lineage import CopiedSegment, CopyState, RemoteSegments
from kodec.log.remote.tier import Remote, RemoteSegment
from kodec.log.remote.view import real_of
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import FormatError, Malformed
from kodec.stores.storage import StorePath

__all__ = ["RemoteLog", "metadata_partition", "metadata_values", "read_remote_log"]

_STORED_ID = re.compile(r"[0-9]{20}-([A-Za-z0-9_-]{22})\.")


@dataclass(slots=True)
class RemoteLog:
    """The part of a log that stays in remote storage.

    Attributes:
        path: its folder, as one in a log directory. epochs: the lineage of leader epochs.
        segments: those that count, by offset. unused: how many others are there.
        start_offset, next_offset: of the first record, and after the last one.
        extends: whether the lineage is that of the local logs, which then go on where it ends.
        producers: those known at `next_offset`, as a broker's snapshot.
    """

    path: StorePath
    epochs: list[LeaderEpoch]
    segments: list[RemoteSegment] = field(repr=False)
    unused: int
    start_offset: int
    next_offset: int
    extends: bool
    producers: ProducerSnapshot = field(repr=False)
    _known: RemoteSegments = field(repr=False)

    @property
    def remote(self) -> Remote:
        """The remote storage."""
        return cast(Remote, self.path.files)

    def is_same(self) -> bool:
        """Whether the same segments count now, of the same sizes. Raises OSError, FormatError."""
        storage, name = self.remote, self.path.name
        now = storage.counted(name, storage.known(name) or self._known, self.epochs)
        return _facts(now[-len(self.segments) :]) == _facts(self.segments)

    @property
    def missing(self) -> Iterator[str]:
        """The missing offsets, and those that cannot be read."""
        reached = self.start_offset
        for segment in self.segments:
            if segment.first > reached:
                yield f"offsets {reached} to {segment.first - 1}: in no segment of remote storage"
            if segment.wrong:
                named = f"offsets {segment.first} to {segment.last}: segment {segment.copied.segment_id}"
                yield f"{named}: {segment.wrong}"
            reached = segment.last + 1

    @property
    def size(self) -> int:
        """The bytes of the logs of these segments."""
        return sum(segment.copied.size or 0 for segment in self.segments)

    def expired(self, retention_ms: int, retention_bytes: int, now: int) -> int:
        """How many segments retention would delete at once; a negative limit is none."""
        left, count = self.size, 0
        for segment in self.segments:
            newest = segment.copied.max_timestamp
            too_old = retention_ms >= 0 and newest is not None and 0 <= newest < now - retention_ms
            size = segment.copied.size or 0
            if not too_old and not (retention_bytes >= 0 and left - size >= retention_bytes):
                break
            left, count = left - size, count + 1
        return count


def read_remote_log(
    path: StorePath,
    local: Sequence[LeaderEpoch],
    log_start: int,
    limits: Limits,
    progress: Callable[[int], None],
) -> RemoteLog | None:
    """What counts of a topic-partition in remote storage; None if nothing does.

    By `__remote_log_metadata` or manifests nothing else is read; without them the logs are.

    Args:
        local: the leader epochs of the newest local log; empty for none.
        log_start: the log start offset, as far as a local log has it.

    Raises: OSError; FormatError for what is damaged.
    """
    storage, name = cast(Remote, path.files), path.name
    known = storage.known(name) or _by_reading(path, limits, progress)
    lineage = storage.lineage(name, known)
    extends = bool(local) and (not lineage or local[-1].epoch >= lineage[-1].epoch)
    epochs = _united(lineage, local) if extends else lineage
    segments = [segment for segment in storage.counted(name, known, epochs) if segment.last >= log_start]
    if not segments:
        return None
    start = max(segments[0].first, log_start)
    unused = len(known.finished()) - len({segment.copied.segment_id for segment in segments})
    by_id = {segment.copied.segment_id: segment.copied for segment in segments}
    again = RemoteSegments.copied(by_id.values()).parts(epochs, start)
    if [(segment.first, segment.last) for segment in again] != [
        (max(segment.first, start), segment.last) for segment in segments
    ]:
        raise Malformed(
            name,
            "segments that overlap in an order that no list of them keeps",
            at=0,
            need="another",
            have="",
        ).in_source(str(path))
    end = segments[-1].last + 1
    return RemoteLog(path, epochs, segments, unused, start, end, extends, _producers(segments[-1]), known)


def _producers(segment: RemoteSegment) -> ProducerSnapshot:
    """The producers at its end. Raises OSError, FormatError."""
    file = segment.files.get("snapshot")
    if file is None:
        return ProducerSnapshot()
    with file.open() as opened:
        data = opened.read()
    try:
        return ProducerSnapshot.from_bytes(data)
    except FormatError as error:
        raise error.in_source(str(file.real)) from None


def _facts(segments: Sequence[RemoteSegment]) -> list[object]:
    return [
        (
            segment.copied,
            segment.first,
            segment.last,
            segment.wrong,
            [(kind, file.status) for kind, file in segment.files.items()],
        )
        for segment in segments
    ]


def _united(remote: Sequence[LeaderEpoch], local: Sequence[LeaderEpoch]) -> list[LeaderEpoch]:
    """The lineage of a local log, and before it that of remote storage, which reaches back further."""
    first = local[0]
    same = [epoch.start_offset for epoch in remote if epoch.epoch == first.epoch]
    before = [
        epoch for epoch in remote if epoch.epoch < first.epoch and epoch.start_offset < first.start_offset
    ]
    return [*before, LeaderEpoch(first.epoch, min([first.start_offset, *same])), *local[1:]]


def _by_reading(path: StorePath, limits: Limits, progress: Callable[[int], None]) -> RemoteSegments:
    """The segments, from their batches. Raises FormatError for one that is damaged; OSError."""
    segments = []
    with PartitionLog(path, limits=limits) as log:
        for segment in log.segments:
            real = real_of(segment.path)
            match = None if real is None else _STORED_ID.match(real.name)
            if match is None:
                continue
            epochs: dict[int, int] = {}
            last, newest = segment.base_offset - 1, -1
            for batch in segment.batches():
                first = batch.base_offset if epochs else segment.base_offset
                epochs.setdefault(batch.partition_leader_epoch, first)
                last, newest = batch.last_offset, max(newest, batch.max_timestamp)
                progress(batch.size)
            lineage = tuple(LeaderEpoch(*epoch) for epoch in sorted(epochs.items()))
            segments.append(CopiedSegment(match[1], segment.base_offset, last, lineage, segment.size, newest))
            segment.close()
    return RemoteSegments.copied(segment for segment in segments if segment.epochs)


# -- the metadata -----------------------------------------------------------------------------------


def metadata_values(
    remote: RemoteLog, topic: str, topic_id: UUID, partition: int, broker: int, now: int
) -> Iterator[bytes]:
    """The records of `__remote_log_metadata` for these segments: each was copied, and is finished."""
    for copied in {segment.copied.segment_id: segment.copied for segment in remote.segments}.values():
        segment_id = UUID(bytes=urlsafe_b64decode(copied.segment_id + "=="))
        yield framed(
            RemoteLogSegmentMetadataRecord(
                remote_log_segment_id=RemoteLogSegmentIdEntry(
                    topic_id_partition=TopicIdPartitionEntry(name=topic, id=topic_id, partition=partition),
                    id=segment_id,
                ),
                start_offset=copied.start_offset,
                end_offset=copied.end_offset,
                broker_id=broker,
                max_timestamp_ms=-1 if copied.max_timestamp is None else copied.max_timestamp,
                event_timestamp_ms=now,
                segment_leader_epochs=[
                    SegmentLeaderEpochEntry(leader_epoch=epoch.epoch, offset=epoch.start_offset)
                    for epoch in copied.epochs
                ],
                segment_size_in_bytes=copied.size or 0,
                remote_log_segment_state=CopyState.COPY_STARTED,
                txn_index_empty=copied.without_aborted,
            ),
            0,
        )
        yield framed(
            RemoteLogSegmentMetadataUpdateRecord(
                remote_log_segment_id=UpdatedSegmentId(
                    topic_id_partition=UpdatedPartition(name=topic, id=topic_id, partition=partition),
                    id=segment_id,
                ),
                broker_id=broker,
                event_timestamp_ms=now,
                custom_metadata=copied.custom,
                remote_log_segment_state=CopyState.COPY_FINISHED,
            ),
            0,
        )


def metadata_partition(topic_id: UUID, partition: int, count: int) -> int:
    """The partition of `__remote_log_metadata` that has a topic-partition.

    Source: `RemoteLogMetadataTopicPartitioner`: murmur2 of Java's `Objects.hash` of the id's halves and the
    number.
    """
    number = 1
    low, high = topic_id.int & (2**64 - 1), topic_id.int >> 64
    for part in (low ^ low >> 32, high ^ high >> 32, partition):
        number = (31 * number + part) & 0xFFFF_FFFF
    return (_murmur2(number) & 0x7FFF_FFFF) % count


def _murmur2(value: int) -> int:
    """Of four bytes, big-endian, as `org.apache.kafka.common.utils.Utils.murmur2`."""
    multiplier, mask = 0x5BD1E995, 0xFFFF_FFFF
    part = int.from_bytes(value.to_bytes(4, "big"), "little") * multiplier & mask
    part = (part ^ part >> 24) * multiplier & mask
    digest = ((0x9747B28C ^ 4) * multiplier & mask) ^ part
    digest = (digest ^ digest >> 13) * multiplier & mask
    return digest ^ digest >> 15
