"""The logger for warnings: a library logs only if the program configures it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import Logger

__all__ = ["logger"]


@cache
def logger(name: str = "kodec") -> Logger:
    """The logger, silent unless the program configures it. Called only when there is something to log."""
    import logging

    logging.getLogger("kodec").addHandler(logging.NullHandler())
    return logging.getLogger(name)
