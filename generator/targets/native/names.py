"""Makes C names from schema names, avoiding those of a language or of a kernel."""

from __future__ import annotations

import re

from kodec.generator.reserved import Reserved

__all__ = ["Constants", "c_name"]

# words of C, of C++ and of Cython, what headers define in lower case, and members that units and rows have
_MEMBERS = Reserved(
    """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile
    while asm typeof bool true false NULL and or not xor class new delete this
    as assert async await def del elif except finally from global import in is lambda None nonlocal pass raise
    try with yield True False cdef cpdef ctypedef cimport include gil nogil unix linux errno stdin stdout
    rows unit_start unit_size checksum checksum_stored checksum_field checksum_of position size checksum_ok
    """.split()  # noqa: SIM905  # ninety words on ninety lines are no list to read
)


def c_name(ident: str) -> str:
    """The member of a struct that a field is."""
    return _MEMBERS.free(ident)


class Constants:
    """Names of C constants for the things a kernel counts, each once: `FIELD_RECORDS_BODY_KEY` for
    `records[].body.key`."""

    def __init__(self, prefix: str, *first: str) -> None:
        self._prefix = prefix
        self.all: dict[str, str] = {}
        """In order, what it stands for and its name."""
        for each in first:
            self(each)

    def __call__(self, path: str) -> str:
        if path not in self.all:
            words = "_".join(re.findall(r"[A-Za-z0-9_]+", path)).upper()
            name, number = f"{self._prefix}_{words or 'NONE'}", 2
            while name in self.all.values():
                name, number = f"{self._prefix}_{words}_{number}", number + 1
            self.all[path] = name
        return self.all[path]
