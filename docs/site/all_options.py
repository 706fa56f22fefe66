"""Writes docs/options.md: every option of the verbs and every parameter of the functions, with one meaning.

Tests compare the page with the code, and refuse an option or a parameter that means several things.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from kodec.cli.app import EARLIER, command
from kodec.cli.commands import VERBS

PAGE = Path(__file__).parent.parent / "options.md"

_HEAD = """# Options and parameters

<!-- Made from the verbs and functions by `python docs/site/all_options.py`. -->

An option has one meaning in all verbs, and a parameter one in all functions.

## Select records

These are the same for every reader, search, table and job; `kodec.read_records` describes them.

| parameter | option | meaning |
|---|---|---|
"""
SELECTION: Mapping[str, tuple[str, str]] = {
    "topics": ("--topic", "a name, or several; a text is one name; an empty list selects nothing, None all"),
    "partitions": ("--partition", "a number, or several"),
    "offsets": (
        "--offset",
        "`(first, last)` or `A..B`, both included, either may be open; one number; in Python also a `range`, "
        "whose end is not included",
    ),
    "timestamps": (
        "--since, --until",
        "`(first, last)`, both included: ms since 1970, or datetimes with a zone; `--until` itself is not "
        "included. No range has a record without a timestamp",
    ),
    "isolation": (
        "--isolation",
        "`read_uncommitted`, or `read_committed`: without aborted and undecided records",
    ),
    "keys": ("--key", "whole keys, of which a record has one"),
}
MEANINGS: Mapping[str, str] = {
    "--allow-expired": "Go on even if retention would delete segments at once.",
    "--apply": "Do it; without this, a dry run.",
    "--before-offset": "Only records below this offset.",
    "--buffer-bytes": "Memory for keys, 24 bytes for each.",
    "--check": "Compare what is stored with what it should be.",
    "--compression": "The codec of what is written.",
    "--decode": "Decode messages of Kafka's own topics.",
    "--follow": "Go on with what is new.",
    "--format": "Of the files or table to write.",
    "--from-start": "Read all, also what was done already.",
    "--json": "One JSON object for each row, instead of text.",
    "--lineage": "The source whose leader epochs count.",
    "--now": "The time to compare with: ms or ISO 8601; now by default.",
    "--offset": "An offset, or a range: A..B, A.., ..B, both included.",
    "--on-error": "At what is damaged or missing: stop, or go on and report it.",
    "--option": "For a target: go.package=orders.",
    "--overwrite": "Replace what is there.",
    "--quarantine": "Folder for what is replaced or truncated.",
    "--retention-bytes": "The retention.bytes that counts.",
    "--retention-ms": "The retention.ms that counts.",
    "--schema": "The format of files: a .ksy file or a plan.",
    "--schemas": "Folder of .ksy files.",
    "--segment-bytes": "The maximum size of a segment (segment.bytes).",
    "--target": "What to generate.",
    "--threads": "How many are read at once.",
    "--to": "Where to write: a folder, a page or another file, a URL or a table.",
    "--where": "A condition: value.amount > 100.",
}
"""Of options whose help names what is special about a verb."""
OTHER_KINDS: Mapping[str, str] = {
    "--compression": "each format has its own codecs",
    "--format": "each verb writes other formats",
    "--offset": "explain starts at one offset",
    "--on-error": "scan opens no log directories",
    "--report-format": "problems are shown in CI, results on a page",
    "--to": "a folder, a page or another file, a URL or a table",
}
"""Options whose values differ from verb to verb, and why."""

PARAMETERS: Mapping[str, str] = {
    "folders": "topic-partitions' folders: the first one, or all",
    "format": "the format of files: its name, or one that was loaded",
    "headers": "headers of a record, or whether rows have them",
    "logs": "log directories, or logs that are open",
    "master": "Spark's master URL",
    "metadata": "a cluster's metadata: as it was read, or where it is",
    "on_error": "what is done at damage: raise, or skip",
    "options": "how something is read or written; a topic's own settings",
    "path": "where something is: a file or a folder, or a type in a schema",
    "paths": "the same, several of them",
    "progress": "called from time to time: with bytes that were read; by jobs, with lines of text",
    "retention_ms": "the retention.ms that counts",
    "source": "what is read: a path, bytes, an open file, logs",
    "table": "a table, or its name",
}
"""Of parameters of functions that take several types, and what these have in common."""

_MODULES = ("kodec", "kodec.repair", "kodec.operations", "kodec.values", "kodec.formats", "kodec.pipeline")


def options() -> dict[str, dict[str, list[tuple[str, str]]]]:
    """The options by name: of each verb, in the order of the help, the kind of a value and the help."""
    found: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for verb in VERBS:
        for each in command(verb).parameters:
            if each.is_option:
                found.setdefault(each.name, {}).setdefault(verb, []).append((each.kind, each.help))
    return dict(sorted(found.items()))


def parameters() -> dict[str, dict[str, str]]:
    """The parameters by name: the annotation in each public function and method."""
    found: dict[str, dict[str, str]] = {}
    for module in _MODULES:
        there = importlib.import_module(module)
        for name in there.__all__:
            for owner, function in _functions(name, getattr(there, name)):
                for each in inspect.signature(function).parameters.values():
                    if each.name not in ("self", "cls", "_"):
                        found.setdefault(each.name, {})[f"{module}.{owner}"] = str(each.annotation)
    return dict(sorted(found.items()))


def _functions(name: str, value: object) -> Iterator[tuple[str, Callable[..., object]]]:
    if inspect.isfunction(value):
        yield name, value
    elif inspect.isclass(value):
        for own, each in vars(value).items():
            each = each.__func__ if isinstance(each, (classmethod, staticmethod)) else each
            if inspect.isfunction(each) and not own.startswith("_"):
                yield f"{name}.{own}", each


def of_functions() -> dict[str, dict[str, str]]:
    """The parameters that several functions have, without those of methods."""
    found = {
        name: {owner: kind for owner, kind in owners.items() if owner.islower()}
        for name, owners in parameters().items()
    }
    return {name: owners for name, owners in found.items() if len(owners) > 1}


def parameter_meaning(name: str) -> str:
    """The type of a parameter; the meaning of one with several. Raises ValueError if it has none."""
    kinds = set(of_functions()[name].values())
    if name not in PARAMETERS and len(kinds) > 1:
        raise ValueError(f"{name} is of several types: {', '.join(sorted(kinds))}")
    return PARAMETERS.get(name) or f"`{kinds.pop()}`"


def meaning(option: str) -> str:
    """The one meaning of an option. Raises ValueError if verbs help differently and it has none."""
    helps = {help for of_verb in options()[option].values() for _, help in of_verb}
    if option not in MEANINGS and len(helps) > 1:
        raise ValueError(f"{option} means several things: {' | '.join(sorted(helps))}")
    return MEANINGS.get(option) or helps.pop()


def page() -> str:
    """The text of the page."""
    lines = [f"| `{name}` | `{option}` | {text} |" for name, (option, text) in SELECTION.items()]
    lines += ["", "## Options of the verbs", "", "| option | meaning | verbs |", "|---|---|---|"]
    lines += [
        f"| `{name}` | {_cell(meaning(name))} | {', '.join(verbs)} |" for name, verbs in options().items()
    ]
    lines += ["", "Scripts may use earlier names:", "", "| verb | earlier | now |", "|---|---|---|"]
    lines += [f"| {verb} | `{name}` | `{' '.join(now)}` |" for (verb, name), now in EARLIER.items()]
    lines += [
        "",
        "## Parameters of several functions",
        "",
        "| parameter | type, or meaning | functions |",
        "|---|---|---|",
    ]
    for name, owners in of_functions().items():
        shown = ", ".join(f"`{each}`" for each in sorted(owners))
        lines.append(f"| `{name}` | {_cell(parameter_meaning(name))} | {shown} |")
    return _HEAD + "\n".join([*lines, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
