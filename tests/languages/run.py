"""The suite and real segments against every language whose compiler is here: the tables of docs/languages.md.

    python -m tests.languages.run                    all
    python -m tests.languages.run go ksc-python      some
    python -m tests.languages.run --check            our own; no table is written, it must say this

Each row is printed and written when its language is done; the others stay as they are.
Ends with 1 where one of our own languages does not do everything, or another fails, or passes, against what
the files of `known/` say.
"""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kodec.conformance.known import Known, read_known
from kodec.conformance.process import Failed, Limits, Testee
from kodec.conformance.report import as_text
from kodec.conformance.run import Report, run
from kodec.conformance.suite import Suite, Vector, from_schemas
from kodec.generator.problems import SchemaError
from tests.ksc.oracle import node

from . import ksc_testee, peer_testee
from .compilers import is_here
from .real import ROWS, rows_of, segments

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "schemas"
STREAMS = Path(__file__).with_name("streams")
TABLE = ROOT / "docs" / "languages.md"
KNOWN = Path(__file__).with_name("known")
_COUNTED = {
    "decoded": ("decode",),
    "encoded": ("encode", "round_trip", "refuse_value"),
    "refused": ("refuse",),
    "may do either": ("may",),
}
_START, _END = "<!-- the {} of `make languages` -->\n", "<!-- the end of {} -->\n"
_HEADS = {
    "languages": ("language", "compiler", "runtime", "schemas", *_COUNTED, "segments", "known"),
    "judges": ("judge", "version", "types", *_COUNTED, "segments", "known", "not known"),
    "streams": ("language", "schemas", "decoded", "encoded", "refused"),
}
_VERSIONS = {"languages": 2, "judges": 1, "streams": 0}
"""How many columns of each table say versions, after the name."""
_LIMITS = Limits(60.0, start=300.0)

Build = Callable[[Path, Path], tuple[list[str], int]]
Version = Callable[[], str]


@dataclass(frozen=True)
class Language:
    """One row.

    `needs` are programs, `build` gives a command and how many of a folder's schemas could not be compiled,
    `compiler` the compiler's name and version.
    """

    name: str
    shown: str
    needs: tuple[str, ...]
    build: Build
    compiler: Version

    @property
    def is_ours(self) -> bool:
        return not self.is_judge and not self.name.startswith("ksc-")

    @property
    def is_judge(self) -> bool:
        return self in JUDGES

    @property
    def known(self) -> Known:
        """What is known to fail: a file for the language, and one for all that ksc makes."""
        return read_known(*(KNOWN / name for name in self.known_files))

    @property
    def known_files(self) -> list[str]:
        """Those that are there, the language's own first."""
        names = [self.name, "ksc"] if self.name.startswith("ksc-") else [self.name]
        return [f"{each}.json" for each in names if (KNOWN / f"{each}.json").is_file()]


def _python(*before: str) -> Build:
    return lambda schemas, _: ([*before, sys.executable, "-m", "kodec.conformance.testee", str(schemas)], 0)


def _ours(module: str) -> Build:
    """What `build` of one of the modules next to this one makes."""

    def build(schemas: Path, folder: Path) -> tuple[list[str], int]:
        return importlib.import_module(f"tests.languages.{module}").build(schemas, folder), 0

    return build


def _ksc(language: str) -> Build:
    def build(schemas: Path, folder: Path) -> tuple[list[str], int]:
        command, failures = ksc_testee.build(schemas, folder, language)
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


def _testee(module: str, *arguments: str, path: str = "") -> list[str]:
    """The command of a testee in Python next to this file."""
    return ["env", f"PYTHONPATH={ROOT}{path}", sys.executable, "-m", f"tests.languages.{module}", *arguments]


def _kafka(schemas: Path, folder: Path) -> tuple[list[str], int]:
    return _testee("kafka_testee"), 0


def _kio(schemas: Path, folder: Path) -> tuple[list[str], int]:
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), _KIO]
    subprocess.run(install, check=True, capture_output=True)
    return _testee("kio_testee", path=f":{folder}"), 0


def _peer(name: str) -> Build:
    """One of `peer_testee`."""

    def build(schemas: Path, folder: Path) -> tuple[list[str], int]:
        return _testee("peer_testee", name, str(peer_testee.BUILDS[name](folder))), 0

    return build


_KIO = "kio==0.6.5"
JUDGES = (
    Language("kafka", "Apache Kafka's message classes", ("java", "javac", "mvn"), _kafka, lambda: "-"),
    Language("kio", "kio", (), _kio, lambda: "-"),
    Language("kmsg", "franz-go", ("go",), _peer("kmsg"), lambda: "-"),
    Language("kafka-protocol", "kafka-protocol-rs", ("cargo",), _peer("kafka-protocol"), lambda: "-"),
)


def _missing(language: Language) -> str:
    """What is missing; empty if nothing is."""
    lacks = [each for each in language.needs if not is_here(each)]
    known = language.name.startswith(("ksc-", "py", "pure"))
    if (
        not language.is_judge
        and not known
        and not Path(__file__).with_name(f"{language.name}_testee.py").is_file()
    ):
        lacks.append(f"{language.name}_testee.py")
    return ", ".join(lacks)


def _as_rows(suite: Suite) -> Suite:
    """The suite for judges, which know of batches no more than their rows."""

    def of(vector: Vector) -> Vector:
        if vector.type not in ROWS or vector.data is None or vector.value is None:
            return vector
        return replace(vector, value={"rows": list(rows_of(ROWS[vector.type](vector.value)))})

    return replace(suite, vectors=tuple(map(of, suite.vectors)))


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


def _counts(report: Report) -> Iterator[str]:
    """What passed of what there is an answer to."""
    for checks in _COUNTED.values():
        count = sum(report.count(each) - report.count(each, "unsupported") for each in checks)
        passed = sum(report.count(each, "passed") for each in checks)
        yield _of(passed, count)


def _of(right: int, count: int) -> str:
    return f"{right:,} of {count:,}" if count else "-"


def _row(language: Language, report: Report, uncompiled: int, read: tuple[int, int]) -> list[str]:
    total = ksc_testee.count(SCHEMAS)
    return [
        language.shown,
        language.compiler(),
        str(report.testee["version"]),
        f"{total - uncompiled} of {total}",
        *_counts(report),
        _of(*read),
        _known(language, report),
    ]


def _judge_row(judge: Language, report: Report, read: tuple[int, int]) -> list[str]:
    types = str(len(report.testee["types"]))
    unsupported = f"{report.count(outcome='unsupported'):,}"
    version = str(report.testee["version"])
    return [
        judge.shown,
        version,
        types,
        *_counts(report),
        _of(*read),
        _known(judge, report),
        unsupported,
    ]


def _known(language: Language, report: Report) -> str:
    """How many failures are known, with a link to the file that says why."""
    count = report.count(outcome="known")
    return f"[{count:,}](../tests/languages/known/{language.known_files[0]})" if count else "0"


def table(chosen: Iterable[Language], suite: Suite) -> Iterator[tuple[Language, list[str], bool]]:
    """A row for each language, and whether it is as it has to be."""
    for language in chosen:
        if lacks := _missing(language):
            print(f"{language.name}: missing {lacks}", file=sys.stderr)
            continue
        print(f"{language.name} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="kodec-language-") as folder:
            try:
                command, uncompiled = language.build(SCHEMAS, Path(folder))
            except ksc_testee.Missing as missing:
                print(f"{language.name}: missing {missing}", file=sys.stderr)
                continue
            asked = _as_rows(suite) if language.is_judge else suite
            report = run(asked, command, _LIMITS, language.known)
            reads = not language.is_judge or "log_segment" in report.testee["types"]
            read = _segments(command) if reads else (0, 0)
            is_right = report.is_right and (read[0] == read[1] or not language.is_ours)
            if not is_right:
                print(as_text(report), file=sys.stderr)
            row = (
                _judge_row(language, report, read)
                if language.is_judge
                else _row(language, report, uncompiled, read)
            )
            yield language, row, is_right


def _streams(language: Language, suite: Suite) -> tuple[list[str], bool]:
    """The row of a language that reads streamed schemas, or names each as a problem; whether it does."""
    count = ksc_testee.count(STREAMS)
    with tempfile.TemporaryDirectory(prefix="kodec-language-") as folder:
        try:
            command, _ = language.build(STREAMS, Path(folder))
        except SchemaError as error:
            named = {each.place.file for each in error.problems if "read from streams" in each.text}
            cells = [language.shown, f"0 of {count}; named as a problem: {len(named)}", "-", "-", "-"]
            return cells, len(named) == count
        report = run(suite, command, _LIMITS)
    decoded, encoded, refused, _ = _counts(report)
    return [language.shown, f"{count} of {count}", decoded, encoded, refused], report.is_right


def _put(name: str, cells: list[str]) -> None:
    """Write a language's row of a table, in place of its earlier one."""
    start, end = _START.format(name), _END.format(name)
    before, _, rest = TABLE.read_text().partition(start)
    written, _, after = rest.partition(end)
    rows = {line.split(" | ")[0]: line for line in (*written.splitlines(), _line(cells))}
    head = [_line(list(_HEADS[name])), "|---" * len(_HEADS[name]) + "|"]
    lines = [*head, *filter(None, (rows.get(f"| {each.shown}") for each in (*LANGUAGES, *JUDGES)))]
    text = "\n".join(lines)
    TABLE.write_text(f"{before}{start}\n{text}\n\n{end}{after}")


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _is_written(name: str, cells: list[str]) -> bool:
    """Whether a table has the row, but for versions of compilers and runtimes."""

    def counts(line: str) -> list[str]:
        shown, *others = line.strip("| ").split(" | ")
        return [shown, *others[_VERSIONS[name] :]]

    text = TABLE.read_text().partition(_START.format(name))[2].partition(_END.format(name))[0]
    is_written = counts(_line(cells)) in map(counts, text.splitlines())
    if not is_written:
        print(f"{cells[0]}: the {name} of {TABLE.relative_to(ROOT)} have another row", file=sys.stderr)
    return is_written


def main(arguments: list[str]) -> int:
    checks = "--check" in arguments
    names = [each for each in arguments if each != "--check"]
    chosen = [
        each
        for each in (*LANGUAGES, *JUDGES)
        if (each.name in names if names else each.is_ours or not checks)
    ]
    all_right = True

    def tell(name: str, cells: list[str]) -> None:
        nonlocal all_right
        print(_line(cells), flush=True)
        if checks:
            all_right &= _is_written(name, cells)
        else:
            _put(name, cells)

    streams = from_schemas(STREAMS)
    for language, row, is_right in table(chosen, from_schemas(SCHEMAS)):
        tell("judges" if language.is_judge else "languages", row)
        all_right &= is_right
        if language.is_ours:
            row, is_right = _streams(language, streams)
            tell("streams", row)
            all_right &= is_right
    return 0 if all_right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
