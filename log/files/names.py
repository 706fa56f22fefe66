"""What the files beside the segments are called, in a log directory and in a topic-partition's folder.

Source: `org.apache.kafka.storage.internals.checkpoint`, `LogManager`, `LogFileUtils`.
"""

from __future__ import annotations

__all__ = [
    "CLEANER_OFFSETS",
    "CLEAN_SHUTDOWN",
    "HIGH_WATERMARKS",
    "LEADER_EPOCHS",
    "LOCK",
    "LOG_START_OFFSETS",
    "META_PROPERTIES",
    "PARTITION_METADATA",
    "RECOVERY_POINTS",
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
