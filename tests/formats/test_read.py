"""Files as objects of a schema that is loaded at run time: read, changed, written."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import kodec
from kodec.cli.app import run
from kodec.errors import CrcMismatch, FormatError

pytestmark = pytest.mark.quick

SCHEMA = """
meta: {id: packet, endian: be}
seq:
  - {id: kind, type: u1}
  - {id: len, type: u2}
  - {id: body, type: body, size: len}
instances:
  twice: {value: kind * 2}
types:
  body:
    seq:
      - {id: rest, size-eos: true}
"""
OVERLAY = """
schema: checked
keys:
  crc: {-derive: crc32(body)}
"""


def packet(body: bytes, kind: int = 7) -> bytes:
    return struct.pack(">BH", kind, len(body)) + body


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    path = tmp_path / "packet.ksy"
    path.write_text(SCHEMA)
    return path


def test_a_file_is_read_changed_and_written(schema: Path, tmp_path: Path) -> None:
    format = kodec.formats.load_schema(schema)
    data = packet(b"one")
    (tmp_path / "file").write_bytes(data)
    for source in (data, memoryview(data), tmp_path / "file", str(tmp_path / "file"), io.BytesIO(data)):
        found = format.read(source)
        assert (found.kind, found.len, found.body.rest, found.twice) == (7, 3, b"one", 14)
        assert found.to_bytes() == data
        found.body.rest = b"longer"
        assert found.to_bytes() == packet(b"longer")
    made = format.module.Packet(kind=1, body=format.module.Body(rest=b"new"))
    assert made.to_bytes() == packet(b"new", 1)


def test_bytes_after_the_object(schema: Path) -> None:
    format = kodec.formats.load_schema(schema)
    with pytest.raises(FormatError) as caught:
        format.read(packet(b"one") + b"!")
    assert caught.value.at == len(packet(b"one"))
    assert format.read(packet(b"one") + b"!", exact=False).to_bytes() == packet(b"one") + b"!"


def test_an_error_names_the_file(schema: Path, tmp_path: Path) -> None:
    (tmp_path / "cut").write_bytes(packet(b"one")[:-1])
    with pytest.raises(FormatError, match="cut") as caught:
        kodec.formats.load_schema(schema).read(tmp_path / "cut")
    assert caught.value.path == "body" and caught.value.source == str(tmp_path / "cut")


def test_parameters(tmp_path: Path) -> None:
    path = tmp_path / "sized.ksy"
    path.write_text(
        "{meta: {id: sized}, params: [{id: len, type: u1}, {id: class, type: u1}], "
        "seq: [{id: body, size: len + class}]}"
    )
    format = kodec.formats.load_schema(path)
    assert format.read(b"abc", {"len": 2, "class": 1}).body == b"abc"
    path.write_text(path.read_text().replace("len", "exact").replace("class", "opt"))
    named = kodec.formats.load_schema(path)
    assert named.read(b"abc", {"opt": 2, "exact": 1}, exact=True).body == b"abc"
    for wrong, said in (
        ({}, r"give `len` \(u1\), `class` \(u1\)"),
        ({"len": 2}, r"give `class` \(u1\)"),
        ({"len": 2, "class": 1, "other": 1}, "no parameter `other`: known: class, len"),
        ({"len": "2", "class": 1}, "`len` of `sized` is of type u1, not str"),
        ({"len": 256, "class": 1}, r"`len` of `sized` is 0 to 255 \(u1\), not 256"),
    ):
        with pytest.raises(ValueError, match=said):
            format.read(b"abc", wrong)


CHECKED = "{meta: {id: checked}, seq: [{id: crc, type: u4be%s}, {id: len, type: u1}, {id: body, size: len}]}"


def test_layouts_have_the_same_door(tmp_path: Path) -> None:
    path = tmp_path / "checked.ksy"
    path.write_text(CHECKED % ", -derive: crc32(body)")
    format = kodec.formats.load_schema(path)
    data = struct.pack(">IB", zlib.crc32(b"body"), 4) + b"body"
    found = format.read(data)
    assert found.body == b"body"
    found.body = b"other"
    assert format.read(found.to_bytes()).body == b"other"
    with pytest.raises(CrcMismatch):
        format.read(data[:-1] + b"Y")


def test_every_reader_takes_overlays(tmp_path: Path) -> None:
    path, overlay = tmp_path / "checked.ksy", tmp_path / "keys" / "checked.overlay.yaml"
    path.write_text(CHECKED % "")
    overlay.parent.mkdir()
    overlay.write_text(OVERLAY)
    data = tmp_path / "file"
    data.write_bytes(bytes(4) + b"\x04body")
    dump = ["dump", "--schema", str(path), "--json", str(data)]
    scan = ["scan", "--schema", str(path), str(data), "--rows", ".", "--to", str(tmp_path / "out.csv")]
    assert kodec.formats.load_schema(path).read(data).crc == 0 and run(dump) == run(scan) == 0
    with pytest.raises(CrcMismatch):
        kodec.formats.load_schema(path, [str(overlay)]).read(data)
    # columns are what a file has
    assert run([*scan, "--overwrite", "--overlay", str(overlay)]) == 0
    for command in (dump, [*scan, "--overwrite", "--check"]):
        with pytest.raises(CrcMismatch):
            run([*command, "--overlay", str(overlay)])


def test_a_plan_has_objects_too(schema: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kodec.formats.load_schema(schema).save(tmp_path / "packet.kodec")
    plan = kodec.formats.load_schema(tmp_path / "packet.kodec")
    assert plan.read(packet(b"x")).body.rest == b"x"
    (tmp_path / "file").write_bytes(packet(b"x"))
    assert run(["dump", "--schema", str(tmp_path / "packet.kodec"), "--json", str(tmp_path / "file")]) == 0
    assert json.loads(capsys.readouterr().out) == {"kind": 7, "len": 1, "body": {"rest": "78"}}


def test_objects_need_no_pyarrow_and_columns_name_it(schema: Path) -> None:
    program = f"""
import sys
sys.modules["pyarrow"] = None
import kodec
format = kodec.formats.load_schema({str(schema)!r})
assert format.read({packet(b"x")!r}).body.rest == b"x"
try:
    format.scan(b"", rows=".")
except kodec.errors.MissingDependency as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pyarrow" in done.stdout
