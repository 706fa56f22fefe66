"""What is in remote storage (KIP-405), from `__remote_log_metadata`.

Followed: `RemotePartitionMetadataStore` and `RemoteLogMetadataCache` of
`org.apache.kafka.server.log.remote.metadata.storage`, Kafka 4.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from kodec.generated.remote_log.remote_log_segment_metadata_record import RemoteLogSegmentMetadataRecord
from kodec.generated.remote_log.remote_log_segment_metadata_update_record import (
    RemoteLogSegmentMetadataUpdateRecord,
)
from kodec.generated.remote_log.remote_partition_delete_metadata_record import (
    RemotePartitionDeleteMetadataRecord,
)
from kodec.log.files.checkpoints import LeaderEpoch
from kodec.log.files.listing import TopicPartition
from kodec.log.messages.as_json import uuid_text
from kodec.log.omissions import Omissions
from kodec.log.remote.lineage import CopiedSegment, CopyState, RemoteSegments
from kodec.log.remote.names import REMOTE_TOPIC
from kodec.log.views.reading import batches_of, decoded, records_in
from kodec.log.views.replicas import Replicas

__all__ = ["RemotePartition", "read_remote_offsets", "read_remote_segments"]

_DELETED = 2
_Message: TypeAlias = (
    RemoteLogSegmentMetadataRecord
    | RemoteLogSegmentMetadataUpdateRecord
    | RemotePartitionDeleteMetadataRecord
)


class RemotePartition(NamedTuple):
    """A topic-partition, and the id of its topic, as names in remote storage have it."""

    topic_partition: TopicPartition
    topic_id: str


def read_remote_segments(
    replicas: Replicas, omissions: Omissions
) -> dict[RemotePartition, RemoteSegments] | None:
    """The segments of each topic-partition, as far as the topic is available; None if it is not.

    If only some of its partitions are, topic-partitions may be missing.
    """
    remote: dict[RemotePartition, RemoteSegments] = {}
    if not _is_there(replicas):
        return None
    for message in _messages(replicas, omissions):
        if isinstance(message, RemotePartitionDeleteMetadataRecord):
            if message.remote_partition_delete_state == _DELETED:
                remote.pop(_partition(message.topic_id_partition), None)
            continue
        owner = message.remote_log_segment_id
        segments = remote.setdefault(_partition(owner.topic_id_partition), RemoteSegments())
        state = message.remote_log_segment_state
        if isinstance(message, RemoteLogSegmentMetadataUpdateRecord):
            if state in list(CopyState):
                segments.change(uuid_text(owner.id), CopyState(state), message.custom_metadata)
        elif state == CopyState.COPY_STARTED:
            segments.begin(_segment(message))
    return remote


def read_remote_offsets(replicas: Replicas, omissions: Omissions) -> dict[TopicPartition, int]:
    """The highest offset of each topic-partition that is in remote storage, as far as the topic is available.

    {} if it is not. If only some of its partitions are, more may have been copied than this shows.
    """
    offsets: dict[TopicPartition, int] = {}
    if not _is_there(replicas):
        return offsets
    # The last offsets of those whose copy has begun.
    started: dict[UUID, int] = {}
    for message in _messages(replicas, omissions):
        if isinstance(message, RemotePartitionDeleteMetadataRecord):
            continue
        owner = message.remote_log_segment_id
        if isinstance(message, RemoteLogSegmentMetadataRecord):
            started[owner.id] = message.end_offset
        if message.remote_log_segment_state == CopyState.COPY_FINISHED and owner.id in started:
            key = _partition(owner.topic_id_partition).topic_partition
            offsets[key] = max(offsets.get(key, -1), started.pop(owner.id))
    return offsets


def _is_there(replicas: Replicas) -> bool:
    return any(topic_partition.topic == REMOTE_TOPIC for topic_partition in replicas.topic_partitions)


def _messages(replicas: Replicas, omissions: Omissions) -> Iterator[_Message]:
    """The messages of the topic; those about a topic-partition are in one of its partitions, in order."""
    for log in replicas.of_topic(REMOTE_TOPIC):
        if log.start_offset:
            omissions.gap(log.path, 0, log.start_offset - 1, "earlier segments are unknown")
        for batch in batches_of(log, omissions):
            for record in [] if batch.is_control else records_in(log, batch, omissions):
                read = decoded(REMOTE_TOPIC, record, omissions)
                message = None if read is None else read[0].message
                if isinstance(message, _Message):
                    yield message
        log.close()


def _segment(message: RemoteLogSegmentMetadataRecord) -> CopiedSegment:
    epochs = sorted(LeaderEpoch(epoch.leader_epoch, epoch.offset) for epoch in message.segment_leader_epochs)
    return CopiedSegment(
        uuid_text(message.remote_log_segment_id.id),
        message.start_offset,
        message.end_offset,
        tuple(epochs),
        message.segment_size_in_bytes,
        message.max_timestamp_ms,
        message.custom_metadata,
        message.txn_index_empty,
    )


def _partition(owner: Any) -> RemotePartition:
    return RemotePartition(TopicPartition(owner.name, owner.partition), uuid_text(owner.id))
