"""Kills an export at each step that changes the file system, and looks at what it leaves.

Usage: kill_export.py LOGS FOLDER [resume]     (a process of its own: it forks)

Prints how often it was killed before it came to its end.
"""

import os
import shutil
import sys
from pathlib import Path

import pyarrow.parquet  # noqa: F401  # before the first fork

from kodec.pipeline.jobs.export import ExportOptions, export

STEPS = ("os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.truncate")


def run(logs: Path, out: Path, dies_at: int, *, resume: bool) -> bool:
    """Export in a child, which is killed at that step; whether it came to its end."""
    child = os.fork()
    if child == 0:
        seen = 0

        def step(event: str, _: object) -> None:
            nonlocal seen
            seen += event in STEPS
            if seen == dies_at:
                os._exit(9)

        sys.addaudithook(step)
        export(
            logs, out, ExportOptions(threads=1, task_bytes="1", overwrite=True, resume=resume), engine="local"
        )
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def files(folder: Path) -> dict[str, bytes]:
    """What is in a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


logs, folder = Path(sys.argv[1]), Path(sys.argv[2])
resume = "resume" in sys.argv
assert run(logs, folder / "whole", -1, resume=False)
new = files(folder / "whole")
old = {"_SUCCESS": b"", "topic=orders/partition=0/00000000000000000000.parquet": b"old"}
kills = 0
while True:
    out = folder / f"out-{kills}"
    for name, data in old.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(data)
    ended = run(logs, out, kills + 1, resume=resume)
    assert files(out) in ([new] if ended else [old, new]), kills
    if ended:
        break
    # what was left is in no one's way, and what was finished is taken over
    assert run(logs, out, -1, resume=resume)
    assert files(out) == new, kills
    kills += 1
    shutil.rmtree(out)
    assert [path.name for path in folder.iterdir()] == ["whole"], kills
print(kills)
