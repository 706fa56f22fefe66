"""The differences between kodec and Kafka's own classes that are meant: name, reason and what tells each."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import zstandard
from compare import Difference
from judge import END, HEAD, REFUSED, ROWS, STOPPED, pack_rows, unpack_rows
from mutate import entries

from kodec.runtime.compression import decompress
from kodec.runtime.errors import FormatError, Malformed, Truncated, Unsupported

__all__ = ["RULES", "Rule", "explain", "render"]

_BASE_SEQUENCE, _LAST_SEQUENCE, _NEXT_OFFSET, _LAST_OFFSET = 11, 12, 5, 4
_NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
HEADING = "## Found by differential testing"


@dataclass(frozen=True, slots=True)
class Rule:
    """One meant difference.

    Attributes:
        name: what reports call it.
        kafka, kodec: what each does.
        reason: why kodec does not do the same.
        explains: whether a difference is this one.
    """

    name: str
    kafka: str
    kodec: str
    reason: str
    explains: Callable[[Difference], bool]


# -- the bytes of one entry, read apart from kodec's reader -------------------------------------------


def _magic(difference: Difference) -> int:
    entry = difference.entry
    return entry[16] if len(entry) > 16 else -1


def _first(difference: Difference) -> bytes:
    """The first entry from where the two part, by its own length."""
    entry = difference.entry
    return entry[: 12 + int.from_bytes(entry[8:12], "big", signed=True)]


def _value(message: bytes) -> tuple[int, int]:
    """Where the value of a message of magic 0 or 1 starts and ends; (0, 0) where it does not fit."""
    at = 18 if message[16] == 0 else 26
    try:
        (key,) = struct.unpack_from(">i", message, at)
        at += 4 + max(0, key)
        (size,) = struct.unpack_from(">i", message, at)
    except struct.error:
        return 0, 0
    return at + 4, at + 4 + max(0, size)


def _stored(difference: Difference) -> tuple[str, bytes]:
    """The codec and the stored payload of the first entry; `none` where it has none."""
    entry, magic = _first(difference), _magic(difference)
    if magic == 2 and len(entry) >= 61:
        code, payload = entry[22] & 7, entry[61:]
    elif magic in (0, 1) and len(entry) > 26:
        start, end = _value(entry)
        code, payload = entry[17] & 7, entry[start:end]
    else:
        return "none", b""
    name = _NAMES[code] if code < len(_NAMES) else "none"
    return ("lz4_legacy" if name == "lz4" and magic == 0 else name), payload


def _inner(difference: Difference) -> bytes:
    """What a wrapper holds; empty for all else."""
    name, payload = _stored(difference)
    if name == "none" or _magic(difference) not in (0, 1):
        return b""
    try:
        return decompress(name, payload, limit=32 << 20)
    except FormatError:
        return b""


def _messages(data: bytes) -> list[bytes]:
    """Messages one after another, cut by their lengths alone."""
    found: list[bytes] = []
    at = 0
    while at + 17 <= len(data):
        size = 12 + int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
        if size < 26 or at + size > len(data):
            break
        found.append(data[at : at + size])
        at += size
    return found


def _refused(difference: Difference) -> bool:
    return difference.kafka.kind == ROWS and difference.kodec.kind in (REFUSED, STOPPED)


# -- the rules ------------------------------------------------------------------------------------------


def _left_over(message: bytes) -> bool:
    _, end = _value(message)
    return 0 < end < len(message)


def _bytes_after_message(difference: Difference) -> bool:
    if not _refused(difference) or _magic(difference) not in (0, 1):
        return False
    return _left_over(_first(difference)) or any(map(_left_over, _messages(_inner(difference))))


def _entry_after_damage(difference: Difference) -> bool:
    error = difference.kodec.error
    ends = difference.kafka.kind == END or "newLimit" in difference.kafka.error
    beyond = (
        len(_first(difference))
        == len(difference.entry)
        < 12 + struct.unpack_from(">i", difference.entry.ljust(12, b"\0"), 8)[0]
    )
    return (
        ends
        and beyond
        and isinstance(error, Truncated)
        and error.path == "batch"
        and (any(entries(difference.entry[at:]) for at in range(1, len(difference.entry) - 16)))
    )


def _torn(difference: Difference) -> bool:
    return difference.kafka.kind == STOPPED and difference.kodec.kind == END


def _zeros_at_the_end(difference: Difference) -> bool:
    return _torn(difference) and not any(difference.entry)


def _short_tail(difference: Difference) -> bool:
    return _torn(difference) and 12 <= len(difference.entry) < 17


def _length_overflows(difference: Difference) -> bool:
    length = int.from_bytes(difference.entry[8:12], "big", signed=True)
    return _torn(difference) and length > 2**31 - 1 - 12 and "newLimit" in difference.kafka.error


def _empty_batch_with_bytes(difference: Difference) -> bool:
    entry = _first(difference)
    if not _refused(difference) or len(entry) <= 61 or _magic(difference) != 2:
        return False
    return entry[57:61] == bytes(4)


def _whole(difference: Difference) -> tuple[list[int], bytes] | None:
    """kodec's header and rows with numbers wrapped to 64 bits as Java does; None if there are none."""
    batch = difference.kodec.batch
    if difference.kafka.kind != ROWS or difference.kodec.kind != ROWS or batch is None:
        return None
    rows = batch.records(control=True, check_crc=difference.question.checked)
    wrapped = [replace(row, offset=_int64(row.offset), timestamp=_int64(row.timestamp)) for row in rows]
    head = list(HEAD.unpack(difference.kafka.head))
    head[_LAST_OFFSET], head[_NEXT_OFFSET] = _int64(batch.last_offset), _int64(batch.next_offset)
    return head, pack_rows(wrapped)


def _int64(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def _wraps(difference: Difference) -> bool:
    whole = _whole(difference)
    if whole is None or not isinstance(difference.kodec.error, struct.error):
        return False
    return HEAD.pack(*whole[0]) == difference.kafka.head and whole[1] == difference.kafka.rows


def _senseless_sequence(difference: Difference) -> bool:
    theirs, ours = difference.kafka, difference.kodec
    if theirs.kind != ROWS or ours.kind != ROWS or theirs.rows != ours.rows or len(ours.head) != HEAD.size:
        return False
    left, right = list(HEAD.unpack(theirs.head)), list(HEAD.unpack(ours.head))
    delta = int.from_bytes(difference.entry[23:27], "big", signed=True)
    same = (
        left[:_LAST_SEQUENCE] + left[_LAST_SEQUENCE + 1 :]
        == right[:_LAST_SEQUENCE] + right[_LAST_SEQUENCE + 1 :]
    )
    return same and (left[_BASE_SEQUENCE] < -1 or delta < 0)


def _inner_magic(difference: Difference) -> bool:
    return _refused(difference) and any(
        message[16] not in (0, 1) for message in _messages(_inner(difference))
    )


def _lz4_blocks(payload: bytes) -> list[bytes]:
    """The stored blocks of an LZ4 frame, each with its size word."""
    if len(payload) < 7:
        return []
    at = 15 if payload[4] & 8 else 7
    checksum = 4 if payload[4] & 16 else 0
    found: list[bytes] = []
    while at + 4 <= len(payload):
        size = int.from_bytes(payload[at : at + 4], "little") & 0x7FFF_FFFF
        if not size:
            break
        found.append(payload[at : at + 4 + size])
        at += 4 + size + checksum
    return found


def _is_empty(block: bytes) -> bool:
    # one token that announces no literals, whatever match it announces
    return len(block) == 5 and not block[3] & 0x80 and block[4] < 16


def _empty_lz4_block(difference: Difference) -> bool:
    name, payload = _stored(difference)
    if not name.startswith("lz4") or difference.kafka.kind not in (ROWS, REFUSED):
        return False
    # what is after the block may be anything, so kodec may refuse what Kafka has stopped reading
    found = difference.kodec.kind == ROWS or "lz4: " in str(difference.kodec.error)
    return found and any(map(_is_empty, _lz4_blocks(payload)))


def _zstd_reader() -> zstandard.ZstdDecompressionObj:
    # by 16 KiB as Kafka does: what the library verifies depends on the room that it is given
    return zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj(write_size=16 << 10)


def _zstd_later_frame(difference: Difference) -> bool:
    name, payload = _stored(difference)
    if name != "zstd" or not _refused(difference) or "zstd: " not in str(difference.kodec.error):
        return False
    rest, frames = payload, 0
    while rest:
        reader = _zstd_reader()
        try:
            reader.decompress(rest)
        except zstandard.ZstdError:
            return False
        if not reader.eof:
            return frames > 0
        rest, frames = reader.unused_data, frames + 1
    return False


def _cut_inside(difference: Difference) -> bool:
    """A message inside a wrapper that claims more than there is."""
    inner = _inner(difference)
    return _refused(difference) and sum(map(len, _messages(inner))) < len(inner)


def _later_kraft_version(difference: Difference) -> bool:
    theirs, ours = difference.kafka, difference.kodec
    if ours.batch is None or not ours.batch.is_control:
        return False
    if theirs.kind == REFUSED and ours.kind == ROWS:
        rows = unpack_rows(ours.rows)
    elif _refused(difference) and ".value." in str(ours.error):
        rows = unpack_rows(theirs.rows)
    else:
        return False
    return any(kind >= 2 and value is not None and value[:2] != bytes(2) for _, _, _, kind, _, value in rows)


def _magic_in_file(difference: Difference) -> bool:
    magic = _magic(difference)
    error = difference.kodec.error
    return (
        difference.question.from_file
        and magic not in (0, 1, 2)
        and isinstance(error, Unsupported | Malformed)
    )


def _end_of_file(difference: Difference) -> bool:
    return (
        difference.question.from_file
        and difference.kafka.kind == END
        and difference.kodec.kind == STOPPED
        and len(difference.entry) == 17
    )


def _zstd_content_size(difference: Difference) -> bool:
    name, payload = _stored(difference)
    if name != "zstd" or not _refused(difference) or "zstd: " not in str(difference.kodec.error):
        return False
    rest = payload
    while rest:
        reader = _zstd_reader()
        try:
            content = reader.decompress(rest)
            stated = zstandard.get_frame_parameters(rest).content_size
        except zstandard.ZstdError:
            return False
        if stated not in (zstandard.CONTENTSIZE_UNKNOWN, len(content)):
            return reader.eof
        rest = reader.unused_data
    return False


def _snappy_header(difference: Difference) -> bool:
    name, payload = _stored(difference)
    if name != "snappy" or not _refused(difference) or not payload.startswith(b"\x82SNAPPY\x00"):
        return False
    at = 16
    while at + 16 <= len(payload):
        if payload[at : at + 4] == b"\x82SNA":
            if payload[at : at + 8] != b"\x82SNAPPY\x00":
                return True
            at += 16
        else:
            at += 4 + int.from_bytes(payload[at : at + 4], "big")
    return False


def _gzip_short_rest(difference: Difference) -> bool:
    name, payload = _stored(difference)
    if name != "gzip" or not _refused(difference) or "gzip: " not in str(difference.kodec.error):
        return False
    rest = payload
    while rest:
        if len(rest) <= 18 and rest is not payload:
            return rest.startswith(b"\x1f\x8b\x08")
        reader = zlib.decompressobj(31)
        try:
            reader.decompress(rest)
        except zlib.error:
            return False
        if not reader.eof:
            return False
        rest = reader.unused_data
    return False


RULES = (
    Rule(
        "bytes after a message",
        "ignores bytes of a v0 or v1 message after its value",
        "refuses the message",
        "no writer produces such bytes; a damaged length, or an unknown format, would go unnoticed",
        _bytes_after_message,
    ),
    Rule(
        "entries after a broken length",
        "ends silently at a batch that is longer than the remaining bytes",
        "raises `Truncated` if a later batch shows that the length is wrong",
        "the length was damaged: ending there would lose records silently",
        _entry_after_damage,
    ),
    Rule(
        "zeros at the end",
        "raises `CorruptRecordException` at zeros after the last batch",
        "ends, and reports it in `torn_tail`",
        "a preallocated segment ends in zeros; Kafka's recovery cuts them off before it reads",
        _zeros_at_the_end,
    ),
    Rule(
        "12 to 16 bytes at the end",
        "reads the length in them, and raises an error if it is too small",
        "ends, and reports it in `torn_tail`",
        "a remainder shorter than the start of a batch is a torn tail, whatever it contains",
        _short_tail,
    ),
    Rule(
        "a length near 2^31",
        "overflows, and raises `IllegalArgumentException`",
        "ends, and reports it in `torn_tail`",
        "like any batch that is longer than the remaining bytes",
        _length_overflows,
    ),
    Rule(
        "an empty batch with bytes",
        "does not read past the header of a batch with a record count of 0",
        "refuses the batch",
        "Kafka writes an empty batch of 61 bytes; more bytes mean records that the count hides",
        _empty_batch_with_bytes,
    ),
    Rule(
        "numbers past 64 bits",
        "wraps around to a negative number",
        "returns the true sum",
        "offsets and timestamps above 2^63 - 1 exist only in damaged or fabricated batches",
        _wraps,
    ),
    Rule(
        "an invalid sequence",
        "computes a last sequence from a base below -1, or from a negative last offset delta",
        "returns -1 in the first case, the plain sum in the second",
        "neither occurs in a log; `last_sequence` has no meaning there",
        _senseless_sequence,
    ),
    Rule(
        "an inner message of unknown magic",
        "reads it as magic 1",
        "refuses the wrapper",
        "there is no such format, so its fields would be guesses",
        _inner_magic,
    ),
    Rule(
        "an empty LZ4 block",
        "treats it as the end of the data, and sometimes continues after it with a wrong byte",
        "continues to read",
        "the LZ4 format allows it, no Kafka client writes it, and Kafka's result is wrong there",
        _empty_lz4_block,
    ),
    Rule(
        "a later zstd frame that is cut short",
        "treats an incomplete frame after the first one as the end of the data",
        "refuses the batch",
        "zstd-jni loses the state that it is inside a frame; truncated data should not pass",
        _zstd_later_frame,
    ),
    Rule(
        "a zstd content size that is wrong",
        "does not compare it with the content if the last block is empty",
        "refuses the batch",
        "the frame contradicts itself, and the size limits the memory",
        _zstd_content_size,
    ),
    Rule(
        "a repeated snappy header that is wrong",
        "treats it as the end of the data if its first 4 bytes are correct and the next 4 are not",
        "refuses the batch",
        "the data after it would be lost silently",
        _snappy_header,
    ),
    Rule(
        "a short rest after a gzip member",
        "on Java 17, ignores up to 18 bytes after a member, even the start of another member",
        "refuses another member that is cut short",
        "truncated data should not pass",
        _gzip_short_rest,
    ),
    Rule(
        "an inner message that is cut short",
        "drops a partial message at the end of a wrapper; in v1 every remaining offset is then one too high",
        "refuses the wrapper",
        "its checksum is correct, so it was written so: a record is missing, and the offsets are wrong",
        _cut_inside,
    ),
    Rule(
        "a later version of a KRaft control record",
        "reads its body as version 0, which may fail",
        "reads it as its stated version; for an unknown version, returns the type and no `data`",
        "the version in the value means that the body is different",
        _later_kraft_version,
    ),
    Rule(
        "unknown magic in a file",
        "`FileRecords` does not check the magic: it reads 3 and above as v2, below 0 as v1",
        "refuses it, as `MemoryRecords` does",
        "there is no such format",
        _magic_in_file,
    ),
    Rule(
        "17 bytes at the end of a file",
        "`FileRecords` ends if 17 or fewer bytes remain",
        "reads them as `MemoryRecords` does",
        "the same rule for bytes from any source",
        _end_of_file,
    ),
)
"""Every meant difference, in the order in which they are tried."""


def render() -> str:
    """The section of docs/differences.md that this table makes."""
    lines = [
        HEADING,
        "",
        "`MemoryRecords` and `FileRecords` of kafka-clients 3.9.2 and kodec return the same rows for",
        "millions of valid and broken inputs, or both refuse them, except in these cases",
        "(`tests/labs/differential/known.py`; `run.py --inputs 1000000 --jobs 2` compares more).",
        "",
        "| difference | Kafka | kodec |",
        "|---|---|---|",
    ]
    lines += [f"| {rule.name} | {rule.kafka} | {rule.kodec} |" for rule in RULES]
    return "\n".join(lines) + "\n"


def explain(difference: Difference) -> Rule | None:
    """The rule that explains the difference; None if there is none."""
    for rule in RULES:
        if rule.explains(difference):
            return rule
    return None
