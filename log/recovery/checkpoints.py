"""Plans what becomes of the leader epochs and the recovery point.

Followed: `LeaderEpochFileCache` of `org.apache.kafka.storage.internals.epoch`, Kafka 4.
"""

from __future__ import annotations

from kodec.log.directories.epochs import assign, from_start, up_to
from kodec.log.directories.segment import Segment
from kodec.log.files.checkpoints import LeaderEpoch, leader_epochs_bytes, read_leader_epochs
from kodec.log.files.listing import ReplicaKind, parse_folder_name
from kodec.log.files.names import LEADER_EPOCHS, RECOVERY_POINTS
from kodec.log.recovery.draft import Draft
from kodec.log.recovery.steps import LowerRecoveryPoint
from kodec.runtime.errors import FormatError

__all__ = ["lower_recovery_point", "write_leader_epochs"]


def write_leader_epochs(draft: Draft, end: int) -> None:
    path = draft.names.get(LEADER_EPOCHS)
    there: list[LeaderEpoch] | None = None
    epochs: list[LeaderEpoch] = []
    found = [each for epochs_of_one in draft.epochs.values() for each in epochs_of_one]
    if path is not None:
        try:
            there = read_leader_epochs(path)
            epochs = up_to(there, end)
        except FormatError:
            found = _epochs_of_all(draft)
    for each in found:
        if not epochs or each.epoch > epochs[-1].epoch:
            assign(epochs, each)
    epochs = from_start(epochs, draft.log_start)
    if epochs != there and (epochs or path is not None):
        draft.write(LEADER_EPOCHS, leader_epochs_bytes(epochs))


def _epochs_of_all(draft: Draft) -> list[LeaderEpoch]:
    """The leader epochs in the batches of all segments, by their headers where not read yet."""
    found: list[LeaderEpoch] = []
    for files in draft.segments():
        if files.base_offset in draft.epochs:
            found += draft.epochs[files.base_offset]
            continue
        segment = Segment(files, draft.given.limits)
        try:
            for head in segment.headers():
                if head.partition_leader_epoch > (found[-1].epoch if found else -1):
                    found.append(LeaderEpoch(head.partition_leader_epoch, head.base_offset or 0))
        except FormatError:
            # A segment that was not to be checked: what it says up to there has to do.
            continue
        finally:
            segment.close()
    return found


def lower_recovery_point(draft: Draft, end: int) -> None:
    key = draft.plan.topic_partition
    name = parse_folder_name(draft.plan.path.name)
    point = draft.given.recovery_points.get(key, 0)
    if name is not None and name.kind is ReplicaKind.LIVE and point > end:
        draft.written.append(LowerRecoveryPoint(draft.plan.path.parent / RECOVERY_POINTS, key, point, end))
