"""Writes the pages of the reference: public names, verbs, formats. Nothing here is written twice by hand."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_origin

from kodec.cli.commands import GROUPS

ROOT = Path(__file__).resolve().parent.parent.parent
MODULES = (
    "kodec",
    "kodec.errors",
    "kodec.formats",
    "kodec.operations",
    "kodec.pipeline",
    "kodec.repair",
    "kodec.results",
    "kodec.values",
)
_SECTION = re.compile(r"(Args|Attributes|Memory|Raises|Returns|Source|Threads|Yields):(?: (?=\S)|$)")
_ITEM = re.compile(r"    ([*\w`]+(?:, [*\w`]+)*): ")


def with_sections(lines: Sequence[str]) -> list[str]:
    """A docstring's lines as reStructuredText: sections are fields; items with names, a list."""
    found: list[str] = []
    inside = named = False
    for line in lines:
        match = _SECTION.match(line)
        if match:
            named = match.end() == len(line)
            found += ["", f":{line}", ""] if named else ["", f":{line}"]
        elif inside and line.startswith(" "):
            item = _ITEM.match(line) if named else None
            if item:
                line = f"    - **{item[1]}**: {line[item.end() :]}"
            elif named:
                line = f"      {line[8:]}" if line.startswith("        ") else f"    - {line[4:]}"
            found.append(line)
        else:
            found += ["", line] if inside else [line]
        inside = bool(match) or (inside and (line.startswith(" ") or not line))
    return found


def write(folder: Path) -> None:
    """Write all pages into a folder, in place of what is there."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in (*_api(), *_commands(), *_formats()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _contents(title: str, text: str, names: Sequence[str], depth: int = 1) -> str:
    listed = "\n".join(names)
    return f"# {title}\n\n{text}\n\n```{{toctree}}\n:maxdepth: {depth}\n\n{listed}\n```\n"


def _api() -> Iterator[tuple[str, str]]:
    """A page for each public module, with each of its names from its docstring."""
    for module in MODULES:
        there = import_module(module)
        doc = (there.__doc__ or "").strip()
        parts = [f"# `{module}`\n\n{doc}\n"]
        for name in sorted(there.__all__, key=str.lower):
            thing = getattr(there, name)
            if name.startswith("__") or hasattr(thing, "__path__") or type(thing).__name__ == "module":
                continue
            parts.append(f"## {name}\n\n```{{eval-rst}}\n{_directive(module, name, thing)}\n```\n")
        yield f"api/{module}.md", "\n".join(parts)
    text = "Every public name, from its docstring; [by task](../../api.md). What is not here may change."
    yield "api/index.md", _contents("API reference", text, MODULES)


def _directive(module: str, name: str, thing: object) -> str:
    if isinstance(thing, type):
        # the section Attributes of the class says what its fields are
        fields = [*getattr(thing, "__dataclass_fields__", ()), *getattr(thing, "_fields", ())]
        left_out = f"\n   :exclude-members: {', '.join(fields)}" if fields else ""
        return f".. autoclass:: {module}.{name}\n   :members:{left_out}"
    kind = "autofunction" if callable(thing) else "autodata"
    return f".. {kind}:: {module}.{name}"


def _commands() -> Iterator[tuple[str, str]]:
    """A page for each verb, from its parser."""
    from kodec.cli.app import command

    groups = []
    for group, verbs in GROUPS.items():
        for verb in verbs:
            yield f"cli/{verb}.md", _verb(verb, command(verb))
        listed = "\n".join(verbs)
        groups.append(f"```{{toctree}}\n:caption: {group}\n:maxdepth: 1\n\n{listed}\n```")
    text = (
        "`kodec VERB --help` says the same in a terminal. Exit codes: 0 done, 1 the bytes are bad, "
        "2 bad usage, 3 a dry run that has something to show."
    )
    yield "cli/index.md", "# Command line\n\n" + text + "\n\n" + "\n\n".join(groups) + "\n"


def _verb(verb: str, command: Any) -> str:
    params = [each for each in command.params if each.name != "help"]
    text, _, rest = (command.help or "").partition("\nexample:")
    example, _, codes = rest.partition("exit:")
    usage = " ".join(
        [f"kodec {verb}", "[OPTIONS]", *(_metavar(each) for each in params if _is_argument(each))]
    )
    parts = [f"# kodec {verb}\n", f"```text\n{usage}\n```\n", _plain(text)]
    if example.strip():
        parts.append(f"```console\n{_commands_of(example)}\n```\n")
    for title, wanted in (("Arguments", True), ("Options", False)):
        rows = [each for each in params if _is_argument(each) is wanted]
        if rows:
            parts += [
                f"## {title}\n",
                f"| {title[:-1].lower()} | value | |\n|---|---|---|",
                *map(_row, rows),
                "",
            ]
    if codes.strip():
        parts += ["## Exit codes\n", *(f"- {each}" for each in re.split(r"\s{2,}", codes.strip())), ""]
    return "\n".join(parts)


def _is_argument(param: Any) -> bool:
    return param.param_type_name == "argument"


def _metavar(param: Any) -> str:
    return param.metavar or param.name.upper()


def _commands_of(example: str) -> str:
    return "\n".join(f"$ {line.strip()}" for line in example.strip().splitlines())


def _plain(text: str) -> str:
    return text.strip().replace("\b", "") + "\n"


def _row(param: Any) -> str:
    names = _metavar(param) if _is_argument(param) else ", ".join((*param.opts, *param.secondary_opts))
    kind = "" if _is_argument(param) or param.is_flag else _kind(param.type_descriptor.annotation)
    default = param.default
    said = (param.help or "").replace("|", "\\|").replace("\n", " ")
    if default not in (None, False, ()) and not callable(default) and "default:" not in said:
        said += f" Default: `{getattr(default, 'value', default)}`."
    return f"| `{names}` | {kind} | {said} |"


def _kind(annotation: Any) -> str:
    """What a value is, in a word; the values of a choice."""
    if get_origin(annotation) is list:
        return f"{_kind(get_args(annotation)[0])}, repeatable"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return " \\| ".join(f"`{each.value}`" for each in annotation)
    return {"int": "integer", "str": "text", "float": "number"}.get(
        annotation.__name__, annotation.__name__.lower()
    )


# Sphinx knows targets of its own, in all pages.
_ANCHOR = re.compile(r'<a id="([\w-]+)"></a>')
_LINK = re.compile(r"\]\([\w./]*#([\w-]+)\)")


def _formats() -> Iterator[tuple[str, str]]:
    """The pages that `kodec generate --target documents` makes of the schemas."""
    out = ROOT / "out" / "site-formats"
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run(
        [
            sys.executable,
            "-m",
            "kodec",
            "generate",
            "--schemas",
            ROOT / "schemas",
            "--target",
            "documents",
            "--out",
            out,
        ],
        check=True,
        capture_output=True,
    )
    pages = sorted(each.relative_to(out).as_posix() for each in out.rglob("*.md"))
    for page in pages:
        text = _LINK.sub(r"](#format-\1)", _ANCHOR.sub(r"(format-\1)=", (out / page).read_text("utf-8")))
        if page == "index.md":
            listed = "\n".join(each.removesuffix(".md") for each in pages if each != page)
            text += f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
        yield f"formats/{page}", text
