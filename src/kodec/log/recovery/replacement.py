"""Rolls back, or completes, an interrupted replacement of segments.

Followed: `LogLoader.removeTempFilesAndCollectSwapFiles` and `load` of
`org.apache.kafka.storage.internals.log`, Kafka 4.
"""

from __future__ import annotations

import re

from kodec.log.files.listing import LeftoverKind
from kodec.log.recovery.planned_folder import PlannedFolder
from kodec.log.recovery.steps import Rename
from kodec.log.writing.segment_scan import scan_segment

__all__ = ["finish_replacement"]

_OFFSET = re.compile(r"([0-9]{1,20})\.")
# What KRaft deletes by itself.
_KRAFT = ".checkpoint."
_MAX_INT64 = 2**63 - 1


def finish_replacement(draft: PlannedFolder) -> None:
    """Roll back, or complete, an interrupted replacement of segments."""
    steps = draft.plan.steps
    kinds: dict[LeftoverKind, list[str]] = {kind: [] for kind in LeftoverKind}
    for name in draft.names:
        for kind in LeftoverKind:
            if name.endswith(f".{kind.value}") and _KRAFT not in name:
                kinds[kind].append(name)
    for name in kinds[LeftoverKind.DELETED]:
        draft.quarantine(name, "marked for deletion", steps)
    cleaned = kinds[LeftoverKind.CLEANED]
    least = min((_offset(name) for name in cleaned), default=_MAX_INT64)
    # Before the .cleaned files, which say that these are not complete.
    for name in kinds[LeftoverKind.SWAP]:
        if _offset(name) >= least:
            draft.quarantine(name, "part of an incomplete swap of segments", steps)
    for name in cleaned:
        draft.quarantine(name, "left by an interrupted compaction", steps)
    swaps = [name for name in kinds[LeftoverKind.SWAP] if name in draft.names]
    _drop_replaced(draft, swaps)
    # Logs first: an index in its place without its log would go.
    for name in sorted(swaps, key=lambda name: (".log." not in name, name)):
        final = name.removesuffix(f".{LeftoverKind.SWAP.value}")
        if final in draft.names:
            draft.quarantine(final, "replaced", steps)
        path = draft.names.pop(name)
        draft.names[final] = path
        steps.append(Rename(path, draft.plan.path / final))


def _drop_replaced(draft: PlannedFolder, swaps: list[str]) -> None:
    """Plan the removal of the segments that the complete replacement replaces."""
    first, end = _MAX_INT64, -1
    for name in swaps:
        base = _offset(name)
        if name.endswith(f".log.{LeftoverKind.SWAP.value}") and base <= _MAX_INT64:
            scan = scan_segment(draft.names[name], base, limits=draft.settings.limits)
            first, end = min(first, base), max(end, scan.next_offset)
    for name in list(draft.names):
        if name not in swaps and first <= _offset(name) < end:
            draft.quarantine(name, "replaced", draft.plan.steps)


def _offset(name: str) -> int:
    """The offset that a name starts with; one that is below and above none where it does not."""
    match = _OFFSET.match(name)
    return int(match[1]) if match is not None else _MAX_INT64 + 1
