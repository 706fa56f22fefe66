"""The command that installs a missing library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

__all__ = ["install_command"]

# In a clone, `kodec.runtime` is a link to a folder beside it.
PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
_EXTRA = re.compile(r"""\bextra\s*==\s*['"]([\w-]+)['"]""")


def install_command(*extras: str) -> str:
    """The command that installs the libraries of some of kodec's extras, as its metadata lists them.

    It names the libraries, not kodec, so it also works if kodec was installed from a clone or a wheel.
    """
    needed = _in_clone(extras) if PROJECT.is_file() else _installed(extras)
    # never a name of an index that might be somebody else's there
    return " ".join(["pip install", *(f"'{each}'" for each in needed or [f".[{','.join(extras)}]"])])


def _in_clone(extras: tuple[str, ...]) -> list[str]:
    # what is installed of a clone may have older metadata
    import tomllib

    given = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    return [what for extra in extras for what in given.get(extra, [])]


def _installed(extras: tuple[str, ...]) -> list[str]:
    # importing it takes as long as importing kodec, and only this function needs it
    from importlib.metadata import PackageNotFoundError, requires

    try:
        return list(_needed(frozenset(extras), requires("kodec") or []))
    except PackageNotFoundError:  # kodec's source on the path, not installed
        return []


def _needed(extras: frozenset[str], requirements: list[str]) -> Iterator[str]:
    for requirement in requirements:
        what, _, marker = requirement.partition(";")
        match = _EXTRA.search(marker)
        if match and match[1] in extras:
            yield what.strip()
