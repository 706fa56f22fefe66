"""Log directories made for a test: batches with producers and transactions, markers, segments."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import kodec
from kodec.generated.log import transaction_index
from kodec.log.reading.reader import read_batches
from kodec.log.writing.segment_writer import SegmentWriter

from . import wire

START = 1_700_000_000_000
DAY = 86_400_000
TRANSACTIONAL, CONTROL = 0x10, 0x20


def batch(
    offset: int,
    pairs: Iterable[tuple[bytes | None, bytes | None]],
    *,
    codec: str = "none",
    magic: int = 2,
    producer: tuple[int, int, int] = (-1, -1, -1),
    transactional: bool = False,
    time: int | None = None,
) -> bytes:
    """Records with these keys and values from `offset` on, a millisecond apart: an entry, or messages."""
    first = START + offset if time is None else time
    stamped = magic > 0
    records = [
        kodec.Record(
            key=key,
            value=value,
            timestamp=first + number if stamped else -1,
            headers=((("h", value),) if magic == 2 else ()),
        )
        for number, (key, value) in enumerate(pairs)
    ]
    if magic < 2:
        return kodec.encode(records, magic=magic, compression=codec, base_offset=offset)
    return kodec.encode(
        records,
        compression=codec,
        base_offset=offset,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=producer[2],
        transactional=transactional,
        partition_leader_epoch=0,
    )


def marker(offset: int, producer: int, *, commit: bool, epoch: int = 0, time: int | None = None) -> bytes:
    """A control batch that ends a transaction."""
    at = START + offset if time is None else time
    row = wire.record(0, struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, 7))
    return wire.batch(
        [row],
        base=offset,
        attributes=TRANSACTIONAL | CONTROL,
        base_time=at,
        max_time=at,
        producer=(producer, epoch, -1),
        epoch=0,
    )


def framed(message: Any, version: int = 0) -> bytes:
    """The value of a record of the metadata log."""
    head = (1, message.NUMBER, version)
    return b"".join(map(wire.uvarint, head)) + bytes(message.to_bytes(version=version))


def make(
    folder: Path,
    segments: Sequence[tuple[int, Sequence[bytes]]],
    *,
    modified: int = START,
    aborted: Sequence[tuple[int, int, int]] = (),
) -> Path:
    """A topic-partition's folder with these segments (base offset, entries), written at `modified`.

    `aborted` are transactions: producer, first and last offset; none is open when one of them ends.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for base_offset, entries in segments:
        with SegmentWriter(folder, base_offset) as writer:
            for data in entries:
                writer.append_all(data, list(read_batches(data)))
            for producer, first, last in aborted:
                if base_offset <= last < writer.next_offset:
                    writer.add_aborted(transaction_index.Entry(0, producer, first, last, last + 1))
            paths = writer.paths
        for path in paths:
            os.utime(path, ns=(modified * 1_000_000, modified * 1_000_000))
    return folder


def rows(folder: Path, **options: Any) -> list[kodec.Record]:
    """All records, with equal timestamp types: compaction gives those of magic 0 one."""
    with kodec.PartitionLog(folder) as log:
        found = list(log.records(**options))
    for record in found:
        record.timestamp_type = kodec.TimestampType(max(record.timestamp_type, 0))
    return found


def files(folder: Path) -> dict[str, bytes]:
    """What is in a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def broker_start(folder: Path) -> None:
    """What a broker does with leftovers when it starts: `LogLoader.load`, first to third pass, told anew."""
    cleaned = [int(path.name[:20]) for path in folder.glob("*.cleaned")]
    for path in list(folder.iterdir()):
        unfinished = path.suffix == ".swap" and cleaned and int(path.name[:20]) >= min(cleaned)
        if path.suffix in (".deleted", ".cleaned") or unfinished:
            path.unlink()
    spans = []
    for path in folder.glob("*.log.swap"):
        base = int(path.name[:20])
        after = max([batch.next_offset for batch in read_batches(path)], default=base)
        spans.append((base, after))
    if spans:
        low, high = min(base for base, _ in spans), max(after for _, after in spans)
        for path in list(folder.iterdir()):
            if path.suffix != ".swap" and path.name[:20].isdigit() and low <= int(path.name[:20]) < high:
                path.unlink()
    for path in list(folder.glob("*.swap")):
        path.rename(path.with_suffix(""))
    logs = {path.stem for path in folder.glob("*.log")}
    for path in list(folder.glob("*.*index")):
        if path.name.split(".")[0] not in logs:
            path.unlink()
