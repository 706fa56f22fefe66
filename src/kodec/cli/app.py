"""The commands of `kodec`, a verb each."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from kodec import __version__
from kodec.cli.commands import VERBS, help_page
from kodec.cli.lines import printable, warn

__all__ = ["command", "run"]

# As in `main`.
_BAD_USAGE = 2

# A verb's function, where it is not called as its module.
_FUNCTIONS = {"groups": "list_groups", "ls": "list_logs"}


@cache
def command(verb: str) -> Any:
    """A verb. Its module is imported when it is asked for: what others need may be missing, or slow."""
    module = importlib.import_module(f"kodec.cli.verbs.{verb.replace('-', '_')}")
    function = _FUNCTIONS.get(verb, verb.replace("-", "_"))
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    app.command(verb, short_help=VERBS[verb])(getattr(module, function))
    return typer.main.get_command(app)


class _Verbs(TyperGroup):
    """All verbs. What is wrong with an argument is said without what a terminal would act on."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The verb of this name, or None."""
        return command(cmd_name) if cmd_name in VERBS else None

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in the order of the help."""
        return list(VERBS)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As it was, with suggestions among all verbs."""
        self.commands = dict.fromkeys(VERBS)  # type: ignore[assignment]  # only names are looked at
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The page of `commands.py`."""
        print(help_page())

    def invoke(self, ctx: Any) -> Any:
        """Run the verb."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            # Of click, or of what typer has in its place.
            if hasattr(error, "format_message"):
                vars(error).update(message=printable(vars(error)["message"]))
            raise


def _application() -> typer.Typer:
    app = typer.Typer(
        name="kodec",
        cls=_Verbs,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(options)
    return app


def _url(given: Sequence[str]) -> str | None:
    """An argument that is a URL where a path is expected; else None."""
    for before, word in pairwise(["", *given]):
        value = word.removeprefix("--to=")
        of_an_option = before.startswith("-") and before != "--to"
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", value) and not of_an_option:
            return value
    return None


def run(arguments: list[str] | None) -> int:
    """Parse and run; the exit code. Bad usage is reported on stderr."""
    given = sys.argv[1:] if arguments is None else arguments
    if (url := _url(given)) is not None:
        text = "commands read and write file systems of this machine, those that are mounted too"
        warn(f"kodec: {url} is not a path of this machine: {text}")
        return _BAD_USAGE
    try:
        _application()(arguments)
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


def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Codecs for Apache Kafka's record formats, generated from Kaitai schemas."""
