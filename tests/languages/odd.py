"""Entries with right outer checksums and odd content: one rule for each, in every language.

python -m tests.languages.odd      make schemas/log/odd.vectors.json anew

The rule is what Kafka's Java code does with the same bytes (`org.apache.kafka.common.compress` and its
libraries):

- gzip: members one after another; what does not begin with the whole header of one ends the data.
- snappy: xerial's blocks, whose header may repeat, and 1 to 3 bytes after the last are ignored; or one raw
  block. A copy reaches back at least one byte: extensions of the format (S2) are refused.
- lz4: the first frame, of independent blocks, with its end mark; what follows it is ignored. Checksums of its
  header and its blocks are verified, the checksum and the size of its content are not.
- zstd: frames one after another, also skippable ones, to the last byte; checksums and sizes are verified.
- A compressed message without a value is refused, and no content at all.

Two are stricter than Kafka, whose sums wrap: a member of gzip that begins after another has to end, and the
largest timestamp of a batch is verified, so that a sum outside 64 bits is refused.
"""

from __future__ import annotations

import gzip
import json
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import cramjam
import xxhash
import zstandard

from kodec.generator.code.machine import Code, Machine
from kodec.generator.driver import load
from kodec.generator.json_values import lacking, to_json
from kodec.generator.plan.build import program_of
from kodec.generator.plan.steps import Program
from kodec.generator.targets.vectors.plan import error_of
from kodec.runtime.checksums import crc32c
from kodec.runtime.errors import FormatError
from kodec.runtime.fields import ReadOptions

ROOT = Path(__file__).resolve().parents[2]
ODD = ROOT / "schemas" / "log" / "odd.vectors.json"
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4

RECORDS = bytes.fromhex("10 00 00 00 02 6b 02 76 00 10 00 00 02 02 6b 02 76 00")
"""Two records of a batch, each with the key `k` and the value `v`."""


def batch(codec: int, records: bytes, *, count: int = 2, offset: int = 0, time: int = 1000) -> bytes:
    """A batch of magic 2 with the right checksum."""
    last = max(count - 1, 0)
    body = struct.pack(">hiqqqhii", codec, last, time, time, -1, -1, -1, count) + records
    return struct.pack(">qiibI", offset, 9 + len(body), -1, 2, crc32c(body)) + body


def message(codec: int, value: bytes | None, *, magic: int = 1, offset: int = 1) -> bytes:
    """A message of magic 0 or 1 with the right checksum."""
    stored = struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value
    time = struct.pack(">q", 1000) if magic else b""
    body = struct.pack(">bb", magic, codec) + time + struct.pack(">i", -1) + stored
    return struct.pack(">qiI", offset, 4 + len(body), zlib.crc32(body)) + body


def _member(data: bytes = RECORDS) -> bytes:
    return gzip.compress(data, mtime=0)


def _block(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


_XERIAL = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)


def _chunk(data: bytes) -> bytes:
    return struct.pack(">i", len(_block(data))) + _block(data)


def _frame(flags: int, blocks: bytes, *, more: bytes = b"", behind: bytes = b"") -> bytes:
    """An LZ4 frame; `flags` are those of its descriptor."""
    head = b"\x04\x22\x4d\x18" + bytes((flags, 0x40)) + more
    checksum = xxhash.xxh32_intdigest(head[4:]) >> 8 & 0xFF
    return head + bytes((checksum,)) + blocks + bytes(4) + behind


def _stored(data: bytes = RECORDS) -> bytes:
    return struct.pack("<I", len(data) | 1 << 31) + data


def _zstd(data: bytes = RECORDS, *, checksum: bool = False, size: bool = False) -> bytes:
    made = zstandard.ZstdCompressor(write_checksum=checksum, write_content_size=size)
    return made.compress(data)


def _wrong_header(frame: bytes) -> bytes:
    return frame[:6] + bytes((frame[6] ^ 1,)) + frame[7:]


_SKIPPABLE = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"
_INNER = message(0, b"v", magic=0)
_WRAPPER = message(GZIP, _member(_INNER), magic=0)
_LATER = bytes.fromhex("10 00 02 00 02 6b 02 76 00 10 00 04 02 02 6b 02 76 00")
_EARLIER = bytes.fromhex("10 00 01 00 02 6b 02 76 00 10 00 03 02 02 6b 02 76 00")
HALF = len(RECORDS) // 2
_HASH = struct.pack("<I", xxhash.xxh32_intdigest(RECORDS))
_DEPENDENT, _SIZED, _SUMMED, _CHECKED, _PLAIN = 0x40, 0x68, 0x64, 0x70, 0x60
PAYLOADS: dict[str, tuple[int, bytes, bool]] = {
    "gzip, two members": (GZIP, _member(RECORDS[:HALF]) + _member(RECORDS[HALF:]), True),
    "gzip, text after the member": (GZIP, _member() + b"garbage!", True),
    "gzip, zeros after the member": (GZIP, _member() + bytes(24), True),
    "gzip, another method after the member": (GZIP, _member() + b"\x1f\x8b\x07" + bytes(24), True),
    "gzip, half a header after the member": (GZIP, _member() + b"\x1f\x8b\x08\0\0", True),
    "gzip, a name without an end after the member": (
        GZIP,
        _member() + b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * 20,
        True,
    ),
    "gzip, half a member after the member": (GZIP, _member() + _member(b"abc")[:16], False),
    "gzip, a wrong checksum": (GZIP, _member()[:-8] + bytes(4) + _member()[-4:], False),
    "gzip, a wrong size": (GZIP, _member()[:-1] + b"\1", False),
    "gzip, cut off": (GZIP, _member()[:-1], False),
    "gzip, nothing": (GZIP, b"", False),
    "snappy, one raw block": (SNAPPY, _block(RECORDS), True),
    "snappy, a repeat of S2": (SNAPPY, bytes.fromhex("1c2e000000026b20611d0101000000"), False),
    "snappy, a header that repeats": (
        SNAPPY,
        _XERIAL + _chunk(RECORDS[:HALF]) + _XERIAL + _chunk(RECORDS[HALF:]),
        True,
    ),
    "snappy, a repeated header of version 0": (
        SNAPPY,
        _XERIAL + _XERIAL[:8] + bytes(8) + _chunk(RECORDS),
        False,
    ),
    "snappy, a repeated header that is cut off": (SNAPPY, _XERIAL + _chunk(RECORDS) + _XERIAL[:12], False),
    "snappy, a byte after the last block": (SNAPPY, _XERIAL + _chunk(RECORDS) + b"\0", True),
    "snappy, three bytes after the last block": (SNAPPY, _XERIAL + _chunk(RECORDS) + b"\xff\0\0", True),
    "snappy, a block of minus one byte": (SNAPPY, _XERIAL + _chunk(RECORDS) + b"\xff" * 4, False),
    "snappy, a block that is cut off": (SNAPPY, (_XERIAL + _chunk(RECORDS))[:-1], False),
    "snappy, version 0 of the first header": (SNAPPY, _XERIAL[:8] + bytes(8) + _chunk(RECORDS), True),
    "snappy, the official framing": (SNAPPY, b"\xff\x06\0\0sNaPpY" + _block(RECORDS), False),
    "snappy, a block with a wrong size": (SNAPPY, b"\x13" + _block(RECORDS)[1:], False),
    "snappy, nothing": (SNAPPY, b"", False),
    "lz4, a checksum of its block": (LZ4, _frame(_CHECKED, _stored() + _HASH), True),
    "lz4, a wrong checksum of its block": (LZ4, _frame(_CHECKED, _stored() + bytes(4)), False),
    "lz4, a wrong checksum of its content": (LZ4, _frame(_SUMMED, _stored(), behind=bytes(4)), True),
    "lz4, no checksum of its content": (LZ4, _frame(_SUMMED, _stored()), False),
    "lz4, a wrong size of its content": (LZ4, _frame(_SIZED, _stored(), more=bytes(8)), True),
    "lz4, a wrong checksum of its header": (LZ4, _wrong_header(_frame(_PLAIN, _stored())), False),
    "lz4, two blocks": (LZ4, _frame(_PLAIN, _stored(RECORDS[:HALF]) + _stored(RECORDS[HALF:])), True),
    "lz4, dependent blocks": (LZ4, _frame(_DEPENDENT, _stored()), False),
    "lz4, a reserved bit": (LZ4, _frame(_PLAIN | 2, _stored()), False),
    "lz4, another version": (LZ4, _frame(0xA0, _stored()), False),
    "lz4, no end mark": (LZ4, _frame(_PLAIN, _stored())[:-4], False),
    "lz4, a second frame": (LZ4, 2 * _frame(_PLAIN, _stored()), True),
    "lz4, text after the frame": (LZ4, _frame(_PLAIN, _stored()) + b"garbage", True),
    "lz4, a skippable frame first": (LZ4, _SKIPPABLE + _frame(_PLAIN, _stored()), False),
    "lz4, the old framing": (LZ4, b"\x02\x21\x4c\x18" + _stored(), False),
    "lz4, nothing": (LZ4, b"", False),
    "zstd, a checksum": (ZSTD, _zstd(checksum=True), True),
    "zstd, a wrong checksum": (ZSTD, _zstd(checksum=True)[:-4] + bytes(4), False),
    "zstd, a size": (ZSTD, _zstd(size=True), True),
    "zstd, a wrong size": (ZSTD, _zstd(size=True).replace(b"\x20\x12", b"\x20\x11", 1), False),
    "zstd, two frames": (ZSTD, _zstd(RECORDS[:HALF]) + _zstd(RECORDS[HALF:]), True),
    "zstd, a skippable frame first": (ZSTD, _SKIPPABLE + _zstd(), True),
    "zstd, a skippable frame last": (ZSTD, _zstd() + _SKIPPABLE, True),
    "zstd, text after the frame": (ZSTD, _zstd() + b"garbage", False),
    "zstd, cut off": (ZSTD, _zstd()[:-1], False),
    "zstd, nothing": (ZSTD, b"", False),
}
"""What is tested: the codec, its bytes, and whether they hold the two records."""
ENTRIES: dict[str, tuple[bytes, bool]] = {
    **{what: (batch(codec, data), right) for what, (codec, data, right) in PAYLOADS.items()},
    "a wrapper without a value": (message(GZIP, None), False),
    "a wrapper of nothing": (message(GZIP, b""), False),
    "magic 0, a right checksum of LZ4's header": (
        message(LZ4, _frame(_PLAIN, _stored(_INNER)), magic=0),
        True,
    ),
    "magic 0, any checksum of LZ4's header": (
        message(LZ4, _wrong_header(_frame(_PLAIN, _stored(_INNER))), magic=0),
        True,
    ),
    "zstd in a wrapper": (message(ZSTD, _zstd(message(0, b"v"))), False),
    "an unknown codec": (batch(5, RECORDS), False),
    "a negative offset": (batch(0, RECORDS, offset=-5), True),
    "offsets above the largest": (batch(0, RECORDS, offset=(1 << 63) - 1), True),
    "a negative timestamp": (batch(0, RECORDS, time=-5), True),
    "timestamps above the largest": (batch(0, _LATER, time=(1 << 63) - 1), False),
    "timestamps below the smallest": (batch(0, _EARLIER, time=-1 << 63), False),
    "a negative count of records": (batch(0, b"", count=-1), False),
}
"""What is tested: an entry of a log, and whether it is read."""


LIMITS: dict[str, tuple[bytes, int, bool]] = {
    "three batches that decompress to the limit": (3 * batch(GZIP, _member()), 3 * len(RECORDS), True),
    "three batches that decompress to more": (3 * batch(GZIP, _member()), 3 * len(RECORDS) - 1, False),
    "three wrappers that decompress to the limit": (3 * _WRAPPER, 3 * len(_INNER), True),
    "three wrappers that decompress to more": (3 * _WRAPPER, 3 * len(_INNER) - 1, False),
}
"""What is tested: a segment, the limit of all its decompressed bytes, and whether it is read."""


def odd() -> str:
    """A document of vectors: each entry with its value, or the error."""
    program = program_of(load(ROOT / "schemas"))
    lines = [
        _vector(program, "log_segment::entry", what, entry, right) for what, (entry, right) in ENTRIES.items()
    ]
    lines += [
        _vector(program, "log_segment", what, data, right, limit)
        for what, (data, limit, right) in LIMITS.items()
    ]
    head = '{\n "vectors_version": 2,\n "schema": "log_segment",\n "vectors": [\n'
    return head + ",\n".join(f"  {json.dumps(each)}" for each in lines) + "\n ]\n}\n"


def _vector(
    program: Program, kind: str, what: str, data: bytes, right: bool, limit: int | None = None
) -> dict[str, Any]:
    vector: dict[str, Any] = {
        "id": f"{kind}/odd/{re.sub(r'[^a-z0-9]+', '-', what.lower())}",
        "type": kind,
        "tests": what,
        "origin": {"kind": "constructed"},
        "must": "accept" if right else "refuse",
        "bytes": data.hex(),
    }
    if limit is not None:
        vector["limit"] = limit
    opt = ReadOptions() if limit is None else ReadOptions(decompressed_bytes=limit)
    try:
        value = Machine(Code(program), data, opt).read(kind)
    except FormatError as error:
        assert not right, f"{what}: {error}"
        found = error_of(error)
        # at which byte of the content is its library's
        vector["error"] = {key: found[key] for key in ("code", "path")}
        return vector
    assert right, f"{what}: accepted"
    left_out = lacking(value)
    return vector | {"value": to_json(value)} | ({"lacking": left_out} if left_out else {})


if __name__ == "__main__":
    ODD.write_text(odd())
