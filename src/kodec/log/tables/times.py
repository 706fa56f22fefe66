"""Times passed by callers: datetimes with a zone, or milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from kodec.runtime.errors import ArgumentError

__all__ = ["TimeBounds", "time_bounds"]

Time: TypeAlias = datetime | int | None
TimeBounds: TypeAlias = tuple[Time, Time]
"""The first and the last time: datetimes with a zone or ms since 1970; None: unbounded."""

_START = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def time_bounds(given: TimeBounds | None) -> tuple[int | None, int | None] | None:
    """The same in whole ms since 1970-01-01 UTC, both still included. Raises ArgumentError."""
    if not isinstance(given, tuple) or not any(isinstance(each, datetime) for each in given):
        return given  # type: ignore[return-value]  # what is not a number is refused as a range
    if len(given) != 2:
        raise ArgumentError(f"timestamps={given!r}: expected (first, last), times or None")
    first, last = given
    # a record has whole milliseconds: the first one after a time, the last one before
    return (
        -(-_since_start(first) // _MILLISECOND) if isinstance(first, datetime) else first,
        _since_start(last) // _MILLISECOND if isinstance(last, datetime) else last,
    )


def _since_start(time: datetime) -> timedelta:
    if time.utcoffset() is None:
        raise ArgumentError(
            f"timestamps: {time.isoformat(' ')} has no zone, so it is ambiguous: give one, as in "
            "datetime(2024, 1, 31, tzinfo=timezone.utc)"
        )
    return time - _START
