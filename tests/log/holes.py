"""Random holes and cuts in logs, and what skip mode and raise mode make of them.

The logs are every log under tests/data, and ones made here to be hard: values that hold whole batches, alone
or among other bytes, of any format inside any other, their offsets like those of the log around them, from 0,
or far off; compressed ones whose content cannot be made smaller, so that it stands in the log as it is.

A hole overwrites some bytes: with zeros, 0xff, random ones, another part of the log; several of them at once,
often. A shift removes some, or puts some in between. A cut ends the log early. Then:

- in skip mode no record is given that was not there, at its offset, and each byte is given, skipped or torn;
- a cut, which is how a crash leaves a log, is a torn tail for both modes, and never an error.

`python -m tests.log.holes --count 10000 --seed 1` shows how often that was so, and how many of the batches
that no byte was changed of were given.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import kodec
from kodec.errors import FormatError
from tests.data import DATA

from .wire import PAIRS, batch, log_of, message, record

_OFFSET, _EPOCH = slice(0, 8), slice(12, 16)
_MAGIC = 16


class Row(NamedTuple):
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


class Log(NamedTuple):
    """A whole log: its bytes, where its batches start, and the records of each."""

    name: str
    data: bytes
    starts: list[int]
    rows: list[list[Row]]
    newer_inside: bool = False
    """Whether values hold a newer format than the log's own. Then the first batch is left as it is: before it
    there is nothing that reports what the log's own is."""


def rows_of(records: list[kodec.Record]) -> list[Row]:
    return [Row(found.offset, found.timestamp, found.key, found.value) for found in records]


def read_whole(name: str, data: bytes) -> Log | None:
    """The log, where all of it can be read."""
    reader = kodec.read_batches(data)
    starts, rows = [], []
    try:
        for found in reader:
            starts.append(found.position)
            rows.append(rows_of(found.records(control=True)))
    except FormatError:
        return None
    return Log(name, data[: reader.position], [*starts, reader.position], rows) if starts else None


def real_logs() -> Iterator[Log]:
    for path in sorted(DATA.rglob("*.log")):
        log = read_whole(str(path.relative_to(DATA)), path.read_bytes())
        if log is not None:
            yield log


def hard_logs(rng: random.Random) -> Iterator[Log]:
    """Logs whose values hold batches."""
    for magic, codec in PAIRS:
        for inner_magic, inner_codec in PAIRS:
            for where in ("same", "zero", "far", "next"):
                parts, offset = [], rng.choice((0, 0, 1, 1000, 1 << 33))
                for _ in range(rng.randrange(3, 9)):
                    count = 1 if codec == "none" and magic < 2 else rng.randrange(1, 6)
                    values = [
                        _value(
                            rng,
                            inner_magic,
                            inner_codec,
                            {"same": offset + at, "zero": 0, "far": offset + 10**6, "next": offset + count}[
                                where
                            ],
                        )
                        for at in range(count)
                    ]
                    parts.append(log_of(magic, codec, values, base=offset))
                    offset += count + rng.choice((0, 0, 0, 3))
                log = read_whole(
                    f"made: {magic} {codec} holds {inner_magic} {inner_codec}, offsets {where}",
                    b"".join(parts),
                )
                assert log is not None
                yield log._replace(newer_inside=magic < 2 == inner_magic)
    for magic, codec in PAIRS:
        parts, offset = [], rng.choice((0, 5, 1000))
        for _ in range(12):
            count = 1 if codec == "none" and magic < 2 else rng.randrange(1, 30)
            values = [rng.randbytes(rng.choice((0, 10, 100, 400))) for _ in range(count)]
            parts.append(log_of(magic, codec, values, base=offset))
            offset += count
        log = read_whole(f"made: {magic} {codec} of random bytes", b"".join(parts))
        assert log is not None
        yield log
    # a batch in a header, and one that a client sent uncompressed beside compressed ones
    parts = [
        batch([record(0, b"k", b"v", [(b"h", batch([record(0)], base=at + 1))])], base=at) for at in range(12)
    ]
    log = read_whole("made: batches in headers", b"".join(parts))
    assert log is not None
    yield log
    mixed = b"".join(
        log_of(magic, codec, [b"x" * 50] * (3 if codec != "none" else 1), base=10 * at)
        for at, (magic, codec) in enumerate(PAIRS * 3)
    )
    log = read_whole("made: all formats", mixed)
    assert log is not None
    yield log


def _value(rng: random.Random, magic: int, codec: str, base: int) -> bytes:
    noise = [rng.randbytes(rng.choice((3, 30, 300))) for _ in range(rng.randrange(1, 4))]
    inside = log_of(magic, codec, noise, base=base)
    if rng.random() < 0.3:
        inside += log_of(magic, codec, noise, base=base + len(noise))
    if rng.random() < 0.2 and codec == "none" and magic < 2:
        inside = message(base, None, rng.randbytes(40), magic=magic)
    before = rng.randbytes(rng.choice((0, 0, 0, 1, 20)))
    return before + inside + rng.randbytes(rng.choice((0, 0, 0, 1, 9, 40)))


class Hit(NamedTuple):
    """A changed log: its bytes, and the batches of which nothing was changed, with where they start now."""

    data: bytes
    whole: dict[int, int]
    loose: set[int]
    """Batches changed in nothing but what no checksum covers: their offset, the leader's epoch."""


def with_holes(rng: random.Random, log: Log, shift: bool) -> Hit:
    cells: list[int | None] = list(range(len(log.data)))  # where each byte was; None: it is another
    data = bytearray(log.data)
    first = log.starts[1] if log.newer_inside else 0
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        size = min(rng.choice((1, 4, 16, 17, 30, 61, 100, 300, 512, 1000, 4096)), len(data))
        size = max(1, min(len(data), size + rng.randrange(-3, 4)))
        at = max(first, rng.randrange(len(data) - size + 1))
        if rng.random() < 0.4 and len(log.starts) > 1:
            at = min(max(first, rng.choice(log.starts[:-1]) + rng.randrange(-20, 20)), len(data) - size)
        kind = rng.choice(("gone", "between") if shift else ("zeros", "ff", "random", "other"))
        if kind == "gone":
            del data[at : at + size], cells[at : at + size]
            if not data:
                break
            continue
        # not a whole batch where one can start: nobody could tell that from the right one
        other = rng.randrange(len(log.data))
        part = bytes(
            byte ^ 1 if place % 20 == 7 else byte for place, byte in enumerate(log.data[other:][:size])
        )
        fill = {"zeros": bytes(size), "ff": b"\xff" * size, "random": rng.randbytes(size)}.get(
            kind, part.ljust(size, b"\0")
        )
        if kind == "between":
            data[at:at] = fill
            cells[at:at] = [None] * size
        else:
            cells[at : at + size] = [
                old if data[at + i] == fill[i] else None for i, old in enumerate(cells[at : at + size])
            ]
            data[at : at + size] = fill
    return Hit(bytes(data), *_untouched(log, cells))


def _untouched(log: Log, cells: list[int | None]) -> tuple[dict[int, int], set[int]]:
    where = {old: now for now, old in enumerate(cells) if old is not None}
    whole, loose = {}, set()
    for index, (start, end) in enumerate(zip(log.starts, log.starts[1:], strict=False)):
        now = where.get(start)
        if now is not None and cells[now : now + end - start] == list(range(start, end)):
            whole[index] = now
            continue
        free = set(range(start, start + 8))
        if log.data[start + _MAGIC] == 2:
            free |= set(range(start + 12, start + 16))
        kept = [at for at in range(start, end) if at not in free]
        if all(at in where for at in kept) and where[end - 1] - where[kept[0]] == end - 1 - kept[0]:
            loose.add(index)
    return whole, loose


@dataclass
class Told:
    """What was seen: how many of what, and an example of each fault."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def fault(self, what: str, text: str) -> None:
        self.counts[what] += 1
        self.faults.append(f"{what}: {text}")


@contextmanager
def as_segment(log: Log, data: bytes, rng: random.Random) -> Iterator[Path]:
    """The bytes as a segment's file, with the next segment next to it, or one some offsets further on."""
    offsets = [row.offset for rows in log.rows for row in rows] or [0]
    with tempfile.TemporaryDirectory(prefix="kodec-holes-") as folder:
        after = max(offsets) + rng.choice((1, 1, 1, 4))
        Path(folder, f"{after:020}.log").touch()
        path = Path(folder, f"{min(offsets):020}.log")
        path.write_bytes(data)
        yield path


def judge_holes(
    log: Log, hit: Hit, told: Told, label: str, kind: str, source: bytes | Path | None = None
) -> None:
    source = hit.data if source is None else source
    known = {row for rows in log.rows for row in rows}
    beside = {row[1:] for index in hit.loose for row in log.rows[index]}
    reader = kodec.read_records(source, on_error="skip", control=True)
    given = rows_of(list(reader))
    told.counts[kind] += 1
    told.counts["records"] += len(given)
    for row in given:
        if row not in known:
            if row[1:] in beside:
                told.counts["offset not protected"] += 1
            else:
                told.fault(
                    f"invented ({kind})", f"{label}: {log.name}: {row.offset}, {(row.value or b'')[:20]!r}"
                )
                break
    having = set(given)
    for index in hit.whole:
        made = "made" if log.name.startswith("made") else "real"
        made += " segments" if isinstance(source, Path) else " logs"
        told.counts[f"whole batches in {made}"] += 1
        if not all(row in having for row in log.rows[index]):
            told.counts[f"whole batches in {made} skipped"] += 1
            told.skipped.append(f"{label}: {log.name}")
    # each byte was given, skipped or is of the torn tail
    batches = kodec.read_batches(source, on_error="skip")
    covered = sum(found.size for found in batches) + sum(each.end - each.start for each in batches.skipped)
    if covered + (batches.torn_tail.size if batches.torn_tail else 0) != len(hit.data):
        told.fault("not told", f"{label}: {log.name}")


def judge_cut(log: Log, size: int, told: Told, label: str) -> None:
    data = log.data[:size]
    whole = [row for rows, end in zip(log.rows, log.starts[1:], strict=False) if end <= size for row in rows]
    told.counts["cuts"] += 1
    for mode in ("raise", "skip"):
        try:
            reader = kodec.read_records(data, on_error=mode, control=True)
            given = rows_of(list(reader))
        except FormatError as error:
            told.fault("a cut is called damage", f"{label}: {log.name} cut at {size}: {error}")
            continue
        if given != whole:
            told.fault(f"a cut gives others ({mode})", f"{label}: {log.name} cut at {size}")
        if (reader.torn_tail is None) != (size in log.starts):
            told.fault("torn tail", f"{label}: {log.name} cut at {size}")


def run(count: int, seed: int, logs: list[Log], cuts: int = 1) -> Told:
    told = Told()
    for number in range(count):
        rng = random.Random(f"{seed}/{number}")
        log = logs[number % len(logs)]
        label = f"{seed}/{number}"
        shift = rng.random() < 0.25
        hit = with_holes(rng, log, shift)
        judge_holes(log, hit, told, label, "shifts" if shift else "holes")
        with as_segment(log, hit.data, rng) as path:
            judge_holes(log, hit, told, label, f"{'shifts' if shift else 'holes'} of segments", path)
        for _ in range(cuts):
            judge_cut(log, rng.randrange(len(log.data) + 1), told, label)
    return told


def all_logs(seed: int) -> list[Log]:
    return [*real_logs(), *hard_logs(random.Random(seed))]


def _explain(label: str, logs: list[Log]) -> int:
    """Show what one hole does: what was hit, what was given that was not there, what was skipped."""
    rng = random.Random(label)
    log = logs[int(label.split("/")[1]) % len(logs)]
    hit = with_holes(rng, log, rng.random() < 0.25)
    print(log.name, "batches at", log.starts)
    print("whole:", hit.whole, "bytes:", len(hit.data))
    known = {row for rows in log.rows for row in rows}
    reader = kodec.read_batches(hit.data, on_error="skip")
    for found in reader:
        rows = rows_of(found.records(control=True))
        print("  given:", found, [row.offset for row in rows], "" if known >= set(rows) else "INVENTED")
    for each in reader.skipped:
        print("  skipped:", each.start, each.end, each.error)
    print("  torn tail:", reader.torn_tail)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--one", help="SEED/NUMBER of a fault")
    given = parser.parse_args()
    logs = all_logs(given.seed)
    if given.one:
        return _explain(given.one, logs)
    started = time.process_time()
    told = run(given.count, given.seed, logs)
    for line in told.faults[:40]:
        print(line)
    print(f"{len(logs)} logs,", ", ".join(f"{count} {what}" for what, count in sorted(told.counts.items())))
    print(f"{time.process_time() - started:.0f} s of CPU")
    return 1 if told.faults else 0


if __name__ == "__main__":
    sys.exit(main())
