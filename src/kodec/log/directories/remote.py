"""The offsets of a log that are in remote storage, by the metadata of remote segments beside it.

`kodec.log.remote.metadata` reads all of it; here only the first offset of each topic-partition matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from uuid import UUID

from kodec.log.batches.records import Record
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.listing import TopicPartition, find_partitions
from kodec.log.reading.reader import read_batches
from kodec.log.remote.lineage import CopyState
from kodec.log.remote.names import REMOTE_TOPIC
from kodec.runtime.errors import FormatError

__all__ = ["first_remote_offset"]

_PARTITION_DELETED = 2


def first_remote_offset(log: PartitionLog) -> int | None:
    """The first offset of a log that is in remote storage; None if none is.

    By `__remote_log_metadata` beside it, without what of it is damaged. Raises OSError where that cannot be
    read.
    """
    metadata = None
    with suppress(FormatError):
        # of any topic with its name, where the id is damaged
        metadata = log.metadata()
    topic_id = None if metadata is None else metadata.topic_id
    firsts = [
        first
        for (owner, of_id), first in _firsts(log.root, log.root.stat().st_mtime_ns).items()
        if owner == log.topic_partition and topic_id in (None, of_id)
    ]
    return min(firsts, default=None)


@lru_cache(maxsize=32)
def _firsts(root: Path, _: int) -> Mapping[tuple[TopicPartition, UUID], int]:
    """The first offset of each topic-partition in remote storage: read once for all logs of a directory."""
    folders = [
        folder.path for folder in find_partitions(root) if folder.topic_partition.topic == REMOTE_TOPIC
    ]
    if not folders:
        return {}
    # with all messages of Kafka's own topics
    from kodec.generated.remote_log.remote_log_segment_metadata_record import RemoteLogSegmentMetadataRecord
    from kodec.generated.remote_log.remote_log_segment_metadata_update_record import (
        RemoteLogSegmentMetadataUpdateRecord,
    )
    from kodec.generated.remote_log.remote_partition_delete_metadata_record import (
        RemotePartitionDeleteMetadataRecord,
    )
    from kodec.log.messages.decoding import decode_record

    starts: dict[UUID, tuple[tuple[TopicPartition, UUID], int]] = {}
    copied: set[UUID] = set()
    for folder in folders:
        with PartitionLog(folder) as log:
            for record in _readable(log):
                for part in decode_record(REMOTE_TOPIC, record.key, record.value):
                    message = None if part is None else part.message
                    if isinstance(message, RemotePartitionDeleteMetadataRecord):
                        of, state = message.topic_id_partition, message.remote_partition_delete_state
                        owner = TopicPartition(of.name, of.partition), of.id
                        if state == _PARTITION_DELETED:
                            starts = {key: entry for key, entry in starts.items() if entry[0] != owner}
                    elif isinstance(message, RemoteLogSegmentMetadataRecord):
                        segment = message.remote_log_segment_id
                        its = segment.topic_id_partition
                        owner = TopicPartition(its.name, its.partition), its.id
                        starts[segment.id] = owner, message.start_offset
                    elif isinstance(message, RemoteLogSegmentMetadataUpdateRecord):
                        is_there = message.remote_log_segment_state == CopyState.COPY_FINISHED
                        (copied.add if is_there else copied.discard)(message.remote_log_segment_id.id)
    lowest: dict[tuple[TopicPartition, UUID], int] = {}
    for key, (owner, start) in starts.items():
        if key in copied:
            lowest[owner] = min(lowest.get(owner, start), start)
    return lowest


def _readable(log: PartitionLog) -> Iterator[Record]:
    """The records of a log that are not damaged. Raises OSError."""
    for segment in log.segments:
        with read_batches(segment.path, on_error="skip", limits=log.limits) as reader:
            for batch in reader:
                with suppress(FormatError):
                    yield from batch.records()
