"""Talks to a testee: a request and an answer are a line of JSON each, values are as the protocol has them."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Any
from uuid import UUID

from .cases import Case

_EXACT = (1 << 53) - 1


def spoken(value: Any) -> Any:
    """A value of the generated Python as the protocol has it."""
    match value:
        case None | bool():
            return value
        case IntEnum() | int():
            return int(value) if -_EXACT <= value <= _EXACT else str(int(value))
        case float():
            return value if value == value and abs(value) != float("inf") else str(value)
        case bytes():
            return value.hex()
        case str():
            try:
                value.encode()
            except UnicodeEncodeError:
                return {"raw": value.encode("utf-8", "surrogateescape").hex()}
            return value
        case UUID():
            return str(value)
        case tuple((number, data)):
            return {"number": number, "data": spoken(data)}
        case list():
            return [spoken(each) for each in value]
    assert dataclasses.is_dataclass(value), value
    kept = (each.name for each in dataclasses.fields(value) if each.compare)
    return {name.rstrip("_"): spoken(getattr(value, name)) for name in kept}


class Testee:
    """A program that is asked. Use it in a `with`."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Testee:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, requests: Iterable[dict[str, Any]], at_once: int = 100) -> Iterator[dict[str, Any]]:
        """The answers, in order; so many requests at most, and bytes of a pipe, are on their way at once."""
        waiting: list[tuple[int, bytes]] = []
        size = 0
        for number, request in enumerate(requests):
            line = json.dumps({"id": number, **request}).encode() + b"\n"
            if len(waiting) == at_once or size + len(line) > 32 << 10:
                yield from self._answers(waiting)
                waiting, size = [], 0
            waiting.append((number, line))
            size += len(line)
        yield from self._answers(waiting)

    def _answers(self, waiting: list[tuple[int, bytes]]) -> Iterator[dict[str, Any]]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(b"".join(line for _, line in waiting))
        self._process.stdin.flush()
        for number, line in waiting:
            found = self._process.stdout.readline()
            assert found, f"the testee ended at {line[:2000]!r}"
            answer = json.loads(found)
            assert answer.pop("id") == number
            yield answer


def asked(command: list[str], cases: list[Case]) -> Iterator[Case]:
    """What a testee makes of the bytes of each case."""
    requests = (
        {"do": "round_trip", "type": each.type, "bytes": each.data.hex()}
        | ({} if each.version is None else {"version": each.version})
        for each in cases
    )
    with Testee(command) as testee:
        for case, answer in zip(cases, testee.ask(requests), strict=True):
            yield _case(case, answer)


def _case(case: Case, answer: dict[str, Any]) -> Case:
    if "error" in answer:
        error = answer["error"]["code"], answer["error"]["path"], answer["error"]["at"]
        return Case(case.type, case.data, case.version, error=error)
    written = bytes.fromhex(answer["bytes"]) if "bytes" in answer else None
    return Case(case.type, case.data, case.version, answer["value"], written)
