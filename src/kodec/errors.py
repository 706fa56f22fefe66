"""Every error that kodec raises: one root, few leaves, facts as attributes."""

from typing import TYPE_CHECKING

from kodec.runtime import errors
from kodec.runtime.errors import *  # noqa: F403
from kodec.runtime.public import publish

__all__ = errors.__all__

if not TYPE_CHECKING:
    __getattr__, __dir__ = publish(__name__, globals())
