"""What the generated Python makes of vectors and of bytes near them: other languages must do the same."""

from __future__ import annotations

import dataclasses
import json
import random
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any
from uuid import UUID

from kodec.generator.driver import load, render_all
from kodec.generator.modules import Modules
from kodec.generator.targets.python.index import ModelIndex
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
        version: of a type that is told it.
        value: as `plain` gives it; None where they are refused.
        written: what the value is written as; None where it is refused.
        error: (code, path, byte) where they are refused.
    """

    type: str
    data: bytes
    version: int | None
    value: Any = None
    written: bytes | None = None
    error: tuple[str, str, int] | None = None


def cases(folder: Path, changes: int, seed: int) -> Iterator[Case]:
    """Each vector, some of its beginnings, and so many copies with a byte or two changed."""
    drawn = random.Random(seed)
    model = load(folder)
    back = ModelIndex(model)
    documents = render_all(folder, targets=["vectors"]).modules
    with Modules(model) as modules:
        for text in documents.values():
            document = json.loads(text)
            module = modules.of(model.schema(document["schema"]))
            for each in document["vectors"]:
                if each["must"] == "accept" and "bytes" in each:
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


def ask(command: list[str], asked: list[Case]) -> Iterator[Case]:
    """What a program makes of the bytes of each case: a request and an answer are a line of JSON each."""
    requests = [{"type": each.type, "bytes": each.data.hex(), "version": each.version or 0} for each in asked]
    text = "".join(json.dumps(each) + "\n" for each in requests)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    for case, line in zip(asked, done.stdout.splitlines(), strict=True):
        yield _answer(case, json.loads(line))


def _answer(case: Case, answer: dict[str, Any]) -> Case:
    if "code" in answer:
        error = answer["code"], answer["path"], answer["at"]
        return Case(case.type, case.data, case.version, error=error)
    written = bytes.fromhex(answer["written"]) if "written" in answer else None
    return Case(case.type, case.data, case.version, answer["value"], written)


def plain(value: Any) -> Any:
    """A value as JSON has it, the same for all languages: numbers are text, and bytes begin with `0x`.

    An empty list, no list and no bytes are the same where a language has one thing for them.
    """
    match value:
        case None | bool():
            return value
        case IntEnum() | int():
            return str(int(value))
        case float():
            return "nan" if value != value else struct.pack(">d", value).hex()
        case bytes():
            return f"0x{value.hex()}"
        case str():
            return f"0t{value.encode('utf-8', 'surrogateescape').hex()}"
        case UUID():
            return f"0x{value.bytes.hex()}"
        case tuple((number, data)):
            return {"number": str(number), "data": plain(data)}
        case list():
            return [plain(each) for each in value] or None
        case dict():
            return {name: plain(each) for name, each in value.items()}
    assert dataclasses.is_dataclass(value), value
    kept = (each.name for each in dataclasses.fields(value) if each.compare)
    return {name.rstrip("_"): plain(getattr(value, name)) for name in kept}
