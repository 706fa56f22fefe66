"""Packs record batches of any magic, with any further fields of the header, by `struct` alone."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.log import wire

HEADER = (
    ("base_offset", "q"),
    ("len_batch", "i"),
    ("partition_leader_epoch", "i"),
    ("magic", "b"),
    ("crc", "I"),
    ("attributes", "H"),
    ("last_offset_delta", "i"),
    ("base_timestamp", "q"),
    ("max_timestamp", "q"),
    ("producer_id", "q"),
    ("producer_epoch", "h"),
    ("base_sequence", "i"),
    ("num_records", "i"),
)
"""The header of magic 2, as Kafka's `DefaultRecordBatch` describes it."""
GZIP, TRANSACTIONAL, CONTROL = 1, 0x10, 0x20
START = 1_700_000_000_000


@dataclass(frozen=True)
class Added:
    """A field that newer magics have: before which field, how wide it is, and in which magics."""

    name: str
    code: str
    before: str
    magics: tuple[int, ...]


@dataclass(frozen=True)
class Packer:
    """Packs batches.

    Attributes:
        added: the fields that newer magics have.
        flag: the bit of the attributes that is set in newer magics; 0: none.
    """

    added: Sequence[Added]
    flag: int = 0
    values: Mapping[str, int] = field(default_factory=dict)

    def header(self, magic: int) -> list[tuple[str, str]]:
        """The fields of the header of a magic, in order."""
        made = []
        for name, code in (*HEADER, ("records", "")):
            made += [
                (each.name, each.code) for each in self.added if each.before == name and magic in each.magics
            ]
            made += [(name, code)] if code else []
        return made

    def batch(
        self,
        magic: int,
        offset: int,
        records: Sequence[tuple[bytes | None, bytes | None]],
        *,
        codec: int = 0,
        flags: int = 0,
        epoch: int = 0,
        producer: tuple[int, int, int] = (-1, -1, -1),
        deltas: Sequence[int] | None = None,
        time: int | None = None,
    ) -> bytes:
        """A batch whose records are a millisecond apart."""
        numbers = range(len(records)) if deltas is None else deltas
        content = b"".join(_record(delta, *each) for delta, each in zip(numbers, records, strict=True))
        if codec == GZIP:
            content = gzip.compress(content, mtime=0)
        first = START + offset if time is None else time
        last = max(numbers, default=0)
        values = {
            "base_offset": offset,
            "partition_leader_epoch": epoch,
            "magic": magic,
            "attributes": codec | flags | (self.flag if magic > 2 else 0),
            "last_offset_delta": last,
            "base_timestamp": first,
            "max_timestamp": first + last,
            "producer_id": producer[0],
            "producer_epoch": producer[1],
            "base_sequence": producer[2],
            "num_records": len(records),
            **self.values,
        }
        header = self.header(magic)
        size = struct.calcsize(">" + "".join(code for _, code in header)) + len(content)
        values |= {"len_batch": size - 12, "crc": 0}
        data = bytearray(
            struct.pack(">" + "".join(code for _, code in header), *(values[name] for name, _ in header))
        )
        data += content
        names = [name for name, _ in header]
        at = struct.calcsize(">" + "".join(code for _, code in header[: names.index("crc")]))
        struct.pack_into(">I", data, at, wire.crc32c(bytes(data[at + 4 :])))
        return bytes(data)

    def marker(self, magic: int, offset: int, producer: int, *, commit: bool, epoch: int = 0) -> bytes:
        """A control batch that ends a transaction."""
        key, value = struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, 0)
        return self.batch(
            magic,
            offset,
            [(key, value)],
            flags=TRANSACTIONAL | CONTROL,
            producer=(producer, 0, -1),
            epoch=epoch,
        )


def _record(delta: int, key: bytes | None, value: bytes | None) -> bytes:
    return wire.record(delta, key, value, [(b"h", value)], time=delta)
