"""Producer state from the batches of a log, compared with its snapshots."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

from kodec.generated.log import producer_snapshot
from kodec.log.batches.sizes import SNAPSHOT_ENTRY, SNAPSHOT_HEAD
from kodec.log.directories.epochs import EpochRuns
from kodec.log.directories.producer_state import ProducerState
from kodec.log.files.descriptors import read_regular
from kodec.log.verification.problems import Problem, from_error, unreadable
from kodec.runtime.errors import FormatError

__all__ = ["Producers"]


class Producers:
    """Producer state after the batches so far; compared with snapshots when their offset is reached."""

    def __init__(self, snapshots: Iterable[tuple[int, Path]] = (), *, cleaned: int = 0) -> None:
        self.reliable = True
        # Where the log begins, as far as it has been read.
        self.first_offset: int | None = None
        # The offset below which compaction may have removed contents of a snapshot.
        self.cleaned = cleaned
        self.state = ProducerState()
        # The leader epochs of the segments so far.
        self.epochs = EpochRuns()
        # By the offset of the marker in this segment: the producer, and where its transaction began (None:
        # not in the log).
        self.aborted: dict[int, tuple[int, int | None]] = {}
        # Where the next segment begins; None if that is unknown.
        self.expected: int | None = None
        # What is missing before the last batch so far; see `EndOfSegment`.
        self.gap: tuple[int, int, int] | None = None
        self._snapshots = deque(snapshots)

    def lost(self) -> None:
        """A segment cannot be read to its end: relevant batches are missing."""
        self.reliable = False
        self.expected = None
        self.gap = None
        self.aborted.clear()

    def compare_below(self, offset: int) -> Iterator[Problem]:
        """Check the snapshots up to `offset`: exactly the batches before it have been processed."""
        while self._snapshots and self._snapshots[0][0] <= offset:
            yield from self._compare(*self._snapshots.popleft())

    def compare_rest(self) -> Iterator[Problem]:
        """Check the remaining snapshots: all of the log has been processed."""
        while self._snapshots:
            yield from self._compare(*self._snapshots.popleft())

    def _compare(self, offset: int, path: Path) -> Iterator[Problem]:
        try:
            entries = producer_snapshot.ProducerSnapshot.from_bytes(read_regular(path)).entries
        except FormatError as error:
            yield from_error(error, path)
            return
        except FileNotFoundError:
            # deleted meanwhile, as brokers do with old ones
            return
        except OSError as error:
            yield unreadable(error, path)
            return
        if not self.reliable:
            return
        named = set()
        for slot, each in enumerate(entries):
            at, who = SNAPSHOT_HEAD + SNAPSHOT_ENTRY * slot, f"producer {each.producer_id}"
            named.add(each.producer_id)
            if each.last_offset >= offset:
                yield Problem(path, at, f"{who}: last offset", f"less than {offset}", each.last_offset)
                continue
            for name, need, have in self._differences(each):
                yield Problem(path, at, f"{who}: {name}", need, have)
        for producer, began in self.state.open.items():
            if producer not in named:
                yield Problem(
                    path, SNAPSHOT_HEAD, f"producer {producer}, open since {began}", "an entry", "none"
                )

    def _differences(self, told: producer_snapshot.Entry) -> Iterator[tuple[str, object, object]]:
        """(what, value in the log, value in the snapshot). Compaction may have removed contents of it."""
        state = self.state.known.get(told.producer_id)
        if state is not None and told.producer_epoch < state.epoch:
            yield "epoch", state.epoch, told.producer_epoch
        elif (
            state is not None and told.producer_epoch == state.epoch and told.last_offset <= state.last_offset
        ):
            if told.timestamp < state.timestamp:
                yield "timestamp", state.timestamp, told.timestamp
            for name, need, have in (
                ("last offset", state.last_offset, told.last_offset),
                ("offset delta", state.offset_delta, told.offset_delta),
                ("last sequence", state.last_sequence, told.last_sequence),
            ):
                if need != have:
                    yield name, need, have
        began = self.state.open.get(told.producer_id, -1)
        gone = self.first_offset is None or 0 <= told.current_txn_first_offset < self.first_offset
        # The cleaner removes aborted records, markers after them, and superseded records at the start of a
        # transaction; an earlier snapshot still has them.
        cleaned = 0 <= told.current_txn_first_offset < self.cleaned
        gone = gone or (cleaned and (began == -1 or told.current_txn_first_offset < began))
        if told.current_txn_first_offset != began and not gone:
            yield "first offset of its transaction", began, told.current_txn_first_offset
