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
from kodec.log.directories.losses import note_missing
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
    overrides = {name: str(value) for name, value in options.items() if value is not None}
    guessed = 0
    with errors_reported():
        replicas = Replicas(*paths)
        outcome = Outcome(replicas.omissions)
        logs = logs_of(replicas, topic, partition)
        metadata = None
        if replicas.log(TopicPartition(METADATA_TOPIC, 0)) is not None:
            with outcome.each(paths[0]):
                metadata = read_metadata(*paths)
                outcome.omissions.extend(metadata.omissions)
        remote = read_remote_offsets(replicas, outcome.omissions)
        for log in logs:
            with outcome.each(log.path):
                explanation = explain_retention(
                    log, metadata, options=overrides, remote_offset=remote.get(log.topic_partition), now=time
                )
                note_missing(log, outcome.omissions)
                output.show(*([output.as_json(_facts(explanation))] if json else _text(explanation)))
                guessed += explanation.settings["retention.ms"].source == "default"
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


def _facts(retention: Retention) -> dict[str, object]:
    next_segment = retention.next
    sources = {wrong_time.base_offset: wrong_time.source for wrong_time in retention.wrong_times}
    return {
        "topic": retention.topic_partition.topic,
        "partition": retention.topic_partition.partition,
        "settings": {name: setting._asdict() for name, setting in retention.settings.items()},
        "segments": retention.segments,
        "bytes": retention.bytes,
        "startOffset": retention.start_offset,
        "endOffset": retention.end_offset,
        "highWatermark": retention.high_watermark,
        "deletable": [
            {
                "baseOffset": segment.base_offset,
                "endOffset": segment.end_offset,
                "bytes": segment.bytes,
                "reason": segment.reason.name.lower(),
            }
            for segment in retention.deletable
        ],
        "next": None
        if next_segment is None
        else {
            "baseOffset": next_segment.base_offset,
            "endOffset": next_segment.end_offset,
            "bytes": next_segment.bytes,
            "active": next_segment.active,
            "largestTimestamp": next_segment.largest_timestamp,
            "timestampOf": sources.get(
                next_segment.base_offset, "file" if next_segment.by_file else "records"
            ),
            "dueTimestamp": next_segment.due,
            "missingBytes": next_segment.missing_bytes,
            "reasons": next_segment.reasons,
            "waitingBehind": next_segment.behind,
        },
        "wrongTimes": [
            {
                "baseOffset": wrong_time.base_offset,
                "timestamp": wrong_time.timestamp,
                "timestampOf": wrong_time.source,
                "recordsTimestamp": wrong_time.records,
            }
            for wrong_time in retention.wrong_times
        ],
    }


def _text(retention: Retention) -> list[str]:
    name = retention.topic_partition
    decide = ("cleanup.policy", "retention.ms", "retention.bytes")
    settings = ", ".join(
        f"{key}={retention.settings[key].value} ({retention.settings[key].source})" for key in decide
    )
    lines = [
        f"{name}: {output.count(retention.segments, 'segment')}, {output.size_of(retention.bytes)}"
        f"; {settings}"
    ]
    lines += [
        f"  segment {segment.base_offset}, up to {segment.end_offset}, {output.size_of(segment.bytes)}: "
        f"expired, {segment.reason.value}"
        for segment in retention.deletable
    ]
    next_segment = retention.next
    if next_segment is not None:
        what = "active segment" if next_segment.active else "segment"
        lines.append(
            f"  {what} {next_segment.base_offset}, {output.size_of(next_segment.bytes)}, "
            f"stays: {'; '.join(next_segment.reasons)}"
        )
        if next_segment.due is not None:
            lines.append(f"    by time it expires after {output.time_of(next_segment.due - 1)}")
        if next_segment.behind:
            lines.append(
                f"    {output.count(next_segment.behind, 'segment')} after it would expire too but must wait"
            )
    for wrong_time in retention.wrong_times:
        assert wrong_time.records is not None
        source = (
            "its time index ends with"
            if wrong_time.source == "index"
            else "its time index is empty: its file is of"
        )
        lines.append(
            f"  segment {wrong_time.base_offset}: {source} {output.time_of(wrong_time.timestamp)}, which a "
            f"broker takes for its newest record; that is of {output.time_of(wrong_time.records)}; "
            "kodec reindex repairs it"
        )
    return lines
