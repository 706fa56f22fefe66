"""Offsets of consumer groups translated between clusters, from the topics of MirrorMaker 2.

Followed: `OffsetSyncStore`, `MirrorCheckpointTask.checkpointsForGroup` and
`MirrorClient.remoteConsumerOffsets`, which `RemoteClusterUtils.translateOffsets` calls, of
`org.apache.kafka.connect.mirror`, Kafka 4.3; names of topics by `DefaultReplicationPolicy` and
`IdentityReplicationPolicy`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from kodec.generated.mirror.checkpoint_key import CheckpointKey
from kodec.generated.mirror.checkpoint_value import CheckpointValue
from kodec.generated.mirror.offset_sync_key import OffsetSyncKey
from kodec.generated.mirror.offset_sync_value import OffsetSyncValue
from kodec.log.arguments import chosen_names
from kodec.log.batches.records import Limits, Record
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.listing import TopicPartition
from kodec.log.omissions import Cause, Omission, Omissions
from kodec.log.remote.resolve import NotALog
from kodec.log.selection import Topics
from kodec.log.views.groups import CommittedOffset, read_groups
from kodec.log.views.reading import batches_of, records_in
from kodec.log.views.replicas import Replicas
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import ArgumentError, FormatError

__all__ = ["OffsetTranslations", "TranslatedOffset", "translate_offsets"]

_K = TypeVar("_K")
_V = TypeVar("_V")
_SYNCS = 64
_HEARTBEATS = "heartbeats"


class _Sync(NamedTuple):
    upstream: int
    downstream: int


@dataclass(frozen=True, slots=True)
class TranslatedOffset:
    """A committed offset of a group, and the offset in the target cluster from which it can continue.

    Attributes:
        group: the group.
        topic: in the source cluster; None if only a checkpoint is known, which has the name in the target.
        partition: the number, the same in both clusters.
        offset: the committed offset in the source cluster.
        target_topic: the name in the target cluster.
        target_offset: the translated offset; None if it cannot be translated.
        sync_offset, sync_target_offset: the sync that it was translated with; None if none was used.
        checkpoint_offset, checkpoint_target_offset: those of the newest checkpoint, which MirrorMaker wrote
            and `RemoteClusterUtils.translateOffsets` returns; None if there is none.
        metadata: the client's metadata of the commit.
        reason: why it cannot be translated; empty if it is.

    Example: see `translate_offsets`.
    """

    group: str
    topic: str | None
    partition: int
    offset: int
    target_topic: str
    target_offset: int | None
    sync_offset: int | None
    sync_target_offset: int | None
    checkpoint_offset: int | None
    checkpoint_target_offset: int | None
    metadata: str
    reason: str


@dataclass(frozen=True, slots=True)
class OffsetTranslations:
    """Translated offsets.

    Attributes:
        offsets: by group, target topic and partition, those that cannot be translated too.
        omissions: what could not be read or translated.

    Example: see `translate_offsets`.
    """

    offsets: list[TranslatedOffset]
    omissions: Omissions


def translate_offsets(
    *logs: str | os.PathLike[str],
    source: str,
    target: str,
    target_logs: Collection[str | os.PathLike[str]] | str | os.PathLike[str] = (),
    groups: Collection[str] | str | None = None,
    topics: Topics = None,
    identity: bool = False,
    separator: str = ".",
    limits: Limits = Limits(),
) -> OffsetTranslations:
    """Translate the committed offsets of groups from one cluster to another, as MirrorMaker 2 does.

    With log directories of the source cluster, committed offsets are translated by the offset syncs that are
    in the log: by the newest sync at or before the offset, of the up to 64 that MirrorMaker keeps of a
    partition. The sync's own offset has an exact translation; a later one becomes the offset after the
    sync's, so that no record is missed and some may be read again. An offset before all syncs, or of a
    partition without any, cannot be translated: it is in `offsets` with a reason, and in `omissions`.

    With log directories of the target cluster only, the answers are the newest checkpoints, which
    MirrorMaker wrote while it ran.

    Args:
        logs: log directories of the source cluster, of one broker or of many; or of the target cluster.
        source, target: the clusters' aliases in MirrorMaker's configuration.
        target_logs: log directories of the target cluster, for its checkpoints, and for the syncs where
            `offset-syncs.topic.location` is `target`.
        groups, topics: only these; None for all. `topics` are names in the source cluster.
        identity: whether topics keep their names (`IdentityReplicationPolicy`).
        separator: `replication.policy.separator`.
        limits: how much may be allocated for one batch.

    Returns: the offsets and what is missing in them.
    Raises: NotALog where neither syncs nor checkpoints of these clusters are there, or no
    `__consumer_offsets`; ArgumentError for aliases that are empty or equal; OSError where a folder cannot be
    read. Damage is in `omissions`.

    Source: KIP-382, KIP-545; `OffsetSyncStore` and `RemoteClusterUtils` of `org.apache.kafka.connect.mirror`.

    Example:
        >>> import kodec
        >>> found = kodec.operations.translate_offsets(
        ...     "/data/mirrored/A", source="A", target="B", groups="group-57"
        ... )
        >>> first = found.offsets[0]
        >>> first.target_topic, first.partition, first.offset, first.target_offset
        ('A.orders', 0, 57, 1)
    """
    if not source or not target or source == target:
        raise ArgumentError(f"source={source!r}, target={target!r}: expected the aliases of two clusters")
    if not separator:
        raise ArgumentError("separator='': expected text")
    selected_groups, selected_topics = chosen_names("groups", groups), chosen_names("topics", topics)
    names = _Names(source, target, identity, separator)
    directories = [target_logs] if isinstance(target_logs, (str, os.PathLike)) else list(target_logs)
    replicas = Replicas(*logs, limits=limits)
    target_replicas = Replicas(*directories, limits=limits) if directories else None
    omissions = replicas.omissions
    syncs = _first(replicas, names.syncs(target))
    if syncs is None and target_replicas is not None:
        syncs = _first(target_replicas, names.syncs(source))
    found_checkpoints = _first(target_replicas or replicas, names.checkpoints()) or _first(
        replicas, names.checkpoints()
    )
    if syncs is None and found_checkpoints is None:
        searched = ", ".join([*names.syncs(target), *names.checkpoints()])
        raise NotALog(
            f"{replicas.shown}: no topic of MirrorMaker for {source} and {target} in it: {searched}"
        )
    if target_replicas is not None:
        omissions.extend(target_replicas.omissions)
    checkpoints = (
        {} if found_checkpoints is None else _checkpoints(found_checkpoints, omissions, selected_groups)
    )
    if syncs is None:
        rows = [
            _of_checkpoint(key, value)
            for key, value in checkpoints.items()
            if selected_topics is None or any(names.renamed(topic) == key.topic for topic in selected_topics)
        ]
    else:
        store = _Store()
        for key, value in _pairs(syncs, omissions, _sync):
            store.add((key.topic, key.partition), _Sync(value.upstream_offset, value.offset))
        state = read_groups(*logs, groups=selected_groups, topics=selected_topics, limits=limits)
        omissions.extend(state.omissions)
        rows = [
            _translated(committed, store, checkpoints, names.renamed(committed.topic))
            for committed in state.offsets
            if not committed.pending
        ]
    for row in rows:
        if row.reason:
            text = f"group {row.group}, offset {row.offset}: {row.reason}"
            omissions.add(Omission(Cause.MISSING, Path(f"{row.topic}-{row.partition}"), text))
    rows.sort(key=lambda row: (row.group, row.target_topic, row.partition))
    return OffsetTranslations(rows, omissions)


class _Names:
    """The names of topics in both clusters. Source: DefaultReplicationPolicy, IdentityReplicationPolicy."""

    def __init__(self, source: str, target: str, identity: bool, separator: str) -> None:
        self._source, self._target, self._identity, self._separator = source, target, identity, separator

    def syncs(self, cluster: str) -> list[str]:
        """The topic of syncs for the other cluster, with the separator of internal topics on and off."""
        return [
            f"mm2-offset-syncs{separator}{cluster}{separator}internal" for separator in self._separators()
        ]

    def checkpoints(self) -> list[str]:
        """The topic of checkpoints, likewise."""
        return [
            f"{self._source}{separator}checkpoints{separator}internal" for separator in self._separators()
        ]

    def _separators(self) -> list[str]:
        return list(dict.fromkeys((self._separator, ".")))

    def renamed(self, topic: str) -> str:
        """The name in the target cluster. Source: MirrorCheckpointTask.renameTopicPartition."""
        if self._identity and not topic.endswith(_HEARTBEATS):
            return topic
        if self._source_of(topic) != self._target:
            return f"{self._source}{self._separator}{topic}"
        while (cluster := self._source_of(topic)) is not None:
            topic = topic[len(cluster) + len(self._separator) :]
        return topic

    def _source_of(self, topic: str) -> str | None:
        # as Java's split does it: without what is empty at the end
        parts = topic.split(self._separator)
        while len(parts) > 1 and not parts[-1]:
            parts.pop()
        return parts[0] if len(parts) > 1 else None


def _first(replicas: Replicas, names: list[str]) -> PartitionLog | None:
    """The only partition of the first of these topics; None if there is none."""
    return next((log for name in names if (log := replicas.log(TopicPartition(name, 0))) is not None), None)


def _pairs(
    log: PartitionLog, omissions: Omissions, read: Callable[[Record], tuple[_K, _V]]
) -> Iterator[tuple[_K, _V]]:
    """The keys and values of a topic of MirrorMaker, those that are readable."""
    with log:
        for batch in batches_of(log, omissions):
            if batch.is_control:
                continue
            for record in records_in(log, batch, omissions):
                try:
                    yield read(record)
                except FormatError as error:
                    reason = f"no record of MirrorMaker: {error}"
                    omissions.add(Omission(Cause.UNKNOWN, log.path, reason, records=1))


def _sync(record: Record) -> tuple[OffsetSyncKey, OffsetSyncValue]:
    return OffsetSyncKey.from_bytes(record.key or b""), OffsetSyncValue.from_bytes(record.value or b"")


def _checkpoint(record: Record) -> tuple[CheckpointKey, CheckpointValue]:
    return CheckpointKey.from_bytes(record.key or b""), CheckpointValue.from_bytes(record.value or b"")


class _Key(NamedTuple):
    group: str
    topic: str
    partition: int


def _checkpoints(
    log: PartitionLog, omissions: Omissions, groups: Collection[str] | None
) -> dict[_Key, CheckpointValue]:
    """The newest checkpoint of each group and partition. Source: MirrorClient.remoteConsumerOffsets."""
    return {
        _Key(key.group, key.topic, key.partition): value
        for key, value in _pairs(log, omissions, _checkpoint)
        if groups is None or key.group in groups
    }


def _of_checkpoint(key: _Key, value: CheckpointValue) -> TranslatedOffset:
    up, down = value.upstream_offset, value.offset
    metadata = value.metadata
    return TranslatedOffset(
        key.group, None, key.partition, up, key.topic, down, None, None, up, down, metadata, ""
    )


def _translated(
    commit: CommittedOffset, store: _Store, checkpoints: dict[_Key, CheckpointValue], target_topic: str
) -> TranslatedOffset:
    """Source: OffsetSyncStore.translateDownstream."""
    sync = store.sync_for((commit.topic, commit.partition), commit.offset)
    checkpoint = checkpoints.get(_Key(commit.group, target_topic, commit.partition))
    offset, reason = None, ""
    if sync is None:
        reason = "the partition has no offset sync: MirrorMaker has not copied it"
    elif sync.upstream > commit.offset:
        reason = f"it is before the oldest offset sync, which is of offset {sync.upstream}"
        sync = None
    else:
        offset = sync.downstream + (commit.offset != sync.upstream)
        if offset < 0:
            # MirrorMaker writes no checkpoint for it
            offset, reason = None, f"the offset sync has the offset {sync.downstream} in the target cluster"
    return TranslatedOffset(
        commit.group,
        commit.topic,
        commit.partition,
        commit.offset,
        target_topic,
        offset,
        None if sync is None else sync.upstream,
        None if sync is None else sync.downstream,
        None if checkpoint is None else checkpoint.upstream_offset,
        None if checkpoint is None else checkpoint.offset,
        commit.metadata,
        reason,
    )


class _Store:
    """The syncs that MirrorMaker keeps of each partition: up to 64, the closer together the newer they are.

    Source: OffsetSyncStore, after all records are read.
    """

    def __init__(self) -> None:
        self._syncs: dict[tuple[str, int], list[_Sync]] = {}

    def add(self, partition: tuple[str, int], sync: _Sync) -> None:
        """Take the next sync of a partition."""
        held = self._syncs.get(partition)
        if held is None or sync.upstream < held[0].upstream:
            # the offsets of the source began again: all others are void
            self._syncs[partition] = [sync] * _SYNCS
        else:
            _update(held, sync)

    def sync_for(self, partition: tuple[str, int], offset: int) -> _Sync | None:
        """The newest sync at or before an offset, else the oldest one; None if there is none."""
        held = self._syncs.get(partition)
        if held is None:
            return None
        return next((sync for sync in held if sync.upstream <= offset), held[-1])


def _update(syncs: list[_Sync], replacement: _Sync) -> None:
    """Source: OffsetSyncStore.updateSyncArray. Equal syncs are the same one here as there."""
    original = list(syncs)
    index = 0
    syncs[0] = replacement
    for current in range(1, _SYNCS):
        previous = current - 1
        while True:
            old = original[index]
            recent = _is_recent(syncs[previous], old, previous, current)
            separated = _is_separated(syncs[previous], old, previous)
            keeps_next = current + 1 >= _SYNCS or _is_separated(old, syncs[current + 1], current)
            duplicate = index + 1 < _SYNCS and old is original[index + 1]
            promoted = recent and separated and keeps_next
            if promoted:
                replacement = old
            skipped = duplicate or not separated
            if promoted or skipped:
                index += 1
            if not (index < current and skipped):
                break
        if _is_recent(syncs[previous], syncs[current], previous, current):
            break
        syncs[current] = replacement


def _is_recent(newer: _Sync, older: _Sync, i: int, j: int) -> bool:
    """Source: OffsetSyncStore.invariantB."""
    bound = _int64(older.upstream + (1 << j) - (1 << i))
    return newer is older or bound < 0 or newer.upstream <= bound


def _is_separated(newer: _Sync, older: _Sync, i: int) -> bool:
    """Source: OffsetSyncStore.invariantC."""
    bound = _int64(older.upstream + (1 << max(i - 2, 0)))
    return newer is older or 0 <= bound <= newer.upstream


def _int64(number: int) -> int:
    """A number as Java's additions leave it."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)
