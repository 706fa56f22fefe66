"""Asks a testee and the generated Python about the same mutated bytes: the same value, or both refuse.

    .venv/bin/python -m tests.fuzz.languages --inputs 100000 -- ./my-testee

Bytes come from the vectors of each type, with some bytes changed, cut, put in, doubled or joined with those
of others. It prints each difference, the most memory that the testee took, and the seed, which can be given.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kodec.conformance.same import difference
from kodec.generator.driver import load, render_all
from kodec.generator.modules import Modules
from kodec.generator.targets.python.index import ModelIndex
from kodec.runtime.errors import EncodeError, FormatError
from tests.languages.cases import Anything, plain
from tests.languages.protocol import Conversation

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
_ODD = (0, 1, 2, 0x0F, 0x7F, 0x80, 0x81, 0xFE, 0xFF)
_MOST = 1 << 16


def mutated(data: bytes, others: list[bytes], drawn: random.Random) -> bytes:
    """Bytes near `data`."""
    found = bytearray(data)
    for _ in range(drawn.choice((1, 1, 1, 2, 3, 8))):
        at = drawn.randrange(len(found) + 1)
        match drawn.randrange(8):
            case 0:
                del found[at:]
            case 1:
                del found[at : at + drawn.randrange(1, 9)]
            case 2:
                found[at:at] = drawn.randbytes(drawn.randrange(1, 9))
            case 3:
                found[at:at] = found[at : at + drawn.randrange(1, 65)]
            case 4:
                other = drawn.choice(others)
                found[at:] = other[drawn.randrange(len(other) + 1) :]
            case _ if at < len(found):
                found[at] = drawn.choice((*_ODD, found[at] ^ 1 << drawn.randrange(8), drawn.randrange(256)))
    return bytes(found[:_MOST])


class Types:
    """The types of schemas with vectors, as the generated Python has them."""

    def __init__(self, schemas: Path, modules: Modules, model: Any) -> None:
        back = ModelIndex(model)
        self.kinds: dict[str, Any] = {}
        self.options: dict[str, Any] = {}
        self.seeds: list[tuple[str, int | None, bytes]] = []
        for text in render_all(schemas, targets=["vectors"]).modules.values():
            document = json.loads(text)
            module = modules.of(model.schema(document["schema"]))
            for each in document["vectors"]:
                if "bytes" in each and "arguments" not in each:
                    self.kinds[each["type"]] = getattr(module, back.classes[each["type"]])
                    self.seeds.append((each["type"], each.get("version"), bytes.fromhex(each["bytes"])))

    def requests(self, inputs: int, drawn: random.Random) -> Iterator[dict[str, Any]]:
        of_type: dict[str, list[tuple[int | None, bytes]]] = {}
        for kind, version, data in self.seeds:
            of_type.setdefault(kind, []).append((version, data))
        names = sorted(of_type)
        for _ in range(inputs):
            kind = drawn.choice(names)
            version, data = drawn.choice(of_type[kind])
            others = [other for _, other in of_type[kind]]
            if version is not None and drawn.random() < 0.1:
                version = drawn.randrange(-1, 8)
            request = {"do": "round_trip", "type": kind, "bytes": mutated(data, others, drawn).hex()}
            yield request | ({} if version is None else {"version": version})

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """What Python makes of a request, as a testee answers it."""
        told = {"version": request["version"]} if "version" in request else {}
        kind = self.kinds[request["type"]]
        try:
            value = kind.from_bytes(bytes.fromhex(request["bytes"]), exact=False, **self.options, **told)
        except FormatError as error:
            return {"error": {"code": type(error).__name__, "path": error.path, "at": error.at}}
        try:
            return {"value": plain(value), "bytes": value.to_bytes(**told).hex()}
        except EncodeError:
            return {"value": plain(value), "encode_error": {}}


def alike(wanted: dict[str, Any], found: dict[str, Any]) -> bool:
    """Both refuse, or the values are the same and so is what they are written as."""
    if "error" in wanted or "error" in found:
        return "error" in wanted and "error" in found
    if wanted.get("bytes") != found.get("bytes"):
        return False
    return difference(wanted["value"], found["value"], Anything()) is None


def run(command: list[str], inputs: int, seed: int, schemas: Path) -> int:
    """The number of differences, each of which is printed."""
    drawn, model, start = random.Random(seed), load(schemas), time.monotonic()
    counted: Counter[str] = Counter()
    with Modules(model) as modules, Conversation(command) as testee:
        types = Types(schemas, modules, model)
        requests = [*types.requests(inputs, drawn)]
        for request, found in zip(requests, testee.ask(requests), strict=True):
            if "unsupported" in found:
                counted["unsupported"] += 1
                continue
            wanted = types.answer(request)
            counted["refused" if "error" in wanted else "read"] += 1
            if not alike(wanted, found):
                counted["different"] += 1
                print(json.dumps({"request": request, "python": wanted, "testee": found}))
        memory = _peak(testee.pid)
    seconds = time.monotonic() - start
    print(f"seed {seed}: {inputs} inputs in {seconds:.0f} s, {dict(counted)}; testee at most {memory} MiB")
    return counted["different"]


def _peak(pid: int) -> int:
    """The most memory that a process has taken, in MiB; 0 if the system does not say."""
    status = Path(f"/proc/{pid}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) >> 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--schemas", type=Path, default=SCHEMAS)
    parser.add_argument("command", nargs="+", help="the testee and its arguments, behind `--`")
    given = parser.parse_args()
    sys.exit(run(given.command, given.inputs, given.seed, given.schemas) > 0)


if __name__ == "__main__":
    main()
