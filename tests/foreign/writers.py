"""The plan's writer beside the generated one, for every schema of the public Kaitai corpora.

    python -m tests.foreign.writers [--tests PATH_OR_URL] [--formats PATH_OR_URL] [NAME...]

Both read the bytes of the corpus' tests, or bytes that the generator finds, change the same fields, and
write. They must write the same bytes, or raise the same error.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import signal
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

import kodec.generator.targets.python as python_target
from kodec.generator.code.machine import Code, Machine
from kodec.generator.driver import load
from kodec.generator.modules import Modules
from kodec.generator.plan.streams import streams_of
from kodec.generator.problems import SchemaError
from kodec.generator.schema.expression_types import Kinds
from kodec.generator.search import samples
from kodec.generator.targets.python.index import ModelIndex
from kodec.runtime.errors import FormatError
from tests.foreign.run import URL, copy_closure, fetched
from tests.ksc import oracle
from tests.languages.plan_writing import OPT, compare

SAMPLES, ROUNDS = 2, 3
SECONDS = 20
"""Of a core, for one schema."""


@dataclass
class Result:
    """What came of one schema: how often both wrote the same, and where they did not."""

    name: str
    state: str = "compared"
    same: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def examine(files: dict[str, Path], name: str, given: list[bytes]) -> Result:
    """Compare the writers of one schema, in this process."""
    python_target.formatted = dict  # how the text is laid out changes nothing
    result = Result(name)
    with tempfile.TemporaryDirectory() as folder:
        copy_closure(files, name, Path(folder))
        try:
            model = load(Path(folder), streams=True)
        except SchemaError:
            return Result(name, "refused")
        ident = str(oracle.load_yaml(files[name])["meta"]["id"])
        program, back = streams_of(model, Kinds(model)), ModelIndex(model)
        schema = next(each for each in model.schemas if each.id == ident)
        if schema.root.params:
            return Result(name, "needs parameters")

        code = Code(program)

        def read(data: bytes) -> tuple[Any, int]:
            reader = Machine(code, data, OPT)
            return reader.read(ident), reader.stream.at

        inputs = given or [each.data for each in islice(samples(model, read), SAMPLES)]
        with Modules(model) as modules:
            kind = getattr(modules.of(schema), back.classes[ident])
            for index, data in enumerate(inputs):
                for seed in range(ROUNDS):
                    try:
                        result.same += compare(program, kind, ident, data, random.Random(f"{index}{seed}"))
                    except FormatError:
                        result.same["not read"] += 1
                    except TimeoutError:
                        raise
                    except Exception as error:
                        result.wrong.append(f"{type(error).__name__}: {error}"[:600])
    return result


def _examine(job: tuple[dict[str, Path], str, list[bytes]]) -> Result:
    def end(number: int, frame: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        return examine(*job)
    except TimeoutError:
        return Result(job[1], "takes too long")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tests", default=URL.format("kaitai_struct_tests"))
    parser.add_argument("--formats", default=URL.format("kaitai_struct_formats"))
    parser.add_argument("names", nargs="*", help="only these schemas, by their path without .ksy")
    given = parser.parse_args(arguments)
    tests, formats = fetched(given.tests), fetched(given.formats)
    data: dict[str, list[bytes]] = {}
    for path in (tests / "spec" / "ks").glob("*.kst"):
        name = yaml.safe_load(path.read_text("utf-8").split("asserts:")[0]).get("data")
        if name and (tests / "src" / name).is_file():
            data[path.stem] = [(tests / "src" / name).read_bytes()]
    jobs = [
        (files, name, data.get(name.rpartition("/")[2], []))
        for files in (oracle.schemas(tests / "formats"), oracle.schemas(formats))
        for name in files
        if not given.names or name in given.names
    ]
    states: Counter[str] = Counter()
    same: Counter[str] = Counter()
    wrong = 0
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        for result in pool.imap(_examine, jobs):
            states[result.state if result.same or result.state != "compared" else "no bytes found"] += 1
            same += result.same
            wrong += len(result.wrong)
            for line in result.wrong[:2]:
                print(f"{result.name}: {line}", flush=True)
    print(f"{dict(states)}; {dict(same)}; {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
