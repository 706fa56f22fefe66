"""How a `with` block leaves a writer: closed at its end, abandoned by an exception."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

__all__ = ["ClosedAtEnd"]


class ClosedAtEnd(ABC):
    """A writer that is closed at the end of its `with` block, and abandoned if that raises."""

    @abstractmethod
    def close(self) -> None:
        """Complete what was written. May be called again."""

    @abstractmethod
    def abandon(self) -> None:
        """Release files and locks as a crash does: nothing more is written. May be called again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()
