"""Columns of public schemas beside ksc's objects: `python -m tests.foreign.columns`.

    python -m tests.foreign.columns [--tests PATH] [--formats PATH] [--real] [--seed TEXT] [--quick]
        [SCHEMA...]

Every schema of both corpora is read as columns: the file as one row, and the rows of each list, flat and
nested, from the test's own bytes, bytes that a search finds, files of other tools (`--real`), and those of
`tests.foreign.objects`, also cut and changed. Three things are compared:

- the rows that the native reader fills with those from objects, with the error and the rows before it
- the nested row of the file with ksc's objects, of which every field must be in it
- the flat row with ksc's objects too, followed along the path of each column; and each instance of the
  outermost type as a column of its own
"""

from __future__ import annotations

import argparse
import importlib
import math
import multiprocessing
import random
import re
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from kaitaistruct import KaitaiStruct

import kodec
from kodec.runtime.errors import FormatError, KodecError
from kodec.runtime.fields import DEFAULT_READ
from tests.foreign import native_columns
from tests.foreign.compare import Reader, inputs, keeping, why_laxer
from tests.foreign.objects import FILES
from tests.foreign.run import URL, Corpus, camel, closure, corpus, fetched, files_of, searched
from tests.ksc import oracle

LARGEST = 100_000
SHORT = 4000
SECONDS = 40
# of rows, so that every one of them is in a batch
MOST_ROWS = 3000
Outcome = tuple[list[Any], str | None]


class _Differs(Exception):
    """Where, and how."""


class NoColumns(NamedTuple):
    """What is in ksc's objects, and in no column: what the reader says, and fixed bytes, by their class."""

    left: frozenset[str] = frozenset()
    fixed: frozenset[str] = frozenset()


def _fixed(corpus: Corpus, name: str) -> frozenset[str]:
    """The fields with `contents`, by their class."""
    found: set[str] = set()
    for each in closure(corpus.files, name):
        todo = [(str((tree := oracle.load_yaml(corpus.files[each]))["meta"]["id"]), tree)]
        while todo:
            ident, struct = todo.pop()
            fields = [spec for spec in struct.get("seq") or [] if "contents" in spec]
            found |= {f"{camel(ident)}.{spec.get('id')}" for spec in fields}
            todo += (struct.get("types") or {}).items()
    return frozenset(found)


def examine(
    corpus: Corpus, name: str, seed: str, quick: bool, seconds: float
) -> tuple[Counter[str], list[str]]:
    """Compare the columns of one schema, in this process."""
    count: Counter[str] = Counter()
    wrong: list[str] = []
    if name in corpus.refused:
        return Counter({"schemas that ksc refuses": 1}), []
    try:
        format = kodec.formats.load_schema(corpus.files[name])
        title = camel(str(oracle.load_yaml(corpus.files[name])["meta"]["id"]))
        ident = format.id
        if format._schema.root.params:
            return Counter({"schemas with parameters": 1}), []
        sys.path.insert(0, str(corpus.ksc))
        theirs = getattr(importlib.import_module(ident), title)
    except KodecError:
        return Counter({"schemas refused": 1}), []
    except Exception as error:  # whatever ksc's module raises
        return Counter({"schemas that ksc cannot read": 1}), [f"{type(error).__name__}: {error}"]
    reader, fixed = Reader(format._kind, theirs), _fixed(corpus, name)
    stop = time.process_time() + seconds
    for what, data in inputs(_bases(corpus, name, format, quick), f"{name}{seed}"):
        if quick and what != "whole":
            continue
        try:
            for rows in (".", *format.lists):
                for nested in (False, True):
                    _natively(format, rows, nested, data, count)
            _beside(format, reader, data, fixed, count)
        except _Differs as error:
            wrong.append(f"{what} bytes {data[:60].hex()}: {error}"[:600])
            count["inputs that differ"] += 1
            if len(wrong) > 3:
                break
        except KodecError as error:
            wrong.append(f"{what} bytes {data[:60].hex()}: {type(error).__name__}: {error}")
            break
        if time.process_time() > stop:
            count["schemas out of time"] += 1
            break
    count["schemas"] += 1
    return count, wrong


def _bases(corpus: Corpus, name: str, format: kodec.formats.Format, quick: bool) -> list[tuple[bytes, int]]:
    found: list[bytes] = []
    sample = corpus.samples.get(name.rpartition("/")[2])
    if sample is not None:
        found.append(sample.read_bytes())
    if name in FILES:
        found.append(FILES[name](random.Random(1))[:SHORT])
    found += files_of(corpus, name)
    if not (found and quick):
        found += [data for _, data in searched(format._model, format.id, inner=False)[0].get(format.id, ())]
    return [(each, 10, 20) if len(each) <= LARGEST else (each, 0, 0) for each in found]


# -- natively and from objects ----------------------------------------------------------------------------


def _natively(
    format: kodec.formats.Format, rows: str, nested: bool, data: bytes, count: Counter[str]
) -> None:
    form = f"{rows} {'nested' if nested else 'flat'}"
    try:
        plan: Any = format._planned(rows, None, None, nested, "names")
    except ValueError as error:
        count[f"not planned: {re.sub('`.*?`', '..', str(error))[:40]}"] += 1
        return
    scan = format.scan(data, rows, nested=nested)
    native = plan.filling.rows(data, DEFAULT_READ)
    if native is None:
        raise _Differs("there is no native reader")
    status, filled, *_ = native.run(1 << 20, 1 << 30)
    count[f"inputs {status} natively"] += 1
    count["rows filled natively"] += filled
    want, got = rows_or_error(lambda: native_columns._pure(format, plan, data)), rows_or_error(lambda: scan)
    if want != got:
        raise _Differs(f"{form}: {native_columns._difference(want, got)}")


def rows_or_error(read: Callable[[], Iterator[Any]]) -> Outcome:
    """The rows, and the error that ended them."""
    rows: list[Any] = []
    try:
        for batch in read():
            batch.validate(full=True)
            rows += batch.to_pylist()
            if len(rows) > MOST_ROWS:
                break
    except KodecError as error:
        return [_plain(each) for each in rows], f"{type(error).__name__}: {error}"
    return [_plain(each) for each in rows], None


def _plain(value: Any) -> Any:
    """A value that equals itself, and nothing that has other bits."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack(">d", value)
    return (bool, value) if isinstance(value, bool) else value


# -- beside ksc's objects ---------------------------------------------------------------------------------


def _beside(
    format: kodec.formats.Format, reader: Reader, data: bytes, fixed: frozenset[str], count: Counter[str]
) -> None:
    """The file as one row, beside ksc's object."""
    try:
        mine: Any = reader.read_ours(data)
    except FormatError as error:
        mine = error
    for nested in (True, False):
        try:
            scan = format.scan(data, ".", nested=nested)
        except ValueError:  # counted above
            continue
        rows, error = rows_or_error(lambda scan=scan: scan)
        if isinstance(mine, FormatError):
            # whether ksc refuses too is for `tests.foreign.run`
            if error is None:
                raise _Differs(f"read as a row, not as an object: {mine}")
            count["rows refused as objects are"] += 1
            continue
        if error is not None:
            if "does not fit a column" not in error:
                raise _Differs(f"read as an object, not as a row: {error}")
            count["values that do not fit"] += 1
            continue
        with keeping():
            try:
                theirs = reader.read_theirs(data)
            except Exception as error:  # whatever ksc's Python raises
                count[f"ksc refuses: {why_laxer(error, mine) or 'for tests.foreign.run'}"] += 1
                return
            if getattr(theirs, "_is_le", True) is None:
                return
            if nested:
                _members(rows[0], theirs, "", NoColumns(frozenset(scan.left_out), fixed), count)
                _instances(format, theirs, data, fixed, count)
            else:
                for path, value in rows[0].items() if list(rows[0]) != ["value"] else ():
                    if path not in scan.left_out:
                        _same(value, _followed(theirs, path.split(".")), path, count, NoColumns())
        count["rows beside ksc's objects"] += 1


def _members(row: dict[str, Any], theirs: Any, path: str, none: NoColumns, count: Counter[str]) -> None:
    """Every field of ksc's object is in a struct, and the struct has no other."""
    fields = {name.rstrip("_"): getattr(theirs, name) for name in _fields(theirs)}
    kind = type(theirs).__name__
    if row == {"value": (bool, True)} and all(f"{kind}.{name}" in none.fixed for name in fields):
        return  # a type without fields
    for name, found in fields.items():
        place = f"{path}.{name}".strip(".")
        if re.sub(r"\[\d+\]", "", place) in none.left:
            count["members left out, as the reader says"] += 1
        elif name not in row and f"{kind}.{name}" in none.fixed:
            count["fixed bytes, which are no columns"] += 1
        elif name not in row:
            raise _Differs(f"{place}: ksc has it, the row has not")
        else:
            _same(row[name], found, place, count, none)
    for name, value in row.items():
        if name not in fields and value is not None:
            raise _Differs(f"{path}.{name}: {value!r:.60}, ksc has none")


def _instances(
    format: kodec.formats.Format, theirs: Any, data: bytes, fixed: frozenset[str], count: Counter[str]
) -> None:
    """Each instance of the outermost type as the only column."""
    for name in [name for name, found in vars(type(theirs)).items() if isinstance(found, property)]:
        try:
            scan = format.scan(data, ".", [name], nested=True)
        except ValueError as error:
            count[f"instances that are no columns: {re.sub('`.*?`', '..', str(error))[:40]}"] += 1
            continue
        rows, error = rows_or_error(lambda scan=scan: scan)
        try:
            found = getattr(theirs, name)
        except Exception:  # whatever ksc's Python raises
            count["instances that ksc refuses"] += 1
            # what it has read of it before it failed, it would give as the whole
            return
        if error is not None:
            count["instances refused"] += 1
            continue
        if name in rows[0]:
            _same(rows[0][name], found, name, count, NoColumns(frozenset(scan.left_out), fixed))
            count["instances beside ksc's"] += 1


def _same(value: Any, theirs: Any, path: str, count: Counter[str], none: NoColumns) -> None:
    count["values beside ksc's"] += 1
    if isinstance(theirs, KaitaiStruct):
        _object(value, theirs, path, count, none)
    elif isinstance(theirs, list):
        kept = (
            value
            if value is None or len(value) == len(theirs)
            else [each for each in value if each is not None]
        )
        if kept is None or len(kept) != len(theirs):
            raise _Differs(f"{path}: {value!r:.60}, ksc has {len(theirs)} elements")
        for index, (one, other) in enumerate(zip(kept, theirs, strict=True)):
            _same(one, other, f"{path}[{index}]", count, none)
    elif isinstance(value, dict):
        # the alternatives of a switch, of which one is there
        there = {name: each for name, each in value.items() if each is not None}
        if theirs is None and not there:
            return
        if len(there) != 1:
            raise _Differs(f"{path}: {value!r:.60}, ksc has {theirs!r:.60}")
        _same(*there.values(), theirs, path, count, none)
    elif not _equal(value, _shown(theirs)):
        raise _Differs(f"{path}: {value!r:.80}, ksc has {theirs!r:.80}")


def _object(value: Any, theirs: Any, path: str, count: Counter[str], none: NoColumns) -> None:
    kind = _snake(type(theirs).__name__)
    if isinstance(value, dict):
        there = [name for name, each in value.items() if each is not None]
        if there == [kind] and not hasattr(theirs, kind):
            _same(value[kind], theirs, f"{path}.{kind}", count, none)
        else:
            _members(value, theirs, path, none, count)
    elif value == (bool, True):
        # a type without fields
        if any(f"{type(theirs).__name__}.{name}" not in none.fixed for name in _fields(theirs)):
            raise _Differs(f"{path}: true, ksc has fields")
    elif not (isinstance(value, str) and value.rpartition("::")[2] == kind):
        raise _Differs(f"{path}: {value!r:.60}, ksc has a {kind}")


def _fields(theirs: Any) -> list[str]:
    """The fields of ksc's object, without parameters."""
    given = type(theirs).__init__.__code__.co_varnames
    return [name for name in vars(theirs) if name not in given and (name[0] != "_" or name[:8] == "_unnamed")]


_MISSING = object()


def _followed(theirs: Any, path: list[str]) -> Any:
    """The value of a flat column in ksc's object; the types of a switch are steps of a path."""
    at = theirs
    for name in path:
        if isinstance(at, KaitaiStruct):
            found = getattr(at, name, getattr(at, f"{name}_", _MISSING))
            if found is _MISSING:
                # it is another alternative, a field that is absent, or the name of its type
                found = at if _snake(type(at).__name__) == name else None
            at = found
        elif at is not None and name not in ("int", "float", "bool", "str", "bytes"):
            at = None
    return at


def _shown(theirs: Any) -> Any:
    """What a column has of a plain value of ksc's."""
    if isinstance(theirs, Enum):
        return theirs.name.rstrip("_")
    if isinstance(theirs, str):
        return theirs.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return _plain(theirs)


def _equal(value: Any, theirs: Any) -> bool:
    if isinstance(value, str) and isinstance(theirs, int):
        return value == str(theirs)  # a number without a name in its enum
    if isinstance(value, str) and value in ("int", "float", "bool", "str", "bytes"):
        # the type of what a switch has
        return (
            value == type(theirs).__name__
            or value == theirs
            or (value == "bool" and isinstance(theirs, tuple))
        )
    return type(value) is type(theirs) and bool(value == theirs)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _examine(job: tuple[Corpus, str, str, bool, float]) -> tuple[str, Counter[str], list[str]]:
    corpus, name, seed, quick, seconds = job
    try:
        count, wrong = examine(corpus, name, seed, quick, seconds)
    except Exception as error:
        count, wrong = (
            Counter({"crashes": 1}),
            [f"{type(error).__name__}: {error}", traceback.format_exc()[-1500:]],
        )
    return f"{corpus.name} {name}", count, wrong


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tests", default=URL.format("kaitai_struct_tests"))
    parser.add_argument("--formats", default=URL.format("kaitai_struct_formats"))
    parser.add_argument("--real", action="store_true", help="also files of other tools (tests/labs/edits)")
    parser.add_argument("--seed", default="", help="for other changes of bytes")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of a core, for one schema")
    parser.add_argument("--quick", action="store_true", help="whole files only")
    parser.add_argument("names", nargs="*", metavar="SCHEMA")
    given = parser.parse_args(arguments)
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        tests, formats = fetched(given.tests), fetched(given.formats)
        corpora = (
            corpus("tests", tests, tests / "formats", Path(scratch), real=given.real),
            corpus("gallery", formats, formats, Path(scratch), real=given.real),
        )
        jobs = [
            (each, name, given.seed, given.quick, given.seconds)
            for each in corpora
            for name in each.files
            if not given.names or name in given.names
        ]
        with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
            for name, count, wrong in pool.imap(_examine, jobs):
                total += count
                total["schemas that differ"] += bool(count["inputs that differ"])
                for line in wrong:
                    print(f"{name}: {line}", flush=True)
    for what, number in sorted(total.items()):
        print(f"{what}: {number:,}")
    return 1 if total["inputs that differ"] or total["crashes"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
