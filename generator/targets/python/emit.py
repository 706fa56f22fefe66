"""Views of modules and tests to formatted text."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ruff import find_ruff_bin  # type: ignore[import-untyped]  # it publishes no types

from kodec.generator.target import mark
from kodec.generator.targets.python.contract_tests import ContractTests
from kodec.generator.targets.python.streams.samples import StreamTests
from kodec.generator.targets.python.streams.views import StreamModule
from kodec.generator.targets.python.views.modules import ModuleView
from kodec.generator.templates import Templates
from kodec.generator.text import Text, python_literal

__all__ = [
    "formatted",
    "render_index",
    "render_module",
    "render_package",
    "render_streams",
    "render_tests",
]

LINE_LENGTH = 110
# what no text of a schema's can hold
_IMPORTS = "\0imports\0\n"
# a name, unless it is an attribute, an argument's, or in a string or a comment
_NAMES = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|#[^\n]*|(?<![\w.])([A-Za-z_]\w*)(?!\w|=[^=])',
    re.DOTALL,
)


def _import_line(start: str, names: list[str]) -> str:
    one = start + ", ".join(names)
    if len(one) <= LINE_LENGTH:
        return one
    return start + "(\n" + "".join(f"    {name},\n" for name in names) + ")"


def _params(params: tuple[tuple[str, str], ...]) -> str:
    """The parameters of a function after its options, which are then required."""
    return "".join(f", {name}: {kind}" for name, kind in params)


def _arguments(params: tuple[tuple[str, str], ...], optional: bool = False) -> str:
    """The parameters of a type as those of a method, after others; None is what the object has."""
    if optional:
        any_ = ("Any",)
        params = tuple(
            (name, f"{kind} = None" if kind in any_ or kind.endswith(" | None") else f"{kind} | None = None")
            for name, kind in params
        )
    return _params(params)


_TEMPLATES = Templates(
    "kodec.generator.targets.python", import_line=_import_line, params=_params, arguments=_arguments
)


def render_module(view: ModuleView) -> str:
    """The text of one generated module, not yet formatted."""
    text = _TEMPLATES.render("module.py.j2", m=view, mark=mark(view.schema), imports=_IMPORTS)
    head, body = text.split(_IMPORTS)
    uses = frozenset(_NAMES.findall(body))
    return head + _TEMPLATES.render("imports.j2", m=replace(view, uses=uses)) + body


def render_streams(view: StreamModule) -> str:
    """The text of the module of a streamed schema, not yet formatted."""
    body = _TEMPLATES.render("stream.py.j2", m=view)
    uses = frozenset(_NAMES.findall(body))
    return _TEMPLATES.render("stream_head.j2", m=replace(view, uses=uses), mark=mark(view.schema)) + body


def render_tests(view: ContractTests | StreamTests) -> str:
    """The text of one generated test module, not yet formatted."""
    if isinstance(view, StreamTests):
        return _TEMPLATES.render("stream_test.py.j2", m=view, mark=mark(view.schema))
    return _TEMPLATES.render("test.py.j2", m=view, mark=mark(view.schema))


def render_package(folder: str) -> str:
    """The text of the `__init__.py` of a folder, whose name is empty for the outermost one."""
    inside = f" in `{folder}`" if folder else ""
    return f'# {mark()}\n"""Codecs made from the schemas{inside}; never edited by hand."""\n'


def render_index(messages: Mapping[tuple[Text, Text, int], tuple[str, str]]) -> str:
    """The text of `index.py`: the class of each message, by its topic, kind and number."""
    rows = sorted(
        (python_literal(topic), python_literal(kind), number, found)
        for (topic, kind, number), found in messages.items()
    )
    lines = [
        f"# {mark()}",
        '"""Which class a message is: by topic, kind and number, its module in this package and its name."""',
        "",
        "from __future__ import annotations",
        "",
        '__all__ = ["MESSAGES"]',
        "",
        "MESSAGES: dict[tuple[str, str, int], tuple[str, str]] = {",
        *(f"    ({topic}, {kind}, {number}): {found!r}," for topic, kind, number, found in rows),
        "}",
    ]
    return "\n".join(lines) + "\n"


def formatted(texts: Mapping[str, str]) -> dict[str, str]:
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
