"""Deterministic logs to measure with: the same bytes on every machine and in every run."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, islice

import kodec

__all__ = ["CASES", "WORKLOADS", "Case", "Corpus", "Workload", "build"]

_FIRST_TIMESTAMP = 1_700_000_000_000
_CITIES = (b"Amsterdam", b"Berlin", b"Chicago", b"Dakar", b"Essen", b"Fukuoka", b"Gdansk", b"Hanoi")

Content = tuple[bytes | None, bytes, tuple[tuple[str, bytes | None], ...]]


def _json_like(number: int, dice: random.Random) -> bytes:
    """100 bytes that look, and compress, like an event in JSON."""
    city = _CITIES[dice.getrandbits(3)]
    text = b'{"id":%010d,"user":"%08x","amount":%07d,"city":"%s","note":"' % (
        number, dice.getrandbits(32), dice.getrandbits(20), city,
    )  # fmt: skip
    return text + b"%0*x" % (98 - len(text), dice.getrandbits(64)) + b'"}'


def _tiny(number: int, dice: random.Random) -> Content:
    return None, b"%010d" % number, ()


def _typical(number: int, dice: random.Random) -> Content:
    return b"key-%012d" % dice.getrandbits(30), _json_like(number, dice), ()


def _with_headers(number: int, dice: random.Random) -> Content:
    key, value, _ = _typical(number, dice)
    trace = b"%022x" % dice.getrandbits(88)
    return key, value, (("trace-id", trace), ("content-type", b"application/json"))


def _large(number: int, dice: random.Random) -> Content:
    lines = [_json_like(number * 100 + line, dice) for line in range(26)]
    # a quarter is new, so that it compresses as lists of similar objects do
    return b"key-%012d" % dice.getrandbits(30), (b"\n".join(lines) * 4)[:10_240], ()


@dataclass(frozen=True, slots=True)
class Workload:
    """A shape of records: their contents, and the number in a batch."""

    name: str
    title: str
    batch: int
    content: Callable[[int, random.Random], Content]

    def records(self) -> Iterator[kodec.Record]:
        """Records without end, from offset 0, a millisecond apart."""
        dice = random.Random(self.name)
        number = 0
        while True:
            key, value, headers = self.content(number, dice)
            yield kodec.Record(
                offset=number,
                timestamp=_FIRST_TIMESTAMP + number,
                timestamp_type=kodec.TimestampType.CREATE_TIME,
                key=key,
                value=value,
                headers=headers,
            )
            number += 1


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("W1", "10 B value, no key", 1000, _tiny),
        Workload("W2", "16 B key, 100 B value", 500, _typical),
        Workload("W3", "W2 and 2 headers", 500, _with_headers),
        Workload("W4", "16 B key, 10 KB value", 20, _large),
    )
}


@dataclass(frozen=True, slots=True)
class Case:
    """A workload in a format and a codec."""

    workload: str
    magic: int = 2
    codec: str = "none"

    @property
    def name(self) -> str:
        return f"{self.workload} {'' if self.magic == 2 else f'v{self.magic} '}{self.codec}"


CASES = (
    Case("W1"), Case("W2"), Case("W3"), Case("W4"),
    Case("W2", codec="gzip"), Case("W2", codec="snappy"), Case("W2", codec="lz4"), Case("W2", codec="zstd"),
    Case("W2", magic=0), Case("W2", magic=1), Case("W2", magic=1, codec="gzip"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Corpus:
    """The log of a case.

    Attributes:
        case: what it is.
        batch: records in a batch.
        data: the log, as kodec writes it, which is as Kafka's Java code does.
        ends: where each batch ends in `data` (v0, v1: each batch's worth of messages).
        rows: the records that were written, one list for each of the first batches: what `encode` is given.
        raw_bytes: bytes that a record takes before compression, on average.
    """

    case: Case
    batch: int
    data: bytes
    ends: list[int]
    rows: list[list[kodec.Record]]
    raw_bytes: float

    @property
    def stored_bytes(self) -> float:
        """Bytes that a record takes in the log, on average."""
        return len(self.data) / (len(self.ends) * self.batch)


def _encode(records: list[kodec.Record], case: Case) -> bytes:
    return kodec.encode(
        records, magic=case.magic, compression=case.codec, batch_records=len(records), batch_bytes=1 << 30
    )


def build(case: Case, size: int, kept: int) -> Corpus:
    """The log of `case`: `size` bytes of batches, before compression, and `rows` of about `kept` bytes."""
    workload = WORKLOADS[case.workload]
    source = workload.records()
    batches: list[bytes] = []
    rows: list[list[kodec.Record]] = []
    raw = 0
    plain = Case(case.workload, case.magic)
    while not batches or raw < size:
        records = list(islice(source, workload.batch))
        if case.magic == 0:
            for record in records:
                record.timestamp = -1
                record.timestamp_type = kodec.TimestampType.NO_TIMESTAMP_TYPE
        if not rows or raw < kept:
            rows.append(records)
        encoded = _encode(records, case)
        batches.append(encoded)
        raw += len(encoded) if case == plain else len(_encode(records, plain))
    count = len(batches) * workload.batch
    return Corpus(
        case, workload.batch, b"".join(batches), list(accumulate(map(len, batches))), rows, raw / count
    )
