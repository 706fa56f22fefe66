"""The kodec command: parse arguments, call one function, print."""

from __future__ import annotations

import io
import sys

from kodec import __version__
from kodec.cli.commands import help_page
from kodec.cli.lines import lines_of, warn
from kodec.runtime.errors import KodecError

__all__ = ["main"]

# Not from `outcome`, which needs the libraries that may be missing.
BAD_BYTES = 1
BAD_USAGE = 2


def main(arguments: list[str] | None = None) -> int:
    """Run the command; give its exit code: 0 done, 1 bad bytes or a failed check, 2 bad usage, 3 dry run."""
    given = sys.argv[1:] if arguments is None else arguments
    if given in (["-h"], ["--help"]):
        print(help_page())
        return 0
    if given == ["--version"]:
        print(f"kodec {__version__}")
        return 0
    try:
        from kodec.cli.app import run
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        from kodec.runtime.extras import install_command

        print(f"kodec: the command needs `{error.name}`: {install_command('cli')}", file=sys.stderr)
        return BAD_USAGE
    for stream in (sys.stdout, sys.stderr):
        # Names and values of any alphabet on a terminal of another one.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        return run(arguments)
    except KodecError as error:
        warn(*lines_of(error, f"{type(error).__name__}: "))
        return BAD_BYTES
    except KeyboardInterrupt as error:
        warn("kodec: interrupted", *lines_of(error)[1:])
        return 130
    except BrokenPipeError:
        return 0
