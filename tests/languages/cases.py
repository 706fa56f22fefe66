"""What the generated Python makes of vectors and of bytes near them: other languages must do the same."""

from __future__ import annotations

import dataclasses
import json
import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from kodec.conformance.same import difference
from kodec.generator.driver import load, render_all
from kodec.generator.json_values import to_json as plain_of_plan
from kodec.generator.modules import Modules
from kodec.generator.targets.python.index import ModelIndex
from kodec.generator.targets.vectors.samples import NAMES
from kodec.runtime.errors import EncodeError, FormatError

CODES = {
    "Truncated": "truncated",
    "Malformed": "malformed",
    "CrcMismatch": "bad_checksum",
    "Unsupported": "unsupported",
    "LimitExceeded": "limit_exceeded",
}
_ODD = (0, 1, 0x7F, 0x80, 0xFF)


@dataclass(frozen=True)
class Case:
    """Bytes of a type, and what they are.

    Attributes:
        version: of a type that is given it.
        value: as vectors have it; None if they are refused.
        written: what the value is written as; None if it is refused.
        error: (code, path, byte) where they are refused.
    """

    type: str
    data: bytes
    version: int | None
    value: Any = None
    written: bytes | None = None
    error: tuple[str, str, int] | None = None


def cases(folder: Path, changes: int, seed: int) -> Iterator[Case]:
    """Each sample of each type, some of its beginnings, and so many copies with a byte or two changed."""
    drawn = random.Random(seed)
    model = load(folder)
    back = ModelIndex(model)
    documents = render_all(folder, targets=["vectors"]).modules
    with Modules(model) as modules:
        for text in documents.values():
            document = json.loads(text)
            module = modules.of(model.schema(document["schema"]))
            for each in document["vectors"]:
                if each["tests"] in NAMES and "bytes" in each:
                    kind = getattr(module, back.classes[each["type"]])
                    for data in _near(bytes.fromhex(each["bytes"]), changes, drawn):
                        yield case_of(kind, each["type"], data, each.get("version"))


def _near(data: bytes, changes: int, drawn: random.Random) -> Iterator[bytes]:
    yield data
    for size in drawn.sample(range(len(data)), min(changes, len(data))):
        yield data[:size]
    for _ in range(changes if data else 0):
        changed = bytearray(data)
        for _ in range(drawn.choice((1, 1, 2))):
            changed[drawn.randrange(len(data))] = drawn.choice((*_ODD, drawn.randrange(256)))
        yield bytes(changed)


def case_of(kind: Any, name: str, data: bytes, version: int | None = None) -> Case:
    """What the generated class `kind` makes of the bytes of a type."""
    told = {} if version is None else {"version": version}
    try:
        value = kind.from_bytes(data, exact=False, **told)
    except FormatError as error:
        return Case(name, data, version, error=(CODES[type(error).__name__], error.path, error.at))
    try:
        written = value.to_bytes(**told)
    except EncodeError:
        written = None
    return Case(name, data, version, plain(value), written)


class Anything(frozenset[str]):
    """Every path: an answer may leave out what a version lacks; the suite of vectors shows which that is."""

    def __contains__(self, path: object) -> bool:
        return True


def ask(command: list[str], asked: list[Case]) -> Iterator[Case]:
    """What a testee makes of the bytes of each case, by the protocol of docs/conformance.md."""
    requests = [
        {"id": number, "do": "round_trip", "type": each.type, "bytes": each.data.hex()}
        | ({} if each.version is None else {"version": each.version})
        for number, each in enumerate(asked)
    ]
    text = "".join(json.dumps(each) + "\n" for each in requests)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    for number, (case, line) in enumerate(zip(asked, done.stdout.splitlines(), strict=True)):
        answer = json.loads(line)
        assert answer["id"] == number
        yield _answer(case, answer)


def _answer(case: Case, answer: dict[str, Any]) -> Case:
    """The answer as a case: a value that is the same in another form of JSON is the case's own."""
    if "error" in answer:
        found = answer["error"]
        return Case(
            case.type,
            case.data,
            case.version,
            error=(found["code"], found.get("path", ""), found.get("at", 0)),
        )
    value = answer["value"]
    if difference(case.value, value, Anything()) is None:
        value = case.value
    written = bytes.fromhex(answer["bytes"]) if "bytes" in answer else None
    return Case(case.type, case.data, case.version, value, written)


def plain(value: Any) -> Any:
    """A value of the generated Python, or of the plan, as vectors have it."""
    if isinstance(value, IntEnum):
        return int(value)
    if isinstance(value, list):
        return [plain(each) for each in value]
    if dataclasses.is_dataclass(value):
        # fields that are derived are not compared, but shown
        shown = (each.name for each in dataclasses.fields(value) if each.repr)
        parameters = getattr(value, "_parameters", ())
        return {name.rstrip("_"): plain(getattr(value, name)) for name in shown if name not in parameters}
    return plain_of_plan(value)
