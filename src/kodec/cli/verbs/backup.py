"""kodec backup: stores log directories at points in time, and lists, checks and deletes such points."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.outcome import Missing, Outcome, errors_reported
from kodec.cli.parser import Argument, BadParameter, Exit, Option
from kodec.cli.plans import Show, Shown, run_plans
from kodec.cli.progress import progress
from kodec.cli.selection import TOPICS
from kodec.log.backup.backup import BackupReport, plan_backup
from kodec.log.backup.points import BackupProblem, PrunePlan, check_backup, list_points, plan_prune
from kodec.log.backup.repository import Repository
from kodec.log.omissions import Omissions
from kodec.log.remote.point import POINTS, BackupPoint
from kodec.runtime.plan import StepReport

__all__ = ["backup"]


def backup(
    to: Annotated[Path, Option("--to", urls=True, help="The backup: a folder, or a URL of s3:, gs: or az:.")],
    log_dirs: Annotated[
        list[Path] | None,
        Argument(
            metavar="[DIR...]", exists=True, file_okay=False, help="log.dirs folders, of one broker or more."
        ),
    ] = None,
    topic: Annotated[list[str] | None, TOPICS] = None,
    list_: Annotated[bool, Option("--list", help="Show the points of the backup.")] = False,
    check: Annotated[
        bool,
        Option(
            "--check",
            help="Read all that the points need, and compare hashes. With DIR: store again what is damaged.",
        ),
    ] = False,
    prune: Annotated[bool, Option("--prune", help="Delete old points, with --keep or --point.")] = False,
    keep: Annotated[
        int | None, Option("--keep", help="How many of the newest points to keep.", min=1)
    ] = None,
    point: Annotated[
        list[str] | None,
        Option("--point", help="Check or delete only this point; repeatable."),
    ] = None,
    threads: Annotated[int, Option("--threads", help="Topic-partitions at once.", min=1, max=64)] = 4,
    apply: Annotated[bool, Option("--apply", help="With --prune: delete; without this, a dry run.")] = False,
    json: Annotated[bool, Option("--json", help="One JSON object for each point.")] = False,
) -> None:
    """Store log directories as they are now, also those of a running broker, in a folder or an object store.

    Only what is new is stored, under the name of its SHA-256, and read back. A topic-partition is stored as
    of one moment; the active segment up to its last whole batch. What cannot be read, damage and lost offsets
    are named, and the rest is stored: the point is not whole then. All verbs that read log directories read
    `points/NAME` of the backup, and `kodec rebuild` makes a cluster of it. A killed backup has stored no
    point; the next one goes on.

    example:  kodec backup /data/kafka-logs --to backup
              kodec backup --to backup --list
              kodec backup --to backup --check
              kodec backup --to backup --prune --keep 7 --apply

    exit:     0 done   1 failed, or not whole   2 bad usage   3 changes found; run again with --apply
    """
    modes = [
        name
        for name, on in (("--list", list_), ("--check", check and not log_dirs), ("--prune", prune))
        if on
    ]
    if len(modes) + bool(log_dirs) != 1:
        raise BadParameter("give log directories, or one of --list, --check and --prune")
    if (keep is not None or apply) and not prune:
        raise BadParameter("--keep and --apply go with --prune")
    if point and (log_dirs or not (check or prune)):
        raise BadParameter("--point goes with --check and --prune")
    if prune and (keep is None) == (not point):
        raise BadParameter("--prune needs --keep or --point")
    if topic and not log_dirs:
        raise BadParameter("--topic goes with log directories")
    with errors_reported():
        try:
            if not log_dirs:
                _require_backup(to)
            if log_dirs:
                _store(log_dirs, to, topic, threads, check, json)
            elif list_:
                _list(to, json)
            elif check:
                _check(to, point, json)
            else:
                _prune(to, keep, point, apply, json)
        except KeyError as error:
            raise Missing(error.args[0]) from None


def _require_backup(to: Path) -> None:
    """Raises Missing where no backup is; OSError."""
    try:
        Repository(to).require()
    except (FileExistsError, FileNotFoundError) as error:
        raise Missing(f"--to {to}: {error.strerror}") from None


def _store(
    log_dirs: list[Path], to: Path, topics: list[str] | None, threads: int, check: bool, json: bool
) -> None:
    size = 0
    with progress("backup", lambda: size) as step:
        plan = plan_backup(
            log_dirs, to, topics=topics, threads=threads, check=check, progress=lambda read: step(read)
        )
        size = plan.size
        output.warn(*(f"note: {note}" for note in plan.notes))
        report = plan.apply()
    if json:
        facts = _facts(report.point, to)
        facts |= {"newObjects": report.new, "newBytes": report.new_bytes, "reusedFiles": report.reused}
        output.show(output.as_json(facts))
    else:
        output.show(*_stored(report, to))
    raise Exit(Outcome(report.omissions).end())


def _stored(report: BackupReport, to: Path) -> list[str]:
    point = report.point
    new = f"{output.count(report.new, 'new object')}, {output.size_of(report.new_bytes)}"
    read_back = ", read back" if point.is_whole else ""
    health = "" if point.is_whole else ", not whole"
    return [
        f"{_path(point, to)}: {output.count(_partitions(point), 'topic-partition')}, "
        f"{output.size_of(_bytes(point))}{health}",
        f"{new}{read_back}; {output.count(report.reused, 'file')} unchanged",
    ]


def _path(point: BackupPoint, to: Path) -> str:
    return f"{str(to).rstrip('/')}/{POINTS}/{point.name}"


def _partitions(point: BackupPoint) -> int:
    return sum(len(directory.partitions) for directory in point.directories)


def _bytes(point: BackupPoint) -> int:
    return sum(file.size for _, _, files in point.folders() for file in files.values())


def _facts(point: BackupPoint, to: Path) -> dict[str, object]:
    return {
        "point": point.name,
        "path": _path(point, to),
        **output.facts(point, "number", "begun", "ended"),
        "whole": point.is_whole,
        "bytes": _bytes(point),
        "directories": [
            {
                **output.facts(directory, "name", "host", "source", "cluster_id", "node_id", "directory_id"),
                "leftOut": [omission.facts() for omission in directory.omissions],
                "more": directory.omissions.more,
                "partitions": [
                    {
                        **output.facts(partition, "folder", "listed", "attempts"),
                        "activeSegment": partition.active,
                        "endOffset": partition.end_offset,
                        "highWatermark": partition.high_watermark,
                    }
                    for partition in directory.partitions
                ],
            }
            for directory in point.directories
        ],
    }


def _list(to: Path, json: bool) -> None:
    outcome = Outcome()
    points = list_points(to, omissions=outcome.omissions)
    problems: dict[str, list[BackupProblem]] = {point.name: [] for point in points}
    for problem in check_backup(to, points=list(problems), contents=False):
        for name in problem.points:
            problems[name].append(problem)
    for point in points:
        wrong = problems[point.name]
        outcome.failed += bool(wrong or not point.is_whole)
        if json:
            facts = _facts(point, to) | {"objectProblems": [str(problem) for problem in wrong]}
            output.show(output.as_json(facts | {"whole": point.is_whole and not wrong}))
            continue
        sources = ", ".join(f"{directory.host}:{directory.source}" for directory in point.directories)
        health = "whole" if point.is_whole and not wrong else "not whole"
        parts = output.count(_partitions(point), "topic-partition")
        output.show(f"{point.name}  {parts}, {output.size_of(_bytes(point))}, {health}: {sources}")
        output.show(
            *(f"    {omission}" for omission in point.omissions), *(f"    {problem}" for problem in wrong)
        )
    if not json:
        output.show(output.count(len(points), "point"))
    raise Exit(outcome.end(json=json))


def _check(to: Path, points: list[str] | None, json: bool) -> None:
    outcome = Outcome()
    readable = list_points(to, omissions=Omissions())
    selected = [point for point in readable if points is None or point.name in points]
    sizes = {key: part.size for point in selected for key, part in point.objects().items()}
    count = 0
    with progress("check", sum(sizes.values())) as step:
        for problem in check_backup(to, points=points, progress=step):
            count += 1
            if json:
                facts = {"path": str(problem.path), "what": problem.what, "points": problem.points}
                output.show(output.as_json(facts))
            else:
                output.show(f"{problem}: needed by {', '.join(problem.points)}")
    outcome.failed += count
    for point in selected:
        # what the point lacks since it was taken
        outcome.omissions.extend(point.omissions)
    not_whole = [point.name for point in selected if not point.is_whole]
    if not json:
        number = len(selected) if points is None else len(points)
        of_objects = output.count(count, "problem") if count else "no problem"
        health = f"; not whole since taken: {', '.join(not_whole)}" if not_whole else ""
        output.show(f"{output.count(number, 'point')}: {of_objects}{health}")
    raise Exit(outcome.end(json=json))


def _prune(to: Path, keep: int | None, points: list[str] | None, apply: bool, json: bool) -> None:
    plans = [plan_prune(to, keep=keep, points=points)]
    raise Exit(run_plans(plans, apply=apply, json=json, show=_ShowPruned()))


class _ShowPruned(Show[PrunePlan, StepReport[str]]):
    def report(self, plan: PrunePlan, report: StepReport[str]) -> Iterable[Shown]:
        facts = {"applied": report.applied, "points": plan.points, "kept": plan.kept}
        objects = f"{output.count(len(plan.objects), 'object')}, {output.size_of(plan.bytes)}"
        remaining = f"{output.count(len(plan.kept), 'point')} kept: {output.ending(report.applied)}"
        yield Shown(
            facts | {"objects": len(plan.objects), "bytes": plan.bytes},
            [
                *(f"{name}: delete" for name in plan.points),
                f"{objects}, needed by no other point; {remaining}",
            ],
        )
