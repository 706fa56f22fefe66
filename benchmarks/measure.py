"""Times kodec and its peers beside each other, once they are shown to agree."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from statistics import median
from time import process_time

import kodec
from benchmarks.corpora import Corpus
from benchmarks.peers import Kodec, Peer

__all__ = ["Disagreement", "Figures", "Settings", "decode", "encode"]


class Disagreement(Exception):
    """A peer's rows are not kodec's, so that timing it would say nothing."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How long to measure: rounds, and the CPU seconds that one run should take."""

    rounds: int = 9
    seconds: float = 0.3


@dataclass(slots=True)
class Figures:
    """What was measured of one reader or writer in one case.

    Attributes:
        name: the peer.
        records: how many records one run had.
        rates: records per CPU second, one for each run.
        kodec_rates: kodec's in the run beside, by round; empty for kodec itself.
        stored_bytes: bytes a record takes in what it wrote (encode only).
    """

    name: str
    records: int
    rates: list[float] = field(default_factory=list)
    kodec_rates: list[float] = field(default_factory=list)
    stored_bytes: float | None = None

    @property
    def rate(self) -> float:
        return median(self.rates)

    @property
    def ratio(self) -> tuple[float, float, float]:
        """kodec's rate as a multiple of this one's: ratio of medians, and the least and most of any round."""
        each = [ours / theirs for ours, theirs in zip(self.kodec_rates, self.rates, strict=True)]
        return median(self.kodec_rates) / self.rate, min(each), max(each)


@dataclass(slots=True)
class _Runner:
    """One that is timed, on as many batches as its time allows."""

    figures: Figures
    run: Callable[[], int]
    clock: Callable[[], float] = process_time

    def rate(self) -> float:
        """Records per CPU second of one run."""
        gc.collect()
        start = self.clock()
        count = self.run()
        spent = self.clock() - start
        if count != self.figures.records:
            raise Disagreement(f"{self.figures.name}: {count} records, not {self.figures.records}")
        return count / max(spent, 1e-9)


def _clock(peer: Peer) -> Callable[[], float]:
    """CPU seconds of this process, or of the peer's own."""
    clock: Callable[[], float] = getattr(peer, "clock", process_time)
    return clock


def _sized(
    make: Callable[[int], Callable[[], object]],
    most: int,
    seconds: float,
    clock: Callable[[], float] = process_time,
) -> int:
    """How many batches, at most `most`, take about `seconds`."""
    batches = 1
    while True:
        run = make(batches)
        start = clock()
        run()
        spent = clock() - start
        if batches == most or spent >= seconds / 4:
            return max(1, min(most, int(batches * seconds / max(spent, 1e-9))))
        batches = min(most, batches * 4)


def _rounds(ours: _Runner, theirs: list[_Runner], settings: Settings) -> list[Figures]:
    """Run kodec and each peer in turn, kodec first and second alternately, the peers' order rotated."""
    for number in range(settings.rounds):
        turn = number % max(len(theirs), 1)
        for other in theirs[turn:] + theirs[:turn]:
            if number % 2:
                theirs_rate, ours_rate = other.rate(), ours.rate()
            else:
                ours_rate, theirs_rate = ours.rate(), other.rate()
            ours.figures.rates.append(ours_rate)
            other.figures.rates.append(theirs_rate)
            other.figures.kodec_rates.append(ours_rate)
        if not theirs:
            ours.figures.rates.append(ours.rate())
    return [ours.figures, *(other.figures for other in theirs)]


def _equal(who: str, found: Iterator[object], expected: Iterator[object]) -> None:
    for index, (theirs, ours) in enumerate(zip_longest(found, expected)):
        if theirs != ours:
            raise Disagreement(f"{who}: record {index} is {theirs!r}, not {ours!r}")


def decode(corpus: Corpus, peers: list[Peer], settings: Settings) -> list[Figures]:
    """Figures of kodec, then of each peer that reads the case. Raises Disagreement."""
    kodec_peer = Kodec()
    case = corpus.case
    written = (
        (row.offset, row.timestamp, row.key, row.value, row.headers) for batch in corpus.rows for row in batch
    )
    head = corpus.data[: corpus.ends[len(corpus.rows) - 1]]
    _equal(f"kodec, {case.name}", kodec_peer.rows(head), written)

    def runner(peer: Peer) -> _Runner:
        def make(batches: int) -> Callable[[], int]:
            data = corpus.data[: corpus.ends[batches - 1]]
            return lambda: peer.decode(data)

        batches = _sized(make, len(corpus.ends), settings.seconds, _clock(peer))
        if peer is not kodec_peer:
            data = corpus.data[: corpus.ends[batches - 1]]
            _equal(f"{peer.name}, {case.name}", peer.rows(data), kodec_peer.rows(data))
        return _Runner(Figures(peer.name, batches * corpus.batch), make(batches), _clock(peer))

    return _rounds(runner(kodec_peer), [runner(peer) for peer in peers if peer.reads(case)], settings)


def _contents(data: bytes) -> Iterator[object]:
    # a producer numbers each batch from 0, so offsets are not compared
    for row in kodec.read_records(data):
        yield row.timestamp, row.key, row.value, row.headers


def encode(corpus: Corpus, peers: list[Peer], settings: Settings) -> list[Figures]:
    """Figures of kodec, then of each peer that writes the case. Raises Disagreement."""
    case = corpus.case

    def runner(peer: Peer) -> _Runner:
        def make(batches: int) -> Callable[[], list[bytes]]:
            return peer.prepare(corpus.rows[:batches], case)

        batches = _sized(make, len(corpus.rows), settings.seconds)
        encoder = make(batches)
        rows = corpus.rows[:batches]
        made = b"".join(encoder())
        written = ((row.timestamp, row.key, row.value, row.headers) for batch in rows for row in batch)
        _equal(f"{peer.name}, encode {case.name}", _contents(made), written)
        records = batches * corpus.batch

        def run() -> int:
            return len(encoder()) * corpus.batch

        return _Runner(Figures(peer.name, records, stored_bytes=len(made) / records), run)

    return _rounds(runner(Kodec()), [runner(peer) for peer in peers if peer.writes(case)], settings)
