"""Tries the bounds that pyproject.toml states: the lowest version of each dependency, and each Python.

Usage: bounds.py [PYTHON...]   (versions as 3.12; without, all that pyproject.toml names)

With the oldest Python every direct dependency is the lowest that its bound allows, those of the build and
of the tests too; kodec is built from a copy of the tree, with its kernels. With every other Python that is on
this machine they are the locked ones. Then a quick part of the suite runs. A missing Python is reported,
and is no failure. Needs uv, which is installed into .cache where it is not on PATH.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV = ROOT / ".cache" / "uv"
# What uv fetches and builds. It keeps all of it: PySpark alone, built again for each Python, is 2 GB.
FETCHED = ROOT / ".cache" / "uv-cache"
# Each extra is used by one of them; slow ones, which look at the codec alone, are left to the other checks.
TESTS = [
    "tests/test_api.py",
    "tests/cli",
    "tests/log/tables/test_encode_table.py",
    "tests/log/tables/test_batch_table.py",
    "tests/log/reading/test_samples.py",
    "tests/log/writing/test_writer.py",
    "tests/pipeline/test_source.py",
    "tests/runtime/test_compression.py",
    "tests/runtime/test_gzip.py",
]
EXCLUDED = {".git", ".venv", ".cache", "out", "build", "dist", ".hypothesis", "__pycache__"}


def say(text: str) -> None:
    print(f"bounds: {text}", flush=True)


def uv() -> str:
    """The program uv; installed if missing."""
    found = shutil.which("uv")
    if found is not None:
        return found
    program = UV / "bin" / "uv"
    if not program.is_file():
        subprocess.run([sys.executable, "-m", "venv", UV], check=True)
        lock = ROOT / "requirements" / "uv.txt"
        pip = [UV / "bin" / "python", "-I", "-m", "pip", "--disable-pip-version-check", "install", "-q"]
        subprocess.run([*pip, "--require-hashes", "--only-binary", ":all:", "-r", lock], check=True)
    return str(program)


def interpreter(version: str) -> str | None:
    """A Python of this version on this machine: on PATH, of pyenv, or one that uv has."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python{version}"))]
    asked = subprocess.run(
        [uv(), "python", "find", "--managed-python", "--no-python-downloads", version],
        capture_output=True,
        text=True,
        check=False,
    )
    candidates.append(asked.stdout.strip() if asked.returncode == 0 else None)
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    for candidate in filter(None, candidates):
        said = subprocess.run([candidate, "-I", "-c", code], capture_output=True, text=True, check=False)
        if said.returncode == 0 and said.stdout.strip() == version:
            return str(candidate)
    return None


def pythons() -> list[str]:
    """The versions of Python that pyproject.toml names, oldest first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pattern = re.compile(r"Programming Language :: Python :: (3\.\d+)")
    return [match[1] for each in project["classifiers"] if (match := pattern.fullmatch(each))]


def run(*command: str | Path, cwd: Path) -> bool:
    """Run a command; its output is shown if it fails."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")
    }
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**environment, "KODEC_NATIVE": "require", "UV_CACHE_DIR": str(FETCHED)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        print(done.stdout[-20_000:])
        say(f"failed: {' '.join(map(str, command))}")
    return done.returncode == 0


def attempt(version: str, python: str, lowest: bool) -> bool:
    """Install kodec and its dependencies for a Python, and run the tests."""
    versions = ["--resolution", "lowest-direct"] if lowest else ["--constraints", "requirements/dev.txt"]
    with tempfile.TemporaryDirectory(prefix="kodec-bounds-") as base:
        source, environment = Path(base) / "kodec", Path(base) / "env"
        shutil.copytree(
            ROOT,
            source,
            symlinks=True,
            ignore=lambda folder, names: [
                name for name in names if name in EXCLUDED or name.endswith((".so", ".pyd"))
            ],
        )
        install = [uv(), "pip", "install", "--quiet", "--python", environment, *versions]
        # kodec is built with the Cython and setuptools of the group `build`, not with the newest.
        whole = [
            "--no-build-isolation-package",
            "kodec",
            "--editable",
            ".[all]",
            "--group",
            "build",
            "--group",
            "test",
        ]
        return (
            run(uv(), "venv", "--quiet", "--python", python, environment, cwd=source)
            and run(*install, "--group", "build", cwd=source)
            and run(*install, *whole, cwd=source)
            and run(environment / "bin" / "kodec", "generate", "--check", cwd=source)
            and run(environment / "bin" / "python", "-m", "pytest", "-q", "-x", *TESTS, cwd=source)
        )


def main(asked: list[str]) -> int:
    failed, missing = [], []
    oldest, *_ = versions = pythons()
    for version in asked or versions:
        python = interpreter(version)
        if python is None:
            missing.append(version)
            continue
        what = f"Python {version}, {'lowest' if version == oldest else 'locked'} dependencies"
        say(f"{what} ...")
        began = time.monotonic()
        good = attempt(version, python, version == oldest)
        # All but what uv built itself.
        good &= run(uv(), "cache", "prune", "--ci", "--quiet", cwd=ROOT)
        say(f"  {'ok' if good else 'FAILED'} in {time.monotonic() - began:.0f} s")
        failed += [] if good else [what]
    if missing:
        say(f"not tried, as it is not on this machine: Python {', '.join(missing)}")
    say(f"failed: {'; '.join(failed)}" if failed else "passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
