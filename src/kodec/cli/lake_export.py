"""Records appended to a table of Iceberg or Delta, once or again and again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kodec.cli.engine import job
from kodec.cli.outcome import Outcome
from kodec.cli.parser import BadParameter

if TYPE_CHECKING:
    from kodec.pipeline.jobs.lake import AppendSummary

__all__ = ["append_to_table", "properties_of"]


def append_to_table(
    logs: Path,
    table: str,
    *,
    delta: bool,
    catalog: str,
    properties: Mapping[str, str],
    interval: float | None,
    **options: Any,
) -> tuple[AppendSummary, Outcome]:
    """Append the records of logs that a table lacks; the first summary, and what all runs left out.

    Args:
        table: the folder or URL of a Delta table; else the name of an Iceberg table in its `catalog`.
        interval: the seconds between two runs, until somebody interrupts; None: one run.
        options: of `kodec.pipeline.append_to_lake`.
    """
    with job():
        from kodec.pipeline import append_to_lake, delta_table, iceberg_table

        target = delta_table(table, properties) if delta else iceberg_table(table, catalog, properties)
        summary = append_to_lake(logs, target, **options)
        outcome = Outcome(summary.omissions)
        reported = 0
        while interval is not None:
            if len(outcome.omissions) > reported:
                outcome.end()
                reported = len(outcome.omissions)
            time.sleep(interval)
            outcome.omissions.extend(append_to_lake(logs, target, **options).omissions)
    return summary, outcome


def properties_of(texts: list[str]) -> dict[str, str]:
    properties = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not (name and sign):
            raise BadParameter(f"--property {text}: write NAME=VALUE")
        properties[name] = value
    return properties
