"""Writes one segment: the log and the indexes next to it, as a broker leaves them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from weakref import WeakSet

from kodec.generated.log import transaction_index
from kodec.log.batches.sizes import MAX_SEGMENT
from kodec.log.files.durable import create_file, sync_folder, write_all
from kodec.log.files.indexes import INDEX_INTERVAL, MAX_INDEX, IndexBuilder, Indexed
from kodec.log.files.names import file_name
from kodec.log.writing.closing import ClosedAtEnd
from kodec.log.writing.guard import ChangeGuard
from kodec.runtime.errors import EncodeError
from kodec.runtime.system import NOFOLLOW

__all__ = ["SegmentWriter"]

_open_writers: WeakSet[SegmentWriter] = WeakSet()


def _close_after_fork() -> None:
    """A child has copies of its parent's descriptors, and would be seen as a writer of the log."""
    for writer in list(_open_writers):
        writer.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_after_fork)


class SegmentWriter(ClosedAtEnd):
    """The files of one segment, while batches are added at its end. Use it from one thread.

    Data is with the operating system when `append` returns, so it survives a crash of
    this process; it is durable when `flush` or `close` returns: it survives a crash of the machine
    too. Indexes are written by `flush` and `close`; they are not preallocated, so a killed writer leaves no
    zeros.

    When an exception ends a call before files and indexes agree again, a failed `flush` above all, the writer
    has failed: each later call raises LogFailed, and so does each in a process that was forked. An `append`
    that could be undone, for example because the disk is full, is not such a failure.

    New files get owner, group and mode as in `create_file`. A symbolic link is not followed.

    Args:
        folder: of the topic-partition.
        base_offset: in the names of the files; no offset may be below it.
        suffix: after the names, as `.cleaned`.
        index_interval_bytes, max_index_bytes: the topic's `index.interval.bytes` and `segment.index.bytes`.
        overwrite: remove files of these names first; otherwise FileExistsError.
        resume: continue an existing segment: the indexes' state, from scanning the log. Index files
            must be in that state.

    Attributes:
        base_offset: as given.
        path: of the log.
        next_offset: the one after the last; `base_offset` at first.
        batches: the number appended by this writer.
        first_timestamp: the largest timestamp of the first batch, from which `segment.ms` counts; None if
            there is no batch yet.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        base_offset: int,
        *,
        suffix: str = "",
        index_interval_bytes: int = INDEX_INTERVAL,
        max_index_bytes: int = MAX_INDEX,
        overwrite: bool = False,
        resume: IndexBuilder | None = None,
    ) -> None:
        self._folder = Path(folder)
        self._suffix = suffix
        self.base_offset = base_offset
        self.next_offset = base_offset
        self.batches = 0
        self.first_timestamp: int | None = None
        self.path = self._folder / file_name(base_offset, "log", suffix)
        self._indexes = (
            IndexBuilder(base_offset, interval=index_interval_bytes, max_bytes=max_index_bytes)
            if resume is None
            else resume
        )
        self._files: dict[str, int] = {}
        # Bytes of each index that are in its file already.
        self._written = dict.fromkeys(("index", "timeindex", "txnindex"), 0)
        self._names_durable = resume is not None
        self._guard = ChangeGuard(self.path)
        _open_writers.add(self)
        try:
            if resume is None and overwrite:
                for kind in ("txnindex", "timeindex", "index", "log"):
                    self._file(kind).unlink(missing_ok=True)
            for kind in ("log", "index", "timeindex", "txnindex"):
                if resume is not None and (kind != "txnindex" or self._file(kind).is_file()):
                    self._files[kind] = os.open(self._file(kind), os.O_WRONLY | NOFOLLOW)
                elif kind != "txnindex":
                    self._files[kind] = create_file(self._file(kind))
            if resume is not None:
                for kind, data in self._index_bytes():
                    self._written[kind] = len(data)
        except BaseException:
            self.abandon()
            raise

    def __repr__(self) -> str:
        return f"<SegmentWriter {self.path}>"

    def _file(self, kind: str) -> Path:
        return self._folder / file_name(self.base_offset, kind, self._suffix)

    def _index_bytes(self) -> list[tuple[str, bytearray]]:
        indexes = self._indexes
        return [("index", indexes.offsets), ("timeindex", indexes.times), ("txnindex", indexes.aborted)]

    # -- state ------------------------------------------------------------------------------------

    @property
    def paths(self) -> list[Path]:
        """The existing files of the segment, the log first."""
        return [self._file(kind) for kind in ("log", "index", "timeindex", "txnindex") if kind in self._files]

    @property
    def is_open(self) -> bool:
        """Whether batches can be added: it was neither closed nor abandoned."""
        return bool(self._files)

    @property
    def failed(self) -> bool:
        """Whether a call was aborted before files and indexes agreed again: then nothing can be added."""
        return self._guard.failed

    @property
    def size(self) -> int:
        """Bytes of the log."""
        return self._indexes.position

    @property
    def index_size(self) -> int:
        """Bytes of the offset index."""
        return len(self._indexes.offsets)

    @property
    def time_index_size(self) -> int:
        """Bytes of the time index."""
        return len(self._indexes.times)

    @property
    def largest_timestamp(self) -> int:
        """The largest timestamp of all batches, in ms since epoch; -1: none."""
        return self._indexes.largest_timestamp

    @property
    def index_full(self) -> bool:
        """Whether an index lacks room for the next batch."""
        return self._indexes.is_full

    def fits(self, last_offset: int, size: int = 0) -> bool:
        """Whether a batch up to `last_offset` of `size` bytes fits the indexes' 32 bits."""
        return self._indexes.fits(last_offset) and self.size + size <= MAX_SEGMENT

    # -- adding -----------------------------------------------------------------------------------

    def append(self, data: bytes | bytearray | memoryview, head: Indexed) -> int:
        """Write a batch unchanged; return its position. `head` is its `Batch` or `BatchHeader`.

        Raises EncodeError for an offset that is not above the last one or does not fit the segment (see
        `fits`); OSError, after which no part of the batch is present; ValueError after `close`; LogFailed.
        """
        return self.append_all(data, (head,))

    def append_all(self, data: bytes | bytearray | memoryview, heads: Sequence[Indexed]) -> int:
        """Write several batches at once; return the position of the first. Errors as in `append`, for all."""
        self._guard.require()
        if not self._files:
            raise ValueError(f"{self.path}: is closed")
        position = end = self.size
        last = self.next_offset - 1
        for head in heads:
            end += head.size
            if head.last_offset <= last:
                raise EncodeError(
                    "offset", "offsets must ascend", need=f"at least {last + 1}", have=head.last_offset
                )
            last = head.last_offset
            if not self._indexes.fits(last) or end > MAX_SEGMENT:
                raise EncodeError("offset", f"does not fit the segment of {self.base_offset}", have=last)
        if end - position != len(data):
            raise EncodeError("batch", "the sizes of the batches", need=end - position, have=len(data))
        with self._guard.changing("an append"):
            self._write(data, position)
            if self.first_timestamp is None and heads:
                self.first_timestamp = heads[0].max_timestamp
            for head in heads:
                self._indexes.take(head)
            self.batches += len(heads)
            self.next_offset = last + 1
        return position

    def _write(self, data: bytes | bytearray | memoryview, position: int) -> None:
        log = self._files["log"]
        try:
            write_all(log, data, position)
        except BaseException:
            os.ftruncate(log, position)
            # As before: the caller may continue.
            self._guard.undone()
            raise

    def add_aborted(self, entry: transaction_index.Entry) -> None:
        """Add an aborted transaction with records, whose marker is in here, to the transaction index."""
        with self._guard.changing("an append"):
            self._indexes.abort(entry)

    def _write_indexes(self) -> None:
        for kind, data in self._index_bytes():
            written = self._written[kind]
            if len(data) > written:
                if kind not in self._files:
                    self._names_durable = False
                    self._files[kind] = create_file(self._file(kind))
                write_all(self._files[kind], data[written:], written)
                self._written[kind] = len(data)

    def flush(self, *, indexes: bool = True) -> None:
        """Make everything durable: the log, then its indexes, then, if they are new, their names.

        Without `indexes` they are written and left to the system: recovery rebuilds those of a last segment.
        Raises OSError: data appended since the last flush may then be durable or not, and no later call
        can know; LogFailed after that.
        """
        with self._guard.changing("a flush"):
            self._flush(indexes=indexes)

    def _flush(self, *, indexes: bool = True) -> None:
        self._write_indexes()
        for kind, fd in self._files.items():
            if indexes or kind == "log":
                os.fsync(fd)
        if not self._names_durable:
            sync_folder(self._folder)
            self._names_durable = True

    def close(self, *, flush: bool = True) -> None:
        """Add the last entry of the time index, flush, and close the files. May be called again.

        Without `flush` the caller makes the files durable. Raises OSError; LogFailed if an earlier call has
        failed. The files are closed in any case.
        """
        if not self._files:
            return
        try:
            with self._guard.changing("closing the segment"):
                self._indexes.end()
                if flush:
                    self._flush()
                else:
                    self._write_indexes()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the files as they are, as a crash does."""
        while self._files:
            # Taken out first: closed twice, it might be another's.
            _, fd = self._files.popitem()
            os.close(fd)
