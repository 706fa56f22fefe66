"""kodec explain as a user calls it: lines, pages, damage, and what does not fit."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import pytest

from kodec.cli.main import main
from kodec.formats import load_schema

ROOT = Path(__file__).parents[2]
LOGS = ROOT / "tests" / "data" / "kafka-4.3.1" / "logs"
LOG = LOGS / "codec-gzip-0" / "00000000000000000000.log"


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_a_batch_with_what_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(LOG), "--count", "1"]) == 0
    shown = lines(capsys)
    assert shown[0] == "== batch at byte 0, offset 0, 113 bytes"
    assert f"00000011  {'ac 1b 2b d6':48} crc = 2887461846" in shown
    assert "records: gzip, 52 bytes at byte 61, 32 bytes inside" in shown
    assert f'00000005  {"6f 6e 6c 79":48} records[0].body.key = "only"' in shown


def test_from_an_offset_or_a_byte(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(LOGS / "codec-none-0" / LOG.name)
    assert main(["explain", path, "--offset", "100", "--count", "1"]) == 0
    first, *_ = lines(capsys)
    found = re.fullmatch(r"== batch at byte (\d+), offset (\d+), .*", first)
    assert found is not None and int(found[2]) <= 100
    assert main(["explain", path, "--at", str(int(found[1]) + 1), "--count", "1"]) == 0
    assert lines(capsys)[0] == first
    assert main(["explain", path, "--offset", "100000"]) == 2
    assert main(["explain", path, "--offset", "1", "--at", "1"]) == 2


def test_indexes_and_snapshots(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(LOGS / "orders-0" / "00000000000000000000.timeindex"), "--at", "13"]) == 0
    shown = lines(capsys)
    assert shown[0] == "== entry 1 at byte 12" and shown[1].endswith("timestamp = 1700000147000")
    snapshot = next(LOGS.glob("*/*.snapshot"))
    assert main(["explain", str(snapshot)]) == 0
    assert "num_entries = " in capsys.readouterr().out


def test_a_torn_end_and_zeros(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torn = tmp_path / LOG.name
    torn.write_bytes(LOG.read_bytes()[:100])
    assert main(["explain", str(torn)]) == 1
    shown = lines(capsys)
    assert shown[-1] == "wrong: records: need 52 bytes, have 39, at byte 61"
    assert any("(not read)" in line for line in shown)
    torn.write_bytes(LOG.read_bytes()[:113] + bytes(5000))
    assert main(["explain", str(torn)]) == 0
    assert "(zeros up to the end, 5,000 bytes: preallocated, or never written)" in lines(capsys)[-1]


def test_any_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.ksy").write_text(
        "meta: {id: x, endian: be}\nseq:\n- {id: n, type: u1}\n"
        "- {id: all, type: pair, repeat: expr, repeat-expr: n}\n"
        "types: {pair: {seq: [{id: a, type: u2}, {id: b, type: str, size: 2, encoding: UTF-8}]}}\n"
    )
    (tmp_path / "x.bin").write_bytes(b"\2\0\1hi\0\2yo!")
    line = ["explain", str(tmp_path / "x.bin"), "--schema", str(tmp_path / "x.ksy")]
    assert main(line) == 0
    shown = lines(capsys)
    assert [each.split("  ")[-1].strip() for each in shown] == [
        "n = 2",
        "all[0].a = 1",
        'all[0].b = "hi"',
        "all[1].a = 2",
        'all[1].b = "yo"',
        "(behind the end)",
    ]
    assert main([*line, "--type", "x::pair"]) == 0
    assert main([*line, "--type", "nothing"]) == 2
    assert main([*line, "--version", "1"]) == 2
    assert main(line[:2]) == 2


def test_a_page_has_each_byte_and_each_field_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert main(["explain", str(LOG), "--count", "2", "--html", str(page)]) == 0
    text = page.read_text()
    bytes_of = re.findall(r"<b data-part=(\d+)>", text)
    assert bytes_of == re.findall(r"<tr data-part=(\d+)>", text) == [str(at) for at in range(len(bytes_of))]
    parts = re.findall(r"<b data-part=\d+>([^<]*)</b>", text)
    assert bytes.fromhex("".join(parts)).startswith(LOG.read_bytes()[:113])
    assert "records[0].body.key = &quot;only&quot;" in text and "http" not in text
    assert main(["explain", str(LOG), "--html", str(page)]) == 1
    assert "page.html" in capsys.readouterr().err
    assert main(["explain", str(LOG), "--count", "1", "--html", str(page), "--overwrite"]) == 0
    assert page.stat().st_size < len(text)
    before = LOG.read_bytes()
    assert main(["explain", str(LOG), "--html", str(LOG), "--overwrite"]) == 2 and LOG.read_bytes() == before


SCHEMA = """
meta: {id: moving, endian: be}
seq: [{id: all, type: row, repeat: expr, repeat-expr: 2}, {id: crc, type: u4}]
types: {row: {seq: [{id: n, type: u1}], instances: {next: {pos: 0, type: u1}}}}
"""


def test_overlays_and_plans(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KODEC_CACHE", str(tmp_path / "cache"))
    schema, file = tmp_path / "moving.ksy", tmp_path / "file"
    schema.write_text(SCHEMA)
    file.write_bytes(b"\1\2" + zlib.crc32(b"\1\2").to_bytes(4, "big"))
    keys = tmp_path / "keys" / "moving.overlay.yaml"
    keys.parent.mkdir()
    keys.write_text("schema: moving\nkeys:\n  crc: {-derive: crc32(all..all)}\n")
    command = ["explain", str(file), "--schema"]
    assert main([*command, str(schema)]) == 0
    plain = capsys.readouterr()
    assert "all[1].n = 2" in plain.out and plain.err == ""
    assert main([*command, str(schema), "--overlay", str(keys)]) == 0
    assert capsys.readouterr() == plain
    plan = tmp_path / "moving.kodec"
    load_schema(schema, [str(keys)]).save(plan)
    assert main([*command, str(plan)]) == 0
    assert capsys.readouterr() == plain
    for wrong, said in (
        ([str(schema), "--overlay", "png"], "an overlay of `png`, which the schema does not use"),
        ([str(schema), "--overlay", "nothing"], "no overlay `nothing`"),
        ([str(plan), "--overlay", str(keys)], "its overlays and imports were chosen when it was saved"),
    ):
        assert main([*command, *wrong]) == 2
        assert said in capsys.readouterr().err
    for option, value in (("--overlay", "png"), ("--param", "a=1"), ("-I", str(tmp_path))):
        assert main(["explain", str(LOG), option, value]) == 2
        assert f"{option}: goes with --schema" in capsys.readouterr().err


def test_types_whose_columns_are_made_of_objects_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KODEC_CACHE", str(tmp_path / "cache"))
    schema, file = tmp_path / "moving.ksy", tmp_path / "file"
    schema.write_text(SCHEMA.replace("pos: 0, ", ""))
    file.write_bytes(b"\1\2crc_next")
    assert main(["explain", str(file), "--schema", str(schema)]) == 0
    reason = "the instance `next` is read where the stream stands, not at a position"
    assert capsys.readouterr().err == (
        f"columns of `moving::row` are made of Python objects, many times slower: {reason}\n"
    )
    scan = ["scan", str(file), "--schema", str(schema), "--column", "n"]
    assert main(scan) == 0
    assert capsys.readouterr().err == ""
    assert main([*scan, "--column", "next"]) == 0
    assert capsys.readouterr().err == (
        f"read through Python objects, many times slower: `moving::row`: {reason}\n"
    )
