"""Builds the program for machines without Python, dist/kodec, and tries it there.

Usage: program.py [--root FOLDER]   (needs uv; `make program` calls it)

PyInstaller packs Python, the libraries and kodec into one file. FOLDER is a system without Python, such as
debootstrap makes: the program then runs in it (needs root), else here with an empty environment. Licenses of
all that is inside go to dist/kodec-licenses.txt; the size, the time of each verb, and of STARTS starts the
median, the fastest and the slowest, to dist/program.json.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
LOGS = ROOT / "tests" / "data" / "kafka-4.3.1" / "logs"
EXTRAS = "arrow,cli"
# `explain` reads schemas.
ALSO = ["jinja2", "markdown-it-py", "pyinstaller", "pyyaml"]
STARTS = 11
LOG = "orders-0/00000000000000000000.log"
VERBS = (
    ["ls", "LOGS"],
    ["find", "LOGS", "--topic", "orders", "--last", "2"],
    ["verify", "LOGS"],
    ["dump", f"LOGS/{LOG}"],
    ["explain", f"LOGS/{LOG}", "--offset", "20", "--count", "1"],
    ["export", "LOGS", "--topic", "orders", "--format", "jsonl", "--to", "OUT/lines"],
    ["export", "LOGS", "--topic", "orders", "--to", "OUT/parquet"],
)


def build(work: Path) -> Path:
    """The program, in dist/."""
    env = work / "env"
    wheels = work / "wheel"
    subprocess.run(["uv", "venv", "-q", "-p", sys.executable, env], check=True)
    native = {**os.environ, "KODEC_NATIVE": "require"}
    subprocess.run(
        ["uv", "build", "-q", "--wheel", "-p", sys.executable, "-o", wheels, ROOT], check=True, env=native
    )
    (wheel,) = wheels.glob("*.whl")
    wanted = [f"kodec[{EXTRAS}] @ {wheel.as_uri()}", *ALSO]
    locked = ["-c", ROOT / "requirements" / "dev.txt", "-c", ROOT / "requirements" / "release.txt"]
    subprocess.run(["uv", "pip", "install", "-q", "-p", env, *locked, *wanted], check=True)
    for name in ("kodec.spec", "program_main.py"):
        shutil.copy(ROOT / "release" / name, work)
    python = env / "bin" / "python"
    command = [python, "-m", "PyInstaller", "--log-level", "ERROR", "--distpath", DIST, "kodec.spec"]
    subprocess.run(command, cwd=work, check=True)
    (site,) = env.glob("lib/python*/site-packages")
    DIST.joinpath("kodec-licenses.txt").write_text(licenses(site), encoding="utf-8")
    return DIST / "kodec"


def licenses(site: Path) -> str:
    """The licenses of Python and of each library inside."""
    found = [
        f"Python {sys.version.split()[0]}\n\n{sys.copyright}\nPython Software Foundation License Version 2\n"
    ]
    for each in sorted(distributions(path=[str(site)]), key=lambda one: one.name.lower()):
        texts = [
            path.read_text(encoding="utf-8", errors="replace")
            for file in each.files or []
            if ".dist-info" in str(file)
            and file.name.upper().startswith(("LICEN", "COPYING", "NOTICE", "AUTHORS"))
            and (path := Path(str(each.locate_file(file)))).is_file()
        ]
        facts = each.metadata
        name = facts.get("License-Expression") or facts.get("License") or "see its classifiers"
        found.append("\n".join([f"{each.name} {each.version}: {name.splitlines()[0]}", "", *texts]))
    return f"\n{'=' * 80}\n".join(found)


def attempt(program: Path, root: Path | None) -> tuple[list[float], dict[str, float]]:
    """Run the verbs without Python; returns the seconds of the starts, and of each verb."""
    inside = Path("/tmp/kodec-program")
    place = (root / inside.relative_to("/")) if root else inside
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    shutil.copy(program, place / "kodec")
    shutil.copytree(LOGS, place / "logs")

    def run(verb: list[str]) -> float:
        words = [word.replace("LOGS", f"{inside}/logs").replace("OUT", f"{inside}/out") for word in verb]
        command = [f"{inside}/kodec", *words]
        if root:
            command = [shutil.which("chroot") or "chroot", str(root), *command]
        begin = time.perf_counter()
        done = subprocess.run(command, env={}, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - begin
        if done.returncode or not done.stdout:
            sys.exit(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return seconds

    try:
        verbs = {" ".join(verb[:1] + verb[4:6] * (verb[0] == "export")): run(verb) for verb in VERBS}
        for pattern in ("lines/**/*.jsonl*", "parquet/**/*.parquet"):
            if not list((place / "out").glob(pattern)):
                sys.exit(f"no {pattern} was written")
        return [run(["--version"]) for _ in range(STARTS)], verbs
    finally:
        shutil.rmtree(place, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        program = build(Path(work))
    starts, verbs = attempt(program, given.root)
    start = {"median": statistics.median(starts), "fastest": min(starts), "slowest": max(starts)}
    facts = {
        "megabytes": round(program.stat().st_size / 1e6, 1),
        "start, seconds": {name: round(seconds, 2) for name, seconds in start.items()},
        "seconds": {name: round(seconds, 2) for name, seconds in verbs.items()},
    }
    (DIST / "program.json").write_text(json.dumps(facts, indent=1))
    print(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
