# ruff: noqa: E501  (a schema on one line is easier to compare)
"""Objects from pipes and sockets: complete as soon as their bytes are there, the same as from a file, bounded."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

import kodec
from kodec.formats.dump import plain
from kodec.runtime.errors import FormatError, LimitExceeded, Malformed, Truncated, Unsupported
from kodec.runtime.fields import ReadOptions
from tests.golden import Golden

ROWS = """\
meta: {id: rows, endian: le, encoding: UTF-8}
seq:
- {id: magic, contents: ROWS}
- {id: version, type: u2}
- {id: items, type: item, repeat: eos}
types:
  item:
    seq:
    - {id: kind, type: u1, enum: kinds}
    - {id: name, type: strz}
    - {id: wide, type: strz, encoding: UTF-16LE, if: _root.version == 2}
    - {id: flags, type: b4}
    - {id: rest, type: b12}
    - {id: num, type: u4}
    - {id: values, type: f8, repeat: expr, repeat-expr: num}
    - {id: len, type: u2be}
    - {id: body, size: len, type: {switch-on: kind, cases: {'kinds::text': text, 'kinds::pair': pair}}}
    - {id: more, type: u1, repeat: until, repeat-until: _ == 0}
    instances:
      twice: {value: num * 2}
      first: {pos: _root.start, type: u4}
  text: {seq: [{id: text, type: str, size-eos: true}]}
  pair: {seq: [{id: a, type: u1}, {id: b, type: u1}], instances: {again: {pos: 0, type: u1}}}
instances:
  start: {value: 0}
enums: {kinds: {1: text, 2: pair, 3: raw}}
"""


def row(number: int) -> bytes:
    body = ("text " * number).encode() if number % 3 else b"\x07\x08"
    return (
        bytes([1 if number % 3 else 2])
        + f"row {number}".encode()
        + b"\0"
        + f"w{number}".encode("utf-16-le")
        + b"\0\0"
        + (0x5A00 | number % 256).to_bytes(2, "big")
        + (number % 4).to_bytes(4, "little")
        + bytes(8 * (number % 4))
        + len(body).to_bytes(2, "big")
        + body
        + b"\1\2\0"
    )


HEAD = b"ROWS\2\0"
DATA = HEAD + b"".join(map(row, range(12)))


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    place = tmp_path / "rows.ksy"
    place.write_text(ROWS)
    return place


def piped(data: bytes, step: int = 1) -> BinaryIO:
    """The end of a real pipe into which the bytes are written, some at a time."""
    reads, writes = os.pipe()

    def write() -> None:
        with os.fdopen(writes, "wb", buffering=0) as out:
            for at in range(0, len(data), step):
                out.write(data[at : at + step])

    threading.Thread(target=write, daemon=True).start()
    return os.fdopen(reads, "rb", buffering=0)


def send(other: socket.socket) -> None:
    with other:
        for each in DATA:
            other.send(bytes([each]))


@pytest.mark.parametrize("how", ["pipe", "buffered pipe", "pieces", "socket", "file"])
def test_the_same_objects_as_from_a_file(how: str, schema: Path) -> None:
    whole = kodec.formats.load_schema(schema).read(DATA).items
    source: Any
    if how == "socket":
        source, other = socket.socketpair()
        threading.Thread(target=send, args=(other,)).start()
    elif how == "file":
        source = io.BytesIO(DATA)
    else:
        source = piped(DATA, 7 if how == "pieces" else 1)
        source = io.BufferedReader(source) if how == "buffered pipe" else source
    with source:
        found = list(kodec.formats.objects_of(source, schema))
    assert found == whole and len(found) == 12
    assert [each.twice for each in found] == [each.twice for each in whole]
    assert found[0].body.again == 7 and found[0].to_bytes() == row(0)


def test_an_object_is_there_as_soon_as_its_last_byte_is(schema: Path) -> None:
    ours, other = socket.socketpair()
    ours.settimeout(20)
    with ours, other:
        found = kodec.formats.objects_of(ours, schema)
        other.sendall(HEAD)
        for number in range(5):
            other.sendall(row(number))
            # with nothing more on the way, waiting would not end
            assert next(found).name == f"row {number}"
        other.sendall(row(5)[:-1])
        other.shutdown(socket.SHUT_WR)
        with pytest.raises(Truncated) as caught:
            next(found)
    assert caught.value.path == "items[5].more"
    assert caught.value.at == len(HEAD) + sum(len(row(each)) for each in range(6)) - 1


def test_a_truncated_end_is_an_error_with_its_place(schema: Path) -> None:
    data = DATA[: len(HEAD) + len(row(0)) + len(row(1))]
    format = kodec.formats.load_schema(schema)
    ends = {len(HEAD), len(HEAD) + len(row(0))}
    for size in range(len(data)):
        try:
            whole: Any = len(format.read(data[:size]).items)
        except FormatError as error:
            whole = type(error), error.path, error.at, error.reason
        try:
            live: Any = len(list(kodec.formats.objects_of(io.BytesIO(data[:size]), format)))
        except FormatError as error:
            live = type(error), error.path, error.at, error.reason
        assert live == whole, size
        assert isinstance(live, int) == (size in ends), size


def endless(times: int) -> Iterator[bytes]:
    for number in range(times):
        yield row(number % 12)


class _Made(io.FileIO):
    """A file whose bytes are made as they are read."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        super().__init__(os.devnull)
        self.parts = parts

    def read(self, size: int | None = -1) -> bytes:
        return next(self.parts, b"")


def test_memory_is_bounded(schema: Path) -> None:
    def made() -> Iterator[bytes]:
        yield HEAD
        yield from endless(30_000)

    tracemalloc.start()
    try:
        with _Made(made()) as source:
            count = sum(1 for _ in kodec.formats.objects_of(source, schema))
        assert count == 30_000
        # the bytes are 1.4 MB, and their objects many times that
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_objects_that_are_kept_stay_right(schema: Path) -> None:
    """Also after the bytes that they were read from were dropped."""

    def made() -> Iterator[bytes]:
        yield HEAD
        yield from endless(6000)

    with _Made(made()) as source:
        found = list(kodec.formats.objects_of(source, schema))
    for number, each in enumerate(found):
        number %= 12
        assert each.name == f"row {number}"
        if number % 3 == 0:
            assert each.body.again == 7
        if number % 500 == 0:
            assert each.to_bytes() == row(number)
    assert found[0].first == int.from_bytes(b"ROWS", "little")
    with pytest.raises(Unsupported, match="bytes before the element are not kept"):
        _ = found[-1].first


def test_no_list_is_one_object_after_another(tmp_path: Path) -> None:
    place = tmp_path / "message.ksy"
    place.write_text(
        "meta: {id: message, endian: be}\nseq: [{id: skip, type: u1, if: peek == 9}, {id: len, type: u2}, {id: body, size: len, type: inner}]\n"
        "instances: {peek: {pos: _io.pos, type: u1}}\ntypes: {inner: {seq: [{id: all, size-eos: true}]}}\n"
    )
    data = b"\0\3abc\0\0\0\1x\x09\0\0"
    with piped(data) as source:
        found = [each.body.all for each in kodec.formats.objects_of(source, place)]
    assert found == [b"abc", b"", b"x", b""]
    with piped(data + b"\0\4ab") as source, pytest.raises(Truncated) as caught:
        list(kodec.formats.objects_of(source, place))
    assert (caught.value.path, caught.value.at) == ("[4].body", len(data) + 2)


def test_what_no_stream_can_give(tmp_path: Path) -> None:
    def read(text: str, data: bytes, **more: Any) -> list[Any]:
        (tmp_path / "x.ksy").write_text(f"meta: {{id: x, endian: le}}\n{text}\n")
        return list(kodec.formats.objects_of(io.BytesIO(data), tmp_path / "x.ksy", **more))

    with pytest.raises(Unsupported, match="the size of a stream is unknown"):
        read("seq: [{id: a, size: _io.size - 1}]", b"abc")
    with pytest.raises(LimitExceeded, match="larger than what is held"):
        read("seq: [{id: a, size-eos: true}]", bytes(1 << 20), most_bytes=1 << 17)
    assert [each.a for each in read("seq: [{id: a, size-eos: true}]", b"abc")] == [b"abc"]
    lists = "seq: [{id: n, type: u4}, {id: a, type: t, repeat: expr, repeat-expr: n}]\ntypes: {t: {seq: [{id: v, type: u1}]}}"
    assert [each.v for each in read(lists, b"\3\0\0\0abc")] == [97, 98, 99]
    with pytest.raises(Truncated, match=r"a\[3\].v: need 1 bytes, have 0, at byte 7"):
        read(lists, b"\xff\xff\xff\xffabc")
    with pytest.raises(Truncated, match="after the end of the format"):
        read(lists, b"\1\0\0\0abc")
    held = "seq: [{id: n, type: u4}, {id: a, type: u1, repeat: expr, repeat-expr: n}, {id: b, size: a.size}]"
    with pytest.raises(LimitExceeded):
        read(held, b"\xff\xff\xff\xffabc")
    with pytest.raises(ValueError, match="`a` cannot be read one by one"):
        read(held, b"", path="a")
    with pytest.raises(Malformed, match="would repeat forever"):
        read("seq: [{id: a, type: t, repeat: eos}]\ntypes: {t: {}}", b"abc")
    with pytest.raises(FormatError, match="would repeat forever"):
        read("instances: {a: {value: 1}}", b"abc")
    with pytest.raises(LimitExceeded):
        read(
            "seq: [{id: a, type: t}]\ntypes: {t: {seq: [{id: b, type: u1}, {id: c, type: t, if: b == 0}]}}",
            bytes(9),
            options=ReadOptions(depth=5),
        )


def test_the_command_prints_each_row_when_it_is_complete(schema: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "kodec", "dump", "--schema", str(schema), "--each", "--json", "-"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(HEAD)
        for number in range(3):
            for byte in row(number):
                process.stdin.write(bytes([byte]))
                process.stdin.flush()
            assert json.loads(process.stdout.readline())["name"] == f"row {number}"
        process.stdin.write(row(3)[:5])
        process.stdin.close()
        assert process.stdout.read() == b""
        assert b"items[3].name: no terminator" in process.stderr.read()
        assert process.wait() == 1


def test_a_file_that_grows(schema: Path, tmp_path: Path) -> None:
    """`tail -f`: what was there, and what is appended."""
    grows = tmp_path / "grows"
    grows.write_bytes(HEAD + row(0))
    tail = subprocess.Popen(["tail", "-c", "+1", "-f", str(grows)], stdout=subprocess.PIPE)
    try:
        assert tail.stdout
        found = kodec.formats.objects_of(tail.stdout, schema)
        assert next(found).name == "row 0"
        time.sleep(0.1)
        with grows.open("ab") as out:
            out.write(row(1))
        assert next(found).name == "row 1"
    finally:
        tail.kill()
        tail.communicate()


def test_forms_of_the_command(
    schema: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    from kodec.cli.app import run

    (tmp_path / "data").write_bytes(DATA)
    call = ["dump", "--schema", str(schema), "--each", str(tmp_path / "data")]
    assert run([*call, "--yaml"]) == 0
    assert capsys.readouterr().out.count("---\n") == 12
    assert run(call) == 0
    shown = capsys.readouterr().out
    assert "items[11]:\n" in shown and "name: row 11" in shown
    assert run([*call, "--path", "nothing"]) == 2
    golden(capsys.readouterr().err)
    assert plain(next(kodec.formats.objects_of(io.BytesIO(DATA), schema)))["kind"] == "pair"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no shell like this")
def test_the_command_ends_with_its_reader_and_reports_closed_input(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "el.ksy").write_text("meta: {id: el}\nseq:\n- {id: n, type: u1}\n")
    kodec = Path(sys.executable).parent / "kodec"

    def call(command: str) -> tuple[int, str]:
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode, done.stderr

    dump = f"{kodec} dump --schema el.ksy --each -"
    assert call(f"head -c 100000 /dev/zero | {dump} | head -1; exit ${{PIPESTATUS[1]}}") == (0, "")
    for each in ("", " --each"):
        code, text = call(f"{kodec} dump --schema el.ksy{each} - <&-")
        assert code == 2 and "Traceback" not in text
        golden(text)
