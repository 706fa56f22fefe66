"""The public names, which are those of `kodec` itself: import them from there."""

from kodec.formats.schema import Format, FormatReader, schema
from kodec.log.adoption.adopt import Adoption, AdoptionPlan, plan_adoption
from kodec.log.batches.batch import Batch
from kodec.log.batches.encode import encode
from kodec.log.batches.partitioner import partition_of
from kodec.log.batches.records import (
    ControlRecord,
    ControlRecordType,
    Limits,
    Record,
    SkippedRange,
    SkippedRanges,
    TimestampType,
    TornTail,
)
from kodec.log.cleaning.compaction import CompactionPlan, CompactionReport, plan_compaction
from kodec.log.cleaning.retention import TrimPlan, plan_trim
from kodec.log.conversion.batches import convert_batches
from kodec.log.conversion.options import ConvertOptions
from kodec.log.conversion.partition import ConversionPlan, plan_conversion
from kodec.log.conversion.report import ConversionReport, Loss
from kodec.log.directories.directory import LogDirectory
from kodec.log.directories.partition import Isolation, LogRead, PartitionLog
from kodec.log.directories.segment import Segment, TimestampOffset
from kodec.log.directories.transactions import AbortedTransaction, Transactions
from kodec.log.files.listing import TopicPartition
from kodec.log.kernel import backend
from kodec.log.reading.reader import BatchReader, RecordReader, read_batches, read_records
from kodec.log.recovery.plan import RecoveryPlan
from kodec.log.recovery.planning import plan_recovery, plan_reindex, plan_root
from kodec.log.recovery.salvage import MissingRange, SalvagePlan, SalvageReport, plan_salvage
from kodec.log.tables.reader import TableReader
from kodec.log.tables.table import (
    encode_table,
    read_batch_table,
    read_table,
    scan_batch_table,
    scan_table,
)
from kodec.log.verification.survey import Overview, survey
from kodec.log.verification.verify import Problem, verify
from kodec.log.views.epochs import EpochRange, LeaderEpochs, read_epochs
from kodec.log.views.groups import CommittedOffset, Group, GroupMember, Groups, ShareOffset, read_groups
from kodec.log.views.metadata import (
    Broker,
    ClusterMetadata,
    PartitionAssignment,
    Topic,
    read_metadata,
    read_metadata_snapshot,
)
from kodec.log.views.producers import ActiveProducer, Producers, read_producers
from kodec.log.views.reading import Account
from kodec.log.views.retention import KeptSegment, Retention, explain_retention
from kodec.log.views.transactions import (
    OpenTransaction,
    TransactionalId,
    TransactionsView,
    read_transactions,
)
from kodec.log.writing.config import LogConfig
from kodec.log.writing.directory_writer import LogDirectoryWriter
from kodec.log.writing.writer import AppendResult, LogWriter
from kodec.runtime import errors

__all__: list[str] = [
    "AbortedTransaction",
    "Account",
    "ActiveProducer",
    "Adoption",
    "AdoptionPlan",
    "AppendResult",
    "Batch",
    "BatchReader",
    "Broker",
    "ClusterMetadata",
    "CommittedOffset",
    "CompactionPlan",
    "CompactionReport",
    "ControlRecord",
    "ControlRecordType",
    "ConversionPlan",
    "ConversionReport",
    "ConvertOptions",
    "EpochRange",
    "Format",
    "FormatReader",
    "Group",
    "GroupMember",
    "Groups",
    "Isolation",
    "KeptSegment",
    "LeaderEpochs",
    "Limits",
    "LogConfig",
    "LogDirectory",
    "LogDirectoryWriter",
    "LogRead",
    "LogWriter",
    "Loss",
    "MissingRange",
    "OpenTransaction",
    "Overview",
    "PartitionAssignment",
    "PartitionLog",
    "Problem",
    "Producers",
    "Record",
    "RecordReader",
    "RecoveryPlan",
    "Retention",
    "SalvagePlan",
    "SalvageReport",
    "Segment",
    "ShareOffset",
    "SkippedRange",
    "SkippedRanges",
    "TableReader",
    "TimestampOffset",
    "TimestampType",
    "Topic",
    "TopicPartition",
    "TornTail",
    "TransactionalId",
    "Transactions",
    "TransactionsView",
    "TrimPlan",
    "backend",
    "convert_batches",
    "encode",
    "encode_table",
    "errors",
    "explain_retention",
    "partition_of",
    "plan_adoption",
    "plan_compaction",
    "plan_conversion",
    "plan_recovery",
    "plan_reindex",
    "plan_root",
    "plan_salvage",
    "plan_trim",
    "read_batch_table",
    "read_batches",
    "read_epochs",
    "read_groups",
    "read_metadata",
    "read_metadata_snapshot",
    "read_producers",
    "read_records",
    "read_table",
    "read_transactions",
    "scan_batch_table",
    "scan_table",
    "schema",
    "survey",
    "verify",
]
