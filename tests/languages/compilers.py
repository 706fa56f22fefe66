"""Whether a language's programs are here, and run: a launcher may be there without what it launches."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

__all__ = ["is_here"]


@cache
def is_here(program: str) -> bool:
    """Whether it can be run. Rustup's launchers need a toolchain, which belongs to a home folder."""
    path = shutil.which(program)
    if path is None or program != "cargo":
        return path is not None
    return subprocess.run([path, "--version"], capture_output=True, check=False).returncode == 0
