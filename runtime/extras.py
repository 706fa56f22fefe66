"""What brings a library that is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["install_command"]

_EXTRA = re.compile(r"""\bextra\s*==\s*['"]([\w-]+)['"]""")


def install_command(*extras: str) -> str:
    """The command that installs what extras of kodec need, as its metadata lists it.

    It names the libraries, not kodec: so it also works where kodec came from a clone or a wheel.
    """
    # it takes as long to import as all of kodec, and is needed only here
    from importlib.metadata import PackageNotFoundError, requires

    try:
        needed = list(_needed(frozenset(extras), requires("kodec") or []))
    except PackageNotFoundError:  # the source without its metadata
        needed = []
    return " ".join(["pip install", *(f"'{each}'" for each in needed or [f"kodec[{','.join(extras)}]"])])


def _needed(extras: frozenset[str], requirements: list[str]) -> Iterator[str]:
    for requirement in requirements:
        what, _, marker = requirement.partition(";")
        match = _EXTRA.search(marker)
        if match and match[1] in extras:
            yield what.strip()
