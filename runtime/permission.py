"""What whoever only writes options or names files may have run: nothing that the environment does not allow.

The environment belongs to whoever starts the program. A setting of a Spark session would not do: whoever
writes SQL can set it.
"""

from __future__ import annotations

import os

from kodec.runtime.errors import ArgumentError

__all__ = ["ALLOW", "is_allowed", "require_allowed"]

ALLOW = "KODEC_ALLOW"
"""Its value names what is allowed, between commas: `tierKeyCommand`, `plans`."""


def is_allowed(what: str) -> bool:
    """Whether the environment allows it."""
    return what in {each.strip() for each in os.environ.get(ALLOW, "").split(",")}


def require_allowed(what: str, reason: str) -> None:
    """Raises ArgumentError, with the reason and how to allow it, unless the environment allows it."""
    if not is_allowed(what):
        raise ArgumentError(
            f"{reason}: allowed only where {ALLOW}={what} is in the environment of this program"
        )
