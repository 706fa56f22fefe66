"""Copies every good batch of a damaged log into a new folder, and reports exactly what is missing.

A broker's recovery truncates a log at its first bad batch and deletes all data after it. That data is
mostly good: salvage keeps it, with its offsets.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kodec.log.batches.records import Limits
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.fingerprint import Fingerprint
from kodec.log.files.listing import TopicPartition
from kodec.log.files.paths import resolved
from kodec.log.recovery.good_batches import MissingRange
from kodec.log.recovery.log_salvage import LogSalvage
from kodec.log.recovery.merge import Dropped
from kodec.log.recovery.replica_salvage import ReplicaSalvage, place_aside
from kodec.log.recovery.salvage_report import LogBefore, SalvageReport
from kodec.log.remote.opening import open_location
from kodec.log.writing.new_folder import new_folder, require_new
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.plan import OnStep, Plan, ignore, refuse
from kodec.stores.storage import on_this_machine

__all__ = ["Dropped", "MissingRange", "SalvagePlan", "SalvageReport", "plan_salvage"]


@dataclass(frozen=True, slots=True)
class SalvagePlan(Plan[SalvageReport]):
    """A planned copy of the good batches of a log; `preview` returns only the result, `apply` copies.

    Attributes:
        path: the folder that is read, whose name shows which `topic_partition` it holds.
        target: the folder that is made.
        fingerprint: what was there when the plan was made.
        limits: how much may be allocated for one batch.
        progress: called with the bytes of the source read since the last call.
        others: further replicas of the topic-partition; lineage: the one whose lineage counts, None: by
        epoch.
        after: what comes before the new log, and is kept elsewhere; None: nothing.
        dropped: a folder for the batches that do not count, as a log for each replica that has such; None:
            they are only reported.

    Example: see `plan_salvage`.
    """

    path: Path
    topic_partition: TopicPartition
    target: Path
    limits: Limits
    fingerprint: Fingerprint = field(repr=False)
    progress: Callable[[int], None] | None = None
    others: tuple[Fingerprint, ...] = ()
    lineage: Path | None = None
    after: LogBefore | None = None
    dropped: Path | None = None
    _previews: list[SalvageReport] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def problems(self) -> list[str]:
        """Why `apply` refuses, as `preview` finds; a log without other replicas has no problems."""
        return self.preview().problems if self.others or self.after is not None else []

    def require_current(self) -> None:
        for fingerprint in (self.fingerprint, *self.others):
            fingerprint.require()

    def preview(self) -> SalvageReport:
        """Read the log, once, and return what would be kept; write nothing.

        Raises: OSError; Unsupported if another system has written the log.
        """
        if not self._previews:
            with self._work() as work:
                self._previews.append(work.run(None))
        return self._previews[0]

    def apply(self, *, on_step: OnStep = ignore) -> SalvageReport:
        """Write the target, and call `on_step` with it; the source is only read.

        After a crash the folder is whole or absent.

        A broker that starts there reads the whole log once, as after any crash, and serves it.

        Raises: FileExistsError; StalePlan if the source has changed since the plan was made;
        OSError (BlockingIOError if a broker or another program writes into the target's log directory);
        ValueError for a plan with problems.
        """
        sources = self.fingerprint, *self.others
        with self._work() as work, PartitionLog(self.path, limits=self.limits) as log:
            refuse(work.report.problems)
            if self.dropped is not None:
                work.set_aside(self.dropped, sources)
            with new_folder(log, self.target, *sources, offsets=work.offsets) as folder:
                report = work.run(folder)
                refuse(report.problems)
        on_step(self.target)
        report.target = self.target
        return report

    @contextmanager
    def _work(self) -> Iterator[LogSalvage | ReplicaSalvage]:
        if self.others:
            folders = [self.path, *(other.folder for other in self.others)]
            lineage_number = None if self.lineage is None else _number_of(self.lineage, folders)
            with ReplicaSalvage(folders, lineage_number, self.limits, self.progress, self.after) as replicas:
                yield replicas
        else:
            with PartitionLog(self.path, limits=self.limits) as log:
                yield LogSalvage(log, self.progress, self.after)


def plan_salvage(
    source: str | os.PathLike[str],
    to: str | os.PathLike[str],
    *others: str | os.PathLike[str],
    lineage: str | os.PathLike[str] | None = None,
    dropped: str | os.PathLike[str] | None = None,
    limits: Limits = Limits(),
    progress: Callable[[int], None] | None = None,
) -> SalvagePlan:
    """Plan to copy every good batch of a topic-partition's log into a new folder; reads nothing yet.

    A batch is good if it is complete, its checksum is right, its records can be read, and its offsets fit
    between those of the good batches around it and into its segment. Because no
    checksum covers offsets, the fewest contradicting batches are left out. Batches stay as
    they are, byte for byte, in segments of the same base offsets and times; indexes, transaction indexes,
    producer snapshots and leader epochs are rebuilt from what is kept. `partition.metadata` is copied, the
    log start offset is kept.

    Of several replicas every batch is kept that is good on one of them and on the lineage of leader epochs
    that counts: that of the newest epoch. Batches of another lineage are reported, not mixed in.
    Offsets
    are missing only where no replica has them. What one replica lists in `kodec-omitted-offsets`, as after a
    redaction, is not taken from another. If replicas have different records in the same epoch, or
    if only a header that no checksum covers decides, nothing is written: `lineage` decides then.

    Args:
        others: further replicas of the same topic-partition, of other log directories or brokers.
        lineage: the replica whose lineage counts, one of those given; None: the newest epoch decides.
        dropped: a folder for batches of another lineage, which an unclean election has lost: each replica
            that has such gets a log in `dropped/N`, N from 1 on in the order given, under their offsets.
        to: a new folder, named like that of a topic-partition (`orders-0`), and neither
            in the source nor in the log directory around it.
        limits: how much may be allocated for one batch.
        progress: called now and then with the bytes of the source read since the last call.
        source: the folder of the damaged log; it is only read.

    Returns: a plan; `apply` writes the new folder.
    Raises: FileExistsError; ValueError for another name or place.

    Example:
        >>> import shutil
        >>> import kodec
        >>> _ = shutil.copytree("/data/kafka-logs", "logs")
        >>> from pathlib import Path
        >>> broken = Path("logs/orders-0/00000000000000000000.log")
        >>> data = bytearray(broken.read_bytes())
        >>> data[1000:1100] = bytes(100)
        >>> _ = broken.write_bytes(data)
        >>> report = kodec.repair.plan_salvage("logs/orders-0", "kept/orders-0").apply()
        >>> [(each.first_offset, each.last_offset) for each in report.missing]
        [(0, 9)]
    """
    fingerprint = Fingerprint.of(source)
    more = tuple(Fingerprint.of(other) for other in others)
    aside = None if dropped is None else on_this_machine(dropped)
    for origin in (fingerprint, *more):
        require_new(origin.folder, to)
        for number in range(0 if aside is None else len(more) + 1):
            assert aside is not None
            require_new(origin.folder, place_aside(aside, number, fingerprint))
        if origin.topic_partition != fingerprint.topic_partition:
            raise ValueError(f"{origin.folder} is not a replica of {fingerprint.topic_partition}")
    if len({origin.folder for origin in (fingerprint, *more)}) <= len(more):
        raise ValueError(f"{source}: one of the replicas is given twice")
    lineage_path = None if lineage is None else open_location(lineage)
    if lineage_path is not None:
        _number_of(lineage_path, [open_location(source), *(other.folder for other in more)])
    return SalvagePlan(
        open_location(source),
        fingerprint.topic_partition,
        on_this_machine(to),
        limits,
        fingerprint,
        progress,
        more,
        lineage_path,
        dropped=aside,
    )


def _number_of(lineage: Path, folders: Sequence[Path]) -> int:
    for number, folder in enumerate(folders):
        if resolved(lineage) in (resolved(folder), resolved(folder).parent):
            return number
    raise ValueError(f"{lineage}: not one of the replicas, which are {', '.join(map(str, folders))}")
