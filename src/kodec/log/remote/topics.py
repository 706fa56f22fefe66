"""The topic of a file, from its folder."""

from __future__ import annotations

import os

from kodec.log.files.listing import topic_partition_of
from kodec.log.remote.names import tiered_folder
from kodec.stores.storage import path_of

__all__ = ["topic_of"]

_BOOTSTRAP = "bootstrap.checkpoint"
_METADATA = "__cluster_metadata"


def topic_of(path: str | os.PathLike[str]) -> str | None:
    """The topic of a segment or snapshot: from the replica's folder, or its folder in remote
    storage; None if it is in neither. Raises OSError.

    The file that a KRaft cluster is formatted with, `bootstrap.checkpoint`, is in the log directory itself.
    """
    if (owner := topic_partition_of(path)) is not None:
        return owner.topic
    file = path_of(path).absolute()
    if file.name == _BOOTSTRAP:
        return _METADATA
    if not file.parent.is_dir():
        return None
    tiered = tiered_folder(file.parent)
    return None if tiered is None else tiered.topic_partition.topic
