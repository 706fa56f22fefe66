"""Writes data directories of Redpanda, from the description of their bytes, without kodec."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import crc32c as checksums

DATA, CONFIGURATION, TX_FENCE, ARCHIVAL, PLACEHOLDER, CLOUD = 1, 2, 10, 19, 29, 36
TRANSACTIONAL, CONTROL, GZIP = 1 << 4, 1 << 5, 1
TIME = 1_700_000_000_000


class Row(NamedTuple):
    """A record as readers must return it: with Kafka's offset."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def crc(data: bytes) -> int:
    return int(checksums.crc32c(data))


def varint(value: int) -> bytes:
    number, out = value << 1 ^ value >> 63, bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def sized(value: bytes | None) -> bytes:
    return varint(-1) if value is None else varint(len(value)) + value


def record(delta: int, time_delta: int, row: Row) -> bytes:
    headers = b"".join(sized(name.encode()) + sized(value) for name, value in row.headers)
    body = b"\0" + varint(time_delta) + varint(delta) + sized(row.key) + sized(row.value)
    body += varint(len(row.headers)) + headers
    return varint(len(body)) + body


def batch(
    offset: int,
    rows: Sequence[Row],
    kind: int = DATA,
    attributes: int = 0,
    producer: tuple[int, int, int] = (-1, -1, -1),
    deltas: Sequence[int] | None = None,
    last: int | None = None,
) -> bytes:
    """A batch: its first offset of the Raft log, its records, and the number of its type."""
    deltas = range(len(rows)) if deltas is None else deltas
    first = rows[0].timestamp if rows else TIME
    body = b"".join(record(at, row.timestamp - first, row) for at, row in zip(deltas, rows, strict=True))
    if attributes & 7 == GZIP:
        body = gzip.compress(body, mtime=0)
    count = len(rows)
    last = (deltas[-1] if deltas else 0) if last is None else last
    fields = (attributes, last, first, max([row.timestamp for row in rows], default=first), *producer, count)
    kafkas = crc(struct.pack(">hiqqqhii", *fields) + body)
    head = struct.pack("<iqbIhiqqqhii", 61 + len(body), offset, kind, kafkas, *fields)
    return struct.pack("<I", crc(head)) + head + body


def rows(first: int, count: int, name: str = "key") -> list[Row]:
    """Records with these offsets of Kafka's."""
    return [
        Row(
            first + at,
            TIME + (first + at) * 10,
            None if (first + at) % 7 == 3 else f"{name}-{first + at}".encode(),
            None if (first + at) % 11 == 5 else f"value {first + at}".encode() * 3,
            (("trace", b"\x01\x02"), ("none", None)) if at % 2 else (),
        )
        for at in range(count)
    ]


def own(offset: int, kind: int = CONFIGURATION, count: int = 1) -> bytes:
    """A batch of Redpanda's own."""
    return batch(offset, [Row(0, TIME, b"\0\0", b"own" * 20)] * count, kind)


def segment(folder: Path, base: int, term: int, *batches: bytes, zeros: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{base}-{term}-v1.log"
    path.write_bytes(b"".join(batches) + bytes(zeros))
    (folder / f"{base}-{term}-v1.base_index").write_bytes(b"not read")
    return path


def snapshot(folder: Path, last: int, term: int, delta: int) -> Path:
    """The snapshot after which the log of a partition continues."""
    metadata = struct.pack("<qqb", last, term, 64) + b"configuration" + struct.pack("<qq", 0, delta)
    rest = struct.pack("<Ibi", crc(metadata), 1, len(metadata))
    path = folder / "snapshot"
    path.write_bytes(struct.pack("<I", crc(rest)) + rest + metadata + b"state")
    return path


class Disk(NamedTuple):
    """A data directory, and the records of its topics by topic-partition."""

    root: Path
    rows: dict[tuple[str, int], list[Row]]


def disk(root: Path) -> Disk:
    """A data directory: a log of three terms, a log without its start, one with transactions, one empty."""
    for name in ("controller/0_0", "kvstore/0_0"):
        segment(root / "redpanda" / name, 0, 1, own(0, 3))
    found: dict[tuple[str, int], list[Row]] = {}

    orders = root / "kafka" / "orders" / "0_12"
    first, second, third = rows(0, 10), rows(10, 5), rows(15, 6)
    segment(orders, 0, 1, own(0), batch(1, first[:4]), batch(5, first[4:], attributes=GZIP))
    segment(orders, 11, 2, own(11))
    segment(
        orders, 12, 3, own(12, count=2), batch(14, second), own(19, ARCHIVAL), batch(20, third), zeros=4096
    )
    (orders / "0-1-v1.compaction_index").write_bytes(b"not read")
    segment(root / "kafka" / "orders" / "0_7", 0, 1, batch(0, rows(0, 3, "deleted")))
    found["orders", 0] = first + second + third

    events = root / "kafka" / "events" / "3_14"
    # 100 offsets of the Raft log were deleted, of which 40 were not Kafka's
    kept = rows(60, 9, "event")
    segment(events, 100, 5, batch(100, kept[:3]), own(103), batch(104, kept[3:]))
    snapshot(events, 99, 4, 40)
    found["events", 3] = kept

    pays = root / "kafka" / "pays" / "0_15"
    inside, aborted, after = rows(1, 3, "pay"), rows(6, 2, "pay"), rows(9, 1, "pay")
    begin, commit, abort = (Row(0, TIME, struct.pack(">hh", 0, kind), bytes(6)) for kind in (1, 1, 0))
    del begin
    producer = (4000, 0)
    # a fence takes an offset of Kafka's, and is no record
    segment(
        pays,
        0,
        1,
        own(0),
        own(1, TX_FENCE),
        batch(2, inside, attributes=TRANSACTIONAL, producer=(*producer, 0)),
        batch(5, [commit._replace(offset=4)], attributes=TRANSACTIONAL | CONTROL, producer=(*producer, -1)),
        own(6, TX_FENCE),
        batch(7, aborted, attributes=TRANSACTIONAL, producer=(*producer, 3)),
        batch(9, [abort._replace(offset=8)], attributes=TRANSACTIONAL | CONTROL, producer=(*producer, -1)),
        batch(10, after),
    )
    found["pays", 0] = inside + aborted + after
    segment(root / "kafka" / "empty" / "0_16", 0, 1, own(0))
    found["empty", 0] = []
    return Disk(root, found)
