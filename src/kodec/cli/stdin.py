"""`-`, which names standard input, for verbs that read one file."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO

from kodec.cli.parser import BadParameter

__all__ = ["is_stdin", "stdin", "stdin_as_file"]


def is_stdin(path: Path) -> bool:
    """Whether a path that a user gave means standard input."""
    return str(path) == "-"


def stdin() -> BinaryIO:
    """Standard input, as bytes. Raises: BadParameter if it is closed."""
    if sys.stdin is None:
        raise BadParameter("-: standard input is closed")
    return sys.stdin.buffer


@contextmanager
def stdin_as_file(path: Path, suffix: str = "") -> Iterator[Path]:
    """The path; for `-`, a temporary file with the contents of standard input, for readers that seek."""
    if not is_stdin(path):
        yield path
        return
    with NamedTemporaryFile(prefix="stdin-", suffix=suffix) as file:
        shutil.copyfileobj(stdin(), file)
        file.flush()
        yield Path(file.name)
