"""The manifest of a segment that Aiven's plugin has stored: chunks, indexes, and how they were transformed.

Followed: `io.aiven.kafka.tieredstorage.manifest.SegmentManifestV1`, `ChunkIndex` and
`security.EncryptedDataKey`. A manifest is JSON, one for each segment, written last.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

from kodec.generated.tier.chunk_sizes import ChunkSizes, NoOthers
from kodec.runtime.compression import decompress
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import FormatError, Malformed, Unsupported
from kodec.runtime.foreign_json import read_json, whole_number

__all__ = [
    "CIPHER_BYTES",
    "MOST_OF_A_MANIFEST",
    "Chunk",
    "Encryption",
    "Manifest",
    "Piece",
    "StoredSegment",
    "parse_manifest",
]

MOST_OF_A_MANIFEST = 16 << 20
"""A manifest with more bytes is refused."""
CIPHER_BYTES = 12 + 16
"""What encryption adds to a chunk: the initialization vector before it, the tag of GCM after it."""
# as in the plugin
_MOST_OF_SIZES = 10 << 20
# Each leader epoch of a segment is one; sizes of chunks are in one string.
_MOST_VALUES = 100_000
_MAX_INT32, _MAX_INT64 = 2**31 - 1, 2**63 - 1
# The names in the manifest, and the ends of the names of files that hold the same in a log directory.
_INDEXES = {
    "offset": "index",
    "timestamp": "timeindex",
    "producerSnapshot": "snapshot",
    "leaderEpoch": "leader_epoch_checkpoint",
    "transaction": "txnindex",
}
T = TypeVar("T")


class Piece(NamedTuple):
    """A part of an object: its position and size, in bytes."""

    position: int
    size: int


class Chunk(NamedTuple):
    """A chunk: its number, the part of the log that it holds, and the part of the object that holds it."""

    number: int
    log: Piece
    stored: Piece


@dataclass(frozen=True, slots=True)
class Encryption:
    """How a segment was encrypted: with a data key, which an RSA key with this id has encrypted.

    Attributes:
        key_id: of the RSA key, as the plugin's configuration named it.
        data_key: the data key, encrypted.
        aad: the additional data that each tag covers.
    """

    key_id: str
    data_key: bytes
    aad: bytes


class StoredSegment(NamedTuple):
    """The segment that was copied, from its manifest.

    Attributes: `leader_epochs` are (epoch, first offset) of those in the segment; `max_timestamp` is in ms
    since 1970.
    """

    topic: str
    topic_id: str
    partition: int
    segment_id: str
    start_offset: int
    end_offset: int
    leader_epochs: tuple[tuple[int, int], ...]
    max_timestamp: int = -1


@dataclass(frozen=True, slots=True)
class Manifest:
    """How a segment is stored.

    Attributes:
        size: of the log, in bytes.
        chunk_size: the bytes of the log in each chunk but the last.
        ends: where the stored chunks end, in bytes; None where all but the last have `stored_size`.
        stored_size, last_stored: of a chunk, and of the last one, where `ends` is None.
        compressed: whether chunks are compressed with zstd.
        encryption: how chunks and indexes are encrypted; None if they are not.
        indexes: the part of the indexes' object for each kind of file; those that are missing are not in it.
        segment: what was copied; None where the manifest does not say.
    """

    size: int
    chunk_size: int
    ends: Sequence[int] | None
    stored_size: int
    last_stored: int
    compressed: bool
    encryption: Encryption | None
    indexes: Mapping[str, Piece]
    segment: StoredSegment | None

    @property
    def count(self) -> int:
        """The number of chunks."""
        return -(-self.size // self.chunk_size)

    @property
    def is_plain(self) -> bool:
        """Whether the object's bytes are those of the log."""
        return not self.compressed and self.encryption is None

    @property
    def stored(self) -> int:
        """The size of the object with the log, in bytes."""
        return (
            self.chunk(self.count - 1).stored.position + self.chunk(self.count - 1).stored.size
            if self.size
            else 0
        )

    def chunk(self, number: int) -> Chunk:
        """The chunk with a number, from 0 on."""
        position = number * self.chunk_size
        if self.ends is None:
            start = number * self.stored_size
            end = start + (self.last_stored if number == self.count - 1 else self.stored_size)
        else:
            start, end = self.ends[number - 1] if number else 0, self.ends[number]
        log = Piece(position, min(self.chunk_size, self.size - position))
        return Chunk(number, log, Piece(start, end - start))


def parse_manifest(data: bytes, source: str | None = None) -> Manifest:
    """The manifest in these bytes.

    Args:
        data: of the object.
        source: its name, for errors.

    Raises: Unsupported for a version, or a kind of chunk index, that kodec does not know; Malformed.
    """
    try:
        return _parsed(data)
    except FormatError as error:
        raise error.in_source(source) from None


def _parsed(data: bytes) -> Manifest:
    if len(data) > MOST_OF_A_MANIFEST:
        raise _wrong("", "a manifest is smaller", f"at most {MOST_OF_A_MANIFEST} bytes", "more")
    try:
        whole = read_json(data, most_values=_MOST_VALUES)
    except ValueError:
        raise _wrong("", "not JSON", "a manifest", _start(data)) from None
    if not isinstance(whole, dict):
        raise _wrong("", "not a manifest", "a JSON object", type(whole).__name__)
    version = _of(whole, "version", "", str)
    if version != "1":
        raise Unsupported("version", "kodec does not know this manifest", at=0, need="1", have=version[:40])
    compressed = _of(whole, "compression", "", bool)
    encryption = _encryption(whole.get("encryption"))
    chunks = _of(whole, "chunkIndex", "", dict)
    size, chunk_size = _number(chunks, "originalFileSize"), _number(chunks, "originalChunkSize", least=1)
    kind = _of(chunks, "type", "chunkIndex", str)
    ends, stored_size, last = None, 0, 0
    if kind == "fixed":
        stored_size, last = (
            _number(chunks, "transformedChunkSize"),
            _number(chunks, "finalTransformedChunkSize"),
        )
        if compressed:
            raise _wrong("chunkIndex.type", "compressed chunks have different sizes", "variable", kind)
    elif kind == "variable":
        ends = _ends(_of(chunks, "transformedChunks", "chunkIndex", str))
    else:
        raise Unsupported(
            "chunkIndex.type", "kodec does not know it", at=0, need="fixed or variable", have=kind[:40]
        )
    indexes = _indexes(_of(whole, "segmentIndexes", "", dict), encryption is not None)
    segment = _segment(whole.get("remoteLogSegmentMetadata"))
    manifest = Manifest(size, chunk_size, ends, stored_size, last, compressed, encryption, indexes, segment)
    _check_sizes(manifest)
    return manifest


def _check_sizes(manifest: Manifest) -> None:
    """Whether the chunks can hold the log: what is read and allocated later follows from these."""
    ends, count = manifest.ends, manifest.count
    if ends is not None and len(ends) != count and (count, len(ends)) != (0, 1):
        raise _wrong("chunkIndex.transformedChunks", "number of chunks", count, len(ends))
    # All but the last of a fixed index are alike.
    numbers = range(count) if ends is not None else sorted({0, max(count - 2, 0), count - 1} if count else ())
    around = CIPHER_BYTES if manifest.encryption is not None else 0
    for number in numbers:
        chunk = manifest.chunk(number)
        content = chunk.stored.size - around
        if not manifest.compressed:
            fits, need = content == chunk.log.size, str(chunk.log.size + around)
        else:
            # what zstd needs at most for bytes that it cannot compress
            most = chunk.log.size + chunk.log.size // 128 + 512
            fits, need = 0 < content <= most, f"{around + 1} to {most + around}"
        if not fits:
            location = f"chunkIndex.chunks[{number}]"
            raise _wrong(location, "size of a stored chunk", f"{need} bytes", chunk.stored.size)


def _ends(text: str) -> list[int]:
    path = "chunkIndex.transformedChunks"
    data = _base64(text, path)
    try:
        sizes = ChunkSizes.from_bytes(decompress("zstd", data, limit=_MOST_OF_SIZES))
    except FormatError as error:
        raise error.within(path) from None
    others = sizes.others
    if isinstance(others, NoOthers):
        return [sizes.base]
    sizes_of_others = (sizes.base + int.from_bytes(difference, "big") for difference in others.differences)
    ends = list(accumulate([*sizes_of_others, others.last]))
    if ends[-1] > 2 * _MAX_INT32:
        raise _wrong(path, "larger than a segment can be", f"at most {2 * _MAX_INT32} bytes", ends[-1])
    return ends


def _indexes(fields: dict[str, Any], encrypted: bool) -> dict[str, Piece]:
    pieces = {}
    for name, kind in _INDEXES.items():
        value = fields.get(name)
        path = f"segmentIndexes.{name}"
        if value is None:
            if name == "transaction" and name in fields:
                continue
            raise _wrong(path, "missing", "a position and a size", "nothing")
        if not isinstance(value, dict):
            raise _wrong(path, "not a part of the indexes", "a position and a size", type(value).__name__)
        piece = Piece(_number(value, "position", path), _number(value, "size", path))
        if encrypted and 0 < piece.size < CIPHER_BYTES:
            raise _wrong(path, "size of an encrypted index", f"at least {CIPHER_BYTES}", piece.size)
        pieces[kind] = piece
    return pieces


def _encryption(value: object) -> Encryption | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise _wrong("encryption", "not how a segment is encrypted", "dataKey and aad", type(value).__name__)
    key_id, colon, text = _of(value, "dataKey", "encryption", str).partition(":")
    if not colon or not key_id.strip() or ":" in text:
        raise _wrong(
            "encryption.dataKey", "not an encrypted key", "<id of the RSA key>:<base64>", "other text"
        )
    data_key = _base64(text, "encryption.dataKey")
    if not data_key:
        raise _wrong("encryption.dataKey", "not an encrypted key", "at least 1 byte", 0)
    return Encryption(key_id, data_key, _base64(_of(value, "aad", "encryption", str), "encryption.aad"))


def _segment(value: object) -> StoredSegment | None:
    """What was copied. The plugin does not read it again, so it may be missing."""
    if value is None:
        return None
    try:
        segment_id = value["remoteLogSegmentId"]  # type: ignore[index]
        owner = segment_id["topicIdPartition"]
        epochs = value["segmentLeaderEpochs"]  # type: ignore[index]
        return StoredSegment(
            _text(owner["topicPartition"]["topic"]),
            _text(owner["topicId"]),
            whole_number(owner["topicPartition"]["partition"], 0, _MAX_INT32),
            _text(segment_id["id"]),
            whole_number(value["startOffset"], 0, _MAX_INT64),  # type: ignore[index]
            whole_number(value["endOffset"], 0, _MAX_INT64),  # type: ignore[index]
            tuple(
                sorted((_epoch(epoch), whole_number(start, 0, _MAX_INT64)) for epoch, start in epochs.items())
            ),
            whole_number(value.get("maxTimestampMs", -1), -1, _MAX_INT64),  # type: ignore[attr-defined]
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _wrong(
            "remoteLogSegmentMetadata", "not that of a segment", "ids, offsets and epochs", "other"
        ) from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.100} is no text")
    return value


def _epoch(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 10:
        raise ValueError(f"{text!r:.100} is no epoch")
    return int(text)


def _of(fields: dict[str, Any], name: str, path: str, kind: type[T]) -> T:
    value = fields.get(name)
    if not isinstance(value, kind):
        have = "nothing" if value is None else type(value).__name__
        raise _wrong(f"{path}.{name}" if path else name, "", kind.__name__, have)
    return value


def _number(fields: dict[str, Any], name: str, path: str = "chunkIndex", *, least: int = 0) -> int:
    value = fields.get(name)
    if type(value) is not int or not least <= value <= _MAX_INT32:
        have = value if type(value) is int else "nothing" if value is None else type(value).__name__
        raise _wrong(f"{path}.{name}", "", f"{least} to {_MAX_INT32}", have)
    return value


def _base64(text: str, path: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _wrong(path, "not base64", "base64", "other text") from None


def _wrong(path: str, reason: str, need: object, have: object) -> Malformed:
    return Malformed(path or "manifest", reason, at=0, need=need, have=have)


def _start(data: bytes) -> str:
    return f"{data[:20]!r}"
