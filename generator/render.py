"""Views to text through Jinja; the only file that imports jinja2."""

from __future__ import annotations

import ast
import subprocess
import tempfile
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from ruff import find_ruff_bin

from kodec.generator.targets.native.kernel import Kernel
from kodec.generator.targets.python.views import ModuleView, View

__all__ = ["GENERATOR_VERSION", "formatted", "render_kernel", "render_module", "render_tests"]

GENERATOR_VERSION = "0.1.0"
LINE_LENGTH = 110


class _Loader(jinja2.BaseLoader):
    def get_source(self, environment: jinja2.Environment, template: str) -> tuple[str, str | None, Any]:
        # "python/module.py.j2" is module.py.j2 among the templates of the target python
        target, *path = template.split("/")
        source = files("kodec.generator.targets").joinpath(target, "templates", *path)
        if not source.is_file():
            raise jinja2.TemplateNotFound(template)
        return source.read_text("utf-8"), None, lambda: True


def _import_line(start: str, names: list[str]) -> str:
    one = start + ", ".join(names)
    if len(one) <= 110:
        return one
    return start + "(\n" + "".join(f"    {name},\n" for name in names) + ")"


def _params(dynamic: list[View]) -> str:
    return "".join(f", {param.name}: int = 0" for param in dynamic)


def _args(dynamic: list[View]) -> str:
    return "".join(f", {param.name}" for param in dynamic)


def _printable(value: object) -> object:
    """What a template may print: text that is code already, or a whole number; a schema's Text raises."""
    if isinstance(value, (str, int, jinja2.Undefined)):
        return value
    raise TypeError(f"a template prints {type(value).__name__}, which no target has put into words")


_ENVIRONMENT = jinja2.Environment(
    finalize=_printable,
    loader=_Loader(),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,
)
_ENVIRONMENT.globals.update(import_line=_import_line, params=_params, args=_args)


def render_module(view: ModuleView) -> str:
    """The text of one generated module, not yet formatted."""
    template = _ENVIRONMENT.get_template("python/module.py.j2")
    draft = ast.parse(template.render(m=view, version=GENERATOR_VERSION))
    uses = {node.id for node in ast.walk(draft) if isinstance(node, ast.Name)}
    return template.render(m=replace(view, uses=uses), version=GENERATOR_VERSION)


def render_kernel(kernel: Kernel) -> dict[str, str]:
    """The texts of one kernel by file name: plain C, its header, the Python module over it and its types."""
    found = {}
    for name, template in (
        (f"{kernel.name}_core.h", "core.h"),
        (f"{kernel.name}_core.c", "core.c"),
        (f"{kernel.name}.c", "module.c"),
        (f"{kernel.name}.pyi", "face.pyi"),
    ):
        text = _ENVIRONMENT.get_template(f"native/{template}.j2").render(
            k=kernel, f=kernel.facts, version=GENERATOR_VERSION
        )
        found[name] = _tidy(text)
    return found


def _tidy(text: str) -> str:
    """No blanks at the end of a line, and no empty line beside another one or inside indented code."""
    lines: list[str] = []
    for line in (each.rstrip() for each in text.splitlines()):
        if line or (lines and lines[-1]):
            lines.append(line)
    found = [
        line
        for index, line in enumerate(lines)
        if line or not lines[index + 1 : index + 2] or not lines[index + 1].startswith(("  ", "}"))
    ]
    return "\n".join(found).strip("\n") + "\n"


def render_tests(view: Any) -> str:
    """The text of one generated test module, not yet formatted."""
    return _ENVIRONMENT.get_template("python/test.py.j2").render(m=view, version=GENERATOR_VERSION)


def formatted(texts: dict[str, str]) -> dict[str, str]:
    """The same modules as ruff formats them; its version is pinned, so that the text is always the same."""
    with tempfile.TemporaryDirectory(prefix="kodec-generate-") as folder:
        root = Path(folder)
        for index, text in enumerate(texts.values()):
            (root / f"{index}.py").write_text(text, encoding="utf-8", newline="\n")
        done = subprocess.run(
            [
                find_ruff_bin(),
                "format",
                "--isolated",
                "--no-cache",
                "--quiet",
                f"--line-length={LINE_LENGTH}",
                folder,
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"ruff could not format what the templates gave: {done.stderr.strip()}")
        return {name: (root / f"{index}.py").read_text("utf-8") for index, name in enumerate(texts)}
