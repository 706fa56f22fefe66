"""The help of a verb, and what is printed of a wrong command line."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from textwrap import wrap

from kodec.cli.commands import may_style
from kodec.cli.parser import HELP, Command, Parameter, UsageError

__all__ = ["help_lines", "usage_lines"]

# A line that is longer is hard to read; the names of options are not wider in the left column.
_WIDEST = 100
_NARROWEST = 40
_LEFT = 26


def help_lines(command: Command) -> Iterator[str]:
    """Usage, what it does, examples, exit codes, arguments and options."""
    width = max(_NARROWEST, min(shutil.get_terminal_size().columns, _WIDEST))
    yield f"Usage: {command.usage}"
    for part in command.text.split("\n\n"):
        yield ""
        yield from _paragraph([line.strip() for line in part.strip().splitlines()], width)
    bold, plain = ("\x1b[1m", "\x1b[0m") if may_style() else ("", "")
    of_help = (", ".join(HELP), "Show this help and exit.")
    for title, parameters, more in (
        ("Arguments", command.arguments, []),
        ("Options", command.options, [of_help]),
    ):
        rows = [*((_named(parameter), _described(parameter)) for parameter in parameters), *more]
        if rows:
            yield from ("", f"{bold}{title}{plain}")
            yield from _rows(rows, width)


def _paragraph(lines: Sequence[str], width: int) -> Iterator[str]:
    name, _, codes = " \0".join(lines).partition(":")
    indent = " " * len("example:  ")
    if name == "example":
        # whole lines, which somebody may copy
        yield from (lines[0], *(indent + line for line in lines[1:]))
    elif name == "exit":
        for index, code in enumerate(re.split(r" {2,}| \0", codes.strip())):
            start = indent if index else "exit:     "
            yield from wrap(code, width, initial_indent=start, subsequent_indent=indent + "  ")
    else:
        yield from wrap(" ".join(lines), width, break_on_hyphens=False)


def _rows(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """A name and a text in two columns; a text begins below a name that is too long."""
    name_width = min(max(len(name) for name, _ in rows), _LEFT)
    for name, text in rows:
        lines = wrap(text, width - name_width - 4, break_on_hyphens=False)
        if len(name) <= name_width:
            yield f"  {name:{name_width}}  {lines.pop(0) if lines else ''}".rstrip()
        else:
            yield from wrap(name, width, initial_indent="  ", subsequent_indent="    ")
        yield from (" " * (name_width + 4) + line for line in lines)


def _named(parameter: Parameter) -> str:
    return f"{parameter.name} {parameter.value_name}".rstrip() if parameter.is_option else parameter.name


def _described(parameter: Parameter) -> str:
    notes = [parameter.limits] if parameter.limits else []
    if parameter.is_option and parameter.required:
        notes.append("required")
    if parameter.shown_default:
        notes.append(f"default: {parameter.shown_default}")
    return " ".join([parameter.help, *(f"[{note}]" for note in notes)]).strip()


def usage_lines(command: Command | None, error: UsageError) -> Iterator[str]:
    """The lines about a wrong command line, on stderr."""
    yield f"Usage: {'kodec VERB [ARGUMENTS]...' if command is None else command.usage}"
    yield f"Try '{'kodec' if command is None else f'kodec {command.name}'} --help' for help."
    yield f"Error: {error}"
