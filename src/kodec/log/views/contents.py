"""Whether the small files of a log directory can be read as what their names say, before they are stored.

A broker reads each of them when it starts. One that is torn is stored as it is, and is in the account: a copy
of it must not look sound.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from kodec.log.directories.producer_state import read_snapshot
from kodec.log.files.checkpoints import (
    read_leader_epochs,
    read_meta_properties,
    read_offset_ranges,
    read_offsets,
    read_partition_metadata,
    read_quorum_state,
)
from kodec.log.files.names import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    META_PROPERTIES,
    OFFSET,
    OMITTED_OFFSETS,
    PARTITION_METADATA,
    QUORUM_STATE,
    RECOVERY_POINTS,
)
from kodec.log.views.metadata import read_metadata_snapshot
from kodec.runtime.errors import FormatError

__all__ = ["BOOTSTRAP", "damage_in"]

BOOTSTRAP = "bootstrap.checkpoint"
_SNAPSHOT = re.compile(rf"{OFFSET}\.snapshot")
_METADATA = re.compile(rf"{OFFSET}-[0-9]{{10}}\.checkpoint|{re.escape(BOOTSTRAP)}")
_READERS: dict[str, Callable[[Path], object]] = {
    META_PROPERTIES: read_meta_properties,
    LOG_START_OFFSETS: read_offsets,
    HIGH_WATERMARKS: read_offsets,
    RECOVERY_POINTS: read_offsets,
    CLEANER_OFFSETS: read_offsets,
    LEADER_EPOCHS: read_leader_epochs,
    PARTITION_METADATA: read_partition_metadata,
    QUORUM_STATE: read_quorum_state,
    OMITTED_OFFSETS: read_offset_ranges,
}


def damage_in(path: Path) -> str | None:
    """What is wrong with a file, by its name; None if nothing is, or for a name that says nothing.

    Logs and indexes are not read here. Raises OSError.
    """
    name = path.name
    try:
        if _METADATA.fullmatch(name):
            losses = read_metadata_snapshot(path).omissions.losses
            return losses[0].reason if losses else _empty(path)
        if name == META_PROPERTIES and (empty := _empty(path)):
            return empty
        if (reader := _READERS.get(name)) is not None:
            reader(path)
        elif _SNAPSHOT.fullmatch(name):
            read_snapshot(path)
    except FormatError as error:
        return f"{type(error).__name__}: {error.reason} at byte {error.at}"
    return None


def _empty(path: Path) -> str | None:
    return None if path.stat().st_size else "it is empty"
