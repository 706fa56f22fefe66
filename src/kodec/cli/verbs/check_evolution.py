"""kodec check-evolution: whether readers and writers of an older schema understand a newer one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kodec.cli import lines
from kodec.cli.parser import Argument, BadParameter, Exit
from kodec.runtime.errors import KodecError, MissingDependency
from kodec.runtime.extras import install_command

__all__ = ["check_evolution"]


def check_evolution(
    old: Annotated[Path, Argument(help="A .ksy file, or a folder of them.")],
    new: Annotated[Path, Argument(help="The new version: a file or a folder.")],
) -> None:
    """Check whether a change of schemas is compatible: every existing version keeps its meaning.

    Each violation is reported with its place. New versions, tagged fields and messages are compatible.

    example:  kodec check-evolution before/schemas schemas

    exit:     0 compatible   1 a violation, or a schema that cannot be used   2 bad usage
    """
    try:
        from kodec.formats.evolution import violations
    except ImportError as error:
        raise MissingDependency(f"schemas need `{error.name}`: {install_command('generator')}") from error

    for path in (old, new):
        if not path.exists():
            raise BadParameter(f"no such file or folder: {path}")
    if old.is_dir() != new.is_dir():
        raise BadParameter("a file is compared with a file, and a folder with a folder")
    try:
        problems = violations(old, new)
    except (KodecError, OSError) as error:
        lines.warn(*lines.lines_of(error, f"{type(error).__name__}: "))
        raise Exit(1) from None
    for problem in problems:
        lines.show(str(problem))
    count = len(problems)
    lines.show(f"{count} violation{'s' * (count != 1)}" if count else "compatible")
    raise Exit(1 if problems else 0)
