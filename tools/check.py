"""Runs the project's checks and prints each with its time; all run even if one fails.

Steps without tests run in parallel, one per core; then the tests, on all cores.

First it shows the backend of the tests: native kernels, or pure Python if they were not built.

Usage: check.py [STEP...]   (all steps when none is named)
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"

# Tests of reading that do not themselves take each backend in turn; `tests` runs them on the native one.
READS = [
    "tests/log/reading/test_bad_input.py",
    "tests/log/backends/test_kernel.py",
    "tests/pipeline/test_source.py",
]

# A process for each core: tests/conftest.py shows which tests stay together.
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
SPREAD = ["--numprocesses", str(min(CORES, 8)), "--dist", "loadfile", "--no-loadscope-reorder"]
# The seed of property tests, and of the order of tests except on a build server, where the order is fixed.
SEED = os.environ.get("KODEC_SEED") or str(secrets.randbelow(1 << 31))
# A test that hangs ends its process once it has shown where: the run goes on, and names it.
SPREAD += ["-o", "faulthandler_exit_on_timeout=true"]
SPREAD += [f"--hypothesis-seed={SEED}", f"--randomly-seed={1 if os.environ.get('CI') else SEED}"]

PYTEST = ["pytest", "--quiet", "--no-header", *SPREAD]

# Cheap ones first; the tests come last so that their closing line is what one sees.
STEPS = {
    "lint": ["ruff", "check", "--quiet", "--output-format", "concise", "."],
    "format": ["ruff", "format", "--check", "--output-format", "concise", "."],
    "contracts": ["lint-imports"],
    "types": ["mypy"],
    "words": ["python", "tools/words.py"],
    "nouns": ["python", "tools/nouns.py"],
    "generated": ["kodec", "generate", "--check"],
    "tests-pure": [*PYTEST, *READS],
    "tests": [*PYTEST],
}


def files_with(mark: str) -> list[str]:
    """The files with tests of a mark: to find the tests in all files takes longer than the quick ones do."""
    return [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if f"mark.{mark}" in path.read_text("utf-8")
    ]


# Parts of the tests by their marks: `quick`, for use after every change with the first steps (`tests` runs it
# too), and those that `tests` leaves out because they take long.
PARTS = {
    "quick": [*PYTEST, "-m", "quick and not thorough", *files_with("quick")],
    "thorough": [*PYTEST, "-m", "thorough", *files_with("thorough")],
    "thorough-pure": [*PYTEST, "-m", "thorough", *READS],
}
PURE = {"KODEC_PURE": "1"}


def run(name: str, label: str) -> bool:
    """Run one step; the output of tests goes straight through, that of others appears only when they fail."""
    program, *arguments = (STEPS | PARTS)[name]
    shown = name == "tests" or name in PARTS
    if shown:
        print(label, flush=True)
    started = time.monotonic()
    done = subprocess.run(
        [BIN / program, *arguments],
        cwd=ROOT,
        env={
            **os.environ,
            **(PURE if name.endswith("-pure") else {}),
            "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}",
        },
        stdout=None if shown else subprocess.PIPE,
        stderr=None if shown else subprocess.STDOUT,
        text=True,
        check=False,
    )
    told = [] if shown else [label]
    if done.returncode and not shown:
        told.append(done.stdout.rstrip("\n"))
    if done.returncode < 0:
        told.append(f"      ended by {signal.Signals(-done.returncode).name}")
    result = "FAILED" if done.returncode else "ok"
    told.append(f"      {result} in {time.monotonic() - started:.1f} s")
    # at once: steps run side by side
    print("\n".join(told), flush=True)
    return done.returncode == 0


def backend() -> str:
    """What kodec decodes with here: `native` or `pure`; a kernel that cannot be imported ends the run."""
    code = "import kodec; print(kodec.backend())"
    done = subprocess.run([BIN / "python", "-I", "-c", code], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit("check: kodec cannot be imported")
    return done.stdout.strip()


def main(names: list[str]) -> int:
    # Each process of the tests, of hundreds, would compile the tests and kodec if Python kept no bytecode.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    unknown = [name for name in names if name not in STEPS | PARTS]
    if unknown:
        sys.exit(f"check: knows {', '.join(STEPS | PARTS)}; not {', '.join(unknown)}")
    wanted = names or list(STEPS)
    if any(name.startswith(("tests", "thorough")) for name in wanted):
        used = backend()
        print(f"backend: {used}; KODEC_SEED={SEED} draws the same examples again")
        if used == "pure" and not names:
            # The tests run on it anyway.
            wanted.remove("tests-pure")
    labels = {
        name: f"[{number}/{len(wanted)}] {name:<10} {' '.join((STEPS | PARTS)[name])[:80]}"
        for number, name in enumerate(wanted, 1)
    }
    tests = [name for name in wanted if "pytest" in (STEPS | PARTS)[name]]
    others = [name for name in wanted if name not in tests]
    with ThreadPoolExecutor(CORES) as pool:
        passed = dict(zip(others, pool.map(lambda name: run(name, labels[name]), others), strict=True))
    passed |= {name: run(name, labels[name]) for name in tests}
    failed = [name for name in wanted if not passed[name]]
    print(f"failed: {', '.join(failed)}" if failed else f"passed: {', '.join(wanted)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
