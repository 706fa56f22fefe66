"""Marks of tests that need what not every system has."""

from __future__ import annotations

import pytest

from kodec.runtime.system import POSIX

__all__ = ["changes_logs"]

changes_logs = pytest.mark.skipif(not POSIX, reason="log directories are changed on Linux and macOS only")
