"""Draws the pictures of the pages as SVG: `python docs/site/pictures.py`; a test compares the files.

Layers come from the import contracts in pyproject.toml, languages from the generator, terminals from commands
that run on real logs. The colours are the pictures' own: light or dark, as the reader's system.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from unicodedata import east_asian_width

__all__ = ["FOLDER", "pictures"]

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "docs" / "pictures"
_INK, _PAPER, _LINE = "#1f2933", "#ffffff", "#7b8794"
_FILLS = {"schema": "#fdf0d5", "made": "#e3f1e4", "hand": "#e4ecfb", "log": "#f1f3f6", "inner": "#ffffff"}
# Each colour in dark surroundings; an image follows the system, as it does not see the page's theme.
_DARK = {
    _INK: "#e4e7eb",
    _PAPER: "#16202b",
    _LINE: "#7b8794",
    "#fdf0d5": "#4a3c1e",
    "#e3f1e4": "#1f4027",
    "#e4ecfb": "#22355a",
    "#f1f3f6": "#1d2936",
}
_MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_SANS = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"

_WIDEST = 106

# What each layer is for; a layer without a line here fails.
_LAYERS = {
    "kodec.cli": "verbs: arguments, one call, printing",
    "kodec.handoff": "schemas packed for other teams",
    "kodec.kaitai": "Spark, any schema",
    "kodec.conformance": "test vectors",
    "kodec.formats": "any schema",
    "kodec.importer": "Kafka's definitions",
    "kodec.pipeline": "jobs and Spark",
    "kodec.report": "pages",
    "kodec.log": "logs: read, look up, check, write, repair, convert",
    "kodec.generated": "readers and writers, from schemas",
    "kodec.stores": "disks and object stores",
    "kodec.runtime": "varints, checksums, codecs, errors",
}
# The names of targets that are languages, as people write them.
_LANGUAGES = {
    "python": "Python",
    "java": "Java",
    "go": "Go",
    "rust": "Rust",
    "typescript": "TypeScript",
    "c": "C",
}
_SEGMENT = "logs/orders-0/00000000000000000000.log"
# The commands in a terminal, each with the number of lines that are shown.
_TERMINALS = {
    "terminal-disk.svg": (("ls disk", 9), ("verify disk", 9), ("recover disk", 4)),
    "terminal-explain.svg": ((f"explain {_SEGMENT} --offset 20 --limit 1", 23),),
    "terminal-offsets.svg": (
        ("offsets logs --group orders-classic --topic orders", 9),
        ("find logs --topic orders --last 2", 6),
    ),
}


def pictures() -> Iterator[tuple[str, str]]:
    """The name and the text of each picture."""
    yield "overview.svg", _overview()
    yield "architecture.svg", _architecture()
    for name, commands in _TERMINALS.items():
        yield name, _terminal(commands)


# -- boxes ----------------------------------------------------------------------------------------


def _svg(width: int, height: int, title: str, parts: Sequence[str], paper: str = _PAPER) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'font-family="{_SANS}" font-size="14" fill="{_INK}">',
            f"<title>{escape(title)}</title>",
            *([_dark()] if paper == _PAPER else []),
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            f'orient="auto"><path d="M0 0 8 4 0 8z" fill="{_LINE}"/></marker></defs>',
            f'<rect width="{width}" height="{height}" rx="10" fill="{paper}"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


def _dark() -> str:
    rules = "".join(f'[fill="{light}"]{{fill:{dark}}}' for light, dark in _DARK.items())
    return f"<style>@media (prefers-color-scheme: dark) {{{rules}}}</style>"


def _box(x: float, y: float, width: float, height: float, kind: str) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" fill="{_FILLS[kind]}" '
        f'stroke="{_LINE}"/>'
    )


def _text(x: float, y: float, text: str, more: str = 'text-anchor="middle"') -> str:
    return f'<text x="{x:g}" y="{y:g}" {more}>{escape(text)}</text>'


def _labelled(
    x: float, y: float, width: float, height: float, kind: str, name: str, *lines: str
) -> Iterator[str]:
    yield _box(x, y, width, height, kind)
    top = y + height / 2 + 5 - 9 * len(lines)
    yield _text(x + width / 2, top, name, 'text-anchor="middle" font-weight="600"')
    for number, line in enumerate(lines, 1):
        yield _text(x + width / 2, top + 18 * number, line, 'text-anchor="middle" font-size="12"')


def _arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    return (
        f'<path d="M{x1:g} {y1:g} {x2:g} {y2:g}" stroke="{_LINE}" stroke-width="1.6" fill="none" '
        'marker-end="url(#tip)"/>'
    )


def _overview() -> str:
    """Narrow, so that a phone shows its words at their size."""
    targets = {each.name for each in (ROOT / "generator" / "targets").iterdir()}
    languages = [name for target, name in _LANGUAGES.items() if target in targets]
    parts = [
        *_labelled(20, 16, 150, 84, "schema", "schemas", "a .ksy file for", "each format,", "no code"),
        _arrow(170, 58, 206, 58),
        *_labelled(210, 16, 170, 84, "made", "kodec generate", "readers, writers in", *_halves(languages)),
        _arrow(295, 100, 295, 136),
        *_labelled(
            20, 140, 150, 84, "schema", "log directory", "a disk, a backup,", "remote storage;", "no broker"
        ),
        _arrow(170, 182, 206, 182),
        *_labelled(
            210, 140, 170, 84, "hand", "kodec", "command line,", "Python library,", "Spark data source"
        ),
        _arrow(295, 224, 295, 250),
    ]
    results = (
        "records and Arrow tables",
        "Parquet, Iceberg, Delta, SQL",
        "damage found, skipped, repaired",
        "clusters that serve the records again",
    )
    parts.append(_box(20, 254, 360, 24 * len(results) + 16, "inner"))
    for number, text in enumerate(results):
        parts.append(_text(200, 279 + number * 24, text, 'text-anchor="middle" font-size="13"'))
    title = (
        "Schemas make readers and writers in six languages; kodec uses them to read and repair Kafka's logs"
    )
    return _svg(400, 382, title, parts)


def _halves(names: Sequence[str]) -> tuple[str, str]:
    half = (len(names) + 1) // 2
    return ", ".join(names[:half]) + ",", ", ".join(names[half:])


def _contracts() -> list[list[list[str]]]:
    """The layers of each contract, from the top; a layer is one or several modules."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    return [
        [[name.strip() for name in layer.split("|")] for layer in contract["layers"]]
        for contract in contracts
        if contract["type"] == "layers"
    ]


def _architecture() -> str:
    package, log = _contracts()[:2]
    left, width, y = 20, 640, 20
    parts: list[str] = []
    for layer in package:
        if parts:
            parts.append(_arrow(left + width / 2, y - 16, left + width / 2, y - 2))
        kind = "made" if layer == ["kodec.generated"] else "hand"
        each = (width - 8 * (len(layer) - 1)) / len(layer)
        height = 30 + 34 * len(log) + 22 if layer == ["kodec.log"] else 46
        for number, name in enumerate(layer):
            x = left + number * (each + 8)
            if name == "kodec.log":
                parts += [_box(x, y, each, height, "log"), *_rooms(log, x, y, each)]
            else:
                parts += _labelled(x, y, each, height, kind, name.removeprefix("kodec."), _LAYERS[name])
        y += height + 18
    bottom = y - 18
    side = left + width + 60
    made = bottom - 110
    parts += [
        *_labelled(side, 20, 190, 60, "schema", "schemas", "the only facts about bytes"),
        _arrow(side + 95, 80, side + 95, 112),
        *_labelled(side, 114, 190, 60, "hand", "generator", "independent of Kafka"),
        f'<path d="M{side + 95} 174 V{made + 23} H{left + width + 4}" stroke="{_LINE}" stroke-width="1.6" '
        'fill="none" stroke-dasharray="5 4" marker-end="url(#tip)"/>',
        _text(side + 105, 300, "writes", 'font-size="12"'),
        _text(side + 105, 318, "generated/,", 'font-size="12"'),
        _text(side + 105, 336, "which is", 'font-size="12"'),
        _text(side + 105, 354, "committed", 'font-size="12"'),
    ]
    title = (
        "Layers of kodec: each imports only those below it; log stands on generated readers and on runtime"
    )
    return _svg(side + 210, bottom + 20, title, parts)


def _rooms(layers: Sequence[Sequence[str]], x: float, y: float, width: float) -> Iterator[str]:
    yield _text(x + 12, y + 20, "log", 'font-weight="600"')
    yield _text(x + 44, y + 20, _LAYERS["kodec.log"], 'font-size="12"')
    top = y + 32
    for layer in layers:
        each = (width - 24 - 6 * (len(layer) - 1)) / len(layer)
        for number, name in enumerate(layer):
            left = x + 12 + number * (each + 6)
            yield _box(left, top, each, 26, "inner")
            yield _text(
                left + each / 2,
                top + 18,
                name.removeprefix("kodec.log."),
                'text-anchor="middle" font-size="13"',
            )
        top += 34


# -- terminals ------------------------------------------------------------------------------------


def _terminal(commands: Sequence[tuple[str, int]]) -> str:
    lines: list[tuple[str, bool]] = []
    with tempfile.TemporaryDirectory() as folder:
        data = ROOT / "tests" / "data" / "kafka-4.3.1"
        shutil.copytree(data / "crashed", Path(folder, "disk"))
        shutil.copytree(data / "logs", Path(folder, "logs"))
        for command, most in commands:
            shown = _output(folder, command)
            lines += [(f"$ kodec {command}", True), *((line, False) for line in shown[:most])]
            if len(shown) > most:
                lines.append(("…", False))
    cell, row = 7.8, 19
    width = round(max(_cells(line) for line, _ in lines) * cell) + 40
    height = 44 + row * len(lines) + 14
    dots = (f'<circle cx="{20 + 18 * each}" cy="19" r="5.5" fill="#55606e"/>' for each in range(3))
    parts = [*dots, f'<g font-family="{_MONO}" font-size="13" fill="#d8dee6">']
    for number, (line, typed) in enumerate(lines):
        weight = ' font-weight="600" fill="#8fd19e"' if typed else ""
        # the width is stated, so that columns stand in line in any font
        length = f'textLength="{_cells(line) * cell:g}" lengthAdjust="spacingAndGlyphs"' if line else ""
        # spaces that no renderer takes together
        parts.append(_text(20, 54 + row * number, line.replace(" ", "\xa0"), f"{length}{weight}"))
    parts.append("</g>")
    return _svg(width, height, "; ".join(f"kodec {command}" for command, _ in commands), parts, "#1d2430")


def _cells(line: str) -> int:
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in line)


def _output(folder: str, command: str) -> list[str]:
    environment = os.environ | {"COLUMNS": "100", "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1", "TZ": "UTC"}
    done = subprocess.run(
        [sys.executable, "-m", "kodec", *command.split()],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )
    here = f"{Path(folder).resolve()}{os.sep}"
    return [_fitted(line.replace(here, "").rstrip()) for line in done.stdout.splitlines()]


def _fitted(line: str) -> str:
    return line if len(line) <= _WIDEST else f"{line[: _WIDEST - 1]}…"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pictures():
        (FOLDER / name).write_text(text, encoding="utf-8")
