"""Renders the templates of a target with Jinja; the only file that imports jinja2."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser

__all__ = ["Templates"]


class _Loader(jinja2.BaseLoader):
    """Templates in the folder `templates` of a package."""

    def __init__(self, package: str) -> None:
        self.folder = files(package).joinpath("templates")

    def get_source(self, environment: jinja2.Environment, template: str) -> tuple[str, str | None, Any]:
        source = self.folder.joinpath(template)
        if not source.is_file():
            raise jinja2.TemplateNotFound(template)
        return source.read_text("utf-8"), None, lambda: True


class _Lines(Extension):
    """`{% lines x %}` prints a text of zero or more whole lines: unlike `{{ x }}` it adds no newline."""

    tags = {"lines"}  # noqa: RUF012  # as jinja2 declares it

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        return nodes.Output([parser.parse_expression()], lineno=line)


def _indented(text: str, by: int | str) -> str:
    """The lines, indented by a number of spaces or by a text; empty ones stay empty."""
    space = " " * by if isinstance(by, int) else by
    return "".join(space + line if line.strip() else line for line in text.splitlines(keepends=True))


class Templates:
    """The templates of a target's package: `Templates("my.target").render("page.md.j2", page=page)`.

    They print only text and whole numbers. A schema author's words are Text, which a target must first
    convert by a function of `text.py`. A missing name is an error.
    """

    def __init__(self, package: str, **names: Any) -> None:
        self._environment = jinja2.Environment(
            extensions=[_Lines],
            loader=_Loader(package),
            finalize=_printable,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            autoescape=False,
        )
        self._environment.filters["indented"] = _indented
        self._environment.globals.update(names)

    def render(self, template: str, **names: Any) -> str:
        """The rendered text of a template."""
        return self._environment.get_template(template).render(**names)


def _printable(value: object) -> object:
    """Accept what a template may print: text that is code, or a whole number; a schema's Text raises."""
    if isinstance(value, (str, int, jinja2.Undefined)):
        return value
    raise TypeError(
        f"a template prints {type(value).__name__}: convert it by a function of kodec.generator.text"
    )
