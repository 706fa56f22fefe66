#!/usr/bin/env python3
"""Makes log directories with a real Kafka broker in .cache/interop and runs the comparisons on them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import make_logs

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent.parent / ".cache" / "interop"


def main(arguments: list[str]) -> int:
    """Options are those of make_logs.py, which come last and win. Returns its exit code, or pytest's."""
    out = CACHE / "data"
    made = make_logs.main(["--work", str(CACHE / "work"), "--out", str(out), *arguments])
    if made != 0:
        return made
    environment = {**os.environ, "KODEC_REAL_LOGS": str(out)}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(HERE)], env=environment, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
