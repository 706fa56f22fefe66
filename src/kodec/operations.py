"""Operations on log files without a broker: trim, compact, convert, edit, adopt, and read their state."""

from typing import TYPE_CHECKING

from kodec.log.adoption.adopt import Adoption, AdoptionPlan, plan_adoption
from kodec.log.backup.backup import BackupPlan, BackupReport, plan_backup
from kodec.log.backup.points import BackupProblem, PrunePlan, check_backup, list_points, plan_prune
from kodec.log.cleaning.compaction import CompactionPlan, CompactionReport, plan_compaction
from kodec.log.cleaning.redaction import RedactionPlan, RedactionReport, plan_redaction
from kodec.log.cleaning.retention import TrimPlan, plan_trim
from kodec.log.conversion.batches import convert_batches
from kodec.log.conversion.options import ConvertOptions
from kodec.log.conversion.partition import ConversionPlan, plan_conversion
from kodec.log.conversion.report import ConversionReport, Loss
from kodec.log.editing.dump import log_lines
from kodec.log.editing.load import LoadedLog, LoadPlan, plan_load
from kodec.log.rebuild.plan import RebuildPlan, RebuiltPartition
from kodec.log.rebuild.planning import plan_rebuild
from kodec.log.rebuild.records import NewPartition, NewTopic
from kodec.log.remote.point import BackupDirectory, BackupFile, BackupPartition, BackupPoint
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
from kodec.log.views.retention import KeptSegment, Retention, SegmentTime, explain_retention
from kodec.log.views.transactions import (
    OpenTransaction,
    TransactionalId,
    TransactionStates,
    read_transactions,
)
from kodec.log.views.translation import OffsetTranslations, TranslatedOffset, translate_offsets
from kodec.runtime.public import publish

__all__ = [
    "ActiveProducer",
    "Adoption",
    "AdoptionPlan",
    "BackupDirectory",
    "BackupFile",
    "BackupPartition",
    "BackupPlan",
    "BackupPoint",
    "BackupProblem",
    "BackupReport",
    "Broker",
    "ClusterMetadata",
    "CommittedOffset",
    "CompactionPlan",
    "CompactionReport",
    "ConversionPlan",
    "ConversionReport",
    "ConvertOptions",
    "EpochRange",
    "Group",
    "GroupMember",
    "Groups",
    "KeptSegment",
    "LeaderEpochs",
    "LoadPlan",
    "LoadedLog",
    "Loss",
    "NewPartition",
    "NewTopic",
    "OffsetTranslations",
    "OpenTransaction",
    "PartitionAssignment",
    "Producers",
    "PrunePlan",
    "RebuildPlan",
    "RebuiltPartition",
    "RedactionPlan",
    "RedactionReport",
    "Retention",
    "SegmentTime",
    "ShareOffset",
    "Topic",
    "TransactionStates",
    "TransactionalId",
    "TranslatedOffset",
    "TrimPlan",
    "check_backup",
    "convert_batches",
    "explain_retention",
    "list_points",
    "log_lines",
    "plan_adoption",
    "plan_backup",
    "plan_compaction",
    "plan_conversion",
    "plan_load",
    "plan_prune",
    "plan_rebuild",
    "plan_redaction",
    "plan_trim",
    "read_epochs",
    "read_groups",
    "read_metadata",
    "read_metadata_snapshot",
    "read_producers",
    "read_transactions",
    "translate_offsets",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = publish(__name__, globals())
