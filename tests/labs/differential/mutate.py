"""Breaks valid logs in many ways, most of them with checksums set right again so that decoding goes deep."""

from __future__ import annotations

import gzip as stdlib_gzip
import random
import struct
import zlib
from collections.abc import Callable, Sequence

import lz4.block
import lz4.frame
import snappy
import zstandard

from kodec.runtime.compression import compress, decompress
from kodec.runtime.crc import crc32, crc32c
from kodec.runtime.errors import KodecError

__all__ = ["KINDS", "mutate"]

_NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
_INT32 = (0, 1, -1, -2, 2, 13, 14, 48, 49, 127, 128, 2**31 - 1, -(2**31), 65536)
_INT64 = (0, 1, -1, -2, 2**31, 2**62, 2**63 - 1, -(2**63), 1_700_000_000_000)
_VARINTS = (
    b"\x00", b"\x01", b"\x02", b"\x03", b"\x7f", b"\x80\x00", b"\x81\x00", b"\x80\x80\x80\x80\x00",
    b"\xff" * 4 + b"\x0f",
    b"\xff" * 4 + b"\x7f", b"\xff" * 4 + b"\x1f", b"\xfe" + b"\xff" * 3 + b"\x0f", b"\xff" * 5,
    b"\x80" * 4 + b"\x10",
    b"\xff" * 9 + b"\x01", b"\xff" * 9 + b"\x7f", b"\x80" * 9 + b"\x01", b"\x80" * 9 + b"\x02", b"\xff" * 10,
    b"\xfe" + b"\xff" * 8 + b"\x01", b"\x80\x80\x80\x80\x80\x00", b"\x80" * 10 + b"\x00",
)  # fmt: skip

Entry = tuple[int, int, int]
"""Where an entry starts, its size, its magic."""


def entries(data: bytes) -> list[Entry]:
    """The entries whose fields stand where they should, up to the first that breaks the chain."""
    found: list[Entry] = []
    at = 0
    while at + 17 <= len(data):
        (length,) = struct.unpack_from(">i", data, at + 8)
        if length < 14 or at + 12 + length > len(data):
            break
        if _is_whole(data[at : at + 12 + length]):
            found.append((at, 12 + length, data[at + 16]))
        at += 12 + length
    return found


def _is_whole(entry: bytes) -> bool:
    if entry[16] not in (0, 1, 2) or _codec(entry) >= len(_NAMES):
        return False
    if entry[16] == 2:
        return len(entry) >= 61
    at = 18 if entry[16] == 0 else 26
    return len(entry) >= at + 8 and len(entry) >= _value_at(entry) + 4


def sealed(entry: bytearray, *, length: bool = True) -> bytes:
    """The entry with its checksum, and its length, set right as far as it is long enough for them."""
    if length and len(entry) >= 12:
        struct.pack_into(">i", entry, 8, len(entry) - 12)
    if len(entry) >= 21:
        if entry[16] == 2:
            struct.pack_into(">I", entry, 17, crc32c(bytes(entry[21:])))
        else:
            struct.pack_into(">I", entry, 12, crc32(bytes(entry[16:])))
    return bytes(entry)


def _value_at(entry: bytes) -> int:
    """Where the value's length stands in a message of magic 0 or 1."""
    at = 18 if entry[16] == 0 else 26
    (size,) = struct.unpack_from(">i", entry, at)
    return int(at + 4 + max(size, 0))


def _codec(entry: bytes) -> int:
    at = 22 if entry[16] == 2 else 17
    return entry[at] & 7 if len(entry) > at else 0


def _payload(entry: bytes) -> bytes:
    return entry[61:] if entry[16] == 2 else entry[_value_at(entry) + 4 :]


def _with_payload(entry: bytes, payload: bytes) -> bytes:
    if entry[16] == 2:
        return sealed(bytearray(entry[:61] + payload))
    at = _value_at(entry)
    return sealed(bytearray(entry[:at] + struct.pack(">i", len(payload)) + payload))


def _name(entry: bytes) -> str:
    name = _NAMES[_codec(entry)]
    return "lz4_legacy" if name == "lz4" and entry[16] == 0 else name


# -- bytes ----------------------------------------------------------------------------------------


def _flip(dice: random.Random, data: bytes) -> bytes:
    if not data:
        return data
    out = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        out[dice.randrange(len(out))] ^= 1 << dice.randrange(8)
    return bytes(out)


def _put(dice: random.Random, data: bytes) -> bytes:
    if not data:
        return data
    out = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 4))):
        out[dice.randrange(len(out))] = dice.choice((0, 1, 2, 0x7F, 0x80, 0xFF, dice.randrange(256)))
    return bytes(out)


def _cut(dice: random.Random, data: bytes) -> bytes:
    return data[: dice.randrange(len(data) + 1)]


def _insert(dice: random.Random, data: bytes) -> bytes:
    at = dice.randrange(len(data) + 1)
    size = dice.choice((1, 1, 2, 4, 12, 17, 30))
    return data[:at] + dice.choice((dice.randbytes(size), bytes(size))) + data[at:]


def _delete(dice: random.Random, data: bytes) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] + data[at + dice.choice((1, 1, 2, 4, 12, 30)) :]


def _varint(dice: random.Random, data: bytes) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] + dice.choice(_VARINTS) + data[at + dice.choice((0, 1, 1, 1, 2)) :]


_EDITS = (_flip, _put, _cut, _insert, _delete, _varint)


def _edit(dice: random.Random, data: bytes) -> bytes:
    return dice.choice(_EDITS)(dice, data)


def _splice(dice: random.Random, data: bytes, other: bytes) -> bytes:
    kind = dice.randrange(4)
    if kind == 0:
        return data[: dice.randrange(len(data) + 1)] + other[dice.randrange(len(other) + 1) :]
    if kind == 1:
        return data + other[: dice.randrange(len(other) + 1)]
    if kind == 2:
        return data + bytes(dice.choice((1, 5, 11, 12, 16, 17, 40, 200)))
    at = dice.randrange(len(data) + 1)
    return data[:at] + other + data[at:]


# -- one entry ------------------------------------------------------------------------------------


def _length(dice: random.Random, entry: bytes) -> bytes:
    out = bytearray(entry)
    (length,) = struct.unpack_from(">i", out, 8)
    change = (*_INT32, length - 1, length + 1, length + 12, length - 12, length * 2, length + 200)
    struct.pack_into(">i", out, 8, max(-(2**31), min(2**31 - 1, dice.choice(change))))
    return bytes(out)


def _resized(dice: random.Random, entry: bytes) -> bytes:
    """Longer or shorter by some bytes, length and checksum right."""
    out = bytearray(entry)
    if dice.random() < 0.5:
        del out[max(17, len(out) - dice.choice((1, 2, 8, 20, 60))) :]
    else:
        out += dice.choice((bytes(1), b"\xff", dice.randbytes(8), bytes(40)))
    return sealed(out)


def _body(dice: random.Random, entry: bytes) -> bytes:
    """Any edit after the checksum."""
    start = 21 if entry[16] == 2 else 17
    return sealed(bytearray(entry[:start] + _edit(dice, entry[start:])))


_FIELDS_2 = ((0, 8), (12, 4), (22, 1), (21, 1), (23, 4), (27, 8), (35, 8), (43, 8), (51, 2), (53, 4), (57, 4))
_FIELDS_1 = ((0, 8), (17, 1), (18, 8), (26, 4))
_FIELDS_0 = ((0, 8), (17, 1), (18, 4))


def _field(dice: random.Random, entry: bytes) -> bytes:
    """A header field set to a value at or beyond its edge."""
    out = bytearray(entry)
    fields = _FIELDS_2 if out[16] == 2 else _FIELDS_1 if out[16] == 1 else _FIELDS_0
    at, size = dice.choice(fields)
    if size == 1:
        out[at] = dice.randrange(256)
    else:
        old = int.from_bytes(out[at : at + size], "big", signed=True)
        new = dice.choice((*(_INT64 if size == 8 else _INT32), old + 1, old - 1))
        out[at : at + size] = (new % (1 << 8 * size)).to_bytes(size, "big")
    if out[16] < 2 and dice.random() < 0.3:
        struct.pack_into(">i", out, _value_at(entry), dice.choice(_INT32))
    return sealed(out)


def _codec_bits(dice: random.Random, entry: bytes) -> bytes:
    out = bytearray(entry)
    at = 22 if out[16] == 2 else 17
    out[at] = out[at] & 0xF8 | dice.randrange(8)
    return sealed(out)


def _magic(dice: random.Random, entry: bytes) -> bytes:
    out = bytearray(entry)
    out[16] = dice.choice((0, 1, 2, 2, 3, 4, 127, 128, 255))
    return sealed(out)


def _stored(dice: random.Random, entry: bytes) -> bytes:
    """The compressed bytes, or plain records, edited."""
    return _with_payload(entry, _edit(dice, _payload(entry)))


def _inner(dice: random.Random, entry: bytes) -> bytes:
    """What is compressed edited, and compressed again."""
    name = _name(entry)
    try:
        raw = decompress(name, _payload(entry), limit=1 << 20)
    except KodecError:
        return _body(dice, entry)
    raw = _inner_legacy(dice, raw) if entry[16] < 2 and name != "none" else _edit(dice, raw)
    return _with_payload(entry, compress(name, raw))


def _inner_legacy(dice: random.Random, raw: bytes) -> bytes:
    found = entries(raw)
    if not found or dice.random() < 0.3:
        return _edit(dice, raw)
    if dice.random() < 0.05:
        return b""
    at, size, _ = dice.choice(found)
    inner = raw[at : at + size]
    change = dice.choice((_length, _resized, _body, _field, _field, _codec_bits, _magic, _flip))
    return raw[:at] + change(dice, inner) + raw[at + size :]


def _records(dice: random.Random, entry: bytes) -> bytes:
    """A varint of an uncompressed batch, at the start of a record or anywhere."""
    if entry[16] != 2 or _codec(entry):
        return _inner(dice, entry)
    return _with_payload(entry, _varint(dice, entry[61:]))


# -- other ways to compress -------------------------------------------------------------------------


def _halves(dice: random.Random, raw: bytes) -> tuple[bytes, bytes]:
    at = dice.randrange(len(raw) + 1)
    return raw[:at], raw[at:]


def _gzip(dice: random.Random, raw: bytes) -> bytes:
    first, second = _halves(dice, raw)
    whole = stdlib_gzip.compress(raw, mtime=0)
    deflate = zlib.compressobj(dice.choice((0, 1, 9)), zlib.DEFLATED, -15)
    body = deflate.compress(raw) + deflate.flush()
    tail = struct.pack("<II", zlib.crc32(raw), len(raw))
    kind = dice.randrange(9)
    if kind == 0:
        return stdlib_gzip.compress(first, mtime=0) + stdlib_gzip.compress(second, mtime=0)
    if kind == 1:
        return stdlib_gzip.compress(b"") * dice.randrange(1, 3) + whole
    if kind == 2:
        return whole + dice.choice((b"\x00", bytes(20), b"\x1f\x8b\x08", dice.randbytes(30), whole[:12]))
    if kind == 3:
        return whole[:-8] + dice.randbytes(4) + whole[-4:]
    if kind == 4:
        return whole[:-4] + struct.pack("<I", len(raw) + 1)
    if kind == 5:
        flags = dice.randrange(256)
        head = bytes((0x1F, 0x8B, 8, flags)) + bytes(6)
        if flags & 4:
            head += b"\x03\x00abc"
        if flags & 8:
            head += b"name\x00"
        if flags & 16:
            head += b"comment\x00"
        if flags & 2:
            sum16 = zlib.crc32(head) & 0xFFFF
            head += struct.pack("<H", sum16 if dice.random() < 0.7 else sum16 ^ 1)
        return head + body + tail
    if kind == 6:
        return whole[: len(whole) - dice.randrange(12)]
    if kind == 7:
        return stdlib_gzip.compress(first, mtime=0) + _flip(dice, stdlib_gzip.compress(second, mtime=0))
    return bytes((0x1F, 0x8B, 8)) + bytes(7) + body + tail


_XERIAL = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)


def _chunk(raw: bytes) -> bytes:
    block: bytes = snappy.compress(raw)
    return struct.pack(">i", len(block)) + block


def _snappy(dice: random.Random, raw: bytes) -> bytes:
    first, second = _halves(dice, raw)
    kind = dice.randrange(10)
    if kind == 9:
        return (
            _XERIAL
            + _chunk(raw)
            + b"\x82SNA"
            + dice.choice((b"PPX\x00", bytes(4)))
            + bytes(8)
            + _chunk(second)
        )
    if kind == 0:
        block: bytes = snappy.compress(raw)
        return block
    if kind == 1:
        return _XERIAL + _chunk(first) + _chunk(second)
    if kind == 2:
        return _XERIAL + _chunk(first) + _XERIAL + _chunk(second)
    if kind == 3:
        return _XERIAL + _chunk(raw) + dice.randbytes(dice.randrange(1, 8))
    if kind == 4:
        return _XERIAL + struct.pack(">i", 0) + _chunk(raw)
    if kind == 5:
        head = _XERIAL[:8] + struct.pack(">ii", dice.choice((0, 1, 2, -1)), dice.choice((0, 1, 2, -1)))
        return dice.choice((b"", _XERIAL + _chunk(first))) + head + _chunk(second)
    if kind == 6:
        return b"\xff\x06\x00\x00sNaPpY" + _chunk(raw)
    if kind == 7:
        return _XERIAL + _flip(dice, _chunk(raw))
    return _XERIAL[: dice.randrange(17)] + _chunk(raw)


def _lz4(dice: random.Random, raw: bytes) -> bytes:
    def frame(content: bytes) -> bytes:
        made: bytes = lz4.frame.compress(
            content,
            block_size=dice.choice((4, 5, 6, 7)),
            block_linked=dice.random() < 0.15,
            content_checksum=dice.random() < 0.4,
            block_checksum=dice.random() < 0.4,
            store_size=dice.random() < 0.4,
            compression_level=dice.choice((0, 3, 9, -3)),
        )
        return made

    first, second = _halves(dice, raw)
    kind = dice.randrange(8)
    whole = frame(raw)
    if kind < 2:
        return whole
    if kind == 2:
        return frame(first) + frame(second)
    if kind == 3:
        return whole + dice.randbytes(dice.randrange(1, 9))
    if kind == 4:
        head = b"\x04\x22\x4d\x18\x60\x40\x82"
        blocks = b"".join(struct.pack("<I", len(part) | 1 << 31) + part for part in (first, second) if part)
        return head + blocks + dice.choice((bytes(4), bytes(4), struct.pack("<I", 1 << 31), b""))
    if kind == 5:
        return whole[:4] + bytes((dice.randrange(256), dice.randrange(256))) + whole[6:]
    if kind == 6:
        return b"\x50\x2a\x4d\x18\x02\x00\x00\x00ab" + whole
    # an empty block among others: what decompresses to nothing is no end
    head = b"\x04\x22\x4d\x18\x60\x40\x82"
    packed: bytes = lz4.block.compress(raw, store_size=False)
    empty = struct.pack("<I", 1) + b"\x00"
    return head + empty + struct.pack("<I", len(packed)) + packed + bytes(4)


def _zstd(dice: random.Random, raw: bytes) -> bytes:
    def frame(content: bytes) -> bytes:
        writer = zstandard.ZstdCompressor(
            level=dice.choice((-5, 1, 3, 19)),
            write_content_size=dice.random() < 0.5,
            write_checksum=dice.random() < 0.4,
        )
        return writer.compress(content)

    first, second = _halves(dice, raw)
    skippable = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
    kind = dice.randrange(10)
    whole = frame(raw)
    if kind == 9:
        # a stated size, right or not, and at times an empty last block
        stated = struct.pack("<I", max(0, len(raw) + dice.choice((0, 1, -1, 1 << 20))))
        empty = dice.randrange(2)
        blocks = struct.pack("<I", len(raw) << 3 | 1 - empty)[:3] + raw + b"\x01\x00\x00" * empty
        return b"\x28\xb5\x2f\xfd\x80\x80" + stated + blocks
    if kind < 2:
        return whole
    if kind == 2:
        return frame(first) + frame(second)
    if kind == 3:
        return dice.choice((skippable + whole, whole + skippable, frame(first) + skippable + frame(second)))
    if kind == 4:
        return whole + dice.choice(
            (b"\x00", bytes(3), bytes(4), bytes(9), dice.randbytes(6), whole[:4], whole[:7])
        )
    if kind == 5:
        return frame(b"") + whole + frame(b"")
    if kind == 6:
        return whole[:4] + bytes((dice.randrange(256), dice.randrange(256))) + whole[6:]
    if kind == 7:
        return whole[: len(whole) - dice.randrange(1, 5)]
    # raw and run-length blocks by hand
    head = b"\x28\xb5\x2f\xfd" + bytes((dice.choice((0, 4)), dice.choice((0, 8, 0x58, 0x88, 0x90, 0xFF))))
    runs = (
        struct.pack("<I", len(first) << 3)[:3]
        + first
        + struct.pack("<I", dice.choice((0, 3, 300)) << 3 | 2)[:3]
    )
    return head + runs + b"\x00" + struct.pack("<I", len(second) << 3 | 1)[:3] + second


_WAYS: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "gzip": _gzip,
    "snappy": _snappy,
    "lz4": _lz4,
    "lz4_legacy": _lz4,
    "zstd": _zstd,
}


def _recode(dice: random.Random, entry: bytes) -> bytes:
    """The same content compressed in a way that Kafka would not write."""
    name = _name(entry)
    if name == "none":
        return _field(dice, entry)
    try:
        raw = decompress(name, _payload(entry), limit=1 << 20)
    except KodecError:
        return _body(dice, entry)
    return _with_payload(entry, _WAYS[name](dice, raw))


def _on_entry(
    change: Callable[[random.Random, bytes], bytes],
) -> Callable[[random.Random, bytes, bytes], bytes]:
    def run(dice: random.Random, data: bytes, other: bytes) -> bytes:
        found = entries(data)
        if not found:
            return _edit(dice, data)
        at, size, _ = dice.choice(found)
        return data[:at] + change(dice, data[at : at + size]) + data[at + size :]

    return run


def _on_log(
    change: Callable[[random.Random, bytes], bytes],
) -> Callable[[random.Random, bytes, bytes], bytes]:
    def run(dice: random.Random, data: bytes, other: bytes) -> bytes:
        return change(dice, data)

    return run


def _valid(dice: random.Random, data: bytes, other: bytes) -> bytes:
    return data


_KINDS: Sequence[tuple[str, int, Callable[[random.Random, bytes, bytes], bytes]]] = (
    ("not changed", 2, _valid),
    ("bit flips", 5, _on_log(_flip)),
    ("bytes set", 4, _on_log(_put)),
    ("cut off", 4, _on_log(_cut)),
    ("bytes inserted", 3, _on_log(_insert)),
    ("bytes deleted", 3, _on_log(_delete)),
    ("two logs spliced", 5, _splice),
    ("length field", 4, _on_entry(_length)),
    ("resized, CRC right", 6, _on_entry(_resized)),
    ("body edited, CRC right", 14, _on_entry(_body)),
    ("header field, CRC right", 10, _on_entry(_field)),
    ("codec bits, CRC right", 3, _on_entry(_codec_bits)),
    ("magic, CRC right", 3, _on_entry(_magic)),
    ("varint, CRC right", 10, _on_entry(_records)),
    ("stored payload, CRC right", 10, _on_entry(_stored)),
    ("decompressed content, CRC right", 12, _on_entry(_inner)),
    ("compressed another way, CRC right", 8, _on_entry(_recode)),
)
KINDS = tuple(name for name, _, _ in _KINDS)
_WEIGHED = [(name, change) for name, weight, change in _KINDS for _ in range(weight)]


def mutate(dice: random.Random, data: bytes, other: bytes) -> tuple[str, bytes]:
    """`data` broken in one way, at times in two; and the name of the first."""
    name, change = dice.choice(_WEIGHED)
    made = change(dice, data, other)
    if name != "not changed" and dice.random() < 0.1:
        made = dice.choice(_WEIGHED)[1](dice, made, other)
    return name, made
