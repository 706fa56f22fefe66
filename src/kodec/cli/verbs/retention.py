"""kodec retention: shows which segments retention would delete and why the next one stays."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.outcome import Outcome, errors_reported
from kodec.cli.parser import BadParameter, Exit, Option
from kodec.cli.selection import PARTITION, TOPICS
from kodec.cli.times import parse_time
from kodec.cli.views import LOG_DIRS, logs_of
from kodec.log.directories.gaps import note_missing
from kodec.log.files.listing import TopicPartition
from kodec.log.remote.metadata import read_remote_offsets
from kodec.log.views.metadata import METADATA_TOPIC, read_metadata
from kodec.log.views.replicas import Replicas
from kodec.log.views.retention import Retention, explain_retention

__all__ = ["retention"]


def retention(
    paths: Annotated[list[Path], LOG_DIRS],
    topic: Annotated[list[str] | None, TOPICS] = None,
    partition: Annotated[list[int] | None, PARTITION] = None,
    retention_ms: Annotated[
        int | None,
        Option("--retention-ms", help="Overrides the topic's setting; -1 is no limit.", min=-1),
    ] = None,
    retention_bytes: Annotated[
        int | None,
        Option("--retention-bytes", help="Overrides the topic's setting; -1 is no limit.", min=-1),
    ] = None,
    now: Annotated[str | None, Option("--now", help="At this time: ms or ISO 8601; now by default.")] = None,
    json: Annotated[bool, Option("--json", help="One JSON object for each topic-partition.")] = False,
) -> None:
    """Show which segments a broker's retention would delete now, and why the next one stays; read only.

    Settings come from the metadata log, if it is in the folders: of the topic, the broker or the
    cluster; else they are Kafka's defaults. A broker's server.properties are not among its logs: give such
    settings as options. To delete, use kodec trim.

    example:  kodec retention /data/kafka-logs --topic orders

    exit:     0 done   1 something is damaged, or cannot be determined   2 no such topic there, bad usage
    """
    try:
        time = None if now is None else parse_time(now)
    except ValueError as error:
        raise BadParameter(f"--now {now}: {error}") from None
    options = {"retention.ms": retention_ms, "retention.bytes": retention_bytes}
    given = {name: str(value) for name, value in options.items() if value is not None}
    guessed = 0
    with errors_reported():
        here = Replicas(*paths)
        outcome = Outcome(here.omissions)
        logs = logs_of(here, topic, partition)
        metadata = None
        if here.log(TopicPartition(METADATA_TOPIC, 0)) is not None:
            with outcome.each(paths[0]):
                metadata = read_metadata(*paths)
                outcome.omissions.extend(metadata.omissions)
        remote = read_remote_offsets(here, outcome.omissions)
        for log in logs:
            with outcome.each(log.path):
                found = explain_retention(
                    log, metadata, options=given, remote_offset=remote.get(log.topic_partition), now=time
                )
                note_missing(log, outcome.omissions)
                output.show(*([output.as_json(_facts(found))] if json else _text(found)))
                guessed += found.settings["retention.ms"].source == "default"
    if metadata is None:
        output.warn(
            "kodec: no metadata log in the folders: topic settings are unknown, and Kafka's defaults ~"
            "apply where no option is given"
        )
    elif guessed:
        output.warn(
            f"kodec: {output.count(guessed, 'partition')}: retention.ms is Kafka's default, as a broker's "
            "server.properties is not in its log directories; --retention-ms overrides it"
        )
    raise Exit(outcome.end(json=json))


def _facts(found: Retention) -> dict[str, object]:
    kept = found.next
    sources = {each.base_offset: each.source for each in found.wrong_times}
    return {
        "topic": found.topic_partition.topic,
        "partition": found.topic_partition.partition,
        "settings": {name: each._asdict() for name, each in found.settings.items()},
        "segments": found.segments,
        "bytes": found.bytes,
        "startOffset": found.start_offset,
        "endOffset": found.end_offset,
        "highWatermark": found.high_watermark,
        "deletable": [
            {
                "baseOffset": each.base_offset,
                "endOffset": each.end_offset,
                "bytes": each.bytes,
                "reason": each.reason.name.lower(),
            }
            for each in found.deletable
        ],
        "next": None
        if kept is None
        else {
            "baseOffset": kept.base_offset,
            "endOffset": kept.end_offset,
            "bytes": kept.bytes,
            "active": kept.active,
            "largestTimestamp": kept.largest_timestamp,
            "timestampOf": sources.get(kept.base_offset, "file" if kept.by_file else "records"),
            "dueTimestamp": kept.due,
            "missingBytes": kept.missing_bytes,
            "reasons": kept.reasons,
            "waitingBehind": kept.behind,
        },
        "wrongTimes": [
            {
                "baseOffset": each.base_offset,
                "timestamp": each.timestamp,
                "timestampOf": each.source,
                "recordsTimestamp": each.records,
            }
            for each in found.wrong_times
        ],
    }


def _text(found: Retention) -> list[str]:
    name = found.topic_partition
    decide = ("cleanup.policy", "retention.ms", "retention.bytes")
    settings = ", ".join(
        f"{each}={found.settings[each].value} ({found.settings[each].source})" for each in decide
    )
    lines = [f"{name}: {output.count(found.segments, 'segment')}, {output.size_of(found.bytes)}; {settings}"]
    lines += [
        f"  segment {each.base_offset}, up to {each.end_offset}, {output.size_of(each.bytes)}: expired, "
        f"{each.reason.value}"
        for each in found.deletable
    ]
    kept = found.next
    if kept is not None:
        what = "active segment" if kept.active else "segment"
        lines.append(
            f"  {what} {kept.base_offset}, {output.size_of(kept.bytes)}, stays: {'; '.join(kept.reasons)}"
        )
        if kept.due is not None:
            lines.append(f"    by time it expires after {output.time_of(kept.due - 1)}")
        if kept.behind:
            lines.append(
                f"    {output.count(kept.behind, 'segment')} after it would expire too but must wait"
            )
    for each in found.wrong_times:
        assert each.records is not None
        source = (
            "its time index ends with"
            if each.source == "index"
            else "its time index is empty: its file is of"
        )
        lines.append(
            f"  segment {each.base_offset}: {source} {output.time_of(each.timestamp)}, which a broker takes "
            f"for its newest record; that is of {output.time_of(each.records)}; kodec reindex repairs it"
        )
    return lines
