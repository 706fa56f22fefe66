"""The findings of a verification."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kodec.log.directories.epochs import EpochRuns
from kodec.log.files.checkpoints import LeaderEpoch
from kodec.runtime.dataclass import dataclass
from kodec.runtime.errors import FormatError, ReadFailed

__all__ = ["Problem", "from_error", "of_epochs", "unreadable"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: the file, the byte, what it is, what was needed and what was found.

    A `note` is not a problem, but worth knowing.

    Attributes:
        path, at: the file, and the byte in it; None where it is not about one byte.
        what: what is wrong.
        need, have: what was needed, and what is there.
        note: whether it is only worth knowing.

    Example: see `verify`.
    """

    path: Path
    at: int
    what: str
    need: object
    have: object
    note: bool = False

    def __str__(self) -> str:
        kind = "note: " if self.note else ""
        return f"{kind}{self.path}: byte {self.at}: {self.what}: need {self.need}, have {self.have}"


def from_error(error: FormatError | ReadFailed, path: Path) -> Problem:
    if isinstance(error, ReadFailed):
        return unreadable(error, path)
    what = ": ".join(part for part in (type(error).__name__, error.path, error.reason) if part)
    need, have = error.need, error.have
    if type(error).__name__ == "CrcMismatch":
        need, have = f"{need:#010x}", f"{have:#010x}"
    return Problem(path, error.at, what, need, have)


def of_epochs(
    runs: EpochRuns, checkpoint: Sequence[LeaderEpoch] = (), start_offset: int = 0
) -> Iterator[Problem]:
    """Contradictions of the leader epochs in batches with the checkpoint or the batches around them."""
    for contradiction in runs.contradictions(checkpoint, start_offset):
        yield Problem(
            contradiction.run.path,
            contradiction.run.position,
            "leader epoch",
            contradiction.need,
            contradiction.have,
            note=contradiction.note,
        )
    if runs.omitted:
        run = runs.runs[-1]
        have = f"{runs.omitted} batches after them"
        yield Problem(run.path, run.position, "leader epoch", f"at most {runs.MOST} changes of it", have)


def unreadable(error: OSError, path: Path) -> Problem:
    """A file that cannot be read, or from some byte on."""
    position = error.at if isinstance(error, ReadFailed) else 0
    return Problem(path, position, "cannot be read", "a readable file", error.strerror or str(error))
