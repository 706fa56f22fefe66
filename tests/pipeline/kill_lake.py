"""Kills appends to a table of a lake, and looks at what is left, and at what the next run makes of it.

Usage: kill_lake.py LOGS FOLDER iceberg|delta commit|steps|files     (a process of its own: it forks)

commit: just before and after each commit; steps: at every call that reads or writes the table or its files;
files: as soon as a file more is in the folder, whoever wrote it. Prints how often it was killed.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial, wraps
from inspect import getattr_static
from itertools import count
from pathlib import Path
from typing import Any

# before the first fork
import deltalake
import pyiceberg.io.pyarrow
from pyiceberg.catalog.sql import SqlCatalog

from kodec import LogDirectory, read_records
from kodec.pipeline import append_to_lake, delta_table, iceberg_table, plan
from kodec.pipeline.jobs.export import PartitionSummary
from kodec.pipeline.lake import delta
from kodec.pipeline.lake.table import LakeTable

COMMITS = [(SqlCatalog, "commit_table"), (delta, "write_deltalake")]
STEPS = [
    *COMMITS,
    (SqlCatalog, "create_namespace"),
    (SqlCatalog, "create_table"),
    (SqlCatalog, "load_table"),
    (SqlCatalog, "table_exists"),
    (pyiceberg.io.pyarrow.PyArrowFile, "create"),
    (deltalake.DeltaTable, "create"),
    (deltalake.DeltaTable, "history"),
    (deltalake.DeltaTable, "transaction_version"),
    (PartitionSummary, "note"),
]
Row = tuple[str, int, int]


def table(folder: Path, format: str) -> LakeTable:
    if format == "delta":
        return delta_table(str(folder / "table"))
    folder.mkdir(exist_ok=True)
    warehouse = {"uri": f"sqlite:///{folder}/catalog.db", "warehouse": folder.as_uri()}
    return iceberg_table("lake.records", properties={"type": "sql", **warehouse})


def rows(folder: Path, format: str) -> list[Row]:
    """The topic, partition and offset of all rows, in their order."""
    if format == "delta":
        try:
            found = deltalake.DeltaTable(folder / "table").to_pyarrow_table()
        except deltalake.exceptions.TableNotFoundError:
            return []
    else:
        catalog = table(folder, format)._catalog  # type: ignore[attr-defined]
        if not catalog.table_exists("lake.records"):
            return []
        found = catalog.load_table("lake.records").scan().to_arrow()
    columns = (found[name].to_pylist() for name in ("topic", "partition", "offset"))
    return sorted(zip(*columns, strict=True))


def forked(work: Callable[[], object]) -> int:
    """Begin it in a child; its process id."""
    if child := os.fork():
        return child
    # neither engine's threads are here
    work()
    os._exit(0)


def ended(child: int) -> bool:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def asked(folder: Path, format: str) -> list[Row]:
    said = folder.parent / "said.json"
    assert ended(forked(lambda: said.write_text(json.dumps(rows(folder, format)))))
    return [tuple(each) for each in json.loads(said.read_text())]


def append(logs: Path, folder: Path, format: str) -> None:
    # a task, and a commit, for each segment
    plan.LEAST_TASK = plan.MOST_TASK = 1
    append_to_lake(logs, table(folder, format), threads=1, commit_bytes=1)


def dying(steps: list[tuple[Any, str]], dies_at: int, work: Callable[[], None]) -> None:
    """Work, and be killed before or after one of the steps."""
    seen = count(1)

    def step() -> None:
        if next(seen) == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(real: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(real)
        def call(*args: Any, **options: Any) -> Any:
            step()
            made = real(*args, **options)
            step()
            return made

        return call

    for owner, name in steps:
        of_class = isinstance(getattr_static(owner, name), classmethod)
        wrapped: Any = around(getattr(owner, name))
        setattr(owner, name, staticmethod(wrapped) if of_class else wrapped)
    work()


def killed_by_files(folder: Path, most: int, work: Callable[[], None]) -> bool:
    """Work in a child that is killed when there are more files than that; whether it came to its end."""
    child = forked(work)
    while True:
        if sum(len(names) for _, _, names in os.walk(folder)) > most:
            os.kill(child, signal.SIGKILL)
            return ended(child)
        if (done := os.waitpid(child, os.WNOHANG))[0]:
            assert done[1] == 0
            return True
        time.sleep(0)


def kills(logs: Path, folder: Path, format: str, mode: str) -> Iterator[bool]:
    """Append, killed later each time, and append again; whether the first one came to its end."""
    wanted = sorted(
        (log.topic_partition.topic, log.topic_partition.partition, record.offset)
        for log in LogDirectory(logs)
        for segment in log.segments
        for record in read_records(segment.path)
    )
    for number in count(1):
        here = folder / str(number)
        if mode == "files":
            whole = killed_by_files(here, number - 1, partial(append, logs, here, format))
        else:
            steps = COMMITS if mode == "commit" else STEPS
            child = forked(partial(dying, steps, number, partial(append, logs, here, format)))
            whole = ended(child)
        here.mkdir(exist_ok=True)
        found = asked(here, format)
        assert len(set(found)) == len(found), (number, "twice")
        assert set(found) <= set(wanted), number
        # of each log what is there has no gap
        for owner in {row[:2] for row in found}:
            offsets = [row[2] for row in found if row[:2] == owner]
            assert offsets == list(range(len(offsets))), number
        if not whole:
            assert ended(forked(partial(append, logs, here, format))), number
        assert asked(here, format) == wanted, number
        yield whole


if __name__ == "__main__":
    logs, folder = Path(sys.argv[1]), Path(sys.argv[2])
    results = kills(logs, folder, *sys.argv[3:])
    print(sum(1 for _ in iter(lambda: next(results), True)))
