"""Asks Kafka's own classes, in a JVM that this process holds, what bytes mean, and to write records.

The other side is Judge.java. Each message is an int32 length and a body, all integers big-endian.

Decode: `D`, int32 count, and for each input: a byte (verify checksums), a byte (through a file), the bytes.
The answer is, for each input, its length and a list of items: 1 is a batch (the `HEAD`, int32 length, rows),
2 is a batch that was refused (int32 index of the record, error), 3 says that no batch could be found (error),
0 is the end. Bytes, errors among them, have an int32 length in front; -1 is null.

Write: `W`, the fields of `WRITE`, int32 count and the records. The answer is a byte (1 is done) and bytes.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO, Self

import jvm

import kodec

__all__ = [
    "CODES",
    "END",
    "HEAD",
    "REFUSED",
    "ROWS",
    "STOPPED",
    "Died",
    "Item",
    "Judge",
    "Plan",
    "Question",
    "items",
    "pack_rows",
    "unpack_rows",
]

END, ROWS, REFUSED, STOPPED = range(4)
CODES = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
# size, magic, codec, base_offset, last_offset, next_offset, max_timestamp, timestamp_type, leader epoch,
# producer id, producer epoch, base and last sequence, flags, delete horizon, crc, crc is right, count
HEAD = struct.Struct(">ibbqqqqbiqhiibqI?i")
_WRITE = struct.Struct(">bb?i?qqiqhi??q")
_LENGTH = struct.Struct(">i")
_ROW = struct.Struct(">qqbh")


@dataclass(frozen=True, slots=True)
class Question:
    """Bytes to decode; `checked` verifies checksums, `from_file` takes FileRecords, not MemoryRecords."""

    data: bytes
    checked: bool = True
    from_file: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One item of an answer: `head` and `rows` of a batch; or `index` and `error` where it was refused."""

    kind: int
    head: bytes = b""
    rows: bytes = b""
    index: int = -1
    error: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A batch to be written, by kodec or by Kafka.

    `appended` is the one timestamp of LogAppendTime; `horizon` the delete horizon, -1 for none.
    """

    magic: int
    codec: str
    records: tuple[kodec.Record, ...]
    level: int | None = None
    appended: int | None = None
    leader_epoch: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False
    control: bool = False
    horizon: int = -1


class Died(Exception):
    """The JVM ended over an input: it took too long, or a native library broke."""


def _bytes(value: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if value is None else _LENGTH.pack(len(value)) + value


def pack_rows(rows: Iterable[kodec.Record]) -> bytes:
    """Records in the form of an answer. Raises struct.error for what does not fit in an int64."""
    parts: list[bytes] = []
    for row in rows:
        control = row.type if isinstance(row, kodec.ControlRecord) else -2
        key, value = row.key, row.value
        parts.append(_ROW.pack(row.offset, row.timestamp, row.timestamp_type, control))
        parts.append(_bytes(key))
        parts.append(_bytes(value))
        parts.append(_LENGTH.pack(len(row.headers)))
        for name, content in row.headers:
            parts.append(_bytes(name.encode("utf-8", "surrogateescape")))
            parts.append(_bytes(content))
    return b"".join(parts)


def unpack_rows(data: bytes) -> list[tuple[int, int, int, int, bytes | None, bytes | None]]:
    """Offset, timestamp, its type, control type (-2: no control record), key and value of packed rows."""
    at = 0

    def take() -> bytes | None:
        nonlocal at
        (size,) = _LENGTH.unpack_from(data, at)
        at += 4
        if size < 0:
            return None
        at += size
        return data[at - size : at]

    found = []
    while at < len(data):
        row = _ROW.unpack_from(data, at)
        at += _ROW.size
        key, value = take(), take()
        (headers,) = _LENGTH.unpack_from(data, at)
        at += 4
        for _ in range(2 * headers):
            take()
        found.append((*row, key, value))
    return found


def items(answer: bytes) -> list[Item]:
    """The items of the answer to one question."""
    found: list[Item] = []
    at = 0
    while at < len(answer):
        kind = answer[at]
        at += 1
        if kind == END:
            found.append(Item(END))
        elif kind == ROWS:
            head = answer[at : at + HEAD.size]
            at += HEAD.size
            (size,) = _LENGTH.unpack_from(answer, at)
            found.append(Item(ROWS, head, answer[at + 4 : at + 4 + size]))
            at += 4 + size
        else:
            index = -1
            if kind == REFUSED:
                (index,) = _LENGTH.unpack_from(answer, at)
                at += 4
            (size,) = _LENGTH.unpack_from(answer, at)
            error = answer[at + 4 : at + 4 + size].decode("utf-8", "replace")
            found.append(Item(kind, index=index, error=error))
            at += 4 + size
    return found


@dataclass(slots=True)
class Judge:
    """A JVM with Judge.java in it. Use it as a context; the process ends with it."""

    version: str = jvm.KAFKA
    died: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _sent: list[Question] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _start(self) -> None:
        # in a session of its own, so that Ctrl-C reaches the driver alone; it ends with its standard input
        self._process = subprocess.Popen(
            jvm.command(jvm.SOURCES / "Judge.java", self.version),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            try:
                if stream is not None:
                    stream.close()
            except OSError:
                continue
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        assert self._process is not None
        assert self._process.stdin is not None and self._process.stdout is not None
        return self._process.stdin, self._process.stdout

    def _write(self, body: bytes) -> None:
        out, _ = self._pipes()
        out.write(_LENGTH.pack(len(body)) + body)
        out.flush()

    def _read(self) -> bytes:
        _, source = self._pipes()
        head = source.read(4)
        if len(head) == 4:
            (size,) = _LENGTH.unpack(head)
            body = source.read(size)
            if len(body) == size:
                return body
        raise Died

    def send(self, questions: Sequence[Question]) -> None:
        """Ask; `receive` before asking again."""
        self._sent = list(questions)
        body = [b"D", _LENGTH.pack(len(questions))]
        for question in questions:
            body += (bytes((question.checked, question.from_file)), _bytes(question.data))
        try:
            self._write(b"".join(body))
        except OSError as error:
            raise Died from error

    def receive(self) -> list[bytes | None]:
        """An answer for each question that was sent; None for one that Kafka did not survive."""
        sent = self._sent
        try:
            return list(self._answers(self._read(), len(sent)))
        except Died:
            self.died += 1
            self._stop()
            self._start()
            if len(sent) == 1:
                return [None]
        found: list[bytes | None] = []
        for question in sent:
            self.send([question])
            found += self.receive()
        return found

    @staticmethod
    def _answers(body: bytes, count: int) -> Iterable[bytes]:
        at = 0
        for _ in range(count):
            (size,) = _LENGTH.unpack_from(body, at)
            at += 4
            yield body[at : at + size]
            at += size

    def decode(self, questions: Sequence[Question]) -> list[bytes | None]:
        """What Kafka makes of each."""
        self.send(questions)
        return self.receive()

    def write(self, plan: Plan) -> bytes:
        """The bytes that Kafka writes. Raises ValueError with its error where it refuses."""
        appended = -1 if plan.appended is None else plan.appended
        body = [
            b"W",
            _WRITE.pack(
                plan.magic, CODES[plan.codec], plan.level is not None, plan.level or 0,
                plan.appended is not None, appended, plan.records[0].offset, plan.leader_epoch,
                plan.producer_id, plan.producer_epoch, plan.base_sequence, plan.transactional, plan.control,
                plan.horizon,
            ),
            _LENGTH.pack(len(plan.records)),
        ]  # fmt: skip
        for record in plan.records:
            body.append(struct.pack(">qq", record.offset, record.timestamp))
            body += (_bytes(record.key), _bytes(record.value), _LENGTH.pack(len(record.headers)))
            for name, content in record.headers:
                body += (_bytes(name.encode()), _bytes(content))
        self._write(b"".join(body))
        answer = self._read()
        if not answer[0]:
            raise ValueError(answer[5:].decode("utf-8", "replace"))
        return answer[5:]
