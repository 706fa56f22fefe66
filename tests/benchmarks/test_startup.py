"""Start-up is measured of commands that work, and stays free of what takes long to import."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kodec
from tests.data import LOGS, ROOT

pytestmark = pytest.mark.quick

FOLDER = LOGS / "orders-0"
READ = f"import kodec; next(iter(kodec.read_records({str(FOLDER / '00000000000000000000.log')!r})))"
# Each takes as long to import as Python takes to start, or nearly.
SLOW = {"argparse", "concurrent.futures", "ctypes", "dataclasses", "inspect", "logging", "tempfile", "uuid"}
LIBRARIES = {"crc32c", "lz4", "pyarrow", "rich", "snappy", "zstandard"}
LEAN = {
    "version": ("-m", "kodec", "--version"),
    "ls": ("-m", "kodec", "ls", str(FOLDER)),
    "read_records": ("-c", READ),
}


def python(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=True)


@pytest.mark.parametrize("name", LEAN)
def test_what_is_not_needed_is_not_imported(name: str) -> None:
    lines = python("-X", "importtime", *LEAN[name]).stderr.splitlines()
    imported = {line.rpartition("|")[2].strip() for line in lines}
    # without the kernel records need more: a library of checksums
    needed = set() if kodec.backend() == "native" else {"argparse", "crc32c", "inspect", "logging"}
    if name == "ls":
        # of compacted logs, whose last headers are no evidence, it reads the last batches
        needed = needed | {"argparse", "crc32c", "tempfile"}
    assert "kodec" in imported and not (SLOW | LIBRARIES) - needed & imported


def test_a_table_of_all_commands() -> None:
    rows = python("-m", "benchmarks.startup", "--rounds", "1").stdout.splitlines()[2:]
    assert rows[0].startswith("| `python -c pass` |") and rows[0].endswith("| 1.0 |")
    assert [row.split("`")[1].split()[0] for row in rows[1:]] == ["kodec"] * 6 + ["first"]
