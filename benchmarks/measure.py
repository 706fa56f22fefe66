"""Times readers and writers against each other, after checking that they agree."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from statistics import median
from time import process_time

from benchmarks.corpora import Corpus
from benchmarks.peers import Gives, Loop, Peer, Pure
from kodec.generated.log.log_segment import peek_entry
from kodec.generated.log.message_set import read_message_head
from kodec.generated.log.record_batch import read_record_batch_head
from kodec.runtime.compression import compress, decompress

__all__ = [
    "ALONE",
    "Disagreement",
    "Figures",
    "Settings",
    "decode",
    "encode",
    "frozen",
    "iterate",
    "key_value",
    "ratio",
]

ALONE = {"decode": "decompression alone", "encode": "compression alone"}
"""The codec's library alone, by direction."""

_MOST = 1 << 30


class Disagreement(Exception):
    """A peer's rows differ from kodec's, so timing it would be meaningless."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How long to measure: rounds, and the CPU seconds that one run should take."""

    rounds: int = 7
    seconds: float = 0.25


@dataclass(slots=True)
class Figures:
    """The measurement of one reader or writer in one case.

    Attributes:
        name: of the reader or writer.
        gives: objects, columns, or the bytes of a codec alone.
        records: the number of records of one run.
        rates: records per CPU second, one for each round.
        stored_bytes: bytes a record takes in what it wrote (encode only).
    """

    name: str
    gives: Gives
    records: int
    rates: list[float] = field(default_factory=list)
    stored_bytes: float | None = None

    @property
    def rate(self) -> float:
        return median(self.rates)


@contextmanager
def frozen() -> Iterator[None]:
    """Inside, what exists now is not for the garbage collector to look through while something is timed."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def ratio(one: Figures, other: Figures) -> tuple[float, float, float]:
    """The speed ratio of `one`: the median of the rounds, and the least and the greatest."""
    each = [mine / theirs for mine, theirs in zip(one.rates, other.rates, strict=True)]
    return median(each), min(each), max(each)


@dataclass(slots=True)
class _Runner:
    """A timed reader or writer: the number of batches, and of repetitions."""

    figures: Figures
    run: Callable[[], object]
    repeats: int = 1
    clock: Callable[[], float] = process_time

    def time(self) -> None:
        gc.collect()
        start = self.clock()
        for _ in range(self.repeats):
            self.run()
        spent = self.clock() - start
        self.figures.rates.append(self.figures.records / max(spent, 1e-9))


def _sized(
    make: Callable[[int], Callable[[], object]],
    most: int,
    seconds: float,
    clock: Callable[[], float] = process_time,
) -> tuple[int, int]:
    """How many batches, at most `most`, and how often, take about `seconds`."""
    batches = 1
    while True:
        run = make(batches)
        start = clock()
        run()
        spent = max(clock() - start, 1e-9)
        if batches == most or spent >= seconds / 4:
            share = seconds / spent
            fitting = max(1, min(most, int(batches * share)))
            return fitting, max(1, round(share * batches / fitting))
        batches = min(most, batches * 4)


def _rounds(runners: list[_Runner], settings: Settings) -> list[Figures]:
    """Run each once in every round, in alternating order."""
    for number in range(settings.rounds):
        turn = number % len(runners)
        order = runners[turn:] + runners[:turn]
        for runner in reversed(order) if number % 2 else order:
            runner.time()
    return [runner.figures for runner in runners]


def _equal(who: str, found: Iterator[object], expected: Iterator[object]) -> None:
    for index, (theirs, ours) in enumerate(zip_longest(found, expected)):
        if theirs != ours:
            raise Disagreement(f"{who}: record {index} is {theirs!r}, not {ours!r}")


def _reading(corpus: Corpus, peers: list[Peer], settings: Settings, loop: Loop) -> list[_Runner]:
    case = corpus.case
    # of a long log this is enough to compare; all that is timed is counted
    compared = (len(corpus.rows) + 3) // 4
    head = corpus.data[: corpus.ends[compared - 1]]
    written = [
        (row.offset, row.timestamp, row.key, row.value, row.headers) for batch in corpus.rows for row in batch
    ]

    def runner(peer: Peer) -> _Runner:
        clock: Callable[[], float] = getattr(peer, "clock", process_time)

        def make(batches: int) -> Callable[[], object]:
            data = corpus.data[: corpus.ends[batches - 1]]

            def run() -> None:
                count = peer.read(data, loop)
                if count != batches * corpus.batch:
                    raise Disagreement(f"{peer.name}: {count} records, not {batches * corpus.batch}")

            return run

        _equal(f"{peer.name}, {case.name}", peer.rows(head), islice(written, compared * corpus.batch))
        batches, repeats = _sized(make, len(corpus.ends), settings.seconds, clock)
        figures = Figures(peer.name, peer.gives, repeats * batches * corpus.batch)
        return _Runner(figures, make(batches), repeats, clock)

    return [runner(peer) for peer in peers]


def decode(corpus: Corpus, peers: list[Peer], settings: Settings) -> list[Figures]:
    """Figures of each peer that reads the case, and of its codec alone. Raises Disagreement."""
    runners = _reading(corpus, [peer for peer in peers if peer.reads(corpus.case)], settings, "decode")
    if corpus.case.codec != "none":
        runners.append(_alone(corpus, settings, "decode"))
    return _rounds(runners, settings)


def key_value(corpus: Corpus, peers: list[Peer], settings: Settings) -> list[Figures]:
    """Figures of going through the records and reading key and value. Raises Disagreement."""
    return _rounds(_reading(corpus, peers, settings, "key-value"), settings)


def iterate(corpus: Corpus, peers: list[Peer], settings: Settings) -> list[Figures]:
    """Figures of going through the records, no field of which is read. Raises Disagreement."""
    return _rounds(_reading(corpus, peers, settings, "iterate"), settings)


def _contents(data: bytes) -> Iterator[object]:
    # a producer numbers each batch from 0, so offsets are not compared
    for _, timestamp, key, value, headers in Pure().rows(data):
        yield timestamp, key, value, headers


def encode(corpus: Corpus, peers: list[Peer], settings: Settings) -> list[Figures]:
    """Figures of each peer that writes the case, and of its codec alone. Raises Disagreement."""
    case = corpus.case

    def runner(peer: Peer) -> _Runner:
        def make(batches: int) -> Callable[[], list[bytes]]:
            return peer.prepare(corpus.rows[:batches], case)

        batches, repeats = _sized(make, len(corpus.rows), settings.seconds)
        encoder = make(batches)
        rows = corpus.rows[:batches]
        made = b"".join(encoder())
        written = ((row.timestamp, row.key, row.value, row.headers) for batch in rows for row in batch)
        _equal(f"{peer.name}, encode {case.name}", _contents(made), written)
        records = batches * corpus.batch
        figures = Figures(peer.name, peer.gives, repeats * records, stored_bytes=len(made) / records)
        return _Runner(figures, encoder, repeats)

    runners = [runner(peer) for peer in peers if peer.writes(case)]
    if case.codec != "none":
        runners.append(_alone(corpus, settings, "encode"))
    return _rounds(runners, settings)


def _alone(corpus: Corpus, settings: Settings, direction: str) -> _Runner:
    """The codec's library on the same contents, called as kodec calls it."""
    codec = corpus.case.codec
    whole = _payloads(corpus)
    plain = [decompress(codec, each, limit=_MOST) for each in whole[: len(corpus.rows)]]
    if direction == "encode":
        whole = plain

    def make(batches: int) -> Callable[[], None]:
        some = whole[:batches]

        def run() -> None:
            for each in some:
                if direction == "decode":
                    decompress(codec, each, limit=_MOST)
                else:
                    compress(codec, each)

        return run

    batches, repeats = _sized(make, len(whole), settings.seconds)
    figures = Figures(ALONE[direction], "bytes", repeats * batches * corpus.batch)
    return _Runner(figures, make(batches), repeats)


def _payloads(corpus: Corpus) -> list[bytes]:
    """The compressed part of each batch."""
    found = []
    start = 0
    for end in corpus.ends:
        content: object
        if corpus.case.magic == 2:
            content = read_record_batch_head(corpus.data, start, end)[0].records
        else:
            size = peek_entry(corpus.data[start:end])[1]
            content = read_message_head(corpus.data, end - size, end)[0].value
        assert isinstance(content, bytes)
        found.append(content)
        start = end
    return found
