"""Charts as SVG for a page: text has the colours of the page, nothing is loaded and no script runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import pygal
from pygal.style import Style

__all__ = ["columns", "rows"]

# pygal searches for maps with a module that Python 3.12 removed and that earlier versions warn about.
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__module__ != "pygal"]

# The colours of the page, light or dark; bars are readable on both.
_TEXT = "currentColor"
_STYLE = Style(
    background="transparent",
    plot_background="transparent",
    foreground=_TEXT,
    foreground_strong=_TEXT,
    foreground_subtle=_TEXT,
    opacity="1",
    colors=("#4682b4",),
    font_family="system-ui, sans-serif",
    label_font_size=12,
    major_label_font_size=12,
    guide_stroke_color="#8884",
    major_guide_stroke_color="#8884",
)
_ROW = 26
# As wide as leaves labels legible on a phone, where the page shrinks a chart no further than to 34rem.
_WIDTH = 600


def columns(name: str, labels: Sequence[str], values: Sequence[float], unit: str) -> str:
    """A column for each value, from left to right; with some of the labels. `name` is unique in a page."""
    chart = pygal.Bar(
        **_settings(unit),
        width=_WIDTH,
        height=280,
        x_label_rotation=30,
        x_labels_major_count=6,
        show_minor_x_labels=False,
        truncate_label=-1,
    )
    return _drawn(chart, name, labels, values)


def rows(name: str, labels: Sequence[str], values: Sequence[float], unit: str) -> str:
    """A bar for each value, from top to bottom. `name` is unique in a page."""
    height = 60 + _ROW * len(labels)
    chart = pygal.HorizontalBar(**_settings(unit), width=_WIDTH, height=height, truncate_label=32)
    return _drawn(chart, name, labels[::-1], values[::-1])


def _settings(unit: str) -> dict[str, Any]:
    return {
        "style": _STYLE,
        "show_legend": False,
        "js": [],
        "explicit_size": False,
        "disable_xml_declaration": True,
        "no_data_text": "nothing",
        "min_scale": 3,
        "max_scale": 6,
        "margin": 8,
        "value_formatter": lambda value: f"{value:,.4g} {unit}",
    }


def _drawn(chart: Any, name: str, labels: Sequence[str], values: Sequence[float]) -> str:
    # random by default: equal input must make an equal page
    chart.uuid = name
    chart.x_labels = labels
    chart.add(name, values)
    chart.add_xml_filter(_without_scripts)
    drawn: str = chart.render(is_unicode=True)
    return drawn


def _without_scripts(root: Any) -> Any:
    for parent in list(root.iter()):
        for child in list(parent):
            if isinstance(child.tag, str) and child.tag.rpartition("}")[2] == "script":
                parent.remove(child)
    return root
