"""What `read_committed` leaves out of each log that is read."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

from kodec.log.backends.scan import EVERY, Range
from kodec.log.batches.batch import Batch
from kodec.log.batches.options import LogReadOptions
from kodec.log.directories.segment import Segment
from kodec.log.directories.transactions import Transactions, find_transactions
from kodec.log.reading.source import Source
from kodec.log.remote.opening import open_location
from kodec.log.selection import Selection
from kodec.log.tables.chosen import Piece
from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.errors import ArgumentError

__all__ = ["Committed", "Stable"]


@dataclass(frozen=True, slots=True)
class Stable:
    """What is decided of a log.

    Attributes:
        last: its last stable offset, exclusive, minus one: what follows is undecided.
        drops: whether a batch is of an aborted transaction; None if none is.
    """

    last: int = EVERY.last
    drops: Callable[[Batch], bool] | None = None

    def within(self, offsets: Range) -> Range:
        """The part of a range of offsets that is decided."""
        return Range(offsets.first, min(offsets.last, self.last))


@dataclass(slots=True)
class Committed:
    """The decided part of each log of a selection, found once for each, in whichever thread.

    Raises: FormatError, OSError, as the reader of the log.
    """

    selection: Selection
    options: LogReadOptions
    _known: dict[Path, Stable] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, piece: Piece) -> Stable:
        """Of the log of a segment; of the segment alone if its log is not read."""
        if not self.selection.committed:
            return Stable()
        with self._lock:
            path = piece.files.log if piece.log is None else piece.log.path
            if path not in self._known:
                self._known[path] = self._stable(piece)
            return self._known[path]

    def of_source(self, source: Source) -> Stable:
        """Of one file. Raises ArgumentError for bytes and streams."""
        if not self.selection.committed:
            return Stable()
        if not isinstance(source, (str, os.PathLike)):
            raise ArgumentError('isolation="read_committed" needs a path: markers follow the records')
        with Segment.of(open_location(source), limits=self.options.limits) as segment:
            return _stable(find_transactions([segment], {}, 0, segment.next_offset, self.options))

    def _stable(self, piece: Piece) -> Stable:
        log = piece.log
        if log is None:
            return self.of_source(piece.files.log)
        first = min(max(self.selection.offsets.first, log.start_offset), log.end_offset)
        return _stable(log.transactions(first, options=self.options))


def _stable(known: Transactions) -> Stable:
    def drops(batch: Batch) -> bool:
        data = batch.is_transactional and not batch.is_control
        return data and known.drops(batch.producer_id, batch.base_offset)

    return Stable(known.last_stable_offset - 1, drops if known.aborted else None)
