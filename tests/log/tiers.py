"""Segments in remote storage that tests make: in both layouts, with `__remote_log_metadata`."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import kodec
from kodec.generated.log.producer_snapshot import ProducerSnapshot
from kodec.generated.remote_log.remote_log_segment_metadata_record import (
    RemoteLogSegmentIdEntry,
    RemoteLogSegmentMetadataRecord,
    SegmentLeaderEpochEntry,
    TopicIdPartitionEntry,
)
from kodec.generated.remote_log.remote_log_segment_metadata_update_record import (
    RemoteLogSegmentMetadataUpdateRecord,
)
from kodec.generated.remote_log.remote_partition_delete_metadata_record import (
    RemotePartitionDeleteMetadataRecord,
)
from kodec.log.files.checkpoints import LeaderEpoch, leader_epochs_bytes
from kodec.log.files.listing import TopicPartition
from kodec.log.remote.lineage import CopiedSegment, CopyState
from tests.log import made
from tests.log.replica_histories import OWNER, Written

TOPIC_ID = UUID("2a81d1ab-d0a3-4875-b0ef-0972a1adc73f")
LAYOUTS = ("kafka", "aiven")


def text_of(value: UUID) -> str:
    return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def folder_of(tier: Path, layout: str, topic_id: UUID = TOPIC_ID) -> Path:
    """The folder of the topic-partition."""
    if layout == "kafka":
        return tier / f"{OWNER}-{text_of(topic_id)}"
    return tier / f"{OWNER.topic}-{text_of(topic_id)}" / str(OWNER.partition)


def segment_of(batches: Sequence[Written], lineage: Sequence[LeaderEpoch], segment_id: UUID) -> CopiedSegment:
    """What a leader with these epochs reports about a segment that it copies."""
    first, last = batches[0].first, batches[-1].last
    ends = [*(each.start_offset for each in lineage[1:]), 1 << 62]
    epochs = tuple(
        LeaderEpoch(epoch, max(start, first))
        for (epoch, start), end in zip(lineage, ends, strict=True)
        if start <= last and end > first
    )
    return CopiedSegment(text_of(segment_id), first, last, epochs, sum(len(each.data) for each in batches))


def copy(
    tier: Path, layout: str, batches: Sequence[Written], lineage: Sequence[LeaderEpoch], segment_id: UUID
) -> CopiedSegment:
    """The objects of a segment, as a leader with these epochs copies it."""
    segment = segment_of(batches, lineage, segment_id)
    folder = folder_of(tier, layout)
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / f"{segment.start_offset:020}-{segment.segment_id}"
    known = [each for each in lineage if each.start_offset <= segment.end_offset]
    with tempfile.TemporaryDirectory() as local:
        made.make(Path(local), [(segment.start_offset, [each.data for each in batches])])
        files = {path.suffix[1:]: path.read_bytes() for path in Path(local).iterdir()}
    files["leader_epoch_checkpoint"] = leader_epochs_bytes(known)
    files["snapshot"] = ProducerSnapshot().to_bytes()
    if layout == "kafka":
        for kind, data in files.items():
            stem.with_name(f"{stem.name}.{kind}").write_bytes(data)
        return segment
    names = {"offset": "index", "timestamp": "timeindex", "producerSnapshot": "snapshot"}
    names["leaderEpoch"] = "leader_epoch_checkpoint"
    indexes, places = b"", {}
    for name, kind in names.items():
        places[name] = {"position": len(indexes), "size": len(files[kind])}
        indexes += files[kind]
    size = len(files["log"])
    manifest = {
        "version": "1",
        "chunkIndex": {
            "type": "fixed",
            "originalChunkSize": size,
            "originalFileSize": size,
            "transformedChunkSize": size,
            "finalTransformedChunkSize": size,
        },
        "segmentIndexes": {**places, "transaction": None},
        "compression": False,
        "remoteLogSegmentMetadata": {
            "remoteLogSegmentId": {
                "topicIdPartition": {
                    "topicId": text_of(TOPIC_ID),
                    "topicPartition": {"topic": OWNER.topic, "partition": OWNER.partition},
                },
                "id": segment.segment_id,
            },
            "startOffset": segment.start_offset,
            "endOffset": segment.end_offset,
            "segmentLeaderEpochs": {str(epoch): start for epoch, start in segment.epochs},
        },
    }
    stem.with_name(f"{stem.name}.log").write_bytes(files["log"])
    stem.with_name(f"{stem.name}.indexes").write_bytes(indexes)
    stem.with_name(f"{stem.name}.rsm-manifest").write_text(json.dumps(manifest))
    return segment


class Metadata:
    """Events for `__remote_log_metadata`, in order."""

    def __init__(self, topic_id: UUID = TOPIC_ID, owner: TopicPartition = OWNER) -> None:
        self._owner = TopicIdPartitionEntry(owner.topic, topic_id, owner.partition)
        self._values: list[bytes] = []

    def _id(self, segment: CopiedSegment) -> RemoteLogSegmentIdEntry:
        value = UUID(bytes=base64.urlsafe_b64decode(segment.segment_id + "=="))
        return RemoteLogSegmentIdEntry(self._owner, value)

    def begin(self, segment: CopiedSegment) -> None:
        message = RemoteLogSegmentMetadataRecord(
            remote_log_segment_id=self._id(segment),
            start_offset=segment.start_offset,
            end_offset=segment.end_offset,
            segment_leader_epochs=[SegmentLeaderEpochEntry(*each) for each in segment.epochs],
            segment_size_in_bytes=segment.size or 0,
        )
        self._values.append(made.framed(message))

    def change(self, segment: CopiedSegment, state: CopyState) -> None:
        message = RemoteLogSegmentMetadataUpdateRecord(
            remote_log_segment_id=self._id(segment), remote_log_segment_state=int(state)
        )
        self._values.append(made.framed(message))

    def copied(self, segment: CopiedSegment) -> None:
        self.begin(segment)
        self.change(segment, CopyState.COPY_FINISHED)

    def partition_deleted(self) -> None:
        message = RemotePartitionDeleteMetadataRecord(self._owner, remote_partition_delete_state=2)
        self._values.append(made.framed(message))

    def write(self, logs: Path) -> None:
        """The topic in a log directory."""
        rows = [kodec.Record(value=value, timestamp=made.START) for value in self._values]
        data = [kodec.encode([row], base_offset=number) for number, row in enumerate(rows)]
        made.make(logs / "__remote_log_metadata-0", [(0, data)])
