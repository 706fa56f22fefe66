"""Schemas in other languages: what is generated of each, and whether their compilers take it."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from kodec.generator.driver import render_all
from kodec.generator.problems import SchemaError
from tests.foreign.run import copy_closure
from tests.languages import c_testee, go_testee, java_testee, typescript_testee
from tests.languages.compilers import is_here

__all__ = ["LANGUAGES", "WRITERS", "compiled", "made_in_all"]

LANGUAGES = {"go": "Go", "rust": "Rust", "typescript": "TypeScript", "java": "Java", "c": "C"}
WRITERS = {
    "go": (r"^func Read(\w+)\(", r"^func \(\w+ \*?(\w+)\) Append\("),
    "typescript": (r"^export function read(\w+)\(", r"^export function write(\w+)\("),
}
"""How the reader of a type begins, and its writer, in the languages that write streams."""
SECONDS = 240
"""For one run of a compiler."""
Schema = tuple[dict[str, Path], str]
State = list[object]
"""What came of a language: made, compiled, failed, refused or crash; why; and if made, whether it writes."""


def made_in_all(files: dict[str, Path], name: str) -> dict[str, State]:
    """What each language makes of a schema; nothing is written to a file."""
    return {language: _made(files, name, language)[0] for language in LANGUAGES}


def _made(
    files: dict[str, Path], name: str, language: str, package: str = "formats"
) -> tuple[State, Mapping[str, str]]:
    """What a language makes of a schema, and the texts by their path."""
    with tempfile.TemporaryDirectory() as folder:
        copy_closure(files, name, Path(folder))
        options = {"java.package": package} if language == "java" else None
        try:
            texts = render_all(Path(folder), targets=(language,), options=options).modules
        except SchemaError as error:
            return ["refused", str(error.problems[0])], {}
        except Exception as error:
            return ["crash", f"{type(error).__name__}: {error}"], {}
    return ["made", "", _writes(texts, language)], texts


def _writes(texts: Mapping[str, str], language: str) -> bool:
    """Whether each type that can be read alone can be written."""
    if language not in WRITERS:
        return False
    reads, writes = (
        {each for text in texts.values() for each in re.findall(start, text, re.MULTILINE)}
        for start in WRITERS[language]
    )
    return bool(reads) and reads <= writes


def compiled(schemas: list[Schema]) -> list[dict[str, State]]:
    """The answers of each installed compiler about schemas that are compiled together."""
    found: list[dict[str, State]] = [{} for _ in schemas]
    for language in COMPILERS:
        with tempfile.TemporaryDirectory() as place:
            folder, numbers = Path(place), []
            for number, (files, name) in enumerate(schemas):
                state, texts = _made(files, name, language, f"s{number}")
                found[number][language] = state
                for path, text in texts.items():
                    target = folder / f"s{number}" / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_text(text, "utf-8")
                numbers += [number] if texts else []
            for number, why in _problems(language, folder, numbers):
                found[number][language] = ["failed" if why else "compiled", why]
    return found


def _problems(language: str, folder: Path, numbers: list[int]) -> Iterator[tuple[int, str]]:
    """The answer of a compiler about each part of a folder, "" if it has no problem.

    What it names is left out then, as it may stop at the first problem; if it names nothing, or takes too
    long, each half is compiled.
    """
    if not numbers:
        return
    try:
        said = COMPILERS[language](folder, numbers)
    except subprocess.TimeoutExpired:
        said = f"longer than {SECONDS} s"
    if not said:
        yield from ((number, "") for number in numbers)
        return
    named = {int(each) for each in re.findall(r"\bs(\d+)[/\\]", said)} & {*numbers}
    if len(numbers) == 1:
        yield numbers[0], _first(said)
    elif named:
        for number in sorted(named):
            yield number, _first("\n".join(line for line in said.splitlines() if f"s{number}/" in line))
        yield from _problems(language, folder, [each for each in numbers if each not in named])
    else:
        half = len(numbers) // 2
        yield from _problems(language, folder, numbers[:half])
        yield from _problems(language, folder, numbers[half:])


def _first(said: str) -> str:
    lines = [line for line in said.splitlines() if re.search(r"error|s\d+/", line)] or said.splitlines()
    return (lines or ["it failed"])[0][:400]


# -- compilers: the problems of the parts of a folder, "" for none ----------------------------------


def _said(line: list[str], folder: Path) -> str:
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS)
    return (done.stdout + done.stderr or "it failed") if done.returncode else ""


def _go(folder: Path, numbers: list[int]) -> str:
    for name in ("go.mod", "go.sum"):
        shutil.copyfile(go_testee.HERE / name, folder / name)
    return _said(["go", "build", *(f"./s{number}/go" for number in numbers)], folder)


def _rust(folder: Path, numbers: list[int]) -> str:
    line = [
        "rustc",
        "--edition",
        "2021",
        "--crate-type",
        "lib",
        "--crate-name",
        "formats",
        "--emit",
        "metadata",
    ]
    parts = (f"s{number}/rust/src/lib.rs" for number in numbers)
    return "".join(_said([*line, "--out-dir", "out", each], folder) for each in parts)


def _typescript(folder: Path, numbers: list[int]) -> str:
    sources = ", ".join(f'"s{number}/typescript/src"' for number in numbers)
    text = (folder / f"s{numbers[0]}" / "typescript" / "tsconfig.json").read_text("utf-8")
    (folder / "tsconfig.json").write_text(
        re.sub(r'"include": \[.*\]', f'"include": [{sources}]', text), "utf-8"
    )
    done = typescript_testee.run(folder, "typescript/bin/tsc", "--noEmit")
    return (done.stdout + done.stderr or "it failed") if done.returncode else ""


@functools.cache
def _runtime_classes() -> tempfile.TemporaryDirectory[str]:
    """The compiled runtime for Java; the folder is there as long as this process."""
    place = tempfile.TemporaryDirectory()
    sources = map(str, java_testee.RUNTIME.rglob("*.java"))
    line = [
        "javac",
        "-nowarn",
        "-proc:none",
        "-encoding",
        "UTF-8",
        "-cp",
        java_testee.jars(),
        "-d",
        place.name,
    ]
    subprocess.run([*line, *sources], check=True, capture_output=True)
    return place


def _java(folder: Path, numbers: list[int]) -> str:
    sources = [
        str(path.relative_to(folder)) for each in numbers for path in (folder / f"s{each}").rglob("*.java")
    ]
    line = ["javac", "--release", "17", "-nowarn", "-proc:none", "-encoding", "UTF-8", "-Xmaxerrs", "1000"]
    return _said([*line, "-cp", _runtime_classes().name, "-d", "classes", *sources], folder)


def _c(folder: Path, numbers: list[int]) -> str:
    def line(number: int) -> list[str]:
        place = Path(f"s{number}/c")
        sources = [str(path.relative_to(folder)) for path in (folder / place / "src").glob("*.c")]
        includes = [f"-I{place}/include", f"-I{place}/src"]
        return ["cc", *c_testee.WARNINGS, *c_testee.CODECS[:1], "-fsyntax-only", *includes, *sources]

    return "".join(_said(line(number), folder) for number in numbers)


COMPILERS: dict[str, Callable[[Path, list[int]], str]] = {
    language: call
    for language, call, program in (
        ("go", _go, "go"),
        ("rust", _rust, "cargo"),
        ("typescript", _typescript, "node"),
        ("java", _java, "javac"),
        ("c", _c, "cc"),
    )
    if is_here(program)
}
