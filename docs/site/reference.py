"""Writes the pages of the reference: public names, verbs, formats. Nothing here is written twice by hand."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from inspect import cleandoc
from pathlib import Path

from docstrings import MODULES, problems, public_names
from samples import sections

from kodec.cli.commands import GROUPS
from kodec.cli.parser import Command, Parameter
from kodec.generator.driver import load, render_all
from kodec.generator.targets.documents.plan import Page, pages

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLE = "tests/data/kafka-4.3.1/logs"


def write(folder: Path) -> None:
    """Write all pages into a folder, in place of what is there.

    Raises: ValueError for public names whose docstrings lack something.
    """
    if missing := list(problems()):
        raise ValueError("\n".join(["docstrings of public names:", *missing]))
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in (*_api(), *_commands(), *_formats(), ("changes.md", _changes())):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _contents(title: str, text: str, names: Sequence[str], depth: int = 1) -> str:
    listed = "\n".join(names)
    return f"# {title}\n\n{text}\n\n```{{toctree}}\n:maxdepth: {depth}\n\n{listed}\n```\n"


def _changes() -> str:
    """The changelog; its links are from the root of the repository."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    return re.sub(r"\]\(docs/", "](../", text)


def _api() -> Iterator[tuple[str, str]]:
    """A page for each public module, with each of its names from its docstring, in the order of api.md."""
    tasks = (ROOT / "docs" / "api.md").read_text("utf-8")
    for module in MODULES:
        listed = re.findall(r"`(\w+)`", tasks.partition(f"\n## `{module}`\n")[2].partition("\n## ")[0])
        there = import_module(module)
        doc = (there.__doc__ or "").strip()
        parts = [f"# `{module}`\n\n{doc}\n"]
        own = {name.rpartition(".")[2]: thing for name, (of, thing) in public_names().items() if of == module}
        order = {name: place for place, name in reversed(list(enumerate(listed)))}
        for name, thing in sorted(own.items(), key=lambda item: (order.get(item[0], len(listed)), item[0])):
            parts.append(f"## {name}\n\n```{{eval-rst}}\n{_directive(module, name, thing)}\n```\n")
        yield f"api/{module}.md", "\n".join(parts)
    text = "Every public name, from its docstring; [by task](../../api.md). What is not here may change."
    yield "api/index.md", _contents("API reference", text, MODULES)


def _directive(module: str, name: str, thing: object) -> str:
    if isinstance(thing, type):
        # the section Attributes of the class shows what its fields are
        fields = [*getattr(thing, "__dataclass_fields__", ()), *getattr(thing, "_fields", ())]
        left_out = f"\n   :exclude-members: {', '.join(fields)}" if fields else ""
        return f".. autoclass:: {module}.{name}\n   :members:{left_out}"
    kind = "autofunction" if callable(thing) else "autodata"
    return f".. {kind}:: {module}.{name}"


def _commands() -> Iterator[tuple[str, str]]:
    """A page for each verb, from its parser."""
    from kodec.cli.app import command

    text = [
        "# Command line\n",
        "`kodec VERB --help` prints the same in a terminal. [Commands by example](../../commands.md) has a "
        "line for each task, and the meaning of exit codes.",
    ]
    for group, verbs in GROUPS.items():
        text += [f"\n## {group}\n", "| command | what it does |", "|---|---|"]
        for verb, summary in verbs.items():
            yield f"cli/{verb}.md", _verb(verb, command(verb))
            text.append(f"| [kodec {verb}]({verb}.md) | {summary} |")
    yield "cli/index.md", "\n".join([*text, "", _hidden(verb for verbs in GROUPS.values() for verb in verbs)])


def _hidden(names: Iterable[str]) -> str:
    """A table of contents for the side of the page alone."""
    return "\n".join(["```{toctree}", ":hidden:", "", *names, "```", ""])


def _verb(verb: str, command: Command) -> str:
    text, _, rest = cleandoc(command.text).partition("\nexample:")
    example, _, codes = rest.partition("exit:")
    parts = [f"# kodec {verb}\n", f"```text\n{command.usage}\n```\n", _as_code(text.strip()) + "\n"]
    if example.strip():
        parts.append(f"```console\n{_commands_of(example)}\n```\n")
    for title, rows in (("Arguments", command.arguments), ("Options", command.options)):
        if rows:
            parts += [
                f"## {title}\n",
                f"| {title[:-1].lower()} | meaning |\n|---|---|",
                *map(_row, rows),
                "",
            ]
    if codes.strip():
        parts += ["## Exit codes\n", *(f"- {each}" for each in re.split(r"\s{2,}", codes.strip())), ""]
    return "\n".join(parts)


def _as_code(text: str) -> str:
    """Options in code style."""
    return re.sub(r"(?<![`\w-])(--[a-z][a-z-]*)(?!`)", r"`\1`", text)


def _commands_of(example: str) -> str:
    """With the sample that every clone has in place of a broker's directory."""
    lines = example.replace("/data/kafka-logs", SAMPLE).strip().splitlines()
    return "\n".join(f"$ {line.strip()}" for line in lines)


def _row(each: Parameter) -> str:
    kind = ""
    if each.is_option:
        kind = " \\| ".join(f"`{value}`" for value in each.values) or each.kind
        kind += ", repeatable" if each.several else ""
    help_text = _as_code(each.help.replace("|", "\\|"))
    if each.shown_default:
        help_text += f" Default: `{each.shown_default}`."
    # under the name, so that a phone has room for the text
    return f"| `{each.name}`{f'<br>{kind}' if kind else ''} | {help_text} |"


# The folders of schemas, in the order in which most readers need them.
_FOLDERS: Mapping[str, str] = {
    "log": "Log segments, indexes and snapshots",
    "control": "Control records",
    "messages": "Messages in Kafka's own topics",
    "metadata": "Records of cluster metadata",
    "remote_log": "Remote log metadata",
    "mirror": "Topics of MirrorMaker 2",
    "streams": "Topics of Kafka Streams",
    "cruise_control": "Topics of Cruise Control",
    "framings": "Framings of schema registries",
    "tier": "Remote storage by Aiven's plugin",
    "redpanda": "Segments of Redpanda",
    "primitives": "Primitive types",
    "wire": "Wire types of messages",
    "conformance": "Types of the conformance suite",
}
# Sphinx knows targets of its own, in all pages.
_ANCHOR = re.compile(r'<a id="([\w-]+)"></a>')
_LINK = re.compile(r"\]\([\w./]*#([\w-]+)\)")


def _formats() -> Iterator[tuple[str, str]]:
    """The pages of the target `documents` with their diagrams, and bytes of real systems."""
    made = render_all(ROOT / "schemas", targets=["documents"]).modules
    known = {page.path: page for page in pages(load(ROOT / "schemas"))}
    bytes_of = sections()
    for path, text in made.items():
        if path in known:
            text = _LINK.sub(r"](#format-\1)", _ANCHOR.sub(r"(format-\1)=", text))
            text += bytes_of.get(path.removesuffix(".md"), "")
        if path in known or path.endswith(".svg"):
            yield f"formats/{path}", text
    yield "formats/fields.md", _fields(known.values())
    yield from _format_lists({path: text for path, text in made.items() if path.endswith(".md")})


def _format_lists(made: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """A page for each folder of schemas, and one that lists these."""
    folders: dict[str, list[tuple[str, str]]] = {}
    for path, text in sorted(made.items()):
        folder, _, name = path.rpartition("/")
        if folder:
            title = next(line for line in text.splitlines() if line.startswith("# "))
            folders.setdefault(folder, []).append((name.removesuffix(".md"), title.removeprefix("# ")))
    text = [
        "# Formats\n",
        "From the schemas: where each field is, which rules it has, and which versions have it. "
        "[All fields](fields.md) lists the fields of all formats by name.\n",
        "| folder | formats |",
        "|---|---|",
    ]
    for folder, listed in sorted(folders.items(), key=lambda each: list(_FOLDERS).index(each[0])):
        text.append(f"| [{_FOLDERS[folder]}]({folder}/index.md) | {len(listed)} |")
        rows = [f"| [`{name}`]({name}.md) | {title} |" for name, title in listed]
        contents = _hidden(f"{name} <{name}>" for name, _ in listed)
        page = [f"# {_FOLDERS[folder]}\n", "| schema | format |", "|---|---|", *rows, "", contents]
        yield f"formats/{folder}/index.md", "\n".join(page)
    ordered = (f"{folder}/index" for folder in _FOLDERS if folder in folders)
    yield "formats/index.md", "\n".join([*text, "", _hidden(["fields", *ordered])])


def _fields(made: Iterable[Page]) -> str:
    """Every field of every type, and where it is."""
    places: dict[str, set[tuple[str, str]]] = {}
    for page in made:
        for kind in page.types:
            for row in (row for table in kind.tables for row in table.rows):
                name = row.name.strip("`").rpartition(".")[2]
                places.setdefault(name, set()).add((kind.name, kind.anchor))
    lines = ["# All fields", "", "| field | in |", "|---|---|"]
    for name, where in sorted((name, where) for name, where in places.items() if name):
        links = ", ".join(f"[{kind}](#format-{anchor})" for kind, anchor in sorted(where))
        lines.append(f"| `{name}` | {links} |")
    return "\n".join(lines) + "\n"
