"""Plans the changes of the producer snapshots.

Followed: `ProducerStateManager` of `org.apache.kafka.storage.internals.log`, Kafka 4.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter

from kodec.generated.log.producer_snapshot import Entry
from kodec.log.directories.producer_state import ProducerState, read_snapshot
from kodec.log.directories.segment import Segment
from kodec.log.directories.snapshots import Lookup, refuted
from kodec.log.files.names import file_name
from kodec.log.recovery.planned_folder import PlannedFolder
from kodec.runtime.errors import FormatError

__all__ = ["drop_snapshots", "write_snapshot"]


def write_snapshot(draft: PlannedFolder, offset: int, state: ProducerState) -> ProducerState:
    """Plan the producer snapshot at `offset`; return the state to continue with, which may have more.

    One that is there stays, unless a batch contradicts it.
    """
    name = file_name(offset, "snapshot")
    path = draft.names.get(name)
    wrong = ""
    if path is not None and name not in draft.created:
        try:
            snapshot = read_snapshot(path)
        except FormatError:
            pass
        else:
            state.keep(snapshot)
            stored = {entry.producer_id: entry for entry in snapshot.entries}
            derived = {entry.producer_id: entry for entry in state.snapshot().entries}
            wrong = _refuted(
                draft,
                offset,
                sorted(
                    (stored[producer] for producer in stored.keys() - derived.keys()),
                    key=attrgetter("last_offset"),
                ),
            )
            if not wrong and all(stored.get(producer) == entry for producer, entry in derived.items()):
                return ProducerState(snapshot)
    if offset > draft.log_start and offset > draft.first:
        draft.write(name, state.snapshot().to_bytes())
    elif wrong:
        draft.quarantine(name, wrong, draft.dropped)
    return state


def _refuted(draft: PlannedFolder, offset: int, entries: list[Entry]) -> str:
    """How the log contradicts entries of the snapshot at `offset`, whose producers it does not have."""
    segments = [
        Segment(files, draft.settings.limits) for files in draft.segments() if files.base_offset < offset
    ]
    entries.sort(key=attrgetter("last_offset"))
    with Lookup(segments) as log:
        return next(filter(None, (refuted(entry, offset, log) for entry in entries)), "")


def drop_snapshots(draft: PlannedFolder, end: int) -> None:
    """Plan the removal of snapshots above the end, of unreadable ones, and of those within the segments read.

    A broker keeps those at the start of a segment, and the newest.
    """
    written = {step.path for step in draft.written}
    bases = list(draft.logs())
    for offset, path in draft.snapshots().items():
        name = file_name(offset, "snapshot")
        if draft.plan.path / name in written:
            continue
        if offset > end or draft.starts_again:
            draft.quarantine(name, "above the end of the log", draft.dropped)
            continue
        index = bisect_right(bases, offset) - 1
        if index >= 0 and bases[index] in draft.epochs and offset not in (bases[index], end):
            draft.quarantine(name, "neither at the start of a segment nor at the end", draft.dropped)
            continue
        try:
            read_snapshot(path)
        except FormatError as error:
            draft.quarantine(name, f"not readable: {type(error).__name__}", draft.dropped)
