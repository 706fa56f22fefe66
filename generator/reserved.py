"""Reserved names of a language or of generated code, and how a schema's name avoids them.

Every target lists these words in its `names.py`: a `Reserved` for each place that has words of its
own. `tests/generator/any_name.py` reads the words from generated code, so that a table without one fails.
Names that a target derives from a schema's (`startOf_crc`) have a form that no schema's name gets.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["Reserved", "Taken"]


class Reserved:
    """The reserved words of one place, such as the locals of functions or the classes of a module.

    Args:
        words: words that no name of a schema can be.
        prefixes: prefixes of generated names, with which no name of a schema can start.
    """

    def __init__(self, *words: Iterable[str], prefixes: tuple[str, ...] = ()) -> None:
        self.words = frozenset().union(*words)
        self.prefixes = prefixes

    def free(self, name: str) -> str:
        """The name, with a `_` after it where it is reserved: no schema's name ends in one."""
        return f"{name}_" if name in self.words or name.startswith(self.prefixes) else name


class Taken:
    """Names in one scope, each used once."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = set(names)

    def claim(self, name: str, suffixes: Iterable[str] = ("",)) -> str:
        """The name, with as many `_` after it as needed to be unique with each of the suffixes."""
        while any(f"{name}{suffix}" in self.names for suffix in suffixes):
            name += "_"
        self.names.update(f"{name}{suffix}" for suffix in suffixes)
        return name
