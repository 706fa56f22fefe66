"""The commands of `kodec`, a verb each."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from kodec import __version__
from kodec.cli.verbs.compact import compact
from kodec.cli.verbs.convert import convert
from kodec.cli.verbs.dump import dump
from kodec.cli.verbs.export import export
from kodec.cli.verbs.generate import generate
from kodec.cli.verbs.get import get
from kodec.cli.verbs.ls import list_logs
from kodec.cli.verbs.recover import recover
from kodec.cli.verbs.reindex import reindex
from kodec.cli.verbs.salvage import salvage
from kodec.cli.verbs.trim import trim
from kodec.cli.verbs.verify import verify

__all__ = ["app", "run"]

app = typer.Typer(
    name="kodec",
    help="Codecs for Apache Kafka's record formats, generated from Kaitai schemas.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# In the order of --help.
_VERBS: dict[str, Callable[..., None]] = {
    "generate": generate,
    "dump": dump,
    "ls": list_logs,
    "verify": verify,
    "get": get,
    "recover": recover,
    "salvage": salvage,
    "reindex": reindex,
    "trim": trim,
    "compact": compact,
    "convert": convert,
    "export": export,
}
for _name, _verb in _VERBS.items():
    app.command(_name)(_verb)


def run(arguments: list[str] | None) -> int:
    """Parse and run; the exit code. Bad usage is reported on stderr."""
    try:
        app(arguments)
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):
            # The reader of our output has gone, as in `kodec dump ... | head`: nothing is to report it again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _version(wanted: bool) -> None:
    if wanted:
        print(f"kodec {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Codecs for Apache Kafka's record formats, generated from Kaitai schemas."""
