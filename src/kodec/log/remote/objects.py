"""The log of a segment that Aiven's plugin stored, by position and chunk by chunk, and its indexes."""

from __future__ import annotations

from collections import OrderedDict
from typing import BinaryIO

from kodec.log.remote.keys import TierKeys, decrypted
from kodec.log.remote.manifest import Chunk, Manifest
from kodec.runtime.compression import decompress
from kodec.runtime.errors import FormatError, Malformed, Truncated
from kodec.stores.context import Keys
from kodec.stores.positioned import PositionedFile

__all__ = ["TierLog", "read_index"]

_NO_KEYS = TierKeys()

# Chunks that stay decoded: up to this number of bytes, and at least one chunk.
_HELD = 8 << 20


class TierLog(PositionedFile, BinaryIO):
    """The log of a stored segment, for reading at any position; only the chunks that are read are decoded.

    Args:
        stored: the object, open for reading; it is closed with this.
        size: of the object, in bytes.
        manifest: of the segment.
        keys: where the private key is, for encrypted chunks.
        name: of the object, for errors.

    Raises: Truncated or Malformed where the object has another size than the chunks.
    """

    def __init__(
        self,
        stored: BinaryIO,
        size: int,
        manifest: Manifest,
        keys: Keys = _NO_KEYS,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._stored = stored
        self._manifest = manifest
        self._name = name
        self.size = manifest.size
        self._held: OrderedDict[int, bytes] = OrderedDict()
        self._bytes_held = 0
        if size < manifest.stored:
            raise Truncated("chunks", at=size, need=manifest.stored, have=size).in_source(name)
        if size > manifest.stored:
            raise Malformed(
                "chunks", "bytes after the last chunk", at=manifest.stored, need=manifest.stored, have=size
            ).in_source(name)
        encryption = manifest.encryption
        self._key = None if encryption is None else keys.data_key(encryption)

    def _bytes_at(self, position: int, size: int) -> bytes:
        return self._plain(position, size) if self._manifest.is_plain else self._decoded(position, size)

    def close(self) -> None:
        self._held.clear()
        self._stored.close()
        super().close()

    def _plain(self, position: int, size: int) -> bytes:
        return _exactly(self._stored, position, size, self._name)

    def _decoded(self, position: int, size: int) -> bytes:
        parts, end = [], position + size
        while position < end:
            number, start = divmod(position, self._manifest.chunk_size)
            part = self._chunk(number)[start : start + end - position]
            parts.append(part)
            position += len(part)
        return b"".join(parts) if len(parts) != 1 else parts[0]

    def _chunk(self, number: int) -> bytes:
        found = self._held.get(number)
        if found is not None:
            self._held.move_to_end(number)
            return found
        chunk = self._manifest.chunk(number)
        while self._held and self._bytes_held + chunk.log.size > _HELD:
            self._bytes_held -= len(self._held.popitem(last=False)[1])
        try:
            found = self._content(chunk)
        except FormatError as error:
            if error.source is None:
                error.at += chunk.stored.position
                error.in_source(self._name)
            raise
        self._held[number] = found
        self._bytes_held += len(found)
        return found

    def _content(self, chunk: Chunk) -> bytes:
        data = _exactly(self._stored, *chunk.stored, self._name)
        what = f"chunks[{chunk.number}]"
        if self._key is not None:
            assert self._manifest.encryption is not None
            data = decrypted(data, self._key, self._manifest.encryption.aad, what)
        if self._manifest.compressed:
            try:
                data = decompress("zstd", data, limit=chunk.log.size)
            except FormatError as error:
                raise error.within(what) from None
        if len(data) != chunk.log.size:
            raise Malformed(what, "size of its content", at=0, need=chunk.log.size, have=len(data))
        return data


def read_index(
    stored: BinaryIO, kind: str, manifest: Manifest, keys: Keys = _NO_KEYS, name: str | None = None
) -> bytes:
    """The content of one of the indexes of a segment.

    Args:
        stored: the object with the indexes, open for reading.
        kind: the end of the name of the file that held it, as `timeindex`; one of `manifest.indexes`.
        manifest: of the segment.
        keys: where the private key is, for encrypted indexes.
        name: of the object, for errors.

    Raises: Truncated where the object ends before it; Malformed where it was changed.
    """
    position, size = manifest.indexes[kind]
    data = _exactly(stored, position, size, name)
    if not data or manifest.encryption is None:
        return data
    try:
        return decrypted(data, keys.data_key(manifest.encryption), manifest.encryption.aad, kind)
    except FormatError as error:
        error.at += position
        raise error.in_source(name) from None


def _exactly(stored: BinaryIO, position: int, size: int, name: str | None) -> bytes:
    stored.seek(position)
    data = stored.read(size)
    while data and len(data) < size and (more := stored.read(size - len(data))):
        data += more
    if len(data) < size:
        raise Truncated("chunks", at=position, need=size, have=len(data)).in_source(name)
    return data
