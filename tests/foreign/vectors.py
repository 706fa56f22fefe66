"""Vectors of every schema of the public Kaitai corpora, judged by the readers that stock ksc generates.

    python -m tests.foreign.vectors [--tests PATH_OR_URL] [--formats PATH_OR_URL] [--table FILE] [NAME...]

The plan makes the vectors and decides what they hold. ksc's Python reads the same bytes: what must be
accepted has the same values there, and what must be refused is refused there, or a rule of `compare.py`
explains why not.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import multiprocessing
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from kaitaistruct import KaitaiStream, KaitaiStruct

from kodec.generator.driver import load, render_all
from kodec.generator.problems import SchemaError
from kodec.generator.schema.model import Param
from kodec.generator.targets.python.names import ClassNames
from tests.foreign.compare import NoOracle, Reader, Twin, keeping, work
from tests.foreign.run import URL, Corpus, camel, copy_closure, corpus, fetched, put_table

__all__ = ["Result", "differences", "verdict"]

MARKS = "<!-- vectors -->\n", "<!-- end of vectors -->"


@dataclass
class Result:
    """What came of the vectors of one schema.

    Attributes:
        state: judged, refused (by the generator), none (no vectors), not judged (ksc has no reader).
        verdicts: how many vectors have the same values, are refused by both, differ by a rule, are wrong.
        types: how many types have vectors with values.
        without: why types have none.
    """

    corpus: str
    name: str
    state: str = "judged"
    verdicts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    types: int = 0
    without: list[str] = field(default_factory=list)


def verdict(vector: dict[str, Any], reader: Reader) -> str:
    """What ksc's reader makes of a vector's bytes, compared with the vector."""
    data = bytes.fromhex(vector["bytes"])
    same = "same values"
    try:
        try:
            theirs = reader.read_theirs(data)
        except UnicodeDecodeError:
            # everything else has to be equal
            with keeping():
                theirs = reader.read_theirs(data)
            same = "laxer"
    except Exception as error:
        if vector["must"] == "refuse":
            return "both refuse"
        return _by_rule(reader, data) or f"wrong: ksc refuses: {type(error).__name__}: {error}"
    if getattr(theirs, "_is_le", True) is None:
        # ksc reads nothing of a type whose byte order is that of the type around it
        return "laxer"
    if vector["must"] == "refuse":
        return _by_rule(reader, data) or f"wrong: ksc reads what must be refused: {vector['error']}"
    with keeping():
        found = next(differences(vector["value"], theirs, ""), None) or _instances(vector, theirs)
    return same if found is None else _by_rule(reader, data) or f"wrong: {found}"


def _instances(vector: dict[str, Any], theirs: Any) -> str | None:
    """Where an instance of ksc's object differs from a vector's, or only one of both refuses it."""
    for path, named in vector.get("instances", {}).items():
        owner = theirs
        try:
            for step, index in re.findall(r"(\w+)|\[(\d+)\]", path):
                owner = owner[int(index)] if index else getattr(owner, step)
        except Exception as error:
            return f"{path}: ksc has no such object: {type(error).__name__}: {error}"
        for name, wanted in named.items():
            try:
                with work.bounded():
                    found = getattr(owner, name)
            except Exception as error:
                if "value" in wanted:
                    return f"{path}.{name}: ksc refuses: {type(error).__name__}: {error}"
                continue
            if "value" not in wanted:
                return f"{path}.{name}: {wanted}, ksc has {found!r:.60}"
            different = next(differences(wanted["value"], found, f"{path}.{name}"), None)
            if different is not None:
                return different
    return None


def _by_rule(reader: Reader, data: bytes) -> str:
    """The side on which a rule of the comparison explains a difference; "" if none does."""
    found = reader.judge(data)
    if found.verdict == "agree" and found.notes:
        return found.notes[0].side
    return found.verdict if found.verdict in ("stricter", "laxer") else ""


def differences(value: Any, theirs: Any, path: str) -> Iterator[str]:
    """Where ksc's object differs from a vector's value; a field that it lacks is absent."""
    if isinstance(theirs, Enum):
        theirs = theirs.value
    if isinstance(value, dict) and isinstance(theirs, KaitaiStruct):
        for name, each in value.items():
            yield from differences(each, getattr(theirs, name, None), f"{path}.{name}")
        # a vector has no parameters
        given = type(theirs).__init__.__code__.co_varnames
        for name in vars(theirs):
            own = (name[0] != "_" or name.startswith("_unnamed")) and name not in given
            if own and name.rstrip("_") not in value:
                yield f"{path}.{name}: ksc has it"
    elif isinstance(value, list) and isinstance(theirs, (list, bytes)):
        # ksc omits elements of a switch that has no case
        kept = value if len(value) == len(theirs) else [each for each in value if each is not None]
        if len(kept) != len(theirs):
            yield f"{path}: {len(value)} elements, ksc has {len(theirs)}"
        for index, (one, other) in enumerate(zip(kept, theirs, strict=False)):
            yield from differences(one, other, f"{path}[{index}]")
    elif isinstance(value, dict) and isinstance(theirs, str):
        if value != {"raw": theirs.encode("utf-8", "surrogateescape").hex()}:
            yield f"{path}: {value}, ksc has {theirs!r}"
    elif isinstance(theirs, bytes):
        if value != theirs.hex():
            yield f"{path}: {value}, ksc has {theirs.hex()}"
    elif isinstance(theirs, float) and not isinstance(value, dict):
        number = float(value) if value is not None else 0.5
        if number != theirs and not (math.isnan(number) and math.isnan(theirs)):
            yield f"{path}: {value}, ksc has {theirs}"
    elif isinstance(theirs, int) and not isinstance(theirs, bool) and isinstance(value, str):
        if value != str(theirs):
            yield f"{path}: {value}, ksc has {theirs}"
    elif value != theirs or isinstance(value, bool) != isinstance(theirs, bool):
        yield f"{path}: {value!r}, ksc has {theirs!r}"


def examine(corpus: Corpus, name: str) -> Result:
    """Make the vectors of a schema, and have ksc's readers read them."""
    result = Result(corpus.name, name)
    if name in corpus.refused:
        return Result(corpus.name, name, "not judged")
    with tempfile.TemporaryDirectory() as folder:
        schemas, package = Path(folder) / "schemas", Path(folder) / "package"
        copy_closure(corpus.files, name, schemas)
        try:
            targets = ("python", "vectors")
            made = render_all(schemas, targets=targets, streams=True, formatted=False).modules
        except SchemaError:
            return Result(corpus.name, name, "refused")
        for path, text in made.items():
            place = package / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, "utf-8")
        document = json.loads(made.get(f"{name}.vectors.json", '{"vectors": [], "without": {}}'))
        result.without = list(document["without"].values())
        result.types = len({each["type"] for each in document["vectors"] if each["must"] == "accept"})
        if not document["vectors"]:
            result.state = "none"
            return result
        model = load(schemas, streams=True)
        classes = ClassNames(model).classes
        ident = document["schema"]
        try:
            reader = Reader.load(package, name.replace("/", "."), classes[ident], corpus.ksc, ident)
        except (NoOracle, ImportError):
            result.state = "not judged"
            return result
        ours = importlib.import_module(reader.ours.__module__)
        readers: dict[str, Reader] = {}
        for each in document["vectors"]:
            if "bytes" not in each:
                continue  # a value that cannot be written, and ksc's readers only read
            kind, given = each["type"], each.get("arguments", {})
            params = {param.id: param for param in model.struct(kind).params}
            if kind not in readers:
                theirs: Any = reader.theirs
                for part in kind.split("::")[1:]:
                    theirs = getattr(theirs, "".join(word.capitalize() for word in part.split("_")))
                readers[kind] = Reader(getattr(ours, classes[kind]), theirs)
            readers[kind].arguments = {name: _argument(params[name], value) for name, value in given.items()}
            said = verdict(each, readers[kind])
            result.verdicts[said.partition(":")[0]] += 1
            result.wrong += [f"{each['id']}: {said}"] if said.startswith("wrong") else []
    return result


def _argument(param: Param, value: Any) -> Any:
    """An argument of a vector; for one of an enum ksc's Python wants a member of its own class."""
    if param.enum is None:
        return bytes.fromhex(value) if param.type == "bytes" else value
    schema, *path = param.enum.split("::")
    kind: Any = importlib.import_module(schema)
    for part in (schema, *path):
        kind = getattr(kind, camel(part))
    return Twin(value, KaitaiStream.resolve_enum(kind, value))


def table(results: list[Result]) -> str:
    """The count as a Markdown table."""
    head = ("corpus", "schemas with vectors", "types with vectors", "vectors", "same values", "both refuse",
            "stricter", "laxer", "wrong")  # fmt: skip
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name in dict.fromkeys(each.corpus for each in results):
        own = [each for each in results if each.corpus == name]
        count = sum((each.verdicts for each in own), Counter[str]())
        kinds = ("same values", "both refuse", "stricter", "laxer", "wrong")
        cells = [sum(each.types > 0 for each in own), sum(each.types for each in own), count.total()]
        lines.append(f"| {' | '.join(map(str, [name, *cells, *(count[kind] for kind in kinds)]))} |")
    lines += ["", "| types without vectors | tests | gallery |", "|---|---|---|"]
    reasons = {name: Counter(why.partition("`")[0].strip() for each in results if each.corpus == name
                             for why in each.without) for name in ("tests", "gallery")}  # fmt: skip
    for why in sorted({why for each in reasons.values() for why in each}):
        lines.append(f"| {why} | {reasons['tests'][why]} | {reasons['gallery'][why]} |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tests", default=URL.format("kaitai_struct_tests"))
    parser.add_argument("--formats", default=URL.format("kaitai_struct_formats"))
    parser.add_argument("--table", type=Path, help="the page whose table is rewritten")
    parser.add_argument("names", nargs="*", help="only these schemas, by their path without .ksy")
    given = parser.parse_args(arguments)
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        tests, formats = fetched(given.tests), fetched(given.formats)
        corpora = (
            corpus("tests", tests, tests / "formats", Path(scratch)),
            corpus("gallery", formats, formats, Path(scratch)),
        )
        jobs = [(each, name) for each in corpora for name in each.files
                if not given.names or name in given.names]  # fmt: skip
        # a process for each: modules of both corpora have the same names
        with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
            for result in pool.starmap(examine, jobs, chunksize=1):
                results.append(result)
                for line in result.wrong[:5]:
                    print(f"{result.corpus} {result.name}: {line}"[:400], flush=True)
    print(table(results))
    print(dict(Counter(f"{each.corpus}: {each.state}" for each in results)))
    if given.table is not None:
        put_table(given.table, MARKS, table(results))
    return 1 if any(result.wrong for result in results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
