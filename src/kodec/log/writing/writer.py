"""Writes the log of one topic-partition: offsets, segments, indexes, producers, durability.

Followed: `UnifiedLog.append`, `roll`, `flush` and `close`, `LogValidator`, `LogSegment.shouldRoll`, Kafka 4.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple, Unpack
from uuid import UUID

from kodec.log.arguments import require, require_integer
from kodec.log.batches.batch import Batch
from kodec.log.batches.format import KAFKA
from kodec.log.batches.records import Limits
from kodec.log.directories.epochs import EpochRuns, assign
from kodec.log.directories.producer_state import ProducerState
from kodec.log.files.checkpoints import LeaderEpoch, write_leader_epochs
from kodec.log.files.durable import replace_file, sync_folder
from kodec.log.files.in_use import require_unused
from kodec.log.files.indexes import base_offset_after
from kodec.log.files.listing import PartitionFiles, ReplicaKind, TopicPartition, list_partition
from kodec.log.files.lock import claimed, locked
from kodec.log.files.names import LEADER_EPOCHS, file_name
from kodec.log.remote.opening import writable_partition
from kodec.log.writing.closing import ClosedAtEnd
from kodec.log.writing.config import LogConfig
from kodec.log.writing.guard import ChangeGuard
from kodec.log.writing.incoming import Encoding, Incoming, batches_of, refuse_unfit, with_offsets
from kodec.log.writing.prepare import (
    checkpointed_start,
    drop_leftovers,
    drop_snapshots,
    load_epochs,
    prepare_folder,
    refuse_unfinished,
    remove_clean_shutdown,
    resume,
)
from kodec.log.writing.segment_writer import SegmentWriter

__all__ = ["AppendResult", "LogWriter"]

_MOST_EPOCH = KAFKA.heads[KAFKA.written].epoch.most


class AppendResult(NamedTuple):
    """What an append did.

    Attributes:
        first_offset, last_offset: of what was appended, both included; for nothing, `last_offset` is the one
            before `first_offset`.
        bytes: written to the log.
        recovery_point: what is below it is durable; the rest is with the operating system.

    Example: see `LogWriter`.
    """

    first_offset: int
    last_offset: int
    bytes: int
    recovery_point: int

    @property
    def durable(self) -> bool:
        """Whether all that was appended is durable already."""
        return self.last_offset < self.recovery_point


class LogWriter(ClosedAtEnd):
    """Appends to the log of a topic-partition, a new one or one that was closed or recovered.

    Durability:

    - What `append` has returned from is in the log and with the operating system: it survives a crash of this
      process (`kill -9` at any moment) and is found by `recover`, or by a broker when it starts.
    - What is below `recovery_point` is durable: it survives a crash of the machine too. `flush` moves it to
      the end of the log: it fsyncs the log, and the folder where files are new. It does not fsync the indexes
      of the last segment: they are derived from the log, and recovery, which always reads that segment,
      rebuilds them.
    - A roll fsyncs the old segment, its indexes and its names before the new one gets a batch, so all
      segments but the last are durable. (A broker does this a little later, in the background.)
    - `leader-epoch-checkpoint`, `partition.metadata` and producer snapshots are written to a temporary file,
      fsynced and renamed, so they are never partial. An epoch is durable before a batch that has it.
    - `close` flushes and leaves what a broker leaves on a clean shutdown: the last entry of the time index, a
      producer snapshot at the end of the log.

    What recovery finds above `recovery_point` after the machine has crashed is whole batches in order, from
    what was appended; which ones is up to the system.

    What makes a writer fail: a call that an exception ends before the files and the writer's state agree
    again. That is a failed fsync (what it was for may be lost, and no later fsync reports it), a roll or a
    file next to the segments that could not be written, a lock that was lost, and any exception of a signal
    handler, as KeyboardInterrupt, that comes at the wrong moment. Each later call then raises LogFailed, the
    recovery point stays where it was, and `close` releases files and lock without leaving what a clean
    shutdown leaves. A failed or interrupted write of a batch that could be truncated again, as where the disk
    is full, is no such failure. `next_offset` shows how much of an append is there; nothing that was appended
    is undone. Opening the log again fsyncs its last segment, reads it from the disk and not from memory, and
    goes on only where that is whole.

    There is one writer of a log: the lock of the log directory, which is a broker's, keeps other processes
    out, and a claim on the folder other writers in this one. A writer is of no use in a process that was
    forked: there each call raises LogFailed, and its end leaves the parent's files and lock as they are.

    Args:
        path: the folder, named like `orders-0`; it is made if missing, for the owner of the folder
            around it. The lock of that one (`.lock`, a broker's) is held until `close`, and its
            `.kafka_cleanshutdown` is removed: see `LogDirectoryWriter` for whole log directories.
        topic_id: goes into `partition.metadata`; a broker in KRaft mode needs it. None: as it is there.
        leader_epoch: what batches of magic 2 get whose offsets are assigned. None: the newest one of
            `leader-epoch-checkpoint`, 0 for a new log.
        start_offset: of a new log. producers: of a new log, what is known of them where it starts.
        clock: seconds since the epoch, for `flush_ms` and `segment_ms`.
        config: the topic's settings.
        limits: how much may be allocated for one batch.

    Raises: ValueError for a folder with another name, or another topic id than the one there;
    BlockingIOError if somebody else writes there, in this process or another; OSError; FormatError if
    the log must be recovered first: its last segment, which is read, does not end with a whole batch or has
    a damaged one, or a replacement of segments has not been finished. Use it from one thread.

    Example:
        >>> import kodec
        >>> with kodec.LogWriter("orders-0") as log:
        ...     result = log.append([kodec.Record(value=b"one"), kodec.Record(value=b"two")])
        ...     result.durable, log.flush()
        (False, 2)
        >>> [record.value for record in kodec.read_records("orders-0")]
        [b'one', b'two']
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        config: LogConfig = LogConfig(),
        topic_id: UUID | None = None,
        leader_epoch: int | None = None,
        start_offset: int = 0,
        producers: ProducerState | None = None,
        limits: Limits = Limits(),
        clock: Callable[[], float] = time.time,
    ) -> None:
        folder = writable_partition(path)
        require("config", config, LogConfig, "kodec.LogConfig(...) is needed")
        if leader_epoch is not None:
            require_integer("leader_epoch", leader_epoch, 0)
        if folder.kind is not ReplicaKind.LIVE:
            raise ValueError(f"{path}: a {folder.kind.value} replica is left as it is")
        self.path = folder.path
        self.topic_partition: TopicPartition = folder.topic_partition
        self.config = config
        self._limits = limits
        self._clock = clock
        self.next_offset = self.recovery_point = 0
        self._guard = ChangeGuard(self.path)
        self._is_open = self._is_complete = False
        self._active: SegmentWriter
        self._stack = ExitStack()
        with ExitStack() as stack:
            stack.enter_context(locked(self.path.parent))
            prepare_folder(self.path, topic_id)
            self._root = stack.enter_context(claimed(self.path))
            require_unused(self.path)
            stack.callback(self._abandon_active)
            files = list_partition(self.path)
            refuse_unfinished(files)
            runs = EpochRuns()
            if files.segments:
                runs = self._resume(files)
            else:
                self._begin(files, max(start_offset, checkpointed_start(self.path)), producers)
            self._load_epochs(runs, leader_epoch)
            self._flush()
            sync_folder(self.path)
            self._stack = stack.pop_all()
            self._is_open = True

    def __repr__(self) -> str:
        return f"<LogWriter {self.path}>"

    def abandon(self) -> None:
        """Close the files as they are, as a crash does."""
        self._is_open = False
        self._stack.close()

    def _abandon_active(self) -> None:
        active: SegmentWriter | None = getattr(self, "_active", None)
        if active is not None:
            active.abandon()

    @property
    def failed(self) -> bool:
        """Whether nothing more can be written, as a call before was not completed; LogFailed shows which."""
        return self._guard.failed

    @property
    def is_open(self) -> bool:
        """Whether it was neither closed nor left by an error."""
        return self._is_open

    @property
    def is_complete(self) -> bool:
        """Whether `close` has returned, and so left what a broker leaves on a clean shutdown."""
        return self._is_complete

    def _require_open(self) -> None:
        self._guard.require()
        if not self._is_open:
            raise ValueError(f"{self.path}: is closed")

    # -- opening ----------------------------------------------------------------------------------

    def _begin(self, files: PartitionFiles, start_offset: int, producers: ProducerState | None) -> None:
        remove_clean_shutdown(self.path.parent)
        drop_leftovers(files)
        self._producers = ProducerState() if producers is None else producers
        self._snapshot_at = self.next_offset = start_offset
        self._open_segment(start_offset)

    def _open_segment(self, base_offset: int) -> None:
        self._active = SegmentWriter(
            self.path,
            base_offset,
            index_interval_bytes=self.config.index_interval_bytes,
            max_index_bytes=self.config.segment_index_bytes,
            # of a roll that a crash has interrupted: files without a log
            overwrite=True,
        )
        self._opened_at = self._flushed_at = self._clock()
        self.next_offset = self.recovery_point = max(self.next_offset, base_offset)

    def _resume(self, files: PartitionFiles) -> EpochRuns:
        """Go on after the last segment; the leader epochs in it."""
        self._active, self._producers, scan = resume(self.path, files, self.config, self._limits)
        self._opened_at = self._flushed_at = self._clock()
        self.next_offset = self.recovery_point = scan.next_offset
        self._snapshot_at = drop_snapshots(files, scan.next_offset)
        return scan.epochs

    def _load_epochs(self, runs: EpochRuns, leader_epoch: int | None) -> None:
        self._epochs = load_epochs(self.path, runs, self.next_offset)
        newest = self._epochs[-1].epoch if self._epochs else 0
        if leader_epoch is not None and leader_epoch < newest:
            raise ValueError(f"leader_epoch={leader_epoch}: the log has {newest} already")
        if leader_epoch is not None and leader_epoch > _MOST_EPOCH:
            raise ValueError(f"leader_epoch={leader_epoch}: at most {_MOST_EPOCH}")
        self.leader_epoch = newest if leader_epoch is None else leader_epoch

    # -- appending --------------------------------------------------------------------------------

    def append(
        self,
        data: Incoming,
        *,
        keep_offsets: bool = False,
        **encoding: Unpack[Encoding],
    ) -> AppendResult:
        """Append records, a batch, or the bytes of whole batches of any magic.

        Offsets are assigned from the end of the log on, and batches of magic 2 get the writer's
        `leader_epoch`; both are set in place, where no checksum covers them. A wrapper of magic 0 or 1 whose
        records cannot be renumbered in place is rewritten. Producers' sequences are not checked.

        Args:
            keep_offsets: take the offsets and epochs that are there, as a follower does: they must ascend
                from the end of the log on, with or without gaps.
            encoding: for records only: how they become batches, see `encode`.
            data: records; a `Batch`; or bytes.

        Checksums are verified before anything is written. Flushes where the settings report it.
        Raises: EncodeError for records that cannot be written, a batch larger than a segment, and offsets
        that do not ascend; FormatError for bytes that are not whole batches; OSError: what was written before
        it is in the log, whole batches, up to `next_offset`; LogFailed where a call before was not completed.
        """
        self._require_open()
        batches = batches_of(
            data,
            next_offset=None if keep_offsets else self.next_offset,
            leader_epoch=self.leader_epoch,
            segment_bytes=self.config.segment_bytes,
            limits=self._limits,
            encoding=encoding,
        )
        refuse_unfit(batches, self.config.segment_bytes, self.next_offset if keep_offsets else None)
        first = batches[0].base_offset if keep_offsets and batches else self.next_offset
        size = 0
        for batch in batches:
            placed = [batch]
            if not keep_offsets:
                placed = with_offsets(batch, self.next_offset, self.leader_epoch, self._limits)
            for placed_batch in placed:
                self._append(placed_batch)
                size += placed_batch.size
        if self._due():
            self._flush()
        return AppendResult(first, self.next_offset - 1, size, self.recovery_point)

    def _append(self, batch: Batch) -> None:
        first = batch.base_offset if batch.is_list else self.next_offset
        if self._is_to_roll(batch):
            self._roll(base_offset_after(self.next_offset, first, batch.last_offset))
        epoch = batch.partition_leader_epoch
        if epoch >= 0 and (not self._epochs or epoch > self._epochs[-1].epoch):
            with self._guard.changing("an append"):
                assign(self._epochs, LeaderEpoch(epoch, first))
                write_leader_epochs(self.path / LEADER_EPOCHS, self._epochs)
        size = self._active.size
        try:
            with self._guard.changing("an append"):
                self._active.append(batch.data, batch)
                self.next_offset = batch.next_offset
                ended = self._producers.take_batch(batch)
                if ended is not None and ended.aborted:
                    self._active.add_aborted(ended.index_entry())
        except BaseException:
            if not self._active.failed and self._active.size == size:
                # Nothing is there of it, and nothing is known of it.
                self._guard.undone()
            raise

    def _is_to_roll(self, batch: Batch) -> bool:
        active, config = self._active, self.config
        if not active.fits(batch.last_offset, batch.size):
            return True
        if active.size == 0:
            return False
        first = active.first_timestamp
        if first is not None and first >= 0:
            waited = batch.max_timestamp - first
        else:
            waited = int((self._clock() - self._opened_at) * 1000)
        return (
            active.size > config.segment_bytes - batch.size or waited > config.segment_ms or active.index_full
        )

    # -- segments and the disk --------------------------------------------------------------------

    def roll(self, base_offset: int = 0) -> int:
        """Begin a new segment, of `base_offset` or the end of the log, whichever is higher; its base offset.

        The old segment is durable when this returns, and the producers' snapshot at the new base offset
        is written. Where the last segment has that base offset, nothing is done. Raises OSError; LogFailed.
        """
        self._require_open()
        return self._roll(base_offset)

    def _roll(self, base_offset: int) -> int:
        base_offset = max(base_offset, self.next_offset)
        if base_offset == self._active.base_offset:
            return base_offset
        with self._guard.changing("a roll"):
            self._root.confirm()
            self._active.close()
            self._take_snapshot(base_offset)
            self._open_segment(base_offset)
        return base_offset

    def _take_snapshot(self, offset: int) -> None:
        if offset > self._snapshot_at:
            data = self._producers.snapshot().to_bytes()
            replace_file(self.path / file_name(offset, "snapshot"), data, folder=False)
            self._snapshot_at = offset

    def _due(self) -> bool:
        unflushed = self.next_offset - self.recovery_point
        since = (self._clock() - self._flushed_at) * 1000
        return unflushed >= self.config.flush_messages or (unflushed > 0 and since >= self.config.flush_ms)

    def flush(self) -> int:
        """Make all that was appended durable; the new `recovery_point`.

        Raises OSError: what was appended since the last flush may be lost, also where it can still be read,
        and the writer takes nothing more; LogFailed after that.
        """
        self._require_open()
        return self._flush()

    def _flush(self) -> int:
        with self._guard.changing("a flush"):
            self._root.confirm()
            self._active.flush(indexes=False)
            self.recovery_point = self.next_offset
            self._flushed_at = self._clock()
        return self.recovery_point

    def close(self) -> None:
        """Flush, and leave the folder as a broker does on a clean shutdown. May be called again.

        Raises OSError and LogFailed: then nothing is left of a clean shutdown, and the log is to be opened
        again or recovered. Files and lock are released in any case.
        """
        with self._stack:
            if not self._is_open:
                return
            self._is_open = False
            with self._guard.changing("closing the log"):
                self._root.confirm()
                self._active.close()
                self._take_snapshot(self.next_offset)
                sync_folder(self.path)
                self.recovery_point = self.next_offset
                self._is_complete = True
