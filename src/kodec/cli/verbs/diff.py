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
        wanted = replicas_at(paths, topic or [])
        outcome.note_listing(paths)
        alone = {owner: found[0] for owner, found in wanted.items() if len(found) == 1}
        several = {owner: found for owner, found in wanted.items() if len(found) > 1}
        if not several:
            output.warn("kodec: no topic-partition is in two of the paths: there is nothing to compare")
            raise Exit(BAD_USAGE)
        found: list[ReplicaDifferences] = []
        with progress("diff", sum(size_of_logs(each) for all_ in several.values() for each in all_)) as step:
            for folders in several.values():
                with outcome.each(folders[0]):
                    found.append(compare_replicas(*folders, progress=step))
    if json:
        output.show(*(output.as_json(_facts(each)) for each in found))
    else:
        _table(found, paths, Layout(columns, wide))
    for each in found:
        output.warn(*(f"{each.topic_partition}: {note}" for note in each.notes))
    for owner, folder in alone.items():
        with outcome.each(folder):
            list_partition(folder)
            output.warn(f"{owner}: only {folder}: not compared")
    outcome.failed += not all(each.is_sound for each in found)
    for each in found:
        outcome.omissions.extend(each.omissions)
    raise Exit(outcome.end(json=json))


def _facts(found: ReplicaDifferences) -> dict[str, object]:
    return {
        "topic": found.topic_partition.topic,
        "partition": found.topic_partition.partition,
        "sound": found.is_sound,
        "lineageOf": str(found.winner),
        "replicas": [
            {
                "path": str(each.path),
                "startOffset": each.start_offset,
                "endOffset": each.end_offset,
                "highWatermark": each.high_watermark,
                "lineageEnd": each.lineage_end,
                "batches": each.batches,
            }
            for each in found.replicas
        ],
        "differences": [
            {
                "path": str(each.path),
                "firstOffset": each.first_offset,
                "lastOffset": each.last_offset,
                "kind": each.kind,
                "harmless": each.is_harmless,
                "reason": each.reason,
            }
            for each in found.differences
        ],
        "notes": found.notes,
    }


def _table(found: list[ReplicaDifferences], paths: list[Path], layout: Layout) -> None:
    rows = [
        [
            each.topic_partition,
            _shown(one.path, paths),
            one.first_offset,
            "end" if one.last_offset is None else one.last_offset,
            one.kind,
            one.reason,
        ]
        for each in found
        for one in each.differences
    ]
    equal = sum(not each.differences for each in found)
    title = f"{output.count(len(found), 'topic-partition')} compared, {equal} with equal replicas"
    if not rows:
        output.show(title)
        return
    columns = ["topic-partition", "replica", "first", "last", "what", "why"]
    print_table(title, columns, rows, left="topic-partition, replica, what, why", layout=layout)


def _shown(folder: Path, paths: list[Path]) -> str:
    """The path as given that a replica is under."""
    return str(next((path for path in paths if folder == path or folder.parent == path), folder))
