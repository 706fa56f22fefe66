"""A testee as a process: requests and answers are lines of JSON, within limits of time and memory."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from kodec.runtime.foreign_json import read_json
from kodec.runtime.system import POSIX

__all__ = ["Failed", "Limits", "Testee"]

_TICK = 0.05
_MOST_LINE = 64 << 20
_MOST_VALUES, _MOST_DEPTH = 2_000_000, 500
_SHOWN = 2000


class Limits:
    """Limits of one answer: its `seconds`, and `memory` of the program and its children, in bytes.

    The first answer after starting the program has `start` more seconds.
    """

    def __init__(self, seconds: float = 10.0, memory: int = 2 << 30, start: float = 60.0) -> None:
        self.seconds = seconds
        self.memory = memory
        self.start = start


class Failed(Exception):
    """No answer: `outcome` is crashed, hung, memory or protocol; the text has details."""

    def __init__(self, outcome: str, text: str) -> None:
        super().__init__(text)
        self.outcome = outcome


class Testee:
    """A program that is started on the first request, and again after a failure."""

    __test__ = False  # a class for pytest to leave alone

    def __init__(self, command: Sequence[str], limits: Limits) -> None:
        self._command = list(command)
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._unread = b""
        self._number = 0
        self.starts = 0

    def __enter__(self) -> Testee:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request. Raises Failed, and OSError if the program cannot be started."""
        self._number += 1
        line = json.dumps({"id": self._number, **request}).encode() + b"\n"
        try:
            return self._answer(self._line(line))
        except Failed:
            self.stop()
            raise

    def _start(self) -> subprocess.Popen[bytes]:
        if not POSIX:
            reason = (
                "programs are tested on Linux and macOS only: this system cannot end one with its children"
            )
            raise OSError(errno.ENOTSUP, reason, self._command[0])
        self._unread = b""
        self.starts += 1
        with contextlib.ExitStack() as opened:
            self._errors = opened.enter_context(tempfile.TemporaryFile())
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
            )
            opened.pop_all()  # `stop` closes it
            return process

    def stop(self) -> None:
        """End the program and its children."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._process = None

    def _line(self, request: bytes) -> bytes:
        """Write a line and read one; both at once, because neither side need accept all of it at first."""
        seconds = self._limits.seconds
        if self._process is None:
            self._process = self._start()
            seconds += self._limits.start
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        source, sink = process.stdout.fileno(), process.stdin.fileno()
        os.set_blocking(sink, False)
        until = time.monotonic() + seconds
        buffer, self._unread = bytearray(self._unread), b""
        with selectors.DefaultSelector() as selector:
            selector.register(source, selectors.EVENT_READ)
            selector.register(sink, selectors.EVENT_WRITE)
            while (end := buffer.find(b"\n")) < 0:
                ready = selector.select(_TICK)
                if time.monotonic() > until:
                    raise Failed("hung", f"no answer in {seconds:g} s")
                if not ready:
                    self._require_memory(process.pid)
                for key, _ in ready:
                    if key.fd == sink:
                        try:
                            request = request[os.write(sink, request) :]
                        except BrokenPipeError:
                            raise self._crashed(process) from None
                        if not request:
                            selector.unregister(sink)
                        continue
                    part = os.read(source, 1 << 16)
                    if not part:
                        raise self._crashed(process)
                    buffer += part
                    if len(buffer) > _MOST_LINE:
                        raise Failed("protocol", f"a line of more than {_MOST_LINE} bytes")
        self._unread = bytes(buffer[end + 1 :])
        return bytes(buffer[:end])

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            # an empty list takes twenty times as much memory as text
            answer = read_json(line, most_values=_MOST_VALUES, most_depth=_MOST_DEPTH)
        except (ValueError, RecursionError) as error:
            raise Failed("protocol", f"not a line of JSON: {error}: {line[:80]!r}") from None
        if not isinstance(answer, dict) or answer.get("id") != self._number:
            raise Failed("protocol", f"not the answer to request {self._number}: {line[:80]!r}")
        return answer

    def _crashed(self, process: subprocess.Popen[bytes]) -> Failed:
        try:
            code = process.wait(self._limits.seconds)
        except subprocess.TimeoutExpired:
            return Failed("protocol", "its output was closed")
        text = ""
        if self._errors is not None:
            size = self._errors.seek(0, os.SEEK_END)
            self._errors.seek(max(0, size - _SHOWN))
            text = self._errors.read().decode(errors="replace").strip()
        ended = f"signal {-code}" if code < 0 else f"exit code {code}"
        return Failed("crashed", f"{ended}: {text}" if text else ended)

    def _require_memory(self, group: int) -> None:
        used = _memory(group)
        if used > self._limits.memory:
            raise Failed("memory", f"{used} bytes, more than {self._limits.memory}")


def _memory(group: int) -> int:
    """The memory of all processes of a group, in bytes; 0 if the system does not report it."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                total += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    return total
