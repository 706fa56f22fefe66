"""Turns figures into a table, a JSON file, a Markdown file and a chart."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.corpora import WORKLOADS, Case
from benchmarks.measure import Figures, Settings, ratio
from benchmarks.targets import Verdict, verdicts

__all__ = ["COLUMNS", "Result", "facts", "markdown", "rows", "show", "svg", "write"]

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = (
    "",
    "case",
    "who",
    "gives",
    "k records/s",
    "MB/s",
    "to kafka-python",
    "to aiokafka",
    "in any round",
)
_TEXT_COLUMNS = 4
_BASES = ("kafka-python", "aiokafka")
NOTE = (
    "Columns are not objects: `kodec-columns` fills Arrow arrays and makes no Python object for a record. "
    "Its multiples of a reader of objects say what is saved by not making them; they are not directly "
    "comparable."
)
_LIBRARIES = (
    "kodec", "pyarrow", "crc32c", "lz4", "python-snappy", "cramjam", "zstandard", "isal", "deflate",
    "kafka-python", "aiokafka", "kaitaistruct",
)  # fmt: skip
_COLOURS = {
    "kodec-columns": "#0b3c5d", "kodec": "#1b6ca8", "kodec-pure": "#8fc1e3", "aiokafka": "#d98032",
    "aiokafka-py": "#e8c39e", "ksc": "#7a5195", "java": "#5b8c5a",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """The measurements of one case in one direction (`decode`, `key-value`, `iterate` or `encode`)."""

    direction: str
    case: Case
    raw_bytes: float
    stored_bytes: float
    figures: list[Figures]

    def of(self, name: str) -> Figures | None:
        """The figures of one reader or writer; None if it was not measured."""
        return next((each for each in self.figures if each.name == name), None)


def facts() -> dict[str, object]:
    """The circumstances of the figures, without names of the machine."""
    libraries = {}
    for name in _LIBRARIES:
        try:
            libraries[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": _commit(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "libraries": libraries,
    }


def _commit() -> str:
    """The commit of the clone, with `-changed` if the codec's files differ from it."""
    try:
        head = _git("rev-parse", "--short", "HEAD")
        folders = ("src", "runtime", "generated", "benchmarks")
        return (
            f"{head}-changed"
            if _git("status", "--porcelain", "--untracked-files=no", "--", *folders)
            else head
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def rows(results: Iterable[Result]) -> list[tuple[str, ...]]:
    """The table, a row for each case and reader, with the columns of `COLUMNS`."""
    made: list[tuple[str, ...]] = []
    for result in results:
        bases = [result.of(name) for name in _BASES]
        for number, each in enumerate(result.figures):
            times = ["" if base is None or each.gives == "bytes" else ratio(each, base) for base in bases]
            shown = [f"{time[0]:.2f}x" if time else "" for time in times]
            spread = times[1] and f"{times[1][1]:.2f}x to {times[1][2]:.2f}x"
            made.append(
                (
                    "" if number else result.direction,
                    "" if number else result.case.name,
                    each.name,
                    "" if each.gives == "bytes" else each.gives,
                    f"{each.rate / 1e3:,.1f}",
                    f"{each.rate * result.raw_bytes / 1e6:,.1f}",
                    *shown,
                    "" if each.name == _BASES[1] else spread or "",
                )
            )
    return made


def show(results: list[Result]) -> None:
    """Print the table and the targets to stdout."""
    _table(COLUMNS, rows(results), _TEXT_COLUMNS)
    targets = [verdict.cells for verdict in verdicts(results)]
    if targets:
        print()
        _table(Verdict.COLUMNS, targets, 2)
    print(f"\n{NOTE}")


def _table(head: tuple[str, ...], lines: list[tuple[str, ...]], texts: int) -> None:
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        widths = [max(len(line[at]) for line in [head, *lines]) for at in range(len(head))]
        for line in [head, *lines]:
            cells = (
                f"{cell:>{width}}" if at >= texts else f"{cell:<{width}}"
                for at, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            print("  ".join(cells).rstrip())
        return
    table = Table(box=None, header_style="bold")
    for at, name in enumerate(head):
        table.add_column(name, justify="right" if at >= texts else "left", no_wrap=True)
    for line in lines:
        table.add_row(*line, style="bold" if any(cell.startswith("kodec") for cell in line) else "")
    Console(width=None if sys.stdout.isatty() else 140).print(table)


def _titles(results: Iterable[Result]) -> str:
    used = {result.case.workload: result for result in reversed(list(results)) if result.case.magic == 2}
    return "".join(
        f"- {name}: {workload.title}, {workload.batch} to a batch, {used[name].raw_bytes:.0f} bytes each\n"
        for name, workload in WORKLOADS.items()
        if name in used
    )


def markdown(results: list[Result], about: list[str], absent: dict[str, str], settings: Settings) -> str:
    """The table with what one must know to read it."""
    known = facts()
    libraries = known["libraries"]
    assert isinstance(libraries, dict)
    lines = [
        f"# {known['date']}, commit {known['commit']}\n",
        f"{known['cpu']}, {known['cores']} cores, {known['system']}, {known['python']}; "
        + ", ".join(f"{name} {number}" for name, number in libraries.items())
        + ".\n",
        f"CPU time; medians of {settings.rounds} rounds in one process, all readers in turn in each. Compare "
        "ratios: the absolute figures move with the machine. `docs/benchmarks-records.md` explains them.\n",
        f"{NOTE}\n",
        *(f"- {line}" for line in about),
        *(f"- {name}: absent: {reason}" for name, reason in absent.items()),
        "",
        _titles(results),
        "## Targets\n",
        *_markdown_table(Verdict.COLUMNS, [verdict.cells for verdict in verdicts(results)], 2),
        "",
        "## All figures\n",
        *_markdown_table(COLUMNS, rows(results), _TEXT_COLUMNS),
    ]
    return "\n".join(lines) + "\n"


def _markdown_table(head: tuple[str, ...], lines: list[tuple[str, ...]], texts: int) -> list[str]:
    return [
        "| " + " | ".join(head) + " |",
        "|" + "|".join("---" if at < texts else "--:" for at in range(len(head))) + "|",
        *("| " + " | ".join(line) + " |" for line in lines),
    ]


def _json(results: list[Result], about: list[str], absent: dict[str, str], settings: Settings) -> str:
    """The figures of the table, a line for each: the median, least and most of the rounds."""
    head = {
        "facts": facts(), "settings": asdict(settings), "about": about, "absent": absent, "note": NOTE,
        "targets": [asdict(verdict) for verdict in verdicts(results)],
    }  # fmt: skip
    lines = [f"{json.dumps(name)}: {json.dumps(found)}," for name, found in head.items()]
    readers = [json.dumps(_summary(result, each)) for result in results for each in result.figures]
    return "\n".join(["{", *lines, '"readers": [', ",\n".join(readers), "]", "}", ""])


def _summary(result: Result, reader: Figures) -> dict[str, object]:
    case = {"direction": result.direction, **asdict(result.case)}
    sizes = {"raw_bytes": result.raw_bytes, "stored_bytes": result.stored_bytes}
    rates = {"rate": reader.rate, "least": min(reader.rates), "most": max(reader.rates)}
    times = {
        base.name: dict(zip(("median", "least", "most"), map(_rounded, ratio(reader, base)), strict=True))
        for base in result.figures
        if base.name in _BASES or base.gives == "bytes"
    }
    named = {"reader": reader.name, "gives": reader.gives, "records": reader.records}
    named |= {"written_bytes": reader.stored_bytes}
    return case | sizes | named | {name: _rounded(rate) for name, rate in rates.items()} | {"times": times}


def _rounded(figure: float) -> float:
    """Four digits: more are noise."""
    return float(f"{figure:.4g}")


def svg(results: list[Result]) -> str:
    """A bar for each case and reader: its speed as a multiple of kafka-python's, on a logarithmic scale."""
    low, high, left, width, bar = 0.05, 640.0, 150, 740, 13

    def x(value: float) -> float:
        share = math.log(min(max(value, low), high) / low) / math.log(high / low)
        return left + share * width

    parts: list[str] = []
    y = 76
    for result in results:
        base = result.of("kafka-python")
        if base is None:
            continue
        shown = [each for each in result.figures if each is not base and each.gives != "bytes"]
        parts.append(
            f'<text x="{left - 10}" y="{y + bar * len(shown) / 2 + 3:.0f}" text-anchor="end">'
            f"{escape(result.direction)} {escape(result.case.name)}</text>"
        )
        for each in shown:
            value = ratio(each, base)[0]
            start, stop = sorted((x(1), x(value)))
            parts.append(
                f'<rect x="{start:.1f}" y="{y}" width="{max(stop - start, 1):.1f}" height="{bar - 2}" '
                f'fill="{_COLOURS[each.name]}"/>'
                f'<text x="{stop + 4:.1f}" y="{y + bar - 4}" font-size="10">'
                f"{value:.{2 if value < 10 else 0}f}x</text>"
            )
            y += bar
        y += 8
    axis = [
        f'<path d="M{x(tick):.1f} 68V{y}" stroke="{"#444" if tick == 1 else "#ddd"}"/>'
        f'<text x="{x(tick):.1f}" y="64" text-anchor="middle" font-size="10">{tick:g}x</text>'
        for tick in (0.1, 0.3, 1, 3, 10, 30, 100, 300)
    ]
    legend = [
        f'<rect x="{left + 108 * at}" y="8" width="11" height="11" fill="{colour}"/>'
        f'<text x="{left + 108 * at + 16}" y="18">{name}</text>'
        for at, (name, colour) in enumerate(_COLOURS.items())
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 60}" height="{y + 10}" '
        'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f'<text x="{left}" y="38" font-size="10">Times as fast as kafka-python; kodec-columns makes no '
        "objects: not directly comparable.</text>"
        f'<text x="{left - 10}" y="64" text-anchor="end" font-size="10">kafka-python = 1x</text>'
        + "\n".join(legend + axis + parts)
        + "</svg>\n"
    )


def write(
    folder: Path, results: list[Result], about: list[str], absent: dict[str, str], settings: Settings
) -> list[Path]:
    """Write `<date>-<commit>.json`, `.md` and `.svg` to `folder`; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    known = facts()
    stem = f"{known['date']}-{known['commit']}"
    texts = {
        "json": _json(results, about, absent, settings),
        "md": markdown(results, about, absent, settings),
        "svg": svg(results),
    }
    written = []
    for suffix, text in texts.items():
        path = folder / f"{stem}.{suffix}"
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written
