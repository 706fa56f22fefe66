"""Writes whole log directories: several topic-partitions, and the files of the folder around them."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from pathlib import Path
from uuid import UUID

from kodec.log.arguments import require_integer
from kodec.log.directories.producer_state import ProducerState
from kodec.log.files.checkpoints import (
    read_offsets,
    write_clean_shutdown,
    write_meta_properties,
    write_offsets,
)
from kodec.log.files.durable import make_root, sync_folder
from kodec.log.files.listing import TopicPartition, find_partitions, parse_partition_dir
from kodec.log.files.lock import locked
from kodec.log.files.names import CLEAN_SHUTDOWN, META_PROPERTIES, RECOVERY_POINTS
from kodec.log.writing.closing import ClosedAtEnd
from kodec.log.writing.config import LogConfig
from kodec.log.writing.guard import ChangeGuard
from kodec.log.writing.writer import LogWriter

__all__ = ["LogDirectoryWriter"]


class LogDirectoryWriter(ClosedAtEnd):
    """Writes the logs of an entry of `log.dirs`, and leaves it as a broker does on a clean shutdown.

    `close` closes all logs, checkpoints their recovery points, and then writes the clean-shutdown marker,
    which lets a broker skip recovery. It writes none if that would be wrong: if a log has failed or was
    not closed cleanly, if another part of this process has written to a log of the directory in the
    meantime, and if the directory had none when it was opened and holds a topic-partition that was not
    written here: that one must be recovered. On an error, or without `close`, there is no marker
    either. A recovery point covers only what an fsync has succeeded for.

    There is one such writer of a directory at a time. Meanwhile, other logs of the directory can be written,
    trimmed, compacted and recovered from the same process. As a `LogWriter`, it cannot be used in a process
    that was forked.

    Args:
        root: the folder; created if missing. Its lock, the same as a broker's, is held until `close`.
        cluster_id, node_id, directory_id: for `meta.properties`, which is written if missing and
            the first two are given. A broker starts only in directories of its own cluster and node.
        config: of logs that are opened without one.

    Raises: BlockingIOError where somebody else writes there, in this process or another; OSError. Use it from
    one thread.

    Example:
        >>> import kodec
        >>> cluster = "a29kZWMtcmVhbC1sb2dzMQ"
        >>> with kodec.LogDirectoryWriter("logs", cluster_id=cluster, node_id=1) as directory:
        ...     log = directory.partition("orders", 0)
        ...     result = log.append([kodec.Record(key=b"k", value=b"v")], compression="zstd")
        >>> result.first_offset, result.last_offset
        (0, 0)
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        cluster_id: str | None = None,
        node_id: int | None = None,
        directory_id: str | None = None,
        config: LogConfig = LogConfig(),
    ) -> None:
        self.root = Path(root).absolute()
        self.config = config
        self._writers: dict[TopicPartition, LogWriter] = {}
        make_root(self.root)
        self._guard = ChangeGuard(self.root)
        self._is_open = False
        with ExitStack() as stack:
            self._lock = stack.enter_context(locked(self.root))
            stack.enter_context(self._lock.claim(self.root))
            self._claims = 1
            note = self.root / CLEAN_SHUTDOWN
            self._was_clean = note.is_file()
            note.unlink(missing_ok=True)
            sync_folder(self.root)
            if cluster_id is not None and node_id is not None and not (self.root / META_PROPERTIES).exists():
                write_meta_properties(
                    self.root / META_PROPERTIES,
                    cluster_id=cluster_id,
                    node_id=node_id,
                    directory_id=directory_id,
                )
            self._stack = stack.pop_all()
            self._is_open = True

    def __repr__(self) -> str:
        return f"<LogDirectoryWriter {self.root}>"

    def abandon(self) -> None:
        """Release everything as a crash does: the logs are left unchanged, without a marker."""
        self._is_open = False
        with self._stack, ExitStack() as stack:
            for writer in self._writers.values():
                stack.callback(writer.abandon)

    def _require_open(self) -> None:
        self._guard.require()
        if not self._is_open:
            raise ValueError(f"{self.root}: is closed")

    def partition(
        self,
        topic: str,
        partition: int,
        *,
        config: LogConfig | None = None,
        topic_id: UUID | None = None,
        leader_epoch: int | None = None,
        start_offset: int = 0,
        producers: ProducerState | None = None,
    ) -> LogWriter:
        """The writer of a topic-partition's log, opened with these arguments (see `LogWriter`) at first.

        Args:
            topic, partition: which one.
            config: the topic's settings; None: those of the directory.
            topic_id, leader_epoch, start_offset, producers: as in `LogWriter`.

        Raises: ValueError for a name that no topic can have; the errors of `LogWriter`.
        """
        self._require_open()
        require_integer("partition", partition, 0)
        key = TopicPartition(topic, partition)
        if parse_partition_dir(str(key)) != key:
            raise ValueError(f"{key}: not the name of a topic-partition")
        if key not in self._writers:
            before = self._lock.claims
            self._writers[key] = LogWriter(
                self.root / str(key),
                config=self.config if config is None else config,
                topic_id=topic_id,
                leader_epoch=leader_epoch,
                start_offset=start_offset,
                producers=producers,
            )
            self._claims += self._lock.claims - before
        return self._writers[key]

    def flush(self) -> None:
        """Flush all logs that are open and checkpoint their recovery points.

        Raises OSError, LogFailed: then nothing was checkpointed.
        """
        self._require_open()
        for writer in self._writers.values():
            if writer.is_open or writer.failed:
                writer.flush()
        with self._guard.changing("a checkpoint"):
            self._checkpoint()

    def _checkpoint(self) -> None:
        self._lock.confirm()
        path = self.root / RECOVERY_POINTS
        points = read_offsets(path) if path.exists() else {}
        points.update({key: writer.recovery_point for key, writer in self._writers.items()})
        write_offsets(path, points)

    def close(self, *, broker_epoch: int = -1) -> None:
        """Close all logs and leave the directory as a broker does on a clean shutdown. May be called again.

        Raises OSError, LogFailed: then neither recovery points nor the clean-shutdown marker are written. The
        other logs are closed and everything is released in any case.

        Args:
            broker_epoch: of the broker, for its clean-shutdown marker; -1 for none.
        """
        with self._stack:
            if not self._is_open:
                return
            self._is_open = False
            with ExitStack() as stack:
                for writer in self._writers.values():
                    stack.callback(writer.close)
            with self._guard.changing("closing the directory"):
                self._checkpoint()
                if self._is_clean():
                    self._leave_note(broker_epoch)

    def _leave_note(self, broker_epoch: int) -> None:
        note = self.root / CLEAN_SHUTDOWN
        try:
            write_clean_shutdown(note, broker_epoch)
        except BaseException:
            # It may exist, and after an error there must be none.
            with suppress(OSError):
                note.unlink(missing_ok=True)
            raise

    def _is_clean(self) -> bool:
        """Whether each log of the directory was closed cleanly, as far as is known."""
        if self._lock.claims != self._claims or not all(
            writer.is_complete for writer in self._writers.values()
        ):
            return False
        written = {str(key) for key in self._writers}
        return self._was_clean or all(
            partition.path.name in written for partition in find_partitions(self.root)
        )
