"""kodec rebuild: makes a working cluster of backup points, remote storage or the disks of lost brokers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.outcome import LogShow, Missing, errors_reported
from kodec.cli.parser import BadParameter, Exit, Option
from kodec.cli.plans import Shown, run_plans
from kodec.cli.progress import progress
from kodec.cli.selection import TOPICS
from kodec.log.adoption.adopt import RETENTION_MS
from kodec.log.messages.as_json import uuid_text
from kodec.log.rebuild.plan import RebuildPlan, RebuiltPartition
from kodec.log.rebuild.planning import REMOTE_PARTITIONS, plan_rebuild
from kodec.runtime.plan import StepReport

__all__ = ["rebuild"]


def rebuild(
    from_: Annotated[
        list[Path],
        Option(
            "--from",
            exists=True,
            urls=True,
            replicas=True,
            help="A point of a backup, a log directory or remote storage; repeatable.",
        ),
    ],
    to: Annotated[
        list[str],
        Option(
            "--to",
            metavar="DIRS",
            help="The log.dirs of a stopped broker, with commas between them; once for each broker.",
        ),
    ],
    controller: Annotated[
        list[Path] | None,
        Option("--controller", file_okay=False, exists=True, help="A controller's metadata.log.dir."),
    ] = None,
    topic: Annotated[list[str] | None, TOPICS] = None,
    lineage: Annotated[
        Path | None,
        Option("--lineage", exists=True, urls=True, help="The source whose leader epochs count."),
    ] = None,
    allow_missing: Annotated[
        bool, Option("--allow-missing", help="Go on without offsets and partitions that no source has.")
    ] = False,
    allow_expired: Annotated[
        bool, Option("--allow-expired", help="Go on even if retention would delete segments at once.")
    ] = False,
    hold_retention: Annotated[
        bool, Option("--hold-retention", help="Give topics with such segments unlimited retention.")
    ] = False,
    retention_ms: Annotated[
        int, Option(help="The brokers' log.retention.ms, for topics without their own.", min=-1)
    ] = RETENTION_MS,
    keep_remote: Annotated[
        bool,
        Option("--keep-remote", help="Leave records in remote storage there; the new cluster reads them."),
    ] = False,
    remote_partitions: Annotated[
        int,
        Option(
            help="The partitions of a new __remote_log_metadata, as the brokers' settings state.",
            min=1,
            max=10_000,
        ),
    ] = REMOTE_PARTITIONS,
    metadata_offset: Annotated[
        int | None,
        Option(help="Take the metadata below this offset, where later records are damaged.", min=0),
    ] = None,
    apply: Annotated[bool, Option("--apply", help="Apply the changes [default: dry run].")] = False,
    json: Annotated[bool, Option("--json", help="One JSON object for each topic-partition.")] = False,
) -> None:
    """Write logs, topics, configs and groups into the log directories of stopped brokers; offsets stay.

    The brokers are those of a new cluster, after kafka-storage.sh format, or of one that has other topics.
    Topics keep their ids, settings and offsets; several sources are merged as by salvage. Sources are only
    read. Until all is written no broker starts there; after a kill, run it again. Without --apply it is a
    dry run.

    example:  kodec rebuild --from backup/points/20261126T010500Z --to /data/kafka-logs --apply
              kodec rebuild --from disk-1 --from disk-2 --to new-1 --to new-2a,new-2b --hold-retention

    exit:     0 done   1 refused, or not all that the sources had   2 bad usage
              3 changes found; run again with --apply
    """
    if allow_expired and hold_retention:
        raise BadParameter("--allow-expired and --hold-retention do not go together")
    brokers = [[Path(name) for name in text.split(",") if name] for text in to]
    if missing := [str(root) for roots in brokers for root in roots if not root.is_dir()]:
        raise BadParameter(f"--to {missing[0]}: no such folder")
    with errors_reported():
        try:
            with progress("rebuild", 0) as step:
                plan = plan_rebuild(
                    from_,
                    brokers,
                    controllers=controller or (),
                    topics=topic or None,
                    lineage=lineage,
                    allow_missing=allow_missing,
                    allow_expired=allow_expired,
                    hold_retention=hold_retention,
                    retention_ms=retention_ms,
                    keep_remote=keep_remote,
                    remote_partitions=remote_partitions,
                    metadata_offset=metadata_offset,
                    progress=step,
                )
                raise Exit(run_plans([plan], apply=apply, json=json, show=_Show()))
        except KeyError as error:
            raise Missing(error.args[0]) from None


class _Show(LogShow[RebuildPlan, StepReport[RebuiltPartition]]):
    def before(self, plan: RebuildPlan) -> None:
        super().before(plan)
        # what is missing is shown with its topic-partition
        self.outcome.failed += len(plan.problems) + sum(
            bool(partition.missing) for partition in plan.partitions
        )

    def step(self, plan: RebuildPlan, step: RebuiltPartition, applied: bool) -> Shown:
        return Shown(_facts(plan, step, applied), _text(plan, step))

    def report(self, plan: RebuildPlan, report: StepReport[RebuiltPartition]) -> Iterable[Shown]:
        yield from (self.step(plan, step, report.applied) for step in report.steps)
        output.warn(*(f"note: {note}" for note in plan.notes), *plan.problems)
        yield Shown(
            {"clusterId": plan.cluster_id, "carried": plan.carried} if plan.carried else None,
            [] if plan.problems else _ending(plan, report),
        )

    def refused(self, plan: RebuildPlan, apply: bool) -> Iterable[Shown]:
        return self.report(plan, plan.preview())


def _ending(plan: RebuildPlan, report: StepReport[RebuiltPartition]) -> list[str]:
    commits = sum(map(len, plan.groups.values()))
    what = [
        output.count(len(plan.topics), "topic"),
        output.count(len(plan.partitions), "topic-partition"),
    ]
    what += [output.count(commits, "committed offset")] if commits else []
    what += [output.count(count, name) for name, count in plan.carried.items() if count]
    kind = "the new cluster" if plan.is_new else "cluster"
    places = sorted({path.parent for path in report.kept})
    return [
        f"{', '.join(what)} for {kind} {plan.cluster_id}: {output.ending(report.applied)}",
        *(f"the old files of a log are in {folder}" for folder in places),
    ]


def _topic(plan: RebuildPlan, rebuilt: RebuiltPartition) -> tuple[str, list[int]]:
    topic = next(candidate for candidate in plan.topics if candidate.name == rebuilt.topic_partition.topic)
    partition = next(
        candidate
        for candidate in topic.partitions
        if candidate.partition == rebuilt.topic_partition.partition
    )
    return uuid_text(topic.topic_id), partition.replicas


def _facts(plan: RebuildPlan, rebuilt: RebuiltPartition, applied: bool) -> dict[str, object]:
    topic_id, replicas = _topic(plan, rebuilt)
    report = rebuilt.report
    return {
        "topic": rebuilt.topic_partition.topic,
        "partition": rebuilt.topic_partition.partition,
        "applied": applied,
        "topicId": topic_id,
        "replicas": replicas,
        "sources": list(map(str, rebuilt.sources)),
        "targets": list(map(str, rebuilt.targets)),
        "startOffset": rebuilt.start_offset,
        "endOffset": rebuilt.end_offset,
        "records": 0 if report is None else report.records,
        "bytes": 0 if report is None else report.bytes,
        "remoteSegments": 0 if rebuilt.remote is None else len(rebuilt.remote.segments),
        "remoteBytes": 0 if rebuilt.remote is None else rebuilt.remote.size,
        "remoteEndOffset": None if rebuilt.remote is None else rebuilt.remote.next_offset,
        "expiredSegments": rebuilt.expired,
        "missing": rebuilt.missing,
    }


def _text(plan: RebuildPlan, rebuilt: RebuiltPartition) -> list[str]:
    topic_id, replicas = _topic(plan, rebuilt)
    size = "0 B" if rebuilt.report is None else output.size_of(rebuilt.report.bytes)
    brokers = ", ".join(map(str, replicas))
    offsets = f"offsets {rebuilt.start_offset} to {rebuilt.end_offset}"
    if rebuilt.remote is not None:
        segments = output.count(len(rebuilt.remote.segments), "segment")
        stay = f"{segments} ({output.size_of(rebuilt.remote.size)}) stay in remote storage"
        offsets += f"; {stay}, below offset {rebuilt.remote.next_offset}"
    return [
        f"{rebuilt.topic_partition}: id {topic_id}, {offsets}, {size}, on broker {brokers}",
        *(f"{rebuilt.topic_partition}: missing: {text}" for text in rebuilt.missing),
    ]
