"""kodec verify: checks logs against themselves."""

from __future__ import annotations

import json as jsons
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from kodec.cli import output
from kodec.cli.outcome import FAILED, told
from kodec.cli.progress import progress
from kodec.cli.selection import LOGS
from kodec.log.directories.directory import LogDirectory
from kodec.log.directories.partition import PartitionLog
from kodec.log.directories.segment import Segment
from kodec.log.directories.verify import Problem, verify_partition, verify_root, verify_segment
from kodec.log.files.paths import PartitionPath
from kodec.log.files.resolve import SegmentPath, resolve

__all__ = ["verify"]


def verify(
    paths: Annotated[list[Path], LOGS],
    json: Annotated[bool, typer.Option("--json", help="One JSON object for each problem.")] = False,
) -> None:
    """Check checksums, offsets, indexes, producer snapshots, transaction indexes and checkpoints; read only.

    Prints a line for each problem (file, byte, what was needed, what is there) and a summary.

    example:  kodec verify /data/kafka-logs

    exit:     0 no problem   1 problems, or a file that cannot be read   2 bad usage
    """
    with told():
        code = _verify(paths, json=json)
    raise typer.Exit(code)


def _verify(paths: list[Path], *, json: bool) -> int:
    """Print a line for each problem and a summary; 1 where there is a problem, else 0."""
    problems = segments = size = 0
    # What the reader passes over it also logs; here each has its line already.
    logging.getLogger("kodec").addHandler(logging.NullHandler())

    def tell(found: Iterator[Problem]) -> None:
        nonlocal problems
        for problem in found:
            problems += 1
            _print(problem, json)

    for path in paths:
        what = resolve(path)
        if isinstance(what, SegmentPath):
            segment = Segment.of(path, what.base_offset, beside=True)
            with progress(path.name, segment.size) as step:
                tell(verify_segment(segment, progress=step))
            segments += 1
            size += segment.size
            continue
        directory = None if isinstance(what, PartitionPath) else LogDirectory(path)
        logs = [PartitionLog(path)] if directory is None else list(directory)
        total = sum(log.size for log in logs)
        with progress(path.name, total) as step:
            for root in directory.roots if directory is not None else []:
                tell(verify_root(root))
            for log in logs:
                tell(verify_partition(log, progress=step))
                segments += len(log.segments)
                log.close()
        size += total
    _sum_up(segments, size, problems, json)
    return FAILED if problems else 0


def _print(found: Problem, as_json: bool) -> None:
    """A line for one thing that is wrong."""
    if not as_json:
        print(found)
        return
    facts = {"file": str(found.path), "byte": found.at, "what": found.what}
    print(jsons.dumps(facts | {"need": found.need, "have": found.have}, default=str))


def _sum_up(segments: int, size: int, problems: int, as_json: bool) -> None:
    """What was checked, and how it came out."""
    if as_json:
        print(jsons.dumps({"segments": segments, "bytes": size, "problems": problems}))
        return
    ending = f"{problems} problem{'s' * (problems != 1)}" if problems else "no problem"
    print(f"{segments} segment{'s' * (segments != 1)}, {output.size_of(size)}: {ending}")
