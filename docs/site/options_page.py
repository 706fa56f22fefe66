"""Writes docs/spark-options.md and OptionTable.java from the options of the source and of the sink.

A test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from kodec.pipeline.options import (
    DURATION,
    FLAG,
    IGNORED,
    MOST_TASK,
    NUMBER,
    OF_SPARK,
    READ_OPTIONS,
    REFUSED,
    SIZE,
    TIMES_OF_UNITS,
    UNITS,
    Option,
)
from kodec.pipeline.sink import WRITE_OPTIONS

_ROOT = Path(__file__).parents[2]
PAGE = _ROOT / "docs" / "spark-options.md"
TABLE = _ROOT / "src" / "kodec" / "pipeline" / "jvm" / "org" / "kodec" / "spark" / "OptionTable.java"

_HEAD = """# Options of `kafka-log`

<!-- Made from src/kodec/pipeline/options.py and sink.py by `python docs/site/options_page.py`. -->

Names are case-insensitive. An unknown name is an error that suggests the nearest one; so is a value of the
wrong type. Sizes are numbers of bytes, or have a unit: `64k`, `64m`, `1g`. Times have one too: `500ms`,
`90s`, `15m`, `2h`, `1d`.

## Read

Options of [`spark.read` and `spark.readStream`](spark.md). Those marked *Kafka* are options of [Spark's Kafka
source](https://spark.apache.org/docs/latest/structured-streaming-kafka-integration.html) and have the same
meaning. Give at most one of `subscribe`, `subscribePattern` and `assign`; without any, all topics are read.
"""
_WRITE = """
## Write

Options of [`df.write` and `df.writeStream`](spark-sink.md).
"""


def page() -> str:
    """The text of the page."""
    lines = [_HEAD, *_table(READ_OPTIONS)]
    ignored = ", ".join(f"`{name}`" for name in IGNORED)
    lines += [
        "",
        "These configure connections to brokers and are ignored: other options that begin with `kafka.`,",
    ]
    lines += [f"{ignored}.", "", "These are errors:", "", "| option | instead |", "|---|---|"]
    lines += [f"| `{name}` | {text} |" for name, text in REFUSED.items()]
    return "\n".join([*lines, _WRITE, *_table(WRITE_OPTIONS), ""])


def _table(options: Mapping[str, Option]) -> Iterator[str]:
    yield from ("| option | value | default | meaning |", "|---|---|---|---|")
    for name, option in options.items():
        mark = " (Kafka)" if option.of_kafka else ""
        yield f"| `{name}`{mark} | {option.kind.values} | {option.shown_default} | {option.meaning} |"


_JAVA = """package org.kodec.spark;

import java.util.List;
import java.util.Map;
import java.util.Set;

/** The options of both sources; made from options.py by {{@code python docs/site/options_page.py}}. */
final class OptionTable {{
    /** In lower case: options of Spark's Kafka source for connections, and those that Spark adds. */
    static final Set<String> IGNORED = Set.of({ignored});
    /** Of those that begin with {{@code kafka.}}, the ones that select other rows, or are errors. */
    static final Set<String> NOT_IGNORED = Set.of({refused});
    /** Those that the source in Python follows alone. */
    static final Set<String> ONLY_PYTHON = Set.of({python});
    /** The words that an option may have. */
    static final Map<String, List<String>> WORDS = Map.of({words});
    static final Map<String, Long> UNITS = Map.of({units});
    static final Map<String, Long> TIMES = Map.of({times});

    // defaults; times are in ms
{defaults}

    private OptionTable() {{}}
}}
"""


def table() -> str:
    """The text of OptionTable.java."""
    jvm = {name: option for name, option in READ_OPTIONS.items() if option.in_jvm}
    of_kafka = [name for name in (*READ_OPTIONS, *REFUSED) if name.startswith("kafka.")]
    words = {name: ", ".join(map(_quoted, each.kind.words)) for name, each in jvm.items() if each.kind.words}
    return _JAVA.format(
        ignored=_lines(map(_quoted, (*IGNORED, *OF_SPARK, "path"))),
        refused=_lines(map(_quoted, of_kafka)),
        python=_lines(_quoted(name) for name in READ_OPTIONS if name not in jvm),
        words=_lines(f"{_quoted(name)}, List.of({each})" for name, each in words.items()),
        units=_lines(f'"{name}", {_long(size)}' for name, size in UNITS.items()),
        times=_lines(f'"{name}", {_long(size)}' for name, size in TIMES_OF_UNITS.items()),
        defaults="\n".join(_defaults(jvm)),
    )


def _defaults(options: Mapping[str, Option]) -> Iterator[str]:
    """Constants; those that are false or unset are so in Java anyway."""
    for name, each in options.items():
        constant = re.sub("([A-Z])", r"_\1", name).upper()
        if each.kind is FLAG and each.default:
            yield f"    static final boolean {constant} = true;"
        elif each.kind is DURATION:
            yield f"    static final long {constant} = {_long(round(each.default * 1000))};"
        elif each.kind in (SIZE, NUMBER) and each.default is not None:
            yield f"    static final long {constant} = {_long(each.default)};"
    yield f"    static final long MOST_TASK = {_long(MOST_TASK)};"


def _quoted(name: str) -> str:
    return f'"{name.lower()}"'


def _lines(items: Iterable[str]) -> str:
    """The items, several on a line."""
    found = [""]
    for each in items:
        if found[-1] and len(found[-1]) + len(each) < 88:
            found[-1] += f" {each},"
        else:
            found.append(f"{' ' * 12}{each},")
    return "\n".join(found).removesuffix(",")


def _long(value: int) -> str:
    power = value.bit_length() - 1
    return f"1L << {power}" if power >= 10 and value == 1 << power else f"{value}L"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    TABLE.write_text(table(), encoding="utf-8")
