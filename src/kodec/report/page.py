"""A report as one self-contained page, without network access or scripts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import jinja2
from markupsafe import Markup

from kodec.report import charts
from kodec.report.facts import DirectoryReport

__all__ = ["page_of"]

MOST = 100
"""The most rows of a table; the rest is counted."""
_BARS = 20
_GIB, _MIB = 1 << 30, 1 << 20


def page_of(report: DirectoryReport, *, title: str, created: datetime) -> str:
    """The page as HTML. Texts from logs and paths are escaped, also characters that do not print."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("kodec.report"),
        autoescape=True,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"bytes": _size, "time": _time, "number": _number}
    by_topic = _bytes_by(report, lambda partition: partition.topic)
    largest = sorted(report.partitions, key=lambda partition: -partition.bytes)
    drawn = {
        "topics": _bars("topics", by_topic),
        "partitions": _bars(
            "partitions",
            {f"{partition.topic}-{partition.partition}": partition.bytes for partition in largest},
        ),
        "codecs": _bars(
            "codecs", {f"v{amount.magic} {amount.codec}": amount.bytes for amount in report.stored}
        ),
        "times": charts.columns(
            "times",
            [_time(span.start)[:16] for span in report.spans],
            [span.records for span in report.spans],
            "records",
        ),
        "growth": _growing(report),
    }
    return environment.get_template("report.html.j2").render(
        title=title,
        made=created.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        report=report,
        charts={name: Markup(svg) for name, svg in drawn.items()},
        topics=by_topic,
        partitions=largest,
        most=MOST,
        bars=_BARS,
        total=sum(partition.bytes for partition in report.partitions),
        records=[amount.records for amount in report.stored],
        ill=[partition for partition in report.partitions if partition.health != "clean"],
        lost=[gap for gap in report.gaps if not gap.explained],
    )


def _bytes_by(report: DirectoryReport, key: Callable[[Any], str]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for partition in report.partitions:
        sizes[key(partition)] = sizes.get(key(partition), 0) + partition.bytes
    return dict(sorted(sizes.items(), key=lambda item: (-item[1], item[0])))


def _bars(name: str, sizes: dict[str, int]) -> str:
    """The first of them, in the largest unit that they need."""
    shown = dict(list(sizes.items())[:_BARS])
    scale, unit = _unit(max(shown.values(), default=0))
    return charts.rows(name, list(map(_printable, shown)), [size / scale for size in shown.values()], unit)


def _growing(report: DirectoryReport) -> str:
    """Stored bytes up to each time."""
    sizes, total = [], 0
    for span in report.spans:
        total += span.bytes
        sizes.append(total)
    scale, unit = _unit(total)
    labels = [_time(span.start)[:16] for span in report.spans]
    return charts.columns("growth", labels, [size / scale for size in sizes], unit)


def _unit(most: int) -> tuple[int, str]:
    return (_GIB, "GiB") if most >= _GIB else (_MIB, "MiB") if most >= _MIB else (1 << 10, "KiB")


def _printable(value: Any) -> Any:
    """Text without characters that a terminal or a browser interprets: controls and marks of direction."""
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "replace").decode("ascii")
        for char in value
    )


def _size(size: int | None) -> str:
    if size is None:
        return ""
    number = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(number) < 1024:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} TiB"


def _number(value: int | None) -> str:
    return "not known" if value is None else f"{value:,}"


def _time(timestamp: int | None) -> str:
    """Milliseconds since 1970 as a time in UTC; the number itself if it is outside the calendar."""
    if timestamp is None or timestamp < 0:
        return "none"
    try:
        return datetime.fromtimestamp(timestamp / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return str(timestamp)
