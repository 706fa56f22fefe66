"""What is native is C11 where `KD_GNU` is 0, as it is for MSVC, which no test here has.

The tests find GNU C in two ways: compilers report each extension (`-pedantic`, `-Wvla`, `-Wpointer-arith`),
and what the preprocessor leaves of our own lines has none of the words that a compiler accepts without a
report.
"""

from __future__ import annotations

import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from .compilers import CC, CORES, ROOT, needs_cc

NATIVE = ROOT / "runtime" / "native"
HEADERS = sorted(NATIVE.glob("*.h"))
MODULES = [
    NATIVE / "messages.c",
    NATIVE / "streams.c",
    *(core.with_name(core.name.replace("_core", "")) for core in CORES),
]
PLAIN = [
    "-DKD_GNU=0",
    f"-I{NATIVE}",
    f"-I{ROOT / 'generated' / 'kernels'}",
    "-isystem",
    sysconfig.get_paths()["include"],
]
CHECKS = ["-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-pedantic", "-Wvla", "-Wpointer-arith"]
# Without attributes, what is not used here is not marked; a slot of a type holds a function as `void *`, by
# Python's rules.
ALLOWED = re.compile(
    r"\[-Wunused-(variable|function|const-variable)=?\]|function pointer.*void \*|void \*.*function pointer"
)
GNU = re.compile(
    r"__attribute__|__builtin_\w+|__atomic_\w+|__sync_\w+|\b__?typeof__?\b|\(\s*\{|\b__asm__|__int128|(?<!Py_)\bssize_t\b|\bcpuid\.h"
)


@needs_cc
@pytest.mark.parametrize("source", [*MODULES, *CORES], ids=lambda path: path.stem)
def test_compilers_find_no_extension(source: Path) -> None:
    done = subprocess.run([*CC[0], *PLAIN, *CHECKS, str(source)], capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if re.search(r"\b(warning|error):", line)]
    assert done.returncode == 0 and [line for line in said if not ALLOWED.search(line)] == []


@needs_cc
@pytest.mark.parametrize("gnu", [0, 1])
def test_words_of_gnu_c_are_left_only_where_they_are_asked_for(gnu: int) -> None:
    """The files that do not include Python's headers, whose macros become such words."""
    found = set()
    for core in CORES:
        command = [*CC[0], *PLAIN, "-UKD_GNU", f"-DKD_GNU={gnu}", "-E", str(core)]
        ours = False
        for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
            if mark := re.match(r'# \d+ "(.*?)"', line):
                ours = Path(mark[1]).is_relative_to(ROOT)
            elif ours:
                found |= set(GNU.findall(line))
    assert bool(found) == bool(gnu), found


@pytest.mark.parametrize("source", [*MODULES, *HEADERS], ids=lambda path: path.name)
def test_words_of_gnu_c_are_in_the_two_headers_that_guard_them(source: Path) -> None:
    found = GNU.findall(source.read_text(encoding="utf-8"))
    assert bool(found) == (source.name in ("kodec_bytes.h", "kodec_core.h")), found
