"""The offsets up to which partitions are in remote storage (KIP-405), from `__remote_log_metadata`.

Followed: `RemoteLogMetadataCache` of `org.apache.kafka.server.log.remote.metadata.storage`, Kafka 4.3.
"""

from __future__ import annotations

from uuid import UUID

from kodec.generated.remote_log.remote_log_segment_metadata_record import RemoteLogSegmentMetadataRecord
from kodec.generated.remote_log.remote_log_segment_metadata_update_record import (
    RemoteLogSegmentMetadataUpdateRecord,
)
from kodec.log.files.listing import TopicPartition
from kodec.log.views.reading import Completeness, batches_of, decoded, records_in
from kodec.log.views.replicas import Replicas

__all__ = ["REMOTE_TOPIC", "read_remote_offsets"]

REMOTE_TOPIC = "__remote_log_metadata"
_COPIED = 1


def read_remote_offsets(here: Replicas, account: Completeness) -> dict[TopicPartition, int]:
    """The highest offset of each topic-partition that is in remote storage, as far as the topic is available.

    {} if it is not. If only some of its partitions are, more may have been copied than this shows.
    """
    found: dict[TopicPartition, int] = {}
    if not any(each.topic == REMOTE_TOPIC for each in here.topic_partitions):
        return found
    for log in here.of_topic(REMOTE_TOPIC):
        # The last offsets of those whose copy has begun.
        begun: dict[UUID, int] = {}
        for batch in batches_of(log, account):
            for record in [] if batch.is_control else records_in(log, batch, account):
                told = decoded(REMOTE_TOPIC, record, account)
                message = None if told is None else told[0].message
                if not isinstance(
                    message, (RemoteLogSegmentMetadataRecord, RemoteLogSegmentMetadataUpdateRecord)
                ):
                    continue
                owner = message.remote_log_segment_id
                if isinstance(message, RemoteLogSegmentMetadataRecord):
                    begun[owner.id] = message.end_offset
                if message.remote_log_segment_state == _COPIED and owner.id in begun:
                    key = TopicPartition(owner.topic_id_partition.name, owner.topic_id_partition.partition)
                    found[key] = max(found.get(key, -1), begun.pop(owner.id))
        log.close()
    return found
