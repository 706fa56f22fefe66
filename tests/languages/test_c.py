"""The generated C does with bytes what the generated Python does, without a warning and under sanitizers."""

from __future__ import annotations

import dataclasses
import json
import random
import shutil
import subprocess
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kodec.generator.driver import generate, load
from kodec.generator.modules import Modules
from kodec.generator.problems import SchemaError
from kodec.generator.targets.python.facts import Facts
from kodec.runtime.errors import EncodeError, FormatError

from . import c_testee
from .cases import CODES, Case, cases
from .test_plan import FOLDERS

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here"),
    pytest.mark.xdist_group("c"),
]
_SAFE = (1 << 53) - 1


def value_of(value: Any) -> Any:
    """A value as the protocol has it."""
    match value:
        case None | bool():
            return value
        case IntEnum() | int():
            return int(value) if -_SAFE <= value <= _SAFE else str(int(value))
        case float():
            return value if value - value == 0 else {"inf": "inf", "-inf": "-inf"}.get(str(value), "nan")
        case bytes():
            return value.hex()
        case str():
            data = value.encode("utf-8", "surrogateescape")
            try:
                return data.decode()
            except UnicodeDecodeError:
                return {"raw": data.hex()}
        case UUID():
            return str(value)
        case tuple((number, data)):
            return {"number": number, "data": data.hex()}
        case list():
            return [value_of(each) for each in value]
    kept = (each.name for each in dataclasses.fields(value) if each.compare)
    return {name.rstrip("_"): value_of(getattr(value, name)) for name in kept}


def answers(command: list[str], requests: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What the program says to each request, in order."""
    text = "".join(json.dumps({"id": index, **each}) + "\n" for index, each in enumerate(requests))
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    for index, line in enumerate(done.stdout.splitlines()):
        found = json.loads(line)
        assert found.pop("id") == index
        yield found


def told(case: Case, **what: Any) -> dict[str, Any]:
    version = {} if case.version is None else {"version": case.version}
    return {"type": case.type, **version, **what}


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_c_reads_and_writes_as_the_generated_python(folder: Path, tmp_path: Path) -> None:
    program = c_testee.build(folder, tmp_path)
    (hello,) = answers(program, [{"do": "hello"}])
    asked = list(cases(folder, changes=4, seed=12))
    assert {each.type for each in asked} <= set(hello["types"])
    requests = [told(each, do="round_trip", bytes=each.data.hex()) for each in asked]
    written: list[tuple[Case, Any]] = []
    model = load(folder)
    back = Facts(model)
    with Modules(model) as modules:
        for case, found in zip(asked, answers(program, requests), strict=True):
            if case.error is not None:
                error = found["error"]
                assert (error["code"], error["path"], error["at"]) == case.error, case
                continue
            kind = getattr(modules.of(model.schema(case.type.partition("::")[0])), back.classes[case.type])
            version = {} if case.version is None else {"version": case.version}
            value = value_of(kind.from_bytes(case.data, exact=False, **version))
            assert found.get("value") == value, (case, found)
            if case.written is None:
                assert found["encode_error"]["code"] == "not_encodable", case
            else:
                assert found["bytes"] == case.written.hex(), case
                written.append((case, value))
    # a NaN as JSON has it has lost its bits
    again = [each for each in written if '"nan"' not in json.dumps(each[1])]
    requests = [told(case, do="encode", value=value) for case, value in again]
    for (case, _), found in zip(again, answers(program, requests), strict=True):
        assert case.written is not None
        assert found == {"bytes": case.written.hex()}, case
