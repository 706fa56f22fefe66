"""kodec offsets: shows what groups have committed and how far they lag."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NoReturn

from kodec.cli import output
from kodec.cli.outcome import Missing, Outcome, errors_reported
from kodec.cli.parser import BadParameter, Exit, Option
from kodec.cli.selection import TOPICS
from kodec.cli.tables import COLUMNS, WIDE, Layout, print_table
from kodec.cli.views import GROUPS, LOG_DIRS, id_text, missing_group, moment
from kodec.log.views.groups import CommittedOffset, Groups, ShareOffset, read_groups
from kodec.log.views.replicas import Replicas
from kodec.log.views.translation import OffsetTranslations, TranslatedOffset, translate_offsets

__all__ = ["offsets"]


def offsets(
    paths: Annotated[list[Path], LOG_DIRS],
    group: Annotated[list[str] | None, GROUPS] = None,
    topic: Annotated[list[str] | None, TOPICS] = None,
    translate: Annotated[
        str | None,
        Option(
            "--translate",
            metavar="A,B",
            help="Translate the offsets from cluster A to cluster B, aliases of MirrorMaker's configuration.",
        ),
    ] = None,
    target: Annotated[
        list[Path] | None,
        Option("--target-dir", help="A log.dirs folder of cluster B, for its checkpoints; may be repeated."),
    ] = None,
    identity: Annotated[
        bool, Option("--identity", help="MirrorMaker keeps the names of topics: IdentityReplicationPolicy.")
    ] = False,
    separator: Annotated[
        str, Option("--separator", help="MirrorMaker's replication.policy.separator.")
    ] = ".",
    json: Annotated[bool, Option("--json", help="One JSON object for each offset.")] = False,
    columns: Annotated[str | None, COLUMNS] = None,
    wide: Annotated[bool, WIDE] = False,
) -> None:
    """Show the committed offsets of groups, with the lag, from __consumer_offsets; no broker is needed.

    A commit in a transaction counts once the transaction has committed; before, it is shown as pending. The
    log end is that of the newest replica in the folders; it and the lag are unknown if there is no replica.
    Share groups have the offset at which delivery continues, from __share_group_state.

    With --translate, each committed offset is shown with the one from which the group can continue in the
    other cluster: by the offset syncs of MirrorMaker 2 in the folders of cluster A, or, with folders of
    cluster B only, as in MirrorMaker's checkpoints. Offsets that have no translation are named, and the exit
    code is 1.

    example:  kodec offsets /data/kafka-logs --group orders-classic
              kodec offsets /data/mirrored/A --translate A,B --target-dir /data/mirrored/B

    exit:     0 done   1 an offset without translation, or something is damaged
              2 no such group or topic, bad usage
    """
    if translate is not None:
        _translate(
            paths, group, topic, translate, target or [], identity, separator, json, Layout(columns, wide)
        )
    if target or identity or separator != ".":
        raise BadParameter("--target-dir, --identity and --separator need --translate")
    with errors_reported():
        found = read_groups(*paths, groups=group, topics=topic)
        for name in group or []:
            if not any(each.group == name for each in found.groups):
                Outcome(found.omissions).end(json=json)
                raise missing_group(name, paths)
        here = Replicas(*paths)
        for name in topic or []:
            if name not in {
                *(each.topic for each in found.offsets),
                *(each.topic for each in found.share_offsets),
            }:
                # of a topic that is here no group has committed an offset; it raises for another
                here.of_topic(name)
    if json:
        for each in found.offsets:
            output.show(output.as_json(_facts(each)))
        for share in found.share_offsets:
            output.show(output.as_json(_share_facts(share)))
    else:
        _print(found, Layout(columns, wide))
    raise Exit(Outcome(found.omissions).end(json=json))


def _translate(
    paths: list[Path],
    groups: list[str] | None,
    topics: list[str] | None,
    clusters: str,
    target_dirs: list[Path],
    identity: bool,
    separator: str,
    json: bool,
    layout: Layout,
) -> NoReturn:
    source, _, target = clusters.partition(",")
    if not source or not target or source == target:
        raise BadParameter(f"--translate {clusters}: expected two aliases, as in A,B")
    if not separator:
        raise BadParameter("--separator: expected text")
    with errors_reported():
        found = translate_offsets(
            *paths,
            source=source,
            target=target,
            target_dirs=target_dirs,
            groups=groups,
            topics=topics,
            identity=identity,
            separator=separator,
        )
        for name in groups or []:
            if not any(each.group == name for each in found.offsets):
                Outcome(found.omissions).end(json=json)
                raise Missing(f"no offsets of a group {name} in {', '.join(map(str, paths))}")
    if json:
        for each in found.offsets:
            output.show(output.as_json(_translated_facts(each)))
    else:
        _print_translated(found, layout)
    raise Exit(Outcome(found.omissions).end(json=json))


def _translated_facts(each: TranslatedOffset) -> dict[str, object]:
    return {
        "kind": "untranslated" if each.reason else "translated",
        "group": each.group,
        "topic": each.topic,
        "partition": each.partition,
        "offset": each.offset,
        "targetTopic": each.target_topic,
        "targetOffset": each.target_offset,
        "syncOffset": each.sync_offset,
        "syncTargetOffset": each.sync_target_offset,
        "checkpointOffset": each.checkpoint_offset,
        "checkpointTargetOffset": each.checkpoint_target_offset,
        "metadata": each.metadata,
        "reason": each.reason,
    }


def _print_translated(found: OffsetTranslations, layout: Layout) -> None:
    columns = ["group", "topic", "partition", "offset", "target topic", "target offset", "sync", "checkpoint"]
    rows = [
        [
            each.group,
            each.topic,
            each.partition,
            each.offset,
            each.target_topic,
            each.target_offset,
            None if each.sync_offset is None else f"{each.sync_offset} = {each.sync_target_offset}",
            None
            if each.checkpoint_offset is None
            else f"{each.checkpoint_offset} = {each.checkpoint_target_offset}",
        ]
        for each in found.offsets
    ]
    done = sum(not each.reason for each in found.offsets)
    title = output.count(done, "translated offset")
    if done < len(rows):
        title += f", {len(rows) - done} without translation"
    left = "group, topic, target topic"
    print_table(title, columns, rows, left=left, least="checkpoint, sync, topic", layout=layout)


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
