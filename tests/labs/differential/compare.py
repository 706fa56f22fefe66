"""Reads bytes with kodec beside Kafka's answer, batch by batch, and shows where the two part."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from judge import CODES, END, HEAD, REFUSED, ROWS, STOPPED, Item, Question, items, pack_rows

import kodec
from kodec.runtime.errors import FormatError

__all__ = ["CRASHED", "REFUSED_BOTH", "SAME", "Difference", "Outcome", "compare", "front_door"]

SAME, REFUSED_BOTH = "same rows", "both refuse"
CRASHED = 9
_REFUSALS = (REFUSED, STOPPED)

_LIMITS = kodec.Limits(decompressed_bytes=32 << 20)
NAMES = {END: "end", ROWS: "rows", REFUSED: "refused", STOPPED: "stopped", CRASHED: "crashed"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What kodec made of one batch: as `Item`, with the error, or the torn tail at the end, and the batch."""

    kind: int
    head: bytes = b""
    rows: bytes = b""
    error: Exception | None = None
    torn: kodec.results.TornTail | None = None
    batch: kodec.Batch | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """Where kodec and Kafka part over an input.

    Attributes:
        question: the input.
        index: the batch.
        position: where kodec's reader stood, in bytes.
        kafka, kodec: what each made of the batch.
    """

    question: Question
    index: int
    position: int
    kafka: Item
    kodec: Outcome

    @property
    def entry(self) -> bytes:
        """The bytes from where the two part."""
        return self.question.data[self.position :]

    def __str__(self) -> str:
        ours, theirs = self.kodec, self.kafka
        what = f"batch {self.index} at byte {self.position}: "
        what += f"Kafka {NAMES[theirs.kind]} {theirs.error or ''}"
        if theirs.kind == REFUSED:
            what += f" (record {theirs.index})"
        what += f"; kodec {NAMES[ours.kind]} {type(ours.error).__name__ + ': ' if ours.error else ''}"
        what += f"{ours.error or ours.torn or ''}"
        if theirs.kind == ours.kind == ROWS:
            if theirs.head != ours.head:
                what += f" header {HEAD.unpack(theirs.head)} against "
                what += f"{HEAD.unpack(ours.head) if len(ours.head) == HEAD.size else ours.head!r}"
            if theirs.rows != ours.rows:
                what += f" rows {theirs.rows[:200]!r} against {ours.rows[:200]!r}"
        return what


def _head(batch: kodec.Batch) -> bytes:
    legacy = batch.magic < 2
    flags = batch.is_transactional | batch.is_control << 1 | (batch.delete_horizon is not None) << 2
    return HEAD.pack(
        batch.size, batch.magic, CODES[batch.codec], batch.last_offset if legacy else batch.base_offset,
        batch.last_offset, batch.next_offset, batch.max_timestamp, batch.timestamp_type,
        batch.partition_leader_epoch, batch.producer_id, batch.producer_epoch, batch.base_sequence,
        batch.last_sequence, flags, batch.delete_horizon or 0, batch.crc, batch.crc_ok,
        -1 if legacy else batch.count,
    )  # fmt: skip


def outcomes(question: Question) -> Iterator[Outcome]:
    """What kodec makes of each batch, and how its reading ends."""
    reader = kodec.read_batches(question.data, check_crc=False, limits=_LIMITS)
    while True:
        try:
            batch = next(reader)
        except StopIteration:
            yield Outcome(END, torn=reader.torn_tail)
            return
        except FormatError as error:
            yield Outcome(STOPPED, error=error)
            return
        except Exception as error:
            yield Outcome(CRASHED, error=error)
            return
        try:
            if question.checked:
                batch.verify_crc()
            rows = batch.records(control=True, check_crc=question.checked)
        except FormatError as error:
            yield Outcome(REFUSED, error=error, batch=batch)
            continue
        except Exception as error:
            yield Outcome(CRASHED, error=error, batch=batch)
            return
        try:
            yield Outcome(ROWS, _head(batch), pack_rows(rows), batch=batch)
        except struct.error as error:
            yield Outcome(ROWS, repr(error).encode(), error=error, batch=batch)


def compare(question: Question, answer: bytes) -> Difference | str:
    """`SAME` or `REFUSED_BOTH` where the two agree batch by batch; else the first difference."""
    position = 0
    verdict = SAME
    for index, (theirs, ours) in enumerate(zip(items(answer), outcomes(question), strict=False)):
        if theirs.kind in _REFUSALS and ours.kind in _REFUSALS:
            verdict = REFUSED_BOTH
            if theirs.kind != ours.kind:
                break
        elif theirs.kind != ours.kind or theirs.head != ours.head or theirs.rows != ours.rows:
            return Difference(question, index, position, theirs, ours)
        if ours.batch is not None:
            position = ours.batch.position + ours.batch.size
    return verdict


def front_door(question: Question, answer: bytes) -> bool:
    """Whether `kodec.read_records` gives Kafka's rows of a log that Kafka reads to its end."""
    reader = kodec.read_records(question.data, control=True, check_crc=question.checked, limits=_LIMITS)
    return pack_rows(reader) == b"".join(item.rows for item in items(answer))
