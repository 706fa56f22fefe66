"""What a path brings along: private keys, settings of stores, and a collector of notes.

It goes with the path to other processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from kodec.runtime.dataclass import dataclass, field
from kodec.runtime.logger import logger

__all__ = ["DEFAULT", "Context", "Keys", "Notes", "S3Settings"]

S3Settings: TypeAlias = Callable[[str], Mapping[str, str | bool]]
"""A function that gives settings of a bucket, with the names of `obstore.store.S3Config`; it has a hash."""


class Keys(Protocol):
    """Private keys that open encrypted segments; they have a hash."""

    def data_key(self, encryption: Any) -> bytes:
        """The key of a segment's chunks. Raises what `kodec.log.remote.keys.TierKeys.data_key` does."""


class Notes:
    """What answers from remote storage, and from directories of other systems, depend on: lines of text.

    Each is logged the first time. Another process logs its own.

    Example: see `Context`.
    """

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}

    def add(self, text: str) -> None:
        """Note a line.

        Args:
            text: the line.
        """
        if text not in self._lines:
            self._lines[text] = None
            logger().info("%s", text)

    def replace(self, old: str, text: str) -> None:
        """Note a line in place of an earlier one.

        Args:
            old: the earlier line. text: the line.
        """
        self._lines.pop(old, None)
        self.add(text)

    def take(self) -> list[str]:
        """The lines since this was last called."""
        lines = list(self._lines)
        self._lines.clear()
        return lines

    def __reduce__(self) -> tuple[Any, ...]:
        return _logged, ()


_LOGGED = Notes()


def _logged() -> Notes:
    return _LOGGED


@dataclass(frozen=True, slots=True)
class Context:
    """What is brought along where paths are opened: see `kodec.open_location`.

    Args:
        keys: open encrypted segments in remote storage; None: those that the environment names.
        s3: settings of buckets of S3; what they do not say, the environment does.
        notes: takes what answers depend on; by default it is only logged.

    Example:
        >>> import kodec
        >>> notes = kodec.Notes()
        >>> logs = kodec.open_location("/data/tiered/tier", kodec.Context(notes=notes))
        >>> len(list(kodec.read_records(logs))), notes.take()[0][:49]
        (164, 'the objects in remote storage show which segments')
    """

    keys: Keys | None = None
    s3: S3Settings | None = field(default=None, repr=False)
    notes: Notes = field(default=_LOGGED, repr=False)


DEFAULT = Context()
