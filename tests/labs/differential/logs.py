"""Makes small valid logs of every format and codec, the ground that mutations start from."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from judge import Judge, Plan

import kodec
from kodec import Record, TimestampType

__all__ = ["Base", "base_logs", "by_kafka", "by_kodec", "expected", "plans", "real_logs"]

Base = tuple[str, bytes]
"""What the log is, and its bytes."""

_NOW = 1_700_000_000_000
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_LEVELS = {"gzip": (1, 9), "lz4": (1, 17), "zstd": (-5, 19)}
_NAMES = ("", "a", "trace-id", "a", "\u00e9t\u00e9", "\U0001f600", "content-type")
_MARKERS = (
    (b"\x00\x00\x00\x00", b"\x00\x00\x00\x00\x00\x05"),
    (b"\x00\x00\x00\x01", b"\x00\x00\x7f\xff\xff\xff"),
    (b"\x00\x00\x00\x02", b"\x00\x00\x00\x00\x00\x01\x02\x00\x00\x00\x01\x00\x01\x00"),
    (b"\x00\x00\x00\x03", b"\x00\x00\x00\x00\x01\x8b\xcf\xe5h\x00\x00"),
    (b"\x00\x00\x00\x04", b"\x00\x00\x00"),
    (b"\x00\x00\x00\x05", b"\x00\x00\x00\x01\x00"),
)
LARGEST = 1500


def _content(dice: random.Random) -> bytes | None:
    kind = dice.randrange(8)
    if kind == 0:
        return None
    if kind == 1:
        return b""
    if kind == 2:
        return dice.randbytes(dice.randrange(1, 20))
    if kind == 3:
        # around where a length's varint grows
        return dice.randbytes(1) * dice.randrange(60, 70)
    return b"value %d of %d " % (dice.randrange(10), dice.randrange(3)) * dice.randrange(1, 4)


def _headers(dice: random.Random) -> tuple[tuple[str, bytes | None], ...]:
    if dice.random() < 0.6:
        return ()
    return tuple((dice.choice(_NAMES), _content(dice)) for _ in range(dice.randrange(1, 4)))


def _records(dice: random.Random, magic: int, offset: int, appended: int | None) -> Iterator[Record]:
    kind = TimestampType.CREATE_TIME if appended is None else TimestampType.LOG_APPEND_TIME
    gaps, timestamp = dice.random() < 0.25, dice.choice((0, -1, _NOW, _NOW, 2**40))
    for _ in range(dice.choice((1, 1, 2, 2, 3, 4, 6))):
        moment = timestamp if appended is None else appended
        headers = _headers(dice) if magic == 2 else ()
        if magic == 0:
            moment, kind = -1, TimestampType.NO_TIMESTAMP_TYPE
        yield Record(
            offset=offset,
            timestamp=moment,
            timestamp_type=kind,
            key=_content(dice),
            value=_content(dice),
            headers=headers,
        )
        offset += dice.choice((1, 1, 2, 70, 9000)) if gaps else 1
        if timestamp >= 0:
            timestamp = max(0, timestamp + dice.choice((0, 1, 63, 64, -5, 100_000)))


def plans(dice: random.Random) -> Iterator[Plan]:
    """Batches without end, each a different mix of what the formats can say."""
    while True:
        magic = dice.choice((0, 1, 2, 2, 2))
        codec = dice.choice(_CODECS[: 5 if magic == 2 else 4])
        level = dice.choice((None, *_LEVELS[codec])) if codec in _LEVELS else None
        appended = _NOW + dice.randrange(1000) if magic and dice.random() < 0.25 else None
        offset = dice.choice((0, 0, 1, 5, 1000, 2**33, 2**62))
        records = tuple(_records(dice, magic, offset, appended))
        if magic < 2:
            yield Plan(magic, codec, records, level, appended)
            continue
        epoch = dice.choice((-1, 0, 7))
        kind = dice.randrange(10)
        if kind < 5:
            yield Plan(2, codec, records, level, appended, epoch)
        elif kind == 5:
            moment = _NOW if appended is None else appended
            stamped = records[0].timestamp_type
            key, value = dice.choice(_MARKERS)
            marker = Record(offset=offset, timestamp=moment, timestamp_type=stamped, key=key, value=value)
            transaction = key[3] < 2
            producer = (77, 3) if transaction else (-1, -1)
            yield Plan(
                2, "none", (marker,), None, appended, 9, *producer, -1, transaction, True
            )  # fmt: skip
        elif kind == 6:
            yield Plan(2, codec, records, level, appended, epoch, horizon=_NOW + 86_400_000)
        else:
            sequence = dice.choice((0, 5, 2**31 - 1))
            yield Plan(
                2, codec, records, level, appended, epoch, dice.choice((0, 1, 2**40)),
                dice.choice((0, 5, 2**15 - 1)), sequence, dice.random() < 0.5,
            )  # fmt: skip


def by_kodec(plan: Plan) -> bytes:
    """The plan's batch as kodec writes it."""
    kind = None
    if plan.appended is not None:
        kind = TimestampType.LOG_APPEND_TIME
    return kodec.encode(
        plan.records, magic=plan.magic, compression=plan.codec, level=plan.level, timestamp_type=kind,
        partition_leader_epoch=plan.leader_epoch, producer_id=plan.producer_id,
        producer_epoch=plan.producer_epoch, base_sequence=plan.base_sequence,
        transactional=plan.transactional, control=plan.control,
    )  # fmt: skip


def by_kafka(plan: Plan, judge: Judge) -> bytes:
    """The plan's batch as Kafka writes it."""
    return judge.write(plan)


def expected(plan: Plan) -> list[tuple[object, ...]]:
    """What every reader must find of each record: offset, timestamp and its type, key, value, headers."""
    return [
        (row.offset, row.timestamp, row.timestamp_type, row.key, row.value, row.headers)
        for row in plan.records
    ]


def real_logs(folder: Path) -> list[Base]:
    """Short runs of batches out of the logs of real brokers."""
    found: list[Base] = []
    for path in sorted(folder.glob("kafka-*/logs/*/*.log")) + sorted(folder.glob("samples/**/*.log")):
        run: list[bytes] = []
        reader = kodec.read_batches(path, on_error="skip")
        with reader:
            for batch in reader:
                if batch.size <= LARGEST // 2 and len(run) < 3:
                    run.append(batch.data)
        if run:
            found.append((f"{path.parent.name}/{path.name}", b"".join(run)))
    return found


def base_logs(dice: random.Random, count: int, judge: Judge) -> list[Base]:
    """Logs of one to three batches, written by kodec and by Kafka in turn."""
    source = plans(dice)
    found: list[Base] = []
    while len(found) < count:
        parts = []
        for _ in range(dice.choice((1, 1, 2, 3))):
            plan = next(source)
            kafka = plan.horizon >= 0 or dice.random() < 0.5
            parts.append(by_kafka(plan, judge) if kafka else by_kodec(plan))
        log = b"".join(parts)
        if len(log) <= LARGEST:
            found.append((f"generated {len(found)}", log))
    return found
