"""kodec report: summarizes log directories as one page or as JSON."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from kodec.cli import output
from kodec.cli.outcome import Outcome, errors_reported
from kodec.cli.parser import BadParameter, Exit, Option
from kodec.cli.progress import progress
from kodec.cli.selection import READ_DIRECTORIES, logs_at
from kodec.log.files.durable import replace_file
from kodec.log.files.paths import PartitionPath
from kodec.log.omissions import Omissions
from kodec.log.remote.resolve import resolve
from kodec.runtime.errors import MissingDependency
from kodec.runtime.extras import install_command
from kodec.stores.modes import readable_as

__all__ = ["report"]


def report(
    paths: Annotated[list[Path], READ_DIRECTORIES],
    to: Annotated[
        Path | None, Option("--to", metavar="FILE", help="Write the page here; not among logs.")
    ] = None,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an existing page.")] = False,
    json: Annotated[bool, Option("--json", help="Print the same facts as one JSON object.")] = False,
    verify: Annotated[
        bool, Option("--verify", help="Read everything and check it, as kodec verify does.")
    ] = False,
    sample: Annotated[
        int,
        Option("--sample", help="MiB of records to convert to other formats; 0: none.", min=0, max=1024),
    ] = 4,
) -> None:
    """Summarize log directories: contents, health, sizes, times, gaps, producers, transactions, hidden space.

    Reads the headers of batches, and a sample of records to estimate sizes in other formats and codecs.
    The page is self-contained; it states what was checked and what was not.

    example:  kodec report /data/kafka-logs --to report.html

    exit:     0 no problem   1 problems, or something cannot be read   2 bad usage
    """
    if to is None and not json:
        raise BadParameter("--to or --json is needed")
    with errors_reported():
        if to is not None:
            _require_place(to, paths, overwrite)
        try:
            from kodec.report.facts import look_into

            if to is not None:
                from kodec.report.page import page_of
        except ImportError as error:
            raise MissingDependency(f"a report needs `{error.name}`: {install_command('report')}") from error
        size = sum(logs_at(path)[1] for path in paths) * (1 + verify)
        with progress("report", size, beside_output=False) as step:
            findings = look_into(*paths, verify=verify, sample_bytes=sample << 20, progress=step)
        if to is not None:
            # the last two names: people know the folder by them, and the page lists the whole paths
            title = "Kafka logs in " + ", ".join("/".join(path.absolute().parts[-2:]) for path in paths)
            page = page_of(findings, title=title, created=datetime.now(UTC))
            with readable_as(*paths):
                replace_file(to, page.encode("utf-8", "backslashreplace"))
            output.say(f"{to}: {output.size_of(to.stat().st_size)}")
        if json:
            facts = output.plain(replace(findings, omissions=Omissions()))
            assert isinstance(facts, dict)
            del facts["omissions"]
            left_out = [omission.facts() for omission in findings.omissions]
            print(output.as_json(facts | {"leftOut": left_out}))
    outcome = Outcome(findings.omissions)
    if findings.problem_count:
        where = "" if to is None else f": see {to}"
        shown = findings.problems[:_MOST_SHOWN]
        outcome.fail(*shown, f"kodec: {output.count(findings.problem_count, 'problem')}{where}")
    raise Exit(outcome.end())


# the page and the JSON have more
_MOST_SHOWN = 20


def _require_place(to: Path, paths: list[Path], overwrite: bool) -> None:
    """Raises BadParameter; ValueError for a page inside a log directory, FileExistsError."""
    folder = to.absolute().parent.resolve()
    for path in paths:
        root = path.resolve().parent if isinstance(resolve(path), PartitionPath) else path.resolve()
        if folder.is_relative_to(root):
            raise ValueError(f"--to: {to} is inside the log directory {root}")
    if not folder.is_dir():
        raise BadParameter(f"--to: there is no folder {folder}")
    if to.is_dir():
        raise BadParameter(f"--to: {to} is a folder")
    if to.exists() and not overwrite:
        raise FileExistsError(f"{to} exists; overwrite=True replaces it")
