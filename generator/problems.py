"""Problems of schemas: gathered with their places, and printed all at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field

from kodec.runtime.errors import KodecError

__all__ = ["Place", "Problems", "SchemaError", "SchemaProblem", "cut", "nearest", "printable"]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a schema: 1-based line and column."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, order=True)
class SchemaProblem:
    """One problem: its place, its field, what is wrong, and a hint what would be right.

    `severity` is `error`, or `note` for what is worth knowing and changes nothing.
    """

    place: Place
    path: str
    text: str
    hint: str = ""
    severity: str = "error"

    def __str__(self) -> str:
        path = f"{self.path}: " if self.path else ""
        hint = f"\n    {printable(self.hint)}" if self.hint else ""
        return printable(f"{self.place}: {path}{self.text}") + hint


def printable(text: str) -> str:
    """The text for a terminal: characters of a schema that do not print are escaped."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape", "surrogatepass").decode("ascii")
        for sign in text
    )


class SchemaError(KodecError):
    """The schemas cannot be used; `problems` lists every reason."""

    def __init__(self, problems: Iterable[SchemaProblem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__(self.problems)

    @property
    def summary(self) -> str:
        """The number of problems and of files with problems."""
        files = len({problem.place.file for problem in self.problems})
        count = len(self.problems)
        return f"{count} problem{'s' * (count != 1)} in {files} file{'s' * (files != 1)}; nothing was written"

    @property
    def lines(self) -> list[str]:
        """The lines of `str`."""
        return str(self).split("\n")

    def __str__(self) -> str:
        return "\n".join([*map(str, self.problems), self.summary])


@dataclass(slots=True)
class Problems:
    """The problems found so far, and notes, which stop nothing. `older` are the older keys of each file."""

    found: list[SchemaProblem] = field(default_factory=list)
    notes: list[SchemaProblem] = field(default_factory=list)
    older: dict[str, set[str]] = field(default_factory=dict)

    def add(self, place: Place, path: str, text: str, hint: str = "") -> None:
        self.found.append(SchemaProblem(place, path, text, hint))

    def note(self, place: Place, path: str, text: str, hint: str = "") -> None:
        self.notes.append(SchemaProblem(place, path, text, hint, "note"))

    def raise_if_any(self) -> None:
        """Raise SchemaError with everything gathered so far, if there is anything."""
        if self.found:
            raise SchemaError(self.found)


def cut(text: str) -> str:
    """A text of a schema for a message: only its start, if it is long."""
    return text if len(text) <= 60 else f"{text[:57]}..."


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint that names the known words closest to `word`, or all if they are few."""
    names = sorted(set(known))
    close = difflib.get_close_matches(word, names, n=3, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(f'`{name}`' for name in close)}?"
    if names and len(names) <= 12:
        return f"known: {', '.join(names)}"
    return ""
