"""Known failures of an implementation: a committed file with reasons.

{"known": [{"vectors": "record_batch/*", "check": "encode", "reason": "no zstd in this language"}]}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kodec.conformance.run import Result

__all__ = ["Known", "read_known"]


@dataclass(frozen=True, slots=True)
class Entry:
    """Vectors by a pattern of their ids, of one check or all, and why they fail."""

    vectors: str
    reason: str
    check: str | None = None

    def matches(self, result: Result) -> bool:
        return self.check in (None, result.check) and fnmatchcase(result.vector.id, self.vectors)


@dataclass(frozen=True, slots=True)
class Known:
    """The entries of a file."""

    entries: tuple[Entry, ...]

    def judged(self, result: Result) -> Result:
        """The result, as a known one where it failed and an entry says so."""
        if result.outcome in ("passed", "unsupported"):
            return result
        entry = next((each for each in self.entries if each.matches(result)), None)
        return result if entry is None else replace(result, outcome="known", text=entry.reason)

    def unexpected(self, results: Iterable[Result]) -> Iterator[str]:
        """The entries of which nothing failed: what they say holds no more."""
        failed = [each for each in results if each.outcome == "known"]
        for entry in self.entries:
            if not any(map(entry.matches, failed)):
                check = "" if entry.check is None else f" ({entry.check})"
                yield f"{entry.vectors}{check}: known to fail ({entry.reason}), and it passes"


def read_known(path: Path) -> Known:
    """The file's entries. Raises ValueError for one of another form; OSError."""
    try:
        entries = json.loads(path.read_text("utf-8"))["known"]
        return Known(tuple(Entry(**each) for each in entries))
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no file of known failures: {error}") from None
