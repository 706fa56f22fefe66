"""CPU of everyday commands from start to end, as a multiple of `python -c pass`.

python -m benchmarks.startup [--rounds N] [--python PYTHON]

All commands run in turn, N times; a figure is the median of user and system time of the process. Modules are
compiled before. `--python` is the interpreter of another environment that has kodec, such as one with a
wheel: in an editable install modules take longer to find.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

__all__ = ["COMMANDS", "cpu_of", "main", "measured"]

_LOGS = Path(__file__).resolve().parent.parent / "tests/data/kafka-4.3.1/logs"
_SEGMENT = _LOGS / "orders-0/00000000000000000000.log"
_NOTHING = "python -c pass"
_READ = f"import kodec; next(iter(kodec.read_records({str(_SEGMENT)!r})))"
COMMANDS: Mapping[str, Sequence[str]] = {
    _NOTHING: ("-c", "pass"),
    "kodec --version": ("-m", "kodec", "--version"),
    "kodec --help": ("-m", "kodec", "--help"),
    "kodec ls, 1 topic-partition": ("-m", "kodec", "ls", str(_SEGMENT.parent)),
    "kodec ls, 28 topic-partitions": ("-m", "kodec", "ls", str(_LOGS)),
    "kodec find --last 10": ("-m", "kodec", "find", "--last", "10", str(_SEGMENT.parent)),
    "kodec dump, 16 KB": ("-m", "kodec", "dump", str(_SEGMENT)),
    "first record of read_records": ("-c", _READ),
}
"""What is measured, by name: the arguments of Python."""


def cpu_of(command: Sequence[str]) -> float:
    """User and system time of a process in ms. Raises CalledProcessError if it fails."""
    with Path(os.devnull).open("wb") as nowhere:
        started = subprocess.Popen(command, stdout=nowhere)
        _, status, used = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise subprocess.CalledProcessError(started.returncode, command)
    return 1000 * (used.ru_utime + used.ru_stime)


def measured(python: str, rounds: int) -> dict[str, float]:
    """The median of each command in ms."""
    # a process for each command compiles what that imports; those that are timed write nothing
    for words in COMMANDS.values():
        subprocess.run(
            [python, *words],
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
            check=True,
        )
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(rounds):
        for name, words in COMMANDS.items():
            times[name].append(cpu_of([python, *words]))
    return {name: median(each) for name, each in times.items()}


def main(arguments: list[str] | None = None) -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__)
    parser.add_argument("--rounds", type=int, default=21, help="times each command runs (%(default)s)")
    parser.add_argument("--python", default=sys.executable, help="of an environment with kodec")
    given = parser.parse_args(arguments)
    found = measured(given.python, given.rounds)
    print("| | CPU, ms | multiple |\n|---|--:|--:|")
    for name, each in found.items():
        print(f"| `{name}` | {each:.1f} | {each / found[_NOTHING]:.1f} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
