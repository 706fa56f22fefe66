"""kodec adopt: gives logs that were written without a broker to a broker."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated
from uuid import UUID

from kodec.cli import output
from kodec.cli.outcome import LogShow, Missing, errors_reported
from kodec.cli.parser import Argument, BadParameter, Exit, Option
from kodec.cli.plans import Shown, run_plans
from kodec.cli.progress import progress
from kodec.cli.selection import TOPICS, logs_at
from kodec.log.adoption.adopt import RETENTION_MS, Adoption, AdoptionPlan, plan_adoption
from kodec.log.messages.as_json import uuid_text
from kodec.log.writing.add_segments import finish_additions
from kodec.runtime.plan import StepReport

__all__ = ["adopt"]


def adopt(
    log_dir: Annotated[
        Path, Argument(metavar="DIR", exists=True, file_okay=False, help="The log directory to adopt.")
    ],
    into: Annotated[
        list[Path],
        Option(
            "--into",
            exists=True,
            file_okay=False,
            help="The stopped broker's log directory; repeatable, for all its log.dirs.",
        ),
    ],
    metadata: Annotated[
        Path | None,
        Option(exists=True, file_okay=False, help="The directory with __cluster_metadata-0."),
    ] = None,
    topic: Annotated[list[str] | None, TOPICS] = None,
    topic_id: Annotated[
        list[str] | None,
        Option("--topic-id", help="TOPIC=ID, as kafka-topics.sh --describe shows it; repeatable."),
    ] = None,
    retention_ms: Annotated[
        int, Option(help="The broker's log.retention.ms, for topics without their own.", min=-1)
    ] = RETENTION_MS,
    allow_expired: Annotated[
        bool, Option("--allow-expired", help="Adopt even if retention would delete segments at once.")
    ] = False,
    quarantine: Annotated[
        Path | None,
        Option(
            "--quarantine",
            help="Folder for replaced files. [default: INTO.quarantine beside the log directory]",
            file_okay=False,
        ),
    ] = None,
    apply: Annotated[bool, Option("--apply", help="Apply the changes [default: dry run].")] = False,
    json: Annotated[bool, Option("--json", help="One JSON object for each topic-partition.")] = False,
) -> None:
    """Copy logs into the log directory of a stopped broker, with the topic ids of its cluster.

    The topics must exist in the cluster and be empty. The source is only read, except that segments which
    Spark was adding to it are first moved into place. Without --apply it is a dry run: nothing is written.

    example:  kodec adopt out/sink --into /data/kafka-logs --apply

    exit:     0 done   1 refused, or cannot be read   2 bad usage   3 changes found; run again with --apply
    """
    ids = dict(map(_parsed, topic_id or []))
    with errors_reported():
        try:
            if apply:
                finish_additions(log_dir)
            with progress("adopt", (1 + apply) * logs_at(log_dir)[1]) as step:
                plan = plan_adoption(
                    log_dir,
                    into,
                    metadata=metadata,
                    topics=topic or None,
                    topic_ids=ids,
                    retention_ms=retention_ms,
                    # a dry run shows the segments that would be deleted, and how to keep them
                    allow_expired=allow_expired or not apply,
                    quarantine=quarantine,
                    progress=step,
                )
                raise Exit(run_plans([plan], apply=apply, json=json, show=_Show()))
        except KeyError as error:
            raise Missing(error.args[0]) from None


class _Show(LogShow[AdoptionPlan, StepReport[Adoption]]):
    def refused(self, plan: AdoptionPlan, apply: bool) -> Iterable[Shown]:
        if not apply:
            yield from self.report(plan, plan.preview())
        self.outcome.failed += len(plan.problems)
        output.warn(*plan.problems)

    def step(self, plan: AdoptionPlan, step: Adoption, applied: bool) -> Shown:
        return Shown(_facts(step, applied), _text(step))

    def report(self, plan: AdoptionPlan, report: StepReport[Adoption]) -> Iterable[Shown]:
        yield from (self.step(plan, step, report.applied) for step in report.steps)
        lines = (f"the broker's old files are in {path}" for path in report.kept)
        yield Shown(None, [output.ending(report.applied), *lines])


def _parsed(text: str) -> tuple[str, UUID]:
    name, equals, value = text.rpartition("=")
    try:
        if not equals or len(value) != 22:
            raise ValueError
        return name, UUID(bytes=base64.urlsafe_b64decode(value + "=="))
    except ValueError:
        raise BadParameter(f"--topic-id {text}: expected TOPIC=ID, with an id of 22 characters") from None


def _shown(topic_id: UUID | None) -> str | None:
    return None if topic_id is None else uuid_text(topic_id)


def _facts(adoption: Adoption, applied: bool) -> dict[str, object]:
    owner = adoption.topic_partition
    return {
        "topic": owner.topic,
        "partition": owner.partition,
        "applied": applied,
        "alreadyAdopted": adoption.is_adopted,
        "source": str(adoption.source),
        "target": str(adoption.target),
        "topicId": _shown(adoption.topic_id),
        **output.facts(
            adoption, "segments", "bytes", "start_offset", "end_offset", "retention_ms", "retention_bytes"
        ),
        "expiredSegments": adoption.expired,
        "expiredBytes": adoption.expired_bytes,
        "problems": adoption.problems,
    }


def _text(adoption: Adoption) -> list[str]:
    name = adoption.topic_partition
    segments, size = output.count(adoption.segments, "segment"), output.size_of(adoption.bytes)
    offsets = f"offsets {adoption.start_offset} to {adoption.end_offset}"
    known = ", adopted already" if adoption.is_adopted else ""
    lines = [f"{name}: id {_shown(adoption.topic_id)}, {segments}, {size}, {offsets}{known}"]
    if adoption.expired:
        whose = (
            "of the topic" if adoption.own_retention else "the broker's, where its settings are the defaults"
        )
        bound = "" if adoption.retention_ms is None else f"retention.ms is {adoption.retention_ms} ({whose})"
        if adoption.retention_bytes is not None:
            bound = ", ".join(filter(None, [bound, f"retention.bytes is {adoption.retention_bytes}"]))
        lines.append(
            f"{name}: {bound}: {adoption.expired} of {segments}, {output.size_of(adoption.expired_bytes)}, "
            "would be deleted within minutes: first set the topic's retention.ms=-1, or use --allow-expired"
        )
    return lines
