"""Reads with kafka-clients in a JVM, which is warmed up first and reports its own CPU time."""

from __future__ import annotations

import importlib.util
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import kodec
from benchmarks.corpora import Case

__all__ = ["Absent", "KafkaClients"]

HERE = Path(__file__).resolve().parent
# until the compiler has done its work: JMH's way, with a bound for small logs and one for large ones
_WARM_ROUNDS, _WARM_MS = 2_000, 3_000
_NUMBER = struct.Struct(">q")
_LENGTH = struct.Struct(">i")
_ROW = struct.Struct(">qq")

Row = tuple[int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


class Absent(Exception):
    """No JDK, no Maven and no jars in the cache: why the peer cannot be had."""


def _jvm() -> Any:
    """The module that finds Kafka's jars for the tests: this needs a clone."""
    path = HERE.parents[1] / "tests" / "labs" / "differential" / "jvm.py"
    spec = importlib.util.spec_from_file_location("benchmarks_java_jvm", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise Absent("needs the clone's tests/labs")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class KafkaClients:
    """MemoryRecords of kafka-clients, read as the consumer does: checksums, byte arrays, header names."""

    name = "java"
    gives: Literal["objects"] = "objects"

    def __init__(self) -> None:
        jvm = _jvm()
        try:
            command = jvm.command(HERE / "ReadLog.java", heap="1g")
        except jvm.Absent as error:
            raise Absent(str(error)) from None
        self.about = f"kafka-clients {jvm.KAFKA}, Java, warmed up, the garbage collector counted"
        # it ends with its standard input, so with this process
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        self._loaded = b""

    def close(self) -> None:
        """End the JVM."""
        self._process.communicate()

    def _ask(self, body: bytes) -> bytes:
        source, out = self._process.stdout, self._process.stdin
        assert source is not None and out is not None
        out.write(_LENGTH.pack(len(body)) + body)
        out.flush()
        head = source.read(4)
        answer = source.read(_LENGTH.unpack(head)[0]) if len(head) == 4 else b""
        if len(head) < 4:
            raise RuntimeError("the JVM ended")
        return answer

    def _load(self, data: bytes) -> None:
        if data != self._loaded:
            self._ask(b"L" + data)
            self._loaded = data

    def clock(self) -> float:
        """CPU seconds of the thread that decodes, and of its collector."""
        return float(_NUMBER.unpack(self._ask(b"C"))[0]) / 1e9

    def reads(self, case: Case) -> bool:
        return True

    def writes(self, case: Case) -> bool:
        return False

    def read(self, data: bytes, loop: str) -> int:
        assert loop == "decode", "what a loop does not read, the JVM's compiler leaves out"
        self._load(data)
        return int(_NUMBER.unpack(self._ask(b"R"))[0])

    def rows(self, data: bytes) -> Iterator[Row]:
        self._load(data)
        self._ask(b"W" + struct.pack(">ii", _WARM_ROUNDS, _WARM_MS))
        answer = self._ask(b"A")
        at = 0

        def take() -> bytes | None:
            nonlocal at
            (size,) = _LENGTH.unpack_from(answer, at)
            at += 4 + max(size, 0)
            return None if size < 0 else answer[at - size : at]

        while at < len(answer):
            offset, timestamp = _ROW.unpack_from(answer, at)
            at += _ROW.size
            key, value = take(), take()
            (count,) = _LENGTH.unpack_from(answer, at)
            at += 4
            headers = tuple(((take() or b"").decode(), take()) for _ in range(count))
            yield offset, timestamp, key, value, headers

    def prepare(self, batches: list[list[kodec.Record]], case: Case) -> Callable[[], list[bytes]]:
        raise NotImplementedError("only reading is measured")
