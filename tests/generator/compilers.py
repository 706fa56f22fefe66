"""C compilers, as far as there are some."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

import pytest

from kodec.runtime.native import include_dir
from tests.data import ROOT

CORES = sorted((ROOT / "generated" / "kernels").glob("*_core.c"))
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]


def compilers() -> list[list[str]]:
    """C compilers that are there, each once."""
    found = {path: [path] for name in ("gcc", "clang", "cc") if (path := shutil.which(name))}
    real = {os.path.realpath(path): command for path, command in found.items()}
    if importlib.util.find_spec("ziglang") is not None:
        real["zig"] = [sys.executable, "-m", "ziglang", "cc"]
    return list(real.values())


CC = compilers()
needs_cc = pytest.mark.skipif(not CC, reason="no C compiler: gcc, clang, cc or ziglang")


def compile_all(kernels: Path, names: Iterable[str]) -> None:
    """The C compiler, for several kernels side by side."""
    include = [f"-I{path}" for path in (sysconfig.get_paths()["include"], kernels, include_dir())]
    link = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    running = []
    for name in names:
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        source, made = kernels / f"{name}.c", kernels / f"{name}{suffix}"
        cc = [*CC[0], *link, "-fPIC", "-O0", *include, str(source), "-o", str(made)]
        pipe = subprocess.PIPE
        running.append(subprocess.Popen(cc, stdout=pipe, stderr=subprocess.STDOUT, text=True))
    for process in running:
        said, _ = process.communicate()
        assert process.returncode == 0, said


def assert_strict(core: Path) -> None:
    """Every compiler there is takes it as C11 without a warning, and it includes nothing of Python's."""
    for command in CC:
        line = [*command, *STRICT, f"-I{include_dir()}", str(core)]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), f"{shlex.join(line)}\n{done.stderr}"
        listed = subprocess.run([*line, "-M"], capture_output=True, text=True, check=True).stdout
        assert "kodec_core.h" in listed and "Python.h" not in listed
