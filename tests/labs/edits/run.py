"""Real files of formats of the Kaitai gallery: read, written back, edited, and judged by independent tools.

    python -m tests.labs.edits.run [--formats PATH_OR_URL] [--table FILE] [NAME...]

The gallery stays outside. Samples come from other people's tools, and so do the verdicts: an edited file is
accepted where the tool that judges takes it, and shows what the edit put there. A format whose tools are not
installed is listed as not run. EDITS_PYTHON is a Python that has the packages which judge.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

from kodec.generator.driver import render_all
from kodec.generator.schema.overlay import BUNDLED, SUFFIX
from kodec.generator.targets.python.names import camel
from kodec.runtime.errors import KodecError
from tests.foreign.run import URL, closure, fetched
from tests.ksc import oracle
from tests.labs.edits.case import Case, NotInstalled
from tests.labs.edits.cases import CASES

SECONDS = 120
MARK, END = "<!-- table -->", "<!-- end of table -->"


@dataclass
class Result:
    """What came of one format: how it was read and written back, and the verdict on each edit."""

    name: str
    size: int = 0
    back: str = ""
    judge: str = ""
    edits: dict[str, str] = field(default_factory=dict)

    @property
    def right(self) -> bool:
        """Whether every file was accepted, and none was wrong."""
        return self.back in ("same bytes", "not run") and "rejected" not in self.edits.values()


def modules(schemas: dict[str, Path], name: str, folder: Path) -> ModuleType:
    """The generated module of a schema, with the overlays that come with the generator."""
    overlays = []
    for each in closure(schemas, name):
        place = folder / "schemas" / f"{each}.ksy"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(schemas[each], place)
        ident = each.rpartition("/")[2]
        if (BUNDLED / f"{ident}{SUFFIX}").is_file():
            overlays.append(ident)
    output = render_all(folder / "schemas", targets=("python",), overlays=overlays, streams=True)
    for path, text in output.modules.items():
        place = folder / "modules" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
    package = f"edited_{name.replace('/', '_')}"
    spec = ModuleSpec(package, None, is_package=True)
    spec.submodule_search_locations = [str(folder / "modules")]
    sys.modules[package] = module_from_spec(spec)
    made = next(path for path in output.modules if path.endswith(f"{name.rpartition('/')[2]}.py"))
    return importlib.import_module(f"{package}.{made.removesuffix('.py').replace('/', '.')}")


def accepted(case: Case, file: Path, expect: str) -> str:
    """The verdict of the judge on a file."""
    done = subprocess.run(
        case.judge.replace("{}", str(file)),
        shell=True,
        capture_output=True,
        cwd=file.parent,
        timeout=SECONDS,
        check=False,
    )
    said = (done.stdout + done.stderr).decode("utf-8", "replace")
    if done.returncode:
        return f"rejected: exit {done.returncode}: {said.strip()[-300:]}"
    if any(word in said for word in case.complains):
        return f"rejected: {said.strip()[-300:]}"
    if expect and expect not in said:
        return f"rejected: it does not show {expect!r}: {said.strip()[-300:]}"
    return "accepted"


def tool(judge: str) -> str:
    """The tool of a judge's command: a library of Python, or the first program that does not only prepare."""
    library = re.search(r"sys\.argv\[1\]; (?:import|from) (\w+)", judge)
    if library is not None:
        return library[1]
    programs = (command.split()[0].rpartition("/")[2] for command in re.split(r"&&|;", judge))
    return next(program for program in programs if program not in ("cp", "(printf"))


def examine(schemas: dict[str, Path], name: str, case: Case) -> Result:
    """Make, read, write back, edit and judge one format."""
    result = Result(name, judge=tool(case.judge))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        file = folder / f"sample.{case.suffix}"
        try:
            case.make(file)
        except NotInstalled as error:
            result.back, result.edits = "not run", {str(error): "not run"}
            return result
        except subprocess.SubprocessError as error:
            result.back = f"not run: the sample cannot be made: {error}"
            return result
        data = file.read_bytes()
        result.size = len(data)
        first = accepted(case, file, "")
        if first != "accepted":
            result.back = f"not run: the judge refuses the sample: {first}"
            return result
        try:
            module = modules(schemas, name, folder)
            kind = getattr(module, case.kind or camel(name.rpartition("/")[2]))
            back = case.read(kind, data).to_bytes()
        except KodecError as error:
            result.back = f"refused: {error}"
            return result
        result.back = "same bytes" if back == data else "differs"
        for edit, (change, expect) in case.edits.items():
            read = case.read(kind, data)
            try:
                made = (change(module, read) or read).to_bytes()
            except KodecError as error:
                result.edits[edit] = f"refused: {type(error).__name__}: {error}"
                continue
            except Exception as error:
                result.edits[edit] = f"rejected: crash: {type(error).__name__}: {error}"
                continue
            try:
                case.read(kind, made)
            except KodecError as error:
                result.edits[edit] = f"rejected: cannot be read again: {error}"
                continue
            if made == data:
                result.edits[edit] = "rejected: nothing changed"
                continue
            edited = folder / f"edited.{case.suffix}"
            edited.write_bytes(made)
            result.edits[edit] = accepted(case, edited, expect)
    return result


def table(results: Iterable[Result]) -> str:
    """The verdicts as a Markdown table."""
    lines = [
        "| format | bytes | written back | accepted edits | other edits | tool |",
        "|---|--:|---|---|---|---|",
    ]
    for result in results:
        verdicts = {edit: verdict.partition(":")[0] for edit, verdict in result.edits.items()}
        cells = (
            f"`{result.name}`",
            f"{result.size:,}" if result.size else "",
            result.back.partition(":")[0],
            "; ".join(edit for edit, verdict in verdicts.items() if verdict == "accepted"),
            "; ".join(f"{edit}: {verdict}" for edit, verdict in verdicts.items() if verdict != "accepted"),
            f"`{result.judge}`",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--formats", default=URL.format("kaitai_struct_formats"))
    parser.add_argument("--table", type=Path, help="the page whose table is rewritten")
    parser.add_argument("names", nargs="*", help="only these schemas, by their path without .ksy")
    given = parser.parse_args(arguments)
    schemas = oracle.schemas(fetched(given.formats))
    results = []
    for name, case in sorted(CASES.items()):
        if given.names and name not in given.names:
            continue
        result = examine(schemas, name, case)
        results.append(result)
        print(f"{name}: {result.size} bytes, {result.back}", flush=True)
        for edit, verdict in result.edits.items():
            print(f"    {edit}: {verdict}", flush=True)
    ran = [each for each in results if not each.back.startswith("not run")]
    verdicts = [verdict.partition(":")[0] for each in ran for verdict in each.edits.values()]
    counts = {word: verdicts.count(word) for word in ("accepted", "refused", "rejected")}
    same = sum(each.back == "same bytes" for each in ran)
    whole = sum({*each.edits.values()} == {"accepted"} for each in ran)
    summary = (
        f"Measured {datetime.date.today()}: {len(ran)} of {len(results)} formats ran. {same} were written "
        f"back as the same bytes. Of {len(verdicts)} edits, {counts['accepted']} were accepted, "
        f"{counts['refused']} refused by name, {counts['rejected']} rejected. "
        f"In {whole} formats every edit was accepted."
    )
    print(summary)
    if given.table is not None:
        text = given.table.read_text("utf-8")
        head, rest = text.split(MARK)
        foot = rest.split(END)[1]
        given.table.write_text(f"{head}{MARK}\n{summary}\n\n{table(results)}\n{END}{foot}", "utf-8")
    return 0 if all(each.right for each in ran) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
