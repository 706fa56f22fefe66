"""Public formats natively, in pure Python and with ksc's Python: `python -m tests.fuzz.formats`.

    python -m tests.fuzz.formats [--formats PATH_OR_URL] [--seconds S] [--seed TEXT] [--sanitize] [NAME...]

Files are cut, changed and joined. Objects with all their instances, positions and errors have to be the same
natively and in Python, and rows of columns too; and objects those of ksc. With --sanitize the native code is
built with address and undefined-behaviour sanitizers, and tried in a process of its own.
"""

from __future__ import annotations

import argparse
import importlib
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kodec
from kodec.runtime.errors import KodecError
from kodec.runtime.fields import ReadOptions
from kodec.runtime.native import native_module
from tests.foreign import native_columns
from tests.foreign.columns import rows_or_error
from tests.foreign.compare import Reader, mended
from tests.foreign.objects import FILES
from tests.foreign.run import URL, camel, copy_closure, fetched, searched
from tests.fuzz import sanitized
from tests.generator.test_native_streams import read_plain
from tests.ksc import oracle

SHORT = 3000
OTHERS = 30
"""How many formats are tried beside those with generated files, others for each seed."""
OPTIONS = (ReadOptions(), ReadOptions(), ReadOptions(elements=2000), ReadOptions(depth=3, elements=5))


@dataclass
class Subject:
    """One format: its readers, and files that they read."""

    name: str
    format: kodec.formats.Format
    reader: Reader
    files: list[bytes] = field(default_factory=list)


def subject(files: dict[str, Path], name: str) -> Subject | None:
    """The readers of a schema; None if it has parameters, no bytes are found or one side refuses it."""
    with tempfile.TemporaryDirectory() as folder:
        copy_closure(files, name, Path(folder) / "in")
        failures = oracle.compile_schemas(Path(folder) / "out", ("python",), Path(folder) / "in")
        mended(Path(folder) / "out" / "python")
        sys.path.insert(0, str(Path(folder) / "out" / "python"))
        # their modules have names of others
        stems = {place.stem for place in files.values()}
        before = {stem: sys.modules.pop(stem) for stem in stems & sys.modules.keys()}
        try:
            format = kodec.formats.load_schema(files[name])
            if failures or format._schema.root.params or not format._schema.streamed:
                return None
            theirs = getattr(importlib.import_module(format.id), camel(format.id))
        except (KodecError, ImportError, SyntaxError):
            return None
        finally:
            sys.path.pop(0)
            for stem in stems & sys.modules.keys():
                del sys.modules[stem]
            sys.modules.update(before)
    found = Subject(name, format, Reader(format._kind, theirs))
    if name in FILES:
        found.files.append(FILES[name](random.Random(1))[:SHORT])
    found.files += [data for _, data in searched(format._model, format.id, inner=False)[0].get(format.id, ())]
    return found if found.files else None


def changed(draw: random.Random, files: list[bytes]) -> bytes:
    """A file with something wrong."""
    data = bytearray(draw.choice(files))
    for _ in range(draw.choice((0, 1, 1, 2, 4))):
        at = draw.randint(0, len(data))
        match draw.randrange(8):
            case 0:
                del data[at:]
            case 1:
                data[at:at] = draw.randbytes(draw.randint(1, 4))
            case 2:
                data[at : at + 4] = draw.choice((b"\xff" * 4, b"\x7f\xff\xff\xff", b"\x80\0\0\0", bytes(4)))
            case 3:
                del data[at : at + draw.randint(1, 9)]
            case 4:
                data[at:at] = draw.choice(files)[draw.randrange(64) :][: draw.randint(1, 80)]
            case 5:
                data[at : at + 8] = draw.choice(
                    (b"\x7f\xf0" + draw.randbytes(6), b"\xff" * 8, b"\0\0\0\1" * 2)
                )
            case _ if at < len(data):
                data[at] = draw.choice((0, 1, 127, 128, 255, draw.randrange(256)))
    return bytes(data)


def asked(each: Subject, data: bytes, draw: random.Random, count: Counter[str]) -> Iterator[str]:
    """What differs between the readers."""
    opt = draw.choice(OPTIONS)
    native, python = (read_plain(each.format._kind, data, natively=way, opt=opt) for way in (True, False))
    count["objects refused" if isinstance(python, tuple) else "objects"] += 1
    if native != python:
        yield f"object {opt}: natively {native!r:.400}, in Python {python!r:.400}"
    rows, nested = draw.choice((".", *each.format.lists)), draw.random() < 0.5
    try:
        plan: Any = each.format._planned(rows, None, None, nested, "names")
    except ValueError:
        count["rows that are not planned"] += 1
    else:
        wanted = rows_or_error(lambda: native_columns._pure(each.format, plan, data))
        found = rows_or_error(lambda: each.format.scan(data, rows, nested=nested))
        count["rows"] += len(wanted[0])
        if wanted != found:
            form = "nested" if nested else "flat"
            yield f"rows {rows} {form}: natively {found!r:.400}, in Python {wanted!r:.400}"
    beside = each.reader.judge(data)
    count[f"beside ksc: {'both refuse' if beside.both else beside.verdict}"] += 1
    count["values beside ksc's"] += beside.values
    if beside.verdict in ("wrong", "crash"):
        yield f"beside ksc: {beside.verdict}: {beside.reason}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--formats", default=URL.format("kaitai_struct_formats"))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("names", nargs="*", help="only these formats, by their path without .ksy")
    given = parser.parse_args(arguments)
    if given.sanitize:
        rest = [each for each in arguments if each != "--sanitize"]
        # before any module loads the other one
        start = "import sys, sanitized; sanitized.use(); from tests.fuzz.formats import main"
        return sanitized.run("streams", ["-c", f"{start}; sys.exit(main(sys.argv[1:]))", *rest])
    if native_module("streams") is None:
        print("the native code is not built", file=sys.stderr)
        return 1
    files = oracle.schemas(fetched(given.formats))
    draw = random.Random(given.seed)
    others = [name for name in files if name not in FILES]
    draw.shuffle(others)
    subjects: list[Subject] = []
    for name in given.names or (*FILES, *others):
        found = subject(files, name)
        subjects += [found] if found is not None else []
        if not given.names and len(subjects) >= len(FILES) + OTHERS:
            break
    print(
        f"seed {given.seed}, {len(subjects)} formats: {', '.join(each.name for each in subjects)}", flush=True
    )
    count: Counter[str] = Counter()
    different: list[str] = []
    end = time.monotonic() + given.seconds
    while time.monotonic() < end and len(different) < 10:
        for each in subjects:
            data = changed(draw, each.files)
            count["inputs"] += 1
            for reason in asked(each, data, draw, count):
                different.append(reason)
                print(f"{each.name} {data.hex()}: {reason}", flush=True)
            if time.monotonic() > end:
                break
    for what, number in sorted(count.items()):
        print(f"{number:>12,} {what}")
    print(f"{len(different)} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
