"""Asks the classes that Kafka generates for itself, in a JVM, to write and read messages."""

from __future__ import annotations

import json
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import jvm

__all__ = ["KAFKA", "SOURCE", "MessageJudge", "Refused"]

KAFKA = "4.4.0"
SOURCE = Path(__file__).resolve().parent.parent / "java" / "messages" / "MessageJudge.java"
FRAMES = {"given": 0, "own": 0, "version": 1, "number": 2}


class Refused(Exception):
    """Kafka's class did not take it; the text is what it said."""


@dataclass(slots=True)
class MessageJudge:
    """A JVM with MessageJudge.java in it. Use it as a context; the process ends with it."""

    version: str = KAFKA
    _process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        # in a session of its own, so that Ctrl-C reaches the driver alone; it ends with its standard input
        self._process = subprocess.Popen(
            jvm.command(SOURCE, self.version), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def write(self, name: str, frame: str, document: Any, version: int, given: int | None = None) -> bytes:
        """What Kafka writes in `version` of a document that is read in version `given`. Raises Refused."""
        body = json.dumps(document, ensure_ascii=False).encode()
        return self._ask(b"W", name, frame, version if given is None else given, version, body)[0]

    def read(self, name: str, frame: str, data: bytes, version: int) -> tuple[bytes, Any]:
        """What Kafka reads, written again, and as JSON. Raises Refused; also where bytes are left over."""
        return self._ask(b"R", name, frame, version, version, data)

    def _ask(
        self, operation: bytes, name: str, frame: str, given: int, version: int, body: bytes
    ) -> tuple[bytes, Any]:
        assert self._process is not None and self._process.stdin is not None
        named = name.encode()
        head = operation + struct.pack(">H", len(named)) + named
        self._process.stdin.write(
            head + struct.pack(">bhhi", FRAMES[frame], given, version, len(body)) + body
        )
        self._process.stdin.flush()
        done = self._take(1)
        data = self._take(int.from_bytes(self._take(4), "big"))
        if done == b"\0":
            raise Refused(data.decode("utf-8", "replace"))
        text = self._take(int.from_bytes(self._take(4), "big"))
        return data, json.loads(text) if text else None

    def _take(self, size: int) -> bytes:
        assert self._process is not None and self._process.stdout is not None
        data = self._process.stdout.read(size)
        if len(data) < size:
            raise RuntimeError("the JVM ended")
        return data
