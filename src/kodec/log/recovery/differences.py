"""Where the replicas of a topic-partition differ, by offset, and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from kodec.log.batches.records import Limits
from kodec.log.files.listing import TopicPartition
from kodec.log.omissions import Omissions
from kodec.log.recovery.merge import Merged, compare_batches, require_one_topic
from kodec.log.recovery.replica import NO_END, Replica
from kodec.runtime.dataclass import dataclass, field

__all__ = ["ComparedReplica", "ReplicaDifference", "ReplicaDifferences", "compare_replicas"]

_HARMLESS = frozenset({"behind", "start", "compacted", "recompressed"})


@dataclass(frozen=True, slots=True)
class ReplicaDifference:
    """Offsets at which a replica differs from the lineage that counts.

    Attributes:
        path: the replica's folder. first_offset, last_offset: both inclusive; `last_offset` is None where
        nothing
            bounds damage at the end of a log.
        kind: `diverged` (another lineage of leader epochs), `damaged`, `missing` (nothing shows why),
            `conflict` (other records in the same epoch), `epoch` (only the leader epoch in a header differs),
            `behind`, `start` (below the first segment), `compacted`, or `recompressed` (equal records).
        reason: for people.

    Example: see `compare_replicas`.
    """

    path: Path
    first_offset: int
    last_offset: int | None
    kind: str
    reason: str

    @property
    def is_harmless(self) -> bool:
        """Whether healthy replicas can differ like this."""
        return self.kind in _HARMLESS


@dataclass(frozen=True, slots=True)
class ComparedReplica:
    """A replica, and how far it goes.

    Attributes:
        path: its folder. start_offset, end_offset: of its good batches.
        high_watermark: of its log directory's checkpoint; None if that has none.
        lineage_end: the offset up to which it is on the lineage that counts; None: to its end.
        batches: good ones.

    Example: see `compare_replicas`.
    """

    path: Path
    start_offset: int
    end_offset: int
    high_watermark: int | None
    lineage_end: int | None
    batches: int


@dataclass(frozen=True, slots=True)
class ReplicaDifferences:
    """The result of `compare_replicas`.

    Attributes:
        topic_partition: what is compared.
        replicas: in the order given.
        winner: the folder of the replica whose lineage counts.
        differences: by offset; empty if all replicas have the same batches.
        notes: what nothing proves.
        omissions: what no replica has; files that are not part of a log; and batches whose records this
            version cannot read.

    Example: see `compare_replicas`.
    """

    topic_partition: TopicPartition
    replicas: list[ComparedReplica]
    winner: Path
    differences: list[ReplicaDifference]
    notes: list[str]
    omissions: Omissions = field(default_factory=Omissions)

    @property
    def is_sound(self) -> bool:
        """Whether healthy replicas can differ like this, if they differ."""
        return all(difference.is_harmless for difference in self.differences)


def compare_replicas(
    *folders: str | os.PathLike[str],
    limits: Limits = Limits(),
    progress: Callable[[int], None] | None = None,
) -> ReplicaDifferences:
    """Compare replicas of a topic-partition batch by batch, and explain each difference.

    Each replica is compared with the log that `plan_salvage` would make of all: at each offset the batch on
    the lineage of leader epochs that counts. All checksums are verified; records are decoded only where bytes
    differ.

    Args:
        folders: of the replicas, two or more.
        limits: how much may be allocated for one batch.
        progress: called now and then with the bytes read since the last call.

    Returns: the differences.
    Raises: OSError; Unsupported for a log of another system; ValueError for replicas of different topics.

    Example:
        >>> import shutil
        >>> import kodec
        >>> for broker in ("one", "two"):
        ...     _ = shutil.copytree("/data/kafka-logs/orders-0", f"{broker}/orders-0")
        >>> found = kodec.repair.compare_replicas("one/orders-0", "two/orders-0")
        >>> found.differences, found.is_sound
        ([], True)
    """
    if len(folders) < 2:
        raise ValueError("give two or more replicas")
    replicas = [Replica(folder, limits, progress) for folder in folders]
    try:
        owner = replicas[0].log.topic_partition
        for replica in replicas:
            if replica.log.topic_partition != owner:
                raise ValueError(f"{replica.path} is not a replica of {owner}")
        require_one_topic(replicas)
        merged = Merged(replicas)
        differences = [
            difference
            for number in range(len(replicas))
            for difference in _joined(_differences(merged, number))
        ]
        differences.sort(key=lambda difference: (difference.first_offset, str(difference.path)))
        omissions = Omissions()
        for replica in replicas:
            omissions.extend(replica.omissions)
        omissions.extend(gap.omission for gap in merged.missing)
        return ReplicaDifferences(
            owner,
            [
                ComparedReplica(
                    replica.path,
                    replica.start_offset,
                    replica.end_offset,
                    replica.high_watermark,
                    _or_none(end),
                    len(replica),
                )
                for replica, end in zip(replicas, merged.lineage.ends, strict=True)
            ],
            replicas[merged.lineage.winner].path,
            differences,
            merged.lineage.notes + ([merged.lineage.unsure] if merged.lineage.unsure else []),
            omissions,
        )
    finally:
        for replica in replicas:
            replica.log.close()


def _or_none(end: int) -> int | None:
    return None if end == NO_END else end


def _differences(merged: Merged, number: int) -> Iterator[ReplicaDifference]:
    replica = merged.replicas[number]
    end = merged.lineage.ends[number]
    for hole in merged.holes(number):
        if hole.kind != "diverged":
            yield from _hole(merged, number, hole.first, hole.last, hole.kind, hole.reason)
    for dropped in merged.dropped:
        if dropped.path == replica.path:
            yield ReplicaDifference(
                replica.path, dropped.first_offset, dropped.last_offset, "diverged", dropped.reason
            )
    end = min(end, NO_END)
    for other_number, index in zip(merged.replica, merged.number, strict=True):
        other = merged.replicas[other_number]
        first, last = other.first[index], other.last[index]
        if other_number == number or last >= end:
            continue
        counterpart = replica.at(first)
        if counterpart is None:
            continue
        if (replica.first[counterpart], replica.last[counterpart]) != (first, last):
            yield ReplicaDifference(
                replica.path,
                replica.first[counterpart],
                replica.last[counterpart],
                "conflict",
                f"offsets overlap {other.place(index)}",
            )
        elif replica.identity[counterpart] != other.identity[index]:
            relation = compare_batches(merged.replicas, (other_number, index), (number, counterpart))
            if relation in _HARMLESS:
                yield ReplicaDifference(replica.path, first, last, relation, _RELATIONS[relation])
            else:
                yield ReplicaDifference(
                    replica.path,
                    first,
                    last,
                    "conflict",
                    f"{relation} than {other.path}, in the same leader epoch",
                )
        elif replica.epoch[counterpart] != other.epoch[index]:
            yield ReplicaDifference(
                replica.path,
                first,
                last,
                "epoch",
                f"leader epoch {replica.epoch[counterpart]} in its header, "
                f"{other.epoch[index]} in {other.path}",
            )


_RELATIONS = {
    "recompressed": "the same records in other bytes",
    "compacted": "compaction left other records of the batch",
}


def _hole(
    merged: Merged, number: int, first: int, last: int, kind: str, reason: str
) -> Iterator[ReplicaDifference]:
    """A hole, as far as another replica has records there; damage is one in any case."""
    replica = merged.replicas[number]
    if kind in ("damaged", "missing"):
        bound = None if last >= NO_END - 1 else last
        yield ReplicaDifference(replica.path, first, bound, kind, reason)
        return
    last = min(last, merged.end_offset - 1)
    has = merged.next_at(first)
    if has is None or has > last or first > last:
        return
    if kind == "behind" and replica.high_watermark is not None and replica.high_watermark > first:
        # Its own checkpoint shows that it had more.
        kind, reason = "missing", f"{reason}, below its high watermark {replica.high_watermark}"
    elif kind == "behind":
        reason += _watermarks(merged, first)
    elif kind == "start":
        has = max(has, first)
    yield ReplicaDifference(replica.path, first if kind != "start" else has, last, kind, reason)


def _watermarks(merged: Merged, end: int) -> str:
    if not merged.high_watermark:
        return ""
    side = "above" if end >= merged.high_watermark else "below"
    return f", {'at or ' if side == 'above' else ''}{side} the high watermark {merged.high_watermark}"


def _joined(differences: Iterator[ReplicaDifference]) -> Iterator[ReplicaDifference]:
    """Neighbours of the same kind and reason as one."""
    before: ReplicaDifference | None = None
    for difference in sorted(differences, key=lambda difference: difference.first_offset):
        if (
            before is not None
            and before.last_offset is not None
            and before.kind == difference.kind
            and before.reason == difference.reason
            and difference.first_offset <= before.last_offset + 1
        ):
            last = None if difference.last_offset is None else max(before.last_offset, difference.last_offset)
            before = ReplicaDifference(before.path, before.first_offset, last, before.kind, before.reason)
            continue
        if before is not None:
            yield before
        before = difference
    if before is not None:
        yield before
