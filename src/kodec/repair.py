"""Check logs, recover them as a broker would, and salvage them."""

from typing import TYPE_CHECKING

from kodec.log.recovery.differences import (
    ComparedReplica,
    ReplicaDifference,
    ReplicaDifferences,
    compare_replicas,
)
from kodec.log.recovery.merge import Dropped
from kodec.log.recovery.plan import RecoveryPlan
from kodec.log.recovery.planning import plan_recoveries, plan_recovery, plan_reindex
from kodec.log.recovery.salvage import MissingRange, SalvagePlan, SalvageReport, plan_salvage
from kodec.log.verification.survey import PartitionOverview, survey
from kodec.log.verification.verify import Problem, verify
from kodec.runtime.public import publish

__all__ = [
    "ComparedReplica",
    "Dropped",
    "MissingRange",
    "PartitionOverview",
    "Problem",
    "RecoveryPlan",
    "ReplicaDifference",
    "ReplicaDifferences",
    "SalvagePlan",
    "SalvageReport",
    "compare_replicas",
    "plan_recoveries",
    "plan_recovery",
    "plan_reindex",
    "plan_salvage",
    "survey",
    "verify",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = publish(__name__, globals())
