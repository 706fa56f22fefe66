"""The one error that every codec raises when its output would pass the caller's ceiling."""

from __future__ import annotations

from kodec.runtime.errors import LimitExceeded

__all__ = ["over_limit"]


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
