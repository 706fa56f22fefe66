"""Systems without what POSIX has: everything imports and reads there, and log directories are left alone.

A subprocess goes without the modules and functions that Windows lacks.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
LOGS = ROOT / "tests" / "data" / "kafka-4.3.1" / "logs"

# The standard library has looked at the system before: on Windows it does without these things itself.
WITHOUT_POSIX = """
import concurrent.futures.process, importlib, inspect, multiprocessing, os, pathlib, pkgutil, shutil, signal
import socket, ssl, subprocess, sys, tempfile, types
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
sys.modules["msvcrt"] = types.SimpleNamespace(locking=lambda fd, mode, size: None, LK_NBLCK=2)
for name in (
    "O_NOFOLLOW O_DIRECTORY O_CLOEXEC pwrite pread preadv fchown fchmod chown getuid geteuid "
    "posix_fadvise sched_getaffinity register_at_fork killpg set_blocking sysconf"
).split():
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGPIPE", "SIGKILL", "SIGHUP"):
    if hasattr(signal, name):  # Windows has none
        delattr(signal, name)
"""


def run(code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_POSIX + code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def kodec(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run("from kodec.cli.main import main; sys.exit(main())", *arguments)


def test_every_module_imports() -> None:
    done = run(
        "import kodec\n"
        "names = [each.name for each in pkgutil.walk_packages(kodec.__path__, 'kodec.')]\n"
        "for name in names:\n"
        "    try:\n"
        "        '.examples' in name or importlib.import_module(name)\n"
        "    except ImportError as error:\n"
        "        # a library of an extra that is not installed here; never one that the system lacks\n"
        "        if error.name in (None, *sys.modules):\n"
        "            raise\n"
        "print(len(names))"
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 300


@pytest.mark.quick
@pytest.mark.parametrize(
    "arguments",
    [
        ("ls", LOGS),
        ("verify", LOGS),
        ("dump", "--json", LOGS / "orders-0" / "00000000000000000000.log"),
        ("find", LOGS, "--topic", "orders", "--last", "2"),
        ("explain", LOGS / "orders-0" / "00000000000000000000.log", "--offset", "20", "--limit", "1"),
        ("recover", LOGS),
    ],
    ids=lambda words: words[0],
)
def test_what_reads_says_the_same_as_here(arguments: tuple[str | Path, ...]) -> None:
    here = subprocess.run(
        [sys.executable, "-m", "kodec", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    done = kodec(*arguments)
    assert (done.returncode, done.stdout) == (here.returncode, here.stdout), done.stderr
    assert done.stdout


def test_outputs_that_are_not_a_brokers_are_written(tmp_path: Path) -> None:
    done = kodec("export", LOGS, "--topic", "orders", "--to", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "out").rglob("*.parquet"))


@pytest.mark.parametrize(
    "verb", [("salvage", "--to"), ("convert", "--magic", "1", "--to")], ids=lambda words: words[0]
)
def test_log_directories_are_not_made_without_locks(verb: tuple[str, ...], tmp_path: Path) -> None:
    done = kodec(verb[0], LOGS, "--topic", "orders", *verb[1:], tmp_path / "new", "--apply")
    assert done.returncode == 1
    assert "on Linux and macOS only" in done.stderr
    assert not list(tmp_path.rglob("*.log"))


def test_log_directories_are_not_changed_without_locks(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    shutil.copytree(LOGS / folder.name, folder)
    log = folder / "00000000000000000000.log"
    with log.open("ab") as file:
        file.write(b"torn")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = kodec("recover", tmp_path, "--from-start", "--apply")
    assert done.returncode == 1
    assert "on Linux and macOS only" in done.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
