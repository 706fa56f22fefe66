"""Every schema of the public Kaitai corpora, read by stock ksc and by ours: `make foreign`.

    python -m tests.foreign.run [--tests PATH_OR_URL] [--formats PATH_OR_URL] [--real] [--table FILE]
        [NAME...]

The corpora are the repositories kaitai_struct_tests and kaitai_struct_formats of the Kaitai project: folders,
or URLs that git can clone. They stay outside. A schema is taken, or refused by name; one that is taken is
read from the test's own bytes and from bytes that a search finds (with `--real` from files that other tools
make, too), also cut and changed, and is written back. So are types that can be read alone. How many of the
members that schemas declare were compared is counted.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import multiprocessing
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import yaml
from kaitaistruct import KaitaiStream

from kodec.generator import passes
from kodec.generator.code.machine import Code
from kodec.generator.driver import load, render_all
from kodec.generator.plan.streams import streams_of
from kodec.generator.problems import SchemaError
from kodec.generator.schema.expression_types import Kinds
from kodec.generator.schema.model import Model, Param, Schema
from kodec.generator.targets.python.names import ClassNames
from kodec.generator.targets.vectors.streams import _OfSchema, _Parts, _Writing
from kodec.runtime.process import register
from kodec.runtime.streams import StreamNode
from tests.foreign.compare import NoOracle, Note, Reader, Tally, Twin, judge, mended, work
from tests.ksc import oracle

CACHE = oracle.CACHE / "foreign"
URL = "https://github.com/kaitai-io/{}.git"
GIB = 1 << 30
EXCEPTIONS = Path(__file__).parent / "exceptions.yaml"
SEARCHED = 3
# what an object is read from that is an argument
BEHIND = b"\4\0\0\0\7\0\0\0"
# what the parameters of an outermost type are given
ARGUMENTS: dict[str, Any] = {"bool": True, "b1": True, "str": "ab", "bytes": b"ab"}


@dataclass(frozen=True)
class Bounds:
    """How much is done for one schema.

    Attributes:
        work: for a schema, counted as `compare.work` does.
        work_of_type: for a type of one.
        seconds: until its process is ended.
        memory: bytes that its process may have.
        edits: how many fields are changed in each whole input.
    """

    work: int = 5_000_000
    work_of_type: int = 500_000
    seconds: float = 600
    memory: int = 4 * GIB
    edits: int = 0


@dataclass
class Result:
    """What came of one schema: taken, refused, crash (of the generator or of a reader) or wrong.

    Attributes:
        work: as `compare.work` counts it.
        early: how many comparisons ended before the last input, as there was too much work (of the
            schema, as chosen and as streams, or of a type of it); and one if the search for bytes did.
        edited: what came of writing changed objects.
    """

    corpus: str
    name: str
    verdict: str
    reasons: list[str] = field(default_factory=list)
    inputs: dict[str, int] = field(default_factory=dict)
    back: dict[str, int] = field(default_factory=dict)
    edited: dict[str, int] = field(default_factory=dict)
    values: int = 0
    work: int = 0
    early: int = 0
    members: list[str] = field(default_factory=list)
    declared: list[str] = field(default_factory=list)
    notes: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Corpus:
    """Schemas by their path without .ksy, ksc's readers, and the bytes of tests.

    Attributes:
        listed: whether `exceptions.yaml` has to list what a rule explains.
    """

    name: str
    files: dict[str, Path]
    ksc: Path
    refused: dict[str, str] = field(default_factory=dict)
    samples: dict[str, Path] = field(default_factory=dict)
    real: bool = False
    listed: bool = True
    bounds: Bounds = Bounds()


def fetched(source: str) -> Path:
    """The folder of a corpus. Raises: CalledProcessError if git cannot have it."""
    if Path(source).is_dir():
        return Path(source)
    place = CACHE / source.rstrip("/").rpartition("/")[2].removesuffix(".git")
    if not place.is_dir():
        subprocess.run(["git", "clone", "--depth", "1", source, str(place)], check=True)
    return place


def corpus(name: str, root: Path, schemas: Path, scratch: Path, *, real: bool = False) -> Corpus:
    out = scratch / f"ksc-{name}"
    refused = {each.schema: each.error for each in oracle.compile_schemas(out, ("python",), schemas)}
    mended(out / "python")
    samples: dict[str, Path] = {}
    for path in (root / "spec" / "ks").glob("*.kst"):
        data = yaml.safe_load(path.read_text("utf-8").split("asserts:")[0]).get("data")
        if data and (root / "src" / data).is_file():
            samples[path.stem] = root / "src" / data
    processes(root / "spec" / "python" / "extra")
    return Corpus(name, oracle.schemas(schemas), out / "python", refused, samples, real and name == "gallery")


def processes(folder: Path) -> None:
    """Have both sides use the processes of the tests, which are classes of the corpus."""
    if not folder.is_dir():
        return
    sys.path.append(str(folder))
    for path in folder.rglob("*.py"):
        module = ".".join(path.relative_to(folder).with_suffix("").parts)
        for name, kind in vars(importlib.import_module(module)).items():
            if isinstance(kind, type):
                words = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
                # by a name alone, it is in a module of this name
                spelled = words if words == module else f"{module}.{words}"
                register(
                    spelled,
                    decode=lambda data, *given, kind=kind: kind(*given).decode(data),
                    encode=lambda data, *given, kind=kind: kind(*given).encode(data),
                )


def exceptions() -> set[tuple[str, Note]]:
    """The members that are known to differ, by schema (`gallery/image/png`)."""
    groups = yaml.safe_load(EXCEPTIONS.read_text("utf-8"))
    return {
        (schema, Note(group["side"], member, group["why"]))
        for group in groups
        for schema, members in group["cases"].items()
        for member in members
    }


def as_exceptions(results: list[Result]) -> str:
    """All that rules explain in `results`, as `exceptions.yaml` lists it; to be read before it is kept."""
    groups: dict[tuple[str, str], dict[str, list[str]]] = {}
    for result in results:
        for side, member, why in sorted(result.notes):
            cases = groups.setdefault((side, why), {})
            cases.setdefault(f"{result.corpus}/{result.name}", []).append(member)
    lines = [
        {"side": side, "why": why, "cases": dict(sorted(cases.items()))}
        for (side, why), cases in sorted(groups.items())
    ]
    return str(yaml.safe_dump(lines, sort_keys=False, width=110, default_flow_style=None))


def arguments(tree: dict[str, Any], twin: Callable[[str], Twin]) -> dict[str, Any]:
    """Something for each parameter of the outermost type; `twin` gives an object of an imported type."""
    found: dict[str, Any] = {}
    imports = [path.rpartition("/")[2] for path in tree["meta"].get("imports") or []]
    for param in tree.get("params") or []:
        kind = str(param.get("type", "bytes"))
        number = kind[0] in "usbf" and kind[1:2].isdigit()
        if kind in ARGUMENTS or number:
            found[param["id"]] = ARGUMENTS.get(kind, 2)
        else:
            # what a `struct` is used as, is imported
            each = twin(imports[0] if kind == "struct" else kind.removesuffix("[]"))
            found[param["id"]] = [each, each] if kind.endswith("[]") else each
    return found


def declared(tree: dict[str, Any], path: str = "") -> Iterator[str]:
    """The fields, parameters and instances of a schema's types, by ksc's class."""
    path = path or camel(str(tree["meta"]["id"]))
    names = [str(each.get("id", f"_unnamed{index}")) for index, each in enumerate(tree.get("seq") or [])]
    names += [str(each["id"]) for each in tree.get("params") or []]
    yield from (f"{path}.{name}" for name in (*names, *(tree.get("instances") or ())))
    for name, inner in (tree.get("types") or {}).items():
        yield from declared(inner, f"{path}.{camel(name)}")


def camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def files_of(corpus: Corpus, name: str) -> list[bytes]:
    """A file that another tool makes, if it is asked for, and there."""
    # these have tests of their own, and need this module
    from tests.labs.edits.case import NotInstalled
    from tests.labs.edits.cases import CASES

    case = CASES.get(name) if corpus.real else None
    if case is None or case.kind is not None or case.arguments:
        return []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"sample.{case.suffix}"
        try:
            case.make(file)
        except (NotInstalled, subprocess.SubprocessError):
            return []
        return [file.read_bytes()]


Searched = dict[str, list[tuple[dict[str, Any], bytes]]]
"""Arguments and bytes of types."""


def searched(model: Model, ident: str, *, inner: bool = True) -> tuple[Searched, bool]:
    """What the outermost type can be read from, and all `inner` ones, so that most of their parts occur; and
    whether the search for it ended early, as it took too many steps.
    """
    kinds = Kinds(model)
    program = streams_of(model, kinds)
    code = Code(program)
    schema = next(each for each in model.schemas if each.id == ident)
    search = _OfSchema(model, kinds, code, schema, _Writing(program))
    structs = schema.structs if inner else (schema.root,)
    samples = [each for struct in structs for each in search._samples(struct)]
    every = {struct.name for each in model.schemas for struct in each.structs}
    samples += _Parts(model, code, every, search.budget).search(samples)
    found: Searched = {}
    for each in samples:
        found.setdefault(each.unit.name, []).append((dict(each.arguments), each.data))
    return found, search.budget.ended_early


def argument(param: Param, value: Any) -> Any:
    """An argument of a type; for one of an enum ksc's Python wants a member of its own class."""
    if param.enum is None:
        return value
    schema, *path = param.enum.split("::")
    kind: Any = importlib.import_module(schema)
    for part in (schema, *path):
        kind = getattr(kind, camel(part))
    return Twin(value, KaitaiStream.resolve_enum(kind, value))


def closure(files: dict[str, Path], name: str) -> list[str]:
    """The schema and all that it imports."""
    found: list[str] = []
    todo = [name]
    while todo:
        each = todo.pop()
        if each in found or each not in files:
            continue
        found.append(each)
        meta = oracle.load_yaml(files[each]).get("meta") or {}
        imports = meta.get("imports") or []
        for path in [imports] if isinstance(imports, str) else imports:
            joined = posixpath.normpath(posixpath.join(posixpath.dirname(each), path))
            todo.append(path[1:] if path.startswith("/") else joined)
        if meta.get("ks-opaque-types"):
            words = set(re.findall(r"[a-z][a-z0-9_]*", files[each].read_text("utf-8")))
            todo += sorted(words & {*files} - {*found})
    return found


def copy_closure(files: dict[str, Path], name: str, folder: Path) -> list[str]:
    """Copy a schema and all that it imports into a folder; their names."""
    names = closure(files, name)
    for each in names:
        place = folder / f"{each}.ksy"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(files[each], place)
    return names


def examine(corpus: Corpus, name: str, *, quick: bool, seed: str = "") -> Result:
    """Generate and compare one schema, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        schemas = Path(folder) / "schemas"
        copy_closure(corpus.files, name, schemas)
        tree = oracle.load_yaml(corpus.files[name])
        ident = str(tree["meta"]["id"])
        sample = corpus.samples.get(posixpath.basename(name))
        data = None if sample is None else sample.read_bytes()
        result = Result(corpus.name, name, "taken", declared=sorted(declared(tree)))
        found: Searched = {}
        others = files_of(corpus, name)
        module = Schema(ident, f"{name}.ksy", "").module.replace("/", ".")
        # layouts are compared in streams too
        for package in (Path(folder) / "as_chosen", Path(folder) / "as_streams"):
            try:
                classes = written(schemas, package)
            except SchemaError as error:
                return Result(corpus.name, name, "refused", [str(each) for each in error.problems[:3]])
            except Exception as error:
                return Result(corpus.name, name, "crash", [f"generator: {type(error).__name__}: {error}"])

            def twin(ident: str, package: Path = package) -> Twin:
                path = next(each for each in corpus.files if each.rpartition("/")[2] == ident)
                place = Schema(ident, f"{path}.ksy", "").module.replace("/", ".")
                found = Reader.load(package, place, camel(ident), corpus.ksc, ident)
                return Twin(found.read_ours(BEHIND), found.read_theirs(BEHIND))

            try:
                given = arguments(tree, twin)
                reader = Reader.load(package, module, classes[ident], corpus.ksc, ident, given)
            except NoOracle as error:
                return Result(corpus.name, name, "unmeasured", [str(error)])
            except Exception as error:
                return Result(corpus.name, name, "crash", [f"import: {type(error).__name__}: {error}"])
            if package.name == "as_chosen" and not quick:
                model = load(schemas, streams=True)
                found, ended_early = searched(model, ident)
                result.early += ended_early
                others += [each for arguments, each in found.pop(ident, []) if not arguments]
            work_of_it = 0 if quick else corpus.bounds.work
            found_of_it = judge(reader, data, f"{name}{seed}", work_of_it, others, edits=corpus.bounds.edits)
            add(result, found_of_it, listed=corpus.listed)
            if issubclass(reader.ours, StreamNode):
                break
        for kind, given in found.items():
            inside = _type(model, kind, reader, given, f"{name}{seed}", corpus.bounds)
            add(result, inside, listed=corpus.listed)
        return result


def _type(
    model: Model,
    kind: str,
    outer: Reader,
    given: list[tuple[dict[str, Any], bytes]],
    seed: str,
    bounds: Bounds,
) -> Tally:
    """A type that can be read alone, but for one that has the byte order of what is around it."""
    params = {param.id: param for param in model.struct(kind).params}
    theirs = outer.theirs
    for part in kind.split("::")[1:]:
        theirs = getattr(theirs, camel(part))
    ours = getattr(sys.modules[outer.ours.__module__], ClassNames(model).classes[kind])
    tally = Tally()
    if "_is_le" in theirs.__init__.__code__.co_varnames:
        return tally
    for values, data in given[:SEARCHED]:
        named = {name: argument(params[name], value) for name, value in values.items()}
        tally += judge(
            Reader(ours, theirs, named),
            None,
            f"{seed}{kind}",
            bounds.work_of_type,
            [data],
            inner=True,
            edits=bounds.edits,
        )
    return tally


def written(schemas: Path, package: Path) -> dict[str, str]:
    """Write our modules of a folder of schemas; the class of each type. Raises: SchemaError."""
    chosen = passes.prefers_streams
    if package.name == "as_streams":
        passes.prefers_streams = lambda schemas: True
    try:
        output = render_all(schemas, targets=("python",), formatted=False)
    finally:
        passes.prefers_streams = chosen
    for path, text in output.modules.items():
        place = package / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
    return ClassNames(output.model).classes


def add(result: Result, found: Tally, *, listed: bool = True) -> None:
    """Put what `judge` found to a schema's result; if `listed`, what no exception lists is wrong."""
    verdicts, back = found.verdicts, found.back
    known = exceptions() if listed else set()
    unknown = [
        note
        for note in sorted(found.notes)
        if listed and (f"{result.corpus}/{result.name}", note) not in known
    ]
    result.inputs = dict(Counter(result.inputs) + verdicts)
    result.back = dict(Counter(result.back) + back)
    result.edited = dict(Counter(result.edited) + found.edited)
    result.values += found.values
    result.work = work.done
    result.early += found.verdicts["ended early"]
    result.members = sorted({*result.members, *found.members})
    result.notes = sorted({*result.notes, *((note.side, note.member, note.why) for note in found.notes)})
    result.reasons += found.reasons
    result.reasons += [f"not listed: {note.side}: {note.member}: {note.why}" for note in unknown]
    if verdicts["crash"] or back["crash"] or found.edited["crash"]:
        result.verdict = "crash"
    elif (verdicts["wrong"] or unknown) and result.verdict != "crash":
        result.verdict = "wrong"


def alone(corpus: Corpus, name: str, *, quick: bool, seed: str = "") -> Result:
    """`examine` in a process of its own, which is ended where it takes too long."""
    if name in corpus.refused:
        return Result(corpus.name, name, "ksc refuses", [corpus.refused[name].strip()[:200]])
    found, why = apart(partial(examine, corpus, name, quick=quick, seed=seed), corpus.bounds)
    return found if why is None else Result(corpus.name, name, "crash", [why])


def apart(call: Callable[[], Any], bounds: Bounds) -> tuple[Any, str | None]:
    """What a call returns in a process of its own, or None and why there is nothing of it."""
    mine, other = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_send, args=(other, call, bounds.memory))
    process.start()
    other.close()
    try:
        late = not mine.poll(bounds.seconds)
        found, why = (None, f"longer than {bounds.seconds:g} s") if late else mine.recv()
    except EOFError:
        found, why = None, "its process ended"
    process.kill()
    process.join()
    return found, why


def _send(pipe: Connection, call: Callable[[], Any], memory: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    try:
        found, why = call(), None
    except MemoryError:
        found, why = None, f"more than {memory / GIB:g} GiB"
    except Exception as error:
        found, why = None, f"{type(error).__name__}: {error}"
    pipe.send((found, why))


def table(results: list[Result]) -> str:
    """The count as a Markdown table."""
    lines = [
        "| corpus | schemas | supported | refused by name | wrong | crash | not measured | ksc refuses |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(result.corpus for result in results):
        own = [result for result in results if result.corpus == name]
        count = Counter(result.verdict for result in own)
        taken = count["taken"] + count["wrong"] + count["unmeasured"]
        cells = [name, len(own), taken, count["refused"], count["wrong"], count["crash"], count["unmeasured"]]
        lines.append(f"| {' | '.join(map(str, [*cells, count['ksc refuses']]))} |")
    lines += [
        "",
        "| inputs of supported schemas | same values | both refuse | stricter | laxer | wrong | cut short |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(result.corpus for result in results):
        total: Counter[str] = Counter()
        for result in results:
            total.update(result.inputs if result.corpus == name else {})
        cells = [total[kind] for kind in ("agree", "both refuse", "stricter", "laxer", "wrong", "cut short")]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    lines += ["", "| what schemas declare | members | compared | values compared | ended early |"]
    lines.append("|---|---|---|---|---|")
    for name in dict.fromkeys(result.corpus for result in results):
        own = [result for result in results if result.corpus == name]
        members = {each for result in own for each in result.declared}
        seen = members & {each for result in own for each in result.members}
        early = sum(each.early > 0 for each in own)
        values = sum(each.values for each in own)
        lines.append(f"| {name} | {len(members)} | {len(seen)} | {values} | {early} |")
    lines += ["", "| members listed as exceptions | stricter | laxer | both refuse |"]
    lines.append("|---|---|---|---|")
    for name in dict.fromkeys(result.corpus for result in results):
        notes = {(each.name, *note) for each in results if each.corpus == name for note in each.notes}
        sides = Counter(side for _, side, _, _ in notes)
        cells = [name, *(sides[side] for side in ("stricter", "laxer", "both"))]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += ["", "| written back | same bytes | same values | refused | differs |", "|---|---|---|---|---|"]
    for name in dict.fromkeys(result.corpus for result in results):
        total = Counter()
        for result in results:
            total.update(result.back if result.corpus == name else {})
        cells = [total[key] for key in ("same bytes", "same values", "refused", "differs")]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tests", default=URL.format("kaitai_struct_tests"))
    parser.add_argument("--formats", default=URL.format("kaitai_struct_formats"))
    parser.add_argument("--table", type=Path, help="the file whose table is rewritten")
    parser.add_argument("--quick", action="store_true", help="whole samples only")
    parser.add_argument("--seed", default="", help="for other changes of bytes")
    parser.add_argument("--real", action="store_true", help="also files of other tools (tests/labs/edits)")
    parser.add_argument("--corpus", choices=("tests", "gallery"), help="only this one")
    parser.add_argument("--exceptions", type=Path, help="a file for all differences that a rule explains")
    parser.add_argument("--part", default="1/1", help="one part of the schemas, as 2/3")
    parser.add_argument("--json", type=Path, help="a file for all that was found")
    parser.add_argument("names", nargs="*", help="only these schemas, by their path without .ksy")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        tests, formats = fetched(given.tests), fetched(given.formats)
        corpora = [
            corpus("tests", tests, tests / "formats", Path(scratch), real=given.real),
            corpus("gallery", formats, formats, Path(scratch), real=given.real),
        ]
        jobs = [
            (each, name)
            for each in corpora
            for name in each.files
            if (not given.names or name in given.names) and given.corpus in (None, each.name)
        ]
        part, parts = map(int, given.part.split("/"))
        jobs = jobs[part - 1 :: parts]
        results = []
        for index, (each, name) in enumerate(jobs):
            found = alone(each, name, quick=given.quick, seed=given.seed)
            results.append(found)
            if found.verdict not in ("taken", "ksc refuses"):
                print(f"{index + 1}/{len(jobs)} {found.corpus} {name}: {found.verdict}", flush=True)
            reasons = found.reasons if found.verdict != "ksc refuses" or given.names else ()
            for reason in dict.fromkeys(reasons):
                print(f"    {found.corpus}/{name}: {reason}", flush=True)
    print(table(results))
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(each) for each in results], indent=1) + "\n", "utf-8")
    if not (given.names or given.quick or given.corpus or parts > 1):
        seen = {(f"{each.corpus}/{each.name}", Note(*note)) for each in results for note in each.notes}
        for schema, note in sorted(exceptions() - seen):
            print(f"listed, but not seen: {schema}: {note.side}: {note.member}: {note.why}")
    if given.exceptions is not None:
        given.exceptions.write_text(as_exceptions(results), "utf-8")
    if given.table is not None:
        put_table(given.table, ("<!-- table -->\n", "<!-- end of table -->"), table(results))
    return 1 if any(result.verdict in ("wrong", "crash") for result in results) else 0


def put_table(place: Path, marks: tuple[str, str], text: str) -> None:
    """Put a table with today's date between the marks of a page."""
    head, mark, rest = place.read_text("utf-8").partition(marks[0])
    _, end, tail = rest.partition(marks[1])
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    place.write_text(f"{head}{mark}Measured {today}.\n\n{text}\n{end}{tail}", "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
