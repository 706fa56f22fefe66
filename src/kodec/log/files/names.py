"""The names of files in a log directory and in a topic-partition's folder.

Source: `org.apache.kafka.storage.internals.checkpoint`, `LogManager`, `LogFileUtils`.
"""

from __future__ import annotations

from kodec.log.batches.format import KAFKA

__all__ = [
    "CLEANER_OFFSETS",
    "CLEAN_SHUTDOWN",
    "HIGH_WATERMARKS",
    "INDEXES",
    "LEADER_EPOCHS",
    "LOCK",
    "LOG_START_OFFSETS",
    "META_PROPERTIES",
    "OFFSET",
    "OMITTED_OFFSETS",
    "PARTITION_METADATA",
    "QUORUM_STATE",
    "RECOVERY_POINTS",
    "REDPANDA_OFFSETS",
    "file_name",
]

# of the log directory
LOCK = ".lock"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
# of a topic-partition's folder
LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
# kodec's own, for offsets left out by a conversion; brokers ignore it
OMITTED_OFFSETS = "kodec-omitted-offsets"
# of the folder of the metadata log
QUORUM_STATE = "quorum-state"
# `raft`: Redpanda's logs are read with the offsets of the Raft log, and not with Kafka's
REDPANDA_OFFSETS = "KODEC_REDPANDA_OFFSETS"
# next to a segment's log, in the order in which they are listed
INDEXES = KAFKA.files.indexes
OFFSET = KAFKA.files.offset
"""A regular expression for the offset in a file's name."""
file_name = KAFKA.files.name
"""The name of a file that belongs to an offset: the offset, the kind, and `.cleaned` or none."""
