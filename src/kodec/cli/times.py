"""Points in time on the command line."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

__all__ = ["parse_time"]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_MS = 1000
# As milliseconds, such a number is in the first months of 1970; as seconds, after 2001. A large one is
# after the year 5100 as milliseconds, and in our time as micro- or nanoseconds.
_SECONDS = range(10**9, 2 * 10**10)
_LARGE = 10**14


def parse_time(text: str) -> int:
    """A timestamp in ms since 1970-01-01 UTC.

    Accepts such a number; ISO 8601, in UTC if it has no zone; `-2h`, that is, before now, in s, m, h, d or w;
    and `now`. Raises ValueError, also for a number that only makes sense in another unit.
    """
    if re.fullmatch(r"[0-9]{1,19}", text):
        number = int(text)
        if number in _SECONDS:
            raise ValueError(f"looks like seconds: in milliseconds it is {number * _MS}")
        if number >= _LARGE:
            unit, per = ("nanoseconds", 10**6) if number >= 10**17 else ("microseconds", 10**3)
            raise ValueError(f"looks like {unit}: in milliseconds it is {number // per}")
        return number
    now = time.time_ns() // 1_000_000
    if text == "now":
        return now
    if match := re.fullmatch(r"-([0-9]{1,9})([smhdw])", text):
        return max(0, now - int(match[1]) * _UNITS[match[2]] * _MS)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        known = "a time as 2026-11-30 or 2026-11-30T17:00Z, -2h (or s, m, d, w), now, or ms since 1970"
        raise ValueError(f"expected {known}") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    milliseconds = (since.days * 86_400 + since.seconds) * _MS + since.microseconds // _MS
    if milliseconds < 0:
        raise ValueError("before 1970")
    return milliseconds
