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
from benchmarks.measure import Figures, Settings

__all__ = ["COLUMNS", "Result", "facts", "markdown", "rows", "show", "svg", "write"]

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = ("", "case", "who", "k records/s", "MB/s", "to kafka-python", "kodec is", "in any round")
_LIBRARIES = (
    "kodec", "crc32c", "lz4", "python-snappy", "cramjam", "zstandard", "isal", "deflate", "kafka-python",
    "aiokafka", "kaitaistruct",
)  # fmt: skip
_COLOURS = {
    "kodec": "#1b6ca8", "aiokafka": "#d98032", "aiokafka-py": "#e8c39e",
    "ksc": "#7a5195", "java": "#5b8c5a",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """What was measured of one case in one direction (`decode` or `encode`); kodec's figures come first."""

    direction: str
    case: Case
    raw_bytes: float
    stored_bytes: float
    figures: list[Figures]


def facts() -> dict[str, object]:
    """What the figures depend on, and nothing that names the machine."""
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
    """The commit of the clone, with `-changed` where the codec's own files differ from it."""
    try:
        head = _git("rev-parse", "--short", "HEAD")
        folders = ("src", "log", "runtime", "generated", "benchmarks")
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
        base = next((each for each in result.figures if each.name == "kafka-python"), None)
        for each in result.figures:
            ours = each.name == "kodec"
            ratio, least, most = (1.0, 1.0, 1.0) if ours else each.ratio
            made.append(
                (
                    result.direction if ours else "",
                    result.case.name if ours else "",
                    each.name,
                    f"{each.rate / 1e3:,.1f}",
                    f"{each.rate * result.raw_bytes / 1e6:,.1f}",
                    f"{each.rate / base.rate if not ours else base.ratio[0]:.2f}x" if base else "",
                    "" if ours else f"{ratio:.2f}x",
                    "" if ours else f"{least:.2f}x to {most:.2f}x",
                )
            )
    return made


def show(results: list[Result]) -> None:
    """Print the table to stdout."""
    lines = rows(results)
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        widths = [max(len(line[at]) for line in [COLUMNS, *lines]) for at in range(len(COLUMNS))]
        for line in [COLUMNS, *lines]:
            cells = (
                f"{cell:>{width}}" if at > 2 else f"{cell:<{width}}"
                for at, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            print("  ".join(cells).rstrip())
        return
    table = Table(box=None, header_style="bold")
    for at, name in enumerate(COLUMNS):
        table.add_column(name, justify="right" if at > 2 else "left", no_wrap=True)
    for number, line in enumerate(lines):
        table.add_row(*line, style="bold" if line[2] == "kodec" else "", end_section=number + 1 == len(lines))
    Console(width=None if sys.stdout.isatty() else 120).print(table)


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
        f"CPU time; medians of {settings.rounds} rounds in one process, kodec and each peer in turn. Compare "
        "ratios: the absolute figures move with the machine. `docs/benchmarks.md` says how to read them.\n",
        *(f"- {line}" for line in about),
        *(f"- {name}: absent: {reason}" for name, reason in absent.items()),
        "",
        _titles(results),
        "| " + " | ".join(COLUMNS) + " |",
        "|" + "|".join("---" if at < 3 else "--:" for at in range(len(COLUMNS))) + "|",
        *("| " + " | ".join(line) + " |" for line in rows(results)),
    ]
    return "\n".join(lines) + "\n"


def _json(results: list[Result], about: list[str], absent: dict[str, str], settings: Settings) -> str:
    cases = []
    for result in results:
        readers = []
        for each in result.figures:
            entry = asdict(each) | {"rate": each.rate, "mb_per_second": each.rate * result.raw_bytes / 1e6}
            if each.kodec_rates:
                entry["kodec_ratio"] = dict(zip(("median", "least", "most"), each.ratio, strict=True))
            readers.append(entry)
        cases.append(
            {
                "direction": result.direction, **asdict(result.case), "raw_bytes": result.raw_bytes,
                "stored_bytes": result.stored_bytes, "readers": readers,
            }
        )  # fmt: skip
    whole = {"facts": facts(), "settings": asdict(settings), "about": about, "absent": absent, "cases": cases}
    return json.dumps(whole, indent=1) + "\n"


def svg(results: list[Result]) -> str:
    """A bar for each case and reader: its speed as a multiple of kafka-python's, on a logarithmic scale."""
    low, high, left, width, bar = 0.05, 64.0, 150, 620, 13

    def x(value: float) -> float:
        share = math.log(min(max(value, low), high) / low) / math.log(high / low)
        return left + share * width

    parts: list[str] = []
    y = 60
    for result in results:
        base = next((each for each in result.figures if each.name == "kafka-python"), None)
        if base is None:
            continue
        parts.append(
            f'<text x="{left - 10}" y="{y + bar * (len(result.figures) - 1) / 2 + 3:.0f}" text-anchor="end">'
            f"{escape(result.direction)} {escape(result.case.name)}</text>"
        )
        shown = [each for each in result.figures if each is not base]
        for each in shown:
            value = base.ratio[0] if each.name == "kodec" else each.rate / base.rate
            start, stop = sorted((x(1), x(value)))
            parts.append(
                f'<rect x="{start:.1f}" y="{y}" width="{max(stop - start, 1):.1f}" height="{bar - 2}" '
                f'fill="{_COLOURS[each.name]}"/>'
                f'<text x="{stop + 4:.1f}" y="{y + bar - 4}" font-size="10">{value:.2g}x</text>'
            )
            y += bar
        y += 8
    axis = [
        f'<path d="M{x(tick):.1f} 52V{y}" stroke="{"#444" if tick == 1 else "#ddd"}"/>'
        f'<text x="{x(tick):.1f}" y="48" text-anchor="middle" font-size="10">{tick:g}x</text>'
        for tick in (0.1, 0.3, 1, 3, 10, 30)
    ]
    legend = [
        f'<rect x="{left + 120 * at}" y="8" width="11" height="11" fill="{colour}"/>'
        f'<text x="{left + 120 * at + 16}" y="18">{name}</text>'
        for at, (name, colour) in enumerate(_COLOURS.items())
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 60}" height="{y + 10}" '
        'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f'<text x="{left - 10}" y="48" text-anchor="end" font-size="10">kafka-python = 1x</text>'
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
