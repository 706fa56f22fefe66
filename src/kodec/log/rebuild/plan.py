"""Writes logs and metadata into the log directories of a cluster that is stopped.

The brokers of the new cluster are formatted (`kafka-storage.sh format`) and stopped. Their log directories
get the logs, under their offsets, and their controllers get the records of the topics at the end of the
metadata log. So when they start, they find themselves as after a clean shutdown.

From before the first file until all are there, each log directory has a folder `kodec-rebuild-unfinished`.
It is not named like a topic-partition's, so no broker starts there.

Followed: `LogManager.loadLogs`, `UnifiedLog.parseTopicPartitionName`, `ClusterControlManager.registerBroker`,
`ReplicationControlManager.replay` and `KafkaRaftClient.initialize`, Kafka 3.9 and 4.3.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from uuid import UUID, uuid4

from kodec.log.batches.encode import encode
from kodec.log.batches.records import Record
from kodec.log.directories.partition import PartitionLog
from kodec.log.files.checkpoints import (
    leader_epochs_bytes,
    read_offsets,
    write_clean_shutdown,
    write_offsets,
    write_partition_metadata,
)
from kodec.log.files.descriptors import keep_owner, open_file, require_owner
from kodec.log.files.durable import exchange, replace_file, sync_folder
from kodec.log.files.listing import TopicPartition
from kodec.log.files.lock import locked
from kodec.log.files.names import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    PARTITION_METADATA,
    RECOVERY_POINTS,
    file_name,
)
from kodec.log.files.quarantine import copy_from, default_quarantine, move_away
from kodec.log.omissions import Omissions
from kodec.log.reading.reader import read_batches
from kodec.log.rebuild.records import (
    NewTopic,
)
from kodec.log.rebuild.target import FENCE, METADATA_LOG, PLAN, Target, newest_epoch, read_target
from kodec.log.recovery.salvage import SalvagePlan, SalvageReport
from kodec.log.remote.remote_log import RemoteLog
from kodec.log.writing.segment_writer import SegmentWriter
from kodec.log.writing.writer import LogWriter
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import FormatError, StalePlan
from kodec.runtime.plan import OnStep, Plan, StepReport, ignore, refuse

__all__ = ["RebuildPlan", "RebuiltPartition"]

METADATA_ID = UUID(int=1)
_BATCH = 2000


@dataclass(slots=True)
class RebuiltPartition:
    """A topic-partition of the plan.

    Attributes:
        topic_partition: which one. sources: the folders that have it; none: it becomes empty.
        targets: its folders, that of the preferred leader first.
        report: what `salvage` keeps of the sources, and what is missing; None without sources.
        expired: the segments that retention would delete at once.
        remote: what stays in remote storage; None for nothing.
        local_start: the first offset of the local logs in the sources. log_start: the log start offset that
            the sources state; None if they do not. leader_epoch: the newest one in the sources.
        known_end: an offset after the end of the log that a checkpoint of the sources has; 0 for none.

    Example: see `plan_rebuild`.
    """

    topic_partition: TopicPartition
    sources: list[Path]
    targets: list[Path] = field(default_factory=list)
    report: SalvageReport | None = None
    expired: int = 0
    remote: RemoteLog | None = None
    local_start: int = 0
    log_start: int | None = None
    leader_epoch: int = 0
    known_end: int = 0
    _salvage: SalvagePlan | None = field(default=None, repr=False)
    _records: list[Record] = field(default_factory=list, repr=False)
    _is_remote: bool = field(default=False, repr=False)
    _needs_tier: bool = field(default=False, repr=False)

    @property
    def end_offset(self) -> int:
        """The offset after the last record."""
        if self.report is not None:
            return self.report.end_offset
        return len(self._records) if self.remote is None else self.remote.next_offset

    @property
    def start_offset(self) -> int:
        """The offset of the first record."""
        return self.local_start if self.remote is None else self.remote.start_offset

    @property
    def _has_log(self) -> bool:
        return self._salvage is not None or self.remote is not None or bool(self._records)

    @property
    def missing(self) -> list[str]:
        """The ranges of offsets that no source has, with the reasons."""
        if self.report is None and self.remote is None:
            return [] if self._records else ["no source has this partition"]
        ranges = [] if self.remote is None else list(self.remote.missing)
        if self.report is not None:
            if self.remote is not None and self.local_start > self.remote.next_offset:
                between = f"offsets {self.remote.next_offset} to {self.local_start - 1}"
                ranges.append(f"{between}: remote storage ends before, and the local logs begin after them")
            elif (
                self.remote is None
                and self._needs_tier
                and self.log_start is not None
                and self.log_start < self.local_start
            ):
                between = f"offsets {self.log_start} to {self.local_start - 1}"
                ranges.append(
                    f"{between}: in remote storage, which is not among the sources, unless deleted there"
                )
            ranges += [f"{gap.offsets}: {'; '.join(gap.reasons)}" for gap in self.report.missing]
        if self.known_end > self.end_offset:
            lost = f"offsets {self.end_offset} to {self.known_end - 1}"
            ranges.append(f"{lost}: the sources end before, and a checkpoint of theirs has them")
        return ranges


@dataclass(frozen=True, slots=True)
class RebuildPlan(Plan[StepReport[RebuiltPartition]]):
    """The plan of a rebuild; `apply` carries it out.

    Attributes:
        cluster_id: of the cluster that is made. is_new: whether it was never started.
        topics: to be made. partitions: by topic and partition.
        groups: the offsets to be committed in a cluster that has `__consumer_offsets` already: by partition
        of that,
            (group, topic, partition, offset).
        problems: why it cannot be carried out; empty if it can.
        notes: what is left out, and what to know before the start.
        omissions: what of the sources could not be read; with what is missing, why the new cluster is not all
            of the old one.
        carried: how many other things a new cluster takes over, by kind.

    Example: see `plan_rebuild`.
    """

    cluster_id: str
    is_new: bool
    topics: list[NewTopic]
    partitions: list[RebuiltPartition]
    groups: dict[int, list[tuple[str, str, int, int]]]
    problems: list[str]
    notes: list[str]
    omissions: Omissions
    carried: dict[str, int]
    _target: Target = field(repr=False)
    _records: list[bytes] = field(repr=False)
    _appended: dict[str, tuple[list[Path], list[Record]]] = field(repr=False)
    _arguments: tuple[Sequence[Sequence[Path]], Sequence[Path]] = field(repr=False)
    _progress: Callable[[int], None] = field(repr=False)

    @property
    def has_changes(self) -> bool:
        """Whether there is something to rebuild."""
        return bool(self.topics or self._records) or any(records for _, records in self._appended.values())

    def require_current(self) -> None:
        """Raises StalePlan if the sources or the cluster have changed; OSError."""
        try:
            target = read_target(*self._arguments)
        except (ValueError, FormatError) as error:
            raise StalePlan(str(self._target.newest), f"cannot be written to any more ({error})") from error
        if target != self._target:
            raise StalePlan(str(self._target.newest), "has changed")
        for partition in self.partitions:
            if partition._salvage is not None:
                partition._salvage.require_current()
            if partition.remote is not None and not partition.remote.is_same():
                raise StalePlan(str(partition.remote.path), "has changed")

    def preview(self) -> StepReport[RebuiltPartition]:
        return StepReport(list(self.partitions))

    def apply(self, *, on_step: OnStep = ignore) -> StepReport[RebuiltPartition]:
        """Write the logs and the metadata. Sources are only read; no broker of the cluster may run.

        The locks of all log directories are held. After a kill no broker starts there until the same plan,
        made again, has finished.

        Args:
            on_step: called with each topic-partition once all its replicas are durable.

        Returns: the topic-partitions; `kept` has the files in quarantine that logs of a cluster with topics
        had before.
        Raises: ValueError for a plan with problems; StalePlan if the sources or the cluster have changed
        since; BlockingIOError if a broker runs; PermissionError unless this is the brokers' user or root;
        OSError.
        """
        refuse(self.problems)
        report = StepReport[RebuiltPartition]([], applied=True)
        roots = self._target.roots
        for root in roots:
            require_owner(root)
        with ExitStack() as stack:
            for root in roots:
                lock = stack.enter_context(locked(root))
                stack.enter_context(lock.claim(root))
            self.require_current()
            if not self.has_changes:
                return report
            for root in roots:
                self._fence(root)
            for partition in self.partitions:
                self._write(partition)
                report.steps.append(partition)
                on_step(partition)
            for broker in self._target.brokers:
                for root in broker.roots:
                    self._checkpoints(root)
            if self.is_new:
                self._shut_down_cleanly()
            for name, (replicas, records) in self._appended.items():
                report.kept += self._extend(name, replicas, records)
            known = self._target.metadata.topics if self._target.metadata is not None else []
            is_done = {topic.topic_id for topic in self.topics} <= {topic.topic_id for topic in known}
            now = time.time_ns() // 1_000_000
            records = [] if is_done else [Record(value=value, timestamp=now) for value in self._records]
            controllers = sorted(
                self._target.controllers, key=lambda controller: controller != self._target.newest
            )
            report.kept += self._extend(METADATA_LOG, controllers, records)
            for root in roots:
                # in one step: what is left after a kill a broker deletes
                done_with = root / f"kodec-0.{uuid4().hex}-delete"
                (root / FENCE).rename(done_with)
                sync_folder(root)
                shutil.rmtree(done_with)
        return report

    # -- the fence --------------------------------------------------------------------------------

    def digest(self) -> str:
        """A hash of what is made, by which an unfinished rebuild is recognized."""
        facts = [
            [
                topic.name,
                topic.topic_id.hex,
                [[partition.partition, partition.replicas] for partition in topic.partitions],
            ]
            for topic in self.topics
        ]
        ends = [
            [str(partition.topic_partition), partition.end_offset, list(map(str, partition.targets))]
            for partition in self.partitions
        ]
        return hashlib.sha256(json.dumps([facts, ends]).encode()).hexdigest()

    def _fence(self, root: Path) -> None:
        fence = root / FENCE
        if not fence.is_dir():
            fence.mkdir()
            _own(fence, root)
        facts = {"note": "kodec rebuild has not finished: run it again", "digest": self.digest()}
        replace_file(fence / PLAN, json.dumps(facts).encode())
        sync_folder(root)

    # -- logs -------------------------------------------------------------------------------------

    def _write(self, partition: RebuiltPartition) -> None:
        """All replicas of a topic-partition; those that are in place were made before a kill."""
        if not partition._has_log:
            return
        topic = next(topic for topic in self.topics if topic.name == partition.topic_partition.topic)
        first, *others = partition.targets
        if not first.exists():
            folder = self._new_log(partition, topic.topic_id)
            write_partition_metadata(folder / PARTITION_METADATA, topic.topic_id)
            _own_all(folder, first.parent)
            folder.rename(first)
            sync_folder(first.parent)
        for target in others:
            if not target.exists():
                folder = target.parent / FENCE / target.name
                _copy(first, folder, self._progress)
                _own_all(folder, target.parent)
                folder.rename(target)
                sync_folder(target.parent)

    def _new_log(self, partition: RebuiltPartition, topic_id: UUID) -> Path:
        """A new log of a topic-partition, durable, in a place of its own."""
        salvage, remote = partition._salvage, partition.remote
        if remote is not None and not remote.is_same():
            raise StalePlan(str(remote.path), "has changed")
        if salvage is not None:
            salvage.apply()
            folder = salvage.target
        else:
            folder = partition.targets[0].parent / FENCE / partition.targets[0].name
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        if partition._records:
            with LogWriter(folder, topic_id=topic_id, leader_epoch=0) as writer:
                writer.append(partition._records)
        if remote is not None:
            if salvage is None:
                SegmentWriter(folder, remote.next_offset).close()
                replace_file(folder / file_name(remote.next_offset, "snapshot"), remote.producers.to_bytes())
            newer = [] if partition.report is None else partition.report.leader_epochs
            newest = remote.epochs[-1].epoch if remote.epochs else -1
            epochs = [*remote.epochs, *(entry for entry in newer if entry.epoch > newest)]
            replace_file(folder / LEADER_EPOCHS, leader_epochs_bytes(epochs))
            sync_folder(folder)
        return folder

    def _checkpoints(self, root: Path) -> None:
        """The entries of a log directory: all is durable, and on all replicas."""
        partitions = [
            partition
            for partition in self.partitions
            if partition._has_log and any(target.parent == root for target in partition.targets)
        ]
        ends = {partition.topic_partition: partition.end_offset for partition in partitions}
        checkpoints: dict[str, dict[TopicPartition, int]] = {RECOVERY_POINTS: ends, HIGH_WATERMARKS: ends}
        for name in (LOG_START_OFFSETS, CLEANER_OFFSETS):
            # as the salvage of the first replica has noted them
            checkpoints[name] = {}
            for partition in partitions:
                for noted in (partition.targets[0].parent / FENCE).glob(f"**/{name}"):
                    offset = read_offsets(noted).get(partition.topic_partition)
                    if offset is not None:
                        checkpoints[name][partition.topic_partition] = offset
                if name == LOG_START_OFFSETS and partition._is_remote:
                    # with remote storage, a broker does not take the first local segment for it
                    checkpoints[name][partition.topic_partition] = partition.start_offset
        for name, entries in checkpoints.items():
            path = root / name
            before = read_offsets(path) if path.exists() else {}
            after = {owner: offset for owner, offset in before.items() if owner not in ends} | entries
            if after != before:
                write_offsets(path, after)
                _own(path, root)

    # -- logs of Kafka's own topics ---------------------------------------------------------------

    def _extend(self, name: str, roots: Sequence[Path], records: Sequence[Record]) -> list[Path]:
        """Append records to a log on all its replicas, of which the first is the longest.

        Each gets a longer copy in the place of its folder: whole, or not at all.
        """
        newest = roots[0] / name
        quarantined = []
        for root in roots:
            folder, copy, aside = root / name, root / FENCE / name, root / FENCE / f"{name}.replaced"
            if aside.is_dir() and not folder.exists():
                aside.rename(folder)
            shutil.rmtree(copy, ignore_errors=True)
            if folder.is_dir():
                _copy(folder, copy)
            else:
                copy.mkdir()
            with PartitionLog(copy) as log:
                end, epoch = (log.end_offset, newest_epoch(log)) if log.segments else (0, 1)
            if folder != newest:
                data = _batches_from(newest, end)
            else:
                data = encode(
                    records, base_offset=end, partition_leader_epoch=max(epoch, 0), batch_records=_BATCH
                )
            if data:
                batches = [batch.partition_leader_epoch for batch in read_batches(data)]
                topic_id = METADATA_ID if name == METADATA_LOG else None
                with LogWriter(copy, topic_id=topic_id, leader_epoch=max(epoch, *batches)) as writer:
                    writer.append(data, keep_offsets=True)
                _own_all(copy, root)
                if not folder.exists():
                    copy.rename(folder)
                elif not exchange(copy, folder):
                    folder.rename(aside)
                    copy.rename(folder)
                    copy = aside
                sync_folder(root)
            if data and copy.is_dir() and list(copy.glob("*.log")):
                where = default_quarantine(root) / name
                quarantined += [move_away(path, where) for path in sorted(copy.iterdir())]
            shutil.rmtree(copy, ignore_errors=True)
        return quarantined

    def _shut_down_cleanly(self) -> None:
        """The marker of each broker of a new cluster, in the epoch that its metadata has."""
        for number, broker in enumerate(self._target.brokers):
            for root in broker.roots:
                write_clean_shutdown(root / CLEAN_SHUTDOWN, len(self._target.boot) + number)
                _own(root / CLEAN_SHUTDOWN, root)


def _own(path: Path, root: Path) -> None:
    """Give a file or a folder to the owner of a log directory; durably."""
    like = root.stat()
    with open_file(path, os.O_RDONLY) as fd:
        keep_owner(fd, like, None if path.is_dir() else like.st_mode & 0o666)
        os.fsync(fd)


def _own_all(folder: Path, root: Path) -> None:
    for path in (*folder.iterdir(), folder):
        _own(path, root)


def _copy(folder: Path, target: Path, progress: Callable[[int], None] = lambda _: None) -> None:
    """Copy the files of a folder, durably."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for path in sorted(folder.iterdir()):
        copy_from(path, 0, target / path.name, progress if path.suffix == ".log" else None)
    sync_folder(target)


def _batches_from(folder: Path, offset: int) -> bytes:
    """The batches of a log from an offset on."""
    with PartitionLog(folder) as log:
        return b"".join(bytes(batch.data) for batch in log.batches(offset) if batch.base_offset >= offset)
