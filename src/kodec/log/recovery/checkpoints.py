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
    stored: list[LeaderEpoch] | None = None
    epoch_runs = EpochRuns()
    for runs in draft.epochs.values():
        epoch_runs.add(runs)
    if path is not None:
        try:
            stored = read_leader_epochs(path)
        except FormatError:
            epoch_runs = _epochs_of_all(draft)
    known = up_to(stored or (), end)
    epochs = from_start(epoch_runs.brought_up(known), draft.log_start)
    for contradiction in epoch_runs.contradictions(known, draft.log_start):
        if contradiction.refuted:
            what = f"not added to {LEADER_EPOCHS}; a broker that recovers this segment adds a higher one"
            draft.plan.remarks.append(f"{contradiction}: {what}")
        elif not contradiction.note:
            is_added = LeaderEpoch(contradiction.run.epoch, contradiction.run.first_offset) in epochs
            what = "added to" if is_added else "unchanged: nothing of it is added to"
            draft.plan.remarks.append(f"{contradiction}: {what} {LEADER_EPOCHS}, as by a broker")
    if epochs != stored and (epochs or path is not None):
        draft.write(LEADER_EPOCHS, leader_epochs_bytes(epochs))


def _epochs_of_all(draft: PlannedFolder) -> EpochRuns:
    """The leader epochs in the batches of all segments, from their headers if not yet read."""
    runs = EpochRuns()
    for files in draft.segments():
        if files.base_offset in draft.epochs:
            runs.add(draft.epochs[files.base_offset])
            continue
        segment = Segment(files, draft.settings.limits)
        try:
            for head in segment.headers():
                runs.take(files.log, head)
        except FormatError:
            # A segment that need not be checked: its contents up to there must suffice.
            continue
        finally:
            segment.close()
    return runs


def lower_recovery_point(draft: PlannedFolder, end: int) -> None:
    key = draft.plan.topic_partition
    name = parse_folder_name(draft.plan.path.name)
    point = draft.settings.recovery_points.get(key, 0)
    if name is not None and name.kind is ReplicaKind.LIVE and point > end:
        draft.written.append(LowerRecoveryPoint(draft.plan.path.parent / RECOVERY_POINTS, key, point, end))
