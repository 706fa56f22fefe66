"""kodec epochs: which leader epoch wrote which offsets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.outcome import Outcome, errors_reported
from kodec.cli.parser import Exit, Option
from kodec.cli.selection import PARTITION, TOPICS
from kodec.cli.tables import COLUMNS, WIDE, Layout, print_table
from kodec.cli.views import LOG_DIRS, logs_of
from kodec.log.views.epochs import read_epochs
from kodec.log.views.replicas import Replicas

__all__ = ["epochs"]


def epochs(
    paths: Annotated[list[Path], LOG_DIRS],
    topic: Annotated[list[str] | None, TOPICS] = None,
    partition: Annotated[list[int] | None, PARTITION] = None,
    json: Annotated[bool, Option("--json", help="One JSON object for each epoch.")] = False,
    columns: Annotated[str | None, COLUMNS] = None,
    wide: Annotated[bool, WIDE] = False,
) -> None:
    """Show the leader epochs of partitions, from the checkpoint and from the batches.

    Reads headers only. Contradictions between the two are reported on stderr.

    example:  kodec epochs /data/kafka-logs --topic orders

    exit:     0 done   1 a contradiction, or something is damaged   2 no such topic, bad usage
    """
    rows = []
    with errors_reported():
        replicas = Replicas(*paths)
        outcome = Outcome(replicas.omissions)
        for log in logs_of(replicas, topic, partition):
            with outcome.each(log.path):
                epochs = read_epochs(log, outcome.omissions)
                rows += [(log.topic_partition, epoch) for epoch in epochs.epochs]
                outcome.failed += len(epochs.contradictions)
                output.warn(*map(str, epochs.contradictions))
    if json:
        for name, epoch in rows:
            output.show(
                output.as_json(
                    {
                        "topic": name.topic,
                        "partition": name.partition,
                        "epoch": epoch.epoch,
                        "startOffset": epoch.start_offset,
                        "firstOffset": epoch.first_offset,
                        "endOffset": epoch.end_offset,
                        "batches": epoch.batches,
                    }
                )
            )
    else:
        print_table(
            output.count(len(rows), "leader epoch"),
            ["topic", "partition", "epoch", "start in checkpoint", "first batch", "end", "batches"],
            [
                [
                    name.topic,
                    name.partition,
                    epoch.epoch,
                    epoch.start_offset,
                    epoch.first_offset,
                    epoch.end_offset,
                    epoch.batches,
                ]
                for name, epoch in rows
            ],
            left_aligned="topic",
            layout=Layout(columns, wide),
        )
    raise Exit(outcome.end(json=json))
