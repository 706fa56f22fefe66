"""Producer state from the batches of a log, compared with its snapshots."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path

from kodec.generated.log import producer_snapshot
from kodec.log.directories.epochs import EpochRuns
from kodec.log.directories.producer_state import ProducerState, differences
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
            offset, path = self._snapshots.popleft()
            if self.expected is not None and offset > self.expected:
                what = "of batches that are gone: a broker deletes it"
                yield Problem(path, 0, what, f"an offset up to {self.expected}", offset, note=True)
            else:
                yield from self._compare(offset, path)

    def _compare(self, offset: int, path: Path) -> Iterator[Problem]:
        try:
            data = read_regular(path)
            entries = producer_snapshot.ProducerSnapshot.from_bytes(data).entries
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
        sizes = [len(entry.to_bytes()) for entry in entries]
        starts = list(accumulate(sizes, initial=len(data) - sum(sizes)))
        named = set()
        for slot, entry in enumerate(entries):
            position, who = starts[slot], f"producer {entry.producer_id}"
            named.add(entry.producer_id)
            if entry.last_offset >= offset:
                yield Problem(path, position, f"{who}: last offset", f"less than {offset}", entry.last_offset)
                continue
            for name, need, have in differences(entry, self.state, self.first_offset, self.cleaned):
                yield Problem(path, position, f"{who}: {name}", need, have)
        for producer, began in self.state.open.items():
            if producer not in named:
                yield Problem(path, starts[0], f"producer {producer}, open since {began}", "an entry", "none")
