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
        found = read_transactions(*paths, topics=topic, now=time)
    if json:
        for each in found.ids:
            output.show(output.as_json(_id_facts(each)))
        for one in found.open:
            output.show(output.as_json(_open_facts(one)))
        for partition in found.partitions:
            output.show(output.as_json(_partition_facts(partition)))
    else:
        _print(found, Layout(wide=wide))
    raise Exit(Outcome(found.omissions).end(json=json))


def _id_facts(each: TransactionalId) -> dict[str, object]:
    return {
        "kind": "transactionalId",
        "transactionalId": each.transactional_id,
        "producerId": each.producer_id,
        "producerEpoch": each.producer_epoch,
        "state": each.state,
        "timeoutMs": each.timeout_ms,
        "startTimestamp": each.start_timestamp,
        "lastUpdateTimestamp": each.last_update_timestamp,
        "partitions": [one._asdict() for one in each.partitions],
        "source": str(each.source),
        "recordOffset": each.record_offset,
    }


def _open_facts(each: OpenTransaction) -> dict[str, object]:
    return {
        "kind": "open",
        "topic": each.topic_partition.topic,
        "partition": each.topic_partition.partition,
        "producerId": each.producer_id,
        "producerEpoch": each.producer_epoch,
        "coordinatorEpoch": each.coordinator_epoch,
        "firstOffset": each.first_offset,
        "firstTimestamp": each.first_timestamp,
        "lastTimestamp": each.last_timestamp,
        "transactionalId": each.transactional_id,
        "status": each.status,
        "reason": each.reason,
    }


def _partition_facts(each: Producers) -> dict[str, object]:
    return {
        "kind": "partition",
        "topic": each.topic_partition.topic,
        "partition": each.topic_partition.partition,
        "startOffset": each.start_offset,
        "endOffset": each.end_offset,
        "lastStableOffset": each.last_stable_offset,
        "highWatermark": each.high_watermark,
    }


def _print(found: TransactionStates, layout: Layout) -> None:
    print_table(
        output.count(len(found.ids), "transactional id"),
        ["transactional id", "producer", "state", "timeout ms", "started", "updated", "partitions"],
        [
            [
                each.transactional_id,
                f"{each.producer_id}/{each.producer_epoch}",
                each.state,
                each.timeout_ms,
                moment(each.start_timestamp),
                moment(each.last_update_timestamp),
                " ".join(map(str, each.partitions)),
            ]
            for each in found.ids
        ],
        left="transactional id, state, partitions",
        least="started, timeout ms, updated",
        layout=layout,
    )
    if found.open:
        print_table(
            output.count(len(found.open), "open transaction"),
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
                    each.topic_partition.topic,
                    each.topic_partition.partition,
                    f"{each.producer_id}/{each.producer_epoch}",
                    each.first_offset,
                    moment(each.last_timestamp),
                    each.transactional_id,
                    each.status,
                    each.reason,
                ]
                for each in found.open
            ],
            left="topic, transactional id, status, why",
            least="last write, first offset",
            layout=layout,
        )
    tell_stable_offsets(found.partitions)
