"""Plans the changes of the leader epochs and the recovery point.

Followed: `LeaderEpochFileCache` of `org.apache.kafka.storage.internals.epoch`, Kafka 4.
"""

from __future__ import annotations

from kodec.log.directories.epochs import EpochRuns, from_start, up_to
from kodec.log.directories.segment import Segment
from kodec.log.files.checkpoints import LeaderEpoch, leader_epochs_bytes, read_leader_epochs
from kodec.log.files.listing import ReplicaKind, parse_folder_name
from kodec.log.files.names import LEADER_EPOCHS, RECOVERY_POINTS
from kodec.log.recovery.planned_folder import PlannedFolder
from kodec.log.recovery.steps import LowerRecoveryPoint
from kodec.runtime.errors import FormatError

__all__ = ["lower_recovery_point", "write_leader_epochs"]


def write_leader_epochs(draft: PlannedFolder, end: int) -> None:
    path = draft.names.get(LEADER_EPOCHS)
    there: list[LeaderEpoch] | None = None
    found = EpochRuns()
    for runs in draft.epochs.values():
        found.add(runs)
    if path is not None:
        try:
            there = read_leader_epochs(path)
        except FormatError:
            found = _epochs_of_all(draft)
    known = up_to(there or (), end)
    epochs = from_start(found.brought_up(known), draft.log_start)
    for each in found.contradictions(known, draft.log_start):
        if each.refuted:
            what = f"not added to {LEADER_EPOCHS}; a broker that recovers this segment adds a higher one"
            draft.plan.remarks.append(f"{each}: {what}")
        elif not each.note:
            taken = LeaderEpoch(each.run.epoch, each.run.first_offset) in epochs
            what = "added to" if taken else "unchanged: nothing of it is added to"
            draft.plan.remarks.append(f"{each}: {what} {LEADER_EPOCHS}, as by a broker")
    if epochs != there and (epochs or path is not None):
        draft.write(LEADER_EPOCHS, leader_epochs_bytes(epochs))


def _epochs_of_all(draft: PlannedFolder) -> EpochRuns:
    """The leader epochs in the batches of all segments, from their headers if not yet read."""
    found = EpochRuns()
    for files in draft.segments():
        if files.base_offset in draft.epochs:
            found.add(draft.epochs[files.base_offset])
            continue
        segment = Segment(files, draft.given.limits)
        try:
            for head in segment.headers():
                found.take(files.log, head)
        except FormatError:
            # A segment that need not be checked: its contents up to there must suffice.
            continue
        finally:
            segment.close()
    return found


def lower_recovery_point(draft: PlannedFolder, end: int) -> None:
    key = draft.plan.topic_partition
    name = parse_folder_name(draft.plan.path.name)
    point = draft.given.recovery_points.get(key, 0)
    if name is not None and name.kind is ReplicaKind.LIVE and point > end:
        draft.written.append(LowerRecoveryPoint(draft.plan.path.parent / RECOVERY_POINTS, key, point, end))
