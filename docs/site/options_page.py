"""Writes docs/spark-options.md from the options of the source and of the sink; a test compares the two."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from kodec.pipeline.options import IGNORED, OF_KAFKA, READ_OPTIONS, REFUSED, Option
from kodec.pipeline.sink import WRITE_OPTIONS

PAGE = Path(__file__).parent.parent / "spark-options.md"

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
    lines = [_HEAD, *_table(READ_OPTIONS, OF_KAFKA)]
    ignored = ", ".join(f"`{name}`" for name in IGNORED)
    lines += [
        "",
        "These configure connections to brokers and are ignored: other options that begin with `kafka.`,",
    ]
    lines += [f"{ignored}.", "", "These are errors:", "", "| option | instead |", "|---|---|"]
    lines += [f"| `{name}` | {text} |" for name, text in REFUSED.items()]
    return "\n".join([*lines, _WRITE, *_table(WRITE_OPTIONS), ""])


def _table(options: Mapping[str, Option], of_kafka: Collection[str] = ()) -> Iterator[str]:
    yield from ("| option | value | default | meaning |", "|---|---|---|---|")
    for name, option in options.items():
        mark = " (Kafka)" if name in of_kafka else ""
        yield f"| `{name}`{mark} | {option.value} | {option.default} | {option.meaning} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
