"""The suite and real segments against every language whose compiler is here: the table of docs/languages.md.

    python -m tests.languages.run                    all
    python -m tests.languages.run go ksc-python      some

Each row is printed and written when its language is done; the others stay as they are.
Ends with 1 where one of our own languages does not do everything, or another fails, or passes, against what
the files of `known/` say.
"""

from __future__ import annotations

import importlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kodec.conformance.known import Known, read_known
from kodec.conformance.process import Failed, Limits, Testee
from kodec.conformance.report import as_text
from kodec.conformance.run import Report, run
from kodec.conformance.suite import Suite, from_schemas
from tests.ksc.oracle import node

from . import ksc_testee
from .real import segments

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "schemas"
TABLE = ROOT / "docs" / "languages.md"
_START, _END = "<!-- the table of `make languages` -->\n", "<!-- its end -->\n"
_HEAD = """\
| language | compiler | runtime | schemas | decoded | encoded | refused | may do either | segments |
|---|---|---|---|---|---|---|---|---|
"""
_LIMITS = Limits(60.0, start=300.0)

Build = Callable[[Path], tuple[list[str], int]]
Version = Callable[[], str]


@dataclass(frozen=True)
class Language:
    """One row.

    `needs` are programs, `build` gives a command and how many schemas could not be compiled,
    `compiler` the compiler's name and version.
    """

    name: str
    shown: str
    needs: tuple[str, ...]
    build: Build
    compiler: Version

    @property
    def is_ours(self) -> bool:
        return not self.name.startswith("ksc-")

    @property
    def known(self) -> Known:
        """What is known to fail: a file for the language, and one for all that ksc makes."""
        names = [self.name] if self.is_ours else ["ksc", self.name]
        paths = (Path(__file__).with_name("known") / f"{each}.json" for each in names)
        return read_known(*(path for path in paths if path.is_file()))


def _python(*before: str) -> Build:
    return lambda folder: ([*before, sys.executable, "-m", "kodec.conformance.testee"], 0)


def _ours(module: str) -> Build:
    """What `build` of one of the modules beside this one makes."""

    def build(folder: Path) -> tuple[list[str], int]:
        return importlib.import_module(f"tests.languages.{module}").build(SCHEMAS, folder), 0

    return build


def _ksc(language: str) -> Build:
    def build(folder: Path) -> tuple[list[str], int]:
        command, failures = ksc_testee.build(SCHEMAS, folder, language)
        return command, len(failures)

    return build


def _program(name: str, option: str = "--version") -> Version:
    def version() -> str:
        said = subprocess.run([name, option], check=True, capture_output=True, text=True)
        found = re.search(r"\d+(\.\d+)+", said.stdout + said.stderr)
        return f"{name} {found[0]}" if found else name

    return version


def _package(name: str, shown: str) -> Version:
    """The compiler is one of the node packages of `make node`."""
    return lambda: f"{shown} {json.loads((node()[1] / name / 'package.json').read_text())['version']}"


_KSC = _package("kaitai-struct-compiler", "ksc")
LANGUAGES = (
    Language("python", "Python", (), _python(), lambda: "-"),
    Language("pure", "Python, pure", (), _python("env", "KODEC_PURE=1"), lambda: "-"),
    Language("java", "Java", ("javac", "java"), _ours("java_testee"), _program("javac")),
    Language("go", "Go", ("go",), _ours("go_testee"), _program("go", "version")),
    Language("rust", "Rust", ("cargo",), _ours("rust_testee"), _program("rustc")),
    Language(
        "typescript", "TypeScript", ("node",), _ours("typescript_testee"), _package("typescript", "tsc")
    ),
    Language("c", "C", ("cc",), _ours("c_testee"), _program("cc")),
    *(
        Language(f"ksc-{name}", f"{each.shown}, by ksc", ("node", *each.needs), _ksc(name), _KSC)
        for name, each in ksc_testee.LANGUAGES.items()
    ),
)


def _is_here(language: Language) -> str:
    """What is missing; empty where nothing is."""
    lacks = [each for each in language.needs if shutil.which(each) is None]
    known = language.name.startswith(("ksc-", "py", "pure"))
    if not known and not Path(__file__).with_name(f"{language.name}_testee.py").is_file():
        lacks.append(f"{language.name}_testee.py")
    return ", ".join(lacks)


def _segments(command: list[str]) -> tuple[int, int]:
    """How many segments are read right, and how many there are."""
    right = count = 0
    with Testee(command, _LIMITS) as testee:
        for each in segments():
            count += 1
            try:
                answer = testee.ask({"do": "decode", "type": "log_segment", "bytes": each.data.hex()})
                right += "value" in answer and each.is_read(answer["value"])
            except (Failed, KeyError, TypeError):
                continue
    return right, count


def _row(language: Language, report: Report, uncompiled: int, read: tuple[int, int]) -> str:
    def of(*checks: str) -> str:
        count = sum(report.count(each) for each in checks)
        return f"{sum(report.count(each, 'passed') for each in checks):,} of {count:,}" if count else "-"

    total = ksc_testee.count(SCHEMAS)
    cells = [
        language.shown,
        language.compiler(),
        str(report.testee["version"]),
        f"{total - uncompiled} of {total}",
        of("decode"),
        of("encode", "round_trip", "refuse_value"),
        of("refuse"),
        of("may"),
        f"{read[0]} of {read[1]}",
    ]
    return f"| {' | '.join(cells)} |"


def table(chosen: Iterable[Language], suite: Suite) -> Iterator[tuple[str, bool]]:
    """A line for each language, and whether it is as it has to be."""
    for language in chosen:
        if lacks := _is_here(language):
            print(f"{language.name}: missing {lacks}", file=sys.stderr)
            continue
        print(f"{language.name} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="kodec-language-") as folder:
            try:
                command, uncompiled = language.build(Path(folder))
            except ksc_testee.Missing as missing:
                print(f"{language.name}: missing {missing}", file=sys.stderr)
                continue
            report = run(suite, command, _LIMITS, language.known)
            read = _segments(command)
            is_right = report.is_right and (read[0] == read[1] or not language.is_ours)
            if not is_right:
                print(as_text(report), file=sys.stderr)
            yield _row(language, report, uncompiled, read), is_right


def _put(row: str) -> None:
    """Write a language's row, in place of its earlier one."""
    before, _, rest = TABLE.read_text().partition(_START)
    written, _, after = rest.partition(_END)
    rows = {line.split(" | ")[0]: line for line in (*written.splitlines(), row)}
    found = (rows.get(f"| {each.shown}") for each in LANGUAGES)
    text = "".join(f"{line}\n" for line in found if line)
    TABLE.write_text(f"{before}{_START}\n{_HEAD}{text}\n{_END}{after}")


def main(names: list[str]) -> int:
    chosen = [each for each in LANGUAGES if not names or each.name in names]
    all_right = True
    for row, is_right in table(chosen, from_schemas(SCHEMAS)):
        print(row, flush=True)
        _put(row)
        all_right &= is_right
    return 0 if all_right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
