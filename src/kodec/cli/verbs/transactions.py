"""kodec transactions: shows open and hanging transactions and last stable offsets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.outcome import Outcome, errors_reported
from kodec.cli.parser import BadParameter, Exit, Option
from kodec.cli.selection import TOPICS
from kodec.cli.tables import WIDE, Layout, print_table
from kodec.cli.times import parse_time
from kodec.cli.views import LOG_DIRS, moment, tell_stable_offsets
from kodec.log.views.producers import Producers
from kodec.log.views.transactions import (
    OpenTransaction,
    TransactionalId,
    TransactionStates,
    read_transactions,
)

__all__ = ["transactions"]


def transactions(
    paths: Annotated[list[Path], LOG_DIRS],
    topic: Annotated[list[str] | None, TOPICS] = None,
    now: Annotated[
        str | None,
        Option("--now", help="Check timeouts at this time: ms or ISO 8601; now by default."),
    ] = None,
    json: Annotated[
        bool,
        Option("--json", help="One JSON object for each transactional id, open transaction, partition."),
    ] = False,
    wide: Annotated[bool, WIDE] = False,
) -> None:
    """Show transactional ids, open transactions, and the last stable offset of each partition.

    From __transaction_state and from the producers of each partition. The status of an open transaction is
    "open", "ending" (the markers are being written), "overdue" (older than its timeout), "hanging" (the
    coordinator does not know it), or "unknown" (the coordinator's records are not in the folders).

    example:  kodec transactions /data/kafka-logs

    exit:     0 done   1 something is damaged   2 no such topic there, bad usage
    """
    try:
        time = None if now is None else parse_time(now)
    except ValueError as error:
        raise BadParameter(f"--now {now}: {error}") from None
    with errors_reported():
        states = read_transactions(*paths, topics=topic, now=time)
    if json:
        for transactional_id in states.ids:
            output.show(output.as_json(_id_facts(transactional_id)))
        for transaction in states.open:
            output.show(output.as_json(_open_facts(transaction)))
        for partition in states.partitions:
            output.show(output.as_json(_partition_facts(partition)))
    else:
        _print_tables(states, Layout(wide=wide))
    raise Exit(Outcome(states.omissions).end(json=json))


def _id_facts(transactional_id: TransactionalId) -> dict[str, object]:
    return {
        "kind": "transactionalId",
        "transactionalId": transactional_id.transactional_id,
        "producerId": transactional_id.producer_id,
        "producerEpoch": transactional_id.producer_epoch,
        "state": transactional_id.state,
        "timeoutMs": transactional_id.timeout_ms,
        "startTimestamp": transactional_id.start_timestamp,
        "lastUpdateTimestamp": transactional_id.last_update_timestamp,
        "partitions": [partition._asdict() for partition in transactional_id.partitions],
        "source": str(transactional_id.source),
        "recordOffset": transactional_id.record_offset,
    }


def _open_facts(transaction: OpenTransaction) -> dict[str, object]:
    return {
        "kind": "open",
        "topic": transaction.topic_partition.topic,
        "partition": transaction.topic_partition.partition,
        "producerId": transaction.producer_id,
        "producerEpoch": transaction.producer_epoch,
        "coordinatorEpoch": transaction.coordinator_epoch,
        "firstOffset": transaction.first_offset,
        "firstTimestamp": transaction.first_timestamp,
        "lastTimestamp": transaction.last_timestamp,
        "transactionalId": transaction.transactional_id,
        "status": transaction.status,
        "reason": transaction.reason,
    }


def _partition_facts(producers: Producers) -> dict[str, object]:
    return {
        "kind": "partition",
        "topic": producers.topic_partition.topic,
        "partition": producers.topic_partition.partition,
        "startOffset": producers.start_offset,
        "endOffset": producers.end_offset,
        "lastStableOffset": producers.last_stable_offset,
        "highWatermark": producers.high_watermark,
    }


def _print_tables(states: TransactionStates, layout: Layout) -> None:
    print_table(
        output.count(len(states.ids), "transactional id"),
        ["transactional id", "producer", "state", "timeout ms", "started", "updated", "partitions"],
        [
            [
                transactional_id.transactional_id,
                f"{transactional_id.producer_id}/{transactional_id.producer_epoch}",
                transactional_id.state,
                transactional_id.timeout_ms,
                moment(transactional_id.start_timestamp),
                moment(transactional_id.last_update_timestamp),
                " ".join(map(str, transactional_id.partitions)),
            ]
            for transactional_id in states.ids
        ],
        left_aligned="transactional id, state, partitions",
        least="started, timeout ms, updated",
        layout=layout,
    )
    if states.open:
        print_table(
            output.count(len(states.open), "open transaction"),
            [
                "topic",
                "partition",
                "producer",
                "first offset",
                "last write",
                "transactional id",
                "status",
                "why",
            ],
            [
                [
                    transaction.topic_partition.topic,
                    transaction.topic_partition.partition,
                    f"{transaction.producer_id}/{transaction.producer_epoch}",
                    transaction.first_offset,
                    moment(transaction.last_timestamp),
                    transaction.transactional_id,
                    transaction.status,
                    transaction.reason,
                ]
                for transaction in states.open
            ],
            left_aligned="topic, transactional id, status, why",
            least="last write, first offset",
            layout=layout,
        )
    tell_stable_offsets(states.partitions)
