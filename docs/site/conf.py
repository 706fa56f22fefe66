"""How Sphinx builds the site: `make docs`. Pages are Markdown, the API reference is made from docstrings."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import docstrings  # noqa: E402  # beside this file
import reference  # noqa: E402  # beside this file

project = "kodec"
author = "the kodec authors"
copyright = "the kodec authors; Apache License 2.0. Kafka and Spark are trademarks of the Apache Foundation"
version = release = installed_version("kodec")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["site"]
html_theme = "furo"
html_title = f"kodec {version}"
html_static_path = ["static"]
html_css_files = ["kodec.css"]
html_js_files = ["copy.js"]
html_show_sphinx = False
html_show_sourcelink = html_copy_source = False
html_theme_options: dict[str, Any] = {"top_of_page_buttons": []}
# The address of the repository has one place; before the first release there is none.
_URLS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"].get("urls", {})
if "Repository" in _URLS:
    html_theme_options["footer_icons"] = [
        {"name": "Repository", "url": _URLS["Repository"], "html": "Repository", "class": "repository"}
    ]

highlight_language = "none"
# --first is no dash
smartquotes = False
# In our docstrings one backquote is code, as in Markdown.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
toc_object_entries = False
python_use_unqualified_type_names = True

myst_enable_extensions = ["attrs_block", "deflist"]
myst_heading_anchors = 4


def setup(app: Any) -> dict[str, bool]:
    """Make the pages of the reference before Sphinx looks for pages."""
    app.connect("builder-inited", lambda app: reference.write(Path(app.srcdir) / "reference"))
    app.connect("source-read", _links_out)
    app.connect("autodoc-process-docstring", _as_rst)
    return {"parallel_read_safe": True}


# A link to a file of the repository is no page of the site: its name stays.
_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]+\)")


def _links_out(app: Any, name: str, source: list[str]) -> None:
    if not name.startswith("reference/"):
        source[0] = _OUTSIDE.sub(r"\1", source[0])


def _as_rst(app: Any, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    shown = docstrings.as_rst(lines, thing, name.rpartition(".")[0])
    lines[:] = [line.replace("/data/kafka-logs", reference.SAMPLE) for line in shown]
