"""kodec recover: repairs logs that were not shut down cleanly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from kodec.cli import output
from kodec.cli.outcome import errors_reported
from kodec.cli.parser import Exit, Option
from kodec.cli.plans import Shown, run_plans
from kodec.cli.progress import Step, progress
from kodec.cli.recovery_output import ShowRecovery, counted
from kodec.cli.selection import DIRECTORIES, TOPICS, logs_at
from kodec.log.directories.directory import LogRoot
from kodec.log.files.listing import ReplicaKind
from kodec.log.files.paths import PartitionPath
from kodec.log.recovery.plan import RecoveryPlan
from kodec.log.recovery.planning import plan_recoveries, plan_recovery
from kodec.log.remote.resolve import LogDirectoryPath, is_of_topics, require_topics, resolve
from kodec.log.verification.verify import verify_root

__all__ = ["recover"]


def recover(
    paths: Annotated[list[Path], DIRECTORIES],
    topic: Annotated[list[str] | None, TOPICS] = None,
    apply: Annotated[bool, Option("--apply", help="Apply the changes [default: dry run].")] = False,
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
    allow_empty: Annotated[
        bool, Option("--allow-empty", help="Also cut a log to nothing that is none of Kafka's.")
    ] = False,
    index_interval_bytes: Annotated[int, Option(help="The topic's index.interval.bytes.", min=0)] = 4096,
) -> None:
    """Repair logs that were not shut down cleanly, as a starting broker does; a dry run without --apply.

    Completes or rolls back an interrupted compaction, reads the segments from the recovery point on,
    truncates a log after its last valid batch, and rebuilds indexes, producer snapshots and leader epochs.
    Nothing is deleted: truncated data is moved to the quarantine folder.

    example:  kodec recover /data/kafka-logs

    exit:     0 nothing to do, or done   1 refused, or cannot be read   2 bad usage
              3 changes found; run again with --apply
    """
    show = _Show(paths)
    options: dict[str, Any] = {
        "from_start": from_start,
        "allow_empty": allow_empty,
        "index_interval_bytes": index_interval_bytes,
        "quarantine": quarantine,
    }

    def plans() -> Iterator[RecoveryPlan]:
        for path in paths:
            with progress(path.name, logs_at(path, topic)[1]) as step:
                yield from counted(_plans(path, topic or None, options, step), step)

    with errors_reported():
        require_topics(topic or None, *paths)
        show.outcome.note_listing(paths, topic or (), handled=lambda name: name.kind is ReplicaKind.FUTURE)
        raise Exit(run_plans(plans(), apply=apply, json=json, show=show))


class _Show(ShowRecovery):
    def __init__(self, paths: Sequence[Path]) -> None:
        super().__init__()
        self._paths = paths

    def end(self, apply: bool) -> Iterable[Shown]:
        yield from super().end(apply)
        for path in self._paths:
            if not isinstance(resolve(path), PartitionPath) and not (path / "__cluster_metadata-0").exists():
                output.warn(
                    f"note: {path} has no __cluster_metadata-0: a broker of the same cluster can serve these "
                    "logs; kodec rebuild gives them to a new one"
                )


def _plans(
    path: Path, topics: Sequence[str] | None, options: dict[str, Any], step: Step
) -> Iterator[RecoveryPlan]:
    """The plan of a topic-partition's folder, or those of a log directory, each made on demand."""
    what = resolve(path)
    if isinstance(what, PartitionPath):
        if is_of_topics(what, topics):
            yield plan_recovery(path, progress=step, **options)
        return
    for problem in verify_root(LogRoot(path)) if topics is None else ():
        output.warn(f"{problem}: ignored")
    assert isinstance(what, LogDirectoryPath)
    known = {replica.topic_partition.topic for replica in what.replicas}
    selected = None if topics is None else [topic for topic in topics if topic in known]
    yield from plan_recoveries(path, topics=selected, progress=step, **options)
