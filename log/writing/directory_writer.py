"""Writes whole log directories: several topic-partitions, and the files of the folder around them."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import UUID

from kodec.log.files.checkpoints import (
    read_offsets,
    write_clean_shutdown,
    write_meta_properties,
    write_offsets,
)
from kodec.log.files.durable import sync_folder
from kodec.log.files.listing import TopicPartition, find_partitions
from kodec.log.files.lock import locked
from kodec.log.files.names import CLEAN_SHUTDOWN, META_PROPERTIES, RECOVERY_POINTS
from kodec.log.writing.writer import LogConfig, LogWriter

__all__ = ["LogDirectoryWriter"]


class LogDirectoryWriter:
    """Writes the logs of an entry of `log.dirs`, and leaves it as a broker does that stops in order.

    `close` closes all logs, checkpoints their recovery points, and then leaves the note of a clean shutdown,
    by which a broker takes the logs as they are. It leaves none where the directory had none when it was
    opened and holds a topic-partition that was not written here: that one is to be recovered. On an error, or
    where it is not closed, there is no note either.

    Args:
        root: the folder; it is made where it is not there. Its lock, a broker's, is held until `close`.
        cluster_id, node_id, directory_id: for `meta.properties`, which is written where it is not there and
            the first two are given. A broker starts only in directories of its own cluster and node.
        config: of logs that are opened without one.

    Raises: BlockingIOError where somebody else writes there; OSError. Use it from one thread.
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
        self.root.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            stack.enter_context(locked(self.root))
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

    def __repr__(self) -> str:
        return f"<LogDirectoryWriter {self.root}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            with self._stack:
                for writer in self._writers.values():
                    writer.__exit__(kind, error, trace)

    def partition(
        self,
        topic: str,
        partition: int,
        *,
        config: LogConfig | None = None,
        topic_id: UUID | None = None,
        leader_epoch: int | None = None,
        start_offset: int = 0,
    ) -> LogWriter:
        """The writer of a topic-partition's log, opened with these arguments (see `LogWriter`) at first."""
        key = TopicPartition(topic, partition)
        if key not in self._writers:
            self._writers[key] = LogWriter(
                self.root / str(key),
                config=self.config if config is None else config,
                topic_id=topic_id,
                leader_epoch=leader_epoch,
                start_offset=start_offset,
            )
        return self._writers[key]

    def flush(self) -> None:
        """Flush all logs and checkpoint their recovery points. Raises OSError."""
        for writer in self._writers.values():
            writer.flush()
        self._checkpoint()

    def _checkpoint(self) -> None:
        path = self.root / RECOVERY_POINTS
        points = read_offsets(path) if path.is_file() else {}
        points.update({key: writer.recovery_point for key, writer in self._writers.items()})
        write_offsets(path, points)

    def close(self, *, broker_epoch: int = -1) -> None:
        """Close all logs and leave the directory as a broker does on a clean shutdown. Raises OSError."""
        with self._stack:
            for writer in self._writers.values():
                writer.close()
            self._checkpoint()
            written = {str(key) for key in self._writers}
            others = [each for each in find_partitions(self.root) if each.path.name not in written]
            if self._was_clean or not others:
                write_clean_shutdown(self.root / CLEAN_SHUTDOWN, broker_epoch)
