"""kodec backup: stores log directories at points in time, and lists, checks and deletes such points."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.outcome import FAILED, LEFT_TO_DO, errors_reported
from kodec.cli.parser import Argument, BadParameter, Exit, Option
from kodec.cli.progress import progress
from kodec.cli.selection import TOPICS
from kodec.log.backup.backup import BackupReport, plan_backup
from kodec.log.backup.points import check_backup, list_points, plan_prune
from kodec.log.files.backup_point import POINTS, BackupPoint

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
        bool, Option("--check", help="Read all that the points need, and compare hashes.")
    ] = False,
    prune: Annotated[bool, Option("--prune", help="Delete old points, with --keep or --point.")] = False,
    keep: Annotated[
        int | None, Option("--keep", help="How many of the newest points to keep.", min=1)
    ] = None,
    point: Annotated[
        list[str] | None,
        Option("--point", help="Check or delete only this point; may be given several times."),
    ] = None,
    threads: Annotated[int, Option("--threads", help="Topic-partitions at once.", min=1, max=64)] = 4,
    apply: Annotated[bool, Option("--apply", help="With --prune: delete; without this, a dry run.")] = False,
    json: Annotated[bool, Option("--json", help="One JSON object for each point.")] = False,
) -> None:
    """Store log directories as they are now, also those of a running broker, in a folder or an object store.

    Only what is new is stored, under the name of its SHA-256, and read back. A topic-partition is stored as
    of one moment; the active segment up to its last whole batch. All verbs that read log directories read
    `points/NAME` of the backup, and `kodec rebuild` makes a cluster of it. A killed backup has stored no
    point; the next one goes on.

    example:  kodec backup /data/kafka-logs --to backup
              kodec backup --to backup --list
              kodec backup --to backup --check
              kodec backup --to backup --prune --keep 7 --apply

    exit:     0 done   1 failed, or not whole   2 bad usage   3 shown, --apply does it
    """
    modes = [name for name, on in (("--list", list_), ("--check", check), ("--prune", prune)) if on]
    if len(modes) + bool(log_dirs) != 1:
        raise BadParameter("give log directories, or one of --list, --check and --prune")
    if (keep is not None or apply) and not prune:
        raise BadParameter("--keep and --apply go with --prune")
    if point and not (check or prune):
        raise BadParameter("--point goes with --check and --prune")
    if prune and (keep is None) == (not point):
        raise BadParameter("--prune needs --keep or --point")
    if topic and not log_dirs:
        raise BadParameter("--topic goes with log directories")
    with errors_reported():
        try:
            if log_dirs:
                _store(log_dirs, to, topic, threads, json)
            elif list_:
                _list(to, json)
            elif check:
                _check(to, point, json)
            else:
                _prune(to, keep, point, apply, json)
        except KeyError as error:
            output.warn(f"kodec: {error.args[0]}")
            raise Exit(FAILED) from None


def _store(log_dirs: list[Path], to: Path, topics: list[str] | None, threads: int, json: bool) -> None:
    size = 0
    with progress("backup", lambda: size) as step:
        plan = plan_backup(log_dirs, to, topics=topics, progress=lambda read: step(read))
        size = plan.size
        output.warn(*(f"note: {each}" for each in plan.notes))
        report = plan.apply(threads=threads)
    facts = _facts(report.point, to)
    if json:
        found = facts | {"newObjects": report.new, "newBytes": report.new_bytes, "reusedFiles": report.reused}
        output.show(output.as_json(found))
    else:
        output.show(*_stored(report, to))
    output.warn(*report.problems)
    raise Exit(FAILED if report.problems else 0)


def _stored(report: BackupReport, to: Path) -> list[str]:
    facts = _facts(report.point, to)
    return [
        f"{facts['path']}: {output.count(_partitions(report.point), 'topic-partition')}, "
        f"{output.size_of(_bytes(report.point))}",
        f"{output.count(report.new, 'new object')}, {output.size_of(report.new_bytes)}, read back; "
        f"{output.count(report.reused, 'file')} unchanged",
    ]


def _partitions(point: BackupPoint) -> int:
    return sum(len(each.partitions) for each in point.directories)


def _bytes(point: BackupPoint) -> int:
    return sum(file.size for _, _, files in point.folders() for file in files.values())


def _facts(point: BackupPoint, to: Path) -> dict[str, object]:
    return {
        "point": point.name,
        "path": f"{str(to).rstrip('/')}/{POINTS}/{point.name}",
        "begun": point.begun,
        "ended": point.ended,
        "whole": point.is_whole,
        "bytes": _bytes(point),
        "directories": [
            {
                "name": each.name,
                "host": each.host,
                "source": each.source,
                "clusterId": each.cluster_id,
                "nodeId": each.node_id,
                "directoryId": each.directory_id,
                "missing": each.missing,
                "partitions": [
                    {
                        "folder": one.folder,
                        "listed": one.listed,
                        "attempts": one.attempts,
                        "activeSegment": one.active,
                        "endOffset": one.end_offset,
                        "highWatermark": one.high_watermark,
                        "damaged": one.damaged,
                    }
                    for one in each.partitions
                ],
            }
            for each in point.directories
        ],
    }


def _list(to: Path, json: bool) -> None:
    points = list_points(to)
    if json:
        output.show(*(output.as_json(_facts(each, to)) for each in points))
        return
    for each in points:
        sources = ", ".join(f"{one.host}:{one.source}" for one in each.directories)
        health = "whole" if each.is_whole else "not whole"
        parts = output.count(_partitions(each), "topic-partition")
        output.show(f"{each.name}  {parts}, {output.size_of(_bytes(each))}, {health}: {sources}")
        for one in each.directories:
            output.show(*(f"    {name}: not in the point: {why}" for name, why in one.missing.items()))
            output.show(*(f"    {p.folder}: damaged: {why}" for p in one.partitions for why in p.damaged))
    output.show(output.count(len(points), "point"))


def _check(to: Path, points: list[str] | None, json: bool) -> None:
    known = {each.name: each for each in list_points(to)} if points is None else {}
    wanted = {key: file.size for each in known.values() for key, file in each.objects().items()}
    count = 0
    with progress("check", sum(wanted.values())) as step:
        for problem in check_backup(to, points=points, progress=step):
            count += 1
            if json:
                facts = {"path": str(problem.path), "what": problem.what, "points": problem.points}
                output.show(output.as_json(facts))
            else:
                output.show(f"{problem}: needed by {', '.join(problem.points)}")
    if not json:
        number = len(known) if points is None else len(points)
        output.show(
            f"{output.count(number, 'point')}: {output.count(count, 'problem') if count else 'no problem'}"
        )
    raise Exit(FAILED if count else 0)


def _prune(to: Path, keep: int | None, points: list[str] | None, apply: bool, json: bool) -> None:
    plan = plan_prune(to, keep=keep, points=points)
    if apply:
        plan.apply()
    if json:
        facts = {"applied": apply, "points": plan.points, "kept": plan.kept}
        output.show(output.as_json(facts | {"objects": len(plan.objects), "bytes": plan.bytes}))
    else:
        output.show(*(f"{each}: delete" for each in plan.points))
        output.show(
            f"{output.count(len(plan.objects), 'object')}, {output.size_of(plan.bytes)}, needed by no other "
            f"point; {output.count(len(plan.kept), 'point')} kept: {output.ending(apply)}"
        )
    raise Exit(0 if apply or not (plan.points or plan.objects) else LEFT_TO_DO)
