"""`-`, which names standard input, for verbs that read one file."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

__all__ = ["is_stdin", "stdin_as_file"]


def is_stdin(path: Path) -> bool:
    """Whether a path that a user gave means standard input."""
    return str(path) == "-"


@contextmanager
def stdin_as_file(path: Path, suffix: str = "") -> Iterator[Path]:
    """The path; for `-`, a temporary file with the contents of standard input, for readers that seek."""
    if not is_stdin(path):
        yield path
        return
    with NamedTemporaryFile(prefix="stdin-", suffix=suffix) as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        yield Path(file.name)
