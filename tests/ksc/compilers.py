"""What stock ksc makes of schemas, given to the real compilers and interpreters of its languages.

    python tests/ksc/compilers.py [--runtimes DIR] [LANGUAGE...]

compiles all schemas to each language, and has that language's compiler check the result against
Kaitai's runtime for it. Prints one line for each language, then what is refused. A language whose
compiler or runtime is not here is named, and counts as no failure.

Runtimes are searched for in DIR (else .cache/ksc-runtimes), each in a folder of its repository's name.
Maven fetches that of Java, whose checksum is pinned. JavaScript's comes with `make node`; Python and PHP
are compiled without one. C#, Go and Rust have no check here: it would build their runtimes, which are in no
registry.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT)]

import oracle  # noqa: E402

from tests.labs.differential import jvm  # noqa: E402

__all__ = ["LANGUAGES", "Language", "Outcome", "check", "runtime_of"]

SECONDS = 600


@dataclass(frozen=True)
class Language:
    """A language of ksc's: the program that compiles it, and how that is asked.

    `compile` gets the folder of sources and that of the runtime; it yields a text for each refused source.
    Without a `repository` nothing is searched for in the folder of runtimes.
    """

    target: str
    program: str
    version: tuple[str, ...]
    compile: Callable[[Path, Path], Iterator[str]]
    repository: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a language made of the schemas: the compiler's version, how many sources, and what was refused.

    `missing` names what is not here; then nothing was compiled.
    """

    language: str
    version: str = ""
    sources: int = 0
    refused: tuple[str, ...] = ()
    missing: str = ""


def _run(command: list[str], folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **more}, capture_output=True, text=True, timeout=SECONDS
    )


def _whole(command: list[str], folder: Path, source: str, **more: str) -> Iterator[str]:
    """One run for all sources; `source` is a pattern for the names of files in what it prints."""
    done = _run(command, folder, **more)
    if done.returncode:
        text = done.stdout + done.stderr
        named = dict.fromkeys(re.findall(source, text))
        first = next((line for line in text.splitlines() if "rror" in line), text[:500])
        yield from named or [first]


def _each(command: list[str], folder: Path, ending: str, **more: str) -> Iterator[str]:
    """A run for each source, whose name comes last."""
    sources = sorted(path.name for path in folder.glob(f"*.{ending}"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, done in zip(
            sources, pool.map(lambda name: _run([*command, name], folder, **more), sources), strict=True
        ):
            if done.returncode:
                lines = (done.stderr + done.stdout).strip().splitlines()
                yield f"{name}: {next((line for line in lines if 'rror' in line), lines[:1])}"


def _cpp(folder: Path, runtime: Path) -> Iterator[str]:
    yield from _each(["g++", "-std=c++11", "-fsyntax-only", "-I", str(runtime)], folder, "cpp")


def _java(folder: Path, runtime: Path) -> Iterator[str]:
    sources = map(str, folder.rglob("*.java"))
    command = ["javac", "-nowarn", "-Xmaxerrs", "1000", "-d", "classes", "-cp", f"{runtime}/*", *sources]
    yield from _whole(command, folder, r"(\w+\.java):\d+: error")


def _javascript(folder: Path, runtime: Path) -> Iterator[str]:
    each = (
        "for (const name of process.argv.slice(1)) try { require('./' + name) } "
        "catch (error) { console.log(`${name}: ${error}`); process.exitCode = 1 }"
    )
    sources = sorted(path.name for path in folder.glob("*.js"))
    yield from _whole(
        ["node", "-e", each, *sources], folder, r"(?m)^\w+\.js: .*", NODE_PATH=str(oracle.node()[1])
    )


def _lua(folder: Path, runtime: Path) -> Iterator[str]:
    path = f"{runtime}/?.lua;./?.lua"
    yield from _each(["lua5.3", "-e", "dofile(arg[1])", "-"], folder, "lua", LUA_PATH=path)


def _nim(folder: Path, runtime: Path) -> Iterator[str]:
    command = ["nim", "check", "--hints:off", "--warnings:off", f"--path:{runtime}"]
    yield from _each(command, folder, "nim")


def _perl(folder: Path, runtime: Path) -> Iterator[str]:
    yield from _each(["perl", "-I", str(runtime / "lib"), "-I", ".", "-c"], folder, "pm")


def _php(folder: Path, runtime: Path) -> Iterator[str]:
    yield from _each(["php", "-l"], folder, "php")


def _python(folder: Path, runtime: Path) -> Iterator[str]:
    command = [sys.executable, "-W", "error", "-m", "compileall", "-q", "."]
    yield from _whole(command, folder, r"Error compiling '(?:\./)?(\w+\.py)'")


def _ruby(folder: Path, runtime: Path) -> Iterator[str]:
    yield from _each(["ruby", "-I", str(runtime / "lib"), "-I", ".", "-e", "load ARGV[0]"], folder, "rb")


LANGUAGES = {
    each.target: each
    for each in (
        Language("cpp_stl", "g++", ("--version",), _cpp, "kaitai_struct_cpp_stl_runtime"),
        Language("java", "javac", ("-version",), _java),
        Language("javascript", "node", ("--version",), _javascript),
        Language("lua", "lua5.3", ("-v",), _lua, "kaitai_struct_lua_runtime"),
        Language("nim", "nim", ("--version",), _nim, "kaitai_struct_nim_runtime"),
        Language("perl", "perl", ("-e", "print $^V"), _perl, "kaitai_struct_perl_runtime"),
        Language("php", "php", ("--version",), _php),
        Language("python", sys.executable, ("--version",), _python),
        Language("ruby", "ruby", ("--version",), _ruby, "kaitai_struct_ruby_runtime"),
    )
}


def runtime_of(language: Language, runtimes: Path) -> Path | None:
    """Where the language's runtime is, or None; any folder for one that needs none of a repository."""
    if language.target == "java":
        try:
            return jvm.jars("0.11", ROOT / "tests" / "languages" / "ksc")
        except jvm.Absent:
            return None
    if not language.repository:
        return oracle.CACHE
    found = runtimes / language.repository
    return found if found.is_dir() else None


def check(target: str, runtimes: Path, schemas: Path = oracle.SCHEMAS) -> Outcome:
    """Compile every schema to the language, and the result with its compiler.

    Raises: as `oracle.compile_schemas`.
    """
    language = LANGUAGES[target]
    program = shutil.which(language.program)
    if program is None:
        return Outcome(target, missing=language.program)
    runtime = runtime_of(language, runtimes)
    if runtime is None:
        return Outcome(target, missing=language.repository or f"runtime of {target}")
    said = _run([program, *language.version], Path.cwd())
    version = (said.stdout + said.stderr).strip().splitlines()[0]
    with tempfile.TemporaryDirectory() as scratch:
        failures = oracle.compile_schemas(Path(scratch), (target,), schemas)
        refused = [f"{each.schema}.ksy: ksc: {' '.join(each.error.split())}" for each in failures]
        folder = Path(scratch) / target
        sources = sum(path.is_file() for path in folder.rglob("*.*"))
        refused += language.compile(folder, runtime.resolve())
    return Outcome(target, version, sources, tuple(refused))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE", help=", ".join(LANGUAGES))
    parser.add_argument("--runtimes", type=Path, default=oracle.CACHE / "ksc-runtimes")
    parser.add_argument("--schemas", type=Path, default=oracle.SCHEMAS)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.languages if name not in LANGUAGES]:
        parser.error(f"no language of ksc's: {', '.join(unknown)}")
    bad = False
    for name in given.languages or LANGUAGES:
        found = check(name, given.runtimes, given.schemas)
        if given.json:
            print(json.dumps(vars(found)), flush=True)
        elif found.missing:
            print(f"{name:11} not here: {found.missing}", flush=True)
        else:
            taken = found.sources - len(found.refused)
            print(f"{name:11} {taken} of {found.sources}  {found.version}", flush=True)
            for line in found.refused:
                print(f"    {line}", flush=True)
        bad |= bool(found.refused)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
