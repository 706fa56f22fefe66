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
        groups = read_groups(*paths, groups=group, topics=topic)
        for name in group or []:
            if not any(group.group == name for group in groups.groups):
                Outcome(groups.omissions).end(json=json)
                raise missing_group(name, paths)
        replicas = Replicas(*paths)
        for name in topic or []:
            if name not in {
                *(offset.topic for offset in groups.offsets),
                *(share_offset.topic for share_offset in groups.share_offsets),
            }:
                # of a topic that is here no group has committed an offset; it raises for another
                replicas.of_topic(name)
    if json:
        for offset in groups.offsets:
            output.show(output.as_json(_facts(offset)))
        for share in groups.share_offsets:
            output.show(output.as_json(_share_facts(share)))
    else:
        _print_tables(groups, Layout(columns, wide))
    raise Exit(Outcome(groups.omissions).end(json=json))


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
        translations = translate_offsets(
            *paths,
            source=source,
            target=target,
            target_logs=target_dirs,
            groups=groups,
            topics=topics,
            identity=identity,
            separator=separator,
        )
        for name in groups or []:
            if not any(offset.group == name for offset in translations.offsets):
                Outcome(translations.omissions).end(json=json)
                raise Missing(f"no offsets of a group {name} in {', '.join(map(str, paths))}")
    if json:
        for offset in translations.offsets:
            output.show(output.as_json(_translated_facts(offset)))
    else:
        _print_translated(translations, layout)
    raise Exit(Outcome(translations.omissions).end(json=json))


def _translated_facts(offset: TranslatedOffset) -> dict[str, object]:
    return {
        "kind": "untranslated" if offset.reason else "translated",
        "group": offset.group,
        "topic": offset.topic,
        "partition": offset.partition,
        "offset": offset.offset,
        "targetTopic": offset.target_topic,
        "targetOffset": offset.target_offset,
        "syncOffset": offset.sync_offset,
        "syncTargetOffset": offset.sync_target_offset,
        "checkpointOffset": offset.checkpoint_offset,
        "checkpointTargetOffset": offset.checkpoint_target_offset,
        "metadata": offset.metadata,
        "reason": offset.reason,
    }


def _print_translated(translations: OffsetTranslations, layout: Layout) -> None:
    columns = ["group", "topic", "partition", "offset", "target topic", "target offset", "sync", "checkpoint"]
    rows = [
        [
            offset.group,
            offset.topic,
            offset.partition,
            offset.offset,
            offset.target_topic,
            offset.target_offset,
            None if offset.sync_offset is None else f"{offset.sync_offset} = {offset.sync_target_offset}",
            None
            if offset.checkpoint_offset is None
            else f"{offset.checkpoint_offset} = {offset.checkpoint_target_offset}",
        ]
        for offset in translations.offsets
    ]
    translated = sum(not offset.reason for offset in translations.offsets)
    title = output.count(translated, "translated offset")
    if translated < len(rows):
        title += f", {len(rows) - translated} without translation"
    text_columns = "group, topic, target topic"
    print_table(
        title, columns, rows, left_aligned=text_columns, least="checkpoint, sync, topic", layout=layout
    )


def _facts(offset: CommittedOffset) -> dict[str, object]:
    return {
        "kind": "pending" if offset.pending else "committed",
        "group": offset.group,
        "topic": offset.topic,
        "partition": offset.partition,
        "offset": offset.offset,
        "logStartOffset": offset.log_start_offset,
        "logEndOffset": offset.log_end_offset,
        "lag": offset.lag,
        "leaderEpoch": offset.leader_epoch,
        "metadata": offset.metadata,
        "commitTimestamp": offset.commit_timestamp,
        "expireTimestamp": offset.expire_timestamp,
        "topicId": id_text(offset.topic_id),
        "producerId": offset.producer_id,
        "producerEpoch": offset.producer_epoch,
        "source": str(offset.source),
        "recordOffset": offset.record_offset,
    }


def _share_facts(offset: ShareOffset) -> dict[str, object]:
    return {
        "kind": "share",
        "group": offset.group,
        "topic": offset.topic,
        "topicId": id_text(offset.topic_id),
        "partition": offset.partition,
        "startOffset": offset.start_offset,
        "deliveryCompleteCount": offset.delivery_complete_count,
        "logEndOffset": offset.log_end_offset,
        "lag": offset.lag,
        "stateEpoch": offset.state_epoch,
        "leaderEpoch": offset.leader_epoch,
        "writeTimestamp": offset.write_timestamp,
    }


def _print_tables(groups: Groups, layout: Layout) -> None:
    columns = ["group", "topic", "partition", "offset", "log end", "lag", "committed", "expires", "metadata"]
    waits = any(offset.pending for offset in groups.offsets)
    rows = [
        [
            offset.group,
            offset.topic,
            offset.partition,
            offset.offset,
            offset.log_end_offset,
            offset.lag,
            moment(offset.commit_timestamp),
            moment(offset.expire_timestamp),
            offset.metadata,
            *([f"producer {offset.producer_id}/{offset.producer_epoch}" if offset.pending else ""] * waits),
        ]
        for offset in groups.offsets
    ]
    title = output.count(len(rows), "committed offset")
    if waits:
        pending = sum(offset.pending for offset in groups.offsets)
        title = f"{output.count(len(rows) - pending, 'committed offset')}, {pending} pending"
        columns.append("pending")
    least = "expires, metadata, committed, log end"
    print_table(
        title, columns, rows, left_aligned="group, topic, metadata, pending", least=least, layout=layout
    )
    if groups.share_offsets:
        print_table(
            output.count(len(groups.share_offsets), "start offset") + " of share groups",
            ["group", "topic", "partition", "start", "complete above", "log end", "lag"],
            [
                [
                    offset.group,
                    offset.topic or id_text(offset.topic_id),
                    offset.partition,
                    offset.start_offset,
                    offset.delivery_complete_count,
                    offset.log_end_offset,
                    offset.lag,
                ]
                for offset in groups.share_offsets
            ],
            left_aligned="group, topic",
            least="complete above",
            layout=Layout(wide=layout.wide),
        )
