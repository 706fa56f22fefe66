"""A codec that a program registers: its schemas are compiled, read and written with it, within the limits."""

from __future__ import annotations

import bz2
import struct
from pathlib import Path
from typing import Any

import pytest

import kodec
from kodec.formats import load_schema
from kodec.generator.problems import SchemaError
from kodec.runtime import compression
from kodec.runtime.dataclass import replace
from kodec.runtime.errors import ArgumentError, LimitExceeded, Unsupported
from kodec.runtime.fields import ReadOptions

SCHEMA = """
meta: {id: pack, endian: be, license: CC0-1.0}
doc: Rows that may be compressed.
seq:
  - {id: kind, type: u1, enum: packing, doc: The codec.}
  - {id: len_body, type: u4, -derive: length_of(body), doc: Bytes of the body.}
  - id: body
    doc: The rows.
    size: len_body
    type: {switch-on: kind, cases: {'packing::none': table}}
    -codec: kind
    -inner: table
types:
  table:
    seq:
      - {id: count, type: u2, -derive: count_of(rows)}
      - {id: rows, type: row, repeat: expr, repeat-expr: count}
  row: {seq: [{id: n, type: u4}]}
enums:
  packing: {0: none, 1: gzip, 9: bzip2}
"""


def decompressed(data: bytes | memoryview, limit: int) -> bytes:
    return bz2.BZ2Decompressor().decompress(bytes(data), limit + 1)


def compressed(data: bytes | memoryview, level: int) -> bytes:
    return bz2.compress(data, level)


CODEC = kodec.Codec("bzip2", decompressed, compressed, levels=(range(1, 10),), default_level=9)


@pytest.fixture
def registered(own_codecs: None) -> None:
    kodec.register_codec(CODEC)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KODEC_CACHE", str(tmp_path / "cache"))
    (tmp_path / "pack.ksy").write_text(SCHEMA)
    return tmp_path


def stored(numbers: range) -> bytes:
    body = bz2.compress(struct.pack(f">H{len(numbers)}I", len(numbers), *numbers))
    return struct.pack(">BI", 9, len(body)) + body


def test_a_schema_cannot_name_a_codec_that_is_not_registered(folder: Path) -> None:
    with pytest.raises(SchemaError, match="unknown codec: bzip2"):
        load_schema(folder / "pack.ksy")


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("pure", ["", "1"])
def test_files_are_read_and_written(folder: Path, monkeypatch: pytest.MonkeyPatch, pure: str) -> None:
    monkeypatch.setenv("KODEC_PURE", pure)
    schema = load_schema(folder / "pack.ksy")
    data = stored(range(500))
    pack: Any = schema.read(data)
    assert [row.n for row in pack.body.rows] == [*range(500)]
    assert pack.to_bytes() == data
    assert schema.scan(data, "body.table.rows").read_all()["n"].to_pylist() == [*range(500)]
    with pytest.raises(LimitExceeded) as raised:
        schema.read(data, options=ReadOptions(decompressed_bytes=100))
    assert raised.value.limit == "decompressed_bytes"


@pytest.mark.usefixtures("registered")
def test_output_over_the_limit_is_refused_whatever_the_codec_returns() -> None:
    kodec.register_codec(replace(CODEC, decompress=lambda data, limit: bz2.decompress(data)))
    data = compression.compress("bzip2", bytes(1000))
    assert compression.decompress("bzip2", data, limit=1000) == bytes(1000)
    with pytest.raises(LimitExceeded):
        compression.decompress("bzip2", data, limit=999)
    with pytest.raises(LimitExceeded):
        list(compression.pieces("bzip2", data, limit=999))


@pytest.mark.parametrize("name", ["gzip", "lz4_legacy", "Bzip2", "", "a-b"])
def test_names_of_codecs_stay_theirs(name: str) -> None:
    with pytest.raises(ArgumentError):
        kodec.register_codec(kodec.Codec(name, decompressed, compressed))
    with pytest.raises(Unsupported):
        compression.decompress("bzip2", b"x", limit=1)
