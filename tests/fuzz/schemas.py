"""Schemas made up, and broken: the generator answers with modules that agree with ksc's, or with problems.

    python tests/fuzz/schemas.py [--seconds N] [--seed N] [--keep FOLDER] [--corpus FOLDER]

Most are made by a grammar that knows types (tests/fuzz/grammar.py); the others are ours, those of the tests
and of the `--corpus` (any folder of .ksy files), mutated as text and as YAML trees. Some dozen go through ksc
in one run of Node. Each is then generated in a process of its own, which is ended after some seconds. Where
both take it, both read random bytes: the same values come, or both refuse; and what was read is written and
read again.

A finding is a traceback, a module that cannot be imported, a reader that raises what is none of our errors,
too long a time, values that differ from ksc's, what is written but cannot be read as the same, and elements
that differ when they are read one by one. Its schema is kept, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib
import json
import multiprocessing
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import yaml

from kodec.formats.collect import collect
from kodec.generator.driver import load, render_all
from kodec.generator.problems import SchemaError
from kodec.runtime.errors import FormatError
from kodec.runtime.streams import StreamNode
from tests.foreign import compare
from tests.foreign.compare import Reader, led
from tests.fuzz import grammar
from tests.ksc import oracle

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60
AT_ONCE = 40
KEYS = [
    "id",
    "type",
    "size",
    "size-eos",
    "repeat",
    "repeat-expr",
    "repeat-until",
    "if",
    "enum",
    "valid",
    "contents",
    "terminator",
    "encoding",
    "pos",
    "io",
    "value",
    "process",
    "pad-right",
    "consume",
    "include",
    "eos-error",
    "switch-on",
    "cases",
    "params",
    "seq",
    "types",
    "instances",
    "enums",
    "doc",
    "-default",
    "-derive",
    "-nullable",
    "-row",
    "-column",
    "-wire",
    "-codec",
    "-inner",
    "-versions",
    "-orig-id",
]
NAMES = ["a", "b", "c", "len", "body", "items", "kind", "none", "class", "self", "_io"]
TYPES = [
    "u1",
    "u2",
    "u4be",
    "u8",
    "s1",
    "s2le",
    "s4",
    "s8",
    "f4",
    "f8be",
    "b1",
    "b3",
    "b64",
    "str",
    "strz",
    "t1",
    "t2",
    "x",
]
Files = tuple[str, dict[str, bytes]]
ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    1 << 70,
    1e999,
    "",
    [],
    {},
    "a b",
    "\ud800",
    "9" * 60,
    "x::y",
    "'",
    "eos",
    "expr",
]


def expression(draw: random.Random, depth: int = 3) -> str:
    if depth == 0 or draw.random() < 0.3:
        return draw.choice([*NAMES[:2], "a", "0", "1", "2", "255", "0x10", "_io.size", "'q'"])
    kind = draw.randrange(7)
    one, two = expression(draw, depth - 1), expression(draw, depth - 1)
    if kind == 0:
        return f"({one} ? {two} : {expression(draw, depth - 1)})"
    if kind == 1:
        return f"{one}.{draw.choice(['a', 'size', 'to_s', 'to_i', 'length', 'first', 'reverse', 'as<t1>'])}"
    if kind == 2:
        return f"{one}[{two}]"
    if kind == 3:
        return f"{draw.choice(['-', '~', 'not '])}{one}"
    operation = draw.choice(
        ["+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "and", "or"]
    )
    return f"({one} {operation} {two})"


def sources(folders: list[Path]) -> list[Files]:
    """Schemas with all that they import."""
    found = []
    for path in [path for folder in folders for path in sorted(folder.rglob("*.ksy"))]:
        with contextlib.suppress(SchemaError, OSError):
            found.append(collect(path))
    return found


def made(draw: random.Random) -> Files:
    tree = grammar.made(draw, "x")
    text = str(yaml.safe_dump(tree, sort_keys=False))
    if draw.random() < 0.15:
        text = broken(draw, text)
    return "x.ksy", {"x.ksy": text.encode("utf-8", "surrogatepass")}


def mutated(draw: random.Random, known: list[Files]) -> Files:
    name, files = draw.choice(known)
    text = broken(draw, files[name].decode())
    return name, {**files, name: text.encode("utf-8", "surrogatepass")}


def broken(draw: random.Random, text: str) -> str:
    if draw.random() < 0.5:
        lines = text.splitlines()
        for _ in range(draw.randrange(1, 5)):
            at = draw.randrange(len(lines))
            what = draw.randrange(4)
            if what == 0:
                lines[at] = lines[draw.randrange(len(lines))]
            elif what == 1:
                del lines[at]
                lines = lines or [""]
            elif what == 2:
                lines.insert(at, "  " * draw.randrange(6) + f"{draw.choice(KEYS)}: {expression(draw, 2)}")
            else:
                cut = draw.randrange(len(lines[at]) + 1)
                lines[at] = lines[at][:cut] + draw.choice(["", ":", "'", "\t", "&a", "*a", "[", "\x00", "ü"])
        return "\n".join(lines)
    tree = yaml.safe_load(text)
    if not isinstance(tree, (dict, list)):
        return text
    if draw.random() < 0.6:
        return str(yaml.dump(changed(draw, tree), sort_keys=False, allow_unicode=True))
    for _ in range(draw.randrange(1, 4)):
        at: Any = tree
        while isinstance(at, (dict, list)) and at:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            key = draw.choice(keys)
            if not isinstance(at[key], (dict, list)) or draw.random() < 0.2:
                at[key] = draw.choice([*ODD, expression(draw), draw.choice(TYPES), draw.choice(NAMES)])
                if isinstance(at, dict) and draw.random() < 0.3:
                    at[draw.choice(KEYS)] = draw.choice([*ODD, expression(draw, 1)])
                break
            at = at[key]
    return str(yaml.dump(tree, sort_keys=False, allow_unicode=True))


def changed(draw: random.Random, tree: Any) -> Any:
    """A schema in which some fields are others, most often still a right one."""
    fields: list[dict[str, Any]] = []
    todo: list[Any] = [tree]
    while todo:
        at = todo.pop()
        for key, inner in at.items() if isinstance(at, dict) else enumerate(at):
            if key == "seq" and isinstance(inner, list):
                fields += [each for each in inner if isinstance(each, dict)]
            if key == "instances" and isinstance(inner, dict):
                fields += [each for each in inner.values() if isinstance(each, dict)]
            if isinstance(inner, (dict, list)):
                todo.append(inner)
    for found in draw.choices(fields, k=draw.randrange(1, 4)) if fields else ():
        kind = found.get("type")
        what = draw.randrange(7)
        if what == 0 and isinstance(kind, str) and kind[:1] in "us" and kind[1:2].isdigit():
            found["type"] = draw.choice(("u1", "u2le", "u4be", "s1", "s8le", "b4", "b12"))
        elif what == 1 and "size" in found:
            found["size"] = draw.choice((0, 1, 3, "_io.size - _io.pos", f"({found['size']}) + 1"))
        elif what == 2 and "value" not in found and "repeat" not in found:
            found |= draw.choice(
                ({"repeat": "expr", "repeat-expr": 2}, {"repeat": "until", "repeat-until": "_index == 1"})
            )
        elif what == 3:
            found["if"] = draw.choice(("true", "1 == 1", "false", "_io.pos < 20"))
        elif what == 4 and "value" in found:
            found["value"] = draw.choice((1, "true", "'a'", f"({found['value']}) == 1", "_io.pos"))
        elif what == 5 and len(found) > 1:
            del found[draw.choice([key for key in found if key != "id"] or ["id"])]
        elif what == 6 and kind in ("str", None):
            found["terminator"] = draw.choice((0, 1))
    return tree


def answer(schemas: Files, ksc: Path | None, seed: int) -> tuple[str, str]:
    """What came of a schema: taken (and compared), refused, or a finding with its words.

    `ksc` is the folder of what stock ksc made of it, None if that refuses it.
    """
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "schemas").mkdir()
        first, files = schemas
        for path, data in files.items():
            place = folder / "schemas" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        try:
            targets = ("python", "model", "documents")
            model = load(folder / "schemas")
            output = render_all(
                folder / "schemas", package="made", targets=targets, model=model, formatted=False
            )
        except SchemaError as error:
            return ("refused" if ksc is None else "refused, ksc takes it"), str(error)
        except Exception:
            return "generator", traceback.format_exc(limit=-4)
        for path, module in output.modules.items():
            place = folder / "made_here" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(module, "utf-8")
        sys.path.insert(0, name)
        stem = first.removesuffix(".ksy")
        if f"{stem}.py" not in output.modules:
            return "taken", ""  # a wire type, which the runtime has
        try:
            found = importlib.import_module(f"made_here.{stem.replace('/', '.')}")
        except Exception:
            return "import", traceback.format_exc(limit=-4)
        kinds = [
            each
            for each in vars(found).values()
            if isinstance(each, type) and each.__module__ == found.__name__ and not issubclass(each, int)
        ]
        for kind in kinds:
            if hasattr(kind, "from_bytes"):
                verdict, words = alone_read(kind, draw)
                if verdict != "taken":
                    return verdict, words
        ident = stem.rpartition("/")[2]
        if ksc is None:
            return "taken, ksc refuses", ""
        if any(re.search(rb"^\s*(- )?-(?!orig-id)[a-z]", data, re.MULTILINE) for data in files.values()):
            return "taken, with keys of ours", ""  # ksc checks nothing of what these say
        if re.search(rb"^params:", files[first], re.MULTILINE):
            return "taken, with parameters", ""
        root = getattr(found, "".join(part[:1].upper() + part[1:] for part in ident.split("_")), None)
        return (
            ("taken", "")
            if root is None
            else compared(folder, root, ksc, ident, draw, mixes=compare.mixes_bits(model))
        )


def bytes_from(draw: random.Random) -> bytes:
    """Some bytes, small numbers more often than others."""
    choices = draw.choice(((0, 1, 2, 255), (0, 1), (1, 2, 3), (97, 98, 0), tuple(range(256))))
    return bytes(draw.choice((*choices, draw.randrange(256))) for _ in range(draw.randrange(80)))


def alone_read(kind: Any, draw: random.Random) -> tuple[str, str]:
    """Our reader of one class, which raises our errors only."""
    for _ in range(4):
        try:
            value = kind.from_bytes(bytes_from(draw))
            if isinstance(value, StreamNode):
                for member in dir(kind):
                    if isinstance(getattr(kind, member), property):
                        getattr(value, member)
        except FormatError:
            continue
        except TypeError as error:
            if "missing" in str(error):  # parameters
                break
            return "reader", traceback.format_exc(limit=-4)
        except Exception:
            return "reader", traceback.format_exc(limit=-4)
    return "taken", ""


def compared(
    folder: Path, root: Any, ksc: Path, ident: str, draw: random.Random, *, mixes: bool
) -> tuple[str, str]:
    """Both readers on the same bytes, and what is written read again."""
    sys.path.insert(0, str(ksc / "python"))
    try:
        stock = importlib.import_module(ident)
        title = "".join(part.capitalize() for part in ident.split("_"))
        reader = Reader(root, getattr(stock, title))
        reader.mixes_bits = mixes
    except Exception:
        return "taken, ksc's cannot be imported", ""
    inputs = [bytes_from(draw) for _ in range(10)]
    inputs += [led(reader, each + bytes(64)) for each in inputs[:5]]
    inputs += [each[: draw.randrange(len(each) + 1)] for each in inputs[-5:]]
    read = 0
    for data in inputs:
        found = reader.judge(data)
        if found.verdict in ("wrong", "crash"):
            return found.verdict, f"{data!r}\n{found.reason}\n"
        if found.verdict not in ("agree", "laxer"):
            continue
        back = reader.written(data)
        if back.verdict in ("differs", "crash"):
            return f"written: {back.verdict}", f"{data!r}\n{back.reason}\n"
        read += back.verdict != "unread"
        if issubclass(root, StreamNode) and back.verdict != "unread":
            for path, items in lists_in(reader.read_ours(data)):
                given = list(root.each_of(data, path, opt=compare.OPTIONS, exact=False))
                if len(given) != len(items) or not all(map(compare.same, given, items)):
                    return "each_of", f"{data!r}\n{path}: {len(given)} elements, read whole {len(items)}\n"
    return ("taken and compared" if read else "taken, no bytes read"), ""


def lists_in(value: StreamNode, nested: int = 8) -> Iterator[tuple[str, list[Any]]]:
    """The lists of an object that `each_of` gives without keeping them, by their path."""
    for spec in dataclasses.fields(value) if nested else ():
        inner = getattr(value, spec.name)
        if inner is None or spec.name not in value._each:
            continue
        if isinstance(inner, StreamNode):
            yield from ((f"{spec.name}.{path}", items) for path, items in lists_in(inner, nested - 1))
        else:
            yield spec.name, inner


def alone(schemas: Files, ksc: Path | None, seed: int) -> tuple[str, str]:
    """`answer` in a process of its own, which may take this many seconds of a core."""
    mine, other = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_send, args=(other, schemas, ksc, seed))
    process.start()
    other.close()
    try:
        found = mine.recv() if mine.poll(20 * PATIENCE) else ("stuck", f"more than {20 * PATIENCE} s")
    except EOFError:
        process.join()
        slow = process.exitcode == -signal.SIGXCPU
        found = ("slow", f"more than {PATIENCE} s") if slow else ("ended", f"ended with {process.exitcode}")
    process.kill()
    process.join()
    return found


def _send(pipe: Connection, schemas: Files, ksc: Path | None, seed: int) -> None:
    compare.PATIENCE = 0.5
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE + 5))
    pipe.send(answer(schemas, ksc, seed))


def stock(batch: list[Files], folder: Path) -> list[Path | None]:
    """What ksc makes of each schema; None if it refuses it, or cannot be asked."""
    jobs: list[tuple[int, Path, dict[str, Any]]] = []
    for index, (_, files) in enumerate(batch):
        try:
            trees = {
                path.removesuffix(".ksy"): yaml.load(data.decode(), Loader=oracle.CoreLoader)
                for path, data in files.items()
            }
            json.dumps(trees).encode()
        except Exception:
            continue  # ksc would not read it either
        jobs.append((index, folder / str(index), trees))
    found: list[Path | None] = [None] * len(batch)
    try:
        answers = oracle.compile_each([(out, trees) for _, out, trees in jobs], seconds=120)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        if len(batch) == 1:
            print(f"ksc: {type(error).__name__}", flush=True)
            return found
        half = len(batch) // 2
        return stock(batch[:half], folder / "a") + stock(batch[half:], folder / "b")
    for (index, out, _), failures in zip(jobs, answers, strict=True):
        if not failures:
            found[index] = out
    return found


GOOD = ("taken", "refused")


def run(seconds: float, first: int, keep: Path, corpora: list[Path], most: int = 1 << 60) -> Counter[str]:
    """Schemas from a seed on; what came of them, with findings printed and kept."""
    known = sources([ROOT / "schemas", ROOT / "tests" / "generator"])
    foreign = sources(corpora)
    counts: Counter[str] = Counter()
    stop = time.monotonic() + seconds
    seed = first
    while time.monotonic() < stop and seed < first + most:
        seeds = range(seed, min(seed + AT_ONCE, first + most))
        seed = seeds.stop
        batch: list[Files] = []
        for each in seeds:
            draw = random.Random(each)
            chance = draw.random()
            if foreign and chance < 0.4:
                batch.append(mutated(draw, foreign))
            else:
                batch.append(made(draw) if chance < 0.8 else mutated(draw, known))
        with tempfile.TemporaryDirectory() as folder:
            for each, schemas, ksc in zip(seeds, batch, stock(batch, Path(folder)), strict=True):
                verdict, words = alone(schemas, ksc, each)
                kind = "made" if schemas[0] == "x.ksy" else "mutated"
                counts[f"{kind}: {verdict}"] += 1
                if not verdict.startswith(GOOD):
                    keep.mkdir(parents=True, exist_ok=True)
                    kept = keep / f"{each}.ksy"
                    kept.write_bytes(schemas[1][schemas[0]])
                    print(f"{verdict}: seed {each}, {schemas[0]}, kept as {kept.name}\n{words}", flush=True)
    return counts


def findings(counts: Counter[str]) -> int:
    return sum(count for what, count in counts.items() if not what.partition(": ")[2].startswith(GOOD))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--count", type=int, default=1 << 60, help="at most this many")
    parser.add_argument("--keep", type=Path, default=ROOT / ".cache" / "fuzz" / "schemas")
    parser.add_argument("--corpus", type=Path, action="append", default=[], help="more schemas to mutate")
    given = parser.parse_args(arguments)
    first, count = random.randrange(1 << 32), given.count
    if given.seed is not None:
        first = given.seed
    elif os.environ.get("CI"):
        # as with hypothesis, the same each time; others have findings that are ksc's, or known
        first, count = 220, min(count, 190)
    print(f"schemas from seed {first}", flush=True)
    counts = run(given.seconds, first, given.keep, given.corpus, count)
    for what, count in sorted(counts.items()):
        print(f"{count:7} {what}")
    return 1 if findings(counts) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
