"""The generated Rust does with bytes what the generated Python does, and passes Rust's own checks."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest

import kodec
from kodec.generator.driver import generate
from kodec.generator.problems import SchemaError

from . import rust_testee, stream_cases
from .cases import ask, cases
from .compilers import is_here
from .rust_testee import cargo
from .test_plan import FOLDERS

pytestmark = [
    pytest.mark.languages,
    pytest.mark.skipif(not is_here("cargo"), reason="no Rust here: https://rustup.rs"),
    pytest.mark.xdist_group("rust"),
]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_rust_reads_and_writes_as_the_generated_python(folder: Path, tmp_path: Path) -> None:
    program = rust_testee.build(folder, tmp_path)
    told = list(cases(folder, changes=4, seed=12))
    for case, found in zip(told, ask(program, told), strict=True):
        assert found == case
    cargo("clippy", "--", "-D", "warnings", folder=tmp_path / "rust")
    cargo("fmt", "--check", folder=tmp_path / "rust")


def test_rust_reads_streams_as_the_plan_says(tmp_path: Path) -> None:
    inputs = stream_cases.write_schemas(tmp_path / "schemas", "rust")
    told = list(stream_cases.stream_cases(tmp_path / "schemas", inputs))
    program = rust_testee.build(tmp_path / "schemas", tmp_path)
    assert list(stream_cases.differences(program, told)) == []
    assert len(inputs) > 40 and stream_cases.refused(told) > 100
    cargo("clippy", "--", "-D", "warnings", folder=tmp_path / "rust")
    cargo("fmt", "--check", folder=tmp_path / "rust")


STREAMS = {
    # as the gallery's, as far as the page needs it
    "doom_wad": """
meta: {id: doom_wad, endian: le}
seq: [{id: magic, type: str, size: 4, encoding: ASCII}, {id: count, type: s4}, {id: index_offset, type: s4}]
types:
  index_entry:
    seq:
      - {id: offset, type: s4}
      - {id: size, type: s4}
      - {id: name, type: str, size: 8, encoding: ASCII, pad-right: 0}
instances: {index: {pos: index_offset, type: index_entry, repeat: expr, repeat-expr: count}}
""",
    "archive": """
meta: {id: archive, endian: le}
seq: [{id: count, type: u1}, {id: entries, type: entry, repeat: expr, repeat-expr: count}]
types:
  entry:
    seq: [{id: offset, type: u2}, {id: size, type: u2}]
    instances:
      body: {pos: offset, size: size, type: node}
      end: {value: offset + size}
      name: {value: 'body.name + "!" + body.name.reverse'}
  node:
    seq: [{id: name, type: strz, encoding: IBM437}, {id: next, type: node, if: not _io.eof}]
    instances:
      again: {pos: 0, type: node}
""",
}


def test_streams_need_little_of_the_stack_and_keep_to_limits(tmp_path: Path) -> None:
    """The program of the page, and tests of what belongs to a stream."""
    (tmp_path / "schemas").mkdir()
    for name, text in STREAMS.items():
        (tmp_path / "schemas" / f"{name}.ksy").write_text(text)
    generate(tmp_path / "schemas", tmp_path, targets=["rust"])
    crate = tmp_path / "rust"
    (crate / "tests").mkdir()
    shutil.copyfile(rust_testee.HERE / "streams.rs", crate / "tests" / "streams.rs")
    cargo("test", folder=crate)
    page = (rust_testee.ROOT / "docs" / "rust.md").read_text(encoding="utf-8")
    (crate / "examples").mkdir()
    (crate / "examples" / "list.rs").write_text(page.split("```rust\n")[3].partition("```")[0])
    path = tmp_path / "small.wad"
    path.write_bytes(struct.pack("<4sii", b"IWAD", 1, 12) + struct.pack("<ii8s", 7, 0, b"THINGS\0\0"))
    assert cargo("run", "--example", "list", "--", str(path), folder=crate) == "THINGS at 7\n"


def test_what_rust_does_not_have_is_a_problem_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(
        "meta: {id: x, endian: be}\nseq:\n  - {id: t, type: str, size: 2, encoding: UTF-16LE}\n"
        "  - {id: n, type: u8}\n  - {id: b, size: n * 2}\ntypes: {a_1: {}, a1: {}}\n"
    )
    (tmp_path / "y.ksy").write_text("meta: {id: y}\nseq: [{id: z, size: 1, process: ours}]\n")
    with pytest.raises(SchemaError) as caught:
        generate(tmp_path, tmp_path / "out", targets=["rust"])
    told = str(caught.value)
    for text in (
        "`XA1` in Rust, as would",
        "text in UTF-16LE",
        "beyond 64 bits",
        "y.z: it cannot be read from streams in Rust: its process",
    ):
        assert text in told
    assert not (tmp_path / "out").exists()


def test_generating_again_changes_nothing(tmp_path: Path) -> None:
    options = {"rust.crate": "orders"}
    assert generate(FOLDERS["others"], tmp_path, targets=["rust"], options=options)
    assert generate(FOLDERS["others"], tmp_path, targets=["rust"], options=options, check=True) == []
    assert 'name = "orders"' in (tmp_path / "rust" / "Cargo.toml").read_text()
    with pytest.raises(ValueError, match="no name of a Rust crate"):
        generate(FOLDERS["others"], tmp_path, targets=["rust"], options={"rust.crate": "Orders!"})
    first = (tmp_path / "rust" / "src" / "lib.rs").read_text().partition("\n")[0]
    assert "@generated by kodec.generator" in first


def test_the_program_of_the_page_reads_a_segment_to_its_torn_tail(tmp_path: Path) -> None:
    """And so the tests of the runtime, with what is generated of Kafka's schemas."""
    generate(FOLDERS["kafka"], tmp_path, targets=["rust"])
    crate = tmp_path / "rust"
    shutil.copyfile(rust_testee.HERE / "Cargo.lock", crate / "Cargo.lock")
    shutil.copytree(rust_testee.HERE / "tests", crate / "tests")
    page = (rust_testee.ROOT / "docs" / "rust.md").read_text(encoding="utf-8")
    (crate / "examples").mkdir()
    (crate / "examples" / "count.rs").write_text(page.split("```rust\n")[2].partition("```")[0])
    cargo("test", folder=crate)
    for codec in CODECS:
        records = [kodec.Record(key=b"k", value=b"v" * 100) for _ in range(10)]
        segment = b"".join(kodec.encode(records, compression=codec, base_offset=10 * n) for n in range(3))
        path = tmp_path / "00000000000000000000.log"
        path.write_bytes(segment + segment[:50])
        shown = cargo("run", "--example", "count", "--", str(path), folder=crate)
        assert shown == "30 records, 50 bytes left\n"
