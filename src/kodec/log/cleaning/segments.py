"""The output of a cleaning: whole segments next to those that they replace."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from kodec.generated.log import transaction_index
from kodec.log import kernel
from kodec.log.batches.batch import Batch
from kodec.log.batches.sizes import MAX_RELATIVE, MAX_SEGMENT
from kodec.log.cleaning.swap import CLEANED, remove_cleaned
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.writing.segment_writer import SegmentWriter

__all__ = ["CleanedSegments"]


class CleanedSegments:
    """The segments that replace neighbouring ones: one, unless that would grow too large.

    They are written with the suffix `.cleaned`, for `replace_segments`; not at all without `write`.

    Attributes:
        base_offsets: theirs, ascending.
        gaps: the offsets before and between their batches that no batch has.
        end: the offset after their last batch.
    """

    def __init__(self, log: PartitionLog, base_offset: int, *, max_index_bytes: int, write: bool) -> None:
        self.base_offsets: list[int] = []
        self.gaps: list[tuple[int, int]] = []
        self.end = base_offset
        self._folder = log.path
        self._limits = log.limits
        self._max_index_bytes = max_index_bytes
        self._write = write
        self._writer: SegmentWriter | None = None
        self._size = 0
        self._paths: list[Path] = []
        self._open(base_offset)

    def _open(self, base_offset: int) -> None:
        self.base_offsets.append(base_offset)
        self._size = 0
        if self._write:
            self._writer = SegmentWriter(
                self._folder,
                base_offset,
                suffix=CLEANED,
                max_index_bytes=self._max_index_bytes,
                overwrite=True,
            )

    def append(self, data: bytes, source: Batch) -> None:
        """Add a batch; `source` is what it was made from."""
        batch = source if data is source.data else kernel.open_batch(data, 0, self._limits)
        if self._size + len(data) > MAX_SEGMENT or batch.last_offset - self.base_offsets[-1] > MAX_RELATIVE:
            self._finish()
            self._open(batch.base_offset)
        if self.end < batch.base_offset:
            self.gaps.append((self.end, batch.base_offset - 1))
        self.end = batch.next_offset
        self._size += len(data)
        if self._writer is not None:
            self._writer.append(data, batch)

    def add_aborted(self, entry: transaction_index.Entry) -> None:
        if self._writer is not None:
            self._writer.add_aborted(entry)

    def _finish(self) -> None:
        if self._writer is not None:
            self._paths += self._writer.paths
            self._writer.close()

    def close(self, last: Segment) -> None:
        """Write everything durably, with the time of the last segment that was merged."""
        self._finish()
        status = last.path.stat()
        for path in self._paths:
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def abandon(self) -> None:
        """Remove what was written."""
        if self._writer is not None:
            with suppress(OSError):
                self._writer.close(flush=False)
        if self._write:
            remove_cleaned(self._folder, self.base_offsets)
