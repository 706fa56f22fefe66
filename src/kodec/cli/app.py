"""The commands of `kodec`, a verb each."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from kodec import __version__
from kodec.cli.lines import printable, warn

__all__ = ["run"]

# As in `main`.
_BAD_USAGE = 2

# In the order of --help: each verb's function, in a module of the verb's name with `_` for `-`.
_VERBS = {
    "generate": "generate",
    "import-kafka": "import_kafka",
    "check-evolution": "check_evolution",
    "conform": "conform",
    "handoff": "handoff",
    "find": "find",
    "dump": "dump",
    "ls": "list_logs",
    "inventory": "inventory",
    "verify": "verify",
    "offsets": "offsets",
    "groups": "list_groups",
    "transactions": "transactions",
    "producers": "producers",
    "metadata": "metadata",
    "epochs": "epochs",
    "retention": "retention",
    "recover": "recover",
    "salvage": "salvage",
    "reindex": "reindex",
    "trim": "trim",
    "compact": "compact",
    "convert": "convert",
    "adopt": "adopt",
    "export": "export",
    "compact-view": "compact_view",
    "restore": "restore",
    "scan": "scan",
}


class _Verbs(TyperGroup):
    """What is wrong with an argument is said without what a terminal would act on."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            # Of click, or of what typer has in its place.
            if hasattr(error, "format_message"):
                vars(error).update(message=printable(vars(error)["message"]))
            raise


def _application(verbs: Iterable[str]) -> typer.Typer:
    """The command with these verbs, and no others."""
    app = typer.Typer(
        name="kodec",
        cls=_Verbs,
        help="Codecs for Apache Kafka's record formats, generated from Kaitai schemas.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(options)
    for verb in verbs:
        module = importlib.import_module(f"kodec.cli.verbs.{verb.replace('-', '_')}")
        app.command(verb)(getattr(module, _VERBS[verb]))
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
    """Parse and run; the exit code. Bad usage is reported on stderr.

    A verb that is named first is imported alone: `generate` has to run where what it made before does not.
    """
    given = sys.argv[1:] if arguments is None else arguments
    if (url := _url(given)) is not None:
        text = "commands read and write file systems of this machine, those that are mounted too"
        warn(f"kodec: {url} is not a path of this machine: {text}")
        return _BAD_USAGE
    try:
        _application(given[:1] if given and given[0] in _VERBS else _VERBS)(arguments)
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
