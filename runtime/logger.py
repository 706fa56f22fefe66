"""Where warnings go: a library logs only where a program asks for it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import Logger

__all__ = ["logger"]


@cache
def logger(name: str = "kodec") -> Logger:
    """The logger, silent where a program has configured none. For when there is something to log."""
    import logging

    logging.getLogger("kodec").addHandler(logging.NullHandler())
    return logging.getLogger(name)
