"""kodec verify: checks logs against themselves."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from kodec.cli import output
from kodec.cli.engine import ENGINE, MASTER, Engine, job, require_spark
from kodec.cli.outcome import FAILED, errors_reported
from kodec.cli.progress import progress
from kodec.cli.selection import LOGS, logs_at
from kodec.log.verification.verify import Problem
from kodec.log.verification.verify import verify as verify_path

__all__ = ["verify"]


def verify(
    paths: Annotated[list[Path], LOGS],
    json: Annotated[bool, typer.Option("--json", help="One JSON object for each problem.")] = False,
    engine: Annotated[Engine, ENGINE] = Engine.local,
    master: Annotated[str | None, MASTER] = None,
) -> None:
    """Check checksums, offsets, indexes, producer snapshots, transaction indexes and checkpoints; read only.

    Prints a line for each problem (file, byte, what was needed, what is there) and a summary. A line that
    begins with "note:" is no problem.

    example:  kodec verify /data/kafka-logs

    exit:     0 no problem   1 problems, or a file that cannot be read   2 bad usage
    """
    master = require_spark(engine, master)
    # What the reader skips it also logs; here each has its line already.
    logging.getLogger("kodec").addHandler(logging.NullHandler())
    with errors_reported():
        if engine is Engine.spark:
            code = _by_spark(paths, json=json, master=master)
        else:
            code = _verify(paths, json=json)
    raise typer.Exit(code)


def _by_spark(paths: list[Path], *, json: bool, master: str) -> int:
    with job():
        from kodec.pipeline.jobs.verify import verify as run_verify

        summary = run_verify(*paths, master=master, progress=output.say)
    for problem in summary.problems:
        _print(problem, json)
    _sum_up(summary.segments, summary.bytes, sum(not each.note for each in summary.problems), json)
    return 0 if summary.ok else FAILED


def _verify(paths: list[Path], *, json: bool) -> int:
    """Print a line for each problem and a summary; 1 where there is a problem, else 0."""
    problems = segments = size = 0
    for path in paths:
        count, total = logs_at(path)
        with progress(path.name, total) as step:
            for problem in verify_path(path, progress=step):
                problems += not problem.note
                _print(problem, json)
        segments += count
        size += total
    _sum_up(segments, size, problems, json)
    return FAILED if problems else 0


def _print(found: Problem, as_json: bool) -> None:
    """A line for one thing that is wrong."""
    if not as_json:
        output.show(str(found))
        return
    facts = {"file": str(found.path), "byte": found.at, "what": found.what}
    facts |= {"need": found.need, "have": found.have, "note": found.note}
    output.show(output.as_json(facts))


def _sum_up(segments: int, size: int, problems: int, as_json: bool) -> None:
    """What was checked, and how it came out."""
    if as_json:
        output.show(output.as_json({"segments": segments, "bytes": size, "problems": problems}))
        return
    ending = f"{problems} problem{'s' * (problems != 1)}" if problems else "no problem"
    output.show(f"{segments} segment{'s' * (segments != 1)}, {output.size_of(size)}: {ending}")
