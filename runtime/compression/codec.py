"""What a codec is, how its output is joined, and the one error for output above the caller's ceiling."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from io import BytesIO

from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import LimitExceeded

__all__ = ["Codec", "joined", "over_limit"]

_FEW = 1 << 20


@dataclass(frozen=True, slots=True)
class Codec:
    """One way to compress. `kodec.register_codec` adds one.

    Attributes:
        name: what `compress` and `decompress` call it: as in the schema's enum, but for variants of one
            that a `-codec` names.
        decompress: from what is compressed and the largest output, in bytes, to the output. It allocates no
            more than a few times that, whatever the bytes say, and raises FormatError.
        compress: from bytes and a level to what is compressed.
        pieces: the same output as an iterator of pieces of a few MiB, so that it can be measured before it is
            held; None if the codec can only decompress at once.
        most: an upper bound of the output's size from the headers alone; None if these do not say it.
        expansion: the most bytes that one compressed byte can become; None if that is unknown.
        levels: the levels that may be asked for, as ranges; empty if the codec has none.
        default_level: the level that stands for None; None if the codec has none.

    Example: see `register_codec`.
    """

    name: str
    decompress: Callable[[bytes | memoryview, int], bytes]
    compress: Callable[[bytes | memoryview, int], bytes]
    levels: tuple[range, ...] = ()
    default_level: int | None = None
    pieces: Callable[[bytes | memoryview, int], Iterator[bytes]] | None = None
    most: Callable[[bytes | memoryview], int] | None = None
    expansion: int | None = None


def joined(pieces: Iterable[bytes]) -> bytes:
    """One `bytes` of all pieces. `b"".join` would hold each byte twice, so it is for a few of them."""
    left = iter(pieces)
    held, total = [], 0
    for piece in left:
        held.append(piece)
        total += len(piece)
        if total > _FEW:
            break
    else:
        return b"".join(held)
    out = BytesIO()
    out.writelines(held)
    held.clear()
    del piece
    out.writelines(left)  # holds none of them
    return out.getvalue()


def over_limit(codec: str, *, limit: int, need: int | None = None, at: int = 0) -> LimitExceeded:
    """Make the error: `need` is the size that the bytes promise; None if only known to be over `limit`."""
    return LimitExceeded(
        "",
        f"{codec}: too many decompressed bytes",
        at=at,
        need=limit + 1 if need is None else need,
        have=limit,
        limit="decompressed_bytes",
    )
