"""One format of the lab: how a sample is made, how it is edited, and who judges."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Case", "NotInstalled", "needs", "shell"]

Edit = Callable[[Any, Any], Any]
"""Changes an object, with the module of its class; may give another object that is written instead."""


class NotInstalled(Exception):
    """A tool that a case needs is not there."""


def needs(*tools: str) -> None:
    """Raise NotInstalled where a tool is missing."""
    for tool in tools:
        if shutil.which(tool) is None:
            raise NotInstalled(f"needs {tool}")


def shell(command: str, *tools: str) -> Callable[[Path], None]:
    """Makes a sample by a command, in which `{}` is the file."""

    def make(file: Path) -> None:
        needs(*tools)
        subprocess.run(
            command.replace("{}", str(file)),
            shell=True,
            check=True,
            cwd=file.parent,
            capture_output=True,
            timeout=120,
        )

    return make


@dataclass(frozen=True)
class Case:
    """A format.

    Attributes:
        suffix: of the file's name.
        make: makes a sample.
        judge: a command that fails for a file (`{}`) that is not right.
        edits: what is changed, and what the judge then shows.
        complains: words in the judge's output that mean that the file is not right.
        kind: the class that is read; by default that of the schema.
        path: of that class in ksc's module, for an inner one.
    """

    suffix: str
    make: Callable[[Path], None]
    judge: str
    edits: dict[str, tuple[Edit, str]]
    complains: tuple[str, ...] = ()
    kind: str | None = None
    path: tuple[str, ...] = ()
    arguments: dict[str, Any] = field(default_factory=dict)

    def read(self, kind: Any, data: bytes) -> Any:
        # a real file may go on after what its schema describes
        return kind.from_bytes(data, exact=False, **self.arguments)
