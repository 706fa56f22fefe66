"""A testee that is asked one request after another, for as long as there are some (docs/conformance.md)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from typing import Any


class Conversation:
    """Questions to a testee, and its answers. Use it in a `with`."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Conversation:
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
