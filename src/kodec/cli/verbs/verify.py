"""kodec verify: checks the consistency of logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.engine import ENGINE, MASTER, Engine, job, require_spark
from kodec.cli.outcome import FAILED
from kodec.cli.parser import Exit, Option
from kodec.cli.progress import progress
from kodec.cli.selection import READ_LOGS, TOPICS, logs_at
from kodec.log.verification.verify import Problem

__all__ = ["verify"]


def verify(
    paths: Annotated[list[Path], READ_LOGS],
    topic: Annotated[list[str] | None, TOPICS] = None,
    json: Annotated[bool, Option("--json", help="One JSON object for each problem.")] = False,
    engine: Annotated[Engine, ENGINE] = Engine.local,
    master: Annotated[str | None, MASTER] = None,
) -> None:
    """Check checksums, offsets, indexes, producer snapshots, transaction indexes and checkpoints; read only.

    Prints a line for each problem (file, byte, expected, found) and a summary. A line that begins with
    "note:" is not a problem.

    example:  kodec verify /data/kafka-logs

    exit:     0 no problem   1 problems found, or a file could not be read   2 bad usage
    """
    master = require_spark(engine, master)
    local = engine is Engine.local
    with job():
        from kodec.pipeline.jobs.verify import verify as run_verify

        with progress("verify", sum(logs_at(path, topic)[1] for path in paths) if local else 0) as step:
            summary = run_verify(
                *paths,
                topics=topic or None,
                engine=engine.value,
                master=master,
                progress=None if local else output.say,
                step=step,
                found=lambda problem: _print_problem(problem, json),
            )
    _sum_up(summary.segments, summary.bytes, sum(not problem.note for problem in summary.problems), json)
    raise Exit(0 if summary.ok else FAILED)


def _print_problem(problem: Problem, as_json: bool) -> None:
    """A line for one problem."""
    if not as_json:
        output.show(str(problem))
        return
    facts = {"file": str(problem.path), "byte": problem.at, "what": problem.what}
    facts |= {"need": problem.need, "have": problem.have, "note": problem.note}
    output.show(output.as_json(facts))


def _sum_up(segments: int, size: int, problems: int, as_json: bool) -> None:
    """What was checked, and the result."""
    if as_json:
        output.show(output.as_json({"segments": segments, "bytes": size, "problems": problems}))
        return
    ending = f"{problems} problem{'s' * (problems != 1)}" if problems else "no problem"
    output.show(f"{segments} segment{'s' * (segments != 1)}, {output.size_of(size)}: {ending}")
