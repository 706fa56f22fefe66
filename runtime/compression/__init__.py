"""Compress and decompress record data as Kafka's Java code does, with a ceiling on the output.

One file per codec. Names: ``none``, ``gzip``, ``snappy``, ``lz4``, ``zstd``, and ``lz4_legacy``:
the LZ4 frames inside messages of magic 0, whose header checksum is wrong (KIP-57).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kodec.runtime.compression import gzip, lz4, snappy, zstd
from kodec.runtime.compression.bounds import over_limit
from kodec.runtime.errors import EncodeError, Truncated, Unsupported

__all__ = ["CODECS", "Codec", "compress", "decompress"]


@dataclass(frozen=True, slots=True)
class Codec:
    """One way to compress.

    Attributes:
        name: what `compress` and `decompress` call it.
        levels: the levels that may be asked for, as ranges; empty if the codec has none.
        default_level: the level that stands for None; None if the codec has none.
    """

    name: str
    levels: tuple[range, ...]
    default_level: int | None
    _decompress: Callable[[bytes | memoryview, int], bytes]
    _compress: Callable[[bytes | memoryview, int], bytes]


def _copy_within_limit(data: bytes | memoryview, limit: int) -> bytes:
    if len(data) > limit:
        raise over_limit("none", need=len(data), limit=limit)
    return bytes(data)


_GZIP_LEVELS = (range(-1, 0), range(1, 10))
_LZ4_LEVELS = (range(1, 18),)
_ZSTD_LEVELS = (range(-131072, 23),)

CODECS: Mapping[str, Codec] = MappingProxyType(
    {
        codec.name: codec
        for codec in (
            Codec("none", (), None, _copy_within_limit, lambda data, _: bytes(data)),
            Codec("gzip", _GZIP_LEVELS, -1, gzip.decompress, gzip.compress),
            Codec("snappy", (), None, snappy.decompress, lambda data, _: snappy.compress(data)),
            Codec("lz4", _LZ4_LEVELS, 9, lz4.decompress, lz4.compress),
            Codec("lz4_legacy", _LZ4_LEVELS, 9, lz4.decompress_legacy, lz4.compress_legacy),
            Codec("zstd", _ZSTD_LEVELS, 3, zstd.decompress, zstd.compress),
        )
    }
)
"""Every codec by name, with its levels: those of KIP-390 (Kafka 3.8)."""


def decompress(codec: str, data: bytes | memoryview, *, limit: int) -> bytes:
    """Decompress `data`, the whole compressed part of one batch or wrapper message.

    Args: `codec` is a name in `CODECS`; `limit` is the largest output to give, in bytes.
    Returns: at most `limit` bytes. What follows the part that Kafka's reader reads is ignored as
    there: junk after a gzip member, 1 to 3 bytes after snappy chunks, all after the LZ4 end mark.
    Memory: never more than twice the output, and never more than `limit` plus a few MiB before an
    output over the limit is refused (plus a zstd window, at most 128 MiB and touched only as far
    as output was made).
    Raises: `LimitExceeded` (option ``decompressed_bytes``); `Truncated`, `Malformed` or
    `Unsupported` for bytes that Kafka's reader refuses too, among them an empty payload, and for
    an unknown codec. Their `path` is empty, `at` counts in `data`.
    Threads: safe to call from several at once.
    Source: the classes in ``org.apache.kafka.common.compress``; each file here names its own.
    """
    entry = CODECS.get(codec)
    if entry is None:
        raise Unsupported("", "unknown codec", at=0, need=" or ".join(CODECS), have=repr(codec))
    if not len(data) and codec != "none":
        raise Truncated("", f"{codec}: the payload is empty", at=0, need=1, have=0)
    return entry._decompress(data, limit)


def compress(codec: str, data: bytes | memoryview, *, level: int | None = None) -> bytes:
    """Compress `data` in the form that Kafka's Java producer writes.

    Args: `codec` is a name in `CODECS`; `level` is one of its levels, None for Kafka's default.
    Raises: `EncodeError` for an unknown codec (path ``compression``), for a level outside the
    codec's ranges or given to a codec that has none (path ``level``).
    Threads: safe to call from several at once.
    """
    entry = CODECS.get(codec)
    if entry is None:
        raise EncodeError("compression", "unknown codec", need=" or ".join(CODECS), have=codec)
    if level is None:
        level = entry.default_level or 0
    elif not entry.levels:
        raise EncodeError("level", f"{codec} has no levels", need=None, have=level)
    elif not any(level in levels for levels in entry.levels):
        ranges = " or ".join(f"{r[0]}..{r[-1]}" if len(r) > 1 else str(r[0]) for r in entry.levels)
        raise EncodeError("level", f"out of range for {codec}", need=ranges, have=level)
    return entry._compress(data, level)
