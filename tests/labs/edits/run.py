"""Real files of formats of the Kaitai gallery: read, written back, edited, and judged by independent tools.

    python -m tests.labs.edits.run [--formats PATH_OR_URL] [NAME...]

The gallery stays outside. Samples come from other people's tools, and so do the verdicts: an edited file is
accepted where the tool that judges takes it, and shows what the edit put there. Each file is also read by
ksc's classes, whose members must have the same values in ours, and edited by those that write (`peer.py`).
A format whose tools are not installed is listed as not run. EDITS_PYTHON is a Python that has the packages
which judge.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from kodec.generator.driver import render_all
from kodec.generator.schema.overlay import BUNDLED, SUFFIX
from kodec.generator.targets.python.names import camel
from kodec.runtime.errors import KodecError
from tests.foreign.compare import Reader
from tests.foreign.run import URL, closure, copy_closure, fetched
from tests.ksc import oracle
from tests.labs.edits.case import Case, Edit, NotInstalled
from tests.labs.edits.cases import CASES
from tests.labs.edits.peer import Peer, stock_class

SECONDS = 30
PATIENCE = 600
MOST_VALUES = 2_000_000


@dataclass
class Result:
    """What came of one format: how it was read and written back, and the verdict on each edit.

    `values` is the number of values that ksc's reader has too, or what came of the comparison. The `peer` is
    ksc's code that writes.
    """

    name: str
    size: int = 0
    values: str = ""
    back: str = ""
    judge: str = ""
    edits: dict[str, str] = field(default_factory=dict)
    peer_back: str = ""
    peer: dict[str, str] = field(default_factory=dict)

    @property
    def right(self) -> bool:
        """Whether every file was accepted or refused by name, and none was wrong."""
        wrong = any(verdict.startswith("rejected") for verdict in self.edits.values())
        return (
            not self.back.startswith(("differs", "crash"))
            and not wrong
            and not self.values.startswith(("wrong", "crash"))
        )


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
    try:
        done = subprocess.run(
            case.judge.replace("{}", str(file)),
            shell=True,
            capture_output=True,
            cwd=file.parent,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"rejected: the tool takes longer than {SECONDS} s"
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


def compared(case: Case, kind: Any, schemas: dict[str, Path], name: str, data: bytes, folder: Path) -> str:
    """All members of ksc's objects of a file, instances too, against ours: how many are equal."""
    copy_closure(schemas, name, folder / "in")
    failures = oracle.compile_schemas(folder / "out", ("python",), folder / "in")
    if failures:
        return f"ksc refuses: {failures[0].error[:80]}"
    try:
        theirs = stock_class(folder / "out" / "python", str(oracle.load_yaml(schemas[name])["meta"]["id"]))
        for part in case.path:
            theirs = getattr(theirs, part)
    except Exception as error:  # whatever ksc's module raises
        return f"ksc refuses: its module: {type(error).__name__}: {error}"
    found = Reader(kind, theirs, case.arguments).judge(data, MOST_VALUES)
    if found.verdict == "agree" and found.both is None:
        apart = "".join(f"; {note.side}: {note.member}: {note.why}" for note in found.notes)
        return f"{found.values:,}{' or more' * (found.values >= MOST_VALUES)}{apart}"
    return f"{found.verdict}: {found.both.member if found.both is not None else found.reason}"


def alone(schemas: dict[str, Path], name: str) -> Result:
    """`examine` in a process of its own, which is ended where it takes too long."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        try:
            return pool.apply_async(examine, (schemas, name)).get(PATIENCE)
        except multiprocessing.TimeoutError:
            return Result(name, back=f"not run: longer than {PATIENCE} s")
        except Exception as error:  # of ours: it counts as wrong
            return Result(name, back=f"crash: {type(error).__name__}: {error}")


def examine(schemas: dict[str, Path], name: str) -> Result:
    """Make, read, compare, write back, edit and judge one format, with kodec's classes and ksc's."""
    case = CASES[name]
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
        module = modules(schemas, name, folder)
        kind = getattr(module, case.kind or camel(name.rpartition("/")[2]))
        result.values = compared(case, kind, schemas, name, data, folder / "stock")
        peer = None
        try:
            peer = Peer(schemas, name, folder / "ksc") if not case.path else None
            result.peer_back = "an inner type"
            if peer is not None:
                written = peer.write(peer.read(data, case.arguments), len(data))
                result.peer_back = "same bytes" if written == data else "differs"
        except Exception as error:  # whatever their classes raise
            result.peer_back = f"{named(error)}: {error}"[:160]
        try:
            back = case.read(kind, data).to_bytes()
            result.back = "same bytes" if back == data else "differs"
        except KodecError as error:
            result.back = f"refused: {error}"
        edited = folder / f"edited.{case.suffix}"
        for edit, (change, expect) in case.edits.items():
            made = b""
            try:
                made = our_edit(case, kind, module, data, change)
                edited.write_bytes(made)
                result.edits[edit] = accepted(case, edited, expect)
            except KodecError as error:
                result.edits[edit] = f"refused: {type(error).__name__}: {error}"
            except Exception as error:
                result.edits[edit] = f"rejected: {type(error).__name__}: {error}"
            try:
                if peer is None:
                    raise ValueError("cannot be read")
                theirs = peer.edited(data, case.arguments, change, len(made) or len(data))
            except Exception as error:  # whatever their classes raise
                said = "cannot be read" if peer is None else f"{named(error)}: {error}"
                result.peer[edit] = said[:160]
                continue
            edited.write_bytes(theirs)
            verdict = result.edits[edit] if theirs == made else accepted(case, edited, expect)
            result.peer[edit] = "rejected: nothing changed" if theirs == data else verdict
    return result


def named(error: Exception) -> str:
    """The class of an error, by which a reader knows it."""
    found = type(error).__name__
    return f"{type(error).__module__}.{found}" if found == "error" else found


def our_edit(case: Case, kind: Any, module: ModuleType, data: bytes, change: Edit) -> bytes:
    """The bytes of an edited object.

    Raises: KodecError where the writer refuses; ValueError where they are wrong.
    """
    read = case.read(kind, data)
    made: bytes = (change(module, read) or read).to_bytes()
    try:
        case.read(kind, made)
    except KodecError as error:
        raise ValueError(f"cannot be read again: {error}") from error
    if made == data:
        raise ValueError("nothing changed")
    return made


def peer_summary(results: list[Result]) -> str:
    """How many files and edits of both are right."""
    edits = [(each.edits[edit], each.peer[edit]) for each in results for edit in each.peer]
    backs = [(each.back, each.peer_back) for each in results]
    same = [sum(pair[which] == "same bytes" for pair in backs) for which in (0, 1)]
    done = [sum(pair[which] == "accepted" for pair in edits) for which in (0, 1)]
    return (
        f"{len(results)} formats: kodec wrote {same[0]} back as the same bytes, ksc's classes {same[1]}. "
        f"Of {len(edits)} edits, {done[0]} of kodec's files were accepted and {done[1]} of ksc's."
    )


def summary_of(results: list[Result], ran: list[Result]) -> str:
    verdicts = [verdict.partition(":")[0] for each in ran for verdict in each.edits.values()]
    counts = {word: verdicts.count(word) for word in ("accepted", "refused", "rejected")}
    same = sum(each.back == "same bytes" for each in ran)
    whole = sum({*each.edits.values()} == {"accepted"} for each in ran)
    walked = [each.values.partition(";")[0].removesuffix(" or more").replace(",", "") for each in ran]
    equal = [int(each) for each in walked if each.isdigit()]
    wrong = sum(each.values.startswith(("wrong", "crash", "stricter")) for each in ran)
    return (
        f"{len(ran)} of {len(results)} formats ran. In {len(equal)}, all {sum(equal):,} values that ksc's "
        f"reader has, instances too, are equal; in {wrong} one is wrong or missing; "
        f"of {len(ran) - len(equal) - wrong} ksc's reader does not run. {same} were written "
        f"back as the same bytes. Of {len(verdicts)} edits, {counts['accepted']} were accepted, "
        f"{counts['refused']} refused by name, {counts['rejected']} rejected. "
        f"In {whole} formats every edit was accepted."
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--formats", default=URL.format("kaitai_struct_formats"))
    parser.add_argument("names", nargs="*", help="only these schemas, by their path without .ksy")
    given = parser.parse_args(arguments)
    schemas = oracle.schemas(fetched(given.formats))
    results = []
    for name in sorted(CASES):
        if given.names and name not in given.names:
            continue
        result = alone(schemas, name)
        results.append(result)
        print(
            f"{name}: {result.size} bytes, {result.back} | {result.peer_back}; values: {result.values}",
            flush=True,
        )
        for edit, verdict in result.edits.items():
            print(f"    {edit}: {verdict} | {result.peer.get(edit)}", flush=True)
    ran = [each for each in results if not each.back.startswith("not run")]
    print(summary_of(results, ran))
    print(peer_summary(ran))
    return 0 if all(each.right for each in ran) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
