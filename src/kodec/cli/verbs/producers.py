"""kodec producers: shows producers of a partition and their open transactions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.outcome import Outcome, errors_reported
from kodec.cli.parser import Exit, Option
from kodec.cli.selection import PARTITION, TOPICS
from kodec.cli.tables import COLUMNS, WIDE, Layout, print_table
from kodec.cli.views import LOG_DIRS, logs_of, moment, tell_stable_offsets
from kodec.log.views.producers import ActiveProducer, Producers, read_producers
from kodec.log.views.replicas import Replicas

__all__ = ["producers"]


def producers(
    paths: Annotated[list[Path], LOG_DIRS],
    topic: Annotated[list[str] | None, TOPICS] = None,
    partition: Annotated[list[int] | None, PARTITION] = None,
    json: Annotated[bool, Option("--json", help="One JSON object for each producer.")] = False,
    columns: Annotated[str | None, COLUMNS] = None,
    wide: Annotated[bool, WIDE] = False,
) -> None:
    """Show the idempotent and transactional producers of partitions, in the state that a broker would load.

    From the newest producer snapshot that agrees with the batches before it, and the batches after it. A
    broker forgets producers after producer.id.expiration.ms; here they are shown while a snapshot or the log
    has them.

    example:  kodec producers /data/kafka-logs --topic idempotent

    exit:     0 done   1 something is damaged   2 no such topic there, bad usage
    """
    views = []
    with errors_reported():
        replicas = Replicas(*paths)
        outcome = Outcome(replicas.omissions)
        for log in logs_of(replicas, topic, partition):
            with outcome.each(log.path):
                views.append(read_producers(log, outcome.omissions))
    if json:
        for view in views:
            for producer in view.producers:
                output.show(output.as_json(_facts(view, producer)))
    else:
        _print_tables(views, Layout(columns, wide))
    raise Exit(outcome.end(json=json))


def _facts(view: Producers, producer: ActiveProducer) -> dict[str, object]:
    return {
        "topic": view.topic_partition.topic,
        "partition": view.topic_partition.partition,
        "producerId": producer.producer_id,
        "producerEpoch": producer.epoch,
        "coordinatorEpoch": producer.coordinator_epoch,
        "lastSequence": producer.last_sequence,
        "lastOffset": producer.last_offset,
        "lastTimestamp": producer.last_timestamp,
        "transactionOffset": producer.transaction_offset,
        "transactionTimestamp": producer.transaction_timestamp,
        "lastStableOffset": view.last_stable_offset,
        "endOffset": view.end_offset,
    }


def _print_tables(views: list[Producers], layout: Layout) -> None:
    columns = (
        "topic, partition, producer, last sequence, last offset, last write, coordinator epoch, open since"
    )
    print_table(
        output.count(sum(len(view.producers) for view in views), "producer"),
        columns.split(", "),
        [
            [
                *view.topic_partition,
                f"{producer.producer_id}/{producer.epoch}",
                producer.last_sequence,
                producer.last_offset,
                moment(producer.last_timestamp),
                producer.coordinator_epoch,
                producer.transaction_offset,
            ]
            for view in views
            for producer in view.producers
        ],
        left_aligned="topic",
        least="coordinator epoch, last sequence, last write",
        layout=layout,
    )
    tell_stable_offsets(views)
