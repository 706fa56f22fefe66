"""Whole logs as lines that a script can change, for `kodec load`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from kodec.cli.outcome import Outcome, errors_reported
from kodec.cli.parser import BadParameter
from kodec.cli.progress import progress
from kodec.cli.wanted import chosen_logs
from kodec.log.editing.dump import end_of_lines, lines_of_log
from kodec.log.omissions import Cause

__all__ = ["dump_for_editing"]


def dump_for_editing(paths: list[Path]) -> int:
    """Print whole logs for `kodec load`; the exit code."""
    for path in paths:
        if not path.is_dir():
            raise BadParameter(f"{path}: --edit-format needs log directories or partitions' folders")
    outcome = Outcome()
    with errors_reported():
        logs = chosen_logs(paths, [], [], outcome.omissions)
        outcome.note_listing(paths)
        whole = 0
        for log in logs:
            with outcome.each(log.path), log, progress(str(log.topic_partition), log.size) as step:
                for line in lines_of_log(log, step, outcome.omissions):
                    _print_line(line)
                whole += 1
        lost = {omission.cause for omission in outcome.omissions}
        if whole == len(logs) and not lost & {Cause.UNREACHABLE, Cause.DAMAGED}:
            _print_line(end_of_lines(whole))
    return outcome.end()


def _print_line(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
