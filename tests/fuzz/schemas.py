"""Schemas broken and made up: the generator answers with modules that import, or with problems.

    python tests/fuzz/schemas.py [--seconds N] [--seed N] [--keep FOLDER]

Ours, and those of the tests, are mutated as text and as YAML trees; others are made by a small grammar. Each
is generated in a process of its own, which is ended after some seconds. A finding is a traceback, a module
that cannot be imported, a reader that raises on random bytes what is none of our errors, or too long a time.
Its schema is kept, and the exit code is 1. What is read is not compared with ksc; `make foreign` does that
with public schemas.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import yaml

import kodec.generator.targets.python as python_target
from kodec.formats.collect import collect
from kodec.generator.driver import render_all
from kodec.generator.problems import SchemaError
from kodec.runtime.errors import FormatError
from kodec.runtime.streams import StreamNode

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    collect(path)
    for folder in ("schemas", "tests/generator")
    for path in sorted((ROOT / folder).rglob("*.ksy"))
    if path.stem not in ("weather",)  # its imports are in another folder
]
PATIENCE = 20.0
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
# how the text is laid out changes nothing, and costs a process for each schema
python_target.formatted = dict


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


def field(draw: random.Random, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {"id": name, "type": draw.choice(TYPES)}
    if draw.random() < 0.2:
        cases = {draw.choice(["0", "1", "2", "_"]): draw.choice(TYPES) for _ in range(3)}
        found["type"] = {"switch-on": expression(draw, 0), "cases": cases}
    if draw.random() < 0.15:
        del found["type"]
    if found.get("type") in ("str", None) or draw.random() < 0.1:
        found["size"] = draw.choice([draw.randrange(5), draw.randrange(5), expression(draw, 1)])
    if draw.random() < 0.1:
        found["if"] = f"{expression(draw, 1)} == {expression(draw, 1)}"
    if draw.random() < 0.3:
        found |= draw.choice(
            [
                {"repeat": "eos"},
                {"repeat": "expr", "repeat-expr": expression(draw, 1)},
                {"repeat": "until", "repeat-until": f"_ == {expression(draw, 1)}"},
            ]
        )
    if draw.random() < 0.1:
        found["enum"] = "e"
    if draw.random() < 0.05:
        found["valid"] = draw.choice(
            [1, {"min": 0, "max": 9}, {"any-of": [1, 2]}, {"expr": expression(draw, 1)}]
        )
    if draw.random() < 0.03:
        found[draw.choice(KEYS)] = draw.choice([*ODD[:-2], expression(draw, 1)])
    return found


def made(draw: random.Random) -> Files:
    def body(depth: int) -> dict[str, Any]:
        names = draw.sample(NAMES[:5], draw.randrange(1, 5))
        found: dict[str, Any] = {"seq": [field(draw, name) for name in names]}
        if draw.random() < 0.3:
            found["instances"] = {"i1": {"value": expression(draw, 2)}, "i2": {"pos": 0, **field(draw, "z")}}
            found["instances"]["i2"].pop("id", None)
        if depth:
            found["types"] = {f"t{n}": body(depth - 1) for n in (1, 2)}
        return found

    meta = {"id": "x", "endian": draw.choice(["be", "le"]), "encoding": "UTF-8"}
    tree = {"meta": meta, **body(1), "enums": {"e": {0: "one", 1: "two"}}}
    return "x.ksy", {"x.ksy": yaml.safe_dump(tree, sort_keys=False).encode()}


def mutated(draw: random.Random) -> Files:
    name, files = draw.choice(SOURCES)
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


def answer(schemas: Files, seed: int) -> tuple[str, str]:
    """What came of a schema: taken, refused, or a finding with its words."""
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
            output = render_all(folder / "schemas", package="made", targets=("python", "model", "documents"))
        except SchemaError as error:
            str(error)
            return "refused", ""
        except Exception:
            return "generator", traceback.format_exc(limit=-4)
        for path, module in output.modules.items():
            place = folder / "made_here" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(module, "utf-8")
        sys.path.insert(0, name)
        try:
            module_name = f"made_here.{first.removesuffix('.ksy').replace('/', '.')}"
            if f"{first.removesuffix('.ksy')}.py" not in output.modules:
                return "taken", ""  # a wire type, which the runtime has
            found = importlib.import_module(module_name)
        except Exception:
            return "import", traceback.format_exc(limit=-4)
        kinds = [
            each for each in vars(found).values() if isinstance(each, type) and each.__module__ == module_name
        ]
        for kind in kinds:
            if not hasattr(kind, "from_bytes") or issubclass(kind, int):
                continue
            for _ in range(10):
                data = bytes(
                    draw.choice((0, 1, 2, 255, draw.randrange(256))) for _ in range(draw.randrange(64))
                )
                try:
                    value = kind.from_bytes(data)
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


def alone(schemas: Files, seed: int) -> tuple[str, str]:
    """`answer` in a process of its own."""
    mine, other = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_send, args=(other, schemas, seed))
    process.start()
    other.close()
    try:
        found = mine.recv() if mine.poll(PATIENCE) else ("slow", f"more than {PATIENCE} s")
    except EOFError:
        found = ("ended", "the process ended")
    process.kill()
    process.join()
    return found


def _send(pipe: Connection, schemas: Files, seed: int) -> None:
    pipe.send(answer(schemas, seed))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", type=Path, default=ROOT / ".cache" / "fuzz" / "schemas")
    given = parser.parse_args(arguments)
    first = given.seed if given.seed is not None else random.randrange(1 << 32)
    print(f"schemas from seed {first}")
    counts: Counter[str] = Counter()
    stop = time.monotonic() + given.seconds
    seed = first
    while time.monotonic() < stop:
        draw = random.Random(seed)
        schemas = made(draw) if draw.random() < 0.5 else mutated(draw)
        verdict, words = alone(schemas, seed)
        counts[verdict] += 1
        if verdict not in ("taken", "refused"):
            given.keep.mkdir(parents=True, exist_ok=True)
            kept = given.keep / f"{seed}.ksy"
            kept.write_bytes(schemas[1][schemas[0]])
            print(f"{verdict}: seed {seed}, kept as {kept.name}\n{words}", flush=True)
        seed += 1
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return 1 if counts.keys() - {"taken", "refused"} else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
