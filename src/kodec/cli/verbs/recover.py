"""kodec recover: repairs logs that were not shut down cleanly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.outcome import Outcome, errors_reported
from kodec.cli.parser import Exit, Option
from kodec.cli.progress import Step, progress
from kodec.cli.recovery_output import Shown
from kodec.cli.selection import DIRECTORIES, logs_at
from kodec.log.directories.directory import LogRoot
from kodec.log.files.paths import PartitionPath
from kodec.log.files.resolve import resolve
from kodec.log.recovery.plan import RecoveryPlan
from kodec.log.recovery.planning import plan_recoveries, plan_recovery
from kodec.log.verification.verify import verify_root

__all__ = ["recover"]


def recover(
    paths: Annotated[list[Path], DIRECTORIES],
    apply: Annotated[bool, Option("--apply", help="Do it; without this, a dry run.")] = False,
    json: Annotated[bool, Option("--json", help="One JSON object for each change.")] = False,
    quarantine: Annotated[
        Path | None,
        Option(
            "--quarantine",
            help="Folder for truncated data. [default: DIR.quarantine beside the log directory]",
            file_okay=False,
        ),
    ] = None,
    from_start: Annotated[
        bool, Option("--from-start", help="Read all segments, regardless of the checkpoints.")
    ] = False,
    index_interval_bytes: Annotated[int, Option(help="The topic's index.interval.bytes.", min=0)] = 4096,
) -> None:
    """Repair logs that were not shut down cleanly, as a starting broker does; a dry run without --apply.

    Completes or rolls back an interrupted compaction, reads the segments from the recovery point on,
    truncates a log after its last valid batch, and rebuilds indexes, producer snapshots and leader epochs.
    Nothing is deleted: truncated data is moved to the quarantine folder.

    example:  kodec recover /data/kafka-logs

    exit:     0 nothing to do, or done   1 refused, or cannot be read   2 bad usage   3 shown, --apply does it
    """
    outcome, shown = Outcome(), Shown(json, apply)
    with errors_reported():
        for path in paths:
            with progress(path.name, logs_at(path)[1]) as step:
                shown.all(_plans(path, from_start, index_interval_bytes, step), outcome, step, quarantine)
    shown.end()
    raise Exit(outcome.code)


def _plans(path: Path, from_start: bool, index_interval_bytes: int, step: Step) -> Iterator[RecoveryPlan]:
    """The plan of a topic-partition's folder, or those of a log directory, each made on demand."""
    if isinstance(resolve(path), PartitionPath):
        yield plan_recovery(
            path, from_start=from_start, index_interval_bytes=index_interval_bytes, progress=step
        )
        return
    for problem in verify_root(LogRoot(path)):
        output.warn(f"{problem}: ignored")
    yield from plan_recoveries(
        path, from_start=from_start, index_interval_bytes=index_interval_bytes, progress=step
    )
