"""kodec explain as a user calls it: lines, pages, damage, and what does not fit."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import kodec
from kodec.cli import explain_page
from kodec.cli.explain_page import Section, _template, write_pages
from kodec.cli.hexdump import _ANSI, with_unit
from kodec.cli.main import main
from kodec.formats import load_schema
from kodec.formats.explain import Area, Explainer, Explanation, Field, Part
from tests.data import LOGS
from tests.golden import Golden

LOG = LOGS / "codec-gzip-0" / "00000000000000000000.log"


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_a_batch_with_what_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(LOG), "--limit", "1"]) == 0
    shown = lines(capsys)
    assert shown[0] == "== batch at byte 0, offset 0, 113 bytes"
    assert f"00000011  {'ac 1b 2b d6':48} crc = 2887461846" in shown
    assert "records: gzip, 52 bytes at byte 61, 32 bytes inside" in shown
    assert f'00000005  {"6f 6e 6c 79":48} records[0].body.key = "only"' in shown


def test_from_an_offset_or_a_byte(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(LOGS / "codec-none-0" / LOG.name)
    assert main(["explain", path, "--offset", "100", "--limit", "1"]) == 0
    first, *_ = lines(capsys)
    found = re.fullmatch(r"== batch at byte (\d+), offset (\d+), .*", first)
    assert found is not None and int(found[2]) <= 100
    assert main(["explain", path, "--at", str(int(found[1]) + 1), "--limit", "1"]) == 0
    assert lines(capsys)[0] == first
    assert main(["explain", path, "--offset", "100000"]) == 2
    assert main(["explain", path, "--offset", "1", "--at", "1"]) == 2


def test_indexes_and_snapshots(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(LOGS / "orders-0" / "00000000000000000000.timeindex"), "--at", "13"]) == 0
    shown = lines(capsys)
    assert shown[0] == "== entry 1 at byte 12"
    assert shown[1].endswith("timestamp = 1700000147000 (2023-11-14 22:15:47.000 UTC)")
    snapshot = next(LOGS.glob("*/*.snapshot"))
    assert main(["explain", str(snapshot)]) == 0
    assert "num_entries = " in capsys.readouterr().out


def test_a_torn_end_and_zeros(tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    torn = tmp_path / LOG.name
    torn.write_bytes(LOG.read_bytes()[:100])
    assert main(["explain", str(torn)]) == 1
    shown = lines(capsys)
    golden(shown[-1])
    assert any("(not read)" in line for line in shown)
    torn.write_bytes(LOG.read_bytes()[:113] + bytes(5000))
    assert main(["explain", str(torn)]) == 0
    golden(lines(capsys)[-1])


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
    assert main([*line, "--message-version", "1"]) == 2
    assert main(line[:2]) == 2


def data_of(page: Path) -> dict[str, Any]:
    """What the script of a page draws."""
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL
    )
    assert found is not None
    return dict(json.loads(found[1]))


def fields_of(page: Path) -> Iterator[tuple[str, str]]:
    """The path and the text of each field of a page, as the script joins them."""
    data, indexes = data_of(page), list[int]()
    for area in data["areas"]:
        fields = [part[2 + at : 5 + at] for part in area["parts"] for at in range(0, len(part) - 2, 3)]
        for name, given, text in (*fields, *(other[2:] for other in area["others"])):
            indexes = given or indexes
            path, unit, _, _ = data["names"][name]
            left = iter(indexes)
            yield re.sub(r"\[\]", lambda _, left=left: f"[{next(left)}]", path), f"{text} {unit}".rstrip()


def pages_of(first: Path) -> list[Path]:
    others = first.with_name(f"{first.stem}.pages").glob("*.html")
    return [first, *sorted(others, key=lambda each: int(each.stem))]


def test_a_page_has_each_byte_and_each_field_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    page = tmp_path / "page.html"
    assert main(["explain", str(LOG), "--limit", "2", "--html", str(page)]) == 0
    text, data = page.read_text(), data_of(page)
    assert "<title>codec-gzip-0/00000000000000000000.log</title>" in text and "://" not in text
    outer, inner, *_ = data["areas"]
    assert (outer["title"], outer["at"]) == ("batch at byte 0, offset 0, 113 bytes", 0)
    assert base64.b64decode(outer["data"]) == LOG.read_bytes()[:113]
    golden(inner["title"])
    for area in data["areas"]:
        assert sum(size for size, *_ in area["parts"]) == len(base64.b64decode(area["data"]))
    known = dict(fields_of(page))
    assert known["records[0].body.key"] == '"only"' and known["len_batch"] == "761 bytes"
    assert known["attributes.compression"] == "1 (gzip)"
    assert not page.with_name("page.pages").exists()
    assert main(["explain", str(LOG), "--html", str(page)]) == 1
    golden(capsys.readouterr().err)
    assert main(["explain", str(LOG), "--limit", "1", "--html", str(page), "--overwrite"]) == 0
    assert page.stat().st_size < len(text)
    before = LOG.read_bytes()
    assert main(["explain", str(LOG), "--html", str(LOG), "--overwrite"]) == 2 and LOG.read_bytes() == before
    empty = tmp_path / "x" / LOG.name
    empty.parent.mkdir()
    empty.touch()
    assert main(["explain", str(empty), "--html", str(page), "--overwrite"]) == 0
    assert [area["title"] for area in data_of(page)["areas"]] == ["The file is empty."]


def test_a_browser_runs_the_scripts_of_a_page_and_no_others(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["explain", str(LOG), "--limit", "1", "--html", str(page)]) == 0
    text = page.read_text()
    for tag in ("style", "script"):
        found = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert found is not None
        digest = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in text
    assert "default-src 'none'" in text and not re.search(r" (on\w+|style|src)=", text)
    # text from a file is only ever set as text
    unsafe = (
        r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|setAttribute\(\"(style|on)"
    )
    assert not re.search(unsafe, text) and "DOMParser" not in text
    assert re.search(r'<div id="tree" [^>]*tabindex="0" role="tree" aria-label="Fields"', text)
    assert re.search(r'<div id="bytes" [^>]*tabindex="0" role="group" aria-label="Bytes', text)
    assert '<label for="search">' in text and '<html lang="en">' in text and "<noscript>" in text


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    "\u2028\u202e\x00'\"&",
]


def test_markup_in_values_names_and_schemas_is_text(tmp_path: Path) -> None:
    for number, value in enumerate(HOSTILE):
        folder = tmp_path / f"<b>{number}&-0"
        folder.mkdir()
        log = folder / LOG.name
        log.write_bytes(kodec.encode([kodec.Record(key=value.encode(), value=value.encode(), timestamp=1)]))
        page = tmp_path / f"{number}.html"
        assert main(["explain", str(log), "--html", str(page)]) == 0
        known = dict(fields_of(page))
        if value.isprintable():
            assert known["records[0].body.key"] == known["records[0].body.value"] == f'"{value}"'
        assert page.read_text().count("<script") == 2 and page.read_text().count("</script") == 2
        assert not re.search("<img|<!--|<b>|[\u2028\u202e\x00]", page.read_text())
    doc = "</script><img src=x onerror=y>"
    (tmp_path / "x.ksy").write_text(
        f"meta: {{id: x}}\nseq: [{{id: a, type: str, size: 8, encoding: UTF-8, doc: '{doc}'}}]\n"
    )
    file, page = tmp_path / "<img src=x>&\"'", tmp_path / "x.html"
    file.write_bytes(b"</script")
    assert main(["explain", str(file), "--schema", str(tmp_path / "x.ksy"), "--html", str(page)]) == 0
    assert "<title>&lt;img src=x&gt;&amp;&quot;&#x27;</title>" in page.read_text()
    assert page.read_text().count("</script") == 2 and not re.search("<img", page.read_text())
    assert data_of(page)["names"][0][3] == doc


def dense(count: int) -> bytes:
    return bytes(
        kodec.encode([kodec.Record(key=b"%d" % each, value=b"v", timestamp=each) for each in range(count)])
    )


def test_a_large_file_has_several_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    monkeypatch.setattr(explain_page, "PAGE", 40_000)
    monkeypatch.setattr(explain_page, "FIRST_PAGE", 30_000)
    monkeypatch.setattr(explain_page, "FIRST_FIELDS", 3_000)
    log, page = tmp_path / "orders-0" / LOG.name, tmp_path / "out" / "my page.html"
    log.parent.mkdir()
    log.write_bytes(dense(500) + LOG.read_bytes() + dense(100))
    assert main(["explain", str(log), "--html", str(page)]) == 0
    pages = pages_of(page)
    golden(capsys.readouterr().err)
    assert len(pages) > 4
    outer = [area for each in pages for area in data_of(each)["areas"] if not area["path"]]
    data = b"".join(base64.b64decode(area["data"]) for area in outer)
    assert data == log.read_bytes()
    at = 0
    for area in outer:
        assert area["at"] == at
        at += len(base64.b64decode(area["data"]))
    seen = [known for each in pages for known in fields_of(each)]
    with as_file(files("kodec.schemas")) as folder:
        wanted = Explainer(folder / "log" / "record_batch.ksy").explain(dense(500)).areas[0]
    assert seen[: sum(len(part.fields) for part in wanted.parts)] == [
        (each.path, with_unit(each)) for part in wanted.parts for each in part.fields
    ]
    for number, each in enumerate(pages, 1):
        text = each.read_text()
        assert (
            each.stat().st_size
            < 40_000 + len(_template("explain.js")) + len(_template("explain.css")) + 3_000
        )
        links = [each.parent / unquote(link) for link in re.findall(r'<a href="([^"]*)">', text)]
        assert links and all(link.exists() for link in links)
        assert len(links) == (len(pages) - 1 if number == 1 else 1 + (number > 2) + (number < len(pages)))
        assert (">Next<" in text) == (1 < number < len(pages))
    assert main(["explain", str(log), "--html", str(page)]) == 1
    assert main(["explain", str(log), "--limit", "1", "--html", str(page), "--overwrite"]) == 0
    assert 1 < len(pages_of(page)) < len(pages)
    assert main(["explain", str(LOG), "--limit", "1", "--html", str(page), "--overwrite"]) == 0
    assert pages_of(page) == [page]
    page.unlink()
    capsys.readouterr()
    assert main(["explain", str(log), "--html", str(page)]) == 1
    golden(capsys.readouterr().err)


def test_no_page_is_large(tmp_path: Path) -> None:
    hostile = bytes(
        kodec.encode([kodec.Record(key=b"<" * 99, value=b"&" * 99, timestamp=each) for each in range(1_500)])
    )
    for name, data in (("big", bytes(2_000_000)), ("hostile", hostile)):
        log, page = tmp_path / f"{name}-0" / LOG.name, tmp_path / f"{name}.html"
        log.parent.mkdir()
        log.write_bytes(kodec.encode([kodec.Record(value=data, timestamp=1)]) if name == "big" else data)
        assert main(["explain", str(log), "--html", str(page)]) == 0
        sizes = [each.stat().st_size for each in pages_of(page)]
        assert len(sizes) > 1 and max(sizes) < 500_000


def test_what_the_pages_do_not_hold_is_said_and_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    monkeypatch.setattr(explain_page, "MOST_PAGES", 2)
    (tmp_path / "x.ksy").write_text("meta: {id: x}\nseq: [{id: all, size: 100000, repeat: eos}]\n")
    file, page = tmp_path / "file", tmp_path / "page.html"
    file.write_bytes(bytes(range(250)) * 6000)
    line = ["explain", str(file), "--schema", str(tmp_path / "x.ksy"), "--html", str(page), "--overwrite"]
    seen = b""
    for _ in range(9):
        code = main([*line, "--at", str(len(seen))])
        areas = [area for each in pages_of(page) for area in data_of(each)["areas"]]
        # a field that has begun before is shown from its start
        seen = seen[: areas[0]["at"]] + b"".join(base64.b64decode(area["data"]) for area in areas)
        error = capsys.readouterr().err
        assert error.count(f"The rest is not shown: `--at {len(seen)}` explains the file from there.") == code
        assert ("The rest is not shown" in pages_of(page)[-1].read_text()) == bool(code)
        if code == 0:
            break
    assert seen == file.read_bytes()
    monkeypatch.setattr(explain_page, "FIRST_FIELDS", 5)
    monkeypatch.setattr(explain_page, "MOST_FIELDS", 10)
    monkeypatch.setattr(explain_page, "MOST_PAGES", 40)
    assert main(line) == 1
    said = "More than 10 fields: some after byte 900,000 are not shown. `--at 900000` begins there."
    assert said in capsys.readouterr().err and said in pages_of(page)[-1].read_text()
    assert main(["explain", str(LOG), "--limit", "1", "--html", str(page), "--overwrite"]) == 1
    golden(capsys.readouterr().err)


def test_the_first_page_is_there_before_everything_is_known(tmp_path: Path) -> None:
    page, seen = tmp_path / "page.html", list[tuple[int, int]]()

    def explained(most: int) -> Explanation:
        seen.append((most, page.stat().st_size if page.exists() else 0))
        rest = 100_000 if most < 100_000 else None
        size = rest or 900_000
        part = Part(0, size, (Field("all", b"x"),))
        return Explanation([Area("", "", bytes(size), 0, [part])], rest=rest)

    def unfilled(most: int) -> Explanation:
        return Explanation([Area("", "", b"", 0, [])], rest=0)

    assert write_pages(page, LOG, "a log", [Section("", explained)], overwrite=False)
    (few, none), (many, some) = seen
    assert few < many and none == 0 and some == 0
    other = tmp_path / "other.html"
    seen.clear()
    page = other

    def larger(most: int) -> Explanation:
        found = explained(most)
        if found.rest is not None:
            found.areas[0] = replace(found.areas[0], data=bytes(400_000), parts=[Part(0, 400_000)])
        return found

    assert write_pages(other, LOG, "a log", [Section("", larger)], overwrite=False)
    assert seen[0][1] == 0 and seen[1][1] > 100_000
    assert not write_pages(tmp_path / "none.html", LOG, "a log", [Section("", unfilled)], overwrite=False)


def test_the_terminal_has_the_colours_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    log = LOGS / "orders-0" / LOG.name
    assert main(["explain", str(log), "--limit", "2", "--html", str(page)]) == 0
    on_page = {name: colour for name, _, colour, _ in data_of(page)["names"]}
    assert len(set(on_page.values())) == 12
    assert main(["explain", str(log), "--limit", "2"]) == 0
    plain = capsys.readouterr().out
    assert "\x1b" not in plain
    monkeypatch.setattr("kodec.cli.hexdump.may_style", lambda: True)
    assert main(["explain", str(log), "--limit", "2"]) == 0
    shown = capsys.readouterr().out
    assert re.sub(r"\x1b\[\d*m", "", shown) == plain
    found = re.findall(r"\x1b\[(\d+)m(?:[0-9a-f]{2} )+ +([\w.\[\]]+) = ", shown)
    assert len(found) > 50
    for colour, path in found:
        assert int(colour) == _ANSI[on_page[re.sub(r"\d+", "", path)]], path


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
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    monkeypatch.setenv("KODEC_CACHE", str(tmp_path / "cache"))
    schema, file = tmp_path / "moving.ksy", tmp_path / "file"
    schema.write_text(SCHEMA.replace("pos: 0, ", ""))
    file.write_bytes(b"\1\2crc_next")
    assert main(["explain", str(file), "--schema", str(schema)]) == 0
    golden(capsys.readouterr().err)
    scan = ["scan", str(file), "--schema", str(schema), "--column", "n"]
    assert main(scan) == 0
    assert capsys.readouterr().err == ""
    assert main([*scan, "--column", "next"]) == 0
    golden(capsys.readouterr().err)
