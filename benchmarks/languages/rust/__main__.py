"""Generates the crate, builds the program and runs it: `python -m benchmarks.languages.rust`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from kodec.generator.driver import generate

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def main() -> None:
    folder = ROOT / ".cache" / "benchmark-rust"
    generate(ROOT / "schemas", folder, targets=["rust"])
    for name in ("Cargo.toml", "Cargo.lock", "src/main.rs"):
        (folder / "peer" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(HERE / name, folder / "peer" / name)
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / ".cache" / "cargo")}
    command = ["cargo", "run", "--release", "--quiet", "--", *sys.argv[1:]]
    sys.exit(subprocess.run(command, cwd=folder / "peer", env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
