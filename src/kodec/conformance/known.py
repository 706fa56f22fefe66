"""Known failures of an implementation: a committed file with reasons.

{"known": [{"vectors": "record_batch/*", "check": "encode", "reason": "no zstd in this language"}]}

`check` and `text`, a pattern of the failure, narrow an entry.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from kodec.conformance.result import Result

__all__ = ["Known", "read_known"]


@dataclass(frozen=True, slots=True)
class Entry:
    """Vectors by a pattern of their ids, of one check or all, the failure by a pattern, and the reason."""

    vectors: str
    reason: str
    check: str | None = None
    text: str = "*"

    def matches(self, result: Result) -> bool:
        return (
            result.outcome not in ("passed", "unsupported")
            and self.check in (None, result.check)
            and fnmatchcase(result.vector.id, self.vectors)
            and fnmatchcase(result.text, self.text)
        )


@dataclass(frozen=True, slots=True)
class Known:
    """The entries of files."""

    entries: tuple[Entry, ...] = ()

    def judged(self, result: Result) -> Result:
        """The result, marked as known if it failed and an entry matches."""
        entry = next((candidate for candidate in self.entries if candidate.matches(result)), None)
        return result if entry is None else replace(result, outcome="known", text=entry.reason)

    def unexpected(self, results: Iterable[Result]) -> Iterator[str]:
        """The entries without a failure in results before `judged`: they are out of date."""
        all_results = list(results)
        for entry in self.entries:
            if not any(map(entry.matches, all_results)):
                check = "" if entry.check is None else f" ({entry.check})"
                yield f"{entry.vectors}{check}: known to fail ({entry.reason}), and it passes"


def read_known(*paths: Path) -> Known:
    """The files' entries. Raises ValueError for one of another form; OSError."""
    return Known(tuple(entry for path in paths for entry in _entries(path)))


def _entries(path: Path) -> Iterator[Entry]:
    try:
        for entry in json.loads(path.read_text("utf-8"))["known"]:
            yield Entry(**entry)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} is not a file of known failures: {error}") from None
