"""Docstrings of public names: their sections, what is missing in them, and reStructuredText of them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

__all__ = ["MODULES", "Section", "as_rst", "problems", "public_names", "sections"]

# In the order in which most readers need them, as docs/api.md.
MODULES = (
    "kodec",
    "kodec.repair",
    "kodec.operations",
    "kodec.pipeline",
    "kodec.values",
    "kodec.formats",
    "kodec.kaitai",
    "kodec.results",
    "kodec.errors",
)
_TITLE = re.compile(r"(Args|Attributes|Example|Memory|Raises|Returns|Source|Threads|Yields):(?: (?=\S)|$)")
_ITEM = re.compile(r"    ([*\w`]+(?:, [*\w`]+)*): ?(.*)")
# Arguments that another function describes: "others: as in `scan_table`", "the rest as of `export`".
_AS_IN = re.compile(r"(?:\bothers: |\ball: |\brest,? ?[^.;`]*)as (?:in|of) `([\w.]+)`", re.IGNORECASE)
_SEE = re.compile(r"see `(\w+)`")


class Section(NamedTuple):
    """A part of a docstring.

    Attributes:
        title: "Args" and so on; "" for prose.
        lines: without the title; those of an indented section are indented.
    """

    title: str
    lines: list[str]

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(self.lines)

    def items(self) -> list[tuple[str, str]]:
        """The names and texts of an indented list."""
        found: list[tuple[str, str]] = []
        for line in self.lines:
            item = _ITEM.match(line)
            if item:
                found.append((item[1], item[2]))
            elif found and line.strip():
                found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
        return found


def sections(lines: Sequence[str]) -> list[Section]:
    """A docstring's parts, in their order."""
    found = [Section("", [])]
    for line in lines:
        title = _TITLE.match(line)
        if title:
            rest = line[title.end() :]
            found.append(Section(title[1], [rest] if rest else []))
        elif found[-1].title and line and not line.startswith(" ") and not (found[-1].lines or [""])[-1]:
            found.append(Section("", [line]))
        else:
            found[-1].lines.append(line)
    return [each for each in found if each.text.strip()]


@cache
def public_names() -> Mapping[str, tuple[str, Any]]:
    """Each public name that is no module, as "module.name", with its module and what it is."""
    found = {}
    for module in MODULES:
        there = import_module(module)
        for name in there.__all__:
            thing = getattr(there, name)
            if not name.startswith("__") and not inspect.ismodule(thing):
                found[f"{module}.{name}"] = (module, thing)
    return found


def _doc(thing: Any) -> list[Section]:
    return sections((inspect.getdoc(thing) or "").splitlines())


def _named(name: str, near: str = "") -> tuple[str, Any] | None:
    """The public thing of a short name, of the same module first."""
    for module in (near, *MODULES):
        if f"{module}.{name}" in public_names():
            return module, public_names()[f"{module}.{name}"][1]
    return None


# -- what is missing ------------------------------------------------------------------------------


def problems() -> Iterator[str]:
    """A line for each thing that the docstring of a public name does not have."""
    for name, (module, thing) in public_names().items():
        if inspect.isclass(thing) or inspect.isfunction(inspect.unwrap(thing)):
            yield from (f"{name}: {each}" for each in _missing(module, thing))


def _missing(module: str, thing: Any) -> Iterator[str]:
    parts = _doc(thing)
    titles = {each.title for each in parts}
    yield from _example_problems(module, parts)
    if inspect.isclass(thing):
        fields = [*getattr(thing, "__dataclass_fields__", ()), *getattr(thing, "_fields", ())]
        built = f"{thing.__name__}(" in "".join(part.text for part in parts if part.title == "Example")
        if built and not fields and not issubclass(thing, (Enum, Exception)):
            fields = list(inspect.signature(thing).parameters)
        for field in fields:
            if not field.startswith("_") and field not in ("args", "kwargs") and not _says(parts, field):
                yield f"the docstring does not describe {field}"
        for member, value in vars(thing).items():
            if not member.startswith("_"):
                yield from (f"{member}: {each}" for each in _missing_in_method(value))
        return
    signature = inspect.signature(thing)
    for parameter in signature.parameters:
        if not _says(parts, parameter) and not _borrowed(parts, "Args"):
            yield f"the docstring does not describe {parameter}"
    returns = bool(titles & {"Returns", "Yields"}) or _borrowed(parts, "Returns")
    if signature.return_annotation not in (None, "None") and not returns:
        yield "no section Returns or Yields"
    if "Raises" not in titles and not _borrowed(parts, "Raises"):
        yield "no section Raises"


def _missing_in_method(value: Any) -> Iterator[str]:
    function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
    if not inspect.isfunction(function):
        return
    doc = inspect.getdoc(function) or ""
    if not doc:
        yield "no docstring"
    for name in inspect.signature(function).parameters:
        described = re.search(rf"\b{name}\b|\b[Aa]s\s`[\w.]+`", doc)
        if name not in ("self", "cls") and not described:
            yield f"the docstring does not describe {name}"


def _says(parts: Sequence[Section], name: str) -> bool:
    """Whether a section of names has it, or the prose shows what it is for."""
    return any(
        re.search(rf"\b{name}\b" if part.title in ("Args", "Attributes") else rf"`{name}`", part.text)
        for part in parts
    )


def _borrowed(parts: Sequence[Section], title: str) -> str | None:
    """The function whose section holds for this one too."""
    for part in parts:
        found = _AS_IN.search(" ".join(part.text.split())) if part.title == "Args" else None
        if found and (title == "Args" or title in found[0]):
            return found[1]
    return None


def _example_problems(module: str, parts: Sequence[Section]) -> Iterator[str]:
    examples = [part for part in parts if part.title == "Example"]
    if not examples:
        yield "no section Example"
    elif ">>> " not in examples[0].text:
        see = _SEE.search(examples[0].text)
        other = _named(see[1], module) if see else None
        if other is None or not any(
            part.title == "Example" and ">>> " in part.text for part in _doc(other[1])
        ):
            yield "its example is nowhere"


# -- reStructuredText -----------------------------------------------------------------------------


def as_rst(lines: Sequence[str], thing: Any = None, module: str = "") -> list[str]:
    """A docstring's lines: sections are fields, items with names a list, examples blocks of code."""
    found: list[str] = []
    for part in sections(lines):
        if not part.title:
            found += [*part.lines, ""]
        elif part.title == "Example":
            found += _example(part, module)
        elif part.lines and not part.lines[0].startswith(" "):
            text = " ".join(line.strip() for line in part.lines if line.strip())
            found += [f":{part.title}: {text}", ""]
        else:
            found += [
                f":{part.title}:",
                *(f"    - **{name}**: {text}" for name, text in _items(part, thing)),
                "",
            ]
    return found


def _example(part: Section, module: str) -> list[str]:
    if ">>> " in part.text:
        return [".. code-block:: pycon", "", *part.lines, ""]
    return [f"Example: {_SEE.sub(lambda see: 'see ' + _link(see[1], module), part.text)}", ""]


def _link(name: str, near: str = "") -> str:
    there = _named(name, near)
    return f":py:obj:`{name} <{there[0]}.{name}>`" if there else f"``{name}``"


def _items(part: Section, thing: Any) -> Iterator[tuple[str, str]]:
    """The items, and in place of "others: as in ..." those of the other function."""
    items = part.items()
    own = {name for names, _ in items for name in names.split(", ")}
    for names, text in items:
        borrowed = _AS_IN.search(f"{names}: {text}")
        other = _named(borrowed[1]) if borrowed and names in ("all", "others") else None
        if other is None:
            yield names, text
            continue
        wanted = [name for name in inspect.signature(thing).parameters if name not in own] if thing else []
        theirs = [
            each
            for section in _doc(other[1])
            if section.title == "Args"
            for each in _items(section, other[1])
        ]
        for given, what in theirs:
            chosen = [name for name in given.split(", ") if name in wanted]
            if chosen:
                yield ", ".join(chosen), what
        if not theirs or not theirs[0]:
            yield names, text
