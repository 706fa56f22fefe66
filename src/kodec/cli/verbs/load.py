"""kodec load: writes a log directory from the lines of `kodec dump --edit-format`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.outcome import LogShow, errors_reported
from kodec.cli.parser import Argument, BadParameter, Exit, Option
from kodec.cli.plans import Shown, run_plans
from kodec.cli.selection import refuse_archives
from kodec.cli.stdin import is_stdin, stdin
from kodec.log.editing.load import LoadedLog, LoadPlan, lines_of, plan_load
from kodec.stores.modes import readable_as

__all__ = ["load"]


def load(
    to: Annotated[Path, Option("--to", help="The new log directory.", file_okay=False)],
    lines: Annotated[
        Path,
        Argument(
            metavar="[FILE]",
            exists=True,
            dash=True,
            help="JSON Lines; - or nothing for stdin.",
            dir_okay=False,
        ),
    ] = Path("-"),
    cluster_id: Annotated[
        str | None, Option("--cluster-id", help="For meta.properties, with --node-id.")
    ] = None,
    node_id: Annotated[
        int | None, Option("--node-id", help="For meta.properties, with --cluster-id.", min=0)
    ] = None,
    apply: Annotated[bool, Option("--apply", help="Apply the changes [default: dry run].")] = False,
    json: Annotated[bool, Option("--json", help="One JSON object for each topic-partition.")] = False,
) -> None:
    """Write a log directory from the output of `kodec dump --edit-format`, edited or not.

    Offsets, timestamps, producers, transactions and segments are those of the lines; unedited batches
    keep their exact bytes. Without --apply the lines are only checked. The log directory appears whole or
    not at all. For Parquet, use kodec restore.

    example:  kodec dump --edit-format /data/kafka-logs | ./script | kodec load --to edited --apply

    exit:     0 done   1 an invalid line, lost offsets, or the target is not empty   2 bad usage
              3 checked, --apply writes it
    """
    if (cluster_id is None) != (node_id is None):
        raise BadParameter("--cluster-id and --node-id go together")
    refuse_archives([lines])
    show = _Show(lines, to, apply)

    def plans() -> Iterator[LoadPlan]:
        with ExitStack() as stack, show.outcome.each(lines):
            file = stdin() if is_stdin(lines) else stack.enter_context(lines.open("rb"))
            name = "stdin" if is_stdin(lines) else str(lines)
            plan = plan_load(name, partial(lines_of, file), to, cluster_id=cluster_id, node_id=node_id)
            stack.enter_context(readable_as(os.fstat(file.fileno())))
            yield plan

    with errors_reported():
        raise Exit(run_plans(plans(), apply=apply, json=json, show=show))


class _Show(LogShow[LoadPlan, list[LoadedLog]]):
    def __init__(self, lines: Path, to: Path, apply: bool) -> None:
        super().__init__()
        self._lines, self._to, self._apply = lines, to, apply

    def each(self, plan: LoadPlan) -> AbstractContextManager[None]:
        return self.outcome.each(self._lines)

    def report(self, plan: LoadPlan, report: list[LoadedLog]) -> Iterable[Shown]:
        for log in report:
            self.outcome.omissions.extend(log.omissions)
            yield Shown(_facts(log, self._to, self._apply), [_text(log)])
        yield Shown(None, [f"to {self._to}: {output.ending(self._apply)}"])


def _facts(loaded: LoadedLog, out: Path, applied: bool) -> dict[str, object]:
    path = out / str(loaded.topic_partition)
    return output.named(loaded.topic_partition, path, applied) | {
        **output.facts(
            loaded, "segments", "batches", "as_stored", "records", "first_offset", "end_offset", "bytes"
        ),
    }


def _text(loaded: LoadedLog) -> str:
    records, segments = output.count(loaded.records, "record"), output.count(loaded.segments, "segment")
    batches = output.count(loaded.batches, "batch", "batches")
    return (
        f"{loaded.topic_partition}: {records} in {batches} and {segments}, "
        f"offsets {loaded.first_offset} to {loaded.end_offset} (exclusive), {output.size_of(loaded.bytes)}"
    )
