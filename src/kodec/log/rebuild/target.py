"""The cluster that is to get logs: its brokers, its controllers, and what their metadata logs have."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from kodec.log.directories.directory import LogRoot
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.checkpoints import (
    MetaProperties,
)
from kodec.log.files.descriptors import require_no_dangling_link
from kodec.log.files.names import META_PROPERTIES
from kodec.log.reading.reader import read_batches
from kodec.log.remote.names import REMOTE_TOPIC
from kodec.log.views.groups import OFFSETS_TOPIC
from kodec.log.views.metadata import (
    METADATA_TOPIC,
    ClusterMetadata,
    read_metadata,
    read_metadata_snapshot,
)
from kodec.runtime.dataclass import dataclass

__all__ = ["FENCE", "METADATA_LOG", "PLAN", "Node", "Target", "follows", "newest_epoch", "read_target"]

FENCE = "kodec-rebuild-unfinished"
"""The folder in each log directory until all is there: no broker starts with a folder of such a name."""
PLAN = "plan.json"
"""The file in it that shows which rebuild it is."""
METADATA_LOG = f"{METADATA_TOPIC}-0"
_BOOTSTRAP = "bootstrap.checkpoint"
_VOTERS = f"{0:020}-{0:010}.checkpoint"


@dataclass(slots=True)
class Node:
    """A broker or a controller of the new cluster."""

    node: int
    roots: list[Path]
    directories: list[UUID | None]


@dataclass(slots=True)
class Target:
    """The new cluster, as it is now.

    Attributes:
        metadata: None for one that was never started. level: its `metadata.version`.
        boot: the records with which a new one begins.
        newest: the controller's log directory with the longest metadata log.
        ends: the end of each controller's metadata log.
        offsets: the replicas of each partition of `__consumer_offsets`, the longest first.
        remote: the same of `__remote_log_metadata`.
        unfinished: the digest of a rebuild that has not finished here; None for none.
    """

    cluster_id: str
    brokers: list[Node]
    controllers: list[Path]
    metadata: ClusterMetadata | None
    level: int
    boot: list[bytes]
    newest: Path
    ends: dict[Path, tuple[int, int]]
    offsets: dict[int, list[Path]]
    remote: dict[int, list[Path]]
    unfinished: str | None

    @property
    def roots(self) -> list[Path]:
        """All log directories."""
        return list(
            dict.fromkeys([*(root for broker in self.brokers for root in broker.roots), *self.controllers])
        )


def newest_epoch(log: PartitionLog) -> int:
    """The newest leader epoch of a log; 0 if it has none. Raises FormatError, OSError."""
    known = [entry.epoch for entry in log.leader_epochs()]
    head = log.segments[-1].last_header() if log.segments else None
    return max([0, *known, 0 if head is None else head.partition_leader_epoch])


def read_target(brokers: Sequence[Sequence[Path]], controllers: Sequence[Path]) -> Target:
    """The cluster to write to. Raises ValueError, OSError, FormatError."""
    if not brokers:
        raise ValueError("give the log directories of a broker")
    nodes: dict[int, Node] = {}
    clusters = set()
    for roots in (*brokers, *([controller] for controller in controllers)):
        for root in roots:
            require_no_dangling_link(root / METADATA_LOG)
            properties = _properties(root)
            clusters.add(properties.cluster_id)
            assert properties.node_id is not None
            node = nodes.setdefault(properties.node_id, Node(properties.node_id, [], []))
            if root not in node.roots:
                node.roots.append(root)
                node.directories.append(
                    None if properties.directory_id is None else _uuid(properties.directory_id)
                )
    if len(clusters) > 1:
        raise ValueError(f"these log directories belong to several clusters: {', '.join(map(str, clusters))}")
    broker_nodes = [nodes[_node_of(roots)] for roots in brokers]
    if len({node.node for node in broker_nodes}) < len(broker_nodes):
        raise ValueError("the log directories of a broker are given as those of several")
    for roots in brokers:
        if len({_node_of([root]) for root in roots}) > 1:
            raise ValueError(f"{', '.join(map(str, roots))} belong to several brokers")
    quorum, metadata, newest, ends = _quorum(nodes, controllers)
    level, boot = _boot(newest) if metadata is None else (metadata.features.get("metadata.version", 0), [])
    if metadata is not None and metadata.open_transaction is not None:
        raise ValueError("the metadata has a transaction that has not ended: start the cluster, and stop it")
    (cluster,) = clusters
    assert cluster is not None
    broker_roots = [root for node in broker_nodes for root in node.roots]
    target = Target(
        cluster, broker_nodes, quorum, metadata, level, boot, newest, ends, {}, {}, _unfinished(nodes)
    )
    for name, logs in ((OFFSETS_TOPIC, target.offsets), (REMOTE_TOPIC, target.remote)):
        topic = None if metadata is None else metadata.topic(name)
        for partition in [] if topic is None else topic.partitions:
            places = [root for root in broker_roots if (root / f"{name}-{partition.partition}").is_dir()]
            ends = {root: _end_of(root / f"{name}-{partition.partition}") for root in places}
            logs[partition.partition] = sorted(places, key=ends.__getitem__, reverse=True)
    return target


def _end_of(folder: Path) -> tuple[int, int]:
    """The newest leader epoch of a log, and its end; -1 for the epoch of an empty one."""
    with PartitionLog(folder) as log:
        is_empty = not any(segment.size for segment in log.segments)
        return (-1, 0) if is_empty else (newest_epoch(log), log.end_offset)


def _node_of(roots: Sequence[Path]) -> int:
    node_id = _properties(roots[0]).node_id
    assert node_id is not None
    return node_id


def _properties(root: Path) -> MetaProperties:
    properties = LogRoot(root).meta_properties() if root.is_dir() else None
    if (
        properties is None
        or properties.version < 1
        or properties.cluster_id is None
        or properties.node_id is None
    ):
        raise ValueError(
            f"{root} has no {META_PROPERTIES} of a KRaft cluster: kafka-storage.sh format makes it"
        )
    return properties


def _uuid(text: str) -> UUID:
    try:
        return UUID(bytes=urlsafe_b64decode(text + "=="))
    except ValueError:
        raise ValueError(f"{text!r} is not the id of a log directory") from None


def _unfinished(nodes: Mapping[int, Node]) -> str | None:
    """The digest of a rebuild that has not finished; "" for several; None for none.

    A mark without a digest was made before anything else.
    """
    digests = set()
    for node in nodes.values():
        for root in node.roots:
            with suppress(FileNotFoundError):
                try:
                    digests.add(str(json.loads((root / FENCE / PLAN).read_bytes())["digest"]))
                except (ValueError, KeyError, TypeError, RecursionError):
                    digests.add("")
    return None if not digests else digests.pop() if len(digests) == 1 else ""


def _quorum(
    nodes: Mapping[int, Node], controllers: Sequence[Path]
) -> tuple[list[Path], ClusterMetadata | None, Path, dict[Path, tuple[int, int]]]:
    """The metadata log directories of all controllers, the metadata, the longest log, and the end of each.

    Raises ValueError unless all controllers are there.
    """
    roots = [root for node in nodes.values() for root in node.roots if (root / METADATA_LOG).is_dir()]
    started = {root: _end_of(root / METADATA_LOG) for root in roots}
    newest = max(roots, key=lambda root: started[root], default=None)
    metadata = None
    voters: dict[int, UUID] = {}
    if newest is not None and started[newest][0] >= 0:
        metadata = read_metadata(newest)
        if metadata.omissions.unread:
            raise ValueError(f"the metadata cannot be read completely: {metadata.omissions.unread[0]}")
        voters = dict(metadata.voters)
    elif newest is not None:
        for root in roots:
            if (root / METADATA_LOG / _VOTERS).is_file():
                voters |= dict(read_metadata_snapshot(root / METADATA_LOG / _VOTERS).voters)
    if voters:
        if missing := sorted(voters.keys() - nodes.keys()):
            names = ", ".join(map(str, missing))
            raise ValueError(
                f"the controllers {names} vote, and their log directories are not given (--controller)"
            )
        quorum = [_metadata_root(nodes[voter], voters[voter]) for voter in sorted(voters)]
    elif controllers:
        quorum = list(controllers)
    else:
        raise ValueError(
            "this quorum is one of controller.quorum.voters, and it is not known which nodes are "
            "controllers: name the metadata log directory of each (--controller)"
        )
    longest = max(quorum, key=lambda root: started.get(root, (-1, 0)))
    for root in quorum:
        if started.get(root, (-1, 0))[0] >= 0 and not follows(longest / METADATA_LOG, root / METADATA_LOG):
            raise ValueError(
                f"the metadata log of {root} is not a part of that of {longest}: start the "
                "controllers, and stop them"
            )
    if metadata is not None and longest != newest and started[longest] < started[newest or longest]:
        raise ValueError(f"{newest} has a longer metadata log than all controllers that are given")
    return quorum, metadata, longest, {root: started.get(root, (-1, 0)) for root in quorum}


def _metadata_root(node: Node, directory: UUID) -> Path:
    for root, identity in zip(node.roots, node.directories, strict=True):
        if identity == directory or (root / METADATA_LOG).is_dir():
            return root
    raise ValueError(f"the metadata log directory of the controller {node.node} is not given")


def follows(newest: Path, folder: Path) -> bool:
    """Whether a log is a beginning of another, by its newest leader epoch."""
    if newest == folder:
        return True
    with PartitionLog(newest) as long, PartitionLog(folder) as short:
        end = short.end_offset
        # one that begins at the end has no batch: another leader may have had the next
        known = [entry.epoch for entry in short.leader_epochs() if entry.start_offset < end]
        head = short.segments[-1].last_header() if short.segments else None
        epoch = max([0, *known, 0 if head is None else head.partition_leader_epoch])
        if end > long.end_offset or (long.segments and end < long.segments[0].base_offset):
            return False
        epochs = long.leader_epochs()
        if epoch not in [entry.epoch for entry in epochs]:
            return False
        later = [entry.start_offset for entry in epochs if entry.epoch > epoch]
        return end <= min([*later, long.end_offset])


def _boot(root: Path) -> tuple[int, list[bytes]]:
    """The `metadata.version` of a formatted cluster, and the records that it begins with.

    They are in a file of their own; since Kafka 4.4 in the first snapshot of the metadata log, which has had
    only the voters before.
    """
    path = root / _BOOTSTRAP
    if not path.is_file():
        path = root / METADATA_LOG / _VOTERS
    if not path.is_file():
        text = f"{root} has neither {_BOOTSTRAP} nor {METADATA_LOG}/{_VOTERS}"
        raise ValueError(f"{text}: kafka-storage.sh format makes one")
    metadata = read_metadata_snapshot(path)
    records = []
    with read_batches(path) as reader:
        for batch in reader:
            if not batch.is_control:
                records += [record.value or b"" for record in batch.records()]
    level = metadata.features.get("metadata.version")
    if level is None or metadata.omissions.unread:
        raise ValueError(f"{path} has no metadata.version")
    return level, records
