"""Every error that kodec raises: one root, few leaves, facts as attributes."""

from kodec.runtime import errors
from kodec.runtime.errors import *  # noqa: F403

__all__ = errors.__all__
