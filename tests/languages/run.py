"""The suite and real segments against every language whose compiler is here: the table of docs/languages.md.

    python -m tests.languages.run                    all, and write the table
    python -m tests.languages.run go ksc-python      some, and print it

Ends with 1 where one of our own languages does not do everything.
"""

from __future__ import annotations

import importlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kodec.conformance.process import Failed, Limits, Testee
from kodec.conformance.report import as_text
from kodec.conformance.run import Report, run
from kodec.conformance.suite import Suite, from_schemas

from . import ksc_testee
from .real import segments

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "schemas"
TABLE = ROOT / "docs" / "languages.md"
_START, _END = "<!-- the table of `make languages` -->\n", "<!-- its end -->\n"
_LIMITS = Limits(60.0, start=300.0)

Build = Callable[[Path], tuple[list[str], int]]


@dataclass(frozen=True)
class Language:
    """One row: `needs` are programs, `build` gives a command and how many schemas could not be compiled."""

    name: str
    shown: str
    needs: tuple[str, ...]
    build: Build

    @property
    def is_ours(self) -> bool:
        return not self.name.startswith("ksc-")


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


LANGUAGES = (
    Language("python", "Python", (), _python()),
    Language("pure", "Python, pure", (), _python("env", "KODEC_PURE=1")),
    Language("java", "Java", ("javac", "java"), _ours("java_testee")),
    Language("go", "Go", ("go",), _ours("go_testee")),
    Language("rust", "Rust", ("cargo",), _ours("rust_testee")),
    Language("typescript", "TypeScript", ("node",), _ours("typescript_testee")),
    Language("c", "C", ("cc",), _ours("c_testee")),
    Language("ksc-python", "Python, by ksc", ("node",), _ksc("python")),
    Language("ksc-javascript", "JavaScript, by ksc", ("node",), _ksc("javascript")),
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
            command, uncompiled = language.build(Path(folder))
            report = run(suite, command, _LIMITS)
            read = _segments(command)
            is_right = report.is_right and read[0] == read[1]
            if language.is_ours and not is_right:
                print(as_text(report), file=sys.stderr)
            yield _row(language, report, uncompiled, read), is_right or not language.is_ours


def main(names: list[str]) -> int:
    chosen = [each for each in LANGUAGES if not names or each.name in names]
    suite = from_schemas(SCHEMAS)
    found = list(table(chosen, suite))
    head = "| language | runtime | schemas | decoded | encoded | refused | may do either | segments |\n"
    text = head + "|---|---|---|---|---|---|---|---|\n" + "".join(f"{line}\n" for line, _ in found)
    if names:
        print(text, end="")
    else:
        before, _, rest = TABLE.read_text().partition(_START)
        TABLE.write_text(f"{before}{_START}\n{text}\n{_END}{rest.partition(_END)[2]}")
    return 0 if all(is_right for _, is_right in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
