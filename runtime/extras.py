"""The command that installs a missing library."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["install_command"]

_EXTRA = re.compile(r"""\bextra\s*==\s*['"]([\w-]+)['"]""")


def install_command(*extras: str) -> str:
    """The command that installs the libraries of some of kodec's extras, as its metadata lists them.

    It names the libraries, not kodec, so it also works if kodec was installed from a clone or a wheel.
    """
    # importing it takes as long as importing kodec, and only this function needs it
    from importlib.metadata import PackageNotFoundError, requires

    try:
        needed = list(_needed(frozenset(extras), requires("kodec") or []))
    except PackageNotFoundError:  # kodec's source on the path, not installed
        needed = []
    return " ".join(["pip install", *(f"'{each}'" for each in needed or [f"kodec[{','.join(extras)}]"])])


def _needed(extras: frozenset[str], requirements: list[str]) -> Iterator[str]:
    for requirement in requirements:
        what, _, marker = requirement.partition(";")
        match = _EXTRA.search(marker)
        if match and match[1] in extras:
            yield what.strip()
