"""kodec offsets: shows what groups have committed and how far they lag."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.outcome import Missing, errors_reported
from kodec.cli.parser import Exit, Option
from kodec.cli.tables import COLUMNS, WIDE, Layout, print_table
from kodec.cli.views import GROUPS, LOG_DIRS, TOPICS, id_text, moment, tell
from kodec.log.views.groups import CommittedOffset, Groups, ShareOffset, read_groups

__all__ = ["offsets"]


def offsets(
    paths: Annotated[list[Path], LOG_DIRS],
    group: Annotated[list[str] | None, GROUPS] = None,
    topic: Annotated[list[str] | None, TOPICS] = None,
    json: Annotated[bool, Option("--json", help="One JSON object for each offset.")] = False,
    columns: Annotated[str | None, COLUMNS] = None,
    wide: Annotated[bool, WIDE] = False,
) -> None:
    """Show the committed offsets of groups, with the lag, from __consumer_offsets; no broker is needed.

    A commit in a transaction counts once the transaction has committed; before, it is shown as pending. The
    log end is that of the newest replica in the folders; it and the lag are unknown if there is no replica.
    Share groups have the offset at which delivery continues, from __share_group_state.

    example:  kodec offsets /data/kafka-logs --group orders-classic

    exit:     0 done   1 no such group, or something is damaged   2 no such topic there, bad usage
    """
    with errors_reported():
        found = read_groups(*paths, groups=group, topics=topic)
        for name in group or []:
            if not any(each.group == name for each in found.groups):
                tell(found.account)
                raise Missing(f"no group {name} in {', '.join(map(str, paths))}")
    if json:
        for each in found.offsets:
            output.show(output.as_json(_facts(each)))
        for share in found.share_offsets:
            output.show(output.as_json(_share_facts(share)))
    else:
        _print(found, Layout(columns, wide))
    raise Exit(tell(found.account))


def _facts(each: CommittedOffset) -> dict[str, object]:
    return {
        "kind": "pending" if each.pending else "committed",
        "group": each.group,
        "topic": each.topic,
        "partition": each.partition,
        "offset": each.offset,
        "logStartOffset": each.log_start_offset,
        "logEndOffset": each.log_end_offset,
        "lag": each.lag,
        "leaderEpoch": each.leader_epoch,
        "metadata": each.metadata,
        "commitTimestamp": each.commit_timestamp,
        "expireTimestamp": each.expire_timestamp,
        "topicId": id_text(each.topic_id),
        "producerId": each.producer_id,
        "producerEpoch": each.producer_epoch,
        "source": str(each.source),
        "recordOffset": each.record_offset,
    }


def _share_facts(each: ShareOffset) -> dict[str, object]:
    return {
        "kind": "share",
        "group": each.group,
        "topic": each.topic,
        "topicId": id_text(each.topic_id),
        "partition": each.partition,
        "startOffset": each.start_offset,
        "deliveryCompleteCount": each.delivery_complete_count,
        "logEndOffset": each.log_end_offset,
        "lag": each.lag,
        "stateEpoch": each.state_epoch,
        "leaderEpoch": each.leader_epoch,
        "writeTimestamp": each.write_timestamp,
    }


def _print(found: Groups, layout: Layout) -> None:
    columns = ["group", "topic", "partition", "offset", "log end", "lag", "committed", "expires", "metadata"]
    waits = any(each.pending for each in found.offsets)
    rows = [
        [
            each.group,
            each.topic,
            each.partition,
            each.offset,
            each.log_end_offset,
            each.lag,
            moment(each.commit_timestamp),
            moment(each.expire_timestamp),
            each.metadata,
            *([f"producer {each.producer_id}/{each.producer_epoch}" if each.pending else ""] * waits),
        ]
        for each in found.offsets
    ]
    title = output.count(len(rows), "committed offset")
    if waits:
        pending = sum(each.pending for each in found.offsets)
        title = f"{output.count(len(rows) - pending, 'committed offset')}, {pending} pending"
        columns.append("pending")
    least = "expires, metadata, committed, log end"
    print_table(title, columns, rows, left="group, topic, metadata, pending", least=least, layout=layout)
    if found.share_offsets:
        print_table(
            output.count(len(found.share_offsets), "start offset") + " of share groups",
            ["group", "topic", "partition", "start", "complete above", "log end", "lag"],
            [
                [
                    each.group,
                    each.topic or id_text(each.topic_id),
                    each.partition,
                    each.start_offset,
                    each.delivery_complete_count,
                    each.log_end_offset,
                    each.lag,
                ]
                for each in found.share_offsets
            ],
            left="group, topic",
            least="complete above",
            layout=Layout(wide=layout.wide),
        )
