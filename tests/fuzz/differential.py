"""Native against pure: broken logs and any options must give the same tables, errors and skipped ranges.

Usage: python differential.py [--inputs N] [--seconds S] [--seed TEXT]. What differs is printed and saved.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "labs" / "differential"))

from mutate import mutate

import kodec
from kodec.errors import FormatError
from kodec.log import kernel
from kodec.log.backends.arrow import batch_schema, columns_of, row_schema
from kodec.log.backends.scan import Scan
from kodec.log.batches.options import LogReadOptions
from kodec.log.reading import source as log_source
from kodec.log.selection import offset_range, time_range
from kodec.log.tables.reader import scan_headers, scan_rows

DATA = Path(__file__).resolve().parents[1] / "data"
LARGEST = 3000
NAMES = ("offset", "timestamp", "timestamp_type", "key", "value", "headers")
EDGES = (0, 1, -1, 2**31, 2**62, 2**63 - 1, -(2**63))
Outcome = tuple[Any, ...]


class Stream(io.BytesIO):
    """A file that cannot seek."""

    def seekable(self) -> bool:
        return False


SOURCES: dict[str, Callable[[bytes], Any]] = {"bytes": bytes, "file": io.BytesIO, "stream": Stream}


@dataclass(slots=True)
class Question:
    """A log, and how it is to be read."""

    kind: str
    data: bytes
    what: str
    """`rows` and `heads` are tables, `records` are objects."""
    scan: dict[str, Any]
    on_error: str
    limits: kodec.Limits
    source: str
    chunk: int

    def __str__(self) -> str:
        how = f"{self.source} by {self.chunk}, on_error={self.on_error}, {self.limits}"
        return f"{self.what}, {self.kind}: {self.scan}, {how}"


@cache
def bases() -> list[tuple[bytes, int, int]]:
    """Logs of a few small entries each: of every kind there is, with an offset and a timestamp in them."""
    found: list[tuple[bytes, int, int]] = []
    seen: Counter[object] = Counter()
    for path in sorted([*DATA.rglob("*.log"), *DATA.glob("differential/*.bin")]):
        entries = list(kodec.read_batches(path, on_error="skip", check_crc=False))
        for index, entry in enumerate(entries):
            kind = entry.magic, entry.codec, entry.attributes, path.parent
            seen[kind] += 1
            some = [each.data for each in entries[index : index + 1 + seen[kind] % 3] if each.size < LARGEST]
            if seen[kind] <= 6 and some and sum(map(len, some)) < LARGEST:
                found.append((b"".join(some), entry.last_offset, entry.max_timestamp))
    return found


def _bounds(dice: random.Random, near: int) -> tuple[int | None, int | None] | None:
    if dice.random() < 0.6:
        return None
    if dice.random() < 0.1:
        first, last = dice.choice(EDGES), dice.choice((*EDGES, None))
        # a reversed range is refused
        return (first, last) if first is None or last is None else (min(first, last), max(first, last))
    first = near + dice.randrange(-6, 4)
    return dice.choice((first, first, None)), dice.choice((first + dice.randrange(8), None))


def questions(seed: str) -> Iterator[Question]:
    """Questions without end: the same ones for the same seed."""
    dice = random.Random(seed)
    logs = bases()
    while True:
        (data, offset, timestamp), (other, _, _) = dice.choice(logs), dice.choice(logs)
        kind, data = mutate(dice, data, other)
        yield Question(
            kind,
            data,
            what=dice.choice(("heads", *["rows"] * 6, *["records"] * 3)),
            scan={
                "columns": None
                if dice.random() < 0.5
                else dice.sample(NAMES, dice.randrange(len(NAMES) + 1)),
                "offsets": _bounds(dice, offset),
                "timestamps": _bounds(dice, timestamp),
                "check_crc": dice.random() < 0.8,
                "control": dice.random() < 0.5,
                "batch_rows": dice.choice((32768, 32768, 1, 2, 5)),
                "batch_bytes": dice.choice((4 << 20, 4 << 20, 1, 30, 200)),
            },
            on_error=dice.choice(("raise", "skip")),
            limits=kodec.Limits(
                batch_bytes=dice.choice((80, 300)) if dice.random() < 0.07 else 1 << 30,
                decompressed_bytes=dice.choice((50, 400)) if dice.random() < 0.07 else 1 << 20,
                elements=dice.choice((0, 1, 3, 8)) if dice.random() < 0.1 else 1 << 20,
            ),
            source=dice.choice(("bytes", "bytes", "file", "stream")),
            chunk=dice.choice((1 << 20, 1, 17, 100, 400)),
        )


def _facts(error: FormatError | None) -> Outcome | None:
    return None if error is None else (type(error), str(error), *sorted(vars(error).items()))


def _records(question: Question) -> Outcome:
    options = {name: question.scan[name] for name in ("check_crc", "control")}
    source = SOURCES[question.source](question.data)
    found, failed = [], None
    reader = kodec.read_records(source, on_error=question.on_error, limits=question.limits, **options)
    try:
        for one in reader:
            kind = type(one).__name__, one.timestamp_type
            found.append((*kind, one.offset, one.timestamp, one.key, one.value, one.headers, repr(one)))
    except FormatError as error:
        failed = error
    skipped = [(one.start, one.end, _facts(one.error)) for one in reader.skipped]
    return found, _facts(failed), reader.position, reader.torn_tail, skipped


def outcome(name: str, question: Question) -> Outcome:
    """What a backend makes of it: rows, why it ended and where, what was skipped."""
    before, kernel.backend = kernel.backend, lambda: name
    chunk, log_source.CHUNK = log_source.CHUNK, question.chunk
    try:
        return _records(question) if question.what == "records" else _table(question)
    finally:
        kernel.backend, log_source.CHUNK = before, chunk


def _table(question: Question) -> Outcome:
    given = dict(question.scan)
    columns = given.pop("columns")
    options = LogReadOptions(
        check_crc=given.pop("check_crc"),
        control=given.pop("control"),
        on_error=question.on_error,
        limits=question.limits,
    )
    if question.what == "heads":
        scan = Scan(batch_schema(), batch_rows=given["batch_rows"])
    else:
        given |= {"offsets": offset_range(given["offsets"]), "timestamps": time_range(given["timestamps"])}
        scan = Scan(columns_of(row_schema(), columns), **given)
    start = scan_headers if question.what == "heads" else scan_rows
    batches: list[Any] = []
    failed = None
    try:
        reader = start(SOURCES[question.source](question.data), scan, options)
        for batch in reader:
            batch.validate(full=True)
            batches.append(batch)
    except FormatError as error:
        failed = error
    return (
        pa.Table.from_batches(batches, schema=scan.schema),
        _facts(failed),
        reader.position,
        reader.torn_tail,
        [(one.start, one.end, _facts(one.error)) for one in reader.skipped],
    )


@dataclass(slots=True)
class Tally:
    """How many inputs of each kind there were, how they ended, and those that differ."""

    kinds: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    different: list[tuple[Question, str]] = field(default_factory=list)


def compare(question: Question, tally: Tally) -> None:
    """Ask both, and note what came of it."""
    try:
        native, pure = outcome("native", question), outcome("pure", question)
    except Exception as error:
        tally.different.append((question, repr(error)))
        return
    tally.kinds[question.kind] += 1
    end = pure[1][0].__name__ if pure[1] else "skipped" if pure[4] else "torn" if pure[3] else "all read"
    tally.ends[end] += 1
    tally.rows += len(pure[0])
    if native != pure:
        names = ("rows", "error", "position", "torn tail", "skipped")
        parts = zip(names, native, pure, strict=True)
        text = "\n".join(f"  {name}: native {a}\n  {name}: pure   {b}" for name, a, b in parts if a != b)
        tally.different.append((question, text))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--inputs", type=int, default=10_000)
    options.add_argument("--seconds", type=float, default=float("inf"))
    options.add_argument("--seed", default="0")
    options.add_argument("--save", type=Path, help="a folder for the inputs that differ")
    given = options.parse_args()
    tally, start, done = Tally(), time.monotonic(), 0
    for question in questions(given.seed):
        if done == given.inputs or time.monotonic() - start > given.seconds or len(tally.different) > 20:
            break
        before = len(tally.different)
        compare(question, tally)
        done += 1
        for one, text in tally.different[before:]:
            print(f"{done}: {one}\n{text}", flush=True)
            if given.save:
                given.save.mkdir(parents=True, exist_ok=True)
                name = hashlib.sha256(one.data + str(one).encode()).hexdigest()[:16]
                (given.save / f"{name}.bin").write_bytes(one.data)
                (given.save / f"{name}.txt").write_text(f"{one}\n{text}\n")
    took = time.monotonic() - start
    what = f"{done:,} inputs, seed {given.seed}, {tally.rows:,} rows, {took:.0f} s"
    print(f"{what}; {len(tally.different)} differ")
    for counts in (tally.kinds, tally.ends):
        print(", ".join(f"{name}: {count:,}" for name, count in counts.most_common()))
    return 1 if tally.different else 0


if __name__ == "__main__":
    sys.exit(main())
