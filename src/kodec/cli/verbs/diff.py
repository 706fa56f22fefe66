"""kodec diff: where replicas of topic-partitions differ, by offset, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.outcome import BAD_USAGE, Outcome, errors_reported
from kodec.cli.parser import Argument, Exit, Option
from kodec.cli.progress import progress
from kodec.cli.selection import TOPICS, replicas_at, size_of_logs
from kodec.cli.tables import COLUMNS, WIDE, Layout, print_table
from kodec.log.files.listing import list_partition
from kodec.log.recovery.differences import ReplicaDifferences, compare_replicas

__all__ = ["diff"]


def diff(
    paths: Annotated[
        list[Path],
        Argument(
            metavar="PATH...",
            exists=True,
            file_okay=False,
            urls=True,
            replicas=True,
            help="log.dirs folders of several brokers, or folders of one topic-partition.",
        ),
    ],
    topic: Annotated[list[str] | None, TOPICS] = None,
    json: Annotated[bool, Option("--json", help="One JSON object for each topic-partition.")] = False,
    columns: Annotated[str | None, COLUMNS] = None,
    wide: Annotated[bool, WIDE] = False,
) -> None:
    """Show where the replicas of topic-partitions differ, by offset, and why.

    Each replica is compared with what `kodec salvage` would make of all of them: the batches on the lineage
    of the
    newest leader epoch. A replica may be behind, start later, be compacted further or have the same records
    in other bytes: healthy replicas differ like this. Reads all batches; writes nothing.

    example:  kodec diff broker-1 broker-2 broker-3 --topic orders

    exit:     0 equal, or as healthy replicas differ   1 diverged, damaged, missing, or not readable
              2 bad usage, or no topic-partition is in two of the paths
    """
    outcome = Outcome()
    with errors_reported():
        replicas = replicas_at(paths, topic or [])
        outcome.note_listing(paths)
        alone = {owner: folders[0] for owner, folders in replicas.items() if len(folders) == 1}
        several = {owner: folders for owner, folders in replicas.items() if len(folders) > 1}
        if not several:
            output.warn("kodec: no topic-partition is in two of the paths: there is nothing to compare")
            raise Exit(BAD_USAGE)
        comparisons: list[ReplicaDifferences] = []
        with progress(
            "diff", sum(size_of_logs(folder) for all_ in several.values() for folder in all_)
        ) as step:
            for folders in several.values():
                with outcome.each(folders[0]):
                    comparisons.append(compare_replicas(*folders, progress=step))
    if json:
        output.show(*(output.as_json(_facts(comparison)) for comparison in comparisons))
    else:
        _table(comparisons, paths, Layout(columns, wide))
    for comparison in comparisons:
        output.warn(*(f"{comparison.topic_partition}: {note}" for note in comparison.notes))
    for owner, folder in alone.items():
        with outcome.each(folder):
            list_partition(folder)
            output.warn(f"{owner}: only {folder}: not compared")
    outcome.failed += not all(comparison.is_sound for comparison in comparisons)
    for comparison in comparisons:
        outcome.omissions.extend(comparison.omissions)
    raise Exit(outcome.end(json=json))


def _facts(comparison: ReplicaDifferences) -> dict[str, object]:
    return {
        "topic": comparison.topic_partition.topic,
        "partition": comparison.topic_partition.partition,
        "sound": comparison.is_sound,
        "lineageOf": str(comparison.winner),
        "replicas": [
            {
                "path": str(replica.path),
                "startOffset": replica.start_offset,
                "endOffset": replica.end_offset,
                "highWatermark": replica.high_watermark,
                "lineageEnd": replica.lineage_end,
                "batches": replica.batches,
            }
            for replica in comparison.replicas
        ],
        "differences": [
            {
                "path": str(difference.path),
                "firstOffset": difference.first_offset,
                "lastOffset": difference.last_offset,
                "kind": difference.kind,
                "harmless": difference.is_harmless,
                "reason": difference.reason,
            }
            for difference in comparison.differences
        ],
        "notes": comparison.notes,
    }


def _table(comparisons: list[ReplicaDifferences], paths: list[Path], layout: Layout) -> None:
    rows = [
        [
            comparison.topic_partition,
            _shown(difference.path, paths),
            difference.first_offset,
            "end" if difference.last_offset is None else difference.last_offset,
            difference.kind,
            difference.reason,
        ]
        for comparison in comparisons
        for difference in comparison.differences
    ]
    equal = sum(not comparison.differences for comparison in comparisons)
    title = f"{output.count(len(comparisons), 'topic-partition')} compared, {equal} with equal replicas"
    if not rows:
        output.show(title)
        return
    columns = ["topic-partition", "replica", "first", "last", "what", "why"]
    print_table(title, columns, rows, left_aligned="topic-partition, replica, what, why", layout=layout)


def _shown(folder: Path, paths: list[Path]) -> str:
    """The path as given that a replica is under."""
    return str(next((path for path in paths if folder == path or folder.parent == path), folder))
